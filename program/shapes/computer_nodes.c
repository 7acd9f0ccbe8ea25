/* computer_nodes.c - nodes that compute numbers: their targets, and the nodes of the source.
 *
 * needs   a source with expressions
 * gives   targets of functions; the source's node for an expression; what makes a sum whole */
#include "program/region_ops.h"
#include "program/shapes/computer.h"

/* Targets of arithmetic nodes, as exporters write them. */
static const char *const targets[FNZI_FUNCTION_COUNT] = {
    [FNZI_FUNCTION_FLOOR_DIV] = "_operator.floordiv",
    [FNZI_FUNCTION_MOD] = "_operator.mod",
    [FNZI_FUNCTION_PYTHON_MOD] = "_operator.mod",
    [FNZI_FUNCTION_MIN] = "torch.sym_min",
    [FNZI_FUNCTION_MAX] = "torch.sym_max",
    [FNZI_FUNCTION_EQ] = "_operator.eq",
    [FNZI_FUNCTION_NE] = "_operator.ne",
    [FNZI_FUNCTION_LT] = "_operator.lt",
    [FNZI_FUNCTION_LE] = "_operator.le",
    [FNZI_FUNCTION_GT] = "_operator.gt",
    [FNZI_FUNCTION_GE] = "_operator.ge",
    [FNZI_FUNCTION_AND] = "_operator.and_",
    [FNZI_FUNCTION_OR] = "_operator.or_",
    [FNZI_FUNCTION_NOT] = "torch.sym_not",
    [FNZI_FUNCTION_TRUNC] = "math.trunc",
    [FNZI_FUNCTION_FLOOR] = "math.floor",
    [FNZI_FUNCTION_INT_POW] = "_operator.pow",
    [FNZI_FUNCTION_ITE] = "torch.sym_ite",
    [FNZI_FUNCTION_REAL_ADD] = "_operator.add",
    [FNZI_FUNCTION_REAL_MUL] = "_operator.mul",
    [FNZI_FUNCTION_REAL_POW] = "_operator.pow",
    [FNZI_FUNCTION_REAL_DIV] = "_operator.truediv",
    [FNZI_FUNCTION_SQRT] = "torch._sym_sqrt",
    [FNZI_FUNCTION_COS] = "torch._sym_cos",
    [FNZI_FUNCTION_COSH] = "torch._sym_cosh",
    [FNZI_FUNCTION_SIN] = "torch._sym_sin",
    [FNZI_FUNCTION_SINH] = "torch._sym_sinh",
    [FNZI_FUNCTION_TAN] = "torch._sym_tan",
    [FNZI_FUNCTION_TANH] = "torch._sym_tanh",
    [FNZI_FUNCTION_ASIN] = "torch._sym_asin",
    [FNZI_FUNCTION_ACOS] = "torch._sym_acos",
    [FNZI_FUNCTION_ATAN] = "torch._sym_atan",
    [FNZI_FUNCTION_EXP] = "torch._sym_exp",
    [FNZI_FUNCTION_LOG] = "torch._sym_log",
    [FNZI_FUNCTION_LOG2] = "torch._sym_log2",
    [FNZI_FUNCTION_ASINH] = "torch._sym_asinh"};

const char *fnzi_number_target(fnzi_function function) {
  return targets[function];
}

/* The result is a double whatever the operands are. */
bool fnzi_makes_double(const char *target) {
  return strcmp(target, "_operator.truediv") == 0 || strcmp(target, "torch.sym_float") == 0 ||
         strncmp(target, "torch.sym_sqrt", 14) == 0 || strncmp(target, "torch._sym_", 11) == 0;
}

/* The expression of a number; NULL where it has none. */
static const fnzi_expr *nodes_number_of(const fnzi_computer *c, const fnzi_graph *graph,
                                        size_t value) {
  uint32_t symbol = graph->values.data[value].symbol;
  return symbol ? c->sizes->symbols[symbol] : NULL;
}

/* A node on numbers gives a double: by itself, or because an operand is one and it does not round.
 * `e`: its result. */
static bool gives_double(const fnzi_node *node, const fnzi_expr *e, const uint8_t *doubles) {
  const char *target = fnzi_node_target(node);
  if (fnzi_makes_double(target))
    return true;
  if (strncmp(target, "math.", 5) == 0 || strcmp(target, "torch.sym_int") == 0 ||
      (e && fnzi_expr_is_condition(e)))
    return false;
  for (uint32_t i = 0; i < node->nargs; i++)
    if (node->args[i].tag == FNZ_ARG_FLOAT ||
        (node->args[i].tag == FNZ_ARG_SYMBOL && doubles[node->args[i].u.value]))
      return true;
  return false;
}

/* Per value of the graph: it is a double, as far as nodes on numbers show. */
static fnz_status find_doubles(fnzi_computer *c, const fnzi_graph *graph, uint8_t **out) {
  FNZI_NEW(&c->sizes->set.arena, graph->values.count, out);
  for (size_t i = 0; i < graph->values.count; i++) {
    const fnzi_expr *e = nodes_number_of(c, graph, i);
    (*out)[i] = e && e->is_real;
  }
  for (size_t n = 0; n < graph->nodes.count; n++) {
    const fnzi_node *node = &graph->nodes.data[n];
    if (node->op || node->noutputs != 1 || node->outputs[0].tag != FNZ_ARG_SYMBOL)
      continue;
    uint64_t result = node->outputs[0].u.value;
    (*out)[result] |= gives_double(node, nodes_number_of(c, graph, result), *out);
  }
  return FNZ_OK;
}

/* The node of `graph` that computes `e` of numbers, as a double if wanted; NULL: there is none. */
static fnz_status find_node(fnzi_computer *c, const fnzi_graph *graph, const fnzi_expr *e,
                            bool as_double, const fnzi_node **out) {
  uint8_t *doubles = NULL;
  *out = NULL;
  for (size_t i = 0; i < graph->nodes.count && !*out; i++) {
    const fnzi_node *node = &graph->nodes.data[i];
    bool gives = !node->op && node->noutputs == 1 && node->outputs[0].tag == FNZ_ARG_SYMBOL &&
                 node->nargs && node->nargs <= FNZI_NUMBER_MOST_ARGS && !fnzi_is_hop(node);
    uint32_t symbol = gives ? graph->values.data[node->outputs[0].u.value].symbol : 0;
    if (!symbol || c->sizes->symbols[symbol] != e)
      continue;
    if (as_double && !doubles)
      FNZ_TRY(find_doubles(c, graph, &doubles));
    if (!as_double || doubles[node->outputs[0].u.value])
      *out = node;
  }
  return FNZ_OK;
}

fnz_status fnzi_computer_find(fnzi_computer *c, const fnzi_expr *e, bool as_double,
                              const fnzi_graph **graph, const fnzi_node **node) {
  *graph = c->source;
  FNZ_TRY(find_node(c, *graph, e, as_double, node));
  for (uint32_t i = 0; i < c->from->graphs.count && !*node; i++) {
    *graph = fnzi_graph_at(c->from, i);
    FNZ_TRY(find_node(c, *graph, e, as_double, node));
  }
  return FNZ_OK;
}

int64_t fnzi_common_denominator(const fnzi_expr *e) {
  int64_t all = e->den, next;
  for (uint32_t i = 0; i < e->count; i++)
    if (!fnzi_mul_i64(all, e->parts[i].den, &next))
      return 0;
    else
      all = all % e->parts[i].den == 0 ? all : next;
  return all;
}
