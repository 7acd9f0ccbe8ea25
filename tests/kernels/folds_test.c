/* checks: 5
 * folds_test.c - folds of every instruction set against one element after the other. */
#include "kernels/rows/folds.h"
#include "tests/help/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 700, COLUMNS = 77 };

/* --- One after the other, by the same rows ---------------------------------------------------- */
#define PLUS(a, x) ((int64_t)((uint64_t)(a) + (uint64_t)(x)))
#define TIMES(a, x)                                                                                \
  _Generic((a), float                                                                              \
           : (a) * (x), double                                                                     \
           : (a) * (x), default                                                                    \
           : (int64_t)((uint64_t)(a) * (uint64_t)(x)))

#define PLAIN(name, id, T, least, most, begin, step)                                               \
  static void plain_##name##_##id(void *to, const void *from, int64_t count, bool starts) {        \
    const T LEAST = (T)(least), MOST = (T)(most), *row = from;                                     \
    T a = *(T *)to;                                                                                \
    (void)LEAST, (void)MOST;                                                                       \
    if (starts)                                                                                    \
      a = (T)(begin);                                                                              \
    for (int64_t i = 0; i < count; i++) {                                                          \
      T x = row[i];                                                                                \
      a = (T)(step);                                                                               \
    }                                                                                              \
    *(T *)to = a;                                                                                  \
  }
/* clang-format off */
#define EXTREME(name, begin, step)                                                                 \
  PLAIN(name, U8, uint8_t, 0, UINT8_MAX, begin, step) PLAIN(name, I8, int8_t, INT8_MIN, INT8_MAX, begin, step) \
  PLAIN(name, I16, int16_t, INT16_MIN, INT16_MAX, begin, step)                                     \
  PLAIN(name, I32, int32_t, INT32_MIN, INT32_MAX, begin, step)                                     \
  PLAIN(name, I64, int64_t, INT64_MIN, INT64_MAX, begin, step)                                     \
  PLAIN(name, F32, float, -INFINITY, INFINITY, begin, step)                                        \
  PLAIN(name, F64, double, -INFINITY, INFINITY, begin, step)
/* clang-format on */
#define OF_sum(begin, step) PLAIN(sum, I64, int64_t, 0, 0, begin, step)
#define OF_prod(begin, step)                                                                       \
  PLAIN(prod, I64, int64_t, 0, 0, begin, step)                                                     \
  PLAIN(prod, F32, float, 0, 0, begin, step) PLAIN(prod, F64, double, 0, 0, begin, step)
#define OF_amax(begin, step)     EXTREME(amax, begin, step)
#define OF_amin(begin, step)     EXTREME(amin, begin, step)
#define FOLD(name, begin, step)  OF_##name(begin, step)
#define TRUTH(name, begin, step) PLAIN(name, U8, uint8_t, 0, 1, begin, step)
#include "kernels/folds.def"

typedef void plain_fn(void *to, const void *from, int64_t count, bool starts);

/* clang-format off */
#define BOTH(id) {FNZI_FOLD_##id, FNZI_FOLD_amax, plain_amax_##id}, {FNZI_FOLD_##id, FNZI_FOLD_amin, plain_amin_##id}
static const struct {
  fnzi_fold_type type;
  fnzi_fold_kind kind;
  plain_fn *plain;
} folds[] = {BOTH(U8), BOTH(I8), BOTH(I16), BOTH(I32), BOTH(I64), BOTH(F32), BOTH(F64),
             {FNZI_FOLD_I64, FNZI_FOLD_sum, plain_sum_I64}, {FNZI_FOLD_I64, FNZI_FOLD_prod, plain_prod_I64}, {FNZI_FOLD_F32, FNZI_FOLD_prod, plain_prod_F32}, {FNZI_FOLD_F64, FNZI_FOLD_prod, plain_prod_F64},
             {FNZI_FOLD_U8, FNZI_FOLD_any, plain_any_U8}, {FNZI_FOLD_U8, FNZI_FOLD_all, plain_all_U8}};
/* clang-format on */

#define SIZE(id, T, ...) sizeof(T),
static const size_t sizes[] = {FNZI_FOLD_TYPE_ROWS(SIZE)};

/* Few values, so that many are equal: 0 of both signs among floats, and NaN for some seeds. */
static uint64_t draw(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return *seed >> 16;
}

static void fill(fnzi_fold_type type, fnzi_fold_kind kind, void *x, int64_t count, uint32_t seed) {
  static const double reals[] = {0.0, -0.0, -1, 2, -INFINITY, INFINITY, NAN};
  uint64_t many = 2 + seed % 6;
  for (int64_t i = 0; i < count; i++) {
    uint64_t v = draw(&seed);
    if (type == FNZI_FOLD_F32)
      ((float *)x)[i] = (float)reals[v % many];
    else if (type == FNZI_FOLD_F64)
      ((double *)x)[i] = reals[v % many];
    else if (kind == FNZI_FOLD_any || kind == FNZI_FOLD_all)
      ((uint8_t *)x)[i] = v % (many * 100) < 50 + many * 98 * (kind == FNZI_FOLD_all);
    else
      memcpy((char *)x + (size_t)i * sizes[type], &(uint64_t){v * 0x9e3779b97f4a7c15u},
             sizes[type]);
  }
}

/* Any NaN is like another. */
static bool same(fnzi_fold_type type, const void *a, const void *b) {
  double x = NAN, y = NAN;
  float f = 0, g = 0;
  if (type == FNZI_FOLD_F32)
    memcpy(&f, a, sizeof f), memcpy(&g, b, sizeof g), x = (double)f, y = (double)g;
  if (type == FNZI_FOLD_F64)
    memcpy(&x, a, sizeof x), memcpy(&y, b, sizeof y);
  bool is_float = type == FNZI_FOLD_F32 || type == FNZI_FOLD_F64;
  return (is_float && isnan(x) && isnan(y)) || memcmp(a, b, sizes[type]) == 0;
}

static void check_row(const fnzi_folds *of, size_t k, const void *x, int64_t count, int64_t cut) {
  fnzi_fold_type type = folds[k].type;
  const fnzi_fold *fold = &of->of[type][folds[k].kind];
  _Alignas(8) unsigned char found[8] = {0}, wanted[8] = {0};
  if (folds[k].kind == FNZI_FOLD_prod && type != FNZI_FOLD_I64) /* in an order of its own */
    return;
  folds[k].plain(wanted, x, count, true);
  fold->start(found, 1);
  fold->row(found, x, cut);
  fold->row(found, (const char *)x + (size_t)cut * sizes[type], count - cut);
  ck_assert(same(type, found, wanted));
  if (folds[k].kind != FNZI_FOLD_amax && folds[k].kind != FNZI_FOLD_amin)
    return;
  int64_t place = of->find[type](found, x, count), i = 0;
  while (i < count &&
         !(same(type, (const char *)x + (size_t)i * sizes[type], found) ||
           (type == FNZI_FOLD_F32 && ((const float *)x)[i] == *(float *)(void *)found) ||
           (type == FNZI_FOLD_F64 && ((const double *)x)[i] == *(double *)(void *)found)))
    i++;
  ck_assert_int_eq(place, i < count ? i : -1);
}

static void check_columns(const fnzi_folds *of, size_t k, const void *x, int64_t rows) {
  fnzi_fold_type type = folds[k].type;
  const fnzi_fold *fold = &of->of[type][folds[k].kind];
  _Alignas(8) unsigned char found[COLUMNS * 8], wanted[8];
  fold->start(found, COLUMNS);
  for (int64_t r = 0; r < rows; r++)
    fold->columns(found, (const char *)x + (size_t)(r * COLUMNS) * sizes[type], COLUMNS);
  for (int64_t c = 0; c < COLUMNS; c++) {
    folds[k].plain(wanted, x, 0, true);
    for (int64_t r = 0; r < rows; r++)
      folds[k].plain(wanted, (const char *)x + (size_t)(r * COLUMNS + c) * sizes[type], 1, false);
    ck_assert(same(type, found + (size_t)c * sizes[type], wanted));
  }
}

START_TEST(a_row_is_one_element_after_the_other) {
  static _Alignas(64) unsigned char x[ELEMENTS * 8];
  for (fnzi_krn_isa isa = FNZI_ISA_BASE; isa <= fnzi_krn_isa_best(); isa++)
    for (size_t k = 0; k < sizeof folds / sizeof *folds; k++)
      for (uint32_t seed = 0; seed < 60; seed++) {
        int64_t count = seed < 40 ? seed * 17 + 1 : (seed - 40) * 3;
        fill(folds[k].type, folds[k].kind, x, count, seed);
        check_row(fnzi_folds_for(isa), k, x, count, count * (seed % 3) / 3);
      }
}
END_TEST

START_TEST(columns_are_rows_side_by_side) {
  static _Alignas(64) unsigned char x[ELEMENTS * 8];
  for (fnzi_krn_isa isa = FNZI_ISA_BASE; isa <= fnzi_krn_isa_best(); isa++)
    for (size_t k = 0; k < sizeof folds / sizeof *folds; k++)
      for (uint32_t seed = 0; seed < 20; seed++) {
        fill(folds[k].type, folds[k].kind, x, COLUMNS * 9, seed);
        check_columns(fnzi_folds_for(isa), k, x, 9);
      }
}
END_TEST

/* --- The greatest, and where it is --------------------------------------------------------- */
#define CHECK_GREATEST(id, T)                                                                      \
  static void check_greatest_##id(const fnzi_folds *of, const T *x, int64_t step, int64_t count) { \
    T most[COLUMNS];                                                                               \
    int64_t places[COLUMNS];                                                                       \
    for (int64_t i = 0; i < count; i++)                                                            \
      most[i] = x[i * step], places[i] = i * step;                                                 \
    for (int64_t k = 0; k < 3; k++)                                                                \
      of->greatest[FNZI_FOLD_##id](most, places, k, x + k, step, count);                           \
    for (int64_t i = 0; i < count; i++) {                                                          \
      int64_t best = i * step;                                                                     \
      for (int64_t k = i * step + 1; k < i * step + 3; k++)                                        \
        best = x[k] > x[best] || x[k] != x[k] ? k : best;                                          \
      ck_assert_int_eq(places[i], best);                                                           \
      ck_assert(memcmp(&most[i], &x[best], sizeof(T)) == 0);                                       \
    }                                                                                              \
  }
CHECK_GREATEST(F32, float)
CHECK_GREATEST(F64, double)
CHECK_GREATEST(I64, int64_t)

/* The first of equal ones, and the last that is no number. */
START_TEST(the_greatest_of_windows_have_places) {
  static _Alignas(64) unsigned char x[ELEMENTS * 8];
  for (fnzi_krn_isa isa = FNZI_ISA_BASE; isa <= fnzi_krn_isa_best(); isa++)
    for (uint32_t seed = 0; seed < 60; seed++) {
      const fnzi_folds *of = fnzi_folds_for(isa);
      const int64_t step = 1 + seed % 3, count = seed * COLUMNS / 60;
      fill(FNZI_FOLD_F32, FNZI_FOLD_amax, x, ELEMENTS, seed);
      check_greatest_F32(of, (const void *)x, step, count);
      fill(FNZI_FOLD_F64, FNZI_FOLD_amax, x, ELEMENTS, seed);
      check_greatest_F64(of, (const void *)x, step, count);
      fill(FNZI_FOLD_I64, FNZI_FOLD_amax, x, ELEMENTS, seed);
      check_greatest_I64(of, (const void *)x, step, count);
    }
}
END_TEST

/* --- Distances --------------------------------------------------------------------------- */
enum { DEPTH = 2 * FNZI_FOLD_DEPTH + 5 };

#define PLAIN_DISTANCE(T, fused, size, root)                                                       \
  static T distance_##T(const T *a, const T *b, int64_t depth, bool squares) {                     \
    double sum = 0;                                                                                \
    for (int64_t at = 0; at < depth; at += FNZI_FOLD_DEPTH) {                                      \
      T part = 0;                                                                                  \
      for (int64_t k = at; k < depth && k < at + FNZI_FOLD_DEPTH; k++) {                           \
        T d = a[k] - b[k * FNZI_FOLD_BESIDE];                                                      \
        part = squares ? fused(d, d, part) : part + size(d);                                       \
      }                                                                                            \
      sum += (double)part;                                                                         \
    }                                                                                              \
    return squares ? root((T)sum) : (T)sum;                                                        \
  }                                                                                                \
  static void check_##T(const fnzi_folds *of, int64_t depth, int rows, bool squares) {             \
    static T a[FNZI_FOLD_MOST_ROWS * DEPTH], b[FNZI_FOLD_BESIDE * DEPTH];                          \
    T found[FNZI_FOLD_MOST_ROWS * FNZI_FOLD_BESIDE];                                               \
    uint32_t seed = (uint32_t)depth;                                                               \
    for (int i = 0; i < FNZI_FOLD_MOST_ROWS * DEPTH; i++)                                          \
      a[i] = (T)draw(&seed) / 777;                                                                 \
    for (int i = 0; i < FNZI_FOLD_BESIDE * DEPTH; i++)                                             \
      b[i] = (T)draw(&seed) / 777;                                                                 \
    const fnzi_fold_distances d = {a, b, found, depth, rows, squares};                             \
    of->distances[sizeof(T) == sizeof(double)](&d);                                                \
    for (int i = 0; i < rows; i++)                                                                 \
      for (int j = 0; j < FNZI_FOLD_BESIDE; j++) {                                                 \
        T want = distance_##T(a + i * depth, b + j, depth, squares);                               \
        ck_assert(memcmp(&found[i * FNZI_FOLD_BESIDE + j], &want, sizeof want) == 0);              \
      }                                                                                            \
  }
static double multiplied_added(double x, double y, double z) {
  return x * y + z;
}
PLAIN_DISTANCE(float, fmaf, fabsf, sqrtf)
PLAIN_DISTANCE(double, multiplied_added, fabs, sqrt)

START_TEST(distances_are_those_of_plain_loops) {
  static const int64_t depths[] = {0, 1, FNZI_FOLD_DEPTH, DEPTH};
  for (fnzi_krn_isa isa = FNZI_ISA_BASE; isa <= fnzi_krn_isa_best(); isa++)
    for (size_t k = 0; k < sizeof depths / sizeof *depths; k++)
      for (int rows = 1; rows <= FNZI_FOLD_MOST_ROWS; rows++)
        for (int squares = 0; squares < 2; squares++) {
          check_float(fnzi_folds_for(isa), depths[k], rows, squares);
          check_double(fnzi_folds_for(isa), depths[k], rows, squares);
        }
}
END_TEST

/* --- Each instruction set ------------------------------------------------------------------ */
/* The base set has the same bits. */
static void check_alike(const fnzi_folds *of, int64_t count) {
  const fnzi_folds *base = fnzi_folds_for(FNZI_ISA_BASE);
  static double x[ELEMENTS], y[2][ELEMENTS], sums[2][FNZI_FOLD_WIDE];
  static float f[2][ELEMENTS];
  uint16_t halves[ELEMENTS];
  uint32_t seed = (uint32_t)count + 1;
  for (int i = 0; i < ELEMENTS; i++) {
    x[i] = (double)draw(&seed) / 999 - (double)draw(&seed) / 99;
    halves[i] = (uint16_t)draw(&seed);
  }
  double one = of->exp(2, x, y[0], count), other = base->exp(2, x, y[1], count);
  ck_assert(memcmp(&one, &other, sizeof one) == 0 && memcmp(y[0], y[1], sizeof y[0]) == 0);
  of->cascade(sums[0], x, FNZI_FOLD_WIDE + 1, count / (FNZI_FOLD_WIDE + 1), 2);
  base->cascade(sums[1], x, FNZI_FOLD_WIDE + 1, count / (FNZI_FOLD_WIDE + 1), 2);
  ck_assert(memcmp(sums[0], sums[1], sizeof sums[0]) == 0);
  for (int half = 0; half < FNZI_FOLD_HALVES; half++) {
    of->fold[half](f[0], halves, count / (2 * FNZI_FOLD_FOLDED));
    base->fold[half](f[1], halves, count / (2 * FNZI_FOLD_FOLDED));
    for (int i = 0; i < count / 2; i++)
      ck_assert(same(FNZI_FOLD_F32, &f[0][i], &f[1][i]));
    of->fold_cascade[half](f[0], halves, count / (2 * FNZI_FOLD_FLOATS), 2);
    base->fold_cascade[half](f[1], halves, count / (2 * FNZI_FOLD_FLOATS), 2);
    for (int i = 0; i < FNZI_FOLD_FLOATS; i++)
      ck_assert(same(FNZI_FOLD_F32, &f[0][i], &f[1][i]));
    for (int i = 0; i < FNZI_FOLD_LANES; i++)
      f[0][i] = f[1][i] = 1.5F;
    of->multiply[half](f[0], halves, count / FNZI_FOLD_LANES * FNZI_FOLD_LANES);
    base->multiply[half](f[1], halves, count / FNZI_FOLD_LANES * FNZI_FOLD_LANES);
    for (int i = 0; i < FNZI_FOLD_LANES; i++)
      ck_assert(same(FNZI_FOLD_F32, &f[0][i], &f[1][i]));
  }
}

START_TEST(each_instruction_set_has_the_same_bits) {
  for (fnzi_krn_isa isa = FNZI_ISA_BASE; isa <= fnzi_krn_isa_best(); isa++)
    for (int64_t count = 0; count < ELEMENTS; count += 1 + count / 3)
      check_alike(fnzi_folds_for(isa), count);
}
END_TEST

RUN_SUITE("folds", a_row_is_one_element_after_the_other, columns_are_rows_side_by_side,
          the_greatest_of_windows_have_places, distances_are_those_of_plain_loops,
          each_instruction_set_has_the_same_bits)
