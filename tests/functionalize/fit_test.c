/* checks: 6
 * fit_test.c - numbers that trials have in one place, and the expression that gives them all: which
 * is found, which of several, and that none is found rather than a wrong one. */
#include "functionalize/dynamic/dynamic.h"
#include "tests/help/test.h"

#include <fnz/fnz.h>

static fnz_context *ctx;
static fnz_program *program;
static fnzi_sizes sizes;
static fnzi_arena arena;

enum { TRIALS = 10 };
static fnzi_trial trials[TRIALS], *all[TRIALS];
static const int64_t usual[TRIALS][2] = {{5, 11},  {7, 4},  {12, 9},  {10, 23}, {17, 6},
                                         {22, 13}, {9, 15}, {31, 18}, {14, 29}, {27, 8}};

static void begin(const char *text, const int64_t (*numbers)[2]) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnzi_arena_init(&arena, ctx);
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &program));
  OK(ctx, fnzi_sizes_open(&sizes, ctx, program));
  for (size_t k = 0; k < TRIALS; k++) {
    all[k] = &trials[k];
    fnzi_point_init(&trials[k].point, &sizes.set);
    for (size_t i = 0; i < sizes.free.count; i++)
      OK(ctx, fnzi_point_set(&trials[k].point, sizes.free.data[i], numbers[k][i]));
  }
}

static void end(void) {
  for (size_t k = 0; k < TRIALS; k++)
    fnzi_point_free(&trials[k].point);
  fnzi_sizes_close(&sizes);
  fnz_program_destroy(program);
  fnzi_arena_free(&arena);
  fnz_context_destroy(ctx);
}

/* The text of the expression found for the numbers that `of` has; "" for none. */
static const char *found_for(fnzi_fit *f, const char *of, size_t count) {
  int64_t numbers[TRIALS];
  const fnzi_expr *e, *out;
  OK(ctx, fnzi_expr_parse(&sizes.set, of, strlen(of), &e));
  for (size_t k = 0; k < count; k++) {
    bool known;
    OK(ctx, fnzi_point_int(&trials[k].point, e, &known, &numbers[k]));
    ck_assert_msg(known, "%s", of);
  }
  OK(ctx, fnzi_fit_numbers(f, numbers, &out));
  const char *text = "";
  if (out)
    OK(ctx, fnzi_expr_text(&sizes.set, out, &text));
  return text;
}

typedef struct row {
  const char *of, *want;
} row;

static void check_rows(const row *rows, size_t n, size_t count) {
  fnzi_fit f;
  OK(ctx, fnzi_fit_start(&f, &sizes, &arena, all, count));
  for (int twice = 0; twice < 2; twice++) /* the second time from memory */
    for (size_t i = 0; i < n; i++) {
      const char *got = found_for(&f, rows[i].of, count);
      ck_assert_msg(strcmp(got, rows[i].want) == 0, "%s: %s", rows[i].of, got);
    }
  fnzi_fit_end(&f);
}
#define CHECK(rows, count) check_rows(rows, sizeof(rows) / sizeof *(rows), count)

/* --- what is found ---------------------------------------------------------------------------- */
#define TWO                                                                                        \
  "fnz 1 symbol s0 = 4 symbol s1 = 6 program(%x: f32[{s0},{s1}], %y: f32[{s0//3 + 1}]) {\n"        \
  "  return %x }"

START_TEST(expressions_are_found) {
  static const row rows[] = {
      {"7", "7"},
      {"-3", "-3"},
      {"s0", "s0"},
      {"s1", "s1"},
      {"s0//3 + 1", "s0//3 + 1"}, /* the program's own */
      {"s0//3", "s0//3"},
      {"s0 + 3", "s0 + 3"},
      {"s0 - s1", "s0 - s1"},
      {"1 - s1", "1 - s1"},
      {"2*s0 + 3*s1 - 7", "2*s0 + 3*s1 - 7"},
      {"s0*s1", "s0*s1"},
      {"s0*s1 + 2*s1", "s0*s1 + 2*s1"},
      {"s0**2 - 1", "s0**2 - 1"},
      {"s1**2 + s0", "s0 + s1**2"},
      {"2*(s0//3) + s1", "2*(s0//3) + s1"},
      {"s0//2", "s0//2"},
      {"(s0 + 3)//4", "(s0 + 3)//4"},
      {"(s1 - 8)//8", "s1//8 - 1"},
      {"(s1 + 7)//8", "(s1 + 7)//8"},
      {"4000000000*s0", "4000000000*s0"},
  };
  begin(TWO, usual);
  CHECK(rows, TRIALS);
  end();
}
END_TEST

/* The largest denominator that is looked for, and one more. */
START_TEST(denominators_have_a_limit) {
  static const int64_t numbers[TRIALS][2] = {{64, 65},    {192, 195}, {320, 130}, {448, 455},
                                             {128, 585},  {704, 715}, {832, 260}, {960, 975},
                                             {576, 1105}, {1216, 325}};
  static const row rows[] = {{"s0//64", "s0/64"}, {"s1//65", ""}};
  begin("fnz 1 symbol s0 = 64 symbol s1 = 65 program(%x: f32[{s0},{s1}]) {\n  return %x }",
        numbers);
  CHECK(rows, TRIALS);
  end();
}
END_TEST

START_TEST(nothing_is_found_rather_than_a_guess) {
  static const row rows[] = {
      {"s0**2*s1", ""},
      {"s0**3", ""},
      {"s0//9", ""},
      {"Max(s0, s1)", ""},
      {"s0**2 + s1**2 + s0*s1 + 7*s0", ""},
      {"2*s0*s1 + s0**2 + 5*s1 + 7*s0", ""},
      {"(s0 + 9)//7*s1", ""},
      {"3000000000000000*s0 + s1//7", ""}, /* doubles are no help there */
  };
  begin(TWO, usual);
  CHECK(rows, TRIALS);
  end();
}
END_TEST

/* A sum has to be right in as many trials more than it has unknowns as it has terms. */
START_TEST(few_trials_prove_little) {
  static const row three[] = {
      {"s0", "s0"}, {"s0 + 3", "s0 + 3"}, {"2*s0", "2*s0"}, {"2*s0 + 3*s1", ""}};
  static const row two[] = {{"s0", "s0"}, {"7", "7"}, {"3*s0", ""}, {"s0**2 + 11", ""}};
  static const row four[] = {{"2*s0 + 3*s1 - 7", ""}};
  static const row five[] = {{"2*s0 + 3*s1 - 7", "2*s0 + 3*s1 - 7"}};
  begin(TWO, usual);
  CHECK(three, 3);
  CHECK(two, 2);
  CHECK(four, 4);
  CHECK(five, 5);
  end();
}
END_TEST

/* Trials at which a symbol never changes say nothing of it. */
START_TEST(what_does_not_vary_has_no_factor) {
  static const int64_t numbers[TRIALS][2] = {{5, 6}, {5, 7}, {5, 9}, {5, 12}, {5, 3},
                                             {5, 8}, {5, 2}, {5, 4}, {5, 20}, {5, 31}};
  static const row rows[] = {{"s0", "5"}, {"s0 + s1", "s1 + 5"}, {"s0*s1", "5*s1"}, {"2*s0", "10"}};
  begin(TWO, numbers);
  CHECK(rows, TRIALS);
  end();
}
END_TEST

/* At multiples of 3, 2*n/3 is a whole number, and 2*(n//3) is what the program means. */
START_TEST(whole_factors_come_first) {
  static const int64_t numbers[TRIALS][2] = {{3, 5},  {6, 7},  {9, 4},   {12, 9}, {15, 3},
                                             {18, 8}, {21, 2}, {24, 11}, {27, 6}, {30, 13}};
  static const row rows[] = {{"2*(s0//3)", "2*(s0//3)"}, {"s0//3 + 2*s1", "s0//3 + 2*s1"}};
  begin(TWO, numbers);
  CHECK(rows, TRIALS);
  end();
}
END_TEST

RUN_SUITE("fit", expressions_are_found, denominators_have_a_limit,
          nothing_is_found_rather_than_a_guess, few_trials_prove_little,
          what_does_not_vary_has_no_factor, whole_factors_come_first)
