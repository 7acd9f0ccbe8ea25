/* no_numbers.c - in libfnz_core, in place of numbers.c. */
#include "kernels/backends.h"

fnz_status fnzi_machine_create_numbers(fnz_context *ctx, int threads, fnz_backend **out) {
  (void)threads;
  *out = NULL;
  return fnzi_fail(ctx, FNZ_CLASS_UNSUPPORTED, NULL,
                   "libfnz_core computes no numbers; link libfnz in its place");
}
