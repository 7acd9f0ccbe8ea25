/* floats.h - functions of a vector of f32, and the steps that they are made of.
 *
 * Every step is one operation of IEEE 754, and fused steps round once in each instruction set, by
 * instructions or without: so bits depend on neither the set nor the neighbours. Over all floats
 * erf is at most 1.02 units of the last place off, exp 0.91, the others less than 1
 * (tests/kernels/floats_test.c). The polynomials are the best of their degrees with coefficients of
 * f32 (scripts/fit_floats.py). For files that are compiled
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
/* (e^x - 1 - x) / x^2 for |x| up to half of log(2). */
FLOATS_INLINE fnzi_row_floats floats_exp_rest(fnzi_row_floats x) {
  fnzi_row_floats sum = FLOATS_STEP(x, floats_all(1.38146128e-3f), 8.36871006e-3f);
  sum = FLOATS_STEP(sum, x, 4.1668389e-2f);
  sum = FLOATS_STEP(sum, x, 1.66665211e-1f);
  return FLOATS_STEP(sum, x, 0.49999994f);
}

/* e^x as a number between 0.7 and 1.5 times 2^power, for |x| below 2^21. The whole number is read
 * off a sum whose last place is 1. */
FLOATS_INLINE fnzi_row_floats floats_exp_parts(fnzi_row_floats x, fnzi_row_ints *power) {
  const float shift = 0x1.8p23f;
  fnzi_row_floats whole = FLOATS_STEP(x, floats_all(1.44269504f), shift);
  *power = (fnzi_row_ints)whole - (fnzi_row_ints)floats_all(shift);
  whole -= shift;
  fnzi_row_floats rest = floats_fused(whole, floats_all(-0.693145752f), x);
  rest = floats_fused(whole, floats_all(-1.42860677e-6f), rest);
  fnzi_row_floats sum = floats_exp_rest(rest);
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

/* --- erfc ------------------------------------------------------------------------------------ */
/* 1 - x - x p(x^2), near 0. */
FLOATS_INLINE fnzi_row_floats floats_near_erfc(fnzi_row_floats x) {
  fnzi_row_floats square = x * x;
  fnzi_row_floats sum = FLOATS_STEP(square, floats_all(-7.21635588e-4f), 5.16348565e-3f);
  sum = FLOATS_STEP(sum, square, -2.68526487e-2f);
  sum = FLOATS_STEP(sum, square, 0.112836421f);
  sum = FLOATS_STEP(sum, square, -0.376126319f);
  sum = FLOATS_STEP(sum, square, 0.128379166f);
  fnzi_row_floats left = 1.0f - x;
  return left + floats_fused(-sum, x, (1.0f - left) - x);
}

/* e^(more - x^2) as the sum of the result and `*rest`, times 2^power. The square's missing places
 * count: they are up to 2^-18. */
FLOATS_INLINE fnzi_row_floats floats_exp_square(fnzi_row_floats x, fnzi_row_floats more,
                                                fnzi_row_floats *rest, fnzi_row_ints *power) {
  const float shift = 0x1.8p23f;
  const fnzi_row_floats low = floats_all(-1.42860677e-6f);
  fnzi_row_floats square = x * x, whole = FLOATS_STEP(square, floats_all(-1.44269504f), shift);
  *power = (fnzi_row_ints)whole - (fnzi_row_ints)floats_all(shift);
  whole -= shift;
  fnzi_row_floats high = floats_fused(whole, floats_all(-0.693145752f), -square);
  fnzi_row_floats r = floats_fused(whole, low, high), sum = 1.0f + r;
  more += floats_fused(whole, low, high - r) + floats_fused(-x, x, square);
  *rest = floats_fused(r * r, floats_exp_rest(r), (1.0f - sum) + r);
  *rest = floats_fused(sum + *rest, more, *rest);
  return sum;
}

/* exp(-x^2) (1 + q(t)) v, v = 1 / (0.75 + 1.5 x) and t = (x - 2) / (x + 2), from 0.6 on, and from
 * 10.1 on 0. One division makes v and t; v lacks `lost` of itself. */
FLOATS_INLINE fnzi_row_floats fnzi_row_floats_erfc(fnzi_row_floats x) {
  const fnzi_row_floats slope = floats_all(1.5f);
  fnzi_row_floats size = (fnzi_row_floats)((fnzi_row_ints)x & INT32_MAX);
  fnzi_row_floats s = floats_min(floats_all(10.1f), size);
  fnzi_row_floats above = s + 2.0f, by = FLOATS_STEP(s, slope, 0.75f), part = 1.0f / (above * by);
  fnzi_row_floats t = (s - 2.0f) * by * part, v = above * part;
  fnzi_row_floats lost = FLOATS_STEP(-v, by, 1.0f);
  lost = floats_fused(-v, floats_fused(s, slope, 0.75f - by), lost);

  fnzi_row_floats q = FLOATS_STEP(t, floats_all(-1.04853685e-3f), 7.50056468e-4f);
  q = FLOATS_STEP(q, t, 6.55224128e-3f);
  q = FLOATS_STEP(q, t, -5.97992819e-3f);
  q = FLOATS_STEP(q, t, -4.06688042e-2f);
  q = FLOATS_STEP(q, t, 0.123034485f);
  q = FLOATS_STEP(q, t, -0.124522544f);
  q = FLOATS_STEP(q, t, -6.95727766e-2f);
  q = FLOATS_STEP(q, t, -4.22662161e-2f);

  fnzi_row_ints power;
  fnzi_row_floats more, e = floats_exp_square(s, lost, &more, &power);
  fnzi_row_floats high = e * v, low = floats_fused(more, v, floats_fused(e, v, -high));
  low = floats_fused(high, q, floats_fused(low, q, low));
  fnzi_row_floats far = floats_scaled(high + low, power);
  far = floats_choose((fnzi_row_ints)x < 0, 2.0f - far, far);
  return floats_choose(size > 0.6f, far, floats_near_erfc(x));
}

/* --- asin and acos ---------------------------------------------------------------------------- */
FLOATS_INLINE fnzi_row_floats floats_root(fnzi_row_floats x) {
#if FNZI_ISA == 4
  return _mm512_sqrt_ps(x);
#elif FNZI_ISA == 3
  return _mm256_sqrt_ps(x);
#else
  for (int i = 0; i < FNZI_ROW_FLOATS; i++)
    x[i] = sqrtf(x[i]);
  return x;
#endif
}

/* `angles` right angles, and `by` times s + s^3 p(s^2). s is the size, or from 1/2 on the root of
 * (1 - size) / 2, which is the sine of half the rest of a right angle. The places that the root
 * loses are divided by it roughly: the inverse is read off its bits. */
FLOATS_INLINE fnzi_row_floats floats_arc(fnzi_row_floats size, fnzi_row_ints is_far,
                                         fnzi_row_floats angles, fnzi_row_floats by) {
  fnzi_row_floats half = FLOATS_STEP(size, floats_all(-0.5f), 0.5f);
  fnzi_row_floats root = floats_root(half), s = floats_choose(is_far, root, size);
  fnzi_row_floats square = floats_choose(is_far, half, size * size);
  fnzi_row_ints inverse = 0x5eb759df - ((fnzi_row_ints)half >> 1);
  fnzi_row_floats lost = floats_fused(-root, root, half) * (fnzi_row_floats)inverse;
  lost = (fnzi_row_floats)((fnzi_row_ints)lost & is_far);

  fnzi_row_floats sum = FLOATS_STEP(square, floats_all(4.21663038e-2f), 2.41795182e-2f);
  sum = FLOATS_STEP(sum, square, 4.54703756e-2f);
  sum = FLOATS_STEP(sum, square, 7.49529749e-2f);
  sum = FLOATS_STEP(sum, square, 0.166667521f);
  sum = floats_fused(square * s, sum, lost);
  fnzi_row_floats base = angles * 1.57079637f, part = by * s, found = base + part;
  sum = floats_fused(by, sum, (base - found) + part);
  return found + floats_fused(angles, floats_all(-4.37113883e-8f), sum);
}

FLOATS_INLINE fnzi_row_floats fnzi_row_floats_asin(fnzi_row_floats x) {
  fnzi_row_ints sign = (fnzi_row_ints)x & INT32_MIN;
  fnzi_row_floats size = (fnzi_row_floats)((fnzi_row_ints)x ^ sign), one = floats_all(1.0f);
  fnzi_row_ints is_far = size > 0.5f;
  fnzi_row_floats angles = (fnzi_row_floats)((fnzi_row_ints)one & is_far);
  fnzi_row_floats by = floats_choose(is_far, floats_all(-2.0f), one);
  return (fnzi_row_floats)((fnzi_row_ints)floats_arc(size, is_far, angles, by) | sign);
}

FLOATS_INLINE fnzi_row_floats fnzi_row_floats_acos(fnzi_row_floats x) {
  fnzi_row_ints sign = (fnzi_row_ints)x & INT32_MIN;
  fnzi_row_floats size = (fnzi_row_floats)((fnzi_row_ints)x ^ sign), two = floats_all(2.0f);
  fnzi_row_ints is_far = size > 0.5f;
  fnzi_row_floats angles = (fnzi_row_floats)((fnzi_row_ints)two & (sign >> 31));
  angles = floats_choose(is_far, angles, floats_all(1.0f));
  fnzi_row_floats by = floats_choose(is_far, two, floats_all(-1.0f));
  return floats_arc(size, is_far, angles, (fnzi_row_floats)((fnzi_row_ints)by ^ sign));
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

/* x less `*quarters` right angles: at most half of one. */
FLOATS_INLINE fnzi_row_doubles doubles_reduced(fnzi_row_doubles x, fnzi_row_longs *quarters) {
  const double shift = 0x1.8p52;
  fnzi_row_doubles whole = DOUBLES_STEP(x, doubles_all(0.63661977236758134), shift);
  *quarters = (fnzi_row_longs)whole;
  whole -= shift;
  x = doubles_fused(whole, doubles_all(-1.5707963267948966), x);
  return doubles_fused(whole, doubles_all(-6.123233995736766e-17), x);
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

/* The logarithm of x times 2^more, for normal numbers x above 0. */
FLOATS_INLINE fnzi_row_doubles doubles_log(fnzi_row_doubles x, fnzi_row_longs more) {
  const double shift = 0x1.8p52;
  const int64_t root = 0x3fe6a09e667f3bcc; /* of 1/2 */
  fnzi_row_longs exponent = ((fnzi_row_longs)x - root) & -(INT64_C(1) << 52);
  fnzi_row_doubles f = (fnzi_row_doubles)((fnzi_row_longs)x - exponent) - 1.0;
  fnzi_row_longs whole = (fnzi_row_longs)doubles_all(shift) + (exponent >> 52) + more;
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

/* --- Sines ----------------------------------------------------------------------------------- */
/* x less `*quarters` right angles, as the sum of the result and `*lost`: at most 0.504 of one, for
 * |x| up to 2^17. The first difference is exact. No bit of `rest` is below the last one of `more`,
 * so the error of the second difference is exact, too. */
FLOATS_INLINE fnzi_row_floats floats_reduced(fnzi_row_floats x, fnzi_row_ints *quarters,
                                             fnzi_row_floats *lost) {
  const float shift = 0x1.8p23f;
  const fnzi_row_floats low = floats_all(-4.37113883e-8f);
  fnzi_row_floats whole = FLOATS_STEP(x, floats_all(0.636619747f), shift);
  *quarters = (fnzi_row_ints)whole;
  whole -= shift;
  fnzi_row_floats rest = floats_fused(whole, floats_all(-1.57079637f), x);
  fnzi_row_floats more = whole * low, r = rest - more;
  *lost = ((rest - r) - more) - floats_fused(whole, low, -more);
  *lost = floats_fused(whole, floats_all(1.71512451e-15f), *lost);
  return r;
}

/* The sine of an angle and `ahead` right ones: r + r^3 p(r^2), or 1 - r^2 / 2 + r^4 p(r^2), with
 * the places that r^2 and the difference lose. */
FLOATS_INLINE fnzi_row_floats floats_sine(fnzi_row_floats size, int32_t ahead) {
  fnzi_row_ints quarters;
  fnzi_row_floats lost, r = floats_reduced(size, &quarters, &lost), twice = r * lost;
  fnzi_row_floats square = floats_fused(r, r, twice + twice);
  quarters += ahead;
  fnzi_row_floats sine = FLOATS_STEP(square, floats_all(-1.95100554e-4f), 8.33212305e-3f);
  sine = FLOATS_STEP(sine, square, -0.166666538f);
  sine = r + floats_fused(square * r, sine, lost);
  fnzi_row_floats cosine = FLOATS_STEP(square, floats_all(2.44271832e-5f), -1.38872641e-3f);
  cosine = FLOATS_STEP(cosine, square, 4.16666456e-2f);
  fnzi_row_floats half = 0.5f * square, near = 1.0f - half;
  fnzi_row_floats lacks = floats_fused(r, r, -square) + (twice + twice);
  lacks = floats_fused(lacks, floats_all(-0.5f), (1.0f - near) - half);
  cosine = near + floats_fused(cosine, square * square, lacks);
  fnzi_row_floats found = floats_choose((quarters & 1) == 0, sine, cosine);
  return (fnzi_row_floats)((fnzi_row_ints)found ^ (quarters & 2) << 30);
}

FLOATS_INLINE fnzi_row_floats floats_near_sin(fnzi_row_floats size) {
  return floats_sine(size, 0);
}
FLOATS_INLINE fnzi_row_floats floats_near_cos(fnzi_row_floats size) {
  return floats_sine(size, 1);
}

/* r + r^3 p(r^2), or -1 over that, with the places that r^2, the sum and the quotient lose. */
FLOATS_INLINE fnzi_row_floats floats_near_tan(fnzi_row_floats size) {
  fnzi_row_ints quarters;
  fnzi_row_floats lost, r = floats_reduced(size, &quarters, &lost), square = r * r;
  fnzi_row_floats sum = FLOATS_STEP(square, floats_all(4.4637979e-3f), -8.44467722e-5f);
  sum = FLOATS_STEP(sum, square, 1.09701632e-2f);
  sum = FLOATS_STEP(sum, square, 2.12315451e-2f);
  sum = FLOATS_STEP(sum, square, 5.40694781e-2f);
  sum = FLOATS_STEP(sum, square, 0.133325815f);
  sum = FLOATS_STEP(sum, square, 0.333333522f);
  fnzi_row_floats cube = square * r, rough = floats_fused(cube, sum, r);
  fnzi_row_floats more = floats_fused(floats_fused(r, r, -square) * r, floats_all(0.5f), lost);
  sum = floats_fused(cube, sum, floats_fused(lost * rough, rough, more));
  fnzi_row_floats tangent = r + sum, inverse = -1.0f / tangent;
  fnzi_row_floats lacks = FLOATS_STEP(inverse, tangent, 1.0f);
  lacks = floats_fused(inverse, (r - tangent) + sum, lacks);
  inverse = floats_fused(inverse, lacks, inverse);
  return floats_choose((quarters & 1) == 0, tangent, inverse);
}

FLOATS_INLINE fnzi_row_doubles doubles_sin(fnzi_row_doubles x) {
  fnzi_row_doubles sine, cosine;
  doubles_sine_cosine(x, &sine, &cosine);
  return sine;
}
FLOATS_INLINE fnzi_row_doubles doubles_cos(fnzi_row_doubles x) {
  fnzi_row_doubles sine, cosine;
  doubles_sine_cosine(x, &sine, &cosine);
  return cosine;
}
FLOATS_INLINE fnzi_row_doubles doubles_tan(fnzi_row_doubles x) {
  fnzi_row_doubles sine, cosine;
  doubles_sine_cosine(x, &sine, &cosine);
  return sine / cosine;
}

FLOATS_INLINE bool floats_has(fnzi_row_ints c) {
#if FNZI_ISA == 4
  return _mm512_test_epi32_mask((__m512i)c, (__m512i)c) != 0;
#elif FNZI_ISA == 3
  return !_mm256_testz_si256((__m256i)c, (__m256i)c);
#else
  return (c[0] | c[1] | c[2] | c[3]) != 0;
#endif
}

/* Turns of large angles need more places of a right angle: up to 2^17 floats have them, up to 2^30
 * doubles. */
#define FLOATS_PERIODIC(name, is_odd)                                                              \
  static __attribute__((noinline, unused)) fnzi_row_floats floats_large_##name(                    \
      fnzi_row_floats x, fnzi_row_ints is_large, fnzi_row_floats near) {                           \
    fnzi_row_floats far = FLOATS_BY_DOUBLES(doubles_##name, x);                                    \
    for (int i = 0; i < FNZI_ROW_FLOATS; i++)                                                      \
      if (!(fabsf(x[i]) <= 0x1p30f))                                                               \
        far[i] = (float)name((double)x[i]);                                                        \
    return floats_choose(is_large, far, near);                                                     \
  }                                                                                                \
  FLOATS_INLINE fnzi_row_floats fnzi_row_floats_##name(fnzi_row_floats x) {                        \
    fnzi_row_ints sign = (fnzi_row_ints)x & INT32_MIN, size = (fnzi_row_ints)x ^ sign;             \
    fnzi_row_ints is_large = size > 0x48000000; /* 2^17 */                                         \
    fnzi_row_floats near = floats_near_##name((fnzi_row_floats)size);                              \
    if (is_odd)                                                                                    \
      near = (fnzi_row_floats)((fnzi_row_ints)near ^ sign);                                        \
    return floats_has(is_large) ? floats_large_##name(x, is_large, near) : near;                   \
  }
FLOATS_PERIODIC(sin, true)
FLOATS_PERIODIC(cos, false)
FLOATS_PERIODIC(tan, true)

#undef FLOATS_PERIODIC
#undef FLOATS_BY_DOUBLES
#undef FLOATS_JOIN
#undef FLOATS_HALF
#undef DOUBLES_STEP
#undef FLOATS_STEP
#undef FLOATS_INLINE
#endif
