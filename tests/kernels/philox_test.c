/* checks: 6
 * philox_test.c - a generator of CUDA on a CPU: Philox's words are the published ones, draws of
 * random operators equal the records of an independent implementation
 * (scripts/make_philox_fixture.py), and states go on as PyTorch's do. */
#include "kernels/core/half.h"
#include "kernels/cpu/special_reals.h"
#include "program/program.h"
#include "tests/help/context.h"
#include "tests/help/philox_fixture.h"

#include <fnz/fnz.h>
#include <math.h>

#define VALUE      static inline __attribute__((unused))
#define RANDOM_OUT void *
VALUE void random_put(void *to, int64_t i, double v) {
  ((double *)to)[i] = v;
}
VALUE void random_put_integer(void *to, int64_t i, int64_t v) {
  ((int64_t *)to)[i] = v;
}
VALUE int64_t random_integer_at(void *to, int64_t i) {
  return ((int64_t *)to)[i];
}
VALUE float random_log(float v) {
  return logf(v);
}
VALUE float random_exp(float v) {
  return expf(v);
}
VALUE float random_tan(float v) {
  return tanf(v);
}
VALUE void random_sincos(float v, float *sine, float *cosine) {
  *sine = sinf(v), *cosine = cosf(v);
}
VALUE void random_sincospi(double v, double *sine, double *cosine) {
  *sine = sin(v), *cosine = cos(v);
}
#include "kernels/cpu/random_values.h"

/* --- Words ------------------------------------------------------------------------------------ */
/* Numbers from Random123, kat_vectors: philox4x32 10. */
START_TEST(words_are_the_published_ones) {
  static const struct {
    uint64_t below, above, key;
    uint32_t want[4];
  } known[] = {
      {0, 0, 0, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {UINT64_MAX, UINT64_MAX, UINT64_MAX, {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {0x85a308d3243f6a88,
       0x0370734413198a2e,
       0x299f31d0a4093822,
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}}};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    uint32_t got[4];
    random_philox(known[i].key, known[i].below, known[i].above, got);
    ck_assert_mem_eq(got, known[i].want, sizeof got);
  }
}
END_TEST

/* --- Operators -------------------------------------------------------------------------------- */
static void must_be_recorded(const fnz_arrays *got, const fnz_arrays *recorded) {
  for (uint32_t k = 0; k < fnz_arrays_count(recorded); k++) {
    const fnz_array *want = fnz_arrays_at(recorded, k), *a = fnz_arrays_find(got, want->name);
    if (strncmp(want->name, "output.", 7) != 0)
      continue;
    ck_assert_msg(a && a->dtype == want->dtype && a->bytes == want->bytes, "%s looks otherwise",
                  want->name);
    ck_assert_msg(philox_is_near(a, want), "%s differs", want->name);
  }
}

static void must_draw(int threads, bool by_engine) {
  fnz_arrays *recorded = philox_recorded(ctx), *in = philox_inputs(ctx, recorded), *out;
  fnz_program *p = made_functional(philox_program(ctx));
  fnz_generator *g = philox_generator(ctx);
  fnz_backend *cpu;
  OK(ctx, fnz_arrays_create(ctx, &out));
  OK(ctx, fnz_cpu_backend_create(ctx, threads, &cpu));
  if (by_engine) {
    fnz_executable *exe;
    OK(ctx, fnz_compile(ctx, p, NULL, &exe));
    OK(ctx, fnz_executable_verify(ctx, exe, in));
    OK(ctx, fnz_executable_run_arrays(ctx, exe, in, NULL, NULL, out));
    fnz_executable_destroy(exe);
  } else {
    OK(ctx, fnz_run(ctx, p, cpu, in, NULL, out));
  }
  must_be_recorded(out, recorded);
  fnz_context_set_generator(ctx, NULL);
  fnz_generator_destroy(g);
  fnz_backend_destroy(cpu);
  fnz_program_destroy(p);
  fnz_arrays_destroy(in);
  fnz_arrays_destroy(out);
  fnz_arrays_destroy(recorded);
}

START_TEST(operators_draw_what_is_recorded) {
  begin();
  must_draw(1, false);
  must_draw(4, false);
  must_draw(1, true);
  end();
}
END_TEST

/* If PyTorch lets threads draw without an order of rows, the order is that of memory. */
START_TEST(windows_are_drawn_in_the_order_of_memory) {
  begin();
  enum { ROWS = 4, COLUMNS = 6, CELLS = ROWS * COLUMNS };
  const int64_t sizes[] = {ROWS, COLUMNS};
  float cells[CELLS], line[CELLS];
  fnz_backend *cpu;
  fnz_stack *stack;
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_stack_create(ctx, cpu, &stack));
  fnz_generator *g = philox_generator(ctx);
  fnz_push_ints(stack, sizes, 2);
  OK(ctx, fnz_call(ctx, fnz_op_find(NULL, "rand"), stack));
  fnz_eager x = fnz_pop_tensor(stack);
  OK(ctx, cpu->download(cpu->self, ctx, x.handle, line));
  fnz_generator_set_seed(g, PHILOX_SEED);
  fnz_push_tensor(stack, x);
  OK(ctx, fnz_call(ctx, fnz_op_find(NULL, "t"), stack));
  fnz_eager turned = fnz_pop_tensor(stack);
  fnz_push_tensor(stack, turned);
  OK(ctx, fnz_call(ctx, fnz_op_find(NULL, "uniform_"), stack));
  fnz_eager_release(fnz_pop_tensor(stack));
  OK(ctx, cpu->download(cpu->self, ctx, x.handle, cells));
  ck_assert_mem_eq(cells, line, sizeof cells);
  fnz_eager_release(turned);
  fnz_eager_release(x);
  fnz_context_set_generator(ctx, NULL);
  fnz_generator_destroy(g);
  fnz_stack_destroy(stack);
  fnz_backend_destroy(cpu);
  end();
}
END_TEST

/* --- The generator ---------------------------------------------------------------------------- */
static void run_program(const fnz_program *p, float *out, size_t bytes) {
  fnz_arrays *in, *got;
  fnz_backend *cpu;
  OK(ctx, fnz_cpu_backend_create(ctx, 1, &cpu));
  OK(ctx, fnz_arrays_create(ctx, &in));
  OK(ctx, fnz_arrays_create(ctx, &got));
  OK(ctx, fnz_run(ctx, p, cpu, in, NULL, got));
  memcpy(out, fnz_arrays_at(got, 0)->data, bytes);
  fnz_arrays_destroy(got);
  fnz_arrays_destroy(in);
  fnz_backend_destroy(cpu);
}

/* The offset goes on by four words for each turn of the threads: 600 elements by 256 threads at
 * most take one turn, whatever a thread has of it. */
START_TEST(states_are_seed_and_offset) {
  begin();
  unsigned char state[FNZ_GENERATOR_CUDA_STATE_BYTES], want[sizeof state] = {0x2a};
  float first[600], second[600], again[600];
  fnz_program *p = read_text("fnz 1\nprogram()\n{\n%0: f32[600] = rand([600])\nreturn %0\n}\n");
  fnz_generator *g;
  OK(ctx, fnz_philox_generator_create(ctx, 42, 256, &g));
  ck_assert_int_eq(fnz_generator_threads(g), 256);
  ck_assert_uint_eq(fnz_generator_state_bytes(g), sizeof state);
  fnz_context_set_generator(ctx, g);
  run_program(p, first, sizeof first);
  fnz_generator_save_state(g, state);
  want[8] = 4;
  ck_assert_mem_eq(state, want, sizeof want);
  run_program(p, second, sizeof second);
  ck_assert_mem_ne(first, second, sizeof first);
  OK(ctx, fnz_generator_restore_state(ctx, g, want, sizeof want));
  run_program(p, again, sizeof again);
  ck_assert_mem_eq(again, second, sizeof again);
  fnz_generator_set_seed(g, 42);
  run_program(p, again, sizeof again);
  ck_assert_mem_eq(again, first, sizeof again);
  fnz_context_set_generator(ctx, NULL);
  fnz_generator_destroy(g);
  fnz_program_destroy(p);
  end();
}
END_TEST

START_TEST(what_is_no_state_is_refused) {
  begin();
  unsigned char state[FNZ_GENERATOR_STATE_BYTES] = {7}, after[FNZ_GENERATOR_CUDA_STATE_BYTES];
  fnz_generator *g = philox_generator(ctx);
  FAILS(ctx, "BOUNDS", fnz_generator_restore_state(ctx, g, state, sizeof state));
  state[8] = 6; /* no multiple of 4 */
  FAILS(ctx, "BOUNDS", fnz_generator_restore_state(ctx, g, state, FNZ_GENERATOR_CUDA_STATE_BYTES));
  fnz_generator_save_state(g, after);
  ck_assert_mem_ne(after, state, sizeof after);
  fnz_context_set_generator(ctx, NULL);
  fnz_generator_destroy(g);
  end();
}
END_TEST

START_TEST(threads_come_in_blocks) {
  static const int64_t wrong[] = {0, -256, 100, 257, INT64_C(1) << 31};
  begin();
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    fnz_generator *g;
    FAILS(ctx, "BOUNDS", fnz_philox_generator_create(ctx, 1, wrong[i], &g));
    ck_assert_ptr_null(g);
  }
  end();
}
END_TEST

RUN_SUITE("philox", words_are_the_published_ones, operators_draw_what_is_recorded,
          windows_are_drawn_in_the_order_of_memory, states_are_seed_and_offset,
          what_is_no_state_is_refused, threads_come_in_blocks)
