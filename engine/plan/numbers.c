/* numbers.c - numbers that data decide: which nodes wait for them, and whether a plan can be made
 * all the same, for no size depends on one. */
#include "engine/plan/plan.h"
#include "kernels/backends.h"
#include "views/views.h"

static fnz_status see_symbol(void *user, const fnz_arg *arg) {
  bool *found = user;
  *found = *found || arg->tag == FNZ_ARG_SYMBOL;
  return FNZ_OK;
}

bool fnzi_eng_waits_for_numbers(const fnzi_node *node) {
  bool found = node->op && fnzi_op_is_item(node->op);
  fnz_status status = fnzi_args_visit(node->args, node->nargs, see_symbol, &found);
  return found || status != FNZ_OK;
}

/* Whose numbers say where its result lies, or which part of its base it writes. */
static bool places_by_numbers(const fnz_op *op) {
  uint16_t place = op ? fnzi_op_place(op) : FNZI_NO_OP;
  if (!op || fnzi_op_is_item(op))
    return false;
  const fnzi_kernel *row = place == FNZI_NO_OP ? NULL : &fnzi_kernel_rows[place];
  return !row || !row->shape || row->memory == FNZI_MEMORY_VIEW ||
         row->run == FNZI_RUN_scatter_view || fnzi_view_find(op);
}

bool fnzi_eng_only_numbers(const fnz_program *program) {
  const fnzi_graph *g = fnzi_graph_at(program, 0);
  for (uint32_t k = 0; k < g->ninputs; k++)
    if (g->inputs[k].tag == FNZ_ARG_SYMBOL)
      return false;
  for (size_t v = 0; v < g->values.count; v++)
    if (g->values.data[v].geometry && g->values.data[v].geometry->symbols)
      return false;
  for (size_t n = 0; n < g->nodes.count; n++)
    if (fnzi_eng_waits_for_numbers(&g->nodes.data[n]) && places_by_numbers(g->nodes.data[n].op))
      return false;
  return true;
}

static bool keeps(const fnz_program *arranged, const fnzi_eng_order *order) {
  const fnzi_graph *g = fnzi_graph_at(arranged, 0);
  uint32_t before = 0;
  for (uint32_t n = 0; n < g->nodes.count; n++) {
    uint32_t origin = order->origins ? order->origins[n] : n;
    if (!fnzi_eng_waits_for_numbers(&g->nodes.data[n]))
      continue;
    if (origin < before)
      return false;
    before = origin;
  }
  return true;
}

void fnzi_eng_numbers_keep(const fnz_program *source, const fnz_program **arranged,
                           fnzi_eng_policy *policy) {
  if (keeps(*arranged, &policy->order))
    return;
  *arranged = source;
  policy->order = (fnzi_eng_order){.source = NULL};
  policy->ungrouped = true;
}
