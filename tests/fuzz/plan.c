/* plan.c - any bytes as a program in CBOR that is functionalized and compiled. After the check of
 * types nothing is INTERNAL: neither in the pass, nor in the planner, nor in the proof of its plan,
 * and the program itself is compiled or refused, too. */
#include "tests/fuzz/fuzz.h"

/* Compiles with the proof of the plan. */
static void check_compile(fnz_context *ctx, const fnz_program *p) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe = NULL;
  options.threads = 1;
  options.check = true;
  fnz_status status = fnz_compile(ctx, p, &options, &exe);
  PROMISE(status != FNZ_INTERNAL, "compile: %s: %s", fnz_last_error(ctx)->where,
          fnz_last_error(ctx)->message);
  fnz_executable_destroy(exe);
}

static void check_functional(fnz_context *ctx, const fnz_program *p, fnz_views views) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_program *functional;
  options.views = views;
  fnz_status status = fnz_functionalize(ctx, p, &options, &functional);
  PROMISE(status != FNZ_INTERNAL, "functionalize: %s: %s", fnz_last_error(ctx)->where,
          fnz_last_error(ctx)->message);
  if (status != FNZ_OK)
    return;
  status = fnz_program_verify(ctx, functional);
  PROMISE(status == FNZ_OK || status == FNZ_NO_MEMORY, "the result is no program: %s: %s",
          fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);
  check_compile(ctx, functional);
  fnz_program_destroy(functional);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static const fnz_views forms[] = {FNZ_VIEWS_COPY, FNZ_VIEWS_KEEP, FNZ_VIEWS_STRIDED};
  fuzz_memory memory;
  fnz_context *ctx = fuzz_start(&memory);
  const uint32_t hash = fuzz_hash(data, size);
  fnz_program *p;
  fnz_status status = fnz_program_read(ctx, data, size, FNZ_FORMAT_CBOR, &p);
  if (status != FNZ_OK) {
    fuzz_check_refusal(ctx, status, size);
  } else {
    status = fnz_program_check_types(ctx, p, NULL, NULL);
    PROMISE(status != FNZ_INTERNAL, "types: %s", fnz_last_error(ctx)->message);
  }
  for (size_t i = 0; status == FNZ_OK && i < sizeof forms / sizeof *forms; i++)
    if (fuzz_tries(hash, i, sizeof forms / sizeof *forms))
      check_functional(ctx, p, forms[i]);
  if (status == FNZ_OK)
    check_compile(ctx, p);
  fnz_program_destroy(p);
  fuzz_end(&memory, ctx);
  return 0;
}
