/* rule.h - what the rules of view operators share: the call of a forward, the call of a reverse.
 */
#ifndef FNZI_RULE_H
#define FNZI_RULE_H

#include "views/emit.h"
#include "program/shapes/int.h"
#include "views/views.h"

/* A forward: from the geometry of the base to the geometries of the windows. */
typedef struct fnzi_forward {
  fnz_context *ctx;
  fnzi_arena *arena;
  fnzi_ints *ints;
  const fnz_op *op;
  const fnz_arg *args;
  size_t nargs;
  const fnz_geometry *base;
  fnz_geometry *out; /* `count` of them */
  size_t count;
  bool is_run; /* every run makes the call */
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

/* How often a window shows an element of its base (views.def). */
typedef enum fnzi_view_shows { FNZI_SHOWS_ONCE, FNZI_SHOWS_OFTEN } fnzi_view_shows;

/* The part of its base that a window shows (views.def). */
typedef enum fnzi_view_sees { FNZI_SEES_ELEMENTS, FNZI_SEES_BYTES } fnzi_view_sees;

struct fnzi_view {
  const char *op;
  fnzi_view_forward_fn *forward;
  fnzi_view_reverse_fn *reverse;
  const char *forward_name, *reverse_name;
  fnzi_view_base base;
  fnzi_view_shows shows;
  fnzi_view_sees sees;
  fnzi_emit_op through;
};

#define VIEW(op, forward, reverse, base, shows, sees, through)                                     \
  fnzi_view_forward_fn fnzi_##forward##_forward;                                                   \
  fnzi_view_reverse_fn fnzi_##reverse##_reverse;
#include "views/views.def"
#undef VIEW

/* `a` is at least `b` wherever the call works. */
static inline void fnzi_forward_expect(const fnzi_forward *w, fnzi_int a, fnzi_int b) {
  if (w->is_run)
    fnzi_int_assume_at_least(w->ints, a, b);
}

/* --- Arguments of the view operator ----------------------------------------------------------- */
static inline fnz_arg fnzi_forward_arg(const fnzi_forward *w, size_t i) {
  return fnzi_arg_get(w->op, w->args, w->nargs, i);
}
/* An integer argument; TYPE when it is anything else. */
FNZ_MUST_CHECK fnz_status fnzi_forward_int(const fnzi_forward *w, size_t i, fnzi_int *out);
/* An integer argument, or `otherwise` when it is None. */
FNZ_MUST_CHECK fnz_status fnzi_forward_int_or(const fnzi_forward *w, size_t i, fnzi_int otherwise,
                                              fnzi_int *out);
/* A list of integers, in the arena. */
FNZ_MUST_CHECK fnz_status fnzi_forward_ints(const fnzi_forward *w, size_t i, fnzi_int **out,
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
                                             fnzi_int **sizes, fnzi_int **strides);
/* The same for a window of the base's dimensions, except those whose bit is in `without`, and then
 * `more` that the caller fills in. */
FNZ_MUST_CHECK fnz_status fnzi_forward_keep_dims(fnzi_forward *w, size_t k, uint64_t without,
                                                 uint32_t more, fnzi_int **sizes,
                                                 fnzi_int **strides);
/* The only window: a copy of the base, to be changed. */
FNZ_MUST_CHECK fnz_status fnzi_forward_like_base(fnzi_forward *w, fnzi_int **sizes,
                                                 fnzi_int **strides);

/* The window starts `count` steps of `stride` later. */
static inline void fnzi_view_move_on(fnzi_ints *s, fnz_geometry *window, fnzi_int count,
                                     fnzi_int stride) {
  window->offset = fnzi_int_add(s, fnzi_int_offset(window), fnzi_int_mul(s, count, stride)).bits;
}

/* The forward of a reverse's own call on `base`. */
static inline fnzi_forward fnzi_reverse_forward(const fnzi_reverse *r, const fnz_geometry *base) {
  return (fnzi_forward){.ctx = r->emit->ctx,
                        .arena = r->emit->arena,
                        .ints = r->emit->ints,
                        .op = r->op,
                        .args = r->args,
                        .nargs = r->nargs,
                        .base = base};
}

/* --- Reverses --------------------------------------------------------------------------------- */
/* Emits an operator whose result takes the place of the base. */
FNZ_MUST_CHECK fnz_status fnzi_emit_base(const fnzi_reverse *r, fnzi_emit_op op,
                                         const fnz_arg *args, size_t nargs, fnzi_emitted *out);

#endif
