/* checks: 19
 * sizes_test.c - programs with symbolic sizes: functionalized once, right at every size; sizes that
 * they are not for are refused with the reason. */
#include "program/shapes/sizes.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>

#include <stdio.h>

static fnz_context *ctx;
static fnz_backend *cpu;

static void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
}

static void end(void) {
  fnz_backend_destroy(cpu);
  fnz_context_destroy(ctx);
}

static fnz_program *parse(const char *text) {
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_AUTO, &p));
  return p;
}

static fnz_program *functional_form(const fnz_program *p) {
  fnz_program *made;
  OK(ctx, fnz_functionalize(ctx, p, NULL, &made));
  return made;
}

static char *text_of(const fnz_program *p, fnz_buffer *out) {
  out->size = 0;
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, out));
  return out->data;
}

/* --- against PyTorch -------------------------------------------------------------------------- */
static bool read_named(const char *name, const char *which, const char *kind, fnz_arrays **out) {
  char path[512];
  fnz_buffer file = {NULL, 0, 0};
  snprintf(path, sizeof path, FNZ_SOURCE_DIR "/fixtures/symbolic/sizes/%s.%s.%s.safetensors", name,
           which, kind);
  if (fnz_file_read(ctx, path, &file) != FNZ_OK)
    return false;
  OK(ctx, fnz_arrays_read_safetensors(ctx, file.data, file.size, out));
  fnz_buffer_free(ctx, &file);
  return true;
}

static bool read_arrays(const char *name, int k, const char *kind, fnz_arrays **out) {
  char which[16];
  snprintf(which, sizeof which, "%d", k);
  return read_named(name, which, kind, out);
}

/* The run's results equal PyTorch's; inputs that were not written are as they were. */
static void same_arrays(const char *what, const fnz_arrays *got, const fnz_arrays *given,
                        const fnz_arrays *wanted) {
  for (size_t i = 0; i < fnz_arrays_count(wanted); i++) {
    const fnz_array *w = fnz_arrays_at(wanted, i), *g = fnz_arrays_find(got, w->name);
    if (!g && strncmp(w->name, "input.", 6) == 0)
      g = fnz_arrays_find(given, w->name + 6);
    ck_assert_msg(g && g->rank == w->rank && g->dtype == w->dtype, "%s: %s", what, w->name);
    size_t bytes = fnz_dtype_get_info(w->dtype)->bytes;
    for (uint32_t d = 0; d < w->rank; d++) {
      ck_assert_msg(g->sizes[d] == w->sizes[d], "%s: %s", what, w->name);
      bytes *= (size_t)w->sizes[d];
    }
    ck_assert_msg(bytes == 0 || memcmp(g->data, w->data, bytes) == 0, "%s: %s", what, w->name);
  }
}

static fnz_program *read_file(const char *name) {
  char path[512];
  fnz_buffer file = {NULL, 0, 0};
  fnz_program *p;
  snprintf(path, sizeof path, FNZ_SOURCE_DIR "/fixtures/symbolic/sizes/%s.pt2", name);
  OK(ctx, fnz_file_read(ctx, path, &file));
  OK(ctx, fnz_program_read(ctx, file.data, file.size, FNZ_FORMAT_AUTO, &p));
  fnz_buffer_free(ctx, &file);
  return p;
}

static size_t check_file(const char *name) {
  fnz_arrays *given, *wanted, *got;
  fnz_verify_report seen = FNZ_VERIFY_REPORT_INIT;
  int k = 0;
  fnz_program *p = read_file(name), *made = functional_form(p);
  for (; read_arrays(name, k, "in", &given); k++) {
    ck_assert(read_arrays(name, k, "out", &wanted));
    OK(ctx, fnz_arrays_create(ctx, &got));
    OK(ctx, fnz_run(ctx, made, cpu, given, NULL, got));
    same_arrays(name, got, given, wanted);
    fnz_arrays_destroy(got);
    OK(ctx, fnz_arrays_create(ctx, &got));
    OK(ctx, fnz_run(ctx, p, cpu, given, AS_ORIGINAL, got));
    same_arrays(name, got, given, wanted);
    OK(ctx, fnz_verify(ctx, p, made, given, WITH_TRIALS(1), &seen));
    ck_assert_msg(seen.numbers, "%s: %s", name, seen.no_numbers);
    fnz_arrays_destroy(got);
    fnz_arrays_destroy(wanted);
    fnz_arrays_destroy(given);
  }
  OK(ctx, fnz_verify(ctx, p, made, NULL, WITH_TRIALS(1), NULL));
  fnz_program_destroy(p);
  fnz_program_destroy(made);
  return (size_t)k;
}

START_TEST(one_program_runs_at_every_size) {
  begin();
  size_t runs = check_file("item_two") + check_file("quarter") + check_file("nonzero_n") +
                check_file("merge_dims") + check_file("item_narrow") + check_file("turned") +
                check_file("bins_at_least") + check_file("first_of_rows") +
                check_file("first_turned");
  ck_assert_uint_ge(runs, 29);
  end();
}
END_TEST

START_TEST(numbers_that_are_floats) {
  begin();
  ck_assert_uint_eq(check_file("decay_by_step") + check_file("adam_step") +
                        check_file("floats_of_data") + check_file("checked_float") +
                        check_file("part_of_size") + check_file("powers_of_item"),
                    15);
  end();
}
END_TEST

/* Numbers that are the same wherever the program is tried are no constants, nor one another. */
START_TEST(floats_that_are_mostly_the_same) {
  begin();
  ck_assert_uint_eq(check_file("hinge") + check_file("two_hinges") + check_file("truth_as_float") +
                        check_file("negated_float") + check_file("less_than_halves") +
                        check_file("range_of_hinge") + check_file("chosen_floats"),
                    24);
  end();
}
END_TEST

START_TEST(conditions_within_conditions) {
  begin();
  ck_assert_uint_eq(check_file("choice_in_condition"), 4);
  end();
}
END_TEST

/* --- sizes that are not for the program ------------------------------------------------------- */
static void is_refused_by(const fnz_program *p, const fnz_arrays *given, const char *words) {
  fnz_arrays *got;
  OK(ctx, fnz_arrays_create(ctx, &got));
  ck_assert_int_eq(fnz_run(ctx, p, cpu, given, NULL, got), FNZ_BAD_INPUT);
  ck_assert_msg(strstr(fnz_last_error(ctx)->message, words), "%s", fnz_last_error(ctx)->message);
  fnz_arrays_destroy(got);
}

static fnz_program *read_again(const fnz_program *p, fnz_format format) {
  fnz_buffer out = {NULL, 0, 0};
  fnz_program *read;
  OK(ctx, fnz_program_write(ctx, p, format, &out));
  OK(ctx, fnz_program_read(ctx, out.data, out.size, FNZ_FORMAT_AUTO, &read));
  fnz_buffer_free(ctx, &out);
  return read;
}

/* The guards of torch.export hold in a program that is read back from any format, and no node of a
 * .pt2 file repeats them. */
START_TEST(guards_of_an_exporter_hold) {
  static const char *const cases[][2] = {
      {"more_than_twice",
       "the program is for sizes with s77 > 2*s40 (its guard); they are s77 = 8, s40 = 4"},
      {"longer_by",
       "the program is for sizes with s29 - s53 > 0 (its guard); they are s29 = 8, s53 = 8"},
      {"tail_of", "the program is for sizes with s77 >= s17 (its guard)"}};
  static const fnz_format formats[] = {FNZ_FORMAT_TEXT, FNZ_FORMAT_CBOR, FNZ_FORMAT_PT2};
  begin();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    fnz_arrays *given;
    ck_assert_uint_eq(check_file(cases[i][0]), 3);
    fnz_program *p = read_file(cases[i][0]), *made = functional_form(p);
    ck_assert(read_named(cases[i][0], "refused", "in", &given));
    is_refused_by(p, given, cases[i][1]);
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
      fnz_program *again = read_again(made, formats[k]);
      is_refused_by(again, given, cases[i][1]);
      ck_assert_uint_eq(fnz_node_count(again, 0), fnz_node_count(made, 0));
      fnz_program_destroy(again);
    }
    fnz_arrays_destroy(given);
    fnz_program_destroy(p);
    fnz_program_destroy(made);
  }
  end();
}
END_TEST

static const char two_inputs[] = "fnz 1 symbol s0 = 3 symbol s1 = 4 range s0 2..8 range s1 3..\n"
                                 "program(%x: f32[{2*s0},2], %y: f32[{s0 + s1}]) {\n"
                                 "  %s: f32[{s0},2] = slice.Tensor(%x, 0, None, None, 2)\n"
                                 "  %w: f32[{s0},2] stride(4,1) = add_.Scalar(%s, 1)\n"
                                 "  %z: f32[{s0 + s1}] = mul_.Scalar(%y, 2)\n"
                                 "  return %x }";

static fnz_status run_sizes(const fnz_program *p, int64_t x0, int64_t x1, int64_t y) {
  fnz_arrays *given, *got;
  void *data;
  size_t inputs;
  fnz_graph_inputs(p, 0, &inputs);
  OK(ctx, fnz_arrays_create(ctx, &given));
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_arrays_add(given, "x", FNZ_F32, 2, (const int64_t[2]){x0, x1}, &data));
  if (inputs > 1)
    OK(ctx, fnz_arrays_add(given, "y", FNZ_F32, 1, &y, &data));
  fnz_status status = fnz_run(ctx, p, cpu, given, NULL, got);
  fnz_arrays_destroy(given);
  fnz_arrays_destroy(got);
  return status;
}

START_TEST(wrong_sizes_say_which_and_why) {
  static const struct {
    int64_t x0, x1, y;
    const char *where, *what;
  } rows[] = {
      {7, 2, 9, "x", "dimension 0 is 2*s0, and no sizes make that 7"},
      {18, 2, 19, NULL,
       "the program is for sizes with s0 from 0 to 8 (its range); they are s0 = 9"},
      {6, 2, 5, NULL, "the program is for sizes with s1 >= 3 (its range); they are s0 = 3, s1 = 2"},
      {6, 3, 9, "x", "size 2 of dimension 1 was traced, the array given has 3"},
  };
  begin();
  fnz_program *p = parse(two_inputs), *made = functional_form(p);
  /* y determines s1 once x has determined s0; here from x, so that the sum is left over */
  OK(ctx, run_sizes(made, 6, 2, 7));
  OK(ctx, run_sizes(made, 16, 2, 13));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    ck_assert_int_ne(run_sizes(made, rows[i].x0, rows[i].x1, rows[i].y), FNZ_OK);
    const fnz_error *e = fnz_last_error(ctx);
    ck_assert_msg(strstr(e->message, rows[i].what), "%s", e->message);
  }
  fnz_program_destroy(p);
  fnz_program_destroy(made);
  end();
}
END_TEST

START_TEST(one_symbol_twice_must_agree) {
  begin();
  fnz_program *p = parse("fnz 1 symbol s0 = 3 program(%x: f32[{s0},2], %y: f32[{s0 + 1}]) {\n"
                         "  %w: f32[{s0},2] = add_.Scalar(%x, 1)\n  return %y }");
  fnz_program *made = functional_form(p);
  OK(ctx, run_sizes(made, 5, 2, 6));
  ck_assert_int_ne(run_sizes(made, 5, 2, 7), FNZ_OK);
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message,
                               "dimension 0 is s0 + 1, which is 6 by what was seen before, the "
                               "array has 7"));
  fnz_program_destroy(p);
  fnz_program_destroy(made);
  end();
}
END_TEST

/* --- guards ----------------------------------------------------------------------------------- */
/* One row: what reshape gives is a view. */
static const char rows_of_two[] = "fnz 1 symbol s0 = 8 range s0 2..\n"
                                  "program(%x: f32[{s0},2]) {\n"
                                  "  %t: f32[2,{s0}] stride(1,2) = t(%x)\n"
                                  "  %v: f32[{2*s0}] = reshape(%t, [-1])\n"
                                  "  %w: f32[{2*s0}] = add_.Scalar(%v, 1)\n"
                                  "  return %v }";

START_TEST(guards_are_found_and_checked) {
  fnz_buffer text = {NULL, 0, 0};
  begin();
  fnz_program *p = parse(rows_of_two), *made = functional_form(p);
  ck_assert_ptr_nonnull(strstr(text_of(made, &text), "guard \"Ne(s0, 1)\""));
  OK(ctx, run_sizes(made, 2, 2, 1));
  ck_assert_int_ne(run_sizes(made, 1, 2, 1), FNZ_OK);
  ck_assert_ptr_nonnull(
      strstr(fnz_last_error(ctx)->message,
             "the program is for sizes with Ne(s0, 1) (its guard); they are s0 = 1"));
  fnz_program *again = parse(text.data);
  ck_assert_int_ne(run_sizes(again, 1, 2, 1), FNZ_OK);
  fnz_program_destroy(again);
  fnz_program_destroy(p);
  fnz_program_destroy(made);
  fnz_buffer_free(ctx, &text);
  end();
}
END_TEST

START_TEST(without_a_check_guards_do_it) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *made;
  begin();
  options.check = NULL;
  fnz_program *p = parse(two_inputs);
  OK(ctx, fnz_functionalize(ctx, p, &options, &made));
  OK(ctx, fnz_verify(ctx, p, made, NULL, WITH_TRIALS(1), NULL));
  OK(ctx, run_sizes(made, 6, 2, 7));
  fnz_program_destroy(p);
  fnz_program_destroy(made);
  end();
}
END_TEST

/* --- the check -------------------------------------------------------------------------------- */
#define INDICES                                                                                    \
  "fnz 1 symbol u0 symbol u1 range u0 0..6 range u1 0..6\n"                                        \
  "program(%x: f32[7], %i: i64[], %j: i64[]) {\n"                                                  \
  "  %a: sym{u0} = item(%i)  %b: sym{u1} = item(%j)\n"

/* The second program differs from the first, which is right with its own functional form. */
static void check_wrong(const char *text, const char *wrong_text, const char *says) {
  begin();
  fnz_program *p = parse(text), *wrong = parse(wrong_text);
  ck_assert_int_eq(fnz_verify(ctx, p, wrong, NULL, WITH_TRIALS(1), NULL), FNZ_DIFFERENT);
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, says));
  OK(ctx, fnz_verify(ctx, p, NULL, NULL, WITH_TRIALS(1), NULL));
  fnz_program_destroy(p);
  fnz_program_destroy(wrong);
  end();
}

START_TEST(verify_tries_equal_indices) {
  check_wrong(INDICES "  %s: f32[] offset({u0}) = select.int(%x, 0, %a)\n"
                      "  %w: f32[] offset({u0}) = add_.Scalar(%s, 1)\n"
                      "  %t: f32[] offset({u1}) = select.int(%x, 0, %b)\n"
                      "  %r: f32[] = mul.Scalar(%t, 2)\n  return %r }",
              INDICES "  %s: f32[] = select_copy.int(%x, 0, %a)\n"
                      "  %w: f32[] = add.Scalar(%s, 1)\n"
                      "  %y: f32[7] = select_scatter(%x, %w, 0, %a)\n"
                      "  %t: f32[] = select_copy.int(%x, 0, %b)\n"
                      "  %r: f32[] = mul.Scalar(%t, 2)\n"
                      "  return %y input_mutation \"x\", %r }",
              "at the sizes u0 = ");
}
END_TEST

/* The quotient is 0 at usual sizes. */
START_TEST(verify_tries_where_expressions_turn) {
  check_wrong("fnz 1 symbol s0 = 8 program(%x: f32[{s0}]) {\n"
              "  %n: sym{s0} = sym_size.int(%x, 0)\n"
              "  %h: sym{s0//100} = _operator.floordiv(%n, 100)\n"
              "  %s: f32[] offset({s0//100}) = select.int(%x, 0, %h)\n"
              "  %w: f32[] offset({s0//100}) = add_.Scalar(%s, 1)\n  return %x }",
              "fnz 1 symbol s0 = 8 program(%x: f32[{s0}]) {\n"
              "  %s: f32[] = select_copy.int(%x, 0, 0)\n"
              "  %w: f32[] = add.Scalar(%s, 1)\n"
              "  %y: f32[{s0}] = select_scatter(%x, %w, 0, 0)\n"
              "  return %y input_mutation \"x\", %y is %x }",
              "at the sizes s0 = 100");
}
END_TEST

START_TEST(verify_compares_what_numbers_are_read_from) {
  check_wrong("fnz 1 symbol u0 range u0 0..9 program(%x: i64[], %y: f32[9]) {\n"
              "  %w: i64[] = add_.Scalar(%x, 1)  %n: sym{u0} = item(%x)\n"
              "  %s: f32[{u0}] = slice.Tensor(%y, 0, 0, %n)\n"
              "  %r: f32[{u0}] = neg(%s)  return %r }",
              "fnz 1 symbol u0 range u0 0..9 program(%x: i64[], %y: f32[9]) {\n"
              "  %w: i64[] = add.Scalar(%x, 1)  %n: sym{u0} = item(%x)\n"
              "  %s: f32[{u0}] = slice_copy.Tensor(%y, 0, 0, %n)\n"
              "  %r: f32[{u0}] = neg(%s)  return %w input_mutation \"x\", %r }",
              "at the sizes u0 = ");
}
END_TEST

START_TEST(the_report_counts_choices_of_sizes) {
  fnz_verify_report seen = FNZ_VERIFY_REPORT_INIT;
  begin();
  fnz_program *p = parse(two_inputs);
  OK(ctx, fnz_verify(ctx, p, NULL, NULL, NULL, &seen));
  ck_assert_uint_ge(seen.sizes, 8);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* --- assertions, and refusals ----------------------------------------------------------------- */
START_TEST(a_false_assertion_ends_the_run) {
  fnz_arrays *given, *got;
  void *data;
  begin();
  fnz_program *p = parse("fnz 1 symbol u0 program(%i: i64[]) {\n"
                         "  %n: sym{u0} = item(%i)  %ok: sym{u0 < 5} = _operator.lt(%n, 5)\n"
                         "  _assert_scalar(%ok, \"below five\")\n"
                         "  %z: f32[{u0}] = zeros([%n])  %w: f32[{u0}] = add_.Scalar(%z, 1)\n"
                         "  None = is_same_size(%z, %w)\n"
                         "  None = _has_same_storage_numel(%z, %w)\n"
                         "  return %w }");
  fnz_program *made = functional_form(p);
  OK(ctx, fnz_arrays_create(ctx, &given));
  OK(ctx, fnz_arrays_add(given, "i", FNZ_I64, 0, NULL, &data));
  for (int64_t n = 0; n < 7; n++) {
    memcpy(data, &n, sizeof n);
    OK(ctx, fnz_arrays_create(ctx, &got));
    ck_assert_int_eq(fnz_run(ctx, made, cpu, given, NULL, got) == FNZ_OK, n < 5);
    ck_assert(n >= 5 || fnz_arrays_find(got, "output.0")->sizes[0] == n);
    fnz_arrays_destroy(got);
  }
  fnz_arrays_destroy(given);
  fnz_program_destroy(p);
  fnz_program_destroy(made);
  end();
}
END_TEST

START_TEST(what_has_no_expression_is_refused) {
  fnz_program *made;
  begin();
  fnz_program *p = parse("fnz 1 symbol \"sin(s0)\" = 4 program(%x: f32[{\"sin(s0)\"}]) {\n"
                         "  %w: f32[{\"sin(s0)\"}] = add_.Scalar(%x, 1)  return %x }");
  ck_assert_int_eq(fnz_functionalize(ctx, p, NULL, &made), FNZ_UNSUPPORTED);
  ck_assert_ptr_null(made);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* Programs with symbols: the refusal, or nothing when the check finds them equal. */
#define S     "fnz 1 symbol s0 = 4 symbol u0 range s0 2..9 "
#define WRITE "%w: f32[{s0}] = add_.Scalar(%x, 1) "

/* Results of an operator without a rule are what is recorded. */
#define OPEN "fnz 1 operator \"my::f(Tensor x) -> Tensor\" "

static const struct {
  const char *class_name, *says, *text;
} with_symbols[] = {
    {NULL, "",
     S "operator \"my::f(Tensor x) -> Tensor\" weight \"w\": f32[2] program(%x: f32[{s0}], %p: "
       "f32[2] parameter \"w\") { " WRITE " return %w, %p }"},
    {NULL, "",
     S "program(%x: f32[{s0}], %s: sym{s0}) { " WRITE
       "%z: f32[{s0}] = zeros([%s]) %y: f32[{s0}] = add_.Scalar(%z, 1) return %z }"},
    {NULL, "",
     S "program(%x: f32[{s0}], %s: sym{s0}) { " WRITE
       "%y: f32[{s0}] = higher_order.wrap(@g, %x, %s) return %y }\ngraph g(%a: f32[{s0}], %n: "
       "sym{s0}) { return %a }"},
    {"TYPE", "operand 1 is 4, but input 1 of graph g is 5",
     S "program(%x: f32[{s0}], %s: sym{s0}) { " WRITE
       "%y: f32[{s0}] = higher_order.wrap(@g, %x, %s) return %y }\ngraph g(%a: f32[{s0}], %n: "
       "sym{s0 + 1}) { return %a }"},
    {"UNSUPPORTED", "the number n () is not known",
     S "program(%x: f32[{s0}], %s: sym{s0}) { " WRITE
       "%y: f32[{s0}] = higher_order.wrap(@g, %x, %s) return %y }\ngraph g(%a: f32[{s0}], %n: sym) "
       "{ %m: f32[{s0}] = mul.Scalar(%a, %n) return %m }"},
    {NULL, "",
     S "program(%x: f32[{s0}]) { " WRITE
       "%y: f32[{s0}] = higher_order.wrap(@g, %x) return %y }\ngraph g(%a: f32[{s0}]) { %n: "
       "f32[{s0}] = neg(%a) return %n }"},
    {NULL, "",
     S "program(%x: f32[{s0}], %s: sym{s0}) { %f: sym{\"1.5\"} = torch.sym_float(%s) %w: f32[{s0}] "
       "= mul_.Scalar(%x, %f) return %w }"},
    {"UNSUPPORTED", "\"sin(s0)\": character 1: there is no function",
     S "program(%x: f32[{s0}], %s: sym{s0}) { %f: sym{\"sin(s0)\"} = math.sin(%s) %w: f32[{s0}] = "
       "mul_.Scalar(%x, %f) return %w }"},
    {NULL, "",
     "fnz 1 symbol zuf0 symbol \"Max(0, Add(zuf0, -50))\" symbol \"Add(zuf0, -50)\" program(%x: "
     "f32[4], %t: f64[]) { %n: sym{zuf0} = item(%t) %s: sym{\"Add(zuf0, -50)\"} = "
     "_operator.sub(%n, 50.0) %k: sym{\"Max(0, Add(zuf0, -50))\"} = torch.sym_max(%s, 0.0) "
     "%w: f32[4] = add_.Scalar(%x, 1) %a: f32[3] = arange.start_step(%k, 3.0, 1.0) "
     "%b: f32[3] = arange.start_step(0.0, 3.0, 1.0) return %w, %a, %b }"},
    {"SYNTAX", "\"1.5x",
     S "program(%x: f32[{s0}], %s: sym{s0}) { %f: sym{\"1.5x\"} = math.sin(%s) %w: f32[{s0}] = "
       "mul_.Scalar(%x, %f) return %w }"},
    {"UNSUPPORTED", "the number s () is not known",
     S "program(%x: f32[{s0}], %s: sym) { %w: f32[{s0}] = mul_.Scalar(%x, %s) return %w }"},
    {NULL, "", S "program(%x: f32[{s0}]) { _assert_scalar(True, \"m\") " WRITE "return %w }"},
    {"UNSUPPORTED", "character 1: there is no function",
     S "program(%x: f32[{s0}], %s: sym{s0}) { %f: sym{\"sin(s0)\"} = math.sin(%s) "
       "_assert_scalar(%f, \"m\") " WRITE "return %w }"},
    {"UNSUPPORTED", "character 1: there is no function",
     "fnz 1 symbol s0 = 4 range \"sin(s0)\" 2.. program(%x: f32[{s0}]) { " WRITE "return %w }"},
    {NULL, "", "fnz 1 symbol s0 = 4 range s0 .. program(%x: f32[{s0}]) { " WRITE "return %w }"},
    {"UNSUPPORTED", "character 1: there is no function",
     "fnz 1 symbol s0 = 4 guard \"sin(s0) > 2\" program(%x: f32[{s0}]) { " WRITE "return %w }"},
    {NULL, "",
     "fnz 1 symbol s0 = 4 guard \"s0 > 5\" program(%x: f32[{s0}]) { " WRITE "return %w }"},
    {NULL, "",
     S "program(%x: f32[{s0}], %y: f32[{s0}]) { " WRITE
       "%v: f32[{s0}] = view(%x, [-1]) return %v in %x as f32[{s0}] }"},
    {"BOUNDS", "the size s0 - 5 of dimension 0 is -1",
     "fnz 1 symbol s0 = 4 range s0 2..9 program(%x: f32[{s0}]) { " WRITE
     "%v: f32[{s0 - 5: 0}] = slice.Tensor(%x, 0, 5) return %v }"},
    {NULL, "",
     S "program(%x: f32[{s0}], %i: i64[]) { %n: sym{u0} = item(%i) %v: f32[{u0}] = zeros([%n]) %w: "
       "f32[{u0}] = add_.Scalar(%v, 1) return %w }"},
    {NULL, "",
     S "program(%x: f32[{s0}], %i: i64[]) { " WRITE
       "%y: f32[{s0}] = higher_order.wrap(@g, %x, %i) return %y }\ngraph g(%a: f32[{s0}], %i: "
       "i64[]) { %n: sym{u0} = item(%i) %m: f32[{s0}] = mul.Scalar(%a, %n) return %m }"},
    {NULL, "",
     S "program(%x: f32[{s0}], %s: sym{s0}) { %m: sym{s0 > 3} = _operator.gt(%s, 3) %w: f32[{s0}] "
       "= mul_.Scalar(%x, %m) return %w }"},
    {NULL, "",
     S "symbol s1 = 5 program(%x: f32[{s0}], %y: f32[{s1}]) { %s: sym{s0} = sym_size.int(%x, 0) "
       "%t: sym{s1} = sym_size.int(%y, 0) %k: sym{Max(s0, s1, 3)} = torch.sym_max(%s, %t) %z: "
       "f32[{Max(3, s0, s1)}] = zeros([%k]) %w: f32[{Max(3, s0, s1)}] = add_.Scalar(%z, 1) return "
       "%w }"},
    {NULL, "",
     OPEN
     "symbol s0 = 3 symbol s1 = 4 program(%x: f32[{s0 + s1}], %y: f32[{s0 + 2*s1}]) { %w: "
     "f32[{s0 + s1}] = add_.Scalar(%x, 1) %v: f32[{s0 - s1 + 9}] = my::f(%x) %u: f32[{s0 - s1 + "
     "9}] = add_.Scalar(%v, 1) return %u }"},
    {NULL, "",
     OPEN "symbol s0 = 4 program(%x: f32[{s0}]) { %z: f32[{s0*s0 - s0//2}] = my::f(%x) %w: "
          "f32[{s0*s0 - s0//2}] = add_.Scalar(%z, 1) return %w }"},
    {NULL, "",
     OPEN "symbol s0 = 4 program(%x: f32[{s0}]) { %z: f32[{Mod(s0, 3) + 1}] = my::f(%x) %w: "
          "f32[{Mod(s0, 3) + 1}] = add_.Scalar(%z, 1) %v: f32[{s0*2 - s0**2//2 + 4}] = my::f(%x) "
          "return %w }"},
    {NULL, "",
     OPEN
     "symbol s0 = 4 program(%x: f32[{2*s0}]) { %v: f32[{s0}] stride(2) = slice.Tensor(%x, 0, "
     "0, None, 2) %w: f32[{s0}] stride(2) = add_.Scalar(%v, 1) %z: f32[{s0/2: 2}] = my::f(%x) %y: "
     "f32[{s0/2: 2}] = add_.Scalar(%z, 1) return %w }"},
};

START_TEST(programs_with_symbols) {
  begin();
  for (size_t i = 0; i < sizeof with_symbols / sizeof *with_symbols; i++) {
    fnz_program *p = parse(with_symbols[i].text);
    fnz_status status = fnz_verify(ctx, p, NULL, NULL, WITH_TRIALS(1), NULL);
    const fnz_error *e = fnz_last_error(ctx);
    if (with_symbols[i].class_name)
      ck_assert_msg(status != FNZ_OK && strstr(e->message, with_symbols[i].says) &&
                        strcmp(fnz_class_name(e->kind), with_symbols[i].class_name) == 0,
                    "row %zu: %s: %s", i, fnz_class_name(e->kind), e->message);
    else
      ck_assert_msg(status == FNZ_OK, "row %zu: %s", i, e->message);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* Divided by 32, sizes are drawn far apart; beside them few rows, because many could not be run. */
START_TEST(far_sizes_are_of_few_rows) {
  begin();
  fnz_program *p = parse("fnz 1 symbol s0 = 2 symbol s1 = 64 range s1 32.. "
                         "program(%x: f32[{s0},4096,{s1}]) {\n"
                         "  %p: f32[{s0},4096,{s1//32: 2}] = avg_pool1d(%x, [32])  return %p }");
  fnzi_sizes sizes;
  fnzi_point point;
  fnzi_draw draw;
  int64_t least = INT64_MAX, most = 0;
  ck_assert_int_eq(fnzi_sizes_open(&sizes, ctx, p), FNZ_OK);
  fnzi_point_init(&point, &sizes.set);
  fnzi_draw_start(&draw, &sizes, 1);
  for (int i = 0; i < 20; i++) {
    bool found, bearable, known;
    int64_t number;
    ck_assert_int_eq(fnzi_draw_numbers(&draw, &point, &found), FNZ_OK);
    ck_assert_int_eq(fnzi_sizes_are_bearable(&sizes, &point, &bearable), FNZ_OK);
    ck_assert_int_eq(fnzi_point_int(&point, fnzi_expr_find(&sizes.set, "s1"), &known, &number),
                     FNZ_OK);
    ck_assert(found && bearable && known);
    least = number < least ? number : least;
    most = number > most ? number : most;
  }
  ck_assert_int_ge(most - least, 64);
  fnzi_point_free(&point);
  fnzi_sizes_close(&sizes);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* Two rows of a hundred million numbers, which no caller has: only data decide how many there are.
 */
START_TEST(claimed_sizes_take_no_memory) {
  begin();
  fnz_program *p = parse(
      "fnz 1 symbol \"2\" = 2 symbol u1 = 100000000 range u1 0..200000000 program(%a: i64[2]) {\n"
      "  %s: i64[] = select.int(%a, 0, 0)  %n: sym{\"2\"} = item(%s)\n"
      "  %t: i64[] offset(1) = select.int(%a, 0, 1)  %m: sym{u1} = item(%t)\n"
      "  %z: f32[2,{u1}] stride({u1},1) = zeros([2, %m])  return %z }");
  fnz_program_destroy(functional_form(p));
  ck_assert_uint_lt(fnz_context_peak_bytes(ctx), 16 << 20);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* Every so many requests: one pass over a symbolic program makes thousands. */
START_TEST(running_out_of_memory_is_an_error) {
  bool more = true;
  for (size_t n = 1; more; n += n < 400 ? 13 : 397) {
    faults f = {.fail_at = n};
    fnz_allocator allocator = {faults_resize, &f};
    fnz_context *own;
    fnz_program *p = NULL, *made = NULL;
    fnz_status status = fnz_context_create(&allocator, &own);
    if (status == FNZ_OK)
      status = fnz_program_read(own, rows_of_two, strlen(rows_of_two), FNZ_FORMAT_AUTO, &p);
    if (status == FNZ_OK)
      status = fnz_functionalize(own, p, NULL, &made);
    fnz_program_destroy(made);
    fnz_program_destroy(p);
    fnz_context_destroy(own);
    more = f.calls >= n;
    ck_assert_uint_eq(f.live_bytes, 0);
    ck_assert_int_eq(status, more ? FNZ_NO_MEMORY : FNZ_OK);
  }
}
END_TEST

RUN_SUITE("sizes", one_program_runs_at_every_size, numbers_that_are_floats,
          floats_that_are_mostly_the_same, conditions_within_conditions, guards_of_an_exporter_hold,
          wrong_sizes_say_which_and_why, one_symbol_twice_must_agree, guards_are_found_and_checked,
          without_a_check_guards_do_it, verify_tries_equal_indices,
          verify_tries_where_expressions_turn, verify_compares_what_numbers_are_read_from,
          the_report_counts_choices_of_sizes, a_false_assertion_ends_the_run,
          what_has_no_expression_is_refused, programs_with_symbols, far_sizes_are_of_few_rows,
          claimed_sizes_take_no_memory, running_out_of_memory_is_an_error)
