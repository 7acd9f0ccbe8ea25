/* point_c128.c - pointwise operators on complex numbers of two double floats. */
#include "kernels/cpu/point.h"

typedef struct complex_double {
  double re, im;
} complex_double;

#define T          complex_double
#define SELF       FNZ_C128
#define REAL_TYPE  double
#define REAL_DTYPE FNZ_F64
#define NAME       fnzi_cpu_points_c128
#define F(x)       x
#include "kernels/cpu/point_complex.h"
