/* deny.c - refuses a result that has operators which the caller denies.
 *
 * needs   a finished program, and the notes on its nodes
 * gives   a refusal that names the operator, the node of the source that needs it, and why */
#include "functionalize/explain/explain.h"

#include <stdio.h>

/* --- names ------------------------------------------------------------------------------------ */
static bool is_denied(const fnz_functionalize_options *o, const char *target) {
  for (size_t i = 0; i < o->ndeny; i++)
    if (fnzi_expl_name_matches(o->deny[i], target))
      return true;
  return false;
}

fnz_status fnzi_expl_deny_check_names(fnz_context *ctx, const fnz_program *p,
                                      const fnz_functionalize_options *o) {
  for (size_t i = 0; i < o->ndeny; i++)
    FNZ_TRY(fnzi_expl_name_check(ctx, p, "deny", o->deny[i]));
  return FNZ_OK;
}

bool fnzi_expl_deny_has_views(const fnz_functionalize_options *o) {
  for (size_t i = 0; o->ndeny && i < fnz_op_count(); i++) {
    const fnz_op *op = &fnzi_ops[i];
    if (fnz_op_is_view(op) && !fnz_op_is_mutating(op) && is_denied(o, fnz_op_name(op)))
      return true;
  }
  return false;
}

/* --- refusing --------------------------------------------------------------------------------- */
static const char *reason_for(const fnz_origin *o, const fnzi_node *node) {
  if (o->reason == FNZ_REASON_VIEW_READ)
    return "a view is read there, and without aliasing that takes a copy";
  if (o->reason == FNZ_REASON_WRITE_BACK)
    return "what is written there through a view has to be put back into its base";
  if (o->reason == FNZ_REASON_PART && node->noutputs && node->outputs[0].tag == FNZ_ARG_SYMBOL)
    return "a size is computed with it there";
  if (o->reason == FNZ_REASON_OWN)
    return "a result of a body has to be memory of its own";
  return o->node != SIZE_MAX ? "it computes that with it"
                             : "final values are written into inputs there";
}

static bool find_denied(const fnz_functionalize_options *o, const fnz_program *to, uint32_t *graph,
                        uint32_t *index) {
  for (*graph = 0; *graph < to->graphs.count; ++*graph) {
    const fnzi_graph *g = fnzi_graph_at(to, *graph);
    for (*index = 0; *index < g->nodes.count; ++*index)
      if (is_denied(o, fnzi_node_target(&g->nodes.data[*index])))
        return true;
  }
  return false;
}

fnz_status fnzi_expl_deny_check(fnz_context *ctx, const fnz_program *from, const fnz_program *to,
                                const fnz_functionalize_options *options, const fnzi_notes *notes) {
  uint32_t graph, index;
  fnz_origins *origins;
  if (!options->ndeny || !find_denied(options, to, &graph, &index))
    return FNZ_OK;
  FNZ_TRY(fnzi_expl_origins_make(ctx, from, to, notes, &origins));
  const fnz_origin *o = fnz_origins_at(origins, graph, index);
  const fnzi_node *node = fnzi_node_at(to, graph, index);
  char where[160];
  /* The node of the source that needs it; the end of the graph where no node does. */
  if (o->node != SIZE_MAX)
    fnzi_node_place(from, (uint32_t)o->graph, (uint32_t)o->node, where);
  else if (graph)
    snprintf(where, 160, "results of graph %.100s", fnzi_graph_at(to, graph)->name);
  else
    snprintf(where, 160, "the end of the program");
  fnz_status status =
      fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, where,
                "the result needs %s, which is denied: %s; allow it or change the program",
                fnzi_node_target(node), reason_for(o, node));
  fnz_origins_destroy(origins);
  return status;
}
