/* defaults.c - the public functions that functionalize: they complete the caller's options.
 *
 * The defaults name fnz_verify_hashes() and fnz_program_check_types(), which use kernels. No file
 * that this file calls uses kernels. */
#include "functionalize/api.h"

fnz_status fnz_functionalize(fnz_context *ctx, const fnz_program *program,
                             const fnz_functionalize_options *options, fnz_program **out) {
  fnzi_pass_wish wish = {.asked = FNZ_FUNCTIONALIZE_OPTIONS_INIT};
  *out = NULL;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof wish.asked, &wish.asked));
  if (wish.asked.origins)
    *wish.asked.origins = NULL;
  return fnzi_functionalize(ctx, program, &wish, out);
}

fnz_status fnz_lint(fnz_context *ctx, const fnz_program *program,
                    const fnz_functionalize_options *options, fnz_findings **out) {
  fnzi_pass_wish wish = {.asked = FNZ_FUNCTIONALIZE_OPTIONS_INIT};
  *out = NULL;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof wish.asked, &wish.asked));
  return fnzi_functionalize_lint(ctx, program, &wish, out);
}

fnz_status fnzi_functionalize_recorded(fnz_context *ctx, const fnz_program *program,
                                       const fnz_functionalize_options *options,
                                       fnz_program **out) {
  fnzi_pass_wish wish = {.asked = FNZ_FUNCTIONALIZE_OPTIONS_INIT, .as_recorded = true};
  *out = NULL;
  FNZ_TRY(fnzi_options_take(ctx, options, sizeof wish.asked, &wish.asked));
  wish.asked.origins = NULL;
  wish.asked.views = FNZ_VIEWS_COPY;
  return fnzi_functionalize(ctx, program, &wish, out);
}

fnz_status fnzi_functionalize_by(fnz_context *ctx, const fnz_program *program,
                                 fnzi_pass_method method, uint64_t seed, fnz_program **out) {
  const fnzi_pass_wish wish = {
      .asked = FNZ_FUNCTIONALIZE_OPTIONS_INIT, .method = method, .seed = seed};
  *out = NULL;
  return fnzi_functionalize(ctx, program, &wish, out);
}
