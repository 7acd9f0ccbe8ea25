/* simplify.c - removes nodes of the tape: views of views, views of regions just scattered, clones
 * and casts that change nothing, equal views.
 *
 * needs   a tape whose needed nodes are marked
 * keeps   the elements and the geometry of every value that is used, and each node's source line;
 *         random operators and operators without results; the order of nodes
 * gives   nodes with other arguments and other operators; marking again finds the nodes that are
 *         not needed any more
 *
 * A node gets another base only where no other use keeps the old one: one shared copy is better
 * than two paths to the same window. Each round is linear in the nodes that are marked. */
#include "functionalize/recorder/simplify.h"

static fnzi_rec_op_class class_of(fnzi_rec_simplifier *t, const fnz_op *op) {
  return !op || fnzi_op_is_custom(op) ? FNZI_REC_OP_OTHER : fnzi_rec_op_of(t, op)->class;
}

/* --- arguments -------------------------------------------------------------------------------- */
/* The value that has replaced an argument. It is not replaced itself. */
static void resolve(const fnzi_rec_simplifier *t, fnz_arg *arg) {
  if (arg->tag != FNZ_ARG_VALUE || !arg->u.value)
    return;
  const fnzi_rec_fact *s = fnzi_rec_fact_of(t, fnzi_rec_tape_index(arg));
  if (s && s->kind == FNZI_FACT_SAME)
    arg->u.value = (fnz_handle)s->base + 1;
}

static void count_uses(fnzi_rec_simplifier *t, const fnz_arg *args, size_t count) {
  FNZI_EACH_ARG(each, args, count) {
    fnzi_rec_fact *s = each.arg->tag == FNZ_ARG_VALUE && each.arg->u.value
                           ? fnzi_rec_fact_of(t, fnzi_rec_tape_index(each.arg))
                           : NULL;
    if (s)
      s->uses++;
  }
}

/* --- views ------------------------------------------------------------------------------------ */
/* A view that is simplified. */
typedef struct viewing {
  uint32_t node, from, base; /* its argument; the value that its windows are in the frame of */
  const fnzi_view *view;
  bool real;
  fnz_geometry *windows;
  size_t count;
} viewing;

/* Its windows in the frame `g` of `base`; `count` 0 when they are not known. */
static fnz_status simplify_open_windows(fnzi_rec_simplifier *t, viewing *l, const fnz_geometry *g) {
  const fnzi_rec_tape_node *n = &t->tape->nodes.data[l->node];
  const fnzi_op_call call = {n->op, n->args, n->op->nparams};
  fnz_status status = fnzi_view_forward((fnzi_int_space){t->tape->program->ints, t->scratch},
                                        l->view, &call, g, &l->windows, &l->count);
  if (fnzi_is_final(status))
    return status;
  if (status != FNZ_OK || l->count != n->count)
    l->count = 0;
  return FNZ_OK;
}

/* One ends before the other begins, so that they are disjoint whatever their strides. */
static bool are_apart(fnzi_rec_span a, fnzi_rec_span b) {
  return fnzi_rec_span_is_known(a) && (a.high <= b.low || b.high <= a.low);
}

/* The value below a scatter whose window is apart from `window`, whose span is `span`: below all of
 * its run where all windows are. FNZI_NO_NODE when strides decide. */
static uint32_t below(const fnzi_rec_fact *scatter, const fnz_geometry *window,
                      fnzi_rec_span span) {
  if (scatter->window->dtype != window->dtype || !are_apart(scatter->reach->span, span))
    return FNZI_NO_NODE;
  return are_apart(scatter->reach->run, span) ? scatter->reach->start : scatter->base;
}

/* A window of a scatter's result that does not meet the written part is a window of the scatter's
 * base; a window that equals the written part is the scattered *source. If the search ends inside
 * of a run, *base stays as it is: a base in the middle of a run saves nothing. */
static fnz_status skip_scatters(fnzi_rec_simplifier *t, const fnz_geometry *window, uint32_t *base,
                                uint32_t *source) {
  const fnz_geometry *frame;
  const fnzi_rec_fact *s;
  uint32_t at = *base;
  fnzi_rec_span span;
  *source = FNZI_NO_NODE;
  FNZ_TRY(fnzi_rec_simplify_frame(t, at, false, &frame));
  bool known = !fnzi_int_is_symbolic(window) && fnzi_extent(window, &span.low, &span.high);
  for (int hops = 0; (s = fnzi_rec_fact_of(t, at)) && s->kind == FNZI_FACT_SCATTER_INTO; hops++) {
    at = known && hops < FNZI_REC_SCATTER_HOPS ? below(s, window, span) : FNZI_NO_NODE;
    if (at != FNZI_NO_NODE)
      continue;
    bool same = fnzi_rec_same_layout(s->window, window);
    const fnzi_relation r = same ? FNZI_EQUAL
                                 : fnzi_oracle_relate(t->tape->program->ints, window, s->window,
                                                      frame, FNZI_LITTLE_WORK);
    if (same && r == FNZI_EQUAL)
      *source = s->source;
    if (r != FNZI_DISJOINT || hops == FNZI_REC_SCATTER_HOPS)
      return FNZ_OK;
    at = s->base;
  }
  *base = at;
  return FNZ_OK;
}

/* Offers the same view of another base, or one view in place of two. */
static fnz_status offer_rebase(fnzi_rec_simplifier *t, const viewing *l, uint32_t base,
                               const fnz_geometry *window) {
  const fnz_geometry *frame;
  const fnz_op *op;
  fnz_arg *args;
  /* Complex numbers, viewed as pairs, are viewed as complex numbers again: a program that takes
   * them apart into pairs has no view of complex numbers in place of that. */
  if (base == l->from || (!fnzi_is_complex(t->tape->values.data[l->from].geometry->dtype) &&
                          fnzi_is_complex(t->tape->values.data[base].geometry->dtype)))
    return FNZ_OK;
  if (l->base == l->from)
    return fnzi_rec_rebase_offer(t, l->node, l->from, base, t->tape->nodes.data[l->node].op, NULL);
  FNZ_TRY(fnzi_rec_simplify_frame(t, base, l->real, &frame));
  FNZ_TRY(fnzi_rec_simplify_step(t, frame, window, l->real, &op, &args));
  return op ? fnzi_rec_rebase_offer(t, l->node, l->from, base, op, args) : FNZ_OK;
}

/* One result: it is replaced by an equal value, or a fact about it is added. */
static fnz_status add_result(fnzi_rec_simplifier *t, const viewing *l, size_t k, bool *done) {
  const fnzi_rec_tape *tape = t->tape;
  uint32_t value = tape->results.data[tape->nodes.data[l->node].first + k] - 1;
  fnzi_rec_fact fact = {
      .kind = FNZI_FACT_VIEW_OF, .value = value, .base = l->base, .real = l->real};
  const fnz_geometry *frame;
  uint32_t source = FNZI_NO_NODE;
  *done = false;
  fact.window = &l->windows[k];
  FNZ_TRY(fnzi_rec_simplify_frame(t, l->base, l->real, &frame));
  const bool all = fnzi_rec_same_layout(fact.window, frame);
  if (all)
    FNZ_TRY(fnzi_rec_simplify_replace(t, l->node, value, l->base, done));
  if (!*done && !l->real)
    FNZ_TRY(skip_scatters(t, fact.window, &fact.base, &source));
  if (!*done && source != FNZI_NO_NODE)
    FNZ_TRY(fnzi_rec_simplify_replace(t, l->node, value, source, done));
  if (*done)
    return FNZ_OK;
  source =
      fnzi_rec_fact_find(t, fact.base, l->real, fact.window, tape->values.data[value].geometry);
  /* FNZI_NO_NODE is an answer that must agree, too */
  if (source != FNZI_NO_NODE)
    FNZ_TRY(fnzi_rec_simplify_replace(t, l->node, value, source, done));
  if (*done)
    return FNZ_OK;
  FNZ_TRY(fnzi_rec_fact_add(t, &fact));
  return l->count == 1 ? offer_rebase(t, l, fact.base, fact.window) : FNZ_OK;
}

/* *done: equal values replace all results. */
static fnz_status simplify_view(fnzi_rec_simplifier *t, uint32_t node, bool *done) {
  const fnzi_rec_tape_node *n = &t->tape->nodes.data[node];
  viewing l = {.node = node, .view = fnzi_rec_op_of(t, n->op)->view, .real = fnz_op_is_view(n->op)};
  bool known =
      n->args[0].tag == FNZ_ARG_VALUE && !(l.real && fnzi_view_counts_from_storage(l.view));
  l.from = known ? fnzi_rec_tape_index(&n->args[0]) : 0;
  const fnz_geometry *g = t->tape->values.data[l.from].geometry;
  const bool plain = known && !g->symbols && !fnzi_int_is_empty(g);
  if (!plain)
    return FNZ_OK;
  /* The windows lie in the base of the argument if that is a view itself, else in the argument. */
  const fnzi_rec_fact *s = fnzi_rec_fact_of(t, l.from);
  const fnz_geometry *frame;
  l.count = 0;
  if (s && s->kind == FNZI_FACT_VIEW_OF && s->real == l.real &&
      !fnzi_view_counts_from_storage(l.view)) {
    l.base = s->base;
    FNZ_TRY(simplify_open_windows(t, &l, s->window));
  }
  if (!l.count) {
    l.base = l.from;
    FNZ_TRY(fnzi_rec_simplify_frame(t, l.from, l.real, &frame));
    FNZ_TRY(simplify_open_windows(t, &l, frame));
  }
  *done = l.count > 0;
  for (size_t k = 0; k < l.count; k++) {
    bool one;
    FNZ_TRY(add_result(t, &l, k, &one));
    *done = *done && one;
  }
  return FNZ_OK;
}

/* --- copies ----------------------------------------------------------------------------------- */
/* Values never change, so a clone of the same geometry can be replaced by its argument, unless the
 * program returns it as memory of its own. A cast with more than a dtype stays. */
static fnz_status simplify_copy(fnzi_rec_simplifier *t, uint32_t node, bool casts, bool *done) {
  const fnzi_rec_tape_node *n = &t->tape->nodes.data[node];
  uint32_t value = t->tape->results.data[n->first] - 1, from;
  int dtype = fnzi_op_param(n->op, "dtype");
  bool same, plain = n->args[0].tag == FNZ_ARG_VALUE && !n->wanted;
  for (int i = 1; casts && i < n->op->nparams; i++)
    plain = plain &&
            (i == dtype || n->args[i].tag == FNZ_ARG_DEFAULT || n->args[i].tag == FNZ_ARG_NONE);
  from = plain ? fnzi_rec_tape_index(&n->args[0]) : 0;
  same = t->tape->values.data[value].geometry == t->tape->values.data[from].geometry;
  if (plain && same)
    FNZ_TRY(fnzi_rec_simplify_replace(t, node, value, from, done));
  return FNZ_OK;
}

/* --- one round -------------------------------------------------------------------------------- */
static fnz_status simplify_node(fnzi_rec_simplifier *t, uint32_t node) {
  fnzi_rec_tape_node *n = &t->tape->nodes.data[node];
  bool copies = t->views != FNZ_VIEWS_KEEP; /* with real views, a copy is memory of its own */
  bool done = false;
  fnzi_arena_reset(t->scratch);
  for (uint32_t i = 0; i < fnzi_rec_tape_nargs(t->tape, n); i++) {
    resolve(t, &n->args[i]);
    for (uint32_t k = 0; n->args[i].tag == FNZ_ARG_LIST && k < n->args[i].count; k++)
      resolve(t, &fnzi_rec_tape_items(&n->args[i])[k]);
  }
  bool has_values = n->count > 0; /* a result without a value cannot be replaced */
  for (uint32_t k = 0; k < n->count && has_values; k++)
    has_values = t->tape->results.data[n->first + k] != 0;
  switch (has_values ? class_of(t, n->op) : FNZI_REC_OP_OTHER) {
  case FNZI_REC_OP_VIEW:
    FNZ_TRY(simplify_view(t, node, &done));
    break;
  case FNZI_REC_OP_SCATTER:
    FNZ_TRY(fnzi_rec_simplify_scatter(t, node, &done));
    break;
  case FNZI_REC_OP_CLONE:
  case FNZI_REC_OP_CAST:
    if (copies)
      FNZ_TRY(simplify_copy(t, node, class_of(t, n->op) == FNZI_REC_OP_CAST, &done));
    break;
  case FNZI_REC_OP_OTHER:
  case FNZI_REC_OP_UNKNOWN:
    break;
  }
  if (!done)
    count_uses(t, n->args, fnzi_rec_tape_nargs(t->tape, n));
  return FNZ_OK;
}

/* Replaces a split with only one used piece by the view of that piece. */
static fnz_status take_piece(fnzi_rec_simplifier *t, uint32_t node) {
  fnzi_rec_tape_node *n = &t->tape->nodes.data[node];
  const fnz_geometry *frame;
  const fnzi_rec_fact *only = NULL;
  const fnz_op *op;
  fnz_arg *args;
  fnzi_arena_reset(t->scratch);
  for (uint32_t k = 0; k < n->count; k++) {
    const fnzi_rec_fact *s = fnzi_rec_fact_of(t, t->tape->results.data[n->first + k] - 1);
    if (!s || (s->kind == FNZI_FACT_VIEW_OF && s->uses > 0 && only))
      return FNZ_OK;
    if (s->kind == FNZI_FACT_VIEW_OF && s->uses > 0)
      only = s;
  }
  if (!only)
    return FNZ_OK;
  FNZ_TRY(fnzi_rec_simplify_frame(t, only->base, only->real, &frame));
  FNZ_TRY(fnzi_rec_simplify_step(t, frame, only->window, only->real, &op, &args));
  if (!op)
    return FNZ_OK;
  args[0] = fnzi_arg_value((fnz_handle)only->base + 1);
  t->tape->results.data[n->first] = only->value + 1;
  n->count = 1;
  n->op = op;
  n->args = args;
  t->changed = true;
  return FNZ_OK;
}

/* All uses of the old base go, so that its node goes, too; and the node itself was not changed by a
 * run that became one node. */
static bool pays(const fnzi_rec_simplifier *t, const fnzi_rec_rebase *m) {
  const fnzi_rec_fact *from = fnzi_rec_fact_of(t, m->from);
  const uint32_t maker = t->tape->values.data[m->from].node;
  if (!m->args && t->tape->nodes.data[m->node].op != m->op)
    return false;
  if (m->free)
    return true;
  return from && maker != FNZI_NO_NODE && !t->tape->nodes.data[maker].wanted &&
         (from->dies || from->rebasable >= from->uses);
}

static fnz_status start(fnzi_rec_simplifier *t, size_t *views) {
  const fnzi_rec_tape *tape = t->tape;
  *views = 0;
  FNZI_NEW(t->arena, FNZI_REC_OPS, &t->ops);
  for (size_t i = 0; i < tape->nodes.count; i++) {
    const fnzi_rec_tape_node *n = &tape->nodes.data[i];
    if (n->needed && class_of(t, n->op) != FNZI_REC_OP_OTHER)
      *views += n->count;
  }
  if (!*views)
    return FNZ_OK;
  FNZI_RESERVE(tape->ctx, &t->facts, *views);
  t->nbuckets = (uint32_t)(*views + *views / 2 + 1);
  FNZI_NEW(t->arena, tape->values.count, &t->fact_at);
  FNZI_NEW(t->arena, t->nbuckets, &t->buckets);
  FNZI_NEW(t->arena, 1, &t->path);
  return FNZ_OK;
}

static fnz_status round_of(fnzi_rec_simplifier *t, fnz_handle *wanted, size_t count) {
  size_t views;
  FNZ_TRY(start(t, &views));
  for (uint32_t i = 0; views && i < t->tape->nodes.count; i++)
    if (t->tape->nodes.data[i].needed)
      FNZ_TRY(simplify_node(t, i));
  if (!views)
    return FNZ_OK;
  for (size_t i = 0; i < count; i++) {
    fnz_arg arg = fnzi_arg_value(wanted[i]);
    resolve(t, &arg);
    wanted[i] = arg.u.value;
    count_uses(t, &arg, 1);
  }
  for (uint32_t i = 0; i < t->tape->nodes.count; i++) {
    const fnzi_rec_tape_node *n = &t->tape->nodes.data[i];
    if (n->needed && n->count > 1 && class_of(t, n->op) == FNZI_REC_OP_VIEW)
      FNZ_TRY(take_piece(t, i));
  }
  if (t->views != FNZ_VIEWS_STRIDED)
    FNZ_TRY(fnzi_rec_simplify_runs(t));
  for (size_t i = 0; i < t->rebases.count; i++) {
    const fnzi_rec_rebase *m = &t->rebases.data[i];
    fnzi_rec_tape_node *n = &t->tape->nodes.data[m->node];
    if (!pays(t, m))
      continue;
    n->op = m->op;
    n->args = m->args ? m->args : n->args;
    n->args[0] = fnzi_arg_value((fnz_handle)m->base + 1);
    t->changed = true;
  }
  return FNZ_OK;
}

fnz_status fnzi_rec_simplify(fnzi_rec_tape *tape, fnz_views views, fnz_handle *wanted, size_t count,
                             bool *changed) {
  fnzi_arena arena, scratch;
  fnzi_rec_simplifier t = {.tape = tape, .arena = &arena, .scratch = &scratch, .views = views};
  fnzi_arena_init(&arena, tape->ctx);
  fnzi_arena_init(&scratch, tape->ctx);
  fnz_status status = round_of(&t, wanted, count);
  *changed = t.changed;
  FNZI_VEC_FREE(tape->ctx, &t.facts);
  FNZI_VEC_FREE(tape->ctx, &t.rebases);
  fnzi_arena_free(&scratch);
  fnzi_arena_free(&arena);
  return status;
}
