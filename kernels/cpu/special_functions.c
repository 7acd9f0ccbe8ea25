/* special_functions.c - the functions that special_functions.def names: incomplete
 * gamma functions, Bessel functions, scaled error functions and the normal distribution's. All are
 * computed in double, from series, continued fractions and integrals that converge fast. */
#define _XOPEN_SOURCE 700 /* j0 and its kin */
#include "kernels/cpu/special_reals.h"

#include <math.h>

enum { MOST_TERMS = 100000 };

static const double pi = 3.14159265358979323846, root_half = 0.70710678118654752440;

/* --- Gamma ------------------------------------------------------------------------------- */
static double gamma_factor(double a, double x) {
  return exp(a * log(x) - x - lgamma(a));
}

/* The lower function by its series: for x below a + 1. */
static double lower_series(double a, double x) {
  double term = 1 / a, sum = term;
  for (int k = 1; k < MOST_TERMS && fabs(term) > fabs(sum) * 0x1p-54; k++) {
    term *= x / (a + k);
    sum += term;
  }
  return sum * gamma_factor(a, x);
}

/* The upper one by its continued fraction, from the front (Lentz). */
static double upper_fraction(double a, double x) {
  const double tiny = 0x1p-1000;
  double b = x + 1 - a, c = 1 / tiny, d = 1 / b, h = d, step = 0;
  for (int k = 1; k < MOST_TERMS && fabs(step - 1) > 0x1p-53; k++) {
    double n = -k * (k - a);
    b += 2;
    d = n * d + b;
    d = 1 / (d == 0 ? tiny : d);
    c = b + n / c;
    c = c == 0 ? tiny : c;
    step = c * d;
    h *= step;
  }
  return h * gamma_factor(a, x);
}

/* How much of the gamma function lies below x; `upper`: above it. */
static double gamma_part(double a, double x, bool upper) {
  if (isnan(a) || isnan(x) || a < 0 || x < 0 || (a == 0 && x == 0) || (isinf(a) && isinf(x)))
    return NAN;
  if (a == 0 || isinf(x))
    return !upper;
  if (x == 0 || isinf(a))
    return upper;
  if (x < a + 1)
    return upper ? 1 - lower_series(a, x) : lower_series(a, x);
  return upper ? upper_fraction(a, x) : 1 - upper_fraction(a, x);
}

static double igamma(double a, double x) {
  return gamma_part(a, x, false);
}

static double igammac(double a, double x) {
  return gamma_part(a, x, true);
}

/* --- Bessel ------------------------------------------------------------------------------ */
static double bessel_j0(double x) {
  return isinf(x) ? NAN : j0(x);
}
static double bessel_j1(double x) {
  return isinf(x) ? NAN : j1(x);
}
static double bessel_y0(double x) {
  return isinf(x) || x < 0 ? NAN : y0(x);
}
static double bessel_y1(double x) {
  return isinf(x) || x < 0 ? NAN : y1(x);
}

static double spherical_j0(double x) {
  if (isinf(x))
    return 0;
  return fabs(x) < 1e-4 ? 1 - x * x / 6 : sin(x) / x;
}

/* exp(x) K(x): the integral of exp(-x (cosh t - 1)) cosh(order t) from 0 on, whose sums over equal
 * steps converge faster than any power of the step. */
static double scaled_k(double x, int order) {
  const double step = 0.0625;
  double sum = 0.5;
  if (isnan(x) || x < 0)
    return NAN;
  if (x == 0)
    return INFINITY;
  if (isinf(x))
    return 0;
  if (x > 0x1p20) /* the peak is too narrow for the step: the first terms for large x */
    return sqrt(pi / (2 * x)) * (1 + (4.0 * order - 1) / (8 * x));
  for (int k = 1; k < MOST_TERMS; k++) {
    double width = x > 100 ? step / sqrt(x / 100) : step, t = k * width;
    double term = exp(-x * 2 * sinh(t / 2) * sinh(t / 2)) * (order ? cosh(t) : 1);
    sum += term;
    if (term < sum * 0x1p-56)
      return sum * width;
  }
  return NAN;
}

static double scaled_k0(double x) {
  return scaled_k(x, 0);
}
static double scaled_k1(double x) {
  return scaled_k(x, 1);
}
static double modified_k0(double x) {
  return isinf(x) && x > 0 ? 0 : exp(-x) * scaled_k(x, 0);
}
static double modified_k1(double x) {
  return isinf(x) && x > 0 ? 0 : exp(-x) * scaled_k(x, 1);
}

/* --- Airy -------------------------------------------------------------------------------- */
/* Ai(-x) of a large x, by its series in 1 / angle, up to its smallest term. */
static double airy_far(double x) {
  double angle = 2 * x * sqrt(x) / 3, term = 1, even = 1, odd = 0;
  for (int k = 1; k < 30; k++) {
    double next =
        term * (6 * k - 5) * (6 * k - 3) * (6 * k - 1) / (216.0 * k * (2 * k - 1) * angle);
    if (fabs(next) >= fabs(term))
      break;
    term = next;
    *(k % 2 ? &odd : &even) += k % 4 < 2 ? term : -term;
  }
  return (sin(angle + pi / 4) * even - cos(angle + pi / 4) * odd) / sqrt(pi * sqrt(x));
}

/* Ai(x): the integral of exp(i (t t t / 3 + x t)) over the line of all u + i c, which converges
 * like exp(-c u u), in sums over equal steps as above. From 1/4 on c = sqrt(x) leaves no other
 * growth. */
static double airy(double x) {
  const double c = x > 0.25 ? sqrt(x) : 0.5, step = fmin(c / 8, 0.5 / sqrt(c));
  double sum = 0.5, weight = 1;
  if (isnan(x) || isinf(x))
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
  return sum * step / pi * exp(c * (c * c / 3 - x));
}

/* --- Errors ------------------------------------------------------------------------------ */
/* exp(x x) erfc(x) from 0 on; for large x by its continued fraction, from the back. */
static double scaled_tail(double x) {
  const double root_pi = 1.77245385090551602730;
  if (!(x > 4))
    return exp(x * x) * erfc(x);
  double below = x;
  for (int k = 120; k > 0; k--)
    below = x + k / 2.0 / below;
  return 1 / (below * root_pi);
}

/* The same for every x: erfc(-x) is 2 - erfc(x). */
static double scaled_erfc(double x) {
  if (!(x < 0))
    return scaled_tail(x);
  return x < -27 ? INFINITY : 2 * exp(x * x) - scaled_tail(-x);
}

static double log_normal(double x) {
  if (x < -1)
    return isinf(x) ? -INFINITY : log(scaled_erfc(-x * root_half) / 2) - x * x / 2;
  return log1p(-erfc(x * root_half) / 2);
}

/* Up to the median, by a rational guess and Halley's steps. */
static double lower_quantile(double p) {
  double t = sqrt(-2 * log(p));
  double x = (2.30753 + 0.27061 * t) / (1 + (0.99229 + 0.04481 * t) * t) - t;
  for (int k = 0; k < 5; k++) {
    double off = 0.5 * erfc(-x * root_half) - p;
    double step = off * sqrt(2 * pi) * exp(x * x / 2);
    x -= step / (1 + x * step / 2);
  }
  return x;
}

static double normal_quantile(double p) {
  if (!(p > 0 && p < 1))
    return p == 0 ? -INFINITY : p == 1 ? INFINITY : NAN;
  return p > 0.5 ? -lower_quantile(1 - p) : lower_quantile(p);
}

/* --- Kernels ----------------------------------------------------------------------------- */
static const struct function {
  const char *op;
  double (*of_one)(double x);
  double (*of_two)(double a, double x);
} functions[] = {
#define OF_ONE(op, function) {#op, function, NULL},
#define OF_TWO(op, function) {#op, NULL, function},
#include "kernels/special_functions.def"
};

static const struct function *function_of(const fnz_op *op) {
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (strcmp(functions[i].op, op->base) == 0)
      return &functions[i];
  return NULL;
}

fnz_status fnzi_kernel_special_function(fnzi_krn_call *call) {
  const struct function *f = function_of(call->op);
  const fnz_geometry *out = &call->outputs[0]->geometry;
  fnz_dtype dtype = fnzi_cpu_real_dtype(out->dtype);
  fnzi_cpu_reals a, x = {NULL, NULL};
  fnzi_cpu_reals_out y;
  FNZ_TRY(fnzi_cpu_reals_expand(call, fnzi_krn_call_input(call, 0), dtype, out, &a));
  if (f->of_two)
    FNZ_TRY(fnzi_cpu_reals_expand(call, fnzi_krn_call_input(call, 1), dtype, out, &x));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &y));
  for (int64_t i = 0; i < fnz_geometry_numel(out); i++)
    fnzi_cpu_real_put(&y, i,
                      f->of_two ? f->of_two(fnzi_cpu_real_at(&a, i), fnzi_cpu_real_at(&x, i))
                                : f->of_one(fnzi_cpu_real_at(&a, i)));
  return FNZ_OK;
}
