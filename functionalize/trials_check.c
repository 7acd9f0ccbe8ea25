/* trials_check.c - is the general program right? It is compared with the source, by the caller's
 * check, at the trials that it was made from, and where other decisions may be taken: at ends of
 * ranges, 0 and 1, equal sizes, the program's own constants, where an expression is no more the
 * number, or the argument of its own, that it was at usual sizes.
 *
 * needs   the general program, trials at usual sizes
 * gives   further trials; which are valid, and at which of them it is right */
#include "functionalize/trials.h"

enum {
  FRESH = 2,          /* usual sizes that only the check sees */
  MOST_SPECIAL = 160, /* of a small program */
  LEAST_SPECIAL = 24,
  SPECIAL_WORK = 40000 /* nodes times special sizes */
};

/* --- the check -------------------------------------------------------------------------------- */
/* Both programs at the same sizes, by the names of their symbols. */
static fnz_status make_both(fnzi_general *g, fnzi_sizes *made, fnzi_point *there, fnzi_trial *t,
                            fnz_program **source, fnz_program **result, bool *valid) {
  FNZ_TRY(fnzi_sizes_adopt(made, there, &g->sizes, &t->point));
  fnz_status status = fnzi_instantiate(&g->sizes, &t->point, FNZI_READINGS_WATCHED, source);
  *valid = status == FNZ_OK;
  if (status != FNZ_OK)
    return status == FNZ_NO_MEMORY ? status : FNZ_OK;
  return fnzi_instantiate(made, there, FNZI_READINGS_WATCHED, result);
}

/* *valid: the source itself works there. */
static fnz_status compare_both(fnzi_general *g, fnzi_sizes *made, fnzi_point *there, fnzi_trial *t,
                               bool *valid) {
  fnz_program *source = NULL, *result = NULL;
  fnz_status status = make_both(g, made, there, t, &source, &result, valid);
  if (status == FNZ_OK && *valid)
    status = g->options->check(g->ctx, source, result, NULL, 1);
  t->right = status == FNZ_OK;
  if (*valid && status != FNZ_OK && status != FNZ_NO_MEMORY && status != FNZ_DIFFERENT) {
    status = g->options->check(g->ctx, source, source, NULL, 1);
    *valid = status == FNZ_OK;
  }
  fnz_program_destroy(source);
  fnz_program_destroy(result);
  return status == FNZ_NO_MEMORY ? status : FNZ_OK;
}

/* Without a check: only what the pass makes there tells. */
static fnz_status compare_passes(fnzi_general *g, fnzi_trial *t, bool *valid) {
  fnz_status status = t->result ? FNZ_OK : fnzi_trial_run(g, t);
  *valid = status == FNZ_OK;
  t->right = *valid && fnzi_alike(g->trials.data[0]->result, t->result);
  return status == FNZ_NO_MEMORY ? status : FNZ_OK;
}

static fnz_status check_trial(fnzi_general *g, fnzi_trial *t, bool *valid) {
  fnzi_sizes made;
  fnzi_point there;
  if (!g->options->check)
    return compare_passes(g, t, valid);
  fnz_status status = fnzi_sizes_open(&made, g->ctx, g->made);
  fnzi_point_init(&there, &made.set);
  if (status == FNZ_OK)
    status = compare_both(g, &made, &there, t, valid);
  fnzi_point_free(&there);
  fnzi_sizes_close(&made);
  return status;
}

static fnz_status keep(fnzi_general *g, fnzi_trial *t) {
  FNZI_PUSH(g->ctx, &g->trials, t);
  return FNZ_OK;
}

/* A trial at which nothing is fitted. */
static fnz_status add_checked(fnzi_general *g, fnzi_trial *t) {
  bool kept = false;
  fnz_status status = check_trial(g, t, &t->valid);
  if (status == FNZ_OK && t->valid) {
    status = keep(g, t);
    kept = status == FNZ_OK;
  }
  if (!kept)
    fnzi_trial_end(g, t);
  return status;
}

static size_t most_special(const fnzi_general *g) {
  size_t nodes = 1;
  for (size_t i = 0; i < g->program->graphs.count; i++)
    nodes += g->program->graphs.data[i].nodes.count;
  size_t most = SPECIAL_WORK / nodes;
  return most < LEAST_SPECIAL ? LEAST_SPECIAL : most < MOST_SPECIAL ? most : MOST_SPECIAL;
}

/* Where the check has not been made yet; `found` says that there are such sizes at all. */
static fnz_status check_once(fnzi_general *g, fnzi_trial *t, fnz_status status, bool found) {
  bool there = false;
  if (status == FNZ_OK && found)
    status = fnzi_trials_have(g, &t->point, &there);
  if (status == FNZ_OK && found && !there)
    return add_checked(g, t);
  fnzi_trial_end(g, t);
  return status;
}

static fnz_status check_special(fnzi_general *g) {
  bool more = true;
  size_t most = most_special(g);
  for (size_t k = 0; more && k < most; k++) {
    fnzi_trial *t;
    bool found = false;
    FNZ_TRY(fnzi_trial_new(g, &t));
    fnz_status status = fnzi_trial_numbers(g, &g->trials.data[g->usual - 1]->point, &t->point);
    if (status == FNZ_OK)
      status = fnzi_draw_special(&g->draw, k, &t->point, &more, &found);
    FNZ_TRY(check_once(g, t, status, found));
  }
  return FNZ_OK;
}

static fnz_status check_fresh(fnzi_general *g) {
  for (size_t i = 0; i < FRESH; i++) {
    fnzi_trial *t;
    bool found = false;
    FNZ_TRY(fnzi_trial_new(g, &t));
    fnz_status status = fnzi_draw_numbers(&g->draw, &t->point, &found);
    FNZ_TRY(check_once(g, t, status, found));
  }
  return FNZ_OK;
}

/* --- where expressions turn ------------------------------------------------------------------- */
fnz_status fnzi_trials_equal(fnzi_general *g, const fnzi_expr *a, const fnzi_expr *b, size_t count,
                             bool *out) {
  bool any = false;
  *out = true;
  for (size_t i = 0; i < count && *out; i++) {
    bool known[2];
    int64_t numbers[2];
    if (!g->trials.data[i]->valid)
      continue;
    FNZ_TRY(fnzi_point_int(&g->trials.data[i]->point, a, &known[0], &numbers[0]));
    FNZ_TRY(fnzi_point_int(&g->trials.data[i]->point, b, &known[1], &numbers[1]));
    *out = known[0] && known[1] && numbers[0] == numbers[1];
    any = true;
  }
  *out = *out && any;
  return FNZ_OK;
}

fnz_status fnzi_trials_number(fnzi_general *g, const fnzi_expr *e, const fnzi_expr **out) {
  bool known = false;
  int64_t number;
  *out = NULL;
  for (size_t i = 0; i < g->trials.count && !known; i++)
    if (g->trials.data[i]->valid)
      FNZ_TRY(fnzi_point_int(&g->trials.data[i]->point, e, &known, &number));
  return known ? fnzi_expr_number(&g->sizes.set, number, 1, out) : FNZ_OK;
}

/* The k-th choice of numbers near a turn of `e` at which it differs from `like`, as a trial; NULL
 * where the choice is none. */
static fnz_status turn_at(fnzi_general *g, const fnzi_expr *e, const fnzi_expr *like, size_t k,
                          fnzi_trial **out, bool *more) {
  fnzi_trial *t;
  bool found = false, known[2] = {false, false};
  int64_t numbers[2] = {0, 0};
  *out = NULL;
  *more = false;
  FNZ_TRY(fnzi_trial_new(g, &t));
  fnz_status status = fnzi_trial_numbers(g, &g->trials.data[g->usual - 1]->point, &t->point);
  if (status == FNZ_OK)
    status = fnzi_draw_turn(&g->sizes, e, like, k, &t->point, more, &found);
  if (status == FNZ_OK)
    status = fnzi_point_int(&t->point, e, &known[0], &numbers[0]);
  if (status == FNZ_OK)
    status = fnzi_point_int(&t->point, like, &known[1], &numbers[1]);
  if (status == FNZ_OK && found && known[0] && known[1] && numbers[0] != numbers[1])
    *out = t;
  else
    fnzi_trial_end(g, t);
  return status;
}

/* Makes the check where they differ; *left_out becomes true where the program is too large for it.
 */
static fnz_status check_turns_of(fnzi_general *g, const fnzi_expr *e, const fnzi_expr *like,
                                 bool *left_out) {
  bool more = true;
  for (size_t k = 0; more; k++) {
    fnzi_trial *t;
    bool small = false;
    FNZ_TRY(turn_at(g, e, like, k, &t, &more));
    if (!t)
      continue;
    fnz_status status = fnzi_sizes_are_small(&g->sizes, &t->point, &small);
    *left_out = *left_out || !small;
    FNZ_TRY(check_once(g, t, status, small));
  }
  return FNZ_OK;
}

/* What an expression may have been taken for: a number or, of a call, one of its arguments, which
 * were the same in the first `count` trials. NULL when there is no such k-th one. */
static fnz_status taken_for(fnzi_general *g, const fnzi_expr *e, size_t count, size_t k,
                            const fnzi_expr **out, bool *same) {
  *same = false;
  *out = NULL;
  if (k == 0)
    FNZ_TRY(fnzi_trials_number(g, e, out));
  else if (e->kind == FNZI_EXPR_CALL && k <= e->count)
    *out = e->parts[k - 1].expr;
  return *out ? fnzi_trials_equal(g, e, *out, count, same) : FNZ_OK;
}

/* Expressions made of others: the parts of those that the program has. */
static fnz_status find_made(fnzi_general *g, uint8_t **out) {
  const fnzi_sizes *s = &g->sizes;
  FNZI_NEW(&g->arena, s->set.all.count, out);
  for (size_t i = 1; i < g->program->symbols.count; i++)
    if (s->symbols[i])
      (*out)[s->symbols[i]->id] = true;
  fnzi_mark_parts(s, s->set.all.count, *out);
  for (size_t i = 0; i < s->set.all.count; i++) {
    const fnzi_expr *e = s->set.all.data[i];
    (*out)[i] = (*out)[i] && e->kind != FNZI_EXPR_SYMBOL && e->kind != FNZI_EXPR_NUMBER &&
                !fnzi_expr_is_condition(e);
  }
  return FNZ_OK;
}

/* What was a number or one of its arguments at all usual sizes: the result may have that in its
 * place. */
static fnz_status check_turns(fnzi_general *g) {
  uint8_t *made;
  size_t count = g->sizes.set.all.count;
  FNZ_TRY(find_made(g, &made));
  for (size_t i = 0; i < count; i++) {
    fnzi_unsure u = {g->sizes.set.all.data[i], g->sizes.set.all.data[i]};
    for (size_t k = 0; made[i] && u.like; k++) {
      bool same, left_out = false;
      FNZ_TRY(taken_for(g, u.expr, g->usual, k, &u.like, &same));
      if (same)
        FNZ_TRY(check_turns_of(g, u.expr, u.like, &left_out));
      if (left_out)
        FNZI_PUSH(g->ctx, &g->unsure, u);
    }
  }
  return FNZ_OK;
}

/* Everywhere. What was only checked in an earlier round goes first. */
fnz_status fnzi_trials_check(fnzi_general *g) {
  while (g->trials.count > g->usual)
    fnzi_trial_end(g, g->trials.data[--g->trials.count]);
  g->unsure.count = 0;
  for (size_t i = 0; i < g->usual; i++)
    FNZ_TRY(check_trial(g, g->trials.data[i], &g->trials.data[i]->valid));
  FNZ_TRY(check_special(g));
  FNZ_TRY(check_turns(g));
  return check_fresh(g);
}
