/* check_kinds.c - proves that nodes of one kind are alike, because facts about one of them, such as
 * its row of point.def, are used for all. */
#include "engine/plan/check.h"

typedef struct kinds {
  const fnzi_graph *graph;
  uint32_t *first; /* per kind: 1 + the first node of it; 0 */
} kinds;

/* Compares tensors by geometry, and everything else by value. */
static bool check_kinds_same_one(const kinds *k, const fnz_arg *a, const fnz_arg *b) {
  const fnzi_value *values = k->graph->values.data;
  if (a->tag != b->tag)
    return false;
  switch ((fnz_tag)a->tag) {
  case FNZ_ARG_VALUE:
    return values[a->u.value].geometry == values[b->u.value].geometry;
  case FNZ_ARG_STRING:
    return strcmp(a->u.s, b->u.s) == 0;
  case FNZ_ARG_DEFAULT:
  case FNZ_ARG_NONE:
    return true;
  case FNZ_ARG_LIST:
  case FNZ_ARG_COMPLEX:
    return false; /* of items: all_same() */
  default:
    return a->u.i == b->u.i;
  }
}

/* Compares arguments. In nodes that are alike, lists contain no lists, except complex scalars,
 * which are compared by address. */
static bool all_same(const kinds *k, const fnz_arg *a, const fnz_arg *b, uint32_t count) {
  bool same = true;
  for (uint32_t i = 0; same && i < count; i++) {
    same = a[i].tag == FNZ_ARG_COMPLEX ? b[i].tag == FNZ_ARG_COMPLEX && a[i].u.list == b[i].u.list
           : a[i].tag == FNZ_ARG_LIST  ? b[i].tag == FNZ_ARG_LIST && a[i].count == b[i].count
                                       : check_kinds_same_one(k, &a[i], &b[i]);
    for (uint32_t j = 0; same && a[i].tag == FNZ_ARG_LIST && j < a[i].count; j++)
      same = check_kinds_same_one(k, &a[i].u.list[j], &b[i].u.list[j]);
  }
  return same;
}

fnz_status fnzi_pln_check_kinds(fnzi_pln_checker *c) {
  kinds k = {.graph = c->p.graph};
  if (!c->plan->kinds.by_node)
    return FNZ_OK;
  FNZI_NEW(&c->p.scratch, c->plan->kinds.count, &k.first);
  const fnzi_pln_kinds *given = &c->plan->kinds;
  for (uint32_t n = 0; n < k.graph->nodes.count; n++) {
    uint32_t *first = given->by_node[n] < given->count ? &k.first[given->by_node[n]] : NULL;
    const fnzi_node *a = first && *first ? &k.graph->nodes.data[*first - 1] : NULL,
                    *b = &k.graph->nodes.data[n];
    bool same = !a || (a->op == b->op && a->op && a->nargs == b->nargs &&
                       a->noutputs == b->noutputs && all_same(&k, a->args, b->args, a->nargs) &&
                       all_same(&k, a->outputs, b->outputs, a->noutputs));
    if (!first || !same)
      return fnzi_fail(c->p.ctx, FNZ_CLASS_INTERNAL, "",
                       "the plan is wrong: node %u, %s, is taken for one that asks something else",
                       n, fnzi_node_target(b));
    *first = *first ? *first : n + 1;
  }
  return FNZ_OK;
}
