/* others.c - ways for lists that lack core operators: the larger operators that core ones are part
 * of, and other operators that compute the same elements.
 *
 * needs   which results are read: where a composite gives one, the others must not be */
#include "functionalize/decompose/ways.h"

/* --- up --------------------------------------------------------------------------------------- */
/* The first result; the way holds where nothing reads the others. */
static void give_first_of(fnzi_dec_steps *s, fnzi_krn_array *a, size_t count) {
  GIVE(a);
  for (size_t k = 1; k < count; k++) {
    if (!s->script || !(s->script->unread >> k & 1))
      fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "more than its first result is read");
    fnzi_dec_result_none(s);
  }
}

TAKE_APART(whole_layer_norm) {
  give_first_of(s,
                STEP(layer_norm, V(GIVEN("input")), AS_GIVEN("normalized_shape"),
                     V(GIVEN("weight")), V(GIVEN("bias")), F(GIVEN_FLOAT("eps"))),
                3);
}

TAKE_APART(whole_group_norm) {
  give_first_of(s,
                STEP(group_norm, V(GIVEN("input")), I(GIVEN_INT("group")), V(GIVEN("weight")),
                     V(GIVEN("bias")), F(GIVEN_FLOAT("eps"))),
                3);
}

TAKE_APART(whole_batch_norm) {
  give_first_of(s,
                STEP(batch_norm, V(GIVEN("input")), V(GIVEN("weight")), V(GIVEN("bias")),
                     V(GIVEN("running_mean")), V(GIVEN("running_var")), B(false),
                     F(GIVEN_FLOAT("momentum")), F(GIVEN_FLOAT("eps")), B(false)),
                3);
}

TAKE_APART(whole_max_pool2d) {
  give_first_of(s,
                STEP(max_pool2d, V(GIVEN("self")), AS_GIVEN("kernel_size"), AS_GIVEN("stride"),
                     AS_GIVEN("padding"), AS_GIVEN("dilation"), B(GIVEN_BOOL("ceil_mode"))),
                2);
}

/* --- aside ------------------------------------------------------------------------------------ */
/* The extreme, and the first place that it is at. */
TAKE_APART(max_and_place) {
  fnzi_krn_array *a = GIVEN("self");
  int64_t dim = GIVEN_INT("dim");
  GIVE(STEP(amax, V(a), INTS(dim), B(GIVEN_BOOL("keepdim"))));
  GIVE(STEP(argmax, V(a), I(dim), B(GIVEN_BOOL("keepdim"))));
}

TAKE_APART(min_and_place) {
  fnzi_krn_array *a = GIVEN("self");
  int64_t dim = GIVEN_INT("dim");
  GIVE(STEP(amin, V(a), INTS(dim), B(GIVEN_BOOL("keepdim"))));
  GIVE(STEP(argmin, V(a), I(dim), B(GIVEN_BOOL("keepdim"))));
}

/* One place of a dimension is a part of length 1. */
TAKE_APART(select_by_slice_scatter) {
  fnzi_krn_array *self = GIVEN("self");
  int64_t dim = fnzi_dec_given_dim(s, "dim", self), at = GIVEN_INT("index");
  at = at < 0 ? at + SIZE(self, dim) : at;
  GIVE(STEP(slice_scatter, V(self), V(STEP(unsqueeze, V(GIVEN("src")), I(dim))), I(dim), I(at),
            I(at + 1), I(1)));
}

/* A view of elements that do not lie so is one of their copy in rows. */
TAKE_APART(view_of_rows) {
  GIVE(STEP(view, V(fnzi_dcm_in_rows(s, GIVEN("self"))), AS_GIVEN("size")));
}

/* All dimensions by name. */
TAKE_APART(any_of_dims) {
  fnzi_krn_array *a = GIVEN("self");
  if (!RANK(a))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "it has no dimensions");
  GIVE(STEP(any__dims, V(a), fnzi_dcm_all_dims(s, a, -1), B(false)));
}

/* The number as a tensor. */
static fnzi_krn_array *other_number(fnzi_dec_steps *s) {
  fnz_arg number = AS_GIVEN("other");
  bool widens = DTYPE_OF(GIVEN("self")) == FNZ_BOOL && number.tag != FNZ_ARG_BOOL;
  return NUMBER(number, widens ? FNZ_I64 : DTYPE_OF(GIVEN("self")));
}

TAKE_APART(or_of_tensors) {
  GIVE(STEP(bitwise_or__Tensor, V(GIVEN("self")), V(other_number(s))));
}

TAKE_APART(xor_of_tensors) {
  GIVE(STEP(bitwise_xor__Tensor, V(GIVEN("self")), V(other_number(s))));
}

/* A diagonal is one element in so many of both dimensions in one. */
TAKE_APART(diagonal_by_slice) {
  fnzi_krn_array *a = GIVEN("self");
  const int64_t rank = RANK(a), first = fnzi_dec_given_dim(s, "dim1", a);
  const int64_t second = fnzi_dec_given_dim(s, "dim2", a), offset = GIVEN_INT("offset");
  const int64_t n = SIZE(a, first), m = SIZE(a, second);
  const int64_t down = offset < 0 ? n + offset : n, across = offset < 0 ? m : m - offset;
  const int64_t count = down < across ? down : across;
  int64_t dims[FNZ_MAX_RANK] = {0}, sizes[FNZ_MAX_RANK] = {0};
  size_t at = 0;
  if (count < 1)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "it has no elements");
  if (s->status != FNZ_OK)
    return;
  for (int64_t d = 0; d < rank; d++)
    if (d != first && d != second) {
      sizes[at] = SIZE(a, d);
      dims[at++] = d;
    }
  sizes[at] = SIZE_TIMES(n, m);
  dims[at] = first;
  dims[at + 1] = second;
  if (first != rank - 2 || second != rank - 1)
    a = STEP(permute, V(a), fnzi_dec_ints(s, dims, (size_t)rank));
  const int64_t from = offset < 0 ? SIZE_TIMES(-offset, m) : offset;
  GIVE(STEP(slice__Tensor, V(fnzi_dec_reshaped(s, a, sizes, (size_t)rank - 1)), I(rank - 2),
            I(from), I(from + SIZE_TIMES(count - 1, m + 1) + 1), I(m + 1)));
}

/* Windows by their places, one behind the other; the window's own dimension comes last. */
TAKE_APART(unfold_by_places) {
  fnzi_krn_array *a = GIVEN("self"), *places[2];
  const int64_t dim = fnzi_dec_given_dim(s, "dimension", a), rank = RANK(a);
  const int64_t size = GIVEN_INT("size"), step = GIVEN_INT("step");
  int64_t sizes[FNZ_MAX_RANK + 1] = {0}, order[FNZ_MAX_RANK + 1] = {0};
  if (!rank || rank >= FNZ_MAX_RANK || step < 1 || size < 1 || size > SIZE(a, dim))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "it has no windows with elements");
  if (s->status != FNZ_OK)
    return;
  const int64_t count = (SIZE(a, dim) - size) / step + 1;
  for (int64_t d = 0; d <= rank; d++) {
    sizes[d] = d < dim ? SIZE(a, d) : d == dim ? count : d == dim + 1 ? size : SIZE(a, d - 1);
    order[d] = d <= dim ? d : d == rank ? dim + 1 : d + 1;
  }
  places[0] = STEP(mul__Scalar, V(STEP(arange, I(count), DTYPE(FNZ_I64))), I(step));
  places[1] = STEP(arange, I(size), DTYPE(FNZ_I64));
  fnzi_krn_array *all = ADD(STEP(unsqueeze, V(places[0]), I(1)), places[1]);
  a = STEP(index_select, V(a), I(dim), V(fnzi_dcm_flat(s, all)));
  a = fnzi_dec_reshaped(s, a, sizes, (size_t)rank + 1);
  GIVE(STEP(permute, V(a), fnzi_dec_ints(s, order, (size_t)rank + 1)));
}
