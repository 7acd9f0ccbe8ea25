/* hashes.c - do two programs mean the same? Over hashes, and by the numbers in their weights: all
 * that the check of a functionalized program needs, without kernels over numbers. */
#include "run/verify/verify.h"

#include "run/run.h"

/* Hashes first: whether the programs differ comes before whether their numbers do. */
fnz_status fnzi_verify_hashes(fnz_context *ctx, const fnz_program *original,
                              const fnz_program *functional, const fnz_verify_options *options,
                              fnz_verify_report *out) {
  if (fnzi_program_has_symbols(original))
    FNZ_TRY(
        fnzi_ver_sizes(ctx, original, functional, options->trials, fnz_program_check_types, out));
  else
    FNZ_TRY(fnzi_ver_fixed(ctx, original, functional, options->trials, out));
  return options->ignore_weights ? FNZ_OK : fnzi_ver_weights(ctx, original, functional, out);
}

fnz_status fnz_verify_hashes(fnz_context *ctx, const fnz_program *original,
                             const fnz_program *functional, const fnz_arrays *inputs, int trials) {
  const fnz_verify_options options = {sizeof options, trials, false};
  fnz_verify_report report = {.trials = 0};
  if (functional == NULL || inputs != NULL)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "over hashes, two programs are compared and no inputs; call fnz_verify()");
  FNZ_TRY(fnzi_run_types(ctx, original));
  FNZ_TRY(fnzi_run_types(ctx, functional));
  return fnzi_verify_hashes(ctx, original, functional, &options, &report);
}
