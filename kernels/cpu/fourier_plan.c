/* fourier_plan.c - how lines of so many points are transformed, and doing it. */
#include "kernels/cpu/fourier.h"
#include "kernels/core/isa.h"

#include <math.h>

static const double pi = 3.14159265358979323846;

/* --- Roots of unity ---------------------------------------------------------------------- */
/* Angle `eighths` / (8 count) of a circle, at most its eighth part. */
static void find_octant(int64_t eighths, int64_t count, double *cosine, double *sine) {
  double angle = pi / 4 * ((double)eighths / (double)count);
  *cosine = cos(angle);
  *sine = sin(angle);
}

/* Root k < count from the first octant, so that mirrored ones are the same numbers. Earlier roots
 * are in the table already. */
static void find_root(int64_t k, int64_t count, double *roots) {
  int64_t octant = 8 * k / count, eighths = 8 * k - octant * count;
  double cosine, sine;
  if (octant % 2)
    eighths = count - eighths;
  if (eighths % 8 == 0 && eighths / 8 < k)
    cosine = roots[eighths / 4], sine = -roots[eighths / 4 + 1];
  else
    find_octant(eighths, count, &cosine, &sine);
  bool is_swapped = (octant + 1) / 2 % 2, is_left = octant >= 2 && octant < 6;
  double across = is_swapped ? sine : cosine, up = is_swapped ? cosine : sine;
  roots[2 * k] = is_left ? -across : across;
  roots[2 * k + 1] = octant >= 4 ? up : -up;
}

fnz_status fnzi_cpu_fft_roots_make(fnzi_krn_call *call, int64_t count, const double **out) {
  void *room;
  FNZ_TRY(fnzi_krn_room_take(call, count, 2 * sizeof(double), &room));
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
/* The part of n without factors 2, 3 and 5; the factors are added to the plan, if there is one. */
static int64_t take_factors(int64_t n, fnzi_cpu_fft_plan *plan) {
  static const uint8_t radices[] = {4, 2, 3, 5};
  for (size_t i = 0; i < sizeof radices; i++)
    for (; n % radices[i] == 0; n /= radices[i])
      if (plan)
        plan->radices[plan->npasses++] = radices[i];
  return n;
}

/* The next count of points that passes transform. */
static int64_t find_smooth(int64_t least) {
  int64_t n = least;
  while (take_factors(n, NULL) != 1)
    n++;
  return n;
}

/* exp(-pi i k k / n) for k below n. */
static fnz_status make_chirp(fnzi_krn_call *call, int64_t n, const double **out) {
  const double *roots;
  void *room;
  FNZ_TRY(fnzi_cpu_fft_roots_make(call, 2 * n, &roots));
  FNZ_TRY(fnzi_krn_room_take(call, n, 2 * sizeof(double), &room));
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
  FNZ_TRY(fnzi_krn_room_take(call, plan->points, 4 * sizeof(double), &room));
  FNZ_TRY(fnzi_krn_room_take(call, plan->points, 2 * sizeof(double), &numbers));
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

fnz_status fnzi_cpu_fft_plan_make(fnzi_krn_call *call, int64_t n, fnzi_cpu_fft_roots roots,
                                  fnzi_cpu_fft_plan *out) {
  *out = (fnzi_cpu_fft_plan){
      .n = n, .points = n, .roots = roots, .passes = fnzi_cpu_fft_passes_for(fnzi_krn_isa_best())};
  bool is_smooth = take_factors(n, NULL) == 1;
  if (!is_smooth)
    out->points = find_smooth(2 * n - 1);
  take_factors(out->points, out);
  if (!is_smooth || !roots.data) {
    out->roots.step = 1;
    FNZ_TRY(fnzi_cpu_fft_roots_make(call, out->points, &out->roots.data));
  }
  if (is_smooth)
    return FNZ_OK;
  FNZ_TRY(make_chirp(call, n, &out->chirp));
  return make_answer(call, out);
}

/* --- Transforms -------------------------------------------------------------------------- */
static void run_passes(const fnzi_cpu_fft_plan *plan, int64_t lanes, fnzi_cpu_fft_block *x,
                       fnzi_cpu_fft_block *y) {
  int64_t stride = 1, left = plan->points;
  for (int i = 0; i < plan->npasses; i++) {
    int radix = plan->radices[i];
    fnzi_cpu_fft_pass pass = {
        left / radix, stride * lanes, {plan->roots.data, plan->roots.step * stride}};
    plan->passes->by_radix[radix](&pass, *x, *y);
    fnzi_cpu_fft_block read = *x;
    *x = *y;
    *y = read;
    stride *= radix;
    left /= radix;
  }
}

static fnzi_cpu_fft_block exchanged(fnzi_cpu_fft_block b) {
  return (fnzi_cpu_fft_block){b.im, b.re};
}

/* As i j = (i i + j j - (i - j) (i - j)) / 2, a transform is a convolution with a chirp, between
 * two products with it. */
static void convolve(const fnzi_cpu_fft_plan *plan, int64_t lanes, fnzi_cpu_fft_block *x,
                     fnzi_cpu_fft_block *y) {
  size_t rest = (size_t)((plan->points - plan->n) * lanes) * sizeof(double);
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

void fnzi_cpu_fft_lines(const fnzi_cpu_fft_plan *plan, int64_t lanes, fnzi_cpu_fft_block *x,
                        fnzi_cpu_fft_block *y) {
  if (plan->chirp)
    convolve(plan, lanes, x, y);
  else
    run_passes(plan, lanes, x, y);
}
