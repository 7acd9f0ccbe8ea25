/* symbolic_numbers.c - sizes and indices of random programs: constants, symbols and expressions, as
 * text and with their value in the exporter's example. */
#include "soak/symbolic_draws.h"

#include <stdio.h>

number fnzi_number_known(int64_t n) {
  number out = {.is_known = true, .seen = n};
  fnzi_int_text(n, out.text);
  return out;
}

/* Larger ones are not gone on with. */
static const int64_t LARGEST = 1ll << 40;

static int64_t times(int64_t a, int64_t b) {
  int64_t out;
  return fnzi_mul_i64(a, b, &out) ? out : INT64_MAX;
}

/* By Python's rules, for divisors above 0. */
static int64_t quotient_of(int64_t a, int64_t b) {
  return b > 0 ? a / b - (a % b < 0) : 0;
}

static int64_t remainder_of(int64_t a, int64_t b) {
  return b > 0 ? a % b + (a % b < 0 ? b : 0) : 0;
}

const char *fnzi_arithmetic_op(arithmetic op) {
  static const char *const ops[] = {
#define ARITHMETIC_OP(id, op, format, result) op,
      ARITHMETIC_ROWS(ARITHMETIC_OP)
#undef ARITHMETIC_OP
  };
  return ops[op];
}

static int64_t compute(arithmetic op, int64_t a, int64_t b) {
  switch (op) {
#define ARITHMETIC_CASE(id, name, format, result)                                                  \
  case ARITHMETIC_##id:                                                                            \
    return result;
    ARITHMETIC_ROWS(ARITHMETIC_CASE)
#undef ARITHMETIC_CASE
  case ARITHMETIC:
    break;
  }
  return 0;
}

static int put_expression(char *to, arithmetic op, const char *a, const char *b) {
  switch (op) {
#define ARITHMETIC_CASE(id, name, format, result)                                                  \
  case ARITHMETIC_##id:                                                                            \
    return snprintf(to, SYMBOLIC_TEXT, format, a, b);
    ARITHMETIC_ROWS(ARITHMETIC_CASE)
#undef ARITHMETIC_CASE
  case ARITHMETIC:
    break;
  }
  return SYMBOLIC_TEXT;
}

number fnzi_number_combine(arithmetic op, const number *a, const number *b) {
  number out = {.seen = compute(op, a->seen, b->seen)};
  if (a->is_known && b->is_known)
    return fnzi_number_known(out.seen);
  if (op == ARITHMETIC_ADD && b->is_known && b->seen == 0)
    return *a;
  if (op == ARITHMETIC_MUL && b->is_known && b->seen == 1)
    return *a;
  if (op == ARITHMETIC_MUL && a->is_known && a->seen == 1)
    return *b;
  if (out.seen > LARGEST || out.seen < -LARGEST || fnzi_number_is_too_long(a) ||
      fnzi_number_is_too_long(b) || put_expression(out.text, op, a->text, b->text) >= SYMBOLIC_TEXT)
    out.text[0] = 0;
  return out;
}

bool fnzi_symbolic_is_data(const char *text) {
  for (const char *c = text; *c; c++)
    if (*c == 'u' && fnzi_is_digit(c[1]))
      return true;
  return false;
}

number fnzi_number_with(arithmetic op, const number *a, int64_t b) {
  const number n = fnzi_number_known(b);
  return fnzi_number_combine(op, a, &n);
}

bool fnzi_number_pick(symbolic_gen *g, int64_t limit, number *out) {
  if (limit <= 0)
    return false;
  if (g->numbers_count && perhaps(g->c, 70)) {
    size_t at = choose(g->c, (uint32_t)g->numbers_count);
    for (size_t n = 0; n < g->numbers_count; n++, at = (at + 1) % g->numbers_count)
      if (g->numbers[at].seen >= 0 && g->numbers[at].seen < limit) {
        *out = g->numbers[at];
        return true;
      }
  }
  *out = fnzi_number_known(choose(g->c, (uint32_t)limit));
  return true;
}
