/* execute.c - one run of a binding: assigns memory, runs the steps in order, and returns the
 * results. */
#include "engine/engine.h"
#include "base/random.h"

/* --- Memory ----------------------------------------------------------------------------------- */
static fnz_status check_needed(fnz_workspace *ws, const fnzi_stp_binding *b) {
  for (size_t i = 0; i < b->nread; i++) {
    uint32_t k = b->read_inputs[i];
    if (ws->inputs[k].start || !ws->inputs[k].layout ||
        fnz_geometry_numel(ws->inputs[k].layout) == 0)
      continue;
    const char *name = fnzi_graph_main(b->program)
                           ->values.data[fnzi_graph_main(b->program)->inputs[k].u.value]
                           .name;
    if (ws->state && ws->exe->inputs[k].in_state)
      return fnzi_fail(ws->ctx, FNZ_CLASS_REF, name,
                       "the file has no data for this part of the state; read it before the first "
                       "run: --state, fnz_executable_state_read(), state.update() in Python");
    return fnzi_fail(ws->ctx, FNZ_CLASS_REF, name,
                     "the file has no data for this weight" FNZI_RUN_GET_DATA);
  }
  return FNZ_OK;
}

/* Sets the memory of each storage; NULL if it has none. */
static void point_storages(const fnz_workspace *ws, fnzi_stp_binding *b, unsigned char *arena,
                           unsigned char *results, unsigned char *const *outs) {
  for (size_t i = 0; i < b->plan.buffers.count; i++) {
    const fnzi_pln_buffer *buffer = &b->plan.buffers.data[i];
    switch ((fnzi_pln_buffer_kind)buffer->kind) {
    case FNZI_PLN_CONST:
    case FNZI_PLN_STATE:
      b->storages[i].data = ws->inputs[buffer->input].start;
      break;
    case FNZI_PLN_OUT:
      b->storages[i].data = outs && outs[buffer->output] ? outs[buffer->output]
                            : results ? results + b->output_offsets[buffer->output]
                                      : NULL;
      break;
    case FNZI_PLN_TEMP:
      b->storages[i].data = arena ? arena + buffer->offset : NULL;
      break;
    case FNZI_PLN_LATE:
      break;
    }
  }
}

static fnz_status find_memory(fnz_workspace *ws, fnzi_stp_binding *b, void *arena,
                              unsigned char *const *outs) {
  if (ws->host_absent) {
    point_storages(ws, b, NULL, NULL, outs);
    return FNZ_OK;
  }
  /* The arena, and after it results of graph 0 if the caller passes no memory for some of them. */
  bool needs = false;
  size_t bytes;
  for (size_t i = 0; i < b->plan.buffers.count && !needs; i++)
    needs = b->plan.buffers.data[i].kind == FNZI_PLN_OUT &&
            !(outs && outs[b->plan.buffers.data[i].output]);
  if (!fnzi_add_size(b->arena_bytes, needs ? b->outputs_bytes : 0, &bytes) ||
      !fnzi_add_size(bytes, FNZI_PLN_ALIGNMENT, &bytes))
    return fnzi_no_memory(ws->ctx);
  FNZ_TRY(fnzi_stp_enlarge(ws, &ws->block, &ws->block_bytes, bytes));
  unsigned char *own = ws->block + (fnzi_pln_padded((uintptr_t)ws->block) - (uintptr_t)ws->block);
  point_storages(ws, b, arena ? arena : own, own + b->arena_bytes, outs);
  return FNZ_OK;
}

/* Prepares a run on the CPU from the same inputs. The device has found an index out of bounds, and
 * the CPU says which one. */
static fnz_status open_again(fnz_workspace *ws, fnzi_stp_binding *b, void *arena,
                             unsigned char *const *outs) {
  fnzi_bnd_steps_close(ws);
  if (ws->on_device) {
    FNZ_TRY(ws->exe->gpu->find_memory(ws, b, true));
    FNZ_TRY(find_memory(ws, b, arena, outs));
  }
  if (ws->state)
    FNZ_TRY(ws->exe->gpu->state_down(ws->ctx, ws->state));
  if (b->has_interpreted)
    FNZ_TRY(fnzi_bnd_steps_open(ws, b));
  if (ws->state)
    ws->state->device->host_newer = true;
  return fnzi_bnd_frames_open(ws, b);
}

static fnz_status run_on_cpu(fnz_workspace *ws, fnzi_stp_binding *b, bool flagged) {
  FNZ_TRY(fnzi_bnd_undo_keep(ws, b));
  fnz_status status = fnzi_bnd_frames_run(ws, b);
  if (status == FNZ_OK && b->mode == FNZI_STP_INTERPRETED && b->with_state)
    status = fnzi_bnd_steps_finish(ws, b);
  if (status == FNZ_OK && flagged)
    status = fnzi_fail(ws->ctx, FNZ_CLASS_INTERNAL, NULL,
                       "the GPU found an index out of bounds that the CPU does not find");
  if (status != FNZ_OK)
    fnzi_bnd_undo(ws, b);
  return status;
}

static fnz_status execute(fnz_workspace *ws, fnzi_stp_binding *b, void *arena,
                          unsigned char *const *outs, bool *host_newer) {
  const fnzi_stp_device *gpu = ws->exe->gpu;
  bool runs = false, flagged = false;
  FNZ_TRY(check_needed(ws, b));
  FNZ_TRY(find_memory(ws, b, arena, outs));
  if (b->device)
    FNZ_TRY(gpu->ready(ws, b, &runs));
  if (b->has_interpreted)
    FNZ_TRY(fnzi_bnd_steps_open(ws, b));
  FNZ_TRY(fnzi_bnd_frames_open(ws, b));
  if (runs) {
    const fnz_generator before = *ws->ctx->generator;
    fnz_status ran = gpu->run(ws, b, &flagged);
    if (ran != FNZ_OK || !flagged)
      return ran;
    /* Some operator has effects, as collectives have: other processes count their calls. */
    for (uint32_t g = 0; g < b->program->graphs.count; g++) {
      const fnzi_graph *graph = fnzi_graph_at(b->program, g);
      for (size_t n = 0; n < graph->nodes.count; n++)
        if (graph->nodes.data[n].op && graph->nodes.data[n].op->tags & FNZI_TAG_EFFECT)
          return fnzi_fail(ws->ctx, FNZ_CLASS_BOUNDS, NULL,
                           "the GPU found an index out of bounds; run on the CPU to see which one: "
                           "collectives are not called again to find it");
    }
    *ws->ctx->generator = before; /* so the second run draws the same numbers */
    *host_newer = false;
    FNZ_TRY(open_again(ws, b, arena, outs));
  }
  return run_on_cpu(ws, b, flagged);
}

fnz_status fnzi_eng_execute(fnz_workspace *ws, fnzi_stp_binding *b, void *arena,
                            unsigned char *const *outs) {
  fnzi_stp_device_state *state = ws->state ? ws->state->device : NULL;
  bool host_newer = state && state->host_newer;
  fnzi_bnd_steps_close(ws);
  ws->last = b;
  fnz_status status = execute(ws, b, arena, outs, &host_newer);
  if (status == FNZ_OK)
    return b->device && state ? ws->exe->gpu->state_up(ws->ctx, ws->state, false) : FNZ_OK;
  if (state && state->caller_on_device) /* the state's memory has its old values, or values that the
                                   caller wrote there */
    state->host_newer = host_newer;
  return status;
}
