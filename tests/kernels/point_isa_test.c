/* checks: 6
 * point_isa_test.c - rows of point.def for each instruction set that this processor has: an
 * element's bits depend on neither its neighbours nor its place nor the set. The bits of NaN may
 * depend on the set. */
#include "tests/kernels/point_draws.h"
#include "tests/help/test.h"

#include <stdlib.h>

enum { CHUNKS = 24 }; /* of rows that are compared */

static bool is_same(fnz_dtype dtype, const cells *a, int64_t i, const cells *b, int64_t j) {
  size_t cell = fnzi_dtype(dtype)->bytes;
  return memcmp(a->bytes + (size_t)i * cell, b->bytes + (size_t)j * cell, cell) == 0 ||
         (is_nan(dtype, a, i) && is_nan(dtype, b, j));
}

/* Within one set of instructions NaN has the same bits, too. */
static bool has_bits(fnz_dtype dtype, const cells *a, int64_t i, const cells *b, int64_t j) {
  size_t cell = fnzi_dtype(dtype)->bytes;
  return memcmp(a->bytes + (size_t)i * cell, b->bytes + (size_t)j * cell, cell) == 0;
}

/* --- Checks --------------------------------------------------------------------------------- */
/* Chunks are cut in pieces of random lengths, elements alone among them. */
static void check_neighbours(fnz_dtype class_dtype, const fnzi_cpu_point *row) {
  static cells in[FNZI_POINT_OPERANDS], whole, piece;
  size_t cell = fnzi_dtype(class_dtype)->bytes;
  for (int chunk = 0; chunk < CHUNKS / 4; chunk++) {
    draw_operands(class_dtype, row, in);
    run(row, in, 0, FNZI_POINT_CHUNK, cell, &whole);
    for (int64_t at = 0, n; at < FNZI_POINT_CHUNK; at += n) {
      n = draw() % 2 ? 1 : 1 + (int64_t)(draw() % 37);
      n = n < FNZI_POINT_CHUNK - at ? n : FNZI_POINT_CHUNK - at;
      run(row, in, at, n, cell, &piece);
      for (int64_t i = 0; i < n; i++)
        ck_assert_msg(has_bits(row->out, &whole, at + i, &piece, i),
                      "%s of %s: element %lld among %lld others", row->name,
                      fnzi_dtype(class_dtype)->name, (long long)(at + i), (long long)n);
    }
  }
}

/* An operand that is one element, as copies of it. */
static void check_same(fnz_dtype class_dtype, const fnzi_cpu_point *row) {
  static cells in[FNZI_POINT_OPERANDS], want, have;
  size_t cell = fnzi_dtype(class_dtype)->bytes;
  for (uint32_t same = 1; same < 1U << row->arity; same++) {
    const void *operands[FNZI_POINT_OPERANDS];
    int64_t count = 1 + (int64_t)(draw() % FNZI_POINT_CHUNK);
    draw_operands(class_dtype, row, in);
    for (uint32_t k = 0; k < row->arity; k++) {
      operands[k] = in[k].bytes;
      for (int64_t i = 1; i < count && same >> k & 1; i++)
        memcpy(in[k].bytes + (size_t)i * cell, in[k].bytes, cell);
    }
    run(row, in, 0, count, cell, &want);
    row->run_same(have.bytes, operands, same, count);
    for (int64_t i = 0; i < count; i++)
      ck_assert_msg(has_bits(row->out, &want, i, &have, i), "%s of %s: element %lld", row->name,
                    fnzi_dtype(class_dtype)->name, (long long)i);
  }
}

START_TEST(one_element_is_as_copies_of_it) {
  size_t rows = 0;
  state = 3;
  for (int isa = 0; isa <= (int)fnzi_krn_isa_best(); isa++)
    for (size_t c = 0; c < 3; c++)
      for (const fnzi_cpu_point *row = fnzi_cpu_point_rows((fnzi_krn_isa)isa, classes[c]);
           row->name; row++)
        if (row->run_same) {
          check_same(classes[c], row);
          rows++;
        }
  ck_assert_uint_gt(rows, 200);
}
END_TEST

START_TEST(neighbours_do_not_matter) {
  size_t rows = 0;
  state = 1;
  for (int isa = 0; isa <= (int)fnzi_krn_isa_best(); isa++)
    for (size_t c = 0; c < 3; c++)
      for (const fnzi_cpu_point *row = fnzi_cpu_point_rows((fnzi_krn_isa)isa, classes[c]);
           row->name; row++, rows++)
        check_neighbours(classes[c], row);
  ck_assert_uint_gt(rows, 300);
}
END_TEST

static void check_sets(fnz_dtype class_dtype, const fnzi_cpu_point *base,
                       const fnzi_cpu_point *row) {
  static cells in[FNZI_POINT_OPERANDS], want, have;
  size_t cell = fnzi_dtype(class_dtype)->bytes;
  const char *more = getenv("FNZ_CHUNKS");
  int chunks = more ? atoi(more) : CHUNKS;
  ck_assert_str_eq(base->name, row->name);
  ck_assert(base->arity == row->arity && base->out == row->out && base->keeps == row->keeps &&
            base->check == row->check);
  for (int chunk = 0; chunk < chunks; chunk++) {
    draw_operands(class_dtype, base, in);
    run(base, in, 0, FNZI_POINT_CHUNK, cell, &want);
    run(row, in, 0, FNZI_POINT_CHUNK, cell, &have);
    for (int64_t i = 0; i < FNZI_POINT_CHUNK; i++)
      ck_assert_msg(is_same(row->out, &want, i, &have, i), "%s of %s: element %lld", row->name,
                    fnzi_dtype(class_dtype)->name, (long long)i);
  }
}

/* Sets that this processor lacks are not run: of their objects the gates see the symbols only. */
START_TEST(sets_do_not_matter) {
  state = 2;
  for (int isa = 1; isa <= (int)fnzi_krn_isa_best(); isa++)
    for (size_t c = 0; c < 3; c++) {
      const fnzi_cpu_point *base = fnzi_cpu_point_rows(FNZI_ISA_BASE, classes[c]),
                           *row = fnzi_cpu_point_rows((fnzi_krn_isa)isa, classes[c]);
      for (; base->name; base++, row++)
        check_sets(classes[c], base, row);
      ck_assert(!row->name);
    }
}
END_TEST

/* --- Chains ---------------------------------------------------------------------------------- */
/* The row as the only link between one that loads its operand `place` and one that stores. */
static void run_chain(const fnzi_cpu_point *row, uint32_t place, cells *in, cells *out) {
  const fnzi_meta_chains *chains = row->links->chains;
  fnzi_meta_link links[4] = {{chains->load, {(uint16_t)place}},
                             {row->links->at[place], {0}},
                             {chains->store, {FNZI_POINT_OPERANDS}},
                             {chains->end, {0}}};
  unsigned char *slots[FNZI_POINT_OPERANDS + 1];
  if (row->out == FNZ_BOOL)
    links[2].run = chains->store_truths;
  for (uint32_t k = 0, n = 0; k < row->arity; k++) {
    slots[k] = in[k].bytes;
    if (k != place)
      links[1].in[n++] = (uint16_t)k;
  }
  slots[FNZI_POINT_OPERANDS] = out->bytes;
  ck_assert_int_eq(FNZI_POINT_CHUNK % chains->elements, 0);
  chains->run(links, slots, FNZI_POINT_CHUNK);
}

static void check_link(fnz_dtype class_dtype, const fnzi_cpu_point *row, uint32_t place) {
  static cells in[FNZI_POINT_OPERANDS], want, have;
  for (int chunk = 0; chunk < CHUNKS; chunk++) {
    draw_operands(class_dtype, row, in);
    run(row, in, 0, FNZI_POINT_CHUNK, fnzi_dtype(class_dtype)->bytes, &want);
    run_chain(row, place, in, &have);
    for (int64_t i = 0; i < FNZI_POINT_CHUNK; i++)
      ck_assert_msg(is_same(row->out, &want, i, &have, i), "%s, operand %u held: element %lld",
                    row->name, place, (long long)i);
  }
}

START_TEST(links_are_rows) {
  size_t links = 0;
  state = 3;
  for (int isa = 0; isa <= (int)fnzi_krn_isa_best(); isa++)
    for (size_t c = 0; c < 3; c++)
      for (const fnzi_cpu_point *row = fnzi_cpu_point_rows((fnzi_krn_isa)isa, classes[c]);
           row->name; row++)
        for (uint32_t k = 0; row->links && k < row->arity; k++, links++)
          check_link(classes[c], row, k);
  ck_assert_uint_gt(links, 100);
}
END_TEST

/* Truths in memory, and two operands: one of the three is loaded, the choice reads the others. */
typedef struct choice {
  unsigned char truths[FNZI_POINT_CHUNK];
  cells operands[2], out;
} choice;

static void check_choice(const fnzi_meta_chains *chains, choice *c, uint32_t held) {
  size_t cell = fnzi_dtype(chains->dtype)->bytes;
  unsigned char *slots[] = {c->truths, c->operands[0].bytes, c->operands[1].bytes, c->out.bytes};
  fnzi_meta_link links[] = {{held ? chains->load : chains->load_truths, {(uint16_t)held}},
                            {chains->choose[held], {held == 0, held == 2 ? 1 : 2}},
                            {chains->store, {3}},
                            {chains->end, {0}}};
  chains->run(links, slots, FNZI_POINT_CHUNK);
  for (size_t i = 0; i < FNZI_POINT_CHUNK; i++)
    ck_assert_msg(memcmp(c->out.bytes + i * cell, slots[c->truths[i] ? 1 : 2] + i * cell, cell) ==
                      0,
                  "operand %u of a choice held: element %zu", held, i);
}

static void check_counts(const fnzi_meta_chains *chains, choice *c) {
  unsigned char *slots[] = {c->truths, c->out.bytes, c->operands[0].bytes};
  fnzi_meta_link links[] = {{chains->load_truths, {0}},
                            {chains->store_truths, {2}},
                            {chains->count_truths, {0}},
                            {chains->store, {1}},
                            {chains->end, {0}}};
  chains->run(links, slots, FNZI_POINT_CHUNK);
  ck_assert_mem_eq(c->operands[0].bytes, c->truths, FNZI_POINT_CHUNK);
  for (int i = 0; i < FNZI_POINT_CHUNK; i++)
    ck_assert(c->out.f32[i] == (float)c->truths[i]);
}

START_TEST(truths_choose_and_count) {
  static choice c;
  size_t classes_with_chains = 0;
  state = 4;
  for (int isa = 0; isa <= (int)fnzi_krn_isa_best(); isa++)
    for (size_t k = 0; k < 3; k++) {
      const fnzi_cpu_point *row = fnzi_cpu_point_rows((fnzi_krn_isa)isa, classes[k]);
      while (row->name && (!row->links || row->arity != 2))
        row++;
      if (!row->name)
        continue;
      for (int i = 0; i < FNZI_POINT_CHUNK; i++)
        c.truths[i] = draw() % 2;
      draw_operands(classes[k], row, c.operands);
      for (uint32_t held = 0; held < 3; held++)
        check_choice(row->links->chains, &c, held);
      check_counts(row->links->chains, &c);
      classes_with_chains++;
    }
  ck_assert_uint_ge(classes_with_chains, 1);
}
END_TEST

/* Numbers for which sin, cos and tan need another reduction than their neighbours. */
START_TEST(large_angles_stay_alone) {
  static const char *const names[] = {"sin", "cos", "tan"};
  static const float large[] = {1e6f, 39000.0f, 3e38f, INFINITY, NAN, -1e10f};
  for (int isa = 0; isa <= (int)fnzi_krn_isa_best(); isa++)
    for (size_t k = 0; k < 3; k++)
      for (size_t n = 0; n < sizeof large / sizeof *large; n++) {
        cells in, alone, among;
        const fnzi_cpu_point *row = fnzi_cpu_point_rows((fnzi_krn_isa)isa, FNZ_F32);
        while (strcmp(row->name, names[k]) != 0)
          row++;
        for (int i = 0; i < FNZI_POINT_CHUNK; i++)
          in.f32[i] = (float)i * 0.37f - 90;
        run(row, &in, 0, FNZI_POINT_CHUNK, sizeof(float), &alone);
        for (int i = 0; i < FNZI_POINT_CHUNK; i += 4)
          in.f32[i] = large[n];
        run(row, &in, 0, FNZI_POINT_CHUNK, sizeof(float), &among);
        for (int i = 0; i < FNZI_POINT_CHUNK; i++)
          ck_assert_msg(i % 4 == 0 || is_same(FNZ_F32, &alone, i, &among, i), "%s: %d", names[k],
                        i);
      }
}
END_TEST

RUN_SUITE("point isa", one_element_is_as_copies_of_it, neighbours_do_not_matter, sets_do_not_matter,
          links_are_rows, truths_choose_and_count, large_angles_stay_alone)
