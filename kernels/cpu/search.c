/* search.c - where numbers would stand in sorted ones: searchsorted, bucketize. */
#include "kernels/cpu/cpu.h"

typedef struct search {
  fnz_dtype dtype; /* F64 or I64 */
  const void *sorted, *wanted;
  const int64_t *order; /* where the sorted ones really stand in their row, or NULL */
  int64_t length;       /* of a row of sorted ones */
  bool right;           /* behind equal ones */
} search;

/* Does element `at` of the row from `start` stand before the wanted one? NaN stand last. */
static bool is_before(const search *s, int64_t start, int64_t at, int64_t wanted) {
  int64_t place = start + (s->order ? s->order[start + at] : at);
  if (s->dtype == FNZ_I64) {
    int64_t a = ((const int64_t *)s->sorted)[place], b = ((const int64_t *)s->wanted)[wanted];
    return s->right ? a <= b : a < b;
  }
  double a = ((const double *)s->sorted)[place], b = ((const double *)s->wanted)[wanted];
  return s->right ? !(a > b) : !(a >= b);
}

static int64_t find(const search *s, int64_t start, int64_t wanted) {
  int64_t low = 0, high = s->length;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (is_before(s, start, middle, wanted))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* A number takes the type of floating-point boundaries, and f32 beside integers. */
static fnz_status open_number(fnzi_krn_call *call, const fnz_arg *number, fnz_dtype boundaries,
                              search *s) {
  fnz_dtype dtype = fnzi_is_float(boundaries)      ? boundaries
                    : number->tag == FNZ_ARG_FLOAT ? FNZ_F32
                                                   : FNZ_I64;
  unsigned char cell[16];
  int64_t *wanted;
  FNZI_NEW(&call->scratch, 1, &wanted);
  fnzi_krn_number_cell(number, dtype, cell);
  s->dtype = dtype == FNZ_I64 ? FNZ_I64 : FNZ_F64;
  fnzi_krn_convert(s->dtype, wanted, 8, dtype, cell, 8, 1);
  s->wanted = wanted;
  return FNZ_OK;
}

static fnz_status open_wanted(fnzi_krn_call *call, const fnz_arg *wanted, fnz_dtype boundaries,
                              search *s) {
  const fnzi_krn_array *array = fnzi_krn_arg_array(wanted);
  if (!array)
    return open_number(call, wanted, boundaries, s);
  fnz_dtype common = fnzi_promote(array->place.dtype, boundaries);
  s->dtype = fnzi_is_float(common) ? FNZ_F64 : FNZ_I64;
  return fnzi_krn_dense_get_as(call, array, s->dtype, &s->wanted);
}

static fnz_status run(fnzi_krn_call *call, const fnzi_krn_array *sorted, const fnz_arg *wanted,
                      search *s) {
  const fnz_geometry *g = &sorted->place, *out = &call->outputs[0]->place;
  int64_t count = fnz_geometry_numel(out);
  void *found;
  s->length = g->sizes[g->rank - 1];
  FNZ_TRY(open_wanted(call, wanted, g->dtype, s));
  FNZ_TRY(fnzi_krn_dense_get_as(call, sorted, s->dtype, &s->sorted));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_I64, &found));
  int64_t per_row = g->rank > 1 && count ? out->sizes[out->rank - 1] : 1;
  for (int64_t i = 0; i < count; i++)
    ((int64_t *)found)[i] = find(s, g->rank > 1 ? i / per_row * s->length : 0, i);
  return FNZ_OK;
}

fnz_status fnzi_kernel_searchsorted(fnzi_krn_call *call) {
  const fnzi_krn_array *sorted = fnzi_krn_call_input(call, 0),
                       *sorter = fnzi_krn_named_array(call, "sorter");
  search s = {.right = fnzi_krn_named_bool(call, "right", false) ||
                       strcmp(fnzi_krn_named_string(call, "side"), "right") == 0};
  if (sorter)
    FNZ_TRY(fnzi_meta_index_values(call, sorter, sorted->place.sizes[sorted->place.rank - 1], false,
                                   &s.order));
  return run(call, sorted, fnzi_krn_named(call, "self"), &s);
}

fnz_status fnzi_kernel_bucketize(fnzi_krn_call *call) {
  search s = {.right = fnzi_krn_named_bool(call, "right", false)};
  return run(call, fnzi_krn_named_array(call, "boundaries"), fnzi_krn_named(call, "self"), &s);
}
