/* checks: 3
 * random_test.c - random programs mean the same before and after the pass: number by number, and
 * for all numbers over hashes. FNZ_PROGRAMS says how many (CK_TIMEOUT_MULTIPLIER gives them time),
 * FNZ_SEED and FNZ_FIRST which, FNZ_JOBS by how many threads, FNZ_VERBOSE prints what was drawn. A
 * program that fails is made smaller (unless FNZ_SHRINK=0) and printed, as many of them as
 * FNZ_WRONG says. */
#include "base/watched.h"
#include "soak/programs.h"
#include "soak/soak.h"
#include "tests/help/test.h"

#include <stdio.h>

/* Each operator is among ALL; where memory is watched that takes too long. */
enum { ALL = 5000, FEW_PROGRAMS = FNZI_WATCHED ? 1500 : ALL };

static uint64_t number_of(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

static void print_finding(void *user, const fnzi_finding *f) {
  (void)user;
  fprintf(stderr, "program %llu: %s: %s\n%s\n", (unsigned long long)f->index, f->kind, f->reason,
          f->text);
}

START_TEST(random_programs_mean_the_same) {
  static fnzi_soak_report report;
  fnzi_soak_options options = {.seed = number_of("FNZ_SEED", 1),
                               .first = number_of("FNZ_FIRST", 0),
                               .count = number_of("FNZ_PROGRAMS", FEW_PROGRAMS),
                               .checks = FNZI_CHECK_ALL,
                               .jobs = number_of("FNZ_JOBS", 1),
                               .most_wrong = number_of("FNZ_WRONG", 1),
                               .keep_size = !number_of("FNZ_SHRINK", 1),
                               .found = print_finding};
  ck_assert_int_eq(fnzi_soak_run(&options, &report), FNZ_OK);
  ck_assert_uint_eq(report.verdicts[FNZI_VERDICT_WRONG], 0);
  ck_assert_uint_ge(report.thorough, options.count / FNZI_SOAK_THOROUGH);
  ck_assert_uint_eq(report.keep + report.strided, options.count + report.thorough);
  ck_assert_uint_ge(report.keep, options.count / 2);
  ck_assert_uint_ge(report.strided, options.count / 2);
  ck_assert_uint_le(report.verdicts[FNZI_VERDICT_BEYOND], options.count / 200 + 1);
  ck_assert_uint_le(report.verdicts[FNZI_VERDICT_LARGE], options.count / 1000 + 1);
  for (size_t k = 0; fnzi_random_op(k) && options.count >= ALL; k++)
    ck_assert_msg(report.drawn.used[k] > 0, "%s was never drawn", fnzi_random_op(k));
  ck_assert_ptr_null(fnzi_soak_gap(&report, FNZI_CHECK_ALL));
  if (getenv("FNZ_VERBOSE"))
    fnzi_soak_print(stderr, "", &report);
}
END_TEST

static fnz_status text_of(fnz_context *ctx, const fnz_program *p, fnz_buffer *out) {
  *out = (fnz_buffer){0};
  return fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, out);
}

/* The same choices give the same program; none at all give the simplest. */
START_TEST(choices_name_a_program) {
  static fnzi_random_counts counts;
  static choices c;
  fnz_context *ctx;
  fnz_program *p;
  fnz_buffer a, b;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  choices_start(&c, 3, 4);
  OK(ctx, fnzi_random_program(ctx, NULL, &c, &counts, &p));
  OK(ctx, text_of(ctx, p, &a));
  fnz_program_destroy(p);
  choices_replay(&c);
  OK(ctx, fnzi_random_program(ctx, NULL, &c, &counts, &p));
  OK(ctx, text_of(ctx, p, &b));
  fnz_program_destroy(p);
  ck_assert_str_eq(a.data, b.data);
  fnz_buffer_free(ctx, &a);
  fnz_buffer_free(ctx, &b);
  c.count = 0;
  choices_replay(&c);
  OK(ctx, fnzi_random_program(ctx, NULL, &c, &counts, &p));
  ck_assert_uint_le(fnz_node_count(p, 0), 1);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* Compared results can differ: another program in place of the functionalized one is found out. */
START_TEST(mismatches_are_found) {
  static fnzi_random_counts counts;
  static choices c;
  size_t found = 0;
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (uint64_t i = 0; i < 40; i++) {
    fnz_program *p, *f;
    choices_start(&c, 9, i);
    OK(ctx, fnzi_random_program(ctx, NULL, &c, &counts, &p));
    if (fnz_functionalize(ctx, p, NULL, &f) == FNZ_OK && fnz_node_count(f, 0) > 0) {
      fnzi_graph *g = fnzi_graph_main(f);
      for (uint32_t k = 0; k < g->noutputs; k++)
        for (uint32_t n = 0; n < g->ninputs; n++)
          if (g->outputs[k].tag == FNZ_ARG_VALUE &&
              fnzi_value_at(f, 0, g->outputs[k].u.value)->geometry ==
                  fnzi_value_at(f, 0, g->inputs[n].u.value)->geometry)
            g->outputs[k] = g->inputs[n];
      found += fnz_verify(ctx, p, f, NULL, WITH_TRIALS(1), NULL) == FNZ_DIFFERENT;
    }
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  ck_assert_uint_gt(found, 5);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("random", random_programs_mean_the_same, choices_name_a_program, mismatches_are_found)
