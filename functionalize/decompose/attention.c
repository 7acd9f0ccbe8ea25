/* attention.c - scaled_dot_product_attention: products with a softmax between, as PyTorch's math
 * form of it, which is what its own decomposition leaves. */
#include "functionalize/decompose/ways.h"

#include <math.h>

/* Queries of several heads share keys and values of one. */
static fnzi_krn_array *shared(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t heads) {
  int64_t rank = RANK(a), own = SIZE(a, -3);
  if (rank < 3 || own == heads)
    return a;
  if (own < 1 || heads % own)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "%lld heads do not share %lld", (long long)heads,
                    (long long)own);
  return s->status == FNZ_OK ? STEP(repeat_interleave__self_int, V(a), I(heads / own), I(rank - 3))
                             : NULL;
}

TAKE_APART(attention) {
  fnzi_krn_array *query = GIVEN("query"), *key = GIVEN("key"), *value = GIVEN("value");
  fnzi_krn_array *mask = GIVEN("attn_mask");
  bool is_causal = GIVEN_BOOL("is_causal"), has_mask = mask != NULL;
  int64_t width = SIZE(query, -1);
  double p = GIVEN_FLOAT("dropout_p");
  double scale = fnzi_krn_named_float(s->call, "scale", width ? 1 / sqrt((double)width) : 1);
  if (GIVEN_BOOL("enable_gqa")) {
    key = shared(s, key, SIZE(query, -3));
    value = shared(s, value, SIZE(query, -3));
  }
  fnzi_krn_array *transposed = fnzi_dcm_swapped(s, key, RANK(key) - 2, RANK(key) - 1);
  fnzi_krn_array *scores = fnzi_dcm_product(s, STEP(mul__Scalar, V(query), F(scale)), transposed);
  if (is_causal) {
    const int64_t queries = SIZE(query, -2);
    const int64_t keys = SIZE(key, -2);
    /* Each query sees the keys up to its own place. */
    fnzi_krn_array *rows = STEP(arange__start_step, I(0), I(queries), I(1), DTYPE(FNZ_I64));
    fnzi_krn_array *columns = STEP(arange__start_step, I(0), I(keys), I(1), DTYPE(FNZ_I64));
    mask = STEP(le__Tensor, V(columns), V(STEP(unsqueeze, V(rows), I(1))));
  }
  if (mask && DTYPE_OF(mask) == FNZ_BOOL)
    scores = CHOSEN(mask, scores, NUMBER(F(-INFINITY), DTYPE_OF(scores)));
  else if (mask)
    scores = fnzi_dec_cast(s, ADD(scores, mask), DTYPE_OF(query));
  fnzi_krn_array *weights = STEP(_softmax, V(scores), I(-1), B(false));
  if (has_mask) {
    /* A query that sees no key has weights of 0, not NaN. */
    fnzi_krn_array *is_seen = STEP(ne__Scalar, V(scores), F(-INFINITY));
    fnzi_krn_array *sees = STEP(any__dim, V(is_seen), I(-1), B(true));
    weights = CHOSEN(sees, weights, NUMBER(I(0), DTYPE_OF(weights)));
  }
  if (p != 0)
    weights = STEP(dropout, V(weights), F(p), B(true));
  GIVE(fnzi_dcm_product(s, weights, value));
}
