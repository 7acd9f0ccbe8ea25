/* generalize.c - the pass for programs with symbolic sizes: trials, the check, guards.
 *
 * needs   a verified program with symbols
 * keeps   whatever a pass at fixed sizes keeps
 * gives   one program that is right at every size that was tried and, where it would be wrong at
 *         some, a guard that keeps those out; or a refusal. Never a guess
 *
 * The numbers come from usual sizes, which are different from each other and not small. Special
 * ones (ends of ranges, 0 and 1, equal ones, the program's own constants) are where other decisions
 * may be taken: there the general program is compared with the source, by the caller's check. */
#include "functionalize/generalize.h"
#include "functionalize/pass.h"

#include <stdio.h>

enum {
  ROUNDS = 48,   /* of passes, each of which asks less */
  ATTEMPTS = 96, /* to find usual sizes that the program takes */
  FRESH = 2,     /* usual sizes that only the check sees */
  MOST_TRIALS = 24,
  MOST_SPECIAL = 160, /* of a small program */
  LEAST_SPECIAL = 24,
  SPECIAL_WORK = 40000 /* nodes times special sizes */
};

typedef struct general {
  fnz_context *ctx;
  const fnz_program *program;
  const fnz_functionalize_options *options;
  fnzi_sizes sizes;
  fnzi_arena arena;
  fnzi_draw draw;
  fnzi_point recorded;
  bool has_recorded;
  fnzi_trials trials; /* usual ones, then those at which the check is made */
  size_t usual;
  struct {
    uint8_t *data;
    size_t count, capacity;
  } unknown;                /* answers that no pass may rely on */
  const fnzi_expr **guards; /* found so far */
  size_t nguards;
  fnz_program *made;
} general;

/* --- trials ----------------------------------------------------------------------------------- */
static fnz_status trial_new(general *g, fnzi_trial **out) {
  fnzi_trial *t;
  FNZI_NEW(&g->arena, 1, &t);
  fnzi_point_init(&t->point, &g->sizes.set);
  t->decisions.ctx = g->ctx;
  *out = t;
  return FNZ_OK;
}

static void trial_end(general *g, fnzi_trial *t) {
  fnz_program_destroy(t->source);
  fnz_program_destroy(t->result);
  FNZI_VEC_FREE(g->ctx, &t->decisions.taken);
  fnzi_point_free(&t->point);
}

static fnz_status copy_numbers(general *g, fnzi_point *from, fnzi_point *to) {
  for (size_t i = 0; i < g->sizes.free.count; i++) {
    bool known;
    int64_t number;
    FNZ_TRY(fnzi_point_int(from, g->sizes.free.data[i], &known, &number));
    if (known)
      FNZ_TRY(fnzi_point_set(to, g->sizes.free.data[i], number));
  }
  return FNZ_OK;
}

static fnz_status same_numbers(general *g, fnzi_point *a, fnzi_point *b, bool *out) {
  *out = true;
  for (size_t i = 0; i < g->sizes.free.count && *out; i++) {
    bool known;
    int64_t x, y;
    FNZ_TRY(fnzi_point_int(a, g->sizes.free.data[i], &known, &x));
    FNZ_TRY(fnzi_point_int(b, g->sizes.free.data[i], &known, &y));
    *out = x == y;
  }
  return FNZ_OK;
}

static fnz_status is_there(general *g, fnzi_point *point, bool *out) {
  *out = false;
  for (size_t i = 0; i < g->trials.count && !*out; i++)
    FNZ_TRY(same_numbers(g, &g->trials.data[i]->point, point, out));
  return FNZ_OK;
}

/* The pass at the sizes of the trial. */
static fnz_status run_trial(general *g, fnzi_trial *t) {
  fnz_program_destroy(t->result);
  t->result = NULL;
  t->decisions.taken.count = 0;
  t->decisions.unknown = g->unknown.data;
  t->decisions.nunknown = g->unknown.count;
  if (!t->source)
    FNZ_TRY(fnzi_instantiate(&g->sizes, &t->point, FNZI_READINGS_KEPT, &t->source));
  FNZ_TRY(fnzi_functionalize_plain(g->ctx, t->source, g->options, NULL, &t->decisions, &t->result));
  return t->decisions.failed ? fnzi_no_memory(g->ctx) : FNZ_OK;
}

/* Keeps the trial when the pass works there. */
static fnz_status try_sizes(general *g, fnzi_trial *t, bool *kept, fnz_status *failure) {
  *kept = false;
  fnz_status status = run_trial(g, t);
  if (status == FNZ_OK) {
    FNZI_PUSH(g->ctx, &g->trials, t);
    *kept = true;
    return FNZ_OK;
  }
  *failure = status;
  return status == FNZ_NO_MEMORY || status == FNZ_INTERNAL ? status : FNZ_OK;
}

static size_t trials_wanted(const general *g) {
  size_t wanted = 2 * g->sizes.free.count + 6;
  return wanted < MOST_TRIALS ? wanted : MOST_TRIALS;
}

/* What fails at some sizes may work at smaller ones: indices must lie in their dimensions. */
static fnz_status find_usual(general *g) {
  fnz_status failure = FNZ_OK;
  size_t failed = 0;
  for (size_t i = 0; i < ATTEMPTS && g->trials.count < trials_wanted(g); i++) {
    fnzi_trial *t;
    bool found = i == 0 && g->has_recorded, there = false, kept = false;
    FNZ_TRY(trial_new(g, &t));
    fnz_status status = found ? copy_numbers(g, &g->recorded, &t->point)
                              : fnzi_draw_numbers(&g->draw, &t->point, &found);
    if (status == FNZ_OK && found)
      status = is_there(g, &t->point, &there);
    if (status == FNZ_OK && found && !there)
      status = try_sizes(g, t, &kept, &failure);
    if (!kept)
      trial_end(g, t);
    FNZ_TRY(status);
    if (!kept && i == 0 && g->has_recorded)
      return failure; /* the exporter's own sizes */
    failed = kept ? 0 : failed + 1;
    if (failed % 4 == 3 && g->draw.span > 1)
      g->draw.span = g->draw.span * 2 / 3;
  }
  g->usual = g->trials.count;
  if (g->usual)
    return FNZ_OK;
  return failure != FNZ_OK ? failure
                           : fnzi_fail(g->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                                       "no sizes were found that keep to the program's ranges");
}

/* --- decisions -------------------------------------------------------------------------------- */
static fnz_status mark_unknown(general *g, size_t place) {
  while (g->unknown.count <= place)
    FNZI_PUSH(g->ctx, &g->unknown, 0);
  g->unknown.data[place] = 1;
  return FNZ_OK;
}

/* Answers of two passes that differ: all of them where both were asked the same number of times,
 * else the first, behind which they went different ways. */
static fnz_status compare_decisions(general *g, const fnzi_decisions *a, const fnzi_decisions *b,
                                    bool *changed) {
  size_t count = a->taken.count < b->taken.count ? a->taken.count : b->taken.count;
  bool aligned = a->taken.count == b->taken.count, stop = false;
  for (size_t i = 0; i < count && !stop; i++) {
    if (a->taken.data[i] == b->taken.data[i])
      continue;
    FNZ_TRY(mark_unknown(g, i));
    *changed = true;
    stop = !aligned;
  }
  return FNZ_OK;
}

static fnz_status run_usual(general *g) {
  for (size_t i = 0; i < g->usual; i++)
    FNZ_TRY(run_trial(g, g->trials.data[i]));
  return FNZ_OK;
}

/* Passes until none of them answers differently. */
static fnz_status agree(general *g, size_t *rounds) {
  for (bool changed = true; changed && *rounds < ROUNDS; ++*rounds) {
    changed = false;
    for (size_t i = 1; i < g->usual; i++)
      FNZ_TRY(compare_decisions(g, &g->trials.data[0]->decisions, &g->trials.data[i]->decisions,
                                &changed));
    if (changed)
      FNZ_TRY(run_usual(g));
  }
  return FNZ_OK;
}

/* --- one program ------------------------------------------------------------------------------ */
static size_t count_alike(const general *g, size_t leader) {
  size_t n = 0;
  for (size_t i = 0; i < g->usual; i++)
    n += fnzi_alike(g->trials.data[leader]->result, g->trials.data[i]->result);
  return n;
}

/* The trial with most others like it becomes the first. */
static void choose_leader(general *g) {
  size_t best = 0, most = count_alike(g, 0);
  for (size_t i = 1; i < g->usual && most * 2 < g->usual + 1; i++) {
    size_t n = count_alike(g, i);
    if (n > most) {
      best = i;
      most = n;
    }
  }
  fnzi_trial *leader = g->trials.data[best];
  g->trials.data[best] = g->trials.data[0];
  g->trials.data[0] = leader;
  for (size_t i = 0; i < g->trials.count; i++)
    g->trials.data[i]->fits = i < g->usual && fnzi_alike(leader->result, g->trials.data[i]->result);
}

static fnz_status lift(general *g) {
  const char *what;
  fnz_program_destroy(g->made);
  g->made = NULL;
  choose_leader(g);
  FNZ_TRY(fnzi_lift(g->ctx, &g->sizes, &g->recorded, &g->trials, &what, &g->arena, &g->made));
  if (g->made)
    return FNZ_OK;
  return fnzi_fail(g->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "%s, for which no expression was found; export the program with fixed sizes",
                   what);
}

/* --- the check -------------------------------------------------------------------------------- */
/* Both programs at the same sizes, by the names of their symbols. */
static fnz_status make_both(general *g, fnzi_sizes *made, fnzi_point *there, fnzi_trial *t,
                            fnz_program **source, fnz_program **result, bool *valid) {
  FNZ_TRY(fnzi_sizes_adopt(made, there, &g->sizes, &t->point));
  fnz_status status = fnzi_instantiate(&g->sizes, &t->point, FNZI_READINGS_WATCHED, source);
  *valid = status == FNZ_OK;
  if (status != FNZ_OK)
    return status == FNZ_NO_MEMORY ? status : FNZ_OK;
  return fnzi_instantiate(made, there, FNZI_READINGS_WATCHED, result);
}

/* *valid: the source itself works there. */
static fnz_status compare_both(general *g, fnzi_sizes *made, fnzi_point *there, fnzi_trial *t,
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
static fnz_status compare_passes(general *g, fnzi_trial *t, bool *valid) {
  fnz_status status = t->result ? FNZ_OK : run_trial(g, t);
  *valid = status == FNZ_OK;
  t->right = *valid && fnzi_alike(g->trials.data[0]->result, t->result);
  return status == FNZ_NO_MEMORY ? status : FNZ_OK;
}

static fnz_status check_trial(general *g, fnzi_trial *t, bool *valid) {
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

static fnz_status keep(general *g, fnzi_trial *t) {
  FNZI_PUSH(g->ctx, &g->trials, t);
  return FNZ_OK;
}

/* A trial at which nothing is fitted. */
static fnz_status add_checked(general *g, fnzi_trial *t) {
  bool kept = false;
  fnz_status status = check_trial(g, t, &t->valid);
  if (status == FNZ_OK && t->valid) {
    status = keep(g, t);
    kept = status == FNZ_OK;
  }
  if (!kept)
    trial_end(g, t);
  return status;
}

static size_t most_special(const general *g) {
  size_t nodes = 1;
  for (size_t i = 0; i < g->program->graphs.count; i++)
    nodes += g->program->graphs.data[i].nodes.count;
  size_t most = SPECIAL_WORK / nodes;
  return most < LEAST_SPECIAL ? LEAST_SPECIAL : most < MOST_SPECIAL ? most : MOST_SPECIAL;
}

/* Where the check has not been made yet; `found` says that there are such sizes at all. */
static fnz_status check_once(general *g, fnzi_trial *t, fnz_status status, bool found) {
  bool there = false;
  if (status == FNZ_OK && found)
    status = is_there(g, &t->point, &there);
  if (status == FNZ_OK && found && !there)
    return add_checked(g, t);
  trial_end(g, t);
  return status;
}

static fnz_status check_special(general *g) {
  bool more = true;
  size_t most = most_special(g);
  for (size_t k = 0; more && k < most; k++) {
    fnzi_trial *t;
    bool found = false;
    FNZ_TRY(trial_new(g, &t));
    fnz_status status = copy_numbers(g, &g->trials.data[g->usual - 1]->point, &t->point);
    if (status == FNZ_OK)
      status = fnzi_draw_special(&g->draw, k, &t->point, &more, &found);
    FNZ_TRY(check_once(g, t, status, found));
  }
  return FNZ_OK;
}

static fnz_status check_fresh(general *g) {
  for (size_t i = 0; i < FRESH; i++) {
    fnzi_trial *t;
    bool found = false;
    FNZ_TRY(trial_new(g, &t));
    fnz_status status = fnzi_draw_numbers(&g->draw, &t->point, &found);
    FNZ_TRY(check_once(g, t, status, found));
  }
  return FNZ_OK;
}

/* Everywhere. What was only checked in an earlier round goes first. */
static fnz_status check_all(general *g) {
  while (g->trials.count > g->usual)
    trial_end(g, g->trials.data[--g->trials.count]);
  for (size_t i = 0; i < g->usual; i++)
    FNZ_TRY(check_trial(g, g->trials.data[i], &g->trials.data[i]->valid));
  FNZ_TRY(check_special(g));
  return check_fresh(g);
}

/* --- what to do where it is wrong ------------------------------------------------------------- */
static fnzi_trial *first_wrong(const general *g) {
  for (size_t i = 0; i < g->trials.count; i++)
    if (g->trials.data[i]->valid && !g->trials.data[i]->right)
      return g->trials.data[i];
  return NULL;
}

/* Answers that the pass would give differently at those sizes must not be relied on. */
static fnz_status ask_less(general *g, bool *changed) {
  for (size_t i = 0; i < g->trials.count; i++) {
    fnzi_trial *t = g->trials.data[i];
    if (t->right || !t->valid)
      continue;
    fnz_status status = run_trial(g, t);
    if (status == FNZ_NO_MEMORY)
      return status;
    FNZ_TRY(compare_decisions(g, &g->trials.data[0]->decisions, &t->decisions, changed));
  }
  return FNZ_OK;
}

static void forget_trial(general *g, size_t i) {
  trial_end(g, g->trials.data[i]);
  memmove(&g->trials.data[i], &g->trials.data[i + 1],
          (--g->trials.count - i) * sizeof *g->trials.data);
  g->usual -= i < g->usual;
}

static fnz_status add_guard(general *g, const fnzi_expr *e) {
  fnzi_condition c = {e, 1, 1, FNZI_CONDITION_GUARD};
  const fnzi_expr **guards;
  FNZI_NEW(&g->arena, g->nguards + 1, &guards);
  if (g->nguards)
    memcpy(guards, g->guards, g->nguards * sizeof *guards);
  guards[g->nguards++] = e;
  g->guards = guards;
  FNZI_PUSH(g->ctx, &g->sizes.conditions, c);
  for (size_t i = g->trials.count; i-- > 0;) {
    const fnzi_condition *broken;
    FNZ_TRY(fnzi_sizes_admit(&g->sizes, &g->trials.data[i]->point, &broken));
    if (broken)
      forget_trial(g, i);
  }
  return FNZ_OK;
}

static fnz_status refuse(general *g, fnzi_trial *t) {
  fnz_buffer text = {NULL, 0, 0};
  fnz_status status = fnzi_sizes_tell(&g->sizes, &t->point, &text);
  if (status == FNZ_OK)
    status = fnzi_fail(g->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                       "at the sizes %s the program needs other operators than at most sizes, and "
                       "no condition tells such sizes apart; export it with fixed sizes",
                       text.data ? text.data : "(none)");
  fnz_buffer_free(g->ctx, &text);
  return status;
}

static fnz_status guard_all(general *g) {
  for (fnzi_trial *t; (t = first_wrong(g));) {
    const fnzi_expr *e = NULL;
    if (g->nguards < ROUNDS)
      FNZ_TRY(fnzi_find_guard(&g->sizes, &g->trials, t, &e));
    if (!e)
      return refuse(g, t);
    FNZ_TRY(add_guard(g, e));
  }
  return FNZ_OK;
}

/* The only number that a symbol had where the program was found right; *varies when it had several.
 */
static fnz_status only_number(general *g, const fnzi_expr *symbol, int64_t *out, bool *varies) {
  bool any = false, known;
  *out = 0;
  *varies = false;
  for (size_t i = 0; i < g->trials.count && !*varies; i++) {
    const fnzi_trial *t = g->trials.data[i];
    int64_t number;
    if (!t->valid || !t->right)
      continue;
    FNZ_TRY(fnzi_point_int(&g->trials.data[i]->point, symbol, &known, &number));
    *varies = !known || (any && number != *out);
    *out = number;
    any = true;
  }
  *varies = *varies || !any;
  return FNZ_OK;
}

/* What was seen at one number of a symbol says nothing of others: a guard keeps to that number. It
 * is so where a program's sizes contradict each other but for few numbers. */
static fnz_status keep_to_seen(general *g) {
  for (size_t i = 0; i < g->sizes.free.count; i++) {
    const fnzi_expr *args[2] = {g->sizes.free.data[i]}, *same;
    int64_t number;
    bool varies;
    FNZ_TRY(only_number(g, args[0], &number, &varies));
    if (varies)
      continue;
    FNZ_TRY(fnzi_expr_number(&g->sizes.set, number, 1, &args[1]));
    FNZ_TRY(fnzi_expr_call(&g->sizes.set, FNZI_FUNCTION_EQ, args, 2, &same));
    FNZ_TRY(add_guard(g, same));
  }
  return FNZ_OK;
}

/* --- the driver ------------------------------------------------------------------------------- */
static fnz_status start(general *g) {
  FNZ_TRY(fnzi_sizes_open(&g->sizes, g->ctx, g->program));
  fnzi_draw_start(&g->draw, &g->sizes, 1);
  return fnzi_sizes_recorded(&g->sizes, &g->recorded, &g->has_recorded);
}

static fnz_status converge(general *g) {
  for (size_t rounds = 0; rounds < ROUNDS; rounds++) {
    bool changed = false;
    FNZ_TRY(agree(g, &rounds));
    FNZ_TRY(lift(g));
    FNZ_TRY(check_all(g));
    if (!first_wrong(g))
      return FNZ_OK;
    FNZ_TRY(ask_less(g, &changed));
    if (!changed)
      return guard_all(g);
    FNZ_TRY(run_usual(g));
  }
  return refuse(g, g->trials.data[0]);
}

/* The nodes are those of the first trial, which is asked once more. */
static fnz_status explain(general *g, fnzi_asked *asked) {
  fnzi_trial *t = g->trials.count ? g->trials.data[0] : NULL;
  fnz_program *again;
  if (!asked || !t)
    return FNZ_OK;
  t->decisions.taken.count = 0;
  FNZ_TRY(fnzi_functionalize_plain(g->ctx, t->source, g->options, asked, &t->decisions, &again));
  fnz_status status = fnzi_asked_move(g->ctx, asked, t->source, again, g->program, g->made);
  fnz_program_destroy(again);
  return status;
}

static fnz_status finish(general *g, fnz_program **out) {
  for (size_t i = 0; i < g->nguards; i++) {
    const fnz_guard guard = {.kind = FNZ_GUARD_CONDITION, .text = g->guards[i]->text};
    FNZ_TRY(fnzi_guard_add(g->made, &guard));
  }
  FNZ_TRY(fnzi_keep_extras(g->program, NULL, g->made));
  *out = g->made;
  g->made = NULL;
  return FNZ_OK;
}

fnz_status fnzi_generalize(fnz_context *ctx, const fnz_program *program,
                           const fnz_functionalize_options *options, fnzi_asked *asked,
                           fnz_program **out) {
  static const fnz_functionalize_options defaults = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  general g = {.ctx = ctx, .program = program, .options = options ? options : &defaults};
  *out = NULL;
  fnzi_arena_init(&g.arena, ctx);
  fnzi_point_init(&g.recorded, &g.sizes.set);
  fnz_status status = start(&g);
  if (status == FNZ_OK)
    status = find_usual(&g);
  if (status == FNZ_OK)
    status = converge(&g);
  if (status == FNZ_OK)
    status = keep_to_seen(&g);
  if (status == FNZ_OK)
    status = explain(&g, asked);
  if (status == FNZ_OK)
    status = finish(&g, out);
  for (size_t i = 0; i < g.trials.count; i++)
    trial_end(&g, g.trials.data[i]);
  FNZI_VEC_FREE(ctx, &g.trials);
  FNZI_VEC_FREE(ctx, &g.unknown);
  fnz_program_destroy(g.made);
  fnzi_point_free(&g.recorded);
  fnzi_sizes_close(&g.sizes);
  fnzi_arena_free(&g.arena);
  return status;
}
