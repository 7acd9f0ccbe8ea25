/* cubin.h - what code for a GPU says of its kernels. */
#ifndef FNZI_CUDA_CUBIN_H
#define FNZI_CUDA_CUBIN_H

#include "base/base.h"

typedef struct fnzi_cuda_figures {
  bool known;
  uint32_t registers; /* of a thread */
  uint32_t stack;     /* bytes of a thread: what has no register */
  uint64_t shared;    /* bytes of a block */
} fnzi_cuda_figures;

/* known is false for what is no cubin, and for a kernel that is not in it. */
fnzi_cuda_figures fnzi_cuda_cubin_figures(const void *code, size_t size, const char *kernel);

#endif
