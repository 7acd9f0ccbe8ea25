/* rows.h - functions over dense pieces of a row: sums, extremes, exponentials, products.
 *
 * Kernels and plans compute rows with these alone, so fused and unfused code give identical bits.
 * Each function takes a state, a piece and its length; a row may come in pieces, whose lengths but
 * the last are multiples of FNZI_ROW_LANES. The order of additions is fixed by the length of the
 * row: element i goes into sum i mod FNZI_ROW_LANES, and sums are joined by fnzi_row_total(). It
 * depends on no instruction set and on no number of threads.
 *
 * There is a table for each instruction set, all with the same bits. */
#ifndef FNZI_ROWS_H
#define FNZI_ROWS_H

#include "kernels/core/isa.h"

#include <stdbool.h>
#include <stdint.h>

enum {
  FNZI_ROW_LANES = 16,
  FNZI_ROW_LEVELS = 4,
  FNZI_ROW_COLUMNS = 32,
  FNZI_ROW_BESIDE = 16, /* rows of totals(); vectors of each instruction set divide it */
  FNZI_ROW_STEPS = 8,
  FNZI_ROW_NORMALS = 16
};
/* For a product by panels. */
enum {
  FNZI_PANEL_DEPTH = 256,  /* products to a sum */
  FNZI_PANEL_ROWS = 240,   /* of the first factor, that meet a panel before the next one does */
  FNZI_PANEL_COLUMNS = 96, /* that are packed together */
  FNZI_PANEL_ROUND = 16,   /* columns of a packed factor are filled up to a multiple */
  FNZI_PANEL_STEP = 48,    /* columns of whole panels, in front of more columns */
  FNZI_PANEL_GAP = 16,     /* elements between rows that were brought */
  FNZI_PANEL_HELD = FNZI_PANEL_ROWS * (FNZI_PANEL_DEPTH + FNZI_PANEL_GAP), /* most of such rows */
  FNZI_PANEL_CACHED = 1 << 18, /* elements of the first factor in the second cache */
  FNZI_PANEL_TRANSPOSED = 48,  /* columns at a time, the other way round */
  FNZI_PANEL_MOST_TRANSPOSED = 128,
  FNZI_PANEL_TRANSPOSED_CELLS = 1 << 17,
  FNZI_PANEL_MOST_SCRATCH =
      FNZI_PANEL_TRANSPOSED_CELLS + FNZI_PANEL_TRANSPOSED * FNZI_PANEL_MOST_TRANSPOSED
};
_Static_assert(FNZI_PANEL_COLUMNS % FNZI_PANEL_STEP == 0, "panels end where slabs do");
_Static_assert((int)FNZI_PANEL_HELD + FNZI_PANEL_DEPTH * FNZI_PANEL_COLUMNS <=
                   (int)FNZI_PANEL_MOST_SCRATCH,
               "rows that were brought, and panels, have room there");

/* Sums side by side; starts as zeros. */
typedef struct fnzi_row_sums {
  double lanes[FNZI_ROW_LANES];
} fnzi_row_sums;

/* The greatest element that is a number, from -INFINITY on, and whether one is none. */
typedef struct fnzi_row_most {
  float most;
  bool has_nan;
} fnzi_row_most;

/* `count` windows along a row, each `step` elements behind the one before it. Element (a, b, c) of
 * a window is x[a * strides[0] + b * strides[1] + c * strides[2]]. */
typedef struct fnzi_row_windows {
  const float *x;
  int64_t sizes[3], strides[3];
  int64_t step, count;
} fnzi_row_windows;

/* A sum in the order of eager's cascades: FNZI_ROW_COLUMNS columns side by side. Rows of columns
 * are added up in blocks of 2^power, blocks in blocks, FNZI_ROW_LEVELS times. */
typedef struct fnzi_row_cascade {
  float levels[FNZI_ROW_LEVELS][FNZI_ROW_COLUMNS];
} fnzi_row_cascade;

/* The mean, and the sum of squares of the distances from it. */
typedef struct fnzi_row_moments {
  double mean, squares;
} fnzi_row_moments;

/* How the elements of a factor are stored. */
typedef enum fnzi_row_kind {
  FNZI_ROW_F32,
  FNZI_ROW_BF16,
  FNZI_ROW_F16,
  FNZI_ROW_I8,
  FNZI_ROW_KINDS
} fnzi_row_kind;
static inline int64_t fnzi_row_kind_bytes(fnzi_row_kind kind) {
  return kind == FNZI_ROW_F32 ? 4 : kind == FNZI_ROW_I8 ? 1 : 2;
}

/* c[i][j] = alpha * (sum over k of a[i][k] * b[j][k]) + beta * c[i][j]; c is not read when beta is
 * 0. Rows of `a`, `b` and `c` are dense within and the strides (elements) apart. Sum k goes into
 * one of FNZI_ROW_LANES sums, which are joined as fnzi_row_total() does, in f32: the bits of
 * c[i][j] depend on the two rows alone. */
typedef struct fnzi_row_dots {
  const float *a;
  const void *b; /* of a fnzi_row_kind */
  float *c;
  int64_t rows, columns, depth, a_row, b_row, c_row;
  float alpha, beta;
} fnzi_row_dots;

/* c[i][j] = alpha * (sum over k of a(i, k) * b(k, j)) + beta * c[i][j]; element (i, k) of `a` is
 * a[i * a_row + k * a_step], likewise of `b`; c is not read when beta is 0. Each product is added
 * to its sum with one rounding, in order of k, FNZI_PANEL_DEPTH products to a sum; sums are added
 * to c one after the other. */
typedef struct fnzi_row_panels {
  const void *a, *b; /* of their kinds */
  float *c;
  const float *added;   /* a row that is read in place of each row of c; NULL: c is */
  float *room;          /* fnzi_row_panels_scratch() elements */
  const float *packed;  /* the second factor, by pack(); NULL: it is packed panel by panel */
  int64_t packed_depth; /* of that factor. A product may have the first of its rows or, if it is no
                         * deeper than FNZI_PANEL_DEPTH, of its columns: fnzi_row_panels_first() */
  int64_t rows, columns, depth;
  int64_t a_row, a_step, b_step, b_column, c_row;
  float alpha, beta;
  fnzi_row_kind a_kind, b_kind;
} fnzi_row_panels;

/* The first factor is brought side by side too: where it does not lie so, and where its rows lie so
 * that they keep each other out of caches. */
static inline bool fnzi_row_panels_bring_a(const fnzi_row_panels *d) {
  bool conflicts = d->a_row % 1024 == 0 && d->rows >= 32 && d->columns >= 64;
  return d->a_kind != FNZI_ROW_F32 || d->a_step != 1 || conflicts;
}
/* So many rows of the first factor stay in the second cache at their full depth. */
static inline bool fnzi_row_panels_is_whole(const fnzi_row_panels *d, int64_t rows) {
  int64_t most = fnzi_row_panels_bring_a(d) ? FNZI_PANEL_HELD : FNZI_PANEL_CACHED;
  return rows <= most / (d->depth + FNZI_PANEL_GAP);
}
/* The product is computed the other way round: the first factor is brought transposed, and nothing
 * of the second one, whose rows are its columns. That pays for few rows without a rest, a depth
 * beside which transposing the result is little, and columns that do not keep each other out of
 * caches. */
static inline bool fnzi_row_panels_is_transposed(const fnzi_row_panels *d) {
  return d->b_step == 1 && d->b_column % 1024 != 0 && d->b_kind == FNZI_ROW_F32 &&
         d->rows % 32 == 0 && d->rows <= FNZI_PANEL_MOST_TRANSPOSED && d->depth >= 4 * d->rows &&
         d->rows > 0 && d->columns >= d->rows && d->rows * d->depth <= FNZI_PANEL_TRANSPOSED_CELLS;
}
/* Elements of the second factor when it is packed. */
static inline int64_t fnzi_row_panels_packed(int64_t depth, int64_t columns) {
  return (columns + FNZI_PANEL_ROUND - 1) / FNZI_PANEL_ROUND * FNZI_PANEL_ROUND * depth;
}
/* Columns of whole panels, of a factor of `all` columns, that have the first `columns`. */
static inline int64_t fnzi_row_panels_first(int64_t columns, int64_t all) {
  int64_t whole = (columns + FNZI_PANEL_STEP - 1) / FNZI_PANEL_STEP * FNZI_PANEL_STEP;
  return whole <= all / FNZI_PANEL_COLUMNS * FNZI_PANEL_COLUMNS ? whole : all;
}
/* Enough for any part of the product too. */
static inline int64_t fnzi_row_panels_scratch(const fnzi_row_panels *d) {
  int64_t transposed = d->rows < FNZI_PANEL_MOST_TRANSPOSED ? d->rows : FNZI_PANEL_MOST_TRANSPOSED;
  transposed = transposed * d->depth < FNZI_PANEL_TRANSPOSED_CELLS ? transposed * d->depth
                                                                   : FNZI_PANEL_TRANSPOSED_CELLS;
  transposed += FNZI_PANEL_TRANSPOSED * FNZI_PANEL_MOST_TRANSPOSED;
  int64_t depth = d->depth < FNZI_PANEL_DEPTH ? d->depth : FNZI_PANEL_DEPTH, held = 0;
  if (fnzi_row_panels_bring_a(d))
    held = fnzi_row_panels_is_whole(d, d->rows) ? d->rows * (d->depth + FNZI_PANEL_GAP)
                                                : FNZI_PANEL_HELD;
  held += depth * FNZI_PANEL_COLUMNS;
  return d->b_step == 1 && d->rows >= 32 && transposed > held ? transposed : held;
}

/* y = (x - mean) * rstd * weight + bias, each step rounded; the mean has more places than f32.
 * weight and bias may be NULL. */
typedef struct fnzi_row_norm {
  double mean, rstd;
  const float *weight, *bias;
} fnzi_row_norm;

/* Rows of a table by their numbers, for a sum of them: `width` elements each; rows of number
 * `padding` are left out. */
typedef struct fnzi_row_bag {
  const float *table;
  const int64_t *index;
  int64_t count, width, padding;
  int64_t ahead; /* numbers behind these, whose rows are read next */
} fnzi_row_bag;

typedef struct fnzi_rows {
  void (*max)(fnzi_row_most *state, const float *x, int64_t count);
  /* y = exp(x - most), added to the state; y may be x. */
  void (*exp)(fnzi_row_sums *state, float most, const float *x, float *y, int64_t count);
  /* y = x / by; y may be x. */
  void (*divide)(float by, const float *x, float *y, int64_t count);
  /* The elements of `pieces` pieces, `stride` apart. */
  void (*sum)(fnzi_row_sums *state, const float *x, int64_t stride, int64_t pieces, int64_t count);
  /* Sum of (x - center)^2 in double. */
  void (*squares)(fnzi_row_sums *state, double center, const float *x, int64_t count);
  /* The same with the difference and its square rounded to f32. */
  void (*rounded_squares)(fnzi_row_sums *state, float center, const float *x, int64_t count);
  /* y = x * scale + shift in double, rounded once. */
  void (*scale)(double scale, double shift, const float *x, float *y, int64_t count);
  /* y = x * scale + shift, rounded once. */
  void (*fused)(float scale, float shift, const float *x, float *y, int64_t count);
  void (*normalise)(const fnzi_row_norm *n, const float *x, float *y, int64_t count);
  /* `count` rows of FNZI_ROW_COLUMNS, `stride` apart, starting with row `first`, a multiple of
   * 2^power. */
  void (*cascade)(fnzi_row_cascade *state, int power, const float *x, int64_t stride, int64_t first,
                  int64_t count);
  void (*dots[FNZI_ROW_KINDS])(const fnzi_row_dots *d);
  /* The same with b[k][j]: rows of `b` are its k. FNZI_ROW_STEPS products are summed in order of k,
   * and such sums are added in order to beta * c; alpha must be 1. */
  void (*steps[FNZI_ROW_KINDS])(const fnzi_row_dots *d);
  /* NULL where the instruction set has no product and sum in one. */
  void (*panels)(const fnzi_row_panels *d);
  /* All of the second factor; columns from a multiple of FNZI_PANEL_COLUMNS on begin at that many
   * times the depth. */
  void (*pack)(const fnzi_row_panels *d, float *to);
  /* The moments of a whole row, in any order; `centered` or with a mean of 0. */
  void (*moments)(const float *x, int64_t count, bool centered, fnzi_row_moments *out);
  /* Sum of a whole row in the order of eager's loop of 8 lanes: cascades of FNZI_ROW_COLUMNS, with
   * blocks of 2^power rows. */
  float (*total)(const float *x, int64_t count, int power);
  /* The same of FNZI_ROW_BESIDE rows side by side: element i of row c is x[i * stride + c]. */
  void (*totals)(const float *x, int64_t stride, int64_t count, int power, float *sums);
  /* Uniforms become normals by Box and Muller's method, in groups of FNZI_ROW_NORMALS: the first
   * half of a group is for the distances from 0, the other half for the angles. Logarithms, sines
   * and cosines are rounded from double. */
  void (*normals)(float mean, float deviation, float *x, int64_t count);
  /* The greatest element of each window, or the last one that is no number. */
  void (*greatest)(const fnzi_row_windows *w, float *most);
  /* sums[i] += x[i]. */
  void (*add)(double *sums, const float *x, int64_t count);
  /* sums[i] += x[i]^2. */
  void (*add_squares)(double *sums, const float *x, int64_t count);
  /* The sum of the rows, one after the other from 0 on. */
  void (*bag)(const fnzi_row_bag *b, float *sums);
} fnzi_rows;

/* The functions of an instruction set that the build has, and the functions for this processor. */
const fnzi_rows *fnzi_rows_for(fnzi_krn_isa isa);
const fnzi_rows *fnzi_rows_best(void);

extern const fnzi_rows fnzi_rows_f32, fnzi_rows_f32_v3, fnzi_rows_f32_v4;

/* The sums joined: halves are added until one is left. */
double fnzi_row_total(const fnzi_row_sums *sums);

#endif
