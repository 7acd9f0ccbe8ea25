/* special_functions_values.h - the functions that special_functions.def names, in double, from
 * series, continued fractions and integrals that converge fast: text for the CPU and for a GPU. The
 * includer defines VALUE, and has the functions of <math.h>. */
#define PI         3.14159265358979323846
#define ROOT_HALF  0.70710678118654752440
#define MOST_TERMS 100000

VALUE bool is_nan(double x) {
  return x != x;
}
VALUE bool is_inf(double x) {
  return x == x && x - x != 0;
}

/* --- Gamma ------------------------------------------------------------------------------- */
VALUE double gamma_factor(double a, double x) {
  return exp(a * log(x) - x - lgamma(a));
}

/* The lower function by its series: for x below a + 1. */
VALUE double lower_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int k = 1; k < MOST_TERMS && fabs(term) > fabs(sum) * 0x1p-54; k++) {
    term *= x / (a + k);
    sum += term;
  }
  return sum * gamma_factor(a, x);
}

/* The upper one by the convergents p / q of its continued fraction. Their recurrence divides
 * nothing; a scale keeps them from overflow. */
VALUE double upper_fraction(double a, double x) {
  const double most = 0x1p500;
  double y = 1 - a, z = x + y + 1, p0 = 1, q0 = x, p1 = x + 1, q1 = z * x, found = p1 / q1,
         last = 0;
  for (int k = 1; k < MOST_TERMS && fabs(found - last) > fabs(found) * 0x1p-53; k++) {
    y += 1;
    z += 2;
    double p = p1 * z - p0 * (y * k), q = q1 * z - q0 * (y * k);
    double scale = fabs(p) > most || fabs(q) > most ? 1 / most : 1;
    p0 = p1 * scale, q0 = q1 * scale, p1 = p * scale, q1 = q * scale;
    last = found;
    found = q != 0 ? p / q : found + 1;
  }
  return found * gamma_factor(a, x);
}

/* How much of the gamma function lies below x; `upper`: above it. */
VALUE double gamma_part(double a, double x, bool upper) {
  if (is_nan(a) || is_nan(x) || a < 0 || x < 0 || (a == 0 && x == 0) || (is_inf(a) && is_inf(x)))
    return NAN;
  if (a == 0 || is_inf(x))
    return !upper;
  if (x == 0 || is_inf(a))
    return upper;
  if (x < a + 1)
    return upper ? 1 - lower_series(a, x) : lower_series(a, x);
  return upper ? upper_fraction(a, x) : 1 - upper_fraction(a, x);
}

VALUE double igamma(double a, double x) {
  return gamma_part(a, x, false);
}

VALUE double igammac(double a, double x) {
  return gamma_part(a, x, true);
}

/* --- Bessel ------------------------------------------------------------------------------ */
VALUE double bessel_j0(double x) {
  return is_inf(x) ? NAN : j0(x);
}
VALUE double bessel_j1(double x) {
  return is_inf(x) ? NAN : j1(x);
}
VALUE double bessel_y0(double x) {
  return is_inf(x) || x < 0 ? NAN : y0(x);
}
VALUE double bessel_y1(double x) {
  return is_inf(x) || x < 0 ? NAN : y1(x);
}

VALUE double spherical_j0(double x) {
  if (is_inf(x))
    return 0;
  return fabs(x) < 1e-4 ? 1 - x * x / 6 : sin(x) / x;
}

/* exp(x) K(x): the integral of exp(-x (cosh t - 1)) cosh(order t) from 0 on, whose sums over equal
 * steps converge faster than any power of the step. */
VALUE double scaled_k(double x, int order) {
  const double step = 0.0625;
  double sum = 0.5;
  if (is_nan(x) || x < 0)
    return NAN;
  if (x == 0)
    return INFINITY;
  if (is_inf(x))
    return 0;
  if (x > 0x1p20) /* the peak is too narrow for the step: the first terms for large x */
    return sqrt(PI / (2 * x)) * (1 + (4.0 * order - 1) / (8 * x));
  for (int k = 1; k < MOST_TERMS; k++) {
    double width = x > 100 ? step / sqrt(x / 100) : step, t = k * width;
    double term = exp(-x * 2 * sinh(t / 2) * sinh(t / 2)) * (order ? cosh(t) : 1);
    sum += term;
    if (term < sum * 0x1p-56)
      return sum * width;
  }
  return NAN;
}

VALUE double scaled_k0(double x) {
  return scaled_k(x, 0);
}
VALUE double scaled_k1(double x) {
  return scaled_k(x, 1);
}
VALUE double modified_k0(double x) {
  return is_inf(x) && x > 0 ? 0 : exp(-x) * scaled_k(x, 0);
}
VALUE double modified_k1(double x) {
  return is_inf(x) && x > 0 ? 0 : exp(-x) * scaled_k(x, 1);
}

/* --- Airy -------------------------------------------------------------------------------- */
/* Ai(-x) of a large x, by its series in 1 / angle, up to its smallest term. */
VALUE double airy_far(double x) {
  double angle = 2 * x * sqrt(x) / 3, term = 1, even = 1, odd = 0;
  for (int k = 1; k < 30; k++) {
    double next =
        term * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216.0 * k * (2 * k - 1) * angle);
    if (fabs(next) >= fabs(term))
      break;
    term = next;
    *(k % 2 ? &odd : &even) += k % 4 < 2 ? term : -term;
  }
  return (sin(angle + PI / 4) * even - cos(angle + PI / 4) * odd) / sqrt(PI * sqrt(x));
}

/* Ai(x): the integral of exp(i (t t t / 3 + x t)) over the line of all u + i c, which converges
 * like exp(-c u u), in sums over equal steps as above. From 1/4 on c = sqrt(x) leaves no other
 * growth. */
VALUE double airy(double x) {
  const double c = x > 0.25 ? sqrt(x) : 0.5, step = fmin(c / 8, 0.5 / sqrt(c));
  double sum = 0.5, weight = 1;
  if (is_nan(x) || is_inf(x))
    return NAN;
  if (x > 103.892) /* eager stops there, too */
    return 0;
  if (x < -8)
    return airy_far(-x);
  for (int k = 1; weight > 0x1p-64; k++) {
    double u = k * step;
    weight = exp(-c * u * u);
    sum += weight * cos(u * (u * u / 3 + x - c * c));
  }
  return sum * step / PI * exp(c * (c * c / 3 - x));
}

/* --- Errors ------------------------------------------------------------------------------ */
/* exp(x x) erfc(x) from 0 on; for large x by its continued fraction, from the back. */
VALUE double scaled_tail(double x) {
  const double root_pi = 1.77245385090551602730;
  if (!(x > 4))
    return exp(x * x) * erfc(x);
  double below = x;
  for (int k = 120; k > 0; k--)
    below = x + k / 2.0 / below;
  return 1 / (below * root_pi);
}

/* The same for every x: erfc(-x) is 2 - erfc(x). */
VALUE double scaled_erfc(double x) {
  if (!(x < 0))
    return scaled_tail(x);
  return x < -27 ? INFINITY : 2 * exp(x * x) - scaled_tail(-x);
}

VALUE double log_normal(double x) {
  if (x < -1)
    return is_inf(x) ? -INFINITY : log(scaled_erfc(-x * ROOT_HALF) / 2) - x * x / 2;
  return log1p(-erfc(x * ROOT_HALF) / 2);
}

/* Up to the median, by a rational guess and Halley's steps. */
VALUE double lower_quantile(double p) {
  double t = sqrt(-2 * log(p));
  double x = (2.30753 + 0.27061 * t) / (1 + (0.99229 + 0.04481 * t) * t) - t;
  for (int k = 0; k < 5; k++) {
    double off = 0.5 * erfc(-x * ROOT_HALF) - p;
    double step = off * sqrt(2 * PI) * exp(x * x / 2);
    x -= step / (1 + x * step / 2);
  }
  return x;
}

VALUE double normal_quantile(double p) {
  if (!(p > 0 && p < 1))
    return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
  return p > 0.5 ? -lower_quantile(1 - p) : lower_quantile(p);
}

#undef PI
#undef ROOT_HALF
#undef MOST_TERMS
