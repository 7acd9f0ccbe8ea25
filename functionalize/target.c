/* target.c - <fnz/targets.h>: a program in the form that a consumer takes.
 *
 * It calls only public functions, because these complete options. */
#include "base/base.h"

#include <fnz/targets.h>

fnz_status fnz_target_prepare(fnz_context *ctx, const fnz_target *target,
                              const fnz_program *program, fnz_program **out) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_decompose_options apart = FNZ_DECOMPOSE_OPTIONS_INIT;
  fnz_program *functional;
  *out = NULL;
  apart.set = target->set;
  apart.views = options.views = target->views;
  options.state = target->state;
  FNZ_TRY(fnz_functionalize(ctx, program, &options, &functional));
  fnz_status status = fnz_decompose(ctx, functional, &apart, out);
  fnz_program_destroy(functional);
  return status;
}
