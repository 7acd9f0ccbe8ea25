/* checks: 8
 *
 * decompose_mlir_test.c - what the set mlir has none of: loops over slices become while_loop,
 * complex numbers pairs of real ones; and choices in place of cond. Results stay the same, and
 * nodes lead to the source. */
#include "program/region_ops.h"
#include "tests/help/drawn.h"
#include "tests/help/faults.h"
#include "tests/help/run_help.h"

#include <math.h>

static fnz_context *ctx;

static fnz_program *read_text(const char *text) {
  fnz_program *p;
  OK(ctx, fnz_program_read(ctx, text, strlen(text), FNZ_FORMAT_TEXT, &p));
  return p;
}

static fnz_program *taken_apart_for(const char *set, const fnz_program *p, fnz_origins **origins) {
  fnz_decompose_options o = FNZ_DECOMPOSE_OPTIONS_INIT;
  fnz_program *made;
  o.set = set;
  o.origins = origins;
  OK(ctx, fnz_decompose(ctx, p, &o, &made));
  return made;
}

static fnz_program *taken_apart(const fnz_program *p, fnz_origins **origins) {
  return taken_apart_for("mlir", p, origins);
}

/* --- loops ------------------------------------------------------------------------------------ */
#define STEP_GRAPH                                                                                 \
  "graph step(\n  %c: f32[3],\n  %x: f32[3],\n  %w: f32[3])\n{\n"                                  \
  "  %s: f32[3] = mul.Tensor(%c, %w)\n  %y: f32[3] = add.Tensor(%s, %x)\n"                         \
  "  %z: f32[] = sum(%y)\n  return %y, %z\n}\n"
static const char scan_text[] =
    "fnz 1\nprogram(\n  %x: f32[5,3],\n  %c: f32[3],\n  %w: f32[3])\n{\n"
    "  [%y: f32[3], %z: f32[5]] = higher_order.scan(@step, [%c], [%x], [%w])\n"
    "  %u: f32[3] = exp(%y)\n  return %u, %z\n}\n" STEP_GRAPH;

static const char *const loops[] = {
    scan_text,
    /* with one turn */
    "fnz 1\nprogram(\n  %x: f32[1,3],\n  %c: f32[3],\n  %w: f32[3])\n{\n"
    "  [%y: f32[3], %z: f32[1]] = higher_order.scan(@step, [%c], [%x], [%w])\n"
    "  return %y, %z\n}\n" STEP_GRAPH,
    /* one body in two loops; a literal is captured */
    "fnz 1\nprogram(\n  %x: f32[4,3],\n  %c: f32[3],\n  %w: f32[3])\n{\n"
    "  [%y: f32[3], %z: f32[4]] = higher_order.scan(@step, [%c], [%x], [%w])\n"
    "  [%u: f32[3], %v: f32[4]] = higher_order.scan(@step, [%y], [%x], [%c])\n"
    "  return %u, %v, %z\n}\n" STEP_GRAPH,
    /* integers and truth values, two carried, two cut */
    "fnz 1\nprogram(\n  %x: i64[4,2],\n  %m: bool[4,2],\n  %a: i64[2],\n  %b: bool[2])\n{\n"
    "  [%y: i64[2], %p: bool[2], %z: i64[4,2], %q: bool[4,2]] ="
    " higher_order.scan(@f, [%a, %b], [%x, %m], [])\n  return %y, %p, %z, %q\n}\n"
    "graph f(\n  %a: i64[2],\n  %b: bool[2],\n  %x: i64[2],\n  %m: bool[2])\n{\n"
    "  %y: i64[2] = add.Tensor(%a, %x)\n  %p: bool[2] = logical_xor(%b, %m)\n"
    "  %z: i64[2] = mul.Tensor(%a, %x)\n  return %y, %p, %z, %m\n}\n",
    /* a map in a map */
    "fnz 1\nprogram(\n  %x: f32[3,2,4],\n  %w: f32[4])\n{\n"
    "  [%y: f32[3,2,4]] = higher_order.map_impl(@outer, [%x], [%w])\n  return %y\n}\n"
    "graph outer(\n  %x: f32[2,4],\n  %w: f32[4])\n{\n"
    "  [%y: f32[2,4]] = higher_order.map_impl(@inner, [%x], [%w])\n  return %y\n}\n"
    "graph inner(\n  %x: f32[4],\n  %w: f32[4])\n{\n"
    "  %y: f32[4] = mul.Tensor(%x, %w)\n  return %y\n}\n",
    /* from the left, and in any order where numbers are whole */
    "fnz 1\nprogram(\n  %x: i64[6,2])\n{\n"
    "  [%y: i64[6,2]] = higher_order.associative_scan(@sum, [%x], [])\n  return %y\n}\n"
    "graph sum(\n  %a: i64[2],\n  %b: i64[2])\n{\n"
    "  %y: i64[2] = add.Tensor(%a, %b)\n  return %y\n}\n",
};

static size_t count_nodes(const fnz_program *p, fnzi_hop_kind kind) {
  size_t count = 0;
  for (size_t g = 0; g < p->graphs.count; g++)
    for (size_t n = 0; n < p->graphs.data[g].nodes.count; n++) {
      const fnzi_node *node = &p->graphs.data[g].nodes.data[n];
      count += !node->op && strcmp(fnzi_node_target(node), fnzi_hop_target(kind)) == 0;
    }
  return count;
}

START_TEST(loops_over_slices_become_while_loops) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (size_t i = 0; i < sizeof loops / sizeof *loops; i++) {
    fnz_program *p = read_text(loops[i]), *made = taken_apart(p, NULL);
    ck_assert_uint_eq(count_nodes(made, FNZI_HOP_SCAN) + count_nodes(made, FNZI_HOP_MAP) +
                          count_nodes(made, FNZI_HOP_ASSOCIATIVE_SCAN),
                      0);
    ck_assert_uint_gt(count_nodes(made, FNZI_HOP_WHILE_LOOP), 0);
    check_same(ctx, p, made, loops[i]);
    fnz_program_destroy(made);
    fnz_program_destroy(p);
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* The source itself is refused when it runs: its result is not known before an iteration. */
START_TEST(without_a_turn_the_first_values_stay) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p =
      read_text("fnz 1\nprogram(\n  %x: f32[0,3],\n  %c: f32[3],\n  %w: f32[3])\n{\n"
                "  [%y: f32[3], %z: f32[0]] = higher_order.scan(@step, [%c], [%x], [%w])\n"
                "  return %y, %z\n}\n" STEP_GRAPH);
  fnz_program *made = taken_apart(p, NULL);
  fnz_arrays *given = draw(ctx, p), *out = results_of(ctx, made, given);
  ck_assert_uint_eq(fnz_arrays_count(out), 2);
  ck_assert_mem_eq(fnz_arrays_at(out, 0)->data, fnz_arrays_at(given, 1)->data, 3 * sizeof(float));
  ck_assert_uint_eq(fnz_arrays_at(out, 1)->bytes, 0);
  fnz_arrays_destroy(out);
  fnz_arrays_destroy(given);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* The nodes of the loop come from the scan, the nodes of its body from the body. */
START_TEST(their_nodes_lead_to_the_source) {
  fnz_origins *origins;
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p = read_text(scan_text), *made = taken_apart(p, &origins);
  for (size_t g = 0; g < made->graphs.count; g++)
    for (size_t n = 0; n < made->graphs.data[g].nodes.count; n++) {
      const fnz_origin *o = fnz_origins_at(origins, g, n);
      const char *name = fnzi_node_target(&made->graphs.data[g].nodes.data[n]);
      size_t node = strcmp(name, "mul.Tensor") == 0   ? 0
                    : strcmp(name, "add.Tensor") == 0 ? 1
                    : strcmp(name, "sum") == 0        ? 2
                                                      : 0;
      bool is_body = node || strcmp(name, "mul.Tensor") == 0;
      ck_assert_msg(o->graph == is_body, "%s comes from graph %zu", name, o->graph);
      ck_assert_msg(o->node == node + (strcmp(name, "exp") == 0), "%s comes from node %zu", name,
                    o->node);
    }
  fnz_origins_destroy(origins);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* --- complex numbers -------------------------------------------------------------------------- */
/* Rows: nodes in front of `return`, between two tensors %a and %b: c64[3,4] and a result %r. */
static const char *const complex_bodies[] = {
    "  %s: c64[3,4] = add.Tensor(%a, %b)\n  %t: c64[3,4] = sub.Tensor(%s, %x)\n"
    "  %u: c64[3,4] = neg(%t)\n  %v: c64[3,4] = mul.Tensor(%u, %b)\n"
    "  %r: c64[3,4] = div.Tensor(%v, %b)\n",
    "  %s: c64[3,4] = mul.Tensor(%a, %x)\n  %t: c64[3,4] = div.Tensor(%x, %b)\n"
    "  %u: c64[3,4] = add.Tensor(%s, 2)\n  %v: c64[3,4] = rsub.Scalar(%u, 1)\n"
    "  %r: c64[3,4] = sub.Tensor(%v, %t)\n",
    "  %s: f32[3,4] = abs(%a)\n  %t: f32[3,4] = angle(%b)\n  %u: c64[3,4] = polar(%s, %t)\n"
    "  %v: c64[3,4] = _conj_physical(%u)\n  %r: c64[3,4] = sgn(%v)\n",
    "  %s: c64[3,4] = exp(%a)\n  %t: c64[3,4] = log(%s)\n  %u: c64[3,4] = sqrt(%t)\n"
    "  %v: c64[3,4] = rsqrt(%b)\n  %w: c64[3,4] = pow.Tensor_Scalar(%v, 3)\n"
    "  %r: c64[3,4] = add.Tensor(%u, %w)\n",
    "  %s: c64[3,4] = sin(%a)\n  %t: c64[3,4] = cos(%b)\n  %u: c64[3,4] = tanh(%s)\n"
    "  %v: c64[3,4] = sigmoid(%t)\n  %r: c64[3,4] = add.Tensor(%u, %v)\n",
    "  %s: c64[4,3] = transpose_copy.int(%b, -2, -1)\n  %t: c64[3,3] = mm(%a, %s)\n"
    "  %r: c64[3,4] = matmul(%t, %b)\n",
    "  %s: c64[2,4] = slice_copy.Tensor(%a, 0, 1, 3)\n  %t: c64[4] = select_copy.int(%b, 0, -1)\n"
    "  %u: c64[1,4] = unsqueeze_copy(%t, 0)\n  %v: c64[3,4] = cat([%s, %u])\n"
    "  %w: c64[12] = view_copy(%v, [12])\n  %p: c64[12] = flip(%w, [0])\n"
    "  %r: c64[3,4] = view_copy(%p, [3, 4])\n",
    "  %m: bool[3,4] = gt.Scalar(%x, 0)\n  %s: c64[3,4] = where.self(%m, %a, %b)\n"
    "  %k: c64[4] = mean.dim(%s, [0])\n  %l: c64[3,4] = expand_copy(%k, [3, 4])\n"
    "  %t: c64[3,4] = cumsum(%l, 1)\n  %r: c64[3,4] = masked_fill.Scalar(%t, %m, 3)\n",
    "  %s: c64[2,4] = slice_copy.Tensor(%b, 0, 0, 2)\n"
    "  %t: c64[3,4] = slice_scatter(%a, %s, 0, 1, 3)\n  %i: i64[2] = arange(2, dtype=i64)\n"
    "  %u: c64[3,2] = index_select(%t, 1, %i)\n"
    "  %r: c64[3,4] = index_copy(%b, 1, %i, %u)\n",
    "  %s: c64[3,4] = fft_fft(%a)\n  %t: c64[3,4] = fft_ifft(%s, norm=\"ortho\")\n"
    "  %u: c64[3,3] = fft_rfft(%x)\n  %v: f32[3,4] = fft_irfft(%u, 4)\n"
    "  %r: c64[3,4] = mul.Tensor(%t, %v)\n",
};

static fnz_program *complex_program(size_t i) {
  char text[2048];
  snprintf(text, sizeof text,
           "fnz 1\nprogram(\n  %%x: f32[3,4],\n  %%c: f32[3,4,2],\n  %%d: f32[3,4,2])\n{\n"
           "  %%a: c64[3,4] = view_as_complex_copy(%%c)\n"
           "  %%b: c64[3,4] = view_as_complex_copy(%%d)\n%s"
           "  %%z: f32[3,4,2] = view_as_real_copy(%%r)\n"
           "  %%e: bool[3,4] = eq.Tensor(%%r, %%r)\n  return %%z, %%e\n}\n",
           complex_bodies[i]);
  return read_text(text);
}

static bool is_view_of_pairs(const fnzi_node *node) {
  return strncmp(fnzi_node_target(node), "view_as_", 8) == 0;
}

static void check_no_complex(const fnz_program *p, const char *text) {
  const fnzi_graph *g = fnzi_graph_main(p);
  for (size_t v = 0; v < g->values.count; v++)
    if (fnzi_is_complex(g->values.data[v].geometry->dtype))
      ck_assert_msg(is_view_of_pairs(&g->nodes.data[g->values.data[v].node]), "%s is left of %s",
                    fnzi_node_target(&g->nodes.data[g->values.data[v].node]), text);
}

START_TEST(complex_numbers_become_pairs) {
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (size_t i = 0; i < sizeof complex_bodies / sizeof *complex_bodies; i++) {
    fnz_program *p = complex_program(i), *made = taken_apart(p, NULL);
    check_no_complex(made, complex_bodies[i]);
    check_same(ctx, p, made, complex_bodies[i]);
    fnz_program_destroy(made);
    fnz_program_destroy(p);
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* --- out of memory ---------------------------------------------------------------------------- */
static fnz_status read_and_take_apart(fnz_context *c, const void *user) {
  const char *text = user;
  fnz_program *p = NULL, *made = NULL;
  fnz_origins *steps = NULL;
  fnz_decompose_options wanted = FNZ_DECOMPOSE_OPTIONS_INIT;
  wanted.set = "mlir";
  wanted.origins = &steps;
  fnz_status status = fnz_program_read(c, text, strlen(text), FNZ_FORMAT_TEXT, &p);
  if (status == FNZ_OK)
    status = fnz_decompose(c, p, &wanted, &made);
  fnz_origins_destroy(steps);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  return status;
}

START_TEST(it_survives_every_fault) {
  ck_assert_uint_gt(each_fault(read_and_take_apart, scan_text), 50);
  ck_assert_uint_gt(each_fault(read_and_take_apart,
                               "fnz 1\nprogram(\n  %a: c64[3],\n  %b: c64[3])\n{\n"
                               "  %c: c64[3] = div.Tensor(%a, %b)\n"
                               "  %d: c64[2,3] = stack([%c, %b])\n  return %d\n}\n"),
                    50);
}
END_TEST

/* --- choices ---------------------------------------------------------------------------------- */
#define COND(g) "  %a: f32[3], %b: f32[] = higher_order.cond(%p, @f, " g ", [%x, %i])\n"
#define CHOICE(body)                                                                               \
  "fnz 1\nprogram(\n  %x: f32[3],\n  %p: bool[1],\n  %i: i64[3])\n{\n" COND(                       \
      "@g") "  %c: f32[3] = mul.Tensor(%a, %b)\n  return %c, %a\n}\n"                              \
            "graph f(\n  %x: f32[3],\n  %i: i64[3])\n{\n" body                                     \
            "  %t: f32[] = sum(%s)\n  return %s, %t\n}\n"                                          \
            "graph g(\n  %x: f32[3],\n  %i: i64[3])\n{\n  %s: f32[3] = exp(%x)\n  %t: f32[] = "    \
            "mean(%x)\n"                                                                           \
            "  return %s, %t\n}\n"

/* Both bodies are computed, and the elements of one are taken. */
START_TEST(a_cond_is_a_choice_where_there_is_none) {
  static const char text[] = CHOICE("  %s: f32[3] = mul.Tensor(%x, %i)\n");
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  fnz_program *p = read_text(text), *made = taken_apart_for("torch_mlir", p, NULL);
  ck_assert_uint_eq(count_nodes(made, FNZI_HOP_COND), 0);
  check_same(ctx, p, made, text);
  fnz_program_destroy(made);
  made = taken_apart(p, NULL); /* the set mlir has it */
  ck_assert_uint_eq(count_nodes(made, FNZI_HOP_COND), 1);
  fnz_program_destroy(made);
  fnz_program_destroy(p);
  fnz_context_destroy(ctx);
}
END_TEST

/* The condition may be what keeps an index inside; numbers that are drawn are drawn once. */
START_TEST(a_body_that_may_fail_or_draws_is_no_choice) {
  static const char *const texts[] = {CHOICE("  %s: f32[3] = index_select(%x, 0, %i)\n"),
                                      CHOICE("  %s: f32[3] = index.Tensor(%x, [%i])\n"),
                                      CHOICE("  %s: f32[3] = rand_like(%x)\n")};
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    fnz_program *p = read_text(texts[i]), *made = taken_apart_for("torch_mlir", p, NULL);
    ck_assert_uint_eq(count_nodes(made, FNZI_HOP_COND), 1);
    fnz_program_destroy(made);
    fnz_program_destroy(p);
  }
  fnz_context_destroy(ctx);
}
END_TEST

/* IREE writes over values that are the tensor itself. */
START_TEST(a_tensor_is_not_written_into_itself) {
  static const char inputs[] = "%x: f32[3,3], %i: i64[3]";
  static const char *const bodies[] = {
      "  %y: f32[3,3] = index_put(%x, [None, %i], %x)\n  return %y",
      "  %y: f32[3,3] = index_copy(%x, 1, %i, %x)\n  return %y"};
  ck_assert_int_eq(fnz_context_create(NULL, &ctx), FNZ_OK);
  for (size_t i = 0; i < 2; i++) {
    fnz_buffer text = {0};
    fnz_program *p = program_of(ctx, inputs, bodies[i]), *made = taken_apart(p, NULL);
    OK(ctx, fnz_program_write(ctx, made, FNZ_FORMAT_TEXT, &text));
    ck_assert_ptr_nonnull(strstr(text.data, " = cat("));
    ck_assert_ptr_null(strstr(text.data, "], %x"));
    check_same(ctx, p, made, bodies[i]);
    fnz_buffer_free(ctx, &text);
    fnz_program_destroy(made);
    fnz_program_destroy(p);
  }
  fnz_context_destroy(ctx);
}
END_TEST

RUN_SUITE("decompose_mlir", a_tensor_is_not_written_into_itself,
          a_cond_is_a_choice_where_there_is_none, a_body_that_may_fail_or_draws_is_no_choice,
          loops_over_slices_become_while_loops, without_a_turn_the_first_values_stay,
          their_nodes_lead_to_the_source, complex_numbers_become_pairs, it_survives_every_fault)
