/* resize.c - images to another size with a filter that is as wide as what is left out, as two
 * matrix products; and pooling undone by the places it kept. */
#include "kernels/decomp/decomp.h"
#include "kernels/meta/pool.h"

#include <math.h>

/* --- Filters ----------------------------------------------------------------------------- */
typedef double filter_fn(double x);

static double triangle(double x) {
  return fabs(x) < 1 ? 1 - fabs(x) : 0;
}

/* The cubic convolution with a = -1/2. */
static double cubic(double x) {
  const double a = -0.5;
  x = fabs(x);
  if (x < 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? (((x - 5) * x + 8) * x - 4) * a : 0;
}

static double sinc(double x) {
  const double pi = 3.14159265358979323846;
  return x == 0 ? 1 : sin(pi * x) / (pi * x);
}

static double lanczos(double x) {
  return fabs(x) < 3 ? sinc(x) * sinc(x / 3) : 0;
}

typedef struct axis {
  filter_fn *filter;
  double radius; /* of the filter */
  int64_t in, out;
  double scale; /* elements of the input per element of the result */
} axis;

/* The element of the input at a place, which may lie anywhere. */
static int64_t within(const axis *a, double place) {
  if (!(place > 0))
    return 0;
  return place < (double)a->in ? (int64_t)place : a->in;
}

static double wide_of(const axis *a) {
  return a->scale >= 1 ? a->scale : 1;
}
static double center_of(const axis *a, int64_t i) {
  return a->scale * ((double)i + 0.5);
}
/* The elements of the input that element i of the result has weights for: *from to before *to. */
static void find_seen(const axis *a, int64_t i, int64_t *from, int64_t *to) {
  double center = center_of(a, i), support = a->radius * wide_of(a);
  *from = within(a, center - support + 0.5);
  *to = within(a, center + support + 0.5);
}

/* A size that stays is not filtered, whatever factor is given. */
static fnzi_krn_array *weights(fnzi_dec_steps *s, const axis *a, fnz_dtype dtype) {
  if (a->in == a->out)
    return STEP(eye, I(a->in), DTYPE(dtype));
  fnzi_krn_array *w = STEP(zeros, INTS(a->out, a->in), DTYPE(dtype));
  if (w && fnzi_dec_can_look(s)) {
    /* Row i has the weights of all elements of the input for element i of the result. */
    char *data = (char *)fnzi_krn_array_data(w);
    double wide = wide_of(a);
    for (int64_t i = 0; i < a->out; i++) {
      double center = center_of(a, i), sum = 0;
      int64_t from, to;
      find_seen(a, i, &from, &to);
      for (int64_t k = from; k < to; k++)
        sum += a->filter(((double)k - center + 0.5) / wide);
      for (int64_t k = from; k < to && sum != 0; k++) {
        const double weight = a->filter(((double)k - center + 0.5) / wide) / sum;
        char *cell = data + (size_t)(i * a->in + k) * fnzi_dtype(dtype)->bytes;
        fnzi_krn_convert_one(dtype, cell, FNZ_F64, &weight);
      }
    }
  }
  return w;
}

/* Both axes, by the arguments, which are the arguments of a gradient when `back`. */
static void open_axes(fnzi_dec_steps *s, bool back, filter_fn *filter, double radius,
                      fnzi_meta_pool *p, axis axes[2]) {
  double scales[FNZI_POOL_MAX_SPATIAL] = {0};
  bool aligned = fnzi_krn_named_bool(s->call, "align_corners", false);
  fnz_dtype dtype = fnzi_dec_array_dtype(fnzi_krn_call_input(s->call, 0));
  if (!fnzi_is_float(dtype))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "there is no kernel for %s; cast to a floating-point type",
                    fnzi_dtype(dtype)->name);
  if (s->status == FNZ_OK)
    s->status = back ? fnzi_meta_resample_back_read(s->call, p, scales)
                     : fnzi_meta_resample_read(s->call, p, scales);
  for (int i = 0; s->status == FNZ_OK && i < 2; i++) {
    double in = (double)p->in[i], out = (double)p->out[i];
    double scale = aligned         ? (out > 1 ? (in - 1) / (out - 1) : 0)
                   : scales[i] > 0 ? 1 / scales[i]
                                   : in / out;
    axes[i] = (axis){filter, radius, p->in[i], p->out[i], scale};
  }
}

/* --- Filtering --------------------------------------------------------------------------- */
enum { BLOCK = 32 };

/* The elements that have weights for those from `first` to before `last`: of the input for elements
 * of the result, or the other way. Elements that stay have one each. */
static void find_band(const axis *a, bool back, int64_t first, int64_t last, int64_t band[2]) {
  int64_t from, to, size = back ? a->out : a->in;
  bool stays = a->in == a->out;
  band[0] = stays ? first : size, band[1] = stays ? last : 0;
  for (int64_t i = back ? 0 : first; !stays && i < (back ? a->out : last); i++) {
    find_seen(a, i, &from, &to);
    int64_t begin = back ? i : from, end = back ? i + 1 : to;
    bool meets = from < to && (!back || (from < last && to > first));
    band[0] = meets && begin < band[0] ? begin : band[0];
    band[1] = meets && end > band[1] ? end : band[1];
  }
  if (band[0] >= band[1])
    band[0] = 0, band[1] = size < 1 ? size : 1;
}

/* Along a dimension of the planes, block by block, because most weights of the whole are 0.
 * Transposed, they are the weights of gradients. */
static fnzi_krn_array *filtered(fnzi_dec_steps *s, const axis *a, bool back, fnzi_krn_array *x,
                                int64_t dim) {
  fnzi_krn_array *w = weights(s, a, fnzi_dec_array_dtype(x));
  int64_t count = back ? a->in : a->out, blocks = (count + BLOCK - 1) / BLOCK, band[2];
  fnzi_krn_array **parts = fnzi_dec_arrays_room(s, (size_t)blocks);
  w = back ? STEP(t, V(w)) : w;
  for (int64_t b = 0; parts && b < blocks; b++) {
    int64_t first = b * BLOCK, size = count - first < BLOCK ? count - first : BLOCK;
    find_band(a, back, first, first + size, band);
    fnzi_krn_array *from = fnzi_part(s, x, dim, band[0], band[1] - band[0]);
    fnzi_krn_array *by =
        fnzi_part(s, fnzi_part(s, w, 0, first, size), 1, band[0], band[1] - band[0]);
    parts[b] = dim == 2 ? STEP(matmul, V(from), V(STEP(t, V(by)))) : STEP(matmul, V(by), V(from));
  }
  return !parts ? NULL : blocks == 1 ? parts[0] : fnzi_dec_cat(s, parts, (size_t)blocks, dim);
}

/* Both axes. */
static void resized(fnzi_dec_steps *s, bool back, filter_fn *filter, double radius) {
  fnzi_krn_array *x = fnzi_krn_call_input(s->call, 0);
  fnz_dtype dtype = fnzi_dec_array_dtype(x), inner = dtype == FNZ_F64 ? FNZ_F64 : FNZ_F32;
  fnzi_meta_pool p;
  axis axes[2];
  open_axes(s, back, filter, radius, &p, axes);
  if (s->status != FNZ_OK)
    return;
  const int64_t *from = back ? p.out : p.in, *to = back ? p.in : p.out;
  fnzi_krn_array *planes = RESHAPED(fnzi_dec_cast(s, x, inner), p.planes, from[0], from[1]);
  fnzi_krn_array *y = filtered(s, &axes[0], back, filtered(s, &axes[1], back, planes, 2), 1);
  y = RESHAPED(y, fnzi_dec_array_size(x, 0), fnzi_dec_array_size(x, 1), to[0], to[1]);
  fnzi_dec_result_give(s, fnzi_dec_cast(s, y, dtype));
}

DECOMP(resize_linear) {
  resized(s, false, triangle, 1);
}
DECOMP(resize_cubic) {
  resized(s, false, cubic, 2);
}
DECOMP(resize_lanczos) {
  resized(s, false, lanczos, 3);
}

DECOMP(resize_linear_backward) {
  resized(s, true, triangle, 1);
}
DECOMP(resize_cubic_backward) {
  resized(s, true, cubic, 2);
}
DECOMP(resize_lanczos_backward) {
  resized(s, true, lanczos, 3);
}

/* --- By places kept ---------------------------------------------------------------------- */
/* Planes of `x` as rows, and so their places. */
static void flatten_planes(fnzi_dec_steps *s, fnzi_krn_array **x, fnzi_krn_array **places,
                           int64_t spatial, int64_t *rows) {
  *rows = 1;
  if (fnzi_dec_array_rank(*x) < spatial ||
      fnzi_dec_array_rank(*x) != fnzi_dec_array_rank(*places) ||
      fnzi_dec_array_numel(*x) != fnzi_dec_array_numel(*places))
    fnzi_dec_refuse(
        s, FNZ_CLASS_BOUNDS,
        "indices have %lld elements in %u dimensions for %lld in %u; both need as many, in at "
        "least %lld",
        (long long)fnzi_dec_array_numel(*places), fnzi_dec_array_rank(*places),
        (long long)fnzi_dec_array_numel(*x), fnzi_dec_array_rank(*x), (long long)spatial);
  if (fnzi_dec_array_dtype(*places) != FNZ_I64)
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "indices are %s; they must be i64",
                    fnzi_dtype(fnzi_dec_array_dtype(*places))->name);
  for (int64_t d = 0; s->status == FNZ_OK && d + spatial < fnzi_dec_array_rank(*x); d++)
    *rows *= fnzi_dec_array_size(*x, d);
  int64_t each = 1;
  for (int64_t d = 1; d <= spatial; d++)
    each *= fnzi_dec_array_size(*x, -d);
  *x = RESHAPED(*x, *rows, each);
  *places = RESHAPED(*places, *rows, each);
}

static void pool_backward(fnzi_dec_steps *s, int64_t spatial) {
  fnzi_krn_array *grad = fnzi_dec_given_array(s, "grad_output"),
                 *places = fnzi_dec_given_array(s, "indices");
  fnzi_krn_array *self = fnzi_dec_given_array(s, "self");
  int64_t rows, area = 1;
  for (int64_t d = 1; d <= spatial; d++)
    area *= fnzi_dec_array_size(self, -d);
  flatten_planes(s, &grad, &places, spatial, &rows);
  fnzi_krn_array *zeros = STEP(new_zeros, V(grad), INTS(rows, area));
  fnzi_krn_array *sums = STEP(scatter_add, V(zeros), I(1), V(places), V(grad));
  fnzi_dec_result_give(s,
                       fnzi_dec_reshaped(s, sums, self->geometry.sizes, fnzi_dec_array_rank(self)));
}

DECOMP(pool_backward_2d) {
  pool_backward(s, 2);
}
DECOMP(pool_backward_3d) {
  pool_backward(s, 3);
}

static void unpool(fnzi_dec_steps *s, int64_t spatial) {
  fnzi_krn_array *x = fnzi_dec_given_array(s, "self"), *places = fnzi_dec_given_array(s, "indices");
  int64_t sizes[FNZ_MAX_RANK], out[3] = {1, 1, 1}, rows;
  uint32_t rank = fnzi_dec_array_rank(x);
  fnzi_dec_status_note(s, fnzi_krn_named_ints_of(s->call, "output_size", (size_t)spatial, 1, out));
  for (uint32_t d = 0; d < rank; d++)
    sizes[d] = d + spatial < rank ? fnzi_dec_array_size(x, d) : out[d + spatial - rank];
  flatten_planes(s, &x, &places, spatial, &rows);
  fnzi_krn_array *zeros = STEP(new_zeros, V(x), fnzi_dec_ints(s, sizes, rank));
  if (zeros) /* all sizes together fit 64 bits */
    zeros = RESHAPED(zeros, rows, rows ? fnzi_dec_array_numel(zeros) / rows : 0);
  fnzi_krn_array *y = STEP(scatter__src, V(zeros), I(1), V(places), V(x));
  fnzi_dec_result_give(s, fnzi_dec_reshaped(s, y, sizes, rank));
}

DECOMP(unpool_2d) {
  unpool(s, 2);
}
DECOMP(unpool_3d) {
  unpool(s, 3);
}
