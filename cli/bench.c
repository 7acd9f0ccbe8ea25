/* bench.c - how long a program takes by the engine, and against the interpreter: in turns, in one
 * process. */
#include "cli/cli.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ROUNDS = 1000000, USUAL_ROUNDS = 30, SHOWN_STEPS = 20 };

typedef struct benching {
  cli_call *call;
  int threads, rounds;
  fnz_memory *in, *out;
  fnz_geometry *geometries;
  int64_t *strides;
  double *engine, *interpreter; /* us, per round */
} benching;

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* --- Memory ----------------------------------------------------------------------------------- */

static int run_interpreter(benching *b, double *us) {
  cli_call *call = b->call;
  fnz_arrays_destroy(call->outputs);
  call->outputs = NULL;
  CLI_TRY(cli_check(call, fnz_arrays_create(call->ctx, &call->outputs), NULL));
  double began = now_us();
  fnz_status status =
      fnz_run(call->ctx, call->functional, call->backend, call->inputs, NULL, call->outputs);
  *us = now_us() - began;
  return cli_check(call, status, call->operands[0]);
}

/* Inputs lie where the file was read to. */
static int find_inputs(benching *b) {
  const fnz_executable *exe = b->call->executable;
  for (size_t k = 0; k < fnz_executable_count(exe, FNZ_SIDE_INPUT); k++) {
    const fnz_slot slot = fnz_executable_slot(exe, FNZ_SIDE_INPUT, k);
    char name[512];
    snprintf(name, sizeof name, "input.%s", slot.name);
    const fnz_array *array = fnz_arrays_find(b->call->inputs, slot.name);
    array = array ? array : fnz_arrays_find(b->call->inputs, name);
    if (array) {
      int64_t *strides = b->strides + k * FNZ_MAX_RANK, step = 1;
      for (uint32_t d = array->rank; d-- > 0; step *= array->sizes[d])
        strides[d] = step;
      b->geometries[k] = (fnz_geometry){
          .dtype = array->dtype, .rank = array->rank, .sizes = array->sizes, .strides = strides};
      b->in[k] = (fnz_memory){(void *)(uintptr_t)array->data, &b->geometries[k]};
    } else if (slot.geometry) {
      /* fnz_run() says what is missing or misspelt, and which inputs there are. */
      double us;
      CLI_TRY(run_interpreter(b, &us));
      return cli_fail(b->call, FNZ_CLASS_INTERNAL, b->call->operands[0],
                      "the interpreter needs no input %s, the engine does; please report it",
                      slot.name);
    }
  }
  return CLI_DONE;
}

/* --- Rounds ----------------------------------------------------------------------------------- */
static int run_engine(benching *b, double *us) {
  cli_call *call = b->call;
  memset(b->out, 0, fnz_executable_count(call->executable, FNZ_SIDE_OUTPUT) * sizeof *b->out);
  const fnz_execution run = {.size = sizeof run,
                             .inputs = b->in,
                             .outputs = b->out,
                             .state = call->state,
                             .workspace = call->workspace};
  double began = now_us();
  fnz_status status = fnz_executable_run(call->ctx, call->executable, &run);
  *us = now_us() - began;
  return cli_check(call, status, call->operands[0]);
}

static bool compares(const benching *b) {
  return cli_has(b->call, CLI_AGAINST_RUN);
}

static int run_rounds(benching *b) {
  for (int i = -2; i < b->rounds; i++) { /* the first ones make plans and fill caches */
    double engine = 0, interpreter = 0;
    CLI_TRY(run_engine(b, &engine));
    if (compares(b))
      CLI_TRY(run_interpreter(b, &interpreter));
    if (i < 0)
      continue;
    b->engine[i] = engine;
    b->interpreter[i] = interpreter;
  }
  return CLI_DONE;
}

/* --- Telling ---------------------------------------------------------------------------------- */
static int order(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

typedef struct figures {
  double least, median;
} figures;

static figures figures_of(double *us, int count) {
  qsort(us, (size_t)count, sizeof *us, order);
  return (figures){us[0], us[count / 2]};
}

static int by_time(const void *a, const void *b) {
  uint64_t x = ((const fnz_step_time *)a)->ns, y = ((const fnz_step_time *)b)->ns;
  return (x < y) - (x > y);
}

/* Prints the steps of a run, the slowest first. */
static int bench_print_steps(const cli_call *call, const fnz_step_time *times, size_t count) {
  fnz_step_time *sorted = calloc(count + 1, sizeof *sorted);
  if (!sorted)
    return cli_fail(call, FNZ_CLASS_NOMEM, "", "out of memory");
  if (count)
    memcpy(sorted, times, count * sizeof *sorted);
  qsort(sorted, count, sizeof *sorted, by_time);
  for (size_t i = 0; i < count && i < SHOWN_STEPS; i++) {
    bool is_part = strcmp(sorted[i].of, sorted[i].target) != 0;
    printf("  %10.2f us  %-12s %s%s%s", (double)sorted[i].ns * 1e-3, sorted[i].kind,
           sorted[i].target, is_part ? " of " : "", is_part ? sorted[i].of : "");
    if (sorted[i].sets > 1)
      printf(", over %llu operand sets at once", (unsigned long long)sorted[i].sets);
    putchar('\n');
  }
  if (count > SHOWN_STEPS)
    printf("  and %zu more steps\n", count - SHOWN_STEPS);
  free(sorted);
  return cli_flush();
}

static void bench_print_one(const char *name, figures f) {
  printf("%-12s least %.2f us, median %.2f us\n", name, f.least, f.median);
}

static void put_one(fnzi_json_out *w, const char *name, figures f) {
  fnzi_json_open_as(w, name, '{');
  fnzi_json_out_fixed(w, "least_us", 3, f.least);
  fnzi_json_out_fixed(w, "median_us", 3, f.median);
  fnzi_json_close(w, '}');
}

/* The figures, and the steps of one more run. */
static int bench_report(benching *b) {
  figures engine = figures_of(b->engine, b->rounds), other = figures_of(b->interpreter, b->rounds);
  double us;
  size_t count;
  fnz_workspace_take_times(b->call->workspace, true);
  CLI_TRY(run_engine(b, &us));
  const fnz_step_time *times = fnz_workspace_times(b->call->workspace, &count);
  if (cli_has(b->call, CLI_JSON)) {
    fnzi_json_out *w = cli_json_begin(b->call);
    put_one(w, "engine", engine);
    if (compares(b)) {
      put_one(w, "interpreter", other);
      fnzi_json_out_fixed(w, "ratio", 4, engine.least / other.least);
    }
    fnzi_json_open_as(w, "steps", '[');
    for (size_t i = 0; i < count; i++) {
      fnzi_json_open(w, '{');
      fnzi_json_out_text(w, "kind", times[i].kind);
      fnzi_json_out_text(w, "target", times[i].target);
      fnzi_json_out_text(w, "of", times[i].of);
      fnzi_json_out_count(w, "sets", times[i].sets);
      fnzi_json_out_count(w, "ns", times[i].ns);
      fnzi_json_close(w, '}');
    }
    fnzi_json_close(w, ']');
    return cli_json_end(b->call);
  }
  bench_print_one("engine", engine);
  if (compares(b)) {
    bench_print_one("interpreter", other);
    printf("%-12s %.3f\n", "ratio", engine.least / other.least);
  }
  return bench_print_steps(b->call, times, count);
}

/* --- The verb --------------------------------------------------------------------------------- */
static int bench_prepare(benching *b) {
  cli_call *call = b->call;
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  char folder[4096];
  options.threads = b->threads;
  options.device = call->options[CLI_DEVICE];
  options.staging = true;
  options.cache = cli_cache_folder(folder, sizeof folder);
  CLI_TRY(cli_functionalize(call, call->program, call->operands[0]));
  CLI_TRY(cli_check(call, fnz_cpu_backend_create(call->ctx, b->threads, &call->backend), NULL));
  CLI_TRY(cli_check(call, fnz_compile(call->ctx, call->functional, &options, &call->executable),
                    call->operands[0]));
  CLI_TRY(
      cli_check(call, fnz_workspace_create(call->ctx, call->executable, &call->workspace), NULL));
  CLI_TRY(cli_check(call, fnz_executable_state_create(call->ctx, call->executable, &call->state),
                    NULL));
  size_t inputs = fnz_executable_count(b->call->executable, FNZ_SIDE_INPUT),
         outputs = fnz_executable_count(b->call->executable, FNZ_SIDE_OUTPUT);
  b->in = calloc(inputs + 1, sizeof *b->in);
  b->out = calloc(outputs + 1, sizeof *b->out);
  b->geometries = calloc(inputs + 1, sizeof *b->geometries);
  b->strides = calloc((inputs + 1) * FNZ_MAX_RANK, sizeof *b->strides);
  b->engine = calloc((size_t)b->rounds, sizeof *b->engine);
  b->interpreter = calloc((size_t)b->rounds, sizeof *b->interpreter);
  bool all = b->in && b->out && b->geometries && b->strides && b->engine && b->interpreter;
  if (!all)
    return cli_fail(b->call, FNZ_CLASS_NOMEM, "", "out of memory");
  return find_inputs(b);
}

int cli_bench(cli_call *call) {
  benching b = {.call = call};
  CLI_TRY(cli_number(call, CLI_THREADS, 1, 1, 4096, &b.threads));
  CLI_TRY(cli_seed(call));
  CLI_TRY(cli_number(call, CLI_ROUNDS, USUAL_ROUNDS, 1, MOST_ROUNDS, &b.rounds));
  CLI_TRY(cli_read_program(call, call->operands[0], &call->program));
  CLI_TRY(cli_read_inputs(call));
  int code = bench_prepare(&b);
  if (code == CLI_DONE)
    code = run_rounds(&b);
  if (code == CLI_DONE)
    code = bench_report(&b);
  free(b.in);
  free(b.out);
  free(b.geometries);
  free(b.strides);
  free(b.engine);
  free(b.interpreter);
  return code;
}
