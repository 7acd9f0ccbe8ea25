/* defaults.c - the public functions that functionalize: they complete the caller's options.
 *
 * The defaults name fnz_verify_hashes() and fnz_program_check_types(), which use kernels. No file
 * below this one does. */
#include "functionalize/api.h"

static const fnz_functionalize_options defaults = FNZ_FUNCTIONALIZE_OPTIONS_INIT;

fnz_status fnz_functionalize(fnz_context *ctx, const fnz_program *program,
                             const fnz_functionalize_options *options, fnz_program **out) {
  const fnz_functionalize_options complete = fnzi_options_complete(options, &defaults);
  return fnzi_functionalize(ctx, program, &complete, out);
}

fnz_status fnz_functionalize_explained(fnz_context *ctx, const fnz_program *program,
                                       const fnz_functionalize_options *options, fnz_program **out,
                                       fnz_origins **origins) {
  const fnz_functionalize_options complete = fnzi_options_complete(options, &defaults);
  return fnzi_functionalize_explained(ctx, program, &complete, out, origins);
}

fnz_status fnz_lint(fnz_context *ctx, const fnz_program *program,
                    const fnz_functionalize_options *options, fnz_findings **out) {
  const fnz_functionalize_options complete = fnzi_options_complete(options, &defaults);
  return fnzi_functionalize_lint(ctx, program, &complete, out);
}
