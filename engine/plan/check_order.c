/* check_order.c - proves that an arranged program computes the same as its source. Each node of the
 * source that has an effect is there once, whole or as all of its items, after the producers of its
 * operands. Nodes that may draw random numbers are in the order of the source. */
#include "engine/plan/planner.h"

typedef struct order {
  fnz_context *ctx;
  const fnzi_graph *source, *arranged;
  bool *known;    /* per value */
  uint32_t *done; /* per node of the source: 0, or how many of its items are there; NONE: all */
  const uint32_t *origins; /* NULL: `node` is one of the source */
  uint32_t node;
  uint32_t drew;           /* 1 + the last node of the source that may have drawn; 0: none */
  const fnz_op **elements; /* per node of the source: the operator of its items; NULL until it is
                              looked up */
} order;

static fnz_status check_order_wrong(const order *o, const char *what) {
  return fnzi_fail(o->ctx, FNZ_CLASS_INTERNAL, "", "the arranged program is wrong: node %u: %s",
                   o->origins ? o->origins[o->node] : o->node, what);
}

static void check_order_know(order *o, const fnz_arg *args, size_t count) {
  FNZI_EACH_ARG(each, args, count)
    if (fnzi_is_reference(each.arg))
      o->known[each.arg->u.value] = true;
}

/* Returns whether `arg` is right for parameter k of the operator of one item. */
static bool is_item_arg(const fnzi_node *node, uint32_t k, uint32_t item, const fnz_arg *arg) {
  if (k >= node->nargs)
    return arg->tag == FNZ_ARG_DEFAULT;
  fnz_arg whole = fnzi_arg_get(node->op, node->args, node->nargs, k);
  bool picks = whole.tag == FNZ_ARG_LIST && arg->tag != FNZ_ARG_LIST && item < whole.count;
  const fnz_arg *wanted = picks ? &whole.u.list[item] : &whole;
  return arg->tag == wanted->tag && memcmp(&arg->u, &wanted->u, sizeof arg->u) == 0;
}

/* Returns the index of `one` in the list, found by its address; `count` if it is in none. */
static uint32_t item_of(const fnz_arg *list, const fnz_arg *one) {
  uintptr_t first = (uintptr_t)list->u.list, at = (uintptr_t)one;
  bool within = at >= first && (at - first) % sizeof *one == 0;
  return within && (at - first) / sizeof *one < list->count ? (uint32_t)((at - first) / sizeof *one)
                                                            : list->count;
}

static fnz_status check_item(const order *o, const fnzi_node *arranged, uint32_t origin) {
  const fnzi_node *node = &o->source->nodes.data[origin];
  const fnz_arg *list = &node->outputs[0];
  const fnz_op **element = &o->elements[origin];
  if (node->op && *element == NULL)
    *element = fnzi_foreach_element(node->op);
  bool ok = node->op && arranged->op == *element && node->noutputs == 1 &&
            list->tag == FNZ_ARG_LIST && arranged->noutputs == 1;
  uint32_t item = ok ? item_of(list, arranged->outputs) : 0;
  ok = ok && item < list->count && arranged->outputs[0].tag == FNZ_ARG_VALUE &&
       !o->known[arranged->outputs[0].u.value];
  for (uint32_t k = 0; ok && k < arranged->nargs; k++)
    ok = is_item_arg(node, k, item, &arranged->args[k]);
  if (!ok)
    return check_order_wrong(o, "it is no item of what it was made of");
  if (++o->done[origin] == list->count)
    o->done[origin] = FNZI_PLN_NONE;
  return FNZ_OK;
}

static fnz_status check_node(order *o, uint32_t origin) {
  const fnzi_node *arranged = &o->arranged->nodes.data[o->node], *node;
  if (origin >= o->source->nodes.count || o->done[origin] == FNZI_PLN_NONE)
    return check_order_wrong(o, "it is there twice");
  node = &o->source->nodes.data[origin];
  FNZI_EACH_ARG(each, arranged->args, arranged->nargs)
    if (fnzi_is_reference(each.arg) && !o->known[each.arg->u.value])
      return check_order_wrong(o, "an operand is made later");
  /* The node may draw random numbers: by its operator, or in the bodies of a region. */
  bool has_body = false;
  for (uint32_t k = 0; node->op == NULL && k < node->nargs; k++)
    has_body = has_body || node->args[k].tag == FNZ_ARG_GRAPH;
  if (has_body || (node->op != NULL && (node->op->tags & FNZI_TAG_RANDOM) != 0)) {
    if (origin + 1 < o->drew)
      return check_order_wrong(o, "it draws random numbers after one that stands behind it");
    o->drew = origin + 1;
  }
  if (arranged->op == node->op && arranged->args == node->args &&
      arranged->outputs == node->outputs)
    o->done[origin] = FNZI_PLN_NONE;
  else
    FNZ_TRY(check_item(o, arranged, origin));
  check_order_know(o, arranged->outputs, arranged->noutputs);
  return FNZ_OK;
}

static fnz_status check_order(order *o, fnzi_arena *arena) {
  FNZI_NEW(arena, o->source->values.count, &o->known);
  FNZI_NEW(arena, o->source->nodes.count, &o->done);
  FNZI_NEW(arena, o->source->nodes.count, &o->elements);
  check_order_know(o, o->arranged->inputs, o->arranged->ninputs);
  for (o->node = 0; o->node < o->arranged->nodes.count; o->node++)
    FNZ_TRY(check_node(o, o->origins[o->node]));
  o->origins = NULL;
  for (o->node = 0; o->node < o->source->nodes.count; o->node++)
    if (o->done[o->node] != FNZI_PLN_NONE &&
        !fnzi_pln_is_assertion(&o->source->nodes.data[o->node]))
      return check_order_wrong(o, "it is not there");
  return FNZ_OK;
}

fnz_status fnzi_pln_arrange_check(fnz_context *ctx, const fnz_program *source,
                                  const fnz_program *result, const fnzi_pln_order *arranged) {
  order o = {.ctx = ctx,
             .source = fnzi_graph_main(source),
             .arranged = fnzi_graph_main(result),
             .origins = arranged->origins};
  fnzi_arena arena;
  fnzi_arena_init(&arena, ctx);
  fnz_status status = check_order(&o, &arena);
  fnzi_arena_free(&arena);
  return status;
}
