/* checks: 11
 * staging_test.c - location of the memory that a run on a GPU is given: memory of the CPU is
 * refused by name without the option staging, and without it no host memory is kept that the CPU
 * needs no part of. */
#include "engine/engine.h"
#include "tests/cuda/help.h"
#include "tests/cuda/own_device.h"

enum { COUNT = 100, BYTES = COUNT * 4 };

static const int64_t sizes[] = {COUNT}, strides[] = {1};
static const fnz_geometry dense = {.dtype = FNZ_F32, .rank = 1, .sizes = sizes, .strides = strides};

typedef struct device {
  fnz_context *ctx;
  own_device own;
  uint64_t from, to;
} device;

static void open_device(device *d) {
  d->ctx = open_context();
  own_device_open(d->ctx, &d->own);
  d->from = own_device_take(&d->own, BYTES);
  d->to = own_device_take(&d->own, BYTES);
}

static void close_device(device *d) {
  fnzi_cuda_free(&d->own.device, d->from);
  fnzi_cuda_free(&d->own.device, d->to);
  own_device_close(&d->own);
  fnz_context_destroy(d->ctx);
  nothing_is_left();
}

static void *pointer(uint64_t at) {
  return (void *)(uintptr_t)at;
}

static fnz_executable *unstaged(fnz_context *ctx, const fnz_program *p) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  options.threads = 1;
  options.device = "cuda";
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  return exe;
}

static void says(const fnz_context *ctx, const char *what) {
  const char *said = fnz_last_error(ctx)->message;
  ck_assert_msg(strstr(said, what) != NULL, "\"%s\" is not in: %s", what, said);
}

static void put_numbers(device *d, uint64_t at, float first) {
  float x[COUNT];
  for (int i = 0; i < COUNT; i++)
    x[i] = first + (float)i;
  own_device_put(&d->own, at, x, BYTES);
}

static void has_numbers(device *d, uint64_t at, float factor, float more) {
  float y[COUNT];
  own_device_get(&d->own, at, y, BYTES);
  for (int i = 0; i < COUNT; i++)
    ck_assert_float_eq(y[i], factor * (float)i + more);
}

/* --- What lies with the CPU ------------------------------------------------------------------- */
START_TEST(memory_of_the_cpu_is_refused_by_name) {
  device d;
  float x[COUNT] = {0}, y[COUNT];
  fnz_arrays *arrays;
  open_device(&d);
  fnz_program *p = functional_of(
      d.ctx, program_of(d.ctx, "%x: f32[100]", "  %y: f32[100] = add.Tensor(%x, 1)\n  return %y"));
  fnz_executable *exe = unstaged(d.ctx, p);
  fnz_memory in = {x, &dense}, out = {y, NULL};
  fnz_execution run = {.size = sizeof run, .inputs = &in, .outputs = &out};
  FAILS(d.ctx, "ARGUMENT", fnz_executable_run(d.ctx, exe, &run));
  says(d.ctx, "input \"x\" lies with the CPU");
  says(d.ctx, "staging");
  run.on_device = true;
  FAILS(d.ctx, "ARGUMENT", fnz_executable_run(d.ctx, exe, &run));
  says(d.ctx, "\"x\" lies with the CPU");
  put_numbers(&d, d.from, 0);
  in.data = pointer(d.from);
  FAILS(d.ctx, "ARGUMENT", fnz_executable_run(d.ctx, exe, &run));
  says(d.ctx, "\"output.0\" lies with the CPU");
  out.data = pointer(d.to);
  OK(d.ctx, fnz_executable_run(d.ctx, exe, &run));
  has_numbers(&d, d.to, 1, 1);
  OK(d.ctx, fnz_arrays_create(d.ctx, &arrays));
  fnz_status status = fnz_executable_run_arrays(d.ctx, exe, arrays, NULL, NULL, arrays);
  ck_assert_int_ne(status, FNZ_OK);
  fnz_arrays_destroy(arrays);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  close_device(&d);
}
END_TEST

/* A program without inputs has outputs that would go to the CPU. */
START_TEST(arrays_are_the_cpus) {
  fnz_context *ctx = open_context();
  fnz_arrays *arrays;
  fnz_program *p = functional_of(ctx, program_of(ctx, "", "  %y: f32[4] = ones([4])\n  return %y"));
  fnz_executable *exe = unstaged(ctx, p);
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  FAILS(ctx, "ARGUMENT", fnz_executable_run_arrays(ctx, exe, arrays, NULL, NULL, arrays));
  says(ctx, "output \"output.0\" lies with the CPU");
  fnz_arrays_destroy(arrays);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- Results that stay ------------------------------------------------------------------------ */
static const char many_results[] =
    "fnz 1\nsymbol u0 = 99\nrange u0 0..100\nprogram(%x: f32[100])\n{\n"
    "  %y: f32[100] = mul.Tensor(%x, 2)\n" BY_CPU(
        "v", "y") "  %n: i64[{u0},1] stride(1,{u0}) = nonzero(%x)\n  return %y, %v, %n, %x\n}\n";

/* The first is made there, the second by the CPU, of the third data decide how long it is, the
 * fourth is an input. */
START_TEST(results_without_memory_stay_there) {
  device d;
  fnz_workspace *ws;
  open_device(&d);
  fnz_program *traced;
  OK(d.ctx, fnz_program_read(d.ctx, many_results, strlen(many_results), FNZ_FORMAT_TEXT, &traced));
  fnz_program *p = functional_of(d.ctx, traced);
  fnz_executable *exe = unstaged(d.ctx, p);
  OK(d.ctx, fnz_workspace_create(d.ctx, exe, &ws));
  put_numbers(&d, d.from, 0);
  const fnz_memory in = {pointer(d.from), &dense};
  for (int times = 0; times < 3; times++) {
    int64_t places[COUNT - 1];
    fnz_memory out[4] = {{NULL, NULL}};
    const fnz_execution run = {
        .size = sizeof run, .inputs = &in, .outputs = out, .workspace = ws, .on_device = true};
    OK(d.ctx, fnz_executable_run(d.ctx, exe, &run));
    has_numbers(&d, (uint64_t)(uintptr_t)out[0].data, 2, 0);
    has_numbers(&d, (uint64_t)(uintptr_t)out[1].data, 2, 0);
    has_numbers(&d, (uint64_t)(uintptr_t)out[3].data, 1, 0);
    ck_assert_int_eq(out[2].geometry->sizes[0], COUNT - 1);
    own_device_get(&d.own, (uint64_t)(uintptr_t)out[2].data, places, sizeof places);
    for (int i = 0; i + 1 < COUNT; i++)
      ck_assert_int_eq(places[i], i + 1);
  }
  fnz_workspace_destroy(ws);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  close_device(&d);
}
END_TEST

/* Neither arena nor results, nor what is given. */
START_TEST(the_cpu_keeps_nothing_for_a_run_without_it) {
  device d;
  fnz_workspace *ws;
  open_device(&d);
  fnz_program *p = functional_of(
      d.ctx, program_of(d.ctx, "%x: f32[100]",
                        "  %a: f32[100] = cumsum(%x, 0)\n  %b: f32[100] = cumsum(%a, 0)\n"
                        "  %c: f32[100] = sub.Tensor(%b, %a)\n  return %c"));
  fnz_executable *exe = unstaged(d.ctx, p);
  OK(d.ctx, fnz_workspace_create(d.ctx, exe, &ws));
  put_numbers(&d, d.from, 0);
  const fnz_memory in = {pointer(d.from), &dense};
  fnz_memory out = {NULL, NULL};
  const fnz_execution run = {
      .size = sizeof run, .inputs = &in, .outputs = &out, .workspace = ws, .on_device = true};
  OK(d.ctx, fnz_executable_run(d.ctx, exe, &run));
  ck_assert_uint_eq(ws->block_bytes, 0);
  ck_assert_uint_eq(ws->shadow_bytes, 0);
  fnz_workspace_destroy(ws);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  close_device(&d);
}
END_TEST

/* --- State ------------------------------------------------------------------------------------ */
typedef struct stated {
  fnz_program *p;
  fnz_executable *exe;
  fnz_workspace *ws;
} stated;

/* m += x; by the CPU where `by_cpu`; at a place that may be out of bounds. */
static void open_state(device *d, const char *body, stated *out) {
  out->p = functional_of(
      d->ctx, program_of(d->ctx, "%m: f32[100] buffer \"m\", %x: f32[100], %i: i64[1]", body));
  out->exe = unstaged(d->ctx, out->p);
  OK(d->ctx, fnz_workspace_create(d->ctx, out->exe, &out->ws));
}

static void close_state(stated *s) {
  fnz_workspace_destroy(s->ws);
  fnz_executable_destroy(s->exe);
  fnz_program_destroy(s->p);
}

static const char *const bodies[] = {
    "  %a: f32[100] = add_.Tensor(%m, %x)\n  %y: f32[1] = index_select(%x, 0, %i)\n  return %y",
    BY_CPU("v", "x") "  %a: f32[100] = add_.Tensor(%m, %v)\n"
                     "  %y: f32[1] = index_select(%x, 0, %i)\n  return %y",
    BY_CPU(
        "v",
        "m") "  %a: f32[100] = add.Tensor(%v, %x)\n"
             "  %b: f32[100] = copy_(%m, %a)\n  %y: f32[1] = index_select(%x, 0, %i)\n  return %y",
};

static fnz_status run_state(device *d, const stated *s, fnz_executable_state *state,
                            uint64_t index) {
  static const int64_t one[] = {1};
  static const fnz_geometry single = {
      .dtype = FNZ_I64, .rank = 1, .sizes = one, .strides = strides};
  const fnz_memory in[] = {{pointer(d->from), &dense}, {pointer(index), &single}};
  fnz_memory out[2] = {{NULL, NULL}};
  const fnz_execution run = {.size = sizeof run,
                             .inputs = in,
                             .outputs = out,
                             .state = state,
                             .workspace = s->ws,
                             .on_device = true};
  return fnz_executable_run(d->ctx, s->exe, &run);
}

/* The state is in the caller's memory after each run, and the caller's writes are seen; a place out
 * of bounds leaves it. */
START_TEST(a_state_lies_in_memory_there) {
  device d;
  stated s;
  fnz_executable_state *state;
  int64_t place = 3;
  open_device(&d);
  open_state(&d, bodies[_i], &s);
  uint64_t at = own_device_take(&d.own, BYTES), index = own_device_take(&d.own, 8);
  put_numbers(&d, d.from, 0);
  put_numbers(&d, at, 0);
  own_device_put(&d.own, index, &place, 8);
  const fnz_memory odd = {pointer(at + 4), &dense}, host = {&place, NULL},
                   memory = {pointer(at), NULL};
  FAILS(d.ctx, "ARGUMENT", fnz_executable_state_over(d.ctx, s.exe, &odd, &state));
  FAILS(d.ctx, "ARGUMENT", fnz_executable_state_over(d.ctx, s.exe, &host, &state));
  OK(d.ctx, fnz_executable_state_over(d.ctx, s.exe, &memory, &state));
  for (int i = 1; i < 4; i++) {
    OK(d.ctx, run_state(&d, &s, state, index));
    has_numbers(&d, at, (float)(i + 1), 0);
  }
  ck_assert_ptr_eq(fnz_executable_state_find(state, "m").data, pointer(at));
  put_numbers(&d, at, 0);
  OK(d.ctx, run_state(&d, &s, state, index));
  has_numbers(&d, at, 2, 0);
  place = COUNT;
  own_device_put(&d.own, index, &place, 8);
  FAILS(d.ctx, "BOUNDS", run_state(&d, &s, state, index));
  has_numbers(&d, at, 2, 0);
  place = 3;
  own_device_put(&d.own, index, &place, 8);
  put_numbers(&d, at, 0);
  OK(d.ctx, run_state(&d, &s, state, index));
  has_numbers(&d, at, 2, 0);
  fnz_executable_state_destroy(state);
  close_state(&s);
  fnzi_cuda_free(&d.own.device, at);
  fnzi_cuda_free(&d.own.device, index);
  close_device(&d);
}
END_TEST

/* Without outputs nothing comes back, and the next run has other inputs all the same. */
START_TEST(staged_inputs_are_copied_before_the_next) {
  fnz_context *ctx = open_context();
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  fnz_executable_state *state;
  fnz_arrays *arrays, *got;
  void *data;
  float x[COUNT];
  fnz_program *p = functional_of(ctx, program_of(ctx, "%m: f32[100] buffer \"m\", %x: f32[100]",
                                                 "  %a: f32[100] = add_.Tensor(%m, %x)\n  return"));
  options.staging = true;
  options.device = "cuda";
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  OK(ctx, fnz_executable_state_create(ctx, exe, &state));
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_arrays_add(arrays, "buffer.m", FNZ_F32, 1, sizes, &data));
  memset(data, 0, BYTES);
  OK(ctx, fnz_executable_state_read(ctx, state, arrays));
  const fnz_memory in = {x, &dense};
  fnz_memory out = {NULL, NULL};
  const fnz_execution run = {.size = sizeof run, .inputs = &in, .outputs = &out, .state = state};
  for (int times = 1; times < 5; times++) {
    for (int i = 0; i < COUNT; i++)
      x[i] = (float)(times * i);
    OK(ctx, fnz_executable_run(ctx, exe, &run));
  }
  OK(ctx, fnz_executable_state_write(ctx, state, got));
  for (int i = 0; i < COUNT; i++)
    ck_assert_float_eq(((const float *)fnz_arrays_at(got, 0)->data)[i], (float)(10 * i));
  fnz_arrays_destroy(arrays);
  fnz_arrays_destroy(got);
  fnz_executable_state_destroy(state);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* One of its own is shown there, and arrays go in and out. */
START_TEST(a_state_of_its_own_is_shown_there) {
  device d;
  stated s;
  fnz_executable_state *state;
  fnz_arrays *arrays, *got;
  const int64_t place = 3;
  void *data;
  open_device(&d);
  open_state(&d, bodies[_i], &s);
  uint64_t index = own_device_take(&d.own, 8);
  put_numbers(&d, d.from, 0);
  own_device_put(&d.own, index, &place, 8);
  OK(d.ctx, fnz_executable_state_create(d.ctx, s.exe, &state));
  OK(d.ctx, fnz_arrays_create(d.ctx, &arrays));
  OK(d.ctx, fnz_arrays_create(d.ctx, &got));
  OK(d.ctx, fnz_arrays_add(arrays, "buffer.m", FNZ_F32, 1, sizes, &data));
  memset(data, 0, BYTES);
  OK(d.ctx, fnz_executable_state_read(d.ctx, state, arrays));
  uint64_t at = (uint64_t)(uintptr_t)fnz_executable_state_find(state, "m").data;
  has_numbers(&d, at, 0, 0);
  OK(d.ctx, run_state(&d, &s, state, index));
  has_numbers(&d, at, 1, 0);
  put_numbers(&d, at, 0);
  OK(d.ctx, run_state(&d, &s, state, index));
  has_numbers(&d, at, 2, 0);
  OK(d.ctx, fnz_executable_state_write(d.ctx, state, got));
  ck_assert_float_eq(((const float *)fnz_arrays_at(got, 0)->data)[7], 14);
  OK(d.ctx, fnz_executable_state_read(d.ctx, state, arrays));
  has_numbers(&d, at, 0, 0);
  fnz_arrays_destroy(arrays);
  fnz_arrays_destroy(got);
  fnz_executable_state_destroy(state);
  close_state(&s);
  fnzi_cuda_free(&d.own.device, index);
  close_device(&d);
}
END_TEST

int main(void) {
  TCase *c = tcase_create("staging");
  tcase_set_timeout(c, 600);
  tcase_add_test(c, memory_of_the_cpu_is_refused_by_name);
  tcase_add_test(c, arrays_are_the_cpus);
  tcase_add_test(c, results_without_memory_stay_there);
  tcase_add_test(c, the_cpu_keeps_nothing_for_a_run_without_it);
  tcase_add_loop_test(c, a_state_lies_in_memory_there, 0, 3);
  tcase_add_test(c, staged_inputs_are_copied_before_the_next);
  tcase_add_loop_test(c, a_state_of_its_own_is_shown_there, 0, 3);
  return run_one_case("staging", c);
}
