/* checks: 15
 * engine_steps_test.c - executables: recipes become steps of their node; inputs that must not
 * overlap; outputs that show a state as it was; weights that are kept in another order; allocations
 * of a run. */
#include "engine/engine.h"
#include "kernels/rows/rows.h"
#include "program/program.h"
#include "soak/programs.h"
#include "tests/engine/engine_help.h"
#include "tests/help/run_help.h"

static const int64_t four[] = {4}, one_stride[] = {1};
static const fnz_geometry row = {.dtype = FNZ_F32, .rank = 1, .sizes = four, .strides = one_stride};

/* --- Recipes ---------------------------------------------------------------------------------- */
/* Along columns, so that no group takes in all that it computes. */
static const char similarity[] =
    "fnz 1\nprogram(%x: f32[2,2], %y: f32[2,2])\n{\n"
    "  %a: f32[2,2] = add.Tensor(%x, %y) # m.py:3\n"
    "  %s: f32[2] = cosine_similarity(%a, %y, 0) # m.py:4\n  return %s\n}\n";

START_TEST(recipes_become_steps) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p = read_functional(ctx, similarity);
  fnz_executable *exe = compile(ctx, p);
  fnz_workspace *ws;
  float x[] = {1, 2, 3, 4}, y[] = {4, 3, 2, 1};
  static const int64_t square[] = {2, 2}, strides[] = {2, 1};
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 2, .sizes = square, .strides = strides};
  const fnz_memory in[] = {{x, &g}, {y, &g}};
  fnz_memory out = {NULL, NULL};
  size_t count, parts = 0;
  OK(ctx, fnz_workspace_create(ctx, exe, &ws));
  fnz_workspace_take_times(ws, true);
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = &out, .workspace = ws};
  OK(ctx, fnz_executable_run(ctx, exe, &run));
  const fnz_step_time *times = fnz_workspace_times(ws, &count);
  for (size_t i = 0; i < count; i++) {
    ck_assert_str_ne(times[i].target, "cosine_similarity");
    parts += strcmp(times[i].of, "cosine_similarity") == 0;
  }
  ck_assert_uint_ge(parts, 5);
  ck_assert_uint_eq(parts + 1, count);
  fnz_workspace_destroy(ws);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* Results that lie in the workspace are there until its next run, whatever queries come in
 * between. */
START_TEST(results_stay_while_needs_are_asked) {
  enum { GAPS = 12 };
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p = read_functional(ctx, "fnz 1\nprogram(%x: f32[4])\n{\n"
                                        "  %y: f32[4] = add.Scalar(%x, 1)\n  return %y\n}\n");
  fnz_executable *exe = compile(ctx, p);
  fnz_workspace *ws;
  float x[4 * GAPS] = {1, 2, 3, 4};
  fnz_memory in = {x, &row}, out = {NULL, NULL};
  OK(ctx, fnz_workspace_create(ctx, exe, &ws));
  const fnz_execution run = {.size = sizeof run, .inputs = &in, .outputs = &out, .workspace = ws};
  OK(ctx, fnz_executable_run(ctx, exe, &run));
  const fnz_geometry *where = out.geometry;
  const fnzi_stp_binding *ran = ws->last;
  for (int64_t gap = 2; gap < GAPS; gap++) {
    fnz_geometry apart = row;
    fnz_needs needs = FNZ_NEEDS_INIT;
    apart.strides = &gap;
    in.geometry = &apart;
    OK(ctx, fnz_executable_get_needs(ctx, exe, &run, &needs));
  }
  ck_assert(ran->is_open && ran->plan.outputs[0].map == where);
  ck_assert_int_eq(where->sizes[0], 4);
  ck_assert_float_eq(((const float *)out.data)[3], 5);
  fnz_workspace_destroy(ws);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* A group with some steps of prelu. */
static const char grouped[] = "fnz 1\nprogram(%x: f32[4], %y: f32[4])\n{\n"
                              "  %a: f32[4] = mul.Tensor(%x, %y)\n"
                              "  %s: f32[1] = slice.Tensor(%y, 0, 0, 1)\n"
                              "  %p: f32[4] = prelu(%a, %s)\n"
                              "  %n: f32[4] = neg(%p)\n  return %n\n}\n";

START_TEST(times_name_the_nodes_of_a_group) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p = read_functional(ctx, grouped);
  fnz_executable *exe = compile(ctx, p);
  fnz_workspace *ws;
  float x[] = {1, 2, 3, 4}, y[] = {-4, 3, 2, 1};
  const fnz_memory in[] = {{x, &row}, {y, &row}};
  fnz_memory out = {NULL, NULL};
  size_t count;
  OK(ctx, fnz_workspace_create(ctx, exe, &ws));
  fnz_workspace_take_times(ws, true);
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = &out, .workspace = ws};
  for (int i = 0; i < 2; i++)
    OK(ctx, fnz_executable_run(ctx, exe, &run));
  const fnz_step_time *times = fnz_workspace_times(ws, &count);
  ck_assert_uint_eq(count, 1);
  ck_assert_str_eq(times[0].kind, "group");
  ck_assert_str_eq(times[0].target, "mul.Tensor, _prelu_kernel, neg");
  ck_assert_str_eq(times[0].of, "mul.Tensor, prelu, neg");
  fnz_workspace_destroy(ws);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(plans_name_the_users_operator) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p = read_functional(
      ctx, "fnz 1\nprogram(%x: f32[2, 3], %h: f32[2, 3], %w: f32[9, 3])\n{\n"
           "  %s: f32[2, 3] = gru_cell(%x, %h, %w, %w, None, None) # m.py:3\n  return %s\n}\n");
  const fnz_plan_options json = {.size = sizeof json, .json = true};
  fnz_buffer text = {0};
  OK(ctx, fnz_plan_write(ctx, p, NULL, &text));
  OK(ctx, fnzi_put(ctx, &text, "", 1));
  ck_assert_ptr_nonnull(strstr((const char *)text.data, "linear of gru_cell -> "));
  fnz_buffer_free(ctx, &text);
  OK(ctx, fnz_plan_write(ctx, p, &json, &text));
  OK(ctx, fnzi_put(ctx, &text, "", 1));
  ck_assert_ptr_nonnull(strstr((const char *)text.data, "\"of\": \"gru_cell\""));
  fnz_buffer_free(ctx, &text);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* Only imaginary parts of the copied values are known then: real ones are overwritten later. Memory
 * with gaps is copied to other strides. */
START_TEST(halves_of_complex_numbers_are_proved) {
  fnz_context *ctx;
  fnz_arrays *inputs;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p = read_functional(
      ctx,
      "fnz 1\nprogram(%x: c64[2,2], %y: c64[2])\n{\n  %r: f32[2,2] = real(%x) # m.py:1\n"
      "  %a: f32[2,2] = add_.Tensor(%r, %r) # m.py:2\n  %s: c64[2] = select.int(%x, 0, 1) # "
      "m.py:3\n"
      "  %c: c64[2] = copy_(%s, %y) # m.py:4\n  %f: f32[2,2] = fill_.Scalar(%r, -1.5) # m.py:5\n"
      "  return\n}\n");
  fnz_executable *exe = compile(ctx, p);
  OK(ctx, fnzi_random_inputs(ctx, p, 1, &inputs));
  OK(ctx, fnz_executable_verify(ctx, exe, inputs));
  fnz_arrays_destroy(inputs);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- Inputs that must share no memory --------------------------------------------------------- */
typedef struct pair {
  fnz_context *ctx;
  fnz_program *p;
  fnz_executable *exe;
  fnz_workspace *ws;
} pair;

static pair open_pair(const char *text) {
  pair r;
  ck_assert_int_eq(fnz_context_create(NULL, &r.ctx), FNZ_OK);
  r.p = read_functional(r.ctx, text);
  r.exe = compile(r.ctx, r.p);
  OK(r.ctx, fnz_workspace_create(r.ctx, r.exe, &r.ws));
  return r;
}

static void close_pair(pair *r) {
  fnz_workspace_destroy(r->ws);
  fnz_executable_destroy(r->exe);
  fnz_program_destroy(r->p);
  fnz_context_destroy(r->ctx);
}

static fnz_status run_pair(const pair *r, const fnz_memory *in) {
  fnz_memory out[4] = {{NULL, NULL}};
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = out, .workspace = r->ws};
  return fnz_executable_run(r->ctx, r->exe, &run);
}

/* x is written, so that y must lie elsewhere: behind it, or between its elements. */
START_TEST(written_inputs_lie_apart) {
  pair r = open_pair("fnz 1\nprogram(%x: f32[4], %y: f32[4])\n{\n"
                     "  %z: f32[4] = add_.Tensor(%x, %y)\n"
                     "  %w: f32[4] = mul.Tensor(%x, %y)\n  return %w\n}\n");
  static const int64_t two[] = {2};
  const fnz_geometry gaps = {.dtype = FNZ_F32, .rank = 1, .sizes = four, .strides = two};
  float m[16] = {1, 2, 3, 4, 5, 6, 7, 8};
  OK(r.ctx, run_pair(&r, (const fnz_memory[]){{m, &row}, {m + 4, &row}}));
  OK(r.ctx, run_pair(&r, (const fnz_memory[]){{m + 4, &row}, {m, &row}}));
  OK(r.ctx, run_pair(&r, (const fnz_memory[]){{m, &gaps}, {m + 1, &gaps}}));
  FAILS(r.ctx, "OVERLAP", run_pair(&r, (const fnz_memory[]){{m, &row}, {m, &row}}));
  FAILS(r.ctx, "OVERLAP", run_pair(&r, (const fnz_memory[]){{m + 3, &row}, {m, &row}}));
  ck_assert_str_eq(fnz_last_error(r.ctx)->where, "x");
  ck_assert_ptr_nonnull(strstr(fnz_last_error(r.ctx)->message, "shares memory with y"));
  FAILS(r.ctx, "OVERLAP", run_pair(&r, (const fnz_memory[]){{m, &gaps}, {m + 2, &gaps}}));
  close_pair(&r);
}
END_TEST

START_TEST(inputs_that_are_read_may_share) {
  pair r = open_pair("fnz 1\nprogram(%x: f32[4], %y: f32[4])\n{\n"
                     "  %w: f32[4] = mul.Tensor(%x, %y)\n  return %w\n}\n");
  float m[4] = {1, 2, 3, 4};
  OK(r.ctx, run_pair(&r, (const fnz_memory[]){{m, &row}, {m, &row}}));
  close_pair(&r);
}
END_TEST

/* %y may share with %q, which another guard keeps apart from %p. */
START_TEST(guards_speak_of_their_own_inputs) {
  pair r = open_pair("fnz 1\nguard disjoint \"x\" \"y\"\nguard disjoint \"p\" \"q\"\n"
                     "program(%x: f32[4], %y: f32[4], %p: f32[4], %q: f32[4])\n{\n"
                     "  %z: f32[4] = add_.Tensor(%x, %y)\n"
                     "  %w: f32[4] = mul.Tensor(%p, %q)\n  return %w\n}\n");
  float m[16] = {1, 2, 3, 4, 5, 6, 7, 8};
  OK(r.ctx, run_pair(&r, (const fnz_memory[]){{m, &row}, {m + 4, &row}, {m, &row}, {m, &row}}));
  FAILS(r.ctx, "OVERLAP",
        run_pair(&r, (const fnz_memory[]){{m, &row}, {m, &row}, {m + 4, &row}, {m + 8, &row}}));
  close_pair(&r);
}
END_TEST

/* --- What is refused -------------------------------------------------------------------------- */
/* As a step of its own, in a group, as an item of a list. */
START_TEST(operands_that_eager_does_not_cast_are_refused) {
  static const char *const bodies[] = {
      "%r: f64[4] = lerp.Scalar(%x, %d, 0.5)\nreturn %r",
      "%r: f64[4] = lerp.Tensor(%x, %x, %d)\nreturn %r",
      "%r: f64[4] = heaviside(%x, %d)\nreturn %r",
      "%a: f32[4] = exp(%x)\n%r: f64[4] = lerp.Scalar(%a, %d, 0.5)\n"
      "%s: f64[4] = neg(%r)\nreturn %s",
      "[%r: f64[4]] = _foreach_lerp.Scalar([%x], [%d], 0.5)\nreturn %r"};
  for (size_t i = 0; i < sizeof bodies / sizeof *bodies; i++) {
    fnz_context *ctx;
    fnz_backend *cpu;
    fnz_arrays *in, *out;
    fnz_executable *exe;
    void *data;
    ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
    fnz_program *p = program_of(ctx, "%x: f32[4], %d: f64[4]", bodies[i]);
    OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
    OK(ctx, fnz_arrays_create(ctx, &in));
    OK(ctx, fnz_arrays_create(ctx, &out));
    OK(ctx, fnz_arrays_add(in, "x", FNZ_F32, 1, four, &data));
    OK(ctx, fnz_arrays_add(in, "d", FNZ_F64, 1, four, &data));
    FAILS(ctx, "TYPE", fnz_run(ctx, p, cpu, in, NULL, out));
    FAILS(ctx, "TYPE", fnz_compile(ctx, p, NULL, &exe));
    fnz_arrays_destroy(out);
    fnz_arrays_destroy(in);
    fnz_backend_destroy(cpu);
    fnz_program_destroy(p);
    fnz_context_destroy(ctx);
  }
}
END_TEST

/* --- Outputs that show a state as it was ------------------------------------------------------ */
static const char by_number[] = "fnz 1\nsymbol u0 = 5\nweight \"c\": f32[4]\n"
                                "program(%c: f32[4] buffer \"c\", %n: i64[])\n{\n"
                                "  %u: sym{u0} = item(%n)\n  %old: f32[4] = clone(%c)\n"
                                "  %v: f32[4] = add_.Scalar(%c, %u)\n"
                                "  %w: f32[4] = mul.Tensor(%c, %c)\n"
                                "  return %old, %w\n}\n";
static const char by_size[] = "fnz 1\nsymbol u0 = 1\nrange u0 0..1\nweight \"c\": f32[4]\n"
                              "program(%c: f32[4] buffer \"c\", %n: i64[])\n{\n"
                              "  %z: i64[{u0},0] stride(1,{u0}) = nonzero(%n)\n"
                              "  %u: sym{u0} = sym_size.int(%z, 0)\n  %old: f32[4] = clone(%c)\n"
                              "  %v: f32[4] = add_.Scalar(%c, 5)\n"
                              "  %w: f32[4] = mul.Tensor(%c, %c)\n"
                              "  return %old, %w, %z\n}\n";

/* A size of an input is open, too. */
static const char by_both[] = "fnz 1\nsymbol s0 = 1\nsymbol u0 = 1\nrange s0 1..4\n"
                              "range u0 0..4\nweight \"c\": f32[4]\n"
                              "program(%c: f32[4] buffer \"c\", %n: i64[{s0}])\n{\n"
                              "  %z: i64[{u0},1] stride(1,{u0}) = nonzero(%n)\n"
                              "  %old: f32[4] = clone(%c)\n"
                              "  %v: f32[4] = add_.Scalar(%c, 5)\n"
                              "  %w: f32[4] = mul.Tensor(%c, %c)\n"
                              "  return %old, %w, %z\n}\n";

/* The old content of the buffer is an output; returns how many steps are the interpreter's. */
static size_t run_old(const char *text, uint32_t rank) {
  pair r = open_pair(text);
  float held[4] = {1, 2, 3, 4};
  int64_t n = 5;
  static const int64_t one[] = {1};
  const fnz_geometry number = {.dtype = FNZ_I64, .rank = rank, .sizes = one, .strides = one};
  const fnz_memory memory = {held, NULL}, in = {&n, &number};
  fnz_executable_state *state;
  fnz_needs needs = FNZ_NEEDS_INIT;
  OK(r.ctx, fnz_executable_state_over(r.ctx, r.exe, &memory, &state));
  fnz_memory out[4] = {{NULL, NULL}};
  const fnz_execution run = {
      .size = sizeof run, .inputs = &in, .outputs = out, .state = state, .workspace = r.ws};
  OK(r.ctx, fnz_executable_run(r.ctx, r.exe, &run));
  const float *old = out[0].data, *w = out[1].data;
  ck_assert(held[0] == 6 && held[3] == 9);
  ck_assert(old[0] == 1 && old[3] == 4);
  ck_assert(w[0] == 36 && w[3] == 81);
  OK(r.ctx, fnz_executable_get_needs(r.ctx, r.exe, &run, &needs));
  fnz_executable_state_destroy(state);
  close_pair(&r);
  return needs.interpreted;
}

/* If data decide sizes, nodes with those sizes are the interpreter's; all nodes are if inputs have
 * open sizes as well. */
START_TEST(old_values_of_a_state_are_kept) {
  ck_assert_uint_eq(run_old(by_size, 0), 1);
  ck_assert_uint_ge(run_old(by_both, 1), 3);
}
END_TEST

/* Numbers are found when the program finds them; a node that takes one waits for it, and so do its
 * users. */
static const char by_numbers[] =
    "fnz 1\nsymbol u0 = 5\nsymbol u1 = 7\n"
    "program(%x: f32[4], %n: i64[])\n{\n"
    "  %a: f32[4] = mul.Tensor(%x, %x)\n  %u: sym{u0} = item(%n)\n"
    "  %b: f32[4] = add.Tensor(%a, %x)\n  %c: f32[4] = mul.Scalar(%b, %u)\n"
    "  %m: i64[] = add.Scalar(%n, 2)\n  %v: sym{u1} = item(%m)\n"
    "  %d: f32[4] = add.Tensor(%c, %a)\n  %e: f32[4] = neg(%d)\n"
    "  %f: f32[4] = add.Scalar(%e, %v)\n  return %f\n}\n";

START_TEST(nodes_between_numbers_are_grouped) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p = read_functional(ctx, by_numbers);
  fnz_executable *exe = compile(ctx, p);
  fnz_workspace *ws;
  float x[] = {1, 2, 3, 4};
  int64_t n = 5;
  const fnz_geometry number = {.dtype = FNZ_I64, .rank = 0, .sizes = four, .strides = one_stride};
  const fnz_memory in[] = {{x, &row}, {&n, &number}};
  fnz_memory out = {NULL, NULL};
  fnz_needs needs = FNZ_NEEDS_INIT;
  OK(ctx, fnz_workspace_create(ctx, exe, &ws));
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = &out, .workspace = ws};
  for (n = 5; n < 8; n++) {
    OK(ctx, fnz_executable_run(ctx, exe, &run));
    for (int i = 0; i < 4; i++) {
      float a = x[i] * x[i], c = (a + x[i]) * (float)n;
      ck_assert_float_eq(((const float *)out.data)[i], -(c + a) + (float)(n + 2));
    }
  }
  OK(ctx, fnz_executable_get_needs(ctx, exe, &run, &needs));
  ck_assert_uint_eq(needs.interpreted, 2);
  ck_assert_uint_le(needs.steps, 2 + 3); /* up to the first number, up to the second one, its add */
  fnz_workspace_destroy(ws);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* The node that reads the number is the interpreter's, all others are kernels. */
START_TEST(numbers_that_data_decide_leave_a_plan) {
  ck_assert_uint_eq(run_old(by_number, 0), 1);
}
END_TEST

/* A branch whose one result lies where the state does that the other one shows, of a size that data
 * decide. */
static const char by_region[] =
    "fnz 1\nsymbol u0 = 2\nrange u0 0..4\nweight \"c\": f32[4]\n"
    "program(%c: f32[4] buffer \"c\", %n: i64[])\n{\n"
    "  %k: sym{u0} = item(%n)\n  %p: bool[] = gt.Scalar(%n, 0)\n"
    "  %d: f32[4], %s: f32[{u0}] = higher_order.cond(%p, @yes, @no, [%c, %k])\n"
    "  return %d buffer_mutation \"c\", %s\n}\n"
    "graph yes(%c: f32[4], %k: sym{u0})\n{\n  %d: f32[4] = add.Tensor(%c, 1)\n"
    "  %s: f32[{u0}] = slice_copy.Tensor(%c, 0, 0, %k)\n  return %d, %s\n}\n"
    "graph no(%c: f32[4], %k: sym{u0})\n{\n  %d: f32[4] = mul.Tensor(%c, 10)\n"
    "  %s: f32[{u0}] = slice_copy.Tensor(%c, 0, 0, %k)\n  return %d, %s\n}\n";

START_TEST(late_results_of_a_branch_are_kept) {
  pair r = open_pair(by_region);
  float held[4] = {1, 2, 3, 4};
  int64_t n = 2;
  const fnz_geometry number = {.dtype = FNZ_I64};
  const fnz_memory memory = {held, NULL}, in = {&n, &number};
  fnz_memory out = {NULL, NULL};
  fnz_executable_state *state;
  OK(r.ctx, fnz_executable_state_over(r.ctx, r.exe, &memory, &state));
  const fnz_execution run = {
      .size = sizeof run, .inputs = &in, .outputs = &out, .state = state, .workspace = r.ws};
  OK(r.ctx, fnz_executable_run(r.ctx, r.exe, &run));
  const float *old = out.data;
  ck_assert(held[0] == 2 && held[3] == 5);
  ck_assert(out.geometry->sizes[0] == 2 && old[0] == 1 && old[1] == 2);
  fnz_executable_state_destroy(state);
  close_pair(&r);
}
END_TEST

/* --- Weights that are kept -------------------------------------------------------------------- */
static size_t kept_count(const fnz_workspace *ws) {
  size_t count = 0;
  for (size_t i = 0; i < ws->bindings.count; i++)
    for (size_t k = 0; k < ws->bindings.data[i]->thunks.count; k++) {
      const fnzi_stp_thunk *thunk = &ws->bindings.data[i]->thunks.data[k];
      count += thunk->kind == FNZI_STP_THUNK_KERNEL && thunk->u.kernel.prepared &&
               thunk->u.kernel.prepared->data.data;
    }
  return count;
}

static void compare_with_run(fnz_context *ctx, const fnz_program *p, fnz_backend *cpu,
                             const fnz_arrays *inputs, const fnz_arrays *have) {
  fnz_arrays *want;
  OK(ctx, fnz_arrays_create(ctx, &want));
  OK(ctx, fnz_run(ctx, p, cpu, inputs, NULL, want));
  ck_assert_uint_eq(fnz_arrays_count(want), fnz_arrays_count(have));
  for (size_t i = 0; i < fnz_arrays_count(want); i++) {
    const fnz_array *a = fnz_arrays_at(want, i), *b = fnz_arrays_at(have, i);
    ck_assert_str_eq(a->name, b->name);
    ck_assert_uint_eq(a->bytes, b->bytes);
    ck_assert(a->bytes == 0 || memcmp(a->data, b->data, a->bytes) == 0);
  }
  fnz_arrays_destroy(want);
}

/* A program of a weight "c" and an input "x". */
#define KEPT(weight, x, y, node)                                                                   \
  "fnz 1\nweight \"c\": f32[" weight "]\nprogram(%c: f32[" weight "] parameter \"c\", %x: f32[" x  \
  "])\n{\n  %y: f32[" y "] = " node "\n  return %y\n}\n"

static void fill(float *to, int64_t count, int step) {
  for (int64_t i = 0; i < count; i++)
    to[i] = (float)(i * step % 19 - 9) * 0.125f;
}

/* A weight is ordered once, from the second run on; one that the caller gives in its place is
 * another one. */
static void run_with_kept(const char *text, bool keeps, int threads) {
  fnz_context *ctx;
  fnz_program *traced, *p;
  fnz_backend *cpu;
  fnz_workspace *ws;
  fnz_arrays *inputs;
  fnzi_blob *blob;
  void *data;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &traced));
  const fnz_geometry *weight = fnzi_value_at(traced, 0, 0)->geometry,
                     *x = fnzi_value_at(traced, 0, 1)->geometry;
  const int64_t weights = fnz_geometry_numel(weight);
  OK(ctx, fnzi_blob_create(ctx, (size_t)weights * sizeof(float), &blob));
  fill(fnzi_blob_data(blob), weights, 7);
  traced->weights.data[0].blob = blob;
  OK(ctx, fnz_functionalize(ctx, traced, NULL, &p));
  OK(ctx, fnz_arrays_create(ctx, &inputs));
  OK(ctx, fnz_arrays_add(inputs, "x", FNZ_F32, x->rank, x->sizes, &data));
  fill(data, fnz_geometry_numel(x), 3);
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  options.threads = threads;
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  OK(ctx, fnz_workspace_create(ctx, exe, &ws));
  for (int i = 0; i < 5; i++) {
    fnz_arrays *have;
    if (i == 4) {
      OK(ctx, fnz_arrays_add(inputs, "parameter.c", FNZ_F32, weight->rank, weight->sizes, &data));
      fill(data, weights, 5);
    }
    OK(ctx, fnz_arrays_create(ctx, &have));
    OK(ctx, fnz_executable_run_arrays(ctx, exe, inputs, NULL, ws, have));
    compare_with_run(ctx, p, cpu, inputs, have);
    ck_assert_uint_eq(kept_count(ws), keeps && i > 0);
    fnz_arrays_destroy(have);
  }
  fnz_workspace_destroy(ws);
  fnz_executable_destroy(exe);
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(p);
  fnz_program_destroy(traced);
  fnz_context_destroy(ctx);
}

START_TEST(kept_weights_may_be_replaced) {
  const bool packs = fnzi_rows_best()->pack != NULL;
  for (int threads = 1; threads <= 2; threads++) {
    run_with_kept(KEPT("32,16,3,3", "1,16,8,8", "1,32,8,8", "conv2d(%x, %c, None, [1, 1], [1, 1])"),
                  true, threads);
    run_with_kept(
        KEPT("16,4,2,2", "1,16,8,8", "1,4,16,16", "conv_transpose2d.input(%x, %c, None, [2, 2])"),
        true, threads);
    /* a depth of two panels, and columns that do not fill the last one */
    run_with_kept(KEPT("150,300", "70,300", "70,150", "linear(%x, %c)"), packs, threads);
    run_with_kept(KEPT("300,150", "200,300", "200,150", "mm(%x, %c)"), packs, threads);
  }
}
END_TEST

/* --- Memory ----------------------------------------------------------------------------------- */
typedef struct meter {
  size_t live, peak;
} meter;

static void *meter_resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  meter *m = user;
  void *made = new_bytes ? realloc(p, new_bytes) : NULL;
  if (new_bytes && !made)
    return NULL;
  if (!new_bytes)
    free(p);
  m->live = m->live - old_bytes + new_bytes;
  m->peak = m->live > m->peak ? m->live : m->peak;
  return made;
}

static fnzi_blob *zeros(fnz_context *ctx, size_t bytes) {
  fnzi_blob *blob;
  OK(ctx, fnzi_blob_create(ctx, bytes, &blob));
  memset(fnzi_blob_data(blob), 0, bytes);
  return blob;
}

/* A weight of 8 MB that is read, a cache of 2 MB whose final value is a result: no byte of the
 * weight is copied, and of the cache only into the result. */
static const char cached[] =
    "fnz 1\nweight \"w\": f32[2048,1024]\nweight \"c\": f32[512,1024]\n"
    "program(%w: f32[2048,1024] parameter \"w\", %c: f32[512,1024] buffer \"c\" persistent,\n"
    "%x: f32[1,1024], %i: i64[1])\n{\n  %n: f32[512,1024] = index_copy_(%c, 0, %i, %x)\n"
    "  %y: f32[1,2048] = linear(%x, %w)\n  return %y\n}\n";

START_TEST(a_run_holds_weights_and_results_once) {
  enum { W = 2048 * 1024 * 4, C = 512 * 1024 * 4, Y = 2048 * 4 };
  meter m = {0, 0};
  const fnz_allocator metered = {meter_resize, &m};
  fnz_context *ctx;
  fnz_arrays *inputs, *have;
  void *data;
  ck_assert_int_eq(fnz_context_create(&metered, &ctx), FNZ_OK);
  fnz_program *p = read_functional(ctx, cached);
  p->weights.data[0].blob = zeros(ctx, W);
  p->weights.data[1].blob = zeros(ctx, C);
  size_t before = m.live;
  OK(ctx, fnz_arrays_create(ctx, &inputs));
  OK(ctx, fnz_arrays_create(ctx, &have));
  OK(ctx, fnz_arrays_add(inputs, "x", FNZ_F32, 2, (const int64_t[]){1, 1024}, &data));
  fill(data, 1024, 7);
  OK(ctx, fnz_arrays_add(inputs, "i", FNZ_I64, 1, (const int64_t[]){1}, &data));
  m.peak = m.live;
  fnz_executable *exe = compile(ctx, p);
  OK(ctx, fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, have));
  ck_assert_uint_ge(m.peak - before, C + Y);
  ck_assert_uint_le(m.peak - before, C + Y + (W + C + Y) / 10);
  const float *cache = fnz_arrays_find(have, "buffer.c")->data;
  ck_assert(cache[0] == -9 * 0.125f && cache[1024] == 0);
  fnz_executable_destroy(exe);
  fnz_arrays_destroy(inputs);
  fnz_arrays_destroy(have);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  ck_assert_uint_eq(m.live, 0);
}
END_TEST

RUN_SUITE("engine, more", recipes_become_steps, results_stay_while_needs_are_asked,
          times_name_the_nodes_of_a_group, plans_name_the_users_operator,
          halves_of_complex_numbers_are_proved, written_inputs_lie_apart,
          inputs_that_are_read_may_share, guards_speak_of_their_own_inputs,
          operands_that_eager_does_not_cast_are_refused, old_values_of_a_state_are_kept,
          late_results_of_a_branch_are_kept, numbers_that_data_decide_leave_a_plan,
          nodes_between_numbers_are_grouped, kept_weights_may_be_replaced,
          a_run_holds_weights_and_results_once)
