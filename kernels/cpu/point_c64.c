/* point_c64.c - pointwise operators on complex numbers of two single floats. */
#include "kernels/cpu/point.h"

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

static T sum(T a, T b) {
  return (T){a.re + b.re, a.im + b.im};
}

static T minus(T a) {
  return (T){-a.re, -a.im};
}

static T times(T a, T b) {
  return (T){a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

/* Smith's division: scaled by the larger part of the divisor. */
static T over(T a, T b) {
  float re = fabsf(b.re), im = fabsf(b.im);
  if (re == 0 && im == 0)
    return (T){a.re / re, a.im / im};
  if (re >= im) {
    float ratio = b.im / b.re, scale = 1 / (b.re + b.im * ratio);
    return (T){(a.re + a.im * ratio) * scale, (a.im - a.re * ratio) * scale};
  }
  float ratio = b.re / b.im, scale = 1 / (b.re * ratio + b.im);
  return (T){(a.re * ratio + a.im) * scale, (a.im * ratio - a.re) * scale};
}

#define COMPLEX LOOP
#include "kernels/cpu/point.def"
#undef COMPLEX

const fnzi_point fnzi_points_c64[] = {
#define COMPLEX(name, arity, out, value) {#name, arity, OUT_DTYPE_##out, run_##name},
#include "kernels/cpu/point.def"
    {NULL, 0, FNZ_BOOL, NULL}};
