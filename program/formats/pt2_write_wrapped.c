/* pt2_write_wrapped.c - functional forms that fnz derives of custom operators, as PyTorch says
 * them.
 *
 *   ns::f_functional(x, y)           auto_functionalized(ns::f, x=x, y=y)
 *   ns::f_on_bases([b], [0, ...])    auto_functionalized_v2(ns::f, _all_bases=[b], _x_base_index=0,
 *                                    _x_size=..., _x_stride=..., _x_storage_offset=...)
 *
 * Both give the results of the operator, None if it has none, and then the new values: of the
 * written arguments in the order of the schema, or of the bases. */
#include "program/formats/pt2_write.h"
#include "schema/twins.h"

const fnz_op *fnzi_pt2_wrapped(const fnz_op *op) {
  if (!op || !fnzi_op_is_derived(op))
    return NULL;
  const fnz_op *on_bases = fnzi_op_of_bases(op), *writes = fnz_op_member(op, FNZ_MEMBER_MUTABLE);
  return on_bases ? on_bases : writes ? writes : fnz_op_member(op, FNZ_MEMBER_INPLACE);
}

const char *fnzi_pt2_wrapper_of(const fnz_op *op) {
  if (!fnzi_pt2_wrapped(op))
    return NULL;
  return fnzi_op_of_bases(op) ? "higher_order.auto_functionalized_v2"
                              : "higher_order.auto_functionalized";
}

/* PyTorch wraps operators only whose results are tensors of new memory, one by one. */
fnz_status fnzi_pt2_check_wrapped(const fnzi_pt2_out *o, const fnz_op *op) {
  const fnz_op *writes = fnzi_pt2_wrapped(op);
  const char *why = op && fnzi_op_is_derived(op) && !writes ? "it is not declared" : NULL;
  for (uint32_t i = 0; writes && i < writes->nreturns; i++) {
    const fnzi_param *r = &writes->returns[i];
    if (r->alias)
      why = "it returns what it writes";
    else if (r->type != FNZI_TYPE_TENSOR || r->is_list || r->optional)
      why = "it returns something else than a tensor";
  }
  if (!why)
    return FNZ_OK;
  return fnzi_fail(o->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "PyTorch does not wrap %s, as %s, and has no functional form of it; declare one "
                   "there and here, %s",
                   (writes ? writes : op)->name, why, op->schema);
}

/* --- arguments -------------------------------------------------------------------------------- */
typedef struct keywords {
  fnzi_pt2_out *o;
  fnzi_json_out *w;
  uint32_t graph;
} keywords;

/* "_x_size" */
static fnz_status put_detail(const keywords *k, const char *tensor, const char *what, fnz_arg arg) {
  const char *name;
  FNZ_TRY(fnzi_arena_format(&k->o->arena, &name, "_%s_%s", tensor, what));
  static const fnzi_param ints = {.name = "size", .type = FNZI_TYPE_INT, .is_list = true};
  const fnzi_pt2_input in = {name, arg, arg.tag == FNZ_ARG_LIST ? &ints : NULL, FNZI_PT2_KEYWORD};
  return fnzi_pt2_put_input(k->o, k->w, k->graph, &in);
}

static fnz_arg some_of(const fnz_arg *numbers, uint32_t count) {
  return (fnz_arg){.tag = FNZ_ARG_LIST, .count = count, .u.list = (fnz_arg *)(uintptr_t)numbers};
}

static fnz_status bad_window(const keywords *k, const char *tensor) {
  return fnzi_fail(k->o->ctx, FNZ_CLASS_TYPE, tensor, "these numbers are no window of a base");
}

/* One window from *at on; *at moves behind it. */
static fnz_status put_window(const keywords *k, const char *tensor, const fnz_arg *list,
                             uint32_t *at) {
  const fnz_arg *n = &list->u.list[*at];
  uint32_t left = list->count - *at;
  if (left == 0 || n[0].tag != FNZ_ARG_INT)
    return bad_window(k, tensor);
  *at += 1;
  if (n[0].u.i < 0)
    return put_detail(k, tensor, "base_index", (fnz_arg){.tag = FNZ_ARG_NONE});
  if (left < 3 || n[1].tag != FNZ_ARG_INT || n[1].u.i < 0 || n[1].u.i > FNZ_MAX_RANK ||
      left < 3 + 2 * (uint32_t)n[1].u.i)
    return bad_window(k, tensor);
  uint32_t rank = (uint32_t)n[1].u.i;
  *at += 2 + 2 * rank;
  FNZ_TRY(put_detail(k, tensor, "base_index", n[0]));
  FNZ_TRY(put_detail(k, tensor, "size", some_of(n + 3, rank)));
  FNZ_TRY(put_detail(k, tensor, "stride", some_of(n + 3 + rank, rank)));
  return put_detail(k, tensor, "storage_offset", n[2]);
}

static fnz_status put_windows(const keywords *k, const fnzi_param *written, const fnz_arg *list) {
  uint32_t at = 0;
  const char *name;
  if (list->tag != FNZ_ARG_LIST)
    return bad_window(k, written->name);
  if (!written->is_list)
    return put_window(k, written->name, list, &at);
  if (list->count == 0 || list->u.list[0].tag != FNZ_ARG_INT)
    return bad_window(k, written->name);
  const int64_t length = list->u.list[at++].u.i;
  FNZ_TRY(put_detail(k, written->name, "length",
                     length < 0 ? (fnz_arg){.tag = FNZ_ARG_NONE} : fnzi_arg_int(length)));
  for (int64_t i = 0; i < length; i++) {
    FNZ_TRY(fnzi_arena_format(&k->o->arena, &name, "%s_%lld", written->name, (long long)i));
    FNZ_TRY(put_window(k, name, list, &at));
  }
  return FNZ_OK;
}

fnz_status fnzi_pt2_put_wrapped_inputs(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph,
                                       const fnzi_node *n) {
  const fnz_op *writes = fnzi_pt2_wrapped(n->op);
  const keywords k = {o, w, graph};
  const fnzi_pt2_input called = {
      "", {.tag = FNZ_ARG_OPERATOR, .u.s = writes->name}, NULL, FNZI_PT2_POSITIONAL};
  FNZ_TRY(fnzi_pt2_put_input(o, w, graph, &called));
  for (uint32_t i = 0; i < n->op->nparams; i++) {
    const fnzi_param *param = &n->op->params[i];
    const int from = fnzi_op_param(writes, param->name);
    const bool is_window = fnzi_op_of_bases(n->op) && from >= 0 && writes->params[from].is_write;
    const fnzi_pt2_input in = {param->name, fnzi_arg_get(n->op, n->args, n->nargs, i), param,
                               FNZI_PT2_KEYWORD};
    FNZ_TRY(is_window ? put_windows(&k, &writes->params[from], &in.arg)
                      : fnzi_pt2_put_input(o, w, graph, &in));
  }
  return FNZ_OK;
}

/* --- results ---------------------------------------------------------------------------------- */
/* The result that is the new value of a written argument: those follow the operator's own. */
static const fnz_arg *wrapped_new_value(const fnzi_node *n, const fnz_op *writes,
                                        const fnzi_param *of) {
  uint32_t at = writes->nreturns;
  const fnzi_param *written;
  for (fnzi_written_walk walk = {0}; fnzi_written_next(writes, &walk, &written); at++)
    if (written == of)
      return at < n->noutputs ? &n->outputs[at] : NULL;
  return NULL;
}

fnz_status fnzi_pt2_put_wrapped_results(fnzi_pt2_out *o, fnzi_json_out *w, uint32_t graph,
                                        const fnzi_node *n) {
  static const fnz_arg none = {.tag = FNZ_ARG_NONE};
  const fnz_op *writes = fnzi_pt2_wrapped(n->op);
  const fnz_arg *bases = n->noutputs ? &n->outputs[n->noutputs - 1] : &none, *value;
  if (!writes->nreturns)
    FNZ_TRY(fnzi_pt2_put_arg(o, w, graph, &none, NULL));
  for (uint32_t i = 0; i < writes->nreturns && i < n->noutputs; i++)
    FNZ_TRY(fnzi_pt2_put_result(o, w, graph, &n->outputs[i]));
  for (uint32_t i = 0; fnzi_op_of_bases(n->op) && i < bases->count; i++)
    FNZ_TRY(fnzi_pt2_put_result(o, w, graph, &bases->u.list[i]));
  for (uint32_t i = 0; !fnzi_op_of_bases(n->op) && i < writes->nparams; i++) {
    value = writes->params[i].is_write ? wrapped_new_value(n, writes, &writes->params[i]) : NULL;
    if (value)
      FNZ_TRY(fnzi_pt2_put_result(o, w, graph, value));
  }
  return FNZ_OK;
}
