/* dispatch.c - what a call costs that computes next to nothing: operators on tensors of eight
 * elements, by the stack and by the typed functions. argv[1] is the number of calls (10^6).
 *
 * Prints one line per operator: name, nanoseconds per call by the stack, and by the typed function.
 * Both make and release the result. bench/dispatch_against_torch.py puts eager PyTorch beside it.
 */
#include <fnz/fnz.h>
#include <fnz/ops.h>

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ELEMENTS = 8, TRIES = 5 };

typedef struct bench {
  fnz_context *ctx;
  fnz_backend *backend;
  fnz_stack *stack;
  fnz_eager a, b;
} bench;

static double now_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* --- One call each ---------------------------------------------------------------------------- */

static fnz_status by_stack(bench *b, const fnz_op *op, bool binary) {
  fnz_push_tensor(b->stack, b->a);
  if (binary)
    fnz_push_tensor(b->stack, b->b);
  fnz_status status = fnz_call(b->ctx, op, b->stack);
  fnz_eager_release(fnz_pop_tensor(b->stack));
  return status;
}

static fnz_status typed_add(bench *b) {
  fnz_eager sum = {NULL, 0};
  fnz_status status = fnz_aten_add_Tensor(b->ctx, b->a, b->b, fnz_scalar_int(1), &sum);
  fnz_eager_release(sum);
  return status;
}

static fnz_status typed_add_inplace(bench *b) {
  return fnz_aten_add__Tensor(b->ctx, b->a, b->b, fnz_scalar_int(1));
}

static fnz_status typed_mul(bench *b) {
  fnz_eager product = {NULL, 0};
  fnz_status status = fnz_aten_mul_Tensor(b->ctx, b->a, b->b, &product);
  fnz_eager_release(product);
  return status;
}

static fnz_status typed_alias(bench *b) {
  fnz_eager view = {NULL, 0};
  fnz_status status = fnz_aten_detach(b->ctx, b->a, &view);
  fnz_eager_release(view);
  return status;
}

static const struct {
  const char *name;
  bool binary;
  fnz_status (*typed)(bench *b);
} rows[] = {
    {"add.Tensor", true, typed_add},
    {"add_.Tensor", true, typed_add_inplace},
    {"mul.Tensor", true, typed_mul},
    {"detach", false, typed_alias},
};

/* --- Measuring -------------------------------------------------------------------------------- */

/* Nanoseconds per call, the best of several tries; below 0 after a failure. */
static double measure(bench *b, size_t row, long calls, bool typed) {
  const fnz_op *op = fnz_op_find(NULL, rows[row].name);
  double best = -1;
  for (int t = 0; t < TRIES; t++) {
    fnz_status status = FNZ_OK;
    double start = now_seconds();
    for (long i = 0; i < calls && status == FNZ_OK; i++)
      status = typed ? rows[row].typed(b) : by_stack(b, op, rows[row].binary);
    double seconds = now_seconds() - start;
    if (status != FNZ_OK)
      return -1;
    if (best < 0 || seconds < best)
      best = seconds;
  }
  return best * 1e9 / (double)calls;
}

static fnz_status upload(bench *b, fnz_eager *out) {
  static const float ones[ELEMENTS] = {1, 1, 1, 1, 1, 1, 1, 1};
  static const int64_t size = ELEMENTS, stride = 1;
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = 1, .sizes = &size, .strides = &stride};
  out->backend = b->backend;
  return b->backend->upload(b->backend->self, b->ctx, &g, ones, &out->handle);
}

static bool start(bench *b) {
  return fnz_context_create(NULL, &b->ctx) == FNZ_OK &&
         fnz_cpu_backend_create(b->ctx, 1, &b->backend) == FNZ_OK &&
         fnz_stack_create(b->ctx, b->backend, &b->stack) == FNZ_OK && upload(b, &b->a) == FNZ_OK &&
         upload(b, &b->b) == FNZ_OK;
}

static bool run(bench *b, long calls) {
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    double stack = measure(b, i, calls, false), typed = measure(b, i, calls, true);
    if (stack < 0 || typed < 0) {
      fprintf(stderr, "%s: %s\n", rows[i].name, fnz_last_error(b->ctx)->message);
      return false;
    }
    printf("%s %.1f %.1f\n", rows[i].name, stack, typed);
  }
  return true;
}

int main(int argc, char **argv) {
  long calls = argc > 1 ? strtol(argv[1], NULL, 10) : 1000000;
  bench b = {NULL, NULL, NULL, {NULL, 0}, {NULL, 0}};
  bool done = start(&b) && run(&b, calls > 0 ? calls : 1);
  fnz_eager_release(b.a);
  fnz_eager_release(b.b);
  fnz_stack_destroy(b.stack);
  fnz_backend_destroy(b.backend);
  fnz_context_destroy(b.ctx);
  return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
