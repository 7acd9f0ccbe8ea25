/* run.c - a GPU: its memory, its stream, its kernels. */
#include "engine/cuda/run.h"

#include "engine/cuda/cache.h"

#include <stdio.h>

/* Converts a driver's result to a status. A fatal error marks the device as broken, because every
 * later call on the context fails, in every thread. */
fnz_status fnzi_cuda_status(fnz_context *ctx, const fnzi_cuda_device *d, int result,
                            const char *what) {
  fnzi_cuda_device *shared = (fnzi_cuda_device *)(uintptr_t)d;
  int none = 0;
  if (fnzi_cuda_driver_is_fatal(result)) {
    atomic_compare_exchange_strong(&shared->broken, &none, result);
    if (shared->retained)
      atomic_store(&shared->retained->is_broken, true);
  }
  return fnzi_cuda_driver_status(ctx, &d->driver, result, what);
}

#define STATUS(device, call, what) fnzi_cuda_status(ctx, device, (device)->driver.call, what)

/* --- The device ------------------------------------------------------------------------------- */
/* "cuda" is device 0, "cuda:3" device 3. */
static fnz_status ordinal_of(fnz_context *ctx, const char *name, int *out) {
  const char *digit = name + strlen("cuda");
  *out = 0;
  if (strcmp(name, "cuda") == 0)
    return FNZ_OK;
  bool fits = strncmp(name, "cuda:", 5) == 0 && digit[1] && strlen(digit) < 5;
  for (digit++; fits && *digit; digit++) {
    fits = *digit >= '0' && *digit <= '9';
    *out = 10 * *out + (*digit - '0');
  }
  return fits ? FNZ_OK
              : fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                          "there is no device %s: it is cpu, cuda or cuda:N", name);
}

/* Returns the most threads that PyTorch draws with: blocks of 256, as many as the processors run at
 * a time. */
static int64_t drawing_threads(int processors, int resident) {
  enum { BLOCK = 256 };
  return (int64_t)processors * (resident - resident % BLOCK);
}

static fnz_status find_device(fnz_context *ctx, const char *name, fnzi_cuda_device *d) {
  int ordinal, count = 0;
  FNZ_TRY(ordinal_of(ctx, name, &ordinal));
  FNZ_TRY(fnzi_cuda_driver_open(ctx, &d->driver));
  FNZ_TRY(STATUS(d, device_count(&count), "GPUs are counted"));
  if (ordinal >= count)
    return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL, "there is no device %s: the driver finds %d",
                     name, count);
  return STATUS(d, device_get(&d->device, ordinal), "the GPU is opened");
}

static fnz_status query_device(fnz_context *ctx, fnzi_cuda_device *d) {
  int resident = 0;
  FNZ_TRY(STATUS(d, device_attribute(&d->major, FNZI_CU_MAJOR, d->device), "the GPU is asked"));
  FNZ_TRY(STATUS(d, device_attribute(&d->minor, FNZI_CU_MINOR, d->device), "the GPU is asked"));
  FNZ_TRY(STATUS(d, device_attribute(&d->processors, FNZI_CU_PROCESSORS, d->device),
                 "the GPU is asked"));
  FNZ_TRY(STATUS(d, device_attribute(&resident, FNZI_CU_RESIDENT, d->device), "the GPU is asked"));
  d->threads = drawing_threads(d->processors, resident);
  return FNZ_OK;
}

static fnz_status open_device(fnz_context *ctx, fnz_context *holder, const char *name,
                              fnzi_cuda_device *d) {
  FNZ_TRY(find_device(ctx, name, d));
  FNZ_TRY(query_device(ctx, d));
  FNZ_TRY(fnzi_cuda_nvrtc_open_for(ctx, d->driver.version, 10 * d->major + d->minor, &d->nvrtc));
  fnz_status status = holder ? fnzi_cuda_retain(holder, d->device, &d->retained) : FNZ_OK;
  if (status != FNZ_OK)
    ctx->error = holder->error;
  FNZ_TRY(status);
  return STATUS(d, context_retain(&d->context, d->device), "the GPU is taken");
}

fnz_status fnzi_cuda_threads_drawing(fnz_context *ctx, const char *name, int64_t *out) {
  fnzi_cuda_device d;
  memset(&d, 0, sizeof d);
  fnz_status status = find_device(ctx, name, &d);
  if (status == FNZ_OK)
    status = query_device(ctx, &d);
  *out = d.threads;
  fnzi_cuda_driver_close(&d.driver);
  return status;
}

fnz_status fnzi_cuda_device_open(fnz_context *ctx, fnz_context *holder, const char *name,
                                 const char *cache, fnzi_cuda_device *out) {
  memset(out, 0, sizeof *out);
  out->cache = cache;
  atomic_init(&out->broken, 0);
  fnz_status status = fnzi_cuda_modules_create(ctx, &out->modules);
  if (status == FNZ_OK)
    status = fnzi_cuda_libraries_create(ctx, &out->libraries);
  if (status == FNZ_OK)
    status = open_device(ctx, holder, name, out);
  if (status != FNZ_OK)
    fnzi_cuda_device_close(out);
  return status;
}

static fnz_status absent_device(fnz_context *ctx, const char *kind, fnzi_cuda_device *d) {
  size_t length = strlen(kind);
  int number = 0;
  bool fits =
      length >= strlen("sm_50") && length <= strlen("sm_100") && strncmp(kind, "sm_", 3) == 0;
  for (size_t i = 3; fits && i < length; i++) {
    fits = kind[i] >= '0' && kind[i] <= '9';
    number = 10 * number + (kind[i] - '0');
  }
  if (!fits)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "there is no kind of GPU %s: they are sm_80, sm_90, sm_100 and the like",
                     kind);
  enum { RESIDENT = 2048 };
  const fnz_error had = ctx->error;
  d->is_absent = true;
  d->major = number / 10;
  d->minor = number % 10;
  /* Multiprocessors of the largest GPU of each kind. */
  d->processors = number < 80 ? 80 : number < 90 ? 108 : number < 100 ? 132 : 148;
  d->threads = drawing_threads(d->processors, RESIDENT);
  if (fnzi_cuda_nvrtc_open_for(ctx, 0, number, &d->nvrtc) != FNZ_OK)
    ctx->error = had;
  return FNZ_OK;
}

fnz_status fnzi_cuda_device_open_to_print(fnz_context *ctx, const char *name,
                                          fnzi_cuda_device *out) {
  const fnz_error had = ctx->error;
  if (strncmp(name, "sm_", 3) != 0) {
    fnz_status status = fnzi_cuda_device_open(ctx, NULL, name, NULL, out);
    out->has_figures = true;
    if (status != FNZ_UNSUPPORTED)
      return status;
    name = "sm_90";
  }
  ctx->error = had;
  memset(out, 0, sizeof *out);
  atomic_init(&out->broken, 0);
  out->has_figures = true;
  FNZ_TRY(fnzi_cuda_modules_create(ctx, &out->modules));
  fnz_status status = absent_device(ctx, name, out);
  if (status != FNZ_OK)
    fnzi_cuda_device_close(out);
  return status;
}

static void end_module(const fnzi_cuda_device *d, fnzi_cuda_module *module) {
  if (module->module)
    d->driver.module_end(module->module);
  fnzi_cuda_modules_drop(d->modules, module);
}

void fnzi_cuda_device_close(fnzi_cuda_device *d) {
  /* No program uses the modules and libraries any more. If the device is lost, its modules are gone
   * already. */
  bool enters = d->context && fnzi_cuda_enter_to_end(d);
  for (fnzi_cuda_module *m; d->modules && (m = fnzi_cuda_modules_remove(d->modules)) != NULL;) {
    m->module = enters ? m->module : NULL;
    end_module(d, m);
  }
  if (d->libraries)
    fnzi_cuda_libraries_destroy(d->libraries);
  d->libraries = NULL;
  if (enters)
    fnzi_cuda_leave(d);
  if (d->modules)
    fnzi_cuda_modules_destroy(d->modules);
  d->modules = NULL;
  if (d->context)
    d->driver.context_release(d->device);
  d->context = NULL;
  if (d->retained && fnzi_cuda_is_broken(d))
    fnzi_cuda_release(d->retained);
  fnzi_cuda_nvrtc_close(&d->nvrtc);
  fnzi_cuda_driver_close(&d->driver);
}

bool fnzi_cuda_is_broken(const fnzi_cuda_device *d) {
  return atomic_load(&d->broken) != 0;
}

fnz_status fnzi_cuda_enter(fnz_context *ctx, const fnzi_cuda_device *d) {
  if (d->is_absent)
    return FNZ_OK;
  if (fnzi_cuda_is_broken(d))
    return fnzi_fail(
        ctx, FNZ_CLASS_INTERNAL, NULL,
        "CUDA gave error %d in an earlier run: this executable is finished; destroy it "
        "and its states, and compile the program again",
        atomic_load(&d->broken));
  return STATUS(d, context_push(d->context), "the GPU is entered");
}

bool fnzi_cuda_enter_to_end(const fnzi_cuda_device *d) {
  return !d->is_absent && d->driver.context_push(d->context) == 0;
}

void fnzi_cuda_leave(const fnzi_cuda_device *d) {
  void *was;
  if (d->is_absent)
    return;
  d->driver.context_pop(&was);
}

/* --- Memory and order ------------------------------------------------------------------------- */
fnz_status fnzi_cuda_allocate(fnz_context *ctx, const fnzi_cuda_device *d, size_t bytes,
                              uint64_t *out) {
  *out = 0;
  return bytes ? STATUS(d, memory_allocate(out, bytes), "memory of the GPU is taken") : FNZ_OK;
}

void fnzi_cuda_free(const fnzi_cuda_device *d, uint64_t address) {
  if (address)
    d->driver.memory_free(address);
}

fnz_status fnzi_cuda_pinned_allocate(fnz_context *ctx, const fnzi_cuda_device *d, size_t bytes,
                                     unsigned char **out) {
  void *at = NULL;
  int result = bytes ? d->driver.pinned_allocate(&at, bytes, 0) : 0;
  *out = at;
  return result == FNZI_CU_OUT_OF_MEMORY
             ? fnzi_fail(ctx, FNZ_CLASS_NOMEM, NULL,
                         "the CPU has no %zu bytes of pinned memory left, by which copies go",
                         bytes)
             : fnzi_cuda_status(ctx, d, result, "pinned memory for copies is taken");
}

void fnzi_cuda_pinned_free(const fnzi_cuda_device *d, unsigned char *at) {
  if (at)
    d->driver.pinned_free(at);
}

/* Managed memory is accessible from every device. An address that CUDA does not know has no
 * kind. */
fnz_status fnzi_cuda_check_address(fnz_context *ctx, const fnzi_cuda_device *d, const char *name,
                                   uint64_t address) {
  static const int attributes[] = {FNZI_CU_POINTER_KIND, FNZI_CU_POINTER_IS_MANAGED,
                                   FNZI_CU_POINTER_ORDINAL};
  unsigned kind = 0, is_managed = 0;
  int ordinal = 0;
  void *const values[] = {&kind, &is_managed, &ordinal};
  int result = d->driver.pointer_attributes(3, attributes, values, address);
  if (result != 0 && result != FNZI_CU_INVALID_VALUE && result != FNZI_CU_INVALID_CONTEXT)
    return fnzi_cuda_status(ctx, d, result, "an address is looked up");
  if (result == 0 && (is_managed || (kind == FNZI_CU_ON_DEVICE && ordinal == d->device)))
    return FNZ_OK;
  if (result == 0 && kind == FNZI_CU_ON_DEVICE)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, name,
                     "\"%s\" lies on cuda:%d, the executable is for cuda:%d: copy it there, or "
                     "compile for that device",
                     name, ordinal, d->device);
  return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, name,
                   "\"%s\" lies with the CPU, though the run is given memory of the GPU: copy it "
                   "there; or compile with the option staging and run without on_device",
                   name);
}

fnz_status fnzi_cuda_stream_make(fnz_context *ctx, const fnzi_cuda_device *d, void **out) {
  return STATUS(d, stream_make(out, FNZI_CU_NON_BLOCKING), "a stream is made");
}

void fnzi_cuda_stream_end(const fnzi_cuda_device *d, void *stream) {
  if (stream)
    d->driver.stream_end(stream);
}

fnz_status fnzi_cuda_wait(fnz_context *ctx, const fnzi_cuda_device *d, void *stream) {
  return STATUS(d, stream_wait(stream), "the GPU computes");
}

fnz_status fnzi_cuda_copy_in(fnz_context *ctx, const fnzi_cuda_device *d, uint64_t to,
                             const void *from, size_t bytes, void *stream) {
  return bytes ? STATUS(d, copy_in(to, from, bytes, stream), "bytes are copied to the GPU")
               : FNZ_OK;
}

fnz_status fnzi_cuda_copy_out(fnz_context *ctx, const fnzi_cuda_device *d, void *to, uint64_t from,
                              size_t bytes, void *stream) {
  return bytes ? STATUS(d, copy_out(to, from, bytes, stream), "bytes are copied from the GPU")
               : FNZ_OK;
}

fnz_status fnzi_cuda_copy_within(fnz_context *ctx, const fnzi_cuda_device *d, uint64_t to,
                                 uint64_t from, size_t bytes, void *stream) {
  return bytes ? STATUS(d, copy_within(to, from, bytes, stream), "bytes are copied on the GPU")
               : FNZ_OK;
}

fnz_status fnzi_cuda_fill(fnz_context *ctx, const fnzi_cuda_device *d, uint64_t address,
                          unsigned char byte, size_t bytes, void *stream) {
  return bytes ? STATUS(d, fill(address, byte, bytes, stream), "memory of the GPU is filled")
               : FNZ_OK;
}

/* --- Programs --------------------------------------------------------------------------------- */

/* Loads code into a module that is not in the table yet. */
static fnz_status load(fnz_context *ctx, const fnzi_cuda_device *d, const fnz_buffer *code,
                       fnzi_cuda_module *module) {
  module->bytes += code->size;
  if (!d->is_absent) {
    fnz_status status = STATUS(d, module_load(&module->module, code->data), "a program is loaded");
    const fnz_error had = ctx->error;
    /* A driver may not know code of a CUDA that is newer than it. */
    if (status == FNZ_INTERNAL && d->nvrtc.version[0] > d->driver.version / 1000)
      return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                       "%s; NVRTC is %d.%d, the driver is for CUDA %d.%d: install libnvrtc.so.%d, "
                       "or a newer driver",
                       had.message, d->nvrtc.version[0], d->nvrtc.version[1],
                       d->driver.version / 1000, d->driver.version % 1000 / 10,
                       d->driver.version / 1000);
    FNZ_TRY(status);
  }
  for (size_t k = 0; k < module->count; k++) {
    const fnzi_cuda_kernel *kernel = &module->kernels[k].text;
    fnzi_cuda_function *f = &module->kernels[k].function;
    char name[32];
    *f = (fnzi_cuda_function){.threads = kernel->threads, .grid = kernel->grid};
    snprintf(name, sizeof name, "k%zu", k);
    if (d->has_figures && code->data)
      f->figures = fnzi_cuda_cubin_figures(code->data, code->size, name);
    if (!d->is_absent)
      FNZ_TRY(
          STATUS(d, module_function(&f->function, module->module, name), "a kernel is looked up"));
  }
  return FNZ_OK;
}

static fnz_status compile_or_find(fnz_context *ctx, const fnzi_cuda_device *d, const char *source,
                                  fnz_buffer *code) {
  unsigned char key[FNZI_DIGEST_BYTES];
  const int major = d->nvrtc.kind / 10, minor = d->nvrtc.kind % 10;
  fnzi_cuda_nvrtc_key(&d->nvrtc, source, major, minor, key);
  if (d->cache && fnzi_cuda_cache_read(ctx, d->cache, key, code))
    return FNZ_OK;
  FNZ_TRY(fnzi_cuda_nvrtc_compile(ctx, &d->nvrtc, source, major, minor, code));
  if (d->cache)
    fnzi_cuda_cache_write(ctx, d->cache, key, code);
  return FNZ_OK;
}

/* A kernel, of a module that the program has from here on. */
static void use_kernel(fnzi_cuda_program *p, size_t kernel, fnzi_cuda_module *module,
                       const fnzi_cuda_function *function) {
  p->kernels[kernel] = *function;
  for (size_t m = 0; m < p->nmodules; m++)
    if (p->modules[m] == module)
      return;
  p->modules[p->nmodules++] = module;
}

/* Takes the kernels that are compiled already. The others are added to `missing`, with their
 * indices in `places`. */
static fnz_status find_all(fnz_context *ctx, const fnzi_cuda_device *d, const fnzi_cuda_text *text,
                           fnzi_cuda_program *out, fnzi_cuda_text *missing, size_t *indices) {
  for (size_t k = 0; k < text->kernels.count; k++) {
    fnzi_cuda_function function;
    fnzi_cuda_module *module = fnzi_cuda_modules_find(d->modules, &text->kernels.data[k],
                                                      out->modules, out->nmodules, &function);
    if (module) {
      use_kernel(out, k, module, &function);
    } else {
      indices[missing->kernels.count] = k;
      FNZI_PUSH(ctx, &missing->kernels, text->kernels.data[k]);
    }
  }
  return FNZ_OK;
}

static fnz_status make_missing(fnz_context *ctx, const fnzi_cuda_device *d,
                               const fnzi_cuda_text *missing, const size_t *indices,
                               fnzi_cuda_program *out) {
  fnz_buffer source = {.data = NULL}, code = {.data = NULL};
  fnzi_cuda_module *module;
  FNZ_TRY(fnzi_cuda_modules_open(ctx, d->modules, missing, &module));
  bool compiles = !d->is_absent || d->nvrtc.library;
  fnz_status status = compiles ? fnzi_cuda_text_write(ctx, missing, &source) : FNZ_OK;
  if (status == FNZ_OK && compiles)
    status = compile_or_find(ctx, d, (const char *)source.data, &code);
  fnz_buffer_free(ctx, &source);
  if (status == FNZ_OK)
    status = load(ctx, d, &code, module);
  fnz_buffer_free(ctx, &code);
  if (status != FNZ_OK) {
    end_module(d, module);
    return status;
  }
  fnzi_cuda_modules_add(d->modules, module);
  for (size_t k = 0; k < module->count; k++)
    use_kernel(out, indices[k], module, &module->kernels[k].function);
  return FNZ_OK;
}

fnz_status fnzi_cuda_program_make(fnz_context *ctx, const fnzi_cuda_device *d, fnzi_arena *arena,
                                  const fnzi_cuda_text *text, fnzi_cuda_program *out) {
  fnzi_cuda_text missing = *text;
  size_t *indices, count = text->kernels.count;
  *out = (fnzi_cuda_program){.count = 0};
  FNZI_NEW(arena, count, &out->kernels);
  FNZI_NEW(arena, count + 1, &out->modules);
  FNZI_NEW(arena, count, &indices);
  memset(&missing.kernels, 0, sizeof missing.kernels);
  fnz_status status = find_all(ctx, d, text, out, &missing, indices);
  if (status == FNZ_OK && missing.kernels.count)
    status = make_missing(ctx, d, &missing, indices, out);
  FNZI_VEC_FREE(ctx, &missing.kernels);
  out->count = count;
  if (status != FNZ_OK)
    fnzi_cuda_program_end(d, out);
  return status;
}

void fnzi_cuda_program_end(const fnzi_cuda_device *d, fnzi_cuda_program *p) {
  for (size_t m = 0; m < p->nmodules; m++) {
    fnzi_cuda_module *unused;
    fnzi_cuda_modules_release(d->modules, p->modules[m], &unused);
    for (fnzi_cuda_module *next; unused; unused = next) {
      next = unused->next;
      end_module(d, unused);
    }
  }
  *p = (fnzi_cuda_program){.count = 0};
}

/* A thread for each element, up to what keeps all processors at work; then each takes several. */
int64_t fnzi_cuda_blocks(const fnzi_cuda_device *d, const fnzi_cuda_function *f, int64_t count) {
  enum { BLOCKS = 16 }; /* of a processor at most */
  int64_t most = INT32_MAX, blocks = count;
  if (f->grid == FNZI_CUDA_GRID_FLAT) {
    blocks = count / f->threads + (count % f->threads != 0);
    most = (int64_t)BLOCKS * d->processors;
  }
  return blocks < most ? blocks : most;
}

fnz_status fnzi_cuda_launch(fnz_context *ctx, const fnzi_cuda_device *d, const fnzi_cuda_start *s,
                            void *stream) {
  void *arguments[] = {s->addresses, (void *)(uintptr_t)s->numbers};
  if (s->count == 0)
    return FNZ_OK;
  return STATUS(d,
                launch(s->kernel->function, (unsigned)fnzi_cuda_blocks(d, s->kernel, s->count), 1,
                       1, s->kernel->threads, 1, 1, 0, stream, arguments, NULL),
                "a kernel is started");
}
