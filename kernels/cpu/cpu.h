/* cpu.h - what the CPU kernels share among themselves. */
#ifndef FNZI_CPU_H
#define FNZI_CPU_H

#include "kernels/core/window.h"
#include "kernels/meta/meta.h"

/* The kernels of the CPU backend. */
#define RUN(name, ...) fnzi_kernel_fn fnzi_kernel_##name;
#include "kernels/runs.def"
#undef RUN

/* to = row(to, from) in the dtype of `to`, with a row of point.def; of three operands when `extra`,
 * a number, is not NULL. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_window_combine(fnzi_krn_call *call, const char *row,
                                                  const fnzi_krn_window *to,
                                                  const fnzi_krn_window *from,
                                                  const fnz_arg *extra);

/* The kernel `reduce` by a row of folds.def, whatever operator the call is. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_reduce_by(fnzi_krn_call *call, fnzi_krn_mode mode);

/* Argument 0 as `dtype`, the reduced dimensions moved behind the others: `count` rows of `length`
 * elements, where they lie or in scratch memory. */
typedef struct fnzi_cpu_rows {
  fnz_dtype dtype;
  const void *data;
  int64_t count, length;
} fnzi_cpu_rows;
FNZ_MUST_CHECK fnz_status fnzi_cpu_rows_make(fnzi_krn_call *call, const bool *reduced,
                                             fnz_dtype dtype, fnzi_cpu_rows *out);
/* The dimensions of argument 0 in that order; returns how many are kept. */
uint32_t fnzi_cpu_rows_split(const fnzi_krn_call *call, const bool *reduced, fnzi_krn_window *w,
                             fnzi_cpu_rows *out);

/* Result 0 takes from each row of argument 0 the element at its place, as it lies in memory. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_rows_pick(fnzi_krn_call *call, const bool *reduced,
                                             const int64_t *places);
/* Rows become columns, as LAPACK keeps matrices, and back (factor.c). */
void fnzi_cpu_transpose(size_t cell, int64_t rows, int64_t columns, const char *from, char *to);
/* The NaN that eager's max, min and aminmax of all elements give: one of a comparison of vectors.
 */
void fnzi_cpu_overall_nan(fnz_dtype dtype, void *out);

#endif
