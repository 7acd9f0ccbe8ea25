/* text_attention.c - attention as kernels: writes the functions for its operands that attend.cu
 * calls. */
#include "engine/cuda/text_product.h"
#include "engine/cuda/text_put.h"

#include <stdio.h>

enum { TILE = 64, THREADS = 256, VALUES = 2 }; /* of attend.cu */
/* Columns of tiles, and of lanes; queries that are few; keys that a piece has at least, and blocks
 * that a GPU has enough of. */
enum { MOST_PARTS = 4, MOST_WIDE = 8, FEW = 8, PIECE = 128, BLOCKS = 1024 };

/* --- Shares of the work ----------------------------------------------------------------------- */
static int64_t attention_batch_of(const fnzi_cuda_attention *a) {
  int64_t heads = 1;
  for (uint32_t d = 0; d < a->rank; d++)
    if (!fnzi_mul_i64(heads, a->sizes[d], &heads))
      return -1;
  return heads;
}

/* Lanes of 32 that a row of q, k or v has at most; a power of two. */
static int64_t wide_of(const fnzi_cuda_attention *a) {
  int64_t most = a->width > a->out_width ? a->width : a->out_width, wide = 1;
  while (wide < (most + 31) / 32 && wide <= MOST_WIDE)
    wide += wide;
  return wide;
}

int64_t fnzi_cuda_attention_pieces(const fnzi_cuda_attention *a) {
  int64_t rows, most = (a->keys + PIECE - 1) / PIECE;
  if (a->queries > FEW || wide_of(a) > MOST_WIDE ||
      !fnzi_mul_i64(attention_batch_of(a), a->queries, &rows) || rows <= 0)
    return 0;
  int64_t pieces = (BLOCKS - 1) / rows + 1;
  return most <= 1 ? 1 : pieces < most ? pieces : most;
}

fnz_status fnzi_cuda_attention_kept(fnz_context *ctx, const fnzi_cuda_attention *a, size_t *bytes) {
  int64_t count;
  if (!fnzi_mul_i64(attention_batch_of(a), a->queries, &count) ||
      !fnzi_mul_i64(count, a->pieces, &count) ||
      !fnzi_mul_i64(count, VALUES + a->out_width, &count) ||
      !fnzi_mul_size((size_t)count, fnzi_dtype(a->sum)->bytes, bytes))
    return fnzi_no_memory(ctx);
  return FNZ_OK;
}

/* --- Operands --------------------------------------------------------------------------------- */

static fnz_status attention_put_at(const fnzi_cuda_writer *w, const fnzi_cuda_attention *a,
                                   const fnzi_cuda_side *s, int operand, const char *row,
                                   const char *col) {
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
  FNZ_TRY(attention_put_at(w, a, s, operand, "i", "d"));
  FNZ_TRY(fnzi_cuda_put_read(w, a->sum, s->dtype));
  return fnzi_put_text(w->ctx, w->out, "  }\n");
}

/* Writes dropped(): an exponential times the dropout factor, or 0 if dropout drops it. */
static fnz_status put_dropped(const fnzi_cuda_writer *w, const fnzi_cuda_attention *a,
                              int operand) {
  PUT(w,
      "  enum { drops = %d };\n"
      "  __device__ sum dropped(int64_t h, int64_t i, int64_t j, sum v) const {\n",
      a->drops);
  if (!a->drops)
    return fnzi_put_text(w->ctx, w->out, "    return v;\n  }\n");
  PUT(w, "    const char *at = p_.at[%d] + ((h * %s + i) * %s + j);\n", operand,
      WORD(w->text, a->queries), WORD(w->text, a->keys));
  PUT(w, "    return v * (LOAD(uint8_t, at) ? (sum)");
  FNZ_TRY(fnzi_cuda_put_double(w, a->factor));
  return fnzi_put_text(w->ctx, w->out, " : (sum)0);\n  }\n");
}

static fnz_status put_results(const fnzi_cuda_writer *w, const fnzi_cuda_attention *a, int out,
                              int log) {
  PUT(w, "  __device__ void put(int64_t h, int64_t i, int64_t d, sum v) const {\n");
  FNZ_TRY(attention_put_at(w, a, &a->out, out, "i", "d"));
  FNZ_TRY(fnzi_cuda_put_store(w, a->sum, a->out.dtype));
  PUT(w, "  }\n  __device__ void put_log(int64_t h, int64_t i, sum v) const {\n");
  if (a->has_log) {
    FNZ_TRY(attention_put_at(w, a, &a->log, log, "i", "0"));
    FNZ_TRY(fnzi_cuda_put_store(w, a->sum, a->log.dtype));
  }
  return fnzi_put_text(w->ctx, w->out, "  }\n");
}

/* Writes keep() or kept(), which store or load the VALUES + out_width values of a piece
 * (attend.cu). */
static fnz_status attention_put_kept(const fnzi_cuda_writer *w, const fnzi_cuda_attention *a,
                                     int operand, bool reads) {
  PUT(w, "  __device__ %s(int64_t piece, int64_t k%s) const {\n    %schar *at = p_.at[%d]",
      reads ? "sum kept" : "void keep", reads ? "" : ", sum v", reads ? "const " : "", operand);
  FNZ_TRY(fnzi_cuda_put_step(w, "piece", VALUES + a->out_width, a->sum));
  FNZ_TRY(fnzi_cuda_put_step(w, "k", 1, a->sum));
  PUT(w, ";\n");
  FNZ_TRY(reads ? fnzi_cuda_put_read(w, a->sum, a->sum) : fnzi_cuda_put_store(w, a->sum, a->sum));
  return fnzi_put_text(w->ctx, w->out, "  }\n");
}

static fnz_status open_operands(fnzi_cuda_writer *w, const fnzi_cuda_attention *a) {
  int64_t heads = attention_batch_of(a);
  if (heads < 0)
    return fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "a batch leaves 64 bits");
  w->is_small = heads <= INT32_MAX;
  PUT(w, "  struct operands {\n  typedef %s sum;\n  decltype(p) p_;\n", fnzi_cuda_sum_type(a->sum));
  return fnzi_cuda_put_table(w);
}

static fnz_status put_operands(fnzi_cuda_writer *w, const fnzi_cuda_attention *a) {
  FNZ_TRY(open_operands(w, a));
  FNZ_TRY(put_side(w, a, &a->q, 0, "q"));
  FNZ_TRY(put_side(w, a, &a->k, 1, "k"));
  FNZ_TRY(put_side(w, a, &a->v, 2, "v"));
  if (a->has_mask)
    FNZ_TRY(put_side(w, a, &a->mask, 4, "mask"));
  PUT(w,
      "  __device__ sum masked(int64_t h, int64_t i, int64_t j, sum v) const {\n    return %s;\n"
      "  }\n",
      !a->has_mask                ? "v"
      : a->mask.dtype == FNZ_BOOL ? "mask(h, i, j) != 0 ? v : -(sum)INFINITY"
                                  : "v + mask(h, i, j)");
  FNZ_TRY(put_dropped(w, a, 4 + a->has_mask + (a->has_log && a->pieces <= 1)));
  if (a->pieces > 1)
    FNZ_TRY(attention_put_kept(w, a, 3, false));
  else
    FNZ_TRY(put_results(w, a, 3, 4 + a->has_mask));
  return fnzi_cuda_put_operands(w);
}

/* --- Kernels ---------------------------------------------------------------------------------- */
static fnz_status attention_put_call(const fnzi_cuda_writer *w, const fnzi_cuda_attention *a,
                                     int64_t wide) {
  const int64_t counts[] = {attention_batch_of(a), a->queries, a->keys, a->width, a->out_width};
  if (a->pieces > 0)
    PUT(w, "  attention::attend_few<%lld, attention::%s<operands>>(o, {", (long long)wide_of(a),
        a->pieces > 1 ? "part" : "whole");
  else
    PUT(w, "  attention::attend<%d, %lld>(o, {", a->sum == FNZ_F64 ? 8 : 16, (long long)wide);
  for (int k = 0; k < 5; k++)
    PUT(w, "%s, ", WORD(w->text, counts[k]));
  PUT(w, "(operands::sum)");
  FNZ_TRY(fnzi_cuda_put_double(w, a->scale));
  PUT(w, ", %s", a->causal ? "true" : "false");
  if (a->pieces > 0)
    PUT(w, ", %s", WORD(w->text, a->pieces));
  return fnzi_put_text(w->ctx, w->out, "});\n");
}

static fnz_status put_attention(fnzi_cuda_writer *w, const fnzi_cuda_attention *a,
                                int64_t *blocks) {
  int64_t parts = (a->out_width + TILE - 1) / TILE;
  int64_t wide = parts < MOST_PARTS ? parts : MOST_PARTS;
  FNZ_TRY(put_operands(w, a));
  FNZ_TRY(attention_put_call(w, a, wide));
  int64_t rows = a->pieces > 0 ? a->queries : (a->queries + TILE - 1) / TILE;
  int64_t across = a->pieces > 0 ? a->pieces : (parts + wide - 1) / wide;
  if (!fnzi_mul_i64(attention_batch_of(a), rows, blocks) || !fnzi_mul_i64(*blocks, across, blocks))
    return fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "attention has too many blocks");
  return FNZ_OK;
}

static fnz_status put_join(fnzi_cuda_writer *w, const fnzi_cuda_attention *a, int64_t *blocks) {
  FNZ_TRY(open_operands(w, a));
  FNZ_TRY(attention_put_kept(w, a, 0, true));
  FNZ_TRY(put_results(w, a, 1, 2));
  FNZ_TRY(fnzi_cuda_put_operands(w));
  const int64_t counts[] = {attention_batch_of(a), a->queries, a->out_width, a->pieces};
  PUT(w, "  attention::attend_pieces(o");
  for (int k = 0; k < 4; k++)
    PUT(w, ", %s", WORD(w->text, counts[k]));
  if (!fnzi_mul_i64(counts[0], counts[1], blocks))
    return fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "attention has too many blocks");
  return fnzi_put_text(w->ctx, w->out, ");\n");
}

/* joins: the kernel that joins the results of blocks. */
static fnz_status attention_make(fnz_context *ctx, fnzi_cuda_text *text,
                                 const fnzi_cuda_attention *a, bool joins, uint32_t *kernel,
                                 int64_t *blocks) {
  uint32_t computes = 4u + a->has_mask + (a->has_log && a->pieces <= 1) + a->drops;
  const fnzi_cuda_kernel shape = {NULL, joins ? 2u + a->has_log : computes, THREADS,
                                  FNZI_CUDA_GRID_BLOCKS, 0};
  fnz_buffer body = {.data = NULL};
  fnzi_cuda_writer w = {.ctx = ctx, .out = &body, .text = text};
  fnz_status status = joins ? put_join(&w, a, blocks) : put_attention(&w, a, blocks);
  if (status == FNZ_OK)
    status = fnzi_cuda_text_use(ctx, text, fnzi_cuda_text_attend);
  if (status == FNZ_OK)
    status = fnzi_cuda_text_kernel(ctx, text, &body, &shape, kernel);
  fnz_buffer_free(ctx, &body);
  return status;
}

fnz_status fnzi_cuda_text_attention(fnz_context *ctx, fnzi_cuda_text *text,
                                    const fnzi_cuda_attention *a, uint32_t *kernel,
                                    int64_t *blocks) {
  return attention_make(ctx, text, a, false, kernel, blocks);
}

fnz_status fnzi_cuda_text_attention_join(fnz_context *ctx, fnzi_cuda_text *text,
                                         const fnzi_cuda_attention *a, uint32_t *kernel,
                                         int64_t *blocks) {
  return attention_make(ctx, text, a, true, kernel, blocks);
}
