/* conv_kept.c - plans of convolutions, kept by the backend: to make one takes longer than most
 * convolutions. The plan that was not used for the longest time makes room for a new one. And
 * weights in another order, kept by a call that runs again. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/special_reals.h"

enum { MOST_KEPT = 256 };

typedef struct kept {
  uint64_t clock;
  size_t count;
  fnzi_cpu_conv_plan *plans[MOST_KEPT];
  uint64_t used[MOST_KEPT];
} kept;

static void end(fnz_context *ctx, void *data) {
  kept *k = data;
  for (size_t i = 0; i < k->count; i++)
    fnzi_cpu_conv_plan_end(ctx, k->plans[i]);
  fnzi_free(ctx, k, sizeof *k);
}

fnz_status fnzi_cpu_conv_kept(fnzi_krn_call *call, const fnzi_meta_conv *c, bool has_bias,
                              const fnzi_cpu_conv_plan **out) {
  const int lanes = fnzi_cpu_lanes(call);
  fnzi_cpu_conv_plan *made;
  kept *k = call->stock->kept.data;
  *out = NULL;
  if (!k) {
    k = fnzi_resize(call->ctx, NULL, 0, sizeof *k);
    if (!k)
      return fnzi_no_memory(call->ctx);
    memset(k, 0, sizeof *k);
    call->stock->kept = (fnzi_krn_kept){k, end};
  }
  for (size_t i = 0; i < k->count; i++)
    if (fnzi_cpu_conv_plan_serves(k->plans[i], c, has_bias, lanes)) {
      k->used[i] = ++k->clock;
      *out = k->plans[i];
      return FNZ_OK;
    }
  FNZ_TRY(fnzi_cpu_conv_plan_make(call->ctx, c, has_bias, lanes, &made));
  if (!made)
    return FNZ_OK;
  size_t at = 0; /* the plan that was not used for the longest time */
  for (size_t i = 1; i < k->count; i++)
    at = k->used[i] < k->used[at] ? i : at;
  if (k->count < MOST_KEPT)
    at = k->count++;
  else
    fnzi_cpu_conv_plan_end(call->ctx, k->plans[at]);
  k->plans[at] = made, k->used[at] = ++k->clock;
  *out = made;
  return FNZ_OK;
}

/* --- Weights ------------------------------------------------------------------------------- */
typedef struct ordered {
  size_t bytes; /* of all */
} ordered;

static void end_ordered(fnz_context *ctx, void *data) {
  ordered *o = data;
  fnzi_free(ctx, o, o->bytes);
}

fnz_status fnzi_cpu_conv_weight_ordered(fnzi_krn_call *call, size_t bytes, void **out, bool *has) {
  if (!fnzi_cpu_conv_keeps_weight(call))
    return fnzi_arena_take(&call->scratch, bytes / sizeof(float), sizeof(float), out);
  ordered *o = call->own->data;
  *has = o != NULL;
  if (!o) {
    if (!fnzi_add_size(bytes, sizeof *o + FNZI_KRN_ALIGNMENT, &bytes) ||
        !(o = fnzi_resize(call->ctx, NULL, 0, bytes)))
      return fnzi_no_memory(call->ctx);
    o->bytes = bytes;
    *call->own = (fnzi_krn_kept){o, end_ordered};
  }
  *out = fnzi_krn_aligned(o + 1);
  return FNZ_OK;
}
