/* pool.c - the largest or the mean of sliding windows, means backwards, and nearest-neighbour
 * resampling.
 *
 * Planes are independent; each is one job. Elements are doubles, or integers for the largest; what
 * is only chosen is moved as it lies in memory. */
#include "kernels/meta/pool.h"
#include "kernels/cpu/special_reals.h"
#include "kernels/rows/rows.h"
#include "kernels/cpu/sizes.h"

#include <math.h>

typedef struct pool {
  fnzi_meta_pool p;
  fnzi_cpu_reals x;
  fnzi_cpu_reals_out y;
  const int64_t *int_x; /* instead of x */
  int64_t *indices;
  const unsigned char *cells; /* the elements as they lie, */
  unsigned char *moved;       /* and where chosen ones go, instead of y */
  size_t cell;
  _Alignas(8) unsigned char nothing[16]; /* the largest of no elements */
  int64_t in_volume, out_volume;
  bool adaptive, count_padding, exact;
  int64_t divisor; /* 0: the number of elements */
  double scales[FNZI_POOL_MAX_SPATIAL];
} pool;

/* A window: from `first` to before `last` by `step`, in each dimension. */
typedef struct window {
  int64_t first[3], last[3], step[3];
  int64_t padded; /* elements with those in the padding */
} window;

static void places(const int64_t *sizes, int64_t at, int64_t *out) {
  out[0] = at / (sizes[1] * sizes[2]);
  out[1] = at / sizes[2] % sizes[1];
  out[2] = at % sizes[2];
}

static void clip(const pool *o, const int64_t *place, window *w) {
  const fnzi_meta_pool *p = &o->p;
  w->padded = 1;
  for (int i = 0; i < 3; i++) {
    int64_t first = place[i] * p->stride[i] - p->padding[i];
    int64_t last = first + (p->kernel[i] - 1) * p->dilation[i] + 1;
    w->padded *= fnzi_cpu_least(last, p->in[i] + p->padding[i]) - first;
    if (first < 0)
      first += (-first + p->dilation[i] - 1) / p->dilation[i] * p->dilation[i];
    w->first[i] = first, w->last[i] = fnzi_cpu_least(last, p->in[i]);
    w->step[i] =
        fnzi_cpu_least(p->dilation[i], p->in[i] + 1); /* over the end, but not over 64 bits */
  }
}

/* Windows that tile the input as evenly as whole elements allow. */
static void divide(const pool *o, const int64_t *place, window *w) {
  w->padded = 1;
  for (int i = 0; i < 3; i++) {
    int64_t in = o->p.in[i], out = o->p.out[i];
    w->first[i] = place[i] * in / out;
    w->last[i] = ((place[i] + 1) * in + out - 1) / out;
    w->step[i] = 1;
  }
}

static void window_at(const pool *o, const int64_t *place, window *w) {
  if (o->adaptive)
    divide(o, place, w);
  else
    clip(o, place, w);
}

/* The window that element `at` of a pooled plane stands for. */
static void window_of(const pool *o, int64_t at, window *w) {
  int64_t place[3];
  places(o->p.out, at, place);
  window_at(o, place, w);
}

/* Dilation can step over a small input altogether. */
static bool is_empty(const window *w) {
  return w->first[0] >= w->last[0] || w->first[1] >= w->last[1] || w->first[2] >= w->last[2];
}

/* What the sum of a window is divided by: windows of means step by 1. */
static double divisor_of(const pool *o, const window *w) {
  int64_t count = 1;
  for (int i = 0; i < 3; i++)
    count *= w->last[i] - w->first[i];
  return (double)(o->divisor ? o->divisor : o->count_padding ? w->padded : count);
}

static int64_t cell(const pool *o, int64_t i, int64_t j, int64_t k) {
  return (i * o->p.in[1] + j) * o->p.in[2] + k;
}

static double sum_window(const pool *o, int64_t base, const window *w) {
  double sum = 0;
  for (int64_t i = w->first[0]; i < w->last[0]; i++)
    for (int64_t j = w->first[1]; j < w->last[1]; j++)
      for (int64_t k = w->first[2]; k < w->last[2]; k++)
        sum += fnzi_cpu_real_at(&o->x, base + cell(o, i, j, k));
  return sum;
}

static void mean_plane(const void *user, int64_t plane, int lane) {
  const pool *o = user;
  (void)lane;
  for (int64_t at = 0; at < o->out_volume; at++) {
    window w;
    window_of(o, at, &w);
    fnzi_cpu_real_put(&o->y, plane * o->out_volume + at,
                      is_empty(&w) ? 0
                                   : sum_window(o, plane * o->in_volume, &w) / divisor_of(o, &w));
  }
}

static bool larger(const pool *o, int64_t at, int64_t best) {
  if (o->int_x)
    return o->int_x[at] > o->int_x[best];
  double a = fnzi_cpu_real_at(&o->x, at), b = fnzi_cpu_real_at(&o->x, best);
  return a > b || isnan(a);
}

/* The last NaN wins, else the first of the largest, as in eager. */
static int64_t find_largest(const pool *o, int64_t base, const window *w) {
  int64_t best = base + cell(o, w->first[0], w->first[1], w->first[2]);
  for (int64_t i = w->first[0]; i < w->last[0]; i += w->step[0])
    for (int64_t j = w->first[1]; j < w->last[1]; j += w->step[1])
      for (int64_t k = w->first[2]; k < w->last[2]; k += w->step[2])
        if (larger(o, base + cell(o, i, j, k), best))
          best = base + cell(o, i, j, k);
  return best;
}

/* The same of floats, where most of the time of image networks' pools goes. */
static int64_t find_largest_f32(const pool *o, int64_t base, const window *w) {
  int64_t best = base + cell(o, w->first[0], w->first[1], w->first[2]);
  float most = o->x.f[best];
  for (int64_t i = w->first[0]; i < w->last[0]; i += w->step[0])
    for (int64_t j = w->first[1]; j < w->last[1]; j += w->step[1]) {
      int64_t row = base + cell(o, i, j, 0);
      for (int64_t k = w->first[2]; k < w->last[2]; k += w->step[2]) {
        float x = o->x.f[row + k];
        if (x > most || isnan(x))
          best = row + k, most = x;
      }
    }
  return best;
}

/* from < 0: nothing was found. */
static void move_cell(const pool *o, int64_t to, int64_t from) {
  memcpy(o->moved + (size_t)to * o->cell, from < 0 ? o->nothing : o->cells + (size_t)from * o->cell,
         o->cell);
}

static void max_element(const pool *o, int64_t plane, int64_t to, const window *w) {
  bool is_f32 = o->x.f && !o->int_x;
  int64_t best = -1;
  if (!is_empty(w))
    best = (is_f32 ? find_largest_f32 : find_largest)(o, plane * o->in_volume, w);
  move_cell(o, to, best);
  if (o->indices)
    o->indices[to] = best < 0 ? 0 : best - plane * o->in_volume;
}

/* The floats themselves, of windows that step by 1 along a row. */
static bool has_plain_rows(const pool *o) {
  return o->x.f && !o->int_x && !o->indices && !o->adaptive && o->cell == sizeof(float) &&
         o->p.dilation[2] == 1;
}

/* Which elements of a row have windows without padding along it: from *first to before *last. */
static void find_inner(const fnzi_meta_pool *p, int64_t *first, int64_t *last) {
  int64_t room = p->in[2] + p->padding[2] - p->kernel[2], stride = p->stride[2];
  *first = fnzi_cpu_least((p->padding[2] + stride - 1) / stride, p->out[2]);
  *last = room < 0 ? *first : fnzi_cpu_least(room / stride + 1, p->out[2]);
}

/* Elements `first` to before `last` of a row, side by side: each sees its window in order. */
static void max_inner(const pool *o, int64_t base, const window *w, int64_t first, int64_t last,
                      float *out) {
  int64_t step = o->p.stride[2], start = first * step - o->p.padding[2];
  const fnzi_rows *rows = fnzi_rows_best();
  const float *x = o->x.f + base + start;
  for (int64_t k = first; k < last; k++)
    out[k] = -INFINITY;
  for (int64_t i = w->first[0]; i < w->last[0]; i += w->step[0])
    for (int64_t j = w->first[1]; j < w->last[1]; j += w->step[1])
      for (int64_t k = 0; k < o->p.kernel[2]; k++)
        rows->greatest(out + first, x + cell(o, i, j, k), step, last - first);
}

/* `place` is at the start of a row; `to` counts the results of all planes. */
static void max_row(const pool *o, int64_t plane, int64_t *place, int64_t to) {
  int64_t inner = 0, outer = 0;
  window w;
  if (has_plain_rows(o))
    find_inner(&o->p, &inner, &outer);
  if (inner < outer) {
    place[2] = inner;
    window_at(o, place, &w);
    if (is_empty(&w))
      outer = inner;
    else
      max_inner(o, plane * o->in_volume, &w, inner, outer, (float *)(void *)o->moved + to);
  }
  for (place[2] = 0; place[2] < o->p.out[2]; place[2]++) {
    if (place[2] >= inner && place[2] < outer)
      continue;
    window_at(o, place, &w);
    max_element(o, plane, to + place[2], &w);
  }
}

static void max_plane(const void *user, int64_t plane, int lane) {
  const pool *o = user;
  int64_t to = plane * o->out_volume, place[3];
  (void)lane;
  for (place[0] = 0; place[0] < o->p.out[0]; place[0]++)
    for (place[1] = 0; place[1] < o->p.out[1]; place[1]++, to += o->p.out[2])
      max_row(o, plane, place, to);
}

static fnz_status run(fnzi_krn_call *call, pool *o, fnzi_each_fn *plane) {
  fnz_dtype dtype = fnzi_cpu_real_dtype(call->outputs[0]->geometry.dtype);
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), dtype, &o->x));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &o->y));
  o->in_volume = fnzi_cpu_volume(o->p.in), o->out_volume = fnzi_cpu_volume(o->p.out);
  fnzi_cpu_rows_each(call, o->p.planes, plane, o);
  return FNZ_OK;
}

/* Results are elements of the input. */
static fnz_status run_moving(fnzi_krn_call *call, pool *o, fnzi_each_fn *plane) {
  fnz_dtype dtype = call->outputs[0]->geometry.dtype;
  const void *cells;
  void *moved;
  FNZ_TRY(fnzi_krn_dense_get(call, fnzi_krn_call_input(call, 0), &cells));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &moved));
  o->cells = cells, o->moved = moved, o->cell = fnzi_dtype(dtype)->bytes;
  o->in_volume = fnzi_cpu_volume(o->p.in), o->out_volume = fnzi_cpu_volume(o->p.out);
  fnzi_cpu_rows_each(call, o->p.planes, plane, o);
  return FNZ_OK;
}

static void shift(int64_t *sizes, uint32_t by, int64_t filler) {
  for (uint32_t i = FNZI_POOL_MAX_SPATIAL; i-- > 0;)
    sizes[i] = i < by ? filler : sizes[i - by];
}

/* Dimensions that there are not come first: the last one is that along which elements lie. */
static void end_with_rows(fnzi_meta_pool *p) {
  uint32_t by = FNZI_POOL_MAX_SPATIAL - p->spatial;
  shift(p->in, by, 1), shift(p->out, by, 1), shift(p->kernel, by, 1);
  shift(p->stride, by, 1), shift(p->padding, by, 0), shift(p->dilation, by, 1);
}

static fnz_status run_largest(fnzi_krn_call *call, pool *o) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  fnz_dtype dtype = self->geometry.dtype;
  const double lowest = -INFINITY;
  const int64_t least_integer = INT64_MIN;
  const void *x;
  end_with_rows(&o->p);
  if (fnzi_is_float(dtype)) {
    FNZ_TRY(fnzi_cpu_reals_open(call, self, fnzi_cpu_real_dtype(dtype), &o->x));
    fnzi_krn_convert(dtype, o->nothing, 0, FNZ_F64, &lowest, 0, 1);
  } else {
    FNZ_TRY(fnzi_krn_dense_get_as(call, self, FNZ_I64, &x));
    o->int_x = x;
    fnzi_krn_convert(dtype, o->nothing, 0, FNZ_I64, &least_integer, 0, 1);
  }
  return run_moving(call, o, max_plane);
}

fnz_status fnzi_kernel_max_pool(fnzi_krn_call *call) {
  pool o = {.divisor = 0};
  void *indices = NULL;
  FNZ_TRY(fnzi_meta_pool_read(call, &o.p));
  if (call->noutputs > 1)
    FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_I64, &indices));
  o.indices = indices;
  return run_largest(call, &o);
}

fnz_status fnzi_kernel_adaptive_max_pool(fnzi_krn_call *call) {
  pool o = {.adaptive = true};
  void *indices;
  FNZ_TRY(fnzi_meta_pool_read_adaptive(call, &o.p));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_I64, &indices));
  o.indices = indices;
  return run_largest(call, &o);
}

fnz_status fnzi_kernel_avg_pool(fnzi_krn_call *call) {
  pool o = {.divisor = fnzi_krn_named_int(call, "divisor_override", 0)};
  o.count_padding = fnzi_krn_named_bool(call, "count_include_pad", true);
  FNZ_TRY(fnzi_meta_pool_read(call, &o.p));
  return run(call, &o, mean_plane);
}

fnz_status fnzi_kernel_adaptive_avg_pool(fnzi_krn_call *call) {
  pool o = {.adaptive = true};
  FNZ_TRY(fnzi_meta_pool_read_adaptive(call, &o.p));
  return run(call, &o, mean_plane);
}

/* --- Means backwards --------------------------------------------------------------------- */
static void spread_window(const pool *o, int64_t base, const window *w, double each) {
  fnzi_cpu_reals sums = fnzi_cpu_reals_read(&o->y);
  for (int64_t i = w->first[0]; i < w->last[0]; i++)
    for (int64_t j = w->first[1]; j < w->last[1]; j++)
      for (int64_t k = w->first[2]; k < w->last[2]; k++) {
        int64_t at = base + cell(o, i, j, k);
        fnzi_cpu_real_put(&o->y, at, fnzi_cpu_real_at(&sums, at) + each);
      }
}

/* Every element of a window gets its share of what the window's mean gets. */
static void spread_plane(const void *user, int64_t plane, int lane) {
  const pool *o = user;
  (void)lane;
  for (int64_t i = 0; i < o->in_volume; i++)
    fnzi_cpu_real_put(&o->y, plane * o->in_volume + i, 0);
  for (int64_t at = 0; at < o->out_volume; at++) {
    window w;
    window_of(o, at, &w);
    if (!is_empty(&w))
      spread_window(o, plane * o->in_volume, &w,
                    fnzi_cpu_real_at(&o->x, plane * o->out_volume + at) / divisor_of(o, &w));
  }
}

fnz_status fnzi_kernel_avg_pool_backward(fnzi_krn_call *call) {
  pool o = {.divisor = fnzi_krn_named_int(call, "divisor_override", 0)};
  o.count_padding = fnzi_krn_named_bool(call, "count_include_pad", true);
  FNZ_TRY(fnzi_meta_pool_read(call, &o.p));
  return run(call, &o, spread_plane);
}

fnz_status fnzi_kernel_adaptive_avg_pool_backward(fnzi_krn_call *call) {
  pool o = {.adaptive = true};
  FNZ_TRY(fnzi_meta_pool_read_adaptive(call, &o.p));
  return run(call, &o, spread_plane);
}

/* --- Nearest neighbour ------------------------------------------------------------------- */
/* Elements of the input per element of the result, in float arithmetic as eager does; a factor that
 * was given is used as it is. */
static float step_of(const pool *o, int axis) {
  double factor = o->scales[axis];
  return factor > 0 ? (float)(1.0 / factor) : (float)o->p.in[axis] / (float)o->p.out[axis];
}

/* The element that holds a place, also where a factor makes that no number. */
static int64_t element_at(float place, int64_t size) {
  place = floorf(place);
  return place < (float)(size - 1) ? (int64_t)place : size - 1;
}

/* floor(place * in / out) */
static int64_t nearest(const pool *o, int axis, int64_t place) {
  if (o->p.in[axis] == o->p.out[axis])
    return place;
  return element_at((float)place * step_of(o, axis), o->p.in[axis]);
}

/* The one whose middle is nearest: floor((place + 1/2) in / out). */
static int64_t nearest_exact(const pool *o, int axis, int64_t place) {
  double middle = ((double)place + 0.5) * (double)step_of(o, axis);
  return element_at((float)middle, o->p.in[axis]);
}

static void nearest_plane(const void *user, int64_t plane, int lane) {
  const pool *o = user;
  (void)lane;
  for (int64_t at = 0; at < o->out_volume; at++) {
    int64_t place[3];
    places(o->p.out, at, place);
    for (int i = 0; i < 3; i++)
      place[i] = o->exact ? nearest_exact(o, i, place[i]) : nearest(o, i, place[i]);
    move_cell(o, plane * o->out_volume + at,
              plane * o->in_volume + cell(o, place[0], place[1], place[2]));
  }
}

fnz_status fnzi_kernel_upsample_nearest(fnzi_krn_call *call) {
  pool o = {.divisor = 0};
  FNZ_TRY(fnzi_meta_resample_read(call, &o.p, o.scales));
  return run_moving(call, &o, nearest_plane);
}

fnz_status fnzi_kernel_upsample_nearest_exact(fnzi_krn_call *call) {
  pool o = {.exact = true};
  FNZ_TRY(fnzi_meta_resample_read(call, &o.p, o.scales));
  return run_moving(call, &o, nearest_plane);
}
