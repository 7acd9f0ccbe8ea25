/* resample_values.h - images at places between their elements: text for the CPU and for a GPU. The
 * includer defines VALUE, and fnzi_cpu_reals of special_reals.h. Places are computed in f32 unless
 * elements are f64 (`wide`). */
enum { MOST_TAPS = 4 };

/* The elements read for one place along one dimension. */
typedef struct taps {
  int count;
  int64_t at[MOST_TAPS];
  double weight[MOST_TAPS];
} taps;

VALUE double rounded(bool wide, double x) {
  return wide ? x : (double)(float)x;
}

VALUE int64_t clamped(int64_t x, int64_t last) {
  return x < 0 ? 0 : x > last ? last : x;
}

/* The cubic convolution with a = -3/4, for elements at -1, 0, 1 and 2 from the one below. */
VALUE void cubic_weights(bool wide, double t, double *out) {
  const double a = -0.75, distance[] = {t + 1, t, 1 - t, 2 - t};
  for (int i = 0; i < 4; i++) {
    double x = rounded(wide, distance[i]);
    bool is_near = i == 1 || i == 2;
    out[i] = rounded(wide, is_near ? ((a + 2) * x - (a + 3)) * x * x + 1
                                   : ((a * x - 5 * a) * x + 8 * a) * x - 4 * a);
  }
}

/* --- To another size --------------------------------------------------------------------- */
/* Integers alone, which a GPU gets one by one. */
typedef struct resampling {
  int64_t in[3], out[3];
  int64_t spatial, wide, align, cubic;
} resampling;

/* Elements of the input for one of the result; `scale` 0: none was given. */
VALUE double resample_step(const resampling *r, double scale, int axis) {
  double in = (double)r->in[axis], out = (double)r->out[axis];
  if (r->align)
    return out > 1 ? rounded(r->wide, (in - 1) / (out - 1)) : 0;
  return rounded(r->wide, scale > 0 ? 1 / scale : in / out);
}

VALUE double resample_place(const resampling *r, double step, int64_t to) {
  if (r->align)
    return rounded(r->wide, step * (double)to);
  double place = rounded(r->wide, step * ((double)to + 0.5));
  place = rounded(r->wide, place - 0.5);
  return place < 0 && !r->cubic ? 0 : place;
}

/* `step`: by resample_step(). A dimension that keeps its size, or is not there, is read as it is.
 */
VALUE void find_taps(const resampling *r, double step, int axis, int64_t to, taps *out) {
  int64_t last = r->in[axis] - 1;
  out->count = 1;
  out->at[0] = to;
  out->weight[0] = 1;
  if (axis >= r->spatial || (r->in[axis] == r->out[axis] && !r->cubic))
    return;
  double place = resample_place(r, step, to), below = floor(place);
  int64_t first = below > (double)last ? last : (int64_t)below;
  double t = rounded(r->wide, place - (double)first);
  t = t < 0 ? 0 : t > 1 ? 1 : t;
  out->count = r->cubic ? 4 : 2;
  for (int i = 0; i < out->count; i++)
    out->at[i] = r->cubic ? clamped(first - 1 + i, last) : i ? clamped(first + 1, last) : first;
  if (r->cubic) {
    cubic_weights(r->wide, t, out->weight);
    return;
  }
  out->weight[0] = rounded(r->wide, 1 - t);
  out->weight[1] = t;
}

VALUE double blend(const resampling *r, const fnzi_cpu_reals *x, int64_t base, const taps *a,
                   const taps *b, const taps *c) {
  double sum = 0;
  for (int i = 0; i < a->count; i++) {
    double plane = 0;
    for (int j = 0; j < b->count; j++) {
      int64_t row = base + (a->at[i] * r->in[1] + b->at[j]) * r->in[2];
      double line = 0;
      for (int k = 0; k < c->count; k++)
        line += c->weight[k] * fnzi_cpu_real_at(x, row + c->at[k]);
      plane += b->weight[j] * line;
    }
    sum += a->weight[i] * plane;
  }
  return sum;
}

/* --- At given places --------------------------------------------------------------------- */
enum { BILINEAR, NEAREST, BICUBIC };
enum { ZEROS, BORDER, REFLECTION };

/* Integers alone, likewise. `spatial`: 2 of images, 3 of volumes. */
typedef struct sampler {
  int64_t mode, padding, align, wide;
  int64_t channels, in[3], count; /* count: places of one image */
  int64_t spatial;
} sampler;

/* From -1 ... 1 to elements. */
VALUE double element_of(const sampler *s, double x, int64_t size) {
  double half = rounded(s->wide, (double)(s->align ? size - 1 : size) / 2);
  x = rounded(s->wide, rounded(s->wide, x + 1) * half);
  return s->align ? x : rounded(s->wide, x - 0.5);
}

VALUE double reflect(const sampler *s, double x, int64_t size) {
  double low = s->align ? 0 : -0.5, span = (double)(s->align ? size - 1 : size);
  if (span == 0)
    return 0;
  x = fabs(x - low);
  double rest = fmod(x, span);
  return fmod(floor(x / span), 2) == 0 ? rest + low : span - rest + low;
}

/* Applies padding to a place. NaN goes to 0. */
VALUE double inside(const sampler *s, double x, int64_t size) {
  double last = (double)(size - 1);
  if (s->padding == ZEROS)
    return x;
  if (s->padding == REFLECTION)
    x = rounded(s->wide, reflect(s, x, size));
  return x > 0 ? (x < last ? x : last) : 0;
}

/* The elements read for one place of an image: `side` by `side` elements, by their indices in the
 * plane of a channel; -1 beyond the image, where the value is 0. */
typedef struct spot {
  int64_t side;
  double by_y[MOST_TAPS], by_x[MOST_TAPS];
  int64_t at[MOST_TAPS * MOST_TAPS];
} spot;

VALUE int64_t element_place(const sampler *s, double y, double x) {
  bool there = y >= 0 && y < (double)s->in[0] && x >= 0 && x < (double)s->in[1];
  return there ? (int64_t)y * s->in[1] + (int64_t)x : -1;
}

VALUE void find_linear(const sampler *s, double y, double x, spot *out) {
  double top = floor(y), left = floor(x), dy = y - top, dx = x - left;
  out->side = 2;
  out->by_y[0] = 1 - dy, out->by_y[1] = dy;
  out->by_x[0] = 1 - dx, out->by_x[1] = dx;
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 2; k++)
      out->at[2 * i + k] = element_place(s, top + i, left + k);
}

VALUE void find_cubic(const sampler *s, double y, double x, spot *out) {
  double top = floor(y), left = floor(x);
  out->side = 4;
  cubic_weights(s->wide, y - top, out->by_y);
  cubic_weights(s->wide, x - left, out->by_x);
  for (int i = 0; i < 4; i++) {
    double row = inside(s, top - 1 + i, s->in[0]);
    for (int k = 0; k < 4; k++)
      out->at[4 * i + k] = element_place(s, row, inside(s, left - 1 + k, s->in[1]));
  }
}

VALUE void find_spot(const sampler *s, double y, double x, spot *out) {
  y = element_of(s, y, s->in[0]), x = element_of(s, x, s->in[1]);
  if (s->mode == BICUBIC) {
    find_cubic(s, y, x, out);
    return;
  }
  y = inside(s, y, s->in[0]), x = inside(s, x, s->in[1]);
  if (s->mode != NEAREST) {
    find_linear(s, y, x, out);
    return;
  }
  out->side = 1;
  out->at[0] = element_place(s, rint(y), rint(x));
}

VALUE double element_at(const fnzi_cpu_reals *in, int64_t plane, int64_t at) {
  return at < 0 ? 0 : fnzi_cpu_real_at(in, plane + at);
}

/* `plane`: where that of the channel begins. */
VALUE double sum_linear(const spot *p, const fnzi_cpu_reals *in, int64_t plane) {
  return element_at(in, plane, p->at[0]) * p->by_y[0] * p->by_x[0] +
         element_at(in, plane, p->at[1]) * p->by_y[0] * p->by_x[1] +
         element_at(in, plane, p->at[2]) * p->by_y[1] * p->by_x[0] +
         element_at(in, plane, p->at[3]) * p->by_y[1] * p->by_x[1];
}

VALUE double sum_cubic(const spot *p, const fnzi_cpu_reals *in, int64_t plane) {
  double sum = 0;
  for (int i = 0; i < 4; i++) {
    double line = 0;
    for (int k = 0; k < 4; k++)
      line += p->by_x[k] * element_at(in, plane, p->at[4 * i + k]);
    sum += p->by_y[i] * line;
  }
  return sum;
}

VALUE double read_nearest(const spot *p, const fnzi_cpu_reals *in, int64_t plane) {
  return element_at(in, plane, p->at[0]);
}

VALUE double sum_spot(const spot *p, const fnzi_cpu_reals *in, int64_t plane) {
  if (p->side == 1)
    return read_nearest(p, in, plane);
  return p->side == 2 ? sum_linear(p, in, plane) : sum_cubic(p, in, plane);
}

/* The elements read for one place of a volume, likewise. `count`: 8, or 1 where the value is the
 * element. */
typedef struct corners {
  int64_t count, at[8];
  double weight[8];
} corners;

VALUE int64_t voxel_place(const sampler *s, const double *at) {
  int64_t place = 0;
  for (int i = 0; i < 3; i++) {
    if (!(at[i] >= 0 && at[i] < (double)s->in[i]))
      return -1;
    place = place * s->in[i] + (int64_t)at[i];
  }
  return place;
}

VALUE void find_corners(const sampler *s, const double *place, corners *out) {
  double low[3], rest[3];
  for (int i = 0; i < 3; i++) {
    double x = inside(s, element_of(s, place[i], s->in[i]), s->in[i]);
    low[i] = s->mode == NEAREST ? rint(x) : floor(x);
    rest[i] = x - low[i];
  }
  out->count = s->mode == NEAREST ? 1 : 8;
  for (int corner = 0; corner < out->count; corner++) {
    double at[3], weight = 1;
    for (int i = 0; i < 3; i++) {
      bool up = corner >> (2 - i) & 1;
      at[i] = low[i] + up;
      weight *= up ? rest[i] : 1 - rest[i];
    }
    out->at[corner] = voxel_place(s, at);
    out->weight[corner] = weight;
  }
}

/* `volume`: where that of the channel begins. */
VALUE double sum_corners(const corners *p, const fnzi_cpu_reals *in, int64_t volume) {
  double sum = 0;
  if (p->count == 1)
    return element_at(in, volume, p->at[0]);
  for (int corner = 0; corner < 8; corner++)
    sum += element_at(in, volume, p->at[corner]) * p->weight[corner];
  return sum;
}

/* Place `at` of all images by the grid, which says x first; images have it last. */
VALUE void grid_place(const sampler *s, const fnzi_cpu_reals *grid, int64_t at, double *out) {
  for (int k = 0; k < s->spatial; k++)
    out[k] = fnzi_cpu_real_at(grid, s->spatial * at + s->spatial - 1 - k);
}

/* Result `at` of all planes. */
VALUE double sample_at(const sampler *s, const fnzi_cpu_reals *in, const fnzi_cpu_reals *grid,
                       int64_t at) {
  int64_t plane = at / s->count;
  double place[3];
  spot p;
  corners c;
  grid_place(s, grid, plane / s->channels * s->count + at % s->count, place);
  if (s->spatial == 3) {
    find_corners(s, place, &c);
    return sum_corners(&c, in, plane * s->in[0] * s->in[1] * s->in[2]);
  }
  find_spot(s, place[0], place[1], &p);
  return sum_spot(&p, in, plane * s->in[0] * s->in[1]);
}
