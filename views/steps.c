/* steps.c - the rows of steps.h as indices in the operator table, resolved when fnz is built. */
#include "views/steps.h"

#include "schema/aten_names.h"

const fnz_op *fnzi_op_of_step(fnzi_step_op step) {
  static const uint16_t indices[] = {
#define PLACE(id, op) FNZI_ATEN_##op,
      FNZI_STEP_ROWS(PLACE)
#undef PLACE
  };
  return &fnzi_ops[indices[step]];
}

const fnz_op *fnzi_emitted_op(fnzi_emit_op op) {
  static const uint16_t indices[] = {
#define PLACE(id, op) FNZI_ATEN_##op,
      FNZI_EMIT_ROWS(PLACE)
#undef PLACE
          FNZI_NO_OP};
  return fnzi_op_by_index(indices[op]);
}
