/* rows.c - the table of kernels.def, and that of library.def behind it. */
#include "kernels/backends.h"
#include "schema/aten_names.h"

const fnzi_kernel fnzi_kernel_rows[FNZI_ATEN_COUNT + FNZI_LIBRARY_KERNELS] = {
#define MODE(op, accepts, memory, shape, run, mode)                                                \
  [FNZI_ATEN_##op] = {fnzi_shape_##shape, FNZI_ACCEPTS_##accepts, FNZI_MEMORY_##memory,            \
                      FNZI_MODE_##mode, FNZI_RUN_##run},
#define KERNEL(op, accepts, memory, shape, run) MODE(op, accepts, memory, shape, run, none)
#include "kernels/kernels.def"
#undef KERNEL
#define LIBRARY_KERNEL(name, accepts, memory, shape, run)                                          \
  [FNZI_ATEN_COUNT + FNZI_LIBRARY_##shape] = {fnzi_shape_##shape, FNZI_ACCEPTS_##accepts,          \
                                              FNZI_MEMORY_##memory, FNZI_MODE_none,                \
                                              FNZI_RUN_##run},
#include "kernels/library.def"
#undef LIBRARY_KERNEL
};

const fnzi_kernel *fnzi_kernel_row(const fnz_op *op) {
  uint16_t place = fnzi_op_place(fnzi_op_canonical(op));
  const fnzi_kernel *row = place == FNZI_NO_OP ? NULL : &fnzi_kernel_rows[place];
  return row && row->shape ? row : NULL;
}

bool fnz_cpu_has_kernel(const fnz_op *op) {
  static const fnzi_krn_kernels shapes = {.rows = fnzi_kernel_rows};
  const fnz_op *element = op ? fnzi_foreach_element(op) : NULL;
  return op && (fnzi_kernel_find(&shapes, op) || (element && fnzi_kernel_find(&shapes, element)));
}
