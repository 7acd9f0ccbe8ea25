/* write_slicewise.c - an operator that writes, applied to slices of its target: to one after the
 * other, in the order in which eager writes memory that it also reads, or to the first alone, where
 * all slices are the same memory.
 *
 * needs   a dimension of the target
 * gives   parts: the same call on tensors that are shorter there */
#include "functionalize/wrapper/write_rules.h"

fnz_status fnzi_wrap_check_slack(fnz_wrapper *wrapper, const fnz_op *op) {
  if (!wrapper->slack || *wrapper->slack >= 0)
    return FNZ_OK;
  return fnzi_fail_for(
      wrapper->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_LIMIT, NULL,
      "%s writes a tensor that shows elements in several places, one slice after the "
      "other, and the program would become more than %d nodes for each of its own and "
      "%zu; write a clone() of the tensor, or fewer slices",
      op->name, FNZI_NODES_FOR_ONE, wrapper->ctx->limits.slice_nodes);
}

fnz_status fnzi_wrap_slice_arg(const fnz_geometry *target, uint32_t dim, int64_t k, fnz_arg *arg,
                               fnzi_wrap_request *holder) {
  const fnz_geometry *g = fnzi_wrap_geometry(arg->u.tensor);
  uint32_t missing = target->rank - g->rank;
  if (g->rank > target->rank || dim < missing || g->sizes[dim - missing] == 1)
    return FNZ_OK;
  const fnz_arg args[] = {*arg, fnzi_arg_int(dim - missing), fnzi_arg_int(k), fnzi_arg_int(k + 1),
                          fnzi_arg_int(1)};
  return fnzi_wrap_open_window(arg->u.tensor, FNZI_STEP_SLICE, args, 5, holder, &arg->u.tensor);
}

static fnz_status slicewise_copy_args(fnz_wrapper *wrapper, const fnzi_wrap_request *r,
                                      fnz_arg **out) {
  FNZI_NEW(&wrapper->scratch, r->op->nparams, out);
  memcpy(*out, r->args, r->op->nparams * sizeof **out);
  return FNZ_OK;
}

static fnz_status make_slice(fnz_wrapper *wrapper, const fnzi_wrap_request *whole, size_t k,
                             fnzi_wrap_request *part) {
  fnz_arg *args;
  FNZ_TRY(fnzi_wrap_check_slack(wrapper, whole->op));
  FNZ_TRY(slicewise_copy_args(wrapper, whole, &args));
  for (size_t i = 0; i < whole->op->nparams; i++)
    if (args[i].tag == FNZ_ARG_VALUE)
      FNZ_TRY(
          fnzi_wrap_slice_arg(whole->parts.target, whole->parts.dim, (int64_t)k, &args[i], part));
  part->args = args;
  part->is_slice = true;
  return FNZ_OK;
}

static fnz_status make_first_slice(fnz_wrapper *wrapper, const fnzi_wrap_request *whole, size_t k,
                                   fnzi_wrap_request *part) {
  fnz_arg *args;
  FNZ_TRY(slicewise_copy_args(wrapper, whole, &args));
  FNZ_TRY(fnzi_wrap_slice_arg(whole->parts.target, whole->parts.dim, (int64_t)k, &args[0], part));
  part->args = args;
  part->is_slice = true;
  return FNZ_OK;
}

/* A slice is shorter, so that this ends even if slices overlap again: along a dimension of size 1
 * nothing is read or written before or after anything else. */
fnz_status fnzi_wrap_write_slices(fnz_wrapper *wrapper, fnzi_wrap_request *r, fnz_tensor *target,
                                  int dim) {
  const fnz_geometry *g = fnzi_wrap_geometry(target);
  r->parts = (fnzi_wrap_parts){.count = (size_t)g->sizes[dim],
                               .make = make_slice,
                               .op = r->op,
                               .target = g,
                               .dim = (uint32_t)dim};
  return fnzi_wrap_give(wrapper, r, target);
}

fnz_status fnzi_wrap_write_first_slice(fnz_wrapper *wrapper, fnzi_wrap_request *r,
                                       fnz_tensor *target, int dim) {
  r->parts = (fnzi_wrap_parts){.count = 1,
                               .make = make_first_slice,
                               .op = r->op,
                               .target = fnzi_wrap_geometry(target),
                               .dim = (uint32_t)dim};
  return fnzi_wrap_give(wrapper, r, target);
}
