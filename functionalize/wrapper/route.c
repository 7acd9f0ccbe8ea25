/* route.c - which rule an operator falls under: found once in the tables, then remembered. */
#include "functionalize/wrapper/wrapper.h"
#include "schema/aten_names.h"
#include "schema/twins.h"

/* Operators that read the one number of a tensor in eager. */
static const uint16_t readers[] = {FNZI_ATEN__assert_async, FNZI_ATEN__assert_async__msg,
                                   FNZI_ATEN__functional_assert_async__msg, FNZI_ATEN_is_nonzero,
                                   FNZI_ATEN_item};
static const uint16_t strided[] = {FNZI_ATEN_as_strided_copy, FNZI_ATEN_as_strided_copy__out,
                                   FNZI_ATEN_as_strided_scatter, FNZI_ATEN_as_strided_scatter__out};

bool fnzi_wrap_is_by_memory(const fnz_op *op) {
  return fnzi_op_is_among(op, strided, sizeof strided / sizeof *strided);
}

fnzi_wrap_route fnzi_wrap_route_find(const fnz_op *op) {
  bool is_inplace_view = op->view_of != FNZI_NO_OP;
  const fnz_op *view = is_inplace_view ? fnzi_op_by_index(op->view_of) : op;
  const fnzi_view *row = fnz_op_is_view(view) ? fnzi_view_find(view) : NULL;
  const fnzi_composite_row *composite = fnzi_composite_find(view);
  fnzi_wrap_route r = {
      .op = op, .mutation = fnzi_mutation_find(op), .view = row, .composite = composite};
  if (is_inplace_view && (row || composite))
    r.action = FNZI_ACTION_INPLACE_VIEW;
  else if (r.mutation != FNZI_MUTATION_NONE && r.mutation != FNZI_MUTATION_TWIN &&
           r.mutation != FNZI_MUTATION_LIST)
    r.action = FNZI_ACTION_WRITE;
  else if (row)
    r.action = FNZI_ACTION_VIEW;
  else if (composite)
    r.action = FNZI_ACTION_COMPOSITE;
  else if (r.mutation != FNZI_MUTATION_NONE)
    r.action = FNZI_ACTION_WRITE;
  else
    r.action = fnz_op_is_view(op) ? FNZI_ACTION_REFUSED : FNZI_ACTION_FUNCTIONAL;
  r.twin = r.mutation != FNZI_MUTATION_NONE ? fnzi_mutation_twin(op) : NULL;
  r.out_rule = r.twin ? fnzi_out_rule_of(r.twin) : FNZI_OUT_EXACT;
  r.uncast = fnzi_op_uncast(r.twin ? r.twin : op) != 0;
  r.one_number = fnzi_op_is_among(op, readers, sizeof readers / sizeof *readers);
  r.by_memory = fnzi_wrap_is_by_memory(op);
  r.same_indices = r.twin && r.twin->nparams <= op->nparams;
  for (size_t i = 0; r.same_indices && i < r.twin->nparams; i++)
    r.same_indices = strcmp(r.twin->params[i].name, op->params[i].name) == 0;
  r.keeps_written = fnzi_written_next(op, &(fnzi_written_walk){0}, &(const fnzi_param *){NULL});
  if (r.mutation == FNZI_MUTATION_TWIN && op->kind == FNZI_KIND_INPLACE)
    r.composite = fnzi_composite_find(r.twin);
  return r;
}

fnzi_wrap_route fnzi_wrap_route_of(fnz_wrapper *wrapper, const fnz_op *op) {
  if (fnzi_op_is_custom(op))
    return fnzi_wrap_route_find(op);
  fnzi_wrap_route *r;
  size_t home = (size_t)(op - fnzi_ops), k = 0;
  do
    r = &wrapper->routes[(home + k++) % FNZI_ROUTES];
  while (r->op && r->op != op && k < FNZI_ROUTES_NEAR);
  if (r->op != op)
    *r = fnzi_wrap_route_find(op);
  return *r;
}
