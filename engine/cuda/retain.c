/* retain.c - GPUs that stay in use as long as a context of fnz that something was opened with: to
 * start one takes time, and what uses it may end and be made again. */
#include "engine/cuda/run.h"

/* Devices keep pointers to it, so it stays in the list until the context ends. Threads may come
 * here at once. */
void fnzi_cuda_release(struct fnzi_cuda_retained *h) {
  if (atomic_exchange(&h->context, NULL))
    h->driver.context_release(h->device);
}

static void retain_end(fnz_context *ctx, struct fnzi_cuda_retained *h) {
  fnzi_cuda_release(h);
  fnzi_cuda_driver_close(&h->driver);
  ctx->allocator.resize(ctx->allocator.user, h, sizeof *h, 0);
}

static void end_all(fnz_context *ctx) {
  for (struct fnzi_cuda_retained *h; (h = ctx->held) != NULL;) {
    ctx->held = h->next;
    retain_end(ctx, h);
  }
}

/* Its memory is the context's own, as that of the context. */
static fnz_status retain_add(fnz_context *ctx, int device, struct fnzi_cuda_retained **out) {
  struct fnzi_cuda_retained *h = ctx->allocator.resize(ctx->allocator.user, NULL, 0, sizeof *h);
  if (!h)
    return fnzi_no_memory(ctx);
  memset(h, 0, sizeof *h);
  h->device = device;
  atomic_init(&h->is_broken, false);
  atomic_init(&h->context, NULL);
  void *context = NULL;
  fnz_status status = fnzi_cuda_driver_open(ctx, &h->driver);
  if (status == FNZ_OK)
    status = fnzi_cuda_driver_status(ctx, &h->driver, h->driver.context_retain(&context, device),
                                     "the GPU is taken");
  atomic_store(&h->context, status == FNZ_OK ? context : NULL);
  if (status != FNZ_OK) {
    retain_end(ctx, h);
    return status;
  }
  h->next = ctx->held;
  ctx->held = h;
  ctx->end_held = end_all;
  *out = h;
  return FNZ_OK;
}

fnz_status fnzi_cuda_retain(fnz_context *ctx, int device, struct fnzi_cuda_retained **out) {
  for (struct fnzi_cuda_retained *h = ctx->held; h; h = h->next) {
    if (atomic_load(&h->is_broken)) {
      fnzi_cuda_release(h);
    } else if (h->device == device) {
      *out = h;
      return FNZ_OK;
    }
  }
  return retain_add(ctx, device, out);
}
