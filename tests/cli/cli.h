/* cli.h - the command's fixtures, for what tests it by subject. */
#ifndef FNZ_TESTS_CLI_CLI_H
#define FNZ_TESTS_CLI_CLI_H

#include "tests/cli/command.h"

#include <fnz/arrays.h>
#include <fnz/formats.h>

#define FIXTURES FNZ_SOURCE_DIR "/fixtures/cli/"
#define PROGRAM  FIXTURES "slice_write.fnz"
#define OTHER    FIXTURES "slice_write_twice.fnz"
#define CUSTOM   FNZ_SOURCE_DIR "/fixtures/custom/"
#define PT2      FNZ_SOURCE_DIR "/fixtures/pt2/"
#define NATIVE   FNZ_SOURCE_DIR "/fixtures/native/"

static inline void same_files(const char *a, const char *b) {
  fnz_context *ctx;
  fnz_buffer x, y;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_file_read(ctx, a, &x));
  OK(ctx, fnz_file_read(ctx, b, &y));
  ck_assert_uint_eq(x.size, y.size);
  ck_assert_mem_eq(x.data, y.data, x.size);
  fnz_buffer_free(ctx, &x);
  fnz_buffer_free(ctx, &y);
  fnz_context_destroy(ctx);
}

/* The archive's other records are kept, so a second conversion changes nothing. */

#endif
