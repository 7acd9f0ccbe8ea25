/* command.c - what the whole command costs, from fork to exit: bench_command FNZ ROUNDS [MODEL...].
 *
 * Runs take turns, so that other work on the machine falls on all of them: --version, a program of
 * two nodes, a model of LAYERS layers with 14 MB of weights (made here), to CBOR and to MLIR, and
 * each MODEL. Prints wall time and time of the processors in milliseconds, least and median, and
 * page faults. */
#include "program/program.h"

#include <fnz/formats.h>

#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { LAYERS = 100, SIDE = 187, MOST_RUNS = 16, MOST_ROUNDS = 1000 };

#define SMALL_FILE "bench_command_small.fnz"
#define MODEL_FILE "bench_command_model.pt2"
#define OUTPUT     "bench_command_out.cbor"
#define MLIR       "bench_command_out.mlir"
#define WEIGHTS    "bench_command_out.safetensors" /* beside that */

/* One line of the result; `in` NULL is --version. */
typedef struct line {
  const char *verb, *in, *out;
  double wall[MOST_ROUNDS], work[MOST_ROUNDS];
  long faults;
} line;

typedef struct bench {
  const char *command;
  line *lines;
  int count, rounds;
} bench;

/* --- Programs --------------------------------------------------------------------------------- */
static const char small[] =
    "fnz 1\nprogram(\n  %x: f32[4])\n{\n  %s: f32[2] offset(1) = slice.Tensor(%x, 0, 1, 3)\n"
    "  %a: f32[2] offset(1) = add_.Scalar(%s, 1)\n  return %x\n}\n";

/* Layers of five nodes, as networks have them: a product, a statistic that is written in place, and
 * an activation in place. */
static fnz_status put_layers(fnz_context *ctx, fnz_buffer *out) {
  FNZ_TRY(fnzi_put_text(ctx, out, "fnz 1\nprogram(\n  %x: f32[8, 187]"));
  for (int i = 0; i < LAYERS; i++)
    FNZ_TRY(fnzi_printf(ctx, out,
                        ",\n  %%w%d: f32[187, 187] parameter \"layer.%d.weight\""
                        ",\n  %%n%d: i64[] buffer \"layer.%d.count\"",
                        i, i, i, i));
  FNZ_TRY(fnzi_put_text(ctx, out, ")\n{\n"));
  for (int i = 0; i < LAYERS; i++) {
    char from[16] = "x";
    if (i)
      snprintf(from, sizeof from, "o%d", i - 1);
    FNZ_TRY(fnzi_printf(ctx, out,
                        "  %%t%d: f32[187, 187] stride(1, 187) = t(%%w%d)\n"
                        "  %%c%d: i64[] = add_.Scalar(%%n%d, 1)\n"
                        "  %%m%d: f32[8, 187] = mm(%%%s, %%t%d)\n"
                        "  %%r%d: f32[8, 187] = relu_(%%m%d)\n"
                        "  %%o%d: f32[8, 187] = mul.Scalar(%%r%d, 0.5)\n",
                        i, i, i, i, i, from, i, i, i, i, i));
  }
  return fnzi_printf(ctx, out, "  return %%o%d\n}\n", LAYERS - 1);
}

/* The text has no place for the numbers themselves. */
static fnz_status add_weights(fnz_program *p) {
  const fnzi_graph *g = fnzi_graph_main(p);
  for (uint32_t i = 1; i < g->ninputs; i++) {
    const fnz_geometry *looks = fnzi_value_at(p, 0, g->inputs[i].u.value)->geometry;
    size_t bytes =
        (size_t)fnz_geometry_numel(looks) * (size_t)fnz_dtype_get_info(looks->dtype)->bytes;
    fnzi_blob *blob;
    FNZ_TRY(fnzi_blob_create(p->ctx, bytes, &blob));
    memset(fnzi_blob_data(blob), (int)i, bytes);
    fnz_status status = fnzi_weight_add(p, p->inputs[i].target, blob, looks);
    fnzi_blob_release(blob);
    FNZ_TRY(status);
  }
  return FNZ_OK;
}

static fnz_status make_model(fnz_context *ctx, fnz_buffer *text, fnz_buffer *file,
                             fnz_program **program) {
  FNZ_TRY(put_layers(ctx, text));
  FNZ_TRY(fnz_program_read(ctx, text->data, text->size, FNZ_FORMAT_TEXT, program));
  FNZ_TRY(add_weights(*program));
  FNZ_TRY(fnz_program_write(ctx, *program, FNZ_FORMAT_PT2, file));
  FNZ_TRY(fnz_file_write(ctx, SMALL_FILE, small, sizeof small - 1));
  return fnz_file_write(ctx, MODEL_FILE, file->data, file->size);
}

static bool make_files(void) {
  fnz_context *ctx;
  fnz_buffer text = {0}, file = {0};
  fnz_program *program = NULL;
  if (fnz_context_create(NULL, &ctx) != FNZ_OK)
    return false;
  fnz_status status = make_model(ctx, &text, &file, &program);
  if (status != FNZ_OK)
    fprintf(stderr, "%s: %s\n", fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);
  fnz_program_destroy(program);
  fnz_buffer_free(ctx, &text);
  fnz_buffer_free(ctx, &file);
  fnz_context_destroy(ctx);
  return status == FNZ_OK;
}

/* --- Measuring -------------------------------------------------------------------------------- */
static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double to_ms(struct timeval t) {
  return (double)t.tv_sec * 1e3 + (double)t.tv_usec * 1e-3;
}

static double work_ms(const struct rusage *u) {
  return to_ms(u->ru_utime) + to_ms(u->ru_stime);
}

static bool run_once(const bench *b, line *l, int round) {
  char *version[] = {(char *)(uintptr_t)b->command, "--version", NULL};
  char *verb[] = {version[0], (char *)(uintptr_t)l->verb, (char *)(uintptr_t)l->in,
                  "-o",       (char *)(uintptr_t)l->out,  NULL};
  if (strcmp(l->verb, "verify") == 0)
    verb[3] = NULL;
  char *environment[] = {NULL};
  struct rusage before, after;
  posix_spawn_file_actions_t quiet;
  int status = -1;
  pid_t pid;
  if (posix_spawn_file_actions_init(&quiet) != 0)
    return false;
  bool ready = posix_spawn_file_actions_addopen(&quiet, 1, "/dev/null", O_WRONLY, 0) == 0;
  getrusage(RUSAGE_CHILDREN, &before);
  double start = now_ms();
  if (ready &&
      posix_spawn(&pid, version[0], &quiet, NULL, l->in ? verb : version, environment) == 0)
    waitpid(pid, &status, 0);
  l->wall[round] = now_ms() - start;
  getrusage(RUSAGE_CHILDREN, &after);
  posix_spawn_file_actions_destroy(&quiet);
  l->work[round] = work_ms(&after) - work_ms(&before);
  l->faults = after.ru_minflt - before.ru_minflt;
  return status == 0;
}

static int by_size(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void report(line *l, int rounds) {
  qsort(l->wall, (size_t)rounds, sizeof *l->wall, by_size);
  qsort(l->work, (size_t)rounds, sizeof *l->work, by_size);
  printf("%8.2f %8.2f %8.2f %8.2f %8ld  %s %s%s\n", l->wall[0], l->wall[rounds / 2], l->work[0],
         l->work[rounds / 2], l->faults, l->verb, l->in ? l->in : "",
         strcmp(l->out, MLIR) == 0 ? " to mlir" : "");
}

static int measure(bench *b) {
  for (int round = 0; round < b->rounds; round++)
    for (int i = 0; i < b->count; i++)
      if (!run_once(b, &b->lines[i], round)) {
        fprintf(stderr, "%s %s failed\n", b->command, b->lines[i].verb);
        return EXIT_FAILURE;
      }
  printf("%8s %8s %8s %8s %8s\n", "wall", "median", "work", "median", "faults");
  for (int i = 0; i < b->count; i++)
    report(&b->lines[i], b->rounds);
  return EXIT_SUCCESS;
}

static void add(bench *b, const char *verb, const char *in, const char *out) {
  if (b->count < MOST_RUNS)
    b->lines[b->count++] = (line){.verb = verb, .in = in, .out = out};
}

int main(int argc, char **argv) {
  if (argc < 3) {
    fputs("usage: bench_command FNZ ROUNDS [MODEL...]\n", stderr);
    return EXIT_FAILURE;
  }
  long rounds = strtol(argv[2], NULL, 10);
  bench b = {.command = argv[1], .rounds = rounds > MOST_ROUNDS ? MOST_ROUNDS : (int)rounds};
  b.lines = calloc(MOST_RUNS, sizeof *b.lines);
  if (!b.lines || b.rounds < 1 || !make_files()) {
    free(b.lines);
    return EXIT_FAILURE;
  }
  add(&b, "--version", NULL, OUTPUT);
  add(&b, "convert", SMALL_FILE, OUTPUT);
  add(&b, "convert", MODEL_FILE, OUTPUT);
  add(&b, "convert", MODEL_FILE, MLIR);
  for (int i = 3; i < argc; i++) {
    add(&b, "convert", argv[i], OUTPUT);
    add(&b, "verify", argv[i], OUTPUT);
  }
  int result = measure(&b);
  free(b.lines);
  unlink(SMALL_FILE);
  unlink(MODEL_FILE);
  unlink(OUTPUT);
  unlink(MLIR);
  unlink(WEIGHTS);
  return result;
}
