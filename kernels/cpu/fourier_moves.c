/* fourier_moves.c - how points of lines come from memory and go back to it, compiled for each
 * instruction set. */
#include "kernels/cpu/fourier.h"
#include "kernels/cpu/fourier_vec.h"

typedef fnzi_cpu_fft_block block;
typedef fnzi_cpu_fft_track track;

INLINE void store(block to, int64_t at, vec re, vec im) {
  memcpy(to.re + at, &re, sizeof re);
  memcpy(to.im + at, &im, sizeof im);
}

INLINE void load_scaled(const track *t, block from, int64_t at, vec *re, vec *im) {
  memcpy(re, from.re + at, sizeof *re);
  memcpy(im, from.im + at, sizeof *im);
  *re *= t->re;
  *im *= t->im;
}

INLINE vec back(vec v) {
  return __builtin_shufflevector(v, v, FNZI_BACK);
}

/* How far apart the lanes begin, where they are at equal distances; else 0. */
static int64_t lanes_apart(const track *t) {
  int64_t apart = t->starts[1] - t->starts[0];
  for (int q = 2; q < FNZI_FFT_LANES; q++)
    if (t->starts[q] - t->starts[q - 1] != apart)
      return 0;
  return apart;
}

#define T        float
#define NAMED(x) x##_float
#include "kernels/cpu/fourier_moves_values.h"
#undef T
#undef NAMED

#define T        double
#define NAMED(x) x##_double
#include "kernels/cpu/fourier_moves_values.h"
#undef T
#undef NAMED

const fnzi_cpu_fft_moves FNZI_ISA_NAME(fnzi_cpu_fft_moves_of) = {{gather_double, gather_float},
                                                                 {scatter_double, scatter_float}};
