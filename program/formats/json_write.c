/* json_write.c - JSON as Python's json.dumps writes it, piece by piece. */
#include "program/formats/json_out.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- structure -------------------------------------------------------------------------------- */
static fnz_status separate(fnzi_json_out *w) {
  bool follows = w->follows;
  w->follows = true;
  return follows ? fnzi_put(w->ctx, w->out, ", ", 2) : FNZ_OK;
}

fnz_status fnzi_json_open(fnzi_json_out *w, char bracket) {
  FNZ_TRY(separate(w));
  w->follows = false;
  return fnzi_put(w->ctx, w->out, &bracket, 1);
}

fnz_status fnzi_json_close(fnzi_json_out *w, char bracket) {
  w->follows = true;
  return fnzi_put(w->ctx, w->out, &bracket, 1);
}

fnz_status fnzi_json_out_raw(fnzi_json_out *w, const char *json, size_t size) {
  FNZ_TRY(separate(w));
  return fnzi_put(w->ctx, w->out, json, size);
}

fnz_status fnzi_json_key(fnzi_json_out *w, const char *key) {
  FNZ_TRY(separate(w));
  w->follows = false;
  FNZ_TRY(fnzi_put(w->ctx, w->out, "\"", 1));
  FNZ_TRY(fnzi_put_text(w->ctx, w->out, key));
  return fnzi_put(w->ctx, w->out, "\": ", 3);
}

fnz_status fnzi_json_out_name(fnzi_json_out *w, const char *key, size_t size) {
  FNZ_TRY(fnzi_json_out_string(w, key, size));
  w->follows = false;
  return fnzi_put(w->ctx, w->out, ": ", 2);
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

static const char *short_escape(uint32_t point) {
  switch (point) {
  case '"':
    return "\\\"";
  case '\\':
    return "\\\\";
  case '\n':
    return "\\n";
  case '\r':
    return "\\r";
  case '\t':
    return "\\t";
  case '\b':
    return "\\b";
  case '\f':
    return "\\f";
  }
  return NULL;
}

static fnz_status put_escape(fnzi_json_out *w, uint32_t point) {
  const char *known = short_escape(point);
  if (known)
    return fnzi_put(w->ctx, w->out, known, 2);
  if (point < 0x10000)
    return fnzi_printf(w->ctx, w->out, "\\u%04x", point);
  point -= 0x10000;
  return fnzi_printf(w->ctx, w->out, "\\u%04x\\u%04x", 0xd800 | point >> 10,
                     0xdc00 | (point & 0x3ff));
}

static bool is_plain(char c) {
  return c >= 0x20 && c < 0x7f && c != '"' && c != '\\';
}

fnz_status fnzi_json_out_string(fnzi_json_out *w, const char *s, size_t size) {
  FNZ_TRY(separate(w));
  FNZ_TRY(fnzi_put(w->ctx, w->out, "\"", 1));
  for (size_t at = 0; at < size;) {
    size_t start = at;
    while (at < size && is_plain(s[at]))
      at++;
    FNZ_TRY(fnzi_put(w->ctx, w->out, s + start, at - start));
    if (at < size)
      FNZ_TRY(put_escape(w, next_point(s, &at)));
  }
  return fnzi_put(w->ctx, w->out, "\"", 1);
}

fnz_status fnzi_json_out_text(fnzi_json_out *w, const char *key, const char *s) {
  FNZ_TRY(fnzi_json_key(w, key));
  return fnzi_json_out_string(w, s, strlen(s));
}

/* --- numbers ---------------------------------------------------------------------------------- */
fnz_status fnzi_json_out_bool(fnzi_json_out *w, bool value) {
  return value ? fnzi_json_out_raw(w, "true", 4) : fnzi_json_out_raw(w, "false", 5);
}

fnz_status fnzi_json_out_null(fnzi_json_out *w) {
  return fnzi_json_out_raw(w, "null", 4);
}

fnz_status fnzi_json_out_int(fnzi_json_out *w, int64_t value) {
  char text[24], *at = text + sizeof text;
  uint64_t rest = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;
  do
    *--at = (char)('0' + rest % 10);
  while (rest /= 10);
  if (value < 0)
    *--at = '-';
  return fnzi_json_out_raw(w, at, (size_t)(text + sizeof text - at));
}

/* The fewest digits that read back as the same number, as "d.ddde+xx"; the locale's decimal point,
 * whatever it is, is one character at place 1. */
static int shortest(double value, char out[40]) {
  int digits = 1;
  do
    snprintf(out, 40, "%.*e", digits - 1, value);
  while (strtod(out, NULL) != value && digits++ < 17);
  return digits;
}

/* repr() of a finite float that is not negative: plain digits if the exponent is in [-4, 16). */
static void repr(double value, char out[64]) {
  char text[40], digits[24];
  int count = shortest(value, text), exponent = (int)strtol(strchr(text, 'e') + 1, NULL, 10);
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

/* --- trees ------------------------------------------------------------------------------------ */
static fnz_status put_scalar(fnzi_json_out *w, const fnzi_json *node) {
  switch (node->kind) {
  case FNZI_JSON_BOOL:
    return fnzi_json_out_bool(w, node->u.i != 0);
  case FNZI_JSON_INT:
    return fnzi_json_out_int(w, node->u.i);
  case FNZI_JSON_FLOAT:
    return fnzi_json_out_float(w, node->u.f);
  case FNZI_JSON_STRING:
    return fnzi_json_out_string(w, node->u.s, node->count);
  case FNZI_JSON_NULL:
  case FNZI_JSON_ARRAY:
  case FNZI_JSON_OBJECT:
    break;
  }
  return fnzi_json_out_null(w);
}

/* Opens or writes the node; its children come next. */
static fnz_status begin(fnzi_json_out *w, const fnzi_json *node, bool has_key) {
  if (has_key && node->key)
    FNZ_TRY(fnzi_json_out_name(w, node->key, node->key_size));
  if (node->kind == FNZI_JSON_ARRAY || node->kind == FNZI_JSON_OBJECT)
    return fnzi_json_open(w, node->kind == FNZI_JSON_ARRAY ? '[' : '{');
  return put_scalar(w, node);
}

static const fnzi_json *first_child(const fnzi_json *node) {
  bool has_children = node->kind == FNZI_JSON_ARRAY || node->kind == FNZI_JSON_OBJECT;
  return has_children ? node->u.first : NULL;
}

fnz_status fnzi_json_out_tree(fnzi_json_out *w, const fnzi_json *root) {
  const fnzi_json *at = root;
  FNZ_TRY(begin(w, root, false));
  for (;;) {
    const fnzi_json *child = first_child(at);
    if (child) {
      at = child;
      FNZ_TRY(begin(w, at, true));
      continue;
    }
    /* Up to the next container that has something left. */
    for (;; at = at->parent) {
      if (at->kind == FNZI_JSON_ARRAY || at->kind == FNZI_JSON_OBJECT)
        FNZ_TRY(fnzi_json_close(w, at->kind == FNZI_JSON_ARRAY ? ']' : '}'));
      if (at == root)
        return FNZ_OK;
      if (at->next)
        break;
    }
    at = at->next;
    FNZ_TRY(begin(w, at, true));
  }
}
