/* sort_values.h - elements as numbers in whose order they are sorted: text for the CPU and for a
 * GPU. The includer defines VALUE. */

/* The order of the numbers is the order of their keys: -0 equals 0, and a NaN is above all
 * numbers. */
VALUE int64_t sort_real_key(double x) {
  int64_t bits;
  if (x != x)
    return INT64_MAX;
  x += 0.0; /* makes 0 of -0 */
  memcpy(&bits, &x, sizeof bits);
  return bits ^ (int64_t)((uint64_t)(bits >> 63) >> 1); /* signs are hard to foresee: no branch */
}

/* On a GPU: elements that a block sorts at once. */
enum { SORT_TILE = 1024 };
/* Integers of its formulas: the length of a row, elements side by side, rows, how many of a sorted
 * row count, whether it descends, whether elements are integers; and what SORT_WIDTH is of a tile
 * and of a run. */
enum {
  SORT_LENGTH,
  SORT_INNER,
  SORT_ROWS,
  SORT_KEEP,
  SORT_DESCENDS,
  SORT_INTEGERS,
  SORT_WIDTH,
  SORT_NUMBERS
};
