/* doubles.h - functions of a vector of f64 with all of its places: at most one and a half units of
 * the last place off (tests/kernels/floats_test.c). Steps are as in floats.h: bits depend on
 * neither the instruction set nor the neighbours. The polynomials meet their functions at
 * Chebyshev's points (scripts/fit_floats.py). */
#ifndef FNZI_ROWS_DOUBLES_H
#define FNZI_ROWS_DOUBLES_H

#include "kernels/rows/floats.h"

#define DOUBLES_INLINE static inline __attribute__((always_inline))

/* A polynomial of x with `count` coefficients, the highest power first. */
DOUBLES_INLINE fnzi_row_doubles doubles_polynomial(const double *c, int count, fnzi_row_doubles x) {
  fnzi_row_doubles sum = doubles_all(c[0]);
  for (int i = 1; i < count; i++)
    sum = doubles_fused(sum, x, doubles_all(c[i]));
  return sum;
}
#define DOUBLES_POLYNOMIAL(c, x) doubles_polynomial(c, sizeof(c) / sizeof *(c), x)

/* x is a whole `*power` of 2 and a rest; the result times the rest is e^rest - 1. |x| is below
 * 2^50. */
DOUBLES_INLINE fnzi_row_doubles doubles_exp_rest(fnzi_row_doubles x, fnzi_row_longs *power,
                                                 fnzi_row_doubles *rest) {
  static const double rest_of_exp[] = {2.091477283224809e-9,
                                       2.510533724466521e-8,
                                       2.7557273436570486e-7,
                                       2.7557255110978889e-6,
                                       2.4801587325710758e-5,
                                       1.9841269875048905e-4,
                                       1.3888888888883702e-3,
                                       8.3333333333260698e-3,
                                       4.166666666666667e-2,
                                       0.16666666666666671,
                                       0.5,
                                       1.0};
  const double shift = 0x1.8p52;
  fnzi_row_doubles whole = doubles_fused(x, doubles_all(1.4426950408889634), doubles_all(shift));
  *power = (fnzi_row_longs)whole - (fnzi_row_longs)doubles_all(shift);
  whole -= shift;
  *rest = doubles_fused(whole, doubles_all(-0.69314718055994529), x);
  *rest = doubles_fused(whole, doubles_all(-2.3190468138462996e-17), *rest);
  return DOUBLES_POLYNOMIAL(rest_of_exp, *rest);
}

/* e^x as a number between 0.7 and 1.5 times 2^power. */
DOUBLES_INLINE fnzi_row_doubles doubles_exp_parts(fnzi_row_doubles x, fnzi_row_longs *power) {
  fnzi_row_doubles rest, by = doubles_exp_rest(x, power, &rest);
  return doubles_fused(by, rest, doubles_all(1.0));
}

/* 2^power, if that is a normal number of f64. */
DOUBLES_INLINE fnzi_row_doubles doubles_power(fnzi_row_longs power) {
  return (fnzi_row_doubles)((power + 1023) << 52);
}

/* Below and above the bounds it is 0 or infinite. 2^power may be no normal number, so it is two
 * factors. */
DOUBLES_INLINE fnzi_row_doubles fnzi_row_doubles_exp(fnzi_row_doubles x) {
  fnzi_row_longs power;
  fnzi_row_doubles bound = doubles_choose(x < -746.0, doubles_all(-746.0), x);
  bound = doubles_choose(x > 710.0, doubles_all(710.0), bound);
  fnzi_row_doubles part = doubles_exp_parts(bound, &power);
  fnzi_row_longs half = power >> 1;
  return part * doubles_power(half) * doubles_power(power - half);
}

DOUBLES_INLINE fnzi_row_doubles fnzi_row_doubles_log(fnzi_row_doubles x) {
  fnzi_row_longs is_small = x < 0x1p-1022;
  fnzi_row_doubles found = doubles_log(doubles_choose(is_small, x * 0x1p52, x), is_small & -52);
  fnzi_row_doubles end = doubles_choose(x < 0.0, doubles_all(NAN), x);
  end = doubles_choose(x == 0.0, doubles_all(-INFINITY), end);
  return doubles_choose((fnzi_row_longs)(x > 0.0) & (x < INFINITY), found, end);
}

DOUBLES_INLINE fnzi_row_doubles doubles_size(fnzi_row_doubles x) {
  return (fnzi_row_doubles)((fnzi_row_longs)x & INT64_MAX);
}

DOUBLES_INLINE fnzi_row_doubles doubles_signed(fnzi_row_doubles size, fnzi_row_doubles x) {
  return (fnzi_row_doubles)((fnzi_row_longs)size | ((fnzi_row_longs)x & INT64_MIN));
}

/* x + x p(x^2) up to 1, from there on 1 - exp(-x^2) q(t) / (1 + 2 x) with t = (x - 2) / (x + 2),
 * and from 6 on 1. */
DOUBLES_INLINE fnzi_row_doubles fnzi_row_doubles_erf(fnzi_row_doubles x) {
  static const double near_zero[] = {
      -7.7958988233633032e-10, 1.372006454468374e-8,  -1.6208483801347775e-7, 1.6447424703242632e-6,
      -1.4924736907412967e-5,  1.2055294904839317e-4, -8.5483259753896771e-4, 5.2239776071164224e-3,
      -2.686617064323777e-2,   0.11283791670945006,   -0.3761263890318354,    0.12837916709551257};
  static const double far[] = {
      1.088555727302695e-5,  -1.4019249046180341e-5, -3.8974234702161976e-5, -7.8773945429385508e-7,
      1.5139668614731977e-4, 2.0622404900592569e-4,  -4.543647158193274e-4,  -1.4568012997853629e-3,
      1.2713397136910095e-3, 8.7226533163332782e-3,  -8.0340150910652339e-3, -5.4220000980278509e-2,
      0.16405128003343816,   -0.16603039761538264,   -9.276382658574577e-2,  1.2769783815525288};
  fnzi_row_doubles size = doubles_size(x);
  fnzi_row_doubles t = doubles_choose(size > 6.0, doubles_all(6.0), size), square = t * t;
  fnzi_row_doubles near = doubles_fused(DOUBLES_POLYNOMIAL(near_zero, square), size, size);
  fnzi_row_doubles below = t + 2.0, twice = t + t + 1.0, part = 1.0 / (below * twice);
  fnzi_row_doubles q = DOUBLES_POLYNOMIAL(far, (t - 2.0) * twice * part);
  fnzi_row_longs power;
  fnzi_row_doubles rest = doubles_exp_parts(-square, &power) * (q * (below * part));
  rest = doubles_fused(-rest, doubles_power(power), doubles_all(1.0));
  fnzi_row_doubles found = doubles_choose(size > 1.0, rest, near);
  return doubles_signed(doubles_choose(size == size, found, size), x);
}

/* 1 - x - x p(x^2) up to 0.6, from there on exp(-x^2) (1 + q(t)) v with v = 1 / (0.75 + 1.5 x) and
 * t = (x - 2) / (x + 2), and from 28 on 0: as the function of f32. */
DOUBLES_INLINE fnzi_row_doubles doubles_far_erfc(fnzi_row_doubles x) {
  static const double far[] = {
      -8.8457431015265315e-8, 1.824063835982565e-7,   2.1453825272475584e-7,
      -3.1837989165472493e-7, -6.5778623894653566e-7, -4.387037696914768e-7,
      1.1181747583980649e-6,  3.8881599897189641e-6,  2.7927601127027187e-6,
      -1.0113434529927612e-5, -2.7320689485140524e-5, -1.1331599371033204e-6,
      0.00011327995762809938, 0.00015477546387248051, -0.00034075568507761146,
      -0.0010926104622712035, 0.00095350422833079359, 0.0065419904068094453,
      -0.0060255113119490562, -0.040665000744027737,  0.12303846002508355,
      -0.12452279821146704,   -0.069572869939309514,  -0.042266213835603461};
  const fnzi_row_doubles slope = doubles_all(1.5), least = doubles_all(0.75),
                         one = doubles_all(1.0);
  fnzi_row_doubles above = x + 2.0, by = doubles_fused(x, slope, least), part = 1.0 / (above * by);
  fnzi_row_doubles v = above * part, q = DOUBLES_POLYNOMIAL(far, (x - 2.0) * by * part);
  fnzi_row_doubles lost = doubles_fused(-v, by, one), square = x * x, rest;
  lost = doubles_fused(-v, doubles_fused(x, slope, least - by), lost);
  fnzi_row_longs power;
  fnzi_row_doubles factor = doubles_exp_rest(-square, &power, &rest);
  fnzi_row_doubles e = doubles_fused(factor, rest, one), low = doubles_fused(factor, rest, one - e);
  low = doubles_fused(e, doubles_fused(-x, x, square) + lost, low);
  fnzi_row_doubles high = e * v;
  low = doubles_fused(low, v, doubles_fused(e, v, -high));
  low = doubles_fused(high, q, doubles_fused(low, q, low));
  return (high + low) * doubles_power(power >> 1) * doubles_power(power - (power >> 1));
}

DOUBLES_INLINE fnzi_row_doubles fnzi_row_doubles_erfc(fnzi_row_doubles x) {
  static const double near_zero[] = {-1.390829595184217e-7,   1.6278777916797354e-6,
                                     -1.4917967047728345e-5,  0.00012055137246470876,
                                     -0.00085483239280403691, 0.0052239775955892981,
                                     -0.026866170643475697,   0.11283791670950459,
                                     -0.37612638903183701,    0.12837916709551257};
  fnzi_row_doubles size = doubles_size(x), left = 1.0 - x;
  fnzi_row_doubles sum = DOUBLES_POLYNOMIAL(near_zero, x * x);
  fnzi_row_doubles near = left + doubles_fused(-sum, x, (1.0 - left) - x);
  fnzi_row_doubles far = doubles_far_erfc(doubles_choose(size > 28.0, doubles_all(28.0), size));
  far = doubles_choose((fnzi_row_longs)x < 0, 2.0 - far, far);
  return doubles_choose(size > 0.6, far, near);
}

/* 1 - 2 / (exp(2 t) + 1), t > 0, with the places that its steps lose: of the exponential, of the
 * sum with 1, and of the quotient. */
DOUBLES_INLINE fnzi_row_doubles doubles_far_tanh(fnzi_row_doubles t) {
  fnzi_row_longs power;
  fnzi_row_doubles rest, by = doubles_exp_rest(t + t, &power, &rest), more = by * rest;
  fnzi_row_doubles scale = doubles_power(power), grown = 1.0 + more;
  fnzi_row_doubles lost = (more - (grown - 1.0)) + doubles_fused(by, rest, -more);
  fnzi_row_doubles sum = doubles_fused(grown, scale, doubles_all(1.0));
  lost = doubles_fused(lost, scale, doubles_fused(grown, scale, 1.0 - sum));
  fnzi_row_doubles quotient = 2.0 / sum, found = 1.0 - quotient;
  fnzi_row_doubles lacks = doubles_fused(-quotient, sum, doubles_all(2.0));
  lacks = doubles_fused(-quotient, lost, lacks) * (0.5 * quotient);
  return found + (((1.0 - found) - quotient) - lacks);
}

/* x + x^3 p(x^2) near 0, and from 20 on 1. */
DOUBLES_INLINE fnzi_row_doubles fnzi_row_doubles_tanh(fnzi_row_doubles x) {
  static const double near_zero[] = {
      6.3972689448262733e-6, -3.1019084736906446e-5, 9.2408732590226111e-5, -2.3750892551710328e-4,
      5.8963519063279719e-4, -1.4557703283909821e-3, 3.592121101510134e-3,  -8.8632350516686003e-3,
      2.1869488516629445e-2, -5.3968253967840971e-2, 0.1333333333333299,    -0.33333333333333333};
  fnzi_row_doubles size = doubles_size(x);
  fnzi_row_doubles t = doubles_choose(size > 20.0, doubles_all(20.0), size), square = t * t;
  fnzi_row_doubles near = doubles_fused(DOUBLES_POLYNOMIAL(near_zero, square) * square, size, size);
  fnzi_row_doubles found = doubles_choose(size > 0.63, doubles_far_tanh(t), near);
  return doubles_signed(doubles_choose(size == size, found, size), x);
}

#undef DOUBLES_POLYNOMIAL
#undef DOUBLES_INLINE
#endif
