/* checks: 37
 * kernels_test.c - the CPU backend's kernels against values that can be stated. */
#include "tests/test.h"

#include "kernels/core/core.h"

#include <math.h>

/* --- A desk: a context, a backend, and short ways to make, call and look ----------------- */
typedef struct desk {
  fnz_context *ctx;
  fnz_backend *cpu;
  fnz_handle live[128];
  size_t nlive;
} desk;

static desk open_desk(void) {
  desk d = {0};
  ck_assert_int_eq(fnz_context_create(NULL, &d.ctx), FNZ_OK);
  OK(d.ctx, fnz_cpu_backend_create(d.ctx, 2, &d.cpu));
  return d;
}

static void close_desk(desk *d) {
  while (d->nlive)
    d->cpu->release(d->cpu->self, d->live[--d->nlive]);
  fnz_backend_destroy(d->cpu);
  fnz_context_destroy(d->ctx);
}

static fnz_handle keep(desk *d, fnz_handle h) {
  d->live[d->nlive++] = h;
  return h;
}

static void drop(desk *d, fnz_handle h) {
  for (size_t i = 0; i < d->nlive; i++)
    if (d->live[i] == h) {
      d->cpu->release(d->cpu->self, h);
      d->live[i] = d->live[--d->nlive];
      return;
    }
}

/* Sizes end with -1. */
#define SIZES(...) ((const int64_t[]){__VA_ARGS__, -1})
#define SCALAR     ((const int64_t[]){-1})
#define NOTHING    NULL, 0
#define NUMBERS(...)                                                                               \
  ((const double[]){__VA_ARGS__}), sizeof((double[]){__VA_ARGS__}) / sizeof(double)

static fnz_handle tensor(desk *d, fnz_dtype dtype, const int64_t *sizes, const double *values,
                         size_t count) {
  int64_t strides[FNZ_MAX_RANK];
  uint32_t rank = 0;
  unsigned char cells[16 * 256];
  fnz_handle h;
  while (sizes[rank] >= 0)
    rank++;
  fnzi_contiguous_strides(sizes, rank, strides);
  fnz_geometry g = {.dtype = dtype, .rank = rank, .sizes = sizes, .strides = strides};
  ck_assert_int_eq(fnz_geometry_numel(&g), (int64_t)count);
  fnzi_krn_convert(dtype, cells, (int64_t)fnzi_dtype(dtype)->bytes, FNZ_F64, values, 8,
                   (int64_t)count);
  OK(d->ctx, d->cpu->upload(d->cpu->self, d->ctx, &g, cells, &h));
  return keep(d, h);
}

static fnz_arg T(fnz_handle h) {
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = h};
}
static fnz_arg LAST(fnz_handle h) {
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .flags = FNZ_ARG_LAST_USE, .u.value = h};
}
static fnz_arg I(int64_t i) {
  return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = i};
}
static fnz_arg F(double f) {
  return (fnz_arg){.tag = FNZ_ARG_FLOAT, .u.f = f};
}
static fnz_arg B(bool b) {
  return (fnz_arg){.tag = FNZ_ARG_BOOL, .u.i = b};
}
static fnz_arg D(fnz_dtype d) {
  return (fnz_arg){.tag = FNZ_ARG_DTYPE, .u.i = d};
}
static fnz_arg S(const char *s) {
  return (fnz_arg){.tag = FNZ_ARG_STRING, .count = (uint32_t)strlen(s), .u.s = s};
}
static const fnz_arg NONE = {.tag = FNZ_ARG_NONE}, DEFAULT = {.tag = FNZ_ARG_DEFAULT};
#define LIST(...)                                                                                  \
  ((fnz_arg){.tag = FNZ_ARG_LIST,                                                                  \
             .count = sizeof((fnz_arg[]){__VA_ARGS__}) / sizeof(fnz_arg),                          \
             .u.list = (fnz_arg[]){__VA_ARGS__}})

static fnz_status try_call(desk *d, const char *name, const fnz_arg *args, size_t nargs,
                           fnz_handle *outputs, size_t *count) {
  fnz_request call = {.op = fnz_op_find(name), .args = args, .nargs = nargs, .source = ""};
  ck_assert_msg(call.op != NULL, "no operator %s", name);
  return d->cpu->apply(d->cpu->self, d->ctx, &call, outputs, 16, count);
}
#define ARGS(...)                                                                                  \
  ((const fnz_arg[]){__VA_ARGS__}), sizeof((fnz_arg[]){__VA_ARGS__}) / sizeof(fnz_arg)

#define REFUSED(d, class_name, name, args)                                                         \
  do {                                                                                             \
    fnz_handle none_[16];                                                                          \
    size_t count_;                                                                                 \
    FAILS((d)->ctx, class_name, try_call(d, name, args, none_, &count_));                          \
    ck_assert_uint_eq(count_, 0);                                                                  \
  } while (0)

/* The only result. */
static fnz_handle call(desk *d, const char *name, const fnz_arg *args, size_t nargs) {
  fnz_handle outputs[16];
  size_t count;
  OK(d->ctx, try_call(d, name, args, nargs, outputs, &count));
  ck_assert_uint_eq(count, 1);
  return keep(d, outputs[0]);
}

static void expect(desk *d, fnz_handle h, fnz_dtype dtype, const int64_t *sizes,
                   const double *values, size_t count) {
  const fnz_geometry *g = d->cpu->geometry(d->cpu->self, h);
  unsigned char cells[16 * 256];
  double have[256];
  ck_assert_str_eq(fnzi_dtype(g->dtype)->name, fnzi_dtype(dtype)->name);
  for (uint32_t i = 0; i < g->rank; i++)
    ck_assert_int_eq(g->sizes[i], sizes[i]);
  ck_assert_int_eq(sizes[g->rank], -1);
  ck_assert_int_eq(fnz_geometry_numel(g), (int64_t)count);
  OK(d->ctx, d->cpu->download(d->cpu->self, d->ctx, h, cells));
  fnzi_krn_convert(FNZ_F64, have, 8, dtype, cells, (int64_t)fnzi_dtype(dtype)->bytes,
                   (int64_t)count);
  for (size_t i = 0; i < count; i++)
    if (isnan(values[i]) ? !isnan(have[i]) : have[i] != values[i])
      ck_abort_msg("element %zu is %.17g, not %.17g", i, have[i], values[i]);
}

/* One line per fact: the result of an operator has this type, these sizes and these values. */
#define IS(name, args, dtype, sizes, numbers)                                                      \
  expect(&d, call(&d, name, args), FNZ_##dtype, sizes, numbers)
#define MAKE(dtype, sizes, ...) tensor(&d, FNZ_##dtype, sizes, __VA_ARGS__)

START_TEST(arithmetic) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  fnz_handle row = MAKE(F32, SIZES(3), NUMBERS(10, 20, 30));
  fnz_handle column = MAKE(F32, SIZES(2, 1), NUMBERS(1, 2));
  IS("add.Tensor", ARGS(T(x), T(row), I(2)), F32, SIZES(2, 3), NUMBERS(21, 42, 63, 24, 45, 66));
  IS("sub.Tensor", ARGS(T(row), T(column)), F32, SIZES(2, 3), NUMBERS(9, 19, 29, 8, 18, 28));
  IS("mul.Tensor", ARGS(T(x), F(0.5)), F32, SIZES(2, 3), NUMBERS(0.5, 1, 1.5, 2, 2.5, 3));
  IS("rsub.Scalar", ARGS(T(x), I(1), I(2)), F32, SIZES(2, 3), NUMBERS(-1, -3, -5, -7, -9, -11));
  IS("neg", ARGS(T(column)), F32, SIZES(2, 1), NUMBERS(-1, -2));
  IS("addcmul", ARGS(T(row), T(row), T(row), F(0.1)), F32, SIZES(3), NUMBERS(20, 60, 120));
  IS("lerp.Scalar", ARGS(T(row), T(row), F(0.3)), F32, SIZES(3), NUMBERS(10, 20, 30));
  IS("addcdiv", ARGS(T(row), T(row), T(row), I(4)), F32, SIZES(3), NUMBERS(14, 24, 34));
  close_desk(&d);
}
END_TEST

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
    fnzi_krn_convert(FNZ_F32, &wide[0], 4, FNZ_F16, &half, 2, 1);
    fnzi_krn_convert(FNZ_F32, &wide[1], 4, FNZ_BF16, &half, 2, 1);
    fnzi_krn_convert(FNZ_F16, &back[0], 2, FNZ_F32, &wide[0], 4, 1);
    fnzi_krn_convert(FNZ_BF16, &back[1], 2, FNZ_F32, &wide[1], 4, 1);
    ck_assert(isnan(wide[0]) ? (back[0] & 0x7c00) == 0x7c00 : back[0] == half);
    ck_assert(isnan(wide[1]) ? (back[1] & 0x7f80) == 0x7f80 : back[1] == half);
  }
}
END_TEST

/* What each dtype makes of numbers: ties, the largest ones and beyond, subnormal ones, zeros. */
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
    fnzi_krn_convert(rows[r].dtype, have, 1, FNZ_F32, numbers, 4, COUNT);
    for (size_t i = 0; i < COUNT; i++)
      ck_assert_msg(have[i] == rows[r].want[i], "dtype %zu: %a is 0x%02x, not 0x%02x", r,
                    (double)numbers[i], have[i], rows[r].want[i]);
    for (uint32_t bits = 0; bits < 256; bits++) {
      uint8_t code = (uint8_t)bits;
      double wide;
      fnzi_krn_convert(FNZ_F64, &wide, 8, rows[r].dtype, &code, 1, 1);
      fnzi_krn_convert(rows[r].dtype, &back, 1, FNZ_F64, &wide, 8, 1);
      ck_assert(isnan(wide) ? (back | 0x80) >= 0x80
                            : back == code || (isinf(wide) && (back & 0x7f) == (code & 0x7f)));
    }
  }
}
END_TEST

START_TEST(functions) {
  desk d = open_desk();
  fnz_handle x = MAKE(F64, SIZES(3), NUMBERS(0, 1, 4)), zero = MAKE(F32, SIZES(1), NUMBERS(0));
  IS("sqrt", ARGS(T(x)), F64, SIZES(3), NUMBERS(0, 1, 2));
  IS("rsqrt", ARGS(T(x)), F64, SIZES(3), NUMBERS(INFINITY, 1, 0.5));
  IS("reciprocal", ARGS(T(x)), F64, SIZES(3), NUMBERS(INFINITY, 1, 0.25));
  IS("exp", ARGS(T(zero)), F32, SIZES(1), NUMBERS(1));
  IS("log", ARGS(T(x)), F64, SIZES(3), NUMBERS(-INFINITY, 0, 1.3862943611198906));
  IS("sigmoid", ARGS(T(zero)), F32, SIZES(1), NUMBERS(0.5));
  IS("tanh", ARGS(T(zero)), F32, SIZES(1), NUMBERS(0));
  IS("silu", ARGS(T(zero)), F32, SIZES(1), NUMBERS(0));
  IS("gelu", ARGS(T(zero)), F32, SIZES(1), NUMBERS(0));
  IS("gelu", ARGS(T(zero), S("tanh")), F32, SIZES(1), NUMBERS(0));
  IS("pow.Tensor_Scalar", ARGS(T(x), I(2)), F64, SIZES(3), NUMBERS(0, 1, 16));
  IS("pow.Tensor_Scalar", ARGS(T(x), F(-0.5)), F64, SIZES(3), NUMBERS(INFINITY, 1, 0.5));
  IS("pow.Scalar", ARGS(I(2), T(x)), F64, SIZES(3), NUMBERS(1, 2, 16));
  IS("hardswish", ARGS(T(x)), F64, SIZES(3), NUMBERS(0, 4.0 / 6.0, 4));
  IS("leaky_relu", ARGS(T(call(&d, "neg", ARGS(T(x)))), F(0.5)), F64, SIZES(3),
     NUMBERS(0, -0.5, -2));
  IS("threshold_backward", ARGS(T(x), T(x), I(1)), F64, SIZES(3), NUMBERS(0, 0, 4));
  close_desk(&d);
}
END_TEST

/* Polynomials end somewhere: nine digits, and six for what is computed in single precision. */
START_TEST(functions_are_close) {
  static const struct {
    const char *op;
    double x, y;
  } facts[] = {{"exp", 1, 2.718281828459045},          {"log1p", 1, 0.6931471805599453},
               {"sin", 2, 0.9092974268256817},         {"cos", 2, -0.4161468365471424},
               {"tanh", 0.5, 0.46211715726000973},     {"erf", 0.5, 0.5204998778130465},
               {"gelu", 1, 0.8413447460685429},        {"silu", 1, 0.7310585786300049},
               {"lgamma", 0.5, 0.5723649429247001},    {"digamma", 1, -0.5772156649015329},
               {"digamma", -0.5, 0.03648997397857652}, {"softplus", 1, 1.3132616875182228},
               {"elu", -1, -0.6321205588285577},       {"atan", 1, 0.7853981633974483}};
  desk d = open_desk();
  for (size_t i = 0; i < sizeof facts / sizeof *facts; i++) {
    fnz_handle x = MAKE(F64, SIZES(1), &facts[i].x, 1), z = MAKE(F32, SIZES(1), &facts[i].x, 1);
    double y;
    float single;
    OK(d.ctx, d.cpu->download(d.cpu->self, d.ctx, call(&d, facts[i].op, ARGS(T(x))), &y));
    OK(d.ctx, d.cpu->download(d.cpu->self, d.ctx, call(&d, facts[i].op, ARGS(T(z))), &single));
    ck_assert_double_eq_tol(y, facts[i].y, 1e-9);
    ck_assert_double_eq_tol(single, facts[i].y, 2e-6);
  }
  double y;
  fnz_handle one = MAKE(F64, SIZES(1), NUMBERS(1));
  OK(d.ctx, d.cpu->download(d.cpu->self, d.ctx, call(&d, "polygamma", ARGS(I(1), T(one))), &y));
  ck_assert_double_eq_tol(y, 1.6449340668482266, 1e-8);
  OK(d.ctx, d.cpu->download(d.cpu->self, d.ctx, call(&d, "polygamma", ARGS(I(2), T(one))), &y));
  ck_assert_double_eq_tol(y, -2.4041138063191886, 1e-8);
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
  IS("abs", ARGS(T(c)), F32, SIZES(2), NUMBERS(hypotf(1, 2), 5));
  IS("view_as_real_copy", ARGS(T(call(&d, "sum", ARGS(T(c))))), F32, SIZES(2), NUMBERS(4, -2));
  IS("view_as_real_copy", ARGS(T(call(&d, "div.Tensor", ARGS(T(c), T(c))))), F32, SIZES(2, 2),
     NUMBERS(1, 0, 1, 0));
  REFUSED(&d, "UNSUPPORTED", "lt.Tensor", ARGS(T(c), T(c)));
  close_desk(&d);
}
END_TEST

/* Only signs change: 0x7fa1 is no number in half types, and keeps its payload. */
START_TEST(lazy_signs) {
  desk d = open_desk();
  fnz_handle bits = MAKE(I16, SIZES(3), NUMBERS(0x7fa1, 1, -0x8000));
  const fnz_dtype halves[] = {FNZ_F16, FNZ_BF16};
  for (int k = 0; k < 2; k++) {
    fnz_handle half = call(&d, "view_copy.dtype", ARGS(T(bits), D(halves[k])));
    fnz_handle turned = call(&d, "_neg_view_copy", ARGS(T(half)));
    IS("view_copy.dtype", ARGS(T(turned), D(FNZ_I16)), I16, SIZES(3), NUMBERS(-0x5f, -0x7fff, 0));
    REFUSED(&d, "TYPE", "_conj_copy", ARGS(T(half)));
  }
  fnz_handle parts = MAKE(I16, SIZES(1, 2), NUMBERS(0x3c00, 0x7fa1));
  fnz_handle real = call(&d, "view_copy.dtype", ARGS(T(parts), D(FNZ_F16)));
  fnz_handle c = call(&d, "view_as_complex_copy", ARGS(T(real)));
  fnz_handle conj = call(&d, "view_as_real_copy", ARGS(T(call(&d, "_conj_copy", ARGS(T(c))))));
  IS("view_copy.dtype", ARGS(T(conj), D(FNZ_I16)), I16, SIZES(1, 2), NUMBERS(0x3c00, -0x5f));
  fnz_handle neg = call(&d, "view_as_real_copy", ARGS(T(call(&d, "_neg_view_copy", ARGS(T(c))))));
  IS("view_copy.dtype", ARGS(T(neg), D(FNZ_I16)), I16, SIZES(1, 2), NUMBERS(-0x4400, -0x5f));
  fnz_handle wide = MAKE(F64, SIZES(2), NUMBERS(0, -1.5)),
             whole = MAKE(I32, SIZES(2), NUMBERS(5, -7));
  IS("_neg_view_copy", ARGS(T(wide)), F64, SIZES(2), NUMBERS(-0.0, 1.5));
  IS("_neg_view_copy", ARGS(T(whole)), I32, SIZES(2), NUMBERS(-5, 7));
  REFUSED(&d, "UNSUPPORTED", "_neg_view_copy",
          ARGS(T(call(&d, "view_copy.dtype", ARGS(T(bits), D(FNZ_F8_E5M2))))));
  close_desk(&d);
}
END_TEST

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

START_TEST(views_share_but_never_change) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  fnz_handle row = call(&d, "select_copy.int", ARGS(T(x), I(0), I(1)));
  fnz_handle z = MAKE(F32, SIZES(3), NUMBERS(0, 0, 0));
  ck_assert_ptr_eq(fnzi_krn_array_of(row)->storage, fnzi_krn_array_of(x)->storage);
  fnz_handle y = call(&d, "select_scatter", ARGS(LAST(x), T(z), I(0), I(1)));
  expect(&d, y, FNZ_F32, SIZES(2, 3), NUMBERS(1, 2, 3, 0, 0, 0));
  expect(&d, row, FNZ_F32, SIZES(3), NUMBERS(4, 5, 6));
  IS("add.Tensor", ARGS(LAST(row), T(row)), F32, SIZES(3), NUMBERS(8, 10, 12));
  expect(&d, x, FNZ_F32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  close_desk(&d);
}
END_TEST

START_TEST(view_copies) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  fnz_handle turned = call(&d, "permute_copy", ARGS(T(x), LIST(I(1), I(0))));
  expect(&d, turned, FNZ_F32, SIZES(3, 2), NUMBERS(1, 4, 2, 5, 3, 6));
  IS("view_copy", ARGS(T(turned), LIST(I(6))), F32, SIZES(6), NUMBERS(1, 4, 2, 5, 3, 6));
  IS("as_strided_copy", ARGS(T(turned), LIST(I(2)), LIST(I(2)), I(1)), F32, SIZES(2),
     NUMBERS(4, 5));
  fnz_handle tail = call(&d, "slice_copy.Tensor", ARGS(T(x), I(0), I(1)));
  IS("as_strided_copy", ARGS(T(tail), LIST(I(2)), LIST(I(1)), I(1)), F32, SIZES(2), NUMBERS(5, 6));
  IS("expand_copy", ARGS(T(tail), LIST(I(2), I(3))), F32, SIZES(2, 3), NUMBERS(4, 5, 6, 4, 5, 6));
  IS("unfold_copy", ARGS(T(x), I(1), I(2), I(1)), F32, SIZES(2, 2, 2),
     NUMBERS(1, 2, 2, 3, 4, 5, 5, 6));
  IS("view_copy.dtype", ARGS(T(turned), D(FNZ_I32)), I32, SIZES(3, 2),
     NUMBERS(0x3f800000, 0x40800000, 0x40000000, 0x40a00000, 0x40400000, 0x40c00000));
  IS("slice_copy.Tensor", ARGS(T(x), I(1), I(3)), F32, SIZES(2, 0), NOTHING);
  REFUSED(&d, "BOUNDS", "as_strided_copy", ARGS(T(x), LIST(I(2)), LIST(I(6)), I(1)));
  REFUSED(&d, "BOUNDS", "select_copy.int", ARGS(T(x), I(0), I(2)));
  close_desk(&d);
}
END_TEST

START_TEST(splits_give_several) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(5), NUMBERS(1, 2, 3, 4, 5)), outputs[16];
  size_t count;
  OK(d.ctx, try_call(&d, "split_copy.Tensor", ARGS(T(x), I(2)), outputs, &count));
  ck_assert_uint_eq(count, 3);
  expect(&d, keep(&d, outputs[0]), FNZ_F32, SIZES(2), NUMBERS(1, 2));
  expect(&d, keep(&d, outputs[1]), FNZ_F32, SIZES(2), NUMBERS(3, 4));
  expect(&d, keep(&d, outputs[2]), FNZ_F32, SIZES(1), NUMBERS(5));
  close_desk(&d);
}
END_TEST

START_TEST(scatter_reuses_a_dying_base) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(4), NUMBERS(1, 2, 3, 4)), v = MAKE(F32, SIZES(2), NUMBERS(8, 9));
  fnzi_krn_storage *storage = fnzi_krn_array_of(x)->storage;
  IS("slice_scatter", ARGS(T(x), T(v), I(0), I(1), I(3)), F32, SIZES(4), NUMBERS(1, 8, 9, 4));
  expect(&d, x, FNZ_F32, SIZES(4), NUMBERS(1, 2, 3, 4));
  fnz_handle y = call(&d, "slice_scatter", ARGS(LAST(x), T(v), I(0), I(1), I(3)));
  ck_assert_ptr_eq(fnzi_krn_array_of(y)->storage, storage);
  drop(&d, x);
  expect(&d, y, FNZ_F32, SIZES(4), NUMBERS(1, 8, 9, 4));
  close_desk(&d);
}
END_TEST

START_TEST(scatters_through_views) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(3, 3), NUMBERS(0, 0, 0, 0, 0, 0, 0, 0, 0));
  fnz_handle v = MAKE(F32, SIZES(2), NUMBERS(8, 9)), w = MAKE(F32, SIZES(3), NUMBERS(1, 2, 3));
  fnz_handle turned = call(&d, "t_copy", ARGS(T(x)));
  IS("diagonal_scatter", ARGS(T(x), T(v), I(1)), F32, SIZES(3, 3),
     NUMBERS(0, 8, 0, 0, 0, 9, 0, 0, 0));
  IS("as_strided_scatter", ARGS(T(turned), T(v), LIST(I(2)), LIST(I(2)), I(1)), F32, SIZES(3, 3),
     NUMBERS(0, 8, 0, 9, 0, 0, 0, 0, 0));
  IS("select_scatter", ARGS(T(turned), T(w), I(1), I(-1)), F32, SIZES(3, 3),
     NUMBERS(0, 0, 1, 0, 0, 2, 0, 0, 3));
  REFUSED(&d, "BOUNDS", "select_scatter", ARGS(T(x), T(v), I(0), I(0)));
  REFUSED(&d, "BOUNDS", "as_strided_scatter", ARGS(T(x), T(v), LIST(I(2)), LIST(I(9)), I(0)));
  close_desk(&d);
}
END_TEST

START_TEST(dying_operands_are_reused) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(4), NUMBERS(1, 2, 3, 4)), one = MAKE(F32, SIZES(1), NUMBERS(1));
  fnzi_krn_storage *storage = fnzi_krn_array_of(x)->storage;
  fnz_handle y = call(&d, "add.Tensor", ARGS(LAST(x), LAST(one)));
  ck_assert_ptr_eq(fnzi_krn_array_of(y)->storage, storage);
  expect(&d, y, FNZ_F32, SIZES(4), NUMBERS(2, 3, 4, 5));
  drop(&d, x);
  fnz_handle z = call(&d, "gt.Scalar", ARGS(LAST(y), I(3)));
  expect(&d, z, FNZ_BOOL, SIZES(4), NUMBERS(0, 0, 1, 1));
  expect(&d, y, FNZ_F32, SIZES(4), NUMBERS(2, 3, 4, 5));
  close_desk(&d);
}
END_TEST

/* A base that is also what is written must not be written in place. */
START_TEST(a_source_is_no_dying_base) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(3), NUMBERS(1, 2, 3)), k = MAKE(I64, SIZES(3), NUMBERS(2, 1, 0));
  IS("index_copy", ARGS(LAST(x), I(0), T(k), T(x)), F32, SIZES(3), NUMBERS(3, 2, 1));
  expect(&d, x, FNZ_F32, SIZES(3), NUMBERS(1, 2, 3));
  close_desk(&d);
}
END_TEST

START_TEST(copies) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2, 2), NUMBERS(1.5, 2.5, 3.5, 4.5)),
             row = MAKE(I64, SIZES(2), NUMBERS(7, 8));
  IS("clone", ARGS(T(x)), F32, SIZES(2, 2), NUMBERS(1.5, 2.5, 3.5, 4.5));
  IS("copy", ARGS(T(x), T(row)), F32, SIZES(2, 2), NUMBERS(7, 8, 7, 8));
  IS("copy", ARGS(T(row), T(call(&d, "select_copy.int", ARGS(T(x), I(0), I(0))))), I64, SIZES(2),
     NUMBERS(1, 2));
  IS("fill.Scalar", ARGS(T(row), F(2.7)), I64, SIZES(2), NUMBERS(2, 2));
  IS("fill.Tensor", ARGS(T(x), T(call(&d, "sum", ARGS(T(row))))), F32, SIZES(2, 2),
     NUMBERS(15, 15, 15, 15));
  IS("zero", ARGS(T(x)), F32, SIZES(2, 2), NUMBERS(0, 0, 0, 0));
  IS("dropout", ARGS(T(x), F(0.5), B(false)), F32, SIZES(2, 2), NUMBERS(1.5, 2.5, 3.5, 4.5));
  REFUSED(&d, "ARGUMENT", "dropout", ARGS(T(x), F(0.5), B(true)));
  REFUSED(&d, "BOUNDS", "fill.Tensor", ARGS(T(x), T(row)));
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

START_TEST(lists_go_element_by_element) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2), NUMBERS(1, 2)), y = MAKE(F32, SIZES(1), NUMBERS(5)),
             outputs[16];
  size_t count;
  OK(d.ctx, try_call(&d, "_foreach_add.List", ARGS(LIST(T(x), T(y)), LIST(T(x), T(y)), I(2)),
                     outputs, &count));
  ck_assert_uint_eq(count, 2);
  expect(&d, keep(&d, outputs[0]), FNZ_F32, SIZES(2), NUMBERS(3, 6));
  expect(&d, keep(&d, outputs[1]), FNZ_F32, SIZES(1), NUMBERS(15));
  OK(d.ctx, try_call(&d, "_foreach_mul.ScalarList", ARGS(LIST(T(x), T(y)), LIST(F(2), F(3))),
                     outputs, &count));
  expect(&d, keep(&d, outputs[0]), FNZ_F32, SIZES(2), NUMBERS(2, 4));
  expect(&d, keep(&d, outputs[1]), FNZ_F32, SIZES(1), NUMBERS(15));
  OK(d.ctx,
     try_call(&d, "_foreach_add.Scalar", ARGS(LIST(LAST(x), LAST(x)), I(1)), outputs, &count));
  expect(&d, keep(&d, outputs[0]), FNZ_F32, SIZES(2), NUMBERS(2, 3));
  expect(&d, keep(&d, outputs[1]), FNZ_F32, SIZES(2), NUMBERS(2, 3));
  REFUSED(&d, "TYPE", "_foreach_add.List", ARGS(LIST(T(x), T(y)), LIST(T(x))));
  close_desk(&d);
}
END_TEST

START_TEST(what_is_recorded_must_hold) {
  desk d = open_desk();
  fnz_handle x = MAKE(F32, SIZES(2, 2), NUMBERS(1, 2, 3, 4)), out;
  size_t count;
  fnz_arg args[] = {T(x)};
  fnz_geometry turned = {.dtype = FNZ_F32, .rank = 2, .sizes = SIZES(2, 2), .strides = SIZES(1, 2)};
  fnz_geometry other = {.dtype = FNZ_F64, .rank = 2, .sizes = SIZES(2, 2), .strides = SIZES(2, 1)};
  const fnz_geometry *expected[] = {&turned};
  fnz_request c = {fnz_op_find("neg"), args, 1, expected, ""};
  OK(d.ctx, d.cpu->apply(d.cpu->self, d.ctx, &c, &out, 1, &count));
  expect(&d, keep(&d, out), FNZ_F32, SIZES(2, 2), NUMBERS(-1, -2, -3, -4));
  ck_assert_int_eq(d.cpu->geometry(d.cpu->self, out)->strides[0], 1);
  expected[0] = &other;
  FAILS(d.ctx, "TYPE", d.cpu->apply(d.cpu->self, d.ctx, &c, &out, 1, &count));
  other.dtype = FNZ_F32;
  other.sizes = SIZES(2, 3);
  FAILS(d.ctx, "TYPE", d.cpu->apply(d.cpu->self, d.ctx, &c, &out, 1, &count));
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
  ck_assert(fnz_cpu_has_kernel(fnz_op_find("add.Tensor")));
  ck_assert(fnz_cpu_has_kernel(fnz_op_find("_foreach_add.List")));
  ck_assert(!fnz_cpu_has_kernel(fnz_op_find("linalg_eig")));
  close_desk(&d);
}
END_TEST

/* Same results for any number of threads, bit for bit. */
START_TEST(threads_do_not_matter) {
  double cells[2] = {0};
  for (int threads = 1; threads <= 2; threads++) {
    desk d = open_desk();
    fnz_backend_destroy(d.cpu);
    OK(d.ctx, fnz_cpu_backend_create(d.ctx, threads, &d.cpu));
    fnz_handle x = call(&d, "linspace", ARGS(F(-3), F(3), I(100000)));
    fnz_handle y = call(&d, "tanh", ARGS(T(call(&d, "mul.Tensor", ARGS(T(x), T(x))))));
    fnz_handle sum = call(&d, "sum", ARGS(T(y), D(FNZ_F64)));
    OK(d.ctx, d.cpu->download(d.cpu->self, d.ctx, sum, &cells[threads - 1]));
    close_desk(&d);
  }
  ck_assert_mem_eq(&cells[0], &cells[1], sizeof cells[0]);
}
END_TEST

START_TEST(meta_knows_shapes) {
  desk d = open_desk();
  fnz_backend_destroy(d.cpu);
  OK(d.ctx, fnz_meta_backend_create(d.ctx, &d.cpu));
  fnz_handle x = MAKE(F32, SIZES(2, 3), NUMBERS(1, 2, 3, 4, 5, 6));
  fnz_handle y = call(&d, "sum.dim_IntList", ARGS(T(call(&d, "t_copy", ARGS(T(x)))), LIST(I(1))));
  const fnz_geometry *g = d.cpu->geometry(d.cpu->self, y);
  float cells[3];
  ck_assert_int_eq(g->rank, 1);
  ck_assert_int_eq(g->sizes[0], 3);
  FAILS(d.ctx, "UNSUPPORTED", d.cpu->download(d.cpu->self, d.ctx, y, cells));
  REFUSED(&d, "UNSUPPORTED", "index.Tensor",
          ARGS(T(x), LIST(T(MAKE(BOOL, SIZES(2), NUMBERS(1, 0))))));
  close_desk(&d);
}
END_TEST

/* --- Out of memory, at each allocation in turn ------------------------------------------- */
typedef struct meter {
  size_t left, live;
} meter;

static void *metered(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  meter *m = user;
  if (new_bytes && m->left == 0)
    return NULL;
  if (new_bytes)
    m->left--;
  m->live += new_bytes - old_bytes;
  if (new_bytes)
    return realloc(p, new_bytes);
  free(p);
  return NULL;
}

static fnz_status one_of_each(fnz_context *ctx, fnz_backend *cpu) {
  static const float values[] = {1, 2, 3, 4, 5, 6};
  static const int64_t sizes[] = {2, 3}, strides[] = {1, 2};
  fnz_geometry g = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  fnz_handle x = 0, out[16];
  size_t count = 0;
  FNZ_TRY(cpu->upload(cpu->self, ctx, &g, values, &x));
  const struct {
    const char *op;
    fnz_arg args[4];
    size_t nargs;
  } calls[] = {{"add.Tensor", {T(x), T(x)}, 2},
               {"sum.dim_IntList", {T(x), LIST(I(0))}, 2},
               {"view_copy", {T(x), LIST(I(6))}, 2},
               {"unbind_copy.int", {T(x)}, 1},
               {"cat", {LIST(T(x), T(x))}, 1},
               {"cumsum", {T(x), I(0)}, 2},
               {"as_strided_scatter", {T(x), T(x), LIST(I(2), I(3)), LIST(I(3), I(1))}, 4},
               {"_foreach_neg", {LIST(T(x), T(x))}, 1},
               {"roll", {T(x), LIST(I(1))}, 2}};
  fnz_status status = FNZ_OK;
  for (size_t i = 0; i < sizeof calls / sizeof *calls && status == FNZ_OK; i++) {
    fnz_request c = {fnz_op_find(calls[i].op), calls[i].args, calls[i].nargs, NULL, ""};
    status = cpu->apply(cpu->self, ctx, &c, out, 16, &count);
    for (size_t k = 0; k < count; k++)
      cpu->release(cpu->self, out[k]);
  }
  cpu->release(cpu->self, x);
  return status;
}

START_TEST(out_of_memory_leaks_nothing) {
  size_t failures = 0;
  for (size_t allowed = 0;; allowed++) {
    meter m = {allowed, 0};
    fnz_allocator allocator = {metered, &m};
    fnz_context *ctx = NULL;
    fnz_backend *cpu = NULL;
    fnz_status status = fnz_context_create(&allocator, &ctx);
    if (status == FNZ_OK)
      status = fnz_cpu_backend_create(ctx, 1, &cpu);
    if (status == FNZ_OK)
      status = one_of_each(ctx, cpu);
    fnz_backend_destroy(cpu);
    fnz_context_destroy(ctx);
    ck_assert_uint_eq(m.live, 0);
    if (status == FNZ_OK)
      break;
    ck_assert_int_eq(status, FNZ_NO_MEMORY);
    failures++;
  }
  ck_assert_uint_gt(failures, 15);
}
END_TEST

RUN_SUITE("kernels", functions_are_close, arithmetic, alpha_is_fused, types_promote,
          integers_wrap_and_divide, nan_and_signed_zero, rounding_and_casts, halves_round_trip,
          floats_of_eight_bits, functions, many_elements, complex_numbers, lazy_signs, choices,
          views_share_but_never_change, view_copies, splits_give_several,
          scatter_reuses_a_dying_base, scatters_through_views, a_source_is_no_dying_base,
          dying_operands_are_reused, copies, joining, rearranging, making, indexing,
          writing_at_indices, scattering, reducing, extremes_say_where, sums_cascade,
          lists_go_element_by_element, what_is_recorded_must_hold, wrong_calls_are_refused,
          threads_do_not_matter, meta_knows_shapes, out_of_memory_leaks_nothing)
