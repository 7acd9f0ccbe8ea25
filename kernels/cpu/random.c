/* random.c - tensors of random numbers by one law: uniform, normal, exponential, Cauchy,
 * log-normal, geometric. Words are used as PyTorch's CPU kernels use them, and what is computed of
 * them is fused where these are. */
#include "kernels/cpu/random.h"

#include <math.h>

/* --- Drawing ---------------------------------------------------------------------------------- */
static fnz_status find_generator(const fnzi_krn_call *call, fnz_generator **out) {
  *out = call->ctx->generator;
  if (*out)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_ARGUMENT,
                              "it draws random numbers, and the context has no generator; give it "
                              "one with fnz_context_set_generator()");
}

fnz_status fnzi_cpu_draw(fnzi_krn_call *call, const fnz_geometry *order, fnz_dtype dtype, void *out,
                         fnzi_cpu_draw_fn *fill, const void *law) {
  const int64_t count = fnz_geometry_numel(order);
  const int64_t parts = fnzi_is_complex(dtype) ? 2 : 1;
  const size_t cell = fnzi_dtype(dtype)->bytes;
  fnzi_krn_window to, same, drawn;
  fnz_generator *from;
  void *room;
  FNZ_TRY(find_generator(call, &from));
  if (count == 0)
    return FNZ_OK;
  if (fnzi_is_contiguous(order)) {
    fill(law, from, count * parts, out);
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_krn_room_take(call, count, cell, &room));
  fill(law, from, count * parts, room);
  fnzi_krn_window_dense(&to, dtype, order->rank, order->sizes, out);
  same = to;
  fnzi_krn_windows_in_order(order, order, &to, &same);
  fnzi_krn_window_dense(&drawn, dtype, to.rank, to.sizes, room);
  fnzi_krn_copy_cells(to.rank, to.sizes, to.data, to.strides, drawn.data, drawn.strides, cell, 1);
  return FNZ_OK;
}

fnz_status fnzi_cpu_draw_result(fnzi_krn_call *call, size_t k, fnz_dtype dtype,
                                fnzi_cpu_draw_fn *fill, const void *law) {
  void *out;
  FNZ_TRY(fnzi_krn_result_get_as(call, k, dtype, &out));
  return fnzi_cpu_draw(call, &call->outputs[k]->geometry, dtype, out, fill, law);
}

/* Floats are drawn as f32 or f64; complex numbers as two of these. */
static fnz_dtype float_type(fnz_dtype of) {
  return of == FNZ_F64 || of == FNZ_C64 || of == FNZ_C128 ? of : FNZ_F32;
}

static bool is_wide(fnz_dtype dtype) {
  return dtype == FNZ_F64 || dtype == FNZ_C128;
}

/* --- Uniform ---------------------------------------------------------------------------------- */
typedef struct uniform {
  double from, to;
  fnz_dtype dtype; /* of the result */
} uniform;

static float rounded(fnz_dtype dtype, float v) {
  unsigned char cell[16];
  if (dtype != FNZ_F16 && dtype != FNZ_BF16)
    return v;
  fnzi_krn_convert(dtype, cell, 0, FNZ_F32, &v, 0, 1);
  fnzi_krn_convert(FNZ_F32, &v, 0, dtype, cell, 0, 1);
  return v;
}

/* What rounding takes to the end becomes the start. */
static void draw_singles(const uniform *law, fnz_generator *g, int64_t count, float *out) {
  const float from = (float)law->from, to = (float)law->to, range = to - from;
  const float start = rounded(law->dtype, from), end = rounded(law->dtype, to);
  for (int64_t i = 0; i < count; i++) {
    float v = rounded(law->dtype, fmaf(fnzi_generator_single(g), range, from));
    out[i] = v == end ? start : v;
  }
}

static void draw_doubles(const uniform *law, fnz_generator *g, int64_t count, double *out) {
  const double range = law->to - law->from;
  for (int64_t i = 0; i < count; i++) {
    double v = fma(fnzi_generator_double(g), range, law->from);
    out[i] = v == law->to ? law->from : v;
  }
}

static void draw_uniform(const void *law, fnz_generator *g, int64_t count, void *out) {
  const uniform *u = law;
  if (is_wide(u->dtype))
    draw_doubles(u, g, count, out);
  else
    draw_singles(u, g, count, out);
}

/* rand, rand_like, uniform. */
fnz_status fnzi_kernel_uniform(fnzi_krn_call *call) {
  const uniform law = {fnzi_krn_named_float(call, "from", 0), fnzi_krn_named_float(call, "to", 1),
                       call->outputs[0]->geometry.dtype};
  return fnzi_cpu_draw_result(call, 0, float_type(law.dtype), draw_uniform, &law);
}

/* --- Normal ----------------------------------------------------------------------------------- */
typedef struct normal {
  double mean, deviation;
  bool is_double;
  bool in_groups; /* of 16 */
} normal;

enum { GROUP = 16, PAIRS = GROUP / 2 };

/* Box-Muller of uniforms: eight, and eight for their angles. */
static void turn_singles(const normal *law, float *x) {
  const float mean = (float)law->mean, deviation = (float)law->deviation;
  for (int i = 0; i < PAIRS; i++) {
    const float radius = sqrtf(-2.0f * (float)log((double)(1.0f - x[i])));
    const double angle = (double)(6.28318530717958647692f * x[i + PAIRS]);
    x[i] = fmaf(radius * (float)cos(angle), deviation, mean);
    x[i + PAIRS] = fmaf(radius * (float)sin(angle), deviation, mean);
  }
}

static void turn_doubles(const normal *law, double *x) {
  for (int i = 0; i < PAIRS; i++) {
    const double radius = sqrt(-2.0 * log(1.0 - x[i]));
    const double angle = 6.28318530717958647692 * x[i + PAIRS];
    x[i] = fma(radius * cos(angle), law->deviation, law->mean);
    x[i + PAIRS] = fma(radius * sin(angle), law->deviation, law->mean);
  }
}

/* All uniforms come first; where the last group is not full, the last 16 are drawn again. Words of
 * 16-bit floats come group by group, which is the same order but for the last ones. */
#define DRAW_GROUPS(T, next, turn)                                                                 \
  static void turn##_all(const normal *law, fnz_generator *g, int64_t count, bool is_half,         \
                         T *out) {                                                                 \
    const int64_t whole = count - count % GROUP;                                                   \
    for (int64_t i = 0; i < (is_half ? whole : count); i++)                                        \
      out[i] = next(g);                                                                            \
    for (int64_t i = 0; i < whole; i += GROUP)                                                     \
      turn(law, out + i);                                                                          \
    if (whole == count)                                                                            \
      return;                                                                                      \
    for (int64_t i = count - GROUP; i < count; i++)                                                \
      out[i] = next(g);                                                                            \
    turn(law, out + count - GROUP);                                                                \
  }
DRAW_GROUPS(float, fnzi_generator_single, turn_singles)
DRAW_GROUPS(double, fnzi_generator_double, turn_doubles)

typedef struct normal_draw {
  normal law;
  bool is_half;
} normal_draw;

static void draw_normal(const void *user, fnz_generator *g, int64_t count, void *out) {
  const normal_draw *d = user;
  const normal *law = &d->law;
  if (law->in_groups && count >= GROUP && law->is_double)
    turn_doubles_all(law, g, count, false, out);
  else if (law->in_groups && count >= GROUP)
    turn_singles_all(law, g, count, d->is_half, out);
  else
    for (int64_t i = 0; i < count; i++) {
      double v = fma(fnzi_generator_normal(g), law->deviation, law->mean);
      if (law->is_double)
        ((double *)out)[i] = v;
      else
        ((float *)out)[i] = (float)v;
    }
}

static fnz_status check_deviation(const fnzi_krn_call *call, double deviation) {
  if (deviation >= 0)
    return FNZ_OK;
  return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "the deviation is %g; it must be 0 or more",
                              deviation);
}

/* The deviation of a complex number is that of both parts together. */
static fnz_status normal_result(fnzi_krn_call *call, double mean, double deviation) {
  const fnz_geometry *g = &call->outputs[0]->geometry;
  const fnz_dtype dtype = float_type(g->dtype);
  normal_draw d = {{mean, fnzi_is_complex(dtype) ? deviation / sqrt(2) : deviation, is_wide(dtype),
                    fnzi_is_contiguous(g)},
                   g->dtype == FNZ_F16 || g->dtype == FNZ_BF16};
  return fnzi_cpu_draw_result(call, 0, dtype, draw_normal, &d);
}

/* randn, randn_like, normal_functional, normal.float_float. */
fnz_status fnzi_kernel_normal(fnzi_krn_call *call) {
  return normal_result(call, fnzi_krn_named_float(call, "mean", 0),
                       fnzi_krn_named_float(call, "std", 1));
}

/* A tensor, row-major and broadcast, or a number. */
static fnz_status open_number(fnzi_krn_call *call, const char *name, fnz_dtype dtype,
                              const void **cells, double *number) {
  const fnz_geometry *out = &call->outputs[0]->geometry;
  const fnzi_krn_array *a = fnzi_krn_named_array(call, name);
  const void *from;
  void *room;
  *number = a ? 0 : fnzi_krn_named_float(call, name, 0);
  *cells = NULL;
  if (!a)
    return FNZ_OK;
  FNZ_TRY(fnzi_krn_dense_get_as(call, a, dtype, &from));
  FNZ_TRY(fnzi_krn_room_take(call, fnz_geometry_numel(out), fnzi_dtype(dtype)->bytes, &room));
  fnzi_krn_window to, window;
  fnzi_krn_window_dense(&to, dtype, out->rank, out->sizes, room);
  fnzi_krn_window_dense(&window, dtype, a->geometry.rank, a->geometry.sizes, from);
  *cells = room;
  return fnzi_krn_window_assign(call, &to, &window, false);
}

static double number_at(const void *cells, double number, bool is_double, int64_t i) {
  if (!cells)
    return number;
  return is_double ? ((const double *)cells)[i] : (double)((const float *)cells)[i];
}

static fnz_status check_deviations(const fnzi_krn_call *call, const void *cells, double number,
                                   bool is_double, int64_t count) {
  for (int64_t i = 0; i < (cells ? count : 1); i++)
    FNZ_TRY(check_deviation(call, number_at(cells, number, is_double, i)));
  return FNZ_OK;
}

/* normal with tensors: drawn with mean 0, and with deviation 1 where that is a tensor. Eager
 * multiplies and adds step by step, in the type of the result. */
fnz_status fnzi_kernel_normal_of(fnzi_krn_call *call) {
  const fnz_geometry *g = &call->outputs[0]->geometry;
  const int64_t count = fnz_geometry_numel(g);
  const void *means, *deviations;
  double mean, deviation;
  const fnz_dtype dtype = float_type(g->dtype);
  void *out;
  const bool is_double = dtype == FNZ_F64;
  FNZ_TRY(open_number(call, "mean", dtype, &means, &mean));
  FNZ_TRY(open_number(call, "std", dtype, &deviations, &deviation));
  FNZ_TRY(check_deviations(call, deviations, deviation, is_double, count));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &out));
  const normal_draw d = {{0, deviations ? 1 : deviation, is_double, fnzi_is_contiguous(g)},
                         g->dtype == FNZ_F16 || g->dtype == FNZ_BF16};
  FNZ_TRY(fnzi_cpu_draw(call, g, dtype, out, draw_normal, &d));
  for (int64_t i = 0; i < count; i++) {
    const double factor = number_at(deviations, 1, is_double, i);
    const double term = number_at(means, mean, is_double, i);
    if (is_double)
      ((double *)out)[i] = ((double *)out)[i] * factor + term;
    else {
      float v = rounded(g->dtype, ((float *)out)[i]);
      v = deviations ? rounded(g->dtype, v * (float)factor) : v;
      ((float *)out)[i] = v + (float)term;
    }
  }
  return FNZ_OK;
}

/* --- Laws of doubles, rounded to the type of the result
 * ---------------------------------------------------------------- */
void fnzi_cpu_draw_exponential(const void *law, fnz_generator *g, int64_t count, void *out) {
  const fnzi_cpu_exponential *e = law;
  const double scale = -1.0 / e->rate;
  for (int64_t i = 0; i < count; i++) {
    const double v = scale * log1p(-fnzi_generator_double(g));
    if (e->is_double)
      ((double *)out)[i] = v;
    else
      ((float *)out)[i] = (float)v;
  }
}

fnz_status fnzi_kernel_exponential(fnzi_krn_call *call) {
  const fnzi_cpu_exponential law = {fnzi_krn_named_float(call, "lambd", 1),
                                    call->outputs[0]->geometry.dtype == FNZ_F64};
  return fnzi_cpu_draw_result(call, 0, law.is_double ? FNZ_F64 : FNZ_F32, fnzi_cpu_draw_exponential,
                              &law);
}

typedef struct pair {
  double first, second;
} pair;

static void draw_cauchy(const void *law, fnz_generator *g, int64_t count, void *out) {
  const pair *p = law;
  for (int64_t i = 0; i < count; i++)
    ((double *)out)[i] =
        fma(p->second, tan(3.14159265358979323846 * (fnzi_generator_double(g) - 0.5)), p->first);
}

static void draw_log_normal(const void *law, fnz_generator *g, int64_t count, void *out) {
  const pair *p = law;
  for (int64_t i = 0; i < count; i++)
    ((double *)out)[i] = exp(fma(fnzi_generator_normal(g), p->second, p->first));
}

static void draw_geometric(const void *law, fnz_generator *g, int64_t count, void *out) {
  const pair *p = law;
  for (int64_t i = 0; i < count; i++)
    ((double *)out)[i] = ceil(log(fnzi_generator_double(g)) / log1p(-p->first));
}

fnz_status fnzi_kernel_cauchy(fnzi_krn_call *call) {
  const pair law = {fnzi_krn_named_float(call, "median", 0),
                    fnzi_krn_named_float(call, "sigma", 1)};
  return fnzi_cpu_draw_result(call, 0, FNZ_F64, draw_cauchy, &law);
}

fnz_status fnzi_kernel_log_normal(fnzi_krn_call *call) {
  const pair law = {fnzi_krn_named_float(call, "mean", 1), fnzi_krn_named_float(call, "std", 2)};
  return fnzi_cpu_draw_result(call, 0, FNZ_F64, draw_log_normal, &law);
}

fnz_status fnzi_kernel_geometric(fnzi_krn_call *call) {
  const pair law = {fnzi_krn_named_float(call, "p", 0), 0};
  return fnzi_cpu_draw_result(call, 0, FNZ_F64, draw_geometric, &law);
}
