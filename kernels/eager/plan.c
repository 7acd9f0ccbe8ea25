/* plan.c - how an operator is served on memory: made once for each operator of a backend, from the
 * tables alone. */
#include "kernels/eager/eager.h"
#include "schema/facts/facts.h"

/* via's parameters are the first ones of op, so that no argument must be looked up by its name. */
static bool same_params(const fnz_op *op, const fnz_op *via) {
  if (via->nparams > op->nparams)
    return false;
  for (size_t i = 0; i < via->nparams; i++)
    if (strcmp(op->params[i].name, via->params[i].name) != 0)
      return false;
  return true;
}

static void plan_row(fnzi_mem_plan *plan, const fnzi_kernel *row, fnzi_way_fn *way) {
  plan->row = row;
  plan->way = way;
  plan->is_pointwise = row->memory == FNZI_MEMORY_POINT;
}

/* In-place views call their view, and keep its result. */
static bool plan_inplace_view(const fnz_op *op, fnzi_mem_plan *plan) {
  const fnz_op *view = fnzi_op_by_index(op->view_of);
  if (!view)
    return false;
  plan->via = view;
  plan->way = fnzi_way_review;
  return true;
}

/* A view, or what depends on geometry. */
static bool plan_window(const fnz_op *op, fnzi_mem_plan *plan) {
  if (op->kind != FNZI_KIND_FUNCTIONAL)
    return false;
  plan->composite = fnzi_composite_find(op);
  plan->view = plan->composite ? NULL : fnzi_view_find(op);
  if (plan->composite)
    plan->way = fnzi_way_composite;
  else if (plan->view && op->is_view)
    plan->way = fnzi_way_view;
  else if (plan->view && (!plan->row || plan->row->run == FNZI_RUN_view))
    plan->way = fnzi_way_view_copy;
  return plan->way != NULL;
}

static bool plan_list(const fnz_op *op, fnzi_mem_plan *plan) {
  const fnz_op *element = fnzi_foreach_element(op);
  if (!element)
    return false;
  plan->via = element;
  plan->way = fnzi_way_list;
  return true;
}

/* A functional operator has a way, even if not a row. */
static bool is_served(const fnzi_krn_machine *m, const fnz_op *op) {
  fnzi_mem_plan plan = {.via = op};
  return plan_window(op, &plan) || plan_list(op, &plan) || fnzi_mem_plan_donor(m, op, &plan);
}

/* On memory the functional operator itself does something else than its row. */
static bool is_odd(const fnz_op *twin, const fnzi_kernel *row) {
  fnzi_mem_plan plan = {.row = row};
  return fnzi_mem_plan_special(twin, &plan) || row->run == FNZI_RUN_view;
}

/* The row may compute into what is written. */
static bool writes_row(const fnz_op *op, const fnz_op *twin, const fnzi_kernel *row) {
  return row && !fnzi_composite_find(twin) && (op->kind != FNZI_KIND_OUT || !is_odd(twin, row));
}

/* From the table of kernels. */
static bool plan_kernel(const fnzi_krn_machine *m, const fnz_op *op, fnzi_mem_plan *plan) {
  if (op->kind == FNZI_KIND_FUNCTIONAL && plan->row) {
    plan_row(plan, plan->row, fnzi_way_compute);
    return true;
  }
  const fnz_op *twin = op->kind == FNZI_KIND_FUNCTIONAL ? NULL : fnzi_mutation_twin(op);
  if (!twin)
    return false;
  const fnzi_kernel *row = fnzi_meta_row_find(m, twin);
  if (!row && !is_served(m, twin))
    return false;
  plan->via = twin;
  if (writes_row(op, twin, row))
    plan_row(plan, row, fnzi_way_write);
  else
    plan->way = fnzi_way_write_any;
  return true;
}

/* The flags of the functional operator in facts.def. */
static void plan_strictness(fnzi_mem_plan *plan) {
  const fnz_op *op = fnzi_op_canonical(plan->via);
  if (op->kind != FNZI_KIND_FUNCTIONAL)
    return;
  plan->alike = fnzi_op_uncast(op);
  for (size_t k = 0; k < FNZI_FACT_ROWS; k++) {
    const fnzi_fact *f = fnzi_fact_of(op, k);
    plan->strictness |= (f->exact ? FNZI_PLAN_EXACT : 0u) | (f->casts ? FNZI_PLAN_CASTS : 0u) |
                        (f->apart ? FNZI_PLAN_APART : 0u) | (f->rigid ? FNZI_PLAN_RIGID : 0u) |
                        (f->quiet ? FNZI_PLAN_QUIET : 0u);
    plan->not_bool |= fnzi_fact_bits(op, f->not_bool);
    plan->floats |= fnzi_fact_bits(op, f->floats);
  }
}

static void find_way(const fnzi_krn_machine *m, const fnz_op *op, fnzi_mem_plan *plan) {
  plan->via = op;
  plan->row = fnzi_meta_row_find(m, op);
  bool found = fnzi_mem_plan_registered(m, op, plan) || fnzi_mem_plan_special(op, plan) ||
               plan_inplace_view(op, plan) || plan_window(op, plan) || plan_list(op, plan) ||
               plan_kernel(m, op, plan) || fnzi_mem_plan_donor(m, op, plan);
  if (!found)
    plan->way = fnzi_way_refuse;
  plan->same_args = same_params(op, plan->via);
  plan->may_write = fnzi_mutation_find(op) != FNZI_MUTATION_NONE;
  if (!plan->registered)
    plan_strictness(plan);
}

static fnz_status reserve_plans(fnzi_krn_machine *m) {
  if (m->plans)
    return FNZ_OK;
  size_t bytes = fnz_op_count() * sizeof *m->plans;
  fnzi_mem_plan **plans = fnzi_resize(m->ctx, NULL, 0, bytes);
  if (!plans)
    return fnzi_no_memory(m->ctx);
  memset(plans, 0, bytes);
  m->plans = plans;
  return FNZ_OK;
}

/* The plan of a custom operator lasts for one call: the operator may end before the backend. */
static fnz_status make_plan(fnzi_krn_machine *m, const fnz_op *op, const fnzi_mem_plan **out) {
  size_t i;
  bool lasts = fnzi_meta_op_index(op, &i);
  fnzi_mem_plan *plan = lasts ? NULL : m->passing;
  FNZ_TRY(reserve_plans(m));
  if (!plan)
    FNZI_NEW(&m->lasting, 1, &plan);
  *plan = (fnzi_mem_plan){.generation = m->generation};
  find_way(m, op, plan);
  if (lasts)
    m->plans[i] = plan;
  else
    m->passing = plan;
  *out = plan;
  return FNZ_OK;
}

fnz_status fnzi_mem_plan_find(fnzi_krn_machine *m, const fnz_op *op, const fnzi_mem_plan **out) {
  *out = fnzi_mem_plan_known(m, op);
  return *out ? FNZ_OK : make_plan(m, op, out);
}
