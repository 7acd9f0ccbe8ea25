/* checks: 10
 * draws_test.c - random numbers on a GPU, by the stand-in: a generator of CUDA gives the bits that
 * the CPU has of it, run after run, in graphs and between steps of the CPU; one of the CPU is drawn
 * from there. */
#include "base/random.h"
#include "engine/device/device.h"
#include "tests/cuda/help.h"
#include "tests/help/philox_fixture.h"

typedef struct both {
  fnz_context *ctx;
  fnz_program *p;
  fnz_arrays *inputs;
  fnz_generator *g;
  fnz_executable *gpu;
  fnz_workspace *ws;
  fnz_backend *cpu;
} both;

static void open_both(both *b, fnz_program *traced, fnz_arrays *inputs, bool check) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  options.device = "cuda";
  options.staging = true;
  options.threads = 1;
  options.check = check;
  b->p = functional_of(b->ctx, traced);
  b->inputs = inputs;
  OK(b->ctx, fnz_cpu_backend_create(b->ctx, 1, &b->cpu));
  OK(b->ctx, fnz_compile(b->ctx, b->p, &options, &b->gpu));
  OK(b->ctx, fnz_workspace_create(b->ctx, b->gpu, &b->ws));
}

static void close_both(both *b) {
  fnz_context_set_generator(b->ctx, NULL);
  fnz_generator_destroy(b->g);
  fnz_workspace_destroy(b->ws);
  fnz_executable_destroy(b->gpu);
  fnz_backend_destroy(b->cpu);
  fnz_arrays_destroy(b->inputs);
  fnz_program_destroy(b->p);
  fnz_context_destroy(b->ctx);
  nothing_is_left();
}

/* Functions are CUDA's own, where there is CUDA: of the fixture, last places may be others. */
static bool same_arrays(const fnz_arrays *a, const fnz_arrays *b) {
  bool same = fnz_arrays_count(a) == fnz_arrays_count(b);
  for (uint32_t k = 0; same && k < fnz_arrays_count(a); k++) {
    const fnz_array *x = fnz_arrays_at(a, k), *y = fnz_arrays_at(b, k);
    same = x->bytes == y->bytes && (!x->bytes || memcmp(x->data, y->data, x->bytes) == 0);
    same = same || (!is_standin() && x->bytes == y->bytes && philox_is_near(x, y));
    if (!same)
      printf("%s differs\n", x->name);
  }
  return same;
}

/* One run each, from the same state, which both leave the same. */
static void run_both(both *b) {
  fnz_arrays *want, *got;
  OK(b->ctx, fnz_arrays_create(b->ctx, &want));
  OK(b->ctx, fnz_arrays_create(b->ctx, &got));
  const fnz_generator before = *b->g;
  OK(b->ctx, fnz_run(b->ctx, b->p, b->cpu, b->inputs, NULL, want));
  const uint64_t offset = b->g->offset;
  *b->g = before;
  OK(b->ctx, fnz_executable_run_arrays(b->ctx, b->gpu, b->inputs, NULL, b->ws, got));
  ck_assert(same_arrays(got, want));
  ck_assert_uint_eq(b->g->offset, offset);
  fnz_arrays_destroy(want);
  fnz_arrays_destroy(got);
}

/* How many steps are the CPU's, and how many in all. */
static size_t steps_on_cpu(const both *b) {
  const fnzi_stp_binding *of = b->ws->last;
  size_t count = 0;
  for (size_t i = 0; i < of->thunks.count; i++)
    count += !of->device || !of->device->has_device_steps || of->device->schedule.steps[i].on_host;
  return count;
}

static void open_fixture(both *b, bool check) {
  b->ctx = open_context();
  fnz_arrays *recorded = philox_recorded(b->ctx);
  open_both(b, philox_program(b->ctx), philox_inputs(b->ctx, recorded), check);
  fnz_arrays_destroy(recorded);
}

static void open_text(both *b, const char *inputs, const char *text) {
  fnz_arrays *none;
  b->ctx = open_context();
  OK(b->ctx, fnz_arrays_create(b->ctx, &none));
  open_both(b, program_of(b->ctx, inputs, text), none, false);
}

START_TEST(operators_draw_the_cpus_numbers) {
  enum { RUNS = 4 };
  for (int check = 0; check < 2; check++) {
    both b = {.p = NULL};
    open_fixture(&b, check);
    b.g = philox_generator(b.ctx);
    for (int k = 0; k < RUNS; k++)
      run_both(&b);
    ck_assert_uint_eq(steps_on_cpu(&b), 0);
    close_both(&b);
  }
}
END_TEST

/* Four runs one after the other; of their steps so many are the CPU's. */
static void draws_alike(const char *body, size_t by_cpu) {
  both b = {.p = NULL};
  open_text(&b, "", body);
  b.g = philox_generator(b.ctx);
  for (int k = 0; k < 4; k++)
    run_both(&b);
  ck_assert_uint_eq(steps_on_cpu(&b), by_cpu);
  close_both(&b);
}

/* The CPU draws numbers between draws on the GPU. */
START_TEST(the_cpu_draws_in_between) {
  draws_alike("  %h: i64[] = full([], 50, dtype=i64)\n  %s: i64[700] = randperm(700)\n"
              "  %r: i64[700] = randint_like.Tensor(%s, %h)\n  %t: f32[70] = rand([70])\n"
              "  return %s, %r, %t",
              1);
}
END_TEST

/* In tiles and by few queries; sums differ in last places. */
START_TEST(attention_drops_what_the_cpu_drops) {
  draws_alike("  %r: f32[3, 2, 70, 8] = rand([3, 2, 70, 8])\n"
              "  %a: f32[3, 2, 70, 8] = scaled_dot_product_attention(%r, %r, %r, None, 0.5, True)\n"
              "  %q: f32[3, 2, 2, 8] = slice.Tensor(%r, 2, 0, 2)\n"
              "  %k: f32[3, 2, 300, 8] = rand([3, 2, 300, 8])\n"
              "  %w: f32[2, 300] = rand([2, 300])\n"
              "  %b: f32[3, 2, 2, 8] = scaled_dot_product_attention(%q, %k, %k, %w, 0.9)\n"
              "  %m: bool[3, 2, 70, 8] = gt.Scalar(%a, 0.51)\n"
              "  %n: bool[3, 2, 2, 8] = gt.Scalar(%b, 0.51)\n  return %m, %n",
              0);
}
END_TEST

/* The largest score of a row is found in runs, the last one short. */
START_TEST(a_long_row_has_one_choice) {
  draws_alike("  %p: f32[5, 700] = rand([5, 700])\n  %r: i64[5, 1] = multinomial(%p, 1)\n"
              "  return %r",
              0);
}
END_TEST

/* Bit by bit, which the functions of a real GPU are not. */
START_TEST(executables_verify) {
  both b = {.p = NULL};
  if (!is_standin()) {
    printf("left to the stand-in: executables_verify\n");
    return;
  }
  open_fixture(&b, true);
  OK(b.ctx, fnz_executable_verify(b.ctx, b.gpu, b.inputs));
  b.g = philox_generator(b.ctx);
  OK(b.ctx, fnz_executable_verify(b.ctx, b.gpu, b.inputs));
  ck_assert_uint_eq(b.g->offset, 0);
  close_both(&b);
}
END_TEST

/* From the third run on steps are a graph, which is given where the generator is. */
START_TEST(graphs_draw_on) {
  enum { RUNS = 6, DRAWS = 40 };
  char text[8192] = "";
  both b = {.p = NULL};
  const standin_counts before = counts_now();
  for (int k = 0; k < DRAWS; k++)
    snprintf(text + strlen(text), sizeof text - strlen(text), "  %%r%d: f32[700] = rand([700])\n",
             k);
  strcat(text, "  %s: f32[700] = add.Tensor(%r0, %r39)\n  return %s");
  open_text(&b, "", text);
  b.g = philox_generator(b.ctx);
  for (int k = 0; k < RUNS; k++)
    run_both(&b);
  ck_assert_uint_eq(steps_on_cpu(&b), 0);
  ck_assert_uint_ge(counts_now().graphs - before.graphs, RUNS - 2);
  if (is_standin())
    ck_assert_uint_ge(counts_now().nodes_set - before.nodes_set, (RUNS - 3) * DRAWS);
  close_both(&b);
}
END_TEST

/* Another generator is another plan: one of the CPU is drawn from by the CPU. */
START_TEST(generators_take_turns) {
  both b = {.p = NULL};
  open_text(&b, "",
            "  %r: f32[700] = rand([700])\n  %s: f32[700] = add.Scalar(%r, 1)\n  return %s");
  static const int64_t threads[] = {512, 0, 256, 512};
  for (size_t i = 0; i < sizeof threads / sizeof *threads; i++) {
    OK(b.ctx, threads[i] ? fnz_philox_generator_create(b.ctx, 3, threads[i], &b.g)
                         : fnz_generator_create(b.ctx, 3, &b.g));
    fnz_context_set_generator(b.ctx, b.g);
    run_both(&b);
    ck_assert_uint_eq(steps_on_cpu(&b), threads[i] ? 0 : 1);
    fnz_generator_destroy(b.g);
  }
  b.g = NULL;
  close_both(&b);
}
END_TEST

/* Without one the GPU's own is drawn from, from its beginning. */
START_TEST(without_a_generator_it_is_the_gpus) {
  both b = {.p = NULL};
  fnz_arrays *alone, *given;
  open_text(&b, "", "  %r: f32[5000] = rand([5000])\n  return %r");
  OK(b.ctx, fnz_arrays_create(b.ctx, &alone));
  OK(b.ctx, fnz_arrays_create(b.ctx, &given));
  OK(b.ctx, fnz_executable_run_arrays(b.ctx, b.gpu, b.inputs, NULL, b.ws, alone));
  OK(b.ctx, fnz_cuda_generator_create(b.ctx, NULL, 0, &b.g));
  ck_assert_int_eq(fnz_generator_threads(b.g), b.gpu->device->threads);
  fnz_context_set_generator(b.ctx, b.g);
  OK(b.ctx, fnz_run(b.ctx, b.p, b.cpu, b.inputs, NULL, given));
  ck_assert(same_arrays(alone, given));
  fnz_arrays_destroy(alone);
  fnz_arrays_destroy(given);
  close_both(&b);
}
END_TEST

/* Operator by operator; calls wait for nothing, and go on from where the last one was. */
START_TEST(values_draw_the_cpus_numbers) {
  both b = {.p = NULL};
  fnz_arrays *want, *got;
  fnz_backend *values;
  open_fixture(&b, false);
  b.g = philox_generator(b.ctx);
  OK(b.ctx, fnz_arrays_create(b.ctx, &want));
  OK(b.ctx, fnz_arrays_create(b.ctx, &got));
  OK(b.ctx, fnz_cuda_backend_create(b.ctx, NULL, 1, NULL, &values));
  OK(b.ctx, fnz_run(b.ctx, b.p, b.cpu, b.inputs, NULL, want));
  const uint64_t offset = b.g->offset;
  fnz_generator_set_seed(b.g, PHILOX_SEED);
  OK(b.ctx, fnz_run(b.ctx, b.p, values, b.inputs, NULL, got));
  ck_assert(same_arrays(got, want));
  ck_assert_uint_eq(b.g->offset, offset);
  fnz_backend_destroy(values);
  fnz_arrays_destroy(want);
  fnz_arrays_destroy(got);
  close_both(&b);
}
END_TEST

/* A kernel detects numbers that are no probability, deviation or weight, and the CPU reports
 * them. */
START_TEST(what_cannot_be_drawn_is_refused) {
  static const char *const texts[] = {
      "  %p: f32[9] = full([9], 1.5, dtype=f32)\n  %r: f32[9] = bernoulli(%p)\n  return %r",
      "  %p: f32[9] = full([9], -1.0, dtype=f32)\n  %r: f32[9] = normal.float_Tensor(0.0, %p)\n  "
      "return %r",
      "  %p: f32[9] = full([9], -1.0, dtype=f32)\n  %r: i64[1] = multinomial(%p, 1)\n  return %r",
      "  %p: f32[9] = full([9], 0.0, dtype=f32)\n  %r: i64[3] = multinomial(%p, 3)\n  return %r",
      "  %p: f32[9] = full([9], 0.0, dtype=f32)\n  %r: i64[3] = multinomial(%p, 3, True)\n  return "
      "%r"};
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    both b = {.p = NULL};
    fnz_arrays *out;
    open_text(&b, "", texts[i]);
    b.g = philox_generator(b.ctx);
    OK(b.ctx, fnz_arrays_create(b.ctx, &out));
    FAILS(b.ctx, "BOUNDS", fnz_executable_run_arrays(b.ctx, b.gpu, b.inputs, NULL, b.ws, out));
    fnz_arrays_destroy(out);
    close_both(&b);
  }
}
END_TEST

RUN_SUITE("draws", operators_draw_the_cpus_numbers, the_cpu_draws_in_between,
          attention_drops_what_the_cpu_drops, a_long_row_has_one_choice, executables_verify,
          graphs_draw_on, generators_take_turns, without_a_generator_it_is_the_gpus,
          values_draw_the_cpus_numbers, what_cannot_be_drawn_is_refused)
