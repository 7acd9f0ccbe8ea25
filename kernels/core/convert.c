/* convert.c - elements from one dtype to another: which loops of convert_rows.c, and what complex
 * numbers and floats of eight bits make of them. */
#include "kernels/core/convert.h"
#include "kernels/core/float8.h"
#include "kernels/core/half.h"

#include <math.h>

const fnzi_krn_rows *fnzi_krn_rows_for(fnzi_krn_isa isa) {
  static const fnzi_krn_rows *const all[FNZI_ISAS] = {FNZI_ISA_TABLES(&fnzi_krn_rows_of)};
  return all[isa];
}

static void run_pair(fnz_dtype to, char *dst, int64_t dst_stride, fnz_dtype from, const char *src,
                     int64_t src_stride, int64_t count) {
  fnzi_krn_rows_for(fnzi_krn_isa_best())->pairs[from][to](dst, dst_stride, src, src_stride, count);
}

/* The type of the real part of a complex dtype; the dtype itself otherwise. */
static fnz_dtype part(fnz_dtype d) {
  return d == FNZ_C32 ? FNZ_F16 : d == FNZ_C64 ? FNZ_F32 : d == FNZ_C128 ? FNZ_F64 : d;
}

/* The dtype on the wider side of a conversion of eight bits. */
static fnz_dtype wide_part(fnz_dtype d) {
  return fnzi_krn_is_float8(d) ? FNZ_F32 : part(d);
}

bool fnzi_krn_can_convert(fnz_dtype to, fnz_dtype from) {
  return to == from || fnzi_krn_rows_of.pairs[wide_part(from)][wide_part(to)] != NULL;
}

/* Numbers of eight bits are converted as f32; but the NaN of dtypes on "uz" becomes the integer
 * 0. */
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
      run_pair(FNZ_F32, (char *)&v, sizeof v, from, src, src_stride, 1);
    if (fnzi_krn_is_float8(to))
      *(uint8_t *)dst = fnzi_krn_to_float8(to, v);
    else
      run_pair(to, dst, dst_stride, FNZ_F32, (const char *)&v, sizeof v, 1);
  }
}

/* No complex ones. */
static void convert_part(fnz_dtype to, char *dst, int64_t dst_stride, fnz_dtype from,
                         const char *src, int64_t src_stride, int64_t count) {
  if (fnzi_krn_is_float8(to) || fnzi_krn_is_float8(from))
    convert_float8(to, dst, dst_stride, from, src, src_stride, count);
  else
    run_pair(to, dst, dst_stride, from, src, src_stride, count);
}

void fnzi_krn_copy_row(char *dst, int64_t dst_stride, const char *src, int64_t src_stride,
                       int64_t count, size_t cell) {
  if (dst_stride == (int64_t)cell && src_stride == (int64_t)cell) {
    memmove(dst, src, (size_t)count * cell);
    return;
  }
  for (int k = 0; k < 5; k++)
    if (cell == (size_t)1 << k) {
      fnzi_krn_rows_for(fnzi_krn_isa_best())->copies[k](dst, dst_stride, src, src_stride, count);
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
    run_pair(part(to), dst + to_bytes, dst_stride, part(from), src + fnzi_dtype(part(from))->bytes,
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
    run_pair(FNZ_BOOL, (char *)&real, 1, part(from), src + i * src_stride, 1, 1);
    run_pair(FNZ_BOOL, (char *)&imaginary, 1, part(from), src + i * src_stride + half, 1, 1);
    dst[i * dst_stride] = (char)(real | imaginary);
  }
}

void fnzi_krn_convert(fnz_dtype to, void *dst, int64_t dst_stride, fnz_dtype from, const void *src,
                      int64_t src_stride, int64_t count) {
  if (to == from) {
    fnzi_krn_copy_row(dst, dst_stride, src, src_stride, count, fnzi_dtype(to)->bytes);
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

/* A cast of f32 to bf16 has a NaN of its own in eager, where elements lie side by side. */
void fnzi_krn_cast(fnz_dtype to, void *dst, int64_t dst_stride, fnz_dtype from, const void *src,
                   int64_t src_stride, int64_t count) {
  char *out = dst;
  const char *in = src;
  fnzi_krn_convert(to, dst, dst_stride, from, src, src_stride, count);
  if (to != FNZ_BF16 || from != FNZ_F32)
    return;
  for (int64_t i = 0; i < count; i++) {
    uint32_t bits;
    memcpy(&bits, in + i * src_stride, sizeof bits);
    if ((bits & 0x7fffffff) > 0x7f800000)
      memset(out + i * dst_stride, 0xff, sizeof(uint16_t));
  }
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
    uint32_t wide =
        widens ? fnzi_krn_widened_nan(from == FNZ_BF16, *(const uint16_t *)(const void *)in) : 0;
    uint16_t half =
        widens ? 0 : fnzi_krn_narrowed_nan(to == FNZ_BF16, *(const uint32_t *)(const void *)in);
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
