/* norms.c - layer norm and group norm by those that also give mean and deviation; softmax. */
#include "functionalize/decompose/ways.h"

TAKE_APART(layer_norm) {
  fnzi_krn_array *made[3];
  STEPS_INTO(made, 3, native_layer_norm, V(GIVEN("input")), AS_GIVEN("normalized_shape"),
             V(GIVEN("weight")), V(GIVEN("bias")), F(GIVEN_FLOAT("eps")));
  GIVE(made[0]);
}

TAKE_APART(group_norm) {
  fnzi_krn_array *x = GIVEN("input"), *made[3];
  int64_t batch = SIZE(x, 0), channels = SIZE(x, 1), rest = 1;
  for (int64_t d = 2; d < RANK(x); d++)
    rest *= SIZE(x, d);
  STEPS_INTO(made, 3, native_group_norm, V(x), V(GIVEN("weight")), V(GIVEN("bias")), I(batch),
             I(channels), I(rest), I(GIVEN_INT("num_groups")), F(GIVEN_FLOAT("eps")));
  GIVE(made[0]);
}

/* --- softmax ---------------------------------------------------------------------------------- */
static fnzi_krn_array *in_dtype(fnzi_dec_steps *s) {
  fnzi_krn_array *a = GIVEN("self");
  return fnzi_dec_cast(s, a, fnzi_krn_named_dtype(s->call, "dtype", fnzi_dec_array_dtype(a)));
}

TAKE_APART(softmax) {
  GIVE(STEP(_softmax, V(in_dtype(s)), I(GIVEN_INT("dim")), B(false)));
}

TAKE_APART(log_softmax) {
  GIVE(STEP(_log_softmax, V(in_dtype(s)), I(GIVEN_INT("dim")), B(false)));
}
