/* conv.h - one convolution as numbers: read off the arguments once, used by the shape rule and by
 * both engines.
 *
 * All data is dense and row-major: x (batch, in_channels, in...), y (batch, out_channels, out...),
 * weights (out_channels, in_channels / groups, kernel...) or, when transposed,
 * (in_channels, out_channels / groups, kernel...). */
#ifndef FNZI_META_CONV_H
#define FNZI_META_CONV_H

#include "kernels/core/core.h"

enum { FNZI_CONV_MAX_SPATIAL = 3 };

/* Dimensions beyond `spatial` are of size 1 and change nothing. `left` and `right` are the padding
 * before and behind; of a transposed convolution: the elements that are cut off, where right may be
 * negative. */
typedef struct fnzi_meta_conv {
  uint32_t spatial; /* 1 to 3 */
  bool transposed, batched;
  int64_t batch, groups, in_channels, out_channels;
  int64_t in[FNZI_CONV_MAX_SPATIAL], out[FNZI_CONV_MAX_SPATIAL], kernel[FNZI_CONV_MAX_SPATIAL];
  int64_t stride[FNZI_CONV_MAX_SPATIAL], dilation[FNZI_CONV_MAX_SPATIAL];
  int64_t left[FNZI_CONV_MAX_SPATIAL], right[FNZI_CONV_MAX_SPATIAL];
} fnzi_meta_conv;

/* Reads any convolution operator; checks everything that makes it impossible (BOUNDS). */
FNZ_MUST_CHECK FNZI_SHARED fnz_status fnzi_meta_conv_read(fnzi_krn_call *call, fnzi_meta_conv *out);

#endif
