/* build.c - adding to a program: symbols, graphs, nodes, weights, operators. */
#include "program/program.h"

/* --- symbols and ranges ---------------------------------------------------------------------- */
fnz_status fnzi_symbol_add(fnz_program *p, const char *text, bool has_hint, int64_t hint,
                           uint32_t *out) {
  uint64_t found;
  size_t size = strlen(text);
  if (size > FNZI_EXPR_MAX_TEXT) /* it could be written, but not be read as an expression again */
    return fnzi_fail(p->ctx, FNZ_CLASS_LIMIT, NULL,
                     "a symbolic expression of more than %d characters", FNZI_EXPR_MAX_TEXT);
  if (fnzi_map_get(&p->symbol_index, text, size, &found)) {
    fnzi_symbol *s = &p->symbols.data[ *out = (uint32_t)found];
    if (has_hint && !s->has_hint)
      s->hint = hint;
    s->has_hint = s->has_hint || has_hint;
    return FNZ_OK;
  }
  if (!p->symbols.count)
    FNZI_PUSH(p->ctx, &p->symbols, ((fnzi_symbol){.text = ""}));
  const char *kept;
  FNZ_TRY(fnzi_intern(p, text, size, &kept));
  *out = (uint32_t)p->symbols.count;
  FNZI_PUSH(p->ctx, &p->symbols, ((fnzi_symbol){kept, has_hint, has_hint ? hint : 0}));
  return fnzi_map_set(&p->symbol_index, kept, size, *out);
}

fnz_status fnzi_range_add(fnz_program *p, const char *symbol, int64_t min, int64_t max) {
  fnzi_range range = {NULL, min, max};
  FNZ_TRY(fnzi_intern(p, symbol, strlen(symbol), &range.symbol));
  FNZI_PUSH(p->ctx, &p->ranges, range);
  return FNZ_OK;
}

/* --- graphs ---------------------------------------------------------------------------------- */
fnz_status fnzi_graph_add(fnz_program *p, const char *name, uint32_t *out) {
  fnzi_graph g = {0};
  if (p->graphs.count >= p->ctx->limits.graphs)
    return fnzi_fail(p->ctx, FNZ_CLASS_LIMIT, NULL, "more than %zu graphs", p->ctx->limits.graphs);
  FNZ_TRY(fnzi_intern(p, name, strlen(name), &g.name));
  fnzi_map_init(&g.stems, p->ctx);
  *out = (uint32_t)p->graphs.count;
  FNZI_PUSH(p->ctx, &p->graphs, g);
  return FNZ_OK;
}

static fnz_status check_count(fnz_program *p, const char *what, size_t count) {
  if (count <= UINT32_MAX)
    return FNZ_OK;
  return fnzi_fail(p->ctx, FNZ_CLASS_LIMIT, NULL, "a graph of %zu %s", count, what);
}

fnz_status fnzi_graph_set_inputs(fnz_program *p, uint32_t graph, size_t count) {
  fnzi_graph *g = fnzi_graph_at(p, graph);
  FNZ_TRY(check_count(p, "inputs", count));
  FNZI_NEW(&p->arena, count, &g->inputs);
  if (graph == 0)
    FNZI_NEW(&p->arena, count, &p->inputs);
  g->ninputs = (uint32_t)count;
  return FNZ_OK;
}

fnz_status fnzi_graph_set_outputs(fnz_program *p, uint32_t graph, size_t count) {
  fnzi_graph *g = fnzi_graph_at(p, graph);
  FNZ_TRY(check_count(p, "outputs", count));
  FNZI_NEW(&p->arena, count, &g->outputs);
  if (graph == 0)
    FNZI_NEW(&p->arena, count, &p->outputs);
  g->noutputs = (uint32_t)count;
  return FNZ_OK;
}

/* --- nodes ----------------------------------------------------------------------------------- */
static fnz_status copy_or_zero(fnz_program *p, fnz_arg **args, uint32_t count) {
  if (*args)
    return fnzi_args_copy(p, *args, count, args);
  FNZI_NEW(&p->arena, count, args);
  return FNZ_OK;
}

fnz_status fnzi_node_keep(fnz_program *p, fnzi_node *node, const fnzi_node_other *all) {
  fnzi_node_other *other;
  fnzi_node_set(node, all);
  if (node->op)
    return FNZ_OK;
  FNZI_NEW(&p->arena, 1, &other);
  *other = *all;
  node->u.other = other;
  return FNZ_OK;
}

fnz_status fnzi_node_append(fnz_program *p, uint32_t graph, const fnzi_node *node, uint32_t *out) {
  fnzi_graph *g = fnzi_graph_at(p, graph);
  if (g->nodes.count >= FNZI_NO_NODE - 1)
    return fnzi_fail(p->ctx, FNZ_CLASS_LIMIT, NULL, "a graph of more than 2^32 - 2 nodes");
  *out = (uint32_t)g->nodes.count;
  FNZI_PUSH(p->ctx, &g->nodes, *node);
  return FNZ_OK;
}

fnz_status fnzi_node_add(fnz_program *p, uint32_t graph, const fnzi_node *node, uint32_t *out) {
  fnzi_node copy = *node;
  FNZ_TRY(copy_or_zero(p, &copy.args, copy.nargs));
  FNZ_TRY(copy_or_zero(p, &copy.outputs, copy.noutputs));
  if (!copy.op) {
    fnzi_node_other other = *copy.u.other;
    const char **names;
    if (other.arg_names) {
      FNZI_NEW(&p->arena, copy.nargs, &names);
      for (uint32_t i = 0; i < copy.nargs; i++)
        names[i] = other.arg_names[i];
      other.arg_names = names;
    }
    FNZ_TRY(fnzi_node_keep(p, &copy, &other));
  }
  if (!copy.source)
    copy.source = "";
  return fnzi_node_append(p, graph, &copy, out);
}

/* --- weights and operators ------------------------------------------------------------------- */
fnz_status fnzi_weight_add(fnz_program *p, const char *name, fnzi_blob *blob,
                           const fnz_geometry *geometry) {
  fnzi_weight weight = {NULL, NULL, geometry};
  const size_t size = strlen(name);
  const uint32_t hash = fnzi_map_hash(&p->weight_index, name, size);
  uint64_t found;
  if (fnzi_map_find(&p->weight_index, hash, name, size, &found))
    return fnzi_fail(p->ctx, FNZ_CLASS_DUPLICATE, NULL, "the tensor \"%s\" is declared twice",
                     name);
  FNZ_TRY(fnzi_intern(p, name, size, &weight.name));
  FNZ_TRY(fnzi_map_add(&p->weight_index, hash, weight.name, size, p->weights.count));
  FNZI_PUSH(p->ctx, &p->weights, weight);
  p->weights.data[p->weights.count - 1].blob = fnzi_blob_retain(blob);
  return FNZ_OK;
}

static fnz_status list_custom_op(fnz_program *p, const fnz_op *op) {
  uint64_t at;
  size_t size = strlen(op->name);
  if (fnzi_map_get(&p->op_index, op->name, size, &at))
    return FNZ_OK;
  FNZ_TRY(fnzi_map_set(&p->op_index, op->name, size, p->custom_ops.count));
  FNZI_PUSH(p->ctx, &p->custom_ops, op);
  return FNZ_OK;
}

fnz_status fnzi_custom_op_add(fnz_program *p, const char *schema, const fnz_op **out) {
  FNZ_TRY(fnzi_scope_declare(&p->scope, schema, out));
  return list_custom_op(p, *out);
}

fnz_status fnzi_op_use(fnz_program *p, const char *name, const fnz_op **out) {
  *out = fnzi_op_find(p, name);
  const char *builtin = *out ? NULL : fnzi_builtin_schema(name);
  if (builtin)
    FNZ_TRY(fnzi_scope_declare(&p->scope, builtin, out));
  /* One that becomes another one when it is read leaves nothing that a program should list. */
  bool is_listed = *out && fnzi_op_is_custom(*out) && !fnzi_builtin_prim(*out);
  return is_listed ? list_custom_op(p, *out) : FNZ_OK;
}

fnz_status fnzi_op_put_near(const fnz_program *p, const char *name, fnz_buffer *out) {
  return fnzi_put_near_op(p->ctx, p->custom_ops.data, p->custom_ops.count, name, out);
}

fnz_status fnzi_op_adopt(fnz_program *p, const fnz_op **op) {
  const fnz_op *own = fnzi_op_is_custom(*op) ? fnzi_op_find(p, (*op)->name) : *op;
  if (own && own != *op && strcmp(own->schema, (*op)->schema) == 0)
    *op = own; /* declared there already */
  if (own == *op)
    return fnzi_op_is_custom(own) ? list_custom_op(p, own) : FNZ_OK;
  return fnzi_custom_op_add(p, (*op)->schema, op);
}
