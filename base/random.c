/* random.c - mt19937 (Matsumoto and Nishimura), seeded and read as PyTorch does for the CPU, the
 * state of Philox, and states of both in the bytes of torch.get_rng_state(). */
#include "base/random.h"

#include <math.h>

enum { MIDDLE = 397, BLOCK = 256 };

/* --- Words ------------------------------------------------------------------------------------ */
static void make_words(fnz_generator *g) {
  g->words[0] = (uint32_t)g->seed;
  for (uint32_t i = 1; i < FNZI_MT_WORDS; i++)
    g->words[i] = 1812433253u * (g->words[i - 1] ^ g->words[i - 1] >> 30) + i;
  g->left = 1;
}

static uint32_t twist(uint32_t high, uint32_t low) {
  return ((high & 0x80000000u) | (low & 0x7fffffffu)) >> 1 ^ (low & 1 ? 0x9908b0dfu : 0);
}

void fnzi_generator_renew(fnz_generator *g) {
  uint32_t *w = g->words;
  if (g->left == 0)
    make_words(g);
  for (int i = 0; i < FNZI_MT_WORDS - MIDDLE; i++)
    w[i] = w[i + MIDDLE] ^ twist(w[i], w[i + 1]);
  for (int i = FNZI_MT_WORDS - MIDDLE; i < FNZI_MT_WORDS - 1; i++)
    w[i] = w[i + MIDDLE - FNZI_MT_WORDS] ^ twist(w[i], w[i + 1]);
  w[FNZI_MT_WORDS - 1] = w[MIDDLE - 1] ^ twist(w[FNZI_MT_WORDS - 1], w[0]);
  g->left = FNZI_MT_WORDS;
  g->next = 0;
}

/* Box-Muller; the other one of the pair waits. */
double fnzi_generator_normal(fnz_generator *g) {
  if (g->has_double) {
    g->has_double = false;
    return g->double_normal;
  }
  const double u = fnzi_generator_double(g), v = fnzi_generator_double(g);
  const double radius = sqrt(-2.0 * log1p(-v)), angle = 2.0 * 3.14159265358979323846 * u;
  g->double_normal = radius * sin(angle);
  g->has_double = true;
  return radius * cos(angle);
}

/* --- The generator ---------------------------------------------------------------------------- */
/* Makes it as a new one with this seed, of Philox if there are threads. Words of mt19937 are made
 * when the first one is drawn. */
static void start(fnz_generator *g, uint64_t seed, int64_t threads) {
  g->seed = seed;
  g->threads = threads;
  g->offset = 0;
  g->next = 0;
  g->left = 0;
  g->has_single = g->has_double = false;
  g->single_normal = 0;
  g->double_normal = 0;
}

static fnz_status create(fnz_context *ctx, uint64_t seed, int64_t threads, fnz_generator **out) {
  *out = fnzi_resize(ctx, NULL, 0, sizeof **out);
  if (*out == NULL)
    return fnzi_no_memory(ctx);
  (*out)->ctx = ctx;
  start(*out, seed, threads);
  return FNZ_OK;
}

fnz_status fnz_generator_create(fnz_context *ctx, uint64_t seed, fnz_generator **out) {
  return create(ctx, seed, 0, out);
}

fnz_status fnz_philox_generator_create(fnz_context *ctx, uint64_t seed, int64_t threads,
                                       fnz_generator **out) {
  *out = NULL;
  if (threads < BLOCK || threads > INT32_MAX || threads % BLOCK)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                     "a generator of CUDA has %lld threads; give a multiple of %d below 2^31",
                     (long long)threads, BLOCK);
  return create(ctx, seed, threads, out);
}

int64_t fnz_generator_threads(const fnz_generator *generator) {
  return generator->threads;
}

void fnz_generator_destroy(fnz_generator *generator) {
  if (generator)
    fnzi_free(generator->ctx, generator, sizeof *generator);
}

void fnz_generator_set_seed(fnz_generator *generator, uint64_t seed) {
  start(generator, seed, generator->threads);
}

void fnz_context_set_generator(fnz_context *ctx, fnz_generator *generator) {
  ctx->generator = generator;
}

/* --- Runs ------------------------------------------------------------------------------------- */
void fnzi_generator_lend(fnz_context *ctx, fnz_generator *given, fnz_generator *own,
                         int64_t threads) {
  if (!given)
    start(own, 0, threads);
  ctx->generator = given ? given : own;
}

void fnzi_generator_repeat_open(fnzi_generator_repeat *r, fnz_context *ctx, int64_t threads) {
  r->ctx = ctx;
  r->had = ctx->generator;
  r->threads = threads;
}

void fnzi_generator_repeat_begin(fnzi_generator_repeat *r) {
  if (r->had)
    r->own = *r->had;
  else
    start(&r->own, 0, r->threads);
  r->ctx->generator = &r->own;
}

void fnzi_generator_repeat_close(const fnzi_generator_repeat *r) {
  r->ctx->generator = r->had;
}

/* --- Its state --------------------------------------------------------------------------------
 * Little-endian. Philox: the seed and the offset, 8 bytes each. mt19937: the seed, 8; `left` and
 * whether it is seeded, 4 each; the index of the next word, 8; the words, 8 each; three doubles,
 * the second is the pending normal; whether there is one, 4; 4 unused; the pending normal of 32
 * bits, 4; whether there is one, 1; 3 unused. */
enum { AT_OFFSET = 8, AT_LEFT = 8, AT_SEEDED = 12, AT_NEXT = 16, AT_WORDS = 24 };
enum { AT_NORMAL = AT_WORDS + 8 * FNZI_MT_WORDS + 8, AT_HAS_NORMAL = AT_NORMAL + 16 };
enum { AT_SINGLE = AT_HAS_NORMAL + 8, AT_HAS_SINGLE = AT_SINGLE + 4 };

static void random_put(unsigned char *to, int bytes, uint64_t v) {
  for (int i = 0; i < bytes; i++)
    to[i] = (unsigned char)(v >> 8 * i);
}

static uint64_t get(const unsigned char *from, int bytes) {
  uint64_t v = 0;
  for (int i = 0; i < bytes; i++)
    v |= (uint64_t)from[i] << 8 * i;
  return v;
}

size_t fnz_generator_state_bytes(const fnz_generator *generator) {
  return generator->threads ? FNZ_GENERATOR_CUDA_STATE_BYTES : FNZ_GENERATOR_STATE_BYTES;
}

void fnz_generator_save_state(const fnz_generator *generator, void *bytes) {
  unsigned char *to = bytes;
  if (generator->threads) {
    random_put(to, 8, generator->seed);
    random_put(to + AT_OFFSET, 8, generator->offset);
    return;
  }
  fnz_generator g = *generator;
  uint64_t normal;
  uint32_t single;
  if (g.left == 0)
    make_words(&g);
  memset(to, 0, FNZ_GENERATOR_STATE_BYTES);
  random_put(to, 8, g.seed);
  random_put(to + AT_LEFT, 4, (uint64_t)g.left);
  random_put(to + AT_SEEDED, 4, 1);
  random_put(to + AT_NEXT, 8, g.next);
  for (int i = 0; i < FNZI_MT_WORDS; i++)
    random_put(to + AT_WORDS + 8 * i, 8, g.words[i]);
  memcpy(&normal, &g.double_normal, sizeof normal);
  memcpy(&single, &g.single_normal, sizeof single);
  random_put(to + AT_NORMAL, 8, g.has_double ? normal : 0);
  random_put(to + AT_HAS_NORMAL, 4, g.has_double);
  random_put(to + AT_SINGLE, 4, g.has_single ? single : 0);
  random_put(to + AT_HAS_SINGLE, 1, g.has_single);
}

fnz_status fnz_generator_restore_state(fnz_context *ctx, fnz_generator *generator,
                                       const void *bytes, size_t size) {
  const size_t wanted = fnz_generator_state_bytes(generator);
  if (size != wanted)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                     "the state of this generator has %zu bytes, not %zu; save one, or take "
                     "torch.%sget_rng_state()",
                     wanted, size, generator->threads ? "cuda." : "");
  const unsigned char *from = bytes;
  const uint64_t offset = get(from + AT_OFFSET, 8), seed = get(from, 8);
  if (generator->threads) {
    if (offset % 4)
      return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                       "the offset of a generator of CUDA is %llu; it must be a multiple of 4",
                       (unsigned long long)offset);
    generator->seed = seed;
    generator->offset = offset;
    return FNZ_OK;
  }
  const uint64_t left = get(from + AT_LEFT, 4), next = get(from + AT_NEXT, 8);
  if (get(from + AT_SEEDED, 4) != 1 || left < 1 || left > FNZI_MT_WORDS || next > FNZI_MT_WORDS ||
      left + next > FNZI_MT_WORDS + 1)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                     "the bytes are no state of a generator: word %llu is next and %llu are left; "
                     "save one, or take torch.get_rng_state() of the CPU",
                     (unsigned long long)next, (unsigned long long)left);
  const uint64_t normal = get(from + AT_NORMAL, 8);
  const uint32_t single = (uint32_t)get(from + AT_SINGLE, 4);
  generator->seed = seed;
  generator->left = (int32_t)left;
  generator->next = (uint32_t)next;
  for (int i = 0; i < FNZI_MT_WORDS; i++)
    generator->words[i] = (uint32_t)get(from + AT_WORDS + 8 * i, 4);
  generator->has_double = get(from + AT_HAS_NORMAL, 4) != 0;
  generator->has_single = from[AT_HAS_SINGLE] != 0;
  memcpy(&generator->double_normal, &normal, sizeof normal);
  memcpy(&generator->single_normal, &single, sizeof single);
  return FNZ_OK;
}
