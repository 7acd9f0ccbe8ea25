/* entry.c - the pass for programs with symbolic sizes, from the program to the result.
 *
 * needs   a verified program with symbols
 * gives   what dynamic.c made of it, with its guards, and which node of it comes from where */
#include "functionalize/dynamic/sample.h"
#include "functionalize/explain/explain.h"
#include "functionalize/pass/pass.h"

/* The nodes are those of the first trial, which is run once more. Where guards keep to sizes that
 * were only checked, it has no program any more. */
static fnz_status explain(fnzi_general *g, fnzi_notes *notes) {
  fnzi_trial *t = g->trials.count ? g->trials.data[0] : NULL;
  fnz_program *again;
  if (!notes || !t)
    return FNZ_OK;
  t->decisions.taken.count = 0;
  FNZ_TRY(fnzi_trial_source(g, t));
  FNZ_TRY(fnzi_pass_program(g->ctx, t->source, g->wish, notes, &t->decisions, &again));
  fnz_status status = fnzi_expl_notes_move(g->ctx, notes, t->source, again, g->program, g->made);
  fnz_program_destroy(again);
  return status;
}

/* The source has this condition already. */
static bool is_stated(const fnz_program *source, const char *text) {
  for (size_t i = 0; i < source->guards.count; i++)
    if (source->guards.data[i].kind == FNZ_GUARD_CONDITION &&
        strcmp(source->guards.data[i].text, text) == 0)
      return true;
  return false;
}

static fnz_status finish(fnzi_general *g, fnz_program **out) {
  for (size_t i = 0; i < g->guards.count; i++) {
    const fnz_guard guard = {.kind = FNZ_GUARD_CONDITION, .text = g->guards.data[i]->text};
    if (!is_stated(g->program, guard.text))
      FNZ_TRY(fnzi_guard_add(g->made, &guard));
  }
  *out = g->made;
  g->made = NULL;
  return FNZ_OK;
}

static fnz_status explain_and_finish(fnzi_general *g, fnzi_notes *notes, fnz_program **out) {
  FNZ_TRY(explain(g, notes));
  return finish(g, out);
}

/* From few trials, where an excerpt stands for the program; *out NULL where that is not enough. */
static fnz_status make_from_few(const fnzi_general *g, fnzi_notes *notes, fnz_program **out) {
  fnzi_general few = {.ctx = g->ctx, .program = g->program, .wish = g->wish};
  bool done = false;
  fnz_status status = fnzi_general_start(&few);
  few.light = true;
  if (status == FNZ_OK)
    status = fnzi_general_make_telling(&few, &done);
  if (status == FNZ_OK && done)
    status = explain_and_finish(&few, notes, out);
  fnzi_general_end(&few);
  return status;
}

static fnz_status make(fnzi_general *g, fnzi_notes *notes, fnz_program **out) {
  FNZ_TRY(fnzi_excerpt_try(g));
  if (g->light)
    FNZ_TRY(make_from_few(g, notes, out));
  if (*out)
    return FNZ_OK;
  FNZ_TRY(fnzi_general_make(g));
  return explain_and_finish(g, notes, out);
}

fnz_status fnzi_dyn_program(fnz_context *ctx, const fnz_program *program,
                            const fnzi_pass_wish *wish, fnzi_notes *notes, fnz_program **out) {
  fnzi_general g = {.ctx = ctx, .program = program, .wish = wish};
  *out = NULL;
  fnz_status status = fnzi_general_start(&g);
  if (status == FNZ_OK)
    status = make(&g, notes, out);
  fnzi_general_end(&g);
  return status;
}
