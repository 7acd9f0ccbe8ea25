/* nodes.c - the tensors that a node takes and gives. */
#include "engine/plan/planner.h"
#include "schema/aten_names.h"

typedef struct visit {
  fnzi_pln_planner *p;
  fnzi_pln_visit *visit;
  void *user;
} visit_state;

static fnz_status visit_arg(void *user, const fnz_arg *arg) {
  visit_state *v = user;
  return fnzi_pln_is_tensor(v->p, arg) ? v->visit(v->p, (uint32_t)arg->u.value, v->user) : FNZ_OK;
}

fnz_status fnzi_pln_each_listed(fnzi_pln_planner *p, const fnz_arg *list, fnzi_pln_visit *visit,
                                void *user) {
  visit_state v = {p, visit, user};
  return fnzi_args_visit(list, 1, visit_arg, &v);
}

fnz_status fnzi_pln_each_argument(fnzi_pln_planner *p, const fnzi_node *node,
                                  fnzi_pln_visit_at *visit, void *user) {
  for (uint32_t k = 0; k < node->nargs; k++) {
    const fnz_arg *arg = &node->args[k];
    if (fnzi_pln_is_tensor(p, arg))
      FNZ_TRY(visit(p, (uint32_t)arg->u.value, k, 0, user));
    for (uint32_t i = 0; arg->tag == FNZ_ARG_LIST && i < arg->count; i++)
      if (fnzi_pln_is_tensor(p, &arg->u.list[i]))
        FNZ_TRY(visit(p, (uint32_t)arg->u.list[i].u.value, k, i, user));
  }
  return FNZ_OK;
}

static fnz_status take_first(void *user, const fnz_arg *arg) {
  uint32_t *first = user;
  if (*first == FNZI_PLN_NONE && arg->tag == FNZ_ARG_VALUE)
    *first = (uint32_t)arg->u.value;
  return FNZ_OK;
}

uint32_t fnzi_pln_result_in_lists(const fnzi_node *node) {
  uint32_t first = FNZI_PLN_NONE;
  bool visited = fnzi_args_visit(node->outputs, node->noutputs, take_first, &first) == FNZ_OK;
  return visited ? first : FNZI_PLN_NONE;
}

bool fnzi_pln_says_nothing(const fnzi_node *node) {
  return node->op == &fnzi_ops[FNZI_ATEN__assert_tensor_metadata];
}

bool fnzi_pln_is_pair(const fnzi_pln_planner *p, const fnzi_node *node, uint32_t value,
                      const fnz_arg *operand) {
  const fnz_arg *const *pairs = p->pairs ? p->pairs[node - p->graph->nodes.data] : NULL;
  const fnz_arg *results = node->outputs;
  uint32_t count = node->noutputs;
  if (count == 1 && results[0].tag == FNZ_ARG_LIST) {
    count = results[0].count;
    results = results[0].u.list;
  }
  for (uint32_t j = 0; pairs && j < count; j++)
    if (pairs[j] == operand && results[j].tag == FNZ_ARG_VALUE && results[j].u.value == value)
      return true;
  return false;
}
