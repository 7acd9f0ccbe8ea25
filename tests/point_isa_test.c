/* checks: 3
 * point_isa_test.c - rows of point.def for each instruction set that this processor has: an
 * element's bits depend on neither its neighbours nor its place nor the set. NaN is NaN. */
#include "tests/test.h"

#include "kernels/cpu/point.h"

#include <stdlib.h>

enum { WIDEST = 8, CHUNKS = 24 }; /* bytes of an element; of rows that are compared */

typedef union cells {
  float f32[FNZI_POINT_CHUNK];
  double f64[FNZI_POINT_CHUNK];
  int64_t i64[FNZI_POINT_CHUNK];
  unsigned char bytes[FNZI_POINT_CHUNK * WIDEST];
} cells;

static const fnz_dtype classes[] = {FNZ_F32, FNZ_F64, FNZ_I64};
static uint64_t state;

static uint64_t draw(void) {
  state += 0x9e3779b97f4a7c15u;
  uint64_t x = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/* --- Elements ------------------------------------------------------------------------------- */
static const uint32_t special[] = {0x00000000, 0x80000000, 0x7f800000, 0xff800000, 0x7fc00000,
                                   0x7f800001, 0xffc12345, 0x00000001, 0x807fffff, 0x7f7fffff,
                                   0xff7fffff, 0x3f800000, 0xbf800000, 0x3f000000, 0x4b000001};

/* Any bits, special ones, whole numbers, and ordinary ones of three sizes. */
static double draw_number(void) {
  uint64_t kind = draw() % 8, bits = draw();
  double unit = (double)(bits >> 11) * 0x1p-52 - 1, random;
  float f;
  memcpy(&random, &bits, sizeof random);
  memcpy(&f, &special[bits % (sizeof special / sizeof *special)], sizeof f);
  return kind < 2    ? random
         : kind == 2 ? (double)f
         : kind == 3 ? (double)(int64_t)(bits % 41) - 20
         : kind == 4 ? unit * 1e5
         : kind == 5 ? unit
                     : unit * 20;
}

static void draw_floats(cells *out) {
  for (int i = 0; i < FNZI_POINT_CHUNK; i++) {
    uint32_t bits = (uint32_t)draw();
    out->f32[i] = (float)draw_number();
    if (draw() % 4 == 0)
      memcpy(&out->f32[i], &bits, sizeof bits);
  }
}

static void draw_integers(cells *out) {
  for (int i = 0; i < FNZI_POINT_CHUNK; i++) {
    uint64_t bits = draw();
    out->i64[i] = bits % 8 < 4    ? (int64_t)draw()
                  : bits % 8 == 4 ? INT64_MIN + (int64_t)(bits >> 3) % 2
                                  : (int64_t)(bits >> 3) % 41 - 20;
  }
}

/* Small whole numbers: what a degree is, and how far bits are shifted of 64. */
static void draw_small(fnz_dtype class_dtype, cells *out) {
  for (int i = 0; i < FNZI_POINT_CHUNK; i++) {
    if (class_dtype == FNZ_F32)
      out->f32[i] = (float)(draw() % 24);
    else if (class_dtype == FNZ_F64)
      out->f64[i] = (double)(draw() % 24);
    else
      out->i64[i] = 64;
  }
}

/* Which operand only makes sense, or ends, when it is small; -1 for none. */
static int small_operand(const char *row) {
  static const char *const second[] = {"polygamma", "mvlgamma", "zeta"};
  for (size_t i = 0; i < sizeof second / sizeof *second; i++)
    if (strcmp(row, second[i]) == 0)
      return 1;
  if (strncmp(row, "bitwise_", 8) == 0)
    return 2;
  return strstr(row, "chebyshev") || strncmp(row, "hermite", 7) == 0 ||
                 strcmp(row, "laguerre") == 0 || strcmp(row, "legendre") == 0
             ? 1
             : -1;
}

static void draw_operands(fnz_dtype class_dtype, const fnzi_cpu_point *row, cells *in) {
  for (int k = 0; k < row->arity; k++) {
    if (k == small_operand(row->name))
      draw_small(class_dtype, &in[k]);
    else if (class_dtype == FNZ_F32)
      draw_floats(&in[k]);
    else if (class_dtype == FNZ_I64)
      draw_integers(&in[k]);
    else
      for (int i = 0; i < FNZI_POINT_CHUNK; i++)
        in[k].f64[i] = draw_number();
  }
}

static bool is_nan(fnz_dtype dtype, const cells *c, int64_t i) {
  return (dtype == FNZ_F32 && c->f32[i] != c->f32[i]) ||
         (dtype == FNZ_F64 && c->f64[i] != c->f64[i]);
}

static bool is_same(fnz_dtype dtype, const cells *a, int64_t i, const cells *b, int64_t j) {
  size_t cell = fnzi_dtype(dtype)->bytes;
  return memcmp(a->bytes + (size_t)i * cell, b->bytes + (size_t)j * cell, cell) == 0 ||
         (is_nan(dtype, a, i) && is_nan(dtype, b, j));
}

static void run(const fnzi_cpu_point *row, const cells *in, int64_t from, int64_t count,
                size_t cell, cells *out) {
  const void *operands[FNZI_POINT_OPERANDS];
  for (int k = 0; k < row->arity; k++)
    operands[k] = in[k].bytes + (size_t)from * cell;
  row->run(out, operands, count);
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
        ck_assert_msg(is_same(row->out, &whole, at + i, &piece, i),
                      "%s of %s: element %lld among %lld others", row->name,
                      fnzi_dtype(class_dtype)->name, (long long)(at + i), (long long)n);
    }
  }
}

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

RUN_SUITE("point isa", neighbours_do_not_matter, sets_do_not_matter, large_angles_stay_alone)
