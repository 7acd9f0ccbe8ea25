/* in_order.c - results put into a target that shows an element in several places, where eager
 * computes all of them before it writes the first one: the last one that goes to a place stays.
 *
 * needs   the order of eager's loop over the target
 * gives   one as_strided_scatter into the storage, which writes its window in row-major order; the
 *         target's dimensions are put in the order of the loop for that
 * keeps   no value at the target, which would show what was overwritten */
#include "functionalize/sync.h"
#include "functionalize/writes.h"

/* The window and its value with the outermost dimension of the loop first. */
static fnz_status turn(fnz_world *world, const fnz_geometry *g, const uint32_t *order,
                       fnz_geometry *turned, fnzi_held **value) {
  int64_t *dims, *strides, *sizes;
  bool same = true;
  fnz_arg args[2] = {fnzi_arg_value((*value)->handle)};
  const fnz_geometry *result;
  FNZI_NEW(&world->scratch, g->rank, &dims);
  FNZI_NEW(&world->scratch, g->rank, &sizes);
  FNZI_NEW(&world->scratch, g->rank, &strides);
  for (uint32_t d = 0; d < g->rank; d++) {
    dims[d] = order[d];
    sizes[d] = g->sizes[order[d]];
    strides[d] = g->strides[order[d]];
    same = same && order[d] == d;
  }
  *turned = *g;
  turned->sizes = sizes;
  turned->strides = strides;
  if (same)
    return FNZ_OK;
  FNZ_TRY(fnzi_arg_ints(&world->scratch, dims, g->rank, &args[1]));
  FNZ_TRY(fnzi_result_like(world, turned, (*value)->geometry->dtype, &result));
  return fnzi_emit_one(world, FNZI_EMIT_PERMUTE_COPY, args, 2, result, value);
}

fnz_status fnzi_write_in_order(fnz_world *world, const fnz_op *op, fnz_tensor *target,
                               fnzi_held *value, const uint32_t *order) {
  fnzi_alias *window;
  fnz_geometry turned;
  FNZ_TRY(fnzi_check_slack(world, op));
  FNZ_TRY(turn(world, fnzi_geometry(target), order, &turned, &value));
  FNZ_TRY(fnzi_alias_window(world, target->node->storage->root, &turned, &window));
  fnz_status status = fnzi_write(window, value);
  if (status == FNZ_OK && window->dirty)
    status = fnzi_bring_up(world, window);
  fnzi_alias_release(window);
  return status;
}
