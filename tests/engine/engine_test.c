/* checks: 11
 * engine_test.c - executables: the interpreter's bits for all fixtures; a decode step moves a
 * token's bytes and allocates nothing; a failed call leaves the state. */
#include "base/watched.h"
#include "engine/engine.h"
#include "program/program.h"
#include "soak/programs.h"
#include "tests/engine/decode.h"
#include "tests/engine/engine_help.h"

#include <dirent.h>
#include <stdio.h>

/* Fixtures have sizes that no machine has memory for; sanitizers end a process that asks. */
static void *modest_resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  (void)user, (void)old_bytes;
  if (new_bytes > (size_t)1 << 34)
    return NULL;
  if (new_bytes)
    return realloc(p, new_bytes);
  free(p);
  return NULL;
}

static fnz_context *open_context(void) {
  fnz_context *ctx;
  static const fnz_allocator modest = {modest_resize, NULL};
  ck_assert_int_eq(fnz_context_create(&modest, &ctx), FNZ_OK);
  return ctx;
}

static const int64_t one_stride[1] = {1};

/* --- All fixtures ----------------------------------------------------------------------------- */
typedef struct tally {
  size_t programs, run, planned;
} tally;

static bool ends_with(const char *name, const char *end) {
  size_t a = strlen(name), b = strlen(end);
  return a > b && strcmp(name + a - b, end) == 0;
}

/* Numbers can be drawn for its inputs. */
static bool takes_tensors(const fnz_program *p) {
  size_t count;
  const fnz_arg *inputs = fnz_graph_inputs(p, 0, &count);
  for (size_t k = 0; k < count; k++)
    if (inputs[k].tag != FNZ_ARG_VALUE || !fnz_value_geometry(p, 0, inputs[k].u.value))
      return false;
  return true;
}

static bool has_only_numbers(const fnz_program *traced, const char *path) {
  return !fnzi_program_has_symbols(traced) || strstr(path, "/state/") ||
         fnzi_pln_only_scalars(traced) || fnzi_stp_inputs_are_fixed(traced);
}

/* Draws inputs; none for programs of symbolic sizes, which have cases of their own, except for
 * programs in which only data decide sizes or numbers. */
static void verify_one(fnz_context *ctx, const char *path, bool unplanned, tally *t) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_program *traced = NULL, *p = NULL;
  fnz_executable *exe;
  fnz_arrays *inputs = NULL;
  options.threads = 1;
  options.check = true;
  options.unplanned = unplanned;
  if (fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &traced) == FNZ_OK && takes_tensors(traced) &&
      has_only_numbers(traced, path) && fnz_functionalize(ctx, traced, NULL, &p) == FNZ_OK &&
      fnzi_random_inputs(ctx, traced, 5, &inputs) == FNZ_OK) {
    t->programs++;
    if (fnz_compile(ctx, p, &options, &exe) == FNZ_OK) {
      fnz_status status = fnz_executable_verify(ctx, exe, inputs);
      ck_assert_msg(status == FNZ_OK || status == FNZ_NO_MEMORY, "%s: %s: %s", path,
                    fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);
      t->run += status == FNZ_OK;
      fnz_executable_destroy(exe);
    } else {
      ck_assert_msg(fnz_last_error(ctx)->kind != FNZ_CLASS_INTERNAL, "%s: %s: %s", path,
                    fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);
    }
  }
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(p);
  fnz_program_destroy(traced);
}

static tally verify_folder(fnz_context *ctx, const char *folder, bool unplanned) {
  char path[600];
  tally t = {0};
  snprintf(path, sizeof path, "%s/fixtures/%s", FNZ_SOURCE_DIR, folder);
  DIR *dir = opendir(path);
  ck_assert_ptr_nonnull(dir);
  for (struct dirent *e; (e = readdir(dir)) != NULL;) {
    snprintf(path, sizeof path, "%s/fixtures/%s/%s", FNZ_SOURCE_DIR, folder, e->d_name);
    if (ends_with(e->d_name, ".fnz") || ends_with(e->d_name, ".pt2"))
      verify_one(ctx, path, unplanned, &t);
  }
  closedir(dir);
  return t;
}

static void verify_all(bool unplanned) {
  static const struct {
    const char *folder;
    size_t least;
  } folders[] = {{"functionalize", 50}, {"regions", 20}, {"state", 4}, {"pt2", 3},
                 {"vmap", 8},           {"prims", 8},    {"why", 1},   {"decode", 1},
                 {"boundary", 1},       {"symbolic", 15}};
  fnz_context *ctx = open_context();
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
    tally t = verify_folder(ctx, folders[i].folder, unplanned);
    printf("%s: %zu programs, %zu run\n", folders[i].folder, t.programs, t.run);
    ck_assert_uint_ge(t.run, folders[i].least);
  }
  fnz_context_destroy(ctx);
}

START_TEST(fixtures_have_the_interpreters_bits) {
  verify_all(false);
}
END_TEST

START_TEST(fixtures_without_a_plan_too) {
  verify_all(true);
}
END_TEST

/* --- A cache ---------------------------------------------------------------------------------- */
/* A step that puts one token of 64 floats into a cache of n. */
static fnz_program *cache_program(fnz_context *ctx, int n) {
  char inputs[300];
  snprintf(inputs, sizeof inputs,
           "%%c: f32[1,8,%d,64] buffer \"c\", %%at: i64[1], %%k: f32[1,8,1,64]", n);
  char text[2000];
  fnz_program *p;
  int size = snprintf(text, sizeof text,
                      "fnz 1\nweight \"c\": f32[1,8,%d,64]\nprogram(%s)\n{\n"
                      "  %%w: f32[1,8,%d,64] = index_copy_(%%c, 2, %%at, %%k)\n"
                      "  %%s: f32[1,8,64] stride(%d,%d,1) = select.int(%%c, 2, 0)\n"
                      "  %%y: f32[1,8,64] = mul.Tensor(%%s, 2)\n  return %%y\n}\n",
                      n, inputs, n, 8 * n * 64, n * 64);
  OK(ctx, fnz_program_read(ctx, text, (size_t)size, FNZ_FORMAT_TEXT, &p));
  return functional_of(ctx, p);
}

typedef struct cache {
  fnz_program *p;
  fnz_executable *exe;
  fnz_executable_state *state;
  fnz_workspace *ws;
  float *memory, token[8 * 64], y[8 * 64];
  int64_t at;
  int64_t cache_strides[4];
} cache;

static void open_cache(fnz_context *ctx, int n, cache *c) {
  c->p = cache_program(ctx, n);
  c->exe = compile(ctx, c->p);
  c->memory = calloc((size_t)n * 8 * 64, sizeof *c->memory);
  const fnz_memory memory = {c->memory, NULL};
  OK(ctx, fnz_executable_state_over(ctx, c->exe, &memory, &c->state));
  OK(ctx, fnz_workspace_create(ctx, c->exe, &c->ws));
  for (int i = 0; i < 8 * 64; i++)
    c->token[i] = (float)i;
  c->at = 0;
}

static void close_cache(cache *c) {
  fnz_workspace_destroy(c->ws);
  fnz_executable_state_destroy(c->state);
  fnz_executable_destroy(c->exe);
  fnz_program_destroy(c->p);
  free(c->memory);
}

/* `use` gets the run that this makes. */
static fnz_status run_cache(fnz_context *ctx, cache *c, fnz_needs *needs) {
  static const int64_t at_sizes[] = {1}, sizes[] = {1, 8, 1, 64}, strides[] = {512, 64, 64, 1};
  const fnz_geometry at = {.dtype = FNZ_I64, .rank = 1, .sizes = at_sizes, .strides = one_stride},
                     k = {.dtype = FNZ_F32, .rank = 4, .sizes = sizes, .strides = strides};
  const fnz_memory in[] = {{&c->at, &at}, {c->token, &k}};
  fnz_memory out[2] = {{c->y, NULL}, {NULL, NULL}};
  const fnz_execution run = {
      .size = sizeof run, .inputs = in, .outputs = out, .state = c->state, .workspace = c->ws};
  return needs ? fnz_executable_get_needs(ctx, c->exe, &run, needs)
               : fnz_executable_run(ctx, c->exe, &run);
}

START_TEST(a_step_writes_a_tokens_bytes) {
  fnz_context *ctx = open_context();
  for (int n = 16; n <= 16384; n *= 4) {
    cache c;
    fnz_needs needs = FNZ_NEEDS_INIT;
    open_cache(ctx, n, &c);
    ck_assert_uint_eq(fnz_executable_count(c.exe, FNZ_SIDE_STATE), 1);
    OK(ctx, run_cache(ctx, &c, NULL));
    OK(ctx, run_cache(ctx, &c, &needs));
    printf("cache of %d: %zu steps, %llu bytes moved\n", n, needs.steps,
           (unsigned long long)needs.bytes_moved);
    ck_assert_uint_eq(needs.bytes_moved, 0);
    ck_assert_uint_le(needs.arena_bytes, 8 * 64 * 4);
    ck_assert(c.memory[0] == 0 && c.memory[(size_t)n * 64] == 64 && c.y[1] == 2);
    c.at = n - 1;
    OK(ctx, run_cache(ctx, &c, NULL));
    ck_assert(c.memory[(size_t)n * 64 - 1] == 63);
    close_cache(&c);
  }
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(a_failed_call_leaves_the_state) {
  fnz_context *ctx = open_context();
  cache c;
  open_cache(ctx, 16, &c);
  OK(ctx, run_cache(ctx, &c, NULL));
  float before[16 * 8 * 64];
  memcpy(before, c.memory, sizeof before);
  c.token[0] = 99;
  c.at = 16;
  FAILS(ctx, "BOUNDS", run_cache(ctx, &c, NULL));
  ck_assert_mem_eq(before, c.memory, sizeof before);
  c.at = 1;
  OK(ctx, run_cache(ctx, &c, NULL));
  ck_assert(c.memory[64] == 99);
  close_cache(&c);
  fnz_context_destroy(ctx);
}
END_TEST

/* The second of two writes fails: the first one is taken back. */
START_TEST(what_was_written_before_is_taken_back) {
  fnz_context *ctx = open_context();
  static const char text[] =
      "fnz 1\nweight \"c\": f32[4]\nprogram(%c: f32[4] buffer \"c\", %i: i64[1], %j: i64[1], "
      "%k: f32[1])\n{\n  %w: f32[4] = index_copy_(%c, 0, %i, %k)\n"
      "  %v: f32[4] = index_copy_(%c, 0, %j, %k)\n  return\n}\n";
  static const int64_t sizes[] = {1};
  const fnz_geometry at = {.dtype = FNZ_I64, .rank = 1, .sizes = sizes, .strides = one_stride},
                     one = {.dtype = FNZ_F32, .rank = 1, .sizes = sizes, .strides = one_stride};
  fnz_program *p = read_functional(ctx, text);
  fnz_executable *exe = compile(ctx, p);
  fnz_executable_state *state;
  float held[4] = {1, 2, 3, 4}, k = 9;
  int64_t i = 1, j = 4;
  const fnz_memory memory = {held, NULL}, in[] = {{&i, &at}, {&j, &at}, {&k, &one}};
  fnz_memory out[1] = {{NULL, NULL}};
  OK(ctx, fnz_executable_state_over(ctx, exe, &memory, &state));
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = out, .state = state};
  FAILS(ctx, "BOUNDS", fnz_executable_run(ctx, exe, &run));
  ck_assert(held[0] == 1 && held[1] == 2 && held[2] == 3 && held[3] == 4);
  j = 3;
  OK(ctx, fnz_executable_run(ctx, exe, &run));
  ck_assert(held[1] == 9 && held[3] == 9);
  fnz_executable_state_destroy(state);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- Memory ----------------------------------------------------------------------------------- */
typedef struct counter {
  size_t calls;
} counter;

static void *count_resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  (void)old_bytes;
  ((counter *)user)->calls++;
  if (new_bytes)
    return realloc(p, new_bytes);
  free(p);
  return NULL;
}

START_TEST(a_run_allocates_nothing) {
  counter calls = {0};
  const fnz_allocator counting = {count_resize, &calls};
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(&counting, &ctx), FNZ_OK);
  fnz_program *p = load_decode(ctx);
  fnz_executable *exe = compile(ctx, p);
  fnz_executable_state *state;
  fnz_workspace *ws;
  int64_t token = 7;
  OK(ctx, fnz_executable_state_create(ctx, exe, &state));
  OK(ctx, fnz_workspace_create(ctx, exe, &ws));
  for (int i = 0; i < 3; i++)
    OK(ctx, run_decode(ctx, exe, state, ws, &token));
  size_t before = calls.calls;
  ck_assert_uint_gt(before, 0);
  for (int i = 0; i < 20; i++)
    OK(ctx, run_decode(ctx, exe, state, ws, &token));
  if (!FNZI_WATCHED) /* there nothing is kept, so that every use after an end is seen */
    ck_assert_uint_eq(calls.calls, before);
  fnz_workspace_destroy(ws);
  fnz_executable_state_destroy(state);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(weights_at_odd_addresses_are_read) {
  fnz_context *ctx = open_context();
  static const char text[] = "fnz 1\nprogram(%x: f32[3])\n{\n  %y: f32[3] = mul.Tensor(%x, %x)\n"
                             "  return %y\n}\n";
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, text, sizeof text - 1, FNZ_FORMAT_TEXT, &p));
  fnz_executable *exe = compile(ctx, p);
  static const int64_t sizes[] = {3};
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 1, .sizes = sizes, .strides = one_stride};
  unsigned char bytes[20] = {0};
  float y[3];
  const fnz_memory in = {bytes + 1 - (uintptr_t)bytes % 4, &g};
  fnz_memory out = {y, NULL};
  const fnz_execution run = {.size = sizeof run, .inputs = &in, .outputs = &out};
  FAILS(ctx, "ARGUMENT", fnz_executable_run(ctx, exe, &run));
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- The check itself ------------------------------------------------------------------------- */
/* A buffer and a weight without data in the file are given: runs with arrays, memory and a state
 * take them, too. */
static size_t runs_of_verify(fnz_context *ctx, const char *buffer, const char *weight) {
  static const int64_t two[] = {2};
  fnz_program *p = read_functional(
      ctx, "fnz 1\nprogram(%b_c: f32[2] buffer \"c\" persistent, %p_w: f32[2] parameter \"w\",\n"
           "%x: f32[2])\n{\n  %c: f32[2] = mul_.Tensor(%b_c, %p_w)\n"
           "  %y: f32[2] = add.Tensor(%c, %x)\n  return %y\n}\n");
  const char *const names[] = {buffer, weight, "x"};
  fnz_executable *exe = compile(ctx, p);
  fnz_workspace *ws;
  fnz_arrays *inputs;
  void *data;
  OK(ctx, fnz_arrays_create(ctx, &inputs));
  for (int k = 0; k < 3; k++) {
    OK(ctx, fnz_arrays_add(inputs, names[k], FNZ_F32, 1, two, &data));
    memcpy(data, (const float[]){(float)k + 2, 0.5f}, 2 * sizeof(float));
  }
  OK(ctx, fnzi_eng_workspace_take(exe, ctx, &ws));
  size_t before = (size_t)ws->runs;
  fnzi_eng_workspace_give(exe, ws);
  OK(ctx, fnz_executable_verify(ctx, exe, inputs));
  OK(ctx, fnzi_eng_workspace_take(exe, ctx, &ws));
  size_t runs = (size_t)ws->runs - before;
  fnz_workspace_destroy(ws);
  fnz_arrays_destroy(inputs);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  return runs;
}

START_TEST(what_is_given_is_checked_in_all_ways) {
  fnz_context *ctx = open_context();
  ck_assert_uint_eq(runs_of_verify(ctx, "buffer.c", "parameter.w"), 6);
  ck_assert_uint_eq(runs_of_verify(ctx, "b_c", "p_w"), 6);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- Names and sizes
 * ------------------------------------------------------------------------------ */
START_TEST(slots_have_the_names_of_results) {
  fnz_context *ctx = open_context();
  fnz_program *p = load_decode(ctx);
  fnz_executable *exe = compile(ctx, p);
  fnz_executable_state *state;
  OK(ctx, fnz_executable_state_create(ctx, exe, &state));
  ck_assert_uint_eq(fnz_executable_count(exe, FNZ_SIDE_INPUT), 1);
  ck_assert_uint_eq(fnz_executable_count(exe, FNZ_SIDE_STATE), 5);
  ck_assert_uint_eq(fnz_executable_count(exe, FNZ_SIDE_OUTPUT), 6);
  ck_assert_str_eq(fnz_executable_slot(exe, FNZ_SIDE_INPUT, 0).name, "token");
  ck_assert_str_eq(fnz_executable_slot(exe, FNZ_SIDE_OUTPUT, 0).name, "output.0");
  ck_assert_ptr_null(fnz_executable_slot(exe, FNZ_SIDE_OUTPUT, 6).name);
  ck_assert_ptr_nonnull(fnz_executable_state_find(state, "buffer.pos").data);
  ck_assert_ptr_eq(fnz_executable_state_find(state, "pos").data,
                   fnz_executable_state_find(state, "buffer.pos").data);
  ck_assert_ptr_null(fnz_executable_state_find(state, "position").data);
  fnz_arrays *arrays;
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  void *data;
  OK(ctx, fnz_arrays_add(arrays, "buffer.position", FNZ_I64, 0, NULL, &data));
  FAILS(ctx, "REF", fnz_executable_state_read(ctx, state, arrays));
  fnz_arrays_destroy(arrays);
  fnz_executable_state_destroy(state);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* The same holds if nothing reads it. */
START_TEST(a_state_without_data_is_refused) {
  fnz_context *ctx = open_context();
  static const char text[] = "fnz 1\nweight \"c\": f32[3]\n"
                             "program(%c: f32[3] buffer \"c\" persistent, %x: f32[3])\n{\n"
                             "  %y: f32[3] = neg(%x)\n"
                             "  return %y buffer_mutation \"c\", %x\n}\n";
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, text, sizeof text - 1, FNZ_FORMAT_TEXT, &p));
  fnz_executable *exe = compile(ctx, p);
  fnz_executable_state *state;
  fnz_arrays *inputs, *c, *out;
  void *data;
  OK(ctx, fnz_executable_state_create(ctx, exe, &state));
  OK(ctx, fnz_arrays_create(ctx, &inputs));
  OK(ctx, fnz_arrays_create(ctx, &c));
  OK(ctx, fnz_arrays_create(ctx, &out));
  OK(ctx, fnz_arrays_add(inputs, "x", FNZ_F32, 1, (const int64_t[]){3}, &data));
  FAILS(ctx, "REF", fnz_executable_run_arrays(ctx, exe, inputs, state, NULL, out));
  OK(ctx, fnz_arrays_add(c, "buffer.c", FNZ_F32, 1, (const int64_t[]){3}, &data));
  OK(ctx, fnz_executable_state_read(ctx, state, c));
  OK(ctx, fnz_executable_run_arrays(ctx, exe, inputs, state, NULL, out));
  fnz_arrays_destroy(inputs);
  fnz_arrays_destroy(c);
  fnz_arrays_destroy(out);
  fnz_executable_state_destroy(state);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(a_hundred_sizes_run) {
  fnz_context *ctx = open_context();
  static const char text[] = "fnz 1\nsymbol s0 = 4\nrange s0 1..1000\n"
                             "program(%x: f32[{s0},3])\n{\n"
                             "  %t: f32[3,{s0}] stride(1,3) = transpose_copy.int(%x, 0, 1)\n"
                             "  %y: f32[3,{s0}] stride(1,3) = add.Tensor(%t, 1)\n  return %y\n}\n";
  fnz_program *p;
  if (fnz_program_read(ctx, text, sizeof text - 1, FNZ_FORMAT_TEXT, &p) != FNZ_OK)
    ck_abort_msg("%s", fnz_last_error(ctx)->message);
  fnz_executable *exe = compile(ctx, p);
  fnz_workspace *ws;
  OK(ctx, fnz_workspace_create(ctx, exe, &ws));
  float *x = calloc(300, sizeof *x);
  for (int64_t n = 1; n <= 100; n++) {
    const int64_t sizes[] = {n, 3}, strides[] = {3, 1};
    const fnz_geometry g = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
    const fnz_memory in = {x, &g};
    fnz_memory out = {NULL, NULL};
    const fnz_execution run = {.size = sizeof run, .inputs = &in, .outputs = &out, .workspace = ws};
    x[3 * n - 1] = (float)n;
    OK(ctx, fnz_executable_run(ctx, exe, &run));
    ck_assert_int_eq(out.geometry->sizes[1], n);
    const float *last =
        (const float *)out.data + 2 * out.geometry->strides[0] + (n - 1) * out.geometry->strides[1];
    ck_assert(*last == (float)n + 1);
  }
  free(x);
  fnz_workspace_destroy(ws);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("engine", fixtures_have_the_interpreters_bits, fixtures_without_a_plan_too,
          a_step_writes_a_tokens_bytes, a_failed_call_leaves_the_state,
          what_was_written_before_is_taken_back, a_run_allocates_nothing,
          weights_at_odd_addresses_are_read, what_is_given_is_checked_in_all_ways,
          slots_have_the_names_of_results, a_state_without_data_is_refused, a_hundred_sizes_run)
