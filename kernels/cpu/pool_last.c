/* pool_last.c - the largest or the mean of sliding windows over images whose channels are last:
 * channels side by side, each in the order of pool.c. */
#include "kernels/cpu/pool.h"
#include "kernels/cpu/sizes.h"
#include "kernels/rows/rows.h"

enum { BESIDE = 64 }; /* channels of a job */

/* A window over some channels of a sample. */
typedef struct job {
  const fnzi_cpu_pool_last *o;
  const float *x; /* of the sample, the first of the channels */
  float *y;
  int64_t count;
  pool_window w;
} job;

static const float *cell_of(const job *j, int64_t a, int64_t b, int64_t c) {
  return j->x + pool_cell(j->o->p, a, b, c) * j->o->pitch;
}

static void find_largest(const job *j) {
  fnzi_row_windows windows = pool_windows(j->o->p, &j->w, j->x, j->o->pitch);
  windows.step = 1, windows.count = j->count; /* the channels' */
  fnzi_rows_best()->greatest(&windows, j->y);
}

/* Each row of a window adds its element c to lane c, as pool.c does by rows' sums. */
static void find_mean(const job *j) {
  const pool_window *w = &j->w;
  double lanes[FNZI_ROW_LANES][BESIDE], divisor = pool_divisor(j->o->p, w);
  int64_t length = w->last[2] - w->first[2];
  bool is_long = length >= FNZI_POOL_LONG_ROW;
  memset(lanes, 0, (is_long ? FNZI_ROW_LANES : 1) * sizeof *lanes);
  for (int64_t a = w->first[0]; a < w->last[0]; a++)
    for (int64_t b = w->first[1]; b < w->last[1]; b++)
      for (int64_t c = 0; c < length; c++)
        fnzi_rows_best()->add(lanes[is_long ? c % FNZI_ROW_LANES : 0],
                              cell_of(j, a, b, w->first[2] + c), j->count);
  for (int64_t k = 0; k < j->count; k++) {
    fnzi_row_sums sums;
    for (int i = 0; is_long && i < FNZI_ROW_LANES; i++)
      sums.lanes[i] = lanes[i][k];
    j->y[k] =
        (float)(pool_is_empty(w) ? 0 : (is_long ? fnzi_row_total(&sums) : lanes[0][k]) / divisor);
  }
}

/* --- Jobs -------------------------------------------------------------------------------- */
static int64_t pool_last_blocks_of(const fnzi_cpu_pool_last *o) {
  return fnzi_cpu_parts(o->channels, BESIDE);
}

/* One row of the result, some channels of it. */
static void pool_last_row(const void *user, int64_t at, int lane) {
  const fnzi_cpu_pool_last *o = user;
  const pool_shape *p = o->p;
  int64_t blocks = pool_last_blocks_of(o), rows = p->out[0] * p->out[1];
  int64_t first = at % blocks * BESIDE, row = at / blocks;
  int64_t place[3] = {row % rows / p->out[1], row % p->out[1], 0};
  job j = {.o = o, .count = fnzi_cpu_least(o->channels - first, BESIDE)};
  (void)lane;
  j.x = o->x + row / rows * p->in_volume * o->pitch + first;
  for (; place[2] < p->out[2]; place[2]++) {
    j.y = o->y + (row * p->out[2] + place[2]) * o->channels + first;
    pool_window_at(p, place, &j.w);
    if (o->largest)
      find_largest(&j);
    else
      find_mean(&j);
  }
}

void fnzi_cpu_pool_last_run(const fnzi_krn_call *call, const fnzi_cpu_pool_last *o) {
  int64_t rows = o->samples * o->p->out[0] * o->p->out[1] * pool_last_blocks_of(o);
  fnzi_cpu_rows_spread(call, rows, rows ? o->samples * o->p->in_volume * o->channels / rows : 0,
                       pool_last_row, o);
}

bool fnzi_cpu_pool_serves_last(const pool_shape *p) {
  return p->adaptive || p->kernel[2] < FNZI_POOL_LONG_ROW;
}
