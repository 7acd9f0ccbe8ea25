/* epilogue.c - the writes at the end of a program whose other nodes are functional: they
 * copy final values into inputs after everything has been computed. And what such a write
 * changes: values that are views. */
#include "program/program.h"
#include "schema/aten_names.h"

static bool writes_input(const fnz_program *p, const fnzi_node *n) {
  static const uint16_t writers[] = {FNZI_ATEN_copy_, FNZI_ATEN_as_strided_};
  return n->op && fnzi_op_is_among(n->op, writers, sizeof writers / sizeof *writers) &&
         n->args[0].tag == FNZ_ARG_VALUE &&
         fnzi_value_at(p, 0, n->args[0].u.value)->node == FNZI_NO_NODE;
}

uint32_t fnzi_epilogue_start(const fnz_program *p) {
  const fnzi_graph *g = fnzi_graph_at(p, 0);
  uint32_t start = (uint32_t)g->nodes.count;
  while (start && writes_input(p, &g->nodes.data[start - 1]))
    start--;
  return start;
}

uint64_t fnzi_value_memory(const fnz_program *p, uint32_t graph, uint64_t value) {
  for (;;) {
    uint32_t node = fnzi_value_at(p, graph, value)->node;
    const fnzi_node *n = node == FNZI_NO_NODE ? NULL : fnzi_node_at(p, graph, node);
    if (!n || !n->op || !fnz_op_is_view(n->op) || n->args[0].tag != FNZ_ARG_VALUE)
      return value;
    value = n->args[0].u.value;
  }
}
