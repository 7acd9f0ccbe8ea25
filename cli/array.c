/* array.c - a tensor on one line: name, dtype, sizes and its first elements. */
#include "cli/cli.h"

#include <math.h>
#include <string.h>

enum { SHOWN = 8 };

/* IEEE-like bits of any width to a number: one rule for halves and brain floats. */
static double small_float(uint32_t bits, int exponent_bits, int fraction_bits) {
  uint32_t fraction = bits & ((1u << fraction_bits) - 1);
  int exponent = (int)(bits >> fraction_bits & ((1u << exponent_bits) - 1));
  int bias = (1 << (exponent_bits - 1)) - 1;
  double sign = bits >> (exponent_bits + fraction_bits) & 1 ? -1 : 1;
  if (exponent == (1 << exponent_bits) - 1)
    return fraction ? NAN : sign * INFINITY;
  if (exponent == 0)
    return sign * ldexp(fraction, 1 - bias - fraction_bits);
  return sign * ldexp(fraction + (1u << fraction_bits), exponent - bias - fraction_bits);
}

static double read_float(const unsigned char *p, size_t bytes, bool brain) {
  float f;
  double d;
  uint16_t half;
  if (bytes == 8)
    return memcpy(&d, p, 8), d;
  if (bytes == 4)
    return memcpy(&f, p, 4), (double)f;
  memcpy(&half, p, 2);
  return brain ? small_float(half, 8, 7) : small_float(half, 5, 10);
}

static uint64_t read_bits(const unsigned char *p, size_t bytes) {
  uint64_t bits = 0;
  for (size_t i = 0; i < bytes; i++)
    bits |= (uint64_t)p[i] << 8 * i;
  return bits;
}

static void print_float(const unsigned char *p, size_t bytes, bool brain) {
  if (bytes == 1)
    printf("0x%02x", *p);
  else
    printf("%.*g", bytes == 8 ? 17 : bytes == 4 ? 9 : 5, read_float(p, bytes, brain));
}

static void print_signed(const unsigned char *p, size_t bytes) {
  uint64_t top = (uint64_t)1 << (8 * bytes - 1);
  printf("%lld", (long long)((read_bits(p, bytes) ^ top) - top));
}

static void print_element(fnz_dtype dtype, const unsigned char *p) {
  const fnz_dtype_info *info = fnz_dtype_get_info(dtype);
  size_t bytes = info->bytes;
  switch (info->category) {
  case 'b':
    fputs(*p ? "true" : "false", stdout);
    return;
  case 'u':
    printf("%llu", (unsigned long long)read_bits(p, bytes));
    return;
  case 'i':
    print_signed(p, bytes);
    return;
  case 'c':
    print_float(p, bytes / 2, false);
    fputs(" + ", stdout);
    print_float(p + bytes / 2, bytes / 2, false);
    fputc('i', stdout);
    return;
  default:
    print_float(p, bytes, dtype == FNZ_BF16);
  }
}

void cli_print_array(const fnz_array *array) {
  size_t size = fnz_dtype_get_info(array->dtype)->bytes, count = array->bytes / size;
  printf("%-16s %s[", array->name, fnz_dtype_get_info(array->dtype)->name);
  for (uint32_t i = 0; i < array->rank; i++)
    printf("%s%lld", i ? ", " : "", (long long)array->sizes[i]);
  fputs("]", stdout);
  for (size_t i = 0; i < count && i < SHOWN; i++) {
    fputs(i ? ", " : "  ", stdout);
    print_element(array->dtype, (const unsigned char *)array->data + i * size);
  }
  puts(count > SHOWN ? ", ..." : "");
}
