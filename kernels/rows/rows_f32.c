/* rows_f32.c - the row functions of f32, compiled for each instruction set.
 *
 * Everything here is static except the table, and nothing is included that other units take from a
 * linker: code that is compiled for one processor must not run on another one. */
#include "kernels/core/isa.h"
#include "kernels/rows/floats.h"
#include "kernels/rows/rows.h"
#include "kernels/rows/total.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif
#include <stddef.h>
#include <string.h>

/* Floats of a register, and a tile of a product, as registers allow. */
#if FNZI_ISA == 4
enum { WIDTH = 16, TILE_ROWS = 4, TILE_COLUMNS = 4 };
#define MAX_OF _mm512_max_ps
#elif FNZI_ISA == 3
enum { WIDTH = 8, TILE_ROWS = 2, TILE_COLUMNS = 3 };
#define MAX_OF _mm256_max_ps
#else
enum { WIDTH = 4, TILE_ROWS = 1, TILE_COLUMNS = 2 };
#ifdef __SSE2__
#define MAX_OF _mm_max_ps
#else
#define MAX_OF larger
#endif
#endif

enum { PARTS = FNZI_ROW_LANES / WIDTH, HALF = WIDTH / 2 };

typedef fnzi_row_floats vec;
typedef int32_t mask __attribute__((vector_size(4 * WIDTH)));
typedef uint32_t bits __attribute__((vector_size(4 * WIDTH)));
typedef uint16_t halves __attribute__((vector_size(2 * WIDTH)));
typedef double wide __attribute__((vector_size(4 * WIDTH))); /* HALF doubles */
typedef float narrow __attribute__((vector_size(2 * WIDTH)));

#define INLINE static inline __attribute__((always_inline))

INLINE vec load(const float *x) {
  vec v;
  memcpy(&v, x, sizeof v);
  return v;
}
INLINE void store(float *y, vec v) {
  memcpy(y, &v, sizeof v);
}
/* Register by register: memcpy() of several copies halves of them, and a register that is loaded
 * from what two stores have just written waits until both are in the cache. */
INLINE void load_all(vec *v, const float *x, int count) {
  for (int p = 0; p < count; p++)
    v[p] = load(x + p * WIDTH);
}
INLINE void store_all(float *y, const vec *v, int count) {
  for (int p = 0; p < count; p++)
    store(y + p * WIDTH, v[p]);
}
#ifndef __SSE2__
/* The second, where one is no number or both are 0, as _mm_max_ps. */
INLINE vec larger(vec a, vec b) {
  mask is_first = a > b;
  return (vec)(((mask)a & is_first) | ((mask)b & ~is_first));
}
#endif
INLINE vec splat(float x) {
  return x - (vec){0};
}
/* The compiler's own conversions between vectors of these types go by way of memory. */
INLINE wide widened(narrow v) {
#if FNZI_ISA == 4
  return _mm512_cvtps_pd(v);
#elif FNZI_ISA == 3
  return _mm256_cvtps_pd(v);
#else
  return __builtin_convertvector(v, wide);
#endif
}
INLINE wide load_wide(const float *x) {
  narrow v;
  memcpy(&v, x, sizeof v);
  return widened(v);
}
INLINE wide low_wide(vec v) {
#if FNZI_ISA == 4
  return widened(_mm512_castps512_ps256(v));
#elif FNZI_ISA == 3
  return widened(_mm256_castps256_ps128(v));
#else
  return load_wide((const float *)&v);
#endif
}
INLINE wide high_wide(vec v) {
#if FNZI_ISA == 4
  return widened(_mm512_extractf32x8_ps(v, 1));
#elif FNZI_ISA == 3
  return widened(_mm256_extractf128_ps(v, 1));
#else
  return load_wide((const float *)&v + HALF);
#endif
}
INLINE void store_wide(float *y, wide v) {
#if FNZI_ISA == 4
  narrow n = _mm512_cvtpd_ps(v);
#elif FNZI_ISA == 3
  narrow n = _mm256_cvtpd_ps(v);
#else
  narrow n = __builtin_convertvector(v, narrow);
#endif
  memcpy(y, &n, sizeof n);
}

/* The sum of a register's floats: its halves are added until one is left. */
#ifdef __SSE2__
INLINE float fold4(__m128 q) {
  q = _mm_add_ps(q, _mm_movehl_ps(q, q));
  return _mm_cvtss_f32(_mm_add_ss(q, _mm_shuffle_ps(q, q, 1)));
}
#else
INLINE float fold4(vec q) {
  return (q[0] + q[2]) + (q[1] + q[3]);
}
#endif
#if FNZI_ISA >= 3
INLINE __m128 four_of_8(__m256 h) {
  return _mm_add_ps(_mm256_castps256_ps128(h), _mm256_extractf128_ps(h, 1));
}
#endif
#if FNZI_ISA == 4
INLINE __m128 four_of_16(vec x) {
  return four_of_8(_mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1)));
}
/* The sums of four registers, each as fold() adds. */
INLINE __m128 fold_each(vec a, vec b, vec c, vec d) {
  const __m128 p = four_of_16(a), q = four_of_16(b), r = four_of_16(c), s = four_of_16(d);
  const __m128 pq = _mm_add_ps(_mm_movelh_ps(p, q), _mm_movehl_ps(q, p));
  const __m128 rs = _mm_add_ps(_mm_movelh_ps(r, s), _mm_movehl_ps(s, r));
  return _mm_add_ps(_mm_shuffle_ps(pq, rs, 0x88), _mm_shuffle_ps(pq, rs, 0xdd));
}
#endif
INLINE float fold(vec x) {
#if FNZI_ISA == 4
  return fold4(four_of_16(x));
#elif FNZI_ISA == 3
  return fold4(four_of_8(x));
#else
  return fold4(x);
#endif
}

INLINE float join_parts(const vec *sum) {
  if (PARTS == 1)
    return fold(sum[0]);
  if (PARTS == 2)
    return fold(sum[0] + sum[1]);
  return fold((sum[0] + sum[2 % PARTS]) + (sum[1] + sum[3 % PARTS]));
}

/* --- Sums side by side ------------------------------------------------------------------- */
typedef struct sums {
  wide part[2 * PARTS];
} sums;

INLINE sums open_sums(const fnzi_row_sums *state) {
  sums s;
  memcpy(&s, state->lanes, sizeof s);
  return s;
}
INLINE void close_sums(fnzi_row_sums *state, const sums *s) {
  memcpy(state->lanes, s, sizeof *s);
}

INLINE double total_of(const sums *s) {
  double lanes[FNZI_ROW_LANES];
  memcpy(lanes, s, sizeof lanes);
  return fnzi_row_joined(lanes);
}

INLINE void add_wide(sums *s, const vec *v) {
  for (int p = 0; p < PARTS; p++) {
    s->part[2 * p] += low_wide(v[p]);
    s->part[2 * p + 1] += high_wide(v[p]);
  }
}

/* The rest of a piece, filled up to FNZI_ROW_LANES, and back. Scalars that have just been written
 * would keep the load of a register waiting. */
INLINE void load_rest(vec *v, const float *x, int64_t rest, float with) {
#if FNZI_ISA == 4
  v[0] = _mm512_mask_loadu_ps(splat(with), (__mmask16)((1u << rest) - 1), x);
#else
  float room[FNZI_ROW_LANES];
  for (int i = 0; i < FNZI_ROW_LANES; i++)
    room[i] = i < rest ? x[i] : with;
  load_all(v, room, PARTS);
#endif
}
INLINE void store_rest(float *y, const vec *v, int64_t rest) {
#if FNZI_ISA == 4
  _mm512_mask_storeu_ps(y, (__mmask16)((1u << rest) - 1), v[0]);
#else
  float room[FNZI_ROW_LANES];
  store_all(room, v, PARTS);
  for (int i = 0; i < rest; i++)
    y[i] = room[i];
#endif
}
/* Zeros behind the rest. */
INLINE void clear_behind(vec *v, int64_t rest) {
  mask place;
  for (int i = 0; i < WIDTH; i++)
    place[i] = i;
  for (int p = 0; p < PARTS; p++)
    v[p] = (vec)((mask)v[p] & (place + p * WIDTH < (int32_t)rest));
}

/* In the rest of a piece, element k goes into sum k: zeros for the others change no sum. */
static void row_sum(fnzi_row_sums *state, const float *x, int64_t stride, int64_t pieces,
                    int64_t count) {
  int64_t rest = count % FNZI_ROW_LANES, full = count - rest;
  sums s = open_sums(state);
  vec v[PARTS];
  for (; pieces > 0; pieces--, x += stride) {
    for (int64_t i = 0; i < full; i += FNZI_ROW_LANES)
      for (int p = 0; p < 2 * PARTS; p++)
        s.part[p] += load_wide(x + i + p * HALF);
    if (rest) {
      load_rest(v, x + full, rest, 0);
      add_wide(&s, v);
    }
  }
  close_sums(state, &s);
}

static void row_squares(fnzi_row_sums *state, double center, const float *x, int64_t count) {
  sums s = open_sums(state);
  int64_t full = count - count % FNZI_ROW_LANES;
  for (int64_t i = 0; center == 0 && i < full; i += FNZI_ROW_LANES)
    for (int p = 0; p < 2 * PARTS; p++) {
      wide x_p = load_wide(x + i + p * HALF);
      s.part[p] += x_p * x_p;
    }
  for (int64_t i = 0; center != 0 && i < full; i += FNZI_ROW_LANES)
    for (int p = 0; p < 2 * PARTS; p++) {
      wide d = load_wide(x + i + p * HALF) - center;
      s.part[p] += d * d;
    }
  close_sums(state, &s);
  for (int64_t i = full; i < count; i++)
    state->lanes[i - full] += ((double)x[i] - center) * ((double)x[i] - center);
}

static void row_rounded_squares(fnzi_row_sums *state, float center, const float *x, int64_t count) {
  int64_t full = count - count % FNZI_ROW_LANES;
  if (full) {
    sums s = open_sums(state);
    vec squares[PARTS];
    for (int64_t i = 0; i < full; i += FNZI_ROW_LANES) {
      for (int p = 0; p < PARTS; p++) {
        vec d = load(x + i + p * WIDTH) - center;
        squares[p] = d * d;
      }
      add_wide(&s, squares);
    }
    close_sums(state, &s);
  }
  for (int64_t i = full; i < count; i++) {
    float d = x[i] - center;
    state->lanes[i - full] += (double)(d * d);
  }
}

/* --- Extremes, exponentials, scaling ---------------------------------------------------------- */
static void row_max(fnzi_row_most *state, const float *x, int64_t count) {
  vec most[PARTS];
  mask nan[PARTS];
  float lanes[FNZI_ROW_LANES];
  int32_t found[FNZI_ROW_LANES];
  int64_t full = count - count % FNZI_ROW_LANES;
  for (int p = 0; p < PARTS; p++)
    most[p] = splat(state->most), nan[p] = (mask){0};
  for (int64_t i = 0; i < full; i += FNZI_ROW_LANES)
    for (int p = 0; p < PARTS; p++) {
      vec v = load(x + i + p * WIDTH);
      most[p] = MAX_OF(v, most[p]); /* the second, where v is no number */
      nan[p] |= v != v;
    }
  memcpy(lanes, most, sizeof lanes);
  memcpy(found, nan, sizeof found);
  for (int k = 0; k < FNZI_ROW_LANES; k++) {
    state->most = lanes[k] > state->most ? lanes[k] : state->most;
    state->has_nan = state->has_nan || found[k];
  }
  for (int64_t i = full; i < count; i++) {
    state->most = x[i] > state->most ? x[i] : state->most;
    state->has_nan = state->has_nan || x[i] != x[i];
  }
}

/* x[0], x[2], x[4] ... and nothing beyond the last one is read. */
INLINE vec load_every_second(const float *x) {
  vec a = load(x), b = load(x + WIDTH - 1);
#if FNZI_ISA == 4
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 8, 10, 12, 14, 17, 19, 21, 23, 25, 27, 29, 31);
#elif FNZI_ISA == 3
  return __builtin_shufflevector(a, b, 0, 2, 4, 6, 9, 11, 13, 15);
#else
  return __builtin_shufflevector(a, b, 0, 2, 5, 7);
#endif
}

/* Some windows from the one on that has its first element at `x`: `vectors` registers of them. */
INLINE void greatest_block(const fnzi_row_windows *w, const float *x, float *most, int vectors) {
  enum { MOST_VECTORS = 4 };
  vec m[MOST_VECTORS], v;
  for (int k = 0; k < vectors; k++)
    m[k] = (vec){0} - INFINITY;
  for (int64_t a = 0; a < w->sizes[0]; a++)
    for (int64_t b = 0; b < w->sizes[1]; b++)
      for (int64_t c = 0; c < w->sizes[2]; c++) {
        const float *from = x + a * w->strides[0] + b * w->strides[1] + c * w->strides[2];
        for (int k = 0; k < vectors; k++) {
          v = w->step == 1 ? load(from + k * WIDTH) : load_every_second(from + k * 2 * WIDTH);
          m[k] = floats_choose((v > m[k]) | (v != v), v, m[k]);
        }
      }
  store_all(most, m, vectors);
}

static float greatest_in(const fnzi_row_windows *w, const float *x) {
  float most = -INFINITY;
  for (int64_t a = 0; a < w->sizes[0]; a++)
    for (int64_t b = 0; b < w->sizes[1]; b++)
      for (int64_t c = 0; c < w->sizes[2]; c++) {
        float v = x[a * w->strides[0] + b * w->strides[1] + c * w->strides[2]];
        most = v > most || v != v ? v : most;
      }
  return most;
}

/* The last register may have some of the one before it again, which changes nothing. */
static void row_greatest(const fnzi_row_windows *w, float *most) {
  int64_t i = 0;
  if (w->count < WIDTH || w->step > 2) {
    for (; i < w->count; i++)
      most[i] = greatest_in(w, w->x + i * w->step);
    return;
  }
  for (; i + 4 * WIDTH <= w->count; i += 4 * WIDTH)
    greatest_block(w, w->x + i * w->step, most + i, 4);
  for (; i < w->count; i += WIDTH) {
    i = i + WIDTH < w->count ? i : w->count - WIDTH;
    greatest_block(w, w->x + i * w->step, most + i, 1);
  }
}

static void rows_f32_row_exp(fnzi_row_sums *state, float most, const float *x, float *y,
                             int64_t count) {
  sums s = open_sums(state);
  vec found[PARTS];
  int64_t full = count - count % FNZI_ROW_LANES;
  for (int64_t i = 0; i < full; i += FNZI_ROW_LANES) {
    for (int p = 0; p < PARTS; p++) {
      found[p] = fnzi_row_floats_exp(load(x + i + p * WIDTH) - most);
      store(y + i + p * WIDTH, found[p]);
    }
    add_wide(&s, found);
  }
  if (full < count) {
    load_rest(found, x + full, count - full, most);
    for (int p = 0; p < PARTS; p++)
      found[p] = fnzi_row_floats_exp(found[p] - most);
    store_rest(y + full, found, count - full);
    clear_behind(found, count - full);
    add_wide(&s, found);
  }
  close_sums(state, &s);
}

static void rows_f32_row_divide(float by, const float *x, float *y, int64_t count) {
  int64_t i = 0;
  for (; i + WIDTH <= count; i += WIDTH)
    store(y + i, load(x + i) / by);
  for (; i < count; i++)
    y[i] = x[i] / by;
}

static void row_scale(double scale, double shift, const float *x, float *y, int64_t count) {
  int64_t i = 0;
  for (; i + HALF <= count; i += HALF)
    store_wide(y + i, load_wide(x + i) * scale + shift);
  for (; i < count; i++)
    y[i] = (float)((double)x[i] * scale + shift);
}

static void row_fused(float scale, float shift, const float *x, float *y, int64_t count) {
  const vec by = splat(scale), added = splat(shift);
  int64_t i = 0;
  for (; i + WIDTH <= count; i += WIDTH)
    store(y + i, floats_fused(load(x + i), by, added));
  if (i == count)
    return;
  float room[WIDTH] = {0};
  memcpy(room, x + i, (size_t)(count - i) * sizeof *x);
  store(room, floats_fused(load(room), by, added));
  memcpy(y + i, room, (size_t)(count - i) * sizeof *y);
}

INLINE void normalise_wide(const fnzi_row_norm *n, const float *x, float *y, int64_t count) {
  const double mean = n->mean, rstd = n->rstd;
  const float *weight = n->weight, *bias = n->bias;
  int64_t i = 0;
  for (; i + HALF <= count; i += HALF) {
    wide v = (load_wide(x + i) - mean) * rstd;
    if (weight)
      v *= load_wide(weight + i);
    if (bias)
      v += load_wide(bias + i);
    store_wide(y + i, v);
  }
  for (; i < count; i++) {
    double v = ((double)x[i] - mean) * rstd;
    v = weight ? v * (double)weight[i] : v;
    y[i] = (float)(bias ? v + (double)bias[i] : v);
  }
}

/* In f32: what `high` leaves of the mean is `low`, so the difference is as good as in double. */
INLINE void normalise_as(const fnzi_row_norm *n, const float *weight, const float *bias,
                         const float *x, float *y, int64_t count) {
  float high = (float)n->mean, low = (float)(n->mean - (double)high), factor = (float)n->rstd;
  int64_t i = 0;
  for (; i + WIDTH <= count; i += WIDTH) {
    vec v = (load(x + i) - high - low) * factor;
    v = weight ? v * load(weight + i) : v;
    store(y + i, bias ? v + load(bias + i) : v);
  }
  for (; i < count; i++) {
    float v = (x[i] - high - low) * factor;
    v = weight ? v * weight[i] : v;
    y[i] = bias ? v + bias[i] : v;
  }
}

/* Between these, neither differences nor their squares leave f32. */
static const double least_rstd = 1e-15, most_rstd = 1e15;

static void row_normalise(const fnzi_row_norm *n, const float *x, float *y, int64_t count) {
  if (!(n->rstd > least_rstd && n->rstd < most_rstd))
    normalise_wide(n, x, y, count);
  else if (n->weight && n->bias)
    normalise_as(n, n->weight, n->bias, x, y, count);
  else if (n->weight)
    normalise_as(n, n->weight, NULL, x, y, count);
  else
    normalise_as(n, NULL, n->bias, x, y, count);
}

/* --- Cascades ---------------------------------------------------------------------------- */
enum { COLUMN_PARTS = FNZI_ROW_COLUMNS / WIDTH };

/* Row `row` has filled a block: sums move up as far as blocks are full. */
static void flush(fnzi_row_cascade *c, int64_t row, int power) {
  int64_t low = ((int64_t)1 << power) - 1;
  for (int level = 1; level < FNZI_ROW_LEVELS; level++) {
    for (int k = 0; k < FNZI_ROW_COLUMNS; k += WIDTH) {
      float *to = c->levels[level] + k, *from = c->levels[level - 1] + k;
      store(to, load(to) + load(from));
      store(from, splat(0));
    }
    if (row & (low << (level * power)))
      return;
  }
}

static void row_cascade(fnzi_row_cascade *state, int power, const float *x, int64_t stride,
                        int64_t first, int64_t count) {
  int64_t step = (int64_t)1 << power;
  for (int64_t i = 0; i < count;) {
    int64_t end = i + step <= count ? i + step : count;
    bool is_full = end - i == step;
    vec sum[COLUMN_PARTS];
    load_all(sum, state->levels[0], COLUMN_PARTS);
    for (; i < end; i++)
      for (int p = 0; p < COLUMN_PARTS; p++)
        sum[p] += load(x + i * stride + p * WIDTH);
    store_all(state->levels[0], sum, COLUMN_PARTS);
    if (is_full)
      flush(state, first + i, power);
  }
}

/* Eager's eight lanes, four times side by side. */
enum { EAGER = 8, BESIDE = FNZI_ROW_COLUMNS / EAGER };
typedef float eager_lanes __attribute__((vector_size(4 * EAGER)));

INLINE void add_eager(eager_lanes *sum, const float *x) {
  eager_lanes v;
  memcpy(&v, x, sizeof v);
  *sum += v;
}

INLINE void add_columns(const float *x, int64_t rows, int power, vec *sum) {
  fnzi_row_cascade c;
  for (int p = 0; p < COLUMN_PARTS; p++)
    sum[p] = splat(0);
  for (int level = 0; level < FNZI_ROW_LEVELS; level++)
    store_all(c.levels[level], sum, COLUMN_PARTS);
  row_cascade(&c, power, x, FNZI_ROW_COLUMNS, 0, rows);
  load_all(sum, c.levels[0], COLUMN_PARTS);
  for (int p = 0; p < COLUMN_PARTS; p++)
    for (int level = 1; level < FNZI_ROW_LEVELS; level++)
      sum[p] += load(c.levels[level] + p * WIDTH);
}

/* Fewer rows than a block: no level but the first. */
INLINE void add_few_columns(const float *x, int64_t rows, vec *sum) {
  for (int p = 0; p < COLUMN_PARTS; p++)
    sum[p] = splat(0);
  for (int64_t i = 0; i < rows; i++)
    for (int p = 0; p < COLUMN_PARTS; p++)
      sum[p] += load(x + i * FNZI_ROW_COLUMNS + p * WIDTH);
}

static float row_total(const float *x, int64_t count, int power) {
  int64_t rows = count / FNZI_ROW_COLUMNS, chunks = count / EAGER;
  float columns[FNZI_ROW_COLUMNS], sum = 0;
  vec part[COLUMN_PARTS];
  eager_lanes lanes;
  if (rows < (int64_t)1 << power)
    add_few_columns(x, rows, part);
  else
    add_columns(x, rows, power, part);
  store_all(columns, part, COLUMN_PARTS);
  memcpy(&lanes, columns, sizeof lanes);
  for (int64_t i = rows * BESIDE; i < chunks; i++)
    add_eager(&lanes, x + i * EAGER);
  for (int k = 1; k < BESIDE; k++)
    add_eager(&lanes, columns + k * EAGER);
  for (int64_t i = chunks * EAGER; i < count; i++)
    sum += x[i];
  for (int k = 0; k < EAGER; k++)
    sum += lanes[k];
  return sum;
}

/* --- Cascades of rows side by side --------------------------------------------------------- */
/* A vector has WIDTH rows; its cascade is that of row_total(), column by column. */
typedef vec levels_beside[FNZI_ROW_LEVELS][FNZI_ROW_COLUMNS];

INLINE void flush_beside(levels_beside sum, int64_t row, int power) {
  int64_t low = ((int64_t)1 << power) - 1;
  for (int level = 1; level < FNZI_ROW_LEVELS; level++) {
    for (int k = 0; k < FNZI_ROW_COLUMNS; k++) {
      sum[level][k] += sum[level - 1][k];
      sum[level - 1][k] = splat(0);
    }
    if (row & (low << (level * power)))
      return;
  }
}

INLINE void add_levels_beside(levels_beside sum, const float *x, int64_t stride, int64_t rows,
                              int power) {
  int64_t low = ((int64_t)1 << power) - 1;
  for (int level = 0; level < FNZI_ROW_LEVELS; level++)
    for (int k = 0; k < FNZI_ROW_COLUMNS; k++)
      sum[level][k] = splat(0);
  for (int64_t i = 0; i < rows; i++) {
    for (int k = 0; k < FNZI_ROW_COLUMNS; k++)
      sum[0][k] += load(x + (i * FNZI_ROW_COLUMNS + k) * stride);
    if (((i + 1) & low) == 0)
      flush_beside(sum, i + 1, power);
  }
  for (int k = 0; k < FNZI_ROW_COLUMNS; k++)
    for (int level = 1; level < FNZI_ROW_LEVELS; level++)
      sum[0][k] += sum[level][k];
}

INLINE vec total_beside(const float *x, int64_t stride, int64_t count, int power) {
  int64_t rows = count / FNZI_ROW_COLUMNS, chunks = count / EAGER;
  levels_beside levels;
  vec *lanes = levels[0], sum = splat(0);
  add_levels_beside(levels, x, stride, rows, power);
  for (int64_t i = rows * BESIDE * EAGER; i < chunks * EAGER; i++)
    lanes[i % EAGER] += load(x + i * stride);
  for (int k = EAGER; k < FNZI_ROW_COLUMNS; k++)
    lanes[k % EAGER] += lanes[k];
  for (int64_t i = chunks * EAGER; i < count; i++)
    sum += load(x + i * stride);
  for (int k = 0; k < EAGER; k++)
    sum += lanes[k];
  return sum;
}

static void row_totals(const float *x, int64_t stride, int64_t count, int power, float *out) {
  for (int k = 0; k < FNZI_ROW_BESIDE; k += WIDTH)
    store(out + k, total_beside(x + k, stride, count, power));
}

/* Eight doubles at a time, in as many vectors as that takes. */
static void row_normals(float mean, float deviation, float *x, int64_t count) {
  enum { PAIRS = FNZI_ROW_NORMALS / 2 };
  for (; count >= FNZI_ROW_NORMALS; count -= FNZI_ROW_NORMALS, x += FNZI_ROW_NORMALS) {
    double left[PAIRS], angle[PAIRS], sine[PAIRS], cosine[PAIRS];
    for (int i = 0; i < PAIRS; i++) {
      left[i] = (double)(1.0f - x[i]);
      angle[i] = (double)(6.28318530717958647692f * x[i + PAIRS]);
    }
    for (int i = 0; i < PAIRS; i += FNZI_ROW_FLOATS / 2) {
      fnzi_row_doubles u, angles, s, c;
      memcpy(&u, left + i, sizeof u), memcpy(&angles, angle + i, sizeof angles);
      u = doubles_log(u, (fnzi_row_longs){0});
      doubles_sine_cosine(angles, &s, &c);
      memcpy(left + i, &u, sizeof u);
      memcpy(sine + i, &s, sizeof s), memcpy(cosine + i, &c, sizeof c);
    }
    for (int i = 0; i < PAIRS; i++) {
      const float radius = sqrtf(-2.0f * (float)left[i]);
      x[i] = fmaf(radius * (float)cosine[i], deviation, mean);
      x[i + PAIRS] = fmaf(radius * (float)sine[i], deviation, mean);
    }
  }
}

/* The processor does not know where a row is before its number is read. */
INLINE void read_row_ahead(const fnzi_row_bag *b, int64_t i) {
  enum { AHEAD = 8, LINE = 64 / sizeof(float), MOST = 16 * LINE };
  int64_t width = b->width < MOST ? b->width : MOST;
  for (int64_t k = 0; i + AHEAD < b->count + b->ahead && k < width; k += LINE)
    __builtin_prefetch(b->table + b->index[i + AHEAD] * b->width + k);
}

/* `vectors` of columns from column k on, which stay in registers. */
INLINE void add_rows(const fnzi_row_bag *b, float *to, int64_t k, const int vectors) {
  vec sum[4];
  for (int v = 0; v < vectors; v++)
    sum[v] = splat(0);
  for (int64_t i = 0; i < b->count; i++) {
    if (k == 0)
      read_row_ahead(b, i);
    if (b->index[i] == b->padding)
      continue;
    for (int v = 0; v < vectors; v++)
      sum[v] += load(b->table + b->index[i] * b->width + k + v * WIDTH);
  }
  store_all(to + k, sum, vectors);
}

static void row_bag(const fnzi_row_bag *b, float *to) {
  int64_t k = 0;
  for (; k + 4 * WIDTH <= b->width; k += 4 * WIDTH)
    add_rows(b, to, k, 4);
  for (; k + WIDTH <= b->width; k += WIDTH)
    add_rows(b, to, k, 1);
  for (; k < b->width; k++) {
    to[k] = 0;
    for (int64_t i = 0; i < b->count; i++)
      if (b->index[i] != b->padding)
        to[k] += b->table[b->index[i] * b->width + k];
  }
}

#include "kernels/rows/moments.h"
#include "kernels/rows/products.h"
#include "kernels/rows/panels.h"

const fnzi_rows FNZI_ISA_NAME(fnzi_rows_f32) = {row_max,
                                                rows_f32_row_exp,
                                                rows_f32_row_divide,
                                                row_sum,
                                                row_squares,
                                                row_rounded_squares,
                                                row_scale,
                                                row_fused,
                                                row_normalise,
                                                row_cascade,
                                                {dots_f32, dots_bf16, dots_f16, dots_i8},
                                                {steps_f32, steps_bf16, steps_f16, steps_i8},
                                                panels,
                                                pack,
                                                row_moments,
                                                row_total,
                                                row_totals,
                                                row_normals,
                                                row_greatest,
                                                row_add,
                                                row_add_squares,
                                                row_bag};
