/* build.c - adding to a program: interned strings and geometries, nodes, signature. */
#include "program/program.h"
#include "program/shapes/symbolic.h"

#include <stdio.h>

static uint64_t as_number(const void *p) {
  return (uint64_t)(uintptr_t)p;
}

/* --- interning ------------------------------------------------------------------------------- */
fnz_status fnzi_intern(fnz_program *p, const char *s, size_t size, const char **out) {
  uint64_t found;
  if (fnzi_map_get(&p->strings, s, size, &found)) {
    *out = (const char *)(uintptr_t)found;
    return FNZ_OK;
  }
  if (size > p->ctx->limits.string)
    return fnzi_fail(p->ctx, FNZ_CLASS_LIMIT, NULL,
                     "a string of %zu bytes; at most %zu are allowed", size, p->ctx->limits.string);
  FNZ_TRY(fnzi_arena_string(&p->arena, s, size, out));
  return fnzi_map_set(&p->strings, *out, size, as_number(*out));
}

static fnz_status check_sizes(fnz_context *ctx, const fnz_geometry *g) {
  if ((unsigned)g->dtype >= FNZ_DTYPE_COUNT)
    return fnzi_fail(ctx, FNZ_CLASS_TYPE, NULL, "there is no element type %d", (int)g->dtype);
  if (g->rank > FNZ_MAX_RANK)
    return fnzi_fail(ctx, FNZ_CLASS_LIMIT, NULL,
                     "a tensor of %u dimensions; at most %d are allowed", g->rank, FNZ_MAX_RANK);
  for (uint32_t i = 0; i < g->rank; i++)
    if (g->sizes[i] < 0)
      return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL, "dimension %u has the negative size %lld", i,
                       (long long)g->sizes[i]);
  return FNZ_OK;
}

static fnz_status check_window(fnz_context *ctx, const fnz_geometry *g) {
  if (g->offset < 0)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL, "the storage offset %lld is negative",
                     (long long)g->offset);
  for (uint32_t i = 0; i < g->rank; i++)
    if (g->strides[i] < 0)
      return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL, "dimension %u has the negative stride %lld", i,
                       (long long)g->strides[i]);
  return FNZ_OK;
}

/* A size of 0 counts as 1: otherwise a zero would hide sizes whose product no code can compute. */
static bool elements_fit(const fnz_geometry *g) {
  int64_t bytes = (int64_t)fnz_dtype_get_info(g->dtype)->bytes;
  for (uint32_t i = 0; i < g->rank; i++)
    if (!fnzi_mul_i64(bytes, g->sizes[i] ? g->sizes[i] : 1, &bytes))
      return false;
  return true;
}

static bool extent_fits(const fnz_geometry *g) {
  int64_t item = (int64_t)fnz_dtype_get_info(g->dtype)->bytes, bytes, low, high;
  return fnzi_extent(g, &low, &high) && fnzi_mul_i64(high, item, &bytes) &&
         fnzi_mul_i64(g->offset, item, &bytes);
}

static fnz_status too_large(fnz_context *ctx, const fnz_geometry *g, const char *what) {
  return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, NULL,
                   "the %s of a %s tensor of %u dimensions at offset %lld leaves 63 bits", what,
                   fnz_dtype_get_info(g->dtype)->name, g->rank, (long long)g->offset);
}

static fnz_status check_geometry(fnz_context *ctx, const fnz_geometry *g) {
  FNZ_TRY(check_sizes(ctx, g));
  if (!elements_fit(g))
    return too_large(ctx, g, "number of bytes");
  FNZ_TRY(check_window(ctx, g));
  return extent_fits(g) ? FNZ_OK : too_large(ctx, g, "last byte");
}

static bool has_symbols(const fnz_geometry *g) {
  for (uint32_t i = 0; g->symbols && i < 2 * g->rank + 1; i++)
    if (g->symbols[i])
      return true;
  return false;
}

/* What is equal between equal geometries, without gaps: a head, the offset, sizes, strides,
 * symbols. The interned geometry points into the very same bytes, so key and arrays are one block.
 */
enum { KEY_NUMBERS = 2 + 2 * FNZ_MAX_RANK + FNZ_MAX_RANK + 1 };

static size_t write_key(const fnz_geometry *g, bool symbolic, int64_t key[KEY_NUMBERS]) {
  size_t rank = g->rank;
  key[0] = (int64_t)g->dtype | (int64_t)g->rank << 8 | (int64_t)g->is_conj << 16 |
           (int64_t)g->is_neg << 17 | (int64_t)symbolic << 18;
  key[1] = g->offset;
  if (rank) {
    memcpy(key + 2, g->sizes, rank * sizeof *key);
    memcpy(key + 2 + rank, g->strides, rank * sizeof *key);
  }
  size_t size = (2 + 2 * rank) * sizeof *key;
  if (!symbolic)
    return size;
  memcpy(key + 2 + 2 * rank, g->symbols, (2 * rank + 1) * sizeof *g->symbols);
  return size + (2 * rank + 1) * sizeof *g->symbols;
}

static fnz_status keep_geometry(fnz_program *p, const fnz_geometry *g, const int64_t *key,
                                size_t size, bool symbolic, const fnz_geometry **out) {
  void *block;
  FNZ_TRY(fnzi_arena_alloc(&p->arena, 1, sizeof *g + size, &block));
  fnz_geometry *kept = block;
  int64_t *numbers = (int64_t *)(kept + 1);
  memcpy(numbers, key, size);
  *kept = *g;
  kept->sizes = numbers + 2;
  kept->strides = numbers + 2 + g->rank;
  kept->symbols = symbolic ? (const uint32_t *)(numbers + 2 + 2 * g->rank) : NULL;
  *out = kept;
  return fnzi_map_set(&p->geometries, numbers, size, as_number(kept));
}

static fnz_status find_geometry(fnz_program *p, const fnz_geometry *g, const fnz_geometry **out) {
  int64_t key[KEY_NUMBERS];
  uint64_t found;
  FNZ_TRY(check_geometry(p->ctx, g));
  bool symbolic = has_symbols(g);
  size_t size = write_key(g, symbolic, key);
  if (!fnzi_map_get(&p->geometries, key, size, &found))
    return keep_geometry(p, g, key, size, symbolic, out);
  *out = (const fnz_geometry *)(uintptr_t)found;
  return FNZ_OK;
}

/* Few geometries come again and again. */
static size_t recent_place(const fnz_geometry *g) {
  uint64_t h = (uint64_t)g->offset;
  for (uint32_t d = 0; d < g->rank && d <= FNZ_MAX_RANK; d++)
    h = h * 31 + (uint64_t)g->sizes[d] * 7 + (uint64_t)g->strides[d];
  return (h ^ h >> 7) % FNZI_RECENT;
}

fnz_status fnzi_intern_geometry(fnz_program *p, const fnz_geometry *g, const fnz_geometry **out) {
  const fnz_geometry **recent = &p->recent[recent_place(g)];
  *out = *recent;
  if (*recent && fnzi_geometry_equal(*recent, g))
    return FNZ_OK;
  *out = NULL;
  FNZ_TRY(find_geometry(p, g, out));
  *recent = *out;
  return FNZ_OK;
}

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

static fnz_status copy_other(fnz_program *p, fnzi_node *node) {
  fnzi_node_other other = *node->u.other;
  const char **names;
  if (other.arg_names) {
    FNZI_NEW(&p->arena, node->nargs, &names);
    for (uint32_t i = 0; i < node->nargs; i++)
      names[i] = other.arg_names[i];
    other.arg_names = names;
  }
  return fnzi_node_keep(p, node, &other);
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
  if (!copy.op)
    FNZ_TRY(copy_other(p, &copy));
  if (!copy.source)
    copy.source = "";
  return fnzi_node_append(p, graph, &copy, out);
}

/* --- weights and operators ------------------------------------------------------------------- */
fnz_status fnzi_weight_add(fnz_program *p, const char *name, fnzi_blob *blob,
                           const fnz_geometry *geometry) {
  fnzi_weight weight = {NULL, NULL, geometry};
  if (fnzi_weight_find(p, name))
    return fnzi_fail(p->ctx, FNZ_CLASS_DUPLICATE, NULL, "the tensor \"%s\" is declared twice",
                     name);
  FNZ_TRY(fnzi_intern(p, name, strlen(name), &weight.name));
  FNZ_TRY(fnzi_map_set(&p->weight_index, weight.name, strlen(name), p->weights.count));
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
    return fnzi_custom_op_add(p, builtin, out);
  return *out && fnzi_op_is_custom(*out) ? list_custom_op(p, *out) : FNZ_OK;
}

fnz_status fnzi_op_put_near(const fnz_program *p, const char *name, fnz_buffer *out) {
  return fnzi_put_near_op(p->ctx, p->custom_ops.data, p->custom_ops.count, name, out);
}

fnz_status fnzi_op_adopt(fnz_program *p, const fnz_op **op) {
  const fnz_op *own = fnzi_op_is_custom(*op) ? fnzi_op_find(p, (*op)->name) : *op;
  if (own == *op)
    return fnzi_op_is_custom(own) ? list_custom_op(p, own) : FNZ_OK;
  return fnzi_custom_op_add(p, (*op)->schema, op);
}
