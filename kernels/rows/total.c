/* total.c - sums side by side, joined: for all instruction sets the same code. */
#include "kernels/rows/rows.h"

#include <string.h>

typedef double four __attribute__((vector_size(32)));

double fnzi_row_total(const fnzi_row_sums *sums) {
  four part[FNZI_ROW_LANES / 4];
  memcpy(part, sums->lanes, sizeof part);
  for (int half = FNZI_ROW_LANES / 8; half > 0; half /= 2)
    for (int k = 0; k < half; k++)
      part[k] += part[k + half];
  return (part[0][0] + part[0][2]) + (part[0][1] + part[0][3]);
}
