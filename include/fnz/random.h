/* random.h - generators of random numbers for random operators.
 *
 * There are two kinds of generators. The CPU kind draws the numbers of PyTorch's CPU generator
 * after torch.manual_seed(seed): mt19937, with the second number of a pair of normals kept for the
 * next draw. The CUDA kind draws the numbers of PyTorch's generator on a GPU: Philox4x32-10, where
 * each thread draws its own part, so that numbers depend on the number of threads. Integers,
 * uniforms, masks and permutations equal PyTorch's; normals differ from PyTorch's in their last
 * places. docs/random.md has the details for each operator.
 *
 *   status = fnz_generator_create(ctx, 42, &generator);
 *   fnz_context_set_generator(ctx, generator);
 *   status = fnz_run(ctx, program, backend, inputs, NULL, outputs);
 *
 * Either kind may be used on either device. The CPU draws the same numbers from a CUDA generator as
 * a GPU does. Steps that draw from a CPU generator run on the CPU.
 *
 * Calls through a context draw from its generator, in the order of the program; the next call
 * continues. A run (fnz_run(), an executable's) without a generator draws as from a new one with
 * seed 0, so that it repeats. It is of the CPU kind, or of the CUDA kind with the GPU's threads for
 * an executable on a GPU. A single call, fnz_call(), of a random operator needs a generator.
 *
 * fnz_verify() and fnz_executable_verify() start each run from the same state, and leave the
 * generator as it was.
 *
 * Threads: one generator is used by one thread at a time, as its context is. */
#ifndef FNZ_RANDOM_H
#define FNZ_RANDOM_H

#include <fnz/context.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fnz_generator fnz_generator;

/** out  new; destroy it with fnz_generator_destroy() before ctx, whose allocator it uses. NULL on
 *      failure (only FNZ_NO_MEMORY). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_generator_create(fnz_context *ctx, uint64_t seed,
                                                       fnz_generator **out);
/** Creates a generator of the CUDA kind: Philox with this seed, at offset 0. For a GPU of this
 * machine see fnz_cuda_generator_create() of <fnz/numbers.h>.
 * threads  the most that PyTorch starts on the GPU whose numbers are wanted: processors times
 *          threads per processor, as whole blocks of 256; 270336 on an H100 with 132 processors.
 *
 * Fails with BOUNDS if `threads` is no multiple of 256 from 256 to 2^31 - 256. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_philox_generator_create(fnz_context *ctx, uint64_t seed,
                                                              int64_t threads, fnz_generator **out);
/** The number of threads of a CUDA generator; 0 for a CPU generator. */
FNZ_API int64_t fnz_generator_threads(const fnz_generator *generator);
/** No context may use it any more. NULL is allowed. */
FNZ_API void fnz_generator_destroy(fnz_generator *generator);
/** Resets the generator to a new one of its kind with this seed. */
FNZ_API void fnz_generator_set_seed(fnz_generator *generator, uint64_t seed);

/** Calls through ctx draw from `generator` from now on, which is borrowed; NULL: from none. */
FNZ_API void fnz_context_set_generator(fnz_context *ctx, fnz_generator *generator);

/** Sizes of a state: torch.get_rng_state(), and torch.cuda.get_rng_state(). */
#define FNZ_GENERATOR_STATE_BYTES      5056
#define FNZ_GENERATOR_CUDA_STATE_BYTES 16

/** The size of a state of the generator's kind. */
FNZ_API size_t fnz_generator_state_bytes(const fnz_generator *generator);
/** Writes fnz_generator_state_bytes() bytes; the number of threads is not part of the state. */
FNZ_API void fnz_generator_save_state(const fnz_generator *generator, void *bytes);
/** Takes a saved state, also from torch.get_rng_state() or torch.cuda.get_rng_state(). Fails with
 * FNZ_BAD_INPUT (BOUNDS), without a change, if it is no state of the generator's kind. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_generator_restore_state(fnz_context *ctx,
                                                              fnz_generator *generator,
                                                              const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif
#endif
