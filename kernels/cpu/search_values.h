/* search_values.h - the indices at which numbers would be inserted into sorted ones: text for the
 * CPU and for a GPU. The includer defines VALUE, fnzi_cpu_reals of special_reals.h, and INTEGERS
 * with integer_at(), which are elements of 64 bits. */

/* Numbers are reals, or integers; of the others nothing is there. */
typedef struct search {
  fnzi_cpu_reals sorted, wanted;
  INTEGERS sorted_integers;
  INTEGERS wanted_integers;
  INTEGERS order;           /* indices of the sorted ones in their row, or NULL */
  int64_t length;           /* of a row of sorted ones */
  int64_t per_row;          /* wanted ones for each row; 0: there is one row for all */
  bool are_integers, right; /* right: behind equal ones */
} search;

/* Does element `at` of the row from `start` come before the wanted one? NaN come last. */
VALUE bool is_before(const search *s, int64_t start, int64_t at, int64_t wanted) {
  int64_t place = start + (s->order ? integer_at(s->order, start + at) : at);
  if (s->are_integers) {
    int64_t a = integer_at(s->sorted_integers, place), b = integer_at(s->wanted_integers, wanted);
    return s->right ? a <= b : a < b;
  }
  double a = fnzi_cpu_real_at(&s->sorted, place), b = fnzi_cpu_real_at(&s->wanted, wanted);
  return s->right ? !(a > b) : !(a >= b);
}

/* The result for wanted number `at`. */
VALUE int64_t found_at(const search *s, int64_t at) {
  int64_t low = 0, high = s->length, start = s->per_row ? at / s->per_row * s->length : 0;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (is_before(s, start, middle, at))
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}
