/* functional.c - runs a program that neither aliases nor writes: node by node on a backend.
 *
 * Refuses a node that writes. A value ends after its last use, and the request marks that use, so
 * that the backend may reuse the memory. */
#include "run/numbers.h"
#include "run/frames.h"
#include "base/random.h"
#include "schema/aten_names.h"

/* A value of the backend. */
typedef struct box {
  fnzi_run_item item;
  fnz_handle handle; /* 0 while it is spare */
  struct box *spare; /* the next one */
} box;

typedef struct state {
  fnzi_run_state run;
  struct {
    box **data;
    size_t count, capacity;
  } boxes;
  box *spare;
} state;

static fnz_status take_box(state *s, box **out) {
  if (s->spare == NULL) {
    FNZI_NEW(&s->run.arena, 1, &s->spare);
    FNZI_PUSH(s->run.ctx, &s->boxes, s->spare);
  }
  *out = s->spare;
  s->spare = s->spare->spare;
  return FNZ_OK;
}

/* Takes the handle, also when this fails. */
static fnz_status make_item(state *s, fnz_handle owned, fnzi_run_item **out) {
  box *made;
  fnz_status status = take_box(s, &made);
  if (status != FNZ_OK) {
    fnzi_run_release(&s->run, owned);
    return status;
  }
  *made = (box){.handle = owned};
  *out = &made->item;
  return FNZ_OK;
}

static fnz_status keep(state *s, uint64_t value, fnz_handle owned) {
  fnzi_run_item *item;
  FNZ_TRY(make_item(s, owned, &item));
  fnzi_run_item_bind(&s->run, value, item);
  return FNZ_OK;
}

/* 0 when the value has none. */
static fnz_handle handle_of(const state *s, uint64_t v) {
  const box *b = (const box *)s->run.items[v];
  return b == NULL ? 0 : b->handle;
}

static void end_item(void *self, fnzi_run_item *item) {
  state *s = self;
  box *b = (box *)item;
  fnzi_run_release(&s->run, b->handle);
  *b = (box){.spare = s->spare};
  s->spare = b;
}

/* --- Inputs ----------------------------------------------------------------------------------- */

static fnz_status need(state *s, uint64_t v) {
  if (s->run.items[v] != NULL)
    return FNZ_OK;
  const fnzi_value *value = &s->run.graph->values.data[v];
  if (value->node == FNZI_NO_NODE)
    return fnzi_fail(s->run.ctx, FNZ_CLASS_REF, value->name,
                     "the file has no data for this weight" FNZI_RUN_GET_DATA);
  return fnzi_fail(s->run.ctx, FNZ_CLASS_REF, value->name, "the value is undefined");
}

/* --- Nodes ------------------------------------------------------------------------------------ */

static fnz_status lower_value(void *user, fnz_arg *arg) {
  state *s = user;
  uint64_t v = arg->u.value;
  FNZ_TRY(need(s, v));
  const fnzi_run_item *item = s->run.items[v];
  arg->u.value = handle_of(s, v);
  bool is_last = s->run.last[v] == s->run.node && item->users == 1;
  if (is_last && !s->run.options->check_schemas)
    arg->flags |= FNZ_ARG_LAST_USE;
  return FNZ_OK;
}

static const fnz_geometry *functional_geometry_of(void *user, uint64_t v) {
  state *s = user;
  if (s->run.items[v] == NULL)
    return fnzi_run_recorded(&s->run, &s->run.scratch, v);
  return fnzi_run_geometry_of(&s->run, handle_of(s, v));
}

static fnz_status functional_apply(state *s, const fnzi_node *node) {
  fnzi_run_state *run = &s->run;
  fnz_request call = {node->op, node->args, node->nargs, NULL, node->source};
  fnz_arg *results;
  const fnz_geometry **expected;
  fnz_handle *handles;
  size_t count;
  FNZ_TRY(fnzi_run_lower(run, lower_value, s, &call, NULL));
  FNZ_TRY(fnzi_run_node_results(run, node, &results, &count));
  FNZI_NEW(&run->scratch, count, &expected);
  FNZI_NEW(&run->scratch, count, &handles);
  for (size_t i = 0; i < count; i++)
    if (results[i].tag == FNZ_ARG_VALUE)
      expected[i] = fnzi_run_recorded(run, &run->scratch, results[i].u.value);
  call.expected = expected;
  FNZ_TRY(fnzi_run_apply(run, &call, handles, count));
  /* All handles are taken, whatever fails. */
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < count; i++) {
    bool is_kept = results[i].tag == FNZ_ARG_VALUE && handles[i] != 0 && status == FNZ_OK;
    if (is_kept)
      status = fnzi_run_learn_sizes(&s->run, results[i].u.value,
                                    fnzi_run_geometry_of(&s->run, handles[i]));
    is_kept = is_kept && status == FNZ_OK;
    if (is_kept)
      status = keep(s, results[i].u.value, handles[i]);
    else if (handles[i] != 0)
      fnzi_run_release(&s->run, handles[i]);
  }
  return status;
}

static fnz_status functional_run_node(void *self, const fnzi_node *node) {
  state *s = self;
  bool done;
  FNZ_TRY(fnzi_run_number_node(&s->run, node, functional_geometry_of, s, &done));
  if (done)
    return FNZ_OK;
  if (node->op == NULL)
    return fnzi_fail(s->run.ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "there is no rule for %s; export the program without it",
                     fnzi_node_target(node));
  if (fnzi_run_node_writes(node))
    return fnzi_fail(s->run.ctx, FNZ_CLASS_UNSUPPORTED, "",
                     "%s writes an argument; functionalize the program first or run the original",
                     node->op->name);
  if (!fnzi_op_is_item(node->op) || node->args[0].tag != FNZ_ARG_VALUE)
    return functional_apply(s, node);
  FNZ_TRY(need(s, node->args[0].u.value));
  return fnzi_run_read_number(&s->run, node, handle_of(s, node->args[0].u.value));
}

/* --- Bodies ----------------------------------------------------------------------------------- */

static const fnz_geometry *item_geometry(void *self, const fnzi_run_item *item) {
  state *s = self;
  return fnzi_run_geometry_of(&s->run, ((const box *)item)->handle);
}

static fnz_status item_value(void *self, fnzi_run_item *item, fnz_handle *out) {
  (void)self;
  *out = ((box *)item)->handle;
  return FNZ_OK;
}

static fnz_status slice_item(void *self, fnzi_run_item *item, int64_t index, fnzi_run_item **out) {
  state *s = self;
  const fnz_op *op = &fnzi_ops[FNZI_ATEN_select_copy__int];
  const fnz_geometry *expected[1] = {NULL};
  const fnz_arg args[3] = {{.tag = FNZ_ARG_VALUE, .u.value = ((box *)item)->handle},
                           {.tag = FNZ_ARG_INT},
                           {.tag = FNZ_ARG_INT, .u.i = index}};
  fnz_handle handle = 0;
  fnz_request call = {op, args, 3, expected, ""};
  FNZ_TRY(fnzi_run_apply(&s->run, &call, &handle, 1));
  return make_item(s, handle, out);
}

static fnz_status cast_item(void *self, fnzi_run_item *item, fnz_dtype dtype, fnzi_run_item **out) {
  state *s = self;
  const fnz_op *op = &fnzi_ops[FNZI_ATEN__to_copy];
  fnz_geometry g = *item_geometry(s, item);
  const fnz_geometry *expected[1] = {&g};
  const fnz_arg args[2] = {{.tag = FNZ_ARG_VALUE, .u.value = ((box *)item)->handle},
                           {.tag = FNZ_ARG_DTYPE, .u.i = dtype}};
  fnz_handle handle = 0;
  g.dtype = dtype;
  fnz_request call = {op, args, 2, expected, ""};
  FNZ_TRY(fnzi_run_lower_apply(&s->run, &call, &handle, 1));
  return make_item(s, handle, out);
}

static fnz_status stack_items(void *self, fnzi_run_item *const *items, size_t count,
                              fnzi_run_item **out) {
  state *s = self;
  fnz_geometry g;
  size_t bytes, all;
  fnz_handle handle = 0;
  FNZ_TRY(fnzi_run_stack_geometry(&s->run, item_geometry(s, items[0]), count, &g));
  FNZ_TRY(fnzi_run_dense_bytes(&s->run, item_geometry(s, items[0]), &bytes));
  FNZ_TRY(fnzi_run_dense_bytes(&s->run, &g, &all));
  unsigned char *cells = fnzi_resize(s->run.ctx, NULL, 0, all + 1);
  if (cells == NULL)
    return fnzi_no_memory(s->run.ctx);
  /* Cells are dense and row-major, so that the stack is their concatenation. */
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < count && status == FNZ_OK; i++)
    status = s->run.backend->download(s->run.backend->self, s->run.ctx, ((box *)items[i])->handle,
                                      cells + i * bytes);
  if (status == FNZ_OK)
    status = s->run.backend->upload(s->run.backend->self, s->run.ctx, &g, cells, &handle);
  fnzi_free(s->run.ctx, cells, all + 1);
  FNZ_TRY(status);
  return make_item(s, handle, out);
}

/* --- Results ---------------------------------------------------------------------------------- */

static fnz_status emit_handle(state *s, const char *name, fnz_handle handle) {
  return fnzi_run_emit(&s->run, name, s->run.backend->geometry(s->run.backend->self, handle),
                       handle);
}

static fnz_status emit_output(void *user, const char *name, uint64_t v) {
  state *s = user;
  FNZ_TRY(need(s, v));
  return emit_handle(s, name, handle_of(s, v));
}

static fnz_status output_handle(void *user, uint64_t v, fnz_handle *out) {
  *out = handle_of(user, v);
  return FNZ_OK;
}

/* An input without a final value in the signature is unchanged, unless another input of its memory
 * has one. */
static fnz_status emit_rest(void *user, size_t k) {
  state *s = user;
  const fnzi_run_binding *b = &s->run.bindings[k];
  if (s->run.program->inputs[k].written && fnzi_run_memory_has_data(b->memory))
    return fnzi_run_emit_member(&s->run, (uint32_t)k, output_handle, s);
  const char *name = b->name;
  if (!fnzi_run_shows_unwritten(&s->run, b))
    FNZ_TRY(fnzi_run_left_constant(&s->run, b, &name));
  if (name == NULL)
    return FNZ_OK;
  return emit_handle(s, name, handle_of(s, s->run.graph->inputs[k].u.value));
}

static fnzi_run_interpreter interpreter_of(state *s) {
  return (fnzi_run_interpreter){.self = s,
                                .immutable = true,
                                .node = functional_run_node,
                                .end = end_item,
                                .geometry = item_geometry,
                                .value = item_value,
                                .slice = slice_item,
                                .cast = cast_item,
                                .stack = stack_items};
}

static fnz_status run_all(state *s) {
  const fnzi_run_interpreter by = interpreter_of(s);
  /* Weights without data have no handle; their first use fails. */
  for (size_t k = 0; k < s->run.graph->ninputs; k++) {
    const fnzi_run_binding *b = &s->run.bindings[k];
    if (b->memory == NULL || !fnzi_run_memory_has_data(b->memory))
      continue;
    fnz_handle handle = 0;
    FNZ_TRY(fnzi_run_memory_read(&s->run, b->memory, b->geometry, &handle));
    FNZ_TRY(keep(s, s->run.graph->inputs[k].u.value, handle));
  }
  FNZ_TRY(fnzi_run_frames_run(&s->run, &by));
  return fnzi_run_outputs(&s->run, emit_output, emit_rest, s);
}

static void state_close(state *s) {
  for (size_t i = 0; i < s->boxes.count; i++)
    if (s->boxes.data[i]->handle != 0)
      fnzi_run_release(&s->run, s->boxes.data[i]->handle);
  FNZI_VEC_FREE(s->run.ctx, &s->boxes);
  fnzi_run_close(&s->run);
}

fnz_status fnzi_run_functional(fnz_context *ctx, const fnz_program *program, fnz_backend *backend,
                               const fnzi_run_options *options) {
  fnz_generator *had = ctx->generator, own;
  state s = {.spare = NULL};
  fnzi_generator_lend(ctx, had, &own, 0);
  fnz_status status = fnzi_run_open(&s.run, ctx, program, backend, options);
  if (status == FNZ_OK)
    status = run_all(&s);
  state_close(&s);
  ctx->generator = had;
  return status;
}

/* --- Node by node ----------------------------------------------------------------------------- */

struct fnzi_run_steps {
  state s;
  fnzi_run_options options;
  fnz_arrays *none;
};

fnz_status fnzi_run_steps_open(fnz_context *ctx, const fnz_program *program, fnz_backend *backend,
                               const fnz_array *const *given, fnzi_run_steps **out) {
  fnzi_run_steps *made = fnzi_resize(ctx, NULL, 0, sizeof *made);
  *out = NULL;
  if (made == NULL)
    return fnzi_no_memory(ctx);
  *made = (fnzi_run_steps){.options = {.emit = fnzi_run_emit_nothing}};
  fnz_status status = fnz_arrays_create(ctx, &made->none);
  if (status != FNZ_OK) {
    fnzi_free(ctx, made, sizeof *made);
    return status;
  }
  made->options.inputs = made->none;
  status = fnzi_run_open_sizes(&made->s.run, ctx, program, backend, &made->options, given);
  if (status == FNZ_OK)
    *out = made;
  else
    fnzi_run_steps_close(made);
  return status;
}

void fnzi_run_steps_close(fnzi_run_steps *steps) {
  if (steps == NULL)
    return;
  fnz_context *ctx = steps->s.run.ctx;
  state_close(&steps->s);
  fnz_arrays_destroy(steps->none);
  fnzi_free(ctx, steps, sizeof *steps);
}

fnz_status fnzi_run_steps_give(fnzi_run_steps *steps, uint64_t value, fnz_handle handle) {
  return keep(&steps->s, value, handle);
}

fnz_handle fnzi_run_steps_value(const fnzi_run_steps *steps, uint64_t value) {
  return handle_of(&steps->s, value);
}

fnz_status fnzi_run_steps_number(fnzi_run_steps *steps, uint64_t value, fnz_arg *out) {
  return fnzi_run_number_of(&steps->s.run, value, out);
}

fnz_status fnzi_run_steps_node(fnzi_run_steps *steps, uint32_t node) {
  const fnzi_run_interpreter by = interpreter_of(&steps->s);
  return fnzi_run_frames_node(&steps->s.run, &by, node);
}
