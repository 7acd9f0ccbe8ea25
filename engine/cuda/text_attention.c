/* text_attention.c - attention as a kernel: where its operands lie, as the functions that
 * attend.cu asks for. */
#include "engine/cuda/text_product.h"
#include "engine/cuda/text_put.h"

#include <stdio.h>

enum { TILE = 64, THREADS = 256, MOST_PARTS = 4 }; /* of attend.cu */

static fnz_status put_at(const fnzi_cuda_writer *w, const fnzi_cuda_attention *a,
                         const fnzi_cuda_side *s, int operand, const char *row, const char *col) {
  char index[192], head[128];
  int64_t inner = 1;
  PUT(w, "    %schar *at = p_.at[%d]", s == &a->out || s == &a->log ? "" : "const ", operand);
  for (uint32_t d = a->rank; d-- > 0;) {
    if (s->batch[d] != 0) {
      snprintf(head, sizeof head, "(%s)",
               fnzi_cuda_word_digit(w->text, "h", inner, a->sizes[d], w->is_small).text);
      snprintf(index, sizeof index, "(%s / %lld)", head, (long long)s->share[d]);
      FNZ_TRY(fnzi_cuda_put_step(w, index, s->batch[d], s->dtype));
    }
    if (!fnzi_mul_i64(inner, a->sizes[d], &inner))
      return fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "a batch leaves 64 bits");
  }
  FNZ_TRY(fnzi_cuda_put_step(w, row, s->row, s->dtype));
  FNZ_TRY(fnzi_cuda_put_step(w, col, s->col, s->dtype));
  return fnzi_put_text(w->ctx, w->out, ";\n");
}

static fnz_status put_side(const fnzi_cuda_writer *w, const fnzi_cuda_attention *a,
                           const fnzi_cuda_side *s, int operand, const char *name) {
  PUT(w, "  __device__ sum %s(int64_t h, int64_t i, int64_t d) const {\n", name);
  FNZ_TRY(put_at(w, a, s, operand, "i", "d"));
  FNZ_TRY(fnzi_cuda_put_read(w, a->sum, s->dtype));
  return fnzi_put_text(w->ctx, w->out, "  }\n");
}

static fnz_status put_mask(const fnzi_cuda_writer *w, const fnzi_cuda_attention *a) {
  if (a->has_mask)
    FNZ_TRY(put_side(w, a, &a->mask, 4, "mask"));
  PUT(w,
      "  __device__ sum masked(int64_t h, int64_t i, int64_t j, sum v) const {\n    return %s;\n"
      "  }\n",
      !a->has_mask                ? "v"
      : a->mask.dtype == FNZ_BOOL ? "mask(h, i, j) != 0 ? v : -(sum)INFINITY"
                                  : "v + mask(h, i, j)");
  return FNZ_OK;
}

static fnz_status put_results(const fnzi_cuda_writer *w, const fnzi_cuda_attention *a) {
  PUT(w, "  __device__ void put(int64_t h, int64_t i, int64_t d, sum v) const {\n");
  FNZ_TRY(put_at(w, a, &a->out, 3, "i", "d"));
  FNZ_TRY(fnzi_cuda_put_store(w, a->sum, a->out.dtype));
  PUT(w, "  }\n  __device__ void put_log(int64_t h, int64_t i, sum v) const {\n");
  if (a->has_log) {
    FNZ_TRY(put_at(w, a, &a->log, 4 + a->has_mask, "i", "0"));
    FNZ_TRY(fnzi_cuda_put_store(w, a->sum, a->log.dtype));
  }
  return fnzi_put_text(w->ctx, w->out, "  }\n");
}

static fnz_status put_call(const fnzi_cuda_writer *w, const fnzi_cuda_attention *a, int64_t wide,
                           const int64_t counts[5]) {
  int64_t bits;
  memcpy(&bits, &a->scale, sizeof bits);
  PUT(w, "  attention::attend<%d, %lld>(o", a->sum == FNZ_F64 ? 8 : 16, (long long)wide);
  for (int k = 0; k < 5; k++)
    PUT(w, ", %s", WORD(w->text, counts[k]));
  if (w->text->is_general)
    PUT(w, ", (operands::sum)__longlong_as_double(%s)", WORD(w->text, bits));
  else
    PUT(w, ", (operands::sum)%a", a->scale);
  PUT(w, ", %s);\n", a->causal ? "true" : "false");
  return FNZ_OK;
}

static fnz_status put_body(fnzi_cuda_writer *w, const fnzi_cuda_attention *a, int64_t *blocks) {
  int64_t heads = 1, parts = (a->out_width + TILE - 1) / TILE;
  int64_t wide = parts < MOST_PARTS ? parts : MOST_PARTS;
  for (uint32_t d = 0; d < a->rank; d++)
    if (!fnzi_mul_i64(heads, a->sizes[d], &heads))
      return fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "a batch leaves 64 bits");
  w->is_small = heads <= INT32_MAX;
  PUT(w, "  struct operands {\n  typedef %s sum;\n  decltype(p) p_;\n", fnzi_cuda_sum_type(a->sum));
  FNZ_TRY(fnzi_cuda_put_table(w));
  FNZ_TRY(put_side(w, a, &a->q, 0, "q"));
  FNZ_TRY(put_side(w, a, &a->k, 1, "k"));
  FNZ_TRY(put_side(w, a, &a->v, 2, "v"));
  FNZ_TRY(put_mask(w, a));
  FNZ_TRY(put_results(w, a));
  FNZ_TRY(fnzi_cuda_put_operands(w));
  const int64_t counts[] = {heads, a->queries, a->keys, a->width, a->out_width};
  FNZ_TRY(put_call(w, a, wide, counts));
  if (!fnzi_mul_i64(heads, (a->queries + TILE - 1) / TILE, blocks) ||
      !fnzi_mul_i64(*blocks, (parts + wide - 1) / wide, blocks))
    return fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "attention has too many blocks");
  return FNZ_OK;
}

fnz_status fnzi_cuda_text_attention(fnz_context *ctx, fnzi_cuda_text *text,
                                    const fnzi_cuda_attention *a, uint32_t *kernel,
                                    int64_t *blocks) {
  const fnzi_cuda_kernel shape = {NULL, 4u + a->has_mask + a->has_log, THREADS,
                                  FNZI_CUDA_GRID_BLOCKS, 0};
  fnz_buffer body = {.data = NULL};
  fnzi_cuda_writer w = {.ctx = ctx, .out = &body, .text = text};
  fnz_status status = put_body(&w, a, blocks);
  if (status == FNZ_OK)
    status = fnzi_cuda_text_use(ctx, text, fnzi_cuda_text_attend);
  if (status == FNZ_OK)
    status = fnzi_cuda_text_kernel(ctx, text, &body, &shape, kernel);
  fnz_buffer_free(ctx, &body);
  return status;
}
