/* point_c64.c - pointwise operators on complex numbers of two single floats. Quotients round once
 * where eager's do, products do not; the functions are those of the C library, as eager's are. */
#include "kernels/cpu/point.h"

#include <complex.h>
#include <math.h>

typedef struct complex_float {
  float re, im;
} complex_float;

#define T                   complex_float
#define SELF                FNZ_C64
#define REAL_TYPE           float
#define REAL_DTYPE          FNZ_F32
#define RESULT(type, value) (value)
#include "kernels/cpu/point_rows.h"

static const T one = {1, 0};

static bool is_zero(T a) {
  return a.re == 0 && a.im == 0;
}

static T sum(T a, T b) {
  return (T){a.re + b.re, a.im + b.im};
}

static T minus(T a) {
  return (T){-a.re, -a.im};
}

static T times(T a, T b) {
  return (T){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Both parts by a real number. */
static T part_over(T a, float b) {
  return (T){a.re / b, a.im / b};
}

/* Smith's division: scaled by the larger part of the divisor. */
static T over(T a, T b) {
  float re = fabsf(b.re), im = fabsf(b.im);
  if (re == 0 && im == 0)
    return part_over(a, re);
  if (re >= im) {
    float ratio = b.im / b.re, scale = 1 / fmaf(b.im, ratio, b.re);
    return (T){fmaf(a.im, ratio, a.re) * scale, fmaf(-a.re, ratio, a.im) * scale};
  }
  float ratio = b.re / b.im, scale = 1 / fmaf(b.re, ratio, b.im);
  return (T){fmaf(a.re, ratio, a.im) * scale, fmaf(a.im, ratio, -a.re) * scale};
}

/* One of the C library's functions. */
static T through(float complex (*f)(float complex), T a) {
  float complex z;
  memcpy(&z, &a, sizeof z);
  z = f(z);
  return (T){crealf(z), cimagf(z)};
}

static T power(T a, T b) {
  float complex x, y;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  x = cpowf(x, y);
  return (T){crealf(x), cimagf(x)};
}

static T expm1_of(T a) {
  float half = sinf(a.im / 2);
  return (T){fmaf(expm1f(a.re), cosf(a.im), -(2 * half * half)), expf(a.re) * sinf(a.im)};
}

/* log|1 + a| without cancellation where a is small. */
static T log1p_of(T a) {
  float angle = atan2f(a.im, a.re + 1);
  if (hypotf(a.re, a.im) >= 0.5f)
    return (T){logf(hypotf(a.re + 1, a.im)), angle};
  float r = fmaf(a.re, 2 + a.re, a.im * a.im);
  return (T){r == 0 ? a.re : 0.5f * log1pf(r), angle};
}

static T logistic(T a) {
  return over(one, sum(one, through(cexpf, minus(a))));
}

static T blend(T a, T b, T weight) {
  if (weight.re * weight.re + weight.im * weight.im < 0.25f)
    return sum(a, times(weight, sum(b, minus(a))));
  return sum(b, minus(times(sum(b, minus(a)), sum(one, minus(weight)))));
}

static T direction(T a) {
  float size = hypotf(a.re, a.im);
  return size == 0 ? (T){0, 0} : part_over(a, size);
}

static float replaced(float a, T nan, T high, T low) {
  return a != a ? nan.re : a == INFINITY ? high.re : a == -INFINITY ? low.re : a;
}

#define COMPLEX LOOP
#include "kernels/cpu/point.def"
#undef COMPLEX

const fnzi_point fnzi_points_c64[] = {
#define COMPLEX(name, arity, out, value) {#name, arity, OUT_DTYPE_##out, run_##name},
#include "kernels/cpu/point.def"
    {NULL, 0, FNZ_BOOL, NULL}};
