/* checks: 13
 * engine_fold_test.c - values that depend on weights alone are computed when a program is compiled;
 * runs that replace a weight, and weights of the state, are not taken for constant. */
#include "engine/engine.h"
#include "tests/engine/engine_help.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <stdio.h>

#define PRODUCT                                                                                    \
  "  %s: f32[4] = mul.Tensor(%a, %b)\n  %u: f32[4] = add.Tensor(%x, %s)\n  return %u\n"

enum { SIZE = 4 };

static float weights[2][SIZE];
static const int64_t sizes[] = {SIZE, 1};
static const fnz_geometry layout = {
    .dtype = FNZ_F32, .rank = 1, .sizes = &sizes[0], .strides = &sizes[1]};

/* A functional program of an input x and the weights a and b, which this file holds. `symbols`: of
 * the first line. */
static fnz_program *read_sized(const char *symbols, const char *x, const char *nodes) {
  char text[1024];
  fnz_program *traced;
  snprintf(text, sizeof text,
           "fnz 1%s\nweight \"a\": f32[4]\nweight \"b\": f32[4]\nprogram(%%a: f32[4] buffer "
           "\"a\" persistent, %%b: f32[4] buffer \"b\" persistent, %%x: %s)\n{\n%s}\n",
           symbols, x, nodes);
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &traced));
  fnz_weight_loan loans[2] = {{"a", &layout, weights[0], sizeof weights[0], NULL, NULL},
                              {"b", &layout, weights[1], sizeof weights[1], NULL, NULL}};
  for (int i = 0; i < SIZE; i++)
    weights[0][i] = (float)i - 1.5f, weights[1][i] = 3 + (float)i;
  OK(ctx, fnz_program_lend_weights(ctx, traced, loans, 2));
  return functional_of(ctx, traced);
}

static fnz_program *read_with_weights(const char *nodes) {
  return read_sized("", "f32[4]", nodes);
}

static void add(fnz_arrays *arrays, const char *name, float first) {
  void *data;
  OK(ctx, fnz_arrays_add(arrays, name, FNZ_F32, 1, sizes, &data));
  for (int i = 0; i < SIZE; i++)
    ((float *)data)[i] = first + (float)i;
}

/* Inputs: x, and weights in place of the program's. */
static fnz_arrays *give(bool a, bool b) {
  fnz_arrays *inputs;
  OK(ctx, fnz_arrays_create(ctx, &inputs));
  add(inputs, "x", 10);
  if (a)
    add(inputs, "a", 20);
  if (b)
    add(inputs, "b", 40);
  return inputs;
}

static float first_output(const fnz_executable *exe, fnz_arrays *inputs,
                          fnz_executable_state *state) {
  fnz_arrays *outputs;
  OK(ctx, fnz_arrays_create(ctx, &outputs));
  OK(ctx, fnz_executable_run_arrays(ctx, exe, inputs, state, NULL, outputs));
  float found = *(const float *)fnz_arrays_find(outputs, "output.0")->data;
  fnz_arrays_destroy(outputs);
  fnz_arrays_destroy(inputs);
  return found;
}

/* A program and its executable, and how many values that has computed. */
typedef struct made {
  fnz_program *p;
  fnz_executable *exe;
  uint32_t count;
} made;

static made made_of(fnz_program *p) {
  made m = {.p = p};
  m.exe = compile(ctx, m.p);
  m.count = m.exe->ninputs - fnzi_graph_main(m.p)->ninputs;
  ck_assert(!m.exe->folded == !m.count);
  return m;
}

static made make(const char *nodes) {
  return made_of(read_with_weights(nodes));
}

static void end_made(made *m) {
  fnz_executable_destroy(m->exe);
  fnz_program_destroy(m->p);
}

static uint32_t folded(const char *nodes) {
  made m = make(nodes);
  end_made(&m);
  return m.count;
}

/* It must agree with the interpreter, with each choice of weights. */
static void verify_all(const made *m) {
  for (int given = 0; given < 4; given++) {
    fnz_arrays *inputs = give(given & 1, given & 2);
    OK(ctx, fnz_executable_verify(ctx, m->exe, inputs));
    fnz_arrays_destroy(inputs);
  }
}

static uint32_t folded_rightly(const char *nodes) {
  made m = make(nodes);
  verify_all(&m);
  end_made(&m);
  return m.count;
}

/* --- Which values
 * -------------------------------------------------------------------------------
 */
START_TEST(values_of_weights_alone_are_computed_once) {
  begin();
  /* two are read by others */
  ck_assert_uint_eq(folded_rightly("  %s: f32[4] = mul.Tensor(%a, %b)\n  %t: f32[4] = exp(%s)\n"
                                   "  %u: f32[4] = add.Tensor(%x, %t)\n  %v: f32[4] = sin(%t)\n"
                                   "  return %u, %v\n"),
                    2);
  /* one: its operand is not needed, nor is an assertion about that */
  ck_assert_uint_eq(folded_rightly("  %n: f32[4] = arange(4, dtype=f32)\n"
                                   "  _assert_tensor_metadata(%n, None, None, f32)\n"
                                   "  %s: f32[4] = mul.Tensor(%n, %b)\n"
                                   "  %u: f32[4] = add.Tensor(%x, %s)\n  return %u\n"),
                    1);
  /* a view of a computed value is a view, and so is an expanded one */
  ck_assert_uint_eq(folded_rightly("  %s: f32[4] = neg(%a)\n  %w: f32[2,2] = view(%s, [2, 2])\n"
                                   "  %t: f32[2,2] = t(%w)\n  %y: f32[2,2] = view(%x, [2, 2])\n"
                                   "  %u: f32[2,2] = mm(%y, %t)\n  return %u\n"),
                    1);
  end();
}
END_TEST

START_TEST(views_and_repeated_numbers_stay) {
  begin();
  ck_assert_uint_eq(
      folded_rightly("  %w: f32[2,2] = view(%a, [2, 2])\n  %t: f32[2,2] = t(%w)\n"
                     "  %c: f32[2,2] = clone(%t)\n  %z: f32[2,2] = zeros([2, 2])\n"
                     "  %y: f32[2,2] = view(%x, [2, 2])\n  %u: f32[2,2] = mm(%y, %c)\n"
                     "  %v: f32[2,2] = add.Tensor(%u, %z)\n  return %v\n"),
      0);
  end();
}
END_TEST

START_TEST(random_numbers_are_drawn_in_each_run) {
  begin();
  ck_assert_uint_eq(folded("  %r: f32[4] = rand_like(%a)\n"
                           "  %u: f32[4] = add.Tensor(%x, %r)\n  return %u\n"),
                    0);
  end();
}
END_TEST

/* 2^28 elements of f32 are 1 GiB. */
START_TEST(large_values_stay) {
  begin();
  ck_assert_uint_eq(folded("  %e: f32[67108864,4] = expand(%a, [67108864, 4])\n"
                           "  %s: f32[67108864,4] = exp(%e)\n  %v: f32[4] = neg(%b)\n"
                           "  %w: f32[67108864,4] = add.Tensor(%s, %x)\n  return %v, %w\n"),
                    1);
  end();
}
END_TEST

/* --- Sizes ------------------------------------------------------------------------------------ */
static void check_sized(const char *symbols, const char *x, const char *nodes, uint32_t count) {
  made m = made_of(read_sized(symbols, x, nodes));
  ck_assert_uint_eq(m.count, count);
  verify_all(&m);
  end_made(&m);
}

START_TEST(sizes_of_inputs_may_be_symbols) {
  begin();
  check_sized(" symbol s0 = 6", "f32[{s0}]",
              "  %e: f32[4] = exp(%a)\n  %m: f32[4] = mul.Tensor(%e, %b)\n"
              "  %q: f32[] = sum(%m)\n  %y: f32[{s0}] = mul.Tensor(%x, %q)\n"
              "  return %y, %m\n",
              2);
  end();
}
END_TEST

START_TEST(data_may_decide_sizes) {
  begin();
  check_sized("\nsymbol u0", "f32[4]",
              "  %i: i64[{u0: 4},1] = nonzero(%x)\n  %n: f32[4] = neg(%a)\n"
              "  %y: f32[4] = add.Tensor(%x, %n)\n  return %i, %y\n",
              1);
  end();
}
END_TEST

/* --- What may change
 * -----------------------------------------------------------------------------
 */
START_TEST(a_replaced_weight_counts) {
  begin();
  made m = make(PRODUCT);
  ck_assert_uint_eq(m.count, 1);
  for (int round = 0; round < 3; round++) {
    ck_assert(first_output(m.exe, give(false, false), NULL) == 10 - 4.5f);
    ck_assert(first_output(m.exe, give(true, false), NULL) == 10 + 20 * 3);
    ck_assert(first_output(m.exe, give(true, true), NULL) == 10 + 20 * 40);
  }
  end_made(&m);
  end();
}
END_TEST

START_TEST(the_state_is_not_constant) {
  begin();
  made m = make("  %n: f32[4] = add_.Scalar(%a, 1)\n  %s: f32[4] = mul.Tensor(%n, %b)\n"
                "  %t: f32[4] = neg(%b)\n  %u: f32[4] = add.Tensor(%x, %s)\n  return %u, %t\n");
  fnz_executable_state *state;
  ck_assert_uint_eq(m.count, 1); /* -b */
  OK(ctx, fnz_executable_state_create(ctx, m.exe, &state));
  ck_assert(first_output(m.exe, give(false, false), state) == 10 - 0.5f * 3);
  ck_assert(first_output(m.exe, give(false, false), state) == 10 + 0.5f * 3);
  fnz_executable_state_destroy(state);
  end_made(&m);
  end();
}
END_TEST

/* Another program writes it. */
START_TEST(what_the_state_holds_is_not_constant) {
  begin();
  static const char *const held[] = {"a"};
  fnz_program *p = read_with_weights("  %s: f32[4] = neg(%a)\n"
                                     "  %u: f32[4] = add.Tensor(%x, %s)\n  return %u\n");
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable_state *state;
  fnz_executable *exe;
  options.held = held;
  options.nheld = 1;
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  ck_assert_ptr_null(exe->folded);
  OK(ctx, fnz_executable_state_create(ctx, exe, &state));
  *(float *)fnz_executable_state_find(state, "a").data = 7;
  ck_assert(first_output(exe, give(false, false), state) == 3);
  fnz_executable_state_destroy(state);
  fnz_executable_destroy(exe);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* --- Weights in narrow types ------------------------------------------------------------------ */
enum { WIDE = 48, DEEP = 70, MOST_ROWS = 40 };

/* A program of x, `rows` times DEEP of the type `dtype`, and of the bytes w, WIDE rows of DEEP. */
static made make_narrow(const char *dtype, int rows, const char *nodes) {
  static int8_t bytes[WIDE * DEEP];
  static const int64_t shape[] = {WIDE, DEEP, DEEP, 1};
  static const fnz_geometry dense = {
      .dtype = FNZ_I8, .rank = 2, .sizes = shape, .strides = shape + 2};
  char text[1024];
  fnz_program *traced;
  int size = snprintf(text, sizeof text,
                      "fnz 1\nweight \"w\": i8[%d,%d]\nprogram(%%w: i8[%d,%d] buffer \"w\" "
                      "persistent, %%x: %s[%d,%d])\n{\n%s}\n",
                      WIDE, DEEP, WIDE, DEEP, dtype, rows, DEEP, nodes);
  ck_assert_int_lt(size, (int)sizeof text);
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &traced));
  fnz_weight_loan loan = {"w", &dense, bytes, sizeof bytes, NULL, NULL};
  for (int i = 0; i < WIDE * DEEP; i++)
    bytes[i] = (int8_t)(i * 37);
  OK(ctx, fnz_program_lend_weights(ctx, traced, &loan, 1));
  return made_of(functional_of(ctx, traced));
}

/* x of numbers that no sum is exact of, which verify() draws when `inputs` is NULL. */
static void check_narrow(const char *dtype, int rows, const char *nodes, fnz_dtype in_memory) {
  made m = make_narrow(dtype, rows, nodes);
  const fnzi_stp_input *last = &m.exe->inputs[m.exe->ninputs - 1];
  ck_assert_uint_eq(m.count, 1);
  ck_assert_int_eq((int)last->weight->geometry->dtype, (int)in_memory);
  OK(ctx, fnz_executable_verify(ctx, m.exe, NULL));
  end_made(&m);
}

START_TEST(products_read_weights_as_they_are_stored) {
  begin();
  for (int rows = 1; rows <= MOST_ROWS; rows += 13) {
    char nodes[512];
    snprintf(nodes, sizeof nodes,
             "  %%f: f32[48,70] = _to_copy(%%w, dtype=f32)\n  %%t: f32[70,48] = t(%%f)\n"
             "  %%m: f32[%d,48] = mm(%%x, %%t)\n  %%y: f32[%d,48] = linear(%%x, %%f)\n"
             "  return %%m, %%y\n",
             rows, rows);
    check_narrow("f32", rows, nodes, FNZ_I8);
    snprintf(nodes, sizeof nodes,
             "  %%f: bf16[48,70] = _to_copy(%%w, dtype=bf16)\n"
             "  %%y: bf16[%d,48] = linear(%%x, %%f)\n  return %%y\n",
             rows);
    check_narrow("bf16", rows, nodes, FNZ_I8);
  }
  end();
}
END_TEST

/* The first factor, and one that something else reads. */
START_TEST(other_readers_get_converted_weights) {
  begin();
  check_narrow("f32", 48,
               "  %f: f32[48,70] = _to_copy(%w, dtype=f32)\n  %t: f32[70,48] = t(%x)\n"
               "  %m: f32[48,48] = mm(%f, %t)\n  return %m\n",
               FNZ_F32);
  check_narrow("f32", 48,
               "  %f: f32[48,70] = _to_copy(%w, dtype=f32)\n"
               "  %y: f32[48,48] = linear(%x, %f)\n"
               "  %z: f32[48,70] = add.Tensor(%x, %f)\n  return %y, %z\n",
               FNZ_F32);
  end();
}
END_TEST

/* An index out of bounds is the error of a run, whose place it has. */
START_TEST(a_node_that_fails_does_so_in_a_run) {
  begin();
  made m = make("  %i: i64[1] = full([1], 9, dtype=i64)\n"
                "  %s: f32[1] = index_select(%a, 0, %i)\n"
                "  %u: f32[4] = add.Tensor(%x, %s)\n  return %u\n");
  fnz_arrays *inputs = give(false, false), *outputs;
  ck_assert_uint_eq(m.count, 0);
  OK(ctx, fnz_arrays_create(ctx, &outputs));
  FAILS(ctx, "BOUNDS", fnz_executable_run_arrays(ctx, m.exe, inputs, NULL, NULL, outputs));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->where, "index_select"));
  fnz_arrays_destroy(inputs);
  fnz_arrays_destroy(outputs);
  end_made(&m);
  end();
}
END_TEST

static fnz_status compile_again(fnz_context *c, const void *user) {
  fnz_executable *exe;
  fnz_status status = fnz_compile(c, user, NULL, &exe);
  if (status == FNZ_OK)
    ck_assert_ptr_nonnull(exe->folded);
  fnz_executable_destroy(exe);
  return status;
}

START_TEST(nothing_is_lost_without_memory) {
  begin();
  fnz_program *p = read_with_weights(PRODUCT);
  ck_assert_uint_gt(each_fault(compile_again, p), 20);
  fnz_program_destroy(p);
  end();
}
END_TEST

RUN_SUITE("engine_fold", values_of_weights_alone_are_computed_once, views_and_repeated_numbers_stay,
          random_numbers_are_drawn_in_each_run, large_values_stay, sizes_of_inputs_may_be_symbols,
          data_may_decide_sizes, a_replaced_weight_counts, the_state_is_not_constant,
          what_the_state_holds_is_not_constant, a_node_that_fails_does_so_in_a_run,
          products_read_weights_as_they_are_stored, other_readers_get_converted_weights,
          nothing_is_lost_without_memory)
