/* rows.c - the row functions of this processor, and what is the same for all. */
#include "kernels/rows/rows.h"

#include <string.h>

const fnzi_rows *fnzi_rows_for(fnzi_krn_isa isa) {
#if FNZI_ISA_MOST >= 4
  if (isa == FNZI_ISA_V4)
    return &fnzi_rows_f32_v4;
#endif
#if FNZI_ISA_MOST >= 3
  if (isa == FNZI_ISA_V3)
    return &fnzi_rows_f32_v3;
#endif
  (void)isa;
  return &fnzi_rows_f32;
}

const fnzi_rows *fnzi_rows_best(void) {
  return fnzi_rows_for(fnzi_krn_isa_best());
}

typedef double four __attribute__((vector_size(32)));

double fnzi_row_total(const fnzi_row_sums *sums) {
  four part[FNZI_ROW_LANES / 4];
  memcpy(part, sums->lanes, sizeof part);
  for (int half = FNZI_ROW_LANES / 8; half > 0; half /= 2)
    for (int k = 0; k < half; k++)
      part[k] += part[k + half];
  return (part[0][0] + part[0][2]) + (part[0][1] + part[0][3]);
}
