/* pool_values.h - which elements sliding windows see, means of them, and nearest neighbours: text
 * for the CPU and for a GPU. The includer defines VALUE, fnzi_cpu_reals of special_reals.h, and
 * INTEGERS with integer_at(), which are elements of 64 bits.
 *
 * Dimensions that there are not are of size 1. */

/* Integers alone, which a GPU gets one by one. */
typedef struct pool_shape {
  int64_t in[3], out[3], kernel[3], stride[3], padding[3], dilation[3];
  int64_t in_volume, out_volume;
  int64_t adaptive, count_padding;
  int64_t divisor; /* 0: the number of elements */
} pool_shape;

/* A window: from `first` to before `last` by `step`, in each dimension. */
typedef struct pool_window {
  int64_t first[3], last[3], step[3];
  int64_t padded; /* elements with those in the padding */
} pool_window;

VALUE void pool_places(const int64_t *sizes, int64_t at, int64_t *out) {
  out[0] = at / (sizes[1] * sizes[2]);
  out[1] = at / sizes[2] % sizes[1];
  out[2] = at % sizes[2];
}

VALUE int64_t pool_least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

VALUE void pool_clip(const pool_shape *p, const int64_t *place, pool_window *w) {
  w->padded = 1;
  for (int i = 0; i < 3; i++) {
    int64_t first = place[i] * p->stride[i] - p->padding[i];
    int64_t last = first + (p->kernel[i] - 1) * p->dilation[i] + 1;
    w->padded *= pool_least(last, p->in[i] + p->padding[i]) - first;
    if (first < 0)
      first += (-first + p->dilation[i] - 1) / p->dilation[i] * p->dilation[i];
    w->first[i] = first, w->last[i] = pool_least(last, p->in[i]);
    w->step[i] = pool_least(p->dilation[i], p->in[i] + 1); /* over the end, not over 64 bits */
  }
}

/* Windows that tile the input as evenly as whole elements allow. */
VALUE void pool_divide(const pool_shape *p, const int64_t *place, pool_window *w) {
  w->padded = 1;
  for (int i = 0; i < 3; i++) {
    w->first[i] = place[i] * p->in[i] / p->out[i];
    w->last[i] = ((place[i] + 1) * p->in[i] + p->out[i] - 1) / p->out[i];
    w->step[i] = 1;
  }
}

VALUE void pool_window_at(const pool_shape *p, const int64_t *place, pool_window *w) {
  if (p->adaptive)
    pool_divide(p, place, w);
  else
    pool_clip(p, place, w);
}

/* The window that element `at` of a pooled plane stands for. */
VALUE void pool_window_of(const pool_shape *p, int64_t at, pool_window *w) {
  int64_t place[3];
  pool_places(p->out, at, place);
  pool_window_at(p, place, w);
}

/* Dilation can step over a small input altogether. */
VALUE bool pool_is_empty(const pool_window *w) {
  return w->first[0] >= w->last[0] || w->first[1] >= w->last[1] || w->first[2] >= w->last[2];
}

/* The divisor of the sum of a window: windows of means step by 1. */
VALUE double pool_divisor(const pool_shape *p, const pool_window *w) {
  int64_t count = 1;
  for (int i = 0; i < 3; i++)
    count *= w->last[i] - w->first[i];
  return (double)(p->divisor ? p->divisor : p->count_padding ? w->padded : count);
}

VALUE int64_t pool_cell(const pool_shape *p, int64_t i, int64_t j, int64_t k) {
  return (i * p->in[1] + j) * p->in[2] + k;
}

VALUE double pool_sum(const pool_shape *p, const fnzi_cpu_reals *x, int64_t base,
                      const pool_window *w) {
  double sum = 0;
  for (int64_t i = w->first[0]; i < w->last[0]; i++)
    for (int64_t j = w->first[1]; j < w->last[1]; j++)
      for (int64_t k = w->first[2]; k < w->last[2]; k++)
        sum += fnzi_cpu_real_at(x, base + pool_cell(p, i, j, k));
  return sum;
}

/* The mean for result `at` of a plane. */
VALUE double pool_mean(const pool_shape *p, const fnzi_cpu_reals *x, int64_t plane, int64_t at) {
  pool_window w;
  pool_window_of(p, at, &w);
  return pool_is_empty(&w) ? 0 : pool_sum(p, x, plane * p->in_volume, &w) / pool_divisor(p, &w);
}

/* --- The largest ------------------------------------------------------------------------- */
VALUE bool pool_larger(const fnzi_cpu_reals *x, INTEGERS integers, int64_t at, int64_t best) {
  if (integers)
    return integer_at(integers, at) > integer_at(integers, best);
  double a = fnzi_cpu_real_at(x, at), b = fnzi_cpu_real_at(x, best);
  return a > b || a != a;
}

/* The last NaN wins, else the first of the largest, as in eager; of integers, or of x. */
VALUE int64_t pool_largest(const pool_shape *p, const fnzi_cpu_reals *x, INTEGERS integers,
                           int64_t base, const pool_window *w) {
  int64_t best = base + pool_cell(p, w->first[0], w->first[1], w->first[2]);
  for (int64_t i = w->first[0]; i < w->last[0]; i += w->step[0])
    for (int64_t j = w->first[1]; j < w->last[1]; j += w->step[1])
      for (int64_t k = w->first[2]; k < w->last[2]; k += w->step[2])
        if (pool_larger(x, integers, base + pool_cell(p, i, j, k), best))
          best = base + pool_cell(p, i, j, k);
  return best;
}

/* --- Means backwards --------------------------------------------------------------------- */
/* The windows that have place `at` of a dimension are among those from *first to before *last. */
VALUE void pool_seen_by(const pool_shape *p, int i, int64_t at, int64_t *first, int64_t *last) {
  if (p->adaptive) {
    *first = at * p->out[i] / p->in[i];
    *last = ((at + 1) * p->out[i] + p->in[i] - 1) / p->in[i];
    return;
  }
  int64_t end = at + p->padding[i], start = end - p->kernel[i] + 1;
  *first = start <= 0 ? 0 : (start + p->stride[i] - 1) / p->stride[i];
  *last = pool_least(end / p->stride[i] + 1, p->out[i]);
}

VALUE bool pool_has(const pool_window *w, const int64_t *place) {
  bool has = true;
  for (int i = 0; i < 3; i++)
    has = has && place[i] >= w->first[i] && place[i] < w->last[i];
  return has;
}

/* The gradient of input `at` of all planes: the sum of its shares of all means that it is in, in
 * the order of the means. The CPU goes from means to inputs, which is the same order (pool.c). */
VALUE double pool_share(const pool_shape *p, const fnzi_cpu_reals *x, int64_t at) {
  int64_t place[3], first[3], last[3], plane = at / p->in_volume;
  double sum = 0;
  pool_places(p->in, at % p->in_volume, place);
  for (int i = 0; i < 3; i++)
    pool_seen_by(p, i, place[i], &first[i], &last[i]);
  for (int64_t i = first[0]; i < last[0]; i++)
    for (int64_t j = first[1]; j < last[1]; j++)
      for (int64_t k = first[2]; k < last[2]; k++) {
        const int64_t mean[] = {i, j, k};
        int64_t from = ((plane * p->out[0] + i) * p->out[1] + j) * p->out[2] + k;
        pool_window w;
        pool_window_at(p, mean, &w);
        if (pool_has(&w, place))
          sum = fnzi_cpu_real_round(x, sum + fnzi_cpu_real_at(x, from) / pool_divisor(p, &w));
      }
  return sum;
}

/* --- Nearest neighbours ------------------------------------------------------------------ */
/* Elements of the input per element of the result, in float arithmetic as eager does; a factor that
 * was given is used as it is. */
VALUE float pool_step(const pool_shape *p, int axis, double factor) {
  return factor > 0 ? (float)(1.0 / factor) : (float)p->in[axis] / (float)p->out[axis];
}

/* The element that holds a place, also where a factor makes that no number. */
VALUE int64_t pool_element(float place, int64_t size) {
  place = floorf(place);
  return place < (float)(size - 1) ? (int64_t)place : size - 1;
}

/* floor(place * in / out) */
VALUE int64_t pool_nearest(const pool_shape *p, int axis, double factor, int64_t place) {
  if (p->in[axis] == p->out[axis])
    return place;
  return pool_element((float)place * pool_step(p, axis, factor), p->in[axis]);
}

/* The one whose middle is nearest: floor((place + 1/2) in / out). */
VALUE int64_t pool_nearest_exact(const pool_shape *p, int axis, double factor, int64_t place) {
  double middle = ((double)place + 0.5) * (double)pool_step(p, axis, factor);
  return pool_element((float)middle, p->in[axis]);
}

/* The index of the source of result `at` of a plane; `factors` of three dimensions, 0 for none. */
VALUE int64_t pool_nearest_at(const pool_shape *p, const double *factors, bool exact, int64_t plane,
                              int64_t at) {
  int64_t place[3];
  pool_places(p->out, at, place);
  for (int i = 0; i < 3; i++)
    place[i] = exact ? pool_nearest_exact(p, i, factors[i], place[i])
                     : pool_nearest(p, i, factors[i], place[i]);
  return plane * p->in_volume + pool_cell(p, place[0], place[1], place[2]);
}
