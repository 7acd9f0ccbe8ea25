/* random.h - how random kernels draw, from the generator of the context, in the order in which
 * eager's loop meets the elements: of mt19937 numbers one after the other, on one thread, so that
 * they are the same on any number of them; of Philox each block of numbers by itself
 * (random_values.h). */
#ifndef FNZI_CPU_RANDOM_H
#define FNZI_CPU_RANDOM_H

#include "base/random.h"
#include "kernels/core/window.h"
#include "kernels/cpu/special_reals.h"

/* Draws `count` numbers of the law's type, side by side, by mt19937. */
typedef void fnzi_cpu_draw_fn(const void *user, fnz_generator *from, int64_t count, void *out);

/* A law, by either. */
typedef struct fnzi_cpu_law {
  fnzi_cpu_draw_fn *fill;
  const void *user;
  const char *name;    /* of random_values.h */
  double numbers[3];   /* that it has there, */
  int64_t range, base; /* and of integers */
  bool is_wide;        /* elements take 64 bits each */
  fnz_dtype held;      /* of the result, where what is drawn is rounded to it on the way */
  int64_t side;        /* elements that a thread takes side by side; 0: one */
} fnzi_cpu_law;

/* Fills `out`, row-major elements of `dtype` with the sizes of `order`, in the order of its
 * strides. For complex elements the parts are drawn. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_draw(fnzi_krn_call *call, const fnz_geometry *order,
                                        fnz_dtype dtype, void *out, const fnzi_cpu_law *law);
/* The same for result k, converted from `dtype` to the result's dtype. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_draw_result(fnzi_krn_call *call, size_t k, fnz_dtype dtype,
                                               const fnzi_cpu_law *law);
/* The row-major mask of a fused dropout for elements of the dtype: 1 with the probability p. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_draw_kept(fnzi_krn_call *call, const fnz_geometry *order,
                                             fnz_dtype dtype, double p, unsigned char *out);
/* The law -log(u) / rate as f32 of doubles, or doubles. */
typedef struct fnzi_cpu_exponential {
  double rate;
  bool is_double;
} fnzi_cpu_exponential;
fnzi_cpu_law fnzi_cpu_exponential_law(const fnzi_cpu_exponential *law);

/* --- random_philox.c ------------------------------------------------------------------------- */
/* Threads of the generator that is drawn from; 0: it is none of Philox. ARGUMENT without one. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_threads_drawing(const fnzi_krn_call *call, int64_t *out);
/* `count` elements of a law side by side, by Philox. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_draw_philox(fnzi_krn_call *call, fnz_dtype dtype, int64_t count,
                                               void *out, const fnzi_cpu_law *law);
/* A number that is to be a probability: BOUNDS. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_probability(const fnzi_krn_call *call, const char *name,
                                               double p);
/* 1 where a uniform number is at most the probability that the element has, of row-major reals; a
 * probability that is none is refused. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_draw_own(fnzi_krn_call *call, int64_t count,
                                            const fnzi_cpu_reals *p, unsigned char *out);
/* Dropout of row-major elements by a mask (random_values.h, which explains `numbers`). */
typedef struct fnzi_cpu_masking {
  fnzi_cpu_reals from;
  const unsigned char *mask; /* NULL: nothing is kept */
  fnzi_cpu_reals_out to;
  int64_t count;
  fnz_dtype held;
  bool shifts;
  double numbers[4];
} fnzi_cpu_masking;
FNZ_MUST_CHECK fnz_status fnzi_cpu_mask_reals(fnzi_krn_call *call, const fnzi_cpu_masking *m);
/* Row-major normals times deviations, plus means; of the reals that are absent there is one number
 * for all. In place. A deviation below 0 is refused, before anything is drawn. */
typedef struct fnzi_cpu_moving {
  fnzi_cpu_reals_out normals;
  fnzi_cpu_reals deviations, means;
  double mean;
  int64_t count;
  fnz_dtype held;
} fnzi_cpu_moving;
FNZ_MUST_CHECK fnz_status fnzi_cpu_check_deviations(fnzi_krn_call *call, const fnzi_cpu_moving *m);
FNZ_MUST_CHECK fnz_status fnzi_cpu_move_normals(fnzi_krn_call *call, const fnzi_cpu_moving *m);
/* Uniform floats, row-major, as multinomial draws samples of rows with replacement. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_draw_rows(fnzi_krn_call *call, int64_t rows, int64_t samples,
                                             float *out);
/* A permutation of the numbers below count. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_permute_philox(fnzi_krn_call *call, int64_t count, int64_t *out);

#endif
