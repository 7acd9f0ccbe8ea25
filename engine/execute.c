/* execute.c - one run of a binding: where memory is, the steps one after the other, where results
 * lie. */
#include "engine/device.h"
#include "kernels/meta/evaluate.h"

#include <time.h>

static const fnzi_graph *graph_of(const fnzi_eng_binding *b) {
  return fnzi_graph_at(b->program, 0);
}

/* --- Memory -------------------------------------------------------------------------------------
 */
static fnz_status check_needed(fnz_workspace *ws, const fnzi_eng_binding *b) {
  for (size_t i = 0; i < b->nneeded; i++) {
    uint32_t k = b->needed[i];
    if (ws->given[k].start || !ws->given[k].layout || fnz_geometry_numel(ws->given[k].layout) == 0)
      continue;
    return fnzi_fail(ws->ctx, FNZ_CLASS_REF,
                     graph_of(b)->values.data[graph_of(b)->inputs[k].u.value].name,
                     "the file has no data for this weight" FNZI_RUN_GET_DATA);
  }
  return FNZ_OK;
}

/* Some result of graph 0 has no memory of the caller's. */
static bool holds_results(const fnzi_eng_binding *b, unsigned char *const *outs) {
  for (size_t i = 0; i < b->plan.buffers.count; i++)
    if (b->plan.buffers.data[i].kind == FNZI_ENG_OUT && !(outs && outs[b->plan.buffers.data[i].of]))
      return true;
  return false;
}

/* The arena, with room for results behind it where they are not the caller's. */
static fnz_status reserve(fnz_workspace *ws, const fnzi_eng_binding *b,
                          unsigned char *const *outs) {
  size_t bytes;
  if (!fnzi_add_size(b->arena_bytes, holds_results(b, outs) ? b->outs_bytes : 0, &bytes) ||
      !fnzi_add_size(bytes, FNZI_ENG_ALIGNMENT, &bytes))
    return fnzi_no_memory(ws->ctx);
  if (bytes <= ws->block_bytes)
    return FNZ_OK;
  fnzi_free(ws->ctx, ws->block, ws->block_bytes);
  ws->block_bytes = 0;
  ws->block = fnzi_resize(ws->ctx, NULL, 0, bytes);
  if (!ws->block)
    return fnzi_no_memory(ws->ctx);
  ws->block_bytes = bytes;
  return FNZ_OK;
}

static unsigned char *aligned(unsigned char *block) {
  uintptr_t at = ((uintptr_t)block + FNZI_ENG_ALIGNMENT - 1) & ~(uintptr_t)(FNZI_ENG_ALIGNMENT - 1);
  return block + (at - (uintptr_t)block);
}

static void point_storages(const fnz_workspace *ws, fnzi_eng_binding *b, unsigned char *arena,
                           unsigned char *results, unsigned char *const *outs) {
  for (size_t i = 0; i < b->plan.buffers.count; i++) {
    const fnzi_eng_buffer *buffer = &b->plan.buffers.data[i];
    switch ((fnzi_eng_buffer_kind)buffer->kind) {
    case FNZI_ENG_CONST:
    case FNZI_ENG_STATE:
      b->storages[i].data = ws->given[buffer->of].start;
      break;
    case FNZI_ENG_OUT:
      b->storages[i].data =
          outs && outs[buffer->of] ? outs[buffer->of] : results + b->outs[buffer->of];
      break;
    case FNZI_ENG_TEMP:
      b->storages[i].data = arena + buffer->offset;
      break;
    case FNZI_ENG_LATE:
      break;
    }
  }
}

/* --- Steps --------------------------------------------------------------------------------------
 */
/* What the state held is not kept for kernels that are said never to fail. */
static fnz_status kernel_failed(fnz_workspace *ws, const fnzi_eng_act *act, fnz_status status) {
  if (status == FNZ_NO_MEMORY || !fnzi_eng_never_fails(act))
    return status;
  const char *name = act->u.kernel.call.op->name;
  return fnzi_fail(ws->ctx, FNZ_CLASS_INTERNAL, name, "a kernel of runs.def that is SURE failed");
}

/* Kernels may set aside arguments, so each run has a call of its own. */
static fnz_status run_kernel(fnz_workspace *ws, const fnzi_eng_act *act) {
  fnzi_krn_call call = act->u.kernel.call;
  fnzi_eng_own *own = act->u.kernel.own;
  call.scratch = ws->scratch;
  call.own = own && own->has_run && own->storage->data == own->start ? &own->kept : NULL;
  fnz_status status = act->u.kernel.kernel(&call);
  if (own)
    own->has_run = true;
  if (status == FNZ_OK && call.pending)
    status = fnzi_krn_results_finish(&call);
  ws->scratch = call.scratch;
  fnzi_arena_reset(&ws->scratch);
  return status == FNZ_OK ? FNZ_OK : kernel_failed(ws, act, status);
}

static void bring(const fnzi_krn_array *from, const fnzi_krn_array *to) {
  if (from == to)
    return;
  fnzi_eng_elements_move(&from->place, from->storage->data, &to->place, to->storage->data);
}

static fnz_status run_apply(fnz_workspace *ws, const fnzi_eng_act *act) {
  fnz_backend *by = ws->backend;
  fnz_handle *handles = act->u.apply.handles;
  size_t count = act->u.apply.count, got;
  FNZ_TRY(by->apply(by->self, ws->ctx, &act->u.apply.request, handles, count, &got));
  for (size_t k = 0; k < got; k++) {
    const fnzi_krn_array *to = act->u.apply.outputs[k];
    if (handles[k] && to && got == count)
      bring(fnzi_krn_array_of(handles[k]), to);
    if (handles[k])
      by->release(by->self, handles[k]);
  }
  if (got == count)
    return FNZ_OK;
  return fnzi_fail(ws->ctx, FNZ_CLASS_BOUNDS, "", "%s has not the %zu results that it should have",
                   act->u.apply.request.op->name, count);
}

static fnz_status run_act(fnz_workspace *ws, fnzi_eng_binding *b, const fnzi_eng_act *act) {
  switch ((fnzi_eng_act_kind)act->kind) {
  case FNZI_ENG_ACT_KERNEL:
    return run_kernel(ws, act);
  case FNZI_ENG_ACT_MOVE:
    fnzi_eng_move_run(&act->u.move);
    return FNZ_OK;
  case FNZI_ENG_ACT_APPLY:
    return run_apply(ws, act);
  case FNZI_ENG_ACT_INTERPRET:
    return fnzi_eng_steps_run(ws, b, act->node);
  case FNZI_ENG_ACT_TILE:
    fnzi_eng_tile_run(act->u.tile, b->registers);
    return FNZ_OK;
  }
  return FNZ_OK;
}

static fnz_status failed_at(fnz_workspace *ws, const fnzi_eng_binding *b, const fnzi_eng_act *act,
                            fnz_status status) {
  char place[160] = "";
  if (act->node != FNZI_ENG_NONE)
    fnzi_eng_place_of(b, act->node, place);
  return fnzi_at(ws->ctx, status, "%s", place);
}

static uint64_t now_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static fnz_step_time time_of(const fnzi_eng_binding *b, const fnzi_eng_act *act, uint64_t ns) {
  static const char *const kinds[] = {"kernel", "evaluated", "move", "interpreted", "group"};
  fnz_step_time t = {kinds[act->kind], "", "", ns};
  if (act->node == FNZI_ENG_NONE)
    return t;
  t.target = fnzi_node_target(fnzi_node_at(b->program, 0, act->node));
  t.of = fnzi_node_target(fnzi_node_at(b->whole, 0, fnzi_eng_whole_node(b, act->node)));
  return t;
}

static fnz_status time_acts(fnz_workspace *ws, fnzi_eng_binding *b) {
  if (b->acts.count > ws->times_room) {
    fnzi_free(ws->ctx, ws->times, ws->times_room * sizeof *ws->times);
    ws->times_room = 0;
    ws->times = fnzi_resize(ws->ctx, NULL, 0, b->acts.count * sizeof *ws->times);
    if (!ws->times)
      return fnzi_no_memory(ws->ctx);
    ws->times_room = b->acts.count;
  }
  ws->ntimes = 0;
  for (size_t i = 0; i < b->acts.count; i++) {
    const fnzi_eng_act *act = &b->acts.data[i];
    uint64_t began = now_ns();
    fnz_status status = run_act(ws, b, act);
    if (status != FNZ_OK)
      return failed_at(ws, b, act, status);
    ws->times[ws->ntimes] = time_of(b, act, now_ns() - began);
    FNZ_TRY(fnzi_eng_step_names(ws, b, &b->plan.steps.data[i], &ws->times[ws->ntimes++]));
  }
  return FNZ_OK;
}

static fnz_status run_one(fnz_workspace *ws, fnzi_eng_binding *b, const fnzi_eng_act *act) {
  fnz_status status = run_act(ws, b, act);
  return status == FNZ_OK ? FNZ_OK : failed_at(ws, b, act, status);
}

static fnz_status run_acts(fnz_workspace *ws, fnzi_eng_binding *b) {
  if (ws->takes_times)
    return time_acts(ws, b);
  for (size_t i = 0; i < b->acts.count; i++)
    FNZ_TRY(run_one(ws, b, &b->acts.data[i]));
  return FNZ_OK;
}

fnz_status fnzi_eng_execute(fnz_workspace *ws, fnzi_eng_binding *b, void *arena,
                            unsigned char *const *outs) {
  fnzi_eng_steps_close(ws);
  FNZ_TRY(check_needed(ws, b));
  FNZ_TRY(reserve(ws, b, outs));
  unsigned char *own = aligned(ws->block);
  point_storages(ws, b, arena ? arena : own, own + b->arena_bytes, outs);
  if (b->device)
    FNZ_TRY(fnzi_eng_device_ready(ws, b));
  if (b->interprets)
    FNZ_TRY(fnzi_eng_steps_open(ws, b));
  if (b->device && b->device->runs)
    return fnzi_eng_device_run(ws, b, run_one);
  FNZ_TRY(fnzi_eng_undo_keep(ws, b));
  fnz_status status = run_acts(ws, b);
  if (status == FNZ_OK && b->by_steps && b->with_state)
    status = fnzi_eng_steps_finish(ws, b);
  if (status != FNZ_OK)
    fnzi_eng_undo(ws, b);
  return status;
}
