/* fourier.c - _fft_c2c, _fft_r2c and _fft_c2r: one dimension after the other, in doubles until the
 * last one, so results are rounded once.
 *
 * Lines are gathered where they lie, several at a time, and neighbours in memory together. Real
 * ones of even length are transformed as half as many complex numbers. */
#include "kernels/cpu/fourier.h"
#include "kernels/cpu/special_reals.h"

#include <math.h>

typedef fnzi_cpu_fft_block block;
typedef fnzi_cpu_fft_track track;

/* The memory of elements: floats or doubles, a complex number is two. Strides count floats or
 * doubles. */
typedef struct ends {
  bool is_f32, is_complex;
  void *data;
  int64_t strides[FNZ_MAX_RANK];
} ends;

typedef enum kind { COMPLEX, OF_REAL, TO_REAL } kind;

/* The lines of one dimension. */
typedef struct lines {
  kind kind;
  bool is_even; /* real lines go as complex ones of half the length */
  bool is_inverse;
  int64_t length;  /* of a line that is not halved */
  int64_t written; /* points of a line in the result */
  ends from, to;
  int64_t from_step, to_step;
  uint32_t rank; /* of the dimensions that lines are counted in, the last one fastest */
  int64_t sizes[FNZ_MAX_RANK], count;
  double scale;
  const double *roots; /* of `length`, where is_even */
  fnzi_cpu_fft_plan plan;
  int64_t lanes, span; /* room: doubles of a block's real or imaginary parts */
  double *memory;      /* of each thread: two blocks */
} lines;

/* --- Memory ------------------------------------------------------------------------------ */
static ends ends_of(fnz_dtype dtype, uint32_t rank, const int64_t *strides, void *data) {
  ends e = {.is_f32 = dtype == FNZ_F32 || dtype == FNZ_C64,
            .is_complex = fnzi_is_complex(dtype),
            .data = data};
  for (uint32_t d = 0; d < rank; d++)
    e.strides[d] = strides[d] * (e.is_complex ? 2 : 1);
  return e;
}

static void lines_start(const lines *l, int64_t line, int64_t *from, int64_t *to) {
  *from = *to = 0;
  for (uint32_t d = l->rank; d-- > 0; line /= l->sizes[d]) {
    *from += line % l->sizes[d] * l->from.strides[d];
    *to += line % l->sizes[d] * l->to.strides[d];
  }
}

static void gather(const lines *l, track t, block to) {
  l->plan.moves->gather[l->from.is_f32](&t, l->lanes, l->from.data, to);
}

/* --- Lines ------------------------------------------------------------------------------- */
static void zero_point(const lines *l, double *part, int64_t k) {
  memset(part + k * l->lanes, 0, (size_t)l->lanes * sizeof(double));
}

static void read_complex(const lines *l, const int64_t *starts, int64_t count, block *x) {
  gather(l, (track){.starts = starts, .step = l->from_step, .behind = 1, .count = count}, *x);
}

/* On a line of odd length each number is read twice. */
static void read_real(const lines *l, const int64_t *starts, block *x) {
  /* of a line of one element the stride may be any number, which reaches nothing */
  const int64_t twice = (int64_t)(2 * (uint64_t)l->from_step);
  track t = {.starts = starts, .step = twice, .behind = l->from_step, .count = l->length / 2};
  if (!l->is_even)
    t = (track){.starts = starts, .step = l->from_step, .count = l->length};
  gather(l, t, *x);
  if (!l->is_even)
    memset(x->im, 0, (size_t)(l->length * l->lanes) * sizeof(double));
}

/* Reads half of a line; elements that are their own conjugate are real, and the missing half is the
 * conjugate of the given one. */
static void read_half(const lines *l, const int64_t *starts, block *x, block *y) {
  int64_t half = l->length / 2, lanes = l->lanes;
  block *first = l->is_even ? y : x;
  read_complex(l, starts, half + 1, first);
  zero_point(l, first->im, 0);
  if (l->is_even) {
    zero_point(l, first->im, half);
    l->plan.passes->split(l->roots, l->length, lanes, *y, *x);
    return;
  }
  for (int64_t k = half + 1; k < l->length; k++)
    for (int64_t q = 0; q < lanes; q++) {
      x->re[k * lanes + q] = x->re[(l->length - k) * lanes + q];
      x->im[k * lanes + q] = -x->im[(l->length - k) * lanes + q];
    }
}

/* Writes points from element `offset` on, times the scale; `im` changes the imaginary parts' sign.
 */
static void fourier_scatter(const lines *l, int64_t offset, track t, block from, double im) {
  t.re = l->scale, t.im = im * l->scale;
  l->plan.moves->scatter[l->to.is_f32](&t, l->lanes, from, l->to.data, offset);
}

static void write_complex(const lines *l, const int64_t *starts, int64_t used, int64_t count,
                          const block *x) {
  fourier_scatter(l, 0, (track){starts, l->to_step, 1, count, used, 1, 1}, *x, 1);
}

/* On a real line the second half is the conjugate of the first one, from the end on. */
static void write_of_real(const lines *l, const int64_t *starts, int64_t used, block *x, block *y) {
  int64_t half = l->length / 2, rest = l->written - half - 1;
  block *done = l->is_even ? y : x;
  if (l->is_even)
    l->plan.passes->join(l->roots, l->length, l->lanes, *x, *y);
  write_complex(l, starts, used, half + 1, done);
  if (rest > 0)
    fourier_scatter(l, (l->length - 1) * l->to_step,
                    (track){starts, -l->to_step, 1, rest, used, 1, 1},
                    (block){done->re + l->lanes, done->im + l->lanes}, -1);
}

/* On a line of odd length the imaginary parts are ignored, and the real ones are written twice. */
static void write_real(const lines *l, const int64_t *starts, int64_t used, const block *x) {
  track t = {starts, 2 * l->to_step, l->to_step, l->length / 2, used, 1, 1};
  if (!l->is_even)
    t = (track){starts, l->to_step, 0, l->length, used, 1, 1};
  fourier_scatter(l, 0, t, l->is_even ? *x : (block){x->re, x->re}, 1);
}

/* Lines that a last block lacks are its first one again. */
static void transform_block(const void *user, int64_t i, int thread) {
  const lines *l = user;
  int64_t from[FNZI_FFT_LANES], to[FNZI_FFT_LANES], first = i * l->lanes;
  int64_t used = l->count - first < l->lanes ? l->count - first : l->lanes;
  double *memory = l->memory + (int64_t)thread * 4 * l->span;
  block x = {memory, memory + l->span}, y = {memory + 2 * l->span, memory + 3 * l->span};
  for (int64_t q = 0; q < l->lanes; q++)
    lines_start(l, first + (q < used ? q : 0), &from[q], &to[q]);
  if (l->kind == COMPLEX)
    read_complex(l, from, l->length, &x);
  else if (l->kind == OF_REAL)
    read_real(l, from, &x);
  else
    read_half(l, from, &x, &y);
  /* The way back is the way there with real and imaginary parts exchanged. */
  if (l->is_inverse)
    x = (block){x.im, x.re}, y = (block){y.im, y.re};
  fnzi_cpu_fft_lines(&l->plan, l->lanes, &x, &y);
  if (l->is_inverse)
    x = (block){x.im, x.re}, y = (block){y.im, y.re};
  if (l->kind == COMPLEX)
    write_complex(l, to, used, l->length, &x);
  else if (l->kind == OF_REAL)
    write_of_real(l, to, used, &x, &y);
  else
    write_real(l, to, used, &x);
}

/* --- One dimension ----------------------------------------------------------------------- */
/* Orders the dimensions of lines so that lines that are adjacent in the input come one after
 * another. */
static void lines_order(lines *l, uint32_t rank, const int64_t *sizes, uint32_t along) {
  ends from = l->from, to = l->to;
  uint32_t order[FNZ_MAX_RANK];
  l->count = 1;
  for (uint32_t d = 0; d < rank; d++) {
    if (d == along || sizes[d] == 1)
      continue;
    uint32_t k = l->rank++;
    for (; k > 0 && from.strides[order[k - 1]] < from.strides[d]; k--)
      order[k] = order[k - 1];
    order[k] = d;
    l->count *= sizes[d];
  }
  for (uint32_t k = 0; k < l->rank; k++) {
    l->sizes[k] = sizes[order[k]];
    l->from.strides[k] = from.strides[order[k]];
    l->to.strides[k] = to.strides[order[k]];
  }
}

/* Readies transforms along one dimension; `l` has the kind of transform and its ends. `sizes` are
 * the sizes of the other dimensions. */
static fnz_status lines_plan(fnzi_krn_call *call, lines *l, uint32_t rank, const int64_t *sizes,
                             uint32_t along) {
  enum { WORTH_LANES = 3, NEAR_POINTS = 8192, NEAR_ROWS = 128 };
  enum { LINE = 8, APART = 200 }; /* parts of a power of two would lie at the same places */
  void *memory;
  int64_t points = l->length;
  fnzi_cpu_fft_roots roots = {NULL, 1};
  l->from_step = l->from.strides[along], l->to_step = l->to.strides[along];
  lines_order(l, rank, sizes, along);
  l->is_even = l->kind != COMPLEX && l->length % 2 == 0;
  if (l->is_even) {
    FNZ_TRY(fnzi_cpu_fft_roots_make(call, l->length, &l->roots));
    roots = (fnzi_cpu_fft_roots){l->roots, 2};
    points /= 2;
  }
  FNZ_TRY(fnzi_cpu_fft_plan_make(call, points, roots, &l->plan));
  points = l->plan.points > points + 1 ? l->plan.points : points + 1;
  /* Lines side by side are worth it while two blocks stay near, and to fill the first passes. Rows
   * that fill them one by one may stay nearer. */
  bool are_rows = l->plan.twiddles && l->from_step <= 2 && l->to_step <= 2;
  bool are_near = points <= (are_rows ? NEAR_ROWS : NEAR_POINTS);
  l->lanes = l->count >= WORTH_LANES && are_near ? FNZI_FFT_LANES : 1;
  l->span = (points * l->lanes + APART) / LINE * LINE + LINE;
  int64_t doubles = 4 * l->span * fnzi_cpu_lanes(call) + LINE;
  FNZ_TRY(fnzi_krn_scratch_take(call, doubles, sizeof(double), &memory));
  l->memory = (double *)memory + (LINE - (int64_t)((uintptr_t)memory / sizeof(double) % LINE));
  return FNZ_OK;
}

/* --- The operators ----------------------------------------------------------------------- */
typedef struct asked {
  uint32_t dims[FNZ_MAX_RANK], rank;
  size_t count;
  double scale;
} asked;

/* `whole` has the sizes where none is halved. */
static fnz_status ask(fnzi_krn_call *call, const fnz_geometry *whole, asked *out) {
  const int64_t *dims;
  int64_t scaling = fnzi_krn_named_int(call, "normalization", 0);
  double points = 1;
  FNZ_TRY(fnzi_krn_named_ints(call, "dim", &dims, &out->count));
  out->rank = whole->rank;
  for (size_t i = 0; i < out->count; i++) {
    out->dims[i] = (uint32_t)(dims[i] < 0 ? dims[i] + whole->rank : dims[i]);
    points *= (double)whole->sizes[out->dims[i]];
  }
  out->scale = scaling == 0 ? 1 : scaling == 1 ? 1 / sqrt(points) : 1 / points;
  return FNZ_OK;
}

/* The transforms of an operator, one after the other: all results but the last go to `between`.
 * Large images are transformed one by one, so that these stay near. */
typedef struct work {
  asked asked;
  ends from, between, to;
  int64_t sizes[FNZ_MAX_RANK];  /* of an image, in complex numbers */
  int64_t images[FNZ_MAX_RANK]; /* how many there are, by dimension */
  lines *steps;
  size_t count;
} work;

static ends ends_of_array(const fnzi_krn_array *a) {
  return ends_of(a->window.dtype, a->window.rank, a->window.strides, fnzi_krn_array_data(a));
}

/* If there is something between, with room for complex doubles of an image. Rows of a power of two
 * would lie at the same places of a cache. */
static fnz_status open_work(fnzi_krn_call *call, const int64_t *sizes, work *w) {
  enum { LARGE = 1 << 14, NEAR = 64, APART = 8 };
  int64_t strides[FNZ_MAX_RANK], points = 1, count = 1;
  void *data;
  for (uint32_t d = 0; d < w->asked.rank; d++)
    w->sizes[d] = 1, w->images[d] = sizes[d];
  for (size_t i = 0; i < w->asked.count; i++) {
    uint32_t d = w->asked.dims[i];
    points *= sizes[d];
    w->sizes[d] = sizes[d], w->images[d] = 1;
  }
  for (uint32_t d = 0; d < w->asked.rank && (points < LARGE || w->asked.count == 1); d++)
    w->sizes[d] = sizes[d], w->images[d] = 1;
  FNZI_NEW(&call->scratch, w->asked.count, &w->steps);
  if (w->asked.count < 2)
    return FNZ_OK;
  for (uint32_t d = w->asked.rank; d-- > 0;) {
    strides[d] = count;
    count *= w->sizes[d];
    if (d + 1 == w->asked.rank && w->sizes[d] % NEAR == 0)
      count += APART;
  }
  FNZ_TRY(fnzi_krn_scratch_take(call, count, 2 * sizeof(double), &data));
  w->between = ends_of(FNZ_C128, w->asked.rank, strides, data);
  return FNZ_OK;
}

/* Adds a transform along the dimension that was asked for as number i; `l` has its kind and sizes.
 */
static fnz_status add_step(fnzi_krn_call *call, work *w, lines l, size_t i) {
  bool is_last = w->count + 1 == w->asked.count;
  l.from = w->count ? w->between : w->from;
  l.to = is_last ? w->to : w->between;
  l.scale = is_last ? w->asked.scale : 1;
  FNZ_TRY(lines_plan(call, &l, w->asked.rank, w->sizes, w->asked.dims[i]));
  w->steps[w->count++] = l;
  return FNZ_OK;
}

/* Complex transforms along the first `count` of the dimensions. */
static fnz_status add_complex(fnzi_krn_call *call, work *w, size_t count, bool is_inverse) {
  for (size_t i = 0; i < count; i++) {
    lines l = {.kind = COMPLEX, .is_inverse = is_inverse, .length = w->sizes[w->asked.dims[i]]};
    FNZ_TRY(add_step(call, w, l, i));
  }
  return FNZ_OK;
}

/* The first element of image i. */
static void *image_at(const work *w, const ends *e, int64_t i) {
  int64_t offset = 0;
  for (uint32_t d = w->asked.rank; d-- > 0; i /= w->images[d])
    offset += i % w->images[d] * e->strides[d];
  return (char *)e->data + offset * (int64_t)(e->is_f32 ? sizeof(float) : sizeof(double));
}

static void run_work(fnzi_krn_call *call, work *w) {
  int64_t count = 1;
  for (uint32_t d = 0; d < w->asked.rank; d++)
    count *= w->images[d];
  for (int64_t i = 0; i < count; i++) {
    w->steps[0].from.data = image_at(w, &w->from, i);
    w->steps[w->count - 1].to.data = image_at(w, &w->to, i);
    for (size_t k = 0; k < w->count; k++) {
      const lines *l = &w->steps[k];
      fnzi_cpu_rows_spread(call, (l->count + l->lanes - 1) / l->lanes, l->plan.points * l->lanes,
                           transform_block, l);
    }
  }
}

fnz_status fnzi_kernel_fourier(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0), *out = call->outputs[0];
  bool is_inverse = !fnzi_krn_named_bool(call, "forward", true);
  work w = {.from = ends_of_array(self), .to = ends_of_array(out)};
  FNZ_TRY(ask(call, &self->geometry, &w.asked));
  if (fnzi_krn_array_numel(self) == 0)
    return FNZ_OK;
  if (w.asked.count == 0)
    return fnzi_krn_array_assign(call, out, self);
  FNZ_TRY(open_work(call, self->window.sizes, &w));
  FNZ_TRY(add_complex(call, &w, w.asked.count, is_inverse));
  run_work(call, &w);
  return FNZ_OK;
}

/* The last dimension first, so that the others have half as many lines. */
fnz_status fnzi_kernel_fourier_of_real(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0), *out = call->outputs[0];
  work w = {.from = ends_of_array(self), .to = ends_of_array(out)};
  FNZ_TRY(ask(call, &self->geometry, &w.asked));
  if (fnzi_krn_array_numel(out) == 0)
    return FNZ_OK;
  FNZ_TRY(open_work(call, out->window.sizes, &w));
  uint32_t last = w.asked.dims[w.asked.count - 1];
  lines l = {
      .kind = OF_REAL, .length = self->window.sizes[last], .written = out->window.sizes[last]};
  FNZ_TRY(add_step(call, &w, l, w.asked.count - 1));
  FNZ_TRY(add_complex(call, &w, w.asked.count - 1, false));
  run_work(call, &w);
  return FNZ_OK;
}

/* The last dimension last. */
fnz_status fnzi_kernel_fourier_to_real(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0), *out = call->outputs[0];
  work w = {.from = ends_of_array(self), .to = ends_of_array(out)};
  FNZ_TRY(ask(call, &out->geometry, &w.asked));
  if (fnzi_krn_array_numel(out) == 0)
    return FNZ_OK;
  FNZ_TRY(open_work(call, self->window.sizes, &w));
  FNZ_TRY(add_complex(call, &w, w.asked.count - 1, true));
  uint32_t last = w.asked.dims[w.asked.count - 1];
  lines l = {.kind = TO_REAL, .is_inverse = true, .length = out->window.sizes[last]};
  FNZ_TRY(add_step(call, &w, l, w.asked.count - 1));
  run_work(call, &w);
  return FNZ_OK;
}
