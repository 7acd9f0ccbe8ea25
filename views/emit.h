/* emit.h - functional operators that reverses, paths and writes need, called through the emitter.
 */
#ifndef FNZI_EMIT_H
#define FNZI_EMIT_H

#include "program/program.h"
#include "program/shapes/int.h"
#include "views/steps.h"

#include <fnz/backend.h>

/* A value of the backend with its geometry. */
typedef struct fnzi_emitted {
  fnz_handle handle;
  const fnz_geometry *geometry;
} fnzi_emitted;

typedef struct fnzi_emitter {
  fnz_context *ctx;
  fnzi_ints *ints;   /* NULL where all sizes are fixed */
  fnzi_arena *arena; /* for arguments and geometries; lives at least until the call returns */
  void *self;
  /* args[0..nargs) of the operator, tensors as handles. One tensor result of geometry `result`. */
  fnz_status (*call)(void *self, fnzi_emit_op op, const fnz_arg *args, size_t nargs,
                     const fnz_geometry *result, fnzi_emitted *out);
} fnzi_emitter;

/* --- Geometries of results -------------------------------------------------------------------- */
/* The geometry a functional result has: dense, with the strides of `like` when those are dense. */
FNZ_MUST_CHECK fnz_status fnzi_dense_like(fnzi_ints *s, fnzi_arena *arena, const fnz_geometry *like,
                                          const fnz_geometry **out);
/* The same of another dtype. */
FNZ_MUST_CHECK fnz_status fnzi_dense_as(fnzi_ints *s, fnzi_arena *arena, const fnz_geometry *like,
                                        fnz_dtype dtype, const fnz_geometry **out);
/* A copy of a tensor as eager makes it: without gaps, in the tensor's order of strides. */
FNZ_MUST_CHECK fnz_status fnzi_copy_as(fnzi_ints *s, fnzi_arena *arena, const fnz_geometry *like,
                                       fnz_dtype dtype, const fnz_geometry **out);
/* The geometry at offset 0 and without lazy bits: random numbers come in the order of the strides
 * that are written by, which leave each where it would be in `like`. Maybe `like` itself. */
FNZ_MUST_CHECK fnz_status fnzi_strided_like(fnzi_arena *arena, const fnz_geometry *like,
                                            const fnz_geometry **out);
/* Row-major dense, with the dtype and sizes of `like`. */
FNZ_MUST_CHECK fnz_status fnzi_contiguous_like(fnzi_ints *s, fnzi_arena *arena,
                                               const fnz_geometry *like, const fnz_geometry **out);

#endif
