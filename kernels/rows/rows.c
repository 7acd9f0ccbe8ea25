/* rows.c - the row functions and folds of this processor. */
#include "kernels/rows/folds.h"
#include "kernels/rows/rows.h"

#include <stddef.h>

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

const fnzi_folds *fnzi_folds_for(fnzi_krn_isa isa) {
  static const fnzi_folds *const all[FNZI_ISAS] = {FNZI_ISA_TABLES(&fnzi_folds_of)};
  return all[isa];
}

const fnzi_folds *fnzi_folds_best(void) {
  return fnzi_folds_for(fnzi_krn_isa_best());
}
