/* statistics.c - quantiles, covariances, means without NaN, and areas under curves. */
#include "kernels/decomp/decomp.h"

/* --- Quantiles --------------------------------------------------------------------------- */
static bool is(const fnzi_dec_steps *s, const char *interpolation) {
  const char *given = fnzi_krn_named_string(s->call, "interpolation");
  return strcmp(*given ? given : "linear", interpolation) == 0;
}

/* Sorted along a last dimension of their own; the dimension itself is of size 1 or, without
 * keepdim, gone. */
static fnzi_krn_array *sorted_last(fnzi_dec_steps *s, fnzi_krn_array *x) {
  const fnz_arg *given = fnzi_krn_named(s->call, "dim");
  bool keeps = fnzi_krn_named_bool(s->call, "keepdim", false);
  int64_t ones[FNZ_MAX_RANK + 1];
  uint32_t rank = fnzi_dec_array_rank(x);
  fnzi_krn_array *sorted[2];
  if (given->tag == FNZ_ARG_NONE) {
    for (uint32_t d = 0; d <= rank; d++)
      ones[d] = d == rank ? fnzi_dec_array_numel(x) : 1;
    x = fnzi_dec_reshaped(s, x, keeps ? ones : ones + rank, keeps ? (size_t)rank + 1 : 1);
  } else if (rank) {
    uint32_t dim = fnzi_dec_given_dim(s, "dim", x);
    x = STEP(transpose__int, V(STEP(unsqueeze, V(x), I(-1))), I(dim), I(-1));
    x = keeps ? x : STEP(squeeze__dim, V(x), I(dim));
  } else {
    x = STEP(unsqueeze, V(x), I(-1));
  }
  STEPS_INTO(sorted, 2, sort, V(x), I(-1));
  return sorted[0];
}

/* Places in the sorted rows, with fractions: q of the way; the last one where that is NaN. */
static fnzi_krn_array *ranks_of(fnzi_dec_steps *s, fnzi_krn_array *sorted, fnzi_krn_array *q,
                                bool ignores_nan) {
  int64_t count = fnzi_dec_array_size(sorted, -1);
  if (ignores_nan) {
    fnzi_krn_array *real = STEP(logical_not, V(STEP(isnan, V(sorted))));
    fnzi_krn_array *most = STEP(sum__dim_IntList, V(real), INTS(-1), B(true));
    most = STEP(clamp_min, V(STEP(sub__Scalar, V(most), I(1))), I(0));
    return MUL(q, most);
  }
  fnzi_krn_array *last = STEP(mul__Scalar, V(q), I(count - 1));
  fnzi_krn_array *nan = STEP(isnan, V(fnzi_part(s, sorted, -1, count - 1, 1)));
  fnzi_krn_array *end = STEP(full_like, V(last), F((double)(count - 1)));
  return CHOSEN(nan, end, last);
}

static fnzi_krn_array *at_ranks(fnzi_dec_steps *s, fnzi_krn_array *sorted, fnzi_krn_array *ranks) {
  return STEP(gather, V(sorted), I(-1), V(fnzi_dec_cast(s, ranks, FNZ_I64)));
}

static fnzi_krn_array *between(fnzi_dec_steps *s, fnzi_krn_array *sorted, fnzi_krn_array *ranks) {
  int64_t sizes[FNZ_MAX_RANK + 1];
  uint32_t rank = fnzi_dec_array_rank(sorted);
  for (uint32_t d = 0; d < rank; d++)
    sizes[d] = d + 1 < rank ? fnzi_dec_array_size(sorted, d) : fnzi_dec_array_size(ranks, -1);
  ranks = STEP(expand, V(ranks), fnzi_dec_ints(s, sizes, rank));
  if (is(s, "lower") || is(s, "higher") || is(s, "nearest"))
    return at_ranks(s, sorted,
                    is(s, "lower")    ? STEP(floor, V(ranks))
                    : is(s, "higher") ? STEP(ceil, V(ranks))
                                      : STEP(round, V(ranks)));
  fnzi_krn_array *below = STEP(floor, V(ranks));
  fnzi_krn_array *part = is(s, "midpoint") ? STEP(full_like, V(ranks), F(0.5)) : SUB(ranks, below);
  fnzi_krn_array *low = at_ranks(s, sorted, below);
  return STEP(lerp__Tensor, V(low), V(at_ranks(s, sorted, STEP(ceil, V(ranks)))), V(part));
}

static void quantile(fnzi_dec_steps *s, bool ignores_nan) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self"), *q = fnzi_dec_given_array(s, "q");
  fnz_dtype dtype = fnzi_dec_array_dtype(x);
  if (dtype != FNZ_F32 && dtype != FNZ_F64)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "self is %s; it must be f32 or f64",
                    fnzi_dtype(dtype)->name);
  if (!q)
    q = STEP(scalar_tensor, F(fnzi_krn_named_float(s->call, "q", 0)), DTYPE(dtype));
  if (fnzi_dec_array_dtype(q) != dtype || fnzi_dec_array_rank(q) > 1)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "q is %s with %u dimensions; it must be %s with at most 1",
                    fnzi_dtype(fnzi_dec_array_dtype(q))->name, fnzi_dec_array_rank(q),
                    fnzi_dtype(dtype)->name);
  if (fnzi_dec_array_numel(x) == 0)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "self has no elements; it needs one");
  if (!is(s, "linear") && !is(s, "midpoint") && !is(s, "lower") && !is(s, "higher") &&
      !is(s, "nearest"))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "interpolation is %s; it must be linear, lower, higher, midpoint or nearest",
                    fnzi_krn_named_string(s->call, "interpolation"));
  const void *data = NULL;
  if (fnzi_dec_can_look(s))
    s->status = fnzi_krn_dense_get_as(s->call, q, FNZ_F64, &data);
  for (int64_t i = 0; data && i < fnzi_dec_array_numel(q); i++)
    if (!(((const double *)data)[i] >= 0 && ((const double *)data)[i] <= 1))
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "q is %g; it must be from 0 to 1",
                      ((const double *)data)[i]);
  fnzi_krn_array *sorted = sorted_last(s, x);
  fnzi_krn_array *ranks = ranks_of(s, sorted, RESHAPED(q, fnzi_dec_array_numel(q)), ignores_nan);
  fnzi_krn_array *values = between(s, sorted, ranks);
  int64_t order[FNZ_MAX_RANK + 1], rank = fnzi_dec_array_rank(values);
  for (int64_t d = 0; d < rank; d++)
    order[d] = d == 0 ? rank - 1 : d - 1;
  fnzi_dec_result_give(s, fnzi_dec_array_rank(q) == 0
                              ? STEP(squeeze__dim, V(values), I(-1))
                              : STEP(permute, V(values), fnzi_dec_ints(s, order, (size_t)rank)));
}

DECOMP(quantile_all) {
  quantile(s, false);
}
DECOMP(quantile_real) {
  quantile(s, true);
}

/* --- Covariance -------------------------------------------------------------------------- */
/* Rows are variables, columns what was seen; weights say how often, or how sure. */
static fnzi_krn_array *covariance(fnzi_dec_steps *s, fnzi_krn_array *x, double correction,
                                  fnzi_krn_array *often, fnzi_krn_array *sure) {
  fnzi_krn_array *rows = fnzi_dec_array_rank(x) < 2 ? RESHAPED(x, 1, fnzi_dec_array_numel(x)) : x;
  fnzi_krn_array *w = often && sure ? MUL(often, sure) : often ? often : sure;
  fnzi_krn_array *count = w ? STEP(sum, V(w)) : NULL, *free = count;
  double number = (double)fnzi_dec_array_size(rows, 1);
  fnzi_krn_array *sums = STEP(sum__dim_IntList, V(w ? MUL(rows, w) : rows), INTS(1), B(true));
  fnzi_krn_array *mean = w ? DIV(sums, count) : STEP(div__Scalar, V(sums), F(number));
  fnzi_krn_array *off = SUB(rows, mean);
  fnzi_krn_array *other = STEP(conj_physical, V(STEP(t, V(w ? MUL(off, w) : off))));
  fnzi_krn_array *product = STEP(mm, V(off), V(other));
  if (sure && correction != 0)
    free = SUB(count, DIV(STEP(mul__Scalar, V(STEP(sum, V(MUL(w, sure)))), F(correction)), count));
  else if (w)
    free = STEP(sub__Scalar, V(count), F(correction));
  product = w ? DIV(product, STEP(clamp_min, V(free), I(0)))
              : STEP(div__Scalar, V(product), F(number > correction ? number - correction : 0));
  return STEP(squeeze, V(product));
}

static void check_variables(fnzi_dec_steps *s, const fnzi_krn_array *x) {
  if (fnzi_dec_array_rank(x) > 2 || fnzi_dec_array_dtype(x) == FNZ_BOOL)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "self has %u dimensions, or is bool; numbers in at most 2",
                    fnzi_dec_array_rank(x));
}

DECOMP(cov) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self");
  check_variables(s, x);
  fnzi_dec_result_give(s, covariance(s, x, fnzi_krn_named_float(s->call, "correction", 1),
                                     fnzi_dec_given_array(s, "fweights"),
                                     fnzi_dec_given_array(s, "aweights")));
}

DECOMP(corrcoef) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self");
  check_variables(s, x);
  fnzi_krn_array *c = covariance(s, x, 1, NULL, NULL);
  if (fnzi_dec_array_rank(c) == 0) {
    fnzi_dec_result_give(s, DIV(c, c));
    return;
  }
  int64_t count = fnzi_dec_array_size(c, 0);
  fnzi_krn_array *variance = STEP(diagonal_copy, V(c));
  if (fnzi_is_complex(fnzi_dec_array_dtype(c)))
    variance = STEP(select_copy__int, V(STEP(view_as_real, V(variance))), I(-1), I(0));
  fnzi_krn_array *deviation = STEP(sqrt, V(variance));
  c = DIV(DIV(c, RESHAPED(deviation, count, 1)), RESHAPED(deviation, 1, count));
  /* Both parts of complex numbers are cut off at -1 and 1. */
  if (fnzi_is_complex(fnzi_dec_array_dtype(c)))
    c = STEP(view_as_complex, V(STEP(clamp, V(STEP(view_as_real, V(c))), I(-1), I(1))));
  else
    c = STEP(clamp, V(c), I(-1), I(1));
  fnzi_dec_result_give(s, c);
}

/* --- Means and areas --------------------------------------------------------------------- */
DECOMP(nanmean) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self"),
                 *real = STEP(logical_not, V(STEP(isnan, V(x))));
  fnz_arg dim = *fnzi_krn_named(s->call, "dim"), keeps = *fnzi_krn_named(s->call, "keepdim");
  if (!fnzi_is_float(fnzi_dec_array_dtype(x)))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "self is %s; it must be of a floating-point type",
                    fnzi_dtype(fnzi_dec_array_dtype(x))->name);
  fnz_dtype dtype = fnzi_krn_named_dtype(s->call, "dtype", fnzi_dec_array_dtype(x));
  if (!fnzi_is_float(dtype) && !fnzi_is_complex(dtype))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "dtype is %s; it must be of floats or complex numbers",
                    fnzi_dtype(dtype)->name);
  fnzi_krn_array *count = STEP(sum__dim_IntList, V(real), dim, keeps);
  fnzi_dec_result_give(
      s, DIV(STEP(nansum, V(x), dim, keeps, *fnzi_krn_named(s->call, "dtype")), count));
}

/* Without the first, or without the last place of a dimension. */
static fnzi_krn_array *without(fnzi_dec_steps *s, fnzi_krn_array *x, int64_t dim, bool first) {
  return fnzi_part(s, x, dim, first, fnzi_dec_array_size(x, dim) - 1);
}

/* The dimension to integrate along, which must have an element. */
static int64_t line_of(fnzi_dec_steps *s, const fnzi_krn_array *y) {
  int64_t dim = fnzi_dec_given_dim(s, "dim", y);
  if (fnzi_dec_array_size(y, dim) == 0)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "y has size 0 in dimension %lld; it needs an element",
                    (long long)dim);
  return dim;
}

/* Half the distances of places x along the dimension times what their ends have. */
static fnzi_krn_array *areas(fnzi_dec_steps *s, fnzi_krn_array *y, int64_t dim) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "x");
  if (fnzi_dec_array_dtype(x) == FNZ_BOOL || fnzi_dec_array_dtype(y) == FNZ_BOOL)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "x or y is bool; cast it to a number");
  if (fnzi_dec_array_rank(x) == 1 && fnzi_dec_array_numel(x) != fnzi_dec_array_size(y, dim))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "x has %lld places, y %lld elements; each needs one",
                    (long long)fnzi_dec_array_numel(x), (long long)fnzi_dec_array_size(y, dim));
  if (fnzi_dec_array_rank(x) != 1 && fnzi_dec_array_rank(x) != fnzi_dec_array_rank(y))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "x has %u dimensions, y %u; reshape x to as many, or to 1",
                    fnzi_dec_array_rank(x), fnzi_dec_array_rank(y));
  if (fnzi_dec_array_rank(x) == 1)
    x = fnzi_dec_along(s, x, dim, fnzi_dec_array_rank(y));
  fnzi_krn_array *apart = SUB(without(s, x, dim, true), without(s, x, dim, false));
  fnzi_krn_array *both = ADD(without(s, y, dim, true), without(s, y, dim, false));
  return MUL(apart, both);
}

DECOMP(trapezoid_places) {
  fnzi_krn_array *y = fnzi_dec_given_array(s, "y");
  int64_t dim = line_of(s, y);
  fnzi_krn_array *sum = STEP(sum__dim_IntList, V(areas(s, y, dim)), INTS(dim));
  fnzi_dec_result_give(s, STEP(div__Scalar, V(sum), F(2)));
}

DECOMP(cumulative_trapezoid_places) {
  fnzi_krn_array *y = fnzi_dec_given_array(s, "y");
  int64_t dim = line_of(s, y);
  fnzi_krn_array *sums = STEP(cumsum, V(areas(s, y, dim)), I(dim));
  fnzi_dec_result_give(s, STEP(div__Scalar, V(sums), F(2)));
}

DECOMP(trapezoid) {
  fnzi_krn_array *y = fnzi_dec_given_array(s, "y");
  double dx = fnzi_krn_number_float(fnzi_krn_named(s->call, "dx"));
  int64_t dim = line_of(s, y);
  fnzi_krn_array *sum = STEP(sum__dim_IntList, V(y), INTS(dim));
  fnzi_krn_array *ends =
      ADD(STEP(select__int, V(y), I(dim), I(0)), STEP(select__int, V(y), I(dim), I(-1)));
  sum = SUB(sum, STEP(mul__Scalar, V(ends), F(0.5)));
  fnzi_dec_result_give(s, STEP(mul__Scalar, V(sum), F(dx)));
}

DECOMP(cumulative_trapezoid) {
  fnzi_krn_array *y = fnzi_dec_given_array(s, "y");
  double dx = fnzi_krn_number_float(fnzi_krn_named(s->call, "dx"));
  int64_t dim = line_of(s, y);
  fnzi_krn_array *both = ADD(without(s, y, dim, true), without(s, y, dim, false));
  fnzi_krn_array *sums = STEP(cumsum, V(both), I(dim));
  fnzi_dec_result_give(s, STEP(mul__Scalar, V(sums), F(dx / 2)));
}
