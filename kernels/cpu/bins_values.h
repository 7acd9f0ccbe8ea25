/* bins_values.h - bins of numbers, and fractions of numbers: text for the CPU and for a GPU. The
 * includer defines VALUE. */

/* Which bin of [low, high] a number is in; -1: none. Singles are computed as such. */
VALUE int64_t bin_of(double v, double low, double high, int64_t bins, bool is_single) {
  if (!(v >= (is_single ? (float)low : low) && v <= (is_single ? (float)high : high)))
    return -1;
  double place = is_single
                     ? (double)(((float)v - (float)low) * (float)bins / ((float)high - (float)low))
                     : (v - low) * (double)bins / (high - low);
  return place < (double)bins ? (int64_t)place : bins - 1; /* also what is no number */
}

/* x is the result times 2 to the exponent; zero, infinities and NaN are their own result. */
VALUE double fraction_of(double x, int *exponent) {
  const int64_t mantissa = ((int64_t)1 << 52) - 1;
  int64_t bits;
  *exponent = 0;
  if (x == 0 || x - x != 0)
    return x + x;
  memcpy(&bits, &x, sizeof bits);
  if ((bits >> 52 & 0x7ff) == 0) { /* below the least normal one */
    x *= 0x1p54;
    *exponent = -54;
    memcpy(&bits, &x, sizeof bits);
  }
  *exponent += (int)(bits >> 52 & 0x7ff) - 1022;
  bits = (int64_t)((uint64_t)bits & ((uint64_t)1 << 63 | (uint64_t)mantissa)) | (int64_t)1022 << 52;
  memcpy(&x, &bits, sizeof x);
  return x;
}
