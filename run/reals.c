/* reals.c - bits of real numbers. */
#include "run/reals.h"

/* Columns: dtype, bytes of a real number, bits of its mantissa. */
static const struct {
  fnz_dtype dtype;
  size_t bytes;
  int mantissa;
} floats[] = {
    {FNZ_F16, 2, 10}, {FNZ_BF16, 2, 7}, {FNZ_F32, 4, 23},  {FNZ_F64, 8, 52},
    {FNZ_C32, 2, 10}, {FNZ_C64, 4, 23}, {FNZ_C128, 8, 52},
};

static bool is_nan(const unsigned char *bytes, size_t size, int mantissa) {
  uint64_t bits = 0;
  memcpy(&bits, bytes, size);
  uint64_t sign = (uint64_t)1 << (8 * size - 1);
  uint64_t infinity = sign - ((uint64_t)1 << mantissa);
  return (bits & ~sign) > infinity;
}

bool fnzi_run_same_reals(fnz_dtype dtype, const unsigned char *a, const unsigned char *b,
                         size_t bytes) {
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
    size_t size = floats[i].bytes;
    if (floats[i].dtype != dtype)
      continue;
    for (size_t at = 0; at + size <= bytes; at += size) {
      bool nan =
          is_nan(a + at, size, floats[i].mantissa) && is_nan(b + at, size, floats[i].mantissa);
      if (!nan && memcmp(a + at, b + at, size) != 0)
        return false;
    }
    return true;
  }
  return false;
}
