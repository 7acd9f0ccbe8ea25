/* write_slicewise.c - an operator that writes, applied to slices of its target: to one after the
 * other, as eager goes over memory that is also read, or to the first alone, where all lie in one
 * place.
 *
 * needs   a dimension of the target
 * gives   the same request on tensors that are shorter there */
#include "functionalize/wrapper/write_rules.h"

/* The argument's slice k along dimension `dim` of the target, which stays as one of size 1: without
 * dimensions an operand would count less for the dtype. Itself where it is broadcast there. The
 * caller releases the new tensor. */
static fnz_status slice_arg(fnz_world *world, const fnz_geometry *target, uint32_t dim, int64_t k,
                            fnz_arg *arg, fnzi_request *holder) {
  const fnz_geometry *g = fnzi_geometry(arg->u.tensor);
  uint32_t missing = target->rank - g->rank;
  if (g->rank > target->rank || dim < missing || g->sizes[dim - missing] == 1)
    return FNZ_OK;
  const fnz_op *slice = fnzi_op_of_step(FNZI_STEP_SLICE);
  const fnz_arg args[] = {*arg, fnzi_arg_int(dim - missing), fnzi_arg_int(k), fnzi_arg_int(k + 1),
                          fnzi_arg_int(1)};
  fnzi_request view = {.op = slice, .args = args};
  fnz_status status = fnzi_dispatch(world, &view);
  if (status == FNZ_OK) {
    arg->u.tensor = view.out.data[0];
    status = fnzi_give(world, holder, view.out.data[0]);
  }
  fnzi_request_end(&view);
  return status;
}

fnz_status fnzi_check_slack(fnz_world *world, const fnz_op *op) {
  if (!world->slack || *world->slack >= 0)
    return FNZ_OK;
  return fnzi_fail_for(
      world->ctx, FNZI_REASON_NO_WAY, FNZ_CLASS_LIMIT, NULL,
      "%s writes a tensor that shows elements in several places, one slice after the "
      "other, and the program would become more than %d nodes for each of its own and "
      "%zu; write a clone() of the tensor, or fewer slices",
      op->name, FNZI_NODES_FOR_ONE, world->ctx->limits.slice_nodes);
}

static fnz_status one_slice(fnz_world *world, const fnzi_request *r, const fnz_geometry *target,
                            uint32_t dim, int64_t k) {
  fnzi_request views = {.op = r->op}, slice = {.op = r->op, .is_slice = true};
  fnz_arg *args;
  fnz_status status = fnzi_check_slack(world, r->op);
  FNZ_TRY(status);
  FNZI_NEW(&world->scratch, r->op->nparams, &args);
  memcpy(args, r->args, r->op->nparams * sizeof *args);
  for (size_t i = 0; i < r->op->nparams && status == FNZ_OK; i++)
    if (args[i].tag == FNZ_ARG_VALUE)
      status = slice_arg(world, target, dim, k, &args[i], &views);
  slice.args = args;
  if (status == FNZ_OK)
    status = fnzi_dispatch(world, &slice);
  fnzi_request_end(&slice);
  fnzi_request_end(&views);
  return status;
}

/* A slice is shorter, so that this ends even if slices overlap again: along a dimension of size 1
 * nothing is read or written before or after anything else. */
fnz_status fnzi_slice_after_slice(fnz_world *world, fnzi_request *r, fnz_tensor *target, int dim) {
  const fnz_geometry *g = fnzi_geometry(target);
  for (int64_t k = 0; k < g->sizes[dim]; k++)
    FNZ_TRY(one_slice(world, r, g, (uint32_t)dim, k));
  return fnzi_give(world, r, target);
}

fnz_status fnzi_in_first_slice(fnz_world *world, fnzi_request *r, fnz_tensor *target, int dim) {
  const fnz_geometry *g = fnzi_geometry(target);
  fnzi_request views = {.op = r->op}, first = {.op = r->op, .is_slice = true};
  fnz_arg *args;
  FNZI_NEW(&world->scratch, r->op->nparams, &args);
  memcpy(args, r->args, r->op->nparams * sizeof *args);
  first.args = args;
  fnz_status status = slice_arg(world, g, (uint32_t)dim, 0, &args[0], &views);
  if (status == FNZ_OK)
    status = fnzi_dispatch(world, &first);
  fnzi_request_end(&first);
  fnzi_request_end(&views);
  return status == FNZ_OK ? fnzi_give(world, r, target) : status;
}
