/* float8.h - the floats of eight bits: bits to numbers, and numbers rounded to nearest even. */
#ifndef FNZI_FLOAT8_H
#define FNZI_FLOAT8_H

#include "program/program.h"

/* The dtype is a float of eight bits that converts; f8e8m0fnu, without sign and zero, does not. */
bool fnzi_krn_is_float8(fnz_dtype dtype);

float fnzi_krn_from_float8(fnz_dtype dtype, uint8_t bits);
/* A number that is too large becomes infinite if the dtype has infinities, the largest number in
 * f8e4m3fn, as since PyTorch 2.15, and NaN in dtypes on "uz". */
uint8_t fnzi_krn_to_float8(fnz_dtype dtype, float v);

#endif
