/* symbolic_eval.c - numbers for the expressions of a set.
 *
 * In a set an expression comes after its parts, so one pass over the set in order computes all of
 * them. Values are computed up to the requested one, and kept until a symbol changes. */
#include "program/shapes/symbolic_set.h"

void fnzi_point_init(fnzi_point *point, const fnzi_exprs *set) {
  *point = (fnzi_point){.set = set};
}

void fnzi_point_free(fnzi_point *point) {
  FNZI_VEC_FREE(point->set->ctx, &point->values);
}

/* Room for all expressions of the set; new symbols have no number. */
static fnz_status eval_follow_set(fnzi_point *point) {
  static const fnzi_number unknown = {0, 1, FNZI_NUMBER_UNKNOWN, 0};
  while (point->values.count < point->set->all.count)
    FNZI_PUSH(point->set->ctx, &point->values, unknown);
  return FNZ_OK;
}

static fnz_status set_symbol(fnzi_point *point, const fnzi_expr *symbol, fnzi_number number) {
  FNZ_TRY(eval_follow_set(point));
  point->values.data[symbol->id] = number;
  if (point->done > symbol->id)
    point->done = symbol->id;
  return FNZ_OK;
}

fnz_status fnzi_point_set(fnzi_point *point, const fnzi_expr *symbol, int64_t number) {
  return set_symbol(point, symbol, (fnzi_number){number, 1, FNZI_NUMBER_KNOWN, 0});
}

fnz_status fnzi_point_unset(fnzi_point *point, const fnzi_expr *symbol) {
  return set_symbol(point, symbol, (fnzi_number){0, 1, FNZI_NUMBER_UNKNOWN, 0});
}

/* --- one expression --------------------------------------------------------------------------- */
static const fnzi_number undefined = {0, 1, FNZI_NUMBER_UNDEFINED, 0};

static fnzi_number eval_number_of(bool ok, fnzi_ratio_t r) {
  return ok ? (fnzi_number){r.num, r.den, FNZI_NUMBER_KNOWN, 0} : undefined;
}

static fnzi_number eval_of_sum(const fnzi_expr *e, const fnzi_number *values) {
  fnzi_ratio_t total = {e->num, e->den}, term;
  for (uint32_t i = 0; i < e->count; i++) {
    const fnzi_number *v = &values[e->parts[i].expr->id];
    if (!fnzi_ratio_mul((fnzi_ratio_t){e->parts[i].num, e->parts[i].den},
                        (fnzi_ratio_t){v->num, v->den}, &term) ||
        !fnzi_ratio_add(total, term, &total))
      return undefined;
  }
  return eval_number_of(true, total);
}

static fnzi_number eval_of_product(const fnzi_expr *e, const fnzi_number *values) {
  fnzi_ratio_t total = {1, 1};
  for (uint32_t i = 0; i < e->count; i++) {
    const fnzi_number *v = &values[e->parts[i].expr->id];
    int64_t power = e->parts[i].num;
    fnzi_ratio_t base = {v->num, v->den};
    if (power < 0 && !fnzi_ratio(v->den, v->num, &base))
      return undefined;
    for (power = power < 0 ? -power : power; power > 0; power--)
      if (!fnzi_ratio_mul(total, base, &total))
        return undefined;
  }
  return eval_number_of(true, total);
}

/* Powers from 0 on. 2**62 has the most factors of any power that fits, except powers of 0, 1 and
 * -1. */
static fnzi_number of_power(fnzi_ratio_t a, fnzi_ratio_t b) {
  fnzi_ratio_t total = {1, 1};
  if (b.den != 1 || b.num < 0)
    return undefined;
  int64_t times = b.num > 64 ? 64 + b.num % 2 : b.num;
  for (; times > 0; times--)
    if (!fnzi_ratio_mul(total, a, &total))
      return undefined;
  return eval_number_of(true, total);
}

static bool less(fnzi_ratio_t a, fnzi_ratio_t b, bool *out) {
  int64_t x, y;
  if (!fnzi_mul_i64(a.num, b.den, &x) || !fnzi_mul_i64(b.num, a.den, &y))
    return false;
  *out = x < y;
  return true;
}

static fnzi_number of_division(fnzi_function function, fnzi_ratio_t a, fnzi_ratio_t b) {
  fnzi_ratio_t q, whole;
  if (b.num == 0 || !fnzi_ratio(b.den, b.num, &q) || !fnzi_ratio_mul(a, q, &q))
    return undefined;
  fnzi_ratio_t floor = {fnzi_ratio_floor(q), 1};
  if (function == FNZI_FUNCTION_FLOOR_DIV)
    return eval_number_of(true, floor);
  bool ok = fnzi_ratio_mul(floor, b, &whole) &&
            fnzi_ratio_add(a, (fnzi_ratio_t){-whole.num, whole.den}, &q);
  return eval_number_of(ok, q);
}

static fnzi_number of_comparison(fnzi_function function, fnzi_ratio_t a, fnzi_ratio_t b) {
  bool below, above;
  if (!less(a, b, &below) || !less(b, a, &above))
    return undefined;
  bool truth[FNZI_FUNCTION_COUNT] = {[FNZI_FUNCTION_EQ] = !below && !above,
                                     [FNZI_FUNCTION_NE] = below || above,
                                     [FNZI_FUNCTION_LT] = below,
                                     [FNZI_FUNCTION_LE] = !above,
                                     [FNZI_FUNCTION_GT] = above,
                                     [FNZI_FUNCTION_GE] = !below};
  return eval_number_of(true, (fnzi_ratio_t){truth[function], 1});
}

/* The least or the greatest of several; for truth values these are And and Or. */
static fnzi_number of_selection(const fnzi_expr *e, const fnzi_number *values) {
  bool least = e->function == FNZI_FUNCTION_MIN || e->function == FNZI_FUNCTION_AND;
  const fnzi_number *first = &values[e->parts[0].expr->id];
  fnzi_ratio_t best = {first->num, first->den};
  for (uint32_t i = 1; i < e->count; i++) {
    const fnzi_number *v = &values[e->parts[i].expr->id];
    fnzi_ratio_t other = {v->num, v->den};
    bool wins;
    if (!less(least ? other : best, least ? best : other, &wins))
      return undefined;
    best = wins ? other : best;
  }
  return eval_number_of(true, best);
}

static fnzi_number eval_of_call(const fnzi_expr *e, const fnzi_number *values) {
  const fnzi_number *v = &values[e->parts[0].expr->id],
                    *w = &values[e->parts[e->count - 1].expr->id];
  fnzi_ratio_t a = {v->num, v->den}, b = {w->num, w->den};
  switch (e->function) {
  case FNZI_FUNCTION_FLOOR_DIV:
  case FNZI_FUNCTION_MOD:
  case FNZI_FUNCTION_PYTHON_MOD:
    return of_division(e->function, a, b);
  case FNZI_FUNCTION_MIN:
  case FNZI_FUNCTION_MAX:
  case FNZI_FUNCTION_AND:
  case FNZI_FUNCTION_OR:
    return of_selection(e, values);
  case FNZI_FUNCTION_FLOOR:
    return eval_number_of(true, (fnzi_ratio_t){fnzi_ratio_floor(a), 1});
  case FNZI_FUNCTION_TRUNC:
    return eval_number_of(true, (fnzi_ratio_t){a.num / a.den, 1});
  case FNZI_FUNCTION_ITE: /* the condition is the second argument */
    return values[e->parts[values[e->parts[1].expr->id].num ? 0 : 2].expr->id];
  case FNZI_FUNCTION_INT_POW:
    return of_power(a, b);
  case FNZI_FUNCTION_NOT:
    return eval_number_of(true, (fnzi_ratio_t){a.num == 0, 1});
  case FNZI_FUNCTION_EQ:
  case FNZI_FUNCTION_NE:
  case FNZI_FUNCTION_LT:
  case FNZI_FUNCTION_LE:
  case FNZI_FUNCTION_GT:
  case FNZI_FUNCTION_GE:
    return of_comparison(e->function, a, b);
  default: /* on doubles, in symbolic_real.c */
    break;
  }
  return undefined;
}

static fnzi_number eval_compute(const fnzi_expr *e, const fnzi_number *values) {
  fnzi_known known = FNZI_NUMBER_KNOWN;
  if (e->kind == FNZI_EXPR_SYMBOL)
    return values[e->id];
  for (uint32_t i = 0; i < e->count && known != FNZI_NUMBER_UNKNOWN; i++)
    if (values[e->parts[i].expr->id].known == FNZI_NUMBER_UNKNOWN ||
        values[e->parts[i].expr->id].known == FNZI_NUMBER_UNDEFINED)
      known = values[e->parts[i].expr->id].known;
  if (known != FNZI_NUMBER_KNOWN)
    return (fnzi_number){0, 1, known, 0};
  if (e->is_real || fnzi_expr_takes_real(e))
    return fnzi_real_call(e, values);
  switch (e->kind) {
  case FNZI_EXPR_SUM:
    return eval_of_sum(e, values);
  case FNZI_EXPR_PRODUCT:
    return eval_of_product(e, values);
  case FNZI_EXPR_CALL:
    return eval_of_call(e, values);
  case FNZI_EXPR_NUMBER:
  case FNZI_EXPR_REAL:
  case FNZI_EXPR_SYMBOL:
    break;
  }
  return (fnzi_number){e->num, e->den, FNZI_NUMBER_KNOWN, 0};
}

fnz_status fnzi_point_get(fnzi_point *point, const fnzi_expr *expr, fnzi_number *out) {
  if (expr->id >= point->done)
    FNZ_TRY(eval_follow_set(point));
  for (; point->done <= expr->id; point->done++)
    point->values.data[point->done] =
        eval_compute(point->set->all.data[point->done], point->values.data);
  *out = point->values.data[expr->id];
  return FNZ_OK;
}

fnz_status fnzi_point_int(fnzi_point *point, const fnzi_expr *expr, bool *known, int64_t *out) {
  fnzi_number n;
  if (expr->id >= point->done)
    FNZ_TRY(fnzi_point_get(point, expr, &n));
  n = point->values.data[expr->id];
  *known = n.known == FNZI_NUMBER_KNOWN && n.den == 1;
  *out = n.num;
  return FNZ_OK;
}

fnz_status fnzi_point_real(fnzi_point *point, const fnzi_expr *expr, bool *known, double *out) {
  fnzi_number n;
  FNZ_TRY(fnzi_point_get(point, expr, &n));
  *known = fnzi_number_as_real(expr, &n, out);
  return FNZ_OK;
}

/* The value of a sum without one term, the only one without a known value. *term is NULL if no term
 * or several terms are unknown, or if the rest has no value. */
static bool all_but_one(const fnzi_point *point, const fnzi_expr *e, const fnzi_shapes_part **term,
                        fnzi_ratio_t *rest) {
  *rest = (fnzi_ratio_t){e->num, e->den};
  *term = NULL;
  for (uint32_t i = 0; i < e->count; i++) {
    const fnzi_number *v = &point->values.data[e->parts[i].expr->id];
    fnzi_ratio_t r;
    if (v->known == FNZI_NUMBER_UNKNOWN && *term)
      return false;
    if (v->known == FNZI_NUMBER_UNKNOWN) {
      *term = &e->parts[i];
      continue;
    }
    if (v->known != FNZI_NUMBER_KNOWN ||
        !fnzi_ratio_mul((fnzi_ratio_t){e->parts[i].num, e->parts[i].den},
                        (fnzi_ratio_t){v->num, v->den}, &r) ||
        !fnzi_ratio_add(*rest, r, rest))
      return false;
  }
  return *term != NULL;
}

fnz_status fnzi_point_solve(fnzi_point *point, const fnzi_expr *expr, int64_t number, bool *solved,
                            bool *wrong) {
  fnzi_number n;
  fnzi_shapes_part self = {expr, 1, 1};
  const fnzi_shapes_part *term = &self;
  fnzi_ratio_t r, rest = {0, 1}, by;
  FNZ_TRY(fnzi_point_get(point, expr, &n));
  *solved = n.known == FNZI_NUMBER_KNOWN && n.den == 1 && n.num == number;
  *wrong = n.known != FNZI_NUMBER_UNKNOWN && !*solved;
  if (*solved || *wrong)
    return FNZ_OK;
  if (expr->kind == FNZI_EXPR_SUM && !all_but_one(point, expr, &term, &rest))
    return FNZ_OK;
  if (term->expr->kind != FNZI_EXPR_SYMBOL)
    return FNZ_OK;
  rest.num = -rest.num;
  *wrong = !fnzi_ratio_add((fnzi_ratio_t){number, 1}, rest, &r) ||
           !fnzi_ratio(term->den, term->num, &by) || !fnzi_ratio_mul(r, by, &r) || r.den != 1;
  *solved = !*wrong;
  return *wrong ? FNZ_OK : fnzi_point_set(point, term->expr, r.num);
}
