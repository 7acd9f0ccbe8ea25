/* blob.c - the bytes of one storage, shared between programs by an atomic reference count.
 *
 * A blob may outlive the context it was made with: it keeps a copy of the allocator, and stays out
 * of the context's byte counters, which belong to one thread. */
#include "program/program.h"

#include <stdatomic.h>
#include <stdalign.h>
#include <stddef.h>

struct fnzi_blob {
  fnz_allocator allocator;
  atomic_size_t references;
  size_t bytes;
  alignas(max_align_t) unsigned char data[];
};

fnz_status fnzi_blob_create(fnz_context *ctx, size_t bytes, fnzi_blob **out) {
  size_t total;
  *out = NULL;
  if (!fnzi_add_size(sizeof(fnzi_blob), bytes, &total))
    return fnzi_no_memory(ctx);
  fnzi_blob *blob = ctx->allocator.resize(ctx->allocator.user, NULL, 0, total);
  if (!blob)
    return fnzi_no_memory(ctx);
  blob->allocator = ctx->allocator;
  blob->bytes = bytes;
  atomic_init(&blob->references, 1);
  *out = blob;
  return FNZ_OK;
}

fnzi_blob *fnzi_blob_retain(fnzi_blob *blob) {
  if (blob)
    atomic_fetch_add_explicit(&blob->references, 1, memory_order_relaxed);
  return blob;
}

void fnzi_blob_release(fnzi_blob *blob) {
  if (!blob || atomic_fetch_sub_explicit(&blob->references, 1, memory_order_acq_rel) != 1)
    return;
  fnz_allocator a = blob->allocator;
  a.resize(a.user, blob, sizeof *blob + blob->bytes, 0);
}

void *fnzi_blob_data(const fnzi_blob *blob) {
  return (void *)(uintptr_t)blob->data;
}

size_t fnzi_blob_bytes(const fnzi_blob *blob) {
  return blob->bytes;
}
