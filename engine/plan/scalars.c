/* scalars.c - data-dependent scalars: their kinds, the nodes that take them as operands, the nodes
 * that wait for them, and whether a plan is possible because no size depends on one. */
#include "engine/plan/plan.h"
#include "kernels/backends.h"
#include "program/region_ops.h"
#include "program/shapes/sizes.h"
#include "views/views.h"

/* --- Kinds ------------------------------------------------------------------------------------ */
fnz_arg fnzi_pln_scalar_like(const fnzi_graph *g, uint64_t value) {
  fnz_arg one = {.tag = g->values.data[value].number, .u.i = 1};
  if (one.tag == FNZ_ARG_FLOAT)
    one.u.f = 1;
  return one;
}

static fnz_status kind_of_scalar(void *graph, uint64_t value, fnz_arg *out) {
  *out = fnzi_pln_scalar_like(graph, value);
  return FNZ_OK;
}

/* Finds the kind of arithmetic: that of its result for ones. Only torch.sym_ite, which chooses, has
 * a kind that depends on its arguments. */
static fnz_status kind_computed(fnz_context *ctx, fnzi_graph *g, const fnzi_node *node,
                                uint8_t *out) {
  const fnz_error had = ctx->error;
  fnz_arg number = {.tag = FNZ_ARG_DEFAULT};
  bool done = false;
  fnz_status status = fnzi_arithmetic(ctx, node, kind_of_scalar, g, &number, &done);
  if (fnzi_is_final(status))
    return status;
  ctx->error = had;
  *out = status == FNZ_OK && done && node->nargs < 3 ? number.tag : FNZ_ARG_DEFAULT;
  return FNZ_OK;
}

static fnz_status mark_node(fnz_context *ctx, fnzi_graph *g, const fnzi_node *node) {
  uint8_t kind = FNZ_ARG_DEFAULT;
  bool reads = node->op && fnzi_op_is_item(node->op) && node->args[0].tag == FNZ_ARG_VALUE;
  if (node->noutputs != 1 || node->outputs[0].tag != FNZ_ARG_SYMBOL)
    return FNZ_OK;
  const fnz_geometry *of = reads ? g->values.data[node->args[0].u.value].geometry : NULL;
  if (node->op == NULL && !fnzi_is_hop(node))
    FNZ_TRY(kind_computed(ctx, g, node, &kind));
  else if (of)
    kind = of->dtype == FNZ_BOOL                                ? FNZ_ARG_BOOL
           : fnzi_is_float(of->dtype)                           ? FNZ_ARG_FLOAT
           : fnzi_is_integer(of->dtype) && of->dtype != FNZ_U64 ? FNZ_ARG_INT
                                                                : FNZ_ARG_DEFAULT;
  else if (node->op && fnzi_asks_size(node->op))
    kind = FNZ_ARG_INT;
  g->values.data[node->outputs[0].u.value].number = kind;
  return FNZ_OK;
}

fnz_status fnzi_pln_scalars_mark(fnz_context *ctx, fnzi_arena *arena, const fnz_program *program,
                                 const fnz_program **out) {
  fnzi_graph g = *fnzi_graph_main(program);
  fnz_program *copy;
  fnzi_value *values;
  *out = program;
  if (!fnzi_program_has_symbols(program))
    return FNZ_OK;
  FNZI_NEW(arena, g.values.count, &values);
  if (g.values.count)
    memcpy(values, g.values.data, g.values.count * sizeof *values);
  g.values.data = values;
  for (size_t n = 0; n < g.nodes.count; n++)
    FNZ_TRY(mark_node(ctx, &g, &g.nodes.data[n]));
  FNZ_TRY(fnzi_pln_with_graph(arena, program, &g, program->graphs.count, &copy));
  *out = copy;
  return FNZ_OK;
}

/* --- Who takes them --------------------------------------------------------------------------- */
/* Returns the operator of the items, if the operator takes lists of tensors. */
static const fnz_op *scalars_element_of(const fnz_op *op) {
  const fnz_op *element = op ? fnzi_foreach_element(op) : NULL;
  return element ? element : op;
}

/* Says that scalars of the operator determine the location of its result, or its region. */
static bool locations_depend_on_scalars(const fnz_op *whole) {
  const fnz_op *op = scalars_element_of(whole);
  if (!op || fnzi_op_is_item(op))
    return false;
  const fnzi_kernel *row = fnzi_kernel_row(op);
  return !row || row->memory == FNZI_MEMORY_VIEW ||
         fnzi_kernel_facts(row)->access == FNZI_ACCESS_SCATTER || fnzi_view_find(op);
}

/* Accepts tensors of fixed sizes, and scalars that are known before the run. */
static bool are_known(const fnzi_graph *g, const fnz_arg *args, size_t count) {
  FNZI_EACH_ARG(each, args, count) {
    const fnz_geometry *of = fnzi_pln_tensor(g, each.arg);
    if ((fnzi_is_reference(each.arg) && (!of || of->symbols)) || each.arg->tag == FNZ_ARG_GRAPH)
      return false;
  }
  return true;
}

static bool is_number(const fnzi_graph *g, const fnzi_param *param, const fnz_arg *arg) {
  bool is_operand = param->type == FNZI_TYPE_SCALAR || param->type == FNZI_TYPE_FLOAT ||
                    param->type == FNZI_TYPE_TENSOR; /* mul.Tensor(x, 0.5) */
  return arg->tag == FNZ_ARG_SYMBOL && is_operand && !param->is_list &&
         g->values.data[arg->u.value].number != FNZ_ARG_DEFAULT;
}

bool fnzi_pln_has_scalar_arguments(const fnzi_graph *g, const fnzi_node *node) {
  enum { MOST = 32 }; /* parameters */
  const fnz_op *op = scalars_element_of(node->op);
  bool any = false;
  if (!op || fnzi_op_is_item(op) || node->op->kind != FNZI_KIND_FUNCTIONAL ||
      node->op->nparams > MOST || locations_depend_on_scalars(op))
    return false;
  for (uint32_t k = 0; k < node->nargs; k++) {
    const fnz_arg *arg = &node->args[k];
    bool is_list = op != node->op && arg->tag == FNZ_ARG_LIST; /* one for each item */
    for (uint32_t i = 0; i < (is_list ? arg->count : 1u); i++) {
      const fnz_arg *one = is_list ? &arg->u.list[i] : arg;
      bool is = k < op->nparams && is_number(g, &op->params[k], one);
      any = any || is;
      if (!is && !are_known(g, one, 1))
        return false;
    }
  }
  return any && are_known(g, node->outputs, node->noutputs);
}

uint32_t fnzi_pln_scalar_arguments(const fnzi_graph *g, const fnzi_node *node) {
  uint32_t scalars = 0;
  if (scalars_element_of(node->op) != node->op || !fnzi_pln_has_scalar_arguments(g, node))
    return 0;
  for (uint32_t k = 0; k < node->nargs; k++)
    if (node->args[k].tag == FNZ_ARG_SYMBOL)
      scalars |= 1u << k;
  return scalars;
}

/* --- Who waits -------------------------------------------------------------------------------- */
bool fnzi_pln_waits_for_scalars(const fnzi_graph *g, const fnzi_node *node) {
  bool found = node->op && fnzi_op_is_item(node->op);
  FNZI_EACH_ARG(each, node->args, node->nargs)
    found = found || each.arg->tag == FNZ_ARG_SYMBOL;
  return found && !fnzi_pln_has_scalar_arguments(g, node);
}

bool fnzi_pln_only_scalars(const fnz_program *program) {
  const fnzi_graph *g = fnzi_graph_main(program);
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (g->inputs[k].tag == FNZ_ARG_SYMBOL)
      return false;
  for (size_t v = 0; v < g->values.count; v++)
    if (g->values.data[v].geometry && g->values.data[v].geometry->symbols)
      return false;
  for (size_t n = 0; n < g->nodes.count; n++)
    if (fnzi_pln_waits_for_scalars(g, &g->nodes.data[n]) &&
        locations_depend_on_scalars(g->nodes.data[n].op))
      return false;
  return true;
}

void fnzi_pln_scalars_keep_order(const fnz_program *source, const fnz_program **arranged,
                                 fnzi_pln_policy *policy) {
  const fnzi_graph *g = fnzi_graph_main(*arranged);
  uint32_t before = 0;
  bool keeps = true;
  for (uint32_t n = 0; keeps && n < g->nodes.count; n++) {
    uint32_t origin = policy->order.origins ? policy->order.origins[n] : n;
    if (!fnzi_pln_waits_for_scalars(g, &g->nodes.data[n]))
      continue;
    keeps = origin >= before;
    before = origin;
  }
  if (keeps)
    return;
  *arranged = source;
  policy->order = (fnzi_pln_order){.source = NULL};
  policy->ungrouped = true;
}
