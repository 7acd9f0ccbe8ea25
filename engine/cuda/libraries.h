/* libraries.h - NVIDIA's libraries for products of matrices and for convolutions, which are opened
 * when the first step needs them.
 *
 *   cublas.c     libcublasLt.so.13 or .12: products
 *   cudnn.c      libcudnn.so.9: convolutions
 *   shared.c     what all who use a handle have in common
 *   libraries.c  one handle of each for all of a device
 *
 * UNSUPPORTED means that a library is missing, cannot start or does not support the call; the
 * caller then uses another lowering. Every other status is a failure. Messages name `step`.
 *
 * Handles of a device are shared by its threads, so each call holds the lock of shared.c. */
#ifndef FNZI_CUDA_LIBRARIES_H
#define FNZI_CUDA_LIBRARIES_H

#include "engine/cuda/driver.h"
#include "program/program.h"

#include <pthread.h>

/* --- shared.c --------------------------------------------------------------------------------- */
enum { FNZI_CUDA_ANSWERS = 256 };
typedef struct fnzi_cuda_answer fnzi_cuda_answer;
typedef struct fnzi_cuda_shared {
  pthread_mutex_t lock;
  fnz_context *ctx; /* only this cache allocates from it */
  fnzi_cuda_answer *answers[FNZI_CUDA_ANSWERS];
  size_t count;
} fnzi_cuda_shared;

/* `out` is zeros. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_shared_open(fnz_context *ctx, fnzi_cuda_shared *out);
void fnzi_cuda_shared_close(fnzi_cuda_shared *shared);
/* Call before and after using the handle of a shared library. NULL: the handle is not shared. */
void fnzi_cuda_shared_lock(fnzi_cuda_shared *shared);
void fnzi_cuda_shared_unlock(fnzi_cuda_shared *shared);
/* Looks up or stores the library's answer to a query. The caller has the lock. Queries are compared
 * as bytes, so they must have no padding. */
bool fnzi_cuda_shared_knows(fnzi_cuda_shared *shared, const void *question, size_t bytes, void *out,
                            size_t size);
void fnzi_cuda_shared_note(fnzi_cuda_shared *shared, const void *question, size_t bytes,
                           const void *answer, size_t size);

/* --- cublas.c --------------------------------------------------------------------------------- */
/* A cublasLtMatmulHeuristicResult_t. */
typedef struct fnzi_cuda_product_choice {
  uint64_t algorithm[8];
  size_t scratch;
  int state;
  float waves;
  int reserved[4];
} fnzi_cuda_product_choice;

typedef struct fnzi_cuda_cublas {
  void *library;
  fnzi_cuda_shared *shared; /* NULL: the handle is not shared */
#define CUBLAS(member, symbol, arguments) int(*member) arguments;
#include "engine/cuda/libraries.def"
#undef CUBLAS
  void *handle;
} fnzi_cuda_cublas;

FNZ_MUST_CHECK fnz_status fnzi_cuda_cublas_open(fnz_context *ctx, fnzi_cuda_cublas *out);
void fnzi_cuda_cublas_close(fnzi_cuda_cublas *cublas);

/* Element (i, j) of matrix p is at p * batch + i * row + j * col elements from an address that is a
 * multiple of `align` bytes. */
typedef struct fnzi_cuda_matrix {
  int64_t row, col, batch;
  uint32_t align;
} fnzi_cuda_matrix;

enum { FNZI_CUDA_BIAS_ALIGN = 16 }; /* alignment of a bias in bytes */

/* `count` products d = alpha * a @ b + beta * c, a (m, k), b (k, n), c and d (m, n), all of one
 * dtype: F32, F64, F16 or BF16. Sums are formed in F64 for F64, else in F32, by IEEE operations of
 * that type. has_bias: beta is 0, and a vector of n elements is added to each row. */
typedef struct fnzi_cuda_product {
  fnz_dtype dtype;
  int64_t m, n, k, count;
  fnzi_cuda_matrix a, b, c, d;
  double alpha, beta;
  bool has_bias;
} fnzi_cuda_product;

typedef struct fnzi_cuda_product_plan {
  void *product, *a, *b, *c, *d; /* descriptors */
  bool is_transposed;            /* the product of the transposed matrices is computed */
  fnz_dtype dtype;
  double alpha, beta;
  bool has_bias;
  fnzi_cuda_product_choice choice;
} fnzi_cuda_product_plan;

/* Addresses on the device; c and bias are 0 if the product has none. */
typedef struct fnzi_cuda_product_addresses {
  uint64_t a, b, c, d, bias, scratch;
} fnzi_cuda_product_addresses;

/* Ends with fnzi_cuda_product_end(). choice.scratch: how many bytes it needs, at a multiple of 256.
 */
FNZ_MUST_CHECK fnz_status fnzi_cuda_product_make(fnz_context *ctx, const fnzi_cuda_cublas *cublas,
                                                 const char *step, const fnzi_cuda_product *product,
                                                 fnzi_cuda_product_plan *out);
void fnzi_cuda_product_end(const fnzi_cuda_cublas *cublas, fnzi_cuda_product_plan *plan);
FNZ_MUST_CHECK fnz_status fnzi_cuda_product_run(fnz_context *ctx, const fnzi_cuda_cublas *cublas,
                                                const char *step,
                                                const fnzi_cuda_product_plan *plan,
                                                const fnzi_cuda_product_addresses *addresses,
                                                void *stream);

/* --- cudnn.c ---------------------------------------------------------------------------------- */
/* A cudnnConvolutionFwdAlgoPerf_t, or one of BwdData or BwdFilter. */
typedef struct fnzi_cuda_conv_choice {
  int algorithm, status;
  float time;
  size_t scratch;
  int determinism, math, reserved[3];
} fnzi_cuda_conv_choice;

typedef struct fnzi_cuda_cudnn {
  void *library;
  fnzi_cuda_shared *shared;
#define CUDNN(member, symbol, arguments) int(*member) arguments;
#include "engine/cuda/libraries.def"
#undef CUDNN
  void *handle;
} fnzi_cuda_cudnn;

FNZ_MUST_CHECK fnz_status fnzi_cuda_cudnn_open(fnz_context *ctx, fnzi_cuda_cudnn *out);
void fnzi_cuda_cudnn_close(fnzi_cuda_cudnn *cudnn);

enum { FNZI_CUDA_CONV_DIMS = 5 };

/* y = x convolved with the weight (out, in / groups, kernel ...), zeros around x; or, if
 * transposed, the gradient of that with weight (in, out / groups, kernel ...). x and y are (batch,
 * channels, ...), strides in elements. adds: the result is added to y. of_weight: computes the
 * gradient of the weight from x and y, the gradient of the result. */
typedef struct fnzi_cuda_conv {
  fnz_dtype dtype; /* F32, F64, F16 or BF16 */
  uint32_t spatial;
  bool transposed, adds, of_weight;
  int64_t groups;
  int64_t x[FNZI_CUDA_CONV_DIMS], x_strides[FNZI_CUDA_CONV_DIMS];
  int64_t y[FNZI_CUDA_CONV_DIMS], y_strides[FNZI_CUDA_CONV_DIMS];
  int64_t weight[FNZI_CUDA_CONV_DIMS], weight_strides[FNZI_CUDA_CONV_DIMS];
  int64_t padding[3], stride[3], dilation[3];
} fnzi_cuda_conv;

typedef struct fnzi_cuda_conv_plan {
  void *x, *weight, *y, *conv; /* descriptors */
  fnz_dtype dtype;
  bool transposed, adds, of_weight;
  fnzi_cuda_conv_choice choice;
} fnzi_cuda_conv_plan;

typedef struct fnzi_cuda_conv_addresses {
  uint64_t x, weight, y, scratch;
} fnzi_cuda_conv_addresses;

/* Like the functions for products. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_conv_make(fnz_context *ctx, const fnzi_cuda_cudnn *cudnn,
                                              const char *step, const fnzi_cuda_conv *conv,
                                              fnzi_cuda_conv_plan *out);
void fnzi_cuda_conv_end(const fnzi_cuda_cudnn *cudnn, fnzi_cuda_conv_plan *plan);
FNZ_MUST_CHECK fnz_status fnzi_cuda_conv_run(fnz_context *ctx, const fnzi_cuda_cudnn *cudnn,
                                             const char *step, const fnzi_cuda_conv_plan *plan,
                                             const fnzi_cuda_conv_addresses *addresses,
                                             void *stream);

/* --- libraries.c ------------------------------------------------------------------------------ */
typedef struct fnzi_cuda_libraries fnzi_cuda_libraries;
/* `ctx` outlives them. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_libraries_create(fnz_context *ctx, fnzi_cuda_libraries **out);
/* Closes the libraries. Call it on the device that they were opened on. */
void fnzi_cuda_libraries_destroy(fnzi_cuda_libraries *libraries);
/* Opens the library on the device at the first call. Returns NULL if it cannot be used; *why says
 * why, for as long as the libraries exist. */
const fnzi_cuda_cublas *fnzi_cuda_libraries_cublas(fnzi_cuda_libraries *libraries,
                                                   const char **why);
const fnzi_cuda_cudnn *fnzi_cuda_libraries_cudnn(fnzi_cuda_libraries *libraries, const char **why);

#endif
