/* recorder_build.c - the nodes of a tape that count become a graph.
 *
 * needs   a tape, and the values that somebody wants
 * keeps   the order of recording; random nodes, those without results and those with effects
 * gives   nodes in the program's own form, and which value of the graph each wanted one became */
#include "functionalize/tidy.h"

#include "schema/aten_names.h"
#include "views/steps.h"

/* --- what counts ------------------------------------------------------------------------------ */
static fnz_status need_value(void *user, const fnz_arg *arg) {
  fnzi_tape *r = user;
  if (!fnzi_is_reference(arg) || !arg->u.value)
    return FNZ_OK;
  uint32_t node = r->values.data[arg->u.value - 1].node;
  if (node != FNZI_NO_NODE)
    r->nodes.data[node].needed = true;
  return FNZ_OK;
}

/* The row of a node in `lists` or `others`; both begin with the node. */
static const void *row_of(const void *rows, size_t count, size_t bytes, size_t node) {
  size_t low = 0, high = count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    const size_t *row = (const size_t *)(const void *)((const char *)rows + middle * bytes);
    if (*row == node)
      return row;
    if (*row < node)
      low = middle + 1;
    else
      high = middle;
  }
  return NULL;
}

static size_t index_of(const fnzi_tape *r, const fnzi_tape_node *n) {
  return r->before + (size_t)(n - r->nodes.data);
}

/* What is known of a node that is no call of an operator. */
static const fnzi_node_call *call_of(const fnzi_tape *r, const fnzi_tape_node *n) {
  const fnzi_tape_other *o =
      row_of(r->others.data, r->others.count, sizeof *r->others.data, index_of(r, n));
  return &o->call;
}

uint32_t fnzi_tape_other_nargs(const fnzi_tape *r, const fnzi_tape_node *n) {
  return call_of(r, n)->nargs;
}

/* Its results are numbers, which the pass knows by other ways; it stands for reading them. */
static bool gives_numbers(const fnz_op *op) {
  for (size_t i = 0; i < op->nreturns; i++)
    if (op->returns[i].type == FNZI_TYPE_TENSOR)
      return false;
  return op->nreturns > 0;
}

/* It ends the program where it does not hold; its result is a token. */
static bool asserts(const fnz_op *op) {
  static const uint16_t assertions[] = {FNZI_ATEN__functional_assert_async__msg,
                                        FNZI_ATEN__functional_assert_scalar};
  return fnzi_op_is_among(op, assertions, sizeof assertions / sizeof *assertions);
}

/* It stays even if nobody needs its results. */
static bool has_effects(const fnzi_tape *r, const fnzi_tape_node *n) {
  if (!n->op)
    return call_of(r, n)->effects;
  return n->count == 0 || (n->op->tags & FNZI_TAGS_KEPT) || gives_numbers(n->op) || asserts(n->op);
}

static fnz_status mark(fnzi_tape *r, const fnz_handle *wanted, size_t count) {
  for (size_t i = 0; i < r->nodes.count; i++)
    r->nodes.data[i].wanted = r->nodes.data[i].needed = false;
  for (size_t i = 0; i < count; i++) {
    uint32_t node = r->values.data[wanted[i] - 1].node;
    if (node != FNZI_NO_NODE)
      r->nodes.data[node].wanted = r->nodes.data[node].needed = true;
  }
  for (size_t i = r->nodes.count; i-- > 0;) {
    fnzi_tape_node *n = &r->nodes.data[i];
    bool effects = has_effects(r, n);
    r->effects |= effects;
    n->needed |= effects;
    if (n->needed)
      FNZ_TRY(fnzi_args_visit(n->args, fnzi_tape_nargs(r, n), need_value, r));
  }
  return FNZ_OK;
}

/* A round may find what the one before it made possible; hardly any program needs three. A long
 * program goes on only while a round leaves clearly fewer nodes: else some programs would be looked
 * at many times for a few nodes each. */
enum { MOST_ROUNDS = 16, FREE_ROUNDS = 2, LITTLE = 8192, WORTH = 64 };

static size_t count_needed(const fnzi_tape *r) {
  size_t needed = 0;
  for (size_t i = 0; i < r->nodes.count; i++)
    needed += r->nodes.data[i].needed;
  return needed;
}

static fnz_status tidy(fnzi_tape *r, fnz_views views, fnz_handle *wanted, size_t count) {
  size_t now = count_needed(r), before = now;
  bool changed = true;
  for (int round = 0; changed && round < MOST_ROUNDS; round++) {
    if (round >= FREE_ROUNDS && now > LITTLE && (before - now) < before / WORTH)
      break;
    FNZ_TRY(fnzi_tape_tidy(r, views, wanted, count, &changed));
    if (changed)
      FNZ_TRY(mark(r, wanted, count));
    before = now;
    now = count_needed(r);
  }
  return FNZ_OK;
}

fnz_arg *fnzi_tape_items(const fnz_arg *list) {
  return (fnz_arg *)(uintptr_t)list->u.list;
}

static void to_value(const fnzi_tape *r, fnz_arg *arg) {
  if (fnzi_is_reference(arg))
    arg->u.value = r->values.data[arg->u.value - 1].value;
}

/* Texts, complex numbers and lists in lists still belong to whoever called. */
static fnz_status keep(fnzi_tape *r, fnz_arg *arg) {
  bool is_text =
      arg->tag == FNZ_ARG_STRING || arg->tag == FNZ_ARG_DEVICE || arg->tag == FNZ_ARG_OPERATOR;
  fnz_arg *own;
  if (!is_text && arg->tag != FNZ_ARG_COMPLEX && arg->tag != FNZ_ARG_LIST)
    return FNZ_OK;
  FNZ_TRY(fnzi_args_copy(r->program, arg, 1, &own));
  *arg = *own;
  return FNZ_OK;
}

/* Handles turn into values where they stand. Lists of values have one level. */
static fnz_status to_program(fnzi_tape *r, fnz_arg *args, size_t n) {
  for (size_t i = 0; i < n; i++) {
    to_value(r, &args[i]);
    if (args[i].tag != FNZ_ARG_LIST)
      FNZ_TRY(keep(r, &args[i]));
    for (uint32_t k = 0; args[i].tag == FNZ_ARG_LIST && k < args[i].count; k++) {
      fnz_arg *item = &fnzi_tape_items(&args[i])[k];
      to_value(r, item);
      FNZ_TRY(keep(r, item));
    }
  }
  return FNZ_OK;
}

/* One output of the node: a tensor, or nothing when it is undefined. */
static fnz_status add_output(fnzi_tape *r, const fnzi_tape_node *n, uint32_t node, uint32_t result,
                             fnz_arg *out) {
  *out = (fnz_arg){.tag = FNZ_ARG_NONE};
  if (!result)
    return FNZ_OK;
  fnzi_tape_value *v = &r->values.data[result - 1];
  FNZ_TRY(fnzi_value_add_fresh(r->program, r->graph, n->op->base, v->geometry, node, &v->value));
  *out = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = v->value};
  return FNZ_OK;
}

/* What the caller's node says of the lists of n. */
static const fnzi_tape_lists *lists_of(const fnzi_tape *r, const fnzi_tape_node *n) {
  return row_of(r->lists.data, r->lists.count, sizeof *r->lists.data, index_of(r, n));
}

/* The list that tells how long result i is: what the caller expects there, or the argument whose
 * new values it has, `x` for `x_out`. NULL when there is none, or the result is no list. */
static const fnz_arg *list_like(const fnzi_tape *r, const fnzi_tape_node *n, size_t i) {
  const fnzi_param *result = &n->op->returns[i];
  if (!result->is_list)
    return NULL;
  const fnzi_tape_lists *lists = lists_of(r, n);
  size_t size = strlen(result->name), tail = strlen("_out");
  if (lists && i < lists->count && lists->looks[i].tag == FNZ_ARG_LIST)
    return &lists->looks[i];
  if (size <= tail || strcmp(result->name + size - tail, "_out") != 0)
    return NULL;
  for (size_t k = 0; k < n->op->nparams; k++) {
    const fnzi_param *p = &n->op->params[k];
    if (p->is_list && strlen(p->name) == size - tail &&
        memcmp(p->name, result->name, size - tail) == 0)
      return &n->args[k];
  }
  return NULL;
}

static size_t list_items(const fnz_arg *list) {
  return list->tag == FNZ_ARG_LIST ? list->count : 0;
}

/* Lists of which nothing is known share what is left evenly. */
static size_t other_list(const fnzi_tape *r, const fnzi_tape_node *n) {
  size_t known = 0, lists = 0;
  for (size_t i = 0; i < n->op->nreturns; i++) {
    const fnz_arg *list = list_like(r, n, i);
    bool is_list = n->op->returns[i].is_list;
    known += list ? list_items(list) : !is_list;
    lists += is_list && !list;
  }
  return lists && n->count > known ? (n->count - known) / lists : 0;
}

/* The outputs as the schema groups them. */
static fnz_status add_outputs(fnzi_tape *r, const fnzi_tape_node *n, uint32_t node,
                              fnz_arg *outputs) {
  const uint32_t *result = n->count ? r->results.data + n->first : NULL;
  size_t rest = other_list(r, n);
  for (size_t i = 0; i < n->op->nreturns; i++) {
    const fnz_arg *list = list_like(r, n, i);
    size_t length = list ? list_items(list) : rest;
    if (!n->op->returns[i].is_list) {
      FNZ_TRY(add_output(r, n, node, *result++, &outputs[i]));
      continue;
    }
    fnz_arg *items;
    FNZI_NEW(&r->program->arena, length, &items);
    for (size_t k = 0; k < length; k++)
      FNZ_TRY(add_output(r, n, node, *result++, &items[k]));
    outputs[i] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)length, .u.list = items};
  }
  return FNZ_OK;
}

static fnz_status emit_call(fnzi_tape *r, fnzi_tape_node *n) {
  uint32_t node;
  fnz_arg *outputs;
  FNZ_TRY(fnzi_op_adopt(r->program, &n->op));
  FNZI_NEW(&r->program->arena, n->op->nreturns, &outputs);
  const fnzi_node out = {.op = n->op,
                         .target = n->op->name,
                         .args = n->args,
                         .nargs = n->op->nparams,
                         .outputs = outputs,
                         .noutputs = n->op->nreturns,
                         .source = n->source};
  FNZ_TRY(add_outputs(r, n, (uint32_t)fnzi_graph_at(r->program, r->graph)->nodes.count, outputs));
  return fnzi_node_append(r->program, r->graph, &out, &node);
}

/* "cond" of "higher_order.cond" */
static const char *stem_of(const char *target) {
  const char *point = strrchr(target, '.');
  return point && point[1] ? point + 1 : target;
}

static fnz_status add_outcome(fnzi_tape *r, const fnzi_node_call *call, uint32_t i, uint32_t node,
                              uint32_t result, fnz_arg *out) {
  const fnzi_outcome *o = &call->outcomes[i];
  *out = (fnz_arg){.tag = o->tag};
  if (o->tag == FNZ_ARG_NONE)
    return FNZ_OK;
  fnzi_tape_value *v = &r->values.data[result - 1];
  FNZ_TRY(fnzi_value_add_fresh(r->program, r->graph, stem_of(call->target), v->geometry, node,
                               &v->value));
  fnzi_value_at(r->program, r->graph, v->value)->symbol = o->symbol;
  out->u.value = v->value;
  return FNZ_OK;
}

static fnz_status emit_other(fnzi_tape *r, fnzi_tape_node *n) {
  const fnzi_node_call *call = call_of(r, n);
  uint32_t node = (uint32_t)fnzi_graph_at(r->program, r->graph)->nodes.count;
  fnz_arg *outputs, *list = NULL;
  FNZI_NEW(&r->program->arena, call->noutcomes, &outputs);
  for (uint32_t i = 0; i < call->noutcomes; i++)
    FNZ_TRY(add_outcome(r, call, i, node, r->results.data[n->first + i], &outputs[i]));
  if (call->in_list) {
    FNZI_NEW(&r->program->arena, 1, &list);
    *list = (fnz_arg){.tag = FNZ_ARG_LIST, .count = call->noutcomes, .u.list = outputs};
  }
  const fnzi_node out = {.target = call->target,
                         .args = n->args,
                         .nargs = call->nargs,
                         .arg_names = call->names,
                         .outputs = list ? list : outputs,
                         .noutputs = list ? 1 : call->noutcomes,
                         .source = n->source};
  return fnzi_node_append(r->program, r->graph, &out, &node);
}

static fnz_status keep_why(fnzi_tape *r, size_t tape_node) {
  fnzi_asked *asked = r->program->asked;
  uint32_t node = (uint32_t)fnzi_graph_at(r->program, r->graph)->nodes.count;
  if (!asked)
    return FNZ_OK;
  if (node == 0)
    fnzi_asked_restart(asked, r->graph);
  const fnzi_made made = {r->graph, node, r->whys.data[tape_node]};
  FNZI_PUSH(r->ctx, &asked->made, made);
  return FNZ_OK;
}

/* The arguments become the program's own. */
static fnz_status emit(fnzi_tape *r, fnzi_tape_node *n) {
  FNZ_TRY(keep_why(r, index_of(r, n)));
  FNZ_TRY(to_program(r, n->args, fnzi_tape_nargs(r, n)));
  return n->op ? emit_call(r, n) : emit_other(r, n);
}

/* --- memory -------------------------------------------------------------------------------- */
/* What the vectors do not use is given back: nothing is recorded any more for now. */
static fnz_status trim(const fnzi_tape *r, void **data, size_t *capacity, size_t count,
                       size_t size) {
  void *p = count ? fnzi_resize(r->ctx, *data, *capacity * size, count * size) : NULL;
  if (!p)
    return count ? fnzi_no_memory(r->ctx) : FNZ_OK;
  *data = p;
  *capacity = count;
  return FNZ_OK;
}

static fnz_status trim_nodes(fnzi_tape *r) {
  void *data = r->nodes.data;
  FNZ_TRY(trim(r, &data, &r->nodes.capacity, r->nodes.count, sizeof *r->nodes.data));
  r->nodes.data = data;
  return FNZ_OK;
}

static fnz_status trim_tape(fnzi_tape *r) {
  void *values = r->values.data, *results = r->results.data;
  FNZ_TRY(trim(r, &values, &r->values.capacity, r->values.count, sizeof *r->values.data));
  r->values.data = values;
  FNZ_TRY(trim(r, &results, &r->results.capacity, r->results.count, sizeof *r->results.data));
  r->results.data = results;
  return trim_nodes(r);
}

/* Exactly what the nodes that count take. */
static fnz_status make_room(fnzi_tape *r) {
  fnzi_graph *g = fnzi_graph_at(r->program, r->graph);
  size_t nodes = g->nodes.count, values = g->values.count;
  for (size_t i = 0; i < r->nodes.count; i++) {
    nodes += r->nodes.data[i].needed;
    values += r->nodes.data[i].needed ? r->nodes.data[i].count : 0;
  }
  FNZI_RESERVE(r->ctx, &g->nodes, nodes);
  FNZI_RESERVE(r->ctx, &g->values, values);
  return FNZ_OK;
}

/* --- in which order --------------------------------------------------------------------------- */
/* A view that shares memory costs nothing and stands before its first reader, where a pass that
 * derives views when they are read would put it again. */
static bool waits(const fnzi_tape_node *n) {
  return n->needed && !n->emitted && n->op && fnz_op_is_view(n->op);
}

typedef struct waiting {
  fnzi_tape *tape;
  struct {
    size_t *data;
    size_t count, capacity;
  } nodes;
} waiting;

/* The views that lead to a value, the outermost first. */
static fnz_status emit_views(void *user, const fnz_arg *arg) {
  waiting *w = user;
  fnzi_tape *r = w->tape;
  w->nodes.count = 0;
  while (fnzi_is_reference(arg) && arg->u.value) {
    uint32_t i = r->values.data[arg->u.value - 1].node;
    if (i == FNZI_NO_NODE || !waits(&r->nodes.data[i]))
      break;
    FNZI_PUSH(r->ctx, &w->nodes, i);
    arg = &r->nodes.data[i].args[0];
  }
  for (size_t k = w->nodes.count; k-- > 0;) {
    fnzi_tape_node *n = &r->nodes.data[w->nodes.data[k]];
    n->emitted = true;
    FNZ_TRY(emit(r, n));
  }
  return FNZ_OK;
}

static fnz_status emit_all(waiting *w, const fnz_handle *wanted, size_t count) {
  fnzi_tape *r = w->tape;
  for (size_t i = 0; i < r->nodes.count; i++) {
    fnzi_tape_node *n = &r->nodes.data[i];
    if (!n->needed || (n->op && fnz_op_is_view(n->op)))
      continue;
    FNZ_TRY(fnzi_args_visit(n->args, fnzi_tape_nargs(r, n), emit_views, w));
    FNZ_TRY(emit(r, n));
  }
  for (size_t i = 0; i < count; i++) {
    const fnz_arg arg = {.tag = FNZ_ARG_VALUE, .u.value = wanted[i]};
    FNZ_TRY(emit_views(w, &arg));
  }
  return FNZ_OK;
}

static fnz_status emit_in_order(fnzi_tape *r, const fnz_handle *wanted, size_t count) {
  waiting w = {.tape = r};
  fnz_status status = emit_all(&w, wanted, count);
  FNZI_VEC_FREE(r->ctx, &w.nodes);
  return status;
}

static fnz_status emit_as_recorded(fnzi_tape *r) {
  for (size_t i = 0; i < r->nodes.count; i++)
    if (r->nodes.data[i].needed)
      FNZ_TRY(emit(r, &r->nodes.data[i]));
  return FNZ_OK;
}

/* --- piece by piece --------------------------------------------------------------------------- */
/* The nodes of a long tape are cut into pieces, each of which ends when its nodes are emitted. */
enum { MOST_PIECES = 16, LEAST_PIECE = 4096 };

typedef struct pieces {
  fnzi_tape_nodes of[MOST_PIECES]; /* behind what is left on the tape, the last one first */
  size_t count;
} pieces;

static fnz_status cut(fnzi_tape *r, size_t count, pieces *p) {
  fnzi_tape_nodes last = {NULL, 0, 0};
  FNZI_RESERVE(r->ctx, &last, count);
  r->nodes.count -= count;
  last.count = count;
  memcpy(last.data, r->nodes.data + r->nodes.count, count * sizeof *last.data);
  p->of[p->count++] = last;
  return trim_nodes(r);
}

static fnz_status cut_and_emit(fnzi_tape *r, pieces *p) {
  size_t piece = r->nodes.count / MOST_PIECES + 1;
  if (piece < LEAST_PIECE)
    piece = LEAST_PIECE;
  while (r->nodes.count > piece)
    FNZ_TRY(cut(r, piece, p));
  FNZ_TRY(emit_as_recorded(r));
  while (p->count > 0) {
    r->before += r->nodes.count;
    FNZI_VEC_FREE(r->ctx, &r->nodes);
    r->nodes = p->of[--p->count];
    FNZ_TRY(emit_as_recorded(r));
  }
  return FNZ_OK;
}

/* Afterwards the tape has no nodes any more. */
static fnz_status emit_by_pieces(fnzi_tape *r) {
  pieces p = {.count = 0};
  fnz_status status = cut_and_emit(r, &p);
  for (size_t i = 0; i < p.count; i++)
    FNZI_VEC_FREE(r->ctx, &p.of[i]);
  FNZI_VEC_FREE(r->ctx, &r->nodes);
  return status;
}

fnz_status fnzi_recorder_build(fnz_backend *backend, const fnz_handle *wanted, size_t count,
                               const fnz_views *views, uint32_t *values) {
  fnzi_tape *r = backend->self;
  fnz_handle *now;
  FNZI_NEW(&r->arena, count, &now);
  if (count)
    memcpy(now, wanted, count * sizeof *now);
  FNZ_TRY(trim_tape(r));
  FNZ_TRY(mark(r, now, count));
  if (views)
    FNZ_TRY(tidy(r, *views, now, count));
  FNZ_TRY(make_room(r));
  if (views && *views == FNZ_VIEWS_KEEP)
    FNZ_TRY(emit_in_order(r, now, count));
  else if (views)
    FNZ_TRY(emit_by_pieces(r));
  else
    FNZ_TRY(emit_as_recorded(r));
  for (size_t i = 0; i < count; i++)
    values[i] = r->values.data[now[i] - 1].value;
  return FNZ_OK;
}
