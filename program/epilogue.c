/* epilogue.c - the writes at the end of a program whose other nodes are functional: they
 * copy final values into inputs, or into windows of inputs, after everything has been computed.
 * And what such a write changes: values that are views. */
#include "program/program.h"
#include "schema/aten_names.h"

static bool is_writer(const fnzi_node *n) {
  static const uint16_t writers[] = {FNZI_ATEN_copy_, FNZI_ATEN_as_strided_};
  return n->op && fnzi_op_is_among(n->op, writers, sizeof writers / sizeof *writers) &&
         n->args[0].tag == FNZ_ARG_VALUE;
}

/* The first node of a write whose last is `last`: the views that lead from an input to the window
 * that it writes, one right after the other. last + 1 when this is no such write. */
static uint32_t first_of(const fnz_program *p, uint32_t last) {
  const fnz_op *copies = fnzi_op_by_index(FNZI_ATEN_copy_);
  const fnzi_node *n = fnzi_node_at(p, 0, last);
  uint32_t first = last;
  if (!is_writer(n))
    return last + 1;
  for (;;) {
    const uint32_t maker = fnzi_value_at(p, 0, n->args[0].u.value)->node;
    if (maker == FNZI_NO_NODE)
      break;
    n = fnzi_node_at(p, 0, maker);
    bool is_view = n->op && fnz_op_is_view(n->op) && !fnz_op_is_mutating(n->op) &&
                   n->noutputs == 1 && n->outputs[0].tag == FNZ_ARG_VALUE &&
                   n->args[0].tag == FNZ_ARG_VALUE;
    if (maker + 1 != first || !is_view)
      return last + 1;
    first = maker;
  }
  return first == last || fnzi_node_at(p, 0, last)->op == copies ? first : last + 1;
}

/* All that is written has been computed before. So no node may read a result of the end, which is
 * an input or a window of one. If a node does, the end begins behind the write whose result it
 * reads.
 */
uint32_t fnzi_epilogue_start(const fnz_program *p) {
  const fnzi_graph *g = fnzi_graph_main(p);
  uint32_t start = (uint32_t)g->nodes.count;
  for (uint32_t first; start && (first = first_of(p, start - 1)) < start;)
    start = first;
  /* The last node from `start` on that another one of these reads; FNZI_NO_NODE for none. */
  uint32_t last = FNZI_NO_NODE;
  for (size_t n = start; n < g->nodes.count; n++)
    FNZI_EACH_ARG(each, g->nodes.data[n].args + 1, g->nodes.data[n].nargs - 1u) {
      const uint32_t node =
          fnzi_is_reference(each.arg) ? g->values.data[each.arg->u.value].node : FNZI_NO_NODE;
      if (node != FNZI_NO_NODE && node >= start && (last == FNZI_NO_NODE || node > last))
        last = node;
    }
  if (last == FNZI_NO_NODE)
    return start;
  while (!is_writer(&g->nodes.data[last]))
    last++;
  return last + 1;
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
