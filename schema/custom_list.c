/* custom_list.c - lists of declared operators: a text with a schema on each line, and comments. */
#include "schema/custom.h"

enum { MOST_SCHEMA = 1 << 16 };

/* The size of the text before a '#' that is in no string. */
static size_t before_comment(const char *line, size_t size) {
  char quote = 0;
  for (size_t i = 0; i < size; i++) {
    if (line[i] == '#' && !quote)
      return i;
    if (line[i] == '\\' && quote)
      i++;
    else if (line[i] == quote)
      quote = 0;
    else if (!quote && (line[i] == '"' || line[i] == '\''))
      quote = line[i];
  }
  return size;
}

/* One line without its comment and the blanks around it. */
static fnz_status declare_line(fnz_context *ctx, fnzi_arena *arena, const char *line, size_t size) {
  const char *text;
  size = before_comment(line, size);
  while (size && strchr(" \t\r", line[size - 1]))
    size--;
  for (; size && (*line == ' ' || *line == '\t'); size--)
    line++;
  if (!size)
    return FNZ_OK;
  if (size > MOST_SCHEMA)
    return fnzi_fail(ctx, FNZ_CLASS_SYNTAX, NULL,
                     "expected a schema of at most %d bytes of text, such as "
                     "ns::name(Tensor(a!) x, int k) -> ()",
                     MOST_SCHEMA);
  FNZ_TRY(fnzi_arena_string(arena, line, size, &text));
  return fnz_op_declare(ctx, text, NULL);
}

fnz_status fnz_ops_declare(fnz_context *ctx, const char *name, const char *text, size_t size) {
  fnzi_arena arena;
  fnz_status status = FNZ_OK;
  /* If a file is binary, a message with a line of it would not help. */
  for (size_t i = 0; i < size; i++) {
    const unsigned char c = (unsigned char)text[i];
    if (c < ' ' && !(c && strchr("\t\n\v\f\r", c)))
      return fnzi_fail(ctx, FNZ_CLASS_ENCODING, name,
                       "this is no text, byte %zu of it is 0x%02x; expected one schema per line, "
                       "such as ns::name(Tensor(a!) x, int k) -> ()",
                       i, c);
  }
  fnzi_arena_init(&arena, ctx);
  for (size_t line = 1, at = 0; status == FNZ_OK && at < size; line++) {
    const char *end = memchr(text + at, '\n', size - at);
    size_t length = end ? (size_t)(end - text) - at : size - at;
    status = declare_line(ctx, &arena, text + at, length);
    if (status != FNZ_OK && status != FNZ_NO_MEMORY) {
      /* The failure's own place, an operator or a column, goes into the message. */
      const fnz_error failure = ctx->error;
      status = fnzi_fail(ctx, failure.kind, NULL, "%s%s%s", failure.where,
                         *failure.where ? ": " : "", failure.message);
      status = fnzi_at(ctx, status, "%s:%zu", name, line);
    }
    at += length + 1;
  }
  fnzi_arena_free(&arena);
  return status;
}
