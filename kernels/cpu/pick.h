/* pick.h - dense rows picked by number. */
#ifndef FNZI_CPU_PICK_H
#define FNZI_CPU_PICK_H

#include "kernels/cpu/cpu.h"

/* Row i of `to` is row index[i] of `from`: `bytes` that lie together; rows of `from` are `from_row`
 * bytes apart, rows of `to` follow one another. */
typedef struct fnzi_cpu_picked {
  char *to;
  const char *from;
  const int64_t *index; /* checked */
  int64_t count, bytes, from_row;
} fnzi_cpu_picked;
void fnzi_cpu_rows_gather(const fnzi_krn_call *call, const fnzi_cpu_picked *rows);

#endif
