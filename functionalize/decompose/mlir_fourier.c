/* mlir_fourier.c - Fourier transforms as products with matrices of cosines and sines. That is n * n
 * multiplications for n numbers, but compilers for devices are good at products, so it pays unless
 * n is large. */
#include "functionalize/decompose/mlir_complex.h"

#include <math.h>

#define CIRCLE 6.283185307179586477     /* 2 pi */
enum { MOST = 4096 };                   /* a matrix of 64 MiB */
enum { BY_NOTHING, BY_ROOT, BY_COUNT }; /* PyTorch's fft_norm_mode: none, by_root_n, by_n */

/* --- the matrices ----------------------------------------------------------------------------- */
/* cos and sin of 2 pi j k / n, for j below `rows` and k below `columns`. */
static fnzi_dcm_cx circle(fnzi_dec_steps *s, int64_t n, int64_t rows, int64_t columns,
                          fnz_dtype dtype) {
  if (n < 1 || n > MOST) {
    fnzi_dec_refuse(s, FNZ_CLASS_UNSUPPORTED,
                    "a transform of %lld numbers; at most %d are possible", (long long)n, MOST);
    return CX(NULL, NULL);
  }
  fnzi_krn_array *j = STEP(unsqueeze, V(STEP(arange, I(rows), DTYPE(FNZ_I64))), I(1));
  fnzi_krn_array *k = STEP(arange, I(columns), DTYPE(FNZ_I64));
  fnzi_krn_array *parts = STEP(remainder__Scalar, V(MUL(j, k)), I(n));
  fnzi_krn_array *angle = fnzi_dec_times(s, fnzi_dec_cast(s, parts, dtype), CIRCLE / (double)n);
  return CX(STEP(cos, V(angle)), STEP(sin, V(angle)));
}

#define PRODUCT(a, b) STEP(matmul, V(a), V(b))

/* --- dimensions ------------------------------------------------------------------------------- */
typedef struct transform_dims {
  const int64_t *dims;
  size_t count;
} transform_dims;

static transform_dims named_dims(fnzi_dec_steps *s) {
  transform_dims w = {NULL, 0};
  fnzi_dec_status_note(s, fnzi_krn_named_ints(s->call, "dim", &w.dims, &w.count));
  return s->status == FNZ_OK ? w : (transform_dims){NULL, 0};
}

static fnzi_krn_array *to_end(fnzi_dec_steps *s, fnzi_krn_array *a, int64_t dim) {
  return STEP(transpose__int, V(a), I(dim), I(-1));
}

static fnzi_dcm_cx along(fnzi_dec_steps *s, fnzi_dcm_cx z, int64_t dim, bool forward) {
  z = CX(to_end(s, z.re, dim), to_end(s, z.im, dim));
  int64_t n = SIZE(z.re, -1);
  fnzi_dcm_cx c = circle(s, n, n, n, DTYPE_OF(z.re));
  fnzi_krn_array *across = PRODUCT(z.im, c.im), *along = PRODUCT(z.re, c.im);
  fnzi_krn_array *re = PRODUCT(z.re, c.re), *im = PRODUCT(z.im, c.re);
  z = forward ? CX(ADD(re, across), SUB(im, along)) : CX(SUB(re, across), ADD(im, along));
  return CX(to_end(s, z.re, dim), to_end(s, z.im, dim));
}

/* Returns the factor that normalizes a transform of `count` numbers. */
static double factor(const fnzi_dec_steps *s, double count) {
  int64_t by = GIVEN_INT("normalization");
  return by == BY_ROOT ? 1 / sqrt(count) : by == BY_COUNT ? 1 / count : 1;
}

static double fourier_count_of(const fnzi_krn_array *a, transform_dims w) {
  double count = 1;
  for (size_t i = 0; i < w.count; i++)
    count *= (double)SIZE(a, w.dims[i]);
  return count;
}

static void give_scaled(fnzi_dec_steps *s, fnzi_dcm_cx z, double by) {
  GIVE(fnzi_dcm_cx_whole(s, by == 1 ? z : fnzi_dcm_cx_scaled(s, z, by)));
}

/* --- transforms ------------------------------------------------------------------------------- */
TAKE_APART(fourier) {
  fnzi_krn_array *self = GIVEN("self");
  fnzi_dcm_cx z = fnzi_dcm_cx_of(s, self);
  transform_dims w = named_dims(s);
  for (size_t i = 0; i < w.count; i++)
    z = along(s, z, w.dims[i], GIVEN_BOOL("forward"));
  give_scaled(s, z, factor(s, fourier_count_of(self, w)));
}

/* In a transform of real numbers, element n - k is the conjugate of element k. A one-sided result
 * has only elements 0 to n / 2 of the last dimension. */
TAKE_APART(fourier_of_real) {
  fnzi_krn_array *self = GIVEN("self");
  transform_dims w = named_dims(s);
  int64_t last = w.count ? w.dims[w.count - 1] : 0, n = SIZE(self, last);
  int64_t kept = GIVEN_BOOL("onesided") ? n / 2 + 1 : n;
  fnzi_dcm_cx c = circle(s, n, n, kept, DTYPE_OF(self));
  fnzi_krn_array *a = to_end(s, self, last);
  fnzi_dcm_cx z = CX(PRODUCT(a, c.re), STEP(neg, V(PRODUCT(a, c.im))));
  z = CX(to_end(s, z.re, last), to_end(s, z.im, last));
  for (size_t i = 0; i + 1 < w.count; i++)
    z = along(s, z, w.dims[i], true);
  give_scaled(s, z, factor(s, fourier_count_of(self, w)));
}

/* The inverse, from a one-sided operand to real numbers. Element k counts twice, also for its
 * mirror image n - k, which the operand lacks, unless k is its own mirror image. */
TAKE_APART(fourier_to_real) {
  fnzi_krn_array *self = GIVEN("self");
  fnzi_dcm_cx z = fnzi_dcm_cx_of(s, self);
  transform_dims w = named_dims(s);
  int64_t n = GIVEN_INT("last_dim_size"), last = w.count ? w.dims[w.count - 1] : 0;
  double count = (double)n;
  for (size_t i = 0; i + 1 < w.count; i++) {
    z = along(s, z, w.dims[i], false);
    count *= (double)SIZE(self, w.dims[i]);
  }
  int64_t given = SIZE(self, last);
  fnzi_dcm_cx c = circle(s, n, given, n, DTYPE_OF(z.re));
  fnzi_krn_array *place = STEP(unsqueeze, V(STEP(arange, I(given), DTYPE(FNZ_I64))), I(1));
  fnzi_krn_array *mirror = STEP(remainder__Scalar, V(STEP(neg, V(place))), I(n ? n : 1));
  fnzi_krn_array *is_own = STEP(eq__Tensor, V(place), V(mirror));
  fnzi_krn_array *times = STEP(rsub__Scalar, V(fnzi_dec_cast(s, is_own, DTYPE_OF(z.re))), I(2));
  fnzi_krn_array *re = PRODUCT(to_end(s, z.re, last), MUL(c.re, times));
  fnzi_krn_array *im = PRODUCT(to_end(s, z.im, last), MUL(c.im, times));
  fnzi_krn_array *a = to_end(s, SUB(re, im), last);
  double by = factor(s, count);
  GIVE(by == 1 ? a : fnzi_dec_times(s, a, by));
}
