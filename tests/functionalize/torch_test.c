/* checks: 3
 * torch_test.c - programs on which fnz and PyTorch were not of one mind once: eager's bits from
 * both interpreters, what eager refuses is refused, and the functional form is equal for all
 * values. */
#include "tests/help/context.h"

#include <dirent.h>
#include <fnz/fnz.h>
#include <stdio.h>

#define FOLDER FNZ_SOURCE_DIR "/fixtures/torch"

static bool read_file(const char *name, const char *file, fnz_buffer *out) {
  char path[512];
  snprintf(path, sizeof path, "%s/%s/%s", FOLDER, name, file);
  return fnz_file_read(ctx, path, out) == FNZ_OK;
}

static fnz_program *read_program(const char *name) {
  fnz_buffer file;
  fnz_program *p;
  ck_assert_msg(read_file(name, "program.pt2", &file), "%s has no program", name);
  OK(ctx, fnz_program_read(ctx, file.data, file.size, FNZ_FORMAT_PT2, &p));
  fnz_buffer_free(ctx, &file);
  return p;
}

/* NULL where there is no such file. */
static fnz_arrays *read_arrays(const char *name, const char *ending) {
  fnz_buffer file;
  fnz_arrays *arrays;
  if (!read_file(name, ending, &file))
    return NULL;
  OK(ctx, fnz_arrays_read_safetensors(ctx, file.data, file.size, &arrays));
  fnz_buffer_free(ctx, &file);
  return arrays;
}

static void must_equal(const char *name, const char *way, const fnz_array *got,
                       const fnz_array *want) {
  ck_assert_msg(got != NULL, "%s, %s: there is no %s", name, way, want->name);
  ck_assert_msg(got->dtype == want->dtype && got->bytes == want->bytes &&
                    memcmp(got->data, want->data, want->bytes) == 0,
                "%s, %s: %s has other bits", name, way, want->name);
}

/* Outputs and inputs after the call; an input that is not listed is as it was. */
static void must_equal_all(const char *name, const char *way, const fnz_arrays *in,
                           const fnz_arrays *got, const fnz_arrays *want) {
  for (size_t i = 0; i < fnz_arrays_count(want); i++) {
    const fnz_array *a = fnz_arrays_at(want, i), *b = fnz_arrays_find(got, a->name);
    bool is_input = strncmp(a->name, "input.", strlen("input.")) == 0;
    must_equal(name, way, b || !is_input ? b : fnz_arrays_find(in, a->name + strlen("input.")), a);
  }
}

static void must_do_as_eager(const char *name, const char *way, const fnz_run_options *how,
                             const fnz_program *program) {
  fnz_arrays *in = read_arrays(name, "inputs.safetensors"),
             *want = read_arrays(name, "expected.safetensors"), *got;
  fnz_backend *cpu;
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  fnz_status status = fnz_run(ctx, program, cpu, in, how, got);
  if (want) {
    OK(ctx, status);
    must_equal_all(name, way, in, got, want);
  } else {
    ck_assert_msg(status == FNZ_BAD_INPUT || status == FNZ_UNSUPPORTED,
                  "%s, %s: accepted, but eager refuses it", name, way);
  }
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(want);
  fnz_arrays_destroy(in);
}

/* --- What is done with each ------------------------------------------------------------------- */
static void run_original(const char *name) {
  fnz_program *p = read_program(name);
  must_do_as_eager(name, "run --original", AS_ORIGINAL, p);
  fnz_program_destroy(p);
}

static bool is_refused(const char *name) {
  fnz_arrays *want = read_arrays(name, "expected.safetensors");
  fnz_arrays_destroy(want);
  return !want;
}

static void run_functional(const char *name) {
  fnz_program *p = read_program(name), *f = NULL;
  fnz_status status = fnz_functionalize(ctx, p, NULL, &f);
  ck_assert_msg(status == FNZ_OK || is_refused(name), "%s: %s", name, fnz_last_error(ctx)->message);
  if (status == FNZ_OK)
    must_do_as_eager(name, "run", NULL, f);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
}

static void verify(const char *name) {
  if (is_refused(name))
    return;
  fnz_arrays *in = read_arrays(name, "inputs.safetensors");
  fnz_program *p = read_program(name);
  fnz_status status = fnz_verify(ctx, p, NULL, in, WITH_TRIALS(3), NULL);
  ck_assert_msg(status == FNZ_OK, "%s: %s", name, fnz_last_error(ctx)->message);
  fnz_program_destroy(p);
  fnz_arrays_destroy(in);
}

static void for_each(void (*what)(const char *name)) {
  int count = 0;
  begin();
  DIR *folder = opendir(FOLDER);
  ck_assert_ptr_nonnull(folder);
  for (struct dirent *e; (e = readdir(folder)) != NULL;) {
    if (e->d_name[0] == '.')
      continue;
    what(e->d_name);
    count++;
  }
  closedir(folder);
  ck_assert_int_gt(count, 0);
  end();
}

START_TEST(original_does_as_eager) {
  for_each(run_original);
}
END_TEST

START_TEST(functional_does_as_eager) {
  for_each(run_functional);
}
END_TEST

START_TEST(equal_for_all_values) {
  for_each(verify);
}
END_TEST

RUN_SUITE("torch", original_does_as_eager, functional_does_as_eager, equal_for_all_values)
