/* special_statistics.c - variance, vector norms, and the smallest with the largest. */
#include "kernels/cpu/special_reals.h"

#include <math.h>

/* How one row becomes one number. */
typedef struct reduction {
  fnzi_reduced x;
  fnzi_reals_out out, mean;
  double parameter; /* correction of a variance, order of a norm */
  bool root;        /* of a variance: its square root is wanted */
} reduction;

static int64_t piece_length(int64_t length, int64_t at) {
  return length - at < FNZI_PIECE ? length - at : FNZI_PIECE;
}

static double sum_row(const fnzi_reduced *x, int64_t row, bool squares, double center) {
  double piece[FNZI_PIECE], sum = 0;
  for (int64_t at = 0; at < x->length; at += FNZI_PIECE) {
    int64_t count = piece_length(x->length, at);
    fnzi_reals_load(&x->reals, row * x->length + at, 1, count, piece);
    sum += squares ? fnzi_sum_squares(piece, count, center) : fnzi_sum(piece, count);
  }
  return sum;
}

static void variance_row(const void *user, int64_t row, int lane) {
  const reduction *r = user;
  double count = (double)r->x.length, free = count - r->parameter;
  double mean = sum_row(&r->x, row, false, 0) / count;
  double var = sum_row(&r->x, row, true, mean) / (free > 0 ? free : 0);
  (void)lane;
  fnzi_real_put(&r->out, row, r->root ? sqrt(var) : var);
  if (r->mean.f || r->mean.d)
    fnzi_real_put(&r->mean, row, mean);
}

static double power_sum(const fnzi_reduced *x, int64_t row, double order) {
  double sum = 0;
  for (int64_t i = 0; i < x->length; i++) {
    double v = fabs(fnzi_real_at(&x->reals, row * x->length + i));
    sum += order == 0 ? (double)(v != 0) : order == 1 ? v : pow(v, order);
  }
  return sum;
}

/* Orders of infinity: the largest or smallest absolute value; a NaN wins. */
static double extreme(const fnzi_reduced *x, int64_t row, double order) {
  double found = order > 0 ? 0 : INFINITY;
  for (int64_t i = 0; i < x->length; i++) {
    double v = fabs(fnzi_real_at(&x->reals, row * x->length + i));
    if (isnan(v))
      return v;
    if (order > 0 ? v > found : v < found)
      found = v;
  }
  return found;
}

static void norm_row(const void *user, int64_t row, int lane) {
  const reduction *r = user;
  double order = r->parameter, norm;
  (void)lane;
  if (isinf(order))
    norm = extreme(&r->x, row, order);
  else if (order == 2)
    norm = sqrt(sum_row(&r->x, row, true, 0));
  else
    norm = power_sum(&r->x, row, order);
  if (order != 0 && order != 1 && order != 2 && !isinf(order))
    norm = pow(norm, 1 / order);
  fnzi_real_put(&r->out, row, norm);
}

static fnz_status run(fnzi_call *call, reduction *r, fnzi_each_fn *row) {
  FNZ_TRY(fnzi_reduced_open(call, &r->x));
  FNZ_TRY(fnzi_reals_result(call, 0, r->x.dtype, &r->out));
  if (call->noutputs > 1)
    FNZ_TRY(fnzi_reals_result(call, 1, r->x.dtype, &r->mean));
  fnzi_each(call, r->x.rows, row, r);
  return FNZ_OK;
}

/* `unbiased` says 0 or 1; `correction` says it freely and is 1 when absent. */
static double correction(const fnzi_call *call) {
  if (fnzi_op_param(call->op, "unbiased") >= 0)
    return fnzi_named_bool(call, "unbiased", true) ? 1 : 0;
  return fnzi_named_float(call, "correction", 1);
}

fnz_status fnzi_kernel_variance(fnzi_call *call) {
  reduction r = {.parameter = correction(call)};
  return run(call, &r, variance_row);
}

fnz_status fnzi_kernel_deviation(fnzi_call *call) {
  reduction r = {.parameter = correction(call), .root = true};
  return run(call, &r, variance_row);
}

/* linalg_vector_norm calls its order `ord`, norm calls it `p`. */
fnz_status fnzi_kernel_vector_norm(fnzi_call *call) {
  reduction r = {.parameter = fnzi_named_float(call, "ord", fnzi_named_float(call, "p", 2))};
  return run(call, &r, norm_row);
}
