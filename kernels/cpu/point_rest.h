/* point_rest.h - makes the loops and the table of one element type's own formulas. The
 * includer defines T (the computing type), NAME (of the table), the row macros that it takes as
 * REST, and what their values need. */
#include "kernels/cpu/point.h"

#include <math.h>

#define REST_LOOP(name, arity, value)                                                              \
  static void name(void *out, const void *const *in, int64_t count) {                              \
    const T *pa = in[0], *pb = in[(arity) > 1 ? 1 : 0], *pc = in[(arity) > 2 ? 2 : 0],             \
            *pd = in[(arity) > 3 ? 3 : 0];                                                         \
    T *o = out;                                                                                    \
    for (int64_t i = 0; i < count; i++) {                                                          \
      T a = pa[i], b = pb[i], c = pc[i], d = pd[i];                                                \
      (void)a, (void)b, (void)c, (void)d;                                                          \
      o[i] = (T)(value);                                                                           \
    }                                                                                              \
  }
#define REST(name, arity, value)       REST_LOOP(run_##name, arity, value)
#define REST_ENTRY(name, arity, value) {#name, run_##name},
/* Logarithms by the row of f32, whose last place rounding to a half leaves out. */
static void take_logs(float *x, int64_t count) {
  const fnzi_cpu_point *row = FNZI_ISA_NAME(fnzi_cpu_points_f32);
  const void *in[] = {x};
  while (strcmp(row->name, "log") != 0)
    row++;
  row->run(x, in, count);
}

#define REST_LOG_ROW(name, arity, value)                                                           \
  REST_LOOP(inner_##name, arity, value)                                                            \
  static void run_##name(void *out, const void *const *in, int64_t count) {                        \
    inner_##name(out, in, count);                                                                  \
    take_logs(out, count);                                                                         \
  }
