/* symbolic_calls.c - calls in symbolic expressions: the canonical form of each function.
 *
 * needs   canonical arguments of the same set, as many as the function's row allows
 * gives   the canonical expression: multiples leave a division, numbers leave a minimum.
 * Expressions of other parts are made here, too, because calls may be among them */
#include "program/shapes/symbolic_set.h"

#include <stdlib.h>

/* --- division --------------------------------------------------------------------------------- */
/* a = d * quotient + rest. Terms that d divides go to the quotient, the others to the rest. The
 * constant leaves a remainder between 0 and d; a fraction stays in the rest. */
static fnz_status calls_divide(fnzi_exprs *set, const fnzi_expr *a, int64_t d,
                               const fnzi_expr **quotient, const fnzi_expr **rest) {
  fnzi_shapes_sum x;
  fnzi_as_sum(a, &x);
  bool whole = x.constant.den == 1;
  int64_t floor = fnzi_ratio_floor((fnzi_ratio_t){x.constant.num, d}), left = x.constant.num % d;
  left += left < 0 ? d : 0;
  FNZ_TRY(fnzi_expr_number(set, whole ? floor : 0, 1, quotient));
  FNZ_TRY(fnzi_expr_number(set, whole ? left : x.constant.num, x.constant.den, rest));
  for (uint32_t i = 0; i < x.count; i++) {
    const fnzi_shapes_part *p = &x.parts[i];
    /* A term that may be a fraction is no multiple. */
    bool divides = p->den == 1 && p->num % d == 0 && p->expr->is_whole;
    const fnzi_expr *term;
    FNZ_TRY(fnzi_expr_scale(set, p->expr, divides ? p->num / d : p->num, p->den, &term));
    FNZ_TRY(fnzi_expr_add(set, divides ? *quotient : *rest, term, divides ? quotient : rest));
  }
  return FNZ_OK;
}

/* A number from 0 to below d. */
static bool is_remainder(const fnzi_expr *e, int64_t d) {
  return e->kind == FNZI_EXPR_NUMBER && e->num >= 0 && e->num / e->den < d;
}

/* a and b without a common factor of their coefficients. */
static fnz_status calls_cancel(fnzi_exprs *set, const fnzi_expr **a, int64_t *d) {
  fnzi_shapes_sum x;
  fnzi_as_sum(*a, &x);
  int64_t common = *d;
  if (x.constant.den != 1)
    return FNZ_OK;
  common = fnzi_gcd(common, x.constant.num);
  for (uint32_t i = 0; i < x.count; i++) {
    if (x.parts[i].den != 1)
      return FNZ_OK;
    common = fnzi_gcd(common, x.parts[i].num);
  }
  if (common <= 1)
    return FNZ_OK;
  *d /= common;
  return fnzi_expr_scale(set, *a, 1, common, a);
}

/* a // d for a positive number d. */
static fnz_status floor_div_number(fnzi_exprs *set, const fnzi_expr *a, int64_t d,
                                   const fnzi_expr **out) {
  const fnzi_expr *rest, *args[2];
  FNZ_TRY(calls_divide(set, a, d, out, &rest));
  if (is_remainder(rest, d))
    return FNZ_OK;
  FNZ_TRY(calls_cancel(set, &rest, &d));
  FNZ_TRY(fnzi_expr_number(set, d, 1, &args[1]));
  args[0] = rest;
  if (d != 1 || !rest->is_whole)
    FNZ_TRY(fnzi_expr_plain_call(set, FNZI_FUNCTION_FLOOR_DIV, args, 2, &rest));
  return fnzi_expr_add(set, *out, rest, out);
}

static fnz_status floor_div(fnzi_exprs *set, const fnzi_expr *a, const fnzi_expr *b,
                            const fnzi_expr **out) {
  const fnzi_expr *args[2] = {a, b};
  if (fnzi_exprs_are_real(args, 2))
    return fnzi_expr_plain_call(set, FNZI_FUNCTION_FLOOR_DIV, args, 2, out);
  if (fnzi_expr_is(b, 0))
    return fnzi_fail(set->ctx, FNZ_CLASS_SYNTAX, NULL, "a division by zero");
  if (b->kind == FNZI_EXPR_NUMBER && b->den == 1 && b->num > 0)
    return floor_div_number(set, a, b->num, out);
  return fnzi_expr_plain_call(set, FNZI_FUNCTION_FLOOR_DIV, args, 2, out);
}

static fnz_status modulo(fnzi_exprs *set, fnzi_function function, const fnzi_expr *a,
                         const fnzi_expr *b, const fnzi_expr **out) {
  const fnzi_expr *quotient, *args[2] = {a, b};
  if (a->is_real)
    return fnzi_expr_plain_call(set, FNZI_FUNCTION_PYTHON_MOD, args, 2, out);
  if (fnzi_expr_is(b, 0))
    return fnzi_fail(set->ctx, FNZ_CLASS_SYNTAX, NULL, "a division by zero");
  if (b->kind == FNZI_EXPR_NUMBER && b->den == 1 && b->num > 0) {
    FNZ_TRY(calls_divide(set, a, b->num, &quotient, &args[0]));
    *out = args[0];
    if (is_remainder(args[0], b->num))
      return FNZ_OK;
  }
  return fnzi_expr_plain_call(set, function, args, 2, out);
}

/* floor of something with denominators: of numbers, or of one symbolic divisor. */
static fnz_status floor_of(fnzi_exprs *set, fnzi_function function, const fnzi_expr *a,
                           const fnzi_expr **out) {
  fnzi_shapes_sum x;
  int64_t d = 1;
  bool whole = true;
  if (a->is_real)
    return fnzi_expr_plain_call(set, function, &a, 1, out);
  fnzi_as_sum(a, &x);
  for (uint32_t i = 0; i <= x.count; i++) {
    const fnzi_shapes_part *p = i < x.count ? &x.parts[i] : NULL;
    int64_t den = p ? p->den : x.constant.den;
    if (!fnzi_mul_i64(d / fnzi_gcd(d, den), den, &d))
      return fnzi_expr_overflow(set);
    whole = whole && (!p || p->expr->is_whole);
  }
  if (!whole || (d != 1 && function == FNZI_FUNCTION_TRUNC && a->kind != FNZI_EXPR_NUMBER))
    return fnzi_expr_plain_call(set, function, &a, 1, out);
  FNZ_TRY(fnzi_expr_scale(set, a, d, 1, out));
  if (function == FNZI_FUNCTION_TRUNC && a->kind == FNZI_EXPR_NUMBER)
    return fnzi_expr_number(set, a->num / a->den, 1, out);
  return floor_div_number(set, *out, d, out);
}

/* --- minima, maxima, And, Or ------------------------------------------------------------------ */
typedef struct argument {
  const fnzi_expr *e;
  const char *text;
} argument;

static int calls_by_text(const void *a, const void *b) {
  const argument *x = a, *y = b;
  return strcmp(x->text, y->text);
}

/* Arguments of calls of the same function take the place of the call. */
static size_t flatten(fnzi_function function, const fnzi_expr *const *args, size_t count,
                      const fnzi_expr **out) {
  size_t n = 0;
  for (size_t i = 0; i < count; i++) {
    bool same = args[i]->kind == FNZI_EXPR_CALL && args[i]->function == function;
    for (uint32_t k = 0; k < (same ? args[i]->count : 1); k++, n++)
      if (out)
        out[n] = same ? args[i]->parts[k].expr : args[i];
  }
  return n;
}

/* Compares numbers: by their whole parts, which may be equal as doubles, then by their
 * fractions. */
static bool first_wins(fnzi_function function, const fnzi_expr *a, const fnzi_expr *b) {
  int64_t x = a->num / a->den, y = b->num / b->den;
  bool is_less = x != y ? x < y
                        : (double)(a->num % a->den) / (double)a->den <
                              (double)(b->num % b->den) / (double)b->den;
  return is_less == (function == FNZI_FUNCTION_MIN || function == FNZI_FUNCTION_AND);
}

/* Removes repetitions from sorted arguments. At most one number is left: the least for a minimum,
 * the greatest for a maximum. */
static size_t calls_choose(fnzi_function function, const fnzi_expr **args, size_t count) {
  const fnzi_expr *number = NULL;
  size_t n = 0;
  for (size_t i = 0; i < count; i++) {
    if (args[i]->kind == FNZI_EXPR_NUMBER)
      number = number && first_wins(function, number, args[i]) ? number : args[i];
    else if (n == 0 || args[n - 1] != args[i])
      args[n++] = args[i];
  }
  if (number) {
    memmove(args + 1, args, n * sizeof(const fnzi_expr *));
    args[0] = number;
    n++;
  }
  return n;
}

static fnz_status select_call(fnzi_exprs *set, fnzi_function function, const fnzi_expr *const *args,
                              size_t count, const fnzi_expr **out) {
  const fnzi_expr **flat;
  size_t n = flatten(function, args, count, NULL);
  bool logic = function == FNZI_FUNCTION_AND || function == FNZI_FUNCTION_OR;
  if (n > FNZI_EXPR_MAX_PARTS)
    return fnzi_expr_too_many(set);
  FNZI_NEW(&set->arena, n, &flat);
  flatten(function, args, count, flat);
  for (size_t i = 0; i < n && fnzi_exprs_are_real(args, count); i++)
    FNZ_TRY(fnzi_expr_as_double(set, flat[i], &flat[i]));
  argument few[FNZI_FEW_PARTS], *sorted = few;
  if (n > FNZI_FEW_PARTS)
    FNZI_NEW(&set->arena, n, &sorted);
  for (size_t i = 0; i < n; i++) {
    sorted[i].e = flat[i];
    FNZ_TRY(fnzi_expr_text(set, flat[i], &sorted[i].text));
  }
  qsort(sorted, n, sizeof *sorted, calls_by_text);
  for (size_t i = 0; i < n; i++)
    flat[i] = sorted[i].e;
  n = calls_choose(function, flat, n);
  if (logic && n > 1 && flat[0]->kind == FNZI_EXPR_NUMBER) {
    bool decides = (flat[0]->num == 0) == (function == FNZI_FUNCTION_AND);
    n = decides ? 1 : n - 1;
    flat += decides ? 0 : 1;
  }
  if (n == 1) {
    *out = flat[0];
    return FNZ_OK;
  }
  return fnzi_expr_plain_call(set, function, flat, n, out);
}

/* --- comparisons ------------------------------------------------------------------------------ */
/* Whether a relation between two integers holds, given their difference. */
static bool calls_holds(fnzi_function relation, int64_t difference) {
  switch (relation) {
  case FNZI_FUNCTION_EQ:
    return difference == 0;
  case FNZI_FUNCTION_NE:
    return difference != 0;
  case FNZI_FUNCTION_LT:
    return difference < 0;
  case FNZI_FUNCTION_LE:
    return difference <= 0;
  case FNZI_FUNCTION_GT:
    return difference > 0;
  default:
    return difference >= 0;
  }
}

static fnz_status compare(fnzi_exprs *set, fnzi_function function, const fnzi_expr *const *args,
                          const fnzi_expr **out) {
  const fnzi_expr *minus, *d;
  if (fnzi_exprs_are_real(args, 2))
    return fnzi_expr_plain_call(set, function, args, 2, out);
  FNZ_TRY(fnzi_expr_scale(set, args[1], -1, 1, &minus));
  FNZ_TRY(fnzi_expr_add(set, args[0], minus, &d));
  if (d->kind == FNZI_EXPR_NUMBER)
    return fnzi_expr_number(set, calls_holds(function, d->num), 1, out);
  if (fnzi_expr_is_condition(args[0]) && (fnzi_expr_is(args[1], 0) || fnzi_expr_is(args[1], 1))) {
    /* The result is always, never, the truth value itself, or its opposite. */
    const fnzi_expr *truth = args[0];
    const int64_t number = args[1]->num;
    bool if_false = calls_holds(function, -number), if_true = calls_holds(function, 1 - number);
    if (if_false == if_true)
      return fnzi_expr_number(set, if_true, 1, out);
    *out = truth;
    return if_true ? FNZ_OK : fnzi_expr_plain_call(set, FNZI_FUNCTION_NOT, &truth, 1, out);
  }
  return fnzi_expr_plain_call(set, function, args, 2, out);
}

/* Checks the arguments of And, Or and Not. */
static fnz_status check_truths(fnzi_exprs *set, fnzi_function function,
                               const fnzi_expr *const *args, size_t count) {
  const char *text;
  for (size_t i = 0; i < count; i++) {
    if (fnzi_expr_is_condition(args[i]) || fnzi_expr_is(args[i], 0) || fnzi_expr_is(args[i], 1))
      continue;
    FNZ_TRY(fnzi_expr_text(set, args[i], &text));
    return fnzi_fail(set->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s of %.80s, which is no condition; compare it with a number",
                     fnzi_functions[function].name, text);
  }
  return FNZ_OK;
}

static fnz_status choose_between(fnzi_exprs *set, const fnzi_expr *const *args,
                                 const fnzi_expr **out) {
  FNZ_TRY(check_truths(set, FNZI_FUNCTION_ITE, &args[1], 1));
  *out = args[0];
  if (args[1]->kind == FNZI_EXPR_NUMBER)
    *out = args[args[1]->num ? 0 : 2];
  else if (args[0] != args[2])
    return fnzi_expr_plain_call(set, FNZI_FUNCTION_ITE, args, 3, out);
  return FNZ_OK;
}

static fnz_status calls_call(fnzi_exprs *set, fnzi_function function, const fnzi_expr *const *args,
                             size_t count, const fnzi_expr **out) {
  if (function == FNZI_FUNCTION_ITE)
    return choose_between(set, args, out);
  if (function > FNZI_FUNCTION_TRUNC && function < FNZI_FUNCTION_EQ)
    return fnzi_expr_plain_call(set, function, args, count, out);
  if (function >= FNZI_FUNCTION_AND)
    FNZ_TRY(check_truths(set, function, args, count));
  switch (function) {
  case FNZI_FUNCTION_FLOOR_DIV:
    return floor_div(set, args[0], args[1], out);
  case FNZI_FUNCTION_MOD:
  case FNZI_FUNCTION_PYTHON_MOD:
    return modulo(set, function, args[0], args[1], out);
  case FNZI_FUNCTION_MIN:
  case FNZI_FUNCTION_MAX:
  case FNZI_FUNCTION_AND:
  case FNZI_FUNCTION_OR:
    return select_call(set, function, args, count, out);
  case FNZI_FUNCTION_FLOOR:
  case FNZI_FUNCTION_TRUNC:
    return floor_of(set, function, args[0], out);
  case FNZI_FUNCTION_EQ:
  case FNZI_FUNCTION_NE:
  case FNZI_FUNCTION_LT:
  case FNZI_FUNCTION_LE:
  case FNZI_FUNCTION_GT:
  case FNZI_FUNCTION_GE:
    return compare(set, function, args, out);
  case FNZI_FUNCTION_NOT:
    if (args[0]->kind == FNZI_EXPR_NUMBER)
      return fnzi_expr_number(set, args[0]->num == 0, 1, out);
    return fnzi_expr_plain_call(set, function, args, 1, out);
  default: /* on doubles, above */
    break;
  }
  return FNZ_INTERNAL;
}

fnz_status fnzi_expr_call(fnzi_exprs *set, fnzi_function function, const fnzi_expr *const *args,
                          size_t count, const fnzi_expr **out) {
  const fnzi_expr *pair[2] = {args[0], args[count - 1]}; /* `out` may be an argument */
  const fnzi_expr *made = count == 2 ? fnzi_done_get(set, function, pair[0], pair[1]) : NULL;
  if (!made) {
    FNZ_TRY(calls_call(set, function, args, count, &made));
    if (count == 2)
      FNZ_TRY(fnzi_done_put(set, function, pair[0], pair[1], made));
  }
  *out = made;
  return FNZ_OK;
}

/* --- other parts ------------------------------------------------------------------------------ */
fnz_status fnzi_expr_with_parts(fnzi_exprs *set, const fnzi_expr *e, const fnzi_expr *const *parts,
                                const fnzi_expr **out) {
  bool adds = e->kind == FNZI_EXPR_SUM;
  if (e->kind == FNZI_EXPR_CALL)
    return fnzi_expr_call(set, e->function, parts, e->count, out);
  FNZ_TRY(fnzi_expr_number(set, adds ? e->num : 1, adds ? e->den : 1, out));
  for (uint32_t i = 0; i < e->count; i++) {
    const fnzi_shapes_part *p = &e->parts[i];
    const fnzi_expr *part;
    if (adds) {
      FNZ_TRY(fnzi_expr_scale(set, parts[i], p->num, p->den, &part));
      FNZ_TRY(fnzi_expr_add(set, *out, part, out));
    } else {
      FNZ_TRY(fnzi_expr_pow(set, parts[i], p->num, &part));
      FNZ_TRY(fnzi_expr_mul(set, *out, part, out));
    }
  }
  return FNZ_OK;
}
