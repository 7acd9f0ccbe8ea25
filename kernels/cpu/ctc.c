/* ctc.c - the loss of sequences that are aligned to shorter targets (connectionist temporal
 * classification): how likely all alignments together are, step by step over the states of a
 * target, which are its labels with a blank before, between and behind them. */
#include "kernels/cpu/cpu.h"

#include <math.h>

typedef struct alignment {
  bool single;                                   /* no dimension for the batch */
  int64_t steps, batch, labels, blank, longest;  /* longest target */
  const int64_t *input_lengths, *target_lengths; /* NULL where data is not there */
  int64_t target_step;                           /* from target to target; 0: one after the other */
} alignment;

/* --- Arguments --------------------------------------------------------------------------- */
static fnz_status given_lengths(fnzi_call *call, const char *name, int64_t want,
                                const int64_t **out) {
  const fnzi_array *a = fnzi_named_array(call, name);
  const void *data = NULL;
  size_t count;
  *out = NULL;
  if (!a)
    FNZ_TRY(fnzi_named_ints(call, name, out, &count));
  else if (!fnzi_is_integer(a->geometry.dtype) || a->geometry.rank > 1)
    return fnzi_refuse(call, FNZ_CLASS_TYPE, "%s is %s of %u dimensions; it must be integers of 1",
                       name, fnzi_dtype(a->geometry.dtype)->name, a->geometry.rank);
  else
    count = (size_t)fnzi_array_numel(a);
  if ((int64_t)count != want)
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "%s has %zu elements for %lld sequences", name,
                       count, (long long)want);
  if (a && call->has_data) {
    FNZ_TRY(fnzi_dense_as(call, a, FNZ_I64, &data));
    *out = data;
  }
  return FNZ_OK;
}

static fnz_status check_lengths(const fnzi_call *call, const char *name, const int64_t *lengths,
                                int64_t count, int64_t most) {
  for (int64_t i = 0; lengths && i < count; i++)
    if (lengths[i] < 0 || lengths[i] > most)
      return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "%s[%lld] is %lld; it must be from 0 to %lld",
                         name, (long long)i, (long long)lengths[i], (long long)most);
  return FNZ_OK;
}

/* Targets are rows, or stand one after the other. */
static fnz_status check_targets(fnzi_call *call, const fnz_geometry *targets, bool casts,
                                alignment *a) {
  int64_t sum = 0;
  bool rows = targets->rank == 2;
  int64_t width = targets->rank ? targets->sizes[targets->rank - 1] : 0;
  if ((!casts && !fnzi_is_integer(targets->dtype)) || targets->rank < 1 || targets->rank > 2 ||
      (targets->rank == 2 && targets->sizes[0] != a->batch))
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS,
                       "targets must be integers, in one dimension or in %lld rows",
                       (long long)a->batch);
  a->target_step = rows ? width : 0;
  FNZ_TRY(check_lengths(call, "target_lengths", a->target_lengths, a->batch, width));
  for (int64_t i = 0; a->target_lengths && i < a->batch; i++) {
    int64_t length = a->target_lengths[i];
    a->longest = length > a->longest ? length : a->longest;
    if (length > INT64_MAX - sum)
      return fnzi_refuse(call, FNZ_CLASS_OVERFLOW,
                         "target_lengths add up to more than 63 bits say");
    sum += length;
  }
  if (!rows && a->target_lengths && sum != width)
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "targets has %lld elements; target_lengths say %lld",
                       (long long)width, (long long)sum);
  return FNZ_OK;
}

/* The `whole` loss takes a single sequence, and casts its targets. */
static fnz_status read_arguments(fnzi_call *call, bool whole, alignment *a) {
  const fnz_geometry *x = fnzi_input_geometry(call, 0), *targets = fnzi_input_geometry(call, 1);
  *a = (alignment){.single = whole && x->rank == 2, .blank = fnzi_named_int(call, "blank", 0)};
  if (x->dtype != FNZ_F32 && x->dtype != FNZ_F64)
    return fnzi_refuse(call, FNZ_CLASS_TYPE, "log_probs is %s; it must be f32 or f64",
                       fnzi_dtype(x->dtype)->name);
  if (x->rank != 3 && !a->single)
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "log_probs has %u dimensions; it needs 3", x->rank);
  a->steps = x->sizes[0];
  a->batch = a->single ? 1 : x->sizes[1];
  a->labels = x->sizes[x->rank - 1];
  if (!fnz_geometry_numel(x))
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "log_probs has no elements");
  if (a->blank < 0 || a->blank >= a->labels)
    return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "blank is %lld; there are %lld labels",
                       (long long)a->blank, (long long)a->labels);
  FNZ_TRY(given_lengths(call, "input_lengths", a->batch, &a->input_lengths));
  FNZ_TRY(given_lengths(call, "target_lengths", a->batch, &a->target_lengths));
  FNZ_TRY(check_lengths(call, "input_lengths", a->input_lengths, a->batch, a->steps));
  return check_targets(call, targets, whole, a);
}

/* --- Shapes ------------------------------------------------------------------------------ */
enum { KEPT, MEAN };

fnz_status fnzi_shape_ctc_loss(fnzi_call *call) {
  alignment a;
  FNZ_TRY(read_arguments(call, true, &a));
  bool kept = fnzi_named_int(call, "reduction", MEAN) == KEPT && !a.single;
  return fnzi_shape_add(call, fnzi_input_geometry(call, 0)->dtype, kept, &a.batch, NULL);
}

fnz_status fnzi_shape_ctc_losses(fnzi_call *call) {
  alignment a;
  fnz_dtype dtype = fnzi_input_geometry(call, 0)->dtype;
  FNZ_TRY(read_arguments(call, false, &a));
  if (!a.target_lengths)
    return fnzi_size_unknown(call);
  FNZ_TRY(fnzi_shape_add(call, dtype, 1, &a.batch, NULL));
  return fnzi_shape_add(call, dtype, 3, (const int64_t[]){a.batch, a.steps, 2 * a.longest + 1},
                        NULL);
}

/* --- One sequence ------------------------------------------------------------------------ */
typedef struct sequence {
  const double *x; /* of its first step */
  int64_t stride;  /* from step to step */
  int64_t steps, states, blank;
  const int64_t *target;
  double *alpha; /* by steps, of `width` */
  int64_t width;
} sequence;

static int64_t label(const sequence *q, int64_t state) {
  return state % 2 ? q->target[state / 2] : q->blank;
}

static double log_sum(double a, double b, double c) {
  double most = fmax(fmax(a, b), c);
  if (most == -INFINITY)
    return -INFINITY;
  return log(exp(a - most) + exp(b - most) + exp(c - most)) + most;
}

/* A state is reached from itself and the one before, and over a blank from another label. */
static double reached(const sequence *q, const double *before, int64_t state) {
  bool jumps = state > 1 && label(q, state) != label(q, state - 2);
  return log_sum(before[state], state > 0 ? before[state - 1] : -INFINITY,
                 jumps ? before[state - 2] : -INFINITY);
}

/* Minus the logarithm of how likely the target is; the last state may be its last label. */
static double likelihood(const sequence *q) {
  if (q->steps == 0)
    return q->states == 1 ? 0 : INFINITY;
  for (int64_t state = 0; state < 2 && state < q->states; state++)
    q->alpha[state] = q->x[label(q, state)];
  for (int64_t t = 1; t < q->steps; t++) {
    double *now = q->alpha + t * q->width;
    for (int64_t state = 0; state < q->states; state++)
      now[state] = reached(q, now - q->width, state) + q->x[t * q->stride + label(q, state)];
  }
  const double *last = q->alpha + (q->steps - 1) * q->width + q->states - 1;
  return -log_sum(last[0], q->states > 1 ? last[-1] : -INFINITY, -INFINITY);
}

static fnz_status check_labels(const fnzi_call *call, const alignment *a, const int64_t *target,
                               int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (target[i] < 0 || target[i] >= a->labels)
      return fnzi_refuse(call, FNZ_CLASS_BOUNDS, "targets has label %lld; there are %lld",
                         (long long)target[i], (long long)a->labels);
  return FNZ_OK;
}

/* Losses of all sequences. `alpha` has room for all states of all sequences' steps, of one sequence
 * where `again`. */
static fnz_status run(fnzi_call *call, const alignment *a, bool again, double *alpha,
                      double *losses) {
  const void *x, *targets;
  int64_t width = 2 * a->longest + 1, at = 0;
  if (!a->input_lengths || !a->target_lengths)
    return fnzi_size_unknown(call);
  FNZ_TRY(fnzi_dense_as(call, fnzi_input(call, 0), FNZ_F64, &x));
  FNZ_TRY(fnzi_dense_as(call, fnzi_input(call, 1), FNZ_I64, &targets));
  for (int64_t i = 0; i < a->batch; i++) {
    int64_t length = a->target_lengths[i];
    sequence q = {.x = (const double *)x + i * a->labels,
                  .stride = a->batch * a->labels,
                  .steps = a->input_lengths[i],
                  .states = 2 * length + 1,
                  .blank = a->blank,
                  .target = (const int64_t *)targets + (a->target_step ? i * a->target_step : at),
                  .alpha = alpha + (again ? 0 : i * a->steps * width),
                  .width = width};
    at += length;
    FNZ_TRY(check_labels(call, a, q.target, length));
    for (int64_t k = 0; k < a->steps * width; k++)
      q.alpha[k] = -INFINITY;
    losses[i] = likelihood(&q);
  }
  return FNZ_OK;
}

/* --- The kernels ------------------------------------------------------------------------- */
fnz_status fnzi_kernel_ctc_losses(fnzi_call *call) {
  alignment a;
  void *losses, *alpha;
  FNZ_TRY(read_arguments(call, false, &a));
  FNZ_TRY(fnzi_result_as(call, 0, FNZ_F64, &losses));
  FNZ_TRY(fnzi_result_as(call, 1, FNZ_F64, &alpha));
  return run(call, &a, false, alpha, losses);
}

/* The mean counts each target by its length. */
fnz_status fnzi_kernel_ctc_loss(fnzi_call *call) {
  alignment a;
  int64_t reduction = fnzi_named_int(call, "reduction", MEAN);
  bool zeroes = fnzi_named_bool(call, "zero_infinity", false);
  double *losses, *alpha, sum = 0;
  void *out;
  FNZ_TRY(read_arguments(call, true, &a));
  FNZ_TRY(fnzi_result_as(call, 0, FNZ_F64, &out));
  FNZI_NEW(&call->scratch, (size_t)a.batch, &losses);
  FNZ_TRY(fnzi_sizes_check(call->ctx, 2, (const int64_t[]){a.steps, 2 * a.longest + 1}, 8));
  FNZI_NEW(&call->scratch, (size_t)(a.steps * (2 * a.longest + 1)), &alpha);
  FNZ_TRY(run(call, &a, true, alpha, losses));
  for (int64_t i = 0; a.target_lengths && i < a.batch; i++) {
    double loss = zeroes && losses[i] == INFINITY ? 0 : losses[i];
    int64_t length = a.target_lengths[i] > 1 ? a.target_lengths[i] : 1;
    if (reduction == KEPT)
      ((double *)out)[i] = loss;
    sum += reduction == MEAN ? loss / (double)length / (double)a.batch : loss;
  }
  if (reduction != KEPT)
    *(double *)out = sum;
  return FNZ_OK;
}
