/* bins.c - elements counted into bins, and numbers of places: histc, bincount, repeat_interleave of
 * a tensor, tril_indices and triu_indices, frexp. */
#include "kernels/cpu/special_reals.h"

#include <math.h>

/* --- histc ------------------------------------------------------------------------------- */
fnz_status fnzi_shape_histc(fnzi_call *call) {
  const fnz_geometry *g = fnzi_input_geometry(call, 0);
  int64_t bins = fnzi_named_int(call, "bins", 100);
  if (bins < 1)
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "bins is %lld; it must be positive",
                       (long long)bins);
  double low = fnzi_named_float(call, "min", 0), high = fnzi_named_float(call, "max", 0);
  if (!(low <= high))
    return fnzi_refuse(
        call, FNZ_CLASS_BOUNDS,
        "no range goes from min %g to max %g; both must be finite, min not above max", low, high);
  return fnzi_shape_add(call, g->dtype, 1, &bins, NULL);
}

/* From the smallest element to the largest where the arguments say no range; an empty range is
 * widened by one to each side. */
static fnz_status find_range(const fnzi_call *call, const fnzi_reals *x, int64_t count, double *low,
                             double *high) {
  *low = fnzi_named_float(call, "min", 0);
  *high = fnzi_named_float(call, "max", 0);
  for (int64_t i = 0; *low == *high && i < count; i++)
    if (!isfinite(fnzi_real_at(x, i)))
      return fnzi_refuse(call, FNZ_CLASS_BOUNDS,
                         "element %lld of self is not finite; give min and max", (long long)i);
  if (*low == *high && count > 0) {
    *low = *high = fnzi_real_at(x, 0);
    for (int64_t i = 1; i < count; i++) {
      *low = fmin(*low, fnzi_real_at(x, i));
      *high = fmax(*high, fnzi_real_at(x, i));
    }
  }
  if (*low == *high)
    *low -= 1, *high += 1;
  if (isfinite(*low) && isfinite(*high) && *low < *high)
    return FNZ_OK;
  return fnzi_refuse(call, FNZ_CLASS_BOUNDS,
                     "no range goes from min %g to max %g; both must be finite, min not above max",
                     *low, *high);
}

fnz_status fnzi_kernel_histc(fnzi_call *call) {
  const fnzi_array *self = fnzi_input(call, 0);
  fnz_dtype dtype = self->geometry.dtype == FNZ_F64 ? FNZ_F64 : FNZ_F32;
  int64_t bins = call->outputs[0]->geometry.sizes[0], count = fnzi_array_numel(self);
  double low, high;
  fnzi_reals x;
  fnzi_reals_out y;
  FNZ_TRY(fnzi_reals_open(call, self, dtype, &x));
  FNZ_TRY(find_range(call, &x, count, &low, &high));
  FNZ_TRY(fnzi_reals_result(call, 0, dtype, &y));
  for (int64_t k = 0; k < bins; k++)
    fnzi_real_put(&y, k, 0);
  fnzi_reals counts = fnzi_reals_read(&y);
  for (int64_t i = 0; i < count; i++) {
    double v = fnzi_real_at(&x, i);
    if (!(v >= (x.f ? (float)low : low) && v <= (x.f ? (float)high : high)))
      continue;
    double place =
        x.f ? (double)(((float)v - (float)low) * (float)bins / ((float)high - (float)low))
            : (v - low) * (double)bins / (high - low);
    int64_t k = place < (double)bins ? (int64_t)place : bins - 1; /* also what is no number */
    fnzi_real_put(&y, k, fnzi_real_at(&counts, k) + 1);
  }
  return FNZ_OK;
}

/* --- bincount ---------------------------------------------------------------------------- */
/* The numbers, checked; *most is one more than the largest. */
static fnz_status read_counts(fnzi_call *call, const int64_t **out, int64_t *most) {
  const fnzi_array *self = fnzi_input(call, 0);
  const void *data;
  FNZ_TRY(fnzi_dense_as(call, self, FNZ_I64, &data));
  *out = data;
  *most = 0;
  for (int64_t i = 0; i < fnzi_array_numel(self); i++) {
    int64_t v = (*out)[i];
    if (v < 0 || v >= (INT64_C(1) << 40))
      return fnzi_refuse(call, FNZ_CLASS_BOUNDS,
                         "element %lld of self is %lld; it must be from 0 to 2^40 - 1",
                         (long long)i, (long long)v);
    *most = v >= *most ? v + 1 : *most;
  }
  return FNZ_OK;
}

static fnz_status check_bincount(const fnzi_call *call) {
  const fnz_geometry *g = fnzi_input_geometry(call, 0);
  const fnzi_array *weights = fnzi_named_array(call, "weights");
  if (fnzi_is_float(g->dtype) || g->dtype == FNZ_BOOL || g->rank != 1)
    return fnzi_refuse(call, FNZ_CLASS_TYPE,
                       "self is %s with %u dimensions; it needs integers "
                       "in 1",
                       fnzi_dtype(g->dtype)->name, g->rank);
  if (weights && (weights->geometry.rank != 1 || fnzi_array_numel(weights) != g->sizes[0]))
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS,
                       "weights has %lld elements, self %lld; both need as many in 1 dimension",
                       (long long)fnzi_array_numel(weights), (long long)g->sizes[0]);
  if (fnzi_named_int(call, "minlength", 0) < 0)
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "minlength is %lld; it must not be negative",
                       (long long)fnzi_named_int(call, "minlength", 0));
  return FNZ_OK;
}

static const fnz_geometry *recorded(const fnzi_call *call) {
  return call->nexpected ? call->expected[0] : NULL;
}

fnz_status fnzi_shape_bincount(fnzi_call *call) {
  const fnzi_array *weights = fnzi_named_array(call, "weights");
  int64_t size = 0, least = fnzi_named_int(call, "minlength", 0);
  const int64_t *values;
  bool weighs = weights && fnzi_array_numel(weights) > 0;
  fnz_dtype dtype = !weighs ? FNZ_I64 : weights->geometry.dtype == FNZ_F32 ? FNZ_F32 : FNZ_F64;
  FNZ_TRY(check_bincount(call));
  if (call->has_data)
    FNZ_TRY(read_counts(call, &values, &size));
  else if (!recorded(call))
    return fnzi_size_unknown(call);
  else
    size = recorded(call)->rank ? recorded(call)->sizes[0] : 0;
  size = size < least ? least : size;
  return fnzi_shape_add(call, dtype, 1, &size, NULL);
}

fnz_status fnzi_kernel_bincount(fnzi_call *call) {
  const fnzi_array *weights = fnzi_named_array(call, "weights");
  const fnz_geometry *g = &call->outputs[0]->geometry;
  int64_t count = fnzi_array_numel(fnzi_input(call, 0)), most;
  const int64_t *values;
  fnzi_reals x;
  fnzi_reals_out y;
  void *out;
  FNZ_TRY(read_counts(call, &values, &most));
  FNZ_TRY(fnzi_result_as(call, 0, g->dtype, &out));
  memset(out, 0, (size_t)g->sizes[0] * fnzi_dtype(g->dtype)->bytes);
  for (int64_t i = 0; !weights && i < count; i++)
    ((int64_t *)out)[values[i]]++;
  if (!weights || count == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_reals_open(call, weights, g->dtype, &x));
  FNZ_TRY(fnzi_reals_result(call, 0, g->dtype, &y));
  fnzi_reals sums = fnzi_reals_read(&y);
  for (int64_t i = 0; i < count; i++)
    fnzi_real_put(&y, values[i], fnzi_real_at(&sums, values[i]) + fnzi_real_at(&x, i));
  return FNZ_OK;
}

/* --- Each place as often as a tensor says ------------------------------------------------ */
static fnz_status count_repeats(fnzi_call *call, const int64_t **out, int64_t *sum) {
  const fnzi_array *repeats = fnzi_input(call, 0);
  const void *data;
  FNZ_TRY(fnzi_dense_as(call, repeats, FNZ_I64, &data));
  *out = data;
  *sum = 0;
  for (int64_t i = 0; i < fnzi_array_numel(repeats); i++)
    if ((*out)[i] < 0 || !fnzi_add_i64(*sum, (*out)[i], sum))
      return fnzi_refuse(call, FNZ_CLASS_BOUNDS,
                         "repeats has %lld at place %lld; it must not be negative, and all "
                         "together fit 64 bits",
                         (long long)(*out)[i], (long long)i);
  return FNZ_OK;
}

fnz_status fnzi_shape_repeats(fnzi_call *call) {
  const fnz_geometry *g = fnzi_input_geometry(call, 0);
  const fnz_arg *given = fnzi_named(call, "output_size");
  const int64_t *values;
  int64_t sum = -1;
  if ((g->dtype != FNZ_I64 && g->dtype != FNZ_I32) || g->rank != 1)
    return fnzi_refuse(call, FNZ_CLASS_TYPE,
                       "repeats are %s with %u dimensions; they need i64 or "
                       "i32 in 1",
                       fnzi_dtype(g->dtype)->name, g->rank);
  if (call->has_data)
    FNZ_TRY(count_repeats(call, &values, &sum));
  if (given && given->tag == FNZ_ARG_INT && sum >= 0 && given->u.i != sum)
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "output_size is %lld, but repeats add up to %lld",
                       (long long)given->u.i, (long long)sum);
  if (sum < 0 && given && given->tag == FNZ_ARG_INT)
    sum = given->u.i;
  if (sum < 0 && recorded(call) && recorded(call)->rank)
    sum = recorded(call)->sizes[0];
  if (sum < 0)
    return fnzi_size_unknown(call);
  return fnzi_shape_add(call, g->dtype, 1, &sum, NULL);
}

fnz_status fnzi_kernel_repeats(fnzi_call *call) {
  const int64_t *values;
  int64_t sum, *at;
  void *out;
  FNZ_TRY(count_repeats(call, &values, &sum));
  FNZ_TRY(fnzi_result_as(call, 0, FNZ_I64, &out));
  at = out;
  for (int64_t i = 0; i < fnzi_array_numel(fnzi_input(call, 0)); i++)
    for (int64_t k = 0; k < values[i]; k++)
      *at++ = i;
  return FNZ_OK;
}

/* --- Places of triangles ----------------------------------------------------------------- */
typedef struct triangle {
  int64_t rows, columns, offset;
  bool upper;
} triangle;

/* Columns of a row from `first` to before `last`. */
static void columns_of(const triangle *t, int64_t row, int64_t *first, int64_t *last) {
  int64_t edge = row + t->offset + (t->upper ? 0 : 1);
  edge = edge < 0 ? 0 : edge > t->columns ? t->columns : edge;
  *first = t->upper ? edge : 0;
  *last = t->upper ? t->columns : edge;
}

static triangle triangle_of(const fnzi_call *call) {
  return (triangle){.rows = fnzi_named_int(call, "row", 0),
                    .columns = fnzi_named_int(call, "col", 0),
                    .offset = fnzi_named_int(call, "offset", 0),
                    .upper = strcmp(call->op->base, "triu_indices") == 0};
}

fnz_status fnzi_shape_triangle_places(fnzi_call *call) {
  triangle t = triangle_of(call);
  int64_t sizes[] = {2, 0}, first, last;
  fnz_dtype dtype = fnzi_named_dtype(call, "dtype", FNZ_I64);
  bool small = t.rows >= 0 && t.columns >= 0 && t.rows < (1 << 30) && t.columns < (1 << 30) &&
               t.offset > -(1 << 30) && t.offset < (1 << 30);
  if (!small || (dtype != FNZ_I64 && dtype != FNZ_I32))
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS,
                       "row %lld, col %lld and offset %lld must be sizes of a matrix, dtype i64 or "
                       "i32",
                       (long long)t.rows, (long long)t.columns, (long long)t.offset);
  for (int64_t i = 0; i < t.rows; i++) {
    columns_of(&t, i, &first, &last);
    sizes[1] += last - first;
  }
  return fnzi_shape_add(call, dtype, 2, sizes, NULL);
}

fnz_status fnzi_kernel_triangle_places(fnzi_call *call) {
  triangle t = triangle_of(call);
  int64_t count = call->outputs[0]->geometry.sizes[1], at = 0, first, last;
  void *out;
  FNZ_TRY(fnzi_result_as(call, 0, FNZ_I64, &out));
  for (int64_t i = 0; i < t.rows; i++) {
    columns_of(&t, i, &first, &last);
    for (int64_t k = first; k < last; k++, at++) {
      ((int64_t *)out)[at] = i;
      ((int64_t *)out)[count + at] = k;
    }
  }
  return FNZ_OK;
}

/* --- frexp ------------------------------------------------------------------------------- */
fnz_status fnzi_shape_frexp(fnzi_call *call) {
  const fnz_geometry *g = fnzi_input_geometry(call, 0);
  FNZ_TRY(fnzi_float_check(call));
  FNZ_TRY(fnzi_shape_add_like(call, g->dtype, g));
  return fnzi_shape_add_like(call, FNZ_I32, g);
}

fnz_status fnzi_kernel_frexp(fnzi_call *call) {
  const fnzi_array *self = fnzi_input(call, 0);
  const void *data;
  void *fractions, *exponents;
  FNZ_TRY(fnzi_dense_as(call, self, FNZ_F64, &data));
  FNZ_TRY(fnzi_result_as(call, 0, FNZ_F64, &fractions));
  FNZ_TRY(fnzi_result_as(call, 1, FNZ_I32, &exponents));
  for (int64_t i = 0; i < fnzi_array_numel(self); i++) {
    int exponent = 0;
    ((double *)fractions)[i] = frexp(((const double *)data)[i], &exponent);
    ((int32_t *)exponents)[i] = exponent;
  }
  return FNZ_OK;
}
