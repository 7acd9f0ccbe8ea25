/* faults.h - an allocator that fails at the n-th request, or beyond a limit, and counts what is not
 * given back. */
#ifndef FNZ_TESTS_HELP_FAULTS_H
#define FNZ_TESTS_HELP_FAULTS_H

#include "base/watched.h"
#include "tests/help/test.h"

typedef struct faults {
  size_t calls, fail_at; /* fail_at 0: never */
  size_t live_bytes;
  size_t most_bytes; /* at once; 0: no limit */
} faults;

static inline void *faults_resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  faults *f = user;
  if (new_bytes && ++f->calls == f->fail_at)
    return NULL;
  if (f->most_bytes && new_bytes > old_bytes &&
      new_bytes - old_bytes > f->most_bytes - f->live_bytes)
    return NULL;
  f->live_bytes += new_bytes - old_bytes;
  if (new_bytes)
    return realloc(p, new_bytes);
  free(p);
  return NULL;
}

/* The allocation that fails after the n-th: where memory is watched calls are slow, and of late
 * ones only some fail. */
static inline size_t next_fault(size_t n) {
  return n + 1 + (FNZI_WATCHED ? n / 64 : 0);
}

/* Calls `body` with each allocation failing in turn until none is left to fail. The body must give
 * FNZ_NO_MEMORY and free everything each time. Returns how many allocations there were. */
static inline size_t each_fault(fnz_status (*body)(fnz_context *ctx, const void *user),
                                const void *user) {
  for (size_t n = 1;; n = next_fault(n)) {
    faults f = {.fail_at = n};
    fnz_allocator allocator = {faults_resize, &f};
    fnz_context *ctx;
    fnz_status status = fnz_context_create(&allocator, &ctx);
    if (status == FNZ_OK)
      status = body(ctx, user);
    fnz_context_destroy(ctx);
    ck_assert_uint_eq(f.live_bytes, 0);
    if (f.calls < n) {
      ck_assert_int_eq(status, FNZ_OK);
      return f.calls;
    }
    ck_assert_int_eq(status, FNZ_NO_MEMORY);
  }
}

#endif
