/* point_f64.c - pointwise operators computed in double precision. */
#include "kernels/cpu/point.h"
#include "kernels/rows/doubles.h"

#include <float.h>
#include <math.h>
#include <sleef.h>

#define T          double
#define BITS       int64_t
#define MOST_BITS  INT64_MAX
#define EPSILON    DBL_EPSILON
#define SELF       FNZ_F64
#define REAL_TYPE  double
#define REAL_DTYPE FNZ_F64
#define NAME       FNZI_ISA_NAME(fnzi_cpu_points_f64)
#define F(x)       x
#define OWN(x)     OWN_##x
#if FNZI_ISA == 4
#define LANES              8
#define INTRINSIC(x)       _mm512_##x##_pd
#define ROUND              _mm512_roundscale_pd
#define SLEEF(x, accuracy) Sleef_finz_##x##d8_##accuracy##avx512f
#elif FNZI_ISA == 3
#define LANES              4
#define INTRINSIC(x)       _mm256_##x##_pd
#define ROUND              _mm256_round_pd
#define SLEEF(x, accuracy) Sleef_finz_##x##d4_##accuracy##avx2
#elif defined __aarch64__
#define LANES              2
#define SLEEF(x, accuracy) Sleef_finz_##x##d2_##accuracy##advsimd
#define VECTOR             float64x2_t
#else
#define LANES              2
#define SLEEF(x, accuracy) Sleef_##x##d2_##accuracy
#define FUSED(x)           Sleef_finz_##x##d2_u10avx2128
#define UNFUSED(x)         Sleef_cinz_##x##d2_u10sse2
#endif
#define OWN_acos  SLEEF(acos, u10)
#define OWN_asin  SLEEF(asin, u10)
#define OWN_atan  SLEEF(atan, u10)
#define OWN_cos   SLEEF_z10(cos)
#define OWN_erf   fnzi_row_doubles_erf
#define OWN_erfc  fnzi_row_doubles_erfc
#define OWN_exp   SLEEF(exp, u10)
#define OWN_log   fnzi_row_doubles_log
#define OWN_log10 SLEEF(log10, u10)
#define OWN_log1p SLEEF(log1p, u10)
#define OWN_log2  SLEEF(log2, u10)
#define OWN_sin   SLEEF_z10(sin)
#define OWN_tan   SLEEF_z10(tan)
#define OWN_tanh  fnzi_row_doubles_tanh
#include "kernels/cpu/point_float.h"
