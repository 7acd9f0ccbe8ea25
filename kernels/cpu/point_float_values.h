/* point_float_values.h - what the values of float rows are made of. The includer defines T, F(x)
 * and VALUE, the specifiers of functions: they compute here and on a GPU. Functions are for one
 * element, macros also for vectors. */
#define FMA(x, y, z)  F(fma)(x, y, z)
#define GREATER(x, y) CHOOSE(OR((x) > (y), (x) != (x)), x, y)
#define LESSER(x, y)  CHOOSE(OR((y) < (x), (y) != (y)), y, x)
/* `value`, unless x is NaN: then the NaN that has no payload. */
#define BOUND(x, value) CHOOSE((x) != (x), (T)NAN, value)

/* The asymptotic series behind 10, reached by the recurrence. */
VALUE T digamma_series(T x) {
  static const T terms[] = {(T)8.33333333333333333333E-2, (T)-2.10927960927960927961E-2,
                            (T)7.57575757575757575758E-3, (T)-4.16666666666666666667E-3,
                            (T)3.96825396825396825397E-3, (T)-8.33333333333333333333E-3,
                            (T)8.33333333333333333333E-2};
  T y = 0, shift = 0;
  for (; x < 10; x += 1)
    shift -= 1 / x;
  if (x == 10)
    return shift + (T)2.25175258906672110764;
  if (x < (T)1.0e17) {
    T z = 1 / (x * x);
    for (size_t i = 0; i < sizeof terms / sizeof *terms; i++)
      y = y * z + terms[i];
    y *= z;
  }
  return shift + F(log)(x) - (T)0.5 / x - y;
}

VALUE T digamma(T x) {
  const double pi = 3.14159265358979323846;
  double whole;
  if (x == 0)
    return F(copysign)((T)INFINITY, -x);
  if (x > 0 || x != x)
    return digamma_series(x);
  if (x == F(trunc)(x))
    return (T)NAN;
  double rest = modf((double)x, &whole);
  return digamma_series(1 - x) - (T)(pi / tan(pi * rest));
}

VALUE T trigamma(T x) {
  const T pi = (T)3.14159265358979323846;
  T sign = 1, result = 0;
  if (x < (T)0.5) {
    T s = F(sin)(pi * x);
    sign = -1;
    result -= (pi * pi) / (s * s);
    x = 1 - x;
  }
  for (int i = 0; i < 6; i++, x += 1)
    result += 1 / (x * x);
  T z = 1 / (x * x);
  result += (1 + 1 / (2 * x) + z * ((T)1 / 6 - z * ((T)1 / 30 - z * ((T)1 / 42)))) / x;
  return sign * result;
}

/* Hurwitz zeta by Euler-Maclaurin: ten terms of the sum, then corrections with Bernoulli numbers.
 */
VALUE double zeta(double s, double q) {
  static const double factors[] = {12.0,
                                   -720.0,
                                   30240.0,
                                   -1209600.0,
                                   47900160.0,
                                   -1.8924375803183791606e9,
                                   7.47242496e10,
                                   -2.950130727918164224e12,
                                   1.1646782814350067249e14,
                                   -4.5979787224074726105e15,
                                   1.8152105401943546773e17,
                                   -7.1661652561756670113e18};
  if (q < -65536) /* as many terms are the most */
    return NAN;
  double a = q, sum = pow(q, -s), b = 0, product = s, k = 0;
  for (int i = 0; i < 9 || a <= 9.0;) {
    i++;
    a += 1;
    b = pow(a, -s);
    sum += b;
    if (-0x1p-53 * sum < b && b < 0x1p-53 * sum)
      return sum;
  }
  sum += b * a / (s - 1);
  sum -= 0.5 * b;
  for (size_t i = 0; i < sizeof factors / sizeof *factors; i++) {
    product *= i ? s + k : 1;
    b /= a;
    double term = product * b / factors[i];
    sum += term;
    if (fabs(term / sum) < 0x1p-53)
      return sum;
    k += 1;
    product *= s + k;
    b /= a;
    k += 1;
  }
  return sum;
}

VALUE T polygamma(T n, T x) {
  double sign = fmod((double)n, 2.0) != 0 ? 1 : -1;
  T sum = x <= 0 && x == F(floor)(x) ? (T)INFINITY : (T)zeta((double)n + 1, (double)x);
  return (T)(sign * exp(lgamma((double)n + 1)) * (double)sum);
}
