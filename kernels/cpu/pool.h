/* pool.h - sliding windows over images whose channels are last. */
#ifndef FNZI_CPU_POOL_H
#define FNZI_CPU_POOL_H

#include "kernels/cpu/special_reals.h"

#include <math.h>

#define VALUE    static inline
#define INTEGERS const int64_t *
static inline int64_t integer_at(const int64_t *x, int64_t at) {
  return x[at];
}
#include "kernels/cpu/pool_values.h"
#undef VALUE

enum { FNZI_POOL_LONG_ROW = 16 }; /* elements: sums of shorter ones are in order */

typedef struct fnzi_cpu_pool_last {
  const pool_shape *p;
  const float *x;
  float *y;
  int64_t samples, channels;
  int64_t pitch; /* elements from pixel to pixel of x */
  bool largest;  /* else means */
} fnzi_cpu_pool_last;

/* --- pool_last.c: the bits of pool.c --------------------------------------------------------- */
/* False for means whose order is another one at the edges than inside. */
bool fnzi_cpu_pool_serves_last(const pool_shape *p);
void fnzi_cpu_pool_last_run(const fnzi_krn_call *call, const fnzi_cpu_pool_last *o);

#endif
