/* folds.c - see folds.h; compiled for each instruction set. The compiler makes vectors of the loops
 * over lanes. */
#include "kernels/rows/folds.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { LANES_BYTES = 256, FOUND_BLOCK = 64 };

/* In lanes as long as they are full, then one after the other. Extremes that are 0 have the sign of
 * the first one: FIRST_ZERO looks for it. */
#define ROW_OF(name, id, T, begin, step, JOIN, FIRST_ZERO)                                         \
  static inline T begin_##name##_##id(void) {                                                      \
    const T LEAST = least_##id, MOST = most_##id;                                                  \
    (void)LEAST, (void)MOST;                                                                       \
    return (T)(begin);                                                                             \
  }                                                                                                \
  static void start_##name##_##id(void *to, int64_t count) {                                       \
    for (int64_t i = 0; i < count; i++)                                                            \
      ((T *)to)[i] = begin_##name##_##id();                                                        \
  }                                                                                                \
  static void columns_##name##_##id(void *to, const void *from, int64_t count) {                   \
    T *restrict numbers = to;                                                                      \
    const T *restrict elements = from;                                                             \
    for (int64_t i = 0; i < count; i++) {                                                          \
      T a = numbers[i], x = elements[i];                                                           \
      numbers[i] = (T)(step);                                                                      \
    }                                                                                              \
  }                                                                                                \
  static T lanes_##name##_##id(const T *restrict row, int64_t full) {                              \
    enum { N = LANES_BYTES / sizeof(T) };                                                          \
    T lanes[N], total = begin_##name##_##id();                                                     \
    for (int k = 0; k < N; k++)                                                                    \
      lanes[k] = total;                                                                            \
    for (int64_t i = 0; i < full; i += N)                                                          \
      for (int k = 0; k < N; k++) {                                                                \
        T a = lanes[k], x = row[i + k];                                                            \
        lanes[k] = (T)(step);                                                                      \
      }                                                                                            \
    JOIN(T, step)                                                                                  \
    return total;                                                                                  \
  }                                                                                                \
  static void row_##name##_##id(void *to, const void *from, int64_t count) {                       \
    const T *row = from;                                                                           \
    int64_t full = count - count % (int64_t)(LANES_BYTES / sizeof(T));                             \
    T a = *(T *)to;                                                                                \
    if (full) {                                                                                    \
      T x = lanes_##name##_##id(row, full);                                                        \
      FIRST_ZERO(x, row)                                                                           \
      a = (T)(step);                                                                               \
    }                                                                                              \
    for (int64_t i = full; i < count; i++) {                                                       \
      T x = row[i];                                                                                \
      a = (T)(step);                                                                               \
    }                                                                                              \
    *(T *)to = a;                                                                                  \
  }

/* Lanes joined in their order, and by halves where it does not matter. */
#define JOIN_IN_ORDER(T, step)                                                                     \
  for (int k = 0; k < N; k++) {                                                                    \
    T a = total, x = lanes[k];                                                                     \
    total = (T)(step);                                                                             \
  }
#define JOIN_HALVES(T, step)                                                                       \
  for (int half = N / 2; half; half /= 2)                                                          \
    for (int k = 0; k < half; k++) {                                                               \
      T a = lanes[k], x = lanes[k + half];                                                         \
      lanes[k] = (T)(step);                                                                        \
    }                                                                                              \
  total = lanes[0];

#define FIRST_ZERO_F(x, row)                                                                       \
  for (int64_t i = 0; x == 0; i++)                                                                 \
    if (row[i] == 0) {                                                                             \
      x = row[i];                                                                                  \
      break;                                                                                       \
    }
#define FIRST_ZERO_I(x, row)

/* The place is looked for in a block that has it. */
#define FIND(id, T, ...)                                                                           \
  static int64_t find_##id(const void *number, const void *from, int64_t count) {                  \
    const T *row = from, v = *(const T *)number;                                                   \
    for (int64_t i = 0; i < count; i += FOUND_BLOCK) {                                             \
      int64_t end = count - i < FOUND_BLOCK ? count : i + FOUND_BLOCK;                             \
      int found = 0;                                                                               \
      for (int64_t k = i; k < end; k++)                                                            \
        found |= (row[k] == v) | ((row[k] != row[k]) & (v != v));                                  \
      for (int64_t k = i; found && k < end; k++)                                                   \
        if (row[k] == v || (row[k] != row[k] && v != v))                                           \
          return k;                                                                                \
    }                                                                                              \
    return -1;                                                                                     \
  }
FNZI_FOLD_TYPE_ROWS(FIND)

#define BOUNDS(id, T, least, most) static const T least_##id = (T)(least), most_##id = (T)(most);
FNZI_FOLD_TYPE_ROWS(BOUNDS)

/* --- Rows of folds.def ----------------------------------------------------------------------- */
#define PLUS(a, x) ((int64_t)((uint64_t)(a) + (uint64_t)(x)))
#define TIMES(a, x)                                                                                \
  _Generic((a), float                                                                              \
           : (a) * (x), double                                                                     \
           : (a) * (x), default                                                                    \
           : (int64_t)((uint64_t)(a) * (uint64_t)(x)))

/* clang-format off */
#define EXTREME(name, begin, step)                                                                 \
  ROW_OF(name, U8, uint8_t, begin, step, JOIN_HALVES, FIRST_ZERO_I) ROW_OF(name, I8, int8_t, begin, step, JOIN_HALVES, FIRST_ZERO_I) \
  ROW_OF(name, I16, int16_t, begin, step, JOIN_HALVES, FIRST_ZERO_I) ROW_OF(name, I32, int32_t, begin, step, JOIN_HALVES, FIRST_ZERO_I) \
  ROW_OF(name, I64, int64_t, begin, step, JOIN_HALVES, FIRST_ZERO_I) ROW_OF(name, F32, float, begin, step, JOIN_HALVES, FIRST_ZERO_F) \
  ROW_OF(name, F64, double, begin, step, JOIN_HALVES, FIRST_ZERO_F)
/* clang-format on */

#define OF_sum(begin, step) ROW_OF(sum, I64, int64_t, begin, step, JOIN_HALVES, FIRST_ZERO_I)
#define OF_prod(begin, step)                                                                       \
  ROW_OF(prod, I64, int64_t, begin, step, JOIN_HALVES, FIRST_ZERO_I)                               \
  ROW_OF(prod, F32, float, begin, step, JOIN_IN_ORDER, FIRST_ZERO_I)                               \
  ROW_OF(prod, F64, double, begin, step, JOIN_IN_ORDER, FIRST_ZERO_I)
#define OF_amax(begin, step)     EXTREME(amax, begin, step)
#define OF_amin(begin, step)     EXTREME(amin, begin, step)
#define FOLD(name, begin, step)  OF_##name(begin, step)
#define TRUTH(name, begin, step) ROW_OF(name, U8, uint8_t, begin, step, JOIN_HALVES, FIRST_ZERO_I)
#include "kernels/folds.def"

/* Sums of all rows and of two vectors of columns stay in registers. */
enum { VECTOR = FNZI_ISA == 4 ? 64 : FNZI_ISA == 3 ? 32 : 16 };
typedef uint32_t vector_32 __attribute__((vector_size(VECTOR)));
typedef uint64_t vector_64 __attribute__((vector_size(VECTOR)));

#define PRODUCT_OF(bits)                                                                           \
  static inline __attribute__((always_inline)) void columns_of_##bits(                             \
      const fnzi_fold_product *p, const uint##bits##_t *b, uint##bits##_t *to, int rows) {         \
    enum { N = VECTOR / sizeof(uint##bits##_t) };                                                  \
    const uint##bits##_t *a = p->a;                                                                \
    vector_##bits sums[FNZI_FOLD_MOST_ROWS][2], w[2];                                              \
    for (int i = 0; i < rows; i++)                                                                 \
      memcpy(sums[i], to + i * FNZI_FOLD_COLUMNS, sizeof sums[i]);                                 \
    for (int64_t k = 0; k < p->depth; k++, b += FNZI_FOLD_COLUMNS) {                               \
      memcpy(&w[0], b, sizeof w[0]), memcpy(&w[1], b + N, sizeof w[1]);                            \
      _Pragma("GCC unroll 4") for (int i = 0; i < rows; i++) {                                     \
        uint##bits##_t x = a[i * p->a_row + k * p->a_step];                                        \
        sums[i][0] += x * w[0], sums[i][1] += x * w[1];                                            \
      }                                                                                            \
    }                                                                                              \
    for (int i = 0; i < rows; i++)                                                                 \
      memcpy(to + i * FNZI_FOLD_COLUMNS, sums[i], sizeof sums[i]);                                 \
  }                                                                                                \
  static void product_##bits(const fnzi_fold_product *p) {                                         \
    const uint##bits##_t *b = p->b;                                                                \
    uint##bits##_t *to = p->sums;                                                                  \
    for (size_t j = 0; j < FNZI_FOLD_COLUMNS; j += 2 * VECTOR / sizeof *b) {                       \
      fnzi_fold_product row = *p;                                                                  \
      if (p->rows == FNZI_FOLD_MOST_ROWS)                                                          \
        columns_of_##bits(p, b + j, to + j, FNZI_FOLD_MOST_ROWS);                                  \
      for (int i = 0; p->rows != FNZI_FOLD_MOST_ROWS && i < p->rows; i++) {                        \
        row.a = (const uint##bits##_t *)p->a + i * p->a_row;                                       \
        columns_of_##bits(&row, b + j, to + j + i * FNZI_FOLD_COLUMNS, 1);                         \
      }                                                                                            \
    }                                                                                              \
  }
PRODUCT_OF(32)
PRODUCT_OF(64)

#define ADD_SQUARES(T)                                                                             \
  static void add_squares_##T(double *restrict to, T x, const T *restrict y, int64_t count) {      \
    for (int64_t i = 0; i < count; i++) {                                                          \
      double d = (double)x - (double)y[i];                                                         \
      to[i] += d * d;                                                                              \
    }                                                                                              \
  }
ADD_SQUARES(float)
ADD_SQUARES(double)

#define ENTRY(name, id)                                                                            \
  [FNZI_FOLD_##name] = {start_##name##_##id, row_##name##_##id, columns_##name##_##id}
#define EXTREMES(id)       ENTRY(amax, id), ENTRY(amin, id)
#define FINDER(id, T, ...) [FNZI_FOLD_##id] = find_##id,

const fnzi_folds FNZI_ISA_NAME(fnzi_folds_of) = {
    {[FNZI_FOLD_U8] = {EXTREMES(U8), ENTRY(any, U8), ENTRY(all, U8)},
     [FNZI_FOLD_I8] = {EXTREMES(I8)},
     [FNZI_FOLD_I16] = {EXTREMES(I16)},
     [FNZI_FOLD_I32] = {EXTREMES(I32)},
     [FNZI_FOLD_I64] = {EXTREMES(I64), ENTRY(sum, I64), ENTRY(prod, I64)},
     [FNZI_FOLD_F32] = {EXTREMES(F32), ENTRY(prod, F32)},
     [FNZI_FOLD_F64] = {EXTREMES(F64), ENTRY(prod, F64)}},
    {FNZI_FOLD_TYPE_ROWS(FINDER)},
    {product_32, product_64},
    add_squares_float,
    add_squares_double};
