/* checks: 9
 *
 * targets_test.c - consumers: their lists, operators that stay whole, operators that are taken
 * apart though a list has them, and the forms that they need. */
#include "program/program.h"
#include "tests/help/run_help.h"

#include <fnz/targets.h>

static fnz_context *ctx;

/* The operators of the program that a target gets, in order. */
static void expect(const char *target, const char *inputs, const char *body, const char *want) {
  char text[512] = "";
  size_t used = 0;
  fnz_program *made, *p;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  p = program_of(ctx, inputs, body);
  OK(ctx, fnz_target_prepare(ctx, fnz_target_find(target), p, &made));
  const fnzi_graph *g = fnzi_graph_main(made);
  for (size_t n = 0; n < g->nodes.count; n++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s ",
                             fnzi_node_target(&g->nodes.data[n]));
  ck_assert_msg(strcmp(text, want) == 0, "%s: %s, not %s", target, text, want);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}

/* The program that a target gets has the line. */
static void expect_line(const char *target, const char *inputs, const char *body,
                        const char *line) {
  fnz_buffer text = {0};
  fnz_program *made, *p;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  p = program_of(ctx, inputs, body);
  OK(ctx, fnz_target_prepare(ctx, fnz_target_find(target), p, &made));
  OK(ctx, fnz_program_write(ctx, made, FNZ_FORMAT_TEXT, &text));
  ck_assert_msg(strstr(text.data, line) != NULL, "%s: %s", target, text.data);
  fnz_buffer_free(ctx, &text);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}

START_TEST(a_target_has_a_set_and_a_source) {
  size_t i = 0;
  for (const fnz_target *t; (t = fnz_target_at(i)) != NULL; i++) {
    ck_assert_ptr_eq(fnz_target_find(t->name), t);
    ck_assert_msg(fnz_decomposition_keeps(t->set, fnz_op_find(NULL, "relu")), "%s", t->name);
    ck_assert_msg(!fnz_decomposition_keeps(t->set, fnz_op_find(NULL, "_foreach_exp")), "%s",
                  t->name);
    ck_assert_msg(strlen(fnz_target_read_from(t)) > 4, "%s", t->name);
    ck_assert_int_eq(t->format, strcmp(t->name, "iree") ? FNZ_FORMAT_PT2 : FNZ_FORMAT_MLIR);
  }
  ck_assert_uint_eq(i, 7);
  ck_assert_ptr_null(fnz_target_find("none"));
  ck_assert_ptr_null(fnz_target_find(NULL));
  ck_assert_ptr_nonnull(strstr(fnz_target_read_from(fnz_target_find("onnx")), "onnxscript "));
}
END_TEST

START_TEST(what_a_target_takes_stays_whole) {
  static const char inputs[] = "%x: f32[2,3,4], %w: f32[5,4], %b: f32[5]";
  static const char body[] = "  %y: f32[2,3,5] = linear(%x, %w, %b)\n"
                             "  %z: f32[2,3,5] = silu(%y)\n  return %z";
  expect("onnx", inputs, body, "linear silu ");
  expect("coreml", inputs, body, "linear silu ");
  expect("openvino", inputs, body, "linear silu ");
  expect("executorch", inputs, body, "view permute addmm view sigmoid mul.Tensor ");
  expect("torch-mlir", inputs, body, "linear silu ");
  expect("iree", inputs, body, "linear silu ");
}
END_TEST

START_TEST(steps_that_a_target_lacks_leave_it_whole) {
  static const char inputs[] = "%x: f32[2,3]";
  static const char body[] = "  %a: f32[2], %b: f32[2] = aminmax(%x, dim=1)\n  return %a, %b";
  const fnz_decompose_options tvm = {sizeof tvm, "tvm", NULL, 0, NULL, 0, FNZ_VIEWS_KEEP, NULL};
  expect("onnx", inputs, body, "amin amax ");
  expect("tvm", inputs, body, "neg max.dim neg max.dim ");
  ck_assert_ptr_nonnull(
      strstr(fnz_decomposition_why_left(&tvm, fnz_op_find(NULL, "aminmax")), "in the list"));
}
END_TEST

START_TEST(what_a_target_makes_wrong_is_taken_apart) {
  static const char inputs[] = "%x: f32[4,6], %w: f32[6], %b: f32[6], %m: f32[6], %v: f32[6]";
  static const char training[] =
      "  %y: f32[4,6] = batch_norm(%x, %w, %b, %m, %v, True, 0.1, 1e-5, False)\n  return %y";
  char text[4096] = "";
  fnz_program *made, *p;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  p = program_of(ctx, inputs, training);
  OK(ctx, fnz_target_prepare(ctx, fnz_target_find("onnx"), p, &made));
  const fnzi_graph *g = fnzi_graph_main(made);
  for (size_t n = 0; n < g->nodes.count; n++)
    strcat(strcat(text, fnzi_node_target(&g->nodes.data[n])), " ");
  ck_assert_ptr_null(strstr(text, "batch_norm "));
  ck_assert_ptr_null(strstr(text, "legit_functional"));
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* The list has the operator, and the consumer takes some calls of it alone. */
START_TEST(calls_that_a_target_takes_wrongly_are_mended) {
  static const char batch[] = "%x: f32[4,6], %w: f32[6], %b: f32[6], %m: f32[6], %v: f32[6]";
  static const char tensor[] = "%x: f32[2,3]";
  static const char places[] = "%x: f32[3,4], %i: i64[2], %v: f32[3,2], %w: f32[2]";
  static const char all[] = "  %a: f32[] = amax(%x)\n  return %a";
  static const char each[] = "  %a: f32[2] = amax(%x, [1])\n  return %a";
  static const char columns[] = "  %a: f32[3,4] = index_put(%x, [None, %i], %v)\n  return %a";
  static const char both[] = "  %a: f32[3,4] = index_put(%x, [%i, %i], %w)\n  return %a";
  static const char given[] = "  %y: f32[4,6] = batch_norm(%x, %w, %b, %m, %v, False, 0.1, 1e-5,"
                              " False)\n  return %y";
  static const char *const targets[] = {"tvm", "openvino", "coreml"};
  static const char norm[] = "  %y: f32[4,6], %a: f32[6], %c: f32[6], %n: f32[6], %u: f32[6] ="
                             " _native_batch_norm_legit_functional(%x, %w, %b, %m, %v, True, 0.1,"
                             " 1e-5)\n  return %y, %n, %u";
  static const char made[] = "mean.dim var.correction var.correction add.Scalar sqrt reciprocal "
                             "view sub.Tensor view mul.Tensor view mul.Tensor view add.Tensor "
                             "mul.Scalar mul.Scalar add.Tensor mul.Scalar mul.Scalar add.Tensor ";
  for (size_t i = 0; i < sizeof targets / sizeof *targets; i++)
    expect(targets[i], batch, norm, made);
  expect("coreml", batch, given, "batch_norm ");
  expect_line("onnx", tensor, all, "amax(%x, [0, 1], False)");
  expect("tvm", tensor, all, "max ");
  expect("onnx", tensor, each, "amax ");
  expect("onnx", places, columns, "index_put ");
  expect("tvm", places, columns, "arange view view index_put ");
  expect("tvm", places, both, "index_put ");
  expect("executorch", tensor, "  %a: f32[1,3,2] = unfold_copy(%x, 0, 2, 1)\n  return %a",
         "arange mul.Scalar arange unsqueeze add.Tensor view index_select view permute clone ");
}
END_TEST

/* Core ML Tools does not see some dtypes and dimensions. */
START_TEST(calls_for_core_ml_say_all) {
  static const char inputs[] = "%x: f32[4,6], %i: i64[3,4], %b: bool[2,3]";
  static const struct {
    const char *body, *want;
  } rows[] = {
      {"  %y: bool[4,6] = zeros_like(%x, dtype=bool)\n  return %y", "full "},
      {"  %y: i64[3,4] = floor_divide(%i, %i)\n  return %y", "div.Tensor_mode _to_copy "},
      {"  %y: f32[4,6] = floor_divide(%x, %x)\n  return %y", "div.Tensor_mode "},
      {"  %y: i64[] = sum(%b)\n  return %y", "_to_copy sum "},
      {"  %y: i64[3] = sum.dim_IntList(%i, [1])\n  return %y", "sum.dim_IntList "},
      {"  %y: f32[3] = sum.dim_IntList(%i, [1], dtype=f32)\n  return %y",
       "_to_copy sum.dim_IntList "},
      {"  %y: i64[] = argmax(%x)\n  return %y", "view argmax "},
      {"  %y: i64[4] = argmax(%x, 1)\n  return %y", "argmax "},
      {"  %y: f32[4] stride(7) = diagonal(%x)\n  return %y", "view slice.Tensor "},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    expect("coreml", inputs, rows[i].body, rows[i].want);
}
END_TEST

/* OpenVINO takes a value as a result once, and no copy or alias makes another one of it. */
START_TEST(results_are_values_of_their_own) {
  static const char inputs[] = "%x: f32[2,3]";
  static const char twice[] = "  %y: f32[2,3] = relu(%x)\n  return %y, %y";
  static const char input[] = "  %y: f32[2,3] = relu(%x)\n  return %x, %y";
  static const char written[] = "  %y: f32[2,3] = relu_(%x)\n  return %y";
  expect("openvino", inputs, twice, "relu expand ");
  expect("openvino", inputs, input, "relu expand ");
  expect("openvino", inputs, written, "relu expand ");
  expect("onnx", inputs, twice, "relu ");
  expect_line("openvino", inputs, twice, "expand(%relu, [-1, -1])");
}
END_TEST

START_TEST(copies_of_views_become_views) {
  static const char inputs[] = "%x: f32[2,3]";
  static const char body[] = "  %a: f32[3,2] = t_copy(%x)\n  return %a";
  expect("onnx", inputs, body, "t clone ");
  expect("executorch", inputs, body, "t clone ");
  expect("onnx", "%x: f32[0,3]",
         "  %v: f32[0,2] stride(3,1) = slice.Tensor(%x, 1, 0, 2)\n"
         "  %a: f32[0,2] stride(3,1) = add_.Scalar(%v, 1)\n  %b: f32[3,0] = t(%x)\n  return %b",
         "t "); /* nothing is written */
}
END_TEST

/* The first way that leads to the list, up or aside; and none where a step would leave it. */
START_TEST(ways_are_chosen_by_the_list) {
  static const char inputs[] = "%x: f32[2,3]";
  static const char extreme[] = "  %a: f32[2], %b: i64[2] = max.dim(%x, 1, False)\n  return %a, %b";
  static const char norm[] = "  %y: f32[2,3], %m: f32[2,1], %r: f32[2,1] ="
                             " native_layer_norm(%x, [3], None, None, 1e-5)\n  return ";
  static const char two[] = "%x: f32[2,3], %s: f32[3]";
  static const char scatter[] = "  %a: f32[2,3] = select_scatter(%x, %s, 0, -1)\n  return %a";
  char body[256];
  expect("coreml", inputs, extreme, "amax argmax ");
  expect("onnx", inputs, extreme, "max.dim ");
  expect("coreml", two, scatter, "select_scatter ");
  expect("tvm", two, scatter, "unsqueeze slice_scatter ");
  snprintf(body, sizeof body, "%s%%y", norm);
  expect("coreml", inputs, body, "layer_norm ");
  expect("tvm", inputs, body, "native_layer_norm ");
  snprintf(body, sizeof body, "%s%%m", norm); /* a result that layer_norm does not have is read */
  expect("coreml", inputs, body, "sum.dim_IntList div.Scalar ");
}
END_TEST

RUN_SUITE("targets", a_target_has_a_set_and_a_source, what_a_target_takes_stays_whole,
          steps_that_a_target_lacks_leave_it_whole, what_a_target_makes_wrong_is_taken_apart,
          calls_for_core_ml_say_all, results_are_values_of_their_own, copies_of_views_become_views,
          calls_that_a_target_takes_wrongly_are_mended, ways_are_chosen_by_the_list)
