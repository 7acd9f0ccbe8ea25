/* conv_parts.c - a convolution in parts, each on one thread.
 *
 * A part is some groups, or some channels of the result, of one sample. How many there are is
 * decided by sizes alone, so results do not depend on how many threads there are. */
#include "kernels/cpu/conv.h"
#include "kernels/cpu/special_reals.h"
#include "kernels/cpu/sizes.h"

#include <omp.h>

enum {
  MOST_PARTS = 8,
  LEAST_CHANNELS = 32,   /* of a part's result: fewer do not fill oneDNN's blocks */
  FEW_CHANNELS = 16,     /* the same where each is a group */
  WORTH_PARTS = 1 << 21, /* products of a sample */
  MANY_SAMPLES = 16      /* they are parts enough */
};

typedef struct run {
  const fnzi_cpu_conv_plan *plan;
  fnzi_cpu_conv_room room;
  const float *x, *weight, *bias;
  float *y;
  int64_t samples, parts;
  int64_t x_sample, y_sample, x_part, y_part, weight_part, bias_part; /* elements */
  bool shares_x;                                                      /* all parts read it all */
  bool has_weight;                                                    /* in weight_room, ordered */
  unsigned char *x_room, *weight_room, *lane_room;
  size_t lane_bytes;
  int *status; /* of each thread */
} run;

static int64_t count_parts(const fnzi_meta_conv *c) {
  int64_t units = c->groups > 1 ? c->groups : c->out_channels, parts = MOST_PARTS;
  int64_t least = c->groups > 1 ? FEW_CHANNELS : LEAST_CHANNELS;
  int64_t each = c->in_channels / c->groups * fnzi_cpu_volume(c->kernel) * fnzi_cpu_volume(c->out);
  if (c->transposed || c->batch >= MANY_SAMPLES || c->out_channels < WORTH_PARTS / (each + 1))
    return 1;
  if (c->groups > 1 && c->out_channels != c->groups)
    least = 1;
  while (parts > 1 && (units % parts || units / parts % least))
    parts /= 2;
  return parts;
}

static fnzi_meta_conv part_of(const fnzi_meta_conv *c, int64_t parts) {
  fnzi_meta_conv part = *c;
  part.batch = 1;
  part.out_channels /= parts;
  if (c->groups > 1)
    part.in_channels /= parts, part.groups /= parts;
  return part;
}

static void note(const run *r, int lane, int status) {
  if (status)
    r->status[lane] = status;
}

static unsigned char *lane_scratch(const run *r, int lane) {
  return r->lane_room + (size_t)lane * r->lane_bytes;
}

static void order_weight(const void *user, int64_t part, int lane) {
  const run *r = user;
  note(r, lane,
       fnzi_cpu_conv_plan_weight(r->plan, r->weight + part * r->weight_part,
                                 r->weight_room + (size_t)part * r->room.weight,
                                 lane_scratch(r, lane)));
}

static void order_x(const void *user, int64_t sample, int lane) {
  const run *r = user;
  note(r, lane,
       fnzi_cpu_conv_plan_x(r->plan, r->x + sample * r->x_sample,
                            r->x_room + (size_t)sample * r->room.x, lane_scratch(r, lane)));
}

static void convolve(const void *user, int64_t at, int lane) {
  const run *r = user;
  int64_t sample = at / r->parts, part = at % r->parts;
  const float *plain = r->x + sample * r->x_sample + part * r->x_part;
  unsigned char *scratch = lane_scratch(r, lane), *y_room = scratch + r->room.scratch;
  unsigned char *x_room = y_room + r->room.y;
  const void *x = plain, *weight = r->weight + part * r->weight_part;
  if (r->room.weight)
    weight = r->weight_room + (size_t)part * r->room.weight;
  if (r->room.x && r->shares_x)
    x = r->x_room + (size_t)sample * r->room.x;
  else if (r->room.x) {
    note(r, lane, fnzi_cpu_conv_plan_x(r->plan, plain, x_room, scratch));
    x = x_room;
  }
  note(r, lane,
       fnzi_cpu_conv_plan_run(
           r->plan,
           &(fnzi_cpu_conv_operands){x, weight, r->bias ? r->bias + part * r->bias_part : NULL,
                                     r->y + sample * r->y_sample + part * r->y_part},
           y_room, scratch));
}

/* --- Weights that last
 * ----------------------------------------------------------------------------
 */
typedef struct ordered {
  size_t bytes; /* of all */
} ordered;

static void end_ordered(fnz_context *ctx, void *data) {
  ordered *o = data;
  fnzi_free(ctx, o, o->bytes);
}

static unsigned char *cells_of(ordered *o) {
  uintptr_t at = ((uintptr_t)(o + 1) + 63) & ~(uintptr_t)63;
  return (unsigned char *)o + (at - (uintptr_t)o);
}

static bool keeps_weight(const fnzi_krn_call *call, const run *r) {
  return r->room.weight && call->own && (call->lasting >> 1 & 1);
}

/* Weights of an earlier run, in the plan's layout, or room for them. */
static fnz_status find_weight(const fnzi_krn_call *call, run *r) {
  ordered *o = call->own->data;
  size_t bytes;
  if (o) {
    r->weight_room = cells_of(o);
    r->has_weight = true;
    return FNZ_OK;
  }
  if (!fnzi_mul_size((size_t)r->parts, r->room.weight, &bytes) ||
      !fnzi_add_size(bytes, sizeof *o + 64, &bytes) ||
      !(o = fnzi_resize(call->ctx, NULL, 0, bytes)))
    return fnzi_no_memory(call->ctx);
  o->bytes = bytes;
  *call->own = (fnzi_krn_kept){o, end_ordered};
  r->weight_room = cells_of(o);
  return FNZ_OK;
}

/* --- Running
 * --------------------------------------------------------------------------------------
 */
static bool whole_lines(size_t *bytes) {
  return fnzi_add_size(*bytes, 63, bytes) && (*bytes &= ~(size_t)63, true);
}

/* Bytes of all the memory that a run needs, and of a thread's part of it. */
static bool measure(run *r, size_t lanes, bool keeps, size_t *total) {
  fnzi_cpu_conv_room *m = &r->room;
  size_t x = 0, weight, lane;
  if (!whole_lines(&m->x) || !whole_lines(&m->weight) || !whole_lines(&m->y) ||
      !whole_lines(&m->scratch))
    return false;
  if (r->shares_x && !fnzi_mul_size((size_t)r->samples, m->x, &x))
    return false;
  if (!fnzi_add_size(m->y, m->scratch, &r->lane_bytes) ||
      !fnzi_add_size(r->lane_bytes, r->shares_x ? 0 : m->x, &r->lane_bytes))
    return false;
  return fnzi_mul_size(keeps ? 0 : (size_t)r->parts, m->weight, &weight) &&
         fnzi_mul_size(lanes, r->lane_bytes, &lane) && fnzi_add_size(x, weight, total) &&
         fnzi_add_size(*total, lane, total);
}

static void run_all(const fnzi_krn_call *call, const run *r, int64_t cells) {
  if (r->room.weight && !r->has_weight)
    fnzi_cpu_rows_spread(call, r->parts, cells, order_weight, r);
  if (r->room.x && r->shares_x)
    fnzi_cpu_rows_spread(call, r->samples, cells, order_x, r);
  fnzi_cpu_rows_spread(call, r->samples * r->parts, cells, convolve, r);
}

/* Places all buffers in one block; lasting weights need no memory there. */
static void place_rooms(run *r, unsigned char *memory, bool keeps) {
  if (!keeps)
    r->weight_room = memory;
  r->x_room = memory + (keeps ? 0 : (size_t)r->parts * r->room.weight);
  r->lane_room = r->x_room + (r->shares_x ? (size_t)r->samples * r->room.x : 0);
}

static fnz_status judge_all(const fnzi_krn_call *call, const run *r, size_t lanes) {
  for (size_t i = 0; i < lanes; i++)
    if (r->status[i])
      return fnzi_cpu_conv_plan_judge(call->ctx, r->status[i]);
  return FNZ_OK;
}

static fnz_status run_in(fnzi_krn_call *call, run *r, int64_t cells) {
  size_t total, lanes = (size_t)fnzi_cpu_lanes(call);
  bool keeps = keeps_weight(call, r);
  fnzi_krn_storage *memory;
  if (!measure(r, lanes, keeps, &total))
    return fnzi_no_memory(call->ctx);
  FNZI_NEW(&call->scratch, lanes, &r->status);
  FNZ_TRY(fnzi_krn_storage_create(call->ctx, call->stock, total, &memory));
  fnz_status status = keeps ? find_weight(call, r) : FNZ_OK;
  if (status != FNZ_OK) {
    fnzi_krn_storage_release(call->ctx, memory);
    return status;
  }
  place_rooms(r, memory->data, keeps);
  int threads = omp_get_max_threads();
  omp_set_num_threads(1); /* of a primitive that runs on the calling thread */
  run_all(call, r, cells);
  omp_set_num_threads(threads);
  fnzi_krn_storage_release(call->ctx, memory);
  status = judge_all(call, r, lanes);
  if (status != FNZ_OK && keeps) {
    call->own->end(call->ctx, call->own->data);
    call->own->data = NULL;
  }
  return status;
}

fnz_status fnzi_cpu_conv_onednn(fnzi_krn_call *call, const fnzi_meta_conv *c,
                                const fnzi_cpu_conv_operands *o, bool *done) {
  run r = {.x = o->x, .weight = o->weight, .bias = o->bias, .y = o->y, .samples = c->batch};
  r.parts = count_parts(c);
  const fnzi_meta_conv part = part_of(c, r.parts);
  FNZ_TRY(fnzi_cpu_conv_kept(call, &part, o->bias != NULL, &r.plan));
  *done = r.plan != NULL;
  if (!r.plan)
    return FNZ_OK;
  int64_t kernel = part.in_channels / part.groups * fnzi_cpu_volume(c->kernel);
  r.room = fnzi_cpu_conv_plan_room(r.plan);
  r.x_sample = c->in_channels * fnzi_cpu_volume(c->in),
  r.y_sample = c->out_channels * fnzi_cpu_volume(c->out);
  r.x_part = c->groups > 1 ? part.in_channels * fnzi_cpu_volume(c->in) : 0;
  r.y_part = part.out_channels * fnzi_cpu_volume(c->out), r.bias_part = part.out_channels;
  r.weight_part = part.out_channels * kernel;
  r.shares_x = c->groups == 1 && r.parts > 1;
  return run_in(call, &r, r.y_part * kernel);
}
