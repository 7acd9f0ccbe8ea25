/* check.c - is the general program right? It is compared with what the pass makes and, where
 * that is not the same, with the source, by the caller's check: at the trials that it was made
 * from, and where other decisions may be taken: at ends of ranges, 0 and 1, equal sizes, the
 * program's own constants, where expressions turn (check_breakpoints.c) or tie symbols to each
 * other (check_equal.c), near others (check_near.c), and next to bounds that guards set.
 *
 * needs   the general program, trials at usual sizes
 * gives   further trials; which are valid, and at which of them it is right */
#include "functionalize/dynamic/sample.h"

enum {
  FRESH = 2,          /* usual sizes that only the check sees */
  MOST_SPECIAL = 160, /* of a small program */
  LEAST_SPECIAL = 24,
  SPECIAL_WORK = 40000, /* nodes times special sizes */
  WIDEST_EDGE = 16
};

/* --- the check -------------------------------------------------------------------------------- */
/* Both programs at the same sizes, by the names of their symbols. */
static fnz_status make_both(fnzi_general *g, fnzi_sizes *made, fnzi_point *there, fnzi_trial *t,
                            fnz_program **source, fnz_program **result, bool *valid) {
  fnz_status status = fnzi_instantiate(&g->sizes, &t->point, FNZI_READINGS_WATCHED, source);
  *valid = status == FNZ_OK;
  if (status != FNZ_OK)
    return status == FNZ_NO_MEMORY ? status : FNZ_OK;
  return fnzi_instantiate(made, there, FNZI_READINGS_WATCHED, result);
}

/* *valid: the source itself works there, and is not too large to be run. */
static fnz_status compare_both(fnzi_general *g, fnzi_sizes *made, fnzi_point *there, fnzi_trial *t,
                               bool *valid) {
  fnz_program *source = NULL, *result = NULL;
  bool bearable;
  FNZ_TRY(fnzi_sizes_are_bearable(&g->sizes, &t->point, &bearable));
  *valid = t->right = false;
  if (!bearable)
    return FNZ_OK;
  fnz_status status = make_both(g, made, there, t, &source, &result, valid);
  if (status == FNZ_OK && *valid)
    status = g->options->check(g->ctx, source, result, NULL, 1);
  t->right = status == FNZ_OK && *valid && fnzi_windows_agree(source, result);
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

/* What the pass makes there is the general program there, node by node: nothing has to be run. */
static fnz_status compare_with_pass(fnzi_general *g, fnzi_sizes *made, fnzi_point *there,
                                    fnzi_trial *t, bool *same) {
  fnz_program *here = NULL;
  *same = false;
  fnz_status status = t->result ? FNZ_OK : fnzi_trial_run(g, t);
  if (status == FNZ_OK)
    status = fnzi_instantiate(made, there, FNZI_READINGS_KEPT, &here);
  *same = status == FNZ_OK && fnzi_same(t->result, here);
  fnz_program_destroy(here);
  return status == FNZ_NO_MEMORY ? status : FNZ_OK;
}

static fnz_status check_made(fnzi_general *g, fnzi_sizes *made, fnzi_point *there, fnzi_trial *t,
                             bool *valid) {
  bool same;
  FNZ_TRY(fnzi_sizes_adopt(made, there, &g->sizes, &t->point));
  FNZ_TRY(compare_with_pass(g, made, there, t, &same));
  if (!same)
    return compare_both(g, made, there, t, valid);
  *valid = t->right = true;
  return FNZ_OK;
}

static fnz_status check_trial(fnzi_general *g, fnzi_trial *t, bool *valid) {
  fnzi_sizes made;
  fnzi_point there;
  if (!g->options->check)
    return compare_passes(g, t, valid);
  fnz_status status = fnzi_sizes_open(&made, g->ctx, g->made);
  fnzi_point_init(&there, &made.set);
  if (status == FNZ_OK)
    status = check_made(g, &made, &there, t, valid);
  fnzi_point_free(&there);
  fnzi_sizes_close(&made);
  return status;
}

/* The source works at these sizes, but not all types that it records are there what its operators
 * give: no result is right. Of numbers that data tell nobody says which ones come, and a run checks
 * what they make. */
static fnz_status check_source(fnzi_general *g, fnzi_trial *t) {
  if (!g->options->check_types || !t->source || !t->valid || t->lie ||
      fnzi_sizes_have_data(&g->sizes))
    return FNZ_OK;
  fnz_status status = g->options->check_types(g->ctx, t->source, NULL, NULL);
  if (status != FNZ_BAD_INPUT)
    return status;
  const fnz_error *e = fnz_last_error(g->ctx);
  return fnzi_arena_format(&g->arena, &t->lie, "%s: %s", e->where, e->message);
}

static fnz_status check_all(fnzi_general *g, fnzi_trial *t) {
  FNZ_TRY(check_trial(g, t, &t->valid));
  FNZ_TRY(check_source(g, t));
  t->right = t->right && !t->lie;
  return FNZ_OK;
}

static fnz_status keep(fnzi_general *g, fnzi_trial *t) {
  FNZI_PUSH(g->ctx, &g->trials, t);
  return FNZ_OK;
}

/* There are many trials, and where one is right nobody asks what it was made of. */
static void forget_programs(fnzi_trial *t) {
  fnz_program_destroy(t->source);
  fnz_program_destroy(t->result);
  t->source = t->result = NULL;
}

/* A trial at which nothing is fitted. */
static fnz_status add_checked(fnzi_general *g, fnzi_trial *t) {
  bool kept = false;
  fnz_status status = check_all(g, t);
  if (t->right)
    forget_programs(t);
  if (status == FNZ_OK && t->valid) {
    status = keep(g, t);
    kept = status == FNZ_OK;
  }
  if (!kept)
    fnzi_trial_end(g, t);
  return status;
}

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

size_t fnzi_trials_most_special(const fnzi_general *g) {
  size_t nodes = 1;
  for (size_t i = 0; i < g->program->graphs.count; i++)
    nodes += g->program->graphs.data[i].nodes.count;
  size_t most = SPECIAL_WORK / nodes;
  return most < LEAST_SPECIAL ? LEAST_SPECIAL : most < MOST_SPECIAL ? most : MOST_SPECIAL;
}

/* The numbers of all symbols, INT64_MIN for one that is not known. In the arena. */
static fnz_status key_of(fnzi_general *g, fnzi_trial *t, int64_t **out) {
  FNZI_NEW(&g->arena, g->sizes.free.count, out);
  for (size_t i = 0; i < g->sizes.free.count; i++) {
    bool known;
    FNZ_TRY(fnzi_point_int(&t->point, g->sizes.free.data[i], &known, &(*out)[i]));
    (*out)[i] = known ? (*out)[i] : INT64_MIN;
  }
  return FNZ_OK;
}

/* Where the source does not work, it does not in the next round either. */
static fnz_status check_new(fnzi_general *g, fnzi_trial *t) {
  const size_t count = g->trials.count, bytes = g->sizes.free.count * sizeof(int64_t);
  int64_t *key;
  uint64_t unused;
  fnz_status status = key_of(g, t, &key);
  if (status != FNZ_OK || fnzi_map_get(&g->useless, key, bytes, &unused)) {
    fnzi_trial_end(g, t);
    return status;
  }
  FNZ_TRY(add_checked(g, t));
  return g->trials.count > count ? FNZ_OK : fnzi_map_set(&g->useless, key, bytes, 1);
}

fnz_status fnzi_trial_check_once(fnzi_general *g, fnzi_trial *t, fnz_status status, bool found) {
  bool there = false;
  if (status == FNZ_OK && found)
    status = fnzi_trials_have(g, &t->point, &there);
  if (status == FNZ_OK && found && !there)
    return check_new(g, t);
  fnzi_trial_end(g, t);
  return status;
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

/* Of a guard by a remainder: "Mod(s0, 4)"; else NULL. */
static const fnzi_expr *remainder_of(const fnzi_expr *guard) {
  for (size_t k = 0; guard->kind == FNZI_EXPR_CALL && k < guard->count; k++) {
    const fnzi_expr *e = guard->parts[k].expr;
    if (e->kind == FNZI_EXPR_CALL && e->function == FNZI_FUNCTION_MOD &&
        e->parts[0].expr->kind == FNZI_EXPR_SYMBOL && e->parts[1].expr->kind == FNZI_EXPR_NUMBER)
      return e;
  }
  return NULL;
}

/* Any few numbers have remainders that tell them apart: two of each that is left are tried. */
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
/* What was only checked in an earlier round goes first. */
fnz_status fnzi_trials_check(fnzi_general *g) {
  while (g->trials.count > g->usual)
    fnzi_trial_end(g, g->trials.data[--g->trials.count]);
  g->turning.count = g->unsure.count = 0;
  for (size_t i = 0; i < g->usual; i++)
    FNZ_TRY(check_all(g, g->trials.data[i]));
  FNZ_TRY(choose_base(g));
  FNZ_TRY(check_special(g));
  FNZ_TRY(fnzi_trials_check_near(g));
  FNZ_TRY(fnzi_trials_check_turns(g));
  FNZ_TRY(fnzi_trials_check_equal(g));
  return check_fresh(g);
}
