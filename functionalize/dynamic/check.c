/* check.c - checks the general program (check_one.c) at the trials that it was made from, and at
 * sizes where the pass may decide differently: at ends of ranges, at 0 and 1, at equal sizes, at
 * the program's own constants, at breakpoints of expressions (check_breakpoints.c), at sizes that
 * expressions tie to each other (check_equal.c), near other sizes (check_near.c), and next to
 * bounds that guards set.
 *
 * needs   the general program, trials at usual sizes
 * gives   further trials; for each whether the source works there, and whether the program is
 * right */
#include "functionalize/dynamic/sample.h"

enum {
  FRESH = 2, /* usual sizes that only the check sees */
  WIDEST_EDGE = 16
};

/* How many symbols have a number that is special itself. */
static fnz_status count_small(fnzi_general *g, fnzi_trial *t, size_t *out) {
  *out = 0;
  for (size_t i = 0; i < g->sizes.free.count; i++) {
    bool known;
    int64_t number;
    FNZ_TRY(fnzi_point_int(&t->point, g->sizes.free.data[i], &known, &number));
    *out += known && number <= 1;
  }
  return FNZ_OK;
}

/* The most usual trial. */
static fnz_status choose_base(fnzi_general *g) {
  size_t least = SIZE_MAX, small;
  for (size_t i = g->usual; i-- > 0;) {
    FNZ_TRY(count_small(g, g->trials.data[i], &small));
    g->base = small < least ? g->trials.data[i] : g->base;
    least = small < least ? small : least;
  }
  return FNZ_OK;
}

static fnz_status check_special(fnzi_general *g) {
  bool more = true;
  size_t most = fnzi_trials_most_special(g);
  for (size_t k = 0; more && k < most; k++) {
    fnzi_trial *t;
    bool found = false;
    FNZ_TRY(fnzi_trial_new(g, &t));
    fnz_status status = fnzi_trial_numbers(g, &g->base->point, &t->point);
    if (status == FNZ_OK)
      status = fnzi_draw_special(&g->draw, k, &t->point, &more, &found);
    FNZ_TRY(fnzi_trial_check_once(g, t, status, found));
  }
  return FNZ_OK;
}

static fnz_status check_fresh(fnzi_general *g) {
  for (size_t i = 0; i < FRESH; i++) {
    fnzi_trial *t;
    bool found = false;
    FNZ_TRY(fnzi_trial_new(g, &t));
    fnz_status status = fnzi_draw_numbers(&g->draw, &t->point, &found);
    FNZ_TRY(fnzi_trial_check_once(g, t, status, found));
  }
  return FNZ_OK;
}

/* --- bounds that guards set ------------------------------------------------------------------- */
static bool is_right_at(const fnzi_general *g, size_t from) {
  for (size_t i = from; i < g->trials.count; i++)
    if (g->trials.data[i]->right)
      return true;
  return false;
}

bool fnzi_is_bound(const fnzi_expr *guard) {
  return guard->kind == FNZI_EXPR_CALL &&
         (guard->function == FNZI_FUNCTION_GE || guard->function == FNZI_FUNCTION_LE) &&
         guard->parts[0].expr->kind == FNZI_EXPR_SYMBOL &&
         guard->parts[1].expr->kind == FNZI_EXPR_NUMBER;
}

static fnz_status check_bound(fnzi_general *g, const fnzi_expr *guard) {
  const bool least = guard->function == FNZI_FUNCTION_GE;
  const size_t before = g->trials.count;
  const fnzi_expr *symbol = guard->parts[0].expr;
  int64_t number = guard->parts[1].expr->num;
  for (size_t i = 0; i < WIDEST_EDGE && !is_right_at(g, before); i++) {
    FNZ_TRY(fnzi_trials_check_at(g, symbol, number, symbol, number));
    number += least ? 1 : -1;
  }
  return FNZ_OK;
}

/* Finds the remainder in a guard, such as "Mod(s0, 4)"; else NULL. */
static const fnzi_expr *remainder_of(const fnzi_expr *guard) {
  for (size_t k = 0; guard->kind == FNZI_EXPR_CALL && k < guard->count; k++) {
    const fnzi_expr *e = guard->parts[k].expr;
    if (e->kind == FNZI_EXPR_CALL && e->function == FNZI_FUNCTION_MOD &&
        e->parts[0].expr->kind == FNZI_EXPR_SYMBOL && e->parts[1].expr->kind == FNZI_EXPR_NUMBER)
      return e;
  }
  return NULL;
}

/* Any few numbers have remainders that differ: two of each that is left are tried. */
static fnz_status check_remainders(fnzi_general *g, const fnzi_expr *remainder) {
  const fnzi_expr *symbol = remainder->parts[0].expr;
  bool known;
  int64_t number;
  FNZ_TRY(fnzi_point_int(&g->base->point, symbol, &known, &number));
  for (int64_t i = 0; known && i / 2 < remainder->parts[1].expr->num; i++)
    FNZ_TRY(fnzi_trials_check_at(g, symbol, number + i, symbol, number + i));
  return FNZ_OK;
}

fnz_status fnzi_trials_check_edge(fnzi_general *g, const fnzi_expr *guard) {
  const fnzi_expr *remainder = remainder_of(guard);
  if (!fnzi_is_bound(guard) && !remainder)
    return FNZ_OK;
  FNZ_TRY(choose_base(g)); /* the last one may have gone */
  if (!g->usual)
    return FNZ_OK;
  return remainder ? check_remainders(g, remainder) : check_bound(g, guard);
}

/* --- everywhere ------------------------------------------------------------------------------- */
/* Trials that an earlier round only checked are dropped first. */
fnz_status fnzi_trials_check(fnzi_general *g) {
  while (g->trials.count > g->usual)
    fnzi_trial_end(g, g->trials.data[--g->trials.count]);
  g->turning.count = g->unsure.count = 0;
  for (size_t i = 0; i < g->usual; i++)
    FNZ_TRY(fnzi_trial_check(g, g->trials.data[i]));
  FNZ_TRY(choose_base(g));
  FNZ_TRY(check_special(g));
  FNZ_TRY(fnzi_trials_check_near(g));
  FNZ_TRY(fnzi_trials_check_turns(g));
  FNZ_TRY(fnzi_trials_check_equal(g));
  return check_fresh(g);
}
