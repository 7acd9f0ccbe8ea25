/* api.c - the public functions: a functional program, replayed with an expander.
 *
 * needs   a functional program
 * gives   one of operators that the set has, or a refusal */
#include "functionalize/api.h"

#include "functionalize/decompose/decompose.h"
#include "functionalize/explain/explain.h"

typedef struct expander {
  fnzi_pass_expander base;
  fnzi_dcm_options full;
} expander;

/* An operator that gives no tensor stays: see decompose(). */
static bool may_expand(const fnzi_pass_expander *self, const fnzi_script_whole *whole) {
  const expander *e = (const expander *)(const void *)self;
  return !fnzi_op_is_item(whole->op) && fnzi_dcm_way_of_call(&e->full, whole, 0).expands;
}

static fnz_status expand(const fnzi_pass_expander *self, fnzi_arena *arena,
                         const fnzi_script_whole *whole, fnzi_script *out, bool *done) {
  const expander *e = (const expander *)(const void *)self;
  return fnzi_dcm_expand(arena, &e->full, whole, out, done);
}

static fnz_status decompose(fnz_context *ctx, const fnz_program *program,
                            const fnz_decompose_options *o, fnz_program **out) {
  fnzi_dcm_looped looped = {NULL, NULL};
  const fnzi_dcm_set *set = fnzi_dcm_set_find(o->set);
  const fnzi_dcm_loops loops = fnzi_dcm_set_loops(set);
  if (loops != FNZI_DCM_LOOPS_any)
    FNZ_TRY(fnzi_dcm_loop(ctx, program, loops, &looped));
  const fnz_program *from = looped.program ? looped.program : program;
  const expander e = {{fnzi_dcm_set_casts(set), fnzi_dcm_set_has_pairs(set), may_expand, expand},
                      {set, o}};
  fnzi_pass_options pass = {.asked = FNZ_FUNCTIONALIZE_OPTIONS_INIT, .expander = &e.base};
  bool ends_in_writes = fnzi_epilogue_start(from) < fnzi_graph_main(from)->nodes.count;
  pass.asked.views = o->views;
  pass.asked.state = ends_in_writes ? FNZ_STATE_EPILOGUE : FNZ_STATE_OUTPUTS;
  pass.asked.origins = o->origins;
  fnz_status status = fnzi_functionalize(ctx, from, &pass, out);
  if (status == FNZ_OK && looped.program && o->origins)
    fnzi_expl_origins_lead_on(*o->origins, looped.sources);
  fnz_program_destroy(looped.program);
  FNZ_TRY(status);
  /* An operator whose result is a number is not replayed: it gets its other name here. */
  const fnzi_dcm_options full = {set, o};
  for (uint32_t g = 0; *out && g < (*out)->graphs.count; g++)
    for (uint32_t n = 0; n < fnzi_graph_at(*out, g)->nodes.count; n++) {
      fnzi_node *node = fnzi_node_at(*out, g, n);
      const fnz_op *other =
          node->op && fnzi_op_is_item(node->op) ? fnzi_dcm_other_name(node->op) : NULL;
      if (other && fnzi_dcm_way_of(&full, node->op, 0).expands)
        node->op = other;
    }
  if (o->origins)
    FNZ_TRY(fnzi_expl_steps_mark(ctx, program, *out, *o->origins));
  return fnzi_dcm_set_owns(set) ? fnzi_dcm_results_own(ctx, *out, o->origins ? *o->origins : NULL)
                                : FNZ_OK;
}

fnz_status fnz_decompose(fnz_context *ctx, const fnz_program *program,
                         const fnz_decompose_options *options, fnz_program **out) {
  fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
  *out = NULL;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof o, &o));
  if (o.origins)
    *o.origins = NULL;
  o.set = o.set ? o.set : "core";
  if (!fnzi_dcm_set_find(o.set))
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "there is no set of operators \"%s\"; there are inference, core, prims, "
                     "runnable and mlir, and those of <fnz/targets.h>",
                     o.set);
  for (size_t i = 0; i < o.ndecompose; i++)
    FNZ_TRY(fnzi_expl_name_check(ctx, program, "decompose", o.decompose[i]));
  for (size_t i = 0; i < o.nkeep; i++)
    FNZ_TRY(fnzi_expl_name_check(ctx, program, "keep", o.keep[i]));
  fnzi_task_begin(ctx, "decompose", NULL, 0);
  fnz_status status = decompose(ctx, program, &o, out);
  status = fnzi_task_end(ctx, status);
  if (status == FNZ_OK)
    return FNZ_OK;
  if (o.origins) {
    fnz_origins_destroy(*o.origins);
    *o.origins = NULL;
  }
  fnz_program_destroy(*out);
  *out = NULL;
  return status;
}

bool fnz_decomposition_keeps(const char *set, const fnz_op *op) {
  const fnzi_dcm_set *s = fnzi_dcm_set_find(set);
  return s && fnzi_dcm_set_keeps(s, op);
}

const char *fnz_decomposition_why_left(const fnz_decompose_options *options, const fnz_op *op) {
  fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
  if (!fnzi_options_copy(options, sizeof o, &o))
    return NULL;
  const fnzi_dcm_options full = {fnzi_dcm_set_find(o.set ? o.set : "core"), &o};
  return full.set && op ? fnzi_dcm_why_left(&full, op) : NULL;
}
