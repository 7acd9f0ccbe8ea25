/* conv_columns.c - convolutions in f64: products of the weights with the elements that they meet,
 * brought into columns, some places of the result at a time. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/sizes.h"
#include "kernels/meta/conv_source.h"

enum { MOST_COLUMNS = 1 << 19 }; /* elements */

typedef struct columns {
  const fnzi_meta_conv *c;
  const double *x; /* the first channel of the group */
  double *to;
  int64_t first, count; /* places */
} columns;

/* Elements `step` apart from `from` on, of a line that has `length`, and 0 beyond it. */
static void fill_run(const double *line, int64_t length, int64_t from, int64_t step, int64_t count,
                     double *to) {
  int64_t before = step - 1 - from, behind = length - 1 - from;
  int64_t first = from < 0 ? fnzi_cpu_least(step == 1 ? before : before / step, count) : 0;
  int64_t last =
      from < length ? fnzi_cpu_least((step == 1 ? behind : behind / step) + 1, count) : 0;
  last = last < first ? first : last;
  for (int64_t i = 0; i < first; i++)
    to[i] = 0;
  for (int64_t i = first; i < last; i++)
    to[i] = line[from + i * step];
  for (int64_t i = last; i < count; i++)
    to[i] = 0;
}

/* One row: an element of the kernel in a channel, at each place; places go by rows of the result.
 */
static void fill_row(const columns *k, const double *plane, const int64_t *at, double *to) {
  const fnzi_meta_conv *c = k->c;
  int64_t shift = at[2] * c->dilation[2] - c->left[2], run;
  int64_t start = k->first % c->out[2], line = k->first / c->out[2];
  int64_t over = line / c->out[1], beside = line % c->out[1];
  for (int64_t i = 0; i < k->count; i += run, start = 0, over += ++beside == c->out[1]) {
    beside = beside == c->out[1] ? 0 : beside;
    int64_t y =
        fnzi_meta_conv_source(over, at[0], c->stride[0], c->dilation[0], c->left[0], c->in[0]);
    int64_t x =
        fnzi_meta_conv_source(beside, at[1], c->stride[1], c->dilation[1], c->left[1], c->in[1]);
    run = fnzi_cpu_least(c->out[2] - start, k->count - i);
    if (y < 0 || x < 0)
      memset(to + i, 0, (size_t)run * sizeof *to);
    else
      fill_run(plane + (y * c->in[1] + x) * c->in[2], c->in[2], start * c->stride[2] + shift,
               c->stride[2], run, to + i);
  }
}

static void fill(const columns *k) {
  const fnzi_meta_conv *c = k->c;
  int64_t ins = c->in_channels / c->groups, kernel = fnzi_cpu_volume(c->kernel);
  for (int64_t row = 0; row < ins * kernel; row++) {
    int64_t e = row % kernel;
    const int64_t at[3] = {e / c->kernel[2] / c->kernel[1], e / c->kernel[2] % c->kernel[1],
                           e % c->kernel[2]};
    fill_row(k, k->x + row / kernel * fnzi_cpu_volume(c->in), at, k->to + row * k->count);
  }
}

/* `y` and `weight`: of the group. */
static void multiply(const columns *k, const double *weight, bool has_bias, double *y) {
  const fnzi_meta_conv *c = k->c;
  int64_t depth = c->in_channels / c->groups * fnzi_cpu_volume(c->kernel);
  fnzi_cpu_product_run(&(fnzi_cpu_product){.dtype = FNZ_F64,
                                           .m = c->out_channels / c->groups,
                                           .n = k->count,
                                           .k = depth,
                                           .a = {.data = weight, .row = depth, .col = 1},
                                           .b = {.data = k->to, .row = k->count, .col = 1},
                                           .c = y + k->first,
                                           .c_row = fnzi_cpu_volume(c->out),
                                           .alpha = 1,
                                           .beta = has_bias,
                                           .order = FNZI_ORDER_LIBRARY},
                       0);
}

static void begin(const fnzi_meta_conv *c, const double *bias, double *y) {
  int64_t places = fnzi_cpu_volume(c->out);
  for (int64_t row = 0; bias && row < c->batch * c->out_channels; row++)
    for (int64_t i = 0; i < places; i++)
      y[row * places + i] = bias[row % c->out_channels];
}

fnz_status fnzi_cpu_conv_columns(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                 const fnzi_cpu_conv_doubles *o, bool *done) {
  int64_t ins = c->in_channels / c->groups, outs = c->out_channels / c->groups;
  int64_t depth = ins * fnzi_cpu_volume(c->kernel), places = fnzi_cpu_volume(c->out);
  int64_t most = depth ? MOST_COLUMNS / depth : 0;
  columns k = {.c = c};
  *done = !c->transposed && most > 0 && places <= INT32_MAX;
  if (!*done || !places)
    return FNZ_OK;
  FNZI_NEW(&call->scratch, depth * fnzi_cpu_least(most, places), &k.to);
  begin(c, o->bias, o->y);
  for (int64_t group = 0; group < c->batch * c->groups; group++) {
    k.x = o->x + group * ins * fnzi_cpu_volume(c->in);
    for (k.first = 0; k.first < places; k.first += most) {
      k.count = fnzi_cpu_least(most, places - k.first);
      fill(&k);
      multiply(&k, o->weight + group % c->groups * outs * depth, o->bias != NULL,
               o->y + group * outs * places);
    }
  }
  return FNZ_OK;
}
