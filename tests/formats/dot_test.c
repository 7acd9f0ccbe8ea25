/* checks: 6
 * dot_test.c - pictures: boxes with call, window and line, a legend in a column, arrows from writes
 * to who sees them, and no crowd of weights. */
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <stdio.h>

static fnz_buffer picture;

static fnz_status draw(fnz_context *c, const void *text) {
  fnz_program *p = NULL;
  fnz_status status = fnz_program_read(c, text, strlen(text), FNZ_FORMAT_TEXT, &p);
  picture = (fnz_buffer){NULL, 0, 0};
  if (status == FNZ_OK)
    status = fnz_program_write(c, p, FNZ_FORMAT_DOT, &picture);
  fnz_program_destroy(p);
  return status;
}

static void has(const char *wanted) {
  ck_assert_msg(strstr(picture.data, wanted) != NULL, "no %s in %s", wanted, picture.data);
}

static void has_not(const char *unwanted) {
  ck_assert_msg(!strstr(picture.data, unwanted), "%s in %s", unwanted, picture.data);
}

/* The arrow of a write that another node sees. */
#define SEES(writer, reader) writer " -> " reader " [color=orangered"

static const char cache[] = "fnz 1\n"
                            "program(%x: f32[4,8], %h: f32[8] buffer \"odd \\\"name\" persistent)\n"
                            "{\n"
                            "%s: f32[8] = select.int(%x, 0, 0)  at \"lib/m.py:3\"\n"
                            "%w: f32[8] = add_.Tensor(%s, %h)\n"
                            "%l: f32[2,8] offset(16) = slice.Tensor(%x, 0, 2, 4)\n"
                            "%n: f32[2,8] = neg(%l)\n"
                            "%y: f32[4,8] = mul.Scalar(%x, 2)\n"
                            "%f: f32[4,8] = fill_.Scalar(%x, 1)\n"
                            "%z: f32[4,8] = exp(%x)\n"
                            "return %n, %y, %z, %s\n"
                            "}\n";

START_TEST(boxes_have_call_window_and_line) {
  begin();
  OK(ctx, draw(ctx, cache));
  has("g0n0 [label=\"%s = select.int(%x, 0, 0)\\nf32[8]\\nm.py:3\", fillcolor=lightblue]");
  has("g0n2 [label=\"%l = slice.Tensor(%x, 0, 2, 4)\\nf32[2,8] offset(16)\", fillcolor=lightblue]");
  has("g0n1 [label=\"%w = add_.Tensor(%s, %h)\\nf32[8]\", fillcolor=lightsalmon]");
  has("label=\"output 0\"");
  fnz_buffer_free(ctx, &picture);
  end();
}
END_TEST

/* Nodes that read row 0 see the write to it, until all rows are filled. */
START_TEST(writes_lead_to_who_sees_them) {
  begin();
  OK(ctx, draw(ctx, cache));
  has(SEES("g0n1", "g0n4"));
  has_not(SEES("g0n1", "g0n3"));
  has_not(SEES("g0n1", "g0n6"));
  has(SEES("g0n5", "g0n6"));
  has(SEES("g0n5", "g0out3"));
  has_not(SEES("g0n1", "g0out3"));
  fnz_buffer_free(ctx, &picture);
  /* reshape() of a transposed tensor is a copy, and of a row-major one a view. */
  OK(ctx, draw(ctx, "fnz 1\nprogram(%x: f32[4,8]) {\n%t: f32[8,4] stride(1,8) = t(%x)\n"
                    "%c: f32[32] = reshape(%t, [32])\n%v: f32[32] = reshape(%x, [32])\n"
                    "%f: f32[4,8] = fill_.Scalar(%x, 1)\n%a: f32[32] = neg(%c)\n"
                    "%b: f32[32] = neg(%v)\nreturn %a, %b }\n"));
  has_not(SEES("g0n3", "g0n4"));
  has(SEES("g0n3", "g0n5"));
  fnz_buffer_free(ctx, &picture);
  end();
}
END_TEST

/* Only what the program has, one row of a table for each. */
START_TEST(the_legend_is_a_column) {
  begin();
  OK(ctx, draw(ctx, cache));
  has("<tr><td align=\"left\" bgcolor=\"lightblue\">view: shares memory with its argument</td></tr>"
      "<tr>");
  has("orange arrow: sees what was written");
  has_not("puts a window back");
  has_not("weights that are only read");
  fnz_buffer_free(ctx, &picture);
  OK(ctx, draw(ctx, "fnz 1\nprogram(%x: f32[4]) {\n%y: f32[4] = neg(%x)\nreturn %y }\n"));
  has_not("orange arrow");
  fnz_buffer_free(ctx, &picture);
  end();
}
END_TEST

/* Ten parameters. The last one is written. */
START_TEST(many_weights_have_no_ellipses) {
  begin();
  char text[2048] = "fnz 1\nprogram(%x: f32[2]";
  for (int k = 0; k < 10; k++)
    sprintf(text + strlen(text), ", %%p%d: f32[2] parameter \"p%d\"", k, k);
  strcat(text, ") {\n%y0: f32[2] = add.Tensor(%x, %p0)\n");
  for (int k = 1; k < 9; k++)
    sprintf(text + strlen(text), "%%y%d: f32[2] = add.Tensor(%%y%d, %%p%d)\n", k, k - 1, k);
  strcat(text, "%w: f32[2] = add_.Tensor(%p9, %x)\nreturn %y8 }\n");
  OK(ctx, draw(ctx, text));
  has("weights that are only read are named in boxes");
  has("label=\"x\\n");
  has("label=\"p9\\n");
  has_not("label=\"p0\\n");
  has("%y0 = add.Tensor(%x, %p0)");
  fnz_buffer_free(ctx, &picture);
  end();
}
END_TEST

START_TEST(bodies_and_state_are_marked) {
  begin();
  OK(ctx, draw(ctx, "fnz 1\nprogram(%p: bool[], %x: f32[3]) {\n"
                    "%y: f32[3] = higher_order.cond(%p, @yes, @no, [%x])\n"
                    "%a: f32[3] = copy(%x, %y)\nreturn %a input_mutation \"x\", %y }\n"
                    "graph yes(%x: f32[3]) {\n%c: f32[3] = clone(%x)\n%w: f32[3] = neg_(%c)\n"
                    "return %c }\ngraph no(%x: f32[3]) {\n%n: f32[3] = neg(%x)\nreturn %n }\n"));
  has("fillcolor=plum, label=\"output 0\\ninput_mutation\\nx\"");
  has("label=\"yes\"");
  has("g1out0 -> g0n0 [style=dashed];");
  has(SEES("g1n1", "g1out0"));
  fnz_buffer_free(ctx, &picture);
  end();
}
END_TEST

static fnz_status draw_and_drop(fnz_context *c, const void *text) {
  fnz_status status = draw(c, text);
  fnz_buffer_free(c, &picture);
  return status;
}

START_TEST(out_of_memory_is_an_error) {
  ck_assert_uint_gt(each_fault(draw_and_drop, cache), 10);
}
END_TEST

RUN_SUITE("dot", boxes_have_call_window_and_line, writes_lead_to_who_sees_them,
          the_legend_is_a_column, many_weights_have_no_ellipses, bodies_and_state_are_marked,
          out_of_memory_is_an_error)
