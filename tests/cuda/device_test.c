/* checks: 9
 * device_test.c - plans on a GPU, by the stand-in for its driver: the interpreter's bits where
 * operations are IEEE's; state stays there, weights are copied once; and the stand-in sees what is
 * wrong. */
#include "engine/cuda/run.h"
#include "program/program.h"
#include "soak/programs.h"
#include "tests/cuda/help.h"
#include "tests/cuda/near.h"

#include <dirent.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- Fixtures --------------------------------------------------------------------------------- */
typedef struct tally {
  size_t run, equal, launches;
} tally;

/* Functions of the C library are not SLEEF's, nor CUDA's: results are compared by their size. */
static void run_both(fnz_context *ctx, const fnz_program *p, const fnz_executable *exe,
                     const fnz_arrays *inputs, const char *path) {
  fnz_arrays *got, *want;
  fnz_executable *cpu;
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_arrays_create(ctx, &want));
  OK(ctx, compile(ctx, p, "cpu", &cpu));
  OK(ctx, run_anew(exe, ctx, inputs, got));
  OK(ctx, run_anew(cpu, ctx, inputs, want));
  char why[200];
  ck_assert_uint_eq(fnz_arrays_count(got), fnz_arrays_count(want));
  ck_assert_msg(are_close(got, want, why, sizeof why), "%s: %s", path, why);
  fnz_executable_destroy(cpu);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(want);
}

/* Bit by bit where that holds: on memory with gaps, and with a state for two calls. */
static void try_program(fnz_context *ctx, const fnz_program *traced, const char *path, tally *t) {
  fnz_program *p = NULL;
  fnz_executable *exe;
  fnz_arrays *inputs = NULL;
  if (fnzi_program_has_symbols(traced) || fnz_functionalize(ctx, traced, NULL, &p) != FNZ_OK ||
      fnzi_random_inputs(ctx, traced, 5, &inputs) != FNZ_OK) {
    fnz_program_destroy(p);
    return;
  }
  uint64_t before = counts_now().launches;
  if (compile(ctx, p, "cuda", &exe) == FNZ_OK) {
    fnz_status status = fnz_executable_verify(ctx, exe, inputs);
    ck_assert_msg(status == FNZ_OK || fnz_last_error(ctx)->kind == FNZ_CLASS_DIFFERENT,
                  "%s: %s: %s", path, fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);
    if (status != FNZ_OK)
      run_both(ctx, p, exe, inputs, path);
    t->equal += status == FNZ_OK;
    t->run++;
    fnz_executable_destroy(exe);
  } else {
    ck_assert_msg(fnz_last_error(ctx)->kind != FNZ_CLASS_INTERNAL, "%s: %s: %s", path,
                  fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);
  }
  t->launches += counts_now().launches > before;
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(p);
}

/* Every n-th program of a folder, by name. */
static void try_folder(fnz_context *ctx, const char *folder, size_t every, tally *t) {
  char path[600];
  size_t seen = 0;
  struct dirent **entries;
  snprintf(path, sizeof path, "%s/fixtures/%s", FNZ_SOURCE_DIR, folder);
  int count = scandir(path, &entries, NULL, alphasort);
  ck_assert_int_gt(count, 0);
  for (int i = 0; i < count; i++) {
    fnz_program *traced;
    const char *end = strrchr(entries[i]->d_name, '.');
    snprintf(path, sizeof path, "%s/fixtures/%s/%s", FNZ_SOURCE_DIR, folder, entries[i]->d_name);
    if (end && (strcmp(end, ".fnz") == 0 || strcmp(end, ".pt2") == 0) && seen++ % every == 0 &&
        fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &traced) == FNZ_OK) {
      try_program(ctx, traced, path, t);
      fnz_program_destroy(traced);
    }
    free(entries[i]);
  }
  free(entries);
}

START_TEST(fixtures_have_the_interpreters_results) {
  static const struct {
    const char *folder;
    size_t every;
  } folders[] = {{"functionalize", 4}, {"regions", 4}, {"state", 1}, {"pt2", 1},
                 {"vmap", 4},          {"why", 1},     {"decode", 1}};
  fnz_context *ctx = open_context();
  tally t = {0};
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    try_folder(ctx, folders[i].folder, folders[i].every, &t);
  printf("%zu programs, %zu bit by bit, %zu with kernels\n", t.run, t.equal, t.launches);
  ck_assert_uint_ge(t.run, 30);
  ck_assert_uint_ge(t.equal * 10, t.run * 7);
  ck_assert_uint_ge(t.launches, 25);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- Statistics ------------------------------------------------------------------------------- */
/* Values of a channel lie close together, so that their variance shows each last place. */
static fnz_arrays *near_values(fnz_context *ctx, const fnz_program *p) {
  fnz_arrays *inputs;
  uint64_t seed = 3;
  OK(ctx, fnzi_random_inputs(ctx, p, seed, &inputs));
  for (size_t k = 0; k < fnz_arrays_count(inputs); k++) {
    float *x = (float *)(uintptr_t)fnz_arrays_at(inputs, k)->data;
    for (size_t i = 0; i < fnz_arrays_at(inputs, k)->bytes / sizeof *x; i++)
      x[i] = 1 + (float)(splitmix64(&seed) >> 40) * 0x1p-30f;
  }
  return inputs;
}

/* Sums of few values in double are exact, and are rounded where eager's are. */
START_TEST(batch_norms_of_few_values_have_the_cpus_bits) {
  static const char *const sizes[] = {"2,16,1,1", "3,16,1,1", "2,16,2,1", "2,16,2,2"};
  fnz_context *ctx = open_context();
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
    char inputs[300], body[500];
    fnz_executable *exe;
    snprintf(inputs, sizeof inputs,
             "%%x: f32[%s], %%w: f32[16], %%b: f32[16], %%m: f32[16], %%v: f32[16]", sizes[i]);
    snprintf(body, sizeof body,
             "  %%y: f32[%s], %%s: f32[16], %%r: f32[16], %%p: f32[16], %%q: f32[16] = "
             "_native_batch_norm_legit_functional(%%x, %%w, %%b, %%m, %%v, True, 0.1, 1e-05)\n"
             "  return %%y, %%s, %%r, %%p, %%q",
             sizes[i]);
    fnz_program *p = functional_of(ctx, program_of(ctx, inputs, body));
    fnz_arrays *values = near_values(ctx, p);
    OK(ctx, compile(ctx, p, "cuda", &exe));
    uint64_t before = counts_now().launches;
    OK(ctx, fnz_executable_verify(ctx, exe, values));
    ck_assert_uint_gt(counts_now().launches, before);
    fnz_executable_destroy(exe);
    fnz_arrays_destroy(values);
    fnz_program_destroy(p);
  }
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- What is moved ---------------------------------------------------------------------------- */
static const char counting[] =
    "fnz 1\nweight \"m\": f32[4096, 16]\n"
    "program(%m: f32[4096, 16] buffer \"m\", %x: f32[16])\n{\n"
    "  %s: f32[16] = select.int(%m, 0, 7)\n  %y: f32[16] = mul.Tensor(%x, 2)\n"
    "  %a: f32[16] = add_.Tensor(%s, %y)\n  %z: f32[16] = mul.Tensor(%a, %y)\n  return %z\n}\n";

static void fill_with_ones(fnz_context *ctx, fnz_executable_state *state) {
  const int64_t sizes[] = {4096, 16};
  fnz_arrays *arrays;
  void *data;
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  OK(ctx, fnz_arrays_add(arrays, "buffer.m", FNZ_F32, 2, sizes, &data));
  for (size_t i = 0; i < 4096 * 16; i++)
    ((float *)data)[i] = 1;
  OK(ctx, fnz_executable_state_read(ctx, state, arrays));
  fnz_arrays_destroy(arrays);
}

START_TEST(a_step_moves_what_it_is_given) {
  static const int64_t sizes[] = {16}, strides[] = {1};
  static const fnz_geometry row = {.dtype = FNZ_F32, .rank = 1, .sizes = sizes, .strides = strides};
  fnz_context *ctx = open_context();
  fnz_program *traced;
  fnz_executable *exe;
  fnz_executable_state *state;
  fnz_workspace *ws;
  float x[16], z[16];
  OK(ctx, fnz_program_read(ctx, counting, strlen(counting), FNZ_FORMAT_TEXT, &traced));
  fnz_program *p = functional_of(ctx, traced);
  OK(ctx, compile(ctx, p, "cuda", &exe));
  OK(ctx, fnz_executable_state_create(ctx, exe, &state));
  OK(ctx, fnz_workspace_create(ctx, exe, &ws));
  fill_with_ones(ctx, state);
  for (int i = 0; i < 16; i++)
    x[i] = (float)i;
  fnz_memory in = {x, &row}, out[2] = {{z, NULL}, {z, NULL}};
  const fnz_execution run = {
      .size = sizeof run, .inputs = &in, .outputs = out, .state = state, .workspace = ws};
  OK(ctx, fnz_executable_run(ctx, exe, &run));
  for (int steps = 0; steps < 3; steps++) {
    standin_counts before = counts_now();
    OK(ctx, fnz_executable_run(ctx, exe, &run));
    standin_counts after = counts_now();
    ck_assert_uint_eq(after.bytes_in - before.bytes_in, sizeof x);
    ck_assert_uint_eq(after.bytes_out - before.bytes_out, sizeof z);
    ck_assert_uint_eq(after.bytes_within, before.bytes_within);
    ck_assert_uint_eq(after.launches - before.launches, 1);
  }
  ck_assert_float_eq(z[3], (1 + 4 * 6) * 6);
  const float *m = fnz_executable_state_find(state, "m").data;
  ck_assert_float_eq(m[7 * 16 + 3], 1 + 4 * 6);
  ck_assert_float_eq(m[6 * 16 + 3], 1);
  OK(ctx, fnz_executable_run(ctx, exe, &run));
  ck_assert_float_eq(m[7 * 16 + 3], 1 + 5 * 6);
  fnz_workspace_destroy(ws);
  fnz_executable_state_destroy(state);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* A token of a language model whose state stays there: one copy each way, one graph, one wait, and
 * the context is entered and left. */
START_TEST(a_token_is_few_calls_of_the_driver) {
  static const int64_t sizes[] = {1, 1}, strides[] = {1, 1};
  static const fnz_geometry one = {.dtype = FNZ_I64, .rank = 2, .sizes = sizes, .strides = strides};
  fnz_context *ctx = open_context();
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_program *traced;
  fnz_executable *exe[2];
  fnz_executable_state *state[2];
  fnz_workspace *ws[2];
  int64_t token[2] = {3, 3}, next[2];
  OK(ctx,
     fnz_program_load(ctx, FNZ_SOURCE_DIR "/fixtures/decode/llama.pt2", FNZ_FORMAT_AUTO, &traced));
  fnz_program *p = functional_of(ctx, traced);
  for (int k = 0; k < 2; k++) {
    options.staging = true;
    options.device = k ? "cuda" : "cpu";
    OK(ctx, fnz_compile(ctx, p, &options, &exe[k]));
    OK(ctx, fnz_executable_state_create(ctx, exe[k], &state[k]));
    OK(ctx, fnz_workspace_create(ctx, exe[k], &ws[k]));
  }
  for (int step = 0; step < 6; step++)
    for (int k = 0; k < 2; k++) {
      fnz_memory in = {&token[k], &one}, out[8] = {{&next[k], NULL}};
      const fnz_execution run = {
          .size = sizeof run, .inputs = &in, .outputs = out, .state = state[k], .workspace = ws[k]};
      standin_counts before = counts_now(), after;
      OK(ctx, fnz_executable_run(ctx, exe[k], &run));
      after = counts_now();
      ck_assert_int_eq(next[k], next[0]);
      token[k] = next[k];
      if (step < 2 || k == 0)
        continue;
      ck_assert_uint_eq(after.calls - before.calls - 1, 6); /* one asks for the counts */
      ck_assert_uint_eq(after.graphs - before.graphs, 1);
      ck_assert_uint_eq(after.waits - before.waits, 1);
      ck_assert_uint_eq(after.bytes_in - before.bytes_in, sizeof token[0]);
      ck_assert_uint_eq(after.bytes_out - before.bytes_out, 16 + sizeof next[0]);
      ck_assert_uint_eq(after.bytes_within, before.bytes_within);
    }
  for (int k = 0; k < 2; k++) {
    fnz_workspace_destroy(ws[k]);
    fnz_executable_state_destroy(state[k]);
    fnz_executable_destroy(exe[k]);
  }
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  nothing_is_left();
}
END_TEST

/* --- What the stand-in sees ------------------------------------------------------------------- */
typedef struct bench {
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_cuda_device device;
  fnzi_cuda_program program;
  void *stream;
  uint64_t from, to; /* of 64 floats each */
} bench;

/* One kernel: `count` floats from one block to another. */
static void open_bench(bench *b, int64_t count, int64_t stride) {
  const int64_t sizes[] = {count};
  fnzi_cuda_lane lanes[2] = {{{4}, 0, false}, {{stride}, 0, true}};
  fnzi_cuda_slot slot = {.dtype = FNZ_F32};
  const fnzi_cuda_group group = {1, sizes, lanes, NULL, &slot, 2, 0, 1};
  fnzi_cuda_text text;
  uint32_t kernel;
  int64_t pieces;
  b->ctx = open_context();
  fnzi_arena_init(&b->arena, b->ctx);
  OK(b->ctx, fnzi_cuda_device_open(b->ctx, NULL, "cuda:0", NULL, &b->device));
  OK(b->ctx, fnzi_cuda_enter(b->ctx, &b->device));
  fnzi_cuda_text_begin(&b->arena, &text);
  OK(b->ctx, fnzi_cuda_text_add(b->ctx, &text, &group, &kernel, &pieces));
  OK(b->ctx, fnzi_cuda_program_make(b->ctx, &b->device, &b->arena, &text, &b->program));
  fnzi_cuda_text_end(b->ctx, &text);
  OK(b->ctx, fnzi_cuda_stream_make(b->ctx, &b->device, &b->stream));
  OK(b->ctx, fnzi_cuda_allocate(b->ctx, &b->device, 256, &b->from));
  OK(b->ctx, fnzi_cuda_allocate(b->ctx, &b->device, 256, &b->to));
}

static fnz_status run_bench(bench *b, int64_t count, bool fills, float *out) {
  float data[64] = {3, 4, 5};
  uint64_t addresses[] = {b->from, b->to};
  if (fills)
    FNZ_TRY(fnzi_cuda_copy_in(b->ctx, &b->device, b->from, data, sizeof data, b->stream));
  const fnzi_cuda_start start = {b->program.kernels, count, addresses, NULL};
  FNZ_TRY(fnzi_cuda_launch(b->ctx, &b->device, &start, b->stream));
  FNZ_TRY(fnzi_cuda_copy_out(b->ctx, &b->device, out, b->to, 256, b->stream));
  ck_assert_float_eq(out[1], 0); /* nothing runs before a wait */
  return fnzi_cuda_wait(b->ctx, &b->device, b->stream);
}

static void close_bench(bench *b) {
  fnzi_cuda_stream_end(&b->device, b->stream);
  fnzi_cuda_free(&b->device, b->from);
  fnzi_cuda_free(&b->device, b->to);
  fnzi_cuda_program_end(&b->device, &b->program);
  fnzi_cuda_leave(&b->device);
  fnzi_cuda_device_close(&b->device);
  fnzi_arena_free(&b->arena);
  fnz_context_destroy(b->ctx);
}

START_TEST(what_is_right_passes) {
  bench b;
  float out[64] = {0};
  open_bench(&b, 64, 4);
  OK(b.ctx, run_bench(&b, 64, true, out));
  ck_assert_float_eq(out[1], 4);
  close_bench(&b);
  nothing_is_left();
}
END_TEST

/* Each in a process of its own, because an error lasts. */
START_TEST(what_is_wrong_is_seen) {
  static const struct {
    int64_t count, stride;
    bool fills;
    const char *says;
  } cases[] = {{65, 4, true, "outside of device memory"},
               {64, 4, false, "nothing has written"},
               {63, 4, true, "nothing has written"},
               {64, 2, true, "not aligned"}};
  bench b;
  float out[64] = {0};
  open_bench(&b, cases[_i].count, cases[_i].stride);
  FAILS(b.ctx, "INTERNAL", run_bench(&b, cases[_i].count, cases[_i].fills, out));
  ck_assert_msg(strstr(fnz_last_error(b.ctx)->message, cases[_i].says) != NULL, "%s",
                fnz_last_error(b.ctx)->message);
  close_bench(&b);
}
END_TEST

int main(void) {
  TCase *c = tcase_create("device");
  tcase_set_timeout(c, 1200);
  tcase_add_test(c, fixtures_have_the_interpreters_results);
  tcase_add_test(c, batch_norms_of_few_values_have_the_cpus_bits);
  tcase_add_test(c, a_step_moves_what_it_is_given);
  tcase_add_test(c, a_token_is_few_calls_of_the_driver);
  ADD_OF_STANDIN(c, what_is_right_passes, 1);
  ADD_OF_STANDIN(c, what_is_wrong_is_seen, 4);
  return run_one_case("device", c);
}
