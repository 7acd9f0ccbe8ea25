/* layout.c - elements put together and moved: stack, complex, channel_shuffle. */
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
  GIVE(is_last ? all : fnzi_dec_viewed(s, all, sizes, (size_t)rank + 1));
}

TAKE_APART(complex) {
  fnzi_krn_array *re = GIVEN("real"), *im = GIVEN("imag");
  fnzi_dec_broadcast_both(s, &re, &im);
  fnzi_krn_array *const parts[] = {re, im};
  GIVE(STEP(view_as_complex, V(STEP(stack, fnzi_dec_values(s, parts, 2), I(-1)))));
}

/* --- Moved ------------------------------------------------------------------------------------ */
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
  fnzi_krn_array *y = fnzi_dec_viewed(s, a, sizes, (size_t)rank + 1);
  y = fnzi_dcm_swapped(s, y, 1, 2);
  GIVE(fnzi_dec_viewed(s, y, a->geometry.sizes, (size_t)rank));
}
