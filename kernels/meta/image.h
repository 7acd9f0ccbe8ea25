/* image.h - padding of images by their own elements, and images as columns of windows: numbers read
 * off the arguments once for the shape rule and the kernel. */
#ifndef FNZI_META_IMAGE_H
#define FNZI_META_IMAGE_H

#include "kernels/core/core.h"

enum { FNZI_IMAGE_SPATIAL = 3 };

/* The sizes of reflection_pad* and replication_pad*. Missing dimensions have size 1, in front. */
typedef struct fnzi_meta_padding {
  uint32_t spatial;
  bool reflects;
  int64_t planes;
  int64_t in[FNZI_IMAGE_SPATIAL], out[FNZI_IMAGE_SPATIAL], before[FNZI_IMAGE_SPATIAL];
} fnzi_meta_padding;
FNZ_MUST_CHECK fnz_status fnzi_meta_padding_read(fnzi_krn_call *call, fnzi_meta_padding *out);

/* The sizes of im2col and col2im: the image, and the number of windows along each dimension. */
typedef struct fnzi_meta_columns {
  bool batched;
  int64_t batch, channels, rows;
  int64_t size[2], kernel[2], dilation[2], padding[2], stride[2], places[2];
} fnzi_meta_columns;
FNZ_MUST_CHECK fnz_status fnzi_meta_columns_read(fnzi_krn_call *call, fnzi_meta_columns *out);

#endif
