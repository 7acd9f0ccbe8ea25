/* sizing.c - operators whose floats decide sizes. */
#include "schema/facts/facts.h"

bool fnzi_op_is_sizing(const fnz_op *op) {
  return FNZI_FACT_HOLDS(op, sizing);
}
