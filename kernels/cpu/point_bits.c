/* point_bits.c - rows of f16 and bf16 whose values are bits of their operands. */
#include "kernels/cpu/point.h"

#define HALF_BITS(name, arity, value)                                                              \
  static void run_##name(void *out, const void *const *in, int64_t count) {                        \
    const uint16_t *pa = in[0], *pb = in[(arity)-1];                                               \
    uint16_t *o = out;                                                                             \
    for (int64_t i = 0; i < count; i++) {                                                          \
      uint16_t a = pa[i], b = pb[i];                                                               \
      (void)b;                                                                                     \
      o[i] = (uint16_t)(value);                                                                    \
    }                                                                                              \
  }
#include "kernels/point.def"
#undef HALF_BITS

#define END_OF_ROWS                                                                                \
  { NULL, 0, 0, false, FNZ_BOOL, NULL, NULL, NULL }
#define HALF_BITS(name, arity, value)                                                              \
  {#name, arity, FNZI_POINT_PLAIN, false, FNZ_F16, run_##name, NULL, NULL},
const fnzi_cpu_point FNZI_ISA_NAME(fnzi_cpu_points_f16)[] = {
#include "kernels/point.def"
    END_OF_ROWS};
#undef HALF_BITS
#define HALF_BITS(name, arity, value)                                                              \
  {#name, arity, FNZI_POINT_PLAIN, false, FNZ_BF16, run_##name, NULL, NULL},
const fnzi_cpu_point FNZI_ISA_NAME(fnzi_cpu_points_bf16)[] = {
#include "kernels/point.def"
    END_OF_ROWS};
