/* point_i16.c - see point_narrow.h. */
#include "kernels/cpu/point.h"

#define T        int16_t
#define QUOTIENT float
#define SELF     FNZ_I16
#define NAME     FNZI_ISA_NAME(fnzi_cpu_points_i16)
#include "kernels/cpu/point_narrow.h"
