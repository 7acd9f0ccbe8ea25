/* random.h - where random operators draw from: a generator, as a value of its own.
 *
 * A generator gives the numbers that PyTorch's generator of the CPU gives after
 * torch.manual_seed(seed): mt19937, and the second one of a pair of normals that waits. Integers,
 * uniforms, masks and permutations are those of PyTorch; normals are, but for their last places.
 *
 *   status = fnz_generator_create(ctx, 42, &generator);
 *   fnz_context_set_generator(ctx, generator);
 *   status = fnz_run(ctx, program, backend, inputs, outputs);
 *
 * What is called through a context draws from the generator of that context, in the order of the
 * program, and the next call goes on. A run (fnz_run() and its kind, an executable's) without a
 * generator draws as from a new one with seed 0, so that it repeats; a single call, fnz_call(), of
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
/** No context may draw from it any more. NULL is allowed. */
FNZ_API void fnz_generator_destroy(fnz_generator *generator);
/** As if it were new. */
FNZ_API void fnz_generator_set_seed(fnz_generator *generator, uint64_t seed);

/** From now on what is called through ctx draws from `generator`, which is borrowed; NULL: from
 * none. */
FNZ_API void fnz_context_set_generator(fnz_context *ctx, fnz_generator *generator);

/** Of a state: the bytes of torch.get_rng_state(). */
#define FNZ_GENERATOR_STATE_BYTES 5056

/** `bytes` has room for FNZ_GENERATOR_STATE_BYTES. */
FNZ_API void fnz_generator_save_state(const fnz_generator *generator, void *bytes);
/** Also what torch.get_rng_state() gave. FNZ_BAD_INPUT (BOUNDS), and nothing changes, when
 * it is no state. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_generator_restore_state(fnz_generator *generator,
                                                              fnz_context *ctx, const void *bytes,
                                                              size_t size);

#ifdef __cplusplus
}
#endif
#endif
