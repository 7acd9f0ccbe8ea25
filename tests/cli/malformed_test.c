/* checks: 9
 * malformed_test.c - files that are wrong in one place, given to the command: each has its class,
 * exit code 2 and one line with the fault; no output appears, and refusing takes little memory.
 * tests/cli/malformed.def has the files. */
#include "tests/help/archive.h"
#include "tests/cli/command.h"

#include <fnz/fnz.h>

/* How a row's file is made, and what of. In the order of the checks below. */
typedef enum kind {
  ARCHIVES_CHANGE,
  ARCHIVES_PATCH,
  ARCHIVES_NAME,
  ARCHIVES_RECORD,
  JSON_EDIT,
  JSON_END,
  JSON_MORE,
  JSON_BRACKETS,
  CBOR_EDIT,
  CBOR_MORE,
  TEXT_BODY,
  TEXT_LONG,
  THREE_NUMBER,
  THREE_EDITS,
  RUN_BODY,
  KIND_COUNT
} kind;

typedef struct edit {
  const char *from, *to;
  size_t from_size, to_size;
} edit;

typedef struct row {
  const char *what, *class_name;
  kind kind;
  bytes (*change)(bytes file);
  char place;
  size_t offset, size;
  uint64_t value;
  const char *name, *inputs, *body;
  edit edits[3]; /* of the text, the JSON and the CBOR form, or one alone */
  int code;
} row;

/* --- archives that are more than one number away ---------------------------------------------- */
static bytes cut(bytes file, size_t size) {
  file.size = size;
  return file;
}

static bytes append(bytes file, const void *more, size_t size) {
  file.data = realloc(file.data, file.size + size);
  ck_assert_ptr_nonnull(file.data);
  memcpy(file.data + file.size, more, size);
  file.size += size;
  return file;
}

static bytes emptied(bytes file) {
  return cut(file, 0);
}

static bytes three_bytes(bytes file) {
  return cut(file, 3);
}

static bytes one_byte_less(bytes file) {
  return cut(file, file.size - 1);
}

static bytes one_byte_more(bytes file) {
  return append(file, "x", 1);
}

/* As the comment of the first one. */
static bytes second_end(bytes file) {
  char end[22];
  memcpy(end, file.data + end_of(file), sizeof end);
  put(file, file.size - 2, sizeof end, 2);
  return append(file, end, sizeof end);
}

/* Only the three end records. */
static bytes endless_directory(bytes file) {
  size_t start = place_in(file, 'z'), size = file.size - start;
  memmove(file.data, file.data + start, size);
  file.size = size;
  put(file, place_in(file, 'l') + 8, 0, 8); /* where the zip64 end record is */
  put(file, place_in(file, 'z') + 32, 1ull << 32, 8);
  put(file, place_in(file, 'z') + 40, 0, 8);
  put(file, place_in(file, 'z') + 48, 0, 8);
  return file;
}

/* A place at which the reader has no node yet to name. */
static void spoil_dtype(archive *a) {
  edit_record(find_record(a, "models/model.json"), "\"clone\": {\"dtype\": 7",
              "\"clone\": {\"dtype\": 99");
}

static bytes repacked(bytes file, void (*change)(archive *a)) {
  archive a;
  unpack(file, &a);
  change(&a);
  free(file.data);
  file = pack(&a);
  free_archive(&a);
  return file;
}

static void deflate_all(archive *a) {
  for (size_t i = 0; i < a->count; i++)
    a->records[i].method = ZIP_CM_DEFLATE;
}

static bytes deflated(bytes file) {
  return repacked(file, deflate_all);
}

static void add_bomb(archive *a) {
  size_t size = (size_t)32 << 20;
  char *zeros = calloc(size, 1);
  ck_assert_ptr_nonnull(zeros);
  add_record(a, "program/zeros", zeros, size);
  a->records[a->count - 1].method = ZIP_CM_DEFLATE;
  free(zeros);
}

static bytes bomb(bytes file) {
  return repacked(file, add_bomb);
}

static void shorten_payload(archive *a) {
  find_record(a, "weights/weight_0")->size--;
}

static bytes dtype_in_region(bytes file) {
  free(file.data);
  return repacked(load_fixture("../vmap/writes.pt2"), spoil_dtype);
}

static bytes short_payload(bytes file) {
  return repacked(file, shorten_payload);
}

/* --- rows ------------------------------------------------------------------------------------- */
#define EDIT(from, to)                                                                             \
  { from, to, sizeof(from) - 1, sizeof(to) - 1 }
#define ONE(form, from, to) .edits = {[form] = EDIT(from, to)}
#define ROW(w, c, k)        .what = w, .class_name = #c, .kind = k

#define CHANGE(w, c, function) {ROW(w, c, ARCHIVES_CHANGE), .change = function},
#define PATCH(w, c, where, from, count, number)                                                    \
  {ROW(w, c, ARCHIVES_PATCH), .place = where, .offset = from, .size = count, .value = number},
#define NAME(w, c, to) {ROW(w, c, ARCHIVES_NAME), .name = to},
#define RECORD(w, c, record, f, t)                                                                 \
  {ROW(w, c, ARCHIVES_RECORD), .name = record, .edits = {{f, t, 0, 0}}},
#define JSON(w, c, from, to)   {ROW(w, c, JSON_EDIT), ONE(1, from, to)},
#define JSON_CUT(w, c, from)   {ROW(w, c, JSON_END), ONE(1, from, "")},
#define JSON_TAIL(w, c, more)  {ROW(w, c, JSON_MORE), ONE(1, "", more)},
#define JSON_NEST(w, c, count) {ROW(w, c, JSON_BRACKETS), .value = count},
#define CBOR(w, c, from, to)   {ROW(w, c, CBOR_EDIT), ONE(2, from, to)},
#define CBOR_TAIL(w, c, more)  {ROW(w, c, CBOR_MORE), ONE(2, "", more)},
#define TEXT(w, c, nodes)      {ROW(w, c, TEXT_BODY), .inputs = "%x: f32[4]", .body = nodes},
#define TEXT_LINE(w, c, count) {ROW(w, c, TEXT_LONG), .value = count},
#define PROGRAM(w, c, number, in, b)                                                               \
  {ROW(w, c, THREE_NUMBER), .name = number, .inputs = in, .body = b},
#define FORMS(w, c, nodes, f0, t0, f1, t1, f2, t2)                                                 \
  {ROW(w, c, THREE_EDITS), .inputs = "%x: f32[4], %y: f32[4]", .body = nodes "\nreturn %z",        \
   .edits = {EDIT(f0, t0), EDIT(f1, t1), EDIT(f2, t2)}},
#define RUN(w, c, exit, nodes)                                                                     \
  {ROW(w, c, RUN_BODY), .inputs = "%x: f32[4]", .body = nodes, .code = exit},

static const row rows[] = {
#include "tests/cli/malformed.def"
};
enum { NROWS = sizeof rows / sizeof *rows, FORM_TEXT = 0, FORM_JSON, FORM_CBOR, FORM_COUNT };

/* --- making files ----------------------------------------------------------------------------- */
static fnz_context *ctx;

static bytes text_of(const char *inputs, const char *body) {
  char text[8192];
  int size = snprintf(text, sizeof text, "fnz 1\nprogram(%s)\n{\n%s\n}\n", inputs, body);
  ck_assert_int_lt(size, (int)sizeof text);
  return copy_bytes(text, (size_t)size);
}

static bytes in_form(bytes text, int form) {
  static const fnz_format formats[] = {FNZ_FORMAT_TEXT, FNZ_FORMAT_JSON, FNZ_FORMAT_CBOR};
  fnz_program *p;
  fnz_buffer out = {NULL, 0, 0};
  if (form == FORM_TEXT)
    return text;
  OK(ctx, fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_program_write(ctx, p, formats[form], &out));
  bytes file = copy_bytes(out.data, out.size);
  fnz_buffer_free(ctx, &out);
  fnz_program_destroy(p);
  free(text.data);
  return file;
}

static bytes example(int form) {
  return in_form(text_of("%x: f32[7777]", "%y: f32[7777] = add_.Scalar(%x, 1)\nreturn %y"), form);
}

/* Every `from` becomes `to`; there must be one. */
static bytes edited(bytes file, const edit *e) {
  bytes out = copy_bytes("", 0);
  size_t at = 0, found = 0;
  for (; at + e->from_size <= file.size; at++) {
    if (memcmp(file.data + at, e->from, e->from_size) != 0) {
      out = append(out, file.data + at, 1);
      continue;
    }
    out = append(out, e->to, e->to_size);
    at += e->from_size - 1;
    found++;
  }
  ck_assert_msg(found > 0, "nothing to replace by %s", e->to);
  out = append(out, file.data + at, file.size - at);
  free(file.data);
  return out;
}

static bytes cut_behind(bytes file, const edit *e) {
  for (size_t at = 0; at + e->from_size <= file.size; at++)
    if (memcmp(file.data + at, e->from, e->from_size) == 0)
      return cut(file, at + e->from_size - 1);
  ck_abort_msg("no %s", e->from);
  return file;
}

/* 7777 as each form writes it, and what takes its place. */
static bytes with_number(bytes file, const char *number, int form) {
  edit e = {"7777", number, 4, strlen(number)};
  if (form != FORM_CBOR)
    return edited(file, &e);
  unsigned char to[9] = {0};
  int64_t value = strtoll(number, NULL, 10);
  uint64_t n = (uint64_t)(value < 0 ? -1 - value : value);
  size_t size = n < 24 ? 1 : 9;
  ck_assert(n < 24 || n > UINT32_MAX); /* two of the five lengths of an integer are enough here */
  to[0] = (unsigned char)((value < 0 ? 0x20 : 0) | (n < 24 ? n : 27));
  for (size_t i = 1; i < size; i++)
    to[i] = (unsigned char)(n >> 8 * (8 - i));
  e = (edit){"\x19\x1e\x61", (const char *)to, 3, size};
  return edited(file, &e);
}

static bytes many(const char *front, char what, size_t count) {
  char *middle = malloc(count);
  ck_assert_ptr_nonnull(middle);
  memset(middle, what, count);
  bytes file = append(copy_bytes(front, strlen(front)), middle, count);
  free(middle);
  return file;
}

static bytes with_record(const row *r) {
  archive a;
  bytes file = load_fixture("batchnorm_train.pt2");
  unpack(file, &a);
  free(file.data);
  if (r->edits[0].from)
    edit_record(find_record(&a, r->name), r->edits[0].from, r->edits[0].to);
  else
    drop_record(&a, find_record(&a, r->name));
  file = pack(&a);
  free_archive(&a);
  return file;
}

static bytes archive_of(const row *r) {
  bytes file = load_fixture("batchnorm_train.pt2");
  if (r->kind == ARCHIVES_CHANGE)
    return r->change(file);
  if (r->kind == ARCHIVES_PATCH)
    put(file, place_in(file, r->place) + r->offset, r->value, r->size);
  else
    rename_everywhere(file, "program/data/weights/weight_0", r->name, 29);
  return file;
}

static bytes file_of(const row *r, int form) {
  switch (r->kind) {
  case ARCHIVES_RECORD:
    return with_record(r);
  case JSON_EDIT:
    return edited(example(FORM_JSON), &r->edits[1]);
  case JSON_END:
    return cut_behind(example(FORM_JSON), &r->edits[1]);
  case JSON_MORE:
    return append(example(FORM_JSON), r->edits[1].to, r->edits[1].to_size);
  case JSON_BRACKETS:
    return many("{\"graph_module\": ", '[', r->value);
  case CBOR_EDIT:
    return edited(example(FORM_CBOR), &r->edits[2]);
  case CBOR_MORE:
    return append(example(FORM_CBOR), r->edits[2].to, r->edits[2].to_size);
  case TEXT_LONG:
    return many("fnz 1\nprogram(%x: f32[4]) {", ' ', r->value);
  case TEXT_BODY:
  case RUN_BODY:
    return text_of(r->inputs, r->body);
  case THREE_NUMBER:
    return with_number(in_form(text_of(r->inputs, r->body), form), r->name, form);
  case THREE_EDITS:
    return edited(in_form(text_of(r->inputs, r->body), form), &r->edits[form]);
  default:
    return archive_of(r);
  }
}

/* --- what becomes of them --------------------------------------------------------------------- */
/* Refusing takes at most twice the file and 16 MB. */
static void check_memory(const row *r, bytes file) {
  fnz_context *own;
  fnz_program *p;
  ck_assert_int_eq(fnz_context_create(NULL, &own), FNZ_OK);
  if (fnz_program_read(own, file.data, file.size, FNZ_FORMAT_AUTO, &p) == FNZ_OK)
    fnz_program_destroy(p);
  else
    ck_assert_msg(fnz_context_peak_bytes(own) <= 2 * file.size + (16u << 20),
                  "%s: %zu bytes of memory for a file of %zu", r->what, fnz_context_peak_bytes(own),
                  file.size);
  ck_assert_uint_eq(own->live_bytes, 0);
  fnz_context_destroy(own);
}

static outcome *call_with(const row *r, bytes file) {
  spill_bytes("in", file.data, file.size);
  return fnz(r->kind == RUN_BODY ? "run in --inputs x.safetensors --outputs out.safetensors"
                                 : "convert in -o out.cbor");
}

static void check_row(const row *r, int form) {
  bytes file = file_of(r, form);
  check_memory(r, file);
  outcome *o = call_with(r, file);
  free(file.data);
  bool fine = strcmp(r->class_name, "NONE") == 0;
  char begins[64];
  int code = fine ? 0 : r->code ? r->code : 2;
  snprintf(begins, sizeof begins, "fnz: %s: ", r->class_name);
  ck_assert_msg(o->code == code && strncmp(o->err, begins, fine ? 0 : strlen(begins)) == 0,
                "%s, form %d: want %s and exit %d, got exit %d: %s", r->what, form, r->class_name,
                code, o->code, o->err);
  if (!fine)
    ck_assert_ptr_eq(strchr(o->err, '\n'), o->err + strlen(o->err) - 1);
  ck_assert_msg(fine == exists("out.cbor") && !exists("out.safetensors"), "%s", r->what);
  unlink("out.cbor");
}

/* An input for rows that are run. */
static void write_input(void) {
  fnz_arrays *arrays;
  fnz_buffer out = {NULL, 0, 0};
  void *data;
  const int64_t sizes[1] = {4};
  OK(ctx, fnz_arrays_create(ctx, &arrays));
  OK(ctx, fnz_arrays_add(arrays, "x", FNZ_F32, 1, sizes, &data));
  OK(ctx, fnz_arrays_write_safetensors(ctx, arrays, &out));
  spill_bytes("x.safetensors", out.data, out.size);
  fnz_buffer_free(ctx, &out);
  fnz_arrays_destroy(arrays);
}

/* Every row of these kinds; how many there were. */
static size_t check_rows(kind first, kind last, int forms) {
  size_t count = 0;
  enter_folder();
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  write_input();
  for (size_t i = 0; i < NROWS; i++)
    for (int form = 0; rows[i].kind >= first && rows[i].kind <= last && form < forms;
         form++, count++)
      check_row(&rows[i], form);
  fnz_context_destroy(ctx);
  return count;
}

START_TEST(archives) {
  ck_assert_uint_ge(check_rows(ARCHIVES_CHANGE, ARCHIVES_RECORD, 1), 28);
}
END_TEST

START_TEST(json) {
  ck_assert_uint_ge(check_rows(JSON_EDIT, JSON_BRACKETS, 1), 12);
}
END_TEST

START_TEST(cbor) {
  ck_assert_uint_ge(check_rows(CBOR_EDIT, CBOR_MORE, 1), 12);
}
END_TEST

START_TEST(text) {
  ck_assert_uint_ge(check_rows(TEXT_BODY, TEXT_LONG, 1), 7);
}
END_TEST

START_TEST(programs_in_three_forms) {
  ck_assert_uint_ge(check_rows(THREE_NUMBER, THREE_EDITS, FORM_COUNT), 70);
}
END_TEST

START_TEST(what_only_running_finds) {
  /* Sanitizers abort where malloc would return NULL, or report it. */
  ck_assert_int_eq(setenv("ASAN_OPTIONS", "allocator_may_return_null=1:log_path=sanitizer", 1), 0);
  ck_assert_uint_ge(check_rows(RUN_BODY, RUN_BODY, 1), 4);
}
END_TEST

/* If a program is read and then refused, the three forms get the same line. */
START_TEST(three_forms_one_line) {
  size_t same = 0;
  enter_folder();
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (size_t i = 0; i < NROWS; i++) {
    char first[ROOM] = "";
    for (int form = 0; rows[i].kind == THREE_NUMBER && form < FORM_COUNT; form++) {
      bytes file = file_of(&rows[i], form);
      outcome *o = call_with(&rows[i], file);
      free(file.data);
      if (strncmp(first, "fnz: ", 5) == 0 && strstr(first, ": node "))
        ck_assert_msg(strcmp(first, o->err) == 0, "%s: %s%s", rows[i].what, first, o->err);
      same += form > 0 && strcmp(first, o->err) == 0;
      memcpy(first, o->err, ROOM);
    }
  }
  ck_assert_uint_ge(same, 16);
  fnz_context_destroy(ctx);
}
END_TEST

/* Among the bytes of this archive is another one, with an end record of its own. */
START_TEST(archives_that_are_cut_off_are_called_so) {
  bytes file = load_fixture("batchnorm_train.pt2");
  enter_folder();
  spill_bytes("in", file.data, file.size - 1);
  must_fail("show in", 2,
            "fnz: ARCHIVE: in: the zip archive is damaged: it is cut off, or bytes follow");
  spill_bytes("in", file.data, file.size / 4);
  must_fail("show in", 2,
            "fnz: ARCHIVE: in: the zip archive is damaged: it has no end record; it may be cut");
  must_fail("show .", 3, "fnz: IO: .: not a regular file; it is a folder; name a file in it");
  free(file.data);
}
END_TEST

/* Between its entries and their list the file has a hole, which is more than can be read. */
static bool spill_with_hole(bytes file) {
  const off_t hole = (off_t)1 << 40;
  size_t ends = place_in(file, 'z'), start = 0;
  memcpy(&start, file.data + ends + 48, sizeof start);
  put(file, ends + 48, start + (size_t)hole, 8);
  put(file, place_in(file, 'l') + 8, ends + (size_t)hole, 8);
  spill_bytes("large", file.data, start);
  FILE *out = fopen("large", "r+b");
  ck_assert_ptr_nonnull(out);
  bool fits = fseeko(out, (off_t)start + hole, SEEK_SET) == 0 &&
              fwrite(file.data + start, 1, file.size - start, out) == file.size - start;
  return fclose(out) == 0 && fits;
}

/* The list at the end of an archive says that it is none of torch.export.save, however large. */
START_TEST(archives_without_a_program_are_not_read) {
  static const char from[] = "program/archive_format";
  static const char *const others[][2] = {
      {"program/other/data.pkl", "UNSUPPORTED: large: expected a program, this is a file of torch"},
      {"program/code//data.pkl", "UNSUPPORTED: large: expected a program, this is a TorchScript"},
      {"program/archive_fo.npy", "UNSUPPORTED: large: expected a program, this is arrays of NumPy"},
      {"program/archive_farmat", "ARCHIVE: large: the zip archive is not one of torch.export.save"},
  };
  enter_folder();
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    char begins[128];
    bytes file = load_fixture("batchnorm_train.pt2");
    rename_everywhere(file, from, others[i][0], sizeof from - 1);
    bool fits = spill_with_hole(file);
    free(file.data);
    snprintf(begins, sizeof begins, "fnz: %s", others[i][1]);
    if (fits) /* the file system has such files */
      must_fail("show large", 2, begins);
  }
}
END_TEST

RUN_SUITE("malformed files", archives, json, cbor, text, programs_in_three_forms,
          what_only_running_finds, three_forms_one_line, archives_without_a_program_are_not_read,
          archives_that_are_cut_off_are_called_so)
