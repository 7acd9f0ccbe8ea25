/* point_f32.c - pointwise operators computed in single precision; also for f16 and bf16. */
#include "kernels/cpu/point.h"
#include "kernels/rows/floats.h"

#include <math.h>
#include <sleef.h>

/* fmodf() bit by bit, which is exact: the quotient is cut off as it should be below 2^29, as
 * doubles have so many places more, and all steps after it are exact. */
static inline float remainder_of(float a, float b) {
  double quotient = (double)a / (double)b;
  if (!(fabs(quotient) < 0x1p29 && fabsf(b) < INFINITY))
    return fmodf(a, b);
  return copysignf((float)((double)a - (double)(int32_t)quotient * (double)b), a);
}
#define fmodf remainder_of

/* Without a branch, for conditions that are hard to foresee. */
static inline float either(bool is_first, float x, float y) {
  uint32_t a, b, mask = 0 - (uint32_t)is_first;
  memcpy(&a, &x, sizeof a), memcpy(&b, &y, sizeof b);
  a = (a & mask) | (b & ~mask);
  memcpy(&x, &a, sizeof x);
  return x;
}
#define EITHER either

#define T          float
#define BITS       int32_t
#define MOST_BITS  INT32_MAX
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
#include "kernels/cpu/point_float.h"
