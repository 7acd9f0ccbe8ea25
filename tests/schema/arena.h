/* arena.h - a context with an arena, for tests that parse schemas; all must be given back at the
 * end. */
#ifndef FNZ_TESTS_SCHEMA_ARENA_H
#define FNZ_TESTS_SCHEMA_ARENA_H

#include "tests/help/test.h"

static fnz_context *ctx;
static fnzi_arena arena;

static inline void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnzi_arena_init(&arena, ctx);
}

static inline void end(void) {
  fnzi_arena_free(&arena);
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
}

#endif
