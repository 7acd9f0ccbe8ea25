/* random.c - tensors of random numbers by one law: uniform, normal, exponential, Cauchy,
 * log-normal, geometric. Words of mt19937 are used as PyTorch's CPU kernels use them, and
 * computations on them are fused where PyTorch fuses. */
#include "kernels/cpu/random.h"
#include "kernels/rows/rows.h"

#include <math.h>

/* --- Drawing ---------------------------------------------------------------------------------- */
/* Side by side. */
static fnz_status draw_row(fnzi_krn_call *call, fnz_dtype dtype, int64_t count, void *out,
                           const fnzi_cpu_law *law) {
  const int64_t parts = count * (fnzi_is_complex(dtype) ? 2 : 1);
  int64_t threads;
  FNZ_TRY(fnzi_cpu_threads_drawing(call, &threads));
  if (threads)
    return fnzi_cpu_draw_philox(call, dtype, parts, out, law);
  law->fill(law->user, call->ctx->generator, parts, out);
  return FNZ_OK;
}

fnz_status fnzi_cpu_draw(fnzi_krn_call *call, const fnz_geometry *order, fnz_dtype dtype, void *out,
                         const fnzi_cpu_law *law) {
  const int64_t count = fnz_geometry_numel(order);
  fnzi_krn_window to, same, drawn;
  void *room;
  if (count == 0 || fnzi_is_contiguous(order))
    return draw_row(call, dtype, count, out, law);
  FNZ_TRY(fnzi_krn_scratch_take(call, count, fnzi_dtype(dtype)->bytes, &room));
  FNZ_TRY(draw_row(call, dtype, count, room, law));
  fnzi_krn_window_dense(&to, dtype, order->rank, order->sizes, out);
  same = to;
  fnzi_krn_windows_in_order(order, order, &to, &same);
  fnzi_krn_window_dense(&drawn, dtype, to.rank, to.sizes, room);
  return fnzi_krn_window_assign(call, &to, &drawn, false);
}

fnz_status fnzi_cpu_draw_result(fnzi_krn_call *call, size_t k, fnz_dtype dtype,
                                const fnzi_cpu_law *law) {
  void *out;
  FNZ_TRY(fnzi_krn_result_get_as(call, k, dtype, &out));
  return fnzi_cpu_draw(call, &call->outputs[k]->geometry, dtype, out, law);
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

static float random_rounded(fnz_dtype dtype, float v) {
  unsigned char cell[16];
  if (dtype != FNZ_F16 && dtype != FNZ_BF16)
    return v;
  fnzi_krn_convert_one(dtype, cell, FNZ_F32, &v);
  fnzi_krn_convert_one(FNZ_F32, &v, dtype, cell);
  return v;
}

/* A number that rounds to the end becomes the start. */
static void draw_uniform(const void *law, fnz_generator *g, int64_t count, void *out) {
  const uniform u = *(const uniform *)law;
  if (is_wide(u.dtype)) {
    double *to = out;
    for (int64_t i = 0; i < count; i++) {
      double v = fma(fnzi_generator_double(g), u.to - u.from, u.from);
      to[i] = v == u.to ? u.from : v;
    }
    return;
  }
  const float from = (float)u.from, range = (float)u.to - from;
  const float start = random_rounded(u.dtype, from), end = random_rounded(u.dtype, (float)u.to);
  float *to = out;
  for (int64_t i = 0; i < count; i++) {
    float v = random_rounded(u.dtype, fmaf(fnzi_generator_single(g), range, from));
    to[i] = v == end ? start : v;
  }
}

/* A float as the result would hold it. */
static double random_held(fnz_dtype dtype, double v) {
  return is_wide(dtype) ? v : (double)random_rounded(dtype, (float)v);
}

/* rand, rand_like, uniform. */
fnz_status fnzi_kernel_uniform(fnzi_krn_call *call) {
  const uniform law = {fnzi_krn_named_float(call, "from", 0), fnzi_krn_named_float(call, "to", 1),
                       call->outputs[0]->geometry.dtype};
  const double from = random_held(law.dtype, law.from), to = random_held(law.dtype, law.to);
  return fnzi_cpu_draw_result(
      call, 0, float_type(law.dtype),
      &(fnzi_cpu_law){.fill = draw_uniform,
                      .user = &law,
                      .name = "uniform",
                      .numbers = {from, to, random_held(law.dtype, to - from)},
                      .is_wide = is_wide(law.dtype),
                      .held = law.dtype});
}

/* --- Normal ----------------------------------------------------------------------------------- */
typedef struct normal {
  double mean, deviation;
  bool is_double;
  bool in_groups; /* of 16 */
} normal;

enum { GROUP = FNZI_ROW_NORMALS, PAIRS = GROUP / 2 };

/* Box-Muller of uniforms: eight, and eight for their angles. */
static void transform_singles(const normal *law, float *x) {
  fnzi_rows_best()->normals((float)law->mean, (float)law->deviation, x, GROUP);
}

static void transform_doubles(const normal *law, double *x) {
  for (int i = 0; i < PAIRS; i++) {
    const double radius = sqrt(-2.0 * log(1.0 - x[i]));
    const double angle = 6.28318530717958647692 * x[i + PAIRS];
    x[i] = fma(radius * cos(angle), law->deviation, law->mean);
    x[i + PAIRS] = fma(radius * sin(angle), law->deviation, law->mean);
  }
}

/* All uniforms come first; where the last group is not full, the last 16 are drawn again. Words of
 * 16-bit floats come group by group, which is the same order but for the last ones. */
#define DRAW_GROUPS(T, next, transform)                                                            \
  static void transform##_all(const normal *law, fnz_generator *g, int64_t count, bool is_half,    \
                              T *out) {                                                            \
    const int64_t whole = count - count % GROUP;                                                   \
    for (int64_t i = 0; i < (is_half ? whole : count); i++)                                        \
      out[i] = next(g);                                                                            \
    for (int64_t i = 0; i < whole; i += GROUP)                                                     \
      transform(law, out + i);                                                                     \
    if (whole == count)                                                                            \
      return;                                                                                      \
    for (int64_t i = count - GROUP; i < count; i++)                                                \
      out[i] = next(g);                                                                            \
    transform(law, out + count - GROUP);                                                           \
  }
DRAW_GROUPS(float, fnzi_generator_single, transform_singles)
DRAW_GROUPS(double, fnzi_generator_double, transform_doubles)

typedef struct normal_draw {
  normal law;
  bool is_half;
} normal_draw;

static void draw_normal(const void *user, fnz_generator *g, int64_t count, void *out) {
  const normal_draw *d = user;
  const normal *law = &d->law;
  if (law->in_groups && count >= GROUP && law->is_double)
    transform_doubles_all(law, g, count, false, out);
  else if (law->in_groups && count >= GROUP)
    transform_singles_all(law, g, count, d->is_half, out);
  else
    for (int64_t i = 0; i < count; i++) {
      double v = fma(fnzi_generator_normal(g), law->deviation, law->mean);
      if (law->is_double)
        ((double *)out)[i] = v;
      else
        ((float *)out)[i] = (float)v;
    }
}

/* randn, randn_like, normal_functional, normal.float_float. The deviation of a complex number is
 * that of both parts together. */
fnz_status fnzi_kernel_normal(fnzi_krn_call *call) {
  const fnz_geometry *g = &call->outputs[0]->geometry;
  const fnz_dtype dtype = float_type(g->dtype);
  const double mean = fnzi_krn_named_float(call, "mean", 0),
               deviation = fnzi_krn_named_float(call, "std", 1);
  normal_draw d = {{mean, fnzi_is_complex(dtype) ? deviation / sqrt(2) : deviation, is_wide(dtype),
                    fnzi_is_contiguous(g)},
                   g->dtype == FNZ_F16 || g->dtype == FNZ_BF16};
  return fnzi_cpu_draw_result(call, 0, dtype,
                              &(fnzi_cpu_law){.fill = draw_normal,
                                              .user = &d,
                                              .name = "normal",
                                              .numbers = {mean, d.law.deviation},
                                              .is_wide = d.law.is_double});
}

/* A tensor, row-major and broadcast, or a number. */
static fnz_status random_open_number(fnzi_krn_call *call, const char *name, fnz_dtype dtype,
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
  FNZ_TRY(fnzi_krn_scratch_take(call, fnz_geometry_numel(out), fnzi_dtype(dtype)->bytes, &room));
  fnzi_krn_window to, window;
  fnzi_krn_window_dense(&to, dtype, out->rank, out->sizes, room);
  fnzi_krn_window_dense(&window, dtype, a->geometry.rank, a->geometry.sizes, from);
  *cells = room;
  return fnzi_krn_window_assign(call, &to, &window, false);
}

static fnzi_cpu_reals reals_of(const void *cells, bool is_double) {
  return is_double ? (fnzi_cpu_reals){.d = cells} : (fnzi_cpu_reals){.f = cells};
}

/* normal with tensors: drawn with mean 0, and with deviation 1 where that is a tensor. Eager
 * multiplies and adds step by step, in the type of the result. */
fnz_status fnzi_kernel_normal_of(fnzi_krn_call *call) {
  const fnz_geometry *g = &call->outputs[0]->geometry;
  const void *means, *deviations;
  double mean, deviation;
  const fnz_dtype dtype = float_type(g->dtype);
  void *out;
  const bool is_double = dtype == FNZ_F64;
  FNZ_TRY(random_open_number(call, "mean", dtype, &means, &mean));
  FNZ_TRY(random_open_number(call, "std", dtype, &deviations, &deviation));
  if (!deviations && !(deviation >= 0))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "the deviation is %g; it must be 0 or more",
                                deviation);
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &out));
  const normal_draw d = {{0, deviations ? 1 : deviation, is_double, fnzi_is_contiguous(g)},
                         g->dtype == FNZ_F16 || g->dtype == FNZ_BF16};
  const fnzi_cpu_moving moving = {is_double ? (fnzi_cpu_reals_out){.d = out}
                                            : (fnzi_cpu_reals_out){.f = out},
                                  reals_of(deviations, is_double),
                                  reals_of(means, is_double),
                                  mean,
                                  fnz_geometry_numel(g),
                                  g->dtype};
  FNZ_TRY(fnzi_cpu_check_deviations(call, &moving));
  FNZ_TRY(fnzi_cpu_draw(call, g, dtype, out,
                        &(fnzi_cpu_law){.fill = draw_normal,
                                        .user = &d,
                                        .name = "normal",
                                        .numbers = {0, d.law.deviation},
                                        .is_wide = is_double}));
  return fnzi_cpu_move_normals(call, &moving);
}

/* --- Laws of doubles, rounded to the type of the result --------------------------------------- */
static void draw_exponential(const void *law, fnz_generator *g, int64_t count, void *out) {
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

fnzi_cpu_law fnzi_cpu_exponential_law(const fnzi_cpu_exponential *law) {
  return (fnzi_cpu_law){.fill = draw_exponential,
                        .user = law,
                        .name = "exponential",
                        .numbers = {law->rate},
                        .is_wide = law->is_double};
}

fnz_status fnzi_kernel_exponential(fnzi_krn_call *call) {
  const fnzi_cpu_exponential law = {fnzi_krn_named_float(call, "lambd", 1),
                                    call->outputs[0]->geometry.dtype == FNZ_F64};
  const fnzi_cpu_law drawn = fnzi_cpu_exponential_law(&law);
  return fnzi_cpu_draw_result(call, 0, law.is_double ? FNZ_F64 : FNZ_F32, &drawn);
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

/* By mt19937 as doubles; by Philox as f32, but of f64. */
static fnz_status draw_pair(fnzi_krn_call *call, const char *name, fnzi_cpu_draw_fn *fill,
                            const pair *p) {
  const bool wide = call->outputs[0]->geometry.dtype == FNZ_F64;
  const fnzi_cpu_law law = {
      .fill = fill, .user = p, .name = name, .numbers = {p->first, p->second}, .is_wide = wide};
  int64_t threads;
  FNZ_TRY(fnzi_cpu_threads_drawing(call, &threads));
  return fnzi_cpu_draw_result(call, 0, wide || !threads ? FNZ_F64 : FNZ_F32, &law);
}

fnz_status fnzi_kernel_cauchy(fnzi_krn_call *call) {
  const pair law = {fnzi_krn_named_float(call, "median", 0),
                    fnzi_krn_named_float(call, "sigma", 1)};
  return draw_pair(call, "cauchy", draw_cauchy, &law);
}

fnz_status fnzi_kernel_log_normal(fnzi_krn_call *call) {
  const pair law = {fnzi_krn_named_float(call, "mean", 1), fnzi_krn_named_float(call, "std", 2)};
  return draw_pair(call, "log_normal", draw_log_normal, &law);
}

fnz_status fnzi_kernel_geometric(fnzi_krn_call *call) {
  const pair law = {fnzi_krn_named_float(call, "p", 0), 0};
  return draw_pair(call, "geometric", draw_geometric, &law);
}
