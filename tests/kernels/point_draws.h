/* point_draws.h - elements for rows of point.def, drawn from a seed, and a call of a row. */
#ifndef FNZ_TESTS_KERNELS_POINT_DRAWS_H
#define FNZ_TESTS_KERNELS_POINT_DRAWS_H

#include "kernels/cpu/point.h"

#include <math.h>
#include <string.h>

enum { WIDEST = 8 }; /* bytes of an element */

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

/* Small whole numbers: for degrees, and for shifts of 64 bits. */
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

static void run(const fnzi_cpu_point *row, const cells *in, int64_t from, int64_t count,
                size_t cell, cells *out) {
  const void *operands[FNZI_POINT_OPERANDS];
  for (int k = 0; k < row->arity; k++)
    operands[k] = in[k].bytes + (size_t)from * cell;
  row->run(out, operands, count);
}

#endif
