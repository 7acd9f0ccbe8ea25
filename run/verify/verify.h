/* verify.h - do two programs mean the same? fixed.c compares programs of fixed sizes, sizes.c
 * symbolic ones at chosen sizes, domain.c which sizes they take, weights.c their weights; hashes.c
 * calls all four. */
#ifndef FNZI_VERIFY_H
#define FNZI_VERIFY_H

#include "program/shapes/sizes.h"

#include <fnz/functionalize.h>

/* Over hashes, for programs without symbols. */
FNZ_MUST_CHECK fnz_status fnzi_ver_fixed(fnz_context *ctx, const fnz_program *original,
                                         const fnz_program *functional,
                                         const fnz_verify_options *options,
                                         fnz_verify_report *report);
/* Runs one program on memory over hashes: OK if it takes its sizes. */
FNZ_MUST_CHECK fnz_status fnzi_ver_runs(fnz_context *ctx, const fnz_program *program);
/* No failure of a program: memory ran out, or the library is wrong. */
static inline bool fnzi_ver_is_limit(fnz_status status) {
  return fnzi_is_final(status) || status == FNZ_INTERNAL;
}
/* Only on the numbers given, if there are any and kernels for them. `create` is
 * fnzi_machine_create_numbers(): what compares hashes alone is linked without it. */
typedef fnz_status fnzi_ver_create_numbers(fnz_context *ctx, int threads, fnz_backend **out);
FNZ_MUST_CHECK fnz_status fnzi_ver_numbers(fnz_context *ctx, const fnz_program *original,
                                           const fnz_program *functional, const fnz_arrays *inputs,
                                           fnzi_ver_create_numbers *create,
                                           fnz_verify_report *report);
/* Hashes for both programs have to be per byte: some memory is read as two dtypes. */
FNZ_MUST_CHECK fnz_status fnzi_ver_needs_bytes(fnz_context *ctx, const fnz_program *a,
                                               const fnz_program *b, bool *out);

/* fnz_program_check_types(), for the program at chosen sizes. */
typedef fnz_status fnzi_ver_check_types(fnz_context *ctx, const fnz_program *program,
                                        fnz_unruled_fn *unruled, void *user);
/* Over hashes, at several sizes: those recorded, and others that both programs accept. */
FNZ_MUST_CHECK fnz_status fnzi_ver_sizes(fnz_context *ctx, const fnz_program *original,
                                         const fnz_program *functional,
                                         const fnz_verify_options *options,
                                         fnzi_ver_check_types *check_types,
                                         fnz_verify_report *report);

/* DIFFERENT if one program alone is wrong where inputs share memory, for want of a guard. */
FNZ_MUST_CHECK fnz_status fnzi_ver_guards(fnz_context *ctx, const fnz_program *original,
                                          const fnz_program *functional);
/* Whether both programs take the same sizes: DIFFERENT if the original refuses some that the other
 * takes; sizes that the other one refuses go into the report. */
FNZ_MUST_CHECK fnz_status fnzi_ver_domain(fnz_context *ctx, const fnz_program *original,
                                          const fnz_program *functional,
                                          fnzi_ver_check_types *check_types,
                                          fnz_verify_report *report);

/* DIFFERENT if nodes say that an output is on another device than in the original. */
FNZ_MUST_CHECK fnz_status fnzi_ver_devices(fnz_context *ctx, const fnz_program *original,
                                           const fnz_program *functional);

/* Over hashes, of fixed or symbolic sizes, and weights as the options say. */
FNZ_MUST_CHECK fnz_status fnzi_verify_hashes(fnz_context *ctx, const fnz_program *original,
                                             const fnz_program *functional,
                                             const fnz_verify_options *options,
                                             fnz_verify_report *out);

/* If the functional program's state is its inputs and outputs, and the original's is not: *out is
 * the same program with the original's state, for fnz_program_destroy(). Else NULL. */
FNZ_MUST_CHECK fnz_status fnzi_ver_hold_state(fnz_context *ctx, const fnz_program *original,
                                              const fnz_program *functional, fnz_program **out);

/* The numbers in weights of one name (DIFFERENT). */
FNZ_MUST_CHECK fnz_status fnzi_ver_weights(fnz_context *ctx, const fnz_program *a,
                                           const fnz_program *b, fnz_verify_report *report);

#endif
