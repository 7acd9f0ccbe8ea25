/* given.c - inputs and outputs in memory of a GPU, which the device uses directly. The CPU has
 * memory for them only in a run in which it computes something; otherwise ws->host_absent is
 * set. */
#include "engine/device/device.h"

/* Checks that `data` is memory of the device. `known` caches the address, so the driver checks each
 * address once. */
fnz_status fnzi_dev_check(fnz_workspace *ws, const char *name, const void *data, uint64_t *known) {
  uint64_t at = (uint64_t)(uintptr_t)data;
  if (ws->exe->is_guest || at == 0 || at == *known)
    return FNZ_OK;
  FNZ_TRY(fnzi_cuda_enter(ws->ctx, ws->exe->device));
  fnz_status status = fnzi_cuda_lies_there(ws->ctx, ws->exe->device, name, at);
  fnzi_cuda_leave(ws->exe->device);
  if (status == FNZ_OK)
    *known = at;
  return status;
}

/* --- The CPU's room -----------------------------------------------------------------------------
 */
static fnz_status take_room(fnz_workspace *ws, size_t bytes) {
  if (bytes <= ws->shadow_bytes)
    return FNZ_OK;
  fnzi_free(ws->ctx, ws->shadow, ws->shadow_bytes);
  ws->shadow_bytes = 0;
  ws->shadow = fnzi_resize(ws->ctx, NULL, 0, bytes);
  if (!ws->shadow)
    return fnzi_no_memory(ws->ctx);
  ws->shadow_bytes = bytes;
  return FNZ_OK;
}

/* Gives each device input CPU memory for its copy. */
static fnz_status give_room(fnz_workspace *ws) {
  const uint32_t count = fnzi_graph_at(ws->exe->program, 0)->ninputs;
  size_t bytes = FNZI_PLN_ALIGNMENT, at = 0;
  for (uint32_t k = 0; k < count; k++)
    if (ws->device_in[k] && (!fnzi_add_size(bytes, ws->inputs[k].bytes, &bytes) ||
                             !fnzi_add_size(bytes, FNZI_PLN_ALIGNMENT, &bytes)))
      return fnzi_no_memory(ws->ctx);
  FNZ_TRY(take_room(ws, bytes));
  for (uint32_t k = 0; k < count; k++) {
    if (!ws->device_in[k])
      continue;
    at += (FNZI_PLN_ALIGNMENT - (uintptr_t)(ws->shadow + at) % FNZI_PLN_ALIGNMENT) %
          FNZI_PLN_ALIGNMENT;
    ws->inputs[k].start = ws->shadow + at;
    at += ws->inputs[k].bytes;
  }
  return FNZ_OK;
}

/* The CPU computes all of it, or a step that reads the input. */
static bool is_read(const fnzi_stp_binding *b, size_t i) {
  const fnzi_dev_binding *d = b->device;
  return !d->runs || b->has_interpreted || d->route.host_reads[i];
}

static fnz_status copy_down(fnz_workspace *ws, const fnzi_stp_binding *b, bool all) {
  const fnzi_cuda_device *device = ws->exe->device;
  if (!ws->stream)
    FNZ_TRY(fnzi_cuda_stream_make(ws->ctx, device, &ws->stream));
  for (size_t i = 0; i < b->plan.buffers.count; i++) {
    const fnzi_pln_buffer *buffer = &b->plan.buffers.data[i];
    bool is_input = buffer->kind == FNZI_PLN_CONST || buffer->kind == FNZI_PLN_STATE;
    if (is_input && ws->device_in[buffer->input] && (all || is_read(b, i)))
      FNZ_TRY(fnzi_cuda_copy_out(ws->ctx, device, ws->inputs[buffer->input].start,
                                 ws->device_in[buffer->input], ws->inputs[buffer->input].bytes,
                                 ws->stream));
  }
  return fnzi_cuda_wait(ws->ctx, device, ws->stream);
}

/* Returns whether the CPU computes a step, or a result passes through its memory. */
static bool has_part(const fnz_workspace *ws, const fnzi_stp_binding *b) {
  const fnzi_stp_slots *out = &ws->exe->slots[FNZ_SIDE_OUTPUT];
  bool has = !ws->on_device || !b->device->runs || b->has_interpreted || b->device->by_cpu;
  for (size_t i = 0; i < out->count && !has; i++)
    has = !out->data[i].is_number && !(ws->state && out->data[i].info.in_state) &&
          (out->data[i].is_member || !fnzi_dev_is_direct(ws, b, out->data[i].output));
  return has;
}

/* --- Outputs ------------------------------------------------------------------------------------
 */
bool fnzi_dev_is_direct(const fnz_workspace *ws, const fnzi_stp_binding *b, uint32_t k) {
  const fnzi_dev_route *r = &b->device->route;
  bool is_made_there = false;
  for (uint32_t i = 0; b->device->runs && i < r->noutputs; i++)
    is_made_there = is_made_there || r->outputs[i] == k;
  return is_made_there && ws->device_out[k] && ws->device_out[k] % FNZI_DEV_ALIGNED == 0 &&
         b->plan.buffers.data[b->plan.outputs[k].buffer].kind == FNZI_PLN_OUT;
}

/* Frees results of data-dependent sizes of the run before. */
static void give_late(fnz_workspace *ws) {
  while (ws->device_late.count)
    fnzi_cuda_give(ws->exe->device, ws->device_late.data[--ws->device_late.count]);
}

/* The buffer of a result that the device makes, and that the caller has no memory for; NULL. */
static const fnzi_pln_buffer *homeless(const fnz_workspace *ws, const fnzi_stp_binding *b,
                                       uint32_t i) {
  uint32_t k = b->device->route.outputs[i];
  const fnzi_pln_buffer *buffer = &b->plan.buffers.data[b->plan.outputs[k].buffer];
  return ws->device_out[k] == 0 && buffer->kind == FNZI_PLN_OUT && buffer->bytes ? buffer : NULL;
}

static size_t room_of(const fnzi_pln_buffer *buffer) {
  return (buffer->bytes + FNZI_DEV_APART - 1) / FNZI_DEV_APART * FNZI_DEV_APART;
}

static fnz_status place_results(fnz_workspace *ws, const fnzi_stp_binding *b) {
  const fnzi_dev_route *r = &b->device->route;
  const fnzi_pln_buffer *buffer;
  size_t bytes = 0;
  give_late(ws);
  for (uint32_t i = 0; b->device->runs && i < r->noutputs; i++)
    if ((buffer = homeless(ws, b, i)) && !fnzi_add_size(bytes, room_of(buffer), &bytes))
      return fnzi_no_memory(ws->ctx);
  if (bytes > ws->device_results_bytes) {
    fnzi_cuda_give(ws->exe->device, ws->device_results);
    ws->device_results = ws->device_results_bytes = 0;
    FNZ_TRY(fnzi_cuda_take(ws->ctx, ws->exe->device, bytes, &ws->device_results));
    ws->device_results_bytes = bytes;
  }
  uint64_t at = ws->device_results;
  for (uint32_t i = 0; bytes && i < r->noutputs; i++)
    if ((buffer = homeless(ws, b, i))) {
      ws->device_out[r->outputs[i]] = at;
      at += room_of(buffer);
    }
  return FNZ_OK;
}

static fnz_status results_place(fnz_workspace *ws, const fnzi_stp_binding *b) {
  /* Whether memory for results must be allocated or freed. */
  bool has = ws->device_late.count > 0;
  for (uint32_t i = 0; b->device->runs && i < b->device->route.noutputs && !has; i++)
    has = homeless(ws, b, i) != NULL;
  if (!has)
    return FNZ_OK;
  FNZ_TRY(fnzi_cuda_enter(ws->ctx, ws->exe->device));
  fnz_status status = place_results(ws, b);
  fnzi_cuda_leave(ws->exe->device);
  return status;
}

fnz_status fnzi_dev_room(fnz_workspace *ws, const fnzi_stp_binding *b, bool all) {
  if (ws->on_device && !all)
    FNZ_TRY(results_place(ws, b));
  ws->host_absent = !all && !has_part(ws, b);
  if (ws->host_absent)
    return FNZ_OK;
  if (ws->state)
    FNZ_TRY(fnzi_dev_state_room(ws->ctx, ws->state));
  if (ws->state)
    fnzi_stp_inputs_set_state(ws);
  if (!ws->on_device)
    return FNZ_OK;
  FNZ_TRY(give_room(ws));
  FNZ_TRY(fnzi_cuda_enter(ws->ctx, ws->exe->device));
  fnz_status status = copy_down(ws, b, all);
  fnzi_cuda_leave(ws->exe->device);
  return status;
}

static fnz_status note_late(fnz_workspace *ws, uint64_t at) {
  FNZI_PUSH(ws->ctx, &ws->device_late, at);
  return FNZ_OK;
}

void fnzi_dev_results_end(fnz_workspace *ws) {
  give_late(ws);
  FNZI_VEC_FREE(ws->ctx, &ws->device_late);
  fnzi_cuda_give(ws->exe->device, ws->device_results);
}

static fnz_status put(fnz_workspace *ws, const void *from, size_t bytes, uint64_t *at) {
  const fnzi_cuda_device *device = ws->exe->device;
  if (!*at && bytes) {
    FNZ_TRY(fnzi_cuda_take(ws->ctx, ws->exe->device, bytes, at));
    if (note_late(ws, *at) != FNZ_OK) {
      fnzi_cuda_give(ws->exe->device, *at);
      return ws->ctx->error.status;
    }
  }
  if (!ws->stream)
    FNZ_TRY(fnzi_cuda_stream_make(ws->ctx, device, &ws->stream));
  FNZ_TRY(fnzi_cuda_copy_in(ws->ctx, device, *at, from, bytes, ws->stream));
  return fnzi_cuda_wait(ws->ctx, device, ws->stream);
}

fnz_status fnzi_dev_put(fnz_workspace *ws, const void *from, size_t bytes, uint64_t *at) {
  FNZ_TRY(fnzi_cuda_enter(ws->ctx, ws->exe->device));
  fnz_status status = put(ws, from, bytes, at);
  fnzi_cuda_leave(ws->exe->device);
  return status;
}
