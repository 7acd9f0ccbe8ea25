/* boxes.c - torchvision's boxes: non-maximum suppression, and pooling of regions of images.
 *
 * Corners are computed in the type of the elements, each step rounded, as whether boxes overlap too
 * much and how many places a region has depend on the last bit. */
#include "kernels/cpu/sort.h"
#include "kernels/cpu/special_reals.h"
#include "kernels/meta/boxes.h"

#include <math.h>

/* --- nms ---------------------------------------------------------------------------------- */
/* Boxes by falling score, each coordinate a row of `count`. */
typedef struct ranked {
  int64_t count;
  fnzi_cpu_pair *order;
  fnzi_cpu_reals_out x1, y1, x2, y2, area;
  uint8_t *gone;
} ranked;

static fnz_status open_boxes(fnzi_krn_call *call, ranked *r) {
  const fnzi_krn_array *dets = fnzi_krn_call_input(call, 0);
  const fnz_dtype dtype = dets->geometry.dtype;
  fnzi_cpu_reals boxes, scores;
  r->count = dets->geometry.sizes[0];
  FNZ_TRY(fnzi_cpu_reals_open(call, dets, dtype, &boxes));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 1), dtype, &scores));
  FNZI_NEW(&call->scratch, (size_t)r->count * 2, &r->order);
  for (int64_t i = 0; i < r->count; i++)
    r->order[i] = (fnzi_cpu_pair){~fnzi_cpu_real_key(fnzi_cpu_real_at(&scores, i)), i};
  r->order = fnzi_cpu_sort_pairs(r->order, r->count);
  FNZI_NEW(&call->scratch, (size_t)r->count, &r->gone);
  if (r->count)
    memset(r->gone, 0, (size_t)r->count);
  fnzi_cpu_reals_out *const rows[] = {&r->x1, &r->y1, &r->x2, &r->y2, &r->area};
  for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
    FNZ_TRY(fnzi_cpu_reals_scratch(call, dtype, r->count, rows[k]));
  for (int64_t i = 0; i < r->count; i++) {
    double at[4];
    fnzi_cpu_reals_load(&boxes, 4 * r->order[i].place, 1, 4, at);
    for (int k = 0; k < 4; k++)
      fnzi_cpu_real_put(rows[k], i, at[k]);
    fnzi_cpu_real_put(&r->area, i,
                      fnzi_cpu_real_round(&boxes, at[2] - at[0]) *
                          fnzi_cpu_real_round(&boxes, at[3] - at[1]));
  }
  return FNZ_OK;
}

/* Marks what overlaps box i, behind it, by more than `most` of both together. Comparisons are such
 * that a NaN does as in C++'s max and min. */
#define MARK(T, field)                                                                             \
  static void mark_##field(const ranked *r, int64_t i, double most) {                              \
    const T *x1 = r->x1.field, *y1 = r->y1.field, *x2 = r->x2.field, *y2 = r->y2.field;            \
    const T *area = r->area.field, left = x1[i], top = y1[i], right = x2[i], low = y2[i];          \
    const T own = area[i];                                                                         \
    uint8_t *gone = r->gone;                                                                       \
    for (int64_t k = i + 1; k < r->count; k++) {                                                   \
      const T wide = (x2[k] < right ? x2[k] : right) - (left < x1[k] ? x1[k] : left);              \
      const T high = (y2[k] < low ? y2[k] : low) - (top < y1[k] ? y1[k] : top);                    \
      const T both = (0 < wide ? wide : 0) * (0 < high ? high : 0);                                \
      gone[k] |= (double)(both / (own + area[k] - both)) > most;                                   \
    }                                                                                              \
  }
MARK(float, f)
MARK(double, d)
#undef MARK

/* The result: only now its size is known. */
static fnz_status give_places(fnzi_krn_call *call, const int64_t *places, int64_t count) {
  void *out;
  FNZ_TRY(fnzi_shape_add(call, FNZ_I64, 1, &count, NULL));
  FNZ_TRY(fnzi_krn_array_allocate(call->ctx, call->outputs[0], false));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_I64, &out));
  if (count)
    memcpy(out, places, (size_t)count * sizeof *places);
  return FNZ_OK;
}

fnz_status fnzi_kernel_nms(fnzi_krn_call *call) {
  double most = fnzi_krn_named_float(call, "iou_threshold", 0);
  int64_t *places, count = 0;
  ranked r = {0};
  FNZ_TRY(open_boxes(call, &r));
  FNZI_NEW(&call->scratch, (size_t)r.count, &places);
  for (int64_t i = 0; i < r.count; i++) {
    if (r.gone[i])
      continue;
    places[count++] = r.order[i].place;
    if (r.x1.f)
      mark_f(&r, i, most);
    else
      mark_d(&r, i, most);
  }
  return give_places(call, places, count);
}

/* --- Regions ------------------------------------------------------------------------------ */
typedef struct regions {
  fnzi_meta_rois m;
  double scale;
  fnzi_cpu_reals x, rois;
  fnzi_cpu_reals_out y;
  /* roi_align */
  bool aligned;
  int64_t ratio;    /* places per bin each way; not positive: as many as elements */
  struct tap *taps; /* per lane: those down, then those across */
  int64_t taps_each[2];
  /* roi_pool */
  int32_t *argmax;
} regions;

static fnz_status open_regions(fnzi_krn_call *call, regions *r) {
  const fnz_dtype dtype = fnzi_cpu_real_dtype(fnzi_krn_call_geometry(call, 0)->dtype);
  FNZ_TRY(fnzi_meta_rois_read(call, &r->m));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), dtype, &r->x));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 1), dtype, &r->rois));
  r->scale = fnzi_cpu_real_round(&r->rois, fnzi_krn_named_float(call, "spatial_scale", 1));
  for (int64_t i = 0; i < r->m.count; i++) {
    double image = fnzi_cpu_real_at(&r->rois, 5 * i);
    if (!(image > -1 && image < (double)r->m.batch))
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS,
                                  "region %lld is of image %g; there are %lld", (long long)i, image,
                                  (long long)r->m.batch);
  }
  return fnzi_cpu_reals_result(call, 0, dtype, &r->y);
}

/* The index of the first element of a region's image. */
static int64_t image_of(const regions *r, int64_t roi) {
  int64_t image = (int64_t)fnzi_cpu_real_at(&r->rois, 5 * roi);
  return image * r->m.channels * r->m.in[0] * r->m.in[1];
}

/* --- roi_align ----------------------------------------------------------------------------- */
/* One place of a line of an image: between two elements, with their weights; none outside. */
typedef struct tap {
  int64_t low, high;
  double low_weight, high_weight;
  bool is_inside;
} tap;

/* How a region lies along an axis, 0 down and 1 across. */
typedef struct span {
  double start, bin;
  int64_t places; /* per bin */
} span;

static double boxes_rounded(const regions *r, double x) {
  return fnzi_cpu_real_round(&r->rois, x);
}

static span span_of(const regions *r, int64_t roi, int axis) {
  double offset = r->aligned ? 0.5 : 0, ends[2];
  for (int k = 0; k < 2; k++)
    ends[k] = boxes_rounded(
        r, boxes_rounded(r, fnzi_cpu_real_at(&r->rois, 5 * roi + 2 * k + 2 - axis) * r->scale) -
               offset);
  double length = boxes_rounded(r, ends[1] - ends[0]);
  if (!r->aligned && length < 1)
    length = 1;
  double bin = boxes_rounded(r, length / (double)r->m.out[axis]);
  span s = {.start = ends[0], .bin = bin, .places = r->ratio};
  if (r->ratio <= 0)
    s.places = bin > 0 ? bin < 1e9 ? (int64_t)ceil(bin) : 1000000000 : 0;
  return s;
}

static tap tap_at(const regions *r, const span *s, int axis, int64_t bin, int64_t place) {
  int64_t size = r->m.in[axis];
  double inner =
      boxes_rounded(r, boxes_rounded(r, ((double)place + 0.5) * s->bin) / (double)s->places);
  double at =
      boxes_rounded(r, boxes_rounded(r, s->start + boxes_rounded(r, (double)bin * s->bin)) + inner);
  if (!size || !(at >= -1 && at <= (double)size))
    return (tap){.is_inside = false};
  at = at <= 0 ? 0 : at;
  tap t = {.low = (int64_t)at, .is_inside = true};
  if (t.low >= size - 1)
    at = (double)(t.low = size - 1);
  t.high = t.low < size - 1 ? t.low + 1 : t.low;
  t.high_weight = boxes_rounded(r, at - (double)t.low);
  t.low_weight = boxes_rounded(r, 1 - t.high_weight);
  return t;
}

static void fill_taps(const regions *r, const span *s, int axis, tap *out) {
  for (int64_t bin = 0; bin < r->m.out[axis]; bin++)
    for (int64_t place = 0; place < s->places; place++)
      *out++ = tap_at(r, s, axis, bin, place);
}

/* Four elements around one place, and their weights. */
typedef struct spot {
  int64_t at[4];
  float f[4];
  double d[4];
} spot;

/* Places of bins one after another; bin[k] has the spots from end[k - 1] to below end[k]. */
enum { SPOTS = 256 };
typedef struct spots {
  int count, bins, end[SPOTS];
  int64_t bin[SPOTS];
  spot of[SPOTS];
} spots;

static spot spot_at(const regions *r, const tap *v, const tap *h) {
  const int64_t rows[] = {v->low, v->high}, columns[] = {h->low, h->high};
  const double down[] = {v->low_weight, v->high_weight}, across[] = {h->low_weight, h->high_weight};
  spot s;
  for (int k = 0; k < 4; k++) {
    s.at[k] = rows[k / 2] * r->m.in[1] + columns[k % 2];
    s.d[k] = boxes_rounded(r, down[k / 2] * across[k % 2]);
    s.f[k] = (float)s.d[k];
  }
  return s;
}

/* Adds the values at the spots to the bins' sums, which begin at `to`, channel by channel. */
#define ADD_SPOTS(T, field)                                                                        \
  static void add_spots_##field(const regions *r, const spots *s, int64_t from, int64_t to) {      \
    int64_t plane = r->m.in[0] * r->m.in[1], bins = r->m.out[0] * r->m.out[1];                     \
    const T *x = r->x.field + from;                                                                \
    T *y = r->y.field + to;                                                                        \
    for (int64_t c = 0; c < r->m.channels; c++, x += plane, y += bins)                             \
      for (int b = 0, k = 0; b < s->bins; b++) {                                                   \
        T sum = y[s->bin[b]];                                                                      \
        for (; k < s->end[b]; k++) {                                                               \
          const spot *p = &s->of[k];                                                               \
          sum += p->field[0] * x[p->at[0]] + p->field[1] * x[p->at[1]] +                           \
                 p->field[2] * x[p->at[2]] + p->field[3] * x[p->at[3]];                            \
        }                                                                                          \
        y[s->bin[b]] = sum;                                                                        \
      }                                                                                            \
  }
ADD_SPOTS(float, f)
ADD_SPOTS(double, d)
#undef ADD_SPOTS

static void add_spots(const regions *r, spots *s, int64_t from, int64_t to) {
  if (r->x.f)
    add_spots_f(r, s, from, to);
  else
    add_spots_d(r, s, from, to);
  s->count = s->bins = 0;
}

/* Places of a bin along one axis, and the taps of the places of all bins. */
typedef struct side {
  int64_t places;
  const tap *taps;
} side;

/* Sums of all bins. */
static void sum_region(const regions *r, side v, side h, int64_t from, int64_t to) {
  int64_t all = v.places * h.places;
  spots s;
  s.count = s.bins = 0;
  for (int64_t bin = 0; bin < r->m.out[0] * r->m.out[1]; bin++)
    for (int64_t k = 0; k < all; k++) {
      const tap *i = &v.taps[bin / r->m.out[1] * v.places + k / h.places];
      const tap *j = &h.taps[bin % r->m.out[1] * h.places + k % h.places];
      if (!i->is_inside || !j->is_inside)
        continue;
      if (!s.bins || s.bin[s.bins - 1] != bin)
        s.bin[s.bins++] = bin;
      s.of[s.count++] = spot_at(r, i, j);
      s.end[s.bins - 1] = s.count;
      if (s.count == SPOTS)
        add_spots(r, &s, from, to);
    }
  add_spots(r, &s, from, to);
}

static void align_region(const void *user, int64_t roi, int lane) {
  const regions *r = user;
  const fnzi_cpu_reals y = fnzi_cpu_reals_read(&r->y);
  const span v = span_of(r, roi, 0), h = span_of(r, roi, 1);
  tap *down = r->taps + (int64_t)lane * (r->taps_each[0] + r->taps_each[1]),
      *across = down + r->taps_each[0];
  int64_t size = r->m.channels * r->m.out[0] * r->m.out[1], to = roi * size;
  int64_t all = v.places * h.places;
  fill_taps(r, &v, 0, down);
  fill_taps(r, &h, 1, across);
  for (int64_t i = to; i < to + size; i++)
    fnzi_cpu_real_put(&r->y, i, 0);
  sum_region(r, (side){v.places, down}, (side){h.places, across}, image_of(r, roi), to);
  for (int64_t i = to; i < to + size; i++)
    fnzi_cpu_real_put(&r->y, i, fnzi_cpu_real_at(&y, i) / (double)(all > 1 ? all : 1));
}

fnz_status fnzi_kernel_roi_align(fnzi_krn_call *call) {
  regions r = {.aligned = fnzi_krn_named_bool(call, "aligned", false),
               .ratio = fnzi_krn_named_int(call, "sampling_ratio", -1)};
  if (!fnzi_krn_array_numel(call->outputs[0]))
    return FNZ_OK;
  FNZ_TRY(open_regions(call, &r));
  for (int axis = 0; axis < 2; axis++) /* room for the taps of any region */
    for (int64_t roi = 0; roi < r.m.count; roi++) {
      const span s = span_of(&r, roi, axis);
      int64_t taps;
      if (!fnzi_mul_i64(s.places, r.m.out[axis], &taps) || taps > INT64_C(1) << 28)
        return fnzi_krn_call_refuse(call, FNZ_CLASS_LIMIT,
                                    "region %lld has %lld places in each bin, more than fit",
                                    (long long)roi, (long long)s.places);
      r.taps_each[axis] = taps > r.taps_each[axis] ? taps : r.taps_each[axis];
    }
  FNZI_NEW(&call->scratch, (size_t)(r.taps_each[0] + r.taps_each[1]) * (size_t)fnzi_cpu_lanes(call),
           &r.taps);
  fnzi_cpu_rows_each(call, r.m.count, align_region, &r);
  return FNZ_OK;
}

/* --- roi_pool ------------------------------------------------------------------------------ */
/* The elements of bin i of a region along an axis: from the first one up to, not with, the second.
 */
static void bin_of(const regions *r, int64_t roi, int axis, int64_t i, int64_t out[2]) {
  double size = (double)r->m.in[axis], ends[2];
  for (int k = 0; k < 2; k++)
    ends[k] =
        round(boxes_rounded(r, fnzi_cpu_real_at(&r->rois, 5 * roi + 2 * k + 2 - axis) * r->scale));
  double length = ends[1] - ends[0] + 1;
  double bin = boxes_rounded(r, (length >= 1 ? length : 1) / (double)r->m.out[axis]);
  for (int k = 0; k < 2; k++) {
    double edge = boxes_rounded(r, (double)(i + k) * bin);
    edge = (k ? ceil(edge) : floor(edge)) + ends[0];
    out[k] = (int64_t)(edge > 0 ? edge < size ? edge : size : 0);
  }
}

static void pool_bin(const regions *r, int64_t from, const int64_t v[2], const int64_t h[2],
                     int64_t to) {
  bool is_empty = v[1] <= v[0] || h[1] <= h[0];
  double most = is_empty ? 0 : -3.4028234663852886e38;
  int64_t place = -1;
  for (int64_t i = v[0]; i < v[1]; i++)
    for (int64_t j = h[0]; j < h[1]; j++) {
      double x = fnzi_cpu_real_at(&r->x, from + i * r->m.in[1] + j);
      if (x > most)
        most = x, place = i * r->m.in[1] + j;
    }
  fnzi_cpu_real_put(&r->y, to, most);
  r->argmax[to] = (int32_t)place;
}

static void pool_region(const void *user, int64_t roi, int lane) {
  const regions *r = user;
  int64_t plane = r->m.in[0] * r->m.in[1], bins = r->m.out[0] * r->m.out[1];
  (void)lane;
  for (int64_t bin = 0; bin < bins; bin++) {
    int64_t v[2], h[2], from = image_of(r, roi);
    bin_of(r, roi, 0, bin / r->m.out[1], v);
    bin_of(r, roi, 1, bin % r->m.out[1], h);
    for (int64_t c = 0; c < r->m.channels; c++, from += plane)
      pool_bin(r, from, v, h, (roi * r->m.channels + c) * bins + bin);
  }
}

fnz_status fnzi_kernel_roi_pool(fnzi_krn_call *call) {
  regions r = {0};
  void *argmax;
  if (!fnzi_krn_array_numel(call->outputs[0]))
    return FNZ_OK;
  FNZ_TRY(open_regions(call, &r));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_I32, &argmax));
  r.argmax = argmax;
  fnzi_cpu_rows_each(call, r.m.count, pool_region, &r);
  return FNZ_OK;
}
