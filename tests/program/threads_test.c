/* checks: 4
 * threads_test.c - many contexts in many threads: a finished program is read by all of them at once
 * and each gets what one alone gets. Says most under ThreadSanitizer (preset `thread`). */
#include "tests/help/test.h"

#include <fnz/fnz.h>

#include <pthread.h>
#include <stdio.h>

enum { THREADS = 8, ROUNDS = 3, MOST_RESULTS = 8 };

static const char *const files[] = {"kv_cache", "batchnorm_train", "dynamic_slices",
                                    "cond_local_mutation"};
enum { FILES = sizeof files / sizeof *files };

typedef struct results {
  fnz_buffer texts[MOST_RESULTS];
  size_t count;
} results;

/* The task of a thread; `wanted` is the result of one thread alone. */
typedef struct work {
  fnz_status (*make)(fnz_context *ctx, const struct work *w, results *out);
  const fnz_program *programs[FILES];
  fnz_buffer bytes[FILES];
  const fnz_arrays *inputs; /* of the first program */
  const results *wanted;
  int rounds;
  char failure[200];
} work;

static char *path_of(const char *name, const char *end) {
  static char path[512];
  snprintf(path, sizeof path, "%s/fixtures/pt2/%s%s", FNZ_SOURCE_DIR, name, end);
  return path;
}

static void free_results(fnz_context *ctx, results *r) {
  for (size_t k = 0; k < r->count; k++)
    fnz_buffer_free(ctx, &r->texts[k]);
  r->count = 0;
}

static fnz_status keep_text(fnz_context *ctx, const fnz_program *p, fnz_format format,
                            results *out) {
  fnz_buffer *b = &out->texts[out->count++];
  *b = (fnz_buffer){0};
  return fnz_program_write(ctx, p, format, b);
}

/* --- what is done ----------------------------------------------------------------------------- */
static fnz_status make_functional(fnz_context *ctx, const work *w, results *out) {
  for (size_t k = 0; k < FILES; k++) {
    fnz_program *functional;
    FNZ_TRY(fnz_functionalize(ctx, w->programs[k], NULL, &functional));
    fnz_status status = keep_text(ctx, functional, FNZ_FORMAT_CBOR, out);
    if (status == FNZ_OK)
      status = keep_text(ctx, w->programs[k], FNZ_FORMAT_TEXT, out);
    if (status == FNZ_OK)
      status = fnz_verify(ctx, w->programs[k], functional, NULL, WITH_TRIALS(1), NULL);
    fnz_program_destroy(functional);
    FNZ_TRY(status);
  }
  return FNZ_OK;
}

static fnz_status run_both(fnz_context *ctx, const work *w, const fnz_program *functional,
                           results *out) {
  fnz_backend *cpu;
  fnz_arrays *of_original, *of_functional;
  FNZ_TRY(fnz_arrays_create(ctx, &of_original));
  FNZ_TRY(fnz_arrays_create(ctx, &of_functional));
  FNZ_TRY(fnz_cpu_backend_create(ctx, 1, &cpu));
  FNZ_TRY(fnz_run(ctx, w->programs[0], cpu, w->inputs, AS_ORIGINAL, of_original));
  FNZ_TRY(fnz_run(ctx, functional, cpu, w->inputs, NULL, of_functional));
  FNZ_TRY(fnz_arrays_write_safetensors(ctx, of_original, &out->texts[out->count++]));
  FNZ_TRY(fnz_arrays_write_safetensors(ctx, of_functional, &out->texts[out->count++]));
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(of_original);
  fnz_arrays_destroy(of_functional);
  return FNZ_OK;
}

static fnz_status make_runs(fnz_context *ctx, const work *w, results *out) {
  fnz_program *functional;
  FNZ_TRY(fnz_functionalize(ctx, w->programs[0], NULL, &functional));
  fnz_status status = run_both(ctx, w, functional, out);
  fnz_program_destroy(functional);
  return status;
}

/* Each thread reads its own program; the weights of the results are shared with it. */
static fnz_status make_own(fnz_context *ctx, const work *w, results *out) {
  for (size_t k = 0; k < FILES; k++) {
    fnz_program *own, *functional;
    FNZ_TRY(fnz_program_read(ctx, w->bytes[k].data, w->bytes[k].size, FNZ_FORMAT_AUTO, &own));
    FNZ_TRY(fnz_functionalize(ctx, own, NULL, &functional));
    fnz_program_destroy(own);
    FNZ_TRY(keep_text(ctx, functional, FNZ_FORMAT_TEXT, out));
    fnz_program_destroy(functional);
  }
  return FNZ_OK;
}

/* Operators of one context are unknown in the others; refusing is done side by side as well. */
static fnz_status make_custom(fnz_context *ctx, const work *w, results *out) {
  static const char program[] = "fnz 1\nprogram(%x: f32[2]) {\n"
                                "  %y: f32[2] = lib::twice(%x)\n  return %y\n}\n";
  const fnz_op *op;
  fnz_program *p;
  (void)w;
  if (fnz_program_read(ctx, program, sizeof program - 1, FNZ_FORMAT_TEXT, &p) == FNZ_OK)
    return fnzi_fail(ctx, FNZ_CLASS_INTERNAL, NULL, "known before it was declared");
  FNZ_TRY(fnz_op_declare(ctx, "lib::twice(Tensor x) -> Tensor", &op));
  FNZ_TRY(fnz_program_read(ctx, program, sizeof program - 1, FNZ_FORMAT_TEXT, &p));
  fnz_status status = keep_text(ctx, p, FNZ_FORMAT_TEXT, out);
  fnz_program_destroy(p);
  return status;
}

/* --- in threads ------------------------------------------------------------------------------- */
static bool same_results(const results *a, const results *b) {
  bool same = a->count == b->count;
  for (size_t k = 0; same && k < a->count; k++)
    same = a->texts[k].size == b->texts[k].size &&
           memcmp(a->texts[k].data, b->texts[k].data, a->texts[k].size) == 0;
  return same;
}

static void *run_thread(void *user) {
  work *w = user;
  for (int i = 0; i < w->rounds && !*w->failure; i++) {
    fnz_context *ctx;
    results got = {0};
    if (fnz_context_create(NULL, &ctx) != FNZ_OK) {
      snprintf(w->failure, sizeof w->failure, "no context");
      break;
    }
    if (w->make(ctx, w, &got) != FNZ_OK)
      snprintf(w->failure, sizeof w->failure, "%s", fnz_last_error(ctx)->message);
    else if (!same_results(&got, w->wanted))
      snprintf(w->failure, sizeof w->failure, "another result than alone");
    free_results(ctx, &got);
    fnz_context_destroy(ctx);
  }
  return NULL;
}

static void run_threads(const work *w) {
  pthread_t threads[THREADS];
  work works[THREADS];
  for (size_t t = 0; t < THREADS; t++) {
    works[t] = *w;
    ck_assert_int_eq(pthread_create(&threads[t], NULL, run_thread, &works[t]), 0);
  }
  for (size_t t = 0; t < THREADS; t++)
    ck_assert_int_eq(pthread_join(threads[t], NULL), 0);
  for (size_t t = 0; t < THREADS; t++)
    ck_assert_msg(!*works[t].failure, "thread %zu: %s", t, works[t].failure);
}

static void check_in_threads(fnz_status (*make)(fnz_context *, const work *, results *)) {
  fnz_context *ctx;
  fnz_program *programs[FILES];
  fnz_arrays *inputs;
  fnz_buffer bytes = {0};
  results alone = {0};
  work w = {.make = make, .wanted = &alone, .rounds = ROUNDS};
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (size_t k = 0; k < FILES; k++) {
    OK(ctx, fnz_file_read(ctx, path_of(files[k], ".pt2"), &w.bytes[k]));
    OK(ctx, fnz_program_read(ctx, w.bytes[k].data, w.bytes[k].size, FNZ_FORMAT_AUTO, &programs[k]));
    w.programs[k] = programs[k];
  }
  OK(ctx, fnz_file_read(ctx, path_of(files[0], ".inputs.safetensors"), &bytes));
  OK(ctx, fnz_arrays_read_safetensors(ctx, bytes.data, bytes.size, &inputs));
  w.inputs = inputs;
  fnz_context *own;
  ck_assert_int_eq(fnz_context_create(NULL, &own), FNZ_OK);
  OK(own, make(own, &w, &alone));
  run_threads(&w);
  free_results(own, &alone);
  fnz_context_destroy(own);
  fnz_arrays_destroy(inputs);
  fnz_buffer_free(ctx, &bytes);
  for (size_t k = 0; k < FILES; k++) {
    fnz_program_destroy(programs[k]);
    fnz_buffer_free(ctx, &w.bytes[k]);
  }
  fnz_context_destroy(ctx);
}

START_TEST(a_shared_program_is_functionalized_and_verified_by_all) {
  check_in_threads(make_functional);
}
END_TEST

START_TEST(a_shared_program_is_run_by_all) {
  check_in_threads(make_runs);
}
END_TEST

START_TEST(each_reads_its_own) {
  check_in_threads(make_own);
}
END_TEST

START_TEST(operators_belong_to_their_context) {
  check_in_threads(make_custom);
}
END_TEST

RUN_SUITE("threads", a_shared_program_is_functionalized_and_verified_by_all,
          a_shared_program_is_run_by_all, each_reads_its_own, operators_belong_to_their_context)
