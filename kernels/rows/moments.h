/* moments.h - the mean and the squares of a row; rows_f32.c includes this behind its registers and
 * its sums. */
#ifndef FNZI_ROWS_MOMENTS_H
#define FNZI_ROWS_MOMENTS_H

enum { BLOCK = 16 * FNZI_ROW_LANES, PIECE = 16 * BLOCK }; /* whose sums are formed in f32 */

/* The sum of a piece in f32, of two runs of FNZI_ROW_LANES after the other. */
INLINE float rough_sum(const float *x, int64_t count) {
  vec even[PARTS], odd[PARTS], rest[PARTS];
  int64_t i = 0, run = FNZI_ROW_LANES;
  for (int p = 0; p < PARTS; p++)
    even[p] = odd[p] = splat(0);
  for (; i + 2 * run <= count; i += 2 * run)
    for (int p = 0; p < PARTS; p++) {
      even[p] += load(x + i + p * WIDTH);
      odd[p] += load(x + i + run + p * WIDTH);
    }
  for (; i < count; i += run) {
    if (count - i < run)
      load_rest(rest, x + i, count - i, 0);
    else
      load_all(rest, x + i, PARTS);
    for (int p = 0; p < PARTS; p++)
      even[p] += rest[p];
  }
  for (int p = 0; p < PARTS; p++)
    even[p] += odd[p];
  return join_parts(even);
}

static double rough_mean(const float *x, int64_t count) {
  double sum = 0;
  for (int64_t at = 0; at < count; at += PIECE)
    sum += (double)rough_sum(x + at, count - at < PIECE ? count - at : PIECE);
  return sum / (double)count;
}

/* Adds x - from and its square over one block, by FNZI_ROW_LANES. */
INLINE void add_block(sums *sum, sums *squares, float from, const float *x, int64_t count) {
  vec s[PARTS], q[PARTS];
  for (int p = 0; p < PARTS; p++)
    s[p] = q[p] = splat(0);
  for (int64_t i = 0; i < count; i += FNZI_ROW_LANES)
    for (int p = 0; p < PARTS; p++) {
      vec d = load(x + i + p * WIDTH) - from;
      s[p] += d;
      q[p] += d * d;
    }
  add_wide(sum, s);
  add_wide(squares, q);
}

/* The same over a row; sets both sums. */
INLINE void add_blocks(sums *sum, sums *squares, float from, const float *x, int64_t count) {
  int64_t full = count - count % FNZI_ROW_LANES;
  for (int p = 0; p < 2 * PARTS; p++)
    sum->part[p] = squares->part[p] = (wide){0};
  for (int64_t i = 0; i < full; i += BLOCK)
    add_block(sum, squares, from, x + i, full - i < BLOCK ? full - i : BLOCK);
  if (full == count)
    return;
  vec d[PARTS], q[PARTS];
  load_rest(d, x + full, count - full, from);
  for (int p = 0; p < PARTS; p++)
    d[p] -= from, q[p] = d[p] * d[p];
  add_wide(sum, d);
  add_wide(squares, q);
}

static void wide_moments(const float *x, int64_t count, bool centered, fnzi_row_moments *out) {
  fnzi_row_sums sum = {{0}}, squares = {{0}};
  if (centered) {
    row_sum(&sum, x, 0, 1, count);
    out->mean = fnzi_row_total(&sum) / (double)count;
  }
  row_squares(&squares, out->mean, x, count);
  out->squares = fnzi_row_total(&squares);
}

/* A rough mean is near enough to take differences from; their sum corrects both. If f32 is too
 * narrow it is done again in double. */
static void row_moments(const float *x, int64_t count, bool centered, fnzi_row_moments *out) {
  sums sum, squares;
  double n = (double)count, least = n / (most_rstd * most_rstd);
  float from = centered ? (float)rough_mean(x, count) : 0;
  *out = (fnzi_row_moments){0, 0};
  add_blocks(&sum, &squares, from, x, count);
  double rest = centered ? total_of(&sum) / n : 0;
  out->mean = (double)from + rest;
  out->squares = total_of(&squares) - n * rest * rest;
  if (!(out->squares > least && out->squares < n / (least_rstd * least_rstd))) {
    *out = (fnzi_row_moments){0, 0};
    wide_moments(x, count, centered, out);
  }
}

/* Sums of columns. */
static void row_add(double *to, const float *x, int64_t count) {
  int64_t i = 0;
  for (wide sum; i + HALF <= count; i += HALF) {
    memcpy(&sum, to + i, sizeof sum);
    sum += load_wide(x + i);
    memcpy(to + i, &sum, sizeof sum);
  }
  for (; i < count; i++)
    to[i] += (double)x[i];
}

static void row_add_squares(double *to, const float *x, int64_t count) {
  int64_t i = 0;
  for (wide sum; i + HALF <= count; i += HALF) {
    const wide v = load_wide(x + i);
    memcpy(&sum, to + i, sizeof sum);
    sum += v * v;
    memcpy(to + i, &sum, sizeof sum);
  }
  for (; i < count; i++)
    to[i] += (double)x[i] * (double)x[i];
}

#endif
