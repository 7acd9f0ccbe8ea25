/* test.h - what every Check program shares: a suite's main, and statuses that must be OK. */
#ifndef FNZ_TESTS_HELP_TEST_H
#define FNZ_TESTS_HELP_TEST_H

#include "base/base.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>

/* Check's own macro writes to a file at each assertion that holds, so that a report of a crash
 * names the last one. In loops over elements that is most of the time. */
#undef ck_assert_msg
#define ck_assert_msg(expr, ...)                                                                   \
  ((expr) ? (void)0                                                                                \
          : _ck_assert_failed(__FILE__, __LINE__, "Assertion '" #expr "' failed", __VA_ARGS__))

/* Fails the check with the context's message when the call fails. */
#define OK(ctx, expr)                                                                              \
  do {                                                                                             \
    fnz_status ok_status_ = (expr);                                                                \
    if (ok_status_ != FNZ_OK)                                                                      \
      ck_abort_msg("%s: %s: %s: %s", #expr, fnz_class_name(fnz_last_error(ctx)->kind),             \
                   fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);                      \
  } while (0)

/* The call must fail with this class. */
#define FAILS(ctx, class_name, expr)                                                               \
  do {                                                                                             \
    ck_assert_int_ne((expr), FNZ_OK);                                                              \
    ck_assert_str_eq(fnz_class_name(fnz_last_error(ctx)->kind), class_name);                       \
  } while (0)

/* Options of fnz_run() and fnz_verify() (<fnz/run.h>, <fnz/verify.h>). */
#define AS_ORIGINAL (&(fnz_run_options){.size = sizeof(fnz_run_options), .original = true})
/* The second program may be the first one's functional form, with guards of its own. */
#define WITH_TRIALS(n)                                                                             \
  (&(fnz_verify_options){.size = sizeof(fnz_verify_options), .trials = (n), .allow_narrower = true})

/* Runs a suite; the main function returns it. Each line is written at once, because a failed test
 * ends its process before buffers are written. */
static inline int run_all_of(Suite *suite) {
  setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
  SRunner *runner = srunner_create(suite);
  srunner_run_all(runner, CK_NORMAL);
  int failed = srunner_ntests_failed(runner);
  srunner_free(runner);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* A suite of one case, whose tests share a time limit, or are loops. */
static inline int run_one_case(const char *name, TCase *c) {
  Suite *suite = suite_create(name);
  suite_add_tcase(suite, c);
  return run_all_of(suite);
}

/* Each test is a case of its own. */
static inline void add_tests(Suite *suite, const TTest *const *tests, size_t count) {
  for (size_t i = 0; i < count; i++) {
    TCase *c = tcase_create(tests[i]->name);
    tcase_set_timeout(c, 600);
    tcase_add_test(c, tests[i]);
    suite_add_tcase(suite, c);
  }
}

#define RUN_SUITE(name, ...)                                                                       \
  int main(void) {                                                                                 \
    const TTest *const tests[] = {__VA_ARGS__};                                                    \
    Suite *suite = suite_create(name);                                                             \
    add_tests(suite, tests, sizeof tests / sizeof *tests);                                         \
    return run_all_of(suite);                                                                      \
  }

/* A suite in several files, in the folder NAME/ beside NAME_test.c: each file ends with its tests
 * as a part, and NAME_test.c declares the parts and runs them. */
typedef void suite_part(Suite *suite);

#define SUITE_PART(name, ...)                                                                      \
  suite_part name;                                                                                 \
  void name(Suite *suite) {                                                                        \
    const TTest *const tests[] = {__VA_ARGS__};                                                    \
    add_tests(suite, tests, sizeof tests / sizeof *tests);                                         \
  }

#define RUN_PARTS(name, ...)                                                                       \
  int main(void) {                                                                                 \
    suite_part *const parts[] = {__VA_ARGS__};                                                     \
    Suite *suite = suite_create(name);                                                             \
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)                                      \
      parts[i](suite);                                                                             \
    return run_all_of(suite);                                                                      \
  }

/* FNZ_SPARSE in the environment: of what would be tried every so many-th, unless FNZ_ALL is there.
 */
static inline size_t every(void) {
  const char *sparse = getenv("FNZ_ALL") ? NULL : getenv("FNZ_SPARSE");
  return sparse ? strtoul(sparse, NULL, 10) : 1;
}

#endif
