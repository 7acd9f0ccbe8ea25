/* checks: 4
 * judge_test.c - the judge finds a wrong form of a program of unknown sizes: by a guard that is
 * missing, by a guard with another bound, by a size that is right at small sizes only. */
#include "functionalize/api.h"
#include "soak/methods.h"
#include "soak/plant_edit.h"
#include "soak/soak.h"
#include "tests/help/test.h"

#include <stdio.h>

static fnz_program *read_text(fnz_context *ctx, const char *text) {
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &p));
  return p;
}

/* A view at one row, and a copy at more. */
static const char source[] = "fnz 1\nsymbol s0 = 4\nrange s0 0..\nprogram(%x: f32[{s0},3]) {\n"
                             "  %t: f32[3,{s0}] stride(1,3) = transpose.int(%x, 0, 1)\n"
                             "  %r: f32[{3*s0}] = reshape(%t, [-1])\n"
                             "  %w: f32[{3*s0}] = add_.Scalar(%r, 1)\n  return %r, %x\n}\n";

static fnzi_verdict judge_guard(const char *guard) {
  fnz_context *ctx;
  fnzi_judge *judge;
  fnz_program *right;
  fnzi_method_counts counts = {.programs = 0};
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnzi_judge_create(ctx, &judge));
  fnz_program *p = read_text(ctx, source);
  OK(ctx, fnz_functionalize(ctx, p, NULL, &right));
  ck_assert_uint_ge(right->guards.count, 1);
  for (size_t k = 0; k < right->guards.count; k++)
    if (guard)
      right->guards.data[k].text = guard;
  right->guards.count = guard ? 1 : 0;
  const fnz_program *const forms[] = {NULL, right};
  const fnzi_verdict v = fnzi_judge_forms(judge, p, forms, 5, &counts);
  fnz_program_destroy(right);
  fnz_program_destroy(p);
  fnzi_judge_destroy(judge);
  fnz_context_destroy(ctx);
  return v;
}

START_TEST(guards_are_needed) {
  ck_assert_int_eq(judge_guard("Ne(s0, 1)"), FNZI_VERDICT_EQUAL);
  ck_assert_int_eq(judge_guard("s0 > 1"), FNZI_VERDICT_EQUAL);
  ck_assert_int_eq(judge_guard("s0 >= 1"), FNZI_VERDICT_WRONG);
  ck_assert_int_eq(judge_guard(NULL), FNZI_VERDICT_WRONG);
}
END_TEST

/* The source has no condition; the form has one, or both have it. */
START_TEST(guards_of_the_source_stay) {
  fnz_context *ctx;
  fnz_program *form;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p = read_text(ctx, source);
  OK(ctx, fnz_functionalize(ctx, p, NULL, &form));
  const fnz_program *const sources[] = {NULL, p, form};
  for (size_t k = 0; k < 3; k++) {
    fnzi_planting dropped = {.p = form, .wanted = UINT64_MAX, .source = sources[k]},
                  bound = dropped;
    OK(ctx, fnzi_plant_guard_dropped(&dropped));
    OK(ctx, fnzi_plant_guard_bound(&bound));
    ck_assert_uint_eq(dropped.places, sources[k] != form);
    ck_assert_uint_eq(bound.places, sources[k] != form);
  }
  fnz_program_destroy(form);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* The second form counts to 20 at most. */
START_TEST(sizes_that_are_not_tried_usually_are_looked_at) {
  static const char head[] = "fnz 1\nsymbol s0 = 4\nrange s0 0..\nprogram(%x: f32[{s0}]) {\n"
                             "  %n: sym{s0} = sym_size.int(%x, 0)\n";
  static const char all[] = "  %a: f32[{s0}] = arange(%n, dtype=f32)\n";
  static const char some[] = "  %m: sym{Min(s0, 20)} = torch.sym_min(%n, 20)\n"
                             "  %a: f32[{Min(s0, 20)}] = arange(%m, dtype=f32)\n";
  static const char end[] = "  %s: f32[] = sum(%a)\n  return %s\n}\n";
  char text[2][600];
  fnz_context *ctx;
  fnzi_judge *judge;
  fnzi_method_counts counts = {.programs = 0};
  snprintf(text[0], sizeof text[0], "%s%s%s", head, all, end);
  snprintf(text[1], sizeof text[1], "%s%s%s", head, some, end);
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnzi_judge_create(ctx, &judge));
  fnz_program *right = read_text(ctx, text[0]), *wrong = read_text(ctx, text[1]);
  const fnz_program *const equal[] = {right, right}, *const other[] = {right, wrong};
  ck_assert_int_eq(fnzi_judge_forms(judge, right, equal, 5, &counts), FNZI_VERDICT_EQUAL);
  ck_assert_uint_ge(counts.of[0].taken, 10);
  ck_assert_uint_eq(counts.of[0].taken, counts.sizes);
  ck_assert_int_eq(fnzi_judge_forms(judge, right, other, 5, &counts), FNZI_VERDICT_WRONG);
  ck_assert_str_eq(judge->kind, "computed");
  fnz_program_destroy(right);
  fnz_program_destroy(wrong);
  fnzi_judge_destroy(judge);
  fnz_context_destroy(ctx);
}
END_TEST

/* Programs are judged, and planted mistakes found. */
START_TEST(random_programs_are_judged) {
  static fnzi_soak_report r;
  fnzi_soak_options options = {
      .seed = 3, .count = 60, .kind = FNZI_SOAK_SYMBOLIC, .judges = true, .jobs = 2};
  ck_assert_int_eq(fnzi_soak_run(&options, &r), FNZ_OK);
  ck_assert_uint_eq(r.verdicts[FNZI_VERDICT_WRONG], 0);
  ck_assert_uint_eq(r.methods.programs, 60);
  ck_assert_uint_ge(r.methods.of[0].taken, 300);
  ck_assert_uint_ge(r.methods.of[1].taken, 300);
  options.plants = true;
  ck_assert_int_eq(fnzi_soak_run(&options, &r), FNZ_OK);
  ck_assert_uint_gt(3 * r.methods.found[FNZI_METHOD_PLANT_SIZE],
                    r.methods.made[FNZI_METHOD_PLANT_SIZE]);
  ck_assert_uint_gt(r.methods.found[FNZI_METHOD_PLANT_INDEX], 0);
}
END_TEST

RUN_SUITE("judge", guards_are_needed, guards_of_the_source_stay,
          sizes_that_are_not_tried_usually_are_looked_at, random_programs_are_judged)
