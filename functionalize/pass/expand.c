/* expand.c - a node that is replayed as calls of other operators, one after the other.
 *
 * needs   the node's request, complete; an expander
 * keeps   the source line of the node, for all calls
 * gives   the results of the request, from tensors that the calls gave */
#include "functionalize/pass/pass.h"

typedef struct cast {
  fnzi_pass *p;
  const fnzi_script *script;
  fnz_arg *values; /* by number: tensors. Each that a call gave holds a reference */
  const fnz_geometry **geometries;
} cast;

/* Bits of the node's results that no other node reads. */
static uint64_t unread_of(const fnzi_pass *p) {
  const fnzi_node *node = &p->graph->nodes.data[p->at];
  uint64_t unread = 0;
  uint32_t next = 0;
  FNZI_EACH_ARG(each, node->outputs, node->noutputs) {
    bool is_unread = each.arg->tag == FNZ_ARG_VALUE && p->last_use[each.arg->u.value] == p->at;
    if (next < 64)
      unread |= (uint64_t)is_unread << next;
    next++;
  }
  return unread;
}

/* --- its calls -------------------------------------------------------------------------------- */
static fnz_status run_call(void *self, const fnzi_script_call *call, fnz_arg *args,
                           fnz_arg *results) {
  const cast *c = self;
  fnzi_wrap_request r = {.op = call->op,
                         .args = args,
                         .expected = c->geometries + call->first,
                         .nexpected = call->count};
  fnzi_rec_expect(c->p->recorder, NULL, NULL, 0);
  fnz_status status = fnzi_wrap_dispatch(c->p->wrapper, &r);
  if (status == FNZ_OK && r.out.count < call->count)
    status = fnzi_fail(c->p->ctx, FNZ_CLASS_INTERNAL, NULL, "%s gives %zu results, %u are needed",
                       call->op->name, r.out.count, (unsigned)call->count);
  for (uint32_t k = 0; k < call->count && status == FNZ_OK; k++) {
    fnz_tensor *t = r.out.data[k];
    if (t)
      t->refs++;
    results[k] = (fnz_arg){.tag = t ? FNZ_ARG_VALUE : FNZ_ARG_NONE, .u.tensor = t};
  }
  fnzi_wrap_request_end(&r);
  return status;
}

/* --- strides of results ----------------------------------------------------------------------- */
/* The only result of a view or a copy; the argument is released. */
static fnz_status replace(cast *c, fnz_tensor **t, const fnz_op *op, const fnz_arg *more) {
  fnz_arg *args;
  FNZI_NEW(&c->p->wrapper->scratch, op->nparams, &args);
  args[0] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.tensor = *t};
  args[1] = *more;
  const fnz_geometry *g = &(*t)->alias->geometry, *dense = NULL;
  if (!fnz_op_is_view(op))
    FNZ_TRY(fnzi_contiguous_like(c->p->wrapper->ints, &c->p->wrapper->scratch, g, &dense));
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
  fnzi_ints *ints = c->p->wrapper->ints;
  if (!fnzi_int_is_dense(ints, want) || fnzi_int_is_empty(want) ||
      fnzi_same_strides(&(*t)->alias->geometry, want))
    return FNZ_OK;
  /* Dimensions from the longest stride to the shortest; where each went. */
  for (uint32_t d = 0; d < want->rank; d++) {
    uint32_t at = d;
    for (; at > 0 && fnzi_int_is_less(ints, fnzi_int_stride(want, (uint32_t)order[at - 1]),
                                      fnzi_int_stride(want, d));
         at--)
      order[at] = order[at - 1];
    order[at] = d;
  }
  for (uint32_t d = 0; d < want->rank; d++)
    back[order[d]] = d;
  FNZ_TRY(fnzi_arg_ints(scratch, order, want->rank, &there));
  FNZ_TRY(fnzi_arg_ints(scratch, back, want->rank, &home));
  FNZ_TRY(replace(c, t, fnzi_op_of_step(FNZI_STEP_PERMUTE), &there));
  FNZ_TRY(replace(c, t, fnzi_op_of_step(FNZI_STEP_CLONE), &in_rows));
  return replace(c, t, fnzi_op_of_step(FNZI_STEP_PERMUTE), &home);
}

/* --- the whole -------------------------------------------------------------------------------- */

static fnz_status run_calls(cast *c, fnzi_wrap_request *r, const fnz_arg *inputs) {
  const fnzi_script *s = c->script;
  /* Results have the strides that the program records. */
  FNZI_NEW(&c->p->wrapper->scratch, s->values.count, &c->geometries);
  FNZI_NEW(&c->p->wrapper->scratch, s->values.count, &c->values);
  for (size_t i = 0; i < s->values.count; i++)
    c->geometries[i] = s->values.data[i];
  for (size_t i = 0; i < s->ninputs; i++)
    c->values[i] = inputs[i];
  for (size_t k = 0; k < s->results.count && r->expected && k < r->nexpected; k++) {
    const fnz_geometry *g = r->expected[k];
    uint32_t value = s->results.data[k];
    if (g && value != FNZI_SCRIPT_UNDEFINED && c->geometries[value] &&
        g->dtype == c->geometries[value]->dtype && fnzi_same_sizes(g, c->geometries[value]))
      c->geometries[value] = g;
  }
  fnz_status status = fnzi_script_play(&c->p->wrapper->scratch, s, c->values, run_call, c);
  for (size_t k = 0; k < s->results.count && status == FNZ_OK; k++) {
    uint32_t value = s->results.data[k];
    const fnz_geometry *want =
        r->expected && r->out.count < r->nexpected ? r->expected[r->out.count] : NULL;
    fnz_tensor **t = value == FNZI_SCRIPT_UNDEFINED ? NULL : &c->values[value].u.tensor;
    bool is_made = t && *t && value >= s->ninputs;
    bool is_pair = want && c->p->all->expander->pairs && fnzi_is_complex(want->dtype);
    if (want && is_made && !is_pair && fnzi_same_sizes(&(*t)->alias->geometry, want))
      status = restride(c, want, t);
    if (status == FNZ_OK)
      status = fnzi_wrap_give(c->p->wrapper, r, t ? *t : NULL);
  }
  for (size_t i = s->ninputs; i < s->values.count; i++)
    fnz_tensor_release(c->values[i].u.tensor);
  return status;
}

fnz_status fnzi_pass_node_expand(fnzi_pass *p, fnzi_wrap_request *request, bool *done) {
  const fnzi_pass_expander *expander = p->all->expander;
  fnzi_arena *scratch = &p->wrapper->scratch;
  fnzi_script script;
  fnzi_script_given given;
  cast c = {p, &script, NULL, NULL};
  *done = false;
  if (!expander || p->autocast)
    return FNZ_OK;
  FNZ_TRY(
      fnzi_script_given_make(scratch, request->op, request->args, request->op->nparams, &given));
  for (size_t i = 0; i < given.count; i++)
    given.geometries[i] = &given.tensors[i].u.tensor->alias->geometry;
  const fnzi_script_whole whole = {.op = request->op,
                                   .args = given.args,
                                   .geometries = given.geometries,
                                   .expected = request->expected,
                                   .nexpected = request->expected ? request->nexpected : 0,
                                   .unread = unread_of(p)};
  fnzi_ints *ints = p->wrapper->ints;
  if (!expander->may_expand(expander, &whole))
    return FNZ_OK;
  FNZ_TRY(ints ? fnzi_pass_expand_sizes(ints, expander, scratch, &whole, &script, done)
               : expander->expand(expander, scratch, &whole, &script, done));
  if (!*done)
    return FNZ_OK;
  p->wrapper->why.cause = FNZI_CAUSE_STEP;
  fnz_status status = run_calls(&c, request, given.tensors);
  p->wrapper->why.cause = FNZI_CAUSE_NODE;
  fnzi_script_free(&script);
  return status;
}
