/* layout.c - decides which computed values have channels last.
 *
 * Convolutions compute images with channels last. If their results keep that layout up to the next
 * convolution, no step between two of them reorders elements. So results of convolutions have it
 * (START), and so have results of pointwise nodes, joins and some kernels (KEEP of facts.def) if an
 * operand has it. Every other value keeps eager's strides, and placement hints count for more: an
 * output is computed in its own layout. A step that needs another layout reads the value like any
 * strided operand, so no value depends on a layout. */
#include "engine/plan/planner.h"
#include "kernels/backends.h"
#include "kernels/core/core.h"

typedef enum part {
  PART_NONE,
  PART_START, /* its first result has channels last */
  PART_KEEP   /* if its first argument has them */
} part;

static const uint8_t parts[FNZI_RUNS] = {
#define START(run) [FNZI_RUN_##run] = PART_START,
#define KEEP(run)  [FNZI_RUN_##run] = PART_KEEP,
#define FLAT(...)
#include "engine/plan/facts.def"
#undef FLAT
#undef KEEP
#undef START
};

/* Says that the value is an image whose channels are last in memory, and only then. */
static bool has_channels_last(const fnzi_pln_planner *p, uint32_t value) {
  const fnz_geometry *map = value == FNZI_PLN_NONE ? NULL : p->values[value].window;
  return map && map->rank >= 3 && fnzi_krn_has_channels_last(map, map->rank - 2) &&
         !fnzi_is_contiguous(map);
}

static bool accepts_layout(const fnzi_pln_planner *p, uint32_t n, const fnz_geometry *result) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  if (p->nodes[n].access == FNZI_PLN_ACCESS_POINT) { /* an operand of its sizes is enough */
    FNZI_PLN_EACH_OPERAND(each, p, node)
      if (fnzi_same_sizes(p->graph->values.data[each.value].geometry, result) &&
          has_channels_last(p, each.value))
        return true;
    return false;
  }
  if (p->nodes[n].access == FNZI_PLN_ACCESS_JOIN) { /* every piece must have it */
    FNZI_PLN_EACH_OPERAND(each, p, node)
      if (p->graph->values.data[each.value].geometry->rank != result->rank ||
          !has_channels_last(p, each.value))
        return false;
    return true;
  }
  const fnz_geometry *first = fnzi_pln_tensor(p->graph, &node->args[0]);
  const fnzi_kernel *row = node->op ? fnzi_kernel_row(node->op) : NULL;
  switch (row ? (part)parts[row->run] : PART_NONE) {
  case PART_START:
    return result->dtype == FNZ_F32 && first && first->rank == result->rank;
  case PART_KEEP:
    return has_channels_last(p, fnzi_pln_argument(node, 0));
  case PART_NONE:
    break;
  }
  return false;
}

fnz_status fnzi_pln_layout_choose(fnzi_pln_planner *p, uint32_t n) {
  const uint32_t value = fnzi_pln_result_of(&p->graph->nodes.data[n]);
  if (!p->policy->channels_last || value == FNZI_PLN_NONE)
    return FNZ_OK;
  const fnz_geometry *g = p->graph->values.data[value].geometry;
  if (!g || g->rank < 3 || p->values[value].window || !accepts_layout(p, n, g))
    return FNZ_OK;
  p->values[value].channels_last = true;
  return fnzi_pln_map_channels_last(p, g, &p->values[value].window);
}
