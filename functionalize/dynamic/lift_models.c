/* lift_models.c - the source's nodes that a graph of the result was made from, as far as they read
 * numbers or assert.
 *
 * needs   a graph of the result, and the graph of the source that it was made from
 * keeps   the order in which the pass replays nodes: the nodes of an inlined body are at the place
 *         of its region, at most FNZI_MAX_NESTING deep; no recursion
 * gives   l->models */
#include "functionalize/dynamic/lift.h"

#include "program/region_ops.h"

/* --- readings --------------------------------------------------------------------------------- */
bool fnzi_is_reading(const fnzi_node *node) {
  FNZI_EACH_ARG(each, node->outputs, node->noutputs)
    if (fnzi_is_reference(each.arg) && each.arg->tag != FNZ_ARG_SYMBOL)
      return false;
  return node->op;
}

/* --- graphs ----------------------------------------------------------------------------------- */
static fnz_status add_graphs(fnzi_lifter *l) {
  struct {
    const fnzi_graph *graph;
    size_t next;
  } open[FNZI_MAX_NESTING] = {{l->source, 0}};
  for (size_t depth = 1; depth > 0;) {
    const fnzi_graph *graph = open[depth - 1].graph, *body;
    if (open[depth - 1].next == graph->nodes.count) {
      depth--;
      continue;
    }
    const fnzi_node *node = &graph->nodes.data[open[depth - 1].next++];
    /* The graph whose nodes the pass puts in the place of the node; NULL: the node stays. */
    body = NULL;
    if (fnzi_is_hop(node)) {
      fnzi_hop hop;
      FNZ_TRY(fnzi_hop_read(l->ctx, l->from, node, &hop));
      if (fnzi_hop_is_inlined(&hop, l->autocast[l->graph]))
        body = fnzi_graph_at(l->from, hop.bodies[0]);
    }
    if (body && depth == FNZI_MAX_NESTING)
      return fnzi_fail(l->ctx, FNZ_CLASS_LIMIT, NULL, "graphs are nested more than %d deep",
                       FNZI_MAX_NESTING);
    if (body) {
      open[depth].graph = body;
      open[depth++].next = 0;
      continue;
    }
    fnzi_model model = {graph, node};
    if (fnzi_is_reading(node) &&
        (!fnzi_is_size_node(node) || fnzi_determines_used(l->sizes, graph, node)))
      FNZI_PUSH(l->ctx, &l->models, model);
  }
  return FNZ_OK;
}

fnz_status fnzi_lift_models(fnzi_lifter *l) {
  l->models.count = l->reading = 0;
  /* Graphs come before the bodies that they call. */
  const fnz_program *p = l->result;
  const fnzi_graph *graph = fnzi_graph_at(p, l->graph);
  for (size_t n = 0; n < graph->nodes.count; n++) {
    fnzi_hop hop;
    if (!fnzi_is_hop(&graph->nodes.data[n]))
      continue;
    FNZ_TRY(fnzi_hop_read(l->ctx, p, &graph->nodes.data[n], &hop));
    for (uint32_t i = 0; i < hop.nbodies; i++)
      l->autocast[hop.bodies[i]] =
          hop.autocast.device ? hop.autocast.enabled : l->autocast[l->graph];
  }
  return add_graphs(l);
}
