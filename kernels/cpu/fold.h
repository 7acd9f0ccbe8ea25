/* fold.h - many elements of a tensor become one: by folds of kernels/rows/folds.h, and by functions
 * of dense rows. */
#ifndef FNZI_CPU_FOLD_H
#define FNZI_CPU_FOLD_H

#include "kernels/cpu/cpu.h"
#include "kernels/rows/folds.h"

/* Which elements the dtype has; false: folds have none of it. */
bool fnzi_cpu_fold_type(fnz_dtype dtype, fnzi_fold_type *out);
/* For numbers of the dtype; NULL: there is none. */
const fnzi_fold *fnzi_cpu_fold_find(fnzi_fold_kind kind, fnz_dtype dtype);

/* Folds the reduced dimensions of argument 0, whose elements convert to `dtype`; `out` is dense. */
void fnzi_cpu_fold(const fnzi_krn_call *call, const bool *reduced, const fnzi_fold *fold,
                   fnz_dtype dtype, void *out);

/* The same if elements side by side join numbers of their own, one element after the other; false:
 * they do not lie so, and nothing is done. */
bool fnzi_cpu_fold_columns(const fnzi_krn_call *call, const bool *reduced, const fnzi_fold *fold,
                           fnz_dtype dtype, void *out);

/* Calls body(user, row, data) for each row of argument 0 as fnzi_cpu_rows_make() has it, in order:
 * as it lies, or in a copy of a few rows. */
typedef void fnzi_cpu_row_fn(const void *user, int64_t row, const void *data);
FNZ_MUST_CHECK fnz_status fnzi_cpu_rows_visit(fnzi_krn_call *call, const bool *reduced,
                                              fnz_dtype dtype, fnzi_cpu_row_fn *body,
                                              const void *user);

/* Calls change(user, data) for each row of argument 0, as `dtype`, in a copy of a few rows; they
 * become rows of result 0, which has the sizes of the argument. */
typedef void fnzi_cpu_change_fn(const void *user, void *data);
FNZ_MUST_CHECK fnz_status fnzi_cpu_rows_change(fnzi_krn_call *call, const bool *reduced,
                                               fnz_dtype dtype, fnzi_cpu_change_fn *change,
                                               const void *user);

#endif
