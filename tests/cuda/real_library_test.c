/* real_library_test.c - the real cuBLASLt and cuDNN on a machine without a GPU: they open, have
 * each function that is taken of them, and say that they cannot start, so that another way is
 * taken; their descriptors take each number that is given, before they say that no algorithm can be
 * chosen.
 *
 *     real_library_test cublas | cudnn
 *
 * Without the library it prints that and exits with 77, or fails if FNZ_NEED_TOOLS is set; the same
 * on a machine with a GPU. It is a program of its own, because the libraries conflict with a fake
 * driver. */
#include "engine/cuda/libraries.h"

#include <fnz/fnz.h>
#include <stdio.h>
#include <stdlib.h>

enum { SKIPPED = 77 };

static int skip(const char *why) {
  printf("SKIPPED: %s\n", why);
  return getenv("FNZ_NEED_TOOLS") ? EXIT_FAILURE : SKIPPED;
}

/* The step and this text are in the message. */
static int tells(fnz_context *ctx, fnz_status status, const char *where, const char *what) {
  const fnz_error *e = fnz_last_error(ctx);
  printf("%s: %s\n", e->where, e->message);
  bool told = status != FNZ_OK && strcmp(e->where, where) == 0 && strstr(e->message, what) != NULL;
  if (!told)
    fprintf(stderr, "real_library_test: wanted %s: %s\n", where, what);
  return told ? 0 : 1;
}

/* Replaces the query for an algorithm, which needs a handle. */
static int no_product(void *handle, void *product, void *a, void *b, void *c, void *d,
                      void *preference, int wanted, fnzi_cuda_product_choice *out, int *count) {
  (void)handle, (void)product, (void)a, (void)b, (void)c, (void)d, (void)preference, (void)wanted;
  (void)out, (void)count;
  return 15;
}

static int no_conv(void *handle, void *x, void *weight, void *conv, void *y, int wanted, int *count,
                   fnzi_cuda_conv_choice *out) {
  (void)handle, (void)x, (void)weight, (void)conv, (void)y, (void)wanted, (void)count, (void)out;
  return 3000;
}

/* Each kind of layout and number. */
static int try_products(fnz_context *ctx, const fnzi_cuda_cublas *cublas) {
  static const fnz_dtype dtypes[] = {FNZ_F32, FNZ_F64, FNZ_F16, FNZ_BF16};
  int failures = 0;
  for (int k = 0; k < 16; k++) {
    bool turned = k & 4, biased = (k & 8) && dtypes[k % 4] != FNZ_F64;
    const fnzi_cuda_product p = {.dtype = dtypes[k % 4],
                                 .m = 8,
                                 .n = 16,
                                 .k = 32,
                                 .count = turned ? 3 : 1,
                                 .a = {turned ? 1 : 32, turned ? 8 : 1, 256, 64},
                                 .b = {turned ? 16 : 1, turned ? 1 : 32, 0, 16},
                                 .c = {16, 1, 128, 64},
                                 .d = {16, 1, 128, 64},
                                 .alpha = 1,
                                 .beta = biased ? 0 : 1,
                                 .has_bias = biased};
    fnzi_cuda_product_plan plan;
    fnz_status status = fnzi_cuda_product_make(ctx, cublas, "mm", &p, &plan);
    failures += tells(ctx, status, "mm", "(not supported) when it was asked for an algorithm");
  }
  return failures;
}

/* Convolutions, and the gradients by their weights. */
static int try_convs(fnz_context *ctx, const fnzi_cuda_cudnn *cudnn) {
  static const fnz_dtype dtypes[] = {FNZ_F32, FNZ_F64, FNZ_F16, FNZ_BF16};
  int failures = 0;
  for (int k = 0; k < 24; k++) {
    fnzi_cuda_conv c = {.dtype = dtypes[k % 4],
                        .spatial = 1 + (uint32_t)k / 4 % 3,
                        .of_weight = k >= 12,
                        .groups = 2,
                        .x = {2, 4, 7, 7, 7},
                        .x_strides = {1372, 343, 49, 7, 1},
                        .y = {2, 6, 7, 7, 7},
                        .y_strides = {2058, 343, 49, 7, 1},
                        .weight = {6, 2, 3, 3, 3},
                        .weight_strides = {54, 27, 9, 3, 1},
                        .padding = {1, 1, 1},
                        .stride = {1, 1, 1},
                        .dilation = {1, 1, 1}};
    int64_t step = 1;
    for (uint32_t d = c.spatial + 2; d-- > 0; step *= c.weight[d])
      c.weight_strides[d] = step;
    fnzi_cuda_conv_plan plan;
    fnz_status status = fnzi_cuda_conv_make(ctx, cudnn, "conv2d", &c, &plan);
    failures += tells(ctx, status, "conv2d", "(not supported) when it was asked for an algorithm");
  }
  return failures;
}

/* The library is there, and the only failure is that it cannot start. */
static bool cannot_start(fnz_context *ctx, fnz_status status) {
  return status == FNZ_UNSUPPORTED &&
         strstr(fnz_last_error(ctx)->message, "when it was started") != NULL;
}

static int try_cublas(fnz_context *ctx) {
  fnzi_cuda_cublas cublas;
  fnz_status status = fnzi_cuda_cublas_open(ctx, &cublas);
  if (!cannot_start(ctx, status))
    return skip(status == FNZ_OK ? "there is a GPU" : fnz_last_error(ctx)->message);
  int failures = tells(ctx, status, "", "cuBLASLt gave error 1 (not initialized)");
  cublas.choose = no_product; /* it stays in memory */
  return failures + try_products(ctx, &cublas);
}

static int try_cudnn(fnz_context *ctx) {
  fnzi_cuda_cudnn cudnn;
  fnz_status status = fnzi_cuda_cudnn_open(ctx, &cudnn);
  if (!cannot_start(ctx, status))
    return skip(status == FNZ_OK ? "there is a GPU" : fnz_last_error(ctx)->message);
  int failures = tells(ctx, status, "", "cuDNN gave error 1001");
  cudnn.choose = cudnn.choose_weight = no_conv;
  return failures + try_convs(ctx, &cudnn);
}

int main(int argc, char **argv) {
  fnz_context *ctx;
  if (argc != 2 || fnz_context_create(NULL, &ctx) != FNZ_OK)
    return EXIT_FAILURE;
  int result = strcmp(argv[1], "cublas") == 0 ? try_cublas(ctx) : try_cudnn(ctx);
  fnz_context_destroy(ctx);
  return result;
}
