/* regions.c - any bytes as the choices of a program with bodies: the pass and the aliasing
 * interpreter agree on it, in every dialect. */
#include "tests/fuzz/checks.h"
#include "soak/regions.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  static choices c;
  static fnzi_random_counts counts;
  fuzz_memory memory;
  fnz_context *ctx = fuzz_start(&memory);
  fnz_buffer text = {0};
  fnz_program *p = NULL;
  c.count = size < CHOICES_MOST ? size : CHOICES_MOST;
  memcpy(c.bytes, data, c.count);
  choices_replay(&c);
  fnz_status status = fnzi_regions_text(ctx, &c, &counts, &text);
  if (status == FNZ_OK)
    status = fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &p);
  PROMISE(status == FNZ_OK, "%s", fnz_last_error(ctx)->message);
  check_round_trips(ctx, p, fuzz_hash(data, size));
  check_dialects(ctx, p, fuzz_hash(data, size));
  fnz_program_destroy(p);
  fnz_buffer_free(ctx, &text);
  fuzz_end(&memory, ctx);
  return 0;
}
