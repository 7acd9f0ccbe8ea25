/* running.c - extremes and log-sum-exps of ever longer starts of a row: cummax, cummin,
 * logcumsumexp. Elements are widened to double or 64-bit integers and lie row-major. */
#include "kernels/cpu/pick.h"
#include "kernels/cpu/special_reals.h"

#include <math.h>

/* Rows of `count` elements, `inner` apart. */
typedef struct rows {
  int64_t numel, count, inner;
} rows;

static fnz_status find_rows(fnzi_krn_call *call, rows *out) {
  const fnz_geometry *g = fnzi_krn_call_geometry(call, 0);
  uint32_t dim;
  FNZ_TRY(
      fnzi_wrap_dim(call->ctx, call->op->name, fnzi_krn_named_int(call, "dim", 0), g->rank, &dim));
  *out = (rows){fnz_geometry_numel(g), g->rank ? g->sizes[dim] : 1, 1};
  for (uint32_t i = dim + 1; i < g->rank; i++)
    out->inner *= g->sizes[i];
  return FNZ_OK;
}

/* The index of the first element of row `row`. */
static int64_t start_of(const rows *r, int64_t row) {
  return row / r->inner * r->count * r->inner + row % r->inner;
}

/* A later equal element takes over, and so does a NaN, for good. */
#define EXTREME(name, T, wins)                                                                     \
  static void running_##name##_##T(const rows *r, int64_t at, const void *from, int64_t *places) { \
    const T *row = from;                                                                           \
    T a = row[at];                                                                                 \
    for (int64_t i = 0, place = 0; i < r->count; i++, at += r->inner) {                            \
      T x = row[at];                                                                               \
      if (__builtin_expect(wins, 0)) /* rarely: a branch does not wait for `a` */                  \
        a = x, place = i;                                                                          \
      places[at] = place;                                                                          \
    }                                                                                              \
  }
#define RUNNING(name, wins) EXTREME(name, double, wins) EXTREME(name, int64_t, wins)
#include "kernels/folds.def"

typedef void extreme_fn(const rows *r, int64_t at, const void *from, int64_t *places);

static fnz_status run_extreme(fnzi_krn_call *call, extreme_fn *real, extreme_fn *whole) {
  fnz_dtype dtype = call->outputs[0]->place.dtype;
  bool is_real = fnzi_is_float(dtype);
  size_t cell = fnzi_dtype(dtype)->bytes;
  const void *cells, *wide;
  void *to, *places;
  rows r;
  FNZ_TRY(find_rows(call, &r));
  FNZ_TRY(fnzi_krn_dense_get(call, fnzi_krn_call_input(call, 0), &cells));
  FNZ_TRY(fnzi_krn_dense_get_as(call, fnzi_krn_call_input(call, 0), is_real ? FNZ_F64 : FNZ_I64,
                                &wide));
  FNZ_TRY(fnzi_krn_result_get_as(call, 0, dtype, &to));
  FNZ_TRY(fnzi_krn_result_get_as(call, 1, FNZ_I64, &places));
  for (int64_t row = 0; r.numel && row < r.numel / r.count; row++) {
    const int64_t start = start_of(&r, row);
    (is_real ? real : whole)(&r, start, wide, places);
    if (r.inner == 1)
      fnzi_cpu_cells_pick(cell, (char *)to + (size_t)start * cell,
                          (const char *)cells + (size_t)start * cell, (int64_t *)places + start,
                          r.count);
    for (int64_t i = 0, at = start; r.inner != 1 && i < r.count; i++, at += r.inner)
      memcpy((char *)to + (size_t)at * cell,
             (const char *)cells + (size_t)(start + ((int64_t *)places)[at] * r.inner) * cell,
             cell);
  }
  return FNZ_OK;
}

fnz_status fnzi_kernel_cummax(fnzi_krn_call *call) {
  return run_extreme(call, running_max_double, running_max_int64_t);
}

fnz_status fnzi_kernel_cummin(fnzi_krn_call *call) {
  return run_extreme(call, running_min_double, running_min_int64_t);
}

#define VALUE static
#include "kernels/cpu/running_values.h"

fnz_status fnzi_kernel_logcumsumexp(fnzi_krn_call *call) {
  fnz_dtype dtype = fnzi_cpu_real_dtype(call->outputs[0]->place.dtype);
  fnzi_cpu_reals x;
  fnzi_cpu_reals_out y;
  rows r;
  FNZ_TRY(find_rows(call, &r));
  FNZ_TRY(fnzi_cpu_reals_open(call, fnzi_krn_call_input(call, 0), dtype, &x));
  FNZ_TRY(fnzi_cpu_reals_result(call, 0, dtype, &y));
  for (int64_t row = 0; r.numel && row < r.numel / r.count; row++) {
    double sum = -INFINITY;
    for (int64_t i = 0, at = start_of(&r, row); i < r.count; i++, at += r.inner) {
      sum = add_in_logs(fnzi_cpu_real_at(&x, at), sum);
      fnzi_cpu_real_put(&y, at, sum);
    }
  }
  return FNZ_OK;
}
