/* defaults.c - the public functions that functionalize: they complete the caller's options.
 *
 * The defaults name fnz_verify_hashes() and fnz_program_check_types(), which use kernels. No file
 * below this one does. */
#include "functionalize/api.h"

fnz_status fnz_functionalize(fnz_context *ctx, const fnz_program *program,
                             const fnz_functionalize_options *options, fnz_program **out) {
  fnz_functionalize_options complete = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  *out = NULL;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof complete, &complete));
  return fnzi_functionalize(ctx, program, &complete, out);
}

fnz_status fnz_functionalize_explained(fnz_context *ctx, const fnz_program *program,
                                       const fnz_functionalize_options *options, fnz_program **out,
                                       fnz_origins **origins) {
  fnz_functionalize_options complete = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  *out = NULL;
  *origins = NULL;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof complete, &complete));
  return fnzi_functionalize_explained(ctx, program, &complete, out, origins);
}

fnz_status fnz_lint(fnz_context *ctx, const fnz_program *program,
                    const fnz_functionalize_options *options, fnz_findings **out) {
  fnz_functionalize_options complete = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  *out = NULL;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof complete, &complete));
  return fnzi_functionalize_lint(ctx, program, &complete, out);
}
