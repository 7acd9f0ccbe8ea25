/* fourier_passes.c - the passes of Fourier transforms, compiled for each instruction set.
 *
 * A pass of radix r over points of stride s (Stockham's, decimation in frequency): from the n
 * points that are left, p + m j for j below r, it computes the r sums and stores them at r p + k,
 * times root p k. The result is in order without a reversal, and each run is contiguous. */
#include "kernels/cpu/fourier.h"
#include "kernels/cpu/fourier_vec.h"

/* Points that are multiplied by the same set of roots. */
typedef struct group {
  fnzi_cpu_fft_block from, to;
  int64_t first, apart, target, run;
  const double *roots;
  int64_t root_step; /* sum k is multiplied by root k root_step */
  int64_t radix, around;
} group;

INLINE group group_at(const fnzi_cpu_fft_pass *pass, int64_t p, fnzi_cpu_fft_block from,
                      fnzi_cpu_fft_block to) {
  return (group){.from = from,
                 .to = to,
                 .first = pass->run * p,
                 .apart = pass->run * pass->places,
                 .target = pass->run * pass->radix * p,
                 .run = pass->run,
                 .roots = pass->roots.data,
                 .root_step = p * pass->roots.step,
                 .radix = pass->radix,
                 .around = pass->around};
}

/* Real lines that go as complex ones of half the length. */
typedef struct halves {
  const double *roots;
  int64_t half, lanes;
  fnzi_cpu_fft_block from, to;
} halves;

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
PASS(8)
PASS(any)

/* The same for a single line: squares of its points are transposed, and the last two overlap. */
INLINE void join_square(const fnzi_cpu_fft_join *j, int64_t k) {
  number_vec x[8];
  for (int first = 0; first < 8; first += WIDTH) {
    vec re[WIDTH], im[WIDTH];
    for (int i = 0; i < WIDTH; i++) {
      number_vec a = load_vec(j->from, 8 * (k + i) + first);
      re[i] = a.re, im[i] = a.im;
    }
    transpose(re);
    transpose(im);
    for (int i = 0; i < WIDTH; i++)
      x[first + i] = (number_vec){re[i], im[i]};
  }
  for (int64_t q = 1; q < 8; q++) {
    vec re, im;
    memcpy(&re, j->twiddles + 2 * (q - 1) * j->count + k, sizeof re);
    memcpy(&im, j->twiddles + (2 * q - 1) * j->count + k, sizeof im);
    x[q] = (number_vec){x[q].re * re - x[q].im * im, x[q].re * im + x[q].im * re};
  }
  eight_vec(x);
  for (int64_t q = 0; q < 8; q++)
    store_vec(j->to, k + q * j->count, x[q]);
}

static void join_eight(const fnzi_cpu_fft_join *j, int64_t lanes) {
  int64_t k = 1;
  if (lanes % FNZI_FFT_LANES == 0) {
    for (k = 0; k < j->count; k++)
      for (int64_t lane = 0; lane < lanes; lane += WIDTH)
        joined_8_vec(j, k, lanes, lane);
    return;
  }
  joined_8_one(j, 0, 1, 0);
  if (j->count <= WIDTH)
    for (; k < j->count; k++)
      joined_8_one(j, k, 1, 0);
  for (; k < j->count; k += WIDTH)
    join_square(j, k + WIDTH < j->count ? k : j->count - WIDTH);
}

static void fourier_passes_times(const double *numbers, int64_t count, int64_t lanes,
                                 fnzi_cpu_fft_block from, fnzi_cpu_fft_block to) {
  if (lanes % FNZI_FFT_LANES == 0)
    times_vec(numbers, count, lanes, from, to);
  else
    times_one(numbers, count, lanes, from, to);
}

/* Points of a single line, from the last one back. */
INLINE number_vec load_back(fnzi_cpu_fft_block b, int64_t last) {
  number_vec a = load_vec(b, last - WIDTH + 1);
  return (number_vec){__builtin_shufflevector(a.re, a.re, FNZI_BACK),
                      __builtin_shufflevector(a.im, a.im, FNZI_BACK)};
}

INLINE number_vec load_roots(const double *at) {
  vec a, b;
  memcpy(&a, at, sizeof a);
  memcpy(&b, at + WIDTH, sizeof b);
  return (number_vec){__builtin_shufflevector(a, b, FNZI_EVENS),
                      __builtin_shufflevector(a, b, FNZI_ODDS)};
}

#define HALVES(form, made, last)                                                                   \
  static void form##_halves(const double *roots, int64_t count, int64_t lanes,                     \
                            fnzi_cpu_fft_block from, fnzi_cpu_fft_block to) {                      \
    const halves h = {roots, count / 2, lanes, from, to};                                          \
    if (lanes % FNZI_FFT_LANES == 0) {                                                             \
      form##_vec(&h, 0, last);                                                                     \
      return;                                                                                      \
    }                                                                                              \
    form##_one(&h, 0, h.half > WIDTH ? 1 : last);                                                  \
    for (int64_t next = 1; h.half > WIDTH && next < h.half; next += WIDTH) {                       \
      int64_t k = next + WIDTH < h.half ? next : h.half - WIDTH;                                   \
      number_vec root = load_roots(roots + 2 * k);                                                 \
      store_vec(to, k,                                                                             \
                made##_vec(load_vec(from, k), load_back(from, h.half - k), root.re, root.im));     \
    }                                                                                              \
    if (h.half > WIDTH)                                                                            \
      form##_one(&h, h.half, last);                                                                \
  }
HALVES(join, joined, h.half + 1)
HALVES(split, parted, h.half)

const fnzi_cpu_fft_passes FNZI_ISA_NAME(fnzi_cpu_fft_passes_of) = {
    .by_radix = {NULL, NULL, pass_2, pass_3, pass_4, pass_5, NULL, NULL, pass_8},
    .by_any = pass_any,
    .join_eight = join_eight,
    .times = fourier_passes_times,
    .join = join_halves,
    .split = split_halves};
