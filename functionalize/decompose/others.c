/* others.c - ways that lists without core operators need: the operators that core ones are parts
 * of, and what gives the same elements by other operators.
 *
 * needs   which results are read: where a composite gives one, the others must not be */
#include "functionalize/decompose/ways.h"

/* --- up --------------------------------------------------------------------------------------- */
static bool is_read(const fnzi_dec_steps *s, size_t k) {
  return !s->script || !(s->script->unread >> k & 1);
}

/* The first result; the way holds where nothing reads the others. */
static void give_first_of(fnzi_dec_steps *s, fnzi_krn_array *a, size_t count) {
  GIVE(a);
  for (size_t k = 1; k < count; k++) {
    if (is_read(s, k))
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
  int64_t dims[FNZ_MAX_RANK];
  if (!RANK(a))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "it has no dimensions");
  for (int64_t d = 0; d < RANK(a); d++)
    dims[d] = d;
  GIVE(STEP(any__dims, V(a), fnzi_dec_ints(s, dims, (size_t)RANK(a)), B(false)));
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
