/* fourier_plan.c - how lines of so many points are transformed, and doing it. */
#include "kernels/cpu/fourier.h"
#include "kernels/core/isa.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* --- Roots of unity ---------------------------------------------------------------------- */
/* Root k < count from the first octant, so that mirrored ones are the same numbers. Earlier roots
 * are in the table already. */
static void find_root(int64_t k, int64_t count, double *roots) {
  int64_t octant = 8 * k / count, eighths = 8 * k - octant * count;
  double cosine, sine;
  if (octant % 2)
    eighths = count - eighths;
  if (eighths % 8 == 0 && eighths / 8 < k) {
    cosine = roots[eighths / 4], sine = -roots[eighths / 4 + 1];
  } else {
    double angle = pi / 4 * ((double)eighths / (double)count);
    cosine = cos(angle), sine = sin(angle);
  }
  bool is_swapped = (octant + 1) / 2 % 2, is_left = octant >= 2 && octant < 6;
  double across = is_swapped ? sine : cosine, up = is_swapped ? cosine : sine;
  roots[2 * k] = is_left ? -across : across;
  roots[2 * k + 1] = octant >= 4 ? up : -up;
}

fnz_status fnzi_cpu_fft_roots_make(fnzi_krn_call *call, int64_t count, const double **out) {
  void *room;
  FNZ_TRY(fnzi_krn_scratch_take(call, count, 2 * sizeof(double), &room));
  double *roots = room;
  for (int64_t k = 0; 2 * k <= count; k++)
    find_root(k, count, roots);
  for (int64_t k = count / 2 + 1; k < count; k++) {
    roots[2 * k] = roots[2 * (count - k)];
    roots[2 * k + 1] = -roots[2 * (count - k) + 1];
  }
  *out = roots;
  return FNZ_OK;
}

/* --- Plans ------------------------------------------------------------------------------- */
static void add_pass(fnzi_cpu_fft_plan *plan, int64_t radix) {
  if (plan)
    plan->radices[plan->npasses++] = (uint8_t)radix;
}

/* The part of n without factors up to `most`; the factors are added to the plan, if there is one:
 * powers of two by eights as far as there stays no single two. */
static int64_t take_factors(int64_t n, int64_t most, fnzi_cpu_fft_plan *plan) {
  for (; n % 8 == 0 && n % 32 != 16; n /= 8)
    add_pass(plan, 8);
  for (; n % 4 == 0; n /= 4)
    add_pass(plan, 4);
  for (; n % 2 == 0; n /= 2)
    add_pass(plan, 2);
  for (int64_t radix = 3; radix <= most && n > 1; radix += 2)
    for (; n % radix == 0; n /= radix)
      add_pass(plan, radix);
  return n;
}

/* The roots that the last pass needs, one behind the other. */
static fnz_status make_twiddles(fnzi_krn_call *call, fnzi_cpu_fft_plan *plan) {
  int64_t count = plan->points / 8, step = plan->roots.step;
  void *room;
  FNZ_TRY(fnzi_krn_scratch_take(call, count, 14 * sizeof(double), &room));
  double *twiddles = room;
  for (int64_t q = 1; q < 8; q++, twiddles += 2 * count)
    for (int64_t k = 0; k < count; k++) {
      twiddles[k] = plan->roots.data[2 * q * k * step];
      twiddles[count + k] = plan->roots.data[2 * q * k * step + 1];
    }
  plan->twiddles = room;
  return FNZ_OK;
}

/* exp(-pi i k k / n) for k below n. */
static fnz_status make_chirp(fnzi_krn_call *call, int64_t n, const double **out) {
  const double *roots;
  void *room;
  FNZ_TRY(fnzi_cpu_fft_roots_make(call, 2 * n, &roots));
  FNZ_TRY(fnzi_krn_scratch_take(call, n, 2 * sizeof(double), &room));
  double *chirp = room;
  for (int64_t k = 0, square = 0; k < n; square = (square + 2 * k + 1) % (2 * n), k++)
    memcpy(chirp + 2 * k, roots + 2 * square, 2 * sizeof(double));
  *out = chirp;
  return FNZ_OK;
}

static void run_passes(const fnzi_cpu_fft_plan *plan, int64_t lanes, fnzi_cpu_fft_block *x,
                       fnzi_cpu_fft_block *y);

/* The spectrum of the chirp's conjugate, around 0 in both directions; divided by the points, for
 * the way back. */
static fnz_status make_answer(fnzi_krn_call *call, fnzi_cpu_fft_plan *plan) {
  void *room, *numbers;
  FNZ_TRY(fnzi_krn_scratch_take(call, plan->points, 4 * sizeof(double), &room));
  FNZ_TRY(fnzi_krn_scratch_take(call, plan->points, 2 * sizeof(double), &numbers));
  double *data = room, *answer = numbers;
  fnzi_cpu_fft_block x = {data, data + plan->points},
                     y = {data + 2 * plan->points, data + 3 * plan->points};
  memset(data, 0, (size_t)plan->points * 2 * sizeof(double));
  for (int64_t k = 0; k < plan->n; k++) {
    int64_t mirrored = k ? plan->points - k : 0;
    x.re[k] = x.re[mirrored] = plan->chirp[2 * k];
    x.im[k] = x.im[mirrored] = -plan->chirp[2 * k + 1];
  }
  run_passes(plan, 1, &x, &y);
  for (int64_t k = 0; k < plan->points; k++) {
    answer[2 * k] = x.re[k] / (double)plan->points;
    answer[2 * k + 1] = x.im[k] / (double)plan->points;
  }
  plan->answer = answer;
  return FNZ_OK;
}

const fnzi_cpu_fft_passes *fnzi_cpu_fft_passes_for(fnzi_krn_isa isa) {
  static const fnzi_cpu_fft_passes *const tables[FNZI_ISAS] = {
      FNZI_ISA_TABLES(&fnzi_cpu_fft_passes_of)};
  return tables[isa];
}

const fnzi_cpu_fft_moves *fnzi_cpu_fft_moves_for(fnzi_krn_isa isa) {
  static const fnzi_cpu_fft_moves *const tables[FNZI_ISAS] = {
      FNZI_ISA_TABLES(&fnzi_cpu_fft_moves_of)};
  return tables[isa];
}

fnz_status fnzi_cpu_fft_plan_make(fnzi_krn_call *call, int64_t n, fnzi_cpu_fft_roots roots,
                                  fnzi_cpu_fft_plan *out) {
  *out = (fnzi_cpu_fft_plan){.n = n,
                             .points = n,
                             .roots = roots,
                             .passes = fnzi_cpu_fft_passes_for(fnzi_krn_isa_best()),
                             .moves = fnzi_cpu_fft_moves_for(fnzi_krn_isa_best())};
  bool is_smooth = take_factors(n, FNZI_FFT_MOST_RADIX, NULL) == 1;
  if (!is_smooth) /* the next count of points that quick passes transform */
    for (out->points = 2 * n - 1; take_factors(out->points, 5, NULL) != 1;)
      out->points++;
  take_factors(out->points % 8 ? out->points : out->points / 8, FNZI_FFT_MOST_RADIX, out);
  if (!is_smooth || !roots.data) {
    out->roots.step = 1;
    FNZ_TRY(fnzi_cpu_fft_roots_make(call, out->points, &out->roots.data));
  }
  if (out->points % 8 == 0)
    FNZ_TRY(make_twiddles(call, out));
  if (is_smooth)
    return FNZ_OK;
  FNZ_TRY(make_chirp(call, n, &out->chirp));
  return make_answer(call, out);
}

/* --- Transforms -------------------------------------------------------------------------- */
static void fourier_plan_exchange(fnzi_cpu_fft_block *x, fnzi_cpu_fft_block *y) {
  fnzi_cpu_fft_block read = *x;
  *x = *y;
  *y = read;
}

static void run_passes(const fnzi_cpu_fft_plan *plan, int64_t lanes, fnzi_cpu_fft_block *x,
                       fnzi_cpu_fft_block *y) {
  int64_t stride = plan->twiddles ? 8 : 1, left = plan->points / stride;
  for (int i = 0; i < plan->npasses; i++) {
    int radix = plan->radices[i];
    fnzi_cpu_fft_pass pass = {.places = left / radix,
                              .run = stride * lanes,
                              .roots = {plan->roots.data, plan->roots.step * stride},
                              .radix = radix,
                              .around = plan->points / radix * plan->roots.step};
    if (radix <= 5 || radix == 8)
      plan->passes->by_radix[radix](&pass, *x, *y);
    else
      plan->passes->by_any(&pass, *x, *y);
    fourier_plan_exchange(x, y);
    stride *= radix;
    left /= radix;
  }
  if (!plan->twiddles)
    return;
  plan->passes->join_eight(&(fnzi_cpu_fft_join){plan->points / 8, plan->twiddles, *x, *y}, lanes);
  fourier_plan_exchange(x, y);
}

static fnzi_cpu_fft_block exchanged(fnzi_cpu_fft_block b) {
  return (fnzi_cpu_fft_block){b.im, b.re};
}

/* As i j = (i i + j j - (i - j) (i - j)) / 2, a transform is a convolution with a chirp, between
 * two products with it. */
void fnzi_cpu_fft_lines(const fnzi_cpu_fft_plan *plan, int64_t lanes, fnzi_cpu_fft_block *x,
                        fnzi_cpu_fft_block *y) {
  size_t rest = (size_t)((plan->points - plan->n) * lanes) * sizeof(double);
  if (!plan->chirp) {
    run_passes(plan, lanes, x, y);
    return;
  }
  plan->passes->times(plan->chirp, plan->n, lanes, *x, *x);
  memset(x->re + plan->n * lanes, 0, rest);
  memset(x->im + plan->n * lanes, 0, rest);
  run_passes(plan, lanes, x, y);
  plan->passes->times(plan->answer, plan->points, lanes, *x, *x);
  *x = exchanged(*x), *y = exchanged(*y);
  run_passes(plan, lanes, x, y);
  *x = exchanged(*x), *y = exchanged(*y);
  plan->passes->times(plan->chirp, plan->n, lanes, *x, *x);
}
