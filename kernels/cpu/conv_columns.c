/* conv_columns.c - convolutions in f64: products of the weights with the elements that they meet,
 * brought into columns, some places of the result at a time. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/matmul.h"
#include "kernels/cpu/sizes.h"

/* Elements; some stay near, unless that would be few columns. */
enum { MOST_COLUMNS = 1 << 19, NEAR_COLUMNS = 1 << 16, FEW_COLUMNS = 64 };

typedef struct columns {
  const fnzi_meta_conv *c;
  const double *x; /* the first channel of the group, padded */
  int64_t span[3]; /* sizes of a padded channel */
  double *to;
  int64_t first, count; /* places */
} columns;

/* Zeroes around a channel, and all that the kernel meets of it: so no place is a special case. */
static void pad(const columns *k, const double *plane, double *to) {
  const fnzi_meta_conv *c = k->c;
  int64_t begin[3], end[3];
  for (uint32_t i = 0; i < 3; i++) {
    begin[i] = c->left[i] > 0 ? c->left[i] : 0;
    end[i] = fnzi_cpu_least(k->span[i], c->left[i] + c->in[i]);
  }
  memset(to, 0, (size_t)fnzi_cpu_volume(k->span) * sizeof *to);
  for (int64_t z = begin[0]; z < end[0]; z++)
    for (int64_t y = begin[1]; y < end[1] && begin[2] < end[2]; y++) {
      int64_t line = (z - c->left[0]) * c->in[1] + y - c->left[1];
      memcpy(to + (z * k->span[1] + y) * k->span[2] + begin[2],
             plane + line * c->in[2] + begin[2] - c->left[2],
             (size_t)(end[2] - begin[2]) * sizeof *to);
    }
}

enum { PIECE = 4 };
typedef double piece __attribute__((vector_size(PIECE * sizeof(double))));

/* Runs are too short for a call to memcpy(). */
static void copy_run(const double *from, int64_t step, int64_t count, double *to) {
  int64_t i = 0;
  for (; step == 1 && i + PIECE <= count; i += PIECE) {
    piece p;
    memcpy(&p, from + i, sizeof p);
    memcpy(to + i, &p, sizeof p);
  }
  for (; i < count; i++)
    to[i] = from[i * step];
}

/* One row: an element of the kernel in a channel, at each place; places go by rows of the result.
 */
static void columns_fill_row(const columns *k, const double *from, double *to) {
  const fnzi_meta_conv *c = k->c;
  int64_t start = k->first % c->out[2], line = k->first / c->out[2], run;
  int64_t over = line / c->out[1], beside = line % c->out[1];
  for (int64_t i = 0; i < k->count; i += run, start = 0, over += ++beside == c->out[1]) {
    beside = beside == c->out[1] ? 0 : beside;
    run = fnzi_cpu_least(c->out[2] - start, k->count - i);
    int64_t at = (over * c->stride[0] * k->span[1] + beside * c->stride[1]) * k->span[2];
    copy_run(from + at + start * c->stride[2], c->stride[2], run, to + i);
  }
}

static void columns_fill(const columns *k) {
  const fnzi_meta_conv *c = k->c;
  int64_t ins = c->in_channels / c->groups, kernel = fnzi_cpu_volume(c->kernel);
  for (int64_t row = 0; row < ins * kernel; row++) {
    int64_t e = row % kernel;
    int64_t z = e / c->kernel[2] / c->kernel[1] * c->dilation[0],
            y = e / c->kernel[2] % c->kernel[1] * c->dilation[1],
            x = e % c->kernel[2] * c->dilation[2];
    const double *plane = k->x + row / kernel * fnzi_cpu_volume(k->span);
    columns_fill_row(k, plane + (z * k->span[1] + y) * k->span[2] + x, k->to + row * k->count);
  }
}

/* `y` and `weight`: of the group. */
static void columns_multiply(const columns *k, const double *weight, bool has_bias, double *y) {
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

bool fnzi_cpu_conv_pads_little(const fnzi_meta_conv *c) {
  enum { MUCH = 64 };
  double span = 1;
  for (uint32_t i = 0; i < 3; i++)
    span *= ((double)c->out[i] - 1) * (double)c->stride[i] +
            ((double)c->kernel[i] - 1) * (double)c->dilation[i] + 1;
  return span <= MUCH * ((double)fnzi_cpu_volume(c->in) + (double)fnzi_cpu_volume(c->out));
}

/* The same convolution with its dimensions last, so that places in a run are neighbours. */
static fnzi_meta_conv dimensions_last(const fnzi_meta_conv *c) {
  fnzi_meta_conv last = *c;
  for (uint32_t i = 0; i < 3; i++) {
    uint32_t from = (i + c->spatial) % 3; /* dimensions of size 1 come first */
    last.in[i] = c->in[from], last.out[i] = c->out[from], last.kernel[i] = c->kernel[from];
    last.stride[i] = c->stride[from], last.dilation[i] = c->dilation[from];
    last.left[i] = c->left[from], last.right[i] = c->right[from];
  }
  return last;
}

/* Room for the columns, and for the padded channels of a group. */
static fnz_status open_columns(fnzi_krn_call *call, int64_t elements, columns *k, double **padded) {
  const fnzi_meta_conv *c = k->c;
  size_t cells = (size_t)(c->in_channels / c->groups);
  void *room;
  for (uint32_t i = 0; i < 3; i++) {
    k->span[i] = (c->out[i] - 1) * c->stride[i] + (c->kernel[i] - 1) * c->dilation[i] + 1;
    if (!fnzi_mul_size(cells, (size_t)k->span[i], &cells))
      return fnzi_no_memory(call->ctx);
  }
  FNZ_TRY(fnzi_arena_take(&call->scratch, cells, sizeof **padded, &room));
  k->x = *padded = room;
  FNZ_TRY(fnzi_arena_take(&call->scratch, (size_t)elements, sizeof *k->to, &room));
  k->to = room;
  return FNZ_OK;
}

fnz_status fnzi_cpu_conv_columns(fnzi_krn_call *call, const fnzi_meta_conv *given,
                                 const fnzi_cpu_conv_doubles *o, bool *done) {
  const fnzi_meta_conv last = dimensions_last(given), *c = &last;
  int64_t ins = c->in_channels / c->groups, outs = c->out_channels / c->groups;
  int64_t depth = ins * fnzi_cpu_volume(c->kernel), places = fnzi_cpu_volume(c->out);
  int64_t most = depth ? MOST_COLUMNS / depth : 0;
  int64_t near = depth ? NEAR_COLUMNS / depth : 0;
  columns k = {.c = c};
  double *padded;
  *done = !c->transposed && most > 0 && places <= INT32_MAX && fnzi_cpu_conv_pads_little(c);
  if (!*done || !places)
    return FNZ_OK;
  most = fnzi_cpu_least(most, near > FEW_COLUMNS ? near : FEW_COLUMNS);
  FNZ_TRY(open_columns(call, depth * fnzi_cpu_least(most, places), &k, &padded));
  begin(c, o->bias, o->y);
  for (int64_t group = 0; group < c->batch * c->groups; group++) {
    for (int64_t i = 0; i < ins; i++)
      pad(&k, o->x + (group * ins + i) * fnzi_cpu_volume(c->in),
          padded + i * fnzi_cpu_volume(k.span));
    for (k.first = 0; k.first < places; k.first += most) {
      k.count = fnzi_cpu_least(most, places - k.first);
      columns_fill(&k);
      columns_multiply(&k, o->weight + group % c->groups * outs * depth, o->bias != NULL,
                       o->y + group * outs * places);
    }
  }
  return FNZ_OK;
}
