/* point_f32.c - pointwise operators computed in single precision; also for f16 and bf16. */
#include "kernels/cpu/point.h"

#include <math.h>
#include <sleef.h>

#define T                  float
#define SELF               FNZ_F32
#define REAL_TYPE          float
#define REAL_DTYPE         FNZ_F32
#define NAME               fnzi_cpu_points_f32
#define F(x)               x##f
#define LANES              4
#define LOAD               _mm_loadu_ps
#define STORE              _mm_storeu_ps
#define SPLAT              _mm_set1_ps
#define SLEEF(x, accuracy) Sleef_##x##f4_##accuracy
#include "kernels/cpu/point_float.h"
