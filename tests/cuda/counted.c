/* counted.c - counts calls of a driver: by the stand-in's counts, or by functions between the
 * engine and libcuda.so.1. */
#include "tests/cuda/counted.h"
#include "engine/cuda/driver.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static fnzi_cuda_driver real;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static standin_counts counts;
static char first_wrong[64], fault[64];
static unsigned long fault_seen;

bool is_standin(void) {
  const char *driver = getenv("FNZ_DRIVER");
  return !driver || strcmp(driver, "real") != 0;
}

static standin_counts counts_of_standin(void) {
  static void *library;
  standin_counts out;
  standin_counts_fn *get;
  if (!library)
    library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  void *found = library ? dlsym(library, "standin_counts_get") : NULL;
  ck_assert_msg(found != NULL, "libcuda.so.1 is not the stand-in: look at LD_LIBRARY_PATH; with "
                               "FNZ_DRIVER=real tests run on another driver");
  memcpy(&get, &found, sizeof get);
  get(&out);
  return out;
}

standin_counts counts_now(void) {
  if (is_standin())
    return counts_of_standin();
  pthread_mutex_lock(&guard);
  counts.calls++; /* as the stand-in counts being asked */
  counts.wrong = first_wrong[0] ? first_wrong : NULL;
  standin_counts out = counts;
  pthread_mutex_unlock(&guard);
  return out;
}

void ask_for_failure(const char *how) {
  if (is_standin() && how)
    setenv("STANDIN_FAIL", how, 1);
  else if (is_standin())
    unsetenv("STANDIN_FAIL");
  pthread_mutex_lock(&guard);
  fault_seen = 0;
  snprintf(fault, sizeof fault, "%s", how ? how : "");
  pthread_mutex_unlock(&guard);
}

/* --- What is held ----------------------------------------------------------------------------- */
/* Memory with its bytes, captured streams and graphs with counts of their jobs. */
typedef struct thing {
  struct thing *next;
  uint64_t name;
  size_t bytes;
  uint64_t launches, within;
} thing;

static thing *memory, *captured, *graphs;

static thing **find(thing **list, uint64_t name) {
  while (*list && (*list)->name != name)
    list = &(*list)->next;
  return list;
}

static void add(thing **list, uint64_t name, const thing *like) {
  thing *t = calloc(1, sizeof *t);
  ck_assert_ptr_nonnull(t);
  if (like)
    *t = *like;
  t->name = name;
  t->next = *list;
  *list = t;
}

/* Removes the thing of this name and returns it; all zero if there is none. */
static thing end(thing **list, uint64_t name) {
  thing **at = find(list, name), *t = *at, was = {.name = 0};
  if (!t)
    return was;
  was = *t;
  *at = t->next;
  free(t);
  return was;
}

static uint64_t name_of(const void *pointer) {
  return (uint64_t)(uintptr_t)pointer;
}

/* --- Functions -------------------------------------------------------------------------------- */
/* The error that a call of `symbol` was asked for; 0: none. */
static int asked_of(const char *symbol) {
  pthread_mutex_lock(&guard);
  size_t length = strlen(symbol);
  char *last;
  int error = 0;
  if (strncmp(fault, symbol, length) == 0 && fault[length] == ':') {
    unsigned long nth = strtoul(fault + length + 1, &last, 10);
    error = ++fault_seen == nth ? (int)strtol(last + 1, NULL, 10) : 0;
  }
  pthread_mutex_unlock(&guard);
  return error;
}

static int begin_call(const char *symbol) {
  pthread_mutex_lock(&guard);
  counts.calls++;
  pthread_mutex_unlock(&guard);
  return asked_of(symbol);
}

/* Leaves the guard locked where the call was done. */
static int end_call(int result) {
  pthread_mutex_lock(&guard);
  if (fnzi_cuda_driver_is_fatal(result) && !first_wrong[0])
    snprintf(first_wrong, sizeof first_wrong, "the driver gave error %d", result);
  if (result != 0)
    pthread_mutex_unlock(&guard);
  return result;
}

/* Calls it, and where it is done the block that follows keeps account. */
#define PASS_ON(symbol, call, ...)                                                                 \
  do {                                                                                             \
    int asked_ = begin_call(symbol), result_ = asked_ ? asked_ : end_call(call);                   \
    if (result_ != 0)                                                                              \
      return result_;                                                                              \
    __VA_ARGS__;                                                                                   \
    pthread_mutex_unlock(&guard);                                                                  \
    return 0;                                                                                      \
  } while (0)

static int context_retain(void **out, int device) {
  PASS_ON("cuDevicePrimaryCtxRetain", real.context_retain(out, device), counts.contexts_held++);
}
static int context_release(int device) {
  PASS_ON("cuDevicePrimaryCtxRelease_v2", real.context_release(device), counts.contexts_held--);
}
static int context_push(void *context) {
  PASS_ON("cuCtxPushCurrent_v2", real.context_push(context), (void)0);
}
static int context_pop(void **out) {
  PASS_ON("cuCtxPopCurrent_v2", real.context_pop(out), (void)0);
}

static int memory_allocate(uint64_t *out, size_t bytes) {
  const thing taken = {.bytes = bytes};
  PASS_ON("cuMemAlloc_v2", real.memory_allocate(out, bytes), add(&memory, *out, &taken),
          counts.blocks_held++, counts.bytes_held += bytes);
}
static int memory_free(uint64_t at) {
  PASS_ON("cuMemFree_v2", real.memory_free(at), counts.blocks_held--,
          counts.bytes_held -= end(&memory, at).bytes);
}
static int pinned_allocate(void **out, size_t bytes, unsigned flags) {
  PASS_ON("cuMemHostAlloc", real.pinned_allocate(out, bytes, flags), counts.pinned_held++);
}
static int pinned_free(void *at) {
  PASS_ON("cuMemFreeHost", real.pinned_free(at), counts.pinned_held--);
}

static int copy_in(uint64_t to, const void *from, size_t bytes, void *stream) {
  PASS_ON("cuMemcpyHtoDAsync_v2", real.copy_in(to, from, bytes, stream), counts.bytes_in += bytes);
}
static int copy_out(void *to, uint64_t from, size_t bytes, void *stream) {
  PASS_ON("cuMemcpyDtoHAsync_v2", real.copy_out(to, from, bytes, stream),
          counts.bytes_out += bytes);
}

/* Captured jobs count when the graph is launched. */
static void count_job(const void *stream, uint64_t launches, uint64_t within) {
  thing *t = *find(&captured, name_of(stream));
  *(t ? &t->launches : &counts.launches) += launches;
  *(t ? &t->within : &counts.bytes_within) += within;
}

static int copy_within(uint64_t to, uint64_t from, size_t bytes, void *stream) {
  PASS_ON("cuMemcpyDtoDAsync_v2", real.copy_within(to, from, bytes, stream),
          count_job(stream, 0, bytes));
}
static int launch(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                  unsigned bz, unsigned shared, void *stream, void **arguments, void **extra) {
  if (asked_of("kernel"))
    *(uint64_t *)arguments[0] = 16; /* of operand 0 */
  PASS_ON("cuLaunchKernel",
          real.launch(function, gx, gy, gz, bx, by, bz, shared, stream, arguments, extra),
          count_job(stream, 1, 0));
}

static int stream_make(void **out, unsigned flags) {
  PASS_ON("cuStreamCreate", real.stream_make(out, flags), counts.streams_held++);
}
static int stream_end(void *stream) {
  PASS_ON("cuStreamDestroy_v2", real.stream_end(stream), counts.streams_held--);
}
static int stream_wait(void *stream) {
  PASS_ON("cuStreamSynchronize", real.stream_wait(stream), counts.waits++);
}

static int module_load(void **out, const void *image) {
  PASS_ON("cuModuleLoadData", real.module_load(out, image), counts.modules++,
          counts.modules_held++);
}
static int module_end(void *module) {
  PASS_ON("cuModuleUnload", real.module_end(module), counts.modules_held--);
}

static int capture_begin(void *stream, int mode) {
  PASS_ON("cuStreamBeginCapture_v2", real.capture_begin(stream, mode), counts.captures++,
          counts.graphs_held++, add(&captured, name_of(stream), NULL));
}

/* A failure that was asked for ends the capture, as one of the driver does. */
static int capture_end(void *stream, void **graph) {
  int asked = begin_call("cuStreamEndCapture");
  int result = end_call(real.capture_end(stream, graph));
  if (result != 0)
    pthread_mutex_lock(&guard);
  const thing had = end(&captured, name_of(stream));
  if (result != 0 || asked)
    counts.graphs_held--;
  else
    add(&graphs, name_of(*graph), &had);
  pthread_mutex_unlock(&guard);
  if (result == 0 && asked) {
    result = real.graph_end(*graph);
    *graph = NULL;
  }
  return asked ? asked : result;
}

static int graph_make(void **out, void *graph, unsigned long long flags) {
  PASS_ON("cuGraphInstantiateWithFlags", real.graph_make(out, graph, flags),
          add(&graphs, name_of(*out), *find(&graphs, name_of(graph))), counts.graphs_held++);
}
static int graph_set(void *made, void *node, const struct fnzi_cuda_kernel_node *params) {
  PASS_ON("cuGraphExecKernelNodeSetParams", real.graph_set(made, node, params), counts.nodes_set++);
}

static void count_graph(const thing *graph, const void *stream) {
  counts.graphs++;
  if (graph)
    count_job(stream, graph->launches, graph->within);
}

static int graph_launch(void *made, void *stream) {
  PASS_ON("cuGraphLaunch", real.graph_launch(made, stream),
          count_graph(*find(&graphs, name_of(made)), stream));
}
static int graph_unmake(void *made) {
  PASS_ON("cuGraphExecDestroy", real.graph_unmake(made), (void)end(&graphs, name_of(made)),
          counts.graphs_held--);
}
static int graph_end(void *graph) {
  PASS_ON("cuGraphDestroy", real.graph_end(graph), (void)end(&graphs, name_of(graph)),
          counts.graphs_held--);
}

/* --- The table -------------------------------------------------------------------------------- */
static void count_all(fnzi_cuda_driver *d) {
  d->context_retain = context_retain;
  d->context_release = context_release;
  d->context_push = context_push;
  d->context_pop = context_pop;
  d->memory_allocate = memory_allocate;
  d->memory_free = memory_free;
  d->pinned_allocate = pinned_allocate;
  d->pinned_free = pinned_free;
  d->copy_in = copy_in;
  d->copy_out = copy_out;
  d->copy_within = copy_within;
  d->launch = launch;
  d->stream_make = stream_make;
  d->stream_end = stream_end;
  d->stream_wait = stream_wait;
  d->module_load = module_load;
  d->module_end = module_end;
  d->capture_begin = capture_begin;
  d->capture_end = capture_end;
  d->graph_make = graph_make;
  d->graph_set = graph_set;
  d->graph_launch = graph_launch;
  d->graph_unmake = graph_unmake;
  d->graph_end = graph_end;
}

static bool lets_go;

void let_context_go(void) {
  lets_go = true;
}

static void retain_context(void) {
  void *context;
  int device;
  if (real.device_get(&device, 0) == 0)
    (void)!real.context_retain(&context, device);
}

fnz_status __real_fnzi_cuda_driver_open(fnz_context *ctx, fnzi_cuda_driver *out);
fnz_status __wrap_fnzi_cuda_driver_open(fnz_context *ctx, fnzi_cuda_driver *out);

/* To the end of the process: a context takes longer to make than most of a test. */
static void hold_context(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, retain_context);
}

/* Functions of a library stay where they are while anybody has it open. */
fnz_status __wrap_fnzi_cuda_driver_open(fnz_context *ctx, fnzi_cuda_driver *out) {
  FNZ_TRY(__real_fnzi_cuda_driver_open(ctx, out));
  if (is_standin())
    return FNZ_OK;
  pthread_mutex_lock(&guard);
  real = *out;
  pthread_mutex_unlock(&guard);
  if (!lets_go)
    hold_context();
  count_all(out);
  return FNZ_OK;
}
