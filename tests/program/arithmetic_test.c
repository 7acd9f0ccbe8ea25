/* checks: 6
 * arithmetic_test.c - nodes that compute numbers, by Python's rules: integers, floats, truth
 * values, results beyond 64 bits and undefined ones; and the sizes that nodes read. */
#include "program/shapes/sizes.h"
#include "tests/help/context.h"

#include <fnz/fnz.h>
#include <math.h>

#define I(n)                                                                                       \
  { .tag = FNZ_ARG_INT, .u.i = (n) }
#define F(x)                                                                                       \
  { .tag = FNZ_ARG_FLOAT, .u.f = (x) }
#define B(b)                                                                                       \
  { .tag = FNZ_ARG_BOOL, .u.i = (b) }

/* The numbers that symbolic arguments have. */
static fnz_status number(void *user, uint64_t value, fnz_arg *out) {
  *out = ((const fnz_arg *)user)[value];
  return FNZ_OK;
}

typedef struct row {
  const char *target;
  uint32_t nargs;
  fnz_arg args[3];
  fnz_arg want; /* FNZ_ARG_DEFAULT: refused */
} row;

/* Every argument is a symbol, which has that number. */
static fnz_status compute(const row *r, fnz_arg *out, bool *done) {
  fnz_arg args[3], result = {.tag = FNZ_ARG_SYMBOL};
  for (size_t k = 0; k < 3; k++)
    args[k] = (fnz_arg){.tag = FNZ_ARG_SYMBOL, .u.value = k};
  const fnzi_node_other other = {.target = r->target};
  const fnzi_node node = {
      .u.other = &other, .nargs = r->nargs, .args = args, .noutputs = 1, .outputs = &result};
  *out = (fnz_arg){.tag = FNZ_ARG_DEFAULT};
  return fnzi_arithmetic(ctx, &node, number, (void *)(uintptr_t)r->args, out, done);
}

static bool is_wanted(const fnz_arg *got, const fnz_arg *want) {
  if (got->tag != want->tag)
    return false;
  if (want->tag != FNZ_ARG_FLOAT)
    return got->u.i == want->u.i;
  return got->u.f == want->u.f || (isnan(got->u.f) && isnan(want->u.f));
}

static void check_rows(const row *rows, size_t count) {
  for (size_t k = 0; k < count; k++) {
    const row *r = &rows[k];
    fnz_arg out;
    bool done;
    fnz_status status = compute(r, &out, &done);
    if (r->want.tag == FNZ_ARG_DEFAULT) {
      ck_assert_msg(status == FNZ_BAD_INPUT, "row %zu (%s): %d", k, r->target, status);
      ck_assert_int_eq(fnz_last_error(ctx)->kind, FNZ_CLASS_OVERFLOW);
      continue;
    }
    ck_assert_msg(status == FNZ_OK && done, "row %zu (%s)", k, r->target);
    ck_assert_msg(is_wanted(&out, &r->want), "row %zu (%s): %lld, %g", k, r->target,
                  (long long)out.u.i, out.u.f);
  }
}
#define CHECK(rows) check_rows(rows, sizeof(rows) / sizeof *(rows))

START_TEST(integers) {
  begin();
  static const row rows[] = {
      {"_operator.add", 2, {I(7), I(-9)}, I(-2)},
      {"_operator.sub", 2, {I(7), I(-9)}, I(16)},
      {"_operator.mul", 2, {I(7), I(-9)}, I(-63)},
      {"_operator.floordiv", 2, {I(7), I(2)}, I(3)},
      {"_operator.floordiv", 2, {I(-7), I(2)}, I(-4)},
      {"_operator.floordiv", 2, {I(7), I(-2)}, I(-4)},
      {"_operator.floordiv", 2, {I(-7), I(-2)}, I(3)},
      {"_operator.floordiv", 2, {I(-8), I(2)}, I(-4)},
      {"_operator.mod", 2, {I(7), I(3)}, I(1)},
      {"_operator.mod", 2, {I(-7), I(3)}, I(2)},
      {"_operator.mod", 2, {I(7), I(-3)}, I(-2)},
      {"_operator.mod", 2, {I(-7), I(-3)}, I(-1)},
      {"_operator.mod", 2, {I(6), I(-3)}, I(0)},
      {"_operator.mod", 2, {I(INT64_MIN), I(-1)}, I(0)},
      {"_operator.pow", 2, {I(3), I(4)}, I(81)},
      {"_operator.pow", 2, {I(-2), I(63)}, I(INT64_MIN)},
      {"_operator.pow", 2, {I(5), I(0)}, I(1)},
      {"_operator.pow", 2, {I(0), I(9)}, I(0)},
      {"_operator.pow", 2, {I(1), I(INT64_MAX)}, I(1)},
      {"_operator.pow", 2, {I(-1), I(INT64_MAX)}, I(-1)},
      {"_operator.pow", 2, {I(-1), I(INT64_MAX - 1)}, I(1)},
      {"_operator.neg", 1, {I(7)}, I(-7)},
      {"_operator.pos", 1, {I(-7)}, I(-7)},
      {"torch.sym_min", 2, {I(7), I(-9)}, I(-9)},
      {"torch.sym_min", 2, {I(-9), I(7)}, I(-9)},
      {"torch.sym_max", 2, {I(7), I(-9)}, I(7)},
      {"torch.sym_max", 2, {I(-9), I(7)}, I(7)},
      {"math.trunc", 1, {I(-7)}, I(-7)},
      {"torch.sym_int", 1, {F(-7.9)}, I(-7)},
  };
  CHECK(rows);
  end();
}
END_TEST

START_TEST(floats) {
  begin();
  static const row rows[] = {
      {"_operator.add", 2, {F(0.5), I(2)}, F(2.5)},
      {"_operator.sub", 2, {I(2), F(0.5)}, F(1.5)},
      {"_operator.mul", 2, {F(0.5), F(3)}, F(1.5)},
      {"_operator.floordiv", 2, {F(-7), I(2)}, F(-4)},
      {"_operator.mod", 2, {F(-7), F(3)}, F(2)},
      {"_operator.mod", 2, {F(7), F(-3)}, F(-2)},
      {"_operator.mod", 2, {F(6), F(3)}, F(0)},
      {"_operator.mod", 2, {F(7), F(3)}, F(1)},
      {"_operator.pow", 2, {F(2), F(-1)}, F(0.5)},
      {"_operator.truediv", 2, {I(7), I(2)}, F(3.5)},
      {"_operator.neg", 1, {F(0.5)}, F(-0.5)},
      {"_operator.pos", 1, {F(0.5)}, F(0.5)},
      {"torch.sym_min", 2, {F(0.5), I(1)}, F(0.5)},
      {"torch.sym_max", 2, {F(0.5), I(1)}, F(1)},
      {"torch.sym_min", 2, {I(1), F(0.5)}, F(0.5)},
      {"torch.sym_max", 2, {I(1), F(0.5)}, F(1)},
      {"torch.sym_float", 1, {I(7)}, F(7)},
      {"torch.sym_sqrt", 1, {I(9)}, F(3)},
      {"torch._sym_sqrt", 1, {F(2.25)}, F(1.5)},
      {"_operator.floordiv", 2, {F(1), F(0.1)}, F(9)}, /* 1.0 / 0.1 is 10 */
      {"_operator.floordiv", 2, {F(-1), F(0.1)}, F(-10)},
      {"_operator.floordiv", 2, {F(7.5), I(-2)}, F(-4)},
      {"_operator.mod", 2, {F(4.9), F(0.3)}, F(0.10000000000000053)},
      {"_operator.pow", 2, {F(0.9), I(7)}, F(0.47829690000000008)},
      {"_operator.pow", 2, {F(-8), F(3)}, F(-512)},
      {"_operator.pow", 2, {F(0), F(-INFINITY)}, F(INFINITY)},
      {"_operator.truediv", 2, {F(INFINITY), F(-INFINITY)}, F(NAN)},
      {"_operator.mod", 2, {F(INFINITY), F(2)}, F(NAN)},
      {"_operator.mod", 2, {F(-3), F(INFINITY)}, F(INFINITY)},
      {"_operator.floordiv", 2, {F(INFINITY), I(2)}, F(NAN)},
      {"_operator.floordiv", 2, {F(-3), F(INFINITY)}, F(-1)},
      {"torch._sym_exp", 1, {F(-0.3)}, F(0.74081822068171788)},
      {"_operator.truediv", 2, {I(5258986265376043509), I(3)}, F(1.7529954217920146e+18)},
      {"math.floor", 1, {F(-0.5)}, I(-1)},
      {"math.ceil", 1, {F(-0.5)}, I(0)},
      {"math.ceil", 1, {I(3)}, I(3)},
  };
  CHECK(rows);
  end();
}
END_TEST

START_TEST(truth_values) {
  begin();
  static const row rows[] = {
      {"_operator.eq", 2, {I(2), F(2)}, B(1)},
      {"_operator.eq", 2, {I(2), I(3)}, B(0)},
      {"_operator.ne", 2, {I(2), I(3)}, B(1)},
      {"_operator.ne", 2, {F(2), I(2)}, B(0)},
      {"_operator.lt", 2, {I(2), I(3)}, B(1)},
      {"_operator.lt", 2, {F(3), I(3)}, B(0)},
      {"_operator.le", 2, {I(3), I(3)}, B(1)},
      {"_operator.le", 2, {F(4), I(3)}, B(0)},
      {"_operator.gt", 2, {I(2), I(3)}, B(0)},
      {"_operator.gt", 2, {F(4), I(3)}, B(1)},
      {"_operator.ge", 2, {I(3), I(3)}, B(1)},
      {"_operator.ge", 2, {F(2), I(3)}, B(0)},
      {"_operator.and_", 2, {B(1), B(0)}, I(0)},
      {"_operator.or_", 2, {B(1), B(0)}, I(1)},
      {"torch.sym_not", 1, {B(1)}, B(0)},
      {"torch.sym_not", 1, {F(0)}, B(1)},
      {"torch.sym_ite", 3, {B(1), I(5), I(6)}, I(5)},
      {"torch.sym_ite", 3, {I(0), I(5), I(6)}, I(6)},
  };
  CHECK(rows);
  end();
}
END_TEST

START_TEST(what_has_no_result_is_refused) {
  begin();
  static const row rows[] = {
      {"_operator.add", 2, {I(INT64_MAX), I(1)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.sub", 2, {I(INT64_MIN), I(1)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.mul", 2, {I(INT64_MAX), I(2)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.neg", 1, {I(INT64_MIN)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.floordiv", 2, {I(1), I(0)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.floordiv", 2, {I(INT64_MIN), I(-1)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.mod", 2, {I(1), I(0)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.pow", 2, {I(2), I(-1)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.pow", 2, {I(10), I(19)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.truediv", 2, {I(1), I(0)}, {.tag = FNZ_ARG_DEFAULT}},
      {"torch.sym_sqrt", 1, {I(-1)}, {.tag = FNZ_ARG_DEFAULT}},
      {"torch._sym_log", 1, {F(-0.5)}, {.tag = FNZ_ARG_DEFAULT}},
      {"torch._sym_log", 1, {I(0)}, {.tag = FNZ_ARG_DEFAULT}},
      {"torch._sym_exp", 1, {F(1000)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.pow", 2, {F(-0.5), F(0.5)}, {.tag = FNZ_ARG_DEFAULT}}, /* complex */
      {"_operator.pow", 2, {F(0), I(-1)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.pow", 2, {F(10), I(400)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.truediv", 2, {F(INFINITY), F(0)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.mod", 2, {F(1), F(0)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.floordiv", 2, {F(1), F(0)}, {.tag = FNZ_ARG_DEFAULT}},
      {"torch.sym_int", 1, {F(1e19)}, {.tag = FNZ_ARG_DEFAULT}},
      {"torch.sym_int", 1, {F(-1e19)}, {.tag = FNZ_ARG_DEFAULT}},
      {"math.trunc", 1, {F(NAN)}, {.tag = FNZ_ARG_DEFAULT}},
  };
  CHECK(rows);
  ck_assert_str_eq(fnz_last_error(ctx)->message, "math.trunc of nan and 0 leaves 64 bits");
  end();
}
END_TEST

/* Other operators, numbers that are not known, more arguments than any of them has. */
START_TEST(what_is_not_arithmetic_is_left_alone) {
  begin();
  static const row rows[] = {
      {"_operator.matmul", 2, {I(1), I(2)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.add", 1, {I(1)}, {.tag = FNZ_ARG_DEFAULT}},
      {"_operator.add", 2, {I(1), {.tag = FNZ_ARG_NONE}}, {.tag = FNZ_ARG_DEFAULT}},
      {"torch.sym_ite", 3, {{.tag = FNZ_ARG_NONE}, I(5), I(6)}, {.tag = FNZ_ARG_DEFAULT}},
      {"torch.sym_ite", 2, {B(1), I(5)}, {.tag = FNZ_ARG_DEFAULT}},
  };
  fnz_arg args[4] = {I(1), I(2), I(3), I(4)}, outputs[2] = {{.tag = FNZ_ARG_SYMBOL}}, out;
  const fnzi_node_other other = {.target = "_operator.add"};
  fnzi_node node = {.u.other = &other, .nargs = 4, .args = args, .noutputs = 1, .outputs = outputs};
  bool done;
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++) {
    OK(ctx, compute(&rows[k], &out, &done));
    ck_assert_msg(!done, "row %zu (%s)", k, rows[k].target);
  }
  OK(ctx, fnzi_arithmetic(ctx, &node, number, NULL, &out, &done));
  ck_assert(!done);
  node.nargs = node.noutputs = 2;
  OK(ctx, fnzi_arithmetic(ctx, &node, number, NULL, &out, &done));
  ck_assert(!done);
  node.noutputs = 1;
  OK(ctx, fnzi_arithmetic(ctx, &node, number, NULL, &out, &done));
  ck_assert(done && out.u.i == 3);
  outputs[0].tag = FNZ_ARG_VALUE; /* a tensor */
  OK(ctx, fnzi_arithmetic(ctx, &node, number, NULL, &out, &done));
  ck_assert(!done);
  end();
}
END_TEST

START_TEST(sizes_that_are_asked_for) {
  begin();
  static const fnz_arg numbers[] = {I(-1)};
  int64_t sizes[] = {2, 3, 5}, strides[] = {15, 5, 1}, out;
  fnz_geometry g = {.dtype = FNZ_F32, .rank = 3, .sizes = sizes, .strides = strides};
  fnz_arg args[2] = {{.tag = FNZ_ARG_VALUE}, I(1)};
  fnzi_node node = {.op = fnz_op_find(NULL, "sym_size.int"), .nargs = 2, .args = args};
  void *user = (void *)(uintptr_t)numbers;
  OK(ctx, fnzi_size_asked(ctx, &node, &g, number, user, &out));
  ck_assert_int_eq(out, 3);
  args[1] = (fnz_arg){.tag = FNZ_ARG_SYMBOL, .u.value = 0};
  OK(ctx, fnzi_size_asked(ctx, &node, &g, number, user, &out));
  ck_assert_int_eq(out, 5);
  args[1] = (fnz_arg)I(3);
  FAILS(ctx, "BOUNDS", fnzi_size_asked(ctx, &node, &g, number, user, &out));
  args[1] = (fnz_arg)F(1);
  FAILS(ctx, "TYPE", fnzi_size_asked(ctx, &node, &g, number, user, &out));
  args[1] = (fnz_arg)B(1);
  OK(ctx, fnzi_size_asked(ctx, &node, &g, number, user, &out));
  ck_assert_int_eq(out, 3);
  g.rank = 0;
  FAILS(ctx, "BOUNDS", fnzi_size_asked(ctx, &node, &g, number, user, &out));
  g.rank = 3;
  node.op = fnz_op_find(NULL, "sym_numel");
  OK(ctx, fnzi_size_asked(ctx, &node, &g, number, user, &out));
  ck_assert_int_eq(out, 30);
  node.op = fnz_op_find(NULL, "sym_stride.int");
  OK(ctx, fnzi_size_asked(ctx, &node, &g, number, user, &out));
  ck_assert_int_eq(out, 5);
  end();
}
END_TEST

RUN_SUITE("arithmetic", integers, floats, truth_values, what_has_no_result_is_refused,
          what_is_not_arithmetic_is_left_alone, sizes_that_are_asked_for)
