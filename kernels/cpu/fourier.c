/* fourier.c - _fft_c2c, _fft_r2c and _fft_c2r: one dimension after the other, lines in doubles,
 * whatever the element type. Lengths with large prime factors go by Bluestein's way: as a product
 * of longer transforms. */
#include "kernels/cpu/cpu.h"
#include "kernels/cpu/fourier.h"
#include "kernels/cpu/special_reals.h"

#include <math.h>

typedef fnzi_cpu_wave wave;
typedef fnzi_cpu_root root;

/* A length: its factors, or those of the longer transform with what goes before and after it. */
typedef struct length_plan {
  int64_t length;
  fnzi_cpu_factors factors;
  root *chirp, *spectrum; /* exp(-pi i k^2 / length), and the transform of its conjugate */
} length_plan;

/* Lines of one dimension: where they are read, and what becomes of them. */
typedef struct lines {
  const length_plan *plan;
  fnzi_cpu_fourier_fn *transform;
  const char *from;
  char *to;
  wave *room;                       /* of each thread: twice the length of the plan */
  int64_t count, inner, have, give; /* elements of a line that are read, and written */
  fnz_dtype from_dtype, to_dtype;
  double scale;
  bool inverse;
} lines;

/* --- Plans ------------------------------------------------------------------------------- */
/* Largest first, so that later passes are over many places side by side; false where a prime is too
 * large. */
static bool factored(int64_t length, fnzi_cpu_factors *out) {
  static const int64_t four = 4;
  out->length = (size_t)length;
  out->count = 0;
  for (; length % four == 0; length /= four)
    out->factors[out->count++] = 4;
  for (int64_t f = 2; f <= FNZI_FOURIER_MOST; f++)
    for (; length % f == 0; length /= f)
      out->factors[out->count++] = (size_t)f;
  return length == 1;
}

/* exp(-2 pi i k / n), the angle in the first eighth of the circle: so values are as exact at all
 * places, and those of opposite places the same. */
static root root_at(int64_t k, int64_t n) {
  static const double turn = 6.28318530717958647692;
  int64_t eighth = 8 * k / n, rest = 8 * k - eighth * n;
  bool back = eighth & 1;
  double angle = turn * (double)(back ? n - rest : rest) / (8 * (double)n);
  double c = cos(angle), sine = sin(angle);
  /* Places of the second eighth are those of the first with the parts exchanged, and so on. */
  double x = back ? sine : c, y = back ? c : sine;
  switch (eighth / 2) {
  case 0:
    return (root){x, -y};
  case 1:
    return (root){-y, -x};
  case 2:
    return (root){-x, y};
  default:
    return (root){y, x};
  }
}

static fnz_status roots_make(fnzi_krn_call *call, fnzi_cpu_factors *f) {
  root *roots;
  int64_t n = (int64_t)f->length;
  FNZI_NEW(&call->scratch, f->length, &roots);
  for (int64_t k = 0; k < n; k++)
    roots[k] = 2 * k <= n ? root_at(k, n) : (root){roots[n - k].re, -roots[n - k].im};
  f->roots = roots;
  return FNZ_OK;
}

/* All lines of a wave are the same here. */
static fnz_status chirp_make(fnzi_krn_call *call, fnzi_cpu_fourier_fn *transform, length_plan *p) {
  size_t n = (size_t)p->length, most = p->factors.length;
  wave *x;
  FNZI_NEW(&call->scratch, n, &p->chirp);
  FNZI_NEW(&call->scratch, most, &p->spectrum);
  FNZI_NEW(&call->scratch, 2 * most, &x);
  memset(x, 0, most * sizeof *x);
  for (size_t k = 0; k < n; k++) {
    p->chirp[k] = root_at((int64_t)(k * k % (2 * n)), 2 * p->length);
    x[k].re[0] = p->chirp[k].re;
    x[k].im[0] = -p->chirp[k].im;
    if (k)
      x[most - k] = x[k];
  }
  transform(&p->factors, x, x + most);
  for (size_t k = 0; k < most; k++)
    p->spectrum[k] = (root){x[k].re[0] / (double)most, x[k].im[0] / (double)most};
  return FNZ_OK;
}

static fnz_status plan_make(fnzi_krn_call *call, fnzi_cpu_fourier_fn *transform, int64_t length,
                            length_plan *p) {
  *p = (length_plan){.length = length};
  if (factored(length, &p->factors))
    return roots_make(call, &p->factors);
  int64_t longer = 1;
  while (longer < 2 * length - 1)
    longer *= 2;
  (void)factored(longer, &p->factors);
  FNZ_TRY(roots_make(call, &p->factors));
  return chirp_make(call, transform, p);
}

/* --- One line, or several side by side --------------------------------------------------- */
static wave times(wave a, root w) {
  return (wave){a.re * w.re - a.im * w.im, a.re * w.im + a.im * w.re};
}

static void transform_chirped(const lines *l, wave *x) {
  const length_plan *p = l->plan;
  size_t n = (size_t)p->length, most = p->factors.length;
  for (size_t k = 0; k < n; k++)
    x[k] = times(x[k], p->chirp[k]);
  memset(x + n, 0, (most - n) * sizeof *x);
  l->transform(&p->factors, x, x + most);
  for (size_t k = 0; k < most; k++) { /* conjugated, the way back is the same as the way there */
    x[k] = times(x[k], p->spectrum[k]);
    x[k].im = -x[k].im;
  }
  l->transform(&p->factors, x, x + most);
  for (size_t k = 0; k < n; k++)
    x[k] = times((wave){x[k].re, -x[k].im}, p->chirp[k]);
}

static void cell_read(const lines *l, int64_t at, double *re, double *im) {
  switch (l->from_dtype) {
  case FNZ_F32:
    *re = ((const float *)l->from)[at];
    *im = 0;
    break;
  case FNZ_F64:
    *re = ((const double *)l->from)[at];
    *im = 0;
    break;
  case FNZ_C64:
    *re = ((const float *)l->from)[2 * at];
    *im = ((const float *)l->from)[2 * at + 1];
    break;
  default:
    *re = ((const double *)l->from)[2 * at];
    *im = ((const double *)l->from)[2 * at + 1];
  }
}

static void cell_write(const lines *l, int64_t at, double re, double im) {
  switch (l->to_dtype) {
  case FNZ_F32:
    ((float *)l->to)[at] = (float)re;
    break;
  case FNZ_F64:
    ((double *)l->to)[at] = re;
    break;
  case FNZ_C64:
    ((float *)l->to)[2 * at] = (float)re;
    ((float *)l->to)[2 * at + 1] = (float)im;
    break;
  default:
    ((double *)l->to)[2 * at] = re;
    ((double *)l->to)[2 * at + 1] = im;
  }
}

/* Element k of line i, of lines of so many elements. */
static int64_t place(const lines *l, int64_t i, int64_t size, int64_t k) {
  return i / l->inner * size * l->inner + k * l->inner + i % l->inner;
}

/* Where half a line is given, the rest of it is the conjugate of that, and what is its own
 * conjugate is real. The way back is the way there of conjugates. */
static void line_read(const lines *l, int64_t i, int lane, wave *x) {
  int64_t n = l->plan->length;
  bool half = l->to_dtype != l->from_dtype && fnzi_is_complex(l->from_dtype);
  double sign = l->inverse ? -1 : 1, re, im;
  for (int64_t k = 0; k < (half ? n / 2 + 1 : n); k++) {
    cell_read(l, place(l, i, l->have, k), &re, &im);
    im = half && (k == 0 || 2 * k == n) ? 0 : sign * im;
    x[k].re[lane] = re;
    x[k].im[lane] = im;
    if (half && k) {
      x[n - k].re[lane] = re;
      x[n - k].im[lane] = -im;
    }
  }
}

static void line_write(const lines *l, int64_t i, int lane, const wave *x) {
  double sign = l->inverse ? -l->scale : l->scale;
  for (int64_t k = 0; k < l->give; k++)
    cell_write(l, place(l, i, l->give, k), x[k].re[lane] * l->scale, x[k].im[lane] * sign);
}

static void bunch(const void *user, int64_t i, int thread) {
  const lines *l = user;
  size_t length = l->plan->factors.length;
  wave *x = l->room + (size_t)thread * 2 * length;
  int64_t first = i * FNZI_FOURIER_LINES, count = l->count - first;
  count = count > FNZI_FOURIER_LINES ? FNZI_FOURIER_LINES : count;
  if (count < FNZI_FOURIER_LINES)
    memset(x, 0, (size_t)l->plan->length * sizeof *x);
  for (int k = 0; k < count; k++)
    line_read(l, first + k, k, x);
  if (l->plan->chirp)
    transform_chirped(l, x);
  else
    l->transform(&l->plan->factors, x, x + length);
  for (int k = 0; k < count; k++)
    line_write(l, first + k, k, x);
}

/* --- The operators ----------------------------------------------------------------------- */
/* None, by the root of the number of elements, or by that. */
static double scale_of(int64_t way, double count) {
  return way == 1 ? 1 / sqrt(count) : way == 2 ? 1 / count : 1;
}

/* Along `dim`; `l` has its ends, and what becomes of the elements. */
static fnz_status along(fnzi_krn_call *call, const fnz_geometry *g, int64_t dim, lines *l) {
  static fnzi_cpu_fourier_fn *const *const sets[FNZI_ISAS] = {FNZI_ISA_TABLES(&fnzi_cpu_fourier)};
  length_plan plan;
  l->transform = *sets[fnzi_krn_isa_best()];
  l->inner = 1;
  l->count = 1;
  for (uint32_t d = 0; d < g->rank; d++) {
    l->inner *= d > dim ? g->sizes[d] : 1;
    l->count *= d == dim ? 1 : g->sizes[d];
  }
  FNZ_TRY(plan_make(call, l->transform, l->have > l->give ? l->have : l->give, &plan));
  l->plan = &plan;
  size_t threads = (size_t)fnzi_cpu_lanes(call);
  FNZI_NEW(&call->scratch, threads * 2 * plan.factors.length, &l->room);
  fnzi_cpu_rows_spread(call, (l->count + FNZI_FOURIER_LINES - 1) / FNZI_FOURIER_LINES,
                       plan.length * FNZI_FOURIER_LINES, bunch, l);
  return FNZ_OK;
}

/* What lies in `data`, along all dimensions but the last `left` ones named, in place. */
static fnz_status along_all(fnzi_krn_call *call, const fnz_geometry *g, const int64_t *dims,
                            size_t count, fnz_dtype dtype, const void *from, void *data,
                            bool inverse, double scale) {
  for (size_t i = 0; i < count; i++) {
    int64_t dim = dims[i] < 0 ? dims[i] + g->rank : dims[i];
    lines l = {.from = from,
               .to = data,
               .have = g->sizes[dim],
               .give = g->sizes[dim],
               .from_dtype = dtype,
               .to_dtype = dtype,
               .scale = i == 0 ? scale : 1,
               .inverse = inverse};
    FNZ_TRY(along(call, g, dim, &l));
    from = data;
  }
  return FNZ_OK;
}

typedef struct asked {
  const int64_t *dims;
  size_t count;
  int64_t last; /* of the dimensions */
  double scale;
} asked;

/* Sizes are those of the tensor that is not halved. */
static fnz_status ask(fnzi_krn_call *call, const fnz_geometry *whole, asked *out) {
  double elements = 1;
  FNZ_TRY(fnzi_krn_named_ints(call, "dim", &out->dims, &out->count));
  for (size_t i = 0; i < out->count; i++) {
    out->last = out->dims[i] < 0 ? out->dims[i] + whole->rank : out->dims[i];
    elements *= (double)whole->sizes[out->last];
  }
  out->scale = scale_of(fnzi_krn_named_int(call, "normalization", 0), elements);
  return FNZ_OK;
}

fnz_status fnzi_kernel_fourier(fnzi_krn_call *call) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, 0);
  const fnz_geometry *g = &call->outputs[0]->geometry;
  const void *from;
  void *to;
  asked ways;
  FNZ_TRY(ask(call, g, &ways));
  FNZ_TRY(fnzi_krn_dense_get(call, a, &from));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, g->dtype, &to));
  if (fnzi_krn_array_numel(a) == 0)
    return FNZ_OK;
  if (ways.count == 0)
    memcpy(to, from, (size_t)fnzi_krn_array_numel(a) * fnzi_dtype(g->dtype)->bytes);
  return along_all(call, g, ways.dims, ways.count, g->dtype, from, to,
                   !fnzi_krn_named_bool(call, "forward", true), ways.scale);
}

/* The second half of the last dimension: conjugates of the first one, at opposite places of all
 * dimensions that are transformed. */
static void mirror(const fnz_geometry *g, const asked *ways, char *data) {
  size_t cell = fnzi_dtype(g->dtype)->bytes;
  int64_t strides[FNZ_MAX_RANK], count = 1;
  fnzi_contiguous_strides(g->sizes, g->rank, strides);
  for (uint32_t d = 0; d < g->rank; d++)
    count *= g->sizes[d];
  for (int64_t i = 0; i < count; i++) {
    int64_t k = i / strides[ways->last] % g->sizes[ways->last], other = i;
    if (2 * k <= g->sizes[ways->last])
      continue;
    for (size_t d = 0; d < ways->count; d++) {
      int64_t dim = ways->dims[d] < 0 ? ways->dims[d] + g->rank : ways->dims[d];
      int64_t at = i / strides[dim] % g->sizes[dim];
      other += at ? (g->sizes[dim] - 2 * at) * strides[dim] : 0;
    }
    memcpy(data + (size_t)i * cell, data + (size_t)other * cell, cell);
    if (g->dtype == FNZ_C64)
      ((float *)data)[2 * i + 1] *= -1;
    else
      ((double *)data)[2 * i + 1] *= -1;
  }
}

/* The last dimension first; only half of it is computed. */
fnz_status fnzi_kernel_fourier_of_real(fnzi_krn_call *call) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, 0);
  const fnz_geometry *g = &call->outputs[0]->geometry;
  bool half = fnzi_krn_named_bool(call, "onesided", true);
  const void *from;
  void *to;
  asked ways;
  FNZ_TRY(ask(call, &a->geometry, &ways));
  FNZ_TRY(fnzi_krn_dense_get(call, a, &from));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, g->dtype, &to));
  if (fnzi_krn_array_numel(a) == 0)
    return FNZ_OK;
  lines l = {.from = from,
             .to = to,
             .have = a->geometry.sizes[ways.last],
             .give = g->sizes[ways.last],
             .from_dtype = a->geometry.dtype,
             .to_dtype = g->dtype,
             .scale = ways.scale};
  FNZ_TRY(along(call, &a->geometry, ways.last, &l));
  FNZ_TRY(along_all(call, g, ways.dims, ways.count - 1, g->dtype, to, to, false, 1));
  if (!half)
    mirror(g, &ways, to);
  return FNZ_OK;
}

/* The last dimension last. */
fnz_status fnzi_kernel_fourier_to_real(fnzi_krn_call *call) {
  const fnzi_krn_array *a = fnzi_krn_call_input(call, 0);
  const fnz_geometry *g = &call->outputs[0]->geometry;
  const void *from;
  void *to, *room;
  asked ways;
  FNZ_TRY(ask(call, g, &ways));
  FNZ_TRY(fnzi_krn_dense_get(call, a, &from));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, g->dtype, &to));
  if (fnzi_krn_array_numel(a) == 0 || fnzi_krn_array_numel(call->outputs[0]) == 0)
    return FNZ_OK;
  if (ways.count > 1) {
    FNZ_TRY(fnzi_arena_alloc(&call->scratch, (size_t)fnzi_krn_array_numel(a),
                             fnzi_dtype(a->geometry.dtype)->bytes, &room));
    FNZ_TRY(along_all(call, &a->geometry, ways.dims, ways.count - 1, a->geometry.dtype, from, room,
                      true, 1));
    from = room;
  }
  lines l = {.from = from,
             .to = to,
             .have = a->geometry.sizes[ways.last],
             .give = g->sizes[ways.last],
             .from_dtype = a->geometry.dtype,
             .to_dtype = g->dtype,
             .scale = ways.scale,
             .inverse = true};
  return along(call, g, ways.last, &l);
}
