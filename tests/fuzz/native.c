/* native.c - any bytes as a file of native functions in YAML, and behind a line `--- tags` as the
 * file of tags: read, or refused with a place. Each operator of a library has a schema and a line.
 */
#include "tests/fuzz/fuzz.h"

#include <fnz/library.h>

static const char separator[] = "--- tags\n";
static const char usual_tags[] = "- tag: core\n  desc: x\n- tag: pointwise\n  desc: x\n";

/* The beginning of the second file; NULL if there is none. */
static const char *find_tags(const char *text, size_t size) {
  const size_t wanted = sizeof separator - 1;
  for (const char *at = text; (size_t)(text + size - at) >= wanted; at++) {
    at = memchr(at, separator[0], (size_t)(text + size - at) - wanted + 1);
    if (!at)
      return NULL;
    if (memcmp(at, separator, wanted) == 0)
      return at;
  }
  return NULL;
}

static void check_library(const fnz_library *library) {
  size_t count = fnz_library_count(library);
  for (size_t i = 0; i < count; i++) {
    const fnz_op *op = fnz_library_op(library, i);
    PROMISE(op && *fnz_op_name(op) && *fnz_op_schema(op), "operator %zu has no schema", i);
    PROMISE(fnz_library_line(library, i) > 0, "%s has no line", fnz_op_name(op));
    const fnz_op *twin = fnz_library_twin(library, i);
    PROMISE(!twin || *fnz_op_schema(twin), "%s has a twin without a schema", fnz_op_name(op));
  }
  PROMISE(!fnz_library_op(library, count), "there is one operator more than are counted");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  const char *text = (const char *)data, *tags = find_tags(text, size);
  fnz_library_source source = {"functions.yaml", text,       size,
                               "tags.yaml",      usual_tags, sizeof usual_tags - 1};
  fuzz_memory memory;
  fnz_library *library = NULL;
  fnz_context *ctx = fuzz_start(&memory);
  if (tags) {
    source.functions_size = (size_t)(tags - text);
    source.tags = tags + sizeof separator - 1;
    source.tags_size = size - source.functions_size - (sizeof separator - 1);
  }
  fnz_status status = fnz_library_read(ctx, &source, &library);
  if (status != FNZ_OK) {
    fuzz_check_refusal(ctx, status, size);
    PROMISE(status == FNZ_NO_MEMORY || *fnz_last_error(ctx)->where, "no place: %s",
            fnz_last_error(ctx)->message);
  } else {
    check_library(library);
  }
  fnz_library_destroy(library);
  fuzz_end(&memory, ctx);
  return 0;
}
