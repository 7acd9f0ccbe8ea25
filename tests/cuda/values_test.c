/* checks: 25
 * values_test.c - the CUDA backend, operator by operator: fnz_call() and the wrapper give the bits
 * that they give on the CPU backend, on memory that tensors share too; what fails leaves nothing.
 */
#include "engine/values/values.h"
#include "tests/cuda/values_lines.h"
#include "tests/help/faults.h"

#include <pthread.h>

/* --- Comparing -------------------------------------------------------------------------------- */
/* All tensors have the same bits. */
static void are_same(side *a, side *b, const char *line) {
  unsigned char x[CELLS], y[CELLS];
  size_t n, m;
  ck_assert_msg(a->count == b->count, "%s: %zu and %zu tensors", line, a->count, b->count);
  for (size_t i = 0; i < a->count; i++) {
    if (!a->tensors[i].handle && !b->tensors[i].handle)
      continue;
    ck_assert_msg(look_alike(fnz_eager_geometry(a->tensors[i]), fnz_eager_geometry(b->tensors[i])),
                  "%s: tensor %zu looks different", line, i);
    OK(a->ctx, cells_of(a->ctx, a->tensors[i], x, &n));
    OK(b->ctx, cells_of(b->ctx, b->tensors[i], y, &m));
    ck_assert_msg(n == m && (memcmp(x, y, n) == 0 || are_near(a, i, x, y, n)),
                  "%s: tensor %zu differs", line, i);
  }
  for (size_t i = 0; i < a->count; i++)
    for (size_t k = 0; k < i; k++)
      if (a->tensors[i].handle && a->tensors[k].handle)
        ck_assert_msg(
            a->backend->shares(a->backend->self, a->tensors[i].handle, a->tensors[k].handle) ==
                b->backend->shares(b->backend->self, b->tensors[i].handle, b->tensors[k].handle),
            "%s: tensors %zu and %zu share memory on one of them", line, i, k);
}

static const struct {
  const char *lines[12];
} scripts[] = {
    /* views share, in-place operators are seen through all of them */
    {{"slice.Tensor t0 i0 i1 i3", "add_.Scalar t4 f1.5 i1", "t t0", "mul_.Tensor t6 t6",
      "select.int t0 i1 i2", "copy_ t8 f0", NULL}},
    {{"transpose.int t0 i0 i1", "select.int t4 i0 i1", "add_.Tensor t5 t5", "div_.Scalar t4 f3",
      "fill_.Scalar t5 f7", "diagonal t0", "zero_ t9", "neg_ t4", NULL}},
    {{"expand t1 [4,6]", "add.Tensor t0 t4", "sub_.Tensor t0 t4", "sqrt_ t5", NULL}},
    {{"as_strided t0 [3,2] [7,3] i1", "mul_.Scalar t4 f0.25", "reshape t4 [6]", "add_.Tensor t6 t1",
      "clone t4", "view t0 [24]", "index_fill_.int_Scalar t8 i0 t2 f9", NULL}},
    /* out= resized, and through views */
    {{"empty.memory_format [0]", "add.out t0 t1 @other t4 @out", "mul.out t0 t0 t4 @out",
      "slice.Tensor t0 i1 i0 i6 i2", "sub.out t7 t7 t7 @out", NULL}},
    {{"zeros [2,2]", "add.out t0 t0 t4 @out", "cat.out {0,0} i1 t4 @out",
      "sort.values t1 i0 b1 t5 @values t2 @indices", NULL}},
    /* what makes tensors */
    {{"zeros [2,3]", "ones [3]", "full [2,2] f2.5", "arange i7", "eye i3", "zeros_like t0",
      "full_like t0 f3", "linspace f0 f1 i5", NULL}},
    /* types, the CPU's operators, sizes that data decide */
    {{"_to_copy t0 d4", "add_.Tensor t4 t2 f1", "where.self t3 t0 t0", NULL}},
    {{"sort t1 i0 b1", "nonzero t3", "masked_select t0 t3", "topk t1 i2", NULL}},
    {{"index.Tensor t0 {2}", "index_add_ t0 i0 t2 t4", "index_put_ t0 {2} t4", "gather t0 i1 t2",
      NULL}},
    {{"_foreach_add_.Scalar {0,1} f2", "_foreach_mul.List {0,1} {0,1}", "split.Tensor t1 i2",
      "add_.Tensor t6 t7", "unbind.int t0", "mul_.Scalar t11 f2", NULL}},
    {{"permute t0 [1,0]", "clone t4", "add.Tensor t4 t4", "contiguous t4", "copy_ t4 t5",
      "resize_ t1 [8]", "maximum t0 t0", "clamp_ t0 f2 f9", NULL}},
    /* out= beside each other in one storage; data decide places, other calls between */
    {{"empty.memory_format [6] d5", "slice.Tensor t4 i0 i0 i3", "slice.Tensor t4 i0 i3 i6",
      "sort.values t2 i0 b1 t5 @values t6 @indices", NULL}},
    {{"index_select t0 i0 t2", "cumsum t0 i1", "index_select t0 i0 t2", "mul.Tensor t0 t0",
      "gather t0 i1 t2", "exp t1", "index_select t0 i0 t2", NULL}},
};

START_TEST(scripts_give_the_cpus_bits) {
  fnz_context *ctx = open_context();
  side cpu, gpu;
  OK(ctx, open_side(&cpu, ctx, false));
  OK(ctx, open_side(&gpu, ctx, true));
  OK(ctx, give_all(&cpu));
  OK(ctx, give_all(&gpu));
  for (size_t i = 0; scripts[_i].lines[i]; i++) {
    const char *line = scripts[_i].lines[i];
    fnz_status want = step(&cpu, line);
    fnz_class kind = fnz_last_error(ctx)->kind;
    fnz_status got = step(&gpu, line);
    ck_assert_msg(want == got && (!want || kind == fnz_last_error(ctx)->kind), "%s: %d, not %d: %s",
                  line, got, want, fnz_last_error(ctx)->message);
    are_same(&cpu, &gpu, line);
  }
  close_side(&cpu);
  close_side(&gpu);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- Devices ---------------------------------------------------------------------------------- */
START_TEST(devices_do_not_mix) {
  fnz_context *ctx = open_context();
  side cpu, gpu;
  OK(ctx, open_side(&cpu, ctx, false));
  OK(ctx, open_side(&gpu, ctx, true));
  OK(ctx, give_all(&cpu));
  OK(ctx, give_all(&gpu));
  ck_assert_str_eq(gpu.backend->name, "cuda:0");
  fnz_push_tensor(gpu.stack, gpu.tensors[0]);
  fnz_push_tensor(gpu.stack, cpu.tensors[0]);
  FAILS(ctx, "TYPE", fnz_call(ctx, fnz_op_find(NULL, "add.Tensor"), gpu.stack));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message,
                               "argument other is on cpu, but other tensors are on cuda:0"));
  fnz_push_tensor(gpu.stack, gpu.tensors[0]); /* its row switches the check off */
  fnz_push_tensor(gpu.stack, cpu.tensors[1]);
  OK(ctx, fnz_call(ctx, fnz_op_find(NULL, "copy_"), gpu.stack));
  fnz_stack_clear(gpu.stack);
  OK(ctx, step(&cpu, "copy_ t0 t1"));
  OK(ctx, step(&gpu, "alias t0"));
  OK(ctx, step(&cpu, "select.int t1 i0 i3"));
  OK(ctx, step(&gpu, "select.int t1 i0 i3"));
  fnz_push_tensor(gpu.stack, gpu.tensors[0]); /* a number of the CPU goes anywhere */
  fnz_push_tensor(gpu.stack, cpu.tensors[5]);
  OK(ctx, fnz_call(ctx, fnz_op_find(NULL, "mul_.Tensor"), gpu.stack));
  fnz_stack_clear(gpu.stack);
  OK(ctx, step(&cpu, "mul_.Tensor t0 t5"));
  OK(ctx, step(&gpu, "alias t0"));
  are_same(&cpu, &gpu, "copy_");
  close_side(&cpu);
  close_side(&gpu);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* Entered twice, and the thread has what it had. */
START_TEST(guards_nest) {
  fnz_context *ctx = open_context();
  side gpu;
  OK(ctx, open_side(&gpu, ctx, true));
  fnz_backend *b = gpu.backend;
  b->guard(b->self, true);
  b->guard(b->self, true);
  OK(ctx, give_all(&gpu));
  b->guard(b->self, false);
  OK(ctx, step(&gpu, "add.Tensor t0 t0"));
  b->guard(b->self, false);
  b->guard(b->self, false);
  close_side(&gpu);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- The wrapper ------------------------------------------------------------------------------ */
static void run_wrapper(fnz_context *ctx, side *s, unsigned char *out) {
  fnz_wrapper *wrapper;
  fnz_tensor *x, *v, *w;
  fnz_handle value;
  size_t count, bytes;
  OK(ctx, give(s, FNZ_F32, 2, matrix));
  OK(ctx, fnz_wrapper_create(ctx, s->backend, &wrapper));
  fnz_handle owned = s->tensors[--s->count].handle;
  OK(ctx, fnz_tensor_wrap(wrapper, NULL, owned, &x));
  const fnz_arg view[] = {{.tag = FNZ_ARG_VALUE, .u.tensor = x}, fnzi_arg_int(1), fnzi_arg_int(2)};
  OK(ctx, fnz_tensor_call(wrapper, "select.int", view, 3, &v, 1, &count));
  const fnz_arg add[] = {{.tag = FNZ_ARG_VALUE, .u.tensor = v}, {.tag = FNZ_ARG_FLOAT, .u.f = 0.5}};
  OK(ctx, fnz_tensor_call(wrapper, "add_.Scalar", add, 2, &w, 1, &count));
  OK(ctx, fnz_tensor_read(x, &value));
  OK(ctx, cells_of(ctx, (fnz_eager){s->backend, value}, out, &bytes));
  fnz_wrapper_destroy(wrapper);
}

START_TEST(the_wrapper_computes_there) {
  fnz_context *ctx = open_context();
  unsigned char x[CELLS], y[CELLS];
  side cpu, gpu;
  OK(ctx, open_side(&cpu, ctx, false));
  OK(ctx, open_side(&gpu, ctx, true));
  run_wrapper(ctx, &cpu, x);
  run_wrapper(ctx, &gpu, y);
  ck_assert_mem_eq(x, y, 24 * 4);
  close_side(&cpu);
  close_side(&gpu);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- Failing ---------------------------------------------------------------------------------- */
START_TEST(places_out_of_bounds_are_refused) {
  fnz_context *ctx = open_context();
  side gpu;
  OK(ctx, open_side(&gpu, ctx, true));
  OK(ctx, give_all(&gpu));
  OK(ctx, step(&gpu, "add.Scalar t2 i5"));
  FAILS(ctx, "BOUNDS", step(&gpu, "index_fill_.int_Scalar t0 i0 t4 f9"));
  FAILS(ctx, "BOUNDS", step(&gpu, "index_select t0 i0 t4"));
  OK(ctx, step(&gpu, "slice.Tensor t1 i0 i0 i5"));
  OK(ctx, step(&gpu, "slice.Tensor t1 i0 i1 i6"));
  FAILS(ctx, "OVERLAP", step(&gpu, "add_.Tensor t5 t6"));
  close_side(&gpu);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(memory_of_the_device_ends) {
  static const int64_t much[] = {256};
  setenv("STANDIN_MEMORY", "20000", 1);
  fnz_context *ctx = open_context();
  side gpu;
  fnz_status status = FNZ_OK;
  OK(ctx, open_side(&gpu, ctx, true));
  for (int i = 0; i < 40 && status == FNZ_OK; i++)
    status = give(&gpu, FNZ_F32, 1, much);
  ck_assert_int_eq(status, FNZ_NO_MEMORY);
  ck_assert_uint_gt(gpu.count, 5);
  FAILS(ctx, "NOMEM", step(&gpu, "cat {0,1,2,3}"));
  while (gpu.count > 2)
    fnz_eager_release(gpu.tensors[--gpu.count]);
  OK(ctx, step(&gpu, "add.Tensor t0 t1"));
  close_side(&gpu);
  fnz_context_destroy(ctx);
  unsetenv("STANDIN_MEMORY");
  nothing_is_left();
}
END_TEST

static fnz_status faulty(fnz_context *ctx, const void *user) {
  static const char *const lines[] = {"slice.Tensor t0 i0 i1 i3", "add_.Scalar t4 f1.5 i1",
                                      "sort t1", "nonzero t3"};
  side gpu;
  (void)user;
  fnz_status status = open_side(&gpu, ctx, true);
  if (status == FNZ_OK)
    status = give_all(&gpu);
  for (size_t i = 0; i < 4 && status == FNZ_OK; i++)
    status = step(&gpu, lines[i]);
  close_side(&gpu);
  return status;
}

/* Each call of the driver fails in its turn. */
START_TEST(no_call_is_taken_for_granted) {
  static const char *const functions[] = {
      "cuMemAlloc_v2",        "cuStreamCreate",      "cuMemcpyHtoDAsync_v2", "cuLaunchKernel",
      "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize", "cuModuleLoadData"};
  fnz_context *ctx = open_context();
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    for (int n = 1; n < (is_standin() ? 12 : 3); n++) {
      char fail[64];
      snprintf(fail, sizeof fail, "%s:%d:1", functions[i], n);
      ask_for_failure(fail);
      fnz_status status = faulty(ctx, NULL);
      ck_assert_msg(n > 1 || status == FNZ_INTERNAL, "%s: %d", functions[i], status);
      ask_for_failure(NULL);
      nothing_is_left_but(1);
    }
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* A call is put on the stream, so who reads hears of it. */
START_TEST(a_broken_device_is_said) {
  fnz_context *ctx = open_context();
  unsigned char cells[CELLS];
  size_t bytes;
  side gpu;
  OK(ctx, open_side(&gpu, ctx, true));
  OK(ctx, give_all(&gpu));
  setenv("STANDIN_FAIL", "kernel:1:700", 1);
  OK(ctx, step(&gpu, "mul_.Tensor t0 t1"));
  FAILS(ctx, "INTERNAL", cells_of(ctx, gpu.tensors[0], cells, &bytes));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "CUDA gave error 700"));
  unsetenv("STANDIN_FAIL");
  FAILS(ctx, "INTERNAL", step(&gpu, "mul.Tensor t0 t1"));
  FAILS(ctx, "INTERNAL", give_all(&gpu));
  close_side(&gpu);
  OK(ctx, faulty(ctx, NULL));
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

START_TEST(no_allocation_is_taken_for_granted) {
  ck_assert_uint_gt(each_fault(faulty, NULL), 100);
  nothing_is_left();
}
END_TEST

/* --- Kept programs ---------------------------------------------------------------------------- */
START_TEST(the_oldest_programs_end) {
  fnz_context *ctx = open_context();
  side gpu;
  OK(ctx, open_side(&gpu, ctx, true));
  for (int64_t n = 1; n < 300; n++) { /* sorting compiles nothing */
    OK(ctx, give(&gpu, FNZ_F32, 1, &n));
    OK(ctx, step(&gpu, "sort t0"));
    while (gpu.count)
      fnz_eager_release(gpu.tensors[--gpu.count]);
  }
  OK(ctx, give(&gpu, FNZ_F32, 1, row));
  OK(ctx, step(&gpu, "mul.Tensor t0 t0"));
  uint64_t loaded = counts_now().modules;
  OK(ctx, step(&gpu, "mul.Tensor t0 t0"));
  ck_assert_uint_eq(counts_now().modules, loaded);
  close_side(&gpu);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- Numbers ---------------------------------------------------------------------------------- */
static size_t programs_of(const side *s) {
  const fnzi_krn_machine *m = s->backend->self;
  const fnzi_val *v = m->stock.elsewhere->self;
  return v->ncompiled;
}

static void leave(side *s, size_t count) {
  while (s->count > count)
    fnz_eager_release(s->tensors[--s->count]);
}

/* Factors of an optimizer change at each step, and are never 0.5, which texts have as it is: t4 and
 * t5 are what it remembers. */
static void optimize(side *cpu, side *gpu, int i) {
  static const char *const lines[] = {"lerp_.Scalar t4 t0 f%.17g",
                                      "mul_.Scalar t5 f%.17g",
                                      "addcmul_ t5 t0 t0 f%.17g @value",
                                      "add_.Tensor t4 t1 f%.17g @alpha",
                                      "div.Scalar t5 f%.17g",
                                      "add_.Scalar t6 f%.17g",
                                      "addcdiv_ t0 t4 t6 f%.17g @value",
                                      "sub.Scalar t0 f%.17g f%.17g",
                                      "clamp t4 f-%.17g f%.17g"};
  for (size_t k = 0; k < sizeof lines / sizeof *lines; k++) {
    char line[120];
    const double x = 0.303 + 0.01 * i, y = 0.707 - 0.01 * i;
    snprintf(line, sizeof line, lines[k], x, y);
    OK(cpu->ctx, step(cpu, line));
    OK(gpu->ctx, step(gpu, line));
  }
  are_same(cpu, gpu, "an optimizer");
  leave(cpu, 6);
  leave(gpu, 6);
}

/* Two numbers that are one, and are not, in turn; a whole one, and one that texts have as it is. */
static const char *const pairs[] = {"clamp t0 f0.3 f0.3",
                                    "clamp t0 f0.2 f0.4",
                                    "clamp t0 f0.4 f0.4",
                                    "clamp t0 f0.4 f0.2",
                                    "clamp t0 f1 f3",
                                    "clamp t0 f2 f4",
                                    "clamp t0 i3 i4",
                                    "mul.Scalar t2 i3",
                                    "mul.Scalar t2 i4",
                                    "pow.Tensor_Scalar t0 f3",
                                    "pow.Tensor_Scalar t0 f2.5",
                                    "pow.Tensor_Scalar t0 f3.5"};

START_TEST(numbers_are_operands) {
  fnz_context *ctx = open_context();
  side cpu, gpu, *const sides[] = {&cpu, &gpu};
  size_t programs = 0, compiled = 0;
  for (int k = 0; k < 2; k++) {
    OK(ctx, open_side(sides[k], ctx, k == 1));
    OK(ctx, give_all(sides[k]));
    OK(ctx, step(sides[k], "clone t0"));
    OK(ctx, step(sides[k], "clone t0"));
  }
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    OK(ctx, step(&cpu, pairs[i]));
    OK(ctx, step(&gpu, pairs[i]));
    are_same(&cpu, &gpu, pairs[i]);
    leave(&cpu, 6);
    leave(&gpu, 6);
  }
  for (int i = 0; i < 30; i++) {
    optimize(&cpu, &gpu, i);
    programs = i == 0 ? programs_of(&gpu) : programs;
    compiled = i == 0 ? compiles() : compiled;
  }
  ck_assert_uint_eq(programs_of(&gpu), programs);
  ck_assert_uint_eq(compiles(), compiled);
  close_side(&cpu);
  close_side(&gpu);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- Threads ---------------------------------------------------------------------------------- */
static void *work(void *user) {
  char *failure = user;
  fnz_context *ctx;
  side gpu;
  float got[6];
  size_t bytes;
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return NULL;
  fnz_status status = open_side(&gpu, ctx, true);
  if (status == FNZ_OK)
    status = give(&gpu, FNZ_F32, 1, row);
  for (int i = 0; i < 5 && status == FNZ_OK; i++) {
    status = step(&gpu, "add_.Scalar t0 f1 i1");
    if (status == FNZ_OK)
      fnz_eager_release(gpu.tensors[--gpu.count]);
  }
  if (status == FNZ_OK)
    status = cells_of(ctx, gpu.tensors[0], (unsigned char *)(void *)got, &bytes);
  if (status != FNZ_OK)
    snprintf(failure, 200, "%s", fnz_last_error(ctx)->message);
  for (int i = 0; i < 6 && status == FNZ_OK; i++)
    if (got[i] != (float)i + 5.5f)
      snprintf(failure, 200, "element %d is %g", i, (double)got[i]);
  close_side(&gpu);
  fnz_context_destroy(ctx);
  return NULL;
}

START_TEST(threads_have_backends_of_their_own) {
  enum { THREADS = 4 };
  pthread_t threads[THREADS];
  char failures[THREADS][200] = {{0}};
  for (int i = 0; i < THREADS; i++)
    ck_assert_int_eq(pthread_create(&threads[i], NULL, work, failures[i]), 0);
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++)
    ck_assert_str_eq(failures[i], "");
  nothing_is_left();
}
END_TEST

int main(void) {
  TCase *c = tcase_create("values");
  tcase_set_timeout(c, 1800);
  tcase_add_loop_test(c, scripts_give_the_cpus_bits, 0, sizeof scripts / sizeof *scripts);
  tcase_add_test(c, devices_do_not_mix);
  tcase_add_test(c, guards_nest);
  tcase_add_test(c, the_wrapper_computes_there);
  tcase_add_test(c, places_out_of_bounds_are_refused);
  ADD_OF_STANDIN(c, memory_of_the_device_ends, 1);
  tcase_add_test(c, no_call_is_taken_for_granted);
  ADD_OF_STANDIN(c, a_broken_device_is_said, 1);
  ADD_OF_STANDIN(c, no_allocation_is_taken_for_granted, 1); /* and compiles many times */
  tcase_add_test(c, the_oldest_programs_end);
  tcase_add_test(c, numbers_are_operands);
  tcase_add_test(c, threads_have_backends_of_their_own);
  return run_one_case("values", c);
}
