/* element.cuh - elements of any dtype as values of one computing type, and back, as
 * kernels/cpu/convert.c converts them. */
#ifndef FNZI_CUDA_ELEMENT_H
#define FNZI_CUDA_ELEMENT_H

#include "kernels/cuda/cuda.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

template <class Part> struct pair_of { Part re, im; };

/* Real numbers into a value, and out of it; complex ones by parts. */
template <class Value> struct element {
  static constexpr bool is_complex = false;
  using part = Value;
  static __device__ Value make(Value re, Value) {
    return re;
  }
  static __device__ Value re(Value v) {
    return v;
  }
  static __device__ Value im(Value) {
    return 0;
  }
};

template <class Part> struct element<pair_of<Part>> {
  static constexpr bool is_complex = true;
  using part = Part;
  static __device__ pair_of<Part> make(Part re, Part im) {
    return {re, im};
  }
  static __device__ Part re(pair_of<Part> v) {
    return v.re;
  }
  static __device__ Part im(pair_of<Part> v) {
    return v.im;
  }
};

template <class Value>
static __device__ __noinline__ Value load_element(const void *p, fnz_dtype dtype) {
  using E = element<Value>;
  using P = typename E::part;
  switch (dtype) {
  case FNZ_BOOL:
    return E::make((P)(*(const uint8_t *)p != 0), 0);
  case FNZ_U8:
    return E::make((P) * (const uint8_t *)p, 0);
  case FNZ_I8:
    return E::make((P) * (const int8_t *)p, 0);
  case FNZ_I16:
    return E::make((P) * (const int16_t *)p, 0);
  case FNZ_I32:
    return E::make((P) * (const int32_t *)p, 0);
  case FNZ_I64:
    return E::make((P) * (const int64_t *)p, 0);
  case FNZ_U16:
    return E::make((P) * (const uint16_t *)p, 0);
  case FNZ_U32:
    return E::make((P) * (const uint32_t *)p, 0);
  case FNZ_F16:
    return E::make((P)__half2float(*(const __half *)p), 0);
  case FNZ_BF16:
    return E::make((P)__bfloat162float(*(const __nv_bfloat16 *)p), 0);
  case FNZ_F32:
    return E::make((P) * (const float *)p, 0);
  case FNZ_F64:
    return E::make((P) * (const double *)p, 0);
  case FNZ_C64:
    return E::make((P)((const float *)p)[0], (P)((const float *)p)[1]);
  case FNZ_C128:
    return E::make((P)((const double *)p)[0], (P)((const double *)p)[1]);
  default:
    return E::make(0, 0);
  }
}

template <class Value>
static __device__ __noinline__ void store_element(void *p, fnz_dtype dtype, Value value) {
  using E = element<Value>;
  auto re = E::re(value), im = E::im(value);
  switch (dtype) {
  case FNZ_BOOL:
    *(uint8_t *)p = re != 0 || im != 0;
    break;
  case FNZ_U8:
    *(uint8_t *)p = (uint8_t)(int64_t)re;
    break;
  case FNZ_I8:
    *(int8_t *)p = (int8_t)(int64_t)re;
    break;
  case FNZ_I16:
    *(int16_t *)p = (int16_t)(int64_t)re;
    break;
  case FNZ_I32:
    *(int32_t *)p = (int32_t)(int64_t)re;
    break;
  case FNZ_I64:
    *(int64_t *)p = (int64_t)re;
    break;
  case FNZ_U16:
    *(uint16_t *)p = (uint16_t)(int64_t)re;
    break;
  case FNZ_U32:
    *(uint32_t *)p = (uint32_t)(int64_t)re;
    break;
  case FNZ_F16:
    *(__half *)p = __float2half((float)re);
    break;
  case FNZ_BF16:
    *(__nv_bfloat16 *)p = __float2bfloat16((float)re);
    break;
  case FNZ_F32:
    *(float *)p = (float)re;
    break;
  case FNZ_F64:
    *(double *)p = (double)re;
    break;
  case FNZ_C64:
    ((float *)p)[0] = (float)re;
    ((float *)p)[1] = (float)im;
    break;
  case FNZ_C128:
    ((double *)p)[0] = (double)re;
    ((double *)p)[1] = (double)im;
    break;
  default:
    break;
  }
}

#endif
