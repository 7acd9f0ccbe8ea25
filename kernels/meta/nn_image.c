/* nn_image.c - see nn_image.h. */
#include "kernels/meta/nn_image.h"

fnz_status fnzi_shape_add_image(fnzi_krn_call *call, fnz_dtype dtype, uint32_t rank,
                                const int64_t *sizes, const fnz_geometry *like) {
  if (like->rank != rank || !fnzi_suggests_channels_last(like))
    return fnzi_shape_add(call, dtype, rank, sizes, NULL);
  int64_t strides[FNZ_MAX_RANK];
  FNZ_TRY(fnzi_krn_sizes_check(call->ctx, rank, sizes, fnzi_dtype(dtype)->bytes));
  fnzi_channels_last_strides(sizes, rank, strides);
  return fnzi_shape_add(call, dtype, rank, sizes, strides);
}

fnz_status fnzi_meta_image_open(fnzi_krn_call *call, const fnz_geometry *g, uint32_t spatial,
                                int64_t *sizes, bool *batched) {
  *batched = g->rank == spatial + 2;
  if (!*batched && g->rank != spatial + 1)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "input has %u dimensions; it needs %u or %u", g->rank, spatial + 1,
                                spatial + 2);
  sizes[0] = 1;
  for (uint32_t i = 0; i < g->rank; i++)
    sizes[i + (*batched ? 0 : 1)] = g->sizes[i];
  return FNZ_OK;
}

int64_t fnzi_meta_slide_places(const fnzi_meta_slide *w) {
  int64_t reach, span, twice;
  if (!fnzi_mul_i64(w->kernel - 1, w->dilation, &reach) || !fnzi_mul_i64(w->padding, 2, &twice) ||
      !fnzi_add_i64(w->in, twice, &span) || !fnzi_add_i64(reach, 1, &reach))
    return 0;
  span -= reach;
  /* With ceil, a window may begin in the input and end behind it, the first one too. */
  if (span < 0)
    return w->ceil && -span < w->stride ? 1 : 0;
  int64_t places = span / w->stride + 1;
  if (!w->ceil || span % w->stride == 0)
    return places;
  /* A window that would start in the padding on the right is left out. */
  return places * w->stride >= w->in + w->padding ? places : places + 1;
}
