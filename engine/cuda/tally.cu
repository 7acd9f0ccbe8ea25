/* tally.cu - comparisons and sums of whole tensors that kernels/cpu/tally.c has, assertions, and
 * gates. */

VALUE void formula_asserted(int64_t at, const cells *w, const int64_t *n, const double *d) {
  refuse_unless(LOAD(uint8_t, w[0].at) != 0, w);
}

/* The result is true before the kernel; a thread that finds a difference makes it false. Integers:
 * whether elements are integers. */
VALUE void formula_differs(int64_t at, const cells *w, const int64_t *n, const double *d) {
  const bool same = n[0] ? integer_at(&w[0], at) == integer_at(&w[1], at)
                         : fnzi_cpu_real_at(&w[0], at) == fnzi_cpu_real_at(&w[1], at);
  if (!same)
    STORE(uint8_t, w[2].at, (uint8_t)0);
}

/* In order. Integers: how many, parts of a number, whether they are integers. */
VALUE void formula_diagonal_sum(int64_t at, const cells *w, const int64_t *n, const double *d) {
  uint64_t whole = 0;
  double real = 0;
  for (int64_t i = 0; i < n[0]; i++)
    if (n[2])
      whole += (uint64_t)integer_at(&w[0], i);
    else
      real += fnzi_cpu_real_at(&w[0], i * n[1] + at);
  if (n[2])
    integer_put(&w[1], 0, (int64_t)whole);
  else
    fnzi_cpu_real_put(&w[1], at, real);
}
