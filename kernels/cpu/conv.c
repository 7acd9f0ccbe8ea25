/* conv.c - convolutions: oneDNN for floats, or lines and products, columns for doubles, direct
 * loops for the rest. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/special_reals.h"
#include "kernels/cpu/sizes.h"
#include "kernels/meta/conv_source.h"

typedef struct direct {
  const fnzi_meta_conv *c;
  fnzi_cpu_reals x, weight, bias;
  fnzi_cpu_reals_out y;
} direct;

static int64_t source(const fnzi_meta_conv *c, uint32_t axis, int64_t out, int64_t k) {
  if (c->transposed)
    return fnzi_meta_conv_source_back(out, k, c->stride[axis], c->dilation[axis], c->left[axis],
                                      c->in[axis]);
  return fnzi_meta_conv_source(out, k, c->stride[axis], c->dilation[axis], c->left[axis],
                               c->in[axis]);
}

/* Adds one input channel's part of the element at `place`. */
static double look(const direct *d, int64_t x_at, int64_t w_at, const int64_t *place) {
  const fnzi_meta_conv *c = d->c;
  double sum = 0;
  for (int64_t k = 0; k < fnzi_cpu_volume(c->kernel); k++) {
    int64_t index[3] = {k / (c->kernel[1] * c->kernel[2]), k / c->kernel[2] % c->kernel[1],
                        k % c->kernel[2]};
    int64_t at = 0;
    for (uint32_t i = 0; at >= 0 && i < 3; i++) {
      int64_t s = source(c, i, place[i], index[i]);
      at = s < 0 ? -1 : at * c->in[i] + s;
    }
    if (at >= 0)
      sum += fnzi_cpu_real_at(&d->x, x_at + at) * fnzi_cpu_real_at(&d->weight, w_at + k);
  }
  return sum;
}

static double element(const direct *d, int64_t sample, int64_t channel, const int64_t *place) {
  const fnzi_meta_conv *c = d->c;
  int64_t ins = c->in_channels / c->groups, outs = c->out_channels / c->groups;
  int64_t group = channel / outs, kernel = fnzi_cpu_volume(c->kernel),
          plane = fnzi_cpu_volume(c->in);
  double sum = fnzi_cpu_reals_present(&d->bias) ? fnzi_cpu_real_at(&d->bias, channel) : 0;
  for (int64_t i = 0; i < ins; i++) {
    int64_t in = group * ins + i;
    int64_t row = c->transposed ? in * outs + channel % outs : channel * ins + i;
    sum += look(d, (sample * c->in_channels + in) * plane, row * kernel, place);
  }
  return sum;
}

static void direct_plane(const void *user, int64_t at, int lane) {
  const direct *d = user;
  const int64_t *out = d->c->out;
  (void)lane;
  for (int64_t k = 0; k < fnzi_cpu_volume(out); k++) {
    int64_t place[3] = {k / (out[1] * out[2]), k / out[2] % out[1], k % out[2]};
    fnzi_cpu_real_put(&d->y, at * fnzi_cpu_volume(out) + k,
                      element(d, at / d->c->out_channels, at % d->c->out_channels, place));
  }
}

static fnz_status compute_f32(fnzi_krn_call *call, const fnzi_meta_conv *c, bool *done) {
  fnzi_meta_conv cropped;
  fnzi_cpu_reals weight;
  const float *kernel;
  if (!c->batch || !c->in_channels)
    return FNZ_OK;
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 1), FNZ_F32, &weight));
  *done = true;
  if (fnzi_cpu_conv_is_apart(c))
    return fnzi_cpu_conv_apart(call, c, weight.f);
  if (fnzi_cpu_conv_is_point(c))
    return fnzi_cpu_conv_point(call, c, weight.f);
  FNZ_TRY(fnzi_cpu_conv_crop(call, c, weight.f, &cropped, &kernel));
  return fnzi_cpu_conv_onednn(call, &cropped, kernel, done);
}

fnz_status fnzi_kernel_conv(fnzi_krn_call *call) {
  fnz_dtype dtype = fnzi_cpu_real_dtype(call->outputs[0]->geometry.dtype);
  fnzi_meta_conv c;
  direct d = {.c = &c};
  bool done = false;
  FNZ_TRY(fnzi_meta_conv_read(call, &c));
  if (dtype == FNZ_F32 && fnzi_cpu_conv_is_gradient(call, &c))
    FNZ_TRY(fnzi_cpu_conv_gradient(call, &c, &done));
  if (done)
    return FNZ_OK;
  bool is_depth = dtype == FNZ_F32 && fnzi_cpu_conv_is_depth(&c);
  if (dtype == FNZ_F32 && !is_depth)
    FNZ_TRY(compute_f32(call, &c, &done));
  if (done)
    return FNZ_OK;
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), dtype, &d.x));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 1), dtype, &d.weight));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 2), dtype, &d.bias));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &d.y));
  if (is_depth)
    return fnzi_cpu_conv_depth(call, &c,
                               &(fnzi_cpu_conv_floats){d.x.f, d.weight.f, d.bias.f, d.y.f});
  if (dtype == FNZ_F64)
    FNZ_TRY(fnzi_cpu_conv_columns(
        call, &c, &(fnzi_cpu_conv_doubles){d.x.d, d.weight.d, d.bias.d, d.y.d}, &done));
  if (!done)
    fnzi_cpu_rows_each(call, c.batch * c.out_channels, direct_plane, &d);
  return FNZ_OK;
}
