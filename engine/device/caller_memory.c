/* caller_memory.c - inputs and outputs in memory of a GPU, which the device uses directly. The CPU
 * has memory for them only in a run in which it computes something; otherwise ws->host_absent is
 * set. */
#include "engine/device/device.h"

/* Checks that `data` is memory of the device. `known` caches the address, so the driver checks each
 * address once. */
fnz_status fnzi_dev_check(fnz_workspace *ws, const char *name, const void *data, uint64_t *known) {
  uint64_t address = (uint64_t)(uintptr_t)data;
  if (ws->exe->is_guest || address == 0 || address == *known)
    return FNZ_OK;
  FNZ_TRY(fnzi_cuda_enter(ws->ctx, ws->exe->device));
  fnz_status status = fnzi_cuda_check_address(ws->ctx, ws->exe->device, name, address);
  fnzi_cuda_leave(ws->exe->device);
  if (status == FNZ_OK)
    *known = address;
  return status;
}

/* --- The CPU's memory
 * -----------------------------------------------------------------------------
 */
/* Gives each device input CPU memory for its copy. */
static fnz_status allocate_inputs(fnz_workspace *ws) {
  const uint32_t count = fnzi_graph_main(ws->exe->program)->ninputs;
  size_t bytes = FNZI_PLN_ALIGNMENT, offset = 0;
  for (uint32_t k = 0; k < count; k++)
    if (ws->device_in[k] && (!fnzi_add_size(bytes, ws->inputs[k].bytes, &bytes) ||
                             !fnzi_add_size(bytes, FNZI_PLN_ALIGNMENT, &bytes)))
      return fnzi_no_memory(ws->ctx);
  FNZ_TRY(fnzi_stp_enlarge(ws, &ws->shadow, &ws->shadow_bytes, bytes));
  for (uint32_t k = 0; k < count; k++) {
    if (!ws->device_in[k])
      continue;
    offset += (FNZI_PLN_ALIGNMENT - (uintptr_t)(ws->shadow + offset) % FNZI_PLN_ALIGNMENT) %
              FNZI_PLN_ALIGNMENT;
    ws->inputs[k].start = ws->shadow + offset;
    offset += ws->inputs[k].bytes;
  }
  return FNZ_OK;
}

static fnz_status caller_copy_down(fnz_workspace *ws, const fnzi_stp_binding *b, bool all) {
  const fnzi_cuda_device *device = ws->exe->device;
  const fnzi_dev_binding *d = b->device;
  all = all || !d->has_device_steps || b->has_interpreted; /* else what a step of the CPU reads */
  if (!ws->stream)
    FNZ_TRY(fnzi_cuda_stream_make(ws->ctx, device, &ws->stream));
  for (size_t i = 0; i < b->plan.buffers.count; i++) {
    const fnzi_pln_buffer *buffer = &b->plan.buffers.data[i];
    bool is_input = buffer->kind == FNZI_PLN_CONST || buffer->kind == FNZI_PLN_STATE;
    if (is_input && ws->device_in[buffer->input] && (all || d->schedule.host_reads[i]))
      FNZ_TRY(fnzi_cuda_copy_out(ws->ctx, device, ws->inputs[buffer->input].start,
                                 ws->device_in[buffer->input], ws->inputs[buffer->input].bytes,
                                 ws->stream));
  }
  return fnzi_cuda_wait(ws->ctx, device, ws->stream);
}

/* --- Outputs ---------------------------------------------------------------------------------- */
bool fnzi_dev_is_direct(const fnz_workspace *ws, const fnzi_stp_binding *b, uint32_t k) {
  const fnzi_dev_schedule *r = &b->device->schedule;
  bool is_on_device = false;
  for (uint32_t i = 0; b->device->has_device_steps && i < r->noutputs; i++)
    is_on_device = is_on_device || r->outputs[i] == k;
  return is_on_device && ws->device_out[k] && ws->device_out[k] % FNZI_DEV_ALIGNED == 0 &&
         b->plan.buffers.data[b->plan.outputs[k].buffer].kind == FNZI_PLN_OUT;
}

/* Frees results of data-dependent sizes of the run before. */
static void free_late(fnz_workspace *ws) {
  while (ws->device_late.count)
    fnzi_cuda_free(ws->exe->device, ws->device_late.data[--ws->device_late.count]);
}

/* The buffer of a result that the device makes, and that the caller has no memory for; NULL. */
static const fnzi_pln_buffer *without_memory(const fnz_workspace *ws, const fnzi_stp_binding *b,
                                             uint32_t i) {
  uint32_t k = b->device->schedule.outputs[i];
  const fnzi_pln_buffer *buffer = &b->plan.buffers.data[b->plan.outputs[k].buffer];
  return ws->device_out[k] == 0 && buffer->kind == FNZI_PLN_OUT && buffer->bytes ? buffer : NULL;
}

static size_t padded_bytes(const fnzi_pln_buffer *buffer) {
  return (buffer->bytes + FNZI_DEV_APART - 1) / FNZI_DEV_APART * FNZI_DEV_APART;
}

static fnz_status allocate_results(fnz_workspace *ws, const fnzi_stp_binding *b) {
  const fnzi_dev_schedule *r = &b->device->schedule;
  const fnzi_pln_buffer *buffer;
  size_t bytes = 0;
  free_late(ws);
  for (uint32_t i = 0; b->device->has_device_steps && i < r->noutputs; i++)
    if ((buffer = without_memory(ws, b, i)) && !fnzi_add_size(bytes, padded_bytes(buffer), &bytes))
      return fnzi_no_memory(ws->ctx);
  if (bytes > ws->device_results_bytes) {
    fnzi_cuda_free(ws->exe->device, ws->device_results);
    ws->device_results = ws->device_results_bytes = 0;
    FNZ_TRY(fnzi_cuda_allocate(ws->ctx, ws->exe->device, bytes, &ws->device_results));
    ws->device_results_bytes = bytes;
  }
  uint64_t address = ws->device_results;
  for (uint32_t i = 0; bytes && i < r->noutputs; i++)
    if ((buffer = without_memory(ws, b, i))) {
      ws->device_out[r->outputs[i]] = address;
      address += padded_bytes(buffer);
    }
  return FNZ_OK;
}

static fnz_status provide_results(fnz_workspace *ws, const fnzi_stp_binding *b) {
  /* Whether memory for results must be allocated or freed. */
  bool has = ws->device_late.count > 0;
  for (uint32_t i = 0; b->device->has_device_steps && i < b->device->schedule.noutputs && !has; i++)
    has = without_memory(ws, b, i) != NULL;
  if (!has)
    return FNZ_OK;
  FNZ_TRY(fnzi_cuda_enter(ws->ctx, ws->exe->device));
  fnz_status status = allocate_results(ws, b);
  fnzi_cuda_leave(ws->exe->device);
  return status;
}

fnz_status fnzi_dev_memory_find(fnz_workspace *ws, const fnzi_stp_binding *b, bool all) {
  if (ws->on_device && !all)
    FNZ_TRY(provide_results(ws, b));
  const fnzi_stp_slots *out = &ws->exe->slots[FNZ_SIDE_OUTPUT];
  /* The CPU computes a step, or a result passes through its memory. */
  bool needs_host = all || !ws->on_device || !b->device->has_device_steps || b->has_interpreted ||
                    b->device->has_host_steps;
  for (size_t i = 0; i < out->count && !needs_host; i++)
    needs_host = !out->data[i].is_scalar && !(ws->state && out->data[i].info.in_state) &&
                 (out->data[i].is_member || !fnzi_dev_is_direct(ws, b, out->data[i].output));
  ws->host_absent = !needs_host;
  if (ws->host_absent)
    return FNZ_OK;
  if (ws->state)
    FNZ_TRY(fnzi_dev_state_allocate(ws->ctx, ws->state));
  if (ws->state)
    fnzi_stp_inputs_set_state(ws);
  if (!ws->on_device)
    return FNZ_OK;
  FNZ_TRY(allocate_inputs(ws));
  FNZ_TRY(fnzi_cuda_enter(ws->ctx, ws->exe->device));
  fnz_status status = caller_copy_down(ws, b, all);
  fnzi_cuda_leave(ws->exe->device);
  return status;
}

static fnz_status note_late(fnz_workspace *ws, uint64_t address) {
  FNZI_PUSH(ws->ctx, &ws->device_late, address);
  return FNZ_OK;
}

void fnzi_dev_results_end(fnz_workspace *ws) {
  free_late(ws);
  FNZI_VEC_FREE(ws->ctx, &ws->device_late);
  fnzi_cuda_free(ws->exe->device, ws->device_results);
}

static fnz_status put(fnz_workspace *ws, const void *from, size_t bytes, uint64_t *address) {
  const fnzi_cuda_device *device = ws->exe->device;
  if (!*address && bytes) {
    FNZ_TRY(fnzi_cuda_allocate(ws->ctx, ws->exe->device, bytes, address));
    if (note_late(ws, *address) != FNZ_OK) {
      fnzi_cuda_free(ws->exe->device, *address);
      return ws->ctx->error.status;
    }
  }
  if (!ws->stream)
    FNZ_TRY(fnzi_cuda_stream_make(ws->ctx, device, &ws->stream));
  FNZ_TRY(fnzi_cuda_copy_in(ws->ctx, device, *address, from, bytes, ws->stream));
  return fnzi_cuda_wait(ws->ctx, device, ws->stream);
}

fnz_status fnzi_dev_put(fnz_workspace *ws, const void *from, size_t bytes, uint64_t *address) {
  FNZ_TRY(fnzi_cuda_enter(ws->ctx, ws->exe->device));
  fnz_status status = put(ws, from, bytes, address);
  fnzi_cuda_leave(ws->exe->device);
  return status;
}
