/* point_rest.h - makes the loops and the table of one element type's own formulas. The
 * includer defines T (the computing type), NAME (of the table), the row macros that it takes as
 * REST, and what their values need. */
#include "kernels/cpu/point.h"

#include <math.h>

#define REST(name, arity, value)                                                                   \
  static void run_##name(void *out, const void *const *in, int64_t count) {                        \
    const T *pa = in[0], *pb = in[(arity) > 1 ? 1 : 0], *pc = in[(arity) > 2 ? 2 : 0],             \
            *pd = in[(arity) > 3 ? 3 : 0];                                                         \
    T *o = out;                                                                                    \
    for (int64_t i = 0; i < count; i++) {                                                          \
      T a = pa[i], b = pb[i], c = pc[i], d = pd[i];                                                \
      (void)a, (void)b, (void)c, (void)d;                                                          \
      o[i] = (T)(value);                                                                           \
    }                                                                                              \
  }
#define REST_ENTRY(name, arity, value) {#name, run_##name},
