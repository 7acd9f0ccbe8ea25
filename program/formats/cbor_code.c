/* cbor_code.c - single CBOR items to and from bytes, in their one deterministic form.
 *
 * libcbor writes and reads the heads. It does not shorten floats, gets half floats wrong, and reads
 * what is not deterministic; so floats are shortened here, and every head that was read is written
 * again and must give the same bytes. */
#include "program/formats/cbor.h"

#include <cbor.h>
#include <float.h>
#include <math.h>
#include <stdio.h>

enum { HEAD_BYTES = 9 };

/* --- floats ---------------------------------------------------------------------------------- */
/* The half float with exactly this value. */
static bool to_half(float f, uint16_t *out) {
  uint32_t bits;
  memcpy(&bits, &f, sizeof bits);
  uint32_t sign = bits >> 16 & 0x8000u, fraction = bits & 0x7fffffu;
  int exponent = (int)(bits >> 23 & 0xffu) - 127;
  if (exponent == 128 || (exponent == -127 && !fraction)) {
    *out = (uint16_t)(sign | (exponent == 128 ? 0x7c00u : 0u));
    return true;
  }
  if (exponent > 15 || exponent < -24)
    return false;
  /* Below 2^-14 the half is subnormal: a multiple of 2^-24 without the implicit bit. */
  int drop = exponent < -14 ? -exponent - 1 : 13;
  uint32_t whole = exponent < -14 ? fraction | 0x800000u : fraction;
  uint32_t scale = exponent < -14 ? 0u : (uint32_t)(exponent + 15) << 10;
  *out = (uint16_t)(sign | scale | whole >> drop);
  return (whole & ((1u << drop) - 1)) == 0;
}

static size_t write_half(uint16_t half, unsigned char *out) {
  out[0] = 0xf9;
  out[1] = (unsigned char)(half >> 8);
  out[2] = (unsigned char)half;
  return 3;
}

static size_t write_float(double f, unsigned char *out) {
  uint16_t half;
  if (isnan(f))
    return write_half(0x7e00, out);
  if (!isinf(f) && (f > FLT_MAX || f < -FLT_MAX))
    return cbor_encode_double(f, out, HEAD_BYTES);
  float single = (float)f;
  if ((double)single != f)
    return cbor_encode_double(f, out, HEAD_BYTES);
  return to_half(single, &half) ? write_half(half, out)
                                : cbor_encode_single(single, out, HEAD_BYTES);
}

/* --- writing --------------------------------------------------------------------------------- */
/* The head of an item; the bytes of strings and the items of containers come behind it. */
static size_t write_head(const fnzi_cbor_item *item, unsigned char *out) {
  switch (item->kind) {
  case FNZI_CBOR_UINT:
    return cbor_encode_uint(item->n, out, HEAD_BYTES);
  case FNZI_CBOR_NINT:
    return cbor_encode_negint(item->n, out, HEAD_BYTES);
  case FNZI_CBOR_BYTES:
    return cbor_encode_bytestring_start(item->n, out, HEAD_BYTES);
  case FNZI_CBOR_TEXT:
    return cbor_encode_string_start(item->n, out, HEAD_BYTES);
  case FNZI_CBOR_ARRAY:
    return cbor_encode_array_start(item->n, out, HEAD_BYTES);
  case FNZI_CBOR_MAP:
    return cbor_encode_map_start(item->n, out, HEAD_BYTES);
  case FNZI_CBOR_FLOAT:
    return write_float(item->f, out);
  case FNZI_CBOR_BOOL:
    return cbor_encode_bool(item->n != 0, out, HEAD_BYTES);
  case FNZI_CBOR_NULL:
    return cbor_encode_null(out, HEAD_BYTES);
  case FNZI_CBOR_UNDEFINED:
    return cbor_encode_undef(out, HEAD_BYTES);
  case FNZI_CBOR_NOTHING:
  case FNZI_CBOR_REFUSED:
    break;
  }
  return 0;
}

static fnz_status encode(fnzi_encoder e, fnzi_cbor_item item) {
  unsigned char head[HEAD_BYTES];
  return fnzi_put(e.ctx, e.out, head, write_head(&item, head));
}

fnz_status fnzi_encode_uint(fnzi_encoder e, uint64_t n) {
  return encode(e, (fnzi_cbor_item){.kind = FNZI_CBOR_UINT, .n = n});
}

fnz_status fnzi_encode_int(fnzi_encoder e, int64_t n) {
  if (n >= 0)
    return fnzi_encode_uint(e, (uint64_t)n);
  return encode(e, (fnzi_cbor_item){.kind = FNZI_CBOR_NINT, .n = ~(uint64_t)n});
}

fnz_status fnzi_encode_float(fnzi_encoder e, double f) {
  return encode(e, (fnzi_cbor_item){.kind = FNZI_CBOR_FLOAT, .f = f});
}

fnz_status fnzi_encode_bool(fnzi_encoder e, bool b) {
  return encode(e, (fnzi_cbor_item){.kind = FNZI_CBOR_BOOL, .n = b});
}

fnz_status fnzi_encode_null(fnzi_encoder e) {
  return encode(e, (fnzi_cbor_item){.kind = FNZI_CBOR_NULL});
}

fnz_status fnzi_encode_undefined(fnzi_encoder e) {
  return encode(e, (fnzi_cbor_item){.kind = FNZI_CBOR_UNDEFINED});
}

fnz_status fnzi_encode_array(fnzi_encoder e, size_t count) {
  return encode(e, (fnzi_cbor_item){.kind = FNZI_CBOR_ARRAY, .n = count});
}

fnz_status fnzi_encode_map(fnzi_encoder e, size_t pairs) {
  return encode(e, (fnzi_cbor_item){.kind = FNZI_CBOR_MAP, .n = pairs});
}

fnz_status fnzi_encode_bytes_head(fnzi_encoder e, size_t size) {
  return encode(e, (fnzi_cbor_item){.kind = FNZI_CBOR_BYTES, .n = size});
}

fnz_status fnzi_encode_text(fnzi_encoder e, const char *s, size_t size) {
  if (!fnzi_is_utf8(s, size))
    return fnzi_fail(e.ctx, FNZ_CLASS_ENCODING, NULL,
                     "a string of the program is not UTF-8: \"%.40s\"", s);
  FNZ_TRY(encode(e, (fnzi_cbor_item){.kind = FNZI_CBOR_TEXT, .n = size}));
  return fnzi_put(e.ctx, e.out, s, size);
}

/* --- what libcbor found ---------------------------------------------------------------------- */
#define ON_NUMBER(name, type, item_kind, field)                                                    \
  static void name(void *out, type n) {                                                            \
    *(fnzi_cbor_item *)out = (fnzi_cbor_item){.kind = FNZI_CBOR_##item_kind, .field = n};          \
  }
ON_NUMBER(on_uint8, uint8_t, UINT, n)
ON_NUMBER(on_uint16, uint16_t, UINT, n)
ON_NUMBER(on_uint32, uint32_t, UINT, n)
ON_NUMBER(on_uint64, uint64_t, UINT, n)
ON_NUMBER(on_negint8, uint8_t, NINT, n)
ON_NUMBER(on_negint16, uint16_t, NINT, n)
ON_NUMBER(on_negint32, uint32_t, NINT, n)
ON_NUMBER(on_negint64, uint64_t, NINT, n)
ON_NUMBER(on_array, size_t, ARRAY, n)
ON_NUMBER(on_map, size_t, MAP, n)
ON_NUMBER(on_tag, uint64_t, REFUSED, n)
ON_NUMBER(on_float, float, FLOAT, f)
ON_NUMBER(on_double, double, FLOAT, f)
ON_NUMBER(on_bool, bool, BOOL, n)
#undef ON_NUMBER

#define ON_SIMPLE(name, item_kind)                                                                 \
  static void name(void *out) {                                                                    \
    *(fnzi_cbor_item *)out = (fnzi_cbor_item){.kind = FNZI_CBOR_##item_kind};                      \
  }
ON_SIMPLE(on_null, NULL)
ON_SIMPLE(on_undefined, UNDEFINED)
ON_SIMPLE(on_indefinite, REFUSED)
#undef ON_SIMPLE

#define ON_STRING(name, item_kind)                                                                 \
  static void name(void *out, cbor_data data, size_t size) {                                       \
    *(fnzi_cbor_item *)out =                                                                       \
        (fnzi_cbor_item){.kind = FNZI_CBOR_##item_kind, .n = size, .data = (const char *)data};    \
  }
ON_STRING(on_bytes, BYTES)
ON_STRING(on_text, TEXT)
#undef ON_STRING

static const struct cbor_callbacks callbacks = {
    .uint8 = on_uint8,
    .uint16 = on_uint16,
    .uint32 = on_uint32,
    .uint64 = on_uint64,
    .negint8 = on_negint8,
    .negint16 = on_negint16,
    .negint32 = on_negint32,
    .negint64 = on_negint64,
    .byte_string_start = on_indefinite,
    .byte_string = on_bytes,
    .string = on_text,
    .string_start = on_indefinite,
    .indef_array_start = on_indefinite,
    .array_start = on_array,
    .indef_map_start = on_indefinite,
    .map_start = on_map,
    .tag = on_tag,
    .float2 = on_float,
    .float4 = on_float,
    .float8 = on_double,
    .undefined = on_undefined,
    .null = on_null,
    .boolean = on_bool,
    .indef_break = on_indefinite,
};

/* --- reading --------------------------------------------------------------------------------- */
fnz_status fnzi_decode_fail(fnzi_decoder *d, fnz_class kind, const char *format, ...) {
  char where[32], message[400];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  snprintf(where, sizeof where, "byte %zu", (size_t)(d->at - d->start));
  return fnzi_fail(d->ctx, kind, where, "%s", message);
}

fnz_status fnzi_decode_at(fnzi_decoder *d, fnz_status status) {
  return status == FNZ_NO_MEMORY ? status
                                 : fnzi_at(d->ctx, status, "byte %zu", (size_t)(d->at - d->start));
}

fnz_status fnzi_decode(fnzi_decoder *d) {
  size_t left = (size_t)(d->end - d->at);
  if (!left)
    return fnzi_decode_fail(d, FNZ_CLASS_TRUNCATED, "the bytes end where an item should be");
  /* The library reads some heads that the format does not allow. */
  unsigned char first = (unsigned char)*d->at, low = first & 31, major = first >> 5;
  if (low >= 28 && low <= 30)
    return fnzi_decode_fail(d, FNZ_CLASS_SYNTAX, "the reserved head 0x%02x", first);
  if (low == 31)
    return fnzi_decode_fail(d, FNZ_CLASS_ENCODING, "an item of indefinite length");
  if (major == 6)
    return fnzi_decode_fail(d, FNZ_CLASS_UNSUPPORTED, "a tagged item; the format has no tags");
  if (major == 7 && (low < 20 || low == 24))
    return fnzi_decode_fail(d, FNZ_CLASS_UNSUPPORTED, "an unassigned simple value");
  d->item = (fnzi_cbor_item){.kind = FNZI_CBOR_NOTHING};
  struct cbor_decoder_result found =
      cbor_stream_decode((cbor_data)d->at, left, &callbacks, &d->item);
  if (found.status == CBOR_DECODER_NEDATA)
    return fnzi_decode_fail(d, FNZ_CLASS_TRUNCATED, "the bytes end inside an item");
  if (found.status != CBOR_DECODER_FINISHED || d->item.kind == FNZI_CBOR_NOTHING ||
      d->item.kind == FNZI_CBOR_REFUSED)
    return fnzi_decode_fail(d, FNZ_CLASS_SYNTAX, "not a CBOR item");
  unsigned char head[HEAD_BYTES];
  size_t size = write_head(&d->item, head), body = 0;
  if (d->item.kind == FNZI_CBOR_TEXT || d->item.kind == FNZI_CBOR_BYTES)
    body = d->item.n;
  if (size + body != found.read || memcmp(head, d->at, size) != 0)
    return fnzi_decode_fail(d, FNZ_CLASS_ENCODING, "an item that is not in its shortest form");
  uint64_t n = d->item.n;
  if ((d->item.kind == FNZI_CBOR_ARRAY && n > left - found.read) ||
      (d->item.kind == FNZI_CBOR_MAP && n > (left - found.read) / 2))
    return fnzi_decode_fail(d, FNZ_CLASS_TRUNCATED, "%llu items announced, %zu bytes left",
                            (unsigned long long)n, left - found.read);
  if (d->item.kind == FNZI_CBOR_TEXT && !fnzi_is_utf8(d->item.data, n))
    return fnzi_decode_fail(d, FNZ_CLASS_ENCODING, "a text that is not UTF-8");
  d->at += found.read;
  return FNZ_OK;
}

fnz_status fnzi_decode_kind(fnzi_decoder *d, fnzi_cbor_kind kind) {
  static const char *const names[] = {"nothing",
                                      "an unsigned integer",
                                      "a negative integer",
                                      "bytes",
                                      "a text",
                                      "an array",
                                      "a map",
                                      "a float",
                                      "true or false",
                                      "null",
                                      "undefined",
                                      "?"};
  FNZ_TRY(fnzi_decode(d));
  if (d->item.kind == kind)
    return FNZ_OK;
  return fnzi_decode_fail(d, FNZ_CLASS_TYPE, "expected %s, found %s", names[kind],
                          names[d->item.kind]);
}

fnz_status fnzi_decode_uint(fnzi_decoder *d, uint64_t limit, uint64_t *out) {
  FNZ_TRY(fnzi_decode_kind(d, FNZI_CBOR_UINT));
  *out = d->item.n;
  if (d->item.n < limit)
    return FNZ_OK;
  return fnzi_decode_fail(d, FNZ_CLASS_REF, "index %llu; there are %llu",
                          (unsigned long long)d->item.n, (unsigned long long)limit);
}

fnz_status fnzi_item_int(fnzi_decoder *d, int64_t *out) {
  bool is_negative = d->item.kind == FNZI_CBOR_NINT;
  if (!is_negative && d->item.kind != FNZI_CBOR_UINT)
    return fnzi_decode_fail(d, FNZ_CLASS_TYPE, "expected an integer");
  if (d->item.n > INT64_MAX)
    return fnzi_decode_fail(d, FNZ_CLASS_OVERFLOW, "an integer that leaves 64 bits");
  *out = is_negative ? -1 - (int64_t)d->item.n : (int64_t)d->item.n;
  return FNZ_OK;
}

fnz_status fnzi_decode_int(fnzi_decoder *d, int64_t *out) {
  FNZ_TRY(fnzi_decode(d));
  return fnzi_item_int(d, out);
}

fnz_status fnzi_decode_array(fnzi_decoder *d, size_t *count) {
  FNZ_TRY(fnzi_decode_kind(d, FNZI_CBOR_ARRAY));
  *count = d->item.n;
  return FNZ_OK;
}

fnz_status fnzi_decode_fixed(fnzi_decoder *d, size_t count) {
  size_t found;
  FNZ_TRY(fnzi_decode_array(d, &found));
  if (found == count)
    return FNZ_OK;
  return fnzi_decode_fail(d, FNZ_CLASS_TYPE, "an array of %zu items, expected %zu", found, count);
}
