/* views.h - operators whose result is a window into their argument's memory.
 *
 * views.def has one row per view operator; each family file holds, side by side, how the window is
 * computed (forward) and how a changed window goes back into its base (reverse). composites.def has
 * the operators that are a view, the argument itself or a copy, depending on eager geometry. */
#ifndef FNZI_VIEWS_H
#define FNZI_VIEWS_H

#include "program/program.h"

typedef struct fnzi_view fnzi_view; /* a row of views.def */

/* The row of a view operator (select.int), of its copying twin (select_copy.int) or of its in-place
 * form (squeeze_.dim); NULL when op is none of these. */
const fnzi_view *fnzi_view_find(const fnz_op *op);

/* The windows that a view operator opens: geometries in the storage of `base`.
 * args   of the operator; the tensor at position 0 is not looked at.
 * arena  holds the results.
 * out    *count geometries (several for split, unbind ...).
 * Fails with BOUNDS and what is wrong. */
FNZ_MUST_CHECK fnz_status fnzi_view_forward(fnzi_arena *arena, const fnzi_view *view,
                                            const fnz_op *op, const fnz_arg *args, size_t nargs,
                                            const fnz_geometry *base, fnz_geometry **out,
                                            size_t *count);

#endif
