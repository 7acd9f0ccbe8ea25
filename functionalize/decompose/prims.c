/* prims.c - core operators as sums, extremes, exponentials and arithmetic: norms, softmax, means,
 * variances, activations.
 *
 * needs   the geometries of results where they are recorded: half numbers have statistics of f32
 * keeps   half numbers as f32 in between, as eager computes
 * gives   what the operator gives, rounded in another order */
#include "functionalize/decompose/ways.h"

/* The dtype of a result of the operator. */
static fnz_dtype result_dtype(const fnzi_dec_steps *s, size_t k, const fnzi_krn_array *fallback) {
  const fnz_geometry *g = s->script && k < s->script->nexpected ? s->script->expected[k] : NULL;
  return g ? g->dtype : DTYPE_OF(fallback);
}

static void give_as_result(fnzi_dec_steps *s, size_t k, const fnzi_krn_array *fallback,
                           fnzi_krn_array *a) {
  GIVE(fnzi_dec_cast(s, a, result_dtype(s, k, fallback)));
}

/* A count is an integer: it may be made of symbols, and that is no float. */
#define OVER(a, number) STEP(div__Scalar, V(a), I(number))
#define KEPT            B(true)

/* --- Means and variances ---------------------------------------------------------------------- */
/* How many elements become one; all dimensions where none are named. */
static int64_t prims_count_of(fnzi_dec_steps *s, const fnzi_krn_array *a, const fnz_arg *dims) {
  int64_t count = 1, rank = RANK(a);
  if (dims->tag != FNZ_ARG_LIST || !dims->count)
    return fnzi_dec_array_numel(a);
  for (uint32_t i = 0; i < dims->count; i++)
    count = SIZE_TIMES(count, rank ? SIZE(a, dims->u.list[i].u.i) : 1);
  return count;
}

static fnzi_krn_array *mean_of(fnzi_dec_steps *s, fnzi_krn_array *a, fnz_arg dims, bool keep) {
  return OVER(STEP(sum__dim_IntList, V(a), dims, B(keep)), prims_count_of(s, a, &dims));
}

TAKE_APART(mean) {
  fnzi_krn_array *self = GIVEN("self");
  fnz_dtype dtype = fnzi_krn_named_dtype(s->call, "dtype", DTYPE_OF(self));
  fnzi_krn_array *a = fnzi_dcm_widened(s, fnzi_dec_cast(s, self, dtype));
  GIVE(fnzi_dec_cast(s, mean_of(s, a, fnzi_dcm_dims(s), fnzi_dcm_keeps_dims(s)), dtype));
}

TAKE_APART(variance) {
  fnzi_krn_array *self = GIVEN("self"), *a = fnzi_dcm_widened(s, self);
  fnz_arg dims = fnzi_dcm_dims(s);
  const int64_t elements = prims_count_of(s, a, &dims);
  const fnz_arg less = fnzi_dcm_correction(s);
  double correction = fnzi_krn_number_float(&less), count = (double)elements - correction;
  if (fnzi_is_complex(DTYPE_OF(self)))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "of complex numbers it is of their parts");
  fnzi_krn_array *off = SUB(a, mean_of(s, a, dims, true));
  fnzi_krn_array *sum = STEP(sum__dim_IntList, V(MUL(off, off)), dims, B(fnzi_dcm_keeps_dims(s)));
  fnz_arg over = F(count > 0 ? count : 0);
  if (correction == 0 || correction == 1)
    over = I(count > 0 ? elements - (int64_t)correction : 0);
  GIVE(fnzi_dec_cast(s, STEP(div__Scalar, V(sum), over), DTYPE_OF(self)));
}

/* --- Norms ------------------------------------------------------------------------------------ */
/* x less its mean over its deviation, and both of these, with sizes of 1. */
typedef struct normed {
  fnzi_krn_array *x, *mean, *inverse;
} normed;

static normed norm(fnzi_dec_steps *s, fnzi_krn_array *x, fnz_arg dims) {
  normed n = {.mean = mean_of(s, x, dims, true)};
  fnzi_krn_array *off = SUB(x, n.mean);
  fnzi_krn_array *variance = mean_of(s, MUL(off, off), dims, true);
  n.inverse = STEP(rsqrt, V(STEP(add__Scalar, V(variance), F(GIVEN_FLOAT("eps")))));
  n.x = MUL(off, n.inverse);
  return n;
}

static fnzi_krn_array *weighted(fnzi_dec_steps *s, fnzi_krn_array *x, fnzi_krn_array *weight,
                                fnzi_krn_array *bias) {
  x = weight ? MUL(x, weight) : x;
  return bias ? ADD(x, bias) : x;
}

TAKE_APART(native_layer_norm) {
  fnzi_krn_array *self = GIVEN("input"), *x = fnzi_dcm_widened(s, self);
  fnz_arg sizes = AS_GIVEN("normalized_shape");
  int64_t dims[FNZ_MAX_RANK] = {0}, count = sizes.tag == FNZ_ARG_LIST ? (int64_t)sizes.count : 0;
  for (int64_t d = 0; d < count && d < FNZ_MAX_RANK; d++)
    dims[d] = d - count;
  normed n = norm(s, x, fnzi_dec_ints(s, dims, (size_t)count));
  give_as_result(s, 0, self, weighted(s, n.x, GIVEN("weight"), GIVEN("bias")));
  give_as_result(s, 1, n.mean, n.mean);
  give_as_result(s, 2, n.inverse, n.inverse);
}

TAKE_APART(native_group_norm) {
  fnzi_krn_array *self = GIVEN("input"), *x = fnzi_dcm_widened(s, self);
  int64_t batch = GIVEN_INT("N"), groups = GIVEN_INT("group"), all = fnzi_dec_array_numel(x);
  if (!self || batch < 1 || groups < 1 || !all) {
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "there are no elements");
    return;
  }
  const int64_t rows[] = {batch, groups, all / batch / groups}, stats[] = {batch, groups};
  normed n = norm(s, fnzi_dec_viewed(s, x, rows, 3), INTS(2));
  fnzi_krn_array *y = fnzi_dec_viewed(s, n.x, self->geometry.sizes, self->geometry.rank);
  y = weighted(s, y, fnzi_dcm_per_channel(s, GIVEN("weight"), self),
               fnzi_dcm_per_channel(s, GIVEN("bias"), self));
  give_as_result(s, 0, self, y);
  give_as_result(s, 1, n.mean, fnzi_dec_viewed(s, n.mean, stats, 2));
  give_as_result(s, 2, n.inverse, fnzi_dec_viewed(s, n.inverse, stats, 2));
}

/* (x - mean) * inverse * weight + bias as eager rounds it: one product and one sum per element. */
static fnzi_krn_array *scaled(fnzi_dec_steps *s, fnzi_krn_array *x, fnzi_krn_array *mean,
                              fnzi_krn_array *inverse) {
  fnzi_krn_array *weight = fnzi_dcm_per_channel(s, GIVEN("weight"), x);
  fnzi_krn_array *bias = fnzi_dcm_per_channel(s, GIVEN("bias"), x);
  fnzi_krn_array *scale = weight ? MUL(inverse, weight) : inverse, *shift = MUL(mean, scale);
  shift = bias ? SUB(bias, shift) : STEP(neg, V(shift));
  return ADD(MUL(x, scale), shift);
}

TAKE_APART(batch_norm_of_batch) {
  fnzi_krn_array *self = GIVEN("input"), *x = fnzi_dcm_widened(s, self);
  int64_t channels = SIZE(x, 1);
  if (!GIVEN_BOOL("training"))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "it has neither a batch nor statistics");
  normed n = norm(s, x, fnzi_dcm_all_dims(s, x, 1));
  fnzi_krn_array *y = weighted(s, n.x, fnzi_dcm_per_channel(s, GIVEN("weight"), self),
                               fnzi_dcm_per_channel(s, GIVEN("bias"), self));
  give_as_result(s, 0, self, y);
  give_as_result(s, 1, n.mean, fnzi_dec_viewed(s, n.mean, &channels, 1));
  give_as_result(s, 2, n.inverse, fnzi_dec_viewed(s, n.inverse, &channels, 1));
}

/* By given statistics; the results that a batch has of its own are empty. */
TAKE_APART(batch_norm_as_given) {
  fnzi_krn_array *self = GIVEN("input"), *x = fnzi_dcm_widened(s, self);
  fnzi_krn_array *mean = fnzi_dcm_widened(s, GIVEN("running_mean"));
  fnzi_krn_array *variance = fnzi_dcm_widened(s, GIVEN("running_var"));
  variance = STEP(add__Scalar, V(variance), F(GIVEN_FLOAT("eps")));
  fnzi_krn_array *inverse = STEP(rsqrt, V(variance));
  give_as_result(
      s, 0, self,
      scaled(s, x, fnzi_dcm_per_channel(s, mean, self), fnzi_dcm_per_channel(s, inverse, self)));
  for (size_t k = 1; k < 3; k++)
    GIVE(STEP(full, INTS(0), I(0), DTYPE(result_dtype(s, k, self))));
}

/* --- Softmax ---------------------------------------------------------------------------------- */
/* Subtracts the largest element, so that exp() cannot overflow. */
static fnzi_krn_array *below_largest(fnzi_dec_steps *s, fnzi_krn_array *x, fnz_arg dim) {
  return SUB(x, STEP(amax, V(x), dim, KEPT));
}

TAKE_APART(plain_softmax) {
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, self);
  fnz_arg dim = INTS(GIVEN_INT("dim"));
  fnzi_krn_array *e = STEP(exp, V(below_largest(s, x, dim)));
  give_as_result(s, 0, self, DIV(e, STEP(sum__dim_IntList, V(e), dim, KEPT)));
}

TAKE_APART(plain_log_softmax) {
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, self);
  fnz_arg dim = INTS(GIVEN_INT("dim"));
  fnzi_krn_array *below = below_largest(s, x, dim);
  fnzi_krn_array *sum = STEP(sum__dim_IntList, V(STEP(exp, V(below))), dim, KEPT);
  give_as_result(s, 0, self, SUB(below, STEP(log, V(sum))));
}

/* --- Activations ------------------------------------------------------------------------------ */
#define TIMES(a, factor) STEP(mul__Scalar, V(a), F(factor))

/* x / 2 * (1 + erf(x / sqrt(2))), or by the tanh of a polynomial. */
TAKE_APART(gelu) {
  const double root_of_half = 0.70710678118654752440, root_of_2_by_pi = 0.79788456080286535588;
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, self), *part;
  if (strcmp(fnzi_krn_named_string(s->call, "approximate"), "tanh") == 0) {
    fnzi_krn_array *cube = MUL(MUL(x, x), x);
    part = STEP(tanh, V(TIMES(ADD(x, TIMES(cube, 0.044715)), root_of_2_by_pi)));
  } else {
    part = STEP(erf, V(TIMES(x, root_of_half)));
  }
  part = STEP(add__Scalar, V(part), I(1));
  GIVE(fnzi_dec_cast(s, MUL(TIMES(x, 0.5), part), DTYPE_OF(self)));
}

TAKE_APART(elu) {
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, self);
  double scale = fnzi_krn_named_float(s->call, "scale", 1);
  double given = fnzi_krn_named_float(s->call, "alpha", 1), alpha = given * scale;
  double inner = fnzi_krn_named_float(s->call, "input_scale", 1);
  fnzi_krn_array *low = STEP(expm1, V(inner == 1 ? x : TIMES(x, inner)));
  low = alpha == 1 ? low : TIMES(low, alpha);
  fnzi_krn_array *high = scale == 1 ? x : TIMES(x, scale);
  fnzi_krn_array *is_high = STEP(gt__Scalar, V(x), I(0));
  GIVE(fnzi_dec_cast(s, CHOSEN(is_high, high, low), DTYPE_OF(self)));
}

TAKE_APART(leaky_relu) {
  fnzi_krn_array *self = GIVEN("self"), *x = fnzi_dcm_widened(s, self);
  fnzi_krn_array *low = TIMES(x, fnzi_krn_named_float(s->call, "negative_slope", 0.01));
  fnzi_krn_array *is_high = STEP(gt__Scalar, V(x), I(0));
  GIVE(fnzi_dec_cast(s, CHOSEN(is_high, x, low), DTYPE_OF(self)));
}

TAKE_APART(hardtanh) {
  GIVE(STEP(clamp, V(GIVEN("self")), AS_GIVEN("min_val"), AS_GIVEN("max_val")));
}

/* --- Rows of a table -------------------------------------------------------------------------- */
TAKE_APART(embedding) {
  fnzi_krn_array *index = GIVEN("indices");
  GIVE(STEP(index__Tensor, V(GIVEN("weight")), fnzi_dec_values(s, &index, 1)));
}
