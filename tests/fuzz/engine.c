/* engine.c - any bytes as the choices of a program, of one of three kinds: the engine gives the
 * bits of the interpreter on numbers that the bytes decide, too, and its plan is proved. */
#include "soak/numbers.h"
#include "soak/programs.h"
#include "soak/regions.h"
#include "tests/fuzz/fuzz.h"

/* The first byte says which kind: views and writes, bodies and state, scalars that data decide. */
static fnz_status draw(fnz_context *ctx, choices *c, fnz_program **out) {
  static fnzi_random_counts counts;
  fnz_buffer text = {0};
  fnz_status status;
  *out = NULL;
  switch (choose(c, 3)) {
  case 0:
    return fnzi_random_program(ctx, NULL, c, &counts, out);
  case 1:
    return fnzi_regions_program(ctx, c, &counts, out);
  default:
    status = fnzi_numbers_text(ctx, c, true, &text);
    if (status == FNZ_OK)
      status = fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, out);
    fnz_buffer_free(ctx, &text);
    return status;
  }
}

static void check_engine(fnz_context *ctx, const fnz_program *functional, uint32_t seed) {
  fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
  fnz_executable *exe = NULL;
  fnz_arrays *inputs = NULL;
  options.threads = 1;
  options.check = true;
  fnz_status status = fnzi_random_inputs(ctx, functional, seed, &inputs);
  if (status == FNZ_OK)
    status = fnz_compile(ctx, functional, &options, &exe);
  if (status == FNZ_OK)
    status = fnz_executable_verify(ctx, exe, inputs);
  PROMISE(status != FNZ_INTERNAL && status != FNZ_DIFFERENT, "%s: %s", fnz_last_error(ctx)->where,
          fnz_last_error(ctx)->message);
  fnz_executable_destroy(exe);
  fnz_arrays_destroy(inputs);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static choices c;
  fuzz_memory memory;
  fnz_context *ctx = fuzz_start(&memory);
  fnz_program *p = NULL, *functional = NULL;
  c.count = size < CHOICES_MOST ? size : CHOICES_MOST;
  memcpy(c.bytes, data, c.count);
  choices_replay(&c);
  fnz_status status = draw(ctx, &c, &p);
  PROMISE(status != FNZ_INTERNAL, "draw: %s", fnz_last_error(ctx)->message);
  if (status == FNZ_OK)
    status = fnz_functionalize(ctx, p, NULL, &functional);
  PROMISE(status != FNZ_INTERNAL, "functionalize: %s", fnz_last_error(ctx)->message);
  if (status == FNZ_OK)
    check_engine(ctx, functional, fuzz_hash(data, size));
  fnz_program_destroy(functional);
  fnz_program_destroy(p);
  fuzz_end(&memory, ctx);
  return 0;
}
