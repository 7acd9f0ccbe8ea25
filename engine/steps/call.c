/* call.c - makes a node a step of a binding: its kernel's call with arguments and results filled
 * in, or the request to apply an operator.
 *
 * A kernel's call can be repeated if its results have memory before it runs and its shape rule
 * needs no data. Other operators (decompositions, lists, views that no strides describe,
 * data-dependent sizes) are applied like in the interpreter, and their results are copied to their
 * places. Nodes without an operator on tensors are left to the interpreter. */
#include "engine/steps/scalars.h"
#include "kernels/meta/evaluate.h"
#include "schema/aten_names.h"

/* A node of a binding, and its step under construction. */
typedef struct builder {
  fnz_workspace *ws;
  fnzi_stp_binding *b;
  fnzi_arena *arena;       /* owns the call */
  fnzi_run_state lowering; /* its arguments, as the interpreter lowers them */
  const fnzi_node *node;
  fnz_arg *args; /* lowered, defaults filled in */
  fnz_arg *results;
  size_t nresults;
  const fnz_geometry **expected;
  fnzi_run_lower_fn *lower;
  bool has_base;              /* result 0 holds argument 0 already */
  bool has_late;              /* an argument has no location: it is a result of the interpreter's */
  bool by_data;               /* its shape rule needs data */
  fnzi_stp_kind_facts *known; /* of nodes like it; NULL */
} builder;

/* --- Arguments -------------------------------------------------------------------------------- */
static fnz_status lower_value(void *user, fnz_arg *arg) {
  builder *m = user;
  fnzi_krn_array *array = m->b->values[arg->u.value];
  m->has_late = m->has_late || array == NULL;
  arg->u.value = array ? fnzi_krn_array_handle(array) : 0;
  return FNZ_OK;
}

/* Returns a bit per argument that is a data-dependent scalar. */
static uint32_t scalar_arguments(const builder *m) {
  return m->b->scalar_kinds ? fnzi_pln_scalar_arguments(fnzi_graph_main(m->b->program), m->node)
                            : 0;
}

/* Says that the node is an operator on tensors, scalars and strings. */
static bool is_plain(const builder *m) {
  const fnzi_node *node = m->node;
  if (scalar_arguments(m))
    return true;
  if (!node->op || fnzi_op_is_item(node->op))
    return false;
  FNZI_EACH_ARG(each, node->args, node->nargs)
    if (each.arg->tag == FNZ_ARG_GRAPH ||
        (fnzi_is_reference(each.arg) && each.arg->tag != FNZ_ARG_VALUE))
      return false;
  return true;
}

static fnz_status read_node(builder *m) {
  fnzi_run_state *run = &m->lowering;
  *run = (fnzi_run_state){.ctx = m->ws->ctx, .program = m->b->program, .scratch = *m->arena};
  run->graph = fnzi_graph_main(m->b->program);
  run->numbers = m->b->scalar_kinds;
  fnz_request call = {m->node->op, m->node->args, m->node->nargs, NULL, ""};
  fnz_status status = fnzi_run_lower(run, m->lower, m, &call, &m->args);
  if (status == FNZ_OK)
    status = fnzi_run_node_results(run, m->node, &m->results, &m->nresults);
  *m->arena = run->scratch;
  FNZ_TRY(status);
  FNZI_NEW(m->arena, m->nresults, &m->expected);
  for (size_t i = 0; i < m->nresults; i++)
    if (m->results[i].tag == FNZ_ARG_VALUE)
      m->expected[i] = run->graph->values.data[m->results[i].u.value].geometry;
  return FNZ_OK;
}

/* --- Which kernels can be called again and again ---------------------------------------------- */
/* Returns the table row of a kernel that can fill results in existing memory; NULL if there is
 * none. */
static const fnzi_kernel *in_place_row(const builder *m) {
  const fnz_op *op = m->node->op;
  if (op->kind != FNZI_KIND_FUNCTIONAL)
    return NULL;
  const fnzi_kernel *row = fnzi_meta_row_find(m->ws->machine, op);
  /* If dropout drops elements, its result is no window of its argument. */
  bool is_dropout = row && fnzi_kernel_facts(row)->access == FNZI_ACCESS_DROPOUT;
  bool fits = row && (row->memory != FNZI_MEMORY_VIEW || is_dropout) &&
              row->run != FNZI_RUN_decomposed && row->run != FNZI_RUN_registered;
  /* as_strided_scatter straightens its result, which is then elsewhere. */
  if (!fits || op == &fnzi_ops[FNZI_ATEN_as_strided_scatter])
    return NULL;
  if (row->memory == FNZI_MEMORY_BASE && !m->has_base)
    return NULL;
  return row;
}

/* --- A kernel --------------------------------------------------------------------------------- */
/* Makes an array that no value has, which ends with the binding. */
static fnz_status add_unread(builder *m, const fnz_geometry *g, size_t cell, fnzi_krn_array **out) {
  fnz_context *ctx = m->ws->ctx;
  FNZI_PUSH(ctx, &m->b->unread, NULL);
  fnz_status status = fnzi_krn_array_create(ctx, &m->ws->machine->stock, g, cell, out);
  if (status == FNZ_OK)
    m->b->unread.data[m->b->unread.count - 1] = *out;
  else
    m->b->unread.count--;
  return status;
}

/* Takes the results of the shape rule. Values that are needed have arrays already. *fits is false
 * if the node has another number of results. */
static fnz_status take_results(builder *m, fnzi_krn_call *shaped, fnzi_krn_array **outputs,
                               bool *fits) {
  *fits = shaped->noutputs == m->nresults;
  for (size_t k = 0; *fits && k < m->nresults; k++) {
    outputs[k] = NULL;
    if (shaped->outputs[k] == NULL)
      continue;
    if (m->results[k].tag == FNZ_ARG_VALUE)
      outputs[k] = m->b->values[m->results[k].u.value];
    if (outputs[k] || m->lower != lower_value)
      continue;
    FNZ_TRY(add_unread(m, &shaped->outputs[k]->geometry, shaped->outputs[k]->cell, &outputs[k]));
    FNZ_TRY(fnzi_krn_array_allocate(m->ws->ctx, outputs[k], false));
  }
  return FNZ_OK;
}

/* Runs the shape rule on arguments without data; a rule that needs data fails. If the results
 * differ from the recorded types, the rule runs again and reports that. */
static fnz_status shape_call(builder *m, fnzi_krn_call *call, const fnzi_kernel *row,
                             fnzi_krn_array **outputs, bool *fits) {
  call->expected = NULL;
  call->nexpected = 0;
  fnz_status status = fnzi_meta_evaluate_shape(call, row);
  call->expected = m->expected;
  call->nexpected = m->nresults;
  m->by_data = status == FNZ_UNSUPPORTED;
  *fits = !m->by_data;
  if (status != FNZ_OK)
    return m->by_data ? FNZ_OK : status;
  /* The results of the shape rule have the recorded types and sizes. */
  bool same = call->noutputs == m->nresults;
  for (size_t k = 0; same && k < m->nresults; k++) {
    const fnz_geometry *expected = m->expected[k];
    const fnzi_krn_array *have = call->outputs[k];
    same = !expected || (have && have->geometry.dtype == expected->dtype &&
                         fnzi_same_sizes(&have->geometry, expected));
  }
  if (!same) {
    fnzi_meta_outputs_release(call);
    FNZ_TRY(fnzi_meta_evaluate_shape(call, row));
  }
  FNZ_TRY(fnzi_meta_outputs_check(call, row));
  return take_results(m, call, outputs, fits);
}

/* --- What a call may keep
 * -------------------------------------------------------------------------
 */
/* Returns the memory of a weight of the file, which no run changes; NULL for other arrays. */
static const unsigned char *weight_start(const builder *m, const fnzi_krn_array *a) {
  const fnzi_stp_binding *b = m->b;
  uint32_t at = fnzi_stp_buffer_of(b, a->storage);
  if (at == FNZI_PLN_NONE || b->plan.buffers.data[at].kind != FNZI_PLN_CONST)
    return NULL;
  uint32_t k = b->plan.buffers.data[at].input;
  k = b->is_body ? b->weights[k] : k;
  if (k == FNZI_PLN_NONE)
    return NULL;
  const fnzi_stp_input *in = &m->ws->exe->inputs[k];
  return !in->weight ? NULL : fnzi_stp_weight_start(in);
}

void fnzi_stp_prepared_end(fnz_workspace *ws, fnzi_stp_binding *b) {
  for (size_t i = 0; i < b->thunks.count; i++) {
    const fnzi_stp_thunk *thunk = &b->thunks.data[i];
    fnzi_krn_kept *kept = thunk->kind == FNZI_STP_THUNK_KERNEL && thunk->u.kernel.prepared
                              ? &thunk->u.kernel.prepared->data
                              : NULL;
    if (kept && kept->data)
      kept->end(ws->ctx, kept->data);
  }
}

static const fnz_geometry *call_geometry_of(void *user, const fnz_arg *arg) {
  (void)user;
  return &fnzi_krn_arg_array(arg)->geometry;
}

/* Returns the facts about the kind of the node. NULL for data-dependent sizes, with which arrays
 * differ from the program. */
static fnzi_stp_kind_facts *shaped_of(const builder *m) {
  const fnzi_stp_kinds *shapes = m->b->mode == FNZI_STP_INTERPRETED ? NULL : m->b->kinds;
  size_t n = (size_t)(m->node - fnzi_graph_main(m->b->program)->nodes.data);
  return shapes ? &shapes->by_kind[shapes->kinds.by_node[n]] : NULL;
}

static fnz_status run_shape(builder *m, fnzi_krn_call *call, const fnzi_kernel *row,
                            fnzi_krn_array **outputs, bool *fits) {
  enum { MOST_RESULTS = 64 };
  call->capacity = m->nresults < MOST_RESULTS ? MOST_RESULTS : m->nresults;
  FNZI_NEW(m->arena, call->capacity, &call->outputs);
  FNZ_TRY(fnzi_check_uncast(m->ws->ctx, m->node->op, m->args, call_geometry_of, NULL));
  fnzi_arena_init(&call->scratch, m->ws->ctx);
  fnz_status status = shape_call(m, call, row, outputs, fits);
  fnzi_meta_outputs_release(call);
  fnzi_arena_free(&call->scratch);
  return status;
}

/* Finds the results. Facts that depend on arguments, types and sizes alone are looked up once for
 * all nodes of a kind. If a node has all its results, it needs nothing else. */
static fnz_status shape_known(builder *m, fnzi_krn_call *call, const fnzi_kernel *row,
                              fnzi_krn_array **outputs, bool *fits) {
  bool have = true;
  for (size_t k = 0; have && k < m->nresults; k++) {
    bool is_value = m->results[k].tag == FNZ_ARG_VALUE;
    outputs[k] = is_value ? m->b->values[m->results[k].u.value] : NULL;
    have = outputs[k] != NULL;
  }
  fnzi_stp_kind_facts *shaped = shaped_of(m);
  *fits = have && shaped && shaped->has_fit;
  if (!*fits)
    FNZ_TRY(run_shape(m, call, row, outputs, fits));
  for (size_t k = 0; k < m->nresults; k++)
    have = have && outputs[k];
  if (shaped && have && *fits)
    shaped->has_fit = true;
  m->known = shaped && shaped->has_fit ? shaped : NULL;
  return FNZ_OK;
}

/* Makes the call of the kernel, with the results that the values have. The shape rule runs here,
 * and never again if all numbers are known. *fits false: it cannot run before there are data, or
 * gives other results than the node has. */
static fnz_status call_fill_call(builder *m, const fnzi_kernel *row, fnzi_krn_call *call,
                                 bool *fits) {
  fnzi_krn_array **outputs;
  fnz_arg *args;
  *call = (fnzi_krn_call){.ctx = m->ws->ctx,
                          .stock = &m->ws->machine->stock,
                          .op = m->node->op,
                          .expected = m->expected,
                          .nexpected = m->nresults,
                          .target = FNZ_DTYPE_COUNT,
                          .kernels = m->ws->machine->kernels,
                          .team = m->ws->machine->team,
                          .by_data = scalar_arguments(m)};
  const fnz_request from = {m->node->op, m->args, m->node->op->nparams, m->expected,
                            m->node->source};
  FNZI_NEW(m->arena, m->node->op->nparams, &args);
  FNZI_NEW(m->arena, m->nresults, &outputs);
  FNZ_TRY(fnzi_meta_args_fill(call, &from, args));
  call->args = args;
  FNZ_TRY(shape_known(m, call, row, outputs, fits));
  call->outputs = outputs;
  call->noutputs = call->capacity = m->nresults;
  call->has_data = true;
  call->row = row;
  return FNZ_OK;
}

static fnz_status make_kernel(builder *m, const fnzi_kernel *row, fnzi_stp_thunk *thunk,
                              bool *fits) {
  enum { MOST = 32 }; /* arguments that have a bit */
  fnzi_krn_call *call = &thunk->u.kernel.call;
  *thunk = (fnzi_stp_thunk){.kind = FNZI_STP_THUNK_KERNEL, .node = thunk->node};
  FNZ_TRY(call_fill_call(m, row, call, fits));
  thunk->u.kernel.kernel = thunk->u.kernel.call.kernels->runs[row->run];
  int64_t most = -1; /* elements: of several weights it is the largest one */
  for (uint32_t i = 0; i < call->op->nparams && i < MOST; i++) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(&call->args[i]);
    const unsigned char *start = a ? weight_start(m, a) : NULL;
    if (!start || fnzi_krn_array_numel(a) <= most)
      continue;
    if (!thunk->u.kernel.prepared)
      FNZI_NEW(m->arena, 1, &thunk->u.kernel.prepared);
    *thunk->u.kernel.prepared = (fnzi_stp_prepared){.storage = a->storage, .start = start};
    call->lasting = 1u << i;
    most = fnzi_krn_array_numel(a);
  }
  return FNZ_OK;
}

/* --- Other operators -------------------------------------------------------------------------- */

/* Makes a kernel's call. If the node has pending scalars, it is left to the interpreter if its
 * shape rule needs their values or rejects their kind. */
static fnz_status try_kernel(builder *m, const fnzi_kernel *row, fnzi_stp_thunk *thunk,
                             bool *fits) {
  const fnz_error had = m->ws->ctx->error;
  fnzi_stp_thunk kernel_thunk = *thunk;
  *fits = false;
  fnz_status status = make_kernel(m, row, &kernel_thunk, fits);
  if (status != FNZ_OK && (fnzi_is_final(status) || !scalar_arguments(m)))
    return status;
  m->ws->ctx->error = had;
  *fits = *fits && status == FNZ_OK;
  *thunk = *fits ? kernel_thunk : *thunk;
  return FNZ_OK;
}

/* Lists whose lengths no program names are the interpreter's business, and so are numbers. */
static fnz_status make_act(builder *m, fnzi_stp_thunk *thunk) {
  bool fits = false, any_tensor;
  *thunk = (fnzi_stp_thunk){.kind = FNZI_STP_THUNK_INTERPRET, .node = thunk->node};
  if (m->node->op && fnzi_run_node_writes(m->node))
    return fnzi_fail(m->ws->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "%s writes an argument; functionalize the program first or run the original",
                     m->node->op->name);
  if (!is_plain(m))
    return FNZ_OK;
  FNZ_TRY(read_node(m));
  any_tensor = m->nresults == 0;
  for (size_t k = 0; k < m->nresults; k++)
    any_tensor = any_tensor || m->results[k].tag == FNZ_ARG_VALUE;
  if (m->has_late || !any_tensor)
    return FNZ_OK;
  const fnzi_kernel *row = in_place_row(m);
  if (row)
    FNZ_TRY(try_kernel(m, row, thunk, &fits));
  else if (!scalar_arguments(m))
    FNZ_TRY(fnzi_check_uncast(m->ws->ctx, m->node->op, m->args, call_geometry_of, NULL));
  if (fits || scalar_arguments(m) || (row && !m->by_data))
    return FNZ_OK;
  bool is_list = m->node->op->nreturns == 1 && m->node->op->returns[0].is_list;
  if (is_list && !fnzi_foreach_element(m->node->op))
    return FNZ_OK;
  *thunk = (fnzi_stp_thunk){.kind = FNZI_STP_THUNK_APPLY, .node = thunk->node};
  thunk->u.apply.request =
      (fnz_request){m->node->op, m->args, m->node->op->nparams, m->expected, m->node->source};
  thunk->u.apply.count = m->nresults;
  FNZI_NEW(m->arena, m->nresults, &thunk->u.apply.handles);
  FNZI_NEW(m->arena, m->nresults, &thunk->u.apply.outputs);
  for (size_t k = 0; k < m->nresults; k++)
    if (m->results[k].tag == FNZ_ARG_VALUE)
      thunk->u.apply.outputs[k] = m->b->values[m->results[k].u.value];
  return FNZ_OK;
}

/* --- Nodes without a step --------------------------------------------------------------------- */
/* Lowers a value. Without a location it gets an array without memory. */
static fnz_status lower_shape(void *user, fnz_arg *arg) {
  builder *m = user;
  const fnz_geometry *g = fnzi_value_at(m->b->program, 0, arg->u.value)->geometry;
  fnzi_krn_array *array = m->b->values[arg->u.value];
  if (!array)
    FNZ_TRY(add_unread(m, g, fnzi_dtype(g->dtype)->bytes, &array));
  arg->u.value = fnzi_krn_array_handle(array);
  return FNZ_OK;
}

/* Checks a node whose elements the plan moves without asking its operator, which may take no such
 * arguments. */
static fnz_status check_shape(builder *m) {
  fnzi_krn_call call;
  bool fits;
  const fnzi_stp_kind_facts *shaped = shaped_of(m);
  if (shaped && shaped->has_fit)
    return FNZ_OK;
  const fnzi_kernel *row =
      m->node->op ? fnzi_kernel_find(m->ws->machine->kernels, m->node->op) : NULL;
  if (!row || !is_plain(m) || row->run == FNZI_RUN_decomposed)
    return FNZ_OK;
  FNZ_TRY(read_node(m));
  return call_fill_call(m, row, &call, &fits);
}

fnz_status fnzi_stp_shape_check(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t node) {
  builder m = {.ws = ws,
               .b = b,
               .arena = &ws->scratch,
               .node = fnzi_node_at(b->program, 0, node),
               .lower = lower_shape};
  fnz_status status = check_shape(&m);
  fnzi_arena_reset(&ws->scratch);
  return fnzi_stp_at_node(ws, b, node, status);
}

/* Makes the call of a node with a kernel, for a caller that runs it by other means. Its values have
 * arrays. */
static fnz_status node_call(builder *m, fnzi_krn_call *out) {
  bool fits = false;
  FNZ_TRY(read_node(m));
  if (m->has_late)
    return fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, "", "%s: an operand has no place",
                     m->node->op->name);
  const fnzi_kernel *row = fnzi_meta_row_find(m->ws->machine, m->node->op);
  if (row)
    FNZ_TRY(call_fill_call(m, row, out, &fits));
  if (m->by_data) /* a kernel over fixed sizes: an error about its element types is final */
    return FNZ_UNSUPPORTED;
  return fits ? FNZ_OK
              : fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, "", "%s: it has no kernel that fits",
                          m->node->op->name);
}

fnz_status fnzi_stp_node_call(fnz_workspace *ws, fnzi_stp_binding *b, fnzi_arena *arena,
                              uint32_t node, fnzi_krn_call *out, fnzi_stp_kind_facts **known) {
  builder m = {.ws = ws,
               .b = b,
               .arena = arena,
               .node = fnzi_node_at(b->program, 0, node),
               .lower = lower_value};
  fnz_status status = node_call(&m, out);
  *known = m.known;
  return fnzi_stp_at_node(ws, b, node, status);
}

fnz_status fnzi_stp_call_make(fnz_workspace *ws, fnzi_stp_binding *b, const fnzi_pln_step *step) {
  uint32_t node = step->last;
  builder m = {.ws = ws,
               .b = b,
               .arena = &b->arena,
               .node = fnzi_node_at(b->program, 0, node),
               .lower = lower_value,
               .has_base = step->in_place};
  fnzi_stp_thunk thunk = {.node = node};
  FNZ_TRY(fnzi_stp_at_node(ws, b, node, make_act(&m, &thunk)));
  b->has_interpreted = b->has_interpreted || thunk.kind == FNZI_STP_THUNK_INTERPRET;
  FNZI_PUSH(ws->ctx, &b->thunks, thunk);
  fnzi_krn_call *call = &b->thunks.data[b->thunks.count - 1].u.kernel.call;
  fnzi_stp_scalar_call *scalars;
  if (thunk.kind != FNZI_STP_THUNK_KERNEL || !call->by_data)
    return FNZ_OK;
  FNZ_TRY(fnzi_stp_scalar_call_add(ws, b, node, call, &scalars));
  return ws->exe->device ? fnzi_stp_scalar_cells_add(ws, b, scalars) : FNZ_OK;
}
