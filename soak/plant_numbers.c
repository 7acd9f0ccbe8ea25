/* plant_numbers.c - mistakes in numbers, in what decides a branch or a loop, and in assertions. */
#include "soak/plant_edit.h"

#include <stdio.h>

/* --- numbers and their texts ----------------------------------------------------------------- */
enum { MOST_TEXT = 400 };

/* The text of a number in the program; false when it has none. */
static bool plant_text_of(const fnz_program *p, const fnzi_graph *g, const fnz_arg *arg,
                          char out[MOST_TEXT]) {
  if (arg->tag == FNZ_ARG_INT)
    return snprintf(out, MOST_TEXT, "%lld", (long long)arg->u.i) > 0;
  uint32_t symbol = arg->tag == FNZ_ARG_SYMBOL ? g->values.data[arg->u.value].symbol : 0;
  return symbol && snprintf(out, MOST_TEXT, "(%s)", p->symbols.data[symbol].text) < MOST_TEXT;
}

/* How expressions write an operator on two numbers: before, between and behind them. */
typedef struct spelling {
  const char *target, *before, *between, *behind;
} spelling;

static const spelling spellings[] = {
    {"_operator.add", "", " + ", ""},
    {"_operator.sub", "", " - ", ""},
    {"_operator.mul", "", "*", ""},
    {"_operator.gt", "", " > ", ""},
    {"_operator.ge", "", " >= ", ""},
    {"_operator.lt", "", " < ", ""},
    {"_operator.le", "", " <= ", ""},
    {"_operator.eq", "Eq(", ", ", ")"},
    {"_operator.ne", "Ne(", ", ", ")"},
    {"_operator.mod", "Mod(", ", ", ")"},
    {"_operator.floordiv", "FloorDiv(", ", ", ")"},
};

static const spelling *spelling_of(const fnzi_node *n) {
  for (size_t i = 0; !n->op && i < sizeof spellings / sizeof *spellings; i++)
    if (strcmp(fnzi_node_target(n), spellings[i].target) == 0)
      return &spellings[i];
  return NULL;
}

/* The result's recorded expression follows what the node computes now: a file that says two things
 * of one number is refused. */
static fnz_status retext(fnzi_planting *t, fnzi_graph *g, const fnzi_node *n) {
  char a[MOST_TEXT], b[MOST_TEXT];
  const spelling *s = spelling_of(n);
  const char *text;
  if (!s || n->nargs != 2 || n->noutputs != 1 || n->outputs[0].tag != FNZ_ARG_SYMBOL)
    return FNZ_OK;
  fnzi_value *v = &g->values.data[n->outputs[0].u.value];
  if (!v->symbol || !plant_text_of(t->p, g, &n->args[0], a) ||
      !plant_text_of(t->p, g, &n->args[1], b))
    return FNZ_OK;
  FNZ_TRY(
      fnzi_arena_format(&t->p->arena, &text, "%s%s%s%s%s", s->before, a, s->between, b, s->behind));
  return fnzi_symbol_add(t->p, text, false, 0, &v->symbol);
}

/* --- numbers --------------------------------------------------------------------------------- */
fnz_status fnzi_plant_number_output(fnzi_planting *t) {
  const fnzi_graph *g = fnzi_graph_main(t->p);
  for (uint32_t k = 0; k < g->noutputs; k++) {
    fnz_tag tag = (fnz_tag)g->outputs[k].tag;
    bool is_number =
        tag == FNZ_ARG_INT || tag == FNZ_ARG_FLOAT || tag == FNZ_ARG_BOOL || tag == FNZ_ARG_SYMBOL;
    if (is_number && fnzi_output_is_result(&t->p->outputs[k]) && fnzi_plant_here(t)) {
      /* A literal in place of the number. */
      fnz_arg *arg = &g->outputs[k];
      const fnzi_value *own = arg->tag == FNZ_ARG_SYMBOL ? &g->values.data[arg->u.value] : NULL;
      if (!own && arg->tag != FNZ_ARG_BOOL)
        return fnzi_plant_change_number(
            t, &(fnzi_plant_at){.arg = arg, .node = (uint32_t)g->nodes.count});
      int64_t hint = own && own->symbol ? t->p->symbols.data[own->symbol].hint : arg->u.i;
      *arg = own ? fnzi_arg_int(hint + 1) : (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = !hint};
      return fnzi_plant_note(t, "output %u becomes %lld", k, (long long)arg->u.i);
    }
  }
  return FNZ_OK;
}

fnz_status fnzi_plant_number_constant(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_item(t, &at);) {
    if (!spelling_of(at.n) || at.arg->tag != FNZ_ARG_INT || !fnzi_plant_here(t))
      continue;
    FNZ_TRY(fnzi_plant_change_number(t, &at));
    return retext(t, at.g, at.n);
  }
  return FNZ_OK;
}

static fnz_status change_operator(fnzi_planting *t, const fnzi_plant_at *at, const char *name) {
  const char *was = fnzi_node_target(at->n);
  bool done;
  FNZ_TRY(fnzi_plant_set_operator(t, at->n, name, &done));
  if (!done)
    return FNZ_OK;
  FNZ_TRY(retext(t, at->g, at->n));
  return fnzi_plant_note_node(t, at->graph, at->node, "it was %s", was);
}

fnz_status fnzi_plant_number_operator(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_node(t, &at);) {
    const spelling *s = spelling_of(at.n);
    if (!s || !fnzi_plant_here(t))
      continue;
    const spelling *other = s > spellings ? s - 1 : s + 1;
    return change_operator(t, &at, other->target);
  }
  return FNZ_OK;
}

/* --- what decides a branch, or is asserted ---------------------------------------------------- */
/* The values that decide, per graph: worked out when a walk comes to the graph. */
typedef struct causes {
  uint8_t *marks;
  uint32_t graph;
  bool of_assertions;
} causes;

/* The node at which the walk is, is one of them. */
static fnz_status is_cause(fnzi_planting *t, causes *c, const fnzi_plant_at *at, bool *out) {
  if (!c->marks || c->graph != at->graph)
    FNZ_TRY(fnzi_plant_causes(t, at->graph, c->of_assertions, &c->marks));
  c->graph = at->graph;
  *out = false;
  for (uint32_t i = 0; i < at->n->noutputs; i++)
    *out = *out || (fnzi_is_reference(&at->n->outputs[i]) && c->marks[at->n->outputs[i].u.value]);
  return FNZ_OK;
}

static fnz_status change_comparison(fnzi_planting *t, bool of_assertions) {
  causes c = {.of_assertions = of_assertions};
  for (fnzi_plant_at at = {0}; fnzi_plant_next_node(t, &at);) {
    bool is;
    FNZ_TRY(is_cause(t, &c, &at, &is));
    const char *other = is ? fnzi_plant_other_comparison(t, at.n) : NULL;
    if (other && fnzi_plant_here(t))
      return change_operator(t, &at, other);
  }
  return FNZ_OK;
}

fnz_status fnzi_plant_predicate_operator(fnzi_planting *t) {
  return change_comparison(t, false);
}

fnz_status fnzi_plant_assert_operator(fnzi_planting *t) {
  return change_comparison(t, true);
}

/* Which items of causes are changed, and how. */
typedef enum cause_change { CHANGE_NUMBER, CHANGE_TO_BEFORE, CHANGE_TO_OTHER } cause_change;

static bool can_change(fnzi_planting *t, const fnzi_plant_at *at, cause_change how, uint64_t *to) {
  if (how == CHANGE_NUMBER)
    return fnzi_plant_is_operand_number(at) || (spelling_of(at->n) && at->arg->tag == FNZ_ARG_INT);
  if (at->arg->tag != FNZ_ARG_VALUE)
    return false;
  return how == CHANGE_TO_BEFORE ? fnzi_plant_before(at->g, at->arg->u.value, to)
                                 : fnzi_plant_other(t, at->g, at->arg->u.value, at->node, to);
}

static fnz_status change_cause(fnzi_planting *t, bool of_assertions, cause_change how) {
  causes c = {.of_assertions = of_assertions};
  for (fnzi_plant_at at = {0}; fnzi_plant_next_item(t, &at);) {
    uint64_t to = 0;
    bool is;
    FNZ_TRY(is_cause(t, &c, &at, &is));
    if (!is || !can_change(t, &at, how, &to) || !fnzi_plant_here(t))
      continue;
    if (how != CHANGE_NUMBER)
      return fnzi_plant_change_value(t, &at, to);
    FNZ_TRY(fnzi_plant_change_number(t, &at));
    return retext(t, at.g, at.n);
  }
  return FNZ_OK;
}

fnz_status fnzi_plant_predicate_constant(fnzi_planting *t) {
  return change_cause(t, false, CHANGE_NUMBER);
}

fnz_status fnzi_plant_assert_constant(fnzi_planting *t) {
  return change_cause(t, true, CHANGE_NUMBER);
}

fnz_status fnzi_plant_predicate_stale(fnzi_planting *t) {
  return change_cause(t, false, CHANGE_TO_BEFORE);
}

/* The predicate itself may be another truth value, too. */
fnz_status fnzi_plant_predicate_operand(fnzi_planting *t) {
  return change_cause(t, false, CHANGE_TO_OTHER);
}
