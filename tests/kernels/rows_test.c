/* checks: 15
 * rows_test.c - row functions of every instruction set against sums written out, bit for bit. */
#include "kernels/core/half.h"
#include "kernels/rows/rows.h"
#include "tests/help/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 100, DEPTH = 67, ROWS = 5, COLUMNS = 45 };

static float draw(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (float)(int32_t)*seed * 0x1p-29f;
}

static void fill(float *x, int64_t count, uint32_t seed) {
  for (int64_t i = 0; i < count; i++)
    x[i] = draw(&seed);
}

/* The sets that this processor has. */
static int sets(const fnzi_rows **out) {
  int n = 0;
  for (fnzi_krn_isa isa = FNZI_ISA_BASE; isa <= fnzi_krn_isa_best(); isa++)
    out[n++] = fnzi_rows_for(isa);
  return n;
}

static double joined(double *lanes) {
  for (int half = FNZI_ROW_LANES / 2; half > 0; half /= 2)
    for (int k = 0; k < half; k++)
      lanes[k] += lanes[k + half];
  return lanes[0];
}

typedef double term_fn(float x);
static double plain(float x) {
  return x;
}
static double square(float x) {
  return ((double)x - 0.25) * ((double)x - 0.25);
}
static double rounded(float x) {
  float d = x - 0.25f;
  return d * d;
}

static double expected(const float *x, int64_t count, term_fn *term) {
  double lanes[FNZI_ROW_LANES] = {0};
  for (int64_t i = 0; i < count; i++)
    lanes[i % FNZI_ROW_LANES] += term(x[i]);
  return joined(lanes);
}

/* A row of `count` in two pieces, cut after `cut`. */
static void check_sums(const fnzi_rows *rows, const float *x, int64_t count, int64_t cut) {
  fnzi_row_sums sum = {{0}}, squares = {{0}}, rounded_squares = {{0}};
  for (int piece = 0; piece < 2; piece++) {
    const float *at = piece ? x + cut : x;
    int64_t n = piece ? count - cut : cut;
    rows->sum(&sum, at, 0, 1, n);
    rows->squares(&squares, 0.25, at, n);
    rows->rounded_squares(&rounded_squares, 0.25f, at, n);
  }
  ck_assert(fnzi_row_total(&sum) == expected(x, count, plain));
  fnzi_row_sums pieces = sum;
  rows->sum(&pieces, x, 3, 2, cut < MOST - 3 ? cut : 0);
  rows->sum(&sum, x, 0, cut < MOST - 3, cut);
  rows->sum(&sum, x + 3, 0, cut < MOST - 3, cut);
  ck_assert_mem_eq(&pieces, &sum, sizeof sum);
  ck_assert(fnzi_row_total(&squares) == expected(x, count, square));
  ck_assert(fnzi_row_total(&rounded_squares) == expected(x, count, rounded));
}

START_TEST(sums_are_those_of_the_order_that_is_promised) {
  const fnzi_rows *of[FNZI_ISAS];
  float x[MOST];
  int n = sets(of);
  fill(x, MOST, 1);
  for (int s = 0; s < n; s++)
    for (int64_t count = 0; count <= MOST; count++)
      for (int64_t cut = 0; cut <= count; cut += FNZI_ROW_LANES)
        check_sums(of[s], x, count, cut);
}
END_TEST

START_TEST(greatest_elements_are_found_beside_nan) {
  const fnzi_rows *of[FNZI_ISAS];
  float x[MOST];
  int n = sets(of);
  for (int s = 0; s < n; s++)
    for (int64_t count = 1; count <= MOST; count++)
      for (int64_t at = 0; at < count; at += 7) {
        fnzi_row_most most = {-INFINITY, false}, with_nan = {-INFINITY, false};
        fill(x, count, (uint32_t)(count + at));
        x[at] = 1000;
        of[s]->max(&most, x, count);
        ck_assert(most.most == 1000 && !most.has_nan);
        x[(at + 1) % count] = NAN;
        of[s]->max(&with_nan, x, count);
        ck_assert(with_nan.has_nan && with_nan.most == (count > 1 ? 1000 : -INFINITY));
      }
}
END_TEST

/* exp within 1 ulp of the C library's double, and the bits of the set below. */
START_TEST(exponentials_are_alike_in_all_sets) {
  const fnzi_rows *of[FNZI_ISAS];
  float x[MOST], y[FNZI_ISAS][MOST];
  int n = sets(of);
  for (int64_t count = 1; count <= MOST; count++) {
    fill(x, count, (uint32_t)count);
    for (int s = 0; s < n; s++) {
      fnzi_row_sums sums = {{0}};
      double lanes[FNZI_ROW_LANES] = {0};
      of[s]->exp(&sums, 3, x, y[s], count);
      for (int64_t i = 0; i < count; i++) {
        double truth = exp((double)(x[i] - 3));
        ck_assert(fabs((double)y[s][i] - truth) <= truth * 0x1p-23);
        lanes[i % FNZI_ROW_LANES] += (double)y[s][i];
      }
      ck_assert(fnzi_row_total(&sums) == joined(lanes));
      ck_assert(s < 1 || memcmp(y[s], y[s - 1], (size_t)count * sizeof **y) == 0);
    }
  }
}
END_TEST

/* One row after the other, by the formula of each step. */
static float normalised(float x, double mean, float rstd, float w, float b) {
  float high = (float)mean, low = (float)(mean - (double)high);
  float d = x - high;
  d = d - low;
  d = d * rstd;
  d = d * w;
  return d + b;
}

/* The first product and sum is rounded twice by way of double. */
START_TEST(fused_rows_are_rounded_once) {
  const fnzi_rows *of[FNZI_ISAS];
  float x[MOST], y[MOST];
  const float scale = 1 - 0x1p-23f, shift = 0x1p30f + 128;
  int n = sets(of);
  fill(x, MOST, 4);
  x[0] = 64 + 0x1p-17f, x[1] = INFINITY, x[2] = -INFINITY, x[3] = NAN, x[4] = 0x1.8p127f;
  x[5] = -0.0f, x[6] = 0x1p-149f;
  for (int s = 0; s < n; s++)
    for (int64_t count = 0; count <= MOST; count++) {
      of[s]->fused(scale, shift, x, y, count);
      for (int64_t i = 0; i < count; i++)
        ck_assert(y[i] == fmaf(x[i], scale, shift) || (x[i] != x[i] && y[i] != y[i]));
      of[s]->fused(3, -INFINITY, x, y, count);
      for (int64_t i = 0; i < count; i++)
        ck_assert(i == 1 || i == 3 ? y[i] != y[i] : y[i] == -INFINITY);
    }
  ck_assert(fmaf(x[0], scale, shift) != (float)((double)x[0] * (double)scale + (double)shift));
}
END_TEST

START_TEST(scaled_rows_are_rounded_once) {
  const fnzi_rows *of[FNZI_ISAS];
  float x[MOST], w[MOST], b[MOST], y[MOST], z[MOST], q[MOST];
  int n = sets(of);
  fill(x, MOST, 1), fill(w, MOST, 2), fill(b, MOST, 3);
  for (int s = 0; s < n; s++) {
    for (int64_t count = 0; count <= MOST; count++) {
      of[s]->scale(1.1, 0.3, x, y, count);
      of[s]->normalise(&(fnzi_row_norm){0.7, 1.3, w, b}, x, z, count);
      of[s]->divide(3, x, q, count);
      for (int64_t i = 0; i < count; i++) {
        ck_assert(y[i] == (float)((double)x[i] * 1.1 + 0.3));
        ck_assert(z[i] == normalised(x[i], 0.7, 1.3f, w[i], b[i]));
        ck_assert(q[i] == x[i] / 3);
      }
    }
    of[s]->normalise(&(fnzi_row_norm){0.7, 1.3, NULL, NULL}, x, z, MOST);
    ck_assert(z[MOST - 1] == normalised(x[MOST - 1], 0.7, 1.3f, 1, 0));
    of[s]->normalise(&(fnzi_row_norm){0.7, 1e20, w, b}, x, z, MOST);
    for (int64_t i = 0; i < MOST; i++)
      ck_assert(z[i] == (float)(((double)x[i] - 0.7) * 1e20 * (double)w[i] + (double)b[i]));
  }
}
END_TEST

static float dot(const float *a, const float *b, int64_t depth) {
  float lanes[FNZI_ROW_LANES] = {0};
  for (int64_t k = 0; k < depth; k++)
    lanes[k % FNZI_ROW_LANES] += a[k] * b[k];
  for (int half = FNZI_ROW_LANES / 2; half > 0; half /= 2)
    for (int k = 0; k < half; k++)
      lanes[k] += lanes[k + half];
  return lanes[0];
}

/* --- Whole rows ------------------------------------------------------------------------------- */
enum { LONG = 3000 };

/* Against sums in double: of numbers around `center`, `spread` apart, also where f32 is too narrow
 * for their squares. */
static void check_moments(const fnzi_rows *rows, const fnzi_rows *first, int64_t count,
                          double center, double spread) {
  static float x[LONG];
  fnzi_row_moments have, same;
  double sum = 0, squares = 0;
  fill(x, count, (uint32_t)count);
  for (int64_t i = 0; i < count; i++) {
    x[i] = (float)(center + spread * (double)x[i]);
    sum += (double)x[i];
  }
  for (int64_t i = 0; i < count; i++)
    squares += ((double)x[i] - sum / (double)count) * ((double)x[i] - sum / (double)count);
  rows->moments(x, count, true, &have);
  first->moments(x, count, true, &same);
  ck_assert(memcmp(&have, &same, sizeof have) == 0);
  ck_assert(fabs(have.mean - sum / (double)count) <= 1e-6 * spread);
  ck_assert(fabs(have.squares - squares) <= 2e-6 * squares);
  rows->moments(x, count, false, &have);
  for (int64_t i = squares = 0; i < count; i++)
    squares += (double)x[i] * (double)x[i];
  ck_assert(have.mean == 0 && fabs(have.squares - squares) <= 2e-6 * squares);
}

START_TEST(moments_are_those_of_doubles) {
  static const double of_numbers[][2] = {{0, 1}, {1000, 1}, {-1e7, 4}, {0, 1e-25}, {1e30, 1e30}};
  const fnzi_rows *of[FNZI_ISAS];
  int n = sets(of);
  for (int s = 0; s < n; s++)
    for (int64_t count = 1; count <= LONG; count += count < 70 ? 1 : 97)
      for (size_t k = 0; k < sizeof of_numbers / sizeof *of_numbers; k++)
        check_moments(of[s], of[0], count, of_numbers[k][0], of_numbers[k][1]);
}
END_TEST

/* Eager's order, one column after the other. Blocks of 2^power rows, and blocks of blocks. */
static float cascade(const float *x, int64_t rows, int power) {
  float level[FNZI_ROW_LEVELS] = {0};
  for (int64_t i = 0; i < rows;) {
    level[0] += x[i++ * FNZI_ROW_COLUMNS];
    for (int k = 1; k < FNZI_ROW_LEVELS && i % ((int64_t)1 << (k * power)) == 0; k++) {
      level[k] += level[k - 1];
      level[k - 1] = 0;
    }
  }
  return ((level[0] + level[1]) + level[2]) + level[3];
}

START_TEST(totals_are_those_of_eight_lanes) {
  const fnzi_rows *of[FNZI_ISAS];
  static float x[LONG];
  int n = sets(of);
  fill(x, LONG, 9);
  for (int s = 0; s < n; s++)
    for (int64_t count = 0; count <= LONG; count += count < 600 ? 1 : 97)
      for (int power = 2; power <= 4; power += 2) {
        int64_t rows = count / FNZI_ROW_COLUMNS, left = rows * FNZI_ROW_COLUMNS;
        float lanes[FNZI_ROW_COLUMNS], sum = 0;
        for (int k = 0; k < FNZI_ROW_COLUMNS; k++)
          lanes[k] = cascade(x + k, rows, power);
        for (; left + 8 <= count; left += 8)
          for (int k = 0; k < 8; k++)
            lanes[k] += x[left + k];
        for (int k = 8; k < FNZI_ROW_COLUMNS; k++)
          lanes[k % 8] += lanes[k];
        for (; left < count; left++)
          sum += x[left];
        for (int k = 0; k < 8; k++)
          sum += lanes[k];
        ck_assert(of[s]->total(x, count, power) == sum);
      }
}
END_TEST

START_TEST(totals_side_by_side_are_those_of_each_row) {
  enum { STRIDE = FNZI_ROW_BESIDE + 3 };
  const fnzi_rows *of[FNZI_ISAS];
  static float x[LONG], beside[LONG * STRIDE];
  float sums[FNZI_ROW_BESIDE];
  int n = sets(of);
  fill(beside, LONG * STRIDE, 5);
  for (int s = 0; s < n; s++)
    for (int64_t count = 0; count <= LONG; count += count < 100 ? 1 : 97)
      for (int power = 2; power <= 4; power += 2) {
        of[s]->totals(beside, STRIDE, count, power, sums);
        for (int row = 0; row < FNZI_ROW_BESIDE; row++) {
          for (int64_t i = 0; i < count; i++)
            x[i] = beside[i * STRIDE + row];
          ck_assert(of[s]->total(x, count, power) == sums[row]);
        }
      }
}
END_TEST

/* Windows of 2 x 1 x 3 elements, whose rows are LONG_ROW elements apart. */
START_TEST(greatest_side_by_side_see_each_window) {
  enum { LONG_ROW = 3 * MOST + 4, NAN_AT = 5 };
  const fnzi_rows *of[FNZI_ISAS];
  float x[2 * LONG_ROW], most[MOST + 1];
  int n = sets(of);
  for (int s = 0; s < n; s++)
    for (int64_t step = 1; step <= 3; step++)
      for (int64_t count = 0; count <= MOST; count++) {
        fill(x, 2 * LONG_ROW, (uint32_t)count);
        x[LONG_ROW + NAN_AT] = NAN, x[NAN_AT] = INFINITY;
        most[count] = 7;
        of[s]->greatest(&(fnzi_row_windows){x, {2, 1, 3}, {LONG_ROW, 0, 2}, step, count}, most);
        ck_assert(most[count] == 7);
        for (int64_t i = 0; i < count; i++) {
          float want = -INFINITY;
          for (int64_t k = 0; k < 6; k++) {
            float v = x[i * step + k / 3 * LONG_ROW + k % 3 * 2];
            want = v > want || v != v ? v : want;
          }
          ck_assert(want != want ? most[i] != most[i] : most[i] == want);
        }
      }
}
END_TEST

/* --- Products --------------------------------------------------------------------------------- */
static float bf16_of(float x, uint16_t *out) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  *out = (uint16_t)(bits >> 16);
  bits = (uint32_t)*out << 16;
  memcpy(&x, &bits, sizeof x);
  return x;
}

/* The number must be representable in f16. */
static void f16_of(float x, uint16_t *out) {
  *out = fnzi_krn_to_f16(x);
  ck_assert(fnzi_krn_from_f16(*out) == x);
}

/* Cells of a kind that hold the number; returns the number, which bytes have rounded. */
static float cell_of(fnzi_row_kind kind, float x, void *cells, int64_t i) {
  int8_t byte = (int8_t)(x * 16);
  if (kind == FNZI_ROW_I8)
    memcpy((char *)cells + i, &byte, 1);
  else if (kind == FNZI_ROW_F32)
    ((float *)cells)[i] = x;
  else if (kind == FNZI_ROW_BF16)
    (void)bf16_of(x, (uint16_t *)cells + i);
  else
    f16_of(x, (uint16_t *)cells + i);
  return kind == FNZI_ROW_I8 ? byte : x;
}

static float steps(const float *a, const float *b, int64_t depth, float sum) {
  for (int64_t k = 0; k < depth; k += FNZI_ROW_STEPS) {
    float part = a[k] * b[k * COLUMNS];
    for (int64_t s = k + 1; s < depth && s < k + FNZI_ROW_STEPS; s++)
      part += a[s] * b[s * COLUMNS];
    sum += part;
  }
  return sum;
}

/* Every element of a product of every set against the order written out: along both rows, or by
 * steps. */
static void check_products(bool is_dots) {
  const fnzi_rows *of[FNZI_ISAS];
  static float a[ROWS * DEPTH], b[COLUMNS * DEPTH], c[ROWS * COLUMNS], cells[COLUMNS * DEPTH];
  uint16_t half;
  int n = sets(of);
  fill(a, ROWS * DEPTH, 1);
  for (int kind = 0; kind < FNZI_ROW_KINDS; kind++) {
    fill(b, COLUMNS * DEPTH, 2);
    for (int i = 0; i < COLUMNS * DEPTH; i++)
      b[i] = cell_of((fnzi_row_kind)kind, bf16_of(b[i], &half), cells, i);
    for (int s = 0; s < n; s++)
      for (int64_t depth = 1; depth <= DEPTH; depth += 11) {
        float alpha = is_dots ? 2 : 1;
        fnzi_row_dots d = {
            a, cells, c, ROWS, COLUMNS, depth, DEPTH, is_dots ? DEPTH : COLUMNS, COLUMNS, alpha, 3};
        uint32_t seed = 5;
        fill(c, ROWS * COLUMNS, 5);
        (is_dots ? of[s]->dots : of[s]->steps)[kind](&d);
        for (int i = 0; i < ROWS; i++)
          for (int j = 0; j < COLUMNS; j++) {
            float before = 3 * draw(&seed);
            ck_assert(c[i * COLUMNS + j] ==
                      (is_dots ? before + 2 * dot(a + i * DEPTH, b + j * DEPTH, depth)
                               : steps(a + i * DEPTH, b + j, depth, before)));
          }
      }
  }
}

START_TEST(dots_are_alike_in_all_sets) {
  check_products(true);
}
END_TEST

START_TEST(steps_are_alike_in_all_sets) {
  check_products(false);
}
END_TEST

/* --- Panels ----------------------------------------------------------------------------------- */
enum { TALL = 510, DEEP = 520, BROAD = 70, SPARE = 2 };

/* A factor with gaps; its numbers as f32 too. */
typedef struct laid {
  float *f32;
  void *cells;
  fnzi_row_kind kind;
  int64_t row, step;
} laid;

static void *room_of(size_t bytes) {
  void *room = malloc(bytes);
  ck_assert(room != NULL);
  return room;
}

static laid lay(int64_t rows, int64_t columns, int way, uint32_t seed, fnzi_row_kind kind) {
  int64_t spare = way == 2 ? SPARE : 1, count = rows * columns * spare;
  laid x = {.kind = kind, .row = columns * spare, .step = spare};
  uint16_t half;
  x.f32 = room_of((size_t)count * sizeof(float));
  x.cells = room_of((size_t)(count * fnzi_row_kind_bytes(kind)));
  if (way == 1)
    x.row = 1, x.step = rows;
  fill(x.f32, count, seed);
  for (int64_t i = 0; i < count; i++) {
    float short_one = bf16_of(fabsf(x.f32[i]) < 0x1p-6f ? 1 : x.f32[i], &half);
    x.f32[i] = cell_of(kind, short_one, x.cells, i);
  }
  return x;
}

static void end_laid(laid *x) {
  free(x->cells);
  free(x->f32);
}

static float panel_element(const laid *a, const laid *b, int64_t i, int64_t j, int64_t depth,
                           float alpha, float c) {
  int64_t k = 0;
  do {
    float sum = 0;
    for (int64_t end = k + FNZI_PANEL_DEPTH; k < end && k < depth; k++)
      sum = fmaf(a->f32[i * a->row + k * a->step], b->f32[k * b->row + j * b->step], sum);
    sum = alpha * sum;
    c = c + sum;
  } while (k < depth);
  return c;
}

/* A part of a packed factor, with a row that is added, gives the bits of that part as it lies. */
static void check_packed(const fnzi_rows *rows, fnzi_row_panels d) {
  static float as_it_lies[TALL * (BROAD + 1)], found[TALL * (BROAD + 1)], row[BROAD];
  float *packed = room_of((size_t)fnzi_row_panels_packed(d.depth, d.columns) * sizeof *packed);
  rows->pack(&d, packed);
  d.packed_depth = d.depth;
  if (d.depth <= FNZI_PANEL_DEPTH)
    d.columns = fnzi_row_panels_first(d.columns / 2, d.columns);
  else
    d.depth = FNZI_PANEL_DEPTH + (d.depth - FNZI_PANEL_DEPTH) / 2;
  fill(row, BROAD, 9);
  for (int64_t i = 0; i < d.rows; i++)
    memcpy(as_it_lies + i * d.c_row, row, (size_t)d.columns * sizeof *row);
  d.c = as_it_lies;
  rows->panels(&d);
  d.c = found, d.added = row, d.packed = packed;
  rows->panels(&d);
  for (int64_t i = 0; i < d.rows; i++)
    ck_assert(memcmp(found + i * d.c_row, as_it_lies + i * d.c_row,
                     (size_t)d.columns * sizeof *found) == 0);
  free(packed);
}

static void check_panels(const fnzi_rows *rows, const laid *a, const laid *b, int64_t m, int64_t n,
                         int64_t depth, float beta) {
  static float c[TALL * (BROAD + 1)];
  fnzi_row_panels d = {a->cells, b->cells, c};
  d.rows = m, d.columns = n, d.depth = depth, d.c_row = BROAD + 1;
  d.a_row = a->row, d.a_step = a->step, d.b_step = b->row, d.b_column = b->step;
  d.alpha = 2, d.beta = beta, d.a_kind = a->kind, d.b_kind = b->kind;
  d.room = room_of((size_t)fnzi_row_panels_scratch(&d) * sizeof *d.room);
  uint32_t seed = 5;
  fill(c, TALL * (BROAD + 1), 5);
  rows->panels(&d);
  for (int i = 0; i < TALL; i++)
    for (int j = 0; j <= BROAD; j++) {
      float before = draw(&seed), found = c[i * (BROAD + 1) + j];
      ck_assert(found == (i < m && j < n
                              ? panel_element(a, b, i, j, depth, 2, beta != 0 ? beta * before : 0)
                              : before));
    }
  check_packed(rows, d);
  free(d.room);
}

static const fnzi_rows *with_panels(int *set) {
  for (; *set <= (int)fnzi_krn_isa_best(); ++*set)
    if (fnzi_rows_for((fnzi_krn_isa)*set)->panels)
      return fnzi_rows_for((fnzi_krn_isa)(*set)++);
  return NULL;
}

START_TEST(panels_are_sums_in_order) {
  static const int64_t sizes[][3] = {{1, 1, 1},   {2, 16, 7},     {3, 17, 256}, {7, 70, 257},
                                     {11, 40, 9}, {13, 33, DEEP}, {40, 64, 64}, {TALL, 5, 30},
                                     {5, 8, 0},   {12, 1, 300}};
  const fnzi_rows *of;
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    laid a = lay(sizes[k][0], sizes[k][2] + 1, 0, 1, FNZI_ROW_F32);
    laid b = lay(sizes[k][2] + 1, sizes[k][1], 0, 2, FNZI_ROW_F32);
    for (int set = 0; (of = with_panels(&set));)
      for (int beta = 0; beta < 2; beta++)
        check_panels(of, &a, &b, sizes[k][0], sizes[k][1], sizes[k][2], (float)(3 * beta));
    end_laid(&a), end_laid(&b);
  }
}
END_TEST

/* As it lies, turned, and with gaps; rows that lie 4,096 bytes apart. */
START_TEST(panels_read_any_layout_and_kind) {
  const fnzi_rows *of;
  for (int way = 0; way < 9; way++)
    for (int kinds = 0; kinds < FNZI_ROW_KINDS * FNZI_ROW_KINDS; kinds++) {
      laid a = lay(37, 1024, way / 3, 1, (fnzi_row_kind)(kinds / FNZI_ROW_KINDS));
      laid b = lay(300, BROAD, way % 3, 2, (fnzi_row_kind)(kinds % FNZI_ROW_KINDS));
      for (int set = 0; (of = with_panels(&set));)
        check_panels(of, &a, &b, 37, BROAD, 300, 3);
      end_laid(&a), end_laid(&b);
    }
}
END_TEST

/* More elements than stay at their full depth, as they lie and brought. */
START_TEST(panels_of_many_rows_are_sums_in_order) {
  const fnzi_rows *of;
  laid b = lay(DEEP, BROAD, 1, 2, FNZI_ROW_F32);
  ck_assert(TALL * DEEP > FNZI_PANEL_CACHED && FNZI_PANEL_CACHED > FNZI_PANEL_HELD);
  for (int way = 0; way < 2; way++) {
    laid a = lay(TALL, DEEP, way, 1, FNZI_ROW_F32);
    for (int set = 0; (of = with_panels(&set));)
      check_panels(of, &a, &b, TALL, BROAD, DEEP, 3);
    end_laid(&a);
  }
  end_laid(&b);
}
END_TEST

/* Few rows without a rest, over columns that lie as rows: the other way round. */
START_TEST(panels_the_other_way_round_are_sums_in_order) {
  const fnzi_rows *of;
  for (int64_t rows = 32; rows <= 64; rows += 32)
    for (int kind = 0; kind < FNZI_ROW_KINDS; kind++) {
      laid a = lay(rows, DEEP, kind % 3, 1, (fnzi_row_kind)kind);
      laid b = lay(DEEP, BROAD, 1, 2, FNZI_ROW_F32);
      fnzi_row_panels d = {.b_step = b.row, .b_column = b.step, .rows = rows, .depth = DEEP};
      d.columns = BROAD;
      ck_assert(fnzi_row_panels_is_transposed(&d));
      for (int set = 0; (of = with_panels(&set));)
        for (int beta = 0; beta < 2; beta++)
          check_panels(of, &a, &b, rows, BROAD, DEEP, (float)(3 * beta));
      end_laid(&a), end_laid(&b);
    }
}
END_TEST

RUN_SUITE("rows", sums_are_those_of_the_order_that_is_promised,
          greatest_elements_are_found_beside_nan, exponentials_are_alike_in_all_sets,
          fused_rows_are_rounded_once, scaled_rows_are_rounded_once, moments_are_those_of_doubles,
          totals_are_those_of_eight_lanes, totals_side_by_side_are_those_of_each_row,
          greatest_side_by_side_see_each_window, dots_are_alike_in_all_sets,
          steps_are_alike_in_all_sets, panels_are_sums_in_order, panels_read_any_layout_and_kind,
          panels_of_many_rows_are_sums_in_order, panels_the_other_way_round_are_sums_in_order)
