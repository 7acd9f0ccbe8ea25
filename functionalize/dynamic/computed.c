/* computed.c - one pass over a program whose sizes are expressions.
 *
 * The program gets words in place of its symbols, and the pass computes with them. Questions about
 * sizes are answered by proof, for all sizes at once. If no proof is found and no answer is right
 * at all sizes, the pass refuses the program, and the trials take it.
 *
 * needs   a verified program with symbols, in one graph, whose inputs share no memory
 * keeps   everything that a pass at fixed sizes keeps
 * gives   a program that is right at all sizes at which the source works; or none */
#include "functionalize/dynamic/sample.h"
#include "functionalize/explain/explain.h"
#include "program/shapes/ints.h"

#include <stdio.h>
#include <stdlib.h>

static bool takes(const fnz_program *p, const fnzi_pass_options *options) {
  return p->graphs.count == 1 && !options->expander && !getenv("FNZ_TRIED");
}

static fnz_status run(fnzi_general *g, fnzi_ints *ints, fnzi_notes *notes, fnz_program **out) {
  fnz_program *source, *made = NULL;
  bool honest;
  FNZ_TRY(fnzi_general_is_honest(g, &honest));
  if (!honest)
    return fnzi_fail(g->ctx, FNZ_CLASS_UNSUPPORTED, NULL, "the records lie");
  FNZ_TRY(fnzi_ints_open(ints, &g->sizes));
  FNZ_TRY(fnzi_instantiate_words(ints, &source));
  fnz_status status = fnzi_pass_program(g->ctx, source, g->options, notes, NULL, &made);
  if (status == FNZ_OK)
    status = ints->status;
  if (status == FNZ_OK && notes && notes->failures.count)
    status = FNZ_UNSUPPORTED;
  if (status == FNZ_OK)
    status = fnzi_lift_words(ints, &g->sizes, &g->recorded, made, &g->arena, out);
  if (status == FNZ_OK && notes)
    status = fnzi_expl_notes_move(g->ctx, notes, source, made, g->program, *out);
  fnz_program_destroy(made);
  fnz_program_destroy(source);
  return status;
}

fnz_status fnzi_dyn_compute(fnz_context *ctx, const fnz_program *program,
                            const fnzi_pass_options *options, fnzi_notes *notes, fnz_program **out) {
  fnzi_general g = {.ctx = ctx, .program = program, .options = options};
  fnzi_ints ints;
  *out = NULL;
  if (!takes(program, options))
    return FNZ_OK;
  fnz_status status = fnzi_general_start(&g);
  if (status == FNZ_OK) {
    ints = (fnzi_ints){.status = FNZ_OK};
    fnzi_size_facts_init(&ints.facts, &g.sizes.set);
    fnzi_arena_init(&ints.arena, ctx);
    status = run(&g, &ints, notes, out);
    fnzi_ints_close(&ints);
  }
  fnzi_general_end(&g);
  if (status != FNZ_OK) {
    if (getenv("FNZ_WHY"))
      fprintf(stderr, "computed: %s\n", fnz_last_error(ctx)->message);
    fnz_program_destroy(*out);
    *out = NULL;
  }
  return fnzi_is_final(status) ? status : FNZ_OK;
}
