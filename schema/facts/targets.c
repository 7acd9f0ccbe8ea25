/* targets.c - the rows of facts.def that say where an operator's operands may lie. */
#include "schema/facts/targets.h"

/* Its rows have the names of the operator's parameters; other forms have the same parameters in the
 * same places. */
static int param_of(const fnz_op *op, const char *name) {
  const fnz_op *twin = fnz_op_functional_twin(op);
  return name && twin ? fnzi_op_param(fnzi_op_canonical(twin), name) : -1;
}

int fnzi_own_input(const fnz_op *op, const fnzi_param *written) {
  return written->is_out ? param_of(op, fnzi_fact_of(op, 0)->own_input)
                         : (int)(written - op->params);
}

bool fnzi_takes_lazy(const fnz_op *op) {
  return FNZI_FACT_HOLDS(op, lazy);
}

/* Eager wants each element in one place but where it writes in place. */
fnzi_chooser fnzi_repeated_by(const fnz_op *op, int *param) {
  const fnzi_fact *row = fnzi_fact_of(op, 0);
  if (op->kind != FNZI_KIND_INPLACE || row->chosen.by == FNZI_CHOOSER_NONE)
    return FNZI_CHOOSER_NONE;
  *param = param_of(op, row->chosen.param);
  return row->chosen.by;
}
