/* kernels_nn_order.c - order statistics, running extremes, counts, searches, places against what
 * PyTorch 2.15 gives on a CPU. A tolerance is relative to the largest number of a result; 0 asks
 * for the same bits. */
#include "tests/kernels/kernels_nn_values.h"

START_TEST(elements_of_a_sorted_row) {
  start(1);
  RUN("median", T(S(3), 3, NAN, 2));
  HAS(0, SCALAR, FNZ_F32, 0, NAN);
  RUN("median", T(S(0), 0));
  HAS(0, SCALAR, FNZ_F32, 0, NAN);
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
  RUN("kthvalue", T(S(0, 2), 0), I(1), I(1));
  HAS(0, S(0), FNZ_F32, 0, 0);
  HAS(1, S(0), FNZ_I64, 0, 0);
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
  RUN("cummin", TYPED(FNZ_U8, S(2, 3), 3, 1, 4, 1, 5, 9), I(-1));
  HAS(0, S(2, 3), FNZ_U8, 0, 3, 1, 1, 1, 1, 1);
  HAS(1, S(2, 3), FNZ_I64, 0, 0, 1, 1, 0, 0, 0);
  RUN("cummin", T(SCALAR, 4), I(0));
  HAS(0, SCALAR, FNZ_F32, 0, 4);
  HAS(1, SCALAR, FNZ_I64, 0, 0);
  RUN("cummax", T(S(0, 2), 0), I(1));
  HAS(0, S(0, 2), FNZ_F32, 0, 0);
  HAS(1, S(0, 2), FNZ_I64, 0, 0);
  RUN("logcumsumexp", T(S(5), -INFINITY, -INFINITY, 1, INFINITY, NAN), I(0));
  HAS(0, S(5), FNZ_F32, 0, -INFINITY, -INFINITY, 1, INFINITY, NAN);
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
  RUN("count_nonzero", T(S(0, 2), 0), I(0));
  HAS(0, S(2), FNZ_I64, 0, 0, 0);
  RUN("nansum", T(S(3), 1, NAN, 2.5));
  HAS(0, SCALAR, FNZ_F32, 0, 3.5);
  RUN("nansum", T(S(2, 2), 1, NAN, NAN, NAN), INTS(1), B(true));
  HAS(0, S(2, 1), FNZ_F32, 0, 1, 0);
  RUN("nansum", TYPED(FNZ_BF16, S(2), 1, NAN));
  HAS(0, SCALAR, FNZ_BF16, 0, 1);
  RUN("nansum", TYPED(FNZ_F64, S(2), 1, NAN));
  HAS(0, SCALAR, FNZ_F64, 0, 1);
  RUN("trace", TYPED(FNZ_U8, S(2, 2), 1, 2, 3, 250));
  HAS(0, SCALAR, FNZ_I64, 0, 251);
  RUN("trace", T(S(0, 3), 0));
  HAS(0, SCALAR, FNZ_F32, 0, 0);
  RUN("equal", T(S(1), NAN), T(S(1), NAN));
  HAS(0, SCALAR, FNZ_BOOL, 0, 0);
  RUN("equal", T(S(0), 0), T(S(0), 0));
  HAS(0, SCALAR, FNZ_BOOL, 0, 1);
  FAILS(ctx, "BOUNDS", APPLY("trace", T(S(1), 1)));
  FAILS(ctx, "TYPE", APPLY("trace", TYPED(FNZ_BOOL, S(2, 2), 1, 1, 1, 1)));
  finish();
}
END_TEST

START_TEST(places_in_sorted_numbers) {
  start(1);
  RUN("searchsorted.Scalar", T(S(2), 0x1.99999a0000000p-4, 0x1.99999a0000000p-3), F(0.1));
  HAS(0, SCALAR, FNZ_I64, 0, 0);
  RUN("searchsorted.Tensor", T(S(4), 1, 2, 2, 3), T(S(4), 2, 4, 0, NAN));
  HAS(0, S(4), FNZ_I64, 0, 1, 4, 0, 4);
  RUN("searchsorted.Tensor", T(S(3), 1, 2, NAN), T(S(2), NAN, 3));
  HAS(0, S(2), FNZ_I64, 0, 3, 3);
  RUN("searchsorted.Tensor", T(S(0), 0), T(S(1), 1));
  HAS(0, S(1), FNZ_I64, 0, 0);
  RUN("bucketize.Tensor", T(S(0), 0), T(S(4), 1, 2, 2, 3), B(true));
  HAS(0, S(0), FNZ_I32, 0, 0);
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
  finish();
}
END_TEST

START_TEST(tiles) {
  start(1);
  RUN("tile", TYPED(FNZ_I64, S(1, 2, 2), 1, 2, 3, 4), INTS(2)); /* of the last dimension */
  HAS(0, S(1, 2, 4), FNZ_I64, 0, 1, 2, 1, 2, 3, 4, 3, 4);
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
  RUN("nonzero_numpy", T(SCALAR, NAN));
  HAS(0, S(1), FNZ_I64, 0, 0);
  RUN("nonzero_numpy", T(S(2), 0, -0.0));
  HAS(0, S(0), FNZ_I64, 0, 0);
  RUN("combinations", T(S(2), 1, 2), I(3));
  HAS(0, S(0, 3), FNZ_F32, 0, 0);
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
  RUN("logspace.Tensor_Scalar", T(SCALAR, 2), I(5), I(1), F(3));
  HAS(0, S(1), FNZ_F32, 0, 9);
  RUN("range", I(0), F(2.5));
  HAS(0, S(3), FNZ_F32, 0, 0, 1, 2);
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
