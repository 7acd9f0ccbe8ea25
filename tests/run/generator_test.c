/* checks: 9
 * generator_test.c - random numbers: equal to PyTorch's for programs that it exported, by every
 * interpreter and engine of fnz, and their generator. */
#include "base/random.h"
#include "program/program.h"
#include "tests/help/context.h"

#include <fnz/fnz.h>
#include <math.h>
#include <stdio.h>

static const char *const names[] = {"bits_uniforms", "bits_integers", "bits_masks", "bits_windows",
                                    "bits_choices",  "bits_branches", "normals",    "transformer",
                                    "recurrent",     "sampler"};
enum { NAMES = sizeof names / sizeof *names, SEED = 7 };

static fnz_buffer read_file(const char *name, const char *ending) {
  char path[512];
  fnz_buffer file;
  snprintf(path, sizeof path, "%s/fixtures/random/%s%s", FNZ_SOURCE_DIR, name, ending);
  OK(ctx, fnz_file_read(ctx, path, &file));
  return file;
}

static fnz_program *read_source(const char *name) {
  fnz_buffer file = read_file(name, ".pt2");
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, file.data, file.size, FNZ_FORMAT_AUTO, &p));
  fnz_buffer_free(ctx, &file);
  return p;
}

static fnz_arrays *read_arrays(const char *name) {
  fnz_buffer file = read_file(name, ".safetensors");
  fnz_arrays *arrays;
  OK(ctx, fnz_arrays_read_safetensors(ctx, file.data, file.size, &arrays));
  fnz_buffer_free(ctx, &file);
  return arrays;
}

static fnz_arrays *inputs_of(const fnz_arrays *recorded) {
  fnz_arrays *in;
  void *data;
  OK(ctx, fnz_arrays_create(ctx, &in));
  for (size_t i = 0; i < fnz_arrays_count(recorded); i++) {
    const fnz_array *a = fnz_arrays_at(recorded, i);
    if (strncmp(a->name, "input.", 6) != 0)
      continue;
    OK(ctx, fnz_arrays_add(in, a->name + 6, a->dtype, a->rank, a->sizes, &data));
    memcpy(data, a->data, a->bytes);
  }
  return in;
}

static fnz_generator *seeded(uint64_t seed) {
  fnz_generator *g;
  OK(ctx, fnz_generator_create(ctx, seed, &g));
  fnz_context_set_generator(ctx, g);
  return g;
}

static void end_generator(fnz_generator *g) {
  fnz_context_set_generator(ctx, NULL);
  fnz_generator_destroy(g);
}

/* --- Against PyTorch -------------------------------------------------------------------------- */
static double number_at(const fnz_array *a, size_t i) {
  if (a->dtype == FNZ_C64)
    return (double)((const float *)a->data)[i];
  if (a->dtype == FNZ_F16 || a->dtype == FNZ_BF16) {
    uint16_t bits = ((const uint16_t *)a->data)[i];
    int digits = a->dtype == FNZ_F16 ? 10 : 7, bias = a->dtype == FNZ_F16 ? 15 : 127;
    int power = bits >> digits & (2 * bias + 1), part = bits & ((1 << digits) - 1);
    double d = ldexp(power ? part + (1 << digits) : part, (power ? power : 1) - bias - digits);
    return bits >> 15 ? -d : d;
  }
  if (a->dtype == FNZ_F32)
    return (double)((const float *)a->data)[i];
  return ((const double *)a->data)[i];
}

/* The bound for the largest number of the result; log, sin and cos of PyTorch's are its own. */
static double bound_of(fnz_dtype dtype) {
  switch (dtype) {
  case FNZ_F32:
  case FNZ_C64:
    return 0x1p-20;
  case FNZ_F64:
    return 0x1p-49;
  case FNZ_F16:
    return 0x1p-9;
  case FNZ_BF16:
    return 0x1p-6;
  default:
    return 0;
  }
}

static void must_be_near(const char *name, const fnz_array *got, const fnz_array *want) {
  const double bound = bound_of(want->dtype);
  const size_t cell = fnzi_dtype(want->dtype)->bytes / (want->dtype == FNZ_C64 ? 2 : 1);
  double most = 0;
  for (size_t i = 0; i < want->bytes / cell; i++)
    most = fmax(most, fabs(number_at(want, i)));
  for (size_t i = 0; i < want->bytes / cell; i++) {
    double a = number_at(got, i), b = number_at(want, i);
    ck_assert_msg(fabs(a - b) <= bound * most, "%s: %s[%zu] is %.9g, not %.9g", name, want->name, i,
                  a, b);
  }
}

static void compare(const char *name, const fnz_arrays *got, const fnz_arrays *want) {
  for (size_t i = 0; i < fnz_arrays_count(want); i++) {
    const fnz_array *a = fnz_arrays_at(want, i), *b = fnz_arrays_find(got, a->name);
    if (strncmp(a->name, "input.", 6) == 0)
      continue;
    ck_assert_msg(b && b->dtype == a->dtype && b->bytes == a->bytes,
                  "%s: %s is not there, or looks otherwise", name, a->name);
    if (bound_of(a->dtype) == 0 || strncmp(name, "bits_", 5) == 0)
      ck_assert_msg(memcmp(a->data, b->data, a->bytes) == 0, "%s: %s differs", name, a->name);
    else
      must_be_near(name, b, a);
  }
}

static fnz_arrays *interpreted(const fnz_program *p, const fnz_arrays *in, bool original,
                               int threads) {
  fnz_arrays *out;
  fnz_backend *cpu;
  OK(ctx, fnz_arrays_create(ctx, &out));
  OK(ctx, fnz_cpu_backend_create(ctx, threads, &cpu));
  OK(ctx, fnz_run(ctx, p, cpu, in, original ? AS_ORIGINAL : NULL, out));
  fnz_backend_destroy(cpu);
  return out;
}

static void must_draw(const char *name, const fnz_program *p, const fnz_arrays *recorded,
                      bool original, int threads) {
  fnz_generator *g = seeded(SEED);
  fnz_arrays *in = inputs_of(recorded), *out = interpreted(p, in, original, threads);
  compare(name, out, recorded);
  fnz_arrays_destroy(out);
  fnz_arrays_destroy(in);
  end_generator(g);
}

START_TEST(programs_draw_what_pytorch_draws) {
  begin();
  for (int i = 0; i < NAMES; i++) {
    fnz_arrays *recorded = read_arrays(names[i]);
    fnz_program *original = read_source(names[i]), *p = made_functional(read_source(names[i]));
    must_draw(names[i], original, recorded, true, 1);
    must_draw(names[i], p, recorded, false, 1);
    must_draw(names[i], p, recorded, false, 4);
    fnz_program_destroy(p);
    fnz_program_destroy(original);
    fnz_arrays_destroy(recorded);
  }
  end();
}
END_TEST

/* --- Forms and the engine --------------------------------------------------------------------- */
START_TEST(forms_and_engine_draw_alike) {
  begin();
  for (int i = 0; i < NAMES; i++) {
    fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
    fnz_verify_report report = FNZ_VERIFY_REPORT_INIT;
    fnz_arrays *recorded = read_arrays(names[i]), *in = inputs_of(recorded);
    fnz_program *original = read_source(names[i]), *p = made_functional(read_source(names[i]));
    fnz_generator *g = i % 2 ? seeded((uint64_t)i) : NULL;
    fnz_executable *exe;
    OK(ctx, fnz_verify(ctx, original, p, in, NULL, &report));
    ck_assert_msg(report.numbers, "%s: no numbers: %s", names[i], report.no_numbers);
    options.check = true;
    OK(ctx, fnz_compile(ctx, p, &options, &exe));
    OK(ctx, fnz_executable_verify(ctx, exe, in));
    fnz_executable_destroy(exe);
    if (g)
      ck_assert_int_eq(g->left, 0); /* it is as it was */
    end_generator(g);
    fnz_program_destroy(p);
    fnz_program_destroy(original);
    fnz_arrays_destroy(in);
    fnz_arrays_destroy(recorded);
  }
  end();
}
END_TEST

/* Attention is a kernel that cannot fail, except by its dropout: a number that is no probability is
 * refused. */
START_TEST(no_probability_is_refused) {
  static const char text[] =
      "fnz 1\nprogram(%m: f32[2] buffer \"m\")\n{\n"
      "%n: f32[2] = add.Scalar(%m, 1)\n%q: f32[1,1,2,4] = ones([1, 1, 2, 4])\n"
      "%a: f32[1,1,2,4] = scaled_dot_product_attention(%q, %q, %q, None, "
      "-0.5)\nreturn %n buffer_mutation \"m\", %a\n}\n";
  begin();
  fnz_arrays *in, *out;
  fnz_program *p;
  fnz_executable *exe;
  const int64_t two = 2;
  void *data;
  OK(ctx, fnz_program_read(ctx, text, sizeof text - 1, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_arrays_create(ctx, &in));
  OK(ctx, fnz_arrays_add(in, "buffer.m", FNZ_F32, 1, &two, &data));
  memset(data, 0, 8);
  OK(ctx, fnz_arrays_create(ctx, &out));
  OK(ctx, fnz_compile(ctx, p, NULL, &exe));
  FAILS(ctx, "BOUNDS", fnz_executable_run_arrays(ctx, exe, in, NULL, NULL, out));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "dropout_p"));
  fnz_executable_destroy(exe);
  fnz_arrays_destroy(out);
  fnz_arrays_destroy(in);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* --- The generator ---------------------------------------------------------------------------- */
static const char draws[] = "fnz 1\n"
                            "program()\n{\n"
                            "%0: f32[5] = rand([5])\n"
                            "return %0\n}\n";

static void draw_words(fnz_generator *g, int count) {
  for (int i = 0; i < count; i++)
    (void)fnzi_generator_draw(g);
}

static void must_have_state(const fnz_generator *g, const fnz_arrays *states, const char *name) {
  unsigned char bytes[FNZ_GENERATOR_STATE_BYTES];
  const fnz_array *a = fnz_arrays_find(states, name);
  ck_assert(a && a->bytes == sizeof bytes);
  fnz_generator_save_state(g, bytes);
  ck_assert_msg(memcmp(a->data, bytes, sizeof bytes) == 0, "%s differs", name);
}

START_TEST(states_are_those_of_pytorch) {
  begin();
  fnz_arrays *states = read_arrays("state");
  fnz_generator *g = seeded(SEED);
  must_have_state(g, states, "state.0");
  draw_words(g, 1);
  must_have_state(g, states, "state.1");
  draw_words(g, 624);
  must_have_state(g, states, "state.625");
  draw_words(g, 375);
  must_have_state(g, states, "state.1000");
  fnz_generator_set_seed(g, SEED);
  for (int i = 0; i < 3; i++)
    (void)fnzi_generator_normal(g);
  unsigned char bytes[FNZ_GENERATOR_STATE_BYTES];
  const fnz_array *a = fnz_arrays_find(states, "state.normal");
  OK(ctx, fnz_generator_restore_state(ctx, g, a->data, a->bytes));
  fnz_generator_save_state(g, bytes);
  ck_assert_mem_eq(bytes, a->data, a->bytes);
  end_generator(g);
  fnz_arrays_destroy(states);
  end();
}
END_TEST

START_TEST(what_is_no_state_is_refused) {
  begin();
  static const int places[] = {8, 12, 16};
  unsigned char good[FNZ_GENERATOR_STATE_BYTES], bad[FNZ_GENERATOR_STATE_BYTES], after[sizeof bad];
  fnz_generator *g = seeded(3);
  draw_words(g, 100);
  fnz_generator_save_state(g, good);
  FAILS(ctx, "BOUNDS", fnz_generator_restore_state(ctx, g, good, sizeof good - 1));
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    memcpy(bad, good, sizeof bad);
    bad[places[i] + 1] ^= 0x40;
    FAILS(ctx, "BOUNDS", fnz_generator_restore_state(ctx, g, bad, sizeof bad));
    fnz_generator_save_state(g, after);
    ck_assert_mem_eq(after, good, sizeof good);
  }
  end_generator(g);
  end();
}
END_TEST

static void run_five(fnz_backend *cpu, const fnz_program *p, const fnz_arrays *in, float *five) {
  fnz_arrays *out;
  OK(ctx, fnz_arrays_create(ctx, &out));
  OK(ctx, fnz_run(ctx, p, cpu, in, NULL, out));
  memcpy(five, fnz_arrays_at(out, 0)->data, 5 * sizeof *five);
  fnz_arrays_destroy(out);
}

START_TEST(runs_go_on_or_repeat) {
  begin();
  float alone[5], again[5], first[5], second[5], third[5];
  unsigned char state[FNZ_GENERATOR_STATE_BYTES];
  fnz_program *p = read_text(draws);
  fnz_backend *cpu;
  fnz_arrays *in;
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_arrays_create(ctx, &in));
  run_five(cpu, p, in, alone);
  run_five(cpu, p, in, again);
  fnz_generator *g = seeded(0);
  run_five(cpu, p, in, first);
  fnz_generator_save_state(g, state);
  run_five(cpu, p, in, second);
  OK(ctx, fnz_generator_restore_state(ctx, g, state, sizeof state));
  run_five(cpu, p, in, third);
  ck_assert_mem_eq(alone, again, sizeof alone);
  ck_assert_mem_eq(alone, first, sizeof alone);
  ck_assert_mem_ne(first, second, sizeof first);
  ck_assert_mem_eq(second, third, sizeof second);
  end_generator(g);
  fnz_arrays_destroy(in);
  fnz_backend_destroy(cpu);
  fnz_program_destroy(p);
  end();
}
END_TEST

START_TEST(a_call_needs_a_generator) {
  begin();
  fnz_backend *cpu;
  fnz_stack *stack;
  const int64_t sizes[] = {5};
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_stack_create(ctx, cpu, &stack));
  fnz_push_ints(stack, sizes, 1);
  FAILS(ctx, "ARGUMENT", fnz_call(ctx, fnz_op_find(NULL, "rand"), stack));
  fnz_generator *g = seeded(0);
  fnz_push_ints(stack, sizes, 1);
  OK(ctx, fnz_call(ctx, fnz_op_find(NULL, "rand"), stack));
  fnz_eager_release(fnz_pop_tensor(stack));
  end_generator(g);
  fnz_stack_destroy(stack);
  fnz_backend_destroy(cpu);
  end();
}
END_TEST

/* Calls of memory: the order is that of the strides, whatever the window is. */
static fnz_eager call_on(fnz_stack *stack, const char *name, fnz_eager self, const double *p) {
  fnz_push_tensor(stack, self);
  if (p)
    fnz_push_float(stack, *p);
  OK(ctx, fnz_call(ctx, fnz_op_find(NULL, name), stack));
  return fnz_pop_tensor(stack);
}

START_TEST(calls_draw_in_place) {
  begin();
  enum { ROWS = 4, COLUMNS = 6, CELLS = ROWS * COLUMNS };
  const int64_t sizes[] = {ROWS, COLUMNS};
  const double half = 0.5;
  float cells[CELLS];
  fnz_backend *cpu;
  fnz_stack *stack;
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_stack_create(ctx, cpu, &stack));
  fnz_generator *g = seeded(SEED);
  fnz_generator same = *g;
  fnz_push_ints(stack, sizes, 2);
  OK(ctx, fnz_call(ctx, fnz_op_find(NULL, "zeros"), stack));
  fnz_eager x = fnz_pop_tensor(stack), y = call_on(stack, "t", x, NULL);
  fnz_eager_release(call_on(stack, "bernoulli_.float", y, &half));
  OK(ctx, cpu->download(cpu->self, ctx, x.handle, cells));
  for (int i = 0; i < CELLS; i++)
    ck_assert_int_eq(cells[i] == 1, fnzi_generator_double(&same) < half);
  fnz_eager_release(call_on(stack, "uniform_", y, NULL));
  OK(ctx, cpu->download(cpu->self, ctx, x.handle, cells));
  for (int i = 0; i < CELLS; i++)
    ck_assert_int_eq(cells[i] == fnzi_generator_single(&same), 1);
  fnz_eager_release(y);
  fnz_eager_release(x);
  end_generator(g);
  fnz_stack_destroy(stack);
  fnz_backend_destroy(cpu);
  end();
}
END_TEST

/* PyTorch's own out= variants draw into the strides of the target; generated ones draw as the
 * functional operator does, by the strides of the operand, and copy. Numbers of PyTorch 2.15, seed
 * 0. */
static void check_out(const char *type, const char *call, const float *want) {
  char text[400];
  fnz_backend *cpu;
  fnz_arrays *in, *out;
  void *data;
  snprintf(text, sizeof text,
           "fnz 1 program(%%x: %s, %%y: f32[2,3]) { %%t: f32[3,2] stride(1,3) = t(%%y) "
           "%%h: f32[3,2] = full([3,2], 0.5, dtype=f32) %%z: %s = %s return %%z }",
           type, type, call);
  begin();
  fnz_program *p, *forms[2];
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_functionalize(ctx, p, NULL, &forms[1]));
  forms[0] = p;
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_arrays_create(ctx, &in));
  OK(ctx, fnz_arrays_add(in, "x", FNZ_F32, 2, (const int64_t[]){3, 2}, &data));
  OK(ctx, fnz_arrays_add(in, "y", FNZ_F32, 2, (const int64_t[]){2, 3}, &data));
  for (int k = 0; k < 2; k++) {
    OK(ctx, fnz_arrays_create(ctx, &out));
    OK(ctx, fnz_run(ctx, forms[k], cpu, in, k == 0 ? AS_ORIGINAL : NULL, out));
    ck_assert_msg(memcmp(fnz_arrays_find(out, "output.0")->data, want, 6 * sizeof *want) == 0,
                  "%s, form %d", call, k);
    fnz_arrays_destroy(out);
  }
  fnz_arrays_destroy(in);
  fnz_backend_destroy(cpu);
  fnz_program_destroy(forms[1]);
  fnz_program_destroy(p);
  end();
}

START_TEST(results_draw_in_their_order) {
#define A 0.496256590f
#define B 0.768221796f
#define C 0.0884774327f
#define D 0.132030487f
#define E 0.307422817f
#define F 0.634078681f
  static const float rows[] = {A, B, C, D, E, F}, columns[] = {A, D, B, E, C, F},
                     ones[] = {1, 1, 0, 1, 1, 0};
  check_out("f32[3,2] stride(1,3)", "rand.out([3,2], out=%x)", columns);
  check_out("f32[3,2] stride(1,3)", "rand_like.out(%h, out=%x)", rows);
  check_out("f32[3,2] stride(1,3)", "bernoulli.out(%h, out=%x)", ones);
  check_out("f32[3,2]", "uniform.out(%t, out=%x)", columns);
  check_out("f32[3,2]", "rand_like.out(%t, out=%x)", columns);
  check_out("f32[3,2]", "rand.out([3,2], out=%x)", rows);
}
END_TEST

RUN_SUITE("generator", programs_draw_what_pytorch_draws, forms_and_engine_draw_alike,
          no_probability_is_refused, states_are_those_of_pytorch, what_is_no_state_is_refused,
          runs_go_on_or_repeat, a_call_needs_a_generator, calls_draw_in_place,
          results_draw_in_their_order)
