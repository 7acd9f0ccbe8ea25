/* bins.c - shape rules of counts, places and ways to choose: histc, tril_indices and triu_indices,
 * combinations; of frexp and assertions, which give what no pointwise operator does. */
#include "kernels/meta/bins.h"

fnz_status fnzi_shape_histc(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  int64_t bins = fnzi_krn_named_int(call, "bins", 100);
  if (bins < 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "bins is %lld; it must be positive",
                                (long long)bins);
  double low = fnzi_krn_named_float(call, "min", 0), high = fnzi_krn_named_float(call, "max", 0);
  if (!(low <= high))
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_BOUNDS,
        "no range goes from min %g to max %g; both must be finite, min not above max", low, high);
  return fnzi_shape_add(call, g->dtype, 1, &bins, NULL);
}

/* --- Places of triangles ----------------------------------------------------------------- */
void fnzi_meta_triangle_columns(const fnzi_meta_triangle *t, int64_t row, int64_t *first,
                                int64_t *last) {
  int64_t edge = row + t->offset + (t->upper ? 0 : 1);
  edge = edge < 0 ? 0 : edge > t->columns ? t->columns : edge;
  *first = t->upper ? edge : 0;
  *last = t->upper ? t->columns : edge;
}

fnzi_meta_triangle fnzi_meta_triangle_of(const fnzi_krn_call *call) {
  return (fnzi_meta_triangle){.rows = fnzi_krn_named_int(call, "row", 0),
                              .columns = fnzi_krn_named_int(call, "col", 0),
                              .offset = fnzi_krn_named_int(call, "offset", 0),
                              .upper = call->row->mode == FNZI_MODE_upper};
}

fnz_status fnzi_shape_triangle_places(fnzi_krn_call *call) {
  fnzi_meta_triangle t = fnzi_meta_triangle_of(call);
  int64_t sizes[] = {2, 0}, first, last;
  fnz_dtype dtype = fnzi_krn_named_dtype(call, "dtype", FNZ_I64);
  bool small = t.rows >= 0 && t.columns >= 0 && t.rows < (1 << 30) && t.columns < (1 << 30) &&
               t.offset > -(1 << 30) && t.offset < (1 << 30);
  if (!small || (dtype != FNZ_I64 && dtype != FNZ_I32))
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_BOUNDS,
        "row %lld, col %lld and offset %lld must be sizes of a matrix, dtype i64 or "
        "i32",
        (long long)t.rows, (long long)t.columns, (long long)t.offset);
  for (int64_t i = 0; i < t.rows; i++) {
    fnzi_meta_triangle_columns(&t, i, &first, &last);
    sizes[1] += last - first;
  }
  return fnzi_shape_add(call, dtype, 2, sizes, NULL);
}

/* --- Combinations ------------------------------------------------------------------------ */
/* A row has so many elements at most: more would be more bytes than there are for one row. */
enum { MOST_TAKEN = 1 << 20 };

/* n over r, for r <= n; false when it leaves 63 bits. */
static bool binomial(int64_t n, int64_t r, int64_t *out) {
  int64_t count = 1;
  r = r < n - r ? r : n - r;
  for (int64_t k = 1; k <= r; k++) {
    __extension__ unsigned __int128 next = (unsigned __int128)count * (uint64_t)(n - r + k);
    if (next / (uint64_t)k > INT64_MAX)
      return false;
    count = (int64_t)(next / (uint64_t)k);
  }
  *out = count;
  return true;
}

fnz_status fnzi_shape_combinations(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  int64_t r = fnzi_krn_named_int(call, "r", 2), sizes[2] = {0, r};
  bool again = fnzi_krn_named_bool(call, "with_replacement", false);
  if (self->rank != 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "self has %u dimensions, it must be a vector", self->rank);
  if (r < 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "r is %lld; it must not be negative",
                                (long long)r);
  int64_t n = self->sizes[0];
  if (r == 0)
    return fnzi_shape_add(call, self->dtype, 1, sizes, NULL);
  int64_t among = again && n > 0 ? n + (r < MOST_TAKEN ? r : 0) - 1 : n;
  if (r > MOST_TAKEN || (among >= r && !binomial(among, r, &sizes[0])))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW, "%lld of %lld elements are too many ways",
                                (long long)r, (long long)n);
  return fnzi_shape_add(call, self->dtype, 2, sizes, NULL);
}

/* --- Others ------------------------------------------------------------------------------ */
fnz_status fnzi_shape_frexp(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  FNZ_TRY(fnzi_krn_float_check(call));
  FNZ_TRY(fnzi_shape_add_like(call, g->dtype, g));
  return fnzi_shape_add_like(call, FNZ_I32, g);
}

fnz_status fnzi_shape_assert(fnzi_krn_call *call) {
  int64_t count = fnzi_krn_array_numel(fnzi_krn_call_input(call, 0));
  if (count == 1)
    return FNZ_OK;
  return fnzi_krn_call_refuse(
      call, FNZ_CLASS_BOUNDS,
      "asserts that the number of a tensor is not 0, this one has %lld; reduce it "
      "by all() or any() before",
      (long long)count);
}

/* The token only orders calls. */
fnz_status fnzi_shape_assert_token(fnzi_krn_call *call) {
  const fnz_geometry *token = &fnzi_krn_named_array(call, "dep_token")->geometry;
  FNZ_TRY(fnzi_shape_assert(call));
  return fnzi_shape_add_like(call, token->dtype, token);
}
