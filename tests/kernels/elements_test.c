/* checks: 36
 * elements_test.c - the CPU backend's kernels against values that can be stated: arithmetic and
 * element types here, what moves elements and whose memory it is in kernels/. */
#include "tests/kernels/elements.h"

START_TEST(alpha_is_fused) {
  desk d = open_desk();
  float tenth = 0.1f, x = 0.3f, third = 1.0f / 3.0f;
  fnz_handle a = MAKE(F32, SIZES(1), NUMBERS(x)), b = MAKE(F32, SIZES(1), NUMBERS(third));
  IS("add.Tensor", ARGS(T(a), T(b), F(tenth)), F32, SIZES(1), NUMBERS(fmaf(tenth, third, x)));
  IS("sub.Tensor", ARGS(T(a), T(b), F(tenth)), F32, SIZES(1), NUMBERS(fmaf(-tenth, third, x)));
  IS("lerp.Scalar", ARGS(T(a), T(b), F(tenth)), F32, SIZES(1), NUMBERS(fmaf(tenth, third - x, x)));
  IS("lerp.Scalar", ARGS(T(a), T(b), F(x + x)), F32, SIZES(1),
     NUMBERS(fmaf(-(third - x), 1 - (x + x), third)));
  close_desk(&d);
}
END_TEST

START_TEST(types_promote) {
  desk d = open_desk();
  fnz_handle i8 = MAKE(I8, SIZES(1), NUMBERS(1)), i64 = MAKE(I64, SCALAR, NUMBERS(5));
  fnz_handle f16 = MAKE(F16, SIZES(1), NUMBERS(1)), u8 = MAKE(U8, SIZES(1), NUMBERS(200));
  fnz_handle yes = MAKE(BOOL, SIZES(1), NUMBERS(1));
  IS("add.Tensor", ARGS(T(i8), I(300)), I8, SIZES(1), NUMBERS(45));
  IS("add.Tensor", ARGS(T(i8), F(1.5)), F32, SIZES(1), NUMBERS(2.5));
  IS("add.Tensor", ARGS(T(i8), T(i64)), I8, SIZES(1), NUMBERS(6));
  IS("add.Tensor", ARGS(T(u8), T(i8)), I16, SIZES(1), NUMBERS(201));
  IS("add.Tensor", ARGS(T(u8), T(u8)), U8, SIZES(1), NUMBERS(144));
  IS("add.Tensor", ARGS(T(yes), T(yes)), BOOL, SIZES(1), NUMBERS(1));
  IS("mul.Tensor", ARGS(T(yes), I(2)), I64, SIZES(1), NUMBERS(2));
  IS("div.Tensor", ARGS(T(u8), T(i8)), F32, SIZES(1), NUMBERS(200));
  IS("add.Tensor", ARGS(T(f16), F(0x1p-11)), F16, SIZES(1), NUMBERS(1));
  IS("eq.Scalar", ARGS(T(u8), I(200)), BOOL, SIZES(1), NUMBERS(1));
  IS("sum", ARGS(T(u8)), I64, SCALAR, NUMBERS(200));
  REFUSED(&d, "TYPE", "sub.Tensor", ARGS(T(yes), T(yes)));
  REFUSED(&d, "TYPE", "sub.Tensor", ARGS(T(i64), T(yes)));
  REFUSED(&d, "TYPE", "rsub.Tensor", ARGS(T(yes), T(i64)));
  REFUSED(&d, "TYPE", "sub.Scalar", ARGS(T(yes), I(2)));
  REFUSED(&d, "TYPE", "rsub.Scalar", ARGS(T(i64), B(1)));
  REFUSED(&d, "TYPE", "floor_divide", ARGS(T(yes), T(yes)));
  REFUSED(&d, "TYPE", "remainder.Tensor", ARGS(T(yes), T(yes)));
  REFUSED(&d, "TYPE", "fmod.Scalar", ARGS(T(yes), B(1)));
  REFUSED(&d, "TYPE", "pow.Scalar", ARGS(B(1), T(yes)));
  REFUSED(&d, "TYPE", "threshold", ARGS(T(yes), I(1), I(1)));
  REFUSED(&d, "TYPE", "mean", ARGS(T(u8)));
  close_desk(&d);
}
END_TEST

START_TEST(integers_wrap_and_divide) {
  desk d = open_desk();
  fnz_handle a = MAKE(I32, SIZES(4), NUMBERS(7, -7, 7, -7));
  fnz_handle b = MAKE(I32, SIZES(4), NUMBERS(2, 2, -2, -2));
  fnz_handle least = MAKE(I32, SIZES(1), NUMBERS(INT32_MIN)),
             zero = MAKE(I32, SIZES(1), NUMBERS(0));
  IS("div.Tensor_mode", ARGS(T(a), T(b), S("floor")), I32, SIZES(4), NUMBERS(3, -4, -4, 3));
  IS("div.Tensor_mode", ARGS(T(a), T(b), S("trunc")), I32, SIZES(4), NUMBERS(3, -3, -3, 3));
  IS("remainder.Tensor", ARGS(T(a), T(b)), I32, SIZES(4), NUMBERS(1, 1, -1, -1));
  IS("fmod.Tensor", ARGS(T(a), T(b)), I32, SIZES(4), NUMBERS(1, -1, 1, -1));
  IS("floor_divide", ARGS(T(a), T(b)), I32, SIZES(4), NUMBERS(3, -4, -4, 3));
  IS("abs", ARGS(T(least)), I32, SIZES(1), NUMBERS(INT32_MIN));
  IS("neg", ARGS(T(least)), I32, SIZES(1), NUMBERS(INT32_MIN));
  IS("pow.Tensor_Scalar", ARGS(T(a), I(3)), I32, SIZES(4), NUMBERS(343, -343, 343, -343));
  fnz_handle wide = MAKE(I64, SIZES(3), NUMBERS(-0x1p63, 6, INT32_MAX)),
             others = MAKE(I64, SIZES(3), NUMBERS(INT32_MAX, -0x1p63, 6));
  IS("gcd", ARGS(T(wide), T(others)), I64, SIZES(3), NUMBERS(1, -2, 1));
  IS("gcd", ARGS(T(others), T(wide)), I64, SIZES(3), NUMBERS(1, -2, 1));
  IS("bitwise_not", ARGS(T(zero)), I32, SIZES(1), NUMBERS(-1));
  IS("bitwise_left_shift.Tensor_Scalar", ARGS(T(a), I(40)), I32, SIZES(4), NUMBERS(0, 0, 0, 0));
  IS("bitwise_right_shift.Tensor_Scalar", ARGS(T(a), I(40)), I32, SIZES(4), NUMBERS(0, -1, 0, -1));
  REFUSED(&d, "BOUNDS", "remainder.Tensor", ARGS(T(a), T(zero)));
  REFUSED(&d, "BOUNDS", "pow.Tensor_Scalar", ARGS(T(a), I(-1)));
  close_desk(&d);
}
END_TEST

START_TEST(nan_and_signed_zero) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(3), NUMBERS(NAN, -0.0, 2)),
             one = MAKE(F32, SIZES(3), NUMBERS(1, 1, 1));
  unsigned char cells[12];
  float zero;
  IS("maximum", ARGS(T(x), T(one)), F32, SIZES(3), NUMBERS(NAN, 1, 2));
  IS("minimum", ARGS(T(one), T(x)), F32, SIZES(3), NUMBERS(NAN, 0, 1));
  IS("fmax", ARGS(T(x), T(one)), F32, SIZES(3), NUMBERS(1, 1, 2));
  IS("clamp", ARGS(T(x), F(0.5), F(1)), F32, SIZES(3), NUMBERS(NAN, 0.5, 1));
  IS("clamp", ARGS(T(one), F(3), F(2)), F32, SIZES(3), NUMBERS(2, 2, 2));
  IS("clamp", ARGS(T(one), NONE, F(0)), F32, SIZES(3), NUMBERS(0, 0, 0));
  IS("sign", ARGS(T(x)), F32, SIZES(3), NUMBERS(0, 0, 1));
  IS("amax", ARGS(T(x)), F32, SCALAR, NUMBERS(NAN));
  IS("argmax", ARGS(T(x)), I64, SCALAR, NUMBERS(0));
  IS("isnan", ARGS(T(x)), BOOL, SIZES(3), NUMBERS(1, 0, 0));
  IS("logical_not", ARGS(T(x)), BOOL, SIZES(3), NUMBERS(0, 1, 0));
  fnz_handle y = call(&d, "relu", ARGS(T(x)));
  OK(d.ctx, d.cpu->download(d.cpu->self, d.ctx, y, cells));
  memcpy(&zero, cells + 4, 4);
  ck_assert(signbit(zero));
  close_desk(&d);
}
END_TEST

START_TEST(rounding_and_casts) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(5), NUMBERS(-2.5, -1.5, 0.5, 1.5, 300.7));
  IS("round", ARGS(T(x)), F32, SIZES(5), NUMBERS(-2, -2, 0, 2, 301));
  IS("trunc", ARGS(T(x)), F32, SIZES(5), NUMBERS(-2, -1, 0, 1, 300));
  IS("floor", ARGS(T(x)), F32, SIZES(5), NUMBERS(-3, -2, 0, 1, 300));
  IS("_to_copy", ARGS(T(x), D(FNZ_U8)), U8, SIZES(5), NUMBERS(254, 255, 0, 1, 44));
  IS("_to_copy", ARGS(T(x), D(FNZ_BOOL)), BOOL, SIZES(5), NUMBERS(1, 1, 1, 1, 1));
  fnz_handle odd = MAKE(F64, SIZES(4), NUMBERS(NAN, 1e30, 1.00390625, 65520));
  IS("_to_copy", ARGS(T(odd), D(FNZ_I32)), I32, SIZES(4), NUMBERS(INT32_MIN, INT32_MIN, 1, 65520));
  IS("_to_copy", ARGS(T(odd), D(FNZ_BF16)), BF16, SIZES(4), NUMBERS(NAN, 0x1.94p99, 1, 65536));
  IS("_to_copy", ARGS(T(odd), D(FNZ_F16)), F16, SIZES(4),
     NUMBERS(NAN, INFINITY, 1.00390625, INFINITY));
  close_desk(&d);
}
END_TEST

/* Every 16-bit pattern survives the way to f32 and back. */
START_TEST(halves_round_trip) {
  for (uint32_t bits = 0; bits < 65536; bits++) {
    uint16_t half = (uint16_t)bits, back[2];
    float wide[2];
    fnzi_krn_convert_one(FNZ_F32, &wide[0], FNZ_F16, &half);
    fnzi_krn_convert_one(FNZ_F32, &wide[1], FNZ_BF16, &half);
    fnzi_krn_convert_one(FNZ_F16, &back[0], FNZ_F32, &wide[0]);
    fnzi_krn_convert_one(FNZ_BF16, &back[1], FNZ_F32, &wide[1]);
    ck_assert(isnan(wide[0]) ? (back[0] & 0x7c00) == 0x7c00 : back[0] == half);
    ck_assert(isnan(wide[1]) ? (back[1] & 0x7f80) == 0x7f80 : back[1] == half);
  }
}
END_TEST

/* Conversions of numbers to each dtype: ties, the largest ones and beyond, subnormal ones,
 * zeros. */
START_TEST(floats_of_eight_bits) {
  static const float numbers[] = {1,   -1.1875f, 1.0625f,  448,    480,      1e9f,
                                  240, 248,      57344,    -61440, INFINITY, -INFINITY,
                                  NAN, 0x1p-10f, 0x3p-10f, -0.0f,  0x1p-20f, 0x1p-17f};
  enum { COUNT = sizeof numbers / sizeof *numbers };
  static const struct {
    fnz_dtype dtype;
    uint8_t want[COUNT];
  } rows[] = {
      {FNZ_F8_E4M3FN,
       {0x38, 0xba, 0x38, 0x7e, 0x7e, 0x7e, 0x77, 0x78, 0x7e, 0xfe, 0x7e, 0xfe, 0x7f, 0x00, 0x02,
        0x80, 0x00, 0x00}},
      {FNZ_F8_E5M2,
       {0x3c, 0xbd, 0x3c, 0x5f, 0x60, 0x7c, 0x5c, 0x5c, 0x7b, 0xfc, 0x7c, 0xfc, 0x7f, 0x14, 0x1a,
        0x80, 0x00, 0x00}},
      {FNZ_F8_E4M3FNUZ,
       {0x40, 0xc2, 0x40, 0x80, 0x80, 0x80, 0x7f, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01, 0x03,
        0x00, 0x00, 0x00}},
      {FNZ_F8_E5M2FNUZ,
       {0x40, 0xc1, 0x40, 0x63, 0x64, 0x80, 0x60, 0x60, 0x7f, 0x80, 0x80, 0x80, 0x80, 0x18, 0x1e,
        0x00, 0x00, 0x01}},
  };
  for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
    uint8_t have[COUNT], back;
    fnzi_krn_convert(&(fnzi_krn_conversion){rows[r].dtype, FNZ_F32, 1, 4}, have, numbers, COUNT);
    for (size_t i = 0; i < COUNT; i++)
      ck_assert_msg(have[i] == rows[r].want[i], "dtype %zu: %a is 0x%02x, not 0x%02x", r,
                    (double)numbers[i], have[i], rows[r].want[i]);
    for (uint32_t bits = 0; bits < 256; bits++) {
      uint8_t code = (uint8_t)bits;
      double wide;
      fnzi_krn_convert_one(FNZ_F64, &wide, rows[r].dtype, &code);
      fnzi_krn_convert_one(rows[r].dtype, &back, FNZ_F64, &wide);
      ck_assert(isnan(wide) ? (back | 0x80) >= 0x80
                            : back == code || (isinf(wide) && (back & 0x7f) == (code & 0x7f)));
    }
  }
}
END_TEST

START_TEST(functions) {
  desk d = open_desk();
  fnz_handle x = MAKE(F64, SIZES(3), NUMBERS(0, 1, 4));
  IS("rsqrt", ARGS(T(x)), F64, SIZES(3), NUMBERS(INFINITY, 1, 0.5));
  IS("reciprocal", ARGS(T(x)), F64, SIZES(3), NUMBERS(INFINITY, 1, 0.25));
  IS("log", ARGS(T(x)), F64, SIZES(3), NUMBERS(-INFINITY, 0, 1.3862943611198906));
  IS("pow.Tensor_Scalar", ARGS(T(x), F(-0.5)), F64, SIZES(3), NUMBERS(INFINITY, 1, 0.5));
  IS("leaky_relu", ARGS(T(call(&d, "neg", ARGS(T(x)))), F(0.5)), F64, SIZES(3),
     NUMBERS(0, -0.5, -2));
  close_desk(&d);
}
END_TEST

START_TEST(many_elements) {
  desk d = open_desk();
  double tens[250];
  for (size_t i = 0; i < 250; i++)
    tens[i] = (double)(i % 10);
  fnz_handle x = tensor(&d, FNZ_F32, SIZES(250), tens, 250);
  fnz_handle big = call(&d, "repeat", ARGS(T(x), LIST(I(400), I(1))));
  fnz_handle y = call(&d, "add.Tensor", ARGS(T(big), T(big)));
  IS("sum", ARGS(T(y)), F32, SCALAR, NUMBERS(900000));
  IS("amax", ARGS(T(y)), F32, SCALAR, NUMBERS(18));
  fnz_handle turned = call(&d, "t_copy", ARGS(T(big)));
  fnz_handle z = call(&d, "mul.Tensor", ARGS(T(turned), F(0.5)));
  ck_assert_int_eq(d.cpu->geometry(d.cpu->self, z)->strides[1], 1);
  IS("sum", ARGS(T(z)), F32, SCALAR, NUMBERS(225000));
  close_desk(&d);
}
END_TEST

START_TEST(complex_numbers) {
  desk d = open_desk();
  fnz_handle parts = MAKE(F32, SIZES(2, 2), NUMBERS(1, 2, 3, -4));
  fnz_handle c = call(&d, "view_as_complex_copy", ARGS(T(parts)));
  fnz_handle square = call(&d, "mul.Tensor", ARGS(T(c), T(c)));
  IS("view_as_real_copy", ARGS(T(square)), F32, SIZES(2, 2), NUMBERS(-3, 4, -7, -24));
  IS("view_as_real_copy", ARGS(T(call(&d, "_conj_copy", ARGS(T(c))))), F32, SIZES(2, 2),
     NUMBERS(1, -2, 3, 4));
  IS("view_as_real_copy", ARGS(T(call(&d, "sum", ARGS(T(c))))), F32, SIZES(2), NUMBERS(4, -2));
  IS("view_as_real_copy", ARGS(T(call(&d, "div.Tensor", ARGS(T(c), T(c))))), F32, SIZES(2, 2),
     NUMBERS(1, 0, 1, 0));
  REFUSED(&d, "UNSUPPORTED", "lt.Tensor", ARGS(T(c), T(c)));
  close_desk(&d);
}
END_TEST

START_TEST(wrong_calls_are_refused) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2, 2), NUMBERS(1, 2, 3, 4)),
             y = MAKE(F32, SIZES(3), NUMBERS(1, 2, 3));
  REFUSED(&d, "BOUNDS", "add.Tensor", ARGS(T(x), T(y)));
  REFUSED(&d, "TYPE", "add.Tensor", ARGS(T(x), NONE));
  REFUSED(&d, "TYPE", "neg", ARGS(DEFAULT));
  REFUSED(&d, "TYPE", "zero", ARGS(I(1)));
  REFUSED(&d, "TYPE", "masked_fill.Scalar", ARGS(I(1), T(x), I(1)));
  REFUSED(&d, "TYPE", "neg", ARGS(T(x), T(x)));
  REFUSED(&d, "TYPE", "slice_scatter", ARGS(T(x), I(1)));
  REFUSED(&d, "UNSUPPORTED", "linalg_eig", ARGS(T(x)));
  REFUSED(&d, "UNSUPPORTED", "select_copy.int",
          ARGS(T(x), I(0), ((fnz_arg){.tag = FNZ_ARG_SYMBOL})));
  ck_assert(fnz_cpu_has_kernel(fnz_op_find(NULL, "add.Tensor")));
  ck_assert(fnz_cpu_has_kernel(fnz_op_find(NULL, "_foreach_add.List")));
  ck_assert(!fnz_cpu_has_kernel(fnz_op_find(NULL, "linalg_eig")));
  close_desk(&d);
}
END_TEST

SUITE_PART(kernels_numbers, alpha_is_fused, types_promote, integers_wrap_and_divide,
           nan_and_signed_zero, rounding_and_casts, halves_round_trip, floats_of_eight_bits,
           functions, many_elements, complex_numbers, wrong_calls_are_refused)

suite_part kernels_memory, kernels_moves;
RUN_PARTS("kernels", kernels_numbers, kernels_memory, kernels_moves)
