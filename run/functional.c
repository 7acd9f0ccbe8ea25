/* functional.c - runs a program that neither aliases nor writes: node after node over a backend.
 *
 * Needs a functional program; says which node is not. A value ends after its last use, and the
 * backend is told about that use so that it may reuse the memory. */
#include "run/run.h"

typedef struct state {
  fnzi_run run;
  fnz_handle *handles; /* per value of the graph, 0 for none */
  uint32_t node;
} state;

static void end_value(state *s, uint64_t v) {
  if (s->handles[v] != 0)
    s->run.backend->release(s->run.backend->self, s->handles[v]);
  s->handles[v] = 0;
}

/* --- Inputs --------------------------------------------------------------------------------------
 */

static fnz_status upload(state *s, const fnzi_binding *b, fnz_handle *out) {
  fnzi_run *run = &s->run;
  size_t bytes, cell = run->backend->cell_bytes(run->backend->self, b->geometry->dtype);
  FNZ_TRY(fnzi_dense_bytes(run, b->geometry, &bytes));
  if (bytes > 0 && fnzi_is_contiguous(b->geometry))
    return run->backend->upload(run->backend->self, run->ctx, b->geometry,
                                b->memory->cells + (size_t)b->geometry->offset * cell, out);
  unsigned char *dense = fnzi_resize(run->ctx, NULL, 0, bytes + 1);
  if (dense == NULL)
    return fnzi_no_memory(run->ctx);
  fnzi_cells_gather(b->geometry, b->memory->cells, cell, dense);
  fnz_status status = run->backend->upload(run->backend->self, run->ctx, b->geometry, dense, out);
  fnzi_free(run->ctx, dense, bytes + 1);
  return status;
}

/* Weights without data stay without a handle until somebody asks for them. */
static fnz_status upload_inputs(state *s) {
  for (size_t k = 0; k < s->run.graph->ninputs; k++) {
    const fnzi_binding *b = &s->run.bindings[k];
    if (b->memory == NULL || b->memory->cells == NULL)
      continue;
    FNZ_TRY(upload(s, b, &s->handles[s->run.graph->inputs[k].u.value]));
  }
  return FNZ_OK;
}

static fnz_status need(state *s, uint64_t v) {
  if (s->handles[v] != 0)
    return FNZ_OK;
  const fnzi_value *value = &s->run.graph->values.data[v];
  if (value->node == FNZI_NO_NODE)
    return fnzi_fail(s->run.ctx, FNZ_CLASS_REF, value->name,
                     "the file has no data for this weight");
  return fnzi_fail(s->run.ctx, FNZ_CLASS_REF, value->name, "the value is undefined");
}

/* --- Nodes ---------------------------------------------------------------------------------------
 */

static fnz_status lower_value(void *user, fnz_arg *arg) {
  state *s = user;
  uint64_t v = arg->u.value;
  FNZ_TRY(need(s, v));
  arg->u.value = s->handles[v];
  if (s->run.last[v] == s->node && !s->run.options->check_schemas)
    arg->flags |= FNZ_ARG_LAST_USE;
  return FNZ_OK;
}

static const fnz_geometry *geometry_of(void *user, uint64_t v) {
  state *s = user;
  if (s->handles[v] == 0)
    return s->run.graph->values.data[v].geometry;
  return s->run.backend->geometry(s->run.backend->self, s->handles[v]);
}

static fnz_status apply(state *s, const fnzi_node *node) {
  fnzi_run *run = &s->run;
  fnz_arg *args, *results;
  const fnz_geometry **expected;
  fnz_handle *handles;
  size_t count;
  FNZ_TRY(fnzi_lower_args(run, node->op, node->args, node->nargs, lower_value, s, &args));
  FNZ_TRY(fnzi_node_results(run, node, &results, &count));
  FNZI_NEW(&run->scratch, count, &expected);
  FNZI_NEW(&run->scratch, count, &handles);
  for (size_t i = 0; i < count; i++)
    if (results[i].tag == FNZ_ARG_VALUE)
      expected[i] = run->graph->values.data[results[i].u.value].geometry;
  fnz_request call = {node->op, args, node->op->nparams, expected, node->source};
  FNZ_TRY(fnzi_run_apply(run, &call, handles, count));
  for (size_t i = 0; i < count; i++)
    if (results[i].tag == FNZ_ARG_VALUE)
      s->handles[results[i].u.value] = handles[i];
    else if (handles[i] != 0)
      run->backend->release(run->backend->self, handles[i]);
  return FNZ_OK;
}

static fnz_status run_node(state *s, const fnzi_node *node) {
  bool done;
  FNZ_TRY(fnzi_run_number_node(&s->run, node, geometry_of, s, &done));
  if (done)
    return FNZ_OK;
  if (node->op == NULL)
    return fnzi_fail(s->run.ctx, FNZ_CLASS_UNSUPPORTED, "", "cannot run %s", node->target);
  if (fnzi_node_writes(node))
    return fnzi_fail(s->run.ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "%s writes an argument; functionalize the program first or run the original",
                     node->op->name);
  if (!fnzi_is_item(node->op) || node->args[0].tag != FNZ_ARG_VALUE)
    return apply(s, node);
  FNZ_TRY(need(s, node->args[0].u.value));
  return fnzi_run_item(&s->run, node, s->handles[node->args[0].u.value]);
}

static fnz_status end_use(void *user, const fnz_arg *arg) {
  state *s = user;
  if (arg->tag == FNZ_ARG_VALUE && s->run.last[arg->u.value] == s->node)
    end_value(s, arg->u.value);
  return FNZ_OK;
}

static fnz_status run_nodes(state *s) {
  const fnzi_graph *g = s->run.graph;
  for (s->node = 0; s->node < g->nodes.count; s->node++) {
    const fnzi_node *node = &g->nodes.data[s->node];
    fnz_status status = run_node(s, node);
    fnzi_arena_free(&s->run.scratch);
    fnzi_arena_init(&s->run.scratch, s->run.ctx);
    if (status != FNZ_OK) {
      char place[160];
      fnzi_node_place(s->run.program, 0, s->node, place);
      return fnzi_at(s->run.ctx, status, "%s", place);
    }
    FNZ_TRY(fnzi_args_visit(node->args, node->nargs, end_use, s));
    FNZ_TRY(fnzi_args_visit(node->outputs, node->noutputs, end_use, s));
  }
  return FNZ_OK;
}

/* --- Results -------------------------------------------------------------------------------------
 */

static fnz_status emit_handle(state *s, const char *name, fnz_handle handle) {
  return fnzi_run_emit(&s->run, name, s->run.backend->geometry(s->run.backend->self, handle),
                       handle);
}

static fnz_status emit_output(void *user, const char *name, uint64_t v) {
  state *s = user;
  FNZ_TRY(need(s, v));
  return emit_handle(s, name, s->handles[v]);
}

/* What the signature does not name as mutated ends as it began. */
static fnz_status emit_rest(void *user, size_t k) {
  state *s = user;
  const fnzi_binding *b = &s->run.bindings[k];
  if (!s->run.options->everything || b->memory->cells == NULL)
    return FNZ_OK;
  return emit_handle(s, b->name, s->handles[s->run.graph->inputs[k].u.value]);
}

static fnz_status run_all(state *s) {
  FNZI_NEW(&s->run.arena, s->run.graph->values.count, &s->handles);
  FNZ_TRY(upload_inputs(s));
  FNZ_TRY(run_nodes(s));
  return fnzi_run_outputs(&s->run, emit_output, emit_rest, s);
}

fnz_status fnzi_run_functional(fnz_context *ctx, const fnz_program *program, fnz_backend *backend,
                               const fnzi_run_options *options) {
  state s = {.handles = NULL};
  fnz_status status = fnzi_run_open(&s.run, ctx, program, backend, options);
  if (status == FNZ_OK)
    status = run_all(&s);
  for (size_t v = 0; s.handles != NULL && v < s.run.graph->values.count; v++)
    end_value(&s, v);
  fnzi_run_close(&s.run);
  return status;
}

fnz_status fnz_run(fnz_context *ctx, const fnz_program *program, fnz_backend *backend,
                   const fnz_arrays *inputs, fnz_arrays *outputs) {
  fnzi_run_options options = {.inputs = inputs, .emit = fnzi_emit_array, .user = outputs};
  return fnzi_run_functional(ctx, program, backend, &options);
}

fnz_status fnz_run_with(fnz_context *ctx, const fnz_program *program, fnz_backend *backend,
                        const fnz_arrays *inputs, const fnz_run_options *options,
                        fnz_arrays *outputs) {
  fnzi_run_options all = {.inputs = inputs, .emit = fnzi_emit_array, .user = outputs};
  bool original = options && options->original;
  all.check_schemas = options && options->check_schemas;
  return original ? fnzi_run_aliasing(ctx, program, backend, &all)
                  : fnzi_run_functional(ctx, program, backend, &all);
}
