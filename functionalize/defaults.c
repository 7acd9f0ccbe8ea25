/* defaults.c - the public functions that functionalize: they complete the caller's options.
 *
 * They are in a file of their own because of the defaults: fnz_verify_hashes() and
 * fnz_program_check_types() use kernels, and nothing else in functionalize/ does. */
#include "functionalize/api.h"

fnz_status fnz_functionalize(fnz_context *ctx, const fnz_program *program,
                             const fnz_functionalize_options *options, fnz_program **out) {
  fnzi_pass_options full = {.asked = FNZ_FUNCTIONALIZE_OPTIONS_INIT};
  *out = NULL;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof full.asked, &full.asked));
  if (full.asked.origins)
    *full.asked.origins = NULL;
  return fnzi_functionalize(ctx, program, &full, out);
}

fnz_status fnz_lint(fnz_context *ctx, const fnz_program *program,
                    const fnz_functionalize_options *options, fnz_findings **out) {
  fnzi_pass_options full = {.asked = FNZ_FUNCTIONALIZE_OPTIONS_INIT};
  *out = NULL;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof full.asked, &full.asked));
  return fnzi_functionalize_lint(ctx, program, &full, out);
}

fnz_status fnzi_functionalize_explained(fnz_context *ctx, const fnz_program *program,
                                        const fnz_functionalize_options *options,
                                        fnz_origins **origins, fnz_program **out) {
  fnzi_pass_options all = {.asked = FNZ_FUNCTIONALIZE_OPTIONS_INIT};
  *out = NULL;
  *origins = NULL;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof all.asked, &all.asked));
  all.asked.origins = origins;
  return fnzi_functionalize(ctx, program, &all, out);
}

fnz_status fnzi_functionalize_recorded(fnz_context *ctx, const fnz_program *program,
                                       const fnz_functionalize_options *options,
                                       fnz_program **out) {
  fnzi_pass_options full = {.asked = FNZ_FUNCTIONALIZE_OPTIONS_INIT, .as_recorded = true};
  *out = NULL;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof full.asked, &full.asked));
  full.asked.origins = NULL;
  full.asked.views = FNZ_VIEWS_COPY;
  return fnzi_functionalize(ctx, program, &full, out);
}
