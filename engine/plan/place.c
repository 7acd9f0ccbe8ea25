/* place.c - finds locations for the results of each node, in order, and adds the steps that compute
 * them.
 *
 *   R1  A view is a window of its argument's memory. If no strides describe it, it is a copy.
 *   R2  An update overwrites its base if nothing needs the old elements, else a copy of the base.
 *   R8  An update has no step if nothing reads its region, or if its source is there already.
 *
 * R3, pointwise results in the memory of a dead operand, is in result.c. */
#include "engine/plan/planner.h"

/* --- Steps ------------------------------------------------------------------------------- */
fnz_status fnzi_pln_move_add(fnzi_pln_planner *p, fnzi_pln_step move) {
  uint32_t index = (uint32_t)p->plan->steps.count;
  if (fnz_geometry_numel(move.to.map) == 0 || fnzi_pln_location_equal(move.from, move.to))
    return FNZ_OK;
  move.kind = FNZI_PLN_MOVE;
  move.first = move.last;
  FNZI_PUSH(p->ctx, &p->plan->steps, move);
  fnzi_pln_touch(p, move.from.buffer, index);
  fnzi_pln_touch(p, move.to.buffer, index);
  return FNZ_OK;
}

/* --- Views ------------------------------------------------------------------------------- */
/* A view whose results are windows of the buffer of its base. */
typedef struct view_windows {
  fnzi_pln_windows windows;
  uint32_t node, base, buffer;
} view_windows;

/* Places result `value` of a view at window k, or at a copy of it. */
static fnz_status place_window(fnzi_pln_planner *p, const view_windows *o, uint32_t value,
                               size_t k) {
  if (k >= o->windows.count)
    return fnzi_fail(p->ctx, FNZ_CLASS_INTERNAL, NULL, "a view has too few windows");
  fnzi_pln_location location = {o->buffer, &o->windows.data[k]}, own;
  if (!p->policy->trivial) {
    bool follows = p->values[value].follows && p->values[o->base].shifted;
    fnzi_pln_locate(p, value, location, follows ? o->base : FNZI_PLN_NONE);
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_pln_locate_new(p, value, location.map, true, &own));
  FNZ_TRY(fnzi_pln_move_add(p, (fnzi_pln_step){.rule = FNZI_PLN_GATHER,
                                               .last = o->node,
                                               .value = value,
                                               .because = FNZI_PLN_NONE,
                                               .from = location,
                                               .to = own}));
  fnzi_pln_locate(p, value, own, FNZI_PLN_NONE);
  return FNZ_OK;
}

/* Moves the row-major location `to` to the placement hint of the view's only result, if the hint is
 * contiguous and the node may write there. */
static fnz_status try_hint(fnzi_pln_planner *p, uint32_t n, uint32_t value, fnzi_pln_location *to,
                           bool *fits) {
  fnzi_pln_location location = p->values[value].hint;
  *fits = false;
  if (location.map == NULL || !fnzi_is_contiguous(location.map) || p->nodes[n].fact->strided ||
      p->policy->trivial || fnz_geometry_numel(location.map) != fnz_geometry_numel(to->map) ||
      fnzi_dtype(location.map->dtype)->bytes != fnzi_dtype(to->map->dtype)->bytes)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_may_write(p, n, location, FNZI_PLN_NONE, FNZI_PLN_NONE, fits));
  if (!*fits)
    return FNZ_OK;
  fnz_geometry *moved;
  FNZI_NEW(&p->plan->arena, 1, &moved);
  *moved = *to->map;
  moved->offset = location.map->offset;
  *to = (fnzi_pln_location){location.buffer, moved};
  return FNZ_OK;
}

/* Copies the base to row-major memory, and opens the windows there. */
static fnz_status gather(fnzi_pln_planner *p, view_windows *o) {
  const fnzi_node *node = &p->graph->nodes.data[o->node];
  uint32_t value = fnzi_pln_result_of(node);
  fnzi_pln_location from = p->plan->locations[o->base], to;
  bool fits;
  FNZ_TRY(fnzi_pln_map_dense(p, from.map, true, &to.map));
  FNZ_TRY(try_hint(p, o->node, value, &to, &fits));
  if (!fits)
    FNZ_TRY(fnzi_pln_buffer_for(p, value, to.map, &to.buffer));
  FNZ_TRY(fnzi_pln_move_add(p, (fnzi_pln_step){.rule = FNZI_PLN_GATHER,
                                               .last = o->node,
                                               .value = o->base,
                                               .because = FNZI_PLN_NONE,
                                               .from = from,
                                               .to = to}));
  FNZ_TRY(fnzi_pln_map_views(p, node, p->nodes[o->node].fact, to.map, &o->windows));
  if (!o->windows.data)
    return fnzi_fail(p->ctx, FNZ_CLASS_BOUNDS, p->graph->values.data[value].name,
                     "%s shows elements outside its base", node->op->name);
  o->buffer = to.buffer;
  o->base = value; /* the copy has other strides than the base, so no shift fits its frame */
  p->values[value].shifted = false;
  return FNZ_OK;
}

static fnz_status place_view(fnzi_pln_planner *p, uint32_t n) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  uint32_t base = fnzi_pln_argument(node, 0);
  view_windows o = {.node = n, .base = base, .buffer = p->plan->locations[base].buffer};
  size_t k = 0;
  FNZ_TRY(fnzi_pln_map_views(p, node, p->nodes[n].fact, p->plan->locations[base].map, &o.windows));
  if (!o.windows.data)
    FNZ_TRY(gather(p, &o));
  FNZI_PLN_EACH_TENSOR(each, p, node->outputs, node->noutputs)
    FNZ_TRY(place_window(p, &o, (uint32_t)each.arg->u.value, k++));
  return FNZ_OK;
}

/* --- Updates ----------------------------------------------------------------------------- */
typedef struct update {
  uint32_t node, base, source, result; /* source: NONE if the kernel writes the region */
  fnzi_pln_location region;
  uint8_t rule;     /* the rule that copies the base; FNZI_PLN_UPDATE: it is not copied */
  uint32_t because; /* the value that forces the copy; NONE */
  bool idle;        /* nothing has to be written */
} update;

static fnz_status find_region(fnzi_pln_planner *p, update *u, fnzi_pln_location base, bool *found) {
  u->region = base;
  *found = !p->nodes[u->node].fact->strided || fnzi_is_contiguous(base.map);
  if (u->source == FNZI_PLN_NONE || !*found)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_map_region(p, &p->graph->nodes.data[u->node], p->nodes[u->node].fact, base.map,
                              &u->region.map));
  *found = u->region.map != NULL;
  return FNZ_OK;
}

/* R8: returns whether nothing reads the region of the result. */
static bool is_unread(const fnzi_pln_planner *p, const update *u) {
  const fnzi_pln_value *w = &p->values[u->result];
  const fnzi_pln_node *info = &p->nodes[u->node];
  return !w->needs_all && info->region.count > 0 &&
         !fnzi_pln_bytes_overlap(info->region, 0, w->need);
}

/* R2c, for a kernel that writes the region: no other operand may be there. If the source is moved
 * instead, save_if_overwritten() saves it first. */
static fnz_status check_operands(fnzi_pln_planner *p, update *u) {
  const fnzi_node *node = &p->graph->nodes.data[u->node];
  fnzi_pln_clash c = {u->region, u->node, FNZI_PLN_NONE, FNZI_PLN_NONE, FNZI_PLN_NONE};
  if (u->source != FNZI_PLN_NONE)
    return FNZ_OK;
  FNZI_PLN_EACH_OPERAND(each, p, node)
    if (each.k > 0 && c.with == FNZI_PLN_NONE)
      FNZ_TRY(fnzi_pln_find_clash(p, &each, &c));
  if (c.with != FNZI_PLN_NONE) {
    u->rule = FNZI_PLN_SOURCE_MEETS;
    u->because = c.with;
  }
  return FNZ_OK;
}

/* R2: sets u->rule and u->because: may the update overwrite its base, and if not, why? */
static fnz_status find_rule(fnzi_pln_planner *p, update *u) {
  fnzi_pln_location base = p->plan->locations[u->base];
  bool found;
  u->rule = FNZI_PLN_UPDATE;
  u->because = FNZI_PLN_NONE;
  FNZ_TRY(find_region(p, u, base, &found));
  if (!found || p->policy->trivial) {
    u->rule = FNZI_PLN_GATHER;
    return FNZ_OK;
  }
  u->idle = u->source != FNZI_PLN_NONE &&
            (is_unread(p, u) || fnzi_pln_location_equal(p->plan->locations[u->source], u->region));
  if (u->idle)
    return FNZ_OK;
  if (!fnzi_pln_buffer_writable(p, base.buffer)) {
    u->rule = FNZI_PLN_BASE_CONST;
    u->because = u->base;
    return FNZ_OK;
  }
  if (!fnzi_pln_map_injective(base.map) || !fnzi_pln_map_injective(u->region.map)) {
    u->rule = FNZI_PLN_BASE_SELF;
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_pln_find_blocker(p, u->node, u->region, &u->because));
  if (u->because != FNZI_PLN_NONE)
    u->rule = FNZI_PLN_BASE_ALIVE;
  return u->rule == FNZI_PLN_UPDATE ? check_operands(p, u) : FNZ_OK;
}

/* Moves the source of an update to other memory if writing to `by` would overwrite some of it. */
static fnz_status save_if_overwritten(fnzi_pln_planner *p, const update *u, fnzi_pln_location by,
                                      fnzi_pln_location *source) {
  const fnzi_pln_location from = *source;
  bool overlap = false;
  if (u->source == FNZI_PLN_NONE)
    return FNZ_OK;
  if (from.buffer == by.buffer)
    FNZ_TRY(fnzi_pln_maps_overlap(p, from.map, by.map, &overlap));
  if (!overlap)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_locate_new(p, u->source, from.map, false, source));
  return fnzi_pln_move_add(p, (fnzi_pln_step){.rule = FNZI_PLN_SOURCE_MEETS,
                                              .last = u->node,
                                              .value = u->source,
                                              .because = u->base,
                                              .from = from,
                                              .to = *source});
}

/* Copies the base to the placement hint of the result, or to new memory. */
static fnz_status copy_base(fnzi_pln_planner *p, update *u, fnzi_pln_location *source,
                            fnzi_pln_location *out) {
  const fnz_geometry *g = p->graph->values.data[u->result].geometry;
  bool ok = false, found;
  *out = p->values[u->result].hint;
  if (out->map != NULL && !p->policy->trivial)
    FNZ_TRY(fnzi_pln_may_write(p, u->node, *out, FNZI_PLN_NONE, u->source, &ok));
  if (ok)
    FNZ_TRY(find_region(p, u, *out, &ok));
  if (!ok) {
    FNZ_TRY(fnzi_pln_locate_new(p, u->result, g, u->rule == FNZI_PLN_GATHER, out));
    FNZ_TRY(find_region(p, u, *out, &found));
    if (!found)
      return fnzi_fail(p->ctx, FNZ_CLASS_BOUNDS, p->graph->values.data[u->result].name,
                       "the update writes elements outside its base");
  }
  FNZ_TRY(save_if_overwritten(p, u, *out, source));
  return fnzi_pln_move_add(p, (fnzi_pln_step){.rule = u->rule,
                                              .last = u->node,
                                              .value = u->base,
                                              .because = u->because,
                                              .from = p->plan->locations[u->base],
                                              .to = *out});
}

/* Sets *out if a move of the source to the region computes the update: it is a scatter whose region
 * shows no element twice. Otherwise the kernel writes the region, in eager's order. */
static fnz_status is_move(fnzi_pln_planner *p, uint32_t n, bool *out) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  const fnz_geometry *region;
  *out = p->nodes[n].access == FNZI_PLN_ACCESS_SCATTER;
  if (!*out || !p->nodes[n].fact->strided)
    return FNZ_OK;
  fnzi_pln_location rows = {FNZI_PLN_NONE, NULL};
  FNZ_TRY(fnzi_pln_map_dense(p, p->graph->values.data[fnzi_pln_argument(node, 0)].geometry, true,
                             &rows.map));
  FNZ_TRY(fnzi_pln_map_region(p, node, p->nodes[n].fact, rows.map, &region));
  *out = region && fnzi_pln_map_injective(region);
  return FNZ_OK;
}

static fnz_status place_update(fnzi_pln_planner *p, uint32_t n) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  bool scatters;
  FNZ_TRY(is_move(p, n, &scatters));
  update u = {.node = n,
              .base = fnzi_pln_argument(node, 0),
              .source = scatters ? fnzi_pln_argument(node, 1) : FNZI_PLN_NONE,
              .result = fnzi_pln_result_of(node)};
  fnzi_pln_location location = p->plan->locations[u.base], source = location;
  if (scatters)
    source = p->plan->locations[u.source];
  FNZ_TRY(find_rule(p, &u));
  bool copies = u.rule != FNZI_PLN_UPDATE;
  if (copies)
    FNZ_TRY(copy_base(p, &u, &source, &location));
  fnzi_pln_locate(p, u.result, location, copies ? FNZI_PLN_NONE : u.base);
  if (!scatters) {
    FNZ_TRY(fnzi_pln_place_results(p, n));
    return fnzi_pln_call_add(p, n, true);
  }
  if (u.idle && !copies)
    return FNZ_OK;
  if (!fnzi_pln_location_equal(source, u.region))
    FNZ_TRY(save_if_overwritten(p, &u, u.region, &source));
  return fnzi_pln_move_add(p, (fnzi_pln_step){.rule = FNZI_PLN_UPDATE,
                                              .last = n,
                                              .value = u.source,
                                              .because = FNZI_PLN_NONE,
                                              .from = source,
                                              .to = u.region});
}

/* --- Joins ------------------------------------------------------------------------------- */
/* Clears *out unless the pieces can be moved into the buffer: a piece that is not there already
 * must come from another buffer, and no value may still need the bytes that it overwrites. */
static fnz_status may_join(fnzi_pln_planner *p, uint32_t n, const fnz_geometry *const *pieces,
                           uint32_t buffer, bool *out) {
  const fnz_arg *list = &p->graph->nodes.data[n].args[0];
  for (uint32_t i = 0; i < list->count && *out; i++) {
    fnzi_pln_location location = p->plan->locations[list->u.list[i].u.value],
                      to = {buffer, pieces[i]};
    uint32_t blocker = FNZI_PLN_NONE;
    if (!to.map || fnzi_pln_location_equal(location, to))
      continue;
    if (location.buffer != buffer)
      FNZ_TRY(fnzi_pln_find_blocker(p, n, to, &blocker));
    *out = location.buffer != buffer && blocker == FNZI_PLN_NONE;
  }
  return FNZ_OK;
}

static fnz_status place_join(fnzi_pln_planner *p, uint32_t n) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  const fnz_arg *list = &node->args[0];
  uint32_t value = fnzi_pln_result_of(node);
  fnzi_pln_location location = p->values[value].hint;
  const fnz_geometry **pieces;
  bool fits =
      location.map != NULL && !p->policy->trivial && fnzi_pln_buffer_writable(p, location.buffer);
  if (fits) {
    FNZ_TRY(fnzi_pln_map_pieces(p, node, p->nodes[n].fact, location.map, &pieces));
    FNZ_TRY(may_join(p, n, pieces, location.buffer, &fits));
  }
  if (!fits) {
    FNZ_TRY(fnzi_pln_locate_new(p, value, p->graph->values.data[value].geometry, true, &location));
    FNZ_TRY(fnzi_pln_map_pieces(p, node, p->nodes[n].fact, location.map, &pieces));
  }
  for (uint32_t i = 0; i < list->count; i++)
    if (pieces[i])
      FNZ_TRY(
          fnzi_pln_move_add(p, (fnzi_pln_step){.rule = FNZI_PLN_JOIN,
                                               .last = n,
                                               .value = (uint32_t)list->u.list[i].u.value,
                                               .because = FNZI_PLN_NONE,
                                               .from = p->plan->locations[list->u.list[i].u.value],
                                               .to = {location.buffer, pieces[i]}}));
  fnzi_pln_locate(p, value, location, FNZI_PLN_NONE);
  return FNZ_OK;
}

/* --- All nodes --------------------------------------------------------------------------- */
/* Places the result of `clone` and the like at its argument, broadcast if it has other sizes. */
static fnz_status place_same(fnzi_pln_planner *p, uint32_t n) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  uint32_t value = fnzi_pln_result_of(node),
           from = fnzi_pln_argument(node, p->nodes[n].fact->argument);
  const fnz_geometry *map;
  FNZ_TRY(fnzi_pln_map_expand(p, p->plan->locations[from].map,
                              p->graph->values.data[value].geometry, &map));
  const view_windows o = {{map, 1}, n, from, p->plan->locations[from].buffer};
  return place_window(p, &o, value, 0);
}

static fnz_status place_node(fnzi_pln_planner *p, uint32_t n) {
  if (p->nodes[n].first != p->nodes[n].last)
    return fnzi_pln_place_group(p, n);
  switch ((fnzi_pln_access)p->nodes[n].access) {
  case FNZI_PLN_ACCESS_VIEW:
    return place_view(p, n);
  case FNZI_PLN_ACCESS_SAME:
    return place_same(p, n);
  case FNZI_PLN_ACCESS_SCATTER:
  case FNZI_PLN_ACCESS_BASE:
    return place_update(p, n);
  case FNZI_PLN_ACCESS_JOIN:
    return place_join(p, n);
  default:
    return fnzi_pln_place_call(p, n);
  }
}

/* Places all nodes. Errors name the node that the program had before it was arranged. */
fnz_status fnzi_pln_place_all(fnzi_pln_planner *p) {
  const fnzi_pln_order *order = &p->policy->order;
  for (uint32_t n = 0; n < p->end; n++) {
    fnz_status status = fnzi_task_at(p->ctx, n);
    if (status == FNZ_OK)
      status = place_node(p, n);
    char where[160];
    if (status == FNZ_OK)
      continue;
    fnzi_node_place(order->source ? order->source : p->program, 0,
                    order->source ? order->origins[n] : n, where);
    return fnzi_at(p->ctx, status, "%s", where);
  }
  return FNZ_OK;
}
