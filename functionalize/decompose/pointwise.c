/* pointwise.c - functions of elements by simpler ones. */
#include "functionalize/decompose/ways.h"

fnzi_krn_array *fnzi_dcm_widened(fnzi_dec_steps *s, fnzi_krn_array *a) {
  fnz_dtype dtype = fnzi_dec_array_dtype(a);
  return fnzi_dec_cast(s, a, dtype == FNZ_F16 || dtype == FNZ_BF16 ? FNZ_F32 : dtype);
}

/* The result in the dtype of the argument. */
static void give_as(fnzi_dec_steps *s, const fnzi_krn_array *like, fnzi_krn_array *a) {
  GIVE(fnzi_dec_cast(s, a, fnzi_dec_array_dtype(like)));
}

TAKE_APART(silu) {
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, self);
  give_as(s, self, MUL(x, STEP(sigmoid, V(x))));
}

TAKE_APART(hardswish) {
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, self);
  fnzi_krn_array *ramp = STEP(clamp, V(STEP(add__Scalar, V(x), I(3))), I(0), I(6));
  give_as(s, self, STEP(div__Scalar, V(MUL(x, ramp)), I(6)));
}
