/* choices.h - where random tests draw from: one buffer of bytes, a byte or two per choice.
 *
 * Bytes beyond the end of the buffer are 0, which always means the simplest choice; so a shorter
 * buffer, or one with smaller bytes, is a simpler program. A growing buffer is filled from
 * splitmix64(seed, index) as it is drawn from, and can be replayed afterwards. */
#ifndef FNZI_SOAK_CHOICES_H
#define FNZI_SOAK_CHOICES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { CHOICES_MOST = 1 << 14, PARTS_MOST = 256 };

typedef struct choices {
  uint8_t bytes[CHOICES_MOST];
  size_t count, at;
  size_t parts[PARTS_MOST]; /* where parts begin that a simpler program can do without */
  size_t nparts;
  uint64_t state;
  bool grows;
} choices;

static inline uint64_t splitmix64(uint64_t *state) {
  uint64_t z = *state += 0x9e3779b97f4a7c15u;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* Program `index` of a series. */
static inline void choices_start(choices *c, uint64_t seed, uint64_t index) {
  c->count = c->at = c->nparts = 0;
  c->grows = true;
  c->state = seed;
  c->state = splitmix64(&c->state) ^ index;
  c->state = splitmix64(&c->state);
}

/* The same choices again, and no others. */
static inline void choices_replay(choices *c) {
  c->at = c->nparts = 0;
  c->grows = false;
}

/* Notes the start of a part, or of bytes that are in no part. Bytes after the last noted part are
 * one part. */
static inline void choices_part(choices *c) {
  if (c->nparts < PARTS_MOST)
    c->parts[c->nparts++] = c->at;
}

static inline uint8_t choices_byte(choices *c) {
  if (c->at >= CHOICES_MOST)
    return 0;
  if (c->at >= c->count) {
    if (!c->grows)
      return 0;
    c->bytes[c->count++] = (uint8_t)splitmix64(&c->state);
  }
  return c->bytes[c->at++];
}

/* A number below n; 0 when n is 0. */
static inline uint32_t choose(choices *c, uint32_t n) {
  if (n <= 1)
    return 0;
  uint32_t b = choices_byte(c);
  if (n > 256)
    b = b << 8 | choices_byte(c);
  return b % n;
}

/* A number from low to high. */
static inline int64_t choose_in(choices *c, int64_t low, int64_t high) {
  return low + (int64_t)choose(c, (uint32_t)(high - low + 1));
}

/* True `n` times in 100; false is the simplest. */
static inline bool perhaps(choices *c, uint32_t n) {
  return n > 0 && choose(c, 100) >= 100 - n;
}

#endif
