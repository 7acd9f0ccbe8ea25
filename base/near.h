/* near.h - which of some names may have been meant by a word that is none of them. */
#ifndef FNZI_NEAR_H
#define FNZI_NEAR_H

#include "base/base.h"

enum { FNZI_NEAR_SHOWN = 3 };

/* The nearest names so far, nearest first; zero bytes for none. Names are borrowed. */
typedef struct fnzi_near {
  struct {
    const char *name;
    size_t length, distance;
  } items[FNZI_NEAR_SHOWN];
  size_t count;
} fnzi_near;

/* Compares `word` with the first `length` bytes of `name`. */
void fnzi_near_consider(fnzi_near *near, const char *word, const char *name, size_t length);
/* Appends "add, abs or all". */
FNZ_MUST_CHECK fnz_status fnzi_near_put(fnz_context *ctx, const fnzi_near *near, fnz_buffer *out);

#endif
