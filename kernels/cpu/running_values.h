/* running_values.h - what the sum of two numbers that are logarithms is, as one. The includer
 * defines VALUE, which stands before functions: it computes here and on a GPU. Equal infinities
 * stay what they are. */
VALUE double add_in_logs(double a, double b) {
  double least = b != b ? b : a < b ? a : b, most = b != b ? b : a > b ? a : b;
  if (least == most && fabs(least) == (double)INFINITY)
    return a;
  return a != a ? a : log1p(exp(least - most)) + most;
}
