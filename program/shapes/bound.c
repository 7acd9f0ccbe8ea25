/* bound.c - finds the symbols of a program that no input and no node gives a number.
 *
 * needs   a verified program, its expressions read
 * gives   a failure when a size or a number has a symbol that no input and no node determines
 *
 * Inputs determine the symbols of their sizes, where these are as many as the symbols, strides and
 * offsets. Nodes determine the one symbol that a result of theirs is, times a number and plus one.
 * Excluded are nodes whose results follow from their arguments: sizes of tensors, arithmetic and
 * anything else that is no operator, and operators that PyTorch gives a rule for shapes without a
 * look at data. The symbols that a slice introduces follow from its bounds (derived_symbols.c). */
#include "program/region_ops.h"
#include "program/shapes/sizes.h"

typedef struct binder {
  const fnzi_sizes *s;
  uint8_t *determined; /* per expression: it, or one that contains it, is determined */
} binder;

static void mark(const binder *b, uint32_t symbol, uint8_t *marks) {
  if (symbol && b->s->symbols[symbol])
    marks[b->s->symbols[symbol]->id] = true;
}

/* Parts come before the expressions that contain them. */
void fnzi_mark_parts(const fnzi_sizes *s, size_t count, uint8_t *marks) {
  for (size_t i = count; i-- > 0;) {
    const fnzi_expr *e = s->set.all.data[i];
    for (uint32_t k = 0; marks[i] && k < e->count; k++)
      marks[e->parts[k].expr->id] = true;
  }
}

/* --- inputs ----------------------------------------------------------------------------------- */
/* Per expression: the one symbol that it is made of, once or more; NULL for none or several. */
static void find_only_symbols(const fnzi_sizes *s, const fnzi_expr **only) {
  for (size_t i = 0; i < s->set.all.count; i++) {
    const fnzi_expr *e = s->set.all.data[i];
    bool several = false;
    only[i] = e->kind == FNZI_EXPR_SYMBOL ? e : NULL;
    for (uint32_t k = 0; k < e->count; k++) {
      const fnzi_expr *part = e->parts[k].expr;
      several = several || (!only[part->id] && part->kind > FNZI_EXPR_REAL) ||
                (only[i] && only[part->id] && only[i] != only[part->id]);
      only[i] = only[part->id] ? only[part->id] : only[i];
    }
    only[i] = several ? NULL : only[i];
  }
}

/* Fewer sizes than symbols do not determine these, but for sizes that have one symbol. */
static fnz_status determine_inputs(binder *b, fnzi_arena *arena) {
  const fnzi_sizes *s = b->s;
  size_t count = s->set.all.count, nsizes = 0, nsymbols = 0;
  uint8_t *sizes, *parts;
  const fnzi_expr **only;
  FNZI_NEW(arena, count, &sizes);
  FNZI_NEW(arena, count, &parts);
  FNZI_NEW(arena, count, &only);
  for (size_t i = 0; i < s->program->graphs.count; i++) {
    /* The sizes and numbers that inputs are, and apart from them strides and offsets. */
    const fnzi_graph *g = &s->program->graphs.data[i];
    for (size_t k = 0; k < g->values.count; k++) {
      const fnzi_value *v = &g->values.data[k];
      const fnz_geometry *shape = v->geometry;
      if (v->node != FNZI_NO_NODE)
        continue;
      mark(b, v->symbol, sizes);
      for (uint32_t d = 0; shape && shape->symbols && d < 2 * shape->rank + 1; d++)
        mark(b, shape->symbols[d], d < shape->rank ? sizes : b->determined);
    }
  }
  memcpy(parts, sizes, count);
  fnzi_mark_parts(s, count, parts);
  find_only_symbols(s, only);
  for (size_t i = 0; i < count; i++) {
    nsizes += sizes[i] && s->set.all.data[i]->kind != FNZI_EXPR_NUMBER;
    nsymbols += parts[i] && s->set.all.data[i]->kind == FNZI_EXPR_SYMBOL;
  }
  for (size_t i = 0; i < count; i++)
    b->determined[i] |= sizes[i] && (nsymbols <= nsizes || only[i]);
  return FNZ_OK;
}

/* --- nodes ------------------------------------------------------------------------------------ */
static bool is_truth(const fnzi_sizes *s, const fnzi_expr *symbol) {
  for (size_t i = 0; i < s->conditions.count; i++) {
    const fnzi_condition *c = &s->conditions.data[i];
    if (c->expr == symbol && c->kind == FNZI_CONDITION_RANGE && c->min == 0 && c->max == 1)
      return true;
  }
  return false;
}

bool fnzi_is_read_truth(const fnzi_sizes *s, const fnzi_expr *e, const fnzi_expr **symbol) {
  *symbol = e->kind == FNZI_EXPR_CALL ? e->parts[0].expr : NULL;
  return *symbol && e->function == FNZI_FUNCTION_EQ && fnzi_is_data_symbol(*symbol) &&
         fnzi_expr_is(e->parts[1].expr, 1) && is_truth(s, *symbol);
}

static void determine(binder *b, uint32_t symbol) {
  const fnzi_expr *e = symbol ? b->s->symbols[symbol] : NULL, *of;
  if (e && (fnzi_expr_is_linear(e, &of) || fnzi_is_read_truth(b->s, e, &of)))
    b->determined[of->id] = true;
}

/* The sizes of its results, and numbers, may depend on data. Composite operators are rows of
 * others, which may look at data. */
static bool may_determine(const fnzi_node *node) {
  const fnz_op *op = node->op;
  if (!op)
    return fnzi_hop_is_known(node);
  if (fnzi_op_is_custom(op) || (op->tags & (FNZI_TAG_DYNAMIC_SHAPE | FNZI_TAG_DATA_DEPENDENT)))
    return true;
  return op->composite == FNZI_COMPOSITE_IMPLICIT && !op->is_view && !fnzi_is_size_node(node);
}

static fnz_status check(const binder *b, const fnzi_value *v, uint32_t symbol) {
  const fnzi_expr *e = symbol ? b->s->symbols[symbol] : NULL;
  if (!e || b->determined[e->id])
    return FNZ_OK;
  return fnzi_fail(b->s->set.ctx, FNZ_CLASS_REF, v->name,
                   "nothing determines its %s: no input has such a size, and no node reads it "
                   "off data; export the program again",
                   b->s->program->symbols.data[symbol].text);
}

fnz_status fnzi_sizes_check_determined(fnzi_sizes *s) {
  binder b = {.s = s};
  FNZI_NEW(&s->set.arena, s->set.all.count, &b.determined);
  FNZ_TRY(determine_inputs(&b, &s->set.arena));
  for (size_t i = 0; i < s->program->graphs.count; i++) {
    const fnzi_graph *graph = &s->program->graphs.data[i];
    for (size_t k = 0; k < graph->values.count; k++) {
      const fnzi_value *v = &graph->values.data[k];
      const fnz_geometry *g = v->geometry;
      if (v->node == FNZI_NO_NODE || !may_determine(&graph->nodes.data[v->node]))
        continue;
      determine(&b, v->symbol);
      for (uint32_t d = 0; g && g->symbols && d < 2 * g->rank + 1; d++)
        determine(&b, g->symbols[d]);
    }
  }
  /* Determined are the parts of determined expressions, and expressions that have only such. */
  fnzi_mark_parts(s, s->set.all.count, b.determined);
  for (size_t i = 0; i < s->set.all.count; i++) {
    const fnzi_expr *e = s->set.all.data[i];
    bool known = e->kind != FNZI_EXPR_SYMBOL;
    for (uint32_t k = 0; k < e->count && known; k++)
      known = b.determined[e->parts[k].expr->id];
    b.determined[i] |= known;
  }
  for (size_t i = 0; i < s->program->graphs.count; i++) {
    const fnzi_graph *graph = &s->program->graphs.data[i];
    for (size_t k = 0; k < graph->values.count; k++) {
      const fnzi_value *v = &graph->values.data[k];
      const fnz_geometry *g = v->geometry;
      FNZ_TRY(check(&b, v, v->symbol));
      for (uint32_t d = 0; g && g->symbols && d < g->rank; d++)
        FNZ_TRY(check(&b, v, g->symbols[d]));
    }
  }
  return FNZ_OK;
}
