/* thunk.c - runs one step of a binding that is no region: a kernel, an operator, a move, a group,
 * or a node that the interpreter evaluates. */
#include "engine/bind/bind.h"
#include "engine/steps/scalars.h"
#include "engine/tile/tile.h"
#include "kernels/meta/evaluate.h"

/* Runs a kernel. One that is SURE in runs.def must not fail, because no state is kept for it.
 * Kernels may change their call, so each run copies it. */
static fnz_status run_kernel(fnz_workspace *ws, const fnzi_stp_thunk *thunk) {
  fnzi_krn_call call = thunk->u.kernel.call;
  fnzi_stp_prepared *prepared = thunk->u.kernel.prepared;
  if (call.by_data)
    FNZ_TRY(fnzi_stp_scalar_call_check(ws, &call));
  call.by_data = 0; /* they are known */
  call.scratch = ws->scratch;
  call.own = prepared && prepared->has_run && prepared->storage->data == prepared->start
                 ? &prepared->data
                 : NULL;
  fnz_status status = thunk->u.kernel.kernel(&call);
  if (prepared)
    prepared->has_run = true;
  if (status == FNZ_OK && call.pending)
    status = fnzi_krn_results_finish(&call);
  ws->scratch = call.scratch;
  fnzi_arena_reset(&ws->scratch);
  if (status == FNZ_OK || fnzi_is_final(status) || !fnzi_bnd_never_fails(thunk))
    return status;
  return fnzi_fail(ws->ctx, FNZ_CLASS_INTERNAL, call.op->name,
                   "a kernel of runs.def that is SURE failed");
}

/* Restores the arguments of a custom operator. Its kernel gets copies of them in separate memory;
 * in the next run the arrays must refer to the binding's memory again. */
static fnz_status put_args_back(fnz_workspace *ws, const fnzi_stp_binding *b,
                                const fnzi_node *node) {
  FNZI_EACH_ARG(each, node->args, node->nargs) {
    if (each.arg->tag != FNZ_ARG_VALUE)
      continue;
    fnzi_krn_array *array = b->values[each.arg->u.value];
    const fnzi_pln_location *location = &b->plan.locations[each.arg->u.value];
    if (!array || location->buffer == FNZI_PLN_NONE ||
        array->storage == &b->storages[location->buffer])
      continue;
    array->eager = false;
    FNZ_TRY(fnzi_krn_array_share(ws->ctx, array, &b->storages[location->buffer], location->map));
  }
  return FNZ_OK;
}

static fnz_status run_apply(fnz_workspace *ws, fnzi_stp_binding *b, const fnzi_stp_thunk *thunk) {
  fnz_backend *by = ws->backend;
  fnz_handle *handles = thunk->u.apply.handles;
  size_t count = thunk->u.apply.count, got;
  fnz_status status = by->apply(by->self, ws->ctx, &thunk->u.apply.request, handles, count, &got);
  const fnzi_node *node = fnzi_node_at(b->program, 0, thunk->node);
  if (fnzi_op_is_custom(node->op)) {
    const fnz_error had = ws->ctx->error;
    fnz_status put = put_args_back(ws, b, node);
    ws->ctx->error = put == FNZ_OK ? had : ws->ctx->error;
    status = status == FNZ_OK ? put : status;
  }
  FNZ_TRY(status);
  for (size_t k = 0; k < got; k++) {
    const fnzi_krn_array *to = thunk->u.apply.outputs[k],
                         *from = handles[k] ? fnzi_krn_array_of(handles[k]) : NULL;
    if (from && to && from != to && got == count)
      fnzi_stp_elements_move(&from->window, from->storage->data, &to->window, to->storage->data);
    if (from)
      by->release(by->self, handles[k]);
  }
  if (got == count)
    return FNZ_OK;
  return fnzi_fail(ws->ctx, FNZ_CLASS_BOUNDS, "", "%s has not the %zu results that it should have",
                   thunk->u.apply.request.op->name, count);
}

fnz_status fnzi_bnd_thunk_run(fnz_workspace *ws, fnzi_stp_binding *b, const fnzi_stp_thunk *thunk) {
  switch ((fnzi_stp_thunk_kind)thunk->kind) {
  case FNZI_STP_THUNK_KERNEL:
    return run_kernel(ws, thunk);
  case FNZI_STP_THUNK_MOVE:
    fnzi_stp_move_run(&thunk->u.move);
    return FNZ_OK;
  case FNZI_STP_THUNK_APPLY:
    return run_apply(ws, b, thunk);
  case FNZI_STP_THUNK_INTERPRET:
    return fnzi_bnd_steps_run(ws, b, thunk->node);
  case FNZI_STP_THUNK_TILE:
    fnzi_tile_run(thunk->u.tile, b->registers);
    return FNZ_OK;
  case FNZI_STP_THUNK_REGION: /* frames.c */
    return FNZ_OK;
  }
  return FNZ_OK;
}
