/* point_complex.h - the complex classes: what c64 and c128 share. The includer defines T, SELF,
 * NAME, REAL_TYPE, REAL_DTYPE and F(x). Quotients round once if eager's do, products do not; the
 * functions are from the C library, as in eager. */
#include <complex.h>
#include <math.h>

#define PART                REAL_TYPE
#define RESULT(type, value) (value)
#include "kernels/cpu/point_rows.h"

static T make(PART re, PART im) {
  T z = {re, im};
  return z;
}

/* One of the C library's functions. */
static T through(PART complex (*f)(PART complex), T a) {
  PART complex z;
  memcpy(&z, &a, sizeof z);
  z = f(z);
  return make(F(creal)(z), F(cimag)(z));
}

static T power(T a, T b) {
  PART complex x, y;
  memcpy(&x, &a, sizeof x);
  memcpy(&y, &b, sizeof y);
  x = F(cpow)(x, y);
  return make(F(creal)(x), F(cimag)(x));
}

#define VALUE static
#include "kernels/cpu/point_complex_values.h"

#define COMPLEX LOOP
#include "kernels/point.def"
#undef COMPLEX

const fnzi_cpu_point NAME[] = {
#define COMPLEX(name, arity, out, value) ENTRY(name, arity, PLAIN, out)
#include "kernels/point.def"
    END_OF_ROWS};
