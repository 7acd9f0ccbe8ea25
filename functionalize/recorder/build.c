/* build.c - makes a graph of the nodes of a tape that are needed.
 *
 * needs   a tape, and the wanted values
 * keeps   the order of recording; random nodes, nodes without results and nodes with effects
 * gives   nodes in the program's own form, and which value of the graph each wanted one became */
#include "functionalize/recorder/simplify.h"

#include "schema/aten_names.h"
#include "views/steps.h"

/* --- which nodes are needed ------------------------------------------------------------------- */
/* Its results are numbers: the node stays as the place where they are read from data. The pass has
 * the numbers from elsewhere. */
static bool gives_numbers(const fnz_op *op) {
  for (size_t i = 0; i < op->nreturns; i++)
    if (op->returns[i].type == FNZI_TYPE_TENSOR)
      return false;
  return op->nreturns > 0;
}

/* The result of an assertion is a token. */
bool fnzi_rec_is_kept_unused(const fnz_op *op, size_t results) {
  static const uint16_t assertions[] = {FNZI_ATEN__functional_assert_async__msg,
                                        FNZI_ATEN__functional_assert_scalar};
  return results == 0 || (op->tags & FNZI_TAGS_KEPT) || gives_numbers(op) ||
         fnzi_op_is_among(op, assertions, sizeof assertions / sizeof *assertions);
}

/* The node that gives a value; NULL for an input. */
static fnzi_rec_tape_node *giver(const fnzi_rec_tape *r, fnz_handle value) {
  uint32_t node = r->values.data[value - 1].node;
  return node == FNZI_NO_NODE ? NULL : &r->nodes.data[node];
}

static void mark(fnzi_rec_tape *r, const fnz_handle *wanted, size_t count) {
  fnzi_rec_tape_node *from;
  for (size_t i = 0; i < r->nodes.count; i++)
    r->nodes.data[i].wanted = r->nodes.data[i].needed = false;
  for (size_t i = 0; i < count; i++)
    if ((from = giver(r, wanted[i])))
      from->wanted = from->needed = true;
  for (size_t i = r->nodes.count; i-- > 0;) {
    fnzi_rec_tape_node *n = &r->nodes.data[i];
    bool effects =
        n->op ? fnzi_rec_is_kept_unused(n->op, n->count) : fnzi_rec_tape_call_of(r, n)->effects;
    r->effects |= effects;
    n->needed |= effects;
    FNZI_EACH_ARG(each, n->args, n->needed ? fnzi_rec_tape_nargs(r, n) : 0)
      if (fnzi_is_reference(each.arg) && each.arg->u.value && (from = giver(r, each.arg->u.value)))
        from->needed = true;
  }
}

/* A round of simplifying may enable the next one; hardly any program needs three rounds. A long
 * program gets another round only if the last one removed a share of 1 / WORTH of its nodes. */
enum { MOST_ROUNDS = 16, FREE_ROUNDS = 2, SMALL = 8192, WORTH = 64 };

static size_t count_needed(const fnzi_rec_tape *r) {
  size_t needed = 0;
  for (size_t i = 0; i < r->nodes.count; i++)
    needed += r->nodes.data[i].needed;
  return needed;
}

static fnz_status simplify(fnzi_rec_tape *r, fnz_views views, fnz_handle *wanted, size_t count) {
  size_t now = count_needed(r), before = now;
  bool changed = true;
  for (int round = 0; changed && round < MOST_ROUNDS; round++) {
    if (round >= FREE_ROUNDS && now > SMALL && (before - now) < before / WORTH)
      break;
    FNZ_TRY(fnzi_rec_simplify(r, views, wanted, count, &changed));
    if (changed)
      mark(r, wanted, count);
    before = now;
    now = count_needed(r);
  }
  return FNZ_OK;
}

static void to_value(const fnzi_rec_tape *r, fnz_arg *arg) {
  if (fnzi_is_reference(arg))
    arg->u.value = r->emitted.data[arg->u.value - 1];
}

/* Texts, complex numbers and lists in lists still belong to the caller. */
static fnz_status keep(fnzi_rec_tape *r, fnz_arg *arg) {
  bool is_text =
      arg->tag == FNZ_ARG_STRING || arg->tag == FNZ_ARG_DEVICE || arg->tag == FNZ_ARG_OPERATOR;
  fnz_arg *own;
  if (!is_text && arg->tag != FNZ_ARG_COMPLEX && arg->tag != FNZ_ARG_LIST)
    return FNZ_OK;
  FNZ_TRY(fnzi_args_copy(r->program, arg, 1, &own));
  *arg = *own;
  return FNZ_OK;
}

/* Replaces handles by values in place. Lists of values have one level. */
static fnz_status to_program(fnzi_rec_tape *r, fnz_arg *args, size_t n) {
  for (size_t i = 0; i < n; i++) {
    to_value(r, &args[i]);
    if (args[i].tag != FNZ_ARG_LIST)
      FNZ_TRY(keep(r, &args[i]));
    for (uint32_t k = 0; args[i].tag == FNZ_ARG_LIST && k < args[i].count; k++) {
      fnz_arg *item = &fnzi_rec_tape_items(&args[i])[k];
      to_value(r, item);
      FNZ_TRY(keep(r, item));
    }
  }
  return FNZ_OK;
}

/* One output of the node: a tensor, or nothing when it is undefined. */
static fnz_status add_output(fnzi_rec_tape *r, const fnzi_rec_tape_node *n, uint32_t node,
                             uint32_t result, fnz_arg *out) {
  *out = (fnz_arg){.tag = FNZ_ARG_NONE};
  if (!result)
    return FNZ_OK;
  uint32_t *value = &r->emitted.data[result - 1];
  FNZ_TRY(fnzi_value_add_fresh(r->program, r->graph, n->op->base,
                               fnzi_rec_tape_geometry_of(r, result), node, value));
  *out = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = *value};
  return FNZ_OK;
}

/* A list as long as result i: the result that the caller expects, or the argument that result i has
 * the new values of, `x` for `x_out`. NULL when there is none, or the result is no list. */
static const fnz_arg *list_like(const fnzi_rec_tape *r, const fnzi_rec_tape_node *n, size_t i) {
  const fnzi_param *result = &n->op->returns[i];
  if (!result->is_list)
    return NULL;
  const fnzi_rec_tape_lists *lists = fnzi_rec_tape_lists_of(r, n);
  size_t size = strlen(result->name), tail = strlen("_out");
  if (lists && i < lists->count && lists->results[i].tag == FNZ_ARG_LIST)
    return &lists->results[i];
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

/* The outputs as the schema groups them. */
static fnz_status add_outputs(fnzi_rec_tape *r, const fnzi_rec_tape_node *n, uint32_t node,
                              fnz_arg *outputs) {
  const uint32_t *result = fnzi_rec_tape_results_of(r, n);
  /* The length of each result list for which there is no list as long: these share the other
   * results evenly. */
  size_t known = 0, lists = 0;
  for (size_t i = 0; i < n->op->nreturns; i++) {
    const fnz_arg *list = list_like(r, n, i);
    bool is_list = n->op->returns[i].is_list;
    known += list ? list_items(list) : !is_list;
    lists += is_list && !list;
  }
  size_t rest = lists && n->count > known ? (n->count - known) / lists : 0;
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

static fnz_status note_node(fnzi_rec_tape *r, size_t tape_node) {
  fnzi_notes *notes = r->program->notes;
  uint32_t node = (uint32_t)fnzi_graph_at(r->program, r->graph)->nodes.count;
  if (!notes)
    return FNZ_OK;
  if (node == 0)
    FNZ_TRY(fnzi_notes_restart(r->ctx, notes, r->graph));
  const fnzi_note note = {r->graph, node, r->whys.data[tape_node]};
  FNZI_PUSH(r->ctx, &notes->nodes, note);
  return FNZ_OK;
}

/* A clone of a value of the graph, in rows or as it lies, at the source line of the node. */
static fnz_status emit_clone(fnzi_rec_tape *r, const fnzi_rec_tape_node *n, uint64_t value,
                             const fnz_geometry *g, uint32_t *out) {
  const fnz_op *op = fnzi_emitted_op(FNZI_EMIT_CLONE);
  uint32_t node = (uint32_t)fnzi_graph_at(r->program, r->graph)->nodes.count;
  fnz_arg args[] = {fnzi_arg_value(value), fnzi_int_is_contiguous(r->program->ints, g)
                                               ? (fnz_arg){.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1}
                                               : (fnz_arg){.tag = FNZ_ARG_DEFAULT}};
  FNZ_TRY(note_node(r, fnzi_rec_tape_index_of(r, n)));
  FNZ_TRY(fnzi_intern_geometry(r->program, g, &g));
  FNZ_TRY(fnzi_value_add_fresh(r->program, r->graph, op->base, g, node, out));
  fnz_arg result = fnzi_arg_value(*out);
  const fnzi_node made = {
      .op = op, .args = args, .nargs = 2, .outputs = &result, .noutputs = 1, .source = n->source};
  return fnzi_node_add(r->program, r->graph, &made, &node);
}

/* The value is an input of the graph, or a plain view of one. */
static bool is_in_an_input(const fnzi_rec_tape *r, const fnz_arg *arg) {
  const fnzi_graph *g = fnzi_graph_at(r->program, r->graph);
  while (arg->tag == FNZ_ARG_VALUE) {
    const uint32_t node = g->values.data[arg->u.value].node;
    const fnzi_node *n = node == FNZI_NO_NODE ? NULL : &g->nodes.data[node];
    if (!n)
      return true;
    if (!n->op || !fnz_op_is_view(n->op))
      return false;
    arg = &n->args[0];
  }
  return false;
}

/* Its arguments are the program's own. */
static fnz_status emit_call(fnzi_rec_tape *r, fnzi_rec_tape_node *n) {
  uint32_t node;
  fnz_arg *outputs;
  if (r->takes_slices) {
    /* An operator that counts places in memory does so in a clone of a slice: eager gives the body
     * a window, before which there are other elements. */
    const fnz_op *scattered = fnzi_view_scattered(n->op);
    const fnzi_view *view = fnzi_view_find(scattered ? scattered : n->op);
    uint32_t clone;
    if (view && fnzi_view_counts_from_storage(view) && is_in_an_input(r, &n->args[0])) {
      const uint64_t base = n->args[0].u.value;
      FNZ_TRY(emit_clone(r, n, base, fnzi_value_at(r->program, r->graph, (uint32_t)base)->geometry,
                         &clone));
      n->args[0].u.value = clone;
    }
  }
  FNZ_TRY(note_node(r, fnzi_rec_tape_index_of(r, n)));
  FNZ_TRY(fnzi_op_adopt(r->program, &n->op));
  FNZI_NEW(&r->program->arena, n->op->nreturns, &outputs);
  const fnzi_node out = {.op = n->op,
                         .args = n->args,
                         .nargs = n->op->nparams,
                         .outputs = outputs,
                         .noutputs = n->op->nreturns,
                         .source = n->source};
  FNZ_TRY(add_outputs(r, n, (uint32_t)fnzi_graph_at(r->program, r->graph)->nodes.count, outputs));
  return fnzi_node_append(r->program, r->graph, &out, &node);
}

static fnz_status emit_other(fnzi_rec_tape *r, fnzi_rec_tape_node *n) {
  const fnzi_rec_call *call = fnzi_rec_tape_call_of(r, n);
  uint32_t node = (uint32_t)fnzi_graph_at(r->program, r->graph)->nodes.count;
  fnz_arg *outputs, *list = NULL;
  FNZ_TRY(note_node(r, fnzi_rec_tape_index_of(r, n)));
  FNZI_NEW(&r->program->arena, call->noutcomes, &outputs);
  for (uint32_t i = 0; i < call->noutcomes; i++) {
    uint32_t result = fnzi_rec_tape_results_of(r, n)[i];
    const fnzi_rec_outcome *o = &call->outcomes[i];
    outputs[i] = (fnz_arg){.tag = o->tag};
    if (o->tag != FNZ_ARG_NONE) {
      uint32_t *value = &r->emitted.data[result - 1];
      /* "cond" of "higher_order.cond" */
      const char *point = strrchr(call->target, '.');
      FNZ_TRY(fnzi_value_add_fresh(r->program, r->graph,
                                   point && point[1] ? point + 1 : call->target,
                                   fnzi_rec_tape_geometry_of(r, result), node, value));
      fnzi_value_at(r->program, r->graph, *value)->symbol = o->symbol;
      outputs[i].u.value = *value;
    }
  }
  if (call->in_list) {
    FNZI_NEW(&r->program->arena, 1, &list);
    *list = (fnz_arg){.tag = FNZ_ARG_LIST, .count = call->noutcomes, .u.list = outputs};
  }
  const fnzi_node_other other = {.target = call->target, .arg_names = call->names};
  fnzi_node out = {.args = n->args,
                   .nargs = call->nargs,
                   .outputs = list ? list : outputs,
                   .noutputs = list ? 1 : call->noutcomes,
                   .source = n->source};
  FNZ_TRY(fnzi_node_keep(r->program, &out, &other));
  return fnzi_node_append(r->program, r->graph, &out, &node);
}

/* The arguments become the program's own. */
static fnz_status emit(fnzi_rec_tape *r, fnzi_rec_tape_node *n) {
  FNZ_TRY(to_program(r, n->args, fnzi_rec_tape_nargs(r, n)));
  return n->op ? emit_call(r, n) : emit_other(r, n);
}

/* --- copies where views stay ------------------------------------------------------------------ */
/* The view, with its windows in place of the copies. */
static fnz_status emit_windows(fnzi_rec_tape *r, fnzi_rec_tape_node *n, const fnzi_rec_copy *c) {
  n->emitted = true; /* with the nodes that are no views */
  FNZ_TRY(fnzi_rec_copy_become_view(r, n, c));
  return emit_call(r, n);
}

/* Emits a view that depends on strides, of a value with other strides than the view needs: views a
 * clone of the value. */
static fnz_status emit_view(fnzi_rec_tape *r, fnzi_rec_tape_node *n, const uint8_t *layouts) {
  const uint64_t base = n->args[0].u.value;
  const fnz_geometry *g = base ? r->values.data[base - 1].geometry : NULL;
  uint32_t clone;
  n->emitted = true;
  const bool fails =
      g && (layouts[base - 1] == FNZI_REC_LAYOUT_OTHER
                ? fnzi_rec_goes_by_strides(n->op)
                : layouts[base - 1] == FNZI_REC_LAYOUT_NEARLY && fnzi_rec_sees_all_strides(n->op));
  const bool clones = fails && fnzi_int_is_contiguous(r->program->ints, g);
  if (!clones)
    return emit(r, n);
  FNZ_TRY(to_program(r, n->args, fnzi_rec_tape_nargs(r, n)));
  FNZ_TRY(emit_clone(r, n, n->args[0].u.value, g, &clone));
  n->args[0].u.value = clone;
  return emit_call(r, n);
}

/* Emits a node; a copy of a view becomes views and clones. */
static fnz_status emit_with_views(fnzi_rec_tape *r, fnzi_rec_tape_node *n, const uint8_t *layouts) {
  fnzi_rec_copy copy;
  uint32_t clone;
  FNZ_TRY(fnzi_rec_copy_find(r, n, layouts, &copy));
  if (copy.form == FNZI_REC_COPY_STAYS)
    return emit(r, n);
  FNZ_TRY(to_program(r, n->args, fnzi_rec_tape_nargs(r, n)));
  if (copy.form != FNZI_REC_COPY_VIEWS_CLONE) {
    const uint32_t *results = fnzi_rec_tape_results_of(r, n);
    const fnz_geometry **recorded;
    FNZI_NEW(&r->arena, copy.count, &recorded);
    /* The windows take the places of the results, which then become clones of them. */
    for (size_t k = 0; k < copy.count; k++)
      recorded[k] = fnzi_rec_tape_geometry_of(r, results[k]);
    FNZ_TRY(emit_windows(r, n, &copy));
    for (size_t k = 0; k < copy.count; k++) {
      uint32_t *value = &r->emitted.data[results[k] - 1];
      FNZ_TRY(emit_clone(r, n, *value, recorded[k], value));
    }
    return FNZ_OK;
  }
  FNZ_TRY(emit_clone(r, n, n->args[0].u.value, copy.cloned, &clone));
  n->args[0].u.value = clone;
  return emit_windows(r, n, &copy);
}

/* --- memory ----------------------------------------------------------------------------------- */
/* Reserves exactly the room of the needed nodes and their values. */
static fnz_status reserve(fnzi_rec_tape *r) {
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
typedef struct waiting {
  fnzi_rec_tape *tape;
  uint8_t *layouts; /* per value: see layouts.c */
  struct {
    size_t *data;
    size_t count, capacity;
  } nodes;
} waiting;

/* The views that lead to a value, the outermost first. A view that shares memory costs nothing. It
 * is emitted right before its first reader, where a second pass would emit it, too. */
static fnz_status emit_views(waiting *w, const fnz_arg *arg) {
  fnzi_rec_tape *r = w->tape;
  w->nodes.count = 0;
  while (fnzi_is_reference(arg) && arg->u.value) {
    const uint32_t i = r->values.data[arg->u.value - 1].node;
    const fnzi_rec_tape_node *n = i == FNZI_NO_NODE ? NULL : &r->nodes.data[i];
    if (!n || !n->needed || n->emitted || !n->op || !fnz_op_is_view(n->op))
      break;
    FNZI_PUSH(r->ctx, &w->nodes, i);
    arg = &n->args[0];
  }
  for (size_t k = w->nodes.count; k-- > 0;)
    FNZ_TRY(emit_view(r, &r->nodes.data[w->nodes.data[k]], w->layouts));
  return FNZ_OK;
}

static fnz_status emit_all(waiting *w, const fnz_handle *wanted, size_t count) {
  fnzi_rec_tape *r = w->tape;
  for (size_t i = 0; i < r->nodes.count; i++) {
    fnzi_rec_tape_node *n = &r->nodes.data[i];
    if (!n->needed || (n->op && fnz_op_is_view(n->op)))
      continue;
    FNZI_EACH_ARG(each, n->args, fnzi_rec_tape_nargs(r, n))
      FNZ_TRY(emit_views(w, each.arg));
    FNZ_TRY(emit_with_views(r, n, w->layouts));
  }
  for (size_t i = 0; i < count; i++) {
    const fnz_arg arg = {.tag = FNZ_ARG_VALUE, .u.value = wanted[i]};
    FNZ_TRY(emit_views(w, &arg));
  }
  return FNZ_OK;
}

static fnz_status emit_as_recorded(fnzi_rec_tape *r) {
  FNZ_TRY(reserve(r));
  for (size_t i = 0; i < r->nodes.count; i++)
    if (r->nodes.data[i].needed)
      FNZ_TRY(emit(r, &r->nodes.data[i]));
  return FNZ_OK;
}

/* --- piece by piece --------------------------------------------------------------------------- */
/* A long tape is cut into pieces, and each piece is freed when its nodes are emitted: so the tape
 * and the graph are never in memory both as a whole. */
enum { MOST_PIECES = 16, LEAST_PIECE = 4096 };

typedef struct piece {
  fnzi_rec_tape_nodes nodes;
  fnzi_rec_tape_values values; /* defined by `nodes`, and inputs among them */
  fnzi_rec_tape_results results;
} piece;

typedef struct pieces {
  piece of[MOST_PIECES]; /* the rest of the tape, the last piece first */
  size_t count;
} pieces;

/* Moves the elements of `from` from `at` on. */
#define CUT(ctx, from, at, to)                                                                     \
  do {                                                                                             \
    FNZI_RESERVE(ctx, to, (from)->count - (at));                                                   \
    (to)->count = (from)->count - (at);                                                            \
    (from)->count = (at);                                                                          \
    if ((to)->count)                                                                               \
      memcpy((to)->data, (from)->data + (at), (to)->count * sizeof *(to)->data);                   \
    FNZI_TRIM(ctx, from);                                                                          \
  } while (0)

static void end_piece(const fnzi_rec_tape *r, piece *p) {
  FNZI_VEC_FREE(r->ctx, &p->nodes);
  FNZI_VEC_FREE(r->ctx, &p->values);
  FNZI_VEC_FREE(r->ctx, &p->results);
}

/* Frees the emitted piece on the tape and puts p in its place. */
static void continue_with(fnzi_rec_tape *r, piece *p) {
  piece done = {r->nodes, r->values, r->results};
  r->ended.nodes += done.nodes.count;
  r->ended.values += done.values.count;
  r->ended.results += done.results.count;
  end_piece(r, &done);
  r->nodes = p->nodes;
  r->values = p->values;
  r->results = p->results;
}

static fnz_status cut_and_emit(fnzi_rec_tape *r, pieces *p) {
  size_t length = r->nodes.count / MOST_PIECES + 1;
  if (length < LEAST_PIECE)
    length = LEAST_PIECE;
  while (r->nodes.count > length) {
    const size_t node = r->nodes.count - length;
    /* The first value of the nodes from `node` on. */
    size_t i = r->values.count;
    while (i > 0 && r->values.data[i - 1].node >= node)
      i--;
    const size_t value = i, result = r->nodes.data[node].first;
    piece *last = &p->of[p->count++];
    *last = (piece){0};
    CUT(r->ctx, &r->values, value, &last->values);
    CUT(r->ctx, &r->results, result, &last->results);
    CUT(r->ctx, &r->nodes, node, &last->nodes);
  }
  FNZ_TRY(emit_as_recorded(r));
  while (p->count > 0) {
    continue_with(r, &p->of[--p->count]);
    FNZ_TRY(emit_as_recorded(r));
  }
  return FNZ_OK;
}

fnz_status fnzi_rec_prepare(fnz_backend *backend, fnz_handle *wanted, size_t count,
                            const fnz_views *views) {
  fnzi_rec_tape *r = backend->self;
  mark(r, wanted, count);
  if (views)
    FNZ_TRY(simplify(r, *views, wanted, count));
  if (!views || *views != FNZ_VIEWS_KEEP)
    return FNZ_OK;
  /* Views that came of copies may be views of views, too. */
  bool changed;
  FNZ_TRY(fnzi_rec_copies_become_views(r, wanted, count, &changed));
  if (!changed)
    return FNZ_OK;
  mark(r, wanted, count);
  return simplify(r, FNZ_VIEWS_KEEP, wanted, count);
}

fnz_status fnzi_rec_build(fnz_backend *backend, const fnz_handle *wanted, size_t count,
                          const fnz_views *views, uint32_t *values) {
  fnzi_rec_tape *r = backend->self;
  fnz_handle *now;
  FNZI_NEW(&r->arena, count, &now);
  if (count)
    memcpy(now, wanted, count * sizeof *now);
  FNZI_TRIM(r->ctx, &r->values); /* nothing more is recorded */
  FNZI_TRIM(r->ctx, &r->results);
  FNZI_TRIM(r->ctx, &r->nodes);
  FNZ_TRY(fnzi_rec_prepare(backend, now, count, views));
  FNZI_RESERVE(r->ctx, &r->emitted, r->values.count);
  for (size_t i = 0; i < r->values.count; i++) /* inputs are values of the graph already */
    r->emitted.data[i] = r->values.data[i].value;
  r->emitted.count = r->values.count;
  if (views && *views == FNZ_VIEWS_KEEP) {
    waiting w = {.tape = r};
    FNZ_TRY(fnzi_rec_layouts_start(r, &w.layouts));
    for (size_t i = 0; i < r->nodes.count; i++)
      FNZ_TRY(fnzi_rec_layouts_add(r, &r->nodes.data[i], w.layouts));
    FNZ_TRY(reserve(r));
    fnz_status status = emit_all(&w, now, count);
    FNZI_VEC_FREE(r->ctx, &w.nodes);
    FNZ_TRY(status);
  } else if (views) {
    pieces p = {.count = 0};
    piece nothing = {0};
    fnz_status status = cut_and_emit(r, &p);
    while (p.count > 0)
      end_piece(r, &p.of[--p.count]);
    continue_with(r, &nothing);
    FNZ_TRY(status);
  } else
    FNZ_TRY(emit_as_recorded(r));
  for (size_t i = 0; i < count; i++)
    values[i] = r->emitted.data[now[i] - 1];
  return FNZ_OK;
}
