/* nn_pool.c - shapes of pooling, resampling and pixel shuffling. */
#include "kernels/meta/pool.h"
#include "kernels/meta/nn_image.h"

/* "max_pool2d" has 2 spatial dimensions, as the digit in the name. */
static uint32_t spatial_of(const fnzi_krn_call *call) {
  const char *digit = strpbrk(fnz_op_name(call->op), "123");
  return digit ? (uint32_t)(*digit - '0') : 2;
}

/* The pooled tensor: argument 0, but in backward operators self, which comes second. */
static const fnz_geometry *image_of(const fnzi_krn_call *call) {
  bool backward = strcmp(call->op->params[0].name, "grad_output") == 0;
  return fnzi_krn_call_geometry(call, backward ? 1 : 0);
}

static fnz_status open_image(fnzi_krn_call *call, fnzi_meta_pool *p) {
  const fnz_geometry *g = image_of(call);
  int64_t sizes[FNZ_MAX_RANK + 1];
  *p = (fnzi_meta_pool){.spatial = spatial_of(call), .in = {1, 1, 1}, .out = {1, 1, 1}};
  for (uint32_t i = 0; i < FNZI_POOL_MAX_SPATIAL; i++)
    p->kernel[i] = p->stride[i] = p->dilation[i] = 1;
  FNZ_TRY(fnzi_meta_image_open(call, g, p->spatial, sizes, &p->batched));
  p->planes = sizes[0] * sizes[1];
  for (uint32_t i = 0; i < p->spatial; i++)
    p->in[i] = sizes[2 + i];
  return FNZ_OK;
}

static fnz_status pool_check_windows(fnzi_krn_call *call, const fnzi_meta_pool *p) {
  for (uint32_t i = 0; i < p->spatial; i++) {
    if (p->kernel[i] < 1 || p->stride[i] < 1 || p->dilation[i] < 1)
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_BOUNDS,
          "kernel_size %lld, stride %lld and dilation %lld must be positive",
          (long long)p->kernel[i], (long long)p->stride[i], (long long)p->dilation[i]);
    int64_t reach;
    if (!fnzi_mul_i64(p->kernel[i] - 1, p->dilation[i], &reach) || p->padding[i] < 0 ||
        p->padding[i] > reach / 2 + reach % 2)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "padding %lld must be 0 to half of what kernel_size %lld spans",
                                  (long long)p->padding[i], (long long)p->kernel[i]);
  }
  return FNZ_OK;
}

fnz_status fnzi_meta_pool_read(fnzi_krn_call *call, fnzi_meta_pool *out) {
  fnzi_meta_pool p;
  FNZ_TRY(open_image(call, &p));
  FNZ_TRY(fnzi_krn_named_ints_of(call, "kernel_size", p.spatial, 1, p.kernel));
  const int64_t *given;
  size_t count;
  FNZ_TRY(fnzi_krn_named_ints(call, "stride", &given, &count));
  if (count)
    FNZ_TRY(fnzi_krn_named_ints_of(call, "stride", p.spatial, 1, p.stride));
  else
    memcpy(p.stride, p.kernel, sizeof p.stride);
  FNZ_TRY(fnzi_krn_named_ints_of(call, "padding", p.spatial, 0, p.padding));
  FNZ_TRY(fnzi_krn_named_ints_of(call, "dilation", p.spatial, 1, p.dilation));
  FNZ_TRY(pool_check_windows(call, &p));
  for (uint32_t i = 0; i < p.spatial; i++) {
    fnzi_meta_slide w = {p.in[i],       p.kernel[i],
                         p.stride[i],   p.padding[i],
                         p.dilation[i], fnzi_krn_named_bool(call, "ceil_mode", false)};
    p.out[i] = fnzi_meta_slide_places(&w);
    if (p.out[i] < 1)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "a window of %lld does not fit an input of %lld in dimension %u",
                                  (long long)p.kernel[i], (long long)p.in[i], i);
  }
  *out = p;
  return FNZ_OK;
}

/* An output size of None keeps the input's. */
fnz_status fnzi_meta_pool_read_adaptive(fnzi_krn_call *call, fnzi_meta_pool *out) {
  FNZ_TRY(open_image(call, out));
  const bool is_backward = fnzi_op_param(call->op, "output_size") < 0;
  const fnz_geometry *g =
      fnzi_krn_call_geometry(call, 0); /* of the gradient in a backward operator */
  for (uint32_t i = out->spatial; is_backward && i > 0; i--)
    out->out[out->spatial - i] = i <= g->rank ? g->sizes[g->rank - i] : 0;
  if (!is_backward)
    FNZ_TRY(fnzi_krn_named_ints_of(call, "output_size", out->spatial, 1, out->out));
  for (uint32_t i = 0; i < out->spatial; i++)
    if (out->out[i] < 0 || out->in[i] < 1)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "cannot pool %lld elements to %lld",
                                  (long long)out->in[i], (long long)out->out[i]);
  return FNZ_OK;
}

static fnz_status add(fnzi_krn_call *call, const fnzi_meta_pool *p, fnz_dtype dtype) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  int64_t sizes[FNZ_MAX_RANK];
  for (uint32_t i = 0; i < g->rank; i++)
    sizes[i] = i + p->spatial < g->rank ? g->sizes[i] : p->out[i + p->spatial - g->rank];
  return fnzi_shape_add_image(call, dtype, g->rank, sizes, g);
}

static fnz_status pool_check_numbers(const fnzi_krn_call *call) {
  if (fnzi_krn_call_geometry(call, 0)->dtype == FNZ_BOOL)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE, "not for bool; cast the input to numbers");
  return FNZ_OK;
}

fnz_status fnzi_shape_pool(fnzi_krn_call *call) {
  fnzi_meta_pool p;
  FNZ_TRY(pool_check_numbers(call));
  FNZ_TRY(fnzi_meta_pool_read(call, &p));
  return add(call, &p, fnzi_krn_call_geometry(call, 0)->dtype);
}

fnz_status fnzi_shape_pool_indices(fnzi_krn_call *call) {
  fnzi_meta_pool p;
  FNZ_TRY(pool_check_numbers(call));
  FNZ_TRY(fnzi_meta_pool_read(call, &p));
  FNZ_TRY(add(call, &p, fnzi_krn_call_geometry(call, 0)->dtype));
  return add(call, &p, FNZ_I64);
}

fnz_status fnzi_shape_adaptive_pool(fnzi_krn_call *call) {
  fnzi_meta_pool p;
  FNZ_TRY(fnzi_meta_pool_read_adaptive(call, &p));
  return add(call, &p, fnzi_krn_call_geometry(call, 0)->dtype);
}

fnz_status fnzi_shape_adaptive_pool_indices(fnzi_krn_call *call) {
  fnzi_meta_pool p;
  FNZ_TRY(fnzi_krn_float_check(call));
  FNZ_TRY(fnzi_meta_pool_read_adaptive(call, &p));
  FNZ_TRY(add(call, &p, fnzi_krn_call_geometry(call, 0)->dtype));
  return add(call, &p, FNZ_I64);
}

/* A gradient for every place of the result that self was pooled to. */
static fnz_status add_gradient(fnzi_krn_call *call, const fnzi_meta_pool *p) {
  const fnz_geometry *grad = fnzi_krn_call_geometry(call, 0), *self = image_of(call);
  if (grad->rank != self->rank || grad->dtype != self->dtype)
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_BOUNDS,
        "grad_output is %s with %u dimensions, self %s with %u; both must be alike",
        fnzi_dtype(grad->dtype)->name, grad->rank, fnzi_dtype(self->dtype)->name, self->rank);
  for (uint32_t i = 0; i < grad->rank; i++) {
    int64_t size =
        i + p->spatial < grad->rank ? self->sizes[i] : p->out[i + p->spatial - grad->rank];
    if (grad->sizes[i] != size)
      return fnzi_krn_call_refuse(
          call, FNZ_CLASS_BOUNDS,
          "grad_output has size %lld in dimension %u; self is pooled to %lld there",
          (long long)grad->sizes[i], i, (long long)size);
  }
  return fnzi_shape_add_image(call, self->dtype, self->rank, self->sizes, self);
}

fnz_status fnzi_shape_pool_backward(fnzi_krn_call *call) {
  fnzi_meta_pool p;
  FNZ_TRY(fnzi_meta_pool_read(call, &p));
  return add_gradient(call, &p);
}

fnz_status fnzi_shape_adaptive_pool_backward(fnzi_krn_call *call) {
  fnzi_meta_pool p;
  FNZ_TRY(fnzi_meta_pool_read_adaptive(call, &p));
  return add_gradient(call, &p);
}

/* Sizes come from `output_size`, or, where that is None, from `scale_factors`. */
fnz_status fnzi_meta_resample_read(fnzi_krn_call *call, fnzi_meta_pool *out, double *scales) {
  static const char *const names[3][3] = {
      {"scales", "", ""}, {"scales_h", "scales_w", ""}, {"scales_d", "scales_h", "scales_w"}};
  const int64_t *given;
  size_t count;
  FNZ_TRY(open_image(call, out));
  for (uint32_t i = 0; i < out->spatial; i++)
    scales[i] = 0;
  FNZ_TRY(fnzi_krn_named_ints(call, "output_size", &given, &count));
  const fnz_arg *factors = fnzi_krn_named(call, "scale_factors");
  bool listed = factors && factors->tag == FNZ_ARG_LIST && factors->count == out->spatial;
  if (count)
    FNZ_TRY(fnzi_krn_named_ints_of(call, "output_size", out->spatial, 1, out->out));
  else if (!listed)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "needs output_size or one scale factor per dimension");
  for (uint32_t i = 0; listed && i < out->spatial; i++)
    scales[i] = fnzi_krn_number_float(&factors->u.list[i]);
  for (uint32_t i = 0; !count && i < out->spatial; i++) {
    double want = (double)out->in[i] * scales[i];
    out->out[i] = want >= 1 && want < 0x1p62 ? (int64_t)want : 0;
  }
  for (uint32_t i = 0; i < out->spatial; i++)
    if (out->in[i] < 1 || out->out[i] < 1)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "cannot resample %lld elements to %lld",
                                  (long long)out->in[i], (long long)out->out[i]);
  for (uint32_t i = 0; i < out->spatial; i++)
    scales[i] = fnzi_krn_named_float(call, names[out->spatial - 1][i], scales[i]);
  return FNZ_OK;
}

fnz_status fnzi_meta_resample_back_read(fnzi_krn_call *call, fnzi_meta_pool *out, double *scales) {
  static const char *const names[3][3] = {
      {"scales", "", ""}, {"scales_h", "scales_w", ""}, {"scales_d", "scales_h", "scales_w"}};
  const int64_t *sizes;
  size_t count;
  *out = (fnzi_meta_pool){
      .spatial = spatial_of(call), .batched = true, .in = {1, 1, 1}, .out = {1, 1, 1}};
  FNZ_TRY(fnzi_krn_named_ints(call, "input_size", &sizes, &count));
  FNZ_TRY(fnzi_krn_named_ints_of(call, "output_size", out->spatial, 1, out->out));
  if (count != out->spatial + 2)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "input_size has %zu numbers; it needs %u",
                                count, out->spatial + 2);
  const fnz_geometry *grad = fnzi_krn_call_geometry(call, 0);
  bool fits =
      grad->rank == out->spatial + 2 && grad->sizes[0] == sizes[0] && grad->sizes[1] == sizes[1];
  for (uint32_t i = 0; fits && i < out->spatial; i++)
    fits = grad->sizes[2 + i] == out->out[i];
  if (!fits)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                "grad_output must have the batch and channels of input_size, and "
                                "output_size behind them");
  out->planes = sizes[0] * sizes[1];
  for (uint32_t i = 0; i < out->spatial; i++) {
    out->in[i] = sizes[2 + i];
    scales[i] = fnzi_krn_named_float(call, names[out->spatial - 1][i], 0);
    if (out->in[i] < 1 || out->out[i] < 1)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "cannot resample %lld elements to %lld",
                                  (long long)out->in[i], (long long)out->out[i]);
  }
  return FNZ_OK;
}

static fnz_status resample_back(fnzi_krn_call *call, bool keeps_format) {
  const fnz_geometry *grad = fnzi_krn_call_geometry(call, 0);
  double scales[FNZI_POOL_MAX_SPATIAL];
  int64_t sizes[FNZI_POOL_MAX_SPATIAL + 2];
  fnzi_meta_pool p;
  FNZ_TRY(fnzi_meta_resample_back_read(call, &p, scales));
  sizes[0] = grad->sizes[0], sizes[1] = grad->sizes[1];
  for (uint32_t i = 0; i < p.spatial; i++)
    sizes[2 + i] = p.in[i];
  if (keeps_format)
    return fnzi_shape_add_image(call, grad->dtype, grad->rank, sizes, grad);
  return fnzi_shape_add(call, grad->dtype, grad->rank, sizes, NULL);
}

fnz_status fnzi_shape_resample_backward(fnzi_krn_call *call) {
  return resample_back(call, true);
}

/* Row-major, whatever the gradient is. */
fnz_status fnzi_shape_resample_backward_rows(fnzi_krn_call *call) {
  return resample_back(call, false);
}

fnz_status fnzi_shape_resample(fnzi_krn_call *call) {
  double scales[FNZI_POOL_MAX_SPATIAL];
  fnzi_meta_pool p;
  FNZ_TRY(fnzi_meta_resample_read(call, &p, scales));
  return add(call, &p, fnzi_krn_call_geometry(call, 0)->dtype);
}
