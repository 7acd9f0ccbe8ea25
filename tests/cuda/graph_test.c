/* checks: 5
 * graph_test.c - steps of a GPU that are one graph from the second run on: captured once, with
 * other addresses where a state lies elsewhere, cut by steps of the CPU and by libraries whose
 * memory moves; and what cannot be captured runs all the same. */
#include "soak/programs.h"
#include "tests/cuda/help.h"
#include "tests/cuda/own_device.h"

enum { MOST_BUFFERS = 40 };

/* Buffers of different sizes, x[0] is added to each as often as its number is: no two are one
 * program. */
static fnz_program *counters(fnz_context *ctx, int count, bool sorts) {
  static char text[1 << 14];
  fnz_program *traced;
  size_t at = (size_t)snprintf(text, sizeof text, "fnz 1\n");
  for (int i = 0; i < count; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "weight \"m%d\": f32[%d]\n", i, i + 1);
  at += (size_t)snprintf(text + at, sizeof text - at, "program(");
  for (int i = 0; i < count; i++)
    at += (size_t)snprintf(text + at, sizeof text - at, "%%m%d: f32[%d] buffer \"m%d\", ", i, i + 1,
                           i);
  at += (size_t)snprintf(text + at, sizeof text - at, "%%x: f32[1])\n{\n");
  for (int i = 0; i < count; i++) {
    if (sorts && i == count / 2)
      at += (size_t)snprintf(text + at, sizeof text - at,
                             "  %%q: f32[1,1] = unsqueeze(%%x, 0)\n  %%s: f32[1,1] = "
                             "linalg_solve_triangular(%%q, %%q, upper=True, unitriangular=True)\n"
                             "  %%v: f32[1] = squeeze.dim(%%s, 0)\n");
    at += (size_t)snprintf(text + at, sizeof text - at,
                           "  %%y%d: f32[%d] = add_.Tensor(%%m%d, %%%s, alpha=%d)\n", i, i + 1, i,
                           sorts && i >= count / 2 ? "v" : "x", i + 1);
  }
  snprintf(text + at, sizeof text - at, "  return %%x\n}\n");
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &traced));
  return functional_of(ctx, traced);
}

typedef struct running {
  fnz_context *ctx;
  fnz_program *p;
  fnz_executable *exe;
  fnz_workspace *ws;
  fnz_executable_state *states[2];
  int count;
} running;

static void open_running(running *r, int count, bool sorts) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  options.staging = true;
  options.device = "cuda";
  r->count = count;
  r->ctx = open_context();
  r->p = counters(r->ctx, count, sorts);
  OK(r->ctx, fnz_compile(r->ctx, r->p, &options, &r->exe));
  OK(r->ctx, fnz_workspace_create(r->ctx, r->exe, &r->ws));
  for (int s = 0; s < 2; s++) {
    fnz_arrays *arrays;
    OK(r->ctx, fnz_executable_state_create(r->ctx, r->exe, &r->states[s]));
    OK(r->ctx, fnz_arrays_create(r->ctx, &arrays));
    for (int64_t i = 0; i < count; i++) {
      char name[32];
      const int64_t sizes[] = {i + 1};
      void *data;
      snprintf(name, sizeof name, "buffer.m%d", (int)i);
      OK(r->ctx, fnz_arrays_add(arrays, name, FNZ_F32, 1, sizes, &data));
      for (int64_t k = 0; k <= i; k++)
        ((float *)data)[k] = 0;
    }
    OK(r->ctx, fnz_executable_state_read(r->ctx, r->states[s], arrays));
    fnz_arrays_destroy(arrays);
  }
}

/* One run with x = 1, and its counts. */
static standin_counts count_run(running *r, int state) {
  static const int64_t sizes[] = {1}, strides[] = {1};
  static const fnz_geometry one = {.dtype = FNZ_F32, .rank = 1, .sizes = sizes, .strides = strides};
  float x = 1, y[MOST_BUFFERS + 1] = {0};
  fnz_memory in = {&x, &one}, outs[MOST_BUFFERS + 1];
  for (int i = 0; i <= MOST_BUFFERS; i++)
    outs[i] = (fnz_memory){&y[i], NULL};
  const fnz_execution run = {.size = sizeof run,
                             .inputs = &in,
                             .outputs = outs,
                             .state = r->states[state],
                             .workspace = r->ws};
  standin_counts before = counts_now(), after;
  OK(r->ctx, fnz_executable_run(r->ctx, r->exe, &run));
  after = counts_now();
  ck_assert_msg(!after.wrong, "%s", after.wrong);
  after.launches -= before.launches;
  after.captures -= before.captures;
  after.graphs -= before.graphs;
  after.nodes_set -= before.nodes_set;
  return after;
}

static void state_is(running *r, int state, float value) {
  fnz_arrays *out;
  OK(r->ctx, fnz_arrays_create(r->ctx, &out));
  OK(r->ctx, fnz_executable_state_write(r->ctx, r->states[state], out));
  ck_assert_uint_eq(fnz_arrays_count(out), (size_t)r->count);
  for (int i = 0; i < r->count; i++) {
    const float *m = fnz_arrays_at(out, (size_t)i)->data;
    for (int k = 0; k <= i; k++)
      ck_assert_float_eq(m[k], value * (float)(i + 1));
  }
  fnz_arrays_destroy(out);
}

static void close_running(running *r) {
  for (int s = 0; s < 2; s++)
    fnz_executable_state_destroy(r->states[s]);
  fnz_workspace_destroy(r->ws);
  fnz_executable_destroy(r->exe);
  fnz_program_destroy(r->p);
  fnz_context_destroy(r->ctx);
  nothing_is_left();
}

/* `launches`, and that which copies x to the output. */
static void did(standin_counts c, uint64_t launches, uint64_t captures, uint64_t graphs,
                uint64_t nodes_set) {
  ck_assert_uint_eq(c.launches, launches + 1);
  ck_assert_uint_eq(c.captures, captures);
  ck_assert_uint_eq(c.graphs, graphs);
  ck_assert_uint_eq(c.nodes_set, nodes_set);
}

START_TEST(a_graph_is_captured_once_and_told_of_other_addresses) {
  running r;
  open_running(&r, 5, false);
  did(count_run(&r, 0), 5, 0, 0, 0);
  did(count_run(&r, 0), 5, 1, 1, 0);
  did(count_run(&r, 0), 5, 0, 1, 0);
  did(count_run(&r, 1), 5, 0, 1, 5);
  did(count_run(&r, 1), 5, 0, 1, 0);
  did(count_run(&r, 0), 5, 0, 1, 5);
  state_is(&r, 0, 4);
  state_is(&r, 1, 2);
  close_running(&r);
}
END_TEST

/* Each buffer is read and written: two addresses a launch. */
START_TEST(with_many_other_addresses_each_kernel_is_started) {
  running r;
  open_running(&r, 17, false);
  did(count_run(&r, 0), 17, 0, 0, 0);
  did(count_run(&r, 0), 17, 1, 1, 0);
  did(count_run(&r, 1), 17, 0, 0, 0);
  did(count_run(&r, 0), 17, 0, 1, 0);
  did(count_run(&r, 1), 17, 0, 0, 0);
  did(count_run(&r, 1), 17, 0, 0, 0);
  did(count_run(&r, 1), 17, 1, 1, 0); /* that stays */
  did(count_run(&r, 1), 17, 0, 1, 0);
  state_is(&r, 0, 3);
  state_is(&r, 1, 5);
  close_running(&r);
}
END_TEST

START_TEST(a_step_of_the_cpu_cuts_the_graph) {
  running r;
  open_running(&r, 6, true);
  did(count_run(&r, 0), 6, 0, 0, 0);
  did(count_run(&r, 0), 6, 2, 2, 0);
  did(count_run(&r, 0), 6, 0, 2, 0);
  state_is(&r, 0, 3);
  close_running(&r);
}
END_TEST

START_TEST(what_cannot_be_captured_runs) {
  static const char *const fails[] = {"cuStreamBeginCapture_v2:1:900", "cuStreamEndCapture:1:901",
                                      "cuGraphInstantiateWithFlags:1:801",
                                      "cuGraphInstantiateWithFlags:1:2"};
  for (size_t i = 0; i < sizeof fails / sizeof *fails; i++) {
    running r;
    open_running(&r, 5, false);
    did(count_run(&r, 0), 5, 0, 0, 0);
    ask_for_failure(fails[i]);
    ck_assert_uint_eq(count_run(&r, 0).launches, 6);
    ask_for_failure(NULL);
    did(count_run(&r, 0), 5, 0, 0, 0);
    state_is(&r, 0, 3);
    close_running(&r);
  }
}
END_TEST

/* --- Libraries -------------------------------------------------------------------------------- */
/* Two products of squares, y = cumsum(relu(x @ v)) @ w, with all of it on the device. */
enum { SIDE = 4, CELLS = SIDE * SIDE, SQUARE = CELLS * 4 };

typedef struct moving {
  fnz_context *ctx;
  own_device own;
  fnz_program *p;
  fnz_executable *exe;
  fnz_workspace *ws;
  uint64_t x[2], v, w, y[2];
} moving;

static void open_moving(moving *m) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  float one[CELLS] = {0};
  options.device = "cuda";
  m->ctx = open_context();
  own_device_open(m->ctx, &m->own);
  m->p = functional_of(m->ctx,
                       program_of(m->ctx, "%x: f32[4,4], %v: f32[4,4], %w: f32[4,4]",
                                  "  %a: f32[4,4] = mm(%x, %v)\n  %b: f32[4,4] = relu(%a)\n"
                                  "  %c: f32[4,4] = cumsum(%b, 1)\n  %y: f32[4,4] = mm(%c, %w)\n"
                                  "  return %y"));
  OK(m->ctx, fnz_compile(m->ctx, m->p, &options, &m->exe));
  OK(m->ctx, fnz_workspace_create(m->ctx, m->exe, &m->ws));
  for (int i = 0; i < SIDE; i++)
    one[i * (SIDE + 1)] = 1;
  for (int i = 0; i < 2; i++) {
    m->x[i] = own_device_take(&m->own, SQUARE);
    m->y[i] = own_device_take(&m->own, SQUARE);
  }
  m->v = own_device_take(&m->own, SQUARE);
  m->w = own_device_take(&m->own, SQUARE);
  own_device_put(&m->own, m->v, one, SQUARE);
  own_device_put(&m->own, m->w, one, SQUARE);
}

static void close_moving(moving *m) {
  const uint64_t all[] = {m->x[0], m->x[1], m->y[0], m->y[1], m->v, m->w};
  fnz_workspace_destroy(m->ws);
  fnz_executable_destroy(m->exe);
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    fnzi_cuda_free(&m->own.device, all[i]);
  own_device_close(&m->own);
  fnz_program_destroy(m->p);
  fnz_context_destroy(m->ctx);
  nothing_is_left();
}

/* One run on the memory of this number, which captures and launches so many graphs. */
static void move(moving *m, int number, uint64_t captures, uint64_t graphs) {
  static const int64_t sizes[] = {SIDE, SIDE}, strides[] = {SIDE, 1};
  static const fnz_geometry square = {
      .dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  const uint64_t at[] = {m->x[number], m->v, m->w, m->y[number]};
  fnz_memory memory[4];
  float x[CELLS], y[CELLS];
  for (int i = 0; i < 4; i++)
    memory[i] = (fnz_memory){(void *)(uintptr_t)at[i], &square};
  for (int i = 0; i < CELLS; i++)
    x[i] = (float)(i % 3 - 1 + number);
  own_device_put(&m->own, at[0], x, SQUARE);
  const fnz_execution run = {.size = sizeof run,
                             .inputs = memory,
                             .outputs = &memory[3],
                             .workspace = m->ws,
                             .on_device = true};
  standin_counts before = counts_now(), after;
  OK(m->ctx, fnz_executable_run(m->ctx, m->exe, &run));
  after = counts_now();
  if (is_standin()) { /* elsewhere there may be no library */
    ck_assert_uint_eq(after.captures - before.captures, captures);
    ck_assert_uint_eq(after.graphs - before.graphs, graphs);
    ck_assert_uint_eq(after.nodes_set - before.nodes_set, 0);
  }
  own_device_get(&m->own, at[3], y, SQUARE);
  for (int i = 0; i < SIDE; i++)
    for (int j = 0, sum = 0; j < SIDE; j++) {
      const int k = i * SIDE + j;
      sum += x[k] > 0 ? (int)x[k] : 0;
      ck_assert_float_eq(y[k], (float)sum);
    }
}

/* From then on each product is launched alone, and the steps between them are a graph. */
START_TEST(a_library_whose_memory_moves_cuts_the_graph) {
  moving m;
  open_moving(&m);
  move(&m, 0, 0, 0);
  move(&m, 0, 1, 1);
  move(&m, 0, 0, 1);
  move(&m, 1, 0, 0);
  move(&m, 0, 1, 1);
  for (int i = 0; i < 6; i++)
    move(&m, i % 2, 0, 1);
  close_moving(&m);
}
END_TEST

int main(void) {
  TCase *c = tcase_create("graph");
  tcase_set_timeout(c, 600);
  tcase_add_test(c, a_graph_is_captured_once_and_told_of_other_addresses);
  tcase_add_test(c, with_many_other_addresses_each_kernel_is_started);
  tcase_add_test(c, a_step_of_the_cpu_cuts_the_graph);
  tcase_add_test(c, what_cannot_be_captured_runs);
  tcase_add_test(c, a_library_whose_memory_moves_cuts_the_graph);
  return run_one_case("graph", c);
}
