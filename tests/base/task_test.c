/* checks: 8
 * task_test.c - long calls report progress, and each report can cancel them. The clock is
 * simulated: a second passes at each look. */
#include "tests/help/faults.h"
#include "tests/help/test.h"

#include <fnz/fnz.h>

#include <stdio.h>
#include <time.h>
#include <unistd.h>

#define KV_CACHE FNZ_SOURCE_DIR "/fixtures/pt2/kv_cache"
#define DYNAMIC  FNZ_SOURCE_DIR "/fixtures/pt2/dynamic_slices.pt2"
#define BRANCHES FNZ_SOURCE_DIR "/fixtures/pt2/cond_local_mutation.pt2"

static time_t seconds;
static bool is_slow;

/* The library's clock: tests/CMakeLists.txt. */
int __wrap_clock_gettime(clockid_t clock, struct timespec *out);
int __wrap_clock_gettime(clockid_t clock, struct timespec *out) {
  (void)clock;
  seconds += is_slow;
  *out = (struct timespec){.tv_sec = seconds};
  return 0;
}

/* The caller's function: notes what it gets, and cancels at one call. */
typedef struct follower {
  size_t calls, cancel_at; /* 0: never */
  char heard[512];         /* each `what` once */
} follower;

static bool follow(void *user, const fnz_progress *p) {
  follower *f = user;
  ck_assert_uint_eq(p->size, sizeof *p);
  ck_assert(*p->what && p->unit && p->share <= 1);
  ck_assert(p->of == 0 || p->done <= p->of || p->share == 1);
  if (!strstr(f->heard, p->what))
    strcat(strcat(f->heard, " "), p->what);
  return ++f->calls != f->cancel_at;
}

typedef fnz_status body(fnz_context *ctx, void *user);

static fnz_status try_once(follower *f, body *run, void *user) {
  faults memory = {0};
  const fnz_allocator allocator = {faults_resize, &memory};
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(&allocator, &ctx), FNZ_OK);
  fnz_context_set_progress(ctx, follow, f);
  const fnz_status status = run(ctx, user);
  if (status == FNZ_CANCELLED) {
    ck_assert_str_eq(fnz_class_name(fnz_last_error(ctx)->kind), "CANCELLED");
    ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "the caller has cancelled it: "));
    f->cancel_at = 0;
    ck_assert_int_eq(run(ctx, user), FNZ_OK); /* the context is as good as new */
  }
  fnz_context_destroy(ctx);
  ck_assert_uint_eq(memory.live_bytes, 0);
  return status;
}

/* Cancels at each call of the caller's function in turn, or at 100 of them. Returns how many runs
 * ended well all the same. */
static size_t each_cancel(body *run, void *user, const char *hears) {
  const time_t began = seconds;
  follower all = {0};
  size_t cancelled = 0, well = 0;
  is_slow = true;
  ck_assert_int_eq(try_once(&all, run, user), FNZ_OK);
  ck_assert_str_eq(all.heard, hears);
  const size_t step = 1 + all.calls / 100;
  for (size_t n = 1; n <= all.calls; n += step) {
    follower one = {.cancel_at = n};
    const fnz_status status = try_once(&one, run, user);
    ck_assert(status == FNZ_OK || status == FNZ_CANCELLED);
    cancelled += status == FNZ_CANCELLED;
    well += status == FNZ_OK;
  }
  ck_assert_uint_gt(cancelled, 0);
  is_slow = false;
  seconds = began; /* Check has the same clock */
  return well;
}

/* --- Programs --------------------------------------------------------------------------------- */
/* Everything that is made must be there after success, and nothing after a failure. */
static fnz_status make_all(fnz_context *ctx, const char *from, const char *to) {
  unsigned char digits[FNZ_HASH_BYTES];
  fnz_program *p = NULL, *f = NULL, *d = NULL;
  fnz_status status = fnz_program_load(ctx, from, FNZ_FORMAT_AUTO, &p);
  ck_assert_int_eq(p != NULL, status == FNZ_OK);
  if (status == FNZ_OK)
    ck_assert_int_eq((status = fnz_functionalize(ctx, p, NULL, &f)) == FNZ_OK, f != NULL);
  if (status == FNZ_OK)
    ck_assert_int_eq((status = fnz_decompose(ctx, f, NULL, &d)) == FNZ_OK, d != NULL);
  if (status == FNZ_OK)
    status = fnz_verify(ctx, p, f, NULL, NULL, NULL);
  if (status == FNZ_OK)
    status = fnz_program_hash(ctx, f, true, digits);
  if (status == FNZ_OK)
    ck_assert_int_eq((status = fnz_program_save(ctx, d, FNZ_FORMAT_PT2, to)) == FNZ_OK,
                     access(to, F_OK) == 0);
  unlink(to);
  fnz_program_destroy(p);
  fnz_program_destroy(f);
  fnz_program_destroy(d);
  return status;
}

static fnz_status make_fixed(fnz_context *ctx, void *to) {
  return make_all(ctx, KV_CACHE ".pt2", to);
}

static fnz_status make_mapped(fnz_context *ctx, void *to) {
  fnz_context_set_reading(ctx, FNZ_READING_MAP);
  return make_all(ctx, BRANCHES, to);
}

static fnz_status make_dynamic(fnz_context *ctx, void *to) {
  return make_all(ctx, DYNAMIC, to);
}

static void with_file(body *run, const char *hears) {
  char folder[] = "/tmp/fnz_task_XXXXXX", to[64];
  ck_assert_ptr_nonnull(mkdtemp(folder));
  snprintf(to, sizeof to, "%s/made.pt2", folder);
  ck_assert_uint_eq(each_cancel(run, to, hears), 0);
  ck_assert_int_eq(rmdir(folder), 0); /* nothing is in it */
}

START_TEST(programs_of_fixed_sizes) {
  with_file(make_fixed, " read functionalize decompose verify hash write");
}
END_TEST

START_TEST(programs_that_are_mapped) {
  with_file(make_mapped, " read functionalize decompose verify write");
}
END_TEST

START_TEST(programs_of_unknown_sizes) {
  with_file(make_dynamic, " read functionalize decompose verify write");
}
END_TEST

/* --- Runs ------------------------------------------------------------------------------------- */
/* A program and its inputs, of a context that nothing follows. */
typedef struct model {
  fnz_context *ctx;
  fnz_program *traced, *functional;
  fnz_arrays *inputs, *state; /* state: its first values, if the file has none */
  bool original;
} model;

static model open_model(const char *program) {
  model m = {NULL};
  ck_assert_int_eq(fnz_context_create(NULL, &m.ctx), FNZ_OK);
  OK(m.ctx, fnz_program_load(m.ctx, program, FNZ_FORMAT_AUTO, &m.traced));
  OK(m.ctx, fnz_functionalize(m.ctx, m.traced, NULL, &m.functional));
  OK(m.ctx, fnz_arrays_load(m.ctx, KV_CACHE ".inputs.safetensors", &m.inputs));
  return m;
}

static void close_model(model *m) {
  fnz_arrays_destroy(m->state);
  fnz_arrays_destroy(m->inputs);
  fnz_program_destroy(m->functional);
  fnz_program_destroy(m->traced);
  fnz_context_destroy(m->ctx);
}

static fnz_status interpret(fnz_context *ctx, void *user) {
  const model *m = user;
  fnz_backend *backend;
  fnz_arrays *outputs;
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &backend));
  OK(ctx, fnz_arrays_create(ctx, &outputs));
  fnz_status status = fnz_run(ctx, m->original ? m->traced : m->functional, backend, m->inputs,
                              m->original ? AS_ORIGINAL : NULL, outputs);
  fnz_arrays_destroy(outputs);
  fnz_backend_destroy(backend);
  return status;
}

START_TEST(interpreters) {
  model m = open_model(KV_CACHE ".pt2");
  for (int original = 0; original < 2; original++) {
    m.original = original;
    ck_assert_uint_eq(each_cancel(interpret, &m, " run"), 0);
  }
  close_model(&m);
}
END_TEST

static fnz_status compile(fnz_context *ctx, void *user) {
  const model *m = user;
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  options.threads = 1;
  fnz_status status = fnz_compile(ctx, m->functional, &options, &exe);
  ck_assert_int_eq(exe != NULL, status == FNZ_OK);
  fnz_executable_destroy(exe);
  return status;
}

START_TEST(plans) {
  model m = open_model(KV_CACHE ".pt2");
  ck_assert_uint_eq(each_cancel(compile, &m, " compile"), 0);
  close_model(&m);
}
END_TEST

/* A program that begins with a write to its state; nothing behind it can fail. */
static const char writes_first[] =
    "fnz 1\nprogram(%m: f32[4,4] buffer \"m\" persistent, %x: f32[4,4]) {\n"
    "  %a: f32[4,4] = add_.Tensor(%m, %x)\n  %p: f32[4,4] = mm(%a, %x)\n"
    "  %q: f32[4,4] = mm(%p, %x)\n  return %q\n}\n";

static void add_numbers(fnz_arrays *to, const char *name) {
  const int64_t sizes[] = {4, 4};
  void *data;
  ck_assert_int_eq(fnz_arrays_add(to, name, FNZ_F32, 2, sizes, &data), FNZ_OK);
  for (int i = 0; i < 16; i++)
    ((float *)data)[i] = (float)i;
}

static model open_text(const char *text) {
  model m = {NULL};
  ck_assert_int_eq(fnz_context_create(NULL, &m.ctx), FNZ_OK);
  OK(m.ctx, fnz_program_read(m.ctx, text, strlen(text), FNZ_FORMAT_TEXT, &m.traced));
  OK(m.ctx, fnz_functionalize(m.ctx, m.traced, NULL, &m.functional));
  OK(m.ctx, fnz_arrays_create(m.ctx, &m.inputs));
  OK(m.ctx, fnz_arrays_create(m.ctx, &m.state));
  add_numbers(m.inputs, "x");
  add_numbers(m.state, "m");
  return m;
}

static void write_state(fnz_context *ctx, const fnz_executable_state *state, fnz_arrays **out) {
  OK(ctx, fnz_arrays_create(ctx, out));
  OK(ctx, fnz_executable_state_write(ctx, state, *out));
}

static bool same_arrays(const fnz_arrays *a, const fnz_arrays *b) {
  bool same = true;
  for (size_t i = 0; i < fnz_arrays_count(a); i++)
    same = same && memcmp(fnz_arrays_at(a, i)->data, fnz_arrays_at(b, i)->data,
                          fnz_arrays_at(a, i)->bytes) == 0;
  return same;
}

/* A state changes in a run that ends well, and in no other one. */
static fnz_status run_with_state(fnz_context *ctx, void *user) {
  const model *m = user;
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  fnz_executable_state *state;
  fnz_arrays *before, *after, *outputs;
  options.threads = 1;
  const bool slow = is_slow;
  is_slow = false; /* only the run is followed */
  OK(ctx, fnz_compile(ctx, m->functional, &options, &exe));
  OK(ctx, fnz_executable_state_create(ctx, exe, &state));
  if (m->state)
    OK(ctx, fnz_executable_state_read(ctx, state, m->state));
  write_state(ctx, state, &before);
  OK(ctx, fnz_arrays_create(ctx, &outputs));
  is_slow = slow;
  fnz_status status = fnz_executable_run_arrays(ctx, exe, m->inputs, state, NULL, outputs);
  is_slow = false;
  write_state(ctx, state, &after);
  ck_assert_int_eq(same_arrays(before, after), status != FNZ_OK);
  ck_assert_int_eq(fnz_arrays_count(outputs) > 0, status == FNZ_OK);
  fnz_arrays_destroy(outputs);
  fnz_arrays_destroy(after);
  fnz_arrays_destroy(before);
  fnz_executable_state_destroy(state);
  fnz_executable_destroy(exe);
  is_slow = slow;
  return status;
}

/* If the state cannot be restored, the run goes on after the first write to it. */
START_TEST(runs_with_state) {
  model restores = open_model(KV_CACHE ".pt2"), goes_on = open_text(writes_first);
  ck_assert_uint_eq(each_cancel(run_with_state, &restores, " run"), 0);
  ck_assert_uint_gt(each_cancel(run_with_state, &goes_on, " run"), 0);
  close_model(&goes_on);
  close_model(&restores);
}
END_TEST

/* --- How often -------------------------------------------------------------------------------- */
START_TEST(short_calls_are_not_followed) {
  char to[] = "/tmp/fnz_task_XXXXXX";
  follower f = {0};
  ck_assert_int_ge(close(mkstemp(to)), 0);
  ck_assert_int_eq(try_once(&f, make_fixed, to), FNZ_OK);
  ck_assert_uint_eq(f.calls, 0);
}
END_TEST

START_TEST(nothing_follows_after_null) {
  char to[] = "/tmp/fnz_task_XXXXXX";
  follower f = {.cancel_at = 1};
  fnz_context *ctx;
  ck_assert_int_ge(close(mkstemp(to)), 0);
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_context_set_progress(ctx, follow, &f);
  is_slow = true;
  ck_assert_int_eq(make_fixed(ctx, to), FNZ_CANCELLED);
  is_slow = false;
  fnz_context_set_progress(ctx, NULL, NULL);
  OK(ctx, make_fixed(ctx, to));
  ck_assert_uint_eq(f.calls, 1);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("task", programs_of_fixed_sizes, programs_that_are_mapped, programs_of_unknown_sizes,
          interpreters, plans, runs_with_state, short_calls_are_not_followed,
          nothing_follows_after_null)
