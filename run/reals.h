/* reals.h - elements as real numbers, whose NaN are all the same: of a NaN neither sign nor payload
 * is promised. */
#ifndef FNZI_REALS_H
#define FNZI_REALS_H

#include "program/program.h"

/* Real number by real number, the same bits or both NaN; false of types that have no NaN, or one.
 */
bool fnzi_run_same_reals(fnz_dtype dtype, const unsigned char *a, const unsigned char *b,
                         size_t bytes);

#endif
