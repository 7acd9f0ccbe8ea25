/* choice.cu - what kernels/cpu/random_choice.c chooses. Integers are a choice. */
VALUE void formula_score(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const double weight = fnzi_cpu_real_at(&w[0], at);
  (void)d;
  refuse_unless(choice_is_weight(weight), w);
  fnzi_cpu_real_put(&w[2], at,
                    choice_score((const choice *)n, weight, fnzi_cpu_real_at(&w[1], at)));
}

/* The best score of a run of a row, then that of a row. */
VALUE void formula_best_of_run(int64_t at, const cells *w, const int64_t *n, const double *d) {
  (void)d;
  integer_put(&w[1], at, choice_best((const choice *)n, &w[0], at));
}

VALUE void formula_best_score(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const choice *c = (const choice *)n;
  const int64_t runs = choice_runs(c), start = at * c->places;
  int64_t best = integer_at(&w[2], at * runs);
  (void)d;
  for (int64_t i = 1; i < runs; i++) {
    const int64_t other = integer_at(&w[2], at * runs + i);
    if (fnzi_cpu_real_at(&w[1], start + other) > fnzi_cpu_real_at(&w[1], start + best))
      best = other;
  }
  refuse_unless(fnzi_cpu_real_at(&w[1], start + best) > 0 || choice_has_any(c, &w[0], at), w);
  integer_put(&w[3], at, best);
}

/* Stores an element at its rank, if the row has that many samples. */
VALUE void formula_ranked_score(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const choice *c = (const choice *)n;
  const int64_t row = at / c->places, rank = choice_rank(c, &w[1], at);
  (void)d;
  if (at % c->places == 0)
    refuse_unless(choice_has_any(c, &w[0], row), w);
  if (rank < c->samples)
    integer_put(&w[2], row * c->samples + rank, at % c->places);
}

VALUE void formula_weight_sum(int64_t at, const cells *w, const int64_t *n, const double *d) {
  (void)d;
  refuse_unless(choice_sum((const choice *)n, &w[0], at, &w[1]), w);
}

VALUE void formula_fallen(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const choice *c = (const choice *)n;
  (void)d;
  integer_put(&w[3], at,
              choice_fall(c, &w[0], &w[1], at / c->samples, fnzi_cpu_real_at(&w[2], at)));
}
