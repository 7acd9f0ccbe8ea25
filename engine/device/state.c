/* state.c - a state whose memory is on a GPU: it stays there from run to run until the caller reads
 * the CPU's copy. If the state is the caller's memory on the GPU, no CPU copy exists until the CPU
 * computes with it. */
#include "engine/device/device.h"

/* --- Memory of the caller's ------------------------------------------------------------------- */
static bool is_memory(const fnz_executable_state *s, uint32_t k) {
  return s->exe->inputs[k].in_state && s->exe->inputs[k].memory == k;
}

static fnz_status check_address(fnz_executable_state *s, uint32_t k, uint64_t address) {
  const char *name = s->exe->inputs[k].name;
  if (address % FNZI_DEV_ALIGNED)
    return fnzi_fail(s->ctx, FNZ_CLASS_ARGUMENT, name,
                     "memory of a state lies at multiples of %d bytes on a GPU", FNZI_DEV_ALIGNED);
  if (s->exe->is_guest)
    return FNZ_OK;
  FNZ_TRY(fnzi_cuda_enter(s->ctx, s->exe->device));
  fnz_status status = fnzi_cuda_check_address(s->ctx, s->exe->device, name, address);
  fnzi_cuda_leave(s->exe->device);
  return status;
}

fnz_status fnzi_dev_state_make(fnz_executable_state *s, bool is_given) {
  uint32_t count = fnzi_graph_main(s->exe->program)->ninputs;
  FNZI_NEW(&s->arena, 1, &s->device);
  FNZI_NEW(&s->arena, count, &s->device->addresses);
  FNZI_NEW(&s->arena, count, &s->device->bytes);
  fnzi_stp_device_state *d = s->device;
  d->host_newer = !is_given;
  if (!is_given)
    return FNZ_OK;
  d->caller_on_device = d->is_callers = d->device_newer = true;
  for (uint32_t k = 0; k < count; k++) {
    if (!is_memory(s, k))
      continue;
    d->bytes[k] = s->extents[k];
    if (d->bytes[k] == 0)
      continue;
    d->addresses[k] = (uint64_t)(uintptr_t)s->starts[k];
    FNZ_TRY(check_address(s, k, d->addresses[k]));
  }
  return FNZ_OK;
}

/* Until then s->starts are the device's addresses. */
fnz_status fnzi_dev_state_allocate(fnz_context *ctx, const fnz_executable_state *s) {
  uint32_t count = fnzi_graph_main(s->exe->program)->ninputs;
  if (!s->device || !s->device->is_callers)
    return FNZ_OK;
  for (uint32_t k = 0; k < count; k++) {
    if (!is_memory(s, k) || s->bytes[k])
      continue;
    size_t bytes = s->device->bytes[k] + FNZI_PLN_ALIGNMENT;
    unsigned char *allocated = fnzi_resize(s->ctx, NULL, 0, bytes);
    if (!allocated)
      return fnzi_no_memory(ctx);
    s->bytes[k] = bytes;
    for (uint32_t i = k; i < count; i++)
      if (s->exe->inputs[i].in_state && s->exe->inputs[i].memory == k)
        s->starts[i] = allocated;
  }
  return FNZ_OK;
}

void fnzi_dev_state_end(fnz_executable_state *s) {
  const fnzi_cuda_device *device = s->exe->device;
  fnzi_stp_device_state *d = s->device;
  if (d->is_callers || !fnzi_cuda_enter_to_end(device))
    return;
  for (uint32_t k = 0; d->addresses && k < fnzi_graph_main(s->exe->program)->ninputs; k++)
    fnzi_cuda_free(device, d->addresses[k]);
  fnzi_cuda_leave(device);
}

/* --- Between runs ----------------------------------------------------------------------------- */
/* Copies a state on the stream of its runs; before the first run, on a new stream. */
static fnz_status state_move(fnz_context *ctx, const fnz_executable_state *s,
                             fnz_status (*copy)(fnz_context *, const fnz_executable_state *,
                                                void *)) {
  const fnzi_cuda_device *device = s->exe->device;
  void *own = NULL, *stream = s->device->stream;
  FNZ_TRY(fnzi_cuda_enter(ctx, device));
  fnz_status status = stream ? FNZ_OK : fnzi_cuda_stream_make(ctx, device, &own);
  if (status == FNZ_OK)
    status = copy(ctx, s, stream ? stream : own);
  fnzi_cuda_stream_end(device, own);
  fnzi_cuda_leave(device);
  return status;
}

/* --- To the CPU ------------------------------------------------------------------------------- */
static fnz_status state_copy_down(fnz_context *ctx, const fnz_executable_state *s, void *stream) {
  fnzi_stp_device_state *d = s->device;
  for (uint32_t k = 0; k < fnzi_graph_main(s->exe->program)->ninputs; k++)
    if (d->addresses[k])
      FNZ_TRY(fnzi_cuda_copy_out(ctx, s->exe->device, s->starts[k], d->addresses[k], d->bytes[k],
                                 stream));
  FNZ_TRY(fnzi_cuda_wait(ctx, s->exe->device, stream));
  d->device_newer = false;
  return FNZ_OK;
}

static fnz_status check_not_lost(fnz_context *ctx, const fnzi_stp_device_state *d) {
  return d->is_lost ? fnzi_fail(ctx, FNZ_CLASS_INTERNAL, NULL,
                                "the state is lost: it could not be restored after a run that "
                                "failed on the GPU; make a new one")
                    : FNZ_OK;
}

fnz_status fnzi_dev_state_down(fnz_context *ctx, const fnz_executable_state *s) {
  fnzi_stp_device_state *d = s->device;
  FNZ_TRY(check_not_lost(ctx, d));
  bool is_callers = d->caller_on_device && !s->exe->is_guest; /* who may have written to it */
  if (d->host_newer || (!d->device_newer && !is_callers))
    return FNZ_OK;
  FNZ_TRY(fnzi_dev_state_allocate(ctx, s));
  return state_move(ctx, s, state_copy_down);
}

/* --- To the device ---------------------------------------------------------------------------- */
static fnz_status copy_up(fnz_context *ctx, const fnz_executable_state *s, void *stream) {
  fnzi_stp_device_state *d = s->device;
  for (uint32_t k = 0; k < fnzi_graph_main(s->exe->program)->ninputs; k++)
    if (d->addresses[k])
      FNZ_TRY(fnzi_cuda_copy_in(ctx, s->exe->device, d->addresses[k], s->starts[k], d->bytes[k],
                                stream));
  FNZ_TRY(fnzi_cuda_wait(ctx, s->exe->device, stream));
  d->host_newer = false;
  return FNZ_OK;
}

static fnz_status show(fnz_context *ctx, const fnz_executable_state *s) {
  const uint32_t count = fnzi_graph_main(s->exe->program)->ninputs;
  fnzi_stp_device_state *d = s->device;
  bool has_all = true;
  FNZ_TRY(check_not_lost(ctx, d));
  for (uint32_t k = 0; k < count; k++)
    has_all = has_all && (!is_memory(s, k) || d->addresses[k]);
  if (d->caller_on_device || has_all) {
    d->caller_on_device = true;
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_dev_state_down(ctx, s));
  FNZ_TRY(fnzi_cuda_enter(ctx, s->exe->device));
  fnz_status status = FNZ_OK;
  for (uint32_t k = 0; status == FNZ_OK && k < count; k++) {
    if (!is_memory(s, k) || d->addresses[k])
      continue;
    d->bytes[k] = s->extents[k];
    status = fnzi_cuda_allocate(s->ctx, s->exe->device, d->bytes[k], &d->addresses[k]);
    d->host_newer = d->host_newer || status == FNZ_OK;
  }
  fnzi_cuda_leave(s->exe->device);
  d->caller_on_device = true;
  return status;
}

fnz_status fnzi_dev_state_up(fnz_context *ctx, const fnz_executable_state *s, bool shows) {
  if (shows)
    FNZ_TRY(show(ctx, s));
  const fnzi_stp_device_state *d = s->device;
  if (!d->caller_on_device || !d->host_newer)
    return FNZ_OK;
  return state_move(ctx, s, copy_up);
}

/* --- Runs ------------------------------------------------------------------------------------- */
/* It has an address when its memory has been filled. */
static fnz_status upload(fnz_workspace *ws, const fnzi_pln_buffer *buffer, const void *data) {
  const fnzi_cuda_device *device = ws->exe->device;
  fnzi_stp_device_state *d = ws->state->device;
  uint64_t address;
  FNZ_TRY(fnzi_cuda_allocate(ws->ctx, device, buffer->bytes, &address));
  fnz_status status = fnzi_cuda_copy_in(ws->ctx, device, address, data, buffer->bytes, ws->stream);
  if (status != FNZ_OK) {
    fnzi_cuda_free(device, address);
    return status;
  }
  d->addresses[buffer->input] = address;
  d->bytes[buffer->input] = buffer->bytes;
  return FNZ_OK;
}

/* The first run, and each one after the CPU's memory may have changed, copies it. */
fnz_status fnzi_dev_state_fill(fnz_workspace *ws, fnzi_stp_binding *b) {
  fnzi_stp_device_state *d = ws->state ? ws->state->device : NULL;
  if (d)
    FNZ_TRY(check_not_lost(ws->ctx, d));
  for (size_t i = 0; d && i < b->plan.buffers.count; i++) {
    const fnzi_pln_buffer *buffer = &b->plan.buffers.data[i];
    if (buffer->kind != FNZI_PLN_STATE || !ws->exe->inputs[buffer->input].in_state ||
        !buffer->bytes)
      continue;
    if (d->addresses[buffer->input] == 0)
      FNZ_TRY(upload(ws, buffer, b->storages[i].data));
    else if (d->host_newer || d->caller_on_host)
      FNZ_TRY(fnzi_cuda_copy_in(ws->ctx, ws->exe->device, d->addresses[buffer->input],
                                b->storages[i].data, buffer->bytes, ws->stream));
    b->device->addresses[i] = d->addresses[buffer->input];
  }
  if (d)
    d->host_newer = false;
  return FNZ_OK;
}

fnz_status fnzi_dev_state_ran(fnz_workspace *ws) {
  fnzi_stp_device_state *d = ws->state ? ws->state->device : NULL;
  if (!d)
    return FNZ_OK;
  d->device_newer = true;
  return d->caller_on_host ? state_copy_down(ws->ctx, ws->state, ws->stream) : FNZ_OK;
}
