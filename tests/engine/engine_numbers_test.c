/* checks: 9
 * engine_numbers_test.c - numbers that data decide, as operands of steps: the engine against the
 * interpreter, over random programs, and what few programs must become. */
#include "base/watched.h"
#include "engine/engine.h"
#include "soak/numbers.h"
#include "soak/programs.h"
#include "tests/engine/engine_help.h"

#include <stdio.h>

typedef struct tally {
  size_t run, applied, groups;
} tally;

/* How many steps are the interpreter's although they take a number, and how many bindings have
 * groups that do. */
static void count_steps(const fnz_executable *exe, fnz_context *ctx, tally *t) {
  fnz_workspace *ws;
  OK(ctx, fnzi_eng_workspace_take(exe, ctx, &ws));
  for (size_t i = 0; i < ws->bindings.count; i++) {
    const fnzi_stp_binding *b = ws->bindings.data[i];
    for (size_t k = 0; k < b->thunks.count; k++) {
      const fnzi_node *node = b->thunks.data[k].node == FNZI_PLN_NONE
                                  ? NULL
                                  : fnzi_node_at(b->program, 0, b->thunks.data[k].node);
      t->applied += node && b->thunks.data[k].kind == FNZI_STP_THUNK_INTERPRET &&
                    fnzi_pln_has_scalar_arguments(fnzi_graph_main(b->program), node);
    }
    t->groups += b->scalar_cells.bytes > 0;
  }
  fnzi_eng_workspace_give(exe, ws);
}

static void verify_random(fnz_context *ctx, unsigned seed, tally *t) {
  static choices c;
  fnz_buffer text = {0};
  fnz_program *traced, *p = NULL;
  fnz_arrays *inputs = NULL;
  choices_start(&c, 1, seed);
  OK(ctx, fnzi_numbers_text(ctx, &c, false, &text));
  fnz_status status = fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &traced);
  ck_assert_msg(status == FNZ_OK, "seed %u: %s\n%.*s", seed, fnz_last_error(ctx)->message,
                (int)text.size, text.data);
  OK(ctx, fnz_functionalize(ctx, traced, NULL, &p));
  OK(ctx, fnzi_random_inputs(ctx, traced, seed, &inputs));
  fnz_executable *exe = compile(ctx, p);
  status = fnz_executable_verify(ctx, exe, inputs);
  bool is_fine = status == FNZ_OK;
  t->run += is_fine;
  if (!is_fine)
    fprintf(stderr, "program %u: %s\n", seed, fnz_last_error(ctx)->message);
  ck_assert_msg(is_fine, "seed %u: %s: %s\n%.*s", seed, fnz_last_error(ctx)->where,
                fnz_last_error(ctx)->message, (int)text.size, text.data);
  count_steps(exe, ctx, t);
  fnz_executable_destroy(exe);
  fnz_arrays_destroy(inputs);
  fnz_program_destroy(p);
  fnz_program_destroy(traced);
  fnz_buffer_free(ctx, &text);
}

START_TEST(random_numbers_have_the_interpreters_bits) {
  const char *given = getenv("FNZ_PROGRAMS");
  unsigned most = given ? (unsigned)atoi(given) : FNZI_WATCHED ? 100 : 400;
  fnz_context *ctx;
  tally t = {0};
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (unsigned seed = 0; seed < most; seed++)
    verify_random(ctx, seed, &t);
  printf("%zu programs; %zu plans have groups that take numbers; %zu nodes applied\n", t.run,
         t.groups, t.applied);
  ck_assert_uint_gt(t.groups, t.run);
  ck_assert_uint_lt(t.applied, 4 + t.run / 8); /* eager takes no truth as a factor of floats */
  fnz_context_destroy(ctx);
}
END_TEST

/* --- A few ------------------------------------------------------------------------------------ */
typedef struct setup {
  fnz_context *ctx;
  fnz_program *p;
  fnz_executable *exe;
  fnz_workspace *ws;
} setup;

static const int64_t four[] = {4}, dense[] = {1};
static const fnz_geometry row = {.dtype = FNZ_F32, .rank = 1, .sizes = four, .strides = dense},
                          count = {.dtype = FNZ_I64};

static setup open_setup(const char *text) {
  setup s;
  ck_assert_int_eq(fnz_context_create(NULL, &s.ctx), FNZ_OK);
  s.p = read_functional(s.ctx, text);
  s.exe = compile(s.ctx, s.p);
  OK(s.ctx, fnz_workspace_create(s.ctx, s.exe, &s.ws));
  return s;
}

static void close_setup(setup *s) {
  fnz_workspace_destroy(s->ws);
  fnz_executable_destroy(s->exe);
  fnz_program_destroy(s->p);
  fnz_context_destroy(s->ctx);
}

static fnz_needs needs_of(const setup *s, const fnz_execution *run) {
  fnz_needs needs = FNZ_NEEDS_INIT;
  OK(s->ctx, fnz_executable_get_needs(s->ctx, s->exe, run, &needs));
  return needs;
}

/* A step that waits for a number is one group with other steps that wait for it. */
START_TEST(a_group_reads_the_number_of_its_run) {
  setup s = open_setup("fnz 1\nsymbol u0\nprogram(%x: f32[4], %n: i64[])\n{\n"
                       "  %a: f32[4] = neg(%x)\n  %u: sym{u0} = item(%n)\n"
                       "  %b: f32[4] = mul.Scalar(%a, %u)\n"
                       "  %c: f32[4] = add.Tensor(%b, %x, alpha=%u)\n"
                       "  %d: f32[4] = clamp(%c, -7, %u)\n  return %d\n}\n");
  float x[] = {1, 2, 3, 4};
  int64_t n;
  const fnz_memory in[] = {{x, &row}, {&n, &count}};
  fnz_memory out = {NULL, NULL};
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = &out, .workspace = s.ws};
  for (n = -3; n < 4; n++) {
    OK(s.ctx, fnz_executable_run(s.ctx, s.exe, &run));
    for (int i = 0; i < 4; i++) {
      float u = (float)n, c = -x[i] * u + u * x[i], low = c < -7 ? -7 : c;
      ck_assert_float_eq(((const float *)out.data)[i], low > u ? u : low);
    }
  }
  fnz_needs needs = needs_of(&s, &run);
  ck_assert_uint_eq(needs.interpreted, 1);
  ck_assert_uint_eq(needs.steps, 2);
  close_setup(&s);
}
END_TEST

/* Items of lists with a number each are one program over as many operand sets. */
START_TEST(items_have_numbers_of_their_own) {
  setup s = open_setup("fnz 1\nsymbol u0\nsymbol u1\n"
                       "program(%x: f32[4], %y: f32[4], %n: i64[], %m: i64[])\n{\n"
                       "  %u: sym{u0} = item(%n)\n  %v: sym{u1} = item(%m)\n"
                       "  [%a: f32[4], %b: f32[4]] = _foreach_addcdiv.ScalarList([%x, %y], [%y, "
                       "%x], [%x, %y], [%u, %v])\n  return %a, %b\n}\n");
  float x[] = {1, 2, 4, 8}, y[] = {8, 4, 2, 1};
  int64_t n = 3, m = 5;
  const fnz_memory in[] = {{x, &row}, {y, &row}, {&n, &count}, {&m, &count}};
  fnz_memory out[] = {{NULL, NULL}, {NULL, NULL}};
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = out, .workspace = s.ws};
  OK(s.ctx, fnz_executable_run(s.ctx, s.exe, &run));
  for (int i = 0; i < 4; i++) {
    ck_assert_float_eq(((const float *)out[0].data)[i], x[i] + 3 * (y[i] / x[i]));
    ck_assert_float_eq(((const float *)out[1].data)[i], y[i] + 5 * (x[i] / y[i]));
  }
  ck_assert_uint_eq(needs_of(&s, &run).interpreted, 2);
  ck_assert_uint_eq(s.ws->bindings.data[0]->plan.steps.data[2].sets, 2);
  close_setup(&s);
}
END_TEST

/* A call whose kernel asks what the number is refuses it in the run, as the interpreter does. */
START_TEST(calls_ask_what_their_numbers_are) {
  setup s = open_setup("fnz 1\nsymbol u0\nprogram(%x: f32[4], %n: i64[])\n{\n"
                       "  %u: sym{u0} = item(%n)\n  %a: f32[4] = pow.Tensor_Scalar(%x, %u)\n"
                       "  %i: i64[] = remainder.Scalar(%n, %u)\n"
                       "  %f: i64[2] = full([2], %u)\n  return %a, %i, %f\n}\n");
  float x[] = {1, 2, 3, 4};
  int64_t n;
  const fnz_memory in[] = {{x, &row}, {&n, &count}};
  fnz_memory out[3] = {{NULL, NULL}};
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = out, .workspace = s.ws};
  for (n = 3; n >= 0; n--) {
    fnz_status status = fnz_executable_run(s.ctx, s.exe, &run);
    if (n == 0) {
      ck_assert_int_ne(status, FNZ_OK);
      ck_assert_int_eq(fnz_last_error(s.ctx)->kind, FNZ_CLASS_BOUNDS);
      ck_assert_ptr_nonnull(strstr(fnz_last_error(s.ctx)->message, "division by zero"));
      continue;
    }
    OK(s.ctx, status);
    for (int i = 0; i < 4; i++)
      ck_assert_float_eq(((const float *)out[0].data)[i], n == 3   ? x[i] * x[i] * x[i]
                                                          : n == 2 ? x[i] * x[i]
                                                                   : x[i]);
    ck_assert_int_eq(*(const int64_t *)out[1].data, 0);
    ck_assert_int_eq(((const int64_t *)out[2].data)[1], n);
  }
  n = 1;
  OK(s.ctx, fnz_executable_run(s.ctx, s.exe, &run));
  ck_assert_uint_eq(needs_of(&s, &run).interpreted, 1);
  close_setup(&s);
}
END_TEST

/* A group refuses it too, with the name of the node, though the number is known after another
 * step. */
START_TEST(groups_refuse_numbers_as_calls_do) {
  setup s = open_setup("fnz 1\nsymbol u0\nprogram(%x: u8[4], %n: i64[])\n{\n"
                       "  %u: sym{u0} = item(%n)\n  %t: bool[4] = gt.Scalar(%x, 2)\n"
                       "  %a: u8[4] = masked_fill.Scalar(%x, %t, %u)\n"
                       "  %b: u8[4] = add.Scalar(%a, 1)\n  return %b\n}\n");
  const fnz_geometry bytes = {.dtype = FNZ_U8, .rank = 1, .sizes = four, .strides = dense};
  uint8_t x[] = {1, 2, 3, 4};
  int64_t n = 255;
  const fnz_memory in[] = {{x, &bytes}, {&n, &count}};
  fnz_memory out = {NULL, NULL};
  const fnz_execution run = {.size = sizeof run, .inputs = in, .outputs = &out, .workspace = s.ws};
  OK(s.ctx, fnz_executable_run(s.ctx, s.exe, &run));
  ck_assert_uint_eq(((const uint8_t *)out.data)[1], 3);
  ck_assert_uint_eq(((const uint8_t *)out.data)[2], 0);
  n = 256;
  FAILS(s.ctx, "OVERFLOW", fnz_executable_run(s.ctx, s.exe, &run));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(s.ctx)->where, "masked_fill"));
  close_setup(&s);
}
END_TEST

/* Beside sizes that data decide. */
START_TEST(sizes_of_data_are_numbers_too) {
  setup s = open_setup("fnz 1\nsymbol u0\nrange u0 0..4\nprogram(%x: f32[4])\n{\n"
                       "  %z: i64[{u0},1] stride(1,{u0}) = nonzero(%x)\n"
                       "  %u: sym{u0} = sym_size.int(%z, 0)\n"
                       "  %a: f32[4] = div.Scalar(%x, %u)\n  %b: f32[4] = neg(%a)\n"
                       "  return %b, %z\n}\n");
  float x[] = {1, 0, 3, 4};
  const fnz_memory in = {x, &row};
  fnz_memory out[2] = {{NULL, NULL}};
  const fnz_execution run = {.size = sizeof run, .inputs = &in, .outputs = out, .workspace = s.ws};
  for (int k = 0; k < 2; k++, x[1] = 2) {
    out[1] = (fnz_memory){NULL, NULL}; /* of another size */
    OK(s.ctx, fnz_executable_run(s.ctx, s.exe, &run));
    for (int i = 0; i < 4; i++)
      ck_assert_float_eq(((const float *)out[0].data)[i], -(x[i] / (k ? 4.0f : 3.0f)));
  }
  ck_assert_uint_eq(needs_of(&s, &run).interpreted, 2);
  close_setup(&s);
}
END_TEST

/* --- The checker ------------------------------------------------------------------------------ */
/* Kinds are given away; a node comes before its number. */
START_TEST(the_checker_proves_kinds_and_numbers) {
  setup s = open_setup("fnz 1\nsymbol u0\nprogram(%x: f32[4], %n: i64[])\n{\n"
                       "  %u: sym{u0} = item(%n)\n  %a: f32[4] = mul.Scalar(%x, %u)\n"
                       "  %b: f32[4] = exp(%x)\n  %c: f32[4] = mul.Scalar(%x, 2)\n"
                       "  return %a, %b, %c\n}\n");
  const fnz_program *marked, *arranged;
  fnzi_pln_policy policy = {.state = true};
  fnzi_pln_plan plan = {0};
  fnzi_arena arena;
  fnzi_arena_init(&arena, s.ctx);
  OK(s.ctx, fnzi_pln_scalars_mark(s.ctx, &arena, s.p, &marked));
  OK(s.ctx, fnzi_pln_arrange(s.ctx, &arena, marked, &arranged, &policy.order));
  OK(s.ctx, fnzi_pln_arrange_check(s.ctx, marked, arranged, &policy.order));
  OK(s.ctx, fnzi_pln_make(s.ctx, arranged, &policy, &plan));
  OK(s.ctx, fnzi_pln_check(s.ctx, &plan));
  for (uint32_t n = 0; n + 1 < fnz_node_count(arranged, 0); n++) {
    uint32_t had = plan.kinds.by_node[n];
    plan.kinds.by_node[n] = plan.kinds.by_node[n + 1];
    FAILS(s.ctx, "INTERNAL", fnzi_pln_check(s.ctx, &plan));
    plan.kinds.by_node[n] = plan.kinds.count;
    FAILS(s.ctx, "INTERNAL", fnzi_pln_check(s.ctx, &plan));
    plan.kinds.by_node[n] = had;
  }
  fnzi_node *nodes = fnzi_graph_main(arranged)->nodes.data, first = nodes[0];
  uint32_t *origins = (uint32_t *)(uintptr_t)policy.order.origins, origin = origins[0];
  ck_assert(fnzi_op_is_item(first.op));
  nodes[0] = nodes[1];
  nodes[1] = first;
  origins[0] = origins[1];
  origins[1] = origin;
  FAILS(s.ctx, "INTERNAL", fnzi_pln_arrange_check(s.ctx, marked, arranged, &policy.order));
  fnzi_pln_free(s.ctx, &plan);
  fnzi_arena_free(&arena);
  close_setup(&s);
}
END_TEST

/* --- Numbers that come out -------------------------------------------------------------------- */
static const char returned[] =
    "fnz 1\nsymbol s0 = 4\nrange s0 2..\nsymbol u0\nrange u0 ..\nsymbol z0\nsymbol b0\n"
    "program(%x: f32[{s0}], %c: i64[], %f: f64[], %p: bool[])\n{\n"
    "%n: sym{s0} = sym_size.int(%x, 0)\n%g: sym{s0 > 3} = _operator.gt(%n, 3)\n"
    "%h: sym{s0 / 2} = _operator.truediv(%n, 2)\n%k: sym{u0} = item(%c)\n"
    "%z: sym{z0} = item(%f)\n%b: sym{b0} = item(%p)\n%l: sym{u0 < 0} = _operator.lt(%k, 0)\n"
    "%y: f32[{s0}] = neg(%x)\nreturn %n, %g, %h, %k, %z, %b, %l, 7, None, %y\n}\n";

static void see_number(const fnz_memory *out, fnz_dtype dtype, const void *element) {
  ck_assert_ptr_nonnull(out->geometry);
  ck_assert_int_eq(out->geometry->dtype, dtype);
  ck_assert_uint_eq(out->geometry->rank, 0);
  ck_assert_mem_eq(out->data, element, fnz_dtype_get_info(dtype)->bytes);
}

/* By sizes and by data; in memory of the workspace, and of the caller. */
START_TEST(numbers_come_out) {
  setup s = open_setup(returned);
  const float x[4] = {1, 2, 3, 4};
  const int64_t c = -7;
  const double f = 1.25;
  const bool p = true;
  const fnz_geometry real = {.dtype = FNZ_F64}, truth = {.dtype = FNZ_BOOL};
  const fnz_memory inputs[4] = {
      {(void *)x, &row}, {(void *)&c, &count}, {(void *)&f, &real}, {(void *)&p, &truth}};
  const char *const names[9] = {"output.0", "output.1", "output.2", "output.3", "output.4",
                                "output.5", "output.6", "output.7", "output.9"};
  int64_t rooms[8];
  ck_assert_uint_eq(fnz_executable_count(s.exe, FNZ_SIDE_OUTPUT), 9);
  for (size_t k = 0; k < 9; k++) {
    ck_assert_str_eq(fnz_executable_slot(s.exe, FNZ_SIDE_OUTPUT, k).name, names[k]);
    ck_assert(!fnz_executable_slot(s.exe, FNZ_SIDE_OUTPUT, k).geometry == (k < 8));
  }
  for (int own = 0; own < 2; own++) {
    fnz_memory outputs[9] = {{NULL, NULL}};
    for (size_t k = 0; own && k < 8; k++)
      outputs[k].data = &rooms[k];
    const fnz_execution run = {
        .size = sizeof run, .inputs = inputs, .outputs = outputs, .workspace = s.ws};
    OK(s.ctx, fnz_executable_run(s.ctx, s.exe, &run));
    see_number(&outputs[0], FNZ_I64, (const int64_t[]){4});
    see_number(&outputs[1], FNZ_BOOL, (const bool[]){true});
    see_number(&outputs[2], FNZ_F64, (const double[]){2});
    see_number(&outputs[3], FNZ_I64, &c);
    see_number(&outputs[4], FNZ_F64, &f);
    see_number(&outputs[5], FNZ_BOOL, &p);
    see_number(&outputs[6], FNZ_BOOL, (const bool[]){true});
    see_number(&outputs[7], FNZ_I64, (const int64_t[]){7});
    ck_assert_float_eq(((const float *)outputs[8].data)[3], -4);
    ck_assert(!own || outputs[3].data == &rooms[3]);
  }
  close_setup(&s);
}
END_TEST

/* Named arrays, on memory, with gaps: equal to the interpreter's, in its order. */
START_TEST(numbers_are_the_interpreters) {
  setup s = open_setup(returned);
  fnz_arrays *inputs, *outputs;
  OK(s.ctx, fnzi_random_inputs(s.ctx, s.p, 3, &inputs));
  OK(s.ctx, fnz_executable_verify(s.ctx, s.exe, inputs));
  OK(s.ctx, fnz_arrays_create(s.ctx, &outputs));
  OK(s.ctx, fnz_executable_run_arrays(s.ctx, s.exe, inputs, NULL, s.ws, outputs));
  ck_assert_uint_eq(fnz_arrays_count(outputs), 9);
  fnz_arrays_destroy(outputs);
  fnz_arrays_destroy(inputs);
  close_setup(&s);
}
END_TEST

RUN_SUITE("engine_numbers", numbers_come_out, numbers_are_the_interpreters,
          random_numbers_have_the_interpreters_bits, a_group_reads_the_number_of_its_run,
          items_have_numbers_of_their_own, calls_ask_what_their_numbers_are,
          groups_refuse_numbers_as_calls_do, sizes_of_data_are_numbers_too,
          the_checker_proves_kinds_and_numbers)
