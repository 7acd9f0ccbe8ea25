/* sample.c - a program at sizes that are tried (sample_choose.c), and passes at all of them until
 * none relies on an answer that another one did not get.
 *
 * keeps   whatever a pass at fixed sizes keeps
 * gives   a result for each trial, all of the same answers */
#include "functionalize/dynamic/sample.h"
#include "functionalize/pass/pass.h"

enum {
  PATIENCE = 24,   /* rounds of passes in which answers are looked at one by one */
  MOST_ASKED = 200 /* and in all */
};

/* --- trials ----------------------------------------------------------------------------------- */
fnz_status fnzi_trial_new(fnzi_general *g, fnzi_trial **out) {
  fnzi_trial *t;
  FNZI_NEW(&g->arena, 1, &t);
  fnzi_point_init(&t->point, &g->sizes.set);
  t->point.salt = ++g->salts;
  t->decisions.ctx = g->ctx;
  *out = t;
  return FNZ_OK;
}

void fnzi_trial_end(fnzi_general *g, fnzi_trial *t) {
  fnz_program_destroy(t->source);
  fnz_program_destroy(t->result);
  FNZI_VEC_FREE(g->ctx, &t->decisions.taken);
  fnzi_point_free(&t->point);
}

fnz_status fnzi_trial_numbers(fnzi_general *g, fnzi_point *from, fnzi_point *to) {
  for (size_t i = 0; i < g->sizes.free.count; i++) {
    bool known;
    int64_t number;
    FNZ_TRY(fnzi_point_int(from, g->sizes.free.data[i], &known, &number));
    if (known)
      FNZ_TRY(fnzi_point_set(to, g->sizes.free.data[i], number));
  }
  return FNZ_OK;
}

static fnz_status same_numbers(fnzi_general *g, fnzi_point *a, fnzi_point *b, bool *out) {
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

fnz_status fnzi_trials_have(fnzi_general *g, fnzi_point *point, bool *out) {
  *out = false;
  for (size_t i = 0; i < g->trials.count && !*out; i++)
    FNZ_TRY(same_numbers(g, &g->trials.data[i]->point, point, out));
  return FNZ_OK;
}

fnz_status fnzi_trial_source(fnzi_general *g, fnzi_trial *t) {
  if (t->source)
    return FNZ_OK;
  return fnzi_instantiate(&g->sizes, &t->point, FNZI_READINGS_KEPT, &t->source);
}

/* The pass at the sizes of the trial. */
fnz_status fnzi_trial_run(fnzi_general *g, fnzi_trial *t) {
  fnz_program_destroy(t->result);
  t->result = NULL;
  t->decisions.taken.count = 0;
  t->decisions.unknown = g->unknown.data;
  t->decisions.nunknown = g->unknown.count;
  t->decisions.until = g->asks_until;
  FNZ_TRY(fnzi_task_add(g->ctx, 1));
  FNZ_TRY(fnzi_trial_source(g, t));
  FNZ_TRY(fnzi_pass_program(g->ctx, t->source, g->options, NULL, &t->decisions, &t->result));
  return t->decisions.failed ? fnzi_no_memory(g->ctx) : FNZ_OK;
}

/* --- decisions -------------------------------------------------------------------------------- */
static fnz_status mark_unknown(fnzi_general *g, size_t place) {
  while (g->unknown.count <= place)
    FNZI_PUSH(g->ctx, &g->unknown, 0);
  g->unknown.data[place] = 1;
  return FNZ_OK;
}

/* Marks answers that differ between two passes as unknown. If both passes were asked equally often,
 * all of them are marked; else only the first, because later answers belong to different questions.
 * After many rounds, all later answers count as unknown: the result is right, but has more
 * nodes. */
fnz_status fnzi_trials_compare(fnzi_general *g, const fnzi_oracle_log *a, const fnzi_oracle_log *b,
                               bool *changed) {
  size_t count = a->taken.count < b->taken.count ? a->taken.count : b->taken.count;
  bool aligned = a->taken.count == b->taken.count, stop = false;
  for (size_t i = 0; i < count && !stop; i++) {
    if (a->taken.data[i].answer == b->taken.data[i].answer)
      continue;
    FNZ_TRY(mark_unknown(g, i));
    *changed = true;
    stop = !aligned;
    if (stop && g->asked > PATIENCE)
      g->asks_until = i;
  }
  return FNZ_OK;
}

/* Windows that data moves against each other may come to share memory at numbers that no trial
 * has: the answers of trials do not decide it. */
static fnz_status compare_moved(fnzi_general *g, const fnzi_oracle_log *a, const fnzi_oracle_log *b,
                                bool *changed) {
  for (size_t i = 0; i < a->taken.count && i < b->taken.count; i++) {
    const fnzi_oracle_answer *x = &a->taken.data[i], *y = &b->taken.data[i];
    if (x->answer != y->answer)
      return FNZ_OK; /* the next questions may be others */
    if (x->answer == FNZI_UNKNOWN || x->shift == y->shift)
      continue;
    FNZ_TRY(mark_unknown(g, i));
    *changed = true;
  }
  return FNZ_OK;
}

fnz_status fnzi_trials_run(fnzi_general *g) {
  for (size_t i = 0; i < g->usual; i++)
    FNZ_TRY(fnzi_trial_run(g, g->trials.data[i]));
  return FNZ_OK;
}

static fnz_status compare_usual(fnzi_general *g, bool *changed) {
  *changed = false;
  for (size_t i = 1; i < g->usual; i++)
    if (!g->trials.data[i]->behind)
      FNZ_TRY(fnzi_trials_compare(g, &g->trials.data[0]->decisions, &g->trials.data[i]->decisions,
                                  changed));
  for (size_t i = 0; i < g->usual; i++)
    if (g->trials.data[i]->like)
      FNZ_TRY(compare_moved(g, &g->trials.data[i]->like->decisions, &g->trials.data[i]->decisions,
                            changed));
  return FNZ_OK;
}

/* --- until they agree ------------------------------------------------------------------------- */
static bool are_answered_alike(const fnzi_oracle_log *a, const fnzi_oracle_log *b) {
  bool alike = a->taken.count == b->taken.count;
  for (size_t i = 0; i < a->taken.count && alike; i++)
    alike = a->taken.data[i].answer == b->taken.data[i].answer;
  return alike;
}

/* Leaves a trial out of the next rounds if an earlier trial got the same answers, as it will in
 * most later rounds too. It runs alone at the end. Numbers of data are compared by pairs. */
static void leave_behind(fnzi_general *g) {
  for (size_t i = 1; i < g->usual && !fnzi_sizes_have_data(&g->sizes); i++)
    for (size_t k = 0; k < i && !g->trials.data[i]->behind; k++)
      g->trials.data[i]->behind =
          !g->trials.data[k]->behind &&
          are_answered_alike(&g->trials.data[k]->decisions, &g->trials.data[i]->decisions);
}

/* Runs the passes that were left behind, or the others. */
static fnz_status run_those(fnzi_general *g, bool behind) {
  for (size_t i = 0; i < g->usual; i++)
    if (g->trials.data[i]->behind == behind) {
      FNZ_TRY(fnzi_trial_run(g, g->trials.data[i]));
      g->trials.data[i]->behind = false;
    }
  return FNZ_OK;
}

static bool is_any_behind(const fnzi_general *g) {
  bool any = false;
  for (size_t i = 0; i < g->usual; i++)
    any = any || g->trials.data[i]->behind;
  return any;
}

/* Trials that are behind are left out. */
fnz_status fnzi_trials_agree(fnzi_general *g) {
  bool changed = true;
  while (changed && g->asked < MOST_ASKED) {
    FNZ_TRY(compare_usual(g, &changed));
    g->asked++;
    if (changed)
      FNZ_TRY(run_those(g, false));
  }
  return FNZ_OK;
}

fnz_status fnzi_trials_ask_few(fnzi_general *g) {
  if (!is_any_behind(g))
    leave_behind(g);
  FNZ_TRY(run_those(g, false));
  return fnzi_trials_agree(g);
}

fnz_status fnzi_trials_ask_rest(fnzi_general *g, bool *changed) {
  *changed = false;
  if (!is_any_behind(g))
    return FNZ_OK;
  FNZ_TRY(run_those(g, true));
  FNZ_TRY(compare_usual(g, changed));
  if (!*changed)
    return FNZ_OK;
  FNZ_TRY(run_those(g, false));
  return fnzi_trials_agree(g);
}
