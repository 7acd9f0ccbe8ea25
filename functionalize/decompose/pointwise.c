/* pointwise.c - functions of elements by simpler ones, as PyTorch's decompositions have them. */
#include "functionalize/decompose/ways.h"

#include <float.h>
#include <math.h>

fnzi_krn_array *fnzi_dcm_widened(fnzi_dec_steps *s, fnzi_krn_array *a) {
  fnz_dtype dtype = fnzi_dec_array_dtype(a);
  return fnzi_dec_cast(s, a, dtype == FNZ_F16 || dtype == FNZ_BF16 ? FNZ_F32 : dtype);
}

fnzi_krn_array *fnzi_dcm_real(fnzi_dec_steps *s, fnzi_krn_array *a) {
  fnz_dtype dtype = fnzi_dec_array_dtype(a);
  bool is_exact = dtype == FNZ_BOOL || fnzi_is_integer(dtype);
  return fnzi_dec_cast(s, a, is_exact ? FNZ_F32 : dtype);
}

/* The result in the dtype of the argument. */
static void give_as(fnzi_dec_steps *s, const fnzi_krn_array *like, fnzi_krn_array *a) {
  GIVE(fnzi_dec_cast(s, a, fnzi_dec_array_dtype(like)));
}

#define TIMES(a, factor)       STEP(mul__Scalar, V(a), factor)
#define PLUS(a, number)        STEP(add__Scalar, V(a), number)
#define FROM_NUMBER(number, a) STEP(sub__Tensor, number, V(a))
#define ZERO(like)             NUMBER(I(0), DTYPE_OF(like))

/* --- Activations ------------------------------------------------------------------------------ */
TAKE_APART(silu) {
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, self);
  give_as(s, self, MUL(x, STEP(sigmoid, V(x))));
}

/* min(max(x + 3, 0), 6) */
static fnzi_krn_array *ramp(fnzi_dec_steps *s, fnzi_krn_array *x) {
  return STEP(clamp, V(PLUS(x, I(3))), I(0), I(6));
}

TAKE_APART(hardswish) {
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, self);
  give_as(s, self, STEP(div__Scalar, V(MUL(x, ramp(s, x))), I(6)));
}

TAKE_APART(hardsigmoid) {
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, self);
  give_as(s, self, STEP(div__Scalar, V(ramp(s, x)), I(6)));
}

TAKE_APART(relu6) {
  GIVE(STEP(hardtanh, V(GIVEN("self")), I(0), I(6)));
}

TAKE_APART(selu) {
  GIVE(STEP(elu, V(GIVEN("self")), F(1.6732632423543772848170429916717),
            F(1.0507009873554804934193349852946)));
}

TAKE_APART(celu) {
  double alpha = fnzi_krn_named_float(s->call, "alpha", 1);
  GIVE(STEP(elu, V(GIVEN("self")), F(alpha), F(1), F(1 / alpha)));
}

/* log(1 + exp(beta x)) / beta, and x where that is large. */
static fnzi_krn_array *softplus(fnzi_dec_steps *s, fnzi_krn_array *x, double beta,
                                double threshold) {
  fnzi_krn_array *scaled = beta == 1 ? x : TIMES(x, F(beta));
  fnzi_krn_array *soft = STEP(log1p, V(STEP(exp, V(scaled))));
  soft = beta == 1 ? soft : STEP(div__Scalar, V(soft), F(beta));
  return CHOSEN(STEP(gt__Scalar, V(scaled), F(threshold)), x, soft);
}

TAKE_APART(softplus) {
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, self);
  give_as(s, self,
          softplus(s, x, fnzi_krn_named_float(s->call, "beta", 1),
                   fnzi_krn_named_float(s->call, "threshold", 20)));
}

TAKE_APART(mish) {
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, self);
  give_as(s, self, MUL(x, STEP(tanh, V(softplus(s, x, 1, 20)))));
}

/* min(x, 0) - log(1 + exp(-|x|)) */
TAKE_APART(log_sigmoid) {
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, self);
  fnzi_krn_array *low = STEP(clamp, V(x), NONE, I(0));
  fnzi_krn_array *rest = STEP(exp, V(STEP(neg, V(STEP(abs, V(x))))));
  give_as(s, self, SUB(low, STEP(log1p, V(rest))));
}

TAKE_APART(threshold) {
  fnzi_krn_array *x = GIVEN("self");
  fnzi_krn_array *is_low = STEP(le__Scalar, V(x), AS_GIVEN("threshold"));
  GIVE(CHOSEN(is_low, NUMBER(AS_GIVEN("value"), DTYPE_OF(x)), x));
}

/* 0 from -lambd to lambd; NaN stays. */
TAKE_APART(hardshrink) {
  fnzi_krn_array *x = GIVEN("self");
  fnzi_krn_array *is_small = STEP(le__Scalar, V(STEP(abs, V(x))), AS_GIVEN("lambd"));
  GIVE(CHOSEN(is_small, ZERO(x), x));
}

TAKE_APART(softshrink) {
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, self);
  double lambd = fnzi_krn_named_float(s->call, "lambd", 0.5);
  fnzi_krn_array *is_small = STEP(le__Scalar, V(STEP(abs, V(x))), F(lambd));
  fnzi_krn_array *less = SUB(x, TIMES(STEP(sign, V(x)), F(lambd)));
  give_as(s, self, CHOSEN(is_small, MUL(x, ZERO(x)), less));
}

/* --- Backward --------------------------------------------------------------------------------- */
TAKE_APART(tanh_backward) {
  fnzi_krn_array *y = GIVEN("output");
  GIVE(MUL(GIVEN("grad_output"), FROM_NUMBER(I(1), MUL(y, y))));
}

TAKE_APART(sigmoid_backward) {
  fnzi_krn_array *y = GIVEN("output");
  GIVE(MUL(GIVEN("grad_output"), MUL(y, FROM_NUMBER(I(1), y))));
}

TAKE_APART(threshold_backward) {
  fnzi_krn_array *grad = GIVEN("grad_output");
  fnzi_krn_array *is_low = STEP(le__Scalar, V(GIVEN("self")), AS_GIVEN("threshold"));
  GIVE(CHOSEN(is_low, ZERO(grad), grad));
}

/* --- Arithmetic ------------------------------------------------------------------------------- */
TAKE_APART(rsub) {
  fnz_arg alpha = AS_GIVEN("alpha");
  GIVE(STEP(sub__Tensor, AS_GIVEN("other"), V(GIVEN("self")), alpha));
}

TAKE_APART(square) {
  GIVE(STEP(pow__Tensor_Scalar, V(GIVEN("self")), I(2)));
}

TAKE_APART(frac) {
  fnzi_krn_array *x = GIVEN("self");
  GIVE(SUB(x, STEP(trunc, V(x))));
}

TAKE_APART(clamp_min) {
  GIVE(STEP(clamp, V(GIVEN("self")), AS_GIVEN("min"), NONE));
}

TAKE_APART(clamp_max) {
  GIVE(STEP(clamp, V(GIVEN("self")), NONE, AS_GIVEN("max")));
}

TAKE_APART(floor_divide) {
  fnzi_krn_array *other = GIVEN("other");
  GIVE(other ? STEP(div__Tensor_mode, V(GIVEN("self")), V(other), WORD("floor"))
             : STEP(div__Scalar_mode, V(GIVEN("self")), AS_GIVEN("other"), WORD("floor")));
}

/* Casts integers first, for consumers whose functions of real numbers do not take them. */
TAKE_APART(of_reals) {
  const fnz_op *op = s->call->op;
  fnzi_krn_array *a = GIVEN("self"), *real = fnzi_dcm_real(s, a);
  if (!a || real == a || op->nparams > FNZI_DCM_MOST_ARGS) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  real = fnzi_dcm_again(s, real);
  GIVE(op == &fnzi_ops[FNZI_ATEN_relu] ? fnzi_dec_cast(s, real, DTYPE_OF(a)) : real);
}

/* Casts the result, for consumers that return quotients of integers as floats. */
TAKE_APART(quotient_as_cast) {
  fnzi_krn_array *other = GIVEN("other");
  const fnz_arg mode = AS_GIVEN("rounding_mode");
  fnzi_krn_array *a = other ? STEP(div__Tensor_mode, V(GIVEN("self")), V(other), mode)
                            : STEP(div__Scalar_mode, V(GIVEN("self")), AS_GIVEN("other"), mode);
  if (!fnzi_is_integer(fnzi_dec_array_dtype(a)))
    fnzi_dcm_nothing_to_mend(s);
  GIVE(STEP(_to_copy, V(a), DTYPE(fnzi_dec_array_dtype(a))));
}

TAKE_APART(remainder_of_number) {
  GIVE(STEP(remainder__Tensor, AS_GIVEN("self"), V(GIVEN("other"))));
}

/* value * a, without a factor of 1. Integers drop the fraction of the factor as well. */
static fnzi_krn_array *by_value(fnzi_dec_steps *s, fnzi_krn_array *a) {
  fnz_arg value = AS_GIVEN("value");
  if (value.tag == FNZ_ARG_FLOAT && fnzi_is_integer(fnzi_dec_array_dtype(a)))
    value = I((int64_t)value.u.f);
  return fnzi_krn_number_float(&value) == 1 && value.tag != FNZ_ARG_COMPLEX ? a : TIMES(a, value);
}

TAKE_APART(addcmul) {
  GIVE(ADD(GIVEN("self"), by_value(s, MUL(GIVEN("tensor1"), GIVEN("tensor2")))));
}

TAKE_APART(addcdiv) {
  GIVE(ADD(GIVEN("self"), by_value(s, DIV(GIVEN("tensor1"), GIVEN("tensor2")))));
}

/* start + w * (end - start) or, near the end, end - (1 - w) * (end - start), as eager computes
 * it. */
TAKE_APART(lerp) {
  fnzi_krn_array *start = GIVEN("self"), *end = GIVEN("end"), *difference = SUB(end, start);
  fnz_arg weight = AS_GIVEN("weight");
  double w = fnzi_krn_number_float(&weight);
  if (weight.tag == FNZ_ARG_COMPLEX)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "weight is complex");
  GIVE(fabs(w) < 0.5 ? ADD(start, TIMES(difference, F(w))) : SUB(end, TIMES(difference, F(1 - w))));
}

TAKE_APART(lerp_tensor) {
  fnzi_krn_array *start = GIVEN("self"), *end = GIVEN("end"), *difference = SUB(end, start);
  fnzi_krn_array *w = GIVEN("weight"), *is_near = STEP(lt__Scalar, V(STEP(abs, V(w))), F(0.5));
  fnzi_krn_array *rest = CHOSEN(is_near, w, STEP(sub__Scalar, V(w), I(1)));
  GIVE(ADD(CHOSEN(is_near, start, end), MUL(rest, difference)));
}

/* --- Of real numbers -------------------------------------------------------------------------- */
TAKE_APART(exp2) {
  GIVE(STEP(pow__Scalar, I(2), V(fnzi_dcm_real(s, GIVEN("self")))));
}

TAKE_APART(erfc) {
  GIVE(FROM_NUMBER(I(1), STEP(erf, V(GIVEN("self")))));
}

TAKE_APART(deg2rad) {
  GIVE(TIMES(fnzi_dcm_real(s, GIVEN("self")), F(0.017453292519943295769)));
}

TAKE_APART(rad2deg) {
  GIVE(TIMES(fnzi_dcm_real(s, GIVEN("self")), F(57.29577951308232087680)));
}

TAKE_APART(hypot) {
  fnzi_krn_array *a = GIVEN("self"), *b = GIVEN("other");
  GIVE(STEP(sqrt, V(ADD(MUL(a, a), MUL(b, b)))));
}

TAKE_APART(logit) {
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, fnzi_dcm_real(s, self));
  fnz_arg eps = AS_GIVEN("eps");
  double low = fnzi_dcm_is_given(&eps) ? fnzi_krn_number_float(&eps) : -1;
  x = low < 0 ? x : STEP(clamp, V(x), F(low), F(1 - low));
  give_as(s, fnzi_dcm_real(s, self), STEP(log, V(DIV(x, FROM_NUMBER(I(1), x)))));
}

TAKE_APART(xlogy) {
  fnzi_krn_array *x = GIVEN("self"), *y = GIVEN("other"), *product = MUL(x, STEP(log, V(y)));
  fnzi_krn_array *some = CHOSEN(STEP(eq__Scalar, V(x), I(0)), ZERO(product), product);
  GIVE(CHOSEN(STEP(isnan, V(y)), NUMBER(F(NAN), DTYPE_OF(product)), some));
}

TAKE_APART(logaddexp) {
  fnzi_krn_array *a = GIVEN("self"), *b = GIVEN("other"), *most = STEP(maximum, V(a), V(b));
  fnzi_krn_array *rest = STEP(exp, V(STEP(neg, V(STEP(abs, V(SUB(a, b)))))));
  fnzi_krn_array *is_end = STEP(logical_and, V(STEP(isinf, V(a))), V(STEP(eq__Tensor, V(a), V(b))));
  GIVE(CHOSEN(is_end, a, ADD(most, STEP(log1p, V(rest)))));
}

/* --- Questions -------------------------------------------------------------------------------- */
TAKE_APART(isfinite) {
  fnzi_krn_array *x = GIVEN("self");
  if (!fnzi_is_float(DTYPE_OF(x)) && !fnzi_is_complex(DTYPE_OF(x))) {
    GIVE(STEP(full, SIZES(x), B(true), DTYPE(FNZ_BOOL)));
    return;
  }
  GIVE(STEP(lt__Scalar, V(STEP(abs, V(x))), F(INFINITY))); /* false for NaN */
}

TAKE_APART(isposinf) {
  GIVE(STEP(eq__Scalar, V(fnzi_dcm_real(s, GIVEN("self"))), F(INFINITY)));
}

TAKE_APART(isneginf) {
  GIVE(STEP(eq__Scalar, V(fnzi_dcm_real(s, GIVEN("self"))), F(-INFINITY)));
}

TAKE_APART(nan_to_num) {
  fnzi_krn_array *x = GIVEN("self");
  fnz_dtype dtype = DTYPE_OF(x);
  double most = dtype == FNZ_F64    ? DBL_MAX
                : dtype == FNZ_F16  ? 65504
                : dtype == FNZ_BF16 ? 3.3895313892515355e38
                                    : (double)FLT_MAX;
  if (!fnzi_is_float(dtype)) {
    GIVE(STEP(clone, V(x)));
    return;
  }
  double nan = fnzi_krn_named_float(s->call, "nan", 0);
  double high = fnzi_krn_named_float(s->call, "posinf", most);
  double low = fnzi_krn_named_float(s->call, "neginf", -most);
  fnzi_krn_array *y = CHOSEN(STEP(isnan, V(x)), NUMBER(F(nan), dtype), x);
  y = CHOSEN(STEP(eq__Scalar, V(x), F(INFINITY)), NUMBER(F(high), dtype), y);
  GIVE(CHOSEN(STEP(eq__Scalar, V(x), F(-INFINITY)), NUMBER(F(low), dtype), y));
}
