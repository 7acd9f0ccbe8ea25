/* attention.c - attention as launches: one kernel, or a kernel for pieces of the keys and one that
 * joins them. */
#include "engine/cuda/text_product.h"
#include "engine/device/lowering.h"

#include <math.h>

/* Reads x's dtype and its strides over the result's batch dimensions. If x has fewer heads than the
 * result, consecutive heads of the result share one of x. */
static void read_side(const fnzi_cuda_attention *a, const fnzi_krn_array *x, uint32_t inner,
                      fnzi_cuda_side *out) {
  const fnz_geometry *g = &x->window;
  uint32_t lead = g->rank > inner ? g->rank - inner : 0;
  *out = (fnzi_cuda_side){.dtype = g->dtype};
  for (uint32_t i = 0; i < a->rank; i++) {
    bool inside = i + lead >= a->rank;
    int64_t size = inside ? g->sizes[i + lead - a->rank] : 1;
    out->batch[i] = size == 1 ? 0 : g->strides[i + lead - a->rank];
    out->share[i] = size > 1 && size < a->sizes[i] ? a->sizes[i] / size : 1;
  }
  for (uint32_t k = 0; k < inner && k < g->rank; k++) {
    uint32_t d = g->rank - 1 - k;
    int64_t stride = g->sizes[d] == 1 ? 0 : g->strides[d];
    *(k == 0 && inner > 1 ? &out->col : &out->row) = stride;
  }
}

static bool attention_is_real(fnz_dtype d) {
  return d == FNZ_F32 || d == FNZ_F64 || d == FNZ_F16 || d == FNZ_BF16;
}

static void attention_read(const fnzi_krn_call *call, fnzi_cuda_attention *a) {
  const fnz_geometry *q = fnzi_krn_call_geometry(call, 0), *k = fnzi_krn_call_geometry(call, 1),
                     *out = &call->outputs[0]->geometry;
  a->sum = q->dtype == FNZ_F64 ? FNZ_F64 : FNZ_F32;
  a->rank = out->rank - 2;
  for (uint32_t d = 0; d < a->rank; d++)
    a->sizes[d] = out->sizes[d];
  a->queries = q->sizes[q->rank - 2], a->width = q->sizes[q->rank - 1];
  a->keys = k->sizes[k->rank - 2], a->out_width = out->sizes[out->rank - 1];
  a->causal = fnzi_krn_named_bool(call, "is_causal", false);
  a->scale = fnzi_krn_named_float(call, "scale", 1 / sqrt((double)a->width));
  read_side(a, fnzi_krn_call_input(call, 0), 2, &a->q);
  read_side(a, fnzi_krn_call_input(call, 1), 2, &a->k);
  read_side(a, fnzi_krn_call_input(call, 2), 2, &a->v);
  read_side(a, call->outputs[0], 2, &a->out);
}

static const char *refusal(const fnzi_krn_call *call, const fnzi_krn_array *mask) {
  double width =
      (double)fnzi_krn_call_geometry(call, 0)->sizes[fnzi_krn_call_geometry(call, 0)->rank - 1];
  if (!attention_is_real(fnzi_krn_call_geometry(call, 0)->dtype) ||
      (mask && mask->window.dtype != FNZ_BOOL && !attention_is_real(mask->window.dtype)))
    return "attention over these types is the CPU's";
  if (!isfinite(fnzi_krn_named_float(call, "scale", width > 0 ? 1 : INFINITY)))
    return "the scale is no finite number";
  return NULL;
}

/* Fills in the operands in the kernel's order, except the mask of elements that dropout keeps.
 * Returns false if an operand is in no buffer. The second result is left out if nothing reads
 * it. */
static bool place(const fnzi_dev_builder *m, const fnzi_krn_call *call, const fnzi_krn_array *mask,
                  fnzi_cuda_attention *a, fnzi_dev_operand *operands, uint32_t *count) {
  const fnzi_krn_array *log = call->noutputs > 1 ? call->outputs[1] : NULL;
  bool placed = fnzi_dev_operand_of(m, call->outputs[0], &operands[3]);
  for (size_t k = 0; k < 3 && placed; k++)
    placed = fnzi_dev_operand_of(m, fnzi_krn_call_input(call, k), &operands[k]);
  *count = 4;
  a->has_mask = mask != NULL;
  if (mask && placed) {
    placed = fnzi_dev_operand_of(m, mask, &operands[(*count)++]);
    read_side(a, mask, 2, &a->mask);
  }
  a->has_log = log && fnzi_dev_operand_of(m, log, &operands[*count]);
  if (a->has_log)
    read_side(a, log, 1, &a->log);
  *count += a->has_log;
  return placed;
}

static fnz_status attend_pieces(fnzi_dev_builder *m, const fnzi_cuda_attention *a,
                                fnzi_dev_operand operands[7], fnzi_dev_work *out) {
  fnzi_dev_operand kept = {FNZI_DEV_AT_SCRATCH, 0};
  fnzi_dev_operand joined[] = {kept, operands[3], operands[4 + a->has_mask]};
  size_t bytes;
  uint32_t kernel;
  int64_t blocks;
  FNZ_TRY(fnzi_cuda_attention_kept(m->ws->ctx, a, &bytes));
  FNZ_TRY(fnzi_dev_work_scratch(m, out, bytes, &kept.offset));
  joined[0] = operands[3] = kept;
  FNZ_TRY(fnzi_cuda_text_attention(m->ws->ctx, &m->text, a, &kernel, &blocks));
  FNZ_TRY(fnzi_dev_work_launch(m, out, kernel, blocks, operands, 4u + a->has_mask + a->drops));
  FNZ_TRY(fnzi_cuda_text_attention_join(m->ws->ctx, &m->text, a, &kernel, &blocks));
  return fnzi_dev_work_launch(m, out, kernel, blocks, joined, 2u + a->has_log);
}

fnz_status fnzi_dev_work_attention(fnzi_dev_builder *m, const fnzi_krn_call *call,
                                   const fnzi_dev_operand *kept, double factor, fnzi_dev_work *out,
                                   const char **why) {
  const fnzi_krn_array *mask = fnzi_krn_named_array(call, "attn_mask");
  fnzi_cuda_attention a = {.rank = 0};
  fnzi_dev_operand operands[7];
  uint32_t count, kernel;
  int64_t blocks;
  *why = refusal(call, mask);
  if (*why)
    return FNZ_OK;
  attention_read(call, &a);
  if (!place(m, call, mask, &a, operands, &count)) {
    *why = "an operand has no place in a buffer";
    return FNZ_OK;
  }
  if (kept) {
    a.drops = true;
    a.factor = factor;
    operands[count++] = *kept;
  }
  out->on_device = true;
  if (fnzi_krn_array_numel(call->outputs[0]) == 0 && !a.has_log)
    return FNZ_OK;
  if (a.out_width == 0 || a.queries == 0) {
    *why = "attention without elements is the CPU's";
    return FNZ_OK;
  }
  a.pieces = fnzi_cuda_attention_pieces(&a);
  if (a.pieces > 1)
    return attend_pieces(m, &a, operands, out);
  FNZ_TRY(fnzi_cuda_text_attention(m->ws->ctx, &m->text, &a, &kernel, &blocks));
  return fnzi_dev_work_launch(m, out, kernel, blocks, operands, count);
}
