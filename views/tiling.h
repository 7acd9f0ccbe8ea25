/* tiling.h - windows along one dimension of a tensor, which one cat or stack puts together.
 *
 * A scatter of a slice, or of a select, puts a *tile*. Pieces that cover the dimension need no
 * base: simplify_scatters.c finds them on the tape, pending.c before they are recorded. */
#ifndef FNZI_TILING_H
#define FNZI_TILING_H

#include "program/program.h"

/* `count` slices from `start` on. */
typedef struct fnzi_tile {
  int64_t start, count;
  uint32_t source, order; /* the caller's; of two at one place, the one of lower order counts */
} fnzi_tile;

typedef struct fnzi_tiling {
  uint32_t dim;
  int64_t size;       /* of the dimension */
  int64_t first, end; /* of it, all tiles lie in between; unless there are none */
  bool selects;       /* the tiles lack the dimension */
  struct {
    fnzi_tile *data;
    size_t count, capacity;
  } tiles;
} fnzi_tiling;

/* Dense, row-major and from the first element on: its windows are tiles as they are. */
bool fnzi_is_frame(const fnz_geometry *g);
/* The window of `frame`, such a tensor, as one more tile. Not *fits: it is none, or none of this
 * tiling. */
FNZ_MUST_CHECK fnz_status fnzi_tiling_add(fnz_context *ctx, fnzi_tiling *tiling,
                                          const fnz_geometry *frame, const fnz_geometry *window,
                                          uint32_t source, uint32_t order, bool *fits);
/* A window of the frame has a tile of its own, and that lies before all of them or behind. */
bool fnzi_tiling_is_apart(const fnzi_tiling *tiling, const fnz_geometry *frame,
                          const fnz_geometry *window);
/* Two or more of them stand one behind the other and cover everything: then they are sorted, and
 * one is left for each place. Else they are only in another order. */
bool fnzi_tiling_covers(fnzi_tiling *tiling);

#endif
