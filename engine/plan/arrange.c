/* arrange.c - puts graph 0 of a program in execution order: operators on lists are split into one
 * node per item, nodes of a group become adjacent (groups.c), and checks of the trace are left out.
 *
 * The arranged program borrows everything but the nodes of graph 0 from its source. */
#include "engine/plan/planner.h"
#include "kernels/backends.h"

typedef struct arranging {
  fnz_context *ctx;
  fnzi_arena *arena, scratch;
  const fnz_program *program;
  const fnzi_graph *source;
  fnzi_node *nodes;
  uint32_t *origins; /* per node: that of the source which it is, or is an item of */
  uint32_t count;
} arranging;

/* Room that is filled in as a whole. */
#define ARENA_TAKE(arena, count, out)                                                              \
  do {                                                                                             \
    void *memory_;                                                                                 \
    FNZ_TRY(fnzi_arena_take((arena), (count), sizeof **(out), &memory_));                          \
    *(out) = memory_;                                                                              \
  } while (0)

/* --- Lists ------------------------------------------------------------------------------------ */
/* Returns whether each parameter of the element's operator can take an item of a list, or the
 * argument itself. */
static bool fits_items(const fnzi_node *node, const fnz_op *element, uint32_t items) {
  for (uint32_t k = 0; k < node->nargs && k < element->nparams; k++) {
    const fnz_arg *arg = &node->args[k];
    bool whole = arg->tag != FNZ_ARG_LIST || element->params[k].is_list;
    if (!whole && arg->count != items)
      return false;
    if (arg->tag == FNZ_ARG_VALUE && element->params[k].type != FNZI_TYPE_TENSOR)
      return false;
  }
  return true;
}

/* Returns the operator of the items if the node is to be taken apart, else NULL. */
static const fnz_op *arrange_element_of(const fnzi_node *node) {
  const fnz_op *element = node->op ? fnzi_foreach_element(node->op) : NULL;
  const fnzi_kernel *row = element ? fnzi_kernel_row(element) : NULL;
  const fnz_arg *list = &node->outputs[0];
  if (row == NULL || row->run != FNZI_RUN_point || node->noutputs != 1 ||
      list->tag != FNZ_ARG_LIST || !list->count || !fits_items(node, element, list->count))
    return NULL;
  for (uint32_t i = 0; i < list->count; i++)
    if (list->u.list[i].tag != FNZ_ARG_VALUE)
      return NULL;
  return element;
}

static fnz_status add_item(arranging *a, uint32_t n, const fnz_op *element, uint32_t item) {
  const fnzi_node *node = &a->source->nodes.data[n];
  fnz_arg *args;
  FNZI_NEW(a->arena, element->nparams, &args);
  for (uint32_t k = 0; k < element->nparams; k++) {
    args[k] = (fnz_arg){.tag = FNZ_ARG_DEFAULT};
    if (k < node->nargs)
      args[k] = fnzi_arg_get(node->op, node->args, node->nargs, k);
    if (args[k].tag == FNZ_ARG_LIST && !element->params[k].is_list)
      args[k] = args[k].u.list[item];
  }
  a->origins[a->count] = n;
  a->nodes[a->count++] =
      (fnzi_node){.op = element,
                  .args = args,
                  .nargs = (uint32_t)element->nparams,
                  .outputs = (fnz_arg *)(uintptr_t)&node->outputs[0].u.list[item],
                  .noutputs = 1,
                  .source = node->source};
  return FNZ_OK;
}

static fnz_status split_list(arranging *a) {
  size_t most = 0;
  for (size_t n = 0; n < a->source->nodes.count; n++) {
    const fnzi_node *node = &a->source->nodes.data[n];
    most += arrange_element_of(node) ? node->outputs[0].count : 1;
  }
  ARENA_TAKE(&a->scratch, most, &a->nodes);
  ARENA_TAKE(&a->scratch, most, &a->origins);
  for (uint32_t n = 0; n < a->source->nodes.count; n++) {
    const fnzi_node *node = &a->source->nodes.data[n];
    const fnz_op *element = arrange_element_of(node);
    for (uint32_t i = 0; element && i < node->outputs[0].count; i++)
      FNZ_TRY(add_item(a, n, element, i));
    if (element || fnzi_pln_is_assertion(node))
      continue;
    a->origins[a->count] = n;
    a->nodes[a->count++] = *node;
  }
  return FNZ_OK;
}

/* --- Order ------------------------------------------------------------------------------------ */
/* Sorts nodes by step, stably: counts the nodes of each step, then distributes them. `had`: the
 * order before. */
static fnz_status put_side_by_side(arranging *a, const fnzi_pln_order *source_order,
                                   fnzi_pln_order *out) {
  fnzi_node *nodes;
  uint32_t *origins, *steps, *kinds, *begins, at = 0;
  bool *points;
  ARENA_TAKE(a->arena, a->count, &steps);
  ARENA_TAKE(a->arena, a->count, &points);
  ARENA_TAKE(a->arena, a->count, &kinds);
  ARENA_TAKE(a->arena, a->count, &nodes);
  ARENA_TAKE(a->arena, a->count, &origins);
  FNZI_NEW(&a->scratch, a->count, &begins);
  for (uint32_t n = 0; n < a->count; n++)
    begins[source_order->steps[n]]++;
  for (uint32_t s = 0; s < a->count; s++) {
    uint32_t members = begins[s];
    begins[s] = at;
    at += members;
  }
  for (uint32_t n = 0; n < a->count; n++) {
    uint32_t to = begins[source_order->steps[n]]++;
    origins[to] = a->origins[n];
    steps[to] = source_order->steps[n];
    points[to] = source_order->points[n];
    kinds[to] = source_order->kinds.by_node[n];
    nodes[to] = a->nodes[n];
  }
  a->nodes = nodes;
  *out = (fnzi_pln_order){a->program, origins, steps, points, {kinds, source_order->kinds.count}};
  return FNZ_OK;
}

static fnz_status arrange(arranging *a, const fnz_program **out, fnzi_pln_order *order) {
  const fnz_program *program = a->program;
  fnzi_graph g = *a->source;
  fnzi_pln_order source_order;
  fnz_program *copy;
  FNZ_TRY(split_list(a));
  g.nodes.data = a->nodes;
  g.nodes.count = a->count;
  g.source_nodes = NULL;
  FNZ_TRY(fnzi_pln_groups_find(a->ctx, &a->scratch, &g, &source_order));
  FNZ_TRY(put_side_by_side(a, &source_order, order));
  g.nodes.data = a->nodes;
  FNZ_TRY(fnzi_pln_with_graph(a->arena, program, &g, program->graphs.count, &copy));
  *out = copy;
  return FNZ_OK;
}

fnz_status fnzi_pln_arrange(fnz_context *ctx, fnzi_arena *arena, const fnz_program *program,
                            const fnz_program **out, fnzi_pln_order *order) {
  arranging a = {.ctx = ctx, .arena = arena, .program = program};
  a.source = fnzi_graph_main(program);
  fnzi_arena_init(&a.scratch, ctx);
  fnz_status status = arrange(&a, out, order);
  fnzi_arena_free(&a.scratch);
  return status;
}
