/* cubin.h - reads figures of kernels (registers, memory) from their compiled code. */
#ifndef FNZI_CUDA_CUBIN_H
#define FNZI_CUDA_CUBIN_H

#include "base/base.h"

typedef struct fnzi_cuda_figures {
  bool known;
  uint32_t registers; /* of a thread */
  uint32_t stack;     /* bytes of a thread, for values without a register */
  uint64_t shared;    /* bytes of a block */
} fnzi_cuda_figures;

/* Sets known to false if the code is no cubin or does not have the kernel. */
fnzi_cuda_figures fnzi_cuda_cubin_figures(const void *code, size_t size, const char *kernel);

#endif
