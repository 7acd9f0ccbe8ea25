/* numbers.h - backends that compute numbers: on the CPU and on a GPU. They are of libfnz alone. */
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

/** Numbers on a GPU, operator by operator: each is compiled when it is first called on tensors of
 * such types, sizes and strides, and kept; beyond 256 that one ends which was called longest ago.
 * What no GPU computes, and calls whose sizes data decide, the CPU does, on copies. Results agree
 * with the CPU's as docs/gpu.md says. Calls do not wait for the GPU: it is waited for where
 * somebody reads, the CPU has a part, or a place may be out of bounds; a failure of the GPU itself
 * is told then.
 *
 * device   "cuda", "cuda:1"; NULL: "cuda". "sm_90" is a kind of GPU that need not be there: the
 *          backend then has no values, and only tells (fnz_backend_get_kernel()).
 * threads  of what the CPU does; 0: as many as there are cores.
 * cache    a folder where compiled kernels are kept for the next process; NULL: none.
 * out      ends with fnz_backend_destroy(). The context must outlive it and be used by one thread.
 *
 * Fails with UNSUPPORTED, naming what is missing, without a driver, a compiler or that device. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_cuda_backend_create(fnz_context *ctx, const char *device,
                                                          int threads, const char *cache,
                                                          fnz_backend **out);

/** The generator that PyTorch has for that GPU, with this seed: of the kind of CUDA, and with the
 * threads that PyTorch draws by there (<fnz/random.h>). What is drawn does not need the GPU.
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
