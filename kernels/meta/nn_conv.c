/* nn_conv.c - reading convolutions off their arguments, and the shapes they give. */
#include "kernels/meta/conv.h"
#include "kernels/meta/nn_image.h"

static fnz_status padding(fnzi_krn_call *call, fnzi_meta_conv *c) {
  int64_t extra[FNZI_CONV_MAX_SPATIAL];
  FNZ_TRY(fnzi_krn_named_ints_of(call, "padding", c->spatial, 0, c->left));
  FNZ_TRY(fnzi_krn_named_ints_of(call, "output_padding", c->spatial, 0, extra));
  for (uint32_t i = 0; i < c->spatial; i++) {
    if (c->left[i] < 0 || extra[i] < 0)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "padding %lld and output_padding %lld must not be negative",
                                  (long long)c->left[i], (long long)extra[i]);
    c->right[i] = c->left[i] - (c->transposed ? extra[i] : 0);
  }
  return FNZ_OK;
}

static fnz_status conv_check_channels(fnzi_krn_call *call, fnzi_meta_conv *c,
                                      const fnz_geometry *weight) {
  int64_t first = weight->sizes[0], second = weight->sizes[1];
  c->groups = fnzi_krn_named_int(call, "groups", 1);
  bool fits = c->groups > 0 && first > 0 && first % c->groups == 0;
  if (fits && c->transposed)
    fits = first == c->in_channels && fnzi_mul_i64(second, c->groups, &c->out_channels);
  else if (fits)
    fits = c->in_channels % c->groups == 0 && second == c->in_channels / c->groups;
  if (!c->transposed)
    c->out_channels = first;
  if (!fits)
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_BOUNDS,
        "%lld input channels in %lld groups do not fit a weight of %lld by %lld",
        (long long)c->in_channels, (long long)c->groups, (long long)first, (long long)second);
  const fnzi_krn_array *bias = fnzi_krn_named_array(call, "bias");
  if (bias && fnzi_krn_array_numel(bias) != c->out_channels)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "bias has %lld elements for %lld output channels",
                                (long long)fnzi_krn_array_numel(bias), (long long)c->out_channels);
  return FNZ_OK;
}

/* (in - 1) * stride + (kernel - 1) * dilation + 1 - left - right; 0 when that leaves 64 bits. */
static int64_t spread(const fnzi_meta_conv *c, uint32_t i) {
  int64_t reach, steps, sum;
  if (!fnzi_mul_i64(c->kernel[i] - 1, c->dilation[i], &reach) ||
      !fnzi_mul_i64(c->in[i] - 1, c->stride[i], &steps) || !fnzi_add_i64(reach, steps, &sum) ||
      !fnzi_add_i64(sum, 1, &sum) || !fnzi_add_i64(sum, -c->left[i], &sum) ||
      !fnzi_add_i64(sum, -c->right[i], &sum))
    return 0;
  return sum;
}

static fnz_status conv_count_places(fnzi_krn_call *call, fnzi_meta_conv *c) {
  for (uint32_t i = 0; i < c->spatial; i++) {
    int64_t padded;
    fnzi_meta_slide w = {.in = c->in[i], .kernel = c->kernel[i], .stride = c->stride[i]};
    w.dilation = c->dilation[i];
    if (!c->transposed && fnzi_add_i64(c->in[i], c->left[i], &padded) &&
        fnzi_add_i64(padded, c->right[i], &padded)) {
      w.in = padded;
      c->out[i] = fnzi_meta_slide_places(&w);
    } else if (c->transposed) {
      c->out[i] = spread(c, i);
    }
    if (c->out[i] < 1)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "a kernel of %lld does not fit an input of %lld in dimension %u",
                                  (long long)c->kernel[i], (long long)c->in[i], i);
  }
  return FNZ_OK;
}

fnz_status fnzi_meta_conv_read(fnzi_krn_call *call, fnzi_meta_conv *out) {
  const fnz_geometry *x = fnzi_krn_call_geometry(call, 0),
                     *weight = fnzi_krn_call_geometry(call, 1);
  int64_t sizes[FNZ_MAX_RANK + 1];
  fnzi_meta_conv c = {.in = {1, 1, 1},
                      .out = {1, 1, 1},
                      .kernel = {1, 1, 1},
                      .stride = {1, 1, 1},
                      .dilation = {1, 1, 1}};
  if (weight->rank < 3 || weight->rank > 5)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "weight has %u dimensions; it needs 3, 4 or 5", weight->rank);
  if (weight->dtype != x->dtype)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "input is %s and weight %s; cast one of them",
                                fnzi_dtype(x->dtype)->name, fnzi_dtype(weight->dtype)->name);
  c.spatial = weight->rank - 2;
  c.transposed = fnzi_krn_named_bool(call, "transposed", false);
  FNZ_TRY(fnzi_meta_image_open(call, x, c.spatial, sizes, &c.batched));
  c.batch = sizes[0], c.in_channels = sizes[1];
  for (uint32_t i = 0; i < c.spatial; i++)
    c.in[i] = sizes[2 + i], c.kernel[i] = weight->sizes[2 + i];
  FNZ_TRY(fnzi_krn_named_ints_of(call, "stride", c.spatial, 1, c.stride));
  FNZ_TRY(fnzi_krn_named_ints_of(call, "dilation", c.spatial, 1, c.dilation));
  FNZ_TRY(padding(call, &c));
  for (uint32_t i = 0; i < c.spatial; i++)
    if (c.stride[i] < 1 || c.dilation[i] < 1 || c.left[i] < 0 || c.kernel[i] < 1)
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_BOUNDS,
          "dimension %u: kernel %lld, stride %lld and dilation %lld must be positive "
          "and padding %lld not negative",
          i, (long long)c.kernel[i], (long long)c.stride[i], (long long)c.dilation[i],
          (long long)c.left[i]);
  FNZ_TRY(conv_check_channels(call, &c, weight));
  FNZ_TRY(conv_count_places(call, &c));
  *out = c;
  return FNZ_OK;
}

/* Channels-last when the input or the weight is. */
fnz_status fnzi_shape_conv(fnzi_krn_call *call) {
  const fnz_geometry *x = fnzi_krn_call_geometry(call, 0);
  fnzi_meta_conv c;
  FNZ_TRY(fnzi_meta_conv_read(call, &c));
  int64_t sizes[2 + FNZI_CONV_MAX_SPATIAL] = {c.batch, c.out_channels};
  for (uint32_t i = 0; i < c.spatial; i++)
    sizes[2 + i] = c.out[i];
  return fnzi_shape_add_image(call, x->dtype, x->rank, c.batched ? sizes : sizes + 1, x);
}
