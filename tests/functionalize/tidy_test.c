/* checks: 9
 * tidy_test.c - nodes that disappear from a functionalized program, nodes that have to stay, and
 * the operators of the strided dialect. Every row is also verified, and functionalized again. */
#include "program/program.h"
#include "tests/help/context.h"
#include "tests/help/faults.h"
#include "tests/help/run_help.h"

#include <stdio.h>
#include <string.h>

typedef struct row {
  const char *inputs, *body;
  const char *ops; /* the operators of the result, in order, with a space between them */
} row;

/* --- rows ------------------------------------------------------------------------------------- */
static const row disappears[] = {
    /* a view that leads back */
    {"%x: f32[2,3]",
     "%a: f32[3,2] = t_copy(%x)\n%b: f32[2,3] = t_copy(%a)\n%r: f32[2,3] = neg(%b)\nreturn %r",
     "neg"},
    {"%x: f32[2,3,4]",
     "%a: f32[3,4,2] = permute_copy(%x, [1, 2, 0])\n%b: f32[2,3,4] = permute_copy(%a, [2, 0, 1])\n"
     "%r: f32[2,3,4] = neg(%b)\nreturn %r",
     "neg"},
    /* neighbours become one */
    {"%x: f32[2,6]",
     "%a: f32[12] = view_copy(%x, [12])\n%b: f32[3,4] = view_copy(%a, [3, 4])\nreturn %b",
     "view_copy"},
    {"%x: f32[8]",
     "%a: f32[6] = slice_copy.Tensor(%x, 0, 1, 7)\n%b: f32[2] = slice_copy.Tensor(%a, 0, 1, 5, 2)\n"
     "return %b",
     "slice_copy.Tensor"},
    {"%x: f32[2,3,4]",
     "%a: f32[3,2,4] = permute_copy(%x, [1, 0, 2])\n%b: f32[4,2,3] = permute_copy(%a, [2, 1, 0])\n"
     "return %b",
     "permute_copy"},
    /* the same view twice */
    {"%x: f32[2,3]",
     "%a: f32[3] = select.int(%x, 0, 1)\n%b: f32[3] = select.int(%x, -2, -1)\n"
     "%r: f32[3] = add.Tensor(%a, %b)\nreturn %r",
     "select_copy.int add.Tensor"},
    {"%x: f32[2,3]",
     "%a: f32[3,2] stride(1,3) = t(%x)\n%b: f32[3,2] stride(1,3) = permute(%x, [1, 0])\n"
     "%r: f32[3,2] stride(1,3) = mul.Tensor(%a, %b)\nreturn %r",
     "t_copy mul.Tensor"},
    /* the elements just put there, and the elements left alone */
    {"%x: f32[2,3], %y: f32[3]",
     "%s: f32[2,3] = select_scatter(%x, %y, 0, 1)\n%a: f32[3] = select_copy.int(%s, 0, 1)\n"
     "%r: f32[3] = neg(%a)\nreturn %r",
     "neg"},
    {"%x: f32[2,3], %y: f32[3]",
     "%s: f32[2,3] = select_scatter(%x, %y, 0, 1)\n%a: f32[3] = select_copy.int(%s, 0, 0)\n"
     "return %a",
     "select_copy.int"},
    {"%x: f32[6], %y: f32[2]",
     "%s: f32[6] = slice_scatter(%x, %y, 0, 2, 4)\n%a: f32[2] = slice_copy.Tensor(%s, 0, 2, 4)\n"
     "%b: f32[2] = slice_copy.Tensor(%s, 0, 4, 6)\n%r: f32[2] = add.Tensor(%a, %b)\nreturn %r",
     "slice_copy.Tensor add.Tensor"},
    /* elements that are put back where they were */
    {"%x: f32[2,3]",
     "%a: f32[3] = select_copy.int(%x, 0, 1)\n%s: f32[2,3] = select_scatter(%x, %a, 0, 1)\n"
     "%r: f32[2,3] = neg(%s)\nreturn %r",
     "neg"},
    /* a base without remaining elements */
    {"%x: f32[4], %y: f32[4]",
     "%s: f32[4] = slice_scatter(%x, %y, 0, 0, 4)\n%r: f32[4] = neg(%s)\nreturn %r", "neg"},
    {"%x: f32[1,3], %y: f32[3]", "%s: f32[1,3] = select_scatter(%x, %y, 0, 0)\nreturn %s",
     "unsqueeze_copy"},
    {"%x: f32[4], %y: f32[2], %z: f32[3]",
     "%a: f32[4] = slice_scatter(%x, %y, 0, 0, 2)\n%b: f32[4] = slice_scatter(%a, %z, 0, 0, 3)\n"
     "return %b",
     "slice_scatter"},
    /* pieces that cover everything, in any order, the later one counts */
    {"%x: f32[4], %y: f32[2], %z: f32[2]",
     "%a: f32[4] = slice_scatter(%x, %y, 0, 2, 4)\n%b: f32[4] = slice_scatter(%a, %z, 0, 0, 2)\n"
     "return %b",
     "cat"},
    {"%x: f32[2,3], %y: f32[2]",
     "%a: f32[2,3] = select_scatter(%x, %y, 1, 2)\n%b: f32[2,3] = select_scatter(%a, %y, 1, 0)\n"
     "%c: f32[2,3] = select_scatter(%b, %y, 1, 1)\nreturn %c",
     "stack"},
    {"%x: f32[2], %y: f32[], %z: f32[]",
     "%a: f32[2] = select_scatter(%x, %y, 0, 0)\n%b: f32[2] = select_scatter(%a, %y, 0, 1)\n"
     "%c: f32[2] = select_scatter(%b, %z, 0, 0)\nreturn %c",
     "stack"},
    {"%x: f32[2,3]",
     "[%a: f32[3], %b: f32[3] offset(3)] = unbind.int(%x)\n%c: f32[3] = add_.Tensor(%a, 1)\n"
     "%d: f32[3] offset(3) = mul_.Tensor(%b, 2)\nreturn",
     "unbind_copy.int add.Tensor mul.Tensor stack"},
    /* one piece of several */
    {"%x: f32[4]",
     "[%a: f32[2], %b: f32[2] offset(2)] = split.Tensor(%x, 2)\n%r: f32[2] = neg(%b)\nreturn %r",
     "slice_copy.Tensor neg"},
    /* casts and clones that change nothing */
    {"%x: f32[4]", "%a: f32[4] = _to_copy(%x, dtype=f32)\n%r: f32[4] = neg(%a)\nreturn %r", "neg"},
    {"%x: f32[4]", "%a: f32[4] = clone(%x)\n%r: f32[4] = neg(%a)\nreturn %r", "neg"},
    {"%x: f32[4]", "%a: f32[4] = dropout_(%x, 0.5, False)\n%r: f32[4] = neg(%a)\nreturn %r", "neg"},
    /* strides that the program asks for, in one step */
    {"%x: f32[2,6]",
     "%a: f32[2,1] stride(1,3) offset(7) = as_strided(%x, [2, 1], [1, 3], 7)\n"
     "%b: f32[2,1] stride(1,3) offset(7) = neg_(%a)\nreturn",
     "as_strided_copy neg as_strided_scatter"},
};

static const row stays[] = {
    {"%x: f32[4]", "%a: f32[4] = rand_like(%x)\n%b: f32[4] = rand_like(%x)\nreturn %a",
     "rand_like rand_like"},
    {"%x: f32[2,3]", "%a: f32[2,3] = clone(%x)\nreturn %a", "clone"},
    {"%x: f32[4]", "%a: f16[4] = _to_copy(%x, dtype=f16)\n%r: f16[4] = neg(%a)\nreturn %r",
     "_to_copy neg"},
    {"%x: f32[4]",
     "%a: f32[4] = _to_copy(%x, device=device(\"meta\"))\n%r: f32[4] = neg(%a)\nreturn %r",
     "_to_copy neg"},
    /* equal only to the program that wrote it: computing operators are not looked at */
    {"%x: f32[4]",
     "%a: f32[4] = neg(%x)\n%b: f32[4] = neg(%x)\n%r: f32[4] = add.Tensor(%a, %b)\n"
     "return %r",
     "neg neg add.Tensor"},
    /* another operator has the view in between */
    {"%x: f32[8]",
     "%a: f32[6] = slice_copy.Tensor(%x, 0, 1, 7)\n%b: f32[2] = slice_copy.Tensor(%a, 0, 1, 3)\n"
     "%r: f32[6] = neg(%a)\nreturn %b, %r",
     "slice_copy.Tensor slice_copy.Tensor neg"},
    /* a hole, a step, and pieces that overlap */
    {"%x: f32[5], %y: f32[2]",
     "%a: f32[5] = slice_scatter(%x, %y, 0, 0, 2)\n%b: f32[5] = slice_scatter(%a, %y, 0, 3, 5)\n"
     "return %b",
     "slice_scatter slice_scatter"},
    {"%x: f32[4], %y: f32[2]",
     "%a: f32[4] = slice_scatter(%x, %y, 0, 0, 4, 2)\n%b: f32[4] = slice_scatter(%a, %y, 0, 1, 4, "
     "2)\nreturn %b",
     "slice_scatter slice_scatter"},
    {"%x: f32[4], %y: f32[3]",
     "%a: f32[4] = slice_scatter(%x, %y, 0, 0, 3)\n%b: f32[4] = slice_scatter(%a, %y, 0, 1, 4)\n"
     "return %b",
     "slice_scatter slice_scatter"},
    /* a run whose middle is read as a whole */
    {"%x: f32[4], %y: f32[2]",
     "%a: f32[4] = slice_scatter(%x, %y, 0, 0, 2)\n%r: f32[4] = neg(%a)\n"
     "%b: f32[4] = slice_scatter(%a, %y, 0, 2, 4)\nreturn %b, %r",
     "slice_scatter neg slice_scatter"},
    /* elements that are shown twice may be read, not taken for the elements put there */
    {"%x: f32[3], %y: f32[2,2]",
     "%s: f32[3] = as_strided_scatter(%x, %y, [2, 2], [1, 1], 0)\n"
     "%a: f32[2,2] = as_strided_copy(%s, [2, 2], [1, 1], 0)\nreturn %a",
     "as_strided_scatter as_strided_copy"},
};

static const row strided[] = {
    {"%x: f32[2,3]",
     "%t: f32[3,2] stride(1,3) = t(%x)\n%s: f32[2] stride(3) offset(1) = select.int(%t, 0, 1)\n"
     "%a: f32[2] stride(3) offset(1) = add_.Tensor(%s, 1)\nreturn %t",
     "as_strided_copy add.Tensor as_strided_scatter as_strided_copy"},
    {"%x: f32[4]",
     "[%a: f32[2], %b: f32[2] offset(2)] = split.Tensor(%x, 2)\n%c: f32[2] = add_.Tensor(%a, 1)\n"
     "%d: f32[2] offset(2) = add_.Tensor(%b, %c)\nreturn",
     "as_strided_copy add.Tensor as_strided_copy add.Tensor as_strided_scatter as_strided_scatter"},
    /* memory in another order than the dimensions is put in order first */
    {"%x: f32[2,3] stride(1,2)",
     "%s: f32[3] stride(2) = select.int(%x, 0, 0)\n%r: f32[3] = neg(%s)\nreturn %r",
     "permute_copy as_strided_copy neg"},
    /* a root with gaps: PyTorch would read its memory by their strides; so its value is cloned */
    {"%x: f32[2,3] stride(6,2)",
     "%s: f32[6] stride(2) = as_strided(%x, [6], [2], 0)\n"
     "%a: f32[2] stride(6) offset(2) = select.int(%x, 1, 1)\n%r: f32[2] = neg(%a)\nreturn %r",
     "clone as_strided_copy neg"},
    /* another dtype, and lazy bits, take a step more */
    {"%x: i16[2,4]",
     "%v: i32[2,2] = view.dtype(%x, i32)\n%s: i32[2] stride(2) = select.int(%v, 1, 0)\n"
     "%r: i32[2] = neg(%s)\nreturn %r",
     "view_copy view_copy.dtype as_strided_copy neg"},
    {"%x: f32[3], %y: f32[0]",
     "%a: f32[0] = slice.Tensor(%x, 0, 3)\n%r: f32[0] = neg(%a)\nreturn %r", "full neg"},
};

/* --- trying them ------------------------------------------------------------------------------ */
static void text_of(const fnz_program *p, fnz_buffer *out) {
  *out = (fnz_buffer){0};
  OK(ctx, fnz_program_write(ctx, p, FNZ_FORMAT_TEXT, out));
}

static void has_ops(const fnz_program *p, const row *r) {
  char ops[512] = "";
  fnz_buffer text;
  for (size_t n = 0; n < fnz_node_count(p, 0); n++) {
    size_t length = strlen(ops);
    snprintf(ops + length, sizeof ops - length, "%s%s", n ? " " : "",
             fnzi_node_target(fnzi_node_at(p, 0, (uint32_t)n)));
  }
  if (!strcmp(ops, r->ops))
    return;
  text_of(p, &text);
  ck_abort_msg("%s\nbecame\n%s\nand not %s", r->body, text.data, r->ops);
}

static void is_final(const fnz_program *p, const fnz_functionalize_options *options) {
  fnz_program *again;
  fnz_buffer a, b;
  OK(ctx, fnz_functionalize(ctx, p, options, &again));
  text_of(p, &a);
  text_of(again, &b);
  ck_assert_str_eq(a.data, b.data);
  fnz_buffer_free(ctx, &a);
  fnz_buffer_free(ctx, &b);
  fnz_program_destroy(again);
}

static void try_rows(const row *rows, size_t count, fnz_views views) {
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  options.views = views;
  begin();
  for (size_t i = 0; i < count; i++) {
    fnz_program *p = program_of(ctx, rows[i].inputs, rows[i].body), *f;
    OK(ctx, fnz_functionalize(ctx, p, &options, &f));
    has_ops(f, &rows[i]);
    OK(ctx, fnz_verify(ctx, p, f, NULL, NULL, NULL));
    is_final(f, &options);
    fnz_program_destroy(f);
    fnz_program_destroy(p);
  }
  end();
}

START_TEST(what_disappears) {
  try_rows(disappears, sizeof disappears / sizeof *disappears, FNZ_VIEWS_COPY);
}
END_TEST

START_TEST(what_stays) {
  try_rows(stays, sizeof stays / sizeof *stays, FNZ_VIEWS_COPY);
}
END_TEST

START_TEST(strides_only) {
  try_rows(strided, sizeof strided / sizeof *strided, FNZ_VIEWS_STRIDED);
}
END_TEST

/* The rows mean the same in every dialect. */
START_TEST(all_rows_in_all_dialects) {
  const struct {
    const row *rows;
    size_t count;
  } all[] = {{disappears, sizeof disappears / sizeof *disappears},
             {stays, sizeof stays / sizeof *stays},
             {strided, sizeof strided / sizeof *strided}};
  fnz_functionalize_options options = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  begin();
  for (size_t k = 0; k < 3; k++)
    for (size_t i = 0; i < 3 * all[k].count; i++) {
      const row *r = &all[k].rows[i / 3];
      fnz_program *p = program_of(ctx, r->inputs, r->body), *f;
      options.views = (fnz_views)(i % 3);
      OK(ctx, fnz_functionalize(ctx, p, &options, &f));
      OK(ctx, fnz_verify(ctx, p, f, NULL, NULL, NULL));
      fnz_program_destroy(f);
      fnz_program_destroy(p);
    }
  end();
}
END_TEST

/* A returned tensor keeps eager's strides, whatever else is equal to it. */
START_TEST(returned_strides_are_eagers) {
  begin();
  fnz_program *f, *p = program_of(ctx, "%x: f32[2,3]",
                                  "%n: f32[2,3] = neg(%x)\n%t: f32[3,2] stride(1,3) = t(%n)\n"
                                  "%c: f32[3,2] = clone(%t, memory_format=contiguous_format)\n"
                                  "return %t, %c");
  static const int64_t wanted[2][2] = {{1, 3}, {2, 1}};
  OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
  const fnzi_graph *g = fnzi_graph_main(f);
  ck_assert_uint_eq(g->noutputs, 2);
  for (int k = 0; k < 2; k++) {
    const fnz_geometry *out = fnzi_value_at(f, 0, g->outputs[k].u.value)->geometry;
    ck_assert_int_eq(out->strides[0], wanted[k][0]);
    ck_assert_int_eq(out->strides[1], wanted[k][1]);
  }
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* The text, which ends here, is a program that becomes one of so many nodes. */
static void becomes(char *text, size_t size, size_t nodes) {
  fnz_program *f, *p;
  begin();
  OK(ctx, fnz_program_read(ctx, text, size, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
  ck_assert_uint_eq(fnz_node_count(f, 0), nodes);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  free(text);
  end();
}

/* A run of scatters that does not cover its base is walked once, not from each of its members. */
START_TEST(long_runs) {
  enum { PIECES = 4000 };
  size_t size = 80 * PIECES, at = 0;
  char *text = malloc(size);
  ck_assert_ptr_nonnull(text);
  at += (size_t)snprintf(text, size, "fnz 1\nprogram(%%s0: f32[%d], %%y: f32[])\n{\n", PIECES + 1);
  for (int i = 0; i < PIECES; i++)
    at += (size_t)snprintf(text + at, size - at,
                           "%%s%d: f32[%d] = select_scatter(%%s%d, %%y, 0, %d)\n", i + 1,
                           PIECES + 1, i, i);
  at += (size_t)snprintf(text + at, size - at, "return %%s%d\n}\n", PIECES);
  becomes(text, at, PIECES); /* the last place is not covered */
}
END_TEST

/* Some find the last thing to take away after many rounds over more than a thousand nodes. */
START_TEST(many_rounds) {
  fnz_buffer text;
  fnz_program *p, *f;
  begin();
  OK(ctx, fnz_file_read(ctx, FNZ_SOURCE_DIR "/fixtures/functionalize/many_rounds.fnz", &text));
  OK(ctx, fnz_program_read(ctx, text.data, text.size, FNZ_FORMAT_TEXT, &p));
  OK(ctx, fnz_functionalize(ctx, p, NULL, &f));
  ck_assert_uint_gt(fnz_node_count(f, 0), 1024);
  is_final(f, NULL);
  fnz_buffer_free(ctx, &text);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  end();
}
END_TEST

/* Rows that are read and written one after the other, more of them than a storage keeps apart: each
 * is read where it lay before the first write, whatever was put beside it in the meantime. */
static void write_rows(bool backwards) {
  enum { ROWS = 200 };
  size_t size = 160 * ROWS, at = 0;
  char *text = malloc(size);
  ck_assert_ptr_nonnull(text);
  at += (size_t)snprintf(text, size, "fnz 1\nprogram(%%x: f32[%d,2])\n{\n", ROWS);
  for (int i = 0; i < ROWS; i++) {
    int row = backwards ? ROWS - 1 - i : i;
    at += (size_t)snprintf(text + at, size - at,
                           "%%v%d: f32[1,2] offset(%d) = slice.Tensor(%%x, 0, %d, %d)\n"
                           "%%w%d: f32[1,2] offset(%d) = add_.Scalar(%%v%d, 1)\n",
                           i, 2 * row, row, row + 1, i, 2 * row, i);
  }
  at += (size_t)snprintf(text + at, size - at, "return %%x\n}\n");
  becomes(text, at, 2 * ROWS + 1); /* a slice and a sum each, and one cat */
}

START_TEST(rows_in_turn) {
  write_rows(false);
  write_rows(true);
}
END_TEST

static fnz_status functionalize_row(fnz_context *c, const void *user) {
  const row *r = user;
  char text[1024];
  fnz_program *p = NULL, *f = NULL;
  int size = snprintf(text, sizeof text, "fnz 1\nprogram(\n%s)\n{\n%s\n}\n", r->inputs, r->body);
  fnz_status status = fnz_program_read(c, text, (size_t)size, FNZ_FORMAT_TEXT, &p);
  if (status == FNZ_OK)
    status = fnz_functionalize(c, p, NULL, &f);
  fnz_program_destroy(f);
  fnz_program_destroy(p);
  return status;
}

START_TEST(out_of_memory) {
  for (size_t i = 0; i < sizeof disappears / sizeof *disappears; i += 3)
    ck_assert_uint_gt(each_fault(functionalize_row, &disappears[i]), 10);
}
END_TEST

RUN_SUITE("tidy", what_disappears, what_stays, strides_only, all_rows_in_all_dialects,
          returned_strides_are_eagers, long_runs, rows_in_turn, many_rounds, out_of_memory)
