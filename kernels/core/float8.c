/* float8.c - the floats of eight bits. One sign, then exponent, then mantissa, and the largest
 * exponent has different meanings. Only f8e5m2 has infinities like the wider floats, f8e4m3fn uses
 * all except one of these codes for numbers, and dtypes on "uz" have no negative zero, whose code
 * is their only NaN. */
#include "kernels/core/float8.h"

#include "kernels/core/half.h"

#include <math.h>

typedef struct layout {
  uint32_t mantissa, bias; /* bits, and the bias of an exponent */
  uint8_t most;            /* code of the largest number */
  uint8_t over;            /* code of any larger number */
  bool unsigned_zero;
} layout;

static const layout layouts[FNZ_DTYPE_COUNT] = {
    [FNZ_F8_E4M3FN] = {3, 7, 0x7e, 0x7e, false},
    [FNZ_F8_E5M2] = {2, 15, 0x7b, 0x7c, false},
    [FNZ_F8_E4M3FNUZ] = {3, 8, 0x7f, 0x80, true},
    [FNZ_F8_E5M2FNUZ] = {2, 16, 0x7f, 0x80, true},
};

bool fnzi_krn_is_float8(fnz_dtype dtype) {
  return layouts[dtype].mantissa != 0;
}

float fnzi_krn_from_float8(fnz_dtype dtype, uint8_t bits) {
  const layout *f = &layouts[dtype];
  uint32_t magnitude = bits & 0x7f, sign = (uint32_t)(bits & 0x80) << 24;
  if (f->unsigned_zero && bits == 0x80)
    return fnzi_krn_bits_float(0x7f800001);
  if (magnitude > f->most) {
    uint32_t rest = (bits & ((1u << f->mantissa) - 1)) << (23 - f->mantissa);
    return fnzi_krn_bits_float(sign | 0x7f800000 | (rest ? rest | 0x400000 : 0));
  }
  if (magnitude >> f->mantissa)
    return fnzi_krn_bits_float(sign |
                               ((magnitude << (23 - f->mantissa)) + ((127 - f->bias) << 23)));
  float tiny = ldexpf((float)magnitude, 1 - (int)f->bias - (int)f->mantissa);
  return sign ? -tiny : tiny;
}

/* The code of a magnitude, which may be more than there are codes for. */
static uint32_t code_of(const layout *f, uint32_t bits) {
  uint32_t drop = 23 - f->mantissa, least = (128 - f->bias) << 23;
  if (bits >= least)
    return (bits + (1u << (drop - 1)) - 1 + (bits >> drop & 1) - ((127 - f->bias) << 23)) >> drop;
  /* Below the smallest exponent codes are apart alike: a sum in which 1 is the last bit rounds. */
  uint32_t unit = (128 - f->bias + drop) << 23;
  return fnzi_krn_float_bits(fnzi_krn_bits_float(bits) + fnzi_krn_bits_float(unit)) - unit;
}

uint8_t fnzi_krn_to_float8(fnz_dtype dtype, float v) {
  const layout *f = &layouts[dtype];
  uint32_t bits = fnzi_krn_float_bits(v), sign = bits >> 24 & 0x80;
  bits &= 0x7fffffff;
  bool huge = bits >= 0x7f800000;
  uint32_t code = huge ? f->most + 1u : code_of(f, bits);
  if (code > f->most)
    code = bits > 0x7f800000 && !f->unsigned_zero ? 0x7f : f->over;
  if (f->unsigned_zero && (code == 0 || code == 0x80))
    sign = 0;
  return (uint8_t)(sign | code);
}
