/* distance_values.h - the distance between two points: text for the CPU and for a GPU. The includer
 * defines VALUE, and fnzi_cpu_reals of special_reals.h. */
VALUE double distance(const fnzi_cpu_reals *x, const fnzi_cpu_reals *y, int64_t a, int64_t b,
                      int64_t length, double order) {
  const bool is_most = order == order && order - order != 0;
  double sum = 0;
  for (int64_t i = 0; i < length; i++) {
    double d = fabs(fnzi_cpu_real_at(x, a + i) - fnzi_cpu_real_at(y, b + i));
    if (is_most)
      sum = d > sum || d != d ? d : sum;
    else
      sum += order == 0 ? (double)(d != 0) : order == 1 ? d : order == 2 ? d * d : pow(d, order);
  }
  if (order == 0 || order == 1 || is_most)
    return sum;
  return order == 2 ? sqrt(sum) : pow(sum, 1 / order);
}
