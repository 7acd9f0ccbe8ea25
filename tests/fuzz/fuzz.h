/* fuzz.h - what the fuzz targets share: a context whose memory is counted and limited, and the
 * promises that hold for any bytes.
 *
 * A target is one file with LLVMFuzzerTestOneInput(). Built with libFuzzer it looks for bytes that
 * break a promise; built with replay.c it goes through the bytes kept in fixtures/fuzz.
 *
 * If a promise has several forms, like the dialects of the pass, a fuzzer tries one of them, which
 * the bytes decide: so it comes to several times as many bytes. A replay tries all. */
#ifndef FNZ_TESTS_FUZZ_FUZZ_H
#define FNZ_TESTS_FUZZ_FUZZ_H

#include "base/base.h"

#include <fnz/fnz.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Prints the broken promise and ends the process, which fuzzers notice. */
#define PROMISE(condition, ...)                                                                    \
  do {                                                                                             \
    if (!(condition)) {                                                                            \
      fprintf(stderr, "broken: %s: ", #condition);                                                 \
      fprintf(stderr, __VA_ARGS__);                                                                \
      fputc('\n', stderr);                                                                         \
      abort();                                                                                     \
    }                                                                                              \
  } while (0)

/* Which forms a fuzzer tries. */
static inline uint32_t fuzz_hash(const uint8_t *data, size_t size) {
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < size; i++)
    h = (h ^ data[i]) * 16777619u;
  return h ^ h >> 15;
}

/* Whether form `which` of `forms` is tried. */
static inline bool fuzz_tries(uint32_t hash, size_t which, size_t forms) {
#ifdef FUZZ_REPLAYS
  (void)hash;
  return which < forms;
#else
  return hash % forms == which;
#endif
}

enum { FUZZ_MOST_MEMORY = 64 << 20, FUZZ_REFUSED_MEMORY = 16 << 20 };

typedef struct fuzz_memory {
  size_t live;
} fuzz_memory;

static inline void *fuzz_resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  fuzz_memory *m = user;
  if (!new_bytes) {
    m->live -= old_bytes;
    free(p);
    return NULL;
  }
  if (new_bytes > FUZZ_MOST_MEMORY || m->live - old_bytes > FUZZ_MOST_MEMORY - new_bytes)
    return NULL;
  void *moved = realloc(p, new_bytes);
  if (moved)
    m->live += new_bytes - old_bytes;
  return moved;
}

/* With the same hashes each time, so that the same bytes take the same way, and with little
 * patience for loops. */
static inline fnz_context *fuzz_start(fuzz_memory *m) {
  const fnz_allocator allocator = {fuzz_resize, m};
  fnz_context *ctx;
  m->live = 0;
  if (fnz_context_create(&allocator, &ctx) != FNZ_OK)
    abort();
  ctx->hash_key[0] = 0x9e3779b97f4a7c15u;
  ctx->hash_key[1] = 0xbf58476d1ce4e5b9u;
  ctx->limits.turns = 1000;
  return ctx;
}

/* Nothing is lost. */
static inline void fuzz_end(fuzz_memory *m, fnz_context *ctx) {
  fnz_context_destroy(ctx);
  PROMISE(m->live == 0, "%zu bytes were not freed", m->live);
}

/* A refusal has a status and a message, and costs little. */
static inline void fuzz_check_refusal(fnz_context *ctx, fnz_status status, size_t size) {
  const fnz_error *e = fnz_last_error(ctx);
  PROMISE(status != FNZ_INTERNAL, "%s", e->message);
  PROMISE(e->status == status && e->message[0], "status %d without a message", (int)status);
  PROMISE(fnz_context_peak_bytes(ctx) <= 2 * size + FUZZ_REFUSED_MEMORY,
          "refusing %zu bytes took %zu (%s)", size, fnz_context_peak_bytes(ctx), e->message);
}

#endif
