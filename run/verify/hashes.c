/* hashes.c - do two programs mean the same? Over hashes, and by the numbers in their weights: all
 * that the check of a functionalized program needs, without kernels over numbers. */
#include "run/verify/verify.h"

#include "program/state_io.h"
#include "run/run.h"

/* Hashes first: whether the programs differ comes before whether their numbers do. */
fnz_status fnzi_verify_hashes(fnz_context *ctx, const fnz_program *original,
                              const fnz_program *functional, const fnz_verify_options *options,
                              fnz_verify_report *out) {
  FNZ_TRY(fnzi_run_types(ctx, original));
  FNZ_TRY(fnzi_run_types(ctx, functional));
  if (fnzi_program_has_symbols(original))
    FNZ_TRY(fnzi_ver_sizes(ctx, original, functional, options, fnz_program_check_types, out));
  else
    FNZ_TRY(fnzi_ver_fixed(ctx, original, functional, options, out));
  if (functional == original)
    return FNZ_OK;
  FNZ_TRY(fnzi_ver_devices(ctx, original, functional));
  if (!options->ignore_memory)
    FNZ_TRY(fnzi_ver_guards(ctx, original, functional));
  FNZ_TRY(fnzi_ver_domain(ctx, original, functional, fnz_program_check_types, out));
  if (out->narrower[0] != '\0' && !options->allow_narrower)
    return fnzi_fail(ctx, FNZ_CLASS_DIFFERENT, "",
                     "equal where both run; this program refuses sizes that the original takes, %s "
                     "(see --allow-narrower)",
                     out->narrower);
  if (options->ignore_weights)
    return FNZ_OK;
  FNZ_TRY(fnzi_program_check_files(ctx, original));
  FNZ_TRY(fnzi_program_check_files(ctx, functional));
  return fnzi_ver_weights(ctx, original, functional, out);
}

fnz_status fnzi_ver_hold_state(fnz_context *ctx, const fnz_program *original,
                               const fnz_program *functional, fnz_program **out) {
  *out = NULL;
  if (functional == original || !fnzi_io_has_pairs(functional) || fnzi_io_has_pairs(original))
    return FNZ_OK;
  return fnzi_io_undo(ctx, functional, original, out);
}

fnz_status fnz_verify_hashes(fnz_context *ctx, const fnz_program *original,
                             const fnz_program *functional, const fnz_verify_options *options,
                             fnz_verify_report *report) {
  fnz_verify_options o = FNZ_VERIFY_OPTIONS_INIT;
  fnz_verify_report seen = FNZ_VERIFY_REPORT_INIT;
  if (functional == NULL)
    return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                     "over hashes alone, two programs are compared; call fnz_verify() for one and "
                     "its functional form");
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof o, &o));
  FNZ_TRY(fnzi_sized_check(ctx, report, sizeof seen));
  fnz_program *held;
  FNZ_TRY(fnzi_ver_hold_state(ctx, original, functional, &held));
  fnzi_task_begin(ctx, "verify", NULL, 0);
  fnz_status status = fnzi_verify_hashes(ctx, original, held ? held : functional, &o, &seen);
  status = fnzi_task_end(ctx, status);
  fnz_program_destroy(held);
  fnzi_report_give(&seen, report);
  return status;
}
