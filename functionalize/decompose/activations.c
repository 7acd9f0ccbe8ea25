/* activations.c - gradients of activations, and prelu, by simpler operators. */
#include "functionalize/decompose/ways.h"

/* The gradient and the operand that it flows back to, in the type that is computed in. */
typedef struct activations_pair {
  fnz_dtype dtype; /* of the result */
  fnzi_krn_array *grad, *x;
} activations_pair;

static activations_pair widened_pair(fnzi_dec_steps *s) {
  fnzi_krn_array *grad = GIVEN(s->call->op->params[0].name), *x = GIVEN("self");
  fnzi_promotion p = {0};
  fnzi_promotion_add_tensor(&p, DTYPE_OF(grad), fnzi_dec_array_rank(grad));
  fnzi_promotion_add_tensor(&p, DTYPE_OF(x), fnzi_dec_array_rank(x));
  fnz_dtype dtype = fnzi_promotion_result(&p), wide = fnzi_dec_wide(dtype);
  return (activations_pair){dtype, fnzi_dec_cast(s, grad, wide), fnzi_dec_cast(s, x, wide)};
}

static void give_rounded(fnzi_dec_steps *s, fnz_dtype dtype, fnzi_krn_array *a) {
  GIVE(fnzi_dec_cast(s, a, dtype));
}

/* `a` where the mask is true, else 0. */
static fnzi_krn_array *activations_kept(fnzi_dec_steps *s, fnzi_krn_array *a,
                                        fnzi_krn_array *mask) {
  return STEP(where__ScalarOther, V(mask), V(a), I(0));
}

TAKE_APART(leaky_relu_backward) {
  activations_pair p = widened_pair(s);
  fnzi_krn_array *less = fnzi_dec_times(s, p.grad, GIVEN_FLOAT("negative_slope"));
  give_rounded(s, p.dtype, CHOSEN(STEP(gt__Scalar, V(p.x), I(0)), p.grad, less));
}

TAKE_APART(hardswish_backward) {
  activations_pair p = widened_pair(s);
  fnzi_krn_array *slope = STEP(add__Scalar, V(STEP(div__Scalar, V(p.x), F(3))), F(0.5));
  fnzi_krn_array *out = CHOSEN(STEP(ge__Scalar, V(p.x), I(3)), p.grad, MUL(p.grad, slope));
  give_rounded(s, p.dtype, ZEROED(out, STEP(le__Scalar, V(p.x), I(-3))));
}

/* Eager's sixth is a 32-bit float for every type. */
TAKE_APART(hardsigmoid_backward) {
  activations_pair p = widened_pair(s);
  fnzi_krn_array *out =
      activations_kept(s, fnzi_dec_times(s, p.grad, 1.0F / 6), STEP(gt__Scalar, V(p.x), I(-3)));
  give_rounded(s, p.dtype, activations_kept(s, out, STEP(lt__Scalar, V(p.x), I(3))));
}

/* The gradient of hardshrink and of softshrink is zero in the middle. */
TAKE_APART(shrink_backward) {
  activations_pair p = widened_pair(s);
  double half = GIVEN_FLOAT("lambd");
  fnzi_krn_array *low = ZEROED(p.grad, STEP(le__Scalar, V(p.x), F(half)));
  give_rounded(s, p.dtype, CHOSEN(STEP(ge__Scalar, V(p.x), F(-half)), low, p.grad));
}

TAKE_APART(softplus_backward) {
  activations_pair p = widened_pair(s);
  fnzi_krn_array *scaled = fnzi_dec_times(s, p.x, GIVEN_FLOAT("beta")), *z = STEP(exp, V(scaled));
  fnzi_krn_array *out = DIV(MUL(p.grad, z), STEP(add__Scalar, V(z), F(1)));
  fnzi_krn_array *is_large = STEP(gt__Scalar, V(scaled), F(GIVEN_FLOAT("threshold")));
  give_rounded(s, p.dtype, CHOSEN(is_large, p.grad, out));
}

/* The buffer is exp(-|x|). */
TAKE_APART(log_sigmoid_backward) {
  activations_pair p = widened_pair(s);
  fnzi_krn_array *z = fnzi_dec_cast(s, GIVEN("buffer"), fnzi_dec_wide(p.dtype));
  fnzi_krn_array *part = DIV(z, STEP(add__Scalar, V(z), F(1)));
  fnzi_krn_array *slope =
      CHOSEN(STEP(lt__Scalar, V(p.x), I(0)), STEP(rsub__Scalar, V(part), I(1)), part);
  give_rounded(s, p.dtype, MUL(slope, p.grad));
}

TAKE_APART(prelu) {
  fnzi_krn_array *x = GIVEN("self");
  GIVE(CHOSEN(STEP(gt__Scalar, V(x), I(0)), x, MUL(GIVEN("weight"), x)));
}
