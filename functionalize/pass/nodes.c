/* nodes.c - replays nodes of operators, and of arithmetic on numbers, through the wrapper.
 *
 * needs   a pass whose graph has its inputs (inputs.c)
 * keeps   the order of nodes, their source lines
 * gives   a tensor per result, which ends after the last node that uses it */
#include "functionalize/pass/pass.h"
#include "program/region_ops.h"

/* --- arguments -------------------------------------------------------------------------------- */
/* Replaces a value by its tensor, or by its number. */
static fnz_status to_tensor(fnzi_pass *p, fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_VALUE) {
    arg->u.tensor = p->tensors[arg->u.value];
    return FNZ_OK;
  }
  if (arg->tag < FNZ_ARG_SYMBOL || arg->tag > FNZ_ARG_OBJECT)
    return FNZ_OK;
  const fnz_arg *number = &p->others[arg->u.value];
  if (number->tag && !fnzi_is_reference(number)) {
    *arg = *number;
    return FNZ_OK;
  }
  return fnzi_fail(
      p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
      "argument %s is a symbolic number, a token or an object; export the program with "
      "fixed sizes",
      p->graph->values.data[arg->u.value].name);
}

/* The tensor results of a node, lists flattened. */
typedef struct results {
  const fnz_geometry **expected;
  uint64_t *values; /* UINT64_MAX for an undefined one */
  size_t count;
} results;

static fnz_status find_results(const fnzi_pass *p, const fnzi_node *node, results *r) {
  size_t count = 0;
  FNZI_EACH_ARG(each, node->outputs, node->noutputs)
    count++;
  FNZI_NEW(&p->wrapper->scratch, count, &r->expected);
  FNZI_NEW(&p->wrapper->scratch, count, &r->values);
  r->count = 0;
  FNZI_EACH_ARG(each, node->outputs, node->noutputs) {
    const fnzi_value *v =
        fnzi_is_reference(each.arg) ? &p->graph->values.data[each.arg->u.value] : NULL;
    bool is_tensor = each.arg->tag == FNZ_ARG_VALUE;
    if (each.arg->tag == FNZ_ARG_SYMBOL)
      return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                       "the result %s is a symbolic number; export the program with fixed sizes",
                       v->name);
    r->values[r->count] = is_tensor ? each.arg->u.value : UINT64_MAX;
    r->expected[r->count++] = is_tensor ? v->geometry : NULL;
  }
  return FNZ_OK;
}

/* Numbers are the recorded ones. If one of two sizes is an expression, both are the same number in
 * each run that gets past the node, which becomes a fact. The recorded one is kept, because later
 * nodes are recorded with it. */
static bool nodes_has_recorded_sizes(fnzi_wrap_alias *a, const fnz_geometry *recorded) {
  fnzi_ints *s = a->storage->wrapper->ints;
  const uint32_t rank = a->geometry.rank;
  if (fnzi_same_sizes(&a->geometry, recorded))
    return true;
  int64_t *sizes = (int64_t *)(uintptr_t)a->geometry.sizes; /* in the alias's own block */
  for (uint32_t d = 0; d < rank && rank == recorded->rank; d++) {
    const fnzi_int x = fnzi_int_size(&a->geometry, d), y = fnzi_int_size(recorded, d);
    if (!fnzi_int_same(x, y) && fnzi_int_is_number(x) && fnzi_int_is_number(y))
      return false;
    if (!fnzi_int_same(x, y))
      fnzi_int_assume_same(s, x, y);
    sizes[d] = y.bits;
  }
  return rank == recorded->rank;
}

/* Binds results to values. The wrapper's geometry must be the recorded one: every shape is derived
 * twice. */
static fnz_status bind(fnzi_pass *p, const results *r, const fnzi_wrap_request *request) {
  if (request->out.count < r->count)
    return fnzi_fail(p->ctx, FNZ_CLASS_TYPE, NULL,
                     "the node has %zu results, the operator gives %zu", r->count,
                     request->out.count);
  for (size_t i = 0; i < r->count; i++) {
    fnz_tensor *t = request->out.data[i];
    if (r->values[i] == UINT64_MAX || (!t && p->last_use[r->values[i]] == p->at))
      continue;
    if (!t || t->alias->geometry.dtype != r->expected[i]->dtype ||
        !nodes_has_recorded_sizes(t->alias, r->expected[i]))
      return fnzi_fail(p->ctx, FNZ_CLASS_TYPE, NULL,
                       "the recorded sizes or dtype of %s are not what %s gives",
                       p->graph->values.data[r->values[i]].name, request->op->name);
    t->refs++;
    p->tensors[r->values[i]] = t;
  }
  return FNZ_OK;
}

static void end_values(fnzi_pass *p, const fnz_arg *args, size_t count) {
  FNZI_EACH_ARG(each, args, count)
    if (each.arg->tag == FNZ_ARG_VALUE && p->last_use[each.arg->u.value] == p->at) {
      fnz_tensor_release(p->tensors[each.arg->u.value]);
      p->tensors[each.arg->u.value] = NULL;
    }
}

/* An unused result is released at once. */
void fnzi_pass_node_end(fnzi_pass *p) {
  const fnzi_node *node = &p->graph->nodes.data[p->at];
  end_values(p, node->args, node->nargs);
  end_values(p, node->outputs, node->noutputs);
  p->at++;
}

static fnz_status refuse_target(const fnzi_pass *p, const char *target) {
  if (strstr(target, "auto_functionalized"))
    return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s is understood in .pt2 files only; convert that file, or write the clones "
                     "and the call of the operator itself",
                     target);
  return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "there is no rule for %s; export the program without it", target);
}

/* Arithmetic on numbers that are known at run time only. */
static fnz_status replay_number(fnzi_pass *p, const fnzi_node *node) {
  fnzi_arena *scratch = &p->wrapper->scratch;
  fnzi_rec_outcome *outcomes;
  fnz_handle *handles;
  fnz_arg *args;
  FNZI_NEW(scratch, node->nargs, &args);
  FNZI_NEW(scratch, node->noutputs, &outcomes);
  FNZI_NEW(scratch, node->noutputs, &handles);
  for (uint32_t i = 0; i < node->nargs; i++) {
    args[i] = node->args[i];
    FNZ_TRY(fnzi_pass_arg_other(p, &args[i]));
  }
  for (uint32_t j = 0; j < node->noutputs; j++) {
    const fnz_arg *out = &node->outputs[j];
    if (out->tag != FNZ_ARG_SYMBOL)
      return refuse_target(p, fnzi_node_target(node));
    outcomes[j].tag = FNZ_ARG_SYMBOL;
    FNZ_TRY(
        fnzi_pass_arg_symbol(p, p->graph->values.data[out->u.value].symbol, &outcomes[j].symbol));
  }
  const fnzi_rec_call call = {.target = fnzi_node_target(node),
                              .source = node->source,
                              .args = args,
                              .names = node->u.other->arg_names,
                              .nargs = node->nargs,
                              .outcomes = outcomes,
                              .noutcomes = node->noutputs,
                              .effects = node->noutputs == 0};
  FNZ_TRY(fnzi_rec_node(p->recorder, &call, handles));
  for (uint32_t j = 0; j < node->noutputs; j++)
    p->others[node->outputs[j].u.value] = (fnz_arg){.tag = FNZ_ARG_SYMBOL, .u.value = handles[j]};
  fnzi_wrap_release(p->wrapper);
  return FNZ_OK;
}

static fnz_status replay_call(fnzi_pass *p, const fnzi_node *node) {
  results r;
  fnz_arg *args;
  /* Autocast leaves operators that write alone, but not all of their functional twins. */
  if (p->autocast && fnz_op_is_mutating(node->op) &&
      fnzi_autocast_changes(fnz_op_functional_twin(node->op)))
    return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s writes under an enabled autocast, which would cast the arguments of its "
                     "functional form; disable autocast around it",
                     node->op->name);
  p->wrapper->source = node->source;
  p->wrapper->autocast = p->autocast;
  *p->wrapper->slack += FNZI_NODES_FOR_ONE;
  p->wrapper->why = fnzi_why_node(node);
  p->wrapper->notes = p->to->notes;
  if (p->wrapper->ints)
    fnzi_ints_ask_about(p->wrapper->ints, (fnzi_ints_node){p->index, p->at});
  FNZ_TRY(find_results(p, node, &r));
  FNZ_TRY(fnzi_args_clone(&p->wrapper->scratch, node->args, node->op->nparams, node->op->nparams,
                          &args));
  FNZI_EACH_ARG(each, args, node->op->nparams)
    FNZ_TRY(to_tensor(p, fnzi_each_own(&each)));
  fnzi_wrap_request request = {
      .op = node->op, .args = args, .expected = r.expected, .nexpected = r.count};
  bool expanded = false;
  fnzi_pass_cast_args casts;
  fnz_status status = fnzi_pass_args_cast(p, &request, &casts);
  fnzi_rec_expect(p->recorder, fnz_op_functional_twin(node->op), node->outputs, node->noutputs);
  if (status == FNZ_OK)
    status = fnzi_pass_node_expand(p, &request, &expanded);
  if (status == FNZ_OK && !expanded)
    status = fnzi_wrap_dispatch(p->wrapper, &request);
  if (status == FNZ_OK)
    status = bind(p, &r, &request);
  fnzi_pass_args_release(&casts);
  fnzi_wrap_request_end(&request);
  fnzi_wrap_release(p->wrapper);
  return status;
}

fnz_status fnzi_pass_node_replay(fnzi_pass *p, const fnzi_node *node) {
  if (node->op)
    return replay_call(p, node);
  p->wrapper->why = fnzi_why_node(node);
  return fnzi_is_hop(node) || !p->others ? refuse_target(p, fnzi_node_target(node))
                                         : replay_number(p, node);
}
