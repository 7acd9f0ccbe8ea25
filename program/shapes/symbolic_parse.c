/* symbolic_parse.c - texts to symbolic expressions, by two stacks instead of recursion.
 *
 * needs   any bytes
 * gives   the canonical expression, or an error that says at which character
 *
 * Operands wait in `values`; operators, parentheses and calls that are not finished wait in `open`.
 * An operator is applied when one that binds less tightly follows it; a row of terms with + and -
 * between them is open once, and added up at its end. */
#include "program/shapes/symbolic_set.h"

#include <stdlib.h>

typedef enum binding {
  OPEN_PAREN, /* "(" or a call */
  OR_WORD,    /* as Python has them: comparisons bind more tightly than words, less than signs */
  AND_WORD,
  COMPARE,
  EITHER,
  BOTH,
  PLUS,
  TIMES,
  MINUS_SIGN,
  NOT_SIGN,
  POWER
} binding; /* in the order in which they bind */

static const struct {
  const char *sign;
  binding binds;
  char code; /* distinguishes operators that bind alike */
} signs[] = {{"**", POWER, '^'},     {"//", TIMES, 'f'},   {"==", COMPARE, '='},
             {"!=", COMPARE, '!'},   {"<=", COMPARE, 'l'}, {">=", COMPARE, 'g'},
             {"<", COMPARE, '<'},    {">", COMPARE, '>'},  {"+", PLUS, '+'},
             {"-", PLUS, '-'},       {"*", TIMES, '*'},    {"/", TIMES, '/'},
             {"%", TIMES, '%'},      {"&", BOTH, '&'},     {"|", EITHER, '|'},
             {"and", AND_WORD, '&'}, {"or", OR_WORD, '|'}};

typedef struct opened {
  binding binds;
  char code;
  fnzi_callee callee;
  size_t first, at; /* of a parenthesis or a row of terms: the values before; where it stands */
} opened;

typedef struct parser {
  fnz_context *ctx;
  fnzi_exprs *set;
  const char *text;
  size_t size, at;
  struct {
    const fnzi_expr **data;
    size_t count, capacity;
  } values;
  opened open[FNZI_EXPR_MAX_DEPTH];
  size_t depth;
} parser;

static fnz_status fail(parser *p, fnz_class kind, size_t at, const char *what) {
  return fnzi_fail(p->ctx, kind, NULL, "the symbolic expression \"%.*s\": character %zu: %s",
                   (int)(p->size < 120 ? p->size : 120), p->text, at + 1, what);
}

/* Gives an error from below the place where it happened. */
static fnz_status at_place(parser *p, fnz_status status, size_t at) {
  char message[400];
  if (status == FNZ_OK || status == FNZ_NO_MEMORY)
    return status;
  const fnz_error *e = fnz_last_error(p->ctx);
  size_t size = strlen(e->message);
  size = size < sizeof message - 1 ? size : sizeof message - 1;
  memcpy(message, e->message, size);
  message[size] = 0;
  return fail(p, e->kind, at, message);
}

/* --- letters ---------------------------------------------------------------------------------- */
static bool is_letter(char c) {
  return fnzi_is_letter(c) || c == '_';
}

static char parse_look(const parser *p, size_t ahead) {
  return p->at + ahead < p->size ? p->text[p->at + ahead] : 0;
}

static void skip_blanks(parser *p) {
  while (parse_look(p, 0) == ' ' || parse_look(p, 0) == '\t' || parse_look(p, 0) == '\n')
    p->at++;
}

static bool take(parser *p, char c) {
  skip_blanks(p);
  if (parse_look(p, 0) != c)
    return false;
  p->at++;
  return true;
}

/* --- applying --------------------------------------------------------------------------------- */
static fnz_status push_value(parser *p, const fnzi_expr *e) {
  FNZI_PUSH(p->ctx, &p->values, e);
  return FNZ_OK;
}

/* The last term of a row gets the sign before it. */
static fnz_status sign_term(parser *p, const opened *o) {
  const fnzi_expr **last = &p->values.data[p->values.count - 1];
  return o->code == '-' ? at_place(p, fnzi_expr_scale(p->set, *last, -1, 1, last), o->at) : FNZ_OK;
}

/* Operators that bind at least as tightly; a power waits for the one on its right. */
static fnz_status apply_tighter(parser *p, binding than) {
  while (p->depth && p->open[p->depth - 1].binds >= than &&
         p->open[p->depth - 1].binds > OPEN_PAREN) {
    /* The operator on top gets its operands. */
    const opened *o = &p->open[--p->depth];
    const fnzi_expr *made = NULL;
    size_t first = p->values.count - (o->binds == MINUS_SIGN || o->binds == NOT_SIGN ? 1 : 2);
    if (o->binds == PLUS) {
      FNZ_TRY(sign_term(p, o));
      first = o->first;
    }
    const fnzi_expr *const *args = p->values.data + first;
    fnz_status status =
        o->binds == PLUS         ? fnzi_expr_sum(p->set, args, p->values.count - first, &made)
        : o->binds == MINUS_SIGN ? fnzi_expr_scale(p->set, args[0], -1, 1, &made)
        : o->binds == NOT_SIGN   ? fnzi_expr_call(p->set, FNZI_FUNCTION_NOT, args, 1, &made)
                                 : fnzi_expr_binary(p->set, o->code, args, &made);
    FNZ_TRY(at_place(p, status, o->at));
    p->values.count = first;
    FNZ_TRY(push_value(p, made));
  }
  return FNZ_OK;
}

static fnz_status open(parser *p, opened o) {
  if (p->depth == FNZI_EXPR_MAX_DEPTH)
    return fail(p, FNZ_CLASS_LIMIT, p->at, "it is nested too deeply");
  p->open[p->depth++] = o;
  return FNZ_OK;
}

/* --- operands --------------------------------------------------------------------------------- */
/* Parses `size` characters from `from` as a double; the text continues at `p->at`. */
static fnz_status push_real(parser *p, size_t from, size_t size) {
  char text[64], *rest;
  const fnzi_expr *e;
  if (size == 0 || size >= sizeof text)
    return fail(p, FNZ_CLASS_SYNTAX, from, "a number of at most 63 characters is missing");
  memcpy(text, p->text + from, size);
  text[size] = 0;
  double number = strtod(text, &rest);
  if (*rest || strpbrk(text, "xXnN"))
    return fail(p, FNZ_CLASS_SYNTAX, from, "this is no number");
  FNZ_TRY(at_place(p, fnzi_expr_real(p->set, number, &e), from));
  return push_value(p, e);
}

static fnz_status read_number(parser *p) {
  size_t from = p->at;
  int64_t n = 0;
  const fnzi_expr *e;
  size_t digits = 0;
  while (fnzi_is_digit(parse_look(p, digits)))
    digits++;
  if (parse_look(p, digits) == '.' || parse_look(p, digits) == 'e') {
    /* Digits with a point or an exponent, such as 0.9 and 1e-08. */
    while (fnzi_is_digit(parse_look(p, 0)) || parse_look(p, 0) == '.' || parse_look(p, 0) == 'e' ||
           ((parse_look(p, 0) == '-' || parse_look(p, 0) == '+') && p->text[p->at - 1] == 'e'))
      p->at++;
    if (is_letter(parse_look(p, 0)))
      return fail(p, FNZ_CLASS_SYNTAX, from, "a number with letters");
    return push_real(p, from, p->at - from);
  }
  for (; fnzi_is_digit(parse_look(p, 0)); p->at++)
    if (!fnzi_mul_i64(n, 10, &n) || !fnzi_add_i64(n, parse_look(p, 0) - '0', &n))
      return fail(p, FNZ_CLASS_OVERFLOW, from, "the number leaves 64 bits");
  if (is_letter(parse_look(p, 0)))
    return fail(p, FNZ_CLASS_SYNTAX, from, "a number with letters");
  FNZ_TRY(at_place(p, fnzi_expr_number(p->set, n, 1, &e), from));
  return push_value(p, e);
}

static size_t word_size(const parser *p) {
  size_t n = 0;
  while (is_letter(parse_look(p, n)) || fnzi_is_digit(parse_look(p, n)))
    n++;
  return n;
}

/* Up to the closing parenthesis: integer=True, precision=53. */
static fnz_status skip_assumptions(parser *p) {
  while (take(p, ',')) {
    skip_blanks(p);
    p->at += word_size(p);
    if (!take(p, '='))
      return fail(p, FNZ_CLASS_SYNTAX, p->at, "an assumption is written integer=True");
    skip_blanks(p);
    p->at += word_size(p);
  }
  if (!take(p, ')'))
    return fail(p, FNZ_CLASS_SYNTAX, p->at, "a closing parenthesis is missing");
  return FNZ_OK;
}

/* Float('0.9', precision=53), from behind the parenthesis. */
static fnz_status read_float(parser *p) {
  skip_blanks(p);
  char quote = parse_look(p, 0);
  if (quote != '\'' && quote != '"')
    return fail(p, FNZ_CLASS_SYNTAX, p->at, "the text of the number is missing");
  size_t from = ++p->at;
  while (p->at < p->size && parse_look(p, 0) != quote)
    p->at++;
  FNZ_TRY(push_real(p, from, p->at - from));
  p->at += p->at < p->size;
  return skip_assumptions(p);
}

/* Symbol('s77', positive=True, integer=True), from behind the parenthesis. */
static fnz_status parse_read_symbol(parser *p) {
  skip_blanks(p);
  char quote = parse_look(p, 0);
  const fnzi_expr *e;
  if (quote != '\'' && quote != '"')
    return fail(p, FNZ_CLASS_SYNTAX, p->at, "the name of the symbol is missing");
  p->at++;
  size_t from = p->at, size = word_size(p);
  p->at += size;
  if (!size || fnzi_is_digit(p->text[from]) || parse_look(p, 0) != quote)
    return fail(p, FNZ_CLASS_SYNTAX, from, "the name of a symbol has letters and digits only");
  p->at++;
  FNZ_TRY(skip_assumptions(p));
  FNZ_TRY(fnzi_expr_symbol(p->set, p->text + from, size, &e));
  return push_value(p, e);
}

/* A symbol, a truth value, or a call; *wants: an operand must still follow. */
static fnz_status read_word(parser *p, bool *wants) {
  const char *word = p->text + p->at;
  size_t size = word_size(p), from = p->at;
  const fnzi_expr *e;
  opened o = {.binds = OPEN_PAREN, .first = p->values.count, .at = from};
  p->at += size;
  *wants = false;
  bool truth = fnzi_is_word("true", word, size) || fnzi_is_word("True", word, size);
  if (truth || fnzi_is_word("false", word, size) || fnzi_is_word("False", word, size)) {
    FNZ_TRY(fnzi_expr_number(p->set, truth, 1, &e));
    return push_value(p, e);
  }
  if (!take(p, '(')) {
    FNZ_TRY(fnzi_expr_symbol(p->set, word, size, &e));
    return push_value(p, e);
  }
  if (fnzi_is_word("Symbol", word, size))
    return parse_read_symbol(p);
  if (fnzi_is_word("Float", word, size))
    return read_float(p);
  if (!fnzi_callee_find(word, size, &o.callee))
    return fail(p, FNZ_CLASS_UNSUPPORTED, from, "there is no function of this name");
  bool in_pairs = p->depth && fnzi_callee_has_pairs(&p->open[p->depth - 1].callee);
  if ((o.callee.kind == FNZI_CALLEE_PAIR) != in_pairs)
    return fail(p, FNZ_CLASS_SYNTAX, from, "an ExprCondPair is an argument of a Piecewise");
  *wants = true;
  return open(p, o);
}

static fnz_status read_operand(parser *p, bool *wants) {
  char c = parse_look(p, 0);
  opened o = {.binds = OPEN_PAREN, .first = p->values.count, .at = p->at};
  *wants = c == '-' || c == '+' || c == '~' || c == '(';
  if (fnzi_is_digit(c))
    return read_number(p);
  if (is_letter(c))
    return read_word(p, wants);
  if (!*wants)
    return fail(p, FNZ_CLASS_SYNTAX, p->at, "a number, a symbol or a function is missing");
  o.binds = c == '(' ? OPEN_PAREN : c == '~' ? NOT_SIGN : MINUS_SIGN;
  p->at++;
  return c == '+' ? FNZ_OK : open(p, o);
}

/* --- between operands ------------------------------------------------------------------------- */
static fnz_status close_call(parser *p, const opened *o) {
  size_t count = p->values.count - o->first;
  const fnzi_expr *const *args = p->values.data + o->first;
  const fnzi_expr *made = NULL;
  if (!fnzi_callee_takes(&o->callee, count))
    return fail(p, FNZ_CLASS_SYNTAX, o->at, "it has not the arguments that it should have");
  if (o->callee.kind == FNZI_CALLEE_PAIR)
    return FNZ_OK;
  fnz_status status = fnzi_callee_apply(p->set, &o->callee, args, count, &made);
  FNZ_TRY(at_place(p, status, o->at));
  p->values.count = o->first;
  return push_value(p, made);
}

/* *wants: an operand must follow. */
static fnz_status read_between(parser *p, bool *wants) {
  char c = parse_look(p, 0);
  *wants = c != ')';
  if (c == ')') {
    p->at++;
    FNZ_TRY(apply_tighter(p, OR_WORD));
    if (!p->depth)
      return fail(p, FNZ_CLASS_SYNTAX, p->at - 1, "nothing is open here");
    p->depth--;
    return close_call(p, &p->open[p->depth]);
  }
  if (c == ',') {
    FNZ_TRY(apply_tighter(p, OR_WORD));
    if (!p->depth || p->open[p->depth - 1].callee.kind == FNZI_CALLEE_NOTHING)
      return fail(p, FNZ_CLASS_SYNTAX, p->at, "a comma outside of a function's arguments");
    p->at++;
    return FNZ_OK;
  }
  for (size_t i = 0; i < sizeof signs / sizeof *signs; i++) {
    size_t size = strlen(signs[i].sign);
    if (p->size - p->at < size || memcmp(p->text + p->at, signs[i].sign, size) != 0)
      continue;
    if (is_letter(c) && word_size(p) != size)
      continue;
    opened o = {.binds = signs[i].binds, .code = signs[i].code, .at = p->at};
    FNZ_TRY(apply_tighter(p, o.binds == POWER || o.binds == PLUS ? o.binds + 1 : o.binds));
    p->at += size;
    opened *top = p->depth ? &p->open[p->depth - 1] : NULL;
    if (o.binds == PLUS)
      o.first = p->values.count - 1;
    if (o.binds != PLUS || !top || top->binds != PLUS)
      return open(p, o);
    /* Behind a term. Operators that bind more tightly than the sign are applied already. */
    FNZ_TRY(sign_term(p, top));
    top->code = o.code;
    top->at = o.at;
    return FNZ_OK;
  }
  return fail(p, FNZ_CLASS_SYNTAX, p->at, "an operator is missing");
}

static fnz_status parse(parser *p, const fnzi_expr **out) {
  bool wants = true;
  for (;;) {
    skip_blanks(p);
    if (p->at == p->size)
      break;
    FNZ_TRY(wants ? read_operand(p, &wants) : read_between(p, &wants));
  }
  if (wants)
    return fail(p, FNZ_CLASS_SYNTAX, p->at, "it ends where an operand should be");
  FNZ_TRY(apply_tighter(p, OR_WORD));
  if (p->depth)
    return fail(p, FNZ_CLASS_SYNTAX, p->open[p->depth - 1].at, "this is never closed");
  *out = p->values.data[0];
  return FNZ_OK;
}

fnz_status fnzi_expr_parse(fnzi_exprs *set, const char *text, size_t size, const fnzi_expr **out) {
  parser p; /* `open` is large, and holds only what is behind `depth` */
  p.ctx = set->ctx;
  p.set = set;
  p.text = text;
  p.size = size;
  p.at = p.depth = p.values.count = p.values.capacity = 0;
  p.values.data = NULL;
  *out = NULL;
  if (size > FNZI_EXPR_MAX_TEXT)
    return fnzi_fail(set->ctx, FNZ_CLASS_LIMIT, NULL,
                     "a symbolic expression of more than %d characters", FNZI_EXPR_MAX_TEXT);
  fnz_status status = parse(&p, out);
  FNZI_VEC_FREE(p.ctx, &p.values);
  return status;
}

fnz_status fnzi_expr_tidy(fnzi_exprs *set, const char *text, const char **out) {
  const fnzi_expr *e;
  fnz_status status = fnzi_expr_parse(set, text, strlen(text), &e);
  *out = text;
  if (status == FNZ_OK)
    status = fnzi_expr_text(set, e, out);
  return status == FNZ_NO_MEMORY ? status : FNZ_OK;
}
