/* checks: 3
 * claims_test.c - what a short program claims costs nothing: sizes, and pieces of a tensor that it
 * does not name. To read, check, functionalize and write it takes at most 512 times its bytes and
 * 16 MB, or it is refused. */
#include "tests/help/context.h"

#include <stdio.h>

enum { MB = 1 << 20, TIMES = 512 };

typedef struct claim {
  const char *inputs, *body, *class_name; /* NONE: it is converted */
} claim;

/* Returns the class of what refused it. */
static const char *convert(const char *text) {
  fnz_program *p = NULL, *functional = NULL;
  fnz_buffer out = {0};
  const char *got = "NONE";
  fnz_status status = fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &p);
  if (status == FNZ_OK)
    status = fnz_functionalize(ctx, p, NULL, &functional);
  if (status == FNZ_OK)
    status = fnz_program_write(ctx, functional, FNZ_FORMAT_CBOR, &out);
  if (status != FNZ_OK)
    got = fnz_class_name(fnz_last_error(ctx)->kind);
  fnz_buffer_free(ctx, &out);
  fnz_program_destroy(functional);
  fnz_program_destroy(p);
  return got;
}

static void must_cost(const claim *rows, size_t count) {
  for (size_t i = 0; i < count; i++) {
    char text[1024];
    const claim *c = &rows[i];
    snprintf(text, sizeof text, "fnz 1\nprogram(%s)\n{\n%s\n}\n", c->inputs, c->body);
    begin();
    const char *got = convert(text);
    ck_assert_msg(strcmp(got, c->class_name) == 0, "%s: want %s, got %s: %s", c->body,
                  c->class_name, got, fnz_last_error(ctx)->message);
    ck_assert_msg(fnz_context_peak_bytes(ctx) <= TIMES * strlen(text) + (size_t)16 * MB,
                  "%s: %zu bytes took %zu", c->body, strlen(text), fnz_context_peak_bytes(ctx));
    end();
  }
}

#define COST(rows) must_cost(rows, sizeof(rows) / sizeof *(rows))

/* Each of them has more pieces than it names. */
START_TEST(pieces) {
  static const claim rows[] = {
      {"%x: f32[65535]", "[%a: f32[], %b: f32[] offset(1)] = unbind.int(%x)\nreturn %a", "TYPE"},
      {"%x: f32[3]", "[%a: f32[], %b: f32[] offset(1)] = unbind.int(%x)\nreturn %a", "TYPE"},
      {"%x: f32[65535]", "[] = unbind.int(%x)\nreturn %x", "TYPE"},
      {"%x: f32[65535]", "[%a: f32[]] = unbind_copy.int(%x)\nreturn %a", "TYPE"},
      {"%x: f32[65535]", "[%a: f32[1]] = split.Tensor(%x, 1)\nreturn %a", "TYPE"},
      {"%x: f32[65535]", "[%a: f32[1]] = split_copy.Tensor(%x, 1)\nreturn %a", "TYPE"},
      {"%x: f32[65535]", "[%a: f32[1]] = unsafe_split.Tensor(%x, 1)\nreturn %a", "TYPE"},
      {"%x: f32[65535]", "[%a: f32[1]] = chunk(%x, 65535)\nreturn %a", "TYPE"},
      {"%x: f32[0]", "[%a: f32[0]] = chunk(%x, 1000000000000)\nreturn %a", "TYPE"},
      {"%x: f32[0]", "[%a: f32[0]] = unsafe_chunk(%x, 1000000000000)\nreturn %a", "TYPE"},
      {"%x: f32[4]", "[%a: f32[1]] = tensor_split.sections(%x, 10000000000)\nreturn %a", "TYPE"},
      {"%x: f32[60000]", "[%a: f32[1]] = hsplit.int(%x, 60000)\nreturn %a", "TYPE"},
      {"%x: f32[60000,1]", "[%a: f32[1,1]] = vsplit.int(%x, 60000)\nreturn %a", "TYPE"},
      {"%x: f32[1,1,60000]", "[%a: f32[1,1,1]] = dsplit.int(%x, 60000)\nreturn %a", "TYPE"},
  };
  COST(rows);
}
END_TEST

/* Windows of tensors that are larger than any memory here. */
START_TEST(sizes) {
  static const claim rows[] = {
      {"%x: f32[1000000000]",
       "%s: f32[500000000] stride(2) = slice.Tensor(%x, 0, 0, 1000000000, 2)\n"
       "%a: f32[500000000] stride(2) = add_.Scalar(%s, 1)\nreturn %x",
       "NONE"},
      {"%x: f32[100000,100000]",
       "%s: f32[100000,100000] stride(1,100000) = t(%x)\n"
       "%a: f32[100000,100000] stride(1,100000) = sin_(%s)\nreturn %x",
       "NONE"},
      {"%x: f32[1000000000], %i: i64[100000000]",
       "%s: f32[100000000] = index.Tensor(%x, [%i])\n"
       "%w: f32[1000000000] = index_put_(%x, [%i], %s)\nreturn %x",
       "NONE"},
      {"%x: f32[100000]",
       "%s: f32[50001,50000] stride(1,1) = unfold(%x, 0, 50000, 1)\n"
       "%w: f32[50001,50000] stride(1,1) = fill_.Scalar(%s, 1)\nreturn %x",
       "NONE"},
      {"%x: f32[1000000000]",
       "%s: f32[2000000000] = cat([%x, %x])\n%w: f32[2000000000] = sin_(%s)\nreturn %w", "NONE"},
      {"%x: f32[1000000000]",
       "%s: f32[1000000000] = flip(%x, [0])\n"
       "%w: f32[1000000000] = add_.Tensor(%x, %s)\nreturn %x",
       "NONE"},
      {"%x: f32[1000000000]",
       "%s: f32[10000,10000] stride(3,7) offset(2) = as_strided(%x, [10000,10000], [3,7], 2)\n"
       "%w: f32[10000,10000] = sin(%s)\nreturn %w",
       "NONE"},
  };
  COST(rows);
}
END_TEST

/* The same by a symbol that may be large. */
START_TEST(ranges) {
  static const char text[] = "fnz 1\nsymbol s0 = 2\nrange s0 2..65535\nprogram(%x: f32[{s0}])\n{\n"
                             "[%a: f32[], %b: f32[] offset(1)] = unbind.int(%x)\n"
                             "%c: f32[] = add_.Scalar(%a, 1)\nreturn %x\n}\n";
  begin();
  convert(text);
  ck_assert_uint_le(fnz_context_peak_bytes(ctx), TIMES * sizeof text + (size_t)16 * MB);
  end();
}
END_TEST

RUN_SUITE("claims", pieces, sizes, ranges)
