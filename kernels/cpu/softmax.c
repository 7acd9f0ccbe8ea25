/* softmax.c - softmax, log_softmax and logsumexp along one dimension: floats by row functions,
 * doubles in loops of their own. */
#include "kernels/cpu/softmax.h"
#include "kernels/rows/folds.h"

#include <math.h>

double fnzi_cpu_exp_as(fnz_dtype dtype, double x) {
  return dtype == FNZ_F64 ? exp(x) : (double)expf((float)x);
}

double fnzi_cpu_row_max(const double *row, int64_t count) {
  const fnzi_fold *fold = &fnzi_folds_best()->of[FNZI_FOLD_F64][FNZI_FOLD_amax];
  double most;
  fold->start(&most, 1);
  fold->row(&most, row, count);
  return most;
}

static double exponentials(fnz_dtype dtype, double *row, int64_t count, double most) {
  if (dtype == FNZ_F64)
    return fnzi_folds_best()->exp(most, row, row, count);
  for (int64_t i = 0; i < count; i++)
    row[i] = fnzi_cpu_exp_as(dtype, row[i] - most);
  return fnzi_cpu_sum(row, count);
}

static bool is_nothing(double most, bool safe, double *y, int64_t count) {
  if (!safe || most != -INFINITY)
    return false;
  memset(y, 0, (size_t)count * sizeof *y);
  return true;
}

void fnzi_cpu_softmax_row(fnz_dtype dtype, double *row, int64_t count, bool safe) {
  double most = fnzi_cpu_row_max(row, count);
  if (!is_nothing(most, safe, row, count))
    fnzi_folds_best()->divide(exponentials(dtype, row, count, most), row, count);
}

/* The same of doubles as they lie. */
static void softmax_f64(const double *x, double *y, int64_t count, bool safe) {
  double most = fnzi_cpu_row_max(x, count);
  if (!is_nothing(most, safe, y, count))
    fnzi_folds_best()->divide(fnzi_folds_best()->exp(most, x, y, count), y, count);
}

double fnzi_cpu_log_sum(fnz_dtype dtype, const double *row, int64_t count, double most) {
  double piece[FNZI_PIECE], sum = 0;
  for (int64_t at = 0; at < count; at += FNZI_PIECE) {
    int64_t n = count - at < FNZI_PIECE ? count - at : FNZI_PIECE;
    memcpy(piece, row + at, (size_t)n * sizeof *row);
    sum += exponentials(dtype, piece, n, most);
  }
  return log(sum);
}

/* --- Rows of floats ---------------------------------------------------------------------- */
static fnzi_row_most most_of(const fnzi_rows *rows, const float *x, int64_t count) {
  fnzi_row_most most = {-INFINITY, false};
  rows->max(&most, x, count);
  return most;
}

void fnzi_cpu_softmax_f32(const fnzi_rows *rows, const float *x, float *y, int64_t count,
                          bool safe) {
  fnzi_row_most most = most_of(rows, x, count);
  fnzi_row_sums sums = {{0}};
  if (safe && most.most == -INFINITY && !most.has_nan) {
    memset(y, 0, (size_t)count * sizeof *y);
    return;
  }
  rows->exp(&sums, most.most, x, y, count);
  rows->divide((float)fnzi_row_total(&sums), y, y, count);
}

static double log_sum_f32(const fnzi_rows *rows, const float *x, int64_t count, float most) {
  float piece[FNZI_PIECE];
  fnzi_row_sums sums = {{0}};
  for (int64_t at = 0; at < count; at += FNZI_PIECE)
    rows->exp(&sums, most, x + at, piece, count - at < FNZI_PIECE ? count - at : FNZI_PIECE);
  return log(fnzi_row_total(&sums));
}

void fnzi_cpu_log_softmax_f32(const fnzi_rows *rows, const float *x, float *y, int64_t count) {
  float most = most_of(rows, x, count).most;
  double shift = (double)most + log_sum_f32(rows, x, count, most);
  rows->scale(1, -shift, x, y, count);
}

double fnzi_cpu_log_sum_exp_f32(const fnzi_rows *rows, const float *x, int64_t count) {
  float most = most_of(rows, x, count).most, base = isinf(most) ? 0 : most;
  return (double)base + log_sum_f32(rows, x, count, base);
}

/* --- Rows of either ---------------------------------------------------------------------- */
typedef enum form { SOFTMAX, SAFE_SOFTMAX, LOG_SOFTMAX, LOG_SUM_EXP } form;

enum {
  PANEL = 16,
  GAP = 16
}; /* rows that lie across memory are brought together so many at once */

typedef struct rows {
  fnz_dtype dtype, half; /* half: of elements that become floats row by row */
  const uint16_t *half_x;
  uint16_t *half_y; /* NULL: there are none */
  form form;
  fnzi_cpu_reals x;
  fnzi_cpu_reals_out y;
  int64_t count, inner, panels; /* a row: `count` elements, `inner` apart */
  const fnzi_rows *rows;
  double *scratch; /* `count` for each thread */
  float *panel;    /* PANEL times `count` and a gap for each thread */
} rows;

static void row_f32(const rows *r, const float *x, float *y) {
  if (r->form == LOG_SOFTMAX)
    fnzi_cpu_log_softmax_f32(r->rows, x, y, r->count);
  else
    fnzi_cpu_softmax_f32(r->rows, x, y, r->count, r->form == SAFE_SOFTMAX);
}

static void one_row_f32(const void *user, int64_t at, int lane) {
  const rows *r = user;
  const float *x = r->x.f + at * r->count;
  (void)lane;
  if (r->form == LOG_SUM_EXP)
    r->y.f[at] = (float)fnzi_cpu_log_sum_exp_f32(r->rows, x, r->count);
  else
    row_f32(r, x, r->y.f + at * r->count);
}

static void one_row_of_halves(const void *user, int64_t at, int lane) {
  const rows *r = user;
  float *row = r->panel + (int64_t)lane * r->count;
  int64_t wide = sizeof *row, narrow = sizeof *r->half_x, start = at * r->count;
  fnzi_krn_convert(&(fnzi_krn_conversion){FNZ_F32, r->half, wide, narrow}, row, r->half_x + start,
                   r->count);
  row_f32(r, row, row);
  fnzi_krn_convert(&(fnzi_krn_conversion){r->half, FNZ_F32, narrow, wide}, r->half_y + start, row,
                   r->count);
}

/* Rows across memory: a panel of them, one of r->panels beside each other. Rows of the panel have a
 * gap, so that they do not keep each other out of caches. */
static void one_panel(const void *user, int64_t at, int lane) {
  const rows *r = user;
  int64_t first = at % r->panels * PANEL, apart = r->count + GAP;
  int64_t start = at / r->panels * r->count * r->inner + first;
  int64_t sizes[] = {r->inner - first < PANEL ? r->inner - first : PANEL, r->count};
  const int64_t beside[] = {apart, 1}, across[] = {1, r->inner};
  float *panel = r->panel + (int64_t)lane * PANEL * apart;
  fnzi_krn_copy_cells(
      &(fnzi_krn_copy){2, sizes, panel, beside, r->x.f + start, across, sizeof *panel}, NULL);
  for (int64_t k = 0; k < sizes[0]; k++)
    row_f32(r, panel + k * apart, panel + k * apart);
  fnzi_krn_copy_cells(
      &(fnzi_krn_copy){2, sizes, r->y.f + start, across, panel, beside, sizeof *panel}, NULL);
}

static void softmax_one_row(const void *user, int64_t at, int lane) {
  const rows *r = user;
  int64_t start = at / r->inner * r->count * r->inner + at % r->inner;
  double *row = r->scratch + (int64_t)lane * r->count;
  if (r->inner == 1 && (r->form == SOFTMAX || r->form == SAFE_SOFTMAX)) {
    softmax_f64(r->x.d + start, r->y.d + start, r->count, r->form == SAFE_SOFTMAX);
    return;
  }
  fnzi_cpu_reals_load(&r->x, start, r->inner, r->count, row);
  if (r->form == LOG_SUM_EXP) {
    double most = fnzi_cpu_row_max(row, r->count), base = isinf(most) ? 0 : most;
    fnzi_cpu_real_put(&r->y, at, base + fnzi_cpu_log_sum(r->dtype, row, r->count, base));
    return;
  }
  if (r->form == LOG_SOFTMAX) {
    double most = fnzi_cpu_row_max(row, r->count),
           log_of_sum = fnzi_cpu_log_sum(r->dtype, row, r->count, most);
    for (int64_t i = 0; i < r->count; i++)
      row[i] = row[i] - most - log_of_sum;
  } else {
    fnzi_cpu_softmax_row(r->dtype, row, r->count, r->form == SAFE_SOFTMAX);
  }
  fnzi_cpu_reals_store(&r->y, start, r->inner, r->count, row);
}

static fnz_status softmax_run(fnzi_krn_call *call, rows *r, int64_t count) {
  size_t capacity;
  r->rows = fnzi_rows_best();
  r->panels = (r->inner + PANEL - 1) / PANEL;
  if (r->x.f && r->inner == 1) {
    fnzi_cpu_rows_spread(call, count, r->count, one_row_f32, r);
    return FNZ_OK;
  }
  if (!fnzi_mul_size((size_t)r->count + GAP, (size_t)fnzi_cpu_lanes(call), &capacity))
    return fnzi_no_memory(call->ctx);
  if (r->half_y) {
    FNZI_NEW(&call->scratch, capacity, &r->panel);
    fnzi_cpu_rows_spread(call, count, r->count, one_row_of_halves, r);
    return FNZ_OK;
  }
  if (r->x.f) {
    if (!fnzi_mul_size(capacity, PANEL, &capacity))
      return fnzi_no_memory(call->ctx);
    FNZI_NEW(&call->scratch, capacity, &r->panel);
    fnzi_cpu_rows_spread(call, count / r->inner * r->panels, r->count * PANEL, one_panel, r);
    return FNZ_OK;
  }
  FNZI_NEW(&call->scratch, capacity, &r->scratch);
  fnzi_cpu_rows_spread(call, count, r->count, softmax_one_row, r);
  return FNZ_OK;
}

/* Halves whose rows are dense on both sides stay where they are. */
static bool open_halves(const fnzi_krn_call *call, rows *r) {
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0), *y = call->outputs[0];
  fnz_dtype dtype = y->window.dtype;
  if ((dtype != FNZ_F16 && dtype != FNZ_BF16) || x->window.dtype != dtype || r->inner != 1 ||
      !fnzi_is_contiguous(&x->window) || !fnzi_is_contiguous(&y->window))
    return false;
  r->half = dtype;
  r->half_x = (const void *)fnzi_krn_array_data(x);
  r->half_y = (void *)fnzi_krn_array_data(y);
  return true;
}

static fnz_status softmax_open_rows(fnzi_krn_call *call, rows *r) {
  if (open_halves(call, r))
    return FNZ_OK;
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), r->dtype, &r->x));
  return fnzi_cpu_reals_result(call, 0, r->dtype, &r->y);
}

static fnz_status along_dim(fnzi_krn_call *call, form f) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  uint32_t dim;
  rows r = {.form = f, .inner = 1, .count = 1};
  FNZ_TRY(fnzi_krn_round_input(call));
  r.dtype = fnzi_cpu_real_dtype(call->outputs[0]->geometry.dtype);
  FNZ_TRY(fnzi_wrap_dim(call->ctx, fnz_op_name(call->op), fnzi_krn_named_int(call, "dim", -1),
                        g->rank, &dim));
  if (g->rank)
    r.count = g->sizes[dim];
  for (uint32_t i = dim + 1; i < g->rank; i++)
    r.inner *= g->sizes[i];
  FNZ_TRY(softmax_open_rows(call, &r));
  int64_t numel = fnz_geometry_numel(g);
  return numel ? softmax_run(call, &r, numel / r.count) : FNZ_OK;
}

fnz_status fnzi_kernel_softmax(fnzi_krn_call *call) {
  return along_dim(call, SOFTMAX);
}

fnz_status fnzi_kernel_safe_softmax(fnzi_krn_call *call) {
  return along_dim(call, SAFE_SOFTMAX);
}

fnz_status fnzi_kernel_log_softmax(fnzi_krn_call *call) {
  return along_dim(call, LOG_SOFTMAX);
}

fnz_status fnzi_kernel_logsumexp(fnzi_krn_call *call) {
  rows r = {.form = LOG_SUM_EXP, .inner = 1};
  fnzi_cpu_reduced x;
  FNZ_TRY(fnzi_cpu_reduced_open(call, &x));
  r.dtype = x.dtype, r.count = x.length, r.x = x.reals;
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, r.dtype, &r.y));
  return softmax_run(call, &r, x.rows);
}
