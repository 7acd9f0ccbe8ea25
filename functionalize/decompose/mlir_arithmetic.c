/* mlir_arithmetic.c - sums, products, quotients, sizes and comparisons of complex numbers, by their
 * parts. */
#include "functionalize/decompose/mlir_complex.h"

#define NEG(a) STEP(neg, V(a))
#define ABS(a) STEP(abs, V(a))

/* --- arithmetic ------------------------------------------------------------------------------- */
fnzi_dcm_cx fnzi_dcm_cx_number(fnzi_dec_steps *s, double number, fnzi_dcm_cx like) {
  return CX(NUMBER(F(number), DTYPE_OF(like.re)), NULL);
}

fnzi_dcm_cx fnzi_dcm_cx_plus(fnzi_dec_steps *s, fnzi_dcm_cx a, fnzi_dcm_cx b) {
  return CX(ADD(a.re, b.re), a.im && b.im ? ADD(a.im, b.im) : a.im ? a.im : b.im);
}

fnzi_dcm_cx fnzi_dcm_cx_scaled(fnzi_dec_steps *s, fnzi_dcm_cx a, double factor) {
  return CX(fnzi_dec_times(s, a.re, factor), a.im ? fnzi_dec_times(s, a.im, factor) : NULL);
}

fnzi_dcm_cx fnzi_dcm_cx_times(fnzi_dec_steps *s, fnzi_dcm_cx a, fnzi_dcm_cx b) {
  if (!a.im || !b.im)
    return CX(MUL(a.re, b.re), a.im ? MUL(a.im, b.re) : b.im ? MUL(a.re, b.im) : NULL);
  return CX(SUB(MUL(a.re, b.re), MUL(a.im, b.im)), ADD(MUL(a.re, b.im), MUL(a.im, b.re)));
}

/* If the divisor is 0, the ratio of its parts is 0 too and the quotients are infinite. Eager
 * multiplies by a reciprocal, which a device may take for 0 where the divisor is large. */
fnzi_dcm_cx fnzi_dcm_cx_over(fnzi_dec_steps *s, fnzi_dcm_cx a, fnzi_dcm_cx b) {
  if (!b.im)
    return CX(DIV(a.re, b.re), a.im ? DIV(a.im, b.re) : NULL);
  if (!a.im)
    a.im = STEP(zeros_like, V(a.re));
  fnzi_krn_array *is_re = STEP(ge__Tensor, V(ABS(b.re)), V(ABS(b.im)));
  fnzi_krn_array *large = CHOSEN(is_re, b.re, b.im), *small = CHOSEN(is_re, b.im, b.re);
  fnzi_krn_array *is_none = STEP(eq__Scalar, V(large), I(0));
  fnzi_krn_array *ratio = CHOSEN(is_none, large, DIV(small, large));
  fnzi_krn_array *scale = ADD(MUL(small, ratio), large);
  fnzi_krn_array *first = CHOSEN(is_re, a.re, a.im), *second = CHOSEN(is_re, a.im, a.re);
  fnzi_krn_array *im = SUB(second, MUL(first, ratio));
  return CX(DIV(ADD(first, MUL(second, ratio)), scale), DIV(CHOSEN(is_re, im, NEG(im)), scale));
}

fnzi_krn_array *fnzi_dcm_cx_size(fnzi_dec_steps *s, fnzi_dcm_cx a) {
  if (!a.im)
    return ABS(a.re);
  fnzi_krn_array *re = ABS(a.re), *im = ABS(a.im);
  fnzi_krn_array *large = STEP(maximum, V(re), V(im)), *small = STEP(minimum, V(re), V(im));
  fnzi_krn_array *is_same = STEP(eq__Tensor, V(small), V(large)); /* 0, or infinite, both */
  fnzi_krn_array *ratio = CHOSEN(is_same, STEP(ones_like, V(large)), DIV(small, large));
  return MUL(large, STEP(sqrt, V(STEP(add__Scalar, V(MUL(ratio, ratio)), I(1)))));
}

fnzi_krn_array *fnzi_dcm_cx_angle(fnzi_dec_steps *s, fnzi_dcm_cx a) {
  fnzi_krn_array *is_re = STEP(ne__Scalar, V(a.re), I(0)), *is_im = STEP(ne__Scalar, V(a.im), I(0));
  fnzi_krn_array *is_some = STEP(logical_or, V(is_re), V(is_im));
  return CHOSEN(is_some, STEP(atan2, V(a.im), V(a.re)), STEP(zeros_like, V(a.re)));
}

TAKE_APART(complex_mul) {
  GIVE_CX(fnzi_dcm_cx_times(s, GIVEN_CX("self"), GIVEN_CX("other")));
}

TAKE_APART(complex_div) {
  GIVE_CX(fnzi_dcm_cx_over(s, GIVEN_CX("self"), GIVEN_CX("other")));
}

TAKE_APART(complex_square) {
  GIVE_CX(fnzi_dcm_cx_times(s, GIVEN_CX("self"), GIVEN_CX("self")));
}

TAKE_APART(complex_reciprocal) {
  fnzi_dcm_cx z = GIVEN_CX("self");
  GIVE_CX(fnzi_dcm_cx_over(s, fnzi_dcm_cx_number(s, 1, z), z));
}

TAKE_APART(complex_addcmul) {
  fnzi_dcm_cx product = fnzi_dcm_cx_times(s, GIVEN_CX("tensor1"), GIVEN_CX("tensor2"));
  product = fnzi_dcm_cx_times(s, GIVEN_CX("value"), product);
  GIVE_CX(fnzi_dcm_cx_plus(s, GIVEN_CX("self"), product));
}

/* --- products of matrices --------------------------------------------------------------------- */
#define PRODUCT(a, b) fnzi_dec_step(s, op, (const fnz_arg[]){V(a), V(b)}, 2)

/* mm or bmm, of parts. */
static fnzi_dcm_cx product(fnzi_dec_steps *s, size_t op, fnzi_dcm_cx a, fnzi_dcm_cx b) {
  if (!a.im || !b.im)
    return CX(PRODUCT(a.re, b.re), a.im ? PRODUCT(a.im, b.re) : b.im ? PRODUCT(a.re, b.im) : NULL);
  return CX(SUB(PRODUCT(a.re, b.re), PRODUCT(a.im, b.im)),
            ADD(PRODUCT(a.re, b.im), PRODUCT(a.im, b.re)));
}

TAKE_APART(complex_product) {
  const fnz_op *op = s->call->op;
  GIVE_CX(product(s, fnzi_op_place(op), GIVEN_CX("self"), GIVEN_CX("mat2")));
}

static void arithmetic_give_sum(fnzi_dec_steps *s, fnzi_dcm_cx product) {
  fnzi_dcm_cx more = fnzi_dcm_cx_times(s, GIVEN_CX("beta"), GIVEN_CX("self"));
  GIVE_CX(fnzi_dcm_cx_plus(s, fnzi_dcm_cx_times(s, GIVEN_CX("alpha"), product), more));
}

TAKE_APART(complex_addmm) {
  arithmetic_give_sum(s, product(s, FNZI_ATEN_mm, GIVEN_CX("mat1"), GIVEN_CX("mat2")));
}

TAKE_APART(complex_baddbmm) {
  arithmetic_give_sum(s, product(s, FNZI_ATEN_bmm, GIVEN_CX("batch1"), GIVEN_CX("batch2")));
}

TAKE_APART(complex_vdot) {
  GIVE(STEP(sum, V(MUL(STEP(_conj_physical, V(GIVEN("self"))), GIVEN("other")))));
}

/* --- parts ------------------------------------------------------------------------------------ */
TAKE_APART(real_part) {
  GIVE(GIVEN_CX("self").re);
}

TAKE_APART(imaginary_part) {
  GIVE(GIVEN_CX("self").im);
}

TAKE_APART(conjugate) {
  fnzi_dcm_cx z = GIVEN_CX("self");
  GIVE_CX(CX(z.re, NEG(z.im)));
}

TAKE_APART(itself) {
  GIVE(GIVEN("self"));
}

TAKE_APART(size) {
  GIVE(fnzi_dcm_cx_size(s, GIVEN_CX("self")));
}

TAKE_APART(angle) {
  fnzi_dcm_cx z = GIVEN_CX("self");
  GIVE(fnzi_dcm_cx_angle(s, z));
}

/* 0 has none, and stays. */
TAKE_APART(direction) {
  fnzi_dcm_cx z = GIVEN_CX("self");
  fnzi_krn_array *size = fnzi_dcm_cx_size(s, z);
  size = CHOSEN(STEP(eq__Scalar, V(size), I(0)), STEP(ones_like, V(size)), size);
  GIVE_CX(CX(DIV(z.re, size), DIV(z.im, size)));
}

/* A norm of complex numbers is that of their sizes. */
TAKE_APART(of_size) {
  GIVE(fnzi_dcm_again(s, fnzi_dcm_cx_size(s, GIVEN_CX("self"))));
}

/* --- comparisons ------------------------------------------------------------------------------ */
/* Parts compared by the operator, `by` for tensors. A real number has a part of 0. */
static void give_compared(fnzi_dec_steps *s, size_t by, size_t joined) {
  fnzi_dcm_cx a = GIVEN_CX("self"), b = GIVEN_CX("other");
  fnzi_krn_array *x = a.im ? a.im : STEP(zeros_like, V(a.re));
  fnzi_krn_array *y = b.im ? b.im : STEP(zeros_like, V(b.re));
  fnzi_krn_array *re = fnzi_dec_step(s, by, (const fnz_arg[]){V(a.re), V(b.re)}, 2);
  fnzi_krn_array *im = fnzi_dec_step(s, by, (const fnz_arg[]){V(x), V(y)}, 2);
  GIVE(fnzi_dec_step(s, joined, (const fnz_arg[]){V(re), V(im)}, 2));
}

TAKE_APART(both_equal) {
  give_compared(s, FNZI_ATEN_eq__Tensor, FNZI_ATEN_logical_and);
}

TAKE_APART(some_unequal) {
  give_compared(s, FNZI_ATEN_ne__Tensor, FNZI_ATEN_logical_or);
}

TAKE_APART(is_zero) {
  fnzi_dcm_cx z = GIVEN_CX("self");
  GIVE(STEP(logical_and, V(STEP(logical_not, V(z.re))), V(STEP(logical_not, V(z.im)))));
}

/* The operator holds of a part. */
static void give_joined(fnzi_dec_steps *s, size_t joined) {
  fnzi_dcm_cx z = GIVEN_CX("self");
  const uint16_t op = fnzi_op_place(s->call->op);
  fnzi_krn_array *re = fnzi_dec_step(s, op, (const fnz_arg[]){V(z.re)}, 1);
  fnzi_krn_array *im = fnzi_dec_step(s, op, (const fnz_arg[]){V(z.im)}, 1);
  GIVE(fnzi_dec_step(s, joined, (const fnz_arg[]){V(re), V(im)}, 2));
}

TAKE_APART(some_part) {
  give_joined(s, FNZI_ATEN_logical_or);
}

TAKE_APART(every_part) {
  give_joined(s, FNZI_ATEN_logical_and);
}
