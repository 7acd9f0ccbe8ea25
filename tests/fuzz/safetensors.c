/* safetensors.c - any bytes as a safetensors file: read or refused; arrays that are read are
 * written and read again as the same arrays. */
#include "tests/fuzz/fuzz.h"

static void check_same(const fnz_arrays *a, const fnz_arrays *b) {
  PROMISE(fnz_arrays_count(a) == fnz_arrays_count(b), "%zu arrays, then %zu", fnz_arrays_count(a),
          fnz_arrays_count(b));
  for (size_t i = 0; i < fnz_arrays_count(a); i++) {
    const fnz_array *x = fnz_arrays_at(a, i), *y = fnz_arrays_find(b, x->name);
    PROMISE(y && y->dtype == x->dtype && y->rank == x->rank && y->bytes == x->bytes, "%s", x->name);
    PROMISE(!x->bytes || memcmp(x->data, y->data, x->bytes) == 0, "%s", x->name);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_memory memory;
  fnz_context *ctx = fuzz_start(&memory);
  fnz_arrays *arrays, *again = NULL;
  fnz_buffer written = {0};
  fnz_status status = fnz_arrays_read_safetensors(ctx, data, size, &arrays);
  if (status != FNZ_OK) {
    fuzz_check_refusal(ctx, status, size);
  } else if (fnz_arrays_write_safetensors(ctx, arrays, &written) == FNZ_OK) {
    status = fnz_arrays_read_safetensors(ctx, written.data, written.size, &again);
    PROMISE(status == FNZ_OK || status == FNZ_NO_MEMORY, "what was written is refused: %s",
            fnz_last_error(ctx)->message);
    if (again)
      check_same(arrays, again);
  }
  fnz_buffer_free(ctx, &written);
  fnz_arrays_destroy(again);
  fnz_arrays_destroy(arrays);
  fuzz_end(&memory, ctx);
  return 0;
}
