/* mlir_places.c - operators that read or write at places, by index.Tensor, index_put and where.
 *
 * Places are computed from sizes by arange, so that a compiler folds them to constants.
 * _unsafe_index_put never has a negative index; the dialect calls it index_put too. */
#include "functionalize/decompose/ways.h"
#include "program/program.h"

/* --- padding ---------------------------------------------------------------------------------- */
/* The places that a dimension of `size` has from -before to size + after, mirrored at its ends or
 * counted on from its other end. */
static fnzi_krn_array *places_around(fnzi_dec_steps *s, int64_t size, int64_t before, int64_t after,
                                     bool is_mirror) {
  fnzi_krn_array *at = STEP(arange, I(size + before + after), DTYPE(FNZ_I64));
  at = STEP(add__Scalar, V(at), I(-before));
  if (!is_mirror)
    return STEP(remainder__Scalar, V(at), I(size));
  at = STEP(abs, V(STEP(add__Scalar, V(STEP(abs, V(at))), I(1 - size))));
  return STEP(rsub__Scalar, V(at), I(size - 1));
}

/* IREE mirrors by slices in reverse, which fails where it cuts them into tiles. */
TAKE_APART(pad_by_places) {
  fnzi_krn_array *a = GIVEN("self");
  const fnz_arg *mode = fnzi_krn_named(s->call, "mode");
  const int64_t *pad = NULL;
  size_t count = 0;
  bool is_mirror = mode->tag == FNZ_ARG_STRING && strcmp(mode->u.s, "reflect") == 0;
  bool is_circle = mode->tag == FNZ_ARG_STRING && strcmp(mode->u.s, "circular") == 0;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "pad", &pad, &count));
  if (!is_mirror && !is_circle)
    fnzi_dcm_nothing_to_mend(s);
  for (size_t i = 0; s->status == FNZ_OK && i + 1 < count; i += 2) {
    int64_t dim = RANK(a) - 1 - (int64_t)(i / 2), size = SIZE(a, dim);
    int64_t most = is_mirror ? size - 1 : size;
    if (dim < 0 || pad[i] < 0 || pad[i + 1] < 0 || pad[i] > most || pad[i + 1] > most || !size)
      fnzi_dcm_nothing_to_mend(s);
    else if (pad[i] || pad[i + 1])
      a = STEP(index_select, V(a), I(dim),
               V(places_around(s, size, pad[i], pad[i + 1], is_mirror)));
  }
  GIVE(a);
}

/* --- windows into flat memory ----------------------------------------------------------------- */
/* A window in elements. */
typedef struct places {
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK], offset;
  size_t rank;
} places;

static int64_t mlir_count_of(const places *p) {
  int64_t count = 1;
  for (size_t d = 0; d < p->rank; d++)
    if (!fnzi_mul_i64(count, p->sizes[d], &count))
      return INT64_MAX;
  return count;
}

/* The places of all elements, in row-major order. */
static fnzi_krn_array *mlir_places_of(fnzi_dec_steps *s, const places *p) {
  fnzi_krn_array *all = NULL;
  for (size_t d = 0; d < p->rank; d++) {
    fnzi_krn_array *along = STEP(arange, I(p->sizes[d]), DTYPE(FNZ_I64));
    if (p->strides[d] != 1)
      along = STEP(mul__Scalar, V(along), I(p->strides[d]));
    along = fnzi_dec_along(s, along, (int64_t)d, p->rank);
    all = all ? ADD(all, along) : along;
  }
  if (!all)
    all = STEP(full, INTS(1), I(0), DTYPE(FNZ_I64));
  if (p->offset)
    all = STEP(add__Scalar, V(all), I(p->offset));
  return RESHAPED(all, mlir_count_of(p));
}

/* Elements as they lie in memory, in one dimension. */
static fnzi_krn_array *flat(fnzi_dec_steps *s, fnzi_krn_array *a) {
  if (!a || !fnzi_is_contiguous(&a->geometry)) {
    fnzi_dcm_nothing_to_mend(s);
    return NULL;
  }
  return fnzi_dec_viewed(s, a, (const int64_t[]){fnzi_dec_array_numel(a)}, 1);
}

static void read_places(fnzi_dec_steps *s, const fnzi_krn_array *self, places *out) {
  const int64_t *sizes, *strides;
  size_t rank = 0, count = 0;
  *out = (places){.offset = fnzi_krn_named_int(s->call, "storage_offset", 0)};
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "size", &sizes, &rank));
  if (s->status == FNZ_OK)
    fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "stride", &strides, &count));
  if (s->status != FNZ_OK)
    return;
  out->rank = rank < FNZ_MAX_RANK ? rank : FNZ_MAX_RANK;
  for (size_t d = 0; d < out->rank && d < count; d++) {
    out->sizes[d] = sizes[d];
    out->strides[d] = strides[d];
  }
  /* The window lies within the elements of self, and has some. */
  int64_t last = out->offset, step;
  bool fits = rank == count && out->offset >= 0;
  for (size_t d = 0; d < out->rank && fits; d++)
    fits = out->sizes[d] >= 1 && out->strides[d] >= 0 &&
           fnzi_mul_i64(out->sizes[d] - 1, out->strides[d], &step) &&
           fnzi_add_i64(last, step, &last);
  if (!fits || last >= fnzi_dec_array_numel(self) || !fnzi_dcm_lies_in_rows(self))
    fnzi_dcm_nothing_to_mend(s);
}

TAKE_APART(strided) {
  fnzi_krn_array *self = GIVEN("self"), *all = flat(s, self);
  places p;
  read_places(s, self, &p);
  fnzi_krn_array *at = s->status == FNZ_OK ? mlir_places_of(s, &p) : NULL;
  fnzi_krn_array *taken = STEP(index__Tensor, V(all), fnzi_dec_values(s, &at, 1));
  GIVE(fnzi_dec_reshaped(s, taken, p.sizes, p.rank));
}

static void give_written(fnzi_dec_steps *s, fnzi_krn_array *self, const places *p) {
  fnzi_krn_array *line = flat(s, self), *source = GIVEN("src");
  fnzi_krn_array *at = s->status == FNZ_OK ? mlir_places_of(s, p) : NULL;
  source = RESHAPED(source, fnzi_dec_array_numel(source));
  fnzi_krn_array *written;
  if (fnzi_dec_array_numel(at) == 1) {
    /* One element is written by where: IREE's codegen fails at some scatters of one ("write
     * affecting operations on global resources", when the line is a part of a tensor that is
     * written back). */
    int64_t count = fnzi_dec_array_numel(line);
    fnzi_krn_array *every = STEP(arange, I(count), DTYPE(FNZ_I64));
    fnzi_krn_array *inside = STEP(remainder__Scalar, V(at), I(count ? count : 1));
    written = CHOSEN(STEP(eq__Tensor, V(every), V(inside)), source, line);
  } else
    written = STEP(_unsafe_index_put, V(line), fnzi_dec_values(s, &at, 1), V(source), B(false));
  GIVE(written ? fnzi_dec_reshaped(s, written, self->geometry.sizes, RANK(self)) : NULL);
}

TAKE_APART(strided_scatter) {
  fnzi_krn_array *self = GIVEN("self");
  places p;
  read_places(s, self, &p);
  give_written(s, self, &p);
}

TAKE_APART(diagonal_put) {
  fnzi_krn_array *self = GIVEN("self"), *source = GIVEN("src");
  uint32_t first = fnzi_dec_given_dim(s, "dim1", self), rank = (uint32_t)RANK(self);
  uint32_t second = fnzi_dec_given_dim(s, "dim2", self);
  int64_t steps[FNZ_MAX_RANK], offset = GIVEN_INT("offset");
  places p = {.rank = 0};
  if (s->status != FNZ_OK || rank < 2 || !fnzi_dec_array_numel(source)) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  fnzi_contiguous_strides(self->geometry.sizes, rank, steps);
  for (uint32_t d = 0; d < rank; d++) {
    if (d == first || d == second)
      continue;
    p.sizes[p.rank] = SIZE(self, d);
    p.strides[p.rank++] = steps[d];
  }
  p.sizes[p.rank] = SIZE(source, -1);
  p.strides[p.rank++] = steps[first] + steps[second];
  bool below = offset < 0;
  if (!fnzi_mul_i64(offset, below ? -steps[first] : steps[second], &p.offset)) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  give_written(s, self, &p);
}

/* A negative index leaves the tensor as it was (docs/iree/negative_select_scatter.mlir). */
TAKE_APART(select_scatter) {
  fnzi_krn_array *self = GIVEN("self");
  uint32_t dim = fnzi_dec_given_dim(s, "dim", self);
  int64_t index = GIVEN_INT("index");
  if (index >= 0)
    fnzi_dcm_nothing_to_mend(s);
  GIVE(STEP(select_scatter, V(self), V(GIVEN("src")), I(dim), I(index + SIZE(self, dim))));
}

/* --- indices ---------------------------------------------------------------------------------- */
/* A negative index counts from the end; IREE writes elsewhere, to no memory of the tensor
 * (docs/iree/negative_index_put.mlir). */
static fnzi_krn_array *wrapped(fnzi_dec_steps *s, fnzi_krn_array *index, int64_t size) {
  if (!index || !fnzi_is_integer(index->geometry.dtype) || index->geometry.dtype == FNZ_U8)
    return index;
  return STEP(remainder__Scalar, V(index), I(size ? size : 1));
}

/* Which places of a dimension the indices name: true there, and of size 1 along all others. */
static fnzi_krn_array *named_places(fnzi_dec_steps *s, const fnzi_krn_array *self, uint32_t dim,
                                    fnzi_krn_array *index) {
  int64_t size = SIZE(self, dim), count = fnzi_dec_array_numel(index);
  fnzi_krn_array *every = STEP(arange, I(size), DTYPE(FNZ_I64));
  fnzi_krn_array *at = wrapped(s, RESHAPED(index, count), size);
  if (count == 1)
    return fnzi_dec_along(s, STEP(eq__Tensor, V(every), V(at)), dim, (size_t)RANK(self));
  fnzi_krn_array *equal = STEP(eq__Tensor, V(RESHAPED(every, size, 1)), V(at));
  return fnzi_dec_along(s, STEP(any__dim, V(equal), I(1)), dim, (size_t)RANK(self));
}

/* One number at one place of a dimension: written by where, as other scatters of one are. */
static bool is_one_place(fnzi_dec_steps *s, uint32_t *dim, fnzi_krn_array **index) {
  size_t count = fnzi_dec_given_count(s, "indices");
  *index = count ? fnzi_dec_given_item(s, "indices", count - 1) : NULL;
  *dim = count ? (uint32_t)count - 1 : 0;
  for (size_t i = 0; i + 1 < count; i++)
    if (fnzi_dec_given_item(s, "indices", i))
      return false;
  fnz_dtype dtype = fnzi_dec_array_dtype(*index); /* bool and u8: a mask */
  return *index && fnzi_dec_array_numel(*index) == 1 && fnzi_is_integer(dtype) && dtype != FNZ_U8 &&
         fnzi_dec_array_numel(GIVEN("values")) == 1;
}

static void give_filled(fnzi_dec_steps *s, fnzi_krn_array *mask, fnzi_krn_array *value) {
  GIVE(CHOSEN(mask, value, GIVEN("self")));
}

/* IREE writes a tensor over itself as it reads it, if the values are that tensor or a copy of it.
 * Two parts that are put together again are no copy to it. */
static fnzi_krn_array *kept_apart(fnzi_dec_steps *s, const fnzi_krn_array *self,
                                  fnzi_krn_array *values) {
  int64_t dim = 0, rank = RANK(values);
  if (fnzi_dec_array_numel(self) != fnzi_dec_array_numel(values))
    return values;
  while (dim < rank && SIZE(values, dim) < 2)
    dim++;
  if (dim == rank)
    return values;
  fnzi_krn_array *parts[] = {fnzi_part(s, values, dim, 0, 1),
                             fnzi_part(s, values, dim, 1, SIZE(values, dim) - 1)};
  return fnzi_dec_cat(s, parts, 2, dim);
}

TAKE_APART(index_put) {
  fnzi_krn_array *self = GIVEN("self"), *values = GIVEN("values"), *all[FNZ_MAX_RANK], *index;
  size_t count = fnzi_dec_given_count(s, "indices");
  bool adds = GIVEN_BOOL("accumulate");
  uint32_t dim = 0;
  if (is_one_place(s, &dim, &index)) {
    values = fnzi_dec_cast(s, fnzi_dec_reshaped(s, values, NULL, 0), fnzi_dec_array_dtype(self));
    give_filled(s, named_places(s, self, dim, index), adds ? ADD(self, values) : values);
    return;
  }
  dim = 0;
  for (size_t i = 0; i < count && i < FNZ_MAX_RANK; i++) {
    index = fnzi_dec_given_item(s, "indices", i);
    all[i] = wrapped(s, index, SIZE(self, dim));
    /* The number of dimensions that the index replaces: the rank of a mask, else 1. */
    dim += index && index->geometry.dtype == FNZ_BOOL ? index->geometry.rank : 1;
  }
  GIVE(STEP(_unsafe_index_put, V(self), fnzi_dec_values(s, all, count),
            V(kept_apart(s, self, values)), B(adds)));
}

TAKE_APART(index_fill_mask) {
  fnzi_krn_array *self = GIVEN("self"), *value = GIVEN("value");
  fnz_dtype dtype = fnzi_dec_array_dtype(self);
  uint32_t dim = fnzi_dec_given_dim(s, "dim", self);
  if (!RANK(self)) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  value = value ? fnzi_dec_cast(s, value, dtype)
                : STEP(full, fnzi_dec_ints(s, NULL, 0), AS_GIVEN("value"), DTYPE(dtype));
  give_filled(s, named_places(s, self, dim, GIVEN("index")), value);
}
