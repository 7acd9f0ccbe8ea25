/* text.c - UTF-8 and floating-point text, independent of the locale's decimal point. */
#include "base/base.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* Bytes that follow a first byte, and the smallest code point of that length (RFC 3629). */
static int tail_length(unsigned char first, uint32_t *bits, uint32_t *least) {
  if (first < 0x80)
    return *bits = first, *least = 0, 0;
  if ((first & 0xe0) == 0xc0)
    return *bits = first & 0x1f, *least = 0x80, 1;
  if ((first & 0xf0) == 0xe0)
    return *bits = first & 0x0f, *least = 0x800, 2;
  if ((first & 0xf8) == 0xf0)
    return *bits = first & 0x07, *least = 0x10000, 3;
  return -1;
}

static bool is_ascii(const char *s, size_t size) {
  uint64_t seen = 0, word;
  for (; size >= sizeof word; s += sizeof word, size -= sizeof word) {
    memcpy(&word, s, sizeof word);
    seen |= word;
  }
  for (; size; size--)
    seen |= (unsigned char)*s++;
  return (seen & 0x8080808080808080u) == 0;
}

bool fnzi_is_utf8(const char *s, size_t size) {
  if (is_ascii(s, size))
    return true;
  for (size_t i = 0; i < size;) {
    uint32_t point, least;
    int tail = tail_length((unsigned char)s[i++], &point, &least);
    if (tail < 0 || (size_t)tail > size - i)
      return false;
    for (; tail > 0; tail--, i++) {
      if (((unsigned char)s[i] & 0xc0) != 0x80)
        return false;
      point = point << 6 | ((unsigned char)s[i] & 0x3f);
    }
    if (point < least || point > 0x10ffff || (point >= 0xd800 && point < 0xe000))
      return false;
  }
  return true;
}

size_t fnzi_int_text(int64_t value, char out[FNZI_INT_TEXT]) {
  char digits[FNZI_INT_TEXT];
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  size_t count = 0, size = 0;
  do
    digits[count++] = (char)('0' + rest % 10);
  while (rest /= 10);
  if (value < 0)
    out[size++] = '-';
  while (count > 0)
    out[size++] = digits[--count];
  out[size] = '\0';
  return size;
}

void fnzi_double_text(double value, char out[32]) {
  if (!isfinite(value)) {
    strcpy(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
    return;
  }
  for (int digits = 1; digits <= 17; digits++) {
    snprintf(out, 32, "%.*g", digits, value);
    if (strtod(out, NULL) == value)
      break;
  }
  char *comma = strchr(out, ',');
  if (comma)
    *comma = '.';
  if (!strpbrk(out, ".en"))
    strcat(out, ".0");
}
