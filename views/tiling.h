/* tiling.h - windows along one dimension of a tensor, which one cat or stack puts together.
 *
 * A scatter of a slice, or of a select, writes a *tile*. Tiles that cover the dimension need no
 * base: simplify_scatters.c finds them on the tape, pending.c before they are recorded. */
#ifndef FNZI_TILING_H
#define FNZI_TILING_H

#include "program/shapes/int.h"

/* `count` slices from `start` on. */
typedef struct fnzi_tile {
  int64_t start, count;
  uint32_t source, order; /* the caller's; of two at one location, the lower order counts */
} fnzi_tile;

typedef struct fnzi_tiling {
  fnzi_ints *ints; /* of the windows' sizes; NULL where all are fixed */
  uint32_t dim;
  int64_t size;       /* of the dimension */
  int64_t first, end; /* the range of it in which all tiles lie; unset without tiles */
  bool selects;       /* the tiles lack the dimension */
  struct {
    fnzi_tile *data;
    size_t count, capacity;
  } tiles;
} fnzi_tiling;

/* A dense row-major geometry without an offset, at all sizes: a window of it is a tile of a value.
 * `s` is NULL if sizes are numbers. */
bool fnzi_int_is_frame(fnzi_ints *s, const fnz_geometry *g);
/* Adds the window of such a frame as a tile, with source and order of `tile`. Not *fits: it is
 * none, or along another dimension. Sizes of other dimensions may be expressions. */
FNZ_MUST_CHECK fnz_status fnzi_tiling_add(fnz_context *ctx, fnzi_tiling *tiling,
                                          const fnz_geometry *frame, const fnz_geometry *window,
                                          fnzi_tile tile, bool *fits);
/* The window is a tile before or after all tiles of this tiling. */
bool fnzi_tiling_is_apart(const fnzi_tiling *tiling, const fnz_geometry *frame,
                          const fnz_geometry *window);
/* Two or more tiles cover the dimension without gaps: then they are sorted, and one is left for
 * each location. Else only their order changes. */
bool fnzi_tiling_covers(fnzi_tiling *tiling);

#endif
