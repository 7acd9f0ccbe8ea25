/* checks: 13
 * engine_regions_test.c - bodies of branches, loops, scans and calls as plans within a plan: the
 * interpreter's bits; nothing is allocated; state is written in place, and as it was after a
 * failure. Operators whose sizes depend on data are evaluated beside a plan. */
#include "base/watched.h"
#include "engine/engine.h"
#include "program/program.h"
#include "soak/programs.h"
#include "soak/regions.h"
#include "tests/engine/engine_help.h"

#include <math.h>
#include <stdio.h>

typedef struct tally {
  size_t programs, run, planned, regions, left;
} tally;

static void count_regions(fnz_context *ctx, const fnz_executable *exe, tally *t) {
  fnz_workspace *ws;
  OK(ctx, fnzi_eng_workspace_take(exe, ctx, &ws));
  for (size_t i = 0; i < ws->bindings.count; i++) {
    const fnzi_pln_bodies *bodies = &ws->bindings.data[i]->bodies;
    for (size_t r = 0; r < bodies->regions.count; r++) {
      const char *why = bodies->regions.data[r].why;
      t->regions++;
      t->left += why != NULL;
      if (why && getenv("FNZ_TELL"))
        printf("  %s: %s\n", fnzi_hop_target(bodies->regions.data[r].hop.kind), why);
    }
  }
  fnzi_eng_workspace_give(exe, ws);
}

static void verify_random(fnz_context *ctx, unsigned seed, tally *t) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  static choices c;
  static fnzi_random_counts counts;
  fnz_buffer text = {0};
  fnz_program *traced, *p = NULL;
  fnz_executable *exe;
  fnz_arrays *inputs = NULL;
  options.threads = 1;
  options.check = true;
  choices_start(&c, 1, seed);
  OK(ctx, fnzi_regions_text(ctx, &c, &counts, &text));
  OK(ctx, fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &traced));
  t->programs++;
  if (fnz_functionalize(ctx, traced, NULL, &p) == FNZ_OK) {
    OK(ctx, fnzi_random_inputs(ctx, traced, seed, &inputs));
    fnz_status status = fnz_compile(ctx, p, &options, &exe);
    if (status == FNZ_OK) {
      count_regions(ctx, exe, t);
      status = fnz_executable_verify(ctx, exe, inputs);
      t->run += status == FNZ_OK;
      fnz_executable_destroy(exe);
    }
    bool is_fine = status == FNZ_OK || fnz_last_error(ctx)->kind == FNZ_CLASS_UNSUPPORTED;
    if (!is_fine)
      fprintf(stderr, "program %u: %s\n", seed, fnz_last_error(ctx)->message);
    ck_assert_msg(is_fine, "seed %u: %s: %s\n%.*s", seed, fnz_last_error(ctx)->where,
                  fnz_last_error(ctx)->message, (int)text.size, text.data);
  }
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(p);
  fnz_program_destroy(traced);
  fnz_buffer_free(ctx, &text);
}

START_TEST(random_bodies_have_the_interpreters_bits) {
  const char *wanted = getenv("FNZ_PROGRAMS"), *first = getenv("FNZ_FIRST");
  unsigned count = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 400;
  unsigned from = first ? (unsigned)strtoul(first, NULL, 10) : 1;
  fnz_context *ctx;
  tally t = {0};
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (unsigned seed = from; seed < from + count; seed++)
    verify_random(ctx, seed, &t);
  printf("%zu programs, %zu run; %zu regions, %zu left to the interpreter\n", t.programs, t.run,
         t.regions, t.left);
  ck_assert_uint_gt(t.run, count / 2);
  ck_assert_uint_gt(t.regions, t.run);
  ck_assert_uint_eq(t.left, 0);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- Programs --------------------------------------------------------------------------------- */
typedef struct setup {
  fnz_context *ctx;
  fnz_program *p;
  fnz_executable *exe;
  fnz_workspace *ws;
} setup;

static setup open_setup(const fnz_allocator *allocator, const char *text) {
  setup s;
  ck_assert_int_eq(fnz_context_create(allocator, &s.ctx), FNZ_OK);
  s.p = read_functional(s.ctx, text);
  s.exe = compile(s.ctx, s.p);
  OK(s.ctx, fnzi_eng_workspace_take(s.exe, s.ctx, &s.ws));
  return s;
}

static void close_setup(setup *s) {
  fnz_workspace_destroy(s->ws);
  fnz_executable_destroy(s->exe);
  fnz_program_destroy(s->p);
  fnz_context_destroy(s->ctx);
}

static const int64_t four[] = {4}, one_stride[] = {1};
static const fnz_geometry row = {.dtype = FNZ_F32, .rank = 1, .sizes = four, .strides = one_stride};
static const fnz_geometry number = {.dtype = FNZ_I64}, truth = {.dtype = FNZ_BOOL};

#define LOOP                                                                                       \
  "fnz 1\nprogram(%x: f32[4], %n: i64[])\n{\n  %i: i64[] = full([], 0, dtype=i64)\n"               \
  "  %j: i64[], %y: f32[4] = higher_order.while_loop(@test, @turn, [%i, %x], [%n])\n"              \
  "  return %y\n}\n"                                                                               \
  "graph test(%i: i64[], %x: f32[4], %n: i64[]) {\n"                                               \
  "  %l: bool[] = lt.Tensor(%i, %n)\n  return single %l\n}\n"                                      \
  "graph turn(%i: i64[], %x: f32[4], %n: i64[]) {\n"                                               \
  "  %j: i64[] = add.Tensor(%i, 1)\n  %y: f32[4] = mul.Tensor(%x, 2)\n  return %j, %y\n}\n"

START_TEST(loops_run_as_often_as_data_say) {
  setup s = open_setup(NULL, LOOP);
  float x[] = {1, 2, 3, 4};
  int64_t n;
  for (n = 0; n < 5; n++) {
    const fnz_memory in[] = {{x, &row}, {&n, &number}};
    fnz_memory out = {NULL, NULL};
    const fnz_execution run = {
        .size = sizeof run, .inputs = in, .outputs = &out, .workspace = s.ws};
    OK(s.ctx, fnz_executable_run(s.ctx, s.exe, &run));
    for (int k = 0; k < 4; k++)
      ck_assert(((float *)out.data)[k] == x[k] * (float)(1 << n));
  }
  close_setup(&s);
}
END_TEST

/* The caller of the compiler sets how many bodies a run may enter: each iteration is two. */
START_TEST(loops_that_never_end_must_end) {
  setup s = open_setup(NULL, LOOP);
  float x[] = {1, 2, 3, 4};
  int64_t n = 10;
  const fnz_memory in[] = {{x, &row}, {&n, &number}};
  fnz_memory out = {NULL, NULL};
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = &out, .workspace = s.ws};
  s.ws->ctx->limits.turns = 21;
  OK(s.ctx, fnz_executable_run(s.ctx, s.exe, &run));
  n = 11;
  FAILS(s.ctx, "LIMIT", fnz_executable_run(s.ctx, s.exe, &run));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(s.ctx)->where, "while_loop"));
  close_setup(&s);
}
END_TEST

/* --- Memory ----------------------------------------------------------------------------------- */
static void *count_resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  (void)old_bytes;
  ++*(size_t *)user;
  if (new_bytes)
    return realloc(p, new_bytes);
  free(p);
  return NULL;
}

static const char many[] =
    "fnz 1\nprogram(%x: f32[4,4], %h: f32[4], %p: bool[])\n{\n"
    "  %s: f32[4], %t: f32[4,4] = higher_order.scan(@cell, [%h], [%x], [%h])\n"
    "  %a: f32[4,4] = higher_order.associative_scan(@pair, [%t], [])\n"
    "  %b: f32[4,4] = higher_order.cond(%p, @yes, @no, [%a, %x])\n"
    "  %c: f32[4,4] = higher_order.map_impl(@each, [%b], [%s])\n  return %c\n}\n"
    "graph cell(%h: f32[4], %x: f32[4], %w: f32[4]) {\n"
    "  %i: i64[] = full([], 0, dtype=i64)\n"
    "  %j: i64[], %y: f32[4] = higher_order.while_loop(@test, @turn, [%i, %h], [%x])\n"
    "  %z: f32[4] = add.Tensor(%y, %w)\n  %k: f32[4] = mul.Tensor(%y, %x)\n  return %z, %k\n}\n"
    "graph test(%i: i64[], %x: f32[4], %y: f32[4]) {\n"
    "  %l: bool[] = lt.Scalar(%i, 3)\n  return single %l\n}\n"
    "graph turn(%i: i64[], %x: f32[4], %y: f32[4]) {\n  %j: i64[] = add.Tensor(%i, 1)\n"
    "  %m: f32[4] = mul.Tensor(%x, %y)\n  %n: f32[4] = tanh(%m)\n  return %j, %n\n}\n"
    "graph pair(%a: f32[4], %b: f32[4]) {\n  %c: f32[4] = add.Tensor(%a, %b)\n  return %c\n}\n"
    "graph yes(%a: f32[4,4], %x: f32[4,4]) {\n  %m: f32[4,4] = mm(%a, %x)\n  return %m\n}\n"
    "graph no(%a: f32[4,4], %x: f32[4,4]) {\n  %m: f32[4,4] = neg(%a)\n  return %m\n}\n"
    "graph each(%b: f32[4], %s: f32[4]) {\n  %c: f32[4] = sub.Tensor(%b, %s)\n  return %c\n}\n";

START_TEST(a_run_with_bodies_allocates_nothing) {
  size_t calls = 0, before;
  const fnz_allocator counting = {count_resize, &calls};
  setup s = open_setup(&counting, many);
  static const int64_t sizes[] = {4, 4}, strides[] = {4, 1};
  const fnz_geometry square = {.dtype = FNZ_F32, .rank = 2, .sizes = sizes, .strides = strides};
  float x[16], h[4] = {1, -1, 2, 0.5f}, y[16];
  bool p = true;
  for (int i = 0; i < 16; i++)
    x[i] = 0.1f * (float)i;
  const fnz_memory in[] = {{x, &square}, {h, &row}, {&p, &truth}};
  fnz_memory out = {y, NULL};
  fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = &out, .workspace = s.ws};
  fnz_needs needs = FNZ_NEEDS_INIT;
  OK(s.ctx, fnz_executable_get_needs(s.ctx, s.exe, &run, &needs));
  ck_assert_uint_eq(needs.interpreted, 0);
  run.arena = aligned_alloc(64, needs.arena_bytes);
  run.arena_bytes = needs.arena_bytes;
  OK(s.ctx, fnz_executable_run(s.ctx, s.exe, &run));
  before = calls;
  for (int i = 0; i < 20; i++) {
    p = i % 2;
    OK(s.ctx, fnz_executable_run(s.ctx, s.exe, &run));
  }
  if (!FNZI_WATCHED) /* there nothing is kept, so that every use after an end is seen */
    ck_assert_uint_eq(calls, before);
  free(run.arena);
  close_setup(&s);
}
END_TEST

/* --- State ------------------------------------------------------------------------------------ */
#define CACHE                                                                                      \
  "fnz 1\nweight \"c\": f32[4]\n"                                                                  \
  "program(%c: f32[4] buffer \"c\", %i: i64[3,1], %k: f32[1], %p: bool[])\n{\n"

/* Each iteration writes one element; the last index is wrong. */
static const char writes_along[] =
    CACHE "  %d: f32[4], %s: f32[3,1] = higher_order.scan(@turn, [%c], [%i], [%k])\n"
          "  %e: f32[4] = copy_(%c, %d)\n  return %s\n}\n"
          "graph turn(%c: f32[4], %i: i64[1], %k: f32[1]) {\n"
          "  %w: f32[4] = index_copy(%c, 0, %i, %k)  at \"m.py:7\"\n"
          "  %s: f32[1] = clone(%k)\n  return %w, %s\n}\n";

/* Gives the bytes of the state that are kept before a run. */
static size_t run_cache(const char *text, bool p, int64_t last, const float *want,
                        const char *failure) {
  setup s = open_setup(NULL, text);
  static const int64_t sizes[] = {3, 1}, strides[] = {1, 1}, one[] = {1};
  const fnz_geometry at = {.dtype = FNZ_I64, .rank = 2, .sizes = sizes, .strides = strides},
                     token = {.dtype = FNZ_F32, .rank = 1, .sizes = one, .strides = one_stride};
  float held[4] = {1, 2, 3, 4}, k = 9;
  int64_t i[3] = {0, 2, last};
  const fnz_memory memory = {held, NULL}, in[] = {{i, &at}, {&k, &token}, {&p, &truth}};
  fnz_memory out[2] = {{NULL, NULL}};
  fnz_executable_state *state;
  OK(s.ctx, fnz_executable_state_over(s.ctx, s.exe, &memory, &state));
  const fnz_execution run = {
      .size = sizeof run, .inputs = in, .outputs = out, .state = state, .workspace = s.ws};
  fnz_status status = fnz_executable_run(s.ctx, s.exe, &run);
  if (failure) {
    FAILS(s.ctx, "BOUNDS", status);
    ck_assert_ptr_nonnull(strstr(fnz_last_error(s.ctx)->where, failure));
  } else {
    OK(s.ctx, status);
  }
  for (int n = 0; n < 4; n++)
    ck_assert(held[n] == want[n]);
  size_t kept = s.ws->saved_bytes;
  fnz_executable_state_destroy(state);
  close_setup(&s);
  return kept;
}

START_TEST(a_failure_within_a_body_leaves_the_state) {
  static const float before[] = {1, 2, 3, 4}, after[] = {9, 2, 9, 9};
  ck_assert_uint_gt(run_cache(writes_along, true, 3, after, NULL), 0);
  run_cache(writes_along, true, 4, before, "of graph turn (index_copy at m.py:7)");
}
END_TEST

static const char writes_in_a_branch[] =
    CACHE "  %j: i64[1] = select.int(%i, 0, 2)\n"
          "  %d: f32[4] = higher_order.cond(%p, @yes, @no, [%c, %j, %k])\n"
          "  %e: f32[4] = copy_(%c, %d)\n  %s: f32[1] = mul.Tensor(%k, 2)\n  return %s\n}\n"
          "graph yes(%c: f32[4], %i: i64[1], %k: f32[1]) {\n"
          "  %w: f32[4] = index_copy(%c, 0, %i, %k)  at \"m.py:7\"\n  return %w\n}\n"
          "graph no(%c: f32[4], %i: i64[1], %k: f32[1]) {\n"
          "  %w: f32[4] = clone(%c)\n  return %w\n}\n";

/* The branch that writes is one update in place, the other one nothing; the index is looked at
 * before anything is written. */
START_TEST(a_branch_writes_the_state_in_place) {
  static const float before[] = {1, 2, 3, 4}, after[] = {1, 2, 3, 9};
  ck_assert_uint_eq(run_cache(writes_in_a_branch, true, 3, after, NULL), 0);
  run_cache(writes_in_a_branch, false, 3, before, NULL);
  run_cache(writes_in_a_branch, true, 4, before, "of graph yes (index_copy at m.py:7)");
  setup s = open_setup(NULL, writes_in_a_branch);
  const fnz_geometry *g;
  fnzi_pln_policy policy = {.state = true};
  fnzi_pln_plan plan = {0};
  fnzi_pln_bodies bodies = {.list = {.data = NULL}};
  fnzi_arena arena;
  fnzi_arena_init(&arena, s.ctx);
  OK(s.ctx, fnzi_pln_make(s.ctx, s.p, &policy, &plan));
  OK(s.ctx, fnzi_pln_bodies_plan(s.ctx, &arena, s.p, false, &plan, &bodies));
  ck_assert_uint_eq(bodies.list.count, 2);
  const fnzi_pln_plan *yes = &bodies.list.data[0].plan, *no = &bodies.list.data[1].plan;
  ck_assert_uint_eq(yes->steps.count, 1);
  ck_assert(yes->steps.data[0].in_place);
  ck_assert_uint_eq(no->steps.count, 0);
  g = yes->outputs[0].map;
  ck_assert_int_eq(g->sizes[0], 4);
  fnzi_pln_bodies_free(s.ctx, &bodies);
  fnzi_pln_free(s.ctx, &plan);
  fnzi_arena_free(&arena);
  close_setup(&s);
}
END_TEST

/* --- What is left to the interpreter ---------------------------------------------------------- */
static const char carries_a_number[] =
    "fnz 1\nprogram(%x: f32[4], %p: bool[])\n{\n"
    "  %y: f32[4] = higher_order.cond(%p, @yes, @no, [%x])\n"
    "  %j: sym, %z: f32[4] = higher_order.while_loop(@test, @turn, [0, %y], [])\n"
    "  return %z\n}\n"
    "graph yes(%x: f32[4]) {\n  %y: f32[4] = neg(%x)\n  return %y\n}\n"
    "graph no(%x: f32[4]) {\n  %y: f32[4] = mul.Tensor(%x, 2)\n  return %y\n}\n"
    "graph test(%i: sym, %x: f32[4]) {\n  %l: sym = _operator.lt(%i, 3)\n  return single %l\n}\n"
    "graph turn(%i: sym, %x: f32[4]) {\n  %a: f32[4] = add.Tensor(%x, 1)\n"
    "  %j: sym = _operator.add(%i, 1)\n  return %j, %a\n}\n";

static bool plan_says(fnz_context *ctx, const fnz_program *p, bool json, const char *what) {
  fnz_buffer text = {0};
  const fnz_plan_options options = {.size = sizeof options, .json = json};
  OK(ctx, fnz_plan_write(ctx, p, &options, &text));
  OK(ctx, fnzi_put(ctx, &text, "", 1));
  bool found = strstr((const char *)text.data, what) != NULL;
  if (!found)
    printf("%s", (const char *)text.data);
  fnz_buffer_free(ctx, &text);
  return found;
}

/* The loop carries a number; the branches before it are planned. */
START_TEST(what_is_left_is_said_by_name) {
  setup s = open_setup(NULL, carries_a_number);
  float x[] = {1, 2, 3, 4}, y[4];
  bool p = true;
  const fnz_memory in[] = {{x, &row}, {&p, &truth}};
  fnz_memory out = {y, NULL};
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = &out, .workspace = s.ws};
  fnz_needs needs = FNZ_NEEDS_INIT;
  OK(s.ctx, fnz_executable_get_needs(s.ctx, s.exe, &run, &needs));
  ck_assert_uint_eq(needs.interpreted, 1);
  OK(s.ctx, fnz_executable_run(s.ctx, s.exe, &run));
  ck_assert(y[0] == 2 && y[3] == -1);
  ck_assert(plan_says(s.ctx, s.p, false, "by the interpreter: it is given what is no tensor"));
  ck_assert(
      plan_says(s.ctx, s.p, false, "body 1    no, of step 0\n  step 0    call    mul.Tensor"));
  ck_assert(plan_says(s.ctx, s.p, true, "\"left\": [{\"step\": 1, \"why\": \"it is given"));
  close_setup(&s);
}
END_TEST

/* An assertion in a body does not leave it to the interpreter; if it fails, the state is as it
 * was. */
static const char asserts[] =
    "fnz 1\nweight \"c\": f32[4]\nprogram(%c: f32[4] buffer \"c\", %x: f32[4], %p: bool[])\n{\n"
    "  %y: f32[4] = higher_order.cond(%p, @yes, @no, [%c, %x])\n  return %y\n}\n"
    "graph yes(%c: f32[4], %x: f32[4])\n{\n  %w: f32[4] = add_.Tensor(%c, %x)\n"
    "  %s: f32[] = sum(%w)\n  %l: bool[] = gt.Scalar(%s, 0)\n"
    "  _assert_async.msg(%l, \"the sum is not above 0\") # m.py:9\n"
    "  %y: f32[4] = neg(%w)\n  return %y\n}\n"
    "graph no(%c: f32[4], %x: f32[4])\n{\n  %y: f32[4] = mul.Tensor(%x, 2)\n  return %y\n}\n";

START_TEST(bodies_that_assert_are_planned) {
  setup s = open_setup(NULL, asserts);
  float held[] = {1, 1, 1, 1}, x[] = {0, 1, 2, 3}, y[4];
  bool p = true;
  const fnz_memory memory = {held, NULL}, in[] = {{x, &row}, {&p, &truth}};
  fnz_memory out[2] = {{y, NULL}, {NULL, NULL}};
  fnz_executable_state *state;
  fnz_needs needs = FNZ_NEEDS_INIT;
  OK(s.ctx, fnz_executable_state_over(s.ctx, s.exe, &memory, &state));
  const fnz_execution run = {
      .size = sizeof run, .inputs = in, .outputs = out, .state = state, .workspace = s.ws};
  OK(s.ctx, fnz_executable_run(s.ctx, s.exe, &run));
  OK(s.ctx, fnz_executable_get_needs(s.ctx, s.exe, &run, &needs));
  ck_assert_uint_eq(needs.interpreted, 0);
  ck_assert(held[0] == 1 && held[3] == 4 && y[3] == -4);
  x[0] = -20;
  FAILS(s.ctx, "BOUNDS", fnz_executable_run(s.ctx, s.exe, &run));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(s.ctx)->message, "the sum is not above 0"));
  ck_assert(held[0] == 1 && held[3] == 4);
  fnz_executable_state_destroy(state);
  close_setup(&s);
}
END_TEST

/* --- Sizes that data decide ------------------------------------------------------------------- */
/* The slice shows a value whose memory another one takes; the state is written before the index is
 * looked at. */
static const char sizes_by_data[] =
    "fnz 1\nsymbol u0\nrange u0 0..4\nsymbol u1\nrange u1 0..4\nweight \"c\": f32[4]\n"
    "program(%c: f32[4] buffer \"c\", %x: f32[4], %n: i64[], %i: i64[])\n{\n"
    "  %a: f32[4] = mul.Tensor(%x, 2)\n  %b: f32[4] = tanh(%a)\n"
    "  %k: sym{u0} = item(%n)\n  %s: f32[{u0}] = slice_copy.Tensor(%b, 0, 0, %k)\n"
    "  %d: f32[4] = mul.Tensor(%b, 3)\n  %e: f32[4] = exp(%d)\n"
    "  %z: f32[4] = add_.Tensor(%c, %e)\n"
    "  %m: bool[4] = gt.Scalar(%z, 0)\n  %v: f32[{u1}] = masked_select(%e, %m)\n"
    "  %t: f32[] = sum(%v)\n  %y: f32[4] = mul.Tensor(%t, %d)\n"
    "  %q: f32[1] = index_select(%y, 0, %i)\n  return %s, %q, %v\n}\n";

static fnz_status run_late(const setup *s, fnz_executable_state *state, float *x, int64_t n,
                           int64_t i, fnz_memory *out) {
  const fnz_memory in[] = {{x, &row}, {&n, &number}, {&i, &number}};
  const fnz_execution run = {
      .size = sizeof run, .inputs = in, .outputs = out, .state = state, .workspace = s->ws};
  for (int k = 0; k < 8; k++)
    out[k] = (fnz_memory){NULL, NULL};
  return fnz_executable_run(s->ctx, s->exe, &run);
}

static setup open_late(void) {
  return open_setup(NULL, sizes_by_data);
}

static const float *output(const setup *s, const fnz_memory *out, const char *name, int64_t *size) {
  for (size_t k = 0; k < fnz_executable_count(s->exe, FNZ_SIDE_OUTPUT); k++)
    if (strcmp(fnz_executable_slot(s->exe, FNZ_SIDE_OUTPUT, k).name, name) == 0) {
      *size = out[k].geometry->rank ? out[k].geometry->sizes[0] : 1;
      return out[k].data;
    }
  return NULL;
}

START_TEST(what_data_do_not_decide_is_planned) {
  setup s = open_late();
  float x[] = {0.1f, -0.2f, 0.3f, -0.4f}, held[] = {0, -2, 0, -2};
  const fnz_memory memory = {held, NULL};
  fnz_executable_state *state;
  fnz_memory out[8];
  int64_t count;
  OK(s.ctx, fnz_executable_state_over(s.ctx, s.exe, &memory, &state));
  for (int64_t n = 4; n >= 0; n--) {
    OK(s.ctx, run_late(&s, state, x, n, 1, out));
    const float *shown = output(&s, out, "output.0", &count);
    ck_assert_int_eq(count, n);
    for (int64_t k = 0; k < n; k++)
      ck_assert(shown[k] == tanhf(x[k] * 2) || fabsf(shown[k] - tanhf(x[k] * 2)) < 1e-6f);
    output(&s, out, "output.2", &count);
    ck_assert_int_ge(count, 2);
  }
  ck_assert_uint_gt(s.ws->bindings.count, 0);
  const fnzi_stp_binding *b = s.ws->bindings.data[s.ws->bindings.count - 1];
  ck_assert(s.ws->exe->data_dependent == FNZI_STP_DATA_SIZES && b->mode == FNZI_STP_PLANNED);
  ck_assert_uint_eq(b->needs.interpreted, 4);
  ck_assert_uint_gt(b->needs.steps, b->needs.interpreted);
  ck_assert(plan_says(s.ctx, s.p, false, "apply   masked_select by the interpreter"));
  fnz_executable_state_destroy(state);
  close_setup(&s);
}
END_TEST

START_TEST(a_late_failure_leaves_the_state) {
  setup s = open_late();
  float x[] = {0.1f, -0.2f, 0.3f, -0.4f}, held[] = {1, 2, 3, 4};
  const fnz_memory memory = {held, NULL};
  fnz_executable_state *state;
  fnz_memory out[8];
  OK(s.ctx, fnz_executable_state_over(s.ctx, s.exe, &memory, &state));
  FAILS(s.ctx, "BOUNDS", run_late(&s, state, x, 2, 4, out));
  ck_assert(held[0] == 1 && held[1] == 2 && held[2] == 3 && held[3] == 4);
  OK(s.ctx, run_late(&s, state, x, 2, 3, out));
  ck_assert(held[0] != 1 && held[3] != 4);
  fnz_executable_state_destroy(state);
  close_setup(&s);
}
END_TEST

START_TEST(late_sizes_have_the_interpreters_bits) {
  setup s = open_late();
  fnz_arrays *inputs;
  void *data;
  const float x[] = {0.1f, -0.2f, 0.3f, -0.4f}, c[] = {0, -2, 0, -2};
  const int64_t n = 3, i = 2;
  OK(s.ctx, fnz_arrays_create(s.ctx, &inputs));
  OK(s.ctx, fnz_arrays_add(inputs, "x", FNZ_F32, 1, four, &data));
  memcpy(data, x, sizeof x);
  OK(s.ctx, fnz_arrays_add(inputs, "buffer.c", FNZ_F32, 1, four, &data));
  memcpy(data, c, sizeof c);
  OK(s.ctx, fnz_arrays_add(inputs, "n", FNZ_I64, 0, NULL, &data));
  memcpy(data, &n, sizeof n);
  OK(s.ctx, fnz_arrays_add(inputs, "i", FNZ_I64, 0, NULL, &data));
  memcpy(data, &i, sizeof i);
  OK(s.ctx, fnz_executable_verify(s.ctx, s.exe, inputs));
  fnz_arrays_destroy(inputs);
  close_setup(&s);
}
END_TEST

/* --- Associative scans ------------------------------------------------------------------------ */
/* A combination that is not symmetric, of rows and of columns, which have to be brought together.
 */
START_TEST(associative_scans_of_all_lengths) {
  for (int n = 1; n < 14; n++) {
    char text[1200];
    const int64_t sizes[] = {n, 3}, turned[] = {3, n};
    snprintf(
        text, sizeof text,
        "fnz 1\nprogram(%%x: f32[%d,3], %%z: f32[3,%d])\n{\n"
        "  %%y: f32[%d,3] stride(1,%d) = t(%%z)\n"
        "  %%a: f32[%d,3], %%b: f32[%d,3] = higher_order.associative_scan(@f, [%%x, %%y], [])\n"
        "  return %%a, %%b\n}\n"
        "graph f(%%a: f32[3], %%b: f32[3], %%c: f32[3], %%d: f32[3]) {\n"
        "  %%e: f32[3] = mul.Tensor(%%a, %%c)\n  %%g: f32[3] = mul.Tensor(%%b, %%c)\n"
        "  %%h: f32[3] = add.Tensor(%%g, %%d)\n  return %%e, %%h\n}\n",
        n, n, n, n, n, n);
    setup s = open_setup(NULL, text);
    fnz_arrays *inputs;
    void *x, *z;
    OK(s.ctx, fnz_arrays_create(s.ctx, &inputs));
    OK(s.ctx, fnz_arrays_add(inputs, "x", FNZ_F32, 2, sizes, &x));
    OK(s.ctx, fnz_arrays_add(inputs, "z", FNZ_F32, 2, turned, &z));
    for (int k = 0; k < 3 * n; k++) {
      ((float *)x)[k] = 0.3f + 0.1f * (float)k;
      ((float *)z)[k] = 1.7f - 0.2f * (float)k;
    }
    const fnz_status status = fnz_executable_verify(s.ctx, s.exe, inputs);
    ck_assert_msg(status == FNZ_OK, "%d slices: %s", n, fnz_last_error(s.ctx)->message);
    fnz_arrays_destroy(inputs);
    close_setup(&s);
  }
}
END_TEST

/* --- The checker ------------------------------------------------------------------------------ */
START_TEST(the_checker_proves_bodies_too) {
  setup s = open_setup(NULL, many);
  fnzi_pln_policy policy = {.state = true};
  fnzi_pln_plan plan = {0};
  fnzi_pln_bodies bodies = {.list = {.data = NULL}};
  fnzi_arena arena;
  size_t refused = 0, rooms = 0;
  fnzi_arena_init(&arena, s.ctx);
  OK(s.ctx, fnzi_pln_make(s.ctx, s.p, &policy, &plan));
  OK(s.ctx, fnzi_pln_bodies_plan(s.ctx, &arena, s.p, false, &plan, &bodies));
  ck_assert_uint_eq(bodies.list.count, 7);
  for (size_t b = 0; b < bodies.list.count; b++) { /* a body only reads values that it passes on */
    fnzi_pln_plan *of = &bodies.list.data[b].plan;
    for (size_t i = 0; i < of->buffers.count; i++) {
      fnzi_pln_buffer *buffer = &of->buffers.data[i];
      if (buffer->kind != FNZI_PLN_STATE)
        continue;
      buffer->kind = FNZI_PLN_CONST;
      refused += fnzi_pln_check(s.ctx, of) == FNZ_INTERNAL;
      buffer->kind = FNZI_PLN_STATE;
      OK(s.ctx, fnzi_pln_check(s.ctx, of));
    }
  }
  ck_assert_uint_ge(refused, 3);
  for (size_t r = 0; r < bodies.regions.count; r++) { /* bodies work in memory that is in use */
    const fnzi_pln_region *region = &bodies.regions.data[r];
    if (region->owner != FNZI_PLN_NONE || region->buffer == FNZI_PLN_NONE)
      continue;
    fnzi_pln_buffer *room = &plan.buffers.data[region->buffer];
    size_t had = room->offset, wrong = 0;
    for (room->offset = 0; room->offset + room->bytes <= plan.arena_bytes; room->offset += 64)
      wrong += fnzi_pln_check(s.ctx, &plan) == FNZ_INTERNAL;
    room->offset = had;
    rooms += wrong > 0;
  }
  ck_assert_uint_ge(rooms, 1);
  fnzi_pln_bodies_free(s.ctx, &bodies);
  fnzi_pln_free(s.ctx, &plan);
  fnzi_arena_free(&arena);
  close_setup(&s);
}
END_TEST

RUN_SUITE("engine_regions", random_bodies_have_the_interpreters_bits,
          loops_run_as_often_as_data_say, loops_that_never_end_must_end,
          a_run_with_bodies_allocates_nothing, a_failure_within_a_body_leaves_the_state,
          a_branch_writes_the_state_in_place, what_is_left_is_said_by_name,
          bodies_that_assert_are_planned, what_data_do_not_decide_is_planned,
          a_late_failure_leaves_the_state, late_sizes_have_the_interpreters_bits,
          associative_scans_of_all_lengths, the_checker_proves_bodies_too)
