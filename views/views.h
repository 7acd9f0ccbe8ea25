/* views.h - operators whose result is a window into their argument's memory.
 *
 * views.def has one row per view operator; each family file has, side by side, the geometry of the
 * window (forward) and the new base after a write to the window (reverse). path.c finds the
 * shortest path from one window to another; oracle.c decides which windows share memory.
 * composites.h has the operators that are a view, the argument itself or a copy, depending on eager
 * geometry. */
#ifndef FNZI_VIEWS_H
#define FNZI_VIEWS_H

#include "program/program.h"
#include "views/emit.h"
#include "program/shapes/int.h"

typedef struct fnzi_view fnzi_view; /* a row of views.def */

/* The row of a view operator (select.int), of its copying twin (select_copy.int) or of its in-place
 * form (squeeze_.dim); NULL when op is none of these. Looks through the table: keep the answer. */
const fnzi_view *fnzi_view_find(const fnz_op *op);

/* The operator's arguments count from the first element of the storage, not of the base:
 * as_strided.
 */
bool fnzi_view_counts_from_storage(const fnzi_view *view);

/* If no two places of the base are one element, nor are two places of a window. */
bool fnzi_view_shows_once(const fnzi_view *view);

/* Its windows have other elements than the base: of another dtype, parts of them, conjugates. */
bool fnzi_view_sees_bytes(const fnzi_view *view);

/* The view through which a scatter writes: select.int for select_scatter, whose arguments are the
 * base, the new window, and the arguments of the view. NULL when op is no scatter. Looks through
 * the table.
 */
const fnz_op *fnzi_view_scattered(const fnz_op *op);

/* The columns of a row, in words. */
typedef struct fnzi_view_facts {
  const char *forward, *reverse; /* names of the rules */
  bool needs_base;               /* the reverse needs the old base */
  const fnz_op *through; /* emitted by the reverse; NULL: the window's value is the base's */
} fnzi_view_facts;
fnzi_view_facts fnzi_view_describe(const fnzi_view *view);

/* The windows that a view operator opens: geometries in the storage of `base`.
 * call   the tensor at position 0 is not looked at.
 * in     its arena holds the results.
 * out    *count geometries (several for split, unbind ...).
 * Fails with BOUNDS and a reason; OVERFLOW where an element would lie beyond 61 bits. */
FNZ_MUST_CHECK fnz_status fnzi_view_forward(fnzi_int_space in, const fnzi_view *view,
                                            const fnzi_op_call *call, const fnz_geometry *base,
                                            fnz_geometry **out, size_t *count);

/* The same of a call that every run makes: it works, so its indices lie within their dimensions,
 * which become facts. */
FNZ_MUST_CHECK fnz_status fnzi_view_forward_run(fnzi_int_space in, const fnzi_view *view,
                                                const fnzi_op_call *call, const fnz_geometry *base,
                                                fnz_geometry **out, size_t *count);

/* LIMIT when the operator gives a list of more tensors than a node may have (limits.results). */
FNZ_MUST_CHECK fnz_status fnzi_view_results_check(fnz_context *ctx, const fnz_op *op, size_t count);

/* --- One window, opened from its base --------------------------------------------------------- */
typedef struct fnzi_view_step {
  const fnzi_view *view;
  fnzi_op_call call; /* args[0], the base, is not looked at */
  uint32_t index;    /* which window, where the operator opens several */
  const fnz_geometry *base, *window;
} fnzi_view_step;

/* The reverse of the step needs the old value of its base. */
bool fnzi_view_step_needs_base(const fnzi_view_step *step);
/* The new value of the base after the window got a new value. */
FNZ_MUST_CHECK fnz_status fnzi_view_step_reverse(const fnzi_emitter *emit,
                                                 const fnzi_view_step *step, fnzi_emitted base,
                                                 fnzi_emitted window, fnzi_emitted *out);

/* --- From one window to a smaller one (path.c) ------------------------------------------------ */
enum { FNZI_MAX_STEPS = 2 * FNZ_MAX_RANK + 4 };

/* In the arena, which grows with the path: on the stack the longest path would be 7 kB. */
typedef struct fnzi_path {
  fnzi_view_step *steps;
  size_t count, capacity;
} fnzi_path;

/* The steps select, slice, permute, unsqueeze and expand that lead from one window of a storage to
 * another, at most one per dimension and kind, by geometry alone. *found is false when
 * the second window is not made of whole ranges of the first one's dimensions. A range of one
 * element has step 1. */
FNZ_MUST_CHECK fnz_status fnzi_path_box(fnzi_int_space in, const fnz_geometry *from,
                                        const fnz_geometry *to, fnzi_path *path, bool *found);
/* The path over the flat memory: the root in memory order, as one dimension, under the right dtype,
 * and one as_strided. Exists when the root fills its memory (else *found is false). */
FNZ_MUST_CHECK fnz_status fnzi_path_flat(fnzi_int_space in, const fnz_geometry *root,
                                         const fnz_geometry *to, fnzi_path *path, bool *found);

/* The path of one as_strided: as above where the root fills its memory, else over the row-major
 * value of a root with gaps, where the window is made of whole ranges of its dimensions. */
FNZ_MUST_CHECK fnz_status fnzi_path_strided(fnzi_int_space in, const fnz_geometry *root,
                                            const fnz_geometry *to, fnzi_path *path, bool *found);

/* --- Which windows share memory (oracle.c) ---------------------------------------------------- */
typedef enum fnzi_relation {
  FNZI_DISJOINT,
  FNZI_EQUAL,    /* the same set of bytes */
  FNZI_CONTAINS, /* the first has all bytes of the second, and more */
  FNZI_INSIDE,   /* the other way round */
  FNZI_OVERLAPS, /* some bytes in common, each has others */
  FNZI_UNKNOWN   /* not decided within the work allowed: treat as overlapping */
} fnzi_relation;

/* Two windows of one storage. `frame` is the geometry of the storage's root, or NULL: answers are
 * exact for boxes of its dimensions, and for everything whose bytes, the span from first to last,
 * are at most `work`. */
fnzi_relation fnzi_oracle_relate(fnzi_ints *s, const fnz_geometry *a, const fnz_geometry *b,
                                 const fnz_geometry *frame, int64_t work);
enum { FNZI_LITTLE_WORK = 2048, FNZI_MUCH_WORK = 1 << 14 };

/* Some element is shown twice. FNZI_DISJOINT: no; FNZI_OVERLAPS: yes; FNZI_UNKNOWN. */
FNZI_SHARED fnzi_relation fnzi_oracle_relate_self(fnzi_ints *s, const fnz_geometry *g,
                                                  int64_t work);

#endif
