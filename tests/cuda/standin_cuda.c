/* standin_cuda.c - a libcuda.so.1 without a GPU: device memory is the host's, at addresses that the
 * host cannot use; each byte of it knows whether it was written. What is put on a stream is done
 * when somebody waits for it, not before. A wrong access or call is an error from then on, as an
 * illegal address is with the real driver. */
#include "tests/cuda/standin.h"

#include <dlfcn.h>
#include <stdbool.h>
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

#define FAR ((uint64_t)1 << 60) /* from a host's address to the device's */

typedef struct block {
  struct block *next;
  unsigned char *data;
  unsigned char *written; /* per byte */
  size_t bytes;
} block;

typedef struct job {
  struct job *next;
  enum { COPY_IN, COPY_OUT, COPY_WITHIN, LAUNCH } kind;
  uint64_t to, from;
  void *host;
  size_t bytes;
  unsigned char *held; /* COPY_IN: what the host had then; LAUNCH: the operands */
  struct kernel *kernel;
  int64_t threads;
} job;

typedef struct stream {
  job *first, **last;
} stream;

typedef struct kernel {
  struct kernel *next;
  void (*run)(void **arguments, int64_t thread, int64_t threads);
  int operands;
} kernel;

typedef struct module {
  void *library;
  kernel *kernels;
  char path[64];
} module;

static block *blocks;
static standin_counts counts;
static char wrong[256];
static int context_depth, device_context;

void standin_counts_get(standin_counts *out);
void standin_counts_get(standin_counts *out) {
  counts.wrong = wrong[0] ? wrong : NULL;
  *out = counts;
}

static int fail(const char *what) {
  if (!wrong[0])
    snprintf(wrong, sizeof wrong, "%s", what);
  return ILLEGAL_ADDRESS;
}

/* A wrong call is one for good. */
static int enter(void) {
  if (wrong[0])
    return ILLEGAL_ADDRESS;
  return context_depth > 0 ? SUCCESS : INVALID_CONTEXT;
}

/* --- Memory -------------------------------------------------------------------------------------
 */
static block *block_of(uint64_t at, size_t bytes) {
  for (block *b = blocks; b; b = b->next) {
    uint64_t start = (uint64_t)(uintptr_t)b->data + FAR;
    if (at >= start && at - start <= b->bytes && bytes <= b->bytes - (at - start))
      return b;
  }
  return NULL;
}

static void *access_block(uint64_t at, size_t bytes, bool writes, const char *who) {
  block *b = block_of(at, bytes);
  if (!b) {
    char text[128];
    snprintf(text, sizeof text, "%s %s %zu bytes outside of device memory", who,
             writes ? "writes" : "reads", bytes);
    fail(text);
    return NULL;
  }
  size_t start = (size_t)(at - FAR - (uint64_t)(uintptr_t)b->data);
  if (writes)
    memset(b->written + start, 1, bytes);
  else if (bytes && (b->written[start] == 0 ||
                     memcmp(b->written + start, b->written + start + 1, bytes - 1) != 0)) {
    char text[128];
    snprintf(text, sizeof text, "%s reads device memory that nothing has written", who);
    fail(text);
    return NULL;
  }
  return b->data + start;
}

static void *kernel_access(const void *at, size_t bytes, int writes) {
  if ((uintptr_t)at % (bytes < 16 ? bytes : 16) != 0) {
    fail("a kernel's access is not aligned");
    return NULL;
  }
  return access_block((uint64_t)(uintptr_t)at, bytes, writes, "a kernel");
}

int cuMemAlloc_v2(uint64_t *out, size_t bytes);
int cuMemAlloc_v2(uint64_t *out, size_t bytes) {
  const char *most = getenv("STANDIN_MEMORY");
  if (enter() != SUCCESS || bytes == 0)
    return enter() != SUCCESS ? enter() : INVALID_VALUE;
  if (most && counts.bytes_held + bytes > strtoull(most, NULL, 10))
    return OUT_OF_MEMORY;
  block *b = calloc(1, sizeof *b);
  if (!b || !(b->data = aligned_alloc(256, (bytes + 255) / 256 * 256)) ||
      !(b->written = calloc(bytes, 1)))
    return OUT_OF_MEMORY;
  memset(b->data, 0xa5, bytes);
  b->bytes = bytes;
  b->next = blocks;
  blocks = b;
  counts.bytes_held += bytes;
  counts.blocks_held++;
  *out = (uint64_t)(uintptr_t)b->data + FAR;
  return SUCCESS;
}

int cuMemFree_v2(uint64_t at);
int cuMemFree_v2(uint64_t at) {
  for (block **b = &blocks; *b; b = &(*b)->next)
    if ((uint64_t)(uintptr_t)(*b)->data + FAR == at) {
      block *gone = *b;
      *b = gone->next;
      counts.bytes_held -= gone->bytes;
      counts.blocks_held--;
      free(gone->data);
      free(gone->written);
      free(gone);
      return SUCCESS;
    }
  return fail("memory is given back that is none");
}

/* --- Streams ------------------------------------------------------------------------------------
 */
int cuStreamCreate(void **out, unsigned flags);
int cuStreamCreate(void **out, unsigned flags) {
  stream *s = calloc(1, sizeof *s);
  (void)flags;
  if (!s || enter() != SUCCESS)
    return s ? (free(s), enter()) : OUT_OF_MEMORY;
  s->last = &s->first;
  counts.streams_held++;
  *out = s;
  return SUCCESS;
}

static job *put(void *on, int kind) {
  stream *s = on;
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
  job *j = put(on, COPY_WITHIN);
  if (!j)
    return enter() != SUCCESS ? enter() : INVALID_VALUE;
  j->to = to;
  j->from = from;
  j->bytes = bytes;
  return SUCCESS;
}

int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *on, void **arguments, void **extra);
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
                   unsigned bz, unsigned shared, void *on, void **arguments, void **extra) {
  kernel *k = function;
  if (!k || gx == 0 || bx == 0 || bx > THREADS || gy != 1 || gz != 1 || by != 1 || bz != 1 ||
      shared != 0 || extra)
    return INVALID_VALUE;
  job *j = put(on, LAUNCH);
  size_t bytes = (size_t)k->operands * sizeof(void *);
  if (!j || !(j->held = malloc(bytes)))
    return j ? OUT_OF_MEMORY : enter() != SUCCESS ? enter() : INVALID_VALUE;
  memcpy(j->held, arguments[0], bytes);
  j->kernel = k;
  j->threads = (int64_t)gx * bx;
  return SUCCESS;
}

static void run_kernel(const job *j) {
  void *arguments[] = {j->held};
  bool reverse = getenv("STANDIN_REVERSE") != NULL;
  for (int64_t t = 0; t < j->threads && !wrong[0]; t++)
    j->kernel->run(arguments, reverse ? j->threads - 1 - t : t, j->threads);
  counts.launches++;
}

static void run_job(const job *j) {
  void *to = j->host;
  const void *from = j->held;
  if (j->kind == LAUNCH) {
    run_kernel(j);
    return;
  }
  if (j->kind != COPY_IN)
    from = access_block(j->from, j->bytes, false, "a copy");
  if (j->kind != COPY_OUT)
    to = access_block(j->to, j->bytes, true, "a copy");
  if (!to || !from)
    return;
  memmove(to, from, j->bytes);
  *(j->kind == COPY_IN    ? &counts.bytes_in
    : j->kind == COPY_OUT ? &counts.bytes_out
                          : &counts.bytes_within) += j->bytes;
}

int cuStreamSynchronize(void *on);
int cuStreamSynchronize(void *on) {
  stream *s = on;
  counts.waits++;
  while (s->first) {
    job *j = s->first;
    s->first = j->next;
    if (!wrong[0])
      run_job(j);
    free(j->held);
    free(j);
  }
  s->last = &s->first;
  return enter();
}

int cuStreamDestroy_v2(void *on);
int cuStreamDestroy_v2(void *on) {
  cuStreamSynchronize(on);
  free(on);
  counts.streams_held--;
  return SUCCESS;
}

/* --- Modules: libraries that standin_nvrtc.c has built ------------------------------------------
 */
/* An image says how long it is: eight bytes in front of it. */
int cuModuleLoadData(void **out, const void *image);
int cuModuleLoadData(void **out, const void *image) {
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
  void *(**check)(const void *, size_t, int) = dlsym(m->library, "standin_access");
  *check = kernel_access;
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
  void *run = dlsym(m->library, name);
  if (!run || !operands || *operands > OPERANDS)
    return NOT_FOUND;
  kernel *k = calloc(1, sizeof *k);
  if (!k)
    return OUT_OF_MEMORY;
  memcpy(&k->run, &run, sizeof run);
  k->operands = *operands;
  k->next = m->kernels;
  m->kernels = k;
  *out = k;
  return SUCCESS;
}

int cuModuleUnload(void *of);
int cuModuleUnload(void *of) {
  module *m = of;
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
  *out = attribute == MAJOR ? 9 : attribute == MINOR ? 0 : attribute == PROCESSORS ? 2 : 0;
  return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **out, int device);
int cuDevicePrimaryCtxRetain(void **out, int device) {
  (void)device;
  *out = &device_context;
  counts.contexts_held++;
  return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device) {
  (void)device;
  counts.contexts_held--;
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
