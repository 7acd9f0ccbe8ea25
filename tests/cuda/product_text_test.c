/* product_text_test.c - NVRTC compiles the text of products, convolutions and attention: each type,
 * each way in which operands lie, each choice that the text depends on, with sizes as constants and
 * as numbers of a table. No GPU and no driver is
 * needed.
 *
 *     product_text_test SM [all]     types; else two of them
 *
 * Without NVRTC it prints that and exits with 77, or fails if FNZ_NEED_TOOLS is set. */
#include "engine/cuda/text_product.h"

#include <fnz/fnz.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SKIPPED = 77 };

typedef struct testing {
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_cuda_nvrtc nvrtc;
  int failures, kernels;
  bool all; /* types; else two of them */
} testing;

static void check(testing *t, fnz_status status, const char *what) {
  const fnz_error *e = fnz_last_error(t->ctx);
  if (status != FNZ_OK) {
    fprintf(stderr, "product_text_test: %s: %s: %s\n", what, e->where, e->message);
    t->failures++;
  }
}

static fnzi_cuda_factor factor(fnz_dtype dtype, int64_t row, int64_t col, int64_t batch) {
  return (fnzi_cuda_factor){.dtype = dtype, .row = row, .col = col, .added = 7, .batch = {batch}};
}

/* By tiles and by sums, with something added or not, one product or some that are added. */
static void add_products(testing *t, fnzi_cuda_text *text, fnz_dtype sum, fnz_dtype dtype) {
  for (int kind = 0; kind < 8; kind++) {
    bool deep = kind & 1, adds = kind & 2;
    fnzi_cuda_products p = {.sum = sum,
                            .rank = 1,
                            .sizes = {3},
                            .m = deep ? 1 : 70,
                            .n = 65,
                            .k = deep ? 300 : 17,
                            .added = kind & 4 ? 2 : 1,
                            .a = factor(dtype, 300, 1, 21000),
                            .b = factor(dtype, 1, 300, 0),
                            .c = factor(dtype, 0, 1, 0),
                            .d = factor(dtype, 65, 1, 4550),
                            .alpha = adds ? 2 : 1,
                            .beta = adds ? -3 : 0};
    uint32_t kernel;
    int64_t blocks;
    check(t, fnzi_cuda_text_products(t->ctx, text, &p, &kernel, &blocks), "products");
    t->kernels++;
  }
}

static void add_convs(testing *t, fnzi_cuda_text *text, fnz_dtype dtype) {
  const int64_t bias = 1;
  for (uint32_t spatial = 1; spatial <= 3; spatial++)
    for (int transposed = 0; transposed < 2; transposed++) {
      fnzi_cuda_conv c = {.dtype = dtype,
                          .spatial = spatial,
                          .transposed = transposed,
                          .groups = 2,
                          .x = {2, 4, 7, 7, 7},
                          .x_strides = {2000, 400, 49, 7, 1},
                          .y = {2, 6, 7, 7, 7},
                          .y_strides = {2100, 1, 300, 42, 6},
                          .weight = {transposed ? 4 : 6, transposed ? 3 : 2, 3, 3, 3},
                          .weight_strides = {54, 27, 9, 3, 1},
                          .padding = {1, 1, 1},
                          .stride = {1, 1, 1},
                          .dilation = {1, 1, 1}};
      uint32_t kernel;
      int64_t blocks;
      check(t, fnzi_cuda_text_conv(t->ctx, text, &c, spatial != 2 ? &bias : NULL, &kernel, &blocks),
            "conv");
      t->kernels++;
    }
}

static fnzi_cuda_side side(fnz_dtype dtype, int64_t width) {
  return (fnzi_cuda_side){
      .dtype = dtype, .row = width, .col = 1, .batch = {100 * width, 0}, .share = {1, 2}};
}

/* Each number of columns that a thread has; masks of both kinds. */
static void add_attention(testing *t, fnzi_cuda_text *text, fnz_dtype sum, fnz_dtype dtype) {
  for (int kind = 0; kind < 5; kind++) {
    fnzi_cuda_attention a = {.sum = sum,
                             .rank = 2,
                             .sizes = {2, 4},
                             .queries = 70,
                             .keys = 100,
                             .width = 32,
                             .out_width = 64 * kind + 1,
                             .scale = 0.1,
                             .causal = kind == 1,
                             .has_mask = kind != 1,
                             .has_log = kind > 2,
                             .drops = kind < 2,
                             .factor = 1.25,
                             .q = side(dtype, 32),
                             .k = side(dtype, 32),
                             .v = side(dtype, 64 * kind + 1),
                             .out = side(dtype, 64 * kind + 1),
                             .mask = side(kind % 2 ? FNZ_BOOL : dtype, 0),
                             .log = side(dtype, 1)};
    uint32_t kernel;
    int64_t blocks;
    check(t, fnzi_cuda_text_attention(t->ctx, text, &a, &kernel, &blocks), "attention");
    a.queries = 2, a.keys = 100 + 200 * kind, a.pieces = fnzi_cuda_attention_pieces(&a);
    t->kernels += a.pieces > 0 ? a.pieces > 1 ? 3 : 2 : 1;
    if (a.pieces > 0)
      check(t, fnzi_cuda_text_attention(t->ctx, text, &a, &kernel, &blocks), "few queries");
    if (a.pieces > 1)
      check(t, fnzi_cuda_text_attention_join(t->ctx, text, &a, &kernel, &blocks), "pieces");
  }
}

static void add_kinds(testing *t, fnzi_cuda_text *text) {
  static const fnz_dtype sums[][2] = {
      {FNZ_F32, FNZ_F32},  {FNZ_F64, FNZ_F64}, {FNZ_F32, FNZ_F16},
      {FNZ_F32, FNZ_BF16}, {FNZ_I64, FNZ_I64}, {FNZ_I64, FNZ_U8},
      {FNZ_I64, FNZ_I32},  {FNZ_C64, FNZ_C64}, {FNZ_C128, FNZ_C128}};
  for (int k = 0; k < (t->all ? 9 : 2); k++)
    add_products(t, text, sums[k][0], sums[k][1]);
  for (int k = 0; k < (t->all ? 4 : 1); k++) {
    add_convs(t, text, sums[k][1]);
    add_attention(t, text, sums[k][0], sums[k][1]);
  }
}

static void compile(testing *t, int sm, bool is_general) {
  fnz_buffer source = {.data = NULL}, code = {.data = NULL};
  fnzi_cuda_text text;
  fnzi_cuda_text_begin(&t->arena, &text);
  text.is_general = is_general;
  add_kinds(t, &text);
  check(t, fnzi_cuda_text_write(t->ctx, &text, &source), "text");
  if (t->failures == 0)
    check(t,
          fnzi_cuda_nvrtc_compile(t->ctx, &t->nvrtc, (const char *)source.data, sm / 10, sm % 10,
                                  &code),
          "compile");
  if (t->failures == 0 && (code.size < 1000 || memcmp(code.data, "\177ELF", 4) != 0))
    fprintf(stderr, "product_text_test: no code came out\n"), t->failures++;
  fnz_buffer_free(t->ctx, &source);
  fnz_buffer_free(t->ctx, &code);
  fnzi_cuda_text_end(t->ctx, &text);
}

int main(int argc, char **argv) {
  testing t = {.failures = 0};
  t.all = argc == 3 && strcmp(argv[2], "all") == 0;
  if (argc < 2 || fnz_context_create(NULL, &t.ctx) != FNZ_OK)
    return EXIT_FAILURE;
  if (fnzi_cuda_nvrtc_open(t.ctx, &t.nvrtc) != FNZ_OK) {
    printf("SKIPPED: %s\n", fnz_last_error(t.ctx)->message);
    fnz_context_destroy(t.ctx);
    return getenv("FNZ_NEED_TOOLS") ? EXIT_FAILURE : SKIPPED;
  }
  fnzi_arena_init(&t.arena, t.ctx);
  for (int general = 0; general < (t.all ? 2 : 1); general++)
    compile(&t, (int)strtol(argv[1], NULL, 10), general != 0);
  printf("%d kernels, %d failures\n", t.kernels, t.failures);
  fnzi_arena_free(&t.arena);
  fnzi_cuda_nvrtc_close(&t.nvrtc);
  fnz_context_destroy(t.ctx);
  return t.failures ? EXIT_FAILURE : EXIT_SUCCESS;
}
