/* resample.c - images at places between their elements: linear and cubic resampling to another
 * size, and sampling at places that a tensor gives. Places are computed in f32 unless elements are
 * f64. */
#include "kernels/meta/pool.h"
#include "kernels/cpu/special_reals.h"

#include <math.h>

enum { MOST_TAPS = 4 };

/* What is read for one place along one dimension. */
typedef struct taps {
  int count;
  int64_t at[MOST_TAPS];
  double weight[MOST_TAPS];
} taps;

static double rounded(fnz_dtype dtype, double x) {
  return dtype == FNZ_F64 ? x : (double)(float)x;
}

static int64_t clamp(int64_t x, int64_t last) {
  return x < 0 ? 0 : x > last ? last : x;
}

/* The cubic convolution with a = -3/4, for elements at -1, 0, 1 and 2 from the one below. */
static void cubic_weights(fnz_dtype dtype, double t, double *out) {
  const double a = -0.75, distance[] = {t + 1, t, 1 - t, 2 - t};
  for (int i = 0; i < 4; i++) {
    double x = rounded(dtype, distance[i]);
    bool is_near = i == 1 || i == 2;
    out[i] = rounded(dtype, is_near ? ((a + 2) * x - (a + 3)) * x * x + 1
                                    : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
  }
}

/* --- To another size --------------------------------------------------------------------- */
typedef struct resampling {
  fnzi_meta_pool p;
  fnz_dtype dtype;
  bool align, cubic;
  double scales[FNZI_POOL_MAX_SPATIAL];
  taps *axes[FNZI_POOL_MAX_SPATIAL];
  fnzi_cpu_reals x;
  fnzi_cpu_reals_out y;
} resampling;

/* Elements of the input for one of the result. */
static double step_of(const resampling *r, int axis) {
  double in = (double)r->p.in[axis], out = (double)r->p.out[axis];
  if (r->align)
    return out > 1 ? rounded(r->dtype, (in - 1) / (out - 1)) : 0;
  return rounded(r->dtype, r->scales[axis] > 0 ? 1 / r->scales[axis] : in / out);
}

static double place_in(const resampling *r, double step, int64_t to) {
  if (r->align)
    return rounded(r->dtype, step * (double)to);
  double place = rounded(r->dtype, step * ((double)to + 0.5));
  place = rounded(r->dtype, place - 0.5);
  return place < 0 && !r->cubic ? 0 : place;
}

static void find_taps(const resampling *r, int axis, int64_t to, taps *out) {
  int64_t last = r->p.in[axis] - 1;
  double place = place_in(r, step_of(r, axis), to), below = floor(place);
  int64_t first = below > (double)last ? last : (int64_t)below;
  double t = rounded(r->dtype, place - (double)first);
  t = t < 0 ? 0 : t > 1 ? 1 : t;
  if (!r->cubic) {
    *out = (taps){2, {first, clamp(first + 1, last)}, {rounded(r->dtype, 1 - t), t}};
    return;
  }
  out->count = 4;
  for (int i = 0; i < 4; i++)
    out->at[i] = clamp(first - 1 + i, last);
  cubic_weights(r->dtype, t, out->weight);
}

/* A dimension that keeps its size, or is not there, is read as it is. */
static fnz_status fill_axis(fnzi_krn_call *call, resampling *r, int axis) {
  FNZI_NEW(&call->scratch, (size_t)r->p.out[axis], &r->axes[axis]);
  for (int64_t i = 0; i < r->p.out[axis]; i++)
    if (axis >= (int)r->p.spatial || (r->p.in[axis] == r->p.out[axis] && !r->cubic))
      r->axes[axis][i] = (taps){1, {i}, {1}};
    else
      find_taps(r, axis, i, &r->axes[axis][i]);
  return FNZ_OK;
}

static double blend(const resampling *r, int64_t base, const taps *a, const taps *b,
                    const taps *c) {
  double sum = 0;
  for (int i = 0; i < a->count; i++) {
    double plane = 0;
    for (int j = 0; j < b->count; j++) {
      int64_t row = base + (a->at[i] * r->p.in[1] + b->at[j]) * r->p.in[2];
      double line = 0;
      for (int k = 0; k < c->count; k++)
        line += c->weight[k] * fnzi_cpu_real_at(&r->x, row + c->at[k]);
      plane += b->weight[j] * line;
    }
    sum += a->weight[i] * plane;
  }
  return sum;
}

static void blend_plane(const void *user, int64_t plane, int lane) {
  const resampling *r = user;
  const fnzi_meta_pool *p = &r->p;
  int64_t from = plane * p->in[0] * p->in[1] * p->in[2];
  int64_t to = plane * p->out[0] * p->out[1] * p->out[2];
  (void)lane;
  for (int64_t i = 0; i < p->out[0]; i++)
    for (int64_t j = 0; j < p->out[1]; j++)
      for (int64_t k = 0; k < p->out[2]; k++, to++)
        fnzi_cpu_real_put(&r->y, to,
                          blend(r, from, &r->axes[0][i], &r->axes[1][j], &r->axes[2][k]));
}

static fnz_status run(fnzi_krn_call *call, resampling *r) {
  r->dtype = fnzi_cpu_real_dtype(call->outputs[0]->geometry.dtype);
  r->align = fnzi_krn_named_bool(call, "align_corners", false);
  FNZ_TRY(fnzi_meta_resample_read(call, &r->p, r->scales));
  for (int i = 0; i < FNZI_POOL_MAX_SPATIAL; i++)
    FNZ_TRY(fill_axis(call, r, i));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), r->dtype, &r->x));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, r->dtype, &r->y));
  fnzi_cpu_rows_each(call, r->p.planes, blend_plane, r);
  return FNZ_OK;
}

fnz_status fnzi_kernel_upsample_linear(fnzi_krn_call *call) {
  resampling r = {.cubic = false};
  return run(call, &r);
}

fnz_status fnzi_kernel_upsample_cubic(fnzi_krn_call *call) {
  resampling r = {.cubic = true};
  return run(call, &r);
}

/* --- At given places --------------------------------------------------------------------- */
enum { BILINEAR, NEAREST, BICUBIC };
enum { ZEROS, BORDER, REFLECTION };

typedef struct sampler {
  fnz_dtype dtype;
  int64_t mode, padding;
  bool align;
  int64_t channels, in[3], count; /* count: places of one image */
  fnzi_cpu_reals x, grid;
  fnzi_cpu_reals_out y;
} sampler;

/* From -1 ... 1 to elements. */
static double element_of(const sampler *s, double x, int64_t size) {
  double half = rounded(s->dtype, (double)(s->align ? size - 1 : size) / 2);
  x = rounded(s->dtype, rounded(s->dtype, x + 1) * half);
  return s->align ? x : rounded(s->dtype, x - 0.5);
}

static double reflect(const sampler *s, double x, int64_t size) {
  double low = s->align ? 0 : -0.5, span = (double)(s->align ? size - 1 : size);
  if (span == 0)
    return 0;
  x = fabs(x - low);
  double rest = fmod(x, span);
  return fmod(floor(x / span), 2) == 0 ? rest + low : span - rest + low;
}

/* What padding does to a place. NaN goes to 0. */
static double inside(const sampler *s, double x, int64_t size) {
  double last = (double)(size - 1);
  if (s->padding == ZEROS)
    return x;
  if (s->padding == REFLECTION)
    x = rounded(s->dtype, reflect(s, x, size));
  return x > 0 ? (x < last ? x : last) : 0;
}

/* 0 beyond the image. */
static double element_at(const sampler *s, int64_t plane, double y, double x) {
  if (!(y >= 0 && y < (double)s->in[0] && x >= 0 && x < (double)s->in[1]))
    return 0;
  return fnzi_cpu_real_at(&s->x, (plane * s->in[0] + (int64_t)y) * s->in[1] + (int64_t)x);
}

static double sample_linear(const sampler *s, int64_t plane, double y, double x) {
  double top = floor(y), left = floor(x), dy = y - top, dx = x - left;
  return element_at(s, plane, top, left) * (1 - dy) * (1 - dx) +
         element_at(s, plane, top, left + 1) * (1 - dy) * dx +
         element_at(s, plane, top + 1, left) * dy * (1 - dx) +
         element_at(s, plane, top + 1, left + 1) * dy * dx;
}

static double sample_cubic(const sampler *s, int64_t plane, double y, double x) {
  double top = floor(y), left = floor(x), by_y[4], by_x[4], sum = 0;
  cubic_weights(s->dtype, y - top, by_y);
  cubic_weights(s->dtype, x - left, by_x);
  for (int i = 0; i < 4; i++) {
    double row = inside(s, top - 1 + i, s->in[0]), line = 0;
    for (int k = 0; k < 4; k++)
      line += by_x[k] * element_at(s, plane, row, inside(s, left - 1 + k, s->in[1]));
    sum += by_y[i] * line;
  }
  return sum;
}

static double sample(const sampler *s, int64_t plane, double y, double x) {
  y = element_of(s, y, s->in[0]), x = element_of(s, x, s->in[1]);
  if (s->mode == BICUBIC)
    return sample_cubic(s, plane, y, x);
  y = inside(s, y, s->in[0]), x = inside(s, x, s->in[1]);
  if (s->mode == NEAREST)
    return element_at(s, plane, nearbyint(y), nearbyint(x));
  return sample_linear(s, plane, y, x);
}

/* A plane is one channel of one image. */
static void sample_plane(const void *user, int64_t plane, int lane) {
  const sampler *s = user;
  int64_t first = plane / s->channels * s->count;
  (void)lane;
  for (int64_t i = 0; i < s->count; i++) {
    double x = fnzi_cpu_real_at(&s->grid, 2 * (first + i));
    double y = fnzi_cpu_real_at(&s->grid, 2 * (first + i) + 1);
    fnzi_cpu_real_put(&s->y, plane * s->count + i, sample(s, plane, y, x));
  }
}

/* --- In three dimensions ----------------------------------------------------------------- */
static double voxel_at(const sampler *s, int64_t volume, const double *at) {
  int64_t place = volume;
  for (int i = 0; i < 3; i++) {
    if (!(at[i] >= 0 && at[i] < (double)s->in[i]))
      return 0;
    place = place * s->in[i] + (int64_t)at[i];
  }
  return fnzi_cpu_real_at(&s->x, place);
}

static double sample_volume(const sampler *s, int64_t volume, const double *place) {
  double low[3], rest[3], sum = 0;
  for (int i = 0; i < 3; i++) {
    double x = inside(s, element_of(s, place[i], s->in[i]), s->in[i]);
    low[i] = s->mode == NEAREST ? nearbyint(x) : floor(x);
    rest[i] = x - low[i];
  }
  if (s->mode == NEAREST)
    return voxel_at(s, volume, low);
  for (int corner = 0; corner < 8; corner++) {
    double at[3], weight = 1;
    for (int i = 0; i < 3; i++) {
      bool up = corner >> (2 - i) & 1;
      at[i] = low[i] + up;
      weight *= up ? rest[i] : 1 - rest[i];
    }
    sum += voxel_at(s, volume, at) * weight;
  }
  return sum;
}

/* The grid says x first, volumes have it last. */
static void sample_volumes(const void *user, int64_t volume, int lane) {
  const sampler *s = user;
  int64_t first = volume / s->channels * s->count;
  (void)lane;
  for (int64_t i = 0; i < s->count; i++) {
    double place[3];
    for (int k = 0; k < 3; k++)
      place[k] = fnzi_cpu_real_at(&s->grid, 3 * (first + i) + 2 - k);
    fnzi_cpu_real_put(&s->y, volume * s->count + i, sample_volume(s, volume, place));
  }
}

/* Images or volumes, as the shape rule let through. */
fnz_status fnzi_kernel_grid_sampler(fnzi_krn_call *call) {
  const fnz_geometry *x = fnzi_krn_call_geometry(call, 0), *out = &call->outputs[0]->geometry;
  sampler s = {.dtype = fnzi_cpu_real_dtype(x->dtype),
               .mode = fnzi_krn_named_int(call, "interpolation_mode", BILINEAR),
               .padding = fnzi_krn_named_int(call, "padding_mode", ZEROS),
               .align = fnzi_krn_named_bool(call, "align_corners", false),
               .channels = x->sizes[1],
               .count = 1};
  for (uint32_t d = 2; d < x->rank; d++) {
    s.in[d - 2] = x->sizes[d];
    s.count *= out->sizes[d];
  }
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), s.dtype, &s.x));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 1), s.dtype, &s.grid));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, s.dtype, &s.y));
  fnzi_cpu_rows_each(call, out->sizes[0] * out->sizes[1],
                     x->rank == 5 ? sample_volumes : sample_plane, &s);
  return FNZ_OK;
}
