/* graph.h - work captured from a stream, to be launched again as a whole.
 *
 * The caller has entered the device (run.h), and one thread at a time uses a graph and its stream.
 * Errors are as for fnzi_cuda_status(). */
#ifndef FNZI_CUDA_GRAPH_H
#define FNZI_CUDA_GRAPH_H

#include "engine/cuda/run.h"

typedef struct fnzi_cuda_graph {
  void *captured;   /* the captured graph, whose nodes fnzi_cuda_graph_set() takes */
  void *executable; /* the executable graph to launch; NULL: there is none */
} fnzi_cuda_graph;

/* From here to the end, work that the thread queues on the stream is captured and does not run.
 * Only kernels and copies on the device may be queued. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_capture_begin(fnz_context *ctx, const fnzi_cuda_device *device,
                                                  void *stream);
/* Finds the node of the last captured work. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_capture_node(fnz_context *ctx, const fnzi_cuda_device *device,
                                                 void *stream, void **out);
/* Call it even if something failed since the beginning. `out` is destroyed by
 * fnzi_cuda_graph_end(). */
FNZ_MUST_CHECK fnz_status fnzi_cuda_capture_end(fnz_context *ctx, const fnzi_cuda_device *device,
                                                void *stream, fnzi_cuda_graph *out);
void fnzi_cuda_graph_end(const fnzi_cuda_device *device, fnzi_cuda_graph *graph);

/* Other operands for the kernel of a node, as fnzi_cuda_launch() has them. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_graph_set(fnz_context *ctx, const fnzi_cuda_device *device,
                                              const fnzi_cuda_graph *graph, void *node,
                                              const fnzi_cuda_start *start);
FNZ_MUST_CHECK fnz_status fnzi_cuda_graph_launch(fnz_context *ctx, const fnzi_cuda_device *device,
                                                 const fnzi_cuda_graph *graph, void *stream);

#endif
