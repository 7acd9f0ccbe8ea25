/* array.c - values of the CPU and meta backends: storages with a reference count, and windows. */
#include "kernels/kernels.h"

enum { STORAGE_ALIGNMENT = 64 };

static size_t array_bytes(uint32_t rank) {
  return sizeof(fnzi_array) + 3 * (size_t)rank * sizeof(int64_t);
}

fnz_status fnzi_sizes_check(fnz_context *ctx, uint32_t rank, const int64_t *sizes, size_t cell) {
  int64_t bytes = (int64_t)cell;
  for (uint32_t i = 0; i < rank; i++)
    if (sizes[i] < 0 || !fnzi_mul_i64(bytes, sizes[i] ? sizes[i] : 1, &bytes) ||
        bytes > INT64_MAX / 4)
      return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, NULL,
                       "a tensor of rank %u is too large for any machine; use smaller sizes", rank);
  return FNZ_OK;
}

static void set_windows(fnzi_array *a, const fnz_geometry *g) {
  uint32_t rank = g->rank;
  for (uint32_t i = 0; i < rank; i++) {
    a->dims[i] = g->sizes[i];
    a->dims[rank + i] = g->strides[i];
  }
  a->geometry = *g;
  a->geometry.sizes = a->dims;
  a->geometry.strides = a->dims + rank;
  a->geometry.symbols = NULL;
  a->place = a->geometry;
  a->place.strides = a->dims + 2 * (size_t)rank;
  a->place.offset = 0;
  a->place.is_conj = a->place.is_neg = false;
}

static void set_place_strides(fnzi_array *a, const fnz_geometry *g) {
  int64_t *strides = a->dims + 2 * (size_t)g->rank;
  if (fnzi_is_contiguous(g) || !fnzi_is_dense(g)) {
    fnzi_contiguous_strides(g->sizes, g->rank, strides);
    return;
  }
  for (uint32_t i = 0; i < g->rank; i++)
    strides[i] = g->strides[i];
}

fnz_status fnzi_array_create(fnz_context *ctx, const fnz_geometry *geometry, size_t cell,
                             fnzi_array **out) {
  *out = NULL;
  FNZ_TRY(fnzi_sizes_check(ctx, geometry->rank, geometry->sizes, cell));
  fnzi_array *a = fnzi_resize(ctx, NULL, 0, array_bytes(geometry->rank));
  if (!a)
    return fnzi_no_memory(ctx);
  a->storage = NULL;
  a->cell = cell;
  set_windows(a, geometry);
  set_place_strides(a, geometry);
  *out = a;
  return FNZ_OK;
}

static size_t storage_bytes(size_t bytes) {
  return sizeof(fnzi_storage) + STORAGE_ALIGNMENT + bytes;
}

static unsigned char *aligned_behind(fnzi_storage *s) {
  uintptr_t at = (uintptr_t)(s + 1) + STORAGE_ALIGNMENT - 1;
  return (unsigned char *)(at & ~(uintptr_t)(STORAGE_ALIGNMENT - 1));
}

fnz_status fnzi_array_allocate(fnz_context *ctx, fnzi_array *array, bool zero) {
  size_t bytes = (size_t)fnzi_array_numel(array) * array->cell;
  fnzi_storage *s = fnzi_resize(ctx, NULL, 0, storage_bytes(bytes));
  if (!s)
    return fnzi_no_memory(ctx);
  s->refs = 1;
  s->bytes = bytes;
  s->data = aligned_behind(s);
  if (zero && bytes)
    memset(s->data, 0, bytes);
  array->storage = s;
  return FNZ_OK;
}

static void release_storage(fnz_context *ctx, fnzi_storage *s) {
  if (s && --s->refs == 0)
    fnzi_free(ctx, s, storage_bytes(s->bytes));
}

fnz_status fnzi_array_share(fnz_context *ctx, fnzi_array *array, fnzi_storage *storage,
                            const fnz_geometry *place) {
  int64_t low, high;
  if (!fnzi_extent(place, &low, &high) || low < 0 || (uint64_t)high > storage->bytes / array->cell)
    return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                     "a window of %lld elements at offset %lld leaves its storage of %zu bytes",
                     (long long)fnz_geometry_numel(place), (long long)place->offset,
                     storage->bytes);
  int64_t *strides = array->dims + 2 * (size_t)array->place.rank;
  for (uint32_t i = 0; i < place->rank; i++)
    strides[i] = place->strides[i];
  array->place.offset = high > 0 ? place->offset : 0;
  storage->refs++;
  release_storage(ctx, array->storage);
  array->storage = storage;
  return FNZ_OK;
}

void fnzi_array_release(fnz_context *ctx, fnzi_array *array) {
  if (!array)
    return;
  release_storage(ctx, array->storage);
  fnzi_free(ctx, array, array_bytes(array->place.rank));
}
