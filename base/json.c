/* json.c - see json.h. */
#include "base/json.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- structure -------------------------------------------------------------------------------- */
static fnz_status json_put(fnzi_json_out *w, const char *text, size_t size) {
  if (w->status == FNZ_OK)
    w->status = fnzi_put(w->ctx, w->out, text, size);
  return w->status;
}

void fnzi_json_break(fnzi_json_out *w, int indent) {
  w->breaks = true;
  w->indent = indent;
}

static void begin_line(fnzi_json_out *w) {
  if (w->breaks && w->status == FNZ_OK)
    w->status = fnzi_printf(w->ctx, w->out, "\n%*s", w->indent, "");
  w->breaks = false;
}

static bool in_lines(const fnzi_json_out *w) {
  return w->nlists && w->lists[w->nlists - 1].depth == w->depth;
}

/* Between two things, unless the second is the value of a key. */
static void separate(fnzi_json_out *w) {
  if (!w->has_key && !w->breaks && in_lines(w))
    fnzi_json_break(w, w->lists[w->nlists - 1].indent);
  if (w->follows)
    json_put(w, ", ", w->breaks ? 1 : 2);
  begin_line(w);
  w->follows = true;
  w->has_key = false;
}

fnz_status fnzi_json_open(fnzi_json_out *w, char bracket) {
  separate(w);
  w->follows = false;
  w->depth++;
  return json_put(w, &bracket, 1);
}

fnz_status fnzi_json_open_lines(fnzi_json_out *w, const char *key, char bracket, int indent,
                                int end) {
  if (key)
    fnzi_json_key(w, key);
  fnzi_json_open(w, bracket);
  if (w->nlists == sizeof w->lists / sizeof *w->lists)
    return w->status = fnzi_fail(w->ctx, FNZ_CLASS_INTERNAL, NULL, "too many lists with lines");
  w->lists[w->nlists].depth = w->depth;
  w->lists[w->nlists].indent = indent;
  w->lists[w->nlists++].end = end;
  return w->status;
}

fnz_status fnzi_json_close(fnzi_json_out *w, char bracket) {
  if (in_lines(w) && w->lists[--w->nlists].end != FNZI_JSON_AFTER && w->follows)
    fnzi_json_break(w, w->lists[w->nlists].end);
  begin_line(w);
  w->follows = true;
  w->depth--;
  return json_put(w, &bracket, 1);
}

static fnz_status end_key(fnzi_json_out *w) {
  w->follows = false;
  w->has_key = true;
  return json_put(w, ": ", 2);
}

fnz_status fnzi_json_key(fnzi_json_out *w, const char *key) {
  separate(w);
  json_put(w, "\"", 1);
  json_put(w, key, strlen(key));
  json_put(w, "\"", 1);
  return end_key(w);
}

fnz_status fnzi_json_out_name(fnzi_json_out *w, const char *key, size_t size) {
  fnzi_json_out_string(w, key, size);
  return end_key(w);
}

/* --- strings ---------------------------------------------------------------------------------- */
/* The code point at s[*at], which is moved behind it. */
static uint32_t next_point(const char *s, size_t *at) {
  unsigned char first = (unsigned char)s[(*at)++];
  int tail = first < 0x80 ? 0 : first < 0xe0 ? 1 : first < 0xf0 ? 2 : 3;
  uint32_t point = tail ? first & (0x3fu >> tail) : first;
  while (tail--)
    point = point << 6 | ((unsigned char)s[(*at)++] & 0x3fu);
  return point;
}

static fnz_status put_escape(fnz_context *ctx, fnz_buffer *out, uint32_t point) {
  static const char letters[] = "\"\"\\\\\nn\tt\rr\bb\ff";
  for (const char *l = letters; *l; l += 2)
    if ((unsigned char)*l == point)
      return fnzi_printf(ctx, out, "\\%c", l[1]);
  if (point < 0x10000)
    return fnzi_printf(ctx, out, "\\u%04x", point);
  point -= 0x10000;
  return fnzi_printf(ctx, out, "\\u%04x\\u%04x", 0xd800 | point >> 10, 0xdc00 | (point & 0x3ff));
}

static bool needs_escape(unsigned char c, bool utf8) {
  return c < 0x20 || c == '"' || c == '\\' || (!utf8 && c >= 0x7f);
}

/* Whether one of eight bytes may need an escape. A byte below n has its top bit set in w - n in
 * each byte, unless it is set in w. A borrow may set it in another byte too. */
static bool may_need_escape(const char *s) {
  const uint64_t ones = 0x0101010101010101u;
  uint64_t w;
  memcpy(&w, s, sizeof w);
  uint64_t quote = w ^ ones * '"', slash = w ^ ones * '\\';
  uint64_t low = (w - ones * 0x20) & ~w,
           found = ((quote - ones) & ~quote) | ((slash - ones) & ~slash);
  return ((low | found) & ones * 0x80) != 0;
}

static fnz_status put_string(fnz_context *ctx, fnz_buffer *out, const char *s, size_t size,
                             bool utf8) {
  FNZ_TRY(fnzi_put(ctx, out, "\"", 1));
  for (size_t at = 0; at < size;) {
    /* How many bytes from `s[at]` on go as they are. */
    size_t run = 0;
    while (utf8 && size - at - run >= sizeof(uint64_t) && !may_need_escape(s + at + run))
      run += sizeof(uint64_t);
    while (run < size - at && !needs_escape((unsigned char)s[at + run], utf8))
      run++;
    FNZ_TRY(fnzi_put(ctx, out, s + at, run));
    at += run;
    if (at < size)
      FNZ_TRY(put_escape(ctx, out, next_point(s, &at)));
  }
  return fnzi_put(ctx, out, "\"", 1);
}

fnz_status fnzi_json_put_string(fnz_context *ctx, fnz_buffer *out, const char *s, size_t size) {
  return put_string(ctx, out, s, size, true);
}

fnz_status fnzi_json_out_string(fnzi_json_out *w, const char *s, size_t size) {
  separate(w);
  if (w->status == FNZ_OK)
    w->status = put_string(w->ctx, w->out, s, size, w->utf8);
  return w->status;
}

/* --- numbers ---------------------------------------------------------------------------------- */
fnz_status fnzi_json_out_raw(fnzi_json_out *w, const char *json, size_t size) {
  separate(w);
  return json_put(w, json, size);
}

fnz_status fnzi_json_out_bool(fnzi_json_out *w, bool value) {
  return value ? fnzi_json_out_raw(w, "true", 4) : fnzi_json_out_raw(w, "false", 5);
}

fnz_status fnzi_json_out_null(fnzi_json_out *w) {
  return fnzi_json_out_raw(w, "null", 4);
}

static fnz_status put_digits(fnzi_json_out *w, uint64_t rest, bool is_negative) {
  char text[24], *at = text + sizeof text;
  do
    *--at = (char)('0' + rest % 10);
  while (rest /= 10);
  if (is_negative)
    *--at = '-';
  return fnzi_json_out_raw(w, at, (size_t)(text + sizeof text - at));
}

fnz_status fnzi_json_out_int(fnzi_json_out *w, int64_t value) {
  return put_digits(w, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, value < 0);
}

/* repr() of a finite float that is not negative: plain digits if the exponent is in [-4, 16). */
static void repr(double value, char out[64]) {
  char text[40], digits[24];
  /* The fewest digits that read back as the same number, as "d.ddde+xx"; the locale's decimal
   * point, whatever it is, is one character at place 1. */
  int count = 1;
  do
    snprintf(text, sizeof text, "%.*e", count - 1, value);
  while (strtod(text, NULL) != value && count++ < 17);
  int exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
  digits[0] = text[0];
  memcpy(digits + 1, text + 2, (size_t)count - 1);
  digits[count] = 0;
  if (exponent < -4 || exponent >= 16)
    snprintf(out, 64, "%c%s%se%c%02d", digits[0], count > 1 ? "." : "", digits + 1,
             exponent < 0 ? '-' : '+', abs(exponent));
  else if (exponent < 0)
    snprintf(out, 64, "0.%.*s%s", -exponent - 1, "0000", digits);
  else if (exponent + 1 >= count)
    snprintf(out, 64, "%s%.*s.0", digits, exponent + 1 - count, "0000000000000000");
  else
    snprintf(out, 64, "%.*s.%s", exponent + 1, digits, digits + exponent + 1);
}

fnz_status fnzi_json_out_float(fnzi_json_out *w, double value) {
  char text[72];
  if (isnan(value))
    return fnzi_json_out_string(w, "NaN", 3);
  if (isinf(value))
    return fnzi_json_out_string(w, value < 0 ? "-Infinity" : "Infinity", value < 0 ? 9 : 8);
  text[0] = '-';
  repr(fabs(value), text + 1);
  const char *from = signbit(value) ? text : text + 1;
  return fnzi_json_out_raw(w, from, strlen(from));
}

/* --- members ---------------------------------------------------------------------------------- */
fnz_status fnzi_json_out_text(fnzi_json_out *w, const char *key, const char *s) {
  fnzi_json_key(w, key);
  return s ? fnzi_json_out_string(w, s, strlen(s)) : fnzi_json_out_null(w);
}

fnz_status fnzi_json_out_count(fnzi_json_out *w, const char *key, uint64_t value) {
  fnzi_json_key(w, key);
  return put_digits(w, value, false);
}

fnz_status fnzi_json_out_number(fnzi_json_out *w, const char *key, int64_t value) {
  fnzi_json_key(w, key);
  return fnzi_json_out_int(w, value);
}

fnz_status fnzi_json_out_fixed(fnzi_json_out *w, const char *key, int digits, double value) {
  char text[400]; /* the largest one has 309 digits before the point */
  int size = snprintf(text, sizeof text, "%.*f", digits, value);
  fnzi_json_key(w, key);
  return fnzi_json_out_raw(w, text, (size_t)size);
}

fnz_status fnzi_json_out_flag(fnzi_json_out *w, const char *key, bool value) {
  fnzi_json_key(w, key);
  return fnzi_json_out_bool(w, value);
}

fnz_status fnzi_json_open_as(fnzi_json_out *w, const char *key, char bracket) {
  fnzi_json_key(w, key);
  return fnzi_json_open(w, bracket);
}
