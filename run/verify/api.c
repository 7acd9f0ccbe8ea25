/* api.c - do two programs mean the same? Over hashes, and over numbers if there are any: only this
 * names the CPU backend, and the pass.
 *
 * needs   a program, and another one; without it, the first one is functionalized
 * gives   FNZ_OK and counts of what was compared, or FNZ_DIFFERENT */
#include "functionalize/api.h"
#include "run/run.h"
#include "run/verify/verify.h"

fnz_status fnz_verify_as(fnz_context *ctx, const fnz_program *original,
                         const fnz_program *functional, const fnz_arrays *inputs,
                         const fnz_verify_options *options, fnz_verify_report *out) {
  static const fnz_verify_options usual = FNZ_VERIFY_OPTIONS_INIT;
  fnz_program *made = NULL;
  *out = (fnz_verify_report){.trials = 0};
  FNZ_TRY(fnzi_run_types(ctx, original));
  if (functional != NULL)
    FNZ_TRY(fnzi_run_types(ctx, functional));
  if (functional == NULL) {
    const fnz_functionalize_options defaults = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
    FNZ_TRY(fnzi_functionalize(ctx, original, &defaults, &made));
    functional = made;
  }
  fnz_status status =
      fnzi_verify_hashes(ctx, original, functional, options == NULL ? &usual : options, out);
  if (status == FNZ_OK)
    status = fnzi_ver_numbers(ctx, original, functional, inputs, fnz_cpu_backend_create, out);
  fnz_program_destroy(made);
  return status;
}

fnz_status fnz_verify_with(fnz_context *ctx, const fnz_program *original,
                           const fnz_program *functional, const fnz_arrays *inputs, int trials,
                           fnz_verify_report *out) {
  const fnz_verify_options options = {sizeof options, trials, false};
  return fnz_verify_as(ctx, original, functional, inputs, &options, out);
}

fnz_status fnz_verify(fnz_context *ctx, const fnz_program *original, const fnz_program *functional,
                      const fnz_arrays *inputs, int trials) {
  fnz_verify_report report;
  return fnz_verify_with(ctx, original, functional, inputs, trials, &report);
}
