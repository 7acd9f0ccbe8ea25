/* conv_depth.c - convolutions in f32 of one dimension and stride 1 where each channel is a group of
 * its own, as in front of attention: oneDNN has no quick implementation of long ones. A transposed
 * one is the convolution by the kernel backwards. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/sizes.h"
#include "kernels/cpu/special_reals.h"

#include <math.h>

enum { PIECE = 4, PIECES = 8, TILE = PIECE * PIECES };
typedef float piece __attribute__((vector_size(PIECE * sizeof(float))));

typedef struct depth {
  const fnzi_meta_conv *c;
  fnzi_cpu_conv_floats o;
  int64_t left; /* zeros before a line */
  int64_t span; /* floats of a padded line, and of a tile behind it */
  float *room;  /* a line of each thread */
} depth;

/* Element `k` of the kernel as it meets a line. */
static float depth_tap(const depth *d, const float *weight, int64_t k) {
  return weight[d->c->transposed ? d->c->kernel[0] - 1 - k : k];
}

/* Sums of a tile of places, one element of the kernel after the other. */
static void fill_tile(const depth *d, const float *line, const float *weight, float bias,
                      float *to) {
  piece sums[PIECES];
  for (int i = 0; i < PIECES; i++)
    sums[i] = bias - (piece){0};
  for (int64_t k = 0; k < d->c->kernel[0]; k++) {
    const float *from = line + k * d->c->dilation[0];
    const float by = depth_tap(d, weight, k);
    for (int i = 0; i < PIECES; i++) {
      piece x;
      memcpy(&x, from + PIECE * i, sizeof x);
      sums[i] += by * x;
    }
  }
  memcpy(to, sums, sizeof sums);
}

/* A weight that is infinite or NaN makes NaN of the zeros around a line, so here it meets only the
 * line itself. */
static void fill_inside(const depth *d, const float *x, const float *weight, float bias,
                        float *to) {
  const fnzi_meta_conv *c = d->c;
  for (int64_t i = 0; i < c->out[0]; i++) {
    to[i] = bias;
    for (int64_t k = 0; k < c->kernel[0]; k++) {
      int64_t at = i + k * c->dilation[0] - d->left;
      if (at >= 0 && at < c->in[0])
        to[i] += depth_tap(d, weight, k) * x[at];
    }
  }
}

static void conv_depth_fill_line(const void *user, int64_t at, int lane) {
  const depth *d = user;
  const fnzi_meta_conv *c = d->c;
  int64_t channel = at % c->out_channels, count = c->out[0], left = d->left;
  int64_t in = at / c->out_channels * c->in_channels + channel / (c->out_channels / c->in_channels);
  int64_t begin = left > 0 ? left : 0, end = fnzi_cpu_least(d->span, left + c->in[0]);
  float *line = d->room + lane * d->span, *to = d->o.y + at * count, last[TILE];
  const float *weight = d->o.weight + channel * c->kernel[0];
  float bias = d->o.bias ? d->o.bias[channel] : 0;
  bool is_finite = true;
  for (int64_t k = 0; k < c->kernel[0]; k++)
    is_finite = is_finite && isfinite(weight[k]);
  if (!is_finite) {
    fill_inside(d, d->o.x + in * c->in[0], weight, bias, to);
    return;
  }
  memset(line, 0, (size_t)d->span * sizeof *line);
  if (begin < end)
    memcpy(line + begin, d->o.x + in * c->in[0] + begin - left,
           (size_t)(end - begin) * sizeof *line);
  int64_t i = 0;
  for (; i + TILE <= count; i += TILE)
    fill_tile(d, line + i, weight, bias, to + i);
  if (i == count)
    return;
  fill_tile(d, line + i, weight, bias, last);
  memcpy(to + i, last, (size_t)(count - i) * sizeof *to);
}

bool fnzi_cpu_conv_is_depth(const fnzi_meta_conv *c) {
  return c->spatial == 1 && c->stride[0] == 1 && c->in_channels && c->groups == c->in_channels &&
         c->out[0] > 0 && fnzi_cpu_conv_pads_little(c);
}

fnz_status fnzi_cpu_conv_depth(fnzi_krn_call *call, const fnzi_meta_conv *c,
                               const fnzi_cpu_conv_floats *o) {
  depth d = {.c = c, .o = *o};
  void *room;
  d.left = c->transposed ? (c->kernel[0] - 1) * c->dilation[0] - c->left[0] : c->left[0];
  d.span = c->out[0] - 1 + (c->kernel[0] - 1) * c->dilation[0] + 1 + TILE;
  FNZ_TRY(fnzi_krn_scratch_take(call, d.span * fnzi_cpu_lanes(call), sizeof(float), &room));
  d.room = room;
  fnzi_cpu_rows_spread(call, c->batch * c->out_channels, c->out[0] * c->kernel[0] / PIECE + d.span,
                       conv_depth_fill_line, &d);
  return FNZ_OK;
}
