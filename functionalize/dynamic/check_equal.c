/* check_equal.c - expressions that equal a symbol wherever the general program is right: for
 * example the rows that a tensor is reshaped to, and the rows of another tensor. The program may
 * contain one in place of the other, which is right while both are equal. If only one of them
 * changes, the source itself may fail, so trials that change single symbols do not find such an
 * error.
 *
 * needs   the general program, trials at usual sizes
 * gives   further trials, checked: one of the two set to 0 or 1, if they need not be equal; both
 *         changed together; sizes that must be equal for the program to be right */
#include "functionalize/dynamic/sample.h"

enum { SUCCESSIVE = 5 /* numbers tried behind a usual one: remainders by 2 to 6 */ };

/* --- one trial -------------------------------------------------------------------------------- */
/* The check there, if the sizes keep to all conditions and are small enough. */
static fnz_status check(fnzi_general *g, fnzi_trial *t, fnz_status status) {
  const fnzi_condition *broken = NULL;
  bool small = false;
  if (status == FNZ_OK)
    status = fnzi_sizes_admit(&g->sizes, &t->point, &broken);
  if (status == FNZ_OK && !broken)
    status = fnzi_sizes_are_small(&g->sizes, &t->point, &small);
  return fnzi_trial_check_once(g, t, status, small);
}

static fnz_status add_to(fnzi_point *point, const fnzi_expr *symbol, int64_t more) {
  bool known;
  int64_t number;
  FNZ_TRY(fnzi_point_int(point, symbol, &known, &number));
  return known && number <= INT64_MAX - more ? fnzi_point_set(point, symbol, number + more)
                                             : FNZ_OK;
}

/* The symbol gets the number that the expression has there. */
static fnz_status follow(fnzi_point *point, const fnzi_seen_same *pair) {
  bool known;
  int64_t number;
  FNZ_TRY(fnzi_point_int(point, pair->expr, &known, &number));
  return known ? fnzi_point_set(point, pair->like, number) : FNZ_OK;
}

/* --- apart, beside nothing -------------------------------------------------------------------- */
static fnz_status check_beside(fnzi_general *g, const fnzi_seen_same *pair, const fnzi_expr *other,
                               int64_t few) {
  fnzi_trial *t;
  FNZ_TRY(fnzi_trial_new(g, &t));
  fnz_status status = fnzi_trial_numbers(g, &g->base->point, &t->point);
  if (status == FNZ_OK)
    status = add_to(&t->point, pair->like, 1);
  if (status == FNZ_OK)
    status = fnzi_point_set(&t->point, other, few);
  return check(g, t, status);
}

/* Sizes that must be equal because of elements may differ if there are none. A view of n rows has
 * the columns that it names, or no rows. */
static fnz_status check_apart(fnzi_general *g, const fnzi_seen_same *pair, const uint8_t *parts) {
  for (size_t i = 0; i < g->sizes.free.count; i++) {
    const fnzi_expr *other = g->sizes.free.data[i];
    for (int64_t few = 0; few < 2 && other != pair->like && !parts[other->id]; few++)
      FNZ_TRY(check_beside(g, pair, other, few));
  }
  return FNZ_OK;
}

/* --- together --------------------------------------------------------------------------------- */
static fnz_status check_moved(fnzi_general *g, const fnzi_seen_same *pair, const fnzi_expr *symbol,
                              int64_t more) {
  fnzi_trial *t;
  FNZ_TRY(fnzi_trial_new(g, &t));
  fnz_status status = fnzi_trial_numbers(g, &g->base->point, &t->point);
  if (status == FNZ_OK)
    status = add_to(&t->point, symbol, more);
  if (status == FNZ_OK)
    status = follow(&t->point, pair);
  return check(g, t, status);
}

static fnz_status check_together(fnzi_general *g, const fnzi_seen_same *pair,
                                 const uint8_t *parts) {
  for (size_t i = 0; i < g->sizes.free.count; i++) {
    const fnzi_expr *symbol = g->sizes.free.data[i];
    for (int64_t more = 1; more <= SUCCESSIVE && parts[symbol->id]; more++)
      FNZ_TRY(check_moved(g, pair, symbol, more));
  }
  return FNZ_OK;
}

static bool is_wrong_from(const fnzi_general *g, size_t from) {
  for (size_t i = from; i < g->trials.count; i++)
    if (!g->trials.data[i]->right)
      return true;
  return false;
}

/* If the program is wrong once the two differ, a guard may keep them equal. */
static fnz_status check_pair(fnzi_general *g, const fnzi_seen_same *pair, const uint8_t *parts) {
  const size_t before = g->trials.count;
  FNZ_TRY(check_apart(g, pair, parts));
  if (is_wrong_from(g, before))
    FNZI_PUSH(g->ctx, &g->turning, *pair);
  return check_together(g, pair, parts);
}

/* --- all -------------------------------------------------------------------------------------- */
/* The expression and each symbol that it is not made of. */
static fnz_status check_with_symbols(fnzi_general *g, const fnzi_expr *e) {
  uint8_t *parts;
  FNZ_TRY(fnzi_trials_parts(g, e, &parts));
  for (size_t i = 0; i < g->sizes.free.count; i++) {
    const fnzi_seen_same pair = {e, g->sizes.free.data[i]};
    bool equal = false;
    if (!parts[pair.like->id])
      FNZ_TRY(fnzi_trials_equal(g, pair.expr, pair.like, true, &equal));
    if (equal)
      FNZ_TRY(check_pair(g, &pair, parts));
  }
  return FNZ_OK;
}

fnz_status fnzi_trials_check_equal(fnzi_general *g) {
  const size_t count = g->sizes.set.all.count;
  uint8_t *made;
  FNZ_TRY(fnzi_trials_made(g, &made));
  for (size_t i = 0; i < count; i++)
    if (made[i])
      FNZ_TRY(check_with_symbols(g, g->sizes.set.all.data[i]));
  for (size_t i = 0; i < g->sizes.free.count; i++)
    FNZ_TRY(check_with_symbols(g, g->sizes.free.data[i]));
  return FNZ_OK;
}
