/* isa.c - which instruction set this processor has. */
#include "kernels/core/isa.h"

#include <stdbool.h>

/* Instructions for f16 came before AVX2. Clang 14 does not know their name. */
#ifdef __clang__
#define HAS_F16C true
#else
#define HAS_F16C __builtin_cpu_supports("f16c")
#endif

/* The compiler's runtime asks the processor once, when the library is loaded; this reads its
 * answer. */
fnzi_krn_isa fnzi_krn_isa_best(void) {
#if FNZI_ISA_MOST >= 4
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return FNZI_ISA_V4;
#endif
#if FNZI_ISA_MOST >= 3
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && HAS_F16C)
    return FNZI_ISA_V3;
#endif
  return FNZI_ISA_BASE;
}
