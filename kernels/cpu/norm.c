/* norm.c - normalisation: (x - mean) / sqrt(var + eps) * weight + bias, over several kinds of
 * groups.
 *
 * A group is `segments` runs of `length` elements, `step` apart: a channel over the whole batch
 * (batch norm), or one run (layer, group, instance, RMS norm). Mean and variance are two passes
 * with sums in double. */
#include "kernels/cpu/row_code.h"
#include "kernels/cpu/special_reals.h"
#include "kernels/rows/rows.h"

#include <math.h>

typedef struct moments {
  double mean, var, count;
  double squares; /* their sum: var times count before rounding */
} moments;

typedef struct group {
  int64_t at, step, segments, length;
} group;

typedef enum what {
  SUM,
  SQUARES,        /* of the distances from the center */
  SUM_IN_ORDER,   /* one element after the other, which shows in f64 only */
  ROUNDED_SQUARES /* in order as well, with eager's roundings: see `rounded` */
} what;

/* Rounds to the type of the data. Training amplifies rounding so much where a channel has few
 * elements that only eager's own roundings, and no others, give eager's result. */
static double norm_rounded(const fnzi_cpu_reals *x, double value) {
  return x->f ? (double)(float)value : value;
}

/* `sum` and the elements of a piece of doubles. */
static double sum_piece(const double *x, int64_t count, what w, double center, double sum) {
  if (w == SQUARES)
    return sum + fnzi_cpu_sum_squares(x, count, center);
  if (w == SUM)
    return sum + fnzi_cpu_sum(x, count);
  for (int64_t k = 0; k < count; k++)
    sum += w == ROUNDED_SQUARES ? (x[k] - center) * (x[k] - center) : x[k];
  return sum;
}

static double sum_group_f32(const float *x, const group *g, what w, double center) {
  const fnzi_rows *rows = fnzi_rows_best();
  fnzi_row_sums sums = {{0}};
  if (w != SQUARES && w != ROUNDED_SQUARES)
    rows->sum(&sums, x + g->at, g->step, g->segments, g->length);
  for (int64_t s = 0; s < g->segments; s++) {
    const float *at = x + g->at + s * g->step;
    if (w == SQUARES)
      rows->squares(&sums, center, at, g->length);
    if (w == ROUNDED_SQUARES)
      rows->rounded_squares(&sums, (float)center, at, g->length);
  }
  return fnzi_row_total(&sums);
}

static double sum_group(const fnzi_cpu_reals *x, const group *g, what w, double center) {
  double sum = 0;
  if (x->f)
    return sum_group_f32(x->f, g, w, center);
  for (int64_t s = 0; s < g->segments; s++)
    for (int64_t i = 0; i < g->length; i += FNZI_PIECE) {
      int64_t count = g->length - i < FNZI_PIECE ? g->length - i : FNZI_PIECE;
      sum = sum_piece(x->d + g->at + s * g->step + i, count, w, center, sum);
    }
  return sum;
}

/* y = x * scale + shift over one run, where those have more places than f32. */
static void apply(const fnzi_cpu_reals *x, const fnzi_cpu_reals_out *y, int64_t at, int64_t length,
                  double scale, double shift) {
  if (x->f) {
    fnzi_rows_best()->scale(scale, shift, x->f + at, y->f + at, length);
    return;
  }
  for (int64_t i = at; i < at + length; i++)
    y->d[i] = fma(x->d[i], scale, shift);
}

/* The same, rounded once: eager's loop of batch norm is compiled to fused steps. */
static void apply_fused(const fnzi_cpu_reals *x, const fnzi_cpu_reals_out *y, int64_t at,
                        int64_t length, double scale, double shift) {
  if (x->f)
    fnzi_rows_best()->fused((float)scale, (float)shift, x->f + at, y->f + at, length);
  else
    apply(x, y, at, length, scale, shift);
}

static double norm_weight_at(const fnzi_cpu_reals *w, int64_t i, double otherwise) {
  return fnzi_cpu_reals_present(w) ? fnzi_cpu_real_at(w, i) : otherwise;
}

/* --- Channels: batch norm and instance norm --------------------------------------------------- */
typedef struct channels {
  fnzi_cpu_reals x, weight, bias, mean,
      var; /* mean and var: the running ones, where there are any */
  fnzi_cpu_reals_out y, save_mean, save_rstd, new_mean, new_var;
  int64_t batch, count, length;
  double momentum, eps;
  bool training, per_sample; /* per_sample: instance norm */
} channels;

static fnz_status open_channels(fnzi_krn_call *call, channels *c) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  fnz_dtype dtype = fnzi_cpu_real_dtype(g->dtype);
  *c = (channels){.batch = g->sizes[0], .count = g->sizes[1]};
  c->length = c->batch && c->count ? fnz_geometry_numel(g) / (c->batch * c->count) : 0;
  c->eps = fnzi_krn_named_float(call, "eps", 1e-5);
  c->momentum = fnzi_krn_named_float(call, "momentum", 0.1);
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), dtype, &c->x));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_named_array(call, "weight"), dtype, &c->weight));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_named_array(call, "bias"), dtype, &c->bias));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_named_array(call, "running_mean"), dtype, &c->mean));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_named_array(call, "running_var"), dtype, &c->var));
  return fnzi_cpu_reals_result(call, 0, dtype, &c->y);
}

static moments measure_channel(const fnzi_cpu_reals *x, const group *g) {
  moments m = {.count = (double)(g->segments * g->length)};
  m.mean = norm_rounded(x, sum_group(x, g, SUM_IN_ORDER, 0) / m.count);
  m.squares = norm_rounded(x, sum_group(x, g, ROUNDED_SQUARES, m.mean));
  m.var = norm_rounded(x, m.squares / m.count);
  return m;
}

static void put(const fnzi_cpu_reals_out *out, int64_t at, double value) {
  if (out->f || out->d)
    fnzi_cpu_real_put(out, at, value);
}

/* Running statistics take the unbiased variance, normalisation the biased one. In f32 eager's loop
 * rounds every step but the product of the variance, which is fused with the sum. */
static void update(const channels *c, int64_t channel, const moments *m) {
  double part = norm_rounded(&c->x, c->momentum), keep = norm_rounded(&c->x, 1 - c->momentum);
  double unbiased = norm_rounded(&c->x, m->squares / (m->count - 1));
  double old_mean = norm_rounded(&c->x, keep * norm_weight_at(&c->mean, channel, 0));
  double old_var = norm_rounded(&c->x, keep * norm_weight_at(&c->var, channel, 0));
  put(&c->new_mean, channel, norm_rounded(&c->x, part * m->mean) + old_mean);
  put(&c->new_var, channel, part * unbiased + old_var);
}

/* 1 / sqrt(var + eps): in double from measured variances, step by step from running ones. */
static double norm_deviation(const channels *c, double var) {
  if (c->training)
    return norm_rounded(&c->x, 1 / sqrt(var + c->eps));
  return norm_rounded(
      &c->x, 1 / norm_rounded(&c->x, sqrt(norm_rounded(&c->x, var + norm_rounded(&c->x, c->eps)))));
}

static void normalise_channel(const void *user, int64_t i, int lane) {
  const channels *c = user;
  int64_t channel = i % c->count, sample = i / c->count, plane = c->count * c->length;
  group g = {.at = sample * plane + channel * c->length, .step = plane, .length = c->length};
  g.segments = c->per_sample ? 1 : c->batch;
  moments m = {.mean = norm_weight_at(&c->mean, channel, 0),
               .var = norm_weight_at(&c->var, channel, 1)};
  (void)lane;
  if (c->training)
    m = measure_channel(&c->x, &g);
  double rstd = norm_deviation(c, m.var),
         scale = norm_rounded(&c->x, rstd * norm_weight_at(&c->weight, channel, 1));
  double shift = norm_rounded(&c->x, norm_weight_at(&c->bias, channel, 0) - m.mean * scale);
  for (int64_t s = 0; s < g.segments; s++)
    apply_fused(&c->x, &c->y, g.at + s * g.step, g.length, scale, shift);
  if (!c->training)
    return;
  put(&c->save_mean, channel, m.mean);
  put(&c->save_rstd, channel, rstd);
  update(c, channel, &m);
}

static void copy_reals(const fnzi_cpu_reals *from, const fnzi_cpu_reals_out *to, int64_t count) {
  for (int64_t i = 0; fnzi_cpu_reals_present(from) && (to->f || to->d) && i < count; i++)
    fnzi_cpu_real_put(to, i, fnzi_cpu_real_at(from, i));
}

/* Result k of `dtype`s own choosing, where the operator has one. */
static fnz_status open_result(fnzi_krn_call *call, size_t k, fnzi_cpu_reals_out *out) {
  if (k >= call->noutputs || !call->outputs[k])
    return FNZ_OK;
  return fnzi_cpu_reals_result(call, k, fnzi_cpu_real_dtype(call->outputs[k]->geometry.dtype), out);
}

/* Channels without elements have no mean. */
static void save_nothing(const channels *c) {
  for (int64_t i = 0; c->training && !c->length && i < c->count; i++) {
    put(&c->save_mean, i, NAN);
    put(&c->save_rstd, i, NAN);
  }
}

static fnz_status batch_norm(fnzi_krn_call *call, bool training, size_t new_stats) {
  channels c;
  FNZ_TRY(open_channels(call, &c));
  c.training = training;
  if (training) {
    FNZ_TRY(open_result(call, 1, &c.save_mean));
    FNZ_TRY(open_result(call, 2, &c.save_rstd));
  }
  if (new_stats) {
    FNZ_TRY(open_result(call, new_stats, &c.new_mean));
    FNZ_TRY(open_result(call, new_stats + 1, &c.new_var));
  }
  if (!training && !(fnzi_cpu_reals_present(&c.mean) && fnzi_cpu_reals_present(&c.var)))
    return fnzi_krn_call_refuse(call, FNZ_CLASS_TYPE,
                                "running_mean and running_var must be given for eval");
  if (c.length)
    fnzi_cpu_rows_spread(call, c.count, c.batch * c.length, normalise_channel, &c);
  save_nothing(&c);
  if (!training || !c.length) {
    copy_reals(&c.mean, &c.new_mean, c.count);
    copy_reals(&c.var, &c.new_var, c.count);
  }
  return FNZ_OK;
}

fnz_status fnzi_kernel_batch_norm(fnzi_krn_call *call) {
  return batch_norm(call, fnzi_krn_named_bool(call, "training", false), 0);
}

/* Results 3 and 4 are the new running statistics. */
fnz_status fnzi_kernel_batch_norm_functional(fnzi_krn_call *call) {
  return batch_norm(call, fnzi_krn_named_bool(call, "training", false), 3);
}

/* Result 3 is a reserved empty tensor, 4 and 5 the new running statistics. */
fnz_status fnzi_kernel_batch_norm_with_update(fnzi_krn_call *call) {
  return batch_norm(call, true, 4);
}

fnz_status fnzi_kernel_instance_norm(fnzi_krn_call *call) {
  channels c;
  FNZ_TRY(open_channels(call, &c));
  c.training = fnzi_krn_named_bool(call, "use_input_stats", true);
  c.per_sample = true;
  if (!c.training && !(fnzi_cpu_reals_present(&c.mean) && fnzi_cpu_reals_present(&c.var)))
    return fnzi_krn_call_refuse(
        call, FNZ_CLASS_TYPE, "running_mean and running_var must be given without use_input_stats");
  if (c.length)
    fnzi_cpu_rows_spread(call, c.batch * c.count, c.length, normalise_channel, &c);
  return FNZ_OK;
}

/* --- Rows: layer norm, RMS norm, group norm --------------------------------------------------- */
typedef struct rows {
  const fnzi_rows *by;
  fnzi_cpu_reals x, weight, bias;
  fnzi_cpu_reals_out y, mean, rstd;
  int64_t count, length;
  int64_t channel_length; /* elements that share a weight: 1 in layer norm */
  int64_t groups;         /* rows after which the weights start anew */
  double eps;
  bool rms; /* no mean is taken off */
} rows;

static moments measure_row(const rows *r, const group *g) {
  moments m = {.count = (double)g->length};
  fnzi_row_moments row;
  if (r->x.f) {
    r->by->moments(r->x.f + g->at, g->length, !r->rms, &row);
    m.mean = row.mean, m.var = row.squares / m.count;
    return m;
  }
  if (!r->rms)
    m.mean = sum_group(&r->x, g, SUM, 0) / m.count;
  m.var = sum_group(&r->x, g, SQUARES, m.mean) / m.count;
  return m;
}

static inline void normalise_wide(const double *x, const double *weight, const double *bias,
                                  double *restrict y, int64_t count, const double *by) {
  const double mean = by[0], rstd = by[1];
  for (int64_t k = 0; k < count; k++) {
    double v = (x[k] - mean) * rstd;
    v = weight ? v * weight[k] : v;
    y[k] = bias ? v + bias[k] : v;
  }
}

/* Weights that change from element to element. */
static void apply_weights(const rows *r, int64_t at, double mean, double rstd) {
  const double by[] = {mean, rstd}, *weight = r->weight.d, *bias = r->bias.d;
  const double *x = r->x.d ? r->x.d + at : NULL;
  double *y = r->x.d ? r->y.d + at : NULL;
  if (r->x.f) {
    const fnzi_row_norm n = {mean, rstd, r->weight.f, r->bias.f};
    r->by->normalise(&n, r->x.f + at, r->y.f + at, r->length);
  } else if (weight && bias) {
    normalise_wide(x, weight, bias, y, r->length, by);
  } else if (weight) {
    normalise_wide(x, weight, NULL, y, r->length, by);
  } else {
    normalise_wide(x, NULL, bias, y, r->length, by);
  }
}

/* One weight for each run of channel_length elements. */
static void apply_channels(const rows *r, int64_t row, double mean, double rstd) {
  int64_t count = r->length / r->channel_length;
  for (int64_t k = 0; k < count; k++) {
    int64_t channel = row % r->groups * count + k;
    double scale = rstd * norm_weight_at(&r->weight, channel, 1);
    apply(&r->x, &r->y, row * r->length + k * r->channel_length, r->channel_length, scale,
          norm_weight_at(&r->bias, channel, 0) - mean * scale);
  }
}

static void normalise_row(const void *user, int64_t row, int lane) {
  const rows *r = user;
  moments m = measure_row(r, &(group){row * r->length, 0, 1, r->length});
  double rstd = 1 / sqrt(m.var + r->eps);
  (void)lane;
  if (r->channel_length == 1 && r->groups == 1)
    apply_weights(r, row * r->length, m.mean, rstd);
  else
    apply_channels(r, row, m.mean, rstd);
  put(&r->mean, row, m.mean);
  put(&r->rstd, row, rstd);
}

void fnzi_cpu_norm_row(bool rms, double eps, const void *const *in, void *const *out,
                       int64_t length) {
  rows r = {.by = fnzi_rows_best(),
            .x.f = in[0],
            .weight.f = in[1],
            .bias.f = in[2],
            .y.f = out[0],
            .mean.f = rms ? NULL : out[1],
            .rstd.f = rms ? out[1] : out[2],
            .count = 1,
            .length = length,
            .channel_length = 1,
            .groups = 1,
            .eps = eps,
            .rms = rms};
  normalise_row(&r, 0, 0);
}

static fnz_status norm_open_elements(fnzi_krn_call *call, rows *r) {
  fnz_dtype dtype = fnzi_cpu_real_dtype(fnzi_krn_call_geometry(call, 0)->dtype);
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), dtype, &r->x));
  return fnzi_cpu_reals_result(call, 0, dtype, &r->y);
}

static fnz_status open_weights(fnzi_krn_call *call, rows *r) {
  fnz_dtype dtype = fnzi_cpu_real_dtype(fnzi_krn_call_geometry(call, 0)->dtype);
  *r = (rows){.by = fnzi_rows_best(), .groups = 1, .channel_length = 1};
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_named_array(call, "weight"), dtype, &r->weight));
  return fnzi_cpu_reals_open(call, fnzi_krn_named_array(call, "bias"), dtype, &r->bias);
}

/* Rows are what the sizes in `normalized_shape` span. */
static fnz_status open_layer(fnzi_krn_call *call, bool rms, rows *r) {
  const int64_t *shape;
  size_t count;
  FNZ_TRY(fnzi_krn_named_ints(call, "normalized_shape", &shape, &count));
  FNZ_TRY(open_weights(call, r));
  r->length = 1;
  for (size_t i = 0; i < count; i++)
    r->length *= shape[i];
  r->count = r->length ? fnzi_krn_array_numel(fnzi_krn_call_input(call, 0)) / r->length : 0;
  r->eps = fnzi_meta_row_parameter(call);
  r->rms = rms;
  return FNZ_OK;
}

/* Rows of f16 and bf16: each is converted by itself, so that it stays in the first-level cache. */
typedef struct half_rows {
  rows r;
  fnz_dtype dtype;
  const uint16_t *x;
  uint16_t *y;
  float *floats; /* for each thread a row and its result */
} half_rows;

static void normalise_half_row(const void *user, int64_t row, int lane) {
  const half_rows *h = user;
  const int64_t length = h->r.length;
  const fnzi_krn_conversion widen = {FNZ_F32, h->dtype, sizeof(float), sizeof *h->x},
                            narrow = {h->dtype, FNZ_F32, sizeof *h->y, sizeof(float)};
  float *x = h->floats + 2 * length * lane, *y = x + length;
  rows one = h->r;
  one.x.f = x, one.y.f = y;
  one.mean.f = one.mean.f ? one.mean.f + row : NULL;
  one.rstd.f = one.rstd.f ? one.rstd.f + row : NULL;
  fnzi_krn_convert(&widen, x, h->x + row * length, length);
  normalise_row(&one, 0, lane);
  fnzi_krn_convert(&narrow, h->y + row * length, y, length);
}

static fnz_status normalise_rows(fnzi_krn_call *call, rows *r) {
  fnz_dtype dtype = fnzi_krn_call_geometry(call, 0)->dtype;
  half_rows h = {.r = *r, .dtype = dtype};
  const void *x;
  void *y;
  if (dtype != FNZ_F16 && dtype != FNZ_BF16) {
    FNZ_TRY(norm_open_elements(call, r));
    fnzi_cpu_rows_spread(call, r->count, r->length, normalise_row, r);
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_call_input(call, 0), dtype, &x));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &y));
  h.x = x, h.y = y;
  FNZI_NEW(&call->scratch, (size_t)(2 * r->length * fnzi_cpu_lanes(call)), &h.floats);
  fnzi_cpu_rows_spread(call, r->count, r->length, normalise_half_row, &h);
  return FNZ_OK;
}

fnz_status fnzi_kernel_layer_norm(fnzi_krn_call *call) {
  rows r;
  FNZ_TRY(open_layer(call, false, &r));
  FNZ_TRY(open_result(call, 1, &r.mean));
  FNZ_TRY(open_result(call, 2, &r.rstd));
  return normalise_rows(call, &r);
}

fnz_status fnzi_kernel_rms_norm(fnzi_krn_call *call) {
  rows r;
  FNZ_TRY(open_layer(call, true, &r));
  FNZ_TRY(open_result(call, 1, &r.rstd));
  return normalise_rows(call, &r);
}

fnz_status fnzi_kernel_group_norm(fnzi_krn_call *call) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  rows r;
  FNZ_TRY(open_weights(call, &r));
  FNZ_TRY(norm_open_elements(call, &r));
  FNZ_TRY(open_result(call, 1, &r.mean));
  FNZ_TRY(open_result(call, 2, &r.rstd));
  r.groups = fnzi_krn_named_int(call, "num_groups", 0);
  if (!r.groups)
    r.groups = fnzi_krn_named_int(call, "group", 1);
  r.eps = fnzi_krn_named_float(call, "eps", 1e-5);
  int64_t numel = fnz_geometry_numel(g);
  if (!numel)
    return FNZ_OK;
  r.count = g->sizes[0] * r.groups;
  r.length = numel / r.count;
  r.channel_length = numel / (g->sizes[0] * g->sizes[1]);
  fnzi_cpu_rows_spread(call, r.count, r.length, normalise_row, &r);
  return FNZ_OK;
}
