/* point_i64.c - pointwise operators on bool and integers: computed in 64 bits, wrapped when stored.
 * Division by zero is refused before these loops run; here it only must not trap. */
#include "kernels/cpu/point.h"

#define T          int64_t
#define SELF       FNZ_I64
#define REAL_TYPE  int64_t
#define REAL_DTYPE FNZ_I64
#include "kernels/cpu/point_rows.h"

#define VALUE static
#include "kernels/cpu/point_i64_values.h"

#define ANY     CHECKED_LOOP
#define INTEGER CHECKED_LOOP
#include "kernels/point.def"
#undef ANY
#undef INTEGER

const fnzi_cpu_point FNZI_ISA_NAME(fnzi_cpu_points_i64)[] = {
#define ANY(name, arity, out, check, value) ENTRY(name, arity, check, out)
#define INTEGER                             ANY
#include "kernels/point.def"
    END_OF_ROWS};
