/* pool.c - the largest or the mean of sliding windows, means backwards, and nearest-neighbour
 * resampling.
 *
 * Planes are independent; each is one job. Elements are doubles, or integers for the largest;
 * elements that are only chosen are moved as they lie in memory. */
#include "kernels/cpu/pick.h"
#include "kernels/cpu/pool.h"
#include "kernels/cpu/row_code.h"
#include "kernels/meta/pool.h"
#include "kernels/rows/folds.h"
#include "kernels/rows/rows.h"
#include "kernels/cpu/sizes.h"

typedef struct pool {
  fnzi_meta_pool read; /* as in the arguments */
  pool_shape p;
  fnzi_cpu_reals x;
  fnzi_cpu_reals_out y;
  const int64_t *int_x; /* instead of x */
  int64_t *indices;
  const unsigned char *cells; /* the elements as they lie, */
  unsigned char *moved;       /* and where chosen ones go, instead of y */
  size_t cell;
  _Alignas(8) unsigned char nothing[16]; /* the largest of no elements */
  bool exact;
  bool apart; /* no element is in two windows */
  double scales[FNZI_POOL_MAX_SPATIAL];
  int64_t *nearest[FNZI_POOL_MAX_SPATIAL]; /* the source of each place along a dimension */
} pool;

/* --- Means ------------------------------------------------------------------------------- */
enum { BESIDE = 256 };

/* Long rows of a window go through lanes. */
static double sum_window(const pool *o, int64_t base, const pool_window *w) {
  int64_t length = w->last[2] - w->first[2];
  fnzi_row_sums sums = {{0}};
  double sum = 0;
  if (length < FNZI_POOL_LONG_ROW)
    return pool_sum(&o->p, &o->x, base, w);
  for (int64_t i = w->first[0]; i < w->last[0]; i++) {
    int64_t rows = w->last[1] - w->first[1],
            at = base + pool_cell(&o->p, i, w->first[1], w->first[2]);
    if (o->x.f)
      fnzi_rows_best()->sum(&sums, o->x.f + at, o->p.in[2], rows, length);
    for (int64_t j = 0; o->x.d && j < rows; j++)
      sum += fnzi_cpu_sum(o->x.d + at + j * o->p.in[2], length);
  }
  return o->x.f ? fnzi_row_total(&sums) : sum;
}

static void mean_element(const pool *o, int64_t plane, int64_t to, const pool_window *w) {
  double mean = 0;
  if (!pool_is_empty(w))
    mean = sum_window(o, plane * o->p.in_volume, w) / pool_divisor(&o->p, w);
  fnzi_cpu_real_put(&o->y, to, mean);
}

/* Adds elements `step` apart to sums side by side. */
static void pool_add_beside(const fnzi_cpu_reals *x, int64_t at, int64_t step, int64_t count,
                            double *sums) {
  const float *f = x->f ? x->f + at : NULL;
  const double *d = x->d ? x->d + at : NULL;
  if (d)
    for (int64_t k = 0; k < count; k++)
      sums[k] += d[k * step];
  else if (step == 1)
    fnzi_rows_best()->add(sums, f, count);
  else
    for (int64_t k = 0; k < count; k++)
      sums[k] += (double)f[k * step];
}

/* --- The largest ------------------------------------------------------------------------- */
/* pool_largest() of floats, where most of the time of image networks' pools goes. */
static int64_t find_largest_f32(const pool *o, int64_t base, const pool_window *w) {
  int64_t best = base + pool_cell(&o->p, w->first[0], w->first[1], w->first[2]);
  float most = o->x.f[best];
  for (int64_t i = w->first[0]; i < w->last[0]; i += w->step[0])
    for (int64_t j = w->first[1]; j < w->last[1]; j += w->step[1]) {
      int64_t row = base + pool_cell(&o->p, i, j, 0);
      for (int64_t k = w->first[2]; k < w->last[2]; k += w->step[2]) {
        float x = o->x.f[row + k];
        if (x > most || isnan(x))
          best = row + k, most = x;
      }
    }
  return best;
}

/* The largest element is at `place` of its plane; place < 0: there is none. */
static void max_put(const pool *o, int64_t base, int64_t to, int64_t place) {
  memcpy(o->moved + (size_t)to * o->cell,
         place < 0 ? o->nothing : o->cells + (size_t)(base + place) * o->cell, o->cell);
  if (o->indices)
    o->indices[to] = place < 0 ? 0 : place;
}

static void max_element(const pool *o, int64_t plane, int64_t to, const pool_window *w) {
  bool is_f32 = o->x.f && !o->int_x;
  int64_t base = plane * o->p.in_volume, best = base - 1;
  if (!pool_is_empty(w))
    best = is_f32 ? find_largest_f32(o, base, w) : pool_largest(&o->p, &o->x, o->int_x, base, w);
  max_put(o, base, to, best - base);
}

/* Which elements of a row have windows without padding along it: from *first to before *last. */
static void find_inner(const pool_shape *p, int64_t *first, int64_t *last) {
  int64_t room = p->in[2] + p->padding[2] - p->kernel[2], stride = p->stride[2];
  *first = pool_least((p->padding[2] + stride - 1) / stride, p->out[2]);
  *last = room < 0 ? *first : pool_least(room / stride + 1, p->out[2]);
}

/* Elements `first` to before `last` of a row, side by side: each adds up its window in order. */
static void mean_inner(const pool *o, int64_t base, const pool_window *w, int64_t first,
                       int64_t last, int64_t to) {
  double sums[BESIDE], divisor = pool_divisor(&o->p, w);
  int64_t step = o->p.stride[2];
  for (int64_t at = first; at < last; at += BESIDE) {
    int64_t count = pool_least(last - at, BESIDE), start = base + at * step - o->p.padding[2];
    memset(sums, 0, sizeof sums);
    for (int64_t i = w->first[0]; i < w->last[0]; i++)
      for (int64_t j = w->first[1]; j < w->last[1]; j++)
        for (int64_t k = 0; k < o->p.kernel[2]; k++)
          pool_add_beside(&o->x, start + pool_cell(&o->p, i, j, k), step, count, sums);
    for (int64_t k = 0; k < count; k++)
      fnzi_cpu_real_put(&o->y, to + at + k, sums[k] / divisor);
  }
}

/* Elements `first` to before `last` of a row, side by side: each sees its window in order. */
static void max_inner(const pool *o, int64_t base, const pool_window *w, int64_t first,
                      int64_t last, int64_t to) {
  fnzi_row_windows windows = pool_windows(&o->p, w, o->x.f + base, 1);
  windows.step = o->p.stride[2], windows.count = last - first;
  fnzi_rows_best()->greatest(&windows, (float *)(void *)o->moved + to + first);
}

/* The same with places, which elements of any type are moved by. `from` is where the window of the
 * first one begins. */
static void pool_find_beside(const pool *o, const pool_window *w, const char *from, int64_t count,
                             int64_t *places) {
  const fnzi_fold_type type = o->int_x ? FNZI_FOLD_I64 : o->x.f ? FNZI_FOLD_F32 : FNZI_FOLD_F64;
  const int64_t cell = o->x.f && !o->int_x ? sizeof(float) : sizeof(double);
  const int64_t step = o->p.stride[2], begin = pool_cell(&o->p, w->first[0], w->first[1], 0);
  double most[BESIDE];
  for (int64_t k = 0; k < count; k++) {
    places[k] = begin + k * step;
    memcpy((char *)most + k * cell, from + places[k] * cell, (size_t)cell);
  }
  for (int64_t i = w->first[0]; i < w->last[0]; i += w->step[0])
    for (int64_t j = w->first[1]; j < w->last[1]; j += w->step[1])
      for (int64_t k = 0; k < o->p.kernel[2]; k++) {
        const int64_t place = pool_cell(&o->p, i, j, k);
        fnzi_folds_best()->greatest[type](most, places, place, from + place * cell, step, count);
      }
}

static void max_places(const pool *o, int64_t base, const pool_window *w, int64_t first,
                       int64_t last, int64_t to) {
  int64_t places[BESIDE];
  for (int64_t at = first; at < last; at += BESIDE) {
    int64_t count = pool_least(last - at, BESIDE), start = at * o->p.stride[2] - o->p.padding[2];
    const void *from = o->int_x ? (const void *)(o->int_x + base + start)
                       : o->x.f ? (const void *)(o->x.f + base + start)
                                : (const void *)(o->x.d + base + start);
    pool_find_beside(o, w, from, count, places);
    for (int64_t k = 0; k < count; k++)
      max_put(o, base, to + at + k, start + places[k]);
  }
}

/* --- Planes ------------------------------------------------------------------------------ */
/* How results are computed: one, or `first` to before `last` of a row, whose windows lie inside. */
typedef struct pooling {
  void (*element)(const pool *o, int64_t plane, int64_t to, const pool_window *w);
  void (*inner)(const pool *o, int64_t base, const pool_window *w, int64_t first, int64_t last,
                int64_t to);
} pooling;

/* `place` is at the start of a row; `to` counts the results of all planes. */
static void pool_row(const pool *o, const pooling *by, int64_t plane, int64_t *place, int64_t to) {
  int64_t inner = 0, outer = 0;
  pool_window w;
  if (by->inner)
    find_inner(&o->p, &inner, &outer);
  if (inner < outer) {
    place[2] = inner;
    pool_window_at(&o->p, place, &w);
    if (pool_is_empty(&w))
      outer = inner;
    else
      by->inner(o, plane * o->p.in_volume, &w, inner, outer, to);
  }
  for (place[2] = 0; place[2] < o->p.out[2]; place[2]++) {
    if (place[2] >= inner && place[2] < outer)
      continue;
    pool_window_at(&o->p, place, &w);
    by->element(o, plane, to + place[2], &w);
  }
}

static void pool_plane(const pool *o, const pooling *by, int64_t plane) {
  int64_t to = plane * o->p.out_volume, place[3];
  for (place[0] = 0; place[0] < o->p.out[0]; place[0]++)
    for (place[1] = 0; place[1] < o->p.out[1]; place[1]++, to += o->p.out[2])
      pool_row(o, by, plane, place, to);
}

static void mean_plane(const void *user, int64_t plane, int lane) {
  const pool *o = user;
  const pooling by = {mean_element, o->p.adaptive ? NULL : mean_inner};
  (void)lane;
  pool_plane(o, &by, plane);
}

static void max_plane(const void *user, int64_t plane, int lane) {
  const pool *o = user;
  pooling by = {max_element, NULL};
  (void)lane;
  if (!o->p.adaptive && o->p.dilation[2] == 1)
    by.inner =
        o->x.f && !o->int_x && !o->indices && o->cell == sizeof(float) ? max_inner : max_places;
  pool_plane(o, &by, plane);
}

/* --- Calls ------------------------------------------------------------------------------- */
static void take_shape(const fnzi_meta_pool *from, pool_shape *p) {
  memcpy(p->in, from->in, sizeof p->in), memcpy(p->out, from->out, sizeof p->out);
  memcpy(p->kernel, from->kernel, sizeof p->kernel);
  memcpy(p->stride, from->stride, sizeof p->stride);
  memcpy(p->padding, from->padding, sizeof p->padding);
  memcpy(p->dilation, from->dilation, sizeof p->dilation);
  p->in_volume = fnzi_cpu_volume(p->in), p->out_volume = fnzi_cpu_volume(p->out);
}

/* Floats whose channels are last, in a result whose channels are: by another file. */
static fnz_status run_channels_last(fnzi_krn_call *call, pool *o, bool largest, bool *done) {
  const fnzi_krn_array *array = fnzi_krn_call_input(call, 0);
  const fnz_geometry *x = &array->window;
  uint32_t spatial = o->read.spatial;
  fnzi_cpu_pool_last last = {.p = &o->p, .largest = largest};
  void *to;
  take_shape(&o->read, &o->p);
  last.pitch = fnzi_krn_channels_last_pitch(x, spatial);
  *done = x->dtype == FNZ_F32 && !call->record && !o->indices && !fnzi_is_contiguous(x) &&
          last.pitch && array->storage && fnzi_cpu_pool_serves_last(&o->p);
  if (!*done)
    return FNZ_OK;
  FNZ_TRY(fnzi_krn_channels_last_result(call, 0, spatial, FNZ_F32, &to));
  last.x = (const float *)fnzi_krn_array_data(array), last.y = to;
  last.channels = x->sizes[x->rank - 1 - spatial];
  last.samples = last.channels ? o->read.planes / last.channels : 0;
  fnzi_cpu_pool_last_run(call, &last);
  return FNZ_OK;
}

static void window_over(fnzi_krn_window *out, fnz_dtype dtype, int64_t count, const void *data) {
  fnzi_krn_window_dense(out, dtype, 1, &count, data);
}

/* The formula of each element, recorded. */
static fnz_status pool_record(fnzi_krn_call *call, const pool *o, const char *name,
                              const fnzi_krn_window *windows, uint32_t nwindows,
                              uint32_t nresults) {
  enum { NUMBERS = sizeof o->p / sizeof(int64_t) };
  int64_t integers[NUMBERS + 2], nothing[2];
  memcpy(integers, &o->p, sizeof o->p);
  memcpy(nothing, o->nothing, sizeof nothing);
  integers[NUMBERS] = o->exact;
  integers[NUMBERS + 1] = nothing[0];
  const fnzi_krn_formula f = {name,      windows[nwindows - nresults].sizes[0],
                              windows,   nwindows,
                              nresults,  integers,
                              o->scales, NUMBERS + 2,
                              3,         false,
                              0};
  return call->record->formula(call->record->user, &f);
}

/* Whether no element is in two windows. */
static bool are_apart(const pool_shape *p) {
  bool apart = true;
  for (int i = 0; i < FNZI_POOL_MAX_SPATIAL; i++)
    apart = apart && (p->adaptive ? p->out[i] > 0 && p->in[i] % p->out[i] == 0
                                  : p->stride[i] >= p->kernel[i]);
  return apart;
}

/* Results are computed. */
static fnz_status pool_run(fnzi_krn_call *call, pool *o, fnzi_share_fn *plane, const char *name) {
  fnz_dtype dtype = fnzi_cpu_real_dtype(call->outputs[0]->geometry.dtype);
  int64_t planes = o->read.planes;
  fnzi_krn_window windows[2];
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), dtype, &o->x));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &o->y));
  take_shape(&o->read, &o->p);
  o->apart = are_apart(&o->p);
  if (!call->record) {
    fnzi_cpu_rows_each(call, planes, plane, o);
    return FNZ_OK;
  }
  const fnzi_cpu_reals y = fnzi_cpu_reals_read(&o->y);
  fnzi_cpu_reals_window(&o->x, fnzi_krn_array_numel(fnzi_krn_call_input(call, 0)), &windows[0]);
  fnzi_cpu_reals_window(&y, fnzi_krn_array_numel(call->outputs[0]), &windows[1]);
  return pool_record(call, o, name, windows, 2, 1);
}

/* Results are elements of the input, and where they stood. */
static fnz_status run_moving(fnzi_krn_call *call, pool *o, fnzi_share_fn *plane, const char *name) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0), *out = call->outputs[0];
  int64_t from = fnzi_krn_array_numel(self), to = fnzi_krn_array_numel(out);
  fnz_dtype dtype = out->geometry.dtype;
  fnzi_krn_window windows[4];
  const void *cells;
  void *moved;
  FNZ_TRY(fnzi_krn_dense_get(call, self, &cells));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &moved));
  o->cells = cells, o->moved = moved, o->cell = fnzi_dtype(dtype)->bytes;
  take_shape(&o->read, &o->p);
  if (!call->record) {
    fnzi_cpu_rows_each(call, o->read.planes, plane, o);
    return FNZ_OK;
  }
  bool is_compared = o->int_x || fnzi_cpu_reals_present(&o->x);
  window_over(&windows[0], dtype, from, cells);
  if (o->int_x)
    window_over(&windows[1], FNZ_I64, from, o->int_x);
  else
    fnzi_cpu_reals_window(&o->x, from, &windows[1]);
  window_over(&windows[is_compared ? 2 : 1], dtype, to, moved);
  window_over(&windows[3], FNZ_I64, to, o->indices);
  return pool_record(call, o, name, windows, is_compared ? o->indices ? 4 : 3 : 2,
                     o->indices ? 2 : 1);
}

static void pool_shift(int64_t *sizes, uint32_t by, int64_t filler) {
  for (uint32_t i = FNZI_POOL_MAX_SPATIAL; i-- > 0;)
    sizes[i] = i < by ? filler : sizes[i - by];
}

/* Dimensions that there are not come first: the last one is that along which elements lie. */
static void end_with_rows(fnzi_meta_pool *p) {
  uint32_t by = FNZI_POOL_MAX_SPATIAL - p->spatial;
  pool_shift(p->in, by, 1), pool_shift(p->out, by, 1), pool_shift(p->kernel, by, 1);
  pool_shift(p->stride, by, 1), pool_shift(p->padding, by, 0), pool_shift(p->dilation, by, 1);
}

static fnz_status run_largest(fnzi_krn_call *call, pool *o) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0);
  fnz_dtype dtype = self->geometry.dtype;
  const double lowest = -INFINITY;
  const int64_t least_integer = INT64_MIN;
  const void *x;
  bool done;
  end_with_rows(&o->read);
  FNZ_TRY(run_channels_last(call, o, true, &done));
  if (done)
    return FNZ_OK;
  if (fnzi_is_float(dtype)) {
    FNZ_TRY(fnzi_cpu_reals_open(call, self, fnzi_cpu_real_dtype(dtype), &o->x));
    fnzi_krn_convert_one(dtype, o->nothing, FNZ_F64, &lowest);
  } else {
    FNZ_TRY(fnzi_krn_dense_get_as(call, self, FNZ_I64, &x));
    o->int_x = x;
    fnzi_krn_convert_one(dtype, o->nothing, FNZ_I64, &least_integer);
  }
  return run_moving(call, o, max_plane, o->int_x ? "largest_integer" : "largest");
}

fnz_status fnzi_kernel_max_pool(fnzi_krn_call *call) {
  pool o = {.exact = false};
  void *indices = NULL;
  FNZ_TRY(fnzi_meta_pool_read(call, &o.read));
  if (call->noutputs > 1)
    FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_I64, &indices));
  o.indices = indices;
  return run_largest(call, &o);
}

fnz_status fnzi_kernel_adaptive_max_pool(fnzi_krn_call *call) {
  pool o = {.p = {.adaptive = true}};
  void *indices;
  FNZ_TRY(fnzi_meta_pool_read_adaptive(call, &o.read));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_I64, &indices));
  o.indices = indices;
  return run_largest(call, &o);
}

static fnz_status run_mean(fnzi_krn_call *call, pool *o) {
  bool done;
  end_with_rows(&o->read);
  FNZ_TRY(run_channels_last(call, o, false, &done));
  return done ? FNZ_OK : pool_run(call, o, mean_plane, "mean");
}

fnz_status fnzi_kernel_avg_pool(fnzi_krn_call *call) {
  pool o = {.p = {.divisor = fnzi_krn_named_int(call, "divisor_override", 0)}};
  o.p.count_padding = fnzi_krn_named_bool(call, "count_include_pad", true);
  FNZ_TRY(fnzi_meta_pool_read(call, &o.read));
  return run_mean(call, &o);
}

/* One mean of each plane is a mean over dimensions, in eager as well. */
static bool is_one_mean(const fnzi_krn_call *call, const fnzi_meta_pool *p, bool *reduced) {
  uint32_t rank = call->outputs[0]->geometry.rank;
  bool is_one = !call->record && p->planes > 0;
  for (uint32_t i = 0; i < rank; i++)
    reduced[i] = i + p->spatial >= rank;
  for (uint32_t i = 0; i < p->spatial; i++)
    is_one = is_one && p->out[i] == 1 && p->in[i] > 0;
  return is_one;
}

fnz_status fnzi_kernel_adaptive_avg_pool(fnzi_krn_call *call) {
  pool o = {.p = {.adaptive = true}};
  bool reduced[FNZ_MAX_RANK];
  FNZ_TRY(fnzi_meta_pool_read_adaptive(call, &o.read));
  return is_one_mean(call, &o.read, reduced) ? fnzi_cpu_mean(call, reduced) : run_mean(call, &o);
}

/* --- Means backwards --------------------------------------------------------------------- */
static void spread_row(const pool *o, int64_t at, int64_t count, double each) {
  float *f = o->y.f ? o->y.f + at : NULL;
  double *d = o->y.d ? o->y.d + at : NULL;
  const float first = (float)(0 + each); /* -0 becomes 0 */
  if (f && o->apart)
    for (int64_t k = 0; k < count; k++)
      f[k] = first;
  else if (f)
    for (int64_t k = 0; k < count; k++)
      f[k] = (float)((double)f[k] + each);
  else
    for (int64_t k = 0; k < count; k++)
      d[k] += each;
}

/* Every element of a window gets its share of the gradient of the window's mean. */
static void spread_mean(const pool *o, int64_t plane, int64_t to, const pool_window *w) {
  const double each = pool_is_empty(w) ? 0 : fnzi_cpu_real_at(&o->x, to) / pool_divisor(&o->p, w);
  const int64_t base = plane * o->p.in_volume, count = w->last[2] - w->first[2];
  for (int64_t i = w->first[0]; i < w->last[0]; i++)
    for (int64_t j = w->first[1]; j < w->last[1]; j++)
      spread_row(o, base + pool_cell(&o->p, i, j, w->first[2]), count, each);
}

static void pool_spread_plane(const void *user, int64_t plane, int lane) {
  const pool *o = user;
  const pooling by = {spread_mean, NULL};
  const size_t first = (size_t)(plane * o->p.in_volume), count = (size_t)o->p.in_volume;
  (void)lane;
  if (o->y.f)
    memset(o->y.f + first, 0, count * sizeof *o->y.f);
  else
    memset(o->y.d + first, 0, count * sizeof *o->y.d);
  pool_plane(o, &by, plane);
}

fnz_status fnzi_kernel_avg_pool_backward(fnzi_krn_call *call) {
  pool o = {.p = {.divisor = fnzi_krn_named_int(call, "divisor_override", 0)}};
  o.p.count_padding = fnzi_krn_named_bool(call, "count_include_pad", true);
  FNZ_TRY(fnzi_meta_pool_read(call, &o.read));
  end_with_rows(&o.read);
  return pool_run(call, &o, pool_spread_plane, "share");
}

fnz_status fnzi_kernel_adaptive_avg_pool_backward(fnzi_krn_call *call) {
  pool o = {.p = {.adaptive = true}};
  FNZ_TRY(fnzi_meta_pool_read_adaptive(call, &o.read));
  end_with_rows(&o.read);
  return pool_run(call, &o, pool_spread_plane, "share");
}

/* --- Nearest neighbour ------------------------------------------------------------------- */
static void nearest_plane(const void *user, int64_t plane, int lane) {
  const pool *o = user;
  const int64_t *sources = o->nearest[1], cell = (int64_t)o->cell;
  int64_t length = o->p.out[2], bytes = length * cell;
  unsigned char *to = o->moved + plane * o->p.out_volume * cell;
  (void)lane;
  for (int64_t i = 0; i < o->p.out[0]; i++)
    for (int64_t j = 0; j < o->p.out[1]; j++, to += bytes) {
      int64_t row = pool_cell(&o->p, o->nearest[0][i], sources[j], 0);
      const unsigned char *from = o->cells + (plane * o->p.in_volume + row) * cell;
      if (j > 0 && sources[j] == sources[j - 1])
        memcpy(to, to - bytes, (size_t)bytes);
      else
        fnzi_cpu_cells_pick(o->cell, to, from, o->nearest[2], length);
    }
}

static fnz_status nearest(fnzi_krn_call *call, bool exact) {
  pool o = {.exact = exact};
  FNZ_TRY(fnzi_meta_resample_read(call, &o.read, o.scales));
  uint32_t by = FNZI_POOL_MAX_SPATIAL - o.read.spatial;
  end_with_rows(&o.read);
  for (uint32_t i = FNZI_POOL_MAX_SPATIAL; i-- > 0;)
    o.scales[i] = i < by ? 0 : o.scales[i - by];
  take_shape(&o.read, &o.p);
  for (int i = 0; !call->record && i < FNZI_POOL_MAX_SPATIAL; i++) {
    FNZI_NEW(&call->scratch, (size_t)o.p.out[i], &o.nearest[i]);
    for (int64_t k = 0; k < o.p.out[i]; k++)
      o.nearest[i][k] = exact ? pool_nearest_exact(&o.p, i, o.scales[i], k)
                              : pool_nearest(&o.p, i, o.scales[i], k);
  }
  return run_moving(call, &o, nearest_plane, "nearest");
}

fnz_status fnzi_kernel_upsample_nearest(fnzi_krn_call *call) {
  return nearest(call, false);
}

fnz_status fnzi_kernel_upsample_nearest_exact(fnzi_krn_call *call) {
  return nearest(call, true);
}
