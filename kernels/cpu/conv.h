/* conv.h - the engines of convolutions. */
#ifndef FNZI_CPU_CONV_H
#define FNZI_CPU_CONV_H

#include "kernels/meta/conv.h"

/* x and y have channels last; bias may be NULL. */
typedef struct fnzi_cpu_conv_operands {
  const float *x;
  const void *weight; /* as in the arguments, or in a plan's layout */
  const float *bias;
  float *y;
} fnzi_cpu_conv_operands;

/* --- conv_onednn.c: oneDNN's primitives for one shape of convolution
 * ------------------------------- Threads of one call may execute a plan, each in a lane and with
 * scratch memory of its own. Weights in the plan's layout may be kept for as long as the
 * weights stay what they are. */
typedef struct fnzi_cpu_conv_plan fnzi_cpu_conv_plan;

/* Bytes: of the weight in oneDNN's layout (0: as it lies in plain memory), and of scratch memory.
 */
typedef struct fnzi_cpu_conv_bytes {
  size_t weight, scratch;
} fnzi_cpu_conv_bytes;

/* out: NULL when oneDNN has no implementation for these numbers; ends with
 * fnzi_cpu_conv_plan_end(). */
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_plan_make(fnz_context *ctx, const fnzi_meta_conv *c,
                                                  bool has_bias, int lanes,
                                                  fnzi_cpu_conv_plan **out);
void fnzi_cpu_conv_plan_end(fnz_context *ctx, fnzi_cpu_conv_plan *p);
/* Says that they compute the same of operands of the same sizes. */
bool fnzi_cpu_conv_same(const fnzi_meta_conv *a, const fnzi_meta_conv *b);
bool fnzi_cpu_conv_plan_serves(const fnzi_cpu_conv_plan *p, const fnzi_meta_conv *c, bool has_bias,
                               int lanes);
fnzi_cpu_conv_bytes fnzi_cpu_conv_plan_bytes(const fnzi_cpu_conv_plan *p);

/* Says that a weight in the layout of one plan is in that of the other. */
bool fnzi_cpu_conv_plan_shares_weight(const fnzi_cpu_conv_plan *a, const fnzi_cpu_conv_plan *b);

/* They return oneDNN's status, which is 0 when all is well; threads may not fail in a context. */
int fnzi_cpu_conv_plan_weight(const fnzi_cpu_conv_plan *p, const float *weight, void *out,
                              void *scratch);
/* The weight in the plan's layout. */
int fnzi_cpu_conv_plan_run(const fnzi_cpu_conv_plan *p, const fnzi_cpu_conv_operands *o,
                           void *scratch, int lane);
/* --- conv_kept.c: plans of the shapes that were computed last --------------------------------- */
/* The plan for a shape, kept by the backend; NULL when oneDNN has none. It is valid for the next
 * FNZI_CONV_PARTS calls. */
enum { FNZI_CONV_PARTS = 8 };
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_kept(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                             bool has_bias, const fnzi_cpu_conv_plan **out);

/* Says that the weight is the same in all runs of the call, so that it is ordered once. */
static inline bool fnzi_cpu_conv_keeps_weight(const fnzi_krn_call *call) {
  return call->own && (call->lasting >> 1 & 1);
}
/* Room for the weight in another order; *has: an earlier run has put it there. If nothing is
 * kept, it is scratch memory. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_weight_ordered(fnzi_krn_call *call, size_t bytes,
                                                       void **out, bool *has);

/* --- conv_crop.c --------------------------------------------------------------------------- */
/* The same convolution with a smaller kernel, its weights in scratch memory; itself where none is.
 */
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_crop(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                             const float *weight, fnzi_meta_conv *out,
                                             const float **out_weight);

/* --- conv_parts.c -------------------------------------------------------------------------- */
/* The call's convolution as `c`, with this weight, by oneDNN. *done is false when it has no
 * implementation for these numbers: the caller then takes the direct loops. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_onednn(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                               const float *weight, bool *done);

/* --- conv_gradient.c ----------------------------------------------------------------------- */
/* The call's convolution has a kernel so large that it is the gradient of another one's weight. */
bool fnzi_cpu_conv_is_gradient(const fnzi_krn_call *call, const fnzi_meta_conv *c);
/* *done is false where oneDNN has no fast implementation of these numbers. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_gradient(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                                 bool *done);

/* --- conv_depth.c -------------------------------------------------------------------------- */
typedef struct fnzi_cpu_conv_floats {
  const float *x, *weight, *bias; /* bias: NULL for none */
  float *y;
} fnzi_cpu_conv_floats;
/* One dimension, and a group for each channel: own loops are faster than oneDNN there. */
bool fnzi_cpu_conv_is_depth(const fnzi_meta_conv *c);
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_depth(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                              const fnzi_cpu_conv_floats *o);

/* --- conv_apart.c -------------------------------------------------------------------------- */
/* A transposed one in f32 whose stride is its kernel, without padding, is one product per place. */
bool fnzi_cpu_conv_is_apart(const fnzi_meta_conv *c);
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_apart(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                              const float *weight);

/* --- conv_point.c -------------------------------------------------------------------------- */
/* One by one, over an image of few places, is one product. */
bool fnzi_cpu_conv_is_point(const fnzi_meta_conv *c);
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_point(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                              const float *weight);

/* --- conv_columns.c ------------------------------------------------------------------------ */
typedef struct fnzi_cpu_conv_doubles {
  const double *x, *weight, *bias; /* bias: NULL for none */
  double *y;
} fnzi_cpu_conv_doubles;
/* An image with its padding, as far as the kernel meets it, is worth the memory. */
bool fnzi_cpu_conv_pads_little(const fnzi_meta_conv *c);
/* *done is false for a transposed one, or for kernels too large for columns. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_columns(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                                const fnzi_cpu_conv_doubles *o, bool *done);

#endif
