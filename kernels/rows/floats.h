/* floats.h - functions of a vector of f32, and the steps that they are made of.
 *
 * Every step is one operation of IEEE 754, and fused steps round once in each instruction set, by
 * instructions or without: so bits depend on neither the set nor the neighbours. Over all floats
 * erf is at most 1.02 units of the last place off, exp 0.91, the others less than 1
 * (tests/kernels/floats_test.c). The polynomials are the best of their degrees with coefficients of
 * f32, or of f64 where doubles are computed (scripts/fit_floats.py). For files that are compiled
 * for each instruction set: all is static. */
#ifndef FNZI_ROWS_FLOATS_H
#define FNZI_ROWS_FLOATS_H

#include "kernels/core/isa.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if FNZI_ISA >= 3
#include <immintrin.h>
#endif

enum { FNZI_ROW_FLOATS = FNZI_ISA == 4 ? 16 : FNZI_ISA == 3 ? 8 : 4 };

typedef float fnzi_row_floats __attribute__((vector_size(4 * FNZI_ROW_FLOATS)));
typedef int32_t fnzi_row_ints __attribute__((vector_size(4 * FNZI_ROW_FLOATS)));

#define FLOATS_INLINE static inline __attribute__((always_inline))

/* --- Steps -------------------------------------------------------------------------------- */
FLOATS_INLINE fnzi_row_floats floats_all(float x) {
  return x - (fnzi_row_floats){0};
}

FLOATS_INLINE fnzi_row_floats floats_choose(fnzi_row_ints c, fnzi_row_floats x, fnzi_row_floats y) {
  return (fnzi_row_floats)(((fnzi_row_ints)x & c) | ((fnzi_row_ints)y & ~c));
}

/* The second one where one of them is NaN. */
FLOATS_INLINE fnzi_row_floats floats_min(fnzi_row_floats x, fnzi_row_floats y) {
#if FNZI_ISA == 4
  return _mm512_min_ps(x, y);
#elif FNZI_ISA == 3
  return _mm256_min_ps(x, y);
#else
  return floats_choose(x < y, x, y);
#endif
}
FLOATS_INLINE fnzi_row_floats floats_max(fnzi_row_floats x, fnzi_row_floats y) {
#if FNZI_ISA == 4
  return _mm512_max_ps(x, y);
#elif FNZI_ISA == 3
  return _mm256_max_ps(x, y);
#else
  return floats_choose(x > y, x, y);
#endif
}

#if FNZI_ISA < 3 && !defined __FMA__ && !defined __aarch64__
typedef float fnzi_row_two_floats __attribute__((vector_size(8)));
typedef double fnzi_row_two_doubles __attribute__((vector_size(16)));
typedef int64_t fnzi_row_two_longs __attribute__((vector_size(16)));

/* The product is exact in double. If the sum is not, it is made odd, towards the exact sum: then
 * rounding to float decides as if it saw the exact sum (Boldo and Melquiond 2008). If
 * the sum is infinite, `missing` is NaN, and nothing is made odd. */
FLOATS_INLINE fnzi_row_two_floats floats_fused_two(fnzi_row_two_floats x, fnzi_row_two_floats y,
                                                   fnzi_row_two_floats z) {
  fnzi_row_two_doubles c = __builtin_convertvector(z, fnzi_row_two_doubles);
  fnzi_row_two_doubles product = __builtin_convertvector(x, fnzi_row_two_doubles) *
                                 __builtin_convertvector(y, fnzi_row_two_doubles);
  fnzi_row_two_doubles sum = product + c, part = sum - product;
  fnzi_row_two_doubles missing = (product - (sum - part)) + (c - part);
  fnzi_row_two_longs bits = (fnzi_row_two_longs)sum, down = (missing < 0) ^ (sum < 0);
  bits += (down | 1) & ((missing < 0) | (missing > 0)) & ((bits & 1) - 1);
  return __builtin_convertvector((fnzi_row_two_doubles)bits, fnzi_row_two_floats);
}
#endif

/* x * y + z, rounded once. */
FLOATS_INLINE fnzi_row_floats floats_fused(fnzi_row_floats x, fnzi_row_floats y,
                                           fnzi_row_floats z) {
#if FNZI_ISA == 4
  return _mm512_fmadd_ps(x, y, z);
#elif FNZI_ISA == 3
  return _mm256_fmadd_ps(x, y, z);
#elif defined __FMA__ || defined __aarch64__
  for (int i = 0; i < FNZI_ROW_FLOATS; i++)
    x[i] = __builtin_fmaf(x[i], y[i], z[i]);
  return x;
#else
  fnzi_row_two_floats a[2], b[2], c[2];
  memcpy(a, &x, sizeof a), memcpy(b, &y, sizeof b), memcpy(c, &z, sizeof c);
  for (int half = 0; half < 2; half++)
    a[half] = floats_fused_two(a[half], b[half], c[half]);
  memcpy(&x, a, sizeof x);
  return x;
#endif
}

/* sum * x + c */
#define FLOATS_STEP(sum, x, c) floats_fused(sum, x, floats_all(c))

/* --- exp ------------------------------------------------------------------------------------ */
/* e^x as a number between 0.7 and 1.5 times 2^power, for |x| below 2^21. The whole number is read
 * off a sum whose last place is 1. */
FLOATS_INLINE fnzi_row_floats floats_exp_parts(fnzi_row_floats x, fnzi_row_ints *power) {
  const float shift = 0x1.8p23f;
  fnzi_row_floats whole = FLOATS_STEP(x, floats_all(1.44269504f), shift);
  *power = (fnzi_row_ints)whole - (fnzi_row_ints)floats_all(shift);
  whole -= shift;
  fnzi_row_floats rest = floats_fused(whole, floats_all(-0.693145752f), x);
  rest = floats_fused(whole, floats_all(-1.42860677e-6f), rest);
  fnzi_row_floats sum = FLOATS_STEP(rest, floats_all(1.38146128e-3f), 8.36871006e-3f);
  sum = FLOATS_STEP(sum, rest, 4.1668389e-2f);
  sum = FLOATS_STEP(sum, rest, 1.66665211e-1f);
  sum = FLOATS_STEP(sum, rest, 0.49999994f);
  sum = FLOATS_STEP(sum, rest, 1.0f);
  return FLOATS_STEP(sum, rest, 1.0f);
}

/* 2^power, if that is a normal number of f32. */
FLOATS_INLINE fnzi_row_floats floats_power(fnzi_row_ints power) {
  return (fnzi_row_floats)((power + 127) << 23);
}

/* x * 2^power, rounded once: 2^power may be too small for f32, so it is two factors. The first one
 * changes no place of x. */
FLOATS_INLINE fnzi_row_floats floats_scaled(fnzi_row_floats x, fnzi_row_ints power) {
#if FNZI_ISA == 4
  return _mm512_scalef_ps(x, _mm512_cvtepi32_ps((__m512i)power));
#else
  fnzi_row_ints half = power >> 1;
  return x * floats_power(half) * floats_power(power - half);
#endif
}

/* Beyond the bounds it is 0 or infinite. */
FLOATS_INLINE fnzi_row_floats fnzi_row_floats_exp(fnzi_row_floats x) {
  fnzi_row_ints power;
  x = floats_max(floats_all(-104.0f), floats_min(floats_all(89.0f), x));
  fnzi_row_floats sum = floats_exp_parts(x, &power);
  return floats_scaled(sum, power);
}

/* --- erf ------------------------------------------------------------------------------------ */
/* x + x * p(x^2) near 0, 1 - exp(-t - t * q(t)) of t = |x| elsewhere, and from 4 on 1. */
FLOATS_INLINE fnzi_row_floats fnzi_row_floats_erf(fnzi_row_floats x) {
  const fnzi_row_ints sign = (fnzi_row_ints)floats_all(-0.0f);
  fnzi_row_floats size = (fnzi_row_floats)((fnzi_row_ints)x & ~sign);
  fnzi_row_floats t = floats_min(size, floats_all(4.0f)), square = t * t;

  fnzi_row_floats near = FLOATS_STEP(square, floats_all(-6.09037874e-4f), 5.01196692e-3f);
  near = FLOATS_STEP(near, square, -2.67789122e-2f);
  near = FLOATS_STEP(near, square, 0.112821408f);
  near = FLOATS_STEP(near, square, -0.376125246f);
  near = FLOATS_STEP(near, square, 0.128379166f);
  near = floats_fused(near, size, size);

  fnzi_row_floats far = FLOATS_STEP(t, floats_all(2.1459494e-4f), -3.21997493e-3f);
  far = floats_fused(far, square, FLOATS_STEP(t, floats_all(2.29060296e-2f), -0.105286852f));
  far = floats_fused(far, square, FLOATS_STEP(t, floats_all(-0.635699391f), -0.128519937f));
  far = floats_fused(far, t, -t);
  fnzi_row_ints power;
  fnzi_row_floats rest = floats_exp_parts(far, &power);
  far = floats_fused(-rest, floats_power(power), floats_all(1.0f));

  fnzi_row_floats found = floats_choose(size > 0.9f, far, near);
  return (fnzi_row_floats)((fnzi_row_ints)found | ((fnzi_row_ints)x & sign));
}

/* --- tanh ------------------------------------------------------------------------------------ */
/* x + x^3 p(x^2) near 0, 1 - 2 / (exp(2 x) + 1) elsewhere, and from 10 on 1. */
FLOATS_INLINE fnzi_row_floats fnzi_row_floats_tanh(fnzi_row_floats x) {
  const fnzi_row_ints sign = (fnzi_row_ints)floats_all(-0.0f);
  fnzi_row_floats size = (fnzi_row_floats)((fnzi_row_ints)x & ~sign);
  fnzi_row_floats t = floats_min(size, floats_all(10.0f)), square = t * t;

  fnzi_row_floats near = FLOATS_STEP(square, floats_all(-3.58452031e-4f), 2.30136467e-3f);
  near = FLOATS_STEP(near, square, -7.94610661e-3f);
  near = FLOATS_STEP(near, square, 2.14866586e-2f);
  near = FLOATS_STEP(near, square, -5.38798049e-2f);
  near = FLOATS_STEP(near, square, 0.133323446f);
  near = FLOATS_STEP(near, square, -0.333332956f);
  near = floats_fused(near * square, size, size);

  fnzi_row_ints power;
  fnzi_row_floats grown = floats_exp_parts(t + t, &power);
  grown = FLOATS_STEP(grown, floats_power(power), 1.0f);
  fnzi_row_floats found = floats_choose(size > 1.0f, 1.0f - 2.0f / grown, near);
  return (fnzi_row_floats)((fnzi_row_ints)found | ((fnzi_row_ints)x & sign));
}

/* --- Logarithms ------------------------------------------------------------------------------ */
/* Whole powers of 2 in the bits of x, which leave it between the roots of 1/2 and of 2. */
FLOATS_INLINE fnzi_row_ints floats_exponent(fnzi_row_floats x) {
  return ((fnzi_row_ints)x - 0x3f3504f3) & -0x800000;
}

/* log(1 + m) - m */
FLOATS_INLINE fnzi_row_floats floats_log_rest(fnzi_row_floats m) {
  fnzi_row_floats sum = FLOATS_STEP(m, floats_all(-0.0763565153f), 0.127633259f);
  sum = FLOATS_STEP(sum, m, -0.131605834f);
  sum = FLOATS_STEP(sum, m, 0.142015532f);
  sum = FLOATS_STEP(sum, m, -0.166232988f);
  sum = FLOATS_STEP(sum, m, 0.200012341f);
  sum = FLOATS_STEP(sum, m, -0.250008225f);
  sum = FLOATS_STEP(sum, m, 0.333333313f);
  return FLOATS_STEP(sum, m, -0.5f) * (m * m);
}

/* x = 2^power (1 + m) */
FLOATS_INLINE fnzi_row_floats floats_log_parts(fnzi_row_floats x, fnzi_row_floats *power) {
  fnzi_row_ints is_small = x < 0x1p-126f;
  x = floats_choose(is_small, x * 0x1p23f, x);
  fnzi_row_ints exponent = floats_exponent(x);
  *power = __builtin_convertvector((exponent >> 23) - (is_small & 23), fnzi_row_floats);
  return (fnzi_row_floats)((fnzi_row_ints)x - exponent) - 1.0f;
}

/* `found`, where x is above 0 and finite. */
FLOATS_INLINE fnzi_row_floats floats_log_ends(fnzi_row_floats x, fnzi_row_floats found) {
  fnzi_row_floats end = floats_choose(x < 0.0f, floats_all(NAN), x);
  end = floats_choose(x == 0.0f, floats_all(-INFINITY), end);
  return floats_choose((x > 0.0f) & (x < INFINITY), found, end);
}

FLOATS_INLINE fnzi_row_floats fnzi_row_floats_log(fnzi_row_floats x) {
  fnzi_row_floats power, m = floats_log_parts(x, &power), sum = m + floats_log_rest(m);
  return floats_log_ends(x, floats_fused(power, floats_all(0.693147182f), sum));
}

/* Factors with more places than f32 are a sum of two. */
FLOATS_INLINE fnzi_row_floats fnzi_row_floats_log2(fnzi_row_floats x) {
  const fnzi_row_floats factor = floats_all(1.44269502f), more = floats_all(1.92596299e-8f);
  fnzi_row_floats power, m = floats_log_parts(x, &power);
  fnzi_row_floats sum = floats_fused(m, more, floats_log_rest(m) * factor);
  return floats_log_ends(x, power + floats_fused(m, factor, sum));
}

FLOATS_INLINE fnzi_row_floats fnzi_row_floats_log10(fnzi_row_floats x) {
  const fnzi_row_floats factor = floats_all(0.434294492f), more = floats_all(-1.01030501e-8f);
  fnzi_row_floats power, m = floats_log_parts(x, &power);
  fnzi_row_floats sum = floats_fused(m, more, floats_log_rest(m) * factor);
  sum = floats_fused(power, floats_all(-1.4320989e-8f), sum);
  sum = floats_fused(m, factor, sum);
  return floats_log_ends(x, floats_fused(power, floats_all(0.30103001f), sum));
}

/* The power of 2 is that of 1 + x, but m has all places of x, as far as 1 + x has less. */
FLOATS_INLINE fnzi_row_floats fnzi_row_floats_log1p(fnzi_row_floats x) {
  fnzi_row_floats more = 1.0f + x;
  fnzi_row_ints exponent = floats_exponent(more);
  fnzi_row_floats scale = (fnzi_row_floats)(0x3f800000 - exponent);
  fnzi_row_floats power = __builtin_convertvector(exponent >> 23, fnzi_row_floats);
  fnzi_row_floats below = scale - 1.0f, m = floats_fused(x, scale, below);
  fnzi_row_floats lost = floats_fused(x, scale, below - m);
  fnzi_row_ints is_large = x > 0x1p30f;
  m = floats_choose(is_large, (fnzi_row_floats)((fnzi_row_ints)more - exponent) - 1.0f, m);
  lost = floats_choose(is_large, floats_all(0.0f), lost);
  fnzi_row_floats sum = m + (floats_log_rest(m) + lost);
  sum = floats_fused(power, floats_all(0.693147182f), sum);
  return floats_choose(x == 0.0f, x, floats_log_ends(more, sum));
}

/* --- atan ------------------------------------------------------------------------------------ */
/* r + r^3 p(r^2) for r up to 1/2: x up to there, (x - 1) / (x + 1) and half a right angle up to 2,
 * -1 / x and a right angle from there on. The sum has the missing places of both. */
FLOATS_INLINE fnzi_row_floats fnzi_row_floats_atan(fnzi_row_floats x) {
  const fnzi_row_ints sign = (fnzi_row_ints)floats_all(-0.0f);
  const fnzi_row_floats one = floats_all(1.0f), none = floats_all(0.0f);
  fnzi_row_floats size =
      floats_min(floats_all(0x1p60f), (fnzi_row_floats)((fnzi_row_ints)x & ~sign));
  fnzi_row_ints is_middle = size > 0.5f, is_far = size > 2.0f;
  fnzi_row_floats over = floats_choose(is_far, -one, floats_choose(is_middle, size - one, size));
  fnzi_row_floats added = floats_choose(is_middle & ~is_far, one, none);
  fnzi_row_floats by = floats_choose(is_middle, size + added, one);
  fnzi_row_floats inverse = one / by, r = over * inverse, square = r * r;
  fnzi_row_floats lacks = floats_fused(-r, by, over);
  lacks = floats_fused(-r, size - floats_choose(is_middle, by - added, size), lacks) * inverse;

  fnzi_row_floats sum = FLOATS_STEP(square, floats_all(0.0387232751f), -0.0798406526f);
  sum = FLOATS_STEP(sum, square, 0.109409831f);
  sum = FLOATS_STEP(sum, square, -0.142720789f);
  sum = FLOATS_STEP(sum, square, 0.199994892f);
  sum = FLOATS_STEP(sum, square, -0.333333254f);
  sum = floats_fused(sum * square, r, lacks);

  fnzi_row_floats angle = floats_choose(is_far, floats_all(1.57079637f), floats_all(0.785398185f));
  fnzi_row_floats more =
      floats_choose(is_far, floats_all(-4.37113883e-8f), floats_all(-2.18556941e-8f));
  angle = floats_choose(is_middle, angle, none);
  fnzi_row_floats found = angle + r;
  found += ((angle - found) + r) + (sum + floats_choose(is_middle, more, none));
  return (fnzi_row_floats)((fnzi_row_ints)found | ((fnzi_row_ints)x & sign));
}

/* --- By way of doubles ----------------------------------------------------------------------- */
typedef double fnzi_row_doubles __attribute__((vector_size(4 * FNZI_ROW_FLOATS)));
typedef int64_t fnzi_row_longs __attribute__((vector_size(4 * FNZI_ROW_FLOATS)));

FLOATS_INLINE fnzi_row_doubles doubles_all(double x) {
  return x - (fnzi_row_doubles){0};
}

FLOATS_INLINE fnzi_row_doubles doubles_choose(fnzi_row_longs c, fnzi_row_doubles x,
                                              fnzi_row_doubles y) {
  return (fnzi_row_doubles)(((fnzi_row_longs)x & c) | ((fnzi_row_longs)y & ~c));
}

FLOATS_INLINE fnzi_row_doubles doubles_fused(fnzi_row_doubles x, fnzi_row_doubles y,
                                             fnzi_row_doubles z) {
#if FNZI_ISA == 4
  return _mm512_fmadd_pd(x, y, z);
#elif FNZI_ISA == 3
  return _mm256_fmadd_pd(x, y, z);
#else
  for (int i = 0; i < FNZI_ROW_FLOATS / 2; i++)
    x[i] = fma(x[i], y[i], z[i]);
  return x;
#endif
}

#define DOUBLES_STEP(sum, x, c) doubles_fused(sum, x, doubles_all(c))

/* A function of each half of a vector as doubles. */
#if FNZI_ISA == 4
#define FLOATS_HALF(x, half) _mm512_cvtps_pd(_mm512_extractf32x8_ps(x, half))
#define FLOATS_JOIN(low, high)                                                                     \
  _mm512_insertf32x8(_mm512_castps256_ps512(_mm512_cvtpd_ps(low)), _mm512_cvtpd_ps(high), 1)
#elif FNZI_ISA == 3
#define FLOATS_HALF(x, half) _mm256_cvtps_pd(_mm256_extractf128_ps(x, half))
#define FLOATS_JOIN(low, high)                                                                     \
  _mm256_insertf128_ps(_mm256_castps128_ps256(_mm256_cvtpd_ps(low)), _mm256_cvtpd_ps(high), 1)
#else
#define FLOATS_HALF(x, half) ((fnzi_row_doubles){(x)[2 * (half)], (x)[2 * (half) + 1]})
#define FLOATS_JOIN(low, high)                                                                     \
  ((fnzi_row_floats){(float)(low)[0], (float)(low)[1], (float)(high)[0], (float)(high)[1]})
#endif
#define FLOATS_BY_DOUBLES(function, x)                                                             \
  ((fnzi_row_floats)FLOATS_JOIN(function(FLOATS_HALF(x, 0)), function(FLOATS_HALF(x, 1))))

/* exp(-x^2) q(t) / (1 + 2 x) with t = (x - 2) / (x + 2), from 10.1 on 0; one division. */
FLOATS_INLINE fnzi_row_doubles doubles_erfc(fnzi_row_doubles x) {
  const double shift = 0x1.8p52;
  fnzi_row_longs sign = (fnzi_row_longs)x & INT64_MIN;
  fnzi_row_doubles size = (fnzi_row_doubles)((fnzi_row_longs)x ^ sign);
  size = doubles_choose(size > 10.1, doubles_all(10.1), size);
  fnzi_row_doubles square = -size * size, below = size + 2.0, twice = size + size + 1.0;
  fnzi_row_doubles part = 1.0 / (below * twice), t = (size - 2.0) * twice * part;
  fnzi_row_doubles whole = DOUBLES_STEP(square, doubles_all(1.4426950408889634), shift);
  fnzi_row_longs power = (fnzi_row_longs)whole - (fnzi_row_longs)doubles_all(shift);
  fnzi_row_doubles r = doubles_fused(whole - shift, doubles_all(-0.69314718055994531), square);
  fnzi_row_doubles e = DOUBLES_STEP(r, doubles_all(2.4860745193047495e-5), 1.9900441465296743e-4);
  e = DOUBLES_STEP(e, r, 1.388885263392293e-3);
  e = DOUBLES_STEP(e, r, 8.3332970674287185e-3);
  e = DOUBLES_STEP(e, r, 4.1666666722201e-2);
  e = DOUBLES_STEP(e, r, 0.16666666722219043);
  e = DOUBLES_STEP(e, r, 0.5);
  e = DOUBLES_STEP(DOUBLES_STEP(e, r, 1.0), r, 1.0);
  fnzi_row_doubles q = DOUBLES_STEP(t, doubles_all(8.2949853017083e-5), 1.7599783450662227e-4);
  q = DOUBLES_STEP(q, t, -4.0185042232726596e-4);
  q = DOUBLES_STEP(q, t, -1.4282946878831613e-3);
  q = DOUBLES_STEP(q, t, 1.2512279601319227e-3);
  q = DOUBLES_STEP(q, t, 8.712118377847113e-3);
  q = DOUBLES_STEP(q, t, -8.0300498101497924e-3);
  q = DOUBLES_STEP(q, t, -5.4218337387046384e-2);
  q = DOUBLES_STEP(q, t, 0.16405091594097348);
  q = DOUBLES_STEP(q, t, -0.16603049044431965);
  q = DOUBLES_STEP(q, t, -9.276381608098317e-2);
  q = DOUBLES_STEP(q, t, 1.2769783823596607);
  q *= below * part * e * (fnzi_row_doubles)((power + 1023) << 52);
  q = doubles_choose((fnzi_row_longs)(sign != 0), 2.0 - q, q);
  return doubles_choose((fnzi_row_longs)(x != x), x,
                        q); /* products have the NaN of either operand */
}

FLOATS_INLINE fnzi_row_floats fnzi_row_floats_erfc(fnzi_row_floats x) {
  return FLOATS_BY_DOUBLES(doubles_erfc, x);
}

/* x less `*quarters` right angles: at most half of one. */
FLOATS_INLINE fnzi_row_doubles doubles_reduced(fnzi_row_doubles x, fnzi_row_longs *quarters) {
  const double shift = 0x1.8p52;
  fnzi_row_doubles whole = DOUBLES_STEP(x, doubles_all(0.63661977236758134), shift);
  *quarters = (fnzi_row_longs)whole;
  whole -= shift;
  x = doubles_fused(whole, doubles_all(-1.5707963267948966), x);
  return doubles_fused(whole, doubles_all(-6.123233995736766e-17), x);
}

FLOATS_INLINE fnzi_row_doubles doubles_sine(fnzi_row_doubles r, fnzi_row_doubles square) {
  fnzi_row_doubles sum =
      DOUBLES_STEP(square, doubles_all(2.724931355810361e-6), -1.9840082007393361e-4);
  sum = DOUBLES_STEP(sum, square, 8.3333318659428082e-3);
  sum = DOUBLES_STEP(sum, square, -0.16666666663832636);
  return r * DOUBLES_STEP(sum, square, 1.0);
}

FLOATS_INLINE fnzi_row_doubles doubles_cosine(fnzi_row_doubles square) {
  fnzi_row_doubles sum =
      DOUBLES_STEP(square, doubles_all(-2.7236502753788628e-7), 2.4799855297319e-5);
  sum = DOUBLES_STEP(sum, square, -1.3888885068585411e-3);
  sum = DOUBLES_STEP(sum, square, 4.166666663716101e-2);
  sum = DOUBLES_STEP(sum, square, -0.49999999999963527);
  return DOUBLES_STEP(sum, square, 1.0);
}

FLOATS_INLINE fnzi_row_doubles doubles_sine_of(fnzi_row_doubles x, int64_t ahead) {
  fnzi_row_longs quarters, none = {0};
  fnzi_row_doubles r = doubles_reduced(x, &quarters), square = r * r;
  quarters += ahead;
  r = doubles_choose((quarters & 1) == none, doubles_sine(r, square), doubles_cosine(square));
  return (fnzi_row_doubles)((fnzi_row_longs)r ^ (quarters & 2) << 62);
}

FLOATS_INLINE fnzi_row_doubles doubles_sin(fnzi_row_doubles x) {
  return doubles_sine_of(x, 0);
}
FLOATS_INLINE fnzi_row_doubles doubles_cos(fnzi_row_doubles x) {
  return doubles_sine_of(x, 1);
}
FLOATS_INLINE fnzi_row_doubles doubles_tan(fnzi_row_doubles x) {
  fnzi_row_longs quarters, none = {0};
  fnzi_row_doubles r = doubles_reduced(x, &quarters), square = r * r;
  fnzi_row_doubles sine = doubles_sine(r, square), cosine = doubles_cosine(square);
  fnzi_row_longs is_even = (quarters & 1) == none;
  return doubles_choose(is_even, sine, -cosine) / doubles_choose(is_even, cosine, sine);
}

/* Both with all places of doubles, for angles up to 2^30. The polynomials here and of the logarithm
 * are fdlibm's. */
FLOATS_INLINE void doubles_sine_cosine(fnzi_row_doubles x, fnzi_row_doubles *sine,
                                       fnzi_row_doubles *cosine) {
  fnzi_row_longs quarters, none = {0};
  fnzi_row_doubles r = doubles_reduced(x, &quarters), square = r * r;
  fnzi_row_doubles s =
      DOUBLES_STEP(square, doubles_all(1.58969099521155010221e-10), -2.50507602534068634195e-08);
  s = DOUBLES_STEP(s, square, 2.75573137070700676789e-06);
  s = DOUBLES_STEP(s, square, -1.98412698298579493134e-04);
  s = DOUBLES_STEP(s, square, 8.33333333332248946124e-03);
  s = DOUBLES_STEP(s, square, -1.66666666666666324348e-01);
  s = doubles_fused(s * square, r, r);
  fnzi_row_doubles c =
      DOUBLES_STEP(square, doubles_all(-1.13596475577881948265e-11), 2.08757232129817482790e-09);
  c = DOUBLES_STEP(c, square, -2.75573143513906633035e-07);
  c = DOUBLES_STEP(c, square, 2.48015872894767294178e-05);
  c = DOUBLES_STEP(c, square, -1.38888888888741095749e-03);
  c = DOUBLES_STEP(c, square, 4.16666666666666019037e-02);
  c = DOUBLES_STEP(DOUBLES_STEP(c, square, -0.5), square, 1.0);
  fnzi_row_longs is_even = (quarters & 1) == none;
  *sine = doubles_choose(is_even, s, c);
  *cosine = doubles_choose(is_even, c, s);
  *sine = (fnzi_row_doubles)((fnzi_row_longs)*sine ^ (quarters & 2) << 62);
  *cosine = (fnzi_row_doubles)((fnzi_row_longs)*cosine ^ ((quarters + 1) & 2) << 62);
}

/* For normal numbers above 0. */
FLOATS_INLINE fnzi_row_doubles doubles_log(fnzi_row_doubles x) {
  const double shift = 0x1.8p52;
  const int64_t root = 0x3fe6a09e667f3bcc; /* of 1/2 */
  fnzi_row_longs exponent = ((fnzi_row_longs)x - root) & -(INT64_C(1) << 52);
  fnzi_row_doubles f = (fnzi_row_doubles)((fnzi_row_longs)x - exponent) - 1.0;
  fnzi_row_longs whole = (fnzi_row_longs)((fnzi_row_longs)doubles_all(shift) + (exponent >> 52));
  fnzi_row_doubles power = (fnzi_row_doubles)whole - shift;
  fnzi_row_doubles s = f / (f + 2.0), square = s * s, half = 0.5 * f * f;
  fnzi_row_doubles sum =
      DOUBLES_STEP(square, doubles_all(1.479819860511658591e-01), 1.531383769920937332e-01);
  sum = DOUBLES_STEP(sum, square, 1.818357216161805012e-01);
  sum = DOUBLES_STEP(sum, square, 2.222219843214978396e-01);
  sum = DOUBLES_STEP(sum, square, 2.857142874366239149e-01);
  sum = DOUBLES_STEP(sum, square, 3.999999999940941908e-01);
  sum = DOUBLES_STEP(sum, square, 6.666666666666735130e-01) * square;
  sum = s * (half + sum) + power * 1.90821492927058770002e-10;
  return power * 6.93147180369123816490e-01 - ((half - sum) - f);
}

/* Turns of large angles need more places of a right angle. */
FLOATS_INLINE bool floats_has_large(fnzi_row_floats x) {
  fnzi_row_ints large = ((fnzi_row_ints)x & INT32_MAX) > 0x4e800000; /* 2^30 */
#if FNZI_ISA == 4
  return _mm512_test_epi32_mask((__m512i)large, (__m512i)large) != 0;
#elif FNZI_ISA == 3
  return !_mm256_testz_si256((__m256i)large, (__m256i)large);
#else
  return (large[0] | large[1] | large[2] | large[3]) != 0;
#endif
}

#define FLOATS_PERIODIC(name)                                                                      \
  static __attribute__((noinline, unused))                                                         \
  fnzi_row_floats floats_lanes_##name(fnzi_row_floats x) {                                         \
    for (int i = 0; i < FNZI_ROW_FLOATS; i++)                                                      \
      if (!(fabsf(x[i]) <= 0x1p30f))                                                               \
        x[i] = (float)name((double)x[i]);                                                          \
      else {                                                                                       \
        fnzi_row_doubles lane = {(double)x[i]};                                                    \
        x[i] = (float)doubles_##name(lane)[0];                                                     \
      }                                                                                            \
    return x;                                                                                      \
  }                                                                                                \
  FLOATS_INLINE fnzi_row_floats fnzi_row_floats_##name(fnzi_row_floats x) {                        \
    return floats_has_large(x) ? floats_lanes_##name(x) : FLOATS_BY_DOUBLES(doubles_##name, x);    \
  }
FLOATS_PERIODIC(sin)
FLOATS_PERIODIC(cos)
FLOATS_PERIODIC(tan)

#undef FLOATS_PERIODIC
#undef FLOATS_BY_DOUBLES
#undef FLOATS_JOIN
#undef FLOATS_HALF
#undef DOUBLES_STEP
#undef FLOATS_STEP
#undef FLOATS_INLINE
#endif
