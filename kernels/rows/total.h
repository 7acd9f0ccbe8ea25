/* total.h - sums side by side, joined: the same code in files for all instruction sets. */
#ifndef FNZI_ROWS_TOTAL_H
#define FNZI_ROWS_TOTAL_H

#include "kernels/rows/rows.h"

#include <string.h>

typedef double fnzi_row_four __attribute__((vector_size(32)));

/* Halves are added until one is left. */
static inline __attribute__((always_inline)) double fnzi_row_joined(const double *lanes) {
  fnzi_row_four part[FNZI_ROW_LANES / 4];
  memcpy(part, lanes, sizeof part);
  for (int half = FNZI_ROW_LANES / 8; half > 0; half /= 2)
    for (int k = 0; k < half; k++)
      part[k] += part[k + half];
  return (part[0][0] + part[0][2]) + (part[0][1] + part[0][3]);
}

#endif
