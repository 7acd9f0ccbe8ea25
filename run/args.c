/* args.c - arguments of nodes as operators take them, nodes that compute sizes instead of tensors,
 * and the application of an operator.
 *
 * A symbol becomes a number: the number computed in this run, else its solution from the
 * known sizes (run/numbers.c), else the example that the exporter recorded. */
#include "run/numbers.h"
#include "run/run.h"
#include "schema/aten_names.h"

#include <stdio.h>

typedef struct lowering {
  fnzi_run_state *run;
  fnzi_run_lower_fn *value;
  void *user;
} lowering;

fnz_status fnzi_run_number_find(fnzi_run_state *run, uint64_t v, bool *found, fnz_arg *out) {
  const fnzi_value *value = &run->graph->values.data[v];
  const fnzi_symbol *symbol =
      value->symbol == 0 ? NULL : &run->program->symbols.data[value->symbol];
  *out = run->numbers[v];
  *found = out->tag != FNZ_ARG_DEFAULT;
  if (!*found)
    FNZ_TRY(fnzi_run_symbol_number(run, v, found, out));
  if (*found || symbol == NULL || !symbol->has_hint)
    return FNZ_OK;
  *found = true;
  *out = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = symbol->hint};
  return FNZ_OK;
}

fnz_status fnzi_run_number_of(void *user, uint64_t v, fnz_arg *out) {
  fnzi_run_state *run = user;
  bool found;
  FNZ_TRY(fnzi_run_number_find(run, v, &found, out));
  return found ? FNZ_OK
               : fnzi_fail(run->ctx, FNZ_CLASS_UNSUPPORTED, "",
                           "the number %s depends on data and the program has no example of it",
                           run->graph->values.data[v].name);
}

static fnz_status lower_one(lowering *l, fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_SYMBOL)
    return fnzi_run_number_of(l->run, arg->u.value, arg);
  if (arg->tag == FNZ_ARG_VALUE && l->value != NULL)
    return l->value(l->user, arg);
  if (arg->tag == FNZ_ARG_TOKEN || arg->tag == FNZ_ARG_OBJECT || arg->tag == FNZ_ARG_GRAPH)
    return fnzi_fail(l->run->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "an argument is a token, a script object or a graph, which cannot be run");
  return FNZ_OK;
}

static fnz_status lower_list(lowering *l, fnz_arg *arg) {
  fnz_arg *items;
  FNZI_NEW(&l->run->scratch, arg->count, &items);
  for (uint32_t i = 0; i < arg->count; i++) {
    items[i] = arg->u.list[i];
    if (items[i].tag != FNZ_ARG_LIST) {
      FNZ_TRY(lower_one(l, &items[i]));
      continue;
    }
    FNZI_EACH_ARG(each, &items[i], 1)
      if (each.arg->tag == FNZ_ARG_VALUE || each.arg->tag == FNZ_ARG_SYMBOL)
        return fnzi_fail(l->run->ctx, FNZ_CLASS_UNSUPPORTED, "",
                         "an argument is a list of lists of tensors");
  }
  arg->u.list = items;
  return FNZ_OK;
}

fnz_status fnzi_run_lower(fnzi_run_state *run, fnzi_run_lower_fn *value, void *user,
                          fnz_request *call, fnz_arg **out) {
  const fnz_op *op = call->op;
  lowering l = {run, value, user};
  fnz_arg *lowered;
  FNZI_NEW(&run->scratch, op->nparams, &lowered);
  for (size_t i = 0; i < op->nparams; i++) {
    lowered[i] = fnzi_arg_get(op, call->args, call->nargs, i);
    if (lowered[i].tag == FNZ_ARG_LIST)
      FNZ_TRY(lower_list(&l, &lowered[i]));
    else
      FNZ_TRY(lower_one(&l, &lowered[i]));
    /* A file may have a float for an integer parameter, and a number for a dtype. */
    const fnz_arg *arg = &lowered[i];
    const fnzi_param *param = &op->params[i];
    bool integer = param->type == FNZI_TYPE_INT || param->type == FNZI_TYPE_SYM_INT;
    bool dtype = param->type == FNZI_TYPE_DTYPE;
    const fnz_arg *items = arg->tag == FNZ_ARG_LIST ? arg->u.list : arg;
    for (size_t k = 0; k < (arg->tag == FNZ_ARG_LIST ? arg->count : 1); k++)
      if ((integer && items[k].tag == FNZ_ARG_FLOAT) || (dtype && items[k].tag == FNZ_ARG_INT))
        return fnzi_fail(run->ctx, FNZ_CLASS_TYPE, "", "%s: argument %s is no %s", op->name,
                         param->name, integer ? "integer" : "dtype");
  }
  call->args = lowered;
  if (out)
    *out = lowered;
  call->nargs = op->nparams;
  return FNZ_OK;
}

fnz_status fnzi_run_lower_apply(fnzi_run_state *run, fnz_request *call, fnz_handle *outputs,
                                size_t count) {
  FNZ_TRY(fnzi_run_lower(run, NULL, NULL, call, NULL));
  return fnzi_run_apply(run, call, outputs, count);
}

/* --- Numbers ---------------------------------------------------------------------------------- */

/* Nodes that only a trace needs. Their checks hold for the traced sizes, which this run has; the
 * dtype that promote_types computes is no value of the program: the nodes that use it name it. The
 * same holds for is_same_size and _has_same_storage_numel, which decided the trace. */
static bool is_skipped(const fnz_op *op) {
  static const uint16_t skipped[] = {FNZI_ATEN__assert_tensor_metadata,
                                     FNZI_ATEN__assert_scalar,
                                     FNZI_ATEN_promote_types,
                                     FNZI_ATEN_is_same_size,
                                     FNZI_ATEN__has_same_storage_numel,
                                     FNZI_ATEN_sym_constrain_range,
                                     FNZI_ATEN_sym_constrain_range_for_size};
  return fnzi_op_is_among(op, skipped, sizeof skipped / sizeof *skipped);
}

/* The node reads the location of a tensor, which only memory knows. */
static bool asks_place(const fnz_op *op) {
  static const uint16_t asks[] = {FNZI_ATEN_sym_storage_offset, FNZI_ATEN_sym_stride__int};
  return fnzi_op_is_among(op, asks, sizeof asks / sizeof *asks);
}

bool fnzi_run_is_number_op(const fnz_op *op) {
  return is_skipped(op) || fnzi_asks_size(op) || asks_place(op);
}

/* _assert_scalar: a number that must not be 0, and a message. Over hashes numbers are the traced
 * ones, for which it held. */
static fnz_status assert_number(fnzi_run_state *run, const fnzi_node *node) {
  fnz_arg text = fnzi_arg_get(node->op, node->args, node->nargs, 1), number = node->args[0];
  if (number.tag == FNZ_ARG_SYMBOL)
    FNZ_TRY(fnzi_run_number_of(run, number.u.value, &number));
  bool is_false = (number.tag == FNZ_ARG_BOOL || number.tag == FNZ_ARG_INT) && number.u.i == 0;
  if (!is_false || run->hashes)
    return FNZ_OK;
  return fnzi_fail(run->ctx, FNZ_CLASS_BOUNDS, "", "the assertion of the program fails: %.200s",
                   text.tag == FNZ_ARG_STRING ? text.u.s : "");
}

fnz_status fnzi_run_number_node(fnzi_run_state *run, const fnzi_node *node,
                                fnzi_run_geometry_fn *geometry, void *user, bool *done) {
  *done = is_skipped(node->op);
  if (node->op == &fnzi_ops[FNZI_ATEN__assert_scalar])
    return assert_number(run, node);
  if (*done)
    return FNZ_OK;
  if (node->op == NULL) {
    fnz_arg result;
    FNZ_TRY(fnzi_arithmetic(run->ctx, node, fnzi_run_number_of, run, &result, done));
    if (*done)
      run->numbers[node->outputs[0].u.value] = result;
    return FNZ_OK;
  }
  if (!fnzi_run_is_number_op(node->op))
    return FNZ_OK;
  if (node->args[0].tag != FNZ_ARG_VALUE)
    return fnzi_fail(run->ctx, FNZ_CLASS_TYPE, "", "%s needs a tensor where there is none",
                     fnzi_node_target(node));
  const fnz_geometry *g = geometry(user, node->args[0].u.value);
  *done = g != NULL;
  if (!g)
    return FNZ_OK;
  int64_t number = g->offset;
  if (node->op != &fnzi_ops[FNZI_ATEN_sym_storage_offset])
    FNZ_TRY(fnzi_size_asked(run->ctx, node, g, fnzi_run_number_of, run, &number));
  if (node->noutputs == 1 && node->outputs[0].tag == FNZ_ARG_SYMBOL)
    run->numbers[node->outputs[0].u.value] = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = number};
  return FNZ_OK;
}

/* The bytes of a tensor of one element, and their dtype, which may be wider. */
static fnz_status read_number(fnzi_run_state *run, fnz_handle value, fnz_dtype *dtype,
                              unsigned char *bytes) {
  fnz_backend *by = run->backend;
  const fnz_geometry *g = by->geometry(by->self, value);
  fnz_handle wide;
  *dtype = g->dtype;
  if (!fnzi_is_float(g->dtype) || fnzi_dtype(g->dtype)->bytes >= 4)
    return by->download(by->self, run->ctx, value, bytes);
  /* A tensor of narrow floats as one of f32: only the backend reads those. */
  const fnz_op *op = &fnzi_ops[FNZI_ATEN__to_copy];
  fnz_geometry geometry = *g;
  const fnz_geometry *expected[1] = {&geometry};
  const fnz_arg args[2] = {{.tag = FNZ_ARG_VALUE, .u.value = value},
                           {.tag = FNZ_ARG_DTYPE, .u.i = FNZ_F32}};
  geometry.dtype = FNZ_F32;
  geometry.offset = 0;
  fnz_request call = {op, args, 2, expected, ""};
  FNZ_TRY(fnzi_run_lower_apply(run, &call, &wide, 1));
  *dtype = FNZ_F32;
  fnz_status status = by->download(by->self, run->ctx, wide, bytes);
  by->release(by->self, wide);
  return status;
}

fnz_status fnzi_run_read_number(fnzi_run_state *run, const fnzi_node *node, fnz_handle value) {
  const fnz_geometry *g = run->backend->geometry(run->backend->self, value);
  unsigned char bytes[16];
  if (fnz_geometry_numel(g) != 1)
    return fnzi_fail(run->ctx, FNZ_CLASS_BOUNDS, "",
                     "%s reads the number of a tensor of one element, this one has %lld",
                     node->op->name, (long long)fnz_geometry_numel(g));
  if (run->hashes || node->noutputs != 1 || node->outputs[0].tag != FNZ_ARG_SYMBOL)
    return FNZ_OK;
  fnz_dtype dtype;
  fnz_arg number;
  FNZ_TRY(read_number(run, value, &dtype, bytes));
  if (!fnzi_run_decode_number(dtype, bytes, &number))
    return FNZ_OK;
  run->numbers[node->outputs[0].u.value] = number;
  return number.tag != FNZ_ARG_FLOAT
             ? fnzi_run_learn_number(run, node->outputs[0].u.value, number.u.i)
             : FNZ_OK;
}

/* --- Writes ----------------------------------------------------------------------------------- */

bool fnzi_run_is_norm(const fnz_op *op) {
  static const uint16_t norms[] = {FNZI_ATEN_batch_norm, FNZI_ATEN_instance_norm,
                                   FNZI_ATEN_native_batch_norm};
  return fnzi_op_is_among(op, norms, sizeof norms / sizeof *norms);
}

bool fnzi_run_node_writes(const fnzi_node *node) {
  if (node->op == NULL || !fnzi_run_is_norm(node->op))
    return node->op != NULL && fnz_op_is_mutating(node->op);
  fnz_arg training = fnzi_arg_get(node->op, node->args, node->nargs, FNZI_RUN_NORM_TRAINING);
  fnz_arg mean = fnzi_arg_get(node->op, node->args, node->nargs, FNZI_RUN_NORM_MEAN);
  fnz_arg var = fnzi_arg_get(node->op, node->args, node->nargs, FNZI_RUN_NORM_VAR);
  bool off = training.tag == FNZ_ARG_BOOL && training.u.i == 0;
  return !off && mean.tag == FNZ_ARG_VALUE && var.tag == FNZ_ARG_VALUE;
}

bool fnzi_run_node_reads_memory(const fnzi_graph *graph, const fnzi_node *node) {
  static const uint16_t strided[] = {FNZI_ATEN_as_strided, FNZI_ATEN_as_strided_copy,
                                     FNZI_ATEN_as_strided_scatter};
  if (!node->op || node->nargs == 0 || node->args[0].tag != FNZ_ARG_VALUE ||
      !(asks_place(node->op) ||
        fnzi_op_is_among(node->op, strided, sizeof strided / sizeof *strided)))
    return false;
  const fnz_geometry *g = graph->values.data[node->args[0].u.value].geometry;
  return g && !(g->offset == 0 && fnzi_is_contiguous(g));
}

fnz_status fnzi_run_values_check(fnz_context *ctx, const fnz_program *program) {
  char place[160];
  for (uint32_t k = 0; k < program->graphs.count; k++) {
    const fnzi_graph *graph = fnzi_graph_at(program, k);
    for (uint32_t i = 0; i < graph->nodes.count; i++) {
      const fnzi_node *node = &graph->nodes.data[i];
      if (!fnzi_run_node_reads_memory(graph, node))
        continue;
      fnzi_node_place(program, k, i, place);
      return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, place,
                       "%s depends on the strides of %%%s, which is not row-major: functionalize "
                       "the program first, or run the original",
                       node->op->name, graph->values.data[node->args[0].u.value].name);
    }
  }
  return FNZ_OK;
}

/* --- Results ---------------------------------------------------------------------------------- */

static bool args_is_result(const fnz_arg *arg) {
  return arg->tag == FNZ_ARG_VALUE || arg->tag == FNZ_ARG_NONE;
}

fnz_status fnzi_run_node_results(fnzi_run_state *run, const fnzi_node *node, fnz_arg **out,
                                 size_t *count) {
  size_t most = 0;
  for (uint32_t i = 0; i < node->noutputs; i++)
    most += node->outputs[i].tag == FNZ_ARG_LIST ? node->outputs[i].count : 1;
  FNZI_NEW(&run->scratch, most, out);
  *count = 0;
  for (uint32_t i = 0; i < node->noutputs; i++) {
    const fnz_arg *o = &node->outputs[i];
    if (args_is_result(o))
      (*out)[(*count)++] = *o;
    for (uint32_t k = 0; o->tag == FNZ_ARG_LIST && k < o->count; k++)
      if (args_is_result(&o->u.list[k]))
        (*out)[(*count)++] = o->u.list[k];
  }
  return FNZ_OK;
}

static fnz_status has_not(fnzi_run_state *run, const fnz_request *call, size_t count) {
  return fnzi_fail(run->ctx, FNZ_CLASS_BOUNDS, "", "%s has not the %zu results that it should have",
                   call->op->name, count);
}

static void release_all(fnzi_run_state *run, const fnz_handle *outputs, size_t count) {
  for (size_t i = 0; i < count; i++)
    if (outputs[i] != 0)
      fnzi_run_release(run, outputs[i]);
}

static fnz_status apply_in(fnzi_run_state *run, const fnz_request *call, fnz_handle *outputs,
                           size_t capacity, size_t *got) {
  *got = 0;
  memset(outputs, 0, capacity * sizeof *outputs);
  return run->backend->apply(run->backend->self, run->ctx, call, outputs, capacity, got);
}

/* A split may have more pieces than the program names, at sizes that its exporter did not see; as
 * in eager, the others are released. */
static fnz_status apply_list(fnzi_run_state *run, const fnz_request *from, fnz_handle *outputs,
                             size_t count) {
  const size_t most = run->ctx->limits.args;
  fnz_request call = *from;
  fnz_status status = FNZ_BAD_ARGUMENT;
  fnz_handle *all = NULL;
  size_t got = 0;
  call.expected = NULL; /* it has as many items as the program names */
  for (size_t capacity = count; status == FNZ_BAD_ARGUMENT && capacity < most;) {
    capacity = capacity < most / 4 ? 4 * capacity + 4 : most;
    FNZI_NEW(&run->scratch, capacity, &all);
    status = apply_in(run, &call, all, capacity, &got);
  }
  if (status != FNZ_OK)
    return status == FNZ_BAD_ARGUMENT ? has_not(run, from, count) : status;
  const size_t kept = got < count ? 0 : count;
  memcpy(outputs, all, kept * sizeof *outputs);
  release_all(run, all + kept, got - kept);
  return kept == count ? FNZ_OK : has_not(run, from, count);
}

static fnz_status args_apply(fnzi_run_state *run, const fnz_request *call, fnz_handle *outputs,
                             size_t count) {
  size_t got;
  fnz_status status = apply_in(run, call, outputs, count, &got);
  bool is_list = call->op->nreturns == 1 && call->op->returns[0].is_list;
  /* BAD_ARGUMENT: there are more results than room; else, as of a number, the backend has said it
   */
  if (status != FNZ_OK &&
      (status != FNZ_BAD_ARGUMENT ||
       (!fnzi_op_lists(call->op) && run->ctx->error.status == FNZ_BAD_ARGUMENT)))
    return status;
  if (status == FNZ_OK && got == count)
    return FNZ_OK;
  release_all(run, outputs, got < count ? got : count);
  return status == FNZ_OK || !is_list ? has_not(run, call, count)
                                      : apply_list(run, call, outputs, count);
}

static const fnz_geometry *args_geometry_of(void *user, const fnz_arg *arg) {
  const fnzi_run_state *run = user;
  return run->backend->geometry(run->backend->self, arg->u.value);
}

fnz_status fnzi_run_apply(fnzi_run_state *run, const fnz_request *call, fnz_handle *outputs,
                          size_t count) {
  FNZ_TRY(fnzi_check_uncast(run->ctx, call->op, call->args, args_geometry_of, run));
  if (run->options->check_schemas) {
    /* Releases the results when the call has not kept its schema. */
    fnzi_run_witnesses *seen;
    FNZ_TRY(fnzi_run_witness_begin(run, call, &seen));
    fnz_status status = args_apply(run, call, outputs, count);
    if (status != FNZ_OK) {
      fnz_status ended = fnzi_run_witness_end(seen, call->op, NULL, 0);
      return ended == FNZ_OK ? status : ended;
    }
    status = fnzi_run_witness_end(seen, call->op, outputs, count);
    if (status != FNZ_OK)
      release_all(run, outputs, count);
    return status;
  }
  return args_apply(run, call, outputs, count);
}
