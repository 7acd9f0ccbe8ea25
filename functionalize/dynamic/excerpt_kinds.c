/* excerpt_kinds.c - keeps one of several nodes that are alike: a type rule treats all of them the
 * same way.
 *
 * needs   a verified program with symbols, of one graph, without in-place views
 * gives   a program whose nodes take inputs only, one for each type and symbol; nodes are alike
 *         that have the same operator and arguments, tensors of the same types. Nodes without a
 *         symbolic size are left out: reading the program has checked them */
#include "functionalize/dynamic/excerpt.h"

typedef struct copier {
  fnz_context *ctx;
  const fnzi_reach *reach;
  uint64_t symbols;        /* which the nodes depend on */
  const fnzi_graph *graph; /* of `from` */
  fnz_program *to;
  fnzi_arena arena;
  fnzi_map nodes;  /* text of a node: there is one like it */
  fnzi_map inputs; /* what identifies an input, a type or a symbol -> its value */
  struct {
    fnz_arg *data;
    size_t count, capacity;
  } list; /* of inputs */
  fnz_buffer text;
} copier;

/* --- texts ------------------------------------------------------------------------------------ */
static fnz_status put(copier *c, uint64_t number) {
  return fnzi_put(c->ctx, &c->text, &number, sizeof number);
}

static fnz_status put_item(copier *c, const fnz_arg *arg) {
  const fnzi_value *v = fnzi_is_reference(arg) ? &c->graph->values.data[arg->u.value] : NULL;
  FNZ_TRY(put(c, arg->tag));
  if (arg->tag == FNZ_ARG_COMPLEX) {
    FNZ_TRY(put(c, (uint64_t)arg->u.list[0].u.i));
    return put(c, (uint64_t)arg->u.list[1].u.i);
  }
  if (!v)
    return put(c, (uint64_t)arg->u.i); /* texts are interned */
  return put(c, v->geometry ? (uint64_t)(uintptr_t)v->geometry : v->symbol);
}

static fnz_status put_args(copier *c, const fnz_arg *args, size_t count) {
  fnzi_walk walk;
  fnzi_walk_start(&walk, args, count);
  for (fnzi_step step; (step = fnzi_walk_next(&walk)) != FNZI_STEP_END;) {
    FNZ_TRY(put(c, step));
    if (step == FNZI_STEP_ITEM)
      FNZ_TRY(put_item(c, walk.arg));
  }
  return put(c, FNZI_STEP_END);
}

/* *is_new: it has the symbols, and no node like it was seen before. */
static fnz_status meet(copier *c, const fnzi_node *node, bool *is_new) {
  uint64_t unused;
  void *key;
  c->text.size = 0;
  *is_new = false;
  if (fnzi_reach_node(c->reach, node) != c->symbols)
    return FNZ_OK;
  FNZ_TRY(put(c, (uint64_t)(uintptr_t)node->op));
  FNZ_TRY(put_args(c, node->args, node->nargs));
  FNZ_TRY(put_args(c, node->outputs, node->noutputs));
  if (fnzi_map_get(&c->nodes, c->text.data, c->text.size, &unused))
    return FNZ_OK;
  *is_new = true;
  FNZ_TRY(fnzi_arena_alloc(&c->arena, c->text.size, 1, &key));
  memcpy(key, c->text.data, c->text.size);
  return fnzi_map_set(&c->nodes, key, c->text.size, 1);
}

/* --- values ----------------------------------------------------------------------------------- */
static fnz_status add_value(copier *c, const fnzi_value *v, uint32_t node, uint32_t *out) {
  const fnz_geometry *g = v->geometry;
  if (g)
    FNZ_TRY(fnzi_intern_geometry(c->to, g, &g));
  FNZ_TRY(fnzi_value_add_fresh(c->to, 0, "value", g, node, out));
  fnzi_value_at(c->to, 0, *out)->symbol = v->symbol;
  return FNZ_OK;
}

/* Numbers are identified by their symbols, which are no addresses. */
static fnz_status find_input(copier *c, const fnz_arg *arg, uint64_t *out) {
  const fnzi_value *v = &c->graph->values.data[arg->u.value];
  uint64_t *key;
  uint32_t value;
  FNZI_NEW(&c->arena, 1, &key);
  *key = v->geometry ? (uint64_t)(uintptr_t)v->geometry : v->symbol;
  if (fnzi_map_get(&c->inputs, key, sizeof *key, out))
    return FNZ_OK;
  FNZ_TRY(add_value(c, v, FNZI_NO_NODE, &value));
  *out = value;
  FNZI_PUSH(c->ctx, &c->list, ((fnz_arg){.tag = arg->tag, .u.value = value}));
  return fnzi_map_set(&c->inputs, key, sizeof *key, value);
}

/* --- nodes ------------------------------------------------------------------------------------ */
static fnz_status map_args(copier *c, const fnz_arg *args, size_t count, uint32_t node,
                           fnz_arg **out) {
  FNZ_TRY(fnzi_args_copy(c->to, args, count, out));
  FNZI_EACH_ARG(each, *out, count) {
    fnz_arg *arg = fnzi_each_own(&each);
    uint32_t made;
    if (!fnzi_is_reference(arg))
      continue;
    if (node == FNZI_NO_NODE) {
      FNZ_TRY(find_input(c, arg, &arg->u.value));
      continue;
    }
    FNZ_TRY(add_value(c, &c->graph->values.data[arg->u.value], node, &made));
    arg->u.value = made;
  }
  return FNZ_OK;
}

static fnz_status add_node(copier *c, const fnzi_node *node) {
  fnzi_node made = *node;
  uint32_t at = (uint32_t)fnzi_graph_at(c->to, 0)->nodes.count;
  FNZ_TRY(map_args(c, node->args, node->nargs, FNZI_NO_NODE, &made.args));
  FNZ_TRY(map_args(c, node->outputs, node->noutputs, at, &made.outputs));
  FNZ_TRY(fnzi_op_adopt(c->to, &made.op));
  return fnzi_node_append(c->to, 0, &made, &at);
}

/* Sizes are computed elsewhere. */
static fnz_status fill(copier *c) {
  FNZ_TRY(fnzi_excerpt_start(c->ctx, c->reach, c->symbols, &c->to));
  for (size_t n = 0; n < c->graph->nodes.count; n++) {
    const fnzi_node *node = &c->graph->nodes.data[n];
    bool is_new = false;
    if (node->op && !fnzi_is_size_node(node))
      FNZ_TRY(meet(c, node, &is_new));
    if (is_new)
      FNZ_TRY(add_node(c, node));
  }
  FNZ_TRY(fnzi_graph_set_inputs(c->to, 0, c->list.count));
  for (size_t k = 0; k < c->list.count; k++) {
    const fnz_arg *arg = &c->list.data[k];
    fnzi_graph_at(c->to, 0)->inputs[k] = *arg;
    c->to->inputs[k] = (fnz_input_spec){.kind = FNZ_INPUT_USER,
                                        .target = fnzi_value_at(c->to, 0, arg->u.value)->name};
  }
  FNZ_TRY(fnzi_graph_set_outputs(c->to, 0, 0));
  return fnz_program_verify(c->ctx, c->to);
}

fnz_status fnzi_excerpt_kinds(fnz_context *ctx, const fnzi_reach *reach, uint64_t symbols,
                              fnz_program **out) {
  copier c = {.ctx = ctx, .reach = reach, .symbols = symbols, .graph = reach->graph};
  fnzi_arena_init(&c.arena, ctx);
  fnzi_map_init(&c.nodes, ctx);
  fnzi_map_init(&c.inputs, ctx);
  fnz_status status = fill(&c);
  fnzi_map_free(&c.nodes);
  fnzi_map_free(&c.inputs);
  fnzi_arena_free(&c.arena);
  FNZI_VEC_FREE(ctx, &c.list);
  fnz_buffer_free(ctx, &c.text);
  *out = status == FNZ_OK ? c.to : NULL;
  if (status != FNZ_OK)
    fnz_program_destroy(c.to);
  return status;
}
