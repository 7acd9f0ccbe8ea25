/* read.c - any bytes as a program in the format FUZZ_FORMAT: read or refused. What is read is
 * written and read again as the same program; the pass and both interpreters take it or refuse it,
 * and where both run they agree. */
#include "tests/fuzz/fuzz.h"

static fnz_status text_of(fnz_context *ctx, const fnz_program *p, fnz_buffer *out) {
  *out = (fnz_buffer){0};
  return fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, out);
}

/* Written in the format `through` and read again, it prints as before. */
static void check_round_trip(fnz_context *ctx, const fnz_program *p, fnz_format through) {
  fnz_buffer written = {0}, before = {0}, after = {0};
  fnz_program *again = NULL;
  fnz_status status = fnz_program_write(ctx, p, through, &written);
  if (status == FNZ_OK)
    status = text_of(ctx, p, &before);
  if (status == FNZ_OK) {
    status = fnz_program_read(ctx, written.data, written.size, through, &again);
    PROMISE(status == FNZ_OK || status == FNZ_NO_MEMORY, "what was written is refused: %s",
            fnz_last_error(ctx)->message);
  }
  if (status == FNZ_OK && text_of(ctx, again, &after) == FNZ_OK)
    PROMISE(strcmp(before.data, after.data) == 0, "read again, it is another program");
  fnz_program_destroy(again);
  fnz_buffer_free(ctx, &written);
  fnz_buffer_free(ctx, &before);
  fnz_buffer_free(ctx, &after);
}

/* No bug is behind a refusal, and what is accepted means the same. */
static void check_pass(fnz_context *ctx, const fnz_program *p) {
  fnz_program *functional;
  fnz_status status = fnz_functionalize(ctx, p, NULL, &functional);
  PROMISE(status != FNZ_INTERNAL, "functionalize: %s", fnz_last_error(ctx)->message);
  if (status != FNZ_OK)
    return;
  status = fnz_verify(ctx, p, functional, NULL, 1);
  PROMISE(status != FNZ_INTERNAL && status != FNZ_DIFFERENT, "verify: %s: %s",
          fnz_last_error(ctx)->where, fnz_last_error(ctx)->message);
  fnz_program_destroy(functional);
}

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
    check_pass(ctx, p);
  }
  fnz_program_destroy(p);
  fuzz_end(&memory, ctx);
  return 0;
}
