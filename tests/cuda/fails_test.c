/* checks: 16
 * fails_test.c - failures on a GPU, by the stand-in for its driver: they have a reason, leave no
 * memory, and the state is unchanged, or reported as lost; kept code is trusted with care. */
#include "engine/cuda/driver.h"
#include "soak/programs.h"
#include "tests/cuda/help.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

/* One run of small_program(), whose result is right. */
static fnz_status run_small(fnz_context *ctx, const fnz_program *p, const fnz_executable *exe) {
  fnz_arrays *inputs, *outputs;
  OK(ctx, fnzi_random_inputs(ctx, p, 5, &inputs));
  OK(ctx, fnz_arrays_create(ctx, &outputs));
  fnz_status status = fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, outputs);
  if (status == FNZ_OK) {
    const float *x = fnz_arrays_at(inputs, 0)->data, *y = fnz_arrays_at(outputs, 0)->data;
    for (int i = 0; i < 1000; i++)
      ck_assert_float_eq(y[i], x[i] + 1);
  }
  fnz_arrays_destroy(inputs);
  fnz_arrays_destroy(outputs);
  return status;
}

static void message_has(fnz_context *ctx, const char *text) {
  const char *message = fnz_last_error(ctx)->message;
  ck_assert_msg(strstr(message, text) != NULL, "%s: it does not say %s", message, text);
}

/* --- What there is not ------------------------------------------------------------------------ */
START_TEST(what_is_not_there_is_named) {
  fnz_context *ctx = open_context();
  fnz_program *p = small_program(ctx);
  fnz_executable *exe;
  FAILS(ctx, "ARGUMENT", compile(ctx, p, "gpu", &exe));
  FAILS(ctx, "ARGUMENT", compile(ctx, p, "cuda:x", &exe));
  FAILS(ctx, "UNSUPPORTED", compile(ctx, p, "cuda:1", &exe));
  message_has(ctx, "there is no device cuda:1");
  setenv("STANDIN_DEVICES", "0", 1);
  FAILS(ctx, "UNSUPPORTED", compile(ctx, p, "cuda", &exe));
  message_has(ctx, "no device");
  unsetenv("STANDIN_DEVICES");
  setenv("STANDIN_FAIL", "cuInit:1:46", 1);
  FAILS(ctx, "UNSUPPORTED", compile(ctx, p, "cuda", &exe));
  message_has(ctx, "error 46");
  unsetenv("STANDIN_FAIL");
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

START_TEST(another_kind_of_gpu_is_named) {
  fnz_context *ctx = open_context();
  fnz_program *p = small_program(ctx);
  fnz_executable *exe;
  setenv("STANDIN_SM", "121", 1);
  FAILS(ctx, "UNSUPPORTED", compile(ctx, p, "cuda", &exe));
  message_has(ctx, "NVRTC 13.0 makes no code for GPUs of compute capability 12.1");
  setenv("STANDIN_DRIVER", "12080", 1);
  FAILS(ctx, "UNSUPPORTED", compile(ctx, p, "cuda", &exe));
  message_has(ctx, "NVRTC 12.0 makes no code for GPUs of compute capability 12.1");
  unsetenv("STANDIN_DRIVER");
  unsetenv("STANDIN_SM");
  setenv("STANDIN_FAIL", "cuModuleLoadData:1:209", 1);
  FAILS(ctx, "UNSUPPORTED", compile(ctx, p, "cuda", &exe));
  message_has(ctx, "when a program is loaded");
  unsetenv("STANDIN_FAIL");
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- Memory and calls ------------------------------------------------------------------------- */
START_TEST(without_memory_nothing_is_left) {
  fnz_context *ctx = open_context();
  fnz_program *p = small_program(ctx);
  fnz_executable *exe;
  OK(ctx, compile(ctx, p, "cuda", &exe));
  setenv("STANDIN_MEMORY", "4000", 1);
  ck_assert_int_eq(run_small(ctx, p, exe), FNZ_NO_MEMORY);
  unsetenv("STANDIN_MEMORY");
  ask_for_failure("cuMemHostAlloc:1:2");
  ck_assert_int_eq(run_small(ctx, p, exe), FNZ_NO_MEMORY);
  message_has(ctx, "the CPU has no ");
  ask_for_failure(NULL);
  OK(ctx, run_small(ctx, p, exe));
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* Numbers of the driver's errors, and their classes here. */
START_TEST(errors_are_of_classes) {
  static const struct {
    int error;
    const char *kind;
    bool is_fatal;
  } cases[] = {
      {1, "INTERNAL", false},      {2, "NOMEM", false},         {34, "UNSUPPORTED", false},
      {46, "UNSUPPORTED", false},  {222, "UNSUPPORTED", false}, {803, "UNSUPPORTED", false},
      {804, "UNSUPPORTED", false}, {808, "UNSUPPORTED", false}, {35, "INTERNAL", false},
      {810, "INTERNAL", true},     {214, "INTERNAL", true},     {220, "INTERNAL", true},
      {226, "INTERNAL", true},     {700, "INTERNAL", true},     {719, "INTERNAL", true},
      {720, "INTERNAL", false},    {999, "INTERNAL", true}};
  fnz_context *ctx = open_context();
  fnzi_cuda_driver driver;
  OK(ctx, fnzi_cuda_driver_open(ctx, &driver));
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    FAILS(ctx, cases[i].kind, fnzi_cuda_driver_status(ctx, &driver, cases[i].error, "it runs"));
    ck_assert_int_eq(fnzi_cuda_driver_is_fatal(cases[i].error), cases[i].is_fatal);
  }
  fnzi_cuda_driver_close(&driver);
  fnz_context_destroy(ctx);
}
END_TEST

/* Each call of the driver that a run makes fails in its turn, with an error that passes. */
START_TEST(a_call_that_fails_leaves_all_as_it_was) {
  static const char *const functions[] = {
      "cuMemAlloc_v2",        "cuStreamCreate",      "cuMemcpyHtoDAsync_v2", "cuLaunchKernel",
      "cuMemcpyDtoHAsync_v2", "cuStreamSynchronize", "cuMemHostAlloc"};
  fnz_context *ctx = open_context();
  fnz_program *p = small_program(ctx);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    fnz_executable *exe;
    char fail[64];
    snprintf(fail, sizeof fail, "%s:1:1", functions[i]);
    OK(ctx, compile(ctx, p, "cuda", &exe));
    ask_for_failure(fail);
    ck_assert_int_eq(run_small(ctx, p, exe), FNZ_INTERNAL);
    message_has(ctx, "CUDA gave error 1 ");
    ask_for_failure(NULL);
    OK(ctx, run_small(ctx, p, exe));
    fnz_executable_destroy(exe);
    nothing_is_left_but(1);
  }
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- Illegal addresses ------------------------------------------------------------------------ */
/* Three steps, whose spaces are not the same. */
static fnz_program *chain(fnz_context *ctx) {
  return functional_of(ctx, program_of(ctx, "%x: f32[40], %y: f32[50], %z: f32[60]",
                                       "  %a: f32[40] = mul.Tensor(%x, 2)\n"
                                       "  %b: f32[50] = exp(%y)\n"
                                       "  %c: f32[60] = add.Tensor(%z, 1)\n"
                                       "  return %a, %b, %c"));
}

/* The stand-in forgets its error when no context is held, which the fnz_context gives back with its
 * last executable; docs/gpu.md says that a GPU may. */
static void try_anew(fnz_context *ctx, const fnz_program *p, const fnz_compile_options *options,
                     const fnz_arrays *inputs) {
  fnz_executable *exe;
  fnz_arrays *outputs;
  OK(ctx, fnz_arrays_create(ctx, &outputs));
  fnz_status status = fnz_compile(ctx, p, options, &exe);
  if (status == FNZ_OK) {
    status = fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, outputs);
    fnz_executable_destroy(exe);
  }
  if (is_standin())
    OK(ctx, status);
  printf("behind an illegal address: %s\n",
         status == FNZ_OK ? "the GPU works again" : fnz_last_error(ctx)->message);
  for (int i = 0; status == FNZ_OK && i < 40; i++)
    ck_assert_float_eq(((const float *)fnz_arrays_at(outputs, 0)->data)[i],
                       2 * ((const float *)fnz_arrays_at(inputs, 0)->data)[i]);
  fnz_arrays_destroy(outputs);
}

/* Launch 2 of three goes wrong: with `check` that is known, else what it is one of. */
static void break_chain(bool checks, const char *says) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_context *ctx = open_context(), *another = open_context();
  fnz_program *p = chain(ctx);
  fnz_executable *exe, *other;
  fnz_arrays *inputs, *outputs;
  options.staging = true;
  options.device = "cuda";
  options.check = checks;
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  OK(ctx, fnzi_random_inputs(ctx, p, 5, &inputs));
  OK(ctx, fnz_arrays_create(ctx, &outputs));
  ask_for_failure("kernel:2:700");
  FAILS(ctx, "INTERNAL", fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, outputs));
  message_has(ctx, "CUDA gave error 700");
  message_has(ctx, says);
  ask_for_failure(NULL);
  FAILS(ctx, "INTERNAL", fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, outputs));
  message_has(ctx, "this executable is finished");
  OK(ctx, compile(ctx, p, "cpu", &other));
  OK(ctx, fnz_executable_run_arrays(ctx, other, inputs, NULL, NULL, outputs));
  fnz_executable_destroy(other);
  fnz_executable_destroy(exe);
  try_anew(another, p, &options, inputs);
  fnz_context_destroy(another);
  try_anew(ctx, p, &options, inputs);
  fnz_arrays_destroy(inputs);
  fnz_arrays_destroy(outputs);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  if (is_standin())
    nothing_is_left();
}

/* Each in a process of its own, for a GPU may not work in it any more. */
START_TEST(an_illegal_address_ends_the_executable_and_not_the_process) {
  let_context_go();
  break_chain(_i == 0,
              _i == 0 ? "in step 1 (exp)" : "in one of the steps 0 (mul.Tensor) to 2 (add.Tensor)");
}
END_TEST

/* --- State ------------------------------------------------------------------------------------ */
static const char counting[] =
    "fnz 1\nweight \"m\": f32[8]\n"
    "program(%m: f32[8] buffer \"m\", %x: f32[8])\n{\n"
    "  %a: f32[8] = add_.Tensor(%m, %x)\n  %z: f32[8] = mul.Tensor(%a, 2)\n  return %z\n}\n";

typedef struct counter {
  fnz_context *ctx;
  fnz_program *p;
  fnz_executable *exe;
  fnz_executable_state *state;
  fnz_arrays *inputs;
} counter;

static void open_counter(counter *c) {
  const int64_t sizes[] = {8};
  fnz_program *traced;
  void *x;
  c->ctx = open_context();
  OK(c->ctx, fnz_program_read(c->ctx, counting, strlen(counting), FNZ_FORMAT_TEXT, &traced));
  c->p = functional_of(c->ctx, traced);
  OK(c->ctx, compile(c->ctx, c->p, "cuda", &c->exe));
  OK(c->ctx, fnz_executable_state_create(c->ctx, c->exe, &c->state));
  OK(c->ctx, fnz_arrays_create(c->ctx, &c->inputs));
  OK(c->ctx, fnz_arrays_add(c->inputs, "buffer.m", FNZ_F32, 1, sizes, &x));
  OK(c->ctx, fnz_executable_state_read(c->ctx, c->state, c->inputs));
  fnz_arrays_destroy(c->inputs);
  OK(c->ctx, fnz_arrays_create(c->ctx, &c->inputs));
  OK(c->ctx, fnz_arrays_add(c->inputs, "x", FNZ_F32, 1, sizes, &x));
  for (int i = 0; i < 8; i++)
    ((float *)x)[i] = 1;
}

static fnz_status count_on(counter *c) {
  fnz_arrays *outputs;
  OK(c->ctx, fnz_arrays_create(c->ctx, &outputs));
  fnz_status status = fnz_executable_run_arrays(c->ctx, c->exe, c->inputs, c->state, NULL, outputs);
  fnz_arrays_destroy(outputs);
  return status;
}

static float counted(counter *c) {
  fnz_arrays *out;
  OK(c->ctx, fnz_arrays_create(c->ctx, &out));
  OK(c->ctx, fnz_executable_state_write(c->ctx, c->state, out));
  float value = ((const float *)fnz_arrays_at(out, 0)->data)[3];
  fnz_arrays_destroy(out);
  return value;
}

static void close_counter(counter *c) {
  fnz_executable_state_destroy(c->state);
  fnz_executable_destroy(c->exe);
  fnz_arrays_destroy(c->inputs);
  fnz_program_destroy(c->p);
  fnz_context_destroy(c->ctx);
  nothing_is_left();
}

/* Memory of the state that was taken and could not be filled is not taken for the state. */
START_TEST(a_state_that_was_not_filled_is_filled_later) {
  for (int call = 1; call <= 2; call++) {
    counter c;
    char fail[64];
    open_counter(&c);
    snprintf(fail, sizeof fail, "cuMemcpyHtoDAsync_v2:%d:1", call);
    ask_for_failure(fail);
    FAILS(c.ctx, "INTERNAL", count_on(&c));
    ask_for_failure(NULL);
    OK(c.ctx, count_on(&c));
    ck_assert_float_eq(counted(&c), 1);
    close_counter(&c);
  }
}
END_TEST

START_TEST(a_state_that_was_lost_is_said_to_be) {
  counter c;
  fnz_arrays *out;
  open_counter(&c);
  OK(c.ctx, count_on(&c));
  setenv("STANDIN_FAIL", "kernel:1:719", 1);
  FAILS(c.ctx, "INTERNAL", count_on(&c));
  message_has(c.ctx, "the state could not be restored: it is lost");
  unsetenv("STANDIN_FAIL");
  OK(c.ctx, fnz_arrays_create(c.ctx, &out));
  FAILS(c.ctx, "INTERNAL", fnz_executable_state_write(c.ctx, c.state, out));
  message_has(c.ctx, "the state is lost");
  ck_assert_ptr_null(fnz_executable_state_find(c.state, "m").data);
  FAILS(c.ctx, "INTERNAL", count_on(&c));
  fnz_arrays_destroy(out);
  close_counter(&c);
}
END_TEST

/* Failures before m is written, or after it: of a library, a launch, a copy, a graph. */
static const struct {
  const char *body, *variable, *value;
  bool checks, is_lost;
} behind[] = {
    {"  %z: f32[4,4] = mm(%x, %x)\n  %a: f32[4,4] = add_.Tensor(%m, %z)\n  return %z",
     "STANDIN_CUBLAS", "run", true, false},
    {"  %a: f32[4,4] = add_.Tensor(%m, %x)\n  %z: f32[4,4] = mm(%a, %x)\n  return %z",
     "STANDIN_CUBLAS", "run", true, true},
    {"  %z: i64[] = argmax(%x)\n  %a: f32[4,4] = add_.Tensor(%m, %z)\n  return %z", "STANDIN_FAIL",
     "cuLaunchKernel:1:1", true, false},
    {"  %a: f32[4,4] = add_.Tensor(%m, %x)\n  %z: f32[4,4] = cumsum(%a, 0)\n  return %z",
     "STANDIN_FAIL", "cuLaunchKernel:2:1", true, true},
    {"  %a: f32[4,4] = add_.Tensor(%m, %x)\n  %z: f32[4,4] = cumsum(%a, 0)\n  return %z",
     "STANDIN_FAIL", "cuMemcpyDtoHAsync_v2:1:1", true, true},
    {"  %a: f32[4,4] = add_.Tensor(%m, %x)\n  %z: f32[4,4] = cumsum(%a, 0)\n  return %z",
     "STANDIN_FAIL", "cuGraphLaunch:1:1", false, true},
};

static void open_behind(counter *c, const char *body, bool checks) {
  const int64_t sizes[] = {4, 4};
  char text[400];
  fnz_program *traced;
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  void *data;
  options.staging = true;
  options.device = "cuda";
  options.check = checks;
  c->ctx = open_context();
  snprintf(text, sizeof text,
           "fnz 1\nweight \"m\": f32[4,4]\n"
           "program(%%m: f32[4,4] buffer \"m\", %%x: f32[4,4])\n{\n%s\n}\n",
           body);
  OK(c->ctx, fnz_program_read(c->ctx, text, strlen(text), FNZ_FORMAT_TEXT, &traced));
  c->p = functional_of(c->ctx, traced);
  OK(c->ctx, fnz_compile(c->ctx, c->p, &options, &c->exe));
  OK(c->ctx, fnz_executable_state_create(c->ctx, c->exe, &c->state));
  OK(c->ctx, fnz_arrays_create(c->ctx, &c->inputs));
  OK(c->ctx, fnz_arrays_add(c->inputs, "buffer.m", FNZ_F32, 2, sizes, &data));
  OK(c->ctx, fnz_executable_state_read(c->ctx, c->state, c->inputs));
  fnz_arrays_destroy(c->inputs);
  OK(c->ctx, fnz_arrays_create(c->ctx, &c->inputs));
  OK(c->ctx, fnz_arrays_add(c->inputs, "x", FNZ_F32, 2, sizes, &data));
  for (int i = 0; i < 16; i++)
    ((float *)data)[i] = 1;
}

/* Nothing was kept, so what lies behind a write is not known. With `checks` each step is waited
 * for, without it the third run is that of a graph. */
START_TEST(a_state_is_lost_where_it_may_be_written) {
  counter c;
  open_behind(&c, behind[_i].body, behind[_i].checks);
  OK(c.ctx, count_on(&c));
  float once = counted(&c);
  OK(c.ctx, count_on(&c));
  setenv(behind[_i].variable, behind[_i].value, 1);
  FAILS(c.ctx, "INTERNAL", count_on(&c));
  unsetenv(behind[_i].variable);
  if (behind[_i].is_lost) {
    message_has(c.ctx, "it is lost");
    FAILS(c.ctx, "INTERNAL", count_on(&c));
    message_has(c.ctx, "the state is lost");
  } else {
    ck_assert_float_eq(counted(&c), 2 * once);
    OK(c.ctx, count_on(&c));
    ck_assert_float_eq(counted(&c), 3 * once);
  }
  close_counter(&c);
}
END_TEST

/* --- Code that is kept ------------------------------------------------------------------------ */
static void run_cached(fnz_context *ctx, const fnz_program *p, const char *folder) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  options.staging = true;
  options.device = "cuda";
  options.cache = folder;
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  OK(ctx, run_small(ctx, p, exe));
  fnz_executable_destroy(exe);
}

/* The one file of a folder. */
static void find_file(const char *folder, char path[600]) {
  DIR *dir = opendir(folder);
  path[0] = 0;
  ck_assert_ptr_nonnull(dir);
  for (struct dirent *e; (e = readdir(dir)) != NULL;)
    if (e->d_name[0] != '.') {
      ck_assert_str_eq(path, "");
      snprintf(path, 600, "%s/%s", folder, e->d_name);
    }
  closedir(dir);
}

static void change_byte(const char *path, long at) {
  FILE *f = fopen(path, "r+b");
  ck_assert_ptr_nonnull(f);
  ck_assert_int_eq(fseek(f, at, SEEK_SET), 0);
  int was = fgetc(f);
  ck_assert_int_eq(fseek(f, at, SEEK_SET), 0);
  fputc(was ^ 1, f);
  fclose(f);
}

/* Each way in which a file cannot be trusted compiles once more, and mends it. */
START_TEST(code_is_kept_and_trusted_with_care) {
  fnz_context *ctx = open_context();
  fnz_program *p = small_program(ctx);
  char above[] = "/tmp/fnz-cache-XXXXXX", folder[64], path[600];
  struct stat st;
  ck_assert_ptr_nonnull(mkdtemp(above));
  snprintf(folder, sizeof folder, "%s/cache/fnz", above);
  umask(0);
  ck_assert_uint_eq(compiles(), 0);
  run_cached(ctx, p, folder);
  size_t first = compiles();
  ck_assert_uint_ge(first, 1);
  find_file(folder, path);
  ck_assert_int_eq(stat(path, &st), 0);
  ck_assert_uint_eq(st.st_mode & 07777, 0600);
  run_cached(ctx, p, folder);
  ck_assert_uint_eq(compiles(), first);
  static const long places[] = {0, 8, 20, 50, 500}; /* magic, length, key, digest, code */
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    change_byte(path, places[i]);
    run_cached(ctx, p, folder);
    ck_assert_uint_eq(compiles(), first + i + 1);
  }
  first = compiles();
  ck_assert_int_eq(truncate(path, 70), 0);
  run_cached(ctx, p, folder);
  ck_assert_uint_eq(compiles(), first + 1);
  ck_assert_int_eq(chmod(path, 0620), 0);
  run_cached(ctx, p, folder);
  ck_assert_uint_eq(compiles(), first + 2);
  run_cached(ctx, p, folder);
  ck_assert_uint_eq(compiles(), first + 2);
  remove(path);
  ck_assert_int_eq(mkfifo(path, 0600), 0); /* no call waits for a writer of it */
  run_cached(ctx, p, folder);
  ck_assert_uint_eq(compiles(), first + 3);
  remove(path);
  rmdir(folder);
  snprintf(folder, sizeof folder, "%s/cache", above);
  rmdir(folder);
  ck_assert_int_eq(rmdir(above), 0);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

int main(void) {
  TCase *c = tcase_create("fails");
  tcase_set_timeout(c, 600);
  ADD_OF_STANDIN(c, what_is_not_there_is_named, 1);
  ADD_OF_STANDIN(c, another_kind_of_gpu_is_named, 1);
  ADD_OF_STANDIN(c, without_memory_nothing_is_left, 1);
  tcase_add_test(c, errors_are_of_classes);
  tcase_add_test(c, a_call_that_fails_leaves_all_as_it_was);
  tcase_add_loop_test(c, an_illegal_address_ends_the_executable_and_not_the_process, 0, 2);
  tcase_add_test(c, a_state_that_was_not_filled_is_filled_later);
  ADD_OF_STANDIN(c, a_state_that_was_lost_is_said_to_be, 1);
  ADD_OF_STANDIN(c, a_state_is_lost_where_it_may_be_written, 6);
  ADD_OF_STANDIN(c, code_is_kept_and_trusted_with_care, 1);
  return run_one_case("fails", c);
}
