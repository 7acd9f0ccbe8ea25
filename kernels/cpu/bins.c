/* bins.c - elements counted into bins, and numbers of places: histc, bincount, repeat_interleave of
 * a tensor, tril_indices and triu_indices, frexp. */
#include "kernels/cpu/fold.h"
#include "kernels/cpu/special_reals.h"
#include "kernels/meta/bins.h"
#include "kernels/cpu/recording.h"

#include <math.h>

#define VALUE static
#include "kernels/cpu/bins_values.h"
#undef VALUE

/* --- histc ------------------------------------------------------------------------------- */
static fnz_status check_range(const fnzi_krn_call *call, double low, double high) {
  if (isfinite(low) && isfinite(high) && low < high)
    return FNZ_OK;
  return fnzi_krn_call_refuse(
      call, FNZ_CLASS_BOUNDS,
      "no range goes from min %g to max %g; both must be finite, min not above max", low, high);
}

static double bins_extreme(fnzi_fold_kind kind, const fnzi_cpu_reals *x, int64_t count) {
  const fnzi_fold *fold = fnzi_cpu_fold_find(kind, x->f ? FNZ_F32 : FNZ_F64);
  float single;
  double real;
  fold->start(x->f ? (void *)&single : (void *)&real, 1);
  fold->row(x->f ? (void *)&single : (void *)&real, x->f ? (const void *)x->f : x->d, count);
  return x->f ? (double)single : real;
}

/* From the smallest element to the largest where the arguments say no range; an empty range is
 * widened by one to each side. */
static fnz_status find_range(const fnzi_krn_call *call, const fnzi_cpu_reals *x, int64_t count,
                             double *low, double *high) {
  *low = fnzi_krn_named_float(call, "min", 0);
  *high = fnzi_krn_named_float(call, "max", 0);
  if (*low == *high && count > 0) {
    *low = bins_extreme(FNZI_FOLD_amin, x, count);
    *high = bins_extreme(FNZI_FOLD_amax, x, count);
    for (int64_t i = 0; !(isfinite(*low) && isfinite(*high)) && i < count; i++)
      if (!isfinite(fnzi_cpu_real_at(x, i)))
        return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                    "element %lld of self is not finite; give min and max",
                                    (long long)i);
  }
  if (*low == *high)
    *low -= 1, *high += 1;
  return check_range(call, *low, *high);
}

/* The range in memory of a recorder: a number each, or by a formula. */
static fnz_status record_range(fnzi_krn_call *call, const fnzi_cpu_reals *x, int64_t count,
                               const void **out) {
  const int64_t ends = 2;
  double range[] = {fnzi_krn_named_float(call, "min", 0), fnzi_krn_named_float(call, "max", 0)};
  fnzi_cpu_recording t = {.f = {.checks = true}};
  fnzi_krn_window to, number;
  void *room;
  FNZ_TRY(fnzi_krn_scratch_take(call, ends, sizeof(double), &room));
  *out = room;
  fnzi_cpu_record_reals(&t, x, count);
  fnzi_cpu_record_window(&t, FNZ_F64, ends, room);
  fnzi_cpu_record_integer(&t, count);
  if (range[0] == range[1] && count > 0)
    return fnzi_cpu_record(call, &t, "range", 1);
  if (range[0] == range[1])
    range[0] -= 1, range[1] += 1;
  FNZ_TRY(check_range(call, range[0], range[1]));
  for (int k = 0; k < 2; k++) {
    unsigned char bytes[16];
    fnzi_krn_window_dense(&to, FNZ_F64, 0, NULL, (const char *)room + k * (int)sizeof(double));
    fnzi_krn_window_number(&(fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = range[k]}, FNZ_F64, bytes,
                           &number);
    FNZ_TRY(fnzi_krn_window_assign(call, &to, &number, false));
  }
  return FNZ_OK;
}

fnz_status fnzi_kernel_histc(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  fnz_dtype dtype = self->geometry.dtype == FNZ_F64 ? FNZ_F64 : FNZ_F32;
  int64_t bins = call->outputs[0]->geometry.sizes[0], count = fnzi_krn_array_numel(self);
  double low, high;
  fnzi_cpu_reals x;
  fnzi_cpu_reals_out y;
  FNZ_TRY(fnzi_cpu_reals_open(call, self, dtype, &x));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &y));
  if (call->record) {
    fnzi_cpu_recording t = {.f = {.nwindows = 0}};
    const void *range;
    FNZ_TRY(record_range(call, &x, count, &range));
    fnzi_cpu_record_reals(&t, &x, count);
    fnzi_cpu_record_window(&t, FNZ_F64, 2, range);
    fnzi_cpu_record_reals_out(&t, &y, bins);
    fnzi_cpu_record_integer(&t, count);
    fnzi_cpu_record_integer(&t, bins);
    return fnzi_cpu_record(call, &t, "bin", bins);
  }
  FNZ_TRY(find_range(call, &x, count, &low, &high));
  for (int64_t k = 0; k < bins; k++)
    fnzi_cpu_real_put(&y, k, 0);
  fnzi_cpu_reals counts = fnzi_cpu_reals_read(&y);
  for (int64_t i = 0; i < count; i++) {
    int64_t k = bin_of(fnzi_cpu_real_at(&x, i), low, high, bins, x.f != NULL);
    if (k >= 0)
      fnzi_cpu_real_put(&y, k, fnzi_cpu_real_at(&counts, k) + 1);
  }
  return FNZ_OK;
}

/* --- bincount ---------------------------------------------------------------------------- */
fnz_status fnzi_kernel_bincount(fnzi_krn_call *call) {
  const fnzi_krn_array *weights = fnzi_krn_named_array(call, "weights");
  const fnz_geometry *g = &call->outputs[0]->geometry;
  int64_t count = fnzi_krn_array_numel(fnzi_krn_call_input(call, 0)), most;
  const int64_t *values;
  fnzi_cpu_reals x;
  fnzi_cpu_reals_out y;
  void *out;
  FNZ_TRY(fnzi_meta_bincount_read(call, &values, &most));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, g->dtype, &out));
  memset(out, 0, (size_t)g->sizes[0] * fnzi_dtype(g->dtype)->bytes);
  for (int64_t i = 0; !weights && i < count; i++)
    ((int64_t *)out)[values[i]]++;
  if (!weights || count == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_cpu_reals_open(call, weights, g->dtype, &x));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, g->dtype, &y));
  fnzi_cpu_reals sums = fnzi_cpu_reals_read(&y);
  for (int64_t i = 0; i < count; i++)
    fnzi_cpu_real_put(&y, values[i], fnzi_cpu_real_at(&sums, values[i]) + fnzi_cpu_real_at(&x, i));
  return FNZ_OK;
}

/* --- Each place as often as a tensor says ------------------------------------------------ */
fnz_status fnzi_kernel_repeats(fnzi_krn_call *call) {
  const int64_t *values;
  int64_t sum, *at;
  void *out;
  FNZ_TRY(fnzi_meta_repeats_read(call, &values, &sum));
  if (sum != fnzi_krn_array_numel(call->outputs[0])) /* whose size the caller said */
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "output_size is %lld, but repeats add up to %lld",
                                (long long)fnzi_krn_array_numel(call->outputs[0]), (long long)sum);
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_I64, &out));
  at = out;
  const int64_t count = fnzi_krn_array_numel(fnzi_krn_call_input(call, 0));
  for (int64_t i = 0; i < count; i++)
    for (int64_t k = 0; k < values[i]; k++)
      *at++ = i;
  return FNZ_OK;
}

/* --- Places of triangles ----------------------------------------------------------------- */
fnz_status fnzi_kernel_triangle_places(fnzi_krn_call *call) {
  fnzi_meta_triangle t = fnzi_meta_triangle_of(call);
  int64_t count = call->outputs[0]->geometry.sizes[1], at = 0, first, last;
  void *out;
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_I64, &out));
  if (call->record) {
    const int64_t integers[] = {t.rows, t.columns, t.offset, t.upper, count};
    fnzi_cpu_recording recorded = {.f = {.nwindows = 0}};
    fnzi_cpu_record_window(&recorded, FNZ_I64, 2 * count, out);
    fnzi_cpu_record_integers(&recorded, integers, sizeof integers);
    return fnzi_cpu_record(call, &recorded, "triangle_place", count);
  }
  for (int64_t i = 0; i < t.rows; i++) {
    fnzi_meta_triangle_columns(&t, i, &first, &last);
    for (int64_t k = first; k < last; k++, at++) {
      ((int64_t *)out)[at] = i;
      ((int64_t *)out)[count + at] = k;
    }
  }
  return FNZ_OK;
}

/* --- frexp ------------------------------------------------------------------------------- */
/* fraction_of() of floats without a branch, so that loops of it become vectors. */
static inline float fraction_of_float(float x, int32_t *exponent) {
  int32_t bits, scaled_bits;
  float scaled = x * 0x1p25f; /* of one below the least normal one, a normal one */
  memcpy(&bits, &x, sizeof bits), memcpy(&scaled_bits, &scaled, sizeof scaled_bits);
  const bool is_own = (bits & 0x7fffffff) == 0 || (bits & 0x7f800000) == 0x7f800000;
  const bool is_small = (bits & 0x7f800000) == 0;
  const int32_t of = is_small ? scaled_bits : bits;
  const int32_t power = (of >> 23 & 0xff) - 126 - (is_small ? 25 : 0);
  const int32_t fraction = (of & (int32_t)0x807fffff) | 126 << 23;
  float result, own = x + x;
  memcpy(&result, &fraction, sizeof result);
  *exponent = is_own ? 0 : power;
  return is_own ? own : result;
}

/* Floats are not widened in memory. */
static void bins_split(const fnzi_cpu_reals *x, const fnzi_cpu_reals_out *fractions,
                       int32_t *restrict exponents, int64_t count) {
  for (int64_t i = 0; x->d && i < count; i++) {
    int exponent;
    fractions->d[i] = fraction_of(x->d[i], &exponent);
    exponents[i] = exponent;
  }
  const float *restrict from = x->f;
  float *restrict to = fractions->f;
  for (int64_t i = 0; from && i < count; i++)
    to[i] = fraction_of_float(from[i], &exponents[i]);
}

/* Floats without gaps, in the order in which the results lie too. */
static bool split_as_they_lie(const fnzi_krn_call *call, int64_t count) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  const fnz_geometry *x = &self->window;
  const fnzi_cpu_reals from = {(const void *)fnzi_krn_array_data(self), NULL};
  const fnzi_cpu_reals_out to = {(void *)fnzi_krn_array_data(call->outputs[0]), NULL};
  if (x->dtype != FNZ_F32 || !fnzi_is_dense(x))
    return false;
  for (int k = 0; k < 2; k++) {
    const fnz_geometry *y = &call->outputs[k]->window;
    if (y->dtype != (k ? FNZ_I32 : FNZ_F32) ||
        (x->rank && memcmp(x->strides, y->strides, x->rank * sizeof *x->strides) != 0))
      return false;
  }
  bins_split(&from, &to, (void *)fnzi_krn_array_data(call->outputs[1]), count);
  return true;
}

fnz_status fnzi_kernel_frexp(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  const int64_t count = fnzi_krn_array_numel(self);
  const fnz_dtype dtype = call->record ? FNZ_F64 : fnzi_cpu_real_dtype(self->geometry.dtype);
  fnzi_cpu_reals x;
  fnzi_cpu_reals_out fractions;
  void *exponents;
  if (!call->record && split_as_they_lie(call, count))
    return FNZ_OK;
  FNZ_TRY(fnzi_cpu_reals_open(call, self, dtype, &x));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &fractions));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_I32, &exponents));
  if (call->record) {
    fnzi_krn_window windows[3];
    fnzi_krn_window_dense(&windows[0], FNZ_F64, 1, &count, x.d);
    fnzi_krn_window_dense(&windows[1], FNZ_F64, 1, &count, fractions.d);
    fnzi_krn_window_dense(&windows[2], FNZ_I32, 1, &count, exponents);
    const fnzi_krn_formula f = {
        .name = "fraction", .count = count, .windows = windows, .nwindows = 3, .nresults = 2};
    return call->record->formula(call->record->user, &f);
  }
  bins_split(&x, &fractions, exponents, count);
  return FNZ_OK;
}
