/* nvidia_signatures.cpp - what engine/cuda/driver.def and libraries.def say of functions against
 * the headers of their libraries: as many arguments, and each goes where and as wide as it is
 * taken. It only has to compile. */
#define __CUDA_API_VERSION_INTERNAL    /* a name is the version that a library has by it, older ones \
                                          too */
#include <cublasLt.h>
#include <cuda.h>
#include <cudnn.h>
#include <nvrtc.h>

#include <cstdint>
#include <type_traits>

/* Their layouts: nvidia_test.c. */
struct fnzi_cuda_kernel_node;
struct fnzi_cuda_product_choice;
struct fnzi_cuda_conv_choice;

/* What is behind a pointer; 0: not known, or of many kinds. */
template <class T, class = void> constexpr size_t width = 0;
template <class T> constexpr size_t width<T, std::enable_if_t<std::is_scalar_v<T>>> = sizeof(T);

template <class Mine, class Theirs> constexpr bool points_alike() {
  constexpr size_t mine = width<std::remove_pointer_t<Mine>>,
                   theirs = width<std::remove_pointer_t<Theirs>>;
  return !std::is_pointer_v<Mine> || !std::is_pointer_v<Theirs> || mine == 0 || theirs == 0 ||
         mine == theirs;
}

/* Integers, addresses and handles are one kind of register. */
template <class Mine, class Theirs>
constexpr bool is_alike = std::is_scalar_v<Mine> &&std::is_scalar_v<Theirs> &&
                          sizeof(Mine) == sizeof(Theirs) &&
                          std::is_floating_point_v<Mine> ==
                              std::is_floating_point_v<Theirs> &&points_alike<Mine, Theirs>();

template <class Mine, class Theirs> constexpr bool fits = false;
template <class R, class... Mine, class S, class... Theirs>
constexpr bool fits<R(Mine...), S(Theirs...)> = [] {
  if constexpr (sizeof...(Mine) == sizeof...(Theirs))
    return sizeof(R) == sizeof(S) && (is_alike<Mine, Theirs> && ...);
  return false;
}();

/* It can fail. */
static_assert(fits<int(void **, int), CUresult(CUcontext *, CUdevice)>,
              "an argument is as it should be");
static_assert(!fits<int(void **), CUresult(CUcontext *, CUdevice)>, "an argument is missing");
static_assert(!fits<int(int *), CUresult(CUdeviceptr *)>, "a result is too narrow");
static_assert(!fits<int(void *, int), CUresult(CUcontext, size_t)>, "an argument is too narrow");
static_assert(!fits<int(double), CUresult(CUdeviceptr)>,
              "an argument is in another kind of register");

#define DRIVER(member, symbol, arguments)                                                          \
  static_assert(fits<int arguments, decltype(symbol)>, #symbol);
#define NVRTC(member, symbol, arguments) DRIVER(member, symbol, arguments)
#include "engine/cuda/driver.def"
#define CUBLAS(member, symbol, arguments) DRIVER(member, symbol, arguments)
#define CUDNN(member, symbol, arguments)  DRIVER(member, symbol, arguments)
#undef DRIVER
#define DRIVER(member, symbol, arguments)                                                          \
  static_assert(fits<int arguments, decltype(symbol)>, #symbol);
#include "engine/cuda/libraries.def"
