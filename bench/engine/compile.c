/* compile.c - what compiling a program for the engine takes: order, plan, its proof, calls and
 * tiles.
 *
 *   bench_compile [N]        each shape of programs, of 10^3 values up to N (10^5)
 *   bench_compile N SHAPE    that shape, of N
 *   bench_compile FILE...    programs
 *
 * Prints processor time, the least of some rounds, and milliseconds per 1,000 values that nodes
 * give: where these grow with the number of values, something is not linear. compile.py counts
 * instructions. */
#include "program/program.h"

#include <fnz/fnz.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 3, ROWS = 64, TENSORS = 200 };

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* --- Shapes: text of about `n` nodes ---------------------------------------------------------- */
static void write_pointwise(FILE *to, size_t n) {
  static const char *const ops[] = {"add.Tensor(%%v%zu, %%y)", "mul.Tensor(%%v%zu, %%x)",
                                    "relu(%%v%zu)", "sub.Tensor(%%v%zu, %%y)"};
  enum { OPS = sizeof ops / sizeof *ops };
  fputs("program(%x: f32[8,16], %y: f32[8,16])\n{\n  %v0: f32[8,16] = neg(%x)\n", to);
  for (size_t i = 1; i < n; i++) {
    fprintf(to, "  %%v%zu: f32[8,16] = ", i);
    fprintf(to, ops[i % OPS], i - 1);
    fputs("\n", to);
  }
  fprintf(to, "  return %%v%zu\n}\n", n - 1);
}

static void write_layers(FILE *to, size_t n) {
  fputs("program(%x: f32[8,16], %y: f32[8,16])\n{\n  %g0: f32[8,16] = neg(%x)\n", to);
  size_t last = n / 8 + 1;
  for (size_t i = 1; i <= last; i++)
    fprintf(to,
            "  %%a%zu: f32[8,16] = mul.Tensor(%%g%zu, %%y)\n"
            "  %%b%zu: f32[8,16] = add.Tensor(%%a%zu, %%x)\n"
            "  %%c%zu: f32[16,8] = t(%%b%zu)\n"
            "  %%d%zu: f32[8,8] = mm(%%b%zu, %%c%zu)\n"
            "  %%e%zu: f32[8,8] = _softmax(%%d%zu, 1, False)\n"
            "  %%f%zu: f32[8,16] = mm(%%e%zu, %%b%zu)\n"
            "  %%g%zu: f32[8,16] = relu(%%f%zu)\n"
            "  %%h%zu: f32[8] = sum.dim_IntList(%%g%zu, [1])\n",
            i, i - 1, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i, i);
  fprintf(to, "  return %%g%zu, %%h%zu\n}\n", last, last);
}

/* [%NAME_first, ...], with what follows each name. */
static void write_list(FILE *to, const char *name, size_t first, const char *type) {
  for (size_t i = 0; i < TENSORS; i++)
    fprintf(to, "%s%%%s%zu%s", i ? ", " : "[", name, first + i, type);
  fputs("]", to);
}

typedef struct list_call {
  const char *op, *lists[3], *numbers;
} list_call;

static void write_call(FILE *to, const list_call *call, size_t first) {
  fprintf(to, "%s(", call->op);
  for (size_t k = 0; k < 3 && call->lists[k]; k++) {
    fputs(k ? ", " : "", to);
    write_list(to, call->lists[k], first, "");
  }
  fprintf(to, "%s)\n", call->numbers);
}

/* As torch.optim.Adam() has it, on lists of TENSORS tensors. */
static void write_adam(FILE *to, size_t n) {
  static const char *const inputs[] = {"p", "g", "m", "s"};
  static const list_call calls[] = {{"_foreach_lerp_.Scalar", {"m", "g"}, ", 0.1"},
                                    {"_foreach_mul_.Scalar", {"s"}, ", 0.999"},
                                    {"_foreach_addcmul_.Scalar", {"s", "g", "g"}, ", 0.001"},
                                    {"_foreach_sqrt", {"s"}, ""}, /* gives new tensors: d */
                                    {"_foreach_add_.Scalar", {"d"}, ", 1e-8"},
                                    {"_foreach_addcdiv_.Scalar", {"p", "m", "d"}, ", -0.001"}};
  enum { CALLS = sizeof calls / sizeof *calls };
  size_t count = (n / CALLS + TENSORS - 1) / TENSORS * TENSORS;
  fputs("program(%x: f32[]", to);
  for (size_t l = 0; l < sizeof inputs / sizeof *inputs; l++)
    for (size_t i = 0; i < count; i++)
      fprintf(to, ",\n  %%%s%zu: f32[32,8]", inputs[l], i);
  fputs(")\n{\n", to);
  for (size_t first = 0; first < count; first += TENSORS)
    for (size_t c = 0; c < CALLS; c++) {
      if (strcmp(calls[c].op, "_foreach_sqrt") == 0) {
        write_list(to, "d", first, ": f32[32,8]");
        fputs(" = ", to);
      }
      write_call(to, &calls[c], first);
    }
  fputs("  return %x\n}\n", to);
}

/* Rows of a cache are written in turn, through views of views, and others are read. */
static void write_cache(FILE *to, size_t n) {
  size_t last = n / 5 + 1;
  fprintf(to, "program(%%cache: f32[%d,8], %%x0: f32[8])\n{\n", ROWS);
  for (size_t i = 1; i <= last; i++) {
    size_t row = i % ROWS, other = (i + 7) % ROWS;
    fprintf(to, "  %%a%zu: f32[1,8] offset(%zu) = slice.Tensor(%%cache, 0, %zu, %zu)\n", i, row * 8,
            row, row + 1);
    fprintf(to, "  %%b%zu: f32[8] offset(%zu) = select.int(%%a%zu, 0, 0)\n", i, row * 8, i);
    fprintf(to, "  %%c%zu: f32[8] offset(%zu) = add_.Tensor(%%b%zu, %%x%zu)\n", i, row * 8, i,
            i - 1);
    fprintf(to, "  %%d%zu: f32[8] offset(%zu) = select.int(%%cache, 0, %zu)\n", i, other * 8,
            other);
    fprintf(to, "  %%x%zu: f32[8] = mul.Tensor(%%d%zu, %%x%zu)\n", i, i, i - 1);
  }
  fprintf(to, "  return %%x%zu\n}\n", last);
}

typedef struct shape {
  const char *name;
  void (*write)(FILE *to, size_t n);
} shape;

static const shape shapes[] = {{"pointwise", write_pointwise},
                               {"layers", write_layers},
                               {"adam", write_adam},
                               {"cache", write_cache}};

static fnz_status build(fnz_context *ctx, const shape *s, size_t n, fnz_program **out) {
  char *text;
  size_t size;
  FILE *to = open_memstream(&text, &size);
  if (!to)
    return FNZ_NO_MEMORY;
  fputs("fnz 1\n", to);
  s->write(to, n);
  fclose(to);
  fnz_status status = fnz_program_read(ctx, text, size, FNZ_FORMAT_TEXT, out);
  free(text);
  return status;
}

/* --- Measuring -------------------------------------------------------------------------------- */
static size_t values_made(const fnz_program *p) {
  const fnzi_graph *g = fnzi_graph_main(p);
  return g->values.count - g->ninputs;
}

static fnz_status measure(fnz_context *ctx, const fnz_program *program, double *least) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  options.threads = 1;
  *least = 1e30;
  for (int i = 0; i < ROUNDS; i++) {
    double start = now_ms();
    FNZ_TRY(fnz_compile(ctx, program, &options, &exe));
    double took = now_ms() - start;
    *least = took < *least ? took : *least;
    fnz_executable_destroy(exe);
  }
  return FNZ_OK;
}

static fnz_status report(fnz_context *ctx, const char *name, const fnz_program *traced) {
  fnz_program *program;
  double least;
  FNZ_TRY(fnz_functionalize(ctx, traced, NULL, &program));
  fnz_status status = measure(ctx, program, &least);
  double values = (double)values_made(program);
  if (status == FNZ_OK)
    printf("%-12s %8.0f values %10.3f ms %8.3f ms per 1,000, %d rounds\n", name, values, least,
           least / values * 1e3, ROUNDS);
  fnz_program_destroy(program);
  return status;
}

static fnz_status report_shape(fnz_context *ctx, const shape *s, size_t n) {
  fnz_program *traced;
  FNZ_TRY(build(ctx, s, n, &traced));
  fnz_status status = report(ctx, s->name, traced);
  fnz_program_destroy(traced);
  return status;
}

static fnz_status report_file(fnz_context *ctx, const char *path) {
  fnz_program *traced;
  FNZ_TRY(fnz_program_load(ctx, path, FNZ_FORMAT_AUTO, &traced));
  fnz_status status = report(ctx, path, traced);
  fnz_program_destroy(traced);
  return status;
}

/* From `first` on, ten times as many each time. */
static fnz_status report_shapes(fnz_context *ctx, size_t first, size_t last, const char *only) {
  for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
    for (size_t n = first; n <= last; n *= 10)
      if (!only || strcmp(only, shapes[k].name) == 0)
        FNZ_TRY(report_shape(ctx, &shapes[k], n));
  return FNZ_OK;
}

int main(int argc, char **argv) {
  fnz_context *ctx;
  fnz_status status = FNZ_OK;
  size_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 0;
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return EXIT_FAILURE;
  if (argc < 2 || n >= 1000)
    status = report_shapes(ctx, argc > 2 ? n : 1000, n ? n : 100000, argc > 2 ? argv[2] : NULL);
  for (int k = 1; n == 0 && status == FNZ_OK && k < argc; k++)
    status = report_file(ctx, argv[k]);
  if (status != FNZ_OK)
    fprintf(stderr, "%s\n", fnz_last_error(ctx)->message);
  fnz_context_destroy(ctx);
  return status == FNZ_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
