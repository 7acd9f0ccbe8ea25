/* checks: 46
 * kernels_nn_test.c - products, norms, softmax, attention, sorting, embedding and losses, against
 * numbers worked out by hand and against plain loops. */
#include "tests/kernels/kernels_nn.h"

/* --- Places ------------------------------------------------------------------------------ */
/* An index that is expanded along rows gives what a dense one gives. */
static void check_rows_at(const char *op, fnz_dtype dtype, int64_t width, const char *reduce) {
  enum { ROWS = 6, PLACES = 4, MOST_WIDTH = 70 };
  static double x[PLACES * MOST_WIDTH], v[ROWS * MOST_WIDTH], want[ROWS * MOST_WIDTH];
  double at[ROWS * MOST_WIDTH];
  const bool reads = strcmp(op, "gather") == 0;
  const shape s = S(reads ? ROWS : PLACES, width);
  for (int64_t i = 0; i < ROWS * width; i++)
    at[i] = (double)(i / width * 7 % 3 + (i / width == 4));
  start(2);
  fnz_arg args[] = {noise(1, dtype, S(PLACES, width), x), I(0), tensor(FNZ_I64, S(ROWS, width), at),
                    noise(2, dtype, S(ROWS, width), v), NONE};
  if (reduce)
    args[4] = (fnz_arg){.tag = FNZ_ARG_STRING, .u.s = reduce, .count = (uint32_t)strlen(reduce)};
  const size_t count = reads ? 3 : reduce ? 5 : 4;
  OK(ctx, apply(op, args, count));
  memcpy(want, result(0), (size_t)volume(s) * sizeof *want);
  for (int64_t i = 0; i < ROWS; i++)
    at[i] = at[i * width];
  RUN("expand", tensor(FNZ_I64, S(ROWS, 1), at), L2(ROWS, width));
  made[nmade] = outs[0], nouts = 0;
  args[2] = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = made[nmade++]};
  OK(ctx, apply(op, args, count));
  has_sizes(0, s);
  is_close(0, want, volume(s), 0);
  finish();
}

START_TEST(an_expanded_index_is_one_place_for_a_row) {
  static const fnz_dtype dtypes[] = {FNZ_F32, FNZ_F64, FNZ_F16, FNZ_I16};
  static const char *const ways[] = {"sum", "prod", "mean", "amax", "amin"};
  for (size_t i = 0; i < 4 * 3; i++) {
    const int64_t width = i % 3 ? (int64_t)(i % 3) * 35 : 1;
    check_rows_at("gather", dtypes[i / 3], width, NULL);
    check_rows_at("scatter.src", dtypes[i / 3], width, NULL);
    for (size_t k = 0; k < sizeof ways / sizeof *ways; k++)
      check_rows_at("scatter_reduce.two", dtypes[i / 3], width, ways[k]);
  }
}
END_TEST

/* --- Matrix products --------------------------------------------------------------------- */

START_TEST(zero_beta_keeps_nan_out) {
  start(1);
  RUN("addmm", T(S(1, 1), NAN), T(S(1, 1), 2), T(S(1, 1), 3), I(0));
  WANT(0, 6);
  RUN("mm", tensor(FNZ_F32, S(2, 0), NULL), tensor(FNZ_F32, S(0, 2), NULL));
  WANT(0, 0, 0, 0, 0);
  finish();
}
END_TEST

START_TEST(integer_products_wrap) {
  start(1);
  RUN("mm", TYPED(FNZ_I8, S(1, 2), 100, 100), TYPED(FNZ_I8, S(2, 1), 2, 1));
  WANT(0, 44); /* 300 mod 256 */
  finish();
}
END_TEST

/* The largest bytes, along rows that would leave 16 bits, and 24, in one part and in several. */
static void check_bytes(fnz_dtype dtype, const int64_t *sizes, bool by_columns) {
  const int64_t m = sizes[0], n = sizes[1], depth = sizes[2];
  static double a[MOST_VALUES], b[MOST_VALUES], want[MOST_VALUES];
  const double most = dtype == FNZ_U8 ? 255 : 127, least = dtype == FNZ_U8 ? 0 : -128;
  for (int64_t i = 0; i < m * depth; i++)
    a[i] = i % 997 ? most : least + (double)(i % 7);
  for (int64_t i = 0; i < n * depth; i++)
    b[i] = i % 991 ? 127 : -128;
  for (int64_t i = 0; i < m * n; i++) {
    want[i] = 0;
    for (int64_t k = 0; k < depth; k++)
      want[i] += a[i / n * depth + k] * b[k * n + i % n];
  }
  start(2);
  const int64_t columns[] = {1, depth};
  RUN("_int_mm", tensor(dtype, S(m, depth), a),
      tensor_at(FNZ_I8, S(depth, n), by_columns ? columns : NULL, b));
  has_sizes(0, S(m, n));
  is_close(0, want, m * n, 0);
  finish();
}

START_TEST(products_of_bytes_are_exact) {
  static const int64_t sizes[][3] = {{1, 1, 1100}, {1, 300, 37},   {3, 520, 37},
                                     {520, 3, 37}, {20, 20, 1500}, {7, 30, 1024},
                                     {300, 1, 80}, {70, 70, 400},  {3, 8, 1}};
  for (size_t i = 0; i < 4 * sizeof sizes / sizeof *sizes; i++)
    check_bytes(i % 2 ? FNZ_I8 : FNZ_U8, sizes[i / 4], i / 2 % 2);
  start(1);
  fnz_arg bytes = TYPED(FNZ_I8, S(1, 1), 2), more = TYPED(FNZ_U8, S(1, 1), 2);
  FAILS(ctx, "TYPE", APPLY("_int_mm", bytes, more));
  FAILS(ctx, "BOUNDS", APPLY("_int_mm", bytes, TYPED(FNZ_I8, S(2, 1), 1, 1)));
  RUN("_int_mm", tensor(FNZ_I8, S(2, 0), NULL), tensor(FNZ_I8, S(0, 2), NULL));
  WANT(0, 0, 0, 0, 0);
  finish();
}
END_TEST

/* Batches broadcast, and factors that lie transposed are read as they lie. */
START_TEST(batches_against_loops) {
  static double a[2 * 3 * 4 * 5], b[3 * 5 * 6], bt[3 * 5 * 6], want[2 * 3 * 4 * 6];
  start(2);
  fnz_arg x = noise(1, FNZ_F32, S(2, 3, 4, 5), a), y = noise(2, FNZ_F32, S(3, 5, 6), b);
  for (int i = 0; i < 2 * 3 * 4 * 6; i++) {
    want[i] = 0;
    for (int k = 0; k < 5; k++)
      want[i] += a[i / 6 * 5 + k] * b[(i / 24 % 3 * 5 + k) * 6 + i % 6];
  }
  RUN("matmul", x, y);
  has_sizes(0, S(2, 3, 4, 6));
  is_close(0, want, 2 * 3 * 4 * 6, 1e-6);
  fnz_arg turned = tensor_at(FNZ_F32, S(3, 5, 6), (const int64_t[]){30, 1, 5}, b);
  RUN("matmul", x, turned);
  is_close(0, want, 2 * 3 * 4 * 6, 1e-6);
  for (int i = 0; i < 90; i++)
    bt[i] = b[i / 30 * 30 + i % 5 * 6 + i / 5 % 6];
  RUN("matmul", x, tensor_at(FNZ_F32, S(3, 5, 6), (const int64_t[]){30, 6, 1}, b));
  is_close(0, want, 2 * 3 * 4 * 6, 1e-6);
  RUN("linear", x, tensor(FNZ_F32, S(6, 5), bt), T(S(6), 1, 1, 1, 1, 1, 1));
  has_sizes(0, S(2, 3, 4, 6));
  for (int i = 0; i < 2 * 3 * 4 * 6; i++) {
    want[i] = 1;
    for (int k = 0; k < 5; k++)
      want[i] += a[i / 6 * 5 + k] * bt[i % 6 * 5 + k];
  }
  is_close(0, want, 2 * 3 * 4 * 6, 1e-6);
  finish();
}
END_TEST

START_TEST(halves_round_once) {
  start(1);
  RUN("mm", TYPED(FNZ_BF16, S(1, 3), 256, 1, 1), TYPED(FNZ_BF16, S(3, 1), 1, 1, 1));
  WANT(0, 258); /* 257 would come of rounding after each step, or 256 */
  finish();
}
END_TEST

START_TEST(threads_change_no_bit) {
  static const char *const ops[] = {"mm", "softmax.int", "layer_norm"};
  static double values[MOST_VALUES], first[3][MOST_VALUES];
  for (int threads = 1; threads <= 4; threads += 3) {
    start(threads);
    fnz_arg x = noise(3, FNZ_F32, S(1, 4096, 4), values),
            square = noise(4, FNZ_F32, S(4, 4), values);
    RUN("matmul", x, square);
    for (size_t k = 0; k < 3; k++) {
      if (k == 1)
        RUN(ops[1], x, I(1));
      if (k == 2)
        RUN(ops[2], x, L2(4096, 4), NONE, NONE, F(1e-5), B(false));
      const double *got = result(0);
      if (threads == 1)
        memcpy(first[k], got, sizeof first[k]);
      ck_assert_msg(memcmp(first[k], got, sizeof first[k]) == 0, "%s differs", ops[k]);
    }
    finish();
  }
}
END_TEST

/* --- Normalisation ----------------------------------------------------------------------- */
START_TEST(batch_norm_by_hand) {
  start(1);
  fnz_arg x = T(S(2, 2, 2), 1, 3, 0, 0, 5, 7, 8, 8), mean = T(S(2), 1, 1), var = T(S(2), 4, 4);
  fnz_arg w = T(S(2), 1, 2), b = T(S(2), 0, 10);
  RUN("_native_batch_norm_legit_functional", x, w, b, mean, var, B(true), F(0.5), F(0));
  ck_assert_uint_eq(nouts, 5);
  const double r = sqrt(5); /* channel 0: mean 4, variance 5; channel 1: mean 4, variance 16 */
  WANT(0, -3 / r, -1 / r, 8, 8, 1 / r, 3 / r, 12, 12);
  WANT(1, 4, 4);
  WANT(2, 1 / r, 0.25);
  WANT(3, 2.5, 2.5);
  WANT(4, 2 + 0.5 * 20 / 3, 2 + 0.5 * 64 / 3);
  RUN("_native_batch_norm_legit_functional", x, w, b, mean, var, B(false), F(0.5), F(0));
  has_sizes(1, S(0));
  WANT(4, 4, 4);
  FAILS(ctx, "TYPE", APPLY("batch_norm", x, w, b, NONE, NONE, B(false), F(0.1), F(0), B(false)));
  finish();
}
END_TEST

static void normal(const double *x, int64_t count, double *out) {
  double mean = 0, var = 0;
  for (int64_t i = 0; i < count; i++)
    mean += x[i] / (double)count;
  for (int64_t i = 0; i < count; i++)
    var += (x[i] - mean) * (x[i] - mean) / (double)count;
  for (int64_t i = 0; i < count; i++)
    out[i] = (x[i] - mean) / sqrt(var + 1e-5);
}

START_TEST(rows_against_loops) {
  static double x[2 * 6 * 1500], want[2 * 6 * 1500];
  start(2);
  fnz_arg t = noise(5, FNZ_F32, S(2, 6, 1300), x);
  for (int i = 0; i < 12; i++)
    normal(x + i * 1300, 1300, want + i * 1300);
  RUN("native_layer_norm", t, L1(1300), NONE, NONE, F(1e-5));
  has_sizes(1, S(2, 6, 1));
  is_close(0, want, 2 * 6 * 1300, 1e-6);
  RUN("instance_norm", t, NONE, NONE, NONE, NONE, B(true), F(0.1), F(1e-5), B(false));
  is_close(0, want, 2 * 6 * 1300, 1e-6);
  for (int i = 0; i < 4; i++)
    normal(x + i * 3900, 3900, want + i * 3900);
  for (int i = 0; i < 2 * 6 * 1300; i++)
    want[i] = want[i] * (i / 1300 % 6 + 1) - i / 1300 % 6;
  RUN("group_norm", t, I(2), T(S(6), 1, 2, 3, 4, 5, 6), T(S(6), 0, -1, -2, -3, -4, -5), F(1e-5));
  is_close(0, want, 2 * 6 * 1300, 1e-6);
  FAILS(ctx, "BOUNDS", APPLY("layer_norm", t, L1(7)));
  finish();
}
END_TEST

/* --- Softmax and statistics -------------------------------------------------------------- */
START_TEST(softmax_by_hand) {
  start(1);
  fnz_arg x = T(S(2, 2), 0, 1, 1, 1);
  RUN("logsumexp", T(S(2), -INFINITY, -INFINITY), L1(0));
  WANT(0, -INFINITY);
  RUN("softmax.int", T(S(2), -INFINITY, -INFINITY), I(0));
  WANT(0, NAN, NAN);
  RUN("softmax.int", T(S(2), 1000, 1000), I(0));
  WANT(0, 0.5, 0.5);
  FAILS(ctx, "TYPE", APPLY("softmax.int", TYPED(FNZ_I64, S(2), 1, 2), I(0)));
  FAILS(ctx, "BOUNDS", APPLY("softmax.int", x, I(2)));
  finish();
}
END_TEST

START_TEST(statistics_by_hand) {
  start(1);
  RUN("var.correction", T(S(1), 3), NONE);
  WANT(0, NAN);
  fnz_arg v = T(S(2, 2), 3, -4, 0, 2);
  RUN("linalg_vector_norm", v, F(INFINITY));
  WANT(0, 4);
  finish();
}
END_TEST

/* --- Attention --------------------------------------------------------------------------- */
enum { HEADS = 4, QUERIES = 70, KEYS = 5, WIDTH = 3 };

/* `share` heads read one head of key and value; `mask` is added to the scores. */
static void attend(const double *q, const double *k, const double *v, const double *mask, int share,
                   double *out) {
  for (int h = 0; h < HEADS; h++)
    for (int i = 0; i < QUERIES; i++) {
      double s[KEYS], sum = 0;
      for (int j = 0; j < KEYS; j++) {
        s[j] = mask[i * KEYS + j];
        for (int c = 0; c < WIDTH; c++)
          s[j] +=
              q[(h * QUERIES + i) * WIDTH + c] * k[(h / share * KEYS + j) * WIDTH + c] / sqrt(3);
        sum += s[j] = exp(s[j]);
      }
      for (int c = 0; c < WIDTH; c++) {
        double *to = &out[(h * QUERIES + i) * WIDTH + c];
        *to = 0;
        for (int j = 0; j < KEYS && sum > 0; j++)
          *to += s[j] / sum * v[(h / share * KEYS + j) * WIDTH + c];
      }
    }
}

START_TEST(attention_against_loops) {
  static double q[HEADS * QUERIES * WIDTH], k[HEADS * KEYS * WIDTH], v[HEADS * KEYS * WIDTH];
  static double mask[QUERIES * KEYS], flags[QUERIES * KEYS], want[HEADS * QUERIES * WIDTH];
  const int64_t count = HEADS * QUERIES * WIDTH;
  start(2);
  fnz_arg a = noise(7, FNZ_F32, S(1, HEADS, QUERIES, WIDTH), q);
  fnz_arg b = noise(8, FNZ_F32, S(1, HEADS, KEYS, WIDTH), k);
  fnz_arg c = noise(9, FNZ_F32, S(1, HEADS, KEYS, WIDTH), v);
  fnz_arg added = noise(10, FNZ_F32, S(QUERIES, KEYS), mask);
  attend(q, k, v, mask, 1, want);
  RUN("scaled_dot_product_attention", a, b, c, added);
  is_close(0, want, count, 1e-6);
  for (int i = 0; i < QUERIES * KEYS; i++) {
    mask[i] = i % KEYS > i / KEYS ? -INFINITY : 0;
    flags[i] = i >= KEYS && i % KEYS <= i / KEYS; /* the first row is masked altogether */
  }
  attend(q, k, v, mask, 1, want);
  RUN("scaled_dot_product_attention", a, b, c, NONE, F(0), B(true));
  is_close(0, want, count, 1e-6);
  mask[0] = -INFINITY;
  attend(q, k, v, mask, 1, want);
  RUN("scaled_dot_product_attention", a, b, c, tensor(FNZ_BOOL, S(1, 1, QUERIES, KEYS), flags));
  is_close(0, want, count, 1e-6);
  finish();
}
END_TEST

START_TEST(attention_with_grouped_heads) {
  static double q[HEADS * QUERIES * WIDTH], k[HEADS * KEYS * WIDTH], v[HEADS * KEYS * WIDTH];
  static double mask[QUERIES * KEYS], want[HEADS * QUERIES * WIDTH];
  start(1);
  fnz_arg a = noise(7, FNZ_F64, S(HEADS, QUERIES, WIDTH), q);
  fnz_arg b = noise(8, FNZ_F64, S(2, KEYS, WIDTH), k), c = noise(9, FNZ_F64, S(2, KEYS, WIDTH), v);
  attend(q, k, v, mask, 2, want);
  RUN("scaled_dot_product_attention", a, b, c, NONE, F(0), B(false), DEFAULT, B(true));
  is_close(0, want, HEADS * QUERIES * WIDTH, 1e-12);
  FAILS(ctx, "BOUNDS", APPLY("scaled_dot_product_attention", a, b, c));
  FAILS(ctx, "ARGUMENT", APPLY("scaled_dot_product_attention", a, a, a, NONE, F(0.5)));
  finish();
}
END_TEST

/* --- Sorting ----------------------------------------------------------------------------- */
START_TEST(sorting_by_hand) {
  start(1);
  fnz_arg x = T(S(6), 2, NAN, -0.0, 0, -INFINITY, 2);
  RUN("sort", x);
  WANT(0, -INFINITY, 0, 0, 2, 2, NAN);
  WANT(1, 4, 2, 3, 0, 5, 1);
  RUN("sort.stable", x, B(true), I(0), B(true));
  WANT(0, NAN, 2, 2, 0, 0, -INFINITY);
  WANT(1, 1, 0, 5, 2, 3, 4);
  RUN("aminmax", T(S(2, 2), 1, 2, NAN, 0), I(1));
  WANT(0, 1, NAN);
  WANT(1, 2, NAN);
  FAILS(ctx, "BOUNDS", APPLY("topk", x, I(7)));
  finish();
}
END_TEST

START_TEST(long_sort_is_stable) {
  static double x[1000];
  start(2);
  for (int i = 0; i < 1000; i++)
    x[i] = i * 7 % 10;
  RUN("sort", tensor(FNZ_F32, S(1000), x));
  const double *places = result(1);
  for (int i = 1; i < 1000; i++)
    ck_assert(x[(int)places[i - 1]] < x[(int)places[i]] ||
              (x[(int)places[i - 1]] == x[(int)places[i]] && places[i - 1] < places[i]));
  finish();
}
END_TEST

/* --- Embedding, gates, losses ------------------------------------------------------------ */
START_TEST(embedding_by_hand) {
  start(1);
  fnz_arg w = T(S(3, 2), 1, 2, 3, 4, 5, 6);
  FAILS(ctx, "BOUNDS", APPLY("embedding", w, TYPED(FNZ_I64, S(1), 3)));
  FAILS(ctx, "BOUNDS", APPLY("embedding", w, TYPED(FNZ_I64, S(1), -1)));
  FAILS(ctx, "UNSUPPORTED", APPLY("one_hot", TYPED(FNZ_I64, S(0), 0)));
  finish();
}
END_TEST

START_TEST(gates_by_hand) {
  start(1);
  FAILS(ctx, "BOUNDS", APPLY("pixel_shuffle", T(S(3, 1, 1), 1, 2, 3), I(2)));
  finish();
}
END_TEST

START_TEST(class_losses_by_hand) {
  start(1);
  const double a = log(1 + exp(1)), b = a - 1; /* -log softmax of (0, 1) */
  fnz_arg x = T(S(3, 2), 0, 1, 0, 1, 0, 1), t = TYPED(FNZ_I64, S(3), 0, 1, -100);
  RUN("cross_entropy_loss", x, t);
  WANT(0, (a + b) / 2);
  RUN("cross_entropy_loss", x, t, T(S(2), 1, 3), I(1));
  WANT(0, (a + 3 * b) / 4);
  RUN("cross_entropy_loss", x, t, NONE, I(0), I(-100), F(0.5));
  WANT(0, 0.5 * a + (a + b) / 4, 0.5 * b + (a + b) / 4, 0);
  RUN("cross_entropy_loss", x, T(S(3, 2), 1, 0, 0, 1, 0.5, 0.5), NONE, I(2));
  WANT(0, 1.5 * (a + b));
  RUN("nll_loss_forward", x, t, NONE, I(1), I(-100));
  WANT(0, -0.5);
  WANT(1, 2);
  FAILS(ctx, "BOUNDS", APPLY("nll_loss", x, TYPED(FNZ_I64, S(3), 0, 2, 0)));
  finish();
}
END_TEST

/* --- Refusing ---------------------------------------------------------------------------- */
START_TEST(what_does_not_fit_is_refused) {
  start(1);
  fnz_arg a = T(S(2, 3), 1, 2, 3, 4, 5, 6), wide = TYPED(FNZ_F64, S(3, 1), 1, 2, 3);
  FAILS(ctx, "BOUNDS", APPLY("mm", a, a));
  FAILS(ctx, "TYPE", APPLY("mm", a, wide));
  FAILS(ctx, "BOUNDS", APPLY("bmm", a, a));
  FAILS(ctx, "UNSUPPORTED", APPLY("mm", TYPED(FNZ_BOOL, S(1, 1), 1), TYPED(FNZ_BOOL, S(1, 1), 1)));
  FAILS(ctx, "BOUNDS", APPLY("linear", a, T(S(1, 2), 1, 2)));
  FAILS(ctx, "BOUNDS", APPLY("addmm", T(S(3), 1, 2, 3), a, T(S(3, 2), 1, 2, 3, 4, 5, 6)));
  FAILS(ctx, "BOUNDS", APPLY("group_norm", a, I(2)));
  FAILS(ctx, "BOUNDS", APPLY("cross_entropy_loss", a, TYPED(FNZ_I64, S(3), 0, 1, 0)));
  finish();
}
END_TEST

/* --- Out of memory ----------------------------------------------------------------------- */
typedef struct meter {
  long left; /* allocations that still succeed */
} meter;

static void *metered(void *user, void *p, size_t old, size_t size) {
  meter *m = user;
  (void)old;
  if (size && m->left-- <= 0)
    return NULL;
  if (size)
    return realloc(p, size);
  free(p);
  return NULL;
}

START_TEST(memory_runs_out_anywhere) {
  static const char *const ops[] = {"matmul", "softmax.int", "sort", "aminmax", "glu"};
  for (size_t op = 0; op < sizeof ops / sizeof *ops; op++) {
    fnz_status status = FNZ_NO_MEMORY;
    for (long limit = 0; status == FNZ_NO_MEMORY; limit++) {
      meter m = {1000};
      ck_assert_int_eq(fnz_context_create(&(fnz_allocator){metered, &m}, &ctx), FNZ_OK);
      OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
      nmade = nouts = 0;
      fnz_arg x =
          tensor_at(FNZ_F16, S(2, 2), (const int64_t[]){1, 2}, (const double[]){1, 2, 3, 4});
      m.left = limit;
      fnz_arg args[] = {x, op ? I(1) : x};
      status = apply(ops[op], args, 2);
      ck_assert_msg(status == FNZ_OK || status == FNZ_NO_MEMORY, "%s",
                    fnz_last_error(ctx)->message);
      ck_assert(status != FNZ_OK || limit > 1);
      finish();
    }
  }
}
END_TEST

/* One product of four rows, wherever these lie: four products of one row may round differently. */
START_TEST(strides_of_one_row_change_no_bit) {
  enum { ROWS = 4, IN = 16, OUT = 8 };
  static const int64_t layouts[][3] = {{16, 16, 1}, {16, 64, 1}, {16, 1, 1}, {40, 16, 1}};
  double x[ROWS * IN], w[OUT * IN], want[ROWS * OUT];
  start(1);
  make_values(7, ROWS * IN, x);
  for (int i = 0; i < ROWS * IN; i++)
    x[i] /= 3;
  fnz_arg weight = noise(8, FNZ_F32, S(OUT, IN), w);
  RUN("linear", tensor(FNZ_F32, S(ROWS, IN), x), weight);
  memcpy(want, result(0), sizeof want);
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    fnz_arg in = tensor_at(FNZ_F32, S(ROWS, 1, IN), layouts[i], x);
    RUN("linear", in, weight);
    has_sizes(0, S(ROWS, 1, OUT));
    is_close(0, want, ROWS * OUT, 0);
  }
  finish();
}
END_TEST

/* Three products, whether the second factor lies in three places or, expanded, in one: joined to
 * one product of all rows they may round differently. */
START_TEST(an_expanded_factor_changes_no_bit) {
  enum { BATCH = 3, ROWS = 6, IN = 64, OUT = 48 };
  double x[BATCH * ROWS * IN], w[BATCH * IN * OUT], want[BATCH * ROWS * OUT];
  start(1);
  make_values(7, BATCH * ROWS * IN, x);
  make_values(8, IN * OUT, w);
  for (int i = 0; i < BATCH * ROWS * IN; i++)
    x[i] /= 3;
  for (int i = 0; i < BATCH * IN * OUT; i++)
    w[i] = i < IN * OUT ? w[i] / 7 : w[i - IN * OUT];
  fnz_arg rows = tensor(FNZ_F32, S(BATCH, ROWS, IN), x);
  RUN("bmm", rows, tensor(FNZ_F32, S(BATCH, IN, OUT), w));
  memcpy(want, result(0), sizeof want);
  RUN("expand_copy", tensor(FNZ_F32, S(IN, OUT), w), L3(BATCH, IN, OUT));
  fnz_arg expanded = {.tag = FNZ_ARG_VALUE, .u.value = made[nmade++] = outs[0]};
  nouts = 0;
  RUN("bmm", rows, expanded);
  is_close(0, want, BATCH * ROWS * OUT, 0);
  finish();
}
END_TEST

/* Operators that decompositions leave. */
START_TEST(left_by_decompositions) {
  start(1);
  FAILS(ctx, "BOUNDS",
        APPLY("unfold_backward", T(S(2, 3), 1, 2, 3, 4, 5, 6), L1(4), I(0), I(2), I(1)));
  RUN("_is_all_true", TYPED(FNZ_BOOL, S(3), 1, 0, 1));
  WANT(0, 0);
  RUN("_is_any_true", TYPED(FNZ_BOOL, S(3), 1, 0, 1));
  WANT(0, 1);
  FAILS(ctx, "TYPE", APPLY("_is_any_true", T(S(1), 1)));
  RUN("empty_permuted", L3(2, 3, 4), L3(1, 2, 0));
  const fnz_geometry *g = cpu->geometry(cpu->self, outs[0]);
  ck_assert_mem_eq(g->strides, ((const int64_t[]){1, 8, 2}), 3 * sizeof *g->strides);
  FAILS(ctx, "BOUNDS", APPLY("empty_permuted", L3(2, 3, 4), L3(1, 2, 1)));
  FAILS(ctx, "BOUNDS", APPLY("empty_permuted", L3(2, 3, 4), L2(1, 0)));
  finish();
}
END_TEST

SUITE_PART(kernels_nn_layers, left_by_decompositions, an_expanded_factor_changes_no_bit,
           strides_of_one_row_change_no_bit, zero_beta_keeps_nan_out, integer_products_wrap,
           products_of_bytes_are_exact, an_expanded_index_is_one_place_for_a_row,
           batches_against_loops, halves_round_once, threads_change_no_bit, batch_norm_by_hand,
           rows_against_loops, softmax_by_hand, statistics_by_hand, attention_against_loops,
           attention_with_grouped_heads, sorting_by_hand, long_sort_is_stable, embedding_by_hand,
           gates_by_hand, class_losses_by_hand, what_does_not_fit_is_refused,
           memory_runs_out_anywhere)

suite_part kernels_nn_order, kernels_nn_images, kernels_nn_products;
RUN_PARTS("kernels_nn", kernels_nn_layers, kernels_nn_order, kernels_nn_images, kernels_nn_products)
