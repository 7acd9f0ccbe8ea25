/* resample_backward.c - what flows back through images read at places between their elements: to
 * the elements, by the weights that they were read with, and to the places. In doubles, rounded
 * once; each image by itself. */
#include "kernels/cpu/resample.h"

#include "kernels/meta/pool.h"

/* --- To another size --------------------------------------------------------------------- */
typedef struct spreading {
  resampling r;
  taps *axes[3];
  fnzi_cpu_reals grad;
  fnzi_cpu_reals_out out;
  double *planes; /* of the input, one for each thread */
} spreading;

/* A row of the input that a row of the result was read from. */
typedef struct origin {
  double *row, over, beside;
} origin;

/* Loops of known lengths where these are. */
static inline void resample_spread_row(const spreading *z, int64_t from, const origin *origins,
                                       const int norigins, const int ntaps) {
  const fnzi_cpu_reals grad = z->grad;
  const taps *c = z->axes[2], *end = c + z->r.out[2];
  for (; c < end; c++) {
    double g = fnzi_cpu_real_at(&grad, from++);
    for (const origin *o = origins; o < origins + norigins; o++) {
      double by_row = g * o->over * o->beside;
      for (int k = 0; k < ntaps; k++)
        o->row[c->at[k]] += by_row * c->weight[k];
    }
  }
}

/* Row (i, j) of the result, which begins at `from`. */
static void spread_back(const spreading *z, double *plane, int64_t i, int64_t j, int64_t from) {
  const resampling *r = &z->r;
  const taps *a = &z->axes[0][i], *b = &z->axes[1][j];
  const int ntaps = z->axes[2]->count;
  origin origins[MOST_TAPS * MOST_TAPS];
  int count = 0;
  for (int over = 0; over < a->count; over++)
    for (int beside = 0; beside < b->count; beside++)
      origins[count++] = (origin){plane + (a->at[over] * r->in[1] + b->at[beside]) * r->in[2],
                                  a->weight[over], b->weight[beside]};
  if (ntaps == 2 && count == 1)
    resample_spread_row(z, from, origins, 1, 2);
  else if (ntaps == 2)
    resample_spread_row(z, from, origins, count, 2);
  else
    resample_spread_row(z, from, origins, count, ntaps);
}

static void resample_backward_spread_plane(const void *user, int64_t plane, int lane) {
  const spreading *z = user;
  const resampling *r = &z->r;
  int64_t each = r->in[0] * r->in[1] * r->in[2];
  int64_t from = plane * r->out[0] * r->out[1] * r->out[2];
  double *to = z->planes + lane * each;
  memset(to, 0, (size_t)each * sizeof *to);
  for (int64_t i = 0; i < r->out[0]; i++)
    for (int64_t j = 0; j < r->out[1] && r->out[2]; j++, from += r->out[2])
      spread_back(z, to, i, j, from);
  fnzi_cpu_reals_store(&z->out, plane * each, 1, each, to);
}

static fnz_status resample_backward_spread(fnzi_krn_call *call, bool cubic) {
  fnz_dtype dtype = fnzi_krn_call_geometry(call, 0)->dtype;
  double scales[FNZI_POOL_MAX_SPATIAL] = {0};
  fnzi_meta_pool p;
  FNZ_TRY(fnzi_meta_resample_back_read(call, &p, scales));
  spreading z = {.r = {.spatial = p.spatial,
                       .wide = dtype == FNZ_F64,
                       .align = fnzi_krn_named_bool(call, "align_corners", false),
                       .cubic = cubic}};
  memcpy(z.r.in, p.in, sizeof z.r.in), memcpy(z.r.out, p.out, sizeof z.r.out);
  FNZ_TRY(fnzi_cpu_resample_axes(call, &z.r, scales, z.axes));
  FNZ_TRY(
      fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), fnzi_cpu_real_dtype(dtype), &z.grad));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, fnzi_cpu_real_dtype(dtype), &z.out));
  FNZI_NEW(&call->scratch, fnzi_cpu_lanes(call) * z.r.in[0] * z.r.in[1] * z.r.in[2], &z.planes);
  fnzi_cpu_rows_each(call, p.planes, resample_backward_spread_plane, &z);
  return FNZ_OK;
}

fnz_status fnzi_kernel_upsample_linear_backward(fnzi_krn_call *call) {
  return resample_backward_spread(call, false);
}

fnz_status fnzi_kernel_upsample_cubic_backward(fnzi_krn_call *call) {
  return resample_backward_spread(call, true);
}

/* --- At given places --------------------------------------------------------------------- */
enum { SPOTS = 1024 };

/* An element that a place reads: how much it counts, and how that moves with each dimension. */
typedef struct touch {
  int64_t at;
  double weight, rise[3];
} touch;

/* A place found once for all channels: it reads elements up to `end`, from the end of the place
 * before it on. `moved` is what flows back to it. */
typedef struct place {
  const touch *end;
  double slopes[3], moved[3];
} place;

typedef struct block {
  int64_t count;
  place *places; /* up to SPOTS */
  touch *touches, *next;
} block;

typedef struct gathering {
  sampler s;
  int64_t area; /* elements of a plane of the input */
  fnzi_cpu_reals grad, x, grid;
  double *of_x, *of_grid; /* of_x: NULL if not needed */
  block *blocks;          /* for each thread */
} gathering;

/* A place along one dimension, and how it moves with the number of the grid. */
typedef struct moving {
  double at, slope;
} moving;

/* The derivative of a padded place with respect to the requested place. */
static double slope_inside(const sampler *s, double x, int64_t size) {
  double low = s->align ? 0 : -0.5, span = (double)(s->align ? size - 1 : size), slope = 1;
  if (s->padding == ZEROS)
    return 1;
  if (s->padding == REFLECTION) {
    if (span == 0)
      return 0;
    bool reflects = fmod(floor(fabs(x - low) / span), 2) != 0;
    slope = (x - low < 0) != reflects ? -1 : 1;
    x = rounded(s->wide, reflect(s, x, size));
  }
  return x <= 0 || x >= (double)(size - 1) ? 0 : slope;
}

/* The element at a corner; false beyond the image. */
static bool find_element(const sampler *s, const double *at, int64_t *out) {
  *out = 0;
  for (int64_t d = 0; d < s->spatial; d++) {
    if (!(at[d] >= 0 && at[d] < (double)s->in[d]))
      return false;
    *out = *out * s->in[d] + (int64_t)at[d];
  }
  return true;
}

/* The place reads one element more, unless it is beyond the image. */
static void add_touch(const sampler *s, block *b, const double *at, double weight,
                      const double *rise) {
  if (!find_element(s, at, &b->next->at))
    return;
  b->next->weight = weight;
  for (int64_t d = 0; d < s->spatial; d++)
    b->next->rise[d] = rise[d];
  b->next++;
}

static int64_t most_touches(const sampler *s) {
  return s->mode == BICUBIC ? 16 : s->mode == NEAREST ? 1 : (int64_t)1 << s->spatial;
}

static void touch_linear(const sampler *s, const moving *spots, block *b) {
  int64_t spatial = s->spatial;
  for (int corner = 0; corner < 1 << spatial; corner++) {
    double at[3], share[3], rise[3], weight = 1;
    for (int64_t d = 0; d < spatial; d++) {
      bool up = corner >> d & 1;
      double low = floor(spots[d].at), rest = spots[d].at - low;
      at[d] = low + up;
      share[d] = up ? rest : 1 - rest;
      rise[d] = up ? 1 : -1;
      weight *= share[d];
    }
    for (int64_t d = 0; d < spatial; d++)
      for (int64_t other = 0; other < spatial; other++)
        rise[d] *= other == d ? 1 : share[other];
    add_touch(s, b, at, weight, rise);
  }
}

static void touch_nearest(const sampler *s, const moving *spots, block *b) {
  double at[3], rise[3] = {0};
  for (int64_t d = 0; d < s->spatial; d++)
    at[d] = rint(spots[d].at);
  add_touch(s, b, at, 1, rise);
}

/* How the weights of cubic_weights() change with t. */
static void cubic_slopes(double t, double *out) {
  const double a = -0.75, far[] = {t + 1, 2 - t}, near[] = {t, 1 - t};
  for (int i = 0; i < 2; i++) {
    double sign = i ? -1 : 1, x = far[i], y = near[i];
    out[i ? 3 : 0] = sign * ((3 * a * x - 10 * a) * x + 8 * a);
    out[i ? 2 : 1] = sign * (3 * (a + 2) * y - 2 * (a + 3)) * y;
  }
}

static void touch_cubic(const sampler *s, const moving *spots, block *b) {
  double weights[2][4], slopes[2][4];
  for (int d = 0; d < 2; d++) {
    double t = spots[d].at - floor(spots[d].at);
    cubic_weights(s->wide, t, weights[d]);
    cubic_slopes(t, slopes[d]);
  }
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 4; k++) {
      const double at[] = {inside(s, floor(spots[0].at) - 1 + i, s->in[0]),
                           inside(s, floor(spots[1].at) - 1 + k, s->in[1])};
      const double rise[] = {slopes[0][i] * weights[1][k], weights[0][i] * slopes[1][k]};
      add_touch(s, b, at, weights[0][i] * weights[1][k], rise);
    }
}

/* Adds the place whose numbers begin at `numbers` of the grid, which says x first; images have it
 * last. */
static void add_place(const gathering *o, int64_t numbers, block *b) {
  const sampler *s = &o->s;
  place *p = &b->places[b->count++];
  moving spots[3];
  for (int64_t d = 0; d < s->spatial; d++) {
    const int64_t size = s->in[d];
    double half = (double)(s->align ? size - 1 : size) / 2;
    double x = element_of(s, fnzi_cpu_real_at(&o->grid, numbers + s->spatial - 1 - d), size);
    spots[d] = s->mode == BICUBIC ? (moving){x, half}
                                  : (moving){inside(s, x, size), half * slope_inside(s, x, size)};
    p->slopes[d] = spots[d].slope;
    p->moved[d] = 0;
  }
  if (s->mode == BICUBIC)
    touch_cubic(s, spots, b);
  else if (s->mode == NEAREST)
    touch_nearest(s, spots, b);
  else
    touch_linear(s, spots, b);
  p->end = b->next;
}

/* Gives one channel back to elements and to places. Loops read these pointers once. */
#define FLOW_BACK(name, T, dimensions)                                                             \
  static void flow_##name(const block *b, const T *grad, const T *x, double *of_x) {               \
    const touch *t = b->touches;                                                                   \
    for (place *p = b->places; p < b->places + b->count; p++) {                                    \
      double g = (double)*grad++, moved[] = {p->moved[0], p->moved[1], p->moved[2]};               \
      for (const touch *end = p->end; t < end; t++) {                                              \
        double change = g * (double)x[t->at];                                                      \
        if (of_x)                                                                                  \
          of_x[t->at] += g * t->weight;                                                            \
        for (int d = 0; d < dimensions; d++)                                                       \
          moved[d] += change * t->rise[d];                                                         \
      }                                                                                            \
      for (int d = 0; d < dimensions; d++)                                                         \
        p->moved[d] = moved[d];                                                                    \
    }                                                                                              \
  }
FLOW_BACK(floats, float, 2)
FLOW_BACK(float_volumes, float, 3)
FLOW_BACK(doubles, double, 2)
FLOW_BACK(double_volumes, double, 3)

static void gather_block(const gathering *o, block *b, int64_t image, int64_t first) {
  const sampler *s = &o->s;
  const int64_t end = s->count - first < SPOTS ? s->count : first + SPOTS;
  const int64_t numbers = (image * s->count + first) * s->spatial;
  b->count = 0, b->next = b->touches;
  for (int64_t i = first; i < end; i++)
    add_place(o, numbers + (i - first) * s->spatial, b);
  for (int64_t plane = image * s->channels; plane < (image + 1) * s->channels; plane++) {
    int64_t from = plane * s->count + first, begin = plane * o->area;
    double *of_x = o->of_x ? o->of_x + begin : NULL;
    if (o->x.f)
      (s->spatial == 2 ? flow_floats : flow_float_volumes)(b, o->grad.f + from, o->x.f + begin,
                                                           of_x);
    else
      (s->spatial == 2 ? flow_doubles : flow_double_volumes)(b, o->grad.d + from, o->x.d + begin,
                                                             of_x);
  }
  /* The nearest element stays the same while a place moves. */
  for (int64_t i = 0; i < b->count; i++)
    for (int64_t d = 0; d < s->spatial; d++)
      o->of_grid[numbers + (i + 1) * s->spatial - 1 - d] =
          (s->mode == NEAREST ? 0 : b->places[i].moved[d]) * b->places[i].slopes[d];
}

static void gather_image(const void *user, int64_t image, int lane) {
  const gathering *o = user;
  int64_t each = o->s.channels * o->area;
  if (o->of_x)
    memset(o->of_x + image * each, 0, (size_t)each * sizeof *o->of_x);
  for (int64_t first = 0; first < o->s.count; first += SPOTS)
    gather_block(o, &o->blocks[lane], image, first);
}

static fnz_status resample_backward_blocks(fnzi_krn_call *call, gathering *o) {
  const int lanes = fnzi_cpu_lanes(call);
  const int64_t spots = o->s.count < SPOTS ? o->s.count : SPOTS;
  FNZI_NEW(&call->scratch, lanes, &o->blocks);
  for (block *b = o->blocks; b < o->blocks + lanes; b++) {
    FNZI_NEW(&call->scratch, spots, &b->places);
    FNZI_NEW(&call->scratch, spots * most_touches(&o->s), &b->touches);
  }
  return FNZ_OK;
}

fnz_status fnzi_kernel_grid_sampler_backward(fnzi_krn_call *call) {
  const fnz_geometry *x = fnzi_krn_call_geometry(call, 1), *grid = fnzi_krn_call_geometry(call, 2);
  gathering o = {.s = {.mode = fnzi_krn_named_int(call, "interpolation_mode", BILINEAR),
                       .padding = fnzi_krn_named_int(call, "padding_mode", ZEROS),
                       .align = fnzi_krn_named_bool(call, "align_corners", false),
                       .wide = x->dtype == FNZ_F64,
                       .channels = x->sizes[1],
                       .count = 1,
                       .spatial = x->rank - 2},
                 .area = 1};
  fnzi_cpu_reals *const from[] = {&o.grad, &o.x, &o.grid};
  void *of_x = NULL, *of_grid;
  for (uint32_t d = 2; d < x->rank; d++) {
    o.s.in[d - 2] = x->sizes[d];
    o.area *= x->sizes[d];
    o.s.count *= grid->sizes[d - 1];
  }
  for (size_t i = 0; i < 3; i++)
    FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, i), fnzi_cpu_real_dtype(x->dtype),
                                from[i]));
  if (call->outputs[0])
    FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_F64, &of_x));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_F64, &of_grid));
  o.of_x = of_x, o.of_grid = of_grid;
  FNZ_TRY(resample_backward_blocks(call, &o));
  fnzi_cpu_rows_each(call, x->sizes[0], gather_image, &o);
  return FNZ_OK;
}
