/* functionalize.c - the pass: a program is replayed through the wrapper over a recording backend.
 *
 * needs   a verified program with known sizes and without regions
 * keeps   names of inputs, their order, the order of user outputs, source lines
 * gives   a program without writes (and without views in the copy dialect); the final value of
 * every mutated input, parameter and buffer is a leading output that the signature names */
#include "functionalize/pass.h"

/* --- what it cannot do yet -------------------------------------------------------------------- */
static fnz_status refuse_symbols(const fnzi_pass *p) {
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

static fnz_status find_last_uses(fnzi_pass *p) {
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

/* --- replaying -------------------------------------------------------------------------------- */
/* An argument with the tensor in place of the value. */
static fnz_status to_tensor(fnzi_pass *p, fnz_arg *arg) {
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

static fnz_status to_tensors(fnzi_pass *p, const fnz_arg *args, size_t n, fnz_arg **out) {
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
  fnzi_pass *p;
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

static fnz_status find_results(fnzi_pass *p, const fnzi_node *node, results *r) {
  *r = (results){.p = p};
  FNZ_TRY(fnzi_args_visit(node->outputs, node->noutputs, count_result, r));
  FNZI_NEW(&p->world->scratch, r->count, &r->expected);
  FNZI_NEW(&p->world->scratch, r->count, &r->values);
  r->count = 0;
  return fnzi_args_visit(node->outputs, node->noutputs, add_result, r);
}

/* The wrapper's geometry must be the recorded one: two opinions on every shape. */
static fnz_status bind(fnzi_pass *p, const results *r, const fnzi_request *request) {
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
  fnzi_pass *p;
  uint32_t node;
} ending;

static fnz_status end_value(void *user, const fnz_arg *arg) {
  const ending *e = user;
  fnzi_pass *p = e->p;
  if (arg->tag != FNZ_ARG_VALUE || p->last_use[arg->u.value] != e->node)
    return FNZ_OK;
  fnz_tensor_release(p->tensors[arg->u.value]);
  p->tensors[arg->u.value] = NULL;
  return FNZ_OK;
}

static fnz_status end_values(fnzi_pass *p, uint32_t n) {
  const fnzi_node *node = &p->graph->nodes.data[n];
  ending e = {p, n};
  FNZ_TRY(fnzi_args_visit(node->args, node->nargs, end_value, &e));
  return fnzi_args_visit(node->outputs, node->noutputs, end_value, &e);
}

static fnz_status refuse_target(const fnzi_pass *p, const char *target) {
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

static fnz_status replay_node(fnzi_pass *p, uint32_t n) {
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

static fnz_status replay(fnzi_pass *p) {
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

/* --- the promise, checked --------------------------------------------------------------------- */
static fnz_status no_alias_left(fnzi_pass *p) {
  const fnzi_graph *g = fnzi_graph_at(p->to, p->into);
  for (size_t n = 0; n < g->nodes.count; n++) {
    const fnz_op *op = g->nodes.data[n].op;
    if (fnz_op_is_mutating(op) || (p->world->views == FNZ_VIEWS_COPY && fnz_op_is_view(op)))
      return fnzi_fail(p->ctx, FNZ_CLASS_INTERNAL, NULL, "%s is left in the functional program",
                       op->name);
  }
  return fnz_program_verify(p->ctx, p->to);
}

/* --- the driver ------------------------------------------------------------------------------- */
static fnz_status run(fnzi_pass *p) {
  FNZ_TRY(refuse_symbols(p));
  FNZ_TRY(find_last_uses(p));
  FNZ_TRY(fnzi_pass_heading(p));
  FNZ_TRY(fnzi_pass_inputs(p));
  FNZ_TRY(replay(p));
  FNZ_TRY(fnzi_pass_outputs(p));
  return no_alias_left(p);
}

fnz_status fnz_functionalize(fnz_context *ctx, const fnz_program *program,
                             const fnz_functionalize_options *options, fnz_program **out) {
  fnzi_pass p = {.ctx = ctx, .from = program, .graph = fnzi_graph_at(program, 0)};
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
