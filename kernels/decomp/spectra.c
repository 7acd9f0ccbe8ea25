/* spectra.c - what is made of eigenvalues and singular values: vectors and values alone,
 * pseudoinverses, ranks, condition numbers. The decompositions are in cpu/spectral.c. */
#include "kernels/decomp/decomp.h"

#include <float.h>
#include <math.h>

/* --- Pieces ------------------------------------------------------------------------------ */
/* U, S and V^H */
typedef struct singular {
  fnzi_krn_array *of[3];
} singular;

static singular decompose(fnzi_dec_steps *s, fnzi_krn_array *a, bool full, bool vectors) {
  const fnz_arg *driver = fnzi_krn_named(s->call, "driver");
  singular d;
  STEPS_INTO(d.of, 3, _linalg_svd, V(a), B(full), B(vectors), driver ? *driver : NONE);
  return d;
}

static void eigen(fnzi_dec_steps *s, fnzi_krn_array *a, fnz_arg part, bool vectors,
                  fnzi_krn_array *out[2]) {
  STEPS_INTO(out, 2, _linalg_eigh, V(a), part, B(vectors));
}

/* --- Values and vectors ------------------------------------------------------------------ */
DECOMP(eigh_both) {
  fnzi_krn_array *out[2];
  eigen(s, fnzi_dec_given_array(s, "self"), *fnzi_krn_named(s->call, "UPLO"), true, out);
  fnzi_dec_result_give(s, out[0]);
  fnzi_dec_result_give(s, out[1]);
}

DECOMP(eigh_values) {
  fnzi_krn_array *out[2];
  eigen(s, fnzi_dec_given_array(s, "self"), *fnzi_krn_named(s->call, "UPLO"), false, out);
  fnzi_dec_result_give(s, out[0]);
}

DECOMP(svd_three) {
  singular d = decompose(s, fnzi_dec_given_array(s, "A"),
                         fnzi_krn_named_bool(s->call, "full_matrices", true), true);
  for (int i = 0; i < 3; i++)
    fnzi_dec_result_give(s, d.of[i]);
}

DECOMP(svd_values) {
  fnzi_dec_result_give(s, decompose(s, fnzi_dec_given_array(s, "A"), false, false).of[1]);
}

/* Zeros in the place of vectors that are not needed. */
static fnzi_krn_array *no_vectors(fnzi_dec_steps *s, const fnzi_krn_array *a, int64_t dim) {
  int64_t sizes[FNZ_MAX_RANK] = {0};
  uint32_t rank = fnzi_dec_array_rank(a);
  for (uint32_t d = 0; d < rank; d++)
    sizes[d] = fnzi_dec_array_size(a, d + 2 < rank ? d : dim);
  return STEP(zeros, fnzi_dec_ints(s, sizes, rank), DTYPE(fnzi_dec_array_dtype(a)));
}

/* As it was: V, not its adjoint. */
DECOMP(svd_old) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self");
  bool vectors = fnzi_krn_named_bool(s->call, "compute_uv", true);
  singular d = decompose(s, a, !fnzi_krn_named_bool(s->call, "some", true), vectors);
  fnzi_dec_result_give(s, vectors ? d.of[0] : no_vectors(s, a, -2));
  fnzi_dec_result_give(s, d.of[1]);
  fnzi_dec_result_give(s, fnzi_dec_adjoint(s, vectors ? d.of[2] : no_vectors(s, a, -1)));
}

/* --- Tolerances -------------------------------------------------------------------------- */
/* A tolerance that was given as a number or as a tensor; NULL and `fallback` where it was not. */
static fnzi_krn_array *tolerance(fnzi_dec_steps *s, const char *name, const fnzi_krn_array *values,
                                 double fallback) {
  const fnz_arg *given = fnzi_krn_named(s->call, name);
  fnz_arg dtype = DTYPE(fnzi_dec_array_dtype(values));
  if (given && given->tag == FNZ_ARG_VALUE)
    return STEP(unsqueeze, V(fnzi_krn_arg_array(given)), I(-1));
  bool is_number = given && given->tag != FNZ_ARG_NONE && given->tag != FNZ_ARG_DEFAULT;
  return STEP(full, INTS(1), F(is_number ? fnzi_krn_number_float(given) : fallback), dtype);
}

static bool spectra_is_given(const fnzi_dec_steps *s, const char *name) {
  const fnz_arg *given = fnzi_krn_named(s->call, name);
  return given && given->tag != FNZ_ARG_NONE && given->tag != FNZ_ARG_DEFAULT;
}

/* Which magnitudes count: those above the larger one of atol and rtol times the largest. Without
 * either rtol is what rounding leaves of a matrix of this size; `relative` is another name of it.
 */
static fnzi_krn_array *spectra_above(fnzi_dec_steps *s, const fnzi_krn_array *a,
                                     fnzi_krn_array *values, const char *absolute,
                                     const char *relative) {
  int64_t rows = fnzi_dec_array_size(a, -2), columns = fnzi_dec_array_size(a, -1);
  fnz_dtype dtype = fnzi_dec_array_dtype(a);
  double epsilon = dtype == FNZ_F64 || dtype == FNZ_C128 ? DBL_EPSILON : (double)FLT_EPSILON;
  double least = epsilon * (double)(rows > columns ? rows : columns);
  const fnz_arg *given = fnzi_krn_named(s->call, absolute);
  bool counts = spectra_is_given(s, absolute) &&
                (given->tag == FNZ_ARG_VALUE || fnzi_krn_number_float(given) > 0);
  fnzi_krn_array *atol = tolerance(s, absolute, values, 0);
  fnzi_krn_array *rtol = tolerance(s, relative, values, counts ? 0 : least);
  if (given && given->tag == FNZ_ARG_VALUE && !spectra_is_given(s, relative))
    rtol = CHOSEN(STEP(gt__Scalar, V(atol), I(0)), STEP(zeros_like, V(atol)),
                  STEP(full_like, V(atol), F(least)));
  fnzi_krn_array *most = STEP(amax, V(values), INTS(-1), B(true));
  return STEP(gt__Tensor, V(values), V(STEP(maximum, V(atol), V(MUL(rtol, most)))));
}

/* 1 / x where it counts, else 0. */
static fnzi_krn_array *inverted(fnzi_dec_steps *s, fnzi_krn_array *x, fnzi_krn_array *counts) {
  return STEP(masked_fill__Scalar, V(STEP(reciprocal, V(x))), V(STEP(logical_not, V(counts))),
              I(0));
}

static void give_pseudoinverse(fnzi_dec_steps *s, const char *relative) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self"), *left, *right, *inverse, *of[2];
  if (fnzi_dec_array_rank(a) < 2)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "self has %u dimensions; it needs at least 2",
                    fnzi_dec_array_rank(a));
  if (s->status != FNZ_OK)
    return;
  if (fnzi_dec_array_numel(a) == 0) {
    fnzi_krn_array *transposed = fnzi_dec_transposed(s, a);
    fnzi_dec_result_give(s, transposed ? STEP(new_zeros, V(a),
                                              fnzi_dec_ints(s, transposed->geometry.sizes,
                                                            transposed->geometry.rank))
                                       : NULL);
    return;
  }
  if (fnzi_krn_named_bool(s->call, "hermitian", false)) {
    eigen(s, a, DEFAULT, true, of);
    left = of[1], right = fnzi_dec_adjoint(s, of[1]);
    inverse = inverted(s, of[0], spectra_above(s, a, STEP(abs, V(of[0])), "atol", relative));
  } else {
    singular d = decompose(s, a, false, true);
    left = fnzi_dec_adjoint(s, d.of[2]), right = fnzi_dec_adjoint(s, d.of[0]);
    inverse = inverted(s, d.of[1], spectra_above(s, a, d.of[1], "atol", relative));
  }
  left = MUL(left, STEP(unsqueeze, V(inverse), I(-2)));
  fnzi_dec_result_give(s, STEP(matmul, V(left), V(right)));
}

DECOMP(pseudoinverse) {
  give_pseudoinverse(s, "rtol");
}
DECOMP(pseudoinverse_rcond) {
  give_pseudoinverse(s, "rcond");
}

/* --- Ranks and conditions ---------------------------------------------------------------- */
static fnzi_krn_array *magnitudes(fnzi_dec_steps *s, fnzi_krn_array *a, bool hermitian) {
  fnzi_krn_array *of[2];
  if (!hermitian)
    return decompose(s, a, false, false).of[1];
  eigen(s, a, DEFAULT, false, of);
  return STEP(abs, V(of[0]));
}

DECOMP(matrix_rank) {
  fnzi_krn_array *a = fnzi_krn_call_input(s->call, 0);
  fnzi_krn_array *values = magnitudes(s, a, fnzi_krn_named_bool(s->call, "hermitian", false));
  if (fnzi_dec_array_numel(a) == 0)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "the rank of what has no elements is not computed");
  fnzi_krn_array *counts = spectra_above(s, a, values, "atol", "rtol");
  fnzi_dec_result_give(s, STEP(sum__dim_IntList, V(counts), INTS(-1)));
}
/* Above what is given, whatever the largest is. */
DECOMP(matrix_rank_tol) {
  fnzi_krn_array *a = fnzi_krn_call_input(s->call, 0);
  fnzi_krn_array *values = magnitudes(s, a, fnzi_krn_named_bool(s->call, "hermitian", false));
  fnzi_krn_array *counts = STEP(gt__Tensor, V(values), V(tolerance(s, "tol", values, 0)));
  fnzi_dec_result_give(s, STEP(sum__dim_IntList, V(counts), INTS(-1)));
}

/* The largest divided by the smallest, or the other way round. */
DECOMP(condition) {
  const fnz_arg *p = fnzi_krn_named(s->call, "p");
  bool two = p->tag == FNZ_ARG_NONE || p->tag == FNZ_ARG_DEFAULT;
  double order = two ? 2 : fnzi_krn_number_float(p);
  if (fabs(order) != 2)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "the condition of order %g is not computed; 2 and -2 are", order);
  fnzi_krn_array *values = decompose(s, fnzi_dec_given_array(s, "self"), false, false).of[1];
  fnzi_krn_array *most = STEP(select__int, V(values), I(-1), I(0));
  fnzi_krn_array *least = STEP(select__int, V(values), I(-1), I(-1));
  fnzi_dec_result_give(s, order > 0 ? DIV(most, least) : DIV(least, most));
}
