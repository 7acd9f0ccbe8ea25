/* resample_backward.c - what flows back through images read at places between their elements: to
 * the elements, by the weights that they were read with, and to the places. In doubles, rounded
 * once; each image by itself. */
#include "kernels/meta/pool.h"
#include "kernels/cpu/special_reals.h"

#include <math.h>

#define VALUE static inline
#include "kernels/cpu/resample_values.h"
#undef VALUE

/* --- To another size --------------------------------------------------------------------- */
typedef struct spreading {
  resampling r;
  taps *axes[3];
  const double *grad;
  double *out;
} spreading;

static void spread_one(const resampling *r, double g, double *plane, const taps *a, const taps *b,
                       const taps *c) {
  for (int i = 0; i < a->count; i++)
    for (int j = 0; j < b->count; j++) {
      double *row = plane + (a->at[i] * r->in[1] + b->at[j]) * r->in[2];
      double by_row = g * a->weight[i] * b->weight[j];
      for (int k = 0; k < c->count; k++)
        row[c->at[k]] += by_row * c->weight[k];
    }
}

static void resample_backward_spread_plane(const void *user, int64_t plane, int lane) {
  const spreading *z = user;
  const resampling *r = &z->r;
  int64_t each = r->in[0] * r->in[1] * r->in[2];
  int64_t from = plane * r->out[0] * r->out[1] * r->out[2];
  double *to = z->out + plane * each;
  (void)lane;
  memset(to, 0, (size_t)each * sizeof *to);
  for (int64_t i = 0; i < r->out[0]; i++)
    for (int64_t j = 0; j < r->out[1]; j++)
      for (int64_t k = 0; k < r->out[2]; k++)
        spread_one(r, z->grad[from++], to, &z->axes[0][i], &z->axes[1][j], &z->axes[2][k]);
}

static fnz_status resample_backward_spread(fnzi_krn_call *call, bool cubic) {
  fnz_dtype dtype = fnzi_krn_call_geometry(call, 0)->dtype;
  double scales[FNZI_POOL_MAX_SPATIAL] = {0};
  fnzi_meta_pool p;
  const void *grad;
  void *out;
  FNZ_TRY(fnzi_meta_resample_back_read(call, &p, scales));
  spreading z = {.r = {.spatial = p.spatial,
                       .wide = dtype == FNZ_F64,
                       .align = fnzi_krn_named_bool(call, "align_corners", false),
                       .cubic = cubic}};
  memcpy(z.r.in, p.in, sizeof z.r.in), memcpy(z.r.out, p.out, sizeof z.r.out);
  for (int axis = 0; axis < 3; axis++) {
    FNZI_NEW(&call->scratch, (size_t)z.r.out[axis], &z.axes[axis]);
    for (int64_t i = 0; i < z.r.out[axis]; i++)
      find_taps(&z.r, scales[axis], axis, i, &z.axes[axis][i]);
  }
  FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_call_input(call, 0), FNZ_F64, &grad));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_F64, &out));
  z.grad = grad, z.out = out;
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
typedef struct gathering {
  sampler s;
  int64_t area; /* elements of a plane of the input */
  const double *grad, *x, *grid;
  double *of_x, *of_grid; /* of_x: NULL if not needed */
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

/* The element counts with `weight`, which moves with each dimension as `rise` says. */
static void add_element(const gathering *o, int64_t at, double g, double weight, const double *rise,
                        double *of_spots) {
  if (o->of_x)
    o->of_x[at] += g * weight;
  for (int64_t d = 0; d < o->s.spatial; d++)
    of_spots[d] += g * o->x[at] * rise[d];
}

static void add_linear(const gathering *o, int64_t plane, double g, const moving *spots,
                       double *of_spots) {
  int64_t spatial = o->s.spatial, element;
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
    if (find_element(&o->s, at, &element))
      add_element(o, plane * o->area + element, g, weight, rise, of_spots);
  }
}

static void add_nearest(const gathering *o, int64_t plane, double g, const moving *spots) {
  double at[3], none[3] = {0}, unmoved[3] = {0};
  int64_t element;
  for (int64_t d = 0; d < o->s.spatial; d++)
    at[d] = rint(spots[d].at);
  if (find_element(&o->s, at, &element))
    add_element(o, plane * o->area + element, g, 1, none, unmoved);
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

static void add_cubic(const gathering *o, int64_t plane, double g, const moving *spots,
                      double *of_spots) {
  double weights[2][4], slopes[2][4];
  int64_t element;
  for (int d = 0; d < 2; d++) {
    double t = spots[d].at - floor(spots[d].at);
    cubic_weights(o->s.wide, t, weights[d]);
    cubic_slopes(t, slopes[d]);
  }
  for (int i = 0; i < 4; i++)
    for (int k = 0; k < 4; k++) {
      const double at[] = {inside(&o->s, floor(spots[0].at) - 1 + i, o->s.in[0]),
                           inside(&o->s, floor(spots[1].at) - 1 + k, o->s.in[1])};
      const double rise[] = {slopes[0][i] * weights[1][k], weights[0][i] * slopes[1][k]};
      if (find_element(&o->s, at, &element))
        add_element(o, plane * o->area + element, g, weights[0][i] * weights[1][k], rise, of_spots);
    }
}

/* The grid says x first, images have it last. */
static void gather_place(const gathering *o, int64_t image, int64_t place) {
  const sampler *s = &o->s;
  int64_t numbers = (image * s->count + place) * s->spatial;
  double of_spots[3] = {0};
  moving spots[3];
  for (int64_t d = 0; d < s->spatial; d++) {
    const int64_t size = s->in[d];
    double half = (double)(s->align ? size - 1 : size) / 2;
    double x = element_of(s, o->grid[numbers + s->spatial - 1 - d], size);
    spots[d] = s->mode == BICUBIC ? (moving){x, half}
                                  : (moving){inside(s, x, size), half * slope_inside(s, x, size)};
  }
  for (int64_t c = 0; c < s->channels; c++) {
    int64_t plane = image * s->channels + c;
    double g = o->grad[plane * s->count + place];
    if (s->mode == BICUBIC)
      add_cubic(o, plane, g, spots, of_spots);
    else if (s->mode == NEAREST)
      add_nearest(o, plane, g, spots);
    else
      add_linear(o, plane, g, spots, of_spots);
  }
  for (int64_t d = 0; d < s->spatial; d++)
    o->of_grid[numbers + s->spatial - 1 - d] = of_spots[d] * spots[d].slope;
}

static void gather_image(const void *user, int64_t image, int lane) {
  const gathering *o = user;
  int64_t each = o->s.channels * o->area;
  (void)lane;
  if (o->of_x)
    memset(o->of_x + image * each, 0, (size_t)each * sizeof *o->of_x);
  for (int64_t place = 0; place < o->s.count; place++)
    gather_place(o, image, place);
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
  const void *from[3];
  void *of_x = NULL, *of_grid;
  for (uint32_t d = 2; d < x->rank; d++) {
    o.s.in[d - 2] = x->sizes[d];
    o.area *= x->sizes[d];
    o.s.count *= grid->sizes[d - 1];
  }
  for (size_t i = 0; i < 3; i++)
    FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_call_input(call, i), FNZ_F64, &from[i]));
  if (call->outputs[0])
    FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_F64, &of_x));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_F64, &of_grid));
  o.grad = from[0], o.x = from[1], o.grid = from[2];
  o.of_x = of_x, o.of_grid = of_grid;
  fnzi_cpu_rows_each(call, x->sizes[0], gather_image, &o);
  return FNZ_OK;
}
