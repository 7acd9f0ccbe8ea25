/* onednn.c - engines, primitives and statuses of oneDNN. */
#include "kernels/cpu/onednn.h"

dnnl_status_t fnzi_cpu_onednn_open(fnzi_cpu_onednn *d, dnnl_primitive_attr_t *attr) {
  FNZI_DNNL_TRY(dnnl_engine_create(&d->engine, dnnl_cpu, 0));
  FNZI_DNNL_TRY(dnnl_stream_create(&d->stream, d->engine, dnnl_stream_default_flags));
  FNZI_DNNL_TRY(dnnl_primitive_attr_create(attr));
  dnnl_status_t status = dnnl_primitive_attr_set_scratchpad_mode(*attr, dnnl_scratchpad_mode_user);
  if (status != dnnl_success)
    dnnl_primitive_attr_destroy(*attr);
  return status;
}

void fnzi_cpu_onednn_close(fnzi_cpu_onednn *d) {
  if (d->stream)
    dnnl_stream_destroy(d->stream);
  if (d->engine)
    dnnl_engine_destroy(d->engine);
}

dnnl_status_t fnzi_cpu_onednn_finish(fnzi_cpu_onednn *d, dnnl_primitive_desc_t desc,
                                     dnnl_primitive_t *out) {
  const dnnl_memory_desc_t *scratch =
      dnnl_primitive_desc_query_md(desc, dnnl_query_scratchpad_md, 0);
  dnnl_status_t status = dnnl_primitive_create(out, desc);
  if (scratch && dnnl_memory_desc_get_size(scratch) > dnnl_memory_desc_get_size(&d->scratch))
    d->scratch = *scratch;
  dnnl_primitive_desc_destroy(desc);
  return status;
}

void *fnzi_cpu_onednn_writable(const void *data) {
  union {
    const void *in;
    void *out;
  } unconst = {data};
  return unconst.out;
}

fnz_status fnzi_cpu_onednn_judge(fnz_context *ctx, int status, bool *done) {
  *done = status == dnnl_success;
  if (*done || status == dnnl_unimplemented || status == dnnl_invalid_arguments)
    return FNZ_OK;
  if (status == dnnl_out_of_memory)
    return fnzi_no_memory(ctx);
  return fnzi_fail(ctx, FNZ_CLASS_INTERNAL, NULL, "oneDNN failed with status %d in a convolution",
                   status);
}

fnz_status fnzi_cpu_onednn_judge_made(fnz_context *ctx, int status) {
  bool done;
  FNZ_TRY(fnzi_cpu_onednn_judge(ctx, status, &done));
  if (done)
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_INTERNAL, NULL, "oneDNN refuses a convolution that it has made");
}
