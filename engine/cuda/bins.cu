/* bins.cu - what kernels/cpu/bins.c and combine.c compute. */

/* The least and the greatest of all, which must be finite; by one block. Integers: how many. */
VALUE void formula_range(int64_t at, const cells *w, const int64_t *n, const double *d) {
  SHARED(double, lows, 256);
  SHARED(double, highs, 256);
  double low = INFINITY, high = -INFINITY;
  bool ok = true;
  for (int64_t i = threadIdx.x; i < n[0]; i += 256) {
    const double v = fnzi_cpu_real_at(&w[0], i);
    ok = ok && v - v == 0;
    low = v < low ? v : low;
    high = v > high ? v : high;
  }
  refuse_unless(ok, w);
  lows[threadIdx.x] = low, highs[threadIdx.x] = high;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int k = 1; k < 256; k++) {
      const double a = lows[k], b = highs[k];
      low = a < low ? a : low;
      high = b > high ? b : high;
    }
    fnzi_cpu_real_put(&w[1], 0, low == high ? low - 1 : low);
    fnzi_cpu_real_put(&w[1], 1, low == high ? high + 1 : high);
  }
}

/* How many are in bin `at`, by a block for each. Integers: how many there are, bins. Singles do not
 * count beyond 2^24. */
VALUE void formula_bin(int64_t at, const cells *w, const int64_t *n, const double *d) {
  SHARED(int, counts, 256);
  const bool is_single = w[2].bytes == 4;
  const double low = fnzi_cpu_real_at(&w[1], 0), high = fnzi_cpu_real_at(&w[1], 1);
  int count = 0;
  __syncthreads();
  for (int64_t i = threadIdx.x; i < n[0]; i += 256)
    count += bin_of(fnzi_cpu_real_at(&w[0], i), low, high, n[1], is_single) == at;
  counts[threadIdx.x] = count;
  __syncthreads();
  if (threadIdx.x == 0) {
    int64_t all = 0;
    for (int k = 0; k < 256; k++)
      all += (int)counts[k];
    fnzi_cpu_real_put(&w[2], at, is_single && all > 1 << 24 ? 1 << 24 : (double)all);
  }
}

/* --- Places, which the CPU counts one after the other -------------------------------------------- */
/* The sum of all numbers from 0 below `end`, none counting more than `most`. */
VALUE int64_t triangle_sum(int64_t end, int64_t most) {
  if (end <= 0)
    return 0;
  return end <= most ? end * (end - 1) / 2 : most * (most + 1) / 2 + (end - most - 1) * most;
}

/* How many places the rows before `row` have, on the diagonal and to one side of it. */
VALUE int64_t triangle_before(int64_t row, int64_t columns, int64_t offset, bool upper) {
  int64_t first = offset + (upper ? 0 : 1);
  int64_t edges = triangle_sum(first + row, columns) - triangle_sum(first, columns);
  return upper ? row * columns - edges : edges;
}

/* The row of place `at` of all. */
VALUE int64_t triangle_row(int64_t at, int64_t rows, int64_t columns, int64_t offset, bool upper) {
  int64_t low = 0, high = rows;
  while (low + 1 < high) {
    int64_t middle = low + (high - low) / 2;
    if (triangle_before(middle, columns, offset, upper) <= at)
      low = middle;
    else
      high = middle;
  }
  return low;
}

/* In how many ways r of n can be taken, again and again or once each. */
VALUE int64_t ways_of(int64_t n, int64_t r, bool again) {
  int64_t all = again ? n + r - 1 : n, ways = 1;
  if (r == 0)
    return 1;
  if (n <= 0 || all < r)
    return 0;
  if (r > all - r)
    r = all - r;
  for (int64_t k = 1; k <= r; k++)
    ways = ways * (all - r + k) / k;
  return ways;
}

/* Place k of the ways, in order, to take r of n places; way `at`. */
VALUE int64_t taken_place(int64_t at, int64_t k, int64_t n, int64_t r, bool again) {
  int64_t place = 0;
  for (int64_t i = 0;; i++, place += again ? 0 : 1) {
    for (;; place++) {
      int64_t ways = ways_of(again ? n - place : n - place - 1, r - 1 - i, again);
      if (at < ways || place >= n - 1)
        break;
      at -= ways;
    }
    if (i == k)
      return place;
  }
}

/* Integers: rows, columns, offset, whether it is the upper one, how many places. */
VALUE void formula_triangle_place(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const int64_t row = triangle_row(at, n[0], n[1], n[2], n[3] != 0), edge = row + n[2],
                first = n[3] && edge > 0 ? edge : 0;
  integer_put(&w[0], at, row);
  integer_put(&w[0], n[4] + at, first + at - triangle_before(row, n[1], n[2], n[3] != 0));
}

/* Elements, and ways to take them. Integers: elements, of a way, whether again. */
VALUE void formula_taken(int64_t at, const cells *w, const int64_t *n, const double *d) {
  move_cell_or(&w[1], at, &w[0], taken_place(at / n[1], at % n[1], n[0], n[1], n[2] != 0), 0);
}

VALUE void formula_fraction(int64_t at, const cells *w, const int64_t *n, const double *d) {
  int exponent;
  fnzi_cpu_real_put(&w[1], at, fraction_of(fnzi_cpu_real_at(&w[0], at), &exponent));
  STORE(int32_t, w[2].at + 4 * at, exponent);
}
