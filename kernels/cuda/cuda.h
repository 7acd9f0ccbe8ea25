/* cuda.h - pointwise operators on a GPU: the rows of kernels/point.def as functors, one file
 * per class as in kernels/cpu. What stands here is C; no C++ leaves this folder.
 *
 * This is a library of its own (fnz_cuda), made where CMake finds nvcc. Nothing of libfnz calls it:
 * it is what a CUDA backend launches. */
#ifndef FNZI_CUDA_H
#define FNZI_CUDA_H

#include <fnz/types.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { FNZI_CUDA_OPERANDS = 4 };

/* Operand 0 is the result. Strides in bytes; elements of another dtype than the one computed are
 * converted where they are read and written. */
typedef struct fnzi_cuda_loop {
  int64_t count; /* of elements: the product of the sizes */
  uint32_t rank;
  int64_t sizes[FNZ_MAX_RANK];
  void *data[FNZI_CUDA_OPERANDS + 1];
  fnz_dtype dtypes[FNZI_CUDA_OPERANDS + 1];
  int64_t strides[FNZI_CUDA_OPERANDS + 1][FNZ_MAX_RANK];
} fnzi_cuda_loop;

/* Launches on a stream; gives a cudaError_t. `scalar` is one element of the class on the host. */
typedef int fnzi_cuda_launch(const fnzi_cuda_loop *loop, const void *scalar, void *stream);

typedef struct fnzi_cuda_point {
  const char *name;
  uint8_t arity;
  fnz_dtype out;              /* as in fnzi_cpu_point */
  fnzi_cuda_launch *run;      /* all operands from memory; scalar is not read */
  fnzi_cuda_launch *on_self;  /* of two operands: the first from memory, the second is the scalar */
  fnzi_cuda_launch *on_other; /* the second from memory, the first is the scalar; else NULL */
} fnzi_cuda_point;

/* The rows of a class in the order of point.def; they end with a row whose name is NULL. Rows of
 * f16 and bf16 are only those that eager computes without f32. */
extern const fnzi_cuda_point fnzi_cuda_points_i64[], fnzi_cuda_points_f32[], fnzi_cuda_points_f64[],
    fnzi_cuda_points_c64[], fnzi_cuda_points_c128[], fnzi_cuda_points_f16[],
    fnzi_cuda_points_bf16[];

#ifdef __cplusplus
}
#endif

#endif
