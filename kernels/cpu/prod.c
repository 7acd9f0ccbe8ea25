/* prod.c - products along dimensions with eager's bits: every step rounds to the element type, and
 * neighbours in memory go through four vectors of 32 bytes side by side. */
#include "kernels/cpu/fold.h"
#include "kernels/core/half.h"

enum { VECTORS = 4 };
_Static_assert((int)VECTORS * 16 == (int)FNZI_FOLD_LANES, "halves go through as many lanes");

typedef struct complex_float {
  float re, im;
} complex_float;

typedef struct complex_double {
  double re, im;
} complex_double;

#define TIMES(T)                                                                                   \
  static T times_##T(T a, T b) {                                                                   \
    return (T){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};                              \
  }
TIMES(complex_float)
TIMES(complex_double)
static float times_f16(float a, float b) {
  return fnzi_krn_from_f16(fnzi_krn_to_f16(a * b));
}
static float times_bf16(float a, float b) {
  return fnzi_krn_from_bf16(fnzi_krn_to_bf16(a * b));
}
static float times_f32(float a, float b) {
  return a * b;
}
static double times_f64(double a, double b) {
  return a * b;
}

/* In lanes, or one element after the other: an element of type E as `from` has it. `multiply` has
 * all full groups but the first. */
#define ROW(name, T, E, one, times, lanes, from, multiply)                                         \
  static void name##_row(const void *data, int64_t count, bool in_lanes, void *out) {              \
    enum { group = VECTORS * (lanes) };                                                            \
    const E *x = data;                                                                             \
    T acc[group], total = one;                                                                     \
    int64_t i = 0;                                                                                 \
    if (in_lanes && count >= group) {                                                              \
      for (int k = 0; k < group; k++)                                                              \
        acc[k] = from(x[k]);                                                                       \
      i = count - count % group;                                                                   \
      multiply(times, acc, x + group, i - group, group);                                           \
      for (int k = 0; k < lanes; k++)                                                              \
        acc[k] =                                                                                   \
            times(times(acc[k], acc[lanes + k]), times(acc[2 * lanes + k], acc[3 * lanes + k]));   \
      for (int k = 1; k < lanes; k++)                                                              \
        acc[0] = times(acc[0], acc[k]);                                                            \
      total = times(total, acc[0]);                                                                \
    }                                                                                              \
    for (; i < count; i++)                                                                         \
      total = times(total, from(x[i]));                                                            \
    *(T *)out = total;                                                                             \
  }
#define AS_IT_IS(x) (x)
#define BY_LOOP(times, acc, x, count, group)                                                       \
  for (int64_t at = 0; at < (count); at += group)                                                  \
    for (int k = 0; k < group; k++)                                                                \
      acc[k] = times(acc[k], (x)[at + k]);
#define BY_F16(times, acc, x, count, group)                                                        \
  fnzi_folds_best()->multiply[FNZI_FOLD_F16](acc, x, count)
#define BY_BF16(times, acc, x, count, group)                                                       \
  fnzi_folds_best()->multiply[FNZI_FOLD_BF16](acc, x, count)
ROW(f16, float, uint16_t, 1, times_f16, 16, fnzi_krn_from_f16, BY_F16)
ROW(bf16, float, uint16_t, 1, times_bf16, 16, fnzi_krn_from_bf16, BY_BF16)
ROW(f32, float, float, 1, times_f32, 8, AS_IT_IS, BY_LOOP)
ROW(f64, double, double, 1, times_f64, 4, AS_IT_IS, BY_LOOP)
ROW(c64, complex_float, complex_float, ((complex_float){1, 0}), times_complex_float, 4, AS_IT_IS,
    BY_LOOP)
ROW(c128, complex_double, complex_double, ((complex_double){1, 0}), times_complex_double, 2,
    AS_IT_IS, BY_LOOP)

typedef void row_fn(const void *data, int64_t count, bool in_lanes, void *out);

static const struct {
  fnz_dtype element, computes;
  row_fn *run;
} types[] = {{FNZ_F16, FNZ_F32, f16_row}, {FNZ_BF16, FNZ_F32, bf16_row},
             {FNZ_F32, FNZ_F32, f32_row}, {FNZ_F64, FNZ_F64, f64_row},
             {FNZ_C64, FNZ_C64, c64_row}, {FNZ_C128, FNZ_C128, c128_row}};

/* Everything in the order of eager's memory. */
static fnz_status make_all(fnzi_krn_call *call, const fnzi_krn_array *self, fnz_dtype dtype,
                           fnzi_cpu_rows *out) {
  int64_t strides[FNZ_MAX_RANK];
  *out = (fnzi_cpu_rows){dtype, fnzi_krn_array_data(self), 1, fnzi_krn_array_numel(self)};
  if (self->window.dtype == dtype && fnzi_is_contiguous(&self->window) &&
      fnzi_is_contiguous(&self->geometry))
    return FNZ_OK;
  return fnzi_krn_dense_in_order(call, self, dtype, &out->data, strides);
}

fnz_status fnzi_kernel_prod(fnzi_krn_call *call) {
  FNZ_TRY(fnzi_krn_round_input(call));
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  bool reduced[FNZ_MAX_RANK];
  int64_t strides[FNZ_MAX_RANK];
  const fnz_geometry order = fnzi_krn_array_ordered(self, strides);
  fnzi_cpu_rows r;
  void *out;
  size_t t = 0, count = sizeof types / sizeof *types;
  while (t < count && types[t].element != dtype)
    t++;
  if (t == count)
    return fnzi_cpu_reduce_by(call, dtype == FNZ_BOOL ? FNZI_MODE_all : FNZI_MODE_prod);
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  bool all = fnzi_is_dense(&order), are_neighbours = fnzi_is_contiguous(&order);
  for (uint32_t i = 0; i < order.rank; i++) {
    all = all && reduced[i];
    are_neighbours = are_neighbours && (i == 0 || reduced[i] || !reduced[i - 1]);
  }
  bool in_lanes = all || are_neighbours; /* as in eager */
  const fnzi_fold *fold = in_lanes ? NULL : fnzi_cpu_fold_find(FNZI_FOLD_prod, dtype);
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, types[t].computes, &out));
  if (fold && fnzi_cpu_fold_columns(call, reduced, fold, dtype, out))
    return FNZ_OK;
  FNZ_TRY(all ? make_all(call, self, dtype, &r) : fnzi_cpu_rows_make(call, reduced, dtype, &r));
  size_t cell = fnzi_dtype(dtype)->bytes, to = fnzi_dtype(types[t].computes)->bytes;
  for (int64_t i = 0; i < r.count; i++)
    types[t].run((const char *)r.data + (size_t)(i * r.length) * cell, r.length, in_lanes,
                 (char *)out + (size_t)i * to);
  return FNZ_OK;
}
