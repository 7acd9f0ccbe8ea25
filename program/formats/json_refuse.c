/* json_refuse.c - finds the error in a text that was refused as JSON, and its place.
 *
 * needs   a text that simdjson refused: for a number, for its depth, or for anything else
 * gives   a failure that names the first place that breaks the grammar; that a text was cut off, if
 *         more of it would have helped */
#include "program/formats/json.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct scan {
  const char *s;
  size_t size, at;
  int64_t depth;
} scan;

/* --- numbers ---------------------------------------------------------------------------------- */
static bool is_number_char(char c) {
  return (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'e' || c == 'E';
}

static const char *json_skip_digits(const char *p) {
  while (*p >= '0' && *p <= '9')
    p++;
  return p;
}

/* Does the token follow the grammar of numbers? Then its value must have been too large. */
static bool json_is_number(const char *p, bool *is_integer) {
  p += *p == '-';
  const char *digits = p;
  p = json_skip_digits(p);
  if (p == digits || (*digits == '0' && p - digits > 1))
    return false;
  *is_integer = *p == 0;
  if (*p == '.') {
    const char *fraction = p + 1;
    p = json_skip_digits(fraction);
    if (p == fraction)
      return false;
  }
  if (*p == 'e' || *p == 'E') {
    const char *exponent = p + 1 + (p[1] == '-' || p[1] == '+');
    p = json_skip_digits(exponent);
    if (p == exponent)
      return false;
  }
  return *p == 0;
}

/* Moves behind a string; false when it does not end. */
static bool skip_string(scan *in) {
  for (in->at++; in->at < in->size; in->at++) {
    if (in->s[in->at] == '\\')
      in->at++;
    else if (in->s[in->at] == '"')
      return in->at++, true;
  }
  return false;
}

/* Moves past a number; returns the class of its error, NONE if it is valid. */
static fnz_class check_number(scan *in, char token[64]) {
  size_t start = in->at;
  while (in->at < in->size && is_number_char(in->s[in->at]))
    in->at++;
  size_t length = in->at - start < 63 ? in->at - start : 63;
  memcpy(token, in->s + start, length);
  token[length] = 0;
  bool is_integer = false;
  if (!json_is_number(token, &is_integer))
    return FNZ_CLASS_SYNTAX;
  char *end;
  if (!is_integer)
    return isinf(strtod(token, &end)) ? FNZ_CLASS_TYPE : FNZ_CLASS_NONE;
  /* An integer too long for the buffer is cut: it is out of range nevertheless. */
  errno = 0;
  (void)strtoll(token, &end, 10);
  return errno == ERANGE ? FNZ_CLASS_OVERFLOW : FNZ_CLASS_NONE;
}

fnz_status fnzi_json_refuse_number(fnz_context *ctx, const char *record, const char *bytes,
                                   size_t size) {
  scan in = {bytes, size, 0, 0};
  char token[64];
  while (in.at < in.size) {
    size_t start = in.at;
    char c = in.s[in.at];
    if (c == '"' && !skip_string(&in))
      break;
    if (c == '"')
      continue;
    if (!is_number_char(c) || c == 'e' || c == 'E') {
      in.at++;
      continue;
    }
    fnz_class kind = check_number(&in, token);
    if (kind == FNZ_CLASS_OVERFLOW)
      return fnzi_fail(ctx, kind, record, "byte %zu: integer %s does not fit 64 bits", start,
                       token);
    if (kind != FNZ_CLASS_NONE)
      return fnzi_fail(ctx, kind, record, "byte %zu: %s is not a number that fits a double", start,
                       token);
  }
  return fnzi_fail(ctx, FNZ_CLASS_SYNTAX, record, "a number is not well-formed");
}

fnz_status fnzi_json_refuse_depth(fnz_context *ctx, const char *record) {
  return fnzi_fail(ctx, FNZ_CLASS_LIMIT, record, "nested deeper than %d levels",
                   FNZI_JSON_MAX_DEPTH);
}

/* --- the first place that is not as the grammar has it ---------------------------------------- */
typedef struct grammar {
  scan scan;
  const char *wanted; /* NULL behind the value */
  bool is_object[FNZI_JSON_MAX_DEPTH + 1];
  bool may_close; /* the bracket that is open */
} grammar;

static const char VALUE[] = "a value", NAME[] = "a name in double quotes", COLON[] = "a colon",
                  MORE[] = "a comma or a closing bracket";

static bool skip_word(scan *in, const char *word) {
  size_t length = strlen(word);
  if (in->size - in->at < length || memcmp(in->s + in->at, word, length) != 0)
    return false;
  in->at += length;
  return true;
}

static bool skip_scalar(scan *in) {
  char token[64];
  char c = in->s[in->at];
  if (c == '"')
    return skip_string(in);
  if (c == '-' || (c >= '0' && c <= '9'))
    return check_number(in, token) == FNZ_CLASS_NONE;
  return skip_word(in, "true") || skip_word(in, "false") || skip_word(in, "null");
}

static void want(grammar *g, const char *wanted, bool may_close) {
  g->wanted = wanted;
  g->may_close = may_close;
}

static void want_behind_value(grammar *g) {
  want(g, g->scan.depth ? MORE : NULL, g->scan.depth > 0);
}

/* One token; false if it is not allowed here. */
static bool step(grammar *g) {
  scan *in = &g->scan;
  char c = in->s[in->at];
  if (g->may_close && c == (g->is_object[in->depth] ? '}' : ']')) {
    in->at++;
    in->depth--;
    want_behind_value(g);
    return true;
  }
  if (g->wanted == VALUE && (c == '{' || c == '[')) {
    if (g->scan.depth == FNZI_JSON_MAX_DEPTH)
      return false;
    g->is_object[++g->scan.depth] = c == '{';
    g->scan.at++;
    want(g, c == '{' ? NAME : VALUE, true);
    return true;
  }
  if (g->wanted == VALUE && skip_scalar(in))
    return want_behind_value(g), true;
  if (g->wanted == NAME && c == '"' && skip_string(in))
    return want(g, COLON, false), true;
  if ((g->wanted != COLON || c != ':') && (g->wanted != MORE || c != ','))
    return false;
  want(g, g->wanted == MORE && g->is_object[in->depth] ? NAME : VALUE, false);
  in->at++;
  return true;
}

static fnz_status refuse_place(fnz_context *ctx, const char *record, const char *bytes,
                               size_t size) {
  grammar g = {{bytes, size, 0, 0}, VALUE, {false}, false};
  size_t start = 0;
  bool fine = true;
  while (fine && g.scan.at < size) {
    start = g.scan.at;
    if (strchr(" \t\r\n", bytes[start]) && bytes[start])
      g.scan.at++;
    else
      fine = step(&g);
  }
  if (fine)
    return fnzi_fail(ctx, FNZ_CLASS_SYNTAX, record, "is not well-formed JSON");
  /* A few letters, or the number of a byte that is none. */
  char found[16];
  const char *s = bytes + start;
  size_t left = size - start, length = 0;
  while (length < left && length < 8 && s[length] > ' ' && s[length] < 0x7f)
    length++;
  memcpy(found, s, length);
  found[length] = 0;
  if (!length)
    snprintf(found, sizeof found, "byte 0x%02x", left ? (unsigned)(unsigned char)*s : 0u);
  return fnzi_fail(ctx, FNZ_CLASS_SYNTAX, record,
                   "is not well-formed JSON: byte %zu: expected %s, found %s", start,
                   g.wanted ? g.wanted : "nothing more", found);
}

/* A text whose brackets or last string are still open at its end was cut off. */
fnz_status fnzi_json_refuse_text(fnz_context *ctx, const char *record, const char *bytes,
                                 size_t size) {
  scan in = {bytes, size, 0, 0};
  while (in.at < in.size && in.depth >= 0) {
    char c = in.s[in.at];
    if (c == '"') {
      if (!skip_string(&in))
        return fnzi_fail(ctx, FNZ_CLASS_TRUNCATED, record, "ends inside a string");
      continue;
    }
    in.depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    if (in.depth > FNZI_JSON_MAX_DEPTH)
      return fnzi_json_refuse_depth(ctx, record);
    in.at++;
  }
  if (in.depth > 0)
    return fnzi_fail(ctx, FNZ_CLASS_TRUNCATED, record, "ends with %lld brackets open",
                     (long long)in.depth);
  return refuse_place(ctx, record, bytes, size);
}
