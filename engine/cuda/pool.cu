/* pool.cu - an element of what kernels/cpu/pool.c computes. Integers are a pool_shape, whether
 * nearest neighbours are exact, and the bits of the largest of nothing. */
enum { POOL_EXACT = sizeof(pool_shape) / 8, POOL_NOTHING };

VALUE double pool_mean_at(const pool_shape *p, const cells *x, int64_t at) {
  return pool_mean(p, x, at / p->out_volume, at % p->out_volume);
}
VALUE void formula_mean(int64_t at, const cells *w, const int64_t *n, const double *d) {
  (void)d;
  fnzi_cpu_real_put(&w[1], at, pool_mean_at((const pool_shape *)n, &w[0], at));
}
VALUE void formula_share(int64_t at, const cells *w, const int64_t *n, const double *d) {
  (void)d;
  fnzi_cpu_real_put(&w[1], at, pool_share((const pool_shape *)n, &w[0], at));
}
VALUE void pool_store_largest(int64_t at, const cells *w, const int64_t *n, bool is_integer) {
  const pool_shape *p = (const pool_shape *)n;
  int64_t base = at / p->out_volume * p->in_volume, best = -1;
  pool_window s;
  pool_window_of(p, at % p->out_volume, &s);
  if (!pool_is_empty(&s))
    best = pool_largest(p, &w[1], is_integer ? &w[1] : 0, base, &s);
  move_cell_or(&w[2], at, &w[0], best, (uint64_t)n[POOL_NOTHING]);
  if (w[3].at)
    integer_put(&w[3], at, best < 0 ? 0 : best - base);
}
VALUE void formula_largest(int64_t at, const cells *w, const int64_t *n, const double *d) {
  (void)d;
  pool_store_largest(at, w, n, false);
}
VALUE void formula_largest_integer(int64_t at, const cells *w, const int64_t *n, const double *d) {
  (void)d;
  pool_store_largest(at, w, n, true);
}
VALUE void formula_nearest(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const pool_shape *p = (const pool_shape *)n;
  int64_t from = pool_nearest_at(p, d, n[POOL_EXACT] != 0, at / p->out_volume, at % p->out_volume);
  move_cell_or(&w[1], at, &w[0], from, 0);
}
