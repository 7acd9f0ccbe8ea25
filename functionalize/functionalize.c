/* functionalize.c - the pass: a program is replayed through the wrapper over a recording backend.
 *
 * needs   a verified program with known sizes and without regions
 * keeps   names of inputs, their order, the order of user outputs, source lines
 * gives   a program without writes (and without views in the copy dialect); the final value of
 * every mutated input, parameter and buffer is a leading output that the signature names */
#include "functionalize/recorder.h"
#include "functionalize/world.h"

typedef struct pass {
  fnz_context *ctx;
  const fnz_program *from;
  const fnzi_graph *graph;
  fnz_backend *recorder;
  fnz_world *world;
  fnzi_arena arena;
  fnz_tensor **tensors; /* per value of the source graph; NULL before and after its life */
  fnz_tensor **inputs;  /* per input of the source graph; held to the end, NULL for literals */
  fnzi_alias **roots;   /* the memory that each input came with; held to the end */
  uint32_t *last_use;   /* per value: the last node that uses it */
  fnz_program *to;
} pass;

/* --- what it cannot do yet -------------------------------------------------------------------- */
static fnz_status refuse_symbols(const pass *p) {
  for (size_t i = 0; i < p->graph->values.count; i++) {
    const fnzi_value *v = &p->graph->values.data[i];
    if (v->geometry && v->geometry->symbols)
      return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, v->name,
                       "value %s has a symbolic size; export the program with fixed sizes",
                       v->name);
  }
  return FNZ_OK;
}

/* --- setting up ------------------------------------------------------------------------------- */
static fnz_status note_use(void *user, const fnz_arg *arg) {
  uint32_t **at = user; /* at[0]: the table, at[1]: the node */
  if (arg->tag == FNZ_ARG_VALUE)
    at[0][arg->u.value] = *at[1];
  return FNZ_OK;
}

static fnz_status find_last_uses(pass *p) {
  FNZI_NEW(&p->arena, p->graph->values.count, &p->last_use);
  for (uint32_t n = 0; n < p->graph->nodes.count; n++) {
    const fnzi_node *node = &p->graph->nodes.data[n];
    uint32_t *at[] = {p->last_use, &n};
    FNZ_TRY(fnzi_args_visit(node->outputs, node->noutputs, note_use, at));
    FNZ_TRY(fnzi_args_visit(node->args, node->nargs, note_use, at));
  }
  uint32_t never = FNZI_NO_NODE, *at[] = {p->last_use, &never};
  FNZ_TRY(fnzi_args_visit(p->graph->inputs, p->graph->ninputs, note_use, at));
  return fnzi_args_visit(p->graph->outputs, p->graph->noutputs, note_use, at);
}

static fnz_status copy_weights(pass *p) {
  for (size_t i = 0; i < p->from->weights.count; i++) {
    const fnzi_weight *w = &p->from->weights.data[i];
    const fnz_geometry *g;
    FNZ_TRY(fnzi_intern_geometry(p->to, w->geometry, &g));
    FNZ_TRY(fnzi_weight_add(p->to, w->name, w->blob, g));
  }
  return FNZ_OK;
}

static fnz_status copy_heading(pass *p) {
  p->to->schema_major = p->from->schema_major;
  p->to->schema_minor = p->from->schema_minor;
  if (p->from->torch_version)
    FNZ_TRY(fnzi_intern(p->to, p->from->torch_version, strlen(p->from->torch_version),
                        &p->to->torch_version));
  for (size_t i = 0; i < p->from->ranges.count; i++) {
    fnzi_range range = p->from->ranges.data[i];
    FNZ_TRY(fnzi_intern(p->to, range.symbol, strlen(range.symbol), &range.symbol));
    FNZI_PUSH(p->ctx, &p->to->ranges, range);
  }
  return copy_weights(p);
}

static fnz_status wrap_input(pass *p, uint32_t k, fnz_arg *input) {
  const fnzi_value *v = &p->graph->values.data[input->u.value];
  const fnz_geometry *g = NULL;
  fnz_handle handle;
  uint32_t value;
  if (v->geometry)
    FNZ_TRY(fnzi_intern_geometry(p->to, v->geometry, &g));
  FNZ_TRY(fnzi_value_add(p->to, 0, v->name, g, FNZI_NO_NODE, &value));
  if (input->tag != FNZ_ARG_VALUE) {
    input->u.value = value;
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_recorder_value(p->recorder, value, &handle));
  FNZ_TRY(fnz_tensor_wrap(p->world, g, handle, &p->inputs[k]));
  p->inputs[k]->refs++;
  p->roots[k] = fnzi_alias_retain(p->inputs[k]->node);
  p->tensors[input->u.value] = p->inputs[k];
  input->u.value = value;
  return FNZ_OK;
}

static fnz_status wrap_inputs(pass *p) {
  fnzi_graph *to = fnzi_graph_at(p->to, 0);
  FNZI_NEW(&p->arena, p->graph->values.count, &p->tensors);
  FNZI_NEW(&p->arena, p->graph->ninputs, &p->inputs);
  FNZI_NEW(&p->arena, p->graph->ninputs, &p->roots);
  FNZI_NEW(&p->to->arena, p->graph->ninputs, &p->to->inputs);
  FNZ_TRY(fnzi_args_copy(p->to, p->graph->inputs, p->graph->ninputs, &to->inputs));
  to->ninputs = p->graph->ninputs;
  for (uint32_t k = 0; k < p->graph->ninputs; k++) {
    uint8_t tag = to->inputs[k].tag;
    fnz_input_spec spec = p->from->inputs[k];
    if (tag == FNZ_ARG_VALUE || tag == FNZ_ARG_OBJECT || tag == FNZ_ARG_TOKEN)
      FNZ_TRY(wrap_input(p, k, &to->inputs[k]));
    if (spec.target)
      FNZ_TRY(fnzi_intern(p->to, spec.target, strlen(spec.target), &spec.target));
    p->to->inputs[k] = spec;
  }
  return FNZ_OK;
}

/* --- replaying -------------------------------------------------------------------------------- */
/* An argument with the tensor in place of the value. */
static fnz_status to_tensor(pass *p, fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_VALUE) {
    arg->u.tensor = p->tensors[arg->u.value];
    return FNZ_OK;
  }
  if (arg->tag < FNZ_ARG_SYMBOL || arg->tag > FNZ_ARG_OBJECT)
    return FNZ_OK;
  return fnzi_fail(
      p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
      "argument %s is a symbolic number, a token or an object; export the program with "
      "fixed sizes",
      p->graph->values.data[arg->u.value].name);
}

static fnz_status to_tensors(pass *p, const fnz_arg *args, size_t n, fnz_arg **out) {
  fnzi_arena *scratch = &p->world->scratch;
  FNZI_NEW(scratch, n, out);
  for (size_t i = 0; i < n; i++) {
    (*out)[i] = args[i];
    if (args[i].tag != FNZ_ARG_LIST) {
      FNZ_TRY(to_tensor(p, &(*out)[i]));
      continue;
    }
    fnz_arg *items;
    FNZI_NEW(scratch, args[i].count, &items);
    for (size_t k = 0; k < args[i].count; k++) {
      items[k] = args[i].u.list[k];
      FNZ_TRY(to_tensor(p, &items[k]));
    }
    (*out)[i].u.list = items;
  }
  return FNZ_OK;
}

/* Every tensor result of a node, lists flattened. */
typedef struct results {
  pass *p;
  const fnz_geometry **expected;
  uint64_t *values; /* UINT64_MAX for an undefined one */
  size_t count;
} results;

static fnz_status count_result(void *user, const fnz_arg *arg) {
  (void)arg;
  ((results *)user)->count++;
  return FNZ_OK;
}

static fnz_status add_result(void *user, const fnz_arg *arg) {
  results *r = user;
  bool is_tensor = arg->tag == FNZ_ARG_VALUE;
  if (arg->tag == FNZ_ARG_SYMBOL)
    return fnzi_fail(r->p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "the result %s is a symbolic number; export the program with fixed sizes",
                     r->p->graph->values.data[arg->u.value].name);
  r->values[r->count] = is_tensor ? arg->u.value : UINT64_MAX;
  r->expected[r->count++] = is_tensor ? r->p->graph->values.data[arg->u.value].geometry : NULL;
  return FNZ_OK;
}

static fnz_status find_results(pass *p, const fnzi_node *node, results *r) {
  *r = (results){.p = p};
  FNZ_TRY(fnzi_args_visit(node->outputs, node->noutputs, count_result, r));
  FNZI_NEW(&p->world->scratch, r->count, &r->expected);
  FNZI_NEW(&p->world->scratch, r->count, &r->values);
  r->count = 0;
  return fnzi_args_visit(node->outputs, node->noutputs, add_result, r);
}

/* The wrapper's geometry must be the recorded one: two opinions on every shape. */
static fnz_status bind(pass *p, const results *r, const fnzi_request *request) {
  if (request->out.count < r->count)
    return fnzi_fail(p->ctx, FNZ_CLASS_TYPE, NULL,
                     "the node has %zu results, the operator gives %zu", r->count,
                     request->out.count);
  for (size_t i = 0; i < r->count; i++) {
    fnz_tensor *t = request->out.data[i];
    if (r->values[i] == UINT64_MAX)
      continue;
    if (!t || t->node->geometry.dtype != r->expected[i]->dtype ||
        !fnzi_same_sizes(&t->node->geometry, r->expected[i]))
      return fnzi_fail(p->ctx, FNZ_CLASS_TYPE, NULL,
                       "the recorded sizes or dtype of %s are not what %s gives",
                       p->graph->values.data[r->values[i]].name, request->op->name);
    t->refs++;
    p->tensors[r->values[i]] = t;
  }
  return FNZ_OK;
}

/* Tensors whose last user this node was. A result that nobody uses ends at once. */
typedef struct ending {
  pass *p;
  uint32_t node;
} ending;

static fnz_status end_value(void *user, const fnz_arg *arg) {
  const ending *e = user;
  pass *p = e->p;
  if (arg->tag != FNZ_ARG_VALUE || p->last_use[arg->u.value] != e->node)
    return FNZ_OK;
  fnz_tensor_release(p->tensors[arg->u.value]);
  p->tensors[arg->u.value] = NULL;
  return FNZ_OK;
}

static fnz_status end_values(pass *p, uint32_t n) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  ending e = {p, n};
  FNZ_TRY(fnzi_args_visit(node->args, node->nargs, end_value, &e));
  return fnzi_args_visit(node->outputs, node->noutputs, end_value, &e);
}

static fnz_status refuse_target(const pass *p, const char *target) {
  if (strstr(target, "auto_functionalized"))
    return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "%s is understood in .pt2 files only; convert that file, or write the clones "
                     "and the call of the operator itself",
                     target);
  return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "%s is a higher-order or scalar operator; only tensor operators are supported, "
                   "so export the program without it",
                   target);
}

static fnz_status replay_node(pass *p, uint32_t n) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  results r;
  fnz_arg *args;
  if (!node->op)
    return refuse_target(p, node->target);
  p->world->source = node->source;
  FNZ_TRY(find_results(p, node, &r));
  FNZ_TRY(to_tensors(p, node->args, node->op->nparams, &args));
  fnzi_request request = {
      .op = node->op, .args = args, .expected = r.expected, .nexpected = r.count};
  fnzi_recorder_expect(p->recorder, fnz_op_functional_twin(node->op), node->outputs,
                       node->noutputs);
  fnz_status status = fnzi_dispatch(p->world, &request);
  if (status == FNZ_OK)
    status = bind(p, &r, &request);
  fnzi_request_end(p->world, &request);
  fnzi_settle(p->world);
  return status;
}

static fnz_status replay(pass *p) {
  for (uint32_t n = 0; n < p->graph->nodes.count; n++) {
    fnz_status status = replay_node(p, n);
    if (status != FNZ_OK) {
      char place[160];
      fnzi_node_place(p->from, 0, n, place);
      return fnzi_at(p->ctx, status, "%s", place);
    }
    FNZ_TRY(end_values(p, n));
  }
  return FNZ_OK;
}

/* --- outputs ---------------------------------------------------------------------------------- */
typedef struct output {
  fnz_output_spec spec;
  fnz_arg arg;
  fnz_handle handle; /* of a tensor */
} output;

typedef struct outputs {
  output *data;
  size_t count;
} outputs;

static fnz_status refuse_input(const pass *p, uint32_t k, const char *what) {
  const char *name = p->graph->values.data[p->graph->inputs[k].u.value].name;
  return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, name, "input %s %s", name, what);
}

/* Another weight over the same bytes would have to change as well. */
static bool shares_weight(const pass *p, const char *name) {
  const fnzi_weight *w = name ? fnzi_weight_find(p->from, name) : NULL;
  for (size_t i = 0; w && w->blob && i < p->from->weights.count; i++) {
    const fnzi_weight *other = &p->from->weights.data[i];
    if (other != w && other->blob == w->blob &&
        fnzi_relate(w->geometry, other->geometry, NULL, FNZI_MUCH_WORK) != FNZI_DISJOINT)
      return true;
  }
  return false;
}

static fnz_output_kind mutation_kind(fnz_input_kind kind) {
  return kind == FNZ_INPUT_PARAMETER ? FNZ_OUTPUT_PARAMETER_MUTATION
         : kind == FNZ_INPUT_BUFFER  ? FNZ_OUTPUT_BUFFER_MUTATION
                                     : FNZ_OUTPUT_INPUT_MUTATION;
}

static fnz_status add_tensor_output(pass *p, outputs *out, fnz_output_spec spec, fnz_tensor *t) {
  fnzi_held *value;
  output *o = &out->data[out->count++];
  p->world->source = "";
  FNZ_TRY(fnzi_read_tensor(t, &value));
  *o = (output){spec, {.tag = FNZ_ARG_VALUE}, value->handle};
  if (spec.target)
    FNZ_TRY(fnzi_intern(p->to, spec.target, strlen(spec.target), &o->spec.target));
  fnzi_settle(p->world);
  return FNZ_OK;
}

static fnz_status add_mutation(pass *p, outputs *out, uint32_t k) {
  const fnz_input_spec *in = &p->from->inputs[k];
  const fnzi_value *v = &p->graph->values.data[p->graph->inputs[k].u.value];
  fnz_output_spec spec = {mutation_kind(in->kind), NULL, false};
  fnz_tensor *t = p->inputs[k];
  if (t->node->storage != p->roots[k]->storage)
    return refuse_input(p, k,
                        "gets other memory by set_ or resize_; return the new tensor instead");
  spec.metadata = !fnzi_geometry_equal(&t->node->geometry, v->geometry);
  if (!spec.metadata && t->node->storage->version == 0)
    return FNZ_OK;
  if (in->kind == FNZ_INPUT_CONSTANT)
    return refuse_input(p, k, "is a constant of the program, yet it is written; make it a buffer");
  if (shares_weight(p, in->target))
    return refuse_input(p, k, "is written and shares its memory with another weight; untie them");
  spec.target = in->kind == FNZ_INPUT_USER ? v->name : in->target;
  return add_tensor_output(p, out, spec, t);
}

static fnz_status add_outputs(pass *p, outputs *out) {
  FNZI_NEW(&p->arena, p->graph->ninputs + (size_t)p->graph->noutputs, &out->data);
  out->count = 0;
  for (uint32_t k = 0; k < p->graph->ninputs; k++)
    if (p->inputs[k])
      FNZ_TRY(add_mutation(p, out, k));
  for (uint32_t k = 0; k < p->graph->noutputs; k++) {
    const fnz_arg *a = &p->graph->outputs[k];
    if (a->tag == FNZ_ARG_VALUE) {
      FNZ_TRY(add_tensor_output(p, out, p->from->outputs[k], p->tensors[a->u.value]));
      continue;
    }
    if (a->tag >= FNZ_ARG_SYMBOL && a->tag <= FNZ_ARG_OBJECT)
      return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                       "output %u is a symbolic number, a token or an object", k);
    out->data[out->count++] = (output){p->from->outputs[k], *a, 0};
  }
  return FNZ_OK;
}

static fnz_status write_outputs(pass *p, const outputs *out) {
  fnz_handle *handles;
  uint32_t *values;
  fnz_arg *args;
  size_t n = 0;
  fnzi_graph *graph = fnzi_graph_at(p->to, 0);
  FNZI_NEW(&p->arena, out->count, &handles);
  FNZI_NEW(&p->arena, out->count, &values);
  FNZI_NEW(&p->arena, out->count, &args);
  FNZI_NEW(&p->to->arena, out->count, &p->to->outputs);
  for (size_t k = 0; k < out->count; k++)
    if (out->data[k].handle)
      handles[n++] = out->data[k].handle;
  FNZ_TRY(fnzi_recorder_build(p->recorder, handles, n, p->world->views == FNZ_VIEWS_COPY, values));
  n = 0;
  for (size_t k = 0; k < out->count; k++) {
    args[k] = out->data[k].arg;
    if (out->data[k].handle)
      args[k].u.value = values[n++];
    p->to->outputs[k] = out->data[k].spec;
  }
  FNZ_TRY(fnzi_args_copy(p->to, args, out->count, &graph->outputs));
  graph->noutputs = (uint32_t)out->count;
  graph->returns_single = p->graph->returns_single;
  return FNZ_OK;
}

/* --- the promise, checked --------------------------------------------------------------------- */
static fnz_status no_alias_left(pass *p) {
  const fnzi_graph *g = fnzi_graph_at(p->to, 0);
  for (size_t n = 0; n < g->nodes.count; n++) {
    const fnz_op *op = g->nodes.data[n].op;
    if (fnz_op_is_mutating(op) || (p->world->views == FNZ_VIEWS_COPY && fnz_op_is_view(op)))
      return fnzi_fail(p->ctx, FNZ_CLASS_INTERNAL, NULL, "%s is left in the functional program",
                       op->name);
  }
  return fnz_program_verify(p->ctx, p->to);
}

/* --- the driver ------------------------------------------------------------------------------- */
static fnz_status run(pass *p) {
  outputs out;
  FNZ_TRY(refuse_symbols(p));
  FNZ_TRY(find_last_uses(p));
  FNZ_TRY(copy_heading(p));
  FNZ_TRY(wrap_inputs(p));
  FNZ_TRY(replay(p));
  FNZ_TRY(add_outputs(p, &out));
  FNZ_TRY(write_outputs(p, &out));
  return no_alias_left(p);
}

fnz_status fnz_functionalize(fnz_context *ctx, const fnz_program *program,
                             const fnz_functionalize_options *options, fnz_program **out) {
  pass p = {.ctx = ctx, .from = program, .graph = fnzi_graph_at(program, 0)};
  *out = NULL;
  fnzi_arena_init(&p.arena, ctx);
  fnz_status status = fnz_recorder_create(ctx, NULL, &p.recorder);
  if (status == FNZ_OK)
    status = fnz_world_create(ctx, p.recorder, &p.world);
  if (status == FNZ_OK) {
    p.world->views = options ? options->views : FNZ_VIEWS_COPY;
    p.to = fnzi_recorder_program(p.recorder);
    status = run(&p);
  }
  if (status == FNZ_OK)
    *out = fnzi_recorder_take(p.recorder);
  for (size_t k = 0; p.roots && k < p.graph->ninputs; k++)
    fnzi_alias_release(p.roots[k]);
  fnz_world_destroy(p.world);
  if (p.recorder)
    fnz_backend_destroy(p.recorder);
  fnzi_arena_free(&p.arena);
  return status;
}
