/* own_device.h - a GPU of a test's own, beside that of the executables: memory on it that runs are
 * given. */
#ifndef FNZ_TESTS_CUDA_OWN_DEVICE_H
#define FNZ_TESTS_CUDA_OWN_DEVICE_H

#include "engine/cuda/run.h"

#include "tests/help/test.h"

#include <fnz/fnz.h>

typedef struct own_device {
  fnz_context *ctx;
  fnzi_cuda_device device;
  void *stream;
} own_device;

static inline void own_device_open(fnz_context *ctx, own_device *d) {
  d->ctx = ctx;
  OK(ctx, fnzi_cuda_device_open(ctx, NULL, "cuda", NULL, &d->device));
  OK(ctx, fnzi_cuda_enter(ctx, &d->device));
  OK(ctx, fnzi_cuda_stream_make(ctx, &d->device, &d->stream));
}

static inline void own_device_close(own_device *d) {
  fnzi_cuda_stream_end(&d->device, d->stream);
  fnzi_cuda_leave(&d->device);
  fnzi_cuda_device_close(&d->device);
}

static inline uint64_t own_device_take(own_device *d, size_t bytes) {
  uint64_t at;
  OK(d->ctx, fnzi_cuda_allocate(d->ctx, &d->device, bytes, &at));
  return at;
}

/* Both wait. */
static inline void own_device_put(own_device *d, uint64_t at, const void *data, size_t bytes) {
  if (bytes)
    OK(d->ctx, fnzi_cuda_copy_in(d->ctx, &d->device, at, data, bytes, d->stream));
  OK(d->ctx, fnzi_cuda_wait(d->ctx, &d->device, d->stream));
}
static inline void own_device_get(own_device *d, uint64_t at, void *data, size_t bytes) {
  if (bytes)
    OK(d->ctx, fnzi_cuda_copy_out(d->ctx, &d->device, data, at, bytes, d->stream));
  OK(d->ctx, fnzi_cuda_wait(d->ctx, &d->device, d->stream));
}

/* An array there, its elements row-major. */
typedef struct own_array {
  fnz_geometry geometry;
  int64_t strides[FNZ_MAX_RANK];
} own_array;

static inline fnz_memory own_device_lay(own_device *d, uint64_t at, const fnz_array *a,
                                        own_array *room) {
  fnzi_contiguous_strides(a->sizes, a->rank, room->strides);
  room->geometry = (fnz_geometry){
      .dtype = a->dtype, .rank = a->rank, .sizes = a->sizes, .strides = room->strides};
  own_device_put(d, at, a->data, a->bytes);
  return (fnz_memory){(void *)(uintptr_t)at, &room->geometry};
}

#endif
