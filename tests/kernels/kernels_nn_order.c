/* kernels_nn_order.c - order statistics, running extremes, counts, searches, places against what
 * PyTorch 2.15 gives on a CPU. A tolerance is relative to the largest number of a result; 0 asks
 * for the same bits. */
#include "tests/kernels/kernels_nn_values.h"

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
  RUN("median", T(S(7), 0.0, 0.0, 0.0, 1, 1, 1, -0.0)); /* which zero follows from the steps */
  HAS(0, SCALAR, FNZ_F32, 0, 0.0);
  RUN("nanmedian", T(S(9), -1, 1, 1, 0.0, 1, 1, -1, 0.0, -0.0));
  HAS(0, SCALAR, FNZ_F32, 0, -0.0);
  RUN("median.dim", T(S(7), 0.0, 0.0, 0.0, 1, 1, 1, -0.0), I(0)); /* the zero at that place */
  HAS(0, SCALAR, FNZ_F32, 0, -0.0);
  HAS(1, SCALAR, FNZ_I64, 0, 6);
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

START_TEST(places_that_are_not_zero) {
  start(1);
  RUN("nonzero", T(S(2, 3), 0, 1, NAN, 0, 2, 0));
  HAS(0, S(3, 2), FNZ_I64, 0, 0, 1, 0, 2, 1, 1);
  RUN("nonzero", TYPED(FNZ_I64, SCALAR, 3));
  HAS(0, S(1, 0), FNZ_I64, 0, 0);
  RUN("nonzero", T(S(2, 2), 0, 0, 0, 0));
  HAS(0, S(0, 2), FNZ_I64, 0, 0);
  RUN("nonzero", TYPED(FNZ_BOOL, S(3), 1, 0, 1));
  HAS(0, S(2, 1), FNZ_I64, 0, 0, 2);
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

SUITE_PART(kernels_nn_order, places_and_choices, numbers_by_steps, tiles, indices_into_nothing,
           elements_of_a_sorted_row, ever_longer_starts, counts_and_sums, places_in_sorted_numbers,
           places_that_are_not_zero)
