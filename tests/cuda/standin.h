/* standin.h - calls by which tests query the stand-in for CUDA's driver: a library libcuda.so.1
 * that runs kernels built by the host's compiler, and is stricter than a GPU.
 *
 * In the environment: STANDIN_MEMORY, bytes that the device has (no limit); STANDIN_DEVICES (1);
 * STANDIN_REVERSE, threads run the last one first; STANDIN_SM, the compute capability (90);
 * STANDIN_DRIVER, the CUDA that the driver is for (13000); STANDIN_FAIL, "FUNCTION:N:ERROR": call N
 * of it from here on gives the error, and after an error from 700 on nothing works until the device
 * is released; of the function "kernel", launch N when it runs. */
#ifndef FNZ_TESTS_CUDA_STANDIN_H
#define FNZ_TESTS_CUDA_STANDIN_H

#include <stddef.h>
#include <stdint.h>

typedef struct standin_counts {
  uint64_t bytes_in, bytes_out, bytes_within; /* copied to the device, from it, on it */
  uint64_t launches, modules, waits;
  uint64_t captures, graphs, nodes_set; /* captured, launched, nodes that got other operands */
  uint64_t bytes_held, blocks_held;     /* memory that was not given back */
  uint64_t pinned_held, calls;          /* the same of the host, for copies; calls of the driver */
  uint64_t streams_held, modules_held, contexts_held, graphs_held;
  const char *wrong; /* the first access or call that is wrong; NULL: none */
} standin_counts;

/* "standin_counts_get" of libcuda.so.1. */
typedef void standin_counts_fn(standin_counts *out);

#endif
