/* sharing.h - is what a result says of memory true? Each output is held against the tensors that
 * the aliasing interpreter has in the end. */
#ifndef FNZI_SOAK_SHARING_H
#define FNZI_SOAK_SHARING_H

#include "run/run.h"

enum { FNZI_SHARING_MOST = 64 };

/* What was shown, kept. */
typedef struct fnzi_sharing_sight {
  const void *tensor, *memory;
  fnz_geometry geometry;
  int64_t sizes[FNZ_MAX_RANK], strides[FNZ_MAX_RANK];
} fnzi_sharing_sight;

typedef struct fnzi_sharing {
  fnz_context *ctx;
  const fnz_program *original, *functional;
  size_t mutations; /* outputs of the result before those of the original */
  fnzi_sharing_sight inputs[FNZI_SHARING_MOST], outputs[FNZI_SHARING_MOST];
  char reason[512];
} fnzi_sharing;

/* What `functional`, made from `original`, says of memory is true; s->reason says what is not. `s`
 * has these two and a context. Programs with more inputs or outputs than there is room for are not
 * looked at. */
bool fnzi_sharing_is_true(fnzi_sharing *s, fnz_backend *backend);

#endif
