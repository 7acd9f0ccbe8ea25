/* random_calls.h - random calls of view operators on tensors of a given geometry. */
#ifndef FNZ_TESTS_RANDOM_CALLS_H
#define FNZ_TESTS_RANDOM_CALLS_H

#include "program/program.h"
#include "tests/choices.h"

enum { CALL_ARGS = 10, CALL_LISTS = 4, CALL_ITEMS = 64 };

/* One call. Lists lie in the call itself, so it must not be copied. What a tensor argument's
 * u.value counts is the caller's affair. */
typedef struct drawn_call {
  const char *op;
  size_t nargs, nlists;
  fnz_arg args[CALL_ARGS];
  fnz_arg items[CALL_LISTS][CALL_ITEMS];
} drawn_call;

void call_start(drawn_call *call, const char *op);
void call_add(drawn_call *call, fnz_arg arg);
void call_int(drawn_call *call, int64_t i);
void call_ints(drawn_call *call, const int64_t *ints, size_t count);

/* A view operator on a tensor; args[0] is left at its default. Most draws fit the geometry, some do
 * not. */
typedef void draw_view_fn(choices *c, const fnz_geometry *g, drawn_call *call);

typedef struct view_draw {
  const char *op;
  draw_view_fn *draw;
  bool plain; /* a row of views.def; else its aliasing depends on eager strides */
} view_draw;

extern const view_draw view_draws[];
extern const size_t view_draw_count;

/* Sizes and strides of a random tensor without self-overlap; `work` has room for 2 * FNZ_MAX_RANK.
 */
void draw_geometry(choices *c, fnz_dtype dtype, bool strided, int64_t *work, fnz_geometry *out);

#endif
