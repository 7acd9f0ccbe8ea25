/* conv.h - the engines of convolutions. */
#ifndef FNZI_CPU_CONV_H
#define FNZI_CPU_CONV_H

#include "kernels/meta/conv.h"

/* x and weight may be in a plan's layouts; bias may be NULL. */
typedef struct fnzi_cpu_conv_operands {
  const void *x, *weight;
  const float *bias;
  float *y;
} fnzi_cpu_conv_operands;

/* --- conv_onednn.c: oneDNN's primitives for one shape of convolution
 * ------------------------------- Immutable once made; several threads may execute one plan, each
 * with scratch memory of its own. Weights in the plan's layout may be kept for as long as the
 * weights stay what they are. */
typedef struct fnzi_cpu_conv_plan fnzi_cpu_conv_plan;

/* Bytes, at multiples of 64: of x, weight and y in oneDNN's layouts (0: as they lie in plain
 * memory), and of scratch memory. */
typedef struct fnzi_cpu_conv_room {
  size_t x, weight, y, scratch;
} fnzi_cpu_conv_room;

/* out: NULL when oneDNN has no implementation for these numbers; ends with
 * fnzi_cpu_conv_plan_end(). */
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_plan_make(fnz_context *ctx, const fnzi_meta_conv *c,
                                                  bool has_bias, fnzi_cpu_conv_plan **out);
void fnzi_cpu_conv_plan_end(fnz_context *ctx, fnzi_cpu_conv_plan *p);
bool fnzi_cpu_conv_plan_serves(const fnzi_cpu_conv_plan *p, const fnzi_meta_conv *c, bool has_bias);
fnzi_cpu_conv_room fnzi_cpu_conv_plan_room(const fnzi_cpu_conv_plan *p);

/* They return oneDNN's status, which is 0 when all is well; threads may not fail in a context. */
int fnzi_cpu_conv_plan_x(const fnzi_cpu_conv_plan *p, const float *x, void *out, void *scratch);
int fnzi_cpu_conv_plan_weight(const fnzi_cpu_conv_plan *p, const float *weight, void *out,
                              void *scratch);
/* x and weight in the plan's layouts, bias and y as they are in plain memory. */
int fnzi_cpu_conv_plan_run(const fnzi_cpu_conv_plan *p, const fnzi_cpu_conv_operands *o,
                           void *y_room, void *scratch);
/* Converts such a status to an fnz_status. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_plan_judge(fnz_context *ctx, int status);

/* --- conv_kept.c: plans of the shapes that were computed last -----------------------------------
 */
/* The plan for a shape, kept by the backend; NULL when oneDNN has none. Valid until the next call.
 */
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_kept(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                             bool has_bias, const fnzi_cpu_conv_plan **out);

/* --- conv_crop.c --------------------------------------------------------------------------- */
/* The same convolution with a smaller kernel, its weights in scratch memory; itself where none is.
 */
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_crop(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                             const float *weight, fnzi_meta_conv *out,
                                             const float **out_weight);

/* --- conv_product.c ------------------------------------------------------------------------ */
/* *done is false when it looks at more than one place, or has few. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_product(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                                const fnzi_cpu_conv_operands *o, bool *done);

/* --- conv_parts.c -------------------------------------------------------------------------- */
/* By oneDNN. *done is false when it has no implementation for these numbers: the caller then takes
 * the direct loops. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_onednn(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                               const fnzi_cpu_conv_operands *o, bool *done);

/* --- conv_columns.c ------------------------------------------------------------------------ */
typedef struct fnzi_cpu_conv_doubles {
  const double *x, *weight, *bias; /* bias: NULL for none */
  double *y;
} fnzi_cpu_conv_doubles;
/* *done is false for a transposed one, or for kernels too large for columns. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_columns(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                                const fnzi_cpu_conv_doubles *o, bool *done);

#endif
