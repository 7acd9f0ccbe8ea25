/* reals.c - compares the bits of real numbers: every NaN equals every other one. */
#include "run/reals.h"

/* Columns: dtype, bytes of a real number, the bits of the greatest value that is no NaN, without
 * the sign. Dtypes with a single NaN are not here: their bits are compared as they are. */
static const struct {
  fnz_dtype dtype;
  size_t bytes;
  uint64_t most;
} floats[] = {
    {FNZ_F8_E4M3FN, 1, 0x7e}, {FNZ_F8_E5M2, 1, 0x7c},   {FNZ_F16, 2, 0x7c00},
    {FNZ_BF16, 2, 0x7f80},    {FNZ_F32, 4, 0x7f800000}, {FNZ_F64, 8, 0x7ff0000000000000},
    {FNZ_C32, 2, 0x7c00},     {FNZ_C64, 4, 0x7f800000}, {FNZ_C128, 8, 0x7ff0000000000000},
};

/* fnz runs on little-endian machines only, so the first byte is the lowest. */
static bool is_nan(const unsigned char *bytes, size_t size, uint64_t most) {
  uint64_t bits = 0;
  memcpy(&bits, bytes, size);
  return (bits & (((uint64_t)1 << (8 * size - 1)) - 1)) > most;
}

bool fnzi_run_same_reals(fnz_dtype dtype, const unsigned char *a, const unsigned char *b,
                         size_t bytes) {
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
    size_t size = floats[i].bytes;
    if (floats[i].dtype != dtype)
      continue;
    for (size_t at = 0; at + size <= bytes; at += size) {
      bool nan = is_nan(a + at, size, floats[i].most) && is_nan(b + at, size, floats[i].most);
      if (!nan && memcmp(a + at, b + at, size) != 0)
        return false;
    }
    return true;
  }
  return false;
}
