/* checks: 13
 * plan_test.c - the places of values in plans: values that end in place, and copies with their
 * rule; all programs of fixtures/ run on bytes; and the checker refuses plans that were spoiled. */
#include "base/watched.h"
#include "engine/listing/listing.h"
#include "tests/help/context.h"
#include "tests/engine/plan_exec.h"
#include "tests/help/run_help.h"

#include <glob.h>

enum { MOST_BYTES = 1 << 24, POLICIES = 4 };

static const fnzi_pln_policy in_state = {.state = true};

static fnz_program *functional(const char *inputs, const char *body) {
  fnz_program *p = program_of(ctx, inputs, body), *f;
  OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
  fnz_program_destroy(p);
  return f;
}

/* Plans it, proves the plan, runs it on bytes. */
static void make_plan(const fnz_program *f, const fnzi_pln_policy *policy, fnzi_pln_plan *plan) {
  static exec e;
  fnz_backend *cpu;
  OK(ctx, fnzi_pln_make(ctx, f, policy, plan));
  OK(ctx, fnzi_pln_check(ctx, plan));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, exec_plan(ctx, cpu, plan, &e));
  fnz_backend_destroy(cpu);
  ck_assert_msg(e.message[0] == 0, "%s", e.message);
}

static size_t count_rule(const fnzi_pln_plan *plan, fnzi_pln_rule rule) {
  size_t count = 0;
  for (size_t s = 0; s < plan->steps.count; s++)
    count += plan->steps.data[s].kind == FNZI_PLN_MOVE && plan->steps.data[s].rule == rule;
  return count;
}

/* Figures of a body, planned with final values in their state. */
static fnzi_listing_figures figures(const char *inputs, const char *body, fnzi_pln_rule rule,
                                    size_t *moves) {
  fnz_program *f = functional(inputs, body);
  fnzi_pln_plan plan = {0};
  fnzi_listing_figures out;
  make_plan(f, &in_state, &plan);
  fnzi_listing_figures_of(&plan, &out);
  *moves = count_rule(&plan, rule);
  fnzi_pln_free(ctx, &plan);
  fnz_program_destroy(f);
  return out;
}

START_TEST(a_token_is_written_into_its_cache) {
  size_t moves;
  begin();
  fnzi_listing_figures f =
      figures("%kc: f32[1,8,4096,64], %k: f32[1,8,1,64], %at: i64[1]",
              "  %w: f32[1,8,4096,64] = index_copy_(%kc, 2, %at, %k)\n  return %w", FNZI_PLN_OUTPUT,
              &moves);
  ck_assert_uint_eq(f.updates, 1);
  ck_assert_uint_eq(f.in_place, 1);
  ck_assert_uint_eq(f.finals_in_place, 1);
  ck_assert_uint_eq(f.copies, moves); /* the cache is an output too: that alone is copied */
  end();
}
END_TEST

/* x[i] += 1 computes in the row itself: nothing is left for the scatter. */
START_TEST(rows_are_changed_where_they_lie) {
  size_t moves;
  begin();
  fnzi_listing_figures f = figures("%x: f32[64,8]",
                                   "  %a: f32[8] = select.int(%x, 0, 3)\n"
                                   "  %b: f32[8] = add_.Scalar(%a, 1)\n"
                                   "  %c: f32[8] = select.int(%x, 0, 5)\n"
                                   "  %d: f32[8] = mul_.Scalar(%c, 2)\n"
                                   "  %s: f32[] = sum(%x)\n  return %s",
                                   FNZI_PLN_UPDATE, &moves);
  ck_assert_uint_eq(f.updates, 2);
  ck_assert_uint_eq(f.idle, 2);
  ck_assert_uint_eq(f.copies, 0);
  ck_assert_uint_eq(moves, 0);
  end();
}
END_TEST

START_TEST(writes_through_chains_of_views_stay_in_place) {
  size_t moves;
  begin();
  fnzi_listing_figures f = figures("%x: f32[6,6]",
                                   "  %a: f32[6] = diagonal(%x)\n"
                                   "  %b: f32[5] = slice.Tensor(%a, 0, 1, 6)\n"
                                   "  %c: f32[3] = slice.Tensor(%b, 0, 0, 5, 2)\n"
                                   "  %d: f32[3] = mul_.Scalar(%c, 5)\n  return",
                                   FNZI_PLN_BASE_ALIVE, &moves);
  ck_assert_uint_eq(f.updates, 3);
  ck_assert_uint_eq(f.in_place, 3);
  ck_assert_uint_eq(f.copies, 0);
  end();
}
END_TEST

/* No strides say the region where the base lies, and the source lies in all of the copy. */
START_TEST(a_source_within_the_copy_of_its_base_is_saved) {
  size_t moves;
  begin();
  (void)figures(
      "%x: i32[1,2,2,2] stride(2,2,4,8)",
      "  %c: i32[1,2,2,2] = clone(%x, memory_format=contiguous_format)\n"
      "  %v: i32[2,2,2,1] stride(1,4,2,4) = as_strided_copy(%c, [2, 2, 2, 1], [1, 4, 2, 4], 0)\n"
      "  %b: i32[2,2,2,1] = clone(%v, memory_format=contiguous_format)\n"
      "  %a: i32[2,2,2,1] stride(4,2,1,2) = add.Tensor(%b, %b)\n"
      "  %s: i32[2,2,2,1] = as_strided_scatter(%b, %a, [2, 2, 2, 1], [4, 2, 1, 2], 0)\n"
      "  return %s",
      FNZI_PLN_SOURCE_MEETS, &moves);
  ck_assert_uint_eq(moves, 1);
  end();
}
END_TEST

START_TEST(what_may_not_be_written_is_copied_once) {
  size_t moves;
  begin();
  fnzi_listing_figures f = figures("%x: f32[4,4]",
                                   "  %y: f32[4,4] = clone(%x)\n"
                                   "  %a: f32[4] = select.int(%y, 0, 1)\n"
                                   "  %b: f32[4] = exp_(%a)\n"
                                   "  %c: f32[4] = select.int(%y, 0, 2)\n"
                                   "  %d: f32[4] = exp_(%c)\n  return %y",
                                   FNZI_PLN_BASE_CONST, &moves);
  ck_assert_uint_eq(moves, 1);
  ck_assert_uint_eq(f.copies, 1);
  end();
}
END_TEST

START_TEST(pieces_are_made_where_they_are_joined) {
  size_t moves;
  begin();
  fnzi_listing_figures f = figures("%x: f32[4,3], %y: f32[4,5]",
                                   "  %a: f32[4,3] = exp(%x)\n  %b: f32[4,5] = exp(%y)\n"
                                   "  %c: f32[4,8] = cat([%a, %b], 1)\n  return %c",
                                   FNZI_PLN_JOIN, &moves);
  ck_assert_uint_eq(f.steps, 2);
  ck_assert_uint_eq(moves, 0);
  end();
}
END_TEST

/* x, y = y, x: one of them is saved before. */
START_TEST(moves_at_the_end_are_one) {
  size_t moves;
  begin();
  fnzi_listing_figures f = figures("%x: f32[4], %y: f32[4]",
                                   "  %a: f32[4] = clone(%x)\n"
                                   "  %b: f32[4] = copy_(%x, %y)\n"
                                   "  %c: f32[4] = copy_(%y, %a)\n  return",
                                   FNZI_PLN_PARALLEL, &moves);
  ck_assert_uint_eq(f.finals, 2);
  ck_assert_uint_eq(moves, 1);
  end();
}
END_TEST

/* A shifted copy of rows within one buffer reads what it overwrites. */
START_TEST(a_source_that_meets_its_region_is_saved) {
  size_t moves;
  begin();
  figures("%x: f32[8]",
          "  %a: f32[7] = slice.Tensor(%x, 0, 0, 7)\n"
          "  %b: f32[7] = slice.Tensor(%x, 0, 1, 8)\n"
          "  %c: f32[7] = clone(%a)\n"
          "  %d: f32[7] = copy_(%b, %c)\n  return",
          FNZI_PLN_SOURCE_MEETS, &moves);
  ck_assert_uint_eq(moves, 1);
  end();
}
END_TEST

START_TEST(views_that_strides_cannot_say_are_gathered) {
  size_t moves;
  begin();
  figures("%x: f32[4,6]",
          "  %a: f32[6,4] = t(%x)\n  %b: f32[24] = reshape(%a, [24])\n"
          "  %c: f32[] = sum(%b)\n  return %c",
          FNZI_PLN_GATHER, &moves);
  ck_assert_uint_eq(moves, 1);
  end();
}
END_TEST

/* The same tensor is the base of an update and an operand beside it: as an operand all of it is
 * read, though of the result only the upper half is. Until then nothing may overwrite its lower
 * half. */
static const char *const reads_its_base[] = {
    "index_put(%b, [%i], %b)",    "scatter.src(%b, 0, %i, %b)",     "index_add(%b, 0, %i, %b)",
    "masked_scatter(%b, %m, %b)", "slice_scatter(%b, %b, 0, 0, 8)", "index_copy(%b, 0, %i, %b)"};

START_TEST(a_base_that_is_an_operand_too_is_read) {
  for (size_t k = 0; k < sizeof reads_its_base / sizeof *reads_its_base; k++) {
    char body[512];
    fnzi_pln_plan plan = {0};
    snprintf(body, sizeof body,
             "  %%b: f32[8] = exp(%%x)\n"
             "  %%c: f32[8] = slice_scatter(%%b, %%y, 0, 0, 4)\n"
             "  %%e: f32[8] = %s\n"
             "  %%t: f32[4] = slice_copy.Tensor(%%e, 0, 4, 8)\n"
             "  %%u: f32[4] = add.Tensor(%%t, %%y)\n  return %%c, %%u",
             reads_its_base[k]);
    begin();
    fnz_program *f = program_of(ctx, "%x: f32[8], %y: f32[4], %i: i64[8], %m: bool[8]", body);
    make_plan(f, &in_state, &plan);
    ck_assert_msg(count_rule(&plan, FNZI_PLN_BASE_ALIVE) == 1, "%s: no copy", reads_its_base[k]);
    fnzi_pln_free(ctx, &plan);
    fnz_program_destroy(f);
    end();
  }
}
END_TEST

/* --- Fixtures ----------------------------------------------------------------------------- */
/* Some programs are about sizes that no memory has: these are proved only. */
static bool fits(const fnz_program *f) {
  const fnzi_graph *g = fnzi_graph_main(f);
  size_t sum = 0, bytes;
  for (size_t v = 0; v < g->values.count; v++) {
    const fnz_geometry *geometry = g->values.data[v].geometry;
    int64_t low, high;
    bool known = geometry == NULL ||
                 (fnzi_extent(geometry, &low, &high) &&
                  fnzi_mul_size((size_t)high, fnzi_dtype(geometry->dtype)->bytes, &bytes) &&
                  fnzi_add_size(sum, bytes, &sum));
    if (!known || sum > MOST_BYTES)
      return false;
  }
  return true;
}

static size_t too_large;

static bool try_program(fnz_backend *cpu, const char *path, const fnz_program *f,
                        const fnzi_pln_policy *policy) {
  static exec e;
  fnzi_pln_plan plan = {0};
  if (fnzi_pln_make(ctx, f, policy, &plan) != FNZ_OK) {
    ck_assert_msg(fnz_last_error(ctx)->kind == FNZ_CLASS_UNSUPPORTED &&
                      strstr(fnz_last_error(ctx)->message, "symbols"),
                  "%s: %s", path, fnz_last_error(ctx)->message);
    return false;
  }
  ck_assert_msg(fnzi_pln_check(ctx, &plan) == FNZ_OK, "%s: %s", path, fnz_last_error(ctx)->message);
  if (fits(f)) {
    OK(ctx, exec_plan(ctx, cpu, &plan, &e));
    ck_assert_msg(e.message[0] == 0, "%s: %s", path, e.message);
  } else {
    too_large++;
  }
  fnzi_pln_free(ctx, &plan);
  return true;
}

/* By each policy; where memory is watched, that takes too long, and each program has one. */
static size_t try_file(fnz_backend *cpu, const char *path) {
  static const fnzi_pln_policy policies[POLICIES] = {{.state = true, .channels_last = true},
                                                     {0},
                                                     {.trivial = true},
                                                     {.state = true, .aliasing = true}};
  fnz_program *p = NULL, *f = NULL;
  size_t planned = 0;
  if (fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &p) == FNZ_OK &&
      fnz_functionalize(ctx, p, NULL, &f) == FNZ_OK)
    for (size_t i = 0; i < POLICIES; i++)
      if (!FNZI_WATCHED || strlen(path) % POLICIES == i)
        planned |= try_program(cpu, path, f, &policies[i]);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  return planned;
}

static size_t try_files(fnz_backend *cpu, const char *pattern) {
  glob_t found;
  size_t planned = 0;
  if (glob(pattern, 0, NULL, &found) != 0)
    return 0;
  for (size_t i = 0; i < found.gl_pathc; i++)
    planned += try_file(cpu, found.gl_pathv[i]);
  globfree(&found);
  return planned;
}

START_TEST(fixtures_are_planned) {
  fnz_backend *cpu;
  begin();
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  ck_assert_uint_gt(try_files(cpu, FNZ_SOURCE_DIR "/fixtures/*/*.fnz"), 150);
  ck_assert_uint_gt(try_files(cpu, FNZ_SOURCE_DIR "/fixtures/pt2/*.pt2"), 3);
  ck_assert_uint_le(too_large, 8 * POLICIES);
  fnz_backend_destroy(cpu);
  end();
}
END_TEST

/* --- The checker -------------------------------------------------------------------------- */
static void open_chain(fnz_program **f, fnzi_pln_plan *plan) {
  *f = functional("%x: f32[4,4], %y: f32[4]",
                  "  %a: f32[4] = exp(%y)\n  %b: f32[4] = sin(%a)\n  %e: f32[4] = cos(%a)\n"
                  "  %r: f32[4] = select.int(%x, 0, 1)\n  %c: f32[4] = add_.Tensor(%r, %a)\n"
                  "  %d: f32[4] = mul.Tensor(%b, %a)\n"
                  "  %g: f32[4] = mul.Tensor(%d, %e)\n  return %g");
  make_plan(*f, &in_state, plan);
}

START_TEST(spoiled_plans_are_refused) {
  fnz_program *f;
  fnzi_pln_plan plan = {0};
  begin();
  open_chain(&f, &plan);
  size_t refused = 0, tried = 0;
  for (size_t s = 0; s < plan.steps.count; s++) { /* without a step */
    fnzi_pln_plan less = plan;
    fnzi_pln_step steps[32];
    memcpy(steps, plan.steps.data, plan.steps.count * sizeof *steps);
    memmove(steps + s, steps + s + 1, (plan.steps.count - s - 1) * sizeof *steps);
    less.steps.data = steps;
    less.steps.count--;
    tried++;
    refused += fnzi_pln_check(ctx, &less) == FNZ_INTERNAL;
  }
  for (size_t v = 0; v < plan.nvalues; v++) { /* with a value in another one's memory */
    fnzi_pln_location *location = &plan.locations[v], saved = *location;
    uint32_t b = 0;
    while (b < plan.buffers.count && plan.buffers.data[b].kind != FNZI_PLN_CONST)
      b++;
    if (location->buffer == FNZI_PLN_NONE || location->buffer == b)
      continue;
    location->buffer = b;
    tried++;
    refused += fnzi_pln_check(ctx, &plan) == FNZ_INTERNAL;
    *location = saved;
  }
  ck_assert_uint_gt(tried, 6);
  ck_assert_uint_eq(refused, tried);
  fnzi_pln_free(ctx, &plan);
  fnz_program_destroy(f);
  end();
}
END_TEST

/* All temporary memory at one offset. */
START_TEST(an_arena_that_overlaps_is_refused) {
  fnz_program *f;
  fnzi_pln_plan plan = {0};
  begin();
  open_chain(&f, &plan);
  size_t temps = 0;
  for (size_t b = 0; b < plan.buffers.count; b++) {
    temps += plan.buffers.data[b].kind == FNZI_PLN_TEMP;
    plan.buffers.data[b].offset = 0;
  }
  ck_assert_uint_gt(temps, 1);
  FAILS(ctx, "INTERNAL", fnzi_pln_check(ctx, &plan));
  fnzi_pln_free(ctx, &plan);
  fnz_program_destroy(f);
  end();
}
END_TEST

RUN_SUITE("plan", a_token_is_written_into_its_cache, rows_are_changed_where_they_lie,
          writes_through_chains_of_views_stay_in_place, what_may_not_be_written_is_copied_once,
          pieces_are_made_where_they_are_joined, moves_at_the_end_are_one,
          a_source_that_meets_its_region_is_saved, a_source_within_the_copy_of_its_base_is_saved,
          views_that_strides_cannot_say_are_gathered, a_base_that_is_an_operand_too_is_read,
          fixtures_are_planned, spoiled_plans_are_refused, an_arena_that_overlaps_is_refused)
