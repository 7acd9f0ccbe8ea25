/* reals.h - compares elements as real numbers. All NaN are equal, because neither sign nor payload
 * of a NaN is promised. */
#ifndef FNZI_REALS_H
#define FNZI_REALS_H

#include "program/program.h"

/* Returns whether all real numbers have the same bits or are both NaN. Returns false for dtypes
 * with no NaN or a single one: compare their bytes. */
bool fnzi_run_same_reals(fnz_dtype dtype, const unsigned char *a, const unsigned char *b,
                         size_t bytes);

#endif
