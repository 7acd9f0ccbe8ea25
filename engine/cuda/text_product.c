/* text_product.c - products and convolutions as kernels: writes the functions for their operands
 * that product.cu calls. */
#include "engine/cuda/text_product.h"
#include "engine/cuda/text_put.h"

#include <stdio.h>

enum { TILE = 64, THREADS = 256 }; /* of product.cu */
enum { INDEX_TEXT = 256 };

/* Multiplies; INT64_MAX if the product overflows. A launch of that size never starts. */
static int64_t times(int64_t a, int64_t b) {
  int64_t all;
  return fnzi_mul_i64(a, b, &all) ? all : INT64_MAX;
}

/* Divides i by `by`; w->is_small says whether i is below 2^31. */
static fnzi_cuda_word over(const fnzi_cuda_writer *w, const char *i, int64_t by) {
  return fnzi_cuda_word_over(w->text, i, by, w->is_small);
}

/* --- Products --------------------------------------------------------------------------------- */
/* The address of an element of a factor, or of the result, at the index (row, col). */
static fnz_status product_put_at(const fnzi_cuda_writer *w, const fnzi_cuda_products *p,
                                 const fnzi_cuda_factor *f, int operand, const char *row,
                                 const char *col) {
  char index[128];
  int64_t inner = 1;
  PUT(w, "    %schar *at = p_.at[%d]", f == &p->d ? "" : "const ", operand);
  for (uint32_t d = p->rank; d-- > 0;) {
    if (f->batch[d] != 0) {
      snprintf(index, sizeof index, "(%s)",
               fnzi_cuda_word_digit(w->text, "p", inner, p->sizes[d], w->is_small).text);
      FNZ_TRY(fnzi_cuda_put_step(w, index, f->batch[d], f->dtype));
    }
    if (!fnzi_mul_i64(inner, p->sizes[d], &inner))
      return fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "a batch leaves 64 bits");
  }
  FNZ_TRY(fnzi_cuda_put_step(w, row, f->row, f->dtype));
  return fnzi_cuda_put_step(w, col, f->col, f->dtype);
}

/* Writes a factor's function. If several products are added up, k runs over all of them. */
static fnz_status put_factor(const fnzi_cuda_writer *w, const fnzi_cuda_products *p, bool is_left) {
  const fnzi_cuda_factor *f = is_left ? &p->a : &p->b;
  const char *within = p->added > 1 ? "within" : "k";
  PUT(w, "  __device__ sum %s const {\n",
      is_left ? "a(int64_t p, int64_t i, int64_t k)" : "b(int64_t p, int64_t k, int64_t j)");
  if (p->added > 1) {
    PUT(w, "    const int64_t which = %s, ", over(w, "k", p->k).text);
    PUT(w, "within = k - which * %s;\n", WORD(w->text, p->k));
  }
  FNZ_TRY(is_left ? product_put_at(w, p, f, 0, "i", within)
                  : product_put_at(w, p, f, 1, within, "j"));
  if (p->added > 1)
    FNZ_TRY(fnzi_cuda_put_step(w, "which", f->added, f->dtype));
  PUT(w, ";\n");
  FNZ_TRY(fnzi_cuda_put_read(w, p->sum, f->dtype));
  PUT(w, "  }\n");
  return FNZ_OK;
}

static fnz_status put_number(const fnzi_cuda_writer *w, fnz_dtype sum, double number) {
  if (sum == FNZ_I64) {
    PUT(w, "(uint64_t)%s", WORD(w->text, (int64_t)number));
    return FNZ_OK;
  }
  PUT(w, "(%s)", sum == FNZ_F32 || sum == FNZ_C64 ? "float" : "double");
  return fnzi_cuda_put_double(w, number);
}

static fnz_status put_result(const fnzi_cuda_writer *w, const fnzi_cuda_products *p) {
  PUT(w, "  __device__ void put(int64_t p, int64_t i, int64_t j, sum v) const {\n");
  FNZ_TRY(product_put_at(w, p, &p->d, 2, "i", "j"));
  PUT(w, ";\n");
  if (p->alpha != 1) {
    PUT(w, "    v = scaled(v, ");
    FNZ_TRY(put_number(w, p->sum, p->alpha));
    PUT(w, ");\n");
  }
  if (p->beta != 0) {
    PUT(w, "    v = sum_of(v, scaled(c(p, i, j), ");
    FNZ_TRY(put_number(w, p->sum, p->beta));
    PUT(w, "));\n");
  }
  FNZ_TRY(fnzi_cuda_put_store(w, p->sum, p->d.dtype));
  PUT(w, "  }\n");
  return FNZ_OK;
}

/* A kernel that looks at the flag has one operand more. */
static fnz_status put_open(const fnzi_cuda_writer *w, fnz_dtype sum, bool left_along,
                           bool right_along) {
  PUT(w,
      "  using namespace product;\n  struct operands {\n  typedef %s sum;\n"
      "  enum { left_along = %d, right_along = %d };\n  decltype(p) p_;\n",
      fnzi_cuda_sum_type(sum), left_along, right_along);
  return fnzi_cuda_put_table(w);
}

static fnz_status product_put_call(const fnzi_cuda_writer *w, const char *kernel,
                                   const int64_t counts[4]) {
  PUT(w, "  product_by_%s(o", kernel);
  for (int k = 0; k < 4; k++)
    PUT(w, ", %s", WORD(w->text, counts[k]));
  PUT(w, ");\n");
  return FNZ_OK;
}

static fnz_status put_products(fnzi_cuda_writer *w, const fnzi_cuda_products *p, int64_t *blocks) {
  int64_t batch = 1, depth = times(p->k, p->added);
  for (uint32_t d = 0; d < p->rank; d++)
    batch = times(batch, p->sizes[d]);
  /* Whether a block should compute one sum at a time: for few results, or for few rows or
   * columns if the other factor is contiguous along k. */
  enum { FEW = 4, DEEP = 128, FEW_RESULTS = 64 };
  bool few = (p->m <= FEW && p->b.row == 1) || (p->n <= FEW && p->a.col == 1) ||
             (p->m <= FEW_RESULTS && p->n <= FEW_RESULTS / p->m && batch <= FEW);
  bool sums = depth >= DEEP && few;
  w->is_small = batch <= INT32_MAX && depth <= INT32_MAX;
  int64_t down = (p->m + TILE - 1) / TILE, across = (p->n + TILE - 1) / TILE;
  FNZ_TRY(put_open(w, p->sum, p->a.col == 1, p->b.row == 1 && p->b.col != 1));
  FNZ_TRY(put_factor(w, p, true));
  FNZ_TRY(put_factor(w, p, false));
  if (p->beta != 0) {
    PUT(w, "  __device__ sum c(int64_t p, int64_t i, int64_t j) const {\n");
    FNZ_TRY(product_put_at(w, p, &p->c, 3, "i", "j"));
    PUT(w, ";\n");
    FNZ_TRY(fnzi_cuda_put_read(w, p->sum, p->c.dtype));
    PUT(w, "  }\n");
  }
  FNZ_TRY(put_result(w, p));
  FNZ_TRY(fnzi_cuda_put_operands(w));
  const int64_t counts[] = {batch, p->m, p->n, depth};
  FNZ_TRY(product_put_call(w, sums ? "sums" : "tiles", counts));
  if (!fnzi_mul_i64(batch, sums ? p->m : down, blocks) ||
      !fnzi_mul_i64(*blocks, sums ? p->n : across, blocks))
    return fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "a product has too many blocks");
  return FNZ_OK;
}

static fnz_status product_add(fnz_context *ctx, fnzi_cuda_text *text, const fnz_buffer *body,
                              uint32_t operands, uint32_t *kernel) {
  const fnzi_cuda_kernel shape = {NULL, operands, THREADS, FNZI_CUDA_GRID_BLOCKS, 0};
  FNZ_TRY(fnzi_cuda_text_use(ctx, text, fnzi_cuda_text_product));
  return fnzi_cuda_text_kernel(ctx, text, body, &shape, kernel);
}

fnz_status fnzi_cuda_text_products(fnz_context *ctx, fnzi_cuda_text *text,
                                   const fnzi_cuda_products *products, uint32_t *kernel,
                                   int64_t *blocks) {
  fnz_buffer body = {.data = NULL};
  fnzi_cuda_writer w = {.ctx = ctx, .out = &body, .text = text};
  fnz_status status = put_products(&w, products, blocks);
  if (status == FNZ_OK)
    status = product_add(ctx, text, &body, products->beta != 0 ? 4 : 3, kernel);
  fnz_buffer_free(ctx, &body);
  return status;
}

/* --- Convolutions -------------------------------------------------------------------------------
 * Of a sample and a group: rows are channels of the result, columns its places; k goes over
 * channels of x and elements of the kernel. */
static int64_t volume(const fnzi_cuda_conv *c, const int64_t *sizes) {
  int64_t all = 1;
  for (uint32_t d = 0; d < c->spatial; d++)
    all = times(all, sizes[2 + d]);
  return all;
}

/* The index along dimension d of what counts all of them row-major, such as "(j / 7 % 7)". */
static void index_of(const fnzi_cuda_writer *w, const fnzi_cuda_conv *c, const int64_t *sizes,
                     const char *all, uint32_t d, char out[INDEX_TEXT]) {
  int64_t inner = 1;
  for (uint32_t e = d + 1; e < c->spatial; e++)
    inner = times(inner, sizes[2 + e]);
  snprintf(out, INDEX_TEXT, "(%s)",
           fnzi_cuda_word_digit(w->text, all, inner, sizes[2 + d], w->is_small).text);
}

/* Return the sample, and the group, of index p over samples and groups. */
static fnzi_cuda_word sample_of(const fnzi_cuda_writer *w, const fnzi_cuda_conv *c) {
  return over(w, "p", c->groups);
}
static fnzi_cuda_word group_of(const fnzi_cuda_writer *w, const fnzi_cuda_conv *c) {
  return fnzi_cuda_word_digit(w->text, "p", 1, c->groups, w->is_small);
}

/* Writes the channel of k, and its element e of the kernel. */
static fnz_status put_channel(const fnzi_cuda_writer *w, int64_t kernel) {
  PUT(w, "    const int64_t channel = %s, ", over(w, "k", kernel).text);
  PUT(w, "e = k - channel * %s;\n", WORD(w->text, kernel));
  return FNZ_OK;
}

static fnz_status put_weight(const fnzi_cuda_writer *w, const fnzi_cuda_conv *c, int64_t ins,
                             int64_t outs) {
  char index[INDEX_TEXT];
  PUT(w, "  __device__ sum a(int64_t p, int64_t i, int64_t k) const {\n");
  FNZ_TRY(put_channel(w, volume(c, c->weight)));
  PUT(w, "    const char *at = p_.at[1]");
  snprintf(index, sizeof index, "((%s) * %s + %s)", group_of(w, c).text,
           WORD(w->text, c->transposed ? ins : outs), c->transposed ? "channel" : "i");
  FNZ_TRY(fnzi_cuda_put_step(w, index, c->weight_strides[0], c->dtype));
  FNZ_TRY(fnzi_cuda_put_step(w, c->transposed ? "i" : "channel", c->weight_strides[1], c->dtype));
  for (uint32_t d = 0; d < c->spatial; d++) {
    index_of(w, c, c->weight, "e", d, index);
    FNZ_TRY(fnzi_cuda_put_step(w, index, c->weight_strides[2 + d], c->dtype));
  }
  PUT(w, ";\n");
  FNZ_TRY(fnzi_cuda_put_read(w, c->dtype == FNZ_F64 ? FNZ_F64 : FNZ_F32, c->dtype));
  PUT(w, "  }\n");
  return FNZ_OK;
}

static fnz_status put_x(const fnzi_cuda_writer *w, const fnzi_cuda_conv *c, int64_t ins) {
  char index[INDEX_TEXT];
  PUT(w, "  __device__ sum b(int64_t p, int64_t k, int64_t j) const {\n");
  FNZ_TRY(put_channel(w, volume(c, c->weight)));
  for (uint32_t d = 0; d < c->spatial; d++) {
    char out[INDEX_TEXT], e[INDEX_TEXT];
    index_of(w, c, c->y, "j", d, out);
    index_of(w, c, c->weight, "e", d, e);
    PUT(w,
        "    const int64_t x%u = fnzi_meta_conv_source%s(%s, %s, %lld, %lld, %s, %s);\n"
        "    if (x%u < 0)\n      return 0;\n",
        (unsigned)d, c->transposed ? "_back" : "", out, e, (long long)c->stride[d],
        (long long)c->dilation[d], WORD(w->text, c->padding[d]), WORD(w->text, c->x[2 + d]),
        (unsigned)d);
  }
  PUT(w, "    const char *at = p_.at[0]");
  snprintf(index, sizeof index, "(%s)", sample_of(w, c).text);
  FNZ_TRY(fnzi_cuda_put_step(w, index, c->x_strides[0], c->dtype));
  snprintf(index, sizeof index, "((%s) * %s + channel)", group_of(w, c).text, WORD(w->text, ins));
  FNZ_TRY(fnzi_cuda_put_step(w, index, c->x_strides[1], c->dtype));
  for (uint32_t d = 0; d < c->spatial; d++) {
    snprintf(index, sizeof index, "x%u", (unsigned)d);
    FNZ_TRY(fnzi_cuda_put_step(w, index, c->x_strides[2 + d], c->dtype));
  }
  PUT(w, ";\n");
  FNZ_TRY(fnzi_cuda_put_read(w, c->dtype == FNZ_F64 ? FNZ_F64 : FNZ_F32, c->dtype));
  PUT(w, "  }\n");
  return FNZ_OK;
}

static fnz_status put_y(const fnzi_cuda_writer *w, const fnzi_cuda_conv *c, int64_t outs,
                        const int64_t *bias) {
  char index[INDEX_TEXT], channel[INDEX_TEXT];
  fnz_dtype sum = c->dtype == FNZ_F64 ? FNZ_F64 : FNZ_F32;
  snprintf(channel, sizeof channel, "((%s) * %s + i)", group_of(w, c).text, WORD(w->text, outs));
  if (bias) {
    PUT(w, "  __device__ sum bias(int64_t p, int64_t i) const {\n    const char *at = p_.at[3]");
    FNZ_TRY(fnzi_cuda_put_step(w, channel, *bias, c->dtype));
    PUT(w, ";\n");
    FNZ_TRY(fnzi_cuda_put_read(w, sum, c->dtype));
    PUT(w, "  }\n");
  }
  PUT(w, "  __device__ void put(int64_t p, int64_t i, int64_t j, sum v) const {\n"
         "    char *at = p_.at[2]");
  snprintf(index, sizeof index, "(%s)", sample_of(w, c).text);
  FNZ_TRY(fnzi_cuda_put_step(w, index, c->y_strides[0], c->dtype));
  FNZ_TRY(fnzi_cuda_put_step(w, channel, c->y_strides[1], c->dtype));
  for (uint32_t d = 0; d < c->spatial; d++) {
    index_of(w, c, c->y, "j", d, index);
    FNZ_TRY(fnzi_cuda_put_step(w, index, c->y_strides[2 + d], c->dtype));
  }
  PUT(w, ";\n");
  if (bias)
    PUT(w, "    v = v + bias(p, i);\n");
  FNZ_TRY(fnzi_cuda_put_store(w, sum, c->dtype));
  PUT(w, "  }\n");
  return FNZ_OK;
}

static fnz_status put_conv(fnzi_cuda_writer *w, const fnzi_cuda_conv *c, const int64_t *bias,
                           int64_t *blocks) {
  int64_t ins = c->x[1] / c->groups, outs = c->y[1] / c->groups, places = volume(c, c->y);
  int64_t batch = times(c->x[0], c->groups), depth = times(ins, volume(c, c->weight));
  w->is_small = batch <= INT32_MAX && depth <= INT32_MAX && places <= INT32_MAX;
  FNZ_TRY(put_open(w, c->dtype == FNZ_F64 ? FNZ_F64 : FNZ_F32, true, false));
  FNZ_TRY(put_weight(w, c, ins, outs));
  FNZ_TRY(put_x(w, c, ins));
  FNZ_TRY(put_y(w, c, outs, bias));
  FNZ_TRY(fnzi_cuda_put_operands(w));
  const int64_t counts[] = {batch, outs, places, depth};
  FNZ_TRY(product_put_call(w, "tiles", counts));
  if (!fnzi_mul_i64(batch, (outs + TILE - 1) / TILE, blocks) ||
      !fnzi_mul_i64(*blocks, (places + TILE - 1) / TILE, blocks))
    return fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "a convolution has too many blocks");
  return FNZ_OK;
}

fnz_status fnzi_cuda_text_conv(fnz_context *ctx, fnzi_cuda_text *text, const fnzi_cuda_conv *conv,
                               const int64_t *bias, uint32_t *kernel, int64_t *blocks) {
  fnz_buffer body = {.data = NULL};
  fnzi_cuda_writer w = {.ctx = ctx, .out = &body, .text = text};
  fnz_status status = put_conv(&w, conv, bias, blocks);
  if (status == FNZ_OK)
    status = fnzi_cuda_text_use(ctx, text, fnzi_cuda_text_conv_source);
  if (status == FNZ_OK)
    status = product_add(ctx, text, &body, bias ? 4 : 3, kernel);
  fnz_buffer_free(ctx, &body);
  return status;
}
