/* context.h - the context of a test file: each test begins with one and ends it, and nothing of it
 * is left. */
#ifndef FNZ_TESTS_CONTEXT_H
#define FNZ_TESTS_CONTEXT_H

#include "base/base.h"
#include "tests/test.h"

static fnz_context *ctx;

static inline void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
}

static inline void end(void) {
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
}

#endif
