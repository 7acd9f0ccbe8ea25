/* checks: 10
 * symbolic_test.c - expressions over sizes: their simplified forms, refusals, and their numbers. */
#include "program/shapes/symbolic.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>

#include <stdio.h>

static fnz_context *ctx;
static fnzi_exprs set;

static void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnzi_exprs_init(&set, ctx);
}

static void end(void) {
  fnzi_exprs_free(&set);
  fnz_context_destroy(ctx);
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

/* --- texts ------------------------------------------------------------------------------------ */
static const char *const texts[][2] = {
    {"Add(Symbol('s77', positive=True, integer=True), Integer(-2))", "s77 - 2"},
    {"Mul(Integer(2), Symbol('s2', positive=True, integer=True))", "2*s2"},
    {"Pow(Symbol('s27', integer=True), Integer(2))", "s27**2"},
    {"2*s2", "2*s2"},
    {"-s0", "-s0"},
    {"4-s0", "4 - s0"},
    {"s0 - s0", "0"},
    {"s1*s0 + s0*s1", "2*s0*s1"},
    {"(s0 + 1)*(s0 - 1)", "s0**2 - 1"},
    {"s0**2*s0", "s0**3"},
    {"2**3", "8"},
    {"-2**2", "-4"},
    {"2*-3", "-6"},
    {"s0//2", "s0//2"},
    {"(2*s0 + 1)//2", "s0"},
    {"(2*s0 + 3)//2", "s0 + 1"},
    {"(4*s0 + 2*s1)//4", "s0 + s1//2"},
    {"(10*s0 - 9223372036854775806)//10", "s0 - 922337203685477581"},
    {"(10*s0 - 9223372036854775806)//38", "(5*s0 + 11)//19 - 242720316759336206"},
    {"3*(s0//2)", "3*(s0//2)"},
    {"(s0//2)//3", "(s0//2)//3"},
    {"Mod(4*s0 + s1, 4)", "Mod(s1, 4)"},
    {"s0 % 2", "PythonMod(s0, 2)"},
    {"Max(1, Max(s0, u0), 0)", "Max(1, s0, u0)"},
    {"Min(s1, s0, s1, 7, 3)", "Min(3, s0, s1)"},
    {"Max(s0)", "s0"},
    {"FloorDiv(s0, s1)", "s0//s1"},
    {"CleanDiv(s0, Integer(4))", "s0//4"},
    {"FloorDiv(Rational(11, 2), 5)", "(11/2)//5"},
    {"FloorDiv(Rational(9, 2), 5)", "0"},
    {"Mod(10, 5)", "0"},
    {"CeilToInt(IntTrueDiv(s0, 2))", "-((-s0)//2)"},
    {"TruncToInt(FloatTrueDiv(s0, 2))", "TruncToInt(s0/2)"},
    {"TruncToInt(7/2)", "3"},
    {"TruncToInt(-7/2)", "-3"},
    {"TruncToInt(s0)", "s0"},
    {"TruncToInt(s0*s1/2)", "TruncToInt(s0*s1/2)"},
    {"floor(s0)", "s0"},
    {"floor(s0/2 + s1/3)", "(3*s0 + 2*s1)//6"},
    {"floor(s0/s1)", "floor(s0/s1)"},
    {"s0//-2", "s0//(-2)"},

    {"Mod(-5, 3)", "1"},
    {"Mod(s0, -2)", "Mod(s0, -2)"},
    {"Mod(s0/2, 3)", "Mod(s0/2, 3)"},
    {"Mod(3*s0 - 1, 3)", "2"},
    {"Mod(s0 - 7, 3)", "Mod(s0 + 2, 3)"},
    {"Max(s0, 3, 5)", "Max(5, s0)"},
    {"Min(1/2, 1/3, s0)", "Min(1/3, s0)"},
    {"Max(7/2, 3, s0)", "Max(7/2, s0)"},
    {"And(s0 < 3, True)", "s0 < 3"},
    {"And(s0 < 3, false)", "0"},
    {"Or(s0 < 3, true)", "1"},
    {"Or(s0 < 3, False)", "s0 < 3"},
    {"And(True, True)", "1"},
    {"Not(True)", "0"},
    {"Or(s0 < 3, Or(s1 < 3, s0 < 3))", "Or(s0 < 3, s1 < 3)"},
    {"ModularIndexing(s0, 2, 3)", "Mod(s0//2, 3)"},
    {"Mul(Rational(1, 2), Symbol('s0'))", "s0/2"},
    {"s0/s1", "s0/s1"},
    {"Pow(s1, -1)", "1/s1"},
    {"s0/s1*s1", "s0"},
    {"GreaterThan(Symbol('u0', integer=True), Integer(0))", "u0 >= 0"},
    {"StrictLessThan(u0, 1 + 1)", "u0 < 2"},
    {"Eq(u0, 5)", "Eq(u0, 5)"},
    {"u0 != u0 + 1", "1"},
    {"s0 + 1 >= s0 + 1", "1"},
    {"s0 + 1 <= s0 + 1", "1"},
    {"s0 + 1 > s0 + 1", "0"},
    {"s0 + 1 < s0 + 1", "0"},
    {"(s0 < 3) & (s1 > 2) & True", "And(s0 < 3, s1 > 2)"},
    {"Or(s0 < 3, True)", "1"},
    {"~Eq(s0, 2)", "Not(Eq(s0, 2))"},
    {"Not(false)", "1"},
    {"Eq(s0 < 2, True)", "s0 < 2"},
    {"Ne(s0 < 2, True)", "Not(s0 < 2)"},
    {"(s0 < 2) > 0", "s0 < 2"},
    {"(s0 < 2) < 1", "Not(s0 < 2)"},
    {"LessThan(s0 < 2, Integer(1))", "1"},
    {"(s0 < 2) < 0", "0"},
    {"Eq(s0 < 2, 2)", "Eq(s0 < 2, 2)"},
    {"Piecewise(ExprCondPair(Integer(1), Equality(Symbol('u0'), Integer(1))), "
     "ExprCondPair(Integer(0), true))",
     "Eq(u0, 1)"},
    {"Piecewise(ExprCondPair(0, u0 < 4), ExprCondPair(1, true))", "Not(u0 < 4)"},
    {"ITE(s0 < 2, s1 > 3, s1 > 5)", "Or(And(Not(s0 < 2), s1 > 5), And(s0 < 2, s1 > 3))"},
    {"s0 >= 0 and s0 <= s1 or s1 == 7", "Or(And(s0 <= s1, s0 >= 0), Eq(s1, 7))"},
    {"s0 + 1 < s1 and (s0 > 2 or s0 == 0)", "And(Or(Eq(s0, 0), s0 > 2), s0 + 1 < s1)"},
    {"Abs(s0 - s1) > 3", "Max(-s0 + s1, s0 - s1) > 3"},
    {"((((s0))))", "s0"},
    {"2*Max(s0/2, 1)//2", "Max(1, s0/2)//1"},
    {"(s0/2)//1", "(s0/2)//1"},
    {"1 + (s0 < s1)", "(s0 < s1) + 1"},
    {"1/(2*s0 + 3)/(2*s0 + 3)", "1/(2*s0 + 3)/(2*s0 + 3)"},
    {"1/(s1/(s0 + 1))", "1/s1 + s0/s1"},
    {"Min(s0, 9007199254740993, 9007199254740992)", "Min(9007199254740992, s0)"},
    {"Max(s0, 9007199254740993, 9007199254740992)", "Max(9007199254740993, s0)"},
    {"92233720638 >= 0.1*s0", "92233720638.0 >= Mul(0.1, s0)"},
    {"1/3 < 0.1*s0", "0.3333333333333333 < Mul(0.1, s0)"},
    {"Min(0.1*s0, 92233720638, 1/3)", "Min(0.3333333333333333, 92233720638.0, Mul(0.1, s0))"},
};

START_TEST(texts_have_one_form) {
  begin();
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    const fnzi_expr *e = parse(texts[i][0]);
    ck_assert_str_eq(text_of(e), texts[i][1]);
    ck_assert_ptr_eq(parse(text_of(e)), e);
  }
  end();
}
END_TEST

START_TEST(sympy_reads_what_is_written) {
  begin();
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    const fnzi_expr *e = parse(texts[i][0]);
    fnz_buffer text = {NULL, 0, 0};
    OK(ctx, fnzi_expr_put_srepr(ctx, e, &text));
    ck_assert_ptr_eq(parse(text.data), e);
    fnz_buffer_free(ctx, &text);
  }
  fnz_buffer text = {NULL, 0, 0};
  OK(ctx, fnzi_expr_put_srepr(ctx, parse("2*s2*u0**2 - 3"), &text));
  ck_assert_str_eq(text.data, "Add(Mul(Integer(2), Mul(Symbol('s2', positive=True, integer=True), "
                              "Pow(Symbol('u0', integer=True), Integer(2)))), Integer(-3))");
  fnz_buffer_free(ctx, &text);
  end();
}
END_TEST

/* --- refusals --------------------------------------------------------------------------------- */
START_TEST(bad_texts_are_refused_at_a_character) {
  static const struct {
    const char *text;
    fnz_class kind;
    const char *message;
  } rows[] = {
      {"", FNZ_CLASS_SYNTAX, "character 1: it ends where"},
      {"s0 +", FNZ_CLASS_SYNTAX, "character 5: it ends where"},
      {"s0 s1", FNZ_CLASS_SYNTAX, "character 4: an operator is missing"},
      {"(s0", FNZ_CLASS_SYNTAX, "character 1: this is never closed"},
      {"s0)", FNZ_CLASS_SYNTAX, "character 3: nothing is open here"},
      {"s0, s1", FNZ_CLASS_SYNTAX, "character 3: a comma"},
      {"Mod(s0)", FNZ_CLASS_SYNTAX, "character 1: it has not the arguments"},
      {"Mod(s0, 1, 2)", FNZ_CLASS_SYNTAX, "character 1: it has not the arguments"},
      {"Max()", FNZ_CLASS_SYNTAX, "character 5: a number"},
      {"And(s0, 1)", FNZ_CLASS_UNSUPPORTED, "And of s0, which is no condition"},
      {"Not(2)", FNZ_CLASS_UNSUPPORTED, "Not of 2, which is no condition"},
      {"s0**64*s0", FNZ_CLASS_LIMIT, "the power 65"},
      {"ExprCondPair(1, s0 < 2)", FNZ_CLASS_SYNTAX, "character 1: an ExprCondPair is an argument"},
      {"Piecewise(Max(1, s0 < 2))", FNZ_CLASS_SYNTAX, "character 11: an ExprCondPair"},
      {"Piecewise(ExprCondPair(s0))", FNZ_CLASS_SYNTAX, "character 11: it has not the arguments"},
      {"Piecewise(ExprCondPair(1, s0 < 2))", FNZ_CLASS_UNSUPPORTED,
       "a Piecewise that may have no value"},
      {"Piecewise(ExprCondPair(1, s0), ExprCondPair(0.1, true))", FNZ_CLASS_UNSUPPORTED,
       "Ite of s0, which is no condition"},
      {"sin(s0)", FNZ_CLASS_UNSUPPORTED, "character 1: there is no function"},
      {"s0**65", FNZ_CLASS_LIMIT, "character 3: the power 65"},
      {"2.5x*s0", FNZ_CLASS_SYNTAX, "character 1: a number with letters"},
      {"25x", FNZ_CLASS_SYNTAX, "character 1: a number with letters"},
      {"1.2.3", FNZ_CLASS_SYNTAX, "character 1: this is no number"},
      {"1e999", FNZ_CLASS_UNSUPPORTED, "character 1: a number that is not finite"},
      {"Float('nan', precision=53)", FNZ_CLASS_SYNTAX, "character 8: this is no number"},
      {"Float(0.9)", FNZ_CLASS_SYNTAX, "character 7: the text of the number"},
      {"Float('0.9'", FNZ_CLASS_SYNTAX, "character 12: a closing parenthesis"},
      {"Float('0.9", FNZ_CLASS_SYNTAX, "character 11: a closing parenthesis"},
      {"Float('')", FNZ_CLASS_SYNTAX, "character 8: a number of at most"},
      {"s0//0", FNZ_CLASS_SYNTAX, "character 3: a division by zero"},
      {"1/0", FNZ_CLASS_SYNTAX, "character 2: a division by zero"},
      {"9223372036854775808", FNZ_CLASS_OVERFLOW, "character 1: the number leaves"},
      {"9223372036854775807 + 1", FNZ_CLASS_OVERFLOW, "character 21: a number in"},
      {"Symbol(s0)", FNZ_CLASS_SYNTAX, "character 8: the name of the symbol"},
      {"Symbol('s 0')", FNZ_CLASS_SYNTAX, "character 9: the name of a symbol"},
      {"Symbol('s0', positive)", FNZ_CLASS_SYNTAX, "character 22: an assumption"},
      {"Symbol('')", FNZ_CLASS_SYNTAX, "character 9: the name of a symbol"},
      {"Symbol('0a')", FNZ_CLASS_SYNTAX, "character 9: the name of a symbol"},
      {"Symbol('s0)", FNZ_CLASS_SYNTAX, "character 9: the name of a symbol"},
      {"Symbol('s0\")", FNZ_CLASS_SYNTAX, "character 9: the name of a symbol"},
      {"Symbol('s0'", FNZ_CLASS_SYNTAX, "character 12: a closing parenthesis"},
      {"s0 % 0", FNZ_CLASS_SYNTAX, "character 4: a division by zero"},
      {"Mod(s0, 0)", FNZ_CLASS_SYNTAX, "character 1: a division by zero"},
      {"$", FNZ_CLASS_SYNTAX, "character 1: a number"},
      {"s0 $ 2", FNZ_CLASS_SYNTAX, "character 4: an operator is missing"},
  };
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fnzi_expr *e;
    ck_assert_int_ne(fnzi_expr_parse(&set, rows[i].text, strlen(rows[i].text), &e), FNZ_OK);
    const char *message = fnz_last_error(ctx)->message;
    ck_assert_msg(strstr(message, rows[i].message) && fnz_last_error(ctx)->kind == rows[i].kind,
                  "%s: %s", rows[i].text, message);
  }
  end();
}
END_TEST

START_TEST(sizes_have_limits) {
  static char text[FNZI_EXPR_MAX_TEXT + 2];
  const fnzi_expr *e;
  begin();
  memset(text, '(', sizeof text);
  ck_assert_int_ne(fnzi_expr_parse(&set, text, 1000, &e), FNZ_OK);
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "nested too deeply"));
  ck_assert_int_ne(fnzi_expr_parse(&set, text, sizeof text, &e), FNZ_OK);
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "characters"));
  const char *square = "(a+b+c+d+e+f+g+h)**64";
  ck_assert_int_ne(fnzi_expr_parse(&set, square, strlen(square), &e), FNZ_OK);
  end();
}
END_TEST

/* --- numbers ---------------------------------------------------------------------------------- */
START_TEST(values_are_pythons) {
  static const struct {
    const char *text;
    int64_t a, b, value;
  } rows[] = {{"a//b", -7, 2, -4},
              {"PythonMod(a, b)", -7, 2, 1},
              {"PythonMod(a, b)", 7, -2, -1},
              {"Mod(a, b)", 7, 4, 3},
              {"Min(a, b, 3)", 5, 4, 3},
              {"Max(a, b, 3)", 5, 4, 5},
              {"a < b", 1, 2, 1},
              {"a*1.5 < b*1.5", 1, 2, 1},
              {"a < b", 2, 2, 0},
              {"a*1.5 < b*1.5", 2, 2, 0},
              {"a < b", 3, 2, 0},
              {"a*1.5 < b*1.5", 3, 2, 0},
              {"a <= b", 1, 2, 1},
              {"a*1.5 <= b*1.5", 1, 2, 1},
              {"a <= b", 2, 2, 1},
              {"a*1.5 <= b*1.5", 2, 2, 1},
              {"a <= b", 3, 2, 0},
              {"a*1.5 <= b*1.5", 3, 2, 0},
              {"a > b", 1, 2, 0},
              {"a*1.5 > b*1.5", 1, 2, 0},
              {"a > b", 2, 2, 0},
              {"a*1.5 > b*1.5", 2, 2, 0},
              {"a > b", 3, 2, 1},
              {"a*1.5 > b*1.5", 3, 2, 1},
              {"a >= b", 1, 2, 0},
              {"a*1.5 >= b*1.5", 1, 2, 0},
              {"a >= b", 2, 2, 1},
              {"a*1.5 >= b*1.5", 2, 2, 1},
              {"a >= b", 3, 2, 1},
              {"a*1.5 >= b*1.5", 3, 2, 1},
              {"Ge(Min(a, b), 2)", 2, 3, 1},
              {"Ge(Min(a, b), 2)", 1, 3, 0},
              {"(11/2)//5 + 0*a + 0*b", 1, 1, 1},
              {"Eq(a, b)", 3, 3, 1},
              {"Ne(a, b)", 3, 3, 0},
              {"a*b - a**2", 3, 5, 6},
              {"CeilDiv(a, b)", 7, 2, 4},
              {"floor(a/b)", -7, 2, -4},
              {"TruncToInt(a/b)", -7, 2, -3},
              {"And(a < b, Not(Eq(a, 2)))", 1, 2, 1},
              {"a/2*2", 7, 0, 7},
              {"2*Max(a/2, 1)//2", 7, 0, 3},
              {"(a/2)//1", 7, 0, 3},
              {"Or(a < b, Eq(a, 2))", 2, 1, 1},
              {"Or(a < b, Eq(a, 2))", 3, 1, 0},
              {"Not(a < b)", 3, 1, 1},
              {"a <= b", 2, 2, 1},
              {"a > b", 2, 2, 0},
              {"Max(a/2, b/3)*6", 3, 4, 9},
              {"Min(a/2, b/3)*6", 3, 4, 8},
              {"a < b", INT64_MIN, 0, 1},
              {"a < b", 0, INT64_MIN, 0}};
  begin();
  fnzi_point point;
  fnzi_point_init(&point, &set);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    int64_t value;
    bool known;
    OK(ctx, fnzi_point_set(&point, parse("a"), rows[i].a));
    OK(ctx, fnzi_point_set(&point, parse("b"), rows[i].b));
    OK(ctx, fnzi_point_int(&point, parse(rows[i].text), &known, &value));
    ck_assert_msg(known && value == rows[i].value, "%s: %lld", rows[i].text, (long long)value);
  }
  fnzi_point_free(&point);
  end();
}
END_TEST

START_TEST(what_has_no_number_says_so) {
  begin();
  fnzi_point point;
  fnzi_number n;
  fnzi_point_init(&point, &set);
  OK(ctx, fnzi_point_get(&point, parse("a + 1"), &n));
  ck_assert_int_eq(n.known, FNZI_NUMBER_UNKNOWN);
  OK(ctx, fnzi_point_set(&point, parse("a"), 0));
  OK(ctx, fnzi_point_get(&point, parse("1//a"), &n));
  ck_assert_int_eq(n.known, FNZI_NUMBER_UNDEFINED);
  OK(ctx, fnzi_point_get(&point, parse("1//a + 1"), &n));
  ck_assert_int_eq(n.known, FNZI_NUMBER_UNDEFINED);
  OK(ctx, fnzi_point_set(&point, parse("a"), INT64_MAX));
  OK(ctx, fnzi_point_get(&point, parse("a*a"), &n));
  ck_assert_int_eq(n.known, FNZI_NUMBER_UNDEFINED);
  OK(ctx, fnzi_point_set(&point, parse("a"), 7));
  OK(ctx, fnzi_point_get(&point, parse("a/2"), &n));
  ck_assert(n.known == FNZI_NUMBER_KNOWN && n.num == 7 && n.den == 2);
  OK(ctx, fnzi_point_unset(&point, parse("a")));
  OK(ctx, fnzi_point_get(&point, parse("a/2"), &n));
  ck_assert_int_eq(n.known, FNZI_NUMBER_UNKNOWN);
  fnzi_point_free(&point);
  end();
}
END_TEST

START_TEST(sizes_give_their_symbols) {
  static const struct {
    const char *text;
    int64_t number;
    bool solved, wrong;
  } rows[] = {
      {"x", 5, true, false},       {"2*y", 8, true, false},   {"2*z", 7, false, true},
      {"3*v - 1", 8, true, false}, {"y", 4, true, false},     {"y", 5, false, true},
      {"p*q", 6, false, false},    {"x + y", 9, true, false}, {"x + w - p", 9, false, false},
      {"v", 3, true, false},       {"4 - t", 1, true, false}, {"t", 3, true, false}};
  begin();
  fnzi_point point;
  fnzi_point_init(&point, &set);
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bool solved, wrong;
    OK(ctx, fnzi_point_solve(&point, parse(rows[i].text), rows[i].number, &solved, &wrong));
    ck_assert_msg(solved == rows[i].solved && wrong == rows[i].wrong, "%s", rows[i].text);
  }
  fnzi_point_free(&point);
  end();
}
END_TEST

/* --- anything --------------------------------------------------------------------------------- */
START_TEST(random_texts_are_read_or_refused) {
  static const char *const words[] = {"s0", "u1",  "2",    "-", "+", "*",        "//",
                                      "/",  "**",  "(",    ")", ",", "Max(",     "Mod(",
                                      "<",  "Eq(", "Not(", "%", "&", "Integer(", "7"};
  uint64_t random = 1;
  for (size_t trial = 0; trial < 4000; trial++) {
    char text[128] = "";
    const fnzi_expr *e, *again;
    begin();
    for (size_t i = 0; i < 12; i++) {
      random = random * 6364136223846793005u + 1442695040888963407u;
      strcat(text, words[(random >> 33) % (sizeof words / sizeof *words)]);
    }
    for (size_t size = 1; size <= strlen(text); size++)
      if (fnzi_expr_parse(&set, text, size, &e) == FNZ_OK) {
        again = parse(text_of(e));
        ck_assert_msg(e == again, "%.*s: %s, %s", (int)size, text, text_of(e), text_of(again));
      }
    end();
  }
}
END_TEST

static fnz_status read_all(fnz_context *c, const void *user) {
  fnzi_exprs own;
  fnz_status status = FNZ_OK;
  (void)user;
  fnzi_exprs_init(&own, c);
  for (size_t i = 0; i < sizeof texts / sizeof *texts && status == FNZ_OK; i++) {
    const fnzi_expr *e;
    fnz_buffer text = {NULL, 0, 0};
    status = fnzi_expr_parse(&own, texts[i][0], strlen(texts[i][0]), &e);
    if (status == FNZ_OK)
      status = fnzi_expr_put_srepr(c, e, &text);
    fnz_buffer_free(c, &text);
  }
  fnzi_exprs_free(&own);
  return status;
}

/* 400 symbols and their sum: no sum of the first few is made on the way, which took time and memory
 * by the square of their number. */
START_TEST(a_row_of_terms_is_made_once) {
  static const char *const between[] = {"+", " - ", ", "};
  enum { TERMS = 400 };
  char text[TERMS * 8];
  for (size_t k = 0; k < 3; k++) {
    size_t at = (size_t)sprintf(text, k == 2 ? "Add(t0" : "t0");
    for (int i = 1; i < TERMS; i++)
      at += (size_t)sprintf(text + at, "%st%d", between[k], i);
    if (k == 2)
      strcat(text, ")");
    begin();
    const fnzi_expr *e = parse(text);
    ck_assert_uint_eq(e->count, TERMS);
    ck_assert_uint_le(set.all.count, k == 1 ? 2 * TERMS : TERMS + 1); /* - t1 is one as well */
    end();
  }
}
END_TEST

START_TEST(running_out_of_memory_is_an_error) {
  ck_assert_uint_gt(each_fault(read_all, NULL), 100);
}
END_TEST

RUN_SUITE("symbolic", texts_have_one_form, sympy_reads_what_is_written,
          bad_texts_are_refused_at_a_character, sizes_have_limits, values_are_pythons,
          what_has_no_number_says_so, sizes_give_their_symbols, random_texts_are_read_or_refused,
          a_row_of_terms_is_made_once, running_out_of_memory_is_an_error)
