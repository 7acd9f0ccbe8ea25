/* write_foreach.c - foreach operators: one node for the whole list where that means the same as one
 * element after the other, else element after element. */
#include "functionalize/wrapper/interval_index.h"
#include "functionalize/wrapper/write_rules.h"

/* Arguments of the element operator for element k: items of lists, everything else as it is. */
static fnz_status element_args(fnz_wrapper *wrapper, const fnzi_wrap_request *r,
                               const fnz_op *element, size_t k, fnz_arg **out) {
  FNZI_NEW(&wrapper->scratch, element->nparams, out);
  for (size_t i = 0; i < element->nparams && i < r->op->nparams; i++) {
    const fnz_arg *a = &r->args[i];
    bool is_list = r->op->params[i].is_list && a->tag == FNZ_ARG_LIST;
    if (is_list && k >= a->count)
      return fnzi_fail(wrapper->ctx, FNZ_CLASS_TYPE, NULL,
                       "%s: list `%s` has %u items, self has more", r->op->name,
                       r->op->params[i].name, a->count);
    (*out)[i] = is_list ? a->u.list[k] : *a;
  }
  return FNZ_OK;
}

static fnz_status make_element(fnz_wrapper *wrapper, const fnzi_wrap_request *whole, size_t k,
                               fnzi_wrap_request *part) {
  fnz_arg *args;
  FNZ_TRY(element_args(wrapper, whole, part->op, k, &args));
  part->args = args;
  return FNZ_OK;
}

/* One node for the whole list means the same as one per element when no written element shares
 * memory with another. */
static fnz_status is_independent(fnz_wrapper *wrapper, const fnzi_wrap_request *r, bool *out) {
  fnz_tensor **all;
  fnzi_wrap_interval_index index;
  size_t count, written = r->args[0].count;
  FNZ_TRY(fnzi_wrap_tensor_args(wrapper, r->args, r->op->nparams, &all, &count));
  FNZ_TRY(fnzi_wrap_interval_index_build(wrapper, all, written, all + written, count - written,
                                         &index));
  *out = true;
  for (size_t i = 0; i < written && *out; i++) {
    size_t k, end, own = index.interval_of[i];
    fnzi_wrap_interval_index_near(&index, own, &k, &end);
    for (; k < end && *out; k++) {
      const fnzi_wrap_interval *m = &index.intervals[k];
      bool is_another = k == own ? m->written + m->read > 1 : m->first > i;
      *out = !is_another || !fnzi_wrap_overlap(all[i], m->tensor);
    }
  }
  return FNZ_OK;
}

fnz_status fnzi_wrap_write_foreach(fnz_wrapper *wrapper, fnzi_wrap_request *r,
                                   const fnzi_wrap_route *route) {
  const fnz_op *element = fnzi_foreach_element(r->op);
  const fnz_op *functional = fnzi_op_by_index(element->functional);
  const fnz_op *inplace =
      element->kind == FNZI_KIND_INPLACE ? element : fnzi_op_by_index(element->inplace);
  /* maximum has no in-place form: _foreach_maximum_ applies clamp_min_ to each item. */
  bool together = r->op->functional != FNZI_NO_OP && functional &&
                  fnzi_foreach_element(fnzi_op_by_index(r->op->functional)) == functional &&
                  fnzi_mutation_find(inplace ? inplace : element) == FNZI_MUTATION_TWIN;
  if (together)
    FNZ_TRY(is_independent(wrapper, r, &together));
  if (together) {
    /* Results must have the dtypes of their targets; else each element is cast on its own. */
    together = true;
    for (size_t k = 0; k < r->args[0].count && together; k++) {
      fnz_arg *args;
      FNZ_TRY(element_args(wrapper, r, functional, k, &args));
      together = fnzi_op_result_dtype(functional, args, functional->nparams, fnzi_wrap_arg_geometry,
                                      NULL) == fnzi_wrap_geometry(args[0].u.tensor)->dtype;
    }
  }
  if (together)
    return fnzi_wrap_write_twin(wrapper, r, route);
  if (!inplace)
    return fnzi_fail(wrapper->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s: there is no in-place operator for one element", r->op->name);
  r->parts = (fnzi_wrap_parts){.count = r->args[0].count, .make = make_element, .op = inplace};
  return FNZ_OK;
}
