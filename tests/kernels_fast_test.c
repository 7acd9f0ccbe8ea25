/* checks: 6
 * kernels_fast_test.c - kernels that take a short way by sizes: the bits do not depend on threads,
 * nor on where elements lie, and the numbers are those of plain loops. */
#include "kernels/cpu/matmul.h"
#include "tests/kernels_nn.h"

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
  fnzi_krn_convert(FNZ_BF16, halves, 2, FNZ_F32, values, 4, count);
  if (dtype == FNZ_BF16)
    fnzi_krn_convert(FNZ_F32, values, 4, FNZ_BF16, halves, 2, count);
  const void *cells = dtype == FNZ_BF16 ? (const void *)halves : (const void *)values;
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

/* --- Convolutions in parts ---------------------------------------------------------------------
 */
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

/* Both layouts of each factor, in each order. */
START_TEST(elements_that_lie_otherwise_have_the_same_bits) {
  static float a[2 * DEPTH], a_turned[2 * DEPTH], b[DEPTH * COLUMNS], turned[DEPTH * COLUMNS];
  static float c[4][2 * COLUMNS];
  draw(1, 2 * DEPTH, a), draw(2, DEPTH * COLUMNS, b);
  for (int64_t k = 0; k < DEPTH; k++) {
    for (int64_t i = 0; i < 2; i++)
      a_turned[k * 2 + i] = a[i * DEPTH + k];
    for (int64_t j = 0; j < COLUMNS; j++)
      turned[j * DEPTH + k] = b[k * COLUMNS + j];
  }
  for (fnzi_cpu_order order = FNZI_ORDER_DOTS; order <= FNZI_ORDER_STEPS; order++)
    for (int64_t columns = 1; columns <= COLUMNS; columns += COLUMNS - 1)
      for (int way = 0; way < 4; way++) {
        fnzi_cpu_product p = {.dtype = FNZ_F32, .m = 2, .n = columns, .k = DEPTH, .alpha = 1};
        p.a = way & 1 ? (fnzi_cpu_matrix){a_turned, 1, 2} : (fnzi_cpu_matrix){a, DEPTH, 1};
        p.b = way & 2 ? (fnzi_cpu_matrix){turned, 1, DEPTH} : (fnzi_cpu_matrix){b, COLUMNS, 1};
        p.c = c[way], p.c_row = columns, p.order = order;
        fnzi_cpu_product_run(&p);
        ck_assert(memcmp(c[way], c[0], (size_t)(2 * columns) * sizeof **c) == 0);
      }
}
END_TEST

/* As with the weight converted before. */
START_TEST(a_weight_of_bf16_is_read_as_it_lies) {
  static float wide[3 * COLUMNS], narrow[3 * COLUMNS];
  start(1);
  fnz_arg x = upload(FNZ_BF16, S(3, DEPTH), NULL, 1),
          w = upload(FNZ_BF16, S(COLUMNS, DEPTH), NULL, 2);
  RUN("linear", x, w);
  static uint16_t halves[3 * COLUMNS];
  OK(ctx, cpu->download(cpu->self, ctx, outs[0], halves));
  fnzi_krn_convert(FNZ_F32, narrow, 4, FNZ_BF16, halves, 2, 3 * COLUMNS);
  upload(FNZ_BF16, S(3, DEPTH), NULL, 1);
  fnz_geometry g = {.dtype = FNZ_F32, .rank = 2};
  g.sizes = (const int64_t[]){3, DEPTH}, g.strides = (const int64_t[]){DEPTH, 1};
  OK(ctx, cpu->upload(cpu->self, ctx, &g, values, &made[nmade]));
  fnz_arg x_wide = {.tag = FNZ_ARG_VALUE, .u.value = made[nmade++]};
  upload(FNZ_BF16, S(COLUMNS, DEPTH), NULL, 2);
  g.sizes = (const int64_t[]){COLUMNS, DEPTH};
  OK(ctx, cpu->upload(cpu->self, ctx, &g, values, &made[nmade]));
  fnz_arg w_wide = {.tag = FNZ_ARG_VALUE, .u.value = made[nmade++]};
  RUN("linear", x_wide, w_wide);
  fetch(wide);
  fnzi_krn_convert(FNZ_BF16, halves, 2, FNZ_F32, wide, 4, 3 * COLUMNS);
  fnzi_krn_convert(FNZ_F32, wide, 4, FNZ_BF16, halves, 2, 3 * COLUMNS);
  ck_assert(memcmp(wide, narrow, sizeof wide) == 0);
  finish();
}
END_TEST

RUN_SUITE("kernels_fast", parts_of_convolutions_do_not_depend_on_threads,
          plans_of_many_shapes_come_and_go, a_long_sum_does_not_depend_on_threads,
          few_rows_times_a_matrix, elements_that_lie_otherwise_have_the_same_bits,
          a_weight_of_bf16_is_read_as_it_lies)
