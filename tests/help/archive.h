/* archive.h - zip archives taken apart, changed and put together again, for the tests of readers.
 */
#ifndef FNZ_TESTS_HELP_ARCHIVE_H
#define FNZ_TESTS_HELP_ARCHIVE_H

#include "tests/help/test.h"

#include <fnz/formats.h>

#include <stdio.h>
#include <zip.h>

typedef struct record {
  char name[1200];
  char *bytes;
  size_t size;
  int method; /* ZIP_CM_STORE or ZIP_CM_DEFLATE */
} record;

typedef struct archive {
  record records[40];
  size_t count;
} archive;

typedef struct bytes {
  char *data;
  size_t size;
} bytes;

static inline bytes copy_bytes(const void *data, size_t size) {
  bytes b = {malloc(size + 1), size};
  ck_assert_ptr_nonnull(b.data);
  if (size)
    memcpy(b.data, data, size);
  b.data[size] = 0;
  return b;
}

/* For each_fault(): the program of a file, written as .pt2. */
static inline fnz_status rewrite(fnz_context *own, const void *user) {
  const bytes *file = user;
  fnz_program *p = NULL;
  fnz_buffer out = {0};
  fnz_status status = fnz_program_read(own, file->data, file->size, FNZ_FORMAT_AUTO, &p);
  if (status == FNZ_OK)
    status = fnz_program_write(own, p, FNZ_FORMAT_PT2, &out);
  fnz_buffer_free(own, &out);
  fnz_program_destroy(p);
  return status;
}

static inline bytes load_fixture(const char *name) {
  char path[512];
  fnz_context *ctx;
  fnz_buffer b;
  snprintf(path, sizeof path, "%s/fixtures/pt2/%s", FNZ_SOURCE_DIR, name);
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnz_file_read(ctx, path, &b));
  bytes copy = copy_bytes(b.data, b.size);
  fnz_buffer_free(ctx, &b);
  fnz_context_destroy(ctx);
  return copy;
}

static inline void add_record(archive *a, const char *name, const void *data, size_t size) {
  record *r = &a->records[a->count++];
  snprintf(r->name, sizeof r->name, "%s", name);
  r->bytes = copy_bytes(data, size).data;
  r->size = size;
  r->method = ZIP_CM_STORE;
}

static inline void unpack(bytes file, archive *out) {
  zip_error_t error;
  zip_t *z = zip_open_from_source(zip_source_buffer_create(file.data, file.size, 0, &error),
                                  ZIP_RDONLY, &error);
  ck_assert_ptr_nonnull(z);
  *out = (archive){.count = 0};
  for (zip_int64_t i = 0; i < zip_get_num_entries(z, 0); i++) {
    zip_stat_t st;
    ck_assert_int_eq(zip_stat_index(z, (zip_uint64_t)i, 0, &st), 0);
    char *data = malloc(st.size + 1);
    zip_file_t *f = zip_fopen_index(z, (zip_uint64_t)i, 0);
    ck_assert_int_eq(zip_fread(f, data, st.size), (zip_int64_t)st.size);
    zip_fclose(f);
    add_record(out, st.name, data, st.size);
    free(data);
  }
  zip_discard(z);
}

static inline bytes pack(const archive *a) {
  zip_error_t error;
  zip_stat_t st;
  zip_source_t *source = zip_source_buffer_create(NULL, 0, 0, &error);
  zip_source_keep(source);
  zip_t *z = zip_open_from_source(source, ZIP_TRUNCATE, &error);
  ck_assert_ptr_nonnull(z);
  for (size_t i = 0; i < a->count; i++) {
    const record *r = &a->records[i];
    zip_source_t *data = zip_source_buffer(z, r->bytes, r->size, 0);
    zip_int64_t index = zip_file_add(z, r->name, data, ZIP_FL_ENC_UTF_8);
    ck_assert_int_ge(index, 0);
    zip_set_file_compression(z, (zip_uint64_t)index, r->method, 0);
  }
  ck_assert_int_eq(zip_close(z), 0);
  ck_assert_int_eq(zip_source_stat(source, &st), 0);
  bytes out = {malloc(st.size), st.size};
  ck_assert_int_eq(zip_source_open(source), 0);
  ck_assert_int_eq(zip_source_read(source, out.data, out.size), (zip_int64_t)out.size);
  zip_source_close(source);
  zip_source_free(source);
  return out;
}

static inline void free_archive(archive *a) {
  for (size_t i = 0; i < a->count; i++)
    free(a->records[i].bytes);
  a->count = 0;
}

/* The record whose name ends like this. */
static inline record *find_record(archive *a, const char *suffix) {
  for (size_t i = 0; i < a->count; i++) {
    size_t size = strlen(a->records[i].name), tail = strlen(suffix);
    if (size >= tail && strcmp(a->records[i].name + size - tail, suffix) == 0)
      return &a->records[i];
  }
  ck_abort_msg("no record %s", suffix);
  return NULL;
}

static inline void set_record(record *r, const char *text) {
  free(r->bytes);
  r->bytes = copy_bytes(text, strlen(text)).data;
  r->size = strlen(text);
}

static inline void drop_record(archive *a, record *r) {
  free(r->bytes);
  *r = a->records[--a->count];
}

/* `text` with the first `from` replaced; it must be there. */
static inline char *replaced(const char *text, const char *from, const char *to) {
  const char *at = strstr(text, from);
  if (!at)
    ck_abort_msg("nothing to replace: %s", from);
  size_t before = (size_t)(at - text), size = strlen(text) + strlen(to) + 1;
  char *out = malloc(size);
  snprintf(out, size, "%.*s%s%s", (int)before, text, to, at + strlen(from));
  return out;
}

static inline void edit_record(record *r, const char *from, const char *to) {
  char *text = replaced(r->bytes, from, to);
  set_record(r, text);
  free(text);
}

/* --- finding our way in the bytes ------------------------------------------------------------- */
static inline size_t find_signature(bytes file, uint32_t signature, size_t nth) {
  for (size_t at = 0; at + 4 <= file.size; at++) {
    uint32_t there;
    memcpy(&there, file.data + at, 4);
    if (there == signature && nth-- == 0)
      return at;
  }
  ck_abort_msg("no signature %x", signature);
  return 0;
}

/* From the back: stored records may contain archives themselves. */
static inline size_t end_of(bytes file) {
  size_t at = file.size - 22;
  ck_assert_mem_eq(file.data + at, "PK\5\6", 4);
  return at;
}

static inline uint32_t get32(bytes file, size_t at) {
  uint32_t value;
  memcpy(&value, file.data + at, 4);
  return value;
}

static inline size_t directory_of(bytes file) {
  return get32(file, end_of(file) + 16);
}

/* The n-th entry of the directory. */
static inline size_t entry_of(bytes file, size_t n) {
  size_t at = directory_of(file);
  while (n--) {
    uint16_t lengths[3];
    memcpy(lengths, file.data + at + 28, sizeof lengths);
    at += 46u + lengths[0] + lengths[1] + lengths[2];
  }
  return at;
}

static inline void put(bytes file, size_t at, uint64_t value, size_t size) {
  ck_assert_uint_le(at + size, file.size);
  memcpy(file.data + at, &value, size);
}

/* Everywhere in the file; both have the same length. */
static inline void rename_everywhere(bytes file, const char *from, const char *to, size_t size) {
  size_t found = 0;
  for (size_t at = 0; at + size <= file.size; at++)
    if (memcmp(file.data + at, from, size) == 0) {
      memcpy(file.data + at, to, size);
      found++;
    }
  ck_assert_uint_ge(found, 2);
}

/* The end record (e), zip64 end record (z), zip64 locator (l), entry 1 of the directory (c), or its
 * local header (h). */
static inline size_t place_in(bytes file, char place) {
  if (place == 'e')
    return end_of(file);
  if (place == 'h')
    return find_signature(file, 0x04034b50u, 1);
  if (place == 'c')
    return entry_of(file, 1);
  return place == 'l' ? end_of(file) - 20 : end_of(file) - 76;
}

#endif
