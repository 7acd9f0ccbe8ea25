/* distance_values.h - the distance between two points: text for the CPU and for a GPU. The includer
 * defines VALUE, and fnzi_cpu_reals of special_reals.h. */
enum { DISTANCE_DEPTH = 64 }; /* numbers whose sum is in the type of the points */

VALUE double distance_part(const fnzi_cpu_reals *x, const fnzi_cpu_reals *y, int64_t a, int64_t b,
                           int64_t count, bool squares) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) {
    const double d =
        fnzi_cpu_real_round(x, fnzi_cpu_real_at(x, a + i) - fnzi_cpu_real_at(y, b + i));
    sum = fnzi_cpu_real_round(x, squares ? d * d + sum : sum + fabs(d));
  }
  return sum;
}

/* The order is 1, or 2. Eager's sums are in the type of the points as well. */
VALUE double distance_by_parts(const fnzi_cpu_reals *x, const fnzi_cpu_reals *y, int64_t a,
                               int64_t b, int64_t length, bool squares) {
  double sum = 0;
  for (int64_t i = 0; i < length; i += DISTANCE_DEPTH) {
    const int64_t left = length - i, count = left < DISTANCE_DEPTH ? left : DISTANCE_DEPTH;
    sum += distance_part(x, y, a + i, b + i, count, squares);
  }
  return squares ? sqrt(fnzi_cpu_real_round(x, sum)) : sum;
}

VALUE double distance(const fnzi_cpu_reals *x, const fnzi_cpu_reals *y, int64_t a, int64_t b,
                      int64_t length, double order) {
  const bool is_most = order == order && order - order != 0;
  double sum = 0;
  if (order == 1 || order == 2)
    return distance_by_parts(x, y, a, b, length, order == 2);
  for (int64_t i = 0; i < length; i++) {
    double d = fabs(fnzi_cpu_real_at(x, a + i) - fnzi_cpu_real_at(y, b + i));
    if (is_most)
      sum = d > sum || d != d ? d : sum;
    else
      sum += order == 0 ? (double)(d != 0) : pow(d, order);
  }
  return order == 0 || is_most ? sum : pow(sum, 1 / order);
}
