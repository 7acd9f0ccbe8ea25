/* checks: 3
 * floats_test.c - functions of kernels/rows/floats.h over floats of all sizes: 1.02 units of the
 * last place at most from the C library's functions of doubles, and exp with the same bits in each
 * instruction set that this processor has. (The others are parts of rows, which point_isa_test
 * compares.) FNZ_EACH=1 looks at every one of the 2^32 floats. Functions
 * of doubles are within one and a half units of the C library's long ones. */
#include "tests/help/test.h"

#include "kernels/rows/doubles.h"
#include "kernels/rows/floats.h"
#include "kernels/rows/rows.h"

#include <math.h>
#include <string.h>

enum { SOME = 16411, PIECE = 64 };

/* How far `have` is from the truth, in units of the last place of the float nearest to it. */
static double distance(double truth, float have) {
  float nearest = fabsf((float)truth);
  if (isnan(truth) || isnan(have))
    return isnan(truth) && isnan(have) ? 0 : INFINITY;
  if (isinf(nearest))
    return (double)have == (double)(float)truth ? 0 : INFINITY;
  return fabs((double)have - truth) / ((double)nextafterf(nearest, INFINITY) - (double)nearest);
}

/* The next PIECE floats, from the pattern of bits `first` on; 0 behind the last one. */
static uint64_t draw(uint64_t first, float *x) {
  const char *each = getenv("FNZ_EACH");
  uint64_t step = each && *each == '1' ? 1 : SOME;
  memset(x, 0, PIECE * sizeof *x);
  for (int i = 0; i < PIECE && first >> 32 == 0; i++, first += step) {
    uint32_t bits = (uint32_t)first;
    memcpy(&x[i], &bits, sizeof bits);
  }
  return first;
}

/* In the instruction set of this file, whichever is wanted. */
#define OF_LANES(name)                                                                             \
  static void name##_of(fnzi_krn_isa isa, const float *x, float *y) {                              \
    fnzi_row_floats lanes;                                                                         \
    (void)isa;                                                                                     \
    for (int i = 0; i < PIECE; i += FNZI_ROW_FLOATS) {                                             \
      memcpy(&lanes, x + i, sizeof lanes);                                                         \
      lanes = fnzi_row_floats_##name(lanes);                                                       \
      memcpy(y + i, &lanes, sizeof lanes);                                                         \
    }                                                                                              \
  }
OF_LANES(erf)
OF_LANES(erfc)
OF_LANES(tanh)
OF_LANES(log)
OF_LANES(log2)
OF_LANES(log10)
OF_LANES(log1p)
OF_LANES(asin)
OF_LANES(acos)
OF_LANES(atan)
OF_LANES(sin)
OF_LANES(cos)
OF_LANES(tan)

static void exp_of(fnzi_krn_isa isa, const float *x, float *y) {
  fnzi_row_sums sums = {{0}};
  fnzi_rows_for(isa)->exp(&sums, 0, x, y, PIECE);
}

static void check(const char *name, double (*truth)(double),
                  void (*run)(fnzi_krn_isa isa, const float *x, float *y)) {
  float x[PIECE], y[FNZI_ISAS][PIECE];
  for (uint64_t at = 0; at >> 32 == 0;) {
    at = draw(at, x);
    for (int isa = 0; isa <= (int)fnzi_krn_isa_best(); isa++)
      run((fnzi_krn_isa)isa, x, y[isa]);
    for (int i = 0; i < PIECE; i++) {
      double want = truth((double)x[i]), off = distance(want, y[0][i]);
      for (int isa = 1; isa <= (int)fnzi_krn_isa_best(); isa++)
        if (memcmp(&y[isa][i], &y[0][i], sizeof x[i]) != 0 && !isnan(want))
          ck_abort_msg("%s(%a): %a and %a", name, (double)x[i], (double)y[isa][i], (double)y[0][i]);
      if (!(off < 1.02))
        ck_abort_msg("%s(%a) is %a, %g units off", name, (double)x[i], (double)y[0][i], off);
    }
  }
}

START_TEST(functions_are_right_to_a_unit) {
#define CHECK(name) check(#name, name, name##_of);
  CHECK(erf)
  CHECK(erfc)
  CHECK(tanh)
  CHECK(log)
  CHECK(log2)
  CHECK(log10)
  CHECK(log1p)
  CHECK(asin)
  CHECK(acos)
  CHECK(atan)
  CHECK(sin)
  CHECK(cos)
  CHECK(tan)
}
END_TEST

START_TEST(exp_is_right_to_a_unit) {
  check("exp", exp, exp_of);
}
END_TEST

/* --- Doubles --------------------------------------------------------------------------------- */
static void check_double(const char *name, double x, double have, long double want) {
  double nearest = fabs((double)want), step = nextafter(nearest, INFINITY) - nearest;
  bool is_exact = isinf(nearest) || isnan(nearest);
  double off = is_exact ? 0 : (double)(fabsl((long double)have - want) / (long double)step);
  if (is_exact ? have != (double)want && !(isnan(nearest) && isnan(have)) : !(off < 1.5))
    ck_abort_msg("%s(%a) is %a, %g units off", name, x, have, off);
}

/* Numbers of all sizes up to 2^10. */
#define CHECK_DOUBLES(name)                                                                        \
  for (uint64_t bits = 0; bits < UINT64_C(0x4090000000000000); bits += 0x00001234567890ab)         \
    for (int is_negative = 0; is_negative < 2; is_negative++) {                                    \
      double x, y;                                                                                 \
      memcpy(&x, &bits, sizeof x);                                                                 \
      x = is_negative ? -x : x;                                                                    \
      fnzi_row_doubles lanes = x - (fnzi_row_doubles){0};                                          \
      y = fnzi_row_doubles_##name(lanes)[0];                                                       \
      check_double(#name, x, y, name##l((long double)x));                                          \
    }

START_TEST(functions_of_doubles_are_right_to_a_unit){CHECK_DOUBLES(erf) CHECK_DOUBLES(erfc)
                                                         CHECK_DOUBLES(log) CHECK_DOUBLES(tanh)
                                                             CHECK_DOUBLES(exp)} END_TEST

    RUN_SUITE("floats", functions_of_doubles_are_right_to_a_unit, functions_are_right_to_a_unit,
              exp_is_right_to_a_unit)
