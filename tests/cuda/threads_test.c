/* checks: 2
 * threads_test.c - many threads run one executable of a GPU, each with a state and a workspace of
 * its own: the first one copies weights there, once. Says most under ThreadSanitizer. */
#include "tests/cuda/help.h"

#include <pthread.h>

enum { THREADS = 8, RUNS = 12, SIZE = 64 };

/* m += w * x, three times over other places; z = m. */
static fnz_program *counting(fnz_context *ctx) {
  static const char text[] =
      "fnz 1\nweight \"m\": f32[64]\nweight \"w\": f32[64]\n"
      "program(%m: f32[64] buffer \"m\", %w: f32[64] parameter \"w\", %x: f32[64])\n{\n"
      "  %p: f32[64] = mul.Tensor(%x, 2)\n  %a: f32[64] = add_.Tensor(%m, %p)\n"
      "  %s: f32[8] = slice.Tensor(%m, 0, 0, 8)\n  %q: f32[8] = slice.Tensor(%x, 0, 8, 16)\n"
      "  %b: f32[8] = add_.Tensor(%s, %q)\n  %z: f32[64] = sub.Tensor(%m, 1)\n  return %z\n}\n";
  fnz_program *traced;
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &traced));
  return functional_of(ctx, traced);
}

typedef struct runner {
  const fnz_executable *exe;
  float first;
  char failure[300];
} runner;

static fnz_status fill(fnz_context *ctx, fnz_executable_state *state, float with) {
  const int64_t sizes[] = {SIZE};
  fnz_arrays *arrays;
  void *data;
  FNZ_TRY(fnz_arrays_create(ctx, &arrays));
  fnz_status status = fnz_arrays_add(arrays, "buffer.m", FNZ_F32, 1, sizes, &data);
  for (int i = 0; i < SIZE && status == FNZ_OK; i++)
    ((float *)data)[i] = with;
  if (status == FNZ_OK)
    status = fnz_executable_state_read(ctx, state, arrays);
  fnz_arrays_destroy(arrays);
  return status;
}

static fnz_status run_all(fnz_context *ctx, runner *r, fnz_executable_state *state) {
  static const int64_t sizes[] = {SIZE}, strides[] = {1};
  static const fnz_geometry row = {.dtype = FNZ_F32, .rank = 1, .sizes = sizes, .strides = strides};
  float x[SIZE], z[SIZE];
  FNZ_TRY(fill(ctx, state, r->first));
  for (int i = 0; i < SIZE; i++)
    x[i] = (float)i;
  fnz_memory in = {x, &row}, out[2] = {{z, NULL}, {z, NULL}};
  const fnz_execution run = {.size = sizeof run, .inputs = &in, .outputs = out, .state = state};
  for (int n = 1; n <= RUNS; n++) {
    FNZ_TRY(fnz_executable_run(ctx, r->exe, &run));
    for (int i = 0; i < SIZE; i++) {
      float want = r->first + (float)(n * 2 * i) + (i < 8 ? (float)(n * (i + 8)) : 0) - 1;
      if (z[i] != want)
        return fnzi_fail(ctx, FNZ_CLASS_DIFFERENT, NULL, "run %d: element %d is %g, not %g", n, i,
                         (double)z[i], (double)want);
    }
  }
  return FNZ_OK;
}

static void *run_thread(void *user) {
  runner *r = user;
  fnz_context *ctx;
  fnz_executable_state *state = NULL;
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return NULL;
  fnz_status status = fnz_executable_state_create(ctx, r->exe, &state);
  if (status == FNZ_OK)
    status = run_all(ctx, r, state);
  if (status != FNZ_OK)
    snprintf(r->failure, sizeof r->failure, "%.250s", fnz_last_error(ctx)->message);
  fnz_executable_state_destroy(state);
  fnz_context_destroy(ctx);
  return NULL;
}

/* With `check` each step is waited for; without, steps are a graph. */
START_TEST(many_threads_run_one_executable) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_context *ctx = open_context();
  fnz_program *p = counting(ctx);
  fnz_executable *exe;
  pthread_t threads[THREADS];
  runner runners[THREADS] = {{.exe = NULL}};
  options.staging = true;
  options.device = "cuda";
  options.threads = 1;
  options.check = _i == 0;
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  for (int i = 0; i < THREADS; i++) {
    runners[i] = (runner){.exe = exe, .first = (float)(100 * i)};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run_thread, &runners[i]), 0);
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  for (int i = 0; i < THREADS; i++)
    ck_assert_str_eq(runners[i].failure, "");
  if (_i == 1)
    ck_assert_uint_ge(counts_now().graphs, THREADS);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

int main(void) {
  TCase *c = tcase_create("threads");
  tcase_set_timeout(c, 600);
  tcase_add_loop_test(c, many_threads_run_one_executable, 0, 2);
  return run_one_case("threads", c);
}
