/* distance.cu - distances of points (kernels/cpu/distance.c). Integers: the length of a point, the
 * points of the second set, the distances of a batch. */
VALUE void formula_distance(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const int64_t a = at / n[1], b = at / n[2] * n[1] + at % n[1];
  fnzi_cpu_real_put(&w[2], at, distance(&w[0], &w[1], a * n[0], b * n[0], n[0], d[0]));
}

/* Pairs are in the order (0, 1), (0, 2) ... (1, 2) ...: the number of pairs before (first, first + 1).
 */
VALUE int64_t pairs_before(int64_t first, int64_t count) {
  return first * (2 * count - first - 1) / 2;
}
VALUE int64_t first_of_pair(int64_t at, int64_t count) {
  int64_t low = 0, high = count;
  while (low + 1 < high) {
    int64_t middle = low + (high - low) / 2;
    if (pairs_before(middle, count) <= at)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* Integers: the length of a point, how many there are. */
VALUE void formula_pair_distance(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const int64_t a = first_of_pair(at, n[1]), b = a + 1 + at - pairs_before(a, n[1]);
  fnzi_cpu_real_put(&w[1], at, distance(&w[0], &w[0], a * n[0], b * n[0], n[0], d[0]));
}
