/* pool.c - memory that states share. States may be destroyed in different threads, so references
 * are counted atomically, and the pool has its own context. */
#include "engine/pool.h"

#include <stdatomic.h>

typedef struct owned {
  unsigned char *memory;
  size_t bytes;
} owned;

struct fnzi_eng_pool {
  atomic_size_t references;
  fnz_context *ctx; /* its own */
  fnzi_arena arena;
  struct {
    fnzi_eng_pooled *data;
    size_t count, capacity;
  } items;
  struct {
    owned *data;
    size_t count, capacity;
  } owned;
};

fnz_status fnzi_eng_pool_create(fnz_context *ctx, const fnz_context *like, fnzi_eng_pool **out) {
  fnz_context *own;
  void *created;
  *out = NULL;
  FNZ_TRY(fnzi_eng_with_context(ctx, &like->allocator, sizeof **out, &own, &created));
  fnzi_eng_pool *pool = created;
  atomic_init(&pool->references, 1);
  pool->ctx = own;
  fnzi_arena_init(&pool->arena, own);
  *out = pool;
  return FNZ_OK;
}

fnzi_eng_pool *fnzi_eng_pool_retain(fnzi_eng_pool *pool) {
  atomic_fetch_add_explicit(&pool->references, 1, memory_order_relaxed);
  return pool;
}

void fnzi_eng_pool_release(fnzi_eng_pool *pool) {
  if (!pool || atomic_fetch_sub_explicit(&pool->references, 1, memory_order_acq_rel) != 1)
    return;
  fnz_context *ctx = pool->ctx;
  for (size_t i = 0; i < pool->owned.count; i++)
    fnzi_free(ctx, pool->owned.data[i].memory, pool->owned.data[i].bytes);
  FNZI_VEC_FREE(ctx, &pool->items);
  FNZI_VEC_FREE(ctx, &pool->owned);
  fnzi_arena_free(&pool->arena);
  fnzi_free(ctx, pool, sizeof *pool);
  fnz_context_destroy(ctx);
}

const fnzi_eng_pooled *fnzi_eng_pool_find(const fnzi_eng_pool *pool, const char *name) {
  for (size_t i = 0; i < pool->items.count; i++)
    if (strcmp(pool->items.data[i].name, name) == 0)
      return &pool->items.data[i];
  return NULL;
}

static fnz_status add(fnzi_eng_pool *pool, const fnzi_eng_pooled *item) {
  const fnz_geometry *g = &item->geometry;
  fnzi_eng_pooled own = *item;
  int64_t *sizes, *strides;
  FNZ_TRY(fnzi_arena_string(&pool->arena, item->name, strlen(item->name), &own.name));
  FNZI_NEW(&pool->arena, g->rank, &sizes);
  FNZI_NEW(&pool->arena, g->rank, &strides);
  for (uint32_t d = 0; d < g->rank; d++) {
    sizes[d] = g->sizes[d];
    strides[d] = g->strides[d];
  }
  own.geometry.sizes = sizes;
  own.geometry.strides = strides;
  own.geometry.symbols = NULL;
  FNZI_PUSH(pool->ctx, &pool->items, own);
  return FNZ_OK;
}

fnz_status fnzi_eng_pool_add(fnz_context *ctx, fnzi_eng_pool *pool, const fnzi_eng_pooled *item) {
  return add(pool, item) == FNZ_OK ? FNZ_OK : fnzi_no_memory(ctx);
}

static fnz_status own(fnzi_eng_pool *pool, unsigned char *memory, size_t bytes) {
  FNZI_PUSH(pool->ctx, &pool->owned, ((owned){memory, bytes}));
  return FNZ_OK;
}

fnz_status fnzi_eng_pool_own(fnz_context *ctx, fnzi_eng_pool *pool, fnz_context *from,
                             unsigned char *memory, size_t bytes) {
  if (own(pool, memory, bytes) != FNZ_OK)
    return fnzi_no_memory(ctx);
  from->live_bytes -= bytes;
  pool->ctx->live_bytes += bytes;
  return FNZ_OK;
}
