/* point_i32.c - see point_narrow.h. */
#include "kernels/cpu/point.h"

#define T        int32_t
#define QUOTIENT double
#define SELF     FNZ_I32
#define NAME     FNZI_ISA_NAME(fnzi_cpu_points_i32)
#include "kernels/cpu/point_narrow.h"
