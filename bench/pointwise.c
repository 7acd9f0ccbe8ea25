/* pointwise.c - what elementwise calls cost an element: argv[1] elements (100,000), the least of
 * many rounds. Prints nanoseconds an element and page faults a call of chains as models have them.
 */
#include <fnz/fnz.h>
#include <fnz/ops.h>

#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { ROUNDS = 60, SIDE = 320 };

typedef struct bench {
  fnz_context *ctx;
  fnz_backend *backend;
  fnz_eager a, b, square;
} bench;

typedef fnz_status a_chain(bench *b, fnz_eager *out);

static double now_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* Add, tanh, multiply, exp in turn: eight calls. */
static fnz_status mixed(bench *b, fnz_eager *out) {
  fnz_eager x = b->a;
  fnz_status status = FNZ_OK;
  for (int i = 0; i < 8 && status == FNZ_OK; i++) {
    fnz_eager y = {NULL, 0};
    status = i % 4 == 0   ? fnz_aten_add_Tensor(b->ctx, x, b->b, fnz_scalar_int(1), &y)
             : i % 4 == 1 ? fnz_aten_tanh(b->ctx, x, &y)
             : i % 4 == 2 ? fnz_aten_mul_Tensor(b->ctx, x, b->b, &y)
                          : fnz_aten_exp(b->ctx, x, &y);
    if (i > 0)
      fnz_eager_release(x);
    x = y;
  }
  *out = x;
  return status;
}

static fnz_status cheap(bench *b, fnz_eager *out) {
  fnz_eager x = {NULL, 0};
  fnz_status status = fnz_aten_mul_Tensor(b->ctx, b->a, b->b, &x);
  if (status == FNZ_OK)
    status = fnz_aten_add_Tensor(b->ctx, x, b->a, fnz_scalar_int(1), out);
  fnz_eager_release(x);
  return status;
}

static fnz_status transposed(bench *b, fnz_eager *out) {
  fnz_eager t = {NULL, 0};
  fnz_status status = fnz_aten_t(b->ctx, b->square, &t);
  if (status == FNZ_OK)
    status = fnz_aten_add_Tensor(b->ctx, t, b->square, fnz_scalar_int(1), out);
  fnz_eager_release(t);
  return status;
}

static fnz_status measure(bench *b, const char *name, a_chain *chain, int64_t count) {
  double least = 1e9;
  struct rusage before, after;
  getrusage(RUSAGE_SELF, &before);
  for (int i = 0; i < ROUNDS; i++) {
    fnz_eager out = {NULL, 0};
    double start = now_seconds();
    fnz_status status = chain(b, &out);
    fnz_eager_release(out);
    if (status != FNZ_OK)
      return status;
    double took = now_seconds() - start;
    least = took < least ? took : least;
  }
  getrusage(RUSAGE_SELF, &after);
  printf("%-12s %8.3f ns an element %8.1f faults\n", name, least * 1e9 / (double)count,
         (double)(after.ru_minflt - before.ru_minflt) / ROUNDS);
  return FNZ_OK;
}

static fnz_status upload(bench *b, uint32_t rank, const int64_t *sizes, const int64_t *strides,
                         int64_t count, fnz_eager *out) {
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = rank, .sizes = sizes, .strides = strides};
  float *cells = malloc((size_t)count * sizeof *cells);
  if (!cells)
    return FNZ_NO_MEMORY;
  for (int64_t i = 0; i < count; i++)
    cells[i] = (float)(i % 1000) * 1e-3f - 0.5f;
  out->backend = b->backend;
  fnz_status status = b->backend->upload(b->backend->self, b->ctx, &g, cells, &out->handle);
  free(cells);
  return status;
}

static fnz_status run(bench *b, int64_t count) {
  const int64_t one = 1, sides[2] = {SIDE, SIDE}, strides[2] = {SIDE, 1};
  fnz_status status = upload(b, 1, &count, &one, count, &b->a);
  if (status == FNZ_OK)
    status = upload(b, 1, &count, &one, count, &b->b);
  if (status == FNZ_OK)
    status = upload(b, 2, sides, strides, SIDE * SIDE, &b->square);
  if (status == FNZ_OK)
    status = measure(b, "mixed 8", mixed, count);
  if (status == FNZ_OK)
    status = measure(b, "cheap 2", cheap, count);
  if (status == FNZ_OK)
    status = measure(b, "transposed", transposed, SIDE * SIDE);
  return status;
}

int main(int argc, char **argv) {
  long count = argc > 1 ? strtol(argv[1], NULL, 10) : 100000;
  bench b = {.ctx = NULL};
  fnz_status status = fnz_context_create(NULL, &b.ctx);
  if (status == FNZ_OK)
    status = fnz_cpu_backend_create(b.ctx, 1, &b.backend);
  if (status == FNZ_OK)
    status = run(&b, count > 0 ? count : 1);
  fnz_eager_release(b.a);
  fnz_eager_release(b.b);
  fnz_eager_release(b.square);
  fnz_backend_destroy(b.backend);
  fnz_context_destroy(b.ctx);
  return status == FNZ_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
