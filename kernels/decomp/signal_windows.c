/* signal_windows.c - windows for spectra: sums of cosines, triangles, Kaiser's. A periodic one is a
 * symmetric one of another place, without its last. */
#include "kernels/decomp/decomp.h"

static const double pi = 3.14159265358979323846;

typedef struct window {
  int64_t length; /* asked for */
  bool periodic;
  fnz_dtype dtype;
} window;

/* Whether there is anything to compute; else the result is given. */
static bool opens(fnzi_dec_steps *s, window *w) {
  *w = (window){.length = fnzi_krn_named_int(s->call, "window_length", 0),
                .periodic = fnzi_krn_named_bool(s->call, "periodic", true),
                .dtype = fnzi_krn_named_dtype(s->call, "dtype", FNZ_F32)};
  if (!fnzi_is_float(w->dtype) || w->length < 0 || w->length == INT64_MAX)
    fnzi_dec_refuse(
        s, FNZ_CLASS_TYPE,
        "a window of length %lld and type %s; it needs a length and a floating-point type",
        (long long)w->length, fnzi_dtype(w->dtype)->name);
  if (w->length > 1)
    return s->status == FNZ_OK;
  fnzi_dec_result_give(s, STEP(ones, INTS(w->length), DTYPE(w->dtype)));
  return false;
}

static int64_t windows_whole(const window *w) {
  return w->length + w->periodic;
}

/* 0, 1, 2 ... times a factor, at every place of the symmetric window. */
static fnzi_krn_array *windows_places(fnzi_dec_steps *s, const window *w, double factor) {
  fnzi_krn_array *at = STEP(arange, I(windows_whole(w)), DTYPE(w->dtype));
  return STEP(mul__Scalar, V(at), F(factor));
}

static void give_window(fnzi_dec_steps *s, const window *w, fnzi_krn_array *a) {
  fnzi_dec_result_give(s, w->periodic ? fnzi_part(s, a, 0, 0, w->length) : a);
}

static void cosine_window(fnzi_dec_steps *s, double alpha, double beta) {
  window w;
  if (!opens(s, &w))
    return;
  fnzi_krn_array *cosine =
      STEP(cos, V(windows_places(s, &w, 2 * pi / (double)(windows_whole(&w) - 1))));
  cosine = STEP(mul__Scalar, V(cosine), F(-beta));
  give_window(s, &w, STEP(add__Scalar, V(cosine), F(alpha)));
}

DECOMP(hann_window) {
  cosine_window(s, 0.5, 0.5);
}

DECOMP(hamming_window) {
  cosine_window(s, fnzi_krn_named_float(s->call, "alpha", 0.54),
                fnzi_krn_named_float(s->call, "beta", 0.46));
}

DECOMP(blackman_window) {
  window w;
  if (!opens(s, &w))
    return;
  fnzi_krn_array *at = windows_places(s, &w, pi / (double)(windows_whole(&w) - 1));
  fnzi_krn_array *fine = STEP(cos, V(STEP(mul__Scalar, V(at), I(4))));
  fnzi_krn_array *coarse = STEP(cos, V(STEP(mul__Scalar, V(at), I(2))));
  fnzi_krn_array *a =
      SUB(STEP(mul__Scalar, V(fine), F(0.08)), STEP(mul__Scalar, V(coarse), F(0.5)));
  give_window(s, &w, STEP(add__Scalar, V(a), F(0.42)));
}

/* A triangle. */
DECOMP(bartlett_window) {
  window w;
  if (!opens(s, &w))
    return;
  fnzi_krn_array *up = windows_places(s, &w, 2.0 / (double)(windows_whole(&w) - 1));
  fnzi_krn_array *down = STEP(rsub__Scalar, V(up), F(2));
  give_window(s, &w, STEP(minimum, V(up), V(down)));
}

/* I0 over half an ellipse, divided by its value in the middle. */
DECOMP(kaiser_window) {
  window w;
  double beta = fnzi_krn_named_float(s->call, "beta", 12);
  if (!opens(s, &w))
    return;
  double middle = (double)(windows_whole(&w) - 1) / 2;
  fnzi_krn_array *at = STEP(sub__Scalar, V(windows_places(s, &w, 1)), F(middle));
  at = STEP(square, V(STEP(div__Scalar, V(at), F(middle))));
  at = STEP(sqrt, V(STEP(rsub__Scalar, V(at), I(1))));
  at = STEP(i0, V(STEP(mul__Scalar, V(at), F(beta))));
  /* I0 of `beta` is its power series: with terms below an ulp of the sum behind. */
  double sum = 1, term = 1, quarter = beta * beta / 4;
  for (int k = 1; term > sum * 1e-17 && k < 10000; k++) {
    term *= quarter / ((double)k * (double)k);
    sum += term;
  }
  give_window(s, &w, STEP(div__Scalar, V(at), F(sum)));
}
