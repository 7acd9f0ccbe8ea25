/* isa.c - which instruction set this processor has. */
#include "kernels/core/isa.h"

/* The compiler's runtime asks the processor once, when the library is loaded; this reads its
 * answer. */
fnzi_krn_isa fnzi_krn_isa_best(void) {
#if FNZI_ISA_MOST >= 4
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
    return FNZI_ISA_V4;
#endif
#if FNZI_ISA_MOST >= 3
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    return FNZI_ISA_V3;
#endif
  return FNZI_ISA_BASE;
}
