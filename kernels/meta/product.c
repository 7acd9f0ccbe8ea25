/* product.c - shapes of addr, cross and tensordot, and of searches in sorted numbers. */
#include "kernels/meta/meta.h"

/* In the order of self where that has all dimensions. */
fnz_status fnzi_shape_addr(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0),
                     *column = fnzi_krn_call_geometry(call, 1),
                     *row = fnzi_krn_call_geometry(call, 2);
  if (column->rank != 1 || row->rank != 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "ranks %u and %u: vec1 and vec2 must be vectors", column->rank,
                                row->rank);
  int64_t sizes[] = {column->sizes[0], row->sizes[0]}, strides[2];
  for (uint32_t i = 0; i < self->rank; i++)
    if (self->rank > 2 || (self->sizes[i] != 1 && self->sizes[i] != sizes[2 - self->rank + i]))
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "self of rank %u does not broadcast to (%lld, %lld)", self->rank,
                                  (long long)sizes[0], (long long)sizes[1]);
  const int64_t standing[] = {column->sizes[0], 1}, steps[] = {column->strides[0], 1};
  const fnz_geometry upright = {
      .dtype = column->dtype, .rank = 2, .sizes = standing, .strides = steps};
  fnzi_iterator_strides((const fnz_geometry *const[]){self, &upright, row}, 3, 2, sizes, strides);
  fnz_dtype dtype = fnzi_promote(self->dtype, fnzi_promote(column->dtype, row->dtype));
  FNZ_TRY(fnzi_krn_factor_check(call, "alpha", dtype));
  FNZ_TRY(fnzi_krn_factor_check(call, "beta", dtype));
  return fnzi_shape_add(call, fnzi_krn_dtype_castable(call, dtype), 2, sizes, strides);
}

static fnz_status check_same(fnzi_krn_call *call) {
  const fnz_geometry *a = fnzi_krn_call_geometry(call, 0), *b = fnzi_krn_call_geometry(call, 1);
  if (a->dtype != b->dtype)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "self is %s, other is %s; cast one of them",
                                fnzi_dtype(a->dtype)->name, fnzi_dtype(b->dtype)->name);
  return FNZ_OK;
}

/* Without dim it is the first one of size 3. */
fnz_status fnzi_meta_cross_dim(fnzi_krn_call *call, uint32_t *out) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  const fnz_arg *dim = fnzi_krn_named(call, "dim");
  if (dim->tag == FNZ_ARG_INT)
    return fnzi_wrap_dim(call->ctx, call->op->name, dim->u.i, self->rank, out);
  for (*out = 0; *out < self->rank; ++*out)
    if (self->sizes[*out] == 3)
      return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "self has no dimension of size 3");
}

fnz_status fnzi_shape_cross(fnzi_krn_call *call) {
  const fnz_geometry *const both[] = {fnzi_krn_call_geometry(call, 0),
                                      fnzi_krn_call_geometry(call, 1)};
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank, dim;
  FNZ_TRY(check_same(call));
  if (both[0]->dtype == FNZ_BOOL)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "not for bool; cast both to an integer");
  if (both[0]->rank != both[1]->rank || both[0]->rank == 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "ranks %u and %u: both must be the same, from 1 on", both[0]->rank,
                                both[1]->rank);
  FNZ_TRY(fnzi_meta_cross_dim(call, &dim));
  if (both[0]->sizes[dim] != 3 || both[1]->sizes[dim] != 3)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "dimension %u has %lld and %lld elements, not 3", dim,
                                (long long)both[0]->sizes[dim], (long long)both[1]->sizes[dim]);
  FNZ_TRY(fnzi_meta_broadcast(call, both, 2, &rank, sizes));
  return fnzi_shape_add(call, both[0]->dtype, rank, sizes, NULL);
}

/* --- tensordot --------------------------------------------------------------------------- */
/* Appends the sizes that are not summed. `dims` become numbers from 0 on. */
static fnz_status add_free(fnzi_krn_call *call, const fnz_geometry *g, int64_t *dims, size_t count,
                           int64_t *sizes, uint32_t *rank) {
  bool summed[FNZ_MAX_RANK] = {false};
  for (size_t i = 0; i < count; i++) {
    uint32_t dim;
    FNZ_TRY(fnzi_wrap_dim(call->ctx, call->op->name, dims[i], g->rank, &dim));
    if (dim >= g->rank || summed[dim])
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "dimension %u is not there or appears twice", dim);
    summed[dim] = true;
    dims[i] = dim;
  }
  for (uint32_t i = 0; i < g->rank; i++)
    if (!summed[i])
      sizes[(*rank)++] = g->sizes[i];
  return FNZ_OK;
}

static fnz_status copy_dims(fnzi_krn_call *call, const char *name, int64_t *out, size_t *count) {
  const int64_t *given;
  FNZ_TRY(fnzi_krn_named_ints(call, name, &given, count));
  if (*count > FNZ_MAX_RANK)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_LIMIT, "%s has %zu dimensions, at most %d", name,
                                *count, FNZ_MAX_RANK);
  if (*count)
    memcpy(out, given, *count * sizeof *out);
  return FNZ_OK;
}

fnz_status fnzi_shape_tensordot(fnzi_krn_call *call) {
  const fnz_geometry *a = fnzi_krn_call_geometry(call, 0), *b = fnzi_krn_call_geometry(call, 1);
  int64_t of_a[FNZ_MAX_RANK], of_b[FNZ_MAX_RANK], sizes[2 * FNZ_MAX_RANK];
  uint32_t rank = 0;
  size_t count, others;
  FNZ_TRY(check_same(call));
  FNZ_TRY(copy_dims(call, "dims_self", of_a, &count));
  FNZ_TRY(copy_dims(call, "dims_other", of_b, &others));
  if (count != others)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%zu dimensions of self for %zu of other",
                                count, others);
  FNZ_TRY(add_free(call, a, of_a, count, sizes, &rank));
  FNZ_TRY(add_free(call, b, of_b, count, sizes, &rank));
  for (size_t i = 0; i < count; i++)
    if (a->sizes[of_a[i]] != b->sizes[of_b[i]] && a->sizes[of_a[i]] != 1 && b->sizes[of_b[i]] != 1)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%lld elements are summed with %lld",
                                  (long long)a->sizes[of_a[i]], (long long)b->sizes[of_b[i]]);
  if (rank > FNZ_MAX_RANK)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_LIMIT, "the result has rank %u, at most %d", rank,
                                FNZ_MAX_RANK);
  return fnzi_shape_add(call, a->dtype, rank, sizes, NULL);
}

/* --- Sorted numbers ---------------------------------------------------------------------- */
/* A number beside boundaries of bool makes an integer of them. */
static fnz_status add_found(fnzi_krn_call *call, const fnz_geometry *sorted) {
  const fnzi_krn_array *wanted = fnzi_krn_named_array(call, "self");
  fnz_dtype dtype = fnzi_krn_named_bool(call, "out_int32", false) ? FNZ_I32 : FNZ_I64;
  fnz_dtype other = wanted ? wanted->geometry.dtype : FNZ_I64;
  if (fnzi_promote(sorted->dtype, other) == FNZ_BOOL)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "not for bool; cast to an integer");
  if (fnzi_is_complex(sorted->dtype) || fnzi_is_complex(other))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "complex numbers have no order");
  return fnzi_shape_add(call, dtype, wanted ? wanted->geometry.rank : 0,
                        wanted ? wanted->geometry.sizes : NULL, NULL);
}

fnz_status fnzi_shape_searchsorted(fnzi_krn_call *call) {
  const fnz_geometry *sorted = fnzi_krn_call_geometry(call, 0);
  const fnzi_krn_array *sorter = fnzi_krn_named_array(call, "sorter");
  const char *side = fnzi_krn_named_string(call, "side");
  bool right = fnzi_krn_named_bool(call, "right", false);
  /* Both have the same dimensions but for the last one, or the sorted ones are one row. */
  const fnzi_krn_array *wanted = fnzi_krn_named_array(call, "self");
  uint32_t rank = wanted ? wanted->geometry.rank : 0;
  bool fits = sorted->rank == 1 || (sorted->rank && sorted->rank == rank);
  for (uint32_t i = 0; fits && sorted->rank > 1 && i + 1 < rank; i++)
    fits = sorted->sizes[i] == wanted->geometry.sizes[i];
  if (!fits)
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_BOUNDS,
        "the sorted numbers, of rank %u, must have one dimension or those of the "
        "wanted, of rank %u, but for the last",
        sorted->rank, rank);
  if (*side && strcmp(side, "left") != 0 && strcmp(side, "right") != 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "side is %s, it must be left or right", side);
  if (right && strcmp(side, "left") == 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "side is left, but right is true; leave one out");
  if (sorter && (sorter->geometry.dtype != FNZ_I64 || !fnzi_same_sizes(&sorter->geometry, sorted)))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "sorter must be i64 and have the sizes of sorted_sequence");
  return add_found(call, sorted);
}

fnz_status fnzi_shape_bucketize(fnzi_krn_call *call) {
  const fnz_geometry *boundaries = &fnzi_krn_named_array(call, "boundaries")->geometry;
  if (boundaries->rank != 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "boundaries have rank %u, they must be a vector", boundaries->rank);
  return add_found(call, boundaries);
}
