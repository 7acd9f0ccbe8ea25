/* rule.h - what the rules of view operators share: the call of a forward, the call of a reverse.
 */
#ifndef FNZI_RULE_H
#define FNZI_RULE_H

#include "views/emit.h"
#include "views/views.h"

/* A forward: from the geometry of the base to the geometries of the windows. */
typedef struct fnzi_forward {
  fnz_context *ctx;
  fnzi_arena *arena;
  const fnz_op *op;
  const fnz_arg *args;
  size_t nargs;
  const fnz_geometry *base;
  fnz_geometry *out; /* `count` of them */
  size_t count;
} fnzi_forward;

typedef fnz_status fnzi_view_forward_fn(fnzi_forward *w);

/* A reverse: from the old base and the changed window to the new base. */
typedef struct fnzi_reverse {
  const fnzi_emitter *emit;
  const fnz_op *op;
  const fnz_arg *args;
  size_t nargs;
  size_t index;             /* which window of a split */
  const fnz_geometry *base; /* never NULL */
  fnzi_emitted base_value;  /* the old base; only for rows that need it */
  fnzi_emitted window;
} fnzi_reverse;

typedef fnz_status fnzi_view_reverse_fn(const fnzi_reverse *r, fnzi_emitted *out);

/* The input that the reverse needs for the new base (views.def). */
typedef enum fnzi_view_base { FNZI_BASE_NEW, FNZI_BASE_OLD, FNZI_BASE_STORAGE } fnzi_view_base;

/* The part of its base that a window shows (views.def). */
typedef enum fnzi_view_sees { FNZI_SEES_ELEMENTS, FNZI_SEES_BYTES } fnzi_view_sees;

struct fnzi_view {
  const char *op;
  fnzi_view_forward_fn *forward;
  fnzi_view_reverse_fn *reverse;
  const char *forward_name, *reverse_name;
  fnzi_view_base base;
  fnzi_view_sees sees;
  fnzi_emit_op through;
};

#define VIEW(op, forward, reverse, base, sees, through)                                            \
  fnzi_view_forward_fn fnzi_##forward##_forward;                                                   \
  fnzi_view_reverse_fn fnzi_##reverse##_reverse;
#include "views/views.def"
#undef VIEW

/* --- Arguments of the view operator ----------------------------------------------------------- */
static inline fnz_arg fnzi_forward_arg(const fnzi_forward *w, size_t i) {
  return fnzi_arg_get(w->op, w->args, w->nargs, i);
}
/* An integer argument; TYPE when it is anything else. */
FNZ_MUST_CHECK fnz_status fnzi_forward_int(const fnzi_forward *w, size_t i, int64_t *out);
/* An integer argument, or `otherwise` when it is None. */
FNZ_MUST_CHECK fnz_status fnzi_forward_int_or(const fnzi_forward *w, size_t i, int64_t otherwise,
                                              int64_t *out);
/* A list of integers, in the arena. */
FNZ_MUST_CHECK fnz_status fnzi_forward_ints(const fnzi_forward *w, size_t i, int64_t **out,
                                            size_t *count);
/* A dimension argument, wrapped into [0, rank). */
FNZ_MUST_CHECK fnz_status fnzi_forward_dim(const fnzi_forward *w, size_t i, uint32_t rank,
                                           uint32_t *out);

/* --- Results ---------------------------------------------------------------------------------- */
/* Makes room for `count` windows. */
FNZ_MUST_CHECK fnz_status fnzi_forward_open(fnzi_forward *w, size_t count);
/* Window k gets the dtype, offset and bits of the base and room for `rank` sizes and strides, which
 * the caller fills through the two pointers. */
FNZ_MUST_CHECK fnz_status fnzi_forward_shape(fnzi_forward *w, size_t k, uint32_t rank,
                                             int64_t **sizes, int64_t **strides);
/* The same for a window of the base's dimensions, except those whose bit is in `without`, and then
 * `more` that the caller fills in. */
FNZ_MUST_CHECK fnz_status fnzi_forward_keep_dims(fnzi_forward *w, size_t k, uint64_t without,
                                                 uint32_t more, int64_t **sizes, int64_t **strides);
/* The only window: a copy of the base, to be changed. */
FNZ_MUST_CHECK fnz_status fnzi_forward_like_base(fnzi_forward *w, int64_t **sizes,
                                                 int64_t **strides);

/* Strides and offsets that no element uses may have any value in a file. If an element uses them,
 * its memory has been checked to fit 63 bits; otherwise the result only must not be negative.
 */
static inline int64_t fnzi_view_add(int64_t a, int64_t b) {
  return (int64_t)(((uint64_t)a + (uint64_t)b) & INT64_MAX);
}
static inline int64_t fnzi_view_mul(int64_t a, int64_t b) {
  return (int64_t)(((uint64_t)a * (uint64_t)b) & INT64_MAX);
}
/* Is `whole` a * b? No stride is a product that leaves 64 bits. */
static inline bool fnzi_view_is_product(int64_t whole, int64_t a, int64_t b) {
  int64_t product;
  return fnzi_mul_i64(a, b, &product) && whole == product;
}
/* The window starts `count` steps of `stride` later. */
static inline void fnzi_view_move_on(fnz_geometry *window, int64_t count, int64_t stride) {
  window->offset = fnzi_view_add(window->offset, fnzi_view_mul(count, stride));
}

/* --- Reverses --------------------------------------------------------------------------------- */
/* Emits an operator whose result takes the place of the base. */
FNZ_MUST_CHECK fnz_status fnzi_emit_base(const fnzi_reverse *r, fnzi_emit_op op,
                                         const fnz_arg *args, size_t nargs, fnzi_emitted *out);

#endif
