/* recorder.c - the backend that writes down functional calls and, at the end, the nodes that count.
 *
 * While recording, a call costs its arguments and a few words; names, tables and the program's own
 * form are made once it is known which calls anybody needs. */
#include "functionalize/recorder.h"

#include "views/steps.h"

#define NOT_EMITTED UINT32_MAX

enum { MOST_RESULTS = (1 << 29) - 1 };

typedef struct tape_value {
  const fnz_geometry *geometry; /* interned in the program */
  uint32_t node;                /* of the tape; FNZI_NO_NODE for an input */
  uint32_t value;               /* of graph 0, NOT_EMITTED until then */
} tape_value;

typedef struct tape_node {
  const fnz_op *op;
  fnz_arg *args; /* in the program's arena; values are handles until the node is emitted */
  const char *source;
  uint32_t first; /* results[first ... first + count) */
  unsigned count : 29, wanted : 1, needed : 1, skipped : 1;
} tape_node;

/* Of a node with several lists among its results: those of the caller's node, of which the lists
 * say how long they are. Few nodes have it, so it is kept beside them, in their order. */
typedef struct tape_lists {
  size_t node;
  const fnz_arg *looks;
  uint32_t count;
} tape_lists;

typedef struct recorder {
  fnz_backend backend;
  fnz_context *ctx;
  fnz_backend *shapes;
  fnz_program *program;
  fnzi_arena arena;
  const fnz_op *expected; /* by fnzi_recorder_expect() */
  tape_lists now;
  struct {
    tape_lists *data;
    size_t count, capacity;
  } lists;
  struct {
    tape_value *data;
    size_t count, capacity;
  } values; /* handle - 1 is the index */
  struct {
    tape_node *data;
    size_t count, capacity;
  } nodes;
  struct {
    uint32_t *data;
    size_t count, capacity;
  } results; /* value index + 1, 0: undefined */
  struct {
    fnz_handle *data;
    size_t count, capacity;
  } shape_of; /* per value, with a shapes backend */
} recorder;

/* --- recording -------------------------------------------------------------------------------- */
static fnz_status add_value(recorder *r, const fnz_geometry *g, fnz_handle shape, uint32_t node,
                            fnz_handle *out) {
  tape_value v = {NULL, node, NOT_EMITTED};
  FNZ_TRY(fnzi_intern_geometry(r->program, g, &v.geometry));
  if (r->shapes)
    FNZI_PUSH(r->ctx, &r->shape_of, shape);
  FNZI_PUSH(r->ctx, &r->values, v);
  *out = r->values.count;
  return FNZ_OK;
}

/* Arguments are kept in the program's arena: there they stay if the node counts. */
static fnz_status copy_list(recorder *r, fnz_arg *a) {
  fnz_arg *items;
  FNZI_NEW(&r->program->arena, a->count, &items);
  if (a->count)
    memcpy(items, a->u.list, a->count * sizeof *items);
  a->u.list = items;
  return FNZ_OK;
}

static bool has_several_lists(const fnz_op *op) {
  size_t lists = 0;
  for (size_t i = 0; i < op->nreturns; i++)
    lists += op->returns[i].is_list;
  return lists > 1;
}

/* A single list has what the other results leave, also where the pass calls the operator for
 * reasons of its own: to read another view. */
static fnz_status add_node(recorder *r, const fnz_request *call, size_t count) {
  tape_node n = {
      .op = call->op, .count = (uint32_t)count & MOST_RESULTS, .first = (uint32_t)r->results.count};
  fnz_arg *args;
  if (call->op == r->expected && has_several_lists(call->op)) {
    r->now.node = r->nodes.count;
    FNZI_PUSH(r->ctx, &r->lists, r->now);
  }
  FNZI_NEW(&r->program->arena, call->op->nparams, &args);
  for (size_t i = 0; i < call->op->nparams && i < call->nargs; i++) {
    args[i] = call->args[i];
    args[i].flags = 0;
    if (args[i].tag == FNZ_ARG_LIST)
      FNZ_TRY(copy_list(r, &args[i]));
  }
  n.args = args;
  FNZ_TRY(fnzi_intern(r->program, call->source, strlen(call->source), &n.source));
  FNZI_PUSH(r->ctx, &r->nodes, n);
  return FNZ_OK;
}

/* The arguments with handles of the shapes backend. Lists of values have one level. */
static void to_shapes(const recorder *r, const fnz_arg *from, size_t n, fnz_arg *to) {
  for (size_t i = 0; i < n; i++) {
    to[i] = from[i];
    if (from[i].tag == FNZ_ARG_VALUE)
      to[i].u.value = r->shape_of.data[from[i].u.value - 1];
  }
}

static fnz_status ask_shapes(recorder *r, const fnz_request *call, fnz_handle *outputs,
                             size_t capacity, size_t *count) {
  fnz_arg *args;
  if (!r->shapes)
    return fnzi_fail(r->ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "%s: recording needs to know the sizes of the results; create the recorder "
                     "with a meta backend",
                     call->op->name);
  FNZI_NEW(&r->arena, call->nargs, &args);
  to_shapes(r, call->args, call->nargs, args);
  for (size_t i = 0; i < call->nargs; i++)
    if (args[i].tag == FNZ_ARG_LIST) {
      fnz_arg *items;
      FNZI_NEW(&r->arena, args[i].count, &items);
      to_shapes(r, args[i].u.list, args[i].count, items);
      args[i].u.list = items;
    }
  const fnz_request shapes = {call->op, args, call->nargs, NULL, call->source};
  return r->shapes->apply(r->shapes->self, r->ctx, &shapes, outputs, capacity, count);
}

/* Results become values of the tape; `shapes` has their handles in the shapes backend, or NULL. */
static fnz_status add_results(recorder *r, const fnz_request *call, const fnz_handle *shapes,
                              fnz_handle *outputs, size_t count) {
  uint32_t node = (uint32_t)r->nodes.count;
  FNZ_TRY(add_node(r, call, count));
  for (size_t i = 0; i < count; i++) {
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

static fnz_status apply(void *self, fnz_context *ctx, const fnz_request *call, fnz_handle *outputs,
                        size_t capacity, size_t *count) {
  recorder *r = self;
  fnz_handle *shapes = NULL;
  (void)ctx;
  *count = capacity;
  if (r->shapes) {
    FNZI_NEW(&r->arena, capacity, &shapes);
    FNZ_TRY(ask_shapes(r, call, shapes, capacity, count));
  } else if (!call->expected)
    return ask_shapes(r, call, outputs, capacity, count);
  return add_results(r, call, shapes, outputs, *count);
}

/* A tape forgets nothing. */
static void release(void *self, fnz_handle value) {
  (void)self;
  (void)value;
}

static const fnz_geometry *geometry(void *self, fnz_handle value) {
  return ((recorder *)self)->values.data[value - 1].geometry;
}

static fnz_status no_numbers(const recorder *r) {
  return fnzi_fail(r->ctx, FNZ_CLASS_ARGUMENT, NULL,
                   "a recording backend has no numbers; declare inputs with fnz_recorder_input");
}

static fnz_status upload(void *self, fnz_context *ctx, const fnz_geometry *g, const void *cells,
                         fnz_handle *out) {
  (void)ctx;
  (void)g;
  (void)cells;
  *out = 0;
  return no_numbers(self);
}

static fnz_status download(void *self, fnz_context *ctx, fnz_handle value, void *cells) {
  (void)ctx;
  (void)value;
  (void)cells;
  return no_numbers(self);
}

static size_t cell_bytes(void *self, fnz_dtype dtype) {
  (void)self;
  return fnzi_dtype(dtype)->bytes;
}

static void destroy(void *self) {
  recorder *r = self;
  for (size_t i = 0; i < r->shape_of.count; i++)
    if (r->shape_of.data[i])
      r->shapes->release(r->shapes->self, r->shape_of.data[i]);
  FNZI_VEC_FREE(r->ctx, &r->shape_of);
  FNZI_VEC_FREE(r->ctx, &r->lists);
  FNZI_VEC_FREE(r->ctx, &r->values);
  FNZI_VEC_FREE(r->ctx, &r->nodes);
  FNZI_VEC_FREE(r->ctx, &r->results);
  fnzi_arena_free(&r->arena);
  fnz_program_destroy(r->program);
  fnzi_free(r->ctx, r, sizeof *r);
}

fnz_status fnz_recorder_create(fnz_context *ctx, fnz_backend *shapes, fnz_backend **out) {
  uint32_t graph;
  recorder *r = fnzi_resize(ctx, NULL, 0, sizeof *r);
  *out = NULL;
  if (!r)
    return fnzi_no_memory(ctx);
  *r = (recorder){.ctx = ctx, .shapes = shapes};
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
  fnz_status status = fnzi_program_create(ctx, &r->program);
  if (status == FNZ_OK && !r->program->graphs.count)
    status = fnzi_graph_add(r->program, "", &graph);
  if (status != FNZ_OK) {
    destroy(r);
    return status;
  }
  *out = &r->backend;
  return FNZ_OK;
}

/* --- the pass's side -------------------------------------------------------------------------- */
fnz_program *fnzi_recorder_program(fnz_backend *backend) {
  return ((recorder *)backend->self)->program;
}

fnz_status fnzi_recorder_value(fnz_backend *backend, uint32_t value, fnz_handle *out) {
  recorder *r = backend->self;
  const fnz_geometry *g = fnzi_value_at(r->program, 0, value)->geometry;
  fnz_handle shape = 0;
  if (r->shapes)
    FNZ_TRY(r->shapes->upload(r->shapes->self, r->ctx, g, NULL, &shape));
  FNZ_TRY(add_value(r, g, shape, FNZI_NO_NODE, out));
  r->values.data[*out - 1].value = value;
  return FNZ_OK;
}

void fnzi_recorder_expect(fnz_backend *backend, const fnz_op *op, const fnz_arg *outputs,
                          uint32_t count) {
  recorder *r = backend->self;
  r->expected = op;
  r->now = (tape_lists){0, outputs, count};
}

fnz_program *fnzi_recorder_take(fnz_backend *backend) {
  recorder *r = backend->self;
  fnz_program *p = r->program;
  r->program = NULL;
  return p;
}

/* --- the nodes that count --------------------------------------------------------------------- */
static fnz_status need_value(void *user, const fnz_arg *arg) {
  recorder *r = user;
  if (arg->tag != FNZ_ARG_VALUE || !arg->u.value)
    return FNZ_OK;
  uint32_t node = r->values.data[arg->u.value - 1].node;
  if (node != FNZI_NO_NODE)
    r->nodes.data[node].needed = true;
  return FNZ_OK;
}

static fnz_status mark(recorder *r, const fnz_handle *wanted, size_t count) {
  for (size_t i = 0; i < count; i++) {
    uint32_t node = r->values.data[wanted[i] - 1].node;
    if (node != FNZI_NO_NODE)
      r->nodes.data[node].wanted = r->nodes.data[node].needed = true;
  }
  for (size_t i = r->nodes.count; i-- > 0;) {
    tape_node *n = &r->nodes.data[i];
    n->needed |= n->count == 0 || (n->op->tags & FNZI_TAG_RANDOM);
    if (n->needed)
      FNZ_TRY(fnzi_args_visit(n->args, n->op->nparams, need_value, r));
  }
  return FNZ_OK;
}

/* Values never change, so that a clone of the same geometry is no other value. */
static void skip_clones(recorder *r) {
  const fnz_op *clone = fnzi_emitted_op(FNZI_EMIT_CLONE);
  for (size_t i = 0; i < r->nodes.count; i++) {
    tape_node *n = &r->nodes.data[i];
    if (n->op != clone || !n->needed || n->wanted || n->args[0].tag != FNZ_ARG_VALUE)
      continue;
    const tape_value *from = &r->values.data[n->args[0].u.value - 1];
    const tape_value *to = &r->values.data[r->results.data[n->first] - 1];
    n->skipped = from->geometry == to->geometry;
    n->needed = !n->skipped;
  }
}

static void to_program(const recorder *r, fnz_arg *args, size_t n) {
  for (size_t i = 0; i < n; i++)
    if (args[i].tag == FNZ_ARG_VALUE)
      args[i].u.value = r->values.data[args[i].u.value - 1].value;
}

/* One output of the node: a tensor, or nothing when it is undefined. */
static fnz_status add_output(recorder *r, const tape_node *n, uint32_t node, uint32_t result,
                             fnz_arg *out) {
  *out = (fnz_arg){.tag = FNZ_ARG_NONE};
  if (!result)
    return FNZ_OK;
  tape_value *v = &r->values.data[result - 1];
  FNZ_TRY(fnzi_value_add_fresh(r->program, 0, n->op->base, v->geometry, node, &v->value));
  *out = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = v->value};
  return FNZ_OK;
}

/* What the caller's node says of the lists of n. */
static const tape_lists *lists_of(const recorder *r, const tape_node *n) {
  size_t node = (size_t)(n - r->nodes.data), low = 0, high = r->lists.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (r->lists.data[middle].node < node)
      low = middle + 1;
    else
      high = middle;
  }
  return low < r->lists.count && r->lists.data[low].node == node ? &r->lists.data[low] : NULL;
}

/* The list that tells how long result i is: what the caller expects there, or the argument whose
 * new values it has, `x` for `x_out`. NULL when there is none, or the result is no list. */
static const fnz_arg *list_like(const recorder *r, const tape_node *n, size_t i) {
  const fnzi_param *result = &n->op->returns[i];
  const tape_lists *lists = result->is_list ? lists_of(r, n) : NULL;
  size_t size = strlen(result->name), tail = strlen("_out");
  if (lists && i < lists->count && lists->looks[i].tag == FNZ_ARG_LIST)
    return &lists->looks[i];
  if (!result->is_list || size <= tail || strcmp(result->name + size - tail, "_out") != 0)
    return NULL;
  for (size_t k = 0; k < n->op->nparams; k++) {
    const fnzi_param *p = &n->op->params[k];
    if (p->is_list && strlen(p->name) == size - tail &&
        memcmp(p->name, result->name, size - tail) == 0)
      return &n->args[k];
  }
  return NULL;
}

static size_t list_items(const fnz_arg *list) {
  return list->tag == FNZ_ARG_LIST ? list->count : 0;
}

/* Lists of which nothing is known share what is left evenly. */
static size_t other_list(const recorder *r, const tape_node *n) {
  size_t known = 0, lists = 0;
  for (size_t i = 0; i < n->op->nreturns; i++) {
    const fnz_arg *list = list_like(r, n, i);
    bool is_list = n->op->returns[i].is_list;
    known += list ? list_items(list) : !is_list;
    lists += is_list && !list;
  }
  return lists && n->count > known ? (n->count - known) / lists : 0;
}

/* The outputs as the schema groups them. */
static fnz_status add_outputs(recorder *r, const tape_node *n, uint32_t node, fnz_arg *outputs) {
  const uint32_t *result = n->count ? r->results.data + n->first : NULL;
  size_t rest = other_list(r, n);
  for (size_t i = 0; i < n->op->nreturns; i++) {
    const fnz_arg *list = list_like(r, n, i);
    size_t length = list ? list_items(list) : rest;
    if (!n->op->returns[i].is_list) {
      FNZ_TRY(add_output(r, n, node, *result++, &outputs[i]));
      continue;
    }
    fnz_arg *items;
    FNZI_NEW(&r->program->arena, length, &items);
    for (size_t k = 0; k < length; k++)
      FNZ_TRY(add_output(r, n, node, *result++, &items[k]));
    outputs[i] = (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)length, .u.list = items};
  }
  return FNZ_OK;
}

/* The items of a list that copy_list() made. */
static fnz_arg *own_items(const fnz_arg *list) {
  return (fnz_arg *)(uintptr_t)list->u.list;
}

/* The arguments become the program's own: handles turn into values where they stand. */
static fnz_status emit(recorder *r, tape_node *n) {
  uint32_t node;
  fnz_arg *outputs;
  FNZ_TRY(fnzi_op_adopt(r->program, &n->op));
  FNZI_NEW(&r->program->arena, n->op->nreturns, &outputs);
  for (size_t i = 0; i < n->op->nparams; i++)
    if (n->args[i].tag == FNZ_ARG_LIST && n->args[i].count)
      to_program(r, own_items(&n->args[i]), n->args[i].count);
  to_program(r, n->args, n->op->nparams);
  const fnzi_node out = {.op = n->op,
                         .target = n->op->name,
                         .args = n->args,
                         .nargs = n->op->nparams,
                         .outputs = outputs,
                         .noutputs = n->op->nreturns,
                         .source = n->source};
  FNZ_TRY(add_outputs(r, n, (uint32_t)fnzi_graph_at(r->program, 0)->nodes.count, outputs));
  return fnzi_node_append(r->program, 0, &out, &node);
}

/* Exactly what the nodes that count take. */
static fnz_status make_room(recorder *r) {
  fnzi_graph *g = fnzi_graph_at(r->program, 0);
  size_t nodes = g->nodes.count, values = g->values.count;
  for (size_t i = 0; i < r->nodes.count; i++) {
    nodes += r->nodes.data[i].needed;
    values += r->nodes.data[i].needed ? r->nodes.data[i].count : 0;
  }
  FNZI_RESERVE(r->ctx, &g->nodes, nodes);
  FNZI_RESERVE(r->ctx, &g->values, values);
  return FNZ_OK;
}

fnz_status fnzi_recorder_build(fnz_backend *backend, const fnz_handle *wanted, size_t count,
                               bool skip, uint32_t *values) {
  recorder *r = backend->self;
  FNZ_TRY(mark(r, wanted, count));
  if (skip)
    skip_clones(r);
  FNZ_TRY(make_room(r));
  for (size_t i = 0; i < r->nodes.count; i++) {
    tape_node *n = &r->nodes.data[i];
    if (n->needed)
      FNZ_TRY(emit(r, n));
    else if (n->skipped)
      r->values.data[r->results.data[n->first] - 1].value =
          r->values.data[n->args[0].u.value - 1].value;
  }
  for (size_t i = 0; i < count; i++)
    values[i] = r->values.data[wanted[i] - 1].value;
  return FNZ_OK;
}

/* --- the public side -------------------------------------------------------------------------- */
fnz_status fnz_recorder_input(fnz_backend *backend, const char *name, const fnz_geometry *g,
                              fnz_handle *out) {
  recorder *r = backend->self;
  const fnz_geometry *own;
  uint32_t value;
  *out = 0;
  if (r->nodes.count)
    return fnzi_fail(r->ctx, FNZ_CLASS_ARGUMENT, name,
                     "inputs must be declared before the first operator");
  FNZ_TRY(fnzi_intern_geometry(r->program, g, &own));
  FNZ_TRY(fnzi_value_add(r->program, 0, name, own, FNZI_NO_NODE, &value));
  return fnzi_recorder_value(backend, value, out);
}

static fnz_status sign(fnz_program *p, size_t ninputs, const uint32_t *outputs, size_t count) {
  fnzi_graph *g = fnzi_graph_at(p, 0);
  FNZI_NEW(&p->arena, ninputs, &g->inputs);
  FNZI_NEW(&p->arena, ninputs, &p->inputs);
  FNZI_NEW(&p->arena, count, &g->outputs);
  FNZI_NEW(&p->arena, count, &p->outputs);
  g->ninputs = (uint32_t)ninputs;
  g->noutputs = (uint32_t)count;
  for (size_t i = 0; i < ninputs; i++) {
    g->inputs[i] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = i};
    p->inputs[i] = (fnz_input_spec){FNZ_INPUT_USER, g->values.data[i].name, false};
  }
  for (size_t i = 0; i < count; i++)
    g->outputs[i] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = outputs[i]};
  return FNZ_OK;
}

fnz_status fnz_recorder_finish(fnz_backend *backend, const fnz_handle *outputs, size_t count,
                               fnz_program **out) {
  recorder *r = backend->self;
  size_t ninputs = 0;
  uint32_t *values;
  *out = NULL;
  if (!r->program)
    return fnzi_fail(r->ctx, FNZ_CLASS_ARGUMENT, NULL, "the recording has been finished already");
  while (ninputs < r->values.count && r->values.data[ninputs].node == FNZI_NO_NODE)
    ninputs++;
  FNZI_NEW(&r->arena, count, &values);
  FNZ_TRY(fnzi_recorder_build(backend, outputs, count, false, values));
  FNZ_TRY(sign(r->program, ninputs, values, count));
  FNZ_TRY(fnz_program_verify(r->ctx, r->program));
  *out = fnzi_recorder_take(backend);
  return FNZ_OK;
}
