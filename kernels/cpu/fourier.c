/* fourier.c - _fft_c2c, _fft_r2c and _fft_c2r: one dimension after the other, in doubles until the
 * last one, so results are rounded once.
 *
 * Lines are gathered where they lie, several at a time, and neighbours in memory together. Real
 * ones of even length are transformed as half as many complex numbers. */
#include "kernels/cpu/fourier.h"
#include "kernels/cpu/special_reals.h"

#include <math.h>

typedef fnzi_cpu_fft_block block;
#define INLINE static inline __attribute__((always_inline))

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
  int64_t lanes, room; /* room: doubles of a block's real or imaginary parts */
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

/* Points of the lines of a block from memory, and back to it. Elements of the imaginary parts lie
 * `behind` the real ones: the imaginary part, or the next real number. Written out for full blocks,
 * whose lanes the compiler then has in registers. */
typedef struct track {
  const int64_t *starts;
  int64_t step, behind, count, used;
} track;

#define MOVES(T)                                                                                   \
  INLINE void gather_lanes_##T(const track *t, int64_t lanes, const T *data, block to) {           \
    for (int64_t k = 0; k < t->count; k++)                                                         \
      for (int64_t q = 0; q < lanes; q++) {                                                        \
        const T *at = data + t->starts[q] + k * t->step;                                           \
        to.re[k * lanes + q] = (double)at[0];                                                      \
        to.im[k * lanes + q] = (double)at[t->behind];                                              \
      }                                                                                            \
  }                                                                                                \
  INLINE void scatter_lanes_##T(const track *t, int64_t lanes, int64_t used, block from,           \
                                double re, double im, T *data) {                                   \
    for (int64_t k = 0; k < t->count; k++)                                                         \
      for (int64_t q = 0; q < used; q++) {                                                         \
        T *at = data + t->starts[q] + k * t->step;                                                 \
        at[0] = (T)(from.re[k * lanes + q] * re);                                                  \
        at[t->behind] = (T)(from.im[k * lanes + q] * im);                                          \
      }                                                                                            \
  }                                                                                                \
  static void gather_##T(const track *t, int64_t lanes, const T *data, block to) {                 \
    if (lanes == FNZI_FFT_LANES)                                                                   \
      gather_lanes_##T(t, FNZI_FFT_LANES, data, to);                                               \
    else                                                                                           \
      gather_lanes_##T(t, 1, data, to);                                                            \
  }                                                                                                \
  static void scatter_##T(const track *t, int64_t lanes, block from, double re, double im,         \
                          T *data) {                                                               \
    if (lanes == FNZI_FFT_LANES && t->used == lanes)                                               \
      scatter_lanes_##T(t, FNZI_FFT_LANES, FNZI_FFT_LANES, from, re, im, data);                    \
    else                                                                                           \
      scatter_lanes_##T(t, lanes, t->used, from, re, im, data);                                    \
  }
MOVES(float)
MOVES(double)

static void gather(const ends *e, track t, int64_t lanes, block to) {
  if (e->is_f32)
    gather_float(&t, lanes, e->data, to);
  else
    gather_double(&t, lanes, e->data, to);
}

/* --- Real lines as complex ones of half the length --------------------------------------- */
/* Even and odd places went as real and imaginary parts: their transforms come apart by symmetry,
 * and join to half of the whole one. */
static void halves_join(const lines *l, const block *z, block *to) {
  int64_t half = l->length / 2, lanes = l->lanes;
  for (int64_t k = 0; k <= half; k++) {
    const double *root = l->roots + 2 * k;
    int64_t a = k % half * lanes, b = (half - k) % half * lanes;
    for (int64_t q = 0; q < lanes; q++) {
      double even_re = (z->re[a + q] + z->re[b + q]) / 2,
             even_im = (z->im[a + q] - z->im[b + q]) / 2;
      double odd_re = (z->im[a + q] + z->im[b + q]) / 2, odd_im = (z->re[b + q] - z->re[a + q]) / 2;
      to->re[k * lanes + q] = even_re + (odd_re * root[0] - odd_im * root[1]);
      to->im[k * lanes + q] = even_im + (odd_re * root[1] + odd_im * root[0]);
    }
  }
}

/* And the way back, where roots are the other way round. */
static void halves_split(const lines *l, const block *x, block *to) {
  int64_t half = l->length / 2, lanes = l->lanes;
  for (int64_t k = 0; k < half; k++) {
    const double *root = l->roots + 2 * k;
    int64_t a = k * lanes, b = (half - k) * lanes;
    for (int64_t q = 0; q < lanes; q++) {
      double even_re = x->re[a + q] + x->re[b + q], even_im = x->im[a + q] - x->im[b + q];
      double far_re = x->re[a + q] - x->re[b + q], far_im = x->im[a + q] + x->im[b + q];
      double odd_re = far_re * root[0] + far_im * root[1];
      double odd_im = far_im * root[0] - far_re * root[1];
      to->re[a + q] = even_re - odd_im;
      to->im[a + q] = even_im + odd_re;
    }
  }
}

/* --- Lines ------------------------------------------------------------------------------- */
static void zero_point(const lines *l, double *part, int64_t k) {
  memset(part + k * l->lanes, 0, (size_t)l->lanes * sizeof(double));
}

static void read_complex(const lines *l, const int64_t *starts, int64_t count, block *x) {
  gather(&l->from, (track){starts, l->from_step, 1, count, l->lanes}, l->lanes, *x);
}

/* On a line of odd length each number is read twice. */
static void read_real(const lines *l, const int64_t *starts, block *x) {
  /* of a line of one element the stride may be any number, which reaches nothing */
  const int64_t twice = (int64_t)(2 * (uint64_t)l->from_step);
  track t = {starts, twice, l->from_step, l->length / 2, l->lanes};
  if (!l->is_even)
    t = (track){starts, l->from_step, 0, l->length, l->lanes};
  gather(&l->from, t, l->lanes, *x);
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
    halves_split(l, y, x);
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
static void scatter(const lines *l, int64_t offset, track t, block from, double im) {
  if (l->to.is_f32)
    scatter_float(&t, l->lanes, from, l->scale, im * l->scale, (float *)l->to.data + offset);
  else
    scatter_double(&t, l->lanes, from, l->scale, im * l->scale, (double *)l->to.data + offset);
}

static void write_complex(const lines *l, const int64_t *starts, int64_t used, int64_t count,
                          const block *x) {
  scatter(l, 0, (track){starts, l->to_step, 1, count, used}, *x, 1);
}

/* On a real line the second half is the conjugate of the first one, from the end on. */
static void write_of_real(const lines *l, const int64_t *starts, int64_t used, block *x, block *y) {
  int64_t half = l->length / 2, rest = l->written - half - 1;
  block *done = l->is_even ? y : x;
  if (l->is_even)
    halves_join(l, x, y);
  write_complex(l, starts, used, half + 1, done);
  if (rest > 0)
    scatter(l, (l->length - 1) * l->to_step, (track){starts, -l->to_step, 1, rest, used},
            (block){done->re + l->lanes, done->im + l->lanes}, -1);
}

/* On a line of odd length the imaginary parts are ignored, and the real ones are written twice. */
static void write_real(const lines *l, const int64_t *starts, int64_t used, const block *x) {
  track t = {starts, 2 * l->to_step, l->to_step, l->length / 2, used};
  if (!l->is_even)
    t = (track){starts, l->to_step, 0, l->length, used};
  scatter(l, 0, t, l->is_even ? *x : (block){x->re, x->re}, 1);
}

/* The way back is the way there with real and imaginary parts exchanged. */
static void transform(const lines *l, block *x, block *y) {
  if (l->is_inverse)
    *x = (block){x->im, x->re}, *y = (block){y->im, y->re};
  fnzi_cpu_fft_lines(&l->plan, l->lanes, x, y);
  if (l->is_inverse)
    *x = (block){x->im, x->re}, *y = (block){y->im, y->re};
}

/* Lines that a last block lacks are its first one again. */
static void transform_block(const void *user, int64_t i, int thread) {
  const lines *l = user;
  int64_t from[FNZI_FFT_LANES], to[FNZI_FFT_LANES], first = i * l->lanes;
  int64_t used = l->count - first < l->lanes ? l->count - first : l->lanes;
  double *memory = l->memory + (int64_t)thread * 4 * l->room;
  block x = {memory, memory + l->room}, y = {memory + 2 * l->room, memory + 3 * l->room};
  for (int64_t q = 0; q < l->lanes; q++)
    lines_start(l, first + (q < used ? q : 0), &from[q], &to[q]);
  if (l->kind == COMPLEX)
    read_complex(l, from, l->length, &x);
  else if (l->kind == OF_REAL)
    read_real(l, from, &x);
  else
    read_half(l, from, &x, &y);
  transform(l, &x, &y);
  if (l->kind == COMPLEX)
    write_complex(l, to, used, l->length, &x);
  else if (l->kind == OF_REAL)
    write_of_real(l, to, used, &x, &y);
  else
    write_real(l, to, used, &x);
}

/* --- One dimension ----------------------------------------------------------------------- */
/* Lines side by side are worth it while two blocks stay near, and to fill the first passes. */
static int64_t lanes_for(int64_t count, int64_t points) {
  enum { WORTH_LANES = 3, NEAR_POINTS = 8192 };
  return count >= WORTH_LANES && points <= NEAR_POINTS ? FNZI_FFT_LANES : 1;
}

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

/* Transforms along one dimension; `l` has the kind of transform and its ends. `sizes` are the sizes
 * of the other dimensions. */
static fnz_status transform_along(fnzi_krn_call *call, lines *l, uint32_t rank,
                                  const int64_t *sizes, uint32_t along) {
  enum { APART = 200 }; /* parts of a power of two would lie at the same places of a cache */
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
  l->lanes = lanes_for(l->count, points);
  l->room = points * l->lanes + APART;
  FNZ_TRY(fnzi_krn_room_take(call, 4 * l->room * fnzi_cpu_lanes(call), sizeof(double), &memory));
  l->memory = memory;
  fnzi_cpu_rows_spread(call, (l->count + l->lanes - 1) / l->lanes, points * l->lanes,
                       transform_block, l);
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

static ends ends_of_array(const fnzi_krn_array *a) {
  return ends_of(a->place.dtype, a->place.rank, a->place.strides, fnzi_krn_array_data(a));
}

/* Room for complex doubles of these sizes. */
static fnz_status make_between(fnzi_krn_call *call, uint32_t rank, const int64_t *sizes,
                               ends *out) {
  int64_t strides[FNZ_MAX_RANK], count = 1;
  void *data;
  for (uint32_t d = 0; d < rank; d++)
    count *= sizes[d];
  fnzi_contiguous_strides(sizes, rank, strides);
  FNZ_TRY(fnzi_krn_room_take(call, count, 2 * sizeof(double), &data));
  *out = ends_of(FNZ_C128, rank, strides, data);
  return FNZ_OK;
}

/* Complex transforms along the first `count` of the dimensions: all results but the last go to
 * `between`. */
typedef struct transforms {
  size_t count;
  const int64_t *sizes;
  bool is_inverse;
  ends from, between, to;
  double scale;
} transforms;

static fnz_status transform_complex(fnzi_krn_call *call, const asked *a, const transforms *t) {
  for (size_t i = 0; i < t->count; i++) {
    bool is_last = i + 1 == t->count;
    lines l = {.kind = COMPLEX,
               .is_inverse = t->is_inverse,
               .length = t->sizes[a->dims[i]],
               .from = i ? t->between : t->from,
               .to = is_last ? t->to : t->between,
               .scale = is_last ? t->scale : 1};
    FNZ_TRY(transform_along(call, &l, a->rank, t->sizes, a->dims[i]));
  }
  return FNZ_OK;
}

fnz_status fnzi_kernel_fourier(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0), *out = call->outputs[0];
  bool is_inverse = !fnzi_krn_named_bool(call, "forward", true);
  ends between = {0};
  asked a;
  FNZ_TRY(ask(call, &self->geometry, &a));
  if (fnzi_krn_array_numel(self) == 0)
    return FNZ_OK;
  if (a.count == 0)
    return fnzi_krn_array_assign(call, out, self);
  if (a.count > 1)
    FNZ_TRY(make_between(call, a.rank, self->place.sizes, &between));
  return transform_complex(call, &a,
                           &(transforms){.count = a.count,
                                         .sizes = self->place.sizes,
                                         .is_inverse = is_inverse,
                                         .from = ends_of_array(self),
                                         .between = between,
                                         .to = ends_of_array(out),
                                         .scale = a.scale});
}

/* The last dimension first, so that the others have half as many lines. */
fnz_status fnzi_kernel_fourier_of_real(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0), *out = call->outputs[0];
  ends between = {0};
  asked a;
  FNZ_TRY(ask(call, &self->geometry, &a));
  if (fnzi_krn_array_numel(out) == 0)
    return FNZ_OK;
  if (a.count > 1)
    FNZ_TRY(make_between(call, a.rank, out->place.sizes, &between));
  uint32_t last = a.dims[a.count - 1];
  lines l = {.kind = OF_REAL,
             .length = self->place.sizes[last],
             .written = out->place.sizes[last],
             .from = ends_of_array(self),
             .to = a.count > 1 ? between : ends_of_array(out),
             .scale = a.count > 1 ? 1 : a.scale};
  FNZ_TRY(transform_along(call, &l, a.rank, self->place.sizes, last));
  return transform_complex(call, &a,
                           &(transforms){.count = a.count - 1,
                                         .sizes = out->place.sizes,
                                         .from = between,
                                         .between = between,
                                         .to = ends_of_array(out),
                                         .scale = a.scale});
}

/* The last dimension last. */
fnz_status fnzi_kernel_fourier_to_real(fnzi_krn_call *call) {
  const fnzi_krn_array *self = fnzi_krn_call_input(call, 0), *out = call->outputs[0];
  ends between = {0};
  asked a;
  FNZ_TRY(ask(call, &out->geometry, &a));
  if (fnzi_krn_array_numel(out) == 0)
    return FNZ_OK;
  if (a.count > 1)
    FNZ_TRY(make_between(call, a.rank, self->place.sizes, &between));
  FNZ_TRY(transform_complex(call, &a,
                            &(transforms){.count = a.count - 1,
                                          .sizes = self->place.sizes,
                                          .is_inverse = true,
                                          .from = ends_of_array(self),
                                          .between = between,
                                          .to = between,
                                          .scale = 1}));
  uint32_t last = a.dims[a.count - 1];
  lines l = {.kind = TO_REAL,
             .is_inverse = true,
             .length = out->place.sizes[last],
             .from = a.count > 1 ? between : ends_of_array(self),
             .to = ends_of_array(out),
             .scale = a.scale};
  return transform_along(call, &l, a.rank, out->place.sizes, last);
}
