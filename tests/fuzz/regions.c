/* regions.c - up to four bytes as the seed of a program with bodies: the pass and the aliasing
 * interpreter agree on it, in every dialect. */
#include "tests/fuzz/checks.h"
#include "tests/random_regions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_memory memory;
  fnz_context *ctx = fuzz_start(&memory);
  fnz_buffer text = {0};
  fnz_program *p;
  uint32_t seed = 0;
  memcpy(&seed, data, size < sizeof seed ? size : sizeof seed);
  random_regions(ctx, seed, &text);
  fnz_status status = fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &p);
  PROMISE(status == FNZ_OK, "seed %u: %s", seed, fnz_last_error(ctx)->message);
  check_round_trips(ctx, p, fuzz_hash(data, size));
  check_dialects(ctx, p, fuzz_hash(data, size));
  fnz_program_destroy(p);
  fnz_buffer_free(ctx, &text);
  fuzz_end(&memory, ctx);
  return 0;
}
