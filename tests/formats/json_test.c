/* checks: 12
 * json_test.c - what becomes of JSON values, and the class of each fault in a text. */
#include "base/json.h"
#include "program/formats/json.h"
#include "tests/help/test.h"

#include <math.h>
#include <stdio.h>

typedef struct fixture {
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_json_doc doc;
} fixture;

static fnz_status parse_bytes(fixture *f, const char *text, size_t size) {
  ck_assert_int_eq(fnz_context_create(NULL, &f->ctx), FNZ_OK);
  fnzi_arena_init(&f->arena, f->ctx);
  return fnzi_json_parse(&f->arena, "text", text, size, &f->doc);
}

static void done(fixture *f) {
  fnzi_arena_free(&f->arena);
  ck_assert_uint_eq(f->ctx->live_bytes, 0);
  fnz_context_destroy(f->ctx);
}

static void parsed(fixture *f, const char *text) {
  OK(f->ctx, parse_bytes(f, text, strlen(text)));
}

static void refused(const char *text, const char *class_name) {
  fixture f;
  ck_assert_msg(parse_bytes(&f, text, strlen(text)) != FNZ_OK, "accepted: %s", text);
  const fnz_error *e = fnz_last_error(f.ctx);
  ck_assert_msg(strcmp(fnz_class_name(e->kind), class_name) == 0, "%.60s: want %s, got %s: %s",
                text, class_name, fnz_class_name(e->kind), e->message);
  done(&f);
}

START_TEST(values) {
  fixture f;
  parsed(&f, " {\"a\": [1, -2.5, true, null], \"b\": {\"c\": \"\\u00e9\\n\"}, \"\": []} ");
  const fnzi_json *a = fnzi_json_find(f.doc.root, "a"), *b = fnzi_json_find(f.doc.root, "b");
  ck_assert_uint_eq(f.doc.root->count, 3);
  ck_assert_uint_eq(a->count, 4);
  ck_assert_int_eq(a->u.first->u.i, 1);
  ck_assert(a->u.first->next->u.f == -2.5);
  ck_assert_int_eq(a->u.first->next->next->kind, FNZI_JSON_BOOL);
  ck_assert_int_eq(a->u.first->next->next->next->kind, FNZI_JSON_NULL);
  ck_assert_ptr_null(a->u.first->key);
  ck_assert_str_eq(fnzi_json_find(b, "c")->u.s, "\xc3\xa9\n");
  ck_assert_uint_eq(fnzi_json_find(b, "c")->count, 3);
  ck_assert_uint_eq(fnzi_json_find(f.doc.root, "")->count, 0);
  ck_assert_ptr_null(fnzi_json_find(f.doc.root, "c"));
  done(&f);
}
END_TEST

START_TEST(integers_stay_integers) {
  fixture f;
  int64_t i;
  parsed(&f, "[9223372036854775807, -9223372036854775808, 0, -0]");
  const fnzi_json *n = f.doc.root->u.first;
  OK(f.ctx, fnzi_json_int(&f.doc, n, &i));
  ck_assert_int_eq(i, INT64_MAX);
  OK(f.ctx, fnzi_json_int(&f.doc, n->next, &i));
  ck_assert_int_eq(i, INT64_MIN);
  done(&f);
  refused("[9223372036854775808]", "OVERFLOW");
  refused("[-9223372036854775809]", "OVERFLOW");
  refused("[18446744073709551616]", "OVERFLOW");
  refused("{\"a\": 123456789012345678901234567890123456789012345678901234567890123456789}",
          "OVERFLOW");
}
END_TEST

START_TEST(floats) {
  fixture f;
  double d;
  parsed(&f, "[\"NaN\", \"Infinity\", \"-Infinity\", 3, 1e-05, \"Inf\", null]");
  const fnzi_json *n = f.doc.root->u.first;
  OK(f.ctx, fnzi_json_float(&f.doc, n, &d));
  ck_assert(isnan(d));
  OK(f.ctx, fnzi_json_float(&f.doc, n = n->next, &d));
  ck_assert(isinf(d) && d > 0);
  OK(f.ctx, fnzi_json_float(&f.doc, n = n->next, &d));
  ck_assert(isinf(d) && d < 0);
  OK(f.ctx, fnzi_json_float(&f.doc, n = n->next, &d));
  ck_assert(d == 3);
  OK(f.ctx, fnzi_json_float(&f.doc, n = n->next, &d));
  ck_assert(d == 1e-05);
  FAILS(f.ctx, "TYPE", fnzi_json_float(&f.doc, n = n->next, &d));
  FAILS(f.ctx, "TYPE", fnzi_json_float(&f.doc, n->next, &d));
  done(&f);
  refused("[1e400]", "TYPE");
  refused("[1.5e]", "SYNTAX");
  refused("[01]", "SYNTAX");
  refused("[NaN]", "SYNTAX");
}
END_TEST

START_TEST(faults) {
  refused("", "TRUNCATED");
  refused("  \n", "TRUNCATED");
  refused("{\"a\": 1", "TRUNCATED");
  refused("[[1, 2], [3", "TRUNCATED");
  refused("{\"a\": \"bc", "TRUNCATED");
  refused("{} {}", "SYNTAX");
  refused("{} x", "SYNTAX");
  refused("[1,]", "SYNTAX");
  refused("[1]]", "SYNTAX");
  refused("{'a': 1}", "SYNTAX");
  refused("[1] // no", "SYNTAX");
  refused("[\"a\tb\"]", "SYNTAX");
  refused("[tru]", "SYNTAX");
  refused("\xef\xbb\xbf{}", "SYNTAX");
  refused("[\"\\ud800\"]", "ENCODING");
  refused("[\"\\udc00\\ud800\"]", "ENCODING");
  refused("[\"\xc3\"]", "ENCODING");
  refused("[\"\xed\xa0\x80\"]", "ENCODING");
  refused("{\"a\": 1, \"b\": 2, \"a\": 3}", "DUPLICATE");
  refused("{\"x\": {\"a\\u0062\": 1, \"ab\": 2}}", "DUPLICATE");
}
END_TEST

/* If the text leaves the grammar, the error names the expected and the found text. */
START_TEST(faults_have_a_place) {
  static const char *const rows[][2] = {
      {"{} {}", "byte 3: expected nothing more, found {}"},
      {"[1, ]", "byte 4: expected a value, found ]"},
      {"[1}", "byte 2: expected a comma or a closing bracket, found }"},
      {"[1]]", "byte 3: expected nothing more, found ]"},
      {"[1 2]", "byte 3: expected a comma or a closing bracket, found 2]"},
      {"{\"a\": [], 'b': 1}", "byte 10: expected a name in double quotes, found 'b':"},
      {"{\"a\": {\"b\" null}}", "byte 11: expected a colon, found null}}"},
      {"{\"a\": NaN}", "byte 6: expected a value, found NaN}"},
      {"\xef\xbb\xbf{}", "byte 0: expected a value, found byte 0xef"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fixture f;
    char want[128];
    snprintf(want, sizeof want, "is not well-formed JSON: %s", rows[i][1]);
    ck_assert_int_ne(parse_bytes(&f, rows[i][0], strlen(rows[i][0])), FNZ_OK);
    ck_assert_str_eq(fnz_last_error(f.ctx)->message, want);
    done(&f);
  }
}
END_TEST

static char *nested(size_t depth, bool closed) {
  char *text = malloc(2 * depth + 1);
  memset(text, '[', depth);
  memset(text + depth, ']', closed ? depth : 0);
  text[closed ? 2 * depth : depth] = 0;
  return text;
}

START_TEST(depth) {
  fixture f;
  char *deepest = nested(FNZI_JSON_MAX_DEPTH, true), *over = nested(FNZI_JSON_MAX_DEPTH + 1, true);
  char *open = nested(10000000, false);
  parsed(&f, deepest);
  done(&f);
  refused(over, "LIMIT");
  refused(open, "LIMIT");
  free(deepest);
  free(over);
  free(open);
}
END_TEST

/* Many keys, once all different and once with the last equal to the first. */
START_TEST(many_keys) {
  fixture f;
  fnz_buffer b = {NULL, 0, 0};
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnzi_put_text(ctx, &b, "{\"k1\": 0"));
  for (int i = 2; i < 100000; i++)
    OK(ctx, fnzi_printf(ctx, &b, ", \"k%d\": 0", i));
  size_t size = b.size;
  OK(ctx, fnzi_put_text(ctx, &b, "}"));
  parsed(&f, b.data);
  ck_assert_uint_eq(f.doc.root->count, 99999);
  done(&f);
  b.size = size;
  OK(ctx, fnzi_put_text(ctx, &b, ", \"k1\": 0}"));
  refused(b.data, "DUPLICATE");
  fnz_buffer_free(ctx, &b);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(places) {
  fixture f;
  const fnzi_json *out;
  const char *text;
  parsed(&f, "{\"a\": [1, {\"b\": 2}], \"u\": {}, \"z\": \"x\\u0000y\"}");
  const fnzi_json *b = fnzi_json_find(fnzi_json_find(f.doc.root, "a")->u.first->next, "b");
  FAILS(f.ctx, "TYPE", fnzi_json_expect(&f.doc, b, FNZI_JSON_STRING));
  ck_assert_str_eq(fnz_last_error(f.ctx)->where, "text: a[1].b");
  ck_assert_str_eq(fnz_last_error(f.ctx)->message, "is an integer, but must be a string");
  FAILS(f.ctx, "TYPE", fnzi_json_need(&f.doc, f.doc.root, "none", FNZI_JSON_INT, &out));
  ck_assert_str_eq(fnz_last_error(f.ctx)->where, "text");
  FAILS(f.ctx, "TYPE", fnzi_json_only(&f.doc, fnzi_json_find(f.doc.root, "u"), &out));
  FAILS(f.ctx, "ENCODING", fnzi_json_need_text(&f.doc, f.doc.root, "z", &text));
  done(&f);
}
END_TEST

START_TEST(long_places_keep_their_end) {
  fixture f;
  char text[400], key[200];
  memset(key, 'k', sizeof key - 1);
  key[sizeof key - 1] = 0;
  snprintf(text, sizeof text, "{\"%s\": {\"inner\": [true]}}", key);
  parsed(&f, text);
  const fnzi_json *item = fnzi_json_find(f.doc.root->u.first, "inner")->u.first;
  FAILS(f.ctx, "TYPE", fnzi_json_expect(&f.doc, item, FNZI_JSON_INT));
  ck_assert_str_eq(fnz_last_error(f.ctx)->where, "text: .inner[0]");
  done(&f);
}
END_TEST

START_TEST(written_strings_read_back) {
  static const char text[] = "a\"b\\c\n\t\r\b\f\x01 \xc3\xa9\0z";
  fixture f;
  fnz_context *ctx;
  fnz_buffer b = {NULL, 0, 0};
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnzi_json_put_string(ctx, &b, text, sizeof text - 1));
  ck_assert_str_eq(b.data, "\"a\\\"b\\\\c\\n\\t\\r\\b\\f\\u0001 \xc3\xa9\\u0000z\"");
  parsed(&f, b.data);
  ck_assert_uint_eq(f.doc.root->count, sizeof text - 1);
  ck_assert_mem_eq(f.doc.root->u.s, text, sizeof text);
  done(&f);
  fnz_buffer_free(ctx, &b);
  fnz_context_destroy(ctx);
}
END_TEST

/* Each byte that UTF-8 text may have by itself, at each place of a word of eight bytes, among
 * letters and among bytes of characters beyond ASCII. */
START_TEST(each_byte_at_each_place) {
  static const char *const among[] = {"abcdefghijklmnopqrstuvwxyz",
                                      "\xc3\xbf\xc3\xbf\xc3\xbf\xc3\xbf"
                                      "\xc3\xbf\xc3\xbf\xc3\xbf\xc3\xbf\xc3\xbf\xc3\xbf"};
  fnz_context *ctx;
  fnz_buffer b = {NULL, 0, 0};
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (int k = 0; k < 2; k++)
    for (int byte = 0; byte < 0x80; byte++)
      for (size_t at = 0; at <= 18; at += 2) {
        char text[32], want[64];
        fixture f;
        size_t size = strlen(among[k]) + 1;
        memcpy(text, among[k], at);
        text[at] = (char)byte;
        memcpy(text + at + 1, among[k] + at, size - at);
        b.size = 0;
        OK(ctx, fnzi_json_put_string(ctx, &b, text, size));
        bool plain = byte >= 0x20 && byte != '"' && byte != '\\';
        snprintf(want, sizeof want, "\"%s\"", text);
        ck_assert_int_eq(plain, b.size == size + 2 && memcmp(b.data, want, size + 2) == 0);
        parsed(&f, b.data);
        ck_assert_uint_eq(f.doc.root->count, size);
        ck_assert_mem_eq(f.doc.root->u.s, text, size);
        done(&f);
      }
  fnz_buffer_free(ctx, &b);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(utf8_at_each_place) {
  char text[24];
  for (size_t size = 1; size < sizeof text; size++)
    for (size_t at = 0; at < size; at++) {
      memset(text, 'a', sizeof text);
      ck_assert(fnzi_is_utf8(text, size));
      text[at] = (char)0xc3;
      ck_assert(!fnzi_is_utf8(text, size));
      text[at + 1] = (char)0xbf;
      ck_assert_int_eq(fnzi_is_utf8(text, size), at + 1 < size);
    }
}
END_TEST

RUN_SUITE("json", values, integers_stay_integers, floats, faults, faults_have_a_place, depth,
          many_keys, places, long_places_keep_their_end, written_strings_read_back,
          each_byte_at_each_place, utf8_at_each_place)
