/* numbers.h - backends that compute numbers: on the CPU and on a GPU. Only libfnz has them. */
#ifndef FNZ_NUMBERS_H
#define FNZ_NUMBERS_H

#include <fnz/backend.h>
#include <fnz/random.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Numbers on the CPU. Results do not depend on `threads` (0: as many as there are cores; at most
 * 4096, else ARGUMENT).
 * out: ends with fnz_backend_destroy(). The context must outlive it and be used by one thread. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_cpu_backend_create(fnz_context *ctx, int threads,
                                                         fnz_backend **out);

/** Numbers on a GPU, operator by operator. A call is compiled when it is first made on tensors of
 * these dtypes, sizes and strides. 256 calls are kept; the least recently used is dropped.
 * Operators without a kernel for a GPU, and calls with data-dependent sizes, run on the CPU on
 * copies. docs/gpu-values.md bounds the differences from the CPU's results. Calls do not wait for
 * the GPU, except to read a value, to run a step on the CPU, and if an index may be out of bounds;
 * they report earlier failures of the GPU then.
 *
 * device   "cuda", "cuda:1"; NULL: "cuda". "sm_90" is a kind of GPU that need not exist here: the
 *          backend then has no values, and only answers fnz_backend_get_kernel().
 * threads  for steps on the CPU; 0: as many as there are cores.
 * cache    a folder where compiled kernels are kept for the next process; NULL: none.
 * out      ends with fnz_backend_destroy(). The context must outlive it and be used by one thread.
 *
 * Fails with UNSUPPORTED, naming what is missing, without a driver, a compiler or that device. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_cuda_backend_create(fnz_context *ctx, const char *device,
                                                          int threads, const char *cache,
                                                          fnz_backend **out);

/** PyTorch's generator for that GPU, with this seed: of the CUDA kind, with the number of threads
 * that PyTorch uses there (<fnz/random.h>). Drawing does not need the GPU.
 *
 * device   "cuda", "cuda:1"; NULL: "cuda".
 * out      ends with fnz_generator_destroy(), before ctx, which has its memory.
 *
 * Fails with UNSUPPORTED, naming what is missing, without a driver or that device. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_cuda_generator_create(fnz_context *ctx, const char *device,
                                                            uint64_t seed, fnz_generator **out);

#ifdef __cplusplus
}
#endif
#endif
