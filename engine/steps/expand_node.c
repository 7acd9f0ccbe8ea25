/* expand_node.c - one node as the steps by which its operator is computed.
 *
 * Views become their copies, as everywhere in a functional program; a plan makes views of them
 * again. Steps that no result is made of are left out. */
#include "engine/steps/expand.h"
#include "schema/aten_names.h"

#include <stdio.h>

/* Steps of one node. */
typedef struct expanding {
  fnzi_stp_expander *e;
  uint32_t node;
  fnzi_script script;
  uint64_t *values; /* per value of the script: that of the graph */
  bool *needed;     /* the same: a result is made of it */
  uint64_t *results;
  uint64_t named;                  /* the first result that is there: steps are called after it */
  const fnz_geometry **geometries; /* of arguments, then of results */
  size_t nargs, nresults, made;
} expanding;

static const uint64_t NOTHING = UINT64_MAX;

/* --- What the node takes and gives ---------------------------------------------------------------
 */
static fnz_status count_one(void *user, const fnz_arg *arg) {
  (void)arg;
  ++*(size_t *)user;
  return FNZ_OK;
}

static const fnz_geometry *geometry_of(const expanding *x, uint64_t value) {
  return x->e->graph->values.data[value].geometry;
}

/* Replaces a tensor argument by its index in x->values. Returns false for an argument that is
 * neither a tensor nor plain. */
static bool number(expanding *x, fnz_arg *arg) {
  uint8_t tag = arg->tag;
  if (tag != FNZ_ARG_VALUE)
    return tag != FNZ_ARG_SYMBOL && tag != FNZ_ARG_TOKEN && tag != FNZ_ARG_OBJECT &&
           tag != FNZ_ARG_GRAPH;
  x->values[x->nargs] = arg->u.value;
  x->geometries[x->nargs] = geometry_of(x, arg->u.value);
  arg->u.value = x->nargs++;
  return x->geometries[x->nargs - 1] != NULL;
}

static fnz_status number_args(expanding *x, const fnzi_node *node, fnz_arg **out, bool *fits) {
  fnz_arg *args, *items;
  FNZI_NEW(&x->e->scratch, node->op->nparams, &args);
  *fits = true;
  for (size_t i = 0; i < node->op->nparams && *fits; i++) {
    args[i] = fnzi_arg_get(node->op, node->args, node->nargs, i);
    *fits = number(x, &args[i]);
    if (args[i].tag != FNZ_ARG_LIST || !args[i].count)
      continue;
    FNZI_NEW(&x->e->scratch, args[i].count, &items);
    memcpy(items, args[i].u.list, args[i].count * sizeof *items);
    args[i].u.list = items;
    for (uint32_t k = 0; k < args[i].count && *fits; k++)
      *fits = number(x, &items[k]);
  }
  *out = args;
  return FNZ_OK;
}

static void add_result(expanding *x, const fnz_arg *arg) {
  bool is_tensor = arg->tag == FNZ_ARG_VALUE;
  x->results[x->nresults] = is_tensor ? arg->u.value : NOTHING;
  x->geometries[x->nargs + x->nresults] = is_tensor ? geometry_of(x, arg->u.value) : NULL;
  x->nresults++;
  x->named = x->named == NOTHING && is_tensor ? arg->u.value : x->named;
}

static void list_results(expanding *x, const fnzi_node *node) {
  for (uint32_t i = 0; i < node->noutputs; i++) {
    const fnz_arg *arg = &node->outputs[i];
    for (uint32_t k = 0; arg->tag == FNZ_ARG_LIST && k < arg->count; k++)
      add_result(x, &arg->u.list[k]);
    if (arg->tag != FNZ_ARG_LIST)
      add_result(x, arg);
  }
}

/* --- Values --------------------------------------------------------------------------------------
 */
static bool has_strides(const fnz_geometry *g, const fnz_geometry *want) {
  for (uint32_t d = 0; d < g->rank; d++)
    if (g->sizes[d] > 1 && g->strides[d] != want->strides[d])
      return false;
  return true;
}

/* A value of a step has the name of a result and a number. */
static fnz_status add_value(expanding *x, const fnz_geometry *g, uint64_t *out) {
  char digits[16];
  const fnzi_value *first = &x->e->graph->values.data[x->named];
  fnzi_value v = {.geometry = g, .node = x->node};
  snprintf(digits, sizeof digits, "%zu", x->made++);
  FNZ_TRY(fnzi_arena_dotted(x->e->arena, first->name, digits, &v.name));
  *out = x->e->values.count;
  FNZI_PUSH(x->e->ctx, &x->e->values, v);
  return FNZ_OK;
}

/* Lets steps compute the node's results directly, if strides are as recorded. Sets *fits to false
 * if a type or size differs from the recorded one. */
static fnz_status place_results(expanding *x, bool *fits) {
  const fnzi_script *s = &x->script;
  *fits = s->results.count == x->nresults && x->named != NOTHING;
  for (size_t k = 0; k < x->nresults && *fits; k++) {
    uint32_t v = s->results.data[k];
    const fnz_geometry *want = x->geometries[x->nargs + k],
                       *have = v == FNZI_SCRIPT_UNDEFINED ? NULL : s->values.data[v];
    *fits = !want || (have && have->dtype == want->dtype && fnzi_same_sizes(have, want));
    if (!want || !*fits)
      continue;
    x->needed[v] = true;
    if (x->values[v] == NOTHING && has_strides(have, want))
      x->values[v] = x->results[k];
  }
  return FNZ_OK;
}

/* --- Steps ---------------------------------------------------------------------------------------
 */
/* The operator of a step in a functional program. */
static const fnz_op *functional_of(const fnz_op *op) {
  return fnz_op_is_view(op) ? fnzi_op_by_index(op->view_copy) : op;
}

/* Returns whether the call can be a node: a functional operator whose results are tensors, or one
 * list of them. */
static bool is_functional(const fnzi_script_call *call) {
  const fnz_op *op = functional_of(call->op);
  bool is_list = op && op->nreturns == 1 && op->returns[0].is_list;
  return op && op->kind == FNZI_KIND_FUNCTIONAL && op->nparams == call->op->nparams &&
         (is_list || op->nreturns == call->count);
}

static fnz_status need(void *user, const fnz_arg *arg) {
  bool *needed = user;
  if (arg->tag == FNZ_ARG_VALUE)
    needed[arg->u.value] = true;
  return FNZ_OK;
}

static bool is_needed(const expanding *x, const fnzi_script_call *call) {
  bool needed = call->op->tags & FNZI_TAGS_KEPT;
  for (uint32_t k = 0; k < call->count; k++)
    needed = needed || x->needed[call->first + k];
  return needed;
}

/* Marks the steps that results depend on, from the results back. Other steps are dropped. */
static fnz_status find_needed(expanding *x, bool *fits) {
  for (size_t i = x->script.calls.count; i-- > 0 && *fits;) {
    const fnzi_script_call *call = &x->script.calls.data[i];
    if (!is_needed(x, call))
      continue;
    *fits = is_functional(call);
    FNZ_TRY(fnzi_args_visit(call->args, call->op->nparams, need, x->needed));
  }
  return FNZ_OK;
}

static fnz_arg of_graph(const expanding *x, fnz_arg arg) {
  if (arg.tag == FNZ_ARG_VALUE)
    arg.u.value = x->values[arg.u.value];
  return arg;
}

static fnz_status args_of(const expanding *x, const fnzi_script_call *call, fnz_arg **out) {
  fnz_arg *items;
  FNZI_NEW(x->e->arena, call->op->nparams, out);
  for (size_t i = 0; i < call->op->nparams; i++) {
    const fnz_arg *arg = &call->args[i];
    (*out)[i] = of_graph(x, *arg);
    if (arg->tag != FNZ_ARG_LIST || !arg->count)
      continue;
    FNZI_NEW(x->e->arena, arg->count, &items);
    for (uint32_t k = 0; k < arg->count; k++)
      items[k] = of_graph(x, arg->u.list[k]);
    (*out)[i].u.list = items;
  }
  return FNZ_OK;
}

/* Makes the outputs of a node. A list of tensors is one output. */
static fnz_status outputs_of(const expanding *x, const fnzi_script_call *call, fnzi_node *node) {
  bool is_list = call->op->nreturns == 1 && call->op->returns[0].is_list;
  fnz_arg *outputs, *list;
  FNZI_NEW(x->e->arena, call->count, &outputs);
  for (uint32_t k = 0; k < call->count; k++) {
    bool is_there = x->script.values.data[call->first + k] != NULL;
    outputs[k] = (fnz_arg){.tag = is_there ? FNZ_ARG_VALUE : FNZ_ARG_NONE};
    if (is_there)
      outputs[k].u.value = x->values[call->first + k];
  }
  node->outputs = outputs;
  node->noutputs = call->count;
  if (!is_list)
    return FNZ_OK;
  FNZI_NEW(x->e->arena, 1, &list);
  *list = (fnz_arg){.tag = FNZ_ARG_LIST, .count = call->count, .u.list = outputs};
  node->outputs = list;
  node->noutputs = 1;
  return FNZ_OK;
}

static fnz_status add_step(expanding *x, const fnzi_script_call *call) {
  fnzi_node node = {.op = functional_of(call->op),
                    .nargs = (uint32_t)call->op->nparams,
                    .source = x->e->graph->nodes.data[x->node].source};
  for (uint32_t k = 0; k < call->count; k++) {
    uint32_t v = call->first + k;
    if (x->values[v] == NOTHING && x->script.values.data[v])
      FNZ_TRY(add_value(x, x->script.values.data[v], &x->values[v]));
  }
  FNZ_TRY(args_of(x, call, &node.args));
  FNZ_TRY(outputs_of(x, call, &node));
  return fnzi_stp_expander_add(x->e, node, x->node);
}

/* Adds a copy for a result that is an argument or another result, or has other strides. It costs
 * nothing if nothing is written. */
static fnz_status add_copy(expanding *x, uint64_t from, uint64_t to) {
  const fnz_op *clone = &fnzi_ops[FNZI_ATEN_clone];
  fnzi_node node = {.op = clone,
                    .nargs = (uint32_t)clone->nparams,
                    .noutputs = 1,
                    .source = x->e->graph->nodes.data[x->node].source};
  FNZI_NEW(x->e->arena, clone->nparams, &node.args);
  FNZI_NEW(x->e->arena, 1, &node.outputs);
  for (size_t i = 1; i < clone->nparams; i++)
    node.args[i] = (fnz_arg){.tag = FNZ_ARG_DEFAULT};
  node.args[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = from};
  node.outputs[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = to};
  return fnzi_stp_expander_add(x->e, node, x->node);
}

static fnz_status add_steps(expanding *x) {
  for (size_t i = 0; i < x->script.calls.count; i++)
    if (is_needed(x, &x->script.calls.data[i]))
      FNZ_TRY(add_step(x, &x->script.calls.data[i]));
  for (size_t k = 0; k < x->nresults; k++) {
    uint32_t v = x->script.results.data[k];
    if (x->results[k] != NOTHING && x->values[v] != x->results[k])
      FNZ_TRY(add_copy(x, x->values[v], x->results[k]));
  }
  return FNZ_OK;
}

/* --- A node --------------------------------------------------------------------------------------
 */
static fnz_status make_room(expanding *x) {
  size_t count = x->script.values.count;
  uint64_t *values;
  FNZI_NEW(&x->e->scratch, count, &values);
  FNZI_NEW(&x->e->scratch, count, &x->needed);
  for (size_t v = 0; v < count; v++)
    values[v] = v < x->nargs ? x->values[v] : NOTHING;
  x->values = values;
  return FNZ_OK;
}

/* Adds the node's steps. *done false: the node stays. */
static fnz_status write_steps(expanding *x, bool *done) {
  FNZ_TRY(make_room(x));
  FNZ_TRY(place_results(x, done));
  FNZ_TRY(find_needed(x, done));
  return *done ? add_steps(x) : FNZ_OK;
}

/* Numbers that the operator refuses, steps may take: then the node stays, and refuses them. */
static fnz_status takes_numbers(const expanding *x, const fnz_op *op, const fnz_arg *args,
                                bool *takes) {
  *takes = true;
  if (x->nresults == 0 || !x->geometries[x->nargs])
    return FNZ_OK;
  fnzi_krn_array result = {.geometry = *x->geometries[x->nargs]}, *outputs[] = {&result};
  const fnzi_krn_call call = {
      .ctx = x->e->ctx, .op = op, .args = args, .outputs = outputs, .noutputs = 1};
  const fnz_error had = x->e->ctx->error;
  fnz_status status = fnzi_meta_numbers_check(&call);
  *takes = status == FNZ_OK;
  x->e->ctx->error = had;
  return status == FNZ_NO_MEMORY ? status : FNZ_OK;
}

fnz_status fnzi_stp_expand_node(fnzi_stp_expander *e, uint32_t n, bool *done) {
  const fnzi_node *node = &e->graph->nodes.data[n];
  expanding x = {.e = e, .node = n, .named = NOTHING};
  size_t tensors = 0;
  fnz_arg *args;
  FNZ_TRY(fnzi_args_visit(node->args, node->nargs, count_one, &tensors));
  FNZI_NEW(&e->scratch, tensors, &x.values);
  FNZ_TRY(fnzi_args_visit(node->outputs, node->noutputs, count_one, &tensors));
  FNZI_NEW(&e->scratch, tensors, &x.results);
  FNZI_NEW(&e->scratch, tensors, &x.geometries);
  FNZ_TRY(number_args(&x, node, &args, done));
  if (!*done)
    return FNZ_OK;
  list_results(&x, node);
  FNZ_TRY(takes_numbers(&x, node->op, args, done));
  if (!*done)
    return FNZ_OK;
  const fnzi_script_whole whole = {.op = node->op,
                                   .args = args,
                                   .geometries = x.geometries,
                                   .expected = x.geometries + x.nargs,
                                   .nexpected = x.nresults};
  const fnz_error had = e->ctx->error; /* what cannot be taken apart is no failure */
  fnz_status status = fnzi_dcm_expand(e->arena, &e->wish, &whole, &x.script, done);
  if (status == FNZ_NO_MEMORY)
    return status;
  e->ctx->error = had;
  *done = *done && status == FNZ_OK;
  if (!*done)
    return FNZ_OK;
  status = write_steps(&x, done);
  fnzi_script_free(&x.script);
  return status;
}
