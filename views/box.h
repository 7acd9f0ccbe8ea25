/* box.h - windows that are ranges of the dimensions of a frame, where sizes may be expressions. */
#ifndef FNZI_BOX_H
#define FNZI_BOX_H

#include "program/shapes/int.h"

/* The indices that a window takes from each dimension of its frame, and where its own dimensions
 * come from. */
typedef struct fnzi_box {
  fnzi_int start[FNZ_MAX_RANK], step[FNZ_MAX_RANK], count[FNZ_MAX_RANK]; /* per frame dimension */
  int source[FNZ_MAX_RANK]; /* per dimension of the window: of the frame, or FNZI_BOX_NEW */
  bool used[FNZ_MAX_RANK];  /* a dimension of the window comes from it */
} fnzi_box;
enum { FNZI_BOX_NEW = -1 };

/* Finds the box of `window`. False where the window is no box at all sizes, or no proof was found.
 * order   the frame's dimensions of more than one element, as fnzi_int_nested() gives them */
bool fnzi_box_find(fnzi_ints *s, const fnz_geometry *frame, const fnz_geometry *window,
                   const uint32_t *order, uint32_t count, fnzi_box *out);

#endif
