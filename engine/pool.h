/* pool.h - the memory that states of several executables share: parameters and buffers by name.
 *
 * Each state holds a reference; the pool is freed with the last one. Only one thread at a time may
 * use states that share a pool. Functions with a `ctx` fail with NOMEM there. */
#ifndef FNZI_ENG_POOL_H
#define FNZI_ENG_POOL_H

#include "engine/engine.h"

/* A parameter or buffer. */
typedef struct fnzi_eng_pooled {
  const char *name;      /* "buffer.cache" */
  fnz_geometry geometry; /* its window, from `start` on */
  unsigned char *start;
  size_t extent; /* bytes from `start` to the end of its memory */
} fnzi_eng_pooled;

typedef struct fnzi_eng_pool fnzi_eng_pool;

/* Creates a pool with one reference, in a context of its own with the allocator of `like`. */
FNZ_MUST_CHECK fnz_status fnzi_eng_pool_create(fnz_context *ctx, const fnz_context *like,
                                               fnzi_eng_pool **out);
fnzi_eng_pool *fnzi_eng_pool_retain(fnzi_eng_pool *pool);
/* NULL is allowed. */
void fnzi_eng_pool_release(fnzi_eng_pool *pool);

/* Returns NULL if nothing has this name. The item is borrowed until the next one is added. */
const fnzi_eng_pooled *fnzi_eng_pool_find(const fnzi_eng_pool *pool, const char *name);
/* Copies the name and the geometry. */
FNZ_MUST_CHECK fnz_status fnzi_eng_pool_add(fnz_context *ctx, fnzi_eng_pool *pool,
                                            const fnzi_eng_pooled *item);
/* Hands `bytes` of memory of the context `from` to the pool, which frees it. After a failure the
 * memory is still the caller's. */
FNZ_MUST_CHECK fnz_status fnzi_eng_pool_own(fnz_context *ctx, fnzi_eng_pool *pool,
                                            fnz_context *from, unsigned char *memory, size_t bytes);

#endif
