/* checks: 2
 * engine_threads_test.c - many threads run one executable: with a state of each thread's own, and
 * at sizes of their own, where each makes plans of groups and of operators taken apart. Says most
 * under ThreadSanitizer (preset `thread`). */
#include "tests/engine/decode.h"
#include "tests/engine/engine_help.h"

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 8, TOKENS = 12 };

static fnz_context *own_context(void) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  return ctx;
}

/* --- A state of each thread's own ------------------------------------------------------------- */

typedef struct writer {
  const fnz_executable *exe;
  int64_t tokens[TOKENS];
  char failure[200];
} writer;

static void *write_tokens(void *user) {
  writer *w = user;
  fnz_context *ctx;
  fnz_executable_state *state = NULL;
  int64_t token = 7;
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return NULL;
  fnz_status status = fnz_executable_state_create(ctx, w->exe, &state);
  for (int i = 0; status == FNZ_OK && i < TOKENS; i++) {
    status = run_decode(ctx, w->exe, state, NULL, &token); /* one of the executable's own */
    w->tokens[i] = token;
  }
  if (status != FNZ_OK)
    snprintf(w->failure, sizeof w->failure, "%.150s", fnz_last_error(ctx)->message);
  fnz_executable_state_destroy(state);
  fnz_context_destroy(ctx);
  return NULL;
}

START_TEST(many_threads_run_one_executable) {
  fnz_context *ctx = own_context();
  fnz_program *p = load_decode(ctx);
  fnz_executable *exe = compile(ctx, p);
  pthread_t threads[THREADS];
  writer writers[THREADS] = {{.exe = NULL}};
  for (int i = 0; i < THREADS; i++) {
    writers[i].exe = exe;
    ck_assert_int_eq(pthread_create(&threads[i], NULL, write_tokens, &writers[i]), 0);
  }
  static const int64_t wanted[TOKENS] = {24, 1, 4, 12, 35, 36, 2, 28, 2, 22, 2, 28}; /* eager's */
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    ck_assert_str_eq(writers[i].failure, "");
    ck_assert_mem_eq(writers[i].tokens, wanted, sizeof wanted);
  }
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- Sizes of each run's own ------------------------------------------------------------------ */
enum { MOST = 40, WIDTH = 8, ROUNDS = 60 };

/* A group, and a similarity that is computed by others. */
static const char similarity[] =
    "fnz 1\nsymbol s0 = 4\nrange s0 1..1000\n"
    "program(%x: f32[{s0},8], %y: f32[{s0},8])\n{\n"
    "  %a: f32[{s0},8] = mul.Tensor(%x, %y)\n  %b: f32[{s0},8] = tanh(%a)\n"
    "  %c: f32[{s0},8] = add.Tensor(%b, %x)\n"
    "  %s: f32[{s0}] = cosine_similarity(%c, %y, 1)\n  return %c, %s\n}\n";

typedef struct similar {
  float c[MOST * WIDTH], s[MOST];
} similar;

static float x[MOST * WIDTH], y[MOST * WIDTH]; /* only read by the threads */

static fnz_status run_similarity(fnz_context *ctx, const fnz_executable *exe, int64_t n,
                                 similar *got) {
  const int64_t sizes[] = {n, WIDTH}, strides[] = {WIDTH, 1};
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  const fnz_memory in[] = {{x, &g}, {y, &g}};
  fnz_memory out[] = {{got->c, NULL}, {got->s, NULL}};
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = out};
  return fnz_executable_run(ctx, exe, &run);
}

typedef struct runner {
  const fnz_executable *exe;
  const similar *wanted; /* per number of rows */
  int first;
  char failure[200];
} runner;

static void *run_sizes(void *user) {
  runner *r = user;
  fnz_context *ctx;
  similar got;
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return NULL;
  for (int i = 0; i < ROUNDS && !*r->failure; i++) {
    int64_t n = 1 + (r->first + 13 * i) % MOST;
    const similar *want = &r->wanted[n - 1];
    if (run_similarity(ctx, r->exe, n, &got) != FNZ_OK)
      snprintf(r->failure, sizeof r->failure, "%.150s", fnz_last_error(ctx)->message);
    else if (memcmp(got.c, want->c, (size_t)n * WIDTH * sizeof *got.c) ||
             memcmp(got.s, want->s, (size_t)n * sizeof *got.s))
      snprintf(r->failure, sizeof r->failure, "%lld rows: another result", (long long)n);
  }
  fnz_context_destroy(ctx);
  return NULL;
}

START_TEST(many_threads_make_plans) {
  static similar wanted[MOST];
  fnz_context *ctx = own_context();
  fnz_program *p;
  pthread_t threads[THREADS];
  runner runners[THREADS] = {{.exe = NULL}};
  OK(ctx, fnz_program_read(ctx, similarity, sizeof similarity - 1, FNZ_FORMAT_TEXT, &p));
  for (int i = 0; i < MOST * WIDTH; i++) {
    x[i] = (float)(i * 7 % 31 - 15) * 0.125f;
    y[i] = (float)(i * 5 % 29 - 14) * 0.25f;
  }
  fnz_executable *alone = compile(ctx, p), *exe = compile(ctx, p);
  for (int64_t n = 1; n <= MOST; n++)
    OK(ctx, run_similarity(ctx, alone, n, &wanted[n - 1]));
  ck_assert(wanted[3].s[3] != 0 && wanted[3].s[4] == 0);
  for (int i = 0; i < THREADS; i++) {
    runners[i] = (runner){.exe = exe, .wanted = wanted, .first = 5 * i};
    ck_assert_int_eq(pthread_create(&threads[i], NULL, run_sizes, &runners[i]), 0);
  }
  for (int i = 0; i < THREADS; i++) {
    pthread_join(threads[i], NULL);
    ck_assert_str_eq(runners[i].failure, "");
  }
  fnz_executable_destroy(alone);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("engine, threads", many_threads_run_one_executable, many_threads_make_plans)
