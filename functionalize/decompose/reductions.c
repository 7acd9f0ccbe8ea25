/* reductions.c - sums, extremes, truth and variances over dimensions. */
#include "functionalize/decompose/ways.h"

#include <math.h>

static fnz_arg no_dims(fnzi_dec_steps *s) {
  return fnzi_dec_ints(s, NULL, 0);
}

/* --- Sums ------------------------------------------------------------------------------------- */
TAKE_APART(sum) {
  GIVE(STEP(sum__dim_IntList, V(GIVEN("self")), no_dims(s), B(false), AS_GIVEN("dtype")));
}

/* Casts first, for consumers that sum in the dtype of the argument. */
TAKE_APART(sum_as_cast) {
  fnzi_krn_array *a = GIVEN("self");
  const fnz_arg dtype = AS_GIVEN("dtype");
  const bool is_bool = DTYPE_OF(a) == FNZ_BOOL;
  if (!is_bool && !fnzi_dcm_is_given(&dtype))
    fnzi_dcm_nothing_to_mend(s);
  a = fnzi_dec_cast(s, a, fnzi_krn_named_dtype(s->call, "dtype", is_bool ? FNZ_I64 : FNZ_F32));
  const bool is_whole = fnzi_op_param(s->call->op, "dim") < 0;
  GIVE(is_whole ? STEP(sum, V(a))
                : STEP(sum__dim_IntList, V(a), fnzi_dcm_dims(s), B(fnzi_dcm_keeps_dims(s))));
}

TAKE_APART(nansum) {
  fnzi_krn_array *a = GIVEN("self");
  if (fnzi_is_float(DTYPE_OF(a)))
    a = CHOSEN(STEP(isnan, V(a)), NUMBER(I(0), DTYPE_OF(a)), a);
  GIVE(
      STEP(sum__dim_IntList, V(a), fnzi_dcm_dims(s), B(fnzi_dcm_keeps_dims(s)), AS_GIVEN("dtype")));
}

TAKE_APART(count_nonzero) {
  fnzi_krn_array *there = STEP(ne__Scalar, V(GIVEN("self")), I(0));
  GIVE(STEP(sum__dim_IntList, V(there), fnzi_dcm_dims(s)));
}

TAKE_APART(trace) {
  GIVE(STEP(sum__dim_IntList, V(STEP(diagonal, V(GIVEN("self")))), no_dims(s)));
}

/* --- Extremes --------------------------------------------------------------------------------- */
/* All dimensions are named: PyTorch drops arguments that are defaults when it traces, and the ONNX
 * exporter has no amax that names no dimensions. */
TAKE_APART(max) {
  fnzi_krn_array *a = GIVEN("self");
  GIVE(STEP(amax, V(a), fnzi_dcm_all_dims(s, a, -1)));
}

TAKE_APART(min) {
  fnzi_krn_array *a = GIVEN("self");
  GIVE(STEP(amin, V(a), fnzi_dcm_all_dims(s, a, -1)));
}

/* The place in all elements: of one dimension. */
static void give_place(fnzi_dec_steps *s, bool is_max) {
  fnzi_krn_array *a = GIVEN("self"), *line = fnzi_dcm_flat(s, a);
  const fnz_arg dim = AS_GIVEN("dim");
  int64_t sizes[FNZ_MAX_RANK];
  if (fnzi_dcm_is_given(&dim))
    fnzi_dcm_nothing_to_mend(s);
  fnzi_krn_array *at = is_max ? STEP(argmax, V(line), I(0)) : STEP(argmin, V(line), I(0));
  for (size_t d = 0; d < FNZ_MAX_RANK; d++)
    sizes[d] = 1;
  GIVE(fnzi_dcm_keeps_dims(s) ? fnzi_dec_reshaped(s, at, sizes, (size_t)RANK(a)) : at);
}

TAKE_APART(argmax_of_line) {
  give_place(s, true);
}
TAKE_APART(argmin_of_line) {
  give_place(s, false);
}

/* A tensor without dimensions has none to name. */
static bool names_dims(fnzi_dec_steps *s) {
  fnz_arg dim = AS_GIVEN("dim");
  return (dim.tag == FNZ_ARG_LIST && dim.count) || !RANK(GIVEN("self"));
}

TAKE_APART(amax_named) {
  fnzi_krn_array *a = GIVEN("self");
  if (names_dims(s))
    fnzi_dcm_nothing_to_mend(s);
  GIVE(STEP(amax, V(a), fnzi_dcm_all_dims(s, a, -1), B(fnzi_dcm_keeps_dims(s))));
}

TAKE_APART(amin_named) {
  fnzi_krn_array *a = GIVEN("self");
  if (names_dims(s))
    fnzi_dcm_nothing_to_mend(s);
  GIVE(STEP(amin, V(a), fnzi_dcm_all_dims(s, a, -1), B(fnzi_dcm_keeps_dims(s))));
}

TAKE_APART(aminmax) {
  GIVE(STEP(amin, V(GIVEN("self")), fnzi_dcm_dims(s), B(fnzi_dcm_keeps_dims(s))));
  GIVE(STEP(amax, V(GIVEN("self")), fnzi_dcm_dims(s), B(fnzi_dcm_keeps_dims(s))));
}

/* Subtracts the largest element first, so that exp() cannot overflow. */
TAKE_APART(logsumexp) {
  fnzi_krn_array *a = fnzi_dcm_real(s, GIVEN("self"));
  fnz_arg dims = fnzi_dcm_dims(s);
  fnzi_krn_array *most = STEP(amax, V(a), dims, B(true));
  fnzi_krn_array *is_end = STEP(isinf, V(most));
  most = CHOSEN(is_end, NUMBER(I(0), DTYPE_OF(most)), most);
  fnzi_krn_array *sum =
      STEP(sum__dim_IntList, V(STEP(exp, V(SUB(a, most)))), dims, B(fnzi_dcm_keeps_dims(s)));
  most = fnzi_dcm_keeps_dims(s) ? most : STEP(squeeze__dims, V(most), dims);
  GIVE(ADD(STEP(log, V(sum)), most));
}

/* --- Truth ------------------------------------------------------------------------------------ */
TAKE_APART(all) {
  fnz_arg dim = AS_GIVEN("dim");
  fnzi_krn_array *a = GIVEN("self"), *fails = STEP(logical_not, V(a));
  bool is_byte = DTYPE_OF(a) == FNZ_U8; /* eager answers in u8 */
  fails = dim.tag == FNZ_ARG_INT    ? STEP(any__dim, V(fails), dim, B(fnzi_dcm_keeps_dims(s)))
          : dim.tag == FNZ_ARG_LIST ? STEP(any__dims, V(fails), dim, B(fnzi_dcm_keeps_dims(s)))
                                    : STEP(any, V(fails));
  fnzi_krn_array *all = STEP(logical_not, V(fails));
  GIVE(is_byte ? fnzi_dec_cast(s, all, FNZ_U8) : all);
}

/* --- Variances -------------------------------------------------------------------------------- */
static fnzi_krn_array *variance(fnzi_dec_steps *s) {
  fnz_arg dim = AS_GIVEN("dim");
  return STEP(var__correction, V(GIVEN("self")), dim.tag == FNZ_ARG_LIST ? dim : NONE,
              fnzi_dcm_correction(s), B(fnzi_dcm_keeps_dims(s)));
}

static fnzi_krn_array *mean(fnzi_dec_steps *s) {
  fnz_arg dim = AS_GIVEN("dim");
  return STEP(mean__dim, V(GIVEN("self")), dim.tag == FNZ_ARG_LIST ? dim : NONE,
              B(fnzi_dcm_keeps_dims(s)));
}

TAKE_APART(var_mean) {
  GIVE(variance(s));
  GIVE(mean(s));
}

TAKE_APART(std) {
  GIVE(STEP(sqrt, V(variance(s))));
}

TAKE_APART(std_mean) {
  GIVE(STEP(sqrt, V(variance(s))));
  GIVE(mean(s));
}

/* --- Norms of vectors ------------------------------------------------------------------------- */
TAKE_APART(vector_norm) {
  fnzi_krn_array *a = GIVEN("self");
  fnz_arg order = AS_GIVEN("ord"), dims = fnzi_dcm_dims(s);
  double p = fnzi_dcm_is_given(&order) ? fnzi_krn_number_float(&order) : 2;
  fnz_dtype dtype = fnzi_krn_named_dtype(s->call, "dtype", DTYPE_OF(a));
  a = fnzi_dcm_widened(s, fnzi_dec_cast(s, a, dtype));
  fnzi_krn_array *size = p == 2 && !fnzi_is_complex(DTYPE_OF(a)) ? a : STEP(abs, V(a)), *norm;
  if (p == 0)
    norm = STEP(sum__dim_IntList, V(fnzi_dec_cast(s, STEP(ne__Scalar, V(a), I(0)), DTYPE_OF(size))),
                dims, B(fnzi_dcm_keeps_dims(s)));
  else if (isinf(p))
    norm = p > 0 ? STEP(amax, V(size), dims, B(fnzi_dcm_keeps_dims(s)))
                 : STEP(amin, V(size), dims, B(fnzi_dcm_keeps_dims(s)));
  else if (p == 1)
    norm = STEP(sum__dim_IntList, V(size), dims, B(fnzi_dcm_keeps_dims(s)));
  else {
    fnzi_krn_array *powers = STEP(pow__Tensor_Scalar, V(size), F(p));
    norm = STEP(sum__dim_IntList, V(powers), dims, B(fnzi_dcm_keeps_dims(s)));
    norm = p == 2 ? STEP(sqrt, V(norm)) : STEP(pow__Tensor_Scalar, V(norm), F(1 / p));
  }
  GIVE(fnzi_dec_cast(s, norm, dtype));
}
