/* checks: 7
 * cost_test.c - what reading costs, whether it ends well or not: at most 16 times the bytes of the
 * file and 16 MB, by an allocator that counts. Files are made of what takes most memory for its
 * bytes; all inputs that fuzzing has kept are small and take little. */
#include "base/watched.h"
#include "program/program.h"
#include "tests/help/archive.h"
#include "tests/help/context.h"

#include <fnz/arrays.h>

#include <dirent.h>
#include <sys/stat.h>

enum { MB = 1 << 20, TIMES = 16, MANY = 100000, FEWER = FNZI_WATCHED ? 10000 : MANY };

static struct meter { size_t live, most; } meter;

static void *metered(void *user, void *p, size_t old_bytes, size_t new_bytes) {
  struct meter *m = user;
  m->live += new_bytes - old_bytes;
  m->most = m->live > m->most ? m->live : m->most;
  if (new_bytes)
    return realloc(p, new_bytes);
  free(p);
  return NULL;
}

static fnz_context *metered_context(void) {
  fnz_allocator allocator = {metered, &meter};
  fnz_context *ctx;
  meter = (struct meter){0, 0};
  ck_assert_int_eq(fnz_context_create(&allocator, &ctx), FNZ_OK);
  return ctx;
}

/* Reads a program; `class_name` "NONE": it must be read. NULL: either is right. */
static void read_within(const char *what, const void *bytes, size_t size, size_t most,
                        const char *class_name) {
  fnz_context *ctx = metered_context();
  fnz_program *p = NULL;
  fnz_status status = fnz_program_read(ctx, bytes, size, FNZ_FORMAT_AUTO, &p);
  const char *got = status == FNZ_OK ? "NONE" : fnz_class_name(fnz_last_error(ctx)->kind);
  ck_assert_msg(!class_name || strcmp(got, class_name) == 0, "%s: want %s, got %s: %s", what,
                class_name, got, status == FNZ_OK ? "" : fnz_last_error(ctx)->message);
  ck_assert_msg(meter.most <= most, "%s: %zu bytes took %zu, more than %zu", what, size, meter.most,
                most);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
  ck_assert_uint_eq(meter.live, 0);
}

static void costs(const char *what, const fnz_buffer *b, const char *class_name) {
  read_within(what, b->data, b->size, TIMES * b->size + (size_t)16 * MB, class_name);
}

/* --- shapes ---------------------------------------------------------------------------------- */
/* `head`, then `times` times `unit`, in which # is a number that differs each time, then `tail`. */
static fnz_buffer repeat(const char *head, unsigned times, const char *unit, const char *tail) {
  fnz_buffer b = {0};
  OK(ctx, fnzi_put_text(ctx, &b, head));
  for (unsigned i = 0; i < times; i++)
    for (const char *c = unit; *c; c++)
      OK(ctx, c[0] == '#' ? fnzi_printf(ctx, &b, "%u", i) : fnzi_put(ctx, &b, c, 1));
  OK(ctx, fnzi_put_text(ctx, &b, tail));
  return b;
}

#define OPEN "fnz 1\nprogram(\n %x: f32[4])\n{\n"

static const struct {
  const char *what, *head, *unit, *tail, *class_name;
} rows[] = {
    {"integers", "{\"x\":[0", ",0,0,0,0,0,0,0,0,0,0", "]}", "LIMIT"},
    {"lists", "{\"x\":[0", ",[],[],[],[],[],[],[],[]", "]}", "LIMIT"},
    {"keys", "{\"x\":{\"7\":0", ",\"#\":0", "}}", "DUPLICATE"},
    {"strings", "{\"x\":[0", ",\"abc\"", "]}", "TYPE"},
    {"open brackets", "{\"x\":", "[", "", "LIMIT"},
    {"nodes", OPEN, "%#:f32[4]=abs(%x)\n", "return %x}\n", "NONE"},
    {"nodes without an end", OPEN, "%#:f32[4]=abs(%x)\n", "!", "SYNTAX"},
    {"types", OPEN, "%#:i8[#,3]=abs(%x)\n", "!", "SYNTAX"},
    {"lists of arguments", OPEN, "%#:i8[]=higher_order.f([0,0,0])\n", "!", "SYNTAX"},
    {"symbols", "fnz 1\n", "symbol s#\n", "!", "SYNTAX"},
    {"ranges", "fnz 1\nsymbol s0\n", "range s0 0..1\n", "!", NULL},
    {"weights", "fnz 1\n", "weight \"#\":i8[]\n", "!", "SYNTAX"},
    {"operators", "fnz 1\n", "operator \"a::f#(Tensor(a!) x)->()\"\n", "!", "LIMIT"},
    {"operators again", "fnz 1\n", "operator \"a::f(Tensor(a!) x)->()\"\n", "!", "SYNTAX"},
    {"graphs", OPEN "return %x}\n", "graph g#(){return}\n", "!", "LIMIT"},
    {"guards", "fnz 1\n", "guard \"s0 >= 3\"\n", "!", NULL},
    {"comments", "", "# a\n", "!", "SYNTAX"},
};

START_TEST(text_and_json) {
  begin();
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    fnz_buffer b = repeat(rows[i].head, MANY, rows[i].unit, rows[i].tail);
    costs(rows[i].what, &b, rows[i].class_name);
    fnz_buffer_free(ctx, &b);
  }
  end();
}
END_TEST

/* As many graphs and operators as there may be. */
START_TEST(as_many_as_allowed) {
  begin();
  const unsigned pairs = (unsigned)ctx->limits.operators / 2;
  fnz_buffer b = repeat("fnz 1\n", pairs, "operator \"a::f#(Tensor(a!) x)->()\"\n",
                        "program(%x: f32[4]) {return %x}\n");
  costs("operators", &b, "NONE");
  fnz_buffer_free(ctx, &b);
  b = repeat(OPEN "return %x}\n", (unsigned)ctx->limits.graphs - 1, "graph g#(){return}\n", "");
  costs("graphs", &b, "NONE");
  fnz_buffer_free(ctx, &b);
  end();
}
END_TEST

/* A list of declarations for a context costs what one in a program does. */
START_TEST(declarations) {
  begin();
  fnz_buffer b = repeat("", MANY, "a::f#(Tensor(a!) x)->()\n", "");
  fnz_context *own = metered_context();
  ck_assert_int_eq(fnz_ops_declare(own, "list", b.data, b.size), FNZ_BAD_INPUT);
  ck_assert_str_eq(fnz_class_name(fnz_last_error(own)->kind), "LIMIT");
  ck_assert_uint_le(meter.most, TIMES * b.size + (size_t)16 * MB);
  fnz_context_destroy(own);
  fnz_buffer_free(ctx, &b);
  end();
}
END_TEST

/* The same program in the other formats, whole and without its last bytes. */
START_TEST(other_formats) {
  static const fnz_format formats[] = {FNZ_FORMAT_CBOR, FNZ_FORMAT_JSON, FNZ_FORMAT_PT2};
  static const char *const bodies[] = {"%#:f32[4]=abs(%x)\n",
                                       "%#:f32[4]=higher_order.f([0,0,0,0,0,0,0,0,0,0,0,0])\n"};
  begin();
  for (size_t k = 0; k < 2; k++) {
    fnz_program *p;
    fnz_buffer text = repeat(OPEN, FEWER, bodies[k], "return %x}\n");
    OK(ctx, fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &p));
    fnz_buffer_free(ctx, &text);
    for (size_t i = 0; i < (k ? 1 : sizeof formats / sizeof *formats); i++) {
      fnz_buffer b = {0};
      OK(ctx, fnz_program_write(ctx, p, formats[i], &b));
      costs(fnz_format_name(formats[i]), &b, "NONE");
      b.size -= 3;
      costs(fnz_format_name(formats[i]), &b, i == 2 ? "ARCHIVE" : "TRUNCATED");
      fnz_buffer_free(ctx, &b);
    }
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* --- archives -------------------------------------------------------------------------------- */
static void must_cost(archive *a, const char *what, const char *class_name) {
  bytes file = pack(a);
  fnz_buffer b = {file.data, file.size, file.size};
  costs(what, &b, class_name);
  free(file.data);
  free_archive(a);
}

/* JSON that would unpack to 64 MB out of less than half of one. */
START_TEST(packed_json) {
  archive a = {.count = 0};
  size_t size = (size_t)64 * MB, packed = 0;
  char *text = malloc(size);
  ck_assert_ptr_nonnull(text);
  /* Not all alike: it must not be refused for how well it packs. */
  memset(text, ' ', size);
  for (uint32_t x = 1; packed < size; packed++, x = x * 1664525u + 1013904223u)
    if (packed % 64 >= 60)
      text[packed] = "0123456789"[(x >> 24) % 10];
  add_record(&a, "m/archive_format", "pt2", 3);
  add_record(&a, "m/models/model.json", text, size);
  a.records[1].method = ZIP_CM_DEFLATE;
  free(text);
  must_cost(&a, "packed", "LIMIT");
}
END_TEST

START_TEST(arrays) {
  begin();
  uint64_t length;
  fnz_buffer b = repeat("01234567{\"x\":{\"shape\":[0", MANY, ",0,0,0,0", "]}}");
  length = b.size - 8;
  memcpy(b.data, &length, 8);
  fnz_context *own = metered_context();
  fnz_arrays *arrays;
  ck_assert_int_ne(fnz_arrays_read_safetensors(own, b.data, b.size, &arrays), FNZ_OK);
  ck_assert_uint_le(meter.most, TIMES * b.size + (size_t)16 * MB);
  fnz_context_destroy(own);
  fnz_buffer_free(ctx, &b);
  end();
}
END_TEST

/* --- what fuzzing has kept -------------------------------------------------------------------- */
static size_t read_folder(const char *name) {
  char folder[512], path[1024];
  size_t count = 0;
  snprintf(folder, sizeof folder, "%s/fixtures/%s", FNZ_SOURCE_DIR, name);
  DIR *d = opendir(folder);
  ck_assert_ptr_nonnull(d);
  for (struct dirent *e; (e = readdir(d)) != NULL;) {
    fnz_buffer b;
    if (e->d_name[0] == '.')
      continue;
    snprintf(path, sizeof path, "%s/%s", folder, e->d_name);
    OK(ctx, fnz_file_read(ctx, path, &b));
    read_within(path, b.data, b.size, TIMES * b.size + MB, NULL);
    fnz_buffer_free(ctx, &b);
    count++;
  }
  closedir(d);
  return count;
}

START_TEST(kept_inputs) {
  static const char *const folders[] = {"fuzz/cbor", "fuzz/json", "fuzz/pt2",
                                        "fuzz/text", "regions",   "functionalize"};
  begin();
  for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
    ck_assert_uint_gt(read_folder(folders[i]), 0);
  end();
}
END_TEST

RUN_SUITE("cost", text_and_json, as_many_as_allowed, declarations, other_formats, packed_json,
          arrays, kept_inputs)
