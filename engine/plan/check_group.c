/* check_group.c - proves a group as a whole. At each element, or in each row, all operands from
 * outside are read before a result is written there, and elements or rows come in any order. So a
 * node may read values of its group, and the group may overwrite operands, only in its own row. */
#include "engine/plan/check.h"

/* An operand from outside. */
typedef struct operand {
  uint32_t value;
  bool in_place; /* each node that reads it does so in the row that it computes, where it is of the
                    space */
  struct operand *next;
} operand;

typedef struct grouped {
  fnzi_pln_checker *c;
  uint32_t first, last; /* nodes */
  uint32_t node;
  operand *operands;
  uint32_t learnt; /* results that have been written */
  const fnz_geometry *space;
  uint32_t dims;          /* of a row; 0: elements are by themselves */
  fnzi_pln_role *members; /* per node */
} grouped;

static const fnzi_node *check_group_node_at(const grouped *g, uint32_t n) {
  return &g->c->p.graph->nodes.data[n];
}

static const fnz_geometry *check_group_geometry_of(const grouped *g, uint32_t value) {
  return g->c->p.graph->values.data[value].geometry;
}

/* Returns the role of the current node. */
static const fnzi_pln_role *member_of(const grouped *g) {
  return &g->members[g->node - g->first];
}

/* --- Members ---------------------------------------------------------------------------------- */
/* Notes an operand from outside, and checks it. Operands are few. */
static fnz_status note_operand(grouped *g, uint32_t value, uint32_t k) {
  bool in_place = member_of(g)->kind == FNZI_PLN_ROLE_POINT || k == 0;
  operand *o = g->operands;
  while (o && o->value != value)
    o = o->next;
  if (o) {
    o->in_place = o->in_place && in_place;
    return FNZ_OK;
  }
  FNZI_NEW(&g->c->p.scratch, 1, &o);
  *o = (operand){value, in_place, g->operands};
  g->operands = o;
  return fnzi_pln_check_holds(g->c, value, g->c->plan->locations[value]);
}

static fnz_status check_member(grouped *g) {
  fnzi_pln_checker *c = g->c;
  const fnzi_node *node = check_group_node_at(g, g->node);
  const fnzi_pln_role *m = member_of(g);
  bool is_row = m->kind == FNZI_PLN_ROLE_ROW;
  if (is_row ? m->dims != g->dims || !fnzi_same_sizes(m->space, g->space)
             : fnzi_pln_cover_of(g->space, g->dims, m->space) == FNZI_PLN_COVER_OTHER)
    return fnzi_pln_check_wrong(c, fnzi_pln_result_of(node),
                                "a group computes values of several sizes");
  FNZI_PLN_EACH_OPERAND(each, &c->p, node) {
    bool is_computed = c->producer[each.value] > g->first; /* by an earlier node of the group */
    if (!is_computed) {
      FNZ_TRY(note_operand(g, each.value, each.k));
      continue;
    }
    /* An operand made by the group belongs to the row that the node computes. */
    fnzi_pln_cover own = fnzi_pln_cover_of(g->space, g->dims, m->space);
    fnzi_pln_cover span =
        fnzi_pln_cover_of(g->space, g->dims, check_group_geometry_of(g, each.value));
    bool is_in_row = is_row
                         ? each.k == 0 && span == FNZI_PLN_COVER_ALL
                         : span == own || (own == FNZI_PLN_COVER_ALL && span == FNZI_PLN_COVER_ROW);
    if (!is_in_row)
      return fnzi_pln_check_wrong(c, each.value, "a group reads it before all of it is made");
  }
  for (uint32_t k = 0; k < node->noutputs; k++)
    if (node->outputs[k].tag == FNZ_ARG_VALUE)
      c->producer[node->outputs[k].u.value] = g->node + 1;
  return FNZ_OK;
}

/* --- Results ---------------------------------------------------------------------------------- */
/* Checks that an operand does not overlap the result, or is read at exactly the location that is
 * written. Then it has the same sizes, and these determine its row. */
static fnz_status check_group_apart(const grouped *g, const operand *o, uint32_t result,
                                    fnzi_pln_bytes bytes) {
  fnzi_pln_checker *c = g->c;
  fnzi_pln_location from = c->plan->locations[o->value], to = c->plan->locations[result];
  fnzi_pln_bytes read;
  if (fnzi_pln_check_memory(c, from.buffer) != fnzi_pln_check_memory(c, to.buffer))
    return FNZ_OK;
  if (o->in_place && fnzi_pln_location_equal(from, to) &&
      fnzi_pln_cover_of(g->space, g->dims, check_group_geometry_of(g, result)) !=
          FNZI_PLN_COVER_DROPPED)
    return FNZ_OK;
  FNZ_TRY(fnzi_pln_check_image(c, o->value, from, &read));
  return fnzi_pln_bytes_overlap(read, 0, bytes)
             ? fnzi_pln_check_wrong(c, o->value, "a group overwrites it while it is read")
             : FNZ_OK;
}

static fnz_status check_result(const grouped *g, uint32_t value, fnzi_pln_location location) {
  fnzi_pln_checker *c = g->c;
  fnzi_pln_bytes bytes;
  FNZ_TRY(fnzi_pln_check_writable(c, value, location));
  FNZ_TRY(fnzi_pln_check_image(c, value, location, &bytes));
  if (!fnzi_pln_map_injective(location.map))
    return fnzi_pln_check_wrong(c, value, "elements of a result share bytes");
  for (const operand *o = g->operands; o; o = o->next)
    FNZ_TRY(check_group_apart(g, o, value, bytes));
  return FNZ_OK;
}

static fnz_status learn_result(grouped *g, uint32_t value, fnzi_pln_location location) {
  fnzi_pln_checker *c = g->c;
  fnzi_pln_bytes bytes;
  FNZ_TRY(fnzi_pln_check_image(c, value, location, &bytes));
  g->learnt++;
  FNZ_TRY(fnzi_pln_forget(c, fnzi_pln_check_memory(c, location.buffer), bytes));
  return fnzi_pln_learn(c, value, c->last[value], location, bytes);
}

/* Visits all results. Round 0 checks that they may be written, after all operands were read; 1
 * writes them; 2 checks that none has overwritten another one. */
static fnz_status check_results(grouped *g, int round) {
  for (uint32_t n = g->first; n <= g->last; n++)
    FNZI_PLN_EACH_TENSOR(each, &g->c->p, check_group_node_at(g, n)->outputs,
                         check_group_node_at(g, n)->noutputs) {
      uint32_t value = (uint32_t)each.arg->u.value;
      fnzi_pln_location location = g->c->plan->locations[value];
      if (location.buffer == FNZI_PLN_NONE)
        continue;
      FNZ_TRY(round == 0   ? check_result(g, value, location)
              : round == 1 ? learn_result(g, value, location)
                           : fnzi_pln_check_holds(g->c, value, location));
    }
  return FNZ_OK;
}

fnz_status fnzi_pln_check_group(fnzi_pln_checker *c, const fnzi_pln_step *s) {
  grouped g = {.c = c, .first = s->first, .last = s->last};
  if (g.first > g.last)
    return fnzi_fail(c->p.ctx, FNZ_CLASS_INTERNAL, "", "step %u has no nodes", c->step);
  FNZI_NEW(&c->p.scratch, g.last - g.first + 1, &g.members);
  for (uint32_t n = g.first; n <= g.last; n++) {
    fnzi_pln_role *m = &g.members[n - g.first];
    const fnzi_node *node = check_group_node_at(&g, n);
    const fnzi_pln_fact *means;
    FNZ_TRY(fnzi_pln_fact_find(&c->p, node->op, &means));
    *m = (fnzi_pln_role){.kind = FNZI_PLN_ROLE_POINT};
    if (fnzi_pln_node_access(&c->p, node, means) == FNZI_PLN_ACCESS_POINT && !means->elements)
      m->space = check_group_geometry_of(&g, fnzi_pln_result_of(node));
    else
      FNZ_TRY(fnzi_pln_role_find(c->p.ctx, c->p.graph, node, m));
    if (m->kind == FNZI_PLN_ROLE_NONE)
      return fnzi_pln_check_wrong(c, fnzi_pln_result_of(node),
                                  "a group computes what is neither pointwise nor by rows");
    if (g.space == NULL || m->kind == FNZI_PLN_ROLE_ROW) /* the space of rows, or else of any */
      g.space = m->space;
    g.dims = m->kind == FNZI_PLN_ROLE_ROW ? m->dims : g.dims;
  }
  for (g.node = g.first; g.node <= g.last; g.node++)
    FNZ_TRY(check_member(&g));
  FNZ_TRY(check_results(&g, 0));
  FNZ_TRY(check_results(&g, 1));
  return g.learnt > 1 ? check_results(&g, 2) : FNZ_OK;
}
