/* pt2_write_guards.c - conditions of a program as nodes that assert them, which PyTorch checks at
 * each run: sym_size, arithmetic, a comparison and _assert_scalar, as torch.export writes them.
 *
 * needs   a verified program
 * keeps   everything but the guards; values have the same numbers, nodes their order
 * gives   a copy that borrows arguments and strings. Each condition is asserted where its symbols
 *         are known: before anything else if inputs determine them */
#include "program/formats/pt2_write.h"

#include "program/shapes/computer.h"
#include "schema/aten_names.h"

/* Bits per expression. */
enum {
  IS_ASKED = 1, /* a condition, or a part of one */
  IS_KNOWN = 2, /* a symbol that a value before determines, or made of such ones */
  IS_SAID = 4,  /* a part of some size or number of the program */
  IS_LOST = 8   /* a symbol of a size that nothing determines, or made of one */
};

typedef struct asserter {
  fnz_context *ctx;
  const fnz_program *from;
  fnz_program *to;
  fnzi_sizes sizes;
  fnzi_point recorded;
  fnzi_computer computer; /* of graph 0 */
  fnzi_map said;          /* texts of conditions that are in the file without a node -> 1 */
  struct {
    const fnzi_expr **data; /* conditions that are not asserted yet */
    size_t count, capacity;
  } conditions;
  size_t own;    /* so many expressions, the first ones, are conditions and sizes */
  uint8_t *is;   /* of each of them */
  bool has_news; /* a symbol was determined since the last walk over the conditions */
} asserter;

/* --- expressions ------------------------------------------------------------------------------ */
/* Parts come before the expressions that contain them. */
static void mark_parts(asserter *a, uint8_t mark) {
  for (size_t i = a->own; i-- > 0;) {
    const fnzi_expr *e = a->sizes.set.all.data[i];
    for (uint32_t k = 0; (a->is[i] & mark) && k < e->count; k++)
      a->is[e->parts[k].expr->id] |= mark;
  }
}

static bool is_to_assert(const asserter *a, const fnz_guard *g) {
  uint64_t there;
  return g->kind == FNZ_GUARD_CONDITION &&
         !fnzi_map_get(&a->said, g->text, strlen(g->text), &there);
}

/* An expression is known if all its parts are known, and lost if any part is lost. */
static void follow(asserter *a) {
  for (size_t i = 0; i < a->own; i++) {
    const fnzi_expr *e = a->sizes.set.all.data[i];
    uint8_t all = IS_KNOWN, any = 0;
    for (uint32_t k = 0; k < e->count; k++) {
      all &= a->is[e->parts[k].expr->id];
      any |= a->is[e->parts[k].expr->id] & IS_LOST;
    }
    if (e->kind != FNZI_EXPR_SYMBOL)
      a->is[i] |= all | any;
  }
}

/* --- what values determine
 * ---------------------------------------------------------------------------
 */
static void determine(asserter *a, const fnzi_expr *symbol) {
  bool is_new = symbol->id < a->own && (a->is[symbol->id] & (IS_ASKED | IS_KNOWN)) == IS_ASKED;
  if (is_new)
    a->is[symbol->id] |= IS_KNOWN;
  a->has_news = a->has_news || is_new;
}

static fnz_status see(asserter *a, uint64_t value) {
  const fnzi_value *v = fnzi_value_at(a->to, 0, value);
  const fnz_geometry *g = v->geometry;
  if (v->symbol) {
    /* A scalar that is an input or was read from a tensor; scalars computed from others are
     * computed again. */
    const fnzi_expr *e = a->sizes.symbols[v->symbol];
    uint64_t there;
    if (!e || e->kind != FNZI_EXPR_SYMBOL || fnzi_is_float_symbol(e) ||
        fnzi_map_get(&a->computer.values, &e->id, sizeof e->id, &there))
      return FNZ_OK;
    determine(a, e);
    return fnzi_map_set(&a->computer.values, &e->id, sizeof e->id, value);
  }
  for (uint32_t d = 0; g && g->symbols && d < g->rank; d++)
    if (g->symbols[d] && a->sizes.symbols[g->symbols[d]]) {
      const fnzi_expr *size = a->sizes.symbols[g->symbols[d]];
      const fnzi_shapes_part whole = {size, 1, 1};
      const fnzi_shapes_part *parts = size->kind == FNZI_EXPR_SYMBOL ? &whole : size->parts;
      uint64_t unused;
      FNZ_TRY(fnzi_computer_see(&a->computer, value, d, size));
      for (uint32_t i = 0; i < (size->kind == FNZI_EXPR_SYMBOL ? 1 : size->count); i++)
        if (fnzi_map_get(&a->computer.origins, &parts[i].expr->id, sizeof parts[i].expr->id,
                         &unused))
          determine(a, parts[i].expr);
    }
  return FNZ_OK;
}

/* --- assertions ------------------------------------------------------------------------------- */
static fnz_status assert_one(asserter *a, const fnzi_expr *e) {
  const fnz_op *op = &fnzi_ops[FNZI_ATEN__assert_scalar];
  fnz_arg args[2] = {{.tag = FNZ_ARG_NONE}, {.tag = FNZ_ARG_STRING}};
  const char *message, *text;
  uint32_t at;
  FNZ_TRY(fnzi_expr_text(&a->sizes.set, e, &text));
  FNZ_TRY(fnzi_at(a->ctx, fnzi_compute(&a->computer, e, &args[0]), "guard %.80s", text));
  if (args[0].tag == FNZ_ARG_INT) { /* a constant, which PyTorch loads as a truth value only */
    if (args[0].u.i)
      return FNZ_OK;
    args[0] = (fnz_arg){.tag = FNZ_ARG_BOOL};
  }
  FNZ_TRY(fnzi_arena_format(&a->to->arena, &message, "the program is for sizes with %s", text));
  args[1].u.s = message;
  args[1].count = (uint32_t)strlen(message);
  const fnzi_node node = {.op = op, .args = args, .source = "", .nargs = 2};
  return fnzi_node_add(a->to, 0, &node, &at);
}

/* Whatever is known by now. */
static fnz_status assert_known(asserter *a) {
  size_t left = 0;
  if (!a->has_news)
    return FNZ_OK;
  a->has_news = false;
  follow(a);
  for (size_t i = 0; i < a->conditions.count; i++) {
    const fnzi_expr *e = a->conditions.data[i];
    if (a->is[e->id] & IS_KNOWN)
      FNZ_TRY(assert_one(a, e));
    else
      a->conditions.data[left++] = e;
  }
  a->conditions.count = left;
  return FNZ_OK;
}

/* A condition on symbols that no size has any more says nothing, and no run could check it. If a
 * size still has the symbols, the condition matters: a run at excluded sizes would not be
 * noticed. */
static fnz_status check_left(asserter *a) {
  const char *text;
  for (size_t i = 0; i < a->own; i++)
    if (a->sizes.set.all.data[i]->kind == FNZI_EXPR_SYMBOL &&
        (a->is[i] & (IS_KNOWN | IS_SAID)) == IS_SAID)
      a->is[i] |= IS_LOST;
  follow(a);
  for (size_t i = 0; i < a->conditions.count; i++) {
    if (!(a->is[a->conditions.data[i]->id] & IS_LOST))
      continue;
    FNZ_TRY(fnzi_expr_text(&a->sizes.set, a->conditions.data[i], &text));
    return fnzi_fail(
        a->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
        "the guard %s cannot be expressed in a .pt2 file, since no size of an input or "
        "a result has its symbols; export with narrower ranges",
        text);
  }
  return FNZ_OK;
}

/* --- the copy --------------------------------------------------------------------------------- */

static fnz_status add_nodes(asserter *a, uint32_t graph) {
  const fnzi_graph *g = fnzi_graph_at(a->from, graph);
  fnzi_source_node *made;
  uint32_t *places;
  FNZI_NEW(&a->to->arena, g->nodes.count, &places);
  for (size_t n = 0; n < g->nodes.count; n++) {
    /* Results have the same numbers, but perhaps a node further down. */
    FNZ_TRY(fnzi_node_append(a->to, graph, &g->nodes.data[n], &places[n]));
    FNZI_EACH_ARG(each, g->nodes.data[n].outputs, g->nodes.data[n].noutputs) {
      if (!fnzi_is_reference(each.arg))
        continue;
      fnzi_value_at(a->to, graph, each.arg->u.value)->node = places[n];
      if (graph == 0)
        FNZ_TRY(see(a, each.arg->u.value));
    }
    if (graph == 0)
      FNZ_TRY(assert_known(a));
  }
  if (!g->source_nodes)
    return FNZ_OK;
  fnzi_graph *to = fnzi_graph_at(a->to, graph);
  FNZI_NEW(&a->to->arena, to->nodes.count, &made);
  for (size_t n = 0; n < to->nodes.count; n++)
    made[n] = (fnzi_source_node){0, FNZI_NO_NODE};
  for (size_t n = 0; n < g->nodes.count; n++)
    made[places[n]] = g->source_nodes[n];
  to->source_nodes = made;
  return FNZ_OK;
}

static fnz_status add_graph(asserter *a, uint32_t graph) {
  const fnzi_graph *g = fnzi_graph_at(a->from, graph);
  uint32_t at;
  FNZ_TRY(fnzi_graph_add(a->to, g->name, &at));
  const fnzi_graph *from = fnzi_graph_at(a->from, graph);
  for (size_t i = 0; i < from->values.count; i++) {
    const fnzi_value *v = &from->values.data[i];
    uint32_t value;
    FNZ_TRY(fnzi_value_add(a->to, graph, v->name, v->geometry, v->node, &value));
    fnzi_value_at(a->to, graph, value)->symbol = v->symbol;
  }
  fnzi_graph *to = fnzi_graph_at(a->to, graph);
  to->inputs = g->inputs;
  to->outputs = g->outputs;
  to->ninputs = g->ninputs;
  to->noutputs = g->noutputs;
  to->returns_single = g->returns_single;
  if (graph == 0) {
    const fnzi_graph *first = fnzi_graph_main(a->to);
    a->has_news = true; /* there may be conditions without symbols */
    for (uint32_t k = 0; k < first->ninputs; k++)
      if (fnzi_is_reference(&first->inputs[k]))
        FNZ_TRY(see(a, first->inputs[k].u.value));
    FNZ_TRY(assert_known(a));
  }
  return add_nodes(a, graph);
}

static fnz_status add_heading(asserter *a) {
  const fnz_program *from = a->from;
  uint32_t at;
  a->to->torch_version = from->torch_version;
  a->to->schema_major = from->schema_major;
  a->to->schema_minor = from->schema_minor;
  a->to->is_rewritten = from->is_rewritten;
  a->to->inputs = from->inputs;
  a->to->outputs = from->outputs;
  if (from->extras)
    a->to->extras = fnzi_extras_retain(from->extras);
  for (size_t i = 1; i < from->symbols.count; i++) {
    const fnzi_symbol *s = &from->symbols.data[i];
    FNZ_TRY(fnzi_symbol_add(a->to, s->text, s->has_hint, s->hint, &at));
  }
  for (size_t i = 0; i < from->ranges.count; i++) {
    const fnzi_range *r = &from->ranges.data[i];
    FNZ_TRY(fnzi_range_add(a->to, r->symbol, r->min, r->max));
  }
  for (size_t i = 0; i < from->weights.count; i++) {
    const fnzi_weight *w = &from->weights.data[i];
    FNZ_TRY(fnzi_weight_add(a->to, w->name, w->blob, w->geometry));
  }
  return FNZ_OK;
}

static fnz_status copy(asserter *a) {
  bool complete;
  FNZ_TRY(fnzi_sizes_open(&a->sizes, a->ctx, a->from));
  FNZ_TRY(fnzi_sizes_recorded(&a->sizes, &a->recorded, &complete));
  FNZ_TRY(fnzi_program_create(a->ctx, &a->to));
  FNZ_TRY(add_heading(a));
  for (size_t i = 0; i < a->from->guards.count; i++)
    if (is_to_assert(a, &a->from->guards.data[i])) {
      /* The parts of a conjunction one by one: each has a message of its own. */
      const fnzi_expr *e;
      FNZ_TRY(fnzi_expr_parse(&a->sizes.set, a->from->guards.data[i].text,
                              strlen(a->from->guards.data[i].text), &e));
      bool is_all = e->kind == FNZI_EXPR_CALL && e->function == FNZI_FUNCTION_AND;
      for (uint32_t k = 0; is_all && k < e->count; k++)
        FNZI_PUSH(a->ctx, &a->conditions, e->parts[k].expr);
      if (!is_all)
        FNZI_PUSH(a->ctx, &a->conditions, e);
    }
  a->own = a->sizes.set.all.count;
  FNZI_NEW(&a->to->arena, a->own, &a->is);
  for (size_t i = 0; i < a->conditions.count; i++)
    a->is[a->conditions.data[i]->id] |= IS_ASKED;
  for (size_t i = 1; i < a->from->symbols.count; i++)
    if (a->sizes.symbols[i])
      a->is[a->sizes.symbols[i]->id] |= IS_SAID;
  mark_parts(a, IS_ASKED);
  mark_parts(a, IS_SAID);
  a->computer.sizes = &a->sizes;
  a->computer.recorded = &a->recorded;
  a->computer.from = a->from;
  a->computer.to = a->to;
  a->computer.source = fnzi_graph_main(a->from);
  for (size_t i = 0; i < a->from->graphs.count; i++)
    FNZ_TRY(add_graph(a, (uint32_t)i));
  return check_left(a);
}

fnz_status fnzi_pt2_assert_guards(fnz_context *ctx, const fnz_program *p, fnz_program **out) {
  asserter a = {.ctx = ctx, .from = p};
  *out = NULL;
  fnzi_map_init(&a.said, ctx);
  fnzi_point_init(&a.recorded, &a.sizes.set);
  fnzi_computer_start(&a.computer, ctx);
  /* guards_code is written as it was read. */
  const fnzi_extras *x = a.from->extras;
  fnz_status status = FNZ_OK;
  for (size_t i = 0; x && i < x->texts.count && status == FNZ_OK; i++)
    if (x->texts.data[i].kind == FNZI_EXTRA_GUARD)
      status = fnzi_map_set(&a.said, x->texts.data[i].key, strlen(x->texts.data[i].key), 1);
  /* That written inputs share no memory is what .pt2 files always mean. */
  bool has_conditions = false;
  for (size_t i = 0; !has_conditions && i < a.from->guards.count; i++)
    has_conditions = is_to_assert(&a, &a.from->guards.data[i]);
  if (status == FNZ_OK && has_conditions)
    status = copy(&a);
  fnzi_map_free(&a.said);
  fnzi_computer_end(&a.computer);
  FNZI_VEC_FREE(ctx, &a.conditions);
  fnzi_point_free(&a.recorded);
  fnzi_sizes_close(&a.sizes);
  if (status == FNZ_OK)
    *out = a.to;
  else
    fnz_program_destroy(a.to);
  return status;
}
