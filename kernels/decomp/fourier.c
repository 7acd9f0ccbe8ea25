/* fourier.c - Fourier transforms as operators call them: with lengths, which cut or pad, and names
 * of divisors; and short-time transforms (stft, istft). */
#include "kernels/decomp/decomp.h"

/* The dimensions that are transformed, and how many elements of each. */
typedef struct axes {
  int64_t dims[FNZ_MAX_RANK], sizes[FNZ_MAX_RANK];
  size_t count;
} axes;

enum { BY_NOTHING, BY_ROOT, BY_COUNT };

/* The way there is not divided, the way back by the count, if nothing else is said. */
static int64_t divided(fnzi_dec_steps *s, bool forward) {
  const fnz_arg *norm = fnzi_krn_named(s->call, "norm");
  const char *name = norm && norm->tag == FNZ_ARG_STRING ? norm->u.s : "backward";
  if (strcmp(name, "ortho") == 0)
    return BY_ROOT;
  if (strcmp(name, "forward") != 0 && strcmp(name, "backward") != 0)
    fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT, "norm is %s; it must be forward, backward or ortho",
                    name);
  return (strcmp(name, "forward") == 0) == forward ? BY_COUNT : BY_NOTHING;
}

static bool is_complex(const fnzi_krn_array *a) {
  return fnzi_is_complex(fnzi_dec_array_dtype(a));
}

/* Integers become f32; on a CPU there are no transforms of halves. */
static fnzi_krn_array *self_get(fnzi_dec_steps *s, bool complex) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self");
  fnz_dtype dtype = fnzi_dec_array_dtype(a);
  if (!fnzi_is_float(dtype) && !is_complex(a))
    dtype = FNZ_F32;
  if (dtype != FNZ_F32 && dtype != FNZ_F64 && !is_complex(a))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE, "self is %s; on a CPU it must be f32, f64, c64 or c128",
                    fnzi_dtype(dtype)->name);
  if (complex && !is_complex(a))
    dtype = dtype == FNZ_F64 ? FNZ_C128 : FNZ_C64;
  return fnzi_dec_cast(s, a, dtype);
}

static bool fourier_is_given(const fnz_arg *arg) {
  return arg && arg->tag != FNZ_ARG_NONE;
}

/* The dimensions of an operator with one dimension, or with several: all, or as many of the last as
 * there are sizes, if none are named. */
static void axes_get(fnzi_dec_steps *s, const fnzi_krn_array *a, axes *w) {
  const int64_t *dims = NULL, *sizes = NULL;
  size_t lengths = 0;
  bool one = fnzi_op_param(s->call->op, "n") >= 0;
  const char *length = one ? "n" : "s";
  int64_t rank = fnzi_dec_array_rank(a);
  bool has_dims = fourier_is_given(fnzi_krn_named(s->call, "dim"));
  bool has_sizes = fourier_is_given(fnzi_krn_named(s->call, length));
  w->count = (size_t)rank;
  if (has_sizes)
    fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, length, &sizes, &lengths));
  if (has_dims)
    fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "dim", &dims, &w->count));
  else if (has_sizes)
    w->count = lengths;
  if (s->status == FNZ_OK && (w->count > (size_t)rank || (has_sizes && lengths != w->count)))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "%s has %zu sizes for %zu dimensions, self has %lld",
                    length, lengths, w->count, (long long)rank);
  for (size_t i = 0; s->status == FNZ_OK && i < w->count; i++) {
    int64_t dim = dims ? dims[i] : rank - (int64_t)w->count + (int64_t)i;
    if (dim < -rank || dim >= rank)
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "dim has %lld; self has %lld dimensions", (long long)dim,
                      (long long)rank);
    w->dims[i] = dim < 0 ? dim + rank : dim;
    w->sizes[i] = sizes && (one || sizes[i] != -1) ? sizes[i] : fnzi_dec_array_size(a, dim);
    if (w->sizes[i] < 1)
      fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "dimension %lld would have %lld elements; it needs one",
                      (long long)dim, (long long)w->sizes[i]);
  }
}

/* Cut where there are more elements than asked for, zeroes behind where there are less. */
static fnzi_krn_array *fitted(fnzi_dec_steps *s, fnzi_krn_array *a, const axes *w) {
  int64_t pads[2 * FNZ_MAX_RANK] = {0};
  int64_t rank = fnzi_dec_array_rank(a);
  bool is_longer = false;
  for (size_t i = 0; s->status == FNZ_OK && i < w->count; i++) {
    int64_t more = w->sizes[i] - fnzi_dec_array_size(a, w->dims[i]);
    if (more < 0)
      a = fnzi_part(s, a, w->dims[i], 0, w->sizes[i]);
    pads[2 * (rank - 1 - w->dims[i]) + 1] = more > 0 ? more : 0;
    is_longer = is_longer || more > 0;
  }
  return is_longer ? STEP(constant_pad_nd, V(a), fnzi_dec_ints(s, pads, 2 * (size_t)rank)) : a;
}

static fnz_arg dims_of(fnzi_dec_steps *s, const axes *w) {
  return fnzi_dec_ints(s, w->dims, w->count);
}

/* --- Complex results --------------------------------------------------------------------- */
static fnzi_krn_array *conjugate(fnzi_dec_steps *s, fnzi_krn_array *a) {
  return STEP(_conj_physical, V(a));
}

/* The transform of real numbers, by half of the result or all of it; the inverse is the
 * conjugate. */
static void give_of_real(fnzi_dec_steps *s, bool half, bool forward) {
  fnzi_krn_array *a = self_get(s, false);
  axes w = {.count = 0};
  int64_t scaling = divided(s, forward);
  axes_get(s, a, &w);
  a = fitted(s, a, &w);
  a = STEP(_fft_r2c, V(a), dims_of(s, &w), I(scaling), B(half));
  fnzi_dec_result_give(s, forward ? a : conjugate(s, a));
}

static void give_complex_ways(fnzi_dec_steps *s, bool forward) {
  fnzi_krn_array *a = self_get(s, true);
  axes w = {.count = 0};
  int64_t scaling = divided(s, forward);
  axes_get(s, a, &w);
  a = fitted(s, a, &w);
  fnzi_dec_result_give(s, STEP(_fft_c2c, V(a), dims_of(s, &w), I(scaling), B(forward)));
}

DECOMP(fft_one) {
  if (is_complex(fnzi_dec_given_array(s, "self")))
    give_complex_ways(s, true);
  else
    give_of_real(s, false, true);
}
DECOMP(fft_one_back) {
  if (is_complex(fnzi_dec_given_array(s, "self")))
    give_complex_ways(s, false);
  else
    give_of_real(s, false, false);
}
DECOMP(fft_some) {
  give_complex_ways(s, true);
}
DECOMP(fft_some_back) {
  give_complex_ways(s, false);
}
DECOMP(fft_of_real) {
  give_of_real(s, true, true);
}
DECOMP(fft_of_real_back) {
  give_of_real(s, true, false);
}

/* All dimensions except the last. */
static fnz_arg dims_before(fnzi_dec_steps *s, const axes *w) {
  return fnzi_dec_ints(s, w->dims, w->count - 1);
}
static void check_axes(fnzi_dec_steps *s, const axes *w) {
  if (w->count == 0)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "no dimension is transformed; it needs one");
}

/* The last dimension first, the others back from its conjugate. */
DECOMP(fft_some_of_real_back) {
  fnzi_krn_array *a = self_get(s, false);
  axes w = {.count = 0};
  int64_t scaling = divided(s, false);
  axes_get(s, a, &w);
  check_axes(s, &w);
  if (s->status != FNZ_OK)
    return;
  a = fitted(s, a, &w);
  a = STEP(_fft_r2c, V(a), INTS(w.dims[w.count - 1]), I(scaling), B(true));
  a = conjugate(s, a);
  fnzi_dec_result_give(
      s, w.count == 1 ? a : STEP(_fft_c2c, V(a), dims_before(s, &w), I(scaling), B(false)));
}

/* --- Real results ------------------------------------------------------------------------ */
/* Half of the last dimension is read; without a length it is the even one that has that half. */
static fnzi_krn_array *half_of_real(fnzi_dec_steps *s, axes *w, int64_t *size) {
  fnzi_krn_array *a = self_get(s, true);
  const char *length = fnzi_op_param(s->call->op, "n") >= 0 ? "n" : "s";
  const int64_t *sizes;
  size_t count = 0;
  axes_get(s, a, w);
  check_axes(s, w);
  if (s->status == FNZ_OK && fourier_is_given(fnzi_krn_named(s->call, length)))
    fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, length, &sizes, &count));
  if (s->status != FNZ_OK)
    return NULL;
  int64_t *last = &w->sizes[w->count - 1];
  *size = count && sizes[count - 1] != -1 ? *last : 2 * (*last - 1);
  if (*size < 1)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "%s is not given, and a dimension of one element would have none; give it",
                    length);
  *last = *size / 2 + 1;
  return fitted(s, a, w);
}

DECOMP(fft_to_real) {
  axes w = {.count = 0};
  int64_t size = 0, scaling = divided(s, false);
  fnzi_krn_array *a = half_of_real(s, &w, &size);
  fnzi_dec_result_give(s, STEP(_fft_c2r, V(a), dims_of(s, &w), I(scaling), I(size)));
}

/* The other dimensions first; the rest is the inverse of the conjugate. */
DECOMP(fft_to_real_there) {
  axes w = {.count = 0};
  int64_t size = 0, scaling = divided(s, true);
  fnzi_krn_array *a = half_of_real(s, &w, &size);
  if (s->status != FNZ_OK)
    return;
  if (w.count > 1)
    a = STEP(_fft_c2c, V(a), dims_before(s, &w), I(scaling), B(true));
  a = conjugate(s, a);
  fnzi_dec_result_give(s, STEP(_fft_c2r, V(a), INTS(w.dims[w.count - 1]), I(scaling), I(size)));
}

/* --- Frequencies ------------------------------------------------------------------------- */
/* 0, 1, 2 ..., from the middle on the negative ones, each by n d. */
static void give_frequencies(fnzi_dec_steps *s, bool half) {
  int64_t n = fnzi_krn_named_int(s->call, "n", 0);
  double d = fnzi_krn_named_float(s->call, "d", 1);
  fnz_dtype type = fnzi_krn_dtype_target(s->call, FNZ_F32);
  fnz_arg dtype = DTYPE(type);
  if (n < 0 || !fnzi_is_float(type))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE,
                    "n is %lld and dtype %s; it needs a count and a floating-point type",
                    (long long)n, fnzi_dtype(type)->name);
  if (s->status != FNZ_OK)
    return;
  fnzi_krn_array *a = STEP(arange, I(half ? n / 2 + 1 : n / 2 + n % 2), dtype);
  if (!half)
    a = fnzi_dec_cat(s, (fnzi_krn_array *[]){a, STEP(arange__start, I(-(n / 2)), I(0), dtype)}, 2,
                     0);
  fnzi_dec_result_give(s, STEP(mul__Scalar, V(a), F(1 / ((double)n * d))));
}
DECOMP(fft_frequencies) {
  give_frequencies(s, false);
}
DECOMP(fft_half_frequencies) {
  give_frequencies(s, true);
}

/* --- Short times ------------------------------------------------------------------------- */
typedef struct frames {
  int64_t length, hop;    /* of a frame, and from one to the next */
  fnzi_krn_array *window; /* as long as a frame; NULL: ones */
  bool half;
  int64_t scaling;
} frames;

static void frames_get(fnzi_dec_steps *s, fnzi_krn_array *a, bool half, frames *f) {
  f->length = fnzi_krn_named_int(s->call, "n_fft", 0);
  f->hop = fnzi_krn_named_int(s->call, "hop_length", f->length / 4);
  f->window = fnzi_dec_given_array(s, "window");
  f->half = fnzi_krn_named_bool(s->call, "onesided", half);
  f->scaling = fnzi_krn_named_bool(s->call, "normalized", false);
  int64_t own = fnzi_krn_named_int(s->call, "win_length", f->length);
  uint32_t rank = fnzi_dec_array_rank(a);
  if (f->length < 1 || f->hop < 1 || own < 1 || own > f->length)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "n_fft is %lld, hop_length %lld, win_length %lld; all must be positive, and a "
                    "window not longer than n_fft",
                    (long long)f->length, (long long)f->hop, (long long)own);
  if (f->window && (fnzi_dec_array_rank(f->window) != 1 || fnzi_dec_array_numel(f->window) != own))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "window must have one dimension of win_length, %lld",
                    (long long)own);
  if (rank < 1)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "self has no dimensions; it needs one");
  if (s->status != FNZ_OK || own == f->length)
    return;
  if (!f->window)
    f->window = STEP(ones, INTS(own), DTYPE(fnzi_dec_array_dtype(a)));
  int64_t left = (f->length - own) / 2;
  f->window = STEP(constant_pad_nd, V(f->window), INTS(left, f->length - own - left));
}

/* Half a frame more on both sides, by pad_mode. */
static fnzi_krn_array *centered(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t more) {
  const char *mode = fnzi_krn_named_string(s->call, "pad_mode");
  a = STEP(unsqueeze, V(a), I(0));
  if (strcmp(mode, "reflect") == 0)
    a = STEP(reflection_pad1d, V(a), INTS(more, more));
  else if (strcmp(mode, "replicate") == 0)
    a = STEP(replication_pad1d, V(a), INTS(more, more));
  else if (strcmp(mode, "constant") == 0)
    a = STEP(constant_pad_nd, V(a), INTS(more, more));
  else
    fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT,
                    "pad_mode is %s; it must be reflect, replicate or constant", mode);
  return STEP(squeeze__dim, V(a), I(0));
}

/* Frames of the signal by the window, each transformed; frequencies come before times. */
DECOMP(short_times) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self"), *window = fnzi_dec_given_array(s, "window");
  frames f;
  bool complex = is_complex(a) || (window && is_complex(window));
  bool one = fnzi_dec_array_rank(a) == 1;
  frames_get(s, a, !complex, &f);
  if (!complex && !fourier_is_given(fnzi_krn_named(s->call, "return_complex")))
    fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT,
                    "return_complex is not given; numbers that are real need it");
  if (fnzi_krn_named_bool(s->call, "align_to_window", false))
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED, "align_to_window is True; pad the signal instead");
  if (fnzi_dec_array_rank(a) > 2 || fnzi_dec_array_size(a, -1) < f.length)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "self must have one or two dimensions, the last of at least n_fft, %lld",
                    (long long)f.length);
  if (complex && f.half)
    fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT,
                    "onesided is True, and self or window complex; it cannot be both");
  if (s->status != FNZ_OK)
    return;
  if (fnzi_krn_named_bool(s->call, "center", false))
    a = centered(s, a, f.length / 2);
  a = STEP(unfold, V(one ? STEP(unsqueeze, V(a), I(0)) : a), I(-1), I(f.length), I(f.hop));
  if (f.window)
    a = MUL(a, f.window);
  a = is_complex(a) ? STEP(_fft_c2c, V(a), INTS(2), I(f.scaling), B(true))
                    : STEP(_fft_r2c, V(a), INTS(2), I(f.scaling), B(f.half));
  a = STEP(transpose__int, V(a), I(1), I(2));
  a = one ? STEP(squeeze__dim, V(a), I(0)) : a;
  bool pairs = !fnzi_krn_named_bool(s->call, "return_complex", complex);
  fnzi_dec_result_give(s, pairs ? STEP(view_as_real, V(a)) : a);
}

/* Frames, a dimension of them and one of each, added where they lie in the signal, the first one
 * first. Each is cut into pieces as long as a hop: row r of the signal is the sum of piece j of
 * frame r - j, which no two frames share. Rows of zeros are added before and after the frames. */
static fnzi_krn_array *overlapped(fnzi_dec_steps *s, fnzi_krn_array *a, const frames *f) {
  int64_t batch = fnzi_dec_array_size(a, 0), count = fnzi_dec_array_size(a, 1);
  int64_t last = (f->length - 1) / f->hop, rows = count + last;
  fnzi_krn_array *sum = NULL;
  a = STEP(constant_pad_nd, V(a), INTS(0, (last + 1) * f->hop - f->length, last, last));
  for (int64_t j = last; j >= 0 && s->status == FNZ_OK; j--) {
    fnzi_krn_array *piece = fnzi_part(s, fnzi_part(s, a, 1, last - j, rows), 2, j * f->hop, f->hop);
    sum = sum ? ADD(sum, piece) : piece;
  }
  return fnzi_part(s, RESHAPED(sum, batch, rows * f->hop), 1, 0, f->length + f->hop * (count - 1));
}

/* If no window covers an element the signal is lost there. */
static void check_envelope(fnzi_dec_steps *s, fnzi_krn_array *envelope) {
  const void *data = NULL;
  if (s->status != FNZ_OK || s->script || !fnzi_dec_can_look(s))
    return;
  s->status = fnzi_krn_dense_get_as(s->call, envelope, FNZ_F64, &data);
  int64_t count = s->status == FNZ_OK ? fnzi_dec_array_numel(envelope) : 0;
  for (int64_t i = 0; i < count; i++)
    if (((const double *)data)[i] < 1e-11)
      fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT,
                      "the windows' squares add up to %g at place %lld; they must leave no gap",
                      ((const double *)data)[i], (long long)i);
}

/* The requested part of a signal. */
static fnzi_krn_array *trimmed(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t start, int64_t end) {
  int64_t have = fnzi_dec_array_size(a, 1);
  return fnzi_part(s, a, 1, start, (end < have ? end : have) - start);
}

/* Each frame transformed back, by the window, and the sum of them by that of the windows' squares.
 */
static void check_spectra(fnzi_dec_steps *s, const fnzi_krn_array *a, const frames *f,
                          bool to_complex) {
  uint32_t rank = fnzi_dec_array_rank(a);
  if (!is_complex(a) || (rank != 3 && rank != 2))
    fnzi_dec_refuse(s, FNZ_CLASS_TYPE,
                    "self is %s with %u dimensions; it must be complex, with 2 or 3",
                    fnzi_dtype(fnzi_dec_array_dtype(a))->name, rank);
  if (fnzi_dec_array_numel(a) == 0)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "self has no elements");
  if (f->hop > fnzi_krn_named_int(s->call, "win_length", f->length))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS,
                    "hop_length is %lld; frames of that distance leave gaps between the windows",
                    (long long)f->hop);
  if (to_complex ? f->half : f->window && is_complex(f->window))
    fnzi_dec_refuse(s, FNZ_CLASS_ARGUMENT,
                    to_complex ? "return_complex is True, and so is onesided; it cannot be both"
                               : "window is complex; set return_complex");
  if (s->status == FNZ_OK &&
      fnzi_dec_array_size(a, -2) != (f->half ? f->length / 2 + 1 : f->length))
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "self has %lld frequencies; n_fft %lld gives others",
                    (long long)fnzi_dec_array_size(a, -2), (long long)f->length);
}

DECOMP(short_times_back) {
  fnzi_krn_array *a = fnzi_dec_given_array(s, "self");
  frames f;
  bool one = fnzi_dec_array_rank(a) == 2, center = fnzi_krn_named_bool(s->call, "center", true);
  bool to_complex = fnzi_krn_named_bool(s->call, "return_complex", false);
  frames_get(s, a, fnzi_dec_array_size(a, -2) != fnzi_krn_named_int(s->call, "n_fft", 0), &f);
  check_spectra(s, a, &f, to_complex);
  if (s->status != FNZ_OK)
    return;
  fnz_dtype real = fnzi_dec_array_dtype(a) == FNZ_C64 ? FNZ_F32 : FNZ_F64;
  if (!f.window)
    f.window = STEP(ones, INTS(f.length), DTYPE(real));
  a = STEP(transpose__int, V(one ? STEP(unsqueeze, V(a), I(0)) : a), I(1), I(2));
  int64_t count = fnzi_dec_array_size(a, 1), scaling = f.scaling ? BY_ROOT : BY_COUNT;
  if (to_complex)
    a = STEP(_fft_c2c, V(a), INTS(2), I(scaling), B(false));
  else
    a = STEP(_fft_c2r, V(f.half ? a : fnzi_part(s, a, 2, 0, f.length / 2 + 1)), INTS(2), I(scaling),
             I(f.length));
  a = overlapped(s, MUL(a, f.window), &f);
  fnzi_krn_array *squares = STEP(expand, V(MUL(f.window, f.window)), INTS(1, count, f.length));
  fnzi_krn_array *envelope = overlapped(s, squares, &f);
  int64_t whole = f.length + f.hop * (count - 1), start = center ? f.length / 2 : 0;
  int64_t end = center ? whole - f.length / 2 : whole;
  const fnz_arg *length = fnzi_krn_named(s->call, "length");
  if (fourier_is_given(length))
    end = start + fnzi_krn_named_int(s->call, "length", 0);
  if (s->status != FNZ_OK)
    return;
  if (end < start || start > whole)
    fnzi_dec_refuse(s, FNZ_CLASS_BOUNDS, "a signal of %lld elements has none from %lld to %lld",
                    (long long)whole, (long long)start, (long long)end);
  envelope = trimmed(s, envelope, start, end);
  check_envelope(s, envelope);
  a = DIV(trimmed(s, a, start, end), envelope);
  a = one ? STEP(squeeze__dim, V(a), I(0)) : a;
  fnzi_dec_result_give(s, end > whole ? STEP(constant_pad_nd, V(a), INTS(0, end - whole)) : a);
}
