/* checks: 6
 * prims_test.c - operators of PyTorch's namespace prims: programs of them have eager PyTorch's
 * results, they become ATen operators when they are read, and arguments that prims refuse are
 * refused. */
#include "program/program.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>
#include <math.h>
#include <stdio.h>

/* `normals` are made of logarithms: their last places may differ. */
static const char *const names[] = {"drawn",  "dropped", "elements", "made", "normals", "normed",
                                    "pooled", "pools",   "shapes",   "sums", "views"};

static void read_file(const char *name, const char *ending, fnz_buffer *out) {
  char path[512];
  snprintf(path, sizeof path, "%s/fixtures/prims/%s%s", FNZ_SOURCE_DIR, name, ending);
  OK(ctx, fnz_file_read(ctx, path, out));
}

static fnz_program *read_program(const char *name) {
  fnz_buffer file;
  fnz_program *p;
  read_file(name, ".pt2", &file);
  OK(ctx, fnz_program_read(ctx, file.data, file.size, FNZ_FORMAT_PT2, &p));
  OK(ctx, fnz_program_place_views(ctx, p));
  fnz_buffer_free(ctx, &file);
  return p;
}

static fnz_arrays *read_arrays(const char *name, const char *ending) {
  fnz_buffer file;
  fnz_arrays *arrays;
  read_file(name, ending, &file);
  OK(ctx, fnz_arrays_read_safetensors(ctx, file.data, file.size, &arrays));
  fnz_buffer_free(ctx, &file);
  return arrays;
}

/* --- Numbers ---------------------------------------------------------------------------------- */
static double number(const fnz_array *a, size_t i) {
  if (a->dtype == FNZ_F64)
    return ((const double *)a->data)[i];
  return ((const float *)a->data)[i];
}

static bool is_near(double a, double b) {
  return (isnan(a) && isnan(b)) || a == b || fabs(a - b) < 1e-5 * fmax(1, fabs(b));
}

/* Whole numbers and halves have eager's bits. */
static void must_be_near(const char *name, const fnz_array *got, const fnz_array *want) {
  ck_assert_msg(got && got->dtype == want->dtype && got->bytes == want->bytes,
                "%s: %s looks otherwise", name, want->name);
  if (memcmp(got->data, want->data, want->bytes) == 0)
    return;
  size_t item = want->dtype == FNZ_F64 ? sizeof(double) : sizeof(float);
  ck_assert_msg(want->dtype == FNZ_F32 || want->dtype == FNZ_F64 || want->dtype == FNZ_C64,
                "%s: %s has other values", name, want->name);
  for (size_t i = 0; i < want->bytes / item; i++)
    ck_assert_msg(is_near(number(got, i), number(want, i)), "%s: %s[%zu] is %g, not %g", name,
                  want->name, i, number(got, i), number(want, i));
}

static void must_run(const char *name, const fnz_run_options *how, const fnz_program *p) {
  fnz_arrays *in = read_arrays(name, ".inputs.safetensors"), *got;
  fnz_arrays *want = read_arrays(name, ".expected.safetensors");
  fnz_backend *cpu;
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_run(ctx, p, cpu, in, how, got));
  for (size_t i = 0; i < fnz_arrays_count(want); i++)
    must_be_near(name, fnz_arrays_find(got, fnz_arrays_at(want, i)->name), fnz_arrays_at(want, i));
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(want);
  fnz_arrays_destroy(in);
}

START_TEST(numbers_of_eager) {
  begin();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    fnz_program *p = read_program(names[i]), *f;
    must_run(names[i], AS_ORIGINAL, p);
    OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
    must_run(names[i], NULL, f);
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

START_TEST(equal_for_all_values) {
  begin();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    fnz_program *p = read_program(names[i]);
    OK(ctx, fnz_verify(ctx, p, NULL, NULL, WITH_TRIALS(2), NULL));
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* --- Names ------------------------------------------------------------------------------------ */
static size_t count_prims(const fnz_program *p) {
  size_t n = 0;
  for (uint32_t k = 0; k < fnzi_graph_main(p)->nodes.count; k++)
    n += strncmp(fnzi_node_target(fnzi_node_at(p, 0, k)), "prims::", strlen("prims::")) == 0;
  return n;
}

/* Operators that stay are steps, and decompositions take them apart. */
START_TEST(they_become_aten) {
  begin();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    fnz_program *p = made_functional(read_program(names[i])), *core;
    fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
    for (uint32_t k = 0; k < fnzi_graph_main(p)->nodes.count; k++) {
      const fnz_op *op = fnzi_node_at(p, 0, k)->op;
      ck_assert_msg(!op || !fnzi_builtin_prim(op), "%s: %s", names[i], fnz_op_name(op));
    }
    o.set = "core";
    OK(ctx, fnz_decompose(ctx, p, &o, &core));
    ck_assert_msg(count_prims(core) == 0, "%s: %zu are left", names[i], count_prims(core));
    fnz_program_destroy(core);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* Each row's call is one that the table has. */
START_TEST(rows_are_calls) {
  size_t read = 0, calls = 0;
  fnz_program *p;
  begin();
  OK(ctx, fnzi_program_create(ctx, &p));
  for (size_t i = 0; i < fnzi_builtin_count(); i++) {
    const char *schema = fnzi_builtin_at(i);
    const fnz_op *op;
    char name[128];
    if (strncmp(schema, "prims::", strlen("prims::")) != 0)
      continue;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(schema, "("), schema);
    OK(ctx, fnzi_op_use(p, name, &op));
    const fnzi_prim *prim = fnzi_builtin_prim(op);
    read += prim != NULL;
    if (!prim || prim->kind > FNZI_PRIM_TWICE)
      continue;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(prim->as, "("), prim->as);
    ck_assert_msg(fnz_op_find(NULL, name) != NULL, "%s: %s", op->name, prim->as);
    ck_assert_str_eq(fnz_op_rule(op).words, prim->as);
    calls++;
  }
  fnz_program_destroy(p);
  ck_assert_uint_eq(read, 123);
  ck_assert_uint_eq(calls, 118);
  end();
}
END_TEST

/* --- Refusals --------------------------------------------------------------------------------- */
static const struct {
  const char *body, *says;
} refused[] = {
    {"%y: f32[2] = prims::add(%x, %n)", "one element type, but has f32 and i64"},
    {"%y: f32[2] = prims::mul(%x, %z)", "its tensors have other sizes"},
    {"%y: f32[2,3] = prims::broadcast_in_dim(%z, [3, 2], [1, 0])", "in ascending order"},
    {"%y: f32[] = prims::amax(%x, [0], output_dtype=f64)", "output_dtype is given"},
    {"%y: i64[4] = prims::iota(4, start=1, step=4611686018427387904, dtype=i64, device=\"cpu\", "
     "requires_grad=False)",
     "more than 64 bits"},
    {"%y: f32[2] = prims::inductor_random([2], %n, \"exponential\")", "must be \"rand\""},
    {"%y: f32[2] = prims::absolute(%x)", "there is no operator prims::absolute"},
};

START_TEST(what_prims_refuse) {
  begin();
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    char text[600];
    fnz_program *p = NULL;
    int size = snprintf(text, sizeof text,
                        "fnz 1\nprogram(%%x: f32[2], %%n: i64[2], %%z: f32[2,3])\n{\n  %s\n"
                        "  return %%y\n}\n",
                        refused[i].body);
    fnz_status status = fnz_program_read(ctx, text, (size_t)size, FNZ_FORMAT_TEXT, &p);
    ck_assert_msg(status != FNZ_OK, "%s is read", refused[i].body);
    ck_assert_msg(strstr(fnz_last_error(ctx)->message, refused[i].says) != NULL, "%s: %s",
                  refused[i].body, fnz_last_error(ctx)->message);
    ck_assert_ptr_null(p);
  }
  end();
}
END_TEST

/* --- Out of memory ---------------------------------------------------------------------------- */
static fnz_status read_once(fnz_context *context, const void *file) {
  const fnz_buffer *bytes = file;
  fnz_program *p = NULL;
  fnz_status status = fnz_program_read(context, bytes->data, bytes->size, FNZ_FORMAT_PT2, &p);
  fnz_program_destroy(p);
  return status;
}

START_TEST(no_memory_anywhere) {
  static const char *const few[] = {"drawn", "views", "made"};
  for (size_t i = 0; i < sizeof few / sizeof *few; i++) {
    fnz_buffer file;
    begin();
    read_file(few[i], ".pt2", &file);
    ck_assert_uint_gt(each_fault(read_once, &file), 50);
    fnz_buffer_free(ctx, &file);
    end();
  }
}
END_TEST

RUN_SUITE("prims", numbers_of_eager, equal_for_all_values, they_become_aten, rows_are_calls,
          what_prims_refuse, no_memory_anywhere)
