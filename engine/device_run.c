/* device_run.c - one run of a binding on a GPU: launches in order, and the CPU's steps with what is
 * copied before and after them. */
#include "engine/device.h"

typedef struct running {
  fnz_workspace *ws;
  fnzi_eng_binding *b;
  const fnzi_eng_device_binding *d;
  const fnzi_cuda_device *device;
  bool *flagged;
} running;

/* Where a buffer, or what a mark stands for, begins. */
static uint64_t start_of(const running *r, uint32_t buffer) {
  switch (buffer) {
  case FNZI_ENG_AT_STAGING:
    return r->ws->device_block + r->d->staging;
  case FNZI_ENG_AT_SCRATCH:
    return r->ws->device_block + r->d->scratch;
  case FNZI_ENG_AT_FLAG:
    return r->ws->device_block + r->d->flag;
  default:
    return r->d->at[buffer];
  }
}

static fnz_status launch(const running *r, const fnzi_eng_launch *l) {
  uint64_t addresses[FNZI_ENG_DEVICE_OPERANDS];
  for (uint32_t k = 0; k < l->noperands; k++)
    addresses[k] = start_of(r, l->buffers[k]) + (uint64_t)l->offsets[k];
  if (l->call)
    return l->call(r->ws->ctx, r->device, l->what, addresses, r->ws->stream);
  return fnzi_cuda_launch(r->ws->ctx, r->device, &r->d->program, l->kernel, l->count, addresses,
                          r->ws->stream);
}

static fnz_status run_work(const running *r, const fnzi_eng_work *work) {
  for (uint32_t k = 0; k < work->nlaunches; k++)
    FNZ_TRY(launch(r, &work->launches[k]));
  return FNZ_OK;
}

/* --- Between the memories -----------------------------------------------------------------------
 */
static fnz_status wait(const running *r) {
  return fnzi_cuda_wait(r->ws->ctx, r->device, r->ws->stream);
}

/* The caller waits for what has no gaps. */
static fnz_status bring_down(const running *r, const fnzi_eng_transfer *t) {
  unsigned char *host = r->b->storages[t->buffer].data;
  uint64_t staging = r->ws->device_block + r->d->staging;
  if (t->bytes == 0)
    return FNZ_OK;
  if (t->dense)
    return fnzi_cuda_copy_out(r->ws->ctx, r->device, host + t->start,
                              r->d->at[t->buffer] + (uint64_t)t->start, (size_t)t->bytes,
                              r->ws->stream);
  FNZ_TRY(run_work(r, &t->pack));
  FNZ_TRY(fnzi_cuda_copy_out(r->ws->ctx, r->device, r->ws->staging, staging, (size_t)t->bytes,
                             r->ws->stream));
  FNZ_TRY(wait(r));
  fnzi_eng_elements_move(t->rows, r->ws->staging, t->map, host);
  return FNZ_OK;
}

/* What is copied from may be written again: by the next window, or the next step on the CPU. */
static fnz_status bring_up(const running *r, const fnzi_eng_transfer *t) {
  const unsigned char *host = r->b->storages[t->buffer].data;
  uint64_t staging = r->ws->device_block + r->d->staging;
  if (t->bytes == 0)
    return FNZ_OK;
  if (t->dense) {
    FNZ_TRY(fnzi_cuda_copy_in(r->ws->ctx, r->device, r->d->at[t->buffer] + (uint64_t)t->start,
                              host + t->start, (size_t)t->bytes, r->ws->stream));
    return wait(r);
  }
  fnzi_eng_elements_move(t->map, host, t->rows, r->ws->staging);
  FNZ_TRY(fnzi_cuda_copy_in(r->ws->ctx, r->device, staging, r->ws->staging, (size_t)t->bytes,
                            r->ws->stream));
  FNZ_TRY(run_work(r, &t->unpack));
  return wait(r);
}

/* --- The flag -----------------------------------------------------------------------------------
 */
static fnz_status clear_flag(const running *r) {
  static const unsigned char zero[FNZI_ENG_DEVICE_FLAG];
  return r->d->has_flag ? fnzi_cuda_copy_in(r->ws->ctx, r->device, start_of(r, FNZI_ENG_AT_FLAG),
                                            zero, sizeof zero, r->ws->stream)
                        : FNZ_OK;
}

/* Where it is set, what comes after it is not to be looked at. */
static fnz_status look_at_flag(const running *r) {
  uint32_t flag = 0;
  if (!r->d->has_flag)
    return FNZ_OK;
  FNZ_TRY(fnzi_cuda_copy_out(r->ws->ctx, r->device, &flag, start_of(r, FNZI_ENG_AT_FLAG),
                             sizeof flag, r->ws->stream));
  FNZ_TRY(wait(r));
  *r->flagged = flag != 0;
  return flag ? FNZ_DIFFERENT : FNZ_OK;
}

/* --- Steps --------------------------------------------------------------------------------------
 */
static fnz_status run_on_host(const running *r, size_t i) {
  const fnzi_eng_where *where = &r->d->route.steps[i];
  FNZ_TRY(look_at_flag(r));
  for (uint32_t k = 0; k < where->before; k++)
    FNZ_TRY(bring_down(r, r->d->transfers[where->values[k]]));
  if (where->before)
    FNZ_TRY(wait(r));
  FNZ_TRY(fnzi_eng_frames_run_act(r->ws, r->b, i));
  for (uint32_t k = 0; k < where->after; k++)
    FNZ_TRY(bring_up(r, r->d->transfers[where->values[where->before + k]]));
  return FNZ_OK;
}

static fnz_status run_steps(const running *r) {
  FNZ_TRY(clear_flag(r));
  for (size_t i = 0; i < r->b->acts.count; i++)
    FNZ_TRY(r->d->route.steps[i].on_host ? run_on_host(r, i) : run_work(r, &r->d->works[i]));
  FNZ_TRY(look_at_flag(r));
  for (uint32_t k = 0; k < r->d->route.noutputs; k++)
    FNZ_TRY(bring_down(r, &r->d->outputs[k]));
  return wait(r);
}

/* Steps of the CPU have memory of their own to undo. */
static fnz_status run(const running *r) {
  FNZ_TRY(fnzi_eng_device_fill(r->ws, r->b));
  FNZ_TRY(fnzi_eng_undo_keep(r->ws, r->b));
  fnz_status status = run_steps(r);
  if (status == FNZ_OK)
    return fnzi_eng_device_state_ran(r->ws);
  const fnz_error had = r->ws->ctx->error;
  fnzi_eng_undo(r->ws, r->b);
  fnz_status undone = fnzi_eng_device_undo(r->ws, r->b);
  if (undone == FNZ_OK)
    undone = fnzi_eng_device_state_ran(r->ws);
  (void)undone; /* the first failure is told */
  r->ws->ctx->error = had;
  return status;
}

fnz_status fnzi_eng_device_run(fnz_workspace *ws, fnzi_eng_binding *b, bool *flagged) {
  const running r = {ws, b, b->device, ws->exe->device, flagged};
  *flagged = false;
  FNZ_TRY(fnzi_cuda_enter(ws->ctx, r.device));
  fnz_status status = run(&r);
  fnzi_cuda_leave(r.device);
  if (!*flagged)
    return status;
  return ws->state ? fnzi_eng_device_state_down(ws->ctx, ws->state) : FNZ_OK;
}

/* What the CPU computes with the state of, it has; and the device has not what it writes. */
fnz_status fnzi_eng_device_ready(fnz_workspace *ws, const fnzi_eng_binding *b) {
  bool computes = b->device->runs;
  if (!ws->state || (computes && !b->interprets))
    return FNZ_OK;
  FNZ_TRY(fnzi_eng_device_state_down(ws->ctx, ws->state));
  ws->state->device->host_newer = ws->state->device->host_newer || !computes;
  return FNZ_OK;
}

/* Of a binding whose steps are made. */
fnz_status fnzi_eng_device_bind(fnz_workspace *ws, fnzi_eng_binding *b) {
  FNZ_TRY(fnzi_cuda_enter(ws->ctx, ws->exe->device));
  fnz_status status = fnzi_eng_device_texts(ws, b);
  fnzi_cuda_leave(ws->exe->device);
  return status == FNZ_OK && b->device->runs ? fnzi_eng_device_place(ws, b) : status;
}

void fnzi_eng_device_unbind(fnz_workspace *ws, fnzi_eng_binding *b) {
  if (!b->device || fnzi_cuda_enter(ws->ctx, ws->exe->device) != FNZ_OK)
    return;
  fnzi_eng_library_end(b->device);
  fnzi_cuda_program_end(ws->exe->device, &b->device->program);
  fnzi_cuda_leave(ws->exe->device);
}
