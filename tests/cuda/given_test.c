/* checks: 16
 * given_test.c - runs on memory of a GPU: inputs are read where they lie, outputs are made where
 * they are wanted, and nothing is copied that the CPU has no part in. */
#include "soak/programs.h"
#include "tests/cuda/help.h"
#include "tests/cuda/own_device.h"

enum { COUNT = 100, BYTES = COUNT * 4, ROOM = 2 * BYTES };

static const int64_t sizes[] = {COUNT}, strides[] = {1}, apart[] = {2};
static const fnz_geometry dense = {.dtype = FNZ_F32, .rank = 1, .sizes = sizes, .strides = strides},
                          gaps = {.dtype = FNZ_F32, .rank = 1, .sizes = sizes, .strides = apart};

/* y = 2 x + 1 and what else; `by_cpu`: some step of it is the CPU's. */
static const struct {
  const char *body;
  bool by_cpu;
} cases[] = {
    {"  %a: f32[100] = mul.Tensor(%x, 2)\n  %y: f32[100] = add.Tensor(%a, 1)\n  return %y", false},
    {"  %a: f32[100] = mul.Tensor(%x, 2)\n" BY_CPU(
         "v", "a") "  %y: f32[100] = add.Tensor(%v, 1)\n  return %y",
     true},
    {BY_CPU("v", "x") "  %a: f32[100] = mul.Tensor(%v, 2)\n"
                      "  %y: f32[100] = add.Tensor(%a, 1)\n  return %y",
     true},
};

typedef struct device {
  fnz_context *ctx;
  own_device own;
  uint64_t from, to;
} device;

static void open_device(device *d) {
  d->ctx = open_context();
  own_device_open(d->ctx, &d->own);
  d->from = own_device_take(&d->own, ROOM + 16);
  d->to = own_device_take(&d->own, ROOM + 16);
}

static void close_device(device *d) {
  fnzi_cuda_free(&d->own.device, d->from);
  fnzi_cuda_free(&d->own.device, d->to);
  own_device_close(&d->own);
  fnz_context_destroy(d->ctx);
  nothing_is_left();
}

/* Ascending numbers, every `step`-th of them an element. */
static void fill(device *d, uint64_t at, int step) {
  float data[2 * COUNT];
  for (int i = 0; i < 2 * COUNT; i++)
    data[i] = (float)i / (float)step;
  own_device_put(&d->own, at, data, ROOM);
}

static void is_right(device *d, uint64_t at) {
  float y[COUNT];
  own_device_get(&d->own, at, y, BYTES);
  for (int i = 0; i < COUNT; i++)
    ck_assert_float_eq(y[i], (float)(2 * i + 1));
}

static void pointer(uint64_t at, void **out) {
  *out = (void *)(uintptr_t)at;
}

/* A final value in memory that the caller has donated, small enough to go with others in one copy.
 */
START_TEST(donated_memory_gets_its_final_value) {
  static const char *const donated[] = {"x"};
  fnz_context *ctx = open_context();
  fnz_program *p = functional_of(
      ctx, program_of(ctx, "%x: f32[100]",
                      "  %a: f32[100] = mul_.Tensor(%x, 2)\n  %y: f32[100] = add.Tensor(%a, 1)\n"
                      "  return %y"));
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  fnz_executable_state *state;
  fnz_workspace *ws;
  float x[COUNT];
  options.staging = true;
  options.device = "cuda";
  options.donated = donated;
  options.ndonated = 1;
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  OK(ctx, fnz_executable_state_create(ctx, exe, &state));
  OK(ctx, fnz_workspace_create(ctx, exe, &ws));
  for (int i = 0; i < COUNT; i++)
    x[i] = (float)i;
  const fnz_memory in = {x, &dense};
  fnz_memory out[2] = {{NULL, NULL}};
  const fnz_execution run = {
      .size = sizeof run, .inputs = &in, .outputs = out, .state = state, .workspace = ws};
  OK(ctx, fnz_executable_run(ctx, exe, &run));
  for (size_t k = 0; k < 2; k++) {
    bool is_final = strcmp(fnz_executable_slot(exe, FNZ_SIDE_OUTPUT, k).name, "input.x") == 0;
    for (int i = 0; i < COUNT; i++)
      ck_assert_float_eq(((const float *)out[k].data)[i], (float)(2 * i + !is_final));
  }
  fnz_workspace_destroy(ws);
  fnz_executable_state_destroy(state);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* Four runs on it: at addresses that kernels like, at others, and with gaps. */
START_TEST(memory_of_the_device_is_used) {
  static const struct { int shift, step; } ways[] = {{0, 1}, {4, 1}, {0, 2}, {4, 2}};
  const int shift = ways[_i % 4].shift, step = ways[_i % 4].step;
  device d;
  fnz_executable *exe;
  open_device(&d);
  fnz_program *p = functional_of(d.ctx, program_of(d.ctx, "%x: f32[100]", cases[_i / 4].body));
  OK(d.ctx, compile(d.ctx, p, "cuda", &exe));
  fill(&d, d.from + (uint64_t)shift, step);
  fnz_memory in = {NULL, step == 1 ? &dense : &gaps}, out = {NULL, NULL};
  pointer(d.from + (uint64_t)shift, &in.data);
  pointer(d.to + (uint64_t)shift, &out.data);
  const fnz_execution run = {.size = sizeof run, .inputs = &in, .outputs = &out, .on_device = true};
  for (int i = 0; i < 3; i++) {
    standin_counts before = counts_now(), after;
    OK(d.ctx, fnz_executable_run(d.ctx, exe, &run));
    after = counts_now();
    if (!cases[_i / 4].by_cpu && shift == 0) {
      ck_assert_uint_eq(after.bytes_in, before.bytes_in);
      ck_assert_uint_eq(after.bytes_out, before.bytes_out);
      ck_assert_uint_eq(after.bytes_within, before.bytes_within);
    }
    is_right(&d, d.to + (uint64_t)shift);
  }
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  close_device(&d);
}
END_TEST

/* --- Libraries -------------------------------------------------------------------------------- */
enum { EACH = 2048, MOST_INPUTS = 3, SHIFT = 16 };

static const struct {
  const char *inputs, *body;
} products[] = {
    {"%x: f32[8,8], %w: f32[8,8]", "  %y: f32[8,8] = mm(%x, %w)\n  return %y"},
    {"%x: f32[8,8], %w: f32[8,8], %b: f32[8]", "  %y: f32[8,8] = linear(%x, %w, %b)\n  return %y"},
    {"%x: f32[1,2,8,8], %w: f32[2,2,3,3], %b: f32[2]",
     "  %y: f32[1,2,6,6] = convolution(%x, %w, %b, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)\n"
     "  return %y"},
};

/* Small numbers, whose sums are the same in each order. */
static fnz_arrays *results_of_cpu(device *d, const fnz_program *p, const fnz_arrays *inputs) {
  fnz_executable *cpu;
  fnz_arrays *want;
  OK(d->ctx, fnz_arrays_create(d->ctx, &want));
  OK(d->ctx, compile(d->ctx, p, "cpu", &cpu));
  OK(d->ctx, fnz_executable_run_arrays(d->ctx, cpu, inputs, NULL, NULL, want));
  fnz_executable_destroy(cpu);
  return want;
}

static void run_there(device *d, const fnz_executable *exe, const fnz_arrays *inputs,
                      const fnz_array *want, uint64_t base) {
  unsigned char y[EACH];
  own_array rooms[MOST_INPUTS];
  fnz_memory in[MOST_INPUTS], out = {NULL, NULL};
  const uint64_t to = base + MOST_INPUTS * EACH + SHIFT;
  for (size_t k = 0; k < fnz_arrays_count(inputs); k++)
    in[k] = own_device_lay(&d->own, base + k * EACH + SHIFT, fnz_arrays_at(inputs, k), &rooms[k]);
  pointer(to, &out.data);
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = &out, .on_device = true};
  standin_counts before = counts_now(), after;
  OK(d->ctx, fnz_executable_run(d->ctx, exe, &run));
  after = counts_now();
  ck_assert_uint_eq(after.bytes_within, before.bytes_within);
  ck_assert_uint_eq(after.bytes_out, before.bytes_out);
  own_device_get(&d->own, to, y, want->bytes);
  ck_assert_mem_eq(y, want->data, want->bytes);
}

/* At multiples of 16 bytes and of no more, after a run at multiples of 256: a library gets the
 * least possible alignment. */
START_TEST(libraries_take_memory_as_it_lies) {
  device d;
  fnz_executable *exe;
  fnz_arrays *inputs, *want;
  open_device(&d);
  uint64_t base = own_device_take(&d.own, (MOST_INPUTS + 2) * EACH);
  fnz_program *p = functional_of(d.ctx, program_of(d.ctx, products[_i].inputs, products[_i].body));
  OK(d.ctx, fnzi_random_inputs(d.ctx, p, 5, &inputs));
  want = results_of_cpu(&d, p, inputs);
  OK(d.ctx, compile(d.ctx, p, "cuda", &exe));
  for (uint64_t shift = 256 - SHIFT; shift <= 256; shift += SHIFT)
    run_there(&d, exe, inputs, fnz_arrays_at(want, 0), base + shift);
  fnz_executable_destroy(exe);
  fnzi_cuda_free(&d.own.device, base);
  fnz_arrays_destroy(want);
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(p);
  close_device(&d);
}
END_TEST

int main(void) {
  TCase *c = tcase_create("given");
  tcase_set_timeout(c, 600);
  tcase_add_test(c, donated_memory_gets_its_final_value);
  tcase_add_loop_test(c, memory_of_the_device_is_used, 0, 12);
  tcase_add_loop_test(c, libraries_take_memory_as_it_lies, 0, 3);
  return run_one_case("given", c);
}
