/* conv_crop.c - a kernel without what only ever meets padding: five by five over an image of one
 * place is one by one. oneDNN has no fast way where the padding is wider than the result. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/sizes.h"

/* Makes the kernel smaller: only the elements from `first` on count that some place of the result
 * sees inside the input. */
static bool crops(const fnzi_meta_conv *c, fnzi_meta_conv *out, int64_t *first) {
  bool smaller = false;
  *out = *c;
  for (uint32_t i = 0; i < FNZI_CONV_MAX_SPATIAL; i++) {
    int64_t before = c->left[i] - (c->out[i] - 1) * c->stride[i];
    first[i] = before > 0 ? before : 0;
    int64_t count = fnzi_cpu_least(c->kernel[i], c->left[i] + c->in[i]) - first[i];
    if (c->transposed || c->dilation[i] != 1 || count < 1 || c->left[i] < 0)
      return false;
    smaller = smaller || count < c->kernel[i];
    out->kernel[i] = count, out->left[i] = c->left[i] - first[i];
    out->right[i] = c->right[i] - (c->kernel[i] - first[i] - count);
  }
  return smaller;
}

fnz_status fnzi_cpu_conv_crop(fnzi_krn_call *call, const fnzi_meta_conv *c, const float *weight,
                              fnzi_meta_conv *out, const float **out_weight) {
  int64_t first[FNZI_CONV_MAX_SPATIAL], from[5], to[5];
  const int64_t *kernel = c->kernel;
  void *room;
  *out_weight = weight;
  if (!crops(c, out, first)) {
    *out = *c;
    return FNZ_OK;
  }
  const int64_t sizes[5] = {c->out_channels, c->in_channels / c->groups, out->kernel[0],
                            out->kernel[1], out->kernel[2]};
  const int64_t whole[5] = {sizes[0], sizes[1], kernel[0], kernel[1], kernel[2]};
  fnzi_contiguous_strides(whole, 5, from);
  fnzi_contiguous_strides(sizes, 5, to);
  FNZ_TRY(fnzi_arena_take(&call->scratch, (size_t)(sizes[0] * to[0]), sizeof *weight, &room));
  weight += first[0] * from[2] + first[1] * from[3] + first[2] * from[4];
  fnzi_krn_copy_cells(&(fnzi_krn_copy){5, sizes, room, to, weight, from, sizeof *weight}, NULL);
  *out_weight = room;
  return FNZ_OK;
}
