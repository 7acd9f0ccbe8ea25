/* conv_apart.c - transposed convolutions in f32 whose windows lie side by side, because the stride
 * is the size of the kernel, as upsampling has them: each element of the result is a product of one
 * place. So a matrix product computes the windows of some lines, and its rows are copied to where
 * they belong. oneDNN's own take twice as long. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/sizes.h"
#include "kernels/cpu/special_reals.h"

enum {
  LEAST_CHANNELS = 16,
  LEAST_ROWS = 128,
  MOST_WIDTH = 4096 /* of a line, which is one block */
};

typedef struct apart {
  const fnzi_meta_conv *c;
  fnzi_cpu_product product; /* of a whole block: rows are places, columns a window's elements */
  int64_t lines, blocks;    /* lines of the input in a block, blocks of a sample */
  const float *x, *bias;
  float *y, *parts; /* parts: a block's product for each thread */
} apart;

bool fnzi_cpu_conv_is_apart(const fnzi_meta_conv *c) {
  bool is = c->transposed && c->groups == 1 && c->spatial <= 2 &&
            c->in_channels >= LEAST_CHANNELS && c->in[1] <= MOST_WIDTH;
  for (uint32_t i = 0; i < c->spatial; i++)
    is = is && c->in[i] > 0 && c->kernel[i] == c->stride[i] && c->dilation[i] == 1 &&
         c->left[i] == 0 && c->out[i] == c->in[i] * c->stride[i];
  return is;
}

/* (in, out, kernel...) becomes (in, kernel..., out). */
static void move_channels(const fnzi_meta_conv *c, const float *from, float *to) {
  int64_t kernel = fnzi_cpu_volume(c->kernel), outs = c->out_channels;
  for (int64_t in = 0; in < c->in_channels; in++, from += outs * kernel)
    for (int64_t k = 0; k < kernel; k++)
      for (int64_t out = 0; out < outs; out++)
        *to++ = from[out * kernel + k];
}

/* A line of windows of one place each: `count` floats of each window. */
static void put_line(const apart *a, const float *from, float *to, int64_t count) {
  for (int64_t j = 0; j < a->c->in[1]; j++, from += a->product.n, to += count)
    if (a->bias)
      for (int64_t k = 0; k < count; k += a->c->out_channels)
        for (int64_t i = 0; i < a->c->out_channels; i++)
          to[k + i] = from[k + i] + a->bias[i];
    else
      memcpy(to, from, (size_t)count * sizeof *to);
}

static void run_block(const void *user, int64_t at, int lane) {
  const apart *a = user;
  const fnzi_meta_conv *c = a->c;
  const int64_t sample = at / a->blocks, first = at % a->blocks * a->lines,
                lines = fnzi_cpu_least(a->lines, c->in[0] - first),
                line = sample * c->in[0] + first;
  const int64_t count = c->kernel[1] * c->out_channels, width = c->out[1] * c->out_channels;
  fnzi_cpu_product p = a->product;
  float *part = a->parts + lane * p.m * p.n;
  p.a.data = a->x + line * c->in[1] * c->in_channels;
  p.m = lines * c->in[1];
  p.c = part;
  fnzi_cpu_product_run(&p, lane);
  for (int64_t i = 0; i < lines; i++)
    for (int64_t k = 0; k < c->kernel[0]; k++)
      put_line(a, part + i * c->in[1] * p.n + k * count,
               a->y + ((line + i) * c->kernel[0] + k) * width, count);
}

/* Memory for all threads, and the weight as the product takes it. */
static fnz_status apart_open_product(fnzi_krn_call *call, apart *a, const float *weight) {
  const fnzi_meta_conv *c = a->c;
  const int64_t n = fnzi_cpu_volume(c->kernel) * c->out_channels;
  void *moved, *parts;
  bool is_moved = false;
  a->lines = fnzi_cpu_least(c->in[0], fnzi_cpu_parts(LEAST_ROWS, c->in[1]));
  a->blocks = fnzi_cpu_parts(c->in[0], a->lines);
  a->product = (fnzi_cpu_product){.dtype = FNZ_F32,
                                  .m = a->lines * c->in[1],
                                  .n = n,
                                  .k = c->in_channels,
                                  .a = {.row = c->in_channels, .col = 1},
                                  .b = {.row = n, .col = 1},
                                  .c_row = n,
                                  .alpha = 1};
  FNZ_TRY(fnzi_cpu_conv_weight_ordered(call, (size_t)(n * c->in_channels) * sizeof(float), &moved,
                                       &is_moved));
  if (!is_moved)
    move_channels(c, weight, moved);
  a->product.b.data = moved;
  a->product.order = fnzi_cpu_product_order(&a->product, &a->product.a, &a->product.b);
  FNZ_TRY(fnzi_cpu_product_scratch(call, &a->product));
  FNZ_TRY(
      fnzi_krn_scratch_take(call, a->product.m * n * fnzi_cpu_lanes(call), sizeof(float), &parts));
  a->parts = parts;
  return FNZ_OK;
}

fnz_status fnzi_cpu_conv_apart(fnzi_krn_call *call, const fnzi_meta_conv *c, const float *weight) {
  apart a = {.c = c};
  fnzi_cpu_reals bias;
  const void *x;
  void *y;
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 2), FNZ_F32, &bias));
  FNZ_TRY(
      fnzi_krn_channels_last_get_as(call, fnzi_krn_call_input(call, 0), c->spatial, FNZ_F32, &x));
  FNZ_TRY(fnzi_krn_channels_last_result(call, 0, c->spatial, FNZ_F32, &y));
  FNZ_TRY(apart_open_product(call, &a, weight));
  a.x = x, a.bias = bias.f, a.y = y;
  fnzi_cpu_rows_spread(call, c->batch * a.blocks, a.product.m * a.product.n * a.product.k,
                       run_block, &a);
  return FNZ_OK;
}
