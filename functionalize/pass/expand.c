/* expand.c - a node that is replayed as calls of other operators, one after the other.
 *
 * needs   the node's request, complete; an expander
 * keeps   the source line of the node, for all calls
 * gives   the results of the request, from tensors that the calls gave */
#include "functionalize/pass/pass.h"

/* The tensors of a script, by number. Each that a call gave holds a reference. */
typedef struct cast {
  fnzi_pass *p;
  const fnzi_script *script;
  fnz_tensor **tensors;
  const fnz_geometry **geometries;
} cast;

/* --- what the node is made of ----------------------------------------------------------------- */
static void number(const cast *c, fnz_arg *arg, size_t *next) {
  if (arg->tag != FNZ_ARG_VALUE)
    return;
  c->tensors[*next] = arg->u.tensor;
  c->geometries[*next] = &arg->u.tensor->alias->geometry;
  arg->u.value = (*next)++;
}

static fnz_status count_tensors(void *user, const fnz_arg *arg) {
  *(size_t *)user += arg->tag == FNZ_ARG_VALUE;
  return FNZ_OK;
}

/* Arguments with numbers in place of tensors, which are noted. */
static fnz_status number_args(cast *c, const fnzi_wrap_request *r, fnz_arg **out) {
  fnzi_arena *scratch = &c->p->wrapper->scratch;
  size_t count = 0, next = 0;
  fnz_arg *args;
  FNZ_TRY(fnzi_args_visit(r->args, r->op->nparams, count_tensors, &count));
  FNZI_NEW(scratch, count, &c->tensors);
  FNZI_NEW(scratch, count, &c->geometries);
  FNZI_NEW(scratch, r->op->nparams, &args);
  for (size_t i = 0; i < r->op->nparams; i++) {
    args[i] = r->args[i];
    number(c, &args[i], &next);
    if (args[i].tag != FNZ_ARG_LIST || !args[i].count)
      continue;
    fnz_arg *items;
    FNZI_NEW(scratch, args[i].count, &items);
    memcpy(items, args[i].u.list, args[i].count * sizeof *items);
    args[i].u.list = items;
    for (uint32_t k = 0; k < args[i].count; k++)
      number(c, &items[k], &next);
  }
  *out = args;
  return FNZ_OK;
}

typedef struct reading {
  const fnzi_pass *p;
  uint32_t next;
  uint64_t unread;
} reading;

static fnz_status note_unread(void *user, const fnz_arg *arg) {
  reading *r = user;
  if (arg->tag == FNZ_ARG_VALUE && r->next < 64 && r->p->last_use[arg->u.value] == r->p->at)
    r->unread |= (uint64_t)1 << r->next;
  r->next++;
  return FNZ_OK;
}

/* Bits of the node's results that no other node reads. */
static uint64_t unread_of(const fnzi_pass *p) {
  const fnzi_node *node = &p->graph->nodes.data[p->at];
  reading r = {.p = p};
  return fnzi_args_visit(node->outputs, node->noutputs, note_unread, &r) == FNZ_OK ? r.unread : 0;
}

/* --- its calls -------------------------------------------------------------------------------- */
static fnz_arg on_tensor(const cast *c, fnz_arg arg) {
  if (arg.tag == FNZ_ARG_VALUE)
    arg.u.tensor = c->tensors[arg.u.value];
  return arg;
}

static fnz_status on_tensors(const cast *c, const fnzi_script_call *call, fnz_arg **out) {
  fnzi_arena *scratch = &c->p->wrapper->scratch;
  FNZI_NEW(scratch, call->op->nparams, out);
  for (size_t i = 0; i < call->op->nparams; i++) {
    const fnz_arg *arg = &call->args[i];
    (*out)[i] = on_tensor(c, *arg);
    if (arg->tag != FNZ_ARG_LIST || !arg->count)
      continue;
    fnz_arg *items;
    FNZI_NEW(scratch, arg->count, &items);
    for (uint32_t k = 0; k < arg->count; k++)
      items[k] = on_tensor(c, arg->u.list[k]);
    (*out)[i].u.list = items;
  }
  return FNZ_OK;
}

static fnz_status keep_results(cast *c, const fnzi_script_call *call, const fnzi_wrap_request *r) {
  if (r->out.count < call->count)
    return fnzi_fail(c->p->ctx, FNZ_CLASS_INTERNAL, NULL, "%s gives %zu results, %u are needed",
                     call->op->name, r->out.count, (unsigned)call->count);
  for (uint32_t k = 0; k < call->count; k++) {
    fnz_tensor *t = r->out.data[k];
    if (t)
      t->refs++;
    c->tensors[call->first + k] = t;
  }
  return FNZ_OK;
}

static fnz_status run_call(cast *c, const fnzi_script_call *call) {
  fnz_arg *args;
  FNZ_TRY(on_tensors(c, call, &args));
  fnzi_wrap_request r = {.op = call->op,
                         .args = args,
                         .expected = c->geometries + call->first,
                         .nexpected = call->count};
  fnzi_rec_expect(c->p->recorder, NULL, NULL, 0);
  fnz_status status = fnzi_wrap_dispatch(c->p->wrapper, &r);
  if (status == FNZ_OK)
    status = keep_results(c, call, &r);
  fnzi_wrap_request_end(&r);
  return status;
}

/* --- strides of results ----------------------------------------------------------------------- */
static bool has_strides(const fnz_geometry *g, const fnz_geometry *want) {
  for (uint32_t d = 0; d < g->rank; d++)
    if (g->sizes[d] > 1 && g->strides[d] != want->strides[d])
      return false;
  return true;
}

/* Dimensions from the longest stride to the shortest; where each went. */
static void order_of(const fnz_geometry *want, int64_t *order, int64_t *back) {
  for (uint32_t d = 0; d < want->rank; d++) {
    uint32_t at = d;
    for (; at > 0 && want->strides[order[at - 1]] < want->strides[d]; at--)
      order[at] = order[at - 1];
    order[at] = d;
  }
  for (uint32_t d = 0; d < want->rank; d++)
    back[order[d]] = d;
}

/* The only result of a view or a copy; the argument is released. */
static fnz_status replace(cast *c, fnz_tensor **t, const fnz_op *op, const fnz_arg *more) {
  fnz_arg *args;
  FNZI_NEW(&c->p->wrapper->scratch, op->nparams, &args);
  args[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.tensor = *t};
  args[1] = *more;
  const fnz_geometry *g = &(*t)->alias->geometry, *dense = NULL;
  if (!fnz_op_is_view(op))
    FNZ_TRY(fnzi_contiguous_like(&c->p->wrapper->scratch, g, &dense));
  fnzi_wrap_request r = {.op = op, .args = args, .expected = dense ? &dense : NULL, .nexpected = 1};
  fnz_status status = fnzi_wrap_dispatch(c->p->wrapper, &r);
  if (status == FNZ_OK) {
    fnz_tensor_release(*t);
    *t = r.out.data[0];
    (*t)->refs++;
  }
  fnzi_wrap_request_end(&r);
  return status;
}

/* Gives a tensor eager's strides, which later nodes may need. */
static fnz_status restride(cast *c, const fnz_geometry *want, fnz_tensor **t) {
  int64_t order[FNZ_MAX_RANK] = {0}, back[FNZ_MAX_RANK] = {0};
  fnzi_arena *scratch = &c->p->wrapper->scratch;
  const fnz_arg in_rows = {.tag = FNZ_ARG_MEMORY_FORMAT, .u.i = 1};
  fnz_arg there, home;
  if (!fnzi_is_dense(want) || fnz_geometry_numel(want) == 0 ||
      has_strides(&(*t)->alias->geometry, want))
    return FNZ_OK;
  order_of(want, order, back);
  FNZ_TRY(fnzi_arg_ints(scratch, order, want->rank, &there));
  FNZ_TRY(fnzi_arg_ints(scratch, back, want->rank, &home));
  FNZ_TRY(replace(c, t, fnzi_op_of_step(FNZI_STEP_PERMUTE), &there));
  FNZ_TRY(replace(c, t, fnzi_op_of_step(FNZI_STEP_CLONE), &in_rows));
  return replace(c, t, fnzi_op_of_step(FNZI_STEP_PERMUTE), &home);
}

/* --- the whole -------------------------------------------------------------------------------- */
/* Results have the strides that the program records. */
static fnz_status make_room(cast *c, const fnzi_wrap_request *r) {
  const fnzi_script *s = c->script;
  fnz_tensor **tensors;
  FNZI_NEW(&c->p->wrapper->scratch, s->values.count, &c->geometries);
  FNZI_NEW(&c->p->wrapper->scratch, s->values.count, &tensors);
  for (size_t i = 0; i < s->values.count; i++)
    c->geometries[i] = s->values.data[i];
  for (size_t i = 0; i < s->ninputs; i++)
    tensors[i] = c->tensors[i];
  c->tensors = tensors;
  for (size_t k = 0; k < s->results.count && r->expected && k < r->nexpected; k++) {
    const fnz_geometry *g = r->expected[k];
    uint32_t value = s->results.data[k];
    if (g && value != FNZI_SCRIPT_UNDEFINED && c->geometries[value] &&
        g->dtype == c->geometries[value]->dtype && fnzi_same_sizes(g, c->geometries[value]))
      c->geometries[value] = g;
  }
  return FNZ_OK;
}

static fnz_status give_result(cast *c, fnzi_wrap_request *r, uint32_t value) {
  const fnz_geometry *want =
      r->expected && r->out.count < r->nexpected ? r->expected[r->out.count] : NULL;
  bool is_made = value >= c->script->ninputs && c->tensors[value];
  bool is_pair = want && c->p->all->expander->pairs && fnzi_is_complex(want->dtype);
  if (want && is_made && !is_pair && fnzi_same_sizes(&c->tensors[value]->alias->geometry, want))
    FNZ_TRY(restride(c, want, &c->tensors[value]));
  return fnzi_wrap_give(c->p->wrapper, r, c->tensors[value]);
}

static fnz_status give_results(cast *c, fnzi_wrap_request *r) {
  for (size_t k = 0; k < c->script->results.count; k++) {
    uint32_t value = c->script->results.data[k];
    FNZ_TRY(value == FNZI_SCRIPT_UNDEFINED ? fnzi_wrap_give(c->p->wrapper, r, NULL)
                                           : give_result(c, r, value));
  }
  return FNZ_OK;
}

static fnz_status run_calls(cast *c, fnzi_wrap_request *r) {
  const fnzi_script *s = c->script;
  fnz_status status = FNZ_OK;
  FNZ_TRY(make_room(c, r));
  for (size_t i = 0; i < s->calls.count && status == FNZ_OK; i++)
    status = run_call(c, &s->calls.data[i]);
  if (status == FNZ_OK)
    status = give_results(c, r);
  for (size_t i = s->ninputs; i < s->values.count; i++)
    fnz_tensor_release(c->tensors[i]);
  return status;
}

fnz_status fnzi_pass_node_expand(fnzi_pass *p, fnzi_wrap_request *request, bool *done) {
  const fnzi_pass_expander *expander = p->all->expander;
  fnzi_script script;
  cast c = {p, &script, NULL, NULL};
  fnz_arg *args;
  *done = false;
  if (!expander || p->autocast)
    return FNZ_OK;
  FNZ_TRY(number_args(&c, request, &args));
  const fnzi_script_whole whole = {request->op,
                                   args,
                                   c.geometries,
                                   request->expected,
                                   request->expected ? request->nexpected : 0,
                                   unread_of(p)};
  FNZ_TRY(expander->expand(expander, &p->wrapper->scratch, &whole, &script, done));
  if (!*done)
    return FNZ_OK;
  p->wrapper->why.cause = FNZI_CAUSE_STEP;
  fnz_status status = run_calls(&c, request);
  p->wrapper->why.cause = FNZI_CAUSE_NODE;
  fnzi_script_free(&script);
  return status;
}
