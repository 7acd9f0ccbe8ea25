/* complex.cu - the C library's functions of complex numbers, which a GPU has none of. They compute
 * in double and round once for c64. The includer defines T, of parts re and im of type PART, F(x)
 * and VALUE. */
struct wide {
  double re, im;
};

VALUE T make(PART re, PART im) {
  T z = {re, im};
  return z;
}

VALUE wide of(double re, double im) {
  wide z = {re, im};
  return z;
}

VALUE wide wide_over(wide a, double b) {
  return of(a.re / b, a.im / b);
}

/* i z, and -i z */
VALUE wide turned(wide z) {
  return of(-z.im, z.re);
}
VALUE wide turned_back(wide z) {
  return of(z.im, -z.re);
}

VALUE bool is_infinite(double x) {
  return fabs(x) == (double)INFINITY;
}

VALUE wide wide_exp(wide z) {
  if (z.im == 0)
    return of(exp(z.re), z.im);
  if (z.re == -(double)INFINITY && !(fabs(z.im) < (double)INFINITY))
    return of(0, copysign(0.0, z.im));
  double size = z.re > 700 && z.re < 1400 ? exp(z.re / 2) : exp(z.re), more = z.re > 700 && z.re < 1400 ? size : 1;
  return of(size * cos(z.im) * more, size * sin(z.im) * more);
}

/* log|z| without cancellation near 1: what |z|^2 lacks to 1 is computed alone. */
VALUE double log_size(wide z) {
  double large = fmax(fabs(z.re), fabs(z.im)), small = fmin(fabs(z.re), fabs(z.im));
  if (large > 0.5 && large < 1.5 && small < 1.5) {
    double square = fma(small, small, 0.0), rest = fma(small, small, -square);
    double product = (large - 1) * (large + 1), lost = fma(large - 1, large + 1, -product);
    return log1p(product + square + (lost + rest)) / 2;
  }
  return log(hypot(z.re, z.im));
}

VALUE wide wide_log(wide z) {
  return of(log_size(z), atan2(z.im, z.re));
}

VALUE wide wide_sqrt(wide z) {
  if (z.re == 0 && z.im == 0)
    return of(0, z.im);
  if (is_infinite(z.im))
    return of((double)INFINITY, z.im);
  if (z.re != z.re)
    return of(z.re, z.re);
  if (is_infinite(z.re))
    return z.re > 0 ? of(z.re, z.im != z.im ? z.im : copysign(0.0, z.im))
                    : of(z.im != z.im ? z.im : 0, copysign((double)INFINITY, z.im));
  double scale = fabs(z.re) > 1e300 || fabs(z.im) > 1e300 ? 4 : fabs(z.re) < 1e-300 && fabs(z.im) < 1e-300 ? 0x1p-108 : 1;
  double back = scale == 4 ? 2 : scale == 1 ? 1 : 0x1p-54;
  double re = z.re / scale, im = z.im / scale;
  double t = sqrt((fabs(re) + hypot(re, im)) / 2);
  return re >= 0 ? of(t * back, im / (2 * t) * back)
                 : of(fabs(im) / (2 * t) * back, copysign(t, im) * back);
}

VALUE wide wide_sinh(wide z) {
  if (z.im == 0)
    return of(sinh(z.re), z.im);
  if (z.re == 0)
    return of(z.re, sin(z.im));
  return of(sinh(z.re) * cos(z.im), cosh(z.re) * sin(z.im));
}

VALUE wide wide_cosh(wide z) {
  if (z.im == 0)
    return of(cosh(z.re), z.re * z.im == 0 ? z.im * copysign(1.0, z.re) : z.im);
  if (z.re == 0)
    return of(cos(z.im), z.re * copysign(1.0, z.im));
  return of(cosh(z.re) * cos(z.im), sinh(z.re) * sin(z.im));
}

VALUE wide wide_tanh(wide z) {
  if (z.im == 0)
    return of(tanh(z.re), z.im);
  if (fabs(z.re) > 22)
    return of(copysign(1.0, z.re), copysign(0.0, sin(2 * z.im)));
  double t = tan(z.im), s = sinh(z.re), beta = 1 + t * t, rho = sqrt(1 + s * s);
  if (is_infinite(t))
    return of(rho / s, 1 / t);
  double under = 1 + beta * s * s;
  return of(beta * rho * s / under, t / under);
}

/* By the roots of 1 - z and 1 + z (Kahan 1987), which cancel nowhere. */
VALUE wide wide_asin(wide z) {
  wide a = wide_sqrt(of(1 - z.re, -z.im)), b = wide_sqrt(of(1 + z.re, z.im));
  return of(atan2(z.re, a.re * b.re - a.im * b.im), asinh(a.re * b.im - a.im * b.re));
}

VALUE wide wide_acos(wide z) {
  wide a = wide_sqrt(of(1 - z.re, -z.im)), b = wide_sqrt(of(1 + z.re, z.im));
  return of(2 * atan2(a.re, b.re), asinh(b.re * a.im - b.im * a.re));
}

VALUE wide wide_acosh(wide z) {
  wide a = wide_sqrt(of(z.re - 1, z.im)), b = wide_sqrt(of(z.re + 1, z.im));
  return of(asinh(a.re * b.re + a.im * b.im), 2 * atan2(a.im, b.re));
}

VALUE wide wide_atanh(wide z) {
  double over = 1 - z.re, under = 1 + z.re, square = z.im * z.im;
  double re = log1p(4 * z.re / (over * over + square)) / 4;
  if (z.re < 0)
    re = -log1p(-4 * z.re / (under * under + square)) / 4;
  if (z.re == 0)
    re = z.re;
  return of(re, atan2(2 * z.im, over * under - square) / 2);
}

#define LIBRARY(name)                                                                              \
  VALUE T F(c##name)(T z) {                                                                        \
    wide found = wide_##name(of(z.re, z.im));                                                      \
    return make((PART)found.re, (PART)found.im);                                                   \
  }
/* A function by another one of i z. */
#define LIBRARY_TURNED(name, by)                                                                   \
  VALUE T F(c##name)(T z) {                                                                        \
    wide found = turned_back(wide_##by(turned(of(z.re, z.im))));                                   \
    return make((PART)found.re, (PART)found.im);                                                   \
  }
LIBRARY(sqrt)
LIBRARY(exp)
LIBRARY(log)
LIBRARY(sinh)
LIBRARY(cosh)
LIBRARY(tanh)
LIBRARY(asin)
LIBRARY(acos)
LIBRARY(acosh)
LIBRARY(atanh)
LIBRARY_TURNED(sin, sinh)
LIBRARY_TURNED(tan, tanh)
LIBRARY_TURNED(atan, atanh)
LIBRARY_TURNED(asinh, asin)

VALUE T F(ccos)(T z) {
  wide found = wide_cosh(turned(of(z.re, z.im)));
  return make((PART)found.re, (PART)found.im);
}

#define through(function, z) function(z)

VALUE T power(T a, T b) {
  if (b.re == 0 && b.im == 0)
    return make(1, 0);
  if (a.re == 0 && a.im == 0 && b.re > 0)
    return make(0, 0);
  wide l = wide_log(of(a.re, a.im));
  wide found = wide_exp(of((double)b.re * l.re - (double)b.im * l.im, (double)b.re * l.im + (double)b.im * l.re));
  return make((PART)found.re, (PART)found.im);
}
#undef LIBRARY
#undef LIBRARY_TURNED
