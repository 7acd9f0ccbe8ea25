/* blob.c - the bytes of one storage, shared between programs by an atomic reference count.
 *
 * The bytes are stored after the blob itself, or are a window of another blob, such as a whole
 * file, or are lent by a caller. A blob may outlive the context it was made with: it keeps a copy
 * of the allocator, and stays out of the context's byte counters, which belong to one thread. */
#include "program/lend.h"
#include "program/mapping.h"
#include "program/program.h"

#include <stdalign.h>
#include <stdatomic.h>
#include <stddef.h>

struct fnzi_blob {
  fnz_allocator allocator;
  atomic_size_t references;
  size_t bytes;
  fnzi_blob *whole; /* `data` is a window of it; NULL: of what follows, or of `taken` bytes */
  unsigned char *data;
  size_t taken;                 /* bytes to free; 0: none */
  fnzi_mapping *mapping;        /* whose pages they are; NULL: none */
  void (*release)(void *owner); /* of lent bytes; NULL: none */
  void *owner;
  alignas(max_align_t) unsigned char own[];
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
  blob->whole = NULL;
  blob->data = blob->own;
  blob->taken = 0;
  blob->mapping = NULL;
  blob->release = NULL;
  blob->owner = NULL;
  atomic_init(&blob->references, 1);
  *out = blob;
  return FNZ_OK;
}

fnz_status fnzi_blob_take(fnz_context *ctx, fnz_buffer *bytes, fnzi_blob **out) {
  fnz_status status = fnzi_blob_create(ctx, 0, out);
  if (status != FNZ_OK) {
    fnz_buffer_free(ctx, bytes);
    return status;
  }
  (*out)->bytes = bytes->size;
  (*out)->data = (unsigned char *)bytes->data;
  (*out)->taken = bytes->capacity;
  ctx->live_bytes -= bytes->capacity;
  *bytes = (fnz_buffer){NULL, 0, 0};
  return FNZ_OK;
}

fnz_status fnzi_blob_take_mapping(fnz_context *ctx, fnzi_mapping *mapping, fnzi_blob **out) {
  fnz_status status = fnzi_blob_create(ctx, 0, out);
  if (status != FNZ_OK)
    return fnzi_mapping_close(mapping), status;
  (*out)->bytes = fnzi_mapping_bytes(mapping);
  (*out)->data = fnzi_mapping_data(mapping);
  (*out)->mapping = mapping;
  return FNZ_OK;
}

fnz_status fnzi_blob_lend(fnz_context *ctx, const fnz_weight_loan *loan, fnzi_blob **out) {
  FNZ_TRY(fnzi_blob_create(ctx, 0, out));
  (*out)->bytes = loan->bytes;
  (*out)->data = (unsigned char *)(uintptr_t)loan->data; /* no program writes it */
  (*out)->release = loan->release;
  (*out)->owner = loan->owner;
  return FNZ_OK;
}

static bool lies_in(const fnzi_blob *whole, const void *bytes, size_t size) {
  uintptr_t start = (uintptr_t)whole->data, at = (uintptr_t)bytes;
  return at >= start && at - start <= whole->bytes && size <= whole->bytes - (at - start);
}

fnz_status fnzi_blob_window(fnz_context *ctx, fnzi_blob *whole, const void *bytes, size_t size,
                            fnzi_blob **out) {
  FNZ_TRY(fnzi_blob_create(ctx, 0, out));
  if (!size)
    return FNZ_OK;
  (*out)->bytes = size;
  (*out)->whole = fnzi_blob_retain(whole);
  (*out)->data = whole->data + ((uintptr_t)bytes - (uintptr_t)whole->data);
  return FNZ_OK;
}

fnz_status fnzi_blob_of(fnz_program *p, const void *bytes, size_t size, fnzi_blob **out) {
  if (p->file && size && lies_in(p->file, bytes, size))
    return fnzi_blob_window(p->ctx, p->file, bytes, size, out);
  FNZ_TRY(fnzi_blob_create(p->ctx, size, out));
  if (size)
    memcpy((*out)->data, bytes, size);
  return FNZ_OK;
}

fnzi_blob *fnzi_blob_retain(fnzi_blob *blob) {
  if (blob)
    atomic_fetch_add_explicit(&blob->references, 1, memory_order_relaxed);
  return blob;
}

/* Windows are of blobs that are no windows, so this is one step deep. */
void fnzi_blob_release(fnzi_blob *blob) {
  while (blob && atomic_fetch_sub_explicit(&blob->references, 1, memory_order_acq_rel) == 1) {
    fnzi_blob *whole = blob->whole;
    fnz_allocator a = blob->allocator;
    if (blob->taken)
      a.resize(a.user, blob->data, blob->taken, 0);
    fnzi_mapping_close(blob->mapping);
    if (blob->release)
      blob->release(blob->owner);
    a.resize(a.user, blob, sizeof *blob + (blob->data == blob->own ? blob->bytes : 0), 0);
    blob = whole;
  }
}

void *fnzi_blob_data(const fnzi_blob *blob) {
  return blob->data;
}

size_t fnzi_blob_bytes(const fnzi_blob *blob) {
  return blob->bytes;
}

const fnzi_mapping *fnzi_blob_mapping(const fnzi_blob *blob) {
  return !blob ? NULL : blob->whole ? blob->whole->mapping : blob->mapping;
}

fnz_status fnzi_blob_check(fnz_context *ctx, const fnzi_blob *blob) {
  return fnzi_mapping_check(ctx, fnzi_blob_mapping(blob));
}

/* Weights of one file follow each other. */
fnz_status fnzi_program_check_files(fnz_context *ctx, const fnz_program *p) {
  const fnzi_mapping *last = NULL;
  for (size_t i = 0; i < p->weights.count; i++) {
    const fnzi_mapping *of = fnzi_blob_mapping(p->weights.data[i].blob);
    if (of != last)
      FNZ_TRY(fnzi_mapping_check(ctx, of));
    last = of;
  }
  return FNZ_OK;
}
