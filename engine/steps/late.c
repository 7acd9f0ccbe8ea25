/* late.c - sizes that data decide: which nodes are evaluated as the interpreter does, so that all
 * others are planned.
 *
 * A value whose sizes are symbols has no location; it stays with the interpreter, which evaluates
 * every node that makes one, reads one, or waits for a number (plan/numbers.c). To the planner such
 * a node is one without an operator, which reads and makes only the tensors of fixed sizes that it
 * has.
 *
 * needs   a program whose inputs have fixed sizes
 * gives   the program as the planner sees it; the real one in the same order */
#include "engine/steps/steps.h"
#include "program/region_ops.h"

static bool is_late(const fnzi_value *value) {
  return value->geometry && value->geometry->symbols;
}

bool fnzi_stp_inputs_are_fixed(const fnz_program *program) {
  const fnzi_graph *g = fnzi_graph_main(program);
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (g->inputs[k].tag == FNZ_ARG_SYMBOL ||
        (g->inputs[k].tag == FNZ_ARG_VALUE && is_late(&g->values.data[g->inputs[k].u.value])))
      return false;
  return true;
}

/* Says that some argument has a late size, or is a number, token or object. */
static bool are_late(const fnzi_graph *g, const fnz_arg *args, size_t count) {
  FNZI_EACH_ARG(each, args, count)
    if (fnzi_is_reference(each.arg) &&
        (each.arg->tag != FNZ_ARG_VALUE || is_late(&g->values.data[each.arg->u.value])))
      return true;
  return false;
}

static fnz_status keep_graph(fnzi_arena *arena, const fnz_program *program, const fnzi_graph *graph,
                             size_t graphs, const fnz_program **out) {
  fnz_program *result;
  FNZ_TRY(fnzi_pln_with_graph(arena, program, graph, graphs, &result));
  *out = result;
  return FNZ_OK;
}

fnz_status fnzi_stp_late_hide(fnzi_arena *arena, const fnz_program *program,
                              const fnz_program **out) {
  const fnzi_graph *real = fnzi_graph_main(program);
  fnzi_graph g = *real;
  fnzi_node *nodes;
  fnzi_value *values;
  FNZI_NEW(arena, g.nodes.count, &nodes);
  for (size_t n = 0; n < g.nodes.count; n++) {
    fnzi_node_other *other;
    const fnzi_node *node = &real->nodes.data[n];
    nodes[n] = *node;
    if (!node->op || fnzi_pln_has_scalar_arguments(real, node) ||
        (!fnzi_op_is_item(node->op) && !are_late(real, node->args, node->nargs) &&
         !are_late(real, node->outputs, node->noutputs)))
      continue;
    FNZI_NEW(arena, 1, &other);
    other->target = node->op->name;
    nodes[n].op = NULL;
    nodes[n].u.other = other;
  }
  g.nodes.data = nodes;
  FNZI_NEW(arena, g.values.count, &values);
  for (size_t v = 0; v < g.values.count; v++) {
    values[v] = g.values.data[v];
    values[v].geometry = is_late(&values[v]) ? NULL : values[v].geometry;
    values[v].symbol = 0;
  }
  g.values.data = values;
  return keep_graph(arena, program, &g, 1, out);
}

/* Sets each value's node, which later tells the values that are read from data. */
static fnz_status number_values(fnzi_arena *arena, fnzi_graph *g) {
  fnzi_value *values;
  FNZI_NEW(arena, g->values.count, &values);
  memcpy(values, g->values.data, g->values.count * sizeof *values);
  for (uint32_t n = 0; n < g->nodes.count; n++)
    FNZI_EACH_ARG(each, g->nodes.data[n].outputs, g->nodes.data[n].noutputs)
      if (fnzi_is_reference(each.arg))
        values[each.arg->u.value].node = n;
  g->values.data = values;
  return FNZ_OK;
}

fnz_status fnzi_stp_late_show(fnzi_arena *arena, const fnz_program *program,
                              const fnz_program *arranged, const fnzi_pln_order *order,
                              bool *in_order, const fnz_program **out) {
  const fnzi_graph *real = fnzi_graph_main(program), *from = fnzi_graph_main(arranged);
  fnzi_graph g = *from;
  fnzi_node *nodes;
  uint32_t before = 0;
  *in_order = true;
  FNZI_NEW(arena, g.nodes.count, &nodes);
  for (uint32_t n = 0; n < g.nodes.count; n++) {
    uint32_t origin = order->origins ? order->origins[n] : n;
    bool is_own = from->nodes.data[n].op || fnzi_is_hop(&from->nodes.data[n]);
    nodes[n] = is_own ? from->nodes.data[n] : real->nodes.data[origin];
    if (from->nodes.data[n].op)
      continue;
    *in_order = *in_order && origin >= before; /* numbers are found in the order of the program */
    before = origin;
  }
  g.nodes.data = nodes;
  g.values = real->values;
  FNZ_TRY(number_values(arena, &g));
  return keep_graph(arena, program, &g, program->graphs.count, out);
}

fnz_status fnzi_stp_late_renumber(fnzi_arena *arena, const fnz_program *arranged,
                                  const fnz_program **out) {
  fnzi_graph g = *fnzi_graph_main(arranged);
  FNZ_TRY(number_values(arena, &g));
  return keep_graph(arena, arranged, &g, arranged->graphs.count, out);
}
