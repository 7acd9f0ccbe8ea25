/* checks: 13
 * given_test.c - arrays that are given for the state of a program stand for the data of its file,
 * in both interpreters and in the comparison; a name that no input has is refused. Expected numbers
 * are PyTorch 2.15's: fixtures/pt2/kv_cache.want*.safetensors and tied.pt2. And options and reports
 * of callers that were compiled with an older header, or say another size than they have. */
#include "tests/help/context.h"

#include <fnz/fnz.h>

#include <math.h>
#include <stdio.h>

#define PT2 FNZ_SOURCE_DIR "/fixtures/pt2/"

static fnz_program *read_program(const char *path) {
  fnz_buffer file;
  fnz_program *p;
  OK(ctx, fnz_file_read(ctx, path, &file));
  OK(ctx, fnz_program_read_buffer(ctx, &file, FNZ_FORMAT_AUTO, &p));
  return p;
}

static fnz_program *functional_form(const fnz_program *p) {
  fnz_program *made;
  OK(ctx, fnz_functionalize(ctx, p, NULL, &made));
  return made;
}

static fnz_arrays *read_arrays(const char *path) {
  fnz_buffer file;
  fnz_arrays *arrays;
  OK(ctx, fnz_file_read(ctx, path, &file));
  OK(ctx, fnz_arrays_read_safetensors(ctx, file.data, file.size, &arrays));
  fnz_buffer_free(ctx, &file);
  return arrays;
}

static fnz_arrays *no_arrays(void) {
  fnz_arrays *arrays;
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  return arrays;
}

static void add_floats(fnz_arrays *arrays, const char *name, int64_t count, const float *numbers) {
  void *data;
  OK(ctx, fnz_arrays_add(arrays, name, FNZ_F32, 1, &count, &data));
  memcpy(data, numbers, (size_t)count * sizeof *numbers);
}

static void add_all(fnz_arrays *to, const fnz_arrays *from) {
  for (size_t i = 0; i < fnz_arrays_count(from); i++) {
    const fnz_array *a = fnz_arrays_at(from, i);
    void *data;
    OK(ctx, fnz_arrays_add(to, a->name, a->dtype, a->rank, a->sizes, &data));
    memcpy(data, a->data, a->bytes);
  }
}

static fnz_status run(const fnz_program *p, bool original, const fnz_arrays *given,
                      fnz_arrays *out) {
  fnz_backend *cpu;
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  fnz_status status = fnz_run(ctx, p, cpu, given, original ? AS_ORIGINAL : NULL, out);
  fnz_backend_destroy(cpu);
  return status;
}

static void expect_near(const fnz_arrays *got, const fnz_arrays *want) {
  ck_assert_uint_eq(fnz_arrays_count(got), fnz_arrays_count(want));
  for (size_t i = 0; i < fnz_arrays_count(want); i++) {
    const fnz_array *w = fnz_arrays_at(want, i), *g = fnz_arrays_find(got, w->name);
    ck_assert_msg(g != NULL && g->bytes == w->bytes, "%s is not there", w->name);
    for (size_t k = 0; k < w->bytes / sizeof(float); k++)
      ck_assert_msg(fabsf(((const float *)g->data)[k] - ((const float *)w->data)[k]) < 1e-5f,
                    "%s, element %zu", w->name, k);
  }
}

static void expect_floats(const fnz_arrays *got, const char *name, size_t count,
                          const float *want) {
  const fnz_array *a = fnz_arrays_find(got, name);
  ck_assert_msg(a != NULL, "there is no %s", name);
  ck_assert_uint_eq(a->bytes, count * sizeof *want);
  ck_assert_mem_eq(a->data, want, a->bytes);
}

/* A file, a step of decoding and the next one, which gets what the first one gave. */
static void decode_twice(const fnz_program *p, bool original) {
  fnz_arrays *before = no_arrays();
  for (int step = 0; step < 2; step++) {
    char path[256];
    snprintf(path, sizeof path, PT2 "kv_cache.step%d.safetensors", step);
    fnz_arrays *given = read_arrays(path), *out = no_arrays();
    add_all(given, before);
    OK(ctx, run(p, original, given, out));
    snprintf(path, sizeof path, PT2 "kv_cache.want%d.safetensors", step);
    fnz_arrays *want = read_arrays(path);
    expect_near(out, want);
    fnz_arrays_destroy(want);
    fnz_arrays_destroy(given);
    fnz_arrays_destroy(before);
    before = out;
  }
  fnz_arrays_destroy(before);
}

START_TEST(a_run_goes_on_from_the_state_of_another) {
  begin();
  fnz_program *p = read_program(PT2 "kv_cache.pt2"), *made = functional_form(p);
  fnz_program *cbor = read_again(made, FNZ_FORMAT_CBOR);
  decode_twice(p, true);
  decode_twice(made, false);
  decode_twice(cbor, false);
  fnz_program_destroy(cbor);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* The text form has no data: all of it is given. */
START_TEST(weights_are_given_where_the_file_has_none) {
  static const char text[] = "fnz 1 weight \"w\": f32[2] program(%p_w: f32[2] parameter \"w\") {\n"
                             "  %y: f32[2] = add.Tensor(%p_w, %p_w) return %y }";
  const float numbers[2] = {1, 2}, want[2] = {2, 4};
  fnz_program *p;
  begin();
  OK(ctx, fnz_program_read(ctx, text, sizeof text - 1, FNZ_FORMAT_TEXT, &p));
  for (int original = 0; original < 2; original++) {
    fnz_arrays *given = no_arrays(), *out = no_arrays(), *none = no_arrays();
    FAILS(ctx, "REF", run(p, original, none, out));
    add_floats(given, original ? "p_w" : "parameter.w", 2, numbers);
    OK(ctx, run(p, original, given, out));
    expect_floats(out, "output.0", 2, want);
    fnz_arrays_destroy(given);
    fnz_arrays_destroy(none);
    fnz_arrays_destroy(out);
  }
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* b is a[1:3], and a is written: 10, 20, 30, 40 and 1 give b * 2 and the sum of a. */
START_TEST(what_is_given_for_one_is_seen_through_another) {
  const float a[4] = {10, 20, 30, 40}, b[2] = {20, 30}, x[4] = {1, 1, 1, 1};
  const float twice[2] = {42, 62}, sum[1] = {104}, after[4] = {11, 21, 31, 41};
  begin();
  fnz_program *p = read_program(PT2 "tied.pt2"), *made = functional_form(p);
  for (int original = 0; original < 2; original++)
    for (int both = 0; both < 2; both++) {
      fnz_arrays *given = no_arrays(), *out = no_arrays();
      add_floats(given, "x", 4, x);
      add_floats(given, "buffer.a", 4, a);
      if (both)
        add_floats(given, "b_b", 2, b);
      OK(ctx, run(original ? p : made, original, given, out));
      expect_floats(out, "output.0", 2, twice);
      expect_floats(out, "output.1", 1, sum);
      expect_floats(out, "buffer.a", 4, after);
      fnz_arrays_destroy(given);
      fnz_arrays_destroy(out);
    }
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(what_shares_memory_must_agree) {
  const float a[4] = {10, 20, 30, 40}, b[2] = {20, 31}, x[4] = {1, 1, 1, 1};
  begin();
  fnz_program *p = read_program(PT2 "tied.pt2"), *made = functional_form(p);
  fnz_arrays *given = no_arrays(), *out = no_arrays();
  add_floats(given, "x", 4, x);
  add_floats(given, "buffer.a", 4, a);
  add_floats(given, "buffer.b", 2, b);
  FAILS(ctx, "OVERLAP", run(p, true, given, out));
  ck_assert_str_eq(fnz_last_error(ctx)->where, "b");
  FAILS(ctx, "OVERLAP", run(made, false, given, out));
  fnz_arrays_destroy(given);
  fnz_arrays_destroy(out);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* The text of the functional form says that b lies in a's memory, and has no data of either. */
START_TEST(memory_without_data_must_be_filled) {
  const float a[4] = {10, 20, 30, 40}, b[2] = {20, 30}, x[4] = {1, 1, 1, 1}, sum[1] = {104};
  begin();
  fnz_program *p = read_program(PT2 "tied.pt2"), *made = functional_form(p);
  fnz_program *text = read_again(made, FNZ_FORMAT_TEXT);
  fnz_arrays *given = no_arrays(), *some = no_arrays(), *out = no_arrays();
  add_floats(some, "x", 4, x);
  add_floats(some, "buffer.b", 2, b);
  FAILS(ctx, "REF", run(text, false, some, out));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "does not fill it; give it too"));
  add_floats(given, "x", 4, x);
  add_floats(given, "buffer.a", 4, a);
  OK(ctx, run(text, false, given, out));
  expect_floats(out, "output.1", 1, sum);
  fnz_arrays_destroy(given);
  fnz_arrays_destroy(some);
  fnz_arrays_destroy(out);
  fnz_program_destroy(text);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(a_name_that_no_input_has_is_refused) {
  static const struct {
    const char *name, *class_name, *says;
  } rows[] = {
      {"a", "REF", "no input has this name; did you mean buffer.a? inputs are x: f32["},
      {"buffer.q", "REF", "did you mean buffer.a or buffer.b?"},
      {"zebra", "REF", "no input has this name; inputs are x: f32["},
      {"output.2", "REF", "no input has this name"},
      {"output.", "REF", "no input has this name"},
      {"input.x", "DUPLICATE", "given twice, as x and as input.x"},
  };
  const float x[4] = {1, 1, 1, 1};
  begin();
  fnz_program *p = read_program(PT2 "tied.pt2"), *made = functional_form(p);
  for (size_t i = 0; i < 2 * sizeof rows / sizeof *rows; i++) {
    const bool original = i % 2 != 0;
    fnz_arrays *given = no_arrays(), *out = no_arrays();
    add_floats(given, "x", 4, x);
    add_floats(given, rows[i / 2].name, 4, x);
    FAILS(ctx, rows[i / 2].class_name, run(original ? p : made, original, given, out));
    ck_assert_msg(strstr(fnz_last_error(ctx)->message, rows[i / 2].says) != NULL, "%s",
                  fnz_last_error(ctx)->message);
    FAILS(ctx, rows[i / 2].class_name, fnz_verify(ctx, p, made, given, WITH_TRIALS(1), NULL));
    fnz_arrays_destroy(given);
    fnz_arrays_destroy(out);
  }
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* The names are checked even if no kernel is there to compare with. */
START_TEST(names_are_checked_where_nothing_is_computed) {
  static const char text[] = "fnz 1 program(%x: f32[4]) {\n"
                             "  %y: f32[4] = poisson(%x) return %y }";
  const float x[4] = {1, 1, 1, 1};
  fnz_verify_report seen = FNZ_VERIFY_REPORT_INIT;
  fnz_program *p;
  begin();
  OK(ctx, fnz_program_read(ctx, text, sizeof text - 1, FNZ_FORMAT_TEXT, &p));
  fnz_arrays *given = no_arrays();
  add_floats(given, "x", 4, x);
  OK(ctx, fnz_verify(ctx, p, NULL, given, WITH_TRIALS(1), &seen));
  ck_assert(!seen.numbers);
  add_floats(given, "y", 4, x);
  FAILS(ctx, "REF", fnz_verify(ctx, p, NULL, given, WITH_TRIALS(1), &seen));
  fnz_arrays_destroy(given);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* Nothing computes my::f, so no run would refuse the arrays. */
START_TEST(arrays_are_checked_where_nothing_is_computed) {
  static const char text[] =
      "fnz 1\noperator \"my::f(Tensor x) -> Tensor\"\nsymbol s0 = 4\nrange s0 2..8\n"
      "weight \"b\": f32[4]\n"
      "program(%x: f32[4], %y: f32[{s0}], %z: f32[{s0}], %b: f32[4] buffer \"b\")\n{\n"
      "%a: f32[4] = add_.Tensor(%x, %b)\n%f: f32[4] = my::f(%a)\nreturn %f, %y, %z\n}\n";
  static const struct {
    int64_t x, y, z, b; /* how many elements; -1: not given */
    const char *class_name, *where, *says;
  } rows[] = {
      {5, 3, 3, 4, "BOUNDS", "x", "size 4 of dimension 0 was traced, the array given has 5; give"},
      {4, -1, 3, 4, "REF", "y", "no input of this name was given; inputs are x: f32[4], y: f32["},
      {-1, 3, 3, 4, "REF", "x", "no input of this name was given"},
      {4, 3, 4, 4, "BOUNDS", "z", "which is 3 by what was seen before, the array has 4"},
      {4, 9, 9, 4, "BOUNDS", "", "s0 from"},
      {4, 3, 3, 2, "BOUNDS", "buffer.b", "size 4 of dimension 0 was traced"},
  };
  const float numbers[9] = {0};
  fnz_program *p;
  begin();
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &p));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const int64_t counts[4] = {rows[i].x, rows[i].y, rows[i].z, rows[i].b};
    static const char *const names[4] = {"x", "y", "z", "buffer.b"};
    fnz_arrays *given = no_arrays();
    for (size_t k = 0; k < 4; k++)
      if (counts[k] >= 0)
        add_floats(given, names[k], counts[k], numbers);
    FAILS(ctx, rows[i].class_name, fnz_verify(ctx, p, NULL, given, WITH_TRIALS(1), NULL));
    ck_assert_str_eq(fnz_last_error(ctx)->where, rows[i].where);
    ck_assert_msg(strstr(fnz_last_error(ctx)->message, rows[i].says) != NULL, "%s",
                  fnz_last_error(ctx)->message);
    fnz_arrays_destroy(given);
  }
  const int64_t sizes[1] = {4};
  void *data;
  fnz_arrays *given = no_arrays();
  OK(ctx, fnz_arrays_add(given, "x", FNZ_F64, 1, sizes, &data));
  FAILS(ctx, "TYPE", fnz_verify(ctx, p, NULL, given, WITH_TRIALS(1), NULL));
  fnz_arrays_destroy(given);
  fnz_program_destroy(p);
  end();
}
END_TEST

START_TEST(sizes_and_dtypes_of_state_are_checked) {
  const float numbers[4] = {1, 1, 1, 1};
  const int64_t four = 4;
  void *data;
  begin();
  fnz_program *p = read_program(PT2 "tied.pt2"), *made = functional_form(p);
  for (int original = 0; original < 2; original++) {
    fnz_arrays *small = no_arrays(), *wide = no_arrays(), *out = no_arrays();
    add_floats(small, "x", 4, numbers);
    add_floats(small, "buffer.a", 3, numbers);
    FAILS(ctx, "BOUNDS", run(original ? p : made, original, small, out));
    ck_assert_str_eq(fnz_last_error(ctx)->where, "buffer.a");
    add_floats(wide, "x", 4, numbers);
    OK(ctx, fnz_arrays_add(wide, "buffer.a", FNZ_F64, 1, &four, &data));
    FAILS(ctx, "TYPE", run(original ? p : made, original, wide, out));
    ck_assert_str_eq(fnz_last_error(ctx)->where, "buffer.a");
    fnz_arrays_destroy(small);
    fnz_arrays_destroy(wide);
    fnz_arrays_destroy(out);
  }
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* Both programs run on the numbers given, not on the file's. */
START_TEST(the_comparison_takes_state_too) {
  const float a[4] = {10, 20, 30, 40}, x[4] = {1, 1, 1, 1};
  fnz_verify_report seen = FNZ_VERIFY_REPORT_INIT;
  begin();
  fnz_program *p = read_program(PT2 "tied.pt2");
  fnz_arrays *given = no_arrays();
  add_floats(given, "x", 4, x);
  add_floats(given, "buffer.a", 4, a);
  OK(ctx, fnz_verify(ctx, p, NULL, given, WITH_TRIALS(1), &seen));
  ck_assert(seen.numbers);
  fnz_arrays_destroy(given);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- Sizes of structures ---------------------------------------------------------------------- */
typedef fnz_status taking_fn(const fnz_program *p, size_t size);

#define TAKES(name, type, made, end, call)                                                         \
  static fnz_status name(const fnz_program *p, size_t size) {                                      \
    type o = {.size = size};                                                                       \
    made = {0};                                                                                    \
    fnz_status status = call;                                                                      \
    end;                                                                                           \
    return status;                                                                                 \
  }
TAKES(functionalizing, fnz_functionalize_options, fnz_program *out[1], fnz_program_destroy(*out),
      fnz_functionalize(ctx, p, &o, out))
TAKES(decomposing, fnz_decompose_options, fnz_program *out[1], fnz_program_destroy(*out),
      fnz_decompose(ctx, p, &o, out))
TAKES(linting, fnz_functionalize_options, fnz_findings *out[1], fnz_findings_destroy(*out),
      fnz_lint(ctx, p, &o, out))
TAKES(compiling, fnz_compile_options, fnz_executable *out[1], fnz_executable_destroy(*out),
      fnz_compile(ctx, p, &o, out))
TAKES(telling, fnz_plan_options, fnz_buffer out, fnz_buffer_free(ctx, &out),
      fnz_plan_write(ctx, p, &o, &out))
TAKES(writing, fnz_mlir_options, fnz_buffer out, fnz_buffer_free(ctx, &out),
      fnz_mlir_write(ctx, p, &o, &out, NULL))

static fnz_status verifying(const fnz_program *p, size_t size) {
  const fnz_verify_options o = {.size = size};
  return fnz_verify(ctx, p, p, NULL, &o, NULL);
}

static fnz_status reporting(const fnz_program *p, size_t size) {
  fnz_verify_report report = {.size = size};
  return fnz_verify_hashes(ctx, p, p, NULL, &report);
}

static fnz_status running(const fnz_program *p, size_t size) {
  const fnz_run_options o = {.size = size};
  fnz_arrays *given = no_arrays(), *out = no_arrays();
  fnz_backend *cpu;
  add_floats(given, "x", 1, (const float[]){1});
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  fnz_status status = fnz_run(ctx, p, cpu, given, &o, out);
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(out);
  fnz_arrays_destroy(given);
  return status;
}

static const char negated[] = "fnz 1 program(%x: f32[1]) { %y: f32[1] = neg(%x) return %y }";

START_TEST(structures_say_how_large_they_are) {
  static const struct {
    taking_fn *take;
    size_t whole;
  } rows[] = {
      {functionalizing, sizeof(fnz_functionalize_options)},
      {decomposing, sizeof(fnz_decompose_options)},
      {verifying, sizeof(fnz_verify_options)},
      {reporting, sizeof(fnz_verify_report)},
      {linting, sizeof(fnz_functionalize_options)},
      {compiling, sizeof(fnz_compile_options)},
      {telling, sizeof(fnz_plan_options)},
      {writing, sizeof(fnz_mlir_options)},
      {running, sizeof(fnz_run_options)},
  };
  fnz_program *p;
  begin();
  OK(ctx, fnz_program_read(ctx, negated, sizeof negated - 1, FNZ_FORMAT_TEXT, &p));
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    OK(ctx, rows[i].take(p, rows[i].whole));
    OK(ctx, rows[i].take(p, sizeof(size_t)));
    FAILS(ctx, "ARGUMENT", rows[i].take(p, 0));
    FAILS(ctx, "ARGUMENT", rows[i].take(p, rows[i].whole + 1));
  }
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* Fields that an older header does not have are neither read nor written. */
START_TEST(an_older_header_has_fewer_fields) {
  fnz_verify_options options = {offsetof(fnz_verify_options, trials), 9, true};
  fnz_verify_report report = {.size = offsetof(fnz_verify_report, bodies), .bodies = 77};
  fnz_program *p;
  begin();
  OK(ctx, fnz_program_read(ctx, negated, sizeof negated - 1, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_verify(ctx, p, p, NULL, &options, &report));
  ck_assert_int_eq(report.trials, 2);
  ck_assert_uint_eq(report.bodies, 77);
  ck_assert_uint_eq(report.size, offsetof(fnz_verify_report, bodies));
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* A backend says how large it is, too. */
START_TEST(backends_say_how_large_they_are) {
  fnz_program *p;
  fnz_backend *cpu, *recorder;
  fnz_wrapper *wrapper;
  fnz_stack *stack;
  fnz_executable *exe;
  begin();
  OK(ctx, fnz_program_read(ctx, negated, sizeof negated - 1, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  const size_t sizes[] = {0, offsetof(fnz_backend, cell_bytes)};
  for (size_t i = 0; i < 2; i++) {
    fnz_backend b = *cpu;
    fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
    b.size = sizes[i];
    options.kernels = &b;
    ck_assert_int_eq(fnz_run(ctx, p, &b, NULL, NULL, NULL), FNZ_BAD_ARGUMENT);
    ck_assert_int_eq(fnz_wrapper_create(ctx, &b, &wrapper), FNZ_BAD_ARGUMENT);
    ck_assert_int_eq(fnz_stack_create(ctx, &b, &stack), FNZ_BAD_ARGUMENT);
    ck_assert_int_eq(fnz_recorder_create(ctx, &b, &recorder), FNZ_BAD_ARGUMENT);
    ck_assert_int_eq(fnz_compile(ctx, p, &options, &exe), FNZ_BAD_ARGUMENT);
  }
  fnz_backend_destroy(cpu);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("given", a_run_goes_on_from_the_state_of_another,
          weights_are_given_where_the_file_has_none, what_is_given_for_one_is_seen_through_another,
          what_shares_memory_must_agree, memory_without_data_must_be_filled,
          a_name_that_no_input_has_is_refused, names_are_checked_where_nothing_is_computed,
          arrays_are_checked_where_nothing_is_computed, sizes_and_dtypes_of_state_are_checked,
          the_comparison_takes_state_too, structures_say_how_large_they_are,
          backends_say_how_large_they_are, an_older_header_has_fewer_fields)
