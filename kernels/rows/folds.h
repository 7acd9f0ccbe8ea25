/* folds.h - many elements become one number, by the rows of kernels/folds.def: over dense pieces,
 * for each instruction set.
 *
 * The number is what one element after the other makes of it, whichever lanes they went through:
 * integers wrap, so their order does not matter, and among equal elements an extreme is the first,
 * which shows in the sign of 0. The payload of a NaN is any one's; who keeps NaN sets it. */
#ifndef FNZI_FOLDS_H
#define FNZI_FOLDS_H

#include "kernels/core/isa.h"

#include <stdbool.h>
#include <stdint.h>

/* The types of elements and numbers; truths are U8. Narrow ones have extremes only;
 * a row's product of floats is in an order of its own. */
#define FNZI_FOLD_TYPE_ROWS(ROW)                                                                   \
  ROW(U8, uint8_t, 0, UINT8_MAX)                                                                   \
  ROW(I8, int8_t, INT8_MIN, INT8_MAX)                                                              \
  ROW(I16, int16_t, INT16_MIN, INT16_MAX)                                                          \
  ROW(I32, int32_t, INT32_MIN, INT32_MAX)                                                          \
  ROW(I64, int64_t, INT64_MIN, INT64_MAX)                                                          \
  ROW(F32, float, -INFINITY, INFINITY)                                                             \
  ROW(F64, double, -INFINITY, INFINITY)

typedef enum fnzi_fold_type {
#define FNZI_FOLD_TYPE(name, ...) FNZI_FOLD_##name,
  FNZI_FOLD_TYPE_ROWS(FNZI_FOLD_TYPE)
#undef FNZI_FOLD_TYPE
      FNZI_FOLD_TYPES
} fnzi_fold_type;

typedef enum fnzi_fold_kind {
  FNZI_FOLD_sum,
  FNZI_FOLD_prod,
  FNZI_FOLD_amax,
  FNZI_FOLD_amin,
  FNZI_FOLD_any,
  FNZI_FOLD_all,
  FNZI_FOLD_KINDS
} fnzi_fold_kind;

typedef struct fnzi_fold {
  /* `count` numbers that no element has joined. */
  void (*start)(void *to, int64_t count);
  /* All elements join one number. */
  void (*row)(void *to, const void *x, int64_t count);
  /* Element i joins number i. */
  void (*columns)(void *to, const void *x, int64_t count);
} fnzi_fold;

/* Products of integers, which wrap, so their order does not matter: the sum over k of element k of
 * row i times element j of row k is added to element j of row i. */
enum { FNZI_FOLD_COLUMNS = 32, FNZI_FOLD_MOST_ROWS = 4 };
typedef struct fnzi_fold_product {
  const void *a; /* element k of row i: a[i * a_row + k * a_step] */
  const void *b; /* rows of FNZI_FOLD_COLUMNS */
  void *sums;    /* `rows` rows of FNZI_FOLD_COLUMNS */
  int64_t a_row, a_step, depth;
  int rows; /* at most FNZI_FOLD_MOST_ROWS */
} fnzi_fold_product;

/* Distances of points from FNZI_FOLD_BESIDE others: FNZI_FOLD_DEPTH squares of differences, or
 * differences without sign, are added up in their type, a square of f32 and its sum rounded once.
 * Such sums are added up in double; a root is that of the sum in their type. */
enum { FNZI_FOLD_BESIDE = 64, FNZI_FOLD_DEPTH = 64 };
typedef struct fnzi_fold_distances {
  const void *a; /* number k of point i: a[i * depth + k] */
  const void *b; /* number k of other point j: b[k * FNZI_FOLD_BESIDE + j] */
  void *out;     /* rows of FNZI_FOLD_BESIDE */
  int64_t depth;
  int rows; /* at most FNZI_FOLD_MOST_ROWS */
  bool squares;
} fnzi_fold_distances;

enum {
  FNZI_FOLD_WIDE = 16,
  FNZI_FOLD_LANES = 64,
  FNZI_FOLD_FOLDED = 8,
  FNZI_FOLD_SUMS = 8,
  FNZI_FOLD_FLOATS = 32
};
typedef enum fnzi_fold_half { FNZI_FOLD_F16, FNZI_FOLD_BF16, FNZI_FOLD_HALVES } fnzi_fold_half;

typedef struct fnzi_folds {
  fnzi_fold of[FNZI_FOLD_TYPES][FNZI_FOLD_KINDS]; /* NULL functions: there is none */
  /* The place of the first element that equals the number, or is NaN as it is; -1: there is none.
   */
  int64_t (*find[FNZI_FOLD_TYPES])(const void *number, const void *x, int64_t count);
  /* most[i] becomes x[i * step], at place + i * step, where that is greater or no number. NULL but
   * for F32, F64 and I64. */
  void (*greatest[FNZI_FOLD_TYPES])(void *most, int64_t *places, int64_t place, const void *x,
                                    int64_t step, int64_t count);
  void (*products[2])(const fnzi_fold_product *p);    /* of 32 and of 64 bits */
  void (*distances[2])(const fnzi_fold_distances *d); /* of f32 and of f64 */
  /* Sums of FNZI_FOLD_WIDE columns of doubles, `rows` rows `stride` apart: partial sums move up one
   * of four levels where a block of 2^power rows is full, and levels are added up from the first.
   */
  void (*cascade)(double *sums, const double *x, int64_t stride, int64_t rows, int power);
  /* y = exp(x - most), and its sum in FNZI_FOLD_SUMS sums side by side, which are joined in their
   * order; y may be x. */
  double (*exp)(double most, const double *x, double *y, int64_t count);
  /* x = x / by. */
  void (*divide)(double by, double *x, int64_t count);
  /* Halves as floats, in groups of twice FNZI_FOLD_FOLDED: element k of a group plus element k of
   * its second half. */
  void (*fold[FNZI_FOLD_HALVES])(float *to, const uint16_t *x, int64_t groups);
  /* FNZI_FOLD_FLOATS sums of such floats, `rows` rows of them: partial sums move up as in
   * `cascade`.
   */
  void (*fold_cascade[FNZI_FOLD_HALVES])(float *sums, const uint16_t *x, int64_t rows, int power);
  /* Numbers that are halves, FNZI_FOLD_LANES of them, times as many halves, rounded to a half: each
   * with every FNZI_FOLD_LANES-th one of `count`. */
  void (*multiply[FNZI_FOLD_HALVES])(float *to, const uint16_t *x, int64_t count);
} fnzi_folds;

extern const fnzi_folds fnzi_folds_of, fnzi_folds_of_v3, fnzi_folds_of_v4;

/* For an instruction set that the build has, and for this processor. */
const fnzi_folds *fnzi_folds_for(fnzi_krn_isa isa);
const fnzi_folds *fnzi_folds_best(void);

#endif
