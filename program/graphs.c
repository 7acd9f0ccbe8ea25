/* graphs.c - arranges the graphs of a program in another order, and finds the values that a graph
 * uses.
 *
 * needs   references among the arguments of nodes, where higher-order operators have them
 * keeps   graph 0 */
#include "program/program.h"

static fnz_status graphs_arrange(fnzi_arena *arena, fnz_program *p, const uint32_t *order,
                                 size_t count) {
  uint32_t *indices;
  fnzi_graph *moved;
  FNZI_NEW(arena, p->graphs.count, &indices);
  FNZI_NEW(arena, count, &moved);
  for (size_t g = 0; g < p->graphs.count; g++)
    indices[g] = FNZI_NO_NODE;
  for (size_t i = 0; i < count; i++)
    indices[order[i]] = (uint32_t)i;
  /* indices: of kept graphs their new index, of others FNZI_NO_NODE */
  for (size_t i = 0; i < count; i++) {
    moved[i] = p->graphs.data[order[i]];
    for (size_t n = 0; n < moved[i].nodes.count; n++) {
      fnzi_node *node = &moved[i].nodes.data[n];
      for (uint32_t k = 0; !node->op && k < node->nargs; k++)
        if (node->args[k].tag == FNZ_ARG_GRAPH)
          node->args[k].u.i = indices[node->args[k].u.i];
    }
  }
  for (size_t g = 0; g < p->graphs.count; g++)
    if (indices[g] == FNZI_NO_NODE)
      fnzi_graph_end(p->ctx, &p->graphs.data[g]);
  memcpy(p->graphs.data, moved, count * sizeof *moved);
  p->graphs.count = count;
  return FNZ_OK;
}

fnz_status fnzi_graphs_arrange(fnz_program *p, const uint32_t *order, size_t count) {
  fnzi_arena arena;
  if (p->graphs.count == 1)
    return FNZ_OK;
  fnzi_arena_init(&arena, p->ctx);
  fnz_status status = graphs_arrange(&arena, p, order, count);
  fnzi_arena_free(&arena);
  return status;
}

void fnzi_graph_uses(const fnzi_graph *g, bool *used) {
  for (size_t n = 0; n <= g->nodes.count; n++) {
    const fnzi_node *node = n < g->nodes.count ? &g->nodes.data[n] : NULL;
    FNZI_EACH_ARG(each, node ? node->args : g->outputs, node ? node->nargs : g->noutputs)
      if (each.arg->tag == FNZ_ARG_VALUE)
        used[each.arg->u.value] = true;
  }
}
