/* pick.h - dense rows picked by number. */
#ifndef FNZI_CPU_PICK_H
#define FNZI_CPU_PICK_H

#include "kernels/cpu/point.h"

/* Row i of `to` is row index[i] of `from`: `bytes` that lie together; rows of `from` are `from_row`
 * bytes apart, rows of `to` follow one another. */
typedef struct fnzi_cpu_picked {
  char *to;
  const char *from;
  const int64_t *index; /* checked */
  int64_t count, bytes, from_row;
} fnzi_cpu_picked;
void fnzi_cpu_rows_gather(const fnzi_krn_call *call, const fnzi_cpu_picked *rows);

/* Dense cells: to[i] = from[index[i]]. */
void fnzi_cpu_cells_pick(size_t cell, void *to, const void *from, const int64_t *index,
                         int64_t count);

/* Elements one by one: three windows of the same sizes. An element of `self` is at a place, which
 * counts `step` bytes from where self stands, and meets one of `other`. */
typedef struct fnzi_cpu_placed {
  fnzi_krn_window self, index, other; /* index: I64 */
  int64_t step;
  int64_t size;              /* places are checked to be below it; 0: they are checked already */
  const fnzi_cpu_point *row; /* how an element joins what is there; NULL replaces it */
} fnzi_cpu_placed;
/* other = self, in any order; self = other, or their join, in row-major order. False, with elements
 * left out, if a place is outside. */
bool fnzi_cpu_places_inside(const fnzi_krn_call *call, const fnzi_krn_window *index, int64_t size);
bool fnzi_cpu_placed_read(const fnzi_krn_call *call, const fnzi_cpu_placed *p);
bool fnzi_cpu_placed_write(const fnzi_cpu_placed *p);

#endif
