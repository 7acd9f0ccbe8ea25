/* folds.h - many elements become one number, by the rows of kernels/folds.def: over dense pieces,
 * for each instruction set.
 *
 * The number is what one element after the other makes of it, whichever lanes they went through:
 * integers wrap, so their order does not matter, and among equal elements an extreme is the first,
 * which shows in the sign of 0. The payload of a NaN is any one's; who keeps NaN sets it. */
#ifndef FNZI_FOLDS_H
#define FNZI_FOLDS_H

#include "kernels/core/isa.h"

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

typedef struct fnzi_folds {
  fnzi_fold of[FNZI_FOLD_TYPES][FNZI_FOLD_KINDS]; /* NULL functions: there is none */
  /* The place of the first element that equals the number, or is NaN as it is; -1: there is none.
   */
  int64_t (*find[FNZI_FOLD_TYPES])(const void *number, const void *x, int64_t count);
  void (*products[2])(const fnzi_fold_product *p); /* of 32 and of 64 bits */
  /* Number i becomes more by the square of x - y[i], in double. */
  void (*add_squares)(double *to, float x, const float *y, int64_t count);
  void (*add_wide_squares)(double *to, double x, const double *y, int64_t count);
} fnzi_folds;

extern const fnzi_folds fnzi_folds_of, fnzi_folds_of_v3, fnzi_folds_of_v4;

/* For an instruction set that the build has, and for this processor. */
const fnzi_folds *fnzi_folds_for(fnzi_krn_isa isa);
const fnzi_folds *fnzi_folds_best(void);

#endif
