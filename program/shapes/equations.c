/* equations.c - draws numbers again until the equations between symbols hold.
 *
 * needs   numbers that keep to the bounds of their symbols
 * gives   numbers that keep to equations too; different ones where they are drawn */
#include "program/shapes/equations.h"

enum { MOST_TERMS = 256, REDRAWS = 8 };

uint64_t fnzi_draw_next(fnzi_draw *d) {
  d->state = d->state * 6364136223846793005u + 1442695040888963407u;
  return (d->state ^ (d->state >> 29)) >> 16;
}

typedef struct equation {
  const fnzi_expr *sum, *other; /* other NULL: `number` */
  int64_t number;
} equation;

/* A condition that is an equation: an equality, or an expression whose range has only one value. */
static bool is_equation(const fnzi_condition *c, equation *out) {
  bool is_equality = c->expr->kind == FNZI_EXPR_CALL && c->expr->function == FNZI_FUNCTION_EQ;
  if (c->min != c->max || (is_equality && c->min != 1))
    return false;
  *out = (equation){c->expr, NULL, c->min};
  if (!is_equality)
    return c->expr->kind == FNZI_EXPR_SUM;
  /* Solve for a sum rather than a symbol, and never for a number. */
  bool second = c->expr->parts[0].expr->kind != FNZI_EXPR_SUM &&
                c->expr->parts[1].expr->kind != FNZI_EXPR_NUMBER;
  *out = (equation){c->expr->parts[second].expr, c->expr->parts[!second].expr, 0};
  return true;
}

/* *holds also where that is not decided. */
static fnz_status equations_look(const equation *e, fnzi_point *point, int64_t *wanted,
                                 bool *holds) {
  bool known = true, is_known;
  int64_t is;
  *wanted = e->number;
  if (e->other)
    FNZ_TRY(fnzi_point_int(point, e->other, &known, wanted));
  FNZ_TRY(fnzi_point_int(point, e->sum, &is_known, &is));
  *holds = !known || !is_known || is == *wanted;
  return FNZ_OK;
}

/* --- one equation ----------------------------------------------------------------------------- */
/* Mends one equation, trying the last symbol first: later pieces of a split begin where earlier
 * ones end. */
static fnz_status mend(const fnzi_sizes *s, const equation *e, const fnzi_bounds *bounds,
                       const int64_t *before, fnzi_point *point) {
  bool holds, known, done = false;
  int64_t number;
  FNZ_TRY(equations_look(e, point, &number, &holds));
  for (size_t i = s->free.count; i-- > 0 && !holds && !done;) {
    FNZ_TRY(fnzi_point_int(point, s->free.data[i], &known, &number));
    if (known && (!before || number == before[i])) {
      const fnzi_expr *symbol = s->free.data[i];
      int64_t wanted = e->number, found = 0;
      bool given = true, solved = false, wrong;
      FNZ_TRY(fnzi_point_unset(point, symbol));
      if (e->other)
        FNZ_TRY(fnzi_point_int(point, e->other, &given, &wanted));
      if (given)
        FNZ_TRY(fnzi_point_solve(point, e->sum, wanted, &solved, &wrong));
      if (solved)
        FNZ_TRY(fnzi_point_int(point, symbol, &solved, &found));
      done = solved && found >= bounds[symbol->id].min && found <= bounds[symbol->id].max;
      if (!done)
        FNZ_TRY(fnzi_point_set(point, symbol, number));
    }
  }
  return FNZ_OK;
}

fnz_status fnzi_equations_mend(const fnzi_sizes *s, const fnzi_bounds *bounds,
                               const int64_t *before, fnzi_point *point) {
  equation e;
  for (size_t i = 0; i < s->conditions.count; i++)
    if (is_equation(&s->conditions.data[i], &e))
      FNZ_TRY(mend(s, &e, bounds, before, point));
  return FNZ_OK;
}

fnz_status fnzi_free_numbers(const fnzi_sizes *s, fnzi_point *point, fnzi_arena *arena,
                             int64_t **out) {
  FNZI_NEW(arena, s->free.count, out);
  for (size_t i = 0; i < s->free.count; i++) {
    bool known;
    FNZ_TRY(fnzi_point_int(point, s->free.data[i], &known, &(*out)[i]));
  }
  return FNZ_OK;
}

/* --- all symbols of a sum --------------------------------------------------------------------- */
/* Symbols that add up to `total`, each from `low` on and at most `room` more. */
typedef struct shares {
  const fnzi_expr *symbols[MOST_TERMS];
  int64_t low[MOST_TERMS], reach[MOST_TERMS], numbers[MOST_TERMS], total;
  size_t count;
} shares;

/* A multiple of symbols alone. */
static bool is_of_symbols(const fnzi_expr *sum, int64_t wanted, shares *out) {
  int64_t rest;
  out->count = sum->count;
  if (sum->kind != FNZI_EXPR_SUM || sum->count > MOST_TERMS || sum->den != 1 ||
      sum->num == INT64_MIN || !fnzi_add_i64(wanted, -sum->num, &rest))
    return false;
  int64_t by = sum->parts[0].num;
  for (uint32_t i = 0; i < sum->count; i++) {
    if (sum->parts[i].expr->kind != FNZI_EXPR_SYMBOL || sum->parts[i].num != by ||
        sum->parts[i].den != 1)
      return false;
    out->symbols[i] = sum->parts[i].expr;
  }
  bool is_whole = by > 0 && rest >= 0 && rest % by == 0 && rest / by <= INT32_MAX;
  out->total = is_whole ? rest / by : 0;
  return is_whole;
}

/* Each gets `least` at least, where its bounds allow that; false when that is too much. */
static bool begin(shares *s, const fnzi_bounds *bounds, int64_t least, int64_t *slack) {
  *slack = s->total;
  for (size_t i = 0; i < s->count; i++) {
    fnzi_bounds b = bounds[s->symbols[i]->id];
    int64_t low = b.min > least ? b.min : b.max < least ? b.max : least;
    if (b.max < b.min || low < 0 || low > *slack)
      return false;
    s->low[i] = low;
    *slack -= low;
  }
  for (size_t i = 0; i < s->count; i++) {
    int64_t reach = bounds[s->symbols[i]->id].max - s->low[i];
    s->reach[i] = reach < *slack ? reach : *slack;
  }
  return true;
}

/* One after the other, from any of them on: as much as the others leave, about twice the mean at
 * most. */
static void share(fnzi_draw *d, shares *s, int64_t slack) {
  size_t first = fnzi_draw_next(d) % s->count;
  int64_t after = 0;
  for (size_t i = 0; i < s->count; i++)
    after += s->reach[i];
  for (size_t n = 0; n < s->count; n++) {
    size_t i = (first + n) % s->count, left = s->count - n;
    after -= s->reach[i];
    int64_t least = slack > after ? slack - after : 0, mean = slack / (int64_t)left;
    int64_t most = mean + mean + (mean < slack);
    most = most < s->reach[i] ? most : s->reach[i];
    most = most > slack ? slack : most;
    int64_t choices = most > least ? most - least + 1 : 1;
    int64_t more = least + (int64_t)(fnzi_draw_next(d) % (uint64_t)choices);
    s->numbers[i] = s->low[i] + more;
    slack -= more;
  }
}

static bool are_different(const shares *s) {
  for (size_t i = 0; i < s->count; i++)
    for (size_t k = i + 1; k < s->count; k++)
      if (s->numbers[i] == s->numbers[k])
        return false;
  return true;
}

/* Neither nothing nor very little, if there is so much. */
static bool draw_shares(fnzi_draw *d, const fnzi_bounds *bounds, shares *s) {
  static const int64_t least[] = {3, 1, 0};
  int64_t slack;
  for (size_t i = 0; i < sizeof least / sizeof *least; i++) {
    if (!begin(s, bounds, least[i], &slack))
      continue;
    share(d, s, slack);
    for (size_t again = 0; again < REDRAWS && !are_different(s); again++)
      share(d, s, slack);
    return true;
  }
  return false;
}

fnz_status fnzi_equations_draw(fnzi_draw *d, const fnzi_bounds *bounds, fnzi_point *point) {
  for (size_t i = 0; i < d->sizes->conditions.count; i++) {
    equation e;
    shares s;
    bool holds;
    int64_t wanted;
    if (!is_equation(&d->sizes->conditions.data[i], &e))
      continue;
    FNZ_TRY(equations_look(&e, point, &wanted, &holds));
    if (holds)
      continue;
    if (!is_of_symbols(e.sum, wanted, &s) || !draw_shares(d, bounds, &s)) {
      FNZ_TRY(mend(d->sizes, &e, bounds, NULL, point));
      continue;
    }
    for (size_t k = 0; k < s.count; k++)
      FNZ_TRY(fnzi_point_set(point, s.symbols[k], s.numbers[k]));
  }
  return FNZ_OK;
}
