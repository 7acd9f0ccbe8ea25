/* checks: 8
 * methods_test.c - several programs in one file: weights once, each program as it was, and nothing
 * else is read. */
#include "program/program.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>

#include <stdio.h>

/* A step that writes row `row` of the cache and multiplies with a parameter; `type` of the cache.
 */
#define STEP(type, row, more)                                                                      \
  "fnz 1\nweight \"w\": f32[2]\nweight \"kc\": f32[" type "]\nweight \"c\": f32[2]\n"              \
  "program(\n  %w: f32[2] parameter \"w\",\n"                                                      \
  "  %kc: f32[" type                                                                               \
  "] buffer \"kc\" persistent,\n  %c: f32[2] constant \"c\",\n  %x: f32[2])\n{\n"                  \
  "  %y: f32[2] = mul.Tensor(%x, %w)\n  %z: f32[2] = add.Tensor(%y, %c)\n" more "  %k: f32[" type  \
  "] = select_scatter(%kc, %z, 0, " row ")\n"                                                      \
  "  return %k buffer_mutation \"kc\", %z\n}\n"

static fnz_program *parse(const char *text) {
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &p));
  return p;
}

static void fill(fnz_program *p, const char *name, int first) {
  fnzi_weight *w = (fnzi_weight *)(uintptr_t)fnzi_weight_find(p, name);
  fnzi_blob *blob;
  OK(ctx, fnzi_blob_create(ctx, (size_t)fnz_geometry_numel(w->geometry) * 4, &blob));
  for (int64_t i = 0; i < fnz_geometry_numel(w->geometry); i++)
    ((float *)fnzi_blob_data(blob))[i] = (float)(first + i);
  w->blob = blob;
}

/* `w`, `kc` and `c`: what their elements begin with. */
static fnz_program *step(const char *text, int w, int kc, int c) {
  fnz_program *p = parse(text);
  fill(p, "w", w);
  fill(p, "kc", kc);
  fill(p, "c", c);
  return p;
}

static fnz_methods *pair_of(const fnz_program *a, const fnz_program *b) {
  fnz_methods *set;
  OK(ctx, fnz_methods_create(ctx, (const fnz_method[]){{"prefill", a}, {"decode", b}}, 2, &set));
  return set;
}

static void destroy(fnz_program *a, fnz_program *b) {
  fnz_program_destroy(a);
  fnz_program_destroy(b);
}

static const float *elements(const fnz_program *p, const char *name) {
  return fnz_program_weight(p, name).data;
}

START_TEST(weights_of_one_name_are_one) {
  begin();
  fnz_program *a = step(STEP("4,2", "0", ""), 1, 10, 5), *b = step(STEP("4,2", "1", ""), 1, 20, 6);
  fnz_methods *set = pair_of(a, b);
  const fnz_program *prefill = fnz_methods_find(set, "prefill"),
                    *decode = fnz_methods_find(set, "decode");
  ck_assert_ptr_eq(elements(prefill, "w"), elements(decode, "w"));
  ck_assert_ptr_eq(elements(prefill, "kc"), elements(decode, "kc"));
  ck_assert_ptr_ne(elements(prefill, "c"), elements(decode, "c"));
  ck_assert(elements(decode, "kc")[0] == 10 && elements(decode, "c")[0] == 6);
  ck_assert(elements(b, "kc")[0] == 20); /* the original stays as it was */
  ck_assert_uint_eq(fnz_methods_count_weights(set), 4);
  const fnz_methods_weight kc = fnz_methods_weight_at(set, 1), c = fnz_methods_weight_at(set, 3);
  ck_assert_str_eq(kc.name, "kc");
  ck_assert(kc.is_state && kc.users == 2 && kc.bytes == 32);
  ck_assert(!c.is_state && c.users == 1);
  ck_assert_ptr_null(fnz_methods_weight_at(set, 4).name);
  ck_assert_ptr_null(fnz_methods_at(set, 2).name);
  fnz_methods_destroy(set);
  destroy(a, b);
  end();
}
END_TEST

START_TEST(a_file_has_each_once_and_reads_back_the_same) {
  begin();
  fnz_program *a = step(STEP("4,2", "0", ""), 1, 10, 5), *b = step(STEP("4,2", "1", ""), 1, 20, 5);
  fnz_methods *set = pair_of(a, b), *again;
  fnz_buffer bytes = {0}, more = {0}, text = {0}, text_again = {0};
  fnz_program *decode, *none;
  OK(ctx, fnz_methods_write(ctx, set, &bytes));
  OK(ctx, fnz_methods_read(ctx, bytes.data, bytes.size, FNZ_FORMAT_AUTO, &again));
  OK(ctx, fnz_methods_write(ctx, again, &more));
  ck_assert_uint_eq(bytes.size, more.size);
  ck_assert_mem_eq(bytes.data, more.data, bytes.size);
  ck_assert_uint_eq(fnz_methods_count_weights(again), 3);
  OK(ctx, fnz_methods_take(ctx, again, "decode", &decode));
  ck_assert_ptr_null(fnz_methods_find(again, "decode"));
  FAILS(ctx, "ARGUMENT", fnz_methods_take(ctx, again, "decode", &none));
  fnz_methods_destroy(again);
  OK(ctx, fnz_program_write(ctx, b, FNZ_FORMAT_TEXT, &text));
  OK(ctx, fnz_program_write(ctx, decode, FNZ_FORMAT_TEXT, &text_again));
  ck_assert_str_eq(text.data, text_again.data);
  fnz_buffer_free(ctx, &more);
  OK(ctx, fnz_methods_take(ctx, set, "prefill", &none));
  FAILS(ctx, "ARGUMENT", fnz_methods_write(ctx, set, &more));
  fnz_program_destroy(none);
  fnz_buffer_free(ctx, &bytes);
  fnz_buffer_free(ctx, &more);
  fnz_buffer_free(ctx, &text);
  fnz_buffer_free(ctx, &text_again);
  fnz_program_destroy(decode);
  fnz_methods_destroy(set);
  destroy(a, b);
  end();
}
END_TEST

static void differ(fnz_program *a, fnz_program *b, const char *why) {
  fnz_methods *set;
  const fnz_method methods[] = {{"prefill", a}, {"decode", b}};
  FAILS(ctx, "DIFFERENT", fnz_methods_create(ctx, methods, 2, &set));
  ck_assert_ptr_null(set);
  ck_assert_msg(strstr(fnz_last_error(ctx)->message, why) != NULL, "%s",
                fnz_last_error(ctx)->message);
  destroy(a, b);
}

/* Another weight of the program lies in the memory of the cache. */
static fnz_program *shared(fnz_program *p) {
  fnzi_weight *w = (fnzi_weight *)(uintptr_t)fnzi_weight_find(p, "w");
  fnzi_blob_release(w->blob);
  w->blob = fnzi_blob_retain(fnzi_weight_find(p, "kc")->blob);
  return p;
}

START_TEST(weights_that_are_not_the_same_are_refused) {
  begin();
  const char *text = STEP("4,2", "0", "");
  differ(step(text, 1, 1, 1), step(text, 2, 1, 1), "other elements, although neither writes it");
  differ(step(text, 1, 1, 1), step(STEP("5,2", "0", ""), 1, 1, 1), "f32[4,2] and f32[5,2]");
  differ(step(text, 1, 1, 1), parse(text), "elements in only one");
  differ(step(text, 1, 1, 1), shared(step(text, 1, 1, 1)), "shares memory");
  differ(shared(step(text, 1, 1, 1)), step(text, 1, 1, 1), "shares memory");
  end();
}
END_TEST

START_TEST(names_are_checked) {
  begin();
  fnz_program *a = parse(STEP("4,2", "0", ""));
  fnz_methods *set;
  char longer[300];
  memset(longer, 'x', sizeof longer - 1);
  longer[sizeof longer - 1] = 0;
  const char *bad[] = {"", "a\nb", longer, "\xff"};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
    FAILS(ctx, "ARGUMENT", fnz_methods_create(ctx, &(fnz_method){bad[i], a}, 1, &set));
  FAILS(ctx, "ARGUMENT",
        fnz_methods_create(ctx, (const fnz_method[]){{"f", a}, {"f", a}}, 2, &set));
  FAILS(ctx, "ARGUMENT", fnz_methods_create(ctx, NULL, 0, &set));
  fnz_program_destroy(a);
  end();
}
END_TEST

START_TEST(one_program_is_a_set_and_a_set_is_no_program) {
  begin();
  fnz_program *a = parse(STEP("4,2", "0", "")), *p;
  fnz_methods *set, *one;
  fnz_buffer bytes = {0};
  const char *text = STEP("4,2", "0", "");
  OK(ctx, fnz_methods_read(ctx, text, strlen(text), FNZ_FORMAT_AUTO, &one));
  ck_assert_uint_eq(fnz_methods_count(one), 1);
  ck_assert_str_eq(fnz_methods_at(one, 0).name, "main");
  OK(ctx, fnz_methods_take(ctx, one, NULL, &p));
  fnz_program_destroy(p);
  fnz_methods_destroy(one);
  set = pair_of(a, a);
  OK(ctx, fnz_methods_write(ctx, set, &bytes));
  FAILS(ctx, "ARGUMENT", fnz_program_read(ctx, bytes.data, bytes.size, FNZ_FORMAT_AUTO, &p));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "2 methods: prefill, decode"));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "fnz_methods_load()"));
  FAILS(ctx, "ARGUMENT", fnz_methods_take(ctx, set, NULL, &p));
  FAILS(ctx, "REF", fnz_methods_take(ctx, set, "main", &p));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "prefill, decode"));
  fnz_buffer_free(ctx, &bytes);
  fnz_methods_destroy(set);
  fnz_program_destroy(a);
  end();
}
END_TEST

/* --- hostile files ---------------------------------------------------------------------------- */
static fnz_buffer written(void) {
  fnz_program *a = step(STEP("4,2", "0", ""), 1, 10, 5), *b = step(STEP("4,2", "1", ""), 1, 20, 6);
  fnz_methods *set = pair_of(a, b);
  fnz_buffer bytes = {0};
  OK(ctx, fnz_methods_write(ctx, set, &bytes));
  fnz_methods_destroy(set);
  destroy(a, b);
  return bytes;
}

START_TEST(every_end_and_every_byte_is_checked) {
  begin();
  fnz_buffer bytes = written();
  fnz_methods *set;
  size_t read = 0;
  for (size_t size = 0; size < bytes.size; size++) {
    ck_assert_int_eq(fnz_methods_read(ctx, bytes.data, size, FNZ_FORMAT_CBOR, &set), FNZ_BAD_INPUT);
    ck_assert_ptr_null(set);
  }
  /* Whatever is read is what would be written. */
  for (size_t i = 0; i < bytes.size; i++) {
    char was = bytes.data[i];
    for (int bit = 0; bit < 8; bit++) {
      fnz_buffer again = {0};
      bytes.data[i] = (char)(was ^ (1 << bit));
      if (fnz_methods_read(ctx, bytes.data, bytes.size, FNZ_FORMAT_CBOR, &set) != FNZ_OK)
        continue;
      read++;
      OK(ctx, fnz_methods_write(ctx, set, &again));
      ck_assert_uint_eq(again.size, bytes.size);
      ck_assert_mem_eq(again.data, bytes.data, bytes.size);
      fnz_buffer_free(ctx, &again);
      fnz_methods_destroy(set);
    }
    bytes.data[i] = was;
  }
  ck_assert_uint_gt(read, 0);
  fnz_buffer_free(ctx, &bytes);
  end();
}
END_TEST

static void refuse(const char *class, const char *bytes, size_t size) {
  fnz_methods *set;
  FAILS(ctx, class, fnz_methods_read(ctx, bytes, size, FNZ_FORMAT_CBOR, &set));
  fnz_program *p;
  ck_assert_int_ne(fnz_program_read(ctx, bytes, size, FNZ_FORMAT_CBOR, &p), FNZ_OK);
}

#define HEAD                                                                                       \
  "\x83\x6b"                                                                                       \
  "fnz-methods"
/* Bytes behind, which no count goes beyond. */
#define REST                 "\xf6\xf6\xf6\xf6\xf6\xf6"
#define REFUSE(class, bytes) refuse(class, HEAD bytes REST, sizeof HEAD bytes REST - 1)

START_TEST(heads_of_files_are_checked) {
  begin();
  REFUSE("VERSION", "\x02\xa3\x00\x81\x61"
                    "a");
  REFUSE("TYPE", "\x01\xa2\x00\x81\x61"
                 "a");
  REFUSE("TYPE", "\x01\xa3\x00\x80");
  REFUSE("ENCODING", "\x01\xa3\x01\x81\x61"
                     "a");
  REFUSE("VERSION", "\x01\xa3\x07\x81\x61"
                    "a");
  REFUSE("DUPLICATE", "\x01\xa3\x00\x82\x61"
                      "a\x61"
                      "a");
  REFUSE("ENCODING", "\x01\xa3\x00\x81\x60\x01");
  REFUSE("ENCODING", "\x01\xa3\x00\x81\x61\x07\x01");
  REFUSE("TRUNCATED", "\x01\xa3\x00\x9b\x7f\xff\xff\xff\xff\xff\xff\xff");
  end();
}
END_TEST

/* Reads a set, makes another one of it, and writes that. */
static fnz_status read_and_write(fnz_context *c, const void *user) {
  const fnz_buffer *bytes = user;
  fnz_methods *set, *other;
  fnz_buffer out = {0};
  fnz_status status = fnz_methods_read(c, bytes->data, bytes->size, FNZ_FORMAT_CBOR, &set);
  if (status != FNZ_OK)
    return status;
  const fnz_method methods[] = {fnz_methods_at(set, 1), fnz_methods_at(set, 0)};
  status = fnz_methods_create(c, methods, 2, &other);
  if (status == FNZ_OK)
    status = fnz_methods_write(c, other, &out);
  fnz_buffer_free(c, &out);
  fnz_methods_destroy(other);
  fnz_methods_destroy(set);
  return status;
}

START_TEST(nothing_is_lost_without_memory) {
  begin();
  fnz_buffer bytes = written();
  ck_assert_uint_gt(each_fault(read_and_write, &bytes), 100);
  fnz_buffer_free(ctx, &bytes);
  end();
}
END_TEST

RUN_SUITE("methods", weights_of_one_name_are_one, a_file_has_each_once_and_reads_back_the_same,
          weights_that_are_not_the_same_are_refused, names_are_checked,
          one_program_is_a_set_and_a_set_is_no_program, every_end_and_every_byte_is_checked,
          heads_of_files_are_checked, nothing_is_lost_without_memory)
