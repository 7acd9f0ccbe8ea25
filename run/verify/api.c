/* api.c - do two programs mean the same? Over hashes, and over numbers if there are any: only this
 * names the CPU backend, and the pass.
 *
 * needs   a program, and another one; without it, the first one is functionalized
 * gives   FNZ_OK and counts of compared things, or FNZ_DIFFERENT */
#include "functionalize/api.h"
#include "kernels/backends.h"
#include "run/run.h"
#include "run/verify/verify.h"

static fnz_status api_compare(fnz_context *ctx, const fnz_program *original,
                              const fnz_program *functional, const fnz_arrays *inputs,
                              const fnz_verify_options *options, fnz_verify_report *report) {
  const bool is_own = functional == NULL;
  fnz_program *made = NULL;
  if (functional == NULL) {
    const fnzi_pass_options defaults = {.asked = FNZ_FUNCTIONALIZE_OPTIONS_INIT};
    FNZ_TRY(fnzi_functionalize(ctx, original, &defaults, &made));
    functional = made;
  } else {
    FNZ_TRY(fnzi_ver_hold_state(ctx, original, functional, &made));
    functional = made ? made : functional;
  }
  fnz_verify_options all = *options;
  all.allow_narrower = all.allow_narrower || is_own; /* the pass's own guards */
  fnz_status status = fnzi_verify_hashes(ctx, original, functional, &all, report);
  if (status == FNZ_OK)
    status =
        fnzi_ver_numbers(ctx, original, functional, inputs, fnzi_machine_create_numbers, report);
  fnz_program_destroy(made);
  return status;
}

fnz_status fnz_verify(fnz_context *ctx, const fnz_program *original, const fnz_program *functional,
                      const fnz_arrays *inputs, const fnz_verify_options *options,
                      fnz_verify_report *report) {
  fnz_verify_options o = FNZ_VERIFY_OPTIONS_INIT;
  fnz_verify_report seen = FNZ_VERIFY_REPORT_INIT;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof o, &o));
  FNZ_TRY(fnzi_sized_check(ctx, report, sizeof seen));
  fnzi_task_begin(ctx, "verify", NULL, 0);
  fnz_status status = api_compare(ctx, original, functional, inputs, &o, &seen);
  status = fnzi_task_end(ctx, status);
  fnzi_report_give(&seen, report);
  return status;
}
