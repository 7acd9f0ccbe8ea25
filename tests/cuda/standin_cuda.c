/* standin_cuda.c - a libcuda.so.1 without a GPU: device memory is the host's, at addresses that the
 * host cannot use; each byte of it knows whether it was written. What is put on a stream is done
 * when somebody waits for it, not before. A wrong access or call is an error from then on, as an
 * illegal address is with the real driver. */
#include "tests/cuda/standin.h"
#include "tests/cuda/standin_parts.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
  SUCCESS,
  INVALID_VALUE,
  OUT_OF_MEMORY,
  NO_DEVICE = 100,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT,
  NOT_FOUND = 500,
  ILLEGAL_ADDRESS = 700,
  THREADS = 1024,
  OPERANDS = 128
};

typedef struct job {
  struct job *next;
  enum { COPY_IN, COPY_OUT, COPY_WITHIN, LAUNCH } kind;
  uint64_t to, from;
  void *host;
  size_t bytes;
  unsigned char *held; /* COPY_IN: what the host had then; LAUNCH: the operands */
  struct kernel *kernel;
  unsigned blocks, threads; /* of each block */
} job;

typedef struct stream {
  struct stream *next;
  job *first, **last;
} stream;

typedef struct kernel {
  struct kernel *next;
  /* One thread of its own, or one of a block. */
  void (*run)(void **arguments, int64_t thread, int64_t threads);
  standin_kernel blocks;
  int operands, threads; /* a block must have; 0: threads do not know of each other */
} kernel;

typedef struct module {
  struct module *next;
  void *library;
  kernel *kernels;
  char path[64];
} module;

static module *modules;
static stream *streams;
static standin_counts counts;
static char wrong[256];
static int context_depth, device_context;

void standin_counts_get(standin_counts *out);
void standin_counts_get(standin_counts *out) {
  counts.wrong = wrong[0] ? wrong : NULL;
  *out = counts;
}

int standin_fail(const char *what, ...) {
  va_list words;
  va_start(words, what);
  if (!wrong[0])
    vsnprintf(wrong, sizeof wrong, what, words);
  va_end(words);
  return ILLEGAL_ADDRESS;
}

bool standin_is_wrong(void) {
  return wrong[0] != 0;
}

/* STANDIN_FAIL. */
static int last_fault;
static bool was_asked;

static bool fault(const char *function) {
  static unsigned long seen;
  static char asked[64];
  const char *text = getenv("STANDIN_FAIL"), *colon = text ? strchr(text, ':') : NULL;
  char *end;
  if (!text)
    asked[0] = 0;
  if (!colon || (size_t)(colon - text) != strlen(function) ||
      strncmp(text, function, strlen(function)) != 0)
    return false;
  if (strcmp(asked, text) != 0)
    seen = 0;
  snprintf(asked, sizeof asked, "%s", text);
  unsigned long nth = strtoul(colon + 1, &end, 10);
  int error = (int)strtol(end + 1, NULL, 10);
  if (++seen != nth)
    return false;
  if (error >= ILLEGAL_ADDRESS)
    was_asked = standin_fail("the error that was asked for") != SUCCESS;
  last_fault = error;
  return true;
}

/* A wrong call is one for good: until nobody holds the context. */
static int enter(void) {
  if (wrong[0])
    return ILLEGAL_ADDRESS;
  return context_depth > 0 ? SUCCESS : INVALID_CONTEXT;
}

/* --- Memory -------------------------------------------------------------------------------------
 */
int cuMemAlloc_v2(uint64_t *out, size_t bytes);
int cuMemAlloc_v2(uint64_t *out, size_t bytes) {
  if (fault("cuMemAlloc_v2"))
    return last_fault;
  const char *most = getenv("STANDIN_MEMORY");
  if (enter() != SUCCESS || bytes == 0)
    return enter() != SUCCESS ? enter() : INVALID_VALUE;
  if ((most && counts.bytes_held + bytes > strtoull(most, NULL, 10)) ||
      !standin_memory_take(bytes, out))
    return OUT_OF_MEMORY;
  counts.bytes_held += bytes;
  counts.blocks_held++;
  return SUCCESS;
}

int cuMemFree_v2(uint64_t at);
int cuMemFree_v2(uint64_t at) {
  size_t bytes = standin_memory_give(at);
  if (!bytes)
    return standin_fail("memory is given back that is none");
  counts.bytes_held -= bytes;
  counts.blocks_held--;
  return SUCCESS;
}

/* --- Streams ------------------------------------------------------------------------------------
 */
int cuStreamCreate(void **out, unsigned flags);
int cuStreamCreate(void **out, unsigned flags) {
  if (fault("cuStreamCreate"))
    return last_fault;
  stream *s = calloc(1, sizeof *s);
  (void)flags;
  if (!s || enter() != SUCCESS)
    return s ? (free(s), enter()) : OUT_OF_MEMORY;
  s->last = &s->first;
  s->next = streams;
  streams = s;
  counts.streams_held++;
  *out = s;
  return SUCCESS;
}

static stream **find_stream(const void *on) {
  stream **s = &streams;
  while (*s && *s != on)
    s = &(*s)->next;
  if (!*s)
    standin_fail("a stream is used that is none");
  return s;
}

static job *put(void *on, int kind) {
  stream *s = *find_stream(on);
  job *j = s && enter() == SUCCESS ? calloc(1, sizeof *j) : NULL;
  if (!j)
    return NULL;
  j->kind = kind;
  *s->last = j;
  s->last = &j->next;
  return j;
}

int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *on);
int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t bytes, void *on) {
  if (fault("cuMemcpyHtoDAsync_v2"))
    return last_fault;
  job *j = put(on, COPY_IN);
  if (!j || !(j->held = malloc(bytes + 1)))
    return j ? OUT_OF_MEMORY : enter() != SUCCESS ? enter() : INVALID_VALUE;
  memcpy(j->held, from, bytes);
  j->to = to;
  j->bytes = bytes;
  return SUCCESS;
}

int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *on);
int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t bytes, void *on) {
  if (fault("cuMemcpyDtoHAsync_v2"))
    return last_fault;
  job *j = put(on, COPY_OUT);
  if (!j)
    return enter() != SUCCESS ? enter() : INVALID_VALUE;
  j->host = to;
  j->from = from;
  j->bytes = bytes;
  return SUCCESS;
}

int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *on);
int cuMemcpyDtoDAsync_v2(uint64_t to, uint64_t from, size_t bytes, void *on) {
  if (fault("cuMemcpyDtoDAsync_v2"))
    return last_fault;
  job *j = put(on, COPY_WITHIN);
  if (!j)
    return enter() != SUCCESS ? enter() : INVALID_VALUE;
  j->to = to;
  j->from = from;
  j->bytes = bytes;
  return SUCCESS;
}

static bool is_kernel(const kernel *k) {
  for (const module *m = modules; m; m = m->next)
    for (const kernel *own = m->kernels; own; own = own->next)
      if (own == k)
        return true;
  return standin_fail("a kernel is used of a module that was unloaded"), false;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *on, void **arguments, void **extra);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *on, void **arguments, void **extra) {
  if (fault("cuLaunchKernel"))
    return last_fault;
  kernel *k = function;
  if (gx == 0 || gx > INT32_MAX || bx == 0 || bx > THREADS || gy != 1 || gz != 1 || by != 1 ||
      bz != 1 || shared != 0 || extra)
    return INVALID_VALUE;
  if (!is_kernel(k))
    return enter();
  if (k->threads && bx != (unsigned)k->threads)
    return standin_fail("a kernel for blocks of %d threads has blocks of %u", k->threads, bx);
  job *j = put(on, LAUNCH);
  size_t bytes = (size_t)k->operands * sizeof(void *);
  if (!j || !(j->held = malloc(bytes + 1)))
    return j ? OUT_OF_MEMORY : enter() != SUCCESS ? enter() : INVALID_VALUE;
  memcpy(j->held, arguments[0], bytes);
  j->kernel = k;
  j->blocks = gx;
  j->threads = bx;
  return SUCCESS;
}

static void run_kernel(const job *j) {
  void *arguments[] = {j->held};
  bool reverse = getenv("STANDIN_REVERSE") != NULL;
  int64_t threads = (int64_t)j->blocks * j->threads;
  if (fault("kernel"))
    return;
  counts.launches++;
  if (!is_kernel(j->kernel))
    return;
  if (j->kernel->threads) {
    standin_blocks_run(&j->kernel->blocks, arguments, j->blocks, j->threads, reverse);
    return;
  }
  for (int64_t t = 0; t < threads && !wrong[0]; t++)
    j->kernel->run(arguments, reverse ? threads - 1 - t : t, threads);
}

static void run_job(const job *j) {
  void *to = j->host;
  const void *from = j->held;
  if (j->kind == LAUNCH) {
    run_kernel(j);
    return;
  }
  if (j->kind != COPY_IN)
    from = standin_memory_at(j->from, j->bytes, false, "a copy");
  if (j->kind != COPY_OUT)
    to = standin_memory_at(j->to, j->bytes, true, "a copy");
  if (!to || !from)
    return;
  memmove(to, from, j->bytes);
  *(j->kind == COPY_IN    ? &counts.bytes_in
    : j->kind == COPY_OUT ? &counts.bytes_out
                          : &counts.bytes_within) += j->bytes;
}

int cuStreamSynchronize(void *on);
int cuStreamSynchronize(void *on) {
  if (fault("cuStreamSynchronize"))
    return last_fault;
  stream *s = *find_stream(on);
  counts.waits++;
  while (s && s->first) {
    job *j = s->first;
    s->first = j->next;
    if (!wrong[0])
      run_job(j);
    free(j->held);
    free(j);
  }
  if (s)
    s->last = &s->first;
  return enter();
}

int cuStreamDestroy_v2(void *on);
int cuStreamDestroy_v2(void *on) {
  cuStreamSynchronize(on);
  stream **s = find_stream(on);
  if (!*s)
    return enter();
  *s = (*s)->next;
  free(on);
  counts.streams_held--;
  return SUCCESS;
}

/* --- Modules: libraries that standin_nvrtc.c has built ------------------------------------------
 */
/* What the shim leaves open. */
static bool connect(void *library) {
  const struct {
    const char *name;
    void (*function)(void);
  } calls[] = {{"standin_kernel_access", (void (*)(void))standin_kernel_access},
               {"standin_barrier", (void (*)(void))standin_barrier},
               {"standin_exchange", (void (*)(void))standin_exchange},
               {"standin_share", (void (*)(void))standin_share},
               {"standin_wrong", (void (*)(void))standin_wrong}};
  const standin_room **room = dlsym(library, "standin_memory");
  bool found = room != NULL;
  for (size_t i = 0; i < sizeof calls / sizeof *calls && found; i++) {
    void *at = dlsym(library, calls[i].name);
    found = at != NULL;
    if (found)
      memcpy(at, &calls[i].function, sizeof calls[i].function);
  }
  if (found)
    *room = &standin_memory;
  return found;
}

/* An image says how long it is: eight bytes in front of it. */
int cuModuleLoadData(void **out, const void *image);
int cuModuleLoadData(void **out, const void *image) {
  if (fault("cuModuleLoadData"))
    return last_fault;
  uint64_t bytes;
  memcpy(&bytes, image, sizeof bytes);
  module *m = calloc(1, sizeof *m);
  if (!m || enter() != SUCCESS)
    return m ? (free(m), enter()) : OUT_OF_MEMORY;
  snprintf(m->path, sizeof m->path, "/tmp/standin-XXXXXX");
  int fd = mkstemp(m->path);
  if (fd < 0 || write(fd, (const char *)image + sizeof bytes, bytes) != (ssize_t)bytes ||
      close(fd) != 0)
    return INVALID_IMAGE;
  m->library = dlopen(m->path, RTLD_NOW | RTLD_LOCAL);
  unlink(m->path);
  if (!m->library)
    return INVALID_IMAGE;
  if (!connect(m->library))
    return INVALID_IMAGE;
  m->next = modules;
  modules = m;
  counts.modules++;
  counts.modules_held++;
  *out = m;
  return SUCCESS;
}

int cuModuleGetFunction(void **out, void *of, const char *name);
int cuModuleGetFunction(void **out, void *of, const char *name) {
  module *m = of;
  char text[64];
  snprintf(text, sizeof text, "%s_operands", name);
  const int *operands = dlsym(m->library, text);
  snprintf(text, sizeof text, "%s_threads", name);
  const int *threads = dlsym(m->library, text);
  void *run = dlsym(m->library, name);
  if (!run || !operands || *operands > OPERANDS)
    return NOT_FOUND;
  kernel *k = calloc(1, sizeof *k);
  if (!k)
    return OUT_OF_MEMORY;
  memcpy(&k->run, &run, sizeof run);
  memcpy(&k->blocks.run, &run, sizeof run);
  k->blocks.now = dlsym(m->library, "standin_now");
  k->operands = *operands;
  k->threads = threads ? *threads : 0;
  k->next = m->kernels;
  m->kernels = k;
  *out = k;
  return SUCCESS;
}

int cuModuleUnload(void *of);
int cuModuleUnload(void *of) {
  module **m_at = &modules, *m = of;
  while (*m_at && *m_at != m)
    m_at = &(*m_at)->next;
  if (!*m_at)
    return standin_fail("a module is unloaded that is none");
  *m_at = m->next;
  while (m->kernels) {
    kernel *k = m->kernels;
    m->kernels = k->next;
    free(k);
  }
  dlclose(m->library);
  free(m);
  counts.modules_held--;
  return SUCCESS;
}

/* --- Devices ------------------------------------------------------------------------------------
 */
static int devices(void) {
  const char *text = getenv("STANDIN_DEVICES");
  return text ? (int)strtol(text, NULL, 10) : 1;
}

int cuInit(unsigned flags);
int cuInit(unsigned flags) {
  if (fault("cuInit"))
    return last_fault;
  (void)flags;
  return devices() > 0 ? SUCCESS : NO_DEVICE;
}

int cuGetErrorName(int error, const char **out);
int cuGetErrorName(int error, const char **out) {
  *out = error == NO_DEVICE         ? "CUDA_ERROR_NO_DEVICE"
         : error == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                    : "CUDA_ERROR";
  return SUCCESS;
}

int cuGetErrorString(int error, const char **out);
int cuGetErrorString(int error, const char **out) {
  *out = error == NO_DEVICE ? "no device" : wrong[0] ? wrong : "of the stand-in";
  return SUCCESS;
}

int cuDeviceGetCount(int *out);
int cuDeviceGetCount(int *out) {
  *out = devices();
  return SUCCESS;
}

int cuDeviceGet(int *out, int ordinal);
int cuDeviceGet(int *out, int ordinal) {
  *out = ordinal;
  return ordinal >= 0 && ordinal < devices() ? SUCCESS : INVALID_VALUE;
}

int cuDeviceGetAttribute(int *out, int attribute, int device);
int cuDeviceGetAttribute(int *out, int attribute, int device) {
  enum { PROCESSORS = 16, MAJOR = 75, MINOR = 76 };
  (void)device;
  const char *sm = getenv("STANDIN_SM");
  int kind = sm ? (int)strtol(sm, NULL, 10) : 90;
  *out = attribute == MAJOR        ? kind / 10
         : attribute == MINOR      ? kind % 10
         : attribute == PROCESSORS ? 2
                                   : 0;
  return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **out, int device);
int cuDevicePrimaryCtxRetain(void **out, int device) {
  if (fault("cuDevicePrimaryCtxRetain"))
    return last_fault;
  (void)device;
  *out = &device_context;
  counts.contexts_held++;
  return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  if (--counts.contexts_held == 0 && was_asked)
    wrong[0] = was_asked = 0;
  return SUCCESS;
}

int cuCtxPushCurrent_v2(void *context);
int cuCtxPushCurrent_v2(void *context) {
  if (context != &device_context)
    return INVALID_CONTEXT;
  context_depth++;
  return SUCCESS;
}

int cuCtxPopCurrent_v2(void **out);
int cuCtxPopCurrent_v2(void **out) {
  *out = &device_context;
  return context_depth-- > 0 ? SUCCESS : INVALID_CONTEXT;
}
