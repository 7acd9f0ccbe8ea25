/* heap.c - blocks by size class. A block that is freed is the first to be handed out again. */
#include "soak/heap.h"

#include "base/watched.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { SMALLEST = 5, SLAB_BYTES = 1 << 20 };

struct fnzi_heap_block {
  struct fnzi_heap_block *next;
};

struct fnzi_heap_slab {
  struct fnzi_heap_slab *older;
  size_t padding; /* blocks begin at a multiple of 16 */
};

/* FNZI_HEAP_CLASSES and more: too large for it. */
static inline unsigned class_of(size_t bytes) {
  return bytes <= (size_t)1 << SMALLEST ? 0 : 64u - SMALLEST - (unsigned)__builtin_clzll(bytes - 1);
}

static inline void *take(fnzi_heap *heap, size_t bytes) {
  unsigned k = class_of(bytes);
  if (k >= FNZI_HEAP_CLASSES)
    return malloc(bytes);
  struct fnzi_heap_block *block = heap->spare[k];
  if (!block) {
    if (!heap->slabs || (size_t)1 << (k + SMALLEST) > SLAB_BYTES - heap->used) {
      struct fnzi_heap_slab *slab = malloc(SLAB_BYTES);
      if (!slab)
        return NULL;
      slab->older = heap->slabs;
      heap->slabs = slab;
      heap->used = sizeof *slab;
    }
    char *at = (char *)heap->slabs + heap->used;
    heap->used += (size_t)1 << (k + SMALLEST);
    return at;
  }
  heap->spare[k] = block->next;
  return block;
}

static inline void put_back(fnzi_heap *heap, void *p, size_t bytes) {
  unsigned k = class_of(bytes);
  struct fnzi_heap_block *block = p;
  if (k >= FNZI_HEAP_CLASSES) {
    free(p);
    return;
  }
  block->next = heap->spare[k];
  heap->spare[k] = block;
}

static void *move(fnzi_heap *heap, void *p, size_t old_bytes, size_t new_bytes) {
  if (class_of(old_bytes) == class_of(new_bytes))
    return class_of(new_bytes) < FNZI_HEAP_CLASSES ? p : realloc(p, new_bytes);
  void *moved = take(heap, new_bytes);
  if (!moved)
    return NULL;
  memcpy(moved, p, old_bytes < new_bytes ? old_bytes : new_bytes);
  put_back(heap, p, old_bytes);
  return moved;
}

static void *resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  fnzi_heap *heap = user;
  if (!new_bytes) {
    if (p)
      put_back(heap, p, old_bytes);
    return NULL;
  }
  void *moved = p ? move(heap, p, old_bytes, new_bytes) : take(heap, new_bytes);
  heap->ran_out |= !moved;
  return moved;
}

static void *plain_resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  fnzi_heap *heap = user;
  (void)old_bytes;
  void *moved = new_bytes ? realloc(p, new_bytes) : NULL;
  if (!new_bytes)
    free(p);
  else
    heap->ran_out |= !moved;
  return moved;
}

fnz_allocator fnzi_heap_allocator(fnzi_heap *heap) {
  return (fnz_allocator){FNZI_WATCHED ? plain_resize : resize, heap};
}

void fnzi_heap_init(fnzi_heap *heap) {
  memset(heap, 0, sizeof *heap);
}

void fnzi_heap_free(fnzi_heap *heap) {
  while (heap->slabs) {
    struct fnzi_heap_slab *older = heap->slabs->older;
    free(heap->slabs);
    heap->slabs = older;
  }
}
