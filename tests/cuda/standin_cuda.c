/* standin_cuda.c - a libcuda.so.1 without a GPU: device memory is the host's, at addresses that the
 * host cannot use; each byte of it knows whether it was written. Work queued on a stream runs when
 * the caller synchronizes, not earlier. A wrong access or call is an error from then on, as an
 * illegal address is with the real driver. */
#include "tests/cuda/standin.h"
#include "tests/cuda/standin_batch.h"
#include "tests/cuda/standin_library.h"
#include "tests/cuda/standin_parts.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct module {
  struct module *next;
  void *library;
  standin_function *kernels;
  char path[300], prefix[32]; /* of names of kernels */
} module;

static module *modules;
standin_counts standin_counted;
static char wrong[256];
static _Thread_local int context_depth;
static int device_context;
static pthread_mutex_t calls = PTHREAD_MUTEX_INITIALIZER;

/* Functions of the driver call each other. */
static _Thread_local int call_depth;

int standin_lock(void) {
  if (call_depth++ == 0) {
    pthread_mutex_lock(&calls);
    standin_counted.calls++;
  }
  return 0;
}

void standin_unlock(const int *held) {
  (void)held;
  if (--call_depth == 0)
    pthread_mutex_unlock(&calls);
}

void standin_counts_get(standin_counts *out);
void standin_counts_get(standin_counts *out) {
  STANDIN_LOCKED;
  standin_counted.wrong = wrong[0] ? wrong : NULL;
  *out = standin_counted;
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
int standin_last_fault;
static bool was_asked;

bool standin_fault(const char *function) {
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
  if (error >= ILLEGAL_ADDRESS && error < NOT_SUPPORTED)
    was_asked = standin_fail("the error that was asked for") != SUCCESS;
  standin_last_fault = error;
  return true;
}

/* A wrong call makes all later ones fail, until the context is released. */
int standin_enter(void) {
  if (wrong[0])
    return ILLEGAL_ADDRESS;
  return context_depth > 0 ? SUCCESS : INVALID_CONTEXT;
}

/* --- Memory ----------------------------------------------------------------------------------- */
int cuMemAlloc_v2(uint64_t *out, size_t bytes);
int cuMemAlloc_v2(uint64_t *out, size_t bytes) {
  STANDIN_LOCKED;
  if (standin_fault("cuMemAlloc_v2"))
    return standin_last_fault;
  const char *most = getenv("STANDIN_MEMORY");
  if (standin_enter() != SUCCESS || bytes == 0)
    return standin_enter() != SUCCESS ? standin_enter() : INVALID_VALUE;
  if ((most && standin_counted.bytes_held + bytes > strtoull(most, NULL, 10)) ||
      !standin_memory_take(bytes, out))
    return OUT_OF_MEMORY;
  standin_counted.bytes_held += bytes;
  standin_counted.blocks_held++;
  return SUCCESS;
}

int cuMemFree_v2(uint64_t at);
int cuMemFree_v2(uint64_t at) {
  STANDIN_LOCKED;
  size_t bytes = standin_memory_give(at);
  if (!bytes)
    return standin_fail("memory is given back that is none");
  standin_counted.bytes_held -= bytes;
  standin_counted.blocks_held--;
  return SUCCESS;
}

/* --- Memory of the host for copies ------------------------------------------------------------ */
typedef struct pinned {
  struct pinned *next;
  size_t bytes;
  unsigned char *data;
} pinned;
static pinned *all_pinned;

int cuMemHostAlloc(void **out, size_t bytes, unsigned flags);
int cuMemHostAlloc(void **out, size_t bytes, unsigned flags) {
  STANDIN_LOCKED;
  (void)flags;
  if (standin_fault("cuMemHostAlloc"))
    return standin_last_fault;
  if (standin_enter() != SUCCESS || bytes == 0)
    return standin_enter() != SUCCESS ? standin_enter() : INVALID_VALUE;
  pinned *p = calloc(1, sizeof *p);
  unsigned char *data = p ? malloc(bytes) : NULL;
  if (!data)
    return free(p), OUT_OF_MEMORY;
  *p = (pinned){all_pinned, bytes, data};
  all_pinned = p;
  standin_counted.pinned_held++;
  *out = data;
  return SUCCESS;
}

int cuMemFreeHost(void *at);
int cuMemFreeHost(void *at) {
  STANDIN_LOCKED;
  pinned **p = &all_pinned;
  while (*p && (*p)->data != at)
    p = &(*p)->next;
  if (!*p)
    return standin_fail("memory of the host is given back that is none");
  pinned *had = *p;
  *p = had->next;
  free(had->data);
  free(had);
  standin_counted.pinned_held--;
  return SUCCESS;
}

bool standin_is_pinned(const void *at, size_t bytes) {
  for (const pinned *p = all_pinned; p; p = p->next)
    if ((const unsigned char *)at >= p->data &&
        (const unsigned char *)at + bytes <= p->data + p->bytes)
      return true;
  return false;
}

/* The kind of an address; unknown addresses have none. */
int cuPointerGetAttributes(unsigned count, const int *attributes, void *const *out, uint64_t at);
int cuPointerGetAttributes(unsigned count, const int *attributes, void *const *out, uint64_t at) {
  STANDIN_LOCKED;
  enum { KIND = 2, HOST = 1, ON_DEVICE = 2 };
  if (standin_fault("cuPointerGetAttributes"))
    return standin_last_fault;
  const unsigned kind = standin_memory_has(at)                        ? ON_DEVICE
                        : standin_is_pinned((void *)(uintptr_t)at, 1) ? HOST
                                                                      : 0;
  for (unsigned i = 0; i < count; i++)
    memcpy(out[i], &(unsigned){attributes[i] == KIND ? kind : 0}, sizeof(unsigned));
  return standin_enter();
}

/* --- Modules: libraries that standin_nvrtc.c has built ---------------------------------------- */
bool standin_is_kernel(const standin_function *k) {
  for (const module *m = modules; m; m = m->next)
    for (const standin_function *own = m->kernels; own; own = own->next)
      if (own == k)
        return true;
  return standin_fail("a kernel is used of a module that was unloaded"), false;
}

/* Connects the functions that the shim leaves open. */
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

static void *open_written(module *m, const char *image, uint64_t bytes) {
  snprintf(m->path, sizeof m->path, "/tmp/standin-XXXXXX");
  int fd = mkstemp(m->path);
  if (fd < 0 || write(fd, image, bytes) != (ssize_t)bytes || close(fd) != 0)
    return NULL;
  void *library = dlopen(m->path, RTLD_NOW | RTLD_LOCAL);
  unlink(m->path);
  return library;
}

static void *open_image(module *m, const char *image, uint64_t bytes) {
  if (strncmp(image, STANDIN_IN_LIBRARY, strlen(STANDIN_IN_LIBRARY)) != 0)
    return open_written(m, image, bytes);
  return sscanf(image, STANDIN_IN_LIBRARY "%299s %31s", m->path, m->prefix) == 2
             ? dlopen(m->path, RTLD_NOW | RTLD_LOCAL)
             : NULL;
}

/* An image says how long it is: eight bytes in front of it. */
int cuModuleLoadData(void **out, const void *image);
int cuModuleLoadData(void **out, const void *image) {
  STANDIN_LOCKED;
  if (standin_fault("cuModuleLoadData"))
    return standin_last_fault;
  uint64_t bytes;
  memcpy(&bytes, image, sizeof bytes);
  module *m = calloc(1, sizeof *m);
  if (!m || standin_enter() != SUCCESS)
    return m ? (free(m), standin_enter()) : OUT_OF_MEMORY;
  m->library = open_image(m, (const char *)image + sizeof bytes, bytes);
  if (!m->library || !connect(m->library))
    return free(m), INVALID_IMAGE;
  m->next = modules;
  modules = m;
  standin_counted.modules++;
  standin_counted.modules_held++;
  *out = m;
  return SUCCESS;
}

int cuModuleGetFunction(void **out, void *of, const char *name);
int cuModuleGetFunction(void **out, void *of, const char *name) {
  STANDIN_LOCKED;
  module *m = of;
  char text[96];
  snprintf(text, sizeof text, "%s%s_operands", m->prefix, name);
  const int *operands = dlsym(m->library, text);
  snprintf(text, sizeof text, "%s%s_numbers", m->prefix, name);
  const int *numbers = dlsym(m->library, text);
  snprintf(text, sizeof text, "%s%s_threads", m->prefix, name);
  const int *threads = dlsym(m->library, text);
  snprintf(text, sizeof text, "%s%s", m->prefix, name);
  void *run = dlsym(m->library, text);
  if (!run || !operands || !numbers || (*operands + *numbers) * 8 > ARGUMENT_BYTES)
    return NOT_FOUND;
  standin_function *k = calloc(1, sizeof *k);
  if (!k)
    return OUT_OF_MEMORY;
  memcpy(&k->run, &run, sizeof run);
  memcpy(&k->blocks.run, &run, sizeof run);
  k->blocks.now = dlsym(m->library, "standin_now");
  k->operands = *operands;
  k->numbers = *numbers;
  k->threads = threads ? *threads : 0;
  k->next = m->kernels;
  m->kernels = k;
  *out = k;
  return SUCCESS;
}

int cuModuleUnload(void *of);
int cuModuleUnload(void *of) {
  STANDIN_LOCKED;
  module **m_at = &modules, *m = of;
  while (*m_at && *m_at != m)
    m_at = &(*m_at)->next;
  if (!*m_at)
    return standin_fail("a module is unloaded that is none");
  *m_at = m->next;
  while (m->kernels) {
    standin_function *k = m->kernels;
    m->kernels = k->next;
    free(k);
  }
  dlclose(m->library);
  free(m);
  standin_counted.modules_held--;
  return SUCCESS;
}

/* --- For libraries ---------------------------------------------------------------------------- */
void *standin_bytes(uint64_t at, size_t bytes, bool writes, const char *who) {
  return standin_memory_at(at, bytes, writes, who);
}

void standin_refuse(const char *who, const char *what) {
  standin_fail("%s %s", who, what);
}

/* --- Devices ---------------------------------------------------------------------------------- */
static int devices(void) {
  const char *text = getenv("STANDIN_DEVICES");
  return text ? (int)strtol(text, NULL, 10) : 1;
}

int cuInit(unsigned flags);
int cuInit(unsigned flags) {
  STANDIN_LOCKED;
  if (standin_fault("cuInit"))
    return standin_last_fault;
  (void)flags;
  return devices() > 0 ? SUCCESS : NO_DEVICE;
}

int cuDriverGetVersion(int *out);
int cuDriverGetVersion(int *out) {
  const char *version = getenv("STANDIN_DRIVER");
  *out = version ? (int)strtol(version, NULL, 10) : 13000;
  return SUCCESS;
}

int cuGetErrorName(int error, const char **out);
int cuGetErrorName(int error, const char **out) {
  STANDIN_LOCKED;
  *out = error == NO_DEVICE         ? "CUDA_ERROR_NO_DEVICE"
         : error == ILLEGAL_ADDRESS ? "CUDA_ERROR_ILLEGAL_ADDRESS"
                                    : "CUDA_ERROR";
  return SUCCESS;
}

int cuGetErrorString(int error, const char **out);
int cuGetErrorString(int error, const char **out) {
  STANDIN_LOCKED;
  *out = error == NO_DEVICE ? "no device" : wrong[0] ? wrong : "of the stand-in";
  return SUCCESS;
}

int cuDeviceGetCount(int *out);
int cuDeviceGetCount(int *out) {
  STANDIN_LOCKED;
  *out = devices();
  return SUCCESS;
}

int cuDeviceGet(int *out, int ordinal);
int cuDeviceGet(int *out, int ordinal) {
  STANDIN_LOCKED;
  *out = ordinal;
  return ordinal >= 0 && ordinal < devices() ? SUCCESS : INVALID_VALUE;
}

int cuDeviceGetAttribute(int *out, int attribute, int device);
int cuDeviceGetAttribute(int *out, int attribute, int device) {
  STANDIN_LOCKED;
  enum { PROCESSORS = 16, RESIDENT = 39, MAJOR = 75, MINOR = 76 };
  (void)device;
  const char *sm = getenv("STANDIN_SM");
  int kind = sm ? (int)strtol(sm, NULL, 10) : 90;
  *out = attribute == MAJOR        ? kind / 10
         : attribute == MINOR      ? kind % 10
         : attribute == PROCESSORS ? 2
         : attribute == RESIDENT   ? 512
                                   : 0;
  return SUCCESS;
}

int cuDevicePrimaryCtxRetain(void **out, int device);
int cuDevicePrimaryCtxRetain(void **out, int device) {
  STANDIN_LOCKED;
  if (standin_fault("cuDevicePrimaryCtxRetain"))
    return standin_last_fault;
  (void)device;
  *out = &device_context;
  standin_counted.contexts_held++;
  return SUCCESS;
}

int cuDevicePrimaryCtxRelease_v2(int device);
int cuDevicePrimaryCtxRelease_v2(int device) {
  STANDIN_LOCKED;
  (void)device;
  if (--standin_counted.contexts_held == 0 && was_asked)
    wrong[0] = was_asked = 0;
  return SUCCESS;
}

int cuCtxPushCurrent_v2(void *context);
int cuCtxPushCurrent_v2(void *context) {
  STANDIN_LOCKED;
  if (context != &device_context)
    return INVALID_CONTEXT;
  context_depth++;
  return SUCCESS;
}

int cuCtxPopCurrent_v2(void **out);
int cuCtxPopCurrent_v2(void **out) {
  STANDIN_LOCKED;
  *out = &device_context;
  return context_depth-- > 0 ? SUCCESS : INVALID_CONTEXT;
}
