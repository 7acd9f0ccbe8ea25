/* boxes.h - pooling of regions of images, and convolutions that look at places of their own:
 * numbers read off the arguments of torchvision's operators once, for the shape rule and the
 * kernel. */
#ifndef FNZI_META_BOXES_H
#define FNZI_META_BOXES_H

#include "kernels/core/core.h"

/* The sizes of roi_align and roi_pool: images (batch, channels, in...), regions (count, 5): the
 * index of the image, and two corners. */
typedef struct fnzi_meta_rois {
  int64_t count, batch, channels, in[2], out[2];
} fnzi_meta_rois;
FNZ_MUST_CHECK fnz_status fnzi_meta_rois_read(fnzi_krn_call *call, fnzi_meta_rois *out);

/* The sizes of deform_conv2d. */
typedef struct fnzi_meta_deform {
  int64_t batch, channels, out_channels, groups, parts;
  int64_t in[2], out[2], kernel[2], stride[2], padding[2], dilation[2];
  bool has_mask;
} fnzi_meta_deform;
FNZ_MUST_CHECK fnz_status fnzi_meta_deform_read(fnzi_krn_call *call, fnzi_meta_deform *out);

#endif
