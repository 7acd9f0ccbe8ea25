/* checks: 7
 * zip_test.c - archives that are damaged or hostile, and the class each of them gives. */
#include "program/formats/zip.h"
#include "tests/help/archive.h"

/* --- outcomes ---------------------------------------------------------------------------- */
/* Opens, then reads every entry; the class of what went wrong. */
static const char *outcome(bytes file) {
  fnz_context *ctx;
  fnzi_zip zip;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_status status = fnzi_zip_open(ctx, file.data, file.size, &zip);
  for (size_t i = 0; status == FNZ_OK && i < zip.count; i++) {
    char *out = malloc(zip.entries[i].size + 1);
    status = fnzi_zip_read(&zip, &zip.entries[i], out);
    free(out);
  }
  fnzi_zip_close(&zip);
  const char *name = fnz_class_name(fnz_last_error(ctx)->kind);
  ck_assert_int_eq(status == FNZ_OK, fnz_last_error(ctx)->kind == FNZ_CLASS_NONE);
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
  free(file.data);
  return name;
}

#define GIVES(class_name, file) ck_assert_str_eq(outcome(file), class_name)

static bytes good(void) {
  return load_fixture("batchnorm_train.pt2");
}

START_TEST(a_good_archive) {
  fnz_context *ctx;
  fnzi_zip zip;
  char text[3];
  bytes file = good();
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  OK(ctx, fnzi_zip_open(ctx, file.data, file.size, &zip));
  ck_assert_uint_eq(zip.count, 17);
  const fnzi_zip_entry *e = fnzi_zip_find(&zip, "program/archive_format");
  ck_assert_uint_eq(e->size, 3);
  OK(ctx, fnzi_zip_read(&zip, e, text));
  ck_assert_mem_eq(text, "pt2", 3);
  ck_assert_ptr_null(fnzi_zip_find(&zip, "archive_format"));
  fnzi_zip_close(&zip);
  fnz_context_destroy(ctx);
  GIVES("NONE", file);
}
END_TEST

START_TEST(too_short) {
  GIVES("TRUNCATED", copy_bytes("", 0));
  GIVES("TRUNCATED", copy_bytes("PK\3", 3));
  GIVES("ARCHIVE", copy_bytes("PK\3\4 and no more than these bytes", 34));
}
END_TEST

START_TEST(ends) {
  bytes file = good();
  GIVES("ARCHIVE", copy_bytes(file.data, file.size - 1)); /* no end record */
  bytes longer = copy_bytes(file.data, file.size);
  longer.data = realloc(longer.data, file.size + 22);
  longer.size++;
  longer.data[file.size] = 'x'; /* bytes after it */
  GIVES("ARCHIVE", copy_bytes(longer.data, longer.size));
  longer.size = file.size + 22; /* a second one, as the comment of the first */
  memcpy(longer.data + file.size, file.data + file.size - 22, 22);
  put(longer, file.size - 2, 22, 2);
  GIVES("ARCHIVE", longer);
  free(file.data);
}
END_TEST

/* One number of the end records or of an entry is changed. */
typedef struct patch {
  const char *class_name;
  char
      place; /* e: end record, z: zip64 end record, l: zip64 locator, c: entry 1 of the directory */
  size_t offset, size;
  uint64_t value;
} patch;

static const patch patches[] = {
    {"UNSUPPORTED", 'e', 4, 2, 1},          /* number of this disk */
    {"UNSUPPORTED", 'e', 6, 2, 1},          /* disk of the directory */
    {"UNSUPPORTED", 'z', 16, 4, 1},         /* the same in zip64 */
    {"ARCHIVE", 'z', 48, 8, 1u << 30},      /* directory beyond the end */
    {"ARCHIVE", 'z', 48, 8, UINT64_MAX},    /* and further */
    {"ARCHIVE", 'z', 40, 8, UINT64_MAX},    /* endless directory */
    {"ARCHIVE", 'z', 40, 8, 60},            /* too short for its entries */
    {"ARCHIVE", 'z', 32, 8, 1ull << 32},    /* more entries than it holds */
    {"ARCHIVE", 'z', 32, 8, 18},            /* one more */
    {"ARCHIVE", 'z', 32, 8, 16},            /* one less */
    {"ARCHIVE", 'l', 8, 8, UINT64_MAX - 8}, /* zip64 end record nowhere */
    {"UNSUPPORTED", 'c', 8, 2, 1},          /* encrypted */
    {"UNSUPPORTED", 'c', 10, 2, 12},        /* bzip2 */
    {"ARCHIVE", 'c', 10, 2, 8},             /* stored, but said to be deflated */
    {"ARCHIVE", 'c', 16, 4, 1},             /* CRC */
    {"ARCHIVE", 'c', 20, 4, 8},             /* packed size alone */
    {"ARCHIVE", 'c', 20, 4, 1u << 31},      /* beyond the end */
    {"ARCHIVE", 'c', 24, 4, 8},             /* size alone */
    {"ARCHIVE", 'c', 42, 4, 0},             /* on top of entry 0 */
    {"ARCHIVE", 'c', 42, 4, 1u << 31},      /* beyond the end */
    {"ARCHIVE", 'c', 28, 2, 60000},         /* a name beyond the directory */
};

START_TEST(patched_numbers) {
  for (size_t i = 0; i < sizeof patches / sizeof *patches; i++) {
    const patch *p = &patches[i];
    bytes file = good();
    put(file, place_in(file, p->place) + p->offset, p->value, p->size);
    const char *got = outcome(file);
    ck_assert_msg(strcmp(got, p->class_name) == 0, "patch %zu: want %s, got %s", i, p->class_name,
                  got);
  }
}
END_TEST

START_TEST(local_headers) {
  bytes file = good();
  size_t second = find_signature(file, 0x04034b50u, 1);
  bytes name = copy_bytes(file.data, file.size), data = copy_bytes(file.data, file.size);
  name.data[second + 30]++;
  GIVES("ARCHIVE", name);
  data.data[64]++; /* the first byte of the first record */
  GIVES("ARCHIVE", data);
  put(file, 0, 0, 4); /* no entry where the directory says */
  GIVES("ARCHIVE", file);
}
END_TEST

START_TEST(names) {
  static const struct {
    const char *class_name, *to;
  } rows[] = {
      {"DUPLICATE", "program/data/weights/weight_1"},
      {"ARCHIVE", "program/data/../../../weight_0"},
      {"ARCHIVE", "/rogram/data/weights/weight_0"},
      {"ARCHIVE", "program/data/weights\\weight_0"},
      {"ENCODING", "program/data/weights/weigh\0_0"},
      {"ENCODING", "program/data/weights/weight_\xff"},
      {"ARCHIVE", "../gram/data/weights/weight_0"},
      {"NONE", "program/data/weights/..ight_0"},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    bytes file = good();
    rename_everywhere(file, "program/data/weights/weight_0", rows[i].to, 29);
    const char *got = outcome(file);
    ck_assert_msg(strcmp(got, rows[i].class_name) == 0, "name %zu: want %s, got %s", i,
                  rows[i].class_name, got);
  }
}
END_TEST

START_TEST(bomb) {
  archive a = {.count = 0};
  size_t size = (size_t)64 << 20;
  char *zeros = calloc(size, 1);
  add_record(&a, "zeros", zeros, size);
  a.records[0].method = ZIP_CM_DEFLATE;
  GIVES("LIMIT", pack(&a));
  a.records[0].size = 1 << 20;
  GIVES("NONE", pack(&a));
  free_archive(&a);
  free(zeros);
}
END_TEST

RUN_SUITE("zip", a_good_archive, too_short, ends, patched_numbers, local_headers, names, bomb)
