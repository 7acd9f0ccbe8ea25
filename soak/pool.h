/* pool.h - memory for a thread that allocates the same small things over and over: blocks by size
 * class, taken from slabs, which are given back only in the end. */
#ifndef FNZI_SOAK_POOL_H
#define FNZI_SOAK_POOL_H

#include <fnz/context.h>

enum {
  FNZI_POOL_CLASSES = 12
}; /* blocks of 32 bytes up to 64 KiB; larger ones are the C library's */

typedef struct fnzi_pool {
  struct fnzi_pool_block *spare[FNZI_POOL_CLASSES];
  struct fnzi_pool_slab *slabs;
  size_t used; /* of the newest slab */
} fnzi_pool;

void fnzi_pool_init(fnzi_pool *pool);
/* Every context that uses it must have ended. */
void fnzi_pool_free(fnzi_pool *pool);
/* Good as long as the pool does not move. Under a sanitizer it is the C library's, which sees more
 * mistakes. */
fnz_allocator fnzi_pool_allocator(fnzi_pool *pool);

#endif
