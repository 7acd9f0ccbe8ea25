/* running_values.h - the logarithm of the sum of two numbers that are given as logarithms. The
 * includer defines VALUE, the specifiers of functions: it computes here and on a GPU. Equal
 * infinities stay what they are. */
VALUE double add_in_logs(double a, double b) {
  double least = b != b ? b : a < b ? a : b, most = b != b ? b : a > b ? a : b;
  if (least == most && fabs(least) == (double)INFINITY)
    return a;
  return a != a ? a : log1p(exp(least - most)) + most;
}
