/* checks: 23
 * library_test.c - products, convolutions and attention on a GPU, by the stand-ins for its driver,
 * for cuBLASLt and for cuDNN: random sizes and strides have the CPU engine's results within the
 * bounds that docs/gpu-values.md states. A library that fails is reported with the step; without a
 * library (STANDIN_WITHOUT in the environment) kernels of the text compute.
 *
 * LIBRARY_PROGRAMS in the environment: how many random programs of each kind. */
#include "tests/cuda/library_help.h"

/* --- Failures --------------------------------------------------------------------------------- */
typedef struct failing {
  const char *variable, *how, *says; /* NULL: a kernel computes it */
} failing;

static const failing failings[] = {
    {"STANDIN_CUBLAS", "create", NULL},
    {"STANDIN_CUBLAS", "memory", NULL},
    {"STANDIN_CUBLAS", "choose", NULL},
    {"STANDIN_CUBLAS", "none", NULL},
    {"STANDIN_CUBLAS", "run",
     "cuBLASLt gave error 13 (execution failed) when a product was started"},
    {"STANDIN_CUDNN", "create", NULL},
    {"STANDIN_CUDNN", "memory", NULL},
    {"STANDIN_CUDNN", "choose", NULL},
    {"STANDIN_CUDNN", "none", NULL},
    {"STANDIN_CUDNN", "run",
     "cuDNN gave error 5000 (execution failed) when a convolution was started"},
};

static text failing_text(bool cudnn) {
  text t = {.seed = 7};
  if (cudnn) {
    put_input(&t, "%%a: f32[2,3,5], %%b: f32[4,3,2], %%c: f32[4]");
    put_line(&t, "  %%y: f32[2,4,4] = conv1d(%%a, %%b, %%c)\n  return %%y");
  } else {
    put_input(&t, "%%a: f32[4,20], %%b: f32[20,3], %%c: f32[3]");
    put_line(&t, "  %%y: f32[4,3] = addmm(%%c, %%a, %%b)\n  return %%y");
  }
  return t;
}

/* Whether a program runs, and the error when it does not. */
static void run_failing(fnz_context *ctx, const failing *f, bool cudnn) {
  text t = failing_text(cudnn);
  fnz_program *p = program_of(ctx, t.inputs, t.body);
  fnz_arrays *inputs = inputs_of(ctx, p, 3), *got;
  fnz_executable *exe;
  const fnz_error *e = fnz_last_error(ctx);
  OK(ctx, fnz_arrays_create(ctx, &got));
  fnz_status status = compile(ctx, p, "cuda", &exe);
  if (status == FNZ_OK) {
    status = fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, got);
    ck_assert_int_eq(status, FNZ_INTERNAL);
    ck_assert_msg(strstr(e->message, f->says) != NULL, "%s", e->message);
    ck_assert_msg(strstr(f->how, "run") == NULL ||
                      strstr(e->where, cudnn ? "convolution" : "addmm") != NULL,
                  "%s", e->where);
    fnz_executable_destroy(exe);
  }
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(p);
}

START_TEST(what_fails_is_told) {
  const failing *f = &failings[_i];
  bool cudnn = strcmp(f->variable, "STANDIN_CUDNN") == 0;
  fnz_context *ctx = open_context();
  if (!is_without()) {
    setenv(f->variable, f->how, 1);
    if (f->says) {
      run_failing(ctx, f, cudnn);
    } else {
      text t = failing_text(cudnn);
      run_text(ctx, &t);
    }
    ck_assert_uint_eq(library_now(cudnn).runs, 0);
    unsetenv(f->variable);
  }
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* If no algorithm adds a bias, it is copied to the result, to which the product is added. */
START_TEST(a_bias_goes_by_the_result_where_no_epilogue_adds_it) {
  fnz_context *ctx = open_context();
  text t = failing_text(false);
  setenv("STANDIN_CUBLAS", "bias", 1);
  run_text(ctx, &t);
  unsetenv("STANDIN_CUBLAS");
  ck_assert_uint_eq(library_now(false).runs, !is_without());
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* The library fails because the GPU is broken: the error is the GPU's, and the executable is
 * finished. */
START_TEST(an_error_of_the_gpu_is_not_taken_for_one_of_a_library) {
  if (is_without())
    return;
  fnz_context *ctx = open_context();
  text t = failing_text(false);
  fnz_program *p = program_of(ctx, t.inputs, t.body);
  fnz_arrays *inputs = inputs_of(ctx, p, 3), *got;
  fnz_executable *exe;
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, compile(ctx, p, "cuda", &exe));
  setenv("STANDIN_CUBLAS", "run", 1);
  ask_for_failure("cuStreamSynchronize:1:700");
  FAILS(ctx, "INTERNAL", fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, got));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "CUDA gave error 700"));
  unsetenv("STANDIN_CUBLAS");
  ask_for_failure(NULL);
  FAILS(ctx, "INTERNAL", fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, got));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "this executable is finished"));
  fnz_executable_destroy(exe);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* One that is there and cannot start is as if it were not there: the older one is taken. */
START_TEST(an_older_library_is_taken_where_the_newer_one_cannot_start) {
  fnz_context *ctx = open_context();
  text t = failing_text(false);
  setenv("STANDIN_CUBLAS", "first", 1);
  run_text(ctx, &t);
  unsetenv("STANDIN_CUBLAS");
  ck_assert_uint_eq(library_now(false).runs, !is_without());
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* One handle for all plans of a program whose inputs have a symbol, workspaces and threads, and one
 * question for each shape, whatever else is planned to learn of sizes. */
START_TEST(a_device_has_one_handle_and_asks_once) {
  static const char source[] = "fnz 1\nsymbol s0 = 4\n"
                               "program(%x: f32[{s0},20], %w: f32[20,3])\n{\n"
                               "  %y: f32[{s0},3] = mm(%x, %w)\n  return %y\n}\n";
  static const int64_t rows[] = {4, 5, 6, 5, 4, 9};
  fnz_context *ctx = open_context();
  fnz_program *p;
  fnz_executable *exe;
  OK(ctx, fnz_program_read(ctx, source, strlen(source), FNZ_FORMAT_TEXT, &p));
  OK(ctx, compile(ctx, p, "cuda", &exe));
  for (int w = 0; w < 2; w++) {
    fnz_workspace *ws;
    OK(ctx, fnz_workspace_create(ctx, exe, &ws));
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
      const int64_t sizes[][2] = {{rows[i], 20}, {20, 3}};
      fnz_arrays *in, *out;
      void *data;
      OK(ctx, fnz_arrays_create(ctx, &in));
      OK(ctx, fnz_arrays_create(ctx, &out));
      for (int k = 0; k < 2; k++) {
        OK(ctx, fnz_arrays_add(in, k ? "w" : "x", FNZ_F32, 2, sizes[k], &data));
        for (int64_t e = 0; e < sizes[k][0] * sizes[k][1]; e++)
          ((float *)data)[e] = k ? 1 : (float)(e / 20);
      }
      OK(ctx, fnz_executable_run_arrays(ctx, exe, in, NULL, ws, out));
      const float *y = fnz_arrays_at(out, 0)->data;
      for (int64_t e = 0; e < rows[i] * 3; e++)
        ck_assert_float_eq(y[e], (float)(20 * (e / 3)));
      fnz_arrays_destroy(in);
      fnz_arrays_destroy(out);
    }
    fnz_workspace_destroy(ws);
  }
  if (!is_without()) {
    ck_assert_uint_eq(library_now(false).opened, 1);
    ck_assert_uint_eq(library_now(false).asked, 4);
    ck_assert_uint_eq(library_now(false).runs, 12);
  }
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* A missing library is named, with its source and the loader's own reason. */
START_TEST(what_is_missing_is_named) {
  fnz_context *ctx = open_context();
  const fnz_error *e = fnz_last_error(ctx);
  fnzi_cuda_cublas cublas;
  fnzi_cuda_cudnn cudnn;
  if (is_without()) {
    FAILS(ctx, "UNSUPPORTED", fnzi_cuda_cublas_open(ctx, &cublas));
    ck_assert_ptr_nonnull(strstr(e->message, "neither libcublasLt.so.13 nor libcublasLt.so.12"));
    ck_assert_ptr_nonnull(strstr(e->message, "nvidia-cublas"));
    ck_assert_msg(strstr(e->message, "libcublasLt.so.12: file too short") != NULL, "%s",
                  e->message);
    FAILS(ctx, "UNSUPPORTED", fnzi_cuda_cudnn_open(ctx, &cudnn));
    ck_assert_ptr_nonnull(strstr(e->message, "libcudnn.so.9 cannot be used"));
    ck_assert_ptr_nonnull(strstr(e->message, "LD_LIBRARY_PATH"));
    ck_assert_ptr_nonnull(strstr(e->message, "libcudnn.so.9: file too short"));
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* Nothing is opened for a program that needs none. */
START_TEST(libraries_are_opened_when_they_are_needed) {
  fnz_context *ctx = open_context();
  text t = {.seed = 1};
  put_input(&t, "%%a: f32[4]");
  put_line(&t, "  %%y: f32[4] = add.Tensor(%%a, 1)\n  return %%y");
  run_text(ctx, &t);
  ck_assert_uint_eq(library_now(false).opened, 0);
  ck_assert_uint_eq(library_now(true).opened, 0);
  text again = failing_text(false);
  run_text(ctx, &again);
  ck_assert_uint_eq(library_now(false).opened, !is_without() && is_standin());
  ck_assert_uint_eq(library_now(true).opened, 0);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

int main(void) {
  TCase *c = tcase_create("library");
  tcase_set_timeout(c, 1200);
  add_products(c);
  add_convs(c);
  add_attention(c);
  ADD_OF_STANDIN(c, what_fails_is_told, sizeof failings / sizeof *failings);
  ADD_OF_STANDIN(c, an_error_of_the_gpu_is_not_taken_for_one_of_a_library, 1);
  ADD_OF_STANDIN(c, a_bias_goes_by_the_result_where_no_epilogue_adds_it, 1);
  ADD_OF_STANDIN(c, an_older_library_is_taken_where_the_newer_one_cannot_start, 1);
  ADD_OF_STANDIN(c, a_device_has_one_handle_and_asks_once, 1);
  tcase_add_test(c, what_is_missing_is_named);
  tcase_add_test(c, libraries_are_opened_when_they_are_needed);
  return run_one_case("library", c);
}
