/* convert.c - elements from one dtype to another: one loop per pair, made from two lists of rows.
 */
#include "kernels/core/float8.h"
#include "kernels/core/half.h"
#include "kernels/core/core.h"

#include <math.h>

/* Columns: dtype, stored type, how an element is read, type of what is read, how an integer and how
 * a double become the stored type. Integers go through 64 bits and wrap. */
#define INTEGER_ROWS(ROW)                                                                          \
  ROW(BOOL, uint8_t, *p != 0, int64_t, v != 0, v != 0)                                             \
  ROW(U8, uint8_t, *p, int64_t, (uint8_t)v, (uint8_t)fnzi_krn_to_i32(v))                           \
  ROW(I8, int8_t, *p, int64_t, (int8_t)v, (int8_t)fnzi_krn_to_i32(v))                              \
  ROW(I16, int16_t, *p, int64_t, (int16_t)v, (int16_t)fnzi_krn_to_i32(v))                          \
  ROW(I32, int32_t, *p, int64_t, (int32_t)v, fnzi_krn_to_i32(v))                                   \
  ROW(I64, int64_t, *p, int64_t, v, fnzi_krn_to_i64(v))                                            \
  ROW(U16, uint16_t, *p, int64_t, (uint16_t)v, (uint16_t)fnzi_krn_to_i32(v))                       \
  ROW(U32, uint32_t, *p, int64_t, (uint32_t)v, (uint32_t)fnzi_krn_to_i64(v))
#define FLOAT_ROWS(ROW)                                                                            \
  ROW(F16, uint16_t, fnzi_krn_from_f16(*p), double, fnzi_krn_to_f16((float)v),                     \
      fnzi_krn_to_f16((float)v))                                                                   \
  ROW(BF16, uint16_t, fnzi_krn_from_bf16(*p), double, fnzi_krn_to_bf16((float)v),                  \
      fnzi_krn_to_bf16((float)v))                                                                  \
  ROW(F32, float, *p, double, (float)v, (float)v)                                                  \
  ROW(F64, double, *p, double, (double)v, v)

#define ALL_ROWS(ROW)                                                                              \
  INTEGER_ROWS(ROW)                                                                                \
  ROW(U64, uint64_t, (int64_t)*p, int64_t, (uint64_t)v, fnzi_krn_to_u64(v))                        \
  FLOAT_ROWS(ROW)

#define ACCESS(id, type, read, wide, from_integer, from_double)                                    \
  typedef type cell_##id;                                                                          \
  typedef wide wide_##id;                                                                          \
  static inline wide read_##id(const cell_##id *p) {                                               \
    return read;                                                                                   \
  }                                                                                                \
  static inline cell_##id int64_t_to_##id(int64_t v) {                                             \
    return (cell_##id)(from_integer);                                                              \
  }                                                                                                \
  static inline cell_##id double_to_##id(double v) {                                               \
    return (cell_##id)(from_double);                                                               \
  }
ALL_ROWS(ACCESS)
#undef ACCESS

typedef void pair_fn(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,
                     int64_t count);

/* The second loop is the first with strides the compiler knows. */
#define PAIR(to, from, wide)                                                                       \
  static void from##_to_##to(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,   \
                             int64_t count) {                                                      \
    if (dst_stride != sizeof(cell_##to) || src_stride != sizeof(cell_##from)) {                    \
      for (int64_t i = 0; i < count; i++, dst += dst_stride, src += src_stride)                    \
        *(cell_##to *)(void *)dst = wide##_to_##to(read_##from((const void *)src));                \
      return;                                                                                      \
    }                                                                                              \
    cell_##to *d = (void *)dst;                                                                    \
    const cell_##from *s = (const void *)src;                                                      \
    for (int64_t i = 0; i < count; i++)                                                            \
      d[i] = wide##_to_##to(read_##from(&s[i]));                                                   \
  }

/* clang-format off */
#define TARGETS(DO, from, wide)                                                                    \
  DO(BOOL, from, wide) DO(U8, from, wide) DO(I8, from, wide) DO(I16, from, wide)                   \
  DO(I32, from, wide) DO(I64, from, wide) DO(U16, from, wide) DO(U32, from, wide)                  \
  DO(U64, from, wide) DO(F16, from, wide) DO(BF16, from, wide) DO(F32, from, wide)                 \
  DO(F64, from, wide)
/* clang-format on */

#define FROM(from, type, read, wide, from_integer, from_double) TARGETS(PAIR, from, wide)
ALL_ROWS(FROM)
#undef FROM

static pair_fn *const pairs[FNZ_DTYPE_COUNT][FNZ_DTYPE_COUNT] = {
#define ENTRY(to, from, wide) [FNZ_##to] = from##_to_##to,
#define FROM(from, type, read, wide, from_integer, from_double)                                    \
  [FNZ_##from] = {TARGETS(ENTRY, from, wide)},
    ALL_ROWS(FROM)
#undef FROM
};

/* The type of the real part of a complex dtype; the dtype itself otherwise. */
static fnz_dtype part(fnz_dtype d) {
  return d == FNZ_C32 ? FNZ_F16 : d == FNZ_C64 ? FNZ_F32 : d == FNZ_C128 ? FNZ_F64 : d;
}

/* What a part is converted from and to beside its eight bits. */
static fnz_dtype wide_part(fnz_dtype d) {
  return fnzi_krn_is_float8(d) ? FNZ_F32 : part(d);
}

bool fnzi_krn_can_convert(fnz_dtype to, fnz_dtype from) {
  return to == from || pairs[wide_part(from)][wide_part(to)] != NULL;
}

/* Numbers of eight bits are what they are as f32; but the NaN of those on "uz" is no integer, 0. */
static float widened(fnz_dtype from, uint8_t bits, fnz_dtype to) {
  bool is_none = bits == 0x80 && (from == FNZ_F8_E4M3FNUZ || from == FNZ_F8_E5M2FNUZ);
  return is_none && fnzi_is_integer(to) ? 0 : fnzi_krn_from_float8(from, bits);
}

static void convert_float8(fnz_dtype to, char *dst, int64_t dst_stride, fnz_dtype from,
                           const char *src, int64_t src_stride, int64_t count) {
  for (int64_t i = 0; i < count; i++, dst += dst_stride, src += src_stride) {
    float v;
    if (fnzi_krn_is_float8(from))
      v = widened(from, *(const uint8_t *)src, to);
    else
      pairs[from][FNZ_F32]((char *)&v, sizeof v, src, src_stride, 1);
    if (fnzi_krn_is_float8(to))
      *(uint8_t *)dst = fnzi_krn_to_float8(to, v);
    else
      pairs[FNZ_F32][to](dst, dst_stride, (const char *)&v, sizeof v, 1);
  }
}

/* No complex ones. */
static void convert_part(fnz_dtype to, char *dst, int64_t dst_stride, fnz_dtype from,
                         const char *src, int64_t src_stride, int64_t count) {
  if (fnzi_krn_is_float8(to) || fnzi_krn_is_float8(from))
    convert_float8(to, dst, dst_stride, from, src, src_stride, count);
  else
    pairs[from][to](dst, dst_stride, src, src_stride, count);
}

static void copy_row(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,
                     int64_t count, size_t cell) {
  if (dst_stride == (int64_t)cell && src_stride == (int64_t)cell) {
    memmove(dst, src, (size_t)count * cell);
    return;
  }
  for (int64_t i = 0; i < count; i++)
    memmove(dst + i * dst_stride, src + i * src_stride, cell);
}

/* Imaginary parts: carried along from complex to complex, zero from real to complex. */
static void convert_imaginary(fnz_dtype to, char *dst, int64_t dst_stride, fnz_dtype from,
                              const char *src, int64_t src_stride, int64_t count) {
  size_t to_bytes = fnzi_dtype(part(to))->bytes;
  if (fnzi_is_complex(from)) {
    pairs[part(from)][part(to)](dst + to_bytes, dst_stride, src + fnzi_dtype(part(from))->bytes,
                                src_stride, count);
    return;
  }
  for (int64_t i = 0; i < count; i++)
    memset(dst + to_bytes + i * dst_stride, 0, to_bytes);
}

/* A bool from a complex number also looks at the imaginary part. */
static void complex_to_bool(char *dst, int64_t dst_stride, fnz_dtype from, const char *src,
                            int64_t src_stride, int64_t count) {
  size_t half = fnzi_dtype(part(from))->bytes;
  for (int64_t i = 0; i < count; i++) {
    uint8_t real, imaginary;
    pairs[part(from)][FNZ_BOOL]((char *)&real, 1, src + i * src_stride, 1, 1);
    pairs[part(from)][FNZ_BOOL]((char *)&imaginary, 1, src + i * src_stride + half, 1, 1);
    dst[i * dst_stride] = (char)(real | imaginary);
  }
}

void fnzi_krn_convert(fnz_dtype to, void *dst, int64_t dst_stride, fnz_dtype from, const void *src,
                      int64_t src_stride, int64_t count) {
  if (to == from) {
    copy_row(dst, dst_stride, src, src_stride, count, fnzi_dtype(to)->bytes);
    return;
  }
  if (!fnzi_krn_can_convert(to, from))
    return;
  if (to == FNZ_BOOL && fnzi_is_complex(from)) {
    complex_to_bool(dst, dst_stride, from, src, src_stride, count);
    return;
  }
  convert_part(part(to), dst, dst_stride, part(from), src, src_stride, count);
  if (fnzi_is_complex(to))
    convert_imaginary(to, dst, dst_stride, from, src, src_stride, count);
}

/* Bits of NaN, or 0: the upper half of an f32 has bf16's places, f16 keeps the upper ten. */
static uint32_t widened_nan(fnz_dtype from, uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16;
  if (from == FNZ_BF16)
    return (bits & 0x7fff) > 0x7f80 ? (uint32_t)bits << 16 : 0;
  return (bits & 0x7fff) > 0x7c00 ? sign | 0x7f800000 | (uint32_t)(bits & 0x3ff) << 13 : 0;
}

static uint16_t narrowed_nan(fnz_dtype to, uint32_t bits) {
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000), fraction = bits >> 13 & 0x3ff;
  if ((bits & 0x7fffffff) <= 0x7f800000)
    return 0;
  if (to == FNZ_BF16)
    return bits & 0x7f0000 ? (uint16_t)(bits >> 16) : (uint16_t)(sign | 0x7fc0);
  return (uint16_t)(sign | 0x7c00 | (fraction ? fraction : 0x200));
}

void fnzi_krn_convert_kept(fnz_dtype to, void *dst, int64_t dst_stride, fnz_dtype from,
                           const void *src, int64_t src_stride, int64_t count) {
  bool widens = to == FNZ_F32 && (from == FNZ_F16 || from == FNZ_BF16);
  bool narrows = from == FNZ_F32 && (to == FNZ_F16 || to == FNZ_BF16);
  fnzi_krn_convert(to, dst, dst_stride, from, src, src_stride, count);
  if (!widens && !narrows)
    return;
  const char *in = src;
  char *out = dst;
  for (int64_t i = 0; i < count; i++, in += src_stride, out += dst_stride) {
    uint32_t wide = widens ? widened_nan(from, *(const uint16_t *)(const void *)in) : 0;
    uint16_t half = widens ? 0 : narrowed_nan(to, *(const uint32_t *)(const void *)in);
    if (wide)
      memcpy(out, &wide, sizeof wide);
    if (half)
      memcpy(out, &half, sizeof half);
  }
}

void fnzi_krn_number_cell(const fnz_arg *number, fnz_dtype dtype, void *out) {
  double parts[2] = {fnzi_krn_number_float(number), 0.0};
  if (number->tag == FNZ_ARG_COMPLEX)
    parts[1] = number->u.list[1].u.f;
  if (dtype == FNZ_F16 && isnan(parts[0])) /* a number's NaN has no payload there */
    parts[0] = copysign(NAN, parts[0]);
  if (number->tag == FNZ_ARG_INT || number->tag == FNZ_ARG_BOOL)
    fnzi_krn_convert(dtype, out, 0, FNZ_I64, &number->u.i, 0, 1);
  else
    fnzi_krn_convert(dtype, out, 0, FNZ_C128, parts, 0, 1);
}
