/* mlir.h - the operators of the torch dialect of MLIR (mlir.def), and their names there. */
#ifndef FNZI_FACTS_MLIR_H
#define FNZI_FACTS_MLIR_H

#include "schema/schema.h"

/* The release of IREE that the table is of. */
const char *fnzi_mlir_version(void);
/* The operator only checks a condition, which an exported program takes for granted: left out of
 * the text. */
bool fnzi_mlir_is_check(const fnz_op *op);
/* It views complex numbers as pairs, or back: nothing, where complex numbers are pairs. */
bool fnzi_mlir_is_pairs(const fnz_op *op);

#endif
