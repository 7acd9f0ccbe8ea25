/* small.c - copies all small inputs of a run in one copy, and all small outputs in another. On the
 * device the inputs are adjacent, and so are the flag and the outputs. The CPU's side is pinned
 * memory, so the copies need no staging by the driver.
 *
 * Before the first run of a binding, and whenever its memory may have been reused, the flag is
 * filled with zeros, and outputs with the byte UNWRITTEN. So padding has defined bytes, and bytes
 * that no kernel has written can be noticed. */
#include "engine/device/device.h"

enum { MOST = 1 << 18, UNWRITTEN = 0xa5 };

static void align_start(fnzi_dev_binding *d) {
  d->bytes += (FNZI_DEV_APART - d->bytes % FNZI_DEV_APART) % FNZI_DEV_APART;
}

bool fnzi_dev_small_layout(fnzi_stp_binding *b, const bool *is_input) {
  fnzi_dev_binding *d = b->device;
  fnzi_dev_small *s = &d->small;
  bool fits = true;
  align_start(d);
  s->start = d->bytes;
  for (size_t i = 0; i < b->plan.buffers.count && fits; i++) {
    s->has[i] = is_input[i] && b->plan.buffers.data[i].bytes <= MOST;
    if (s->has[i])
      fits =
          fnzi_dev_reserve(FNZI_DEV_ALIGNED, b->plan.buffers.data[i].bytes, &d->own[i], &d->bytes);
  }
  s->inputs_end = d->bytes;
  align_start(d);
  fits = fits &&
         fnzi_dev_reserve(FNZI_DEV_ALIGNED, d->has_flag ? FNZI_DEV_FLAG : 0, &d->flag, &d->bytes);
  for (uint32_t k = 0; k < d->schedule.noutputs && fits; k++) {
    const fnzi_dev_transfer *t = &d->outputs[k];
    /* Whether the transfer is a whole small buffer of an output. */
    const fnzi_pln_buffer *buffer = &b->plan.buffers.data[t->buffer];
    const bool is_small_output = buffer->kind == FNZI_PLN_OUT && t->bytes > 0 && t->dense &&
                                 t->start == 0 && (size_t)t->bytes == buffer->bytes &&
                                 buffer->bytes <= MOST;
    if (!is_small_output || s->has[t->buffer])
      continue;
    s->has[t->buffer] = true;
    s->any_output = true;
    fits = fnzi_dev_reserve(FNZI_DEV_ALIGNED, (size_t)t->bytes, &d->own[t->buffer], &d->bytes);
  }
  s->end = d->bytes;
  return fits;
}

bool fnzi_dev_small_is_output(const fnzi_stp_binding *b, uint32_t buffer) {
  return b->device->small.has[buffer] && b->plan.buffers.data[buffer].kind == FNZI_PLN_OUT;
}

unsigned char *fnzi_dev_small_at(const fnz_workspace *ws, const fnzi_stp_binding *b,
                                 size_t offset) {
  return ws->pinned + (offset - b->device->small.start);
}

/* Allocates the pinned memory. If it replaces another binding's, that data is lost. */
fnz_status fnzi_dev_small_open(fnz_workspace *ws, const fnzi_stp_binding *b) {
  const fnzi_dev_small *s = &b->device->small;
  size_t bytes = s->end - s->start;
  if (ws->pinned_bytes < bytes) {
    fnzi_cuda_pinned_free(ws->exe->device, ws->pinned);
    ws->pinned = NULL;
    ws->pinned_bytes = 0;
    FNZ_TRY(fnzi_cuda_pinned_allocate(ws->ctx, ws->exe->device, bytes, &ws->pinned));
    ws->pinned_bytes = bytes;
  }
  return FNZ_OK;
}

static size_t behind_flag(const fnzi_dev_binding *d) {
  return d->flag + (d->has_flag ? FNZI_DEV_FLAG : 0);
}

fnz_status fnzi_dev_small_up(fnz_workspace *ws, fnzi_stp_binding *b, bool any_input) {
  fnzi_dev_small *s = &b->device->small;
  /* Whether the CPU needs a small output. */
  const fnzi_dev_binding *d = b->device;
  bool is_downloaded = d->small.any_output && !ws->on_device;
  for (uint32_t k = 0; k < d->schedule.noutputs && ws->on_device && !is_downloaded; k++)
    is_downloaded = fnzi_dev_small_is_output(b, d->outputs[k].buffer) &&
                    !fnzi_dev_is_direct(ws, b, d->schedule.outputs[k]);
  s->is_downloaded = is_downloaded;
  size_t behind = behind_flag(d), end = is_downloaded ? s->end : behind;
  /* Unless the last run on this memory was one of the binding, and found the flag zero. */
  if (end != d->flag && !(ws->small_owner == b && ws->small_end >= end)) {
    FNZ_TRY(fnzi_cuda_fill(ws->ctx, ws->exe->device, ws->device_block + d->flag, 0,
                           behind - d->flag, ws->stream));
    FNZ_TRY(fnzi_cuda_fill(ws->ctx, ws->exe->device, ws->device_block + behind, UNWRITTEN,
                           end - behind, ws->stream));
  }
  ws->small_owner = NULL; /* until the run has ended well */
  return any_input ? fnzi_cuda_copy_in(ws->ctx, ws->exe->device, ws->device_block + s->start,
                                       fnzi_dev_small_at(ws, b, s->start), s->inputs_end - s->start,
                                       ws->stream)
                   : FNZ_OK;
}

void fnzi_dev_small_ran(fnz_workspace *ws, const fnzi_stp_binding *b) {
  const fnzi_dev_binding *d = b->device;
  ws->small_owner = b;
  ws->small_end = d->small.is_downloaded ? d->small.end : behind_flag(d);
}

fnz_status fnzi_dev_small_down(fnz_workspace *ws, const fnzi_stp_binding *b) {
  const fnzi_dev_binding *d = b->device;
  size_t end = d->small.is_downloaded ? d->small.end : behind_flag(d);
  return fnzi_cuda_copy_out(ws->ctx, ws->exe->device, fnzi_dev_small_at(ws, b, d->flag),
                            ws->device_block + d->flag, end - d->flag, ws->stream);
}

uint32_t fnzi_dev_small_flag(const fnz_workspace *ws, const fnzi_stp_binding *b) {
  uint32_t flag = 0;
  if (b->device->has_flag)
    memcpy(&flag, fnzi_dev_small_at(ws, b, b->device->flag), sizeof flag);
  return flag;
}
