/* read.c - any bytes as a program in the format FUZZ_FORMAT: read or refused. What is read is
 * written and read again as the same program; the pass and both interpreters take it or refuse it,
 * and where both run they agree. */
#include "tests/fuzz/checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_memory memory;
  fnz_context *ctx = fuzz_start(&memory);
  fnz_program *p;
  fnz_status status = fnz_program_read(ctx, data, size, FUZZ_FORMAT, &p);
  if (status != FNZ_OK) {
    fuzz_check_refusal(ctx, status, size);
  } else {
    const uint32_t hash = fuzz_hash(data, size);
    check_round_trips(ctx, p, hash);
    check_dialects(ctx, p, hash);
  }
  fnz_program_destroy(p);
  fuzz_end(&memory, ctx);
  return 0;
}
