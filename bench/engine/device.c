/* device.c - how long programs take on a GPU, beside a copy on it that moves as many bytes and, for
 * products, beside cuBLASLt's own call: all in one process, one JSON object a line.
 *
 *     bench_device [--small] [--seconds S] [--device cuda:N] [NAME | PROGRAM.pt2 ...]
 *
 * Without names all of device_programs.h. Inputs and outputs are memory of the GPU. Times in us,
 * medians:
 *
 *   call_us    a call that waits for its results, as callers see it
 *   cpu_us     call_us without the waiting
 *   stream_us  a call among many that follow each other, with one wait after the last one
 *   issue_us   the part of stream_us until the call returns: the CPU's time
 *   copy_us    stream_us of a copy that reads and writes as many bytes as the program must
 *   direct_us  stream_us of cuBLASLt's call alone
 *
 * Nothing waits within many calls because the driver's function that waits is taken out of the
 * engine's hands here: the linker has calls of fnzi_cuda_driver_open() come to this file (--wrap).
 */
#include "bench/engine/device_programs.h"
#include "engine/cuda/libraries.h"
#include "engine/cuda/run.h"
#include "program/program.h"

#include <fnz/fnz.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_SLOTS = 512, MOST_ROUNDS = 20000 };

static double now_us(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* --- Waiting ---------------------------------------------------------------------------------- */
static struct {
  int (*real)(void *stream);
  bool left_out;
  void *stream; /* the last one that was to be waited for */
  double us;    /* that waiting took */
} waiting;

static int wait_or_not(void *stream) {
  double began = now_us();
  waiting.stream = stream;
  int result = waiting.left_out ? 0 : waiting.real(stream);
  waiting.us += now_us() - began;
  return result;
}

fnz_status __real_fnzi_cuda_driver_open(fnz_context *ctx, fnzi_cuda_driver *out);
fnz_status __wrap_fnzi_cuda_driver_open(fnz_context *ctx, fnzi_cuda_driver *out);
fnz_status __wrap_fnzi_cuda_driver_open(fnz_context *ctx, fnzi_cuda_driver *out) {
  FNZ_TRY(__real_fnzi_cuda_driver_open(ctx, out));
  waiting.real = out->stream_wait;
  out->stream_wait = wait_or_not;
  return FNZ_OK;
}

/* --- One program ------------------------------------------------------------------------------ */
typedef struct bench {
  fnz_context *ctx;
  fnzi_cuda_device device;
  void *stream;
  double seconds; /* of each measurement */
  fnz_program *p;
  fnz_executable *exe;
  fnz_executable_state *state;
  fnz_workspace *ws;
  fnz_memory in[MOST_SLOTS], out[MOST_SLOTS];
  int64_t strides[MOST_SLOTS][FNZ_MAX_RANK];
  fnz_geometry geometries[MOST_SLOTS];
  uint64_t bytes; /* inputs read, outputs written, the state both */
} bench;

typedef struct figures {
  double call, cpu, stream, issue;
} figures;

static uint64_t bytes_of(const fnz_geometry *g) {
  return (uint64_t)fnz_geometry_numel(g) * fnz_dtype_get_info(g->dtype)->bytes;
}

/* Numbers that all differ; integers are places at the front. */
static fnz_status fill(bench *b, uint64_t at, const fnz_geometry *g) {
  enum { PIECE = 1 << 22 };
  static uint32_t piece[PIECE / 4];
  uint64_t bytes = bytes_of(g), seed = at;
  bool halves = g->dtype == FNZ_F16 || g->dtype == FNZ_BF16;
  for (size_t i = 0; i < PIECE / 4; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    float f = (float)(int32_t)(seed >> 32) * 0x1p-31f;
    memcpy(&piece[i], &f, sizeof f);
    if (halves)
      piece[i] = (piece[i] >> 16) * 0x10001u;
    else if (!fnzi_is_float(g->dtype))
      piece[i] = 0;
  }
  for (uint64_t done = 0; done < bytes; done += PIECE)
    FNZ_TRY(fnzi_cuda_copy_in(b->ctx, &b->device, at + done, piece,
                              bytes - done < PIECE ? bytes - done : PIECE, b->stream));
  return fnzi_cuda_wait(b->ctx, &b->device, b->stream);
}

static fnz_status give_slot(bench *b, fnz_side side, size_t k) {
  const fnz_slot slot = fnz_executable_slot(b->exe, side, k);
  uint64_t at = 0;
  if (!slot.geometry)
    return FNZ_OK;
  b->bytes += bytes_of(slot.geometry);
  FNZ_TRY(fnzi_cuda_allocate(b->ctx, &b->device, bytes_of(slot.geometry), &at));
  if (side == FNZ_SIDE_OUTPUT) {
    b->out[k] = (fnz_memory){(void *)(uintptr_t)at, NULL};
    return FNZ_OK;
  }
  b->geometries[k] = *slot.geometry;
  b->geometries[k].strides = b->strides[k];
  b->geometries[k].offset = 0;
  fnzi_contiguous_strides(slot.geometry->sizes, slot.geometry->rank, b->strides[k]);
  b->in[k] = (fnz_memory){(void *)(uintptr_t)at, &b->geometries[k]};
  return fill(b, at, slot.geometry);
}

static fnz_status open_program(bench *b, const fnz_program *traced) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  options.device = "cuda";
  FNZ_TRY(fnz_functionalize(b->ctx, traced, NULL, &b->p));
  FNZ_TRY(fnz_compile(b->ctx, b->p, &options, &b->exe));
  FNZ_TRY(fnz_executable_state_create(b->ctx, b->exe, &b->state));
  FNZ_TRY(fnz_workspace_create(b->ctx, b->exe, &b->ws));
  for (size_t k = 0; k < fnz_executable_count(b->exe, FNZ_SIDE_INPUT) && k < MOST_SLOTS; k++)
    FNZ_TRY(give_slot(b, FNZ_SIDE_INPUT, k));
  for (size_t k = 0; k < fnz_executable_count(b->exe, FNZ_SIDE_OUTPUT) && k < MOST_SLOTS; k++)
    if (!fnz_executable_slot(b->exe, FNZ_SIDE_OUTPUT, k).in_state)
      FNZ_TRY(give_slot(b, FNZ_SIDE_OUTPUT, k));
  for (size_t k = 0; k < fnz_executable_count(b->exe, FNZ_SIDE_STATE); k++) {
    const fnz_slot slot = fnz_executable_slot(b->exe, FNZ_SIDE_STATE, k);
    b->bytes += slot.geometry ? 2 * bytes_of(slot.geometry) : 0;
  }
  return FNZ_OK;
}

static void close_program(bench *b) {
  fnz_workspace_destroy(b->ws);
  fnz_executable_state_destroy(b->state);
  fnz_executable_destroy(b->exe);
  fnz_program_destroy(b->p);
  for (size_t k = 0; k < MOST_SLOTS; k++) {
    fnzi_cuda_free(&b->device, (uint64_t)(uintptr_t)b->in[k].data);
    fnzi_cuda_free(&b->device, (uint64_t)(uintptr_t)b->out[k].data);
    b->in[k] = b->out[k] = (fnz_memory){NULL, NULL};
  }
  b->ws = NULL, b->state = NULL, b->exe = NULL, b->p = NULL, b->bytes = 0;
}

/* --- Measuring -------------------------------------------------------------------------------- */
typedef fnz_status call_fn(bench *b, const void *what);

static fnz_status run_once(bench *b, const void *what) {
  (void)what;
  const fnz_execution run = {.size = sizeof run,
                             .inputs = b->in,
                             .outputs = b->out,
                             .state = b->state,
                             .workspace = b->ws,
                             .on_device = true};
  return fnz_executable_run(b->ctx, b->exe, &run);
}

static int order(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *us, size_t count) {
  qsort(us, count, sizeof *us, order);
  return us[count / 2];
}

/* Calls that are waited for, one after the other. */
static fnz_status measure_calls(bench *b, call_fn *call, const void *what, figures *f) {
  static double us[MOST_ROUNDS], cpu[MOST_ROUNDS];
  size_t count = 0;
  for (double end = now_us() + b->seconds * 1e6; count < 3 || now_us() < end;) {
    waiting.us = 0;
    double began = now_us();
    FNZ_TRY(call(b, what));
    us[count] = now_us() - began;
    cpu[count] = us[count] - waiting.us;
    if (++count == MOST_ROUNDS)
      break;
  }
  f->call = median(us, count);
  f->cpu = median(cpu, count);
  return FNZ_OK;
}

/* Many calls and one wait, five times. */
static fnz_status measure_stream(bench *b, call_fn *call, const void *what, figures *f) {
  enum { TIMES = 5 };
  double us[TIMES], issue[TIMES], each = f->call > 1 ? f->call : 1;
  size_t count = (size_t)(b->seconds * 1e6 / TIMES / each) + 2;
  count = count > 500 ? 500 : count;
  for (int i = 0; i < TIMES; i++) {
    fnz_status status = FNZ_OK;
    waiting.left_out = true;
    double began = now_us();
    for (size_t n = 0; n < count && status == FNZ_OK; n++)
      status = call(b, what);
    issue[i] = (now_us() - began) / (double)count;
    waiting.left_out = false;
    FNZ_TRY(status);
    FNZ_TRY(fnzi_cuda_wait(b->ctx, &b->device, waiting.stream));
    us[i] = (now_us() - began) / (double)count;
  }
  f->stream = median(us, TIMES);
  f->issue = median(issue, TIMES);
  return FNZ_OK;
}

static fnz_status measure(bench *b, call_fn *call, const void *what, figures *f) {
  for (int warm = 0; warm < 4; warm++)
    FNZ_TRY(call(b, what));
  FNZ_TRY(measure_calls(b, call, what, f));
  return measure_stream(b, call, what, f);
}

/* --- Beside it -------------------------------------------------------------------------------- */
typedef struct copied {
  uint64_t from, to;
  size_t bytes;
} copied;

static fnz_status copy_once(bench *b, const void *what) {
  const copied *c = what;
  FNZ_TRY(fnzi_cuda_copy_within(b->ctx, &b->device, c->to, c->from, c->bytes, b->stream));
  return fnzi_cuda_wait(b->ctx, &b->device, b->stream);
}

/* Half of the bytes are read, and half are written. */
static fnz_status measure_copy(bench *b, uint64_t bytes, figures *f) {
  const int64_t cells = (int64_t)(bytes / 8), one = 1;
  copied c = {.bytes = (size_t)cells * 4};
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 1, .sizes = &cells, .strides = &one};
  if (cells == 0)
    return FNZ_OK;
  FNZ_TRY(fnzi_cuda_allocate(b->ctx, &b->device, c.bytes, &c.from));
  fnz_status status = fnzi_cuda_allocate(b->ctx, &b->device, c.bytes, &c.to);
  if (status == FNZ_OK)
    status = fill(b, c.from, &g);
  if (status == FNZ_OK)
    status = measure(b, copy_once, &c, f);
  fnzi_cuda_free(&b->device, c.from);
  fnzi_cuda_free(&b->device, c.to);
  return status;
}

typedef struct direct {
  fnzi_cuda_cublas cublas;
  fnzi_cuda_product_plan plan;
  fnzi_cuda_product_addresses at;
} direct;

static fnz_status multiply_once(bench *b, const void *what) {
  const direct *d = what;
  FNZ_TRY(fnzi_cuda_product_run(b->ctx, &d->cublas, "product", &d->plan, &d->at, b->stream));
  return fnzi_cuda_wait(b->ctx, &b->device, b->stream);
}

/* x @ y of the row, on the inputs of the program; mv_ has y transposed. */
static fnz_status measure_product(bench *b, const row *r, figures *f) {
  const int64_t m = r->name[1] == 'v' ? 1 : sized(r->rows), n = sized(r->rows),
                k = sized(r->columns);
  const fnz_dtype dtype = b->geometries[0].dtype;
  const fnzi_cuda_matrix y =
      r->name[1] == 'v' ? (fnzi_cuda_matrix){1, k, 0, 256} : (fnzi_cuda_matrix){n, 1, 0, 256};
  const fnzi_cuda_product product = {.dtype = dtype,
                                     .m = m,
                                     .n = n,
                                     .k = k,
                                     .count = 1,
                                     .a = {k, 1, 0, 256},
                                     .b = y,
                                     .c = {n, 1, 0, 256},
                                     .d = {n, 1, 0, 256},
                                     .alpha = 1};
  direct d = {.at = {.a = (uint64_t)(uintptr_t)b->in[0].data,
                     .b = (uint64_t)(uintptr_t)b->in[1].data,
                     .d = (uint64_t)(uintptr_t)b->out[0].data}};
  FNZ_TRY(fnzi_cuda_cublas_open(b->ctx, &d.cublas));
  fnz_status status = fnzi_cuda_product_make(b->ctx, &d.cublas, "product", &product, &d.plan);
  if (status == FNZ_OK) {
    status = fnzi_cuda_allocate(b->ctx, &b->device, d.plan.choice.scratch, &d.at.scratch);
    if (status == FNZ_OK)
      status = measure(b, multiply_once, &d, f);
    fnzi_cuda_free(&b->device, d.at.scratch);
    fnzi_cuda_product_end(&d.cublas, &d.plan);
  }
  fnzi_cuda_cublas_close(&d.cublas);
  return status;
}

/* --- Telling ---------------------------------------------------------------------------------- */
static void report(const char *name, uint64_t bytes, double flops, const figures *f,
                   const figures *copy, const figures *product) {
  printf(
      "{\"name\": \"%s\", \"bytes\": %llu, \"flops\": %.0f, \"call_us\": %.3f, \"cpu_us\": %.3f, "
      "\"stream_us\": %.3f, \"issue_us\": %.3f",
      name, (unsigned long long)bytes, flops, f->call, f->cpu, f->stream, f->issue);
  if (copy->stream > 0)
    printf(", \"copy_us\": %.3f", copy->stream);
  if (product->stream > 0)
    printf(", \"direct_us\": %.3f", product->stream);
  printf("}\n");
  fflush(stdout);
}

static double flops_of(const row *r) {
  if (strncmp(r->name, "mm_", 3) == 0)
    return 2.0 * (double)sized(r->rows) * (double)sized(r->rows) * (double)sized(r->columns);
  if (strncmp(r->name, "mv_", 3) == 0)
    return 2.0 * (double)sized(r->rows) * (double)sized(r->columns);
  return strncmp(r->name, "attention", 9) == 0 /* causal: half of both products */
             ? 32.0 * (double)sized(r->rows) * (double)sized(r->rows) * (double)sized(r->columns)
             : 0;
}

/* The state of a text, which has no numbers of its own, begins with zeros. */
static fnz_status clear_state(bench *b) {
  fnz_status status = FNZ_OK;
  fnz_arrays *zeros;
  FNZ_TRY(fnz_arrays_create(b->ctx, &zeros));
  for (size_t k = 0; k < fnz_executable_count(b->exe, FNZ_SIDE_STATE) && status == FNZ_OK; k++) {
    const fnz_slot slot = fnz_executable_slot(b->exe, FNZ_SIDE_STATE, k);
    const fnz_geometry *g = slot.geometry;
    void *data;
    status = fnz_arrays_add(zeros, slot.name, g->dtype, g->rank, g->sizes, &data);
    if (status == FNZ_OK)
      memset(data, 0, bytes_of(g));
  }
  if (status == FNZ_OK)
    status = fnz_executable_state_read(b->ctx, b->state, zeros);
  fnz_arrays_destroy(zeros);
  return status;
}

static fnz_status run_row(bench *b, const row *r) {
  static char text[ROOM];
  figures f = {0}, copy = {0}, product = {0};
  fnz_program *traced;
  FNZ_TRY(fnz_program_read(b->ctx, text, text_of(r, text), FNZ_FORMAT_TEXT, &traced));
  fnz_status status = open_program(b, traced);
  fnz_program_destroy(traced);
  if (status == FNZ_OK)
    status = clear_state(b);
  if (status == FNZ_OK && r->token) /* a row read, and written to the state */
    b->bytes = 2 * bytes_of(&b->geometries[0]);
  if (status == FNZ_OK)
    status = measure(b, run_once, NULL, &f);
  uint64_t bytes = b->bytes;
  double flops = flops_of(r);
  if (status == FNZ_OK && flops > 0 && r->name[0] == 'm' &&
      measure_product(b, r, &product) != FNZ_OK)
    fprintf(stderr, "%s: %s\n", r->name, fnz_last_error(b->ctx)->message);
  close_program(b);
  if (status == FNZ_OK)
    status = measure_copy(b, bytes, &copy);
  if (status == FNZ_OK)
    report(r->name, bytes, flops, &f, &copy, &product);
  return status;
}

static fnz_status run_file(bench *b, const char *path) {
  figures f = {0}, none = {0};
  fnz_program *traced;
  FNZ_TRY(fnz_program_load(b->ctx, path, FNZ_FORMAT_AUTO, &traced));
  fnz_status status = open_program(b, traced);
  fnz_program_destroy(traced);
  if (status == FNZ_OK)
    status = measure(b, run_once, NULL, &f);
  uint64_t bytes = b->bytes;
  close_program(b);
  if (status == FNZ_OK)
    report(path, bytes, 0, &f, &none, &none);
  return status;
}

/* True where it was done; why it was not is said, and the next one comes. */
static bool run_name(bench *b, const char *name) {
  fnz_status status = FNZ_OK;
  const row *r = rows;
  while (r < rows + ROWS && strcmp(r->name, name) != 0)
    r++;
  status = r < rows + ROWS ? run_row(b, r) : run_file(b, name);
  if (status != FNZ_OK)
    fprintf(stderr, "%s: %s: %s\n", name, fnz_last_error(b->ctx)->where,
            fnz_last_error(b->ctx)->message);
  return status == FNZ_OK;
}

static int run_all(bench *b, char **names, int count) {
  int failed = 0;
  for (int i = 0; i < count; i++)
    failed += !run_name(b, names[i]);
  for (int i = 0; i < ROWS && count == 0; i++)
    failed += !run_name(b, rows[i].name);
  return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
  static bench b = {.seconds = 0.2};
  const char *device = "cuda";
  int at = 1;
  for (; at < argc && strncmp(argv[at], "--", 2) == 0; at++) {
    bool has_word = at + 1 < argc;
    if (strcmp(argv[at], "--small") == 0)
      is_small = true;
    else if (has_word && strcmp(argv[at], "--seconds") == 0)
      b.seconds = atof(argv[++at]);
    else if (has_word && strcmp(argv[at], "--device") == 0)
      device = argv[++at];
    else
      return fprintf(stderr, "bench_device: %s is no option\n", argv[at]), 64;
  }
  if (fnz_context_create(NULL, &b.ctx) != FNZ_OK)
    return EXIT_FAILURE;
  if (fnzi_cuda_device_open(b.ctx, NULL, device, NULL, &b.device) != FNZ_OK ||
      fnzi_cuda_enter(b.ctx, &b.device) != FNZ_OK ||
      fnzi_cuda_stream_make(b.ctx, &b.device, &b.stream) != FNZ_OK)
    return fprintf(stderr, "bench_device: %s\n", fnz_last_error(b.ctx)->message), EXIT_FAILURE;
  int code = run_all(&b, argv + at, argc - at);
  fnzi_cuda_stream_end(&b.device, b.stream);
  fnzi_cuda_leave(&b.device);
  fnzi_cuda_device_close(&b.device);
  fnz_context_destroy(b.ctx);
  return code;
}
