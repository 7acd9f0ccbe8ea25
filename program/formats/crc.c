/* crc.c - CRC-32 as zip archives have it: polynomial 0xedb88320, lowest bit first.
 *
 * Eight bytes at a time by tables; where the processor multiplies without carries, 64 bytes at a
 * time. Then the bytes are a polynomial over GF(2): a part that is n bits before another one may be
 * replaced by its product with x^n mod P, added to the other one. Four registers of 128 bits are
 * folded along the bytes this way, then into each other; the tables reduce the remainder. */
#include "program/formats/crc.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#define POLYNOMIAL 0xedb88320u

enum { BLOCK = 64 };

/* --- by tables ----------------------------------------------------------------------------------
 */
static uint32_t times_x(uint32_t p) {
  return p >> 1 ^ (POLYNOMIAL & (0 - (p & 1)));
}

/* The factor that moves half a register on: x^bits mod P, where bit 31 is x^0. One bit further,
 * because a product of reflected numbers is shifted by one. */
static uint64_t moved(int bits) {
  uint32_t p = 0x80000000u;
  while (bits--)
    p = times_x(p);
  return (uint64_t)p << 1;
}

/* The halves of a register are 32 bits short of, and 32 bits beyond, where it is moved to. */
static void make_moves(uint64_t moves[2], int bits) {
  moves[0] = moved(bits + 32);
  moves[1] = moved(bits - 32);
}

static void make_tables(fnzi_crc *t) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++)
      crc = times_x(crc);
    t->of[0][i] = crc;
  }
  for (int k = 1; k < 8; k++)
    for (uint32_t i = 0; i < 256; i++)
      t->of[k][i] = t->of[k - 1][i] >> 8 ^ t->of[0][t->of[k - 1][i] & 0xff];
  make_moves(t->by_block, 8 * BLOCK);
  make_moves(t->by_register, 128);
  t->is_made = true;
}

static uint32_t get32(const unsigned char *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

/* Takes and returns a remainder that is not inverted. */
static uint32_t by_tables(const fnzi_crc *t, uint32_t crc, const unsigned char *p, size_t size) {
  for (; size >= 8; size -= 8, p += 8) {
    uint32_t low = get32(p) ^ crc, high = get32(p + 4);
    crc = t->of[7][low & 0xff] ^ t->of[6][low >> 8 & 0xff] ^ t->of[5][low >> 16 & 0xff] ^
          t->of[4][low >> 24] ^ t->of[3][high & 0xff] ^ t->of[2][high >> 8 & 0xff] ^
          t->of[1][high >> 16 & 0xff] ^ t->of[0][high >> 24];
  }
  while (size--)
    crc = crc >> 8 ^ t->of[0][(crc ^ *p++) & 0xff];
  return crc;
}

/* --- by products without carries ----------------------------------------------------------------
 */
#ifdef __x86_64__
#define WITH_PRODUCTS __attribute__((target("pclmul,sse2")))

static bool has_products(void) {
  return __builtin_cpu_supports("pclmul");
}

WITH_PRODUCTS static __m128i load(const unsigned char *p) {
  return _mm_loadu_si128((const __m128i *)(const void *)p);
}

/* `to`, and upon it what `from` is when moved there. */
WITH_PRODUCTS static __m128i move(__m128i from, __m128i moves, __m128i to) {
  __m128i low = _mm_clmulepi64_si128(from, moves, 0x00);
  __m128i high = _mm_clmulepi64_si128(from, moves, 0x11);
  return _mm_xor_si128(_mm_xor_si128(low, high), to);
}

/* Reduces the first size / 64 * 64 bytes; size must be 64 or more. */
WITH_PRODUCTS static uint32_t by_products(const fnzi_crc *t, uint32_t crc, const unsigned char *p,
                                          size_t size) {
  unsigned char rest[16];
  __m128i by_block = load((const unsigned char *)t->by_block);
  __m128i by_register = load((const unsigned char *)t->by_register);
  __m128i a = _mm_xor_si128(load(p), _mm_cvtsi32_si128((int)crc));
  __m128i b = load(p + 16), c = load(p + 32), d = load(p + 48);
  for (p += BLOCK, size -= BLOCK; size >= BLOCK; p += BLOCK, size -= BLOCK) {
    a = move(a, by_block, load(p));
    b = move(b, by_block, load(p + 16));
    c = move(c, by_block, load(p + 32));
    d = move(d, by_block, load(p + 48));
  }
  a = move(move(move(a, by_register, b), by_register, c), by_register, d);
  _mm_storeu_si128((__m128i *)(void *)rest, a);
  return by_tables(t, 0, rest, sizeof rest);
}
#else
static bool has_products(void) {
  return false;
}

static uint32_t by_products(const fnzi_crc *t, uint32_t crc, const unsigned char *p, size_t size) {
  return by_tables(t, crc, p, size / BLOCK * BLOCK);
}
#endif

uint32_t fnzi_crc32(fnzi_crc *t, uint32_t crc, const void *bytes, size_t size) {
  const unsigned char *p = bytes;
  if (!t->is_made)
    make_tables(t);
  crc = ~crc;
  size_t first = size >= BLOCK && has_products() ? size / BLOCK * BLOCK : 0;
  if (first)
    crc = by_products(t, crc, p, first);
  return ~by_tables(t, crc, p + first, size - first);
}
