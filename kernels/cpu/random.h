/* random.h - how random kernels draw: numbers one after the other from the generator of the
 * context, in the order in which eager's loop meets the elements. On one thread, so that they are
 * the same on any number of them. */
#ifndef FNZI_CPU_RANDOM_H
#define FNZI_CPU_RANDOM_H

#include "base/random.h"
#include "kernels/core/window.h"
#include "kernels/cpu/cpu.h"

/* Draws `count` numbers of the law's type, side by side. */
typedef void fnzi_cpu_draw_fn(const void *law, fnz_generator *from, int64_t count, void *out);

/* Fills `out`, row-major elements of `dtype` with the sizes of `order`, in the order of its
 * strides. Of complex elements `fill` draws the parts. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_draw(fnzi_krn_call *call, const fnz_geometry *order,
                                        fnz_dtype dtype, void *out, fnzi_cpu_draw_fn *fill,
                                        const void *law);
/* The same for result k, converted from `dtype` to what the result is of. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_draw_result(fnzi_krn_call *call, size_t k, fnz_dtype dtype,
                                               fnzi_cpu_draw_fn *fill, const void *law);
/* Row-major masks in scratch memory: 1 with the probability p. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_draw_mask(fnzi_krn_call *call, const fnz_geometry *order,
                                             double p, const unsigned char **out);
/* As f32 of doubles, or doubles, of the law -log(1 - u) / rate. */
typedef struct fnzi_cpu_exponential {
  double rate;
  bool is_double;
} fnzi_cpu_exponential;
fnzi_cpu_draw_fn fnzi_cpu_draw_exponential;

/* A number that is to be a probability: BOUNDS. */
FNZ_MUST_CHECK fnz_status fnzi_cpu_probability(const fnzi_krn_call *call, const char *name,
                                               double p);

#endif
