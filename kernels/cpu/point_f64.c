/* point_f64.c - pointwise operators computed in double precision. */
#include "kernels/cpu/point.h"

#include <math.h>
#include <sleef.h>

#define T                  double
#define SELF               FNZ_F64
#define REAL_TYPE          double
#define REAL_DTYPE         FNZ_F64
#define NAME               fnzi_cpu_points_f64
#define F(x)               x
#define LANES              2
#define LOAD               _mm_loadu_pd
#define STORE              _mm_storeu_pd
#define SPLAT              _mm_set1_pd
#define SLEEF(x, accuracy) Sleef_##x##d2_##accuracy
#include "kernels/cpu/point_float.h"
