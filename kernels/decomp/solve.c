/* solve.c - what is computed from factored matrices: solutions, inverses, determinants, powers and
 * exponentials. The factorizations are in cpu/factor.c. */
#include "kernels/decomp/decomp.h"

#include <math.h>

/* --- Pieces ------------------------------------------------------------------------------ */
static fnzi_krn_array *solve_by_rows(fnzi_dec_steps *s, fnzi_krn_array *a) {
  return STEP(clone, V(a), (fnz_arg){.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1});
}

static fnzi_krn_array *by_columns(fnzi_dec_steps *s, fnzi_krn_array *a) {
  return fnzi_dec_transposed(s, solve_by_rows(s, fnzi_dec_transposed(s, a)));
}

static void need_square(fnzi_dec_steps *s, const fnzi_krn_array *a, const char *name) {
  if (a && (fnzi_dec_array_rank(a) < 2 || fnzi_dec_array_size(a, -1) != fnzi_dec_array_size(a, -2)))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "%s must be a square matrix or a batch of them", name);
}

/* Ones in the diagonal, of the matrices of a. */
static fnzi_krn_array *units(fnzi_dec_steps *s, fnzi_krn_array *a) {
  fnzi_krn_array *one = STEP(eye, I(fnzi_dec_array_size(a, -1)), DTYPE(fnzi_dec_array_dtype(a)));
  return a ? STEP(expand, V(one), fnzi_dec_ints(s, a->geometry.sizes, a->geometry.rank)) : NULL;
}

/* LU, pivots, info */
typedef struct factored {
  fnzi_krn_array *of[3];
} factored;

static factored factor(fnzi_dec_steps *s, fnzi_krn_array *a) {
  factored f;
  need_square(s, a, "A");
  STEPS_INTO(f.of, 3, linalg_lu_factor_ex, V(a));
  return f;
}

/* Refuses what LAPACK could not finish. */
static void need_success(fnzi_dec_steps *s, const fnzi_krn_array *info, const char *what) {
  const void *data = NULL;
  if (fnzi_dec_can_look(s))
    s->status = fnzi_krn_dense_get(s->call, info, &data);
  for (int64_t i = 0; data && i < fnzi_dec_array_numel(info); i++)
    if (((const int32_t *)data)[i])
      fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT, "matrix %lld %s: LAPACK stops at column %d",
                      (long long)i, what, (int)((const int32_t *)data)[i]);
}

/* --- Factors ----------------------------------------------------------------------------- */
DECOMP(lu_factor_checked) {
  fnzi_krn_array *f[3];
  STEPS_INTO(f, 3, linalg_lu_factor_ex, V(fnzi_dec_given_array(s, "A")),
             *fnzi_krn_named(s->call, "pivot"));
  need_success(s, f[2], "is singular");
  fnzi_dec_result_give(s, f[0]);
  fnzi_dec_result_give(s, f[1]);
}

DECOMP(cholesky_checked) {
  fnzi_krn_array *f[2];
  STEPS_INTO(f, 2, linalg_cholesky_ex, V(fnzi_dec_given_array(s, "self")),
             *fnzi_krn_named(s->call, "upper"));
  need_success(s, f[1], "is not positive-definite");
  fnzi_dec_result_give(s, f[0]);
}

DECOMP(lu_three) {
  fnzi_krn_array *f[3], *out[3];
  STEPS_INTO(f, 3, linalg_lu_factor_ex, V(fnzi_dec_given_array(s, "A")),
             *fnzi_krn_named(s->call, "pivot"));
  STEPS_INTO(out, 3, lu_unpack, V(f[0]), V(f[1]));
  for (int i = 0; i < 3; i++)
    fnzi_dec_result_give(s, out[i]);
}

/* --- Solutions --------------------------------------------------------------------------- */
static fnzi_krn_array *solve(fnzi_dec_steps *s, factored *f) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "A"), *b = fnzi_dec_given_array(s, "B");
  bool left = fnzi_krn_named_bool(s->call, "left", true);
  /* The right side may be a vector for each matrix. */
  bool vector = b && a && fnzi_dec_array_rank(b) + 1 == fnzi_dec_array_rank(a);
  for (uint32_t d = 0; vector && d < fnzi_dec_array_rank(b); d++)
    vector = fnzi_dec_array_size(a, d) == fnzi_dec_array_size(b, d);
  vector = vector || fnzi_dec_array_rank(b) == 1;
  if (vector && !left)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "B is a vector for each matrix; it must stand on the right");
  *f = factor(s, a);
  fnzi_krn_array *x = vector ? STEP(unsqueeze, V(b), I(-1)) : b;
  x = STEP(linalg_lu_solve, V(f->of[0]), V(f->of[1]), V(x), B(left));
  if (vector)
    x = STEP(squeeze__dim, V(x), I(-1));
  return vector && fnzi_dec_array_rank(x) > 1 ? by_columns(s, x) : x;
}

static void check_solved(fnzi_dec_steps *s, const factored *f, bool checks) {
  if (checks)
    need_success(s, f->of[2], "is singular");
}

DECOMP(solve_all) {
  factored f;
  fnzi_krn_array *x = solve(s, &f);
  check_solved(s, &f, fnzi_krn_named_bool(s->call, "check_errors", false));
  fnzi_dec_result_give(s, x);
  for (int i = 0; i < 3; i++)
    fnzi_dec_result_give(s, f.of[i]);
}

DECOMP(solve_info) {
  factored f;
  fnzi_krn_array *x = solve(s, &f);
  check_solved(s, &f, fnzi_krn_named_bool(s->call, "check_errors", false));
  fnzi_dec_result_give(s, x);
  fnzi_dec_result_give(s, f.of[2]);
}

DECOMP(solve_checked) {
  factored f;
  fnzi_krn_array *x = solve(s, &f);
  check_solved(s, &f, true);
  fnzi_dec_result_give(s, x);
}

static fnzi_krn_array *inverse(fnzi_dec_steps *s, fnzi_krn_array *a, factored *f) {
  *f = factor(s, a);
  return STEP(linalg_lu_solve, V(f->of[0]), V(f->of[1]), V(units(s, a)));
}

DECOMP(inverse_info) {
  factored f;
  fnzi_krn_array *x = inverse(s, fnzi_krn_call_input(s->call, 0), &f);
  check_solved(s, &f, fnzi_krn_named_bool(s->call, "check_errors", false));
  fnzi_dec_result_give(s, x);
  fnzi_dec_result_give(s, f.of[2]);
}

DECOMP(inverse_checked) {
  factored f;
  fnzi_krn_array *x = inverse(s, fnzi_krn_call_input(s->call, 0), &f);
  check_solved(s, &f, true);
  fnzi_dec_result_give(s, x);
}

/* The coefficients come back, as many batches of them as there are results. */
DECOMP(triangular_solve) {
  fnzi_krn_array *b = fnzi_dec_given_array(s, "self"), *a = fnzi_dec_given_array(s, "A");
  bool upper = fnzi_krn_named_bool(s->call, "upper", true);
  bool is_transposed = fnzi_krn_named_bool(s->call, "transpose", false);
  fnz_arg unit = *fnzi_krn_named(s->call, "unitriangular");
  fnzi_krn_array *x =
      STEP(linalg_solve_triangular, V(is_transposed ? fnzi_dec_transposed(s, a) : a), V(b),
           B(upper != is_transposed), B(true), unit);
  int64_t sizes[FNZ_MAX_RANK] = {0};
  uint32_t rank = fnzi_dec_array_rank(x);
  for (uint32_t d = 0; d < rank; d++)
    sizes[d] = d + 2 < rank ? fnzi_dec_array_size(x, d) : fnzi_dec_array_size(a, -1);
  fnzi_dec_result_give(s, x);
  fnzi_dec_result_give(s, by_columns(s, STEP(expand, V(a), fnzi_dec_ints(s, sizes, rank))));
}

/* By the triangle and its adjoint. */
static fnzi_krn_array *solve_by_cholesky(fnzi_dec_steps *s, fnzi_krn_array *triangle,
                                         fnzi_krn_array *b) {
  bool upper = fnzi_krn_named_bool(s->call, "upper", false);
  fnzi_krn_array *lower = upper ? fnzi_dec_adjoint(s, triangle) : triangle;
  fnzi_krn_array *other = upper ? triangle : fnzi_dec_adjoint(s, triangle);
  fnzi_krn_array *half = STEP(linalg_solve_triangular, V(lower), V(b), B(false));
  return STEP(linalg_solve_triangular, V(other), V(half), B(true));
}

DECOMP(cholesky_solve) {
  fnzi_dec_result_give(
      s, solve_by_cholesky(s, fnzi_krn_call_input(s->call, 1), fnzi_krn_call_input(s->call, 0)));
}

DECOMP(cholesky_inverse) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self");
  need_square(s, a, "self");
  fnzi_dec_result_give(s, solve_by_cholesky(s, a, units(s, a)));
}

/* --- Determinants ------------------------------------------------------------------------ */
/* For a real matrix the transpose is factored, whatever its strides: so the matrix and a copy of it
 * give the same bits. */
static factored factor_transposed(fnzi_dec_steps *s, fnzi_krn_array *a) {
  need_square(s, a, "A");
  return factor(s, fnzi_is_complex(fnzi_dec_array_dtype(a)) ? a : fnzi_dec_transposed(s, a));
}

/* But PyTorch returns the factors of the transpose only if the matrix lies by rows, as then the
 * transpose lies by columns. */
static void give_factors(fnzi_dec_steps *s, fnzi_krn_array *a, factored f) {
  if (a && !fnzi_is_contiguous(&a->geometry) && !fnzi_is_complex(fnzi_dec_array_dtype(a)))
    f = factor(s, a);
  fnzi_dec_result_give(s, f.of[0]);
  fnzi_dec_result_give(s, f.of[1]);
}

static fnzi_krn_array *diagonal(fnzi_dec_steps *s, const factored *f) {
  return STEP(diagonal, V(f->of[0]), I(0), I(-2), I(-1));
}

/* 1 or -1: every pivot that is not its own row exchanges two. */
static fnzi_krn_array *parity(fnzi_dec_steps *s, const factored *f, fnz_dtype dtype) {
  fnzi_krn_array *own =
      STEP(arange__start, I(1), I(fnzi_dec_array_size(f->of[1], -1) + 1), DTYPE(FNZ_I32));
  fnzi_krn_array *times =
      STEP(sum__dim_IntList, V(STEP(ne__Tensor, V(f->of[1]), V(own))), INTS(-1));
  fnzi_krn_array *odd = STEP(remainder__Scalar, V(times), I(2));
  return fnzi_dec_cast(s, STEP(rsub__Scalar, V(STEP(mul__Scalar, V(odd), I(2))), I(1)), dtype);
}

static void give_determinant(fnzi_dec_steps *s, bool and_factors) {
  fnzi_krn_array *a = fnzi_krn_call_input(s->call, 0);
  factored f = factor_transposed(s, a);
  fnzi_krn_array *product = STEP(prod__dim_int, V(diagonal(s, &f)), I(-1));
  fnzi_dec_result_give(s, MUL(product, parity(s, &f, fnzi_dec_array_dtype(a))));
  if (and_factors)
    give_factors(s, a, f);
}

DECOMP(det) {
  give_determinant(s, false);
}
DECOMP(det_and_factors) {
  give_determinant(s, true);
}

/* The sign, or the unit factor of a complex determinant, and the logarithm of the absolute
 * value. */
static factored log_determinant(fnzi_dec_steps *s, fnzi_krn_array *out[2]) {
  fnzi_krn_array *a = fnzi_krn_call_input(s->call, 0);
  factored f = factor_transposed(s, a);
  fnzi_krn_array *of = diagonal(s, &f);
  out[0] = STEP(prod__dim_int, V(STEP(sgn, V(of))), I(-1));
  out[0] = MUL(out[0], parity(s, &f, fnzi_dec_array_dtype(a)));
  out[1] = STEP(sum__dim_IntList, V(STEP(log, V(STEP(abs, V(of))))), INTS(-1));
  return f;
}

static factored give_log_determinant(fnzi_dec_steps *s) {
  fnzi_krn_array *out[2];
  factored f = log_determinant(s, out);
  fnzi_dec_result_give(s, out[0]);
  fnzi_dec_result_give(s, out[1]);
  return f;
}

DECOMP(slogdet) {
  (void)give_log_determinant(s);
}
DECOMP(slogdet_and_factors) {
  give_factors(s, fnzi_krn_call_input(s->call, 0), give_log_determinant(s));
}

DECOMP(logdet) {
  fnzi_krn_array *out[2];
  (void)log_determinant(s, out);
  if (fnzi_is_complex(fnzi_dec_array_dtype(out[0])))
    fnzi_dec_result_give(s, ADD(STEP(log, V(out[0])), out[1]));
  else
    fnzi_dec_result_give(
        s, STEP(where__ScalarSelf, V(STEP(eq__Scalar, V(out[0]), I(-1))), F(NAN), V(out[1])));
}

/* --- Powers ------------------------------------------------------------------------------ */
DECOMP(matrix_power) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self"), *power = NULL;
  int64_t n = fnzi_krn_named_int(s->call, "n", 1);
  factored f;
  need_square(s, a, "self");
  if (n < 0) {
    a = inverse(s, a, &f);
    check_solved(s, &f, true);
  }
  for (uint64_t left = n < 0 ? 0 - (uint64_t)n : (uint64_t)n; left && a; left >>= 1) {
    if (left & 1)
      power = power ? STEP(matmul, V(power), V(a)) : a;
    if (left > 1)
      a = STEP(matmul, V(a), V(a));
  }
  power = power ? power : units(s, a);
  fnzi_dec_result_give(s, n == -1 ? power : solve_by_rows(s, power));
}

/* a plus `times` times b */
static fnzi_krn_array *solve_plus(fnzi_dec_steps *s, fnzi_krn_array *a, fnzi_krn_array *b,
                                  double times) {
  return STEP(add__Tensor, V(a), V(b), F(times));
}

/* The first 19 terms of the series, three by three in powers of the third power. */
static fnzi_krn_array *exponential_series(fnzi_dec_steps *s, fnzi_krn_array *a) {
  enum { LAST = 15 };
  fnzi_krn_array *one = units(s, a), *square = STEP(matmul, V(a), V(a)),
                 *cube = STEP(matmul, V(square), V(a)), *sum = NULL;
  size_t mark = s->made.count;
  for (int k = LAST; k >= 0; k -= 3) {
    fnzi_krn_array *rest = sum ? STEP(matmul, V(cube), V(sum)) : cube;
    sum = solve_plus(s, solve_plus(s, one, a, 1.0 / (k + 1)), square, 1.0 / ((k + 1) * (k + 2)));
    sum = solve_plus(s, sum, rest, 1.0 / ((k + 1) * (k + 2) * (k + 3)));
    fnzi_dec_arrays_release(s, mark, &sum, 1);
  }
  return sum;
}

/* In 64 bits: the series of a matrix halved until it is small, squared as often. */
DECOMP(matrix_exp) {
  enum { MOST_HALVES = 1100 };
  fnzi_krn_array *given = fnzi_dec_given_array(s, "self");
  fnz_dtype dtype = fnzi_dec_array_dtype(given);
  need_square(s, given, "self");
  if (!fnzi_is_float(dtype) && !fnzi_is_complex(dtype))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "self is %s; it must be of floats", fnzi_dtype(dtype)->name);
  fnzi_krn_array *a = fnzi_dec_cast(s, given, fnzi_is_complex(dtype) ? FNZ_C128 : FNZ_F64);
  /* The largest sum of a row's absolute values; 1 without data. */
  const void *data = NULL;
  fnzi_krn_array *sums = STEP(sum__dim_IntList, V(STEP(abs, V(a))), INTS(-1));
  double most = 0;
  if (fnzi_dec_can_look(s))
    s->status = fnzi_krn_dense_get_as(s->call, sums, FNZ_F64, &data);
  for (int64_t i = 0; data && i < fnzi_dec_array_numel(sums); i++)
    most = fmax(most, ((const double *)data)[i]);
  double size = data ? most : 1;
  int halves = isfinite(size) && size > 1 ? (int)ceil(log2(size)) : 0;
  halves = halves < MOST_HALVES ? halves : MOST_HALVES;
  a = STEP(mul__Scalar, V(a), F(ldexp(1, -halves)));
  size_t mark = s->made.count;
  fnzi_krn_array *sum = exponential_series(s, a);
  for (int k = 0; k < halves; k++) {
    sum = STEP(matmul, V(sum), V(sum));
    fnzi_dec_arrays_release(s, mark, &sum, 1);
  }
  sum = fnzi_dec_cast(s, sum, dtype);
  fnzi_dec_result_give(s, solve_by_rows(s, sum));
}
