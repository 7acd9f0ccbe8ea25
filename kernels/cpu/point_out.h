/* point_out.h - what comes out of a row: types and dtypes by its column. The includer defines T
 * (the computing type), SELF (its dtype), REAL_TYPE and REAL_DTYPE. */
/* Casting a structure to itself is not C, so its class defines this without. */
#ifndef RESULT
#define RESULT(type, value) ((type)(value))
#endif

#define OUT_TYPE_SAME  T
#define OUT_TYPE_KEPT  T
#define OUT_TYPE_BOOL  uint8_t
#define OUT_TYPE_REAL  REAL_TYPE
#define OUT_DTYPE_SAME SELF
#define OUT_DTYPE_KEPT SELF
#define OUT_DTYPE_BOOL FNZ_BOOL
#define OUT_DTYPE_REAL REAL_DTYPE
