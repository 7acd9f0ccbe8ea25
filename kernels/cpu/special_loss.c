/* special_loss.c - losses of classes. */
#include "kernels/cpu/softmax.h"
#include "kernels/cpu/recording.h"

#include <math.h>

#define VALUE static
#include "kernels/cpu/loss_values.h"
#undef VALUE

/* --- Recorded sums ------------------------------------------------------------------------ */
/* Sums a vector of f64; *x becomes a vector of one element. */
static fnz_status record_sum(fnzi_krn_call *call, fnzi_krn_window *x) {
  while (x->sizes[0] != 1) {
    fnzi_cpu_recording t = {.f = {.nwindows = 1}, .windows = {*x}};
    int64_t count = x->sizes[0], runs = count > 0 ? (count - 1) / LOSS_RUN + 1 : 1;
    void *room;
    FNZ_TRY(fnzi_krn_scratch_take(call, runs, sizeof(double), &room));
    fnzi_cpu_record_window(&t, FNZ_F64, runs, room);
    fnzi_cpu_record_integer(&t, count);
    FNZ_TRY(fnzi_cpu_record(call, &t, "loss_sum", runs));
    *x = t.windows[1];
  }
  return FNZ_OK;
}

/* The memory of losses, and their weights (k = 1), before they are summed: result 0 if they are not
 * summed. */
static fnz_status open_losses(fnzi_krn_call *call, fnz_dtype dtype, int64_t count,
                              int64_t reduction, size_t k, fnzi_krn_window *out) {
  fnzi_cpu_reals_out y;
  void *room;
  if (reduction != REDUCE_NONE) {
    FNZ_TRY(fnzi_krn_scratch_take(call, count, sizeof(double), &room));
    fnzi_krn_window_dense(out, FNZ_F64, 1, &count, room);
    return FNZ_OK;
  }
  FNZ_TRY(fnzi_cpu_reals_result(call, k, dtype, &y));
  const fnzi_cpu_reals read = fnzi_cpu_reals_read(&y);
  fnzi_cpu_reals_window(&read, count, out);
  return FNZ_OK;
}

/* Results from losses and their weights. */
static fnz_status record_end(fnzi_krn_call *call, fnz_dtype dtype, int64_t reduction,
                             const fnzi_krn_window *losses, const fnzi_krn_window *weights) {
  fnzi_krn_window windows[4] = {*losses, *weights};
  FNZ_TRY(record_sum(call, &windows[0]));
  FNZ_TRY(record_sum(call, &windows[1]));
  for (size_t k = 0; k < call->noutputs; k++)
    FNZ_TRY(open_losses(call, dtype, 1, REDUCE_NONE, k, &windows[2 + k]));
  const fnzi_krn_formula f = {.name = "loss_end",
                              .count = 1,
                              .windows = windows,
                              .nwindows = 2 + (uint32_t)call->noutputs,
                              .nresults = (uint32_t)call->noutputs,
                              .integers = &reduction,
                              .nintegers = 1};
  return call->record->formula(call->record->user, &f);
}

/* --- Of classes -------------------------------------------------------------------------- */
typedef struct classes {
  fnz_dtype dtype;
  fnzi_cpu_reals x, weight, probabilities;
  const int64_t *labels; /* or probabilities */
  int64_t positions, count, inner, ignore;
  double smoothing;
  bool normalise; /* x are scores, not logarithms of probabilities */
  double *row;
  float *floats;
  const fnzi_rows *rows;
} classes;

static double loss_weight_of(const classes *c, int64_t k) {
  return fnzi_cpu_reals_present(&c->weight) ? fnzi_cpu_real_at(&c->weight, k) : 1;
}

/* The logarithms of the probabilities at one position, into c->row. */
static void logarithms(const classes *c, int64_t start) {
  fnzi_cpu_reals_load(&c->x, start, c->inner, c->count, c->row);
  if (!c->normalise)
    return;
  double most = fnzi_cpu_row_max(c->row, c->count);
  double shift = most + fnzi_cpu_log_sum(c->dtype, c->row, c->count, most);
  for (int64_t k = 0; k < c->count; k++)
    c->row[k] -= shift;
}

static double smooth_part(const classes *c) {
  double sum = 0;
  for (int64_t k = 0; c->smoothing > 0 && k < c->count; k++)
    sum -= loss_weight_of(c, k) * c->row[k];
  return sum * c->smoothing / (double)c->count;
}

static double probable_loss(const classes *c, int64_t start) {
  double sum = 0;
  for (int64_t k = 0; k < c->count; k++)
    sum -= loss_weight_of(c, k) * c->row[k] *
           fnzi_cpu_real_at(&c->probabilities, start + k * c->inner);
  return sum * (1 - c->smoothing) + smooth_part(c);
}

/* The logarithm of one probability alone; of floats by the functions of rows. */
static double logarithm(const classes *c, int64_t start, int64_t label) {
  double x = fnzi_cpu_real_at(&c->x, start + label * c->inner);
  if (!c->normalise)
    return x;
  const float *row = c->x.f + start;
  for (int64_t k = 0; c->inner != 1 && k < c->count; k++)
    c->floats[k] = c->x.f[start + k * c->inner];
  double sum = fnzi_cpu_log_sum_exp_f32(c->rows, c->inner == 1 ? row : c->floats, c->count);
  return isinf(sum) ? NAN : x - sum; /* as the difference from an infinite greatest one */
}

/* The loss at one position, whose scores begin at `start`, and the weight it counts with in a mean.
 */
static double loss_at(const classes *c, int64_t position, int64_t start, double *weight) {
  *weight = 1;
  if (c->labels && c->labels[position] == c->ignore) {
    *weight = 0;
    return 0;
  }
  bool is_alone = c->labels && c->smoothing == 0 && (!c->normalise || c->x.f);
  if (!is_alone)
    logarithms(c, start);
  if (!c->labels)
    return probable_loss(c, start);
  int64_t label = c->labels[position];
  *weight = loss_weight_of(c, label);
  if (is_alone)
    return loss_of_class(*weight, logarithm(c, start, label), 0, 0);
  return loss_of_class(*weight, c->row[label], c->smoothing, smooth_part(c));
}

static fnz_status loss_check_labels(const fnzi_krn_call *call, const classes *c) {
  for (int64_t i = 0; c->labels && i < c->positions; i++)
    if (c->labels[i] != c->ignore && (c->labels[i] < 0 || c->labels[i] >= c->count))
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "target %lld is outside [0, %lld)",
                                  (long long)c->labels[i], (long long)c->count);
  return FNZ_OK;
}

static fnz_status open_classes(fnzi_krn_call *call, classes *c) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  const fnzi_krn_array *target = fnzi_krn_call_input(call, 1);
  const void *labels;
  c->dtype = fnzi_cpu_real_dtype(g->dtype);
  c->count = g->sizes[g->rank == 1 ? 0 : 1], c->inner = 1;
  for (uint32_t i = 2; i < g->rank; i++)
    c->inner *= g->sizes[i];
  c->positions = c->count ? fnz_geometry_numel(g) / c->count : 0;
  c->ignore = fnzi_krn_named_int(call, "ignore_index", -100);
  c->smoothing = fnzi_krn_named_float(call, "label_smoothing", 0);
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), c->dtype, &c->x));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_named_array(call, "weight"), c->dtype, &c->weight));
  FNZI_NEW(&call->scratch, c->count, &c->row);
  FNZI_NEW(&call->scratch, c->count, &c->floats);
  c->rows = fnzi_rows_best();
  if (fnzi_is_float(target->geometry.dtype))
    return fnzi_cpu_reals_open(call, target, c->dtype, &c->probabilities);
  FNZ_TRY(fnzi_krn_dense_get_as(call, target, FNZ_I64, &labels));
  c->labels = labels;
  return call->record ? FNZ_OK : loss_check_labels(call, c);
}

/* The loss at each position and its weight, and their sums. The losses are of logarithms, or of
 * scores; if there are many adjacent scores, threads share them. */
static const char *formula_of(const classes *c) {
  enum { MANY = 256 };
  bool are_many = c->inner == 1 && c->count >= MANY;
  return !c->normalise ? "class_loss" : are_many ? "entropy_of_many" : "entropy";
}

static fnz_status record_classes(fnzi_krn_call *call, const classes *c, int64_t reduction) {
  const int64_t all = fnz_geometry_numel(fnzi_krn_call_geometry(call, 0));
  const int64_t weighs = fnzi_cpu_reals_present(&c->weight);
  const int64_t integers[] = {c->count, c->inner, c->ignore,
                              c->normalise ? c->labels != NULL : weighs, weighs};
  bool is_sum = reduction != REDUCE_NONE;
  fnzi_krn_window windows[5];
  if (!c->normalise && !c->labels)
    return fnzi_krn_call_refuse(call, FNZ_CLASS_UNSUPPORTED, "only losses of labels are recorded");
  fnzi_cpu_reals_window(&c->x, all, &windows[0]);
  fnzi_cpu_reals_window(weighs ? &c->weight : &c->x, c->count, &windows[1]);
  if (c->labels)
    fnzi_krn_window_dense(&windows[2], FNZ_I64, 1, &c->positions, c->labels);
  else
    fnzi_cpu_reals_window(&c->probabilities, all, &windows[2]);
  for (size_t k = 0; k < (is_sum ? 2 : 1); k++)
    FNZ_TRY(open_losses(call, c->dtype, c->positions, reduction, k, &windows[3 + k]));
  const fnzi_krn_formula losses = {.name = formula_of(c),
                                   .count = c->positions,
                                   .windows = windows,
                                   .nwindows = is_sum ? 5 : 4,
                                   .nresults = is_sum ? 2 : 1,
                                   .integers = integers,
                                   .nintegers = 5,
                                   .numbers = &c->smoothing,
                                   .nnumbers = 1,
                                   .checks = true};
  FNZ_TRY(call->record->formula(call->record->user, &losses));
  if (is_sum)
    return record_end(call, c->dtype, reduction, &windows[3], &windows[4]);
  const fnz_arg none = {.tag = FNZ_ARG_INT, .u.i = 0};
  return call->noutputs > 1 ? fnzi_krn_array_fill(call, call->outputs[1], &none) : FNZ_OK;
}

/* Sums what loss_at() gives where only labels decide: the elements are read out of order, so their
 * loads must not wait for each other. False if more decides. */
static bool sum_of_labels(const classes *c, double *sum, double *total) {
  const float *x = c->x.f;
  const int64_t *labels = c->labels, inner = c->inner;
  bool plain = !c->normalise && c->smoothing == 0 && !fnzi_cpu_reals_present(&c->weight);
  if (!plain || !labels || !x)
    return false;
  int64_t counted = 0;
  for (int64_t i = 0; i < c->positions; i += inner, x += c->count * inner)
    for (int64_t k = 0; k < inner; k++)
      if (labels[i + k] != c->ignore) {
        *sum -= (double)x[k + labels[i + k] * inner];
        counted++;
      }
  *total = (double)counted;
  return true;
}

static fnz_status class_loss(fnzi_krn_call *call, bool normalise) {
  classes c = {.normalise = normalise};
  int64_t reduction = fnzi_krn_named_int(call, "reduction", REDUCE_MEAN);
  double sum = 0, total = 0, weight;
  fnzi_cpu_reals_out out;
  FNZ_TRY(open_classes(call, &c));
  if (call->record)
    return record_classes(call, &c, reduction);
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, c.dtype, &out));
  bool done = reduction != REDUCE_NONE && sum_of_labels(&c, &sum, &total);
  for (int64_t i = 0, start = 0, left = c.inner; !done && i < c.positions; i++, start++, left--) {
    if (left == 0)
      start += (c.count - 1) * c.inner, left = c.inner;
    double one = loss_at(&c, i, start, &weight);
    if (reduction == REDUCE_NONE)
      fnzi_cpu_real_put(&out, i, one);
    sum += one, total += weight;
  }
  if (reduction != REDUCE_NONE)
    fnzi_cpu_real_put(&out, 0, reduction == REDUCE_MEAN ? sum / total : sum);
  if (call->noutputs < 2)
    return FNZ_OK;
  FNZ_TRY(fnzi_cpu_reals_result(call, 1, c.dtype, &out));
  fnzi_cpu_real_put(&out, 0, reduction == REDUCE_NONE ? 0 : total);
  return FNZ_OK;
}

fnz_status fnzi_kernel_cross_entropy(fnzi_krn_call *call) {
  return class_loss(call, true);
}

/* nll_loss, nll_loss_nd, nll_loss_forward */
fnz_status fnzi_kernel_nll_loss(fnzi_krn_call *call) {
  return class_loss(call, false);
}
