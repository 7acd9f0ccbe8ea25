/* sized.c - structures of the caller that begin with their size: structures of an older header are
 * shorter. */
#include "base/base.h"

#include <fnz/backend.h>

static size_t size_of(const void *given) {
  size_t size;
  memcpy(&size, given, sizeof size);
  return size;
}

static bool fits(const void *given, size_t bytes) {
  return !given || (size_of(given) >= sizeof(size_t) && size_of(given) <= bytes);
}

fnz_status fnzi_sized_check(fnz_context *ctx, const void *given, size_t bytes) {
  if (fits(given, bytes))
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                   "a structure of options, of a report or of a run has size %zu, where fnz %s has "
                   "%zu; set its size to its sizeof, by the header of this release or an older one",
                   size_of(given), fnz_version(), bytes);
}

bool fnzi_options_copy(const void *given, size_t bytes, void *out) {
  if (given && fits(given, bytes))
    memcpy(out, given, size_of(given));
  return fits(given, bytes);
}

fnz_status fnzi_options_take(fnz_context *ctx, const void *given, size_t bytes, void *out) {
  FNZ_TRY(fnzi_sized_check(ctx, given, bytes));
  (void)fnzi_options_copy(given, bytes, out);
  return FNZ_OK;
}

fnz_status fnzi_backend_check(fnz_context *ctx, const fnz_backend *backend) {
  if (FNZI_BACKEND_HAS(backend, cell_bytes))
    return FNZ_OK;
  return fnzi_fail(ctx, FNZ_CLASS_ARGUMENT, NULL,
                   "a backend has size %zu and no cell_bytes() in it; set its size to "
                   "sizeof(fnz_backend), and all functions up to that one",
                   backend->size);
}

void fnzi_report_give(const void *report, void *out) {
  const size_t before = sizeof(size_t);
  if (out)
    memcpy((char *)out + before, (const char *)report + before, size_of(out) - before);
}
