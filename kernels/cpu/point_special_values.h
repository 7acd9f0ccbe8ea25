/* point_special_values.h - special functions of float rows: polynomials by their recurrences,
 * Bessel functions by their series, the inverse of erf by Newton's method. The includer defines T,
 * F(x) and VALUE, as for point_float_values.h. */

/* --- Orthogonal polynomials -------------------------------------------------------------------
 * Each starts with its values for n = 0 and 1. At the ends of the interval and for high degrees
 * inside of it eager has closed forms. Steps round as eager's do. */
enum { MOST_DEGREE = 1 << 16 }; /* above it a recurrence gives NaN: it would take too long */

/* A degree that is no 64-bit integer counts as negative. */
VALUE int64_t degree(T n) {
  return n > (T)-0x1p62 && n < (T)0x1p62 ? (int64_t)n : -1;
}

VALUE T alternating(int64_t n, T value) {
  return n % 2 == 0 ? value : -value;
}

/* p(n) = twice_x p(n - 1) - p(n - 2) */
VALUE T chebyshev_from(T one, T twice_x, int64_t n) {
  T p = 1, q = one;
  if (n == 0 || n > MOST_DEGREE)
    return n ? (T)NAN : p;
  for (int64_t k = 2; k <= n; k++) {
    T r = FMA(twice_x, q, -p);
    p = q;
    q = r;
  }
  return q;
}

VALUE T chebyshev_t(T x, int64_t n, int64_t most) {
  if (n < 0)
    return 0;
  if (F(fabs)(x) == 1)
    return x > 0 ? 1 : alternating(n, 1);
  if (n > most && F(fabs)(x) < 1)
    return F(cos)((T)n * F(acos)(x));
  return chebyshev_from(x, x + x, n);
}

VALUE T chebyshev_u(T x, int64_t n, int64_t most) {
  T count = (T)(n + 1);
  if (n < 0)
    return 0;
  if (F(fabs)(x) == 1)
    return x > 0 ? count : alternating(n, count);
  if (n > most && F(fabs)(x) < 1) {
    T angle = F(acos)(x), sine = F(sin)(angle);
    return sine != 0 ? F(sin)(count * angle) / sine : count * F(cos)(count * angle) / x;
  }
  return chebyshev_from(x + x, x + x, n);
}

VALUE T chebyshev_v(T x, int64_t n, int64_t most) {
  T count = (T)(n + n + 1);
  if (n < 0)
    return 0;
  if (F(fabs)(x) == 1)
    return x > 0 ? 1 : alternating(n, count);
  if (n > most && F(fabs)(x) < 1) {
    T angle = F(acos)(x);
    return F(sin)(angle / 2) != 1 ? F(cos)(((T)n + (T)0.5) * angle) / F(cos)(angle / 2)
                                  : alternating(n, count);
  }
  return chebyshev_from(x + x - 1, x + x, n);
}

VALUE T chebyshev_w(T x, int64_t n, int64_t most) {
  T count = (T)(n + n + 1);
  if (n < 0)
    return 0;
  if (F(fabs)(x) == 1)
    return x > 0 ? count : alternating(n, 1);
  if (n > most && F(fabs)(x) < 1) {
    T angle = F(acos)(x);
    return F(cos)(angle / 2) != 1 ? F(sin)(((T)n + (T)0.5) * angle) / F(sin)(angle / 2)
           : x > 0                ? count
                                  : alternating(n, 1);
  }
  return chebyshev_from(x + x + 1, x + x, n);
}

/* Hermite polynomials of physicists, scale 2, and of probabilists, scale 1. */
VALUE T hermite(T x, int64_t n, int64_t scale) {
  T step = scale == 2 ? x + x : x, p = 1, q = step;
  if (n <= 0)
    return n < 0 ? 0 : 1;
  if (n > MOST_DEGREE)
    return (T)NAN;
  for (int64_t k = 1; k < n; k++) {
    T r = FMA(step, q, -((T)(scale * k) * p));
    p = q;
    q = r;
  }
  return q;
}

VALUE T laguerre(T x, int64_t n) {
  T p = 1, q = 1 - x;
  if (n <= 0 || x == 0)
    return n < 0 ? 0 : 1;
  if (n > MOST_DEGREE)
    return (T)NAN;
  for (int64_t k = 1; k < n; k++) {
    T r = FMA((T)(k + k) + (1 - x), q, -((T)k * p)) / (T)(k + 1);
    p = q;
    q = r;
  }
  return q;
}

VALUE T legendre(T x, int64_t n) {
  T p = 1, q = x;
  if (n < 0)
    return 0;
  if (F(fabs)(x) == 1)
    return x > 0 ? 1 : alternating(n, 1);
  if (n == 0 || n > MOST_DEGREE)
    return n ? (T)NAN : 1;
  for (int64_t k = 1; k < n; k++) {
    T r = FMA((T)(k + k + 1) * x, q, -((T)k * p)) / (T)(k + 1);
    p = q;
    q = r;
  }
  return q;
}

/* --- Modified Bessel functions of order 0 and 1 ----------------------------------------------- */
/* The power series of the function, x >= 0, whose terms are positive, up to terms below `least` of
 * the sum. */
VALUE double bessel_series(double x, int order, double least) {
  double sum = 1, term = 1, square = x * x / 4;
  for (int k = 1; term > sum * least; k++) {
    term *= square / ((double)k * (k + order));
    sum += term;
  }
  return order ? sum * (x / 2) : sum;
}

/* exp(-x) times the function by the asymptotic series: where that reaches all bits. */
VALUE double bessel_scaled(double x, int order) {
  double sum = 1, term = 1;
  for (int k = 1; k < 40 && fabs(term) > 0x1p-54; k++) {
    term *= -(4.0 * order - (2.0 * k - 1) * (2.0 * k - 1)) / (8 * k * x);
    sum += term;
  }
  return sum / sqrt(6.283185307179586477 * x);
}

VALUE T bessel_i(T x, int order, bool scaled) {
  const double least = sizeof(T) == sizeof(double) ? 0x1p-54 : 0x1p-30;
  double size = fabs((double)x), value;
  if (x != x)
    return x;
  if (size == (double)INFINITY) /* as eager's, which multiplies infinity by 0 */
    return scaled ? 0 : (T)NAN;
  if (size < 30) {
    value = bessel_series(size, order, least);
    value = scaled ? value * exp(-size) : value;
  } else {
    value = bessel_scaled(size, order);
    value = scaled ? value : value * exp(size / 2) * exp(size / 2);
  }
  return (T)(order && x < 0 ? -value : value);
}

/* --- Others -------------------------------------------------------------------------------- */
/* A polynomial (Giles 2010) is off by less than a millionth up to a w of 16, which f32 stays below.
 * The approximation beyond is off by some thousandths. */
VALUE double near_inverse_erf(double size, double w) {
  if (w < 5) {
    const double v = w - 2.5;
    double p = 2.81022636e-08 * v + 3.43273939e-07;
    p = ((p * v - 3.5233877e-06) * v - 4.39150654e-06) * v + 0.00021858087;
    p = ((p * v - 0.00125372503) * v - 0.00417768164) * v + 0.246640727;
    return (p * v + 1.50140941) * size;
  }
  if (w < 16) {
    const double v = sqrt(w) - 3;
    double p = -0.000200214257 * v + 0.000100950558;
    p = ((p * v + 0.00134934322) * v - 0.00367342844) * v + 0.00573950773;
    p = ((p * v - 0.0076224613) * v + 0.00943887047) * v + 1.00167406;
    return (p * v + 2.83297682) * size;
  }
  const double half = 4.33074675078 - w / 2;
  return sqrt(sqrt(half * half + w / 0.147) - half);
}

/* Halley's method on erf, or where that is close to 1 on the rest. */
VALUE T inverse_erf(T y) {
  double size = fabs((double)y);
  if (!(size <= 1))
    return (T)NAN;
  if (size == 1)
    return F(copysign)((T)INFINITY, y);
  double w = -log((1 - size) * (1 + size)), x = near_inverse_erf(size, w);
  for (int i = 0; i < (w < 16 ? 1 : 3); i++) {
    double off = size > 0.5 ? (1 - size) - erfc(x) : erf(x) - size;
    off /= 1.1283791670955126 * exp(-x * x);
    x -= off / (1 + x * off);
  }
  return F(copysign)((T)x, y);
}

VALUE T hurwitz(T s, T q) {
  if (s == 1)
    return (T)INFINITY;
  if (!(s >= 1))
    return (T)NAN;
  if (q <= 0 && q == F(floor)(q))
    return (T)INFINITY;
  if (q <= 0 && s != F(floor)(s))
    return (T)NAN;
  return (T)zeta((double)s, (double)q);
}
