/* checks: 2
 *
 * convert_test.c - a whole conversion, archive in and CBOR out, with each allocation failing in
 * turn: out of memory is the only answer, and nothing leaks. */
#include "tests/help/faults.h"

#include <fnz/fnz.h>

static fnz_status convert(fnz_context *ctx, const char *path) {
  fnz_buffer file = {NULL, 0, 0}, cbor = {NULL, 0, 0};
  fnz_program *program = NULL, *functional = NULL;
  fnz_status status = fnz_file_read(ctx, path, &file);
  if (status == FNZ_OK)
    status = fnz_program_read(ctx, file.data, file.size, FNZ_FORMAT_AUTO, &program);
  if (status == FNZ_OK)
    status = fnz_functionalize(ctx, program, NULL, &functional);
  if (status == FNZ_OK)
    status = fnz_program_write(ctx, functional, FNZ_FORMAT_CBOR, &cbor);
  fnz_buffer_free(ctx, &cbor);
  fnz_buffer_free(ctx, &file);
  fnz_program_destroy(functional);
  fnz_program_destroy(program);
  return status;
}

static fnz_status convert_path(fnz_context *ctx, const void *path) {
  return convert(ctx, path);
}

START_TEST(a_cache_survives_every_fault) {
  ck_assert_uint_gt(each_fault(convert_path, FNZ_SOURCE_DIR "/fixtures/pt2/kv_cache.pt2"), 200);
}
END_TEST

START_TEST(batch_norm_survives_every_fault) {
  ck_assert_uint_gt(each_fault(convert_path, FNZ_SOURCE_DIR "/fixtures/pt2/batchnorm_train.pt2"),
                    100);
}
END_TEST

RUN_SUITE("convert", a_cache_survives_every_fault, batch_norm_survives_every_fault)
