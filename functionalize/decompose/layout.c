/* layout.c - elements put together and moved: stack, roll, repeat, shuffles, differences. */
#include "functionalize/decompose/ways.h"

/* --- Put together ----------------------------------------------------------------------------- */
/* One behind the other, and then a dimension of their number: all in two steps. */
TAKE_APART(stack) {
  fnzi_krn_array *first = fnzi_dec_given_item(s, "tensors", 0);
  int64_t sizes[FNZ_MAX_RANK + 1] = {0}, rank = RANK(first), dim = GIVEN_INT("dim");
  int64_t count = (int64_t)fnzi_dec_given_count(s, "tensors");
  dim = dim < 0 ? dim + rank + 1 : dim;
  if (dim < 0 || dim > rank)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "dim is out of range");
  fnzi_krn_array **parts = fnzi_dec_arrays_room(s, (size_t)count);
  if (s->status != FNZ_OK)
    return;
  bool is_last = dim == rank;
  for (int64_t i = 0; i < count; i++) {
    parts[i] = fnzi_dec_given_item(s, "tensors", (size_t)i);
    parts[i] = is_last ? STEP(unsqueeze, V(parts[i]), I(dim)) : parts[i];
  }
  fnzi_krn_array *all = fnzi_dec_cat(s, parts, (size_t)count, dim);
  for (int64_t d = 0; d <= rank; d++)
    sizes[d] = d < dim ? SIZE(first, d) : d == dim ? count : SIZE(first, d - 1);
  GIVE(is_last ? all : fnzi_dcm_reshaped(s, all, sizes, (size_t)rank + 1));
}

TAKE_APART(tile) {
  fnzi_krn_array *a = GIVEN("self");
  const int64_t *given = NULL;
  int64_t times[FNZ_MAX_RANK];
  size_t count = 0, rank = fnzi_dec_array_rank(a);
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "dims", &given, &count));
  if (s->status != FNZ_OK || count > FNZ_MAX_RANK)
    return;
  size_t more = rank > count ? rank - count : 0;
  for (size_t i = 0; i < more + count; i++)
    times[i] = i < more ? 1 : given[i - more];
  GIVE(STEP(repeat, V(a), fnzi_dec_ints(s, times, more + count)));
}

/* Every element so often, one beside the other, in memory of its own also where a view would do:
 * along a dimension of size 1. */
TAKE_APART(repeat_interleave) {
  fnzi_krn_array *a = GIVEN("self");
  int64_t sizes[FNZ_MAX_RANK + 1] = {0}, times = GIVEN_INT("repeats");
  fnz_arg dim_arg = AS_GIVEN("dim");
  if (!fnzi_dcm_is_given(&dim_arg))
    a = fnzi_dcm_flat(s, a);
  int64_t dim = fnzi_dec_given_dim(s, "dim", a), rank = RANK(a);
  if (s->status != FNZ_OK || rank + 1 > FNZ_MAX_RANK)
    return;
  for (int64_t d = 0; d <= rank; d++)
    sizes[d] = d <= dim ? SIZE(a, d) : d == dim + 1 ? times : SIZE(a, d - 1);
  a = STEP(unsqueeze, V(a), I(dim + 1));
  a = fnzi_dcm_expanded(s, a, sizes, (size_t)rank + 1);
  sizes[dim] = SIZE_TIMES(sizes[dim], times);
  for (int64_t d = dim + 1; d < rank; d++)
    sizes[d] = sizes[d + 1];
  GIVE(fnzi_dcm_in_rows(s, fnzi_dcm_reshaped(s, a, sizes, (size_t)rank)));
}

/* --- Moved ------------------------------------------------------------------------------------ */
static fnzi_krn_array *rolled(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t dim, int64_t shift) {
  int64_t size = SIZE(a, dim), at = size ? (size - shift % size) % size : 0;
  if (!at)
    return a;
  fnzi_krn_array *const halves[] = {fnzi_part(s, a, dim, at, size - at),
                                    fnzi_part(s, a, dim, 0, at)};
  return fnzi_dec_cat(s, halves, 2, dim);
}

TAKE_APART(roll) {
  fnzi_krn_array *self = GIVEN("self"), *a = self;
  const int64_t *shifts = NULL, *dims = NULL;
  size_t nshifts = 0, ndims = 0;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "shifts", &shifts, &nshifts));
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "dims", &dims, &ndims));
  if (s->status == FNZ_OK && nshifts != (ndims ? ndims : 1))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "there must be a shift for each dimension");
  if (s->status != FNZ_OK)
    return;
  if (!ndims)
    a = fnzi_dcm_reshaped(s, rolled(s, fnzi_dcm_flat(s, a), 0, shifts[0]), a->geometry.sizes,
                          a->geometry.rank);
  for (size_t i = 0; i < ndims; i++)
    a = rolled(s, a, dims[i] < 0 ? dims[i] + RANK(a) : dims[i], shifts[i]);
  GIVE(a == self ? STEP(clone, V(a)) : a);
}

TAKE_APART(narrow_copy) {
  int64_t start = GIVEN_INT("start");
  fnzi_krn_array *a = GIVEN("self");
  int64_t dim = fnzi_dec_given_dim(s, "dim", a);
  start = start < 0 ? start + SIZE(a, dim) : start;
  GIVE(STEP(slice_copy__Tensor, V(a), I(dim), I(start), I(start + GIVEN_INT("length"))));
}

/* Sizes in front, and then those. */
static fnzi_krn_array *tail_reshaped(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t front,
                                     const int64_t *tail, int64_t count) {
  int64_t sizes[FNZ_MAX_RANK + 4] = {0};
  if (front + count > FNZ_MAX_RANK)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "it has too many dimensions to be taken apart");
  if (s->status != FNZ_OK)
    return NULL;
  for (int64_t d = 0; d < front; d++)
    sizes[d] = SIZE(a, d);
  for (int64_t d = 0; d < count; d++)
    sizes[front + d] = tail[d];
  return fnzi_dcm_reshaped(s, a, sizes, (size_t)(front + count));
}

static fnzi_krn_array *tail_permuted(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t front,
                                     const int64_t *order, int64_t count) {
  int64_t dims[FNZ_MAX_RANK] = {0};
  for (int64_t d = 0; a && d < front; d++)
    dims[d] = d;
  for (int64_t d = 0; a && d < count; d++)
    dims[front + d] = front + order[d];
  return STEP(permute, V(a), fnzi_dec_ints(s, dims, (size_t)(front + count)));
}

TAKE_APART(pixel_shuffle) {
  fnzi_krn_array *a = GIVEN("self");
  int64_t r = GIVEN_INT("upscale_factor"), front = RANK(a) - 3;
  int64_t all = SIZE_TIMES(r, r), c = all ? SIZE(a, -3) / all : 0, h = SIZE(a, -2), w = SIZE(a, -1);
  a = tail_reshaped(s, a, front, (const int64_t[]){c, r, r, h, w}, 5);
  a = tail_permuted(s, a, front, (const int64_t[]){0, 3, 1, 4, 2}, 5);
  GIVE(tail_reshaped(s, a, front, (const int64_t[]){c, SIZE_TIMES(h, r), SIZE_TIMES(w, r)}, 3));
}

TAKE_APART(pixel_unshuffle) {
  fnzi_krn_array *a = GIVEN("self");
  int64_t r = GIVEN_INT("downscale_factor"), front = RANK(a) - 3;
  int64_t c = SIZE(a, -3), h = r ? SIZE(a, -2) / r : 0, w = r ? SIZE(a, -1) / r : 0;
  a = tail_reshaped(s, a, front, (const int64_t[]){c, h, r, w, r}, 5);
  a = tail_permuted(s, a, front, (const int64_t[]){0, 2, 4, 1, 3}, 5);
  GIVE(tail_reshaped(s, a, front, (const int64_t[]){SIZE_TIMES(c, SIZE_TIMES(r, r)), h, w}, 3));
}

TAKE_APART(channel_shuffle) {
  fnzi_krn_array *a = GIVEN("self");
  int64_t sizes[FNZ_MAX_RANK + 1] = {0}, groups = GIVEN_INT("groups"), rank = RANK(a);
  if (rank < 2 || rank + 1 > FNZ_MAX_RANK || groups < 1)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "it has no such groups");
  if (s->status != FNZ_OK)
    return;
  for (int64_t d = 0; d < rank; d++)
    sizes[d + (d > 1)] = SIZE(a, d);
  sizes[1] = groups;
  sizes[2] = SIZE(a, 1) / groups;
  fnzi_krn_array *y = fnzi_dcm_reshaped(s, a, sizes, (size_t)rank + 1);
  y = fnzi_dcm_swapped(s, y, 1, 2);
  GIVE(fnzi_dcm_reshaped(s, y, a->geometry.sizes, (size_t)rank));
}

/* --- Differences ------------------------------------------------------------------------------ */
TAKE_APART(diff) {
  fnzi_krn_array *self = GIVEN("self"), *a = self;
  fnzi_krn_array *parts[3], *before = GIVEN("prepend"), *behind = GIVEN("append");
  int64_t dim = fnzi_dec_given_dim(s, "dim", a), times = GIVEN_INT("n");
  size_t count = 0;
  if (before)
    parts[count++] = before;
  parts[count++] = a;
  if (behind)
    parts[count++] = behind;
  a = count > 1 ? fnzi_dec_cat(s, parts, count, dim) : a;
  for (int64_t i = 0; a && i < times && SIZE(a, dim) > 0; i++) {
    int64_t size = SIZE(a, dim);
    fnzi_krn_array *low = fnzi_part(s, a, dim, 0, size - 1);
    fnzi_krn_array *high = fnzi_part(s, a, dim, 1, size - 1);
    a = DTYPE_OF(self) == FNZ_BOOL ? STEP(logical_xor, V(high), V(low)) : SUB(high, low);
  }
  GIVE(a == self ? STEP(clone, V(a)) : a);
}
