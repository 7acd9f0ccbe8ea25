/* elements_moves.c - choosing, joining, indexing, scattering, reducing. */
#include "tests/kernels/elements.h"

START_TEST(choices) {
  desk d = open_desk();
  fnz_handle mask = MAKE(BOOL, SIZES(3), NUMBERS(1, 0, 1));
  fnz_handle x = MAKE(I32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  IS("masked_fill.Scalar", ARGS(T(x), T(mask), F(7.9)), I32, SIZES(2, 3),
     NUMBERS(7, 2, 7, 7, 5, 7));
  IS("masked_scatter", ARGS(T(x), T(mask), T(call(&d, "neg", ARGS(T(x))))), I32, SIZES(2, 3),
     NUMBERS(-1, 2, -2, -3, 5, -4));
  close_desk(&d);
}
END_TEST

START_TEST(joining) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(1, 2), NUMBERS(1, 2)), y = MAKE(I32, SIZES(1, 2), NUMBERS(3, 4));
  fnz_handle none = MAKE(F32, SIZES(0), NOTHING);
  IS("cat", ARGS(LIST(T(x), T(none), T(y))), F32, SIZES(2, 2), NUMBERS(1, 2, 3, 4));
  IS("cat", ARGS(LIST(T(none), T(none))), F32, SIZES(0), NOTHING);
  REFUSED(&d, "BOUNDS", "cat", ARGS(LIST(T(x), T(call(&d, "t_copy", ARGS(T(y)))))));
  REFUSED(&d, "TYPE", "stack", ARGS(((fnz_arg){.tag = FNZ_ARG_LIST})));
  close_desk(&d);
}
END_TEST

START_TEST(rearranging) {
  desk d = open_desk();
  fnz_handle x = MAKE(I64, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  REFUSED(&d, "BOUNDS", "narrow_copy", ARGS(T(x), I(1), I(2), I(2)));
  REFUSED(&d, "BOUNDS", "repeat", ARGS(T(x), LIST(I(2))));
  close_desk(&d);
}
END_TEST

START_TEST(making) {
  desk d = open_desk();
  fnz_handle x = MAKE(I32, SIZES(2), NUMBERS(1, 2));
  IS("full_like", ARGS(T(x), F(3.5)), I32, SIZES(2), NUMBERS(3, 3));
  REFUSED(&d, "BOUNDS", "arange.start_step", ARGS(I(0), I(5), I(-1)));
  REFUSED(&d, "BOUNDS", "zeros", ARGS(LIST(I(-1))));
  REFUSED(&d, "OVERFLOW", "zeros", ARGS(LIST(I(INT64_MAX), I(4))));
  close_desk(&d);
}
END_TEST

START_TEST(indexing) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  fnz_handle k = MAKE(I64, SIZES(2), NUMBERS(2, -3));
  REFUSED(&d, "BOUNDS", "index.Tensor", ARGS(T(x), LIST(T(k))));
  REFUSED(&d, "BOUNDS", "index_select", ARGS(T(x), I(1), T(k)));
  REFUSED(&d, "BOUNDS", "gather", ARGS(T(x), I(1), T(MAKE(I64, SIZES(1, 1), NUMBERS(3)))));
  REFUSED(&d, "TYPE", "index.Tensor", ARGS(T(x), LIST(T(x))));
  close_desk(&d);
}
END_TEST

START_TEST(writing_at_indices) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  fnz_handle twice = MAKE(I64, SIZES(2), NUMBERS(1, 1));
  fnz_handle s = MAKE(F32, SIZES(2, 2), NUMBERS(1, 2, 3, 4));
  REFUSED(&d, "BOUNDS", "index_put", ARGS(T(x), LIST(T(twice), T(twice)), T(x)));
  REFUSED(&d, "BOUNDS", "index_copy", ARGS(T(x), I(0), T(twice), T(s)));
  close_desk(&d);
}
END_TEST

START_TEST(scattering) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(3), NUMBERS(1, 2, 3)), k = MAKE(I64, SIZES(3), NUMBERS(2, 0, 2));
  fnz_handle v = MAKE(F32, SIZES(3), NUMBERS(10, 20, 30));
  REFUSED(&d, "BOUNDS", "scatter_reduce.two", ARGS(T(x), I(0), T(k), T(v), S("add")));
  REFUSED(&d, "BOUNDS", "scatter.reduce", ARGS(T(x), I(0), T(k), T(v), S("mean")));
  REFUSED(&d, "BOUNDS", "scatter.src", ARGS(T(x), I(0), T(k), T(MAKE(F32, SIZES(1), NUMBERS(1)))));
  close_desk(&d);
}
END_TEST

/* Places outside are refused, also where elements are joined by a row of point.def. A base that is
 * written in place keeps its elements. */
START_TEST(scattering_outside) {
  static const fnz_dtype dtypes[] = {FNZ_U8, FNZ_F16, FNZ_F32, FNZ_F64, FNZ_C64};
  static const char *const names[] = {"scatter.src", "scatter_add"};
  static const int64_t wrong[] = {3, -1, INT64_MIN};
  desk d = open_desk();
  for (size_t i = 0; i < 5 * 2 * 3; i++) {
    fnz_dtype dtype = dtypes[i / 6];
    fnz_handle x = tensor(&d, dtype, SIZES(3), NUMBERS(1, 2, 3)),
               k = MAKE(I64, SIZES(2), NUMBERS(0, 0));
    fnz_handle v = tensor(&d, dtype, SIZES(2), NUMBERS(10, 20));
    ((int64_t *)(uintptr_t)fnzi_krn_array_data(fnzi_krn_array_of(k)))[1] = wrong[i % 3];
    REFUSED(&d, "BOUNDS", "gather", ARGS(T(x), I(0), T(k)));
    REFUSED(&d, "BOUNDS", names[i / 3 % 2], ARGS(T(x), I(0), T(k), T(v)));
    REFUSED(&d, "BOUNDS", names[i / 3 % 2], ARGS(LAST(x), I(0), T(k), T(v)));
    expect(&d, x, dtype, SIZES(3), NUMBERS(1, 2, 3));
  }
  close_desk(&d);
}
END_TEST

START_TEST(reducing) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2, 3), NUMBERS(3, 1, 2, 6, 5, 4)),
             none = MAKE(F32, SIZES(0), NOTHING);
  IS("sum", ARGS(T(x)), F32, SCALAR, NUMBERS(21));
  IS("sum.dim_IntList", ARGS(T(x), LIST(I(0))), F32, SIZES(3), NUMBERS(9, 6, 6));
  IS("sum.dim_IntList", ARGS(T(x), LIST(I(-1)), B(true)), F32, SIZES(2, 1), NUMBERS(6, 15));
  IS("sum", ARGS(T(x), D(FNZ_F64)), F64, SCALAR, NUMBERS(21));
  IS("mean.dim", ARGS(T(x), LIST(I(1))), F32, SIZES(2), NUMBERS(2, 5));
  IS("prod.dim_int", ARGS(T(x), I(1)), F32, SIZES(2), NUMBERS(6, 120));
  IS("amax", ARGS(T(x), LIST(I(0))), F32, SIZES(3), NUMBERS(6, 5, 4));
  IS("amin", ARGS(T(x), LIST(I(0), I(1)), B(true)), F32, SIZES(1, 1), NUMBERS(1));
  IS("max", ARGS(T(x)), F32, SCALAR, NUMBERS(6));
  IS("argmin", ARGS(T(x), I(1)), I64, SIZES(2), NUMBERS(1, 2));
  IS("any", ARGS(T(none)), BOOL, SCALAR, NUMBERS(0));
  IS("all.dim", ARGS(T(x), I(0)), BOOL, SIZES(3), NUMBERS(1, 1, 1));
  IS("sum", ARGS(T(none)), F32, SCALAR, NUMBERS(0));
  IS("mean", ARGS(T(none)), F32, SCALAR, NUMBERS(NAN));
  IS("cumsum", ARGS(T(x), I(0)), F32, SIZES(2, 3), NUMBERS(3, 1, 2, 9, 6, 6));
  IS("cumprod", ARGS(T(x), I(1)), F32, SIZES(2, 3), NUMBERS(3, 3, 6, 6, 30, 120));
  REFUSED(&d, "BOUNDS", "amax", ARGS(T(none)));
  REFUSED(&d, "BOUNDS", "sum.dim_IntList", ARGS(T(x), LIST(I(2))));
  REFUSED(&d, "BOUNDS", "sum.dim_IntList", ARGS(T(x), LIST(I(1), I(-1))));
  close_desk(&d);
}
END_TEST

START_TEST(extremes_say_where) {
  desk d = open_desk();
  fnz_handle x = MAKE(I32, SIZES(2, 3), NUMBERS(3, 7, 7, 6, 5, 4)), outputs[16];
  size_t count;
  OK(d.ctx, try_call(&d, "max.dim", ARGS(T(x), I(1)), outputs, &count));
  ck_assert_uint_eq(count, 2);
  expect(&d, keep(&d, outputs[0]), FNZ_I32, SIZES(2), NUMBERS(7, 6));
  expect(&d, keep(&d, outputs[1]), FNZ_I64, SIZES(2), NUMBERS(1, 0));
  close_desk(&d);
}
END_TEST

/* The order of a sum shows where small addends meet a large one: eight lanes, four vectors each.
 * The ones are in one vector and meet before the large number, which would swallow each. */
START_TEST(sums_cascade) {
  desk d = open_desk();
  double values[64] = {[0] = 0x1p24, [8] = 1, [40] = 1};
  fnz_handle x = tensor(&d, FNZ_F32, SIZES(64), values, 64);
  IS("sum", ARGS(T(x)), F32, SCALAR, NUMBERS(0x1p24 + 2));
  IS("sum", ARGS(T(call(&d, "flip", ARGS(T(x), LIST(I(0)))))), F32, SCALAR, NUMBERS(0x1p24 + 2));
  close_desk(&d);
}
END_TEST

SUITE_PART(kernels_moves, choices, joining, rearranging, making, indexing, writing_at_indices,
           scattering, scattering_outside, reducing, extremes_say_where, sums_cascade)
