/* resample.h - which elements the elements of a resized image are read from, for both directions.
 */
#ifndef FNZI_CPU_RESAMPLE_H
#define FNZI_CPU_RESAMPLE_H

#include "kernels/cpu/special_reals.h"

#include <math.h>

#define VALUE static inline
#include "kernels/cpu/resample_values.h"
#undef VALUE

/* The taps of each dimension. Dimensions that there are not come first, also in `r`: the last one
 * is that along which elements lie. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_resample_axes(fnzi_krn_call *call, resampling *r,
                                                 const double *scales, taps **axes);

#endif
