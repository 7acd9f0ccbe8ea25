/* random.h - where random operators draw from: a generator, as a value of its own.
 *
 * A generator is of one of two kinds. That of the CPU gives the numbers that PyTorch's generator of
 * the CPU gives after torch.manual_seed(seed): mt19937, and the second one of a pair of normals
 * that waits. That of CUDA gives those of PyTorch's on a GPU: Philox4x32-10, of which each thread
 * draws a part of its own, so that numbers depend on how many threads there are. Integers,
 * uniforms, masks and permutations are those of PyTorch; normals are, but for their last places.
 * docs/gpu.md says what holds for each operator.
 *
 *   status = fnz_generator_create(ctx, 42, &generator);
 *   fnz_context_set_generator(ctx, generator);
 *   status = fnz_run(ctx, program, backend, inputs, NULL, outputs);
 *
 * Either kind may be drawn from on either device. What a GPU computes of one kind of CUDA the CPU
 * computes too, with the same numbers; what draws from the kind of the CPU, the CPU computes.
 *
 * What is called through a context draws from the generator of that context, in the order of the
 * program, and the next call goes on. A run (fnz_run(), an executable's) without a
 * generator draws as from a new one with seed 0, so that it repeats: one of the CPU, but one of
 * CUDA with the threads of the GPU where an executable is for a GPU. A single call, fnz_call(), of
 * a random operator needs one.
 *
 * fnz_verify() and fnz_executable_verify() begin each run from the same state, and leave the
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

/** out  new; ends with fnz_generator_destroy(), before ctx, which has its memory. NULL on failure
 *       (only FNZ_NO_MEMORY). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_generator_create(fnz_context *ctx, uint64_t seed,
                                                       fnz_generator **out);
/** The same of the kind of CUDA: Philox with this seed, at offset 0. See
 * fnz_cuda_generator_create() of <fnz/numbers.h> for the one of a GPU that is there.
 * threads  how many PyTorch starts at most on the GPU whose numbers are wanted: processors times
 *          threads that one has, as whole blocks of 256; 270336 of an H100 with 132 processors.
 *
 * Fails with BOUNDS where that is no multiple of 256 from 256 to 2^31 - 256. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_philox_generator_create(fnz_context *ctx, uint64_t seed,
                                                              int64_t threads, fnz_generator **out);
/** Of the kind of CUDA, that number; 0: it is of the kind of the CPU. */
FNZ_API int64_t fnz_generator_threads(const fnz_generator *generator);
/** No context may draw from it any more. NULL is allowed. */
FNZ_API void fnz_generator_destroy(fnz_generator *generator);
/** As if it were new, of its kind. */
FNZ_API void fnz_generator_set_seed(fnz_generator *generator, uint64_t seed);

/** From now on what is called through ctx draws from `generator`, which is borrowed; NULL: from
 * none. */
FNZ_API void fnz_context_set_generator(fnz_context *ctx, fnz_generator *generator);

/** Of a state: the bytes of torch.get_rng_state(), and of torch.cuda.get_rng_state(). */
#define FNZ_GENERATOR_STATE_BYTES      5056
#define FNZ_GENERATOR_CUDA_STATE_BYTES 16

/** Whichever of these its kind has. */
FNZ_API size_t fnz_generator_state_bytes(const fnz_generator *generator);
/** `bytes` has room for as many; threads are no part of the state. */
FNZ_API void fnz_generator_save_state(const fnz_generator *generator, void *bytes);
/** Also what torch.get_rng_state(), or torch.cuda.get_rng_state(), gave. FNZ_BAD_INPUT (BOUNDS),
 * and nothing changes, when it is no state of the generator's kind. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_generator_restore_state(fnz_context *ctx,
                                                              fnz_generator *generator,
                                                              const void *bytes, size_t size);

#ifdef __cplusplus
}
#endif
#endif
