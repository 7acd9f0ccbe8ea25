/* half.h - the two 16-bit floats as bits, rounded to nearest even; and floats to integers as x86
 * converts them, which is what eager's bits are. */
#ifndef FNZI_HALF_H
#define FNZI_HALF_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

static inline uint32_t fnzi_krn_float_bits(float v) {
  uint32_t bits;
  memcpy(&bits, &v, sizeof bits);
  return bits;
}
static inline float fnzi_krn_bits_float(uint32_t bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

static inline float fnzi_krn_from_bf16(uint16_t h) {
  return fnzi_krn_bits_float((uint32_t)h << 16);
}

#ifndef __CUDACC_RTC__ /* engine/cuda/prelude.cu has these by a GPU's instructions */
static inline uint16_t fnzi_krn_to_bf16(float v) {
  uint32_t bits = fnzi_krn_float_bits(v);
  if (v != v)
    return 0x7fc0;
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

/* All cases of these two are computed, and one is chosen: so loops of them become vectors. */
static inline float fnzi_krn_from_f16(uint16_t h) {
  uint32_t sign = (uint32_t)(h & 0x8000) << 16, magnitude = h & 0x7fff;
  uint32_t large = 0x7f800000 | (magnitude & 0x3ff) << 13 | (magnitude > 0x7c00 ? 0x400000 : 0);
  uint32_t normal = (magnitude << 13) + (112u << 23);
  uint32_t tiny = fnzi_krn_float_bits((float)(int32_t)magnitude * 0x1p-24f);
  uint32_t bits = magnitude >= 0x7c00 ? large : magnitude >= 0x0400 ? normal : tiny;
  return fnzi_krn_bits_float(sign | bits);
}
static inline uint16_t fnzi_krn_to_f16(float v) {
  uint32_t bits = fnzi_krn_float_bits(v), sign = bits >> 16 & 0x8000;
  bits &= 0x7fffffff;
  uint32_t nan = 0x7e00 | (bits >> 13 & 0x3ff), normal = (bits + 0xfff + (bits >> 13 & 1)) >> 13;
  /* below 2^-14: adding 0.5 leaves the rounded subnormal at the bottom */
  uint32_t tiny = fnzi_krn_float_bits(fnzi_krn_bits_float(bits) + 0.5f) - 0x3f000000;
  uint32_t half = bits < 0x38800000 ? tiny : normal - (112u << 10);
  half = bits >= 0x477ff000 ? 0x7c00 : half; /* 65520 and above round to infinity */
  return (uint16_t)(sign | (bits > 0x7f800000 ? nan : half));
}
#endif

/* Bits of NaN, or 0: the upper half of an f32 has bf16's places, f16 keeps the upper ten. */
static inline uint32_t fnzi_krn_widened_nan(bool is_bf16, uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
  if (is_bf16)
    return (bits & 0x7fff) > 0x7f80 ? (uint32_t)bits << 16 : 0;
  return (bits & 0x7fff) > 0x7c00 ? sign | 0x7f800000 | (uint32_t)(bits & 0x3ff) << 13 : 0;
}
static inline uint16_t fnzi_krn_narrowed_nan(bool is_bf16, uint32_t bits) {
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000), fraction = bits >> 13 & 0x3ff;
  if ((bits & 0x7fffffff) <= 0x7f800000)
    return 0;
  if (is_bf16)
    return bits & 0x7f0000 ? (uint16_t)(bits >> 16) : (uint16_t)(sign | 0x7fc0);
  return (uint16_t)(sign | 0x7c00 | (fraction ? fraction : 0x200));
}

static inline int64_t fnzi_krn_to_i64(double v) {
  return v >= -9223372036854775808.0 && v < 9223372036854775808.0 ? (int64_t)v : INT64_MIN;
}
static inline int32_t fnzi_krn_to_i32(double v) {
  return v > -2147483649.0 && v < 2147483648.0 ? (int32_t)v : INT32_MIN;
}
static inline uint64_t fnzi_krn_to_u64(double v) {
  if (v >= 9223372036854775808.0)
    return v < 18446744073709551616.0 ? (uint64_t)v : 0;
  return (uint64_t)fnzi_krn_to_i64(v);
}

#endif
