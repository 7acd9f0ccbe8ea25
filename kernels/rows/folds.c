/* folds.c - see folds.h; compiled for each instruction set. The compiler makes vectors of the loops
 * over lanes. */
#include "kernels/core/half.h"
#include "kernels/rows/doubles.h"
#include "kernels/rows/folds.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

enum { LANES_BYTES = 256, FOUND_BLOCK = 64 };

#define BEGIN_OF(name, id, T, begin, step)                                                         \
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
  }

#define LANES_OF(name, id, T, step, JOIN)                                                          \
  static T lanes_##name##_##id(const T *restrict row, int64_t count) {                             \
    enum { N = LANES_BYTES / sizeof(T) };                                                          \
    T lanes[N], total = begin_##name##_##id();                                                     \
    for (int k = 0; k < N; k++)                                                                    \
      lanes[k] = total;                                                                            \
    for (int64_t i = 0; i < count; i += N) {                                                       \
      const T *block = row + (i <= count - N ? i : count - N);                                     \
      for (int k = 0; k < N; k++) {                                                                \
        T a = lanes[k], x = block[k];                                                              \
        lanes[k] = (T)(step);                                                                      \
      }                                                                                            \
    }                                                                                              \
    JOIN(T, step)                                                                                  \
    return total;                                                                                  \
  }

/* NaN go a way of their own, so that a lane waits for one instruction only. */
#define FLOAT_LANES_OF(name, id, T, is_better)                                                     \
  static T lanes_##name##_##id(const T *restrict row, int64_t count) {                             \
    enum { N = LANES_BYTES / sizeof(T) };                                                          \
    T lanes[N], nans[N], total = begin_##name##_##id();                                            \
    int has_nan = 0;                                                                               \
    for (int k = 0; k < N; k++)                                                                    \
      lanes[k] = total, nans[k] = 0;                                                               \
    for (int64_t i = 0; i < count; i += N) {                                                       \
      const T *block = row + (i <= count - N ? i : count - N);                                     \
      for (int k = 0; k < N; k++) {                                                                \
        T a = lanes[k], x = block[k];                                                              \
        lanes[k] = (is_better) ? x : a;                                                            \
        nans[k] = x != x ? x : nans[k];                                                            \
      }                                                                                            \
    }                                                                                              \
    for (int k = 0; k < N; k++)                                                                    \
      has_nan |= nans[k] != nans[k];                                                               \
    JOIN_EXTREMES(T, (is_better) ? x : a)                                                          \
    return has_nan ? (T)NAN : total;                                                               \
  }

/* In lanes as long as they are full, then one after the other. Extremes that are 0 have the sign of
 * the first one: FIRST_ZERO looks for it. */
#define PIECES_OF(name, id, T, step, JOIN, FIRST_ZERO)                                             \
  static void row_##name##_##id(void *to, const void *from, int64_t count) {                       \
    enum { N = LANES_BYTES / sizeof(T) };                                                          \
    const T *row = from;                                                                           \
    int64_t full = OVERLAPS_##JOIN && count >= N ? count : count - count % N;                      \
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

#define ROW_OF(name, id, T, begin, step, JOIN, FIRST_ZERO)                                         \
  BEGIN_OF(name, id, T, begin, step)                                                               \
  LANES_OF(name, id, T, step, JOIN)                                                                \
  PIECES_OF(name, id, T, step, JOIN, FIRST_ZERO)
#define FLOAT_OF(name, id, T, begin, step, is_better)                                              \
  BEGIN_OF(name, id, T, begin, step)                                                               \
  FLOAT_LANES_OF(name, id, T, is_better)                                                           \
  PIECES_OF(name, id, T, step, JOIN_EXTREMES, FIRST_ZERO_F)

/* Lanes joined in their order; by halves where it does not matter; and where an element may count
 * twice, so that the last block may overlap the one before it. */
#define OVERLAPS_JOIN_IN_ORDER 0
#define OVERLAPS_JOIN_HALVES   0
#define OVERLAPS_JOIN_EXTREMES 1
#define JOIN_IN_ORDER(T, step)                                                                     \
  for (int k = 0; k < N; k++) {                                                                    \
    T a = total, x = lanes[k];                                                                     \
    total = (T)(step);                                                                             \
  }
#define JOIN_HALVES(T, step)                                                                       \
  _Pragma("GCC unroll 8") for (int half = N / 2; half; half /= 2) {                                \
    for (int k = 0; k < half; k++) {                                                               \
      T a = lanes[k], x = lanes[k + half];                                                         \
      lanes[k] = (T)(step);                                                                        \
    }                                                                                              \
  }                                                                                                \
  total = lanes[0];
#define JOIN_EXTREMES(T, step) JOIN_HALVES(T, step)

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

/* A loop for each step that pools have: no processor foresees which element is greater. */
#define GREATEST(id, T)                                                                            \
  static inline __attribute__((always_inline)) void greatest_by_##id(                              \
      T *restrict most, int64_t *restrict places, int64_t place, const T *restrict x,              \
      int64_t step, int64_t count) {                                                               \
    for (int64_t i = 0; i < count; i++) {                                                          \
      const T v = x[i * step], m = most[i];                                                        \
      const bool is_greater = (v > m) | (v != v);                                                  \
      most[i] = is_greater ? v : m;                                                                \
      places[i] = is_greater ? place + i * step : places[i];                                       \
    }                                                                                              \
  }                                                                                                \
  static void greatest_##id(void *most, int64_t *places, int64_t place, const void *x,             \
                            int64_t step, int64_t count) {                                         \
    if (step == 1)                                                                                 \
      greatest_by_##id(most, places, place, x, 1, count);                                          \
    else if (step == 2)                                                                            \
      greatest_by_##id(most, places, place, x, 2, count);                                          \
    else                                                                                           \
      greatest_by_##id(most, places, place, x, step, count);                                       \
  }
GREATEST(F32, float)
GREATEST(F64, double)
GREATEST(I64, int64_t)

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
#define EXTREME(name, begin, step, is_better)                                                                 \
  ROW_OF(name, U8, uint8_t, begin, step, JOIN_EXTREMES, FIRST_ZERO_I) ROW_OF(name, I8, int8_t, begin, step, JOIN_EXTREMES, FIRST_ZERO_I) \
  ROW_OF(name, I16, int16_t, begin, step, JOIN_EXTREMES, FIRST_ZERO_I) ROW_OF(name, I32, int32_t, begin, step, JOIN_EXTREMES, FIRST_ZERO_I) \
  ROW_OF(name, I64, int64_t, begin, step, JOIN_EXTREMES, FIRST_ZERO_I) FLOAT_OF(name, F32, float, begin, step, is_better) \
  FLOAT_OF(name, F64, double, begin, step, is_better)
/* clang-format on */

#define OF_sum(begin, step) ROW_OF(sum, I64, int64_t, begin, step, JOIN_HALVES, FIRST_ZERO_I)
#define OF_prod(begin, step)                                                                       \
  ROW_OF(prod, I64, int64_t, begin, step, JOIN_HALVES, FIRST_ZERO_I)                               \
  ROW_OF(prod, F32, float, begin, step, JOIN_IN_ORDER, FIRST_ZERO_I)                               \
  ROW_OF(prod, F64, double, begin, step, JOIN_IN_ORDER, FIRST_ZERO_I)
#define OF_amax(begin, step)     EXTREME(amax, begin, step, x > a)
#define OF_amin(begin, step)     EXTREME(amin, begin, step, x < a)
#define FOLD(name, begin, step)  OF_##name(begin, step)
#define TRUTH(name, begin, step) ROW_OF(name, U8, uint8_t, begin, step, JOIN_EXTREMES, FIRST_ZERO_I)
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

/* --- Distances -------------------------------------------------------------------------------- */
/* Vectors of other points that meet all points of a tile in registers. */
enum { TILE = FNZI_ISA == 4 ? 4 : FNZI_ISA == 3 ? 2 : 1 };

#define DISTANCES(T, V, fused, bits, root)                                                         \
  static inline __attribute__((always_inline)) void tile_of_##T(                                   \
      const fnzi_fold_distances *p, const T *a, const T *b, int64_t depth, double *to,             \
      const int rows, const bool squares) {                                                        \
    enum { N = sizeof(V) / sizeof(T) };                                                            \
    const bits sign = (bits)(-(T)0.0 - (V){0});                                                    \
    V sums[FNZI_FOLD_MOST_ROWS][TILE] = {{{0}}}, w[TILE];                                          \
    T found[TILE * N];                                                                             \
    for (int64_t k = 0; k < depth; k++) {                                                          \
      memcpy(w, b + k * FNZI_FOLD_BESIDE, sizeof w);                                               \
      _Pragma("GCC unroll 4") for (int i = 0; i < rows; i++) {                                     \
        const V x = a[i * p->depth + k] - (V){0};                                                  \
        _Pragma("GCC unroll 4") for (int v = 0; v < TILE; v++) {                                   \
          const V d = x - w[v];                                                                    \
          sums[i][v] = squares ? fused(d, d, sums[i][v]) : sums[i][v] + (V)((bits)d & ~sign);      \
        }                                                                                          \
      }                                                                                            \
    }                                                                                              \
    for (int i = 0; i < rows; i++) {                                                               \
      memcpy(found, sums[i], sizeof found);                                                        \
      for (int j = 0; j < TILE * N; j++)                                                           \
        to[i * FNZI_FOLD_BESIDE + j] += (double)found[j];                                          \
    }                                                                                              \
  }                                                                                                \
  static inline __attribute__((always_inline)) void distances_by_##T(                              \
      const fnzi_fold_distances *p, const T *a, T *out, const int rows, const bool squares) {      \
    enum { COLUMNS = TILE * sizeof(V) / sizeof(T) };                                               \
    double sums[FNZI_FOLD_MOST_ROWS * FNZI_FOLD_BESIDE] = {0};                                     \
    for (int64_t k = 0; k < p->depth; k += FNZI_FOLD_DEPTH) {                                      \
      const int64_t left = p->depth - k, depth = left < FNZI_FOLD_DEPTH ? left : FNZI_FOLD_DEPTH;  \
      const T *b = (const T *)p->b + k * FNZI_FOLD_BESIDE;                                         \
      for (int j = 0; j < FNZI_FOLD_BESIDE; j += COLUMNS)                                          \
        tile_of_##T(p, a + k, b + j, depth, sums + j, rows, squares);                              \
    }                                                                                              \
    for (int i = 0; i < rows * FNZI_FOLD_BESIDE; i++) {                                            \
      out[i] = (T)sums[i];                                                                         \
      if (squares)                                                                                 \
        out[i] = root(out[i]);                                                                     \
    }                                                                                              \
  }                                                                                                \
  static void distances_##T(const fnzi_fold_distances *p) {                                        \
    const T *a = p->a;                                                                             \
    T *out = p->out;                                                                               \
    if (p->rows == FNZI_FOLD_MOST_ROWS && p->squares)                                              \
      distances_by_##T(p, a, out, FNZI_FOLD_MOST_ROWS, true);                                      \
    else if (p->rows == FNZI_FOLD_MOST_ROWS)                                                       \
      distances_by_##T(p, a, out, FNZI_FOLD_MOST_ROWS, false);                                     \
    for (int i = 0; p->rows != FNZI_FOLD_MOST_ROWS && i < p->rows; i++)                            \
      distances_by_##T(p, a + i * p->depth, out + i * FNZI_FOLD_BESIDE, 1, p->squares);            \
  }
DISTANCES(float, fnzi_row_floats, floats_fused, fnzi_row_ints, sqrtf)
static inline fnzi_row_doubles doubles_product_added(fnzi_row_doubles x, fnzi_row_doubles y,
                                                     fnzi_row_doubles z) {
  return x * y + z;
}
DISTANCES(double, fnzi_row_doubles, doubles_product_added, fnzi_row_longs, sqrt)

/* --- Sums of columns -------------------------------------------------------------------------- */
enum {
  LEVELS = 4,
  FLOAT_PARTS = FNZI_FOLD_FLOATS / FNZI_ROW_FLOATS,
  DOUBLE_PARTS = FNZI_FOLD_WIDE * sizeof(double) / sizeof(fnzi_row_doubles)
};

/* Sums of columns in vectors: a level moves up where a block of 2^power rows is full, and all are
 * added up from the first. Levels that no row has reached are 0, which changes nothing. */
#define LEVELS_OF(name, V, parts)                                                                  \
  static inline void name##_start(V levels[LEVELS][parts]) {                                       \
    for (int k = 0; k < LEVELS * (parts); k++)                                                     \
      levels[k / (parts)][k % (parts)] = (V){0};                                                   \
  }                                                                                                \
  static inline void name##_up(V levels[LEVELS][parts], int64_t row, int power) {                  \
    const int64_t low = ((int64_t)1 << power) - 1;                                                 \
    for (int level = 1; level < LEVELS; level++) {                                                 \
      for (int p = 0; p < (parts); p++) {                                                          \
        levels[level][p] += levels[level - 1][p];                                                  \
        levels[level - 1][p] = (V){0};                                                             \
      }                                                                                            \
      if (row & (low << (level * power)))                                                          \
        return;                                                                                    \
    }                                                                                              \
  }                                                                                                \
  static inline void name##_end(V levels[LEVELS][parts], void *sums) {                             \
    for (int level = 1; level < LEVELS; level++)                                                   \
      for (int p = 0; p < (parts); p++)                                                            \
        levels[0][p] += levels[level][p];                                                          \
    memcpy(sums, levels[0], sizeof levels[0]);                                                     \
  }
LEVELS_OF(doubles, fnzi_row_doubles, DOUBLE_PARTS)
LEVELS_OF(floats, fnzi_row_floats, FLOAT_PARTS)

static void cascade(double *sums, const double *x, int64_t stride, int64_t rows, int power) {
  fnzi_row_doubles levels[LEVELS][DOUBLE_PARTS], part[DOUBLE_PARTS], v[DOUBLE_PARTS];
  const int64_t step = (int64_t)1 << power;
  doubles_start(levels);
  for (int64_t i = 0; i < rows;) {
    const int64_t end = i + step <= rows ? i + step : rows;
    const bool is_full = end - i == step;
    memcpy(part, levels[0], sizeof part);
    for (; i < end; i++) {
      memcpy(v, x + i * stride, sizeof v);
      for (int p = 0; p < DOUBLE_PARTS; p++)
        part[p] += v[p];
    }
    memcpy(levels[0], part, sizeof part);
    if (is_full)
      doubles_up(levels, i, power);
  }
  doubles_end(levels, sums);
}

/* --- Exponentials ----------------------------------------------------------------------------- */
enum { DOUBLES = FNZI_ROW_FLOATS / 2, SUM_PARTS = FNZI_FOLD_SUMS / DOUBLES };

static inline void exp_at(double most, const double *x, double *y, fnzi_row_doubles *sums) {
  for (int p = 0; p < SUM_PARTS; p++) {
    fnzi_row_doubles v;
    memcpy(&v, x + p * DOUBLES, sizeof v);
    v = fnzi_row_doubles_exp(v - most);
    memcpy(y + p * DOUBLES, &v, sizeof v);
    sums[p] += v;
  }
}

static double folds_row_exp(double most, const double *x, double *y, int64_t count) {
  const int64_t rest = count % FNZI_FOLD_SUMS, full = count - rest;
  fnzi_row_doubles sums[SUM_PARTS] = {{0}}, none[SUM_PARTS] = {{0}};
  double room[FNZI_FOLD_SUMS] = {0}, lanes[FNZI_FOLD_SUMS], sum = 0;
  for (int64_t i = 0; i < full; i += FNZI_FOLD_SUMS)
    exp_at(most, x + i, y + i, sums);
  memcpy(room, x + full, (size_t)rest * sizeof *x);
  exp_at(most, room, room, none);
  memcpy(y + full, room, (size_t)rest * sizeof *x);
  memcpy(lanes, sums, sizeof lanes);
  for (int64_t i = 0; i < rest; i++)
    lanes[i] += room[i];
  for (int k = 0; k < FNZI_FOLD_SUMS; k++)
    sum += lanes[k];
  return sum;
}

static void folds_row_divide(double by, double *x, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    x[i] /= by;
}

/* --- Halves ----------------------------------------------------------------------------------- */
/* As half.h has them, by instructions where there are any. */
static inline fnzi_row_floats widened_F16(const uint16_t *x) {
#if FNZI_ISA == 4
  return _mm512_cvtph_ps(_mm256_loadu_si256((const void *)x));
#elif FNZI_ISA == 3
  return _mm256_cvtph_ps(_mm_loadu_si128((const void *)x));
#else
  fnzi_row_floats v;
  for (int i = 0; i < FNZI_ROW_FLOATS; i++)
    v[i] = fnzi_krn_from_f16(x[i]);
  return v;
#endif
}

static inline fnzi_row_floats rounded_F16(fnzi_row_floats v) {
#if FNZI_ISA == 4
  return _mm512_cvtph_ps(_mm512_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#elif FNZI_ISA == 3
  return _mm256_cvtph_ps(_mm256_cvtps_ph(v, _MM_FROUND_TO_NEAREST_INT));
#else
  for (int i = 0; i < FNZI_ROW_FLOATS; i++)
    v[i] = fnzi_krn_from_f16(fnzi_krn_to_f16(v[i]));
  return v;
#endif
}

static inline fnzi_row_floats widened_BF16(const uint16_t *x) {
#if FNZI_ISA == 4
  return (fnzi_row_floats)_mm512_slli_epi32(
      _mm512_cvtepu16_epi32(_mm256_loadu_si256((const void *)x)), 16);
#elif FNZI_ISA == 3
  return (fnzi_row_floats)_mm256_slli_epi32(_mm256_cvtepu16_epi32(_mm_loadu_si128((const void *)x)),
                                            16);
#else
  fnzi_row_floats v;
  for (int i = 0; i < FNZI_ROW_FLOATS; i++)
    v[i] = fnzi_krn_from_bf16(x[i]);
  return v;
#endif
}

static inline fnzi_row_floats rounded_BF16(fnzi_row_floats v) {
  const fnzi_row_ints bits = (fnzi_row_ints)v, odd = bits >> 16 & 1, is_nan = v != v;
  const fnzi_row_ints rounded = (bits + 0x7fff + odd) & -0x10000;
  return (fnzi_row_floats)((rounded & ~is_nan) | (0x7fc00000 & is_nan));
}

/* Two vectors are folded. */
#if FNZI_ISA == 4
static inline fnzi_row_floats folded(fnzi_row_floats a, fnzi_row_floats b) {
  return _mm512_shuffle_f32x4(a, b, 0x44) + _mm512_shuffle_f32x4(a, b, 0xee);
}
enum { APART = 16 };
#else
static inline fnzi_row_floats folded(fnzi_row_floats a, fnzi_row_floats b) {
  return a + b;
}
enum { APART = FNZI_FOLD_FOLDED };
#endif

#define OF_HALVES(id)                                                                              \
  static void fold_##id(float *to, const uint16_t *x, int64_t groups) {                            \
    const int64_t at_once = FNZI_ISA == 4 ? 2 : 1;                                                 \
    for (; groups >= at_once; groups -= at_once) {                                                 \
      for (int k = 0; k < FNZI_FOLD_FOLDED * at_once; k += FNZI_ROW_FLOATS) {                      \
        fnzi_row_floats v = folded(widened_##id(x + k), widened_##id(x + k + APART));              \
        memcpy(to + k, &v, sizeof v);                                                              \
      }                                                                                            \
      to += FNZI_FOLD_FOLDED * at_once, x += 2 * FNZI_FOLD_FOLDED * at_once;                       \
    }                                                                                              \
    for (int k = 0; groups && k < FNZI_FOLD_FOLDED; k++)                                           \
      to[k] = half_##id(x[k]) + half_##id(x[k + FNZI_FOLD_FOLDED]);                                \
  }                                                                                                \
  static void fold_cascade_##id(float *sums, const uint16_t *x, int64_t rows, int power) {         \
    const int64_t step = (int64_t)1 << power;                                                      \
    fnzi_row_floats levels[LEVELS][FLOAT_PARTS], part[FLOAT_PARTS];                                \
    floats_start(levels);                                                                          \
    for (int64_t i = 0; i < rows;) {                                                               \
      const int64_t end = i + step <= rows ? i + step : rows;                                      \
      const bool is_full = end - i == step;                                                        \
      memcpy(part, levels[0], sizeof part);                                                        \
      for (; i < end; i++, x += 2 * FNZI_FOLD_FLOATS)                                              \
        for (int p = 0; p < FLOAT_PARTS; p++) {                                                    \
          const int k = p * FNZI_ROW_FLOATS;                                                       \
          const uint16_t *at = x + 2 * (k - k % APART) + k % APART % FNZI_FOLD_FOLDED;             \
          part[p] += folded(widened_##id(at), widened_##id(at + APART));                           \
        }                                                                                          \
      memcpy(levels[0], part, sizeof part);                                                        \
      if (is_full)                                                                                 \
        floats_up(levels, i, power);                                                               \
    }                                                                                              \
    floats_end(levels, sums);                                                                      \
  }                                                                                                \
  static void multiply_##id(float *to, const uint16_t *x, int64_t count) {                         \
    enum { PARTS = FNZI_FOLD_LANES / FNZI_ROW_FLOATS };                                            \
    fnzi_row_floats part[PARTS];                                                                   \
    memcpy(part, to, sizeof part);                                                                 \
    for (int64_t i = 0; i < count; i += FNZI_FOLD_LANES)                                           \
      for (int p = 0; p < PARTS; p++)                                                              \
        part[p] = rounded_##id(part[p] * widened_##id(x + i + p * FNZI_ROW_FLOATS));               \
    memcpy(to, part, sizeof part);                                                                 \
  }
#define half_F16  fnzi_krn_from_f16
#define half_BF16 fnzi_krn_from_bf16
OF_HALVES(F16)
OF_HALVES(BF16)

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
    {[FNZI_FOLD_F32] = greatest_F32,
     [FNZI_FOLD_F64] = greatest_F64,
     [FNZI_FOLD_I64] = greatest_I64},
    {product_32, product_64},
    {distances_float, distances_double},
    cascade,
    folds_row_exp,
    folds_row_divide,
    {fold_F16, fold_BF16},
    {fold_cascade_F16, fold_cascade_BF16},
    {multiply_F16, multiply_BF16}};
