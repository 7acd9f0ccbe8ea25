/* point_complex.cuh - the complex classes: what c64 and c128 share. The includer defines PART,
 * SELF, REAL_DTYPE, NAME (of the table) and F(x). */
#include "kernels/cuda/element.cuh"

#include <cuda/std/complex>

#define VALUE               static __device__
#define T                   pair_of<PART>
#define REAL_TYPE           PART
#define RESULT(type, value) (value)

namespace {
VALUE T make(PART re, PART im) {
  return {re, im};
}

/* The C library's functions by their names there. */
#define LIBRARY(function)                                                                          \
  VALUE T F(c##function)(T a) {                                                                    \
    cuda::std::complex<PART> z = cuda::std::function(cuda::std::complex<PART>(a.re, a.im));        \
    return make(z.real(), z.imag());                                                               \
  }
LIBRARY(sqrt)
LIBRARY(exp)
LIBRARY(log)
LIBRARY(sin)
LIBRARY(cos)
LIBRARY(tan)
LIBRARY(asin)
LIBRARY(acos)
LIBRARY(atan)
LIBRARY(sinh)
LIBRARY(cosh)
LIBRARY(tanh)
LIBRARY(asinh)
LIBRARY(acosh)
LIBRARY(atanh)

template <class Function> VALUE T through(Function f, T a) {
  return f(a);
}

VALUE T power(T a, T b) {
  cuda::std::complex<PART> z =
      cuda::std::pow(cuda::std::complex<PART>(a.re, a.im), cuda::std::complex<PART>(b.re, b.im));
  return make(z.real(), z.imag());
}

#include "kernels/cpu/point_complex_values.h"
#include "kernels/cuda/point_rows.cuh"

#define COMPLEX FUNCTOR
#include "kernels/point.def"
#undef COMPLEX
} // namespace

extern const fnzi_cuda_point NAME[] = {
#define COMPLEX(name, arity, out, value) ENTRY(name, arity, out)
#include "kernels/point.def"
    END_OF_ROWS};
