/* order_values.h - which place of a sorted row is the median, the k-th value or the mode: text for
 * the CPU and for a GPU. The includer defines VALUE, and SORTED, a row of keys in order, with
 * sorted_key(). The key of a NaN is INT64_MAX (sort_values.h). */
enum { ORDER_MEDIAN, ORDER_NANMEDIAN, ORDER_KTH, ORDER_MODE };

/* NaN stand last. */
VALUE int64_t numbers_among(SORTED s, int64_t count, bool is_real) {
  int64_t low = 0, high = count;
  while (is_real && low < high) {
    int64_t middle = low + (high - low) / 2;
    if (sorted_key(s, middle) == INT64_MAX)
      high = middle;
    else
      low = middle + 1;
  }
  return high;
}

/* The index of the median of a row with `numbers` elements that are not NaN. A NaN is the median of
 * all that hold it. */
VALUE int64_t median_place(int64_t kind, int64_t numbers, int64_t count) {
  if (kind == ORDER_MEDIAN && numbers < count)
    return numbers;
  return numbers ? (numbers - 1) / 2 : 0;
}

/* The least of the most frequent; each NaN is alone. */
VALUE int64_t mode_place(SORTED s, int64_t count, bool is_real) {
  int64_t best = 0, most = 0, run = 0;
  for (int64_t i = 0; i < count; i++) {
    bool is_nan = is_real && sorted_key(s, i) == INT64_MAX;
    run++;
    if (i + 1 < count && !is_nan && sorted_key(s, i + 1) == sorted_key(s, i))
      continue;
    if (run > most)
      best = i, most = run;
    run = 0;
  }
  return best;
}

VALUE int64_t order_place(int64_t kind, SORTED s, int64_t count, bool is_real, int64_t k) {
  return kind == ORDER_KTH    ? k - 1
         : kind == ORDER_MODE ? mode_place(s, count, is_real)
                              : median_place(kind, numbers_among(s, count, is_real), count);
}
