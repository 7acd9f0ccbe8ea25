/* fourier.h - Fourier transforms of lines that lie side by side in doubles.
 *
 * A block has `lanes` lines of n points: point k of line l is at k * lanes + l, real and imaginary
 * parts apart. One of FNZI_FFT_LANES fills vectors from the first pass on, one of a single line
 * from the pass on whose runs are long enough; a line has the same bits in both. */
#ifndef FNZI_CPU_FOURIER_H
#define FNZI_CPU_FOURIER_H

#include "kernels/core/isa.h"
#include "kernels/cpu/cpu.h"

enum { FNZI_FFT_LANES = 8, FNZI_FFT_MOST_PASSES = 64 };

typedef struct fnzi_cpu_fft_block {
  double *re, *im;
} fnzi_cpu_fft_block;

/* Roots of unity: root k is exp(-2 pi i k / count), real part first. */
typedef struct fnzi_cpu_fft_roots {
  const double *data;
  int64_t step; /* roots from one that is used to the next */
} fnzi_cpu_fft_roots;

/* --- fourier_passes.c
 * ----------------------------------------------------------------------------- */
/* A pass takes `radix` points that lie `places * run` apart and puts what they give side by side,
 * turned for the passes behind it. */
typedef struct fnzi_cpu_fft_pass {
  int64_t places; /* groups that differ in their roots */
  int64_t run;    /* doubles that share them */
  fnzi_cpu_fft_roots roots;
} fnzi_cpu_fft_pass;
typedef void fnzi_cpu_fft_pass_fn(const fnzi_cpu_fft_pass *pass, fnzi_cpu_fft_block from,
                                  fnzi_cpu_fft_block to);
typedef struct fnzi_cpu_fft_passes {
  fnzi_cpu_fft_pass_fn *by_radix[6]; /* 2, 3, 4 and 5 */
  /* Point k of each line times number k; `numbers` are pairs. */
  void (*times)(const double *numbers, int64_t count, int64_t lanes, fnzi_cpu_fft_block from,
                fnzi_cpu_fft_block to);
} fnzi_cpu_fft_passes;
extern const fnzi_cpu_fft_passes fnzi_cpu_fft_passes_of, fnzi_cpu_fft_passes_of_v3,
    fnzi_cpu_fft_passes_of_v4;
/* All sets have the same bits. */
const fnzi_cpu_fft_passes *fnzi_cpu_fft_passes_for(fnzi_krn_isa isa);

/* --- fourier_plan.c
 * ------------------------------------------------------------------------------- */
/* How lines of n points are transformed: by passes, or, where n has prime factors above 5, by a
 * convolution that passes of `points` points compute (Bluestein's). */
typedef struct fnzi_cpu_fft_plan {
  int64_t n, points;
  int npasses;
  uint8_t radices[FNZI_FFT_MOST_PASSES];
  fnzi_cpu_fft_roots roots; /* of `points` */
  const double *chirp;      /* n numbers; NULL where passes do it */
  const double
      *answer; /* `points` numbers: the spectrum that the chirped line's is multiplied by */
  const fnzi_cpu_fft_passes *passes;
} fnzi_cpu_fft_plan;
/* In memory of the call. `roots` of n points, every step-th of a table, or data NULL. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_fft_plan_make(fnzi_krn_call *call, int64_t n,
                                                 fnzi_cpu_fft_roots roots, fnzi_cpu_fft_plan *out);
FNZ_MUST_CHECK fnz_status fnzi_cpu_fft_roots_make(fnzi_krn_call *call, int64_t count,
                                                  const double **out);
/* Transforms the lines of *x, forward and without a factor; the result is in *x, which has changed
 * places with *y. With re and im of a block exchanged before and after it goes backward. */
void fnzi_cpu_fft_lines(const fnzi_cpu_fft_plan *plan, int64_t lanes, fnzi_cpu_fft_block *x,
                        fnzi_cpu_fft_block *y);

#endif
