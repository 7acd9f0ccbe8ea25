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
  fnzi_arena *scratch = &c->p->world->scratch;
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

/* --- its calls -------------------------------------------------------------------------------- */
static fnz_arg on_tensor(const cast *c, fnz_arg arg) {
  if (arg.tag == FNZ_ARG_VALUE)
    arg.u.tensor = c->tensors[arg.u.value];
  return arg;
}

static fnz_status on_tensors(const cast *c, const fnzi_script_call *call, fnz_arg **out) {
  fnzi_arena *scratch = &c->p->world->scratch;
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
  fnz_status status = fnzi_wrap_dispatch(c->p->world, &r);
  if (status == FNZ_OK)
    status = keep_results(c, call, &r);
  fnzi_wrap_request_end(&r);
  return status;
}

/* --- the whole -------------------------------------------------------------------------------- */
/* Results have the strides that the program records. */
static fnz_status make_room(cast *c, const fnzi_wrap_request *r) {
  const fnzi_script *s = c->script;
  fnz_tensor **tensors;
  FNZI_NEW(&c->p->world->scratch, s->values.count, &c->geometries);
  FNZI_NEW(&c->p->world->scratch, s->values.count, &tensors);
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

static fnz_status give_results(cast *c, fnzi_wrap_request *r) {
  for (size_t k = 0; k < c->script->results.count; k++) {
    uint32_t value = c->script->results.data[k];
    FNZ_TRY(
        fnzi_wrap_give(c->p->world, r, value == FNZI_SCRIPT_UNDEFINED ? NULL : c->tensors[value]));
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
  const struct fnz_expander *expander = p->all->expander;
  fnzi_script script;
  cast c = {p, &script, NULL, NULL};
  fnz_arg *args;
  *done = false;
  if (!expander || p->autocast)
    return FNZ_OK;
  FNZ_TRY(number_args(&c, request, &args));
  FNZ_TRY(expander->expand(expander, &p->world->scratch, request->op, args, c.geometries, &script,
                           done));
  if (!*done)
    return FNZ_OK;
  p->world->why.cause = FNZI_CAUSE_STEP;
  fnz_status status = run_calls(&c, request);
  p->world->why.cause = FNZI_CAUSE_NODE;
  fnzi_script_free(&script);
  return status;
}
