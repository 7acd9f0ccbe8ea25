/* ops.c - what the rules of all operators use: tensors of arguments, computing, and results.
 *
 * needs   a node with its arguments, defaults filled in and symbols as numbers
 * gives   results, new tensors or windows, in the order of the operator's schema */
#include "run/eager/eager.h"
#include "run/numbers.h"

fnz_status fnzi_eag_op_tensor(fnzi_eag_op *s, const fnz_arg *arg, fnzi_eag_tensor **out) {
  *out = fnzi_eag_arg_tensor(s->in, arg);
  if (*out != NULL)
    return FNZ_OK;
  return fnzi_fail(s->ctx, FNZ_CLASS_TYPE, "", "%s needs a tensor where there is none",
                   s->op->name);
}

const fnz_geometry *fnzi_eag_op_geometry(void *user, const fnz_arg *arg) {
  const fnzi_eag_op *s = user;
  const fnzi_eag_tensor *t = fnzi_eag_tensor_of(s->in, arg->u.value);
  return t == NULL ? NULL : t->g;
}

const fnz_geometry *fnzi_eag_op_recorded(const fnzi_eag_op *s, const fnz_arg *results, size_t k) {
  if (results[k].tag != FNZ_ARG_VALUE)
    return NULL;
  return fnzi_run_recorded(&s->in->run, &s->in->run.scratch, results[k].u.value);
}

static fnz_status lower_value(void *user, fnz_arg *arg) {
  fnzi_eag_interp *in = user;
  fnzi_eag_tensor *t = fnzi_eag_tensor_of(in, arg->u.value);
  if (t == NULL)
    return fnzi_fail(in->run.ctx, FNZ_CLASS_REF, "", "an argument is undefined");
  return fnzi_eag_tensor_value(in, t, &arg->u.value);
}

fnz_status fnzi_eag_lower(fnzi_eag_interp *in, fnz_request *call, fnz_arg **out) {
  return fnzi_run_lower(&in->run, lower_value, in, call, out);
}

fnz_status fnzi_eag_apply(fnzi_eag_interp *in, fnz_request call, fnz_handle *outputs,
                          size_t count) {
  FNZ_TRY(fnzi_eag_lower(in, &call, NULL));
  return fnzi_run_apply(&in->run, &call, outputs, count);
}

fnz_status fnzi_eag_op_push(fnzi_eag_op *s, fnzi_eag_tensor *tensor) {
  if (s->results.count == s->ctx->limits.args)
    return fnzi_fail(s->ctx, FNZ_CLASS_LIMIT, "", "%s has more than %zu results", s->op->name,
                     s->ctx->limits.args);
  FNZI_PUSH(s->ctx, &s->results, tensor);
  return FNZ_OK;
}

fnz_status fnzi_eag_op_push_window(fnzi_eag_op *s, const fnzi_eag_window *w) {
  fnzi_eag_tensor *tensor;
  FNZ_TRY(fnzi_eag_tensor_create(s->in, s->self->memory, w, &tensor));
  return fnzi_eag_op_push(s, tensor);
}

fnz_status fnzi_eag_op_push_value(fnzi_eag_op *s, const fnz_geometry *recorded, fnz_handle value) {
  if (value == 0)
    return fnzi_eag_op_push(s, NULL);
  const fnz_geometry *g = fnzi_run_geometry_of(&s->in->run, value);
  fnzi_eag_window w;
  fnzi_eag_tensor *t;
  bool as_recorded;
  fnzi_eag_window_of(g, &w);
  /* New memory has each element once, also where the program records strides that overlap. */
  bool overlaps = false;
  as_recorded = recorded != NULL && fnzi_same_sizes(recorded, g);
  if (as_recorded && !fnzi_is_dense(recorded))
    FNZ_TRY(fnzi_eag_places_overlap(s->ctx, recorded, &overlaps));
  as_recorded = as_recorded && !overlaps;
  if (as_recorded)
    fnzi_eag_window_of(recorded, &w);
  else
    fnzi_eag_window_dense(&w);
  w.dtype = g->dtype;
  w.is_conj = w.is_neg = false;
  FNZ_TRY(fnzi_eag_tensor_store(s->in, &w, value, &t));
  return fnzi_eag_op_push(s, t);
}

/* Learns sizes that depend on data, and with them the recorded strides. */
static fnz_status see_result(fnzi_eag_op *s, const fnz_arg *named, fnz_handle value,
                             const fnz_geometry **recorded) {
  if (!s->in->run.symbolic || value == 0 || named->tag != FNZ_ARG_VALUE || *recorded != NULL)
    return FNZ_OK;
  FNZ_TRY(
      fnzi_run_learn_sizes(&s->in->run, named->u.value, fnzi_run_geometry_of(&s->in->run, value)));
  *recorded = fnzi_eag_op_recorded(s, named, 0);
  return FNZ_OK;
}

/* The value that the last result was stored from is what reading that would give: it is kept
 * there. False when it lies otherwise. */
static bool keep_value(fnzi_eag_op *s, fnz_handle owned) {
  fnzi_eag_tensor *t = s->results.data[s->results.count - 1];
  const fnz_geometry *g = fnzi_run_geometry_of(&s->in->run, owned);
  if (!fnzi_same_sizes(g, t->g) ||
      (g->rank > 0 && memcmp(g->strides, t->g->strides, g->rank * sizeof *g->strides) != 0))
    return false;
  t->cached = owned;
  t->cached_version = t->memory->version;
  return true;
}

fnz_status fnzi_eag_op_compute(fnzi_eag_op *s, const fnz_arg *named, const fnz_geometry **expected,
                               size_t count) {
  fnzi_run_state *run = &s->in->run;
  fnz_handle *handles;
  FNZI_NEW(&run->scratch, count, &handles);
  const fnz_request call = {s->op, s->args, s->op->nparams, expected, ""};
  FNZ_TRY(fnzi_eag_apply(s->in, call, handles, count));
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < count; i++) {
    if (status == FNZ_OK && named)
      status = see_result(s, &named[i], handles[i], &expected[i]);
    if (status == FNZ_OK)
      status = fnzi_eag_op_push_value(s, expected[i], handles[i]);
    if (handles[i] != 0 && (status != FNZ_OK || !keep_value(s, handles[i])))
      fnzi_run_release(run, handles[i]);
  }
  return status;
}
