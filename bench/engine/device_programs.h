/* device_programs.h - the programs that device.c measures, as texts of the sizes that count. */
#ifndef FNZ_BENCH_ENGINE_DEVICE_PROGRAMS_H
#define FNZ_BENCH_ENGINE_DEVICE_PROGRAMS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { ROOM = 1 << 13 };

/* R and C in the texts are rows and columns; @ a type. With `token`, only that many bytes move. */
typedef struct row {
  const char *name, *type;
  int64_t rows, columns;
  const char *weights, *inputs, *body;
  int64_t token;
} row;

#define CHAIN                                                                                      \
  "%a: @[R,C] = add.Tensor(%x, %y)\n%b: @[R,C] = mul.Tensor(%a, 0.5)\n"                            \
  "%c: @[R,C] = add.Tensor(%b, %y)\n%d: @[R,C] = mul.Tensor(%c, 0.5)\n"                            \
  "%e: @[R,C] = add.Tensor(%d, %y)\n%f: @[R,C] = mul.Tensor(%e, 0.5)\nreturn %f\n"
#define TWO  "%x: @[R,C], %y: @[R,C]"
#define FUNC "%a: @[R,C] = tanh(%x)\n%b: @[R,C] = exp(%a)\nreturn %b\n"
#define TURN "%a: @[R,C] = t(%x)\n%b: @[R,C] = add.Tensor(%a, %y)\nreturn %b\n"
#define SOFT "%a: @[R,C] = softmax.int(%x, -1)\nreturn %a\n"
#define NORM "%a: @[R,C] = layer_norm(%x, [C], %w, %b, 1e-05)\nreturn %a\n"
#define RMS  "%a: @[R,C] = rms_norm(%x, [C], %w, 1e-05)\nreturn %a\n"
#define ONE  "%x: @[R,C]"

static const row rows[] = {
    {"chain_f32_64M", "f32", 4096, 4096, "", TWO, CHAIN, 0},
    {"chain_f32_512M", "f32", 32768, 4096, "", TWO, CHAIN, 0},
    {"chain_bf16_64M", "bf16", 8192, 4096, "", TWO, CHAIN, 0},
    {"functions_f32_256M", "f32", 16384, 4096, "", ONE, FUNC, 0},
    {"bias_f32_256M", "f32", 16384, 4096, "", ONE ", %y: @[C]",
     "%a: @[R,C] = add.Tensor(%x, %y)\n%b: @[R,C] = relu(%a)\nreturn %b\n", 0},
    {"cast_bf16_256M", "bf16", 32768, 4096, "", ONE,
     "%a: f32[R,C] = _to_copy(%x, dtype=f32)\n%b: f32[R,C] = mul.Tensor(%a, 2)\nreturn %b\n", 0},
    {"turned_f32_64M", "f32", 4096, 4096, "", "%x: @[C,R], %y: @[R,C]", TURN, 0},
    {"turned_f32_512M", "f32", 16384, 8192, "", "%x: @[C,R], %y: @[R,C]", TURN, 0},
    {"turned_bf16_256M", "bf16", 16384, 8192, "", "%x: @[C,R], %y: @[R,C]", TURN, 0},
    {"softmax_f32_256M", "f32", 16384, 4096, "", ONE, SOFT, 0},
    {"softmax_f32_short", "f32", 524288, 128, "", ONE, SOFT, 0},
    {"softmax_f32_long", "f32", 2, 33554432, "", ONE, SOFT, 0},
    {"softmax_bf16_256M", "bf16", 32768, 4096, "", ONE, SOFT, 0},
    {"layer_norm_f32_256M", "f32", 16384, 4096, "", ONE ", %w: @[C], %b: @[C]", NORM, 0},
    {"layer_norm_bf16_256M", "bf16", 32768, 4096, "", ONE ", %w: @[C], %b: @[C]", NORM, 0},
    {"rms_norm_f32_256M", "f32", 16384, 4096, "", ONE ", %w: @[C]", RMS, 0},
    {"sum_f32_512M", "f32", 32768, 4096, "", ONE, "%a: @[] = sum(%x)\nreturn %a\n", 0},
    {"mean_rows_f32_512M", "f32", 32768, 4096, "", ONE,
     "%a: @[R] = mean.dim(%x, [-1])\nreturn %a\n", 0},
    {"sum_columns_f32_512M", "f32", 32768, 4096, "", ONE,
     "%a: @[C] = sum.dim_IntList(%x, [0])\nreturn %a\n", 0},
    {"cumsum_f32_256M", "f32", 16384, 4096, "", ONE, "%a: @[R,C] = cumsum(%x, -1)\nreturn %a\n", 0},
    {"in_place_f32_256M", "f32", 16384, 4096, "m: @[R,C]", ONE,
     "%a: @[R,C] = add_.Tensor(%m, %x)\n%b: @[1,C] = slice.Tensor(%a, 0, 0, 1)\nreturn %b\n", 0},
    {"cache_f32_token", "f32", 8192, 4096, "m: @[R,C]", "%x: @[1,C], %i: i64[1]",
     "%a: @[R,C] = index_copy_(%m, 0, %i, %x)\nreturn %i\n", 1},
    {"mm_f32_4096", "f32", 4096, 4096, "", "%x: @[R,C], %y: @[C,R]",
     "%a: @[R,R] = mm(%x, %y)\nreturn %a\n", 0},
    {"mm_bf16_8192", "bf16", 8192, 8192, "", "%x: @[R,C], %y: @[C,R]",
     "%a: @[R,R] = mm(%x, %y)\nreturn %a\n", 0},
    {"mm_bf16_512", "bf16", 512, 512, "", "%x: @[R,C], %y: @[C,R]",
     "%a: @[R,R] = mm(%x, %y)\nreturn %a\n", 0},
    {"mv_bf16_8192", "bf16", 8192, 8192, "", "%x: @[1,C], %y: @[R,C]",
     "%t: @[C,R] = t(%y)\n%a: @[1,R] = mm(%x, %t)\nreturn %a\n", 0},
    {"attention_bf16_2048", "bf16", 2048, 128, "",
     "%q: @[1,16,R,C], %k: @[1,16,R,C], %v: @[1,16,R,C]",
     "%a: @[1,16,R,C] = scaled_dot_product_attention(%q, %k, %v, None, 0.0, True)\nreturn %a\n", 0},
    {"attention_bf16_token", "bf16", 4096, 128, "",
     "%q: @[1,32,1,C], %k: @[1,32,R,C], %v: @[1,32,R,C]",
     "%a: @[1,32,1,C] = scaled_dot_product_attention(%q, %k, %v)\nreturn %a\n", 0},
    {"attention_f32_2048", "f32", 2048, 64, "", "%q: @[1,16,R,C], %k: @[1,16,R,C], %v: @[1,16,R,C]",
     "%a: @[1,16,R,C] = scaled_dot_product_attention(%q, %k, %v, None, 0.0, True)\nreturn %a\n",
     0}};
enum { ROWS = sizeof rows / sizeof *rows };

/* With --small, sizes that take no time. */
static bool is_small;

static int64_t sized(int64_t size) {
  return is_small && size > 64 ? 64 : size;
}

static size_t put(char *out, size_t at, const row *r, const char *text) {
  for (; *text && at + 32 < ROOM; text++)
    if (*text == '@')
      at += (size_t)sprintf(out + at, "%s", r->type);
    else if (*text == 'R' || *text == 'C')
      at +=
          (size_t)sprintf(out + at, "%lld", (long long)sized(*text == 'R' ? r->rows : r->columns));
    else
      out[at++] = *text;
  out[at] = 0;
  return at;
}

static size_t text_of(const row *r, char out[ROOM]) {
  size_t at = (size_t)sprintf(out, "fnz 1\n");
  if (r->weights[0]) {
    const char *type = strchr(r->weights, ':');
    at += (size_t)sprintf(out + at, "weight \"%.*s\"", (int)(type - r->weights), r->weights);
    at = put(out, at, r, type);
    at += (size_t)sprintf(out + at, "\n");
  }
  at += (size_t)sprintf(out + at, "program(");
  if (r->weights[0]) {
    const char *type = strchr(r->weights, ':');
    at += (size_t)sprintf(out + at, "%%");
    at = put(out, at, r, r->weights);
    at += (size_t)sprintf(out + at, " buffer \"%.*s\", ", (int)(type - r->weights), r->weights);
  }
  at = put(out, at, r, r->inputs);
  at += (size_t)sprintf(out + at, ")\n{\n");
  at = put(out, at, r, r->body);
  at += (size_t)sprintf(out + at, "}\n");
  return at;
}

#endif
