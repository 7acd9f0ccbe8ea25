/* checks: 7
 *
 * decompose_test.c - operators taken apart: which ones are left, that results stay the same,
 * refusals. */
#include "program/program.h"
#include "tests/help/faults.h"
#include "tests/help/drawn.h"
#include "tests/help/run_help.h"

#include <math.h>

static fnz_context *ctx;

static fnz_program *taken_apart(const fnz_program *p, const fnz_decompose_options *o) {
  fnz_program *functional, *made;
  OK(ctx, fnz_functionalize(ctx, p, NULL, &functional));
  OK(ctx, fnz_decompose(ctx, functional, o, &made));
  fnz_program_destroy(functional);
  return made;
}

/* --- what is left ----------------------------------------------------------------------------- */
static const char inputs[] = "%x: f32[2,3,4], %w: f32[5,4], %b: f32[5]";
static const char body[] = "  %y: f32[2,3,5] = linear(%x, %w, %b)\n"
                           "  %z: f32[2,3,5] = silu(%y)\n  return %z";

static void expect(const fnz_decompose_options *o, const char *want) {
  char text[512] = "";
  size_t used = 0;
  fnz_program *p = program_of(ctx, inputs, body), *made = taken_apart(p, o);
  const fnzi_graph *g = fnzi_graph_main(made);
  for (size_t n = 0; n < g->nodes.count; n++)
    used += (size_t)snprintf(text + used, sizeof text - used, "%s ",
                             fnzi_node_target(&g->nodes.data[n]));
  ck_assert_str_eq(text, want);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
}

START_TEST(a_set_names_what_is_left) {
  static const char *const silu[] = {"silu"}, *const linear[] = {"aten::linear.default"};
  fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  expect(NULL, "view_copy permute_copy addmm view_copy sigmoid mul.Tensor ");
  o.keep = silu;
  o.nkeep = 1;
  expect(&o, "view_copy permute_copy addmm view_copy silu ");
  o.set = "prims";
  expect(&o, "view_copy permute_copy mm add.Tensor view_copy silu ");
  o = (fnz_decompose_options)FNZ_DECOMPOSE_OPTIONS_INIT;
  o.views = FNZ_VIEWS_KEEP;
  expect(&o, "view permute addmm view sigmoid mul.Tensor ");
  o = (fnz_decompose_options)FNZ_DECOMPOSE_OPTIONS_INIT;
  o.set = "inference";
  expect(&o, "linear silu ");
  o.decompose = linear;
  o.ndecompose = 1;
  expect(&o, "view_copy permute_copy addmm view_copy silu ");
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(core_operators_and_their_copies_stay) {
  static const char *const stay[] = {"addmm", "view_copy", "permute_copy", "slice_scatter"};
  static const char *const go[] = {"linear", "t_copy", "silu", "as_strided_scatter"};
  for (size_t i = 0; i < sizeof stay / sizeof *stay; i++)
    ck_assert_msg(fnz_decomposition_keeps("core", fnz_op_find(NULL, stay[i])), "%s", stay[i]);
  for (size_t i = 0; i < sizeof go / sizeof *go; i++)
    ck_assert_msg(!fnz_decomposition_keeps("core", fnz_op_find(NULL, go[i])), "%s", go[i]);
  ck_assert(!fnz_decomposition_keeps("prims", fnz_op_find(NULL, "addmm")));
  ck_assert(fnz_decomposition_keeps("runnable", fnz_op_find(NULL, "linear")));
  ck_assert(!fnz_decomposition_keeps("runnable", fnz_op_find(NULL, "prelu")));
  ck_assert(!fnz_decomposition_keeps("none", fnz_op_find(NULL, "addmm")));
  fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
  static const char *const kept[] = {"silu"};
  ck_assert_ptr_nonnull(
      strstr(fnz_decomposition_why_left(&o, fnz_op_find(NULL, "uniform")), "random"));
  ck_assert_ptr_nonnull(fnz_decomposition_why_left(NULL, fnz_op_find(NULL, "silu")));
  o.keep = kept;
  o.nkeep = 1;
  ck_assert_ptr_null(fnz_decomposition_why_left(&o, fnz_op_find(NULL, "silu")));
}
END_TEST

START_TEST(what_has_no_steps_is_refused_by_name) {
  static const char *const none[] = {"nothing_of_this_name"}, *const core[] = {"polygamma"};
  fnz_program *out, *p;
  fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  p = program_of(ctx, "%x: f32[3]", "  %y: f32[3] = polygamma(2, %x)\n  return %y");
  o.set = "corn";
  FAILS(ctx, "ARGUMENT", fnz_decompose(ctx, p, &o, &out));
  o.set = "core";
  o.ndecompose = 1;
  o.decompose = none;
  FAILS(ctx, "REF", fnz_decompose(ctx, p, &o, &out));
  o.decompose = core;
  FAILS(ctx, "UNSUPPORTED", fnz_decompose(ctx, p, &o, &out));
  ck_assert_ptr_nonnull(strstr(fnz_last_error(ctx)->message, "polygamma"));
  o.ndecompose = 0;
  OK(ctx, fnz_decompose(ctx, p, &o, &out)); /* it stays */
  fnz_program_destroy(out);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- the same results ------------------------------------------------------------------------- */
/* Rows: inputs, body. Numbers of f32 are between -2 and 2, of i64 from 0 to 2. */
static const char *const programs[][2] = {
    {"%x: f32[4,6,5], %w: f32[5], %b: f32[5]",
     "  %y: f32[4,6,5] = layer_norm(%x, [5], %w, %b, 1e-5)\n  return %y"},
    {"%x: f32[4,6,5]", "  %y: f32[4,6,5], %m: f32[4,1,1], %r: f32[4,1,1] ="
                       " native_layer_norm(%x, [6,5], None, None, 1e-5)\n  return %y, %m, %r"},
    {"%x: f32[4,6], %w: f32[6], %b: f32[6], %m: f32[6], %v: f32[6]",
     "  %e: f32[6] = exp(%v)\n"
     "  %y: f32[4,6] = batch_norm(%x, %w, %b, %m, %e, False, 0.1, 1e-5, False)\n  return %y"},
    {"%x: f32[4,6]",
     "  %y: f32[4,6] = softmax.int(%x, 1)\n  %z: f32[4,6] = log_softmax.int(%x, 0)\n"
     "  return %y, %z"},
    {"%x: f32[4,6,5]", "  %y: f32[4,5] = mean.dim(%x, [1])\n  %z: f32[] = var(%x)\n"
                       "  %q: f32[1,6,1] = var.correction(%x, [0,-1], correction=0, keepdim=True)\n"
                       "  return %y, %z, %q"},
    {"%x: f32[4,6]", "  %y: f32[4,6] = gelu(%x)\n  %z: f32[4,6] = gelu(%x, approximate=\"tanh\")\n"
                     "  %e: f32[4,6] = elu(%x, 0.7)\n  %l: f32[4,6] = leaky_relu(%x, 0.2)\n"
                     "  %h: f32[4,6] = hardtanh(%x)\n  return %y, %z, %e, %l, %h"},
    {"%x: f32[4,6], %w: f32[5,6], %b: f32[5]",
     "  %y: bf16[4,5], %s: f32[4,5], %c: f32[8,5], %m: f32[4,4] ="
     " higher_order.wrap_with_autocast(\"cpu\", bf16, True, None, @body, %x, %w, %b)\n"
     "  return %y, %s, %c, %m\n}\n"
     "graph body(%x: f32[4,6], %w: f32[5,6], %b: f32[5]) {\n"
     "  %y: bf16[4,5] = linear(%x, %w)\n  %s: f32[4,5] = mse_loss(%y, %y, 0)\n"
     "  %t: f32[4,5] = softmax.int(%s, 1)\n  %c: f32[8,5] = cat([%y, %t])\n"
     "  %m: f32[4,4] ="
     " higher_order.wrap_with_autocast(\"cpu\", bf16, False, None, @inner, %x)\n"
     "  return %y, %t, %c, %m\n}\n"
     "graph inner(%x: f32[4,6]) {\n  %t: f32[6,4] stride(1,6) = t(%x)\n"
     "  %m: f32[4,4] = matmul(%x, %t)\n  return %m"},
    {"%w: f32[3,4], %i: i64[2,5]", "  %y: f32[2,5,4] = embedding(%w, %i)\n  return %y"},
    {"%q: f32[2,4,3,5], %k: f32[2,2,6,5], %v: f32[2,2,6,5], %m: bool[3,6]",
     "  %y: f32[2,4,3,5] = scaled_dot_product_attention(%q, %k, %v, %m, enable_gqa=True)\n"
     "  return %y"},
    {"%q: f32[2,4,5], %k: f32[2,6,5], %v: f32[2,6,5]",
     "  %y: f32[2,4,5] = scaled_dot_product_attention(%q, %k, %v, None, 0.0, True)\n  return %y"},
    {"%q: f32[2,4,3,5], %k: f32[2,1,6,5], %v: f32[2,1,6,5]",
     "  %y: f32[2,4,3,5] = scaled_dot_product_attention(%q, %k, %v, enable_gqa=True)\n  return %y"},
    {"%a: f32[2,3,4], %b: f32[4,2,5]",
     "  %y: f32[3,5,2] = einsum(\"abc,cad->bda\", [%a, %b])\n  return %y"},
    {"%a: f32[3,3], %b: f32[3], %c: f32[4]",
     "  %y: f32[3,4] = einsum(\"ii,i,k->ik\", [%a, %b, %c])\n  return %y"},
    {"%a: f32[5,3], %b: f32[3]", "  %y: f32[5] = matmul(%a, %b)\n  return %y"},
    {"%a: f32[2,1,5,3], %b: f32[4,3,2]", "  %y: f32[2,4,5,2] = matmul(%a, %b)\n  return %y"},
    {"%x: f32[2,3,8,8], %w: f32[4,3,2,2], %b: f32[4]",
     "  %y: f32[2,4,8,8] = conv2d.padding(%x, %w, %b, [1, 1], \"same\")\n  return %y"},
    {"%x: f32[2,6,4,4], %w: f32[6], %b: f32[6]",
     "  %y: f32[2,6,4,4] = instance_norm(%x, %w, %b, None, None, True, 0.1, 1e-5, False)\n"
     "  return %y"},
    {"%x: f32[2,6,4], %w: f32[6], %b: f32[6]",
     "  %y: f32[2,6,4] = group_norm(%x, 3, %w, %b)\n  return %y"},
    {"%x: f32[4,6], %w: f32[6]", "  %y: f32[4,6] = rms_norm(%x, [6], %w)\n  return %y"},
    {"%x: f32[4,6], %w: f32[6], %b: f32[6], %m: f32[6], %v: f32[6]",
     "  %y: f32[4,6], %c: f32[6], %d: f32[6], %e: f32[6], %f: f32[6] ="
     " _native_batch_norm_legit_functional(%x, %w, %b, %m, %v, True, 0.1, 1e-5)\n"
     "  return %y, %e, %f"},
    {"%x: f32[4,6]", "  %y: f32[4,6] = roll(%x, [1, -2], [0, 1])\n  return %y"},
    {"%x: f32[4,6]", "  %y: f32[4,6] = tril(%x, 1)\n  return %y"},
    {"%x: f32[4,6], %z: f32[4,6]", "  %y: f32[4,2,6] = stack([%x, %z], 1)\n  return %y"},
    {"%x: f32[4,6]", "  %y: f32[4,12] = repeat_interleave.self_int(%x, 2, 1)\n  return %y"},
    {"%x: f32[4,6]", "  %y: f32[4,3,4] = unfold_copy(%x, 1, 4, 1)\n  return %y"},
    {"%x: f32[4,6], %s: f32[4]", "  %y: f32[4,6] = diagonal_scatter(%x, %s, 1)\n  return %y"},
    {"%x: f32[4,6], %i: i64[2], %s: f32[4,2]",
     "  %y: f32[4,6] = index_add(%x, 1, %i, %s, alpha=2)\n  return %y"},
    {"%x: f32[4,6], %i: i64[2]",
     "  %y: f32[4,6] = index_fill.int_Scalar(%x, 1, %i, 7)\n  return %y"},
    {"%x: f32[4,6]", "  %y: f32[4] = logsumexp(%x, [1])\n  return %y"},
    {"%x: f32[4,6]", "  %y: f32[6], %z: f32[6] = std_mean.dim(%x, [0])\n  return %y, %z"},
    {"%x: f32[4,6]", "  %y: f32[4,6] = softplus(%x, 2, 1)\n  %z: f32[4,6] = mish(%y)\n  return %z"},
    {"%x: f32[4,6]",
     "  %y: f32[4,6] = hardswish(%x)\n  %z: f32[4,6] = hardsigmoid(%y)\n  return %z"},
    {"%x: f32[4,6]", "  %y: f32[4,6] = log_sigmoid(%x)\n  %z: f32[4,3] = glu(%y)\n  return %z"},
    {"%x: f32[4,6], %z: f32[4,6]", "  %y: f32[4,6] = lerp.Tensor(%x, %z, %x)\n  return %y"},
    {"%x: f32[4,6], %z: f32[4,6]", "  %y: f32[] = smooth_l1_loss(%x, %z, 1, 0.5)\n  return %y"},
    {"%x: f32[4,6]",
     "  %y: f32[4,6] = rsub.Scalar(%x, 1, 2)\n  %z: f32[4,6] = nan_to_num(%y)\n  return %z"},
    {"%x: f32[1,8,3,3]", "  %y: f32[1,2,6,6] = pixel_shuffle(%x, 2)\n  return %y"},
    {"%x: f32[4,6], %z: f32[4,6]",
     "  [%a: f32[4,6], %b: f32[4,6]] = _foreach_lerp.Scalar([%x, %z], [%z, %x], 0.75)\n"
     "  return %a, %b"},
    {"%i: i64[5], %j: i64[4,1]",
     "  %a: i64[5] = mul.Scalar(%i, -12)\n  %b: i64[4,1] = mul.Scalar(%j, 18)\n"
     "  %y: i64[4,5] = gcd(%a, %b)\n  %z: i64[4,5] = lcm(%a, %b)\n  return %y, %z"},
    {"%x: f32[4,6]", "  %a: f32[4,6] = mul.Scalar(%x, 1e-38)\n  %b: f32[4,6] = exp(%a)\n"
                     "  %c: f32[4,6] = mul.Tensor(%a, %b)\n"
                     "  %m: f32[4,6], %e: i32[4,6] = frexp.Tensor(%c)\n"
                     "  %n: f32[4,6], %f: i32[4,6] = frexp.Tensor(%x)\n  return %m, %e, %n, %f"},
    {"%x: f32[4,6], %i: i64[3,5]",
     "  %y: f32[4,6] = cumprod(%x, 1)\n  %z: i64[3,5] = cumprod(%i, -2)\n  return %y, %z"},
    {"%x: f32[2,6], %z: f32[2,3]",
     "  %a: f32[2,6] = cumsum(%x, 1)\n  %s: f32[2,6], %o: i64[2,6] = sort(%a)\n"
     "  %y: i64[2,3] = searchsorted.Tensor(%s, %z)\n"
     "  %w: i32[2,3] = searchsorted.Tensor(%a, %z, out_int32=True, side=\"right\", sorter=%o)\n"
     "  %t: f32[6] = select_copy.int(%s, 0, 0)\n"
     "  %u: i64[2,3] = bucketize.Tensor(%z, %t, right=True)\n"
     "  %v: i64[] = searchsorted.Scalar(%t, 0.5)\n  return %y, %w, %u, %v"},
    {"%x: f32[4,5], %z: f32[3,4], %w: f32[2,2,2]",
     "  %y: f32[4,5] = as_strided_scatter(%x, %z, [3, 4], [1, 1], 2)\n"
     "  %v: f32[4,5] = as_strided_scatter(%x, %w, [2, 2, 2], [9, 3, 2], 1)\n  return %y, %v"},
    {"%x: f32[4,5]", "  %y: f32[3,2] = resize(%x, [3, 2])\n  %z: f32[5,5] = resize(%x, [5, 5])\n"
                     "  return %y, %z"},
    {"%i: i64[4,6], %j: i64[6]",
     "  %a: i64[6] = add.Scalar(%j, 1)\n  %y: i64[4,6] = floor_divide(%i, %a)\n  return %y"},
    {"%x: f32[4,6], %m: bool[6]",
     "  %y: f32[16] = masked_select(%x, %m)\n  %z: i64[4,1] = argwhere(%m)\n  return %y, %z"},
};

static float widened(const void *halves, size_t i) {
  uint32_t bits = (uint32_t)((const uint16_t *)halves)[i] << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Sums of few terms of about 1: 16 roundings are more than there are. */
static void compare(const fnz_array *a, const fnz_array *b, const char *text) {
  ck_assert_uint_eq(a->bytes, b->bytes);
  for (size_t i = 0; a->dtype == FNZ_BF16 && i < a->bytes / 2; i++) { /* 8 bits, rounded twice */
    float x = widened(a->data, i), y = widened(b->data, i);
    ck_assert_msg(fabsf(x - y) <= 2 / 128.0F * fabsf(y) + 1e-2F, "%s: %g, not %g", text, (double)x,
                  (double)y);
  }
  if (a->dtype != FNZ_F32 && a->dtype != FNZ_BF16)
    ck_assert_msg(memcmp(a->data, b->data, a->bytes) == 0, "%s: %s differs", text, a->name);
  for (size_t i = 0; a->dtype == FNZ_F32 && i < a->bytes / sizeof(float); i++) {
    float x = ((const float *)a->data)[i], y = ((const float *)b->data)[i];
    ck_assert_msg(fabsf(x - y) <= 16 * 1.2e-7F * (1 + fabsf(y)), "%s: element %zu: %g, not %g",
                  text, i, (double)x, (double)y);
  }
}

static void check_program(size_t i, const char *set) {
  fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
  o.set = set;
  fnz_program *p = program_of(ctx, programs[i][0], programs[i][1]), *made = taken_apart(p, &o);
  fnz_arrays *given = draw(ctx, p), *before = results_of(ctx, p, given),
             *after = results_of(ctx, made, given);
  const fnzi_graph *g = fnzi_graph_main(made);
  for (size_t n = 0; n < g->nodes.count; n++) {
    ck_assert_msg(fnz_decomposition_keeps(set, g->nodes.data[n].op), "%s is left of %s",
                  fnzi_node_target(&g->nodes.data[n]), programs[i][1]);
    ck_assert_ptr_null(fnz_decomposition_why_left(&o, g->nodes.data[n].op));
  }
  ck_assert_uint_eq(fnz_arrays_count(before), fnz_arrays_count(after));
  for (size_t k = 0; k < fnz_arrays_count(before); k++)
    compare(fnz_arrays_at(after, k), fnz_arrays_at(before, k), programs[i][1]);
  fnz_arrays_destroy(after);
  fnz_arrays_destroy(before);
  fnz_arrays_destroy(given);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
}

/* An argument that is its default is lost where PyTorch traces the program again. */
START_TEST(extremes_name_their_dimensions) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p = program_of(ctx, "%x: f32[2,3]", "  %y: f32[] = max(%x)\n  return %y");
  fnz_program *made = taken_apart(p, NULL);
  fnz_buffer text = {0};
  ck_assert_int_eq(fnz_program_write(ctx, made, FNZ_FORMAT_TEXT, &text), FNZ_OK);
  ck_assert_ptr_nonnull(strstr(text.data, " = amax(%x, [0, 1])\n"));
  fnz_buffer_free(ctx, &text);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

START_TEST(results_stay_the_same) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (size_t i = 0; i < sizeof programs / sizeof *programs; i++) {
    check_program(i, "core");
    check_program(i, "prims");
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* --- where nodes come from -------------------------------------------------------------------- */
/* Both passes: the write through a view becomes silu, and that steps. */
static const char written[] = "  %s: f32[2,3,2] stride(12,4,1) = slice.Tensor(%x, 2, 0, 2)\n"
                              "  %z: f32[2,3,2] stride(12,4,1) = silu_(%s)  at \"model.py:8\"\n"
                              "  %y: f32[2,3,5] = linear(%x, %w, %b)  at \"model.py:9\"\n"
                              "  return %y";

static void expect_origin(const fnz_origin *o, fnz_reason reason, size_t node) {
  ck_assert_ptr_nonnull(o);
  ck_assert_int_eq(o->reason, reason);
  ck_assert_uint_eq(o->graph, 0);
  ck_assert_uint_eq(o->node, node);
}

START_TEST(steps_lead_to_the_source) {
  static const struct {
    const char *op, *whole;
    size_t source;
  } rows[] = {{"slice_copy.Tensor", NULL, 0}, {"sigmoid", "silu", 1},
              {"mul.Tensor", "silu", 1},      {"slice_scatter", NULL, 1},
              {"view_copy", "linear", 2},     {"permute_copy", "linear", 2},
              {"addmm", "linear", 2},         {"view_copy", "linear", 2}};
  fnz_program *p, *functional, *made;
  fnz_origins *origins, *steps;
  fnz_functionalize_options asked = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_decompose_options wanted = FNZ_DECOMPOSE_OPTIONS_INIT;
  asked.origins = &origins;
  wanted.origins = &steps;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  p = program_of(ctx, inputs, written);
  OK(ctx, fnz_functionalize(ctx, p, &asked, &functional));
  OK(ctx, fnz_decompose(ctx, functional, &wanted, &made));
  ck_assert_uint_eq(fnz_node_count(made, 0), sizeof rows / sizeof *rows);
  for (size_t n = 0; n < sizeof rows / sizeof *rows; n++) {
    const fnz_origin *o = fnz_origins_at(steps, 0, n);
    const fnzi_node *whole = fnzi_node_at(functional, 0, (uint32_t)o->node);
    ck_assert_str_eq(fnzi_node_target(fnzi_node_at(made, 0, (uint32_t)n)), rows[n].op);
    ck_assert_str_eq(fnzi_node_target(whole), rows[n].whole ? rows[n].whole : rows[n].op);
    expect_origin(o, rows[n].whole ? FNZ_REASON_STEP : FNZ_REASON_COMPUTED, o->node);
    ck_assert_uint_eq(fnz_origins_at(origins, 0, o->node)->node, rows[n].source);
  }
  fnz_origins_destroy(steps);
  fnz_origins_destroy(origins);
  fnz_program_destroy(made);
  fnz_program_destroy(functional);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- out of memory ---------------------------------------------------------------------------- */
static fnz_status read_and_take_apart(fnz_context *c, const void *user) {
  char text[512];
  fnz_program *p = NULL, *made = NULL;
  fnz_origins *steps = NULL;
  fnz_decompose_options wanted = FNZ_DECOMPOSE_OPTIONS_INIT;
  wanted.origins = user ? &steps : NULL;
  int n = snprintf(text, sizeof text, "fnz 1\nprogram(%s)\n{\n%s\n}\n", inputs, body);
  fnz_status status = fnz_program_read(c, text, (size_t)n, FNZ_FORMAT_TEXT, &p);
  if (status == FNZ_OK)
    status = fnz_decompose(c, p, &wanted, &made);
  fnz_origins_destroy(steps);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  return status;
}

START_TEST(it_survives_every_fault) {
  ck_assert_uint_gt(each_fault(read_and_take_apart, NULL), 50);
  ck_assert_uint_gt(each_fault(read_and_take_apart, "explained"), 50);
}
END_TEST

RUN_SUITE("decompose", a_set_names_what_is_left, core_operators_and_their_copies_stay,
          what_has_no_steps_is_refused_by_name, extremes_name_their_dimensions,
          results_stay_the_same, steps_lead_to_the_source, it_survives_every_fault)
