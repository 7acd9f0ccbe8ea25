/* checks: 6
 * forms_test.c - programs as text and as JSON, in memory: refusals and their words, the spelling of
 * each kind of argument and of signature entry, and that it is read back as it was.
 * tests/formats/forms.def has the programs. */
#include "tests/help/archive.h"
#include "tests/help/context.h"

#include <fnz/fnz.h>

/* The tables leave out the first words of a text. */
static bytes headed(const char *text) {
  static const char head[] = "fnz 1 ";
  size_t size = strlen(head) + strlen(text);
  bytes out = {malloc(size + 1), size};
  ck_assert_ptr_nonnull(out.data);
  snprintf(out.data, size + 1, "%s%s", head, text);
  return out;
}

static bytes written(const fnz_program *p, fnz_format format) {
  fnz_buffer out = {0};
  OK(ctx, fnz_program_write(ctx, p, format, &out));
  bytes copy = copy_bytes(out.data, out.size);
  fnz_buffer_free(ctx, &out);
  return copy;
}

/* One form of a text in another one. */
static bytes retold(const char *text, fnz_format format) {
  fnz_program *p = read_text(text);
  bytes out = written(p, format);
  fnz_program_destroy(p);
  return out;
}

/* The last call failed with this class, and `says` is in its one line. */
static void check_refusal(fnz_status status, const char *class_name, const char *says,
                          const char *text) {
  const fnz_error *e = fnz_last_error(ctx);
  char line[1200];
  snprintf(line, sizeof line, "%s: %s", e->where, e->message);
  ck_assert_msg(status != FNZ_OK && strcmp(fnz_class_name(e->kind), class_name) == 0 &&
                    strstr(line, says),
                "want %s: %s\n got %s: %s\n for %.2000s", class_name, says,
                status == FNZ_OK ? "OK" : fnz_class_name(e->kind), line, text);
}

#define BODY(nodes) "program(%x: f32[4,3])\n{\n" nodes "\nreturn %x }\n"

/* --- texts that are wrong --------------------------------------------------------------------- */
#define ZEROS "00000000000000000000000000000000000"
#define OPEN  "[[[[[[[[[["
#define ONES  "1,1,1,1,1,1,1,1,1,1,"
#define VIEWS "t() t() t() t() t() t() t() t() t() t() t() t() t() "
#define LONG  "a_name_that_goes_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_and_on_"

#define RIGHT(...)
#define MADE(...)
#define CANNOT(...)
#define EDIT(...)
#define WRONG(class_name, says, text) {#class_name, says, text},

static const struct {
  const char *class_name, *says, *text;
} wrong[] = {
#include "tests/formats/forms.def"
};

#undef WRONG

START_TEST(wrong_texts) {
  begin();
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    fnz_program *p;
    bytes text = headed(wrong[i].text);
    fnz_status status = fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &p);
    check_refusal(status, wrong[i].class_name, wrong[i].says, text.data);
    ck_assert_ptr_null(p);
    free(text.data);
  }
  end();
}
END_TEST

/* --- texts that are right --------------------------------------------------------------------- */
/* Read, it has `says` in its text, which reads back as the same. */
static void check_reading(const char *file, const char *says) {
  bytes text = retold(file, FNZ_FORMAT_TEXT), again = retold(text.data, FNZ_FORMAT_TEXT);
  ck_assert_msg(strstr(text.data, says) != NULL, "no %s in %s", says, text.data);
  ck_assert_str_eq(again.data, text.data);
  free(again.data);
  free(text.data);
}

#undef RIGHT
#define WRONG(...)
#define RIGHT(says, text) {says, text},

static const struct {
  const char *says, *text;
} right[] = {
#include "tests/formats/forms.def"
};

START_TEST(right_texts) {
  begin();
  for (size_t i = 0; i < sizeof right / sizeof *right; i++) {
    bytes text = headed(right[i].text);
    check_reading(text.data, right[i].says);
    free(text.data);
  }
  end();
}
END_TEST

/* --- what .pt2 files can and cannot say ------------------------------------------------------- */
#undef MADE
#undef RIGHT
#define RIGHT(...)
#define MADE(piece, text) {piece, text},

static const struct {
  const char *piece, *text;
} made[] = {
#include "tests/formats/forms.def"
};

/* Quotes are single ones in the table. */
static bytes quoted(const char *text) {
  bytes out = copy_bytes(text, strlen(text));
  for (size_t i = 0; i < out.size; i++)
    out.data[i] = (char)(out.data[i] == '\'' ? '"' : out.data[i]);
  return out;
}

START_TEST(as_json_and_back) {
  begin();
  for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
    bytes text = headed(made[i].text), piece = quoted(made[i].piece);
    bytes json = retold(text.data, FNZ_FORMAT_JSON);
    ck_assert_msg(strstr(json.data, piece.data) != NULL, "no %s in %.6000s", piece.data, json.data);
    bytes again = retold(json.data, FNZ_FORMAT_JSON);
    ck_assert_str_eq(again.data, json.data);
    /* The head with versions and weights is new. */
    bytes before = retold(text.data, FNZ_FORMAT_TEXT), after = retold(json.data, FNZ_FORMAT_TEXT);
    ck_assert_str_eq(strstr(after.data, "program("), strstr(before.data, "program("));
    free(before.data);
    free(after.data);
    free(again.data);
    free(piece.data);
    free(json.data);
    free(text.data);
  }
  end();
}
END_TEST

#undef MADE
#undef CANNOT
#define MADE(...)
#define CANNOT(says, text) {says, text},

static const struct {
  const char *says, *text;
} cannot[] = {
#include "tests/formats/forms.def"
};

START_TEST(not_as_json) {
  begin();
  for (size_t i = 0; i < sizeof cannot / sizeof *cannot; i++) {
    bytes text = headed(cannot[i].text);
    fnz_program *p = read_text(text.data);
    fnz_buffer out = {0};
    fnz_status status = fnz_program_write(ctx, p, FNZ_FORMAT_JSON, &out);
    check_refusal(status, "UNSUPPORTED", cannot[i].says, text.data);
    free(text.data);
    fnz_buffer_free(ctx, &out);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* --- a model that is changed in one place ----------------------------------------------------- */
#undef CANNOT
#undef EDIT
#define CANNOT(...)
#define EDIT(class_name, says, from, to) {#class_name, says, from, to},

static const struct {
  const char *class_name, *says, *from, *to;
} edits[] = {
#include "tests/formats/forms.def"
};

static const char model[] =
    "fnz 1 symbol s0 = 4 symbol \"Eq(u0, 3)\" symbol u1 symbol u2\n"
    "program(%x: f32[{s0},3], %s: sym{s0}, 3 literal \"k\", %b: f32[] buffer \"b\")\n{\n"
    "  %m: sym{Eq(u0, 3)} = _operator.eq(%s, 3)\n"
    "  %f: sym{u1} = torch.sym_float(%s)\n"
    "  %y: f32[{s0},3] = add.Tensor(%x, %x, alpha=2)\n"
    "  %z: f32[{s0},3] = mul.Scalar(%y, complex(1.0, 2.0))\n"
    "  %w: f32[2] = zeros([2], dtype=f64, device=device(\"cpu\"), layout=strided)\n"
    "  %v: f32[{s0},3] = higher_order.f([%s, 2], [%f, 1.5], [%m, True], [%x, None], "
    "operator(\"add.Tensor\"), @g, \"text\", kw=[[1]])\n"
    "  return %z, %v, 7\n}\n"
    "graph g(%a: f32[2]) { return %a }";

/* Writing a written program again gives the same text. */
static void check_rewriting(const char *file) {
  bytes once = retold(file, FNZ_FORMAT_JSON), twice = retold(once.data, FNZ_FORMAT_JSON);
  ck_assert_str_eq(twice.data, once.data);
  free(twice.data);
  free(once.data);
}

START_TEST(edited_models) {
  begin();
  bytes json = retold(model, FNZ_FORMAT_JSON);
  for (size_t i = 0; i < sizeof edits / sizeof *edits; i++) {
    fnz_program *p;
    bytes from = quoted(edits[i].from), to = quoted(edits[i].to);
    char *text = replaced(json.data, from.data, to.data);
    if (strcmp(edits[i].class_name, "NONE") == 0) {
      check_reading(text, edits[i].says);
      check_rewriting(text);
    } else
      check_refusal(fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_JSON, &p),
                    edits[i].class_name, edits[i].says, to.data);
    free(text);
    free(from.data);
    free(to.data);
  }
  free(json.data);
  end();
}
END_TEST

/* --- which form it is ------------------------------------------------------------------------- */
static const struct {
  const char *file, *class_name, *says; /* NULL: it is read */
} forms[] = {
    {"", "TRUNCATED", "the file is empty"},
    {"P", "SYNTAX", "neither a .pt2 archive, nor"},
    {"fn", "SYNTAX", "neither a .pt2 archive, nor"},
    {"\x01\x80", "SYNTAX", "neither a .pt2 archive, nor"},
    {" \t\r\n", "SYNTAX", "neither a .pt2 archive, nor"},
    {"# a comment", "SYNTAX", "neither a .pt2 archive, nor"},
    {"# a comment\n", "SYNTAX", "neither a .pt2 archive, nor"},
    {" \t\r\n{", "TRUNCATED", "model.json: ends with 1 brackets open"},
    {"# a comment\n{}", "SYNTAX", "model.json: is not well-formed JSON"},
    {"PK", "TRUNCATED", "2 bytes are no zip archive"},
    {"\x80", "TYPE", ""},
    {"#\n fnz 1 program() { return }", NULL, ""},
};

START_TEST(forms_are_recognised) {
  fnz_program *p;
  fnz_buffer out = {0};
  begin();
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    const char *file = forms[i].file;
    fnz_status status = fnz_program_read(ctx, file, strlen(file), FNZ_FORMAT_AUTO, &p);
    if (forms[i].class_name)
      check_refusal(status, forms[i].class_name, forms[i].says, file);
    else
      OK(ctx, status);
    fnz_program_destroy(p);
  }
  p = read_text("fnz 1 program() { return }");
  const fnz_format nowhere[] = {FNZ_FORMAT_AUTO, FNZ_FORMAT_COUNT};
  for (size_t i = 0; i < 2; i++) {
    FAILS(ctx, "ARGUMENT", fnz_program_write(ctx, p, nowhere[i], &out));
    FAILS(ctx, "ARGUMENT", fnz_program_save(ctx, p, nowhere[i], "nothing"));
  }
  fnz_program_destroy(p);
  FAILS(ctx, "ARGUMENT", fnz_program_read(ctx, "digraph", 7, FNZ_FORMAT_DOT, &p));
  FAILS(ctx, "ARGUMENT", fnz_program_read(ctx, "digraph", 7, FNZ_FORMAT_COUNT, &p));
  ck_assert_str_eq(fnz_format_name(FNZ_FORMAT_COUNT), "?");
  end();
}
END_TEST

RUN_SUITE("forms", forms_are_recognised, wrong_texts, right_texts, as_json_and_back, not_as_json,
          edited_models)
