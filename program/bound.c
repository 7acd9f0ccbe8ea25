/* bound.c - symbols that nothing gives a number.
 *
 * needs   a verified program, its expressions read
 * gives   a failure when a size or a number speaks of a symbol that no input and no node tells
 *
 * Inputs tell the symbols of their sizes, strides and offsets. Nodes tell those of their results,
 * but for nodes whose results follow from what they take: sizes of tensors, arithmetic and whatever
 * else is no operator, operators that PyTorch gives a rule for shapes without a look at data. What
 * a slice makes up follows from its bounds (slices.c). */
#include "program/higher_order.h"
#include "program/sizes.h"

typedef struct binder {
  const fnzi_sizes *s;
  uint8_t *told; /* per expression: an input or a node tells it, or what it is a part of */
} binder;

static void tell(binder *b, uint32_t symbol) {
  if (symbol && b->s->symbols[symbol])
    b->told[b->s->symbols[symbol]->id] = true;
}

static void tell_value(binder *b, const fnzi_value *v) {
  const fnz_geometry *g = v->geometry;
  tell(b, v->symbol);
  for (uint32_t i = 0; g && g->symbols && i < 2 * g->rank + 1; i++)
    tell(b, g->symbols[i]);
}

/* Composite operators are rows of others, which may look at data. */
static bool tells(const fnzi_node *node) {
  const fnz_op *op = node->op;
  if (!op)
    return fnzi_hop_is_known(node);
  if (fnzi_op_is_custom(op) || (op->tags & (FNZI_TAG_DYNAMIC_SHAPE | FNZI_TAG_DATA_DEPENDENT)))
    return true;
  return op->composite == FNZI_COMPOSITE_IMPLICIT && !op->is_view && !fnzi_is_size_node(node);
}

static void tell_graph(binder *b, const fnzi_graph *g) {
  for (size_t i = 0; i < g->values.count; i++) {
    const fnzi_value *v = &g->values.data[i];
    if (v->node == FNZI_NO_NODE || tells(&g->nodes.data[v->node]))
      tell_value(b, v);
  }
}

/* What is told, its parts, and what is made of nothing but these. */
static void spread(binder *b) {
  const fnzi_sizes *s = b->s;
  fnzi_mark_parts(s, s->set.all.count, b->told);
  for (size_t i = 0; i < s->set.all.count; i++) {
    const fnzi_expr *e = s->set.all.data[i];
    bool known = e->kind != FNZI_EXPR_SYMBOL;
    for (uint32_t k = 0; k < e->count && known; k++)
      known = b->told[e->parts[k].expr->id];
    b->told[i] |= known;
  }
}

static fnz_status check(const binder *b, const fnzi_value *v, uint32_t symbol) {
  const fnzi_expr *e = symbol ? b->s->symbols[symbol] : NULL;
  if (!e || b->told[e->id])
    return FNZ_OK;
  return fnzi_fail(b->s->set.ctx, FNZ_CLASS_REF, v->name,
                   "nothing tells what its %s is: no input has such a size, and no node reads it "
                   "off data; export the program again",
                   b->s->program->symbols.data[symbol].text);
}

static fnz_status check_graph(const binder *b, const fnzi_graph *graph) {
  for (size_t i = 0; i < graph->values.count; i++) {
    const fnzi_value *v = &graph->values.data[i];
    const fnz_geometry *g = v->geometry;
    FNZ_TRY(check(b, v, v->symbol));
    for (uint32_t d = 0; g && g->symbols && d < g->rank; d++)
      FNZ_TRY(check(b, v, g->symbols[d]));
  }
  return FNZ_OK;
}

fnz_status fnzi_sizes_check_told(fnzi_sizes *s) {
  binder b = {.s = s};
  FNZI_NEW(&s->set.arena, s->set.all.count, &b.told);
  for (size_t i = 0; i < s->program->graphs.count; i++)
    tell_graph(&b, &s->program->graphs.data[i]);
  spread(&b);
  for (size_t i = 0; i < s->program->graphs.count; i++)
    FNZ_TRY(check_graph(&b, &s->program->graphs.data[i]));
  return FNZ_OK;
}
