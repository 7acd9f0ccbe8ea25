/* driver.c - the pass: a program is replayed through the wrapper over a recording backend.
 *
 * needs   a verified program with known sizes
 * keeps   names of inputs, their order, the order of user outputs, source lines
 * gives   a program without writes (and without views in the copy dialect); the final value of
 * every mutated input, parameter and buffer is a leading output that the signature names */
#include "functionalize/dynamic/dynamic.h"
#include "functionalize/explain/explain.h"
#include "functionalize/pass/regions/regions.h"

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

static bool has_others(const fnzi_graph *g) {
  for (size_t i = 0; i < g->values.count; i++)
    if (!g->values.data[i].geometry)
      return true;
  return false;
}

static fnz_status find_last_uses(fnzi_pass *p) {
  size_t bytes = p->graph->values.count * sizeof *p->last_use;
  p->last_use = fnzi_resize(p->ctx, NULL, 0, bytes);
  if (!p->last_use && bytes)
    return fnzi_no_memory(p->ctx);
  if (bytes)
    memset(p->last_use, 0, bytes);
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

void fnzi_pass_replayed(fnzi_pass *p) {
  fnzi_free(p->ctx, p->last_use, p->graph->values.count * sizeof *p->last_use);
  p->last_use = NULL;
}

fnz_status fnzi_pass_prepare(fnzi_pass *p) {
  FNZ_TRY(refuse_symbols(p));
  if (has_others(p->graph))
    FNZI_NEW(&p->arena, p->graph->values.count, &p->others);
  return find_last_uses(p);
}

/* --- replaying -------------------------------------------------------------------------------- */
fnz_status fnzi_pass_other(const fnzi_pass *p, fnz_arg *arg) {
  if (!fnzi_is_reference(arg))
    return FNZ_OK;
  const char *name = p->graph->values.data[arg->u.value].name;
  if (arg->tag == FNZ_ARG_VALUE || !p->others[arg->u.value].tag)
    return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "argument %s is %s, which nothing is done with here", name,
                     arg->tag == FNZ_ARG_VALUE ? "a tensor" : "no tensor");
  *arg = p->others[arg->u.value];
  return FNZ_OK;
}

fnz_status fnzi_pass_symbol(const fnzi_pass *p, uint32_t symbol, uint32_t *out) {
  *out = 0;
  if (!symbol)
    return FNZ_OK;
  const fnzi_symbol *s = &p->from->symbols.data[symbol];
  return fnzi_symbol_add(p->to, s->text, s->has_hint, s->hint, out);
}

/* An argument with the tensor in place of the value. */
static fnz_status to_tensor(fnzi_pass *p, fnz_arg *arg) {
  if (arg->tag == FNZ_ARG_VALUE) {
    arg->u.tensor = p->tensors[arg->u.value];
    return FNZ_OK;
  }
  if (arg->tag < FNZ_ARG_SYMBOL || arg->tag > FNZ_ARG_OBJECT)
    return FNZ_OK;
  const fnz_arg *number = &p->others[arg->u.value];
  if (number->tag && !fnzi_is_reference(number)) {
    *arg = *number;
    return FNZ_OK;
  }
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
                   "there is no rule for %s; export the program without it", target);
}

/* Arithmetic on numbers that only the run knows. */
static fnz_status replay_number(fnzi_pass *p, const fnzi_node *node) {
  fnzi_arena *scratch = &p->world->scratch;
  fnzi_outcome *outcomes;
  fnz_handle *handles;
  fnz_arg *args;
  FNZI_NEW(scratch, node->nargs, &args);
  FNZI_NEW(scratch, node->noutputs, &outcomes);
  FNZI_NEW(scratch, node->noutputs, &handles);
  for (uint32_t i = 0; i < node->nargs; i++) {
    args[i] = node->args[i];
    FNZ_TRY(fnzi_pass_other(p, &args[i]));
  }
  for (uint32_t j = 0; j < node->noutputs; j++) {
    const fnz_arg *out = &node->outputs[j];
    if (out->tag != FNZ_ARG_SYMBOL)
      return refuse_target(p, fnzi_node_target(node));
    outcomes[j].tag = FNZ_ARG_SYMBOL;
    FNZ_TRY(fnzi_pass_symbol(p, p->graph->values.data[out->u.value].symbol, &outcomes[j].symbol));
  }
  const fnzi_node_call call = {.target = fnzi_node_target(node),
                               .source = node->source,
                               .args = args,
                               .names = node->u.other->arg_names,
                               .nargs = node->nargs,
                               .outcomes = outcomes,
                               .noutcomes = node->noutputs,
                               .effects = node->noutputs == 0};
  FNZ_TRY(fnzi_recorder_node(p->recorder, &call, handles));
  for (uint32_t j = 0; j < node->noutputs; j++)
    p->others[node->outputs[j].u.value] = (fnz_arg){.tag = FNZ_ARG_SYMBOL, .u.value = handles[j]};
  fnzi_settle(p->world);
  return FNZ_OK;
}

/* Autocast leaves operators that write alone, but not all of their functional twins. */
static fnz_status check_autocast(const fnzi_pass *p, const fnz_op *op) {
  if (!p->autocast || !fnz_op_is_mutating(op) || !fnzi_autocast_changes(fnz_op_functional_twin(op)))
    return FNZ_OK;
  return fnzi_fail(p->ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "%s writes under an enabled autocast, which would cast the arguments of its "
                   "functional form; disable autocast around it",
                   op->name);
}

static fnz_status replay_call(fnzi_pass *p, const fnzi_node *node) {
  results r;
  fnz_arg *args;
  FNZ_TRY(check_autocast(p, node->op));
  p->world->source = node->source;
  p->world->autocast = p->autocast;
  *p->world->slack += FNZI_NODES_FOR_ONE;
  p->world->why = fnzi_why_node(node);
  p->world->asked = p->to->asked;
  FNZ_TRY(find_results(p, node, &r));
  FNZ_TRY(to_tensors(p, node->args, node->op->nparams, &args));
  fnzi_request request = {
      .op = node->op, .args = args, .expected = r.expected, .nexpected = r.count};
  fnzi_recorder_expect(p->recorder, fnz_op_functional_twin(node->op), node->outputs,
                       node->noutputs);
  fnz_status status = fnzi_dispatch(p->world, &request);
  if (status == FNZ_OK)
    status = bind(p, &r, &request);
  fnzi_request_end(&request);
  fnzi_settle(p->world);
  return status;
}

static fnz_status replay_node(fnzi_pass *p, const fnzi_node *node, bool *waits) {
  if (node->op)
    return replay_call(p, node);
  p->world->why = fnzi_why_node(node);
  if (fnzi_hop_is_known(node))
    return fnzi_region_pass(p, node, waits);
  return fnzi_is_hop(node) || !p->others ? refuse_target(p, fnzi_node_target(node))
                                         : replay_number(p, node);
}

fnz_status fnzi_pass_step(fnzi_pass *p) {
  bool waits = false;
  fnz_status status = replay_node(p, &p->graph->nodes.data[p->at], &waits);
  if (status == FNZ_OK)
    return waits ? FNZ_OK : end_values(p, p->at++);
  while (p->all->top != p) /* it failed before its first node */
    fnzi_pass_pop(p->all);
  char place[160];
  fnzi_node_place(p->from, p->index, p->at, place);
  FNZ_TRY(fnzi_pass_go_on(p, &p->graph->nodes.data[p->at], fnzi_at(p->ctx, status, "%s", place)));
  return end_values(p, p->at++);
}

/* --- the promise, checked --------------------------------------------------------------------- */
static fnz_status no_alias_in(const fnzi_pass *p, const fnzi_graph *g, size_t count) {
  for (size_t n = 0; n < count; n++) {
    const fnz_op *op = g->nodes.data[n].op;
    if (!op)
      continue;
    if (fnz_op_is_mutating(op) || (p->world->views != FNZ_VIEWS_KEEP && fnz_op_is_view(op)))
      return fnzi_fail(p->ctx, FNZ_CLASS_INTERNAL, NULL, "%s is left in the functional program",
                       op->name);
  }
  return FNZ_OK;
}

static fnz_status no_alias_left(const fnzi_pass *p) {
  for (uint32_t g = 0; g < p->to->graphs.count; g++) {
    const fnzi_graph *graph = fnzi_graph_at(p->to, g);
    bool ends_in_writes = g == 0 && p->epilogue;
    FNZ_TRY(
        no_alias_in(p, graph, ends_in_writes ? fnzi_epilogue_start(p->to) : graph->nodes.count));
  }
  return fnz_program_verify(p->ctx, p->to);
}

/* --- the driver ------------------------------------------------------------------------------- */
static fnz_status run(fnzi_pass *p) {
  FNZ_TRY(fnzi_pass_prepare(p));
  FNZ_TRY(fnzi_pass_heading(p));
  FNZ_TRY(fnzi_pass_inputs(p));
  FNZ_TRY(fnzi_passes_run(p));
  bool failed = p->to->asked && p->to->asked->failures.count;
  return p->again || failed ? FNZ_OK : no_alias_left(p);
}

/* One pass over the program. *again: inputs that share memory have to be joined first. */
static fnz_status attempt(fnz_context *ctx, const fnz_program *program,
                          const fnz_functionalize_options *options, fnzi_memories *memories,
                          fnzi_asked *asked, fnzi_decisions *decisions, bool *again,
                          fnz_program **out) {
  fnzi_pass p = {
      .ctx = ctx, .from = program, .graph = fnzi_graph_at(program, 0), .memories = memories};
  fnzi_arena_init(&p.arena, ctx);
  fnzi_arena_init(&p.lives, ctx);
  p.epilogue = options->state == FNZ_STATE_EPILOGUE;
  fnz_status status = fnz_recorder_create(ctx, NULL, &p.recorder);
  if (status == FNZ_OK)
    status = fnz_world_create(ctx, p.recorder, &p.world);
  if (status == FNZ_OK) {
    p.world->views = options->views;
    p.to = fnzi_recorder_program(p.recorder);
    p.to->asked = asked;
    p.to->decisions = p.world->decisions = decisions;
    p.to->slack = (int64_t)ctx->limits.slice_nodes;
    p.world->slack = &p.to->slack;
    status = run(&p);
  }
  *again = p.again;
  if (status == FNZ_OK && !p.again)
    *out = fnzi_recorder_take(p.recorder);
  if (*out)
    (*out)->asked = NULL, (*out)->decisions = NULL;
  fnzi_pass_replayed(&p);
  fnzi_pass_inputs_end(&p);
  fnz_world_destroy(p.world);
  if (p.recorder)
    fnz_backend_destroy(p.recorder);
  fnzi_arena_free(&p.lives);
  fnzi_arena_free(&p.arena);
  return status;
}

/* What cannot be done while inputs of one memory are apart may be possible when they are joined: an
 * as_strided reaches from one to the other. */
static bool may_join(fnz_status status, fnzi_memories *memories) {
  return status != FNZ_OK && status != FNZ_NO_MEMORY && memories->shared &&
         fnzi_memories_join_all(memories);
}

/* Callers that know an older form of the options leave the rest at its defaults. */
static fnz_functionalize_options newest(const fnz_functionalize_options *options) {
  fnz_functionalize_options own = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  if (options)
    memcpy(&own, options, options->size < sizeof own ? options->size : sizeof own);
  return own;
}

static fnz_status check_types(fnz_context *ctx, const fnz_program *program,
                              const fnz_functionalize_options *o) {
  bool open = o->check_types && program->unchecked && *program->unchecked;
  return open ? o->check_types(ctx, program, NULL, NULL) : FNZ_OK;
}

static fnz_status check_options(fnz_context *ctx, const fnz_program *program,
                                const fnz_functionalize_options *o) {
  if ((unsigned)o->views > FNZ_VIEWS_STRIDED || (unsigned)o->state > FNZ_STATE_EPILOGUE)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "options: views is %d, which goes from 0 to %d; state is %d, from 0 to %d",
                     (int)o->views, FNZ_VIEWS_STRIDED, (int)o->state, FNZ_STATE_EPILOGUE);
  return fnzi_check_deny_list(ctx, program, o);
}

fnz_status fnz_functionalize(fnz_context *ctx, const fnz_program *program,
                             const fnz_functionalize_options *options, fnz_program **out) {
  fnzi_asked asked = {0};
  bool asks = program->extras || newest(options).ndeny;
  fnz_status status = fnzi_functionalize_asked(ctx, program, options, asks ? &asked : NULL, out);
  fnzi_asked_end(ctx, &asked);
  return status;
}

static fnz_status drop_failed(fnz_status status, fnz_program **out) {
  if (status == FNZ_OK)
    return FNZ_OK;
  fnz_program_destroy(*out);
  *out = NULL;
  return status;
}

fnz_status fnzi_functionalize_asked(fnz_context *ctx, const fnz_program *program,
                                    const fnz_functionalize_options *options, fnzi_asked *asked,
                                    fnz_program **out) {
  const fnz_functionalize_options own = newest(options);
  *out = NULL;
  FNZ_TRY(check_options(ctx, program, &own));
  FNZ_TRY(check_types(ctx, program, &own));
  fnz_status status = fnzi_is_symbolic(program)
                          ? fnzi_generalize(ctx, program, &own, asked, out)
                          : fnzi_functionalize_plain(ctx, program, &own, asked, NULL, out);
  if (status == FNZ_OK && *out)
    status = fnzi_check_denied(ctx, program, *out, &own, asked);
  return drop_failed(status, out);
}

fnz_status fnzi_functionalize_plain(fnz_context *ctx, const fnz_program *program,
                                    const fnz_functionalize_options *options, fnzi_asked *asked,
                                    fnzi_decisions *decisions, fnz_program **out) {
  fnzi_memories memories;
  fnzi_arena arena;
  bool again = true;
  const fnz_functionalize_options own = newest(options);
  *out = NULL;
  fnzi_arena_init(&arena, ctx);
  fnz_status status = fnzi_memories_find(&arena, program, &memories);
  while (again && status == FNZ_OK) {
    if (asked)
      fnzi_asked_forget(asked);
    if (decisions)
      decisions->taken.count = 0;
    status = attempt(ctx, program, &own, &memories, asked, decisions, &again, out);
    bool failed = asked && asked->failures.count;
    if (may_join(failed ? FNZ_UNSUPPORTED : status, &memories)) {
      fnz_program_destroy(*out);
      *out = NULL;
      status = FNZ_OK;
      again = true;
    }
  }
  fnzi_arena_free(&arena);
  if (status == FNZ_OK)
    status = fnzi_keep_extras(program, asked, *out);
  return drop_failed(status, out);
}
