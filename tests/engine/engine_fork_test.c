/* checks: 3
 * engine_fork_test.c - a process that forked after two threads have worked: the child has the same
 * numbers, in the thread that forked and in one of its own, and so has the child's child. */
#include "tests/engine/engine_help.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LONGEST = 30 }; /* seconds: a child that waits for threads waits for ever */

/* Each way to share work between threads: elements, rows, products by a library and by panels,
 * convolutions, elements that move. */
static const char *const texts[] = {
    "%s: f32[300,400] = sin(%x)\n  %r: f32[300,400] = exp(%s)",
    "%s: f32[300] = sum.dim_IntList(%x, [1])\n  %r: f32[300,1] = view(%s, [300, 1])",
    "%t: f32[400,300] = t_copy(%x)\n  %r: f32[300,300] = mm(%x, %t)",
    "%d: f64[300,400] = _to_copy(%x, dtype=f64)\n  %t: f64[400,300] = t_copy(%d)\n"
    "  %r: f64[300,300] = mm(%d, %t)",
    "%i: f32[4,3,100,100] = view_copy(%x, [4, 3, 100, 100])\n"
    "  %k: f32[3,3,5,5] = full([3, 3, 5, 5], 0.5)\n"
    "  %r: f32[4,3,96,96] = convolution(%i, %k, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1)",
    "%t: f32[400,300] = t_copy(%x)\n  %r: f32[400,300] = clone(%t)",
};
enum { COUNT = sizeof texts / sizeof *texts, MOST = 300 * 400 };

typedef struct worker {
  fnz_context *ctx;
  fnz_program *programs[COUNT];
  fnz_executable *exes[COUNT];
  float x[MOST];
  double want[COUNT][MOST];
} worker;

static void open_all(worker *w, fnz_context *ctx) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  options.threads = 2;
  w->ctx = ctx;
  for (size_t i = 0; i < COUNT; i++) {
    char text[600];
    snprintf(text, sizeof text, "fnz 1\nprogram(%%x: f32[300,400]) {\n  %s\n  return %%r\n}\n",
             texts[i]);
    w->programs[i] = read_functional(ctx, text);
    OK(ctx, fnz_compile(ctx, w->programs[i], &options, &w->exes[i]));
  }
  for (size_t i = 0; i < MOST; i++)
    w->x[i] = (float)(i % 97) / 97;
}

static void close_all(worker *w) {
  for (size_t i = 0; i < COUNT; i++) {
    fnz_executable_destroy(w->exes[i]);
    fnz_program_destroy(w->programs[i]);
  }
}

/* The results go to `out`; false when a run failed. */
static bool run_all(worker *w, fnz_context *ctx, double (*out)[MOST]) {
  static const int64_t sizes[] = {300, 400}, strides[] = {400, 1};
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  bool done = true;
  for (size_t i = 0; done && i < COUNT; i++) {
    const fnz_memory in = {w->x, &g};
    fnz_memory to = {out[i], NULL};
    fnz_execution run = FNZ_EXECUTION_INIT;
    run.inputs = &in;
    run.outputs = &to;
    done = fnz_executable_run(ctx, w->exes[i], &run) == FNZ_OK;
  }
  return done;
}

static bool runs_alike(worker *w, fnz_context *ctx) {
  double(*have)[MOST] = calloc(COUNT, sizeof *have);
  bool same = have && run_all(w, ctx, have) && memcmp(have, w->want, sizeof w->want) == 0;
  free(have);
  return same;
}

/* Runs in a child, whose answer it gives. */
static bool in_child(worker *w, bool (*body)(worker *)) {
  int status = 0;
  pid_t child = fork();
  if (child == 0) {
    alarm(LONGEST);
    _exit(body(w) ? 0 : 1);
  }
  return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) &&
         WEXITSTATUS(status) == 0;
}

static bool by_itself(worker *w) {
  return runs_alike(w, w->ctx) && runs_alike(w, w->ctx);
}

static bool by_its_child(worker *w) {
  return by_itself(w) && in_child(w, by_itself);
}

static void *run_thread(void *user) {
  worker *w = user;
  fnz_context *ctx;
  bool done = fnz_context_create(NULL, &ctx) == FNZ_OK && runs_alike(w, ctx) && runs_alike(w, ctx);
  fnz_context_destroy(ctx);
  return done ? w : NULL;
}

static bool by_a_thread(worker *w) {
  pthread_t thread;
  void *done = NULL;
  return pthread_create(&thread, NULL, run_thread, w) == 0 && pthread_join(thread, &done) == 0 &&
         done && by_itself(w);
}

static void check(bool (*body)(worker *)) {
  fnz_context *ctx;
  worker *w = calloc(1, sizeof *w);
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  ck_assert_ptr_nonnull(w);
  open_all(w, ctx);
  ck_assert(run_all(w, ctx, w->want));
  ck_assert(in_child(w, body));
  ck_assert(runs_alike(w, ctx));
  close_all(w);
  free(w);
  fnz_context_destroy(ctx);
}

START_TEST(a_child_works) {
  check(by_itself);
}
END_TEST

START_TEST(a_childs_child_works) {
  check(by_its_child);
}
END_TEST

START_TEST(a_childs_thread_works) {
  check(by_a_thread);
}
END_TEST

RUN_SUITE("engine, fork", a_child_works, a_childs_child_works, a_childs_thread_works)
