/* engine_help.h - programs and executables for the tests of the engine. */
#ifndef FNZ_TESTS_ENGINE_ENGINE_HELP_H
#define FNZ_TESTS_ENGINE_ENGINE_HELP_H

#include "tests/help/test.h"

#include <fnz/fnz.h>

/* Takes the program. */
static inline fnz_program *functional_of(fnz_context *ctx, fnz_program *traced) {
  fnz_program *p;
  OK(ctx, fnz_functionalize(ctx, traced, NULL, &p));
  fnz_program_destroy(traced);
  return p;
}

static inline fnz_program *read_functional(fnz_context *ctx, const char *text) {
  fnz_program *traced;
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &traced));
  return functional_of(ctx, traced);
}

/* For one thread, with a plan that is proved. */
static inline fnz_executable *compile(fnz_context *ctx, const fnz_program *p) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe;
  options.threads = 1;
  options.check = true;
  OK(ctx, fnz_compile(ctx, p, &options, &exe));
  return exe;
}

#endif
