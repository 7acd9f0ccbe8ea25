/* standin_library.h - the interface between stand-ins for libraries of CUDA and the stand-in for
 * its driver, and queries of tests. */
#ifndef FNZ_TESTS_CUDA_STANDIN_LIBRARY_H
#define FNZ_TESTS_CUDA_STANDIN_LIBRARY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* --- Of libcuda.so.1 */
/* The host's address of bytes on the device that `who` reads, or writes from now on; NULL when that
 * is wrong, as all is from then on. */
void *standin_bytes(uint64_t at, size_t bytes, bool writes, const char *who);
void standin_refuse(const char *who, const char *what);
/* Puts work on a stream, with a copy of its operands. Gives a CUresult. */
typedef void standin_work_fn(const void *what);
int standin_work(void *stream, standin_work_fn *work, const void *what, size_t bytes);

/* --- Of the stand-ins for libraries: "standin_cublas_counts", "standin_cudnn_counts" */
typedef struct standin_library_counts {
  uint64_t opened, held; /* handles that were made; handles and descriptors that were not ended */
  uint64_t runs,         /* products or convolutions that were computed; */
      backward,          /* transposed ones among them, */
      by_weight;         /* and the gradients by a weight */
  uint64_t refused;      /* calls whose descriptors do not fit each other, or the memory */
  uint64_t asked;        /* for algorithms */
} standin_library_counts;
typedef void standin_library_counts_fn(standin_library_counts *out);

#endif
