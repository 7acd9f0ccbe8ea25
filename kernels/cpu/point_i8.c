/* point_i8.c - see point_narrow.h. */
#include "kernels/cpu/point.h"

#define T        int8_t
#define QUOTIENT float
#define SELF     FNZ_I8
#define NAME     FNZI_ISA_NAME(fnzi_cpu_points_i8)
#include "kernels/cpu/point_narrow.h"
