/* kernels.c - single kernels of two builds of the library, in turns in one process.
 *
 *   bench_kernels MILLISECONDS [OLD.so NEW.so [THREADS [PART]]]
 *
 * Prints a line per kernel: its call, microseconds of the old and the new library (the least of
 * many rounds), and their ratio. Without libraries it times itself twice. An argument of a call is
 * a tensor x8.16 of random f32, i3 an integer, f0.5 a float, b1 a truth, n nothing, d the default,
 * l1.1 a list of integers. */
#include <fnz/fnz.h>

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_ARGS = 12, MOST_LIST = 4, SIDES = 2 };

static const char *const calls[] = {
    "softmax.int x64.128 i1",
    "softmax.int x512.1024 i1",
    "softmax.int x100.1000 i1",
    "softmax.int x64.1000.16 i1",
    "log_softmax.int x512.1024 i1",
    "layer_norm x64.128 l128 x128 x128",
    "layer_norm x512.1024 l1024 x1024 x1024",
    "rms_norm x512.1024 l1024 x1024",
    "group_norm x8.64.16.16 i8 x64 x64",
    "_native_batch_norm_legit_functional x4.96.56.56 x96 x96 x96 x96 b1 f0.1 f0.00001",
    "_native_batch_norm_legit_no_training x4.96.56.56 x96 x96 x96 x96 f0.1 f0.00001",
    "sum x100000",
    "sum x10000000",
    "mean.dim x100.1000 l1",
    "sum.dim_IntList x1000.100 l0",
    "linear x1.1024 x1024.1024 n",
    "linear x4.1024 x1024.1024 n",
    "linear x8.1024 x1024.1024 n",
    "linear x1.64 x64.64 n",
    "mm x1.1024 x1024.1024",
    "mv x1024.1024 x1024",
    "linear x128.256 x256.256 n",
    "conv2d x1.64.56.56 x64.64.3.3 n l1.1 l1.1",
    "conv2d x1.256.14.14 x256.256.3.3 n l1.1 l1.1",
    "conv2d x1.16.16.16 x16.16.1.1 n l1.1 l0.0",
    "conv2d x1.96.28.28 x96.1.3.3 n l1.1 l1.1 l1.1 i96",
    "conv2d x4.64.28.28 x128.64.3.3 n l2.2 l1.1",
    "scaled_dot_product_attention x1.8.512.64 x1.8.512.64 x1.8.512.64",
    "scaled_dot_product_attention x1.8.512.64 x1.8.512.64 x1.8.512.64 n f0 b1",
    "scaled_dot_product_attention x1.8.512.64 x1.8.512.64 x1.8.512.64 x512.512",
    "scaled_dot_product_attention x1.8.1.64 x1.8.512.64 x1.8.512.64",
    "max_pool2d x1.64.112.112 l3.3 l2.2 l1.1"};

/* One library and the call's arguments in it. */
typedef struct side {
  const fnz_op *(*find)(const fnz_context *ctx, const char *name);
  fnz_status (*open)(fnz_context *ctx, int threads, fnz_backend **out);
  fnz_status (*context)(const fnz_allocator *allocator, fnz_context **out);
  fnz_context *ctx;
  fnz_backend *backend;
  const fnz_op *op;
  fnz_arg args[MOST_ARGS], lists[MOST_ARGS][MOST_LIST];
  size_t nargs;
  double best;
} side;

static double now_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static bool load(side *s, const char *path) {
  void *library = path ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  s->find = fnz_op_find, s->open = fnz_cpu_backend_create, s->context = fnz_context_create;
  if (!path)
    return true;
  if (!library) {
    fprintf(stderr, "%s\n", dlerror());
    return false;
  }
  *(void **)&s->find = dlsym(library, "fnz_op_find");
  *(void **)&s->open = dlsym(library, "fnz_cpu_backend_create");
  *(void **)&s->context = dlsym(library, "fnz_context_create");
  return s->find && s->open && s->context;
}

static int numbers(const char *text, int64_t *out) {
  int n = 0;
  for (char *end; *text && n < MOST_LIST; text = *end ? end + 1 : end)
    out[n++] = strtoll(text, &end, 10);
  return n;
}

static fnz_status upload(side *s, const char *text, fnz_arg *out) {
  int64_t sizes[MOST_LIST], strides[MOST_LIST], count = 1;
  uint32_t rank = (uint32_t)numbers(text, sizes), seed = 1;
  for (uint32_t i = rank; i-- > 0; count *= sizes[i])
    strides[i] = count;
  const fnz_geometry g = {.dtype = FNZ_F32, .rank = rank, .sizes = sizes, .strides = strides};
  float *cells = malloc((size_t)count * sizeof *cells);
  if (!cells)
    return FNZ_NO_MEMORY;
  for (int64_t i = 0; i < count; i++, seed = seed * 1664525u + 1013904223u)
    cells[i] = (float)(seed >> 8) * 0x1p-24f;
  out->tag = FNZ_ARG_VALUE;
  fnz_status status = s->backend->upload(s->backend->self, s->ctx, &g, cells, &out->u.value);
  free(cells);
  return status;
}

static fnz_status read_arg(side *s, const char *text) {
  fnz_arg *a = &s->args[s->nargs], *list = s->lists[s->nargs];
  int64_t ints[MOST_LIST];
  s->nargs++;
  *a = (fnz_arg){.tag = FNZ_ARG_DEFAULT};
  if (*text == 'x')
    return upload(s, text + 1, a);
  if (*text == 'n')
    a->tag = FNZ_ARG_NONE;
  else if (*text == 'f')
    a->tag = FNZ_ARG_FLOAT, a->u.f = strtod(text + 1, NULL);
  else if (*text == 'i' || *text == 'b')
    a->tag = *text == 'i' ? FNZ_ARG_INT : FNZ_ARG_BOOL, a->u.i = strtoll(text + 1, NULL, 10);
  else if (*text == 'l') {
    a->tag = FNZ_ARG_LIST, a->u.list = list, a->count = (uint32_t)numbers(text + 1, ints);
    for (uint32_t i = 0; i < a->count; i++)
      list[i] = (fnz_arg){.tag = FNZ_ARG_INT, .u.i = ints[i]};
  }
  return FNZ_OK;
}

static fnz_status prepare(side *s, const char *call) {
  char text[256], *rest = NULL;
  fnz_status status = FNZ_OK;
  (void)snprintf(text, sizeof text, "%s", call);
  s->nargs = 0, s->best = 1e9;
  s->op = s->find(NULL, strtok_r(text, " ", &rest));
  for (const char *word; status == FNZ_OK && (word = strtok_r(NULL, " ", &rest)) != NULL;)
    status = read_arg(s, word);
  return s->op ? status : FNZ_BAD_ARGUMENT;
}

static fnz_status once(side *s) {
  const fnz_request request = {.op = s->op, .args = s->args, .nargs = s->nargs};
  fnz_handle out[8];
  size_t count;
  double start = now_seconds();
  fnz_status status = s->backend->apply(s->backend->self, s->ctx, &request, out, 8, &count);
  double seconds = now_seconds() - start;
  s->best = seconds < s->best ? seconds : s->best;
  for (size_t i = 0; status == FNZ_OK && i < count; i++)
    if (out[i])
      s->backend->release(s->backend->self, out[i]);
  return status;
}

static void finish(side *s) {
  for (size_t i = 0; i < s->nargs; i++)
    if (s->args[i].tag == FNZ_ARG_VALUE)
      s->backend->release(s->backend->self, s->args[i].u.value);
}

static bool measure(side *sides, const char *call, double seconds) {
  fnz_status status = FNZ_OK;
  for (int i = 0; i < SIDES && status == FNZ_OK; i++)
    status = prepare(&sides[i], call);
  double end = now_seconds() + seconds;
  for (int round = 0; status == FNZ_OK && (round < 3 || now_seconds() < end); round++)
    for (int i = 0; i < SIDES && status == FNZ_OK; i++)
      status = once(&sides[i]);
  for (int i = 0; i < SIDES; i++)
    finish(&sides[i]);
  if (status != FNZ_OK) {
    fprintf(stderr, "%s fails\n", call);
    return false;
  }
  printf("%-90s %10.1f %10.1f %6.2f\n", call, sides[0].best * 1e6, sides[1].best * 1e6,
         sides[0].best / sides[1].best);
  return true;
}

int main(int argc, char **argv) {
  double seconds = (argc > 1 ? strtod(argv[1], NULL) : 300) / 1000;
  side sides[SIDES] = {{0}};
  bool done = true;
  for (int i = 0; i < SIDES && done; i++)
    done = load(&sides[i], argc > 3 ? argv[2 + i] : NULL) &&
           sides[i].context(NULL, &sides[i].ctx) == FNZ_OK &&
           sides[i].open(sides[i].ctx, argc > 4 ? atoi(argv[4]) : 1, &sides[i].backend) == FNZ_OK;
  for (size_t i = 0; done && i < sizeof calls / sizeof *calls; i++)
    if (argc <= 5 || strstr(calls[i], argv[5]))
      done = measure(sides, calls[i], seconds);
  for (int i = 0; i < SIDES; i++) {
    fnz_backend_destroy(sides[i].backend);
    if (argc <= 3)
      fnz_context_destroy(sides[i].ctx);
  }
  return done ? EXIT_SUCCESS : EXIT_FAILURE;
}
