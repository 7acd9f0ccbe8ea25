/* text_product.h - products of matrices, convolutions and attention as kernels of a text, for calls
 * that no available library computes. */
#ifndef FNZI_CUDA_TEXT_PRODUCT_H
#define FNZI_CUDA_TEXT_PRODUCT_H

#include "engine/cuda/libraries.h"
#include "engine/cuda/text.h"

/* --- text_product.c --------------------------------------------------------------------------- */
/* Strides in elements; `added` is the stride between products that are added up. */
typedef struct fnzi_cuda_factor {
  fnz_dtype dtype;
  int64_t row, col, added, batch[FNZ_MAX_RANK];
} fnzi_cuda_factor;

/* For each index of a batch: d = alpha * sum of a @ b + beta * c. Operands 0 to 3 are a, b, d and
 * c; there is no c if beta is 0. */
typedef struct fnzi_cuda_products {
  fnz_dtype sum; /* F32, F64, I64 (which wraps), C64 or C128 */
  uint32_t rank; /* of the batch */
  int64_t sizes[FNZ_MAX_RANK];
  int64_t m, n, k, added;
  fnzi_cuda_factor a, b, c, d;
  double alpha, beta; /* integers where sums are I64 */
} fnzi_cuda_products;

/* *blocks: the count for a launch of the kernel. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_products(fnz_context *ctx, fnzi_cuda_text *text,
                                                  const fnzi_cuda_products *products,
                                                  uint32_t *kernel, int64_t *blocks);
/* Operands are x, weight, y and, unless `bias` is NULL, a vector that is added to each channel, its
 * elements *bias apart. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_conv(fnz_context *ctx, fnzi_cuda_text *text,
                                              const fnzi_cuda_conv *conv, const int64_t *bias,
                                              uint32_t *kernel, int64_t *blocks);

/* --- text_attention.c ------------------------------------------------------------------------- */
/* Strides in elements; `share` heads along a dimension of the batch read one. */
typedef struct fnzi_cuda_side {
  fnz_dtype dtype;
  int64_t row, col, batch[FNZ_MAX_RANK], share[FNZ_MAX_RANK];
} fnzi_cuda_side;

/* Operands are q, k, v and the result; then, if present, the mask, the logarithms of the rows'
 * sums, and a byte per score that says whether dropout keeps it. Kept scores are multiplied by
 * `factor`. A BOOL mask selects the visible scores, any other mask is added. */
typedef struct fnzi_cuda_attention {
  fnz_dtype sum; /* F32 or F64 */
  uint32_t rank; /* of the batch */
  int64_t sizes[FNZ_MAX_RANK];
  int64_t queries, keys, width, out_width;
  double scale;
  bool causal, has_mask, has_log, drops;
  double factor;
  int64_t pieces; /* of a query's keys: fnzi_cuda_attention_pieces() */
  fnzi_cuda_side q, k, v, out, mask, log;
} fnzi_cuda_attention;

/* Returns into how many pieces to cut the keys, one block each; 0: use tiles. Few queries would
 * leave most of a tile empty, and few blocks busy. */
int64_t fnzi_cuda_attention_pieces(const fnzi_cuda_attention *attention);

FNZ_MUST_CHECK fnz_status fnzi_cuda_text_attention(fnz_context *ctx, fnzi_cuda_text *text,
                                                   const fnzi_cuda_attention *attention,
                                                   uint32_t *kernel, int64_t *blocks);
/* Computes the size of the memory for several pieces. With more than one piece, that memory
 * replaces the result's operand, and there are no logarithms. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_attention_kept(fnz_context *ctx,
                                                   const fnzi_cuda_attention *attention,
                                                   size_t *bytes);
/* Adds the second kernel, which joins the pieces. Its operands: that memory, the result, the
 * logarithms. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_attention_join(fnz_context *ctx, fnzi_cuda_text *text,
                                                        const fnzi_cuda_attention *attention,
                                                        uint32_t *kernel, int64_t *blocks);

#endif
