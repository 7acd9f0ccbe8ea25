/* shim.h - what stands before the text of kernels when a host compiler builds it (standin_nvrtc.c):
 * the words that engine/cuda/prelude.cu leaves to NVRTC. Each access goes through the stand-in's
 * check of the memory; a device's address is no address of the host. */
#include <stddef.h>
#include <stdint.h>

#define __device__
#define INFINITY __builtin_inff()
#define NAN      __builtin_nanf("")
#define memcpy   __builtin_memcpy

/* <math.h> takes longer to read than all of a text. */
extern "C" {
#define ONE(name)                                                                                  \
  double name(double);                                                                             \
  float name##f(float);
#define TWO(name)                                                                                  \
  double name(double, double);                                                                     \
  float name##f(float, float);
/* clang-format off */
ONE(acos) ONE(acosh) ONE(asin) ONE(asinh) ONE(atan) ONE(atanh) ONE(ceil) ONE(cos) ONE(cosh)
ONE(erf) ONE(erfc) ONE(exp) ONE(exp2) ONE(expm1) ONE(fabs) ONE(floor) ONE(lgamma) ONE(log)
ONE(log10) ONE(log1p) ONE(log2) ONE(rint) ONE(sin) ONE(sinh) ONE(sqrt) ONE(tan) ONE(tanh)
ONE(trunc) TWO(atan2) TWO(copysign) TWO(fmax) TWO(fmin) TWO(fmod) TWO(hypot) TWO(nextafter)
TWO(pow)
    /* clang-format on */
    double fma(double, double, double);
float fmaf(float, float, float);
double modf(double, double *);
}

static inline float __int_as_float(int bits) {
  float v;
  memcpy(&v, &bits, sizeof v);
  return v;
}
static inline double __longlong_as_double(long long bits) {
  double v;
  memcpy(&v, &bits, sizeof v);
  return v;
}

/* Set when the module is loaded: gives the host's address; NULL when the access is wrong. */
extern "C" {
void *(*standin_access)(const void *at, size_t bytes, int writes);
}
static int64_t standin_thread, standin_threads;

template <class Cell> static inline Cell standin_load(const void *at) {
  Cell cell = {};
  const void *from = standin_access(at, sizeof cell, 0);
  if (from)
    memcpy(&cell, from, sizeof cell);
  return cell;
}

template <class Cell> static inline void standin_store(void *at, Cell cell) {
  void *to = standin_access(at, sizeof cell, 1);
  if (to)
    memcpy(to, &cell, sizeof cell);
}

#define FIRST                      standin_thread
#define STEP                       standin_threads
#define LOAD(type, address)        standin_load<type>(address)
#define STORE(type, address, what) standin_store<type>(address, what)
#define KERNEL(name, count, threads)                                                               \
  static void name##_body(const places<count> p);                                                  \
  extern "C" const int name##_operands = count;                                                    \
  extern "C" void name(void **arguments, int64_t thread, int64_t of) {                             \
    standin_thread = thread;                                                                       \
    standin_threads = of;                                                                          \
    name##_body(*(const places<count> *)arguments[0]);                                             \
  }                                                                                                \
  static void name##_body(const places<count> p)
