/* results.c - a node of its own for each result, for consumers that take a value as a result once.
 *
 * needs   a functional program
 * keeps   the order of results, and their memory: the nodes are views
 * gives   results that are different values, and no inputs */
#include "functionalize/decompose/decompose.h"
#include "functionalize/explain/explain.h"

typedef struct owning {
  fnz_program *p;
  fnzi_arena scratch;
  bool *is_taken; /* per value */
} owning;

/* One more node at the end, with the first of its arguments; *value becomes its result. */
static fnz_status add_view(owning *o, size_t op, const fnz_geometry *g, const fnz_arg *second,
                           fnz_arg *value) {
  uint32_t made, index = (uint32_t)fnzi_graph_main(o->p)->nodes.count;
  fnzi_node node = {.op = &fnzi_ops[op], .noutputs = 1};
  node.nargs = (uint32_t)node.op->nparams;
  FNZI_NEW(&o->scratch, node.nargs, &node.args);
  node.args[0] = *value;
  node.args[1] = *second;
  for (uint32_t i = 2; i < node.nargs; i++)
    node.args[i] = (fnz_arg){.tag = FNZ_ARG_DEFAULT};
  FNZ_TRY(fnzi_value_add_fresh(o->p, 0, node.op->base, g, index, &made));
  *value = fnzi_arg_value(made);
  node.outputs = value;
  return fnzi_node_add(o->p, 0, &node, &index);
}

/* All sizes stay, so no node needs to say them; OpenVINO ends where the list of them is empty. */
static fnz_status add_views(owning *o, fnz_arg *value, size_t *count) {
  const fnz_geometry *g = fnzi_value_at(o->p, 0, value->u.value)->geometry, *row;
  static const int64_t one = 1;
  const fnz_arg first = fnzi_arg_int(0);
  fnz_geometry in_row = *g;
  fnz_arg *sizes;
  *count = g->rank ? 1 : 2;
  if (g->rank) {
    FNZI_NEW(&o->scratch, g->rank, &sizes);
    for (uint32_t d = 0; d < g->rank; d++)
      sizes[d] = fnzi_arg_int(-1);
    const fnz_arg list = {.tag = FNZ_ARG_LIST, .count = g->rank, .u.list = sizes};
    return add_view(o, FNZI_ATEN_expand, g, &list, value);
  }
  in_row.rank = 1;
  in_row.sizes = in_row.strides = &one;
  FNZ_TRY(fnzi_intern_geometry(o->p, &in_row, &row));
  FNZ_TRY(add_view(o, FNZI_ATEN_unsqueeze, row, &first, value));
  return add_view(o, FNZI_ATEN_squeeze__dim, g, &first, value);
}

static fnz_status own(owning *o, fnz_origins *origins) {
  const fnzi_graph *g = fnzi_graph_main(o->p);
  FNZI_NEW(&o->scratch, g->values.count, &o->is_taken);
  for (uint32_t k = 0; k < g->noutputs; k++) {
    fnz_arg *value = &g->outputs[k];
    if (value->tag != FNZ_ARG_VALUE || !fnzi_value_at(o->p, 0, value->u.value)->geometry)
      continue;
    /* Copies are no values of their own: OpenVINO drops them. */
    uint64_t at = value->u.value;
    uint32_t node;
    while ((node = fnzi_value_at(o->p, 0, at)->node) != FNZI_NO_NODE &&
           fnzi_node_at(o->p, 0, node)->op == &fnzi_ops[FNZI_ATEN_clone])
      at = fnzi_node_at(o->p, 0, node)->args[0].u.value;
    const bool is_input = node == FNZI_NO_NODE;
    size_t added = 0;
    if (is_input || o->is_taken[at])
      FNZ_TRY(add_views(o, value, &added));
    while (origins && added-- > 0)
      FNZ_TRY(fnzi_expl_origins_add(origins, 0, k));
    o->is_taken[at] = true;
  }
  return FNZ_OK;
}

fnz_status fnzi_dcm_results_own(fnz_context *ctx, fnz_program *p, fnz_origins *origins) {
  owning o = {.p = p};
  fnzi_arena_init(&o.scratch, ctx);
  fnz_status status = own(&o, origins);
  fnzi_arena_free(&o.scratch);
  return status == FNZ_OK ? fnz_program_verify(ctx, p) : status;
}
