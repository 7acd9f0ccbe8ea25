/* checks: 4
 * engine_fallback_test.c - an order or a plan that is wrong: the checks find it, and the program
 * runs as it was, or without a plan, with the interpreter's bits. The linker has calls of the
 * planner go through here (--wrap), where two nodes or two steps change places. */
#include "engine/plan/planner.h"
#include "tests/help/run_help.h"

static struct { bool order, plan; } wrong;

/* --- What goes wrong -------------------------------------------------------------------------- */
fnz_status __real_fnzi_pln_arrange(fnz_context *ctx, fnzi_arena *arena, const fnz_program *program,
                                   const fnz_program **out, fnzi_pln_order *order);
fnz_status __wrap_fnzi_pln_arrange(fnz_context *ctx, fnzi_arena *arena, const fnz_program *program,
                                   const fnz_program **out, fnzi_pln_order *order);
fnz_status __real_fnzi_pln_make(fnz_context *ctx, const fnz_program *program,
                                const fnzi_pln_policy *policy, fnzi_pln_plan *out);
fnz_status __wrap_fnzi_pln_make(fnz_context *ctx, const fnz_program *program,
                                const fnzi_pln_policy *policy, fnzi_pln_plan *out);

#define SWAP(type, data, a, b)                                                                     \
  do {                                                                                             \
    type *all_ = (type *)(uintptr_t)(data), had_ = all_[a];                                        \
    all_[a] = all_[b];                                                                             \
    all_[b] = had_;                                                                                \
  } while (0)

fnz_status __wrap_fnzi_pln_arrange(fnz_context *ctx, fnzi_arena *arena, const fnz_program *program,
                                   const fnz_program **out, fnzi_pln_order *order) {
  FNZ_TRY(__real_fnzi_pln_arrange(ctx, arena, program, out, order));
  const fnzi_graph *g = fnzi_graph_main(*out);
  size_t last = g->nodes.count - 1;
  if (!wrong.order)
    return FNZ_OK;
  SWAP(fnzi_node, g->nodes.data, 0, last);
  SWAP(uint32_t, order->origins, 0, last);
  SWAP(bool, order->points, 0, last);
  return FNZ_OK;
}

fnz_status __wrap_fnzi_pln_make(fnz_context *ctx, const fnz_program *program,
                                const fnzi_pln_policy *policy, fnzi_pln_plan *out) {
  FNZ_TRY(__real_fnzi_pln_make(ctx, program, policy, out));
  if (wrong.plan)
    SWAP(fnzi_pln_step, out->steps.data, 0, out->steps.count - 1);
  return FNZ_OK;
}

/* --- Runs ------------------------------------------------------------------------------------- */
static const char text[] =
    "fnz 1\nprogram(%c: f32[4,4] buffer \"c\" persistent, %x: f32[4,4], %i: i64[1])\n{\n"
    "  %a: f32[4,4] = mul.Tensor(%x, %x)\n  %b: f32[4,4] = add.Tensor(%a, %x)\n"
    "  %m: f32[4,4] = mm(%b, %x)\n  %r: f32[1,4] = slice.Tensor(%m, 0, 0, 1)\n"
    "  %n: f32[4,4] = index_copy_(%c, 0, %i, %r)\n  %s: f32[4,4] = sub.Tensor(%m, %a)\n"
    "  %t: f32[4,4] = tanh(%s)\n  return %t\n}\n";

static fnz_arrays *inputs_of(fnz_context *ctx) {
  static const char *const names[] = {"x", "buffer.c"};
  fnz_arrays *inputs;
  void *data;
  OK(ctx, fnz_arrays_create(ctx, &inputs));
  for (int k = 0; k < 2; k++) {
    OK(ctx, fnz_arrays_add(inputs, names[k], FNZ_F32, 2, (const int64_t[]){4, 4}, &data));
    for (int i = 0; i < 16; i++)
      ((float *)data)[i] = (float)(i * 7 % 11 - 5 + k) * 0.125f;
  }
  OK(ctx, fnz_arrays_add(inputs, "i", FNZ_I64, 1, (const int64_t[]){1}, &data));
  *(int64_t *)data = 2;
  return inputs;
}

/* Steps of the run, without a state. */
static size_t run_like_interpreter(fnz_context *ctx, const fnz_program *p,
                                   const fnz_executable *exe) {
  fnz_arrays *inputs = inputs_of(ctx), *want, *have;
  fnz_workspace *ws;
  fnz_backend *cpu;
  size_t steps;
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_arrays_create(ctx, &want));
  OK(ctx, fnz_arrays_create(ctx, &have));
  OK(ctx, fnz_workspace_create(ctx, exe, &ws));
  fnz_workspace_take_times(ws, true);
  OK(ctx, fnz_run(ctx, p, cpu, inputs, NULL, want));
  OK(ctx, fnz_executable_run_arrays(ctx, exe, inputs, NULL, ws, have));
  (void)fnz_workspace_times(ws, &steps);
  ck_assert_uint_eq(fnz_arrays_count(want), 2);
  ck_assert_uint_eq(fnz_arrays_count(have), 2);
  for (size_t k = 0; k < 2; k++) {
    const fnz_array *a = fnz_arrays_at(want, k), *b = fnz_arrays_at(have, k);
    ck_assert_str_eq(a->name, b->name);
    ck_assert_uint_eq(a->bytes, b->bytes);
    ck_assert_mem_eq(a->data, b->data, a->bytes);
  }
  fnz_workspace_destroy(ws);
  fnz_backend_destroy(cpu);
  fnz_arrays_destroy(want);
  fnz_arrays_destroy(have);
  fnz_arrays_destroy(inputs);
  return steps;
}

/* A state in memory of its own gets the same final value. */
static void run_with_state(fnz_context *ctx, const fnz_executable *exe) {
  float c[16] = {0}, t[16], want[16];
  int64_t i = 2;
  static const int64_t sizes[] = {4, 4}, strides[] = {4, 1}, one[] = {1};
  static const fnz_geometry square = {.dtype = FNZ_F32,
                                      .rank = 2,
                                      .sizes = sizes,
                                      .strides = strides},
                            index = {.dtype = FNZ_I64, .rank = 1, .sizes = one, .strides = one};
  fnz_arrays *inputs = inputs_of(ctx), *have;
  fnz_executable_state *state;
  const fnz_memory memory = {c, NULL},
                   in[] = {{(void *)(uintptr_t)fnz_arrays_find(inputs, "x")->data, &square},
                           {&i, &index}};
  fnz_memory out[] = {{t, NULL}, {NULL, NULL}};
  OK(ctx, fnz_arrays_create(ctx, &have));
  OK(ctx, fnz_executable_run_arrays(ctx, exe, inputs, NULL, NULL, have));
  memcpy(want, fnz_arrays_find(have, "buffer.c")->data, sizeof want);
  memcpy(c, fnz_arrays_find(inputs, "buffer.c")->data, sizeof c);
  OK(ctx, fnz_executable_state_over(ctx, exe, &memory, &state));
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = out, .state = state};
  OK(ctx, fnz_executable_run(ctx, exe, &run));
  ck_assert_mem_eq(c, want, sizeof want);
  ck_assert_mem_eq(t, fnz_arrays_find(have, "output.0")->data, sizeof t);
  fnz_executable_state_destroy(state);
  fnz_arrays_destroy(have);
  fnz_arrays_destroy(inputs);
}

/* How many steps a run has. With `check`, a wrong plan is an internal error instead. */
static size_t run_wrong(bool order, bool plan) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_context *ctx;
  fnz_program *traced, *p;
  fnz_executable *exe;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_program_read(ctx, text, sizeof text - 1, FNZ_FORMAT_TEXT, &traced));
  OK(ctx, fnz_functionalize(ctx, traced, NULL, &p));
  wrong.order = order;
  wrong.plan = plan;
  options.check = true;
  options.threads = 1;
  if (order || plan)
    FAILS(ctx, "INTERNAL", fnz_compile(ctx, p, &options, &exe));
  options.check = false;
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  size_t steps = run_like_interpreter(ctx, p, exe);
  run_with_state(ctx, exe);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  fnz_program_destroy(traced);
  fnz_context_destroy(ctx);
  return steps;
}

START_TEST(a_wrong_order_is_left) {
  ck_assert_uint_gt(run_wrong(true, false), run_wrong(false, false));
}
END_TEST

START_TEST(a_wrong_plan_is_left) {
  ck_assert_uint_gt(run_wrong(false, true), run_wrong(true, false));
}
END_TEST

START_TEST(both_are_left) {
  ck_assert_uint_eq(run_wrong(true, true), run_wrong(false, true));
}
END_TEST

/* Nodes that have nothing to do with each other, but for the generator. */
static const char draws[] = "fnz 1\nprogram()\n{\n  %a: f32[4] = rand([4])\n"
                            "  %b: f32[4] = randn([4])\n  return %a, %b\n}\n";

static void draw_wrong(bool order, bool plan) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_context *ctx;
  fnz_arrays *inputs;
  fnz_program *p;
  fnz_executable *exe;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_program_read(ctx, draws, sizeof draws - 1, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_arrays_create(ctx, &inputs));
  wrong.order = order;
  wrong.plan = plan;
  options.check = true;
  if (order || plan)
    FAILS(ctx, "INTERNAL", fnz_compile(ctx, p, &options, &exe));
  options.check = false;
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  OK(ctx, fnz_executable_verify(ctx, exe, inputs));
  fnz_executable_destroy(exe);
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}

START_TEST(random_nodes_stay_in_order) {
  draw_wrong(false, false);
  draw_wrong(true, false);
  draw_wrong(false, true);
}
END_TEST

RUN_SUITE("engine, fallback", a_wrong_order_is_left, a_wrong_plan_is_left, both_are_left,
          random_nodes_stay_in_order)
