/* check.c - proves a finished plan again, step by step, with *facts*: certain bytes hold a value as
 * it would be stored at some location. A write ends facts about its bytes; a read must be covered
 * by facts.
 *
 * The checker knows the meaning of operators (facts.c, maps.c), but neither the rules that chose
 * locations nor the lives of buffers. The arena is one piece of memory here. */
#include "engine/plan/check.h"

/* --- What nodes mean --------------------------------------------------------------------- */
/* Computes the part of `bytes` that is within `of`. */
static fnz_status within(fnzi_pln_checker *c, fnzi_pln_bytes bytes, fnzi_pln_bytes of,
                         fnzi_pln_bytes *out) {
  fnzi_pln_bytes outside;
  FNZ_TRY(fnzi_pln_bytes_subtract(&c->p.scratch, bytes, of, UINT32_MAX, &outside));
  return fnzi_pln_bytes_subtract(&c->p.scratch, bytes, outside, UINT32_MAX, out);
}

/* Returns the location from which a result is seen: the source of its move, or that of the plan. */
static fnzi_pln_location seen_at(const fnzi_pln_checker *c, const fnzi_pln_step *move,
                                 uint32_t value) {
  return move && move->value == value ? move->from : c->plan->locations[value];
}

/* Adds the facts of a view whose base is known by fact `f`. `move`: of a result; NULL. */
static fnz_status know_windows(fnzi_pln_checker *c, const fnzi_node *node,
                               const fnzi_pln_fact *means, const fnzi_pln_step *move,
                               const fnzi_pln_known *f) {
  fnzi_pln_windows windows = {NULL, 1};
  size_t next = 0;
  if (means->access == FNZI_PLN_ACCESS_VIEW)
    FNZ_TRY(fnzi_pln_map_views(&c->p, node, means, f->location.map, &windows));
  else
    FNZ_TRY(fnzi_pln_map_expand(&c->p, f->location.map,
                                c->p.graph->values.data[fnzi_pln_result_of(node)].geometry,
                                &windows.data));
  if (!windows.data)
    return FNZ_OK;
  FNZI_PLN_EACH_TENSOR(each, &c->p, node->outputs, node->noutputs) {
    uint32_t value = (uint32_t)each.arg->u.value;
    fnzi_pln_location location = seen_at(c, move, value);
    size_t k = next++;
    fnzi_pln_bytes all, part;
    if (k >= windows.count || location.buffer == FNZI_PLN_NONE ||
        !fnzi_pln_location_equal(location,
                                 (fnzi_pln_location){f->location.buffer, &windows.data[k]}))
      continue;
    FNZ_TRY(fnzi_pln_check_image(c, value, location, &all));
    FNZ_TRY(within(c, f->bytes, all, &part));
    FNZ_TRY(fnzi_pln_learn(c, value, c->last[value], location, part));
  }
  return FNZ_OK;
}

static fnz_status know_views_of(fnzi_pln_checker *c, const fnzi_node *node,
                                const fnzi_pln_fact *means, const fnzi_pln_step *move,
                                fnzi_pln_home *base) {
  fnzi_pln_known **list = base ? &base->facts : NULL;
  for (const fnzi_pln_known *f; list && (f = fnzi_pln_check_first(list)); list = &(*list)->next)
    FNZ_TRY(know_windows(c, node, means, move, f));
  return FNZ_OK;
}

/* Adds the facts of a view. Its value is known where its base's is, in the view's buffer; a base
 * may be known in many buffers. */
static fnz_status know_view(fnzi_pln_checker *c, const fnzi_node *node, const fnzi_pln_fact *means,
                            const fnzi_pln_step *move) {
  uint32_t base =
      fnzi_pln_argument(node, means->access == FNZI_PLN_ACCESS_SAME ? means->argument : 0);
  uint32_t buffer = FNZI_PLN_NONE; /* of all results */
  bool in_several = false;
  FNZI_PLN_EACH_TENSOR(each, &c->p, node->outputs, node->noutputs) {
    uint32_t one = seen_at(c, move, (uint32_t)each.arg->u.value).buffer;
    in_several = in_several || (buffer != FNZI_PLN_NONE && one != FNZI_PLN_NONE && one != buffer);
    buffer = one == FNZI_PLN_NONE ? buffer : one;
  }
  if (!in_several)
    return know_views_of(c, node, means, move, fnzi_pln_check_home(c, base, buffer));
  for (fnzi_pln_home *home = c->by_value[base]; home; home = home->next)
    FNZ_TRY(know_views_of(c, node, means, move, home));
  return FNZ_OK;
}

static fnz_status know_scatter(fnzi_pln_checker *c, const fnzi_node *node,
                               const fnzi_pln_fact *means) {
  uint32_t base = fnzi_pln_argument(node, 0), source = fnzi_pln_argument(node, 1);
  uint32_t result = fnzi_pln_result_of(node);
  fnzi_pln_location location = c->plan->locations[result], region = location;
  fnzi_pln_bytes remaining, written, all;
  if (location.buffer == FNZI_PLN_NONE)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_map_region(&c->p, node, means, location.map, &region.map));
  if (!region.map)
    return FNZ_OK; /* then a kernel has written it, in a step */
  FNZ_TRY(fnzi_pln_check_image(c, result, region, &all));
  FNZ_TRY(fnzi_pln_known_of(c, base, location, &remaining));
  FNZ_TRY(fnzi_pln_known_of(c, source, region, &written));
  if (!fnzi_pln_map_injective(location.map) || !fnzi_pln_map_injective(region.map)) {
    /* If elements of the base share bytes, an element in the region may share them with one
     * outside. Then both must be known. */
    FNZ_TRY(fnzi_pln_bytes_subtract(&c->p.scratch, all, written, UINT32_MAX, &all));
    FNZ_TRY(fnzi_pln_bytes_subtract(&c->p.scratch, remaining, all, UINT32_MAX, &remaining));
    return fnzi_pln_learn(c, result, c->last[result], location, remaining);
  }
  FNZ_TRY(fnzi_pln_bytes_subtract(&c->p.scratch, remaining, all, UINT32_MAX, &remaining));
  FNZ_TRY(fnzi_pln_bytes_join(&c->p.scratch, remaining, written, UINT32_MAX, &remaining));
  return fnzi_pln_learn(c, result, c->last[result], location, remaining);
}

static fnz_status know_join(fnzi_pln_checker *c, const fnzi_node *node,
                            const fnzi_pln_fact *means) {
  uint32_t result = fnzi_pln_result_of(node);
  fnzi_pln_location location = c->plan->locations[result];
  const fnz_arg *list = &node->args[0];
  const fnz_geometry **pieces;
  fnzi_pln_bytes all = {0}, piece;
  if (location.buffer == FNZI_PLN_NONE)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_map_pieces(&c->p, node, means, location.map, &pieces));
  for (uint32_t i = 0; i < list->count; i++) {
    if (!pieces[i])
      continue;
    FNZ_TRY(fnzi_pln_known_of(c, (uint32_t)list->u.list[i].u.value,
                              (fnzi_pln_location){location.buffer, pieces[i]}, &piece));
    FNZ_TRY(fnzi_pln_bytes_join(&c->p.scratch, all, piece, UINT32_MAX, &all));
  }
  return fnzi_pln_learn(c, result, c->last[result], location, all);
}

/* Derives facts from the content of memory after the steps of a node. */
static fnz_status check_know(fnzi_pln_checker *c, uint32_t n) {
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
static int64_t address(const fnzi_pln_checker *c, fnzi_pln_location location, int64_t element) {
  const fnzi_pln_buffer *b = &c->plan->buffers.data[location.buffer];
  int64_t at = location.map->offset;
  for (uint32_t d = location.map->rank; d-- > 0; element /= location.map->sizes[d])
    at += element % location.map->sizes[d] * location.map->strides[d];
  return at * (int64_t)fnzi_dtype(location.map->dtype)->bytes +
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
  if (fnzi_pln_bytes_contain(bytes, from))
    return FNZ_OK;
  fnz_geometry moved = *s->from.map;
  moved.offset = s->to.map->offset;
  if (fnzi_pln_map_equal(&moved, s->to.map)) {
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
      if (!fnzi_pln_bytes_contain(bytes, (fnzi_pln_bytes){&source, 1, false}))
        continue;
      spans[count].low = address(c, s->to, i) + part * bytes_of_part;
      spans[count].high = spans[count].low + bytes_of_part;
      count++;
    }
  *out = fnzi_pln_bytes_sort(spans, count);
  return FNZ_OK;
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
      fnzi_pln_bytes_overlap(from, 0, to))
    return fnzi_pln_check_wrong(c, s->value, "it is moved onto itself");
  if (s->last != FNZI_PLN_NONE && c->by_value[s->value] == NULL) {
    /* A moved value may be the result of a view, without another location. */
    const fnzi_node *node = &c->p.graph->nodes.data[c->node];
    const fnzi_pln_fact *means;
    FNZ_TRY(fnzi_pln_fact_find(&c->p, node->op, &means));
    fnzi_pln_access access = fnzi_pln_node_access(&c->p, node, means);
    if (access == FNZI_PLN_ACCESS_VIEW || access == FNZI_PLN_ACCESS_SAME)
      FNZ_TRY(know_view(c, node, means, s));
  }
  FNZ_TRY(fnzi_pln_known_of(c, s->value, s->from, &bytes));
  FNZ_TRY(within(c, bytes, from, &bytes));
  FNZ_TRY(carry(c, s, bytes, from, to, &carried));
  FNZ_TRY(fnzi_pln_forget(c, fnzi_pln_check_memory(c, s->to.buffer), to));
  return fnzi_pln_learn(c, s->value, last, s->to, carried);
}

/* Checks that arguments keep their bytes while a result is written to `bytes`. `base`: argument 0,
 * which an update overwrites; NONE. As another argument it is read. */
static fnz_status check_apart(fnzi_pln_checker *c, uint32_t result, fnzi_pln_bytes bytes,
                              uint32_t base, bool updates) {
  const fnzi_pln_location *locations = c->plan->locations;
  const fnzi_node *node = &c->p.graph->nodes.data[c->node];
  const uint32_t memory = fnzi_pln_check_memory(c, locations[result].buffer);
  const fnzi_pln_fact *means;
  FNZ_TRY(fnzi_pln_fact_find(&c->p, node->op, &means));
  FNZI_PLN_EACH_OPERAND(each, &c->p, node) {
    fnzi_pln_location location = locations[each.value];
    fnzi_pln_bytes read;
    if ((each.k == 0 && each.value == base) || fnzi_pln_check_memory(c, location.buffer) != memory)
      continue;
    if (!updates && fnzi_pln_location_equal(location, locations[result]) &&
        fnzi_pln_may_share(&c->p, node, means, fnzi_pln_node_access(&c->p, node, means), result,
                           &each))
      continue;
    FNZ_TRY(fnzi_pln_check_image(c, each.value, location, &read));
    if (fnzi_pln_bytes_overlap(read, 0, bytes))
      return fnzi_pln_check_wrong(c, each.value, "a result is written over it while it is read");
  }
  return FNZ_OK;
}

/* Writes a result. `base`: argument 0, if the result is an update of it; NONE. `updates`: result 0
 * is one. */
static fnz_status write_result(fnzi_pln_checker *c, uint32_t value, uint32_t base, bool updates) {
  fnzi_pln_location location = c->plan->locations[value];
  fnzi_pln_bytes bytes, known;
  FNZ_TRY(fnzi_pln_check_writable(c, value, location));
  FNZ_TRY(fnzi_pln_check_image(c, value, location, &bytes));
  FNZ_TRY(check_apart(c, value, bytes, base, updates));
  if (!fnzi_pln_map_injective(location.map))
    return fnzi_pln_check_wrong(c, value, "elements of a result share bytes");
  known = bytes;
  if (base != FNZI_PLN_NONE)
    FNZ_TRY(fnzi_pln_known_of(c, base, location, &known));
  FNZ_TRY(fnzi_pln_forget(c, fnzi_pln_check_memory(c, location.buffer), bytes));
  return fnzi_pln_learn(c, value, c->last[value], location, known);
}

/* Drops facts about the buffer in which bodies work. It holds nothing before and nothing after. */
static fnz_status forget_scratch(fnzi_pln_checker *c, const fnzi_pln_step *s) {
  if (s->kind != FNZI_PLN_REGION || s->scratch == FNZI_PLN_NONE)
    return FNZ_OK;
  const fnzi_pln_buffer *scratch = &c->plan->buffers.data[s->scratch];
  fnzi_pln_span *all;
  FNZI_NEW(&c->p.scratch, 1, &all);
  *all = (fnzi_pln_span){(int64_t)scratch->offset, (int64_t)(scratch->offset + scratch->bytes)};
  return fnzi_pln_forget(c, c->arena, (fnzi_pln_bytes){all, 1, false});
}

static fnz_status check_call(fnzi_pln_checker *c, const fnzi_pln_step *s) {
  const fnzi_node *node = &c->p.graph->nodes.data[s->last];
  uint32_t base = s->in_place ? fnzi_pln_argument(node, 0) : FNZI_PLN_NONE, written = 0;
  FNZ_TRY(forget_scratch(c, s));
  FNZI_PLN_EACH_TENSOR(each, &c->p, node->args + s->in_place, node->nargs - s->in_place)
    FNZ_TRY(fnzi_pln_check_holds(c, (uint32_t)each.arg->u.value,
                                 c->plan->locations[each.arg->u.value]));
  FNZI_PLN_EACH_TENSOR(each, &c->p, node->outputs, node->noutputs) {
    FNZ_TRY(write_result(c, (uint32_t)each.arg->u.value, base, s->in_place));
    base = FNZI_PLN_NONE; /* further results are no updates */
    written++;
  }
  FNZ_TRY(forget_scratch(c, s));
  if (s->in_place || (s->kind != FNZI_PLN_REGION && written < 2))
    return FNZ_OK;
  /* No other result, and no body, has overwritten a result. */
  FNZI_PLN_EACH_TENSOR(each, &c->p, node->outputs, node->noutputs)
    FNZ_TRY(fnzi_pln_check_holds(c, (uint32_t)each.arg->u.value,
                                 c->plan->locations[each.arg->u.value]));
  return FNZ_OK;
}

/* --- The whole --------------------------------------------------------------------------- */
static fnz_status open(fnzi_pln_checker *c) {
  const fnzi_graph *g = c->p.graph;
  FNZI_NEW(&c->p.scratch, fnzi_ops_count, &c->p.facts);
  FNZI_NEW(&c->p.scratch, g->values.count, &c->last);
  FNZ_TRY(fnzi_pln_check_open(c));
  FNZ_TRY(fnzi_pln_pairs_find(&c->p));
  for (c->node = 0; c->node < g->nodes.count; c->node++)
    FNZI_PLN_EACH_TENSOR(each, &c->p, g->nodes.data[c->node].args, g->nodes.data[c->node].nargs)
      c->last[each.arg->u.value] = c->node;
  FNZI_PLN_EACH_TENSOR(each, &c->p, g->outputs, g->noutputs)
    c->last[each.arg->u.value] = c->node;
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

static fnz_status check_steps(fnzi_pln_checker *c) {
  const fnzi_pln_plan *plan = c->plan;
  uint32_t end = (uint32_t)c->p.graph->nodes.count;
  for (c->step = 0; c->step < plan->steps.count; c->step++) {
    const fnzi_pln_step *s = &plan->steps.data[c->step];
    uint32_t node = s->last == FNZI_PLN_NONE ? end : s->last;
    if (node < c->node || node > end)
      return fnzi_fail(c->p.ctx, FNZ_CLASS_INTERNAL, "", "step %u comes too late", c->step);
    for (; c->node < node; c->node++)
      FNZ_TRY(check_know(c, c->node));
    FNZ_TRY(fnzi_pln_check_sets(c, s));
    FNZ_TRY(s->kind == FNZI_PLN_MOVE    ? check_move(c, s)
            : s->kind == FNZI_PLN_GROUP ? fnzi_pln_check_group(c, s)
                                        : check_call(c, s));
  }
  for (; c->node < end; c->node++)
    FNZ_TRY(check_know(c, c->node));
  return FNZ_OK;
}

static fnz_status check(fnzi_pln_checker *c) {
  const fnzi_graph *g = c->p.graph;
  FNZ_TRY(open(c));
  FNZ_TRY(fnzi_pln_check_kinds(c));
  FNZI_PLN_EACH_TENSOR(each, &c->p, g->inputs, g->ninputs) {
    uint32_t value = (uint32_t)each.arg->u.value;
    fnzi_pln_bytes all;
    FNZ_TRY(fnzi_pln_check_image(c, value, c->plan->locations[value], &all));
    FNZ_TRY(fnzi_pln_learn(c, value, c->last[value], c->plan->locations[value], all));
  }
  FNZ_TRY(check_steps(c));
  for (size_t k = 0; k < g->noutputs; k++)
    if (fnzi_pln_is_tensor(&c->p, &g->outputs[k]))
      FNZ_TRY(fnzi_pln_check_holds(c, (uint32_t)g->outputs[k].u.value, c->plan->outputs[k]));
  return FNZ_OK;
}

fnz_status fnzi_pln_check(fnz_context *ctx, const fnzi_pln_plan *plan) {
  fnzi_pln_plan maps = {.program = plan->program};
  const fnzi_pln_policy policy = {.bodies = plan->bodies};
  fnzi_pln_checker c = {
      .p = {.ctx = ctx, .program = plan->program, .plan = &maps, .policy = &policy}, .plan = plan};
  c.p.graph = fnzi_graph_main(plan->program);
  fnzi_arena_init(&maps.arena, ctx);
  fnzi_arena_init(&c.p.scratch, ctx);
  fnz_status status = check(&c);
  fnzi_arena_free(&c.p.scratch);
  fnzi_arena_free(&maps.arena);
  return status;
}
