/* pool.c - blocks by size class. A block that is freed is the first to be handed out again. */
#include "soak/pool.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 5, SLAB_BYTES = 1 << 20 };

#if defined(__SANITIZE_ADDRESS__)
#define HAS_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif

struct fnzi_pool_block {
  struct fnzi_pool_block *next;
};

struct fnzi_pool_slab {
  struct fnzi_pool_slab *older;
  size_t padding; /* blocks begin at a multiple of 16 */
};

/* FNZI_POOL_CLASSES and more: too large for the pool. */
static unsigned class_of(size_t bytes) {
  return bytes <= (size_t)1 << SMALLEST ? 0 : 64u - SMALLEST - (unsigned)__builtin_clzll(bytes - 1);
}

static size_t class_bytes(unsigned k) {
  return (size_t)1 << (k + SMALLEST);
}

static void *take_new(fnzi_pool *pool, size_t bytes) {
  if (!pool->slabs || bytes > SLAB_BYTES - pool->used) {
    struct fnzi_pool_slab *slab = malloc(SLAB_BYTES);
    if (!slab)
      return NULL;
    slab->older = pool->slabs;
    pool->slabs = slab;
    pool->used = sizeof *slab;
  }
  char *at = (char *)pool->slabs + pool->used;
  pool->used += bytes;
  return at;
}

static void *take(fnzi_pool *pool, size_t bytes) {
  unsigned k = class_of(bytes);
  if (k >= FNZI_POOL_CLASSES)
    return malloc(bytes);
  struct fnzi_pool_block *block = pool->spare[k];
  if (!block)
    return take_new(pool, class_bytes(k));
  pool->spare[k] = block->next;
  return block;
}

static void put_back(fnzi_pool *pool, void *p, size_t bytes) {
  unsigned k = class_of(bytes);
  struct fnzi_pool_block *block = p;
  if (k >= FNZI_POOL_CLASSES) {
    free(p);
    return;
  }
  block->next = pool->spare[k];
  pool->spare[k] = block;
}

static void *resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  fnzi_pool *pool = user;
  if (p && new_bytes && class_of(old_bytes) == class_of(new_bytes))
    return class_of(new_bytes) < FNZI_POOL_CLASSES ? p : realloc(p, new_bytes);
  void *moved = new_bytes ? take(pool, new_bytes) : NULL;
  if (new_bytes && !moved)
    return NULL;
  if (p && moved)
    memcpy(moved, p, old_bytes < new_bytes ? old_bytes : new_bytes);
  if (p)
    put_back(pool, p, old_bytes);
  return moved;
}

static void *plain_resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  (void)user, (void)old_bytes;
  if (new_bytes)
    return realloc(p, new_bytes);
  free(p);
  return NULL;
}

fnz_allocator fnzi_pool_allocator(fnzi_pool *pool) {
#ifdef HAS_SANITIZER
  return (fnz_allocator){plain_resize, pool};
#else
  (void)plain_resize;
  return (fnz_allocator){resize, pool};
#endif
}

void fnzi_pool_init(fnzi_pool *pool) {
  memset(pool, 0, sizeof *pool);
}

void fnzi_pool_free(fnzi_pool *pool) {
  while (pool->slabs) {
    struct fnzi_pool_slab *older = pool->slabs->older;
    free(pool->slabs);
    pool->slabs = older;
  }
}
