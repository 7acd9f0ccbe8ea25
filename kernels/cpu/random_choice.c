/* random_choice.c - multinomial: places drawn with the probabilities that rows of numbers say. */
#include "kernels/cpu/random.h"

#include <math.h>
#include <stdlib.h>

typedef struct choosing {
  bool is_double;
  int64_t rows, places, samples;
  const void *weights; /* row-major, f32 or f64 */
} choosing;

static double weight_at(const choosing *c, int64_t row, int64_t i) {
  const int64_t at = row * c->places + i;
  return c->is_double ? ((const double *)c->weights)[at] : (double)((const float *)c->weights)[at];
}

/* Sums are in the type of the weights. */
static double plus(const choosing *c, double a, double b) {
  return c->is_double ? a + b : (double)((float)a + (float)b);
}

static fnz_status check_row(const fnzi_krn_call *call, const choosing *c, int64_t row) {
  double sum = 0;
  for (int64_t i = 0; i < c->places; i++) {
    const double w = weight_at(c, row, i);
    if (!(w >= 0) || isinf(w))
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_BOUNDS,
          "weight %lld of row %lld is %g; weights are 0 or more, and finite", (long long)i,
          (long long)row, w);
    sum = plus(c, sum, w);
  }
  if (sum > 0)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                              "the weights of row %lld are all 0; give one that is more",
                              (long long)row);
}

/* --- Without replacement: the largest of w / e, where e is exponential ------------------------ */
typedef struct score {
  double of;
  int64_t place;
} score;

static double quotient(const choosing *c, double w, const void *drawn, int64_t at) {
  if (c->is_double)
    return w / ((const double *)drawn)[at];
  return (double)((float)w / ((const float *)drawn)[at]);
}

enum { FEW = 8 };

static int by_score(const void *a, const void *b) {
  const score *x = a, *y = b;
  if (x->of != y->of)
    return x->of > y->of ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* Moves the largest `samples` scores to the front, the largest first; the first of equal ones. */
static void choose(score *s, int64_t places, int64_t samples) {
  if (samples > FEW) {
    qsort(s, (size_t)places, sizeof *s, by_score);
    return;
  }
  for (int64_t k = 0; k < samples; k++) {
    int64_t best = k;
    for (int64_t i = k + 1; i < places; i++)
      if (s[i].of > s[best].of)
        best = i;
    const score had = s[best];
    memmove(s + k + 1, s + k, (size_t)(best - k) * sizeof *s);
    s[k] = had;
  }
}

static fnz_status choose_largest(fnzi_krn_call *call, const choosing *c, int64_t *out) {
  const fnz_geometry *order = fnzi_krn_call_geometry(call, 0);
  const fnzi_cpu_exponential law = {1, c->is_double};
  const fnz_dtype dtype = c->is_double ? FNZ_F64 : FNZ_F32;
  score *s;
  void *drawn;
  FNZ_TRY(fnzi_krn_room_take(call, c->rows * c->places, fnzi_dtype(dtype)->bytes, &drawn));
  FNZ_TRY(fnzi_cpu_draw(call, order, dtype, drawn, fnzi_cpu_draw_exponential, &law));
  FNZI_NEW(&call->scratch, (size_t)c->places, &s);
  for (int64_t row = 0; row < c->rows; row++) {
    for (int64_t i = 0; i < c->places; i++)
      s[i] = (score){quotient(c, weight_at(c, row, i), drawn, row * c->places + i), i};
    choose(s, c->places, c->samples);
    for (int64_t k = 0; k < c->samples; k++)
      out[row * c->samples + k] = s[k].place;
  }
  return FNZ_OK;
}

/* --- With replacement: where a uniform number falls among the sums ---------------------------- */
static void draw_uniforms(const void *law, fnz_generator *g, int64_t count, void *out) {
  (void)law;
  for (int64_t i = 0; i < count; i++)
    ((double *)out)[i] = fnzi_generator_double(g);
}

static void sum_row(const choosing *c, int64_t row, double *sums) {
  double sum = 0;
  for (int64_t i = 0; i < c->places; i++)
    sums[i] = sum = plus(c, sum, weight_at(c, row, i));
  for (int64_t i = 0; i < c->places; i++)
    sums[i] = c->is_double ? sums[i] / sum : (double)((float)sums[i] / (float)sum);
  sums[c->places - 1] = 1;
}

static int64_t place_of(const double *sums, int64_t places, double u) {
  int64_t low = 0, high = places;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (sums[middle] < u)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static fnz_status choose_again(fnzi_krn_call *call, const choosing *c, int64_t *out) {
  const int64_t count = c->rows * c->samples, one = 1;
  const fnz_geometry line = {.dtype = FNZ_F64, .rank = 1, .sizes = &count, .strides = &one};
  double *sums;
  void *drawn;
  FNZ_TRY(fnzi_krn_room_take(call, count, sizeof(double), &drawn));
  FNZ_TRY(fnzi_cpu_draw(call, &line, FNZ_F64, drawn, draw_uniforms, NULL));
  FNZI_NEW(&call->scratch, (size_t)c->places, &sums);
  for (int64_t row = 0; row < c->rows; row++) {
    sum_row(c, row, sums);
    for (int64_t k = row * c->samples; k < (row + 1) * c->samples; k++)
      out[k] = place_of(sums, c->places, ((const double *)drawn)[k]);
  }
  return FNZ_OK;
}

/* One sample of each row is drawn as if it were without replacement. */
fnz_status fnzi_kernel_multinomial(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  choosing c = {g->dtype == FNZ_F64, g->rank == 2 ? g->sizes[0] : 1, g->sizes[g->rank - 1],
                fnzi_krn_named_int(call, "num_samples", 0), NULL};
  void *out;
  FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_call_input(call, 0), c.is_double ? FNZ_F64 : FNZ_F32,
                                &c.weights));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_I64, &out));
  for (int64_t row = 0; row < c.rows; row++)
    FNZ_TRY(check_row(call, &c, row));
  if (c.rows == 0)
    return FNZ_OK;
  bool again = fnzi_krn_named_bool(call, "replacement", false) && c.samples > 1;
  return again ? choose_again(call, &c, out) : choose_largest(call, &c, out);
}
