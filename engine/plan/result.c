/* result.c - places of computed values, and bytes that a step may write: results of a call, and
 * results of a group that nodes outside read.
 *
 * R3: a pointwise result takes the memory of an operand that is dead after it. A group acts like
 * one node whose operands are all operands of its nodes from outside. */
#include "engine/plan/planner.h"

/* --- Steps ------------------------------------------------------------------------------- */
static fnz_status touch_value(fnzi_pln_planner *p, uint32_t value, void *user) {
  uint32_t buffer = p->plan->places[value].buffer;
  if (buffer != FNZI_PLN_NONE)
    fnzi_pln_touch(p, buffer, *(const uint32_t *)user);
  return FNZ_OK;
}

fnz_status fnzi_pln_call_add(fnzi_pln_planner *p, uint32_t n, bool in_place) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  uint32_t at = (uint32_t)p->plan->steps.count;
  fnzi_pln_step step = {.kind = node->op ? FNZI_PLN_CALL : FNZI_PLN_REGION,
                        .in_place = in_place,
                        .is_point = p->nodes[n].is_point,
                        .node = n,
                        .value = FNZI_PLN_NONE,
                        .because = FNZI_PLN_NONE,
                        .region = FNZI_PLN_NONE,
                        .room = FNZI_PLN_NONE};
  FNZI_PUSH(p->ctx, &p->plan->steps, step);
  FNZ_TRY(fnzi_pln_each_value(p, node->args, node->nargs, touch_value, &at));
  return fnzi_pln_each_value(p, node->outputs, node->noutputs, touch_value, &at);
}

/* --- Permissions ------------------------------------------------------------------------- */
/* A group reads its operands at the element, or in the row, that it writes next, so a result may
 * replace an operand. But scalars of rows, without a row's dimensions, may be read by other rows as
 * well. */
static bool may_share_in_group(const fnzi_pln_planner *p, const fnzi_pln_node *info,
                               uint32_t result) {
  return info->rank == 0 || p->graph->values.data[result].geometry->rank == info->rank;
}

static bool may_share(const fnzi_pln_planner *p, uint32_t n, uint32_t result, uint32_t k,
                      uint32_t item) {
  const fnzi_pln_node *info = &p->nodes[n];
  if (info->first != info->last)
    return may_share_in_group(p, info, result);
  return fnzi_pln_may_share(p, &p->graph->nodes.data[n], info->fact, (fnzi_pln_access)info->access,
                            result, k, item);
}

fnz_status fnzi_pln_find_clash(fnzi_pln_planner *p, uint32_t value, uint32_t k, uint32_t item,
                               void *user) {
  fnzi_pln_clash *c = user;
  fnzi_pln_place at = p->plan->places[value];
  bool meet;
  if (c->with != FNZI_PLN_NONE || value == c->skip || at.buffer != c->place.buffer)
    return FNZ_OK;
  if (c->result != FNZI_PLN_NONE && fnzi_pln_place_equal(at, c->place) &&
      may_share(p, c->node, c->result, k, item))
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_maps_meet(p, at.map, c->place.map, &meet));
  c->with = meet ? value : FNZI_PLN_NONE;
  return FNZ_OK;
}

/* Results that another node of the group stores clash, too. */
static fnz_status clash_result(fnzi_pln_planner *p, uint32_t value, fnzi_pln_clash *c) {
  fnzi_pln_place at = p->plan->places[value];
  bool meet;
  if (value == c->result || at.buffer != c->place.buffer)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_maps_meet(p, at.map, c->place.map, &meet));
  c->with = meet ? value : c->with;
  return FNZ_OK;
}

static fnz_status clash_group(fnzi_pln_planner *p, fnzi_pln_clash *c) {
  for (size_t i = 0; i < p->operands.count; i++)
    FNZ_TRY(fnzi_pln_find_clash(p, p->operands.data[i], 0, 0, c));
  for (size_t i = 0; i < p->results.count && c->with == FNZI_PLN_NONE; i++)
    FNZ_TRY(clash_result(p, p->results.data[i], c));
  return FNZ_OK;
}

/* Sets *out if node n, or its group, may write the place: no later node needs the bytes there, and
 * no operand is there, unless it is read in time. */
fnz_status fnzi_pln_may_take(fnzi_pln_planner *p, uint32_t n, fnzi_pln_place place, uint32_t result,
                             uint32_t skip, bool *out) {
  const fnzi_pln_node *info = &p->nodes[n];
  fnzi_pln_clash c = {place, n, result, skip, FNZI_PLN_NONE};
  uint32_t needy;
  *out = false;
  if (!fnzi_pln_buffer_writable(p, place.buffer))
    return FNZ_OK;
  if (info->first != info->last)
    FNZ_TRY(clash_group(p, &c));
  else
    FNZ_TRY(fnzi_pln_each_argument(p, &p->graph->nodes.data[n], fnzi_pln_find_clash, &c));
  if (c.with != FNZI_PLN_NONE)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_find_needy(p, info->last, place, &needy));
  *out = needy == FNZI_PLN_NONE;
  return FNZ_OK;
}

fnz_status fnzi_pln_new_place(fnzi_pln_planner *p, uint32_t value, const fnz_geometry *g,
                              bool row_major, fnzi_pln_place *out) {
  FNZ_TRY(fnzi_pln_map_dense(p, g, row_major, &out->map));
  return fnzi_pln_buffer_for(p, value, out->map, &out->buffer);
}

/* --- Computed values --------------------------------------------------------------------- */
/* R3: a whole temporary buffer that ends here. */
static fnz_status try_operand(fnzi_pln_planner *p, uint32_t value, uint32_t k, uint32_t item,
                              void *user) {
  fnzi_pln_placing *r = user;
  fnzi_pln_place at = p->plan->places[value];
  const fnz_geometry *g = p->graph->values.data[r->value].geometry;
  bool ok;
  const fnzi_pln_node *info = &p->nodes[r->node];
  if (r->done || at.buffer == FNZI_PLN_NONE || !may_share(p, r->node, r->value, k, item))
    return FNZ_OK;
  if (p->values[value].last < info->first || p->values[value].last > info->last ||
      at.map->dtype != g->dtype || !fnzi_same_sizes(at.map, g) || !fnzi_is_dense(at.map))
    return FNZ_OK;
  const fnzi_pln_buffer *b = &p->plan->buffers.data[at.buffer];
  if (b->kind != FNZI_PLN_TEMP ||
      b->bytes != (size_t)fnz_geometry_numel(g) * fnzi_dtype(g->dtype)->bytes)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_may_take(p, r->node, at, r->value, FNZI_PLN_NONE, &ok));
  if (ok)
    fnzi_pln_settle(p, r->value, at, FNZI_PLN_NONE);
  r->done = ok;
  return FNZ_OK;
}

fnz_status fnzi_pln_place_result(fnzi_pln_planner *p, uint32_t value, void *user) {
  fnzi_pln_placing *r = user;
  const fnzi_pln_node *info = &p->nodes[r->node];
  fnzi_pln_place at = p->values[value].wish;
  if (p->plan->places[value].buffer != FNZI_PLN_NONE)
    return FNZ_OK;
  r->value = value;
  r->done = false;
  if (at.map != NULL && !p->policy->trivial)
    FNZ_TRY(fnzi_pln_may_take(p, r->node, at, value, FNZI_PLN_NONE, &r->done));
  if (r->done) {
    fnzi_pln_settle(p, value, at, FNZI_PLN_NONE);
    return FNZ_OK;
  }
  for (size_t i = 0; i < p->operands.count && info->first != info->last; i++)
    FNZ_TRY(try_operand(p, p->operands.data[i], 0, 0, r));
  if (info->first == info->last && !p->policy->trivial)
    FNZ_TRY(fnzi_pln_each_argument(p, &p->graph->nodes.data[r->node], try_operand, r));
  if (r->done)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_new_place(p, value, p->graph->values.data[value].geometry, false, &at));
  fnzi_pln_settle(p, value, at, FNZI_PLN_NONE);
  return FNZ_OK;
}

fnz_status fnzi_pln_place_call(fnzi_pln_planner *p, uint32_t n) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  fnzi_pln_placing r = {.node = n};
  FNZ_TRY(fnzi_pln_each_value(p, node->outputs, node->noutputs, fnzi_pln_place_result, &r));
  return fnzi_pln_call_add(p, n, false);
}

/* --- Groups ------------------------------------------------------------------------------ */
/* Returns whether only the group reads the value. */
static bool is_inner(const fnzi_pln_planner *p, uint32_t value, uint32_t last) {
  const fnzi_pln_value *v = &p->values[value];
  return !v->is_result && (v->last == FNZI_PLN_NONE || v->last <= last);
}

static fnz_status list_operand(fnzi_pln_planner *p, uint32_t value, void *user) {
  const fnzi_pln_node *info = user;
  const fnzi_pln_value *v = &p->values[value];
  if (v->born != FNZI_PLN_NONE && v->born >= info->first)
    return FNZ_OK;
  for (size_t i = 0; i < p->operands.count; i++)
    if (p->operands.data[i] == value)
      return FNZ_OK;
  FNZI_PUSH(p->ctx, &p->operands, value);
  return FNZ_OK;
}

static fnz_status list_result(fnzi_pln_planner *p, uint32_t value, void *user) {
  const fnzi_pln_node *info = user;
  if (!is_inner(p, value, info->last))
    FNZI_PUSH(p->ctx, &p->results, value);
  return FNZ_OK;
}

/* Lists the operands and results of a group. */
static fnz_status open_group(fnzi_pln_planner *p, fnzi_pln_node *info) {
  p->operands.count = p->results.count = 0;
  for (uint32_t n = info->first; n <= info->last; n++) {
    const fnzi_node *node = &p->graph->nodes.data[n];
    FNZ_TRY(fnzi_pln_each_value(p, node->args, node->nargs, list_operand, info));
    FNZ_TRY(fnzi_pln_each_value(p, node->outputs, node->noutputs, list_result, info));
  }
  return FNZ_OK;
}

static void touch_all(fnzi_pln_planner *p, const fnzi_pln_list *values, uint32_t step) {
  for (size_t i = 0; i < values->count; i++) {
    uint32_t buffer = p->plan->places[values->data[i]].buffer;
    if (buffer != FNZI_PLN_NONE)
      fnzi_pln_touch(p, buffer, step);
  }
}

static fnz_status add_group(fnzi_pln_planner *p, uint32_t first, uint32_t last) {
  fnzi_pln_step step = {.kind = FNZI_PLN_GROUP,
                        .node = last,
                        .first = first,
                        .value = FNZI_PLN_NONE,
                        .because = FNZI_PLN_NONE};
  touch_all(p, &p->operands, (uint32_t)p->plan->steps.count);
  touch_all(p, &p->results, (uint32_t)p->plan->steps.count);
  FNZI_PUSH(p->ctx, &p->plan->steps, step);
  return FNZ_OK;
}

/* A group is placed as a whole, node by node, when its first one is reached. A value that only the
 * group reads has no memory. */
fnz_status fnzi_pln_place_group(fnzi_pln_planner *p, uint32_t n) {
  fnzi_pln_node *info = &p->nodes[n];
  if (n != info->first)
    return FNZ_OK;
  FNZ_TRY(open_group(p, info));
  for (size_t i = 0; i < p->results.count; i++) {
    fnzi_pln_placing r = {.node = n};
    FNZ_TRY(fnzi_pln_place_result(p, p->results.data[i], &r));
  }
  return add_group(p, info->first, info->last);
}
