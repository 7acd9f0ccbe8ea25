/* registry.c - finds the user's kernel that serves an operator. */
#include "kernels/core/machine.h"

/* Returns one operator for all variants of it: the functional one. */
const fnz_op *fnzi_krn_op_group(const fnz_op *op) {
  const fnz_op *functional = fnz_op_functional_twin(op);
  return functional ? functional : op;
}

fnzi_krn_registered *fnzi_krn_registered_same(const fnzi_krn_machine *m, const fnz_op *op) {
  for (size_t i = 0; i < m->registered.count; i++)
    if (m->registered.data[i]->kernel.op == op)
      return m->registered.data[i];
  return NULL;
}

fnzi_krn_registered *fnzi_krn_registered_structured(const fnzi_krn_machine *m, const fnz_op *op) {
  for (size_t i = 0; i < m->registered.count; i++) {
    fnzi_krn_registered *r = m->registered.data[i];
    if (r->kernel.meta && fnzi_krn_op_group(r->kernel.op) == fnzi_krn_op_group(op))
      return r;
  }
  return NULL;
}

const fnzi_krn_registered *fnzi_krn_registered_for(const fnzi_krn_machine *m, const fnz_op *op) {
  const fnzi_krn_registered *same = fnzi_krn_registered_same(m, op);
  return same ? same : fnzi_krn_registered_structured(m, op);
}
