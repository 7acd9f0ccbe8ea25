/* choices.c - any bytes as the choices of the program generator: the pass and the aliasing
 * interpreter agree on every program, in every dialect. */
#include "tests/fuzz/fuzz.h"
#include "tests/random_programs.h"

static void check_dialect(fnz_context *ctx, const fnz_program *p, fnz_views views) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *functional;
  options.views = views;
  fnz_status status = fnz_functionalize(ctx, p, &options, &functional);
  PROMISE(status != FNZ_INTERNAL, "functionalize: %s", fnz_last_error(ctx)->message);
  if (status != FNZ_OK)
    return;
  status = fnz_verify(ctx, p, functional, NULL, 1);
  PROMISE(status != FNZ_INTERNAL && status != FNZ_DIFFERENT, "verify: %s: %s",
          fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);
  fnz_program_destroy(functional);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static choices c;
  static random_counts counts;
  fuzz_memory memory;
  fnz_context *ctx = fuzz_start(&memory);
  fnz_program *p = NULL;
  c.count = size < CHOICES_MOST ? size : CHOICES_MOST;
  memcpy(c.bytes, data, c.count);
  choices_replay(&c);
  if (random_program(ctx, &c, &counts, &p) == FNZ_OK) {
    check_dialect(ctx, p, FNZ_VIEWS_COPY);
    check_dialect(ctx, p, FNZ_VIEWS_KEEP);
  }
  fnz_program_destroy(p);
  fuzz_end(&memory, ctx);
  return 0;
}
