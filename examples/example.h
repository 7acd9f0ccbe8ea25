/* example.h - what the examples share: the program that is named, ending on a failure, and
 * calling operators by name. */
#ifndef FNZ_EXAMPLES_EXAMPLE_H
#define FNZ_EXAMPLES_EXAMPLE_H

#include <fnz/fnz.h>

#include <stdio.h>
#include <stdlib.h>

static inline void check(const fnz_context *ctx, fnz_status status) {
  if (status == FNZ_OK)
    return;
  const fnz_error *error = fnz_last_error(ctx);
  fprintf(stderr, "%s: %s: %s\n", fnz_class_name(error->kind), error->where, error->message);
  exit(1);
}

/* The program that the command line names. */
static inline const char *named_program(int argc, char **argv) {
  if (argc == 2)
    return argv[1];
  fprintf(stderr, "usage: %s PROGRAM.pt2\n", argv[0]);
  exit(64);
}

static inline fnz_arg tensor(fnz_tensor *t) {
  return (fnz_arg){.tag = FNZ_ARG_VALUE, .u.tensor = t};
}

static inline fnz_arg number(int64_t i) {
  return (fnz_arg){.tag = FNZ_ARG_INT, .u.i = i};
}

/* An operator with one result. Arguments that are left out at the end have their defaults. */
static inline fnz_tensor *call(fnz_context *ctx, fnz_wrapper *wrapper, const char *op,
                               const fnz_arg *args, size_t nargs) {
  fnz_tensor *out;
  size_t count;
  check(ctx, fnz_tensor_call(wrapper, op, args, nargs, &out, 1, &count));
  return out;
}

#endif
