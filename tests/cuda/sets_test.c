/* checks: 9
 * sets_test.c - steps that run at once on a GPU are one launch: its operands are found in a table
 * in device memory, which is never one of another run; errors that are planted in its text are
 * found.
 */
#include "tests/cuda/both.h"

#include <stdarg.h>

enum { TENSORS = 200, ROOM = 1 << 19, LAYOUTS = 180 };

typedef struct text {
  char of[ROOM];
  size_t size;
} text;

static void put(text *t, const char *format, ...) FNZI_PRINTF(2, 3);
static void put(text *t, const char *format, ...) {
  va_list args;
  va_start(args, format);
  t->size += (size_t)vsnprintf(t->of + t->size, sizeof t->of - t->size, format, args);
  va_end(args);
  ck_assert(t->size < sizeof t->of);
}

static fnz_program *read_text(fnz_context *ctx, const text *t) {
  fnz_program *traced;
  OK(ctx, fnz_program_read(ctx, t->of, t->size, FNZ_FORMAT_TEXT, &traced));
  return functional_of(ctx, traced);
}

/* --- Adam ------------------------------------------------------------------------------------- */
static int size_of(int i) {
  static const int sizes[] = {64, 1000, 1001, 4096, 7, 5000, 1, 1024, 1025, 2};
  return sizes[i % 10];
}

/* One step for `count` tensors; unchanged ones are returned. */
static fnz_program *adam(fnz_context *ctx, int count) {
  static const char *const names[] = {"p", "m", "v"};
  static text t;
  t.size = 0;
  put(&t, "fnz 1\n");
  for (int i = 0; i < count; i++)
    for (int k = 0; k < 3; k++)
      put(&t, "weight \"%s%d\": f32[%d]\n", names[k], i, size_of(i));
  put(&t, "program(");
  for (int i = 0; i < count; i++)
    for (int k = 0; k < 3; k++)
      put(&t, "%%%s%d: f32[%d] buffer \"%s%d\", ", names[k], i, size_of(i), names[k], i);
  for (int i = 0; i < count; i++)
    put(&t, "%s%%g%d: f32[%d]", i ? ", " : "", i, size_of(i));
  put(&t, ", %%rate: f32[])\n{\n");
  for (int i = 0; i < count; i++) {
    int n = size_of(i);
    put(&t, "  %%ma%d: f32[%d] = mul_.Tensor(%%m%d, 0.9)\n", i, n, i);
    put(&t, "  %%mb%d: f32[%d] = add_.Tensor(%%m%d, %%g%d, alpha=0.1)\n", i, n, i, i);
    put(&t, "  %%va%d: f32[%d] = mul_.Tensor(%%v%d, 0.999)\n", i, n, i);
    put(&t, "  %%vb%d: f32[%d] = addcmul_(%%v%d, %%g%d, %%g%d, value=0.001)\n", i, n, i, i, i);
    put(&t, "  %%s%d: f32[%d] = sqrt(%%v%d)\n", i, n, i);
    put(&t, "  %%d%d: f32[%d] = add.Tensor(%%s%d, 0.00001)\n", i, n, i);
    put(&t, "  %%r%d: f32[%d] = div.Tensor(%%m%d, %%d%d)\n", i, n, i, i);
    put(&t, "  %%w%d: f32[%d] = mul.Tensor(%%r%d, %%rate)\n", i, n, i);
    put(&t, "  %%u%d: f32[%d] = add_.Tensor(%%p%d, %%w%d)\n", i, n, i, i);
  }
  put(&t, "  return %%g0\n}\n");
  return read_text(ctx, &t);
}

typedef struct training {
  fnz_context *ctx;
  fnz_program *p;
  fnz_executable *exe;
  fnz_workspace *ws;
  fnz_executable_state *states[2];
  fnz_arrays *inputs;
} training;

static void add_rate(fnz_context *ctx, fnz_arrays *arrays) {
  void *data;
  OK(ctx, fnz_arrays_add(arrays, "rate", FNZ_F32, 0, NULL, &data));
  *(float *)data = -0.01f;
}

static void add_array(fnz_context *ctx, fnz_arrays *arrays, bool of_state, char kind, int i) {
  const int64_t sizes[] = {size_of(i)};
  char name[32];
  void *data;
  snprintf(name, sizeof name, "%s%c%d", of_state ? "buffer." : "", kind, i);
  OK(ctx, fnz_arrays_add(arrays, name, FNZ_F32, 1, sizes, &data));
  for (int k = 0; k < size_of(i); k++)
    ((float *)data)[k] = (float)(k % 13 + i + kind % 5) / 16;
}

static void open_training(training *t, const char *device) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_arrays *all;
  options.staging = true;
  options.device = device;
  options.threads = 1;
  t->ctx = open_context();
  t->p = adam(t->ctx, TENSORS);
  OK(t->ctx, fnz_compile(t->ctx, t->p, &options, &t->exe));
  OK(t->ctx, fnz_workspace_create(t->ctx, t->exe, &t->ws));
  OK(t->ctx, fnz_arrays_create(t->ctx, &t->inputs));
  OK(t->ctx, fnz_arrays_create(t->ctx, &all));
  for (int i = 0; i < 4 * TENSORS; i++)
    add_array(t->ctx, i % 4 == 3 ? t->inputs : all, i % 4 != 3, "pmvg"[i % 4], i / 4);
  add_rate(t->ctx, t->inputs);
  for (int s = 0; s < 2; s++) {
    OK(t->ctx, fnz_executable_state_create(t->ctx, t->exe, &t->states[s]));
    OK(t->ctx, fnz_executable_state_read(t->ctx, t->states[s], all));
  }
  fnz_arrays_destroy(all);
}

static void close_training(training *t) {
  for (int s = 0; s < 2; s++)
    fnz_executable_state_destroy(t->states[s]);
  fnz_arrays_destroy(t->inputs);
  fnz_workspace_destroy(t->ws);
  fnz_executable_destroy(t->exe);
  fnz_program_destroy(t->p);
  fnz_context_destroy(t->ctx);
}

static void step(training *t, int state) {
  fnz_arrays *out;
  OK(t->ctx, fnz_arrays_create(t->ctx, &out));
  OK(t->ctx, fnz_executable_run_arrays(t->ctx, t->exe, t->inputs, t->states[state], t->ws, out));
  fnz_arrays_destroy(out);
}

static void states_are_equal(training *a, training *b, int state) {
  fnz_arrays *x, *y;
  OK(a->ctx, fnz_arrays_create(a->ctx, &x));
  OK(b->ctx, fnz_arrays_create(b->ctx, &y));
  OK(a->ctx, fnz_executable_state_write(a->ctx, a->states[state], x));
  OK(b->ctx, fnz_executable_state_write(b->ctx, b->states[state], y));
  ck_assert_uint_eq(fnz_arrays_count(x), 3 * TENSORS);
  ck_assert_uint_eq(fnz_arrays_count(y), 3 * TENSORS);
  for (size_t k = 0; k < fnz_arrays_count(x); k++)
    ck_assert_mem_eq(fnz_arrays_at(x, k)->data, fnz_arrays_at(y, k)->data,
                     fnz_arrays_at(x, k)->bytes);
  fnz_arrays_destroy(x);
  fnz_arrays_destroy(y);
}

/* With the copy of the output two launches, which are one graph from the second step on; whatever
 * state comes, the graph stays as it is. */
START_TEST(an_optimizer_step_is_one_launch) {
  static const int order[] = {0, 0, 1, 0, 1, 1, 0};
  training gpu, cpu;
  open_training(&gpu, "cuda");
  open_training(&cpu, "cpu");
  for (size_t i = 0; i < sizeof order / sizeof *order; i++) {
    standin_counts before = counts_now();
    step(&gpu, order[i]);
    standin_counts after = counts_now();
    ck_assert_msg(!after.wrong, "%s", after.wrong);
    ck_assert_uint_eq(after.launches - before.launches, 2);
    ck_assert_uint_eq(after.captures - before.captures, i == 1);
    ck_assert_uint_eq(after.graphs - before.graphs, i > 0);
    ck_assert_uint_eq(after.nodes_set, before.nodes_set);
    step(&cpu, order[i]);
  }
  for (int s = 0; s < 2; s++)
    states_are_equal(&gpu, &cpu, s);
  close_training(&gpu);
  close_training(&cpu);
  nothing_is_left();
}
END_TEST

/* --- Layouts ---------------------------------------------------------------------------------- */
/* Views of all kinds of an input, of three dtypes: dense and not, at odd places, of one element. */
static void put_layouts(text *t) {
  static const char *const types[] = {"f32", "bf16", "f64"};
  static const int widths[] = {64, 32, 5, 12}, firsts[] = {0, 8, 3, 1};
  t->size = 0;
  put(t, "fnz 1\nprogram(");
  for (int k = 0; k < 3; k++)
    put(t, "%s%%x%d: %s[64, 64]", k ? ", " : "", k, types[k]);
  put(t, ")\n{\n");
  for (int i = 0; i < LAYOUTS; i++) {
    const char *type = types[i / 60];
    int rows = 1 + i * 7 % 24, columns = widths[i % 4], first = firsts[i % 4];
    put(t, "  %%a%d: %s[%d, 64] = slice.Tensor(%%x%d, 0, %d, %d)\n", i, type, rows, i / 60, i % 40,
        i % 40 + rows);
    put(t, "  %%b%d: %s[%d, %d] = slice.Tensor(%%a%d, 1, %d, %d)\n", i, type, rows, columns, i,
        first, first + columns);
    if (i % 3 == 2)
      put(t, "  %%c%d: %s[%d, %d] = t(%%b%d)\n", i, type, columns, rows, i);
    put(t, "  %%d%d: %s[%d, %d] = mul.Tensor(%%%s%d, 3)\n", i, type, i % 3 == 2 ? columns : rows,
        i % 3 == 2 ? rows : columns, i % 3 == 2 ? "c" : "b", i);
  }
  put(t, "  return ");
  for (int i = 0; i < LAYOUTS; i++)
    put(t, "%s%%d%d", i ? ", " : "", i);
  put(t, "\n}\n");
}

START_TEST(sets_of_all_layouts_have_the_cpus_bits) {
  static text t;
  put_layouts(&t);
  fnz_context *ctx = open_context();
  bool equal;
  standin_counts before = counts_now();
  OK(ctx, run_on_both(ctx, read_text(ctx, &t), &equal));
  ck_assert(equal);
  uint64_t launches = counts_now().launches - before.launches;
  printf("%d steps by %d launches\n", (int)LAYOUTS, (int)launches);
  ck_assert_uint_lt(launches, LAYOUTS / 4);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* Each in a process of its own, because an error lasts. */
static const char *const plants[] = {
    "1;<= block);< block)",
    "1;high - low > 1;high - low > 2",
    "1;* 256, count;* 255, count",
    "1;first + 256 < bunches ? first + 256;first + 255 < bunches ? first + 255",
    "1;if (end == bunches);if (end > bunches)",
    "1;at < end;at < end - 1",
    "1;low = middle;low = middle + 1",
};
enum { PLANTS = sizeof plants / sizeof *plants };

START_TEST(planted_errors_are_found) {
  fnz_context *ctx = open_context();
  bool equal;
  setenv("STANDIN_PLANT", plants[_i], 1);
  fnz_status status = run_on_both(ctx, adam(ctx, 10), &equal);
  ck_assert_msg(!equal, "%s", plants[_i]);
  ck_assert_msg(status == FNZ_OK || counts_now().wrong != NULL, "%s: %s", plants[_i],
                fnz_last_error(ctx)->message);
  fnz_context_destroy(ctx);
}
END_TEST

int main(void) {
  TCase *c = tcase_create("sets");
  tcase_set_timeout(c, 600);
  tcase_add_test(c, an_optimizer_step_is_one_launch);
  tcase_add_test(c, sets_of_all_layouts_have_the_cpus_bits);
  ADD_OF_STANDIN(c, planted_errors_are_found, PLANTS);
  return run_one_case("sets", c);
}
