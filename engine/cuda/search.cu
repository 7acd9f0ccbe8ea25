/* search.cu - an element of what kernels/cpu/search.c finds. Integers: the length of a row, wanted
 * ones for each row, whether they are integers, and whether behind equal ones. */
VALUE void formula_found(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const bool are_integers = n[2] != 0;
  const search s = {w[0],
                    w[1],
                    are_integers ? &w[0] : 0,
                    are_integers ? &w[1] : 0,
                    0,
                    n[0],
                    n[1],
                    are_integers,
                    n[3] != 0};
  integer_put(&w[2], at, found_at(&s, at));
}
