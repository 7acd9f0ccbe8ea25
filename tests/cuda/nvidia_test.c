/* nvidia_test.c - what engine/cuda says by itself of NVIDIA's headers, against those: numbers and
 * layouts when this is compiled (of functions: nvidia_signatures.cpp), names of functions when it
 * runs.
 *
 *     nvidia_test LIBCUDA
 *
 * The stub of the driver that comes with a toolkit has each name that a driver of that release has.
 */
#include "engine/cuda/libraries.h"

#include <cublasLt.h>
#include <cuda.h>
#include <cudnn.h>
#include <dlfcn.h>
#include <nvrtc.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>

#define DRIVER_NUMBER(name, theirs, value)           _Static_assert((theirs) == (value), #theirs);
#define DRIVER_ERROR(theirs, value, class, is_fatal) _Static_assert((theirs) == (value), #theirs);
#define NVRTC_NUMBER(name, theirs, value)            _Static_assert((theirs) == (value), #theirs);
#define CUBLAS_NUMBER(name, theirs, value)           _Static_assert((theirs) == (value), #theirs);
#define CUDNN_NUMBER(name, theirs, value)            _Static_assert((theirs) == (value), #theirs);
#include "engine/cuda/numbers.def"

#define LIES(mine, a, theirs, b)                                                                   \
  _Static_assert(offsetof(mine, a) == offsetof(theirs, b) &&                                       \
                     sizeof((mine){0}.a) == sizeof((theirs){0}.b),                                 \
                 #mine "." #a);

_Static_assert(sizeof(fnzi_cuda_kernel_node) == sizeof(CUDA_KERNEL_NODE_PARAMS_v1), "a node");
LIES(fnzi_cuda_kernel_node, function, CUDA_KERNEL_NODE_PARAMS_v1, func)
LIES(fnzi_cuda_kernel_node, blocks[0], CUDA_KERNEL_NODE_PARAMS_v1, gridDimX)
LIES(fnzi_cuda_kernel_node, blocks[2], CUDA_KERNEL_NODE_PARAMS_v1, gridDimZ)
LIES(fnzi_cuda_kernel_node, threads[0], CUDA_KERNEL_NODE_PARAMS_v1, blockDimX)
LIES(fnzi_cuda_kernel_node, threads[2], CUDA_KERNEL_NODE_PARAMS_v1, blockDimZ)
LIES(fnzi_cuda_kernel_node, shared_bytes, CUDA_KERNEL_NODE_PARAMS_v1, sharedMemBytes)
LIES(fnzi_cuda_kernel_node, arguments, CUDA_KERNEL_NODE_PARAMS_v1, kernelParams)
LIES(fnzi_cuda_kernel_node, extra, CUDA_KERNEL_NODE_PARAMS_v1, extra)

_Static_assert(sizeof(fnzi_cuda_product_choice) == sizeof(cublasLtMatmulHeuristicResult_t), "");
LIES(fnzi_cuda_product_choice, algorithm, cublasLtMatmulHeuristicResult_t, algo)
LIES(fnzi_cuda_product_choice, scratch, cublasLtMatmulHeuristicResult_t, workspaceSize)
LIES(fnzi_cuda_product_choice, state, cublasLtMatmulHeuristicResult_t, state)
LIES(fnzi_cuda_product_choice, waves, cublasLtMatmulHeuristicResult_t, wavesCount)
LIES(fnzi_cuda_product_choice, reserved, cublasLtMatmulHeuristicResult_t, reserved)

#define CHOICE(theirs)                                                                             \
  _Static_assert(sizeof(fnzi_cuda_conv_choice) == sizeof(theirs), #theirs);                        \
  LIES(fnzi_cuda_conv_choice, algorithm, theirs, algo)                                             \
  LIES(fnzi_cuda_conv_choice, status, theirs, status)                                              \
  LIES(fnzi_cuda_conv_choice, time, theirs, time)                                                  \
  LIES(fnzi_cuda_conv_choice, scratch, theirs, memory)                                             \
  LIES(fnzi_cuda_conv_choice, determinism, theirs, determinism)                                    \
  LIES(fnzi_cuda_conv_choice, math, theirs, mathType)                                              \
  LIES(fnzi_cuda_conv_choice, reserved, theirs, reserved)
CHOICE(cudnnConvolutionFwdAlgoPerf_t)
CHOICE(cudnnConvolutionBwdDataAlgoPerf_t)
CHOICE(cudnnConvolutionBwdFilterAlgoPerf_t)

static const char *const driver[] = {
#define DRIVER(member, symbol, arguments) #symbol,
#include "engine/cuda/driver.def"
};

int main(int argc, char **argv) {
  enum { SKIPPED = 77 };
  int missing = 0;
  void *library = argc == 2 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
  if (!library) {
    printf("SKIPPED: numbers, layouts and arguments are right; no stub of the driver can be "
           "opened: %s\n",
           argc == 2 ? dlerror() : "none was named");
    return SKIPPED;
  }
  for (size_t i = 0; i < sizeof driver / sizeof *driver; i++)
    if (!dlsym(library, driver[i])) {
      fprintf(stderr, "nvidia_test: the driver of this release has no %s\n", driver[i]);
      missing++;
    }
  printf("%zu functions of the driver, %d missing\n", sizeof driver / sizeof *driver, missing);
  return missing ? EXIT_FAILURE : EXIT_SUCCESS;
}
