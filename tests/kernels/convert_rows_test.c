/* checks: 8
 * convert_rows_test.c - loops that convert and copy elements: the same bits in every instruction
 * set, dense and strided; choices, and copies of windows, against those cell by cell. */
#include "soak/choices.h"
#include "tests/help/context.h"
#include "tests/help/test.h"

#include "kernels/core/convert.h"
#include "kernels/core/half.h"

#include <stdlib.h>

enum { COUNT = 1031, WIDEST = 16, MOST_STEP = 3 };

typedef struct cells {
  _Alignas(16) unsigned char bytes[COUNT * WIDEST * MOST_STEP];
} cells;

static uint64_t state;

static uint64_t draw(void) {
  return splitmix64(&state);
}

/* Random bits, half of them small numbers: floats then have an exponent near 1. */
static void fill(fnz_dtype dtype, cells *out) {
  size_t cell = fnzi_dtype(dtype)->bytes;
  for (size_t i = 0; i < sizeof out->bytes; i++)
    out->bytes[i] = (unsigned char)draw();
  for (size_t i = 0; i < COUNT * MOST_STEP; i += 2) {
    float f = (float)(int64_t)(draw() % 4001) * 0.125f - 250;
    double d = (double)f * 1e7;
    int64_t n = (int64_t)f;
    const void *number = dtype == FNZ_F32 ? (void *)&f : dtype == FNZ_F64 ? (void *)&d : &n;
    if (dtype == FNZ_F32 || dtype == FNZ_F64 || fnzi_is_integer(dtype))
      memcpy(out->bytes + i * cell, number, cell);
    else if (cell == 2)
      out->bytes[i * 2 + 1] = (unsigned char)(0x38 | (draw() & 0x87));
  }
}

/* --- Conversions ---------------------------------------------------------------------------- */
static void check_pair(const fnzi_krn_rows *rows, fnz_dtype to, fnz_dtype from) {
  static cells in, want, have;
  int64_t wide = (int64_t)fnzi_dtype(to)->bytes, cell = (int64_t)fnzi_dtype(from)->bytes;
  fill(from, &in);
  for (int step = 1; step <= MOST_STEP; step++) {
    memset(&want, 0, sizeof want);
    memset(&have, 0, sizeof have);
    for (int64_t i = 0; i < COUNT; i++) /* one at a time */
      fnzi_krn_rows_of.pairs[from][to]((char *)want.bytes + i * step * wide, wide,
                                       (const char *)in.bytes + i * step * cell, cell, 1);
    rows->pairs[from][to]((char *)have.bytes, step * wide, (const char *)in.bytes, step * cell,
                          COUNT);
    ck_assert_msg(memcmp(&want, &have, sizeof want) == 0, "%s to %s, every %d",
                  fnzi_dtype(from)->name, fnzi_dtype(to)->name, step);
  }
}

START_TEST(conversions_do_not_depend_on_the_set) {
  size_t pairs = 0;
  state = 1;
  for (int isa = 0; isa <= (int)fnzi_krn_isa_best(); isa++)
    for (int from = 0; from < FNZ_DTYPE_COUNT; from++)
      for (int to = 0; to < FNZ_DTYPE_COUNT; to++)
        if (fnzi_krn_rows_of.pairs[from][to]) {
          check_pair(fnzi_krn_rows_for((fnzi_krn_isa)isa), (fnz_dtype)to, (fnz_dtype)from);
          pairs++;
        }
  ck_assert_uint_eq(pairs, (size_t)13 * 13 * ((size_t)fnzi_krn_isa_best() + 1));
}
END_TEST

/* All 16-bit floats, there and back; and the neighbours of each in f32, which round to it or to the
 * next one. */
START_TEST(halves_round_to_nearest_even) {
  static const fnz_dtype halves[] = {FNZ_F16, FNZ_BF16};
  for (size_t k = 0; k < 2; k++)
    for (uint32_t bits = 0; bits < 0x8000; bits++) {
      uint16_t half = (uint16_t)bits, back[3];
      float wide[3], next;
      double middle;
      uint16_t above = (uint16_t)(half + 1);
      fnzi_krn_convert_one(FNZ_F32, &wide[0], halves[k], &half);
      fnzi_krn_convert_one(FNZ_F32, &next, halves[k], &above);
      middle = ((double)wide[0] + (double)next) / 2;
      if (!(middle - middle == 0)) /* infinity and NaN */
        continue;
      wide[1] = (float)middle;
      wide[2] = (float)(middle + (middle - (double)wide[0]) / 4);
      fnzi_krn_convert(&(fnzi_krn_conversion){halves[k], FNZ_F32, 2, 4}, back, wide, 3);
      ck_assert_uint_eq(back[0], half);
      ck_assert_uint_eq(back[1], half % 2 == 0 ? half : above);
      ck_assert_uint_eq(back[2], above);
    }
}
END_TEST

/* Expected elements, by half.h alone, a NaN included. */
static float plain_widened(uint16_t half, bool keeps) {
  uint32_t nan = keeps ? fnzi_krn_widened_nan(false, half) : 0;
  return nan ? fnzi_krn_bits_float(nan) : fnzi_krn_from_f16(half);
}
static uint16_t plain_narrowed(float v, bool keeps) {
  uint16_t nan = keeps ? fnzi_krn_narrowed_nan(false, fnzi_krn_float_bits(v)) : 0;
  return nan ? nan : fnzi_krn_to_f16(v);
}

enum { HALVES = 1 << 16, PATTERNS = 1 << 21 };

/* All halves. Floats of every sign and exponent with 4,096 fractions each, most of them around
 * where halves round to the next one. */
static uint32_t pattern(uint32_t k) {
  uint32_t fraction = (k & 0xfff) >> 2 << 13;
  static const uint32_t below[] = {0, 0x0fff, 0x1000, 0x1001};
  return k >> 12 << 23 | fraction | below[k & 3];
}

/* Because a NaN ends what instructions do for a row. */
static void in_pieces(fnzi_krn_row_fn *row, void *to, int64_t cell, const void *from, int64_t wide,
                      int64_t count) {
  const int64_t piece = 64;
  for (int64_t i = 0; i < count; i += piece)
    row((char *)to + i * cell, cell, (const char *)from + i * wide, wide, piece);
}

START_TEST(halves_are_those_of_plain_code_in_every_set) {
  static uint16_t halves[PATTERNS];
  static float floats[PATTERNS];
  for (int isa = 0; isa <= (int)fnzi_krn_isa_best(); isa++)
    for (int keeps = 0; keeps < 2; keeps++) {
      const fnzi_krn_rows *rows = fnzi_krn_rows_for((fnzi_krn_isa)isa);
      for (uint32_t k = 0; k < HALVES; k++)
        halves[k] = (uint16_t)k;
      in_pieces(keeps ? rows->halves[FNZI_KRN_KEPT_FROM_F16] : rows->pairs[FNZ_F16][FNZ_F32],
                floats, 4, halves, 2, HALVES);
      for (uint32_t k = 0; k < HALVES; k++)
        ck_assert_uint_eq(fnzi_krn_float_bits(floats[k]),
                          fnzi_krn_float_bits(plain_widened(halves[k], keeps)));
      for (uint32_t k = 0; k < PATTERNS; k++)
        floats[k] = fnzi_krn_bits_float(pattern(k));
      in_pieces(keeps ? rows->halves[FNZI_KRN_KEPT_TO_F16] : rows->pairs[FNZ_F32][FNZ_F16], halves,
                2, floats, 4, PATTERNS);
      for (uint32_t k = 0; k < PATTERNS; k++)
        ck_assert_uint_eq(halves[k], plain_narrowed(floats[k], keeps));
    }
}
END_TEST

/* bf16: a NaN of f32 is 0x7fc0 where something was computed, all ones after a cast, and keeps its
 * upper half otherwise. */
static uint16_t plain_brain(float v, int how) {
  uint16_t nan = how == 2 ? fnzi_krn_narrowed_nan(true, fnzi_krn_float_bits(v)) : 0;
  return v != v && how ? (how == 1 ? 0xffff : nan) : fnzi_krn_to_bf16(v);
}

START_TEST(brains_are_those_of_plain_code_in_every_set) {
  static uint16_t out[PATTERNS];
  static float floats[PATTERNS];
  for (uint32_t k = 0; k < PATTERNS; k++)
    floats[k] = fnzi_krn_bits_float(k << 11 | (k % 5 == 0 ? 0x400 : k % 7));
  for (int isa = 0; isa <= (int)fnzi_krn_isa_best(); isa++) {
    const fnzi_krn_rows *rows = fnzi_krn_rows_for((fnzi_krn_isa)isa);
    fnzi_krn_row_fn *const ways[] = {rows->pairs[FNZ_F32][FNZ_BF16],
                                     rows->halves[FNZI_KRN_CAST_TO_BF16],
                                     rows->halves[FNZI_KRN_KEPT_TO_BF16]};
    for (int how = 0; how < 3; how++) {
      in_pieces(ways[how], out, 2, floats, 4, PATTERNS);
      for (uint32_t k = 0; k < PATTERNS; k++)
        ck_assert_uint_eq(out[k], plain_brain(floats[k], how));
    }
  }
}
END_TEST

/* Above 63 bits u64 has no sign: PyTorch's numbers. */
START_TEST(large_unsigned_numbers_are_positive) {
  static const uint64_t in[] = {1ull << 63, UINT64_MAX, (1ull << 63) + (1ull << 40), 5};
  static const double doubles[] = {0x1p63, 0x1p64, 0x1.000002p63, 5};
  static const float floats[] = {0x1p63f, 0x1p64f, 0x1.000002p63f, 5};
  static const uint16_t brains[] = {0x5f00, 0x5f80, 0x5f00, 0x40a0},
                        halves[] = {0x7c00, 0x7c00, 0x7c00, 0x4500};
  double d[4];
  float f[4];
  uint16_t b[4], h[4];
  uint64_t back[4];
  fnzi_krn_convert(&(fnzi_krn_conversion){FNZ_F64, FNZ_U64, 8, 8}, d, in, 4);
  fnzi_krn_convert(&(fnzi_krn_conversion){FNZ_F32, FNZ_U64, 4, 8}, f, in, 4);
  fnzi_krn_convert(&(fnzi_krn_conversion){FNZ_BF16, FNZ_U64, 2, 8}, b, in, 4);
  fnzi_krn_convert(&(fnzi_krn_conversion){FNZ_F16, FNZ_U64, 2, 8}, h, in, 4);
  ck_assert_mem_eq(d, doubles, sizeof d);
  ck_assert_mem_eq(f, floats, sizeof f);
  ck_assert_mem_eq(b, brains, sizeof b);
  ck_assert_mem_eq(h, halves, sizeof h);
  fnzi_krn_convert(&(fnzi_krn_conversion){FNZ_I64, FNZ_U64, 8, 8}, back, in, 4);
  ck_assert_mem_eq(back, in, sizeof in);
}
END_TEST

/* --- Copies --------------------------------------------------------------------------------- */
START_TEST(rows_are_copied_cell_by_cell) {
  static const int64_t steps[] = {0, 1, 3, -1, -2};
  static cells in, want, have;
  state = 3;
  fill(FNZ_U8, &in);
  for (int k = 0; k < 5; k++)
    for (size_t s = 0; s < 5; s++)
      for (int64_t to = 1; to <= 2; to++)
        for (int isa = 0; isa <= (int)fnzi_krn_isa_best(); isa++) {
          int64_t cell = (int64_t)1 << k, count = 300, step = steps[s] * cell;
          const char *from = (const char *)in.bytes + (step < 0 ? -step * (count - 1) : 0);
          memset(&want, 0, sizeof want);
          memset(&have, 0, sizeof have);
          for (int64_t i = 0; i < count; i++)
            memcpy(want.bytes + i * to * cell, from + i * step, (size_t)cell);
          fnzi_krn_rows_for((fnzi_krn_isa)isa)
              ->copies[k]((char *)have.bytes, to * cell, from, step, count);
          ck_assert_msg(memcmp(&want, &have, sizeof want) == 0, "%lld bytes, step %lld",
                        (long long)cell, (long long)step);
        }
}
END_TEST

/* Strides in cells of to, mask, yes and no. `over` 1 and 2: yes or no is written over. */
static void check_choice(const fnzi_krn_rows *rows, int k, const int64_t *steps, int over) {
  static cells mask, yes, no, want, have;
  size_t cell = (size_t)1 << k;
  int64_t bytes = (int64_t)cell;
  cells *operand[] = {&have, &yes, &no};
  fill(FNZ_U8, &mask), fill(FNZ_U8, &yes), fill(FNZ_U8, &no), fill(FNZ_U8, &have);
  for (size_t i = 0; i < sizeof mask.bytes; i++)
    mask.bytes[i] &= 1;
  want = *operand[over];
  for (int64_t i = 0; i < COUNT; i++)
    memcpy(want.bytes + i * steps[0] * bytes,
           mask.bytes[i * steps[1]] ? yes.bytes + i * steps[2] * bytes
                                    : no.bytes + i * steps[3] * bytes,
           cell);
  const fnzi_krn_choice c = {(char *)operand[over]->bytes,
                             (const char *)mask.bytes,
                             (const char *)yes.bytes,
                             (const char *)no.bytes,
                             {steps[0] * bytes, steps[1], steps[2] * bytes, steps[3] * bytes}};
  rows->choices[k](&c, COUNT);
  ck_assert_int_eq(memcmp(&want, operand[over], sizeof want), 0);
}

START_TEST(choices_are_made_cell_by_cell) {
  static const int64_t steps[][4] = {{1, 1, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}, {1, 1, 0, 0},
                                     {2, 1, 1, 1}, {1, 3, 2, 1}, {1, 0, 1, 2}};
  state = 6;
  for (fnzi_krn_isa isa = FNZI_ISA_BASE; isa <= fnzi_krn_isa_best(); isa++)
    for (int k = 0; k < 5; k++)
      for (size_t s = 0; s < sizeof steps / sizeof *steps; s++)
        for (int over = 0;
             over < (steps[s][0] == 1 && steps[s][2] == 1 && steps[s][3] == 1 ? 3 : 1); over++)
          check_choice(fnzi_krn_rows_for(isa), k, steps[s], over);
}
END_TEST

/* Sizes around the tile's, the dimensions of three in any order. */
static void check_window(const int64_t *sizes, const int *order, size_t cell, fnzi_krn_team *team) {
  static cells in, want, have;
  int64_t dense[3] = {sizes[1] * sizes[2], sizes[2], 1}, turned[3], step = 1;
  for (int k = 2; k >= 0; k--) {
    turned[order[k]] = step;
    step *= sizes[order[k]];
  }
  ck_assert_int_le(step * (int64_t)cell, (int64_t)sizeof in.bytes);
  fill(FNZ_U8, &in);
  memset(&want, 0, sizeof want);
  memset(&have, 0, sizeof have);
  for (int64_t at = 0; at < step; at++) {
    int64_t i = at / dense[0], j = at / dense[1] % sizes[1], k = at % sizes[2];
    memcpy(want.bytes + (size_t)at * cell,
           in.bytes + (size_t)(i * turned[0] + j * turned[1] + k * turned[2]) * cell, cell);
  }
  fnzi_krn_copy_cells(&(fnzi_krn_copy){3, sizes, have.bytes, dense, in.bytes, turned, cell}, team);
  ck_assert_msg(memcmp(&want, &have, sizeof want) == 0, "%lld %lld %lld as %d %d %d",
                (long long)sizes[0], (long long)sizes[1], (long long)sizes[2], order[0], order[1],
                order[2]);
}

START_TEST(windows_are_turned) {
  static const int orders[6][3] = {{0, 1, 2}, {0, 2, 1}, {1, 0, 2},
                                   {1, 2, 0}, {2, 0, 1}, {2, 1, 0}};
  static const int64_t all[][3] = {{1, 32, 48}, {1, 33, 31}, {3, 16, 16}, {5, 17, 20},
                                   {16, 2, 40}, {36, 4, 19}, {20, 20, 4}, {1, 1, 1000},
                                   {2, 100, 3}, {0, 20, 20}};
  fnzi_krn_team *team;
  begin();
  OK(ctx, fnzi_krn_team_create(ctx, 2, &team));
  state = 4;
  for (size_t s = 0; s < sizeof all / sizeof *all; s++)
    for (int o = 0; o < 6; o++)
      for (size_t cell = 1; cell <= 16; cell += cell == 2 ? 1 : cell == 3 ? 1 : cell)
        for (int threads = 1; threads <= 2; threads++)
          check_window(all[s], orders[o], cell, threads == 1 ? NULL : team);
  fnzi_krn_team_destroy(team);
  end();
}
END_TEST

RUN_SUITE("convert rows", conversions_do_not_depend_on_the_set, large_unsigned_numbers_are_positive,
          halves_round_to_nearest_even, halves_are_those_of_plain_code_in_every_set,
          brains_are_those_of_plain_code_in_every_set, rows_are_copied_cell_by_cell,
          choices_are_made_cell_by_cell, windows_are_turned)
