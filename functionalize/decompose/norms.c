/* norms.c - norms by the core ones, which also give mean and deviation; softmax. */
#include "functionalize/decompose/ways.h"

TAKE_APART(layer_norm) {
  fnzi_krn_array *made[3];
  STEPS_INTO(made, 3, native_layer_norm, V(GIVEN("input")), AS_GIVEN("normalized_shape"),
             V(GIVEN("weight")), V(GIVEN("bias")), F(GIVEN_FLOAT("eps")));
  GIVE(made[0]);
}

TAKE_APART(group_norm) {
  fnzi_krn_array *x = GIVEN("input"), *made[3];
  int64_t batch = SIZE(x, 0), channels = SIZE(x, 1), rest = 1;
  for (int64_t d = 2; d < RANK(x); d++)
    rest = SIZE_TIMES(rest, SIZE(x, d));
  STEPS_INTO(made, 3, native_group_norm, V(x), V(GIVEN("weight")), V(GIVEN("bias")), I(batch),
             I(channels), I(rest), I(GIVEN_INT("num_groups")), F(GIVEN_FLOAT("eps")));
  GIVE(made[0]);
}

/* x / sqrt(mean(x * x) + eps) * weight, where half numbers are f32 in between. */
TAKE_APART(rms_norm) {
  fnzi_krn_array *self = GIVEN("input"), *x = fnzi_dcm_widened(s, self), *weight = GIVEN("weight");
  int64_t dims[FNZ_MAX_RANK] = {0};
  const int64_t *sizes = NULL;
  size_t count = 0;
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "normalized_shape", &sizes, &count));
  for (size_t d = 0; s->status == FNZ_OK && d < count; d++)
    dims[d] = (int64_t)d - (int64_t)count;
  double fallback = DTYPE_OF(x) == FNZ_F64 ? 2.220446049250313e-16 : 1.1920928955078125e-07;
  double eps = fnzi_krn_named_float(s->call, "eps", fallback);
  fnzi_krn_array *squares = STEP(pow__Tensor_Scalar, V(x), I(2));
  fnzi_krn_array *mean = STEP(mean__dim, V(squares), fnzi_dec_ints(s, dims, count), B(true));
  fnzi_krn_array *y = MUL(x, STEP(rsqrt, V(STEP(add__Scalar, V(mean), F(eps)))));
  GIVE(fnzi_dec_cast(s, weight ? MUL(y, weight) : y, DTYPE_OF(self)));
}

/* --- batches ---------------------------------------------------------------------------------- */
/* Normalizes by the statistics of the batch, or by the running ones. */
static void normed(fnzi_dec_steps *s, bool by_batch, fnzi_krn_array *made[3]) {
  fnzi_krn_array *x = GIVEN("input"), *weight = GIVEN("weight"), *bias = GIVEN("bias");
  fnzi_krn_array *mean = GIVEN("running_mean"), *var = GIVEN("running_var");
  fnz_arg momentum = F(GIVEN_FLOAT("momentum")), eps = F(GIVEN_FLOAT("eps"));
  if (by_batch)
    STEPS_INTO(made, 3, _native_batch_norm_legit__no_stats, V(x), V(weight), V(bias), B(true),
               momentum, eps);
  else
    STEPS_INTO(made, 3, _native_batch_norm_legit_no_training, V(x), V(weight), V(bias), V(mean),
               V(var), momentum, eps);
}

TAKE_APART(batch_norm) {
  fnzi_krn_array *made[3];
  normed(s, GIVEN_BOOL("training"), made);
  GIVE(made[0]);
}

TAKE_APART(batch_norm_by_batch) {
  fnzi_krn_array *made[3];
  if (!GIVEN_BOOL("training")) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  normed(s, true, made);
  GIVE(made[0]);
}

TAKE_APART(native_batch_norm) {
  fnzi_krn_array *made[3];
  normed(s, GIVEN_BOOL("training"), made);
  for (size_t k = 0; k < 3; k++)
    GIVE(made[k]);
}

/* (1 - momentum) * old + momentum * new */
static fnzi_krn_array *norms_moved(fnzi_dec_steps *s, fnzi_krn_array *old, fnzi_krn_array *now) {
  double momentum = GIVEN_FLOAT("momentum");
  fnzi_krn_array *a = STEP(mul__Scalar, V(now), F(momentum));
  return ADD(a, STEP(mul__Scalar, V(old), F(1 - momentum)));
}

/* The variance that is kept is that of a sample. */
TAKE_APART(batch_norm_functional) {
  fnzi_krn_array *made[3], *mean = GIVEN("running_mean"), *var = GIVEN("running_var");
  bool by_batch = GIVEN_BOOL("training");
  normed(s, by_batch, made);
  for (size_t k = 0; k < 3; k++)
    GIVE(made[k]);
  fnzi_krn_array *x = fnzi_dcm_widened(s, GIVEN("input"));
  fnz_arg dims = fnzi_dcm_all_dims(s, x, 1);
  GIVE(by_batch ? fnzi_dec_cast(s, norms_moved(s, mean, made[1]), DTYPE_OF(mean)) : mean);
  GIVE(by_batch ? fnzi_dec_cast(s, norms_moved(s, var, STEP(var__correction, V(x), dims, I(1))),
                                DTYPE_OF(var))
                : var);
}

/* Each instance by itself: all instances are channels of one batch. */
TAKE_APART(instance_norm) {
  fnzi_krn_array *x = GIVEN("input"), *weight = GIVEN("weight"), *bias = GIVEN("bias"), *made[3];
  int64_t sizes[FNZ_MAX_RANK] = {0}, batch = SIZE(x, 0);
  if (!GIVEN_BOOL("use_input_stats")) {
    normed(s, false, made);
    GIVE(made[0]);
    return;
  }
  for (int64_t d = 0; d < RANK(x); d++)
    sizes[d] = d == 0 ? 1 : d == 1 ? SIZE_TIMES(batch, SIZE(x, 1)) : SIZE(x, d);
  fnzi_krn_array *flat = fnzi_dec_viewed(s, x, sizes, fnzi_dec_array_rank(x));
  weight = weight && batch != 1 ? STEP(repeat, V(weight), INTS(batch)) : weight;
  bias = bias && batch != 1 ? STEP(repeat, V(bias), INTS(batch)) : bias;
  STEPS_INTO(made, 3, _native_batch_norm_legit__no_stats, V(flat), V(weight), V(bias), B(true),
             F(GIVEN_FLOAT("momentum")), F(GIVEN_FLOAT("eps")));
  if (s->status == FNZ_OK)
    GIVE(fnzi_dec_viewed(s, made[0], x->geometry.sizes, x->geometry.rank));
}

/* --- softmax ---------------------------------------------------------------------------------- */
static fnzi_krn_array *in_dtype(fnzi_dec_steps *s) {
  fnzi_krn_array *a = GIVEN("self");
  return fnzi_dec_cast(s, a, fnzi_krn_named_dtype(s->call, "dtype", fnzi_dec_array_dtype(a)));
}

TAKE_APART(softmax) {
  GIVE(STEP(_softmax, V(in_dtype(s)), I(GIVEN_INT("dim")), B(false)));
}

TAKE_APART(log_softmax) {
  GIVE(STEP(_log_softmax, V(in_dtype(s)), I(GIVEN_INT("dim")), B(false)));
}
