/* ask.c - placement hints (R7): where values should be stored, because later values computed in
 * place are to end there.
 *
 * Final values get a hint for the memory of their state, outputs for their own, pieces of a join
 * for the joined result. Then hints go backwards through views, updates and their sources, joins
 * and pointwise results. A hint is no permission. */
#include "engine/plan/planner.h"

/* Gives a value a hint. Inputs get none, because their memory is fixed. The first hint counts. */
static void wish(fnzi_pln_planner *p, uint32_t value, uint32_t buffer, const fnz_geometry *map) {
  fnzi_pln_value *v = &p->values[value];
  if (v->born == FNZI_PLN_NONE || v->wish.map != NULL)
    return;
  v->wish = (fnzi_pln_place){buffer, map};
}

static bool has_wish(const fnzi_pln_planner *p, uint32_t value) {
  return value != FNZI_PLN_NONE && p->values[value].wish.map != NULL;
}

/* --- Joins ------------------------------------------------------------------------------- */
static fnz_status find_dim(fnzi_pln_planner *p, const fnzi_node *node, uint32_t rank,
                           uint32_t *out) {
  int at = fnzi_op_param(node->op, "dim");
  fnz_arg arg = at < 0 ? (fnz_arg){.tag = FNZ_ARG_INT}
                       : fnzi_arg_get(node->op, node->args, node->nargs, (size_t)at);
  return fnzi_wrap_dim(p->ctx, node->op->name, arg.tag == FNZ_ARG_INT ? arg.u.i : 0, rank, out);
}

fnz_status fnzi_pln_join_visit(fnzi_pln_planner *p, const fnzi_node *node,
                               const fnzi_pln_fact *fact, const fnz_geometry *map,
                               fnzi_pln_piece_fn *visit, void *user) {
  const fnz_arg *list = &node->args[0];
  uint32_t dim;
  int64_t at = 0;
  FNZ_TRY(find_dim(p, node, map->rank, &dim));
  for (uint32_t i = 0; i < list->count; i++) {
    uint32_t piece = (uint32_t)list->u.list[i].u.value;
    const fnz_geometry *g = p->graph->values.data[piece].geometry, *window;
    if (fnz_geometry_numel(g) == 0)
      continue;
    int64_t size = fact->stacks ? 1 : g->sizes[dim];
    FNZ_TRY(fnzi_pln_map_piece(p, map, dim, at, size, fact->stacks, &window));
    FNZ_TRY(visit(p, piece, window, user));
    at += size;
  }
  return FNZ_OK;
}

static fnz_status wish_piece(fnzi_pln_planner *p, uint32_t value, const fnz_geometry *map,
                             void *user) {
  wish(p, value, *(const uint32_t *)user, map);
  return FNZ_OK;
}

/* Gives a join without a hint its own memory, in which its pieces are computed. */
static fnz_status open_join(fnzi_pln_planner *p, uint32_t result) {
  const fnz_geometry *map;
  uint32_t buffer;
  if (has_wish(p, result) || p->policy->trivial)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_map_dense(p, p->graph->values.data[result].geometry, true, &map));
  FNZ_TRY(fnzi_pln_buffer_for(p, result, map, &buffer));
  wish(p, result, buffer, map);
  return FNZ_OK;
}

/* --- Through nodes ----------------------------------------------------------------------- */
/* Says that the base is, or will be, at the place `at` that the scatter's result prefers. A base
 * that comes from an input has the input's place. Elsewhere it would have to be copied, over a
 * source that is there already. */
static bool base_comes(const fnzi_pln_planner *p, uint32_t base, fnzi_pln_place at) {
  uint32_t root = p->values[base].root;
  if (p->values[root].born == FNZI_PLN_NONE)
    return fnzi_pln_place_equal(
        (fnzi_pln_place){p->plan->places[root].buffer, p->values[base].window}, at);
  return has_wish(p, base) && fnzi_pln_place_equal(p->values[base].wish, at);
}

static fnz_status ask_scatter(fnzi_pln_planner *p, const fnzi_node *node, const fnzi_pln_fact *fact,
                              fnzi_pln_place at) {
  uint32_t base = fnzi_pln_argument(node, 0), source = fnzi_pln_argument(node, 1);
  const fnz_geometry *region;
  bool found;
  wish(p, base, at.buffer, at.map);
  if (!base_comes(p, base, at))
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_map_region(p, node, fact, at.map, &region, &found));
  if (found && fnzi_pln_map_injective(region))
    wish(p, source, at.buffer, region);
  return FNZ_OK;
}

static fnz_status ask_view(fnzi_pln_planner *p, const fnzi_node *node, const fnzi_pln_fact *fact,
                           fnzi_pln_place at) {
  uint32_t base = fnzi_pln_argument(node, 0);
  const fnz_geometry *map;
  bool found;
  if (p->values[base].born == FNZI_PLN_NONE || has_wish(p, base))
    return FNZ_OK;
  FNZ_TRY(
      fnzi_pln_map_back(p, node, fact, at.map, p->graph->values.data[base].geometry, &map, &found));
  if (found)
    wish(p, base, at.buffer, map);
  return FNZ_OK;
}

/* The first operand that ends here and may be overwritten by the result. */
static fnz_status ask_operand(fnzi_pln_planner *p, uint32_t value, void *user) {
  const fnzi_pln_place *at = user;
  const fnz_geometry *g = p->graph->values.data[value].geometry;
  const fnzi_pln_value *v = &p->values[value];
  if (at->map == NULL || v->born == FNZI_PLN_NONE || v->wish.map || v->is_result ||
      g->dtype != at->map->dtype || !fnzi_same_sizes(g, at->map) || v->uses != 1)
    return FNZ_OK;
  wish(p, value, at->buffer, at->map);
  *(fnzi_pln_place *)user = (fnzi_pln_place){0};
  return FNZ_OK;
}

/* Operands that results may take the places of are made there. */
static void ask_region(fnzi_pln_planner *p, const fnzi_node *node, uint32_t n) {
  const fnz_arg *const *pairs = p->pairs ? p->pairs[n] : NULL;
  const fnz_arg *results = node->outputs;
  uint32_t count = node->noutputs;
  if (count == 1 && results[0].tag == FNZ_ARG_LIST) {
    count = results[0].count;
    results = results[0].u.list;
  }
  for (uint32_t j = 0; pairs && j < count; j++) {
    if (!pairs[j] || !has_wish(p, (uint32_t)results[j].u.value))
      continue;
    fnzi_pln_place at = p->values[results[j].u.value].wish;
    wish(p, (uint32_t)pairs[j]->u.value, at.buffer, at.map);
  }
}

static fnz_status ask_node(fnzi_pln_planner *p, uint32_t n) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  const fnzi_pln_node *info = &p->nodes[n];
  uint32_t result = fnzi_pln_result_of(node), from;
  if (info->access == FNZI_PLN_ACCESS_REGION)
    ask_region(p, node, n);
  if (!has_wish(p, result))
    return FNZ_OK;
  fnzi_pln_place at = p->values[result].wish;
  switch ((fnzi_pln_access)info->access) {
  case FNZI_PLN_ACCESS_VIEW:
    return ask_view(p, node, info->fact, at);
  case FNZI_PLN_ACCESS_SAME:
    from = fnzi_pln_argument(node, info->fact->of);
    if (fnzi_same_sizes(p->graph->values.data[from].geometry, at.map))
      wish(p, from, at.buffer, at.map);
    return FNZ_OK;
  case FNZI_PLN_ACCESS_SCATTER:
    return ask_scatter(p, node, info->fact, at);
  case FNZI_PLN_ACCESS_BASE:
    wish(p, fnzi_pln_argument(node, 0), at.buffer, at.map);
    return FNZ_OK;
  case FNZI_PLN_ACCESS_JOIN:
    return fnzi_pln_join_visit(p, node, info->fact, at.map, wish_piece, &at.buffer);
  case FNZI_PLN_ACCESS_POINT:
    return fnzi_pln_each_value(p, node->args, node->nargs, ask_operand, &at);
  default:
    return FNZ_OK;
  }
}

static fnz_status sweep(fnzi_pln_planner *p, bool joins) {
  for (uint32_t n = p->end; n-- > 0;) {
    const fnzi_node *node = &p->graph->nodes.data[n];
    if (joins && p->nodes[n].access == FNZI_PLN_ACCESS_JOIN)
      FNZ_TRY(open_join(p, fnzi_pln_result_of(node)));
    FNZ_TRY(ask_node(p, n));
  }
  return FNZ_OK;
}

/* --- From results ------------------------------------------------------------------------ */
static bool is_tensor(const fnzi_pln_planner *p, size_t k) {
  const fnz_arg *arg = &p->graph->outputs[k];
  return arg->tag == FNZ_ARG_VALUE && p->graph->values.data[arg->u.value].geometry != NULL;
}

static bool wants_memory(const fnzi_pln_planner *p, size_t k) {
  const fnz_output_spec *spec = &p->program->outputs[k];
  bool left = p->policy->aliasing && fnzi_output_is_result(spec) &&
              (spec->sharing == FNZ_SHARING_INPUT || spec->sharing == FNZ_SHARING_INPUT_VIEW);
  return p->final_of[k] == FNZI_PLN_NONE && is_tensor(p, k) && !left;
}

static fnz_status open_output(fnzi_pln_planner *p, uint32_t k) {
  uint32_t value = (uint32_t)p->graph->outputs[k].u.value, buffer;
  const fnz_geometry *g = p->graph->values.data[value].geometry, *map;
  fnzi_pln_buffer out = {.kind = FNZI_PLN_OUT, .of = k};
  int64_t low, high;
  if (p->policy->outs)
    map = p->policy->outs[k];
  else
    FNZ_TRY(fnzi_pln_map_dense(p, g, true, &map));
  if (!fnzi_extent(map, &low, &high) ||
      !fnzi_mul_size((size_t)high, fnzi_dtype(g->dtype)->bytes, &out.bytes))
    return fnzi_fail(p->ctx, FNZ_CLASS_OVERFLOW, p->graph->values.data[value].name,
                     "the memory of an output leaves 63 bits");
  FNZ_TRY(fnzi_pln_buffer_add(p, out, &buffer));
  p->plan->outputs[k] = (fnzi_pln_place){buffer, map};
  wish(p, value, buffer, map);
  return FNZ_OK;
}

fnz_status fnzi_pln_ask(fnzi_pln_planner *p) {
  for (size_t k = 0; k < p->graph->noutputs; k++) {
    p->plan->outputs[k].buffer = FNZI_PLN_NONE;
    if (p->final_of[k] == FNZI_PLN_NONE)
      continue;
    uint32_t input = (uint32_t)p->graph->inputs[p->final_of[k]].u.value;
    fnzi_pln_place at = p->plan->places[input];
    p->plan->outputs[k] = at;
    wish(p, (uint32_t)p->graph->outputs[k].u.value, at.buffer, at.map);
  }
  if (!p->policy->trivial)
    FNZ_TRY(sweep(p, false));
  for (uint32_t k = 0; k < p->graph->noutputs; k++)
    if (wants_memory(p, k))
      FNZ_TRY(open_output(p, k));
  return p->policy->trivial ? FNZ_OK : sweep(p, true);
}
