/* checks: 7
 * costs_test.c - what a run copies: entries over lines and layers, bytes of single nodes, and the
 * findings of lint that come from them. */
#include "tests/help/context.h"
#include "tests/help/faults.h"

#include <fnz/engine.h>

/* Two layers that differ in the number of their module; the copy of line 9 has neither. */
#define LAYER(k)                                                                                   \
  "meta '{\"nn_module_stack\": \"L,,m.Net;L.layers." k ",layers." k ".attn,m.Attention\"}'\n"
static const char
    layers
        [] =
            "fnz 1\n"
            "program(%x: f32[4,8], %c: f32[2,8] buffer \"c\" persistent)\n"
            "{\n"
            "%t0: f32[8,4] stride(1,8) = t(%x) at \"m.py:3\" " LAYER(
                "0") "%r0: f32[32] = "
                     "reshape(%t0, [-1]) at "
                     "\"m.py:4\" " LAYER("0") "%e0: f32[32] = exp(%r0) at \"m.py:5\" " LAYER("0") "%v0: f32[4,8] = view(%e0, [4, 8]) at \"m.py:6\" " LAYER(
                         "0") "%t1: f32[8,4] "
                              "stride(1,8) = "
                              "t(%v0) at "
                              "\"m.py:"
                              "3\" " LAYER("1") "%r1: f32[32] = reshape(%t1, [-1]) at "
                                                "\"m.py:4\" " LAYER(
                                                    "1") "%n: f32[32] = exp(%r1)\n"
                                                         "%j: f32[6,8] = cat([%x, %c]) at "
                                                         "\"m.py:8\"\n"
                                                         "%s: f32[8] = select.int(%x, 0, 1) at "
                                                         "\"m.py:9\"\n"
                                                         "%y: f32[8] = clone(%s) at \"m.py:9\"\n"
                                                         "return %n, %j, %y\n"
                                                         "}\n";

typedef struct costed {
  fnz_program *program, *functional;
  fnz_origins *origins;
  fnz_costs *costs;
} costed;

static fnz_status find(fnz_context *c, const char *text, costed *out) {
  fnz_functionalize_options functionalize = FNZ_FUNCTIONALIZE_OPTIONS_INIT;
  fnz_costs_options options = FNZ_COSTS_OPTIONS_INIT;
  functionalize.origins = &out->origins;
  fnz_status status = fnz_program_read(c, text, strlen(text), FNZ_FORMAT_TEXT, &out->program);
  if (status == FNZ_OK)
    status = fnz_functionalize(c, out->program, &functionalize, &out->functional);
  options.original = out->program;
  options.origins = out->origins;
  return status == FNZ_OK ? fnz_costs_find(c, out->functional, &options, &out->costs) : status;
}

static void drop(costed *c) {
  fnz_costs_destroy(c->costs);
  fnz_origins_destroy(c->origins);
  fnz_program_destroy(c->functional);
  fnz_program_destroy(c->program);
}

START_TEST(entries_are_of_lines_and_layers) {
  costed c = {NULL};
  fnz_cost_sums sums = FNZ_COST_SUMS_INIT;
  begin();
  OK(ctx, find(ctx, layers, &c));
  ck_assert_uint_eq(fnz_costs_count(c.costs), 3);
  const fnz_cost *first = fnz_costs_at(c.costs, 0), *second = fnz_costs_at(c.costs, 1),
                 *third = fnz_costs_at(c.costs, 2);
  ck_assert_int_eq(first->kind, FNZ_COST_COPY);
  ck_assert_uint_eq(first->bytes, 256);
  ck_assert_uint_eq(first->largest, 128);
  ck_assert_uint_eq(first->times, 2);
  ck_assert_uint_eq(first->modules, 2);
  ck_assert_str_eq(first->module, "layers.0.attn");
  ck_assert_str_eq(first->last_module, "layers.1.attn");
  ck_assert_str_eq(first->source, "m.py:4");
  ck_assert_str_eq(first->rule, "R1");
  ck_assert_uint_eq(first->output, SIZE_MAX);
  ck_assert_int_eq(second->kind, FNZ_COST_JOIN);
  ck_assert_uint_eq(second->bytes, 192);
  ck_assert_uint_eq(second->times, 2);
  ck_assert_uint_eq(second->modules, 0);
  ck_assert_str_eq(second->module, "");
  ck_assert_uint_eq(third->bytes, 32);
  ck_assert_str_eq(third->rule, "R6");
  ck_assert_uint_eq(third->output, 2);
  ck_assert_ptr_null(fnz_costs_at(c.costs, 3));
  OK(ctx, fnz_costs_get_sums(ctx, c.costs, &sums));
  ck_assert_uint_eq(sums.copied, 288);
  ck_assert_uint_eq(sums.copies, 3);
  ck_assert_uint_eq(sums.joined, 192);
  ck_assert_uint_eq(sums.interpreted, 0);
  ck_assert_str_eq(fnz_costs_sizes(c.costs), "");
  drop(&c);
  end();
}
END_TEST

START_TEST(a_node_has_its_own_bytes) {
  costed c = {NULL};
  uint64_t all = 0;
  const fnz_cost *entry;
  begin();
  OK(ctx, find(ctx, layers, &c));
  const fnz_cost *first = fnz_costs_at(c.costs, 0);
  ck_assert_uint_eq(fnz_costs_of_node(c.costs, first->graph, first->node, &entry), 128);
  ck_assert_ptr_eq(entry, first);
  for (size_t n = 0; n < fnz_node_count(c.functional, 0); n++)
    all += fnz_costs_of_node(c.costs, 0, n, &entry);
  ck_assert_uint_eq(all, 480);
  ck_assert_uint_eq(fnz_costs_of_node(c.costs, 0, 0, &entry), 0);
  ck_assert_ptr_null(entry);
  drop(&c);
  end();
}
END_TEST

/* An expanded tensor that is reshaped has another remedy than a transposed one. */
START_TEST(a_remedy_fits_the_reason) {
  costed c = {NULL};
  begin();
  OK(ctx, find(ctx,
               "fnz 1\nprogram(%x: f32[2,1,4]) {\n"
               "%e: f32[2,3,4] stride(4,0,1) = expand(%x, [2, 3, 4])\n"
               "%r: f32[6,4] = reshape(%e, [6, 4])\n%y: f32[6,4] = exp(%r)\nreturn %y }\n",
               &c));
  ck_assert_uint_eq(fnz_costs_count(c.costs), 1);
  ck_assert_ptr_nonnull(strstr(fnz_costs_at(c.costs, 0)->remedy, "at size 1"));
  drop(&c);
  end();
}
END_TEST

START_TEST(sizes_are_the_recorded_ones) {
  costed c = {NULL};
  begin();
  OK(ctx, find(ctx,
               "fnz 1\nsymbol s0 = 6\nrange s0 2..\nprogram(%x: f32[{s0},8]) {\n"
               "%n: sym{s0} = sym_size.int(%x, 0)\n"
               "%t: f32[8,{s0}] stride(1,8) = t(%x)\n"
               "%r: f32[{8*s0}] = reshape(%t, [-1]) at \"m.py:3\"\n%y: f32[{8*s0}] = exp(%r)\n"
               "return %y }\n",
               &c));
  ck_assert_str_eq(fnz_costs_sizes(c.costs), "s0 = 6");
  ck_assert_uint_eq(fnz_costs_count(c.costs), 1);
  ck_assert_uint_eq(fnz_costs_at(c.costs, 0)->bytes, 192);
  const fnz_cost *cost = fnz_costs_at(c.costs, 0);
  ck_assert_str_eq(fnz_program_node(c.functional, 0, cost->node).source, "m.py:3");
  drop(&c);
  end();
}
END_TEST

static const char own_operator[] = "fnz 1\noperator \"my::f(Tensor x) -> Tensor\"\n"
                                   "program(%x: f32[4,8]) {\n"
                                   "%t: f32[8,4] stride(1,8) = t(%x)\n"
                                   "%r: f32[32] = reshape(%t, [-1])\n"
                                   "%y: f32[32] = my::f(%r)  at \"m.py:3\"\nreturn %y }\n";

START_TEST(without_a_kernel_there_is_no_run) {
  costed c = {NULL};
  begin();
  ck_assert_int_eq(find(ctx, own_operator, &c), FNZ_UNSUPPORTED);
  ck_assert_str_eq(fnz_last_error(ctx)->where, "node 2 (my::f at m.py:3)");
  ck_assert_ptr_null(c.costs);
  drop(&c);
  end();
}
END_TEST

/* The finding `index` of lint on a text; its kind. */
static fnz_finding_kind lint(const char *text, size_t index, fnz_findings **findings) {
  fnz_program *p = read_text(text);
  OK(ctx, fnz_lint_run(ctx, p, NULL, NULL, findings));
  fnz_program_destroy(p);
  ck_assert_uint_gt(fnz_findings_count(*findings), index);
  return fnz_findings_at(*findings, index)->kind;
}

START_TEST(lint_says_what_a_run_copies) {
  fnz_findings *f;
  begin();
  ck_assert_int_eq(lint(layers, 0, &f), FNZ_FINDING_COPY);
  ck_assert_ptr_null(fnz_findings_no_run(f));
  ck_assert_uint_eq(fnz_findings_count(f), 2); /* a join is no finding */
  const fnz_finding *first = fnz_findings_at(f, 0), *second = fnz_findings_at(f, 1);
  ck_assert_uint_eq(first->cost->bytes, 256);
  ck_assert_uint_eq(first->node, 1);
  ck_assert_str_eq(first->where, "node 1 (reshape at m.py:4)");
  ck_assert_str_eq(first->cost->last_module, "layers.1.attn");
  ck_assert_uint_eq(second->output, 2);
  fnz_findings_destroy(f);
  /* A write that the text puts back by a scatter, and a run does in place. */
  fnz_program *p = read_text("fnz 1\nprogram(%x: f32[4,8] buffer \"x\" persistent) {\n"
                             "%s: f32[8] = select.int(%x, 0, 0)\n%w: f32[8] = add_.Scalar(%s, 1)\n"
                             "%y: f32[4,8] = mul.Scalar(%x, 2)\nreturn %y }\n");
  OK(ctx, fnz_lint(ctx, p, NULL, &f));
  ck_assert_int_eq(fnz_findings_at(f, 0)->kind, FNZ_FINDING_SCATTER);
  ck_assert_ptr_nonnull(fnz_findings_no_run(f));
  fnz_findings_destroy(f);
  OK(ctx, fnz_lint_run(ctx, p, NULL, NULL, &f));
  ck_assert_uint_eq(fnz_findings_count(f), 0);
  fnz_findings_destroy(f);
  fnz_program_destroy(p);
  ck_assert_int_eq(lint(own_operator, 0, &f), FNZ_FINDING_COPY);
  ck_assert_ptr_null(fnz_findings_at(f, 0)->cost);
  ck_assert_ptr_nonnull(strstr(fnz_findings_no_run(f), "my::f"));
  fnz_findings_destroy(f);
  end();
}
END_TEST

static fnz_status lint_only(fnz_context *c, const void *text) {
  fnz_program *p = NULL;
  fnz_findings *findings = NULL;
  fnz_status status = fnz_program_read(c, text, strlen(text), FNZ_FORMAT_TEXT, &p);
  if (status == FNZ_OK)
    status = fnz_lint_run(c, p, NULL, NULL, &findings);
  fnz_findings_destroy(findings);
  fnz_program_destroy(p);
  return status;
}

START_TEST(out_of_memory_is_an_error) {
  ck_assert_uint_gt(each_fault(lint_only, layers), 40);
}
END_TEST

RUN_SUITE("costs", entries_are_of_lines_and_layers, a_node_has_its_own_bytes,
          a_remedy_fits_the_reason, sizes_are_the_recorded_ones, without_a_kernel_there_is_no_run,
          lint_says_what_a_run_copies, out_of_memory_is_an_error)
