/* modules.h - kernels that were compiled for a device, found again by their text.
 *
 * Text that is compiled at once is a *module*. It stays while a program has it; of those that none
 * has, some are kept, so that a program that meets sizes again, or other ones, compiles only what
 * was not compiled yet. Threads may ask at the same time. */
#ifndef FNZI_CUDA_MODULES_H
#define FNZI_CUDA_MODULES_H

#include "engine/cuda/cubin.h"
#include "engine/cuda/text.h"

/* Those that no program has, at most; and the bytes of their code and texts. */
enum { FNZI_CUDA_SPARE_MODULES = 64, FNZI_CUDA_SPARE_BYTES = 64 << 20 };

typedef struct fnzi_cuda_function {
  void *function;
  uint32_t threads;
  uint8_t grid;
  fnzi_cuda_figures figures; /* where they are wanted */
} fnzi_cuda_function;

typedef struct fnzi_cuda_module fnzi_cuda_module;

typedef struct fnzi_cuda_module_kernel {
  struct fnzi_cuda_module_kernel *next; /* with the same remainder of the hash */
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
  fnzi_arena arena; /* of all that */
};

typedef struct fnzi_cuda_modules fnzi_cuda_modules;

/* Memory comes from `ctx`, which nobody else uses while the table is asked. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_modules_create(fnz_context *ctx, fnzi_cuda_modules **out);
/* Of a table that nobody asks any more: one of its modules, which is to be ended by
 * fnzi_cuda_modules_drop(); NULL: it is empty, and may be destroyed. */
fnzi_cuda_module *fnzi_cuda_modules_take(fnzi_cuda_modules *modules);
void fnzi_cuda_modules_destroy(fnzi_cuda_modules *modules);

/* The module that has a kernel of the text, and the kernel; NULL: there is none. The caller has one
 * more module, unless it is among the `nhad` that he has. */
fnzi_cuda_module *fnzi_cuda_modules_find(fnzi_cuda_modules *modules, const fnzi_cuda_kernel *kernel,
                                         fnzi_cuda_module *const *had, size_t nhad,
                                         fnzi_cuda_function *out);
/* A new module for the kernels of a text, which the caller fills in; nobody finds it. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_modules_open(fnz_context *ctx, fnzi_cuda_modules *modules,
                                                 const fnzi_cuda_text *text,
                                                 fnzi_cuda_module **out);
/* It is found from here on, and the caller has it. */
void fnzi_cuda_modules_add(fnzi_cuda_modules *modules, fnzi_cuda_module *module);
/* The caller has it no longer. *ends: modules, by `next`, that are to be ended by
 * fnzi_cuda_modules_drop(): those that were used longest ago, where nobody has too many; NULL for
 * none. */
void fnzi_cuda_modules_give(fnzi_cuda_modules *modules, fnzi_cuda_module *module,
                            fnzi_cuda_module **ends);
/* One that nobody finds, without what the driver has of it. */
void fnzi_cuda_modules_drop(fnzi_cuda_modules *modules, fnzi_cuda_module *module);

#endif
