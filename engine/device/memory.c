/* memory.c - allocates the buffers of a binding on a GPU: weights once for all runs of an
 * executable, state with the state, everything else in one block of the workspace. */
#include "engine/device/device.h"

/* --- The workspace's block -------------------------------------------------------------------- */
/* The state's memory is the state's, a weight's the executable's. */
static bool is_own(const fnz_workspace *ws, const fnzi_stp_binding *b, size_t i) {
  const fnzi_pln_buffer *buffer = &b->plan.buffers.data[i];
  const fnzi_stp_input *in = &ws->exe->inputs[buffer->input];
  if (buffer->kind != FNZI_PLN_CONST && buffer->kind != FNZI_PLN_STATE)
    return buffer->kind == FNZI_PLN_OUT;
  return !(b->with_state && in->in_state) && !in->weight;
}

fnz_status fnzi_dev_layout(fnz_workspace *ws, fnzi_stp_binding *b) {
  fnzi_dev_binding *d = b->device;
  size_t count = b->plan.buffers.count;
  bool fits, *is_input;
  FNZI_NEW(&b->arena, count, &d->addresses);
  FNZI_NEW(&b->arena, count, &d->last_addresses);
  FNZI_NEW(&b->arena, count, &d->own);
  FNZI_NEW(&b->arena, count, &d->saved);
  FNZI_NEW(&b->arena, count, &d->small.has);
  FNZI_NEW(&b->arena, count, &is_input);
  d->bytes = b->plan.arena_bytes;
  for (size_t i = 0; i < count; i++)
    is_input[i] = is_own(ws, b, i) && d->used[i] && b->plan.buffers.data[i].kind != FNZI_PLN_OUT;
  fits = fnzi_dev_small_layout(b, is_input);
  for (size_t i = 0; i < count; i++) {
    if (is_own(ws, b, i) && d->used[i] && !d->small.has[i])
      fits = fits &&
             fnzi_dev_reserve(FNZI_DEV_APART, b->plan.buffers.data[i].bytes, &d->own[i], &d->bytes);
    if (b->saved_bytes && b->saved[i])
      fits = fits && fnzi_dev_reserve(FNZI_DEV_APART, b->plan.buffers.data[i].bytes, &d->saved[i],
                                      &d->bytes);
  }
  fits = fits && fnzi_dev_reserve(FNZI_DEV_APART, b->scalar_cells.bytes, &d->scalars, &d->bytes) &&
         fnzi_dev_reserve(FNZI_DEV_APART, d->staging_bytes, &d->staging, &d->bytes) &&
         fnzi_dev_reserve(FNZI_DEV_APART, d->scratch_bytes, &d->scratch, &d->bytes);
  return fits ? FNZ_OK : fnzi_no_memory(ws->ctx);
}

static fnz_status allocate_block(fnz_workspace *ws, const fnzi_dev_binding *d) {
  const fnzi_cuda_device *device = ws->exe->device;
  if (!ws->stream)
    FNZ_TRY(fnzi_cuda_stream_make(ws->ctx, device, &ws->stream));
  FNZ_TRY(fnzi_stp_enlarge(ws, &ws->staging, &ws->staging_bytes, d->staging_bytes));
  if (ws->device_bytes >= d->bytes)
    return FNZ_OK;
  if (ws->exe->is_guest && ws->device_block) /* runs before may be at work in it */
    FNZ_TRY(fnzi_cuda_wait(ws->ctx, device, ws->stream));
  fnzi_cuda_free(device, ws->device_block);
  ws->device_block = ws->device_bytes = 0;
  ws->small_owner = NULL;
  FNZ_TRY(fnzi_cuda_allocate(ws->ctx, device, d->bytes, &ws->device_block));
  ws->device_bytes = d->bytes;
  return FNZ_OK;
}

void fnzi_dev_workspace_end(fnz_workspace *ws) {
  const fnzi_cuda_device *device = ws->exe->device;
  fnzi_free(ws->ctx, ws->staging, ws->staging_bytes);
  fnzi_free(ws->ctx, ws->shadow, ws->shadow_bytes);
  fnzi_dev_sizes_end(ws);
  if (!device || !fnzi_cuda_enter_to_end(device))
    return;
  fnzi_cuda_free(device, ws->device_block);
  fnzi_cuda_free(device, ws->replaced_weights);
  fnzi_dev_results_end(ws);
  fnzi_cuda_pinned_free(device, ws->pinned);
  fnzi_cuda_stream_end(device, ws->stream);
  fnzi_cuda_leave(device);
}

/* --- Weights ---------------------------------------------------------------------------------- */
/* Whichever run is first copies it; where two are, one copy goes. */
static fnz_status weight_address(fnz_workspace *ws, uint32_t k, const void *data, size_t bytes,
                                 uint64_t *out) {
  const fnzi_cuda_device *device = ws->exe->device;
  uint64_t none = 0;
  *out = atomic_load(&ws->exe->device_weights[k]);
  if (*out)
    return FNZ_OK;
  FNZ_TRY(fnzi_cuda_allocate(ws->ctx, device, bytes, out));
  fnz_status status = fnzi_cuda_copy_in(ws->ctx, device, *out, data, bytes, ws->stream);
  if (status == FNZ_OK)
    status = fnzi_cuda_wait(ws->ctx, device, ws->stream);
  if (status == FNZ_OK && atomic_compare_exchange_strong(&ws->exe->device_weights[k], &none, *out))
    return FNZ_OK;
  fnzi_cuda_free(device, *out);
  *out = none;
  return status;
}

static bool is_replaced(const fnz_workspace *ws, uint32_t k) {
  const fnzi_stp_input *in = &ws->exe->inputs[k];
  const unsigned char *own = in->weight ? fnzi_stp_weight_start(in) : NULL;
  return own && ws->inputs[k].start != own;
}

/* --- Filling ---------------------------------------------------------------------------------- */
/* *packed: some input waits for the copy of the small ones. */
static fnz_status fill_input(fnz_workspace *ws, fnzi_stp_binding *b, size_t i, size_t *replaced,
                             bool *packed) {
  const fnzi_pln_buffer *buffer = &b->plan.buffers.data[i];
  uint64_t *address = &b->device->addresses[i],
           device_address = ws->on_device ? ws->device_in[buffer->input] : 0;
  size_t start;
  if (device_address && device_address % FNZI_DEV_ALIGNED == 0) {
    *address = device_address;
    return FNZ_OK;
  }
  if (is_own(ws, b, i)) {
    *address = ws->device_block + b->device->own[i];
  } else if (is_replaced(ws, buffer->input)) {
    if (!fnzi_dev_reserve(FNZI_DEV_APART, buffer->bytes, &start, replaced))
      return fnzi_no_memory(ws->ctx);
    *address = ws->replaced_weights + start;
  } else {
    return weight_address(ws, buffer->input, b->storages[i].data, buffer->bytes, address);
  }
  if (!device_address && b->device->small.has[i]) {
    memcpy(fnzi_dev_small_at(ws, b, b->device->own[i]), b->storages[i].data, buffer->bytes);
    *packed = true;
    return FNZ_OK;
  }
  return device_address ? fnzi_cuda_copy_within(ws->ctx, ws->exe->device, *address, device_address,
                                                ws->inputs[buffer->input].bytes, ws->stream)
                        : fnzi_cuda_copy_in(ws->ctx, ws->exe->device, *address, b->storages[i].data,
                                            buffer->bytes, ws->stream);
}

static fnz_status fill_buffers(fnz_workspace *ws, fnzi_stp_binding *b) {
  size_t replaced = 0;
  bool packed = false;
  FNZ_TRY(fnzi_dev_small_open(ws, b));
  for (size_t i = 0; i < b->plan.buffers.count; i++) {
    const fnzi_pln_buffer *buffer = &b->plan.buffers.data[i];
    bool is_input = buffer->kind == FNZI_PLN_CONST || buffer->kind == FNZI_PLN_STATE;
    bool is_states = is_input && b->with_state && ws->exe->inputs[buffer->input].in_state;
    if (buffer->kind == FNZI_PLN_TEMP)
      b->device->addresses[i] = ws->device_block + buffer->offset;
    else if (buffer->kind == FNZI_PLN_OUT) {
      uint32_t k = b->plan.buffers.data[i].output;
      b->device->addresses[i] = ws->on_device && fnzi_dev_is_direct(ws, b, k)
                                    ? ws->device_out[k]
                                    : ws->device_block + b->device->own[i];
    } else if (is_input && !is_states && b->device->used[i] && buffer->bytes)
      FNZ_TRY(fill_input(ws, b, i, &replaced, &packed));
  }
  return fnzi_dev_small_up(ws, b, packed);
}

static fnz_status keep(fnz_workspace *ws, const fnzi_stp_binding *b, bool back) {
  for (size_t i = 0; b->saved_bytes && i < b->plan.buffers.count; i++) {
    uint64_t kept = ws->device_block + b->device->saved[i], address = b->device->addresses[i];
    if (b->saved[i] && address)
      FNZ_TRY(fnzi_cuda_copy_within(ws->ctx, ws->exe->device, back ? address : kept,
                                    back ? kept : address, b->plan.buffers.data[i].bytes,
                                    ws->stream));
  }
  return FNZ_OK;
}

fnz_status fnzi_dev_upload(fnz_workspace *ws, fnzi_stp_binding *b) {
  fnzi_dev_binding *d = b->device;
  size_t replaced = 0, offset; /* weights that the caller has replaced are copied for this run */
  FNZ_TRY(allocate_block(ws, d));
  fnzi_cuda_free(ws->exe->device, ws->replaced_weights);
  ws->replaced_weights = 0;
  for (size_t i = 0; i < b->plan.buffers.count; i++) {
    const fnzi_pln_buffer *buffer = &b->plan.buffers.data[i];
    if (d->used[i] && buffer->kind == FNZI_PLN_CONST && is_replaced(ws, buffer->input) &&
        !fnzi_dev_reserve(FNZI_DEV_APART, buffer->bytes, &offset, &replaced))
      return fnzi_no_memory(ws->ctx);
  }
  FNZ_TRY(fnzi_cuda_allocate(ws->ctx, ws->exe->device, replaced, &ws->replaced_weights));
  FNZ_TRY(fill_buffers(ws, b));
  FNZ_TRY(fnzi_dev_state_fill(ws, b));
  FNZ_TRY(fnzi_dev_tables_fill(ws, b));
  /* Advances d->version if an address changed since the last run. While it stays, launches need no
   * check. */
  size_t bytes = b->plan.buffers.count * sizeof *d->addresses;
  bool same = d->version > 0 && d->last_block == ws->device_block &&
              (bytes == 0 || memcmp(d->addresses, d->last_addresses, bytes) == 0);
  if (!same) {
    if (bytes)
      memcpy(d->last_addresses, d->addresses, bytes);
    d->last_block = ws->device_block;
    d->version++;
  }
  return keep(ws, b, false);
}

fnz_status fnzi_dev_undo(fnz_workspace *ws, const fnzi_stp_binding *b) {
  FNZ_TRY(keep(ws, b, true));
  return fnzi_cuda_wait(ws->ctx, ws->exe->device, ws->stream);
}

void fnzi_dev_end(fnz_executable *exe) {
  if (!exe->device || exe->is_guest)
    return;
  if (fnzi_cuda_enter_to_end(exe->device)) {
    for (uint32_t k = 0; exe->device_weights && k < fnzi_graph_main(exe->program)->ninputs; k++)
      fnzi_cuda_free(exe->device, exe->device_weights[k]);
    fnzi_cuda_leave(exe->device);
  }
  fnzi_cuda_device_close(exe->device);
}

fnz_status fnzi_dev_open(fnz_executable *exe, fnz_context *holder, const char *name,
                         const char *cache) {
  fnzi_cuda_device *device;
  uint32_t count = fnzi_graph_main(exe->program)->ninputs;
  FNZI_NEW(&exe->arena, 1, &device);
  FNZI_NEW(&exe->arena, count, &exe->device_weights);
  for (uint32_t k = 0; k < count; k++)
    atomic_init(&exe->device_weights[k], 0);
  if (cache)
    FNZ_TRY(fnzi_arena_string(&exe->arena, cache, strlen(cache), &cache));
  FNZ_TRY(exe->is_printed ? fnzi_cuda_device_open_to_print(exe->ctx, name, device)
                          : fnzi_cuda_device_open(exe->ctx, holder, name, cache, device));
  exe->device = device;
  exe->threads_drawing = device->threads;
  return FNZ_OK;
}
