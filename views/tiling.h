/* tiling.h - windows along one dimension of a tensor, which one cat or stack puts together.
 *
 * A scatter of a slice, or of a select, puts a *piece*. Pieces that cover the dimension need no
 * base: simplify_scatters.c finds them on the tape, pending.c before they are recorded. */
#ifndef FNZI_TILING_H
#define FNZI_TILING_H

#include "program/program.h"

/* `count` slices from `start` on. */
typedef struct fnzi_piece {
  int64_t start, count;
  uint32_t source, order; /* the caller's; of two at one place, the one of lower order counts */
} fnzi_piece;

typedef struct fnzi_run {
  uint32_t dim;
  int64_t size;       /* of the dimension */
  int64_t first, end; /* of it, all pieces lie in between; unless there are none */
  bool selects;       /* the pieces lack the dimension */
  struct {
    fnzi_piece *data;
    size_t count, capacity;
  } pieces;
} fnzi_run;

/* Dense, row-major and from the first element on: its windows are pieces as they are. */
bool fnzi_is_frame(const fnz_geometry *g);
/* The window of `frame`, such a tensor, as one more piece. Not *fits: it is none, or none of this
 * run. */
FNZ_MUST_CHECK fnz_status fnzi_run_add(fnz_context *ctx, fnzi_run *run, const fnz_geometry *frame,
                                       const fnz_geometry *window, uint32_t source, uint32_t order,
                                       bool *fits);
/* A window of the frame has a piece of its own, and that lies before all of them or behind. */
bool fnzi_run_is_apart(const fnzi_run *run, const fnz_geometry *frame, const fnz_geometry *window);
/* Two or more of them stand one behind the other and cover everything: then they are sorted, and
 * one is left for each place. Else they are only in another order. */
bool fnzi_run_covers(fnzi_run *run);

#endif
