/* softmax.h - the softmax of one row, for the softmax operators and attention. */
#ifndef FNZI_CPU_SOFTMAX_H
#define FNZI_CPU_SOFTMAX_H

#include "kernels/cpu/special_reals.h"
#include "kernels/rows/rows.h"

/* exp in the precision of `dtype`. */
double fnzi_cpu_exp_as(fnz_dtype dtype, double x);

/* The largest element; NaN when there is one, -inf for no elements. */
double fnzi_cpu_row_max(const double *row, int64_t count);

/* Logarithm of the sum of exponentials of x - most; `most` of infinity would make NaN of inf - inf.
 */
double fnzi_cpu_log_sum(fnz_dtype dtype, const double *row, int64_t count, double most);

/* In place. `safe`: a row of -inf alone becomes zeros instead of NaN. */
void fnzi_cpu_softmax_row(fnz_dtype dtype, double *row, int64_t count, bool safe);

/* The same of floats, by row functions; y may be x. */
void fnzi_cpu_softmax_f32(const fnzi_rows *rows, const float *x, float *y, int64_t count,
                          bool safe);
void fnzi_cpu_log_softmax_f32(const fnzi_rows *rows, const float *x, float *y, int64_t count);
/* Logarithm of the sum of exponentials. */
double fnzi_cpu_log_sum_exp_f32(const fnzi_rows *rows, const float *x, int64_t count);

#endif
