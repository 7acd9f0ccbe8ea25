/* text_lex.h - the tokens of the text form. */
#ifndef FNZI_TEXT_LEX_H
#define FNZI_TEXT_LEX_H

#include "base/base.h"

typedef enum fnzi_token {
  FNZI_TOKEN_END,
  FNZI_TOKEN_WORD,   /* add_.Tensor, f32, None */
  FNZI_TOKEN_VALUE,  /* %x, %"x y" */
  FNZI_TOKEN_GRAPH,  /* @true_graph_0, @1 */
  FNZI_TOKEN_INT,    /* i */
  FNZI_TOKEN_FLOAT,  /* f */
  FNZI_TOKEN_STRING, /* decoded */
  FNZI_TOKEN_PUNCT   /* one of ()[]{}:,= or ".." */
} fnzi_token;

/* One token at a time. `text` has no sign, quotes or final zero. It is in the input or in
 * `scratch`, and lives until the next token. */
typedef struct fnzi_lexer {
  fnz_context *ctx;
  const char *at, *end, *line_start;
  size_t line; /* from 1 */
  fnzi_token kind;
  const char *token; /* where the token starts */
  const char *text;
  size_t size;
  int64_t i;
  double f;
  fnz_buffer scratch;
} fnzi_lexer;

/* Does not read a token yet. */
void fnzi_lexer_start(fnzi_lexer *lexer, fnz_context *ctx, const char *text, size_t size);
void fnzi_lexer_end(fnzi_lexer *lexer);
FNZ_MUST_CHECK fnz_status fnzi_lexer_next(fnzi_lexer *lexer);

/* The next token inside of braces: a string as usual, else a WORD: the text up to the next ":" or
 * "}", without blanks around it. */
FNZ_MUST_CHECK fnz_status fnzi_lexer_expression(fnzi_lexer *lexer);

/* The token is this punctuation or word. */
bool fnzi_lexer_is(const fnzi_lexer *lexer, fnzi_token kind, const char *text);
/* The byte behind the token and any blanks, 0 at the end. */
char fnzi_lexer_peek(const fnzi_lexer *lexer);

/* Fails at the current token: "line 12, column 5". */
fnz_status fnzi_lexer_fail(fnzi_lexer *lexer, fnz_class kind, const char *format, ...)
    FNZI_PRINTF(3, 4);
/* Gives the pending error the place of the current token. */
fnz_status fnzi_lexer_at(fnzi_lexer *lexer, fnz_status status);

#endif
