/* checks: 1
 * plan_random_test.c - plans of random programs give, step by step, what the programs mean: run on
 * bytes, and proved by the checker. FNZ_PROGRAMS says how many, FNZ_SEED and FNZ_FIRST which. */
#include "engine/tell.h"
#include "soak/programs.h"
#include "tests/plan_exec.h"
#include "tests/test.h"

enum { FEW_PROGRAMS = 2000 };

static uint64_t number_of(const char *name, uint64_t otherwise) {
  const char *text = getenv(name);
  return text ? strtoull(text, NULL, 10) : otherwise;
}

static void complain(fnz_context *ctx, const fnz_program *p, uint64_t index,
                     const fnzi_eng_plan *plan, const char *what) {
  fnz_buffer text = {0}, steps = {0};
  char said[EXEC_MESSAGE];
  snprintf(said, sizeof said, "%s", what);
  if (plan->steps.count > 0)
    OK(ctx, fnzi_eng_tell(ctx, plan, &steps));
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, &text));
  fprintf(stderr, "%.*s\n%.*s\n", (int)text.size, text.data, (int)steps.size,
          steps.data ? (const char *)steps.data : "");
  fprintf(stderr, "program %llu: %s\n", (unsigned long long)index, said);
  ck_abort_msg("program %llu: %.200s", (unsigned long long)index, said);
}

static void try_policy(fnz_context *ctx, fnz_backend *cpu, const fnz_program *p, uint64_t index,
                       const fnzi_eng_policy *policy) {
  static exec e;
  fnzi_eng_plan plan = {0};
  if (fnzi_eng_plan_make(ctx, p, policy, &plan) != FNZ_OK)
    complain(ctx, p, index, &plan, fnz_last_error(ctx)->message);
  if (!getenv("FNZ_UNCHECKED") && fnzi_eng_plan_check(ctx, &plan) != FNZ_OK)
    complain(ctx, p, index, &plan, fnz_last_error(ctx)->message);
  OK(ctx, exec_plan(ctx, cpu, &plan, &e));
  if (e.message[0])
    complain(ctx, p, index, &plan, e.message);
  fnzi_eng_plan_free(ctx, &plan);
}

START_TEST(plans_mean_what_programs_do) {
  static fnzi_random_counts counts;
  static choices c;
  static bool all[4096];
  uint64_t first = number_of("FNZ_FIRST", 0), count = number_of("FNZ_PROGRAMS", FEW_PROGRAMS);
  fnz_context *ctx;
  fnz_backend *cpu, *meta;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_meta_backend_create(ctx, &meta));
  memset(all, 1, sizeof all);
  for (uint64_t i = first; i < first + count; i++) {
    if (getenv("FNZ_VERBOSE"))
      fprintf(stderr, "%llu\n", (unsigned long long)i);
    fnz_program *p, *f;
    choices_start(&c, number_of("FNZ_SEED", 1), i);
    OK(ctx, fnzi_random_program(ctx, meta, &c, &counts, &p));
    if (fnz_functionalize(ctx, p, NULL, &f) == FNZ_OK) {
      try_policy(ctx, cpu, f, i, &(fnzi_eng_policy){0});
      try_policy(ctx, cpu, f, i, &(fnzi_eng_policy){.state = true});
      try_policy(ctx, cpu, f, i,
                 &(fnzi_eng_policy){.state = true, .aliasing = true, .writable = all});
      if (i % 8 == 0)
        try_policy(ctx, cpu, f, i, &(fnzi_eng_policy){.state = true, .trivial = true});
    }
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  fnz_backend_destroy(meta);
  fnz_backend_destroy(cpu);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("plan_random", plans_mean_what_programs_do)
