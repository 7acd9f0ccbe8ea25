/* text_product.h - products of matrices, convolutions and attention as kernels of a text, for calls
 * that no available library computes. */
#ifndef FNZI_CUDA_TEXT_PRODUCT_H
#define FNZI_CUDA_TEXT_PRODUCT_H

#include "engine/cuda/libraries.h"
#include "engine/cuda/text.h"

/* --- text_product.c -----------------------------------------------------------------------------
 */
/* Strides in elements; `added` is the stride between products that are added up. */
typedef struct fnzi_cuda_factor {
  fnz_dtype dtype;
  int64_t row, col, added, batch[FNZ_MAX_RANK];
} fnzi_cuda_factor;

/* For each index of a batch d = alpha * sum of a @ b + beta * c. Operands 0 to 3 are a, b, d and c;
 * of c only the first three where beta is 0. */
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
/* Operands are x, weight, y and, where has_bias, a vector that is added to each channel, its
 * elements `bias` apart. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_conv(fnz_context *ctx, fnzi_cuda_text *text,
                                              const fnzi_cuda_conv *conv, bool has_bias,
                                              int64_t bias, uint32_t *kernel, int64_t *blocks);

/* --- text_attention.c ---------------------------------------------------------------------------
 */
/* Strides in elements; `share` heads along a dimension of the batch read one. */
typedef struct fnzi_cuda_side {
  fnz_dtype dtype;
  int64_t row, col, batch[FNZ_MAX_RANK], share[FNZ_MAX_RANK];
} fnzi_cuda_side;

/* Operands are q, k, v, the result, then the mask, the logarithms of the rows' sums, and a byte for
 * each score that says whether dropout keeps it, which makes `factor` times as much of it, where
 * there are such. A mask of BOOL says what is seen, another one is added. */
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

/* Few queries leave most of a tile empty, and few blocks at work: pieces of the keys are then read
 * by a block each. 0: by tiles. */
int64_t fnzi_cuda_attention_pieces(const fnzi_cuda_attention *attention);

FNZ_MUST_CHECK fnz_status fnzi_cuda_text_attention(fnz_context *ctx, fnzi_cuda_text *text,
                                                   const fnzi_cuda_attention *attention,
                                                   uint32_t *kernel, int64_t *blocks);
/* With more than one piece the result's operand is memory of so many bytes, and there are no
 * logarithms; */
FNZ_MUST_CHECK fnz_status fnzi_cuda_attention_kept(fnz_context *ctx,
                                                   const fnzi_cuda_attention *attention,
                                                   size_t *bytes);
/* a second kernel joins the pieces. Its operands: that memory, the result, the logarithms. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_text_attention_join(fnz_context *ctx, fnzi_cuda_text *text,
                                                        const fnzi_cuda_attention *attention,
                                                        uint32_t *kernel, int64_t *blocks);

#endif
