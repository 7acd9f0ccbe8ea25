/* no_numbers.c - in place of numbers.c where the library is built without it (FNZ_NUMBERS=OFF). */
#include "program/program.h"

#include <fnz/backend.h>

fnz_status fnz_cpu_backend_create(fnz_context *ctx, int threads, fnz_backend **out) {
  (void)threads;
  *out = NULL;
  return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "this fnz was built without numbers; build it with FNZ_NUMBERS=ON");
}
