/* modules.c - a table of kernels by their text, and the modules that they are in. */
#include "engine/cuda/modules.h"

#include <pthread.h>

enum { BUCKETS = 1024 };

struct fnzi_cuda_modules {
  pthread_mutex_t lock;
  fnz_context *ctx;
  fnzi_cuda_module *first;
  fnzi_cuda_module_kernel *kernels[BUCKETS];
  size_t spare, spare_bytes; /* modules that no program uses, and their bytes */
  uint64_t now;              /* counts takes and releases, for `used` */
};

fnz_status fnzi_cuda_modules_create(fnz_context *ctx, fnzi_cuda_modules **out) {
  fnzi_cuda_modules *m = fnzi_resize(ctx, NULL, 0, sizeof *m);
  *out = NULL;
  if (!m)
    return fnzi_no_memory(ctx);
  memset(m, 0, sizeof *m);
  m->ctx = ctx;
  if (pthread_mutex_init(&m->lock, NULL) != 0) {
    fnzi_free(ctx, m, sizeof *m);
    return fnzi_no_memory(ctx);
  }
  *out = m;
  return FNZ_OK;
}

/* Frees a module. The caller has the lock. */
static void modules_end(fnzi_cuda_modules *m, fnzi_cuda_module *module) {
  fnzi_arena_free(&module->arena);
  fnzi_free(m->ctx, module, sizeof *module);
}

fnzi_cuda_module *fnzi_cuda_modules_remove(fnzi_cuda_modules *m) {
  fnzi_cuda_module *module = m->first;
  if (module)
    m->first = module->next;
  return module;
}

void fnzi_cuda_modules_destroy(fnzi_cuda_modules *m) {
  pthread_mutex_destroy(&m->lock);
  fnzi_free(m->ctx, m, sizeof *m);
}

static void count_spare(fnzi_cuda_modules *m, const fnzi_cuda_module *module, bool more) {
  m->spare += more ? 1 : (size_t)-1;
  m->spare_bytes += more ? module->bytes : (size_t)0 - module->bytes;
}

/* --- Kernels ---------------------------------------------------------------------------------- */
static uint64_t hash_of(const fnzi_cuda_modules *m, const fnzi_cuda_kernel *k) {
  return fnzi_hash(m->ctx, k->body, strlen(k->body));
}

fnzi_cuda_module *fnzi_cuda_modules_find(fnzi_cuda_modules *m, const fnzi_cuda_kernel *kernel,
                                         fnzi_cuda_module *const *used, size_t nused,
                                         fnzi_cuda_function *out) {
  uint64_t hash = hash_of(m, kernel);
  fnzi_cuda_module *found = NULL;
  pthread_mutex_lock(&m->lock);
  fnzi_cuda_module_kernel *k = m->kernels[hash % BUCKETS];
  while (k && (k->hash != hash || !fnzi_cuda_kernel_is_same(&k->text, kernel)))
    k = k->next;
  if (k) {
    found = k->module;
    *out = k->function;
    bool has = false;
    for (size_t i = 0; i < nused; i++)
      has = has || used[i] == found;
    if (!has && found->users++ == 0)
      count_spare(m, found, false);
  }
  pthread_mutex_unlock(&m->lock);
  return found;
}

/* --- Modules ---------------------------------------------------------------------------------- */
static fnz_status copy_kernels(const fnzi_cuda_modules *m, fnzi_cuda_module *module,
                               const fnzi_cuda_text *text) {
  FNZI_NEW(&module->arena, text->kernels.count, &module->kernels);
  for (; module->count < text->kernels.count; module->count++) {
    fnzi_cuda_module_kernel *k = &module->kernels[module->count];
    k->text = text->kernels.data[module->count];
    k->module = module;
    k->hash = hash_of(m, &k->text);
    size_t bytes = strlen(k->text.body);
    FNZ_TRY(fnzi_arena_string(&module->arena, k->text.body, bytes, &k->text.body));
    module->bytes += bytes;
  }
  return FNZ_OK;
}

static fnz_status open(fnzi_cuda_modules *m, const fnzi_cuda_text *text, fnzi_cuda_module **out) {
  fnzi_cuda_module *module = fnzi_resize(m->ctx, NULL, 0, sizeof *module);
  *out = NULL;
  if (!module)
    return FNZ_NO_MEMORY;
  memset(module, 0, sizeof *module);
  fnzi_arena_init(&module->arena, m->ctx);
  fnz_status status = copy_kernels(m, module, text);
  if (status != FNZ_OK)
    modules_end(m, module);
  else
    *out = module;
  return status;
}

fnz_status fnzi_cuda_modules_open(fnz_context *ctx, fnzi_cuda_modules *m,
                                  const fnzi_cuda_text *text, fnzi_cuda_module **out) {
  pthread_mutex_lock(&m->lock);
  fnz_status status = open(m, text, out);
  pthread_mutex_unlock(&m->lock);
  return status == FNZ_OK ? FNZ_OK : fnzi_no_memory(ctx);
}

void fnzi_cuda_modules_add(fnzi_cuda_modules *m, fnzi_cuda_module *module) {
  pthread_mutex_lock(&m->lock);
  module->users = 1;
  module->next = m->first;
  m->first = module;
  for (size_t k = 0; k < module->count; k++) {
    fnzi_cuda_module_kernel **bucket = &m->kernels[module->kernels[k].hash % BUCKETS];
    module->kernels[k].next = *bucket;
    *bucket = &module->kernels[k];
  }
  pthread_mutex_unlock(&m->lock);
}

/* Removes the least recently released module from the table. */
static fnzi_cuda_module *remove_oldest(fnzi_cuda_modules *m) {
  fnzi_cuda_module **oldest = NULL;
  for (fnzi_cuda_module **at = &m->first; *at; at = &(*at)->next)
    if ((*at)->users == 0 && (!oldest || (*at)->used < (*oldest)->used))
      oldest = at;
  fnzi_cuda_module *module = *oldest;
  *oldest = module->next;
  for (size_t k = 0; k < module->count; k++) {
    fnzi_cuda_module_kernel **at = &m->kernels[module->kernels[k].hash % BUCKETS];
    while (*at != &module->kernels[k])
      at = &(*at)->next;
    *at = (*at)->next;
  }
  count_spare(m, module, false);
  return module;
}

void fnzi_cuda_modules_release(fnzi_cuda_modules *m, fnzi_cuda_module *module,
                               fnzi_cuda_module **unused) {
  *unused = NULL;
  pthread_mutex_lock(&m->lock);
  module->used = ++m->now;
  if (--module->users == 0)
    count_spare(m, module, true);
  while (m->spare > FNZI_CUDA_SPARE_MODULES || m->spare_bytes > FNZI_CUDA_SPARE_BYTES) {
    fnzi_cuda_module *oldest = remove_oldest(m);
    oldest->next = *unused;
    *unused = oldest;
  }
  pthread_mutex_unlock(&m->lock);
}

void fnzi_cuda_modules_drop(fnzi_cuda_modules *m, fnzi_cuda_module *module) {
  pthread_mutex_lock(&m->lock);
  modules_end(m, module);
  pthread_mutex_unlock(&m->lock);
}
