/* choice_values.h - places drawn with the probabilities that rows of weights say: text for the CPU
 * and for a GPU. The includer defines VALUE and fnzi_cpu_reals of special_reals.h. */

/* Integers alone, which a GPU gets one by one. */
typedef struct choice {
  int64_t wide; /* weights are f64, else f32 */
  int64_t rows, places, samples;
} choice;

VALUE bool choice_is_weight(double w) {
  return w >= 0 && w - w == 0;
}

/* --- Without replacement ------------------------------------------------------------------- */
/* A weight by an exponential number: the largest ones are chosen. */
VALUE double choice_score(const choice *c, double weight, double e) {
  return c->wide ? weight / e : (double)((float)weight / (float)e);
}

/* Some weight of a row is more than 0. */
VALUE bool choice_has_any(const choice *c, const fnzi_cpu_reals *weights, int64_t row) {
  for (int64_t i = 0; i < c->places; i++)
    if (fnzi_cpu_real_at(weights, row * c->places + i) > 0)
      return true;
  return false;
}

/* A row in runs, each a thread's. */
enum { CHOICE_RUN = 256 };
VALUE int64_t choice_runs(const choice *c) {
  return (c->places + CHOICE_RUN - 1) / CHOICE_RUN;
}

/* The place of the largest score of a run, the first one. */
VALUE int64_t choice_best(const choice *c, const fnzi_cpu_reals *scores, int64_t run) {
  const int64_t start = run / choice_runs(c) * c->places, first = run % choice_runs(c) * CHOICE_RUN;
  int64_t best = first;
  for (int64_t i = first + 1; i < first + CHOICE_RUN && i < c->places; i++)
    if (fnzi_cpu_real_at(scores, start + i) > fnzi_cpu_real_at(scores, start + best))
      best = i;
  return best;
}

/* The number of scores of its row that come before element `at`: all larger ones, and equal ones
 * with a smaller index. */
VALUE int64_t choice_rank(const choice *c, const fnzi_cpu_reals *scores, int64_t at) {
  const int64_t start = at / c->places * c->places;
  const double mine = fnzi_cpu_real_at(scores, at);
  int64_t rank = 0;
  for (int64_t i = start; i < start + c->places; i++) {
    const double other = fnzi_cpu_real_at(scores, i);
    rank += other > mine || (other == mine && i < at);
  }
  return rank;
}

/* --- With replacement, by Philox ----------------------------------------------------------- */
VALUE double choice_plus(const choice *c, double a, double b) {
  return c->wide ? a + b : (double)((float)a + (float)b);
}
VALUE double choice_part(const choice *c, double a, double b) {
  return c->wide ? a / b : (double)((float)a / (float)b);
}

/* Sums of the parts of a row up to each place. False: it has something that is no weight, or all
 * are 0. */
VALUE bool choice_sum(const choice *c, const fnzi_cpu_reals *weights, int64_t row,
                      const fnzi_cpu_reals_out *out) {
  const int64_t start = row * c->places;
  double all = 0, sum = 0;
  bool are_weights = true;
  for (int64_t i = start; i < start + c->places; i++) {
    const double w = fnzi_cpu_real_at(weights, i);
    are_weights = are_weights && choice_is_weight(w);
    all = choice_plus(c, all, w);
  }
  for (int64_t i = start; i < start + c->places; i++) {
    sum = choice_plus(c, sum, choice_part(c, fnzi_cpu_real_at(weights, i), all));
    fnzi_cpu_real_put(out, i, sum);
  }
  return are_weights && all > 0;
}

/* The index at which a uniform number falls among the sums of a row, never a weight that is 0. */
VALUE int64_t choice_fall(const choice *c, const fnzi_cpu_reals *weights,
                          const fnzi_cpu_reals *sums, int64_t row, double u) {
  const int64_t start = row * c->places;
  int64_t low = 0, high = c->places;
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (fnzi_cpu_real_at(sums, start + middle) < u)
      low = middle + 1;
    else
      high = middle;
  }
  low = low < c->places ? low : c->places - 1;
  while (low > 0 && fnzi_cpu_real_at(weights, start + low) == 0)
    low--;
  return low;
}
