/* onednn.h - what convolutions by oneDNN share: primitives of one engine, and statuses. */
#ifndef FNZI_CPU_ONEDNN_H
#define FNZI_CPU_ONEDNN_H

#include "base/base.h"
#include "kernels/cpu/onednn_guard.h"

#define FNZI_DNNL_TRY(expr)                                                                        \
  do {                                                                                             \
    dnnl_status_t dnnl_status_ = (expr);                                                           \
    if (dnnl_status_ != dnnl_success)                                                              \
      return dnnl_status_;                                                                         \
  } while (0)

/* An engine and its primitives, with the largest scratch memory of one primitive. */
typedef struct fnzi_cpu_onednn {
  dnnl_engine_t engine;
  dnnl_stream_t stream;
  dnnl_memory_desc_t scratch;
} fnzi_cpu_onednn;

/* Within fnzi_cpu_onednn_guard(). *attr says that scratch memory comes from the caller, who
 * destroys it. */
dnnl_status_t fnzi_cpu_onednn_open(fnzi_cpu_onednn *d, dnnl_primitive_attr_t *attr);
void fnzi_cpu_onednn_close(fnzi_cpu_onednn *d);
/* A primitive of a descriptor, which ends. */
dnnl_status_t fnzi_cpu_onednn_finish(fnzi_cpu_onednn *d, dnnl_primitive_desc_t desc,
                                     dnnl_primitive_t *out);
/* oneDNN's memory takes a pointer that it may write through, for its inputs too. */
void *fnzi_cpu_onednn_writable(const void *data);

/* Converts oneDNN's status to an fnz_status. If oneDNN cannot compute a convolution, that is no
 * failure: *done is false. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_onednn_judge(fnz_context *ctx, int status, bool *done);
/* The same of a primitive that was made, which cannot be refused. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_onednn_judge_made(fnz_context *ctx, int status);

#endif
