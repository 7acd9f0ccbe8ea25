/* checks: 13
 * cbor_test.c - the CBOR form: one form for every program, and nothing else is read. */
#include "program/formats/cbor.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>

#include <math.h>

/* The program of the fixture, with data: two tensors that share one storage, one with its own. */
static fnz_program *load(void) {
  fnz_buffer text = {0};
  fnz_program *p;
  fnzi_blob *blob;
  OK(ctx, fnz_file_read(ctx, FNZ_SOURCE_DIR "/fixtures/program/everything.txt", &text));
  OK(ctx, fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &p));
  fnz_buffer_free(ctx, &text);
  const fnz_geometry *g = p->weights.data[0].geometry;
  for (int i = 0; i < 2; i++) {
    OK(ctx, fnzi_blob_create(ctx, 12 + (size_t)i, &blob));
    memset(fnzi_blob_data(blob), 'a' + i, 12);
    OK(ctx, fnzi_weight_add(p, i ? "own" : "first", blob, g));
    if (!i)
      OK(ctx, fnzi_weight_add(p, "second", blob, g));
    fnzi_blob_release(blob);
  }
  return p;
}

static void write_bytes(const fnz_program *p, fnz_buffer *out) {
  *out = (fnz_buffer){0};
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_CBOR, out));
}

static fnz_status read_bytes(const fnz_buffer *bytes, fnz_program **out) {
  return fnz_program_read(ctx, bytes->data, bytes->size, FNZ_FORMAT_CBOR, out);
}

START_TEST(everything_reads_back_the_same) {
  begin();
  fnz_program *p = load(), *again;
  fnz_buffer bytes, bytes_again, text = {0}, text_again = {0};
  write_bytes(p, &bytes);
  OK(ctx, fnz_program_read(ctx, bytes.data, bytes.size, FNZ_FORMAT_AUTO, &again));
  write_bytes(again, &bytes_again);
  ck_assert_uint_eq(bytes.size, bytes_again.size);
  ck_assert_mem_eq(bytes.data, bytes_again.data, bytes.size);
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, &text));
  OK(ctx, fnz_program_write(ctx, again, FNZ_FORMAT_TEXT, &text_again));
  ck_assert_str_eq(text.data, text_again.data);
  fnz_buffer_free(ctx, &bytes);
  fnz_buffer_free(ctx, &bytes_again);
  fnz_buffer_free(ctx, &text);
  fnz_buffer_free(ctx, &text_again);
  fnz_program_destroy(p);
  fnz_program_destroy(again);
  end();
}
END_TEST

START_TEST(shared_storage_stays_shared) {
  begin();
  fnz_program *p = load(), *again;
  fnz_buffer bytes;
  write_bytes(p, &bytes);
  OK(ctx, read_bytes(&bytes, &again));
  const fnzi_weight *first = fnzi_weight_find(again, "first");
  ck_assert_ptr_eq(first->blob, fnzi_weight_find(again, "second")->blob);
  ck_assert_ptr_ne(first->blob, fnzi_weight_find(again, "own")->blob);
  ck_assert_ptr_null(fnzi_weight_find(again, "fc.weight")->blob);
  ck_assert_mem_eq(fnzi_blob_data(first->blob), "aaaaaaaaaaaa", 12);
  ck_assert_uint_eq(fnzi_blob_bytes(fnzi_weight_find(again, "own")->blob), 13);
  fnz_buffer_free(ctx, &bytes);
  fnz_program_destroy(p);
  fnz_program_destroy(again);
  end();
}
END_TEST

/* --- single items ----------------------------------------------------------------------------- */
static const struct {
  double value;
  size_t size;
  unsigned char bytes[9];
} floats[] = {
    {0.0, 3, {0xf9, 0x00, 0x00}},
    {-0.0, 3, {0xf9, 0x80, 0x00}},
    {1.0, 3, {0xf9, 0x3c, 0x00}},
    {1.1, 9, {0xfb, 0x3f, 0xf1, 0x99, 0x99, 0x99, 0x99, 0x99, 0x9a}},
    {1.5, 3, {0xf9, 0x3e, 0x00}},
    {65504.0, 3, {0xf9, 0x7b, 0xff}},
    {65505.0, 5, {0xfa, 0x47, 0x7f, 0xe1, 0x00}},
    {65536.0, 5, {0xfa, 0x47, 0x80, 0x00, 0x00}},
    {100000.0, 5, {0xfa, 0x47, 0xc3, 0x50, 0x00}},
    {131072.0, 5, {0xfa, 0x48, 0x00, 0x00, 0x00}},
    {3.4028234663852886e+38, 5, {0xfa, 0x7f, 0x7f, 0xff, 0xff}},
    {1.0e+300, 9, {0xfb, 0x7e, 0x37, 0xe4, 0x3c, 0x88, 0x00, 0x75, 0x9c}},
    {5.960464477539063e-8, 3, {0xf9, 0x00, 0x01}},
    {0.00006103515625, 3, {0xf9, 0x04, 0x00}},
    {0.000060975551605224609375, 3, {0xf9, 0x03, 0xff}},
    {2.98023223876953125e-8, 5, {0xfa, 0x33, 0x00, 0x00, 0x00}},
    {1.401298464324817e-45, 5, {0xfa, 0x00, 0x00, 0x00, 0x01}},
    {5e-324, 9, {0xfb, 0, 0, 0, 0, 0, 0, 0, 1}},
    {-4.0, 3, {0xf9, 0xc4, 0x00}},
    {INFINITY, 3, {0xf9, 0x7c, 0x00}},
    {-INFINITY, 3, {0xf9, 0xfc, 0x00}},
    {NAN, 3, {0xf9, 0x7e, 0x00}},
};

START_TEST(floats_are_as_short_as_they_can_be) {
  begin();
  for (size_t i = 0; i < sizeof floats / sizeof *floats; i++) {
    fnz_buffer out = {0};
    OK(ctx, fnzi_encode_float((fnzi_encoder){ctx, &out}, floats[i].value));
    ck_assert_uint_eq(out.size, floats[i].size);
    ck_assert_mem_eq(out.data, floats[i].bytes, out.size);
    fnzi_decoder d = {.ctx = ctx, .start = out.data, .at = out.data, .end = out.data + out.size};
    OK(ctx, fnzi_decode_kind(&d, FNZI_CBOR_FLOAT));
    ck_assert_mem_eq(&d.item.f, &floats[i].value, sizeof d.item.f);
    fnz_buffer_free(ctx, &out);
  }
  end();
}
END_TEST

START_TEST(integers_are_as_short_as_they_can_be) {
  static const struct {
    int64_t value;
    size_t size;
  } ints[] = {{0, 1},      {23, 1},     {24, 2},          {255, 2},        {256, 3},
              {65535, 3},  {65536, 5},  {4294967295, 5},  {4294967296, 9}, {INT64_MAX, 9},
              {-1, 1},     {-24, 1},    {-25, 2},         {-256, 2},       {-257, 3},
              {-65536, 3}, {-65537, 5}, {-4294967297, 9}, {INT64_MIN, 9}};
  begin();
  for (size_t i = 0; i < sizeof ints / sizeof *ints; i++) {
    fnz_buffer out = {0};
    int64_t back;
    OK(ctx, fnzi_encode_int((fnzi_encoder){ctx, &out}, ints[i].value));
    ck_assert_uint_eq(out.size, ints[i].size);
    fnzi_decoder d = {.ctx = ctx, .start = out.data, .at = out.data, .end = out.data + out.size};
    OK(ctx, fnzi_decode_int(&d, &back));
    ck_assert_int_eq(back, ints[i].value);
    fnz_buffer_free(ctx, &out);
  }
  end();
}
END_TEST

static const struct {
  const char *class_name;
  size_t size;
  unsigned char bytes[12];
} items[] = {
    {"TRUNCATED", 0, {0}},
    {"TRUNCATED", 9, {0x9b, 0x80, 0, 0, 0, 0, 0, 0, 0}},
    {"TRUNCATED", 9, {0xbb, 0x40, 0, 0, 0, 0, 0, 0, 0}},
    {"TRUNCATED", 2, {0x82, 0x00}},
    {"TRUNCATED", 3, {0x63, 'a', 'b'}},
    {"TRUNCATED", 9, {0x7b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
    {"TRUNCATED", 2, {0x19, 0x01}},
    {"ENCODING", 2, {0x9f, 0xff}},
    {"ENCODING", 3, {0x7f, 0x60, 0xff}},
    {"ENCODING", 1, {0xff}},
    {"ENCODING", 2, {0x18, 0x17}},
    {"ENCODING", 3, {0x19, 0x00, 0xff}},
    {"ENCODING", 2, {0x38, 0x17}},
    {"ENCODING", 2, {0x78, 0x00}},
    {"ENCODING", 2, {0x98, 0x00}},
    {"ENCODING", 5, {0xfa, 0x3f, 0x80, 0, 0}},
    {"ENCODING", 9, {0xfb, 0x3f, 0xf0, 0, 0, 0, 0, 0, 0}},
    {"ENCODING", 3, {0xf9, 0x7e, 0x01}},
    {"ENCODING", 2, {0x61, 0xff}},
    {"ENCODING", 4, {0x63, 0xed, 0xa0, 0x80}},
    {"SYNTAX", 1, {0x1c}},
    {"SYNTAX", 1, {0x1d}},
    {"SYNTAX", 1, {0x1e}},
    {"UNSUPPORTED", 2, {0xc1, 0x00}},
    {"UNSUPPORTED", 4, {0xd8, 0x1c, 0x80, 0x00}},
    {"UNSUPPORTED", 1, {0xe0}},
    {"UNSUPPORTED", 2, {0xf8, 0x20}},
    {"OVERFLOW", 9, {0x1b, 0x80, 0, 0, 0, 0, 0, 0, 0}},
    {"OVERFLOW", 9, {0x3b, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}},
};

START_TEST(items_in_another_form_are_refused) {
  begin();
  for (size_t i = 0; i < sizeof items / sizeof *items; i++) {
    const char *bytes = (const char *)items[i].bytes;
    size_t peak = fnz_context_peak_bytes(ctx);
    int64_t n;
    fnzi_decoder d = {.ctx = ctx, .start = bytes, .at = bytes, .end = bytes + items[i].size};
    FAILS(ctx, items[i].class_name, fnzi_decode_int(&d, &n));
    ck_assert_uint_eq(fnz_context_peak_bytes(ctx), peak);
  }
  end();
}
END_TEST

/* --- whole programs ---------------------------------------------------------------------- */
/* The smallest program, by hand: one graph without anything. */
static const unsigned char smallest[] = {
    0x83, 0x68, 'f',  'n',  'z',  '-',  'c',  'b',  'o',  'r',  0x01, 0xac, 0x00, 0x80, 0x01,
    0x60, 0x02, 0x82, 0x00, 0x00, 0x03, 0x80, 0x04, 0x80, 0x05, 0x80, 0x06, 0x80, 0x07, 0x81,
    0x86, 0x00, 0x00, 0x80, 0x80, 0x80, 0x80, 0x08, 0x80, 0x09, 0x80, 0x0a, 0x80, 0x0b, 0x80};

START_TEST(the_smallest_program) {
  begin();
  fnz_program *p;
  fnz_buffer out = {0};
  OK(ctx, fnz_program_read(ctx, smallest, sizeof smallest, FNZ_FORMAT_AUTO, &p));
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_CBOR, &out));
  ck_assert_uint_eq(out.size, sizeof smallest);
  ck_assert_mem_eq(out.data, smallest, sizeof smallest);
  fnz_buffer_free(ctx, &out);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* One byte of the smallest program replaced, and what that gives. */
static const struct {
  const char *class_name;
  size_t at;
  unsigned char byte;
} changes[] = {
    {"TYPE", 0, 0x84},       /* more than the three parts */
    {"SYNTAX", 2, 'F'},      /* CBOR of something else */
    {"VERSION", 10, 0x02},   /* another version */
    {"TYPE", 11, 0xab},      /* a field is missing */
    {"ENCODING", 12, 0x01},  /* keys out of order */
    {"DUPLICATE", 14, 0x00}, /* the same key twice */
    {"VERSION", 14, 0x17},   /* an unknown key */
    {"TYPE", 15, 0x00},      /* a number for the text */
    {"VERSION", 18, 0x20},   /* a negative version */
    {"REF", 31, 0x01},       /* a string that the table has not */
    {"REF", 32, 0x02},       /* unknown flags */
    {"TRUNCATED", 44, 0x81}, /* a blob that is not there */
};

START_TEST(changed_programs_are_refused) {
  begin();
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    fnz_program *p;
    unsigned char bytes[sizeof smallest];
    memcpy(bytes, smallest, sizeof smallest);
    bytes[changes[i].at] = changes[i].byte;
    FAILS(ctx, changes[i].class_name,
          fnz_program_read(ctx, bytes, sizeof bytes, FNZ_FORMAT_CBOR, &p));
    ck_assert_ptr_null(p);
  }
  end();
}
END_TEST

START_TEST(a_second_item_is_refused) {
  begin();
  fnz_program *p;
  char bytes[sizeof smallest + 1] = {0};
  memcpy(bytes, smallest, sizeof smallest);
  FAILS(ctx, "SYNTAX", fnz_program_read(ctx, bytes, sizeof bytes, FNZ_FORMAT_CBOR, &p));
  end();
}
END_TEST

/* Tables hold what is used, once, in the order of use. */
static void refused_with(const char *class_name, const char *front, size_t front_size,
                         const char *graphs, size_t graphs_size) {
  fnz_buffer bytes = {0};
  fnz_program *p;
  OK(ctx, fnzi_put(ctx, &bytes, smallest, 13));
  OK(ctx, fnzi_put(ctx, &bytes, front, front_size));
  OK(ctx, fnzi_put(ctx, &bytes, smallest + 14, 15));
  OK(ctx, fnzi_put(ctx, &bytes, graphs, graphs_size));
  OK(ctx, fnzi_put(ctx, &bytes, smallest + 37, sizeof smallest - 37));
  if (class_name)
    FAILS(ctx, class_name, read_bytes(&bytes, &p));
  else
    OK(ctx, read_bytes(&bytes, &p));
  fnz_program_destroy(p);
  fnz_buffer_free(ctx, &bytes);
}

START_TEST(tables_are_in_order_of_use) {
  begin();
  static const char one[] = "\x81\x86\x01\x00\x80\x80\x80\x80";
  static const char none[] = "\x81\x86\x00\x00\x80\x80\x80\x80";
  static const char two[] = "\x82\x86\x02\x00\x80\x80\x80\x80\x86\x01\x00\x80\x80\x80\x80";
  refused_with(NULL, "\x81\x61g", 3, one, sizeof one - 1);
  refused_with("ENCODING", "\x81\x61g", 3, none, sizeof none - 1);
  refused_with("DUPLICATE", "\x82\x61g\x61g", 5, none, sizeof none - 1);
  refused_with("DUPLICATE", "\x81\x60", 2, none, sizeof none - 1);
  refused_with("ENCODING", "\x82\x61g\x61h", 5, two, sizeof two - 1);
  refused_with("ENCODING", "\x81\x62g\x00", 4, one, sizeof one - 1);
  end();
}
END_TEST

START_TEST(deep_lists_use_no_stack) {
  begin();
  fnz_buffer bytes = {0};
  fnz_program *p;
  OK(ctx, fnzi_put(ctx, &bytes, smallest, 34));
  OK(ctx, fnzi_put_text(ctx, &bytes, "\x81"));
  for (int i = 0; i < 1000000; i++)
    OK(ctx, fnzi_put(ctx, &bytes, "\x82\x0f", 2));
  FAILS(ctx, "LIMIT", read_bytes(&bytes, &p));
  fnz_buffer_free(ctx, &bytes);
  end();
}
END_TEST

START_TEST(every_prefix_is_truncated) {
  begin();
  fnz_program *p = load(), *again;
  fnz_buffer bytes;
  write_bytes(p, &bytes);
  for (size_t size = 0; size < bytes.size; size++) {
    FAILS(ctx, "TRUNCATED", fnz_program_read(ctx, bytes.data, size, FNZ_FORMAT_CBOR, &again));
    ck_assert_ptr_null(again);
  }
  fnz_buffer_free(ctx, &bytes);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* Whatever is accepted is written back byte for byte: there is one form for each program. */
START_TEST(what_is_accepted_is_written_back) {
  begin();
  fnz_program *p = load(), *again;
  fnz_buffer bytes, out;
  size_t accepted = 0;
  write_bytes(p, &bytes);
  for (size_t i = 0; i < bytes.size * 24; i++) {
    unsigned char *byte = (unsigned char *)bytes.data + i / 24, kept = *byte;
    *byte = (unsigned char)(i % 24 < 8 ? kept ^ 1u << i % 24 : kept + 5 * (i % 24));
    if (read_bytes(&bytes, &again) == FNZ_OK) {
      accepted++;
      write_bytes(again, &out);
      ck_assert_uint_eq(out.size, bytes.size);
      ck_assert_mem_eq(out.data, bytes.data, out.size);
      fnz_buffer_free(ctx, &out);
      fnz_program_destroy(again);
    }
    *byte = kept;
  }
  ck_assert_uint_gt(accepted, 100);
  fnz_buffer_free(ctx, &bytes);
  fnz_program_destroy(p);
  end();
}
END_TEST

static fnz_status read_and_write(fnz_context *c, const void *user) {
  const fnz_buffer *bytes = user;
  fnz_program *p;
  fnz_buffer out = {0};
  FNZ_TRY(fnz_program_read(c, bytes->data, bytes->size, FNZ_FORMAT_CBOR, &p));
  fnz_status status = fnz_program_write(c, p, FNZ_FORMAT_CBOR, &out);
  fnz_buffer_free(c, &out);
  fnz_program_destroy(p);
  return status;
}

START_TEST(running_out_of_memory_is_an_error) {
  begin();
  fnz_program *p = load();
  fnz_buffer bytes;
  write_bytes(p, &bytes);
  ck_assert_uint_gt(each_fault(read_and_write, &bytes), 50);
  fnz_buffer_free(ctx, &bytes);
  fnz_program_destroy(p);
  end();
}
END_TEST

RUN_SUITE("cbor", everything_reads_back_the_same, shared_storage_stays_shared,
          floats_are_as_short_as_they_can_be, integers_are_as_short_as_they_can_be,
          items_in_another_form_are_refused, the_smallest_program, changed_programs_are_refused,
          a_second_item_is_refused, tables_are_in_order_of_use, deep_lists_use_no_stack,
          every_prefix_is_truncated, what_is_accepted_is_written_back,
          running_out_of_memory_is_an_error)
