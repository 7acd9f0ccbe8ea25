/* point_narrow.h - integer rows in a type of fewer bits than 64, which wraps as what is stored
 * does. The includer defines T, SELF, NAME and
 * QUOTIENT. pointwise.c says which rows are right so. */
#define REAL_TYPE  T
#define REAL_DTYPE SELF
#include "kernels/cpu/point_rows.h"

#define WORD          int32_t
#define UNSIGNED_WORD uint32_t
#define VALUE         static inline
#include "kernels/cpu/point_i64_values.h"

#define ANY     CHECKED_LOOP
#define INTEGER CHECKED_LOOP
#include "kernels/point.def"
#undef ANY
#undef INTEGER

const fnzi_cpu_point NAME[] = {
#define ANY(name, arity, out, check, value) ENTRY(name, arity, check, out)
#define INTEGER                             ANY
#include "kernels/point.def"
    END_OF_ROWS};
