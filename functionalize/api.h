/* api.h - functionalizing with options that are complete: no default is filled in here.
 *
 *   defaults.c  the public functions: they complete the options
 *   api.c       what functionalizing does, in order
 *   options.c   checking options
 *   dynamic/, explain/, pass/, recorder/, wrapper/   the parts, each may use those after it */
#ifndef FNZI_API_H
#define FNZI_API_H

#include "functionalize/pass/pass.h"

#include <fnz/decompose.h>
#include <fnz/explain.h>

/* --- options.c -------------------------------------------------------------------------------- */
/* ARGUMENT where an enumeration has no such value. */
FNZ_MUST_CHECK fnz_status fnzi_options_check(fnz_context *ctx,
                                             const fnz_functionalize_options *options);

/* --- api.c ------------------------------------------------------------------------------------ */
/* As fnz_functionalize() and fnz_lint(). */
FNZ_MUST_CHECK fnz_status fnzi_functionalize(fnz_context *ctx, const fnz_program *program,
                                             const fnzi_pass_options *options, fnz_program **out);
FNZ_MUST_CHECK fnz_status fnzi_functionalize_lint(fnz_context *ctx, const fnz_program *program,
                                                  const fnzi_pass_options *options,
                                                  fnz_findings **out);

/* --- defaults.c ------------------------------------------------------------------------------- */
/* Works like fnz_functionalize() with `origins` among its options. */
FNZ_MUST_CHECK fnz_status fnzi_functionalize_explained(fnz_context *ctx, const fnz_program *program,
                                                       const fnz_functionalize_options *options,
                                                       fnz_origins **origins, fnz_program **out);
/* Works like fnz_functionalize(), but every node that a result needs is as it was recorded: nothing
 * is simplified. Views are copies. */
FNZ_MUST_CHECK fnz_status fnzi_functionalize_recorded(fnz_context *ctx, const fnz_program *program,
                                                      const fnz_functionalize_options *options,
                                                      fnz_program **out);

#endif
