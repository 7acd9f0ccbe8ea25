/* hints.c - placement hints (R7): where values should be stored, because later values computed in
 * location are to end there.
 *
 * Final values get a hint for the memory of their state, outputs for their own, pieces of a join
 * for the joined result. Then hints go backwards through views, updates and their sources, joins
 * and pointwise results. A hint is no permission. */
#include "engine/plan/planner.h"

/* Gives a value a hint. Inputs get none, because their memory is fixed. The first hint counts. */
static void set_hint(fnzi_pln_planner *p, uint32_t value, uint32_t buffer,
                     const fnz_geometry *map) {
  fnzi_pln_value *v = &p->values[value];
  if (v->born == FNZI_PLN_NONE || v->hint.map != NULL)
    return;
  v->hint = (fnzi_pln_location){buffer, map};
}

static bool has_hint(const fnzi_pln_planner *p, uint32_t value) {
  return value != FNZI_PLN_NONE && p->values[value].hint.map != NULL;
}

/* --- Through nodes ----------------------------------------------------------------------- */
static fnz_status hint_scatter(fnzi_pln_planner *p, const fnzi_node *node,
                               const fnzi_pln_fact *fact, fnzi_pln_location location) {
  uint32_t base = fnzi_pln_argument(node, 0), source = fnzi_pln_argument(node, 1);
  const fnz_geometry *region;
  set_hint(p, base, location.buffer, location.map);
  /* The base must be, or come to be, where the result prefers to be: elsewhere it would have to be
   * copied, over a source that is there already. One from an input has the input's place. */
  const fnzi_pln_value *v = &p->values[base];
  fnzi_pln_location place = {p->plan->locations[v->root].buffer, v->window};
  if (p->values[v->root].born != FNZI_PLN_NONE)
    place = v->hint;
  if (place.map == NULL || !fnzi_pln_location_equal(place, location))
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_map_region(p, node, fact, location.map, &region));
  if (region && fnzi_pln_map_injective(region))
    set_hint(p, source, location.buffer, region);
  return FNZ_OK;
}

static fnz_status hint_view(fnzi_pln_planner *p, const fnzi_node *node, const fnzi_pln_fact *fact,
                            fnzi_pln_location location) {
  uint32_t base = fnzi_pln_argument(node, 0);
  const fnz_geometry *map;
  if (p->values[base].born == FNZI_PLN_NONE || has_hint(p, base))
    return FNZ_OK;
  FNZ_TRY(
      fnzi_pln_map_back(p, node, fact, location.map, p->graph->values.data[base].geometry, &map));
  if (map)
    set_hint(p, base, location.buffer, map);
  return FNZ_OK;
}

/* Gives the hint to the first operand that is dead after the node, and that the result may
 * overwrite. */
static void hint_operands(fnzi_pln_planner *p, const fnzi_node *node, fnzi_pln_location location) {
  FNZI_PLN_EACH_TENSOR(each, p, node->args, node->nargs) {
    uint32_t value = (uint32_t)each.arg->u.value;
    const fnzi_pln_value *v = &p->values[value];
    if (v->born == FNZI_PLN_NONE || v->hint.map || v->is_result || v->uses != 1 ||
        !fnzi_pln_same_kind(p->graph->values.data[value].geometry, location.map))
      continue;
    set_hint(p, value, location.buffer, location.map);
    return;
  }
}

/* Gives operands the hints of the results that may take their locations. */
static void hint_region(fnzi_pln_planner *p, const fnzi_node *node, uint32_t n) {
  const fnz_arg *const *pairs = p->pairs ? p->pairs[n] : NULL;
  uint32_t count;
  const fnz_arg *results = fnzi_pln_results(node, &count);
  for (uint32_t j = 0; pairs && j < count; j++) {
    if (!pairs[j] || !has_hint(p, (uint32_t)results[j].u.value))
      continue;
    fnzi_pln_location location = p->values[results[j].u.value].hint;
    set_hint(p, (uint32_t)pairs[j]->u.value, location.buffer, location.map);
  }
}

static fnz_status hint_node(fnzi_pln_planner *p, uint32_t n) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  const fnzi_pln_node *info = &p->nodes[n];
  uint32_t result = fnzi_pln_result_of(node), from;
  if (info->access == FNZI_PLN_ACCESS_REGION)
    hint_region(p, node, n);
  if (!has_hint(p, result))
    return FNZ_OK;
  fnzi_pln_location location = p->values[result].hint;
  switch ((fnzi_pln_access)info->access) {
  case FNZI_PLN_ACCESS_VIEW:
    return hint_view(p, node, info->fact, location);
  case FNZI_PLN_ACCESS_SAME:
    from = fnzi_pln_argument(node, info->fact->argument);
    if (fnzi_same_sizes(p->graph->values.data[from].geometry, location.map))
      set_hint(p, from, location.buffer, location.map);
    return FNZ_OK;
  case FNZI_PLN_ACCESS_SCATTER:
    return hint_scatter(p, node, info->fact, location);
  case FNZI_PLN_ACCESS_BASE:
    set_hint(p, fnzi_pln_argument(node, 0), location.buffer, location.map);
    return FNZ_OK;
  case FNZI_PLN_ACCESS_JOIN: {
    const fnz_geometry **pieces;
    FNZ_TRY(fnzi_pln_map_pieces(p, node, info->fact, location.map, &pieces));
    for (uint32_t i = 0; i < node->args[0].count; i++)
      if (pieces[i])
        set_hint(p, (uint32_t)node->args[0].u.list[i].u.value, location.buffer, pieces[i]);
    return FNZ_OK;
  }
  case FNZI_PLN_ACCESS_POINT:
    hint_operands(p, node, location);
    return FNZ_OK;
  default:
    return FNZ_OK;
  }
}

static fnz_status sweep(fnzi_pln_planner *p, bool joins) {
  for (uint32_t n = p->end; n-- > 0;) {
    if (joins && p->nodes[n].access == FNZI_PLN_ACCESS_JOIN) {
      /* Pieces of a join are computed where it ends, so it needs memory before they do. */
      const uint32_t result = fnzi_pln_result_of(&p->graph->nodes.data[n]);
      fnzi_pln_location own;
      if (!has_hint(p, result)) {
        FNZ_TRY(fnzi_pln_locate_new(p, result, p->graph->values.data[result].geometry, true, &own));
        set_hint(p, result, own.buffer, own.map);
      }
    }
    FNZ_TRY(hint_node(p, n));
  }
  return FNZ_OK;
}

/* --- From results ------------------------------------------------------------------------ */

fnz_status fnzi_pln_hints_find(fnzi_pln_planner *p) {
  for (size_t k = 0; k < p->graph->noutputs; k++) {
    p->plan->outputs[k].buffer = FNZI_PLN_NONE;
    if (p->final_of[k] == FNZI_PLN_NONE)
      continue;
    uint32_t input = (uint32_t)p->graph->inputs[p->final_of[k]].u.value;
    fnzi_pln_location location = p->plan->locations[input];
    p->plan->outputs[k] = location;
    set_hint(p, (uint32_t)p->graph->outputs[k].u.value, location.buffer, location.map);
  }
  if (!p->policy->trivial)
    FNZ_TRY(sweep(p, false));
  for (uint32_t k = 0; k < p->graph->noutputs; k++) {
    const fnz_output_spec *spec = &p->program->outputs[k];
    bool left = p->policy->aliasing && fnzi_output_is_result(spec) &&
                (spec->sharing == FNZ_SHARING_INPUT || spec->sharing == FNZ_SHARING_INPUT_VIEW);
    if (p->final_of[k] != FNZI_PLN_NONE || !fnzi_pln_is_tensor(p, &p->graph->outputs[k]) || left)
      continue;
    uint32_t value = (uint32_t)p->graph->outputs[k].u.value, buffer;
    const fnz_geometry *g = p->graph->values.data[value].geometry, *map;
    fnzi_pln_buffer out = {.kind = FNZI_PLN_OUT, .output = k};
    if (p->policy->outs)
      map = p->policy->outs[k];
    else
      FNZ_TRY(fnzi_pln_map_dense(p, g, !p->policy->strided, &map));
    FNZ_TRY(fnzi_pln_extent_bytes(p, value, map, &out.bytes));
    FNZ_TRY(fnzi_pln_buffer_add(p, out, &buffer));
    p->plan->outputs[k] = (fnzi_pln_location){buffer, map};
    set_hint(p, value, buffer, map);
  }
  return p->policy->trivial ? FNZ_OK : sweep(p, true);
}
