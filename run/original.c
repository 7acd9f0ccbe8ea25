/* original.c - runs any program on aliasing memory: the definition of what a program means.
 *
 * A tensor is a window (dtype, sizes, strides, offset) into memory. Views make another window,
 * writes put elements into memory, and everything else is computed by the backend on dense values
 * that are gathered before and scattered afterwards. Slow and plain on purpose. */
#include "run/original.h"

/* --- Windows -------------------------------------------------------------------------------------
 */

void fnzi_pane_of(const fnz_geometry *g, fnzi_pane *out) {
  out->dtype = g->dtype;
  out->rank = g->rank;
  out->is_conj = g->is_conj;
  out->is_neg = g->is_neg;
  out->offset = g->offset;
  for (uint32_t d = 0; d < g->rank; d++) {
    out->sizes[d] = g->sizes[d];
    out->strides[d] = g->strides[d];
  }
}

fnz_geometry fnzi_pane_geometry(const fnzi_pane *w) {
  return (fnz_geometry){.dtype = w->dtype,
                        .rank = w->rank,
                        .is_conj = w->is_conj,
                        .is_neg = w->is_neg,
                        .offset = w->offset,
                        .sizes = w->sizes,
                        .strides = w->strides};
}

void fnzi_pane_dense(fnzi_pane *w) {
  w->offset = 0;
  fnzi_contiguous_strides(w->sizes, w->rank, w->strides);
}

/* As in programs, a size of 0 counts as 1, so that no product of sizes leaves 64 bits. */
static bool sizes_fit(const fnzi_pane *w) {
  int64_t numel = 1;
  for (uint32_t d = 0; d < w->rank; d++)
    if (w->sizes[d] < 0 || w->strides[d] < 0 ||
        !fnzi_mul_i64(numel, w->sizes[d] == 0 ? 1 : w->sizes[d], &numel))
      return false;
  return w->offset >= 0;
}

/* Whatever a rule has made of its arguments: no tensor shows more than its memory. */
static fnz_status check_pane(fnzi_interp *in, const fnzi_memory *memory, const fnzi_pane *w) {
  size_t cell = in->run.backend->cell_bytes(in->run.backend->self, w->dtype);
  fnz_geometry g = fnzi_pane_geometry(w);
  int64_t low, high;
  if (!sizes_fit(w) || !fnzi_extent(&g, &low, &high))
    return fnzi_fail(in->run.ctx, FNZ_CLASS_OVERFLOW, "", "the sizes of a tensor leave 64 bits");
  if (low >= 0 && (size_t)high <= memory->bytes / cell)
    return FNZ_OK;
  return fnzi_fail(in->run.ctx, FNZ_CLASS_BOUNDS, "",
                   "a tensor reaches from element %lld to %lld of a memory of %zu", (long long)low,
                   (long long)high, memory->bytes / cell);
}

static fnz_status keep_geometry(fnzi_interp *in, const fnzi_memory *memory, const fnzi_pane *w,
                                const fnz_geometry **out) {
  fnz_geometry *g;
  int64_t *numbers;
  FNZ_TRY(check_pane(in, memory, w));
  FNZI_NEW(&in->run.arena, 1, &g);
  FNZI_NEW(&in->run.arena, 2 * (size_t)w->rank, &numbers);
  memcpy(numbers, w->sizes, w->rank * sizeof *numbers);
  memcpy(numbers + w->rank, w->strides, w->rank * sizeof *numbers);
  *g = fnzi_pane_geometry(w);
  g->sizes = numbers;
  g->strides = numbers + w->rank;
  *out = g;
  return FNZ_OK;
}

/* --- Tensors -------------------------------------------------------------------------------------
 */

static fnz_backend *backend_of(fnzi_interp *in) {
  return in->run.backend;
}

fnz_status fnzi_eager_create(fnzi_interp *in, fnzi_memory *memory, const fnzi_pane *w,
                             fnzi_eager **out) {
  fnzi_eager *t;
  FNZI_NEW(&in->run.arena, 1, &t);
  FNZ_TRY(keep_geometry(in, memory, w, &t->g));
  FNZI_PUSH(in->run.ctx, &in->all, t);
  t->memory = memory;
  memory->users++;
  *out = t;
  return FNZ_OK;
}

void fnzi_eager_forget(fnzi_interp *in, fnzi_eager *t) {
  if (t->cached != 0)
    backend_of(in)->release(backend_of(in)->self, t->cached);
  t->cached = 0;
}

fnz_status fnzi_eager_reshape(fnzi_interp *in, fnzi_eager *t, const fnzi_pane *w) {
  fnzi_eager_forget(in, t);
  return keep_geometry(in, t->memory, w, &t->g);
}

static void let_go(fnzi_interp *in, fnzi_eager *t) {
  if (t == NULL || t->users == 0 || --t->users > 0)
    return;
  fnzi_eager_forget(in, t);
  if (--t->memory->users == 0)
    fnzi_memory_drop(&in->run, t->memory);
}

fnz_status fnzi_eager_unary(fnzi_interp *in, const char *name, fnz_handle value, fnz_dtype dtype,
                            fnz_handle *out) {
  const fnz_op *op = fnz_op_find(name);
  if (op == NULL)
    return fnzi_fail(in->run.ctx, FNZ_CLASS_INTERNAL, "", "there is no operator %s", name);
  fnz_arg args[8] = {{.tag = FNZ_ARG_VALUE, .u.value = value}}, *filled;
  if (dtype != FNZ_DTYPE_COUNT)
    args[1] = (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = dtype};
  FNZ_TRY(fnzi_lower_args(&in->run, op, args, 2, NULL, NULL, &filled));
  fnz_geometry g = *backend_of(in)->geometry(backend_of(in)->self, value);
  if (dtype != FNZ_DTYPE_COUNT)
    g.dtype = dtype;
  const fnz_geometry *expected[1] = {&g};
  fnz_request call = {op, filled, op->nparams, expected, ""};
  return fnzi_run_apply(&in->run, &call, out, 1);
}

/* Conjugates and negates a value (owned) as the lazy bits of a tensor say: both ways the same. */
static fnz_status resolve_bits(fnzi_interp *in, const fnz_geometry *g, fnz_handle *owned) {
  static const char *const names[2] = {"_conj_copy", "_neg_view_copy"};
  bool wanted[2] = {g->is_conj, g->is_neg};
  for (int i = 0; i < 2; i++) {
    if (!wanted[i])
      continue;
    fnz_handle resolved = 0;
    fnz_status status = fnzi_eager_unary(in, names[i], *owned, FNZ_DTYPE_COUNT, &resolved);
    backend_of(in)->release(backend_of(in)->self, *owned);
    *owned = resolved;
    FNZ_TRY(status);
  }
  return FNZ_OK;
}

static fnz_status upload(fnzi_interp *in, const fnzi_eager *t, fnz_handle *out) {
  fnz_geometry plain = *t->g;
  size_t bytes, cell = backend_of(in)->cell_bytes(backend_of(in)->self, plain.dtype);
  plain.is_conj = plain.is_neg = false;
  plain.symbols = NULL;
  FNZ_TRY(fnzi_dense_bytes(&in->run, &plain, &bytes));
  unsigned char *dense = fnzi_resize(in->run.ctx, NULL, 0, bytes + 1);
  if (dense == NULL)
    return fnzi_no_memory(in->run.ctx);
  fnzi_cells_gather(&plain, t->memory->cells, cell, dense);
  fnz_status status = backend_of(in)->upload(backend_of(in)->self, in->run.ctx, &plain, dense, out);
  fnzi_free(in->run.ctx, dense, bytes + 1);
  return status;
}

fnz_status fnzi_eager_value(fnzi_interp *in, fnzi_eager *t, fnz_handle *out) {
  if (t->memory->cells == NULL)
    return fnzi_fail(in->run.ctx, FNZ_CLASS_REF, "", "the file has no data for a weight used here");
  if (t->cached == 0 || t->cached_version != t->memory->version) {
    fnz_handle value = 0;
    fnzi_eager_forget(in, t);
    FNZ_TRY(upload(in, t, &value));
    FNZ_TRY(resolve_bits(in, t->g, &value));
    t->cached = value;
    t->cached_version = t->memory->version;
  }
  *out = t->cached;
  return FNZ_OK;
}

/* The elements of a value to where the geometry says. */
static fnz_status deposit(fnzi_interp *in, const fnz_geometry *g, fnz_handle value,
                          fnzi_memory *memory) {
  size_t bytes, cell = backend_of(in)->cell_bytes(backend_of(in)->self, g->dtype);
  const fnz_geometry *has = backend_of(in)->geometry(backend_of(in)->self, value);
  if (has->dtype != g->dtype || fnz_geometry_numel(has) != fnz_geometry_numel(g))
    return fnzi_fail(in->run.ctx, FNZ_CLASS_BOUNDS, "",
                     "%lld elements of %s go to a tensor of %lld of %s",
                     (long long)fnz_geometry_numel(has), fnzi_dtype(has->dtype)->name,
                     (long long)fnz_geometry_numel(g), fnzi_dtype(g->dtype)->name);
  if (memory->cells == NULL)
    return fnzi_fail(in->run.ctx, FNZ_CLASS_REF, "",
                     "the file has no data for a weight written "
                     "here");
  FNZ_TRY(fnzi_dense_bytes(&in->run, g, &bytes));
  unsigned char *dense = fnzi_resize(in->run.ctx, NULL, 0, bytes + 1);
  if (dense == NULL)
    return fnzi_no_memory(in->run.ctx);
  fnz_status status = backend_of(in)->download(backend_of(in)->self, in->run.ctx, value, dense);
  if (status == FNZ_OK)
    fnzi_cells_scatter(g, dense, cell, memory->cells);
  fnzi_free(in->run.ctx, dense, bytes + 1);
  return status;
}

fnz_status fnzi_eager_store(fnzi_interp *in, const fnzi_pane *w, fnz_handle value,
                            fnzi_eager **out) {
  fnz_geometry g = fnzi_pane_geometry(w);
  int64_t low, high;
  fnzi_memory *memory;
  if (!fnzi_extent(&g, &low, &high) || low < 0)
    return fnzi_fail(in->run.ctx, FNZ_CLASS_BOUNDS, "", "a result does not fit its memory");
  FNZ_TRY(fnzi_memory_create(&in->run, w->dtype, high, &memory));
  FNZ_TRY(deposit(in, &g, value, memory));
  return fnzi_eager_create(in, memory, w, out);
}

fnz_status fnzi_eager_write(fnzi_interp *in, fnzi_eager *t, fnz_handle owned) {
  fnz_handle value = owned;
  fnz_status status = resolve_bits(in, t->g, &value);
  if (status == FNZ_OK)
    status = deposit(in, t->g, value, t->memory);
  t->memory->version++;
  if (value != 0)
    backend_of(in)->release(backend_of(in)->self, value);
  return status;
}

/* --- Computing -----------------------------------------------------------------------------------
 */

fnz_status fnzi_act_tensor(fnzi_act *s, const fnz_arg *arg, fnzi_eager **out) {
  *out = arg->tag == FNZ_ARG_VALUE ? s->in->tensors[arg->u.value] : NULL;
  if (*out != NULL)
    return FNZ_OK;
  return fnzi_fail(s->ctx, FNZ_CLASS_TYPE, "", "%s needs a tensor where there is none",
                   s->op->name);
}

static fnz_status lower_value(void *user, fnz_arg *arg) {
  fnzi_interp *in = user;
  fnzi_eager *t = in->tensors[arg->u.value];
  if (t == NULL)
    return fnzi_fail(in->run.ctx, FNZ_CLASS_REF, "", "an argument is undefined");
  return fnzi_eager_value(in, t, &arg->u.value);
}

fnz_status fnzi_eager_apply(fnzi_interp *in, const fnz_op *op, const fnz_arg *args, size_t nargs,
                            const fnz_geometry *const *expected, fnz_handle *outputs,
                            size_t count) {
  fnz_arg *lowered;
  FNZ_TRY(fnzi_lower_args(&in->run, op, args, nargs, lower_value, in, &lowered));
  fnz_request call = {op, lowered, op->nparams, expected, ""};
  return fnzi_run_apply(&in->run, &call, outputs, count);
}

const fnz_geometry *fnzi_act_recorded(const fnzi_act *s, const fnz_arg *results, size_t k) {
  if (results[k].tag != FNZ_ARG_VALUE)
    return NULL;
  return s->in->run.graph->values.data[results[k].u.value].geometry;
}

/* New memory for a computed value. The recorded strides are those of eager. */
static fnz_status keep_result(fnzi_act *s, const fnz_geometry *recorded, fnz_handle value) {
  const fnz_geometry *g = backend_of(s->in)->geometry(backend_of(s->in)->self, value);
  fnzi_pane w;
  fnzi_eager *t;
  fnzi_pane_of(g, &w);
  if (recorded != NULL && fnzi_same_sizes(recorded, g))
    fnzi_pane_of(recorded, &w);
  else
    fnzi_pane_dense(&w);
  w.dtype = g->dtype;
  w.is_conj = w.is_neg = false;
  FNZ_TRY(fnzi_eager_store(s->in, &w, value, &t));
  return fnzi_act_push(s, t);
}

fnz_status fnzi_act_compute(fnzi_act *s, const fnz_geometry **expected, size_t count) {
  fnzi_run *run = &s->in->run;
  fnz_handle *handles;
  FNZI_NEW(&run->scratch, count, &handles);
  FNZ_TRY(fnzi_eager_apply(s->in, s->op, s->args, s->op->nparams, expected, handles, count));
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < count; i++) {
    if (status == FNZ_OK)
      status = handles[i] == 0 ? fnzi_act_push(s, NULL) : keep_result(s, expected[i], handles[i]);
    if (handles[i] != 0)
      run->backend->release(run->backend->self, handles[i]);
  }
  return status;
}

static fnz_status compute(fnzi_act *s) {
  fnz_arg *results;
  const fnz_geometry **expected;
  size_t count;
  FNZ_TRY(fnzi_node_results(&s->in->run, s->node, &results, &count));
  FNZI_NEW(&s->in->run.scratch, count, &expected);
  for (size_t i = 0; i < count; i++)
    expected[i] = fnzi_act_recorded(s, results, i);
  return fnzi_act_compute(s, expected, count);
}

/* --- Nodes ---------------------------------------------------------------------------------------
 */

fnz_status fnzi_act_push(fnzi_act *s, fnzi_eager *tensor) {
  if (s->results.count == FNZI_MAX_ARGS)
    return fnzi_fail(s->ctx, FNZ_CLASS_LIMIT, "", "%s has more than %d results", s->op->name,
                     FNZI_MAX_ARGS);
  FNZI_PUSH(s->ctx, &s->results, tensor);
  return FNZ_OK;
}

static fnz_status item(fnzi_act *s) {
  fnzi_eager *t;
  fnz_handle value;
  FNZ_TRY(fnzi_act_tensor(s, &s->args[0], &t));
  FNZ_TRY(fnzi_eager_value(s->in, t, &value));
  return fnzi_run_item(&s->in->run, s->node, value);
}

static fnz_status perform(fnzi_act *s) {
  bool done = false;
  FNZ_TRY(fnzi_act_special(s, &done));
  if (done)
    return FNZ_OK;
  FNZ_TRY(fnzi_act_view(s, &done));
  if (done)
    return FNZ_OK;
  if (fnz_op_is_mutating(s->op))
    return fnzi_op_is_custom(s->op) ? fnzi_act_custom(s) : fnzi_act_write(s);
  bool norm = strcmp(s->op->name, "batch_norm") == 0; /* a new tensor whenever it gets here */
  if (s->op->is_view || (!norm && (s->op->tags & FNZI_TAG_MAYBE_ALIASING) != 0))
    return fnzi_fail(s->ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "the result of %s may share memory, and there is no rule for it", s->op->name);
  if (fnzi_is_item(s->op))
    return item(s);
  return compute(s);
}

/* Binds the results to the values of the node. */
static fnz_status bind_results(fnzi_act *s) {
  fnz_arg *results;
  size_t count;
  FNZ_TRY(fnzi_node_results(&s->in->run, s->node, &results, &count));
  if (count > s->results.count)
    return fnzi_fail(s->ctx, FNZ_CLASS_BOUNDS, "", "%s has %zu results, the program names %zu",
                     s->op->name, s->results.count, count);
  for (size_t i = 0; i < count; i++) {
    fnzi_eager *t = s->results.data[i];
    if (results[i].tag != FNZ_ARG_VALUE || t == NULL)
      continue;
    const fnz_geometry *recorded = fnzi_act_recorded(s, results, i);
    if (recorded != NULL && recorded->symbols == NULL && !fnzi_same_sizes(recorded, t->g))
      return fnzi_fail(s->ctx, FNZ_CLASS_BOUNDS, "",
                       "result %zu of %s has other sizes than the program says", i, s->op->name);
    s->in->tensors[results[i].u.value] = t;
    t->users++;
  }
  return FNZ_OK;
}

static const fnz_geometry *geometry_of(void *user, uint64_t v) {
  fnzi_interp *in = user;
  return in->tensors[v] == NULL ? NULL : in->tensors[v]->g;
}

static fnz_status run_node(fnzi_interp *in, const fnzi_node *node) {
  bool done;
  FNZ_TRY(fnzi_run_number_node(&in->run, node, geometry_of, in, &done));
  if (done)
    return FNZ_OK;
  if (node->op == NULL)
    return fnzi_fail(in->run.ctx, FNZ_CLASS_UNSUPPORTED, "", "cannot run %s", node->target);
  fnzi_act s = {.in = in, .ctx = in->run.ctx, .node = node, .op = node->op};
  fnz_arg *args;
  FNZ_TRY(fnzi_lower_args(&in->run, node->op, node->args, node->nargs, NULL, NULL, &args));
  s.args = args;
  fnz_status status = perform(&s);
  if (status == FNZ_OK)
    status = bind_results(&s);
  FNZI_VEC_FREE(in->run.ctx, &s.results);
  return status;
}

typedef struct ending {
  fnzi_interp *in;
  uint32_t node;
} ending;

static fnz_status end_use(void *user, const fnz_arg *arg) {
  ending *e = user;
  if (arg->tag != FNZ_ARG_VALUE || e->in->run.last[arg->u.value] != e->node)
    return FNZ_OK;
  let_go(e->in, e->in->tensors[arg->u.value]);
  e->in->tensors[arg->u.value] = NULL;
  return FNZ_OK;
}

static fnz_status run_nodes(fnzi_interp *in) {
  const fnzi_graph *g = in->run.graph;
  for (uint32_t i = 0; i < g->nodes.count; i++) {
    const fnzi_node *node = &g->nodes.data[i];
    fnz_status status = run_node(in, node);
    fnzi_arena_free(&in->run.scratch);
    fnzi_arena_init(&in->run.scratch, in->run.ctx);
    if (status != FNZ_OK) {
      char place[160];
      fnzi_node_place(in->run.program, 0, i, place);
      return fnzi_at(in->run.ctx, status, "%s", place);
    }
    ending e = {in, i};
    FNZ_TRY(fnzi_args_visit(node->args, node->nargs, end_use, &e));
    FNZ_TRY(fnzi_args_visit(node->outputs, node->noutputs, end_use, &e));
  }
  return FNZ_OK;
}

/* --- Inputs and results --------------------------------------------------------------------------
 */

static fnz_status make_inputs(fnzi_interp *in) {
  const fnzi_graph *g = in->run.graph;
  FNZI_NEW(&in->run.arena, g->values.count, &in->tensors);
  FNZI_NEW(&in->run.arena, g->ninputs, &in->initial);
  FNZI_NEW(&in->run.arena, g->ninputs, &in->initial_memory);
  for (size_t k = 0; k < g->ninputs; k++) {
    const fnzi_binding *b = &in->run.bindings[k];
    if (b->memory == NULL)
      continue;
    fnzi_pane w;
    fnzi_eager *t;
    fnzi_pane_of(b->geometry, &w);
    FNZ_TRY(fnzi_eager_create(in, b->memory, &w, &t));
    t->users = 1;
    in->tensors[g->inputs[k].u.value] = t;
    in->initial[k] = t->g;
    in->initial_memory[k] = t->memory;
  }
  return FNZ_OK;
}

static fnz_status emit_tensor(void *user, const char *name, uint64_t v) {
  fnzi_interp *in = user;
  fnzi_eager *t = in->tensors[v];
  fnz_handle value;
  if (t == NULL)
    return fnzi_fail(in->run.ctx, FNZ_CLASS_REF, name, "this output is undefined");
  FNZ_TRY(fnzi_at(in->run.ctx, fnzi_eager_value(in, t, &value), "%s", name));
  return fnzi_run_emit(&in->run, name, t->g, value);
}

static bool is_changed(const fnzi_interp *in, size_t k, const fnzi_eager *t) {
  return t->memory->version > 0 || t->memory != in->initial_memory[k] || t->g != in->initial[k];
}

/* Mutations that the signature does not name are seen by what happened to the memory. */
static fnz_status emit_input(void *user, size_t k) {
  fnzi_interp *in = user;
  const fnzi_binding *b = &in->run.bindings[k];
  uint64_t v = in->run.graph->inputs[k].u.value;
  bool wanted = in->run.options->everything && b->memory->cells != NULL;
  if (!wanted && !is_changed(in, k, in->tensors[v]))
    return FNZ_OK;
  return emit_tensor(in, b->name, v);
}

static fnz_status run_all(fnzi_interp *in) {
  FNZ_TRY(make_inputs(in));
  FNZ_TRY(run_nodes(in));
  return fnzi_run_outputs(&in->run, emit_tensor, emit_input, in);
}

fnz_status fnzi_run_aliasing(fnz_context *ctx, const fnz_program *program, fnz_backend *backend,
                             const fnzi_run_options *options) {
  fnzi_interp in = {.tensors = NULL};
  fnz_status status = fnzi_run_open(&in.run, ctx, program, backend, options);
  if (status == FNZ_OK)
    status = run_all(&in);
  for (size_t i = 0; i < in.all.count; i++)
    fnzi_eager_forget(&in, in.all.data[i]);
  FNZI_VEC_FREE(ctx, &in.all);
  fnzi_run_close(&in.run);
  return status;
}

fnz_status fnz_run_original(fnz_context *ctx, const fnz_program *program, fnz_backend *backend,
                            const fnz_arrays *inputs, fnz_arrays *outputs) {
  fnzi_run_options options = {.inputs = inputs, .emit = fnzi_emit_array, .user = outputs};
  return fnzi_run_aliasing(ctx, program, backend, &options);
}
