/* given.c - inputs and outputs that lie on a GPU: they are used there, and what the CPU
 * computes with goes by room of its own. */
#include "engine/device/device.h"

/* --- Inputs -------------------------------------------------------------------------------------
 */
static bool is_there(const fnz_workspace *ws, uint32_t k) {
  const fnzi_eng_input *in = &ws->exe->inputs[k];
  return in->is_tensor && in->by_caller && in->slot != FNZI_ENG_NONE && ws->given[k].start;
}

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

/* Each input has room of the CPU in place of its memory, which nobody touches but for a reason. */
fnz_status fnzi_eng_device_given_inputs(fnz_workspace *ws) {
  const fnzi_graph *g = fnzi_graph_at(ws->exe->program, 0);
  size_t bytes = FNZI_ENG_ALIGNMENT, at = 0;
  FNZI_NEW(&ws->calling, g->ninputs, &ws->device_in);
  FNZI_NEW(&ws->calling, g->noutputs, &ws->device_out);
  for (uint32_t k = 0; k < g->ninputs; k++) {
    const fnzi_eng_input *in = &ws->exe->inputs[k];
    if (in->is_tensor && in->by_caller && (in->is_shared || in->memory != k))
      return fnzi_fail(ws->ctx, FNZ_CLASS_UNSUPPORTED, in->name,
                       "inputs that share memory are given with the CPU, not on the device");
    if (is_there(ws, k) && (!fnzi_add_size(bytes, ws->given[k].bytes, &bytes) ||
                            !fnzi_add_size(bytes, FNZI_ENG_ALIGNMENT, &bytes)))
      return fnzi_no_memory(ws->ctx);
  }
  FNZ_TRY(take_room(ws, bytes));
  for (uint32_t k = 0; k < g->ninputs; k++) {
    if (!is_there(ws, k))
      continue;
    at += (FNZI_ENG_ALIGNMENT - (uintptr_t)(ws->shadow + at) % FNZI_ENG_ALIGNMENT) %
          FNZI_ENG_ALIGNMENT;
    ws->device_in[k] = (uint64_t)(uintptr_t)ws->given[k].start;
    ws->given[k].start = ws->shadow + at;
    at += ws->given[k].bytes;
  }
  return FNZ_OK;
}

/* The CPU computes all of it, or a step that reads the input. */
static bool is_read(const fnzi_eng_binding *b, size_t i) {
  const fnzi_eng_device_binding *d = b->device;
  return !d->runs || b->interprets || d->route.host_reads[i];
}

static fnz_status bring_down(fnz_workspace *ws, const fnzi_eng_binding *b, bool all) {
  const fnzi_cuda_device *device = ws->exe->device;
  if (!ws->stream)
    FNZ_TRY(fnzi_cuda_stream_make(ws->ctx, device, &ws->stream));
  for (size_t i = 0; i < b->plan.buffers.count; i++) {
    const fnzi_eng_buffer *buffer = &b->plan.buffers.data[i];
    bool is_input = buffer->kind == FNZI_ENG_CONST || buffer->kind == FNZI_ENG_STATE;
    if (is_input && ws->device_in[buffer->of] && (all || is_read(b, i)))
      FNZ_TRY(fnzi_cuda_copy_out(ws->ctx, device, ws->given[buffer->of].start,
                                 ws->device_in[buffer->of], ws->given[buffer->of].bytes,
                                 ws->stream));
  }
  return fnzi_cuda_wait(ws->ctx, device, ws->stream);
}

fnz_status fnzi_eng_device_given_down(fnz_workspace *ws, const fnzi_eng_binding *b, bool all) {
  FNZ_TRY(fnzi_cuda_enter(ws->ctx, ws->exe->device));
  fnz_status status = bring_down(ws, b, all);
  fnzi_cuda_leave(ws->exe->device);
  return status;
}

/* --- Outputs ------------------------------------------------------------------------------------
 */
bool fnzi_eng_device_is_direct(const fnz_workspace *ws, const fnzi_eng_binding *b, uint32_t k) {
  const fnzi_eng_route *r = &b->device->route;
  bool is_made_there = false;
  for (uint32_t i = 0; b->device->runs && i < r->noutputs; i++)
    is_made_there = is_made_there || r->outputs[i] == k;
  return is_made_there && ws->device_out[k] && ws->device_out[k] % FNZI_ENG_DEVICE_ALIGNED == 0 &&
         b->plan.buffers.data[b->plan.outputs[k].buffer].kind == FNZI_ENG_OUT;
}

static fnz_status put(fnz_workspace *ws, const void *from, size_t bytes, uint64_t to) {
  const fnzi_cuda_device *device = ws->exe->device;
  FNZ_TRY(fnzi_cuda_copy_in(ws->ctx, device, to, from, bytes, ws->stream));
  return fnzi_cuda_wait(ws->ctx, device, ws->stream);
}

fnz_status fnzi_eng_device_put(fnz_workspace *ws, const void *from, size_t bytes, uint64_t to) {
  FNZ_TRY(fnzi_cuda_enter(ws->ctx, ws->exe->device));
  fnz_status status = put(ws, from, bytes, to);
  fnzi_cuda_leave(ws->exe->device);
  return status;
}
