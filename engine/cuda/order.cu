/* order.cu - the element of a sorted row that stands at a place of kernels/cpu/order_values.h. */

/* Keys and places in order, rows of elements; the element, its place. Integers: the kind, the
 * length of a row, whether elements are real, k, and whether NaN become `nothing`, which is. */
VALUE void formula_ordered(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const sorted_row row = {&w[0], at * n[1]};
  const int64_t i = order_place(n[0], &row, n[1], n[2] != 0, n[3]),
                place = integer_at(&w[1], row.start + i);
  const bool forgets = n[4] && sorted_key(&row, i) == INT64_MAX;
  move_cell_or(&w[3], at, &w[2], forgets ? -1 : row.start + place, (uint64_t)n[5]);
  if (w[4].at)
    integer_put(&w[4], at, place);
}
