/* checks: 2
 * outlives_test.c - what is made from a program or from bytes keeps nothing of them: both are
 * ended, and their memory overwritten, before the result is looked at. */
#include "tests/help/test.h"

#include <fnz/fnz.h>

#include <stdio.h>

static const char program[] =
    "fnz 1\n"
    "operator \"lib::twice(Tensor x, str how) -> Tensor\"\n"
    "program(%p: bool[], %x: f32[4,2], %z: c64[2] buffer \"b\") {\n"
    "  %row: f32[2] = select.int(%x, 0, 1)  at \"model.py:3\"\n"
    "  %w: f32[2] = add_.Scalar(%row, 1)  at \"model.py:4\"\n"
    "  %a: f32[4,2] = div.Tensor_mode(%x, %x, rounding_mode=\"floor\")  meta \"{\\\"k\\\": 1}\"\n"
    "  %b: f32[4,2] = _to_copy(%a, device=device(\"cpu\"))\n"
    "  %c: c64[2] = mul_.Scalar(%z, complex(1.0, 2.0))\n"
    "  %d: f32[4,2] = roll(%b, [1, 1], [0, 1])\n"
    "  [%e: f32[2,2], %f: f32[2,2]] = split.Tensor(%d, 2)\n"
    "  %g: f32[2,2] = lib::twice(%e, \"by adding\")\n"
    "  %i: f32[2] = higher_order.cond(%p, @f, @g, [%row])\n"
    "  return %g, %f, %i\n"
    "}\n"
    "graph f(%a: f32[2]) {\n  %b: f32[2] = sin(%a)\n  return %b\n}\n"
    "graph g(%a: f32[2]) {\n"
    "  %b: f32[2] = div.Tensor_mode(%a, %a, rounding_mode=\"trunc\")\n  return %b\n}\n";

/* Overwrites what is given back. */
static void *resize(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  (void)user;
  void *moved = new_bytes ? malloc(new_bytes) : NULL;
  if (new_bytes && !moved)
    return NULL;
  if (moved && p)
    memcpy(moved, p, old_bytes < new_bytes ? old_bytes : new_bytes);
  if (p)
    memset(p, 0xa5, old_bytes);
  free(p);
  return moved;
}

static fnz_context *start(void) {
  const fnz_allocator allocator = {resize, NULL};
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(&allocator, &ctx), FNZ_OK);
  return ctx;
}

/* Reads from bytes that are overwritten afterwards. */
static fnz_program *read_and_forget(fnz_context *ctx, const void *bytes, size_t size,
                                    fnz_format format) {
  fnz_program *p;
  char *copy = malloc(size);
  ck_assert_ptr_nonnull(copy);
  memcpy(copy, bytes, size);
  OK(ctx, fnz_program_read(ctx, copy, size, format, &p));
  memset(copy, 0xa5, size);
  free(copy);
  return p;
}

static fnz_buffer write_as(fnz_context *ctx, const fnz_program *p, fnz_format format) {
  fnz_buffer b = {0};
  OK(ctx, fnz_program_write(ctx, p, format, &b));
  return b;
}

static void check_same(const fnz_buffer *a, const fnz_buffer *b) {
  ck_assert_uint_eq(a->size, b->size);
  ck_assert_mem_eq(a->data, b->data, a->size);
}

START_TEST(a_result_outlives_its_original) {
  for (int views = FNZ_VIEWS_COPY; views <= FNZ_VIEWS_STRIDED; views++) {
    fnz_context *ctx = start();
    fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
    fnz_program *p = read_and_forget(ctx, program, sizeof program - 1, FNZ_FORMAT_TEXT), *result;
    options.views = (fnz_views)views;
    OK(ctx, fnz_functionalize(ctx, p, &options, &result));
    fnz_buffer before = write_as(ctx, result, FNZ_FORMAT_TEXT);
    fnz_program_destroy(p);
    fnz_buffer after = write_as(ctx, result, FNZ_FORMAT_TEXT);
    check_same(&before, &after);
    fnz_buffer_free(ctx, &before);
    fnz_buffer_free(ctx, &after);
    fnz_program_destroy(result);
    fnz_context_destroy(ctx);
  }
}
END_TEST

START_TEST(a_program_outlives_its_bytes) {
  static const fnz_format formats[] = {FNZ_FORMAT_TEXT, FNZ_FORMAT_CBOR};
  for (size_t k = 0; k < sizeof formats / sizeof *formats; k++) {
    fnz_context *ctx = start();
    fnz_program *p = read_and_forget(ctx, program, sizeof program - 1, FNZ_FORMAT_TEXT);
    fnz_buffer before = write_as(ctx, p, formats[k]);
    fnz_program *again = read_and_forget(ctx, before.data, before.size, formats[k]);
    fnz_program_destroy(p);
    fnz_buffer after = write_as(ctx, again, formats[k]);
    check_same(&before, &after);
    fnz_buffer_free(ctx, &before);
    fnz_buffer_free(ctx, &after);
    fnz_program_destroy(again);
    fnz_context_destroy(ctx);
  }
}
END_TEST

RUN_SUITE("outlives", a_result_outlives_its_original, a_program_outlives_its_bytes)
