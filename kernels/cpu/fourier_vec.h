/* fourier_vec.h - vectors of doubles for the instruction set that a file is compiled for, and how
 * two of them change elements. */
#ifndef FNZI_CPU_FOURIER_VEC_H
#define FNZI_CPU_FOURIER_VEC_H

#include "kernels/core/isa.h"

#if FNZI_ISA == 4
enum { WIDTH = 8 };
#define FNZI_EVENS 0, 2, 4, 6, 8, 10, 12, 14
#define FNZI_ODDS  1, 3, 5, 7, 9, 11, 13, 15
#define FNZI_LOWS  0, 8, 1, 9, 2, 10, 3, 11
#define FNZI_HIGHS 4, 12, 5, 13, 6, 14, 7, 15
#define FNZI_BACK  7, 6, 5, 4, 3, 2, 1, 0
#elif FNZI_ISA == 3
enum { WIDTH = 4 };
#define FNZI_EVENS 0, 2, 4, 6
#define FNZI_ODDS  1, 3, 5, 7
#define FNZI_LOWS  0, 4, 1, 5
#define FNZI_HIGHS 2, 6, 3, 7
#define FNZI_BACK  3, 2, 1, 0
#else
enum { WIDTH = 2 };
#define FNZI_EVENS 0, 2
#define FNZI_ODDS  1, 3
#define FNZI_LOWS  0, 2
#define FNZI_HIGHS 1, 3
#define FNZI_BACK  1, 0
#endif
typedef double vec __attribute__((vector_size(8 * WIDTH)));

#define INLINE static inline __attribute__((always_inline))

/* Rows at `a` and `a + apart` exchange elements. */
#define FNZI_EXCHANGE(r, apart, low, high)                                                         \
  for (int a = 0; a < WIDTH; a++)                                                                  \
    if (!(a & (apart))) {                                                                          \
      vec one = r[a], other = r[a + (apart)];                                                      \
      r[a] = __builtin_shufflevector(one, other, low);                                             \
      r[a + (apart)] = __builtin_shufflevector(one, other, high);                                  \
    }
#define FNZI_MASK(...) __VA_ARGS__

/* Element k of vector i becomes element i of vector k. */
INLINE void transpose(vec r[WIDTH]) {
#if FNZI_ISA == 4
  FNZI_EXCHANGE(r, 1, FNZI_MASK(0, 8, 2, 10, 4, 12, 6, 14), FNZI_MASK(1, 9, 3, 11, 5, 13, 7, 15))
  FNZI_EXCHANGE(r, 2, FNZI_MASK(0, 1, 8, 9, 4, 5, 12, 13), FNZI_MASK(2, 3, 10, 11, 6, 7, 14, 15))
  FNZI_EXCHANGE(r, 4, FNZI_MASK(0, 1, 2, 3, 8, 9, 10, 11), FNZI_MASK(4, 5, 6, 7, 12, 13, 14, 15))
#elif FNZI_ISA == 3
  FNZI_EXCHANGE(r, 1, FNZI_MASK(0, 4, 2, 6), FNZI_MASK(1, 5, 3, 7))
  FNZI_EXCHANGE(r, 2, FNZI_MASK(0, 1, 4, 5), FNZI_MASK(2, 3, 6, 7))
#else
  FNZI_EXCHANGE(r, 1, FNZI_MASK(0, 2), FNZI_MASK(1, 3))
#endif
}

#endif
