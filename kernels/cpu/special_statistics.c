/* special_statistics.c - variance, vector norms, and the smallest with the largest. */
#include "kernels/cpu/row_code.h"
#include "kernels/cpu/special_reals.h"
#include "kernels/rows/rows.h"

#include <math.h>

/* How one row becomes one number. */
typedef struct reduction {
  fnzi_cpu_reduced x, imaginary;
  fnzi_cpu_reals_out out, mean;
  bool is_complex;
  bool all;         /* there is one row, of all elements */
  double parameter; /* correction of a variance, order of a norm */
  bool root;        /* of a variance: its square root is wanted */
} reduction;

/* The sum of squared distances from the mean, by Welford's recurrence as eager's. */
static double distances(const fnzi_cpu_reduced *x, int64_t row, double *mean) {
  double sum = 0;
  *mean = x->length ? 0 : NAN;
  for (int64_t i = 0; i < x->length; i++) {
    double v = fnzi_cpu_real_at(&x->reals, row * x->length + i), delta = v - *mean;
    *mean += delta / (double)(i + 1);
    sum += delta * (v - *mean);
  }
  return sum;
}

/* All elements to one number: eager has the mean first. */
static double distances_of_all(const fnzi_cpu_reduced *x, double *mean) {
  double sum = 0;
  *mean = fnzi_cpu_reals_mean(&x->reals, x->length);
  for (int64_t i = 0; i < x->length; i++) {
    double delta = fnzi_cpu_real_at(&x->reals, i) - *mean;
    sum += delta * delta;
  }
  return sum;
}

static double variance_of(const reduction *r, const fnzi_cpu_reduced *x, int64_t row,
                          double *mean) {
  double free = (double)x->length - r->parameter;
  double sum = r->all ? distances_of_all(x, mean) : distances(x, row, mean);
  return sum / (free > 0 ? free : 0);
}

static void variance_row(const void *user, int64_t row, int lane) {
  const reduction *r = user;
  double mean, var = variance_of(r, &r->x, row, &mean);
  (void)lane;
  if (r->is_complex)
    var = (double)((float)var + (float)variance_of(r, &r->imaginary, row, &mean));
  fnzi_cpu_real_put(&r->out, row, r->root ? sqrt(var) : var);
  if (r->mean.f || r->mean.d)
    fnzi_cpu_real_put(&r->mean, row, mean);
}

static double power_sum(const fnzi_cpu_reduced *x, int64_t row, double order) {
  double piece[FNZI_PIECE], sum = 0;
  for (int64_t at = 0; at < x->length; at += FNZI_PIECE) {
    int64_t count = x->length - at < FNZI_PIECE ? x->length - at : FNZI_PIECE;
    fnzi_cpu_reals_load(&x->reals, row * x->length + at, 1, count, piece);
    for (int64_t i = 0; i < count; i++)
      piece[i] = fabs(piece[i]);
    for (int64_t i = 0; order != 1 && i < count; i++)
      piece[i] = order == 0 ? (double)(piece[i] != 0) : pow(piece[i], order);
    sum += fnzi_cpu_sum(piece, count);
  }
  return sum;
}

/* Squares of floats go by the functions of rows. */
static double square_sum(const fnzi_cpu_reduced *x, int64_t row) {
  fnzi_row_sums sums = {{0}};
  double sum = 0;
  for (int64_t at = 0; x->reals.d && at < x->length; at += FNZI_PIECE)
    sum += fnzi_cpu_sum_squares(x->reals.d + row * x->length + at,
                                x->length - at < FNZI_PIECE ? x->length - at : FNZI_PIECE, 0);
  if (x->reals.d)
    return sum;
  fnzi_rows_best()->squares(&sums, 0, x->reals.f + row * x->length, x->length);
  return fnzi_row_total(&sums);
}

/* Orders of infinity: the largest or smallest absolute value; a NaN wins. */
static double extreme(const fnzi_cpu_reduced *x, int64_t row, double order) {
  double found = order > 0 ? 0 : INFINITY;
  for (int64_t i = 0; i < x->length; i++) {
    double v = fabs(fnzi_cpu_real_at(&x->reals, row * x->length + i));
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
    norm = sqrt(square_sum(&r->x, row));
  else
    norm = power_sum(&r->x, row, order);
  if (order != 0 && order != 1 && order != 2 && !isinf(order))
    norm = pow(norm, 1 / order);
  fnzi_cpu_real_put(&r->out, row, norm);
}

/* --- Rows of who has them already -------------------------------------------------------- */
static fnzi_cpu_reals_out real_out(fnz_dtype dtype, void *out) {
  return dtype == FNZ_F64 ? (fnzi_cpu_reals_out){NULL, out} : (fnzi_cpu_reals_out){out, NULL};
}

static reduction statistics_one_row(const fnzi_meta_row_code *code, const void *x, int64_t length,
                                    void *const *out) {
  fnzi_cpu_reals_out reals = real_out(code->dtype, (void *)(uintptr_t)x);
  return (reduction){.x = {code->dtype, fnzi_cpu_reals_read(&reals), 1, length},
                     .out = real_out(code->dtype, out[0]),
                     .all = code->all,
                     .parameter = code->parameter};
}

void fnzi_cpu_variance_row(const fnzi_meta_row_code *code, bool root, const void *x, int64_t length,
                           void *const *out) {
  reduction r = statistics_one_row(code, x, length, out);
  r.root = root;
  if (out[1])
    r.mean = real_out(code->dtype, out[1]);
  variance_row(&r, 0, 0);
}

void fnzi_cpu_vector_norm_row(const fnzi_meta_row_code *code, const void *x, int64_t length,
                              void *const *out) {
  reduction r = statistics_one_row(code, x, length, out);
  norm_row(&r, 0, 0);
}

/* --- Kernels ----------------------------------------------------------------------------- */
/* `part` says what is taken of complex numbers; of the real ones a second time, the imaginary. */
static fnz_status statistics_run(fnzi_krn_call *call, reduction *r, fnzi_cpu_part part,
                                 fnzi_share_fn *row) {
  bool has_parts = fnzi_is_complex(fnzi_krn_call_geometry(call, 0)->dtype);
  r->is_complex = has_parts && part == FNZI_PART_REAL;
  if (has_parts)
    FNZ_TRY(fnzi_cpu_reduced_open_part(call, part, &r->x));
  else
    FNZ_TRY(fnzi_cpu_reduced_open(call, &r->x));
  if (r->is_complex)
    FNZ_TRY(fnzi_cpu_reduced_open_part(call, FNZI_PART_IMAGINARY, &r->imaginary));
  r->all = r->x.length == fnzi_krn_array_numel(fnzi_krn_call_input(call, 0));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, r->x.dtype, &r->out));
  if (call->noutputs > 1)
    FNZ_TRY(fnzi_cpu_reals_result(call, 1, r->x.dtype, &r->mean));
  fnzi_cpu_rows_each(call, r->x.rows, row, r);
  return FNZ_OK;
}

fnz_status fnzi_kernel_variance(fnzi_krn_call *call) {
  reduction r = {.parameter = fnzi_meta_row_parameter(call)};
  FNZ_TRY(fnzi_krn_round_input(call));
  return statistics_run(call, &r, FNZI_PART_REAL, variance_row);
}

fnz_status fnzi_kernel_deviation(fnzi_krn_call *call) {
  reduction r = {.parameter = fnzi_meta_row_parameter(call), .root = true};
  FNZ_TRY(fnzi_krn_round_input(call));
  return statistics_run(call, &r, FNZI_PART_REAL, variance_row);
}

/* Rows of halves that lie dense: each piece becomes floats by itself, which stay in a cache. */
typedef struct half_norms {
  fnz_dtype dtype;
  const uint16_t *x;
  int64_t length;
  fnzi_cpu_reals_out out;
} half_norms;

static void half_norm_row(const void *user, int64_t row, int lane) {
  const half_norms *n = user;
  const fnzi_krn_conversion widen = {FNZ_F32, n->dtype, sizeof(float), sizeof *n->x};
  const fnzi_rows *rows = fnzi_rows_best();
  fnzi_row_sums sums = {{0}};
  float piece[FNZI_PIECE];
  (void)lane;
  for (int64_t at = 0; at < n->length; at += FNZI_PIECE) {
    int64_t count = n->length - at < FNZI_PIECE ? n->length - at : FNZI_PIECE;
    fnzi_krn_convert(&widen, piece, n->x + row * n->length + at, count);
    rows->squares(&sums, 0, piece, count);
  }
  fnzi_cpu_real_put(&n->out, row, sqrt(fnzi_row_total(&sums)));
}

static bool is_of_half_rows(const fnzi_krn_call *call, const bool *reduced) {
  const fnz_geometry *x = &fnzi_krn_call_input(call, 0)->window;
  fnz_dtype dtype = call->outputs[0]->window.dtype;
  if (x->dtype != dtype || (dtype != FNZ_F16 && dtype != FNZ_BF16) || !fnzi_is_contiguous(x))
    return false;
  for (uint32_t d = 1; d < x->rank; d++)
    if (reduced[d - 1] && !reduced[d])
      return false;
  return true;
}

static fnz_status half_norms_of(fnzi_krn_call *call, const bool *reduced) {
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0);
  half_norms n = {x->window.dtype, (const void *)fnzi_krn_array_data(x), 1, {NULL, NULL}};
  for (uint32_t d = 0; d < x->window.rank; d++)
    n.length *= reduced[d] ? x->window.sizes[d] : 1;
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, FNZ_F32, &n.out));
  fnzi_cpu_rows_each(call, fnzi_krn_array_numel(call->outputs[0]), half_norm_row, &n);
  return FNZ_OK;
}

/* Norms of the columns of dense matrices of f32, `width` columns of `length` elements each. */
typedef struct column_norms {
  const float *x;
  int64_t length, width, blocks; /* of columns */
  fnzi_cpu_reals_out out;
} column_norms;

enum { NORM_COLUMNS = 128 };

/* Each column has the sums that it has as a row, so the bits are the same. */
static void norm_block(const void *user, int64_t block, int lane) {
  const column_norms *n = user;
  const fnzi_rows *rows = fnzi_rows_best();
  int64_t matrix = block / n->blocks, first = block % n->blocks * NORM_COLUMNS;
  int64_t count = n->width - first < NORM_COLUMNS ? n->width - first : NORM_COLUMNS;
  const float *x = n->x + matrix * n->length * n->width + first;
  double sums[FNZI_ROW_LANES][NORM_COLUMNS] = {{0}};
  (void)lane;
  for (int64_t i = 0; i < n->length; i++)
    rows->add_squares(sums[i % FNZI_ROW_LANES], x + i * n->width, count);
  for (int64_t k = 0; k < count; k++) {
    fnzi_row_sums column;
    for (int l = 0; l < FNZI_ROW_LANES; l++)
      column.lanes[l] = sums[l][k];
    fnzi_cpu_real_put(&n->out, matrix * n->width + first + k, sqrt(fnzi_row_total(&column)));
  }
}

enum { NORM_LEAST = 1024 };

/* Dimensions that are reduced are next to each other, and some behind them are not. For matrices of
 * few elements the sums take longer to clear than to compute. */
static bool is_of_columns(const fnzi_krn_call *call, const bool *reduced, column_norms *n) {
  const fnzi_krn_array *x = fnzi_krn_call_input(call, 0);
  const fnz_geometry *g = &x->window;
  uint32_t d = 0;
  if (g->dtype != FNZ_F32 || call->outputs[0]->window.dtype != FNZ_F32 || !fnzi_is_contiguous(g) ||
      fnzi_krn_array_numel(x) == 0)
    return false;
  *n = (column_norms){.x = (const void *)fnzi_krn_array_data(x), .length = 1, .width = 1};
  while (d < g->rank && !reduced[d])
    d++;
  for (; d < g->rank && reduced[d]; d++)
    n->length *= g->sizes[d];
  for (; d < g->rank && !reduced[d]; d++)
    n->width *= g->sizes[d];
  n->blocks = (n->width + NORM_COLUMNS - 1) / NORM_COLUMNS;
  return d == g->rank && n->width > 1 && n->length * n->width >= NORM_LEAST;
}

static fnz_status column_norms_of(fnzi_krn_call *call, column_norms *n) {
  int64_t count = fnzi_krn_array_numel(call->outputs[0]) / n->width;
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, FNZ_F32, &n->out));
  fnzi_cpu_rows_spread(call, count * n->blocks, n->length * NORM_COLUMNS, norm_block, n);
  return FNZ_OK;
}

fnz_status fnzi_kernel_vector_norm(fnzi_krn_call *call) {
  reduction r = {.parameter = fnzi_meta_row_parameter(call)};
  bool reduced[FNZ_MAX_RANK] = {false};
  column_norms columns;
  FNZ_TRY(fnzi_meta_reduced_dims(call, reduced));
  if (r.parameter == 2 && is_of_columns(call, reduced, &columns))
    return column_norms_of(call, &columns);
  if (r.parameter == 2 && is_of_half_rows(call, reduced))
    return half_norms_of(call, reduced);
  return statistics_run(call, &r, FNZI_PART_MAGNITUDE, norm_row);
}
