/* checks: 5
 * verify_weights_test.c - two programs that differ in the numbers of their weights only: which, in
 * how many elements and by how much. The pair of files is PyTorch 2.15's, of one module with two
 * sets of buffers. */
#include "tests/help/test.h"

#include <fnz/fnz.h>

#define PT2 FNZ_SOURCE_DIR "/fixtures/pt2/"

static fnz_context *ctx;
static fnz_program *a, *b;

static fnz_program *read_program(const char *path) {
  fnz_buffer file;
  fnz_program *p;
  OK(ctx, fnz_file_read(ctx, path, &file));
  OK(ctx, fnz_program_read_buffer(ctx, &file, FNZ_FORMAT_AUTO, &p));
  return p;
}

static void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  a = read_program(PT2 "weights_a.pt2");
  b = read_program(PT2 "weights_b.pt2");
}

static void end(void) {
  fnz_program_destroy(a);
  fnz_program_destroy(b);
  fnz_context_destroy(ctx);
}

START_TEST(weights_that_differ_are_named) {
  static const char *const says[] = {
      "9 of 10 weights differ, the programs do not",
      ": the_half: 1 of 3 elements, up to 0.5 apart; ",
      "; brain: 2 of 3 elements, up to 3 apart; ",
      "; the_double: 1 of 3 elements, up to 9.09495e-13 apart; ",
      "; tiny: 1 of 3 elements, up to 255 apart; ",
      "; byte: 1 of 3 elements, up to 1 apart; ",
      "; flag: 1 of 3 elements, up to 1 apart; ",
      "; pair: 1 of 3 elements, up to 5 apart; ",
      "; nan: 1 of 3 elements, up to inf apart; and others",
  };
  fnz_verify_report seen = FNZ_VERIFY_REPORT_INIT;
  begin();
  ck_assert_int_eq(fnz_verify(ctx, a, b, NULL, NULL, &seen), FNZ_DIFFERENT);
  for (size_t i = 0; i < sizeof says / sizeof *says; i++)
    ck_assert_msg(strstr(fnz_last_error(ctx)->message, says[i]) != NULL, "%s",
                  fnz_last_error(ctx)->message);
  ck_assert_uint_eq(seen.weights, 10);
  ck_assert_uint_eq(seen.weights_differing, 9);
  ck_assert_uint_eq(seen.weights_without, 0);
  end();
}
END_TEST

START_TEST(weights_are_ignored_on_request) {
  const fnz_verify_options options = {sizeof options, 2, true};
  fnz_verify_report seen = FNZ_VERIFY_REPORT_INIT;
  begin();
  OK(ctx, fnz_verify(ctx, a, b, NULL, &options, &seen));
  ck_assert_uint_eq(seen.weights, 0);
  ck_assert_int_eq(seen.trials, 2);
  end();
}
END_TEST

/* A tensor that lies in its memory by columns is compared element by element. */
START_TEST(written_weights_are_equal) {
  static const fnz_format formats[] = {FNZ_FORMAT_CBOR, FNZ_FORMAT_PT2};
  begin();
  for (size_t i = 0; i < 2; i++) {
    fnz_buffer out = {NULL, 0, 0};
    fnz_program *again;
    fnz_verify_report seen = FNZ_VERIFY_REPORT_INIT;
    OK(ctx, fnz_program_write(ctx, a, formats[i], &out));
    OK(ctx, fnz_program_read(ctx, out.data, out.size, formats[i], &again));
    OK(ctx, fnz_verify(ctx, a, again, NULL, WITH_TRIALS(1), &seen));
    ck_assert_uint_eq(seen.weights, 10);
    ck_assert_int_eq(fnz_verify(ctx, b, again, NULL, WITH_TRIALS(1), NULL), FNZ_DIFFERENT);
    fnz_program_destroy(again);
    fnz_buffer_free(ctx, &out);
  }
  end();
}
END_TEST

START_TEST(weights_without_data_are_counted) {
  fnz_buffer out = {NULL, 0, 0};
  fnz_program *again;
  fnz_verify_report seen = FNZ_VERIFY_REPORT_INIT;
  begin();
  OK(ctx, fnz_program_write(ctx, a, FNZ_FORMAT_TEXT, &out));
  OK(ctx, fnz_program_read(ctx, out.data, out.size, FNZ_FORMAT_TEXT, &again));
  OK(ctx, fnz_verify(ctx, a, again, NULL, WITH_TRIALS(1), &seen));
  ck_assert_uint_eq(seen.weights, 0);
  ck_assert_uint_eq(seen.weights_without, 10);
  fnz_program_destroy(again);
  fnz_buffer_free(ctx, &out);
  end();
}
END_TEST

/* Computations are compared first: the weights of another program do not matter. */
START_TEST(programs_that_differ_say_so) {
  static const char one[] = "fnz 1 program(%x: f32[1]) { %y: f32[1] = neg(%x) return %y }";
  static const char other[] = "fnz 1 program(%x: f32[1]) { %y: f32[1] = exp(%x) return %y }";
  fnz_program *p, *q;
  fnz_verify_report seen = FNZ_VERIFY_REPORT_INIT;
  begin();
  OK(ctx, fnz_program_read(ctx, one, sizeof one - 1, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_program_read(ctx, other, sizeof other - 1, FNZ_FORMAT_TEXT, &q));
  ck_assert_int_eq(fnz_verify(ctx, p, q, NULL, NULL, &seen), FNZ_DIFFERENT);
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "output.0 differs at element 0"));
  fnz_program_destroy(p);
  fnz_program_destroy(q);
  end();
}
END_TEST

RUN_SUITE("verify_weights", weights_that_differ_are_named, weights_are_ignored_on_request,
          written_weights_are_equal, weights_without_data_are_counted, programs_that_differ_say_so)
