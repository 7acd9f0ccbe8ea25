/* driver.h - CUDA's driver and its compiler of text, which are opened when a program is compiled
 * for a GPU and not before: nothing of CUDA is needed to build or to load this library.
 *
 *   driver.c  libcuda.so.1: devices, memory, modules, launches; errors as statuses
 *   nvrtc.c   libnvrtc.so.13 or .12: text -> code for one kind of GPU */
#ifndef FNZI_CUDA_DRIVER_H
#define FNZI_CUDA_DRIVER_H

#include "base/base.h"
#include "base/digest.h"
#include "engine/load/load.h"

/* --- driver.c */
enum {
#define DRIVER_NUMBER(name, theirs, value) FNZI_CU_##name = value,
#include "engine/cuda/numbers.def"
#undef DRIVER_NUMBER
};

/* CUDA_KERNEL_NODE_PARAMS of CUDA's interface. */
typedef struct fnzi_cuda_kernel_node {
  void *function;
  unsigned blocks[3], threads[3], shared_bytes;
  void **arguments, **extra;
} fnzi_cuda_kernel_node;

typedef struct fnzi_cuda_driver {
  void *library;
  int version; /* of the CUDA that it is for: 12080 is 12.8 */
#define DRIVER(member, symbol, arguments) int(*member) arguments;
#include "engine/cuda/driver.def"
#undef DRIVER
} fnzi_cuda_driver;

FNZ_MUST_CHECK fnz_status fnzi_cuda_driver_open(fnz_context *ctx, fnzi_cuda_driver *out);
void fnzi_cuda_driver_close(fnzi_cuda_driver *driver);
/* Converts a CUresult to a status: NO_MEMORY, UNSUPPORTED if no device can be used, else INTERNAL,
 * with `what` was done. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_driver_status(fnz_context *ctx, const fnzi_cuda_driver *driver,
                                                  int result, const char *what);
/* Returns whether the error destroys the context: all its memory is lost, and every later call
 * fails. */
bool fnzi_cuda_driver_is_fatal(int result);

/* --- nvrtc.c */
typedef struct fnzi_cuda_nvrtc {
  void *library;
  uint64_t bytes; /* of its file */
  int version[2];
  int kind; /* of GPU that code is made for (90: sm_90) */
#define NVRTC(member, symbol, arguments) int(*member) arguments;
#include "engine/cuda/driver.def"
#undef NVRTC
} fnzi_cuda_nvrtc;

/* Any one. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_nvrtc_open(fnz_context *ctx, fnzi_cuda_nvrtc *out);
/* Opens a compiler for GPUs of a kind under a driver of this version (0: there is no driver).
 * Prefers the driver's major version. If no compiler supports the kind, it compiles for the
 * greatest lower kind with the same major version, whose code runs there too. Fails with
 * UNSUPPORTED if there is no such kind either. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_nvrtc_open_for(fnz_context *ctx, int driver, int kind,
                                                   fnzi_cuda_nvrtc *out);
void fnzi_cuda_nvrtc_close(fnzi_cuda_nvrtc *nvrtc);
/* Compiles text for GPUs of compute capability major.minor. Fails with INTERNAL and the compiler's
 * log. Each operation rounds as IEEE 754 requires, and the compiler fuses none by itself. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_nvrtc_compile(fnz_context *ctx, const fnzi_cuda_nvrtc *nvrtc,
                                                  const char *text, int major, int minor,
                                                  fnz_buffer *code);
/* Computes a digest of everything that the compiled code depends on. */
void fnzi_cuda_nvrtc_key(const fnzi_cuda_nvrtc *nvrtc, const char *text, int major, int minor,
                         unsigned char out[FNZI_DIGEST_BYTES]);

#endif
