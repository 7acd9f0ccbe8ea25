/* elements_moves.c - choosing, joining, indexing, scattering, reducing. */
#include "tests/kernels/elements.h"

START_TEST(choices) {
  desk d = open_desk();
  fnz_handle mask = MAKE(BOOL, SIZES(3), NUMBERS(1, 0, 1));
  fnz_handle x = MAKE(I32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  fnz_handle value = MAKE(I32, SCALAR, NUMBERS(9));
  IS("where.self", ARGS(T(mask), T(x), T(value)), I32, SIZES(2, 3), NUMBERS(1, 9, 3, 4, 9, 6));
  IS("where.ScalarOther", ARGS(T(mask), T(x), I(0)), I32, SIZES(2, 3), NUMBERS(1, 0, 3, 4, 0, 6));
  IS("where.Scalar", ARGS(T(mask), F(1), F(-1)), F32, SIZES(3), NUMBERS(1, -1, 1));
  IS("masked_fill.Scalar", ARGS(T(x), T(mask), F(7.9)), I32, SIZES(2, 3),
     NUMBERS(7, 2, 7, 7, 5, 7));
  IS("masked_fill.Tensor", ARGS(T(x), T(mask), T(value)), I32, SIZES(2, 3),
     NUMBERS(9, 2, 9, 9, 5, 9));
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
  IS("cat", ARGS(LIST(T(x), T(y)), I(-1)), F32, SIZES(1, 4), NUMBERS(1, 2, 3, 4));
  IS("stack", ARGS(LIST(T(x), T(x)), I(2)), F32, SIZES(1, 2, 2), NUMBERS(1, 1, 2, 2));
  IS("cat", ARGS(LIST(T(none), T(none))), F32, SIZES(0), NOTHING);
  REFUSED(&d, "BOUNDS", "cat", ARGS(LIST(T(x), T(call(&d, "t_copy", ARGS(T(y)))))));
  REFUSED(&d, "TYPE", "stack", ARGS(((fnz_arg){.tag = FNZ_ARG_LIST})));
  close_desk(&d);
}
END_TEST

START_TEST(rearranging) {
  desk d = open_desk();
  fnz_handle x = MAKE(I64, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  IS("repeat", ARGS(T(x), LIST(I(2), I(1), I(2))), I64, SIZES(2, 2, 6),
     NUMBERS(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6, 1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
  IS("repeat_interleave.self_int", ARGS(T(x), I(2), I(0)), I64, SIZES(4, 3),
     NUMBERS(1, 2, 3, 1, 2, 3, 4, 5, 6, 4, 5, 6));
  IS("repeat_interleave.self_int", ARGS(T(x), I(2)), I64, SIZES(12),
     NUMBERS(1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6));
  IS("flip", ARGS(T(x), LIST(I(0), I(-1))), I64, SIZES(2, 3), NUMBERS(6, 5, 4, 3, 2, 1));
  IS("roll", ARGS(T(x), LIST(I(1))), I64, SIZES(2, 3), NUMBERS(6, 1, 2, 3, 4, 5));
  IS("roll", ARGS(T(x), LIST(I(1), I(-1)), LIST(I(0), I(1))), I64, SIZES(2, 3),
     NUMBERS(5, 6, 4, 2, 3, 1));
  IS("tril", ARGS(T(x)), I64, SIZES(2, 3), NUMBERS(1, 0, 0, 4, 5, 0));
  IS("triu", ARGS(T(x), I(1)), I64, SIZES(2, 3), NUMBERS(0, 2, 3, 0, 0, 6));
  IS("constant_pad_nd", ARGS(T(x), LIST(I(1), I(-1), I(0), I(1)), I(9)), I64, SIZES(3, 3),
     NUMBERS(9, 1, 2, 9, 4, 5, 9, 9, 9));
  IS("resize", ARGS(T(x), LIST(I(2), I(4))), I64, SIZES(2, 4), NUMBERS(1, 2, 3, 4, 5, 6, 0, 0));
  IS("narrow_copy", ARGS(T(x), I(1), I(1), I(2)), I64, SIZES(2, 2), NUMBERS(2, 3, 5, 6));
  IS("diff", ARGS(T(x), I(1), I(0)), I64, SIZES(1, 3), NUMBERS(3, 3, 3));
  IS("diff", ARGS(T(x), I(2)), I64, SIZES(2, 1), NUMBERS(0, 0));
  fnz_handle ends = MAKE(I64, SIZES(2, 1), NUMBERS(7, 8));
  IS("diff", ARGS(T(x), I(1), I(1), T(ends), T(ends)), I64, SIZES(2, 4),
     NUMBERS(-6, 1, 1, 4, -4, 1, 1, 2));
  REFUSED(&d, "BOUNDS", "narrow_copy", ARGS(T(x), I(1), I(2), I(2)));
  REFUSED(&d, "BOUNDS", "repeat", ARGS(T(x), LIST(I(2))));
  close_desk(&d);
}
END_TEST

START_TEST(making) {
  desk d = open_desk();
  fnz_handle x = MAKE(I32, SIZES(2), NUMBERS(1, 2));
  IS("zeros", ARGS(LIST(I(2))), F32, SIZES(2), NUMBERS(0, 0));
  IS("ones", ARGS(LIST(I(2)), D(FNZ_BOOL)), BOOL, SIZES(2), NUMBERS(1, 1));
  IS("full", ARGS(LIST(I(2)), I(3)), I64, SIZES(2), NUMBERS(3, 3));
  IS("full", ARGS(LIST(I(1)), B(true)), BOOL, SIZES(1), NUMBERS(1));
  IS("full_like", ARGS(T(x), F(3.5)), I32, SIZES(2), NUMBERS(3, 3));
  IS("new_ones", ARGS(T(x), LIST(I(1))), I32, SIZES(1), NUMBERS(1));
  IS("empty.memory_format", ARGS(LIST(I(2))), F32, SIZES(2), NUMBERS(0, 0));
  IS("arange", ARGS(I(3)), I64, SIZES(3), NUMBERS(0, 1, 2));
  IS("arange.start_step", ARGS(I(5), I(0), I(-2)), I64, SIZES(3), NUMBERS(5, 3, 1));
  IS("arange.start", ARGS(F(0.5), I(3)), F32, SIZES(3), NUMBERS(0.5, 1.5, 2.5));
  IS("linspace", ARGS(I(0), I(1), I(5)), F32, SIZES(5), NUMBERS(0, 0.25, 0.5, 0.75, 1));
  IS("eye.m", ARGS(I(2), I(3)), F32, SIZES(2, 3), NUMBERS(1, 0, 0, 0, 1, 0));
  IS("scalar_tensor", ARGS(I(4)), F32, SCALAR, NUMBERS(4));
  REFUSED(&d, "BOUNDS", "arange.start_step", ARGS(I(0), I(5), I(-1)));
  REFUSED(&d, "BOUNDS", "zeros", ARGS(LIST(I(-1))));
  REFUSED(&d, "OVERFLOW", "zeros", ARGS(LIST(I(INT64_MAX), I(4))));
  close_desk(&d);
}
END_TEST

START_TEST(indexing) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  fnz_handle k = MAKE(I64, SIZES(2), NUMBERS(2, -3)), rows = MAKE(I64, SIZES(2, 1), NUMBERS(1, 0));
  fnz_handle mask = MAKE(BOOL, SIZES(2, 3), NUMBERS(0, 1, 0, 1, 0, 1));
  IS("index.Tensor", ARGS(T(x), LIST(NONE, T(k))), F32, SIZES(2, 2), NUMBERS(3, 1, 6, 4));
  IS("index.Tensor", ARGS(T(x), LIST(T(rows), T(k))), F32, SIZES(2, 2), NUMBERS(6, 4, 3, 1));
  IS("index.Tensor", ARGS(T(x), LIST(T(mask))), F32, SIZES(3), NUMBERS(2, 4, 6));
  fnz_handle cube = call(&d, "unsqueeze_copy", ARGS(T(x), I(1)));
  IS("index.Tensor", ARGS(T(cube), LIST(T(rows), NONE, T(k))), F32, SIZES(2, 2, 1),
     NUMBERS(6, 4, 3, 1));
  IS("index_select", ARGS(T(x), I(1), T(MAKE(I64, SIZES(2), NUMBERS(2, 0)))), F32, SIZES(2, 2),
     NUMBERS(3, 1, 6, 4));
  IS("gather", ARGS(T(x), I(1), T(rows)), F32, SIZES(2, 1), NUMBERS(2, 4));
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
  fnz_handle twice = MAKE(I64, SIZES(2), NUMBERS(1, 1)), v = MAKE(F32, SIZES(2), NUMBERS(10, 20));
  fnz_handle nine = MAKE(F32, SCALAR, NUMBERS(9));
  fnz_handle mask = MAKE(BOOL, SIZES(2, 3), NUMBERS(0, 1, 0, 1, 0, 1));
  IS("index_put", ARGS(T(x), LIST(T(twice), T(twice)), T(v)), F32, SIZES(2, 3),
     NUMBERS(1, 2, 3, 4, 20, 6));
  IS("index_put", ARGS(T(x), LIST(T(twice), T(twice)), T(v), B(true)), F32, SIZES(2, 3),
     NUMBERS(1, 2, 3, 4, 35, 6));
  IS("index_put", ARGS(T(x), LIST(NONE, T(MAKE(I64, SIZES(2), NUMBERS(0, -1)))), T(v)), F32,
     SIZES(2, 3), NUMBERS(10, 2, 20, 10, 5, 20));
  IS("index_put", ARGS(T(x), LIST(T(mask)), T(nine)), F32, SIZES(2, 3), NUMBERS(1, 9, 3, 9, 5, 9));
  IS("index_fill.int_Scalar", ARGS(T(x), I(1), T(twice), I(0)), F32, SIZES(2, 3),
     NUMBERS(1, 0, 3, 4, 0, 6));
  IS("index_fill.int_Tensor", ARGS(T(x), I(0), T(twice), T(nine)), F32, SIZES(2, 3),
     NUMBERS(1, 2, 3, 9, 9, 9));
  fnz_handle s = MAKE(F32, SIZES(2, 2), NUMBERS(1, 2, 3, 4));
  IS("index_copy", ARGS(T(x), I(1), T(twice), T(s)), F32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 4, 6));
  IS("index_add", ARGS(T(x), I(1), T(twice), T(s)), F32, SIZES(2, 3), NUMBERS(1, 5, 3, 4, 12, 6));
  IS("index_add", ARGS(T(x), I(1), T(twice), T(s), I(2)), F32, SIZES(2, 3),
     NUMBERS(1, 8, 3, 4, 19, 6));
  REFUSED(&d, "BOUNDS", "index_put", ARGS(T(x), LIST(T(twice), T(twice)), T(x)));
  REFUSED(&d, "BOUNDS", "index_copy", ARGS(T(x), I(0), T(twice), T(s)));
  close_desk(&d);
}
END_TEST

START_TEST(scattering) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(3), NUMBERS(1, 2, 3)), k = MAKE(I64, SIZES(3), NUMBERS(2, 0, 2));
  fnz_handle v = MAKE(F32, SIZES(3), NUMBERS(10, 20, 30));
  IS("scatter.src", ARGS(T(x), I(0), T(k), T(v)), F32, SIZES(3), NUMBERS(20, 2, 30));
  IS("scatter.value", ARGS(T(x), I(0), T(k), I(7)), F32, SIZES(3), NUMBERS(7, 2, 7));
  IS("scatter_add", ARGS(T(x), I(0), T(k), T(v)), F32, SIZES(3), NUMBERS(21, 2, 43));
  IS("scatter.reduce", ARGS(T(x), I(0), T(k), T(v), S("multiply")), F32, SIZES(3),
     NUMBERS(20, 2, 900));
  IS("scatter_reduce.two", ARGS(T(x), I(0), T(k), T(v), S("amax"), B(false)), F32, SIZES(3),
     NUMBERS(20, 2, 30));
  IS("scatter_reduce.two", ARGS(T(x), I(0), T(k), T(v), S("sum"), B(false)), F32, SIZES(3),
     NUMBERS(20, 2, 40));
  IS("scatter_reduce.two", ARGS(T(x), I(0), T(k), T(v), S("mean"), B(false)), F32, SIZES(3),
     NUMBERS(20, 2, 20));
  REFUSED(&d, "BOUNDS", "scatter_reduce.two", ARGS(T(x), I(0), T(k), T(v), S("add")));
  REFUSED(&d, "BOUNDS", "scatter.reduce", ARGS(T(x), I(0), T(k), T(v), S("mean")));
  REFUSED(&d, "BOUNDS", "scatter.src", ARGS(T(x), I(0), T(k), T(MAKE(F32, SIZES(1), NUMBERS(1)))));
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
           scattering, reducing, extremes_say_where, sums_cascade)
