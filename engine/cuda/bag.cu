/* bag.cu - embedding bags (kernels/cpu/bag.c): sums in the order of the indices. */
enum { BAG_COUNT, BAG_BAGS, BAG_ROWS, BAG_WIDTH, BAG_PADDING, BAG_MODE, BAG_ENDS, BAG_SCALES };
enum { BAG_INDEX, BAG_OFFSETS };

/* Within the indices, so that what is out of bounds does no harm. */
VALUE int64_t bag_start(const cells *w, const int64_t *n, int64_t bag) {
  int64_t at = n[BAG_COUNT];
  if (bag < n[BAG_BAGS] || n[BAG_ENDS])
    at = integer_at(&w[BAG_OFFSETS], bag);
  return at < 0 ? 0 : at > n[BAG_COUNT] ? n[BAG_COUNT] : at;
}
VALUE bool bag_counts(const int64_t *n, int64_t row) {
  return row != n[BAG_PADDING] && row >= 0 && row < n[BAG_ROWS];
}

/* Checks index `at`, if there is one, and bag `at`. */
VALUE void formula_bag_checked(int64_t at, const cells *w, const int64_t *n, const double *d) {
  bool ok = true;
  if (at < n[BAG_COUNT]) {
    const int64_t row = integer_at(&w[BAG_INDEX], at);
    ok = row >= 0 && row < n[BAG_ROWS];
  }
  if (at < n[BAG_BAGS]) {
    const bool is_last = at + 1 == n[BAG_BAGS] && !n[BAG_ENDS];
    const int64_t first = integer_at(&w[BAG_OFFSETS], at),
                  last = is_last ? n[BAG_COUNT] : integer_at(&w[BAG_OFFSETS], at + 1);
    ok = ok && first >= 0 && last >= first && last <= n[BAG_COUNT] && (at > 0 || first == 0);
  }
  refuse_unless(ok, w);
}

VALUE int64_t bag_size(const cells *w, const int64_t *n, int64_t bag) {
  int64_t size = 0;
  for (int64_t i = bag_start(w, n, bag); i < bag_start(w, n, bag + 1); i++)
    size += integer_at(&w[BAG_INDEX], i) != n[BAG_PADDING];
  return size;
}

/* Indices, offsets, rows, the scale of each index; sums. */
VALUE void formula_bag_sum(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const int64_t bag = at / n[BAG_WIDTH], k = at % n[BAG_WIDTH], end = bag_start(w, n, bag + 1);
  double sum = 0;
  for (int64_t i = bag_start(w, n, bag); i < end; i++) {
    const int64_t row = integer_at(&w[BAG_INDEX], i);
    if (!bag_counts(n, row))
      continue;
    const double scale = n[BAG_SCALES] ? fnzi_cpu_real_at(&w[3], i) : 1;
    sum = fnzi_cpu_real_round(&w[4],
                              sum + scale * fnzi_cpu_real_at(&w[2], row * n[BAG_WIDTH] + k));
  }
  const int64_t size = n[BAG_MODE] == 1 ? bag_size(w, n, bag) : 0;
  fnzi_cpu_real_put(&w[4], at, size > 0 ? sum / (double)size : sum);
}

/* Indices, offsets, rows; the largest, and the rows that they are of: 0 of a bag without any. */
VALUE void formula_bag_largest(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const int64_t bag = at / n[BAG_WIDTH], k = at % n[BAG_WIDTH], end = bag_start(w, n, bag + 1);
  int64_t best = -1;
  for (int64_t i = bag_start(w, n, bag); i < end; i++) {
    const int64_t row = integer_at(&w[BAG_INDEX], i);
    if (bag_counts(n, row) &&
        (best < 0 || fnzi_cpu_real_at(&w[2], row * n[BAG_WIDTH] + k) >
                         fnzi_cpu_real_at(&w[2], best * n[BAG_WIDTH] + k)))
      best = row;
  }
  fnzi_cpu_real_put(&w[3], at, best < 0 ? 0 : fnzi_cpu_real_at(&w[2], best * n[BAG_WIDTH] + k));
  integer_put(&w[4], at, best < 0 ? 0 : best);
}

/* Which bag an index is in. */
VALUE void formula_bag_of(int64_t at, const cells *w, const int64_t *n, const double *d) {
  int64_t low = 0, high = n[BAG_BAGS];
  while (low < high) {
    const int64_t middle = low + (high - low) / 2;
    if (bag_start(w, n, middle) <= at)
      low = middle + 1;
    else
      high = middle;
  }
  integer_put(&w[2], at, low > 0 && at < bag_start(w, n, n[BAG_BAGS]) ? low - 1 : 0);
}

VALUE void formula_bag_size(int64_t at, const cells *w, const int64_t *n, const double *d) {
  integer_put(&w[2], at, bag_size(w, n, at));
}
