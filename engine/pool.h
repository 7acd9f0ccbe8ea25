/* pool.h - the memory that states of several executables share: parameters and buffers by name. It
 * ends with the last of the states. */
#ifndef FNZI_ENG_POOL_H
#define FNZI_ENG_POOL_H

#include "engine/engine.h"

/* A parameter or buffer. */
typedef struct fnzi_eng_pooled {
  const char *name;      /* "buffer.cache" */
  fnz_geometry geometry; /* a window of what begins at `start` */
  unsigned char *start;
  size_t extent; /* bytes from there that there are */
} fnzi_eng_pooled;

typedef struct fnzi_eng_pool fnzi_eng_pool;

/* One for a single state. */
FNZ_MUST_CHECK fnz_status fnzi_eng_pool_create(fnz_context *ctx, const fnz_context *like,
                                               fnzi_eng_pool **out);
fnzi_eng_pool *fnzi_eng_pool_retain(fnzi_eng_pool *pool);
/* NULL is allowed. */
void fnzi_eng_pool_release(fnzi_eng_pool *pool);

/* NULL: nothing is there under this name. Borrowed until the next is added. */
const fnzi_eng_pooled *fnzi_eng_pool_find(const fnzi_eng_pool *pool, const char *name);
/* Copies the name and the geometry. */
FNZ_MUST_CHECK fnz_status fnzi_eng_pool_add(fnz_context *ctx, fnzi_eng_pool *pool,
                                            const fnzi_eng_pooled *item);
/* Memory of the context `from`, `bytes` of it, is the pool's from now on. Not after a failure. */
FNZ_MUST_CHECK fnz_status fnzi_eng_pool_own(fnz_context *ctx, fnzi_eng_pool *pool,
                                            fnz_context *from, unsigned char *memory, size_t bytes);

#endif
