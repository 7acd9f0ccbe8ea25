/* random.cu - the draws of kernels/cpu/random_philox.c: a block of words, and results that are made
 * of drawn numbers. */
VALUE random_source source_of(const cells *w) {
  const random_source s = {(uint64_t)w[SEED].at, (uint64_t)w[OFFSET].at};
  return s;
}

/* Integers are a random_draw. */
#define DRAWN(name)                                                                                \
  VALUE void formula_##name(int64_t at, const cells *w, const int64_t *n, const double *d) {       \
    const random_source s = source_of(w);                                                          \
    random_draw_##name(&s, (const random_draw *)n, d, at, &w[0]);                                  \
  }
DRAWN(uniform)
DRAWN(normal)
DRAWN(log_normal)
DRAWN(exponential)
DRAWN(cauchy)
DRAWN(geometric)
DRAWN(chance)
DRAWN(kept)
DRAWN(integers)

VALUE void formula_own_chance(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const random_source s = source_of(w);
  (void)d;
  refuse_unless(random_draw_own(&s, (const random_draw *)n, &w[0], at, &w[1]), w);
}

/* Integers are a random_rows. */
VALUE void formula_row_uniform(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const random_source s = source_of(w);
  (void)d;
  random_draw_row(&s, (const random_rows *)n, at, &w[0]);
}

/* Integers: how elements are held, and whether they are shifted. */
VALUE void formula_masked(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const bool kept = LOAD(uint8_t, w[1].at + at) != 0;
  const double v = fnzi_cpu_real_at(&w[0], at);
  fnzi_cpu_real_put(&w[2], at, random_masked(w[2].bytes == 8, n[0], n[1] != 0, d, v, kept));
}
VALUE void formula_dropped(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const double v = fnzi_cpu_real_at(&w[0], at);
  fnzi_cpu_real_put(&w[1], at, random_masked(w[1].bytes == 8, n[0], n[1] != 0, d, v, false));
}

/* Integers: how elements are held; whether there are deviations, and means. */
VALUE void formula_moved(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const double deviation = n[1] ? fnzi_cpu_real_at(&w[0], at) : 1,
               mean = n[2] ? fnzi_cpu_real_at(&w[1], at) : d[0],
               normal = fnzi_cpu_real_at(&w[2], at);
  refuse_unless(deviation >= 0, w);
  fnzi_cpu_real_put(&w[2], at,
                    random_moved(w[2].bytes == 8, n[0], n[1] != 0, normal, deviation, mean));
}

/* Integers: the bits to keep, and the bit of the sign. */
VALUE void formula_random_key(int64_t at, const cells *w, const int64_t *n, const double *d) {
  integer_put(&w[1], at, random_key(integer_at(&w[0], at), n[0], n[1]));
}

/* Sorted keys, and numbers in their order; where a run of equal keys begins, all of its numbers.
 * Integers: how many there are. */
VALUE void formula_shuffled(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const random_source s = source_of(w);
  const int64_t key = integer_at(&w[0], at);
  int64_t end = at;
  if (at > 0 && integer_at(&w[0], at - 1) == key)
    return;
  for (; end < n[0] && integer_at(&w[0], end) == key; end++)
    integer_put(&w[2], end, integer_at(&w[1], end));
  random_shuffle(&s, &w[2], at, end);
}
