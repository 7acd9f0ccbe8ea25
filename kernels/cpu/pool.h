/* pool.h - sliding windows over images whose channels are last. */
#ifndef FNZI_CPU_POOL_H
#define FNZI_CPU_POOL_H

#include "kernels/cpu/special_reals.h"
#include "kernels/rows/rows.h"

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

/* Windows from `w` on, in a plane at `x` of cells of `pitch` floats. The caller says how many there
 * are. */
static inline fnzi_row_windows pool_windows(const pool_shape *p, const pool_window *w,
                                            const float *x, int64_t pitch) {
  const int64_t cells[3] = {p->in[1] * p->in[2], p->in[2], 1};
  fnzi_row_windows r = {.x = x};
  for (int i = 0; i < 3; i++) {
    for (int64_t at = w->first[i]; at < w->last[i]; at += w->step[i])
      r.sizes[i]++;
    r.x += w->first[i] * cells[i] * pitch;
    r.strides[i] = w->step[i] * cells[i] * pitch;
  }
  return r;
}

/* --- pool_last.c: the bits of pool.c --------------------------------------------------------- */
/* False for means whose order is another one at the edges than inside. */
bool fnzi_cpu_pool_serves_last(const pool_shape *p);
void fnzi_cpu_pool_last_run(const fnzi_krn_call *call, const fnzi_cpu_pool_last *o);

#endif
