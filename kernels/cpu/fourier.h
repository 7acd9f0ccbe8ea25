/* fourier.h - Fourier transforms along one dimension, of several lines side by side in a vector:
 * the plan of a length, and the passes of it, which are compiled for each instruction set. */
#ifndef FNZI_CPU_FOURIER_H
#define FNZI_CPU_FOURIER_H

#include "kernels/core/isa.h"

#include <stddef.h>

enum { FNZI_FOURIER_LINES = 4, FNZI_FOURIER_FACTORS = 64, FNZI_FOURIER_MOST = 31 };

/* One place of so many lines. */
typedef double fnzi_cpu_wave_part
    __attribute__((vector_size(8 * FNZI_FOURIER_LINES), aligned(8))); /* in any memory */
typedef struct fnzi_cpu_wave {
  fnzi_cpu_wave_part re, im;
} fnzi_cpu_wave;
typedef struct fnzi_cpu_root {
  double re, im;
} fnzi_cpu_root;

/* A length with prime factors up to FNZI_FOURIER_MOST: exp(-2 pi i k / length) for each k. */
typedef struct fnzi_cpu_factors {
  size_t length, count, factors[FNZI_FOURIER_FACTORS];
  const fnzi_cpu_root *roots;
} fnzi_cpu_factors;

/* The transform of `x`, whose exponents are negative, in `x` again; `room` is as long. */
typedef void fnzi_cpu_fourier_fn(const fnzi_cpu_factors *plan, fnzi_cpu_wave *x,
                                 fnzi_cpu_wave *room);
extern fnzi_cpu_fourier_fn *const fnzi_cpu_fourier, *const fnzi_cpu_fourier_v3,
                                                        *const fnzi_cpu_fourier_v4;

#endif
