/* checks: 7
 * regions_test.c - the pass on programs with bodies: they mean the same in every dialect and form,
 * functional programs stay as they are, equal bodies are shared, and values that no carried value
 * can determine are refused by name. */
#include "program/program.h"
#include "soak/regions.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>

#include <stdio.h>

static fnz_status read_fixture(fnz_context *c, const char *name, fnz_program **out) {
  char path[512];
  fnz_buffer text = {0};
  *out = NULL;
  snprintf(path, sizeof path, "%s/fixtures/regions/%s.fnz", FNZ_SOURCE_DIR, name);
  fnz_status status = fnz_file_read(c, path, &text);
  if (status == FNZ_OK)
    status = fnz_program_read(c, text.data, text.size, FNZ_FORMAT_TEXT, out);
  fnz_buffer_free(c, &text);
  return status;
}

static fnz_program *fixture(const char *name) {
  fnz_program *p;
  OK(ctx, read_fixture(ctx, name, &p));
  return p;
}

static void same_text(const char *name, const fnz_program *a, const fnz_program *b) {
  fnz_buffer x = {0}, y = {0};
  OK(ctx, fnz_program_write(ctx, a, FNZ_FORMAT_TEXT, &x));
  OK(ctx, fnz_program_write(ctx, b, FNZ_FORMAT_TEXT, &y));
  size_t at = 0;
  while (at < x.size && at < y.size && x.data[at] == y.data[at])
    at++;
  ck_assert_msg(at == x.size && at == y.size, "%s: there is %.300s\nand %.300s", name, x.data + at,
                y.data + at);
  fnz_buffer_free(ctx, &x);
  fnz_buffer_free(ctx, &y);
}

/* --- what they mean --------------------------------------------------------------------------- */
static const char *const fixtures[] = {
    "write_in_one_branch", "write_through_overlap",  "result_views_operand", "loop_writes_captured",
    "loop_writes_carried", "map_writes_slices",      "map_becomes_scan",     "scan_writes_captured",
    "gradients_inlined",   "write_in_nested_region", "effects_in_order",     "effects_in_branches",
    "bodies_are_shared",   "combine_writes_local",   "loop_carries_number",  "results_share_memory",
    "loop_swaps",
};

static void means_the_same(const char *name, fnz_views views, fnz_state state) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *p = fixture(name), *f;
  options.views = views;
  options.state = state;
  OK(ctx, fnz_functionalize(ctx, p, &options, &f));
  OK(ctx, fnz_verify(ctx, p, f, NULL, WITH_TRIALS(4), NULL));
  fnz_program_destroy(f);
  fnz_program_destroy(p);
}

START_TEST(fixtures_mean_the_same_in_every_dialect) {
  begin();
  for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++) {
    means_the_same(fixtures[i], FNZ_VIEWS_COPY, FNZ_STATE_OUTPUTS);
    means_the_same(fixtures[i], FNZ_VIEWS_KEEP, FNZ_STATE_OUTPUTS);
    means_the_same(fixtures[i], FNZ_VIEWS_STRIDED, FNZ_STATE_OUTPUTS);
    means_the_same(fixtures[i], FNZ_VIEWS_COPY, FNZ_STATE_EPILOGUE);
  }
  end();
}
END_TEST

/* --- what they look like ---------------------------------------------------------------------- */
static void goes_through_cbor(const char *name, const fnz_program *f) {
  fnz_buffer bytes = {0};
  fnz_program *again;
  OK(ctx, fnz_program_write(ctx, f, FNZ_FORMAT_CBOR, &bytes));
  OK(ctx, fnz_program_read(ctx, bytes.data, bytes.size, FNZ_FORMAT_CBOR, &again));
  same_text(name, f, again);
  fnz_program_destroy(again);
  bytes.size = 0;
  OK(ctx, fnz_program_write(ctx, f, FNZ_FORMAT_DOT, &bytes));
  ck_assert_uint_gt(bytes.size, 0);
  fnz_buffer_free(ctx, &bytes);
}

START_TEST(functional_programs_stay_as_they_are) {
  begin();
  for (size_t i = 0; i < sizeof fixtures / sizeof *fixtures; i++) {
    fnz_program *p = fixture(fixtures[i]), *f, *again;
    OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
    OK(ctx, fnz_functionalize(ctx, f, NULL, &again));
    same_text(fixtures[i], f, again);
    goes_through_cbor(fixtures[i], f);
    fnz_program_destroy(again);
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

START_TEST(figures_count_all_graphs) {
  begin();
  fnz_program *p = fixture("write_in_nested_region"), *f;
  fnz_stats before, after;
  OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
  before = fnz_program_stats(p);
  after = fnz_program_stats(f);
  ck_assert_uint_eq(before.graphs, 5);
  ck_assert_uint_eq(before.views, 1);
  ck_assert_uint_eq(before.mutations, 1);
  ck_assert_uint_eq(after.graphs, 5);
  ck_assert_uint_eq(after.mutations, 0);
  ck_assert_uint_eq(after.views, 0);
  ck_assert_uint_eq(after.mutated, 1);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* --- what is refused -------------------------------------------------------------------------- */
START_TEST(refusals_name_node_and_operand) {
  static const char *const rows[][3] = {
      {"result_may_view_operand", "add_.Tensor at m.py:4", "clone() what its body returns"},
      {"loop_writes_carried_read", "", "give the loop a clone()"},
      {"write_under_autocast", "addmm_", "disable autocast"},
      {"condition_writes", "while_loop", "operand x is written by the condition"},
      {"scan_writes_slices", "scan", "operand x is cut into slices"},
      {"body_moves_input", "graph body", "input x gets other sizes"},
      {"combine_writes", "associative_scan", "operand x is written"},
      {"loop_swaps_and_writes", "zero_", "may share or not"},
  };
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fnz_program *p = fixture(rows[i][0]), *f;
    FAILS(ctx, "UNSUPPORTED", fnz_functionalize(ctx, p, NULL, &f));
    ck_assert_ptr_null(f);
    ck_assert_msg(strstr(fnz_last_error(ctx)->where, rows[i][1]) != NULL, "%s: %s", rows[i][0],
                  fnz_last_error(ctx)->where);
    ck_assert_msg(strstr(fnz_last_error(ctx)->message, rows[i][2]) != NULL, "%s: %s", rows[i][0],
                  fnz_last_error(ctx)->message);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* `depth` bodies, each called by the one before. */
static fnz_status nest(unsigned depth) {
  static choices c;
  static fnzi_random_counts counts;
  fnz_buffer text = {0};
  fnz_program *p = NULL, *f = NULL;
  OK(ctx, fnzi_put_text(ctx, &text,
                        "fnz 1\nprogram(%x: f32[2]) {\n"
                        "  %y: f32[2] = higher_order.strict_mode(@g1, [%x])\n  return %y\n}\n"));
  for (unsigned k = 1; k < depth; k++)
    OK(ctx, fnzi_printf(ctx, &text,
                        "graph g%u(%%x: f32[2]) {\n  %%y: f32[2] = "
                        "higher_order.strict_mode(@g%u, [%%x])\n  return %%y\n}\n",
                        k, k + 1));
  OK(ctx, fnzi_printf(ctx, &text,
                      "graph g%u(%%x: f32[2]) {\n  %%a: f32[2] = add_.Tensor(%%x, 1)\n"
                      "  %%b: f32[2] = clone(%%a)\n  return %%b\n}\n",
                      depth));
  OK(ctx, fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &p));
  fnz_status status = fnz_functionalize(ctx, p, NULL, &f);
  if (status == FNZ_OK)
    OK(ctx, fnz_program_verify(ctx, f));
  fnz_buffer_free(ctx, &text);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  return status;
}

START_TEST(nesting_has_an_end) {
  begin();
  OK(ctx, nest(FNZI_MAX_NESTING - 1));
  FAILS(ctx, "LIMIT", nest(FNZI_MAX_NESTING + 2));
  end();
}
END_TEST

/* --- memory ----------------------------------------------------------------------------------- */
static fnz_status functionalize_fixture(fnz_context *c, const void *name) {
  fnz_program *p, *f = NULL;
  fnz_status status = read_fixture(c, name, &p);
  if (status == FNZ_OK)
    status = fnz_functionalize(c, p, NULL, &f);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  return status;
}

START_TEST(out_of_memory) {
  static const char *const names[] = {"write_in_nested_region", "map_becomes_scan",
                                      "effects_in_branches", "bodies_are_shared",
                                      "gradients_inlined"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    ck_assert_uint_gt(each_fault(functionalize_fixture, names[i]), 50);
}
END_TEST

/* --- random programs -------------------------------------------------------------------------- */
/* A functional program stays as it is, in the usual dialect. */
static void stays(const fnz_program *f, unsigned seed) {
  fnz_program *again;
  char name[32];
  snprintf(name, sizeof name, "seed %u", seed);
  OK(ctx, fnz_functionalize(ctx, f, NULL, &again));
  same_text(name, f, again);
  fnz_program_destroy(again);
}

/* Programs that overlap, or write before they read, may be refused; nothing may differ. */
static bool random_program_is_right(unsigned seed) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  static choices c;
  static fnzi_random_counts counts;
  fnz_buffer text = {0};
  fnz_program *p, *f = NULL;
  choices_start(&c, 1, seed);
  OK(ctx, fnzi_regions_text(ctx, &c, &counts, &text));
  fnz_status status = fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &p);
  ck_assert_msg(status == FNZ_OK, "%.*s%s", (int)text.size, text.data,
                fnz_last_error(ctx)->message);
  options.views = seed % 4 == 1   ? FNZ_VIEWS_KEEP
                  : seed % 4 == 2 ? FNZ_VIEWS_STRIDED
                                  : FNZ_VIEWS_COPY;
  options.state = seed % 8 == 7   ? FNZ_STATE_IO
                  : seed % 4 == 3 ? FNZ_STATE_EPILOGUE
                                  : FNZ_STATE_OUTPUTS;
  status = fnz_functionalize(ctx, p, &options, &f);
  if (status == FNZ_OK)
    status = fnz_verify(ctx, p, f, NULL, WITH_TRIALS(3), NULL);
  if (status == FNZ_OK && seed % 4 == 0)
    stays(f, seed);
  bool is_fine = status == FNZ_OK || status == FNZ_UNSUPPORTED ||
                 fnz_last_error(ctx)->kind == FNZ_CLASS_OVERLAP;
  ck_assert_msg(is_fine, "seed %u: %s: %s\n%.*s", seed, fnz_last_error(ctx)->where,
                fnz_last_error(ctx)->message, (int)text.size, text.data);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  fnz_buffer_free(ctx, &text);
  return status == FNZ_OK;
}

START_TEST(random_regions_mean_the_same) {
  const char *wanted = getenv("FNZ_PROGRAMS");
  const unsigned count = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 400;
  unsigned equal = 0;
  begin();
  for (unsigned seed = 1; seed <= count; seed++)
    equal += random_program_is_right(seed);
  ck_assert_uint_gt(equal, count / 2);
  end();
}
END_TEST

RUN_SUITE("regions", fixtures_mean_the_same_in_every_dialect, functional_programs_stay_as_they_are,
          figures_count_all_graphs, refusals_name_node_and_operand, nesting_has_an_end,
          out_of_memory, random_regions_mean_the_same)
