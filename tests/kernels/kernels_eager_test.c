/* checks: 15
 * kernels_eager_test.c - kernels against bits that PyTorch 2.15 gives on a CPU. */
#include "tests/kernels/kernels_nn.h"

#define EXACTLY(...) is_close(0, (const double[]){__VA_ARGS__}, COUNT(__VA_ARGS__), 0)

#define AS(dtype) ((fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = (dtype)})

/* The first result as an argument of the next calls. */
static fnz_arg take(void) {
  ck_assert_uint_eq(nouts, 1);
  made[nmade] = outs[0];
  nouts = 0;
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = made[nmade++]};
}

/* Pairs of parts. */
static fnz_arg complex_pair(double a, double b, double c, double d) {
  RUN("view_as_complex_copy", T(S(2, 2), a, b, c, d));
  return take();
}

#define PARTS(...)                                                                                 \
  do {                                                                                             \
    fnz_arg whole_ = take();                                                                       \
    RUN("view_as_real_copy", whole_);                                                              \
    EXACTLY(__VA_ARGS__);                                                                          \
  } while (0)

START_TEST(complex_functions) {
  start(1);
  fnz_arg z = complex_pair(0.3, -0.7, -1.2, 0.4);
  RUN("exp", z);
  PARTS(0x1.084d46p+0, -0x1.bd3c98p-1, 0x1.1c1386p-2, 0x1.e06c0cp-4);
  RUN("log", z);
  PARTS(-0x1.16e67cp-2, -0x1.2a78b8p+0, 0x1.e148a8p-3, 0x1.68f096p+1);
  RUN("sqrt", z);
  PARTS(0x1.7504d4p-1, -0x1.ebef32p-2, 0x1.70f4aep-3, 0x1.1c3374p+0);
  RUN("tanh", z);
  PARTS(0x1.e0fa64p-2, -0x1.743e38p-1, -0x1.bf8828p-1, 0x1.d5da0ep-4);
  RUN("expm1", z);
  PARTS(0x1.09a886p-5, -0x1.bd3c98p-1, -0x1.71f63cp-1, 0x1.e06c0cp-4);
  RUN("log2", z);
  PARTS(-0x1.925e3ep-2, -0x1.ae9a7ap+0, 0x1.5b2c42p-2, 0x1.045ceep+2);
  RUN("pow.Tensor_Scalar", z, F(2.5));
  PARTS(-0x1.f9070ap-2, -0x1.d23f96p-4, 0x1.4bddaap+0, 0x1.3f80aep+0);
  RUN("abs", z);
  EXACTLY(0x1.85ed76p-1, 0x1.43d136p+0);
  finish();
}
END_TEST

START_TEST(complex_arithmetic) {
  start(1);
  fnz_arg z = complex_pair(0.3, -0.7, -1.2, 0.4), w = complex_pair(0.9, 0.1, 0.2, -1.1);
  RUN("div.Tensor", z, w);
  PARTS(0x1.f38320p-3, -0x1.9c18fap-1, -0x1.16872cp-1, -0x1.fbe76cp-1);
  RUN("reciprocal", z);
  PARTS(0x1.08d3dep-1, 0x1.34f72cp+0, -0x1.8p-1, -0x1.fffffep-3);
  RUN("sigmoid", z);
  PARTS(0x1.2b10e4p-1, -0x1.6c6d56p-3, 0x1.ca2b66p-3, 0x1.23f394p-4);
  RUN("lerp.Scalar", z, w, F(0.3));
  PARTS(0x1.eb8520p-2, -0x1.d70a3cp-2, -0x1.8f5c28p-1, -0x1.9999a0p-5);
  RUN("logical_not", z);
  EXACTLY(0, 0);
  RUN("silu", complex_pair(0, 0, 0, 0));
  PARTS(0, 0, 0, 0);
  RUN("sgn", complex_pair(3, -4, 0, 0));
  PARTS((float)0.6, -(float)0.8, 0, 0);
  finish();
}
END_TEST

START_TEST(complex_reductions) {
  start(1);
  fnz_arg z = complex_pair(3, 4, 0, 0);
  RUN("any", z);
  EXACTLY(1);
  RUN("all", z);
  EXACTLY(0);
  RUN("linalg_vector_norm", z);
  EXACTLY(5);
  RUN("std.correction", z); /* of the real parts 4.5, of the imaginary ones 8 */
  EXACTLY((double)(float)sqrt(12.5));
  fnz_arg w = complex_pair(1, 2, 3, -1);
  RUN("cumprod", w, I(0));
  PARTS(1, 2, 5, 5);
  RUN("cumsum", w, I(0));
  PARTS(1, 2, 4, 1);
  RUN("prod", w);
  PARTS(5, 5);
  finish();
}
END_TEST

/* The summed dimensions may be of size 1 only. */
START_TEST(sums_over_nothing_much) {
  start(1);
  RUN("sum.dim_IntList", T(S(1, 5), 1, 2, 3, 4, 5), L1(0));
  EXACTLY(1, 2, 3, 4, 5);
  RUN("sum.dim_IntList", T(S(2, 1, 2), 1, 2, 3, 4), L1(1));
  EXACTLY(1, 2, 3, 4);
  RUN("mean.dim", T(S(3, 1), 1, 2, 3), L1(1));
  EXACTLY(1, 2, 3);
  finish();
}
END_TEST

START_TEST(thin_matrices) {
  static const int64_t column[] = {1, 1};
  static const double ones[] = {1, 2, 3};
  start(1);
  fnz_arg a = tensor_at(FNZ_F32, S(3, 1), column, ones);
  fnz_arg b = tensor_at(FNZ_F32, S(1, 3), column, ones);
  RUN("mm", a, b);
  EXACTLY(1, 2, 3, 2, 4, 6, 3, 6, 9);
  finish();
}
END_TEST

static fnz_arg text(const char *s) {
  return (fnz_arg){.tag = FNZ_ARG_STRING, .count = (uint32_t)strlen(s), .u.s = s};
}
#define TENSORS(...)                                                                               \
  ((fnz_arg){.tag = FNZ_ARG_LIST,                                                                  \
             .count = sizeof((fnz_arg[]){__VA_ARGS__}) / sizeof(fnz_arg),                          \
             .u.list = (fnz_arg[]){__VA_ARGS__}})

START_TEST(einsum_by_hand) {
  start(1);
  fnz_arg a = T(S(2, 2), 1, 2, 3, 4), v = T(S(2), 10, 1);
  RUN("einsum", text("ij->"), TENSORS(TYPED(FNZ_U8, S(2, 2), 200, 100, 1, 2)), NONE);
  EXACTLY(303);
  ck_assert_int_eq(cpu->geometry(cpu->self, outs[0])->dtype, FNZ_I64);
  RUN("einsum", text("i->"), TENSORS(TYPED(FNZ_BOOL, S(3), 1, 0, 1)), NONE);
  EXACTLY(2);
  FAILS(ctx, "BOUNDS", APPLY("einsum", text("ij,jk"), TENSORS(a, v), NONE));
  FAILS(ctx, "TYPE", APPLY("einsum", text("ij->ik"), TENSORS(a), NONE));
  FAILS(ctx, "TYPE", APPLY("einsum", text("i1"), TENSORS(a), NONE));
  finish();
}
END_TEST

START_TEST(flat_places) {
  start(1);
  fnz_arg x = T(S(2, 2), 1, 2, 3, 4), at = TYPED(FNZ_I64, S(3), 0, -1, 0);
  FAILS(ctx, "BOUNDS", APPLY("put", x, TYPED(FNZ_I64, S(1), 4), T(S(1), 5)));
  FAILS(ctx, "BOUNDS", APPLY("put", x, at, T(S(2), 5, 6)));
  FAILS(ctx, "TYPE", APPLY("put", x, at, TYPED(FNZ_F64, S(3), 5, 6, 7)));
  FAILS(ctx, "BOUNDS", APPLY("take", x, TYPED(FNZ_I64, S(1), -5)));
  finish();
}
END_TEST

START_TEST(numbers_for_what_is_none) {
  start(1);
  fnz_arg x = TYPED(FNZ_F16, S(4), NAN, INFINITY, -INFINITY, 2);
  RUN("nan_to_num", x, F(1e6), NONE, F(-3));
  EXACTLY(INFINITY, 65504, -3, 2);
  RUN("nan_to_num", TYPED(FNZ_BF16, S(1), -INFINITY));
  EXACTLY(-0x1.fep127);
  RUN("nan_to_num", TYPED(FNZ_I64, S(2), 1, 2), F(7));
  EXACTLY(1, 2);
  RUN("renorm", T(S(2, 2), 3, 4, 0, 1), F(2), I(0), F(2.5));
  is_close(0, (const double[]){1.5, 2, 0, 1}, 4, 1e-6);
  RUN("view_as_complex_copy", T(S(1, 2, 2), 3, 4, 0, 0));
  fnz_arg z = take();
  RUN("renorm", z, F(1), I(0), F(2.5));
  z = take();
  RUN("view_as_real_copy", z);
  is_close(0, (const double[]){1.5, 2, 0, 0}, 4, 1e-6);
  FAILS(ctx, "TYPE", APPLY("renorm", TYPED(FNZ_I64, S(1, 1), 3), F(2), I(0), F(1)));
  FAILS(ctx, "BOUNDS", APPLY("renorm", T(S(2), 3, 4), F(2), I(0), F(1)));
  RUN("deg2rad", T(S(1), 180));
  EXACTLY((double)(180 * (float)0.017453292519943295769));
  RUN("xlogy.Tensor", T(S(3), 0, 2, 0), T(S(3), 0, 1, NAN));
  EXACTLY(0, 0, NAN);
  finish();
}
END_TEST

/* Operators for which eager has scalar loops only. */
START_TEST(halves_round_every_step) {
  start(1);
  fnz_arg b = TYPED(FNZ_BF16, S(4), 0.3, 0.7, 1.3, 2.9);
  fnz_arg c = TYPED(FNZ_BF16, S(4), 0.9, 0.35, 3.1, 0.11);
  RUN("xlogy.Tensor", b, c);
  EXACTLY(-0x1.08p-5, -0x1.7ap-1, 0x1.78p+0, -0x1.9ap+2);
  RUN("logit", TYPED(FNZ_BF16, S(4), 0.3, 0.7, 0.9, 0.11));
  EXACTLY(-0x1.bp-1, 0x1.bp-1, 0x1.18p+1, -0x1.0cp+1);
  RUN("pow.Tensor_Scalar", b, I(3));
  EXACTLY(0x1.bep-6, 0x1.5ep-2, 0x1.16p+1, 0x1.88p+4);
  RUN("nextafter", b, c);
  EXACTLY(0x1.36p-2, 0x1.64p-1, 0x1.4ep+0, 0x1.72p+1);
  RUN("special_entr", b);
  EXACTLY(0x1.72p-2, 0x1p-2, -0x1.58p-2, -0x1.8ep+1);
  RUN("ldexp.Tensor", b, c);
  EXACTLY(0x1.2p-1, 0x1.c8p-1, 0x1.64p+3, 0x1.92p+1);
  RUN("prod", TYPED(FNZ_BF16, S(8), 0.3, 0.7, 1.3, 2.9, 0.9, 0.35, 3.1, 0.11));
  EXACTLY(0x1.58p-4);
  finish();
}
END_TEST

START_TEST(other_names_and_implied_numbers) {
  start(1);
  RUN("hardshrink", T(S(3), 0.3, -2, NAN));
  EXACTLY(0, -2, NAN);
  RUN("isneginf", T(S(2), -INFINITY, INFINITY));
  EXACTLY(1, 0);
  finish();
}
END_TEST

/* Bytes of a bool that are neither 0 nor 1 come by a view of others. Elements that are not selected
 * keep them, as masked_fill_ and index_put_ do in eager. */
START_TEST(what_is_not_selected_keeps_its_bytes) {
  start(1);
  RUN("view_copy.dtype", TYPED(FNZ_U8, S(4), 0, 2, 255, 1), AS(FNZ_BOOL));
  fnz_arg odd = take(), mask = TYPED(FNZ_BOOL, S(4), 1, 0, 0, 0);
  RUN("masked_fill.Scalar", odd, mask, I(1));
  RUN("view_copy.dtype", take(), AS(FNZ_U8));
  EXACTLY(1, 2, 255, 1);
  RUN("where.self", mask, TYPED(FNZ_BOOL, S(4), 1, 1, 1, 1), odd);
  RUN("view_copy.dtype", take(), AS(FNZ_U8));
  EXACTLY(1, 2, 255, 1);
  RUN("view_copy.dtype", TYPED(FNZ_I16, S(3), -1, 0x7fd5, 0x3f80), AS(FNZ_BF16));
  RUN("_to_copy", take(), AS(FNZ_F32));
  RUN("_to_copy", take(), AS(FNZ_BF16)); /* a cast computes: its NaN is that of eager's */
  RUN("view_copy.dtype", take(), AS(FNZ_I16));
  EXACTLY(-1, -1, 0x3f80);
  RUN("where.ScalarOther", odd, TYPED(FNZ_U8, S(4), 5, 6, 7, 8), I(9));
  EXACTLY(9, 6, 7, 8);
  RUN("view_copy.dtype", TYPED(FNZ_U8, S(4), 0x7f, 0x80, 0x38, 0), AS(FNZ_F8_E4M3FN));
  RUN("where.ScalarSelf", mask, I(1), take());
  RUN("view_copy.dtype", take(), AS(FNZ_U8));
  EXACTLY(0x38, 0x80, 0x38, 0);
  finish();
}
END_TEST

START_TEST(what_eager_refuses) {
  start(1);
  fnz_arg x = T(S(3), 1, 2, 3), yes = TYPED(FNZ_BOOL, S(3), 1, 1, 1);
  FAILS(ctx, "BOUNDS", APPLY("masked_scatter", x, yes, T(S(2), 1, 2)));
  FAILS(ctx, "TYPE", APPLY("masked_fill.Scalar", x, TYPED(FNZ_U8, S(3), 1, 1, 1), F(0)));
  FAILS(ctx, "BOUNDS", APPLY("masked_fill.Tensor", x, yes, T(S(2), 1, 2)));
  FAILS(ctx, "UNSUPPORTED",
        APPLY("masked_fill.Tensor", x, yes,
              tensor(FNZ_F8_E8M0FNU, (shape){.rank = 0}, (const double[]){1})));
  FAILS(ctx, "BOUNDS", APPLY("copy", x, T(S(2), 1, 2)));
  FAILS(ctx, "BOUNDS", APPLY("copy", x, T(S(1, 1, 3), 1, 2, 3)));
  FAILS(ctx, "TYPE", APPLY("abs", yes));
  FAILS(ctx, "TYPE", APPLY("argmax", yes));
  FAILS(ctx, "BOUNDS", APPLY("narrow_copy", TYPED(FNZ_F32, (shape){0}, 1), I(0), I(0), I(0)));
  FAILS(ctx, "UNSUPPORTED",
        APPLY("lerp.Scalar", TYPED(FNZ_I64, S(1), 1), TYPED(FNZ_I64, S(1), 3), F(0.5)));
  finish();
}
END_TEST

/* A copy made of the middle of other memory may be looked at as wider elements. */
START_TEST(wider_elements_of_a_copy) {
  double bytes[10] = {9, 1, 0, 0, 0, 2, 0, 0, 0, 9};
  start(1);
  RUN("slice_copy.Tensor", tensor(FNZ_U8, S(10), bytes), I(0), I(1), I(9));
  fnz_arg middle = take();
  RUN("clone", middle);
  fnz_arg copy = take();
  RUN("view_copy.dtype", copy, (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = FNZ_I32});
  EXACTLY(1, 2);
  finish();
}
END_TEST

START_TEST(large_numbers_for_small_windows) {
  start(1);
  RUN("max_pool1d", T(S(1, 1, 3), 1, 3, 2), L1(1), L1(2), L1(0), L1(INT64_MAX));
  EXACTLY(1, 2);
  FAILS(ctx, "BOUNDS",
        APPLY("conv_transpose1d", T(S(1, 1, 3), 1, 3, 2), T(S(1, 1, 1), 1), NONE, L1(1),
              L1(INT64_MIN)));
  RUN("slice_copy.Tensor", T(S(3), 1, 2, 3), I(0), I(3), I(3), I(INT64_MAX));
  has_sizes(0, S(0));
  finish();
}
END_TEST

/* Statistics of batch norm step by step: eager's loops round, fuse and add in their own order. */
START_TEST(statistics_round_as_eager_does) {
  start(1);
  RUN("_native_batch_norm_legit_functional",
      T(S(2, 2, 5), 0x1.d7a2eep+0, 0x1.09ab94p-1, -0x1.b6407ap+0, -0x1.b38d98p+0, -0x1.098c96p-3,
        -0x1.341aa0p-1, 0x1.28f502p-3, -0x1.32d896p-3, 0x1.4eaa76p+1, -0x1.bc7084p-2, 0x1.68caa0p-2,
        -0x1.086722p-4, 0x1.7ba174p+0, 0x1.f9e51ep-2, 0x1.fe666ap-3, 0x1.bf3d74p+0, 0x1.7d5368p-1,
        0x1.035552p-5, -0x1.2c2358p+0, -0x1.81c6d8p+0),
      NONE, NONE, T(S(2), 0x1.d3b3fcp-5, -0x1.307adap+0), T(S(2), 0x1.29eb7cp-1, 0x1.6f9e04p-2),
      B(true), F(0.3), F(1e-5));
  is_close(1, (const double[]){0x1.10d70ep-3, 0x1.226bbcp-3}, 2, 0);
  is_close(2, (const double[]){0x1.d422bcp-1, 0x1.a97422p-1}, 2, 0);
  is_close(3, (const double[]){0x1.47666ep-4, -0x1.947d84p-1}, 2, 0);
  is_close(4, (const double[]){0x1.9cb0b2p-1, 0x1.77d3e6p-1}, 2, 0);
  RUN("_native_batch_norm_legit_functional",
      TYPED(FNZ_F64, S(2, 2, 5), 0x1.6857063f74099p-1, 0x1.a16f779f96ad5p-5, 0x1.aca7e5009a494p-1,
            -0x1.72e5cb91ca2b4p-2, 0x1.7f2236bb65306p-1, -0x1.b027c9e94a8a7p-2,
            0x1.2356ab56add3dp+0, -0x1.cc676ae60f686p-1, 0x1.593a5cd7e4f88p-2,
            -0x1.de0249b45473fp-7, -0x1.1291d7f019f10p-2, 0x1.79ac0f018eee1p-1,
            0x1.e0bb2e03b0a8bp-1, -0x1.9bf32a9137caap+0, 0x1.5b08603df03bep+0,
            -0x1.b2ed4cb839290p-1, 0x1.2657fbd02254cp+0, 0x1.40c2db2e79cf7p-2,
            -0x1.64cf792f0e9bcp-4, 0x1.f0ac9045ca26fp-1),
      NONE, NONE, TYPED(FNZ_F64, S(2), 0x1.81fe20ca59d98p-1, -0x1.e5b572bc84429p-1),
      TYPED(FNZ_F64, S(2), 0x1.57ff6c12a2420p-2, 0x1.ad101891dc420p-3), B(true), F(0.3), F(1e-5));
  is_close(1, (const double[]){0x1.40cf966a3bdeap-2, 0x1.4f058f15fd266p-3}, 2, 0);
  is_close(2, (const double[]){0x1.35b047882680bp+0, 0x1.6260613763b24p+0}, 2, 0);
  is_close(3, (const double[]){0x1.3e51071d94acdp-1, -0x1.3ade98c8b6655p-1}, 2, 0);
  is_close(4, (const double[]){0x1.da09acbabda40p-2, 0x1.484b9387b2f9ep-2}, 2, 0);
  finish();
}
END_TEST

RUN_SUITE("kernels_eager", statistics_round_as_eager_does, complex_functions, complex_arithmetic,
          complex_reductions, sums_over_nothing_much, thin_matrices, einsum_by_hand, flat_places,
          numbers_for_what_is_none, halves_round_every_step, other_names_and_implied_numbers,
          what_is_not_selected_keeps_its_bytes, what_eager_refuses, wider_elements_of_a_copy,
          large_numbers_for_small_windows)
