/* deform.c - deform_conv2d: a convolution whose windows look at places of their own. The elements
 * at these become columns, and weights times columns the result, image by image. */
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/special_reals.h"
#include "kernels/meta/boxes.h"

#include <math.h>

typedef struct deformed {
  fnzi_meta_deform m;
  int64_t image;
  fnzi_cpu_reals x, offset, mask;
  fnzi_cpu_reals_out columns; /* of an image: channels and kernel by places */
} deformed;

/* Between four elements; those outside of the image are 0. */
static double sample(const deformed *d, int64_t from, double y, double x) {
  const int64_t *in = d->m.in;
  if (!(y > -1 && y < (double)in[0] && x > -1 && x < (double)in[1]))
    return 0;
  int64_t top = (int64_t)floor(y), left = (int64_t)floor(x);
  double down = y - (double)top, across = x - (double)left, sum = 0;
  for (int k = 0; k < 4; k++) {
    int64_t i = top + k / 2, j = left + k % 2;
    double weight = (k / 2 ? down : 1 - down) * (k % 2 ? across : 1 - across);
    if (i >= 0 && i < in[0] && j >= 0 && j < in[1])
      sum += weight * fnzi_cpu_real_at(&d->x, from + i * in[1] + j);
  }
  return sum;
}

/* One place of the kernel over one channel: a row of the columns. */
static void deform_fill_row(const void *user, int64_t row, int lane) {
  const deformed *d = user;
  const fnzi_meta_deform *m = &d->m;
  int64_t window = m->kernel[0] * m->kernel[1], places = m->out[0] * m->out[1];
  int64_t channel = row / window, tap = row % window;
  int64_t part = d->image * m->parts + channel / (m->channels / m->parts);
  int64_t from = (d->image * m->channels + channel) * m->in[0] * m->in[1];
  int64_t offset = (part * window + tap) * 2 * places, mask = (part * window + tap) * places;
  double down = (double)(tap / m->kernel[1] * m->dilation[0] - m->padding[0]);
  double across = (double)(tap % m->kernel[1] * m->dilation[1] - m->padding[1]);
  (void)lane;
  for (int64_t i = 0; i < places; i++) {
    double y = (double)(i / m->out[1] * m->stride[0]) + down, x = (double)(i % m->out[1]);
    y = fnzi_cpu_real_round(&d->x, y + fnzi_cpu_real_at(&d->offset, offset + i));
    x = fnzi_cpu_real_round(&d->x, x * (double)m->stride[1] + across +
                                       fnzi_cpu_real_at(&d->offset, offset + places + i));
    double value = sample(d, from, y, x);
    fnzi_cpu_real_put(&d->columns, row * places + i,
                      m->has_mask ? value * fnzi_cpu_real_at(&d->mask, mask + i) : value);
  }
}

static const void *address(const fnzi_cpu_reals *x, int64_t at) {
  return x->d ? (const void *)(x->d + at) : (const void *)(x->f + at);
}

/* The product of a group: its channels of an image's columns. */
static fnz_status deform_open_product(fnzi_krn_call *call, const deformed *d, fnzi_cpu_product *p) {
  const fnzi_meta_deform *m = &d->m;
  int64_t places = m->out[0] * m->out[1];
  int64_t depth = m->channels / m->groups * m->kernel[0] * m->kernel[1];
  *p = (fnzi_cpu_product){.dtype = d->x.d ? FNZ_F64 : FNZ_F32,
                          .m = m->out_channels / m->groups,
                          .n = places,
                          .k = depth,
                          .a = {.row = depth, .col = 1},
                          .b = {.row = places, .col = 1},
                          .c_row = places,
                          .alpha = 1,
                          .beta = 1};
  p->order = fnzi_cpu_product_order(p, &p->a, &p->b);
  return fnzi_cpu_product_scratch(call, p);
}

static void deform_multiply(const fnzi_krn_call *call, const deformed *d, fnzi_cpu_product *p,
                            const fnzi_cpu_reals *weight, const fnzi_cpu_reals_out *y) {
  const fnzi_meta_deform *m = &d->m;
  const fnzi_cpu_reals columns = fnzi_cpu_reals_read(&d->columns);
  for (int64_t g = 0; g < m->groups; g++) {
    int64_t to = (d->image * m->out_channels + g * p->m) * p->n;
    p->a.data = address(weight, g * p->m * p->k);
    p->b.data = address(&columns, g * p->k * p->n);
    p->c = y->d ? (void *)(y->d + to) : (void *)(y->f + to);
    fnzi_cpu_product_run_tiled(p, call->team);
  }
}

fnz_status fnzi_kernel_deform_conv2d(fnzi_krn_call *call) {
  const fnz_dtype dtype = fnzi_cpu_real_dtype(fnzi_krn_call_geometry(call, 0)->dtype);
  fnzi_cpu_reals weight, bias;
  fnzi_cpu_reals_out y;
  deformed d = {0};
  FNZ_TRY(fnzi_meta_deform_read(call, &d.m));
  fnzi_cpu_product p;
  int64_t rows, cells;
  if (!fnzi_krn_array_numel(call->outputs[0]))
    return FNZ_OK;
  if (!fnzi_mul_i64(d.m.channels, d.m.kernel[0], &rows) ||
      !fnzi_mul_i64(rows, d.m.kernel[1], &rows) || !fnzi_mul_i64(rows, d.m.out[0], &cells) ||
      !fnzi_mul_i64(cells, d.m.out[1], &cells))
    return fnzi_no_memory(call->ctx);
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), dtype, &d.x));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_named_array(call, "weight"), dtype, &weight));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_named_array(call, "offset"), dtype, &d.offset));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_named_array(call, "mask"), dtype, &d.mask));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_named_array(call, "bias"), dtype, &bias));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &y));
  FNZ_TRY(fnzi_cpu_reals_scratch(call, dtype, cells, &d.columns));
  FNZ_TRY(deform_open_product(call, &d, &p));
  for (int64_t row = 0; row < d.m.batch * d.m.out_channels; row++)
    for (int64_t i = 0; i < p.n; i++)
      fnzi_cpu_real_put(&y, row * p.n + i, fnzi_cpu_real_at(&bias, row % d.m.out_channels));
  for (; d.image < d.m.batch && rows; d.image++) {
    fnzi_cpu_rows_each(call, rows, deform_fill_row, &d);
    deform_multiply(call, &d, &p, &weight, &y);
  }
  return FNZ_OK;
}
