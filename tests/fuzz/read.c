/* read.c - any bytes as a program in the format FUZZ_FORMAT: read or refused. What is read is
 * written and read again as the same program; the pass and both interpreters take it or refuse it,
 * and where both run they agree. The number of bytes says in which dialect, besides the usual. */
#include "tests/fuzz/checks.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_memory memory;
  fnz_context *ctx = fuzz_start(&memory);
  fnz_program *p;
  fnz_status status = fnz_program_read(ctx, data, size, FUZZ_FORMAT, &p);
  if (status != FNZ_OK) {
    fuzz_check_refusal(ctx, status, size);
  } else {
    check_round_trip(ctx, p, FNZ_FORMAT_TEXT);
    check_round_trip(ctx, p, FNZ_FORMAT_CBOR);
    check_pass(ctx, p, FNZ_VIEWS_COPY, size & 2 ? FNZ_STATE_EPILOGUE : FNZ_STATE_OUTPUTS);
    if (size & 1)
      check_pass(ctx, p, size & 4 ? FNZ_VIEWS_KEEP : FNZ_VIEWS_STRIDED, FNZ_STATE_OUTPUTS);
  }
  fnz_program_destroy(p);
  fuzz_end(&memory, ctx);
  return 0;
}
