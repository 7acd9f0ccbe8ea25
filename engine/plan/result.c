/* result.c - locations of computed values, and bytes that a step may write: results of a call, and
 * results of a group that nodes outside read.
 *
 * R3: a pointwise result takes the memory of an operand that is dead after it. A group acts like
 * one node whose operands are all operands of its nodes from outside. */
#include "engine/plan/planner.h"

/* --- Steps ------------------------------------------------------------------------------- */
static void touch_value(fnzi_pln_planner *p, uint32_t value, uint32_t step) {
  uint32_t buffer = p->plan->locations[value].buffer;
  if (buffer != FNZI_PLN_NONE)
    fnzi_pln_touch(p, buffer, step);
}

fnz_status fnzi_pln_call_add(fnzi_pln_planner *p, uint32_t n, bool in_place) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  uint32_t index = (uint32_t)p->plan->steps.count;
  fnzi_pln_step step = {.kind = node->op ? FNZI_PLN_CALL : FNZI_PLN_REGION,
                        .in_place = in_place,
                        .is_point = p->nodes[n].is_point,
                        .first = n,
                        .last = n,
                        .value = FNZI_PLN_NONE,
                        .because = FNZI_PLN_NONE,
                        .region = FNZI_PLN_NONE,
                        .scratch = FNZI_PLN_NONE};
  FNZI_PUSH(p->ctx, &p->plan->steps, step);
  FNZI_PLN_EACH_TENSOR(each, p, node->args, node->nargs)
    touch_value(p, (uint32_t)each.arg->u.value, index);
  FNZI_PLN_EACH_TENSOR(each, p, node->outputs, node->noutputs)
    touch_value(p, (uint32_t)each.arg->u.value, index);
  return FNZ_OK;
}

/* --- Permissions ------------------------------------------------------------------------- */
/* Says that the result may replace the operand. A group reads its operands at the element, or in
 * the row, that it writes next. But scalars of rows, without a row's dimensions, may be read by
 * other rows as well. */
static bool may_share(const fnzi_pln_planner *p, uint32_t n, uint32_t result,
                      const fnzi_pln_operand *operand) {
  const fnzi_pln_node *info = &p->nodes[n];
  if (info->first != info->last)
    return info->rank == 0 || p->graph->values.data[result].geometry->rank == info->rank;
  return fnzi_pln_may_share(p, &p->graph->nodes.data[n], info->fact, (fnzi_pln_access)info->access,
                            result, operand);
}

fnz_status fnzi_pln_find_clash(fnzi_pln_planner *p, const fnzi_pln_operand *operand,
                               fnzi_pln_clash *c) {
  fnzi_pln_location location = p->plan->locations[operand->value];
  bool overlap;
  if (operand->value == c->skip || location.buffer != c->location.buffer)
    return FNZ_OK;
  if (c->result != FNZI_PLN_NONE && fnzi_pln_location_equal(location, c->location) &&
      may_share(p, c->node, c->result, operand))
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_maps_overlap(p, location.map, c->location.map, &overlap));
  c->with = overlap ? operand->value : FNZI_PLN_NONE;
  return FNZ_OK;
}

/* Finds an operand of the group, or a result that another node of it stores, that is in the way. */
static fnz_status clash_group(fnzi_pln_planner *p, fnzi_pln_clash *c) {
  for (size_t i = 0; i < p->operands.count && c->with == FNZI_PLN_NONE; i++)
    FNZ_TRY(fnzi_pln_find_clash(p, &(fnzi_pln_operand){.value = p->operands.data[i]}, c));
  for (size_t i = 0; i < p->results.count && c->with == FNZI_PLN_NONE; i++) {
    fnzi_pln_location location = p->plan->locations[p->results.data[i]];
    bool overlap = false;
    if (p->results.data[i] != c->result && location.buffer == c->location.buffer)
      FNZ_TRY(fnzi_pln_maps_overlap(p, location.map, c->location.map, &overlap));
    c->with = overlap ? p->results.data[i] : c->with;
  }
  return FNZ_OK;
}

/* Sets *out if node n, or its group, may write the location: no later node needs the bytes there,
 * and no operand is there, unless it is read in time. */
fnz_status fnzi_pln_may_write(fnzi_pln_planner *p, uint32_t n, fnzi_pln_location location,
                              uint32_t result, uint32_t skip, bool *out) {
  const fnzi_pln_node *info = &p->nodes[n];
  fnzi_pln_clash c = {location, n, result, skip, FNZI_PLN_NONE};
  uint32_t blocker;
  *out = false;
  if (!fnzi_pln_buffer_writable(p, location.buffer))
    return FNZ_OK;
  if (info->first != info->last)
    FNZ_TRY(clash_group(p, &c));
  else
    FNZI_PLN_EACH_OPERAND(each, p, &p->graph->nodes.data[n])
      if (c.with == FNZI_PLN_NONE)
        FNZ_TRY(fnzi_pln_find_clash(p, &each, &c));
  if (c.with != FNZI_PLN_NONE)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_find_blocker(p, info->last, location, &blocker));
  *out = blocker == FNZI_PLN_NONE;
  return FNZ_OK;
}

fnz_status fnzi_pln_locate_new(fnzi_pln_planner *p, uint32_t value, const fnz_geometry *g,
                               bool row_major, fnzi_pln_location *out) {
  if (p->values[value].channels_last)
    out->map = p->values[value].window;
  else
    FNZ_TRY(fnzi_pln_map_dense(p, g, row_major, &out->map));
  return fnzi_pln_buffer_for(p, value, out->map, &out->buffer);
}

/* --- Computed values --------------------------------------------------------------------- */
/* Places the result over an operand that ends here, if that fills a temporary buffer (R3). */
static fnz_status try_operand(fnzi_pln_planner *p, uint32_t n, uint32_t value,
                              const fnzi_pln_operand *operand, bool *done) {
  fnzi_pln_location location = p->plan->locations[operand->value];
  const fnz_geometry *g = p->graph->values.data[value].geometry;
  const fnzi_pln_node *info = &p->nodes[n];
  uint32_t last = p->values[operand->value].last;
  if (location.buffer == FNZI_PLN_NONE || !may_share(p, n, value, operand) || last < info->first ||
      last > info->last || !fnzi_pln_same_kind(location.map, g) || !fnzi_is_dense(location.map))
    return FNZ_OK;
  const fnzi_pln_buffer *b = &p->plan->buffers.data[location.buffer];
  if (b->kind != FNZI_PLN_TEMP || b->bytes != fnzi_pln_map_bytes(g))
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_may_write(p, n, location, value, FNZI_PLN_NONE, done));
  if (*done)
    fnzi_pln_locate(p, value, location, FNZI_PLN_NONE);
  return FNZ_OK;
}

/* Places a result of node n: where its placement hint is, over an operand, or in new memory. */
static fnz_status place_result(fnzi_pln_planner *p, uint32_t n, uint32_t value) {
  fnzi_pln_location location = p->values[value].hint;
  bool done = false;
  if (p->plan->locations[value].buffer != FNZI_PLN_NONE)
    return FNZ_OK;
  if (location.map != NULL && !p->policy->trivial)
    FNZ_TRY(fnzi_pln_may_write(p, n, location, value, FNZI_PLN_NONE, &done));
  if (!done && !p->policy->trivial) {
    if (p->nodes[n].first != p->nodes[n].last) {
      for (size_t i = 0; i < p->operands.count && !done; i++)
        FNZ_TRY(try_operand(p, n, value, &(fnzi_pln_operand){.value = p->operands.data[i]}, &done));
    } else {
      FNZI_PLN_EACH_OPERAND(each, p, &p->graph->nodes.data[n])
        if (!done)
          FNZ_TRY(try_operand(p, n, value, &each, &done));
    }
    if (done)
      return FNZ_OK;
  }
  if (!done)
    FNZ_TRY(fnzi_pln_locate_new(p, value, p->graph->values.data[value].geometry, false, &location));
  fnzi_pln_locate(p, value, location, FNZI_PLN_NONE);
  return FNZ_OK;
}

fnz_status fnzi_pln_place_results(fnzi_pln_planner *p, uint32_t n) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  FNZI_PLN_EACH_TENSOR(each, p, node->outputs, node->noutputs)
    FNZ_TRY(place_result(p, n, (uint32_t)each.arg->u.value));
  return FNZ_OK;
}

fnz_status fnzi_pln_place_call(fnzi_pln_planner *p, uint32_t n) {
  FNZ_TRY(fnzi_pln_place_results(p, n));
  return fnzi_pln_call_add(p, n, false);
}

/* --- Groups ------------------------------------------------------------------------------ */

/* Lists the operands of a group from outside, each once, and its results that others read. */
static fnz_status open_group(fnzi_pln_planner *p, const fnzi_pln_node *info) {
  p->operands.count = p->results.count = 0;
  for (uint32_t n = info->first; n <= info->last; n++) {
    const fnzi_node *node = &p->graph->nodes.data[n];
    FNZI_PLN_EACH_TENSOR(each, p, node->args, node->nargs) {
      uint32_t value = (uint32_t)each.arg->u.value, born = p->values[value].born;
      bool is_known = born != FNZI_PLN_NONE && born >= info->first; /* computed by the group */
      for (size_t i = 0; i < p->operands.count && !is_known; i++)
        is_known = p->operands.data[i] == value;
      if (!is_known)
        FNZI_PUSH(p->ctx, &p->operands, value);
    }
    FNZI_PLN_EACH_TENSOR(each, p, node->outputs, node->noutputs) {
      const fnzi_pln_value *v = &p->values[each.arg->u.value];
      if (v->is_result || (v->last != FNZI_PLN_NONE && v->last > info->last))
        FNZI_PUSH(p->ctx, &p->results, (uint32_t)each.arg->u.value);
    }
  }
  return FNZ_OK;
}

/* Places a group as a whole when its first node is reached. A value that only the group reads has
 * no memory. */
fnz_status fnzi_pln_place_group(fnzi_pln_planner *p, uint32_t n) {
  const fnzi_pln_node *info = &p->nodes[n];
  uint32_t index = (uint32_t)p->plan->steps.count;
  if (n != info->first)
    return FNZ_OK;
  FNZ_TRY(open_group(p, info));
  for (size_t i = 0; i < p->results.count; i++)
    FNZ_TRY(place_result(p, n, p->results.data[i]));
  for (size_t i = 0; i < p->operands.count; i++)
    touch_value(p, p->operands.data[i], index);
  for (size_t i = 0; i < p->results.count; i++)
    touch_value(p, p->results.data[i], index);
  fnzi_pln_step step = {.kind = FNZI_PLN_GROUP,
                        .last = info->last,
                        .first = info->first,
                        .value = FNZI_PLN_NONE,
                        .because = FNZI_PLN_NONE};
  FNZI_PUSH(p->ctx, &p->plan->steps, step);
  return FNZ_OK;
}
