/* checks: 6
 * mutate_test.c - changes of programs for fuzzing (fuzz/mutate.h): results are well-formed, every
 * kind of change is made, and the intended code is reached. libzip and libcbor decide what is
 * well-formed. FNZ_PROGRAMS says how many mutants are tried as a fuzzer would. */
#include "program/formats/json.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/mutate.h"
#include "tests/help/test.h"

#include <cbor.h>
#include <glob.h>
#include <zip.h>

enum { MOST_FILES = 200, ROOM = 32768, PER_FILE = 60 };

typedef struct file {
  char path[512];
  uint8_t *data;
  size_t size;
} file;

static file files[MOST_FILES];
static size_t nfiles;
static uint64_t byte_state = 1;

/* --- what a fuzzer has ------------------------------------------------------------------------ */
static void load(const char *path) {
  FILE *f = fopen(path, "rb");
  file *out = &files[nfiles];
  ck_assert_msg(f != NULL && nfiles < MOST_FILES, "%s", path);
  snprintf(out->path, sizeof out->path, "%s", path);
  out->data = realloc(out->data, ROOM); /* that of the seeds before */
  ck_assert_ptr_nonnull(out->data);
  out->size = fread(out->data, 1, ROOM, f);
  nfiles += out->size > 0 && out->size < ROOM;
  fclose(f);
}

/* The seeds of a target whose names begin like this; larger ones than a mutant can be are not. */
static void load_seeds(const char *target, const char *pattern) {
  char path[512];
  glob_t found;
  snprintf(path, sizeof path, "%s/fixtures/fuzz/%s/%s", FNZ_SOURCE_DIR, target, pattern);
  ck_assert_int_eq(glob(path, 0, NULL, &found), 0);
  nfiles = 0;
  for (size_t i = 0; i < found.gl_pathc; i++)
    load(found.gl_pathv[i]);
  globfree(&found);
  ck_assert_uint_ge(nfiles, 2);
}

static uint32_t byte_below(uint32_t n) {
  byte_state = byte_state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)((byte_state >> 33) % n);
}

static size_t change_byte(uint8_t *bytes, size_t size, size_t most) {
  if (size < most && byte_below(2))
    bytes[size++] = 0;
  if (size)
    bytes[byte_below((uint32_t)size)] = (uint8_t)byte_below(256);
  return size;
}

static mutator *start(void) {
  mutator *m = calloc(1, sizeof *m);
  ck_assert_ptr_nonnull(m);
  m->change_bytes = change_byte;
  byte_state = 1;
  return m;
}

/* Mutant n of all files, `out` has ROOM bytes. */
static size_t make(mutator *m, mutate_format format, unsigned n, uint8_t *out) {
  const file *from = &files[n % nfiles], *second = &files[n / nfiles * 7 % nfiles];
  if (n % 2) {
    size_t size =
        mutate_cross(m, format, from->data, from->size, second->data, second->size, out, ROOM, n);
    if (size)
      return size;
  }
  memcpy(out, from->data, from->size);
  return mutate(m, format, out, from->size, ROOM, n);
}

/* --- what is well-formed ---------------------------------------------------------------------- */
static bool is_json(const char *bytes, size_t size) {
  fnz_context *ctx;
  fnzi_arena arena;
  fnzi_json_doc doc;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnzi_arena_init(&arena, ctx);
  fnz_status status = fnzi_json_parse(&arena, "model.json", bytes, size, &doc);
  fnz_class kind = fnz_last_error(ctx)->kind;
  fnzi_arena_free(&arena);
  fnz_context_destroy(ctx);
  return status == FNZ_OK ||
         (kind != FNZ_CLASS_SYNTAX && kind != FNZ_CLASS_TRUNCATED && kind != FNZ_CLASS_ENCODING);
}

static bool is_cbor(const uint8_t *bytes, size_t size) {
  struct cbor_load_result result;
  cbor_item_t *item = cbor_load(bytes, size, &result);
  bool is_whole = item != NULL && result.read == size;
  if (item)
    cbor_decref(&item);
  return is_whole;
}

/* An entry has the length and checksum of the directory, and JSON is JSON if it was not cut or
 * exchanged as a record. */
static bool is_entry(zip_t *z, zip_uint64_t i, bool has_json) {
  static char data[ROOM + 1];
  zip_stat_t st;
  if (zip_stat_index(z, i, 0, &st) != 0 || st.size > ROOM)
    return false;
  zip_file_t *f = zip_fopen_index(z, i, 0);
  if (!f)
    return false;
  bool is_right = zip_fread(f, data, ROOM + 1) == (zip_int64_t)st.size;
  is_right = zip_fclose(f) == 0 && is_right;
  size_t size = strlen(st.name);
  bool is_model = size > 5 && strcmp(st.name + size - 5, ".json") == 0;
  return is_right && (!has_json || !is_model || is_json(data, st.size));
}

static bool is_archive(const uint8_t *bytes, size_t size, bool has_json) {
  zip_error_t error;
  zip_source_t *source = zip_source_buffer_create(bytes, size, 0, &error);
  zip_t *z = zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
  if (!z) {
    zip_source_free(source);
    return false;
  }
  bool is_right = true;
  for (zip_int64_t i = 0; i < zip_get_num_entries(z, 0); i++)
    is_right = is_right && is_entry(z, (zip_uint64_t)i, has_json);
  zip_discard(z);
  return is_right;
}

static bool is_well_formed(const mutator *m, mutate_format format, const uint8_t *bytes,
                           size_t size) {
  if (format == MUTATE_PT2)
    return is_archive(bytes, size, !strstr(m->last, "record"));
  return format == MUTATE_CBOR ? is_cbor(bytes, size) : is_json((const char *)bytes, size);
}

/* --- tests ------------------------------------------------------------------------------------ */
START_TEST(what_is_not_changed_is_written_again) {
  static tree t;
  static char out[ROOM], again[ROOM];
  load_seeds("cbor", "[a-s]*");
  for (size_t i = 0; i < nfiles; i++) {
    const char *data = (const char *)files[i].data;
    if (!tree_read_cbor(&t, data, files[i].size))
      continue; /* a kept file that is no CBOR */
    ck_assert_uint_eq(tree_write_cbor(&t, out, ROOM), files[i].size);
    ck_assert_mem_eq(out, data, files[i].size);
  }
  load_seeds("json", "*");
  for (size_t i = 0; i < nfiles; i++) {
    ck_assert_msg(tree_read_json(&t, (const char *)files[i].data, files[i].size), "%s",
                  files[i].path);
    size_t size = tree_write_json(&t, out, ROOM);
    ck_assert_uint_gt(size, 0);
    ck_assert_uint_le(size, files[i].size);
    ck_assert(is_json(out, size) && tree_read_json(&t, out, size));
    ck_assert_uint_eq(tree_write_json(&t, again, ROOM), size);
    ck_assert_mem_eq(out, again, size);
  }
}
END_TEST

START_TEST(archives_are_written_again) {
  static records a, b;
  static char out[ROOM];
  load_seeds("pt2", "*");
  for (size_t i = 0; i < nfiles; i++) {
    ck_assert_msg(records_read(&a, (const char *)files[i].data, files[i].size), "%s",
                  files[i].path);
    size_t size = records_write(&a, out, ROOM);
    ck_assert_msg(is_archive((const uint8_t *)out, size, true), "%s", files[i].path);
    ck_assert(records_read(&b, out, size));
    ck_assert_uint_eq(a.count, b.count);
    for (uint32_t k = 0; k < a.count; k++) {
      ck_assert_uint_eq(a.all[k].data.size, b.all[k].data.size);
      ck_assert_mem_eq(a.all[k].data.at, b.all[k].data.at, a.all[k].data.size);
    }
  }
}
END_TEST

/* Of 100 mutants whose bytes were not changed on purpose, 99 are. */
START_TEST(mutants_are_well_formed) {
  static const struct {
    mutate_format format;
    const char *target;
  } rows[] = {{MUTATE_PT2, "pt2"}, {MUTATE_CBOR, "cbor"}, {MUTATE_JSON, "json"}};
  static uint8_t out[ROOM];
  mutator *m = start();
  for (size_t i = 0; i < 3; i++) {
    size_t made = 0, formed = 0;
    load_seeds(rows[i].target, "*");
    for (unsigned n = 0; n < PER_FILE * nfiles; n++) {
      size_t size = make(m, rows[i].format, n, out);
      if (strcmp(m->last, "bytes of the file") == 0)
        continue;
      made++;
      formed += is_well_formed(m, rows[i].format, out, size);
    }
    ck_assert_uint_ge(made, nfiles * PER_FILE * 7 / 10);
    ck_assert_msg(100 * formed >= 99 * made, "%s: only %zu of %zu", rows[i].target, formed, made);
  }
  free(m);
}
END_TEST

static bool is_same(const tree *a, const tree *b) {
  static char x[ROOM], y[ROOM];
  size_t size = tree_write_json(a, x, ROOM);
  return size == tree_write_json(b, y, ROOM) && memcmp(x, y, size) == 0;
}

/* Each row changes something, most of the time. */
START_TEST(every_change_is_made) {
  enum { TIMES = 300 };
  static tree before;
  mutator *m = start();
  load_seeds("json", "*");
  for (size_t row = 0; row < mutate_changes_count; row++) {
    size_t changed = 0;
    for (size_t n = 0; n < TIMES; n++) {
      const file *f = &files[n % nfiles];
      m->random = (n + 1) * 0x9e3779b97f4a7c15u;
      m->used = 0;
      m->donor = &m->own;
      ck_assert(tree_read_json(&m->own, (const char *)f->data, f->size));
      tree_find_roles(&m->own);
      before = m->own;
      changed += mutate_changes[row].change(m) && !is_same(&before, &m->own);
    }
    /* Some of the others have nothing to change like that, or are as they were by chance. */
    ck_assert_msg(changed > TIMES / 10, "%s: %zu of %d", mutate_changes[row].name, changed, TIMES);
  }
  free(m);
}
END_TEST

/* How many of the first mutants are refused with a message in which these words stand. */
static size_t count_refused(mutator *m, unsigned most, const char *words, size_t *taken) {
  static uint8_t out[ROOM];
  fuzz_memory memory;
  size_t refused = 0;
  for (unsigned n = 0; n < most; n++) {
    fnz_program *p = NULL;
    size_t size = make(m, MUTATE_PT2, n, out);
    fnz_context *ctx = fuzz_start(&memory);
    if (fnz_program_read(ctx, out, size, FNZ_FORMAT_PT2, &p) == FNZ_OK)
      ++*taken;
    else
      refused += strstr(fnz_last_error(ctx)->message, words) != NULL;
    fnz_program_destroy(p);
    fnz_context_destroy(ctx);
  }
  return refused;
}

/* The last check of a reader on a tensor in a region of torch.vmap is reached; and one in five is
 * read: a mutant that is refused for its first number reaches no code after the reader. */
START_TEST(mutants_reach_what_is_deep) {
  size_t taken = 0;
  mutator *m = start();
  load_seeds("pt2", "batched*");
  ck_assert_uint_ge(count_refused(m, 4000, "a tensor of layout", &taken), 3);
  ck_assert_uint_ge(taken, 4000 / 5);
  load_seeds("pt2", "*");
  ck_assert_uint_ge(count_refused(m, 2000, "used before anything defines it", &taken), 3);
  ck_assert_uint_ge(count_refused(m, 2000, "sizes, but", &taken), 1);
  ck_assert_uint_ge(count_refused(m, 2000, "has no argument", &taken), 3);
  free(m);
}
END_TEST

/* As a fuzzer would, but without learning. */
START_TEST(mutants_keep_the_promises) {
  static uint8_t out[ROOM];
  const char *wanted = getenv("FNZ_PROGRAMS");
  unsigned most = wanted ? (unsigned)strtoul(wanted, NULL, 10) : 2000;
  mutator *m = start();
  load_seeds("pt2", "*");
  for (unsigned n = 0; n < most; n++) {
    size_t size = make(m, MUTATE_PT2, n, out);
    ck_assert_int_eq(LLVMFuzzerTestOneInput(out, size), 0);
  }
  free(m);
}
END_TEST

RUN_SUITE("mutate", what_is_not_changed_is_written_again, archives_are_written_again,
          mutants_are_well_formed, every_change_is_made, mutants_reach_what_is_deep,
          mutants_keep_the_promises)
