/* names.c - operators that become another one, with the same arguments: aliases, and the SAME rows
 * of core.def. */
#include "functionalize/decompose/decompose.h"
#include "functionalize/decompose/ways.h"

static const uint16_t names[][2] = {
#define WAY(op, function)
#define SAME(op, other) {FNZI_ATEN_##op, FNZI_ATEN_##other},
#include "functionalize/decompose/core.def"
#undef WAY
#undef SAME
};

const fnz_op *fnzi_dcm_other_name(const fnz_op *op) {
  const uint16_t place = fnzi_op_place(op);
  if (fnzi_op_canonical(op) != op)
    return fnzi_op_canonical(op);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i][0] == place)
      return &fnzi_ops[names[i][1]];
  return NULL;
}

TAKE_APART(same) {
  const fnz_op *other = fnzi_dcm_other_name(s->call->op);
  if (other)
    GIVE(fnzi_dec_step(s, fnzi_op_place(other), s->call->args, s->call->op->nparams));
}

/* Applies the operator to each item of its lists; scalars and other arguments stay. */
TAKE_APART(each) {
  const fnz_op *op = s->call->op, *element = fnzi_foreach_element(op);
  uint16_t place = element ? fnzi_op_place(element) : FNZI_NO_OP;
  if (place == FNZI_NO_OP)
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "there is no operator on one tensor that it is of");
  for (size_t i = 0; i < fnzi_dec_given_count(s, op->params[0].name); i++) {
    fnz_arg args[FNZI_DCM_MOST_ARGS];
    size_t count = op->nparams < FNZI_DCM_MOST_ARGS ? op->nparams : FNZI_DCM_MOST_ARGS;
    for (size_t k = 0; k < count; k++) {
      const fnz_arg *arg = &s->call->args[k];
      args[k] = op->params[k].is_list && arg->tag == FNZ_ARG_LIST && i < arg->count ? arg->u.list[i]
                                                                                    : *arg;
    }
    GIVE(fnzi_dec_step(s, place, args,
                       element && element->nparams < count ? element->nparams : count));
  }
}

/* The check of types has compared the dtype, and memory of other devices or layouts is refused.
 * Sizes may differ at other choices of symbols: a claim of them stays. */
TAKE_APART(metadata) {
  const fnz_arg sizes = AS_GIVEN("size"), strides = AS_GIVEN("stride");
  if (fnzi_dcm_is_given(&sizes) || fnzi_dcm_is_given(&strides))
    fnzi_dcm_nothing_to_mend(s);
}
