/* checks: 7
 * limits_test.c - each limit on what a file may hold, in every form: one below and at the limit a
 * program is read, one above it is refused as LIMIT. Large limits are lowered, in the context. That
 * of turns is no limit on a file: region_run_test.c has it. */
#include "program/program.h"
#include "tests/help/archive.h"

#include <fnz/fnz.h>

/* `make` writes a program of a size, as text. `forms` are the formats that can hold it. */
typedef struct row {
  const char *what;
  void (*make)(fnz_buffer *text, size_t size);
  size_t offset; /* of the limit in fnzi_limits; NONE: it is `usual`, and stays */
  size_t usual;  /* the limit that is set */
  int forms;
} row;

enum { TEXT = 1, JSON = 2, CBOR = 4, ALL = 7 };
#define NONE        SIZE_MAX
#define FIELD(name) offsetof(fnzi_limits, name)
#define HEAD        "fnz 1\nprogram(%x: f32[4]) {\n"

static fnz_context *wide; /* nearly without limits, to make what is too large */

static void add(fnz_buffer *text, const char *piece, size_t count) {
  for (size_t i = 0; i < count; i++)
    OK(wide, fnzi_put_text(wide, text, piece));
}

static void around(fnz_buffer *text, const char *head, const char *piece, size_t count,
                   const char *tail) {
  add(text, head, 1);
  add(text, piece, count);
  add(text, tail, 1);
}

static void graph(fnz_buffer *text, const char *head, size_t count) {
  add(text, head, 1);
  for (size_t i = 0; i < count; i++)
    OK(wide, fnzi_printf(wide, text, "%%v%zu: f32[4] = neg(%%x)\n", i));
  add(text, "return %x\n}\n", 1);
}

static void nodes(fnz_buffer *text, size_t count) {
  graph(text, HEAD, count);
}

/* Nodes of all graphs count together. */
static void nodes_of_graphs(fnz_buffer *text, size_t count) {
  nodes(text, count / 2);
  graph(text, "graph g(%x: f32[4]) {\n", count - count / 2);
}

static void graphs(fnz_buffer *text, size_t count) {
  add(text, HEAD "return %x\n}\n", 1);
  for (size_t i = 1; i < count; i++)
    OK(wide, fnzi_printf(wide, text, "graph g%zu() {\nreturn\n}\n", i));
}

/* They write nothing: no other operator is derived from them. */
static void operators(fnz_buffer *text, size_t count) {
  add(text, "fnz 1\n", 1);
  for (size_t i = 0; i < count; i++)
    OK(wide, fnzi_printf(wide, text, "operator \"a::f%zu(Tensor x) -> Tensor\"\n", i));
  add(text, "program(%x: f32[4]) {\nreturn %x\n}\n", 1);
}

static void args(fnz_buffer *text, size_t count) {
  around(text, HEAD "%y: f32[4] = higher_order.some(", "%x,\n", count - 1, "%x)\nreturn %y\n}\n");
}

static void results(fnz_buffer *text, size_t count) {
  add(text, HEAD, 1);
  for (size_t i = 0; i < count; i++)
    OK(wide, fnzi_printf(wide, text, "%s%%v%zu: f32[4]", i ? ",\n" : "", i));
  add(text, " = higher_order.some(%x)\nreturn %x\n}\n", 1);
}

static void rank(fnz_buffer *text, size_t count) {
  around(text, "fnz 1\nprogram(%x: f32[1", ",1", count - 1, "]) {\nreturn %x\n}\n");
}

static void version(fnz_buffer *text, size_t size) {
  around(text, "fnz 1\ntorch \"", "2", size, "\"\nprogram(%x: f32[4]) {\nreturn %x\n}\n");
}

static void value_name(fnz_buffer *text, size_t size) {
  around(text, HEAD "%", "v", size, ": f32[4] = neg(%x)\nreturn %x\n}\n");
}

static void source(fnz_buffer *text, size_t size) {
  around(text, HEAD "%y: f32[4] = neg(%x)  at \"", "s", size, "\"\nreturn %x\n}\n");
}

static void op_name(fnz_buffer *text, size_t size) {
  around(text, HEAD "%y: f32[4] = higher_order.", "o", size - strlen("higher_order."),
         "(%x)\nreturn %y\n}\n");
}

static void nesting(fnz_buffer *text, size_t depth) {
  add(text, HEAD "%y: f32[4] = higher_order.some(", 1);
  add(text, "[", depth);
  add(text, "]", depth);
  add(text, ")\nreturn %y\n}\n", 1);
}

static void line(fnz_buffer *text, size_t size) {
  add(text, HEAD "return %x\n}\n", 1);
  add(text, " ", size);
}

static void symbol(fnz_buffer *text, size_t size) {
  around(text, "fnz 1\nsymbol \"", "s", size, "\" = 4\nprogram(%x: f32[4]) {\nreturn %x\n}\n");
}

static const row rows[] = {
    {"nodes", nodes, FIELD(nodes), 50, ALL},
    {"nodes of all graphs", nodes_of_graphs, FIELD(nodes), 50, TEXT | CBOR},
    {"graphs", graphs, FIELD(graphs), 50, TEXT | CBOR},
    {"operators", operators, FIELD(operators), 50, TEXT | CBOR},
    {"arguments of a node", args, FIELD(args), 65536, ALL},
    {"results of a node", results, FIELD(args), 300, ALL},
    {"dimensions", rank, NONE, FNZ_MAX_RANK, ALL},
    {"bytes of a string", version, FIELD(string), 256 * 1024, TEXT | CBOR},
    {"bytes of a name", value_name, FIELD(string), 256 * 1024, ALL},
    {"bytes of a source", source, FIELD(string), 256 * 1024, ALL},
    {"bytes of an operator's name", op_name, FIELD(op_name), 256, ALL},
    {"bytes of a symbol", symbol, NONE, 64 * 1024, TEXT},
    {"lists in lists", nesting, NONE, FNZI_MAX_NESTING, TEXT | CBOR},
    {"bytes of a line", line, FIELD(line), 1 << 20, TEXT},
};
enum { NROWS = sizeof rows / sizeof *rows };

static fnz_context *with_limits(size_t offset, size_t limit) {
  fnz_context *ctx;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  if (offset != NONE)
    memcpy((char *)&ctx->limits + offset, &limit, sizeof limit);
  return ctx;
}

static void widen(void) {
  wide = with_limits(NONE, 0);
#define DOUBLE(name, usual) wide->limits.name *= 2;
  FNZI_LIMIT_ROWS(DOUBLE)
#undef DOUBLE
}

/* Reads with a limit: NONE, or the class of the refusal. */
static const char *outcome(const fnz_buffer *file, size_t offset, size_t limit) {
  fnz_context *ctx = with_limits(offset, limit);
  fnz_program *p;
  fnz_status status = fnz_program_read(ctx, file->data, file->size, FNZ_FORMAT_AUTO, &p);
  const char *name = status == FNZ_OK ? "NONE" : fnz_class_name(fnz_last_error(ctx)->kind);
  fnz_program_destroy(p);
  ck_assert_uint_eq(ctx->live_bytes, 0);
  fnz_context_destroy(ctx);
  return name;
}

static void translate(const fnz_buffer *text, fnz_format format, fnz_buffer *out) {
  fnz_program *p;
  OK(wide, fnz_program_read(wide, text->data, text->size, FNZ_FORMAT_TEXT, &p));
  OK(wide, fnz_program_write(wide, p, format, out));
  fnz_program_destroy(p);
}

static void check(const row *r, size_t size, const char *want) {
  static const fnz_format formats[] = {FNZ_FORMAT_TEXT, FNZ_FORMAT_JSON, FNZ_FORMAT_CBOR};
  fnz_buffer text = {NULL, 0, 0};
  r->make(&text, size);
  for (int k = 0; k < 3; k++) {
    fnz_buffer file = {NULL, 0, 0};
    /* A limit that is no context's cannot be exceeded by a reader: text only. */
    if (!(r->forms >> k & 1) || (k && r->offset == NONE && size > r->usual))
      continue;
    if (k)
      translate(&text, formats[k], &file);
    const char *got = outcome(k ? &file : &text, r->offset, r->usual);
    ck_assert_msg(strcmp(got, want) == 0, "%zu %s, form %d: %s instead of %s", size, r->what, k,
                  got, want);
    fnz_buffer_free(wide, &file);
  }
  fnz_buffer_free(wide, &text);
}

START_TEST(below_at_and_above) {
  widen();
  for (int i = 0; i < NROWS; i++) {
    check(&rows[i], rows[i].usual - 1, "NONE");
    check(&rows[i], rows[i].usual, "NONE");
    check(&rows[i], rows[i].usual + 1, "LIMIT");
  }
  fnz_context_destroy(wide);
}
END_TEST

/* A new context has the limits of the header; others may be tested in another size. */
START_TEST(a_context_has_the_usual_limits) {
  fnz_context *ctx = with_limits(NONE, 0);
#define IS_USUAL(name, usual) ck_assert_uint_eq(ctx->limits.name, (usual));
  FNZI_LIMIT_ROWS(IS_USUAL)
#undef IS_USUAL
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(bytes_of_a_program) {
  widen();
  fnz_buffer text = {NULL, 0, 0};
  nodes(&text, 20);
  for (fnz_format format = FNZ_FORMAT_PT2; format <= FNZ_FORMAT_TEXT; format++) {
    fnz_buffer file = {NULL, 0, 0};
    size_t least = 1, most;
    translate(&text, format, &file);
    most = file.size;
    while (least < most) { /* the smallest limit with which it is read */
      size_t middle = least + (most - least) / 2;
      if (strcmp(outcome(&file, FIELD(program_bytes), middle), "NONE") == 0)
        most = middle;
      else
        least = middle + 1;
    }
    ck_assert_uint_gt(most, file.size / 3);
    ck_assert_str_eq(outcome(&file, FIELD(program_bytes), most), "NONE");
    ck_assert_str_eq(outcome(&file, FIELD(program_bytes), most - 1), "LIMIT");
    fnz_buffer_free(wide, &file);
  }
  fnz_buffer_free(wide, &text);
  fnz_context_destroy(wide);
}
END_TEST

/* Tensors do not count. */
START_TEST(tensors_are_no_bytes_of_a_program) {
  widen();
  bytes file = load_fixture("batchnorm_train.pt2");
  fnz_buffer cbor = {NULL, 0, 0};
  fnz_program *p;
  OK(wide, fnz_program_read(wide, file.data, file.size, FNZ_FORMAT_PT2, &p));
  OK(wide, fnz_program_write(wide, p, FNZ_FORMAT_CBOR, &cbor));
  size_t tensors = (size_t)6 * 3 * 9 * 4 + 4 * 24 + 96 + 16 + 8;
  ck_assert_str_eq(outcome(&cbor, FIELD(program_bytes), cbor.size - tensors), "NONE");
  ck_assert_str_eq(outcome(&cbor, FIELD(program_bytes), cbor.size - tensors - 200), "LIMIT");
  fnz_program_destroy(p);
  fnz_buffer_free(wide, &cbor);
  free(file.data);
  fnz_context_destroy(wide);
}
END_TEST

static const char *archive_outcome(bytes file, size_t offset, size_t limit) {
  const fnz_buffer b = {file.data, file.size, 0};
  return outcome(&b, offset, limit);
}

START_TEST(entries_of_an_archive) {
  bytes file = load_fixture("batchnorm_train.pt2");
  ck_assert_str_eq(archive_outcome(file, FIELD(entries), 18), "NONE");
  ck_assert_str_eq(archive_outcome(file, FIELD(entries), 17), "NONE");
  ck_assert_str_eq(archive_outcome(file, FIELD(entries), 16), "LIMIT");
  free(file.data);
}
END_TEST

START_TEST(names_of_entries) {
  for (size_t size = 1023; size <= 1025; size++) {
    archive a;
    bytes file = load_fixture("batchnorm_train.pt2");
    unpack(file, &a);
    free(file.data);
    char name[1026] = "program/";
    memset(name + 8, 'n', size - 8);
    name[size] = 0;
    add_record(&a, name, "x", 1);
    file = pack(&a);
    ck_assert_str_eq(archive_outcome(file, NONE, 0), size > 1024 ? "LIMIT" : "NONE");
    free(file.data);
    free_archive(&a);
  }
}
END_TEST

START_TEST(the_header_of_tensors) {
  for (size_t size = 199; size <= 201; size++) {
    char file[8 + 201];
    fnz_context *ctx = with_limits(FIELD(tensor_header), 200);
    fnz_arrays *arrays;
    memset(file, ' ', sizeof file);
    memset(file, 0, 8);
    file[0] = (char)size;
    file[8] = '{';
    file[8 + size - 1] = '}';
    fnz_status status = fnz_arrays_read_safetensors(ctx, file, 8 + size, &arrays);
    ck_assert_int_eq(status == FNZ_OK, size <= 200);
    if (status == FNZ_OK)
      fnz_arrays_destroy(arrays);
    else
      ck_assert_str_eq(fnz_class_name(fnz_last_error(ctx)->kind), "LIMIT");
    fnz_context_destroy(ctx);
  }
}
END_TEST

RUN_SUITE("limits", below_at_and_above, a_context_has_the_usual_limits, bytes_of_a_program,
          tensors_are_no_bytes_of_a_program, entries_of_an_archive, names_of_entries,
          the_header_of_tensors)
