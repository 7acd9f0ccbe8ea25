/* checks: 17
 * text_test.c - the text form: printed programs read back the same, and faults are refused at their
 * line and column. */
#include "program/program.h"
#include "program/formats/formats.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/fnz.h>

static void prints_as(const char *text, const char *want) {
  fnz_buffer out = {0};
  fnz_program *p = read_text(text);
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, &out));
  ck_assert_str_eq(out.data, want);
  fnz_buffer_free(ctx, &out);
  fnz_program_destroy(p);
}

/* Reads a fixture, or fails. */
static void load(fnz_buffer *out) {
  OK(ctx, fnz_file_read(ctx, FNZ_SOURCE_DIR "/fixtures/program/everything.txt", out));
}

START_TEST(everything_reads_back_the_same) {
  begin();
  fnz_buffer text = {0};
  load(&text);
  prints_as(text.data, text.data);
  fnz_buffer_free(ctx, &text);
  end();
}
END_TEST

#define BODY(nodes) "fnz 1\nprogram(\n  %x: f32[4,3])\n{\n" nodes "  return %x\n}\n"

START_TEST(what_is_usual_is_left_out) {
  begin();
  prints_as("fnz 1 program(%x: f32[4,3] stride(3,1) offset(0) user \"x\") { return %x user }",
            BODY(""));
  prints_as("# run: x\n\n" BODY("%y: f32[4,3] = aten::add.Tensor(%x, %x)"),
            BODY("  %y: f32[4,3] = add.Tensor(%x, %x)\n"));
  end();
}
END_TEST

START_TEST(arguments_by_name_and_by_position) {
  begin();
  prints_as(BODY("%y: f32[3] = select.int(index=1, dim=0, self=%x)"),
            BODY("  %y: f32[3] = select.int(%x, 0, 1)\n"));
  prints_as(BODY("%y: f32[1,3] = slice.Tensor(%x, end=1, step=2)"),
            BODY("  %y: f32[1,3] = slice.Tensor(%x, end=1, step=2)\n"));
  prints_as(BODY("%y: f32[1,3] = slice.Tensor(%x, 0, None, 9)"),
            BODY("  %y: f32[1,3] = slice.Tensor(%x, 0, None, 9)\n"));
  end();
}
END_TEST

START_TEST(nodes_may_define_nothing_and_lines_may_break) {
  begin();
  prints_as(BODY("_assert_async(\n%x\n)\n at\n\"a.py:1\" meta \"{}\""),
            BODY("  _assert_async(%x)  at \"a.py:1\"  meta \"{}\"\n"));
  end();
}
END_TEST

START_TEST(regions_are_found_by_name_and_number) {
  begin();
  const char *named =
      "fnz 1\nprogram(\n  %x: f32[3])\n{\n"
      "  %y: f32[3] = higher_order.pick(%x, @a, @\"b c\", @3, @4)\n  return %y\n}\n";
  const char *regions = "graph a(){return}\ngraph \"b c\"(){return}\ngraph d(){return}\n"
                        "graph d(){return single}\n";
  fnz_buffer text = {0};
  OK(ctx, fnzi_printf(ctx, &text, "%s%s", named, regions));
  fnz_program *p = read_text(text.data);
  const fnz_node_info n = fnz_program_node(p, 0, 0);
  for (int k = 1; k <= 4; k++)
    ck_assert_int_eq(n.args[k].u.i, k);
  ck_assert(!p->graphs.data[3].returns_single);
  ck_assert(p->graphs.data[4].returns_single);
  text.size = 0;
  OK(ctx, fnzi_write_text(ctx, p, &text, NULL));
  ck_assert_ptr_nonnull(strstr(text.data, "(%x, @a, @2, @3, @4)"));
  fnz_program_destroy(p);
  fnz_buffer_free(ctx, &text);
  end();
}
END_TEST

START_TEST(symbols_keep_their_numbers) {
  begin();
  prints_as("fnz 1 program(%x: f32[{s1: 4},{s0: 4}] stride({s0: 4},1)) { return }",
            "fnz 1\nsymbol s1 = 4\nsymbol s0 = 4\nprogram(\n  %x: f32[{s1},{s0}] stride({s0},1))\n"
            "{\n  return\n}\n");
  prints_as("fnz 1 symbol u0 program(%x: f32[{u0: 4}]) { return }",
            "fnz 1\nsymbol u0\nprogram(\n  %x: f32[{u0: 4}])\n{\n  return\n}\n");
  end();
}
END_TEST

START_TEST(strides_left_out_follow_from_sizes) {
  begin();
  prints_as("fnz 1 symbol s0 = 4 symbol u0 program(%x: f32[{s0: 5},2,{s0: 5},0,{u0}], "
            "%y: f32[{s0},3]) { return }",
            "fnz 1\nsymbol s0 = 4\nsymbol u0\nsymbol \"s0*u0\"\nsymbol \"2*s0*u0\"\nprogram(\n"
            "  %x: f32[{s0: 5},2,{s0: 5},0,{u0}] stride({2*s0*u0},{s0*u0},{u0},{u0},1),\n"
            "  %y: f32[{s0},3])\n{\n  return\n}\n");
  prints_as("fnz 1 symbol s0 = 4 program(%x: f32[{s0},{s0},{s0}]) { return }",
            "fnz 1\nsymbol s0 = 4\nsymbol \"s0**2\" = 16\nprogram(\n"
            "  %x: f32[{s0},{s0},{s0}] stride({s0**2},{s0},1))\n{\n  return\n}\n");
  end();
}
END_TEST

START_TEST(long_lines_are_wrapped) {
  begin();
  fnz_buffer text = {0}, again = {0};
  OK(ctx, fnzi_put_text(ctx, &text, "fnz 1\nprogram(\n  %x: f32[3])\n{\n  %y: f32[3] = cat([%x"));
  for (int i = 0; i < 1000; i++)
    OK(ctx, fnzi_put_text(ctx, &text, ",%x"));
  OK(ctx, fnzi_put_text(ctx, &text, "])\n  return %y\n}\n"));
  fnz_program *p = read_text(text.data);
  OK(ctx, fnzi_write_text(ctx, p, &again, NULL));
  size_t longest = 0;
  for (const char *line = again.data, *stop; (stop = strchr(line, '\n')) != NULL; line = stop + 1)
    longest = (size_t)(stop - line) > longest ? (size_t)(stop - line) : longest;
  ck_assert_uint_lt(longest, 1100);
  prints_as(again.data, again.data);
  fnz_program_destroy(p);
  fnz_buffer_free(ctx, &text);
  fnz_buffer_free(ctx, &again);
  end();
}
END_TEST

static const struct {
  const char *class_name, *where, *text;
} wrong[] = {
    {"TRUNCATED", "", ""},
    {"SYNTAX", "", "hello"},
    {"TRUNCATED", "line 1, column 4", "fnz"},
    {"VERSION", "line 1, column 7", "fnz 2 program(){return}"},
    {"SYNTAX", "line 1, column 7", "fnz 1 programme(){return}"},
    {"TRUNCATED", "line 1, column 17", "fnz 1 program(){"},
    {"SYNTAX", "line 1, column 25", "fnz 1 program(){return} x"},
    {"REF", "line 5, column 23", BODY("%y: f32[4,3] = relu(  %z)")},
    {"REF", "line 5, column 21", BODY("%a: f32[4,3] = relu(%b) %b: f32[4,3] = relu(%a)")},
    {"REF", "node 0 (relu)", BODY("%a: f32[4,3] = relu(%a)")},
    {"DUPLICATE", "line 5, column 1", BODY("%x: f32[4,3] = relu(%x)")},
    {"OVERFLOW", "line 5, column 32", BODY("%y: f32[3] = select.int(%x, 0, 12345678901234567890)")},
    {"OVERFLOW", "line 5, column 30", BODY("%y: f32[3] = add.Scalar(%x,  1e999)")},
    {"UNSUPPORTED", "line 5, column 16", BODY("%y: f32[4,3] = frobnicate(%x)")},
    {"TYPE", "line 5, column 29", BODY("%y: f32[4,3] = relu(%x, bad=1)")},
    {"TYPE", "line 5, column 25", BODY("%y: f32[4,3] = relu(%x, 1)")},
    {"DUPLICATE", "line 5, column 30", BODY("%y: f32[4,3] = relu(%x, self=%x)")},
    {"TYPE", "node 0 (relu)", BODY("%y: f32[4,3] = relu()")},
    {"TYPE", "node 0 (relu)", BODY("relu(%x)")},
    {"SYNTAX", "line 5, column 4", BODY("%y = relu(%x)")},
    {"SYNTAX", "line 5, column 5", BODY("%y: f33[4] = relu(%x)")},
    {"SYNTAX", "line 5, column 1", BODY("? = relu(%x)")},
    {"SYNTAX", "line 5, column 28", BODY("%y: f32[3] = select.int(%x,1x,1)")},
    {"TYPE", "line 1, column 34", "fnz 1 program(%x: f32[3] stride()) { return }"},
    {"BOUNDS", "line 1, column 19", "fnz 1 program(%x: f32[-3]) { return }"},
    {"OVERFLOW", "line 1, column 19", "fnz 1 program(%x: f32[4294967296,4294967296,0]) { return }"},
    {"REF", "line 1, column 26", "fnz 1 program(%x: f32[{s0}]) { return }"},
    {"REF", "line 1, column 44", "fnz 1 program(%x: f32[3]) { higher_order.x(@a) return }"},
    {"REF", "line 5, column 13", BODY("relu(%x) at 1      ")},
    {"SYNTAX", "line 1, column 14", "fnz 1\tsource 2 \"x\" program(){return}"},
    {"REF", "output 0", "fnz 1 program(%x: f32[3]) { return %x buffer_mutation \"b\" }"},
    {"SYNTAX", "line 5, column 1", BODY("\"a\\q\"()")},
    {"SYNTAX", "line 5, column 1", BODY("\"a\n\"()")},
    {"TRUNCATED", "line 1, column 14", "fnz 1 weight \"abc"},
    {"ENCODING", "line 1, column 1", "fnz 1 weight \"a\xff\": f32[3]"},
    {"ENCODING", "line 1, column 14", "fnz 1 weight \"a\\x00\": f32[3] program(){return}"},
    {"SYNTAX", "line 1, column 55",
     "fnz 1 symbol \"s0 +\" = 4 program(%x: f32[2,{\"s0 +\"}]   ) { return }"},
    {"VERSION", "line 1, column 14", "fnz 1 schema 8.10000 program(){return}"},
    {"DUPLICATE", "line 1, column 46",
     "fnz 1 weight \"a\": f32[3] weight \"a\": f32[3]  program(){return}"},
};

START_TEST(what_is_wrong_is_refused_where_it_is) {
  begin();
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    fnz_program *p;
    fnz_status status =
        fnz_program_read(ctx, wrong[i].text, strlen(wrong[i].text), FNZ_FORMAT_AUTO, &p);
    ck_assert_msg(status != FNZ_OK, "accepted: %s", wrong[i].text);
    const fnz_error *e = fnz_last_error(ctx);
    ck_assert_msg(strcmp(fnz_class_name(e->kind), wrong[i].class_name) == 0, "%s: %s: %s",
                  fnz_class_name(e->kind), e->message, wrong[i].text);
    ck_assert_ptr_null(p);
    ck_assert_msg(strcmp(e->where, wrong[i].where) == 0, "%s: %s: %s", e->where, e->message,
                  wrong[i].text);
  }
  end();
}
END_TEST

/* `count` times `piece` between two texts. */
static fnz_status read_repeated(const char *before, const char *piece, size_t count,
                                const char *after) {
  fnz_buffer text = {0};
  fnz_program *p = NULL;
  OK(ctx, fnzi_put_text(ctx, &text, before));
  for (size_t i = 0; i < count; i++)
    OK(ctx, fnzi_put_text(ctx, &text, piece));
  OK(ctx, fnzi_put_text(ctx, &text, after));
  fnz_status status = fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &p);
  fnz_program_destroy(p);
  fnz_buffer_free(ctx, &text);
  return status;
}

START_TEST(a_line_has_a_limit) {
  begin();
  const char *before = "fnz 1\nprogram(){return}\n";
  OK(ctx, read_repeated(before, " ", ctx->limits.line, ""));
  FAILS(ctx, "LIMIT", read_repeated(before, " ", ctx->limits.line + 1, ""));
  ck_assert_str_eq(fnz_last_error(ctx)->where, "line 3, column 1");
  end();
}
END_TEST

START_TEST(a_string_has_a_limit) {
  begin();
  OK(ctx, read_repeated("fnz 1 torch \"", "a", ctx->limits.string, "\" program(){return}"));
  FAILS(ctx, "LIMIT",
        read_repeated("fnz 1 torch \"", "a", ctx->limits.string + 1, "\" program(){return}"));
  OK(ctx, read_repeated("fnz 1 program(%", "a", ctx->limits.string, ": i64[]){return}"));
  FAILS(ctx, "LIMIT",
        read_repeated("fnz 1 program(%", "a", ctx->limits.string + 1, ": i64[]){return}"));
  end();
}
END_TEST

START_TEST(nesting_and_rank_have_a_limit) {
  begin();
  for (size_t extra = 0; extra < 2; extra++) {
    fnz_buffer close = {0};
    for (size_t i = 0; i < FNZI_MAX_NESTING + extra; i++)
      OK(ctx, fnzi_put_text(ctx, &close, "]"));
    OK(ctx, fnzi_put_text(ctx, &close, ") return}"));
    fnz_status status = read_repeated("fnz 1 program(){ higher_order.x(", "[",
                                      FNZI_MAX_NESTING + extra, close.data);
    ck_assert_int_eq(status, extra ? FNZ_BAD_INPUT : FNZ_OK);
    fnz_buffer_free(ctx, &close);
  }
  ck_assert_str_eq(fnz_class_name(fnz_last_error(ctx)->kind), "LIMIT");
  OK(ctx, read_repeated("fnz 1 program(%x: i8[1", ",1", 63, "]) {return}"));
  FAILS(ctx, "LIMIT", read_repeated("fnz 1 program(%x: i8[1", ",1", 64, "]) {return}"));
  end();
}
END_TEST

START_TEST(ten_million_brackets_use_no_stack) {
  begin();
  FAILS(ctx, "LIMIT", read_repeated("fnz 1 program(){ higher_order.x(", "[\n", 10000000, ""));
  end();
}
END_TEST

START_TEST(numbers_keep_their_kind_and_value) {
  begin();
  static const char *const numbers[] = {"0",
                                        "-1",
                                        "1.0",
                                        "-0.0",
                                        "0.1",
                                        "1e-05",
                                        "1e+20",
                                        "inf",
                                        "-inf",
                                        "5e-324",
                                        "nan",
                                        "1.7976931348623157e+308",
                                        "-9223372036854775808"};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    fnz_buffer text = {0};
    OK(ctx, fnzi_put_text(ctx, &text, "fnz 1\nprogram(\n  %x: f32[4,3])\n{\n"));
    OK(ctx, fnzi_printf(ctx, &text, "  %%y: f32[4,3] = add.Scalar(%%x, %s)\n", numbers[i]));
    OK(ctx, fnzi_put_text(ctx, &text, "  return %y\n}\n"));
    prints_as(text.data, text.data);
    fnz_buffer_free(ctx, &text);
  }
  end();
}
END_TEST

START_TEST(formats_have_names) {
  begin();
  fnz_program *p;
  fnz_buffer out = {0};
  ck_assert_str_eq(fnz_format_name(FNZ_FORMAT_TEXT), "text");
  ck_assert_int_eq(fnz_format_find("dot"), FNZ_FORMAT_DOT);
  ck_assert_int_eq(fnz_format_find("nothing"), FNZ_FORMAT_AUTO);
  FAILS(ctx, "ARGUMENT", fnz_program_read(ctx, "x", 1, FNZ_FORMAT_DOT, &p));
  p = read_text("fnz 1 program(){return}");
  FAILS(ctx, "ARGUMENT", fnz_program_write(ctx, p, FNZ_FORMAT_AUTO, &out));
  fnz_program_destroy(p);
  end();
}
END_TEST

/* Every beginning of a good text is refused, or is a good text itself. */
START_TEST(every_prefix_is_handled) {
  begin();
  fnz_buffer text = {0};
  size_t good = 0;
  load(&text);
  for (size_t size = 0; size <= text.size; size++) {
    fnz_program *p;
    good += fnz_program_read(ctx, text.data, size, FNZ_FORMAT_TEXT, &p) == FNZ_OK;
    fnz_program_destroy(p);
  }
  ck_assert_uint_eq(good, 2); /* with and without the last newline */
  fnz_buffer_free(ctx, &text);
  end();
}
END_TEST

static fnz_status read_and_write(fnz_context *c, const void *user) {
  const fnz_buffer *text = user;
  fnz_program *p;
  fnz_buffer out = {0};
  FNZ_TRY(fnz_program_read(c, text->data, text->size, FNZ_FORMAT_TEXT, &p));
  fnz_status status = fnz_program_write(c, p, FNZ_FORMAT_TEXT, &out);
  if (status == FNZ_OK)
    ck_assert_str_eq(out.data, text->data);
  fnz_buffer_free(c, &out);
  out = (fnz_buffer){0};
  if (status == FNZ_OK)
    status = fnz_program_write(c, p, FNZ_FORMAT_DOT, &out);
  fnz_buffer_free(c, &out);
  fnz_program_destroy(p);
  return status;
}

START_TEST(running_out_of_memory_is_an_error) {
  begin();
  fnz_buffer text = {0};
  load(&text);
  ck_assert_uint_gt(each_fault(read_and_write, &text), 50);
  fnz_buffer_free(ctx, &text);
  end();
}
END_TEST

RUN_SUITE("text", everything_reads_back_the_same, what_is_usual_is_left_out,
          arguments_by_name_and_by_position, nodes_may_define_nothing_and_lines_may_break,
          regions_are_found_by_name_and_number, symbols_keep_their_numbers,
          strides_left_out_follow_from_sizes, long_lines_are_wrapped,
          what_is_wrong_is_refused_where_it_is, a_line_has_a_limit, a_string_has_a_limit,
          nesting_and_rank_have_a_limit, ten_million_brackets_use_no_stack,
          numbers_keep_their_kind_and_value, formats_have_names, every_prefix_is_handled,
          running_out_of_memory_is_an_error)
