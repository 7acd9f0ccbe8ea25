/* choices.c - any bytes as the choices of the program generator: the pass and the aliasing
 * interpreter agree on every program, in every dialect. */
#include "tests/fuzz/checks.h"
#include "soak/programs.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static choices c;
  static fnzi_random_counts counts;
  fuzz_memory memory;
  fnz_context *ctx = fuzz_start(&memory);
  fnz_program *p = NULL;
  c.count = size < CHOICES_MOST ? size : CHOICES_MOST;
  memcpy(c.bytes, data, c.count);
  choices_replay(&c);
  if (fnzi_random_program(ctx, NULL, &c, &counts, &p) == FNZ_OK)
    check_dialects(ctx, p, fuzz_hash(data, size));
  fnz_program_destroy(p);
  fuzz_end(&memory, ctx);
  return 0;
}
