/* order.cu - the element of a sorted row at an index that kernels/cpu/order_values.h chooses. */

/* Eager's steps decide which of several equal elements is chosen. This does not matter for a short
 * row that is sorted. For a median without its place it matters only if these are zeros, whose bits
 * may differ. */
VALUE bool depends_on_steps(SORTED row, int64_t i, const int64_t *n) {
  const int64_t key = sorted_key(row, i);
  const bool has_equal = (i > 0 && sorted_key(row, i - 1) == key) ||
                         (i + 1 < n[1] && sorted_key(row, i + 1) == key);
  return has_equal && (n[0] == ORDER_KTH    ? true
                       : n[0] == ORDER_MODE ? n[1] > 16
                                            : n[6] && n[2] && key == 0);
}

VALUE int64_t chosen_place(PAIRS pairs, const cells *elements, int64_t i, const int64_t *n) {
  for (int64_t k = 0; k < n[1]; k++) {
    const int64_t at = pairs->start + k;
    pair_put(pairs, k,
             PAIR{n[2] ? sort_real_key(fnzi_cpu_real_at(elements, at)) : integer_at(elements, at),
                  k});
  }
  if (n[0] == ORDER_KTH)
    quick_select(pairs, n[1], i);
  else if (n[0] == ORDER_MODE)
    sort_first(pairs, n[1]);
  else
    select_nth(pairs, n[1], i);
  return pair_at(pairs, i).place;
}

/* Rows of elements, as numbers and as they are; keys and places in order; the element, its place.
 * Integers: the kind, the length of a row, whether elements are real, k, whether NaN become
 * `nothing`, which is, and whether no place is wanted. */
VALUE void formula_ordered(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const sorted_row row = {&w[2], at * n[1]};
  const pair_row pairs = {&w[2], &w[3], at * n[1]};
  const int64_t i = order_place(n[0], &row, n[1], n[2] != 0, n[3]);
  const bool forgets = n[4] && sorted_key(&row, i) == INT64_MAX;
  const int64_t place = depends_on_steps(&row, i, n) ? chosen_place(&pairs, &w[0], i, n)
                                                     : pair_at(&pairs, i).place;
  move_cell_or(&w[4], at, &w[1], forgets ? -1 : row.start + place, (uint64_t)n[5]);
  if (w[5].at)
    integer_put(&w[5], at, place);
}
