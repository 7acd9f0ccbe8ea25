/* mlir.h - which operators the torch dialect of MLIR has (mlir.def), and what it calls them. */
#ifndef FNZI_FACTS_MLIR_H
#define FNZI_FACTS_MLIR_H

#include "schema/schema.h"

/* The release of IREE that the table is of. */
const char *fnzi_mlir_version(void);
/* It computes nothing but whether something holds, which a program that was exported takes for
 * granted: left out of the text. */
bool fnzi_mlir_is_check(const fnz_op *op);
/* It views complex numbers as pairs, or back: nothing, where complex numbers are pairs. */
bool fnzi_mlir_is_pairs(const fnz_op *op);

#endif
