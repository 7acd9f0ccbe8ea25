/* autocast.c - what autocast on the CPU casts the arguments of an operator to. */
#include "schema/facts/facts.h"

fnzi_autocast fnzi_autocast_of(const fnz_op *whole) {
  const fnz_op *op = fnzi_op_canonical(whole);
  fnzi_autocast what = FNZI_AUTOCAST_UNKNOWN;
  for (size_t k = 0; k < FNZI_FACT_ROWS && op->kind == FNZI_KIND_FUNCTIONAL; k++)
    if (what == FNZI_AUTOCAST_UNKNOWN)
      what = fnzi_fact_of(op, k)->autocast;
  if (what != FNZI_AUTOCAST_UNKNOWN)
    return what;
  return op->composite == FNZI_COMPOSITE_IMPLICIT && !op->is_view &&
                 (op->tags & (FNZI_TAG_MAYBE_ALIASING | FNZI_TAG_POINTWISE)) == 0
             ? FNZI_AUTOCAST_UNKNOWN
             : FNZI_AUTOCAST_PLAIN;
}

bool fnzi_autocast_casts(fnz_dtype dtype) {
  return dtype == FNZ_F32 || dtype == FNZ_F16 || dtype == FNZ_BF16;
}
