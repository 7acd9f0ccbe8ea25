/* index.c - shape rules of operators where tensors of indices or masks decide places. */
#include "kernels/meta/meta.h"

/* index.Tensor: the dimensions of the index take the place of the indexed dimensions; in front of
 * all when these are not adjacent. A mask's result has a size that depends on data. */
fnz_status fnzi_shape_index(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  int64_t sizes[2 * FNZ_MAX_RANK];
  fnzi_meta_places places;
  uint32_t rank = 0, dim = 0;
  const fnz_geometry *recorded = call->nexpected ? call->expected[0] : NULL;
  fnz_status status = fnzi_meta_places_find(call, self, &call->args[1], &places);
  if (status == FNZ_UNSUPPORTED && !call->has_data && recorded) /* by a mask */
    return fnzi_shape_add(call, self->geometry.dtype, recorded->rank, recorded->sizes, NULL);
  FNZ_TRY(status);
  for (; rank < places.first; dim++)
    sizes[rank++] = self->geometry.sizes[dim];
  for (uint32_t i = 0; i < places.rank; i++)
    sizes[rank++] = places.sizes[i];
  for (; dim < self->geometry.rank; dim++)
    if (!places.values[dim])
      sizes[rank++] = self->geometry.sizes[dim];
  return fnzi_shape_add(call, self->geometry.dtype, rank, sizes, NULL);
}

/* --- Checks of an index without its values ---------------------------------------------------- */

static fnz_status check_dim(const fnzi_krn_call *call, uint32_t *out) {
  return fnzi_wrap_dim(call->ctx, call->op->name, fnzi_krn_named_int(call, "dim", 0),
                       fnzi_krn_call_geometry(call, 0)->rank, out);
}

/* An index without elements may be of any type. */
static fnz_status check_elements(const fnzi_krn_call *call) {
  const fnzi_krn_array *index = fnzi_krn_named_array(call, "index");
  uint32_t dim;
  if (fnzi_krn_array_numel(index) == 0)
    return FNZ_OK;
  FNZ_TRY(check_dim(call, &dim));
  return fnzi_meta_index_check(call, index);
}

/* A tensor without dimensions counts as a vector of one element. */
static fnz_geometry as_lanes(const fnz_geometry *g) {
  static const int64_t one[] = {1};
  fnz_geometry lanes = *g;
  if (g->rank == 0) {
    lanes.rank = 1;
    lanes.sizes = lanes.strides = one;
  }
  return lanes;
}

/* The index must fit into `other` beside the dimension `but`; UINT32_MAX: in every dimension. */
static fnz_status check_fits(const fnzi_krn_call *call, uint32_t but, const char *what,
                             const fnz_geometry *other) {
  const fnz_geometry index = as_lanes(&fnzi_krn_named_array(call, "index")->geometry),
                     in = as_lanes(other);
  if (index.rank != in.rank)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "index has rank %u, %s has %u", index.rank,
                                what, in.rank);
  for (uint32_t i = 0; i < in.rank; i++)
    if (i != but && index.sizes[i] > in.sizes[i])
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "index has size %lld in dimension %u, %s has %lld",
                                  (long long)index.sizes[i], i, what, (long long)in.sizes[i]);
  return FNZ_OK;
}

/* An index of one place per element, in self beside dim, and in src. Without elements it may have
 * any sizes. */
static fnz_status index_check_places(const fnzi_krn_call *call) {
  const fnzi_krn_array *src = fnzi_krn_named_array(call, "src");
  uint32_t dim;
  if (fnzi_krn_array_numel(fnzi_krn_named_array(call, "index")) == 0)
    return FNZ_OK;
  FNZ_TRY(check_dim(call, &dim));
  FNZ_TRY(check_fits(call, dim, "self", fnzi_krn_call_geometry(call, 0)));
  return src ? check_fits(call, UINT32_MAX, "src", &src->geometry) : FNZ_OK;
}

static fnz_status check_vector(const fnzi_krn_call *call, uint32_t *dim) {
  const fnzi_krn_array *index = fnzi_krn_named_array(call, "index");
  if (index->geometry.rank > 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "index has rank %u, it must be a vector",
                                index->geometry.rank);
  FNZ_TRY(check_dim(call, dim));
  return fnzi_meta_index_check(call, index);
}

/* Some take no index of 32 bits. */
static fnz_status check_long(const fnzi_krn_call *call) {
  fnz_dtype dtype = fnzi_krn_named_array(call, "index")->geometry.dtype;
  if (dtype == FNZ_I64)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "index is of type %s, it must be i64",
                              fnzi_dtype(dtype)->name);
}

static fnz_status check_reduction(const fnzi_krn_call *call) {
  static const struct {
    const char *name;
    bool by_reduce;
  } reductions[] = {
#define REDUCTION(name, row, start, by_reduce, ...) {name, by_reduce},
#include "kernels/reductions.def"
#undef REDUCTION
  };
  const char *name = fnzi_krn_named_string(call, "reduce");
  bool by_reduce = strcmp(call->op->base, "scatter_reduce") == 0, known = !*name;
  for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
    known =
        known || (strcmp(reductions[i].name, name) == 0 && reductions[i].by_reduce == by_reduce);
  if (known)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "reduce is %s; it must be %s", name,
                              by_reduce ? "sum, prod, mean, amax or amin" : "add or multiply");
}

fnz_status fnzi_shape_scatter(fnzi_krn_call *call) {
  FNZ_TRY(check_reduction(call));
  FNZ_TRY(check_elements(call));
  FNZ_TRY(index_check_places(call));
  FNZ_TRY(fnzi_shape_row_major(call));
  return fnzi_meta_number_check(call, "value");
}

fnz_status fnzi_shape_index_write(fnzi_krn_call *call) {
  uint32_t dim;
  FNZ_TRY(check_vector(call, &dim));
  /* source: the sizes of self, along dim the sizes of the index. */
  const fnz_geometry self = as_lanes(fnzi_krn_call_geometry(call, 0)),
                     source = as_lanes(&fnzi_krn_named_array(call, "source")->geometry);
  int64_t count = fnzi_krn_array_numel(fnzi_krn_named_array(call, "index"));
  bool fits = source.rank == self.rank;
  for (uint32_t i = 0; fits && i < self.rank; i++)
    fits = source.sizes[i] == (i == dim ? count : self.sizes[i]);
  if (!fits)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "source must have the sizes of self, and %lld in dimension %u",
                                (long long)count, dim);
  return fnzi_shape_row_major(call);
}

fnz_status fnzi_shape_index_copy(fnzi_krn_call *call) {
  FNZ_TRY(check_long(call));
  return fnzi_shape_index_write(call);
}

fnz_status fnzi_shape_index_fill(fnzi_krn_call *call) {
  uint32_t dim;
  const fnzi_krn_array *value = fnzi_krn_named_array(call, "value");
  FNZ_TRY(check_long(call));
  FNZ_TRY(check_vector(call, &dim));
  if (value && value->geometry.rank)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "value must have no dimensions, it has %u",
                                value->geometry.rank);
  FNZ_TRY(fnzi_shape_self(call));
  return fnzi_meta_number_check(call, "value");
}

fnz_status fnzi_shape_put(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  const fnz_geometry *source = &fnzi_krn_named_array(call, "source")->geometry;
  FNZ_TRY(check_long(call));
  if (source->dtype != self->dtype)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "source is %s, self is %s; cast one of them",
                                fnzi_dtype(source->dtype)->name, fnzi_dtype(self->dtype)->name);
  int64_t have = fnz_geometry_numel(source),
          want = fnzi_krn_array_numel(fnzi_krn_named_array(call, "index"));
  if (have != want)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "source has %lld elements, index has %lld",
                                (long long)have, (long long)want);
  return fnzi_shape_self(call);
}

/* The values broadcast to the places, which masks among the indices count. */
fnz_status fnzi_shape_index_put(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  fnzi_krn_call shape = *call;
  fnzi_meta_places places;
  shape.has_data = false;
  fnz_status status = fnzi_meta_places_find(&shape, self, &call->args[1], &places);
  call->scratch = shape.scratch;
  if (status == FNZ_OK)
    status = fnzi_meta_values_check(call, self, &places);
  return status == FNZ_OK || status == FNZ_UNSUPPORTED ? fnzi_shape_self(call) : status;
}

/* --- Results of other shapes ------------------------------------------------------------------ */

/* nonzero: a row for each element that is not 0, stored place by place. */
fnz_status fnzi_shape_nonzero(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  const fnz_geometry *expected = call->nexpected ? call->expected[0] : NULL;
  const void *truths;
  int64_t count = 0, rank = self->geometry.rank, numel = fnzi_krn_array_numel(self);
  if (!call->has_data && expected) {
    const int64_t sizes[] = {expected->rank ? expected->sizes[0] : 0, rank};
    return fnzi_shape_add(call, FNZ_I64, 2, sizes, NULL);
  }
  if (!call->has_data)
    return fnzi_krn_size_refuse(call);
  FNZ_TRY(fnzi_krn_dense_get_as(call, self, FNZ_BOOL, &truths));
  for (int64_t i = 0; i < numel; i++)
    count += ((const uint8_t *)truths)[i] != 0;
  return fnzi_shape_add(call, FNZ_I64, 2, (const int64_t[]){count, rank},
                        (const int64_t[]){1, count});
}

fnz_status fnzi_shape_index_select(fnzi_krn_call *call) {
  const fnz_geometry *self = fnzi_krn_call_geometry(call, 0);
  const fnz_geometry *index = &fnzi_krn_named_array(call, "index")->geometry;
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t dim;
  FNZ_TRY(check_vector(call, &dim));
  if (self->rank == 0 && fnz_geometry_numel(index) != 1)
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_BOUNDS,
        "index has %lld elements, of a tensor without dimensions it selects one",
        (long long)fnz_geometry_numel(index));
  if (self->rank == 0)
    return fnzi_shape_add(call, self->dtype, 0, NULL, NULL);
  memcpy(sizes, self->sizes, self->rank * sizeof *sizes);
  sizes[dim] = fnz_geometry_numel(index);
  return fnzi_shape_add(call, self->dtype, self->rank, sizes, NULL);
}

/* The elements of self in the shape of the index. */
static fnz_status add_like_index(fnzi_krn_call *call) {
  const fnz_geometry *index = &fnzi_krn_named_array(call, "index")->geometry;
  return fnzi_shape_add(call, fnzi_krn_call_geometry(call, 0)->dtype, index->rank, index->sizes,
                        NULL);
}

fnz_status fnzi_shape_gather(fnzi_krn_call *call) {
  FNZ_TRY(check_elements(call));
  FNZ_TRY(index_check_places(call));
  return add_like_index(call);
}

fnz_status fnzi_shape_take(fnzi_krn_call *call) {
  FNZ_TRY(check_long(call));
  return add_like_index(call);
}
