/* point_rest.cuh - what f16 and bf16 share of the rows that eager computes in them. The includer
 * defines HALF (the type), TO_HALF and FROM_HALF, TO_BITS and FROM_BITS, and SELF, NAME and the row
 * macros of its own rows as REST. */
#include "kernels/cuda/element.cuh"

#define VALUE      static __device__
#define T          float
#define REAL_TYPE  float
#define REAL_DTYPE FNZ_F32

namespace {
VALUE uint16_t TO(float x) {
  return TO_BITS(TO_HALF(x));
}
VALUE float FROM(uint16_t bits) {
  return FROM_HALF(FROM_BITS(bits));
}
VALUE float R(float x) {
  return FROM(TO(x));
}
#include "kernels/cpu/point_rest_values.h"
#include "kernels/cuda/point_rows.cuh"

#define REST(name, arity, value) FUNCTOR(name, arity, SAME, value)
