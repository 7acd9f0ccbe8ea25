/* crc.c - CRC-32 as zip archives have it: polynomial 0xedb88320, eight bytes at a time. */
#include "program/formats/crc.h"

static void make_tables(fnzi_crc *t) {
  for (uint32_t i = 0; i < 256; i++) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; bit++)
      crc = crc >> 1 ^ (0xedb88320u & (0 - (crc & 1)));
    t->of[0][i] = crc;
  }
  for (int k = 1; k < 8; k++)
    for (uint32_t i = 0; i < 256; i++)
      t->of[k][i] = t->of[k - 1][i] >> 8 ^ t->of[0][t->of[k - 1][i] & 0xff];
  t->is_made = true;
}

static uint32_t get32(const unsigned char *p) {
  return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

uint32_t fnzi_crc32(fnzi_crc *t, uint32_t crc, const void *bytes, size_t size) {
  const unsigned char *p = bytes;
  if (!t->is_made)
    make_tables(t);
  crc = ~crc;
  for (; size >= 8; size -= 8, p += 8) {
    uint32_t low = get32(p) ^ crc, high = get32(p + 4);
    crc = t->of[7][low & 0xff] ^ t->of[6][low >> 8 & 0xff] ^ t->of[5][low >> 16 & 0xff] ^
          t->of[4][low >> 24] ^ t->of[3][high & 0xff] ^ t->of[2][high >> 8 & 0xff] ^
          t->of[1][high >> 16 & 0xff] ^ t->of[0][high >> 24];
  }
  while (size--)
    crc = crc >> 8 ^ t->of[0][(crc ^ *p++) & 0xff];
  return ~crc;
}
