/* floats.h - exp and erf of a vector of f32, and the steps that they are made of.
 *
 * Every step is one operation of IEEE 754, and fused steps round once in each instruction set, by
 * instructions or without: so bits depend on neither the set nor the neighbours. Over all floats
 * erf is at most 1.02 units of the last place off, exp 0.91 (tests/kernels/floats_test.c). The
 * polynomials are the best of their degrees with coefficients of f32 (scripts/fit_floats.py). For
 * files that are compiled for each instruction set: all is static. */
#ifndef FNZI_ROWS_FLOATS_H
#define FNZI_ROWS_FLOATS_H

#include "kernels/core/isa.h"

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

#undef FLOATS_STEP
#undef FLOATS_INLINE
#endif
