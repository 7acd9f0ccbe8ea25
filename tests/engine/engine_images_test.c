/* checks: 10
 * engine_images_test.c - images keep channels last between convolutions (engine/plan/layout.c):
 * which values do, and that results have the bits of the interpreter, which stores none so. */
#include "engine/plan/planner.h"
#include "soak/programs.h"
#include "tests/engine/engine_help.h"
#include "tests/help/context.h"

#include <stdio.h>

/* --- Layouts ----------------------------------------------------------------------------- */
#define CONV(result, type, x, w, stride, padding, groups)                                          \
  "  %" result ": f32[" type "] = convolution(%" x ", %" w ", None, [" stride ", " stride          \
  "], [" padding ", " padding "], [1, 1], False, [0, 0], " groups ")\n"

static fnz_program *read_network(const char *inputs, const char *nodes) {
  char text[4096];
  ck_assert_int_lt(snprintf(text, sizeof text, "fnz 1\nprogram(%s)\n{\n%s}\n", inputs, nodes),
                   (int)sizeof text);
  return read_functional(ctx, text);
}

/* Which results of nodes have channels last: a letter of `layouts` for each, + or -. */
static void lie(const char *inputs, const char *nodes, const char *layouts) {
  const fnzi_pln_policy policy = {.channels_last = true};
  fnz_program *p = read_network(inputs, nodes);
  fnzi_pln_plan plan = {0};
  OK(ctx, fnzi_pln_make(ctx, p, &policy, &plan));
  OK(ctx, fnzi_pln_check(ctx, &plan));
  const fnzi_graph *g = fnzi_graph_main(p);
  ck_assert_uint_eq(g->nodes.count, strlen(layouts));
  for (size_t n = 0; n < g->nodes.count; n++) {
    const fnz_geometry *map = plan.locations[fnzi_pln_result_of(&g->nodes.data[n])].map;
    bool is_last = map->rank > 2 && map->strides[1] == 1;
    ck_assert_msg(is_last == (layouts[n] == '+'), "node %zu of %s", n, layouts);
  }
  fnzi_pln_free(ctx, &plan);
  fnz_program_destroy(p);
}

#define IMAGE "%x: f32[1,6,9,8], %w: f32[6,6,3,3]"

START_TEST(a_chain_keeps_it_up_to_its_output) {
  begin();
  lie(IMAGE,
      CONV("a", "1,6,9,8", "x", "w", "1", "1", "1") "  %b: f32[1,6,9,8] = tanh(%a)\n" CONV(
          "c", "1,6,9,8", "b", "w", "1", "1", "1") "  return %c\n",
      "++-");
  end();
}
END_TEST

START_TEST(pools_sums_and_joins_keep_it) {
  begin();
  lie(IMAGE,
      CONV("a", "1,6,9,8", "x", "w", "1", "1",
           "1") "  %p: f32[1,6,4,4] = max_pool2d(%a, [2, 2], [2, 2])\n"
                "  %q: f32[1,6,4,4] = avg_pool2d(%a, [2, 2], [2, 2])\n"
                "  %r: f32[1,6,4,4] = add.Tensor(%p, %q)\n"
                "  %j: f32[1,12,4,4] = cat([%r, %q], 1)\n"
                "  %s: f32[] = sum(%j)\n  return %s\n",
      "+++++-");
  end();
}
END_TEST

START_TEST(other_values_do_not_have_it) {
  begin();
  lie(IMAGE,
      "  %t: f32[1,6,9,8] = tanh(%x)\n  %p: f32[1,6,4,4] = max_pool2d(%t, [2, 2], [2, 2])\n" CONV(
          "a", "1,6,4,4", "p", "w", "1", "1",
          "1") "  %f: f32[1,96] = reshape(%a, [1, 96])\n  %s: f32[1,96] = softmax.int(%f, 1)\n"
               "  return %s\n",
      "--+--");
  end();
}
END_TEST

/* --- Bits -------------------------------------------------------------------------------- */
/* On one thread and on two, twice: the second run finds what the first one has kept. */
static void verify(const char *inputs, const char *nodes) {
  fnz_program *p = read_network(inputs, nodes);
  fnz_arrays *given;
  OK(ctx, fnzi_random_inputs(ctx, p, 7, &given));
  for (int threads = 1; threads <= 2; threads++) {
    fnz_compile_options options = FNZ_COMPILE_OPTIONS_INIT;
    fnz_executable *exe;
    options.threads = threads;
    options.check = true;
    OK(ctx, fnz_compile(ctx, p, &options, &exe));
    OK(ctx, fnz_executable_verify(ctx, exe, given));
    OK(ctx, fnz_executable_verify(ctx, exe, given));
    fnz_executable_destroy(exe);
  }
  fnz_arrays_destroy(given);
  fnz_program_destroy(p);
}

START_TEST(channels_of_any_number_have_the_interpreters_bits) {
  begin();
  verify("%x: f32[2,3,11,10], %w: f32[17,3,3,3], %v: f32[13,17,1,1], %d: f32[13,1,5,5]",
         CONV("a", "2,17,11,10", "x", "w", "1", "1", "1") "  %b: f32[2,17,11,10] = relu(%a)\n" CONV(
             "c", "2,13,11,10", "b", "v", "1", "0", "1")
             CONV("e", "2,13,6,5", "c", "d", "2", "2", "13") "  %y: f32[2,13,6,5] = silu(%e)\n"
                                                             "  return %y\n");
  verify("%x: f32[1,12,9,9], %w: f32[8,3,3,3], %v: f32[8,2,1,1]",
         CONV("a", "1,8,9,9", "x", "w", "1", "1", "4") CONV("b", "1,8,9,9", "a", "v", "1", "0", "4")
             CONV("c", "1,8,5,5", "b", "v", "2", "0", "4") "  return %b, %c\n");
  end();
}
END_TEST

/* Parts by rows and by channels; a convolution that is one part; many samples. */
START_TEST(parts_have_the_interpreters_bits) {
  begin();
  verify("%x: f32[1,48,37,30], %w: f32[48,48,3,3], %v: f32[256,48,3,3], %u: f32[64,256,1,1]",
         CONV("a", "1,48,37,30", "x", "w", "1", "1", "1") "  %b: f32[1,48,37,30] = relu(%a)\n" CONV(
             "c", "1,256,19,15", "b", "v", "2", "1", "1")
             CONV("e", "1,64,19,15", "c", "u", "1", "0", "1") "  return %e, %a\n");
  verify("%x: f32[16,8,6,6], %w: f32[8,8,3,3]",
         CONV("a", "16,8,6,6", "x", "w", "1", "1", "1")
             CONV("b", "16,8,6,6", "a", "w", "1", "1", "1") "  return %b\n");
  end();
}
END_TEST

/* A convolution, a pool, a sum over places, a transposed view, a reshaped one, an update of a part
 * and an output read one value. */
START_TEST(several_readers_have_the_interpreters_bits) {
  begin();
  verify("%x: f32[2,5,12,9], %w: f32[5,5,3,3], %k: f32[5,12,9]",
         CONV("a", "2,5,12,9", "x", "w", "1", "1", "1")
             CONV("b", "2,5,12,9", "a", "w", "1", "1",
                  "1") "  %p: f32[2,5,6,4] = max_pool2d(%a, [3, 3], [2, 2], [1, 0])\n"
                       "  %s: f32[2,5] = sum.dim_IntList(%a, [2, 3])\n"
                       "  %t: f32[2,12,9,5] = permute(%a, [0, 2, 3, 1])\n"
                       "  %u: f32[2,12,9,5] = softmax.int(%t, 3)\n"
                       "  %r: f32[2,540] = reshape(%a, [2, 540])\n"
                       "  %c: f32[2,540] = cumsum(%r, 1)\n"
                       "  %d: f32[2,5,12,9] = select_scatter(%b, %k, 0, 1)\n"
                       "  %e: f32[2,5,12,9] = add.Tensor(%d, %x)\n"
                       "  return %a, %p, %s, %u, %c, %e\n");
  end();
}
END_TEST

/* Windows that lie side by side; pools and a sum read images that lie among the channels of a
 * concatenation. */
START_TEST(some_channels_have_the_interpreters_bits) {
  begin();
  verify("%x: f32[2,16,12,9], %w: f32[20,16,1,1], %u: f32[20,24,2,2]",
         CONV("a", "2,20,12,9", "x", "w", "1", "0",
              "1") "  %b: f32[2,20,12,9] = relu(%a)\n"
                   "  %p: f32[2,20,6,4] = max_pool2d(%b, [2, 2], [2, 2])\n"
                   "  %m: f32[2,20,6,5] = avg_pool2d(%b, [2, 3], [2, 2], [0, 1])\n"
                   "  %t: f32[2,24,12,8] = convolution(%p, %u, None, [2, 2], [0, 0], [1, 1], True, "
                   "[0, 0], 1)\n"
                   "  %n: f32[2,20,12,9] = neg(%b)\n"
                   "  %c: f32[2,40,12,9] = cat([%b, %n], 1)\n"
                   "  %s: f32[2,12,9] = sum.dim_IntList(%c, [1])\n  return %m, %t, %s\n");
  /* The last block of lines is small: threads may not share scratch memory. */
  verify("%x: f32[4,1024,130], %u: f32[1024,64,2]",
         "  %t: f32[4,64,260] = convolution(%x, %u, None, [2], [0], [1], True, [0], 1)\n"
         "  return %t\n");
  end();
}
END_TEST

/* Means of short and of long rows, with and without padding; NaN comes out of a maximum. */
START_TEST(pools_have_the_interpreters_bits) {
  begin();
  verify("%x: f32[2,70,20,21], %w: f32[70,1,1,1]",
         CONV("c", "2,70,20,21", "x", "w", "1", "0",
              "70") "  %n: f32[2,70,20,21] = log(%c)\n"
                    "  %a: f32[2,70,1,1] = adaptive_avg_pool2d(%c, [1, 1])\n"
                    "  %b: f32[2,70,3,4] = adaptive_avg_pool2d(%c, [3, 4])\n"
                    "  %d: f32[2,70,10,11] = avg_pool2d(%c, [3, 3], [2, 2], [1, 1])\n"
                    "  %e: f32[2,70,11,11] = avg_pool2d(%c, [2, 3], [2, 2], [1, 1], False, False)\n"
                    "  %f: f32[2,70,20,2] = avg_pool2d(%c, [1, 18], [1, 2])\n"
                    "  %g: f32[2,70,10,11] = max_pool2d(%n, [3, 3], [2, 2], [1, 1])\n"
                    "  %h: f32[2,70,9,9] = max_pool2d(%c, [3, 4], [2, 2], [1, 1], [2, 2])\n"
                    "  return %a, %b, %d, %e, %f, %g, %h\n");
  end();
}
END_TEST

/* A row of 24 channels: a tile has 1008 elements, and no number is repeated more often than 1024.
 */
START_TEST(numbers_and_repeated_rows_have_the_interpreters_bits) {
  begin();
  verify(
      "%x: f32[1,6,8,8], %w: f32[24,6,1,1], %s: f32[24,1,1], %v: f32[4,24,1,1]",
      CONV("a", "1,24,8,8", "x", "w", "1", "0",
           "1") "  %b: f32[1,24,8,8] = addcmul(%s, %a, %s, value=0.5)\n" CONV("c", "1,4,8,8", "b",
                                                                              "v", "1", "0",
                                                                              "1") "  return %c\n");
  end();
}
END_TEST

START_TEST(other_ranks_have_the_interpreters_bits) {
  begin();
  verify("%x: f32[2,6,30], %w: f32[7,6,3], %v: f32[7,7,1]",
         "  %a: f32[2,7,30] = convolution(%x, %w, None, [1], [1], [1], False, [0], 1)\n"
         "  %b: f32[2,7,30] = tanh(%a)\n"
         "  %c: f32[2,7,30] = convolution(%b, %v, None, [1], [0], [1], False, [0], 1)\n"
         "  %p: f32[2,7,1] = adaptive_avg_pool1d(%c, [1])\n"
         "  return %p\n");
  verify("%x: f32[3,8,9], %w: f32[4,3,3,3], %v: f32[4,2,2,2]",
         "  %a: f32[4,8,9] = convolution(%x, %w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1)\n"
         "  %b: f32[4,16,18] = convolution(%a, %v, None, [2, 2], [0, 0], [1, 1], True, [0, 0], 2)\n"
         "  return %b\n");
  end();
}
END_TEST

RUN_SUITE("engine_images", a_chain_keeps_it_up_to_its_output, pools_sums_and_joins_keep_it,
          other_values_do_not_have_it, channels_of_any_number_have_the_interpreters_bits,
          parts_have_the_interpreters_bits, some_channels_have_the_interpreters_bits,
          several_readers_have_the_interpreters_bits, pools_have_the_interpreters_bits,
          numbers_and_repeated_rows_have_the_interpreters_bits,
          other_ranks_have_the_interpreters_bits)
