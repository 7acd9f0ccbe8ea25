/* checks: 16
 * kernels_more_test.c - order statistics, running extremes, counts, products, searches, moves and
 * resampling against what PyTorch 2.15 gives on a CPU. A tolerance is relative to the largest
 * number of a result; 0 asks for the same bits. */
#include "tests/kernels_nn.h"

#define SCALAR ((shape){0, {0}})
/* Result k: sizes, dtype, tolerance and the numbers; not compared when there are none.
 */
#define HAS(k, s, dtype, tolerance, ...) has(k, s, dtype, tolerance, (const double[]){__VA_ARGS__})
#define NO_INTS                          ((fnz_arg){.tag = FNZ_ARG_LIST})
#define INTS(...)                                                                                  \
  ints(sizeof((const int64_t[]){__VA_ARGS__}) / sizeof(int64_t), (const int64_t[]){__VA_ARGS__})

static void has(size_t k, shape s, fnz_dtype dtype, double tolerance, const double *want) {
  has_sizes(k, s);
  ck_assert_int_eq(cpu->geometry(cpu->self, outs[k])->dtype, dtype);
  is_close(k, want, volume(s), tolerance);
}

enum { MOST_INTS = 32 };

static fnz_arg ints(size_t count, const int64_t *values) {
  static fnz_arg items[MOST_INTS];
  static size_t used;
  if (used + count > MOST_INTS)
    used = 0;
  fnz_arg list = {.tag = FNZ_ARG_LIST, .count = (uint32_t)count, .u.list = &items[used]};
  for (size_t i = 0; i < count; i++)
    items[used++] = I(values[i]);
  return list;
}

static fnz_arg text(const char *s) {
  return (fnz_arg){.tag = FNZ_ARG_STRING, .count = (uint32_t)strlen(s), .u.s = s};
}
START_TEST(elements_of_a_sorted_row) {
  start(1);
  RUN("median", T(S(4), 3, -1, 2, 7));
  HAS(0, SCALAR, FNZ_F32, 0, 2);
  RUN("median", T(S(3), 3, NAN, 2));
  HAS(0, SCALAR, FNZ_F32, 0, NAN);
  RUN("median", T(S(0), 0));
  HAS(0, SCALAR, FNZ_F32, 0, NAN);
  RUN("median", TYPED(FNZ_I32, S(3), 2, 9, 4));
  HAS(0, SCALAR, FNZ_I32, 0, 4);
  RUN("median.dim", T(S(2, 3), 3, 1, 2, NAN, 0, NAN), I(1));
  HAS(0, S(2), FNZ_F32, 0, 2, NAN);
  HAS(1, S(2), FNZ_I64, 0, 2, 0);
  RUN("median.dim", TYPED(FNZ_U8, S(2, 2), 5, 1, 9, 4), I(0), B(true));
  HAS(0, S(1, 2), FNZ_U8, 0, 5, 1);
  HAS(1, S(1, 2), FNZ_I64, 0, 0, 0);
  RUN("median.dim", T(SCALAR, 2), I(0));
  HAS(0, SCALAR, FNZ_F32, 0, 2);
  HAS(1, SCALAR, FNZ_I64, 0, 0);
  RUN("nanmedian", T(S(3), 3, NAN, 2));
  HAS(0, SCALAR, FNZ_F32, 0, 2);
  RUN("nanmedian", T(S(2), NAN, NAN));
  HAS(0, SCALAR, FNZ_F32, 0, NAN);
  RUN("nanmedian.dim", TYPED(FNZ_F16, S(2, 3), 3, NAN, 2, NAN, NAN, NAN), I(-1));
  HAS(0, S(2), FNZ_F16, 0, 2, NAN);
  HAS(1, S(2), FNZ_I64, 0, 2, 0);
  RUN("kthvalue", T(S(4), 3, 1, NAN, 2), I(3));
  HAS(0, SCALAR, FNZ_F32, 0, 3);
  HAS(1, SCALAR, FNZ_I64, 0, 0);
  RUN("kthvalue", T(S(4), 3, 1, NAN, 2), I(4));
  HAS(0, SCALAR, FNZ_F32, 0, NAN);
  HAS(1, SCALAR, FNZ_I64, 0, 2);
  RUN("kthvalue", TYPED(FNZ_I64, S(2, 3), 6, 1, 9, 4, 2, 8), I(2), I(1), B(true));
  HAS(0, S(2, 1), FNZ_I64, 0, 6, 4);
  HAS(1, S(2, 1), FNZ_I64, 0, 0, 0);
  RUN("kthvalue", T(S(0, 2), 0), I(1), I(1));
  HAS(0, S(0), FNZ_F32, 0, 0);
  HAS(1, S(0), FNZ_I64, 0, 0);
  RUN("mode", T(S(5), 2, 1, 2, 1, 3));
  HAS(0, SCALAR, FNZ_F32, 0, 1);
  HAS(1, SCALAR, FNZ_I64, 0, 3);
  RUN("mode", TYPED(FNZ_BOOL, S(3, 2), 1, 0, 1, 0, 0, 0), I(0), B(true));
  HAS(0, S(1, 2), FNZ_BOOL, 0, 1, 0);
  HAS(1, S(1, 2), FNZ_I64, 0, 1, 2);
  FAILS(ctx, "BOUNDS", APPLY("median.dim", T(S(0, 2), 0), I(0)));
  FAILS(ctx, "TYPE", APPLY("median", TYPED(FNZ_BOOL, S(2), 1, 0)));
  FAILS(ctx, "BOUNDS", APPLY("kthvalue", T(S(2), 1, 2), I(3)));
  FAILS(ctx, "BOUNDS", APPLY("kthvalue", T(S(2), 1, 2), I(0)));
  FAILS(ctx, "TYPE", APPLY("kthvalue", TYPED(FNZ_BOOL, S(2), 1, 0), I(1)));
  FAILS(ctx, "BOUNDS", APPLY("mode", T(S(2, 0), 0)));
  finish();
}
END_TEST

START_TEST(ever_longer_starts) {
  start(1);
  RUN("cummax", T(S(6), 1, 1, 0, NAN, 2, NAN), I(0));
  HAS(0, S(6), FNZ_F32, 0, 1, 1, 1, NAN, NAN, NAN);
  HAS(1, S(6), FNZ_I64, 0, 0, 1, 1, 3, 3, 5);
  RUN("cummin", T(S(6), 1, 1, 2, NAN, 2, NAN), I(0));
  HAS(0, S(6), FNZ_F32, 0, 1, 1, 1, NAN, NAN, NAN);
  HAS(1, S(6), FNZ_I64, 0, 0, 1, 1, 3, 3, 5);
  RUN("cummax", TYPED(FNZ_I32, S(2, 3), 3, 1, 4, 1, 5, 9), I(0));
  HAS(0, S(2, 3), FNZ_I32, 0, 3, 1, 4, 3, 5, 9);
  HAS(1, S(2, 3), FNZ_I64, 0, 0, 0, 0, 0, 1, 1);
  RUN("cummin", TYPED(FNZ_U8, S(2, 3), 3, 1, 4, 1, 5, 9), I(-1));
  HAS(0, S(2, 3), FNZ_U8, 0, 3, 1, 1, 1, 1, 1);
  HAS(1, S(2, 3), FNZ_I64, 0, 0, 1, 1, 0, 0, 0);
  RUN("cummax", TYPED(FNZ_BOOL, S(3), 0, 1, 0), I(0));
  HAS(0, S(3), FNZ_BOOL, 0, 0, 1, 1);
  HAS(1, S(3), FNZ_I64, 0, 0, 1, 1);
  RUN("cummin", T(SCALAR, 4), I(0));
  HAS(0, SCALAR, FNZ_F32, 0, 4);
  HAS(1, SCALAR, FNZ_I64, 0, 0);
  RUN("cummax", T(S(0, 2), 0), I(1));
  HAS(0, S(0, 2), FNZ_F32, 0, 0);
  HAS(1, S(0, 2), FNZ_I64, 0, 0);
  RUN("logcumsumexp",
      T(S(2, 3), -0x1.2ca2e80000000p-3, 0x1.92811c0000000p-1, 0x1.e4c5ce0000000p-1,
        -0x1.1d45a60000000p+0, 0x1.b0d7a00000000p+0, -0x1.ca26e20000000p-1),
      I(1));
  HAS(0, S(2, 3), FNZ_F32, 1e-06, -0x1.2ca2e80000000p-3, 0x1.1e2dc40000000p+0, 0x1.baa9dc0000000p+0,
      -0x1.1d45a60000000p+0, 0x1.bfe1280000000p+0, 0x1.d173940000000p+0);
  RUN("logcumsumexp",
      TYPED(FNZ_F64, S(3, 2), -0x1.6c28f80000000p-2, 0x1.3b7da20000000p+0, 0x1.1afa440000000p-3,
            -0x1.aea4900000000p+0, 0x1.454d760000000p-2, 0x1.0ffd1a0000000p-3),
      I(0));
  HAS(0, S(3, 2), FNZ_F64, 1e-15, -0x1.6c28f80000000p-2, 0x1.3b7da20000000p+0, 0x1.3aac4c8d4f536p-1,
      0x1.49026af6dd8c9p+0, 0x1.2b966b9516de2p+0, 0x1.8f488678a8eebp+0);
  RUN("logcumsumexp", T(S(5), -INFINITY, -INFINITY, 1, INFINITY, NAN), I(0));
  HAS(0, S(5), FNZ_F32, 0, -INFINITY, -INFINITY, 1, INFINITY, NAN);
  RUN("logcumsumexp", TYPED(FNZ_BF16, S(3), 1, 2, 3), I(0));
  HAS(0, S(3), FNZ_BF16, 0.004, 1, 2.3125, 3.40625);
  RUN("logcumsumexp", TYPED(FNZ_F16, S(3), 1, 2, 3), I(0));
  HAS(0, S(3), FNZ_F16, 0.001, 1, 2.3125, 0x1.b440000000000p+1);
  FAILS(ctx, "UNSUPPORTED", APPLY("logcumsumexp", TYPED(FNZ_I64, S(2), 1, 2), I(0)));
  FAILS(ctx, "BOUNDS", APPLY("cummax", T(S(2), 1, 2), I(1)));
  finish();
}
END_TEST

START_TEST(counts_and_sums) {
  start(1);
  RUN("count_nonzero", T(S(4), 0, 1, NAN, 0));
  HAS(0, SCALAR, FNZ_I64, 0, 2);
  RUN("count_nonzero", TYPED(FNZ_U8, S(2, 3), 0, 1, 2, 0, 0, 0), I(1));
  HAS(0, S(2), FNZ_I64, 0, 2, 0);
  RUN("count_nonzero.dim_IntList", TYPED(FNZ_BOOL, S(2, 2), 1, 0, 1, 1), INTS(0, 1));
  HAS(0, SCALAR, FNZ_I64, 0, 3);
  RUN("count_nonzero", T(S(0, 2), 0), I(0));
  HAS(0, S(2), FNZ_I64, 0, 0, 0);
  RUN("nansum", T(S(3), 1, NAN, 2.5));
  HAS(0, SCALAR, FNZ_F32, 0, 3.5);
  RUN("nansum", T(S(2, 2), 1, NAN, NAN, NAN), INTS(1), B(true));
  HAS(0, S(2, 1), FNZ_F32, 0, 1, 0);
  RUN("nansum", TYPED(FNZ_I32, S(2), 1, 2));
  HAS(0, SCALAR, FNZ_I64, 0, 3);
  RUN("nansum", TYPED(FNZ_BOOL, S(2), 1, 1));
  HAS(0, SCALAR, FNZ_I64, 0, 2);
  RUN("nansum", TYPED(FNZ_I32, S(2), 1, -1), NONE, B(false),
      (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = FNZ_BOOL});
  HAS(0, SCALAR, FNZ_BOOL, 0, 1);
  RUN("nansum", TYPED(FNZ_BF16, S(2), 1, NAN));
  HAS(0, SCALAR, FNZ_BF16, 0, 1);
  RUN("nansum", TYPED(FNZ_F64, S(2), 1, NAN));
  HAS(0, SCALAR, FNZ_F64, 0, 1);
  RUN("trace", T(S(2, 3), 1, 2, 3, 4, 5, 6));
  HAS(0, SCALAR, FNZ_F32, 0, 6);
  RUN("trace", TYPED(FNZ_U8, S(2, 2), 1, 2, 3, 250));
  HAS(0, SCALAR, FNZ_I64, 0, 251);
  RUN("trace", T(S(0, 3), 0));
  HAS(0, SCALAR, FNZ_F32, 0, 0);
  RUN("trace", TYPED(FNZ_F16, S(2, 2), 1.5, 2, 3, 4.25));
  HAS(0, SCALAR, FNZ_F16, 0, 5.75);
  RUN("equal", T(S(2), 1, 2), T(S(2), 1, 2));
  HAS(0, SCALAR, FNZ_BOOL, 0, 1);
  RUN("equal", T(S(2), 1, 2), T(S(2), 1, 3));
  HAS(0, SCALAR, FNZ_BOOL, 0, 0);
  RUN("equal", T(S(1), NAN), T(S(1), NAN));
  HAS(0, SCALAR, FNZ_BOOL, 0, 0);
  RUN("equal", T(S(2), 1, 2), T(S(1), 1));
  HAS(0, SCALAR, FNZ_BOOL, 0, 0);
  RUN("equal", T(S(0), 0), T(S(0), 0));
  HAS(0, SCALAR, FNZ_BOOL, 0, 1);
  RUN("equal", TYPED(FNZ_I64, S(2), 1, 2), T(S(2), 1, 2));
  HAS(0, SCALAR, FNZ_BOOL, 0, 1);
  RUN("equal", TYPED(FNZ_BOOL, S(2), 1, 0), TYPED(FNZ_BOOL, S(2), 1, 0));
  HAS(0, SCALAR, FNZ_BOOL, 0, 1);
  FAILS(ctx, "BOUNDS", APPLY("trace", T(S(1), 1)));
  FAILS(ctx, "TYPE", APPLY("trace", TYPED(FNZ_BOOL, S(2, 2), 1, 1, 1, 1)));
  finish();
}
END_TEST

START_TEST(products_with_something_added) {
  start(1);
  RUN("addr", T(S(2, 3), -1, 1.5, 1.5, -2.5, -1.75, -2.25), T(S(2), -2.75, 0.75),
      T(S(3), 1, 0.25, -1.75));
  HAS(0, S(2, 3), FNZ_F32, 0, -3.75, 0.8125, 6.3125, -1.75, -1.5625, -3.5625);
  RUN("addr", T(S(3), -2.75, 1, -2.5), T(S(2), 0.75, -0.5), T(S(3), -2, -0.25, -2), F(0.5), F(-2));
  HAS(0, S(2, 3), FNZ_F32, 0, 1.625, 0.875, 1.75, -3.375, 0.25, -3.25);
  RUN("addr", T(S(2, 2), NAN, NAN, NAN, NAN), T(S(2), -2.5, -2.5), T(S(2), 2.25, -2), I(0));
  HAS(0, S(2, 2), FNZ_F32, 0, -5.625, 5, -5.625, 5);
  RUN("addr", TYPED(FNZ_I32, S(2), 1, 2), TYPED(FNZ_I32, S(2), 3, 4), TYPED(FNZ_I32, S(2), 5, 6),
      I(2), I(3));
  HAS(0, S(2, 2), FNZ_I32, 0, 47, 58, 62, 76);
  RUN("addr", TYPED(FNZ_I64, S(2, 1), 1, 1), T(S(2), 2.75, 0), T(S(2), 1.25, -0.75));
  HAS(0, S(2, 2), FNZ_F32, 0, 4.4375, -1.0625, 1, 1);
  RUN("addr", TYPED(FNZ_BOOL, S(2), 0, 0), TYPED(FNZ_BOOL, S(2), 1, 0),
      TYPED(FNZ_BOOL, S(2), 1, 1));
  HAS(0, S(2, 2), FNZ_BOOL, 0, 1, 1, 0, 0);
  RUN("addr", TYPED(FNZ_BF16, S(2, 2), 1.75, -1.25, -1, -3), TYPED(FNZ_BF16, S(2), 1.25, -3),
      TYPED(FNZ_BF16, S(2), 0.75, -1.25), I(2), I(1));
  HAS(0, S(2, 2), FNZ_BF16, 0.004, 4.4375, -4.0625, -4.25, -2.25);
  RUN("addbmm", T(S(2, 2), -1.25, -3, -2.5, -2.25),
      T(S(3, 2, 3), -1.25, -0.5, 0.75, 1.5, 0.5, 1.25, -0.75, 2.25, 1.25, -2.75, -0.5, 0, 1.25, 2,
        -1.5, -2.25, 2.75, 2.25),
      T(S(3, 3, 2), -0.25, -1.5, -1.75, -0.25, 1.75, -2, 2.5, 1, 1.75, 1.75, -2.25, 2.75, -2.25,
        -2.5, 1.5, 2.25, -2.5, 1.5));
  HAS(0, S(2, 2), FNZ_F32, 1e-06, 4.4375, 3.25, -5.75, 4.4375);
  RUN("addbmm", T(S(2), -2.5, 0.75),
      T(S(2, 2, 3), 1.25, 2.25, -2.25, 0.5, 0.75, -2.5, -0.75, 2.5, 1.75, -3, -1.75, 2.75),
      T(S(2, 3, 2), -1.75, -1.75, -1.25, -1.75, 1.75, 0.5, 1.5, 0, 0.25, -0.25, 1, 3), F(0.5),
      F(2));
  HAS(0, S(2, 2), FNZ_F32, 1e-06, -16.625, -4.875, -18, 10.875);
  RUN("addbmm", T(S(2, 2), NAN, NAN, NAN, NAN), T(S(1, 2, 1), 3, 0.25), T(S(1, 1, 2), 0.75, 0.25),
      I(0), I(1));
  HAS(0, S(2, 2), FNZ_F32, 0, 2.25, 0.75, 0.1875, 0.0625);
  RUN("addbmm", T(S(2, 2), -3, 0.75, 0.5, -1.5), T(S(0, 2, 3), 0), T(S(0, 3, 2), 0), I(2), I(1));
  HAS(0, S(2, 2), FNZ_F32, 0, -6, 1.5, 1, -3);
  RUN("addbmm", TYPED(FNZ_I64, S(2), 1, 2),
      TYPED(FNZ_I64, S(2, 2, 3), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1),
      TYPED(FNZ_I64, S(2, 3, 2), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), I(2), I(3));
  HAS(0, S(2, 2), FNZ_I64, 0, 20, 22, 20, 22);
  RUN("addbmm", TYPED(FNZ_F16, S(2, 2), 2.5, -0.25, -0.25, 0.5),
      TYPED(FNZ_F16, S(2, 2, 3), 3, 0.5, -2.5, 2.5, -0.5, 1, -2.5, -3, -0.5, -2.75, 2.75, 2.25),
      TYPED(FNZ_F16, S(2, 3, 2), 0.75, 0, 2.5, 1.75, -2.5, -2.75, -2.5, -0.25, -0.25, 3, 2.25,
            1.25));
  HAS(0, S(2, 2), FNZ_F16, 0.001, 18.125, -1.5, 9.125, 8.625);
  FAILS(ctx, "BOUNDS",
        APPLY("addr", T(S(2, 2), -0.75, 2, 0.5, -2.25), T(S(2, 1), 1, 2.5), T(S(2), -3, 2.5)));
  FAILS(
      ctx, "BOUNDS",
      APPLY("addr", T(S(3, 2), 0, 3, -3, 0.75, 2.75, -2), T(S(2), -1.25, 0.25), T(S(2), 2.25, -1)));
  FAILS(ctx, "BOUNDS",
        APPLY("addbmm", T(S(2, 2), 3, -0.75, -2, -0.25),
              T(S(3, 2, 3), 0.5, -3, -1.5, -1.75, -0.5, -2.25, 2.75, 0.25, -0.5, -1.75, 1.25, 0.25,
                3, -1.75, 2.75, -0.5, -1, 1.75),
              T(S(2, 3, 2), -0.5, 0, 3, 2.25, -0.5, -0.25, 2.25, -2, 2.5, 2, -3, 1.75)));
  finish();
}
END_TEST

START_TEST(products_of_vectors_and_more) {
  start(1);
  RUN("vdot", T(S(3), 2.5, -2.5, 3), T(S(3), 0.75, -1.5, 2.75));
  HAS(0, SCALAR, FNZ_F32, 0, 13.875);
  RUN("vdot", TYPED(FNZ_I32, S(2), 1, 2), TYPED(FNZ_I32, S(2), 3, 4));
  HAS(0, SCALAR, FNZ_I32, 0, 11);
  RUN("linalg_cross", T(S(2, 3), 0.25, -2.75, -0.25, -2.25, -0.5, 0.5),
      T(S(2, 3), -3, 0.75, -2.75, 1, 0.5, 1));
  HAS(0, S(2, 3), FNZ_F32, 0, 7.75, 1.4375, -8.0625, -0.75, 2.75, -0.625);
  RUN("linalg_cross", T(S(1, 3), 1, 1.75, 0), T(S(2, 3), 1.25, -2, 1.25, 2.25, -3, 3));
  HAS(0, S(2, 3), FNZ_F32, 0, 2.1875, -1.25, -4.1875, 5.25, -3, -6.9375);
  RUN("cross", T(S(3, 2), -1, 0, -2.5, -1.25, -0.25, -3), T(S(3, 2), -1.5, -0.5, 3, 0.5, 1, -1.75));
  HAS(0, S(3, 2), FNZ_F32, 0, -1.75, 3.6875, 1.375, 1.5, -6.75, -0.625);
  RUN("cross", TYPED(FNZ_U8, S(3), 1, 2, 3), TYPED(FNZ_U8, S(3), 3, 5, 1));
  HAS(0, S(3), FNZ_U8, 0, 243, 8, 255);
  RUN("linalg_cross", T(S(3, 2), -1.5, 2, -0.75, 0.5, 0, 2.75),
      T(S(3, 2), 1, 1.25, -2.75, 0.5, -1, 0), I(0));
  HAS(0, S(3, 2), FNZ_F32, 0, 0.75, -1.375, -1.5, 3.4375, 4.875, 0.375);
  RUN("tensordot",
      T(S(2, 3, 4), -2.25, 2, 1.75, -1, 2.5, -2.5, -2.5, 0.5, 1.25, -3, -2, -0.5, 1, -3, 3, 0.5,
        0.25, 2.25, 0.25, -2.5, 1.75, 2.75, 0.75, 3),
      T(S(4, 3, 5), 1.25, 1, -0.5, -1.5, -1.25, 0, 0.25, 2.75, -0.75, -2.75, 0.5, -1, -1.5, 1.25, 0,
        1, -0.25, -0.5, -0.75, 3, 2.75, 2, -1.75, 0.75, 0, -0.25, -1.75, -2.5, 2, -0.25, 0.25, 0.25,
        0.25, -1.5, 1, -1.25, 2, -0.75, 0.5, 2.5, 2.5, 2.5, 0.75, 1, 1.25, -0.5, -3, -2, -2.25,
        2.25, -1.5, -0.25, 1.5, -2, -1, -3, -1, 0.25, 0.75, -1.75),
      INTS(1, 2), INTS(1, 0));
  HAS(0, S(2, 5), FNZ_F32, 1e-06, -6.5, -9.3125, 20.4375, -11.3125, -6.1875, 1.4375, -1, -14.625,
      12.4375, -8.6875);
  RUN("tensordot", T(S(2, 3), 1, 2.5, -0.25, 3, 2, 3), T(S(3), 2.25, -0.5, 3), INTS(-1), INTS(0));
  HAS(0, S(2), FNZ_F32, 1e-06, 0.25, 14.75);
  RUN("tensordot", TYPED(FNZ_I64, S(2), 1, 2), TYPED(FNZ_I64, S(2), 3, 4), NO_INTS, NO_INTS);
  HAS(0, S(2, 2), FNZ_I64, 0, 3, 4, 6, 8);
  RUN("tensordot", T(S(2, 0), 0), T(S(0, 2), 0), INTS(1), INTS(0));
  HAS(0, S(2, 2), FNZ_F32, 0, 0, 0, 0, 0);
  RUN("tensordot", T(S(1, 2), 2, 3), T(S(2, 2), 0, 1, 4, 5), INTS(0), INTS(0));
  HAS(0, S(2, 2), FNZ_F32, 0, 8, 12, 12, 18);
  RUN("tensordot", T(S(2, 2), 0, 1, 4, 5), T(S(1, 2), 2, 3), INTS(-2), INTS(0));
  HAS(0, S(2, 2), FNZ_F32, 0, 8, 12, 12, 18);
  RUN("tensordot", T(S(1, 2), 2, 3), T(S(0, 1), 0), INTS(0), INTS(0));
  HAS(0, S(2, 1), FNZ_F32, 0, 0, 0);
  FAILS(ctx, "TYPE", APPLY("vdot", T(S(2), 2.75, -1.25), TYPED(FNZ_F64, S(2), -1.5, -0.5)));
  FAILS(ctx, "BOUNDS",
        APPLY("linalg_cross", T(S(2, 2), -1, 3, -1.5, -2), T(S(2, 2), 0.25, 2.5, -2, -1.75)));
  FAILS(ctx, "BOUNDS",
        APPLY("cross", T(S(2, 2), 2, -2.5, -2.5, 2.25), T(S(2, 2), -3, -1.5, 1.75, 3)));
  FAILS(ctx, "TYPE",
        APPLY("linalg_cross", TYPED(FNZ_BOOL, S(3), 1, 1, 1), TYPED(FNZ_BOOL, S(3), 1, 1, 1)));
  FAILS(ctx, "BOUNDS",
        APPLY("linalg_cross", T(S(3), -0.75, -1, 0), T(S(2, 3), 2.75, 2, 3, 0.75, 1.5, -0.25)));
  FAILS(ctx, "BOUNDS",
        APPLY("tensordot", T(S(2, 3), -2.75, -1.75, 1, 1, -1.5, -1.25),
              T(S(4, 2), 1.5, -0.25, -3, 0, -0.25, 2.25, 0.5, 3), INTS(1), INTS(0)));
  FAILS(ctx, "TYPE",
        APPLY("tensordot", T(S(2, 3), 1.25, -2.75, 0.5, -1, 2.5, 2),
              TYPED(FNZ_F64, S(3, 2), 3, -0.25, -2.75, -2, 2, -2.25), INTS(1), INTS(0)));
  FAILS(ctx, "BOUNDS",
        APPLY("tensordot", T(S(2, 3), 0.25, -2, 0.5, 0.5, 0.5, 2.25),
              T(S(3, 2), 1.75, 1.75, 1.25, -1, -2.5, -1.25), INTS(1), NO_INTS));
  finish();
}
END_TEST

START_TEST(places_in_sorted_numbers) {
  start(1);
  RUN("searchsorted.Tensor", T(S(4), 1, 2, 2, 3), T(S(4), 2, 4, 0, NAN));
  HAS(0, S(4), FNZ_I64, 0, 1, 4, 0, 4);
  RUN("searchsorted.Tensor", T(S(4), 1, 2, 2, 3), T(S(3), 2, 4, 0), B(true), B(true));
  HAS(0, S(3), FNZ_I32, 0, 3, 4, 0);
  RUN("searchsorted.Tensor", T(S(4), 1, 2, 2, 3), TYPED(FNZ_I64, S(2), 2, 4), B(false), B(false),
      text("right"));
  HAS(0, S(2), FNZ_I64, 0, 3, 4);
  RUN("searchsorted.Tensor", T(S(2, 3), 1, 3, 5, 2, 4, 6), T(S(2, 2), 3, 9, 2, 4));
  HAS(0, S(2, 2), FNZ_I64, 0, 1, 3, 0, 1);
  RUN("searchsorted.Tensor", T(S(3), 3, 1, 2), T(S(2), 2.5, 0), B(false), B(false), NONE,
      TYPED(FNZ_I64, S(3), 1, 2, 0));
  HAS(0, S(2), FNZ_I64, 0, 2, 0);
  RUN("searchsorted.Tensor", T(S(3), 1, 2, NAN), T(S(2), NAN, 3));
  HAS(0, S(2), FNZ_I64, 0, 3, 3);
  RUN("searchsorted.Scalar", TYPED(FNZ_I32, S(3), 1, 2, 4), F(2.5));
  HAS(0, SCALAR, FNZ_I64, 0, 2);
  RUN("searchsorted.Scalar", T(S(2), 0x1.99999a0000000p-4, 0x1.99999a0000000p-3), F(0.1));
  HAS(0, SCALAR, FNZ_I64, 0, 0);
  RUN("searchsorted.Scalar", TYPED(FNZ_I32, S(3), 1, 2, 4), I(2));
  HAS(0, SCALAR, FNZ_I64, 0, 1);
  RUN("searchsorted.Tensor", T(S(0), 0), T(S(1), 1));
  HAS(0, S(1), FNZ_I64, 0, 0);
  RUN("bucketize.Tensor", T(S(2, 2), 2, 0, 3, 1), T(S(4), 1, 2, 2, 3));
  HAS(0, S(2, 2), FNZ_I64, 0, 1, 0, 3, 0);
  RUN("bucketize.Tensor", T(S(0), 0), T(S(4), 1, 2, 2, 3), B(true));
  HAS(0, S(0), FNZ_I32, 0, 0);
  RUN("bucketize.Scalar", I(2), T(S(4), 1, 2, 2, 3), B(false), B(true));
  HAS(0, SCALAR, FNZ_I64, 0, 3);
  RUN("bucketize.Tensor", TYPED(FNZ_BOOL, S(2), 1, 0), TYPED(FNZ_U8, S(3), 0, 1, 2));
  HAS(0, S(2), FNZ_I64, 0, 1, 0);
  FAILS(ctx, "BOUNDS",
        APPLY("searchsorted.Tensor", T(S(2, 3), 2.5, 0.25, -1, -1.5, -1.5, 0.25),
              T(S(3), -0.75, -2.25, 2.25)));
  FAILS(ctx, "TYPE",
        APPLY("searchsorted.Tensor", T(S(4), 1, 2, 2, 3), T(S(4), 1, 2, 2, 3), B(false), B(true),
              text("left")));
  FAILS(ctx, "TYPE",
        APPLY("searchsorted.Tensor", T(S(4), 1, 2, 2, 3), T(S(4), 1, 2, 2, 3), B(false), B(false),
              text("up")));
  FAILS(ctx, "BOUNDS",
        APPLY("bucketize.Tensor", T(S(4), 1, 2, 2, 3), T(S(2, 2), 3, -1, 2.25, 1.75)));
  FAILS(ctx, "TYPE", APPLY("bucketize.Tensor", TYPED(FNZ_BOOL, S(1), 1), TYPED(FNZ_BOOL, S(1), 1)));
  FAILS(ctx, "BOUNDS",
        APPLY("searchsorted.Tensor", T(S(4), 1, 2, 2, 3), T(S(4), 1, 2, 2, 3), B(false), B(false),
              NONE, TYPED(FNZ_I64, S(4), 0, 1, 2, 9)));
  finish();
}
END_TEST

START_TEST(images_padded) {
  start(1);
  RUN("reflection_pad1d", T(S(2, 3), 0, 1, 2, 3, 4, 5), INTS(2, 1));
  HAS(0, S(2, 6), FNZ_F32, 0, 2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4);
  RUN("reflection_pad1d", T(S(1, 2, 3), 0, 1, 2, 3, 4, 5), INTS(-1, 2));
  HAS(0, S(1, 2, 4), FNZ_F32, 0, 1, 2, 1, 0, 4, 5, 4, 3);
  RUN("reflection_pad2d", T(S(1, 1, 2, 3), 0, 1, 2, 3, 4, 5), INTS(2, 1, 1, 0));
  HAS(0, S(1, 1, 3, 6), FNZ_F32, 0, 5, 4, 3, 4, 5, 4, 2, 1, 0, 1, 2, 1, 5, 4, 3, 4, 5, 4);
  RUN("reflection_pad2d", TYPED(FNZ_U8, S(1, 3, 2), 0, 1, 2, 3, 4, 5), INTS(1, 1, 2, 0));
  HAS(0, S(1, 5, 4), FNZ_U8, 0, 5, 4, 5, 4, 3, 2, 3, 2, 1, 0, 1, 0, 3, 2, 3, 2, 5, 4, 5, 4);
  RUN("reflection_pad3d", T(S(1, 1, 2, 2, 2), 0, 1, 2, 3, 4, 5, 6, 7), INTS(1, 1, 1, 0, 1, 1));
  HAS(0, S(1, 1, 4, 3, 4), FNZ_F32, 0, 7, 6, 7, 6, 5, 4, 5, 4, 7, 6, 7, 6, 3, 2, 3, 2, 1, 0, 1, 0,
      3, 2, 3, 2, 7, 6, 7, 6, 5, 4, 5, 4, 7, 6, 7, 6, 3, 2, 3, 2, 1, 0, 1, 0, 3, 2, 3, 2);
  RUN("replication_pad1d", TYPED(FNZ_BF16, S(1, 2, 3), 0, 1, 2, 3, 4, 5), INTS(2, -1));
  HAS(0, S(1, 2, 4), FNZ_BF16, 0, 0, 0, 0, 1, 3, 3, 3, 4);
  RUN("replication_pad2d", T(S(1, 1, 2, 3), 0, 1, 2, 3, 4, 5), INTS(2, 1, 3, -1));
  HAS(0, S(1, 1, 4, 6), FNZ_F32, 0, 0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 2, 2, 0, 0, 0, 1, 2, 2, 0, 0, 0,
      1, 2, 2);
  RUN("replication_pad2d", TYPED(FNZ_I64, S(1, 2, 3), 0, 1, 2, 3, 4, 5), INTS(0, 1, 1, 1));
  HAS(0, S(1, 4, 4), FNZ_I64, 0, 0, 1, 2, 2, 0, 1, 2, 2, 3, 4, 5, 5, 3, 4, 5, 5);
  RUN("replication_pad3d", T(S(1, 2, 2, 2), 0, 1, 2, 3, 4, 5, 6, 7), INTS(1, 0, 0, 2, 1, 1));
  HAS(0, S(1, 4, 4, 3), FNZ_F32, 0, 0, 0, 1, 2, 2, 3, 2, 2, 3, 2, 2, 3, 0, 0, 1, 2, 2, 3, 2, 2, 3,
      2, 2, 3, 4, 4, 5, 6, 6, 7, 6, 6, 7, 6, 6, 7, 4, 4, 5, 6, 6, 7, 6, 6, 7, 6, 6, 7);
  RUN("reflection_pad2d", T(S(0, 1, 2, 2), 0), INTS(1, 1, 1, 1));
  HAS(0, S(0, 1, 4, 4), FNZ_F32, 0, 0);
  FAILS(ctx, "BOUNDS", APPLY("reflection_pad1d", T(S(2, 3), 0, 1, 2, 3, 4, 5), INTS(3, 1)));
  FAILS(ctx, "BOUNDS", APPLY("replication_pad1d", T(S(1, 2, 3), 0, 1, 2, 3, 4, 5), INTS(-2, -1)));
  FAILS(ctx, "BOUNDS", APPLY("reflection_pad2d", T(S(2, 3), 0, 1, 2, 3, 4, 5), INTS(1, 1, 1, 1)));
  FAILS(ctx, "BOUNDS", APPLY("reflection_pad1d", T(S(2, 3), 0, 1, 2, 3, 4, 5), INTS(1, 1, 1, 1)));
  FAILS(ctx, "TYPE",
        APPLY("replication_pad2d", TYPED(FNZ_BOOL, S(1, 2, 2), 1, 1, 1, 1), INTS(1, 1, 1, 1)));
  finish();
}
END_TEST

START_TEST(windows_as_columns) {
  start(1);
  RUN("im2col", T(S(1, 2, 2, 3), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), INTS(2, 2), INTS(1, 1),
      INTS(0, 0), INTS(1, 1));
  HAS(0, S(1, 8, 2), FNZ_F32, 0, 0, 1, 1, 2, 3, 4, 4, 5, 6, 7, 7, 8, 9, 10, 10, 11);
  RUN("im2col", T(S(1, 3, 3), 0, 1, 2, 3, 4, 5, 6, 7, 8), INTS(2, 2), INTS(2, 1), INTS(1, 0),
      INTS(2, 1));
  HAS(0, S(4, 4), FNZ_F32, 0, 0, 0, 3, 4, 0, 0, 4, 5, 3, 4, 0, 0, 4, 5, 0, 0);
  RUN("im2col", TYPED(FNZ_BOOL, S(1, 2, 2), 1, 1, 1, 1), INTS(1, 2), INTS(1, 1), INTS(0, 1),
      INTS(1, 2));
  HAS(0, S(2, 4), FNZ_BOOL, 0, 0, 1, 0, 1, 1, 0, 1, 0);
  RUN("im2col", T(S(0, 1, 2, 2), 0), INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1));
  HAS(0, S(0, 4, 1), FNZ_F32, 0, 0);
  RUN("col2im", T(S(1, 4, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), INTS(3, 3),
      INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1));
  HAS(0, S(1, 1, 3, 3), FNZ_F32, 0, 0, 5, 5, 10, 30, 20, 10, 25, 15);
  RUN("col2im", T(S(8, 2), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), INTS(2, 3),
      INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1));
  HAS(0, S(2, 2, 3), FNZ_F32, 0, 0, 3, 3, 4, 11, 7, 8, 19, 11, 12, 27, 15);
  RUN("col2im",
      TYPED(FNZ_F64, S(1, 4, 9), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18,
            19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35),
      INTS(3, 3), INTS(2, 2), INTS(2, 2), INTS(1, 1), INTS(1, 1));
  HAS(0, S(1, 1, 3, 3), FNZ_F64, 0, 4, 17, 13, 26, 70, 44, 22, 53, 31);
  RUN("col2im",
      TYPED(FNZ_BOOL, S(8, 4), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1,
            1, 1, 1, 1, 1, 1, 1, 1, 1),
      INTS(3, 3), INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1));
  HAS(0, S(2, 3, 3), FNZ_BOOL, 0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1);
  RUN("col2im",
      T(S(1, 4, 16), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21,
        22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44,
        45, 46, 47, 48, 49, 50, 51, 52, 53, 54, 55, 56, 57, 58, 59, 60, 61, 62, 63),
      INTS(5, 4), INTS(2, 2), INTS(3, 2), INTS(1, 1), INTS(1, 1));
  HAS(0, S(1, 1, 5, 4), FNZ_F32, 0, 5, 26, 28, 22, 9, 34, 36, 26, 46, 124, 128, 80, 37, 90, 92, 54,
      41, 98, 100, 58);
  RUN("col2im", TYPED(FNZ_F16, S(4, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
      INTS(3, 3), INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1));
  HAS(0, S(1, 3, 3), FNZ_F16, 0, 0, 5, 5, 10, 30, 20, 10, 25, 15);
  RUN("channel_shuffle", T(S(1, 6, 2), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), I(3));
  HAS(0, S(1, 6, 2), FNZ_F32, 0, 0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10, 11);
  RUN("channel_shuffle",
      TYPED(FNZ_I32, S(2, 4, 1, 2), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15), I(2));
  HAS(0, S(2, 4, 1, 2), FNZ_I32, 0, 0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15);
  RUN("channel_shuffle", T(S(2, 0, 3), 0), I(1));
  HAS(0, S(2, 0, 3), FNZ_F32, 0, 0);
  RUN("rot90", T(S(2, 3), 0, 1, 2, 3, 4, 5));
  HAS(0, S(3, 2), FNZ_F32, 0, 2, 5, 1, 4, 0, 3);
  RUN("rot90", T(S(2, 3), 0, 1, 2, 3, 4, 5), I(2));
  HAS(0, S(2, 3), FNZ_F32, 0, 5, 4, 3, 2, 1, 0);
  RUN("rot90", T(S(2, 3), 0, 1, 2, 3, 4, 5), I(-1));
  HAS(0, S(3, 2), FNZ_F32, 0, 3, 0, 4, 1, 5, 2);
  RUN("rot90", T(S(2, 3), 0, 1, 2, 3, 4, 5), I(4));
  HAS(0, S(2, 3), FNZ_F32, 0, 0, 1, 2, 3, 4, 5);
  RUN("rot90", TYPED(FNZ_BOOL, S(2, 1, 3), 0, 1, 1, 1, 1, 1), I(3), INTS(2, 0));
  HAS(0, S(3, 1, 2), FNZ_BOOL, 0, 1, 1, 1, 1, 0, 1);
  FAILS(ctx, "TYPE",
        APPLY("col2im",
              TYPED(FNZ_I32, S(4, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
              INTS(3, 3), INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1)));
  FAILS(ctx, "TYPE",
        APPLY("im2col", TYPED(FNZ_I32, S(1, 3, 3), 0, 1, 2, 3, 4, 5, 6, 7, 8), INTS(2, 2),
              INTS(1, 1), INTS(0, 0), INTS(1, 1)));
  FAILS(ctx, "BOUNDS",
        APPLY("im2col", T(S(1, 3, 3), 0, 1, 2, 3, 4, 5, 6, 7, 8), INTS(4, 2), INTS(1, 1),
              INTS(0, 0), INTS(1, 1)));
  FAILS(ctx, "BOUNDS",
        APPLY("im2col", T(S(1, 3, 3), 0, 1, 2, 3, 4, 5, 6, 7, 8), INTS(2, 2), INTS(1, 0),
              INTS(0, 0), INTS(1, 1)));
  FAILS(ctx, "BOUNDS",
        APPLY("col2im",
              T(S(1, 4, 5), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19),
              INTS(3, 3), INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1)));
  FAILS(ctx, "BOUNDS",
        APPLY("col2im",
              T(S(1, 5, 4), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19),
              INTS(3, 3), INTS(2, 2), INTS(1, 1), INTS(0, 0), INTS(1, 1)));
  FAILS(ctx, "BOUNDS",
        APPLY("channel_shuffle", T(S(1, 6, 2), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), I(4)));
  FAILS(ctx, "BOUNDS",
        APPLY("channel_shuffle", T(S(2, 6), 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11), I(2)));
  FAILS(ctx, "BOUNDS", APPLY("rot90", T(S(2, 3), 0, 1, 2, 3, 4, 5), I(1), INTS(0, 0)));
  FAILS(ctx, "BOUNDS", APPLY("rot90", T(S(3), 0, 1, 2), I(1), INTS(0, 1)));
  finish();
}
END_TEST

START_TEST(images_resampled) {
  start(1);
  RUN("upsample_linear1d", T(S(1, 2, 4), 2.25, 1.25, -2.75, -1.75, 0.5, 0.5, 2.25, -0.25), INTS(6),
      B(false));
  HAS(0, S(1, 2, 6), FNZ_F32, 1e-06, 2.25, 1.75, 0x1.2aaaa00000000p-1, -0x1.0aaab00000000p+1, -2.25,
      -1.75, 0.5, 0.5, 0x1.95555a0000000p-1, 0x1.f5555a0000000p+0, 1, -0.25);
  RUN("upsample_linear1d", T(S(1, 2, 4), 2.75, -0.5, -2.25, 1.25, -1.5, -1, -3, 0), INTS(3),
      B(true));
  HAS(0, S(1, 2, 3), FNZ_F32, 1e-06, 2.75, -1.375, 1.25, -1.5, -2, 0);
  RUN("upsample_linear1d.vec", T(S(1, 1, 3), -0.75, 2, -2.5), INTS(5), B(false), NONE);
  HAS(0, S(1, 1, 5), FNZ_F32, 1e-06, -0.75, 0x1.66666c0000000p-2, 2, -0x1.66667c0000000p-1, -2.5);
  RUN("upsample_bilinear2d",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(5, 6),
      B(false));
  HAS(0, S(1, 1, 5, 6), FNZ_F32, 1e-06, 2, 1.125, 0x1.6aaab20000000p-1, 0x1.4555560000000p+1, 2.75,
      2.5, 0x1.9999840000000p-3, 0x1.e666620000000p-2, 0x1.0222260000000p+0, 0x1.0555560000000p+1,
      0x1.7333300000000p+0, 0x1.33332c0000000p-1, -2.5, -0.5, 0x1.7555540000000p+0,
      0x1.4aaaac0000000p+0, -0.5, -2.25, -0x1.9999000000000p-4, -0x1.2666680000000p-1,
      -0x1.c888980000000p-1, -0x1.08889e0000000p-2, -0x1.19999c0000000p+0, -0x1.0ccccc0000000p+1,
      1.5, -0.625, -0x1.3aaaaa0000000p+1, -0x1.4aaaac0000000p+0, -1.5, -2);
  RUN("upsample_bilinear2d",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(5, 6),
      B(true));
  HAS(0, S(1, 1, 5, 6), FNZ_F32, 1e-06, 2, 0x1.e666640000000p-1, 0x1.99999e0000000p-1,
      0x1.39999a0000000p+1, 0x1.6666660000000p+1, 2.5, -0.25, 0x1.b333340000000p-2, 1.125, 1.875,
      0x1.5333300000000p+0, 0.125, -2.5, -0x1.9999800000000p-4, 0x1.7333340000000p+0,
      0x1.4ccccc0000000p+0, -0x1.3333600000000p-3, -2.25, -0.5, -0x1.2666660000000p-1,
      -0x1.e666620000000p-2, -0x1.9999800000000p-6, -0x1.8cccd40000000p-1, -2.125, 1.5,
      -0x1.0cccd00000000p+0, -0x1.3333320000000p+1, -0x1.5999980000000p+0, -0x1.6666680000000p+0,
      -2);
  RUN("upsample_bilinear2d",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(2, 8),
      B(false), F(1.5), NONE);
  HAS(0, S(1, 1, 2, 8), FNZ_F32, 1e-06, 2, 1.5625, 0.6875, 0.9375, 2.3125, 2.875, 2.625, 2.5, -0.25,
      0.03125, 0.59375, 1.1875, 1.8125, 1.625, 0.625, 0.125);
  RUN("upsample_bilinear2d",
      TYPED(FNZ_F64, S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2),
      INTS(7, 2), B(false));
  HAS(0, S(1, 1, 7, 2), FNZ_F64, 1e-15, 1.125, 2.75, 0x1.c924924924926p-1, 0x1.2492492492494p+1,
      0x1.924924924924cp-3, 0x1.c924924924928p-1, -0.5, -0.5, -0x1.1b6db6db6db6ep-1,
      -0x1.db6db6db6db6cp-1, -0x1.36db6db6db6dcp-1, -0x1.5b6db6db6db6dp+0, -0.625, -1.5);
  RUN("upsample_bilinear2d",
      TYPED(FNZ_BF16, S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2),
      INTS(4, 4), B(false));
  HAS(0, S(1, 1, 4, 4), FNZ_BF16, 0.008, 2, 0.25, 3, 2.5, -0.8125, 1.03125, 1.90625, -0.46875, -1,
      -0.09375, 0.40625, -2.15625, 1.5, -2.75, -1, -2);
  RUN("upsample_bilinear2d.vec",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(1, 1),
      B(true), NONE);
  HAS(0, S(1, 1, 1, 1), FNZ_F32, 1e-06, 2);
  RUN("upsample_bilinear2d",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(3, 4),
      B(false));
  HAS(0, S(1, 1, 3, 4), FNZ_F32, 0, 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2);
  RUN("upsample_trilinear3d",
      T(S(1, 1, 2, 2, 3), 2, -2.25, -2.25, -0.5, -3, 1, 0.25, -0.5, 0, 0, 1.25, 2.5), INTS(3, 2, 4),
      B(false));
  HAS(0, S(1, 1, 3, 2, 4), FNZ_F32, 1e-06, 2, -0.65625, -2.25, -2.25, -0.5, -2.0625, -1.5, 1, 1.125,
      -0.4375, -1.28125, -1.125, -0.25, -0x1.4800000000000p-1, 0.109375, 1.75, 0.25, -0.21875,
      -0.3125, 0, 0, 0.78125, 1.71875, 2.5);
  RUN("upsample_bicubic2d",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(5, 6),
      B(false));
  HAS(0, S(1, 1, 5, 6), FNZ_F32, 1e-06, 0x1.50dfb60000000p+1, 0x1.fe0c4a0000000p-1,
      0x1.7abd960000000p-2, 0x1.5aef560000000p+1, 0x1.ac645c0000000p+1, 0x1.7803340000000p+1,
      -0x1.04be660000000p-3, 0x1.7926ce0000000p-2, 0x1.5f8f760000000p+0, 0x1.3a362c0000000p+1,
      0x1.b239420000000p+0, 0x1.ea6c840000000p-2, -0x1.6c71cc0000000p+1, -0x1.e800000000000p-2,
      0x1.df42580000000p+0, 0x1.a8bd9c0000000p+0, -0x1.0c00000000000p-1, -0x1.46e38c0000000p+1,
      -0x1.4894120000000p-2, -0x1.8774b60000000p-1, -0x1.d6b9700000000p-1, -0x1.76e52e0000000p-3,
      -0x1.4662440000000p+0, -0x1.507b140000000p+1, 0x1.292ca00000000p+1, -0x1.a35c2e0000000p-1,
      -0x1.a6e1cc0000000p+1, -0x1.842a9c0000000p+0, -0x1.69f7d20000000p+0, -0x1.055f5c0000000p+1);
  RUN("upsample_bicubic2d",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(4, 2),
      B(true));
  HAS(0, S(1, 1, 4, 2), FNZ_F32, 1e-06, 2, 2.5, -0x1.871c6c0000000p+0, -0x1.90979c0000000p-1,
      -0x1.bda1320000000p+0, -0x1.597b400000000p+1, 1.5, -2);
  RUN("upsample_bicubic2d",
      TYPED(FNZ_F64, S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2),
      INTS(5, 3), B(false));
  HAS(0, S(1, 1, 5, 3), FNZ_F64, 4e-15, 0x1.06419ca252adcp+1, 0x1.73fbe76c8b435p+0,
      0x1.85037d3b3d841p+1, 0x1.86226fce3dc15p-4, 0x1.0490624dd2f1cp+1, 0x1.db7c5239313b0p-1,
      -0x1.ebed097b425e9p+0, 2.078125, -0x1.c084bda12f686p+0, -0x1.ebd22f7bb6e18p-2,
      -0x1.f245a1cac0806p-2, -0x1.0e5994bed7df9p+1, 0x1.206d1330c5d23p+0, -0x1.4b51eb851eb87p+1,
      -0x1.d54d4b0479aa7p+0);
  RUN("upsample_bicubic2d",
      TYPED(FNZ_F16, S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2),
      INTS(4, 5), B(false));
  HAS(0, S(1, 1, 4, 5), FNZ_F16, 0.002, 2.453125, 0x1.bf00000000000p-2, 0x1.7780000000000p+0,
      0x1.afc0000000000p+1, 0x1.6940000000000p+1, -0x1.7d80000000000p+0, 0x1.5100000000000p-1,
      0x1.2b80000000000p+1, 0x1.7180000000000p+0, -0x1.7580000000000p-1, -0x1.a740000000000p+0,
      -0x1.7d80000000000p-2, 0x1.3680000000000p-1, -0x1.1c00000000000p-1, -0x1.6e00000000000p+1,
      0x1.0a40000000000p+1, -0x1.e980000000000p+0, -0x1.3e00000000000p+1, -0x1.2e80000000000p+0,
      -2.03125);
  RUN("upsample_bicubic2d.vec",
      T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2), INTS(3, 4),
      B(false), NONE);
  HAS(0, S(1, 1, 3, 4), FNZ_F32, 1e-06, 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1,
      -2);
  FAILS(ctx, "BOUNDS",
        APPLY("upsample_bilinear2d",
              T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2),
              INTS(0, 3), B(false)));
  FAILS(ctx, "BOUNDS", APPLY("upsample_bilinear2d", T(S(3), 0.75, -2, 0.25), INTS(2, 3), B(false)));
  finish();
}
END_TEST

START_TEST(images_at_given_places) {
  start(1);
  fnz_arg x = T(S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2);
  fnz_arg grid = T(S(1, 2, 3, 2), -1, -1, 0x1.3333340000000p-2, -0x1.99999a0000000p-3, 1, 1,
                   -0x1.6666660000000p+0, 0x1.3333340000000p-1, 0x1.99999a0000000p-4,
                   0x1.2666660000000p+1, 0.25, 0.5);
  RUN("grid_sampler_2d", x, grid, I(0), I(0), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 0.5, 0x1.83d70c0000000p+0, -0.5, 0, 0, -0.4375);
  RUN("grid_sampler_2d", x, grid, I(0), I(0), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.951eb60000000p+0, -2, -0x1.47ae140000000p-5, 0,
      0.03125);
  RUN("grid_sampler_2d", x, grid, I(0), I(1), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.83d70c0000000p+0, -2, 0x1.1999a00000000p+0,
      -0x1.8666640000000p+0, -0.4375);
  RUN("grid_sampler_2d", x, grid, I(0), I(1), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.951eb60000000p+0, -2, -0x1.9999800000000p-4,
      -0x1.9cccca0000000p+0, 0.03125);
  RUN("grid_sampler_2d", x, grid, I(0), I(2), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.83d70c0000000p+0, -2, 0x1.28f6200000000p-4,
      0x1.b51eb60000000p+0, -0.4375);
  RUN("grid_sampler_2d", x, grid, I(0), I(2), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.951eb60000000p+0, -2, -0x1.570a3e0000000p-1,
      0x1.8c28f60000000p+0, 0.03125);
  RUN("grid_sampler_2d", x, grid, I(1), I(0), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 1.25, 0, 0, 0, -1);
  RUN("grid_sampler_2d", x, grid, I(1), I(0), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 1.25, -2, 0, 0, -1);
  RUN("grid_sampler_2d", x, grid, I(1), I(1), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 1.25, -2, 1.5, -1, -1);
  RUN("grid_sampler_2d", x, grid, I(1), I(1), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 1.25, -2, 1.5, -1, -1);
  RUN("grid_sampler_2d", x, grid, I(1), I(2), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 1.25, -2, 1.5, 1.25, -1);
  RUN("grid_sampler_2d", x, grid, I(1), I(2), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 1.25, -2, -2.75, 1.25, -1);
  RUN("grid_sampler_2d", x, grid, I(2), I(0), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 0x1.afe0000000000p-1, 0x1.e8e12e0000000p+0,
      -0x1.06c0000000000p-1, -0x1.1658320000000p-3, 0, -0x1.5080000000000p-1);
  RUN("grid_sampler_2d", x, grid, I(2), I(0), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.f4af0c0000000p+0, -2, -0x1.17742c0000000p-8,
      0x1.859cba0000000p-3, -0x1.5380000000000p-7);
  RUN("grid_sampler_2d", x, grid, I(2), I(1), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 0x1.5178000000000p+1, 0x1.c4821c0000000p+0,
      -0x1.0630000000000p+1, 0x1.2441960000000p+0, -0x1.942d180000000p+0, -0x1.1a80000000000p-1);
  RUN("grid_sampler_2d", x, grid, I(2), I(1), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.e2d4d80000000p+0, -2, -0x1.5235040000000p-2,
      -0x1.b9bcfe0000000p+0, 0x1.90f4000000000p-4);
  RUN("grid_sampler_2d", x, grid, I(2), I(2), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 0x1.afe0000000000p+1, 0x1.c4821c0000000p+0,
      -0x1.06c0000000000p+1, 0x1.4daf740000000p-4, 0x1.318b9a0000000p+1, -0x1.1a80000000000p-1);
  RUN("grid_sampler_2d", x, grid, I(2), I(2), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.ec2c040000000p+0, -2, -0x1.bf18440000000p-1,
      0x1.3210da0000000p+1, -0x1.4258000000000p-3);
  RUN("grid_sampler_2d",
      TYPED(FNZ_F64, S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2),
      TYPED(FNZ_F64, S(1, 2, 3, 2), -1, -1, 0x1.3333340000000p-2, -0x1.99999a0000000p-3, 1, 1,
            -0x1.6666660000000p+0, 0x1.3333340000000p-1, 0x1.99999a0000000p-4, 0x1.2666660000000p+1,
            0.25, 0.5),
      I(0), I(0), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F64, 1e-14, 0.5, 0x1.83d7095a8f5c4p+0, -0.5, 0, 0, -0.4375);
  RUN("grid_sampler", x, grid, I(0), I(1), B(true));
  HAS(0, S(1, 1, 2, 3), FNZ_F32, 2e-06, 2, 0x1.951eb60000000p+0, -2, -0x1.9999800000000p-4,
      -0x1.9cccca0000000p+0, 0.03125);
  RUN("grid_sampler_2d",
      TYPED(FNZ_F16, S(1, 1, 3, 4), 2, 0.25, 3, 2.5, -2.5, 1.5, 1.25, -2.25, 1.5, -2.75, -1, -2),
      TYPED(FNZ_F16, S(1, 2, 3, 2), -1, -1, 0x1.3340000000000p-2, -0x1.9980000000000p-3, 1, 1,
            -0x1.6680000000000p+0, 0x1.3340000000000p-1, 0x1.9980000000000p-4, 0x1.2680000000000p+1,
            0.25, 0.5),
      I(0), I(0), B(false));
  HAS(0, S(1, 1, 2, 3), FNZ_F16, 0.004, 0.5, 0x1.8480000000000p+0, -0.5, 0, 0, -0.4375);
  FAILS(ctx, "TYPE",
        APPLY("grid_sampler_2d", x,
              TYPED(FNZ_F64, S(1, 2, 3, 2), -1, -1, 0x1.3333340000000p-2, -0x1.99999a0000000p-3, 1,
                    1, -0x1.6666660000000p+0, 0x1.3333340000000p-1, 0x1.99999a0000000p-4,
                    0x1.2666660000000p+1, 0.25, 0.5),
              I(0), I(0), B(false)));
  FAILS(ctx, "BOUNDS", APPLY("grid_sampler_2d", T(S(1, 1, 0, 3), 0), grid, I(0), I(0), B(false)));
  FAILS(ctx, "BOUNDS",
        APPLY("grid_sampler_2d",
              T(S(2, 1, 3, 3), 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), grid, I(0),
              I(0), B(false)));
  finish();
}
END_TEST

START_TEST(distances_and_places) {
  start(1);
  RUN("_cdist_forward", T(S(2, 3), -1.25, -2.75, 1.25, -1.25, -1.5, 2),
      T(S(4, 3), 2.25, 0.75, -2.5, 1.25, -1.75, -1.25, -1.75, -2.75, 0, -1, -3, 1), F(2), NONE);
  HAS(0, S(2, 4), FNZ_F32, 1e-06, 0x1.8d6e880000000p+2, 0x1.d64d520000000p+1, 0x1.58a68a0000000p+0,
      0x1.bb67ae0000000p-2, 0x1.883eac0000000p+2, 0x1.06e8260000000p+2, 0x1.3498ca0000000p+1,
      0x1.d1ed520000000p+0);
  RUN("_cdist_forward",
      T(S(2, 1, 2, 3), 2.75, 1.75, -2.5, 2.25, -2.75, 1.75, -1.25, -0.75, 0.25, 2, 0.75, 0.5),
      T(S(3, 1, 3), 3, 0.75, -1.5, 2.25, 2.25, 2.5, -1.25, -1.75, -0.5), F(1), NONE);
  HAS(0, S(2, 3, 2, 1), FNZ_F32, 1e-06, 2.25, 7.5, 6, 5.75, 9.5, 6.75, 7.5, 3, 8.75, 3.75, 1.75,
      6.75);
  RUN("_cdist_forward", T(S(2, 3), 2, 3, -0.75, 3, 2.5, 1.75), T(S(2, 3), 1.5, 1, 0, -1.25, 3, -2),
      F(0), NONE);
  HAS(0, S(2, 2), FNZ_F32, 0, 3, 2, 3, 3);
  RUN("_cdist_forward", T(S(2, 3), -0.75, 0.75, -0.25, -2.75, -1.75, 2.25),
      T(S(2, 3), 3, -2, -0.5, 1.75, -1.5, 1), F(INFINITY), NONE);
  HAS(0, S(2, 2), FNZ_F32, 0, 3.75, 2.5, 5.75, 4.5);
  RUN("_cdist_forward", TYPED(FNZ_F64, S(2, 3), 2, 0.75, -1, -2.25, 1, 0.75),
      TYPED(FNZ_F64, S(2, 3), -0.75, -2.25, -0.75, -1.5, 2.5, 1), F(3), NONE);
  HAS(0, S(2, 2), FNZ_F64, 1e-14, 0x1.d0938d478c965p+1, 0x1.ea6482d95799ep+1, 0x1.b9a6e79f06e4fp+1,
      0x1.8fec55de57860p+0);
  RUN("_cdist_forward", T(S(2, 0), 0), T(S(3, 0), 0), F(2), NONE);
  HAS(0, S(2, 3), FNZ_F32, 0, 0, 0, 0, 0, 0, 0);
  RUN("cdist", T(S(2, 3), -1.5, -1, -0.25, -2.75, -1.5, -2.5),
      T(S(4, 3), -1.75, -2.25, 1.25, -2.5, 2.5, 1.75, 2.5, -2, 0.5, 2, 1.75, 3), F(1.5));
  HAS(0, S(2, 4), FNZ_F32, 1e-06, 0x1.1f206c0000000p+1, 0x1.3077f20000000p+2, 0x1.22145c0000000p+2,
      0x1.a697980000000p+2, 0x1.13173e0000000p+2, 0x1.a540620000000p+2, 0x1.b0b04e0000000p+2,
      0x1.2ed0dc0000000p+3);
  RUN("_pdist_forward", T(S(4, 2), 3, -0.75, -1.75, -3, 0.5, -2.5, -1.25, -2.75), F(2));
  HAS(0, S(6), FNZ_F32, 1e-06, 0x1.5061780000000p+2, 0x1.869c1a0000000p+1, 0x1.2c9cda0000000p+2,
      0x1.2706820000000p+1, 0x1.1e377a0000000p-1, 0x1.c48c600000000p+0);
  RUN("_pdist_forward", T(S(3, 2), -0.75, -0.25, -0.75, 2.25, 2.75, 1.5), F(0));
  HAS(0, S(3), FNZ_F32, 0, 1, 2, 2);
  RUN("_pdist_forward", T(S(1, 2), -0.25, 1.25), F(2));
  HAS(0, S(0), FNZ_F32, 0, 0);
  RUN("nonzero", T(S(2, 3), 0, 1, NAN, 0, 2, 0));
  HAS(0, S(3, 2), FNZ_I64, 0, 0, 1, 0, 2, 1, 1);
  RUN("nonzero", TYPED(FNZ_I64, SCALAR, 3));
  HAS(0, S(1, 0), FNZ_I64, 0, 0);
  RUN("nonzero", T(S(2, 2), 0, 0, 0, 0));
  HAS(0, S(0, 2), FNZ_I64, 0, 0);
  RUN("nonzero", TYPED(FNZ_BOOL, S(3), 1, 0, 1));
  HAS(0, S(2, 1), FNZ_I64, 0, 0, 2);
  FAILS(ctx, "TYPE",
        APPLY("_cdist_forward", T(S(2, 3), -1.25, 3, 2.5, 1.75, -1.75, 2.75),
              TYPED(FNZ_F64, S(2, 3), 0.75, -1.25, 3, 2, 2, 0.5), F(2), NONE));
  FAILS(ctx, "TYPE",
        APPLY("_cdist_forward", TYPED(FNZ_F16, S(2, 3), 1.75, -1, -0.75, -1.25, 2, -2.75),
              TYPED(FNZ_F16, S(2, 3), -1, 0.5, 1.75, -2.5, -2.25, -1.75), F(2), NONE));
  FAILS(ctx, "BOUNDS",
        APPLY("_cdist_forward", T(S(2, 3), 0.25, 0.75, 2.75, -2.75, -2, -0.5),
              T(S(2, 2), -2.25, -2.75, 1.75, 0.5), F(2), NONE));
  FAILS(ctx, "BOUNDS",
        APPLY("cdist", T(S(2, 3), 1.5, 1, -3, -2.5, 3, 1.25),
              T(S(2, 3), -1.5, 2.5, -1.75, 2.5, 0.25, 2.5), F(-1)));
  FAILS(ctx, "TYPE",
        APPLY("_pdist_forward", TYPED(FNZ_F16, S(3, 2), -1.75, 0.75, -1, -1, 0, -0.5), F(2)));
  FAILS(ctx, "BOUNDS", APPLY("_pdist_forward", T(S(3), 0, 1, 1), F(2)));
  const fnz_arg columns = tensor_at(FNZ_F32, S(3, 2), (const int64_t[]){1, 3},
                                    (const double[]){-0.75, -0.25, -0.75, 2.25, 2.75, 1.5});
  RUN("pdist", columns, F(0));
  HAS(0, S(3), FNZ_F32, 0, 1, 2, 2);
  FAILS(ctx, "BOUNDS", APPLY("_pdist_forward", columns, F(0)));
  RUN("_softmax_backward_data", TYPED(FNZ_BF16, S(1, 2), 8.0625, 8.125),
      TYPED(FNZ_BF16, S(1, 2), 0.00390625, 0.99609375), I(1),
      (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = FNZ_BF16});
  HAS(0, S(1, 2), FNZ_BF16, 0, -0x1.fep-13, 0x1.fep-13);
  RUN("linalg_matrix_norm", T(S(2, 3), 1, -2, 3, -4, 5, 6), F(INFINITY));
  HAS(0, SCALAR, FNZ_F32, 0, 15);
  RUN("linalg_norm", T(S(2, 3), 1, -2, 3, -4, 5, 6), F(-INFINITY), INTS(0, 1), B(true));
  HAS(0, S(1, 1), FNZ_F32, 0, 6);
  RUN("linalg_norm", T(S(1, 2), 3, 4), I(2));
  HAS(0, SCALAR, FNZ_F32, 1e-6, 5);
  RUN("sum_to_size", TYPED(FNZ_BOOL, SCALAR, 1), NO_INTS);
  HAS(0, SCALAR, FNZ_I64, 0, 1);
  RUN("diff", T(S(2), 3, 5), I(0), I(0), T(S(1), 1), T(S(2), 7, 9));
  HAS(0, S(2), FNZ_F32, 0, 3, 5);
  RUN("take_along_dim", T(S(2, 3), 0, 1, 2, 3, 4, 5), TYPED(FNZ_I64, S(2, 2), -1, 3, -5, 1), I(1));
  HAS(0, S(2, 2), FNZ_F32, 0, 2, 0, 4, 4);
  FAILS(ctx, "BOUNDS", APPLY("take_along_dim", T(S(3), 0, 1, 2), TYPED(FNZ_I64, S(1), -1), NONE));
  RUN("multi_margin_loss", T(SCALAR, 2), TYPED(FNZ_I64, SCALAR, 0), I(1), F(1), NONE, I(0));
  HAS(0, SCALAR, FNZ_F32, 0, 0);
  RUN("multi_margin_loss", T(SCALAR, 2), TYPED(FNZ_I64, S(1), 0), I(1), F(1), T(S(1), 3), I(0));
  HAS(0, S(1), FNZ_F32, 0, 0);
  finish();
}
END_TEST

/* Pairs of parts become complex numbers. */
static fnz_arg complex_of(fnz_dtype dtype, shape s, const double *parts) {
  RUN("view_as_complex_copy", tensor(dtype, s, parts));
  made[nmade] = outs[0];
  nouts = 0;
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = made[nmade++]};
}
#define Z(dtype, s, ...) complex_of(dtype, s, (const double[]){__VA_ARGS__})

/* The parts of result 0. */
static void has_parts(shape s, fnz_dtype dtype, const double *want) {
  ck_assert_uint_eq(nouts, 1);
  made[nmade] = outs[0];
  nouts = 0;
  RUN("view_as_real_copy", ((fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = made[nmade++]}));
  has(0, s, dtype, 0, want);
}
#define PARTS(s, dtype, ...) has_parts(s, dtype, (const double[]){__VA_ARGS__})

/* By hand; both complex types take the same ways. */
static void check_complex(fnz_dtype dtype) {
  fnz_arg v = Z(dtype, S(2, 2), 0, 1, 2, 0), w = Z(dtype, S(2, 2), 0, 1, 1, -1);
  fnz_arg m = Z(dtype, S(2, 2, 2), 1, 0, 0, 1, 2, -1, 0, 0);
  RUN("vdot", v, w);
  PARTS(S(2), dtype, 3, -2);
  RUN("dot", v, w);
  PARTS(S(2), dtype, 1, -2);
  RUN("mm", m, m);
  PARTS(S(2, 2, 2), dtype, 2, 2, 0, 1, 2, -1, 1, 2);
  RUN("addmm", m, m, m, I(2), I(1));
  PARTS(S(2, 2, 2), dtype, 4, 2, 0, 3, 6, -3, 1, 2);
  RUN("trace", m);
  PARTS(S(2), dtype, 1, 0);
  RUN("addr", m, v, w, I(1), I(2));
  PARTS(S(2, 2, 2), dtype, -1, 0, 2, 3, 2, 3, 4, -4);
  RUN("equal", v, v);
  HAS(0, SCALAR, FNZ_BOOL, 0, 1);
  RUN("equal", v, w);
  HAS(0, SCALAR, FNZ_BOOL, 0, 0);
  RUN("sum", m);
  PARTS(S(2), dtype, 3, 0);
  RUN("mean.dim", m, L1(0));
  PARTS(S(2, 2), dtype, 1.5, -0.5, 0, 0.5);
  RUN("prod.dim_int", m, I(0));
  PARTS(S(2, 2), dtype, 2, -1, 0, 0);
  RUN("cumsum", v, I(0));
  PARTS(S(2, 2), dtype, 0, 1, 2, 1);
  RUN("all", m);
  HAS(0, SCALAR, FNZ_BOOL, 0, 0);
  RUN("reflection_pad1d", m, INTS(1, 0));
  PARTS(S(2, 3, 2), dtype, 0, 1, 1, 0, 0, 1, 0, 0, 2, -1, 0, 0);
  RUN("linalg_cross", Z(dtype, S(3, 2), 1, 0, 0, 1, 0, 0), Z(dtype, S(3, 2), 0, 0, 1, 0, 0, 1));
  PARTS(S(3, 2), dtype, -1, 0, 0, -1, 1, 0);
  RUN("tensordot", v, w, INTS(0), INTS(0));
  PARTS(S(2), dtype, 1, -2);
  RUN("nonzero", m);
  HAS(0, S(3, 2), FNZ_I64, 0, 0, 0, 0, 1, 1, 0);
  RUN("count_nonzero", m);
  HAS(0, SCALAR, FNZ_I64, 0, 3);
}

/* A complex factor is never taken for its real part. */
static void check_complex_factors(void) {
  const fnz_arg parts[] = {F(0), F(1)};
  const fnz_arg i = {.tag = FNZ_ARG_COMPLEX, .count = 2, .u.list = parts};
  fnz_arg real = T(S(1, 1), 2), z = Z(FNZ_F32, S(1, 1, 2), 1, 2);
  FAILS(ctx, "TYPE", APPLY("addmm", real, real, real, I(1), i));
  FAILS(ctx, "UNSUPPORTED", APPLY("addmm", z, z, z, I(1), i));
  FAILS(ctx, "TYPE", APPLY("fill.Scalar", real, i));
}

START_TEST(complex_numbers) {
  start(1);
  check_complex_factors();
  check_complex(FNZ_F32);
  check_complex(FNZ_F64);
  fnz_arg z = Z(FNZ_F32, S(1, 2), 1, 2);
  FAILS(ctx, "TYPE", APPLY("nansum", z));
  FAILS(ctx, "UNSUPPORTED", APPLY("median", z));
  FAILS(ctx, "UNSUPPORTED", APPLY("cummax", z, I(0)));
  finish();
}
END_TEST

START_TEST(tiles) {
  start(1);
  RUN("tile", T(S(2), 1, 2), INTS(2, 2));
  HAS(0, S(2, 4), FNZ_F32, 0, 1, 2, 1, 2, 1, 2, 1, 2);
  RUN("tile", TYPED(FNZ_I64, S(1, 2, 2), 1, 2, 3, 4), INTS(2)); /* of the last dimension */
  HAS(0, S(1, 2, 4), FNZ_I64, 0, 1, 2, 1, 2, 3, 4, 3, 4);
  RUN("tile", T(S(2, 2), 1, 2, 3, 4), NO_INTS);
  HAS(0, S(2, 2), FNZ_F32, 0, 1, 2, 3, 4);
  RUN("tile", TYPED(FNZ_BOOL, SCALAR, 1), INTS(3));
  HAS(0, S(3), FNZ_BOOL, 0, 1, 1, 1);
  RUN("tile", T(S(2), 1, 2), INTS(0, 1));
  HAS(0, S(0, 2), FNZ_F32, 0, 0);
  FAILS(ctx, "BOUNDS", APPLY("tile", T(S(2), 1, 2), INTS(-1)));
  finish();
}
END_TEST

/* Eager looks at no index where nothing is written. */
START_TEST(indices_into_nothing) {
  start(1);
  RUN("index_fill.int_Scalar", T(S(0, 3), 0), I(1), TYPED(FNZ_I64, S(2), 0, 7), F(1));
  HAS(0, S(0, 3), FNZ_F32, 0, 0);
  RUN("index_fill.int_Tensor", T(S(3, 0), 0), I(0), TYPED(FNZ_I64, S(1), 7), T(SCALAR, 1));
  HAS(0, S(3, 0), FNZ_F32, 0, 0);
  RUN("index_copy", T(S(0, 3), 0), I(1), TYPED(FNZ_I64, S(1), 7), T(S(0, 1), 0));
  HAS(0, S(0, 3), FNZ_F32, 0, 0);
  RUN("index_add", T(S(3, 0), 0), I(0), TYPED(FNZ_I64, S(1), 7), T(S(1, 0), 0));
  HAS(0, S(3, 0), FNZ_F32, 0, 0);
  FAILS(ctx, "BOUNDS",
        APPLY("index_fill.int_Scalar", T(S(0, 3), 0), I(0), TYPED(FNZ_I64, S(1), 0), F(1)));
  FAILS(ctx, "BOUNDS",
        APPLY("index_add", T(S(3, 0), 0), I(0), TYPED(FNZ_I64, S(1), 7), T(S(2, 0), 0)));
  FAILS(ctx, "BOUNDS", APPLY("index_select", T(S(0, 3), 0), I(1), TYPED(FNZ_I64, S(1), 7)));
  finish();
}
END_TEST

START_TEST(places_and_choices) {
  start(1);
  RUN("where", TYPED(FNZ_BOOL, S(2, 3), 0, 1, 0, 1, 0, 1));
  HAS(0, S(3), FNZ_I64, 0, 0, 1, 1);
  HAS(1, S(3), FNZ_I64, 0, 1, 0, 2);
  RUN("nonzero_numpy", T(SCALAR, NAN));
  HAS(0, S(1), FNZ_I64, 0, 0);
  RUN("nonzero_numpy", T(S(2), 0, -0.0));
  HAS(0, S(0), FNZ_I64, 0, 0);
  RUN("combinations", T(S(4), 1, 2, 3, 4), I(3));
  HAS(0, S(4, 3), FNZ_F32, 0, 1, 2, 3, 1, 2, 4, 1, 3, 4, 2, 3, 4);
  RUN("combinations", TYPED(FNZ_I64, S(3), 7, 8, 9), I(2), B(true));
  HAS(0, S(6, 2), FNZ_I64, 0, 7, 7, 7, 8, 7, 9, 8, 8, 8, 9, 9, 9);
  RUN("combinations", T(S(2), 1, 2), I(3));
  HAS(0, S(0, 3), FNZ_F32, 0, 0);
  RUN("combinations", T(S(1), 5), I(3), B(true));
  HAS(0, S(1, 3), FNZ_F32, 0, 5, 5, 5);
  RUN("combinations", T(S(2), 1, 2), I(0));
  HAS(0, S(0), FNZ_F32, 0, 0);
  FAILS(ctx, "BOUNDS", APPLY("combinations", T(S(1, 2), 1, 2)));
  FAILS(ctx, "BOUNDS", APPLY("combinations", T(S(2), 1, 2), I(-1)));
  FAILS(ctx, "OVERFLOW",
        APPLY("combinations", tensor(FNZ_F32, S(100), (const double[100]){0}), I(50)));
  FAILS(ctx, "OVERFLOW", APPLY("combinations", T(S(1), 0), I(INT64_MAX), B(true)));
  finish();
}
END_TEST

START_TEST(numbers_by_steps) {
  start(1);
  RUN("logspace", F(0.3), F(4.7), I(5));
  HAS(0, S(5), FNZ_F32, 0, 0x1.fec9840000000p+0, 0x1.91e6da0000000p+4, 0x1.3c3a4e0000000p+8,
      0x1.f1a2440000000p+11, 0x1.878d680000000p+15);
  RUN("logspace", I(-1), I(3), I(5), F(2));
  HAS(0, S(5), FNZ_F32, 0, 0.5, 1, 2, 4, 8);
  RUN("logspace.Tensor_Scalar", T(SCALAR, 2), I(5), I(1), F(3));
  HAS(0, S(1), FNZ_F32, 0, 9);
  RUN("range", I(0), F(2.5));
  HAS(0, S(3), FNZ_F32, 0, 0, 1, 2);
  RUN("range.step", I(5), I(0), I(-2));
  HAS(0, S(3), FNZ_F32, 0, 5, 3, 1);
  RUN("range.step", I(-2), I(7), F(2.5), (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = FNZ_I64});
  HAS(0, S(5), FNZ_I64, 0, -2, 0, 2, 4, 6);
  FAILS(ctx, "BOUNDS", APPLY("range.step", I(0), I(5), I(-1)));
  FAILS(ctx, "BOUNDS", APPLY("range.step", I(0), I(5), I(0)));
  FAILS(ctx, "OVERFLOW", APPLY("range", I(0), F(INFINITY)));
  finish();
}
END_TEST

RUN_SUITE("kernels_more", places_and_choices, numbers_by_steps, tiles, indices_into_nothing,
          elements_of_a_sorted_row, ever_longer_starts, counts_and_sums,
          products_with_something_added, products_of_vectors_and_more, places_in_sorted_numbers,
          images_padded, windows_as_columns, images_resampled, images_at_given_places,
          distances_and_places, complex_numbers)
