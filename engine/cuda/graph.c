/* graph.c - launches that are captured once and put on a stream as a whole from then on. */
#include "engine/cuda/graph.h"

#define STATUS(device, call, what)                                                                 \
  fnzi_cuda_status(ctx, device, (device)->driver.call, "graphs are " what)

fnz_status fnzi_cuda_capture_begin(fnz_context *ctx, const fnzi_cuda_device *d, void *stream) {
  return STATUS(d, capture_begin(stream, FNZI_CU_OF_THIS_THREAD), "begun");
}

fnz_status fnzi_cuda_capture_node(fnz_context *ctx, const fnzi_cuda_device *d, void *stream,
                                  void **out) {
  int status = 0;
  uint64_t id;
  void *graph, *const *nodes = NULL;
  size_t count = 0;
  *out = NULL;
  FNZ_TRY(STATUS(d, capture_info(stream, &status, &id, &graph, &nodes, &count), "looked at"));
  if (count == 1)
    *out = nodes[0];
  return FNZ_OK;
}

fnz_status fnzi_cuda_capture_end(fnz_context *ctx, const fnzi_cuda_device *d, void *stream,
                                 fnzi_cuda_graph *out) {
  *out = (fnzi_cuda_graph){NULL, NULL};
  FNZ_TRY(STATUS(d, capture_end(stream, &out->captured), "ended"));
  fnz_status status = STATUS(d, graph_make(&out->executable, out->captured, 0), "made");
  if (status != FNZ_OK)
    fnzi_cuda_graph_end(d, out);
  return status;
}

void fnzi_cuda_graph_end(const fnzi_cuda_device *d, fnzi_cuda_graph *graph) {
  if (graph->executable)
    d->driver.graph_unmake(graph->executable);
  if (graph->captured)
    d->driver.graph_end(graph->captured);
  *graph = (fnzi_cuda_graph){NULL, NULL};
}

fnz_status fnzi_cuda_graph_set(fnz_context *ctx, const fnzi_cuda_device *d,
                               const fnzi_cuda_graph *graph, void *node, const fnzi_cuda_start *s) {
  void *arguments[] = {s->addresses, (void *)(uintptr_t)s->numbers};
  const fnzi_cuda_kernel_node params = {
      .function = s->kernel->function,
      .blocks = {(unsigned)fnzi_cuda_blocks(d, s->kernel, s->count), 1, 1},
      .threads = {s->kernel->threads, 1, 1},
      .arguments = arguments};
  return STATUS(d, graph_set(graph->executable, node, &params), "changed");
}

fnz_status fnzi_cuda_graph_launch(fnz_context *ctx, const fnzi_cuda_device *d,
                                  const fnzi_cuda_graph *graph, void *stream) {
  return STATUS(d, graph_launch(graph->executable, stream), "started");
}
