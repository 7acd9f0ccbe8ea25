/* nn_image.h - what shape rules of layers over images share. */
#ifndef FNZI_META_NN_IMAGE_H
#define FNZI_META_NN_IMAGE_H

#include "kernels/core/core.h"

/* Appends a result that is channels-last when `like` is (eager's suggest_memory_format), else
 * row-major. */
FNZ_MUST_CHECK fnz_status fnzi_shape_add_image(fnzi_krn_call *call, fnz_dtype dtype, uint32_t rank,
                                               const int64_t *sizes, const fnz_geometry *like);

/* The tensor at `name` as (batch, channels, spatial...): an unbatched one has batch 1. *batched
 * says which. BOUNDS when its rank is neither spatial + 1 nor spatial + 2. */
FNZ_MUST_CHECK fnz_status fnzi_meta_image_open(fnzi_krn_call *call, const fnz_geometry *g,
                                               uint32_t spatial, int64_t *sizes, bool *batched);

/* One dimension of a sliding window: how many places it has. */
typedef struct fnzi_meta_slide {
  int64_t in, kernel, stride, padding, dilation;
  bool ceil;
} fnzi_meta_slide;
/* As eager counts; below 1 when the window does not fit. stride and dilation must be above 0. */
int64_t fnzi_meta_slide_places(const fnzi_meta_slide *w);

#endif
