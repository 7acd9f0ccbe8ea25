/* checks: 6
 * Programs that are well-formed and wrong: sizes that do not fit, windows outside their memory,
 * numbers where tensors belong, results that do not exist. Every interpreter answers with a class;
 * none reads or writes where it must not. tests/run/hostile.def has the programs. */
#include "tests/help/run_help.h"

static fnz_context *ctx;

/* Memory ends early, so that huge tensors are refused everywhere alike. */
enum { MOST_BYTES = 1 << 26 };

static void *resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  (void)user, (void)old_bytes;
  if (new_bytes > 0)
    return new_bytes > MOST_BYTES ? NULL : realloc(p, new_bytes);
  free(p);
  return NULL;
}

static void open_context(void) {
  fnz_allocator allocator = {resize, NULL};
  ck_assert_int_eq(fnz_context_create(&allocator, &ctx), FNZ_OK);
}

static const struct {
  const char *class_name, *inputs, *body;
} rows[] = {
#define HOSTILE(class_name, inputs, body) {#class_name, inputs, body},
#include "tests/run/hostile.def"
#undef HOSTILE
};
enum { NROWS = sizeof rows / sizeof *rows };

/* Zeros for every user input that is not huge. */
static fnz_arrays *zeros_for(const fnz_program *p) {
  fnz_arrays *arrays;
  size_t count;
  void *data;
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  const fnz_arg *inputs = fnz_graph_inputs(p, 0, &count);
  for (size_t i = 0; i < count; i++) {
    const fnz_geometry *g = fnz_value_geometry(p, 0, inputs[i].u.value);
    if (fnz_geometry_numel(g) < 1024)
      OK(ctx, fnz_arrays_add(arrays, fnz_value_name(p, 0, inputs[i].u.value), g->dtype, g->rank,
                             g->sizes, &data));
  }
  return arrays;
}

/* The operation on each program. */
typedef fnz_status deed(fnz_program *p, const fnz_arrays *inputs);

static fnz_status run_on(const fnz_run_options *how, const fnz_program *p, const fnz_arrays *inputs,
                         fnz_backend *owned) {
  fnz_arrays *out;
  OK(ctx, fnz_arrays_create(ctx, &out));
  fnz_status status = fnz_run(ctx, p, owned, inputs, how, out);
  fnz_arrays_destroy(out);
  fnz_backend_destroy(owned);
  return status;
}

static fnz_backend *hashes(bool bytewise) {
  fnz_backend *backend;
  OK(ctx, fnz_hash_backend_create(ctx, 1, bytewise, &backend));
  return backend;
}

static fnz_backend *numbers(void) {
  fnz_backend *backend;
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &backend));
  return backend;
}

static fnz_status do_row(deed *what, size_t i) {
  fnz_program *p = program_of(ctx, rows[i].inputs, rows[i].body);
  fnz_arrays *inputs = zeros_for(p);
  fnz_status status = what(p, inputs);
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(p);
  if (status == FNZ_INTERNAL || status == FNZ_BAD_ARGUMENT)
    ck_abort_msg("row %zu: %s: %s: %s", i, rows[i].body, fnz_last_error(ctx)->where,
                 fnz_last_error(ctx)->message);
  return status;
}

static void do_all(deed *what) {
  open_context();
  for (size_t i = 0; i < NROWS; i++)
    (void)do_row(what, i);
  fnz_context_destroy(ctx);
}

static fnz_status original_over_bytes(fnz_program *p, const fnz_arrays *inputs) {
  believe(p);
  return run_on(AS_ORIGINAL, p, inputs, hashes(true));
}

START_TEST(each_has_its_class) {
  open_context();
  for (size_t i = 0; i < NROWS; i++) {
    bool fine = do_row(original_over_bytes, i) == FNZ_OK;
    const char *got = fine ? "NONE" : fnz_class_name(fnz_last_error(ctx)->kind);
    if (strcmp(got, rows[i].class_name) != 0)
      ck_abort_msg("row %zu: %s: %s instead of %s: %s", i, rows[i].body, got, rows[i].class_name,
                   fine ? "" : fnz_last_error(ctx)->message);
  }
  fnz_context_destroy(ctx);
}
END_TEST

static fnz_status over_elements(fnz_program *p, const fnz_arrays *inputs) {
  believe(p);
  (void)run_on(AS_ORIGINAL, p, inputs, hashes(false));
  return run_on(NULL, p, inputs, hashes(false));
}

START_TEST(hashes_of_elements) {
  do_all(over_elements);
}
END_TEST

static fnz_status original_over_numbers(fnz_program *p, const fnz_arrays *inputs) {
  believe(p);
  return run_on(AS_ORIGINAL, p, inputs, numbers());
}

START_TEST(numbers_on_aliasing_memory) {
  do_all(original_over_numbers);
}
END_TEST

static fnz_status functional_over_numbers(fnz_program *p, const fnz_arrays *inputs) {
  believe(p);
  return run_on(NULL, p, inputs, numbers());
}

START_TEST(numbers_as_functional_program) {
  do_all(functional_over_numbers);
}
END_TEST

static fnz_status rewrite(fnz_program *p, const fnz_arrays *inputs) {
  fnz_program *made;
  fnz_buffer bytes = {NULL, 0, 0};
  (void)inputs;
  FNZ_TRY(fnz_functionalize(ctx, p, NULL, &made));
  OK(ctx, fnz_program_verify(ctx, made));
  fnz_status status = fnz_program_write(ctx, made, FNZ_FORMAT_CBOR, &bytes);
  fnz_buffer_free(ctx, &bytes);
  fnz_program_destroy(made);
  return status;
}

START_TEST(functionalized) {
  do_all(rewrite);
}
END_TEST

/* Against what the pass makes of it, and against itself: never different. */
static fnz_status compare(fnz_program *p, const fnz_arrays *inputs) {
  fnz_status status = fnz_verify(ctx, p, NULL, inputs, WITH_TRIALS(1), NULL);
  ck_assert_msg(status != FNZ_DIFFERENT, "%s", fnz_last_error(ctx)->message);
  status = fnz_verify(ctx, p, p, inputs, WITH_TRIALS(1), NULL);
  ck_assert_msg(status != FNZ_DIFFERENT, "%s", fnz_last_error(ctx)->message);
  return status;
}

START_TEST(verified) {
  do_all(compare);
}
END_TEST

RUN_SUITE("hostile programs", each_has_its_class, hashes_of_elements, numbers_on_aliasing_memory,
          numbers_as_functional_program, functionalized, verified)
