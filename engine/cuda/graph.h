/* graph.h - what is put on a stream, kept to be put on it again as a whole. */
#ifndef FNZI_CUDA_GRAPH_H
#define FNZI_CUDA_GRAPH_H

#include "engine/cuda/run.h"

typedef struct fnzi_cuda_graph {
  void *captured; /* whose nodes are named */
  void *made;     /* what is launched; NULL: there is none */
} fnzi_cuda_graph;

/* From here to the end nothing runs that the thread puts on the stream, and nothing else may be put
 * there but kernels and copies on the device. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_capture_begin(fnz_context *ctx, const fnzi_cuda_device *device,
                                                  void *stream);
/* The node of what was put there last. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_capture_node(fnz_context *ctx, const fnzi_cuda_device *device,
                                                 void *stream, void **out);
/* Also where something failed since the beginning; `out` ends with fnzi_cuda_graph_end(). */
FNZ_MUST_CHECK fnz_status fnzi_cuda_capture_end(fnz_context *ctx, const fnzi_cuda_device *device,
                                                void *stream, fnzi_cuda_graph *out);
void fnzi_cuda_graph_end(const fnzi_cuda_device *device, fnzi_cuda_graph *graph);

/* Other operands for the kernel of a node, as fnzi_cuda_launch() has them. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_graph_set(fnz_context *ctx, const fnzi_cuda_device *device,
                                              const fnzi_cuda_graph *graph, void *node,
                                              const fnzi_cuda_function *kernel, int64_t count,
                                              uint64_t *addresses, const int64_t *numbers);
FNZ_MUST_CHECK fnz_status fnzi_cuda_graph_launch(fnz_context *ctx, const fnzi_cuda_device *device,
                                                 const fnzi_cuda_graph *graph, void *stream);

#endif
