/* random.h - the generator behind <fnz/random.h>: mt19937 with pending normals, as PyTorch keeps it
 * for the CPU, or the seed and offset of Philox, as it does for CUDA. Philox's numbers are computed
 * where they are drawn (kernels/cpu/random_values.h). */
#ifndef FNZI_RANDOM_H
#define FNZI_RANDOM_H

#include "base/base.h"

#include <fnz/random.h>

enum { FNZI_MT_WORDS = 624 };

struct fnz_generator {
  fnz_context *ctx; /* that has its memory */
  uint64_t seed;
  int64_t threads; /* of Philox; 0: it is mt19937 */
  uint64_t offset; /* of Philox, in words of each thread: a multiple of 4 */
  /* Of mt19937: */
  uint32_t words[FNZI_MT_WORDS];
  uint32_t next; /* of the words */
  int32_t left;  /* 1 + how many words are there; 0: they are still to be made from the seed */
  bool has_single, has_double; /* the second one of a pair of normals waits */
  float single_normal;
  double double_normal;
};

/* More words. */
void fnzi_generator_renew(fnz_generator *g);

static inline uint32_t fnzi_generator_draw(fnz_generator *g) {
  if (g->left <= 1)
    fnzi_generator_renew(g);
  else
    g->left--;
  uint32_t y = g->words[g->next++];
  y ^= y >> 11;
  y ^= y << 7 & 0x9d2c5680;
  y ^= y << 15 & 0xefc60000;
  return y ^ y >> 18;
}
static inline uint64_t fnzi_generator_draw_long(fnz_generator *g) {
  uint64_t high = fnzi_generator_draw(g);
  return high << 32 | fnzi_generator_draw(g);
}

/* Uniform in [0, 1). */
static inline float fnzi_generator_single(fnz_generator *g) {
  return (float)(fnzi_generator_draw(g) & 0xffffff) * 0x1p-24f;
}
static inline double fnzi_generator_double(fnz_generator *g) {
  return (double)(fnzi_generator_draw_long(g) & 0x1fffffffffffff) * 0x1p-53;
}
/* Normal, of mean 0 and deviation 1. */
double fnzi_generator_normal(fnz_generator *g);

/* Advances Philox by `words` words, and returns the offset before. */
static inline uint64_t fnzi_generator_pass(fnz_generator *g, uint64_t words) {
  const uint64_t at = g->offset;
  g->offset += words;
  return at;
}

/* --- Runs ----------------------------------------------------------------------------------------
 * What is called through `ctx` draws from `given`, or, where that is NULL, from `own`, which starts
 * with seed 0 and these threads. The caller sets ctx->generator back. */
void fnzi_generator_lend(fnz_context *ctx, fnz_generator *given, fnz_generator *own,
                         int64_t threads);

/* Several runs from one state: each draws from `own`, which begin() makes a copy of the generator
 * that the context had when this was opened, or a new one with seed 0 and these threads. */
typedef struct fnzi_generator_repeat {
  fnz_context *ctx;
  fnz_generator *had;
  int64_t threads;
  fnz_generator own;
} fnzi_generator_repeat;
void fnzi_generator_repeat_open(fnzi_generator_repeat *r, fnz_context *ctx, int64_t threads);
void fnzi_generator_repeat_begin(fnzi_generator_repeat *r);
void fnzi_generator_repeat_close(const fnzi_generator_repeat *r);

#endif
