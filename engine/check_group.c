/* check_group.c - what a step of several nodes reads and writes, as a whole: at each element all
 * operands from outside are read before a result is written, and elements come in any order. */
#include "engine/check.h"

typedef struct grouped {
  fnzi_eng_checker *c;
  uint32_t first, last; /* nodes */
  uint32_t node, result;
  fnzi_eng_bytes bytes; /* of the result */
} grouped;

static const fnzi_node *node_at(const grouped *g, uint32_t n) {
  return &g->c->p.graph->nodes.data[n];
}

/* A node of the group before the one that is looked at makes it. */
static bool is_made(const grouped *g, uint32_t value) {
  for (uint32_t n = g->first; n < g->node; n++)
    if (fnzi_eng_result_of(node_at(g, n)) == value)
      return true;
  return false;
}

static fnz_status check_operand(fnzi_eng_planner *p, uint32_t value, void *user) {
  const grouped *g = user;
  (void)p;
  return is_made(g, value) ? FNZ_OK : fnzi_eng_check_holds(g->c, value, g->c->plan->places[value]);
}

static fnz_status check_member(grouped *g) {
  fnzi_eng_checker *c = g->c;
  const fnzi_node *node = node_at(g, g->node);
  const fnzi_value *values = c->p.graph->values.data;
  const fnzi_eng_fact *means;
  uint32_t result = fnzi_eng_result_of(node), space = fnzi_eng_result_of(node_at(g, g->last));
  FNZ_TRY(fnzi_eng_fact_find(&c->p, node->op, &means));
  if (fnzi_eng_node_way(&c->p, node, means) != FNZI_ENG_WAY_POINT || means->elements)
    return fnzi_eng_check_wrong(c, result, "a group computes what is not pointwise");
  if (!fnzi_same_sizes(values[result].geometry, values[space].geometry))
    return fnzi_eng_check_wrong(c, result, "a group computes values of several sizes");
  return fnzi_eng_each_value(&c->p, node->args, node->nargs, check_operand, g);
}

/* An operand from outside lies apart from the result, or is read at the very place that is written.
 */
static fnz_status check_apart(fnzi_eng_planner *p, uint32_t value, void *user) {
  const grouped *g = user;
  const fnzi_eng_place *places = g->c->plan->places, *to = &places[g->result];
  fnzi_eng_bytes bytes;
  (void)p;
  if (is_made(g, value) || fnzi_eng_place_equal(places[value], *to) ||
      fnzi_eng_check_memory(g->c, places[value].buffer) != fnzi_eng_check_memory(g->c, to->buffer))
    return FNZ_OK;
  FNZ_TRY(fnzi_eng_check_image(g->c, value, places[value], &bytes));
  return fnzi_eng_bytes_meet(bytes, 0, g->bytes)
             ? fnzi_eng_check_wrong(g->c, value, "a group overwrites it while it is read")
             : FNZ_OK;
}

static bool is_stored(const grouped *g, uint32_t n) {
  return g->c->plan->places[fnzi_eng_result_of(node_at(g, n))].buffer != FNZI_ENG_NONE;
}

static fnz_status check_result(grouped *g, uint32_t n) {
  fnzi_eng_checker *c = g->c;
  g->result = fnzi_eng_result_of(node_at(g, n));
  fnzi_eng_place at = c->plan->places[g->result];
  FNZ_TRY(fnzi_eng_check_writable(c, g->result, at));
  FNZ_TRY(fnzi_eng_check_image(c, g->result, at, &g->bytes));
  if (!fnzi_eng_map_injective(at.map))
    return fnzi_eng_check_wrong(c, g->result, "elements of a result share bytes");
  for (g->node = g->first; g->node <= g->last; g->node++) {
    const fnzi_node *node = node_at(g, g->node);
    FNZ_TRY(fnzi_eng_each_value(&c->p, node->args, node->nargs, check_apart, g));
  }
  return FNZ_OK;
}

static fnz_status learn_result(grouped *g, uint32_t n) {
  fnzi_eng_checker *c = g->c;
  uint32_t value = fnzi_eng_result_of(node_at(g, n));
  fnzi_eng_place at = c->plan->places[value];
  fnzi_eng_bytes bytes;
  FNZ_TRY(fnzi_eng_check_image(c, value, at, &bytes));
  FNZ_TRY(fnzi_eng_forget(c, fnzi_eng_check_memory(c, at.buffer), bytes));
  return fnzi_eng_learn(c, value, c->last[value], at, bytes);
}

fnz_status fnzi_eng_check_group(fnzi_eng_checker *c, const fnzi_eng_step *s) {
  grouped g = {.c = c, .first = s->first, .last = s->node};
  if (g.first > g.last)
    return fnzi_fail(c->p.ctx, FNZ_CLASS_INTERNAL, "", "step %u has no nodes", c->step);
  for (g.node = g.first; g.node <= g.last; g.node++)
    FNZ_TRY(check_member(&g));
  for (uint32_t n = g.first; n <= g.last; n++)
    if (is_stored(&g, n))
      FNZ_TRY(check_result(&g, n));
  for (uint32_t n = g.first; n <= g.last; n++)
    if (is_stored(&g, n))
      FNZ_TRY(learn_result(&g, n));
  for (uint32_t n = g.first; n <= g.last; n++) { /* no result has overwritten another one */
    uint32_t value = fnzi_eng_result_of(node_at(&g, n));
    if (is_stored(&g, n))
      FNZ_TRY(fnzi_eng_check_holds(c, value, c->plan->places[value]));
  }
  return FNZ_OK;
}
