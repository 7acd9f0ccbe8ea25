/* mlir_layers.c - layers that the torch dialect lowers only in some forms. */
#include "functionalize/decompose/ways.h"

/* --- batch norm of training ------------------------------------------------------------------- */
/* old + momentum * (new - old) */
static fnzi_krn_array *layers_moved(fnzi_dec_steps *s, fnzi_krn_array *old, fnzi_krn_array *now) {
  double momentum = GIVEN_FLOAT("momentum");
  fnzi_krn_array *kept = STEP(mul__Scalar, V(old), F(1 - momentum));
  return ADD(STEP(mul__Scalar, V(now), F(momentum)), kept);
}

TAKE_APART(batch_norm_training) {
  fnzi_krn_array *given = GIVEN("input"), *x = fnzi_dcm_widened(s, given);
  fnzi_krn_array *weight = fnzi_dcm_per_channel(s, GIVEN("weight"), x);
  fnzi_krn_array *bias = fnzi_dcm_per_channel(s, GIVEN("bias"), x);
  if (!GIVEN_BOOL("training") || RANK(x) < 2) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  fnz_arg dims = fnzi_dcm_all_dims(s, x, 1);
  fnzi_krn_array *mean = STEP(mean__dim, V(x), dims, B(false));
  fnzi_krn_array *variance = STEP(var__correction, V(x), dims, I(0), B(false));
  fnzi_krn_array *unbiased = STEP(var__correction, V(x), dims, I(1), B(false));
  fnzi_krn_array *shifted = STEP(add__Scalar, V(variance), F(GIVEN_FLOAT("eps")));
  fnzi_krn_array *inverse = STEP(reciprocal, V(STEP(sqrt, V(shifted))));
  fnzi_krn_array *out = SUB(x, fnzi_dcm_per_channel(s, mean, x));
  out = MUL(out, fnzi_dcm_per_channel(s, inverse, x));
  out = weight ? MUL(out, weight) : out;
  out = bias ? ADD(out, bias) : out;
  GIVE(fnzi_dec_cast(s, out, fnzi_dec_array_dtype(given)));
  GIVE(mean);
  GIVE(inverse);
  GIVE(layers_moved(s, GIVEN("running_mean"), mean));
  GIVE(layers_moved(s, GIVEN("running_var"), unbiased));
}

/* --- instance norm ---------------------------------------------------------------------------- */
/* The dialect requires weights. */
TAKE_APART(instance_norm_weighted) {
  fnzi_krn_array *x = GIVEN("input"), *weight = GIVEN("weight"), *bias = GIVEN("bias");
  if (weight && bias)
    fnzi_dcm_nothing_to_mend(s);
  fnz_arg dtype = DTYPE(fnzi_dec_array_dtype(x));
  weight = weight ? weight : STEP(full, INTS(SIZE(x, 1)), F(1), dtype);
  bias = bias ? bias : STEP(full, INTS(SIZE(x, 1)), F(0), dtype);
  GIVE(STEP(instance_norm, V(x), V(weight), V(bias), V(GIVEN("running_mean")),
            V(GIVEN("running_var")), B(GIVEN_BOOL("use_input_stats")), F(GIVEN_FLOAT("momentum")),
            F(GIVEN_FLOAT("eps")), B(GIVEN_BOOL("cudnn_enabled"))));
}

/* --- attention -------------------------------------------------------------------------------- */
/* A mask of fewer dimensions than the query gets as many. */
TAKE_APART(attention_masked) {
  fnzi_krn_array *query = GIVEN("query"), *mask = GIVEN("attn_mask");
  int64_t sizes[FNZ_MAX_RANK], rank = RANK(query), less = rank - RANK(mask);
  if (!mask || less <= 0) {
    fnzi_dcm_nothing_to_mend(s);
    return;
  }
  for (int64_t d = 0; d < rank; d++)
    sizes[d] = d < less ? 1 : SIZE(mask, d - less);
  mask = fnzi_dec_viewed(s, mask, sizes, (size_t)rank);
  GIVE(STEP(scaled_dot_product_attention, V(query), V(GIVEN("key")), V(GIVEN("value")), V(mask),
            F(GIVEN_FLOAT("dropout_p")), B(GIVEN_BOOL("is_causal")), AS_GIVEN("scale"),
            B(GIVEN_BOOL("enable_gqa"))));
}
