/* driver.h - CUDA's driver and its compiler of text, which are opened when a program is compiled
 * for a GPU and not before: nothing of CUDA is needed to build or to load this library.
 *
 *   library.c  opens a library and fills a table of its functions
 *   driver.c   libcuda.so.1: devices, memory, modules, launches; errors as statuses
 *   nvrtc.c    libnvrtc.so.13 or .12: text -> code for one kind of GPU */
#ifndef FNZI_CUDA_DRIVER_H
#define FNZI_CUDA_DRIVER_H

#include "base/base.h"
#include "base/digest.h"

/* --- library.c */
typedef struct fnzi_cuda_symbol {
  const char *name;
  size_t offset; /* of the pointer to the function within the table */
} fnzi_cuda_symbol;

/* The first one of `names` that there is. UNSUPPORTED with `advice` and the loader's reasons when
 * there is none, and when it lacks a function. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_library_open(fnz_context *ctx, const char *const *names,
                                                 const char *advice,
                                                 const fnzi_cuda_symbol *symbols, size_t count,
                                                 void *table, void **library);
void fnzi_cuda_library_close(void *library);

/* --- driver.c */
/* CUDA_KERNEL_NODE_PARAMS of CUDA's interface. */
typedef struct fnzi_cuda_kernel_node {
  void *function;
  unsigned blocks[3], threads[3], shared_bytes;
  void **arguments, **extra;
} fnzi_cuda_kernel_node;

typedef struct fnzi_cuda_driver {
  void *library;
#define DRIVER(member, symbol, arguments) int(*member) arguments;
#include "engine/cuda/driver.def"
#undef DRIVER
} fnzi_cuda_driver;

FNZ_MUST_CHECK fnz_status fnzi_cuda_driver_open(fnz_context *ctx, fnzi_cuda_driver *out);
void fnzi_cuda_driver_close(fnzi_cuda_driver *driver);
/* A CUresult as a status: NO_MEMORY, UNSUPPORTED where no device can be used, else INTERNAL, with
 * `what` was done. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_driver_told(fnz_context *ctx, const fnzi_cuda_driver *driver,
                                                int result, const char *what);
/* What was on the context is lost, and nothing works on it any more. */
bool fnzi_cuda_driver_is_fatal(int result);

/* --- nvrtc.c */
typedef struct fnzi_cuda_nvrtc {
  void *library;
#define NVRTC(member, symbol, arguments) int(*member) arguments;
#include "engine/cuda/driver.def"
#undef NVRTC
} fnzi_cuda_nvrtc;

FNZ_MUST_CHECK fnz_status fnzi_cuda_nvrtc_open(fnz_context *ctx, fnzi_cuda_nvrtc *out);
void fnzi_cuda_nvrtc_close(fnzi_cuda_nvrtc *nvrtc);
/* Code of GPUs of compute capability major.minor; INTERNAL with what the compiler says. Each
 * operation rounds as IEEE 754 wants, and none is fused that the text does not fuse. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_nvrtc_compile(fnz_context *ctx, const fnzi_cuda_nvrtc *nvrtc,
                                                  const char *text, int major, int minor,
                                                  fnz_buffer *code);
/* What that code depends on, as one number. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_nvrtc_key(fnz_context *ctx, const fnzi_cuda_nvrtc *nvrtc,
                                              const char *text, int major, int minor,
                                              unsigned char out[FNZI_DIGEST_BYTES]);

#endif
