/* check_one.c - is the general program right at the sizes of one trial?
 *
 * It is compared with the pass's result at these sizes and, if they differ, with the source, by the
 * caller's check.
 *
 * needs   the general program, a trial with sizes
 * gives   whether the source works at these sizes, and whether the program is right there */
#include "functionalize/dynamic/sample.h"
#include "functionalize/pass/pass.h"

enum {
  MOST_SPECIAL = 160, /* of a small program */
  LEAST_SPECIAL = 24,
  SPECIAL_WORK = 40000 /* nodes times special sizes */
};

size_t fnzi_trials_most_special(const fnzi_general *g) {
  size_t nodes = 1;
  for (size_t i = 0; i < g->program->graphs.count; i++)
    nodes += g->program->graphs.data[i].nodes.count;
  size_t most = SPECIAL_WORK / nodes;
  return most < LEAST_SPECIAL ? LEAST_SPECIAL : most < MOST_SPECIAL ? most : MOST_SPECIAL;
}

/* --- strides of outputs ----------------------------------------------------------------------- */
/* The next output that comes out of a call, from *k on; NULL for none. */
static const fnz_output_spec *next_result(const fnz_program *p, uint32_t *k) {
  const uint32_t count = fnzi_graph_at(p, 0)->noutputs;
  while (*k < count && !fnzi_output_is_result(&p->outputs[*k]))
    ++*k;
  return *k < count ? &p->outputs[(*k)++] : NULL;
}

static bool same_strides(const fnz_geometry *a, const fnz_geometry *b) {
  if (a->dtype != b->dtype || !fnzi_same_sizes(a, b) || fnz_geometry_numel(a) == 0)
    return true; /* the check compares the elements, or strides cannot matter */
  return fnzi_same_strides(a, b);
}

/* The memory that output k shows: in a result, what its signature says. */
static const fnz_geometry *shown(const fnz_program *p, uint32_t k) {
  const fnzi_graph *graph = fnzi_graph_at(p, 0);
  const fnz_arg *arg = &graph->outputs[k];
  if (p->outputs[k].window)
    return p->outputs[k].window;
  return arg->tag == FNZ_ARG_VALUE ? graph->values.data[arg->u.value].geometry : NULL;
}

/* Views of inputs have the strides in the result that the outputs of the source have: a run
 * compares numbers only. */
static bool windows_agree(const fnz_program *source, const fnz_program *result) {
  uint32_t s = 0, r = 0;
  const fnz_output_spec *spec;
  while (next_result(source, &s) && (spec = next_result(result, &r))) {
    const fnz_geometry *g = shown(source, s - 1);
    if (g && spec->window && spec->sharing == FNZ_SHARING_INPUT_VIEW &&
        !same_strides(g, spec->window))
      return false;
  }
  return true;
}

/* --- the check -------------------------------------------------------------------------------- */
/* Both programs at the same sizes, by the names of their symbols. */
static fnz_status make_both(fnzi_general *g, fnzi_sizes *made, fnzi_point *there, fnzi_trial *t,
                            fnz_program **source, fnz_program **result, bool *valid) {
  fnz_status status = fnzi_instantiate(&g->sizes, &t->point, FNZI_READINGS_WATCHED, source);
  *valid = status == FNZ_OK;
  if (status != FNZ_OK)
    return fnzi_is_final(status) ? status : FNZ_OK;
  return fnzi_instantiate(made, there, FNZI_READINGS_WATCHED, result);
}

fnz_status fnzi_general_compare(const fnzi_general *g, const fnz_program *a, const fnz_program *b) {
  const fnz_verify_options once = {
      .size = sizeof once, .trials = 1, .allow_narrower = true, .ignore_memory = true};
  return g->options->asked.check(g->ctx, a, b, &once, NULL);
}

/* Operators that are taken apart are others over hashes: then the general program must compute what
 * the pass makes of the source. */
static fnz_status compare_meaning(const fnzi_general *g, const fnz_program *source,
                                  const fnz_program *result) {
  fnz_program *made = NULL;
  fnz_status status = FNZ_OK;
  if (g->options->expander)
    status = fnzi_pass_program(g->ctx, source, g->options, NULL, NULL, &made);
  if (status == FNZ_OK)
    status = fnzi_general_compare(g, made ? made : source, result);
  fnz_program_destroy(made);
  return status;
}

/* *valid: the source itself works there. If the source is too large to be run, *valid tells whether
 * the pass has a result. The general program then counts as wrong, because it differs from that
 * result. */
static fnz_status compare_both(fnzi_general *g, fnzi_sizes *made, fnzi_point *there, fnzi_trial *t,
                               bool *valid) {
  fnz_program *source = NULL, *result = NULL;
  bool bearable;
  FNZ_TRY(fnzi_sizes_are_bearable(&g->sizes, &t->point, &bearable));
  *valid = !bearable && t->result;
  t->right = false;
  if (!bearable)
    return FNZ_OK;
  fnz_status status = make_both(g, made, there, t, &source, &result, valid);
  if (status == FNZ_OK && *valid)
    status = compare_meaning(g, source, result);
  t->right = status == FNZ_OK && *valid && windows_agree(source, result);
  if (*valid && status != FNZ_OK && !fnzi_is_final(status) && status != FNZ_DIFFERENT) {
    status = fnzi_general_compare(g, source, source);
    *valid = status == FNZ_OK;
  }
  fnz_program_destroy(source);
  fnz_program_destroy(result);
  return fnzi_is_final(status) ? status : FNZ_OK;
}

/* Without a check: the passes' results are compared. */
static fnz_status compare_passes(fnzi_general *g, fnzi_trial *t, bool *valid) {
  fnz_status status = t->result ? FNZ_OK : fnzi_trial_run(g, t);
  *valid = status == FNZ_OK;
  t->right = *valid && fnzi_alike(g->trials.data[0]->result, t->result);
  return fnzi_is_final(status) ? status : FNZ_OK;
}

/* --- without running ---------------------------------------------------------------------------
 */
void fnzi_general_forget_made(fnzi_general *g) {
  fnzi_instance_free(&g->moved.made);
  if (g->of_made.open) {
    fnzi_point_free(&g->of_made.point);
    fnzi_sizes_close(&g->of_made.sizes);
  }
  g->of_made.open = false;
  fnz_program_destroy(g->made);
  g->made = NULL;
}

void fnzi_general_end_check(fnzi_general *g) {
  fnzi_general_forget_made(g);
  fnzi_instance_free(&g->moved.source);
  FNZI_VEC_FREE(g->ctx, &g->moved.log.taken);
}

/* The sizes of the general program get the numbers of the trial. */
static fnz_status follow_trial(fnzi_general *g, fnzi_trial *t) {
  fnzi_sizes *made = &g->of_made.sizes;
  if (!g->of_made.open) {
    fnz_status status = fnzi_sizes_open(made, g->ctx, g->made);
    fnzi_point_init(&g->of_made.point, &made->set);
    g->of_made.open = true;
    FNZ_TRY(status);
  }
  for (size_t i = 0; i < made->free.count; i++)
    FNZ_TRY(fnzi_point_unset(&g->of_made.point, made->free.data[i]));
  return fnzi_sizes_adopt(made, &g->of_made.point, &g->sizes, &t->point);
}

/* The general program there is `result`, node by node: nothing has to be run. */
static fnz_status is_made(fnzi_general *g, const fnz_program *result, bool *same) {
  fnz_status status = fnzi_instance_move(&g->moved.made, &g->of_made.sizes, &g->of_made.point);
  *same = status == FNZ_OK && fnzi_same(result, g->moved.made.program);
  return fnzi_is_final(status) ? status : FNZ_OK;
}

/* Runs the pass on the moved program, at the sizes of the trial. *result is NULL if the pass
 * refuses it. */
static fnz_status pass_moved(fnzi_general *g, fnzi_trial *t, fnz_program **result) {
  fnzi_oracle_log *log = &g->moved.log;
  *log = (fnzi_oracle_log){.ctx = g->ctx,
                           .taken = log->taken,
                           .unknown = g->unknown.data,
                           .nunknown = g->unknown.count,
                           .until = g->asks_until};
  log->taken.count = 0;
  *result = NULL;
  fnz_status status = fnzi_instance_move(&g->moved.source, &g->sizes, &t->point);
  if (status == FNZ_OK)
    status = fnzi_pass_program(g->ctx, g->moved.source.program, g->options, NULL, log, result);
  if (log->failed) {
    fnz_program_destroy(*result);
    *result = NULL;
    return fnzi_no_memory(g->ctx);
  }
  return fnzi_is_final(status) ? status : FNZ_OK;
}

/* Some type that the source records there is not what its operator gives. */
static fnz_status find_lie(fnzi_general *g, const fnz_program *source, bool *found) {
  *found = false;
  if (!g->options->asked.check_types || fnzi_sizes_have_data(&g->sizes))
    return FNZ_OK;
  fnz_status status = g->options->asked.check_types(g->ctx, source, NULL, NULL);
  *found = status == FNZ_BAD_INPUT;
  return *found ? FNZ_OK : status;
}

/* *right: the pass produces the general program at these sizes, and the types that the source
 * records are true. The result of the pass is freed again. *made: the pass makes something. */
static fnz_status check_moved(fnzi_general *g, fnzi_trial *t, bool *right, bool *made) {
  fnz_program *result;
  bool lies = false;
  *right = false;
  FNZ_TRY(pass_moved(g, t, &result));
  *made = result != NULL;
  fnz_status status = result ? is_made(g, result, right) : FNZ_OK;
  fnz_program_destroy(result);
  if (status == FNZ_OK && *right)
    status = find_lie(g, g->moved.source.program, &lies);
  *right = *right && !lies;
  return status;
}

/* Compares the general program with the pass's result in the trial. The trial keeps that result; it
 * is computed if there is none yet. */
static fnz_status compare_with_pass(fnzi_general *g, fnzi_trial *t, bool makes, bool *same) {
  fnz_status status = FNZ_OK;
  *same = false;
  if (!t->result)
    status = makes ? fnzi_trial_run(g, t) : fnzi_trial_source(g, t);
  if (status == FNZ_OK && t->result)
    return is_made(g, t->result, same);
  return fnzi_is_final(status) ? status : FNZ_OK;
}

static fnz_status check_made(fnzi_general *g, fnzi_trial *t, bool *valid) {
  bool same = false, makes = true;
  FNZ_TRY(follow_trial(g, t));
  if (!t->result)
    FNZ_TRY(check_moved(g, t, &same, &makes));
  if (!same)
    FNZ_TRY(compare_with_pass(g, t, makes, &same));
  if (!same)
    return compare_both(g, &g->of_made.sizes, &g->of_made.point, t, valid);
  *valid = t->right = true;
  return FNZ_OK;
}

static fnz_status check_trial(fnzi_general *g, fnzi_trial *t, bool *valid) {
  return g->options->asked.check ? check_made(g, t, valid) : compare_passes(g, t, valid);
}

/* The source works at these sizes, but some type that it records is not the type that its operator
 * produces: no result is right then. Data-dependent scalars may have any value, so only a run can
 * check types that depend on them. */
static fnz_status check_source(fnzi_general *g, fnzi_trial *t) {
  bool found;
  if (!t->source || !t->valid || t->lie)
    return FNZ_OK;
  FNZ_TRY(find_lie(g, t->source, &found));
  const fnz_error *e = fnz_last_error(g->ctx);
  return found ? fnzi_arena_format(&g->arena, &t->lie, "%s: %s", e->where, e->message) : FNZ_OK;
}

fnz_status fnzi_trial_check(fnzi_general *g, fnzi_trial *t) {
  t->valid = t->right = false;
  FNZ_TRY(check_trial(g, t, &t->valid));
  FNZ_TRY(check_source(g, t));
  t->right = t->right && !t->lie;
  return FNZ_OK;
}

static fnz_status keep(fnzi_general *g, fnzi_trial *t) {
  FNZI_PUSH(g->ctx, &g->trials, t);
  return FNZ_OK;
}

/* There are many trials, and a right one needs its programs no more. */
static void forget_programs(fnzi_trial *t) {
  fnz_program_destroy(t->source);
  fnz_program_destroy(t->result);
  t->source = t->result = NULL;
}

/* A trial at which nothing is fitted. */
static fnz_status add_checked(fnzi_general *g, fnzi_trial *t) {
  bool kept = false;
  fnz_status status = fnzi_trial_check(g, t);
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

/* Sizes at which the source does not work are remembered, so that the next round skips them. */
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
