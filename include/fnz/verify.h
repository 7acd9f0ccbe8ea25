/* verify.h - do two programs mean the same? */
#ifndef FNZ_VERIFY_H
#define FNZ_VERIFY_H

#include <fnz/arrays.h>
#include <fnz/program.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct fnz_verify_options {
  size_t size;         /* sizeof(fnz_verify_options) */
  int trials;          /* over hashes, each with other seeds; less than 1 is taken as 1 */
  bool ignore_weights; /* programs with other numbers in their weights may be equal */
  bool allow_narrower; /* `functional` may refuse sizes that `original` takes */
  bool ignore_memory;  /* do not compare the memory and strides of inputs and outputs, nor a guard
                          against inputs that share memory: for programs of tools that do not record
                          them */
} fnz_verify_options;
#define FNZ_VERIFY_OPTIONS_INIT                                                                    \
  { sizeof(fnz_verify_options), 2, false, false, false }

/** The figures of a comparison; also of use if the programs differ. Bodies are the graphs of
 * higher-order operators, of both programs; the answer holds for the bodies that were run. */
typedef struct fnz_verify_report {
  size_t size; /* sizeof(fnz_verify_report) */
  int trials;  /* over hashes: more than requested while a body has not been run */
  size_t bodies, bodies_run;
  char missed[128];     /* the name of a body that was never run, or "" */
  bool numbers;         /* also compared on the numbers given */
  size_t sizes;         /* of programs with symbolic sizes: how many choices of them; else 0 */
  char no_numbers[160]; /* why numbers that were given were not compared: "no CPU kernel for
                           add.Tensor"; or "" */
  /* Weights that both programs have: compared as data; of these, not equal; not compared, because
   * one program has no data for them. All 0 while the programs themselves differ. */
  size_t weights, weights_differing, weights_without;
  /* With the first seed, at all sizes together: the predicates of the runs, and how many were
   * flipped, at most 31 at each choice of sizes. */
  size_t predicates, predicates_turned;
  char not_compared[160]; /* the first thing that is not compared, mostly an output's memory, and
                             why */
  char narrower[256];     /* sizes that `functional` refuses and `original` takes, or "" */
} fnz_verify_report;
#define FNZ_VERIFY_REPORT_INIT                                                                     \
  { sizeof(fnz_verify_report), 0, 0, 0, "", false, 0, "", 0, 0, 0, 0, 0, "", "" }

/** Runs both programs over hashes in place of numbers, `original` on aliasing memory, and compares:
 *
 *   outputs: tensors, numbers, losses, gradients; how many tokens there are
 *   the final value of every input, parameter and buffer
 *   calls that draw random numbers, assert or have an effect: the same ones, in the same order
 *   predicates of cond and while_loop: each is also flipped, in both programs
 *   memory, strides and device of inputs and outputs at the end
 *   the sizes that the programs accept, and whether a guard excludes inputs that share memory
 *
 * Then parameters, buffers and constants of one name are compared as data, if both programs have
 * data. Names of values, the order of other nodes, source lines and the texts of assertions do not
 * count. Three more things are not compared, and the report names the first such output: strides of
 * an output that leaves gaps in memory of its own; the memory of an output of a .pt2 file, which
 * cannot record it; the memory of an output of a body.
 *
 * `functional` may be any program: it runs on aliasing memory too if it writes, or has views and no
 * signature that says where its outputs lie. NULL: the functional form of `original`; sizes that
 * only its guards keep out are no difference. `original` itself, of fixed sizes: it is only run.
 *
 * inputs   NULL: every input element is a fresh unknown, so equal means equal for all values of
 *          these shapes. Else the programs are also compared on these numbers, by name as fnz_run()
 *          takes them, if kernels exist. libfnz_core has none: UNSUPPORTED.
 * options  NULL for defaults.
 * report   NULL: not wanted. Filled whether they are equal, differ or a comparison fails.
 *
 * Returns FNZ_OK if they are equal, FNZ_DIFFERENT if not. The message names the output and element,
 * the call, or the sizes that only one program takes, or the weights, in how many elements they
 * differ and by how much. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_verify(fnz_context *ctx, const fnz_program *original,
                                             const fnz_program *functional,
                                             const fnz_arrays *inputs,
                                             const fnz_verify_options *options,
                                             fnz_verify_report *report);

/** The same of two programs over hashes alone: FNZ_BAD_ARGUMENT when `functional` is NULL. A static
 * program that calls this and not fnz_verify() is linked without kernels over numbers. */
FNZ_MUST_CHECK FNZ_API fnz_status fnz_verify_hashes(fnz_context *ctx, const fnz_program *original,
                                                    const fnz_program *functional,
                                                    const fnz_verify_options *options,
                                                    fnz_verify_report *report);

#ifdef __cplusplus
}
#endif
#endif
