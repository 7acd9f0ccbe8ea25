/* arrays.c - a set of named host tensors. All parts are in one arena and are freed with the set. */
#include "program/formats/formats.h"

#include <fnz/arrays.h>

struct fnz_arrays {
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_map names; /* name -> index */
  struct {
    fnz_array **data;
    size_t count, capacity;
  } list;
};

fnz_status fnz_arrays_create(fnz_context *ctx, fnz_arrays **out) {
  fnz_arrays *a = *out = fnzi_resize(ctx, NULL, 0, sizeof *a);
  if (!a)
    return fnzi_no_memory(ctx);
  *a = (fnz_arrays){.ctx = ctx};
  fnzi_arena_init(&a->arena, ctx);
  fnzi_map_init(&a->names, ctx);
  return FNZ_OK;
}

void fnz_arrays_destroy(fnz_arrays *a) {
  if (!a)
    return;
  FNZI_VEC_FREE(a->ctx, &a->list);
  fnzi_map_free(&a->names);
  fnzi_arena_free(&a->arena);
  fnzi_free(a->ctx, a, sizeof *a);
}

size_t fnz_arrays_count(const fnz_arrays *a) {
  return a->list.count;
}

const fnz_array *fnz_arrays_at(const fnz_arrays *a, size_t index) {
  return index < a->list.count ? a->list.data[index] : NULL;
}

const fnz_array *fnz_arrays_find(const fnz_arrays *a, const char *name) {
  uint64_t index; /* of one that is no more, where the list was cut */
  bool found = fnzi_map_get(&a->names, name, strlen(name), &index) && index < a->list.count &&
               strcmp(a->list.data[index]->name, name) == 0;
  return found ? a->list.data[index] : NULL;
}

void fnzi_arrays_shorten(fnz_arrays *a, size_t count) {
  a->list.count = count < a->list.count ? count : a->list.count;
}

/* A size of 0 counts as 1 while checking: a zero must not hide a product that overflows. */
static fnz_status count_bytes(fnz_context *ctx, const char *name, fnz_dtype dtype, uint32_t rank,
                              const int64_t *sizes, size_t *out) {
  int64_t bytes = (int64_t)fnz_dtype_get_info(dtype)->bytes;
  bool empty = false;
  for (uint32_t i = 0; i < rank; i++) {
    if (sizes[i] < 0)
      return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, name, "dimension %u has the negative size %lld", i,
                       (long long)sizes[i]);
    empty = empty || sizes[i] == 0;
    if (!fnzi_mul_i64(bytes, sizes[i] ? sizes[i] : 1, &bytes))
      return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, name, "the size in bytes leaves 63 bits");
  }
  *out = empty ? 0 : (size_t)bytes;
  return FNZ_OK;
}

fnz_status fnz_arrays_add(fnz_arrays *a, const char *name, fnz_dtype dtype, uint32_t rank,
                          const int64_t *sizes, void **out_data) {
  FNZ_TRY(fnzi_arrays_add_unfilled(a, name, dtype, rank, sizes, out_data));
  const fnz_array *added = a->list.data[a->list.count - 1];
  if (added->bytes)
    memset(*out_data, 0, added->bytes);
  return FNZ_OK;
}

fnz_status fnzi_arrays_add_unfilled(fnz_arrays *a, const char *name, fnz_dtype dtype, uint32_t rank,
                                    const int64_t *sizes, void **out_data) {
  fnz_array *array;
  size_t bytes = 0;
  int64_t *own_sizes;
  *out_data = NULL;
  if ((unsigned)dtype >= FNZ_DTYPE_COUNT)
    return fnzi_fail(a->ctx, FNZ_CLASS_ARGUMENT, name, "there is no element type %d", (int)dtype);
  if (rank > FNZ_MAX_RANK)
    return fnzi_fail(a->ctx, FNZ_CLASS_LIMIT, name, "%u dimensions; at most %d are allowed", rank,
                     FNZ_MAX_RANK);
  if (!fnzi_is_utf8(name, strlen(name)))
    return fnzi_fail(a->ctx, FNZ_CLASS_ENCODING, name, "the name of an array must be UTF-8");
  if (fnz_arrays_find(a, name))
    return fnzi_fail(a->ctx, FNZ_CLASS_DUPLICATE, name,
                     "there are two arrays of this name; leave one out");
  FNZ_TRY(count_bytes(a->ctx, name, dtype, rank, sizes, &bytes));
  FNZI_NEW(&a->arena, 1, &array);
  FNZI_NEW(&a->arena, rank, &own_sizes);
  if (rank)
    memcpy(own_sizes, sizes, rank * sizeof *sizes);
  void *data;
  FNZ_TRY(fnzi_arena_take(&a->arena, bytes, 1, &data));
  *array = (fnz_array){NULL, dtype, rank, own_sizes, data, bytes};
  FNZ_TRY(fnzi_arena_string(&a->arena, name, strlen(name), &array->name));
  FNZI_PUSH(a->ctx, &a->list, array);
  fnz_status status = fnzi_map_set(&a->names, array->name, strlen(name), a->list.count - 1);
  if (status != FNZ_OK)
    a->list.count--;
  else
    *out_data = data;
  return status;
}
