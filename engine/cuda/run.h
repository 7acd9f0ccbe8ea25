/* run.h - a GPU as the engine sees it: memory, copies and launches in the order of a stream.
 *
 * Between enter and leave the calling thread works on the device; all functions but open and close
 * are called there.
 *
 * A device may be used by several threads, a stream by one at a time. Work on a stream runs in
 * order, later than the call; its errors are found by a later call, often fnzi_cuda_wait(). Errors
 * of the driver are NOMEM, UNSUPPORTED if there is no such device, else INTERNAL. */
#ifndef FNZI_CUDA_RUN_H
#define FNZI_CUDA_RUN_H

#include "engine/cuda/libraries.h"
#include "engine/cuda/modules.h"

#include <stdatomic.h>

/* A GPU that stays in use. */
struct fnzi_cuda_retained {
  struct fnzi_cuda_retained *next;
  fnzi_cuda_driver driver;
  int device;
  _Atomic(void *) context; /* of CUDA; NULL: it was given back */
  atomic_bool is_broken;
};

typedef struct fnzi_cuda_device {
  fnzi_cuda_driver driver;
  fnzi_cuda_nvrtc nvrtc;
  int device, major, minor, processors;
  int64_t threads; /* most threads with which PyTorch draws random numbers: blocks of 256 on all
                      processors */
  void *context;
  struct fnzi_cuda_retained *retained; /* keeps the GPU in use; NULL: nothing does */
  const char *cache;                   /* a folder; NULL: none */
  fnzi_cuda_modules *modules;          /* kernels compiled for it */
  fnzi_cuda_libraries *libraries;
  bool has_figures;    /* figures of kernels are wanted */
  bool is_absent;      /* no driver: kernels are compiled where NVRTC is found, and nothing runs */
  _Atomic(int) broken; /* a fatal error; 0: none */
} fnzi_cuda_device;

/* The kernels of a text, as code of the device: of modules that others have, too. */
typedef struct fnzi_cuda_program {
  fnzi_cuda_module **modules;
  fnzi_cuda_function *kernels;
  size_t nmodules, count;
} fnzi_cuda_program;

/* Opens a device. `name` is "cuda" or "cuda:1"; any other name fails with ARGUMENT. `cache` is a
 * folder for compiled code; NULL for none. `cache` and `ctx`, which allocates the device's data,
 * must outlive the device. The GPU also stays in use until `holder` is destroyed, unless that is
 * NULL. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_device_open(fnz_context *ctx, fnz_context *holder,
                                                const char *name, const char *cache,
                                                fnzi_cuda_device *out);
/* Only keeps the GPU in use (retain.c). A holder whose device is broken is replaced. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_retain(fnz_context *holder, int device,
                                           struct fnzi_cuda_retained **out);
/* Ends the use of a GPU before its holder is destroyed. The device must be idle and must not be
 * found again. */
void fnzi_cuda_release(struct fnzi_cuda_retained *retained);
/* Finds, without opening the device, the most threads with which PyTorch draws there. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_threads_drawing(fnz_context *ctx, const char *name,
                                                    int64_t *out);
/* Opens a device only to print plans. "sm_90" is a GPU of this kind. The GPU need not exist; "cuda"
 * works without a GPU too. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_device_open_to_print(fnz_context *ctx, const char *name,
                                                         fnzi_cuda_device *out);
/* A result of the driver as fnzi_cuda_driver_status() has it; a fatal one breaks the device. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_status(fnz_context *ctx, const fnzi_cuda_device *device,
                                           int result, const char *what);
/* An illegal address and the like were found on it. */
bool fnzi_cuda_is_broken(const fnzi_cuda_device *device);
void fnzi_cuda_device_close(fnzi_cuda_device *device);
/* INTERNAL on a device that is broken. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_enter(fnz_context *ctx, const fnzi_cuda_device *device);
/* Enters the device only to free resources. Works on a broken device too. */
bool fnzi_cuda_enter_to_end(const fnzi_cuda_device *device);
void fnzi_cuda_leave(const fnzi_cuda_device *device);

/* Addresses on the device, at least 256 bytes apart from each other; 0 for no bytes. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_allocate(fnz_context *ctx, const fnzi_cuda_device *device,
                                             size_t bytes, uint64_t *out);
void fnzi_cuda_free(const fnzi_cuda_device *device, uint64_t address);

/* Memory of the CPU that copies go from and to at once; NULL for no bytes. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_pinned_allocate(fnz_context *ctx,
                                                    const fnzi_cuda_device *device, size_t bytes,
                                                    unsigned char **out);
void fnzi_cuda_pinned_free(const fnzi_cuda_device *device, unsigned char *at);

/* Fails with ARGUMENT, and `name`, if the address is not in this device's memory. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_check_address(fnz_context *ctx, const fnzi_cuda_device *device,
                                                  const char *name, uint64_t address);

FNZ_MUST_CHECK fnz_status fnzi_cuda_stream_make(fnz_context *ctx, const fnzi_cuda_device *device,
                                                void **out);
void fnzi_cuda_stream_end(const fnzi_cuda_device *device, void *stream);
/* Waits for all work on the stream. Copies to the CPU are complete after it. */
FNZ_MUST_CHECK fnz_status fnzi_cuda_wait(fnz_context *ctx, const fnzi_cuda_device *device,
                                         void *stream);
FNZ_MUST_CHECK fnz_status fnzi_cuda_copy_in(fnz_context *ctx, const fnzi_cuda_device *device,
                                            uint64_t to, const void *from, size_t bytes,
                                            void *stream);
FNZ_MUST_CHECK fnz_status fnzi_cuda_copy_out(fnz_context *ctx, const fnzi_cuda_device *device,
                                             void *to, uint64_t from, size_t bytes, void *stream);
FNZ_MUST_CHECK fnz_status fnzi_cuda_copy_within(fnz_context *ctx, const fnzi_cuda_device *device,
                                                uint64_t to, uint64_t from, size_t bytes,
                                                void *stream);

FNZ_MUST_CHECK fnz_status fnzi_cuda_fill(fnz_context *ctx, const fnzi_cuda_device *device,
                                         uint64_t address, unsigned char byte, size_t bytes,
                                         void *stream);

/* Compiles the kernels of a text. Kernels whose text was compiled before are not compiled again.
 * The program's data is in `arena`; it is destroyed by fnzi_cuda_program_end(). */
FNZ_MUST_CHECK fnz_status fnzi_cuda_program_make(fnz_context *ctx, const fnzi_cuda_device *device,
                                                 fnzi_arena *arena, const fnzi_cuda_text *text,
                                                 fnzi_cuda_program *out);
void fnzi_cuda_program_end(const fnzi_cuda_device *device, fnzi_cuda_program *program);
/* The blocks of a launch over `count`. */
int64_t fnzi_cuda_blocks(const fnzi_cuda_device *device, const fnzi_cuda_function *function,
                         int64_t count);
/* A kernel over `count` (its grid: text.h), operand k at addresses[k], with its table. */
typedef struct fnzi_cuda_start {
  const fnzi_cuda_function *kernel;
  int64_t count;
  uint64_t *addresses;
  const int64_t *numbers; /* NULL: it has no table */
} fnzi_cuda_start;
FNZ_MUST_CHECK fnz_status fnzi_cuda_launch(fnz_context *ctx, const fnzi_cuda_device *device,
                                           const fnzi_cuda_start *start, void *stream);

#endif
