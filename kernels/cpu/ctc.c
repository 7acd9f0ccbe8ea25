/* ctc.c - the loss of sequences that are aligned to shorter targets (connectionist temporal
 * classification): how likely all alignments together are, step by step over the states of a
 * target, which are its labels with a blank before, between and behind them. */
#include "kernels/cpu/cpu.h"
#include "kernels/meta/ctc.h"

#include <math.h>

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

/* Minus the logarithm of how likely the target is; the last state may be its last label. */
static double likelihood(const sequence *q) {
  if (q->steps == 0)
    return q->states == 1 ? 0 : INFINITY;
  for (int64_t state = 0; state < 2 && state < q->states; state++)
    q->alpha[state] = q->x[label(q, state)];
  for (int64_t t = 1; t < q->steps; t++) {
    double *now = q->alpha + t * q->width;
    for (int64_t state = 0; state < q->states; state++) {
      /* It is reached from itself and the one before, and over a blank from another label. */
      const double *before = now - q->width + state;
      bool jumps = state > 1 && label(q, state) != label(q, state - 2);
      double all =
          log_sum(before[0], state > 0 ? before[-1] : -INFINITY, jumps ? before[-2] : -INFINITY);
      now[state] = all + q->x[t * q->stride + label(q, state)];
    }
  }
  const double *last = q->alpha + (q->steps - 1) * q->width + q->states - 1;
  return -log_sum(last[0], q->states > 1 ? last[-1] : -INFINITY, -INFINITY);
}

static fnz_status ctc_check_labels(const fnzi_krn_call *call, const fnzi_meta_ctc *a,
                                   const int64_t *target, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (target[i] < 0 || target[i] >= a->labels)
      return fnzi_krn_call_refuse(call, FNZ_CLASS_BOUNDS, "targets has label %lld; there are %lld",
                                  (long long)target[i], (long long)a->labels);
  return FNZ_OK;
}

/* Sequence i; *at: labels of the sequences before it, to which its own are added. Its alpha is the
 * caller's. */
static sequence sequence_of(const fnzi_meta_ctc *a, int64_t i, const double *x,
                            const int64_t *targets, int64_t *at) {
  int64_t length = a->target_lengths[i], first = a->target_step ? i * a->target_step : *at;
  *at += length;
  return (sequence){.x = x + i * a->labels,
                    .stride = a->batch * a->labels,
                    .steps = a->input_lengths[i],
                    .states = 2 * length + 1,
                    .blank = a->blank,
                    .target = targets + first};
}

/* Losses of all sequences. `alpha` has room for all states of all sequences' steps, of one sequence
 * where `again`. */
static fnz_status ctc_run(fnzi_krn_call *call, const fnzi_meta_ctc *a, bool again, double *alpha,
                          double *losses) {
  const void *x, *targets;
  int64_t width = 2 * a->longest + 1, at = 0;
  if (!a->input_lengths || !a->target_lengths)
    return fnzi_krn_size_refuse(call);
  FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_call_input(call, 0), FNZ_F64, &x));
  FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_call_input(call, 1), FNZ_I64, &targets));
  for (int64_t i = 0; i < a->batch; i++) {
    sequence q = sequence_of(a, i, x, targets, &at);
    q.alpha = alpha + (again ? 0 : i * a->steps * width);
    q.width = width;
    FNZ_TRY(ctc_check_labels(call, a, q.target, a->target_lengths[i]));
    for (int64_t k = 0; k < a->steps * width; k++)
      q.alpha[k] = -INFINITY;
    losses[i] = likelihood(&q);
  }
  return FNZ_OK;
}

/* --- The kernels ------------------------------------------------------------------------- */
fnz_status fnzi_kernel_ctc_losses(fnzi_krn_call *call) {
  fnzi_meta_ctc a;
  void *losses, *alpha;
  FNZ_TRY(fnzi_meta_ctc_read(call, false, &a));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_F64, &losses));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_F64, &alpha));
  return ctc_run(call, &a, false, alpha, losses);
}

/* The mean counts each target by its length. */
fnz_status fnzi_kernel_ctc_loss(fnzi_krn_call *call) {
  fnzi_meta_ctc a;
  int64_t reduction = fnzi_krn_named_int(call, "reduction", FNZI_CTC_MEAN);
  bool zeroes = fnzi_krn_named_bool(call, "zero_infinity", false);
  double *losses, *alpha, sum = 0;
  void *out;
  FNZ_TRY(fnzi_meta_ctc_read(call, true, &a));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_F64, &out));
  FNZI_NEW(&call->scratch, (size_t)a.batch, &losses);
  FNZ_TRY(fnzi_krn_sizes_check(call->ctx, 2, (const int64_t[]){a.steps, 2 * a.longest + 1}, 8));
  FNZI_NEW(&call->scratch, (size_t)(a.steps * (2 * a.longest + 1)), &alpha);
  FNZ_TRY(ctc_run(call, &a, true, alpha, losses));
  for (int64_t i = 0; a.target_lengths && i < a.batch; i++) {
    double loss = zeroes && losses[i] == INFINITY ? 0 : losses[i];
    int64_t length = a.target_lengths[i] > 1 ? a.target_lengths[i] : 1;
    if (reduction == FNZI_CTC_KEPT)
      ((double *)out)[i] = loss;
    sum += reduction == FNZI_CTC_MEAN ? loss / (double)length / (double)a.batch : loss;
  }
  if (reduction != FNZI_CTC_KEPT)
    *(double *)out = sum;
  return FNZ_OK;
}

/* --- Backward ---------------------------------------------------------------------------- */
/* Further operands of the backward of one sequence, and its gradient. */
typedef struct flow {
  const sequence *q; /* its alpha was kept by the loss */
  double *beta, *of_labels;
  double loss, grad;
  double *out; /* of its first step, as q->x */
  int64_t labels;
} flow;

/* From step t + 1 to t: a state leads to itself, the next, and over a blank to another label. Lower
 * states are written first, which no others read. */
static void step_beta(const flow *f, int64_t t) {
  const sequence *q = f->q;
  for (int64_t state = 0; state < q->states; state++) {
    bool jumps = state + 2 < q->states && label(q, state) != label(q, state + 2);
    double all = log_sum(f->beta[state], state + 1 < q->states ? f->beta[state + 1] : -INFINITY,
                         jumps ? f->beta[state + 2] : -INFINITY);
    f->beta[state] = all + q->x[t * q->stride + label(q, state)];
  }
}

/* exp(x) less how likely each label is at this step, of all alignments. */
static void put_step(const flow *f, int64_t t) {
  const sequence *q = f->q;
  for (int64_t k = 0; k < f->labels; k++)
    f->of_labels[k] = -INFINITY;
  for (int64_t state = 0; state < q->states; state++) {
    double *of = &f->of_labels[label(q, state)];
    *of = log_sum(*of, q->alpha[t * q->width + state] + f->beta[state], -INFINITY);
  }
  for (int64_t k = 0; k < f->labels; k++) {
    double x = q->x[t * q->stride + k];
    f->out[t * q->stride + k] = (exp(x) - exp(f->of_labels[k] + f->loss - x)) * f->grad;
  }
}

/* From the last step back; beta: how likely the rest of the target is from each state of a step on,
 * that step included. */
static void flow_back(const flow *f) {
  const sequence *q = f->q;
  const int64_t last = q->steps - 1;
  for (int64_t state = 0; last >= 0 && state < q->states; state++)
    f->beta[state] = state + 2 >= q->states ? q->x[last * q->stride + label(q, state)] : -INFINITY;
  for (int64_t t = last; t >= 0; t--) {
    if (t < last)
      step_beta(f, t);
    put_step(f, t);
  }
}

fnz_status fnzi_kernel_ctc_backward(fnzi_krn_call *call) {
  static const char *const names[] = {"log_probs", "log_alpha", "grad", "neg_log_likelihood"};
  const fnzi_krn_array *alpha = fnzi_krn_named_array(call, "log_alpha");
  bool zeroes = fnzi_krn_named_bool(call, "zero_infinity", false);
  const void *from[4], *targets;
  fnzi_meta_ctc a;
  double *beta, *of_labels;
  void *out;
  FNZ_TRY(fnzi_meta_ctc_read(call, false, &a));
  if (!a.input_lengths || !a.target_lengths)
    return fnzi_krn_size_refuse(call);
  for (size_t i = 0; i < 4; i++)
    FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_named_array(call, names[i]), FNZ_F64, &from[i]));
  FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_named_array(call, "targets"), FNZ_I64, &targets));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, FNZ_F64, &out));
  FNZI_NEW(&call->scratch, (size_t)(2 * a.longest + 1), &beta);
  FNZI_NEW(&call->scratch, (size_t)a.labels, &of_labels);
  memset(out, 0, (size_t)fnzi_krn_array_numel(call->outputs[0]) * sizeof(double));
  int64_t width = alpha->geometry.sizes[2], at = 0;
  for (int64_t i = 0; i < a.batch; i++) {
    sequence q = sequence_of(&a, i, from[0], targets, &at);
    q.alpha = (double *)(uintptr_t)from[1] + i * a.steps * width;
    q.width = width;
    flow f = {&q,
              beta,
              of_labels,
              ((const double *)from[3])[i],
              ((const double *)from[2])[i],
              (double *)out + i * a.labels,
              a.labels};
    FNZ_TRY(ctc_check_labels(call, &a, q.target, a.target_lengths[i]));
    if (!(zeroes && f.loss == INFINITY))
      flow_back(&f);
  }
  return FNZ_OK;
}
