/* checks: 10
 * kernels_conv_test.c - convolutions and pooling against plain loops and numbers worked out by
 * hand. */
#include "tests/kernels/kernels_nn.h"

/* --- Convolutions against loops ---------------------------------------------------------- */
typedef struct conv_case {
  const char *op;
  int spatial;
  bool transposed;
  int64_t batch, groups, ins, outs; /* channels of one group */
  int64_t in[3], kernel[3], stride[3], padding[3], dilation[3], extra[3];
} conv_case;

static int64_t out_size(const conv_case *c, int i) {
  int64_t reach = (c->kernel[i] - 1) * c->dilation[i];
  if (c->transposed)
    return (c->in[i] - 1) * c->stride[i] - 2 * c->padding[i] + reach + c->extra[i] + 1;
  return (c->in[i] + 2 * c->padding[i] - reach - 1) / c->stride[i] + 1;
}

static int64_t product(const int64_t *sizes, int count) {
  int64_t n = 1;
  for (int i = 0; i < count; i++)
    n *= sizes[i];
  return n;
}

/* Place `k` of a row-major box. */
static void unravel(const int64_t *sizes, int count, int64_t k, int64_t *out) {
  for (int i = count; i-- > 0; k /= sizes[i])
    out[i] = k % sizes[i];
}

/* Sends the input's element at x[] through the kernel's element k[]: where in the output it
 * arrives, or -1. Both directions of convolution are written as scattering here. */
static int64_t arrive(const conv_case *c, const int64_t *out, const int64_t *x, const int64_t *k) {
  int64_t at = 0;
  for (int i = 0; i < c->spatial; i++) {
    int64_t o = c->transposed ? x[i] * c->stride[i] - c->padding[i] + k[i] * c->dilation[i]
                              : x[i] + c->padding[i] - k[i] * c->dilation[i];
    if (!c->transposed && o % c->stride[i] != 0)
      return -1;
    o = c->transposed ? o : o / c->stride[i];
    if (o < 0 || o >= out[i])
      return -1;
    at = at * out[i] + o;
  }
  return at;
}

static void scatter_plane(const conv_case *c, const int64_t *out, const double *x, const double *w,
                          double *y) {
  int64_t place[3], tap[3];
  for (int64_t i = 0; i < product(c->in, c->spatial); i++)
    for (int64_t k = 0; k < product(c->kernel, c->spatial); k++) {
      unravel(c->in, c->spatial, i, place);
      unravel(c->kernel, c->spatial, k, tap);
      int64_t at = arrive(c, out, place, tap);
      if (at >= 0)
        y[at] += x[i] * w[k];
    }
}

static void convolve(const conv_case *c, const int64_t *out, const double *x, const double *w,
                     const double *bias, double *y) {
  int64_t plane = product(c->in, c->spatial), to = product(out, c->spatial);
  int64_t taps = product(c->kernel, c->spatial);
  for (int64_t i = 0; i < c->batch * c->groups * c->outs * to; i++)
    y[i] = bias[i / to % (c->groups * c->outs)];
  for (int64_t n = 0; n < c->batch; n++)
    for (int64_t g = 0; g < c->groups; g++)
      for (int64_t o = 0; o < c->outs; o++)
        for (int64_t i = 0; i < c->ins; i++) {
          int64_t row =
              c->transposed ? (g * c->ins + i) * c->outs + o : (g * c->outs + o) * c->ins + i;
          scatter_plane(c, out, x + ((n * c->groups + g) * c->ins + i) * plane, w + row * taps,
                        y + ((n * c->groups + g) * c->outs + o) * to);
        }
}

static shape shape_of(int64_t a, int64_t b, const int64_t *rest, int count) {
  shape s = {2 + (uint32_t)count, {a, b}};
  for (int i = 0; i < count; i++)
    s.sizes[2 + i] = rest[i];
  return s;
}

static fnz_arg list(const int64_t *numbers, int count, fnz_arg *room) {
  for (int i = 0; i < count; i++)
    room[i] = I(numbers[i]);
  return (fnz_arg){.tag = FNZ_ARG_LIST, .count = (uint32_t)count, .u.list = room};
}

static void check_conv(const conv_case *c, fnz_dtype dtype) {
  static double x[MOST_VALUES], w[MOST_VALUES], b[MOST_VALUES], want[MOST_VALUES];
  int n = c->spatial;
  int64_t out[3];
  fnz_arg room[5][3];
  for (int i = 0; i < n; i++)
    out[i] = out_size(c, i);
  int64_t first = c->groups * (c->transposed ? c->ins : c->outs);
  fnz_arg input = noise(1, dtype, shape_of(c->batch, c->groups * c->ins, c->in, n), x);
  fnz_arg weight =
      noise(2, dtype, shape_of(first, c->transposed ? c->outs : c->ins, c->kernel, n), w);
  fnz_arg bias = noise(3, dtype, S(c->groups * c->outs), b);
  fnz_arg stride = list(c->stride, n, room[0]), padding = list(c->padding, n, room[1]);
  fnz_arg dilation = list(c->dilation, n, room[2]), extra = list(c->extra, n, room[3]);
  convolve(c, out, x, w, b, want);
  RUN("convolution", input, weight, bias, stride, padding, dilation, B(c->transposed), extra,
      I(c->groups));
  shape s = shape_of(c->batch, c->groups * c->outs, out, n);
  has_sizes(0, s);
  is_close(0, want, volume(s), dtype == FNZ_F64 ? 1e-12 : 1e-5);
  if (c->transposed)
    RUN(c->op, input, weight, bias, stride, padding, extra, I(c->groups), dilation);
  else
    RUN(c->op, input, weight, bias, stride, padding, dilation, I(c->groups));
  is_close(0, want, volume(s), dtype == FNZ_F64 ? 1e-12 : 1e-5);
}

static const conv_case cases[] = {
    {"conv2d", 2, false, 2, 1, 5, 7, {6, 5}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, {0}},
    {"conv2d", 2, false, 1, 1, 40, 9, {1, 1}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, {0}},
    {"conv2d", 2, false, 1, 1, 3, 50, {17, 16}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, {0}},
    {"conv1d", 1, false, 3, 1, 4, 50, {60}, {1}, {1}, {0}, {1}, {0}},
    {"conv2d", 2, false, 2, 8, 1, 1, {1, 2}, {5, 5}, {1, 1}, {2, 2}, {1, 1}, {0}},
    {"conv2d", 2, false, 1, 1, 2, 3, {2, 3}, {5, 7}, {2, 2}, {2, 3}, {1, 1}, {0}},
    {"conv1d", 1, false, 1, 1, 2, 3, {2}, {6}, {3}, {5}, {1}, {0}},
    {"conv1d", 1, false, 2, 1, 3, 4, {9}, {3}, {1}, {0}, {1}, {0}},
    {"conv1d", 1, false, 1, 2, 2, 3, {11}, {2}, {3}, {2}, {2}, {0}},
    {"conv1d", 1, false, 2, 3, 1, 1, {75}, {5}, {1}, {2}, {1}, {0}},
    {"conv1d", 1, false, 1, 2, 1, 3, {40}, {4}, {1}, {9}, {3}, {0}},
    {"conv2d", 2, false, 2, 1, 3, 16, {8, 7}, {3, 3}, {1, 1}, {1, 1}, {1, 1}, {0}},
    {"conv2d", 2, false, 1, 1, 3, 5, {9, 8}, {3, 2}, {2, 3}, {1, 0}, {2, 1}, {0}},
    {"conv2d", 2, false, 2, 6, 1, 1, {8, 8}, {3, 3}, {2, 2}, {1, 1}, {1, 1}, {0}},
    {"conv2d", 2, false, 1, 2, 4, 4, {5, 5}, {1, 1}, {1, 1}, {0, 0}, {1, 1}, {0}},
    {"conv3d", 3, false, 1, 1, 2, 3, {4, 5, 4}, {2, 3, 2}, {1, 2, 1}, {1, 1, 0}, {1, 1, 2}, {0}},
    {"conv_transpose1d", 1, true, 2, 1, 3, 2, {5}, {3}, {2}, {1}, {1}, {1}},
    {"conv_transpose2d.input", 2, true, 1, 1, 4, 3, {4, 5}, {3, 2}, {2, 1}, {1, 0}, {1, 2}, {1, 0}},
    {"conv_transpose2d.input", 2, true, 2, 2, 2, 3, {4, 4}, {2, 2}, {2, 2}, {0, 0}, {1, 1}, {0, 0}},
    /* windows side by side, in one block and in several */
    {"conv_transpose1d", 1, true, 2, 1, 16, 5, {7}, {3}, {3}, {0}, {1}, {0}},
    {"conv_transpose2d.input", 2, true, 2, 1, 17, 3, {5, 6}, {2, 3}, {2, 3}, {0, 0}, {1, 1}, {0}},
    {"conv_transpose2d.input", 2, true, 1, 1, 16, 2, {3, 70}, {1, 2}, {1, 2}, {0, 0}, {1, 1}, {0}},
    /* windows that overlap, computed in parts */
    {"conv_transpose2d.input",
     2,
     true,
     1,
     1,
     32,
     4,
     {33, 26},
     {5, 4},
     {2, 2},
     {2, 1},
     {1, 1},
     {1, 0}},
    {"conv_transpose1d", 1, true, 1, 2, 16, 4, {1024}, {16}, {3}, {1}, {1}, {2}},
    {"conv_transpose3d.input",
     3,
     true,
     1,
     1,
     2,
     2,
     {3, 3, 3},
     {2, 2, 2},
     {2, 2, 2},
     {0},
     {1, 1, 1},
     {0}},
};

static void check_all(fnz_dtype dtype) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    start(2);
    check_conv(&cases[i], dtype);
    finish();
  }
}

START_TEST(float_convolutions_against_loops) {
  check_all(FNZ_F32);
}
END_TEST

START_TEST(double_convolutions_against_loops) {
  check_all(FNZ_F64);
}
END_TEST

START_TEST(padding_by_name) {
  start(1);
  fnz_arg same = {.tag = FNZ_ARG_STRING, .u.s = "same", .count = 4};
  fnz_arg other = {.tag = FNZ_ARG_STRING, .u.s = "full", .count = 4};
  fnz_arg x = T(S(1, 4), 1, 2, 3, 4), w = T(S(1, 1, 2), 1, 10);
  RUN("conv1d.padding", x, w, NONE, L1(1), same);
  has_sizes(0, S(1, 4));
  WANT(0, 21, 32, 43, 4); /* an even kernel is padded behind */
  RUN("conv1d.padding", x, w);
  WANT(0, 21, 32, 43);
  FAILS(ctx, "TYPE", APPLY("conv1d.padding", x, w, NONE, L1(1), other));
  finish();
}
END_TEST

/* An infinite weight meets no zeros around a line: the numbers are eager's. */
START_TEST(infinite_weights_of_channels) {
  start(1);
  fnz_arg x = T(S(1, 2, 3), 1, 1, 1, 1, 1, 1), w = T(S(2, 1, 2), INFINITY, 1, 1, 1);
  RUN("conv1d", x, w, NONE, L1(1), L1(1), L1(1), I(2));
  WANT(0, 1, INFINITY, INFINITY, INFINITY, 1, 2, 2, 1);
  RUN("conv_transpose1d", x, w, NONE, L1(1), L1(0), L1(0), I(2));
  WANT(0, INFINITY, INFINITY, INFINITY, 1, 1, 2, 2, 1);
  finish();
}
END_TEST

START_TEST(impossible_convolutions_are_refused) {
  start(1);
  fnz_arg x = T(S(1, 2, 3), 1, 2, 3, 4, 5, 6), w = T(S(1, 2, 2), 1, 1, 1, 1);
  FAILS(ctx, "BOUNDS", APPLY("conv1d", x, T(S(1, 1, 2), 1, 1)));
  FAILS(ctx, "BOUNDS", APPLY("conv1d", x, w, NONE, L1(0)));
  FAILS(ctx, "BOUNDS", APPLY("conv1d", x, w, NONE, L1(1), L1(-1)));
  FAILS(ctx, "BOUNDS", APPLY("conv1d", x, w, NONE, L1(1), L1(0), L1(INT64_MAX)));
  FAILS(ctx, "BOUNDS", APPLY("conv1d", x, w, T(S(2), 1, 1)));
  FAILS(ctx, "BOUNDS", APPLY("conv1d", x, w, NONE, L1(1), L1(0), L1(1), I(0)));
  FAILS(ctx, "BOUNDS", APPLY("conv1d", T(S(2), 1, 2), w));
  FAILS(ctx, "TYPE", APPLY("conv1d", x, TYPED(FNZ_F64, S(1, 2, 2), 1, 1, 1, 1)));
  finish();
}
END_TEST

/* Channels-last in, channels-last out, and the same numbers. */
START_TEST(channels_last_is_kept) {
  static double x[2 * 3 * 4 * 5], w[6 * 3 * 2 * 2], plain[MOST_VALUES];
  start(1);
  fnz_arg a = noise(1, FNZ_F32, S(2, 3, 4, 5), x), b = noise(2, FNZ_F32, S(6, 3, 2, 2), w);
  RUN("conv2d", a, b);
  memcpy(plain, result(0), sizeof plain);
  RUN("conv2d", tensor_at(FNZ_F32, S(2, 3, 4, 5), (const int64_t[]){60, 1, 15, 3}, x), b);
  is_close(0, plain, 2 * 6 * 3 * 4, 0);
  const fnz_geometry *g = cpu->geometry(cpu->self, outs[0]);
  ck_assert_int_eq(g->strides[1], 1);
  ck_assert_int_eq(g->strides[3], 6);
  finish();
}
END_TEST

/* --- Pooling ----------------------------------------------------------------------------- */
START_TEST(largest_of_windows_by_hand) {
  start(1);
  fnz_arg x = T(S(1, 1, 3, 4), 1, 2, 3, 4, 8, 7, 6, 5, 9, 0, 9, 0);
  FAILS(ctx, "BOUNDS", APPLY("max_pool2d", x, L2(4, 2), L1(1), L1(0), L1(1), B(true)));
  RUN("max_pool1d", T(S(1, 4), 1, NAN, 3, 2), L1(2), L1(1));
  WANT(0, NAN, NAN, 3);
  FAILS(ctx, "BOUNDS", APPLY("max_pool2d", x, L1(4)));
  FAILS(ctx, "BOUNDS", APPLY("max_pool2d", x, L1(2), L1(1), L1(2)));
  finish();
}
END_TEST

/* Rows of windows side by side give the same as windows one by one, also with indices: the first of
 * equal zeros, the last NaN. */
static void check_rows(int64_t columns, int64_t kernel, int64_t stride, int64_t padding, bool up) {
  double values[2 * 5 * 50], first[2 * 9 * 60];
  make_values((uint64_t)(columns * 7 + kernel), 2 * 5 * columns, values);
  for (int64_t i = 0; i < 2 * 5 * columns; i++)
    values[i] = i % 11 == 3 ? NAN : i % 5 == 1 ? -0.0 : i % 5 == 2 ? 0.0 : fmin(values[i], 0.25);
  fnz_arg x = tensor(FNZ_F32, S(2, 5, columns), values);
  RUN("max_pool2d_with_indices", x, L1(kernel), L1(stride), L1(padding), L1(1), B(up));
  size_t count = (size_t)fnz_geometry_numel(cpu->geometry(cpu->self, outs[0]));
  memcpy(first, result(0), count * sizeof *first);
  RUN("max_pool2d", x, L1(kernel), L1(stride), L1(padding), L1(1), B(up));
  ck_assert_uint_eq(count, (size_t)fnz_geometry_numel(cpu->geometry(cpu->self, outs[0])));
  for (size_t i = 0; i < count; i++)
    ck_assert(memcmp(&first[i], &result(0)[i], sizeof *first) == 0 ||
              (isnan(first[i]) && isnan(result(0)[i])));
}

START_TEST(rows_of_windows_are_windows) {
  for (int64_t columns = 5; columns <= 45; columns += 4)
    for (int64_t kernel = 1; kernel <= 4; kernel++)
      for (int64_t stride = 1; stride <= 3; stride++)
        for (int64_t padding = 0; padding <= kernel / 2; padding++) {
          start(1);
          check_rows(columns, kernel, stride, padding, columns % 8 == 1);
          finish();
        }
}
END_TEST

START_TEST(windows_that_miss_the_input) {
  start(1);
  RUN("max_pool1d", T(S(1, 2), 1, 2), L1(2), L1(1), L1(1), L1(3));
  WANT(0, -INFINITY);
  finish();
}
END_TEST

START_TEST(nearest_neighbours_by_hand) {
  start(1);
  fnz_arg x = T(S(1, 1, 2, 2), 1, 2, 3, 4);
  FAILS(ctx, "TYPE", APPLY("upsample_nearest2d.vec", x, NONE, NONE));
  finish();
}
END_TEST

RUN_SUITE("kernels_conv", float_convolutions_against_loops, double_convolutions_against_loops,
          padding_by_name, infinite_weights_of_channels, impossible_convolutions_are_refused,
          channels_last_is_kept, largest_of_windows_by_hand, rows_of_windows_are_windows,
          windows_that_miss_the_input, nearest_neighbours_by_hand)
