/* simplify.c - less of the tape: views of views, views of what was just put there, clones and casts
 * that change nothing, equal views twice.
 *
 * needs   a tape whose needed nodes are marked
 * keeps   the number and the geometry of every value that somebody needs, and each node's source;
 *         random operators and operators without results; the order of nodes
 * gives   nodes with other arguments and other operators: those that nobody needs any more are to
 * be found by marking again
 *
 * A node is only ever moved to another base when nobody else keeps its old one: a copy that two
 * have is better than two ways to it. Each round is linear in the nodes that are marked. */
#include "functionalize/recorder/simplify.h"

static fnzi_tidy_class class_of(fnzi_tidy *t, const fnz_op *op) {
  return !op || fnzi_op_is_custom(op) ? FNZI_TIDY_OTHER : fnzi_tidy_op_of(t, op)->class;
}

/* --- arguments -------------------------------------------------------------------------------- */
/* What has taken the place of a value. Whoever replaces is no replaced one itself. */
static void resolve(const fnzi_tidy *t, fnz_arg *arg) {
  if (arg->tag != FNZ_ARG_VALUE || !arg->u.value)
    return;
  const fnzi_sight *s = fnzi_sight_of(t, fnzi_tape_index(arg));
  if (s && s->kind == FNZI_SIGHT_SAME)
    arg->u.value = (fnz_handle)s->base + 1;
}

static void resolve_all(const fnzi_tidy *t, fnzi_tape_node *n) {
  for (uint32_t i = 0; i < fnzi_tape_nargs(t->tape, n); i++) {
    resolve(t, &n->args[i]);
    for (uint32_t k = 0; n->args[i].tag == FNZ_ARG_LIST && k < n->args[i].count; k++)
      resolve(t, &fnzi_tape_items(&n->args[i])[k]);
  }
}

static fnz_status count_use(void *user, const fnz_arg *arg) {
  fnzi_sight *s =
      arg->tag == FNZ_ARG_VALUE && arg->u.value ? fnzi_sight_of(user, fnzi_tape_index(arg)) : NULL;
  if (s)
    s->uses++;
  return FNZ_OK;
}

static fnz_status count_uses(fnzi_tidy *t, const fnzi_tape_node *n) {
  return fnzi_args_visit(n->args, fnzi_tape_nargs(t->tape, n), count_use, t);
}

/* --- views ------------------------------------------------------------------------------------ */
/* A view that is being looked at. */
typedef struct look {
  uint32_t node, from, base; /* what it is applied to; what its windows are windows of */
  const fnzi_view *view;
  bool real;
  fnz_geometry *windows;
  size_t count;
} look;

/* Its windows in the frame of `base`, which looks like `g`; `count` 0 when they cannot be said. */
static fnz_status open_windows(fnzi_tidy *t, look *l, const fnz_geometry *g) {
  const fnzi_tape_node *n = &t->tape->nodes.data[l->node];
  fnz_status status = fnzi_view_forward(t->scratch, l->view, n->op, n->args, n->op->nparams, g,
                                        &l->windows, &l->count);
  if (status == FNZ_NO_MEMORY)
    return status;
  if (status != FNZ_OK || l->count != n->count)
    l->count = 0;
  return FNZ_OK;
}

/* As far down as the views can be followed: from what its argument is a window of, else from its
 * argument itself. */
static fnz_status find_windows(fnzi_tidy *t, look *l) {
  const fnzi_sight *s = fnzi_sight_of(t, l->from);
  const fnz_geometry *frame;
  l->count = 0;
  if (s && s->kind == FNZI_SIGHT_SEEN && s->real == l->real &&
      !fnzi_view_counts_from_storage(l->view)) {
    l->base = s->base;
    FNZ_TRY(open_windows(t, l, s->window));
  }
  if (l->count)
    return FNZ_OK;
  l->base = l->from;
  FNZ_TRY(fnzi_tidy_frame(t, l->from, l->real, &frame));
  return open_windows(t, l, frame);
}

/* One ends before the other begins: no look at their strides is needed. */
static bool are_apart(fnzi_span a, fnzi_span b) {
  return fnzi_span_is_known(a) && (a.high <= b.low || b.high <= a.low);
}

/* The value below a scatter whose window lies apart from `window`, whose span is `span`: below all
 * of its run where they all do. FNZI_NO_NODE when it takes a look at strides to say. */
static uint32_t below(const fnzi_sight *put, const fnz_geometry *window, fnzi_span span) {
  if (put->window->dtype != window->dtype || !are_apart(put->reach->span, span))
    return FNZI_NO_NODE;
  return are_apart(put->reach->run, span) ? put->reach->start : put->base;
}

/* A window of a scatter's result that the scatter did not touch is one of its base; one that it put
 * there is its source. Half the way down a run is no better place than where it began: *base then
 * stays what it is. */
static fnz_status look_through(fnzi_tidy *t, const fnz_geometry *window, uint32_t *base,
                               uint32_t *source) {
  const fnz_geometry *frame;
  const fnzi_sight *s;
  uint32_t at = *base;
  fnzi_span span;
  *source = FNZI_NO_NODE;
  FNZ_TRY(fnzi_tidy_frame(t, at, false, &frame));
  bool known = !t->tape->program->decisions && fnzi_extent(window, &span.low, &span.high);
  for (int hops = 0; (s = fnzi_sight_of(t, at)) && s->kind == FNZI_SIGHT_PUT; hops++) {
    at = known && hops < FNZI_TIDY_HOPS ? below(s, window, span) : FNZI_NO_NODE;
    if (at != FNZI_NO_NODE)
      continue;
    bool same = fnzi_same_layout(s->window, window);
    fnzi_relation r =
        fnzi_decide(t->tape->program->decisions,
                    same ? FNZI_EQUAL : fnzi_relate(window, s->window, frame, FNZI_LITTLE_WORK),
                    window, s->window);
    if (same && r == FNZI_EQUAL)
      *source = s->source;
    if (r != FNZI_DISJOINT || hops == FNZI_TIDY_HOPS)
      return FNZ_OK;
    at = s->base;
  }
  *base = at;
  return FNZ_OK;
}

/* The same view of another base, or another view of what its argument is a view of. */
static fnz_status offer_move(fnzi_tidy *t, const look *l, uint32_t base,
                             const fnz_geometry *window) {
  const fnz_geometry *frame;
  const fnz_op *op;
  fnz_arg *args;
  if (base == l->from)
    return FNZ_OK;
  if (l->base == l->from)
    return fnzi_tidy_move(t, l->node, l->from, base, t->tape->nodes.data[l->node].op, NULL);
  FNZ_TRY(fnzi_tidy_frame(t, base, l->real, &frame));
  FNZ_TRY(fnzi_tidy_one_step(t, frame, window, l->real, &op, &args));
  return op ? fnzi_tidy_move(t, l->node, l->from, base, op, args) : FNZ_OK;
}

/* One result: an equal of another value, or something new to be known. */
static fnz_status look_at(fnzi_tidy *t, const look *l, size_t k, bool *done) {
  const fnzi_tape *tape = t->tape;
  uint32_t value = tape->results.data[tape->nodes.data[l->node].first + k] - 1;
  fnzi_sight seen = {.kind = FNZI_SIGHT_SEEN, .value = value, .base = l->base, .real = l->real};
  const fnz_geometry *frame;
  uint32_t source = FNZI_NO_NODE;
  *done = false;
  seen.window = &l->windows[k];
  FNZ_TRY(fnzi_tidy_frame(t, l->base, l->real, &frame));
  const bool all = fnzi_same_layout(seen.window, frame);
  if (fnzi_tidy_agreed(t, all) && all)
    FNZ_TRY(fnzi_tidy_replace(t, l->node, value, l->base, done));
  if (!*done && !l->real)
    FNZ_TRY(look_through(t, seen.window, &seen.base, &source));
  if (!*done && source != FNZI_NO_NODE)
    FNZ_TRY(fnzi_tidy_replace(t, l->node, value, source, done));
  if (*done)
    return FNZ_OK;
  source = fnzi_tidy_known(t, seen.base, l->real, seen.window, tape->values.data[value].geometry);
  /* FNZI_NO_NODE is an answer, too */
  if (fnzi_tidy_agreed(t, source) && source != FNZI_NO_NODE)
    FNZ_TRY(fnzi_tidy_replace(t, l->node, value, source, done));
  if (*done)
    return FNZ_OK;
  FNZ_TRY(fnzi_sight_add(t, &seen));
  return l->count == 1 ? offer_move(t, l, seen.base, seen.window) : FNZ_OK;
}

static bool is_plain(const fnz_geometry *g) {
  return !g->symbols && fnz_geometry_numel(g) > 0;
}

static fnz_status tidy_view(fnzi_tidy *t, uint32_t node) {
  const fnzi_tape_node *n = &t->tape->nodes.data[node];
  look l = {.node = node, .view = fnzi_tidy_op_of(t, n->op)->view, .real = fnz_op_is_view(n->op)};
  bool done, all_done = true;
  bool speaks =
      n->args[0].tag == FNZ_ARG_VALUE && !(l.real && fnzi_view_counts_from_storage(l.view));
  l.from = speaks ? fnzi_tape_index(&n->args[0]) : 0;
  const bool plain = speaks && is_plain(t->tape->values.data[l.from].geometry);
  if (!fnzi_tidy_agreed(t, plain) || !plain)
    return count_uses(t, n);
  FNZ_TRY(find_windows(t, &l));
  all_done = l.count > 0;
  for (size_t k = 0; k < l.count; k++) {
    FNZ_TRY(look_at(t, &l, k, &done));
    all_done = all_done && done;
  }
  return all_done ? FNZ_OK : count_uses(t, n);
}

/* --- copies ----------------------------------------------------------------------------------- */
static bool is_absent(const fnz_arg *a) {
  return a->tag == FNZ_ARG_DEFAULT || a->tag == FNZ_ARG_NONE;
}

/* Values never change, so that a clone of the same geometry is no other value; but for what the
 * program returns, which is memory of its own. A cast may also go to another device. */
static fnz_status tidy_copy(fnzi_tidy *t, uint32_t node, bool casts) {
  const fnzi_tape_node *n = &t->tape->nodes.data[node];
  uint32_t value = t->tape->results.data[n->first] - 1, from;
  int dtype = fnzi_op_param(n->op, "dtype");
  bool done = false, same, plain = n->args[0].tag == FNZ_ARG_VALUE && !n->wanted;
  for (int i = 1; casts && i < n->op->nparams; i++)
    plain = plain && (i == dtype || is_absent(&n->args[i]));
  from = plain ? fnzi_tape_index(&n->args[0]) : 0;
  same = t->tape->values.data[value].geometry == t->tape->values.data[from].geometry;
  if (plain && fnzi_tidy_agreed(t, same) && same)
    FNZ_TRY(fnzi_tidy_replace(t, node, value, from, &done));
  return done ? FNZ_OK : count_uses(t, n);
}

/* A result that nobody was told of cannot be spoken of. */
static bool has_all_results(const fnzi_tidy *t, const fnzi_tape_node *n) {
  for (uint32_t k = 0; k < n->count; k++)
    if (!t->tape->results.data[n->first + k])
      return false;
  return n->count > 0;
}

/* --- one round -------------------------------------------------------------------------------- */
static fnz_status tidy_node(fnzi_tidy *t, uint32_t node) {
  fnzi_tape_node *n = &t->tape->nodes.data[node];
  bool copies = t->views != FNZ_VIEWS_KEEP; /* else they are what does not share memory */
  bool ended;
  fnzi_arena_reset(t->scratch);
  resolve_all(t, n);
  switch (has_all_results(t, n) ? class_of(t, n->op) : FNZI_TIDY_OTHER) {
  case FNZI_TIDY_VIEW:
    return tidy_view(t, node);
  case FNZI_TIDY_SCATTER:
    FNZ_TRY(fnzi_tidy_scatter(t, node, &ended));
    return ended ? FNZ_OK : count_uses(t, n);
  case FNZI_TIDY_CLONE:
  case FNZI_TIDY_CAST:
    if (copies)
      return tidy_copy(t, node, class_of(t, n->op) == FNZI_TIDY_CAST);
    break;
  case FNZI_TIDY_OTHER:
  case FNZI_TIDY_UNKNOWN:
    break;
  }
  return count_uses(t, n);
}

/* A split of which only one piece is needed is that piece. */
static fnz_status take_piece(fnzi_tidy *t, uint32_t node) {
  fnzi_tape_node *n = &t->tape->nodes.data[node];
  const fnz_geometry *frame;
  const fnzi_sight *only = NULL;
  const fnz_op *op;
  fnz_arg *args;
  fnzi_arena_reset(t->scratch);
  for (uint32_t k = 0; k < n->count; k++) {
    const fnzi_sight *s = fnzi_sight_of(t, t->tape->results.data[n->first + k] - 1);
    if (!s || (s->kind == FNZI_SIGHT_SEEN && s->uses > 0 && only))
      return FNZ_OK;
    if (s->kind == FNZI_SIGHT_SEEN && s->uses > 0)
      only = s;
  }
  if (!only)
    return FNZ_OK;
  FNZ_TRY(fnzi_tidy_frame(t, only->base, only->real, &frame));
  FNZ_TRY(fnzi_tidy_one_step(t, frame, only->window, only->real, &op, &args));
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

static fnz_status take_pieces(fnzi_tidy *t) {
  for (uint32_t i = 0; i < t->tape->nodes.count; i++) {
    const fnzi_tape_node *n = &t->tape->nodes.data[i];
    if (n->needed && n->count > 1 && class_of(t, n->op) == FNZI_TIDY_VIEW)
      FNZ_TRY(take_piece(t, i));
  }
  return FNZ_OK;
}

/* It leaves nobody behind, and no run has become one node there. */
static bool pays(const fnzi_tidy *t, const fnzi_move *m) {
  const fnzi_sight *from = fnzi_sight_of(t, m->from);
  const uint32_t maker = t->tape->values.data[m->from].node;
  if (!m->args && t->tape->nodes.data[m->node].op != m->op)
    return false;
  if (m->free)
    return true;
  return from && maker != FNZI_NO_NODE && !t->tape->nodes.data[maker].wanted &&
         (from->dies || from->movable >= from->uses);
}

static void move_nodes(fnzi_tidy *t) {
  for (size_t i = 0; i < t->moves.count; i++) {
    const fnzi_move *m = &t->moves.data[i];
    fnzi_tape_node *n = &t->tape->nodes.data[m->node];
    if (!pays(t, m))
      continue;
    n->op = m->op;
    n->args = m->args ? m->args : n->args;
    n->args[0] = fnzi_arg_value((fnz_handle)m->base + 1);
    t->changed = true;
  }
}

static fnz_status start(fnzi_tidy *t, size_t *views) {
  const fnzi_tape *tape = t->tape;
  *views = 0;
  FNZI_NEW(t->arena, FNZI_TIDY_OPS, &t->ops);
  for (size_t i = 0; i < tape->nodes.count; i++) {
    const fnzi_tape_node *n = &tape->nodes.data[i];
    if (n->needed && class_of(t, n->op) != FNZI_TIDY_OTHER)
      *views += n->count;
  }
  if (!*views)
    return FNZ_OK;
  FNZI_RESERVE(tape->ctx, &t->sights, *views);
  t->nbuckets = (uint32_t)(*views + *views / 2 + 1);
  FNZI_NEW(t->arena, tape->values.count, &t->notes);
  FNZI_NEW(t->arena, t->nbuckets, &t->buckets);
  FNZI_NEW(t->arena, 1, &t->path);
  return FNZ_OK;
}

static fnz_status round_of(fnzi_tidy *t, fnz_handle *wanted, size_t count) {
  size_t views;
  FNZ_TRY(start(t, &views));
  for (uint32_t i = 0; views && i < t->tape->nodes.count; i++)
    if (t->tape->nodes.data[i].needed)
      FNZ_TRY(tidy_node(t, i));
  if (!views)
    return FNZ_OK;
  for (size_t i = 0; i < count; i++) {
    fnz_arg arg = fnzi_arg_value(wanted[i]);
    resolve(t, &arg);
    wanted[i] = arg.u.value;
    FNZ_TRY(count_use(t, &arg));
  }
  FNZ_TRY(take_pieces(t));
  if (t->views != FNZ_VIEWS_STRIDED)
    FNZ_TRY(fnzi_tidy_runs(t));
  move_nodes(t);
  return FNZ_OK;
}

fnz_status fnzi_tape_tidy(fnzi_tape *tape, fnz_views views, fnz_handle *wanted, size_t count,
                          bool *changed) {
  fnzi_arena arena, scratch;
  fnzi_tidy t = {.tape = tape, .arena = &arena, .scratch = &scratch, .views = views};
  fnzi_arena_init(&arena, tape->ctx);
  fnzi_arena_init(&scratch, tape->ctx);
  fnz_status status = round_of(&t, wanted, count);
  *changed = t.changed;
  FNZI_VEC_FREE(tape->ctx, &t.sights);
  FNZI_VEC_FREE(tape->ctx, &t.moves);
  fnzi_arena_free(&scratch);
  fnzi_arena_free(&arena);
  return status;
}
