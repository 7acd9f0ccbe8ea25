/* text_lex.c - cuts the text form into tokens. Newlines are blanks; "#" starts a comment. */
#include "program/formats/text_lex.h"

#include <locale.h>
#include <stdio.h>
#include <stdlib.h>

void fnzi_lexer_start(fnzi_lexer *x, fnz_context *ctx, const char *text, size_t size) {
  *x = (fnzi_lexer){.ctx = ctx, .at = text, .end = text + size, .line_start = text, .line = 1};
  x->token = x->text = text;
}

void fnzi_lexer_end(fnzi_lexer *x) {
  fnz_buffer_free(x->ctx, &x->scratch);
}

/* --- failing --------------------------------------------------------------------------------- */
static void lex_place(const fnzi_lexer *x, char out[64]) {
  snprintf(out, 64, "line %zu, column %zu", x->line, (size_t)(x->token - x->line_start) + 1);
}

fnz_status fnzi_lexer_fail(fnzi_lexer *x, fnz_class kind, const char *format, ...) {
  char where[64], message[400];
  va_list args;
  va_start(args, format);
  vsnprintf(message, sizeof message, format, args);
  va_end(args);
  lex_place(x, where);
  return fnzi_fail(x->ctx, kind, where, "%s", message);
}

fnz_status fnzi_lexer_at(fnzi_lexer *x, fnz_status status) {
  char where[64];
  if (status == FNZ_OK || status == FNZ_NO_MEMORY)
    return status;
  lex_place(x, where);
  return fnzi_at(x->ctx, status, "%s", where);
}

/* --- letters --------------------------------------------------------------------------------- */
static bool lex_is_letter(char c) {
  return fnzi_is_letter(c) || c == '_' || fnzi_is_digit(c);
}

static char byte_at(const fnzi_lexer *x, size_t k) {
  return (size_t)(x->end - x->at) > k ? x->at[k] : 0;
}

static void skip_blanks(fnzi_lexer *x) {
  for (; x->at < x->end; x->at++) {
    if (*x->at == '#')
      while (x->at < x->end && *x->at != '\n')
        x->at++;
    if (x->at == x->end)
      return;
    if (*x->at == '\n') {
      x->line++;
      x->line_start = x->at + 1;
    } else if (*x->at != ' ' && *x->at != '\t' && *x->at != '\r')
      return;
  }
}

char fnzi_lexer_peek(const fnzi_lexer *x) {
  fnzi_lexer ahead = *x;
  skip_blanks(&ahead);
  return byte_at(&ahead, 0);
}

bool fnzi_lexer_is(const fnzi_lexer *x, fnzi_token kind, const char *text) {
  return x->kind == kind && x->size == strlen(text) && memcmp(x->text, text, x->size) == 0;
}

static fnz_status lex_take(fnzi_lexer *x, fnzi_token kind, const char *text) {
  x->kind = kind;
  x->text = text;
  x->size = (size_t)(x->at - text);
  return FNZ_OK;
}

/* --- strings --------------------------------------------------------------------------------- */
static int hex_digit(char c) {
  if (fnzi_is_digit(c))
    return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* A run of bytes up to a quote, a backslash or the end of the line. */
static fnz_status read_run(fnzi_lexer *x, char quote) {
  const char *from = x->at;
  while (x->at < x->end && *x->at != quote && *x->at != '\\' && *x->at != '\n')
    x->at++;
  if (x->at == x->end)
    return fnzi_lexer_fail(x, FNZ_CLASS_TRUNCATED, "the text ends inside a string");
  if (*x->at == '\n')
    return fnzi_lexer_fail(x, FNZ_CLASS_SYNTAX, "the line ends inside a string; write \\n");
  return fnzi_put(x->ctx, &x->scratch, from, (size_t)(x->at - from));
}

static fnz_status lex_read_string(fnzi_lexer *x, fnzi_token kind) {
  static const char letters[] = "\"'\\ntr", bytes[] = "\"'\\\n\t\r";
  char quote = *x->at++;
  x->scratch.size = 0;
  FNZ_TRY(read_run(x, quote));
  while (*x->at == '\\') {
    x->at++;
    char c = byte_at(x, 0), byte;
    const char *found = c ? strchr(letters, c) : NULL;
    x->at++;
    if (found)
      byte = bytes[found - letters];
    else if (c == 'x') {
      /* \xNN denotes an ASCII byte only, so that escapes cannot make invalid UTF-8. */
      int high = hex_digit(byte_at(x, 0)), low = hex_digit(byte_at(x, 1));
      if (high < 0 || high > 7 || low < 0)
        return fnzi_lexer_fail(x, FNZ_CLASS_SYNTAX, "\\x needs two lower-case digits, 00 to 7f");
      byte = (char)(high * 16 + low);
      x->at += 2;
    } else
      return fnzi_lexer_fail(x, FNZ_CLASS_SYNTAX,
                             "unknown escape; there are \\\" \\' \\\\ \\n \\t \\r \\xNN");
    FNZ_TRY(fnzi_put(x->ctx, &x->scratch, &byte, 1));
    FNZ_TRY(read_run(x, quote));
  }
  x->at++;
  x->kind = kind;
  x->text = x->scratch.data;
  x->size = x->scratch.size;
  return FNZ_OK;
}

/* --- numbers --------------------------------------------------------------------------------- */
static void lex_skip_digits(fnzi_lexer *x) {
  while (fnzi_is_digit(byte_at(x, 0)))
    x->at++;
}

/* strtod reads the locale's decimal point. */
static fnz_status lex_read_float(fnzi_lexer *x, const char *from) {
  char text[64], *rest;
  size_t size = (size_t)(x->at - from);
  if (size >= sizeof text)
    return fnzi_lexer_fail(x, FNZ_CLASS_LIMIT, "a number of %zu characters; 17 digits tell all",
                           size);
  memcpy(text, from, size);
  text[size] = 0;
  char *point = strchr(text, '.');
  if (point)
    *point = localeconv()->decimal_point[0];
  x->f = strtod(text, &rest);
  if (*rest)
    return fnzi_lexer_fail(x, FNZ_CLASS_SYNTAX, "not a number");
  if (x->f > 1.7976931348623157e308 || x->f < -1.7976931348623157e308)
    return fnzi_lexer_fail(x, FNZ_CLASS_OVERFLOW,
                           "the number is beyond 1.8e308; write inf if meant");
  return lex_take(x, FNZI_TOKEN_FLOAT, from);
}

static fnz_status read_number(fnzi_lexer *x) {
  const char *from = x->at;
  bool is_float = false;
  x->at += *x->at == '-';
  if (byte_at(x, 0) == 'i' && byte_at(x, 1) == 'n' && byte_at(x, 2) == 'f') {
    x->at += 3;
    x->f = strtod("-inf", NULL);
    return lex_take(x, FNZI_TOKEN_FLOAT, from);
  }
  if (!fnzi_is_digit(byte_at(x, 0)))
    return fnzi_lexer_fail(x, FNZ_CLASS_SYNTAX, "a digit must follow the minus");
  lex_skip_digits(x);
  if (byte_at(x, 0) == '.' && fnzi_is_digit(byte_at(x, 1))) {
    is_float = true;
    x->at++;
    lex_skip_digits(x);
  }
  if (byte_at(x, 0) == 'e') {
    is_float = true;
    x->at++;
    x->at += byte_at(x, 0) == '-' || byte_at(x, 0) == '+';
    lex_skip_digits(x);
  }
  if (lex_is_letter(byte_at(x, 0)))
    return fnzi_lexer_fail(x, FNZ_CLASS_SYNTAX, "a letter follows the number");
  if (is_float)
    return lex_read_float(x, from);
  bool is_negative = *from == '-';
  x->i = 0;
  for (const char *s = from + is_negative; s < x->at; s++)
    if (!fnzi_mul_i64(x->i, 10, &x->i) ||
        !fnzi_add_i64(x->i, is_negative ? '0' - *s : *s - '0', &x->i))
      return fnzi_lexer_fail(x, FNZ_CLASS_OVERFLOW, "the integer leaves 64 bits");
  return lex_take(x, FNZI_TOKEN_INT, from);
}

/* --- words ----------------------------------------------------------------------------------- */
static fnz_status read_word(fnzi_lexer *x) {
  const char *from = x->at;
  for (;; x->at++) {
    if (byte_at(x, 0) == ':' && byte_at(x, 1) == ':')
      x->at++;
    else if (!lex_is_letter(byte_at(x, 0)) && byte_at(x, 0) != '.')
      return lex_take(x, FNZI_TOKEN_WORD, from);
  }
}

/* Reads the name after % or @. */
static fnz_status lex_read_name(fnzi_lexer *x, fnzi_token kind) {
  const char *from = ++x->at;
  if (byte_at(x, 0) == '"' || byte_at(x, 0) == '\'')
    return lex_read_string(x, kind);
  while (lex_is_letter(byte_at(x, 0)) || byte_at(x, 0) == '.')
    x->at++;
  if (x->at == from)
    return fnzi_lexer_fail(x, FNZ_CLASS_SYNTAX, "a name must follow %c", from[-1]);
  return lex_take(x, kind, from);
}

static fnz_status read_punct(fnzi_lexer *x) {
  const char *from = x->at;
  bool is_range = *from == '.' && byte_at(x, 1) == '.';
  if (!is_range && !memchr("()[]{}:,=", *from, 9)) {
    unsigned char c = (unsigned char)*from;
    return fnzi_lexer_fail(x, FNZ_CLASS_SYNTAX, "unexpected character 0x%02x", c);
  }
  x->at += is_range ? 2 : 1;
  return lex_take(x, FNZI_TOKEN_PUNCT, from);
}

fnz_status fnzi_lexer_next(fnzi_lexer *x) {
  skip_blanks(x);
  x->token = x->at;
  if (x->at == x->end)
    return lex_take(x, FNZI_TOKEN_END, x->at);
  char c = *x->at;
  if (c == '"' || c == '\'')
    return lex_read_string(x, FNZI_TOKEN_STRING);
  if (c == '%')
    return lex_read_name(x, FNZI_TOKEN_VALUE);
  if (c == '@')
    return lex_read_name(x, FNZI_TOKEN_GRAPH);
  if (c == '-' || fnzi_is_digit(c))
    return read_number(x);
  return lex_is_letter(c) ? read_word(x) : read_punct(x);
}

fnz_status fnzi_lexer_expression(fnzi_lexer *x) {
  skip_blanks(x);
  char c = byte_at(x, 0);
  if (c == 0 || c == '"' || c == '\'' || c == ':' || c == '}')
    return fnzi_lexer_next(x);
  const char *from = x->token = x->at, *end;
  while (x->at < x->end && *x->at != ':' && *x->at != '}' && *x->at != '\n')
    x->at++;
  for (end = x->at; end > from && (end[-1] == ' ' || end[-1] == '\t' || end[-1] == '\r');)
    end--;
  x->kind = FNZI_TOKEN_WORD;
  x->text = from;
  x->size = (size_t)(end - from);
  return FNZ_OK;
}
