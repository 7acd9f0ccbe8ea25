/* row_code.h - one row of the kernels that compute row by row; rows are dense. */
#ifndef FNZI_CPU_ROW_CODE_H
#define FNZI_CPU_ROW_CODE_H

#include "kernels/cpu/cpu.h"
#include "kernels/meta/row.h"

/* Takes a call apart; false where fnzi_meta_by_rows() is. */
bool fnzi_cpu_row_code(fnzi_krn_call *call, fnzi_meta_row_code *out);

/* The mean of argument 0, of floats, over these dimensions, with eager's bits (sum.c). */
FNZ_MUST_CHECK fnz_status fnzi_cpu_mean(fnzi_krn_call *call, const bool *reduced);
/* The dtype is f32 or f64 (sum.c). */
void fnzi_cpu_sum_row(fnz_dtype dtype, bool is_mean, const void *x, int64_t length, void *out);
/* reduce.c */
int64_t fnzi_cpu_arg_row(bool greatest, fnz_dtype dtype, const void *x, int64_t length);
void fnzi_cpu_reduction_of(const fnzi_kernel *row, fnz_dtype dtype, fnzi_meta_row_code *out);
void fnzi_cpu_reduce_row(const fnzi_meta_row_code *code, const void *x, int64_t length, void *out);
/* special_statistics.c; the second result of a variance is the mean. */
void fnzi_cpu_variance_row(const fnzi_meta_row_code *code, bool root, const void *x, int64_t length,
                           void *const *out);
void fnzi_cpu_vector_norm_row(const fnzi_meta_row_code *code, const void *x, int64_t length,
                              void *const *out);
/* norm.c: x, weight, bias to y, then mean and rstd, or rstd alone of an RMS norm. */
void fnzi_cpu_norm_row(bool rms, double eps, const void *const *in, void *const *out,
                       int64_t length);

#endif
