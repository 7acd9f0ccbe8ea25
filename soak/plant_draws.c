/* plant_draws.c - mistakes in random draws: their number, their order, who gets which; and in
 * effects. */
#include "soak/plant_edit.h"

/* Another draw of the same graph, behind `from`; false when there is none. */
static bool next_draw(const fnzi_graph *g, uint32_t from, uint32_t *out) {
  for (uint32_t i = from + 1; i < g->nodes.count; i++)
    if (fnzi_plant_is_random(&g->nodes.data[i])) {
      *out = i;
      return true;
    }
  return false;
}

/* A tensor without elements takes no number. */
static bool draws_any(const fnzi_graph *g, const fnzi_node *n) {
  return n->noutputs > 0 && n->outputs[0].tag == FNZ_ARG_VALUE &&
         fnz_geometry_numel(g->values.data[n->outputs[0].u.value].geometry) > 0;
}

static bool gives_one_tensor(const fnzi_node *n) {
  return n->noutputs == 1 && n->outputs[0].tag == FNZ_ARG_VALUE;
}

static const fnz_geometry *result_of(const fnzi_graph *g, const fnzi_node *n) {
  return g->values.data[n->outputs[0].u.value].geometry;
}

/* `at` is a draw, and the next one calls the same operator for a result that looks the same. */
static bool is_pair(const fnzi_plant_at *at, uint32_t *second) {
  if (!fnzi_plant_is_random(at->n) || !draws_any(at->g, at->n) ||
      !next_draw(at->g, at->node, second))
    return false;
  const fnzi_node *other = &at->g->nodes.data[*second];
  return other->op == at->n->op && gives_one_tensor(at->n) && gives_one_tensor(other) &&
         result_of(at->g, at->n) == result_of(at->g, other);
}

fnz_status fnzi_plant_draw_merged(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_node(t, &at);) {
    uint32_t second;
    if (!is_pair(&at, &second) || !fnzi_plant_here(t))
      continue;
    uint64_t kept = at.n->outputs[0].u.value, lost = at.g->nodes.data[second].outputs[0].u.value;
    fnzi_plant_replace(at.g, lost, kept);
    fnzi_plant_note_node(t, at.graph, at.node, "stands for %%%s too",
                         fnzi_plant_value_name(at.g, lost));
    fnzi_plant_remove(at.g, second);
  }
  return FNZ_OK;
}

/* Each taker of the one takes the other. The second must be known where the first is read, so it is
 * drawn right behind it. */
fnz_status fnzi_plant_draw_swapped(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_node(t, &at);) {
    uint32_t second;
    if (!is_pair(&at, &second) || !fnzi_plant_here(t))
      continue;
    fnz_arg *a = at.n->outputs, *b = at.g->nodes.data[second].outputs;
    const fnz_arg first = *a;
    *a = *b;
    *b = first;
    at.g->values.data[a->u.value].node = at.node;
    at.g->values.data[b->u.value].node = second;
    fnzi_plant_note_node(t, at.graph, at.node, "swapped with %%%s",
                         fnzi_plant_value_name(at.g, b->u.value));
    if (second > at.node + 1)
      fnzi_plant_move(at.g, second, at.node + 1);
  }
  return FNZ_OK;
}

/* Draws of any kind change places, which changes what each of them gets. */
fnz_status fnzi_plant_draw_moved(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_node(t, &at);) {
    uint32_t second;
    if (!fnzi_plant_is_random(at.n) || !draws_any(at.g, at.n) ||
        !next_draw(at.g, at.node, &second) || !draws_any(at.g, &at.g->nodes.data[second]) ||
        !fnzi_plant_here(t))
      continue;
    fnzi_plant_note_node(t, at.graph, second, "stands before node %u", at.node);
    fnzi_plant_move(at.g, second, at.node);
  }
  return FNZ_OK;
}

fnz_status fnzi_plant_draw_dropped(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_node(t, &at);) {
    uint64_t other = 0;
    if (!fnzi_plant_is_random(at.n))
      continue;
    const bool used = fnzi_plant_is_used(at.g, at.n);
    if (used && (!gives_one_tensor(at.n) ||
                 !fnzi_plant_other(t, at.g, at.n->outputs[0].u.value, at.node, &other)))
      continue;
    if (!fnzi_plant_here(t))
      continue;
    if (used)
      fnzi_plant_replace(at.g, at.n->outputs[0].u.value, other);
    if (used)
      fnzi_plant_note_node(t, at.graph, at.node, "is %%%s", fnzi_plant_value_name(at.g, other));
    else
      fnzi_plant_note_node(t, at.graph, at.node, "left out");
    fnzi_plant_remove(at.g, at.node);
  }
  return FNZ_OK;
}

/* The same call once more in front of it; nothing takes its results. */
fnz_status fnzi_plant_draw_added(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_node(t, &at);) {
    if (!fnzi_plant_is_random(at.n) || !gives_one_tensor(at.n) || !fnzi_plant_here(t))
      continue;
    fnzi_node copy = *at.n, *n;
    uint32_t value;
    FNZ_TRY(fnzi_plant_insert(t, at.graph, at.node, &n));
    *n = copy;
    FNZ_TRY(fnzi_value_add_fresh(t->p, at.graph, "drawn", result_of(at.g, &copy), at.node, &value));
    FNZI_NEW(&t->p->arena, 1, &n->outputs);
    n->outputs[0] = fnzi_arg_value(value);
    return fnzi_plant_note_node(t, at.graph, at.node, "added");
  }
  return FNZ_OK;
}

/* Eager draws in the order of memory. */
fnz_status fnzi_plant_draw_strides(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_node(t, &at);) {
    if (!fnzi_plant_is_random(at.n) || !gives_one_tensor(at.n) ||
        !fnzi_plant_has_other_strides(result_of(at.g, at.n)) || !fnzi_plant_here(t))
      continue;
    FNZ_TRY(fnzi_plant_other_strides(t, &at.g->values.data[at.n->outputs[0].u.value]));
    return fnzi_plant_note_node(t, at.graph, at.node, "fills memory in the other order");
  }
  return FNZ_OK;
}

/* --- effects --------------------------------------------------------------------------------- */
static bool has_token(const fnzi_node *n) {
  return !n->op && strcmp(fnzi_node_target(n), "higher_order.with_effects") == 0 && n->nargs > 1 &&
         n->args[0].tag == FNZ_ARG_TOKEN && n->noutputs > 0 && n->outputs[0].tag == FNZ_ARG_TOKEN;
}

/* It has no result, and is called for something else. */
static bool is_void(const fnzi_node *n) {
  return n->op && n->noutputs == 0 && !fnzi_plant_is_assertion(n);
}

/* The other processes make the same call, even if this process does not need its result. */
static bool is_collective(const fnzi_node *n) {
  const char *name = fnzi_node_target(n);
  return fnzi_starts_with(name, "_c10d_functional::") && !strstr(name, "wait_tensor");
}

/* With a token, the next effect follows on the one before. */
fnz_status fnzi_plant_effect_dropped(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_node(t, &at);) {
    const bool token = has_token(at.n) && at.n->noutputs == 1;
    if ((!token && !is_void(at.n)) || !fnzi_plant_here(t))
      continue;
    if (token)
      fnzi_plant_replace(at.g, at.n->outputs[0].u.value, at.n->args[0].u.value);
    fnzi_plant_note_node(t, at.graph, at.node, "left out");
    fnzi_plant_remove(at.g, at.node);
  }
  return FNZ_OK;
}

fnz_status fnzi_plant_effect_argument(fnzi_planting *t) {
  for (fnzi_plant_at at = {0}; fnzi_plant_next_item(t, &at);) {
    uint64_t other;
    const char *was = at.arg->u.s;
    if (!has_token(at.n) && !is_void(at.n) && !is_collective(at.n))
      continue;
    if (at.arg->tag == FNZ_ARG_STRING && fnzi_plant_here(t)) {
      FNZ_TRY(fnzi_arena_format(&t->p->arena, &at.arg->u.s, "%sx", was));
      at.arg->count++;
      return fnzi_plant_note_node(t, at.graph, at.node, "\"%s\" becomes \"%sx\"", was, was);
    }
    if (at.arg->tag == FNZ_ARG_INT && fnzi_plant_here(t))
      return fnzi_plant_change_number(t, &at);
    if (at.arg->tag == FNZ_ARG_VALUE &&
        fnzi_plant_other(t, at.g, at.arg->u.value, at.node, &other) && fnzi_plant_here(t))
      return fnzi_plant_change_value(t, &at, other);
  }
  return FNZ_OK;
}
