/* checks: 5
 * promotion_test.c - element types: their rows, promotion, casts, results of pointwise operators.
 */
#include "tests/test.h"

#include "schema/schema.h"

START_TEST(dtypes_have_rows) {
  ck_assert_str_eq(fnz_dtype_get_info(FNZ_BF16)->torch, "bfloat16");
  ck_assert_uint_eq(fnz_dtype_get_info(FNZ_C128)->bytes, 16);
  ck_assert_str_eq(fnz_dtype_get_info(FNZ_DTYPE_COUNT)->name, "bool");
  ck_assert_str_eq(fnz_dtype_get_info((fnz_dtype)-1)->name, "bool");
  const int64_t sizes[] = {2, 3, 4};
  fnz_geometry g = {.dtype = FNZ_F32, .rank = 3, .sizes = sizes};
  ck_assert_int_eq(fnz_geometry_numel(&g), 24);
  g.rank = 0;
  ck_assert_int_eq(fnz_geometry_numel(&g), 1);
}
END_TEST

START_TEST(two_types_promote) {
  static const fnz_dtype rows[][3] = {
      {FNZ_U8, FNZ_I8, FNZ_I16},     {FNZ_F16, FNZ_BF16, FNZ_F32},  {FNZ_F64, FNZ_C64, FNZ_C128},
      {FNZ_BOOL, FNZ_U8, FNZ_U8},    {FNZ_I64, FNZ_F16, FNZ_F16},   {FNZ_I32, FNZ_I64, FNZ_I64},
      {FNZ_U8, FNZ_I64, FNZ_I64},    {FNZ_F32, FNZ_C32, FNZ_C64},   {FNZ_BF16, FNZ_C32, FNZ_C64},
      {FNZ_F16, FNZ_C32, FNZ_C32},   {FNZ_I64, FNZ_C32, FNZ_C32},   {FNZ_F16, FNZ_F32, FNZ_F32},
      {FNZ_C64, FNZ_C128, FNZ_C128}, {FNZ_U64, FNZ_F32, FNZ_F32},   {FNZ_U16, FNZ_BOOL, FNZ_U16},
      {FNZ_U16, FNZ_I16, FNZ_I32},   {FNZ_BOOL, FNZ_BOOL, FNZ_BOOL}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ck_assert_int_eq(fnzi_promote(rows[i][0], rows[i][1]), rows[i][2]);
    ck_assert_int_eq(fnzi_promote(rows[i][1], rows[i][0]), rows[i][2]);
  }
  ck_assert(fnzi_can_cast(FNZ_I64, FNZ_U8) && fnzi_can_cast(FNZ_F64, FNZ_F16));
  ck_assert(fnzi_can_cast(FNZ_BOOL, FNZ_C64) && !fnzi_can_cast(FNZ_I8, FNZ_BOOL));
  ck_assert(!fnzi_can_cast(FNZ_F32, FNZ_I64) && !fnzi_can_cast(FNZ_C64, FNZ_F32));
}
END_TEST

typedef struct operand {
  fnz_dtype dtype;
  uint32_t rank;
  fnz_geometry geometry; /* room for the callback's answer */
} operand;

static const fnz_geometry *operand_geometry(void *user, const fnz_arg *arg) {
  operand *o = (operand *)user + arg->u.value;
  o->geometry = (fnz_geometry){.dtype = o->dtype, .rank = o->rank};
  return &o->geometry;
}

static fnz_dtype result_of(const char *name, const fnz_arg *args, size_t nargs, operand *operands) {
  return fnzi_op_result_dtype(fnz_op_find(name), args, nargs, operand_geometry, operands);
}

static const fnz_arg first = {.tag = FNZ_ARG_VALUE, .u.value = 0};
static const fnz_arg second = {.tag = FNZ_ARG_VALUE, .u.value = 1};
static const fnz_arg third = {.tag = FNZ_ARG_VALUE, .u.value = 2};
static const fnz_arg half = {.tag = FNZ_ARG_FLOAT, .u.f = 0.5};
static const fnz_arg whole = {.tag = FNZ_ARG_INT, .u.i = 300};

static fnz_dtype with_tensor(const char *name, operand self, operand other) {
  const fnz_arg args[] = {first, second};
  operand operands[] = {self, other};
  return result_of(name, args, 2, operands);
}

static fnz_dtype with_number(const char *name, operand self, const fnz_arg *number) {
  const fnz_arg args[] = {first, *number};
  return result_of(name, args, 2, &self);
}

START_TEST(operands_promote) {
  const operand i8 = {FNZ_I8, 1, {0}}, i64 = {FNZ_I64, 1, {0}}, i64_0 = {FNZ_I64, 0, {0}};
  const operand f16 = {FNZ_F16, 1, {0}}, f16_0 = {FNZ_F16, 0, {0}}, f32_0 = {FNZ_F32, 0, {0}};
  const operand f64_0 = {FNZ_F64, 0, {0}}, bits = {FNZ_BOOL, 1, {0}};
  const fnz_arg bit = {.tag = FNZ_ARG_BOOL}, parts[] = {half, half};
  const fnz_arg imaginary = {.tag = FNZ_ARG_COMPLEX, .count = 2, .u.list = parts};
  ck_assert_int_eq(with_number("add.Tensor", i8, &whole), FNZ_I8);
  ck_assert_int_eq(with_number("add.Tensor", i8, &half), FNZ_F32);
  ck_assert_int_eq(with_tensor("add.Tensor", i8, i64_0), FNZ_I8);
  ck_assert_int_eq(with_tensor("add.Tensor", f16, f32_0), FNZ_F16);
  ck_assert_int_eq(with_tensor("add.Tensor", i64, f16_0), FNZ_F16);
  ck_assert_int_eq(with_tensor("add.Tensor", i64, f64_0), FNZ_F64);
  ck_assert_int_eq(with_tensor("add.Tensor", i64_0, i8), FNZ_I8);
  ck_assert_int_eq(with_number("add.Tensor", i64, &imaginary), FNZ_C64);
  ck_assert_int_eq(with_number("add.Tensor", f16, &imaginary), FNZ_C32);
  ck_assert_int_eq(with_number("add.Tensor", f16_0, &half), FNZ_F16);
  ck_assert_int_eq(with_number("mul.Tensor", bits, &whole), FNZ_I64);
  ck_assert_int_eq(with_number("mul.Tensor", bits, &bit), FNZ_BOOL);
  ck_assert_int_eq(with_number("add.Scalar", bits, &half), FNZ_F32);
  ck_assert_int_eq(with_tensor("__and__.Tensor", bits, i8), FNZ_I8);
}
END_TEST

START_TEST(result_kinds_decide) {
  const operand i8 = {FNZ_I8, 1, {0}}, i64 = {FNZ_I64, 1, {0}}, f16 = {FNZ_F16, 1, {0}};
  const operand c64 = {FNZ_C64, 1, {0}};
  ck_assert_int_eq(with_tensor("div.Tensor", i64, i64), FNZ_F32);
  ck_assert_int_eq(with_tensor("div.Tensor_mode", i64, i64), FNZ_I64);
  ck_assert_int_eq(with_tensor("div.Tensor", f16, i64), FNZ_F16);
  ck_assert_int_eq(with_tensor("eq.Tensor", f16, i64), FNZ_BOOL);
  ck_assert_int_eq(with_tensor("copy", f16, i64), FNZ_F16);
  ck_assert_int_eq(with_number("fill.Scalar", i8, &half), FNZ_I8);
  ck_assert_int_eq(with_number("float_power.Tensor_Scalar", i8, &half), FNZ_F64);
  ck_assert_int_eq(result_of("abs", &first, 1, (operand[]){c64}), FNZ_F32);
  ck_assert_int_eq(result_of("angle", &first, 1, (operand[]){c64}), FNZ_F32);
  ck_assert_int_eq(result_of("angle", &first, 1, (operand[]){i8}), FNZ_F32);
  ck_assert_int_eq(fnzi_op_result_kind(fnz_op_find("special_i1")), FNZI_RESULT_FLOAT);
  ck_assert_int_eq(fnzi_op_result_kind(fnz_op_find("mm")), FNZI_RESULT_SELF);
  operand operands[] = {{FNZ_U8, 1, {0}}, {FNZ_I32, 1, {0}}, {FNZ_I16, 1, {0}}};
  const fnz_arg where[] = {first, third, third}, add[] = {second, third, half};
  const fnz_arg clamp[] = {second, {.tag = FNZ_ARG_NONE}, half}, rsub[] = {second, whole, half};
  ck_assert_int_eq(result_of("where.self", where, 3, operands), FNZ_I16);
  ck_assert_int_eq(result_of("add.Tensor", add, 3, operands), FNZ_I32);
  ck_assert_int_eq(result_of("rsub.Scalar", rsub, 3, operands), FNZ_I32);
  ck_assert_int_eq(result_of("clamp", clamp, 3, operands), FNZ_F32);
}
END_TEST

typedef struct row {
  const char *base;
  fnzi_result_kind kind;
} row;

static bool has_base(const char *base) {
  for (size_t i = 0; i < fnz_op_count(); i++)
    if (strcmp(fnz_op_at(i)->base, base) == 0)
      return true;
  return false;
}

START_TEST(rows_are_sorted_and_found) {
  static const row rows[] = {
#define ROW(base, kind) {base, FNZI_RESULT_##kind},
#include "schema/promotion.def"
#undef ROW
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fnz_op op = {.base = rows[i].base, .overload = ""};
    ck_assert_msg(!i || strcmp(rows[i - 1].base, rows[i].base) < 0, "%s: order", rows[i].base);
    ck_assert_msg(has_base(rows[i].base), "%s: no such operator", rows[i].base);
    ck_assert_msg(fnzi_op_result_kind(&op) == rows[i].kind, "%s: not found", rows[i].base);
  }
}
END_TEST

RUN_SUITE("promotion", dtypes_have_rows, two_types_promote, operands_promote, result_kinds_decide,
          rows_are_sorted_and_found)
