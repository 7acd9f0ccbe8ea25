/* point_complex_values.h - building blocks of the values of complex rows. The includer defines T,
 * with parts re and im of type PART, F(x), VALUE, the specifiers of functions (they compute here
 * and on a GPU), and the functions make(re, im) and through(f, z), a function of the C library. */
VALUE bool is_zero(T a) {
  return a.re == 0 && a.im == 0;
}

VALUE T sum(T a, T b) {
  return make(a.re + b.re, a.im + b.im);
}

VALUE T minus(T a) {
  return make(-a.re, -a.im);
}

/* A number with another sign; one without an imaginary part gets none. */
VALUE T opposite(T a) {
  return make(-a.re, a.im == 0 ? 0 : -a.im);
}

VALUE T times(T a, T b) {
  return make(a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re);
}

/* Both parts by a real number. */
VALUE T part_over(T a, PART b) {
  return make(a.re / b, a.im / b);
}

/* Smith's division: scaled by the larger part of the divisor. */
VALUE T over(T a, T b) {
  PART re = F(fabs)(b.re), im = F(fabs)(b.im);
  if (re == 0 && im == 0)
    return part_over(a, re);
  if (re >= im) {
    PART ratio = b.im / b.re, scale = 1 / F(fma)(b.im, ratio, b.re);
    return make(F(fma)(a.im, ratio, a.re) * scale, F(fma)(-a.re, ratio, a.im) * scale);
  }
  PART ratio = b.re / b.im, scale = 1 / F(fma)(b.re, ratio, b.im);
  return make(F(fma)(a.re, ratio, a.im) * scale, F(fma)(a.im, ratio, -a.re) * scale);
}

VALUE T expm1_of(T a) {
  PART half = F(sin)(a.im / 2);
  return make(F(fma)(F(expm1)(a.re), F(cos)(a.im), -(2 * half * half)),
              F(exp)(a.re) * F(sin)(a.im));
}

/* log|1 + a| without cancellation where a is small. */
VALUE T log1p_of(T a) {
  PART angle = F(atan2)(a.im, a.re + 1);
  if (F(hypot)(a.re, a.im) >= (PART)0.5)
    return make(F(log)(F(hypot)(a.re + 1, a.im)), angle);
  PART r = F(fma)(a.re, 2 + a.re, a.im * a.im);
  return make(r == 0 ? a.re : (PART)0.5 * F(log1p)(r), angle);
}

VALUE T logistic(T a) {
  return over(make(1, 0), sum(make(1, 0), through(F(cexp), minus(a))));
}

VALUE T blend(T a, T b, T weight) {
  if (weight.re * weight.re + weight.im * weight.im < (PART)0.25)
    return sum(a, times(weight, sum(b, minus(a))));
  return sum(b, minus(times(sum(b, minus(a)), sum(make(1, 0), minus(weight)))));
}

VALUE T direction(T a) {
  PART size = F(hypot)(a.re, a.im);
  return size == 0 ? make(0, 0) : part_over(a, size);
}

VALUE PART replaced(PART a, T nan, T high, T low) {
  return a != a ? nan.re : a == (PART)INFINITY ? high.re : a == -(PART)INFINITY ? low.re : a;
}
