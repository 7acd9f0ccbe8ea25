/* rows.c - the row functions of this processor. */
#include "kernels/rows/rows.h"

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
