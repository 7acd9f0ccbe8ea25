/* computed.c - one pass over a program whose sizes are expressions.
 *
 * The program gets words in place of its symbols, and the pass computes with them. Questions about
 * sizes are answered by proof, for all sizes at once. If no proof is found and no answer is right
 * at all sizes, the pass refuses the program, and the trials take it.
 *
 * needs   a verified program with symbols whose inputs share no memory
 * keeps   everything that a pass at fixed sizes keeps
 * gives   a program that is right at all sizes at which the source works and its guards hold; or
 *         none */
#include "functionalize/dynamic/sample.h"
#include "functionalize/explain/explain.h"
#include "program/shapes/ints.h"

static bool takes(const fnz_program *p, const fnzi_pass_options *options) {
  bool shares = false;
  for (size_t k = 0; k < fnzi_graph_at(p, 0)->ninputs; k++)
    shares = shares || p->inputs[k].shares;
  return options->method == FNZI_PASS_COMPUTED && !shares;
}

static fnz_status make(const fnzi_general *g, fnzi_notes *notes, const fnz_program *source,
                       fnz_program **made) {
  FNZ_TRY(fnzi_pass_program(g->ctx, source, g->options, notes, NULL, made));
  const bool failed = notes && notes->failures.count;
  return failed ? FNZ_UNSUPPORTED : FNZ_OK;
}

/* The conditions that the pass asked for become guards, each with its question. */
static fnz_status add_guards(const fnzi_ints *ints, fnzi_notes *notes, fnz_program *to) {
  for (size_t i = 0; i < ints->guards.count; i++) {
    const fnzi_ints_guard *g = &ints->guards.data[i];
    fnz_guard guard = {.kind = FNZ_GUARD_CONDITION};
    FNZ_TRY(fnzi_expr_text(ints->set, g->condition, &guard.text));
    FNZ_TRY(fnzi_guard_add(to, &guard));
    const char *kept = to->guards.data[to->guards.count - 1].text;
    if (notes)
      FNZI_PUSH(ints->set->ctx, &notes->guards, ((fnzi_guard_note){kept, g->question, g->node}));
  }
  return FNZ_OK;
}

/* The only sizes that the program is for are the recorded ones. */
static fnz_status is_pinned(fnzi_general *g, fnzi_ints *ints, bool *out) {
  *out = g->has_recorded;
  for (size_t i = 0; i < g->sizes.free.count && *out; i++) {
    fnzi_int word;
    FNZ_TRY(fnzi_ints_settled(ints, g->sizes.free.data[i], &word));
    *out = fnzi_int_is_number(word);
  }
  return FNZ_OK;
}

/* Recorded types have been checked at the recorded sizes before. */
static fnz_status is_honest(fnzi_general *g, fnzi_ints *ints, bool *out) {
  FNZ_TRY(is_pinned(g, ints, out));
  return *out ? fnzi_instance_move(&g->moved.source, &g->sizes, &g->recorded)
              : fnzi_general_is_honest(g, out);
}

static fnz_status compute(fnzi_general *g, fnzi_ints *ints, fnzi_notes *notes, fnz_program **out) {
  fnz_program *source, *made = NULL;
  bool honest;
  FNZ_TRY(is_honest(g, ints, &honest));
  if (!honest)
    return fnzi_fail(g->ctx, FNZ_CLASS_TYPE, NULL, "recorded sizes are not those of operators");
  if (g->options->expander)
    FNZ_TRY(fnzi_ints_points_draw(ints, &g->draw));
  FNZ_TRY(fnzi_instantiate_words(ints, &source));
  fnz_status status = make(g, notes, source, &made);
  if (status == FNZ_OK)
    status = fnzi_lift_words(ints, &g->sizes, &g->recorded, made, &g->arena, out);
  if (status == FNZ_OK)
    status = add_guards(ints, notes, *out);
  if (ints->status != FNZ_OK)
    status = ints->status; /* no answer, for want of memory, has been read as "no" */
  if (status == FNZ_OK && notes)
    status = fnzi_expl_notes_move(g->ctx, notes, source, made, g->program, *out);
  fnz_program_destroy(made);
  fnz_program_destroy(source);
  return status;
}

fnz_status fnzi_dyn_compute(fnz_context *ctx, const fnz_program *program,
                            const fnzi_pass_options *options, fnzi_notes *notes,
                            fnz_program **out) {
  fnzi_general g = {.ctx = ctx, .program = program, .options = options};
  const fnz_error had = ctx->error; /* that the pass stops is no failure */
  fnzi_ints ints;
  *out = NULL;
  if (!takes(program, options))
    return FNZ_OK;
  fnz_status status = fnzi_general_start(&g);
  if (status == FNZ_OK) {
    status = fnzi_ints_open(&ints, &g.sizes, &g.recorded);
    if (status == FNZ_OK)
      status = compute(&g, &ints, notes, out);
    fnzi_ints_close(&ints);
  }
  fnzi_general_end(&g);
  if (status == FNZ_OK || fnzi_is_final(status))
    return status;
  ctx->error = had;
  if (notes)
    fnzi_notes_clear(notes);
  fnz_program_destroy(*out);
  *out = NULL;
  return FNZ_OK;
}
