/* float8.h - the floats of eight bits: bits to numbers, and numbers rounded to nearest even. */
#ifndef FNZI_FLOAT8_H
#define FNZI_FLOAT8_H

#include "program/program.h"

/* Those that convert; f8e8m0fnu has neither sign nor zero and does not. */
bool fnzi_krn_is_float8(fnz_dtype dtype);

float fnzi_krn_from_float8(fnz_dtype dtype, uint8_t bits);
/* What is too large becomes infinite where there is such a number, else the largest one in
 * f8e4m3fn, as since PyTorch 2.15, and no number in those on "uz". */
uint8_t fnzi_krn_to_float8(fnz_dtype dtype, float v);

#endif
