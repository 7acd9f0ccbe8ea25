/* losses.c - losses of differences, kept, averaged or summed. */
#include "functionalize/decompose/ways.h"

/* What a loss ends with, in core operators. */
static void give_reduced(fnzi_dec_steps *s, fnzi_krn_array *a) {
  GIVE(fnzi_dec_by_reduction(s, a));
}

static fnzi_krn_array *difference(fnzi_dec_steps *s) {
  return SUB(GIVEN("self"), GIVEN("target"));
}

TAKE_APART(mse_loss) {
  give_reduced(s, STEP(pow__Tensor_Scalar, V(difference(s)), I(2)));
}

TAKE_APART(l1_loss) {
  give_reduced(s, STEP(abs, V(difference(s))));
}

/* Squares where the difference is below `from`, lines elsewhere; over `by`. */
static void give_bent(fnzi_dec_steps *s, double from, double by) {
  fnzi_krn_array *size = STEP(abs, V(difference(s)));
  fnzi_krn_array *square = STEP(mul__Scalar, V(MUL(size, size)), F(0.5 / by));
  fnzi_krn_array *line = STEP(sub__Scalar, V(size), F(0.5 * from));
  line = by == from ? line : STEP(mul__Scalar, V(line), F(from / by));
  fnzi_krn_array *is_small = STEP(lt__Scalar, V(size), F(from));
  give_reduced(s, STEP(where__self, V(is_small), V(square), V(line)));
}

TAKE_APART(smooth_l1_loss) {
  double beta = fnzi_krn_named_float(s->call, "beta", 1);
  if (beta > 0)
    give_bent(s, beta, beta);
  else
    give_reduced(s, STEP(abs, V(difference(s))));
}

TAKE_APART(huber_loss) {
  double delta = fnzi_krn_named_float(s->call, "delta", 1);
  give_bent(s, delta, 1);
}
