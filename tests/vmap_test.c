/* checks: 5
 * vmap_test.c - regions of torch.vmap in exported programs: what they mean is what eager PyTorch
 * makes of them, and what has no rule is refused by name. */
#include "program/program.h"
#include "tests/archive.h"
#include "tests/faults.h"

#include <fnz/fnz.h>
#include <math.h>

static const char *const names[] = {"mask",   "places", "products",
                                    "shapes", "writes", "writes_base"};

static fnz_context *ctx;

static void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
}

static void end(void) {
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
}

static void read_file(const char *name, const char *ending, fnz_buffer *out) {
  char path[512];
  snprintf(path, sizeof path, "%s/fixtures/vmap/%s%s", FNZ_SOURCE_DIR, name, ending);
  OK(ctx, fnz_file_read(ctx, path, out));
}

static fnz_program *read_program(const char *name) {
  fnz_buffer file;
  fnz_program *p;
  read_file(name, ".pt2", &file);
  OK(ctx, fnz_program_read(ctx, file.data, file.size, FNZ_FORMAT_PT2, &p));
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
  if (a->dtype == FNZ_F32)
    return ((const float *)a->data)[i];
  if (a->dtype == FNZ_F64)
    return ((const double *)a->data)[i];
  ck_assert_int_eq(a->dtype, FNZ_I64);
  return (double)((const int64_t *)a->data)[i];
}

static void must_be_near(const char *name, const fnz_array *got, const fnz_array *want) {
  ck_assert_msg(got != NULL, "%s: there is no %s", name, want->name);
  ck_assert_msg(got->dtype == want->dtype && got->bytes == want->bytes, "%s: %s looks otherwise",
                name, want->name);
  size_t item = fnz_dtype_get_info(want->dtype)->bytes;
  if (memcmp(got->data, want->data, want->bytes) == 0)
    return;
  ck_assert_msg(want->dtype != FNZ_BOOL, "%s: %s has other values", name, want->name);
  for (size_t i = 0; i < want->bytes / item; i++)
    ck_assert_msg(fabs(number(got, i) - number(want, i)) < 1e-5, "%s: %s[%zu] is %g, not %g", name,
                  want->name, i, number(got, i), number(want, i));
}

typedef fnz_status run_fn(fnz_context *, const fnz_program *, fnz_backend *, const fnz_arrays *,
                          fnz_arrays *);

static void must_run(const char *name, run_fn *how, const fnz_program *p) {
  fnz_arrays *in = read_arrays(name, ".inputs.safetensors"), *got;
  fnz_arrays *want = read_arrays(name, ".expected.safetensors");
  fnz_backend *cpu;
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, how(ctx, p, cpu, in, got));
  for (size_t i = 0; i < fnz_arrays_count(want); i++) {
    const fnz_array *a = fnz_arrays_at(want, i), *b = fnz_arrays_find(got, a->name);
    bool is_output = strncmp(a->name, "output.", strlen("output.")) == 0;
    must_be_near(name, b || is_output ? b : fnz_arrays_find(in, a->name + strlen("input.")), a);
  }
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(want);
  fnz_arrays_destroy(in);
}

START_TEST(numbers_of_eager) {
  begin();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    fnz_program *p = read_program(names[i]), *f;
    must_run(names[i], fnz_run_original, p);
    OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
    must_run(names[i], fnz_run, f);
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
    OK(ctx, fnz_verify(ctx, p, NULL, NULL, 3));
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* No bookkeeping is left, and nothing else that is no operator. */
START_TEST(regions_are_gone) {
  begin();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    fnz_program *p = read_program(names[i]);
    OK(ctx, fnz_program_verify(ctx, p));
    for (uint32_t k = 0; k < fnzi_graph_at(p, 0)->nodes.count; k++)
      ck_assert_ptr_nonnull(fnzi_node_at(p, 0, k)->op);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* --- Refusals --------------------------------------------------------------------------------- */

/* An edit of a model.json, and what is said of it. */
typedef struct edit {
  const char *file, *from, *to, *class_name, *says;
} edit;

#define MARK(name) "torch._functorch.predispatch." name

static const edit edits[] = {
    {"writes", "aten.clone.default", "aten.pinverse.default", "UNSUPPORTED",
     "pinverse within torch.vmap has no rule for a batch"},
    {"writes", MARK("_add_batch_dim"), MARK("_make_dual"), "UNSUPPORTED",
     "of torch.func only vmap is read"},
    {"writes", MARK("_add_batch_dim"), MARK("lazy_load_decompositions"), "TYPE",
     "another number of arguments"},
    {"writes",
     "{\"name\": \"\", \"arg\": {\"as_int\": 1}, \"kind\": 1}], \"outputs\": "
     "[{\"as_tensor\": {\"name\": \"_add_batch_dim\"}}]",
     "{\"name\": \"\", \"arg\": {\"as_int\": 2}, \"kind\": 1}], \"outputs\": "
     "[{\"as_tensor\": {\"name\": \"_add_batch_dim\"}}]",
     "REF", "its level is not that of the innermost region"},
    {"writes",
     "{\"name\": \"\", \"arg\": {\"as_int\": 3}, \"kind\": 1}, {\"name\": \"\", \"arg\": "
     "{\"as_string\": \"error\"}",
     "{\"name\": \"\", \"arg\": {\"as_int\": 4}, \"kind\": 1}, {\"name\": \"\", \"arg\": "
     "{\"as_string\": \"error\"}",
     "BOUNDS", "not as long as the region's batch"},
    {"writes", MARK("_vmap_increment_nesting"), MARK("_vmap_decrement_nesting"), "TYPE",
     "another number of arguments"},
    {"writes", "aten.clone.default", "aten.bernoulli.default", "UNSUPPORTED",
     "its randomness is 'error'"},
};

START_TEST(what_is_refused) {
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    const edit *e = &edits[i];
    archive a;
    fnz_buffer file;
    fnz_program *p = NULL;
    begin();
    read_file(e->file, ".pt2", &file);
    unpack((bytes){file.data, file.size}, &a);
    record *model = find_record(&a, "models/model.json");
    char *text = replaced(model->bytes, e->from, e->to);
    fnz_status status = fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_PT2, &p);
    const fnz_error *error = fnz_last_error(ctx);
    ck_assert_msg(strcmp(fnz_class_name(error->kind), e->class_name) == 0 &&
                      (status == FNZ_OK || strstr(error->message, e->says)),
                  "edit %zu: want %s: %s, got %s: %s: %s", i, e->class_name, e->says,
                  fnz_class_name(error->kind), error->where, error->message);
    fnz_program_destroy(p);
    fnz_buffer_free(ctx, &file);
    free_archive(&a);
    free(text);
    end();
  }
}
END_TEST

static fnz_status read_once(fnz_context *context, const void *user) {
  const fnz_buffer *file = user;
  fnz_program *p = NULL;
  fnz_status status = fnz_program_read(context, file->data, file->size, FNZ_FORMAT_PT2, &p);
  fnz_program_destroy(p);
  return status;
}

START_TEST(no_memory_anywhere) {
  static const char *const few[] = {"mask", "places", "products"};
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

RUN_SUITE("vmap", numbers_of_eager, equal_for_all_values, regions_are_gone, what_is_refused,
          no_memory_anywhere)
