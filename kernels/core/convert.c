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

static void run_pair(const fnzi_krn_conversion *c, char *to, const char *from, int64_t count) {
  fnzi_krn_rows_for(fnzi_krn_isa_best())
      ->pairs[c->from][c->to](to, c->to_stride, from, c->from_stride, count);
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
static void convert_float8(const fnzi_krn_conversion *c, char *dst, const char *src,
                           int64_t count) {
  const fnzi_krn_conversion widen = {FNZ_F32, c->from, 0, 0}, narrow = {c->to, FNZ_F32, 0, 0};
  const bool is_uz = c->from == FNZ_F8_E4M3FNUZ || c->from == FNZ_F8_E5M2FNUZ;
  for (int64_t i = 0; i < count; i++, dst += c->to_stride, src += c->from_stride) {
    float v;
    if (is_uz && *(const uint8_t *)src == 0x80 && fnzi_is_integer(c->to))
      v = 0;
    else if (fnzi_krn_is_float8(c->from))
      v = fnzi_krn_from_float8(c->from, *(const uint8_t *)src);
    else
      run_pair(&widen, (char *)&v, src, 1);
    if (fnzi_krn_is_float8(c->to))
      *(uint8_t *)dst = fnzi_krn_to_float8(c->to, v);
    else
      run_pair(&narrow, dst, (const char *)&v, 1);
  }
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

bool fnzi_krn_spread_rows(const fnzi_krn_spreading *s) {
  for (int k = 1; k < 4; k++)
    if (s->cell == (size_t)1 << k) {
      fnzi_krn_rows_for(fnzi_krn_isa_best())
          ->spreads[k](s->to, s->from, s->step, s->count, s->size);
      return true;
    }
  return false;
}

void fnzi_krn_choose_row(const fnzi_krn_choice *c, size_t cell, int64_t count) {
  for (int k = 0; k < 5; k++)
    if (cell == (size_t)1 << k)
      fnzi_krn_rows_for(fnzi_krn_isa_best())->choices[k](c, count);
}

/* The compiler knows most sizes: a call for each element would take longer than the conversion. */
static inline void convert_clear(char *to, int64_t stride, size_t bytes, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    memset(to + i * stride, 0, bytes);
}

/* Imaginary parts: carried along from complex to complex, zero from real to complex. */
static void convert_imaginary(const fnzi_krn_conversion *c, char *dst, const char *src,
                              int64_t count) {
  fnzi_krn_conversion parts = {part(c->to), part(c->from), c->to_stride, c->from_stride};
  size_t to_bytes = fnzi_dtype(parts.to)->bytes;
  if (fnzi_is_complex(c->from)) {
    run_pair(&parts, dst + to_bytes, src + fnzi_dtype(parts.from)->bytes, count);
    return;
  }
  if (to_bytes == sizeof(float))
    convert_clear(dst + to_bytes, c->to_stride, sizeof(float), count);
  else if (to_bytes == sizeof(double))
    convert_clear(dst + to_bytes, c->to_stride, sizeof(double), count);
  else
    convert_clear(dst + to_bytes, c->to_stride, to_bytes, count);
}

void fnzi_krn_convert(const fnzi_krn_conversion *c, void *to, const void *from, int64_t count) {
  const fnzi_krn_conversion parts = {part(c->to), part(c->from), c->to_stride, c->from_stride};
  if (c->to == c->from) {
    fnzi_krn_copy_row(to, c->to_stride, from, c->from_stride, count, fnzi_dtype(c->to)->bytes);
    return;
  }
  if (!fnzi_krn_can_convert(c->to, c->from))
    return;
  if (c->to == FNZ_BOOL && fnzi_is_complex(c->from)) {
    /* A bool from a complex number also looks at the imaginary part. */
    char *dst = to;
    const char *src = from;
    const fnzi_krn_conversion one = {FNZ_BOOL, part(c->from), 1, 1};
    size_t half = fnzi_dtype(one.from)->bytes;
    for (int64_t i = 0; i < count; i++) {
      uint8_t real, imaginary;
      run_pair(&one, (char *)&real, src + i * c->from_stride, 1);
      run_pair(&one, (char *)&imaginary, src + i * c->from_stride + half, 1);
      dst[i * c->to_stride] = (char)(real | imaginary);
    }
    return;
  }
  if (fnzi_krn_is_float8(parts.to) || fnzi_krn_is_float8(parts.from))
    convert_float8(&parts, to, from, count);
  else
    run_pair(&parts, to, from, count);
  if (fnzi_is_complex(c->to))
    convert_imaginary(c, to, from, count);
}

static void run_halves(const fnzi_krn_conversion *c, int which, void *to, const void *from,
                       int64_t count) {
  fnzi_krn_rows_for(fnzi_krn_isa_best())
      ->halves[which](to, c->to_stride, from, c->from_stride, count);
}

void fnzi_krn_cast(const fnzi_krn_conversion *c, void *to, const void *from, int64_t count) {
  if (c->to == FNZ_BF16 && c->from == FNZ_F32)
    run_halves(c, FNZI_KRN_CAST_TO_BF16, to, from, count);
  else
    fnzi_krn_convert(c, to, from, count);
}

void fnzi_krn_convert_kept(const fnzi_krn_conversion *c, void *to, const void *from,
                           int64_t count) {
  if (c->to == FNZ_F32 && c->from == FNZ_F16)
    run_halves(c, FNZI_KRN_KEPT_FROM_F16, to, from, count);
  else if (c->to == FNZ_F16 && c->from == FNZ_F32)
    run_halves(c, FNZI_KRN_KEPT_TO_F16, to, from, count);
  else if (c->to == FNZ_BF16 && c->from == FNZ_F32)
    run_halves(c, FNZI_KRN_KEPT_TO_BF16, to, from, count);
  else
    fnzi_krn_convert(c, to, from, count);
}

void fnzi_krn_number_cell(const fnz_arg *number, fnz_dtype dtype, void *out) {
  double parts[2] = {fnzi_krn_number_float(number), 0.0};
  if (number->tag == FNZ_ARG_COMPLEX)
    parts[1] = number->u.list[1].u.f;
  if (dtype == FNZ_F16 && isnan(parts[0])) /* a number's NaN has no payload there */
    parts[0] = copysign(NAN, parts[0]);
  if (number->tag == FNZ_ARG_INT || number->tag == FNZ_ARG_BOOL)
    fnzi_krn_convert_one(dtype, out, FNZ_I64, &number->u.i);
  else
    fnzi_krn_convert_one(dtype, out, FNZ_C128, parts);
}
