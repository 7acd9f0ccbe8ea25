/* check.c - proves a finished plan again, step by step, with *facts*: certain bytes hold a value as
 * it would be stored at some place. A write ends facts about its bytes; a read must be covered by
 * facts.
 *
 * The checker knows the meaning of operators (facts.c, maps.c), but neither the rules that chose
 * places nor the lives of buffers. The arena is one piece of memory here. */
#include "engine/plan/check.h"

/* --- What nodes mean --------------------------------------------------------------------- */
/* Computes the part of `bytes` that is within `of`. */
static fnz_status within(fnzi_pln_checker *c, fnzi_pln_bytes bytes, fnzi_pln_bytes of,
                         fnzi_pln_bytes *out) {
  fnzi_pln_bytes outside;
  FNZ_TRY(fnzi_pln_bytes_less(&c->p.scratch, bytes, of, UINT32_MAX, &outside));
  return fnzi_pln_bytes_less(&c->p.scratch, bytes, outside, UINT32_MAX, out);
}

typedef struct seen {
  fnzi_pln_checker *c;
  const fnz_geometry *windows;
  size_t count, next;
  const fnzi_pln_known *from;
  const fnzi_pln_step *move; /* NULL, or of a result, from where it is seen */
} seen;

static fnz_status see_window(fnzi_pln_planner *p, uint32_t value, void *user) {
  seen *s = user;
  (void)p;
  size_t k = s->next++;
  bool moves = s->move != NULL && s->move->value == value;
  fnzi_pln_place at = moves ? s->move->from : s->c->plan->places[value];
  fnzi_pln_bytes all, part;
  if (k >= s->count || at.buffer == FNZI_PLN_NONE ||
      !fnzi_pln_place_equal(at, (fnzi_pln_place){s->from->place.buffer, &s->windows[k]}))
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_check_image(s->c, value, at, &all));
  FNZ_TRY(within(s->c, s->from->bytes, all, &part));
  return fnzi_pln_learn(s->c, value, s->c->last[value], at, part);
}

static fnz_status know_views_of(fnzi_pln_checker *c, const fnzi_node *node,
                                const fnzi_pln_fact *means, const fnzi_pln_step *move,
                                fnzi_pln_home *base) {
  fnzi_pln_known **list = base ? &base->facts : NULL;
  for (const fnzi_pln_known *f; list && (f = fnzi_pln_check_first(list)); list = &(*list)->other) {
    seen s = {.c = c, .from = f, .count = 1, .move = move};
    bool found = true;
    if (means->access == FNZI_PLN_ACCESS_VIEW) {
      fnz_geometry *windows;
      FNZ_TRY(fnzi_pln_map_views(&c->p, node, means, f->place.map, &windows, &s.count, &found));
      s.windows = windows;
    } else {
      uint32_t result = fnzi_pln_result_of(node);
      FNZ_TRY(fnzi_pln_map_expand(&c->p, f->place.map, c->p.graph->values.data[result].geometry,
                                  &s.windows));
    }
    if (found)
      FNZ_TRY(fnzi_pln_each_value(&c->p, node->outputs, node->noutputs, see_window, &s));
  }
  return FNZ_OK;
}

/* The buffer of all results, or that they are in several buffers. */
typedef struct lying {
  const fnzi_pln_checker *c;
  const fnzi_pln_step *move;
  uint32_t buffer;
  bool in_several;
} lying;

static fnz_status see_buffer(fnzi_pln_planner *p, uint32_t value, void *user) {
  lying *l = user;
  (void)p;
  uint32_t buffer =
      l->move && l->move->value == value ? l->move->from.buffer : l->c->plan->places[value].buffer;
  l->in_several = l->in_several ||
                  (l->buffer != FNZI_PLN_NONE && buffer != FNZI_PLN_NONE && buffer != l->buffer);
  l->buffer = buffer == FNZI_PLN_NONE ? l->buffer : buffer;
  return FNZ_OK;
}

/* Adds the facts of a view. Its value is known where its base's is, in the view's buffer; a base
 * may be known in many buffers. */
static fnz_status know_view(fnzi_pln_checker *c, const fnzi_node *node, const fnzi_pln_fact *means,
                            const fnzi_pln_step *move) {
  uint32_t base = fnzi_pln_argument(node, means->access == FNZI_PLN_ACCESS_SAME ? means->of : 0);
  lying l = {.c = c, .move = move, .buffer = FNZI_PLN_NONE};
  FNZ_TRY(fnzi_pln_each_value(&c->p, node->outputs, node->noutputs, see_buffer, &l));
  if (!l.in_several)
    return know_views_of(c, node, means, move, fnzi_pln_check_home(c, base, l.buffer));
  for (fnzi_pln_home *home = c->of[base]; home; home = home->other)
    FNZ_TRY(know_views_of(c, node, means, move, home));
  return FNZ_OK;
}

/* If elements of the base share bytes, an element in the region may share them with one outside.
 * Then both must be known. */
static fnz_status know_shared(fnzi_pln_checker *c, fnzi_pln_bytes base, fnzi_pln_bytes region,
                              fnzi_pln_bytes source, fnzi_pln_bytes *out) {
  FNZ_TRY(fnzi_pln_bytes_less(&c->p.scratch, region, source, UINT32_MAX, &region));
  return fnzi_pln_bytes_less(&c->p.scratch, base, region, UINT32_MAX, out);
}

static fnz_status know_scatter(fnzi_pln_checker *c, const fnzi_node *node,
                               const fnzi_pln_fact *means) {
  uint32_t base = fnzi_pln_argument(node, 0), source = fnzi_pln_argument(node, 1);
  uint32_t result = fnzi_pln_result_of(node);
  fnzi_pln_place at = c->plan->places[result], region = at;
  fnzi_pln_bytes kept, written, all;
  bool found;
  if (at.buffer == FNZI_PLN_NONE)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_map_region(&c->p, node, means, at.map, &region.map, &found));
  if (!found)
    return FNZ_OK; /* then a kernel has written it, in a step */
  FNZ_TRY(fnzi_pln_check_image(c, result, region, &all));
  FNZ_TRY(fnzi_pln_known_of(c, base, at, &kept));
  FNZ_TRY(fnzi_pln_known_of(c, source, region, &written));
  if (!fnzi_pln_map_injective(at.map) || !fnzi_pln_map_injective(region.map)) {
    FNZ_TRY(know_shared(c, kept, all, written, &kept));
    return fnzi_pln_learn(c, result, c->last[result], at, kept);
  }
  FNZ_TRY(fnzi_pln_bytes_less(&c->p.scratch, kept, all, UINT32_MAX, &kept));
  FNZ_TRY(fnzi_pln_bytes_join(&c->p.scratch, kept, written, UINT32_MAX, &kept));
  return fnzi_pln_learn(c, result, c->last[result], at, kept);
}

typedef struct joined {
  fnzi_pln_checker *c;
  fnzi_pln_bytes bytes;
  uint32_t buffer;
} joined;

static fnz_status know_piece(fnzi_pln_planner *p, uint32_t value, const fnz_geometry *map,
                             void *user) {
  joined *j = user;
  fnzi_pln_bytes bytes;
  FNZ_TRY(fnzi_pln_known_of(j->c, value, (fnzi_pln_place){j->buffer, map}, &bytes));
  return fnzi_pln_bytes_join(&p->scratch, j->bytes, bytes, UINT32_MAX, &j->bytes);
}

static fnz_status know_join(fnzi_pln_checker *c, const fnzi_node *node,
                            const fnzi_pln_fact *means) {
  uint32_t result = fnzi_pln_result_of(node);
  fnzi_pln_place at = c->plan->places[result];
  joined j = {.c = c, .buffer = at.buffer};
  if (at.buffer == FNZI_PLN_NONE)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_join_visit(&c->p, node, means, at.map, know_piece, &j));
  return fnzi_pln_learn(c, result, c->last[result], at, j.bytes);
}

/* Derives facts from the content of memory after the steps of a node. */
static fnz_status know(fnzi_pln_checker *c, uint32_t n) {
  const fnzi_node *node = &c->p.graph->nodes.data[n];
  const fnzi_pln_fact *means;
  FNZ_TRY(fnzi_pln_fact_find(&c->p, node->op, &means));
  switch (fnzi_pln_node_access(&c->p, node, means)) {
  case FNZI_PLN_ACCESS_VIEW:
  case FNZI_PLN_ACCESS_SAME:
    return know_view(c, node, means, NULL);
  case FNZI_PLN_ACCESS_SCATTER:
    return know_scatter(c, node, means);
  case FNZI_PLN_ACCESS_JOIN:
    return know_join(c, node, means);
  default:
    return FNZ_OK;
  }
}

/* --- Steps ------------------------------------------------------------------------------- */
static bool same_strides(const fnz_geometry *a, const fnz_geometry *b) {
  fnz_geometry moved = *a;
  moved.offset = b->offset;
  return fnzi_pln_map_equal(&moved, b);
}

static int64_t address(const fnzi_pln_checker *c, fnzi_pln_place place, int64_t element) {
  const fnzi_pln_buffer *b = &c->plan->buffers.data[place.buffer];
  int64_t at = place.map->offset;
  for (uint32_t d = place.map->rank; d-- > 0; element /= place.map->sizes[d])
    at += element % place.map->sizes[d] * place.map->strides[d];
  return at * (int64_t)fnzi_dtype(place.map->dtype)->bytes +
         (b->kind == FNZI_PLN_TEMP ? (int64_t)b->offset : 0);
}

/* Computes the bytes of `to` that hold the known `bytes` of `from` after a move. */
static fnz_status carry(fnzi_pln_checker *c, const fnzi_pln_step *s, fnzi_pln_bytes bytes,
                        fnzi_pln_bytes from, fnzi_pln_bytes to, fnzi_pln_bytes *out) {
  uint32_t parts = fnzi_is_complex(s->to.map->dtype) ? 2 : 1; /* one may be known alone */
  int64_t bytes_of_part = (int64_t)fnzi_dtype(s->to.map->dtype)->bytes / parts;
  fnzi_pln_span *spans;
  uint32_t count = 0;
  *out = to;
  if (fnzi_pln_bytes_hold(bytes, from))
    return FNZ_OK;
  if (same_strides(s->from.map, s->to.map)) {
    int64_t shift = to.spans[0].low - from.spans[0].low;
    FNZI_NEW(&c->p.scratch, bytes.count, &spans);
    for (uint32_t i = 0; i < bytes.count; i++)
      spans[i] = (fnzi_pln_span){bytes.spans[i].low + shift, bytes.spans[i].high + shift};
    *out = (fnzi_pln_bytes){spans, bytes.count, false};
    return FNZ_OK;
  }
  FNZI_NEW(&c->p.scratch, parts * (size_t)fnz_geometry_numel(s->to.map), &spans);
  for (int64_t i = 0; i < fnz_geometry_numel(s->to.map); i++)
    for (uint32_t part = 0; part < parts; part++) {
      fnzi_pln_span source = {address(c, s->from, i) + part * bytes_of_part, 0};
      source.high = source.low + bytes_of_part;
      if (!fnzi_pln_bytes_hold(bytes, (fnzi_pln_bytes){&source, 1, false}))
        continue;
      spans[count].low = address(c, s->to, i) + part * bytes_of_part;
      spans[count].high = spans[count].low + bytes_of_part;
      count++;
    }
  *out = fnzi_pln_bytes_sort(spans, count);
  return FNZ_OK;
}

/* The moved value may be the result of a view that has no other place. */
static fnz_status know_moved(fnzi_pln_checker *c, const fnzi_pln_step *s) {
  const fnzi_pln_fact *means;
  if (s->node == FNZI_PLN_NONE || c->of[s->value] != NULL)
    return FNZ_OK;
  const fnzi_node *node = &c->p.graph->nodes.data[c->node];
  FNZ_TRY(fnzi_pln_fact_find(&c->p, node->op, &means));
  fnzi_pln_access access = fnzi_pln_node_access(&c->p, node, means);
  return access == FNZI_PLN_ACCESS_VIEW || access == FNZI_PLN_ACCESS_SAME
             ? know_view(c, node, means, s)
             : FNZ_OK;
}

static fnz_status check_move(fnzi_pln_checker *c, const fnzi_pln_step *s) {
  fnzi_pln_bytes bytes, from, to, carried;
  uint32_t last = c->last[s->value] > c->node ? c->last[s->value] : c->node;
  if (fnz_geometry_numel(s->from.map) != fnz_geometry_numel(s->to.map) ||
      fnzi_dtype(s->from.map->dtype)->bytes != fnzi_dtype(s->to.map->dtype)->bytes)
    return fnzi_pln_check_wrong(c, s->value, "it is moved to a place of another size");
  FNZ_TRY(fnzi_pln_check_writable(c, s->value, s->to));
  FNZ_TRY(fnzi_pln_check_image(c, s->value, s->from, &from));
  FNZ_TRY(fnzi_pln_check_image(c, s->value, s->to, &to));
  if (fnzi_pln_check_memory(c, s->from.buffer) == fnzi_pln_check_memory(c, s->to.buffer) &&
      fnzi_pln_bytes_meet(from, 0, to))
    return fnzi_pln_check_wrong(c, s->value, "it is moved onto itself");
  FNZ_TRY(know_moved(c, s));
  FNZ_TRY(fnzi_pln_known_of(c, s->value, s->from, &bytes));
  FNZ_TRY(within(c, bytes, from, &bytes));
  FNZ_TRY(carry(c, s, bytes, from, to, &carried));
  FNZ_TRY(fnzi_pln_forget(c, fnzi_pln_check_memory(c, s->to.buffer), to));
  return fnzi_pln_learn(c, s->value, last, s->to, carried);
}

typedef struct called {
  fnzi_pln_checker *c;
  const fnzi_pln_fact *means;
  uint32_t skip; /* argument 0, which an update overwrites; as another argument it is read */
  bool updates;
  uint32_t written;        /* results */
  uint32_t result;         /* that is looked at */
  fnzi_pln_bytes overlaps; /* of it */
} called;

static fnz_status check_argument(fnzi_pln_planner *p, uint32_t value, void *user) {
  const called *k = user;
  (void)p;
  return fnzi_pln_check_holds(k->c, value, k->c->plan->places[value]);
}

/* An argument keeps its bytes while results are written. */
static fnz_status check_apart(fnzi_pln_planner *p, uint32_t value, uint32_t argument, uint32_t item,
                              void *user) {
  called *k = user;
  const fnzi_pln_place *places = k->c->plan->places;
  const fnzi_node *node = &p->graph->nodes.data[k->c->node];
  fnzi_pln_bytes bytes;
  if ((argument == 0 && value == k->skip) ||
      fnzi_pln_check_memory(k->c, places[value].buffer) !=
          fnzi_pln_check_memory(k->c, places[k->result].buffer))
    return FNZ_OK;
  if (!k->updates && fnzi_pln_place_equal(places[value], places[k->result]) &&
      fnzi_pln_may_share(p, node, k->means, fnzi_pln_node_access(p, node, k->means), k->result,
                         argument, item))
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_check_image(k->c, value, places[value], &bytes));
  return fnzi_pln_bytes_meet(bytes, 0, k->overlaps)
             ? fnzi_pln_check_wrong(k->c, value, "a result is written over it while it is read")
             : FNZ_OK;
}

static fnz_status write_result(fnzi_pln_planner *p, uint32_t value, void *user) {
  called *k = user;
  fnzi_pln_checker *c = k->c;
  const fnzi_node *node = &p->graph->nodes.data[c->node];
  fnzi_pln_place at = c->plan->places[value];
  fnzi_pln_bytes known_of_base;
  FNZ_TRY(fnzi_pln_check_writable(c, value, at));
  FNZ_TRY(fnzi_pln_check_image(c, value, at, &k->overlaps));
  k->result = value;
  FNZ_TRY(fnzi_pln_each_argument(p, node, check_apart, k));
  if (!fnzi_pln_map_injective(at.map))
    return fnzi_pln_check_wrong(c, value, "elements of a result share bytes");
  bool updates = k->skip != FNZI_PLN_NONE;
  if (updates)
    FNZ_TRY(fnzi_pln_known_of(c, k->skip, at, &known_of_base));
  FNZ_TRY(fnzi_pln_forget(c, fnzi_pln_check_memory(c, at.buffer), k->overlaps));
  k->skip = FNZI_PLN_NONE; /* further results are no updates */
  k->written++;
  return fnzi_pln_learn(c, value, c->last[value], at, updates ? known_of_base : k->overlaps);
}

/* Checks that no other result has overwritten the result's place. */
static fnz_status check_result(fnzi_pln_planner *p, uint32_t value, void *user) {
  const called *k = user;
  (void)p;
  return fnzi_pln_check_holds(k->c, value, k->c->plan->places[value]);
}

/* The buffer in which bodies work holds nothing before and nothing after. */
static fnz_status forget_room(fnzi_pln_checker *c, const fnzi_pln_step *s) {
  if (s->kind != FNZI_PLN_REGION || s->room == FNZI_PLN_NONE)
    return FNZ_OK;
  const fnzi_pln_buffer *room = &c->plan->buffers.data[s->room];
  fnzi_pln_span *all;
  FNZI_NEW(&c->p.scratch, 1, &all);
  *all = (fnzi_pln_span){(int64_t)room->offset, (int64_t)(room->offset + room->bytes)};
  return fnzi_pln_forget(c, c->arena, (fnzi_pln_bytes){all, 1, false});
}

static fnz_status check_call(fnzi_pln_checker *c, const fnzi_pln_step *s) {
  const fnzi_node *node = &c->p.graph->nodes.data[s->node];
  called k = {.c = c, .skip = FNZI_PLN_NONE, .updates = s->in_place};
  FNZ_TRY(fnzi_pln_fact_find(&c->p, node->op, &k.means));
  if (s->in_place)
    k.skip = fnzi_pln_argument(node, 0);
  FNZ_TRY(forget_room(c, s));
  FNZ_TRY(fnzi_pln_each_value(&c->p, node->args + s->in_place, node->nargs - s->in_place,
                              check_argument, &k));
  FNZ_TRY(fnzi_pln_each_value(&c->p, node->outputs, node->noutputs, write_result, &k));
  FNZ_TRY(forget_room(c, s));
  bool is_last = s->kind != FNZI_PLN_REGION && k.written < 2; /* nothing is written after it */
  if (s->in_place || is_last)
    return FNZ_OK;
  return fnzi_pln_each_value(&c->p, node->outputs, node->noutputs, check_result, &k);
}

/* --- The whole --------------------------------------------------------------------------- */
static fnz_status note_use(fnzi_pln_planner *p, uint32_t value, void *user) {
  fnzi_pln_checker *c = user;
  (void)p;
  c->last[value] = c->node;
  return FNZ_OK;
}

static fnz_status open(fnzi_pln_checker *c) {
  const fnzi_graph *g = c->p.graph;
  FNZI_NEW(&c->p.scratch, fnzi_ops_count, &c->p.facts);
  FNZI_NEW(&c->p.scratch, g->values.count, &c->last);
  FNZ_TRY(fnzi_pln_check_open(c));
  FNZ_TRY(fnzi_pln_pairs_find(&c->p));
  for (c->node = 0; c->node < g->nodes.count; c->node++)
    FNZ_TRY(fnzi_pln_each_value(&c->p, g->nodes.data[c->node].args, g->nodes.data[c->node].nargs,
                                note_use, c));
  FNZ_TRY(fnzi_pln_each_value(&c->p, g->outputs, g->noutputs, note_use, c));
  c->node = 0;
  for (uint32_t b = 0; b < c->plan->buffers.count; b++) {
    const fnzi_pln_buffer *buffer = &c->plan->buffers.data[b];
    bool leaves = buffer->kind == FNZI_PLN_TEMP && buffer->first != FNZI_PLN_NONE &&
                  (buffer->offset > c->plan->arena_bytes ||
                   buffer->bytes > c->plan->arena_bytes - buffer->offset);
    if (leaves)
      return fnzi_fail(c->p.ctx, FNZ_CLASS_INTERNAL, "", "buffer %u leaves the arena", b);
  }
  return FNZ_OK;
}

static fnz_status know_input(fnzi_pln_planner *p, uint32_t value, void *user) {
  fnzi_pln_checker *c = user;
  fnzi_pln_bytes all;
  (void)p;
  FNZ_TRY(fnzi_pln_check_image(c, value, c->plan->places[value], &all));
  return fnzi_pln_learn(c, value, c->last[value], c->plan->places[value], all);
}

static fnz_status check_steps(fnzi_pln_checker *c) {
  const fnzi_pln_plan *plan = c->plan;
  uint32_t end = (uint32_t)c->p.graph->nodes.count;
  for (c->step = 0; c->step < plan->steps.count; c->step++) {
    const fnzi_pln_step *s = &plan->steps.data[c->step];
    uint32_t node = s->node == FNZI_PLN_NONE ? end : s->node;
    if (node < c->node || node > end)
      return fnzi_fail(c->p.ctx, FNZ_CLASS_INTERNAL, "", "step %u comes too late", c->step);
    for (; c->node < node; c->node++)
      FNZ_TRY(know(c, c->node));
    FNZ_TRY(fnzi_pln_check_sets(c, s));
    FNZ_TRY(s->kind == FNZI_PLN_MOVE    ? check_move(c, s)
            : s->kind == FNZI_PLN_GROUP ? fnzi_pln_check_group(c, s)
                                        : check_call(c, s));
  }
  for (; c->node < end; c->node++)
    FNZ_TRY(know(c, c->node));
  return FNZ_OK;
}

static fnz_status check_ends(fnzi_pln_checker *c) {
  for (size_t k = 0; k < c->p.graph->noutputs; k++) {
    const fnz_arg *arg = &c->p.graph->outputs[k];
    if (arg->tag == FNZ_ARG_VALUE && c->p.graph->values.data[arg->u.value].geometry != NULL)
      FNZ_TRY(fnzi_pln_check_holds(c, (uint32_t)arg->u.value, c->plan->outputs[k]));
  }
  return FNZ_OK;
}

static fnz_status check(fnzi_pln_checker *c) {
  FNZ_TRY(open(c));
  FNZ_TRY(fnzi_pln_check_kinds(c));
  FNZ_TRY(fnzi_pln_each_value(&c->p, c->p.graph->inputs, c->p.graph->ninputs, know_input, c));
  FNZ_TRY(check_steps(c));
  return check_ends(c);
}

fnz_status fnzi_pln_check(fnz_context *ctx, const fnzi_pln_plan *plan) {
  fnzi_pln_plan maps = {.program = plan->program};
  const fnzi_pln_policy policy = {.bodies = plan->bodies};
  fnzi_pln_checker c = {
      .p = {.ctx = ctx, .program = plan->program, .plan = &maps, .policy = &policy}, .plan = plan};
  c.p.graph = fnzi_graph_at(plan->program, 0);
  fnzi_arena_init(&maps.arena, ctx);
  fnzi_arena_init(&c.p.scratch, ctx);
  fnz_status status = check(&c);
  fnzi_arena_free(&c.p.scratch);
  fnzi_arena_free(&maps.arena);
  return status;
}
