/* modules.h - kernels that were compiled for a device, found again by their text.
 *
 * A *module* is text that is compiled at once. It stays while a program uses it. Some unused
 * modules stay too, so that a program that meets old or new sizes compiles only new kernels.
 * Functions may be called from several threads. */
#ifndef FNZI_CUDA_MODULES_H
#define FNZI_CUDA_MODULES_H

#include "engine/cuda/cubin.h"
#include "engine/cuda/text.h"

/* Limits of unused modules: their count, and the bytes of their code and texts. */
enum { FNZI_CUDA_SPARE_MODULES = 64, FNZI_CUDA_SPARE_BYTES = 64 << 20 };

typedef struct fnzi_cuda_function {
  void *function;
  uint32_t threads;
  uint8_t grid;
  fnzi_cuda_figures figures; /* if the device was opened to print plans */
} fnzi_cuda_function;

typedef struct fnzi_cuda_module fnzi_cuda_module;

typedef struct fnzi_cuda_module_kernel {
  struct fnzi_cuda_module_kernel *next; /* in the same bucket */
  fnzi_cuda_module *module;
  fnzi_cuda_kernel text;
  uint64_t hash;
  fnzi_cuda_function function;
} fnzi_cuda_module_kernel;

struct fnzi_cuda_module {
  fnzi_cuda_module *next;
  void *module; /* NULL: of a device that is not there */
  fnzi_cuda_module_kernel *kernels;
  size_t count;
  size_t bytes; /* of code and texts */
  size_t users; /* programs */
  uint64_t used;
  fnzi_arena arena; /* owns everything above */
};

typedef struct fnzi_cuda_modules fnzi_cuda_modules;

/* The table allocates from `ctx`. Nothing else may use `ctx` during a call on the table. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_modules_create(fnz_context *ctx, fnzi_cuda_modules **out);
/* Removes a module of a table at its end, for fnzi_cuda_modules_drop(). Returns NULL if the table
 * is empty and may be destroyed. */
fnzi_cuda_module *fnzi_cuda_modules_remove(fnzi_cuda_modules *modules);
void fnzi_cuda_modules_destroy(fnzi_cuda_modules *modules);

/* Finds the module with a kernel of this text, and the kernel; NULL if there is none. The caller
 * becomes a user of the module, unless it is among the `nhad` modules that it uses already. */
fnzi_cuda_module *fnzi_cuda_modules_find(fnzi_cuda_modules *modules, const fnzi_cuda_kernel *kernel,
                                         fnzi_cuda_module *const *used, size_t nused,
                                         fnzi_cuda_function *out);
/* Makes a module for the kernels of a text. The caller fills it in; fnzi_cuda_modules_find() does
 * not find it yet. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_modules_open(fnz_context *ctx, fnzi_cuda_modules *modules,
                                                 const fnzi_cuda_text *text,
                                                 fnzi_cuda_module **out);
/* Adds the module to the table, for fnzi_cuda_modules_find(). The caller is its first user. */
void fnzi_cuda_modules_add(fnzi_cuda_modules *modules, fnzi_cuda_module *module);
/* Releases a use of the module. If too many are unused, *ends is a list, linked by `next`, of the
 * least recently used ones, which the caller must end by fnzi_cuda_modules_drop(); else NULL. */
void fnzi_cuda_modules_release(fnzi_cuda_modules *modules, fnzi_cuda_module *module,
                               fnzi_cuda_module **unused);
/* Frees a module that is not in the table. The caller has unloaded it from the driver. */
void fnzi_cuda_modules_drop(fnzi_cuda_modules *modules, fnzi_cuda_module *module);

#endif
