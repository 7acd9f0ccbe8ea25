/* mlir_functions.c - functions of complex numbers, by functions of their parts. They round
 * otherwise than the C library, whose values eager has: by a few units in the last place, and more
 * where a part is small beside the other. */
#include "functionalize/decompose/mlir_complex.h"

#include <math.h>

#define OF(function, a) STEP(function, V(a))
#define NEG(a)          OF(neg, a)

/* The imaginary part of a number that may be real. */
static fnzi_krn_array *imaginary(fnzi_dec_steps *s, fnzi_dcm_cx z) {
  return z.im ? z.im : OF(zeros_like, z.re);
}

/* --- exponentials ----------------------------------------------------------------------------- */
static fnzi_dcm_cx exponential(fnzi_dec_steps *s, fnzi_dcm_cx z) {
  fnzi_krn_array *size = OF(exp, z.re);
  return z.im ? CX(MUL(size, OF(cos, z.im)), MUL(size, OF(sin, z.im))) : CX(size, NULL);
}

static fnzi_dcm_cx logarithm(fnzi_dec_steps *s, fnzi_dcm_cx z) {
  fnzi_krn_array *im = imaginary(s, z);
  z = CX(z.re, im);
  return CX(OF(log, fnzi_dcm_cx_size(s, z)), fnzi_dcm_cx_angle(s, z));
}

TAKE_APART(complex_exp) {
  GIVE_CX(exponential(s, GIVEN_CX("self")));
}

TAKE_APART(complex_log) {
  const char *name = s->call->op->base;
  fnzi_dcm_cx z = GIVEN_CX("self");
  if (strcmp(name, "log1p") == 0)
    z = fnzi_dcm_cx_plus(s, z, fnzi_dcm_cx_number(s, 1, z));
  z = logarithm(s, z);
  double base = strcmp(name, "log2") == 0 ? log(2) : strcmp(name, "log10") == 0 ? log(10) : 1;
  GIVE_CX(base == 1 ? z : fnzi_dcm_cx_scaled(s, z, 1 / base));
}

/* IREE's devices have no log10. */
TAKE_APART(log10_by_log) {
  fnzi_krn_array *x = fnzi_dcm_widened(s, fnzi_dcm_real(s, GIVEN("self")));
  GIVE(fnzi_dec_cast(s, fnzi_dec_times(s, OF(log, x), 1 / log(10)),
                     DTYPE_OF(fnzi_dcm_real(s, GIVEN("self")))));
}

static fnzi_dcm_cx logistic(fnzi_dec_steps *s, fnzi_dcm_cx z) {
  fnzi_dcm_cx one = fnzi_dcm_cx_number(s, 1, z);
  fnzi_dcm_cx away = exponential(s, CX(NEG(z.re), NEG(z.im)));
  return fnzi_dcm_cx_over(s, one, fnzi_dcm_cx_plus(s, away, one));
}

TAKE_APART(complex_sigmoid) {
  GIVE_CX(logistic(s, GIVEN_CX("self")));
}

TAKE_APART(complex_silu) {
  fnzi_dcm_cx z = GIVEN_CX("self");
  GIVE_CX(fnzi_dcm_cx_times(s, z, logistic(s, z)));
}

/* --- roots and powers ------------------------------------------------------------------------- */
/* The root whose real part is not below 0. The square of its longer part is half the sum of the
 * absolute value and that of the real part, which does not overflow as a quarter of it. */
static fnzi_dcm_cx root(fnzi_dec_steps *s, fnzi_dcm_cx z) {
  fnzi_dcm_cx quarter = fnzi_dcm_cx_scaled(s, z, 0.25);
  fnzi_krn_array *sum = ADD(OF(abs, quarter.re), fnzi_dcm_cx_size(s, quarter));
  fnzi_krn_array *long_part = fnzi_dec_times(s, OF(sqrt, sum), sqrt(2));
  fnzi_krn_array *is_none = STEP(eq__Scalar, V(long_part), I(0));
  fnzi_krn_array *divisor = CHOSEN(is_none, OF(ones_like, long_part), long_part);
  fnzi_krn_array *short_part = DIV(STEP(mul__Scalar, V(OF(abs, z.im)), F(0.5)), divisor);
  fnzi_krn_array *is_right = STEP(ge__Scalar, V(z.re), I(0));
  fnzi_krn_array *re = CHOSEN(is_right, long_part, short_part);
  fnzi_krn_array *im = CHOSEN(is_right, short_part, long_part);
  return CX(re, CHOSEN(STEP(lt__Scalar, V(z.im), I(0)), NEG(im), im));
}

TAKE_APART(complex_sqrt) {
  GIVE_CX(root(s, GIVEN_CX("self")));
}

TAKE_APART(complex_rsqrt) {
  fnzi_dcm_cx z = GIVEN_CX("self");
  GIVE_CX(fnzi_dcm_cx_over(s, fnzi_dcm_cx_number(s, 1, z), root(s, z)));
}

/* 0 to any power but 0 is 0. */
TAKE_APART(complex_pow) {
  fnzi_dcm_cx base = GIVEN_CX("self"), exponent = GIVEN_CX("exponent"), power = base;
  /* The exponent where it is a small whole number; -1 for others. */
  fnz_arg arg = AS_GIVEN("exponent");
  double value = arg.tag == FNZ_ARG_INT ? (double)arg.u.i : arg.tag == FNZ_ARG_FLOAT ? arg.u.f : -1;
  int count = value == 1 || value == 2 || value == 3 ? (int)value : -1;
  for (int i = 1; i < count; i++)
    power = fnzi_dcm_cx_times(s, power, base);
  if (count < 0) {
    power = exponential(s, fnzi_dcm_cx_times(s, exponent, logarithm(s, base)));
    fnzi_krn_array *is_none = STEP(eq__Scalar, V(fnzi_dcm_cx_size(s, base)), I(0));
    fnzi_krn_array *is_one = STEP(eq__Scalar, V(fnzi_dcm_cx_size(s, exponent)), I(0));
    fnzi_krn_array *there = fnzi_dec_cast(s, is_one, DTYPE_OF(power.re));
    power.re = CHOSEN(is_none, there, power.re);
    power.im = CHOSEN(is_none, OF(zeros_like, there), imaginary(s, power));
  }
  GIVE_CX(power);
}

/* --- of angles -------------------------------------------------------------------------------- */
TAKE_APART(complex_sin) {
  fnzi_dcm_cx z = GIVEN_CX("self");
  GIVE_CX(CX(MUL(OF(sin, z.re), OF(cosh, z.im)), MUL(OF(cos, z.re), OF(sinh, z.im))));
}

TAKE_APART(complex_cos) {
  fnzi_dcm_cx z = GIVEN_CX("self");
  GIVE_CX(CX(MUL(OF(cos, z.re), OF(cosh, z.im)), NEG(MUL(OF(sin, z.re), OF(sinh, z.im)))));
}

TAKE_APART(complex_sinh) {
  fnzi_dcm_cx z = GIVEN_CX("self");
  GIVE_CX(CX(MUL(OF(sinh, z.re), OF(cos, z.im)), MUL(OF(cosh, z.re), OF(sin, z.im))));
}

TAKE_APART(complex_cosh) {
  fnzi_dcm_cx z = GIVEN_CX("self");
  GIVE_CX(CX(MUL(OF(cosh, z.re), OF(cos, z.im)), MUL(OF(sinh, z.re), OF(sin, z.im))));
}

/* Beyond 20 it is 1 or -1 in all digits, and the terms stay finite. */
static fnzi_dcm_cx tangent(fnzi_dec_steps *s, fnzi_dcm_cx z) {
  fnzi_krn_array *re = STEP(clamp, V(z.re), I(-20), I(20));
  re = STEP(mul__Scalar, V(re), I(2));
  fnzi_krn_array *im = STEP(mul__Scalar, V(z.im), I(2));
  fnzi_krn_array *divisor = ADD(OF(cosh, re), OF(cos, im));
  return CX(DIV(OF(sinh, re), divisor), DIV(OF(sin, im), divisor));
}

TAKE_APART(complex_tanh) {
  GIVE_CX(tangent(s, GIVEN_CX("self")));
}

/* -i tanh(iz) */
TAKE_APART(complex_tan) {
  fnzi_dcm_cx z = GIVEN_CX("self");
  fnzi_dcm_cx t = tangent(s, CX(NEG(z.im), z.re));
  GIVE_CX(CX(t.im, NEG(t.re)));
}
