/* values_help.h - what tests of values on a GPU share: a backend with the tensors that calls gave.
 */
#ifndef FNZ_TESTS_CUDA_VALUES_HELP_H
#define FNZ_TESTS_CUDA_VALUES_HELP_H

#include "tests/cuda/help.h"

#include <fnz/fnz.h>
#include <math.h>

enum { TENSORS = 48, CELLS = 4096 };

/* Tensors of one backend, in the order in which they came. */
typedef struct side {
  fnz_context *ctx;
  fnz_backend *backend;
  fnz_stack *stack;
  fnz_eager tensors[TENSORS];
  size_t count;
} side;

static inline fnz_status open_side(side *s, fnz_context *ctx, bool gpu) {
  *s = (side){.ctx = ctx};
  FNZ_TRY(gpu ? fnz_cuda_backend_create(ctx, NULL, 1, NULL, &s->backend)
              : fnz_cpu_backend_create(ctx, 1, &s->backend));
  return fnz_stack_create(ctx, s->backend, &s->stack);
}

static inline void close_side(side *s) {
  if (s->stack)
    fnz_stack_clear(s->stack);
  while (s->count)
    fnz_eager_release(s->tensors[--s->count]);
  fnz_stack_destroy(s->stack);
  fnz_backend_destroy(s->backend);
}

static inline void keep_results(side *s) {
  for (size_t i = 0; i < fnz_stack_count(s->stack); i++)
    for (size_t k = 0; k < fnz_stack_tensors(s->stack, i) && s->count < TENSORS; k++)
      s->tensors[s->count++] = fnz_stack_tensors(s->stack, i) == 1 && k == 0
                                   ? fnz_take_item(s->stack, i, 0)
                                   : fnz_take_item(s->stack, i, k);
}

static inline bool look_alike(const fnz_geometry *x, const fnz_geometry *y) {
  size_t bytes = x->rank * sizeof *x->sizes;
  return x->dtype == y->dtype && x->rank == y->rank && x->offset == y->offset &&
         x->is_conj == y->is_conj && x->is_neg == y->is_neg &&
         (!bytes ||
          (memcmp(x->sizes, y->sizes, bytes) == 0 && memcmp(x->strides, y->strides, bytes) == 0));
}

static inline fnz_status cells_of(fnz_context *ctx, fnz_eager t, unsigned char *out,
                                  size_t *bytes) {
  const fnz_geometry *g = fnz_eager_geometry(t);
  *bytes = (size_t)fnz_geometry_numel(g) * fnz_dtype_get_info(g->dtype)->bytes;
  ck_assert_uint_le(*bytes, CELLS);
  return t.backend->download(t.backend->self, ctx, t.handle, out);
}

/* Functions are CUDA's own, where there is CUDA: the only ones of the scripts make f32. */
static inline bool are_near(const side *s, size_t tensor, const unsigned char *x,
                            const unsigned char *y, size_t bytes) {
  float a, b;
  bool near = !is_standin() && fnz_eager_geometry(s->tensors[tensor])->dtype == FNZ_F32;
  for (size_t i = 0; near && i < bytes; i += sizeof a) {
    memcpy(&a, x + i, sizeof a);
    memcpy(&b, y + i, sizeof b);
    near = a == b || fabsf(a - b) <= 0x1p-21f * fabsf(a);
  }
  return near;
}

#endif
