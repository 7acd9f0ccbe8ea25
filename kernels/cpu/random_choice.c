/* random_choice.c - multinomial: places drawn with the probabilities that rows of numbers say. */
#include "kernels/cpu/random.h"
#include "kernels/cpu/recording.h"

#include <math.h>
#include <stdlib.h>

#define VALUE static inline
#include "kernels/cpu/choice_values.h"
#undef VALUE

typedef struct choosing {
  choice c;
  fnzi_cpu_reals weights; /* row-major */
  int64_t elements, chosen;
} choosing;

static double choice_weight_at(const choosing *x, int64_t row, int64_t i) {
  return fnzi_cpu_real_at(&x->weights, row * x->c.places + i);
}

static fnz_dtype choice_dtype_of(const choosing *x) {
  return x->c.wide ? FNZ_F64 : FNZ_F32;
}

static fnz_status check_row(const fnzi_krn_call *call, const choosing *x, int64_t row) {
  double sum = 0;
  for (int64_t i = 0; i < x->c.places; i++) {
    const double w = choice_weight_at(x, row, i);
    if (!choice_is_weight(w))
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_BOUNDS,
          "weight %lld of row %lld is %g; weights are 0 or more, and finite", (long long)i,
          (long long)row, w);
    sum = choice_plus(&x->c, sum, w);
  }
  if (sum > 0)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                              "the weights of row %lld are all 0; give one that is more",
                              (long long)row);
}

static void record_choice(fnzi_cpu_recording *t, const choosing *x) {
  fnzi_cpu_record_integers(t, &x->c, sizeof x->c);
}

/* --- Without replacement: the largest of w / e, where e is exponential ------------------------ */
typedef struct score {
  double of;
  int64_t place;
} score;

enum { FEW = 8 };

static int by_score(const void *a, const void *b) {
  const score *x = a, *y = b;
  if (x->of != y->of)
    return x->of > y->of ? -1 : 1;
  return x->place < y->place ? -1 : x->place > y->place;
}

/* Moves the largest `samples` scores to the front, the largest first; the first of equal ones. */
static void choice_choose(score *s, int64_t places, int64_t samples) {
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

/* Records the index of the largest score of each row. */
static fnz_status record_best(fnzi_krn_call *call, const choosing *x, const void *scores,
                              int64_t *out) {
  const int64_t runs = x->c.rows * choice_runs(&x->c);
  fnzi_cpu_recording t = {.f = {.draws = 0}}, last = {.f = {.checks = true}};
  void *places;
  FNZ_TRY(fnzi_krn_scratch_take(call, runs, sizeof(int64_t), &places));
  fnzi_cpu_record_window(&t, choice_dtype_of(x), x->elements, scores);
  fnzi_cpu_record_window(&t, FNZ_I64, runs, places);
  record_choice(&t, x);
  FNZ_TRY(fnzi_cpu_record(call, &t, "best_of_run", runs));
  fnzi_cpu_record_reals(&last, &x->weights, x->elements);
  fnzi_cpu_record_window(&last, choice_dtype_of(x), x->elements, scores);
  fnzi_cpu_record_window(&last, FNZ_I64, runs, places);
  fnzi_cpu_record_window(&last, FNZ_I64, x->chosen, out);
  record_choice(&last, x);
  return fnzi_cpu_record(call, &last, "best_score", x->c.rows);
}

/* One place of each row, or the rank of each element, which looks at all others of its row. */
static fnz_status choice_record_largest(fnzi_krn_call *call, const choosing *x, const void *drawn,
                                        int64_t *out) {
  const int64_t most = (int64_t)1 << 33;
  const bool one = x->c.samples == 1;
  fnzi_cpu_recording t = {.f = {.checks = true}}, next = t;
  void *scores;
  if (!one && x->elements > most / x->c.places)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "there are too many places");
  FNZ_TRY(fnzi_krn_scratch_take(call, x->elements, fnzi_dtype(choice_dtype_of(x))->bytes, &scores));
  fnzi_cpu_record_reals(&t, &x->weights, x->elements);
  fnzi_cpu_record_window(&t, choice_dtype_of(x), x->elements, drawn);
  fnzi_cpu_record_window(&t, choice_dtype_of(x), x->elements, scores);
  record_choice(&t, x);
  FNZ_TRY(fnzi_cpu_record(call, &t, "score", x->elements));
  if (one)
    return record_best(call, x, scores, out);
  fnzi_cpu_record_reals(&next, &x->weights, x->elements);
  fnzi_cpu_record_window(&next, choice_dtype_of(x), x->elements, scores);
  fnzi_cpu_record_window(&next, FNZ_I64, x->chosen, out);
  record_choice(&next, x);
  return fnzi_cpu_record(call, &next, "ranked_score", x->elements);
}

static fnz_status choose_largest(fnzi_krn_call *call, const choosing *x, int64_t *out) {
  const fnz_geometry *order = fnzi_krn_call_geometry(call, 0);
  const fnzi_cpu_exponential one = {1, x->c.wide != 0};
  const fnzi_cpu_law law = fnzi_cpu_exponential_law(&one);
  void *drawn;
  FNZ_TRY(fnzi_krn_scratch_take(call, x->elements, fnzi_dtype(choice_dtype_of(x))->bytes, &drawn));
  FNZ_TRY(fnzi_cpu_draw(call, order, choice_dtype_of(x), drawn, &law));
  if (call->record)
    return choice_record_largest(call, x, drawn, out);
  const fnzi_cpu_reals reals =
      x->c.wide ? (fnzi_cpu_reals){.d = drawn} : (fnzi_cpu_reals){.f = drawn};
  score *s;
  FNZI_NEW(&call->scratch, (size_t)x->c.places, &s);
  for (int64_t row = 0; row < x->c.rows; row++) {
    for (int64_t i = 0; i < x->c.places; i++) {
      const double e = fnzi_cpu_real_at(&reals, row * x->c.places + i);
      s[i] = (score){choice_score(&x->c, choice_weight_at(x, row, i), e), i};
    }
    choice_choose(s, x->c.places, x->c.samples);
    for (int64_t k = 0; k < x->c.samples; k++)
      out[row * x->c.samples + k] = s[k].place;
  }
  return FNZ_OK;
}

/* --- With replacement: where a uniform number falls among the sums ---------------------------- */
static int64_t choice_place_of(const double *sums, int64_t places, double u) {
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

static fnz_status choose_again(fnzi_krn_call *call, const choosing *x, int64_t *out) {
  fnz_generator *g = call->ctx->generator;
  double *sums;
  FNZI_NEW(&call->scratch, (size_t)x->c.places, &sums);
  for (int64_t row = 0; row < x->c.rows; row++) {
    double sum = 0;
    for (int64_t i = 0; i < x->c.places; i++)
      sums[i] = sum = choice_plus(&x->c, sum, choice_weight_at(x, row, i));
    for (int64_t i = 0; i < x->c.places; i++)
      sums[i] = choice_part(&x->c, sums[i], sum);
    sums[x->c.places - 1] = 1;
    for (int64_t k = row * x->c.samples; k < (row + 1) * x->c.samples; k++)
      out[k] = choice_place_of(sums, x->c.places, fnzi_generator_double(g));
  }
  return FNZ_OK;
}

static fnz_status choose_again_by_philox(fnzi_krn_call *call, const choosing *x, int64_t *out) {
  fnzi_cpu_recording t = {.f = {.checks = true}}, next = {.f = {.checks = false}};
  fnzi_cpu_reals_out sums = {.f = NULL};
  void *drawn, *room;
  FNZ_TRY(fnzi_krn_scratch_take(call, x->chosen, sizeof(float), &drawn));
  FNZ_TRY(fnzi_krn_scratch_take(call, x->elements, fnzi_dtype(choice_dtype_of(x))->bytes, &room));
  FNZ_TRY(fnzi_cpu_draw_rows(call, x->c.rows, x->c.samples, drawn));
  if (call->record) {
    fnzi_cpu_record_reals(&t, &x->weights, x->elements);
    fnzi_cpu_record_window(&t, choice_dtype_of(x), x->elements, room);
    record_choice(&t, x);
    FNZ_TRY(fnzi_cpu_record(call, &t, "weight_sum", x->c.rows));
    fnzi_cpu_record_reals(&next, &x->weights, x->elements);
    fnzi_cpu_record_window(&next, choice_dtype_of(x), x->elements, room);
    fnzi_cpu_record_window(&next, FNZ_F32, x->chosen, drawn);
    fnzi_cpu_record_window(&next, FNZ_I64, x->chosen, out);
    record_choice(&next, x);
    return fnzi_cpu_record(call, &next, "fallen", x->chosen);
  }
  sums = x->c.wide ? (fnzi_cpu_reals_out){.d = room} : (fnzi_cpu_reals_out){.f = room};
  const fnzi_cpu_reals read = fnzi_cpu_reals_read(&sums);
  for (int64_t row = 0; row < x->c.rows; row++)
    (void)choice_sum(&x->c, &x->weights, row, &sums); /* which check_row() looked at */
  for (int64_t at = 0; at < x->chosen; at++)
    out[at] = choice_fall(&x->c, &x->weights, &read, at / x->c.samples,
                          (double)((const float *)drawn)[at]);
  return FNZ_OK;
}

/* --- A call ----------------------------------------------------------------------------------- */
/* One sample of each row is drawn as if it were without replacement. */
fnz_status fnzi_kernel_multinomial(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  const choice c = {g->dtype == FNZ_F64, g->rank == 2 ? g->sizes[0] : 1, g->sizes[g->rank - 1],
                    fnzi_krn_named_int(call, "num_samples", 0)};
  const bool again = fnzi_krn_named_bool(call, "replacement", false) && c.samples > 1;
  choosing x = {.c = c, .elements = c.rows * c.places, .chosen = c.rows * c.samples};
  int64_t threads;
  void *out;
  FNZ_TRY(fnzi_cpu_threads_drawing(call, &threads));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), choice_dtype_of(&x), &x.weights));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_I64, &out));
  for (int64_t row = 0; !call->record && row < c.rows; row++)
    FNZ_TRY(check_row(call, &x, row));
  if (c.rows == 0)
    return FNZ_OK;
  if (!again)
    return choose_largest(call, &x, out);
  return threads ? choose_again_by_philox(call, &x, out) : choose_again(call, &x, out);
}
