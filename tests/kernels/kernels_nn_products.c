/* kernels_nn_products.c - products, distances, norms and complex numbers against what PyTorch 2.15
 * gives on a CPU. A tolerance is relative to the largest number of a result; 0 asks for the same
 * bits. */
#include "tests/kernels/kernels_nn_values.h"

START_TEST(products_with_something_added) {
  start(1);
  RUN("addr", T(S(2, 2), NAN, NAN, NAN, NAN), T(S(2), -2.5, -2.5), T(S(2), 2.25, -2), I(0));
  HAS(0, S(2, 2), FNZ_F32, 0, -5.625, 5, -5.625, 5);
  RUN("addbmm", T(S(2, 2), NAN, NAN, NAN, NAN), T(S(1, 2, 1), 3, 0.25), T(S(1, 1, 2), 0.75, 0.25),
      I(0), I(1));
  HAS(0, S(2, 2), FNZ_F32, 0, 2.25, 0.75, 0.1875, 0.0625);
  RUN("addbmm", T(S(2, 2), -3, 0.75, 0.5, -1.5), T(S(0, 2, 3), 0), T(S(0, 3, 2), 0), I(2), I(1));
  HAS(0, S(2, 2), FNZ_F32, 0, -6, 1.5, 1, -3);
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
  RUN("cross", TYPED(FNZ_U8, S(3), 1, 2, 3), TYPED(FNZ_U8, S(3), 3, 5, 1));
  HAS(0, S(3), FNZ_U8, 0, 243, 8, 255);
  RUN("tensordot", T(S(2, 0), 0), T(S(0, 2), 0), INTS(1), INTS(0));
  HAS(0, S(2, 2), FNZ_F32, 0, 0, 0, 0, 0);
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
  RUN("_cdist_forward", T(S(2, 3), -0.75, 0.75, -0.25, -2.75, -1.75, 2.25),
      T(S(2, 3), 3, -2, -0.5, 1.75, -1.5, 1), F(INFINITY), NONE);
  HAS(0, S(2, 2), FNZ_F32, 0, 3.75, 2.5, 5.75, 4.5);
  RUN("_cdist_forward", T(S(2, 0), 0), T(S(3, 0), 0), F(2), NONE);
  HAS(0, S(2, 3), FNZ_F32, 0, 0, 0, 0, 0, 0, 0);
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
  RUN("linalg_matrix_norm", T(S(2, 3), 1, -2, 3, -4, 5, 6), F(INFINITY));
  HAS(0, SCALAR, FNZ_F32, 0, 15);
  RUN("linalg_norm", T(S(2, 3), 1, -2, 3, -4, 5, 6), F(-INFINITY), INTS(0, 1), B(true));
  HAS(0, S(1, 1), FNZ_F32, 0, 6);
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
  fnz_arg z = Z(FNZ_F32, S(1, 2), 1, 2);
  FAILS(ctx, "TYPE", APPLY("nansum", z));
  FAILS(ctx, "UNSUPPORTED", APPLY("median", z));
  FAILS(ctx, "UNSUPPORTED", APPLY("cummax", z, I(0)));
  finish();
}
END_TEST

SUITE_PART(kernels_nn_products, products_with_something_added, products_of_vectors_and_more,
           distances, distances_that_do_not_fit, norms_sums_and_differences, complex_numbers)
