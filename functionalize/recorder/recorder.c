/* recorder.c - the backend that records functional calls; build.c makes nodes of the needed calls.
 *
 * needs   calls of functional operators on handles that it gave before; geometries of the results,
 *         from the caller or from a backend of shapes
 * keeps   the order of calls, and the source line and reason of each
 * gives   a tape, and a handle per result
 *
 * A recorded call costs its arguments and a few words. Names, tables and nodes are made only when
 * it is known which calls are needed. */
#include "functionalize/recorder/tape.h"

/* --- recording -------------------------------------------------------------------------------- */
static fnz_status add_value(fnzi_rec_tape *r, const fnz_geometry *g, fnz_handle shape,
                            uint32_t node, fnz_handle *out) {
  fnzi_rec_tape_value v = {NULL, node, FNZI_REC_NOT_EMITTED};
  if (g)
    FNZ_TRY(fnzi_intern_geometry(r->program, g, &v.geometry));
  if (r->shapes)
    FNZI_PUSH(r->ctx, &r->shape_of, shape);
  FNZI_PUSH(r->ctx, &r->values, v);
  *out = r->values.count;
  return FNZ_OK;
}

static fnz_status note_why(fnzi_rec_tape *r) {
  const fnzi_why unknown = {0};
  if (r->program->notes)
    FNZI_PUSH(r->ctx, &r->whys, r->why ? *r->why : unknown);
  return FNZ_OK;
}

/* Successive calls mostly come from the same line of the source. */
static fnz_status keep_source(fnzi_rec_tape *r, const char *source, const char **out) {
  if (!r->source || strcmp(r->source, source) != 0)
    FNZ_TRY(fnzi_intern(r->program, source, strlen(source), &r->source));
  *out = r->source;
  return FNZ_OK;
}

/* Arguments are copied into the program's arena, where a needed node keeps them. Lengths are noted
 * for operators with several lists only: the length of a single list follows from the number of
 * results. */
static fnz_status add_node(fnzi_rec_tape *r, const fnz_request *call, size_t count) {
  fnzi_rec_tape_node n = {.op = call->op,
                          .count = (uint32_t)count & FNZI_REC_MOST_RESULTS,
                          .first = (uint32_t)r->results.count};
  fnz_arg *args;
  if (call->op == r->expected && fnzi_op_lists(call->op) > 1) {
    r->now.node = r->nodes.count;
    FNZI_PUSH(r->ctx, &r->lists, r->now);
  }
  size_t given = call->nargs < call->op->nparams ? call->nargs : call->op->nparams;
  FNZ_TRY(fnzi_args_clone(&r->program->arena, call->args, given, call->op->nparams, &args));
  for (size_t i = 0; i < given; i++)
    args[i].flags = 0;
  n.args = args;
  FNZ_TRY(keep_source(r, call->source, &n.source));
  FNZ_TRY(note_why(r));
  FNZI_PUSH(r->ctx, &r->nodes, n);
  return FNZ_OK;
}

static fnz_status ask_shapes(fnzi_rec_tape *r, const fnz_request *call, fnz_handle *outputs,
                             size_t capacity, size_t *count) {
  fnz_arg *args;
  if (!r->shapes)
    return fnzi_fail(r->ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "%s: recording needs to know the sizes of the results; create the recorder "
                     "with a meta backend",
                     call->op->name);
  FNZ_TRY(fnzi_args_clone(&r->arena, call->args, call->nargs, call->nargs, &args));
  FNZI_EACH_ARG(each, args, call->nargs)
    if (each.arg->tag == FNZ_ARG_VALUE)
      fnzi_each_own(&each)->u.value = r->shape_of.data[each.arg->u.value - 1];
  const fnz_request shapes = {call->op, args, call->nargs, NULL, call->source};
  return r->shapes->apply(r->shapes->self, r->ctx, &shapes, outputs, capacity, count);
}

/* A finished program belongs to the caller. */
static fnz_status refuse_finished(const fnzi_rec_tape *r) {
  return r->program ? FNZ_OK
                    : fnzi_fail(r->ctx, FNZ_CLASS_ARGUMENT, NULL,
                                "the recording has been finished already");
}

static fnz_status apply(void *self, fnz_context *ctx, const fnz_request *call, fnz_handle *outputs,
                        size_t capacity, size_t *count) {
  fnzi_rec_tape *r = self;
  fnz_handle *shapes = NULL;
  (void)ctx;
  *count = capacity;
  FNZ_TRY(refuse_finished(r));
  if (r->shapes) {
    FNZI_NEW(&r->arena, capacity, &shapes);
    FNZ_TRY(ask_shapes(r, call, shapes, capacity, count));
  } else if (!call->expected)
    return ask_shapes(r, call, outputs, capacity, count);
  /* Results become values of the tape; `shapes` has their handles in the shapes backend. */
  uint32_t node = (uint32_t)r->nodes.count;
  FNZ_TRY(add_node(r, call, *count));
  for (size_t i = 0; i < *count; i++) {
    const fnz_geometry *g = call->expected ? call->expected[i] : NULL;
    fnz_handle shape = shapes ? shapes[i] : 0;
    if (!g && shape)
      g = r->shapes->geometry(r->shapes->self, shape);
    outputs[i] = 0;
    if (g)
      FNZ_TRY(add_value(r, g, shape, node, &outputs[i]));
    FNZI_PUSH(r->ctx, &r->results, (uint32_t)outputs[i]);
  }
  return FNZ_OK;
}

/* A tape keeps all values. */
static void release(void *self, fnz_handle value) {
  (void)self, (void)value;
}

static const fnz_geometry *geometry(void *self, fnz_handle value) {
  return ((fnzi_rec_tape *)self)->values.data[value - 1].geometry;
}

static fnz_status no_numbers(const fnzi_rec_tape *r) {
  return fnzi_fail(r->ctx, FNZ_CLASS_ARGUMENT, NULL,
                   "a recording backend has no numbers; declare inputs with fnz_recorder_input");
}

static fnz_status upload(void *self, fnz_context *ctx, const fnz_geometry *g, const void *cells,
                         fnz_handle *out) {
  (void)ctx, (void)g, (void)cells;
  *out = 0;
  return no_numbers(self);
}

static fnz_status download(void *self, fnz_context *ctx, fnz_handle value, void *cells) {
  (void)ctx, (void)value, (void)cells;
  return no_numbers(self);
}

static size_t cell_bytes(void *self, fnz_dtype dtype) {
  (void)self;
  return fnzi_dtype(dtype)->bytes;
}

static void destroy(void *self) {
  fnzi_rec_tape *r = self;
  for (size_t i = 0; i < r->shape_of.count; i++)
    if (r->shape_of.data[i])
      r->shapes->release(r->shapes->self, r->shape_of.data[i]);
  FNZI_VEC_FREE(r->ctx, &r->shape_of);
  FNZI_VEC_FREE(r->ctx, &r->lists);
  FNZI_VEC_FREE(r->ctx, &r->whys);
  FNZI_VEC_FREE(r->ctx, &r->others);
  FNZI_VEC_FREE(r->ctx, &r->finals);
  FNZI_VEC_FREE(r->ctx, &r->values);
  FNZI_VEC_FREE(r->ctx, &r->nodes);
  FNZI_VEC_FREE(r->ctx, &r->results);
  FNZI_VEC_FREE(r->ctx, &r->emitted);
  fnzi_arena_free(&r->arena);
  if (!r->borrowed)
    fnz_program_destroy(r->program);
  fnzi_free(r->ctx, r, sizeof *r);
}

static fnz_status create(fnz_context *ctx, const fnzi_rec_tape *start, fnz_backend **out) {
  fnzi_rec_tape *r = fnzi_resize(ctx, NULL, 0, sizeof *r);
  *out = NULL;
  if (!r)
    return fnzi_no_memory(ctx);
  *r = *start;
  r->ctx = ctx;
  r->backend = (fnz_backend){.size = sizeof r->backend,
                             .name = "recorder",
                             .self = r,
                             .apply = apply,
                             .release = release,
                             .geometry = geometry,
                             .upload = upload,
                             .download = download,
                             .cell_bytes = cell_bytes,
                             .destroy = destroy};
  fnzi_arena_init(&r->arena, ctx);
  *out = &r->backend;
  return FNZ_OK;
}

fnz_status fnz_recorder_create(fnz_context *ctx, fnz_backend *shapes, fnz_backend **out) {
  fnzi_rec_tape start = {.shapes = shapes};
  *out = NULL;
  if (shapes)
    FNZ_TRY(fnzi_backend_check(ctx, shapes));
  fnz_status status = fnzi_program_create(ctx, &start.program);
  if (status == FNZ_OK && !start.program->graphs.count)
    status = fnzi_graph_add(start.program, "", &start.graph);
  if (status == FNZ_OK)
    status = create(ctx, &start, out);
  if (status != FNZ_OK)
    fnz_program_destroy(start.program);
  return status;
}

fnz_status fnzi_rec_create_on(fnz_context *ctx, fnz_program *program, uint32_t graph,
                              fnz_backend **out) {
  const fnzi_rec_tape start = {.program = program, .graph = graph, .borrowed = true};
  return create(ctx, &start, out);
}

/* --- for the pass ----------------------------------------------------------------------------- */
fnz_program *fnzi_rec_program(fnz_backend *backend) {
  return ((fnzi_rec_tape *)backend->self)->program;
}

void fnzi_rec_take_slices(fnz_backend *backend) {
  ((fnzi_rec_tape *)backend->self)->takes_slices = true;
}

bool fnzi_rec_takes_slices(const fnz_backend *backend) {
  return ((const fnzi_rec_tape *)backend->self)->takes_slices;
}

fnz_status fnzi_rec_value(fnz_backend *backend, uint32_t value, fnz_handle *out) {
  fnzi_rec_tape *r = backend->self;
  const fnz_geometry *g = fnzi_value_at(r->program, r->graph, value)->geometry;
  fnz_handle shape = 0;
  if (r->shapes && g)
    FNZ_TRY(r->shapes->upload(r->shapes->self, r->ctx, g, NULL, &shape));
  FNZ_TRY(add_value(r, g, shape, FNZI_NO_NODE, out));
  r->values.data[*out - 1].value = value;
  return FNZ_OK;
}

void fnzi_rec_expect(fnz_backend *backend, const fnz_op *op, const fnz_arg *outputs,
                     uint32_t count) {
  fnzi_rec_tape *r = backend->self;
  r->expected = op;
  r->now = (fnzi_rec_tape_lists){0, outputs, count};
}

void fnzi_rec_explain(fnz_backend *backend, const fnzi_why *why) {
  if (backend->apply == apply)
    ((fnzi_rec_tape *)backend->self)->why = why;
}

fnz_program *fnzi_rec_take(fnz_backend *backend) {
  fnzi_rec_tape *r = backend->self;
  fnz_program *p = r->program;
  r->program = NULL;
  return p;
}

void fnzi_rec_destroy(fnz_backend *recorder) {
  if (recorder)
    recorder->destroy(recorder->self);
}

/* --- nodes that apply no operator ------------------------------------------------------------- */

fnz_status fnzi_rec_node(fnz_backend *backend, const fnzi_rec_call *call, fnz_handle *out) {
  fnzi_rec_tape *r = backend->self;
  const uint32_t node = (uint32_t)r->nodes.count;
  fnzi_rec_tape_node n = {.count = call->noutcomes & FNZI_REC_MOST_RESULTS,
                          .first = (uint32_t)r->results.count};
  fnzi_rec_tape_other other = {r->nodes.count, *call};
  fnzi_rec_outcome *outcomes;
  const char **names = NULL;
  FNZ_TRY(fnzi_intern(r->program, call->target, strlen(call->target), &other.call.target));
  if (call->names)
    FNZI_NEW(&r->program->arena, call->nargs, &names);
  for (uint32_t i = 0; call->names && i < call->nargs; i++)
    FNZ_TRY(fnzi_intern(r->program, call->names[i], strlen(call->names[i]), &names[i]));
  FNZI_NEW(&r->program->arena, call->noutcomes, &outcomes);
  if (call->noutcomes)
    memcpy(outcomes, call->outcomes, call->noutcomes * sizeof *outcomes);
  other.call.names = names;
  other.call.outcomes = outcomes;
  FNZ_TRY(fnzi_args_copy(r->program, call->args, call->nargs, &n.args));
  FNZ_TRY(keep_source(r, call->source, &n.source));
  FNZI_PUSH(r->ctx, &r->others, other);
  FNZ_TRY(note_why(r));
  FNZI_PUSH(r->ctx, &r->nodes, n);
  for (uint32_t i = 0; i < call->noutcomes; i++) {
    const fnzi_rec_outcome *o = &call->outcomes[i];
    out[i] = 0;
    if (o->tag != FNZ_ARG_NONE)
      FNZ_TRY(add_value(r, o->geometry, 0, node, &out[i]));
    FNZI_PUSH(r->ctx, &r->results, (uint32_t)out[i]);
  }
  return FNZ_OK;
}

bool fnzi_rec_value_is_new(const fnz_backend *backend, fnz_handle value) {
  const fnzi_rec_tape *r = backend->self;
  uint32_t node = r->values.data[value - 1].node;
  return node != FNZI_NO_NODE &&
         !(r->nodes.data[node].op && fnz_op_is_view(r->nodes.data[node].op));
}

bool fnzi_rec_has_effects(const fnz_backend *backend) {
  return ((const fnzi_rec_tape *)backend->self)->effects;
}

/* --- public functions ------------------------------------------------------------------------- */
fnz_status fnz_recorder_input(fnz_backend *backend, const char *name, const fnz_geometry *g,
                              fnz_handle *out) {
  fnzi_rec_tape *r = backend->self;
  const fnz_geometry *own;
  uint32_t value;
  *out = 0;
  FNZ_TRY(refuse_finished(r));
  if (r->nodes.count)
    return fnzi_fail(r->ctx, FNZ_CLASS_ARGUMENT, name,
                     "inputs must be declared before the first operator");
  FNZ_TRY(fnzi_intern_geometry(r->program, g, &own));
  FNZ_TRY(fnzi_value_add(r->program, 0, name, own, FNZI_NO_NODE, &value));
  return fnzi_rec_value(backend, value, out);
}

static size_t count_inputs(const fnzi_rec_tape *r) {
  size_t n = 0;
  while (n < r->values.count && r->values.data[n].node == FNZI_NO_NODE)
    n++;
  return n;
}

fnz_status fnz_recorder_final(fnz_backend *backend, const char *input, fnz_handle value) {
  fnzi_rec_tape *r = backend->self;
  fnzi_rec_tape_final final = {.value = value};
  FNZ_TRY(refuse_finished(r));
  const fnzi_graph *g = fnzi_graph_main(r->program);
  const size_t inputs = count_inputs(r);
  while (final.input < inputs && strcmp(g->values.data[final.input].name, input) != 0)
    final.input++;
  if (final.input == inputs)
    return fnzi_fail(r->ctx, FNZ_CLASS_REF, input,
                     "no input has this name; fnz_recorder_input() declares them");
  for (size_t i = 0; i < r->finals.count; i++)
    if (r->finals.data[i].input == final.input)
      return fnzi_fail(r->ctx, FNZ_CLASS_DUPLICATE, input, "the input has a final value already");
  FNZI_PUSH(r->ctx, &r->finals, final);
  return FNZ_OK;
}

/* Inputs are the user's; the first outputs are final values of some, the others the user's. */
static fnz_status sign(const fnzi_rec_tape *r, const uint32_t *outputs, size_t count) {
  fnz_program *p = r->program;
  fnzi_graph *g = fnzi_graph_main(p);
  const size_t ninputs = count_inputs(r);
  FNZI_NEW(&p->arena, ninputs, &g->inputs);
  FNZI_NEW(&p->arena, ninputs, &p->inputs);
  FNZI_NEW(&p->arena, count, &g->outputs);
  FNZI_NEW(&p->arena, count, &p->outputs);
  g->ninputs = (uint32_t)ninputs;
  g->noutputs = (uint32_t)count;
  for (size_t i = 0; i < ninputs; i++) {
    g->inputs[i] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = i};
    p->inputs[i] = (fnz_input_spec){.kind = FNZ_INPUT_USER, .target = g->values.data[i].name};
  }
  for (size_t i = 0; i < count; i++)
    g->outputs[i] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = outputs[i]};
  for (size_t i = 0; i < r->finals.count; i++)
    p->outputs[i] = (fnz_output_spec){.kind = FNZ_OUTPUT_INPUT_MUTATION,
                                      .target = p->inputs[r->finals.data[i].input].target};
  return FNZ_OK;
}

fnz_status fnz_recorder_finish(fnz_backend *backend, const fnz_handle *outputs, size_t count,
                               fnz_program **out) {
  fnzi_rec_tape *r = backend->self;
  const size_t nfinals = r->finals.count, all = nfinals + count;
  fnz_handle *wanted;
  uint32_t *values;
  *out = NULL;
  FNZ_TRY(refuse_finished(r));
  FNZI_NEW(&r->arena, all, &wanted);
  FNZI_NEW(&r->arena, all, &values);
  for (size_t i = 0; i < all; i++)
    wanted[i] = i < nfinals ? r->finals.data[i].value : outputs[i - nfinals];
  FNZ_TRY(fnzi_rec_build(backend, wanted, all, NULL, values));
  FNZ_TRY(sign(r, values, all));
  FNZ_TRY(fnz_program_verify(r->ctx, r->program));
  *out = fnzi_rec_take(backend);
  return FNZ_OK;
}
