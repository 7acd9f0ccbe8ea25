/* guards.c - answers that a pass can neither prove nor choose safely: they are as at the recorded
 * sizes, and a guard keeps them so.
 *
 * A pass that stops names nodes. The next pass decides the questions of these nodes. If it stops
 * there again, the symbols of the node keep their recorded numbers.
 *
 * needs   sizes of an example, at which a guard has to hold. Numbers of data, which an example
 *         lacks, are drawn
 * gives   a fact, and a guard of the program that is made, with the question that it answers */
#include "program/shapes/ints.h"

static fnz_status guards_add(fnzi_ints *s, fnzi_function relation, fnzi_int a, fnzi_int b,
                             const char *question) {
  const fnzi_expr *sides[2];
  fnzi_ints_guard guard = {.question = question, .about = s->at};
  FNZ_TRY(fnzi_ints_expr(s, a, &sides[0]));
  FNZ_TRY(fnzi_ints_expr(s, b, &sides[1]));
  FNZ_TRY(fnzi_expr_call(s->set, relation, sides, 2, &guard.condition));
  FNZI_PUSH(s->set->ctx, &s->guards, guard);
  return fnzi_size_facts_add_condition(&s->facts, guard.condition);
}

bool fnzi_int_require_not(fnzi_ints *s, fnzi_int a, int64_t number, const char *question) {
  int64_t here;
  if (s->at.graph != 0 || !fnzi_ints_recorded(s, a, &here) || here == number)
    return false;
  return fnzi_ints_worked(s, guards_add(s, FNZI_FUNCTION_NE, a, fnzi_int_of(number), question));
}

/* --- Nodes that decide ------------------------------------------------------------------------ */
/* After so many passes all nodes decide: a program of 1,000 layers that all stop takes few passes,
 * not 1,000. */
enum { FEW_PASSES = 16 };

static fnzi_ints_stop *find_stop(const fnzi_ints *s, fnzi_ints_node node) {
  for (size_t i = 0; i < s->stops.count; i++)
    if (s->stops.data[i].at.graph == node.graph && s->stops.data[i].at.node == node.node)
      return &s->stops.data[i];
  return NULL;
}

void fnzi_ints_ask_about(fnzi_ints *s, fnzi_ints_node node) {
  s->at = node;
  s->decides = s->passes > FEW_PASSES || find_stop(s, node);
  s->is_open = false;
}

fnzi_ints_node fnzi_ints_asks_about(const fnzi_ints *s) {
  return s->at;
}

static fnz_status stop_first(fnzi_ints *s, fnzi_ints_node node) {
  FNZI_PUSH(s->set->ctx, &s->stops, ((fnzi_ints_stop){node, 1, s->passes}));
  return FNZ_OK;
}

void fnzi_ints_stop_at(fnzi_ints *s, fnzi_ints_node node) {
  fnzi_ints_stop *stop = find_stop(s, node);
  if (!stop) {
    fnzi_ints_worked(s, stop_first(s, node));
    return;
  }
  stop->times += stop->last != s->passes;
  stop->last = s->passes;
}

static void mark_word(uint8_t *is_part, int64_t bits) {
  const fnzi_int word = {bits};
  if (!fnzi_int_is_number(word) && !fnzi_int_is_none(word))
    is_part[bits - FNZI_INT_LIMIT] = 1;
}

static void mark_args(const fnzi_graph *graph, const fnz_arg *args, uint32_t count,
                      uint8_t *is_part) {
  FNZI_EACH_ARG(each, args, count) {
    const fnz_geometry *g =
        each.arg->tag == FNZ_ARG_VALUE ? graph->values.data[each.arg->u.value].geometry : NULL;
    if (each.arg->tag == FNZI_ARG_SIZE)
      mark_word(is_part, each.arg->u.i);
    for (uint32_t d = 0; g && d < g->rank; d++) {
      mark_word(is_part, g->sizes[d]);
      mark_word(is_part, g->strides[d]);
    }
    if (g)
      mark_word(is_part, g->offset);
  }
}

static fnz_status keep_number(fnzi_ints *s, const fnzi_expr *symbol, const char *question,
                              bool *out) {
  fnzi_int word;
  int64_t here;
  FNZ_TRY(fnzi_ints_settled(s, symbol, &word));
  if (fnzi_int_is_number(word) || !fnzi_ints_recorded(s, word, &here))
    return s->status;
  *out = true;
  FNZ_TRY(guards_add(s, FNZI_FUNCTION_EQ, word, fnzi_int_of(here), question));
  return fnzi_ints_settle_symbol(s, symbol);
}

/* *out: a symbol of the node was free so far. */
static fnz_status keep_numbers(fnzi_ints *s, const fnz_program *words, const fnzi_ints_node *at,
                               bool *out) {
  const fnzi_node *node = fnzi_node_at(words, at->graph, at->node);
  uint8_t *is_part;
  /* `is_part` marks, by ids, all that the numbers of the node are made of. */
  const fnzi_graph *graph = fnzi_graph_at(words, at->graph);
  FNZI_NEW(&s->arena, s->set->all.count, &is_part);
  mark_args(graph, node->args, node->nargs, is_part);
  mark_args(graph, node->outputs, node->noutputs, is_part);
  for (size_t id = s->set->all.count; id-- > 0;) /* parts have lower ids */
    for (uint32_t i = 0; is_part[id] && i < s->set->all.data[id]->count; i++)
      is_part[s->set->all.data[id]->parts[i].expr->id] = 1;
  s->at = *at;
  for (size_t i = 0; i < s->sizes->free.count; i++)
    if (is_part[s->sizes->free.data[i]->id])
      FNZ_TRY(keep_number(s, s->sizes->free.data[i], "the node is made for these sizes only", out));
  return FNZ_OK;
}

fnz_status fnzi_ints_keep_recorded(fnzi_ints *s, const char *question) {
  bool any;
  s->at = (fnzi_ints_node){0, FNZI_NO_NODE};
  for (size_t i = 0; i < s->sizes->free.count; i++)
    FNZ_TRY(keep_number(s, s->sizes->free.data[i], question, &any));
  return FNZ_OK;
}

fnz_status fnzi_ints_decide_more(fnzi_ints *s, const fnz_program *words, bool *out) {
  *out = false;
  for (size_t i = 0; i < s->stops.count; i++) {
    const fnzi_ints_stop stop = s->stops.data[i];
    if (stop.last == s->passes && stop.times == 1)
      *out = true;
    else if (stop.last == s->passes && stop.times == 2)
      FNZ_TRY(keep_numbers(s, words, &stop.at, out));
  }
  s->passes++;
  return s->status;
}

/* *out: the condition of guard k follows from the program's own and from the other guards. */
static fnz_status follows(fnzi_ints *s, size_t k, bool *out) {
  const fnzi_expr *e = s->guards.data[k].condition;
  fnzi_truth truth = FNZI_MAYBE;
  fnzi_size_facts facts;
  fnzi_size_facts_init(&facts, s->set);
  fnz_status status = fnzi_size_facts_add_sizes(&facts, s->sizes);
  for (size_t i = 0; i < s->guards.count && status == FNZ_OK; i++)
    if (i != k)
      status = fnzi_size_facts_add_condition(&facts, s->guards.data[i].condition);
  if (status == FNZ_OK && e->kind == FNZI_EXPR_CALL && e->count == 2)
    status =
        fnzi_size_facts_compare(&facts, e->function, e->parts[0].expr, e->parts[1].expr, &truth);
  fnzi_size_facts_free(&facts);
  *out = truth == FNZI_YES || (e->kind == FNZI_EXPR_NUMBER && e->num);
  return status;
}

fnz_status fnzi_ints_prune_guards(fnzi_ints *s) {
  for (size_t k = s->guards.count; k-- > 0 && s->passes;) {
    bool is_idle;
    FNZ_TRY(follows(s, k, &is_idle));
    if (is_idle)
      memmove(&s->guards.data[k], &s->guards.data[k + 1],
              (--s->guards.count - k) * sizeof *s->guards.data);
  }
  return FNZ_OK;
}

bool fnzi_ints_is_decided(const fnzi_ints *s) {
  return s->decides && !s->is_open;
}

void fnzi_ints_leave_open(fnzi_ints *s) {
  s->is_open = true;
}

/* The number of a word at the usual sizes; false where none is known. */
static bool find_usual(fnzi_ints *s, fnzi_int a, int64_t *out) {
  const fnzi_expr *e;
  bool known = false;
  return !fnzi_int_is_none(a) && s->usual && fnzi_ints_worked(s, fnzi_ints_expr(s, a, &e)) &&
         fnzi_ints_worked(s, fnzi_point_int(s->usual, e, &known, out)) && known;
}

bool fnzi_ints_decide(fnzi_ints *s, fnzi_ints_relation relation, fnzi_int a, fnzi_int b,
                      const char *question) {
  const bool same = relation == FNZI_INTS_SAME;
  const fnzi_function yes = same ? FNZI_FUNCTION_EQ : FNZI_FUNCTION_GE,
                      no = same ? FNZI_FUNCTION_NE : FNZI_FUNCTION_LT;
  const fnzi_expr *x, *y;
  fnzi_truth truth = FNZI_MAYBE;
  int64_t here, there;
  if (!s->decides)
    return false;
  if (!fnzi_int_is_none(a) && !fnzi_int_is_none(b) &&
      fnzi_ints_worked(s, fnzi_ints_expr(s, a, &x)) &&
      fnzi_ints_worked(s, fnzi_ints_expr(s, b, &y)) &&
      fnzi_ints_worked(s, fnzi_size_facts_compare(&s->facts, yes, x, y, &truth)) &&
      truth != FNZI_MAYBE)
    return truth == FNZI_YES;
  if (!find_usual(s, a, &here) || !find_usual(s, b, &there)) {
    s->is_open = true;
    return false;
  }
  const bool is = same ? here == there : here >= there;
  if (!fnzi_ints_worked(s, guards_add(s, is ? yes : no, a, b, question)))
    s->is_open = true;
  return is;
}
