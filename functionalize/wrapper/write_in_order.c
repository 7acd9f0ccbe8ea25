/* write_in_order.c - a write to a target that contains an element in several places. Eager computes
 * all results before it writes the first one, so the last result for a place stays.
 *
 * needs   the order of eager's loop over the target
 * keeps   no value at the target, which would show overwritten results
 * gives   one as_strided_scatter into the storage, which writes in the order of its loop; if
 *         eager's order differs, the dimensions are permuted first */
#include "functionalize/wrapper/sync.h"
#include "functionalize/wrapper/write_rules.h"

/* as_strided_scatter with this value writes the window in the given order. */
static bool writes_in_order(const fnz_geometry *window, const fnz_geometry *value,
                            const uint32_t *order) {
  uint32_t found[FNZ_MAX_RANK];
  fnzi_loop_order(window, &value, 1, found);
  for (uint32_t d = 0; d < window->rank; d++)
    if (found[d] != (order ? order[d] : d))
      return false;
  return true;
}

/* The window and its value with the outermost dimension of the loop first. */
static fnz_status permute(fnz_wrapper *wrapper, const fnz_geometry *g, const uint32_t *order,
                          fnz_geometry *permuted, fnzi_value_ref **value, bool *possible) {
  int64_t *dims, *strides, *sizes;
  fnz_arg args[2] = {fnzi_arg_value((*value)->handle)};
  const fnz_geometry *result;
  *permuted = *g;
  *possible = true;
  if (writes_in_order(g, (*value)->geometry, order))
    return FNZ_OK;
  FNZI_NEW(&wrapper->scratch, g->rank, &dims);
  FNZI_NEW(&wrapper->scratch, g->rank, &sizes);
  FNZI_NEW(&wrapper->scratch, g->rank, &strides);
  for (uint32_t d = 0; d < g->rank; d++) {
    dims[d] = order[d];
    sizes[d] = g->sizes[order[d]];
    strides[d] = g->strides[order[d]];
  }
  permuted->sizes = sizes;
  permuted->strides = strides;
  FNZ_TRY(fnzi_contiguous_like(wrapper->ints, &wrapper->scratch, permuted, &result));
  *possible = writes_in_order(permuted, result, NULL);
  if (!*possible)
    return FNZ_OK;
  FNZ_TRY(fnzi_arg_ints(&wrapper->scratch, dims, g->rank, &args[1]));
  return fnzi_wrap_emit_one(wrapper, FNZI_EMIT_PERMUTE_COPY, args, 2, result, value);
}

static fnz_status copy_slice(fnz_wrapper *wrapper, const fnz_op *op, fnz_tensor *target,
                             fnz_tensor *source, uint32_t dim, int64_t k) {
  fnzi_wrap_request holder = {.op = op};
  fnz_arg args[2] = {{.tag = FNZ_ARG_VALUE, .u.tensor = target},
                     {.tag = FNZ_ARG_VALUE, .u.tensor = source}};
  FNZ_TRY(fnzi_wrap_check_slack(wrapper, op));
  fnzi_value_ref *value;
  fnz_status status = FNZ_OK;
  for (int i = 0; i < 2 && status == FNZ_OK; i++)
    status = fnzi_wrap_slice_arg(fnzi_wrap_geometry(target), dim, k, &args[i], &holder);
  if (status == FNZ_OK)
    status = fnzi_wrap_read_tensor(args[1].u.tensor, &value);
  if (status == FNZ_OK)
    status = fnzi_wrap_write(args[0].u.tensor->alias, value);
  fnzi_wrap_request_end(&holder);
  return status;
}

/* No scatter has this order: the inner dimension is the longer one of two with the same strides.
 * Writes the outermost dimension's slices one after the other, if these do not overlap themselves.
 */
static fnz_status copy_slices(fnz_wrapper *wrapper, const fnz_op *op, fnz_tensor *target,
                              fnzi_value_ref *value, const uint32_t *order) {
  fnzi_wrap_request holder = {.op = op};
  fnz_tensor *source;
  fnz_geometry slice = *fnzi_wrap_geometry(target);
  int64_t sizes[FNZ_MAX_RANK];
  uint32_t dim = 0;
  while (dim + 1 < slice.rank && slice.sizes[order[dim]] == 1)
    dim++;
  dim = order[dim];
  memcpy(sizes, slice.sizes, slice.rank * sizeof *sizes);
  sizes[dim] = 1;
  slice.sizes = sizes;
  if (fnzi_oracle_relate_self(wrapper->ints, &slice, FNZI_MUCH_WORK) != FNZI_DISJOINT)
    return fnzi_fail_for(
        wrapper->ctx, FNZI_REASON_NO_ROUTE, FNZ_CLASS_OVERLAP, NULL,
        "%s writes a tensor whose elements share memory with each other, in an order "
        "that neither a scatter has nor slices of it; clone() it first",
        op->name);
  fnz_status status = fnzi_wrap_hold_fresh(wrapper, &holder, value, &source);
  for (int64_t k = 0; k < fnzi_wrap_geometry(target)->sizes[dim] && status == FNZ_OK; k++)
    status = copy_slice(wrapper, op, target, source, dim, k);
  fnzi_wrap_request_end(&holder);
  return status;
}

fnz_status fnzi_wrap_write_in_order(fnz_wrapper *wrapper, const fnz_op *op, fnz_tensor *target,
                                    fnzi_value_ref *value, const uint32_t *order) {
  fnzi_wrap_alias *window;
  fnz_geometry permuted;
  bool possible;
  if (target->alias->storage->root->repeats)
    return fnzi_wrap_refuse_repeating_root(wrapper, op->name);
  FNZ_TRY(fnzi_wrap_check_slack(wrapper, op));
  FNZ_TRY(permute(wrapper, fnzi_wrap_geometry(target), order, &permuted, &value, &possible));
  if (!possible)
    return copy_slices(wrapper, op, target, value, order);
  FNZ_TRY(fnzi_wrap_alias_window(wrapper, target->alias->storage->root, &permuted, &window));
  fnz_status status = fnzi_wrap_write(window, value);
  if (status == FNZ_OK && window->dirty)
    status = fnzi_wrap_commit(wrapper, window);
  fnzi_wrap_alias_release(window);
  return status;
}
