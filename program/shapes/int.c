/* int.c - operations on words of which one is an expression, or whose result has no word.
 *
 * needs   words of one set
 * keeps   the set's canonical forms: words of equal expressions are equal
 * gives   a word; FNZI_INT_NONE where a number, or an expression, leaves what has one */
#include "program/shapes/ints.h"

#include <stdio.h>

fnzi_int fnzi_ints_word(const fnzi_expr *e) {
  if (e->kind != FNZI_EXPR_NUMBER)
    return (fnzi_int){FNZI_INT_LIMIT + e->id};
  const fnzi_int number = {e->num};
  return e->den == 1 && fnzi_int_is_number(number) ? number : FNZI_INT_NONE;
}

fnz_status fnzi_ints_expr(const fnzi_ints *s, fnzi_int a, const fnzi_expr **out) {
  if (fnzi_int_is_number(a))
    return fnzi_expr_number(s->set, a.bits, 1, out);
  *out = s->set->all.data[a.bits - FNZI_INT_LIMIT];
  return FNZ_OK;
}

/* --- Arithmetic ------------------------------------------------------------------------------- */
typedef fnz_status operation(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                             const fnzi_expr **out);

/* An expression that grows too large has no word, like a number that does. */
static fnzi_int compute(fnzi_ints *s, operation *f, fnzi_int a, fnzi_int b) {
  const fnzi_expr *x, *y, *result;
  if (!s || fnzi_int_is_none(a) || fnzi_int_is_none(b))
    return FNZI_INT_NONE;
  fnz_status status = fnzi_ints_expr(s, a, &x);
  if (status == FNZ_OK)
    status = fnzi_ints_expr(s, b, &y);
  if (status == FNZ_OK)
    status = f(s->set, x, y, &result);
  if (status == FNZ_NO_MEMORY && s->status == FNZ_OK)
    s->status = status;
  return status == FNZ_OK ? fnzi_ints_word(result) : FNZI_INT_NONE;
}

static fnz_status subtract(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                           const fnzi_expr **out) {
  const fnzi_expr *minus;
  FNZ_TRY(fnzi_expr_scale(set, b, -1, 1, &minus));
  return fnzi_expr_add(set, a, minus, out);
}

static fnz_status call(fnzi_exprs *set, fnzi_function function, const fnzi_expr *a,
                       const fnzi_expr *b, const fnzi_expr **out) {
  const fnzi_expr *args[] = {a, b};
  return fnzi_expr_call(set, function, args, 2, out);
}

static fnz_status divide(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                         const fnzi_expr **out) {
  return call(set, FNZI_FUNCTION_FLOOR_DIV, a, b, out);
}

static fnz_status least(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                        const fnzi_expr **out) {
  return call(set, FNZI_FUNCTION_MIN, a, b, out);
}

static fnz_status greatest(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                           const fnzi_expr **out) {
  return call(set, FNZI_FUNCTION_MAX, a, b, out);
}

static fnz_status from_end(fnzi_exprs *set, const fnzi_expr *index, const fnzi_expr *size,
                           const fnzi_expr **out) {
  const fnzi_expr *zero, *args[3];
  FNZ_TRY(fnzi_expr_number(set, 0, 1, &zero));
  FNZ_TRY(fnzi_expr_add(set, index, size, &args[0]));
  FNZ_TRY(call(set, FNZI_FUNCTION_LT, index, zero, &args[1]));
  args[2] = index;
  return fnzi_expr_call(set, FNZI_FUNCTION_ITE, args, 3, out);
}

fnzi_int fnzi_ints_add(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  return compute(s, fnzi_expr_add, a, b);
}

fnzi_int fnzi_ints_sub(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  return compute(s, subtract, a, b);
}

fnzi_int fnzi_ints_mul(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  return compute(s, fnzi_expr_mul, a, b);
}

fnzi_int fnzi_int_div_down(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  if (fnzi_int_is_number(a) && fnzi_int_is_number(b))
    return (fnzi_int){a.bits / b.bits - (a.bits % b.bits < 0)};
  return compute(s, divide, a, b);
}

fnzi_int fnzi_int_div_up(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  if (fnzi_int_is_number(a) && fnzi_int_is_number(b))
    return (fnzi_int){a.bits / b.bits + (a.bits % b.bits > 0)};
  const fnzi_int more = fnzi_int_sub(s, b, fnzi_int_of(1));
  return fnzi_int_is(b, 1) ? a : compute(s, divide, fnzi_int_add(s, a, more), b);
}

fnzi_int fnzi_int_min(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  return fnzi_int_is_at_least(s, b, a)   ? a
         : fnzi_int_is_at_least(s, a, b) ? b
                                         : compute(s, least, a, b);
}

fnzi_int fnzi_int_max(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  return fnzi_int_is_at_least(s, b, a)   ? b
         : fnzi_int_is_at_least(s, a, b) ? a
                                         : compute(s, greatest, a, b);
}

fnzi_int fnzi_int_from_end(fnzi_ints *s, fnzi_int index, fnzi_int size) {
  const fnzi_int zero = {0};
  return fnzi_int_is_at_least(s, index, zero) ? index
         : fnzi_int_is_less(s, index, zero)   ? fnzi_int_add(s, index, size)
                                              : compute(s, from_end, index, size);
}

/* --- Questions -------------------------------------------------------------------------------- */
/* Until facts are asked: two expressions whose difference is a number. */
bool fnzi_ints_is_less(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  const fnzi_int rest = fnzi_int_sub(s, b, a);
  return fnzi_int_is_number(rest) && rest.bits > 0;
}

bool fnzi_ints_is_multiple(fnzi_ints *s, fnzi_int a, fnzi_int b) {
  const fnzi_int whole = fnzi_int_mul(s, fnzi_int_div_down(s, a, b), b);
  return !fnzi_int_is_none(whole) && fnzi_int_same(whole, a);
}

const char *fnzi_int_put(const fnzi_ints *s, fnzi_int a, char out[FNZI_INT_WORDS]) {
  if (fnzi_int_is_number(a))
    fnzi_int_text(a.bits, out);
  else
    snprintf(out, FNZI_INT_WORDS, "%s",
             fnzi_int_is_none(a) || !s ? "more than 61 bits"
                                       : s->set->all.data[a.bits - FNZI_INT_LIMIT]->text);
  return out;
}
