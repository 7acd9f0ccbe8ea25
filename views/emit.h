/* emit.h - asking for functional operators: how reverses, paths and mutations say what they need.
 */
#ifndef FNZI_EMIT_H
#define FNZI_EMIT_H

#include "program/program.h"
#include "views/steps.h"

#include <fnz/backend.h>

/* A value of the backend together with what it looks like. */
typedef struct fnzi_emitted {
  fnz_handle handle;
  const fnz_geometry *geometry;
} fnzi_emitted;

typedef struct fnzi_emitter {
  fnz_context *ctx;
  fnzi_arena *arena; /* for arguments and geometries; lives at least until the call returns */
  void *self;
  /* args[0..nargs) of the operator, tensors as handles. One tensor result of geometry `result`. */
  fnz_status (*call)(void *self, fnzi_emit_op op, const fnz_arg *args, size_t nargs,
                     const fnz_geometry *result, fnzi_emitted *out);
} fnzi_emitter;

/* --- Arguments -------------------------------------------------------------------------------- */
static inline fnz_arg fnzi_arg_int(int64_t i) {
  return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = i};
}
static inline fnz_arg fnzi_arg_value(fnz_handle h) {
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = h};
}
static inline fnz_arg fnzi_arg_dtype(fnz_dtype d) {
  return (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = d};
}
static inline fnz_arg fnzi_arg_default(void) {
  return (fnz_arg){.tag = FNZ_ARG_DEFAULT};
}
/* A list of INT items in the arena. */
FNZ_MUST_CHECK fnz_status fnzi_arg_ints(fnzi_arena *arena, const int64_t *items, size_t count,
                                        fnz_arg *out);

/* --- Geometries of results -------------------------------------------------------------------- */
/* The geometry a functional result has: dense, with the strides of `like` when those are dense. */
FNZ_MUST_CHECK fnz_status fnzi_dense_like(fnzi_arena *arena, const fnz_geometry *like,
                                          const fnz_geometry **out);
/* Row-major dense, with the dtype and sizes of `like`. */
FNZ_MUST_CHECK fnz_status fnzi_contiguous_like(fnzi_arena *arena, const fnz_geometry *like,
                                               const fnz_geometry **out);

#endif
