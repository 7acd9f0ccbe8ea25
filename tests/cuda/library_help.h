/* library_help.h - what tests of products, convolutions and attention share: random programs, run
 * on both devices, with the stand-ins for cuBLASLt and cuDNN or without. */
#ifndef FNZ_TESTS_CUDA_LIBRARY_HELP_H
#define FNZ_TESTS_CUDA_LIBRARY_HELP_H

#include "engine/cuda/libraries.h"
#include "program/program.h"
#include "soak/choices.h"
#include "tests/cuda/counted.h"
#include "tests/cuda/standin_library.h"
#include "tests/help/run_help.h"

/* By STANDIN_WITHOUT in the environment: neither library is there. */
bool is_without(void);
/* The counts of the stand-in for a library. */
standin_library_counts library_now(bool cudnn);
void nothing_is_left(void);
fnz_context *open_context(void);
fnz_status compile(fnz_context *ctx, const fnz_program *p, const char *device,
                   fnz_executable **out);
fnz_arrays *inputs_of(fnz_context *ctx, const fnz_program *p, uint64_t seed);

/* A program that is being written: its inputs and its nodes. */
typedef struct text {
  char inputs[1024], body[2048];
  uint64_t seed;
} text;
/* A number from `low` to `high`. */
int64_t draw(text *t, int64_t low, int64_t high);
/* One of f32, f32, f64, f16, bf16, i64, i32, c64, from number `low` to `high`. */
const char *draw_type(text *t, int64_t low, int64_t high);
void put_input(text *t, const char *format, ...);
void put_line(text *t, const char *format, ...);
/* Runs it on both devices; only the results are copied back, in one piece of memory: all of it runs
 * on the GPU. */
void run_text(fnz_context *ctx, text *t);
/* How many random programs of a kind: LIBRARY_PROGRAMS in the environment, or `some`. */
uint64_t count_of(uint64_t some);

/* --- library_products.c, library_convs.c, library_attention.c */
void add_products(TCase *c);
void add_convs(TCase *c);
void add_attention(TCase *c);

#endif
