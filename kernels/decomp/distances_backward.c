/* distances_backward.c - what flows back through distances between rows: the gradient of each
 * distance along the difference that it is of. */
#include "kernels/decomp/decomp.h"

#include <math.h>

static fnzi_krn_array *power(fnzi_dec_steps *s, fnzi_krn_array *a, double p) {
  return STEP(pow__Tensor_Scalar, V(a), F(p));
}

/* The gradient of |apart|_p, all of sizes that broadcast; 0 where the distance is. */
static fnzi_krn_array *along(fnzi_dec_steps *s, fnzi_krn_array *apart, fnzi_krn_array *grad,
                             fnzi_krn_array *dist, double p) {
  fnzi_krn_array *none = STEP(eq__Scalar, V(dist), I(0));
  if (p == 0)
    return STEP(zeros_like, V(apart));
  if (p == 1)
    return MUL(grad, STEP(sign, V(apart)));
  if (isinf(p)) {
    fnzi_krn_array *most = STEP(eq__Tensor, V(STEP(abs, V(apart))), V(dist));
    return MUL(MUL(grad, STEP(sign, V(apart))), most);
  }
  if (p == 2)
    return ZEROED(DIV(MUL(grad, apart), dist), none);
  fnzi_krn_array *rise = MUL(STEP(sign, V(apart)), power(s, STEP(abs, V(apart)), p - 1));
  if (p < 1)
    rise = ZEROED(rise, STEP(eq__Scalar, V(apart), I(0)));
  return ZEROED(DIV(MUL(rise, grad), power(s, dist, p - 1)), none);
}

static double order_of(fnzi_dec_steps *s) {
  double p = fnzi_krn_named_float(s->call, "p", 2);
  if (!(p >= 0))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "p is %g, it must not be negative", p);
  return p;
}

/* The gradient of the first of two lists of rows. */
DECOMP(cdist_backward) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "x1"), *b = fnzi_dec_given_array(s, "x2");
  if (fnzi_dec_array_rank(a) < 2 || fnzi_dec_array_rank(b) < 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "x1 and x2 have %u and %u dimensions; both need 2",
                    fnzi_dec_array_rank(a), fnzi_dec_array_rank(b));
  fnzi_krn_array *apart = SUB(STEP(unsqueeze, V(a), I(-2)), STEP(unsqueeze, V(b), I(-3)));
  fnzi_krn_array *grad = STEP(unsqueeze, V(fnzi_dec_given_array(s, "grad_output")), I(-1));
  fnzi_krn_array *dist = STEP(unsqueeze, V(fnzi_dec_given_array(s, "cdist")), I(-1));
  fnzi_krn_array *back = along(s, apart, grad, dist, order_of(s));
  fnzi_dec_result_give(s, STEP(sum__dim_IntList, V(back), INTS(-2)));
}

/* A number for each pair of rows as a matrix, which has it at both places; zeros on its diagonal.
 */
static fnzi_krn_array *matrix_of(fnzi_dec_steps *s, fnzi_krn_array *pairs, fnzi_krn_array *above) {
  int64_t n = SIZE(above, 0);
  fnzi_krn_array *zeros = STEP(zeros, INTS(n, n), DTYPE(DTYPE_OF(pairs)));
  fnzi_krn_array *half = STEP(masked_scatter, V(zeros), V(above), V(pairs));
  fnzi_krn_array *both = CHOSEN(above, half, fnzi_dec_transposed(s, half));
  return STEP(unsqueeze, V(both), I(1));
}

/* The gradient of one list: each distance is of two of its rows, the first before the second. All
 * rows meet all others along the last dimension, where elements are summed as they are computed. A
 * row meets itself as well, at no distance. */
DECOMP(pdist_backward) {
  fnzi_krn_array *x = GIVEN("self"), *grad = GIVEN("grad_output"), *dist = GIVEN("pdist"), *back;
  int64_t n = SIZE(x, 0), pairs = fnzi_dec_array_numel(dist);
  double p = order_of(s);
  if (RANK(x) != 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "self has %u dimensions; it needs 2",
                    fnzi_dec_array_rank(x));
  if (DTYPE_OF(x) != FNZ_F32 && DTYPE_OF(x) != FNZ_F64)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "not for %s; cast to f32 or f64",
                    fnzi_dtype(DTYPE_OF(x))->name);
  if (2 * (double)pairs != (double)n * (double)(n - 1))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "pdist has %lld elements, which %lld rows do not have",
                    (long long)pairs, (long long)n);
  fnzi_krn_array *above = STEP(triu, V(STEP(ones, INTS(n, n), DTYPE(FNZ_BOOL))), I(1));
  /* A view of columns would be read across memory for each row. */
  fnzi_krn_array *columns =
      STEP(index_select, V(fnzi_dec_transposed(s, x)), I(1), V(STEP(arange, I(n))));
  fnzi_krn_array *apart = SUB(STEP(unsqueeze, V(x), I(-1)), columns);
  grad = RESHAPED(grad, pairs), dist = RESHAPED(dist, pairs);
  back = along(s, apart, matrix_of(s, grad, above), matrix_of(s, dist, above), p);
  GIVE(STEP(sum__dim_IntList, V(back), INTS(-1)));
}
