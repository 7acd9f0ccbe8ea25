/* pass_stack.c - passes over the graphs of one program, each on top of the pass that waits for it.
 *
 * needs   a graph of the source
 * keeps   at most FNZI_MAX_NESTING passes at once
 * gives   a pass with the tables that the replay of its graph needs */
#include "functionalize/pass/pass.h"

/* --- tables of a graph ------------------------------------------------------------------------ */
static void note_uses(fnzi_pass *p, const fnz_arg *args, size_t count, uint32_t node) {
  FNZI_EACH_ARG(each, args, count)
    if (each.arg->tag == FNZ_ARG_VALUE)
      p->last_use[each.arg->u.value] = node;
}

void fnzi_pass_tables_free(fnzi_pass *p) {
  fnzi_free(p->ctx, p->last_use, p->graph->values.count * sizeof *p->last_use);
  p->last_use = NULL;
}

fnz_status fnzi_pass_tables_make(fnzi_pass *p) {
  for (size_t i = 0; i < p->graph->values.count; i++) {
    const fnzi_value *v = &p->graph->values.data[i];
    if (v->geometry && v->geometry->symbols)
      return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, v->name,
                       "value %s has a symbolic size; export the program with fixed sizes",
                       v->name);
  }
  for (size_t i = 0; i < p->graph->values.count && !p->others; i++)
    if (!p->graph->values.data[i].geometry)
      FNZI_NEW(&p->arena, p->graph->values.count, &p->others);
  size_t bytes = p->graph->values.count * sizeof *p->last_use;
  p->last_use = fnzi_resize(p->ctx, NULL, 0, bytes);
  if (!p->last_use && bytes)
    return fnzi_no_memory(p->ctx);
  if (bytes)
    memset(p->last_use, 0, bytes);
  for (uint32_t n = 0; n < p->graph->nodes.count; n++) {
    const fnzi_node *node = &p->graph->nodes.data[n];
    note_uses(p, node->outputs, node->noutputs, n);
    note_uses(p, node->args, node->nargs, n);
  }
  note_uses(p, p->graph->inputs, p->graph->ninputs, FNZI_NO_NODE);
  note_uses(p, p->graph->outputs, p->graph->noutputs, FNZI_NO_NODE);
  return FNZ_OK;
}

/* --- the wrapper ------------------------------------------------------------------------------ */
fnz_status fnzi_pass_wrapper_make(fnzi_pass *p) {
  FNZ_TRY(fnz_wrapper_create(p->ctx, p->recorder, &p->wrapper));
  fnzi_rec_explain(p->recorder, &p->wrapper->why);
  p->wrapper->views = p->all->views;
  p->wrapper->ints = p->wrapper->emitter.ints = p->to->ints;
  p->wrapper->slack = &p->to->slack;
  return FNZ_OK;
}

/* --- the stack -------------------------------------------------------------------------------- */
fnz_status fnzi_pass_stack_push(fnzi_pass_stack *all, uint32_t graph, fnzi_pass **out) {
  *out = NULL;
  if (all->depth == FNZI_MAX_NESTING)
    return fnzi_fail(all->ctx, FNZ_CLASS_LIMIT, NULL, "graphs are nested more than %d deep",
                     FNZI_MAX_NESTING);
  fnzi_pass *p = fnzi_resize(all->ctx, NULL, 0, sizeof *p);
  if (!p)
    return fnzi_no_memory(all->ctx);
  *p = (fnzi_pass){.ctx = all->ctx,
                   .from = all->from,
                   .graph = fnzi_graph_at(all->from, graph),
                   .index = graph,
                   .recorder = all->top->recorder,
                   .wrapper = all->top->wrapper,
                   .to = all->to,
                   .into = all->top->into,
                   .all = all,
                   .below = all->top};
  fnzi_arena_init(&p->arena, all->ctx);
  fnzi_arena_init(&p->tensor_arena, all->ctx);
  all->top = p;
  all->depth++;
  *out = p;
  return fnzi_pass_tables_make(p);
}

void fnzi_pass_stack_pop(fnzi_pass_stack *all) {
  fnzi_pass *p = all->top;
  for (size_t i = 0; p->inlined && p->tensors && i < p->graph->values.count; i++)
    fnz_tensor_release(p->tensors[i]);
  fnzi_pass_tables_free(p);
  fnzi_pass_inputs_free(p);
  if (p->owns_wrapper) {
    fnz_wrapper_destroy(p->wrapper);
    fnzi_rec_destroy(p->recorder);
  }
  fnzi_arena_free(&p->tensor_arena);
  fnzi_arena_free(&p->arena);
  all->top = p->below;
  all->depth--;
  fnzi_free(all->ctx, p, sizeof *p);
}
