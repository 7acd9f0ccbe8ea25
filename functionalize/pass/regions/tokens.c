/* tokens.c - records a node of with_effects, which keeps an operator in order by a token.
 *
 * needs   an operator that neither writes nor returns views or lists
 * keeps   the node, even if its results are not used, and the order that tokens give
 * gives   the same node over the current values of its tensors */
#include "functionalize/pass/regions/regions.h"

/* Replaces an argument by its counterpart in the result: a tensor by its current value. */
static fnz_status effect_arg(const fnzi_pass *p, fnz_arg *arg) {
  fnzi_value_ref *value;
  if (arg->tag != FNZ_ARG_VALUE)
    return fnzi_pass_arg_other(p, arg);
  FNZ_TRY(fnzi_wrap_read_tensor(p->tensors[arg->u.value], &value));
  arg->u.value = value->handle;
  return FNZ_OK;
}

static fnz_status bind_effect(fnzi_pass *p, const fnzi_hop *hop, const fnz_handle *handles) {
  for (uint32_t j = 0; j < hop->results.count; j++) {
    const fnz_arg *a = &hop->results.args[j];
    if (a->tag == FNZ_ARG_VALUE) {
      FNZ_TRY(fnzi_wrap_value_take(p->wrapper, handles[j]));
      FNZ_TRY(fnzi_wrap_tensor_new(p->wrapper, p->graph->values.data[a->u.value].geometry,
                                   p->wrapper->fresh.data[p->wrapper->fresh.count - 1],
                                   &p->tensors[a->u.value]));
    } else if (fnzi_is_reference(a))
      p->others[a->u.value] = (fnz_arg){.tag = a->tag, .u.value = handles[j]};
  }
  return FNZ_OK;
}

fnz_status fnzi_region_token_replay(fnzi_pass *p, const fnzi_hop *hop) {
  const fnz_op *op = hop->op;
  fnzi_rec_outcome *outcomes;
  fnz_handle *handles;
  fnz_arg *args;
  if (!fnzi_hop_is_plain_effect(hop))
    return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s keeps %s in order, which writes an argument or returns a view or a list; "
                     "an operator with an effect may do neither",
                     fnzi_node_target(hop->node), hop->op->name);
  p->wrapper->source = hop->node->source;
  FNZ_TRY(fnzi_op_adopt(p->to, &op));
  FNZ_TRY(fnzi_args_clone(&p->wrapper->scratch, hop->node->args, hop->node->nargs, hop->node->nargs,
                          &args));
  FNZI_EACH_ARG(each, args, hop->node->nargs)
    FNZ_TRY(effect_arg(p, fnzi_each_own(&each)));
  FNZI_NEW(&p->wrapper->scratch, hop->results.count, &outcomes);
  FNZI_NEW(&p->wrapper->scratch, hop->results.count, &handles);
  for (uint32_t j = 0; j < hop->results.count; j++)
    FNZ_TRY(fnzi_region_result_outcome(p, &hop->results.args[j], &outcomes[j]));
  const fnzi_rec_call call = {.target = fnzi_node_target(hop->node),
                              .source = hop->node->source,
                              .args = args,
                              .names = hop->node->u.other->arg_names,
                              .nargs = hop->node->nargs,
                              .outcomes = outcomes,
                              .noutcomes = hop->results.count,
                              .in_list = hop->results.args != hop->node->outputs,
                              .effects = true};
  FNZ_TRY(fnzi_rec_node(p->recorder, &call, handles));
  FNZ_TRY(bind_effect(p, hop, handles));
  fnzi_wrap_release(p->wrapper);
  return FNZ_OK;
}
