/* memory.c - the memory of a GPU as the machine of kernels/ asks for it, and copies of bytes. Each
 * is over when it returns. */
#include "engine/values/values.h"

static uint64_t address(const void *data) {
  return (uint64_t)(uintptr_t)data;
}

/* A kind of GPU that need not be there has no memory. */
fnz_status fnzi_val_enter(const fnzi_val *v, fnz_context *ctx) {
  if (v->device.is_absent)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "backend %s only tells of operators; values need a device such as cuda",
                     v->name);
  return fnzi_cuda_enter(ctx, &v->device);
}

fnz_status fnzi_val_take(void *self, fnz_context *ctx, size_t bytes, unsigned char **out) {
  fnzi_val *v = self;
  uint64_t at = 0;
  FNZ_TRY(fnzi_val_enter(v, ctx));
  fnz_status status = fnzi_cuda_take(ctx, &v->device, bytes, &at);
  if (status == FNZ_NO_MEMORY && v->block) { /* that nothing works in now */
    fnzi_cuda_give(&v->device, v->block);
    v->block = v->block_bytes = 0;
    status = fnzi_cuda_take(ctx, &v->device, bytes, &at);
  }
  fnzi_cuda_leave(&v->device);
  *out = (unsigned char *)(uintptr_t)at;
  return status;
}

void fnzi_val_give(void *self, unsigned char *data) {
  fnzi_val *v = self;
  if (!fnzi_cuda_enter_to_end(&v->device))
    return;
  fnzi_cuda_give(&v->device, address(data));
  fnzi_cuda_leave(&v->device);
}

void fnzi_val_settle(const fnzi_val *v, void *stream) {
  if (!stream || !fnzi_cuda_enter_to_end(&v->device))
    return;
  v->device.driver.stream_wait(stream);
  fnzi_cuda_leave(&v->device);
}

/* After what is on the stream. */
static fnz_status done(fnzi_val *v, fnz_context *ctx, fnz_status status) {
  if (status == FNZ_OK)
    status = fnzi_cuda_wait(ctx, &v->device, v->stream);
  fnzi_cuda_leave(&v->device);
  if (status != FNZ_OK)
    fnzi_val_settle(v, v->stream);
  return status;
}

fnz_status fnzi_val_copy(void *self, fnz_context *ctx, unsigned char *to, const unsigned char *from,
                         size_t bytes) {
  fnzi_val *v = self;
  FNZ_TRY(fnzi_val_enter(v, ctx));
  return done(v, ctx,
              fnzi_cuda_copy_within(ctx, &v->device, address(to), address(from), bytes, v->stream));
}

fnz_status fnzi_val_put(void *self, fnz_context *ctx, unsigned char *to, const void *from,
                        size_t bytes) {
  fnzi_val *v = self;
  FNZ_TRY(fnzi_val_enter(v, ctx));
  return done(v, ctx, fnzi_cuda_copy_in(ctx, &v->device, address(to), from, bytes, v->stream));
}

fnz_status fnzi_val_get(void *self, fnz_context *ctx, void *to, const unsigned char *from,
                        size_t bytes) {
  fnzi_val *v = self;
  FNZ_TRY(fnzi_val_enter(v, ctx));
  return done(v, ctx, fnzi_cuda_copy_out(ctx, &v->device, to, address(from), bytes, v->stream));
}

/* Zeros of the CPU, and then those that are there, twice as many each time. */
fnz_status fnzi_val_clear(void *self, fnz_context *ctx, unsigned char *data, size_t bytes) {
  static const unsigned char zeros[4096];
  size_t at = bytes < sizeof zeros ? bytes : sizeof zeros;
  if (bytes == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_val_put(self, ctx, data, zeros, at));
  while (at < bytes) {
    size_t more = bytes - at < at ? bytes - at : at;
    FNZ_TRY(fnzi_val_copy(self, ctx, data + at, data, more));
    at += more;
  }
  return FNZ_OK;
}
