/* point_rows.cuh - makes the functors, kernels and the table of one class. The includer defines T
 * (the computing type), SELF (its dtype), REAL_TYPE, REAL_DTYPE and NAME (of the table), includes
 * the class's values, then this. Loops are the host's of kernels/cpu/point_rows.h: each thread
 * takes every so many elements, wherever they lie. */
#include "kernels/cpu/point_out.h"
#include "kernels/cuda/element.cuh"

/* What one row computes. */
#define FUNCTOR(name, arity_, out_kind, value)                                                     \
  struct name##_functor {                                                                          \
    enum { arity = arity_ };                                                                       \
    __device__ OUT_TYPE_##out_kind operator()(T a, T b, T c, T d) const {                          \
      (void)a, (void)b, (void)c, (void)d;                                                          \
      return RESULT(OUT_TYPE_##out_kind, value);                                                   \
    }                                                                                              \
  };
#define CHECKED_FUNCTOR(name, arity, out, check, value) FUNCTOR(name, arity, out, value)
/* The device function stands for the vector function of its name. */
#define MAPPED_FUNCTOR(name, arity_, before, function, accuracy, after)                            \
  struct name##_functor {                                                                          \
    enum { arity = arity_ };                                                                       \
    __device__ T operator()(T a, T b, T c, T d) const {                                            \
      (void)b, (void)c, (void)d;                                                                   \
      T t = F(function)(before);                                                                   \
      return (T)(after);                                                                           \
    }                                                                                              \
  };

/* One operand is a number, kept in the functor. */
template <class Row> struct functor_on_self {
  enum { arity = 1 };
  T other;
  __device__ auto operator()(T a, T, T, T) const {
    return Row()(a, other, other, other);
  }
};
template <class Row> struct functor_on_other {
  enum { arity = 1 };
  T self;
  __device__ auto operator()(T b, T, T, T) const {
    return Row()(self, b, b, b);
  }
};

template <class Functor>
static __global__ void __launch_bounds__(256) each_element(fnzi_cuda_loop loop, Functor functor) {
  int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < loop.count; i += step) {
    char *at[Functor::arity + 1];
    T in[FNZI_CUDA_OPERANDS] = {};
    for (int k = 0; k <= Functor::arity; k++)
      at[k] = (char *)loop.data[k];
    int64_t rest = i;
    for (uint32_t dim = loop.rank; dim-- > 0; rest /= loop.sizes[dim])
      for (int k = 0; k <= Functor::arity; k++)
        at[k] += rest % loop.sizes[dim] * loop.strides[k][dim];
    for (int k = 0; k < Functor::arity; k++)
      in[k] = load_element<T>(at[k + 1], loop.dtypes[k + 1]);
    store_element(at[0], loop.dtypes[0], functor(in[0], in[1], in[2], in[3]));
  }
}

template <class Functor>
static int start(const fnzi_cuda_loop *loop, const Functor &functor, void *stream) {
  enum { THREADS = 256, MOST_BLOCKS = 65535 };
  if (loop->count <= 0)
    return cudaSuccess;
  int64_t blocks = (loop->count - 1) / THREADS + 1;
  each_element<<<(unsigned)(blocks < MOST_BLOCKS ? blocks : MOST_BLOCKS), THREADS, 0,
                 (cudaStream_t)stream>>>(*loop, functor);
  return cudaGetLastError();
}

template <class Row>
static int launch(const fnzi_cuda_loop *loop, const void *scalar, void *stream) {
  (void)scalar;
  return start(loop, Row(), stream);
}
template <class Row>
static int launch_on_self(const fnzi_cuda_loop *loop, const void *scalar, void *stream) {
  return start(loop, functor_on_self<Row>{*(const T *)scalar}, stream);
}
template <class Row>
static int launch_on_other(const fnzi_cuda_loop *loop, const void *scalar, void *stream) {
  return start(loop, functor_on_other<Row>{*(const T *)scalar}, stream);
}

/* Rows of two operands have launches with a number in place of one. */
template <class Row, int arity> struct with_number {
  static constexpr fnzi_cuda_launch *on_self = nullptr, *on_other = nullptr;
};
template <class Row> struct with_number<Row, 2> {
  static constexpr fnzi_cuda_launch *on_self = launch_on_self<Row>,
                                    *on_other = launch_on_other<Row>;
};

#define ENTRY(name, arity, out)                                                                    \
  {#name,                                                                                          \
   arity,                                                                                          \
   OUT_DTYPE_##out,                                                                                \
   launch<name##_functor>,                                                                         \
   with_number<name##_functor, arity>::on_self,                                                    \
   with_number<name##_functor, arity>::on_other},
#define END_OF_ROWS                                                                                \
  { nullptr, 0, FNZ_BOOL, nullptr, nullptr, nullptr }
