/* nn_attention.c - shapes of scaled dot product attention. */
#include "kernels/core/core.h"

static fnz_status refuse_pair(fnzi_krn_call *call, const char *what, int64_t a, int64_t b) {
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%s: %lld and %lld do not fit", what,
                              (long long)a, (long long)b);
}

/* The batch dimensions; with grouped heads the heads of key and value count as the query's. `sizes`
 * is memory for a changed copy. */
static fnz_status attention_batch_of(fnzi_krn_call *call, const fnz_geometry *g,
                                     const fnz_geometry *q, bool grouped, int64_t *sizes,
                                     fnz_geometry *out) {
  *out = *g;
  out->rank = g->rank - 2;
  if (!grouped || g->rank < 3 || q->rank < 3)
    return FNZ_OK;
  int64_t heads = g->sizes[g->rank - 3], wanted = q->sizes[q->rank - 3];
  if (heads < 1 || wanted % heads)
    return refuse_pair(call, "heads of query and of key or value", wanted, heads);
  memcpy(sizes, g->sizes, out->rank * sizeof *sizes);
  sizes[out->rank - 1] = wanted;
  out->sizes = sizes;
  return FNZ_OK;
}

/* The result's sizes: batch, query length, width of the value. */
static fnz_status attend(fnzi_krn_call *call, int64_t *sizes, uint32_t *rank) {
  const fnz_geometry *q = fnzi_krn_call_geometry(call, 0), *k = fnzi_krn_call_geometry(call, 1);
  const fnz_geometry *v = fnzi_krn_call_geometry(call, 2);
  bool grouped = fnzi_krn_named_bool(call, "enable_gqa", false);
  int64_t room[2][FNZ_MAX_RANK];
  fnz_geometry batch[3];
  if (q->rank < 2 || k->rank < 2 || v->rank < 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "query, key and value need 2 or more dimensions");
  if (q->dtype != k->dtype || q->dtype != v->dtype)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "query is %s, key %s and value %s; cast them",
                                fnzi_dtype(q->dtype)->name, fnzi_dtype(k->dtype)->name,
                                fnzi_dtype(v->dtype)->name);
  int64_t q_width = q->sizes[q->rank - 1], k_width = k->sizes[k->rank - 1];
  int64_t k_count = k->sizes[k->rank - 2], v_count = v->sizes[v->rank - 2];
  if (q_width != k_width)
    return refuse_pair(call, "widths of query and key", q_width, k_width);
  if (k_count != v_count)
    return refuse_pair(call, "lengths of key and value", k_count, v_count);
  FNZ_TRY(attention_batch_of(call, q, q, false, NULL, &batch[0]));
  FNZ_TRY(attention_batch_of(call, k, q, grouped, room[0], &batch[1]));
  FNZ_TRY(attention_batch_of(call, v, q, grouped, room[1], &batch[2]));
  const fnz_geometry *const all[] = {&batch[0], &batch[1], &batch[2]};
  FNZ_TRY(fnzi_meta_broadcast(call, all, 3, rank, sizes));
  if (*rank > FNZ_MAX_RANK - 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_LIMIT, "more than %d dimensions", FNZ_MAX_RANK);
  sizes[(*rank)++] = q->sizes[q->rank - 2];
  sizes[(*rank)++] = v->sizes[v->rank - 1];
  return FNZ_OK;
}

/* A mask must broadcast to (batch, query length, key length). */
static fnz_status check_mask(fnzi_krn_call *call, const int64_t *sizes, uint32_t rank) {
  const fnzi_krn_array *mask = fnzi_krn_named_array(call, "attn_mask");
  if (!mask)
    return FNZ_OK;
  const fnz_geometry *m = &mask->geometry, *k = fnzi_krn_call_geometry(call, 1);
  if (fnzi_krn_named_bool(call, "is_causal", false))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "attn_mask and is_causal cannot both be given");
  bool fits = m->rank <= rank;
  for (uint32_t i = 0; fits && i < m->rank; i++) {
    int64_t want = i + 1 == m->rank ? k->sizes[k->rank - 2] : sizes[rank - m->rank + i];
    fits = m->sizes[i] == want || m->sizes[i] == 1;
  }
  if (!fits)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "attn_mask does not broadcast to the scores");
  return FNZ_OK;
}

/* `fused`: the result lies in memory as the query does. */
static fnz_status attention_add_result(fnzi_krn_call *call, int64_t *sizes, uint32_t *rank,
                                       bool fused) {
  const fnz_geometry *q = fnzi_krn_call_geometry(call, 0);
  FNZ_TRY(attend(call, sizes, rank));
  FNZ_TRY(check_mask(call, sizes, *rank));
  /* Eager's fused kernel wants four dimensions, and neighbours along the width. */
  bool fits = *rank == 4;
  for (size_t i = 0; fits && i < 3; i++) {
    const fnz_geometry *g = fnzi_krn_call_geometry(call, i);
    fits = g->rank == 4 && g->strides[3] == 1;
  }
  fused = (fused || fits) && *rank == q->rank;
  const fnz_geometry like = {.rank = *rank, .sizes = sizes, .strides = q->strides};
  return fused ? fnzi_shape_add_like(call, q->dtype, &like)
               : fnzi_shape_add(call, q->dtype, *rank, sizes, NULL);
}

fnz_status fnzi_shape_attention(fnzi_krn_call *call) {
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank;
  return attention_add_result(call, sizes, &rank, false);
}

/* The second result is logsumexp of the scores, (batch, heads, query length) in float. */
fnz_status fnzi_shape_flash_attention(fnzi_krn_call *call) {
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t rank;
  FNZ_TRY(attention_add_result(call, sizes, &rank, true));
  if (rank != 4)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "query has %u dimensions; it needs 4",
                                rank);
  const int64_t strides[] = {sizes[1] * sizes[2], 1, sizes[1]};
  fnz_dtype dtype = fnzi_krn_call_geometry(call, 0)->dtype;
  return fnzi_shape_add(call, dtype == FNZ_F64 ? dtype : FNZ_F32, 3, sizes, strides);
}
