/* calls.h - random calls of view operators on tensors of a given geometry. */
#ifndef FNZI_SOAK_CALLS_H
#define FNZI_SOAK_CALLS_H

#include "program/program.h"
#include "soak/choices.h"

enum { FNZI_CALL_ARGS = 10, FNZI_CALL_LISTS = 4, FNZI_CALL_ITEMS = FNZ_MAX_RANK + 8 };

/* One call. Lists lie in the call itself, so it must not be copied. The caller decides what a
 * tensor argument's u.value counts. */
typedef struct fnzi_drawn_call {
  const char *op;
  size_t nargs, nlists;
  fnz_arg args[FNZI_CALL_ARGS];
  fnz_arg items[FNZI_CALL_LISTS][FNZI_CALL_ITEMS];
} fnzi_drawn_call;

void fnzi_call_start(fnzi_drawn_call *call, const char *op);
void fnzi_call_add(fnzi_drawn_call *call, fnz_arg arg);
void fnzi_call_int(fnzi_drawn_call *call, int64_t i);
void fnzi_call_ints(fnzi_drawn_call *call, const int64_t *ints, size_t count);

/* A view operator on a tensor; args[0] is left at its default. Most draws fit the geometry, some do
 * not. */
typedef void fnzi_draw_view_fn(choices *c, const fnz_geometry *g, fnzi_drawn_call *call);

typedef struct fnzi_view_draw {
  const char *op;
  fnzi_draw_view_fn *draw;
  bool plain; /* a row of views.def; else its aliasing depends on eager strides */
} fnzi_view_draw;

extern const fnzi_view_draw fnzi_view_draws[];
extern const size_t fnzi_view_draw_count;

/* Sizes and strides of a random tensor that shows no element twice; `work` has room for 2 *
 * FNZ_MAX_RANK. */
void fnzi_draw_geometry(choices *c, fnz_dtype dtype, bool strided, int64_t *work,
                        fnz_geometry *out);

/* Strides with which the tensor shows some elements several times: a dimension is expanded.
 * `strides` are the strides of the geometry. */
void fnzi_draw_overlap(choices *c, const fnz_geometry *g, int64_t *strides);

#endif
