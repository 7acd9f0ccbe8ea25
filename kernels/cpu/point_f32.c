/* point_f32.c - pointwise operators computed in single precision; also for f16 and bf16. */
#include "kernels/cpu/point.h"
#include "kernels/rows/floats.h"

#include <float.h>
#include <math.h>
#include <sleef.h>
#if FNZI_ISA >= 3
#include <immintrin.h>
#endif

#define T          float
#define BITS       int32_t
#define MOST_BITS  INT32_MAX
#define EPSILON    FLT_EPSILON
#define SELF       FNZ_F32
#define REAL_TYPE  float
#define REAL_DTYPE FNZ_F32
#define NAME       FNZI_ISA_NAME(fnzi_cpu_points_f32)
#define F(x)       x##f
#define OWN(x)     fnzi_row_floats_##x
#define CHAINS
#if FNZI_ISA == 4
#define LANES              16
#define INTRINSIC(x)       _mm512_##x##_ps
#define ROUND              _mm512_roundscale_ps
#define SLEEF(x, accuracy) Sleef_finz_##x##f16_##accuracy##avx512f
#elif FNZI_ISA == 3
#define LANES              8
#define INTRINSIC(x)       _mm256_##x##_ps
#define ROUND              _mm256_round_ps
#define SLEEF(x, accuracy) Sleef_finz_##x##f8_##accuracy##avx2
#elif defined __aarch64__
#define LANES              4
#define SLEEF(x, accuracy) Sleef_finz_##x##f4_##accuracy##advsimd
#define VECTOR             float32x4_t
#else
#define LANES              4
#define SLEEF(x, accuracy) Sleef_##x##f4_##accuracy
#define FUSED(x)           Sleef_finz_##x##f4_u10avx2128
#define UNFUSED(x)         Sleef_cinz_##x##f4_u10sse2
#endif
#if FNZI_ISA >= 3
#define HALVES_TOO
#endif
#include "kernels/cpu/point_float.h"
