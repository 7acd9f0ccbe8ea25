/* run.c - one run of a binding on a GPU: its steps in order, and the CPU's steps with the copies
 * before and after them. */
#include "engine/device/device.h"
#include "base/random.h"

#include <stdio.h>

typedef struct running {
  fnz_workspace *ws;
  fnzi_stp_binding *b;
  const fnzi_dev_binding *d;
  const fnzi_cuda_device *device;
  bool *flagged;
} running;

/* --- Between the memories --------------------------------------------------------------------- */
static fnz_status wait(const running *r) {
  FNZ_TRY(fnzi_cuda_wait(r->ws->ctx, r->device, r->ws->stream));
  r->ws->device_done = r->ws->device_step;
  return FNZ_OK;
}

/* Copies to the CPU. The caller waits for a dense window. */
static fnz_status bring_down(const running *r, const fnzi_dev_transfer *t) {
  unsigned char *host = r->b->storages[t->buffer].data;
  uint64_t staging = r->ws->device_block + r->d->staging;
  if (t->bytes == 0)
    return FNZ_OK;
  if (t->dense)
    return fnzi_cuda_copy_out(r->ws->ctx, r->device, host + t->start,
                              r->d->addresses[t->buffer] + (uint64_t)t->start, (size_t)t->bytes,
                              r->ws->stream);
  FNZ_TRY(fnzi_dev_work_run(r->ws, r->b, &t->pack));
  FNZ_TRY(fnzi_cuda_copy_out(r->ws->ctx, r->device, r->ws->staging, staging, (size_t)t->bytes,
                             r->ws->stream));
  FNZ_TRY(wait(r));
  fnzi_stp_elements_move(t->rows, r->ws->staging, t->map, host);
  return FNZ_OK;
}

/* Copies to the device. The source may be overwritten after return, by the next window or step. */
static fnz_status bring_up(const running *r, const fnzi_dev_transfer *t) {
  const unsigned char *host = r->b->storages[t->buffer].data;
  uint64_t staging = r->ws->device_block + r->d->staging;
  if (t->bytes == 0)
    return FNZ_OK;
  if (t->dense) {
    FNZ_TRY(fnzi_cuda_copy_in(r->ws->ctx, r->device,
                              r->d->addresses[t->buffer] + (uint64_t)t->start, host + t->start,
                              (size_t)t->bytes, r->ws->stream));
    return wait(r);
  }
  fnzi_stp_elements_move(t->map, host, t->rows, r->ws->staging);
  FNZ_TRY(fnzi_cuda_copy_in(r->ws->ctx, r->device, staging, r->ws->staging, (size_t)t->bytes,
                            r->ws->stream));
  FNZ_TRY(fnzi_dev_work_run(r->ws, r->b, &t->unpack));
  return wait(r);
}

/* --- The flag --------------------------------------------------------------------------------- */
/* Copies the flag to the CPU, together with the small outputs, and fails with DIFFERENT if it is
 * set. */
static fnz_status check_flag(const running *r) {
  FNZ_TRY(fnzi_dev_small_down(r->ws, r->b));
  FNZ_TRY(wait(r));
  *r->flagged = fnzi_dev_small_flag(r->ws, r->b) != 0;
  return *r->flagged ? FNZ_DIFFERENT : FNZ_OK;
}

/* --- Steps ------------------------------------------------------------------------------------ */
static fnz_status run_on_host(const running *r, size_t i) {
  const fnzi_dev_placement *placement = &r->d->schedule.steps[i];
  if (r->d->has_flag)
    FNZ_TRY(check_flag(r));
  for (uint32_t k = 0; k < placement->before; k++)
    FNZ_TRY(bring_down(r, r->d->transfers[placement->values[k]]));
  if (placement->before)
    FNZ_TRY(wait(r));
  FNZ_TRY(fnzi_bnd_frames_run_thunk(r->ws, r->b, i));
  /* Copies data-dependent scalars to the device if the step computed one. */
  uint32_t node = r->b->thunks.data[i].node;
  if (node != FNZI_PLN_NONE && r->b->scalar_calls && r->b->scalar_calls[node] &&
      r->b->scalar_cells.bytes) {
    FNZ_TRY(fnzi_cuda_copy_in(r->ws->ctx, r->device, r->ws->device_block + r->d->scalars,
                              r->b->scalar_cells.data, r->b->scalar_cells.bytes, r->ws->stream));
    FNZ_TRY(wait(r));
  }
  for (uint32_t k = 0; k < placement->after; k++)
    FNZ_TRY(bring_up(r, r->d->transfers[placement->values[placement->before + k]]));
  return FNZ_OK;
}

/* If plans are checked, an error must be known at its step; if times are measured, its time. */
static bool waits(const fnz_workspace *ws) {
  return ws->exe->checks || ws->measures;
}

static fnz_status run_on_device(const running *r, size_t i) {
  uint64_t began = fnzi_bnd_time_now(r->ws);
  FNZ_TRY(fnzi_dev_work_run(r->ws, r->b, &r->d->works[i]));
  if (!waits(r->ws))
    return FNZ_OK;
  FNZ_TRY(wait(r));
  r->ws->device_done = i + 1;
  fnzi_bnd_time_add(r->ws, r->b, i, began);
  return FNZ_OK;
}

/* Copies outputs to the CPU. Small ones come with the flag, in one copy. */
static fnz_status bring_outputs(const running *r) {
  bool looks = r->d->has_flag || r->d->small.is_downloaded, waits = !looks && !r->ws->is_async;
  if (looks)
    FNZ_TRY(check_flag(r));
  for (uint32_t k = 0; k < r->d->schedule.noutputs; k++) {
    const fnzi_dev_transfer *t = &r->d->outputs[k];
    bool is_small = fnzi_dev_small_is_output(r->b, t->buffer);
    if (r->ws->on_device && fnzi_dev_is_direct(r->ws, r->b, r->d->schedule.outputs[k]))
      continue;
    if (is_small)
      memcpy(r->b->storages[t->buffer].data, fnzi_dev_small_at(r->ws, r->b, r->d->own[t->buffer]),
             (size_t)t->bytes);
    else
      FNZ_TRY(bring_down(r, t));
    waits = waits || !is_small;
  }
  return waits ? wait(r) : FNZ_OK;
}

static fnz_status run_steps(const running *r) {
  r->ws->device_done = 0;
  r->b->device->drawn_from = r->ws->ctx->generator->offset;
  for (size_t i = 0; i < r->b->thunks.count; i++) {
    fnzi_dev_stretch *stretch = waits(r->ws) ? NULL : r->d->stretches[i];
    r->ws->device_step = stretch ? stretch->end - 1 : i;
    FNZ_TRY(r->d->schedule.steps[i].on_host ? run_on_host(r, i)
            : stretch                       ? fnzi_dev_stretch_run(r->ws, r->b, stretch)
                                            : run_on_device(r, i));
    i = r->ws->device_step;
    /* No plan knows how many numbers the CPU draws, so the generator advances step by step. */
    fnz_generator *g = r->ws->ctx->generator;
    if (r->d->schedule.steps[i].on_host)
      r->b->device->drawn_from = g->offset;
    else if (g->threads)
      g->offset = r->d->drawn_from + r->d->works[i].drawn;
  }
  return bring_outputs(r);
}

/* --- Failures --------------------------------------------------------------------------------- */
static const char *name_of(const running *r, size_t step) {
  uint32_t node = r->b->thunks.data[step].node;
  return node == FNZI_PLN_NONE ? "a move at the end"
                               : fnzi_node_target(fnzi_node_at(r->b->program, 0, node));
}

/* An error of the device is known at the next wait: a step since the last wait caused it. */
static fnz_status report_broken(const running *r) {
  const fnz_error had = r->ws->ctx->error;
  size_t first = r->ws->device_done, last = r->ws->device_step;
  char steps[256];
  if (r->b->thunks.count == 0)
    return FNZ_INTERNAL;
  if (first > last)
    snprintf(steps, sizeof steps, "what is copied after step %zu (%s)", last, name_of(r, last));
  else if (first == last)
    snprintf(steps, sizeof steps, "step %zu (%s)", last, name_of(r, last));
  else
    snprintf(steps, sizeof steps,
             "one of the steps %zu (%s) to %zu (%s), which the option check tells apart", first,
             name_of(r, first), last, name_of(r, last));
  return fnzi_fail(r->ws->ctx, FNZ_CLASS_INTERNAL, had.where,
                   "%s; in %s; the executable is finished", had.message, steps);
}

/* Waits for queued work, because the memory that it uses may be freed now. */
static fnz_status let_go(const running *r, fnz_status failed) {
  const fnz_error had = r->ws->ctx->error;
  if (r->ws->stream && wait(r) != FNZ_OK)
    r->ws->ctx->error = had;
  return failed;
}

/* Restores the state, or marks it as lost. Returns the first failure. */
static fnz_status restore(const running *r, fnz_status failed) {
  const fnz_error had = r->ws->ctx->error;
  if (!r->ws->host_absent)
    fnzi_bnd_undo(r->ws, r->b); /* what steps of the CPU have written */
  fnz_status undone = fnzi_dev_undo(r->ws, r->b);
  if (undone != FNZ_OK)
    let_go(r, undone);
  if (undone == FNZ_OK)
    undone = fnzi_dev_state_ran(r->ws);
  r->ws->ctx->error = had;
  /* Whether a failed run may have written to the state. A launch, a copy or a library can
   * fail at any step, and no copy of the state is kept for that. */
  if (!r->ws->state || (undone == FNZ_OK && (*r->flagged || r->b->saved_bytes != 0 ||
                                             r->ws->device_step < r->d->first_writes)))
    return failed;
  r->ws->state->device->is_lost = true;
  return fnzi_fail(r->ws->ctx, had.kind, had.where,
                   "%s; and the state could not be restored: it is lost", had.message);
}

static fnz_status run(const running *r) {
  fnz_status ready = fnzi_dev_upload(r->ws, r->b);
  if (ready == FNZ_OK && !r->ws->host_absent)
    ready = fnzi_bnd_undo_keep(r->ws, r->b);
  if (ready != FNZ_OK)
    return let_go(r, ready);
  fnz_status status = run_steps(r);
  r->b->device->tables.is_current = status == FNZ_OK;
  if (status == FNZ_OK)
    fnzi_dev_small_ran(r->ws, r->b);
  if (status == FNZ_OK)
    status = fnzi_dev_state_ran(r->ws);
  if (status == FNZ_OK)
    return FNZ_OK;
  if (fnzi_cuda_is_broken(r->device))
    status = report_broken(r);
  else if (!*r->flagged && r->b->thunks.count && r->ws->ctx->error.where[0] == 0)
    status = fnzi_at(r->ws->ctx, status, "step %zu (%s)", r->ws->device_step,
                     name_of(r, r->ws->device_step));
  return restore(r, status);
}

fnz_status fnzi_dev_run(fnz_workspace *ws, fnzi_stp_binding *b, bool *flagged) {
  const running r = {ws, b, b->device, ws->exe->device, flagged};
  *flagged = false;
  FNZ_TRY(fnzi_cuda_enter(ws->ctx, r.device));
  fnz_status status = run(&r);
  fnzi_cuda_leave(r.device);
  return *flagged ? FNZ_OK : status;
}

/* Copies the state to the CPU if the CPU computes with it. Its results are newer than the device.
 */
fnz_status fnzi_dev_ready(fnz_workspace *ws, const fnzi_stp_binding *b, bool *runs) {
  *runs = b->device->has_device_steps;
  if (!ws->state || (*runs && !b->has_interpreted))
    return FNZ_OK;
  FNZ_TRY(fnzi_dev_state_down(ws->ctx, ws->state));
  ws->state->device->host_newer = ws->state->device->host_newer || !*runs;
  return FNZ_OK;
}

/* Puts a binding with steps on the device. */
fnz_status fnzi_dev_bind(fnz_workspace *ws, fnzi_stp_binding *b) {
  FNZ_TRY(fnzi_cuda_enter(ws->ctx, ws->exe->device));
  fnz_status status = fnzi_dev_texts(ws, b);
  fnzi_cuda_leave(ws->exe->device);
  for (size_t i = 0; status == FNZ_OK && b->device->has_device_steps && i < b->plan.steps.count;
       i++)
    b->device->has_host_steps = b->device->has_host_steps || b->device->schedule.steps[i].on_host;
  if (status == FNZ_OK && b->device->has_device_steps)
    status = fnzi_dev_stretches_find(b);
  return status == FNZ_OK && b->device->has_device_steps ? fnzi_dev_layout(ws, b) : status;
}

void fnzi_dev_unbind(fnz_workspace *ws, fnzi_stp_binding *b) {
  if (ws->small_owner == b)
    ws->small_owner = NULL;
  if (!b->device || !fnzi_cuda_enter_to_end(ws->exe->device))
    return;
  if (ws->exe->is_guest && ws->stream) /* kernels of it may be at work */
    ws->exe->device->driver.stream_wait(ws->stream);
  fnzi_dev_library_end(b->device);
  fnzi_dev_tables_end(b->device);
  fnzi_dev_stretches_end(b);
  fnzi_cuda_program_end(ws->exe->device, &b->device->program);
  fnzi_cuda_leave(ws->exe->device);
}
