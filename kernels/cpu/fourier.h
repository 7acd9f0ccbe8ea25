/* fourier.h - Fourier transforms of lines that lie side by side in doubles.
 *
 * A block has `lanes` lines of n points: point k of line l is at k * lanes + l, real and imaginary
 * parts apart. One of FNZI_FFT_LANES fills vectors from the first pass on, one of a single line
 * too if eight divides n, else from the pass on whose runs are long enough; a line has the same
 * bits in both. */
#ifndef FNZI_CPU_FOURIER_H
#define FNZI_CPU_FOURIER_H

#include "kernels/core/isa.h"
#include "kernels/cpu/cpu.h"

enum { FNZI_FFT_LANES = 8, FNZI_FFT_MOST_PASSES = 64, FNZI_FFT_MOST_RADIX = 97 };

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
  int64_t radix, around; /* around: from one root of the radix to the next */
} fnzi_cpu_fft_pass;
/* The last pass takes eight transforms of `count` points each, which lie side by side: of every
 * eighth point of a line. So a single line fills vectors from the first pass on. */
typedef struct fnzi_cpu_fft_join {
  int64_t count;
  const double
      *twiddles; /* for each transform but the first, `count` real parts and imaginary ones */
  fnzi_cpu_fft_block from, to;
} fnzi_cpu_fft_join;
typedef void fnzi_cpu_fft_pass_fn(const fnzi_cpu_fft_pass *pass, fnzi_cpu_fft_block from,
                                  fnzi_cpu_fft_block to);
typedef struct fnzi_cpu_fft_passes {
  fnzi_cpu_fft_pass_fn *by_radix[9]; /* 2, 3, 4, 5 and 8 */
  fnzi_cpu_fft_pass_fn *by_any;      /* an odd number */
  void (*join_eight)(const fnzi_cpu_fft_join *join, int64_t lanes);
  /* Point k of each line times number k; `numbers` are pairs. */
  void (*times)(const double *numbers, int64_t count, int64_t lanes, fnzi_cpu_fft_block from,
                fnzi_cpu_fft_block to);
  /* Real lines of `count` points as complex ones of half the length. Even and odd places went as
   * real and imaginary parts: their transforms come apart by symmetry, and join to half of the
   * whole one. And the way back, where roots are the other way round. */
  void (*join)(const double *roots, int64_t count, int64_t lanes, fnzi_cpu_fft_block from,
               fnzi_cpu_fft_block to);
  void (*split)(const double *roots, int64_t count, int64_t lanes, fnzi_cpu_fft_block from,
                fnzi_cpu_fft_block to);
} fnzi_cpu_fft_passes;
extern const fnzi_cpu_fft_passes fnzi_cpu_fft_passes_of, fnzi_cpu_fft_passes_of_v3,
    fnzi_cpu_fft_passes_of_v4;
/* All sets have the same bits. */
const fnzi_cpu_fft_passes *fnzi_cpu_fft_passes_for(fnzi_krn_isa isa);

/* --- fourier_moves.c
 * ------------------------------------------------------------------------------ */
/* Points of the lines of a block in memory. Elements of the imaginary parts lie `behind` the real
 * ones: the imaginary part, or the next real number. */
typedef struct fnzi_cpu_fft_track {
  const int64_t *starts; /* of each lane */
  int64_t step, behind, count;
  int64_t used;  /* lanes that are written */
  double re, im; /* times which they are written */
} fnzi_cpu_fft_track;
typedef void fnzi_cpu_fft_gather_fn(const fnzi_cpu_fft_track *t, int64_t lanes, const void *memory,
                                    fnzi_cpu_fft_block to);
typedef void fnzi_cpu_fft_scatter_fn(const fnzi_cpu_fft_track *t, int64_t lanes,
                                     fnzi_cpu_fft_block from, void *memory, int64_t offset);
typedef struct fnzi_cpu_fft_moves { /* of doubles, and of floats */
  fnzi_cpu_fft_gather_fn *gather[2];
  fnzi_cpu_fft_scatter_fn *scatter[2];
} fnzi_cpu_fft_moves;
extern const fnzi_cpu_fft_moves fnzi_cpu_fft_moves_of, fnzi_cpu_fft_moves_of_v3,
    fnzi_cpu_fft_moves_of_v4;
const fnzi_cpu_fft_moves *fnzi_cpu_fft_moves_for(fnzi_krn_isa isa);

/* --- fourier_plan.c
 * ------------------------------------------------------------------------------- */
/* How lines of n points are transformed: by passes, or, where n has prime factors above
 * FNZI_FFT_MOST_RADIX, by a convolution that passes of `points` points compute (Bluestein's). */
typedef struct fnzi_cpu_fft_plan {
  int64_t n, points;
  int npasses;
  uint8_t radices[FNZI_FFT_MOST_PASSES];
  fnzi_cpu_fft_roots roots; /* of `points` */
  const double *twiddles;   /* for the last pass; NULL where eight does not divide `points` */
  const double *chirp;      /* n numbers; NULL where passes do it */
  const double
      *answer; /* `points` numbers: the spectrum that the chirped line's is multiplied by */
  const fnzi_cpu_fft_passes *passes;
  const fnzi_cpu_fft_moves *moves;
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
