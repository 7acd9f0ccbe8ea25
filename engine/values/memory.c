/* memory.c - GPU memory for the machine of kernels/, and copies of bytes, all in the order of one
 * stream. A copy to or from the CPU is complete when its function returns. Freed memory may still
 * be in use on the stream, so it is released after the next synchronization. */
#include "engine/values/values.h"

static uint64_t address(const void *data) {
  return (uint64_t)(uintptr_t)data;
}

/* A kind of GPU that need not be there has no memory. */
fnz_status fnzi_val_enter(const fnzi_val *v, fnz_context *ctx) {
  if (v->device.is_absent)
    return fnzi_fail(
        ctx, FNZ_CLASS_UNSUPPORTED, NULL,
        "backend %s only prints what operators become; values need a device such as cuda", v->name);
  return fnzi_cuda_enter(ctx, &v->device);
}

/* Limits of the freed blocks that wait for a synchronization: their count and their bytes. */
enum { FREED = 64, FREED_BYTES = 256 << 20 };

/* Releases all freed blocks. Call when the stream is idle. */
static void free_all(fnzi_val *v) {
  v->is_behind = false;
  v->freed_bytes = 0;
  while (v->freed.count)
    fnzi_cuda_free(&v->device, v->freed.data[--v->freed.count]);
}

static fnz_status wait(fnzi_val *v, fnz_context *ctx) {
  fnz_status status = v->is_behind ? fnzi_cuda_wait(ctx, &v->device, v->stream) : FNZ_OK;
  if (status == FNZ_OK)
    free_all(v);
  return status;
}

fnz_status fnzi_val_allocate(void *self, fnz_context *ctx, size_t bytes, unsigned char **out) {
  fnzi_val *v = self;
  uint64_t at = 0;
  FNZ_TRY(fnzi_val_enter(v, ctx));
  fnz_status status = fnzi_cuda_allocate(ctx, &v->device, bytes, &at);
  if (status == FNZ_NO_MEMORY && (v->block || v->freed.count)) {
    /* Again without the freed blocks and the block that programs work in. */
    status = wait(v, ctx);
    if (status == FNZ_OK) {
      fnzi_cuda_free(&v->device, v->block);
      v->block = v->block_bytes = 0;
      status = fnzi_cuda_allocate(ctx, &v->device, bytes, &at);
    }
  }
  fnzi_cuda_leave(&v->device);
  *out = (unsigned char *)(uintptr_t)at;
  return status;
}

static fnz_status note_freed(fnzi_val *v, uint64_t at, size_t bytes) {
  FNZI_PUSH(v->ctx, &v->freed, at);
  v->freed_bytes += bytes;
  return FNZ_OK;
}

void fnzi_val_free(void *self, unsigned char *data, size_t bytes) {
  fnzi_val *v = self;
  /* Whether one more freed block may wait for a synchronization. */
  if (v->is_behind && v->freed.count < FREED && bytes <= FREED_BYTES - v->freed_bytes &&
      note_freed(v, address(data), bytes) == FNZ_OK)
    return;
  fnzi_val_synchronize(v);
  if (!fnzi_cuda_enter_to_end(&v->device))
    return;
  fnzi_cuda_free(&v->device, address(data));
  fnzi_cuda_leave(&v->device);
}

/* Synchronizes after a failure, twice if needed, because a failed synchronization may not have
 * waited. */
void fnzi_val_synchronize(fnzi_val *v) {
  if (!v->is_behind || !fnzi_cuda_enter_to_end(&v->device))
    return;
  if (v->device.driver.stream_wait(v->stream) != 0)
    v->device.driver.stream_wait(v->stream);
  free_all(v);
  fnzi_cuda_leave(&v->device);
}

fnz_status fnzi_val_done(void *self, fnz_context *ctx) {
  fnzi_val *v = self;
  if (!v->is_behind)
    return FNZ_OK;
  FNZ_TRY(fnzi_val_enter(v, ctx));
  fnz_status status = wait(v, ctx);
  fnzi_cuda_leave(&v->device);
  if (status != FNZ_OK)
    fnzi_val_synchronize(v);
  return status;
}

/* Ends a call that queued work on the stream. If `waits`, synchronizes. */
static fnz_status put_there(fnzi_val *v, fnz_status status, fnz_context *ctx, bool waits) {
  v->is_behind = true;
  if (status == FNZ_OK && waits)
    status = wait(v, ctx);
  fnzi_cuda_leave(&v->device);
  if (status != FNZ_OK)
    fnzi_val_synchronize(v);
  return status;
}

fnz_status fnzi_val_copy(void *self, fnz_context *ctx, unsigned char *to, const unsigned char *from,
                         size_t bytes) {
  fnzi_val *v = self;
  FNZ_TRY(fnzi_val_enter(v, ctx));
  return put_there(
      v, fnzi_cuda_copy_within(ctx, &v->device, address(to), address(from), bytes, v->stream), ctx,
      false);
}

fnz_status fnzi_val_upload(void *self, fnz_context *ctx, unsigned char *to, const void *from,
                           size_t bytes) {
  fnzi_val *v = self;
  FNZ_TRY(fnzi_val_enter(v, ctx));
  return put_there(v, fnzi_cuda_copy_in(ctx, &v->device, address(to), from, bytes, v->stream), ctx,
                   true);
}

fnz_status fnzi_val_download(void *self, fnz_context *ctx, void *to, const unsigned char *from,
                             size_t bytes) {
  fnzi_val *v = self;
  FNZ_TRY(fnzi_val_enter(v, ctx));
  return put_there(v, fnzi_cuda_copy_out(ctx, &v->device, to, address(from), bytes, v->stream), ctx,
                   true);
}

fnz_status fnzi_val_clear(void *self, fnz_context *ctx, unsigned char *data, size_t bytes) {
  fnzi_val *v = self;
  FNZ_TRY(fnzi_val_enter(v, ctx));
  return put_there(v, fnzi_cuda_fill(ctx, &v->device, address(data), 0, bytes, v->stream), ctx,
                   false);
}
