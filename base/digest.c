/* digest.c - BLAKE2b (RFC 7693), written from the standard's text. A block is mixed in twelve
 * rounds of eight steps; the last block, which may be full, is marked, so one that is full waits
 * until it is known whether more comes. */
#include "base/digest.h"

#include <string.h>

enum { ROUNDS = 12, WORDS = 16 };

static const uint64_t initial[8] = {
    0x6a09e667f3bcc908u, 0xbb67ae8584caa73bu, 0x3c6ef372fe94f82bu, 0xa54ff53a5f1d36f1u,
    0x510e527fade682d1u, 0x9b05688c2b3e6c1fu, 0x1f83d9abfb41bd6bu, 0x5be0cd19137e2179u,
};

/* Which word of the block goes where; rounds 10 and 11 are 0 and 1 again. */
static const unsigned char order[10][WORDS] = {
    {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15},
    {14, 10, 4, 8, 9, 15, 13, 6, 1, 12, 0, 2, 11, 7, 5, 3},
    {11, 8, 12, 0, 5, 2, 15, 13, 10, 14, 3, 6, 7, 1, 9, 4},
    {7, 9, 3, 1, 13, 12, 11, 14, 2, 6, 5, 10, 4, 0, 15, 8},
    {9, 0, 5, 7, 2, 4, 10, 15, 14, 1, 11, 12, 6, 8, 3, 13},
    {2, 12, 6, 10, 0, 11, 8, 3, 4, 13, 7, 5, 15, 14, 1, 9},
    {12, 5, 1, 15, 14, 13, 4, 10, 0, 7, 6, 3, 9, 2, 8, 11},
    {13, 11, 7, 14, 12, 1, 3, 9, 5, 0, 15, 4, 8, 6, 2, 10},
    {6, 15, 14, 9, 11, 3, 0, 8, 12, 2, 13, 7, 1, 4, 10, 5},
    {10, 2, 8, 4, 7, 6, 1, 5, 15, 11, 9, 14, 3, 12, 13, 0},
};

static uint64_t digest_rotate(uint64_t x, int by) {
  return x >> by | x << (64 - by);
}

/* Spelled out, so that compilers see that it is one load where bytes lie in that order. */
static inline uint64_t load(const unsigned char *b) {
  return (uint64_t)b[0] | (uint64_t)b[1] << 8 | (uint64_t)b[2] << 16 | (uint64_t)b[3] << 24 |
         (uint64_t)b[4] << 32 | (uint64_t)b[5] << 40 | (uint64_t)b[6] << 48 | (uint64_t)b[7] << 56;
}

static inline void step(uint64_t *a, uint64_t *b, uint64_t *c, uint64_t *d, uint64_t x,
                        uint64_t y) {
  *a += *b + x;
  *d = digest_rotate(*d ^ *a, 32);
  *c += *d;
  *b = digest_rotate(*b ^ *c, 24);
  *a += *b + y;
  *d = digest_rotate(*d ^ *a, 16);
  *c += *d;
  *b = digest_rotate(*b ^ *c, 63);
}

static inline void round_of(uint64_t v[WORDS], const uint64_t m[WORDS], const unsigned char *o) {
  step(&v[0], &v[4], &v[8], &v[12], m[o[0]], m[o[1]]);
  step(&v[1], &v[5], &v[9], &v[13], m[o[2]], m[o[3]]);
  step(&v[2], &v[6], &v[10], &v[14], m[o[4]], m[o[5]]);
  step(&v[3], &v[7], &v[11], &v[15], m[o[6]], m[o[7]]);
  step(&v[0], &v[5], &v[10], &v[15], m[o[8]], m[o[9]]);
  step(&v[1], &v[6], &v[11], &v[12], m[o[10]], m[o[11]]);
  step(&v[2], &v[7], &v[8], &v[13], m[o[12]], m[o[13]]);
  step(&v[3], &v[4], &v[9], &v[14], m[o[14]], m[o[15]]);
}

/* `taken` counts this block. */
static void digest_mix(fnzi_digest *d, const unsigned char *block, bool is_last) {
  uint64_t v[WORDS], m[WORDS];
  for (int i = 0; i < WORDS; i++)
    m[i] = load(block + 8 * i);
  for (int i = 0; i < 8; i++) {
    v[i] = d->state[i];
    v[i + 8] = initial[i];
  }
  v[12] ^= d->taken; /* its upper half stays 0: nothing has 2^64 bytes */
  v[14] ^= is_last ? UINT64_MAX : 0;
  for (int i = 0; i < ROUNDS; i++)
    round_of(v, m, order[i % 10]);
  for (int i = 0; i < 8; i++)
    d->state[i] ^= v[i] ^ v[i + 8];
}

void fnzi_digest_start(fnzi_digest *d) {
  memset(d, 0, sizeof *d);
  memcpy(d->state, initial, sizeof initial);
  d->state[0] ^= 0x01010000u ^ FNZI_DIGEST_BYTES;
}

void fnzi_digest_add(fnzi_digest *d, const void *bytes, size_t size) {
  const unsigned char *at = bytes;
  while (size) {
    size_t left = FNZI_DIGEST_BLOCK - d->used, n = size < left ? size : left;
    if (d->used == 0 && size > FNZI_DIGEST_BLOCK) {
      d->taken += FNZI_DIGEST_BLOCK;
      digest_mix(d, at, false);
      n = FNZI_DIGEST_BLOCK;
    } else if (!left) {
      d->taken += FNZI_DIGEST_BLOCK;
      digest_mix(d, d->block, false);
      d->used = n = 0;
    } else {
      memcpy(d->block + d->used, at, n);
      d->used += n;
    }
    at += n;
    size -= n;
  }
}

fnz_status fnzi_digest_add_all(fnz_context *ctx, fnzi_digest *d, const void *bytes, size_t size) {
  for (size_t at = 0, n; at < size; at += n) {
    n = size - at < FNZI_TASK_BYTES ? size - at : FNZI_TASK_BYTES;
    fnzi_digest_add(d, (const char *)bytes + at, n);
    FNZ_TRY(fnzi_task_add(ctx, n));
  }
  return FNZ_OK;
}

void fnzi_digest_end(fnzi_digest *d, unsigned char out[FNZI_DIGEST_BYTES]) {
  memset(d->block + d->used, 0, FNZI_DIGEST_BLOCK - d->used);
  d->taken += d->used;
  digest_mix(d, d->block, true);
  for (int i = 0; i < FNZI_DIGEST_BYTES; i++)
    out[i] = (unsigned char)(d->state[i / 8] >> 8 * (i % 8));
}
