/* schema.c - any bytes as lines of operator schemas: declared or refused. A declared operator
 * prints as a schema that another context takes for the same. */
#include "tests/fuzz/fuzz.h"

static void check_again(const char *schema) {
  fuzz_memory memory;
  fnz_context *ctx = fuzz_start(&memory);
  const fnz_op *op;
  fnz_status status = fnz_op_declare(ctx, schema, &op);
  PROMISE(status == FNZ_OK, "its own text is refused: %s: %s", schema,
          fnz_last_error(ctx)->message);
  PROMISE(strcmp(fnz_op_schema(op), schema) == 0, "%s prints as %s", schema, fnz_op_schema(op));
  fuzz_end(&memory, ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  fuzz_memory memory;
  fnz_context *ctx = fuzz_start(&memory);
  fnz_status status = fnz_ops_declare(ctx, "fuzz", (const char *)data, size);
  if (status != FNZ_OK)
    fuzz_check_refusal(ctx, status, size);
  const size_t count = fnz_op_declared_count(ctx);
  for (size_t i = 0; i < count; i++)
    if (fuzz_tries(fuzz_hash(data, size), i, count))
      check_again(fnz_op_schema(fnz_op_declared_at(ctx, i)));
  fuzz_end(&memory, ctx);
  return 0;
}
