/* conv_source.h - where a convolution looks, along one dimension: for the CPU's loops and as text
 * of kernels for a GPU. */
#ifndef FNZI_META_CONV_SOURCE_H
#define FNZI_META_CONV_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

/* The place in an input of size `in` that element k of the kernel reads for the place `out`; -1 for
 * none. */
static inline int64_t fnzi_meta_conv_source(int64_t out, int64_t k, int64_t stride,
                                            int64_t dilation, int64_t left, int64_t in) {
  int64_t at = out * stride - left + k * dilation;
  return at >= 0 && at < in ? at : -1;
}

/* The same of a transposed convolution. */
static inline int64_t fnzi_meta_conv_source_back(int64_t out, int64_t k, int64_t stride,
                                                 int64_t dilation, int64_t left, int64_t in) {
  int64_t at = out + left - k * dilation;
  return at % stride == 0 && at >= 0 && at / stride < in ? at / stride : -1;
}

#endif
