/* fourier_passes.c - the passes of Fourier transforms, compiled for each instruction set.
 *
 * A pass of radix r over points of stride s (Stockham's, decimation in frequency): from the n
 * points that are left, p + m j for j below r, it computes the r sums and stores them at r p + k,
 * times root p k. The result is in order without a reversal, and each run is contiguous. */
#include "kernels/core/isa.h"
#include "kernels/cpu/fourier.h"

#if FNZI_ISA == 4
enum { WIDTH = 8 };
#elif FNZI_ISA == 3
enum { WIDTH = 4 };
#else
enum { WIDTH = 2 };
#endif
typedef double vec __attribute__((vector_size(8 * WIDTH)));

#define INLINE static inline __attribute__((always_inline))

/* Points that are multiplied by the same set of roots. */
typedef struct group {
  fnzi_cpu_fft_block from, to;
  int64_t first, apart, target, run;
  const double *roots;
  int64_t root_step; /* sum k is turned by root k root_step */
} group;

INLINE group group_at(const fnzi_cpu_fft_pass *pass, int64_t radix, int64_t p,
                      fnzi_cpu_fft_block from, fnzi_cpu_fft_block to) {
  return (group){from,
                 to,
                 pass->run * p,
                 pass->run * pass->places,
                 pass->run * radix * p,
                 pass->run,
                 pass->roots.data,
                 p * pass->roots.step};
}

#define REAL     vec
#define NAMED(x) x##_vec
#include "kernels/cpu/fourier_radix.h"
#undef REAL
#undef NAMED

#define REAL     double
#define NAMED(x) x##_one
#include "kernels/cpu/fourier_radix.h"
#undef REAL
#undef NAMED

/* Runs are whole vectors in a block of many lines, and in one of a single line after some passes.
 */
#define PASS(radix)                                                                                \
  static void pass_##radix(const fnzi_cpu_fft_pass *pass, fnzi_cpu_fft_block from,                 \
                           fnzi_cpu_fft_block to) {                                                \
    if (pass->run % FNZI_FFT_LANES == 0)                                                           \
      radix_##radix##_vec(pass, from, to);                                                         \
    else                                                                                           \
      radix_##radix##_one(pass, from, to);                                                         \
  }
PASS(2)
PASS(3)
PASS(4)
PASS(5)

static void times(const double *numbers, int64_t count, int64_t lanes, fnzi_cpu_fft_block from,
                  fnzi_cpu_fft_block to) {
  if (lanes % FNZI_FFT_LANES == 0)
    times_vec(numbers, count, lanes, from, to);
  else
    times_one(numbers, count, lanes, from, to);
}

const fnzi_cpu_fft_passes FNZI_ISA_NAME(fnzi_cpu_fft_passes_of) = {
    {NULL, NULL, pass_2, pass_3, pass_4, pass_5}, times};
