/* describe.c - how a GPU computes an operator, in words, for its usual calls. A plan shows it for
 * each call. */
#include "engine/values/values.h"
#include "kernels/backends.h"

/* Operators without a row are windows, or made of others, as on the CPU. */
const char *fnzi_val_describe(const fnz_op *op, bool is_window) {
  static const fnzi_krn_kernels shapes = {.rows = fnzi_kernel_rows};
  const bool is_custom = fnzi_op_is_custom(op); /* then it may be a library's, or a collective */
  const fnzi_kernel *row = is_custom ? fnzi_kernel_find(&shapes, op) : fnzi_kernel_row(op);
  if (!row)
    return is_window ? "a view" : "by parts";
  if (row->run == FNZI_RUN_decomposed)
    return "by parts";
  if (fnzi_kernel_facts(row)->gpu != FNZI_GPU_cpu)
    return "by a way of its own";
  if (row->memory == FNZI_MEMORY_VIEW && !is_custom)
    return "a view";
  return fnzi_kernel_facts(row)->tile == FNZI_TILE_NONE ? "by the CPU" : "element by element";
}
