/* boxes.c - shapes of torchvision's operators on boxes, see boxes.h, and of nms. */
#include "kernels/meta/boxes.h"

static fnz_status need_rank(const fnzi_krn_call *call, const char *name, uint32_t rank) {
  const fnz_geometry *g = &fnzi_krn_named_array(call, name)->geometry;
  if (g->rank == rank)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "%s has %u dimensions; it needs %u", name,
                              g->rank, rank);
}

static fnz_status need_size(const fnzi_krn_call *call, const char *name, uint32_t dim,
                            int64_t size) {
  const fnz_geometry *g = &fnzi_krn_named_array(call, name)->geometry;
  if (g->sizes[dim] == size)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                              "dimension %u of %s has size %lld; it needs "
                              "%lld",
                              dim, name, (long long)g->sizes[dim], (long long)size);
}

/* Boxes are not of 16 bits, and all operands of one type. */
static fnz_status need_type(const fnzi_krn_call *call, const char *name, bool halves) {
  fnz_dtype dtype = fnzi_krn_named_array(call, name)->geometry.dtype;
  fnz_dtype first = fnzi_krn_call_geometry(call, 0)->dtype;
  if (dtype != first)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "%s is %s, the first argument %s; cast one",
                                name, fnzi_dtype(dtype)->name, fnzi_dtype(first)->name);
  if (dtype != FNZ_F32 && dtype != FNZ_F64 && !(halves && dtype == FNZ_F16))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "%s is %s; it must be f32%s or f64", name,
                                fnzi_dtype(dtype)->name, halves ? ", f16" : "");
  return FNZ_OK;
}

/* --- nms ---------------------------------------------------------------------------------- */
fnz_status fnzi_shape_nms(fnzi_krn_call *call) {
  const fnz_geometry *expected = call->nexpected ? call->expected[0] : NULL;
  FNZ_TRY(need_rank(call, "dets", 2));
  FNZ_TRY(need_size(call, "dets", 1, 4));
  FNZ_TRY(need_rank(call, "scores", 1));
  FNZ_TRY(need_size(call, "scores", 0, fnzi_krn_call_geometry(call, 0)->sizes[0]));
  FNZ_TRY(need_type(call, "scores", false));
  if (call->has_data)
    return call->kernels->runs[FNZI_RUN_nms](call);
  if (!expected || expected->rank != 1)
    return fnzi_krn_size_refuse(call);
  return fnzi_shape_add(call, FNZ_I64, 1, expected->sizes, NULL);
}

/* --- Regions ------------------------------------------------------------------------------ */
fnz_status fnzi_meta_rois_read(fnzi_krn_call *call, fnzi_meta_rois *out) {
  const fnz_geometry *x = fnzi_krn_call_geometry(call, 0);
  FNZ_TRY(need_rank(call, "input", 4));
  FNZ_TRY(need_rank(call, "rois", 2));
  FNZ_TRY(need_size(call, "rois", 1, 5));
  FNZ_TRY(need_type(call, "rois", true));
  *out = (fnzi_meta_rois){.count = fnzi_krn_call_geometry(call, 1)->sizes[0],
                          .batch = x->sizes[0],
                          .channels = x->sizes[1],
                          .in = {x->sizes[2], x->sizes[3]},
                          .out = {fnzi_krn_named_int(call, "pooled_height", 1),
                                  fnzi_krn_named_int(call, "pooled_width", 1)}};
  if (out->out[0] < 0 || out->out[1] < 0)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "pooled_height %lld and pooled_width %lld must not be negative",
                                (long long)out->out[0], (long long)out->out[1]);
  return FNZ_OK;
}

static fnz_status add_pooled(fnzi_krn_call *call, const fnzi_meta_rois *r, fnz_dtype dtype) {
  return fnzi_shape_add(call, dtype, 4,
                        (const int64_t[]){r->count, r->channels, r->out[0], r->out[1]}, NULL);
}

fnz_status fnzi_shape_roi_align(fnzi_krn_call *call) {
  fnzi_meta_rois r;
  FNZ_TRY(fnzi_meta_rois_read(call, &r));
  return add_pooled(call, &r, fnzi_krn_call_geometry(call, 0)->dtype);
}

fnz_status fnzi_shape_roi_pool(fnzi_krn_call *call) {
  fnzi_meta_rois r;
  FNZ_TRY(fnzi_meta_rois_read(call, &r));
  FNZ_TRY(add_pooled(call, &r, fnzi_krn_call_geometry(call, 0)->dtype));
  return add_pooled(call, &r, FNZ_I32);
}

/* --- deform_conv2d ------------------------------------------------------------------------ */
static fnz_status boxes_check_windows(fnzi_krn_call *call, fnzi_meta_deform *d) {
  for (int i = 0; i < 2; i++) {
    int64_t reach, span;
    bool fits = d->stride[i] > 0 && d->dilation[i] > 0 && d->padding[i] >= 0 && d->kernel[i] > 0 &&
                fnzi_mul_i64(d->kernel[i] - 1, d->dilation[i], &reach) &&
                fnzi_mul_i64(d->padding[i], 2, &span) && fnzi_add_i64(d->in[i], span, &span);
    if (!fits || span <= reach)
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_BOUNDS,
          "dimension %d: kernel %lld with stride %lld, dilation %lld and padding %lld does not fit "
          "size %lld",
          i, (long long)d->kernel[i], (long long)d->stride[i], (long long)d->dilation[i],
          (long long)d->padding[i], (long long)d->in[i]);
    d->out[i] = (span - reach - 1) / d->stride[i] + 1;
  }
  return FNZ_OK;
}

/* Offsets or masks: `each` numbers per place of the kernel, for each place of the result. */
static fnz_status boxes_check_places(fnzi_krn_call *call, const fnzi_meta_deform *d,
                                     const char *name, int64_t each) {
  FNZ_TRY(need_rank(call, name, 4));
  FNZ_TRY(need_type(call, name, true));
  FNZ_TRY(need_size(call, name, 0, d->batch));
  if (!fnzi_mul_i64(each, d->parts, &each) || !fnzi_mul_i64(each, d->kernel[0], &each) ||
      !fnzi_mul_i64(each, d->kernel[1], &each))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_OVERFLOW, "the size of %s leaves 64 bits", name);
  FNZ_TRY(need_size(call, name, 1, each));
  FNZ_TRY(need_size(call, name, 2, d->out[0]));
  return need_size(call, name, 3, d->out[1]);
}

static void read_pair(const fnzi_krn_call *call, const char *h, const char *w, int64_t *out) {
  out[0] = fnzi_krn_named_int(call, h, 0);
  out[1] = fnzi_krn_named_int(call, w, 0);
}

fnz_status fnzi_meta_deform_read(fnzi_krn_call *call, fnzi_meta_deform *d) {
  FNZ_TRY(need_rank(call, "input", 4));
  FNZ_TRY(need_rank(call, "weight", 4));
  FNZ_TRY(need_type(call, "weight", true));
  FNZ_TRY(need_rank(call, "bias", 1));
  FNZ_TRY(need_type(call, "bias", true));
  const int64_t *x = fnzi_krn_call_geometry(call, 0)->sizes;
  const int64_t *w = fnzi_krn_call_geometry(call, 1)->sizes;
  *d = (fnzi_meta_deform){.batch = x[0],
                          .channels = x[1],
                          .in = {x[2], x[3]},
                          .out_channels = w[0],
                          .kernel = {w[2], w[3]},
                          .groups = fnzi_krn_named_int(call, "groups", 1),
                          .parts = fnzi_krn_named_int(call, "offset_groups", 1),
                          .has_mask = fnzi_krn_named_bool(call, "use_mask", false)};
  read_pair(call, "stride_h", "stride_w", d->stride);
  read_pair(call, "pad_h", "pad_w", d->padding);
  read_pair(call, "dilation_h", "dilation_w", d->dilation);
  FNZ_TRY(boxes_check_windows(call, d));
  int64_t all = 0;
  if (d->groups <= 0 || d->parts <= 0 || !fnzi_mul_i64(w[1], d->groups, &all) ||
      all != d->channels || d->out_channels % d->groups || d->channels % d->parts)
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_BOUNDS,
        "%lld channels, weight for %lld each, %lld results, %lld groups and %lld groups of offsets "
        "do not fit",
        (long long)d->channels, (long long)w[1], (long long)d->out_channels, (long long)d->groups,
        (long long)d->parts);
  FNZ_TRY(need_size(call, "bias", 0, d->out_channels));
  FNZ_TRY(boxes_check_places(call, d, "offset", 2));
  return d->has_mask ? boxes_check_places(call, d, "mask", 1) : FNZ_OK;
}

fnz_status fnzi_shape_deform_conv2d(fnzi_krn_call *call) {
  fnzi_meta_deform d;
  FNZ_TRY(fnzi_meta_deform_read(call, &d));
  return fnzi_shape_add(call, fnzi_krn_call_geometry(call, 0)->dtype, 4,
                        (const int64_t[]){d.batch, d.out_channels, d.out[0], d.out[1]}, NULL);
}
