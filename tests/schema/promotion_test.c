/* checks: 6
 * promotion_test.c - element types: their rows, promotion, casts, results of pointwise operators.
 */
#include "tests/help/test.h"

#include "schema/facts/outs.h"

#include <stdio.h>

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
  return fnzi_op_result_dtype(fnz_op_find(NULL, name), args, nargs, operand_geometry, operands);
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
  const fnz_arg floored[] = {first, second, {.tag = FNZ_ARG_STRING, .u.s = "floor"}};
  const fnz_arg exact[] = {first, second, {.tag = FNZ_ARG_NONE}};
  ck_assert_int_eq(result_of("div.Tensor_mode", floored, 3, (operand[]){i64, i64}), FNZ_I64);
  ck_assert_int_eq(result_of("div.Tensor_mode", exact, 3, (operand[]){i64, i64}), FNZ_F32);
  ck_assert_int_eq(with_tensor("div.Tensor", f16, i64), FNZ_F16);
  ck_assert_int_eq(with_tensor("eq.Tensor", f16, i64), FNZ_BOOL);
  ck_assert_int_eq(with_tensor("copy", f16, i64), FNZ_F16);
  ck_assert_int_eq(with_number("fill.Scalar", i8, &half), FNZ_I8);
  ck_assert_int_eq(with_number("float_power.Tensor_Scalar", i8, &half), FNZ_F64);
  ck_assert_int_eq(result_of("abs", &first, 1, (operand[]){c64}), FNZ_F32);
  ck_assert_int_eq(result_of("angle", &first, 1, (operand[]){c64}), FNZ_F32);
  ck_assert_int_eq(result_of("angle", &first, 1, (operand[]){i8}), FNZ_F32);
  ck_assert_int_eq(fnz_op_find(NULL, "special_i1")->promotion, FNZI_PROMOTE_INT_TO_FLOAT);
  ck_assert_int_eq(fnz_op_find(NULL, "mm")->promotion, FNZI_PROMOTE_SELF);
  operand operands[] = {{FNZ_U8, 1, {0}}, {FNZ_I32, 1, {0}}, {FNZ_I16, 1, {0}}};
  const fnz_arg where[] = {first, third, third}, add[] = {second, third, half};
  const fnz_arg clamp[] = {second, {.tag = FNZ_ARG_NONE}, half}, rsub[] = {second, whole, half};
  ck_assert_int_eq(result_of("where.self", where, 3, operands), FNZ_I16);
  ck_assert_int_eq(result_of("add.Tensor", add, 3, operands), FNZ_I32);
  ck_assert_int_eq(result_of("rsub.Scalar", rsub, 3, operands), FNZ_I32);
  ck_assert_int_eq(result_of("clamp", clamp, 3, operands), FNZ_F32);
}
END_TEST

/* --- Every operator, as eager answers -----------------------------------------------------------
 * fixtures/promotion/results.txt, which scripts/make_promotion_fixture.py writes: per line a string
 * of answers and the operators that give them. An answer is the letter of a dtype or '-' where
 * eager refuses, which nothing here is compared with. */
static const struct {
  char letter;
  fnz_dtype dtype;
} letters[] = {{'b', FNZ_BOOL}, {'B', FNZ_U8},   {'c', FNZ_I8},   {'s', FNZ_I16}, {'i', FNZ_I32},
               {'l', FNZ_I64},  {'h', FNZ_F16},  {'y', FNZ_BF16}, {'f', FNZ_F32}, {'d', FNZ_F64},
               {'F', FNZ_C64},  {'D', FNZ_C128}, {'H', FNZ_C32}};
enum { DTYPES = 12, ANSWERS = sizeof letters / sizeof *letters, NUMBERS = 4 };

static char letter_of(fnz_dtype dtype) {
  for (size_t i = 0; i < ANSWERS; i++)
    if (letters[i].dtype == dtype)
      return letters[i].letter;
  return '?';
}

static bool is_operand(const fnzi_param *p) {
  return !p->keyword_only && !p->is_list &&
         (p->type == FNZI_TYPE_TENSOR || p->type == FNZI_TYPE_SCALAR);
}

/* The parts of one question: candidate k of an operand is a tensor of every dtype, of rank 1 and
 * then 0, or a number bool, int, float, complex. */
typedef struct question {
  const fnz_op *op;
  size_t places[2], nplaces, counts[2];
  operand tensors[2];
} question;

static void set_candidate(question *q, const fnzi_param *p, size_t tensor, size_t k, fnz_arg *arg) {
  static const fnz_arg parts[] = {{.tag = FNZ_ARG_FLOAT, .u.f = 0.5},
                                  {.tag = FNZ_ARG_FLOAT, .u.f = 0.5}};
  const fnz_arg numbers[NUMBERS] = {{.tag = FNZ_ARG_BOOL, .u.i = 1},
                                    {.tag = FNZ_ARG_INT, .u.i = 2},
                                    half,
                                    {.tag = FNZ_ARG_COMPLEX, .count = 2, .u.list = parts}};
  if (p->type == FNZI_TYPE_SCALAR) {
    *arg = numbers[k];
    return;
  }
  q->tensors[tensor] = (operand){letters[k % DTYPES].dtype, k < DTYPES, {0}};
  *arg = (fnz_arg){.tag = FNZ_ARG_VALUE, .u.value = tensor};
}

/* Operands behind the second are like it, or like what fits: 0.5, or the first one. */
static fnz_dtype ask(question *q, size_t first_candidate, size_t second_candidate) {
  fnz_arg args[16] = {0};
  size_t seen = 0;
  ck_assert(q->op->nparams <= 16);
  for (size_t i = 0; i < q->op->nparams; i++) {
    const fnzi_param *p = &q->op->params[i];
    bool as_last = seen > 1 && p->type == q->op->params[q->places[1]].type;
    if (!is_operand(p))
      args[i] = p->keyword_only && p->type == FNZI_TYPE_STRING
                    ? (fnz_arg){.tag = FNZ_ARG_STRING, .u.s = "floor"}
                    : (fnz_arg){.tag = FNZ_ARG_DEFAULT};
    else if (seen < 2)
      set_candidate(q, p, seen, seen ? second_candidate : first_candidate, &args[i]);
    else
      args[i] = as_last                       ? args[q->places[1]]
                : p->type == FNZI_TYPE_SCALAR ? half
                                              : args[q->places[0]];
    seen += is_operand(p);
  }
  return fnzi_op_result_dtype(q->op, args, q->op->nparams, operand_geometry, q->tensors);
}

/* The number of answers that are not eager's; says the first of them. */
static size_t differences(const char *name, const char *answers) {
  question q = {.op = fnz_op_find(NULL, name)};
  size_t wrong = 0, at = 0;
  ck_assert_msg(q.op != NULL, "%s: no such operator", name);
  for (size_t i = 0; i < q.op->nparams; i++)
    if (is_operand(&q.op->params[i]) && q.nplaces < 2) {
      q.counts[q.nplaces] = q.op->params[i].type == FNZI_TYPE_SCALAR ? NUMBERS : 2 * DTYPES;
      q.places[q.nplaces++] = i;
    }
  size_t seconds = q.nplaces > 1 ? q.counts[1] : 1;
  ck_assert_msg(strlen(answers) == q.counts[0] * seconds, "%s: %zu answers", name, strlen(answers));
  for (size_t a = 0; a < q.counts[0]; a++)
    for (size_t b = 0; b < seconds; b++, at++) {
      char have = letter_of(ask(&q, a, b));
      if (answers[at] == '-' || answers[at] == have)
        continue;
      if (!wrong++)
        fprintf(stderr, "%s: candidates %zu, %zu: %c, eager %c\n", name, a, b, have, answers[at]);
    }
  return wrong;
}

/* The dtype of an operator that is not pointwise, or FNZ_DTYPE_COUNT. */
static fnz_dtype own_of(const char *name, const fnz_arg *args, size_t nargs, operand *operands) {
  fnz_dtype d;
  bool known = fnzi_own_dtype(fnz_op_find(NULL, name), args, nargs, operand_geometry, operands, &d);
  return known ? d : FNZ_DTYPE_COUNT;
}

START_TEST(other_results_have_rows) {
  operand two[] = {{FNZ_I32, 1, {0}}, {FNZ_F16, 1, {0}}};
  const fnz_arg items[] = {first, second}, bit = {.tag = FNZ_ARG_BOOL};
  const fnz_arg list = {.tag = FNZ_ARG_LIST, .count = 2, .u.list = items};
  const fnz_arg told[] = {first, {.tag = FNZ_ARG_DTYPE, .u.i = FNZ_F64}};
  const fnz_arg full[] = {{.tag = FNZ_ARG_LIST}, bit};
  const fnz_arg later = {.tag = FNZ_ARG_SYMBOL};
  ck_assert_int_eq(own_of("sum", &first, 1, two), FNZ_I64);
  ck_assert_int_eq(own_of("sum", &second, 1, two), FNZ_F16);
  ck_assert_int_eq(own_of("sum", told, 2, two), FNZ_F64);
  ck_assert_int_eq(own_of("stack", &list, 1, two), FNZ_F16);
  ck_assert_int_eq(own_of("logsumexp", &first, 1, two), FNZ_F32);
  ck_assert_int_eq(own_of("arange", &whole, 1, two), FNZ_I64);
  ck_assert_int_eq(own_of("arange", &half, 1, two), FNZ_F32);
  ck_assert_int_eq(own_of("arange", &later, 1, two), FNZ_DTYPE_COUNT);
  ck_assert_int_eq(own_of("full", full, 2, two), FNZ_BOOL);
  ck_assert_int_eq(own_of("zeros", full, 1, two), FNZ_F32);
  ck_assert_int_eq(own_of("randperm", &whole, 1, two), FNZ_I64);
  ck_assert_int_eq(own_of("max.dim", &first, 1, two), FNZ_DTYPE_COUNT);
  ck_assert_int_eq(fnzi_out_rule_of(fnz_op_find(NULL, "max")), FNZI_OUT_CAST);
  ck_assert_int_eq(fnzi_out_rule_of(fnz_op_find(NULL, "mm")), FNZI_OUT_EXACT);
}
END_TEST

START_TEST(results_are_eagers) {
  enum { LINE = 16384 };
  static char line[LINE];
  size_t operators = 0, wrong = 0;
  FILE *f = fopen(FNZ_SOURCE_DIR "/fixtures/promotion/results.txt", "r");
  ck_assert_ptr_nonnull(f);
  while (fgets(line, LINE, f)) {
    const char *answers = strtok(line, " \n");
    for (const char *name; (name = strtok(NULL, " \n")); operators++)
      wrong += differences(name, answers) > 0;
  }
  fclose(f);
  ck_assert_uint_eq(wrong, 0);
  ck_assert_uint_eq(operators, 299);
}
END_TEST

RUN_SUITE("promotion", dtypes_have_rows, two_types_promote, operands_promote, result_kinds_decide,
          other_results_have_rows, results_are_eagers)
