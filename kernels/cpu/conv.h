/* conv.h - the engines of convolutions. */
#ifndef FNZI_CPU_CONV_H
#define FNZI_CPU_CONV_H

#include "kernels/meta/conv.h"

/* By oneDNN. bias may be NULL. *done is false when it has no implementation for these numbers: the
 * caller then takes the direct loops. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_conv_onednn(fnz_context *ctx, const fnzi_meta_conv *c,
                                               const float *x, const float *weight,
                                               const float *bias, float *y, bool *done);

#endif
