/* prelude.cu - what the text of every program begins with: types, words of the C library, and how a
 * kernel reaches its operands. NVRTC has no headers, and none is needed.
 *
 * Another compiler of the text has definitions of its own for everything within the first condition.
 */
#ifdef __CUDACC_RTC__
typedef signed char int8_t;
typedef short int16_t;
typedef int int32_t;
typedef long long int64_t;
typedef unsigned char uint8_t;
typedef unsigned short uint16_t;
typedef unsigned int uint32_t;
typedef unsigned long long uint64_t;
#define INT32_MIN (-2147483647 - 1)
#define INT64_MIN (-9223372036854775807ll - 1)
#define INT64_MAX 9223372036854775807ll
#define INFINITY  __int_as_float(0x7f800000)
#define NAN       __int_as_float(0x7fc00000)

/* A kernel of so many threads a block, with its operands, p.at[k] in bytes, and numbers, n.at[k],
 * if it has any; elements of it, which threads take in turns. */
#define KERNEL(name, threads, ...) extern "C" __global__ void __launch_bounds__(threads) name(__VA_ARGS__)
/* One whose threads of a block know of each other: blockIdx.x, threadIdx.x, barriers, shuffles, and
 * memory that they share. */
#define BLOCKS(name, threads, ...) KERNEL(name, threads, __VA_ARGS__)
#define SHARED(type, name, count)  __shared__ type name[count]
/* A member of a structure that is such memory. */
#define SHARED_FIELD(type, name, count) type (&name)[count]
#define FIRST                      ((int64_t)blockIdx.x * blockDim.x + threadIdx.x)
#define STEP                       ((int64_t)gridDim.x * blockDim.x)
#define LOAD(type, address)        (*(const type *)(address))
#define STORE(type, address, what) (*(type *)(address) = (what))

/* kernels/core/half.h computes these bit by bit, which would take a GPU longer than reading the
 * elements. Instructions give other bits for NaN, so these are computed apart. */
static __device__ uint16_t fnzi_krn_to_bf16(float v) {
  uint16_t h;
#if __CUDA_ARCH__ >= 800
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h) : "f"(v));
#else
  const unsigned bits = (unsigned)__float_as_int(v);
  h = (uint16_t)(bits + 0x7fff + (bits >> 16 & 1) >> 16);
#endif
  return v != v ? 0x7fc0 : h;
}
static __device__ float fnzi_krn_from_f16(uint16_t h) {
  const int magnitude = (h & 0x7fff) << 13, sign = (h & 0x8000) << 16;
  const int large = magnitude | (magnitude > 0x0f800000 ? 0x7fc00000 : 0x7f800000);
  const int small = __float_as_int(__int_as_float(magnitude) * 0x1p112f);
  return __int_as_float(sign | (magnitude >= 0x0f800000 ? large : small));
}
static __device__ uint16_t fnzi_krn_to_f16(float v) {
  const int bits = __float_as_int(v);
  uint16_t h;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h) : "f"(v));
  return v != v ? (uint16_t)(bits >> 16 & 0x8000 | 0x7e00 | bits >> 13 & 0x3ff) : h;
}
#endif

template <int count> struct places { char *at[count]; };
template <int count> struct numbers { int64_t at[count]; };

/* i / d and i / inner % d for i below 2^31: in place of a divisor its factor and, above that, its
 * shift (text_put.c). */
template <class T> static __device__ T quotient(T i, int64_t by) {
  const uint32_t of = (uint32_t)i;
  return (T)((uint32_t)(((uint64_t)of * (uint32_t)by >> 32) + of) >> (by >> 32));
}
template <class T> static __device__ T digit(T i, int64_t by_inner, int64_t by, int64_t d) {
  const T v = quotient(i, by_inner);
  return v - quotient(v, by) * (T)d;
}

/* Sixteen bytes that only move. */
struct alignas(16) cell_16 {
  uint64_t halves[2];
};
struct alignas(4) cell_C32 {
  uint16_t re, im;
};
struct alignas(8) cell_C64 {
  float re, im;
};
struct alignas(16) cell_C128 {
  double re, im;
};
typedef uint8_t cell_F8;

/* Elements side by side, that are brought at once: 16 bytes at a time. */
template <class T, int n> struct alignas(n * sizeof(T) < 16 ? n * sizeof(T) : 16) several {
  T of[n];
};
