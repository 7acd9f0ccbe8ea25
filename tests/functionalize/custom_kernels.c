/* custom_kernels.c - kernels of declared operators: eager's numbers, and promises of schemas that
 * are not kept. */
#include "tests/functionalize/custom.h"

/* --- Numbers ---------------------------------------------------------------------------------- */

static float *element(fnz_memory m, int64_t row, int64_t column) {
  const fnz_geometry *g = m.geometry;
  return (float *)m.data +
         (g->rank > 1 ? row * g->strides[0] + column * g->strides[1] : column * g->strides[0]);
}

static int64_t columns(fnz_memory m) {
  return m.geometry->sizes[m.geometry->rank - 1];
}

static fnz_status scale_rows(fnz_frame *frame) {
  fnz_memory dst = fnz_frame_tensor(frame, fnz_frame_arg(frame, "dst"));
  fnz_memory factor = fnz_frame_tensor(frame, fnz_frame_arg(frame, "factor"));
  const fnz_arg *rows = fnz_frame_arg(frame, "rows");
  bool is_matrix = dst.geometry->rank > 1;
  for (uint32_t k = 0; k < rows->count; k++)
    for (int64_t i = 0; i < (is_matrix ? columns(dst) : 1); i++)
      *element(dst, rows->u.list[k].u.i, is_matrix ? i : rows->u.list[k].u.i) *=
          *(float *)factor.data;
  return FNZ_OK;
}

static fnz_status swap(fnz_frame *frame) {
  fnz_memory a = fnz_frame_tensor(frame, fnz_frame_arg(frame, "a"));
  fnz_memory b = fnz_frame_tensor(frame, fnz_frame_arg(frame, "b"));
  FNZ_TRY(fnz_frame_add_result(frame, FNZ_F32, 1, a.geometry->sizes, NULL));
  fnz_memory sum = fnz_frame_result(frame, 0);
  for (int64_t i = 0; i < columns(a); i++) {
    float before = *element(a, 0, i);
    *element(a, 0, i) = *element(b, 0, i);
    *element(b, 0, i) = before;
    *element(sum, 0, i) = *element(a, 0, i) + *element(b, 0, i);
  }
  return FNZ_OK;
}

static void add(fnz_memory m, float by) {
  for (int64_t i = 0; m.geometry && i < columns(m); i++)
    *element(m, 0, i) += by;
}

static fnz_status add_to(fnz_frame *frame) {
  const fnz_arg *outs = fnz_frame_arg(frame, "outs");
  fnz_memory x = fnz_frame_tensor(frame, fnz_frame_arg(frame, "x"));
  for (uint32_t k = 0; k < outs->count; k++)
    add(fnz_frame_tensor(frame, &outs->u.list[k]), *(float *)x.data);
  add(fnz_frame_tensor(frame, fnz_frame_arg(frame, "log")), 1);
  return FNZ_OK;
}

/* Reads all before it writes its arguments, in their order. */
static fnz_status mix(fnz_frame *frame) {
  fnz_memory a = fnz_frame_tensor(frame, fnz_frame_arg(frame, "a"));
  fnz_memory b = fnz_frame_tensor(frame, fnz_frame_arg(frame, "b"));
  fnz_memory c = fnz_frame_tensor(frame, fnz_frame_arg(frame, "c"));
  const fnz_geometry *g = a.geometry;
  float now[16][3];
  int64_t n = fnz_geometry_numel(g), width = columns(a);
  FNZ_TRY(fnz_frame_add_result(frame, FNZ_F32, g->rank, g->sizes, NULL));
  fnz_memory sum = fnz_frame_result(frame, 0);
  for (int64_t i = 0; i < n; i++) {
    now[i][0] = *element(a, i / width, i % width);
    now[i][1] = *element(b, i / width, i % width);
    now[i][2] = *element(c, i / width, i % width);
    *element(sum, i / width, i % width) = now[i][0] + now[i][1] + now[i][2];
  }
  for (int64_t i = 0; i < n; i++)
    *element(b, i / width, i % width) = now[i][1] * 3 - now[i][0];
  for (int64_t i = 0; i < n; i++)
    *element(a, i / width, i % width) = now[i][0] * 2 + now[i][2];
  return FNZ_OK;
}

static void register_kernels(fnz_backend *cpu) {
  static const struct {
    const char *op;
    fnz_kernel_fn *impl;
  } rows[] = {{"fixture::scale_rows", scale_rows},
              {"fixture::swap", swap},
              {"fixture::add_to", add_to},
              {"fixture::mix", mix}};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fnz_kernel kernel = {.op = fnz_op_find(ctx, rows[i].op), .impl = rows[i].impl};
    OK(ctx, fnz_kernel_register(ctx, cpu, &kernel));
  }
}

static fnz_arrays *read_arrays(const char *name) {
  char path[512];
  bytes file;
  fnz_arrays *arrays;
  snprintf(path, sizeof path, "../custom/%s", name);
  file = load_fixture(path);
  OK(ctx, fnz_arrays_read_safetensors(ctx, file.data, file.size, &arrays));
  free(file.data);
  return arrays;
}

static void must_equal(const fnz_arrays *got, const fnz_arrays *want, size_t outputs) {
  size_t met = 0;
  for (size_t i = 0; i < fnz_arrays_count(got); i++) {
    const fnz_array *a = fnz_arrays_at(got, i), *b = fnz_arrays_find(want, a->name);
    ck_assert_msg(b && a->bytes == b->bytes && memcmp(a->data, b->data, a->bytes) == 0, "%s",
                  a->name);
    met++;
  }
  ck_assert_uint_eq(met, outputs);
}

/* Kernels that write, under the pass's functional forms, give PyTorch 2.15's results: also if their
 * targets share elements with other arguments. */
START_TEST(kernels_give_the_numbers_of_eager) {
  static const struct {
    const char *program, *expected;
    size_t outputs; /* and inputs that are written */
  } rows[] = {{"direct.pt2", "expected.safetensors", 6},
              {"wrapped_v2.pt2", "expected.safetensors", 6},
              {"overlapping.pt2", "overlapping.safetensors", 5},
              {"overlapping_wrapped.pt2", "overlapping.safetensors", 5}};
  begin();
  declare_fixture_ops();
  fnz_arrays *in = read_arrays("inputs.safetensors");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    for (int original = 0; original < 2; original++) {
      fnz_run_options options = FNZ_RUN_OPTIONS_INIT;
      fnz_program *p;
      fnz_backend *cpu;
      fnz_arrays *out, *want = read_arrays(rows[i].expected);
      options.original = original;
      options.check_schemas = true;
      if (original)
        OK(ctx, read_fixture(rows[i].program, &p));
      else
        p = functional_fixture(rows[i].program);
      OK(ctx, fnz_arrays_create(ctx, &out));
      OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
      register_kernels(cpu);
      OK(ctx, fnz_run(ctx, p, cpu, in, &options, out));
      must_equal(out, want, rows[i].outputs);
      fnz_arrays_destroy(want);
      fnz_backend_destroy(cpu);
      fnz_arrays_destroy(out);
      fnz_program_destroy(p);
    }
  fnz_arrays_destroy(in);
  end();
}
END_TEST

/* x.fill_(1), y.add_(2), in this order: y sees what x is filled with. */
static fnz_status fill_and_add(fnz_frame *frame) {
  fnz_memory x = fnz_frame_tensor(frame, fnz_frame_arg(frame, "x"));
  for (int64_t i = 0; i < columns(x); i++)
    *element(x, 0, i) = 1;
  add(fnz_frame_tensor(frame, fnz_frame_arg(frame, "y")), 2);
  return FNZ_OK;
}

/* The first output of a program whose ns::fill has that kernel. */
static void run_filling(const fnz_program *p, bool original, float out[4]) {
  const float numbers[4] = {10, 20, 30, 40};
  fnz_run_options options = FNZ_RUN_OPTIONS_INIT;
  const fnz_kernel kernel = {.op = fnz_op_find(ctx, "ns::fill"), .impl = fill_and_add};
  const int64_t size = 4;
  fnz_backend *cpu;
  fnz_arrays *in, *results;
  void *data;
  options.original = original;
  OK(ctx, fnz_arrays_create(ctx, &in));
  OK(ctx, fnz_arrays_create(ctx, &results));
  OK(ctx, fnz_arrays_add(in, "x", FNZ_F32, 1, &size, &data));
  memcpy(data, numbers, sizeof numbers);
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_kernel_register(ctx, cpu, &kernel));
  OK(ctx, fnz_run(ctx, p, cpu, in, &options, results));
  memcpy(out, fnz_arrays_find(results, "output.0")->data, 4 * sizeof *out);
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(results);
  fnz_arrays_destroy(in);
}

/* Tensors that are written and share memory share it in the functional program, too. */
START_TEST(written_tensors_keep_their_memory) {
  static const struct {
    const char *body;
    float want[4];
  } rows[] = {
      {"%y: f32[4] = clone(%x)\nns::fill(%y, %y)\nreturn %y", {3, 3, 3, 3}},
      {"%a: f32[3] = slice.Tensor(%x, 0, 0, 3)\n%b: f32[2] offset(2) = slice.Tensor(%x, 0, 2, 4)\n"
       "ns::fill(%a, %b)\n%r: f32[4] = clone(%x)\nreturn %r",
       {1, 1, 3, 42}},
      {"%b: f32[2] offset(2) = slice.Tensor(%x, 0, 2, 4)\nns::fill(%b, %x)\n"
       "%r: f32[4] = clone(%x)\nreturn %r",
       {12, 22, 3, 3}},
  };
  begin();
  declare("ns::fill(Tensor(a!) x, Tensor(b!) y) -> ()");
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fnz_program *p, *functional;
    float got[2][4];
    OK(ctx, read_body(ctx, "%x: f32[4]", rows[i].body, &p));
    OK(ctx, fnz_functionalize(ctx, p, NULL, &functional));
    OK(ctx, fnz_verify(ctx, p, functional, NULL, NULL, NULL));
    run_filling(p, true, got[0]);
    run_filling(functional, false, got[1]);
    for (int k = 0; k < 2; k++)
      ck_assert_msg(memcmp(got[k], rows[i].want, sizeof got[k]) == 0, "body %zu, %d", i, k);
    fnz_program_destroy(functional);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* --- Promises --------------------------------------------------------------------------------- */

static fnz_status add_sum(fnz_frame *frame, const fnz_memory *x, double by) {
  FNZ_TRY(fnz_frame_add_result(frame, FNZ_F32, x->geometry->rank, x->geometry->sizes, NULL));
  float *to = fnz_frame_result(frame, 0).data;
  const float *from = x->data;
  for (int64_t i = 0; i < fnz_geometry_numel(x->geometry); i++)
    to[i] = from[i] + (float)by;
  return FNZ_OK;
}

static fnz_status honest(fnz_frame *frame) {
  fnz_memory x = fnz_frame_tensor(frame, fnz_frame_arg(frame, "x"));
  return add_sum(frame, &x, 1);
}

/* Changes what it only reads. */
static fnz_status scribbles(fnz_frame *frame) {
  fnz_memory x = fnz_frame_tensor(frame, fnz_frame_arg(frame, "x"));
  ((float *)x.data)[1] += 1;
  return add_sum(frame, &x, 1);
}

/* Returns its argument's memory as if it were new. */
static fnz_status aliases(fnz_frame *frame) {
  const fnz_arg *x = fnz_frame_arg(frame, "x");
  return fnz_frame_add_view(frame, x, fnz_frame_tensor(frame, x).geometry);
}

static fnz_arrays *four_numbers(void) {
  const float numbers[4] = {1, 2, 3, 4};
  const int64_t size = 4;
  fnz_arrays *arrays;
  void *data;
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  OK(ctx, fnz_arrays_add(arrays, "x", FNZ_F32, 1, &size, &data));
  memcpy(data, numbers, sizeof numbers);
  return arrays;
}

/* Runs ns::k with a kernel; the last result goes to *last. */
static fnz_status run_kernel(fnz_kernel_fn *impl, bool original, bool check, float *last) {
  static const char text[] = "fnz 1\nprogram(%x: f32[4])\n{\n%y: f32[4] = relu(%x)\n"
                             "%z: f32[4] = ns::k(%y)\nreturn %z\n}\n";
  fnz_run_options options = FNZ_RUN_OPTIONS_INIT;
  fnz_arrays *in = four_numbers(), *out;
  fnz_program *p;
  fnz_backend *cpu;
  const fnz_kernel kernel = {.op = fnz_op_find(ctx, "ns::k"), .impl = impl};
  options.original = original;
  options.check_schemas = check;
  OK(ctx, fnz_arrays_create(ctx, &out));
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_kernel_register(ctx, cpu, &kernel));
  fnz_status status = fnz_run(ctx, p, cpu, in, &options, out);
  if (status == FNZ_OK)
    *last = ((const float *)fnz_arrays_find(out, "output.0")->data)[3];
  fnz_backend_destroy(cpu);
  fnz_program_destroy(p);
  fnz_arrays_destroy(out);
  fnz_arrays_destroy(in);
  return status;
}

START_TEST(kernels_that_lie_are_found_out) {
  float last = 0;
  begin();
  declare("ns::k(Tensor x) -> Tensor");
  for (int original = 0; original < 2; original++) {
    OK(ctx, run_kernel(honest, original, true, &last));
    ck_assert(last == 5);
    OK(ctx, run_kernel(scribbles, original, false, &last));
    FAILS(ctx, "DIFFERENT", run_kernel(scribbles, original, true, &last));
    ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "`x` at element 1"));
    ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->where, "node 1 (ns::k"));
    FAILS(ctx, "DIFFERENT", run_kernel(aliases, original, true, &last));
    ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "argument `x`"));
  }
  end();
}
END_TEST

SUITE_PART(custom_kernels, kernels_give_the_numbers_of_eager, written_tensors_keep_their_memory,
           kernels_that_lie_are_found_out)
