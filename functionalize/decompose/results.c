/* results.c - a node of its own for each result, for consumers that take a value as a result once.
 *
 * needs   a functional program
 * keeps   the order of results, and what each says of memory: the nodes are views
 * gives   results of which no two are one value, and none is an input */
#include "functionalize/decompose/decompose.h"
#include "functionalize/explain/explain.h"

typedef struct owning {
  fnz_program *p;
  fnzi_arena scratch;
  bool *is_taken; /* per value */
} owning;

/* All sizes stay, so no node needs to say them. */
static fnz_status add_view(owning *o, fnz_arg *value) {
  const fnzi_value *of = fnzi_value_at(o->p, 0, value->u.value);
  const uint32_t rank = of->geometry->rank;
  uint32_t made, index = (uint32_t)fnzi_graph_at(o->p, 0)->nodes.count;
  fnz_arg *sizes;
  FNZI_NEW(&o->scratch, rank, &sizes);
  for (uint32_t d = 0; d < rank; d++)
    sizes[d] = fnzi_arg_int(-1);
  fnzi_node node = {.op = &fnzi_ops[FNZI_ATEN_expand], .noutputs = 1};
  node.nargs = (uint32_t)node.op->nparams;
  FNZI_NEW(&o->scratch, node.nargs, &node.args);
  node.args[0] = *value;
  node.args[1] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = rank, .u.list = sizes};
  for (uint32_t i = 2; i < node.nargs; i++)
    node.args[i] = (fnz_arg){.tag = FNZ_ARG_DEFAULT};
  FNZ_TRY(fnzi_value_add_fresh(o->p, 0, node.op->base, of->geometry, index, &made));
  *value = fnzi_arg_value(made);
  node.outputs = value;
  return fnzi_node_add(o->p, 0, &node, &index);
}

static fnz_status own(owning *o, fnz_origins *origins) {
  const fnzi_graph *g = fnzi_graph_at(o->p, 0);
  FNZI_NEW(&o->scratch, g->values.count, &o->is_taken);
  for (uint32_t k = 0; k < g->noutputs; k++) {
    fnz_arg *value = &g->outputs[k];
    if (value->tag != FNZ_ARG_VALUE || !fnzi_value_at(o->p, 0, value->u.value)->geometry)
      continue;
    const uint64_t at = value->u.value;
    const bool is_input = fnzi_value_at(o->p, 0, at)->node == FNZI_NO_NODE;
    if (is_input || o->is_taken[at]) {
      FNZ_TRY(add_view(o, value));
      if (origins)
        FNZ_TRY(fnzi_expl_origins_add(origins, 0, k));
    }
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
