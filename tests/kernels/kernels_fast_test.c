/* checks: 11
 * kernels_fast_test.c - kernels that take a shortcut for some sizes: the bits do not depend on
 * threads, nor on strides, and the numbers equal plain loops'. */
#include "kernels/cpu/matmul.h"
#include "tests/kernels/kernels_nn.h"

#include <math.h>

enum { MOST = 1 << 21 };

static float values[MOST];

static fnz_arg upload(fnz_dtype dtype, shape s, const int64_t *strides, uint32_t seed) {
  int64_t plain[6], count = volume(s);
  fnz_geometry g = {.dtype = dtype, .rank = s.rank, .sizes = s.sizes};
  static uint16_t halves[MOST];
  ck_assert(count <= MOST && nmade < MOST_HANDLES);
  fnzi_contiguous_strides(s.sizes, s.rank, plain);
  g.strides = strides ? strides : plain;
  for (int64_t i = 0; i < count; i++, seed = seed * 1664525u + 1013904223u)
    values[i] = (float)(int32_t)seed * 0x1p-31f;
  bool is_half = dtype == FNZ_BF16 || dtype == FNZ_F16;
  if (is_half) {
    fnzi_krn_convert(&(fnzi_krn_conversion){dtype, FNZ_F32, 2, 4}, halves, values, count);
    fnzi_krn_convert(&(fnzi_krn_conversion){FNZ_F32, dtype, 4, 2}, values, halves, count);
  }
  const void *cells = is_half ? (const void *)halves : (const void *)values;
  OK(ctx, cpu->upload(cpu->self, ctx, &g, cells, &made[nmade]));
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = made[nmade++]};
}

/* The first result, which has `count` floats. */
static void fetch(float *out) {
  OK(ctx, cpu->download(cpu->self, ctx, outs[0], out));
}

static fnz_arg ints(const fnz_arg *items, uint32_t count) {
  return (fnz_arg){.tag = FNZ_ARG_LIST, .count = count, .u.list = items};
}
#define LIST2(a, b) ints((const fnz_arg[]){I(a), I(b)}, 2)

/* --- Convolutions in parts -------------------------------------------------------------------- */
enum { CHANNELS = 64, SIDE = 20, PLANE = SIDE * SIDE };

static void convolve(int threads, int64_t batch, int64_t groups, float *out) {
  start(threads);
  fnz_arg x = upload(FNZ_F32, S(batch, CHANNELS, SIDE, SIDE), NULL, 1);
  fnz_arg w = upload(FNZ_F32, S(CHANNELS, CHANNELS / groups, 3, 3), NULL, 2);
  fnz_arg bias = upload(FNZ_F32, S(CHANNELS), NULL, 3);
  for (int again = 0; again < 2; again++) {
    RUN("conv2d", x, w, bias, LIST2(1, 1), LIST2(1, 1), LIST2(1, 1), I(groups));
    fetch(out);
  }
  finish();
}

/* Element (channel, i, j) of sample 0. */
static double element(const float *x, const float *w, const float *bias, int64_t groups,
                      int64_t channel, int64_t i, int64_t j) {
  int64_t ins = CHANNELS / groups, first = channel / ins * ins;
  double sum = (double)bias[channel];
  for (int64_t c = 0; c < ins; c++)
    for (int64_t k = 0; k < 9; k++) {
      int64_t row = i + k / 3 - 1, col = j + k % 3 - 1;
      if (row >= 0 && row < SIDE && col >= 0 && col < SIDE)
        sum += (double)x[(first + c) * PLANE + row * SIDE + col] *
               (double)w[(channel * ins + c) * 9 + k];
    }
  return sum;
}

static void draw(uint32_t seed, int64_t count, float *out) {
  for (int64_t i = 0; i < count; i++, seed = seed * 1664525u + 1013904223u)
    out[i] = (float)(int32_t)seed * 0x1p-31f;
}

START_TEST(parts_of_convolutions_do_not_depend_on_threads) {
  static float one[2 * CHANNELS * PLANE], more[2 * CHANNELS * PLANE];
  static float x[CHANNELS * PLANE], w[CHANNELS * CHANNELS * 9], bias[CHANNELS];
  for (int64_t groups = 1; groups <= CHANNELS; groups *= 8)
    for (int64_t batch = 1; batch <= 2; batch++) {
      convolve(1, batch, groups, one);
      convolve(3, batch, groups, more);
      ck_assert(memcmp(one, more, (size_t)(batch * CHANNELS * PLANE) * sizeof *one) == 0);
      draw(1, CHANNELS * PLANE, x);
      draw(2, CHANNELS * CHANNELS / groups * 9, w);
      draw(3, CHANNELS, bias);
      for (int64_t at = 0; at < CHANNELS * PLANE; at += 37) {
        double truth = element(x, w, bias, groups, at / PLANE, at / SIDE % SIDE, at % SIDE);
        ck_assert(fabs((double)one[at] - truth) < 1e-4);
      }
    }
}
END_TEST

/* More shapes than plans are kept, twice, each time the same. */
START_TEST(plans_of_many_shapes_come_and_go) {
  static float first[150], out[150];
  start(1);
  fnz_arg w = upload(FNZ_F32, S(1, 1, 3), NULL, 2);
  for (int round = 0; round < 2; round++)
    for (int64_t length = 3; length < 140; length++) {
      nmade = nmade > 1 ? (cpu->release(cpu->self, made[1]), 1) : nmade;
      fnz_arg x = upload(FNZ_F32, S(1, 1, length), NULL, 1);
      RUN("conv1d", x, w, NONE);
      fetch(out);
      if (round == 0 && length == 139)
        memcpy(first, out, sizeof first);
    }
  ck_assert(memcmp(first, out, 137 * sizeof *out) == 0);
  finish();
}
END_TEST

/* --- Long sums ----------------------------------------------------------------------------- */
START_TEST(a_long_sum_does_not_depend_on_threads) {
  static float sums[3][3], part;
  static const int64_t counts[] = {MOST, MOST - 77, 300001};
  for (int t = 0; t < 3; t++)
    for (int i = 0; i < 3; i++) {
      double truth = 0;
      start(t + 1);
      fnz_arg x = upload(FNZ_F32, S(counts[i]), NULL, 1);
      RUN("sum", x);
      fetch(&sums[t][i]);
      for (int64_t k = 0; k < counts[i]; k++)
        truth += (double)values[k];
      /* The same with another dimension, which goes by rows on one thread. */
      fnz_arg rows = upload(FNZ_F32, S(1, counts[i]), NULL, 1);
      RUN("sum.dim_IntList", rows, ints((const fnz_arg[]){I(1)}, 1));
      fetch(&part);
      ck_assert(fabs((double)sums[t][i] - truth) < 1e-2);
      ck_assert(sums[t][i] == sums[0][i] && part == sums[0][i]);
      finish();
    }
}
END_TEST

/* --- Few rows --------------------------------------------------------------------------------- */
enum { DEPTH = 83, COLUMNS = 70 };

static void check_product(const float *c, const float *a, const float *b, int64_t rows,
                          int64_t b_row, int64_t b_col) {
  for (int64_t i = 0; i < rows; i++)
    for (int64_t j = 0; j < COLUMNS; j++) {
      double sum = 0, size = 0;
      for (int64_t k = 0; k < DEPTH; k++) {
        double term = (double)a[i * DEPTH + k] * (double)b[k * b_row + j * b_col];
        sum += term, size += fabs(term);
      }
      ck_assert(fabs((double)c[i * COLUMNS + j] - sum) <= size * 0x1p-22);
    }
}

START_TEST(few_rows_times_a_matrix) {
  static float a[20 * DEPTH], b[DEPTH * COLUMNS], c[20 * COLUMNS], alone[COLUMNS];
  draw(1, 20 * DEPTH, a), draw(2, DEPTH * COLUMNS, b);
  for (int64_t rows = 1; rows <= 20; rows++) {
    start(2);
    fnz_arg x = upload(FNZ_F32, S(rows, DEPTH), NULL, 1);
    RUN("mm", x, upload(FNZ_F32, S(DEPTH, COLUMNS), NULL, 2));
    fetch(c);
    check_product(c, a, b, rows, COLUMNS, 1);
    RUN("linear", x, upload(FNZ_F32, S(COLUMNS, DEPTH), NULL, 2));
    fetch(c);
    check_product(c, a, b, rows, 1, DEPTH);
    RUN("linear", upload(FNZ_F32, S(1, DEPTH), NULL, 1),
        upload(FNZ_F32, S(COLUMNS, DEPTH), NULL, 2));
    fetch(alone);
    ck_assert(rows > 16 || memcmp(alone, c, sizeof alone) == 0);
    finish();
  }
}
END_TEST

static fnzi_cpu_matrix matrix(const float *data, int64_t row, int64_t col) {
  return (fnzi_cpu_matrix){.data = data, .row = row, .col = col};
}

static fnzi_cpu_order most_order(void) {
  return fnzi_rows_best()->panels ? FNZI_ORDER_PANELS : FNZI_ORDER_STEPS;
}

/* Both layouts of each factor, in each order. */
START_TEST(elements_that_lie_otherwise_have_the_same_bits) {
  static float room[2 * FNZI_PANEL_ROWS * FNZI_PANEL_DEPTH];
  static float a[2 * DEPTH], a_turned[2 * DEPTH], b[DEPTH * COLUMNS], turned[DEPTH * COLUMNS];
  static float c[4][2 * COLUMNS];
  draw(1, 2 * DEPTH, a), draw(2, DEPTH * COLUMNS, b);
  for (int64_t k = 0; k < DEPTH; k++) {
    for (int64_t i = 0; i < 2; i++)
      a_turned[k * 2 + i] = a[i * DEPTH + k];
    for (int64_t j = 0; j < COLUMNS; j++)
      turned[j * DEPTH + k] = b[k * COLUMNS + j];
  }
  for (fnzi_cpu_order order = FNZI_ORDER_DOTS; order <= most_order(); order++)
    for (int64_t columns = 1; columns <= COLUMNS; columns += COLUMNS - 1)
      for (int way = 0; way < 4; way++) {
        fnzi_cpu_product p = {.dtype = FNZ_F32, .m = 2, .n = columns, .k = DEPTH, .alpha = 1};
        p.a = way & 1 ? matrix(a_turned, 1, 2) : matrix(a, DEPTH, 1);
        p.b = way & 2 ? matrix(turned, 1, DEPTH) : matrix(b, COLUMNS, 1);
        p.c = c[way], p.c_row = columns, p.order = order, p.room = room;
        fnzi_cpu_product_run(&p, 0);
        ck_assert(memcmp(c[way], c[0], (size_t)(2 * columns) * sizeof **c) == 0);
      }
}
END_TEST

/* More of each size than one tile, with a rest; both layouts of each factor. */
enum { WHOLE_ROWS = 6, WHOLE_COLUMNS = 70, WHOLE_DEPTH = 131 };

static void check_whole_product(int way, const uint64_t *a, const uint64_t *b, bool is_wide) {
  static uint64_t wide[3][WHOLE_DEPTH * WHOLE_COLUMNS];
  static uint32_t slim[3][WHOLE_DEPTH * WHOLE_COLUMNS];
  fnzi_cpu_product p = {.dtype = is_wide ? FNZ_I64 : FNZ_I32, .m = WHOLE_ROWS, .alpha = 3};
  p.n = WHOLE_COLUMNS, p.k = WHOLE_DEPTH, p.c_row = WHOLE_COLUMNS, p.beta = -2;
  p.a = way & 1 ? (fnzi_cpu_matrix){.row = 1, .col = WHOLE_ROWS}
                : (fnzi_cpu_matrix){.row = WHOLE_DEPTH, .col = 1};
  p.b = way & 2 ? (fnzi_cpu_matrix){.row = 1, .col = WHOLE_DEPTH}
                : (fnzi_cpu_matrix){.row = WHOLE_COLUMNS, .col = 1};
  for (int i = 0; i < WHOLE_DEPTH * WHOLE_COLUMNS; i++) {
    wide[0][i] = a[i % (WHOLE_ROWS * WHOLE_DEPTH)], wide[1][i] = b[i], wide[2][i] = 5;
    for (int k = 0; k < 3; k++)
      slim[k][i] = (uint32_t)wide[k][i];
  }
  p.a.data = is_wide ? (void *)wide[0] : slim[0], p.b.data = is_wide ? (void *)wide[1] : slim[1];
  p.c = is_wide ? (void *)wide[2] : slim[2];
  fnzi_cpu_product_run(&p, 0);
  for (int64_t i = 0; i < WHOLE_ROWS; i++)
    for (int64_t j = 0; j < WHOLE_COLUMNS; j++) {
      uint64_t want = 0;
      for (int64_t k = 0; k < WHOLE_DEPTH; k++)
        want += a[i * p.a.row + k * p.a.col] * b[k * p.b.row + j * p.b.col];
      want = 3 * want - 2 * 5;
      ck_assert(is_wide ? wide[2][i * WHOLE_COLUMNS + j] == want
                        : slim[2][i * WHOLE_COLUMNS + j] == (uint32_t)want);
    }
}

START_TEST(products_of_integers_wrap) {
  static uint64_t a[WHOLE_ROWS * WHOLE_DEPTH], b[WHOLE_DEPTH * WHOLE_COLUMNS];
  uint64_t seed = 1;
  for (int i = 0; i < WHOLE_DEPTH * WHOLE_COLUMNS; i++) {
    b[i] = seed = seed * 6364136223846793005u + 1442695040888963407u;
    a[i % (WHOLE_ROWS * WHOLE_DEPTH)] = ~seed;
  }
  for (int way = 0; way < 8; way++)
    check_whole_product(way & 3, a, b, way & 4);
}
END_TEST

/* The array that upload() gives for a 16-bit type, converted. */
static fnz_arg widened(fnz_dtype dtype, shape s, const int64_t *strides, uint32_t seed) {
  int64_t plain[6];
  fnz_geometry g = {.dtype = FNZ_F32, .rank = s.rank, .sizes = s.sizes};
  upload(dtype, s, strides, seed);
  fnzi_contiguous_strides(s.sizes, s.rank, plain);
  g.strides = strides ? strides : plain;
  OK(ctx, cpu->upload(cpu->self, ctx, &g, values, &made[nmade]));
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = made[nmade++]};
}

enum { MOST_RESULT = 64 * COLUMNS };

/* The result as the 16-bit type. */
static void fetch_half(fnz_dtype dtype, bool is_wide, int64_t count, uint16_t *out) {
  static float wide[MOST_RESULT];
  ck_assert(count <= MOST_RESULT);
  OK(ctx, cpu->download(cpu->self, ctx, outs[0], is_wide ? (void *)wide : (void *)out));
  if (is_wide)
    fnzi_krn_convert(&(fnzi_krn_conversion){dtype, FNZ_F32, 2, 4}, out, wide, count);
}

/* With few rows, one column and many rows, where all types have one order; the second factor as it
 * is and turned. */
static void check_halves(fnz_dtype dtype, int64_t rows, int64_t columns, int threads) {
  static uint16_t found[2][MOST_RESULT];
  const int64_t turned[2] = {1, DEPTH};
  for (int way = 0; way < 3; way++) {
    start(threads);
    for (int is_wide = 0; is_wide < 2; is_wide++) {
      fnz_arg (*make)(fnz_dtype, shape, const int64_t *, uint32_t) = is_wide ? widened : upload;
      fnz_arg x = make(dtype, S(rows, DEPTH), NULL, 1);
      if (way == 0)
        RUN("linear", x, make(dtype, S(columns, DEPTH), NULL, 2));
      else
        RUN("mm", x, make(dtype, S(DEPTH, columns), way == 1 ? NULL : turned, 2));
      fetch_half(dtype, is_wide, rows * columns, found[is_wide]);
    }
    finish();
    ck_assert(memcmp(found[0], found[1], (size_t)(rows * columns) * sizeof **found) == 0);
  }
}

START_TEST(products_of_16_bits_are_those_of_floats) {
  static const int64_t rows[] = {1, 3, 17, 60};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    for (int64_t columns = 1; columns <= COLUMNS; columns += COLUMNS - 1) {
      check_halves(FNZ_BF16, rows[k], columns, 1);
      if (rows[k] != 3)
        check_halves(FNZ_F16, rows[k], columns, 2);
    }
}
END_TEST

static void check_attention(fnz_dtype dtype, int64_t queries, const int64_t *strides) {
  static uint16_t found[2][MOST_RESULT];
  const fnz_arg none = {.tag = FNZ_ARG_NONE}, no = {.tag = FNZ_ARG_BOOL};
  const fnz_arg zero = {.tag = FNZ_ARG_FLOAT};
  shape q = S(1, 2, queries, 8), k = S(1, 2, 30, 8);
  start(2);
  for (int is_wide = 0; is_wide < 2; is_wide++) {
    fnz_arg (*make)(fnz_dtype, shape, const int64_t *, uint32_t) = is_wide ? widened : upload;
    RUN("scaled_dot_product_attention", make(dtype, q, NULL, 1),
        make(dtype, k, is_wide ? NULL : strides, 2), make(dtype, k, is_wide ? NULL : strides, 3),
        none, zero, no);
    fetch_half(dtype, is_wide, volume(q), found[is_wide]);
  }
  finish();
  ck_assert(memcmp(found[0], found[1], (size_t)volume(q) * sizeof **found) == 0);
}

/* Heads one after the other, and beside each other in each key. */
START_TEST(attention_of_16_bits_is_that_of_floats) {
  const int64_t beside[] = {480, 8, 16, 1};
  for (int64_t queries = 1; queries <= 41; queries += 20)
    for (int way = 0; way < 2; way++) {
      check_attention(FNZ_BF16, queries, way ? beside : NULL);
      check_attention(FNZ_F16, queries, way ? beside : NULL);
    }
}
END_TEST

/* Rows of 1,024 floats from one to the next: products bring the first factor beside the second one.
 */
static void attend(shape q, shape k, const int64_t *strides, float *out) {
  const fnz_arg none = {.tag = FNZ_ARG_NONE}, no = {.tag = FNZ_ARG_BOOL};
  const fnz_arg zero = {.tag = FNZ_ARG_FLOAT};
  start(2);
  RUN("scaled_dot_product_attention", upload(FNZ_F32, q, strides, 1), upload(FNZ_F32, k, NULL, 2),
      upload(FNZ_F32, k, NULL, 3), none, zero, no);
  fetch(out);
  finish();
}

START_TEST(attention_has_room_for_both_factors) {
  enum { HEADS = 16, WIDTH = 64 };
  static float apart[HEADS * WIDTH * WIDTH], beside[HEADS * WIDTH * WIDTH], keys[WIDTH * WIDTH];
  const int64_t strides[] = {HEADS * WIDTH * WIDTH, WIDTH, HEADS * WIDTH, 1};
  shape q = S(1, HEADS, WIDTH, WIDTH);
  attend(q, q, NULL, apart);
  attend(q, q, strides, beside);
  ck_assert(memcmp(apart, beside, sizeof apart) == 0);
  attend(S(1, 1, WIDTH, WIDTH), S(1, 1, HEADS * WIDTH, WIDTH), NULL, keys);
  for (int i = 0; i < WIDTH * WIDTH; i++)
    ck_assert(keys[i] > -1 && keys[i] < 1);
}
END_TEST

/* A mask of truths hides tiles of keys, which are left out; one of -infinity is added to all. */
enum { SEEN_QUERIES = 130, SEEN_KEYS = 600, SEEN_WIDTH = 20 };

static fnz_arg put(fnz_dtype dtype, shape s, const void *cells) {
  int64_t strides[6];
  fnz_geometry g = {.dtype = dtype, .rank = s.rank, .sizes = s.sizes, .strides = strides};
  fnzi_contiguous_strides(s.sizes, s.rank, strides);
  OK(ctx, cpu->upload(cpu->self, ctx, &g, cells, &made[nmade]));
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = made[nmade++]};
}

/* Query i sees keys from i + `first` on, `count` of them; query 5 sees none. `odd`: of row 0 of the
 * values, which few see. NO_MASK: query i sees keys up to i, which is causal. */
enum { NO_MASK = 1 << 30 };
static void attend_seen(bool is_bool, int64_t queries, int first, int count, float odd,
                        float *out) {
  static float added[SEEN_QUERIES * SEEN_KEYS], v[SEEN_KEYS * SEEN_WIDTH];
  static uint8_t shown[SEEN_QUERIES * SEEN_KEYS];
  shape q = S(1, 1, queries, SEEN_WIDTH), k = S(1, 1, SEEN_KEYS, SEEN_WIDTH);
  shape mask = S(1, 1, queries, SEEN_KEYS);
  const fnz_arg zero = {.tag = FNZ_ARG_FLOAT};
  for (int i = 0; i < queries; i++)
    for (int j = 0; j < SEEN_KEYS; j++) {
      shown[i * SEEN_KEYS + j] = i != 5 && j >= i + first && j < i + first + count;
      added[i * SEEN_KEYS + j] = shown[i * SEEN_KEYS + j] ? 0 : -INFINITY;
    }
  for (int i = 0; i < SEEN_KEYS * SEEN_WIDTH; i++)
    v[i] = i ? (float)(i * 37 % 101) / 64 : odd;
  start(2);
  fnz_arg m = is_bool ? put(FNZ_BOOL, mask, shown) : put(FNZ_F32, mask, added);
  fnz_arg causal = {.tag = FNZ_ARG_BOOL, .u.i = count == NO_MASK};
  if (count == NO_MASK)
    m = (fnz_arg){.tag = FNZ_ARG_NONE};
  RUN("scaled_dot_product_attention", upload(FNZ_F32, q, NULL, 1), upload(FNZ_F32, k, NULL, 2),
      put(FNZ_F32, k, v), m, zero, causal);
  fetch(out);
  finish();
}

START_TEST(attention_without_hidden_keys_is_that_with_them) {
  static float by_truths[SEEN_QUERIES * SEEN_WIDTH], by_sums[SEEN_QUERIES * SEEN_WIDTH];
  static const int seen[][2] = {{0, 1}, {0, 40}, {300, 30}, {-90, 100}, {470, 500}, {0, 0}};
  for (size_t i = 0; i < sizeof seen / sizeof *seen; i++)
    for (int way = 0; way < 4; way++) {
      int64_t queries = way & 1 ? SEEN_QUERIES : 1, count = queries * SEEN_WIDTH;
      float odd = way & 2 ? INFINITY : 1;
      attend_seen(true, queries, seen[i][0], seen[i][1], odd, by_truths);
      attend_seen(false, queries, seen[i][0], seen[i][1], odd, by_sums);
      for (int64_t j = 0; j < count; j++)
        ck_assert(by_truths[j] == by_sums[j] || (isnan(by_truths[j]) && isnan(by_sums[j])));
      ck_assert(way != 3 || i != 2 || isnan(by_truths[0])); /* a zero times infinity */
    }
}
END_TEST

/* A thread packs keys and values once, and each tile reads a part of them. */
START_TEST(causal_attention_is_that_of_its_mask) {
  enum { BEFORE = 1000, ROW_5 = 5 * SEEN_WIDTH };
  static float causal[SEEN_QUERIES * SEEN_WIDTH], by_mask[SEEN_QUERIES * SEEN_WIDTH];
  attend_seen(true, SEEN_QUERIES, 0, NO_MASK, 1, causal);
  attend_seen(true, SEEN_QUERIES, -BEFORE, BEFORE + 1, 1, by_mask);
  memcpy(causal + ROW_5, by_mask + ROW_5, SEEN_WIDTH * sizeof *causal);
  ck_assert(memcmp(causal, by_mask, sizeof causal) == 0);
  ck_assert(causal[0] == 1 && causal[SEEN_WIDTH] != 1);
}
END_TEST

RUN_SUITE("kernels_fast", parts_of_convolutions_do_not_depend_on_threads,
          plans_of_many_shapes_come_and_go, a_long_sum_does_not_depend_on_threads,
          few_rows_times_a_matrix, elements_that_lie_otherwise_have_the_same_bits,
          products_of_integers_wrap, products_of_16_bits_are_those_of_floats,
          attention_of_16_bits_is_that_of_floats, attention_has_room_for_both_factors,
          attention_without_hidden_keys_is_that_with_them, causal_attention_is_that_of_its_mask)
