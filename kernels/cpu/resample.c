/* resample.c - images at places between their elements: linear and cubic resampling to another
 * size, and sampling at places that a tensor gives. Places are computed in f32 unless elements are
 * f64. */
#include "kernels/cpu/resample.h"

#include "kernels/cpu/recording.h"
#include "kernels/meta/pool.h"

/* --- To another size --------------------------------------------------------------------- */
enum { LINES_OVER = 2, LINES_BESIDE = MOST_TAPS, LINES = LINES_OVER * LINES_BESIDE };

typedef double couple __attribute__((vector_size(16)));

/* The two elements that each place of a line reads, and their weights. */
typedef struct pairs {
  int64_t *at[2];
  double *weight[2];
} pairs;

/* The steps of blend() go line by line: a line of the input is blended along
 * itself once for all lines of the result that read it. */
typedef struct resizing {
  resampling r;
  taps *axes[3];
  pairs pairs; /* axes[2] where it reads two elements for each; else nothing */
  fnzi_cpu_reals x;
  fnzi_cpu_reals_out y;
  double *lines; /* for each thread LINES, a plane's and a sum's */
} resizing;

typedef struct blending {
  const resizing *z;
  int64_t base, held[LINES]; /* which lines of the plane from `base` there are */
  double *lines;
} blending;

/* Two places at once. */
#define BLEND_PAIRS(name, T, U)                                                                    \
  static void blend_##name(const pairs *p, const T *x, int64_t count, U *line) {                   \
    const int64_t *at = p->at[0], *next = p->at[1];                                                \
    const double *low = p->weight[0], *high = p->weight[1];                                        \
    int64_t k = 0;                                                                                 \
    for (; k + 1 < count; k += 2) {                                                                \
      couple a = {(double)x[at[k]], (double)x[at[k + 1]]}, by_a,                                   \
             b = {(double)x[next[k]], (double)x[next[k + 1]]}, by_b;                               \
      memcpy(&by_a, low + k, sizeof by_a), memcpy(&by_b, high + k, sizeof by_b);                   \
      couple sum = (0 + by_a * a) + by_b * b;                                                      \
      line[k] = (U)sum[0], line[k + 1] = (U)sum[1];                                                \
    }                                                                                              \
    if (k < count)                                                                                 \
      line[k] = (U)((0 + low[k] * (double)x[at[k]]) + high[k] * (double)x[next[k]]);               \
  }
BLEND_PAIRS(floats, float, double)
BLEND_PAIRS(to_floats, float, float)
BLEND_PAIRS(doubles, double, double)

static void blend_line(const resizing *z, int64_t row, double *line) {
  const taps *t = z->axes[2];
  int64_t count = z->r.out[2];
  if (z->pairs.at[0] && z->x.f) {
    blend_floats(&z->pairs, z->x.f + row, count, line);
    return;
  }
  if (z->pairs.at[0]) {
    blend_doubles(&z->pairs, z->x.d + row, count, line);
    return;
  }
  for (int64_t k = 0; k < count; k++) {
    line[k] = 0;
    for (int i = 0; i < t[k].count; i++)
      line[k] += t[k].weight[i] * fnzi_cpu_real_at(&z->x, row + t[k].at[i]);
  }
}

/* No two lines that a line of the result reads have one place. */
static const double *find_line(blending *b, int64_t i, int64_t j) {
  const resampling *r = &b->z->r;
  int64_t number = i * r->in[1] + j;
  int64_t place = i % LINES_OVER * LINES_BESIDE + j % LINES_BESIDE;
  double *line = b->lines + place * r->out[2];
  if (b->held[place] != number)
    blend_line(b->z, b->base + number * r->in[2], line);
  b->held[place] = number;
  return line;
}

static void add_line(double *sum, double weight, const double *line, int64_t count, bool begins) {
  for (int64_t k = 0; begins && k < count; k++)
    sum[k] = 0;
  for (int64_t k = 0; k < count; k++)
    sum[k] += weight * line[k];
}

/* The sum over one plane of lines at a time, as blend() has it. A single line is the sum: it has no
 * -0, as it is a sum that begins with 0. */
static const double *blend_lines(blending *b, const taps *over, const taps *beside) {
  int64_t count = b->z->r.out[2];
  if (over->count == 1 && beside->count == 1 && beside->weight[0] == 1)
    return find_line(b, over->at[0], beside->at[0]);
  double *plane = b->lines + LINES * count, *sum = plane + count;
  for (int i = 0; i < over->count; i++) {
    for (int j = 0; j < beside->count; j++)
      add_line(plane, beside->weight[j], find_line(b, over->at[i], beside->at[j]), count, j == 0);
    if (over->count > 1)
      add_line(sum, over->weight[i], plane, count, i == 0);
  }
  return over->count > 1 ? sum : plane;
}

static void blend_plane(const void *user, int64_t plane, int lane) {
  const resizing *z = user;
  const resampling *r = &z->r;
  int64_t count = r->out[2], to = plane * r->out[0] * r->out[1] * count;
  blending b = {.z = z, .base = plane * r->in[0] * r->in[1] * r->in[2]};
  if (z->pairs.at[0] && z->x.f && r->in[0] * r->in[1] == 1 && r->out[0] * r->out[1] == 1) {
    blend_to_floats(&z->pairs, z->x.f + b.base, count, z->y.f + to);
    return;
  }
  b.lines = z->lines + lane * (LINES + 2) * count;
  for (int k = 0; k < LINES; k++)
    b.held[k] = -1;
  for (int64_t i = 0; i < r->out[0]; i++)
    for (int64_t j = 0; j < r->out[1]; j++, to += count)
      fnzi_cpu_reals_store(&z->y, to, 1, count, blend_lines(&b, &z->axes[0][i], &z->axes[1][j]));
}

fnz_status fnzi_cpu_resample_axes(fnzi_krn_call *call, resampling *r, const double *scales,
                                  taps **axes) {
  for (int axis = 0; axis < 3; axis++) {
    FNZI_NEW(&call->scratch, r->out[axis], &axes[axis]);
    const double step = resample_step(r, scales[axis], axis);
    for (int64_t i = 0; i < r->out[axis]; i++)
      find_taps(r, step, axis, i, &axes[axis][i]);
  }
  int by = 3 - (int)r->spatial;
  taps *none = axes[2];
  for (int i = 3; by && i-- > 0;) {
    r->in[i] = i < by ? 1 : r->in[i - by];
    r->out[i] = i < by ? 1 : r->out[i - by];
    axes[i] = i < by ? none : axes[i - by];
  }
  return FNZ_OK;
}

static fnz_status resample_fill_pairs(fnzi_krn_call *call, const resizing *z, pairs *out) {
  const taps *t = z->axes[2];
  int64_t count = z->r.out[2];
  if (count == 0 || t[0].count != 2)
    return FNZ_OK;
  for (int i = 0; i < 2; i++) {
    FNZI_NEW(&call->scratch, count, &out->at[i]);
    FNZI_NEW(&call->scratch, count, &out->weight[i]);
    for (int64_t k = 0; k < count; k++)
      out->at[i][k] = t[k].at[i], out->weight[i][k] = t[k].weight[i];
  }
  return FNZ_OK;
}

static fnz_status resample_run(fnzi_krn_call *call, bool cubic) {
  fnz_dtype dtype = fnzi_cpu_real_dtype(call->outputs[0]->geometry.dtype);
  double scales[FNZI_POOL_MAX_SPATIAL];
  fnzi_meta_pool p;
  void *lines;
  FNZ_TRY(fnzi_meta_resample_read(call, &p, scales));
  resizing z = {.r = {.spatial = p.spatial,
                      .wide = dtype == FNZ_F64,
                      .align = fnzi_krn_named_bool(call, "align_corners", false),
                      .cubic = cubic}};
  memcpy(z.r.in, p.in, sizeof z.r.in), memcpy(z.r.out, p.out, sizeof z.r.out);
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), dtype, &z.x));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &z.y));
  if (call->record) {
    const int64_t count = fnzi_krn_array_numel(call->outputs[0]);
    fnzi_cpu_recording t = {.f = {.numbers = scales, .nnumbers = 3}};
    fnzi_cpu_record_reals(&t, &z.x, fnzi_krn_array_numel(fnzi_krn_call_input(call, 0)));
    fnzi_cpu_record_reals_out(&t, &z.y, count);
    fnzi_cpu_record_integers(&t, &z.r, sizeof z.r);
    return fnzi_cpu_record(call, &t, "blended", count);
  }
  FNZ_TRY(fnzi_cpu_resample_axes(call, &z.r, scales, z.axes));
  FNZ_TRY(resample_fill_pairs(call, &z, &z.pairs));
  FNZ_TRY(fnzi_krn_scratch_take(call, fnzi_cpu_lanes(call) * (LINES + 2) * z.r.out[2],
                                sizeof *z.lines, &lines));
  z.lines = lines;
  fnzi_cpu_rows_each(call, p.planes, blend_plane, &z);
  return FNZ_OK;
}

fnz_status fnzi_kernel_upsample_linear(fnzi_krn_call *call) {
  return resample_run(call, false);
}

fnz_status fnzi_kernel_upsample_cubic(fnzi_krn_call *call) {
  return resample_run(call, true);
}

/* --- At given places --------------------------------------------------------------------- */
typedef struct sampling {
  sampler s;
  fnzi_cpu_reals x, grid;
  fnzi_cpu_reals_out y;
} sampling;

enum { SPOTS = 64 }; /* found once for all channels */

static int64_t resample_blocks_of(const sampler *s) {
  return (s->count - 1) / SPOTS + 1;
}

/* `x` and `y` are copies that nothing else points to: loops read them once. */
#define EACH_SPOT(sum)                                                                             \
  for (int64_t i = 0; i < count; i++)                                                              \
  fnzi_cpu_real_put(&y, to + i, sum(&spots[i], &x, plane))
static void sum_spots(const sampling *o, const spot *spots, int64_t count, int64_t plane,
                      int64_t to) {
  const fnzi_cpu_reals x = o->x;
  const fnzi_cpu_reals_out y = o->y;
  if (o->s.mode == BICUBIC)
    EACH_SPOT(sum_cubic);
  else if (o->s.mode == NEAREST)
    EACH_SPOT(read_nearest);
  else
    EACH_SPOT(sum_linear);
}

/* The element of two channels, `apart` from one another. */
static inline couple channels_at(const fnzi_cpu_reals *x, int64_t plane, int64_t apart,
                                 int64_t at) {
  if (at < 0)
    return (couple){0, 0};
  return x->f ? (couple){x->f[plane + at], x->f[plane + apart + at]}
              : (couple){x->d[plane + at], x->d[plane + apart + at]};
}

/* sum_linear() of two channels, which read at the same places with the same weights. */
static void sum_channels(const sampling *o, const spot *spots, int64_t count, int64_t plane,
                         int64_t to) {
  const fnzi_cpu_reals x = o->x;
  const fnzi_cpu_reals_out y = o->y;
  const int64_t apart = o->s.in[0] * o->s.in[1], to_apart = o->s.count;
  for (int64_t i = 0; i < count; i++) {
    const spot *p = &spots[i];
    couple sum = channels_at(&x, plane, apart, p->at[0]) * p->by_y[0] * p->by_x[0] +
                 channels_at(&x, plane, apart, p->at[1]) * p->by_y[0] * p->by_x[1] +
                 channels_at(&x, plane, apart, p->at[2]) * p->by_y[1] * p->by_x[0] +
                 channels_at(&x, plane, apart, p->at[3]) * p->by_y[1] * p->by_x[1];
    fnzi_cpu_real_put(&y, to + i, sum[0]);
    fnzi_cpu_real_put(&y, to + to_apart + i, sum[1]);
  }
}

static void sum_images(const sampling *o, int64_t image, int64_t first, int64_t count) {
  const sampler *s = &o->s;
  double place[3];
  spot spots[SPOTS];
  for (int64_t i = 0; i < count; i++) {
    grid_place(s, &o->grid, image * s->count + first + i, place);
    find_spot(s, place[0], place[1], &spots[i]);
  }
  int64_t plane = image * s->channels, end = plane + s->channels, area = s->in[0] * s->in[1];
  for (; s->mode == BILINEAR && plane + 1 < end; plane += 2)
    sum_channels(o, spots, count, plane * area, plane * s->count + first);
  for (; plane < end; plane++)
    sum_spots(o, spots, count, plane * area, plane * s->count + first);
}

static void sum_volumes(const sampling *o, int64_t image, int64_t first, int64_t count) {
  const sampler *s = &o->s;
  const fnzi_cpu_reals x = o->x;
  const fnzi_cpu_reals_out y = o->y;
  double place[3];
  corners found[SPOTS];
  for (int64_t i = 0; i < count; i++) {
    grid_place(s, &o->grid, image * s->count + first + i, place);
    find_corners(s, place, &found[i]);
  }
  int64_t plane = image * s->channels, end = plane + s->channels;
  for (; plane < end; plane++)
    for (int64_t i = 0; i < count; i++)
      fnzi_cpu_real_put(&y, plane * s->count + first + i,
                        sum_corners(&found[i], &x, plane * s->in[0] * s->in[1] * s->in[2]));
}

/* A block is SPOTS places of one image or volume, the last one fewer. */
static void sample_block(const void *user, int64_t block, int lane) {
  const sampling *o = user;
  const sampler *s = &o->s;
  int64_t image = block / resample_blocks_of(s), first = block % resample_blocks_of(s) * SPOTS;
  int64_t count = s->count - first < SPOTS ? s->count - first : SPOTS;
  (void)lane;
  if (s->spatial == 3)
    sum_volumes(o, image, first, count);
  else
    sum_images(o, image, first, count);
}

/* Images or volumes, as the shape rule let through. */
fnz_status fnzi_kernel_grid_sampler(fnzi_krn_call *call) {
  const fnz_geometry *x = fnzi_krn_call_geometry(call, 0), *out = &call->outputs[0]->geometry;
  fnz_dtype dtype = fnzi_cpu_real_dtype(x->dtype);
  sampling o = {.s = {.mode = fnzi_krn_named_int(call, "interpolation_mode", BILINEAR),
                      .padding = fnzi_krn_named_int(call, "padding_mode", ZEROS),
                      .align = fnzi_krn_named_bool(call, "align_corners", false),
                      .wide = dtype == FNZ_F64,
                      .channels = x->sizes[1],
                      .count = 1,
                      .spatial = x->rank - 2}};
  for (uint32_t d = 2; d < x->rank; d++) {
    o.s.in[d - 2] = x->sizes[d];
    o.s.count *= out->sizes[d];
  }
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), dtype, &o.x));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 1), dtype, &o.grid));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &o.y));
  if (call->record) {
    const int64_t count = fnzi_krn_array_numel(call->outputs[0]);
    fnzi_cpu_recording t = {.f = {.nwindows = 0}};
    fnzi_cpu_record_reals(&t, &o.x, fnzi_krn_array_numel(fnzi_krn_call_input(call, 0)));
    fnzi_cpu_record_reals(&t, &o.grid, fnzi_krn_array_numel(fnzi_krn_call_input(call, 1)));
    fnzi_cpu_record_reals_out(&t, &o.y, count);
    fnzi_cpu_record_integers(&t, &o.s, sizeof o.s);
    return fnzi_cpu_record(call, &t, "sampled", count);
  }
  if (o.s.count)
    fnzi_cpu_rows_each(call, out->sizes[0] * resample_blocks_of(&o.s), sample_block, &o);
  return FNZ_OK;
}
