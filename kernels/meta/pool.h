/* pool.h - sliding windows over planes as numbers, read off the arguments once for the shape rule
 * and the kernel. */
#ifndef FNZI_META_POOL_H
#define FNZI_META_POOL_H

#include "kernels/core/core.h"

enum { FNZI_POOL_MAX_SPATIAL = 3 };

/* Dimensions beyond `spatial` are of size 1 and change nothing. */
typedef struct fnzi_meta_pool {
  uint32_t spatial;
  bool batched;
  int64_t planes; /* batch times channels */
  int64_t in[FNZI_POOL_MAX_SPATIAL], out[FNZI_POOL_MAX_SPATIAL];
  int64_t kernel[FNZI_POOL_MAX_SPATIAL], stride[FNZI_POOL_MAX_SPATIAL];
  int64_t padding[FNZI_POOL_MAX_SPATIAL], dilation[FNZI_POOL_MAX_SPATIAL];
} fnzi_meta_pool;

/* Reads max_pool*, avg_pool*. */
FNZ_MUST_CHECK fnz_status fnzi_meta_pool_read(fnzi_krn_call *call, fnzi_meta_pool *out);
/* Reads adaptive_avg_pool*: only in and out are set. */
FNZ_MUST_CHECK fnz_status fnzi_meta_pool_read_adaptive(fnzi_krn_call *call, fnzi_meta_pool *out);
/* Reads upsample_*: in and out; scales[i] is the factor given for a dimension, 0 when none was. */
FNZ_MUST_CHECK fnz_status fnzi_meta_resample_read(fnzi_krn_call *call, fnzi_meta_pool *out,
                                                  double *scales);

/* Reads upsample_*_backward: in and out are the sizes of the forward. */
FNZ_MUST_CHECK fnz_status fnzi_meta_resample_back_read(fnzi_krn_call *call, fnzi_meta_pool *out,
                                                       double *scales);

#endif
