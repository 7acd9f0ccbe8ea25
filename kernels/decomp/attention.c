/* attention.c - attention step by step: the way of plain mathematics, what flows back through the
 * fused way, and softmax under a mask. 16-bit floats are computed as f32 and rounded once. */
#include "kernels/decomp/decomp.h"

#include <math.h>

/* --- Pieces ------------------------------------------------------------------------------ */
static fnzi_krn_array *attention_wide(fnzi_dec_steps *s, fnzi_krn_array *a) {
  return fnzi_dec_cast(s, a, fnzi_dec_wide(fnzi_dec_array_dtype(a)));
}

static double attention_scale_of(const fnzi_dec_steps *s, const fnzi_krn_array *query) {
  int64_t width = fnzi_dec_array_size(query, -1);
  return fnzi_krn_named_float(s->call, "scale", 1 / sqrt((double)width));
}

/* Scores under the masks that were given; one of truths counts as numbers here, as in eager. */
static fnzi_krn_array *masked(fnzi_dec_steps *s, fnzi_krn_array *scores) {
  fnzi_krn_array *mask = fnzi_dec_given_array(s, "attn_mask");
  bool causal = fnzi_krn_named_bool(s->call, "is_causal", false);
  if (causal) {
    int64_t queries = fnzi_dec_array_size(scores, -2), keys = fnzi_dec_array_size(scores, -1);
    fnzi_krn_array *later = STEP(ones, INTS(queries, keys), DTYPE(FNZ_BOOL));
    /* True where a query must not look: at keys behind its own place. */
    later = STEP(triu, V(later), I(1));
    scores = STEP(masked_fill__Scalar, V(scores), V(later), F(-INFINITY));
  }
  return mask ? fnzi_dec_cast(s, ADD(scores, mask), fnzi_dec_array_dtype(scores)) : scores;
}

/* --- Forward ----------------------------------------------------------------------------- */
/* As many heads as the query has, each of the given ones several times. */
static fnzi_krn_array *grouped(fnzi_dec_steps *s, fnzi_krn_array *a, const fnzi_krn_array *query) {
  int64_t heads = fnzi_dec_array_size(a, -3), wanted = fnzi_dec_array_size(query, -3);
  if (!fnzi_krn_named_bool(s->call, "enable_gqa", false) || heads == wanted)
    return a;
  if (heads < 1 || wanted % heads)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "query has %lld heads, key or value %lld; they must divide", (long long)wanted,
                    (long long)heads);
  return s->status == FNZ_OK ? fnzi_dec_interleaved(s, a, -3, wanted / heads) : NULL;
}

/* Dropout is drawn, or given as a mask; weights that are a result keep their size in the latter
 * case, and the values grow. */
static void attend(fnzi_dec_steps *s, fnzi_krn_array *weights, fnzi_krn_array *value,
                   fnz_dtype dtype) {
  fnzi_krn_array *kept = fnzi_dec_given_array(s, "dropout_mask");
  double p = fnzi_krn_named_float(s->call, "dropout_p", 0);
  if (p > 0 && kept) {
    weights = STEP(masked_fill__Scalar, V(weights), V(STEP(logical_not, V(kept))), F(0));
    value = fnzi_dec_times(s, value, 1 / (1 - p));
  } else if (p > 0) {
    weights = STEP(dropout, V(weights), F(p), B(true));
  }
  fnzi_dec_result_give(s, fnzi_dec_cast(s, STEP(matmul, V(weights), V(value)), dtype));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, weights, dtype));
}

/* Both factors are scaled by the root, so that neither of them grows alone. */
DECOMP(attention_math) {
  fnzi_krn_array *query = fnzi_dec_given_array(s, "query"), *key = fnzi_dec_given_array(s, "key"),
                 *value = fnzi_dec_given_array(s, "value");
  fnz_dtype dtype = fnzi_dec_array_dtype(query);
  double scale = attention_scale_of(s, query), root = sqrt(fabs(scale));
  if (fnzi_dec_given_array(s, "attn_mask") && fnzi_krn_named_bool(s->call, "is_causal", false))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "attn_mask and is_causal cannot both be given");
  key = attention_wide(s, grouped(s, key, query));
  value = attention_wide(s, grouped(s, value, query));
  query = fnzi_dec_times(s, attention_wide(s, query), scale < 0 ? -root : root);
  fnzi_krn_array *scores =
      STEP(matmul, V(query), V(fnzi_dec_transposed(s, fnzi_dec_times(s, key, root))));
  attend(s, STEP(_safe_softmax, V(masked(s, scores)), I(-1)), value, dtype);
}

/* --- Backward ---------------------------------------------------------------------------- */
/* Batch, heads, length and width of all; lengths of key and value are the same. */
static void check_flash(fnzi_dec_steps *s) {
  static const char *const names[] = {"grad_out", "query", "key", "value", "out"};
  const fnzi_krn_array *query = fnzi_dec_given_array(s, "query"),
                       *key = fnzi_dec_given_array(s, "key");
  for (size_t i = 0; i < sizeof names / sizeof *names && s->status == FNZ_OK; i++) {
    const fnzi_krn_array *a = fnzi_dec_given_array(s, names[i]);
    int64_t length = i == 2 || i == 3 ? fnzi_dec_array_size(key, 2) : fnzi_dec_array_size(query, 2);
    if (fnzi_dec_array_rank(a) != 4 || fnzi_dec_array_size(a, 0) != fnzi_dec_array_size(query, 0) ||
        fnzi_dec_array_size(a, 1) != fnzi_dec_array_size(query, 1) ||
        fnzi_dec_array_size(a, 2) != length ||
        fnzi_dec_array_size(a, 3) != fnzi_dec_array_size(query, 3))
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                      "%s must have 4 dimensions: batch, heads, length and width, and the batch, "
                      "heads and width of query",
                      names[i]);
    else if (fnzi_dec_array_dtype(a) != fnzi_dec_array_dtype(query))
      fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "%s is %s, query %s; cast one of them", names[i],
                      fnzi_dtype(fnzi_dec_array_dtype(a))->name,
                      fnzi_dtype(fnzi_dec_array_dtype(query))->name);
  }
}

/* PyTorch's own decomposition of the forward gives the weights in their place. */
static fnzi_krn_array *sums_of(fnzi_dec_steps *s, const fnzi_krn_array *query) {
  fnzi_krn_array *sums = fnzi_dec_given_array(s, "logsumexp");
  bool fits = fnzi_dec_array_rank(sums) == 3;
  for (int64_t d = 0; fits && d < 3; d++)
    fits = fnzi_dec_array_size(sums, d) == fnzi_dec_array_size(query, d);
  if (!fits)
    fnzi_dec_refuse(
        s, FNZ_CLASS_BOUNDS,
        "logsumexp has %u dimensions; it must have 3, batch, heads and length of query; "
        "a graph whose forward was decomposed has other numbers there: export it with "
        "_scaled_dot_product_flash_attention_for_cpu kept whole",
        fnzi_dec_array_rank(sums));
  return STEP(unsqueeze, V(sums), I(-1));
}

/* Heads lie behind the length in memory. */
static void give_by_length(fnzi_dec_steps *s, fnzi_krn_array *a, fnz_dtype dtype) {
  a = STEP(clone, V(STEP(transpose__int, V(fnzi_dec_cast(s, a, dtype)), I(1), I(2))),
           (fnz_arg){.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1});
  fnzi_dec_result_give(s, STEP(transpose__int, V(a), I(1), I(2)));
}

/* The weights come back from the logarithms of their sums. */
DECOMP(flash_backward) {
  fnz_dtype dtype = fnzi_dec_array_dtype(fnzi_dec_given_array(s, "query"));
  check_flash(s);
  fnzi_krn_array *grad = attention_wide(s, fnzi_dec_given_array(s, "grad_out")),
                 *query = attention_wide(s, fnzi_dec_given_array(s, "query")),
                 *key = attention_wide(s, fnzi_dec_given_array(s, "key")),
                 *value = attention_wide(s, fnzi_dec_given_array(s, "value")),
                 *out = attention_wide(s, fnzi_dec_given_array(s, "out"));
  fnzi_krn_array *sums = sums_of(s, query);
  double scale = attention_scale_of(s, query);
  fnzi_krn_array *scores =
      masked(s, fnzi_dec_times(s, STEP(matmul, V(query), V(fnzi_dec_transposed(s, key))), scale));
  fnzi_krn_array *weights = STEP(exp, V(SUB(scores, sums)));
  fnzi_krn_array *of_value = STEP(matmul, V(fnzi_dec_transposed(s, weights)), V(grad));
  fnzi_krn_array *along = STEP(sum__dim_IntList, V(MUL(grad, out)), INTS(-1), B(true));
  fnzi_krn_array *back = SUB(STEP(matmul, V(grad), V(fnzi_dec_transposed(s, value))), along);
  back = fnzi_dec_times(s, MUL(weights, back), scale);
  give_by_length(s, STEP(matmul, V(back), V(key)), dtype);
  give_by_length(s, STEP(matmul, V(fnzi_dec_transposed(s, back)), V(query)), dtype);
  give_by_length(s, of_value, dtype);
}

/* --- Softmax ----------------------------------------------------------------------------- */
enum { OF_SOURCE, OF_KEYS, OF_ALL };

/* The mask of scores (batch, heads, length, length) under its type: one for all batches and heads,
 * one for each batch, or one for each score. */
static fnzi_krn_array *score_mask(fnzi_dec_steps *s, const fnzi_krn_array *scores) {
  fnzi_krn_array *mask = fnzi_dec_given_array(s, "mask");
  int64_t type = fnzi_krn_named_int(s->call, "mask_type", -1);
  uint32_t rank = fnzi_dec_array_rank(scores);
  bool fits = mask && fnzi_same_sizes(&mask->geometry, &scores->geometry);
  if (fnzi_dec_array_dtype(mask) != FNZ_BOOL)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "mask is %s; it must be bool",
                    fnzi_dtype(fnzi_dec_array_dtype(mask))->name);
  if (!fits && (type < OF_SOURCE || type > OF_ALL))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "mask_type is %lld; it must be 0, 1 or 2",
                    (long long)type);
  if (!fits && type != OF_ALL)
    fits = rank == 4 && fnzi_dec_array_rank(mask) == 2 &&
           fnzi_dec_array_size(mask, 0) == fnzi_dec_array_size(scores, type == OF_KEYS ? 0 : 2) &&
           fnzi_dec_array_size(mask, 1) == fnzi_dec_array_size(scores, type == OF_KEYS ? 3 : 2);
  if (!fits)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "mask must have the sizes of self, or be for (batch, heads, length, length) a "
                    "matrix of length by length (mask_type 0) or of batch by length (1)");
  if (type == OF_KEYS && fnzi_dec_array_rank(mask) == 2)
    mask = RESHAPED(mask, fnzi_dec_array_size(mask, 0), 1, 1, fnzi_dec_array_size(mask, 1));
  return mask;
}

static fnz_arg dim_of(fnzi_dec_steps *s, const fnzi_krn_array *a) {
  const fnz_arg *dim = fnzi_krn_named(s->call, "dim");
  return I(dim->tag == FNZ_ARG_NONE ? (int64_t)fnzi_dec_array_rank(a) - 1
                                    : (int64_t)fnzi_dec_given_dim(s, "dim", a));
}

DECOMP(masked_softmax) {
  fnzi_krn_array *self = fnzi_dec_given_array(s, "self"), *mask = score_mask(s, self);
  fnzi_krn_array *scores =
      STEP(masked_fill__Scalar, V(attention_wide(s, self)), V(mask), F(-INFINITY));
  fnzi_krn_array *y = STEP(_softmax, V(scores), dim_of(s, self), B(false));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, y, fnzi_dec_array_dtype(self)));
}

/* Masked elements get no gradient. */
DECOMP(masked_softmax_backward) {
  fnzi_krn_array *given = fnzi_dec_given_array(s, "grad_output"),
                 *mask = fnzi_dec_given_array(s, "mask");
  fnzi_krn_array *grad = STEP(masked_fill__Scalar, V(attention_wide(s, given)), V(mask), F(0)),
                 *y = attention_wide(s, fnzi_dec_given_array(s, "output"));
  y = STEP(masked_fill__Scalar, V(y), V(mask), F(0));
  fnzi_krn_array *product = MUL(grad, y);
  fnz_arg dim = INTS(dim_of(s, given).u.i);
  fnzi_krn_array *sum = STEP(sum__dim_IntList, V(product), dim, B(true));
  fnzi_krn_array *back = SUB(product, MUL(y, sum));
  fnzi_dec_result_give(s, fnzi_dec_cast(s, back, fnzi_dec_array_dtype(given)));
}
