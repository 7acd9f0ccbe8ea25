/* point_u8.c - see point_narrow.h. */
#include "kernels/cpu/point.h"

#define T        uint8_t
#define QUOTIENT float
#define SELF     FNZ_U8
#define NAME     FNZI_ISA_NAME(fnzi_cpu_points_u8)
#include "kernels/cpu/point_narrow.h"
