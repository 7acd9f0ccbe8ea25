/* entry.c - the pass for programs with symbolic sizes, from the program to the result.
 *
 * needs   a verified program with symbols
 * gives   the program of computed.c; where that stops, the program of dynamic.c with its guards;
 *         and the source node of each of its nodes */
#include "functionalize/dynamic/sample.h"
#include "functionalize/explain/explain.h"
#include "functionalize/pass/pass.h"

/* The notes name nodes of the first trial, which is run once more. If guards exclude all usual
 * sizes, the first trial has no program any more. */
static fnz_status explain(fnzi_general *g, fnzi_notes *notes) {
  fnzi_trial *t = g->trials.count ? g->trials.data[0] : NULL;
  fnz_program *again;
  if (!notes || !t)
    return FNZ_OK;
  t->decisions.taken.count = 0;
  FNZ_TRY(fnzi_trial_source(g, t));
  FNZ_TRY(fnzi_pass_program(g->ctx, t->source, g->options, notes, &t->decisions, &again));
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
    fnz_guard guard = {.kind = FNZ_GUARD_CONDITION};
    FNZ_TRY(fnzi_expr_text(&g->sizes.set, g->guards.data[i], &guard.text));
    if (!is_stated(g->program, guard.text))
      FNZ_TRY(fnzi_guard_add(g->made, &guard));
  }
  *out = g->made;
  g->made = NULL;
  return FNZ_OK;
}

fnz_status fnzi_dyn_program(fnz_context *ctx, const fnz_program *program,
                            const fnzi_pass_options *options, fnzi_notes *notes,
                            fnz_program **out) {
  fnzi_general g = {.ctx = ctx, .program = program, .options = options};
  FNZ_TRY(fnzi_dyn_compute(ctx, program, options, notes, out));
  if (*out)
    return FNZ_OK;
  fnzi_task_begin(ctx, "functionalize", "choices of sizes", 0);
  fnz_status status = fnzi_general_start(&g);
  if (status == FNZ_OK)
    status = fnzi_general_make(&g);
  if (status == FNZ_OK)
    status = explain(&g, notes);
  if (status == FNZ_OK)
    status = finish(&g, out);
  fnzi_general_end(&g);
  return fnzi_task_end(ctx, status);
}
