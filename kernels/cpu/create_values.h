/* create_values.h - numbers in a line, and triangles: text for the CPU and for a GPU. The includer
 * defines VALUE.
 *
 * Integers count in 64 bits, everything else in double; halves of range, which is older, in single.
 */
VALUE int64_t line_integer(int64_t first, int64_t step, int64_t i) {
  return (int64_t)((uint64_t)first + (uint64_t)step * (uint64_t)i);
}
VALUE double line_double(double first, double step, int64_t i) {
  return first + step * (double)i;
}
VALUE float line_single(float first, float step, int64_t i) {
  return first + step * (float)i;
}

/* From both ends, so that both are met exactly. */
VALUE double spread_double(double first, double last, int64_t count, int64_t i) {
  double step = count > 1 ? (last - first) / (double)(count - 1) : 0;
  return i < count / 2 || count == 1 ? first + step * (double)i
                                     : last - step * (double)(count - i - 1);
}
VALUE float spread_single(float first, float last, int64_t count, int64_t i) {
  float step = count > 1 ? (last - first) / (float)(count - 1) : 0;
  return i < count / 2 || count == 1 ? first + step * (float)i
                                     : last - step * (float)(count - i - 1);
}

/* Columns before it are on or below the diagonal (tril), or below it (triu), in row i. */
VALUE int64_t triangle_edge(bool lower, int64_t diagonal, int64_t rows, int64_t columns,
                            int64_t i) {
  int64_t edge = diagonal > columns ? columns : diagonal < -rows ? 0 : i + diagonal + lower;
  return edge < 0 ? 0 : edge > columns ? columns : edge;
}

/* The exponent goes from first to last, from both ends. */
VALUE double power_double(double first, double last, double step, int64_t count, int64_t i,
                          double base) {
  double exponent = i < count / 2 || count == 1 ? first + step * (double)i
                                                : last - step * (double)(count - i - 1);
  return pow(base, count == 1 ? first : exponent);
}
