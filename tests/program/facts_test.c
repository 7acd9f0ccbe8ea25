/* checks: 7
 * facts_test.c - proofs by facts, their cost, and running out of memory. */
#include "program/shapes/facts.h"
#include "program/shapes/sizes.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>

#include <stdio.h>

static fnz_context *ctx;
static fnzi_exprs set;
static fnzi_size_facts facts;

static void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnzi_exprs_init(&set, ctx);
  fnzi_size_facts_init(&facts, &set);
}

static void end(void) {
  fnzi_size_facts_free(&facts);
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

/* Adds conditions that are separated by semicolons. */
static void know(const char *conditions) {
  char part[200];
  for (const char *at = conditions, *stop; *at; at = *stop ? stop + 1 : stop) {
    stop = at + strcspn(at, ";");
    snprintf(part, sizeof part, "%.*s", (int)(stop - at), at);
    OK(ctx, fnzi_size_facts_add_condition(&facts, parse(part)));
  }
}

/* --- comparisons ------------------------------------------------------------------------------ */
typedef struct question {
  const char *facts, *a;
  fnzi_function relation;
  const char *b;
  fnzi_truth answer;
} question;

#define ASK(facts, a, relation, b, answer)                                                         \
  { facts, a, FNZI_FUNCTION_##relation, b, FNZI_##answer }
static const question questions[] = {
    /* intervals */
    ASK("s0 >= 1", "s0", GE, "1", YES),
    ASK("s0 >= 1", "s0", GT, "1", MAYBE),
    ASK("s0 >= 1", "s0", EQ, "0", NO),
    ASK("s0 >= 1", "0", GE, "s0", NO),
    ASK("s0 <= 7", "2*s0", LT, "15", YES),
    ASK("3*s0 - 8 >= 0", "s0", GE, "3", YES),
    ASK("3*s0 - 8 >= 0", "s0", GE, "4", MAYBE),
    ASK("8 - 3*s0 >= 0", "s0", LE, "2", YES),
    ASK("s0/2 - 3/4 >= 0", "s0", GE, "2", YES),
    ASK("s0 >= 0; s1 >= 2", "s0*s1", GE, "0", YES),
    ASK("s0 >= 1; s1 >= 2", "s0*s1", GE, "2", YES),
    ASK("", "s0**2", GE, "0", YES),
    ASK("", "s0", GE, "0", MAYBE),
    ASK("s0*s1 >= 1; s0 >= 0; s1 >= 0", "s0", GE, "1", MAYBE),
    ASK("s0 >= 0; s1 >= 0; s0*s1 >= 1", "s0", GE, "1", YES),
    ASK("s0 >= 0", "Mod(s0, 4)", LT, "4", YES),
    ASK("s0 >= 0; s0 <= 3", "Mod(s0, 4) - s0", EQ, "0", MAYBE),
    ASK("s0//2 >= 3", "s0", GE, "6", YES),
    ASK("Min(s0, s1) >= 3", "s1", GE, "3", YES),
    ASK("", "s0 < s1", LE, "1", YES),
    /* a common factor */
    ASK("s0 >= 1; s1 >= 0", "s0*s1", GE, "s1", YES),
    ASK("s0 >= 2; s1 >= 1", "s0*s1", GT, "s1", YES),
    ASK("s0 >= 2; s1 >= 0", "s0*s1", GT, "s1", MAYBE),
    ASK("s2 >= 0; s0 >= s1", "s0*s2", GE, "s1*s2", YES),
    ASK("s2 <= 0; s0 >= s1", "s0*s2", LE, "s1*s2", YES),
    ASK("s2 >= 0; s3 >= 0; s0 >= s1", "6*s0*s2*s3", GE, "6*s1*s2*s3", YES),
    /* facts */
    ASK("s0 >= s1; s1 >= 5", "s0", GE, "5", YES),
    ASK("s0 >= s1; s1 >= s2", "s0", GE, "s2", YES),
    ASK("s0 >= s1; s1 >= s2; s2 >= s3", "s0", GE, "s3", MAYBE),
    ASK("s0 > s1", "s0", NE, "s1", YES),
    ASK("s0 > s1", "s0", EQ, "s1", NO),
    ASK("s2 >= 0; s0 >= s1", "s0*s2 + 5", GE, "s1*s2", YES),
    ASK("s2 >= -1; s0 >= s1", "s0*s2 + 5", GE, "s1*s2", MAYBE),
    ASK("2*s0 >= 3*s1 + 1", "4*s0", GE, "6*s1 + 2", YES),
    ASK("Ne(s0, s1)", "s0", EQ, "s1", NO),
    ASK("Ne(s0, s1)", "s1", EQ, "s0", NO),
    ASK("s0 >= 1; Ne(s0, 1)", "s0", GE, "2", YES),
    ASK("And(s0 >= 3, Or(s1 >= 1, s1 < 0))", "s0", GE, "3", YES),
    ASK("Not(Or(s0 < 3, s1 < 4))", "s0 + s1", GE, "7", YES),
    /* equalities */
    ASK("Eq(s0, s1)", "2*s1 + 1", EQ, "2*s0 + 1", YES),
    ASK("s1 >= 4; Eq(2*s0, s1)", "s0", GE, "2", YES),
    ASK("Eq(s0 + s1, s2); Eq(s1, 3)", "s2 - s0", EQ, "3", YES),
    ASK("Eq(s0//2, s1)", "2*s1", LE, "s0", YES),
    ASK("", "2*s0", EQ, "2*s1 + 1", NO),
    ASK("Eq(Mod(s0, 4), 0)", "s0", EQ, "4*s1 + 2", NO),
    ASK("s0 >= 0; Eq(Mod(s0, 8), 0)", "8*(s0//8)", EQ, "s0", YES),
    ASK("s0 >= 2; s0 <= 5; Eq(Mod(s0, 3), 0)", "s0", EQ, "3", YES),
    ASK("s0 >= -5; s0 <= -2; Eq(Mod(s0, 3), 0)", "s0", EQ, "-3", YES),
    ASK("s0 >= 2; s0 <= 6; Eq(Mod(s0, 3), 0)", "s0", EQ, "3", MAYBE),
    ASK("s0 >= 0; Eq(Mod(s0, 8), 0)", "s0//4", EQ, "2*(s0//8)", YES),
    /* calls */
    ASK("", "2*(s0//2)", LE, "s0", YES),
    ASK("", "2*(s0//2) + 1", GE, "s0", YES),
    ASK("", "2*(s0//2)", GE, "s0", MAYBE),
    ASK("s0 >= 0; s1 >= 1", "s1*(s0//s1)", LE, "s0", YES),
    ASK("s0 >= 0; s1 >= 1", "s0//s1", LE, "s0", YES),
    ASK("", "Min(s0, s1)", LE, "s0", YES),
    ASK("", "Max(s0, s1)", GE, "s1", YES),
    ASK("s1 >= 0", "Min(s0, s0 + s1)", LE, "s0 + s1", YES),
    ASK("s0 >= 1", "Mod(s1, s0)", LT, "s0", YES),
    ASK("", "s0 - Mod(s0, 4)", EQ, "4*(s0//4)", YES),
    /* slices: x[:5] and x[5:], x[:n] and x[n:], the halves of x */
    ASK("s0 >= 0", "Min(5, s0)", LE, "s0", YES),
    ASK("s0 >= 0", "Min(2, s0)", LE, "Min(5, s0)", YES),
    ASK("s0 >= 0", "Min(2, s0)", LT, "Min(5, s0)", MAYBE),
    ASK("s0 >= s2; s1 >= s2", "Min(s0, s1)", GE, "s2", YES),
    ASK("s0 <= s2; s1 <= s2", "Max(s0, s1)", LE, "s2", YES),
    ASK("s0 <= s2", "Max(s0, s1)", LE, "s2", MAYBE),
    ASK("s0 >= 0", "Max(0, Min(s0, s1))", LE, "s0", YES),
    ASK("s0 >= 0", "s0 - Min(5, s0)", GE, "0", YES),
    ASK("s0 >= 0", "s0//2 + s0//2", LE, "s0", YES),
    ASK("s0 >= 0", "s0//2", LE, "s0", YES),
    /* A quotient that has no value at s1 = 0 says nothing about s1 alone. */
    ASK("s1 >= 0", "s0//s1 - s0//s1 + s1", GE, "1", MAYBE),
};

START_TEST(questions_have_answers) {
  for (size_t i = 0; i < sizeof questions / sizeof *questions; i++) {
    const question *q = &questions[i];
    fnzi_truth answer;
    for (int again = 0; again < 2; again++) {
      if (!again)
        begin();
      if (!again)
        know(q->facts);
      OK(ctx, fnzi_size_facts_compare(&facts, q->relation, parse(q->a), parse(q->b), &answer));
      ck_assert_msg(answer == q->answer, "%s: relation %d of %s and %s is %d, not %d", q->facts,
                    q->relation - FNZI_FUNCTION_EQ, q->a, q->b, answer, q->answer);
    }
    end();
  }
}
END_TEST

/* --- calls that are settled, and what divides ------------------------------------------------- */
/* The expression made anew by its parts, with calls as the sizes of the pass make them. */
static const fnzi_expr *settled(const fnzi_expr *e) {
  const fnzi_expr *parts[4], *made;
  OK(ctx, fnzi_size_facts_plain(&facts, e, &e));
  ck_assert_uint_le(e->count, 4);
  for (uint32_t i = 0; i < e->count; i++)
    parts[i] = settled(e->parts[i].expr);
  if (e->count == 0)
    return e;
  if (e->kind != FNZI_EXPR_CALL) {
    OK(ctx, fnzi_expr_with_parts(&set, e, parts, &made));
    return made;
  }
  made = parts[0];
  for (uint32_t i = 1; i < e->count; i++)
    OK(ctx, fnzi_size_facts_call(&facts, e->function, made, parts[i], &made));
  return made;
}

START_TEST(calls_are_settled) {
  static const char *const rows[][3] = {
      {"s0 >= 1", "Max(1, s0)", "s0"},
      {"s0 >= 0", "Max(1, s0)", "Max(1, s0)"},
      {"s0 >= 1", "Min(768, 768*s0)", "768"},
      {"", "Min(s0, s0 + 1, s1)", "Min(s0, s1)"},
      {"s0 >= 0; s0 <= 3", "Mod(s0, 4) + s0//4", "s0"},
      {"Eq(Mod(s0, 8), 0)", "Mod(s0, 4)", "0"},
      {"s0 >= 2; Eq(s1, s0)", "Max(s1*Max(1, s1), 1)", "s0**2"},
      {"s0 >= 0; s1 > s0", "s0//s1", "0"},
      {"s0 >= 0; s1 >= 0", "Max(0, s0 - Min(s0, s1))", "s0 - Min(s0, s1)"},
      {"s0 >= 0; s1 >= 1", "Mod(s0*s1, s1)", "0"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fnzi_expr *e;
    begin();
    know(rows[i][0]);
    e = settled(parse(rows[i][1]));
    ck_assert_msg(e == parse(rows[i][2]), "%s: %s is %s, not %s", rows[i][0], rows[i][1],
                  text_of(e), rows[i][2]);
    end();
  }
}
END_TEST

START_TEST(divisors_are_known) {
  static const struct {
    const char *facts, *n, *e;
    bool divides;
  } rows[] = {{"", "4", "8*s0 + 12", true},
              {"", "4", "8*s0 + 2", false},
              {"Eq(Mod(s0, 6), 0)", "3", "s0", true},
              {"Eq(Mod(s0, 6), 0)", "4", "s0", false},
              {"Eq(Mod(s0, 6), 0)", "4", "2*s0 + 8", true},
              {"Eq(Mod(s0, 6), 0)", "3", "s0//2", true},
              {"Eq(Mod(s0, 6), 0)", "2", "s0//2", false},
              {"Eq(Mod(s0, 2), 0); Eq(Mod(s1, 2), 0)", "4", "s0*s1", true},
              {"Eq(Mod(s0 + 1, 3), 0)", "3", "s0 + 1", true},
              {"Eq(Mod(s0 + 1, 3), 0)", "3", "s0 + 4", true},
              {"", "s0", "s0*s1 + 2*s0", true},
              {"", "s0", "s0*s1 + 2", false},
              {"Eq(Mod(s0, s1), 0)", "s1", "s0", true}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bool divides;
    begin();
    know(rows[i].facts);
    OK(ctx, fnzi_size_facts_divides(&facts, parse(rows[i].n), parse(rows[i].e), &divides));
    ck_assert_msg(divides == rows[i].divides, "%s: %s, %s", rows[i].facts, rows[i].n, rows[i].e);
    end();
  }
}
END_TEST

/* --- of a program ----------------------------------------------------------------------------- */
START_TEST(programs_have_facts) {
  static const char text[] = "fnz 1\n"
                             "symbol s0 = 4\nsymbol s1 = 6\nsymbol s2 = 5\nrange s0 3..9\n"
                             "guard \"Eq(s1, s0 + 2)\"\n"
                             "program(%x: f32[{s0}, {s1}], %y: f32[{s2}])\n{\n"
                             "  %z: f32[{s2 - 1}] = slice.Tensor(%y, 0, 1)\n  return %x, %z\n}\n";
  fnz_program *program;
  fnzi_sizes sizes;
  fnzi_size_facts own;
  fnzi_truth answer;
  const fnzi_expr *one, *a, *b;
  begin();
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &program));
  OK(ctx, fnzi_sizes_open(&sizes, ctx, program));
  fnzi_size_facts_init(&own, &sizes.set);
  OK(ctx, fnzi_size_facts_add_sizes(&own, &sizes));
  OK(ctx, fnzi_expr_number(&sizes.set, 1, 1, &one));
  OK(ctx, fnzi_size_facts_compare(&own, FNZI_FUNCTION_GE, fnzi_expr_find(&sizes.set, "s2"), one,
                                  &answer)); /* s2 - 1 is a size */
  ck_assert_int_eq(answer, FNZI_YES);
  OK(ctx, fnzi_expr_parse(&sizes.set, "s1", 2, &a));
  OK(ctx, fnzi_expr_parse(&sizes.set, "s0 + 2", 6, &b));
  OK(ctx, fnzi_size_facts_compare(&own, FNZI_FUNCTION_EQ, a, b, &answer));
  ck_assert_int_eq(answer, FNZI_YES);
  OK(ctx, fnzi_expr_number(&sizes.set, 11, 1, &b));
  OK(ctx, fnzi_size_facts_compare(&own, FNZI_FUNCTION_LE, a, b, &answer));
  ck_assert_int_eq(answer, FNZI_YES);
  fnzi_size_facts_free(&own);
  fnzi_sizes_close(&sizes);
  fnz_program_destroy(program);
  end();
}
END_TEST

/* --- cost ------------------------------------------------------------------------------------- */
/* So many different sums as sizes, and as many guards about one symbol and about calls in calls:
 * the expressions and facts that are looked at. */
static uint64_t work_of(int count, size_t *exprs) {
  const fnzi_expr *chain, *two, *args[2];
  fnzi_truth answer;
  begin();
  know("s0 >= 0; s1 >= 0");
  chain = parse("s1");
  two = parse("2");
  for (int i = 0; i < count; i++) {
    char text[64];
    snprintf(text, sizeof text, "s0 + %d*s1 + %d", i % 100, i / 100);
    const fnzi_expr *sum = parse(text);
    snprintf(text, sizeof text, "t%d + s0 >= 3", i);
    know(text);
    snprintf(text, sizeof text, "t%d + s0", i);
    OK(ctx, fnzi_size_facts_compare(&facts, FNZI_FUNCTION_GE, sum, parse(text), &answer));
    OK(ctx, fnzi_size_facts_compare(&facts, FNZI_FUNCTION_GE, sum, parse("s0"), &answer));
    ck_assert_int_eq(answer, FNZI_YES);
    args[0] = chain;
    OK(ctx, fnzi_expr_add(&set, chain, parse("1"), &args[0]));
    OK(ctx, fnzi_size_facts_call(&facts, FNZI_FUNCTION_FLOOR_DIV, args[0], two, &chain));
    if (chain->text_size > 2000)
      chain = parse("s1");
  }
  const uint64_t work = facts.work;
  *exprs = set.all.count;
  end();
  return work;
}

START_TEST(the_cost_is_linear) {
  size_t few, many;
  const uint64_t small = work_of(2500, &few), large = work_of(25000, &many);
  ck_assert_msg(large < 11 * small, "10 times as many sizes cost %llu instead of %llu",
                (unsigned long long)large, (unsigned long long)small);
  ck_assert_uint_lt(many, 11 * few);
}
END_TEST

/* A sum is printed for a caller only. */
START_TEST(sums_have_no_text_until_it_is_needed) {
  const fnzi_expr *sum, *same;
  begin();
  sum = parse("2*s0 + s1 - 3");
  ck_assert_ptr_null(sum->atom_text);
  ck_assert_ptr_null(set.texts.data[sum->id]);
  ck_assert_str_eq(text_of(sum), "2*s0 + s1 - 3");
  OK(ctx, fnzi_expr_sub(&set, parse("2*s0 + s1"), parse("3"), &same));
  ck_assert_ptr_eq(same, sum);
  end();
}
END_TEST

static fnz_status ask_without_memory(fnz_context *c, const void *user) {
  fnzi_exprs own;
  fnzi_size_facts known;
  fnz_status status = FNZ_OK;
  (void)user;
  fnzi_exprs_init(&own, c);
  fnzi_size_facts_init(&known, &own);
  for (size_t i = 0; i < sizeof questions / sizeof *questions && status == FNZ_OK; i += 3) {
    const question *q = &questions[i];
    const fnzi_expr *a, *b, *call;
    fnzi_truth answer;
    status = fnzi_expr_parse(&own, q->a, strlen(q->a), &a);
    if (status == FNZ_OK)
      status = fnzi_expr_parse(&own, q->b, strlen(q->b), &b);
    if (status == FNZ_OK)
      status = fnzi_size_facts_compare(&known, q->relation, a, b, &answer);
    if (status == FNZ_OK)
      status = fnzi_size_facts_call(&known, FNZI_FUNCTION_MIN, a, b, &call);
    if (status == FNZ_OK && q->relation != FNZI_FUNCTION_EQ)
      status = fnzi_size_facts_add_zero(&known, i % 2 ? a : b);
  }
  fnzi_size_facts_free(&known);
  fnzi_exprs_free(&own);
  return status;
}

START_TEST(running_out_of_memory_is_an_error) {
  ck_assert_uint_gt(each_fault(ask_without_memory, NULL), 20);
}
END_TEST

RUN_SUITE("facts", questions_have_answers, calls_are_settled, divisors_are_known,
          programs_have_facts, the_cost_is_linear, sums_have_no_text_until_it_is_needed,
          running_out_of_memory_is_an_error)
