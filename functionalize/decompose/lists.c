/* lists.c - operators on lists of tensors, one operator for each tensor. */
#include "functionalize/decompose/ways.h"

enum { MOST_PARAMS = 8 };

/* Argument `i` of the operator for the tensors at place k. */
static fnz_arg item_of(const fnzi_dec_steps *s, size_t i, size_t k) {
  const fnz_arg *arg = &s->call->args[i];
  if (arg->tag != FNZ_ARG_LIST)
    return *arg;
  return k < arg->count ? arg->u.list[k] : NONE;
}

TAKE_APART(each) {
  const fnz_op *op = s->call->op, *element = fnzi_foreach_element(op);
  size_t count = s->call->args[0].tag == FNZ_ARG_LIST ? s->call->args[0].count : 0;
  fnz_arg args[MOST_PARAMS];
  if (!element || op->nparams > MOST_PARAMS || op->nparams > element->nparams) {
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "it has no form for one tensor");
    return;
  }
  for (size_t k = 0; k < count && s->status == FNZ_OK; k++) {
    for (size_t i = 0; i < op->nparams; i++)
      args[i] = item_of(s, i, k);
    GIVE(fnzi_dec_step(s, fnzi_op_place(element), args, op->nparams));
  }
}
