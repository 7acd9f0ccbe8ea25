/* checks: 5
 * state_test.c - programs that keep one memory under two names: four calls in a row equal eager
 * PyTorch's in every form, and the file's record of it. */
#include "program/program.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>
#include <math.h>
#include <stdio.h>

static const char *const names[] = {"static_cache", "optimizer_step", "adam_step", "nadam_step",
                                    "windows"};
enum { NAMES = sizeof names / sizeof *names, STEPS = 4 };

static fnz_buffer read_file(const char *name, const char *ending) {
  char path[512];
  fnz_buffer file;
  snprintf(path, sizeof path, "%s/fixtures/state/%s%s", FNZ_SOURCE_DIR, name, ending);
  OK(ctx, fnz_file_read(ctx, path, &file));
  return file;
}

static fnz_program *read_bytes(fnz_buffer bytes) {
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, bytes.data, bytes.size, FNZ_FORMAT_AUTO, &p));
  fnz_buffer_free(ctx, &bytes);
  return p;
}

static fnz_program *read_source(const char *name) {
  return read_bytes(read_file(name, ".pt2"));
}

static fnz_buffer write_as(const fnz_program *p, fnz_format format) {
  fnz_buffer out = {0};
  OK(ctx, fnz_program_write(ctx, p, format, &out));
  return out;
}

/* --- calls in a row --------------------------------------------------------------------------- */
static void must_be_near(const char *name, const fnz_array *got, const fnz_array *want) {
  ck_assert_msg(got && got->dtype == want->dtype && got->bytes == want->bytes,
                "%s: %s is not there, or looks otherwise", name, want->name);
  const float *a = got->data, *b = want->data;
  if (want->dtype != FNZ_F32)
    ck_assert_mem_eq(got->data, want->data, want->bytes);
  for (size_t i = 0; want->dtype == FNZ_F32 && i < want->bytes / sizeof *a; i++)
    ck_assert_msg(fabsf(a[i] - b[i]) < 1e-5F, "%s: %s[%zu] is %g, not %g", name, want->name, i,
                  (double)a[i], (double)b[i]);
}

/* The elements of the array, in rows, to where the weight has them. */
static void put_elements(const fnzi_weight *w, const fnz_array *a) {
  const fnz_geometry *g = w->geometry;
  const size_t item = fnzi_dtype(g->dtype)->bytes;
  for (int64_t i = 0; i < fnz_geometry_numel(g); i++) {
    int64_t place = g->offset, left = i;
    for (uint32_t d = g->rank; d-- > 0; left /= g->sizes[d])
      place += left % g->sizes[d] * g->strides[d];
    memcpy((char *)fnzi_blob_data(w->blob) + (size_t)place * item,
           (const char *)a->data + (size_t)i * item, item);
  }
}

/* The final values become what the next call begins with. */
static void keep_state(const fnz_program *p, const fnz_arrays *got) {
  for (size_t i = 0; i < p->weights.count; i++) {
    const fnzi_weight *w = &p->weights.data[i];
    char name[64];
    snprintf(name, sizeof name, "buffer.%s", w->name);
    const fnz_array *a = fnz_arrays_find(got, name);
    if (a)
      put_elements(w, a);
  }
}

/* A .pt2 file has one name for memory that is written. */
static bool is_left_out(const fnz_program *p, const char *name) {
  return strncmp(name, "buffer.", 7) == 0 && !fnzi_weight_find(p, name + 7);
}

static void must_step(const char *name, const fnz_run_options *how, fnz_program *p,
                      const fnz_arrays *steps, int step) {
  fnz_arrays *in, *got;
  fnz_backend *cpu;
  void *data;
  char prefix[32];
  int size = snprintf(prefix, sizeof prefix, "%d.input.", step);
  OK(ctx, fnz_arrays_create(ctx, &in));
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  for (size_t i = 0; i < fnz_arrays_count(steps); i++) {
    const fnz_array *a = fnz_arrays_at(steps, i);
    if (strncmp(a->name, prefix, (size_t)size) != 0)
      continue;
    OK(ctx, fnz_arrays_add(in, a->name + size, a->dtype, a->rank, a->sizes, &data));
    memcpy(data, a->data, a->bytes);
  }
  OK(ctx, fnz_run(ctx, p, cpu, in, how, got));
  for (size_t i = 0; i < fnz_arrays_count(steps); i++) {
    const fnz_array *a = fnz_arrays_at(steps, i);
    if (a->name[0] == prefix[0] && strncmp(a->name, prefix, (size_t)size) != 0 &&
        !is_left_out(p, a->name + 2))
      must_be_near(name, fnz_arrays_find(got, a->name + 2), a);
  }
  keep_state(p, got);
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(in);
}

static void must_run(const char *name, const fnz_run_options *how, fnz_program *p) {
  fnz_buffer file = read_file(name, ".steps.safetensors");
  fnz_arrays *steps;
  OK(ctx, fnz_arrays_read_safetensors(ctx, file.data, file.size, &steps));
  for (int k = 0; k < STEPS; k++)
    must_step(name, how, p, steps, k);
  fnz_arrays_destroy(steps);
  fnz_buffer_free(ctx, &file);
  fnz_program_destroy(p);
}

START_TEST(four_calls_are_those_of_eager) {
  begin();
  for (int i = 0; i < NAMES; i++) {
    fnz_program *p = made_functional(read_source(names[i]));
    must_run(names[i], NULL, read_again(p, FNZ_FORMAT_PT2));
    must_run(names[i], AS_ORIGINAL, read_again(p, FNZ_FORMAT_PT2));
    must_run(names[i], NULL, read_again(p, FNZ_FORMAT_CBOR));
    must_run(names[i], NULL, p);
    must_run(names[i], AS_ORIGINAL, read_source(names[i]));
  }
  end();
}
END_TEST

START_TEST(equal_for_all_values) {
  begin();
  for (int i = 0; i < NAMES; i++) {
    fnz_program *p = read_source(names[i]), *f = made_functional(read_source(names[i]));
    fnz_program *q = read_again(f, FNZ_FORMAT_PT2);
    OK(ctx, fnz_verify(ctx, p, q, NULL, NULL, NULL));
    OK(ctx, fnz_verify(ctx, q, NULL, NULL, NULL, NULL));
    OK(ctx, fnz_verify(ctx, f, q, NULL, NULL, NULL));
    fnz_program_destroy(q);
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* --- what a .pt2 file can say ----------------------------------------------------------------- */
/* PyTorch's run_decompositions() refuses memory that is written and listed twice: names that
 * nothing reads go, of windows too. */
static void must_list_once(const char *name, const char *stays, const char *goes) {
  fnz_program *p = made_functional(read_source(name));
  fnz_buffer json = write_as(p, FNZ_FORMAT_JSON);
  ck_assert_ptr_nonnull(strstr(json.data, stays));
  ck_assert_ptr_null(strstr(json.data, goes));
  fnz_buffer_free(ctx, &json);
  fnz_program *q = read_again(p, FNZ_FORMAT_PT2);
  fnz_buffer once = write_as(p, FNZ_FORMAT_PT2), twice = write_as(q, FNZ_FORMAT_PT2);
  ck_assert_uint_eq(once.size, twice.size);
  ck_assert_mem_eq(once.data, twice.data, once.size);
  fnz_buffer_free(ctx, &once);
  fnz_buffer_free(ctx, &twice);
  fnz_program_destroy(q);
  fnz_program_destroy(p);
}

START_TEST(a_buffer_is_listed_once) {
  begin();
  must_list_once("static_cache", "\"buffer_name\": \"key_cache_0\"}}", "lifted_tensor_1");
  must_list_once("windows", "\"buffer_name\": \"whole\"}}", "\"buffer_name\": \"part\"");
  end();
}
END_TEST

#define TWO_INPUTS(body) "fnz 1\nprogram(\n  %x: f32[4],\n  %y: f32[4])\n{\n" body "}\n"
#define WRITES           "  %a: f32[4] = mul.Scalar(%x, 2)\n  %b: f32[4] = add_.Tensor(%y, %a)\n  return %b\n"

static fnz_status write_aliased(const char *alias, bool is_functional, const char *text) {
  fnz_buffer out = {0};
  fnz_program *p = read_text(text);
  OK(ctx, fnz_program_alias(ctx, p, alias));
  if (is_functional)
    p = made_functional(p);
  fnz_status status = fnz_program_write(ctx, p, FNZ_FORMAT_JSON, &out);
  fnz_buffer_free(ctx, &out);
  fnz_program_destroy(p);
  return status;
}

static void must_refuse(const char *alias, bool is_functional, const char *text, const char *says) {
  FAILS(ctx, "UNSUPPORTED", write_aliased(alias, is_functional, text));
  ck_assert_msg(strstr(fnz_last_error(ctx)->message, says) != NULL, "%s",
                fnz_last_error(ctx)->message);
}

START_TEST(one_tensor_or_none) {
  begin();
  OK(ctx, write_aliased("y=x", true, TWO_INPUTS(WRITES)));
  OK(ctx, write_aliased("x=y", true, TWO_INPUTS(WRITES)));
  must_refuse("y=x", false, TWO_INPUTS(WRITES), "shares memory with x, and both are used,");
  must_refuse("y=x.as_strided((4,), (1,), 2)", true, TWO_INPUTS(WRITES), "as another window of it");
  must_refuse("x=y.as_strided((4,), (1,), 2)", true, TWO_INPUTS(WRITES), "a clone of one of them");
  end();
}
END_TEST

static fnz_status there_and_back(fnz_context *own, const void *user) {
  const fnz_buffer *file = user;
  fnz_program *p = NULL, *f = NULL, *q = NULL;
  fnz_buffer out = {0};
  fnz_status status = fnz_program_read(own, file->data, file->size, FNZ_FORMAT_PT2, &p);
  if (status == FNZ_OK)
    status = fnz_functionalize(own, p, NULL, &f);
  if (status == FNZ_OK)
    status = fnz_program_write(own, f, FNZ_FORMAT_PT2, &out);
  if (status == FNZ_OK)
    status = fnz_program_read(own, out.data, out.size, FNZ_FORMAT_PT2, &q);
  fnz_buffer_free(own, &out);
  fnz_program_destroy(p);
  fnz_program_destroy(f);
  fnz_program_destroy(q);
  return status;
}

START_TEST(no_memory_anywhere) {
  begin();
  fnz_buffer file = read_file("optimizer_step", ".pt2");
  ck_assert_uint_gt(each_fault(there_and_back, &file), 100);
  fnz_buffer_free(ctx, &file);
  end();
}
END_TEST

RUN_SUITE("state", four_calls_are_those_of_eager, equal_for_all_values, a_buffer_is_listed_once,
          one_tensor_or_none, no_memory_anywhere)
