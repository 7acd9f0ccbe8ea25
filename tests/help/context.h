/* context.h - the context of a test file: each test begins with one and ends it, and nothing of it
 * is left. */
#ifndef FNZ_TESTS_HELP_CONTEXT_H
#define FNZ_TESTS_HELP_CONTEXT_H

#include "base/base.h"
#include "tests/help/test.h"

#include <fnz/formats.h>
#include <fnz/functionalize.h>
#include <fnz/program.h>

#include <string.h>

static fnz_context *ctx;

static inline void begin(void) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
}

static inline void end(void) {
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
}

static inline fnz_program *read_text(const char *text) {
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_AUTO, &p));
  return p;
}

/* Its functional form; `p` ends. */
static inline fnz_program *made_functional(fnz_program *p) {
  fnz_program *f;
  OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
  fnz_program_destroy(p);
  return f;
}

/* Written, and read again. */
static inline fnz_program *read_again(const fnz_program *p, fnz_format format) {
  fnz_buffer out = {0};
  fnz_program *read;
  OK(ctx, fnz_program_write(ctx, p, format, &out));
  OK(ctx, fnz_program_read(ctx, out.data, out.size, FNZ_FORMAT_AUTO, &read));
  fnz_buffer_free(ctx, &out);
  return read;
}

#endif
