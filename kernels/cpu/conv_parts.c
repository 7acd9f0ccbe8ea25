/* conv_parts.c - a convolution in parts, each on one thread.
 *
 * A part is some rows of the result of one sample, or some of its channels if the weight is large
 * and they can be divided: then each part reads a part of the weight. How many parts there are is
 * decided by sizes alone, so results do not depend on how many threads there are. Parts of a
 * transposed convolution are rows, if its windows leave none out. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/special_reals.h"
#include "kernels/cpu/sizes.h"

enum {
  LEAST_CHANNELS = 32,    /* of a part's result: fewer do not fill oneDNN's blocks */
  LARGE_WEIGHT = 1 << 16, /* elements that do not stay in the second cache beside rows */
  WORTH_PART = 1 << 20,   /* products */
  MANY_SAMPLES = 16,      /* they are parts enough */
  FEW_PARTS = 4           /* of a transposed one: oneDNN is slower on few rows of it */
};

typedef struct part {
  const fnzi_cpu_conv_plan *plan;
  int64_t x,
      y; /* elements from the start of the sample; y: from the start of a place, by channels */
} part;

typedef struct run {
  const fnzi_meta_conv *conv;
  part part[FNZI_CONV_PARTS];
  int64_t parts;
  bool by_channels; /* else by rows */
  fnzi_cpu_conv_bytes needs;
  const float *x, *weight, *bias;
  float *y;
  int64_t weight_part; /* elements */
  bool has_weight;     /* in weight_room, ordered */
  unsigned char *weight_room, *lane_room;
  size_t y_bytes, lane_bytes;
  int *status; /* of each thread */
} run;

/* --- Cutting ----------------------------------------------------------------------------- */
static int64_t conv_parts_weight_of(const fnzi_meta_conv *c) {
  return c->out_channels * (c->in_channels / c->groups) * fnzi_cpu_volume(c->kernel);
}

/* Places that meet each element of the weight. */
static int64_t conv_parts_places(const fnzi_meta_conv *c) {
  return fnzi_cpu_volume(c->transposed ? c->in : c->out);
}

static void count_parts(run *r) {
  const fnzi_meta_conv *c = r->conv;
  int64_t worth = WORTH_PART / (conv_parts_weight_of(c) + 1), parts = FNZI_CONV_PARTS, channels;
  if (c->transposed) /* in parts where its windows leave no row of the result out */
    parts = c->dilation[0] == 1 && c->kernel[0] >= c->stride[0] && c->right[0] >= 0 ? FEW_PARTS : 1;
  if (c->batch >= MANY_SAMPLES)
    parts = 1;
  while (parts > 1 && conv_parts_places(c) / parts < worth)
    parts /= 2;
  channels = c->groups == 1 && !c->transposed && conv_parts_weight_of(c) > LARGE_WEIGHT ? parts : 1;
  while (channels > 1 && c->out_channels % (channels * LEAST_CHANNELS))
    channels /= 2;
  while (parts > 1 && c->out[0] < parts)
    parts /= 2;
  r->by_channels = channels > 1;
  r->parts = r->by_channels ? channels : parts;
}

/* Rows `at` to before `end` of the result of a transposed convolution, and the rows of the input
 * whose windows reach them. */
static fnzi_meta_conv rows_of_transposed(const fnzi_meta_conv *c, int64_t at, int64_t end,
                                         int64_t *first) {
  fnzi_meta_conv rows = *c;
  const int64_t from = at + c->left[0], to = end - 1 + c->left[0]; /* rows, with those cut off */
  const int64_t before = from - c->kernel[0] + 1;
  *first = before > 0 ? fnzi_cpu_parts(before, c->stride[0]) : 0;
  rows.in[0] = fnzi_cpu_least(to / c->stride[0] + 1, c->in[0]) - *first;
  rows.out[0] = end - at;
  rows.left[0] = from - *first * c->stride[0];
  rows.right[0] = (*first + rows.in[0] - 1) * c->stride[0] + c->kernel[0] - 1 - to;
  return rows;
}

/* Rows `at` to before `end` of the result, and the rows of the input that they see. */
static fnzi_meta_conv conv_parts_rows_of(const fnzi_meta_conv *c, int64_t at, int64_t end,
                                         int64_t *first) {
  if (c->transposed)
    return rows_of_transposed(c, at, end, first);
  fnzi_meta_conv rows = *c;
  int64_t from = at * c->stride[0] - c->left[0];
  int64_t to = (end - 1) * c->stride[0] - c->left[0] + (c->kernel[0] - 1) * c->dilation[0] + 1;
  *first = from > 0 ? from : 0;
  rows.in[0] = fnzi_cpu_least(to, c->in[0]) - *first;
  rows.out[0] = end - at;
  rows.left[0] = *first - from;
  rows.right[0] = to - fnzi_cpu_least(to, c->in[0]);
  return rows;
}

static fnz_status find_part(fnzi_krn_call *call, run *r, int64_t k, bool has_bias) {
  const fnzi_meta_conv *c = r->conv;
  fnzi_meta_conv cut = *c;
  part *p = &r->part[k];
  int64_t at = c->out[0] * k / r->parts, end = c->out[0] * (k + 1) / r->parts, first = 0;
  if (r->by_channels) {
    cut.out_channels /= r->parts;
    p->y = k * cut.out_channels;
  } else if (r->parts > 1) {
    cut = conv_parts_rows_of(c, at, end, &first);
    p->x = first * c->in[1] * c->in[2] * c->in_channels;
    p->y = at * c->out[1] * c->out[2] * c->out_channels;
  }
  cut.batch = 1;
  return cut.in[0] < 1 ? FNZ_OK : fnzi_cpu_conv_kept(call, &cut, has_bias, &p->plan);
}

/* Finds the plans of all parts, which share one layout of the weight; *done: there are plans. */
static fnz_status find_parts(fnzi_krn_call *call, run *r, bool has_bias, bool *done) {
  *done = true;
  for (int64_t k = 0; k < r->parts && *done; k++) {
    FNZ_TRY(find_part(call, r, k, has_bias));
    const fnzi_cpu_conv_plan *plan = r->part[k].plan;
    *done = plan && fnzi_cpu_conv_plan_shares_weight(plan, r->part[0].plan);
    const fnzi_cpu_conv_bytes more = *done ? fnzi_cpu_conv_plan_bytes(plan) : r->needs;
    r->needs.weight = more.weight;
    r->needs.scratch = more.scratch > r->needs.scratch ? more.scratch : r->needs.scratch;
  }
  return FNZ_OK;
}

/* --- Parts ------------------------------------------------------------------------------- */
static void note(const run *r, int lane, int status) {
  if (status)
    r->status[lane] = status;
}

static unsigned char *lane_scratch(const run *r, int lane) {
  return r->lane_room + (size_t)lane * r->lane_bytes;
}

static int64_t weights_of(const run *r) {
  return r->by_channels ? r->parts : 1;
}

static void order_weight(const void *user, int64_t k, int lane) {
  const run *r = user;
  note(r, lane,
       fnzi_cpu_conv_plan_weight(r->part[k].plan, r->weight + k * r->weight_part,
                                 r->weight_room + (size_t)k * r->needs.weight,
                                 lane_scratch(r, lane)));
}

static void conv_parts_convolve(const void *user, int64_t at, int lane) {
  const run *r = user;
  const fnzi_meta_conv *c = r->conv;
  int64_t sample = at / r->parts, k = at % r->parts, weight = r->by_channels ? k : 0;
  unsigned char *scratch = lane_scratch(r, lane);
  void *room = scratch + r->needs.scratch;
  const float *channels = room;
  float *y = r->y + sample * c->out_channels * fnzi_cpu_volume(c->out) + r->part[k].y;
  fnzi_cpu_conv_operands o = {.y = r->y_bytes ? room : y};
  o.x = r->x + sample * c->in_channels * fnzi_cpu_volume(c->in) + r->part[k].x;
  o.weight = r->weight + weight * r->weight_part;
  if (r->needs.weight)
    o.weight = r->weight_room + (size_t)weight * r->needs.weight;
  if (r->bias)
    o.bias = r->bias + (r->by_channels ? r->part[k].y : 0);
  note(r, lane, fnzi_cpu_conv_plan_run(r->part[k].plan, &o, scratch, lane));
  const int64_t all = c->out_channels, count = all / r->parts;
  for (int64_t i = 0; r->y_bytes && i < fnzi_cpu_volume(c->out); i++)
    memcpy(y + i * all, channels + i * count, (size_t)count * sizeof *y);
}

/* --- Running ------------------------------------------------------------------------------- */

static bool whole_lines(size_t *bytes) {
  return fnzi_add_size(*bytes, 63, bytes) && (*bytes &= ~(size_t)63, true);
}

/* Bytes of all the memory that a run needs, and of a thread's part of it. */
static bool measure(run *r, size_t lanes, bool keeps, size_t *total) {
  int64_t cells = r->conv->out_channels / r->parts * fnzi_cpu_volume(r->conv->out);
  size_t weight, lane;
  r->y_bytes = r->by_channels && r->parts > 1 ? (size_t)cells * sizeof *r->y : 0;
  return whole_lines(&r->needs.weight) && whole_lines(&r->needs.scratch) &&
         whole_lines(&r->y_bytes) && fnzi_add_size(r->y_bytes, r->needs.scratch, &r->lane_bytes) &&
         fnzi_mul_size(keeps ? 0 : (size_t)weights_of(r), r->needs.weight, &weight) &&
         fnzi_mul_size(lanes, r->lane_bytes, &lane) && fnzi_add_size(weight, lane, total);
}

static void run_all(const fnzi_krn_call *call, const run *r) {
  int64_t cells = conv_parts_weight_of(r->conv) / r->parts * conv_parts_places(r->conv);
  if (r->needs.weight && !r->has_weight)
    fnzi_cpu_rows_spread(call, weights_of(r), cells, order_weight, r);
  fnzi_cpu_rows_spread(call, r->conv->batch * r->parts, cells, conv_parts_convolve, r);
}

static fnz_status conv_parts_run_in(fnzi_krn_call *call, run *r) {
  size_t total, lanes = (size_t)fnzi_cpu_lanes(call);
  bool keeps = r->needs.weight && fnzi_cpu_conv_keeps_weight(call);
  fnzi_krn_storage *memory;
  if (!measure(r, lanes, keeps, &total))
    return fnzi_no_memory(call->ctx);
  FNZI_NEW(&call->scratch, lanes, &r->status);
  FNZ_TRY(fnzi_krn_storage_create(call->ctx, call->stock, total, &memory));
  void *kept = NULL;
  size_t bytes = 0;
  fnz_status status = FNZ_OK;
  if (keeps && !fnzi_mul_size((size_t)weights_of(r), r->needs.weight, &bytes))
    status = fnzi_no_memory(call->ctx);
  else if (keeps)
    status = fnzi_cpu_conv_weight_ordered(call, bytes, &kept, &r->has_weight);
  if (status != FNZ_OK) {
    fnzi_krn_storage_release(call->ctx, memory);
    return status;
  }
  r->weight_room = keeps ? kept : memory->data;
  r->lane_room = memory->data + (keeps ? 0 : (size_t)weights_of(r) * r->needs.weight);
  run_all(call, r);
  fnzi_krn_storage_release(call->ctx, memory);
  for (size_t i = 0; i < lanes && status == FNZ_OK; i++)
    if (r->status[i])
      status = fnzi_cpu_onednn_judge_made(call->ctx, r->status[i]);
  if (status != FNZ_OK && keeps) {
    call->own->end(call->ctx, call->own->data);
    call->own->data = NULL;
  }
  return status;
}

fnz_status fnzi_cpu_conv_onednn(fnzi_krn_call *call, const fnzi_meta_conv *c, const float *weight,
                                bool *done) {
  run r = {.conv = c, .weight = weight};
  fnzi_cpu_reals bias;
  const void *x;
  void *y;
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 2), FNZ_F32, &bias));
  r.bias = bias.f;
  count_parts(&r);
  FNZ_TRY(find_parts(call, &r, bias.f != NULL, done));
  if (!*done && r.parts > 1) { /* whole, if parts differ in the layout of the weight */
    r = (run){.conv = c, .weight = weight, .bias = bias.f, .parts = 1};
    FNZ_TRY(find_parts(call, &r, bias.f != NULL, done));
  }
  if (!*done)
    return FNZ_OK;
  r.weight_part = conv_parts_weight_of(c) / weights_of(&r);
  FNZ_TRY(
      fnzi_krn_channels_last_get_as(call, fnzi_krn_call_input(call, 0), c->spatial, FNZ_F32, &x));
  FNZ_TRY(fnzi_krn_channels_last_result(call, 0, c->spatial, FNZ_F32, &y));
  r.x = x, r.y = y;
  return conv_parts_run_in(call, &r);
}
