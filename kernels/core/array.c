/* array.c - values of the CPU and meta backends: storages with a reference count, and windows.
 *
 * Storages, arrays of few dimensions and blocks of memory are not given back at once but kept for
 * the next ones, a bounded number of them, so that a call that was made before allocates nothing.
 */
#include "base/watched.h"
#include "kernels/core/core.h"

enum {
  SMALL_STORAGE = 256, /* bytes that lie in the storage itself */
  MOST_KEPT = 64
};

/* All blocks together, for each backend. None with AddressSanitizer, so that it sees late uses. */
static const size_t most_block_bytes = FNZI_WATCHED ? 0 : (size_t)128 << 20;

/* Bytes of a storage when it is allocated, with its small elements after it. */
enum { STORAGE_BYTES = sizeof(fnzi_krn_storage) + FNZI_KRN_ALIGNMENT + SMALL_STORAGE };

fnz_status fnzi_krn_sizes_check(fnz_context *ctx, uint32_t rank, const int64_t *sizes,
                                size_t cell) {
  int64_t bytes = (int64_t)cell;
  for (uint32_t i = 0; i < rank; i++)
    if (sizes[i] < 0 || !fnzi_mul_i64(bytes, sizes[i] ? sizes[i] : 1, &bytes) ||
        bytes > INT64_MAX / 4)
      return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, NULL,
                       "a tensor of rank %u is too large for any machine; use smaller sizes", rank);
  return FNZ_OK;
}

/* --- The stock --------------------------------------------------------------------------- */
static void free_block(fnz_context *ctx, const fnzi_krn_stock *stock, void *data, size_t bytes) {
  if (!stock->elsewhere)
    fnzi_free(ctx, data, bytes);
  else if (data)
    stock->elsewhere->give(stock->elsewhere->self, data, bytes);
}

/* NULL: there is none. */
static void *new_block(fnz_context *ctx, const fnzi_krn_stock *stock, size_t bytes) {
  unsigned char *data = NULL;
  if (!stock->elsewhere)
    return fnzi_resize(ctx, NULL, 0, bytes);
  return stock->elsewhere->take(stock->elsewhere->self, ctx, bytes, &data) == FNZ_OK ? data : NULL;
}

/* The system has it back. */
static void free_blocks(fnz_context *ctx, fnzi_krn_stock *stock) {
  for (uint32_t i = 0; i < stock->nblocks; i++)
    free_block(ctx, stock, stock->blocks[i].data, stock->blocks[i].bytes);
  stock->nblocks = 0;
  stock->block_bytes = 0;
}

bool fnzi_krn_stock_trim(fnz_context *ctx, fnzi_krn_stock *stock) {
  bool had = stock->nblocks > 0;
  free_blocks(ctx, stock);
  return had;
}

static void forget_block(fnzi_krn_stock *stock, uint32_t k) {
  stock->block_bytes -= stock->blocks[k].bytes;
  stock->nblocks--;
  memmove(&stock->blocks[k], &stock->blocks[k + 1], (stock->nblocks - k) * sizeof *stock->blocks);
}

/* The newest kept block that is large enough and not too large, or one of the system. */
static void *take_block(fnz_context *ctx, fnzi_krn_stock *stock, size_t bytes, size_t *out_bytes) {
  for (uint32_t k = stock->nblocks; k-- > 0;) {
    void *data = stock->blocks[k].data;
    *out_bytes = stock->blocks[k].bytes;
    if (*out_bytes < bytes || *out_bytes / 2 > bytes)
      continue;
    forget_block(stock, k);
    return data;
  }
  *out_bytes = bytes;
  void *data = new_block(ctx, stock, bytes);
  if (data || stock->nblocks == 0)
    return data;
  free_blocks(ctx, stock);
  return new_block(ctx, stock, bytes);
}

/* Older ones make room. */
static void keep_block(fnz_context *ctx, fnzi_krn_stock *stock, void *data, size_t bytes) {
  if (!data || bytes > most_block_bytes) {
    free_block(ctx, stock, data, bytes);
    return;
  }
  while (stock->nblocks == FNZI_STOCK_BLOCKS || stock->block_bytes > most_block_bytes - bytes) {
    free_block(ctx, stock, stock->blocks[0].data, stock->blocks[0].bytes);
    forget_block(stock, 0);
  }
  stock->blocks[stock->nblocks].data = data;
  stock->blocks[stock->nblocks++].bytes = bytes;
  stock->block_bytes += bytes;
}

void fnzi_krn_stock_free(fnz_context *ctx, fnzi_krn_stock *stock) {
  free_blocks(ctx, stock);
  for (fnzi_krn_array *a = stock->arrays, *next; a; a = next) {
    next = a->next;
    fnzi_free(ctx, a, sizeof *a);
  }
  for (fnzi_krn_storage *s = stock->storages, *next; s; s = next) {
    next = s->next;
    fnzi_free(ctx, s, STORAGE_BYTES);
  }
  if (stock->kept.data)
    stock->kept.end(ctx, stock->kept.data);
  if (stock->packed.data)
    stock->packed.end(ctx, stock->packed.data);
  *stock = (fnzi_krn_stock){.has_data = stock->has_data, .elsewhere = stock->elsewhere};
}

static void keep_storage(fnz_context *ctx, fnzi_krn_storage *s) {
  fnzi_krn_stock *stock = s->stock;
  if (stock->nstorages == MOST_KEPT) {
    fnzi_free(ctx, s, STORAGE_BYTES);
    return;
  }
  s->next = stock->storages;
  stock->storages = s;
  stock->nstorages++;
}

/* --- Geometry ---------------------------------------------------------------------------- */
/* Room for sizes, eager's strides and those in the storage. */
static fnz_status reserve_dims(fnz_context *ctx, fnzi_krn_array *a, uint32_t rank) {
  if (rank <= a->capacity)
    return FNZ_OK;
  int64_t *dims = fnzi_resize(ctx, NULL, 0, 3 * (size_t)rank * sizeof *dims);
  if (!dims)
    return fnzi_no_memory(ctx);
  if (a->dims != a->few_dims)
    fnzi_free(ctx, a->dims, 3 * (size_t)a->capacity * sizeof *dims);
  a->dims = dims;
  a->capacity = rank;
  return FNZ_OK;
}

static void set_windows(fnzi_krn_array *a, const fnz_geometry *g) {
  uint32_t rank = g->rank;
  for (uint32_t i = 0; i < rank; i++) {
    a->dims[i] = g->sizes[i];
    a->dims[rank + i] = g->strides[i];
  }
  a->geometry = *g;
  a->geometry.sizes = a->dims;
  a->geometry.strides = a->dims + rank;
  a->geometry.symbols = NULL;
  a->window = a->geometry;
  a->window.strides = a->dims + 2 * (size_t)rank;
  a->window.offset = 0;
  a->window.is_conj = a->window.is_neg = false;
}

static void set_place_strides(fnzi_krn_array *a, const fnz_geometry *g) {
  int64_t *strides = a->dims + 2 * (size_t)g->rank;
  if (fnzi_is_contiguous(g) || !fnzi_is_dense(g)) {
    fnzi_contiguous_strides(g->sizes, g->rank, strides);
    return;
  }
  for (uint32_t i = 0; i < g->rank; i++)
    strides[i] = g->strides[i];
}

void fnzi_krn_array_window_as_geometry(fnzi_krn_array *a) {
  memcpy(a->dims + 2 * (size_t)a->geometry.rank, a->geometry.strides,
         a->geometry.rank * sizeof *a->dims);
  a->window.offset = a->geometry.offset;
}

static void open_array(fnzi_krn_array *a, fnzi_krn_stock *stock, size_t cell) {
  a->storage = NULL;
  a->cell = cell;
  a->stock = stock;
  a->refs = 1;
  a->eager = false;
  a->capacity = FNZI_FEW_DIMS;
  a->dims = a->few_dims;
}

fnz_status fnzi_krn_array_create(fnz_context *ctx, fnzi_krn_stock *stock,
                                 const fnz_geometry *geometry, size_t cell, fnzi_krn_array **out) {
  *out = NULL;
  FNZ_TRY(fnzi_krn_sizes_check(ctx, geometry->rank, geometry->sizes, cell));
  fnzi_krn_array *a = stock->arrays;
  if (a)
    stock->arrays = a->next, stock->narrays--;
  else if (!(a = fnzi_resize(ctx, NULL, 0, sizeof *a)))
    return fnzi_no_memory(ctx);
  open_array(a, stock, cell);
  fnz_status status = reserve_dims(ctx, a, geometry->rank);
  if (status != FNZ_OK) {
    fnzi_krn_array_release(ctx, a);
    return status;
  }
  set_windows(a, geometry);
  set_place_strides(a, geometry);
  *out = a;
  return FNZ_OK;
}

fnz_status fnzi_krn_array_in_arena(fnzi_arena *arena, fnzi_krn_stock *stock,
                                   const fnz_geometry *geometry, size_t cell,
                                   fnzi_krn_array **out) {
  enum { FOR_EVER = 1 << 30 }; /* uses, more than releases can ever undo */
  void *array, *dims;
  *out = NULL;
  FNZ_TRY(fnzi_krn_sizes_check(arena->ctx, geometry->rank, geometry->sizes, cell));
  FNZ_TRY(fnzi_arena_take(arena, 1, sizeof(fnzi_krn_array), &array));
  fnzi_krn_array *a = array;
  open_array(a, stock, cell);
  a->refs = FOR_EVER;
  if (geometry->rank > a->capacity) {
    FNZ_TRY(fnzi_arena_take(arena, 3 * (size_t)geometry->rank, sizeof *a->dims, &dims));
    a->dims = dims;
    a->capacity = geometry->rank;
  }
  set_windows(a, geometry);
  set_place_strides(a, geometry);
  *out = a;
  return FNZ_OK;
}

fnz_status fnzi_krn_array_rebase(fnz_context *ctx, fnzi_krn_array *array,
                                 const fnz_geometry *geometry) {
  int64_t numbers[2 * FNZ_MAX_RANK]; /* `geometry` may be the array's own */
  fnz_geometry g = *geometry;
  memcpy(numbers, g.sizes, g.rank * sizeof *numbers);
  memcpy(numbers + g.rank, g.strides, g.rank * sizeof *numbers);
  g.sizes = numbers;
  g.strides = numbers + g.rank;
  FNZ_TRY(fnzi_krn_sizes_check(ctx, g.rank, g.sizes, fnzi_dtype(g.dtype)->bytes));
  FNZ_TRY(reserve_dims(ctx, array, g.rank));
  set_windows(array, &g);
  fnzi_krn_array_window_as_geometry(array);
  array->cell = fnzi_dtype(g.dtype)->bytes;
  array->eager = true;
  return FNZ_OK;
}

/* --- Storage ----------------------------------------------------------------------------- */
static fnz_status give_block(fnz_context *ctx, fnzi_krn_storage *s, size_t bytes) {
  if ((bytes <= SMALL_STORAGE && !s->stock->elsewhere) || !s->stock->has_data) {
    s->data = s->stock->has_data ? fnzi_krn_aligned(s + 1) : NULL;
    return FNZ_OK;
  }
  size_t block_bytes;
  void *block = take_block(ctx, s->stock, bytes + FNZI_KRN_ALIGNMENT, &block_bytes);
  if (!block)
    return s->stock->elsewhere ? ctx->error.status : fnzi_no_memory(ctx);
  s->block = block;
  s->block_bytes = block_bytes;
  s->data = fnzi_krn_aligned(s->block);
  return FNZ_OK;
}

fnz_status fnzi_krn_storage_over(fnz_context *ctx, fnzi_krn_stock *stock, unsigned char *data,
                                 size_t bytes, fnzi_krn_storage **out) {
  fnzi_krn_storage *s = stock->storages;
  if (s)
    stock->storages = s->next, stock->nstorages--;
  else
    s = fnzi_resize(ctx, NULL, 0, STORAGE_BYTES);
  *out = s;
  if (!s)
    return fnzi_no_memory(ctx);
  *s = (fnzi_krn_storage){.refs = 1, .bytes = bytes, .data = data, .stock = stock};
  return FNZ_OK;
}

fnz_status fnzi_krn_storage_create(fnz_context *ctx, fnzi_krn_stock *stock, size_t bytes,
                                   fnzi_krn_storage **out) {
  FNZ_TRY(fnzi_krn_storage_over(ctx, stock, NULL, bytes, out));
  fnz_status status = give_block(ctx, *out, bytes);
  if (status != FNZ_OK) {
    keep_storage(ctx, *out);
    *out = NULL;
  }
  return status;
}

void fnzi_krn_storage_release(fnz_context *ctx, fnzi_krn_storage *s) {
  if (!s || --s->refs > 0)
    return;
  if (s->end) {
    /* Kernels may be at work in it. The next call that waits reports a failure there. */
    const fnz_error had = ctx->error;
    if (s->stock->elsewhere && s->stock->elsewhere->wait(s->stock->elsewhere->self, ctx) != FNZ_OK)
      ctx->error = had;
    s->end(s->owner);
  }
  keep_block(ctx, s->stock, s->block, s->block_bytes);
  keep_storage(ctx, s);
}

/* The bytes of `old`, and zeros behind them. */
static fnz_status move_bytes(fnz_context *ctx, const fnzi_krn_storage *s,
                             const fnzi_krn_storage *old) {
  const fnzi_krn_elsewhere *e = s->stock->elsewhere;
  if (e && old->bytes)
    FNZ_TRY(e->copy(e->self, ctx, s->data, old->data, old->bytes));
  if (e)
    return e->clear(e->self, ctx, s->data + old->bytes, s->bytes - old->bytes);
  if (s->data != old->data)
    memcpy(s->data, old->data, old->bytes);
  memset(s->data + old->bytes, 0, s->bytes - old->bytes);
  return FNZ_OK;
}

fnz_status fnzi_krn_storage_extend(fnz_context *ctx, fnzi_krn_storage *s, size_t bytes) {
  fnzi_krn_storage old = *s;
  if (bytes <= s->bytes)
    return FNZ_OK;
  if (s->end || s->lent)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                     "the memory of the tensor is shared with another library and cannot grow from "
                     "%zu to %zu bytes; clone it",
                     s->bytes, bytes);
  FNZ_TRY(give_block(ctx, s, bytes));
  s->bytes = bytes;
  if (!s->stock->has_data)
    return FNZ_OK;
  fnz_status status = move_bytes(ctx, s, &old);
  if (status != FNZ_OK) {
    free_block(ctx, s->stock, s->block, s->block_bytes);
    *s = old;
    return status;
  }
  if (s->block != old.block)
    free_block(ctx, s->stock, old.block, old.block_bytes);
  return FNZ_OK;
}

fnz_status fnzi_krn_array_allocate(fnz_context *ctx, fnzi_krn_array *array, bool zero) {
  size_t bytes = 0;
  /* Up to the last element of a tensor of real memory; else it has no gaps. */
  int64_t low, high = fnzi_krn_array_numel(array);
  if (array->eager && (!fnzi_extent(&array->window, &low, &high) || low < 0))
    return fnzi_fail(ctx, FNZ_CLASS_OVERFLOW, NULL, "the memory of a tensor leaves 63 bits");
  if (!fnzi_mul_size((size_t)high, array->cell, &bytes) || bytes >= SIZE_MAX - FNZI_KRN_ALIGNMENT)
    return fnzi_no_memory(ctx);
  FNZ_TRY(fnzi_krn_storage_create(ctx, array->stock, bytes, &array->storage));
  const fnzi_krn_elsewhere *e = array->stock->elsewhere;
  if (zero && e)
    return e->clear(e->self, ctx, array->storage->data, bytes);
  if (zero && array->storage->data)
    memset(array->storage->data, 0, bytes);
  return FNZ_OK;
}

fnz_status fnzi_krn_storage_holds(fnz_context *ctx, const fnzi_krn_storage *storage,
                                  const fnz_geometry *window) {
  int64_t low, high;
  size_t cell = fnzi_dtype(window->dtype)->bytes;
  if (fnzi_extent(window, &low, &high) && low >= 0 && (uint64_t)high <= storage->bytes / cell)
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_BOUNDS, NULL,
                   "a window at offset %lld leaves its storage of %zu bytes; give smaller sizes or "
                   "strides",
                   (long long)window->offset, storage->bytes);
}

fnz_status fnzi_krn_array_share(fnz_context *ctx, fnzi_krn_array *array, fnzi_krn_storage *storage,
                                const fnz_geometry *place) {
  FNZ_TRY(fnzi_krn_storage_holds(ctx, storage, place));
  int64_t *strides = array->dims + 2 * (size_t)array->window.rank;
  for (uint32_t i = 0; i < place->rank; i++)
    strides[i] = place->strides[i];
  array->window.offset = fnz_geometry_numel(place) > 0 ? place->offset : 0;
  storage->refs++;
  fnzi_krn_storage_release(ctx, array->storage);
  array->storage = storage;
  return FNZ_OK;
}

void fnzi_krn_array_release(fnz_context *ctx, fnzi_krn_array *array) {
  if (!array || --array->refs > 0)
    return;
  fnzi_krn_storage_release(ctx, array->storage);
  if (array->dims != array->few_dims)
    fnzi_free(ctx, array->dims, 3 * (size_t)array->capacity * sizeof *array->dims);
  fnzi_krn_stock *stock = array->stock;
  if (stock->narrays == MOST_KEPT) {
    fnzi_free(ctx, array, sizeof *array);
  } else {
    array->next = stock->arrays;
    stock->arrays = array;
    stock->narrays++;
  }
}
