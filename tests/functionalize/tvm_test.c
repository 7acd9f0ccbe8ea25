/* checks: 4
 *
 * tvm_test.c - calls that TVM's importer lacks or takes wrongly: another call is written, with the
 * same numbers; calls that it takes rightly stay. */
#include "program/program.h"
#include "tests/help/drawn.h"
#include "tests/help/run_help.h"

#include <fnz/targets.h>

static fnz_context *ctx;

/* The operators that are written, in order, and the same numbers. */
static void expect(const char *inputs, const char *call, const char *want) {
  char body[512], text[512] = "";
  size_t used = 0;
  fnz_program *made, *p;
  snprintf(body, sizeof body, "  %%r: %s\n  return %%r", call);
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  p = program_of(ctx, inputs, body);
  OK(ctx, fnz_target_prepare(ctx, fnz_target_find("tvm"), p, &made));
  const fnzi_graph *g = fnzi_graph_main(made);
  for (size_t n = 0; n < g->nodes.count; n++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s ",
                             fnzi_node_target(&g->nodes.data[n]));
  ck_assert_msg(strcmp(text, want) == 0, "%s: %s, not %s", call, text, want);
  check_same(ctx, p, made, call);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}

/* --- extremes --------------------------------------------------------------------------------- */
START_TEST(extremes_are_maxima) {
  expect("%x: f32[2,3,4]", "f32[] = amax(%x)", "max ");
  expect("%x: f32[2,3,4]", "f32[2,4] = amax(%x, [1])", "max.dim ");
  expect("%x: f32[2,3,4]", "f32[1,3,1] = amax(%x, [0, -1], True)", "max.dim max.dim ");
  expect("%x: f32[2,3,4]", "f32[3] = amin(%x, [0, 2])", "neg max.dim max.dim neg ");
  expect("%x: i64[2,3,4]", "i64[2,1,4] = amin(%x, [1], True)", "bitwise_not max.dim bitwise_not ");
  expect("%x: bool[2,3]", "bool[2] = amin(%x, [1])",
         "_to_copy bitwise_not max.dim bitwise_not _to_copy ");
}
END_TEST

/* --- indices ---------------------------------------------------------------------------------- */
START_TEST(indices_are_those_of_every_dimension) {
  static const char inputs[] = "%x: f32[3,4,5], %i: i64[2], %j: i64[3,1], %m: bool[3,4],"
                               " %v: f32[5], %w: f32[2,4], %u: f32[3,2,5]";
  expect(inputs, "f32[3,4,5] = index_put(%x, [%i], %v)",
         "arange arange view view view expand index_put ");
  expect(inputs, "f32[3,4,5] = index_put(%x, [%i, None, %i], %w)", "arange view view index_put ");
  expect(inputs, "f32[3,4,5] = index_put(%x, [%j, %i], %u)", "arange view view view index_put ");
  expect(inputs, "f32[3,4,5] = index_put(%x, [%m], %v)", "view where.self ");
  expect(inputs, "f32[3,4,5] = index_put(%x, [%i], %v, True)",
         "remainder.Scalar arange view view eq.Tensor expand clone full view where.self "
         "sum.dim_IntList view add.Tensor view ");
  expect(inputs, "f32[3,4,5] = index_put(%x, [%i, None, %i], %w, True)",
         "remainder.Scalar remainder.Scalar mul.Scalar add.Tensor arange view view eq.Tensor "
         "permute clone full where.self sum.dim_IntList view add.Tensor view permute clone ");
  expect("%x: f32[3,4], %i: i64[2,4], %v: f32[3,4]", "f32[3,4] = scatter_add(%x, 0, %i, %v)",
         "arange view unsqueeze eq.Tensor full slice.Tensor unsqueeze where.self sum.dim_IntList "
         "add.Tensor ");
  expect(inputs, "f32[3,3,2] = index.Tensor(%x, [None, %j, %i])",
         "remainder.Scalar remainder.Scalar permute index.Tensor permute clone ");
  expect(inputs, "f32[2,4] = index.Tensor(%x, [%i, None, %i])",
         "remainder.Scalar remainder.Scalar permute index.Tensor ");
  expect(inputs, "f32[3,5] = select.int(%x, 1, -1)", "select.int ");
}
END_TEST

/* --- arithmetic ------------------------------------------------------------------------------- */
START_TEST(operands_have_one_dtype) {
  static const char inputs[] = "%x: f32[3], %y: f32[3], %i: i64[3], %b: bool[3]";
  expect(inputs, "f32[3] = add.Tensor(%x, %y, alpha=2)", "mul.Scalar add.Tensor ");
  expect(inputs, "f32[3] = sub.Tensor(%x, 3, alpha=2)", "full mul.Scalar sub.Tensor ");
  expect(inputs, "f32[3] = rsub.Scalar(%x, 3, 2)", "full mul.Scalar sub.Tensor ");
  expect(inputs, "f32[3] = mul.Tensor(%i, 0.5)", "_to_copy mul.Tensor ");
  expect(inputs, "bool[3] = lt.Scalar(%i, 0.5)", "_to_copy lt.Scalar ");
  expect(inputs, "f32[3] = div.Tensor(%i, 4)", "_to_copy div.Tensor ");
  expect(inputs, "f32[3] = where.self(%b, %i, %x)", "_to_copy where.self ");
  expect(inputs, "i64[3] = cumsum(%b, 0)", "_to_copy cumsum ");
  expect(inputs, "i64[3] = cumprod(%b, 0)", "_to_copy cumprod ");
  expect("%x: i64[2,3]", "bool[2] = any.dim(%x, 1)", "ne.Scalar any.dim ");
  expect("%x: f32[2,3]", "f32[2,3] = hardtanh(%x, 0.0, 6.0)", "clamp ");
  expect("%x: f32[2,3]", "f32[2,3] = clamp_max(%x, 0.5)", "clamp ");
}
END_TEST

START_TEST(what_is_taken_rightly_stays) {
  expect("%x: f32[3,4], %i: i64[2], %v: f32[2]", "f32[3,4] = index_put(%x, [%i, %i], %v)",
         "index_put ");
  expect("%x: f32[3]", "f32[3] = cumprod(%x, 0)", "cumprod ");
  expect("%x: f32[3,4]", "f32[4] = select.int(%x, 0, 1)", "select.int ");
  expect("%x: f32[3], %y: f32[3]", "f32[3] = add.Tensor(%x, %y)", "add.Tensor ");
  expect("%x: i64[3]", "i64[3] = mul.Tensor(%x, 2)", "mul.Tensor ");
  expect("%x: f32[3], %i: i64[3]", "f32[3] = sub.Tensor(%x, 2)", "sub.Tensor ");
  expect("%x: f32[3]", "f32[3] = div.Tensor(%x, 2)", "div.Tensor ");
  expect("%x: f32[3]", "f32[3] = cumsum(%x, 0)", "cumsum ");
}
END_TEST

RUN_SUITE("tvm", extremes_are_maxima, indices_are_those_of_every_dimension, operands_have_one_dtype,
          what_is_taken_rightly_stays)
