/* call.c - makes a node a step of a binding: its kernel's call with arguments and results filled
 * in, or the request to apply an operator.
 *
 * A kernel's call can be repeated if its results have memory before it runs and its shape rule
 * needs no data. Other operators (decompositions, lists, views that no strides describe,
 * data-dependent sizes) are applied like in the interpreter, and their results are copied to their
 * places. Nodes without an operator on tensors are left to the interpreter. */
#include "engine/steps/taken.h"
#include "kernels/meta/evaluate.h"
#include "schema/aten_names.h"

/* A node of a binding, and its step under construction. */
typedef struct maker {
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
  bool is_begun;          /* result 0 holds argument 0 already */
  bool waits;             /* an argument has no place: it is a result of the interpreter's */
  bool by_data;           /* its shape rule needs data */
  fnzi_stp_shaped *known; /* of nodes like it; NULL */
} maker;

/* --- Arguments ----------------------------------------------------------------------------------
 */
static fnz_status lower_value(void *user, fnz_arg *arg) {
  maker *m = user;
  fnzi_krn_array *array = m->b->values[arg->u.value];
  m->waits = m->waits || array == NULL;
  arg->u.value = array ? fnzi_krn_array_handle(array) : 0;
  return FNZ_OK;
}

static fnz_status see_kind(void *user, const fnz_arg *arg) {
  bool *other = user;
  *other = *other || arg->tag == FNZ_ARG_SYMBOL || arg->tag == FNZ_ARG_TOKEN ||
           arg->tag == FNZ_ARG_OBJECT || arg->tag == FNZ_ARG_GRAPH;
  return FNZ_OK;
}

/* Returns a bit per argument that is a data-dependent scalar. */
static uint32_t taken_by(const maker *m) {
  return m->b->likes ? fnzi_pln_numbers_taken(fnzi_graph_at(m->b->program, 0), m->node) : 0;
}

/* Sets *out if the node is an operator on tensors, scalars and strings. */
static fnz_status is_plain(const maker *m, bool *out) {
  const fnzi_node *node = m->node;
  bool other = node->op == NULL || fnzi_op_is_item(node->op);
  *out = taken_by(m) != 0;
  if (*out)
    return FNZ_OK;
  FNZ_TRY(fnzi_args_visit(node->args, node->nargs, see_kind, &other));
  *out = !other;
  return FNZ_OK;
}

static fnz_status read_node(maker *m) {
  fnzi_run_state *run = &m->lowering;
  *run = (fnzi_run_state){.ctx = m->ws->ctx, .program = m->b->program, .scratch = *m->arena};
  run->graph = fnzi_graph_at(m->b->program, 0);
  run->numbers = m->b->likes;
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

/* --- Which kernels can be called again and again ------------------------------------------------
 */
/* If dropout drops elements, its result is no window of its argument. */
static bool is_dropout(const fnzi_kernel *row) {
  return fnzi_kernel_facts(row)->access == FNZI_ACCESS_DROPOUT;
}

/* Returns the table row of a kernel that can fill results in existing memory; NULL if there is
 * none. */
static const fnzi_kernel *placed_row(const maker *m) {
  const fnz_op *op = m->node->op;
  if (op->kind != FNZI_KIND_FUNCTIONAL)
    return NULL;
  const fnzi_kernel *row = fnzi_meta_row_find(m->ws->machine, op);
  bool fits = row && (row->memory != FNZI_MEMORY_VIEW || is_dropout(row)) &&
              row->run != FNZI_RUN_decomposed && row->run != FNZI_RUN_registered;
  /* as_strided_scatter straightens its result, which is then elsewhere. */
  if (!fits || op == &fnzi_ops[FNZI_ATEN_as_strided_scatter])
    return NULL;
  if (row->memory == FNZI_MEMORY_BASE && !m->is_begun)
    return NULL;
  return row;
}

/* --- A kernel -----------------------------------------------------------------------------------
 */
static fnz_status keep_waste(maker *m, fnzi_krn_array *array) {
  FNZI_PUSH(m->ws->ctx, &m->b->wasted, array);
  return FNZ_OK;
}

/* Allocates memory for a result that nothing needs. */
static fnz_status waste(maker *m, const fnzi_krn_array *like, fnzi_krn_array **out) {
  fnz_workspace *ws = m->ws;
  FNZ_TRY(fnzi_krn_array_create(ws->ctx, &ws->machine->stock, &like->geometry, like->cell, out));
  fnz_status status = fnzi_krn_array_allocate(ws->ctx, *out, false);
  if (status == FNZ_OK)
    status = keep_waste(m, *out);
  if (status != FNZ_OK)
    fnzi_krn_array_release(ws->ctx, *out);
  return status;
}

/* Takes the results of the shape rule. Values that are needed have arrays already. *fits is false
 * if the node has another number of results. */
static fnz_status take_results(maker *m, fnzi_krn_call *shaped, fnzi_krn_array **outputs,
                               bool *fits) {
  *fits = shaped->noutputs == m->nresults;
  for (size_t k = 0; *fits && k < m->nresults; k++) {
    outputs[k] = NULL;
    if (shaped->outputs[k] == NULL)
      continue;
    if (m->results[k].tag == FNZ_ARG_VALUE)
      outputs[k] = m->b->values[m->results[k].u.value];
    if (!outputs[k] && m->lower == lower_value)
      FNZ_TRY(waste(m, shaped->outputs[k], &outputs[k]));
  }
  return FNZ_OK;
}

/* Says that the results of the shape rule have the recorded types and sizes. */
static bool is_recorded(const maker *m, const fnzi_krn_call *shaped) {
  bool same = shaped->noutputs == m->nresults;
  for (size_t k = 0; same && k < m->nresults; k++) {
    const fnz_geometry *want = m->expected[k];
    const fnzi_krn_array *have = shaped->outputs[k];
    same = !want ||
           (have && have->geometry.dtype == want->dtype && fnzi_same_sizes(&have->geometry, want));
  }
  return same;
}

/* Runs the shape rule on arguments without data; a rule that needs data fails. If the results
 * differ from the recorded types, the rule runs again and reports that. */
static fnz_status shape_call(maker *m, fnzi_krn_call *call, const fnzi_kernel *row,
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
  if (!is_recorded(m, call)) {
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
static const unsigned char *weight_start(const maker *m, const fnzi_krn_array *a) {
  const fnzi_stp_binding *b = m->b;
  uint32_t at = fnzi_stp_buffer_of(b, a->storage);
  if (at == FNZI_PLN_NONE || b->plan.buffers.data[at].kind != FNZI_PLN_CONST)
    return NULL;
  uint32_t k = b->plan.buffers.data[at].of;
  k = b->is_body ? b->weights[k] : k;
  if (k == FNZI_PLN_NONE)
    return NULL;
  const fnzi_stp_input *in = &m->ws->exe->inputs[k];
  return !in->weight ? NULL : in->copy ? in->copy : fnzi_blob_data(in->weight->blob);
}

static fnz_status make_own(maker *m, fnzi_stp_act *act) {
  enum { MOST = 32 }; /* arguments that have a bit */
  fnzi_krn_call *call = &act->u.kernel.call;
  for (uint32_t i = 0; i < call->op->nparams && i < MOST && !act->u.kernel.own; i++) {
    const fnzi_krn_array *a = fnzi_krn_arg_array(&call->args[i]);
    const unsigned char *start = a ? weight_start(m, a) : NULL;
    if (!start)
      continue;
    FNZI_NEW(m->arena, 1, &act->u.kernel.own);
    *act->u.kernel.own = (fnzi_stp_own){.storage = a->storage, .start = start};
    call->lasting = 1u << i;
  }
  return FNZ_OK;
}

void fnzi_stp_owns_end(fnz_workspace *ws, fnzi_stp_binding *b) {
  for (size_t i = 0; i < b->acts.count; i++) {
    const fnzi_stp_act *act = &b->acts.data[i];
    fnzi_krn_kept *kept =
        act->kind == FNZI_STP_ACT_KERNEL && act->u.kernel.own ? &act->u.kernel.own->kept : NULL;
    if (kept && kept->data)
      kept->end(ws->ctx, kept->data);
  }
}

static const fnz_geometry *geometry_of(void *user, const fnz_arg *arg) {
  (void)user;
  return &fnzi_krn_arg_array(arg)->geometry;
}

/* Fills in the arrays of the results. Returns false if a value has no array. */
static bool have_results(const maker *m, fnzi_krn_array **outputs) {
  bool have = true;
  for (size_t k = 0; have && k < m->nresults; k++) {
    bool is_value = m->results[k].tag == FNZ_ARG_VALUE;
    outputs[k] = is_value ? m->b->values[m->results[k].u.value] : NULL;
    have = outputs[k] != NULL;
  }
  return have;
}

static bool are_all(fnzi_krn_array *const *outputs, size_t count) {
  for (size_t k = 0; k < count; k++)
    if (!outputs[k])
      return false;
  return true;
}

/* Returns the facts about the kind of the node. NULL for data-dependent sizes, with which arrays
 * differ from the program. */
static fnzi_stp_shaped *shaped_of(const maker *m) {
  const fnzi_stp_shapes *shapes = m->b->mode == FNZI_STP_INTERPRETED ? NULL : m->b->shapes;
  size_t n = (size_t)(m->node - fnzi_graph_at(m->b->program, 0)->nodes.data);
  return shapes ? &shapes->of[shapes->kinds.of[n]] : NULL;
}

static fnz_status run_shape(maker *m, fnzi_krn_call *call, const fnzi_kernel *row,
                            fnzi_krn_array **outputs, bool *fits) {
  enum { ROOM = 64 };
  call->capacity = m->nresults < ROOM ? ROOM : m->nresults;
  FNZI_NEW(m->arena, call->capacity, &call->outputs);
  FNZ_TRY(fnzi_check_uncast(m->ws->ctx, m->node->op, m->args, geometry_of, NULL));
  fnzi_arena_init(&call->scratch, m->ws->ctx);
  fnz_status status = shape_call(m, call, row, outputs, fits);
  fnzi_meta_outputs_release(call);
  fnzi_arena_free(&call->scratch);
  return status;
}

/* Facts that depend on arguments, types and sizes alone are looked up once for all nodes of a kind.
 * If a node has all its results, it needs nothing else. */
static fnz_status shape_known(maker *m, fnzi_krn_call *call, const fnzi_kernel *row,
                              fnzi_krn_array **outputs, bool *fits) {
  bool have = have_results(m, outputs);
  fnzi_stp_shaped *shaped = shaped_of(m);
  *fits = have && shaped && shaped->fits;
  if (!*fits)
    FNZ_TRY(run_shape(m, call, row, outputs, fits));
  if (shaped && have && *fits && are_all(outputs, m->nresults))
    shaped->fits = true;
  m->known = shaped && shaped->fits ? shaped : NULL;
  return FNZ_OK;
}

/* The call of the kernel, with the results that the values have. The shape rule runs here, and
 * never again where all numbers are known. *fits false: it cannot run before there are data, or
 * gives other results than the node has. */
static fnz_status fill_call(maker *m, const fnzi_kernel *row, fnzi_krn_call *call, bool *fits) {
  fnzi_krn_array **outputs;
  fnz_arg *args;
  *call = (fnzi_krn_call){.ctx = m->ws->ctx,
                          .stock = &m->ws->machine->stock,
                          .op = m->node->op,
                          .expected = m->expected,
                          .nexpected = m->nresults,
                          .target = FNZ_DTYPE_COUNT,
                          .kernels = m->ws->machine->kernels,
                          .threads = m->ws->machine->threads,
                          .by_data = taken_by(m)};
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

static fnz_status make_kernel(maker *m, const fnzi_kernel *row, fnzi_stp_act *act, bool *fits) {
  *act = (fnzi_stp_act){.kind = FNZI_STP_ACT_KERNEL, .node = act->node};
  FNZ_TRY(fill_call(m, row, &act->u.kernel.call, fits));
  act->u.kernel.kernel = act->u.kernel.call.kernels->runs[row->run];
  return make_own(m, act);
}

/* --- Other operators ----------------------------------------------------------------------------
 */
static fnz_status make_apply(maker *m, fnzi_stp_act *act) {
  *act = (fnzi_stp_act){.kind = FNZI_STP_ACT_APPLY, .node = act->node};
  act->u.apply.request =
      (fnz_request){m->node->op, m->args, m->node->op->nparams, m->expected, m->node->source};
  act->u.apply.count = m->nresults;
  FNZI_NEW(m->arena, m->nresults, &act->u.apply.handles);
  FNZI_NEW(m->arena, m->nresults, &act->u.apply.outputs);
  for (size_t k = 0; k < m->nresults; k++)
    if (m->results[k].tag == FNZ_ARG_VALUE)
      act->u.apply.outputs[k] = m->b->values[m->results[k].u.value];
  return FNZ_OK;
}

/* Makes a call with pending scalars. A node is left to the interpreter if its shape rule needs
 * their values or rejects their kind. */
static fnz_status make_taking(maker *m, fnzi_stp_act *act) {
  const fnz_error had = m->ws->ctx->error;
  const fnzi_kernel *row = placed_row(m);
  fnzi_stp_act made = *act;
  bool fits = false;
  fnz_status status = row ? make_kernel(m, row, &made, &fits) : FNZ_OK;
  if (status == FNZ_NO_MEMORY)
    return status;
  m->ws->ctx->error = had;
  *act = status == FNZ_OK && fits ? made : *act;
  return FNZ_OK;
}

static bool any_tensor(const maker *m) {
  for (size_t k = 0; k < m->nresults; k++)
    if (m->results[k].tag == FNZ_ARG_VALUE)
      return true;
  return false;
}

/* Lists whose lengths no program names are the interpreter's business, and so are numbers. */
static fnz_status make_act(maker *m, fnzi_stp_act *act) {
  bool plain, fits = true;
  *act = (fnzi_stp_act){.kind = FNZI_STP_ACT_INTERPRET, .node = act->node};
  if (m->node->op && fnzi_run_node_writes(m->node))
    return fnzi_fail(m->ws->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "%s writes an argument; functionalize the program first or run the original",
                     m->node->op->name);
  FNZ_TRY(is_plain(m, &plain));
  if (!plain)
    return FNZ_OK;
  FNZ_TRY(read_node(m));
  if (m->waits || (m->nresults > 0 && !any_tensor(m)))
    return FNZ_OK;
  if (taken_by(m))
    return make_taking(m, act);
  const fnzi_kernel *row = placed_row(m);
  if (!row)
    FNZ_TRY(fnzi_check_uncast(m->ws->ctx, m->node->op, m->args, geometry_of, NULL));
  if (row) {
    fnzi_stp_act made = *act;
    FNZ_TRY(make_kernel(m, row, &made, &fits));
    *act = fits ? made : *act;
    if (fits || !m->by_data)
      return FNZ_OK;
  }
  bool is_list = m->node->op->nreturns == 1 && m->node->op->returns[0].is_list;
  return is_list && !fnzi_foreach_element(m->node->op) ? FNZ_OK : make_apply(m, act);
}

/* --- Nodes without a step ------------------------------------------------------------------------
 */
/* Makes an array without memory for a value that has no place. */
static fnz_status stand_in(maker *m, const fnz_geometry *g, fnz_arg *arg) {
  fnz_workspace *ws = m->ws;
  fnzi_krn_array *made;
  FNZ_TRY(
      fnzi_krn_array_create(ws->ctx, &ws->machine->stock, g, fnzi_dtype(g->dtype)->bytes, &made));
  fnz_status status = keep_waste(m, made);
  if (status != FNZ_OK)
    fnzi_krn_array_release(ws->ctx, made);
  arg->u.value = fnzi_krn_array_handle(made);
  return status;
}

static fnz_status lower_shape(void *user, fnz_arg *arg) {
  maker *m = user;
  const fnz_geometry *g = fnzi_value_at(m->b->program, 0, arg->u.value)->geometry;
  fnzi_krn_array *array = m->b->values[arg->u.value];
  if (!array)
    return stand_in(m, g, arg);
  arg->u.value = fnzi_krn_array_handle(array);
  return FNZ_OK;
}

/* A plan moves elements without asking the operator, which may take no such arguments. */
static fnz_status check_shape(maker *m) {
  fnzi_krn_call call;
  bool plain, fits;
  const fnzi_stp_shaped *shaped = shaped_of(m);
  if (shaped && shaped->fits)
    return FNZ_OK;
  const fnzi_kernel *row =
      m->node->op ? fnzi_kernel_find(m->ws->machine->kernels, m->node->op) : NULL;
  FNZ_TRY(is_plain(m, &plain));
  if (!plain || !row || row->run == FNZI_RUN_decomposed)
    return FNZ_OK;
  FNZ_TRY(read_node(m));
  return fill_call(m, row, &call, &fits);
}

fnz_status fnzi_stp_shape_check(fnz_workspace *ws, fnzi_stp_binding *b, uint32_t node) {
  maker m = {.ws = ws,
             .b = b,
             .arena = &ws->scratch,
             .node = fnzi_node_at(b->program, 0, node),
             .lower = lower_shape};
  char place[160];
  fnz_status status = check_shape(&m);
  fnzi_arena_reset(&ws->scratch);
  if (status == FNZ_OK)
    return FNZ_OK;
  fnzi_stp_place_of(b, node, place);
  return fnzi_at(ws->ctx, status, "%s", place);
}

/* Makes the call of a node with a kernel, for a caller that runs it by other means. Its values have
 * arrays. */
static fnz_status node_call(maker *m, fnzi_krn_call *out) {
  bool fits = false;
  FNZ_TRY(read_node(m));
  if (m->waits)
    return fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, "", "%s: an operand has no place",
                     m->node->op->name);
  const fnzi_kernel *row = fnzi_meta_row_find(m->ws->machine, m->node->op);
  if (row)
    FNZ_TRY(fill_call(m, row, out, &fits));
  if (m->by_data) /* a kernel over fixed sizes: an error about its element types is final */
    return FNZ_UNSUPPORTED;
  return fits ? FNZ_OK
              : fnzi_fail(m->ws->ctx, FNZ_CLASS_INTERNAL, "", "%s: it has no kernel that fits",
                          m->node->op->name);
}

fnz_status fnzi_stp_node_call(fnz_workspace *ws, fnzi_stp_binding *b, fnzi_arena *arena,
                              uint32_t node, fnzi_krn_call *out, fnzi_stp_shaped **known) {
  maker m = {.ws = ws,
             .b = b,
             .arena = arena,
             .node = fnzi_node_at(b->program, 0, node),
             .lower = lower_value};
  char place[160];
  fnz_status status = node_call(&m, out);
  *known = m.known;
  if (status == FNZ_OK)
    return FNZ_OK;
  fnzi_stp_place_of(b, node, place);
  return fnzi_at(ws->ctx, status, "%s", place);
}

fnz_status fnzi_stp_call_make(fnz_workspace *ws, fnzi_stp_binding *b, const fnzi_pln_step *step) {
  uint32_t node = step->node;
  maker m = {.ws = ws,
             .b = b,
             .arena = &b->arena,
             .node = fnzi_node_at(b->program, 0, node),
             .lower = lower_value,
             .is_begun = step->in_place};
  fnzi_stp_act act = {.node = node};
  char place[160];
  fnz_status status = make_act(&m, &act);
  if (status != FNZ_OK) {
    fnzi_stp_place_of(b, node, place);
    return fnzi_at(ws->ctx, status, "%s", place);
  }
  b->interprets = b->interprets || act.kind == FNZI_STP_ACT_INTERPRET;
  FNZI_PUSH(ws->ctx, &b->acts, act);
  fnzi_krn_call *call = &b->acts.data[b->acts.count - 1].u.kernel.call;
  fnzi_stp_taking *taking;
  if (act.kind != FNZI_STP_ACT_KERNEL || !call->by_data)
    return FNZ_OK;
  FNZ_TRY(fnzi_stp_taking_add(ws, b, node, call, &taking));
  return ws->exe->device ? fnzi_stp_taking_elements(ws, b, taking) : FNZ_OK;
}
