/* checks: 3
 * json_out_test.c - the writer of JSON: lists with lines, keys, and the first failure. */
#include "base/json.h"
#include "tests/help/test.h"

static void finish(fnz_context *ctx, fnzi_json_out *w, const char *want) {
  OK(ctx, w->status);
  ck_assert_str_eq(w->out->data, want);
  fnz_buffer_free(ctx, w->out);
  fnz_context_destroy(ctx);
}

static fnzi_json_out begin(fnz_buffer *out) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  return (fnzi_json_out){.ctx = ctx, .out = out, .utf8 = true};
}

START_TEST(lists_may_have_lines) {
  fnz_buffer out = {0};
  fnzi_json_out w = begin(&out);
  fnzi_json_open_lines(&w, NULL, '{', 2, 0);
  fnzi_json_open_lines(&w, "a", '[', 4, FNZI_JSON_AFTER);
  fnzi_json_out_int(&w, -1);
  fnzi_json_open(&w, '{');
  fnzi_json_out_count(&w, "b", UINT64_MAX);
  fnzi_json_break(&w, 6);
  fnzi_json_out_flag(&w, "c", false);
  fnzi_json_close(&w, '}');
  fnzi_json_close(&w, ']');
  fnzi_json_open_lines(&w, "d", '[', 4, 2);
  fnzi_json_close(&w, ']');
  fnzi_json_open_as(&w, "e", '[');
  fnzi_json_out_null(&w);
  fnzi_json_close(&w, ']');
  fnzi_json_out_fixed(&w, "f", 2, -0.5);
  fnzi_json_out_number(&w, "g", -7);
  fnzi_json_close(&w, '}');
  finish(w.ctx, &w,
         "{\n  \"a\": [\n    -1,\n    {\"b\": 18446744073709551615,\n      \"c\": false}],\n"
         "  \"d\": [],\n  \"e\": [null],\n  \"f\": -0.50,\n  \"g\": -7\n}");
}
END_TEST

START_TEST(texts_may_have_any_bytes) {
  fnz_buffer out = {0};
  fnzi_json_out w = begin(&out);
  fnzi_json_open(&w, '{');
  fnzi_json_out_text(&w, "a", "\xff\"\x01");
  fnzi_json_out_text(&w, "b", NULL);
  fnzi_json_out_name(&w, "\\", 1);
  fnzi_json_out_bool(&w, true);
  fnzi_json_close(&w, '}');
  finish(w.ctx, &w, "{\"a\": \"\xff\\\"\\u0001\", \"b\": null, \"\\\\\": true}");
}
END_TEST

START_TEST(the_first_failure_stays) {
  fnz_buffer out = {0};
  fnzi_json_out w = begin(&out);
  for (int k = 0; k < 4; k++)
    OK(w.ctx, fnzi_json_open_lines(&w, NULL, '[', 0, 0));
  FAILS(w.ctx, "INTERNAL", fnzi_json_open_lines(&w, NULL, '[', 0, 0));
  size_t size = out.size;
  ck_assert_int_eq(fnzi_json_out_int(&w, 1), FNZ_INTERNAL);
  ck_assert_int_eq(fnzi_json_close(&w, ']'), FNZ_INTERNAL);
  ck_assert_uint_eq(out.size, size);
  fnz_buffer_free(w.ctx, &out);
  fnz_context_destroy(w.ctx);
}
END_TEST

RUN_SUITE("json_out", lists_may_have_lines, texts_may_have_any_bytes, the_first_failure_stays)
