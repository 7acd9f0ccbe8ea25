/* recover.c - notes a failure of the pass and goes on after it, where all failures are to be found.
 *
 * needs   notes that list failures (provenance.h); else each failure ends the pass
 * gives   the failure in the notes, and tensors of unknown elements for the results of the node */
#include "functionalize/pass/pass.h"

fnz_status fnzi_pass_failure_note(fnzi_pass *p, const fnzi_node *node, fnz_status status) {
  fnzi_notes *notes = p->to->notes;
  bool is_refusal = status == FNZ_UNSUPPORTED || status == FNZ_BAD_INPUT;
  if (!notes || !notes->lints || !is_refusal)
    return status;
  const fnzi_failure failure = {node, *fnz_last_error(p->ctx)};
  FNZI_PUSH(p->ctx, &notes->failures, failure);
  return FNZ_OK;
}

/* The argument that result k of the operator is, as for one that writes; NULL for none. */
static fnz_tensor *returned(const fnzi_pass *p, const fnzi_node *node, uint32_t k) {
  const fnz_op *op = node->op;
  if (!op || k >= op->nreturns || node->outputs[k].tag != FNZ_ARG_VALUE)
    return NULL;
  const fnzi_param *param = fnzi_op_returned(op, &op->returns[k]);
  const fnz_arg *arg = param ? &node->args[param - op->params] : NULL;
  fnz_tensor *t = arg && arg->tag == FNZ_ARG_VALUE ? p->tensors[arg->u.value] : NULL;
  const fnz_geometry *g = p->graph->values.data[node->outputs[k].u.value].geometry;
  return t && g && fnzi_same_sizes(&t->alias->geometry, g) ? t : NULL;
}

fnz_status fnzi_pass_failure_recover(fnzi_pass *p, const fnzi_node *node, fnz_status status) {
  FNZ_TRY(fnzi_pass_failure_note(p, node, status));
  p->region = NULL;
  fnzi_wrap_release(p->wrapper);
  for (uint32_t k = 0; k < node->noutputs; k++) {
    fnz_tensor *t = returned(p, node, k);
    fnz_tensor **at = t ? &p->tensors[node->outputs[k].u.value] : NULL;
    if (t && !*at) {
      t->refs++;
      *at = t;
    }
    FNZI_EACH_ARG(each, &node->outputs[k], 1)
      if (each.arg->tag == FNZ_ARG_VALUE && !p->tensors[each.arg->u.value]) {
        /* A tensor of unknown elements for a result of the node that failed. */
        fnz_geometry plain = *p->graph->values.data[each.arg->u.value].geometry;
        const fnz_geometry *own;
        fnz_handle handle;
        uint32_t value;
        plain.symbols = NULL;
        FNZ_TRY(fnzi_intern_geometry(p->to, &plain, &own));
        FNZ_TRY(fnzi_value_add_fresh(p->to, p->into, "unknown", own, FNZI_NO_NODE, &value));
        FNZ_TRY(fnzi_rec_value(p->recorder, value, &handle));
        FNZ_TRY(fnz_tensor_wrap(p->wrapper, own, handle, &p->tensors[each.arg->u.value]));
      } else if (each.arg->tag != FNZ_ARG_VALUE && fnzi_is_reference(each.arg) && p->others)
        p->others[each.arg->u.value] = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = 1};
  }
  return FNZ_OK;
}
