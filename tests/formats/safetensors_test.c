/* checks: 7
 * safetensors_test.c - arrays, and the files they come from and go to. */
#include "tests/help/faults.h"

#include <fnz/arrays.h>

#include <stdio.h>

/* A file with this header and `data_size` bytes of data, the n-th of them n. */
static fnz_buffer file_of(fnz_context *ctx, const char *header, size_t data_size) {
  fnz_buffer b = {NULL, 0, 0};
  uint64_t length = strlen(header);
  OK(ctx, fnzi_put(ctx, &b, &length, 8));
  OK(ctx, fnzi_put_text(ctx, &b, header));
  for (size_t i = 0; i < data_size; i++)
    OK(ctx, fnzi_put(ctx, &b, &(char){(char)i}, 1));
  return b;
}

static fnz_context *new_context(void) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  return ctx;
}

static void end(fnz_context *ctx) {
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
}

static void refused(const char *header, size_t data_size, const char *class_name) {
  fnz_context *ctx = new_context();
  fnz_arrays *arrays;
  fnz_buffer b = file_of(ctx, header, data_size);
  fnz_status status = fnz_arrays_read_safetensors(ctx, b.data, b.size, &arrays);
  const fnz_error *e = fnz_last_error(ctx);
  ck_assert_msg(status != FNZ_OK, "accepted: %s", header);
  ck_assert_msg(strcmp(fnz_class_name(e->kind), class_name) == 0, "%s: want %s, got %s: %s", header,
                class_name, fnz_class_name(e->kind), e->message);
  ck_assert_ptr_null(arrays);
  fnz_buffer_free(ctx, &b);
  end(ctx);
}

START_TEST(reading) {
  fnz_context *ctx = new_context();
  fnz_arrays *a;
  fnz_buffer b = file_of(ctx,
                         "{\"__metadata__\":{\"format\":\"pt\"},"
                         "\"b\":{\"dtype\":\"I16\",\"shape\":[2,1],\"data_offsets\":[4,8]},"
                         "\"a\":{\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]},"
                         "\"e\":{\"dtype\":\"BF16\",\"shape\":[3,0],\"data_offsets\":[8,8]}}  ",
                         8);
  OK(ctx, fnz_arrays_read_safetensors(ctx, b.data, b.size, &a));
  ck_assert_uint_eq(fnz_arrays_count(a), 3);
  ck_assert_str_eq(fnz_arrays_at(a, 0)->name, "b");
  ck_assert_ptr_null(fnz_arrays_at(a, 3));
  const fnz_array *x = fnz_arrays_find(a, "b");
  ck_assert_int_eq(x->dtype, FNZ_I16);
  ck_assert_uint_eq(x->rank, 2);
  ck_assert_int_eq(x->sizes[0], 2);
  ck_assert_mem_eq(x->data, "\4\5\6\7", 4);
  ck_assert_uint_eq(fnz_arrays_find(a, "a")->rank, 0);
  ck_assert_uint_eq(fnz_arrays_find(a, "e")->bytes, 0);
  ck_assert_ptr_null(fnz_arrays_find(a, "c"));
  fnz_arrays_destroy(a);
  fnz_buffer_free(ctx, &b);
  end(ctx);
}
END_TEST

#define T(name, dtype, shape, begin, end_)                                                         \
  "\"" name "\":{\"dtype\":\"" dtype "\",\"shape\":" shape ",\"data_offsets\":[" begin "," end_ "]}"

START_TEST(faulty_headers) {
  refused("", 0, "SYNTAX");
  refused(" {}", 0, "SYNTAX");
  refused("{\"a\"", 0, "TRUNCATED");
  refused("{" T("a", "F32", "[2]", "0", "8") "}", 7, "TRUNCATED");
  refused("{" T("a", "F32", "[2]", "0", "8") "}", 9, "BOUNDS");
  refused("{" T("a", "F32", "[2]", "1", "9") "}", 9, "BOUNDS");
  refused("{" T("a", "F32", "[2]", "0", "4") "}", 4, "BOUNDS");
  refused("{" T("a", "F32", "[2]", "8", "0") "}", 8, "BOUNDS");
  refused("{" T("a", "F32", "[2]", "-8", "0") "}", 8, "BOUNDS");
  refused("{" T("a", "F32", "[-2]", "0", "8") "}", 8, "BOUNDS");
  refused("{" T("a", "F32", "[-1,-2]", "0", "8") "}", 8, "BOUNDS");
  refused("{" T("a", "F32", "[1]", "0", "4") "," T("b", "F32", "[1]", "0", "4") "}", 4, "BOUNDS");
  refused("{" T("a", "F32", "[1]", "0", "4") "," T("b", "F32", "[1]", "8", "12") "}", 12, "BOUNDS");
  refused("{" T("a", "F32", "[4294967296,4294967296]", "0", "8") "}", 8, "OVERFLOW");
  refused("{" T("a", "F32", "[4294967296,4294967296,0]", "0", "0") "}", 0, "OVERFLOW");
  refused("{" T("a", "F32", "[0,4294967296,4294967296]", "0", "0") "}", 0, "OVERFLOW");
  refused("{" T("a", "F4", "[2]", "0", "8") "}", 8, "UNSUPPORTED");
  refused("{" T("a", "F32", "2", "0", "8") "}", 8, "TYPE");
  refused("{" T("a", "F32", "[2.0]", "0", "8") "}", 8, "TYPE");
  refused("{" T("a", "F32", "[9223372036854775808]", "0", "8") "}", 8, "OVERFLOW");
  refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2]}}", 8, "TYPE");
  refused("{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0]}}", 8, "TYPE");
  refused("{\"a\":1}", 0, "TYPE");
  refused("{\"__metadata__\":{\"a\":1}}", 0, "TYPE");
  refused("{" T("a", "U8", "[0]", "0", "0") "," T("a", "U8", "[0]", "0", "0") "}", 0, "DUPLICATE");
  refused("{" T("a\\u0000", "U8", "[0]", "0", "0") "}", 0, "ENCODING");
}
END_TEST

START_TEST(rank_limit) {
  char shape[256] = "[1", header[512];
  for (int i = 1; i < 65; i++)
    strcat(shape, ",1");
  strcat(shape, "]");
  snprintf(header, sizeof header, "{\"a\":{\"dtype\":\"U8\",\"shape\":%s,\"data_offsets\":[0,1]}}",
           shape);
  refused(header, 1, "LIMIT");
}
END_TEST

START_TEST(lengths) {
  fnz_context *ctx = new_context();
  fnz_arrays *a;
  fnz_buffer b = file_of(ctx, "{}", 0);
  OK(ctx, fnz_arrays_read_safetensors(ctx, b.data, b.size, &a));
  fnz_arrays_destroy(a);
  FAILS(ctx, "TRUNCATED", fnz_arrays_read_safetensors(ctx, b.data, 7, &a));
  FAILS(ctx, "TRUNCATED", fnz_arrays_read_safetensors(ctx, b.data, 9, &a));
  b.data[8] = '[';
  FAILS(ctx, "SYNTAX", fnz_arrays_read_safetensors(ctx, b.data, b.size, &a));
  b.data[8] = '{';
  b.data[7] = 1;
  FAILS(ctx, "LIMIT", fnz_arrays_read_safetensors(ctx, b.data, b.size, &a));
  fnz_buffer_free(ctx, &b);
  end(ctx);
}
END_TEST

static void *add(fnz_context *ctx, fnz_arrays *a, const char *name, fnz_dtype dtype, uint32_t rank,
                 const int64_t *sizes) {
  void *data;
  OK(ctx, fnz_arrays_add(a, name, dtype, rank, sizes, &data));
  return data;
}

START_TEST(writing) {
  fnz_context *ctx = new_context();
  fnz_arrays *a, *back;
  fnz_buffer b, again;
  OK(ctx, fnz_arrays_create(ctx, &a));
  memcpy(add(ctx, a, "by\"te", FNZ_U8, 1, (int64_t[]){3}), "xyz", 3);
  memcpy(add(ctx, a, "wide", FNZ_F64, 2, (int64_t[]){1, 2}), "0123456789abcdef", 16);
  add(ctx, a, "scalar", FNZ_BOOL, 0, NULL);
  OK(ctx, fnz_arrays_write_safetensors(ctx, a, &b));
  uint64_t length;
  memcpy(&length, b.data, 8);
  ck_assert_uint_eq(length % 8, 0);
  ck_assert_uint_eq(b.size, 8 + length + 20);
  ck_assert_mem_eq(b.data + 8 + length, "0123456789abcdefxyz", 20);
  OK(ctx, fnz_arrays_read_safetensors(ctx, b.data, b.size, &back));
  ck_assert_uint_eq(fnz_arrays_count(back), 3);
  ck_assert_mem_eq(fnz_arrays_find(back, "by\"te")->data, "xyz", 3);
  ck_assert_int_eq(fnz_arrays_find(back, "wide")->sizes[1], 2);
  OK(ctx, fnz_arrays_write_safetensors(ctx, back, &again));
  ck_assert_uint_eq(again.size, b.size);
  ck_assert_mem_eq(again.data, b.data, b.size);
  fnz_buffer_free(ctx, &again);
  fnz_buffer_free(ctx, &b);
  fnz_arrays_destroy(back);
  fnz_arrays_destroy(a);
  end(ctx);
}
END_TEST

START_TEST(adding) {
  fnz_context *ctx = new_context();
  fnz_arrays *a;
  fnz_buffer b;
  void *data;
  OK(ctx, fnz_arrays_create(ctx, &a));
  const fnz_array *first;
  add(ctx, a, "x", FNZ_C128, 1, (int64_t[]){2});
  first = fnz_arrays_at(a, 0);
  for (int i = 0; i < 100; i++) {
    char name[8];
    snprintf(name, sizeof name, "y%d", i);
    add(ctx, a, name, FNZ_F32, 1, (int64_t[]){4});
  }
  ck_assert_ptr_eq(first, fnz_arrays_find(a, "x"));
  ck_assert_uint_eq(first->bytes, 32);
  for (size_t i = 0; i < first->bytes; i++)
    ck_assert_int_eq(((const char *)first->data)[i], 0);
  FAILS(ctx, "DUPLICATE", fnz_arrays_add(a, "x", FNZ_F32, 0, NULL, &data));
  FAILS(ctx, "BOUNDS", fnz_arrays_add(a, "n", FNZ_F32, 1, (int64_t[]){-1}, &data));
  FAILS(ctx, "LIMIT", fnz_arrays_add(a, "n", FNZ_F32, 65, NULL, &data));
  FAILS(ctx, "ENCODING", fnz_arrays_add(a, "\xff", FNZ_F32, 0, NULL, &data));
  FAILS(ctx, "OVERFLOW", fnz_arrays_add(a, "n", FNZ_F32, 2, (int64_t[]){0, INT64_MAX}, &data));
  ck_assert_uint_eq(fnz_arrays_count(a), 101);
  FAILS(ctx, "UNSUPPORTED", fnz_arrays_write_safetensors(ctx, a, &b));
  fnz_buffer_free(ctx, &b);
  fnz_arrays_destroy(a);
  fnz_arrays_destroy(NULL);
  end(ctx);
}
END_TEST

static fnz_status read_and_write(fnz_context *ctx, const void *user) {
  const fnz_buffer *file = user;
  fnz_arrays *arrays;
  fnz_buffer again = {NULL, 0, 0};
  FNZ_TRY(fnz_arrays_read_safetensors(ctx, file->data, file->size, &arrays));
  fnz_status status = fnz_arrays_write_safetensors(ctx, arrays, &again);
  fnz_buffer_free(ctx, &again);
  fnz_arrays_destroy(arrays);
  return status;
}

START_TEST(no_memory_anywhere) {
  fnz_context *ctx = new_context();
  const char *header = "{" T("a", "F32", "[1]", "0", "4") "," T("b", "U8", "[2]", "4", "6") "}";
  fnz_buffer b = file_of(ctx, header, 6);
  ck_assert_uint_gt(each_fault(read_and_write, &b), 5);
  fnz_buffer_free(ctx, &b);
  end(ctx);
}
END_TEST

RUN_SUITE("safetensors", reading, faulty_headers, rank_limit, lengths, writing, adding,
          no_memory_anywhere)
