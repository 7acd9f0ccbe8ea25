/* nodes.c - the tensors that a node takes and gives; a program with another graph 0. */
#include "engine/plan/planner.h"
#include "schema/aten_names.h"

bool fnzi_pln_next_operand(const fnzi_pln_planner *p, const fnzi_node *node, fnzi_pln_operand *o) {
  for (o->item++; o->k < node->nargs; o->k++, o->item = 0) {
    const fnz_arg *arg = &node->args[o->k];
    const bool is_list = arg->tag == FNZ_ARG_LIST;
    for (; o->item < (is_list ? arg->count : 1u); o->item++) {
      const fnz_arg *item = is_list ? &arg->u.list[o->item] : arg;
      o->value = (uint32_t)item->u.value;
      if (fnzi_pln_is_tensor(p, item))
        return true;
    }
  }
  return false;
}

uint32_t fnzi_pln_result_in_lists(const fnzi_node *node) {
  FNZI_EACH_ARG(each, node->outputs, node->noutputs)
    if (each.arg->tag == FNZ_ARG_VALUE)
      return (uint32_t)each.arg->u.value;
  return FNZI_PLN_NONE;
}

bool fnzi_pln_is_assertion(const fnzi_node *node) {
  return node->op == &fnzi_ops[FNZI_ATEN__assert_tensor_metadata];
}

bool fnzi_pln_is_pair(const fnzi_pln_planner *p, const fnzi_node *node, uint32_t value,
                      const fnz_arg *operand) {
  const fnz_arg *const *pairs = p->pairs ? p->pairs[node - p->graph->nodes.data] : NULL;
  uint32_t count;
  const fnz_arg *results = fnzi_pln_results(node, &count);
  for (uint32_t j = 0; pairs && j < count; j++)
    if (pairs[j] == operand && results[j].tag == FNZ_ARG_VALUE && results[j].u.value == value)
      return true;
  return false;
}

fnz_status fnzi_pln_with_graph(fnzi_arena *arena, const fnz_program *program,
                               const fnzi_graph *graph, size_t graphs, fnz_program **out) {
  fnzi_graph *all;
  FNZI_NEW(arena, 1, out);
  FNZI_NEW(arena, graphs, &all);
  memcpy(all, program->graphs.data, graphs * sizeof *all);
  all[0] = *graph;
  **out = *program;
  (*out)->graphs.data = all;
  (*out)->graphs.count = graphs;
  return FNZ_OK;
}
