/* heap.h - memory for a thread that allocates the same small things over and over: blocks by size
 * class, taken from slabs, which are given back only in the end. */
#ifndef FNZI_SOAK_HEAP_H
#define FNZI_SOAK_HEAP_H

#include <fnz/context.h>

#include <stdbool.h>

enum {
  FNZI_HEAP_CLASSES = 12
}; /* blocks of 32 bytes up to 64 KiB; larger ones are the C library's */

typedef struct fnzi_heap {
  struct fnzi_heap_block *spare[FNZI_HEAP_CLASSES];
  struct fnzi_heap_slab *slabs;
  size_t used;  /* of the newest slab */
  bool ran_out; /* some allocation has failed */
} fnzi_heap;

void fnzi_heap_init(fnzi_heap *heap);
/* Every context that uses it must have ended. */
void fnzi_heap_free(fnzi_heap *heap);
/* Good as long as the heap does not move. Under a sanitizer it is the C library's, which sees more
 * mistakes. */
fnz_allocator fnzi_heap_allocator(fnzi_heap *heap);

#endif
