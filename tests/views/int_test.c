/* checks: 5
 * int_test.c - sizes in one word: numbers as int64_t has them, expressions by their facts, and
 * failures. */
#include "views/int.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>

static fnz_context *ctx;
static fnzi_exprs set;
static fnzi_ints ints;

static void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnzi_exprs_init(&set, ctx);
  ints = (fnzi_ints){.status = FNZ_OK};
  fnzi_facts_init(&ints.facts, &set);
}

static void end(void) {
  fnzi_facts_free(&ints.facts);
  fnzi_exprs_free(&set);
  fnz_context_destroy(ctx);
}

static fnzi_int word(const char *text) {
  const fnzi_expr *e;
  OK(ctx, fnzi_expr_parse(&set, text, strlen(text), &e));
  return fnzi_int_of_expr(&ints, e);
}

static void know(const char *text) {
  const fnzi_expr *e;
  OK(ctx, fnzi_expr_parse(&set, text, strlen(text), &e));
  OK(ctx, fnzi_facts_add_condition(&ints.facts, e));
}

static fnzi_int apply(fnzi_ints *s, fnzi_int_op op, fnzi_int a, fnzi_int b) {
  switch (op) {
  case FNZI_INT_ADD:
    return fnzi_int_add(s, a, b);
  case FNZI_INT_SUB:
    return fnzi_int_sub(s, a, b);
  case FNZI_INT_MUL:
    return fnzi_int_mul(s, a, b);
  case FNZI_INT_DIV_DOWN:
    return fnzi_int_div_down(s, a, b);
  case FNZI_INT_DIV_UP:
    return fnzi_int_div_up(s, a, b);
  case FNZI_INT_MOD:
    return fnzi_int_mod(s, a, b);
  case FNZI_INT_MIN:
    return fnzi_int_min(s, a, b);
  case FNZI_INT_MAX:
    break;
  }
  return fnzi_int_max(s, a, b);
}

/* --- numbers ---------------------------------------------------------------------------------- */
/* By the definitions; *ok is false for a division by 0. */
static int64_t expected(fnzi_int_op op, int64_t a, int64_t b, bool *ok) {
  *ok = b != 0 || op < FNZI_INT_DIV_DOWN || op > FNZI_INT_MOD;
  int64_t down = 0;
  if (b != 0)
    for (down = a / b - 2; b > 0 ? b * (down + 1) <= a : b * (down + 1) >= a; down++)
      ;
  switch (op) {
  case FNZI_INT_ADD:
    return a + b;
  case FNZI_INT_SUB:
    return a - b;
  case FNZI_INT_MUL:
    return a * b;
  case FNZI_INT_DIV_DOWN:
    return down;
  case FNZI_INT_DIV_UP:
    return down + (b != 0 && down * b != a);
  case FNZI_INT_MOD:
    return a - down * b;
  case FNZI_INT_MIN:
    return a < b ? a : b;
  case FNZI_INT_MAX:
    break;
  }
  return a > b ? a : b;
}

START_TEST(numbers_are_as_they_are) {
  for (int64_t a = -9; a < 10; a++)
    for (int64_t b = -9; b < 10; b++)
      for (fnzi_int_op op = FNZI_INT_ADD; op <= FNZI_INT_MAX; op++) {
        bool ok;
        const int64_t want = expected(op, a, b, &ok);
        const fnzi_int got = apply(NULL, op, fnzi_int_of(a), fnzi_int_of(b));
        ck_assert_msg(ok ? got.bits == want : fnzi_int_is_wrong(got), "%lld %d %lld is %lld",
                      (long long)a, op, (long long)b, (long long)got.bits);
        ck_assert_int_eq(fnzi_int_same(NULL, fnzi_int_of(a), fnzi_int_of(b)), a == b);
        ck_assert_int_eq(fnzi_int_at_least(NULL, fnzi_int_of(a), fnzi_int_of(b)), a >= b);
        ck_assert_int_eq(fnzi_int_compare(NULL, FNZI_FUNCTION_LT, fnzi_int_of(a), fnzi_int_of(b)),
                         a < b ? FNZI_YES : FNZI_NO);
        ck_assert_int_eq(fnzi_int_compare(NULL, FNZI_FUNCTION_NE, fnzi_int_of(a), fnzi_int_of(b)),
                         a != b ? FNZI_YES : FNZI_NO);
      }
}
END_TEST

START_TEST(numbers_beyond_the_limit_are_wrong) {
  const fnzi_int most = fnzi_int_of(FNZI_INT_LIMIT - 1), one = fnzi_int_of(1);
  const fnzi_int least = fnzi_int_of(1 - FNZI_INT_LIMIT);
  begin();
  ck_assert(!fnzi_int_is_symbolic(most) && !fnzi_int_is_symbolic(least));
  ck_assert(fnzi_int_is_wrong(fnzi_int_of(FNZI_INT_LIMIT)));
  ck_assert(fnzi_int_is_wrong(fnzi_int_of(-FNZI_INT_LIMIT)));
  ck_assert(fnzi_int_is_wrong(fnzi_int_of(INT64_MAX)));
  ck_assert(fnzi_int_is_wrong(fnzi_int_of(INT64_MIN)));
  ck_assert(fnzi_int_is_wrong(fnzi_int_add(NULL, most, one)));
  ck_assert(fnzi_int_is_wrong(fnzi_int_sub(NULL, least, one)));
  ck_assert(fnzi_int_is_wrong(fnzi_int_mul(NULL, most, fnzi_int_of(2))));
  ck_assert(fnzi_int_is_wrong(fnzi_int_mul(NULL, most, most)));
  ck_assert_int_eq(fnzi_int_sub(NULL, most, one).bits, FNZI_INT_LIMIT - 2);
  const fnzi_int wrong = FNZI_INT_WRONG, words[] = {one, least, wrong, word("s0")};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    for (fnzi_int_op op = FNZI_INT_ADD; op <= FNZI_INT_MAX; op++) {
      ck_assert(fnzi_int_is_wrong(apply(&ints, op, wrong, words[i])));
      ck_assert(fnzi_int_is_wrong(apply(&ints, op, words[i], wrong)));
    }
  ck_assert(!fnzi_int_same(&ints, wrong, wrong) && !fnzi_int_at_least(&ints, wrong, wrong));
  ck_assert_int_eq(fnzi_int_compare(&ints, FNZI_FUNCTION_EQ, wrong, one), FNZI_MAYBE);
  ck_assert_int_ne(fnzi_int_check(ctx, &ints, wrong), FNZ_OK);
  ck_assert_int_eq(fnz_last_error(ctx)->kind, FNZ_CLASS_OVERFLOW);
  OK(ctx, fnzi_int_check(ctx, &ints, most));
  /* Without symbols there is no set. */
  ck_assert(fnzi_int_is_wrong(fnzi_int_add(NULL, words[3], one)));
  end();
}
END_TEST

/* --- expressions ------------------------------------------------------------------------------ */
START_TEST(expressions_are_words) {
  begin();
  know("s0 >= 0");
  know("s1 >= 1");
  const fnzi_int n = word("s0"), m = word("s1"), five = fnzi_int_of(5), zero = fnzi_int_of(0);
  ck_assert(fnzi_int_is_symbolic(n));
  ck_assert_int_eq(fnzi_int_sub(&ints, n, n).bits, 0);
  ck_assert_int_eq(fnzi_int_add(&ints, n, zero).bits, n.bits);
  ck_assert_int_eq(fnzi_int_add(&ints, n, five).bits, fnzi_int_add(&ints, five, n).bits);
  ck_assert_int_eq(fnzi_int_mul(&ints, n, m).bits, word("s0*s1").bits);
  ck_assert_int_eq(fnzi_int_mul(&ints, n, zero).bits, 0);
  ck_assert_int_eq(fnzi_int_div_down(&ints, n, five).bits, word("s0//5").bits);
  ck_assert_int_eq(fnzi_int_div_up(&ints, n, five).bits, word("-(-s0//5)").bits);
  ck_assert_int_eq(fnzi_int_mod(&ints, fnzi_int_mul(&ints, n, m), m).bits, 0);
  ck_assert_int_eq(fnzi_int_min(&ints, n, fnzi_int_add(&ints, n, m)).bits, n.bits);
  ck_assert_int_eq(fnzi_int_max(&ints, m, fnzi_int_of(1)).bits, m.bits);
  ck_assert(fnzi_int_is_symbolic(fnzi_int_max(&ints, n, fnzi_int_of(1))));
  ck_assert(fnzi_int_at_least(&ints, n, zero) && !fnzi_int_at_least(&ints, n, m));
  ck_assert_int_eq(fnzi_int_compare(&ints, FNZI_FUNCTION_LT, n, fnzi_int_add(&ints, n, m)),
                   FNZI_YES);
  ck_assert_int_eq(fnzi_int_compare(&ints, FNZI_FUNCTION_EQ, m, zero), FNZI_NO);
  ck_assert_int_eq(fnzi_int_compare(&ints, FNZI_FUNCTION_EQ, n, zero), FNZI_MAYBE);
  ck_assert(!fnzi_int_same(&ints, n, m));
  know("Eq(s1, s0)");
  ck_assert(fnzi_int_same(&ints, n, m));
  end();
}
END_TEST

START_TEST(failures_are_kept) {
  begin();
  const fnzi_int n = word("s0"), big = fnzi_int_of(FNZI_INT_LIMIT - 1);
  const fnzi_int square = fnzi_int_mul(&ints, fnzi_int_mul(&ints, n, big), big);
  ck_assert(fnzi_int_is_wrong(square)); /* the number of its term leaves 64 bits */
  ck_assert_int_ne(fnzi_int_check(ctx, &ints, square), FNZ_OK);
  ck_assert_int_eq(fnz_last_error(ctx)->kind, FNZ_CLASS_OVERFLOW);
  ck_assert(fnzi_int_is_wrong(fnzi_int_div_down(&ints, n, fnzi_int_of(0))));
  end();
}
END_TEST

static fnz_status without_memory(fnz_context *c, const void *user) {
  fnzi_exprs own;
  fnzi_ints s = {.status = FNZ_OK};
  const fnzi_expr *e = NULL;
  (void)user;
  fnzi_exprs_init(&own, c);
  fnzi_facts_init(&s.facts, &own);
  fnz_status status = fnzi_expr_parse(&own, "s0 + 2", 6, &e);
  if (status == FNZ_OK) {
    const fnzi_int n = fnzi_int_of_expr(&s, e), two = fnzi_int_of(2);
    const fnzi_int half = fnzi_int_div_down(&s, n, two);
    (void)fnzi_int_at_least(&s, n, fnzi_int_mul(&s, half, two));
    status = fnzi_int_check(c, &s, fnzi_int_max(&s, half, n));
    status = s.status != FNZ_OK ? s.status : status;
  }
  fnzi_facts_free(&s.facts);
  fnzi_exprs_free(&own);
  return status;
}

START_TEST(running_out_of_memory_is_an_error) {
  ck_assert_uint_gt(each_fault(without_memory, NULL), 5);
}
END_TEST

RUN_SUITE("int", numbers_are_as_they_are, numbers_beyond_the_limit_are_wrong, expressions_are_words,
          failures_are_kept, running_out_of_memory_is_an_error)
