/* kernels_nn_products.c - products, distances, norms and complex numbers against what PyTorch 2.15
 * gives on a CPU. A tolerance is relative to the largest number of a result; 0 asks for the same
 * bits. */
#include "tests/kernels/kernels_nn_values.h"

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

START_TEST(distances) {
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
  finish();
}
END_TEST

START_TEST(distances_that_do_not_fit) {
  start(1);
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
  finish();
}
END_TEST

START_TEST(norms_sums_and_differences) {
  start(1);
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

SUITE_PART(kernels_nn_products, products_with_something_added, products_of_vectors_and_more,
           distances, distances_that_do_not_fit, norms_sums_and_differences, complex_numbers)
