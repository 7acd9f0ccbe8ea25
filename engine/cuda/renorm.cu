/* renorm.cu - slices scaled down to a greatest norm (kernels/cpu/renorm.c). Integers: elements
 * before a slice, slices, elements behind, the kind of number; doubles: order, greatest norm. */
VALUE void formula_norm_factor(int64_t at, const cells *w, const int64_t *n, const double *d) {
  double norm = 0;
  for (int64_t o = 0; o < n[0]; o++)
    for (int64_t i = 0; i < n[2]; i++)
      norm = norm_joined(norm, fabs(fnzi_cpu_real_at(&w[0], (o * n[1] + at) * n[2] + i)), d[0]);
  fnzi_cpu_real_put(&w[1], at, norm_factor(n[3], norm_finished(norm, d[0]), d[1]));
}

VALUE void formula_norm_scaled(int64_t at, const cells *w, const int64_t *n, const double *d) {
  fnzi_cpu_real_put(&w[2], at,
                    fnzi_cpu_real_at(&w[0], at) * fnzi_cpu_real_at(&w[1], at / n[2] % n[1]));
}
