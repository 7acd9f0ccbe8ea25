/* checks: 10
 * soak_test.c - what random programs are drawn, judged and made smaller with. */
#include "soak/programs.h"
#include "soak/same.h"
#include "soak/soak.h"
#include "soak/worker.h"
#include "tests/help/test.h"

/* --- memory ----------------------------------------------------------------------------------- */
static bool holds(const unsigned char *data, size_t bytes, unsigned char byte) {
  size_t i = 0;
  while (i < bytes && data[i] == byte)
    i++;
  return i == bytes;
}

/* Blocks of all sizes keep what is in them while others come, grow and go. */
START_TEST(blocks_keep_their_content) {
  enum { BLOCKS = 200 };
  static struct {
    unsigned char *data;
    size_t bytes;
  } blocks[BLOCKS];
  static choices c;
  fnzi_heap heap;
  fnzi_heap_init(&heap);
  const fnz_allocator a = fnzi_heap_allocator(&heap);
  choices_start(&c, 1, 1);
  for (size_t n = 0; n < 20000; n++) {
    size_t k = splitmix64(&c.state) % BLOCKS, size = 1 + splitmix64(&c.state) % 300;
    size_t bytes = n % 3 == 0 ? 0 : n % 50 == 0 ? 700 * size : size, old = blocks[k].bytes;
    ck_assert(holds(blocks[k].data, old, (unsigned char)k));
    blocks[k].data = a.resize(a.user, blocks[k].data, old, bytes);
    ck_assert_int_eq(blocks[k].data == NULL, bytes == 0);
    ck_assert_uint_eq((uintptr_t)blocks[k].data % 16, 0);
    ck_assert(holds(blocks[k].data, old < bytes ? old : bytes, (unsigned char)k));
    if (bytes)
      memset(blocks[k].data, (int)k, bytes);
    blocks[k].bytes = bytes;
  }
  for (size_t k = 0; k < BLOCKS; k++)
    a.resize(a.user, blocks[k].data, blocks[k].bytes, 0);
  fnzi_heap_free(&heap);
}
END_TEST

/* --- comparing -------------------------------------------------------------------------------- */
static fnz_program *read_text(fnz_context *ctx, const char *text) {
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &p));
  return p;
}

#define PROGRAM(type, op, args, returned)                                                          \
  "fnz 1 program(%x: f32[4], %y: f32[4]) { %v: " type " = " op "(" args ") return " returned " }"

START_TEST(programs_differ_in_every_part) {
  static const char *const others[] = {
      PROGRAM("f32[2]", "slice.Tensor", "%x, 0, 1, 4, 2", "%v"), /* an argument */
      PROGRAM("f32[2]", "slice_copy.Tensor", "%x, 0, 0, 4, 2", "%v"),
      PROGRAM("f32[2]", "slice.Tensor", "%y, 0, 0, 4, 2", "%v"),
      PROGRAM("f32[2] stride(2)", "slice.Tensor", "%x, 0, 0, 4, 2", "%v"),
      PROGRAM("f32[2]", "slice.Tensor", "%x, 0, 0, 4, 2", "%x"),
      PROGRAM("f32[2]", "slice.Tensor", "%x, 0, 0, 4, 2", "%v, %v"),
  };
  fnz_context *ctx;
  size_t where;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p = read_text(ctx, PROGRAM("f32[2]", "slice.Tensor", "%x, 0, 0, 4, 2", "%v"));
  fnz_program *again = read_text(ctx, PROGRAM("f32[2]", "slice.Tensor", "%x, 0, 0, 4, 2", "%v"));
  ck_assert(fnzi_same_program(p, again, &where));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    fnz_program *other = read_text(ctx, others[i]);
    ck_assert_msg(!fnzi_same_program(p, other, &where), "%s", others[i]);
    fnz_program_destroy(other);
  }
  fnz_program_destroy(again);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- judging ---------------------------------------------------------------------------------- */
/* A result of the original that another program does not have. */
START_TEST(results_are_held_against_each_other) {
  const fnzi_run_options options = {.seed = 1};
  fnz_context *ctx;
  fnz_backend *hash;
  fnzi_ver_results r;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_hash_backend_create(ctx, 1, false, &hash));
  fnz_program *p = read_text(ctx, PROGRAM("f32[4]", "relu", "%x", "%v, %y"));
  fnz_program *same = read_text(ctx, PROGRAM("f32[4]", "relu", "%x", "%v, %y"));
  fnz_program *swapped = read_text(ctx, PROGRAM("f32[4]", "relu", "%x", "%y, %v"));
  fnz_program *fewer = read_text(ctx, PROGRAM("f32[4]", "relu", "%x", "%v"));
  fnz_program *more = read_text(ctx, PROGRAM("f32[4]", "relu", "%x", "%v, %y, %y"));
  fnzi_ver_results_init(&r, ctx);
  fnzi_ver_results_start(&r, p, false);
  OK(ctx, fnzi_ver_results_keep(&r, hash, &options));
  FAILS(ctx, "DIFFERENT", fnzi_ver_results_meet(&r, swapped, hash, &options));
  FAILS(ctx, "DIFFERENT", fnzi_ver_results_meet(&r, fewer, hash, &options));
  FAILS(ctx, "DIFFERENT", fnzi_ver_results_meet(&r, more, hash, &options));
  OK(ctx, fnzi_ver_results_meet(&r, same, hash, &options));
  fnzi_ver_results_free(&r);
  fnz_program_destroy(more);
  fnz_program_destroy(fewer);
  fnz_program_destroy(swapped);
  fnz_program_destroy(same);
  fnz_program_destroy(p);
  fnz_backend_destroy(hash);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- many of them ----------------------------------------------------------------------------- */
/* Threads draw the same programs as one alone. */
START_TEST(figures_do_not_depend_on_jobs) {
  static fnzi_soak_report one, three;
  fnzi_soak_options options = {.seed = 11, .first = 5, .count = 300, .checks = FNZI_CHECK_ALL};
  ck_assert_int_eq(fnzi_soak_run(&options, &one), FNZ_OK);
  options.jobs = 3;
  ck_assert_int_eq(fnzi_soak_run(&options, &three), FNZ_OK);
  ck_assert_mem_eq(&one, &three, sizeof one);
  ck_assert_uint_eq(one.drawn.programs, 300);
  /* One in eight has all checks, of the others half each dialect; one in four has the engine's. */
  ck_assert_uint_eq(one.thorough, 38);
  ck_assert_uint_eq(one.engine, 75);
  ck_assert_uint_eq(one.keep, 150);
  ck_assert_uint_eq(one.strided, 150 + 38);
}
END_TEST

/* If the options ask for one dialect, each program is checked in it. */
START_TEST(one_dialect_is_checked_of_all) {
  static fnzi_soak_report r;
  const fnzi_soak_options options = {.seed = 11, .count = 30, .checks = FNZI_CHECK_KEEP};
  ck_assert_int_eq(fnzi_soak_run(&options, &r), FNZ_OK);
  ck_assert_uint_eq(r.keep, 30);
  ck_assert_uint_eq(r.strided + r.thorough, 0);
}
END_TEST

/* Sizes and data are drawn after the pass has been: it is right at them or says that it is not for
 * them. */
START_TEST(symbolic_programs_are_equal) {
  static fnzi_soak_report one, two;
  fnzi_soak_options options = {.seed = 11, .count = 150, .kind = FNZI_SOAK_SYMBOLIC};
  ck_assert_int_eq(fnzi_soak_run(&options, &one), FNZ_OK);
  options.jobs = 2;
  ck_assert_int_eq(fnzi_soak_run(&options, &two), FNZ_OK);
  ck_assert_mem_eq(&one, &two, sizeof one);
  ck_assert_uint_eq(one.drawn.programs, 150);
  ck_assert_uint_eq(one.verdicts[FNZI_VERDICT_WRONG], 0);
  ck_assert_uint_gt(one.verdicts[FNZI_VERDICT_EQUAL], 135);
  ck_assert_uint_gt(one.draws[FNZI_VERDICT_EQUAL], 1000);
  ck_assert_uint_gt(one.draws[FNZI_VERDICT_EQUAL], 20 * one.draws[FNZI_VERDICT_BEYOND]);
}
END_TEST

/* Bodies and state, by the engine too. */
START_TEST(programs_with_bodies_are_equal) {
  static fnzi_soak_report r;
  const fnzi_soak_options options = {
      .seed = 11, .count = 300, .checks = FNZI_CHECK_ALL, .kind = FNZI_SOAK_REGIONS};
  ck_assert_int_eq(fnzi_soak_run(&options, &r), FNZ_OK);
  ck_assert_uint_eq(r.drawn.programs, 300);
  ck_assert_uint_eq(r.verdicts[FNZI_VERDICT_WRONG], 0);
  ck_assert_uint_gt(r.verdicts[FNZI_VERDICT_EQUAL], 150);
  r.drawn.programs = FNZI_SOAK_ENOUGH;
  ck_assert_ptr_null(fnzi_soak_gap(&r, FNZI_CHECK_ALL));
}
END_TEST

START_TEST(buckets_are_powers_of_two) {
  static const struct {
    uint64_t n;
    const char *name;
  } rows[] = {{0, "0"},        {1, "1"},      {2, "2"},          {3, "3-4"},
              {4, "3-4"},      {5, "5-8"},    {8, "5-8"},        {9, "9-16"},
              {128, "65-128"}, {129, "129-"}, {1u << 20, "129-"}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    ck_assert_str_eq(fnzi_random_bucket_name(fnzi_random_bucket(rows[i].n)), rows[i].name);
}
END_TEST

/* A feature that a large run never drew has a name; a small one may lack anything. */
START_TEST(gaps_are_named) {
  static fnzi_soak_report r;
  const fnzi_soak_options options = {.seed = 1, .count = 100};
  ck_assert_int_eq(fnzi_soak_run(&options, &r), FNZ_OK);
  ck_assert_ptr_null(fnzi_soak_gap(&r, FNZI_CHECK_ALL));
  for (size_t k = 0; k < FNZI_RANDOM_MOST_OPS; k++)
    r.drawn.used[k]++;
  r.drawn.programs = FNZI_SOAK_ENOUGH;
  r.drawn.used[3] = 0;
  ck_assert_str_eq(fnzi_soak_gap(&r, FNZI_CHECK_ALL), fnzi_random_op(3));
  r.drawn.used[3] = 1;
  r.drawn.constants = 0;
  ck_assert_str_eq(fnzi_soak_gap(&r, FNZI_CHECK_ALL),
                   "inputs that share memory, repeat elements or are constants");
  r.drawn.constants = 1;
  r.drawn.empty = 0;
  ck_assert_str_eq(fnzi_soak_gap(&r, FNZI_CHECK_ALL), "tensors without elements or dimensions");
  r.kind = FNZI_SOAK_SYMBOLIC;
  r.draws[FNZI_VERDICT_EQUAL] = 0;
  ck_assert_str_eq(fnzi_soak_gap(&r, FNZI_CHECK_ALL), "sizes at which programs are equal");
  r.draws[FNZI_VERDICT_EQUAL] = 1;
  ck_assert_ptr_null(fnzi_soak_gap(&r, FNZI_CHECK_ALL));
}
END_TEST

/* A run against one dialect checks no program thoroughly, and lacks nothing. */
START_TEST(one_dialect_has_no_thorough_programs) {
  static fnzi_soak_report r;
  memset(&r, 1, sizeof r);
  r.thorough = 0;
  r.kind = FNZI_SOAK_PLAIN;
  ck_assert_ptr_null(fnzi_soak_gap(&r, FNZI_CHECK_STRIDED));
  ck_assert_str_eq(fnzi_soak_gap(&r, FNZI_CHECK_ALL), "programs that are checked thoroughly");
}
END_TEST

RUN_SUITE("soak", blocks_keep_their_content, programs_differ_in_every_part,
          results_are_held_against_each_other, figures_do_not_depend_on_jobs,
          one_dialect_is_checked_of_all, symbolic_programs_are_equal,
          programs_with_bodies_are_equal, buckets_are_powers_of_two, gaps_are_named,
          one_dialect_has_no_thorough_programs)
