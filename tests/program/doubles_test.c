/* checks: 3
 * doubles_test.c - expressions over doubles: their one form, as sympy has it too, and their values.
 */
#include "program/shapes/symbolic.h"
#include "tests/help/context.h"

static fnzi_exprs set;

static void open_set(void) {
  begin();
  fnzi_exprs_init(&set, ctx);
}

static void close_set(void) {
  fnzi_exprs_free(&set);
  end();
}

static const fnzi_expr *parse(const char *text) {
  const fnzi_expr *e;
  OK(ctx, fnzi_expr_parse(&set, text, strlen(text), &e));
  return e;
}

static const char *text_of(const fnzi_expr *e) {
  const char *text;
  OK(ctx, fnzi_expr_text(&set, e, &text));
  return text;
}

static const char *const texts[][2] = {
    {"2.5*s0", "5*s0/2"},
    {"Float('1.0', precision=53)", "1"},
    {"Float('0.90000000000000002', precision=53)", "0.9"},
    {"-1e-08", "-1e-08"},
    {"0.1 + 0.2", "Add(0.1, 0.2)"},
    {"0.1 + u0 - 1", "Add(0.1, u0, -1)"},
    {"0.1*s0*3", "Mul(Mul(0.1, s0), 3)"},
    {"-(0.1*s0)", "Mul(-1, Mul(0.1, s0))"},
    {"zuf0 - zuf0", "Add(zuf0, Mul(-1, zuf0))"},
    {"Add(Float('1.0', precision=53), Mul(Integer(-1), FloatPow(Float('0.90000000000000002', "
     "precision=53), ToFloat(Symbol('u0', integer=True)))))",
     "Add(1, Mul(-1, FloatPow(0.9, u0)))"},
    {"FloatTrueDiv(zuf0, 3)", "FloatTrueDiv(zuf0, 3)"},
    {"zuf0**2", "FloatPow(zuf0, 2)"},
    {"OpaqueUnaryFn_sqrt(ToFloat(s0))", "OpaqueUnaryFn_sqrt(s0)"},
    {"TruncToInt(0.7*s0) + 1", "TruncToInt(Mul(0.7, s0)) + 1"},
    {"TruncToInt(1.5*s0)", "TruncToInt(3*s0/2)"},
    {"CeilToInt(0.7*s0)", "-floor(Mul(-1, Mul(0.7, s0)))"},
    {"RoundToInt(zuf0)", "RoundToInt(zuf0)"},
    {"PythonMod(zuf0, 0.3)", "PythonMod(zuf0, 0.3)"},
    {"zuf0 < 0.5", "zuf0 < 1/2"},
    {"Max(zuf0, 0.1)", "Max(0.1, zuf0)"},
    {"s0**s1", "PowByNatural(s0, s1)"},
    {"s0**(1/2)", "FloatPow(s0, 1/2)"},
    {"Piecewise(ExprCondPair(0.1, u0 > 3), ExprCondPair(s0, true))", "Ite(0.1, u0 > 3, s0)"},
    {"Piecewise(ExprCondPair(s0, s0 < 2), ExprCondPair(2, s0 < 4), ExprCondPair(0, true))",
     "Ite(s0, s0 < 2, Ite(2, s0 < 4, 0))"},
    {"Piecewise(ExprCondPair(s0, true))", "s0"},
    {"Piecewise(ExprCondPair(s0, s1 < 2), ExprCondPair(s0, true))", "s0"},
};

/* sympy has no conditions as terms, factors or operands of comparisons. */
START_TEST(conditions_are_counted_as_numbers) {
  static const char *const rows[][2] = {
      {"2*(u0 < 3)",
       "Mul(Integer(2), Piecewise(ExprCondPair(Integer(1), StrictLessThan(Symbol('u0', "
       "integer=True), Integer(3))), ExprCondPair(Integer(0), true)))"},
      {"zuf0*(u0 < 3)",
       "Mul(Symbol('zuf0'), Piecewise(ExprCondPair(Integer(1), StrictLessThan(Symbol('u0', "
       "integer=True), Integer(3))), ExprCondPair(Integer(0), true)))"},
      {"Ite(u0, u0 < 3, 7)",
       "Piecewise(ExprCondPair(Symbol('u0', integer=True), StrictLessThan(Symbol('u0', "
       "integer=True), Integer(3))), ExprCondPair(Integer(7), true))"},
      {"Not(u0 < 3)", "Not(StrictLessThan(Symbol('u0', integer=True), Integer(3)))"}};
  open_set();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fnzi_expr *e = parse(rows[i][0]);
    fnz_buffer text = {NULL, 0, 0};
    OK(ctx, fnzi_expr_put_srepr(ctx, e, &text));
    ck_assert_str_eq(text.data, rows[i][1]);
    ck_assert_ptr_eq(parse(text.data), e);
    fnz_buffer_free(ctx, &text);
  }
  close_set();
}
END_TEST

START_TEST(texts_have_one_form) {
  open_set();
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    const fnzi_expr *e = parse(texts[i][0]);
    fnz_buffer text = {NULL, 0, 0};
    ck_assert_str_eq(text_of(e), texts[i][1]);
    ck_assert_ptr_eq(parse(text_of(e)), e);
    OK(ctx, fnzi_expr_put_srepr(ctx, e, &text));
    ck_assert_ptr_eq(parse(text.data), e);
    fnz_buffer_free(ctx, &text);
  }
  close_set();
}
END_TEST

/* Python's values of them for a = 7 and b = -3. */
START_TEST(doubles_are_those_of_python) {
  static const struct {
    const char *text;
    double value;
  } rows[] = {{"1 - 0.9**a", 0.52170309999999986},
              {"0.1*a*3", 2.1000000000000001},
              {"0.1*a*0.1", 0.070000000000000007},
              {"a*(0.1*0.1)", 0.070000000000000007},
              {"OpaqueUnaryFn_sqrt(1 - 0.999**a)", 0.083540618653568446},
              {"FloatTrueDiv(0.001*a, 1 - 0.9**a)", 0.013417593263294779},
              {"PythonMod(0.7*a, 0.3)", 0.099999999999999645},
              {"PythonMod(0.7*b, 0.3)", 2.7755575615628914e-16},
              {"Max(0.1*a, 1)", 1},
              {"Min(0.1, a)", 0.1},
              {"Ite(0.1, a > 3, a)", 0.1},
              {"Ite(0.1, a > 9, a)", 7},
              {"OpaqueUnaryFn_exp(0.1*b)", 0.74081822068171788}};
  static const struct {
    const char *text;
    int64_t number;
  } whole[] = {{"TruncToInt(0.7*(a + 3))", 7},
               {"TruncToInt(0.7*b)", -2},
               {"floor(0.7*b)", -3},
               {"CeilToInt(0.7*b)", -2},
               {"RoundToInt(0.1*a)", 1},
               {"2**a", 128},
               {"b**a", -2187},
               {"0.1*a < 0.7", 0},
               {"0.1*a > 0.7", 1},
               {"Ite(a, a < 9, b)", 7},
               {"Ite(a, a < 7, b)", -3},
               {"1**(a*1000)", 1}};
  open_set();
  fnzi_point point;
  fnzi_point_init(&point, &set);
  OK(ctx, fnzi_point_set(&point, parse("a"), 7));
  OK(ctx, fnzi_point_set(&point, parse("b"), -3));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bool known;
    double value;
    OK(ctx, fnzi_point_real(&point, parse(rows[i].text), &known, &value));
    ck_assert_msg(known && value == rows[i].value, "%s: %.17g", rows[i].text, value);
  }
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++) {
    bool known;
    int64_t number;
    OK(ctx, fnzi_point_int(&point, parse(whole[i].text), &known, &number));
    ck_assert_msg(known && number == whole[i].number, "%s: %lld", whole[i].text, (long long)number);
  }
  static const char *const none[] = {"OpaqueUnaryFn_sqrt(0.1*b)",
                                     "(0.1*b)**0.5",
                                     "(0.1*a - 0.1*a)**b",
                                     "FloatTrueDiv(0.1, a - 7)",
                                     "2**b",
                                     "a**(a*a)",
                                     "TruncToInt(1e300*a)",
                                     "OpaqueUnaryFn_exp(1000.1*a)"};
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    fnzi_number n;
    OK(ctx, fnzi_point_get(&point, parse(none[i]), &n));
    ck_assert_msg(n.known == FNZI_NUMBER_UNDEFINED, "%s", none[i]);
  }
  fnzi_point_free(&point);
  close_set();
}
END_TEST

RUN_SUITE("doubles", conditions_are_counted_as_numbers, texts_have_one_form,
          doubles_are_those_of_python)
