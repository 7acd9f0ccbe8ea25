/* create.cu - elements of ranges (kernels/cpu/create.c) and of triangles (kernels/cpu/move.c). */
VALUE void formula_line(int64_t at, const cells *w, const int64_t *n, const double *d) {
  if (w[0].bytes == 4)
    STORE(float, w[0].at + 4 * at, line_single((float)d[0], (float)d[1], at));
  else
    STORE(double, w[0].at + 8 * at, line_double(d[0], d[1], at));
}
VALUE void formula_line_integer(int64_t at, const cells *w, const int64_t *n, const double *d) {
  integer_put(&w[0], at, line_integer(n[0], n[1], at));
}
VALUE void formula_spread(int64_t at, const cells *w, const int64_t *n, const double *d) {
  if (w[0].bytes == 4)
    STORE(float, w[0].at + 4 * at, spread_single((float)d[0], (float)d[1], n[0], at));
  else
    STORE(double, w[0].at + 8 * at, spread_double(d[0], d[1], n[0], at));
}
/* Integers: whether it is the lower one, the diagonal, rows and columns. */
VALUE void formula_triangle(int64_t at, const cells *w, const int64_t *n, const double *d) {
  int64_t column = at % n[3], row = at / n[3] % n[2];
  bool before = column < triangle_edge(n[0] != 0, n[1], n[2], n[3], row);
  move_cell_or(&w[1], at, &w[0], before == (n[0] != 0) ? at : -1, 0);
}
/* A line of powers. */
VALUE void formula_power(int64_t at, const cells *w, const int64_t *n, const double *d) {
  fnzi_cpu_real_put(&w[0], at, power_double(d[0], d[1], d[2], n[0], at, d[3]));
}
