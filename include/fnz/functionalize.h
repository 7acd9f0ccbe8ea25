/* functionalize.h - the pass, the run, and the check that they mean the same. */
#ifndef FNZ_FUNCTIONALIZE_H
#define FNZ_FUNCTIONALIZE_H

#include <fnz/arrays.h>
#include <fnz/backend.h>
#include <fnz/program.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum fnz_views {
  FNZ_VIEWS_COPY = 0, /* `*_copy` and `*_scatter`: no result shares memory with an argument */
  FNZ_VIEWS_KEEP = 1  /* real view operators stay where they read, mutations go */
} fnz_views;

typedef struct fnz_functionalize_options {
  size_t size; /* sizeof(fnz_functionalize_options) */
  fnz_views views;
} fnz_functionalize_options;
#define FNZ_FUNCTIONALIZE_OPTIONS_INIT                                                             \
  { sizeof(fnz_functionalize_options), FNZ_VIEWS_COPY }

/** Rewrites a program so that no operator writes an argument and (FNZ_VIEWS_COPY) no result shares
 * memory with one. Final values of mutated inputs, parameters and buffers become leading outputs
 * that the signature names.
 *
 * program  borrowed, unchanged; may be shared with other threads during the call.
 * options  NULL for defaults.
 * out      new; ends with fnz_program_destroy(). NULL on failure. Weights are shared with `program`
 *          by reference count.
 *
 * Fails with FNZ_UNSUPPORTED (the message names the node and the operator), FNZ_BAD_INPUT (what
 * eager PyTorch would refuse as well, such as OVERLAP), FNZ_NO_MEMORY. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_functionalize(fnz_context *ctx, const fnz_program *program,
                                                    const fnz_functionalize_options *options,
                                                    fnz_program **out);

/** Runs a functional program.
 * inputs   user inputs by graph name; sizes and dtypes must be the program's.
 * outputs  receives "output.K" for the K-th user output (tensors only), and "input.NAME",
 *          "buffer.FQN", "parameter.FQN" for everything the signature names as mutated. Must be an
 *          empty set of the same context. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_run(fnz_context *ctx, const fnz_program *program,
                                          fnz_backend *backend, const fnz_arrays *inputs,
                                          fnz_arrays *outputs);

/** The same for any program, on real aliasing memory: the definition of its meaning. Views and
 * writes happen in this process's memory, computing operators are evaluated by `backend`. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_run_original(fnz_context *ctx, const fnz_program *program,
                                                   fnz_backend *backend, const fnz_arrays *inputs,
                                                   fnz_arrays *outputs);

/** Runs `original` on aliasing memory and `functional` as functional program, both over hashes, and
 * compares every user output and every mutated input, parameter and buffer, `trials` times with
 * other seeds. `functional` may be any program; NULL functionalizes `original` first.
 *
 * inputs  NULL: every input element is a fresh unknown, so equal means equal for all values of
 * these shapes. Otherwise the programs are also compared on these numbers where kernels exist.
 * Returns FNZ_OK when equal, FNZ_DIFFERENT when not (the message names output and element). */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_verify(fnz_context *ctx, const fnz_program *original,
                                             const fnz_program *functional,
                                             const fnz_arrays *inputs, int trials);

#ifdef __cplusplus
}
#endif
#endif
