/* checks: 2
 * compare_random_test.c - programs that the comparison calls equal mean the same: random programs,
 * in which some nodes change places, against verification over hashes. FNZ_PROGRAMS is the count,
 * FNZ_SEED chooses them. */
#include "program/program.h"
#include "soak/programs.h"
#include "tests/help/context.h"

#include <stdio.h>

static size_t number_of(const char *name, size_t fallback) {
  const char *text = getenv(name);
  return text ? strtoul(text, NULL, 10) : fallback;
}

static fnz_program *draw(size_t i) {
  static choices c;
  static fnzi_random_counts counts;
  fnz_program *p;
  choices_start(&c, number_of("FNZ_SEED", 5), i);
  OK(ctx, fnzi_random_program(ctx, NULL, &c, &counts, &p));
  return p;
}

/* Two neighbours change places, whether they depend on each other or not. */
static void swap(fnz_program *p, uint32_t i) {
  fnzi_graph *g = fnzi_graph_main(p);
  fnzi_node first = g->nodes.data[i];
  g->nodes.data[i] = g->nodes.data[i + 1];
  g->nodes.data[i + 1] = first;
  for (uint32_t k = i; k < i + 2; k++)
    FNZI_EACH_ARG(each, g->nodes.data[k].outputs, g->nodes.data[k].noutputs)
      if (fnzi_is_reference(each.arg))
        fnzi_value_at(p, 0, each.arg->u.value)->node = k;
}

/* `seed` decides how many neighbours change places; pairs that may not are put back. */
static void shuffle(fnz_program *p, uint64_t seed) {
  size_t count = fnz_node_count(p, 0);
  for (size_t n = 0, most = 1 + seed % 32; count > 1 && n < most; n++) {
    uint32_t i = (uint32_t)(splitmix64(&seed) % (count - 1));
    swap(p, i);
    if (fnz_program_verify(ctx, p) != FNZ_OK)
      swap(p, i);
  }
}

START_TEST(a_program_is_itself) {
  begin();
  for (size_t i = 0, most = number_of("FNZ_PROGRAMS", 300); i < most; i++) {
    fnz_program *p = draw(i), *copy = read_again(p, FNZ_FORMAT_TEXT);
    OK(ctx, fnz_program_compare(ctx, p, copy, NULL));
    fnz_program_destroy(copy);
    fnz_program_destroy(p);
  }
  end();
}
END_TEST

/* Returns whether the two were the same. */
static bool check_shuffled(const fnz_program *p, const fnz_program *q, size_t i) {
  fnz_difference *d;
  fnz_program *functional;
  fnz_status status = fnz_program_compare(ctx, p, q, &d);
  ck_assert_int_eq(status == FNZ_OK, d == NULL);
  ck_assert_msg(status == FNZ_OK || status == FNZ_DIFFERENT, "%s", fnz_last_error(ctx)->message);
  fnz_difference_destroy(d);
  if (status == FNZ_OK && fnz_functionalize(ctx, q, NULL, &functional) == FNZ_OK) {
    ck_assert_msg(fnz_verify(ctx, p, functional, NULL, NULL, NULL) == FNZ_OK,
                  "program %zu: not told apart, but %s: %s", i, fnz_last_error(ctx)->where,
                  fnz_last_error(ctx)->message);
    fnz_program_destroy(functional);
  }
  return status == FNZ_OK;
}

START_TEST(what_is_not_told_apart_means_the_same) {
  size_t same = 0, most = number_of("FNZ_PROGRAMS", 1500), refused = 0;
  begin();
  for (size_t i = 0; i < most; i++) {
    fnz_program *p = draw(i), *q = read_again(p, FNZ_FORMAT_TEXT), *functional;
    shuffle(q, i);
    if (fnz_functionalize(ctx, p, NULL, &functional) == FNZ_OK)
      same += check_shuffled(p, q, i);
    else
      refused++;
    fnz_program_destroy(functional);
    fnz_program_destroy(q);
    fnz_program_destroy(p);
  }
  /* Both answers must be common, or nothing was tested. */
  ck_assert_msg(same > most / 10 && same + refused < most - most / 10,
                "%zu same of %zu, %zu refused", same, most, refused);
  end();
}
END_TEST

RUN_SUITE("compare_random", a_program_is_itself, what_is_not_told_apart_means_the_same)
