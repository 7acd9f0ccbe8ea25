/* point_c64.c - pointwise operators on complex numbers of two single floats. */
#include "kernels/cpu/point.h"

typedef struct complex_float {
  float re, im;
} complex_float;

#define T          complex_float
#define SELF       FNZ_C64
#define REAL_TYPE  float
#define REAL_DTYPE FNZ_F32
#define NAME       fnzi_cpu_points_c64
#define F(x)       x##f
#include "kernels/cpu/point_complex.h"
